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

/// Returns overrides by which the link of a random drive errs, operations are slow, and a host with little patience
/// resets it if its controller hangs.
pub fn host_faults(rng: &mut Rng) -> Vec<String> {
    let interface = [
        "{ kind = \"plain\", queue_depth = 6, command_time = \"500ns\", bandwidth = \"3GB/s\" }",
        "{ kind = \"nvme\", queues = 2, queue_depth = 16 }",
        "{ kind = \"sata\", queue_depth = 8 }",
    ];
    let mut sets = vec![format!("host.interface={}", pick(rng, &interface))];
    for kind in ["slow_read", "slow_program", "slow_erase"] {
        if chance(rng, 0.4) {
            sets.push(format!("faults.{kind}={{ probability = 0.05, factor = {:?} }}", pick(rng, &[1.0, 1.7, 12.0])));
        }
    }
    if chance(rng, 0.5) {
        sets.push(format!("faults.link_error={{ probability = {:?}, replay = \"1us\" }}", pick(rng, &[0.001, 0.1])));
    }
    sets.push(format!("faults.recovery.timeout={}", pick(rng, &["20us", "1ms", "5ms"])));
    sets.push(format!("faults.recovery.reset_time={}", pick(rng, &["0ns", "100us", "5ms"])));
    sets
}
