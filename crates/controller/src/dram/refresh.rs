//! Refresh, without events of its own.
//!
//! A refresh is due at each multiple of the interval. While no access waits, it happens when it is due; otherwise at
//! the first decision after that. Refreshes of an idle time are made up for at the next access. Only the first and the
//! last ones can differ from each other, so that a long idle time costs no more than a short one.
//!
//! All ranks are refreshed one right after the other, and banks in the order of their numbers (assumed). Refreshes are
//! neither postponed until the channel is idle nor pulled in.

use super::channel::Channel;
use super::timing::{Clock, Timing};
use kit::SimTime;

/// Refresh of a channel.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    clock: Clock,
    /// Cycles from one refresh to the next; 0 if the memory is not refreshed.
    interval: u64,
    /// Refreshes after which each bank has been refreshed: 1 if all banks are refreshed at once.
    round: u64,
    /// Refreshes up to now.
    count: u64,
    /// Instant at which the next one is due.
    due: SimTime,
    /// True: no refresh of an idle time is left out. For tests.
    #[cfg(test)]
    pub one_by_one: bool,
}

impl Refresh {
    pub fn new(timing: &Timing, enabled: bool, per_bank: bool) -> Refresh {
        let clock = Clock::new(timing.tck_ps);
        let round = if per_bank { timing.banks } else { 1 };
        let interval = if enabled { timing.refi / round } else { 0 };
        let due = if enabled { clock.instant(interval) } else { SimTime::FOREVER };
        Refresh {
            clock,
            interval,
            round,
            count: 0,
            due,
            #[cfg(test)]
            one_by_one: false,
        }
    }

    /// Returns true if a refresh is due.
    #[inline]
    pub fn is_due(&self, now: SimTime) -> bool {
        now >= self.due
    }

    /// Returns the refreshes until `now`; with `is_idle`, those included that a later call will make up for.
    pub fn count(&self, now: SimTime, is_idle: bool) -> u64 {
        if is_idle && self.is_due(now) { self.clock.periods(self.interval, now) } else { self.count }
    }

    /// Places the refreshes that are due at a decision, at or after its cycle.
    #[cold]
    pub fn at_decision(&mut self, channel: &mut Channel, now: SimTime) {
        let at = self.clock.edge(now);
        while self.is_due(now) {
            self.place(channel, at);
        }
    }

    /// Places the refreshes of a time without accesses that ends now, each at or after its own cycle.
    #[cold]
    pub fn after_idle_time(&mut self, channel: &mut Channel, now: SimTime) {
        let mut undisturbed = 0;
        while self.is_due(now) {
            let due = (self.count + 1) * self.interval;
            let ready = self.place(channel, due);
            // Once each bank has been refreshed, and the last refresh ended before the next is due, all banks are
            // closed and ready whenever one is due. The last round before now then leaves the state of all of them.
            undisturbed = if ready <= due + self.interval { undisturbed + 1 } else { 0 };
            if undisturbed >= self.round && self.is_due(now) && self.skips() {
                let last_round = self.clock.periods(self.interval, now).saturating_sub(self.round);
                self.count = self.count.max(last_round);
                self.due = self.clock.instant((self.count + 1) * self.interval);
            }
        }
    }

    /// Returns the instant at which the next one is due.
    #[inline]
    pub fn due(&self) -> SimTime {
        self.due
    }

    #[cfg(test)]
    fn skips(&self) -> bool {
        !self.one_by_one
    }

    #[cfg(not(test))]
    fn skips(&self) -> bool {
        true
    }

    /// Places the next refresh. Returns the first cycle at which what it refreshes may be used again.
    fn place(&mut self, channel: &mut Channel, at: u64) -> u64 {
        let bank = self.count % self.round;
        self.count += 1;
        self.due = self.clock.instant((self.count + 1) * self.interval);
        if self.round == 1 { channel.refresh(at) } else { channel.refresh_bank(bank as usize, at) }
    }
}
