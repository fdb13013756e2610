//! A DDR memory channel of the controller: a resource that chooses among accesses and grants.
//!
//! [`Scheduled`] is what the controller has: it asks for events only where one matters to others.
//! [`Ddr`] is a state machine without events of its own. [`Ddr::ask`] adds an access; the caller schedules a grant at
//! the instant that is returned. [`Ddr::grant`] chooses the next chunk of an access and places all of its commands at
//! the earliest legal cycles. It returns the instant of the next decision.
//!
//! Known errors: a decision sees one chunk, so that no bank is activated for an access that is chosen later than the
//! next one (see [`Params::activate_ahead`]); the bursts of a chunk follow one another without gaps, for which the
//! first may be delayed by a cycle or two; power-down is not modelled. Accesses to the same address may be reordered.

mod bus;
mod channel;
#[cfg(test)]
mod check;
mod gaps;
mod params;
mod refresh;
mod scheduled;
mod timing;
mod train;

pub use params::{Page, Params, Scheduling};
pub use scheduled::Scheduled;
pub use timing::{Generation, Grade, Timing};

use channel::{Channel, Chunk, Found, RANKS};
use gaps::Direction;
use kit::{Bytes, Nanos, SimTime, TransactionId};
use refresh::Refresh;
use std::collections::VecDeque;
use timing::Clock;

/// One access of the controller to the memory: at most a few KiB, contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The transaction that waits for it.
    pub transaction: TransactionId,
    /// Address of its first byte.
    pub address: u64,
    /// Its bytes, at least one.
    pub bytes: Bytes,
    /// Direction of its data.
    pub kind: AccessKind,
    /// Its class.
    pub class: AccessClass,
}

/// Direction of the data of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// From the memory.
    Read,
    /// To the memory.
    Write,
}

/// Class of an access. A class goes before those that follow it, for as long as one of its accesses waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// A look-up or an update of the map.
    Map,
    /// Data of the host, or of a relocation.
    Data,
}

/// Outcome of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The access whose first chunk this was.
    pub begun: Option<TransactionId>,
    /// The access whose last chunk was granted, and the instant at which the last of its data has crossed the bus.
    pub done: Option<(TransactionId, SimTime)>,
    /// Instant of the next decision, if accesses wait.
    pub next: Option<SimTime>,
}

/// Counts of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes of granted reads.
    pub bytes_read: u64,
    /// Bytes of granted writes.
    pub bytes_written: u64,
    /// Chunks whose row was open.
    pub row_hits: u64,
    /// Chunks that found a bank without an open row.
    pub row_misses: u64,
    /// Chunks that found a bank with another open row.
    pub row_conflicts: u64,
    /// Activates of a row in a bank.
    pub activates: u64,
    /// Refreshes: of all banks, or of one bank of each rank.
    pub refreshes: u64,
    /// Bursts that were read.
    pub bursts_read: u64,
    /// Bursts that were written.
    pub bursts_written: u64,
    /// Cycles for which a rank had a row open, of all ranks together.
    pub cycles_open: u64,
}

/// An access that waits, or the rest of one.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    transaction: TransactionId,
    direction: Direction,
    /// Address of the next chunk.
    next: u64,
    /// Address after the last byte.
    end: u64,
    asked: SimTime,
    /// True if none of its chunks has been granted.
    is_new: bool,
}

/// The access of the last chunk that was granted, of which more is to come.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Its class, and its index among those that wait.
    class: usize,
    index: usize,
    /// Cycle of its last column command so far.
    last: u64,
}

/// Accesses of a class that FR-FCFS considers.
const WINDOW: usize = 64;

/// A DDR memory channel.
#[derive(Clone, Debug)]
pub struct Ddr {
    clock: Clock,
    channel: Channel,
    refresh: Refresh,
    /// Accesses that wait, by class, the oldest first.
    waiting: [VecDeque<Waiting>; 2],
    /// The access of the last decision, unless that was its end.
    current: Option<Current>,
    /// Instant of the next decision, whether or not an access waits.
    decision: SimTime,
    /// Instant at which the last of the data of the granted accesses has crossed the bus.
    data_ends: SimTime,
    /// Time without an access before the last one was asked for.
    idle: Nanos,
    /// Age from which the oldest access goes first; 0 with FCFS.
    age_limit: Nanos,
    size: u64,
    /// Bytes of a chunk, less one; a power of two less one.
    chunk_mask: u64,
    /// Binary logarithm of the bytes of a chunk.
    chunk_shift: u32,
    /// Binary logarithm of the bytes of a burst.
    burst_shift: u32,
    /// Binary logarithm of the bytes of a row, in both banks of a pair.
    row_shift: u32,
    /// Cycles by which a decision precedes the first column command of the last chunk.
    ahead: u64,
    burst_cycles: u64,
    counters: Counters,
}

impl Ddr {
    /// Returns the channel of validated parameters, at rest and with no open row.
    pub fn new(params: &Params) -> Ddr {
        Ddr::with_timing(params, &params.grade.timing())
    }

    fn with_timing(params: &Params, timing: &Timing) -> Ddr {
        assert!((1..=RANKS).contains(&(params.ranks as usize)), "{} ranks", params.ranks);
        let channel = Channel::new(timing, params.ranks as usize, params.page);
        let row_shift = params.row().0.ilog2() + u32::from(channel.has_pairs());
        Ddr {
            clock: Clock::new(timing.tck_ps),
            channel,
            refresh: Refresh::new(timing, params.refresh, params.refresh_per_bank),
            waiting: [VecDeque::with_capacity(WINDOW), VecDeque::with_capacity(WINDOW)],
            current: None,
            decision: SimTime::ZERO,
            data_ends: SimTime::ZERO,
            idle: Nanos::ZERO,
            age_limit: if params.scheduling == Scheduling::FrFcfs { params.age_limit } else { Nanos::ZERO },
            size: params.size.0,
            chunk_mask: params.chunk.0 - 1,
            chunk_shift: params.chunk.0.ilog2(),
            burst_shift: (u64::from(params.width_bits / 8) * timing.burst_length).ilog2(),
            row_shift,
            ahead: if params.activate_ahead { timing.rcd } else { 0 },
            burst_cycles: timing.burst_cycles(),
            counters: Counters::default(),
        }
    }

    /// Adds an access. Returns the instant of the grant that the caller is to schedule, if none is scheduled.
    #[inline]
    pub fn ask(&mut self, access: Access, now: SimTime) -> Option<SimTime> {
        let end = access.address.saturating_add(access.bytes.0);
        assert!(access.bytes.0 > 0 && end <= self.size, "an access beyond the memory: {access:?}");
        let was_idle = self.is_at_rest();
        if was_idle && self.refresh.is_due(now) {
            self.refresh.after_idle_time(&mut self.channel, now);
        }
        let direction = match access.kind {
            AccessKind::Read => Direction::Read,
            AccessKind::Write => Direction::Write,
        };
        let waiting = Waiting { transaction: access.transaction, direction, next: access.address, end, asked: now, is_new: true };
        self.waiting[access.class as usize].push_back(waiting);
        if !was_idle {
            return None;
        }
        self.idle += Nanos(now.0.saturating_sub(self.data_ends.0));
        self.decision = self.decision.max(now);
        Some(self.decision)
    }

    /// Chooses the next chunk and places its commands. Called at the instant that [`Ddr::ask`] or the last grant has
    /// returned.
    pub fn grant(&mut self, now: SimTime) -> Granted {
        assert_eq!(now, self.decision, "a grant at another instant than the one that was returned");
        let granted = self.decide();
        Granted { next: (!self.is_at_rest()).then_some(self.decision), ..granted }
    }

    /// Makes the next decision: chooses a chunk and places its commands. Returns no instant of the decision after it.
    #[inline(always)]
    fn decide(&mut self) -> Granted {
        let now = self.decision;
        if self.refresh.is_due(now) {
            self.refresh.at_decision(&mut self.channel, now);
        }
        let class = usize::from(self.waiting[0].is_empty());
        let index = self.choose(class, now);
        let access = self.waiting[class].get_mut(index).expect("a grant is scheduled only while an access waits");
        let begin = access.next;
        let end = access.end.min((begin | self.chunk_mask) + 1);
        let (transaction, is_last) = (access.transaction, end == access.end);
        let begun = std::mem::take(&mut access.is_new).then_some(transaction);
        let chunk = cut(begin, end, access.direction, self.burst_shift, self.row_shift);
        access.next = end;
        if is_last {
            self.remove(class, index);
        }
        let (train, found) = self.channel.place(&chunk, self.clock.edge(now));
        self.count(&chunk, end - begin, found);
        self.current = (!is_last).then_some(Current { class, index, last: train.last });
        self.decision = now.max(self.clock.instant(train.first.saturating_sub(self.ahead)));
        let done = is_last.then(|| (transaction, self.clock.instant(train.last + train.latency + self.burst_cycles)));
        if let Some((_, at)) = done {
            self.data_ends = self.data_ends.max(at);
        }
        Granted { begun, done, next: None }
    }

    /// Removes an access of a class from those that wait; most often it is the oldest.
    #[inline(always)]
    fn remove(&mut self, class: usize, index: usize) -> Waiting {
        let waiting = &mut self.waiting[class];
        let access = if index == 0 { waiting.pop_front() } else { waiting.remove(index) };
        access.expect("an access waits until its last chunk is granted")
    }

    /// Returns the index of the access of a class that is granted next.
    #[inline]
    fn choose(&self, class: usize, now: SimTime) -> usize {
        let waiting = &self.waiting[class];
        let is_late = |oldest: &Waiting| now.since(oldest.asked) >= self.age_limit;
        if waiting.len() < 2 || is_late(&waiting[0]) {
            return 0;
        }
        waiting.iter().take(WINDOW).position(|access| self.is_hit(access)).unwrap_or(0)
    }

    /// Returns true if the row of the next chunk of an access is open.
    #[inline]
    fn is_hit(&self, access: &Waiting) -> bool {
        self.channel.is_open(&self.next_chunk(access))
    }

    /// Returns the next chunk of an access.
    #[inline]
    fn next_chunk(&self, access: &Waiting) -> Chunk {
        let end = access.end.min((access.next | self.chunk_mask) + 1);
        cut(access.next, end, access.direction, self.burst_shift, self.row_shift)
    }

    #[inline]
    fn count(&mut self, chunk: &Chunk, bytes: u64, found: Found) {
        match chunk.direction {
            Direction::Read => {
                self.counters.bursts_read += chunk.bursts;
                self.counters.bytes_read += bytes;
            }
            Direction::Write => {
                self.counters.bursts_written += chunk.bursts;
                self.counters.bytes_written += bytes;
            }
        }
        match found {
            Found::Open => self.counters.row_hits += 1,
            Found::Closed => self.counters.row_misses += 1,
            Found::Conflict => self.counters.row_conflicts += 1,
        }
    }

    /// Returns the time until `now` in which an access waited or was served, from its asking to the last of its data.
    /// `now` is not before the last call. Where rows are opened and the bus is turned around, it is more than the time
    /// of the data alone.
    pub fn busy(&self, now: SimTime) -> Nanos {
        let until = if self.is_at_rest() { now.min(self.data_ends) } else { now };
        Nanos(until.0 - self.idle.0)
    }

    /// Returns the time for which the data bus has carried data until `now`, which is not before the last call. Rounded
    /// down.
    pub fn data_bus_busy(&self, now: SimTime) -> Nanos {
        let bursts = self.counters.bursts_read + self.counters.bursts_written;
        let granted = self.clock.picoseconds(bursts * self.burst_cycles);
        let to_come = self.channel.data_after(u128::from(now.0) * 1_000);
        Nanos(((granted - to_come) / 1_000) as u64)
    }

    /// Returns the counts until `now`, which is not before the last call.
    pub fn counters(&self, now: SimTime) -> Counters {
        let refreshes = self.refresh.count(now, self.is_at_rest());
        Counters { activates: self.channel.activates, refreshes, cycles_open: self.cycles_open(now), ..self.counters }
    }

    /// Returns the cycles until `now` for which a rank had a row open. Refreshes of an idle time, which close the rows,
    /// are made up for on a copy.
    fn cycles_open(&self, now: SimTime) -> u64 {
        if !self.is_at_rest() || !self.refresh.is_due(now) {
            return self.channel.cycles_open(self.clock.edge(now));
        }
        let (mut channel, mut refresh) = (self.channel.clone(), self.refresh.clone());
        refresh.after_idle_time(&mut channel, now);
        channel.cycles_open(self.clock.edge(now))
    }

    /// Returns true if no access waits. The data of the last one may still be on the bus.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }
}

/// Returns the chunk from one address to another, which are in one row.
#[inline]
fn cut(begin: u64, end: u64, direction: Direction, burst_shift: u32, row_shift: u32) -> Chunk {
    let burst = begin >> burst_shift;
    Chunk { row: (begin >> row_shift) as u32, burst, bursts: ((end - 1) >> burst_shift) - burst + 1, direction }
}

#[cfg(test)]
mod tests;
