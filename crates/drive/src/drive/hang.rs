//! A controller that hangs: it fetches and completes no command until it recovers, or the host resets it.
//!
//! The flash and the write buffer go on with what was begun: it is the controller as the host sees it that hangs
//! \[A\]. The host does what the NVMe driver of Linux does (drivers/nvme/host/pci.c, `nvme_timeout`; recalled \[R\]):
//! when the oldest command has not completed within the timeout, the host aborts it; the controller does not answer the
//! abort, either, and after the same time again the host resets it. The reset ends all commands in the device, and the
//! host submits them again. Acknowledged data is in the write buffer, which a reset leaves as it is.
//!
//! Known errors: Linux aborts each command that is late, up to a limit of the controller, and gives a command up after
//! five repetitions; here the first abort of a hang stands for all, and no command is given up. An abort takes no time.
//! The timer of a command runs from its submission by the application, also while the command waits for a place in its
//! queue. Commands that the device has not fetched keep their place in the queue over a reset.

use super::Drive;
use crate::statistics::Statistics;
use flash::faults::RecoveryConfig;
use kit::queue::Class;
use kit::{AccountId, Cause, CommandId, Event, Ledger, Nanos, SimTime, Status, Timer};
use std::collections::VecDeque;

/// State of a controller that may hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It works.
    Working,
    /// It hangs.
    Hung {
        /// End of the hang; `None` if only a reset ends it.
        until: Option<SimTime>,
        /// Instant at which the host's patience ends; `None` while no command is outstanding.
        deadline: Option<SimTime>,
        /// True if the host has aborted a command in this hang.
        has_aborted: bool,
    },
    /// It is reset. It works again from an instant on, once the work of all commands in it is over.
    Resetting(SimTime),
}

/// A command whose work is over while the controller hangs.
struct Withheld {
    command: CommandId,
    /// Time of the command since it was in the device, up to `since`.
    ledger: Ledger,
    since: SimTime,
}

/// Counts of the host's measures against a controller that hangs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HangCounts {
    /// Commands aborted.
    pub aborts: u64,
    /// Resets of the controller.
    pub resets: u64,
    /// Commands submitted again.
    pub submitted_again: u64,
}

/// Hangs of a controller.
pub(super) struct Hangs {
    recovery: RecoveryConfig,
    /// Hangs to come: instant and time, `None` until a reset.
    scripted: VecDeque<(SimTime, Option<Nanos>)>,
    state: State,
    withheld: Vec<Withheld>,
    /// Commands that wait at the host, where the device would fetch them at once.
    waiting: Vec<CommandId>,
    counts: HangCounts,
}

impl Drive {
    /// Returns the number of scripted hangs that have not begun.
    pub(crate) fn hangs_pending(&self) -> usize {
        self.hangs.as_ref().map_or(0, |hangs| hangs.scripted.len())
    }

    /// Lets the controller hang at these times from now on, each for a time or until it is reset.
    pub(super) fn script_hangs(&mut self, hangs: &[(Nanos, Option<Nanos>)]) {
        assert!(self.host.has_queues(), "the commands of a controller that hangs are in queues");
        let recovery = self.faults.as_ref().expect("the description has faults").recovery;
        let none = || {
            let (scripted, withheld, waiting) = (VecDeque::new(), Vec::new(), Vec::new());
            Box::new(Hangs { recovery, scripted, state: State::Working, withheld, waiting, counts: HangCounts::default() })
        };
        let own = self.hangs.get_or_insert_with(none);
        own.scripted.extend(hangs.iter().map(|&(after, span)| (self.now + after, span)));
        own.scripted.make_contiguous().sort_by_key(|(at, _)| *at);
        for &(after, _) in hangs {
            self.expect_hang(self.now + after);
        }
    }

    fn expect_hang(&mut self, at: SimTime) {
        self.out.events.push(at, Class::Timer, Event::Timer(Timer::Hang));
    }

    /// Returns the counts of the host's measures.
    pub fn hang_counts(&self) -> HangCounts {
        self.hangs.as_ref().map_or(HangCounts::default(), |hangs| hangs.counts)
    }

    /// Returns true if the controller hangs or is reset.
    #[inline]
    pub(super) fn is_hung(&self) -> bool {
        self.hangs.as_ref().is_some_and(|hangs| hangs.state != State::Working)
    }

    /// Does what is due of a hang.
    #[inline(never)]
    pub(super) fn hang_due(&mut self) {
        let now = self.now;
        let Some(hangs) = self.hangs.as_mut().filter(|_| !self.is_held_up) else { return };
        let is_due = |at: Option<SimTime>| at.is_some_and(|at| at <= now);
        match hangs.state {
            State::Working => {
                if let Some((_, span)) = hangs.scripted.front().copied().filter(|(at, _)| *at <= now) {
                    hangs.scripted.pop_front();
                    self.hang(span);
                }
            }
            State::Hung { until, .. } if is_due(until) => self.recover_from_hang(),
            State::Hung { deadline, .. } if is_due(deadline) => self.command_is_late(),
            State::Hung { .. } => {}
            State::Resetting(until) => {
                if until <= now {
                    self.end_reset();
                }
            }
        }
    }

    fn hang(&mut self, span: Option<Nanos>) {
        let until = span.map(|span| self.now + span);
        self.set_hang(State::Hung { until, deadline: None, has_aborted: false });
        if let Some(until) = until {
            self.expect_hang(until);
        }
        self.expect_timeout();
    }

    fn set_hang(&mut self, state: State) {
        self.hangs.as_mut().expect("the controller may hang").state = state;
        self.withholds = self.is_held_up || state != State::Working;
    }

    /// Sets the instant at which the oldest command will be late, if the controller hangs and none is set.
    #[inline(never)]
    pub(super) fn expect_timeout(&mut self) {
        let Some(hangs) = &mut self.hangs else { return };
        let State::Hung { deadline: deadline @ None, .. } = &mut hangs.state else { return };
        let Some(oldest) = self.host.oldest_submission(self.now) else { return };
        let at = (oldest + hangs.recovery.timeout).max(self.now);
        *deadline = Some(at);
        self.expect_hang(at);
    }

    /// Handles a command that has not completed in time: the host aborts it and, if it did so before, resets the
    /// controller.
    fn command_is_late(&mut self) {
        let hangs = self.hangs.as_mut().expect("the controller hangs");
        let State::Hung { deadline, has_aborted, .. } = &mut hangs.state else { unreachable!("the controller hangs") };
        let RecoveryConfig { timeout, reset_time } = hangs.recovery;
        let oldest = self.host.oldest_submission(self.now);
        if oldest.is_none_or(|oldest| oldest + timeout > self.now) {
            // The command was already on its way to the host.
            *deadline = None;
            return self.expect_timeout();
        }
        if *has_aborted {
            hangs.counts.resets += 1;
            self.set_hang(State::Resetting(self.now + reset_time));
            return self.expect_hang(self.now + reset_time);
        }
        hangs.counts.aborts += 1;
        (*deadline, *has_aborted) = (Some(self.now + timeout), true);
        self.expect_hang(self.now + timeout);
    }

    /// Keeps back a command whose work is over; `ledger` covers the time since it was in the device.
    #[inline(never)]
    pub(super) fn withhold(&mut self, command: CommandId, ledger: &Ledger) {
        if self.is_held_up {
            return;
        }
        let hangs = self.hangs.as_mut().expect("the controller hangs");
        hangs.withheld.push(Withheld { command, ledger: *ledger, since: self.now });
        self.go_on_resetting();
    }

    /// Lets a command wait at the host, where the device would fetch it at once.
    #[inline(never)]
    pub(super) fn wait_at_host(&mut self, command: CommandId) {
        self.hangs.as_mut().expect("the controller hangs").waiting.push(command);
    }

    /// Ends a reset that waited for the work of a command, if its time is over.
    #[inline(never)]
    pub(super) fn go_on_resetting(&mut self) {
        let is_over = |hangs: &Hangs| matches!(hangs.state, State::Resetting(until) if until <= self.now);
        if self.hangs.as_ref().is_some_and(|hangs| is_over(hangs)) {
            self.expect_hang(self.now);
        }
    }

    /// Ends a hang: the controller completes what it has kept back.
    fn recover_from_hang(&mut self) {
        self.set_hang(State::Working);
        let withheld = std::mem::take(&mut self.hangs.as_mut().expect("the controller hung").withheld);
        for Withheld { command, mut ledger, since } in withheld {
            ledger.charge(Cause::Firmware, self.now.since(since));
            self.command_done(command, &ledger);
        }
        self.work_again();
    }

    /// Ends a reset, unless the work of a command is not over: the host submits all commands again, the oldest first.
    fn end_reset(&mut self) {
        let hangs = self.hangs.as_mut().expect("the controller is reset");
        if (hangs.withheld.len() as u32) < self.host.in_device() {
            return;
        }
        let mut withheld = std::mem::take(&mut hangs.withheld);
        hangs.counts.submitted_again += withheld.len() as u64;
        withheld.sort_by_key(|one| (self.host.command(one.command).submitted(), one.command.0));
        self.set_hang(State::Working);
        for Withheld { command, .. } in withheld {
            let state = self.host.command(command);
            // It is counted when it has completed. The measurement may have begun since it was.
            let Statistics { media_errors, refused_writes, .. } = &mut self.statistics;
            match state.status() {
                Status::MediaError if state.is_recorded() => *media_errors = media_errors.saturating_sub(1),
                Status::WriteProtected => *refused_writes = refused_writes.saturating_sub(1),
                _ => {}
            }
            self.host.end_for_resubmission(command, self.now, &mut self.out);
            self.submit_to_device(command);
        }
        self.work_again();
    }

    /// Lets a controller that works again fetch commands. A hang that was due meanwhile begins.
    fn work_again(&mut self) {
        for command in std::mem::take(&mut self.hangs.as_mut().expect("the controller hung").waiting) {
            if let Some(account) = self.host.command(command).account() {
                self.out.account_mut(AccountId::Host(account)).charge_up_to(Cause::HostQueue, self.now);
            }
            self.submit_to_device(command);
        }
        self.fetch();
        let next = self.hangs.as_ref().and_then(|hangs| hangs.scripted.front());
        if next.is_some_and(|(at, _)| *at <= self.now) {
            self.expect_hang(self.now);
        }
    }

    /// Takes over the hangs to come, and the counts, of a drive that has lost power, whose place this one takes. Power
    /// is back at an instant: a controller that hung works then.
    pub(super) fn keep_hangs(&mut self, of: Option<Box<Hangs>>, back: SimTime) {
        let Some(of) = of else { return };
        let hangs = Hangs { state: State::Working, withheld: Vec::new(), waiting: Vec::new(), ..*of };
        for (at, _) in &hangs.scripted {
            self.out.events.push((*at).max(back), Class::Timer, Event::Timer(Timer::Hang));
        }
        self.hangs = Some(Box::new(hangs));
    }
}
