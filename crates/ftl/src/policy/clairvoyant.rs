//! Reference policy that knows the future accesses.

use super::future::Future;
use super::points::{Points, Prices};
use super::{Collection, Dispatch, Facts, Member, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::{Archive, Archived, BlockId, Lpn, ModeId, Nanos, SimTime, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Description of the policy in one line.
pub const SUMMARY: &str = "the reference: `margin` with the life and the reads of all data known ahead, a reference, not a bound";

/// `margin` without prediction: each write takes the cheapest point of the voltage budget for the life that the data
/// will really have and the reads that it will really get. Relocated data is written for the life that is left to it.
/// The future comes from an earlier, recorded run of the same workload. It is exact for traces that are replayed at
/// their own times; for a closed loop the order of accesses is exact, and their times are those of the run under
/// `baseline`. No real drive could use this policy: it needs the future, and more than one byte for each unit. Without
/// a recorded run all data is taken to live for ever.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weights of program time, wear and reads in the cost of a write mode.
    pub prices: Prices,
}

impl Member for Params {
    fn needs_future(&self) -> bool {
        true
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new(
                "units_of_known_life",
                "units",
                "Host writes of programs whose data is all overwritten or trimmed in the recorded run.",
            ),
            Term::new("units_that_outlive_the_run", "units", "Host writes of programs with data that outlives the recorded run."),
        ]
    }
}

struct Clairvoyant {
    points: Points,
    /// Future accesses of the workload that began at `start`; empty until they are passed in.
    future: Arc<Future>,
    start: SimTime,
    full: ModeId,
    known: u64,
    endless: u64,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(Clairvoyant {
        points: Points::new(&params.prices, facts),
        future: Arc::default(),
        start: SimTime::ZERO,
        full: facts.normal_mode(),
        known: 0,
        endless: 0,
    })
}

impl Clairvoyant {
    /// Returns the longest remaining life, and the mean number of reads to come, of data written together.
    fn outlook(&self, units: &[Lpn], now: SimTime) -> (Option<Nanos>, f64) {
        let (mut life, mut reads) = (Some(Nanos::ZERO), 0.0);
        for &lpn in units {
            let since_start = SimTime(now.since(self.start).0);
            let one = self.future.of(lpn, since_start);
            life = life.zip(one.life(since_start)).map(|(longest, own)| longest.max(own));
            reads += f64::from(one.reads);
        }
        (life, reads / units.len().max(1) as f64)
    }
}

impl ModePolicy for Clairvoyant {
    fn needs(&self) -> Needs {
        Needs { host_streams: self.points.streams(), blocks: true, moving: true, erases: true, ..Needs::default() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.points.state(archive)
    }

    fn check(&self, _is_alone: bool, _view: &mut View<'_>) -> Archived {
        self.points.check()
    }

    fn wants_future(&self) -> bool {
        true
    }

    fn set_future(&mut self, future: &Arc<Future>, start: SimTime) {
        (self.future, self.start) = (Arc::clone(future), start);
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let (life, reads) = self.outlook(dispatch.units, view.now);
        *(if life.is_some() { &mut self.known } else { &mut self.endless }) += dispatch.units.len() as u64;
        let demand = self.points.demand(dispatch, view);
        let mode = self.points.cheapest(life, reads, demand);
        WriteAnswer { mode, stream: self.points.stream(mode, life) }
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        let (life, reads) = self.outlook(moving.units, view.now);
        let demand = if view.signals.queued_write_pages > 0 { 1.0 } else { view.buffer_utilisation() };
        self.points.cheapest(life, reads, demand)
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        self.points.erase_mode(view.medium.geometry.die_of(collection.block), view)
    }

    fn lazy_erase(&mut self, _: BlockId, level: u8, _: &mut View<'_>) -> ModeId {
        self.points.lazy_erase_mode(level)
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        self.points.erased(block, view);
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.points.adopt(view);
    }

    fn uses(&self) -> Vec<ModeId> {
        self.points.modes()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.full
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("units_of_known_life", self.known as f64), ("units_that_outlive_the_run", self.endless as f64)]
    }
}
