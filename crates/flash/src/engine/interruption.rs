//! A loss of power: the operations that it interrupts, and the measurements that go on after it.

use super::Flash;
use crate::die::{Die, HELD, NONE, Phase};
use kit::{DieId, Interrupted, OperationKind, Operations, SimTime, Work};

impl Flash {
    /// Returns the programs and erases that a loss of power at `now` would interrupt: those whose array phase has
    /// begun, suspended ones included. An operation whose command or data is still on its way to the die leaves no
    /// trace. Where the times of array phases are random, or operations may be slow, an operation counts from its
    /// command on.
    pub fn interrupted(&self, now: SimTime, operations: &Operations) -> Vec<Interrupted> {
        let mut found = Vec::new();
        for die in &self.dies {
            let suspended = die.suspended.as_ref().map(|suspended| suspended.op);
            let is_running = ![NONE, HELD].contains(&die.running) && self.has_begun(die, now, operations);
            // While it is being suspended or resumed, an operation is both.
            found.extend(suspended);
            found.extend(Some(die.running).filter(|_| is_running).filter(|&slot| suspended != Some(slot)));
        }
        let of_slot = |slot: u32| {
            let operation = &operations[slot];
            let erases = match operation.kind {
                OperationKind::Read => return None,
                OperationKind::Program | OperationKind::Copyback => false,
                OperationKind::Erase | OperationKind::LazyErase => true,
            };
            Some(Interrupted { first: operation.first, erases, pages: operation.pages })
        };
        found.into_iter().filter_map(of_slot).collect()
    }

    /// Takes over the measurements of a flash that lost power at `now`, in whose place this one comes.
    pub fn take_measurements(&mut self, other: Flash, now: SimTime) {
        self.counters = other.counters;
        self.random_times = other.random_times;
        self.slow = other.slow;
        for (die, before) in self.dies.iter_mut().zip(&other.dies) {
            die.clock = before.clock;
            die.clock.set(Work::Idle, now);
        }
        for (channel, before) in self.channels.iter_mut().zip(&other.channels) {
            channel.take_measurements(before, now);
        }
        for (buffers, before) in self.page_buffers.iter_mut().flatten().zip(other.page_buffers.iter().flatten()) {
            buffers.take_measurements(before, now);
        }
        if let Some(mut meter) = other.meter {
            for die in (0..self.dies.len() as u32).map(DieId).filter(|&die| meter.is_active(die)).collect::<Vec<_>>() {
                meter.phase_done(die, now);
            }
            self.meter = Some(meter);
        }
        if let (Some(own), Some(before)) = (&mut self.control, &other.control) {
            own.take_measurements(before, now);
        }
    }

    /// Returns true if the array phase of the operation in progress on a die has begun.
    fn has_begun(&self, die: &Die, now: SimTime, operations: &Operations) -> bool {
        match die.phase {
            Phase::Rest
            | Phase::Held
            | Phase::Command
            | Phase::Loading
            | Phase::Buffer
            | Phase::PageRegister
            | Phase::ToCache
            | Phase::Data
            | Phase::DataPart => false,
            Phase::Array if self.has_fixed_times() && self.control.is_none() && self.suspension.is_none() => {
                now + self.timing.array(&operations[die.running]) >= die.array_end
            }
            Phase::Array | Phase::SuspendRequested | Phase::Suspending | Phase::Resuming | Phase::PowerWait | Phase::Window => {
                true
            }
        }
    }

    /// Returns true if the time of an array phase follows from its operation.
    fn has_fixed_times(&self) -> bool {
        self.random_times.is_none() && self.summary.is_none() && self.slow.as_ref().is_none_or(|slow| !slow.may_occur())
    }
}
