//! Random errors of stored data, codes, decoders and plans, as overrides of a random description.

use super::{chance, pick};
use kit::Rng;

/// Returns overrides that make the reads of a random drive fail now and then: from hardly ever to nearly always.
pub fn errors(rng: &mut Rng, text: &str) -> Vec<String> {
    let mut sets = Vec::new();
    let is_ldpc = chance(rng, 0.4);
    let rate = if is_ldpc {
        sets.push(
            "flash.code={kind=\"ldpc\",data=\"4KiB\",parity=\"448B\",limits=[4e-3,7e-3,1e-2],failure_at_limit=1e-6}".to_owned(),
        );
        5e-3 + 6e-3 * rng.unit()
    } else {
        let (kib, t) = (pick(rng, &[1u64, 2, 4]), pick(rng, &[3u64, 20, 60]));
        sets.push(format!("flash.code={{kind=\"bch\",data=\"{kib}KiB\",t={t}}}"));
        // From a quarter of the errors that the code corrects to half as many again.
        (0.25 + 1.25 * rng.unit()) * t as f64 / (kib * 8192) as f64
    };
    let noise = pick(rng, &["0.0", "0.1", "0.7"]);
    sets.push(format!("ecc.errors={{kind=\"constant\",rates=[{rate:e}],read_noise={noise}}}"));
    let (step, reduction) = (pick(rng, &[0, 1, 30]), pick(rng, &["0.02", "0.2", "0.6"]));
    sets.push(match rng.below(if is_ldpc { 5 } else { 2 }) {
        0 => "ecc.plan=\"none\"".to_owned(),
        1 => {
            let steps = 1 + rng.below(5);
            let each = 1 + rng.below(2);
            format!(
                "ecc.plan={{kind=\"read_retry\",steps={steps},steps_per_read={each},reduction={reduction},step_time=\"{step}us\"}}"
            )
        }
        2 => format!("ecc.plan={{kind=\"soft\",levels={}}}", 1 + rng.below(2)),
        3 => format!("ecc.plan={{kind=\"nasd\",levels={}}}", 1 + rng.below(2)),
        _ => format!("ecc.plan={{kind=\"sensing\",references={}}}", pick(rng, &["[1,3]", "[1,3,7]", "[3,7]"])),
    });
    if sets[2].contains("read_retry") && chance(rng, 0.3) {
        sets.push("ecc.calibration=true".to_owned());
    }
    if !sets[2].contains("none") {
        sets.push(format!("ecc.retries_hold=\"{}\"", pick(rng, &["nothing", "die", "channel"])));
    }
    sets.push(format!("ecc.delivery=\"{}\"", pick(rng, &["as_decoded", "in_order"])));
    let (shared, decoders) = (pick(rng, &["channel", "drive"]), 1 + rng.below(3));
    match rng.below(3) {
        0 => {}
        1 => {
            let time = pick(rng, &[0, 5, 80]);
            sets.push(format!("ecc.decoder={{kind=\"fixed\",time=\"{time}us\",decoders={decoders},shared=\"{shared}\"}}"));
        }
        _ => sets.push(format!(
            "ecc.decoder={{kind=\"engines\",decoders={decoders},threads={},shared=\"{shared}\"}}",
            1 + rng.below(2)
        )),
    }
    if text.matches("[[flash.read_mode]]").count() == 2 && chance(rng, 0.7) {
        sets.push(format!("flash.read_mode[0].corrects={:e}", 0.7 * rate));
        sets.push(format!("flash.read_mode[1].corrects={:e}", 1.1 * rate));
        sets.push(format!("ecc.read_levels=\"{}\"", pick(rng, &["by_write_mode", "by_error_rate", "progressive"])));
    }
    sets
}
