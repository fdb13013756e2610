//! Suspension of programs and erases by host reads, and their resumption.

use super::power::note_array;
use super::{Flash, note_transfer, schedule, turn};
use crate::die::{NONE, Phase, Suspended};
use crate::scheduler::BusPhase;
use kit::{DieId, Nanos, OperationKind, Outbox, SimTime, Work};

impl Flash {
    /// Transfers the suspend command, and suspends.
    pub(super) fn suspend_granted(&mut self, die_id: DieId, hold: Nanos, now: SimTime, out: &mut Outbox) {
        if let Some(meter) = &mut self.meter {
            if meter.is_active(die_id) {
                note_array(meter, die_id, now, &mut out.journal);
            }
            meter.suspend(die_id, now);
        }
        let suspend_time = self.medium.as_ref().map_or(Nanos::ZERO, |rule| rule.suspend_time);
        let for_power = self.control.is_some() && self.suspends_for_power(die_id, now);
        let die = &mut self.dies[die_id.index()];
        let remaining = die.array_end.since(now);
        die.suspended = Some(Suspended { op: die.running, remaining, since: die.clock.read(now), started: die.started });
        die.phase = Phase::Suspending;
        turn(die, if for_power { Work::PowerWait } else { Work::Held }, now, &mut out.signals);
        self.counters.suspensions += 1;
        schedule(die, die_id, now + hold + suspend_time, &mut out.events);
        note_transfer(die, die_id, "suspend", now, now + hold, &mut out.journal);
        // An operation that makes room keeps its power until it is suspended.
        if self.control.is_some() && !for_power {
            self.give_power_back(die_id, now, out);
        }
    }

    /// Transfers the resume command, and resumes.
    pub(super) fn resume_granted(&mut self, die_id: DieId, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let resume_time = self.medium.as_ref().map_or(Nanos::ZERO, |rule| rule.resume_time);
        let die = &mut self.dies[die_id.index()];
        schedule(die, die_id, now + hold + resume_time, &mut out.events);
        note_transfer(die, die_id, "resume", now, now + hold, &mut out.journal);
    }

    /// Requests suspension of the operation in progress on a die for which a host read waits, if the configuration
    /// allows it.
    pub(super) fn request_suspension(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let Some(rule) = &self.suspension else { return };
        let die = &self.dies[die_id.index()];
        if die.phase != Phase::Array || die.suspended.is_some() || out.signals.hold || rule.is_overruled(&out.signals) {
            return;
        }
        let progress = &self.progress[die.running as usize];
        let allowed = match out.operations[die.running].kind {
            OperationKind::Program => rule.program,
            OperationKind::Erase | OperationKind::LazyErase => rule.erase,
            OperationKind::Read | OperationKind::Copyback => false,
        };
        if !allowed || progress.suspensions >= rule.most || self.array_remaining(die_id, now) < rule.least_remaining {
            return;
        }
        self.progress[self.dies[die_id.index()].running as usize].suspensions += 1;
        self.dies[die_id.index()].phase = Phase::SuspendRequested;
        let hold = self.timing.suspend_command();
        if self.acquire_channel(die_id, BusPhase::Command, hold, now, &mut out.events) {
            self.suspend_granted(die_id, hold, now, out);
        }
    }

    /// Returns the array time that the operation in progress on a die has left, that after its next window included.
    fn array_remaining(&self, die_id: DieId, now: SimTime) -> Nanos {
        let windows = self.control.as_ref().map_or(Nanos::ZERO, |control| control.after_window(die_id));
        self.dies[die_id.index()].array_end.since(now) + windows
    }

    /// Returns true if a die waits for the channel for its suspend command, and less of its array phase is left by now
    /// than a suspension requires.
    pub(super) fn is_too_late_to_suspend(&self, die_id: DieId, now: SimTime) -> bool {
        let least = self.medium.as_ref().map_or(Nanos::ZERO, |rule| rule.least_remaining);
        self.dies[die_id.index()].phase == Phase::SuspendRequested && self.array_remaining(die_id, now) < least
    }

    /// Withdraws the suspend command of a die, which waits for the channel no longer: its operation goes on. Returns
    /// true if it was to make room for reads.
    pub(super) fn withdraw_suspension(&mut self, die_id: DieId) -> bool {
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::Array;
        self.progress[die.running as usize].suspensions -= 1;
        self.control.is_some() && self.withdraw_room(die_id)
    }

    /// Resumes the suspended operation of a die for which no host read waits any more, or that has power again.
    pub(super) fn resume(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        if self.page_buffers.is_some() {
            self.relieve(die_id, now, out);
        }
        let hold = self.timing.suspend_command();
        let for_power = self.control.is_some() && self.yields(die_id);
        let die = &mut self.dies[die_id.index()];
        assert!(die.running == NONE && die.phase == Phase::Rest, "a die that resumes has no operation in progress");
        die.running = die.suspended.as_ref().expect("only a suspended die resumes").op;
        die.phase = Phase::Resuming;
        turn(die, if for_power { Work::PowerWait } else { Work::Held }, now, &mut out.signals);
        if self.acquire_channel(die_id, BusPhase::Command, hold, now, &mut out.events) {
            self.resume_granted(die_id, hold, now, out);
        }
    }

    /// Handles the end of a resumption: the operation goes on, or waits for power.
    pub(super) fn resumed(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        // One that was suspended for power has taken it before its resume command.
        if self.control.is_some() && !self.yields(die_id) && !self.may_go_on(die_id, now, out) {
            return;
        }
        self.goes_on(die_id, now, out);
    }

    /// Continues the array phase of the operation of a die, which has been resumed.
    pub(super) fn goes_on(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        if self.control.is_some() {
            self.yields_no_more(die_id, now);
        }
        let die = &mut self.dies[die_id.index()];
        let suspended = die.suspended.take().expect("only a suspended die resumes");
        let account = out.operations.account_mut(suspended.op);
        die.clock.charge_since(&suspended.since, now, account.ledger_mut());
        die.array_end = now + suspended.remaining;
        die.started = suspended.started;
        if let Some(meter) = &mut self.meter {
            meter.resume(die_id, now);
        }
        let work = out.operations[suspended.op].work();
        turn(die, work, now, &mut out.signals);
        self.array_begins(die_id, now, out);
    }

    /// Starts or continues the array phase. A host read that arrived before it may suspend it now.
    pub(super) fn array_begins(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::Array;
        schedule(die, die_id, die.array_end, &mut out.events);
        if die.host_reads.head != NONE {
            self.request_suspension(die_id, now, out);
        }
    }
}
