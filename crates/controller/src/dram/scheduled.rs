//! A channel that asks for events only where one matters to others: where an access begins or ends.
//!
//! An access of 4 KiB takes eight decisions at the default chunk, of which only the first and the last are noticed
//! outside the channel. The decisions in between depend on nothing but the accesses asked for before them. They are
//! made up for at the next event or the next access, in order and each at its own instant, so that the commands are the
//! same.
//!
//! An access that is asked for at the instant of such a decision takes part in it.

use super::channel::{Chunk, Found};
use super::{Access, Counters, Current, Ddr, Granted, Params, cut};
use kit::{Nanos, SimTime};

/// A memory channel with the instant of its next event.
#[derive(Clone, Debug)]
pub struct Scheduled {
    ddr: Ddr,
    /// Instant of the next event; without meaning while no access waits.
    wake: SimTime,
}

impl Scheduled {
    /// Returns the channel of validated parameters, at rest and with no open row.
    pub fn new(params: &Params) -> Scheduled {
        Scheduled { ddr: Ddr::new(params), wake: SimTime::ZERO }
    }

    /// Adds an access. Returns the instant of a grant that the caller is to schedule, if there is one. One that was
    /// scheduled for a later instant remains.
    #[inline]
    pub fn ask(&mut self, access: Access, now: SimTime) -> Option<SimTime> {
        if self.ddr.is_at_rest() {
            let first = self.ddr.ask(access, now).expect("a channel at rest schedules a grant");
            self.wake = first;
            return Some(first);
        }
        self.ddr.make_up(now);
        self.ddr.ask(access, now);
        let next = self.ddr.next_notable();
        if next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    /// Makes the decisions that are due. Called at every instant that [`Scheduled::ask`] or a grant has returned. An
    /// instant that an earlier one has replaced has no effect.
    #[inline]
    pub fn grant(&mut self, now: SimTime) -> Granted {
        let mut granted = Granted { begun: None, done: None, next: None };
        if now != self.wake || self.ddr.is_at_rest() {
            return granted;
        }
        while self.ddr.decision <= now {
            if self.ddr.stream(SimTime(now.0 + 1)) {
                continue;
            }
            granted = self.ddr.grant(self.ddr.decision);
            if granted.is_notable() {
                break;
            }
        }
        granted.next = None;
        if !self.ddr.is_at_rest() {
            self.wake = self.ddr.next_notable();
            granted.next = Some(self.wake);
        }
        granted
    }

    /// Returns the time until `now` in which an access waited or was served, as [`Ddr::busy`] does.
    pub fn busy(&self, now: SimTime) -> Nanos {
        self.ddr.busy(now)
    }

    /// Returns the time for which the data bus has carried data until `now`, as [`Ddr::data_bus_busy`] does.
    pub fn data_bus_busy(&self, now: SimTime) -> Nanos {
        self.at(now).data_bus_busy(now)
    }

    /// Returns the counts until `now`.
    pub fn counters(&self, now: SimTime) -> Counters {
        self.at(now).counters(now)
    }

    /// Returns the channel with all decisions before `now`.
    fn at(&self, now: SimTime) -> Ddr {
        let mut ddr = self.ddr.clone();
        ddr.make_up(now);
        ddr
    }

    /// Returns true if no access waits.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.ddr.is_at_rest()
    }
}

impl Granted {
    #[inline]
    fn is_notable(&self) -> bool {
        self.begun.is_some() || self.done.is_some()
    }
}

impl Ddr {
    /// Makes the decisions before `now` of an access under way.
    #[inline]
    fn make_up(&mut self, now: SimTime) {
        while self.decision < now && !self.is_at_rest() {
            if self.stream(now) {
                continue;
            }
            let granted = self.grant(self.decision);
            assert!(!granted.is_notable(), "an access begins or ends without an event");
        }
    }

    /// Returns an instant before which no access begins or ends, unless a further one is asked for: that of the next
    /// decision or a later one. An access waits.
    #[inline]
    fn next_notable(&self) -> SimTime {
        let Some(current) = self.current else { return self.decision };
        if current.class > 0 && !self.waiting[0].is_empty() {
            return self.decision;
        }
        let access = &self.waiting[current.class][current.index];
        let is_fcfs = self.age_limit == Nanos::ZERO;
        let next_row = ((access.next >> self.row_shift) + 1) << self.row_shift;
        // The first chunk that may be the last one, or be preceded by another access.
        let notable = if is_fcfs || access.end <= next_row { (access.end - 1) & !self.chunk_mask } else { next_row };
        if notable <= access.next || !(is_fcfs || self.is_hit(access)) {
            return self.decision;
        }
        // Bursts follow one another at the distance of their data at least, and the decision on a chunk is that instant
        // at which the one before it begins.
        let before = (notable - self.chunk_mask - 1).max(access.next);
        let bursts = (before >> self.burst_shift) - (access.next >> self.burst_shift);
        let cycle = current.last + (bursts + 1) * self.burst_cycles;
        let mut at = self.clock.instant(cycle.saturating_sub(self.ahead));
        if !is_fcfs {
            at = at.min(self.refresh.due());
            if current.index > 0 {
                at = at.min(self.waiting[current.class][0].asked + self.age_limit);
            }
        }
        at.max(self.decision)
    }

    /// Makes, in one step, the decisions before `before` on whole chunks of an open row in which the access under way
    /// goes on without a gap. Returns true if there was one. What remains is as after [`Ddr::grant`] for each of them.
    #[inline]
    fn stream(&mut self, before: SimTime) -> bool {
        let Some(Current { class, index, last }) = self.current else { return false };
        let access = &self.waiting[class][index];
        let row_ends = ((access.next >> self.row_shift) + 1) << self.row_shift;
        let stop = row_ends.min((access.end - 1) & !self.chunk_mask);
        let enters_row = access.next & ((1 << self.row_shift) - 1) == 0;
        if stop <= access.next || enters_row || (class > 0 && !self.waiting[0].is_empty()) || !self.is_hit(access) {
            return false;
        }
        let mut before = before.min(self.refresh.due());
        if index > 0 {
            before = before.min(self.waiting[class][0].asked + self.age_limit);
        }
        let (first, bursts) = (last + self.burst_cycles, (self.chunk_mask + 1) >> self.burst_shift);
        let chunk_cycles = bursts * self.burst_cycles;
        if self.decision >= before || self.clock.edge(self.decision) > first || !self.channel.streams_from(first) {
            return false;
        }
        // The decision on each further chunk is at the beginning of the one before, less `ahead`.
        let latest = self.clock.last_before(before) + self.ahead;
        let more = if latest < first { 0 } else { (latest - first) / chunk_cycles + 1 };
        let chunks = ((stop - access.next) / (self.chunk_mask + 1)).min(1 + more);
        let begins = first + (chunks - 1) * chunk_cycles;
        let decision = self.decision.max(self.clock.instant((begins.saturating_sub(chunk_cycles)).saturating_sub(self.ahead)));
        let decision = if chunks == 1 { self.decision } else { decision };
        let chunk = cut(access.next, access.next + self.chunk_mask + 1, access.direction, self.burst_shift, self.row_shift);
        let last = begins + chunk_cycles - self.burst_cycles;
        self.waiting[class][index].next += chunks * (self.chunk_mask + 1);
        self.channel.extend(&chunk, self.clock.edge(decision), last);
        let all = Chunk { bursts: chunks * bursts, ..chunk };
        self.count(&all, chunks * (self.chunk_mask + 1), Found::Open);
        self.counters.row_hits += chunks - 1;
        self.decision = decision.max(self.clock.instant(begins.saturating_sub(self.ahead)));
        self.current = Some(Current { class, index, last });
        true
    }
}
