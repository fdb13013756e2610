//! Tests of the memory channel.

mod closed_forms;
mod idle;
mod open;
mod order;
mod pairs;
mod random;
mod scheduled;

use super::channel::Command;
use super::*;
use kit::Rng;

/// A channel that records its commands.
fn recording(params: &Params, timing: &Timing) -> Ddr {
    let mut problems = kit::Problems::default();
    params.problems("dram", &mut problems);
    assert!(problems.0.is_empty(), "{problems}");
    let mut ddr = Ddr::with_timing(params, timing);
    ddr.channel.log = Some(Vec::new());
    ddr
}

fn log(ddr: &Ddr) -> &[Command] {
    ddr.channel.log.as_deref().expect("commands are recorded")
}

fn access(transaction: u32, address: u64, bytes: u64, kind: AccessKind) -> Access {
    Access { transaction: TransactionId(transaction), address, bytes: Bytes(bytes), kind, class: AccessClass::Data }
}

/// A channel whose grants are called when they are due.
struct Driven {
    ddr: Ddr,
    next: Option<SimTime>,
    /// Accesses that are done, in the order of the grants.
    done: Vec<(TransactionId, SimTime)>,
}

impl Driven {
    fn new(ddr: Ddr) -> Driven {
        Driven { ddr, next: None, done: Vec::new() }
    }

    /// Calls the grants that are due before `now`, and asks. Arrivals of an instant go before its grant.
    fn ask(&mut self, access: Access, now: u64) {
        while self.next.is_some_and(|next| next.0 < now) {
            self.grant();
        }
        let scheduled = self.ddr.ask(access, SimTime(now));
        assert!(scheduled.is_none() || self.next.is_none(), "one grant is scheduled");
        self.next = self.next.or(scheduled);
        assert!(self.next.is_some(), "a grant is scheduled while an access waits");
    }

    fn grant(&mut self) {
        let now = self.next.expect("a grant is scheduled");
        let Granted { done, next, .. } = self.ddr.grant(now);
        assert!(next.is_none_or(|next| next >= now), "{next:?} after {now:?}");
        assert_eq!(next.is_none(), self.ddr.is_at_rest());
        self.done.extend(done);
        self.next = next;
    }

    /// Calls all grants. Returns the instant at which the last data has crossed the bus.
    fn finish(&mut self) -> SimTime {
        while self.next.is_some() {
            self.grant();
        }
        self.done.iter().map(|&(_, at)| at).max().unwrap_or(SimTime::ZERO)
    }
}

/// Random accesses: bursts of arrivals and pauses, runs and jumps, reads and writes, look-ups and data.
struct Traffic {
    rng: Rng,
    size: u64,
    next: u64,
    now: u64,
    count: u32,
}

impl Traffic {
    fn new(seed: u64, params: &Params) -> Traffic {
        Traffic { rng: Rng::stream(seed, "dram.test"), size: params.size.0, next: 0, now: 0, count: 0 }
    }

    fn next(&mut self) -> (Access, u64) {
        let rng = &mut self.rng;
        self.now += match rng.below(20) {
            0..12 => 0,
            12..18 => rng.below(60),
            18 => rng.below(800),
            _ => rng.below(20_000),
        };
        let is_map = rng.chance(0.3);
        let bytes = if is_map { 1 + rng.below(64) } else { 1 + rng.below(3_000) };
        if rng.chance(0.5) || self.next + bytes > self.size {
            // Few rows of few banks, so that rows are hit and conflict.
            let near = if rng.chance(0.7) { 1 << 16 } else { self.size };
            self.next = rng.below(near.min(self.size - bytes));
        }
        let kind = if rng.chance(0.6) { AccessKind::Read } else { AccessKind::Write };
        let class = if is_map { AccessClass::Map } else { AccessClass::Data };
        let access = Access { class, ..access(self.count, self.next, bytes, kind) };
        self.next += bytes;
        self.count += 1;
        (access, self.now)
    }
}
