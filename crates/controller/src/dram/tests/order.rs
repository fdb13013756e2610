//! Order of the accesses: classes, FCFS and FR-FCFS, the age limit, and chunks of one access.

use super::super::channel::Kind;
use super::*;

/// 64 bits of DDR3-1333 without refresh: 8 banks, rows of 8 KiB, 48 ns of data in a chunk of 512 B.
fn params(scheduling: Scheduling) -> Params {
    Params { width_bits: 64, scheduling, refresh: false, ..Params::default() }
}

/// Distance of two rows of one bank.
const NEXT_ROW: u64 = 8 * 8_192;

fn read(transaction: u32, address: u64, bytes: u64) -> Access {
    access(transaction, address, bytes, AccessKind::Read)
}

fn look_up(transaction: u32, address: u64) -> Access {
    Access { class: AccessClass::Map, ..read(transaction, address, 64) }
}

fn order(driven: &Driven) -> Vec<u32> {
    driven.done.iter().map(|(transaction, _)| transaction.0).collect()
}

#[test]
fn a_look_up_goes_before_the_data_that_waits() {
    for scheduling in [Scheduling::Fcfs, Scheduling::FrFcfs] {
        let mut driven = Driven::new(Ddr::new(&params(scheduling)));
        for number in 0..4 {
            driven.ask(read(number, u64::from(number) * 4_096, 4_096), 0);
        }
        driven.ask(look_up(4, 9 * NEXT_ROW), 0);
        // In the middle of the first access.
        driven.ask(look_up(5, 17 * NEXT_ROW), 150);
        driven.finish();
        assert_eq!(order(&driven), [4, 5, 0, 1, 2, 3], "{scheduling:?}");
        // Behind at most the chunk on the bus and the one that is decided; meanwhile it opens its row.
        let waited = driven.done[1].1.0 - 150;
        assert!(waited <= 48 + 48 + (10 + 4) * 3 / 2, "{scheduling:?}: {waited} ns");
    }
}

/// Two streams in two rows of one bank, whose accesses arrive in turn.
fn two_streams(params: &Params) -> Driven {
    let mut driven = Driven::new(Ddr::new(params));
    for number in 0..40 {
        let stream = u64::from(number % 2) * NEXT_ROW;
        driven.ask(read(number, stream + u64::from(number / 2) * 256, 256), 0);
    }
    driven
}

#[test]
fn fr_fcfs_serves_the_open_row_first() {
    let mut in_order = two_streams(&params(Scheduling::Fcfs));
    let slow = in_order.finish();
    assert_eq!(order(&in_order), (0..40).collect::<Vec<_>>());
    assert_eq!(in_order.ddr.counters.row_conflicts, 39);
    let mut chosen = two_streams(&Params { age_limit: Nanos(100_000), ..params(Scheduling::FrFcfs) });
    let fast = chosen.finish();
    let evens_then_odds: Vec<u32> = (0..40).step_by(2).chain((1..40).step_by(2)).collect();
    assert_eq!(order(&chosen), evens_then_odds);
    assert_eq!((chosen.ddr.counters.row_hits, chosen.ddr.counters.row_conflicts), (38, 1));
    // tRC of 34 cycles for each access, against 16 cycles of data.
    assert!(fast.0 * 2 < slow.0, "{fast:?}, {slow:?}");
    let mut aged = two_streams(&Params { age_limit: Nanos(0), ..params(Scheduling::FrFcfs) });
    assert_eq!(aged.finish(), slow, "with an age limit of 0, FR-FCFS is FCFS");
}

/// Hits arrive for longer than the age limit. Returns the instant at which a conflicting access is done.
fn done_among_hits(age_limit: Nanos) -> u64 {
    let mut driven = Driven::new(Ddr::new(&Params { age_limit, ..params(Scheduling::FrFcfs) }));
    driven.ask(read(0, 0, 256), 0);
    driven.ask(read(1, NEXT_ROW, 256), 5);
    for number in 2..2_000 {
        driven.ask(read(number, u64::from(number) % 32 * 256, 256), 6 + u64::from(number - 2) * 8);
    }
    driven.finish();
    driven.done.iter().find(|(transaction, _)| transaction.0 == 1).map(|(_, at)| at.0).expect("every access is done")
}

#[test]
fn no_access_waits_much_longer_than_the_age_limit() {
    let last_hit_at = 6 + 1_997 * 8;
    for limit in [100, 1_000, 5_000] {
        let done = done_among_hits(Nanos(limit));
        // The chunk on the bus and the one that is decided, tRTP, and its own row and data.
        let most = 5 + limit + 24 + 24 + (5 + 10 + 10 + 10 + 16) * 3 / 2;
        assert!((5 + limit..=most).contains(&done), "{limit} ns: {done}, expected at most {most}");
    }
    assert!(done_among_hits(Nanos(1_000_000)) > last_hit_at, "without the limit it starves until the hits end");
}

/// An access over several rows opens them in the order of its addresses, also where a later one is open already.
#[test]
fn the_chunks_of_an_access_are_in_the_order_of_addresses() {
    for grade in [Grade::Ddr3At1333, Grade::Ddr4At2400] {
        let params = Params { grade, ..params(Scheduling::FrFcfs) };
        let mut driven = Driven::new(recording(&params, &grade.timing()));
        let row = if grade == Grade::Ddr4At2400 { 16 << 10 } else { 8 << 10 };
        driven.ask(read(0, 2 * row, 64), 0);
        driven.finish();
        let before = log(&driven.ddr).len();
        driven.ask(read(1, row / 2, 3 * row), 1_000);
        driven.finish();
        let mut rows: Vec<u32> =
            log(&driven.ddr)[before..].iter().filter(|command| command.kind == Kind::Read).map(|command| command.row).collect();
        assert!(rows.is_sorted(), "{grade:?}");
        rows.dedup();
        assert_eq!(rows, [0, 1, 2, 3], "{grade:?}");
    }
}

/// A row of DDR4 extends over two banks. A single burst opens it in one of them: a chunk that needs both is no hit.
#[test]
fn a_row_that_is_open_in_one_bank_of_two_is_no_hit() {
    let params = Params { grade: Grade::Ddr4At2400, ..params(Scheduling::FrFcfs) };
    let mut driven = Driven::new(Ddr::new(&params));
    driven.ask(read(0, 64, 64), 0);
    driven.finish();
    // Another row of these banks comes first. Then the one burst that is open, and the row in both banks.
    driven.ask(read(1, 16 * 16_384, 128), 1_000);
    driven.ask(read(2, 64, 128), 1_000);
    driven.ask(read(3, 64, 64), 1_000);
    driven.finish();
    assert_eq!(order(&driven), [0, 3, 1, 2]);
    let counters = driven.ddr.counters(SimTime(2_000));
    assert_eq!((counters.row_hits, counters.row_misses, counters.row_conflicts), (1, 1, 2));
    assert_eq!(counters.activates, 1 + 2 + 2);
}

#[test]
fn one_grant_is_scheduled_while_accesses_wait() {
    let mut ddr = Ddr::new(&params(Scheduling::Fcfs));
    assert!(ddr.is_at_rest());
    assert_eq!(ddr.ask(read(0, 0, 1_024), SimTime(7)), Some(SimTime(7)));
    assert_eq!(ddr.ask(read(1, 4_096, 512), SimTime(7)), None);
    assert!(!ddr.is_at_rest());
    // The first column command of the first chunk: cycle 5 (7 ns) and tRCD.
    assert_eq!(ddr.grant(SimTime(7)), Granted { begun: Some(TransactionId(0)), done: None, next: Some(SimTime(23)) });
    assert_eq!(ddr.ask(read(2, 0, 1), SimTime(8)), None);
    let Granted { done, next, .. } = ddr.grant(SimTime(23));
    // From cycle 15: two chunks of 32 cycles, and CL.
    assert_eq!(done, Some((TransactionId(0), SimTime((15 + 64 + 10) * 3 / 2 + 1))));
    let next = next.expect("accesses wait");
    assert_eq!(ddr.grant(next).done.map(|(transaction, _)| transaction), Some(TransactionId(1)));
    let next = ddr.decision;
    assert_eq!(ddr.grant(next).next, None);
    assert!(ddr.is_at_rest());
    // The next decision is not before the first column command of the last chunk.
    assert_eq!(ddr.ask(read(3, 0, 1), next), Some(ddr.decision));
    assert!(ddr.decision > next);
}

#[test]
#[should_panic(expected = "a grant at another instant")]
fn a_grant_at_another_instant_is_refused() {
    let mut ddr = Ddr::new(&params(Scheduling::Fcfs));
    ddr.ask(read(0, 0, 64), SimTime(7));
    ddr.grant(SimTime(8));
}

#[test]
#[should_panic(expected = "an access beyond the memory")]
fn an_access_beyond_the_memory_is_refused() {
    let params = params(Scheduling::Fcfs);
    Ddr::new(&params).ask(read(0, params.size.0 - 63, 64), SimTime(0));
}
