//! Power failure: the drive is off for a while, and its clock goes on.

use super::Drive;
use ftl::policy::Backup;
use kit::queue::Class;
use kit::{Event, Nanos, SimTime};

/// What happened while a drive was without power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerFailure {
    /// When power failed.
    pub failed: SimTime,
    /// When it came back.
    pub back: SimTime,
    /// Acknowledged units in the write buffer, which were programmed before.
    pub buffered_units: u64,
    /// What the policy could save of its volatile memory, if it keeps anything there.
    pub backup: Option<Backup>,
}

impl Drive {
    /// Cuts the power of a drive without commands in flight for so long. What runs in the flash is finished; what the write buffer has acknowledged is programmed with
    /// the energy of its own supercapacitor, and the map is saved \[both A\]; the policy saves what it can. Then nothing happens but that data grows older.
    /// Timers that were due meanwhile fire when power is back.
    ///
    /// # Panics
    /// If commands are in flight.
    pub fn fail_power(&mut self, down: Nanos) -> PowerFailure {
        assert!(self.commands_in_flight() == 0, "the host stops before power fails");
        let buffered_units = self.buffer.used();
        let recording = self.recording;
        self.program_buffer();
        self.recording = recording;
        self.quiesce();
        let failed = self.now;
        let backup = self.ftl.power_fails(failed, &self.out);
        self.sleep_until(failed + down);
        self.statistics.leave_out(down);
        self.ftl.power_is_back(self.now, &mut self.out);
        PowerFailure { failed, back: self.now, buffered_units, backup }
    }

    /// Timers wait; what else has been begun, such as encoding, ends in its time.
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
