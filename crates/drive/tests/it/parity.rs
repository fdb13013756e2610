//! Parity across dies: random drives, and its cost in closed form.

use kit::Reason;
use testkit::case::{Detail, run};

/// Random drives with parity across dies, saved and loaded again between parts of their commands: the oracle follows
/// each program of parity, and no block is erased while parity covers current data together with it.
#[test]
fn random_drives_keep_parity() {
    let (mut passed, mut parity, mut collected, mut pauses) = (0, 0u64, 0u64, 0);
    for seed in crate::common::given("SSDLAB_FROM").unwrap_or(0)..600 {
        eprintln!("{seed}");
        let Some(case) = run(seed, Detail::Parity, 400, None).unwrap_or_else(|why| panic!("seed {seed}: {why:?}")) else {
            continue;
        };
        let counters = &case.drive.translator().report().counters.clone();
        passed += 1;
        parity += counters.units_programmed[Reason::Parity as usize];
        collected += counters.units_programmed[Reason::Gc as usize];
        pauses += case.pauses;
    }
    println!("{passed} drives, {parity} units of parity, {collected} collected, {pauses} pauses");
    assert!(passed > 200 && parity > 10_000 && collected > 10_000 && pauses > 100);
}
