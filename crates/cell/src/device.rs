//! A kind of flash: a technology, with what heat, reads and programming do to it.

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

/// The grid on which threshold voltages are followed \[V\]: halving it changes error rates of one and two bits a cell by less than 0.3 %, of three and four by up
/// to 2 %.
pub const RESOLUTION: f64 = 0.004;

/// Where error rates come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Technology {
    /// Threshold voltages, noise, interference and loss.
    Voltage(VoltageModel),
    /// Bell-shaped levels and a power law of time.
    Bell(BellLevels),
    /// Dynamic program and erase scaling.
    Scaled(ScaledCell),
    /// A law fitted to measurements.
    Law(Law),
    /// A user's measurements.
    Measured(Measured),
    /// Resistive memory.
    Rram(Rram),
}

/// A kind of flash.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Where its error rates come from.
    pub technology: Technology,
    /// Where pages are read.
    pub references: References,
    /// What reads add, where the technology does not say.
    pub disturb: Option<ReadDisturb>,
    /// Activation energy of loss \[eV\].
    pub activation_ev: f64,
    /// The temperature at which ages are given \[degrees Celsius\].
    pub reference_celsius: f64,
    /// How blocks and layers differ.
    pub variation: Variation,
    /// How it is programmed, where that is known.
    pub ispp: Option<Ispp>,
    /// The program step it is used with, in the technology's unit; zero where it has none.
    pub nominal_step: f64,
    /// Cycles it is rated for.
    pub rated_pe_cycles: u32,
}

impl Technology {
    /// Page types.
    pub fn page_types(&self) -> usize {
        match self {
            Technology::Voltage(model) => model.bits(),
            Technology::Bell(_) | Technology::Scaled(_) => 2,
            Technology::Law(law) => law.bits,
            Technology::Measured(table) => table.page_types(),
            Technology::Rram(_) => 1,
        }
    }

    /// The widest program step that may be asked about; none where a step says nothing.
    pub fn widest_step(&self) -> Option<f64> {
        match self {
            Technology::Voltage(_) => Some(1.5),
            Technology::Bell(_) => Some(0.999),
            Technology::Scaled(cell) => Some(cell.nominal_step),
            Technology::Law(_) | Technology::Measured(_) | Technology::Rram(_) => None,
        }
    }

    /// The most that an erase may be shallower than nominal \[V\]; none where a depth says nothing.
    pub fn shallowest_erase(&self) -> Option<f64> {
        match self {
            Technology::Voltage(model) => Some(model.verify.first().map_or(0.0, |verify| verify - model.erased_mean)),
            Technology::Scaled(cell) => Some(cell.scaling.saved.0 + cell.scaling.saved.1),
            _ => None,
        }
    }

    /// What its steps are measured in.
    pub fn step_unit(&self) -> &'static str {
        if matches!(self, Technology::Bell(_)) { "pitch" } else { "V" }
    }
}

/// A page whose error rate is asked for at many ages: what does not depend on the age is done once.
pub struct Aging<'a> {
    device: &'a Device,
    condition: Condition,
    resolution: f64,
    disturbed: Option<Disturbed>,
}

impl Device {
    /// A device of which nothing is known but its technology and rating: read where it is best, 1.1 eV at 40 degrees (FACTS 6.3; the temperature assumed), no reads, no
    /// variation, no programming.
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

    /// Error rates at a condition.
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        self.aging(condition).at(condition.age)
    }

    /// The condition prepared for being asked at several ages.
    pub fn aging(&self, condition: &Condition) -> Aging<'_> {
        self.aging_on(condition, RESOLUTION)
    }

    /// The same on a grid of another resolution \[V\].
    pub fn aging_on(&self, condition: &Condition, resolution: f64) -> Aging<'_> {
        let disturbed = match &self.technology {
            Technology::Voltage(model) => Some(model.disturbed(condition, resolution)),
            _ => None,
        };
        Aging { device: self, condition: *condition, resolution, disturbed }
    }

    /// How much faster data ages at a temperature than at the reference temperature.
    pub fn heat(&self, celsius: f64) -> f64 {
        acceleration(self.activation_ev, celsius, self.reference_celsius)
    }

    /// An age at a temperature as one at the reference temperature.
    pub fn age_at(&self, age: Nanos, celsius: f64) -> Nanos {
        equivalent_age(age, self.heat(celsius))
    }

    /// An age at the reference temperature as one at another.
    pub fn age_kept_at(&self, age: Nanos, celsius: f64) -> Nanos {
        equivalent_age(age, 1.0 / self.heat(celsius))
    }

    /// The distributions of levels, lowest first, and the references; none where the technology knows error rates only.
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

    /// What reads add at a wear: a factor, and the exponent of the number of reads.
    pub fn read_term(&self, pe_cycles: f64) -> (f64, f64) {
        match (&self.technology, &self.disturb) {
            (Technology::Law(law), _) => law.read_term(pe_cycles),
            (_, Some(disturb)) => (disturb.error_rate(pe_cycles, 1.0), 1.0),
            (_, None) => (0.0, 1.0),
        }
    }
}

impl Aging<'_> {
    /// Error rates at an age.
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
