//! Speed of a loop of loads, stores, operations and branches, to be printed: run in release.

use super::assembler::*;
use super::{DATA, Machine};
use crate::Stop;

/// Returns the speed of a run \[10^6 instructions per second\].
fn measured(is_profiled: bool) -> f64 {
    let words = [
        load(2, 8, 5, 0),
        addi(9, 9, 3),
        r(0, 4, 10, 8, 9),
        store(2, 10, 5, 4),
        i(0x13, 7, 11, 10, 255),
        branch(0, 11, 0, 8),
        i(0x13, 1, 12, 11, 2),
        load(5, 13, 5, 6),
        add(14, 14, 13),
        store(0, 14, 5, 0),
        addi(6, 6, -1),
        branch(1, 6, 0, -44),
        EBREAK,
    ];
    let mut machine = Machine::new(words);
    machine.core.set_register(5, DATA + 64);
    machine.core.set_register(6, 1_000_000);
    if is_profiled {
        machine.core.start_profile(&machine.memory);
    }
    #[expect(clippy::disallowed_types, reason = "the speed is printed; nothing depends on it")]
    let begin = std::time::Instant::now();
    let stop = machine.core.run(&mut machine.memory, u64::MAX);
    let seconds = begin.elapsed().as_secs_f64();
    assert!(matches!(stop, Stop::Break { .. }));
    machine.core.instructions() as f64 / seconds / 1e6
}

#[test]
#[ignore = "measures speed"]
fn speed() {
    let best = |is_profiled| (0..20).map(|_| measured(is_profiled)).fold(0.0, f64::max);
    println!("best of 20 runs: plain {:.0} MIPS, profiled {:.0} MIPS", best(false), best(true));
}
