//! A channel that asks for events only where one matters to others.
//!
//! An access of 4 KiB takes eight decisions at the default chunk, of which only the first and the last are noticed
//! outside the channel. The decisions in between depend on nothing but the accesses asked for before them. They are
//! made up for at the next event or the next access, in order and each at its own instant, so that the commands are the
//! same.
//!
//! The end of an access is returned with its beginning where it is certain but for accesses to the map ([`Train`]): an
//! access that is alone needs no event at all. If an access to the map comes between its chunks, the end that was
//! returned does not hold any more ([`Scheduled::is_stale`]), and what remains is decided chunk by chunk.
//!
//! An access that is asked for at the instant of a decision takes part in it, except that an access that finds the
//! channel at rest is granted at once where its decision is due.

use super::train::Train;
use super::{Access, AccessClass, Counters, Ddr, Granted, Params};
use kit::{Nanos, SimTime, TransactionId};

/// Ends that do not hold any more, for which there is space before it has to be allocated.
const STALE: usize = 16;

/// A memory channel with the instant of its next event.
#[derive(Clone, Debug)]
pub struct Scheduled {
    ddr: Ddr,
    /// The rest of the access under way, whose end has been returned.
    train: Option<Train>,
    /// Instant of the next event; never if there is none.
    wake: SimTime,
    /// Ends that were returned and do not hold any more, until their instants.
    stale: Vec<(TransactionId, SimTime)>,
}

impl Scheduled {
    /// Returns the channel of validated parameters, at rest and with no open row.
    pub fn new(params: &Params) -> Scheduled {
        Scheduled::over(Ddr::new(params))
    }

    /// Returns a channel at rest with the instants of its events.
    pub(super) fn over(ddr: Ddr) -> Scheduled {
        Scheduled { ddr, train: None, wake: SimTime::FOREVER, stale: Vec::with_capacity(STALE) }
    }

    /// Adds an access. Returns whether it has begun, its end if that is known, and the instant of a grant that the
    /// caller is to schedule, if there is one. One that was scheduled for a later instant remains.
    #[inline]
    pub fn ask(&mut self, access: Access, now: SimTime) -> Granted {
        match self.train {
            Some(train) if train.decided < now => self.finish(&train),
            Some(train) if access.class == AccessClass::Map => self.shorten(&train, now),
            Some(_) => {}
            None => self.ddr.make_up(now),
        }
        if self.ddr.ask(access, now).is_some_and(|first| first <= now) {
            return self.decide(now);
        }
        let next = self.next_event();
        let is_earlier = next < self.wake;
        self.wake = self.wake.min(next);
        Granted { begun: None, done: None, next: is_earlier.then_some(next) }
    }

    /// Makes the decisions that are due. Called at every instant that [`Scheduled::ask`] or a grant has returned. An
    /// instant that an earlier one has replaced has no effect.
    #[inline]
    pub fn grant(&mut self, now: SimTime) -> Granted {
        if now != self.wake {
            return Granted { begun: None, done: None, next: None };
        }
        if let Some(train) = self.train {
            self.finish(&train);
        }
        self.decide(now)
    }

    /// Makes decisions until an access begins or ends, or none is due.
    #[inline]
    fn decide(&mut self, now: SimTime) -> Granted {
        let mut granted = Granted { begun: None, done: None, next: None };
        while self.ddr.decision <= now {
            if self.ddr.current.is_some() && self.ddr.stream(SimTime(now.0 + 1)) {
                continue;
            }
            granted = self.ddr.decide();
            if granted.is_notable() {
                break;
            }
        }
        self.train = self.ddr.train();
        if let Some(train) = &self.train {
            granted.done = Some((train.transaction, train.done));
        }
        self.wake = self.next_event();
        granted.next = (self.wake < SimTime::FOREVER).then_some(self.wake);
        granted
    }

    /// Makes the decisions of a train, before which no other is due.
    #[inline]
    fn finish(&mut self, train: &Train) {
        self.ddr.finish(train);
        self.train = None;
    }

    /// Makes the decisions of a train before `now`, and gives up the others.
    #[cold]
    fn shorten(&mut self, train: &Train, now: SimTime) {
        self.train = None;
        self.ddr.make_up(now);
        self.stale.push((train.transaction, train.done));
    }

    /// Returns the instant before which no access begins or ends without having been returned, unless a further one is
    /// asked for; never if no other access waits.
    #[inline]
    fn next_event(&self) -> SimTime {
        match &self.train {
            Some(train) if self.ddr.waiting.iter().map(|class| class.len()).sum::<usize>() > 1 => train.next,
            None if !self.ddr.is_at_rest() => self.ddr.next_notable(),
            _ => SimTime::FOREVER,
        }
    }

    /// Returns true if the end of an access, which was returned and is now, does not hold any more. Another one has
    /// been returned since, or will be. Called once for each end.
    #[inline]
    pub fn is_stale(&mut self, transaction: TransactionId, now: SimTime) -> bool {
        !self.stale.is_empty() && self.takes_stale(transaction, now)
    }

    #[cold]
    fn takes_stale(&mut self, transaction: TransactionId, now: SimTime) -> bool {
        let found = self.stale.iter().position(|end| *end == (transaction, now));
        found.map(|index| self.stale.swap_remove(index)).is_some()
    }

    /// Returns the time until `now` in which an access waited or was served, as [`Ddr::busy`] does.
    pub fn busy(&self, now: SimTime) -> Nanos {
        self.at(now).busy(now)
    }

    /// Returns the time for which the data bus has carried data until `now`, as [`Ddr::data_bus_busy`] does.
    pub fn data_bus_busy(&self, now: SimTime) -> Nanos {
        self.at(now).data_bus_busy(now)
    }

    /// Returns the counts until `now`.
    pub fn counters(&self, now: SimTime) -> Counters {
        self.at(now).counters(now)
    }

    /// Returns true if no access waits for a decision before `now`, and none for a later one.
    pub fn is_at_rest(&self, now: SimTime) -> bool {
        self.at(now).is_at_rest()
    }

    /// Returns the channel with all decisions before `now`.
    pub(super) fn at(&self, now: SimTime) -> Ddr {
        let mut ddr = self.ddr.clone();
        match &self.train {
            Some(train) if train.decided < now => ddr.finish(train),
            _ => ddr.make_up(now),
        }
        ddr
    }
}
