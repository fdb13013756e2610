//! Energy of a drive and its parts, from the powers of the description and the work of a measurement.

use crate::description::Description;
use controller::energy::{DramEnergy, EccEnergy, Saved};
use controller::power_states::StateReport;
use controller::usage::Usage;
use flash::Counters;
use flash::power::PowerReport;
use ftl::FtlCounters;
use kit::{Nanos, OperationKind, Reason};

/// Energy of the flash in a measurement, and the work from which the energy of the other parts follows.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyReport {
    /// Energy and power of the flash.
    pub flash: PowerReport,
    /// Amounts of work of the controller.
    pub usage: Usage,
    /// Mapping units that were encoded.
    pub encoded_units: u64,
    /// Time in the power states; `None` if the drive enters none by itself.
    pub states: Option<StateReport>,
}

/// Returns the mapping units that were encoded: those that were programmed, without padding and copybacks, which move
/// one unit each.
pub(crate) fn encoded_units(flash: &Counters, ftl: &FtlCounters) -> u64 {
    let programmed: u64 = ftl.units_programmed.iter().sum();
    let without = ftl.units_programmed[Reason::Padding as usize] + flash.operations[OperationKind::Copyback as usize];
    programmed.saturating_sub(without)
}

/// Energy of the parts beside the flash; `None` for a part without a section in the description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub dram: Option<DramEnergy>,
    pub ecc: Option<EccEnergy>,
    /// Of the cores \[aJ\].
    pub cores: Option<u128>,
    /// Of the interconnect \[aJ\].
    pub interconnect: Option<u128>,
    /// Of the link \[aJ\].
    pub link: Option<u128>,
    /// Of what is not modelled otherwise \[aJ\].
    pub rest: Option<u128>,
    /// Codewords encoded, if their energy is known.
    pub encoded: Option<u64>,
    /// Energy that the parts have not taken because of power states.
    pub saved: Saved,
}

/// Power over time: start of a row \[ns since the start of the measurement\], mean power, greatest power of a window
/// \[W\], and the temperature at its end \[degrees Celsius\], if it is computed.
pub type PowerRow = (u64, f64, f64, Option<f64>);

impl EnergyReport {
    /// Returns the power of the flash over time.
    pub(crate) fn rows(&self) -> Vec<PowerRow> {
        let rows = &self.flash.windows.rows;
        let end = |index: usize| rows.get(index + 1).map_or(self.flash.span_ns, |next| next.0);
        let temperature = |index: usize| self.flash.thermal.as_ref().map(|thermal| thermal.at(end(index)));
        let row = |(index, &(begin, mean, peak)): (usize, &(u64, f64, f64))| (begin, mean, peak, temperature(index));
        rows.iter().enumerate().map(row).collect()
    }

    /// Returns the energy of the parts of a drive with this description.
    pub(crate) fn parts(&self, description: &Description) -> Parts {
        let Some(power) = &description.power else { return Parts::default() };
        let (powered, span) = (description.powered(), Nanos(self.flash.span_ns));
        let encoded = self.encoded_units * u64::from(description.codewords_per_unit());
        let saved = self.states.as_ref().map(|states| powered.saved(&power.idle_parts(), &power.state, states));
        let saved = saved.unwrap_or_default();
        let ecc = |ecc| {
            let energy = powered.ecc(ecc, &self.usage, encoded, span);
            EccEnergy { idle: energy.idle - saved.ecc, ..energy }
        };
        Parts {
            dram: power.dram.as_ref().map(|dram| powered.dram(dram, &self.usage, span)),
            ecc: power.ecc.as_ref().map(ecc),
            cores: power.cores.as_ref().map(|cores| powered.cores(cores, &self.usage, span) - saved.cores),
            interconnect: power
                .interconnect
                .as_ref()
                .map(|one| powered.interconnect(one, &self.usage, span) - saved.interconnect),
            link: power.link.as_ref().map(|link| powered.link(link, &self.usage, span) - saved.link),
            rest: power.rest.as_ref().map(|rest| u128::from(rest.power.0) * u128::from(span.0) - saved.rest),
            encoded: power.ecc.as_ref().map(|_| encoded),
            saved,
        }
    }
}

impl Parts {
    /// Returns the energy of each part beside the flash \[aJ\], in the order of the results.
    pub fn each(&self) -> [(&'static str, Option<u128>); 6] {
        [
            ("dram", self.dram.map(|dram| dram.total())),
            ("ecc", self.ecc.map(|ecc| ecc.total())),
            ("core", self.cores),
            ("interconnect", self.interconnect),
            ("link", self.link),
            ("static", self.rest),
        ]
    }
}
