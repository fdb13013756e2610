//! Cost regulation by the queue: the rival of AGCR (Li et al., DATE 2015, as the AGCR paper states it).

use super::cost::{Cost, Costs};
use super::{Dispatch, Facts, Member, ModePolicy, Moving, Needs, Placed, ReadAnswer, UnitRead, View, WriteAnswer};
use kit::{Archive, Archived, ModeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str =
    "low-cost writes while host operations wait for the die, high-cost writes otherwise: AGCR's rival (Li et al., 2015)";

/// Cost regulation by the queue (Li et al., DATE 2015, *Maximizing IO performance via conflict reduction*, as section 1 of the AGCR paper states its
/// rule): a host write is at low cost when host operations wait for the die that takes it, otherwise at high cost, which makes later reads of the page
/// cheap. What waits for a die are its reads and host writes [A]: those that were given to it, or, where idle dies take what comes, those that are
/// left when every other idle die has taken its own. Medium cost is not used [A]. Relocated data keeps its class. What data older than
/// the run was written in is a parameter: the AGCR paper says it of AGCR alone, and reads of such data are most of what its traces read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The write mode of low cost.
    pub low: String,
    /// The write mode of high cost.
    pub high: String,
    /// The write mode of data older than the run.
    pub old_data: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { low: "fast".to_owned(), high: "fine".to_owned(), old_data: "fine".to_owned() }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("low", &self.low), ("high", &self.high), ("old_data", &self.old_data)]
    }
}

struct QueueDriven(Costs);

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let costs = Costs::new([&params.low, "normal", &params.high], 0, facts);
    Box::new(QueueDriven(costs.with_old_data_in(facts.write_mode(&params.old_data))))
}

impl ModePolicy for QueueDriven {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, bits_per_unit: 2, placed: true, reads: true, page_scope: true, moving: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut Archive<'_>) -> Archived {
        Ok(())
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let waits = dispatch.waiting > u64::from(dispatch.others_idle) || view.signals.die_reads[dispatch.die.index()] > 0;
        WriteAnswer { mode: self.0.write_mode(if waits { Cost::Low } else { Cost::High }), stream: 0 }
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        let cost = Costs::together(moving.units.iter().map(|&lpn| self.0.of(lpn, view)));
        self.0.write_mode(cost)
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        let bits = self.0.written(view.bits.get(placed.lpn), placed.mode);
        view.bits.set(placed.lpn, bits);
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        self.0.read(read, view.bits.get(read.lpn))
    }

    fn uses(&self) -> Vec<ModeId> {
        self.0.modes(&[Cost::Low, Cost::High])
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.0.adopt(view);
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.0.old_mode()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        self.0.stats()
    }
}
