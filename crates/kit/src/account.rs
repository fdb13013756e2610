//! Accounts: the time of an operation or a command by cause, with the instant up to which it is charged.

use crate::cause::{Cause, Ledger};
use crate::units::{Nanos, SimTime};

/// The time of an operation, a command or a part of one by cause, and the instant up to which it is charged.
///
/// Whoever works on an operation charges the time since that instant to a cause and moves the instant on
/// ([`Account::charge_to`]). The causes therefore add up to the latency, overlapping work is charged once, and a wait
/// is charged to what was waited for. The flash knows the ends of its phases in advance and charges spans
/// ([`Account::charge`]); it moves the instant on when the operation leaves it ([`Account::settle`]).
#[derive(Clone, Debug, Default)]
pub struct Account {
    ledger: Ledger,
    charged_to: SimTime,
}

impl Account {
    /// Returns an account that goes on at `now` with what has been charged so far.
    pub fn from_ledger(ledger: Ledger, now: SimTime) -> Account {
        Account { ledger, charged_to: now }
    }

    /// Opens the account at `now`: nothing is charged yet.
    #[inline]
    pub fn open(&mut self, now: SimTime) {
        self.ledger = Ledger::default();
        self.charged_to = now;
    }

    /// Returns the time charged so far, by cause.
    #[inline]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the ledger, for charges of spans.
    #[inline]
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Charges a span to a cause. The instant stays where it is.
    #[inline]
    pub fn charge(&mut self, cause: Cause, span: Nanos) {
        self.ledger.charge(cause, span);
    }

    /// Charges the time since the instant to a cause, and moves the instant to `now`.
    #[inline]
    pub fn charge_to(&mut self, cause: Cause, now: SimTime) {
        self.ledger.charge(cause, now.since(self.charged_to));
        self.charged_to = now;
    }

    /// Charges the time since the instant to a cause like [`Account::charge_to`], unless all time until `until` is
    /// charged already. For pieces of work on one command that overlap.
    #[inline]
    pub fn charge_up_to(&mut self, cause: Cause, until: SimTime) {
        if until > self.charged_to {
            self.charge_to(cause, until);
        }
    }

    /// Adds the time of a part, which went on until `now`. If it began before the instant, its first time is charged
    /// already, and is left out.
    pub fn join(&mut self, part: &Ledger, now: SimTime) {
        let charged = Nanos(part.total().0 - now.since(self.charged_to).0);
        self.ledger.add(part);
        if charged > Nanos::ZERO {
            self.ledger.take_first(part, charged);
        }
        self.charged_to = now;
    }

    /// Charges the time that was charged to a cause to another one.
    pub fn move_charge(&mut self, from: Cause, to: Cause) {
        let span = Nanos(std::mem::take(&mut self.ledger.0[from as usize]));
        self.ledger.charge(to, span);
    }

    /// Begins a wait of which a part, measured by a clock that reads `reading` now, has a cause of its own.
    pub fn begin_part(&mut self, cause: Cause, reading: Nanos) {
        self.ledger.0[cause as usize] = reading.0;
    }

    /// Ends a wait at `now`: the time since the reading ([`Account::begin_part`]) is charged to `part`, the rest to
    /// `whole`.
    pub fn end_part(&mut self, part: Cause, whole: Cause, reading: Nanos, now: SimTime) {
        let before = Nanos(std::mem::take(&mut self.ledger.0[part as usize]));
        let span = now.since(self.charged_to);
        let of_part = Nanos((reading - before).0.min(span.0));
        self.ledger.charge(part, of_part);
        self.ledger.charge(whole, span - of_part);
        self.charged_to = now;
    }

    /// Moves the instant to `now`: the time until then has been charged in spans.
    #[inline]
    pub fn settle(&mut self, now: SimTime) {
        self.charged_to = now;
    }
}

/// An account in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountId {
    /// The account of the flash operation in this slot.
    Operation(u32),
    /// The account of a command or of a part of one, by its own slot.
    Host(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_wait_has_a_cause_of_its_own() {
        let mut account = Account::default();
        account.open(SimTime(100));
        account.begin_part(Cause::Retry, Nanos(40));
        account.end_part(Cause::Retry, Cause::HostQueue, Nanos(47), SimTime(130));
        assert_eq!([Cause::Retry, Cause::HostQueue].map(|cause| account.ledger().get(cause).0), [7, 23]);
        account.charge_to(Cause::Decode, SimTime(131));
        account.move_charge(Cause::Retry, Cause::HostQueue);
        assert_eq!([Cause::Retry, Cause::HostQueue].map(|cause| account.ledger().get(cause).0), [0, 30]);
        assert_eq!(account.ledger().total(), Nanos(31));
    }

    #[test]
    fn what_is_charged_adds_up_to_the_time_since_the_account_was_opened() {
        let mut account = Account::default();
        account.charge(Cause::Retry, Nanos(9));
        account.open(SimTime(100));
        account.charge_to(Cause::EccWait, SimTime(130));
        // A room that charges spans moves the instant on when it is done.
        account.charge(Cause::Sense, Nanos(50));
        account.settle(SimTime(180));
        account.charge_to(Cause::Decode, SimTime(187));
        account.charge_to(Cause::Decode, SimTime(187));
        let ledger = account.ledger();
        assert_eq!(ledger.total(), Nanos(87));
        let causes = [Cause::EccWait, Cause::Sense, Cause::Decode, Cause::Retry];
        assert_eq!(causes.map(|cause| ledger.get(cause).0), [30, 50, 7, 0]);
    }
}
