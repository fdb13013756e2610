//! Random faults of the flash, as overrides of a random description.

use super::{chance, pick};
use kit::Rng;

/// Returns overrides that make programs and erases of a random drive fail, from hardly ever to now and then.
pub fn faults(rng: &mut Rng) -> Vec<String> {
    let rate = |rng: &mut Rng| {
        let rate = pick(rng, &[0.0, 1e-3, 0.01, 0.05]);
        if chance(rng, 0.3) { format!("[{}, {}]", rate / 4.0, rate) } else { format!("{rate:?}") }
    };
    let mut sets = vec!["ftl.read_in_flight=buffer".to_owned()];
    sets.push(format!("faults.program_failure={}", rate(rng)));
    sets.push(format!("faults.erase_failure={}", rate(rng)));
    sets.push(format!("faults.spare_blocks={}", pick(rng, &[0, 1, 2, 4])));
    if chance(rng, 0.4) {
        sets.push(format!("faults.factory_bad={:?}", pick(rng, &[0.001, 0.01])));
    }
    if chance(rng, 0.3) {
        sets.push(format!("faults.bad_blocks=[{}]", rng.below(8)));
    }
    sets
}
