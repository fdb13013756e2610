//! Resistive memory of the SSDExplorer thesis, chapter 3.

use crate::parameter::{Standing::*, parameter};
use crate::part::{Part, Target};
use cell::rram::Rram;
use cell::{Device, Technology};
use ecc::{Bch, Code};

/// Returns the part: a crosspoint array behind a flash interface.
pub(super) fn part() -> Part {
    let memory = Rram::default();
    Part {
        name: "rram".to_owned(),
        summary: "1T-nR crosspoint RRAM of the SSDExplorer thesis: 1 us reads, no erase",
        parameters: vec![
            parameter("T_READ", "read time of a page", "1 us", Stated, "thesis, table 3.1"),
            parameter("", "native page, emulated pages", "256 B; 512 B to 4 KiB by planes together", Stated, "thesis, table 3.1"),
            parameter("", "planes", "16", Stated, "thesis, 3.1"),
            parameter("", "write time", "10 us, without erase", Assumed, "the thesis gives none"),
            parameter("", "endurance", "1,000,000 writes", Assumed, "the thesis gives none"),
            parameter("", "error rate", "1e-6 fresh, 5e-5 more after the rated writes", Assumed, "the thesis gives none"),
            parameter("", "code", "BCH 8 bits in 512 B, codeword failure 1e-11", Assumed, "the thesis gives none"),
        ],
        read_time: Some(memory.read_time),
        program_time: Some(memory.write_time),
        erase_time: None,
        device: Device::of(Technology::Rram(memory), memory.rated_writes as u32),
        code: Code::Bch(Bch { data_bits: 512 * 8, t: 8 }),
        target: Target::Failure(1e-11),
        own_limit: None,
    }
}
