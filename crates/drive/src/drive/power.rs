//! Power failure: the drive is off for a while, and its clock goes on.

use super::{Drive, NO_MAP};
use ftl::policy::Backup;
use kit::queue::Class;
use kit::{Event, Nanos, SimTime};

/// Record of a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerFailure {
    /// Instant at which power failed.
    pub failed: SimTime,
    /// Instant at which power came back.
    pub back: SimTime,
    /// Acknowledged units that were in the write buffer, and were programmed before power failed.
    pub buffered_units: u64,
    /// Part of the policy's volatile memory that could be saved; none if the policy keeps nothing in volatile memory.
    pub backup: Option<Backup>,
}

impl Drive {
    /// Cuts the power of a drive without commands in flight for the time `down`. Flash operations in flight are
    /// finished. The acknowledged data in the write buffer is programmed with the energy of the drive's own
    /// supercapacitor, and the map is saved \[both A\]. The policy saves what it can. While power is off, data only
    /// ages. Timers that expire meanwhile fire when power is back.
    ///
    /// # Panics
    /// If commands are in flight.
    pub fn fail_power(&mut self, down: Nanos) -> PowerFailure {
        assert!(self.commands_in_flight() == 0, "the host stops before power fails");
        let buffered_units = self.host.buffer().used();
        let recording = self.recording;
        self.program_buffer();
        self.save_map();
        self.recording = recording;
        self.quiesce();
        let failed = self.now;
        let backup = self.ftl.page_map_mut().expect(NO_MAP).power_fails(failed, &self.out.signals);
        let worked = self.controller.usage(failed);
        if let Some(states) = &mut self.power_states {
            states.power_fails(failed, worked);
        }
        self.flash.settle_temperature(failed);
        self.sleep_until(failed + down);
        self.statistics.exclude_usage(&self.controller.usage(self.now).since(&worked));
        self.statistics.exclude(down);
        self.flash.exclude_from_power(down);
        if let Some(states) = &mut self.power_states {
            states.power_is_back(self.now, self.controller.usage(self.now), &mut self.out.events);
        }
        self.ftl.page_map_mut().expect(NO_MAP).power_is_back(self.now, &mut self.out.ready);
        PowerFailure { failed, back: self.now, buffered_units, backup }
    }

    /// Writes the pages of the map that have changed to flash, with the energy of the drive's own supercapacitor \[A\],
    /// unless a journal has the changes.
    fn save_map(&mut self) {
        if !self.looks_up_pages || self.map().journals_map() {
            return;
        }
        self.ftl.page_map_mut().expect(NO_MAP).begin_to_save_map(&mut self.out.ready);
        while !self.ftl.page_map_mut().expect(NO_MAP).is_map_saved(&mut self.out) {
            self.route();
            let Some(at) = self.next_event() else { break };
            self.run_instant(at);
        }
    }

    /// Advances the clock to `back`. Timers due before are postponed to `back`; other events, such as the
    /// wake-up of a channel, are handled at their time.
    fn sleep_until(&mut self, back: SimTime) {
        let mut timers = Vec::new();
        while self.out.events.next_time().is_some_and(|at| at < back) {
            let (at, _, event) = self.out.events.pop().expect("an event has a time");
            if matches!(event, Event::Timer(_)) {
                timers.push(event);
            } else {
                self.now = at;
                self.handle(event);
            }
        }
        self.now = back;
        for timer in timers {
            self.out.events.push(back, Class::Timer, timer);
        }
    }
}
