//! Long random runs: every command is legal, every access is done once, and the same calls give the same answers.

use super::super::channel::Kind;
use super::super::check::violations;
use super::*;

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// Every combination of grade, order, page policy, ranks, refresh and instant of decision, with its number.
fn combinations() -> impl Iterator<Item = (usize, Params)> {
    let per_grade = 64;
    (0..Grade::ALL.len() * per_grade).filter_map(move |number| {
        let bit = |place: usize| number >> place & 1 == 1;
        let grade = Grade::ALL[number / per_grade];
        let params = Params {
            grade,
            width_bits: WIDTHS[number / 3 % 4],
            ranks: if bit(0) { 2 } else { 1 },
            chunk: Bytes([256, 512, 1024][number % 3]),
            scheduling: if bit(1) { Scheduling::Fcfs } else { Scheduling::FrFcfs },
            page: if bit(2) { Page::Closed } else { Page::Open },
            refresh_per_bank: bit(3),
            refresh: !bit(4) || bit(3),
            activate_ahead: bit(5),
            ..Params::default()
        };
        let mut problems = kit::Problems::default();
        params.problems("dram", &mut problems);
        problems.0.is_empty().then_some((number, params))
    })
}

/// Asks for `count` random accesses. Returns the channel after the last grant, and the accesses.
fn run(ddr: Ddr, params: &Params, seed: u64, count: u32) -> (Driven, Vec<Access>) {
    let mut driven = Driven::new(ddr);
    let mut traffic = Traffic::new(seed, params);
    let mut accesses = Vec::new();
    for _ in 0..count {
        let (access, now) = traffic.next();
        driven.ask(access, now);
        accesses.push(access);
        let busy = driven.ddr.busy(SimTime(now));
        assert!(busy.0 <= now, "{busy:?} of {now} ns");
    }
    driven.finish();
    (driven, accesses)
}

#[test]
fn every_command_is_legal_in_every_combination() {
    for (number, params) in combinations() {
        let timing = params.grade.timing();
        let (driven, accesses) = run(recording(&params, &timing), &params, number as u64, 400);
        let found = violations(&timing, params.ranks as usize, log(&driven.ddr));
        assert!(found.is_empty(), "{params:?}: {} violations, first {:?}", found.len(), found[0]);
        conserves(&driven, &accesses);
    }
}

/// Each access is done once, all bytes are counted, and the bus was used for the bursts that the accesses touch.
fn conserves(driven: &Driven, accesses: &[Access]) {
    let mut done: Vec<u32> = driven.done.iter().map(|(transaction, _)| transaction.0).collect();
    done.sort_unstable();
    assert_eq!(done, (0..accesses.len() as u32).collect::<Vec<_>>());
    let last = driven.done.iter().map(|&(_, at)| at).max().expect("accesses are done");
    let counters = driven.ddr.counters(last);
    let bytes = |kind| accesses.iter().filter(|access| access.kind == kind).map(|access| access.bytes.0).sum::<u64>();
    assert_eq!(counters.bytes_read, bytes(AccessKind::Read));
    assert_eq!(counters.bytes_written, bytes(AccessKind::Write));
    let columns = log(&driven.ddr).iter().filter(|command| !is_row_command(command)).count() as u64;
    let busy_ps = u128::from(columns * driven.ddr.burst_cycles) * driven.ddr.clock.picoseconds(1);
    assert_eq!(driven.ddr.busy(last), Nanos((busy_ps / 1_000) as u64));
    let activates = log(&driven.ddr).iter().filter(|command| command.kind == Kind::Activate);
    assert_eq!(counters.activates, activates.count() as u64);
}

fn is_row_command(command: &Command) -> bool {
    matches!(command.kind, Kind::Activate | Kind::Precharge | Kind::PrechargeAll | Kind::Refresh | Kind::RefreshBank)
}

#[test]
fn the_same_calls_give_the_same_answers() {
    for (number, params) in combinations().step_by(37) {
        let (first, _) = run(Ddr::new(&params), &params, number as u64, 2_000);
        let (second, _) = run(Ddr::new(&params), &params, number as u64, 2_000);
        let (recorded, _) = run(recording(&params, &params.grade.timing()), &params, number as u64, 2_000);
        assert_eq!(first.done, second.done, "{params:?}");
        assert_eq!(first.done, recorded.done, "{params:?}: recording changes nothing");
    }
}
