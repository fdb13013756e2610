//! Cost regulation by the queue: the scheme that AGCR is compared with (Li et al., DATE 2015, as stated in the AGCR
//! paper).

use super::cost::{Cost, Costs};
use super::{Dispatch, Facts, Member, ModePolicy, Moving, Needs, Placed, ReadAnswer, UnitRead, View, WriteAnswer};
use kit::{Archive, Archived, ModeId, NORMAL_MODE, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "low-cost writes while host operations wait for the die, high-cost writes otherwise: the scheme that AGCR is compared with (Li et al., 2015)";

/// Cost regulation by the queue (Li et al., DATE 2015, *Maximizing IO performance via conflict reduction*, as section 1
/// of the AGCR paper states its rule): a host write is at low cost if host operations wait for the die that takes it,
/// and otherwise at high cost, which makes later reads of the page cheap. The operations that wait for a die are its
/// reads and its host writes [A]: the writes assigned to it or, where idle dies pull writes from a common queue, those
/// that are left once every other idle die has taken its own. Medium cost is not used [A]. Relocated data keeps its
/// class. The mode of data older than the run is a parameter: the AGCR paper states it for AGCR alone, and such data is
/// most of what its traces read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of low cost.
    pub low: String,
    /// Write mode of high cost.
    pub high: String,
    /// Write mode in which data older than the run counts as written.
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

    fn statistics() -> Vec<Term> {
        Costs::statistics()
    }
}

struct QueueDriven(Costs);

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let costs = Costs::new([&params.low, NORMAL_MODE, &params.high], 0, facts);
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
