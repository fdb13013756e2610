//! The meter of the flash: where the arrays of its dies begin and end to draw current.

use super::Flash;
use super::control::Control;
use crate::power::{ActivePart, Meter, PowerConfig, PowerReport, ThermalImage};
use crate::timing::Timing;
use kit::{DieId, Journal, Nanos, Operation, OperationKind, Outbox, Record, SimTime};

impl Flash {
    /// Measures the power from now on, which must be at rest.
    pub fn measure_power(&mut self, config: &PowerConfig) {
        self.meter = Some(Box::new(Meter::new(config, self.dies.len() as u32)));
        self.control = Control::of(config, self.medium.as_ref(), self.dies.len(), self.channels.len()).map(Box::new);
    }

    /// Begins a new measurement of the power.
    pub fn restart_power(&mut self, now: SimTime) {
        if let Some(meter) = &mut self.meter {
            meter.restart(now);
        }
        if let Some(control) = &mut self.control {
            control.restart(now);
        }
    }

    /// Leaves a time `off` without power out of the measurement.
    pub fn exclude_from_power(&mut self, off: Nanos) {
        if let Some(meter) = &mut self.meter {
            meter.exclude(off);
        }
    }

    /// Returns energy and power since the start of the measurement; `None` if power is not computed.
    pub fn power(&self, now: SimTime) -> Option<PowerReport> {
        let cap = self.control.as_ref().and_then(|control| control.report(now));
        self.meter.as_ref().map(|meter| PowerReport { cap, ..meter.report(now) })
    }

    /// Brings the temperature of a flash at rest up to date.
    pub fn settle_temperature(&mut self, now: SimTime) {
        if let Some(meter) = &mut self.meter {
            meter.heat(now);
        }
    }

    /// Returns the state of the temperature of a flash at rest, if it is computed.
    pub fn thermal_image(&self, now: SimTime) -> Option<ThermalImage> {
        self.meter.as_ref().and_then(|meter| meter.thermal_image(now))
    }

    /// Restores the temperature of a saved flash. Returns false if only one of both has a temperature, or
    /// it can be none.
    pub fn restore_thermal(&mut self, image: Option<&ThermalImage>, now: SimTime) -> bool {
        let Some(meter) = &mut self.meter else { return image.is_none() };
        let fits = meter.restore_thermal(image, now);
        if let (true, Some(control)) = (fits, &mut self.control) {
            control.set_hot(meter.heat(now));
        }
        fits
    }

    /// Records that the array of a die comes to rest.
    #[inline(never)]
    pub(super) fn array_rests(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        let Some(meter) = &mut self.meter else { return };
        if meter.is_active(die) {
            note_array(meter, die, now, &mut out.journal);
            meter.phase_done(die, now);
        }
        if self.control.is_some() {
            self.give_power_back(die, now, out);
        }
    }
}

/// Records in the journal the part of an array phase that ends.
#[inline]
pub(super) fn note_array(meter: &Meter, die: DieId, now: SimTime, journal: &mut Journal) {
    journal.note(|| {
        let ActivePart { kind, page_type, reason, begin } = meter.part(die);
        Record::ArraySpan { die, kind, page_type, reason, begin, end: now }
    });
}

impl Meter {
    /// Records that the array phase of an operation begins at `begin`.
    #[inline]
    pub(super) fn array_begins(&mut self, timing: &Timing, operation: &Operation, begin: SimTime, array: Nanos) {
        self.begin(operation, begin, array.0, timing.sense_within(operation, array).0);
    }
}

impl Timing {
    /// Returns the time for sensing within the array phase of a copyback; none for another operation.
    #[inline]
    pub(super) fn sense_within(&self, operation: &Operation, array: Nanos) -> Nanos {
        let is_copyback = operation.kind == OperationKind::Copyback;
        if is_copyback { self.copyback_sense(operation.page_type).min(array) } else { Nanos::ZERO }
    }
}
