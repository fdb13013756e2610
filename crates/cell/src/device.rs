//! A kind of flash: a technology, with the effects of temperature, reads and programming.

use crate::condition::{Condition, Estimate};
use crate::density::Density;
use crate::dpes::ScaledCell;
use crate::ispp::Ispp;
use crate::laws::Law;
use crate::measured::Measured;
use crate::read::References;
use crate::relaxation::BellLevels;
use crate::rram::Rram;
use crate::stress::{ReadDisturb, Variation, acceleration, equivalent_age};
use crate::voltage::{Disturbed, VoltageModel};
use kit::Nanos;

/// Grid step for threshold voltages \[V\]. Halving it changes error rates by less than 0.3 % for one and two bits per
/// cell, and by up to 2 % for three and four.
pub const RESOLUTION: f64 = 0.004;

/// Model from which error rates are computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Technology {
    /// Threshold voltages with noise, interference and retention loss.
    Voltage(VoltageModel),
    /// Bell-shaped levels whose errors follow a power law of time.
    Bell(BellLevels),
    /// Dynamic program and erase scaling.
    Scaled(ScaledCell),
    /// Law fitted to measurements.
    Law(Law),
    /// Table of a user's measurements.
    Measured(Measured),
    /// Resistive memory.
    Rram(Rram),
}

/// A kind of flash with all the models that describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Model from which error rates are computed.
    pub technology: Technology,
    /// Choice of the read references.
    pub references: References,
    /// Errors added by reads, where the technology does not include them.
    pub disturb: Option<ReadDisturb>,
    /// Activation energy of retention loss \[eV\].
    pub activation_ev: f64,
    /// Temperature to which ages refer \[degrees Celsius\].
    pub reference_celsius: f64,
    /// Variation between blocks and between layers.
    pub variation: Variation,
    /// Model of programming; none if it is not known.
    pub ispp: Option<Ispp>,
    /// Nominal program step, in the technology's unit; zero if the technology has none.
    pub nominal_step: f64,
    /// Rated program and erase cycles.
    pub rated_pe_cycles: u32,
}

impl Technology {
    /// Returns the number of page types.
    pub fn page_types(&self) -> usize {
        match self {
            Technology::Voltage(model) => model.bits(),
            Technology::Bell(_) | Technology::Scaled(_) => 2,
            Technology::Law(law) => law.bits,
            Technology::Measured(table) => table.page_types(),
            Technology::Rram(_) => 1,
        }
    }

    /// Returns the widest program step allowed; `None` if error rates do not depend on a step.
    pub fn widest_step(&self) -> Option<f64> {
        match self {
            Technology::Voltage(_) => Some(1.5),
            Technology::Bell(_) => Some(0.999),
            Technology::Scaled(cell) => Some(cell.nominal_step),
            Technology::Law(_) | Technology::Measured(_) | Technology::Rram(_) => None,
        }
    }

    /// Returns the largest voltage by which an erase may be shallower than nominal \[V\]; `None` if error rates do not
    /// depend on the erase depth.
    pub fn shallowest_erase(&self) -> Option<f64> {
        match self {
            Technology::Voltage(model) => Some(model.verify.first().map_or(0.0, |verify| verify - model.erased_mean)),
            Technology::Scaled(cell) => Some(cell.scaling.saved.0 + cell.scaling.saved.1),
            _ => None,
        }
    }

    /// Returns the unit of the program step.
    pub fn step_unit(&self) -> &'static str {
        if matches!(self, Technology::Bell(_)) { "pitch" } else { "V" }
    }
}

/// A condition prepared for error rates at many ages: the part that does not depend on the age is computed once.
pub struct Aging<'a> {
    device: &'a Device,
    condition: Condition,
    resolution: f64,
    disturbed: Option<Disturbed>,
}

impl Device {
    /// Returns a device of which only technology and rating are known: optimal references, 1.1 eV at 40 degrees Celsius
    /// (FACTS 6.3; the temperature is assumed), no read disturb, no variation, no model of programming.
    pub fn of(technology: Technology, rated_pe_cycles: u32) -> Device {
        Device {
            technology,
            references: References::Optimal,
            disturb: None,
            activation_ev: 1.1,
            reference_celsius: 40.0,
            variation: Variation { block_sigma: 0.0, layer_sigma: 0.0 },
            ispp: None,
            nominal_step: 0.0,
            rated_pe_cycles,
        }
    }

    /// Returns the error rates at a condition.
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        self.aging(condition).at(condition.age)
    }

    /// Prepares a condition for error rates at several ages.
    pub fn aging(&self, condition: &Condition) -> Aging<'_> {
        self.aging_on(condition, RESOLUTION)
    }

    /// Like [`Device::aging`], but on a grid of another resolution \[V\].
    pub fn aging_on(&self, condition: &Condition, resolution: f64) -> Aging<'_> {
        let disturbed = match &self.technology {
            Technology::Voltage(model) => Some(model.disturbed(condition, resolution)),
            _ => None,
        };
        Aging { device: self, condition: *condition, resolution, disturbed }
    }

    /// Returns the factor by which data ages faster at a temperature than at the reference temperature.
    pub fn heat(&self, celsius: f64) -> f64 {
        acceleration(self.activation_ev, celsius, self.reference_celsius)
    }

    /// Converts an age at a temperature into the equivalent age at the reference temperature.
    pub fn age_at(&self, age: Nanos, celsius: f64) -> Nanos {
        equivalent_age(age, self.heat(celsius))
    }

    /// Converts an age at the reference temperature into the equivalent age at another temperature.
    pub fn age_kept_at(&self, age: Nanos, celsius: f64) -> Nanos {
        equivalent_age(age, 1.0 / self.heat(celsius))
    }

    /// Returns the distributions of levels, lowest first, and the references; `None` if the technology has error rates
    /// only.
    pub fn levels(&self, condition: &Condition, resolution: f64) -> Option<(Vec<Density>, Vec<f64>)> {
        match &self.technology {
            Technology::Voltage(model) => {
                let levels = model.levels(condition, resolution);
                let references = model.references(condition, self.references, &levels, resolution);
                Some((levels, references))
            }
            Technology::Bell(model) => Some((model.levels(condition, resolution), model.references())),
            _ => None,
        }
    }

    /// Returns the error rate added by reads at a wear, as a factor and the exponent of the number of reads.
    pub fn read_term(&self, pe_cycles: f64) -> (f64, f64) {
        match (&self.technology, &self.disturb) {
            (Technology::Law(law), _) => law.read_term(pe_cycles),
            (_, Some(disturb)) => (disturb.error_rate(pe_cycles, 1.0), 1.0),
            (_, None) => (0.0, 1.0),
        }
    }
}

impl Aging<'_> {
    /// Returns the error rates at an age.
    pub fn at(&self, age: Nanos) -> Estimate {
        let condition = Condition { age, ..self.condition };
        let mut estimate = match (&self.device.technology, &self.disturbed) {
            (Technology::Voltage(model), Some(disturbed)) => {
                let levels = disturbed.aged(model, age);
                let references = match self.device.references {
                    References::Optimal => crate::read::best_references(&levels),
                    kind => model.references(&condition, kind, &levels, self.resolution),
                };
                Estimate { pages: crate::read::errors_at(&levels, references).pages, outside: Vec::new() }
            }
            (Technology::Voltage(_), None) => unreachable!("voltages are prepared with the condition"),
            (Technology::Bell(model), _) => model.estimate(&condition),
            (Technology::Scaled(cell), _) => cell.estimate(&condition),
            (Technology::Law(law), _) => law.estimate(&condition),
            (Technology::Measured(table), _) => table.estimate(&condition),
            (Technology::Rram(rram), _) => rram.estimate(&condition),
        };
        if let Some(disturb) = &self.device.disturb {
            let added = disturb.error_rate(condition.pe_cycles, condition.reads);
            estimate.pages.iter_mut().for_each(|rate| *rate = (*rate + added).min(0.5));
        }
        estimate
    }
}
