//! MLC flash of retention relaxation.

use crate::parameter::{Standing::*, parameter};
use crate::part::{Part, Target};
use cell::ispp::{Ispp, Pass};
use cell::relaxation::BellLevels;
use cell::stress::{ReadDisturb, Variation};
use cell::{Device, References, Technology};
use ecc::{Bch, Code};
use kit::Nanos;

/// Returns the flash as used by `rr_ecc`: it needs LDPC to last a year and lasts two weeks with BCH alone.
pub(super) fn needs_ldpc() -> Part {
    let part = part();
    let law = cell::relaxation::PowerLaw::needs_ldpc();
    let mut parameters = part.parameters;
    parameters.retain(|each| each.symbol != "BER_W" && each.symbol != "BER_R");
    parameters.push(parameter("", "error rate after a year", "2.2e-2, what the LDPC code corrects", Stated, "slide 18"));
    parameters.push(parameter(
        "BER_W",
        "error rate of fresh data",
        "7.7e-5",
        Derived,
        "FACTS 2: 4.5e-4 is reached after two weeks",
    ));
    Part {
        name: "rr-mlc-ldpc".to_owned(),
        summary: "MLC of retention relaxation that needs LDPC to last a year",
        device: Device { technology: Technology::Bell(BellLevels { law, ..BellLevels::nominal() }), ..part.device },
        parameters,
        ..part
    }
}

/// Returns the flash with bell-shaped levels and the default of FACTS 2.
pub(super) fn part() -> Part {
    let model = BellLevels::nominal();
    let passes = vec![Pass { start: 0.0, end: 4.5, coarseness: 1.0, verifies: 1 }; 2];
    Part {
        name: "rr-mlc".to_owned(),
        summary: "MLC of retention relaxation: bell-shaped levels that widen with time, BCH 24 bits / 1080 B",
        parameters: vec![
            parameter("", "code", "24 bits in 1080 B, UBER 1e-16", Stated, "slide 18; limit 4.5e-4 derived, FACTS 2"),
            parameter("m", "exponent of time", "1.25", Recalled, "FACTS 2; agrees with the slides"),
            parameter("BER_W", "error rate of fresh data", "9e-6", Derived, "FACTS 2: one of a family"),
            parameter("BER_R", "error rate added in a year", "4.41e-4", Derived, "FACTS 2"),
            parameter("dV_p", "program step", "0.15 of the pitch between levels", Derived, "FACTS 2"),
            parameter("sigma_high", "deviation of the upper shoulder", "0.0994 pitches", Derived, "FACTS 2"),
            parameter("", "shape", "flat top, normal shoulders", Recalled, "FACTS 2"),
            parameter(
                "",
                "wear",
                "loss goes with (cycles x time)^m",
                Derived,
                "slide *NAND Flash in Reliable Storage*: ten years after a tenth of the cycles",
            ),
            parameter("N", "rated cycles", "3000", Assumed, "the slides give none"),
            parameter("t_W", "program time", "1800 us", Found, "FACTS 2"),
            parameter("", "pulses", "30 of 60 us over 4.5 pitches", Assumed, "only the product matters"),
            parameter(
                "",
                "heat, reads, variation",
                "1.1 eV at 40 C; 1.0e-9 a read at 2,000 cycles; sigma 0.25, 0.1",
                Assumed,
                "as for ofwar-mlc",
            ),
            parameter("t_R, t_E", "read and erase time", "75 us, 5 ms", Assumed, "FACTS 2"),
        ],
        device: Device {
            nominal_step: model.step,
            rated_pe_cycles: model.rated_pe_cycles as u32,
            technology: Technology::Bell(model),
            references: References::Fixed,
            disturb: Some(ReadDisturb::default()),
            activation_ev: 1.1,
            reference_celsius: 40.0,
            variation: Variation { block_sigma: 0.25, layer_sigma: 0.1 },
            ispp: Some(Ispp { pulse: Nanos(45_000), verify: Nanos(15_000), fixed: Nanos::ZERO, passes }),
        },
        // 1038 B of data and 42 B of parity form the codeword of 1080 B.
        code: Code::Bch(Bch { data_bits: 1038 * 8, t: 24 }),
        target: Target::Uber(1e-16),
        own_limit: None,
        read_time: Some(Nanos(75_000)),
        program_time: None,
        erase_time: Some(Nanos(5_000_000)),
    }
}
