//! Power states of the drive: when it is idle, and the commands that wake it.

use super::Drive;
use controller::power_states::{Change, PowerImage, StateReport};
use kit::{Cause, CommandId, SimTime};

impl Drive {
    /// Begins the idle time of a drive that has its starting state.
    pub(super) fn begin_power_states(&mut self) {
        if let Some(states) = &mut self.power_states {
            states.idle(self.now, &mut self.out.events);
        }
    }

    /// Begins a new measurement of the power states.
    pub(super) fn restart_power_states(&mut self) {
        if let Some(states) = &mut self.power_states {
            states.restart(self.now, self.controller.usage(self.now));
        }
    }

    /// Returns the time in each power state, if there are any.
    pub(super) fn power_state_report(&self) -> Option<StateReport> {
        self.power_states.as_ref().map(|states| states.report(self.now, self.controller.usage(self.now)))
    }

    /// Restores the power state of a saved drive. Returns false if it is not one of this drive's.
    pub(super) fn restore_power_state(&mut self, image: Option<&PowerImage>, now: SimTime) -> bool {
        match (&mut self.power_states, image) {
            (Some(states), Some(image)) => states.restore(image, now, self.controller.usage(now)),
            (states, image) => states.is_none() && image.is_none(),
        }
    }

    /// Begins the idle time if the command that ends was the last one outstanding.
    #[inline(never)]
    pub(super) fn may_be_idle(&mut self) {
        if let Some(states) = &mut self.power_states
            && self.out.signals.commands_in_flight == 0
        {
            states.idle(self.now, &mut self.out.events);
        }
    }

    /// Returns true if the drive serves no commands now: the command wakes it, and waits.
    #[inline(never)]
    pub(super) fn waits_for_wake(&mut self, command: CommandId) -> bool {
        let Some(states) = self.power_states.as_mut().filter(|states| !states.serves()) else { return false };
        states.wait(command, self.now, self.controller.usage(self.now), &mut self.out.events);
        true
    }

    /// Handles the timer of the power states.
    pub(super) fn power_state_due(&mut self) {
        let (is_idle, works) = (self.out.signals.commands_in_flight == 0, !self.nothing_is_under_way());
        let Some(states) = &mut self.power_states else { return };
        if states.timer(self.now, is_idle, works, self.controller.usage(self.now), &mut self.out.events) == Change::Nothing {
            return;
        }
        let waiting = states.take_waiting();
        for &command in &waiting {
            if let Some(account) = self.host.command(command).account() {
                self.out.accounts[account].charge_to(Cause::Wake, self.now);
            }
            self.submitted(command);
        }
        if let Some(states) = &mut self.power_states {
            states.give_back(waiting);
        }
    }
}
