//! Fields of other sections that exclude the use of the dies' cache registers.

use super::Description;
use ecc::Hold;
use kit::Problems;

impl Description {
    /// Adds what excludes cache reads.
    pub(super) fn cache_problems(&self, problems: &mut Problems) {
        let limits = |power: &flash::power::PowerConfig| {
            power.cap.is_some() || power.thermal.is_some() || power.suspend.iter().any(|windows| !windows.at.is_empty())
        };
        let others = [
            (self.power.as_ref().is_some_and(limits), "no power.cap, power.thermal or power.suspend"),
            (self.controller.page_buffers.is_some(), "no controller.page_buffers"),
            (self.ecc.retries_hold != Hold::Nothing, "ecc.retries_hold = \"nothing\""),
        ];
        for (_, expected) in others.into_iter().filter(|(is_there, _)| *is_there && self.flash.cache_read) {
            problems.add("flash.cache_read", format!("true: expected false, or {expected}"));
        }
    }
}
