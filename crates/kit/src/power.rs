//! Powers and energies of the parts of a drive beside the flash, as a description states them.
//!
//! Each part is optional: without its section its energy is not computed. Energy is counted in attojoules, in integers.

use crate::problem::Problems;
use crate::units::{Current, Energy, Power, Voltage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest power of a part.
const POWER_MAX: Power = Power(1_000_000_000_000);
/// Largest energy of a codeword, an iteration or a byte.
const ENERGY_MAX: Energy = Energy(1_000_000_000_000_000);
/// Largest current of a memory device.
const CURRENT_MAX: Current = Current(10_000_000);

/// Supply currents of the devices of the memory, by their JEDEC names. An access uses all devices of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramPower {
    /// Supply voltage (VDD).
    pub supply: Voltage,
    /// Number of devices of a rank, of each memory.
    #[schemars(range(min = 1, max = 64))]
    pub devices: u32,
    /// Current of a device whose rows are opened and closed in turn, each tRC (IDD0).
    pub idd0: Current,
    /// Current with all rows closed: precharge standby (IDD2N).
    pub idd2n: Current,
    /// Current with a row open: active standby (IDD3N).
    pub idd3n: Current,
    /// Current of reads without a gap (IDD4R).
    pub idd4r: Current,
    /// Current of writes without a gap (IDD4W).
    pub idd4w: Current,
    /// Current of a refresh during tRFC (IDD5).
    pub idd5: Current,
}

/// Energy of the encoders and decoders. Only where stored data has errors, `ecc.errors`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccPower {
    /// Energy to encode a codeword.
    pub encode: Energy,
    /// Energy of an attempt to decode a codeword, beside that of its iterations.
    pub decode: Energy,
    /// The same for an attempt with soft levels. Absent: that of `decode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode_soft: Option<Energy>,
    /// Energy of an iteration of an LDPC decoder. Absent: none beside that of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Energy>,
    /// Power of each decoder of `ecc.decoder`, whether or not it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Power>,
}

/// Power of the cores of the firmware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorePower {
    /// Power of a core that works.
    pub active: Power,
    /// Power of a core without work.
    pub idle: Power,
}

/// Energy of the interconnect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectPower {
    /// Energy for each byte of data on each bus, lane or link that it crosses.
    pub byte: Energy,
    /// Constant power of the whole interconnect.
    pub idle: Power,
}

/// Power of the device's end of the host link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPower {
    /// Power while the link carries something to the device.
    pub to_device: Power,
    /// Power while the link carries something to the host. Of a link whose directions share the wire, that of
    /// `to_device`.
    pub to_host: Power,
    /// Power of a direction that carries nothing (PCIe: L0); of the link, if its directions share the wire.
    pub idle: Power,
    /// Energy for each byte of data, beside that power. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<Energy>,
}

/// Power of what is not modelled otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticPower {
    /// Constant power of the rest: regulators, PHY, clocks.
    pub power: Power,
}

impl DramPower {
    /// Adds what is wrong with the currents: a state with less than the standby below it.
    pub fn problems(&self, problems: &mut Problems) {
        let DramPower { supply, idd0, idd2n, idd3n, idd4r, idd4w, idd5, .. } = *self;
        if !(1..=20_000).contains(&supply.0) {
            problems.add("power.dram.supply", format!("{supply}: expected 1mV to 20V"));
        }
        let currents = [("idd0", idd0), ("idd2n", idd2n), ("idd3n", idd3n), ("idd4r", idd4r), ("idd4w", idd4w), ("idd5", idd5)];
        for (field, current) in currents.into_iter().filter(|(_, current)| *current > CURRENT_MAX) {
            problems.add(format!("power.dram.{field}"), format!("{current}: expected at most {CURRENT_MAX}"));
        }
        let standby = [
            ("idd0", idd0, "idd2n", idd2n),
            ("idd3n", idd3n, "idd2n", idd2n),
            ("idd4r", idd4r, "idd3n", idd3n),
            ("idd4w", idd4w, "idd3n", idd3n),
            ("idd5", idd5, "idd2n", idd2n),
        ];
        for (field, current, lower, least) in standby.into_iter().filter(|(_, current, _, least)| current < least) {
            problems.add(format!("power.dram.{field}"), format!("{current}: expected at least {lower} = {least}"));
        }
    }
}

impl EccPower {
    /// Adds the energies that are out of range.
    pub fn problems(&self, problems: &mut Problems) {
        energy("power.ecc.encode", self.encode, problems);
        energy("power.ecc.decode", self.decode, problems);
        energy("power.ecc.decode_soft", self.decode_soft.unwrap_or_default(), problems);
        energy("power.ecc.iteration", self.iteration.unwrap_or_default(), problems);
        power("power.ecc.idle", self.idle.unwrap_or_default(), problems);
    }
}

impl CorePower {
    /// Adds the powers that are out of range.
    pub fn problems(&self, problems: &mut Problems) {
        power("power.cores.active", self.active, problems);
        at_least("power.cores.active", self.active, self.idle, problems);
    }
}

impl InterconnectPower {
    /// Adds what is out of range.
    pub fn problems(&self, problems: &mut Problems) {
        energy("power.interconnect.byte", self.byte, problems);
        power("power.interconnect.idle", self.idle, problems);
    }
}

impl LinkPower {
    /// Adds what is out of range.
    pub fn problems(&self, problems: &mut Problems) {
        for (place, one) in [("power.link.to_device", self.to_device), ("power.link.to_host", self.to_host)] {
            power(place, one, problems);
            at_least(place, one, self.idle, problems);
        }
        energy("power.link.byte", self.byte.unwrap_or_default(), problems);
    }
}

impl StaticPower {
    /// Adds what is out of range.
    pub fn problems(&self, problems: &mut Problems) {
        power("power.static.power", self.power, problems);
    }
}

fn power(place: &str, value: Power, problems: &mut Problems) {
    if value > POWER_MAX {
        problems.add(place, format!("{value}: expected at most {POWER_MAX}"));
    }
}

fn at_least(place: &str, value: Power, idle: Power, problems: &mut Problems) {
    if value < idle {
        problems.add(place, format!("{value}: expected at least idle = {idle}"));
    }
}

fn energy(place: &str, value: Energy, problems: &mut Problems) {
    if value > ENERGY_MAX {
        problems.add(place, format!("{value}: expected at most {ENERGY_MAX}"));
    }
}
