//! The rest of an access whose decisions are certain: a train of chunks in one open row.
//!
//! Once a chunk of an access has been granted, and what remains lies in the same row, the bursts follow one another
//! without a gap, so that the end of the access follows from the number of its bursts. Only three things come between
//! its chunks: a refresh and an older access that has reached the age limit, whose instants are known before, and an
//! access to the map that is asked for meanwhile. A train has none of the former; the latter ends it
//! ([`super::Scheduled`]).

use super::channel::{Chunk, Found};
use super::{Current, Ddr, Granted, Waiting, cut};
use kit::{Nanos, SimTime, TransactionId};

/// The rest of the access under way, unless an access to the map is asked for before its last decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Train {
    /// The transaction that waits for it.
    pub transaction: TransactionId,
    /// Cycle of its last column command.
    pub last: u64,
    /// Instant of its last decision.
    pub decided: SimTime,
    /// Instant of the decision that follows.
    pub next: SimTime,
    /// Instant at which the last of its data has crossed the bus.
    pub done: SimTime,
}

impl Granted {
    #[inline]
    pub(super) fn is_notable(&self) -> bool {
        self.begun.is_some() || self.done.is_some()
    }
}

impl Ddr {
    /// Returns the rest of the access under way as a train; `None` if there is none, or its decisions are not certain.
    #[inline]
    pub(super) fn train(&self) -> Option<Train> {
        let Current { class, index, last } = self.current?;
        let access = &self.waiting[class][index];
        let first = last + self.burst_cycles;
        let row_ends = ((access.next >> self.row_shift) + 1) << self.row_shift;
        if access.end > row_ends || (class > 0 && !self.waiting[0].is_empty()) || !self.goes_on(access, first) {
            return None;
        }
        let last_chunk = (access.end - 1) & !self.chunk_mask;
        let bursts_before = (last_chunk - access.next) >> self.burst_shift;
        let begins = first + bursts_before * self.burst_cycles;
        // The decision on each chunk is at the beginning of the one before, less `ahead`.
        let decided = if bursts_before == 0 { self.decision } else { self.decision_after(begins - self.chunk_cycles()) };
        if decided >= self.undisturbed_before(class, index) {
            return None;
        }
        let last = begins + (((access.end - 1) >> self.burst_shift) - (last_chunk >> self.burst_shift)) * self.burst_cycles;
        let latency = self.channel.latency(access.direction);
        Some(Train {
            transaction: access.transaction,
            last,
            decided,
            next: self.decision_after(begins),
            done: self.clock.instant(last + latency + self.burst_cycles),
        })
    }

    /// Makes all decisions of the train under way. What remains is as after [`Ddr::grant`] for each of them.
    #[inline]
    pub(super) fn finish(&mut self, train: &Train) {
        let Current { class, index, .. } = self.current.take().expect("a train is of the access under way");
        let access = self.remove(class, index);
        let rest = cut(access.next, access.end, access.direction, self.burst_shift, self.row_shift);
        self.channel.extend(&rest, train.last);
        self.count(&rest, access.end - access.next, Found::Open);
        self.counters.row_hits += (access.end - 1 - access.next) >> self.chunk_shift;
        self.decision = train.next;
        self.data_ends = self.data_ends.max(train.done);
    }

    /// Makes the decisions before `now` of an access under way.
    #[inline]
    pub(super) fn make_up(&mut self, now: SimTime) {
        while self.decision < now && !self.is_at_rest() {
            if self.stream(now) {
                continue;
            }
            let granted = self.decide();
            assert!(!granted.is_notable(), "an access begins or ends without an event");
        }
    }

    /// Returns an instant before which no access begins or ends, unless a further one is asked for: that of the next
    /// decision or a later one. An access waits, and there is no train.
    #[inline]
    pub(super) fn next_notable(&self) -> SimTime {
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
            at = at.min(self.undisturbed_before(current.class, current.index));
        }
        at.max(self.decision)
    }

    /// Makes, in one step, the decisions before `before` on whole chunks of an open row in which the access under way
    /// goes on without a gap. Returns true if there was one. What remains is as after [`Ddr::grant`] for each of them.
    #[inline]
    pub(super) fn stream(&mut self, before: SimTime) -> bool {
        let Some(Current { class, index, last }) = self.current else { return false };
        let access = &self.waiting[class][index];
        let (first, chunk_cycles) = (last + self.burst_cycles, self.chunk_cycles());
        let row_ends = ((access.next >> self.row_shift) + 1) << self.row_shift;
        let stop = row_ends.min((access.end - 1) & !self.chunk_mask);
        if stop <= access.next || (class > 0 && !self.waiting[0].is_empty()) || !self.goes_on(access, first) {
            return false;
        }
        let before = before.min(self.undisturbed_before(class, index));
        if self.decision >= before {
            return false;
        }
        // The decision on each further chunk is at the beginning of the one before, less `ahead`.
        let latest = self.clock.last_before(before) + self.ahead;
        let more = if latest < first { 0 } else { (latest - first) / chunk_cycles + 1 };
        let chunks = ((stop - access.next) >> self.chunk_shift).min(1 + more);
        let begins = first + (chunks - 1) * chunk_cycles;
        let bytes = chunks * (self.chunk_mask + 1);
        let all = cut(access.next, access.next + bytes, access.direction, self.burst_shift, self.row_shift);
        let last = begins + chunk_cycles - self.burst_cycles;
        self.waiting[class][index].next += bytes;
        self.channel.extend(&all, last);
        self.count(&all, bytes, Found::Open);
        self.counters.row_hits += chunks - 1;
        self.decision = self.decision_after(begins);
        self.current = Some(Current { class, index, last });
        true
    }

    /// Returns true if the next chunk of the access under way follows the last one in its row from the cycle `first` on
    /// without a gap, and each later chunk in that row does so too.
    #[inline]
    fn goes_on(&self, access: &Waiting, first: u64) -> bool {
        let chunk: Chunk = self.next_chunk(access);
        let enters_row = access.next & ((1 << self.row_shift) - 1) == 0;
        !enters_row
            && self.channel.is_open(&chunk)
            && self.channel.streams_from(&chunk, first)
            && self.clock.has_edge(self.decision, first)
    }

    /// Returns the instant from which on a refresh or the age limit may come between the chunks of an access under way.
    #[inline]
    fn undisturbed_before(&self, class: usize, index: usize) -> SimTime {
        let refresh = self.refresh.due();
        if index == 0 { refresh } else { refresh.min(self.waiting[class][0].asked + self.age_limit) }
    }

    /// Returns the instant of the decision that follows that on a chunk whose column commands begin at a cycle.
    #[inline]
    fn decision_after(&self, begins: u64) -> SimTime {
        self.decision.max(self.clock.instant(begins.saturating_sub(self.ahead)))
    }

    /// Returns the cycles of the data of a whole chunk.
    #[inline]
    fn chunk_cycles(&self) -> u64 {
        ((self.chunk_mask + 1) >> self.burst_shift) * self.burst_cycles
    }
}
