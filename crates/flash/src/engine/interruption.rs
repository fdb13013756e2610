//! Operations that a loss of power interrupts.

use super::Flash;
use crate::die::{Die, HELD, NONE, Phase};
use kit::{Interrupted, OperationKind, Operations, SimTime};

impl Flash {
    /// Returns the programs and erases that a loss of power at `now` would interrupt: those whose array phase has begun,
    /// suspended ones included. An operation whose command or data is still on its way to the die leaves no trace.
    /// Where the times of array phases are random, an operation counts from its command on.
    pub fn interrupted(&self, now: SimTime, operations: &Operations) -> Vec<Interrupted> {
        let mut found = Vec::new();
        for die in &self.dies {
            let suspended = die.suspended.as_ref().map(|suspended| suspended.op);
            let is_running = ![NONE, HELD].contains(&die.running) && self.has_begun(die, now, operations);
            // While it is being suspended or resumed, an operation is both.
            found.extend(suspended);
            found.extend(Some(die.running).filter(|_| is_running).filter(|&slot| suspended != Some(slot)));
        }
        let of_slot = |slot: u32| {
            let operation = &operations[slot];
            let erases = match operation.kind {
                OperationKind::Read => return None,
                OperationKind::Program | OperationKind::Copyback => false,
                OperationKind::Erase | OperationKind::LazyErase => true,
            };
            Some(Interrupted { first: operation.first, erases, pages: operation.pages })
        };
        found.into_iter().filter_map(of_slot).collect()
    }

    /// Returns true if the array phase of the operation in progress on a die has begun.
    fn has_begun(&self, die: &Die, now: SimTime, operations: &Operations) -> bool {
        match die.phase {
            Phase::Rest | Phase::Held | Phase::Command | Phase::Loading | Phase::Buffer | Phase::Data | Phase::DataPart => false,
            Phase::Array if self.random_times.is_none() && self.control.is_none() && self.suspension.is_none() => {
                now + self.timing.array(&operations[die.running]) >= die.array_end
            }
            Phase::Array
            | Phase::SuspendRequested
            | Phase::Suspending
            | Phase::Resuming
            | Phase::PowerWait
            | Phase::Window => true,
        }
    }
}
