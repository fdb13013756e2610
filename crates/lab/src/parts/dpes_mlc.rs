//! 20 nm MLC flash of dynamic program and erase scaling.

use crate::parameter::{Parameter, Standing::*, parameter};
use crate::part::{Part, Target};
use cell::dpes::{ScaledCell, Scaling};
use cell::ispp::{Ispp, Pass};
use cell::stress::{ReadDisturb, Variation};
use cell::{Device, References, Technology};
use ecc::{Bch, BlockCode, Code};
use kit::Nanos;

/// Returns the part: the scaling of FACTS 4, on a cell that just meets the limit of its code at the rated wear.
pub(super) fn part() -> Part {
    let code = Code::Bch(Bch { data_bits: 1038 * 8, t: 24 });
    // Halving the width of three levels saves 0.636 V, so the nominal step is 0.424 V. Thirteen pulses of 100 us take
    // 1.3 ms.
    let step = 0.424;
    let passes = vec![Pass { start: 0.0, end: 13.0 * step, coarseness: 1.0, verifies: 1 }; 2];
    let model = ScaledCell {
        scaling: Scaling::default(),
        rated_wear: 3_000.0,
        limit: code.limit_at_uber(0, 1e-16),
        fresh_share: 0.02,
        retention_unit: Nanos(3_600_000_000_000),
        nominal_step: step,
    };
    Part {
        name: "dpes-mlc".to_owned(),
        summary: "20 nm MLC of autoFTL: erase and program scaling, 3,000 cycles",
        parameters: parameters(),
        device: Device {
            technology: Technology::Scaled(model),
            references: References::Fixed,
            disturb: Some(ReadDisturb::default()),
            activation_ev: 1.1,
            // Ten hours at 125 degrees Celsius represent 1.07 years at this temperature.
            reference_celsius: 55.0,
            variation: Variation { block_sigma: 0.25, layer_sigma: 0.1 },
            ispp: Some(Ispp { pulse: Nanos(80_000), verify: Nanos(20_000), fixed: Nanos::ZERO, passes }),
            nominal_step: step,
            rated_pe_cycles: 3_000,
        },
        code,
        target: Target::Uber(1e-16),
        own_limit: None,
        read_time: Some(Nanos(75_000)),
        program_time: None,
        erase_time: Some(Nanos(5_000_000)),
    }
}

/// Returns the numbers of the part with their standing and source.
fn parameters() -> Vec<Parameter> {
    vec![
        parameter("MAX_P/E", "rated cycles", "3000", Stated, "autoFTL 3.1"),
        parameter("T_PROG, T_ERASE", "nominal times", "1.3 ms, 5 ms", Stated, "autoFTL 5.1"),
        parameter("", "slow erase", "+300 % time", Stated, "autoFTL 3.3"),
        parameter("", "lazy erase", "20 % of the erase time", Stated, "autoFTL 3.4"),
        parameter("r", "largest reduction of the erase voltage", "0.14, for 1.06 V of window", Stated, "autoFTL 3.5"),
        parameter("w", "wear of a fast erase", "1 - 3.857 r", Derived, "FACTS 4.1: 0.46 at r = 0.14"),
        parameter("w", "wear of a slow erase", "0.81 - 2.571 r", Derived, "FACTS 4.1; the paper's 0.46 x 0.81 is not its 0.45"),
        parameter("V_ISPP", "program step by write mode", "1, 0.875, 0.75, 0.625, 0.5", Assumed, "FACTS 4.2; the end is stated"),
        parameter("", "shares of the window", "0.636 V by the step, 0.424 V by fresh cells", Assumed, "FACTS 4.2: 60 / 40"),
        parameter("dVpp", "nominal program step", "0.424 V", Derived, "three levels narrowed by half save 0.636 V"),
        parameter(
            "",
            "error rate at the rated wear, a year old",
            "the limit of the code",
            Assumed,
            "the paper gives ratios only",
        ),
        parameter("", "code", "BCH 24 bits in 1080 B, UBER 1e-16", Assumed, "not given; typical of the period"),
        parameter("", "growth with wear and age", "linear; ln(1 + t / 1 h)", Assumed, "autoFTL 3.1 sums wear; time law of OFWAR"),
        parameter("", "error rate of fresh data", "2 % of the limit", Assumed, "as for rr-mlc"),
        parameter(
            "",
            "heat, reads, variation",
            "1.1 eV at 55 C; 1.0e-9 a read at 2,000 cycles; sigma 0.25, 0.1",
            Assumed,
            "as for ofwar-mlc; 55 C: the bake of 3.1 is 1.07 years there",
        ),
        parameter("t_R", "read time", "75 us", Assumed, "typical of the period"),
    ]
}
