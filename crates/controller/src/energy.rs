//! Energy of a controller's parts, from their amounts of work and the powers of the description.
//!
//! Everything is counted in integers: a power in nW times nanoseconds is attojoules (aJ). The cycles of a memory are
//! whole picoseconds, so that a current in uA times mV times ps is a thousandth of that (zJ).

use crate::dram::Params;
use crate::memory::Model;
use crate::power_states::{StateReport, StateSum};
use crate::usage::{Amount, Usage};
use kit::power::{CorePower, DramPower, EccPower, InterconnectPower, LinkPower};
use kit::{Current, IdleParts, Nanos, Power, PowerState};

/// Numbers of parts that draw power, and the times on which their energy depends.
#[derive(Clone, Debug, PartialEq)]
pub struct Powered {
    /// Model of the memories.
    pub memory: Model,
    /// Number of memories.
    pub memories: u32,
    /// Number of cores of the firmware.
    pub cores: u32,
    /// Directions of the link, each with a wire of its own; 1 if they share it.
    pub directions: u32,
    /// Number of decoders.
    pub decoders: u32,
    /// Time of an iteration of an LDPC decoder; none for others.
    pub iteration: Option<Nanos>,
}

/// Energy of the memories \[zJ\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramEnergy {
    /// Of activates, and the precharges that follow them.
    pub activate: u128,
    /// Of reads; of memories with a data rate, of reads and writes.
    pub read: u128,
    /// Of writes.
    pub write: u128,
    /// Of refreshes.
    pub refresh: u128,
    /// Of standby, with and without open rows.
    pub standby: u128,
}

impl DramEnergy {
    /// Returns the sum, rounded down to a whole attojoule.
    pub fn total(&self) -> u128 {
        (self.activate + self.read + self.write + self.refresh + self.standby) / 1_000
    }
}

/// Energy of encoders and decoders \[aJ\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EccEnergy {
    /// Of codewords encoded.
    pub encode: u128,
    /// Of attempts to decode codewords.
    pub decode: u128,
    /// Of iterations, rounded down.
    pub iterate: u128,
    /// Of decoders, whether or not they work.
    pub idle: u128,
}

impl EccEnergy {
    /// Returns the sum.
    pub fn total(&self) -> u128 {
        self.encode + self.decode + self.iterate + self.idle
    }
}

/// Returns the charge of an activate and its precharge, of one device \[uA cycles\]: that of IDD0 over tRC, and that of
/// standby, which is no part of its own energy.
///
/// The method of Micron's TN-41-01 and TN-46-03: IDD0 is the mean over tRC, in which the row is open (IDD3N) for tRAS
/// and closed (IDD2N) for the rest.
fn activate_charge(power: &DramPower, memory: &Params) -> (u64, u64) {
    let timing = memory.grade.timing();
    (power.idd0.0 * timing.rc, power.idd3n.0 * timing.ras + power.idd2n.0 * (timing.rc - timing.ras))
}

/// Returns the least IDD0 with which an activate takes no negative energy.
pub fn min_idd0(power: &DramPower, memory: &Params) -> Current {
    let (_, standby) = activate_charge(power, memory);
    Current(standby.div_ceil(memory.grade.timing().rc))
}

/// Energy that parts do not take because they draw the powers of a power state in place of their idle powers \[aJ\];
/// 0 for a part that draws its idle power in every state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// By the cores.
    pub cores: u128,
    /// By the interconnect.
    pub interconnect: u128,
    /// By the link.
    pub link: u128,
    /// By the decoders.
    pub ecc: u128,
    /// By the rest.
    pub rest: u128,
}

impl Saved {
    /// Returns the sum.
    pub fn total(&self) -> u128 {
        self.cores + self.interconnect + self.link + self.ecc + self.rest
    }
}

/// Returns the energy that a part does not take in a time of `ns` at rest, of all its pieces.
fn saving(idle: Option<Power>, power: Option<Power>, ns: u128) -> u128 {
    idle.zip(power).map_or(0, |(idle, power)| u128::from(idle.0 - power.0) * ns)
}

impl Powered {
    /// Returns the energy saved in power states. Work of the drive for itself in a state takes what it always takes.
    pub fn saved(&self, idle: &IdleParts<'_>, states: &[PowerState], report: &StateReport) -> Saved {
        let mut saved = Saved::default();
        for (PowerState { parts, .. }, StateSum { time_ns, usage, .. }) in states.iter().zip(&report.states) {
            let (time, of) = (u128::from(*time_ns), |amount: Amount| u128::from(usage.of(amount)));
            let cores = u128::from(self.cores) * time - of(Amount::CoresBusy);
            let link = u128::from(self.directions) * time - of(Amount::ToDeviceBusy) - of(Amount::ToHostBusy);
            saved.cores += saving(idle.cores.map(|part| part.idle), parts.cores, cores);
            saved.interconnect += saving(idle.interconnect.map(|part| part.idle), parts.interconnect, time);
            saved.link += saving(idle.link.map(|part| part.idle), parts.link, link);
            saved.ecc += saving(idle.ecc.and_then(|part| part.idle), parts.ecc, u128::from(self.decoders) * time);
            saved.rest += saving(idle.rest.map(|part| part.power), parts.rest, time);
        }
        saved
    }

    /// Returns the energy of the memories for their work in `span`.
    pub fn dram(&self, power: &DramPower, usage: &Usage, span: Nanos) -> DramEnergy {
        let of = |amount: Amount| u128::from(usage.of(amount));
        // For a current of 1 uA and a picosecond, of all devices that take part \[zJ\].
        let drop = u128::from(power.supply.0) * u128::from(power.devices);
        let (idd2n, idd3n) = (u128::from(power.idd2n.0), u128::from(power.idd3n.0));
        let (idd4r, idd4w) = (u128::from(power.idd4r.0), u128::from(power.idd4w.0));
        let span_ps = u128::from(span.0) * 1_000 * u128::from(self.memories);
        match &self.memory {
            Model::Ideal => DramEnergy::default(),
            // Data that passes through is written and read: the mean of both currents. A row is open all the time.
            Model::Bandwidth { .. } => DramEnergy {
                read: (idd4r + idd4w - 2 * idd3n) * of(Amount::MemoryBusy) * 500 * drop,
                standby: idd3n * span_ps * drop,
                ..DramEnergy::default()
            },
            Model::Ddr(params) => {
                let timing = params.grade.timing();
                let (tck, burst) = (u128::from(timing.tck_ps), u128::from(timing.burst_cycles()));
                let ranks = u128::from(params.ranks);
                let (whole, standby) = activate_charge(power, params);
                assert!(whole >= standby, "the currents of a description are checked");
                let activate = whole - standby;
                // With refresh by bank, each has its share of the energy of refreshing all banks.
                let refreshed = if params.refresh_per_bank { u128::from(timing.banks) } else { 1 };
                let refresh = (u128::from(power.idd5.0) - idd2n) * u128::from(timing.rfc) * tck * ranks;
                DramEnergy {
                    activate: u128::from(activate) * of(Amount::Activates) * tck * drop,
                    read: (idd4r - idd3n) * of(Amount::BurstsRead) * burst * tck * drop,
                    write: (idd4w - idd3n) * of(Amount::BurstsWritten) * burst * tck * drop,
                    refresh: refresh * of(Amount::Refreshes) * drop / refreshed,
                    standby: (idd2n * span_ps * ranks + (idd3n - idd2n) * of(Amount::CyclesOpen) * tck) * drop,
                }
            }
        }
    }

    /// Returns the energy of encoders and decoders for their work in `span`; `encoded` is the number of codewords
    /// encoded.
    pub fn ecc(&self, power: &EccPower, usage: &Usage, encoded: u64, span: Nanos) -> EccEnergy {
        let of = |amount: Amount| u128::from(usage.of(amount));
        let soft = power.decode_soft.unwrap_or(power.decode);
        let iterate = match (power.iteration, self.iteration) {
            (Some(energy), Some(time)) => u128::from(energy.0) * of(Amount::Decoding) / u128::from(time.0.max(1)),
            _ => 0,
        };
        EccEnergy {
            encode: u128::from(power.encode.0) * u128::from(encoded),
            decode: u128::from(power.decode.0) * of(Amount::DecodedHard) + u128::from(soft.0) * of(Amount::DecodedSoft),
            iterate,
            idle: u128::from(power.idle.unwrap_or_default().0) * u128::from(self.decoders) * u128::from(span.0),
        }
    }

    /// Returns the energy of the cores for their work in `span` \[aJ\].
    pub fn cores(&self, power: &CorePower, usage: &Usage, span: Nanos) -> u128 {
        let busy = u128::from(usage.of(Amount::CoresBusy));
        let rest = u128::from(span.0) * u128::from(self.cores) - busy;
        busy * u128::from(power.active.0) + rest * u128::from(power.idle.0)
    }

    /// Returns the energy of the interconnect for its work in `span` \[aJ\].
    pub fn interconnect(&self, power: &InterconnectPower, usage: &Usage, span: Nanos) -> u128 {
        let bytes = u128::from(usage.of(Amount::InterconnectBytes));
        bytes * u128::from(power.byte.0) + u128::from(span.0) * u128::from(power.idle.0)
    }

    /// Returns the energy of the link for its work in `span` \[aJ\].
    pub fn link(&self, power: &LinkPower, usage: &Usage, span: Nanos) -> u128 {
        let of = |amount: Amount| u128::from(usage.of(amount));
        let (to_device, to_host) = (of(Amount::ToDeviceBusy), of(Amount::ToHostBusy));
        let rest = u128::from(span.0) * u128::from(self.directions) - to_device - to_host;
        to_device * u128::from(power.to_device.0)
            + to_host * u128::from(power.to_host.0)
            + rest * u128::from(power.idle.0)
            + of(Amount::LinkBytes) * u128::from(power.byte.unwrap_or_default().0)
    }
}
