//! MLC flash of the OFWAR paper, and the same cell with one, three and four bits.

use crate::parameter::{Parameter, Standing::*, parameter};
use crate::part::{Part, Target};
use cell::ispp::{Ispp, Pass};
use cell::stress::{ReadDisturb, Variation};
use cell::voltage::{self, VoltageModel};
use cell::{Device, References, Technology};
use ecc::{Bch, Code};
use kit::Nanos;

/// Returns the paper's cell, with the constants of FACTS 1.1 and 1.2.
pub(super) fn mlc() -> Part {
    let model = voltage::nominal();
    part("ofwar-mlc", "MLC of the OFWAR paper: threshold voltages, 10,000 cycles, BCH 110 bits / 4 KiB", model, 0.2, 10_000, 600)
}

/// Returns the cell with one bit. Its level is placed ([`cell::place`]) for a year after 30,000 cycles with a step of
/// 0.4 V; a limit of 1.31e-3 leaves a margin for the resolution of the grid.
pub(super) fn slc() -> Part {
    let model = VoltageModel { verify: vec![3.499], ..voltage::nominal() };
    part("volt-slc", "the OFWAR cell with one bit", model, 0.4, 30_000, 300)
}

/// Returns the cell with three bits, placed for a year after 3,000 cycles with a step of 0.1 V.
pub(super) fn tlc() -> Part {
    let verify = vec![2.652, 3.045, 3.488, 3.864, 4.336, 4.787, 5.302];
    part("volt-tlc", "the OFWAR cell with three bits", VoltageModel { verify, ..voltage::nominal() }, 0.1, 3_000, 1_200)
}

/// Returns the cell with four bits, placed for a year after 1,000 cycles with a step of 0.05 V.
pub(super) fn qlc() -> Part {
    let verify = vec![2.570, 2.846, 3.149, 3.407, 3.719, 4.011, 4.334, 4.583, 4.918, 5.236, 5.589, 5.895, 6.267, 6.622, 7.018];
    part("volt-qlc", "the OFWAR cell with four bits", VoltageModel { verify, ..voltage::nominal() }, 0.05, 1_000, 2_400)
}

fn part(name: &str, summary: &'static str, model: VoltageModel, step: f64, rated: u32, program_us: u64) -> Part {
    let code = Code::Bch(Bch { data_bits: 32_768, t: 110 });
    let bits = model.bits();
    // Only the product of pulse count and pulse time is stated; pulses of 20 us and verifies of 5 us are assumed.
    let (pulse, verify) = (Nanos(20_000), Nanos(5_000));
    let sweep = program_us as f64 / 25.0 * step;
    let passes = vec![Pass { start: model.top(step) - sweep, end: model.top(step), coarseness: 1.0, verifies: 1 }; bits];
    Part {
        name: name.to_owned(),
        summary,
        parameters: parameters(&model, step, rated, program_us, sweep),
        device: Device {
            technology: Technology::Voltage(model),
            references: References::Optimal,
            disturb: Some(ReadDisturb::default()),
            activation_ev: 1.1,
            reference_celsius: 40.0,
            variation: Variation { block_sigma: 0.25, layer_sigma: 0.1 },
            ispp: Some(Ispp { pulse, verify, fixed: Nanos::ZERO, passes }),
            nominal_step: step,
            rated_pe_cycles: rated,
        },
        code,
        target: Target::Failure(1e-15),
        // The binomial limit is 1.354e-3; FACTS 1.2 adopts 1.35e-3 and derives the levels from it.
        own_limit: Some(1.35e-3),
        read_time: Some(Nanos(50_000)),
        program_time: None,
        erase_time: Some(Nanos(1_500_000)),
    }
}

fn parameters(model: &VoltageModel, step: f64, rated: u32, program_us: u64, sweep: f64) -> Vec<Parameter> {
    let is_paper = model.verify.len() == 3;
    let own = |standing| if is_paper { standing } else { Assumed };
    let from = |source| if is_paper { source } else { "ours: the paper's cell has two bits" };
    vec![
        parameter("mu_e", "mean of the erased state", format!("{} V", model.erased_mean), Found, "FACTS 1.1"),
        parameter("x_0", "voltage at which nothing is lost", format!("{} V", model.erased_mean), Stated, "OFWAR 4.1.2"),
        parameter("sigma_e", "deviation of the erased state", format!("{} V", model.erased_sigma), Found, "FACTS 1.1"),
        parameter("V_p", "verify voltages", format!("{:?} V", model.verify), own(Derived), from("FACTS 1.2: not unique")),
        parameter("dVpp", "nominal program step", format!("{step} V"), own(Recalled), from("FACTS 1.1; 0.40 V fast is derived")),
        parameter("C_r, A_r", "lambda_r = C_r + A_r N^0.62", format!("{:?} V", model.telegraph), Stated, "OFWAR 4.1.2"),
        parameter("A_t, B_t", "mu_d after ten years", format!("{:?} V", model.detrapping), Stated, "OFWAR 4.1.2"),
        parameter("sigma_d / mu_d", "spread of the loss", model.retention_spread, Stated, "OFWAR 4.1.2"),
        parameter("K_s", "growth of the loss with the level", format!("{} 1/V", model.retention_slope), Stated, "OFWAR 4.1.2"),
        parameter("t_0", "of the time law ln(1 + t / t_0)", "1 h", Found, "FACTS 1.1; scaled to ten years: assumed"),
        parameter("gamma_y", "vertical coupling", model.couplings.vertical, Stated, "OFWAR 4.1.4"),
        parameter("gamma_xy", "diagonal coupling", model.couplings.diagonal, Stated, "OFWAR 4.1.4"),
        parameter("gamma_x", "horizontal coupling (even/odd only)", model.couplings.horizontal, Recalled, "same group's papers"),
        parameter(
            "w_c, sigma_c",
            "bound and deviation of a coupling",
            format!("{:?} of its mean", model.coupling_spread),
            Stated,
            "OFWAR 4.1.4",
        ),
        parameter("", "which neighbours", "one vertical, two diagonal", Assumed, "FACTS 1.1"),
        parameter("", "post-compensation", "the mean shift is subtracted", Assumed, "FACTS 1.1: the filter is not known"),
        parameter("", "read references", "optimal: fewest misread cells", Assumed, "FACTS 1.1"),
        parameter(
            "",
            "code",
            "BCH (34528, 32768), t = 110, codeword failure 1e-15",
            Recalled,
            "FACTS 1.1; limit 1.35e-3 derived, as rounded there",
        ),
        parameter("N", "rated cycles", rated, own(Recalled), from("FACTS 1.1")),
        parameter("tPROG", "program time with the nominal step", format!("{program_us} us"), own(Stated), from("OFWAR 4.1.4")),
        parameter(
            "",
            "sweep of the program pulses",
            format!("{sweep:.3} V in pulses of 20 us, verifies of 5 us, nothing fixed"),
            Assumed,
            "halving by doubling the step needs no overhead",
        ),
        parameter("tR", "read time", "50 us", Stated, "OFWAR 4.1.4"),
        parameter("tBERS", "erase time", "1.5 ms", Found, "FACTS 1.4"),
        parameter("", "errors for each read", "1.0e-9 at 2,000 cycles, exponent 1.43", Recalled, "FACTS 6.2"),
        parameter("E_a", "activation energy of loss", "1.1 eV, at 40 C", Found, "FACTS 6.3; the temperature is assumed"),
        parameter("", "block and layer variation", "log-normal, sigma 0.25 and 0.1", Assumed, "FACTS 5.2"),
    ]
}
