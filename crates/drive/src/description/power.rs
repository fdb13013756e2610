//! The parts that draw power, beside the flash.

use super::Description;
use super::errors::own_decoder;
use controller::ecc::{DecoderConfig, EngineDecoder, FixedDecoder};
use controller::energy::{Powered, min_idd0};
use controller::memory::Model;
use ecc::{BlockCode, Decoder, Hold};
use flash::power::PowerConfig;
use kit::{Hop, Nanos, Problems};

impl Description {
    /// Returns the parts of the drive that draw power, beside the flash.
    pub(crate) fn powered(&self) -> Powered {
        let decoders = match &self.ecc.decoder {
            DecoderConfig::Ideal => 0,
            DecoderConfig::Fixed(FixedDecoder { decoders, .. }) | DecoderConfig::Engines(EngineDecoder { decoders, .. }) => {
                decoders * self.decoder_groups()
            }
        };
        Powered {
            memory: self.controller.dram.build(()).model(),
            memories: self.buffer.buffers.max(1),
            cores: self.controller.firmware.build(()).cores().map_or(0, |cores| cores.count),
            directions: if self.host.protocol().half_duplex { 1 } else { 2 },
            decoders,
            iteration: self.iteration(),
        }
    }

    /// Returns the number of codewords of a mapping unit; 0 if stored data has no errors.
    pub(crate) fn codewords_per_unit(&self) -> u32 {
        let code = self.ecc.source().and_then(|_| self.correction().ok());
        code.map_or(0, |correction| (self.unit().bytes() * 8).div_ceil(correction.code.data_bits()) as u32)
    }

    /// Returns the time of an iteration of the decoders, if they are LDPC decoders.
    fn iteration(&self) -> Option<Nanos> {
        let DecoderConfig::Engines(EngineDecoder { decoder, .. }) = &self.ecc.decoder else { return None };
        let own = || self.correction().ok().map(|correction| own_decoder(&correction.code));
        match decoder.clone().or_else(own) {
            Some(Decoder::Ldpc(ldpc)) => Some(ldpc.iteration),
            _ => None,
        }
    }

    /// Adds the powers of parts that the drive does not have, or that do not suit them.
    pub(super) fn power_problems(&self, power: &PowerConfig, problems: &mut Problems) {
        match (&power.dram, self.controller.dram.build(()).model()) {
            (Some(_), Model::Ideal) => {
                problems.add("power.dram", "no memory is described: expected controller.dram of kind \"bandwidth\" or \"ddr\"");
            }
            (Some(dram), Model::Ddr(params)) if dram.idd0 < min_idd0(dram, &params) => {
                let least = min_idd0(dram, &params);
                let what = format!("{}: expected at least {least}, the mean over tRC of idd3n (for tRAS) and idd2n", dram.idd0);
                problems.add("power.dram.idd0", what);
            }
            _ => {}
        }
        self.cap_suspends_problems(power.cap_suspends, problems);
        if power.cores.is_some() && self.controller.firmware.build(()).cores().is_none() {
            problems.add("power.cores", "no cores are described: expected controller.firmware of kind \"cores\"");
        }
        if power.interconnect.is_some() && self.controller.interconnect.build(()).in_words().is_empty() {
            problems.add(
                "power.interconnect",
                "no interconnect is described: expected a kind in controller.interconnect other than \"ideal\"",
            );
        }
        self.link_power_problems(power, problems);
        self.ecc_power_problems(power, problems);
    }

    /// Adds what keeps operations from being suspended for power.
    fn cap_suspends_problems(&self, cap_suspends: u32, problems: &mut Problems) {
        const FIELD: &str = "power.cap_suspends";
        if cap_suspends == 0 {
            return;
        }
        if !self.flash.suspension.as_ref().is_some_and(|rule| rule.program || rule.erase) {
            let what =
                format!("{cap_suspends}: the flash suspends no operation, expected 0, or flash.suspension of programs or erases");
            problems.add(FIELD, what);
        }
        // A suspended operation takes power before its resume command has the channel, which a read may hold while it
        // waits for power.
        if self.ecc.retries_hold == Hold::Channel {
            problems.add(FIELD, format!("{cap_suspends}: expected 0 with ecc.retries_hold = \"channel\""));
        }
    }

    fn link_power_problems(&self, power: &PowerConfig, problems: &mut Problems) {
        let Some(link) = &power.link else { return };
        let protocol = self.host.protocol();
        let is_transfer = Hop::is_transfer;
        if !protocol.lists().flatten().any(is_transfer) {
            problems.add("power.link", "no link is described: expected a kind in host.interface other than \"ideal\"");
        } else if protocol.half_duplex && link.to_device != link.to_host {
            let what = format!(
                "{}: both directions share the wire: expected that of power.link.to_device, {}",
                link.to_host, link.to_device
            );
            problems.add("power.link.to_host", what);
        }
    }

    fn ecc_power_problems(&self, power: &PowerConfig, problems: &mut Problems) {
        let Some(ecc) = &power.ecc else { return };
        if self.ecc.source().is_none() {
            problems.add("power.ecc", "stored data has no errors to decode: expected a source in ecc.errors");
            return;
        }
        if ecc.idle.is_some() && self.ecc.decoder == DecoderConfig::Ideal {
            problems.add(
                "power.ecc.idle",
                "the number of decoders is not described: expected ecc.decoder of kind \"fixed\" or \"engines\"",
            );
        }
        if ecc.iteration.is_some() && self.correction().is_ok() && self.iteration().is_none() {
            problems.add("power.ecc.iteration", "no decoder iterates: expected ecc.decoder of kind \"engines\" for an LDPC code");
        }
    }
}
