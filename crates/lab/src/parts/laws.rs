//! Parts whose error rates are fitted to measurements.

use crate::parameter::{Parameter, Standing::*, parameter};
use crate::part::{Part, Target};
use cell::stress::Variation;
use cell::{Device, Technology, laws};
use ecc::{Bch, Code, Ldpc};
use kit::Nanos;

pub(super) fn mlc_2y() -> Part {
    let source = "SimpleSSD 3, after Kim, Choi and Min, FAST 2019 (FACTS 5.4)";
    let parameters = vec![
        parameter("", "law", "8.34e-5 + 3.30e-11 N^1.71 + 5.56e-19 N^2.49 d^3.33 + 6.26e-13 N^1.76 r^0.47", Found, source),
        parameter("", "retention up to", "100 days", Derived, "FACTS 5.4: beyond it the law diverges"),
        parameter("", "cycles up to, reads up to", "10,000, 1,000,000 of the block", Assumed, "no source gives a bound"),
        parameter("", "rated cycles", "3000", Assumed, "typical of the period"),
        parameter("", "heat, variation", "1.1 eV at 40 C; sigma 0.25, 0.1", Assumed, "as for ofwar-mlc"),
        parameter("", "code", "BCH 60 bits in 1 KiB, codeword failure 1e-15", Assumed, "limit 1.98e-3: FACTS 6.3"),
    ];
    let code = Code::Bch(Bch { data_bits: 8192, t: 60 });
    of("mlc-2y", "2y-nm MLC, a power law", code, Target::Failure(1e-15), 3_000, parameters)
}

pub(super) fn tlc_72l() -> Part {
    let source = "MQSim-JW, rber_model_example.py (FACTS 5.4)";
    let parameters = vec![
        parameter("", "law", "1.48e-3 + 3.90e-10 N^2.05 + 6.28e-5 N^0.14 d^0.54 + 3.73e-9 N^0.33 r^1.71", Found, source),
        parameter("", "unit of time", "days", Derived, "FACTS 5.4: hours would give four times as many errors after a year"),
        parameter("", "reads up to", "1,000 for each page", Derived, "FACTS 5.4"),
        parameter("", "rated cycles", "3000", Assumed, "FACTS 6.1: TLC 1,000 to 3,000"),
        parameter("", "heat, variation", "1.1 eV at 40 C; sigma 0.25, 0.1", Assumed, "as for ofwar-mlc"),
        parameter("", "code", "LDPC 4 KiB, soft: 4e-3, 7e-3, 1e-2", Assumed, "FACTS 5.2; 1e-2 is stated in the thesis"),
    ];
    let code = Code::Ldpc(Ldpc::default());
    of("tlc-72l", "72-layer TLC, a power law", code, Target::Failure(1e-11), 3_000, parameters)
}

pub(super) fn thesis_a() -> Part {
    thesis("thesis-a-mlc", "A-MLC of the SSDExplorer thesis: consumer, 2X nm", 9_000, "6,000", (68, 1_400))
}

pub(super) fn thesis_b() -> Part {
    thesis("thesis-b-mlc", "B-MLC of the SSDExplorer thesis: enterprise, 1X nm", 12_000, "19,000", (40, 2_000))
}

pub(super) fn thesis_c() -> Part {
    thesis("thesis-c-mlc", "C-MLC of the SSDExplorer thesis: enterprise early sample, mid-1X nm", 4_000, "5,000", (70, 2_500))
}

pub(super) fn thesis_d() -> Part {
    thesis("thesis-d-tlc", "D-TLC of the SSDExplorer thesis: enterprise early sample, mid-1X nm", 900, "1,000", (86, 2_300))
}

fn thesis(name: &'static str, summary: &'static str, rated: u32, sustained: &'static str, times_us: (u64, u64)) -> Part {
    let parameters = vec![
        parameter("", "rated endurance", rated, Stated, "thesis, table 2.3"),
        parameter("n_e", "endurance with BCH and read retry", sustained, Stated, "thesis, table 2.4"),
        parameter(
            "",
            "law, after read retry",
            "2.0e-3 (N / n_e)^1.8, at most 1e-2",
            Assumed,
            "FACTS 5.4: through the thesis's anchors",
        ),
        parameter(
            "",
            "code",
            "BCH 100 bits in a codeword of 4320 B",
            Stated,
            "thesis, 2.3.1; codeword failure 1e-4 as sustained: derived",
        ),
        parameter(
            "tR, tPROG",
            "mean read and program time",
            format!("{} us, {} us", times_us.0, times_us.1),
            Stated,
            "thesis, table 2.3",
        ),
    ];
    // 100 x 16 bits of parity.
    let code = Code::Bch(Bch { data_bits: 4320 * 8 - 1600, t: 100 });
    let part = of(name, summary, code, Target::Failure(1e-4), rated, parameters);
    Part { read_time: Some(Nanos(times_us.0 * 1000)), program_time: Some(Nanos(times_us.1 * 1000)), ..part }
}

/// Builds the part of the law called `name` with its code; the caller adds the times that are known.
fn of(
    name: &'static str,
    summary: &'static str,
    code: Code,
    target: Target,
    rated_pe_cycles: u32,
    parameters: Vec<Parameter>,
) -> Part {
    Part {
        name: name.to_owned(),
        summary,
        device: Device {
            variation: Variation { block_sigma: 0.25, layer_sigma: 0.1 },
            ..Device::of(Technology::Law(laws::find(name).expect("a law of this name")), rated_pe_cycles)
        },
        code,
        target,
        own_limit: None,
        read_time: None,
        program_time: None,
        erase_time: None,
        parameters,
    }
}
