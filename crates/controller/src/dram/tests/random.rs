//! Long random runs: every command is legal, every access is done once, and the same calls give the same answers.

use super::super::channel::Kind;
use super::super::check::violations;
use super::*;

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// Every combination of grade, order, page policy, ranks, refresh and instant of decision, with its number.
pub(super) fn combinations() -> impl Iterator<Item = (usize, Params)> {
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
        let busy = driven.ddr.data_bus_busy(SimTime(now));
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
        let scattered = scatter(recording(&params, &timing), &params, number as u64, 400);
        let found = violations(&timing, params.ranks as usize, log(&scattered.ddr));
        assert!(found.is_empty(), "{params:?}, single bursts: {} violations, first {:?}", found.len(), found[0]);
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
    assert_eq!(driven.ddr.data_bus_busy(last), Nanos((busy_ps / 1_000) as u64));
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

/// Asks for single bursts at random addresses, which come faster than the memory serves them.
fn scatter(ddr: Ddr, params: &Params, seed: u64, count: u32) -> Driven {
    let mut driven = Driven::new(ddr);
    let mut rng = Rng::stream(seed, "dram.scatter");
    for number in 0..count {
        let kind = if rng.chance(0.9) { AccessKind::Read } else { AccessKind::Write };
        driven.ask(access(number, rng.below(params.size.0), 1, kind), u64::from(number));
    }
    driven.finish();
    driven
}

/// A rule, the scheduler's times that the rule rests on, and the grades in which it can bind.
type Weakened = (&'static str, fn(&mut Timing), fn(&Timing) -> bool);

/// tRC is the sum of tRAS and tRP in all grades. tRAS does not bind where tRCD and the read are as long, and tFAW does
/// not where four times tRRD is as long.
const WEAKENED: [Weakened; 17] = [
    ("tRCD", |timing| timing.rcd -= 1, |_| true),
    ("tRP", |timing| timing.rp -= 1, |_| true),
    ("tRP", |timing| timing.rp_all -= 1, |_| true),
    ("tRAS", |timing| timing.ras -= 1, reads_end_before_ras),
    ("tRC", |timing| (timing.ras, timing.rc) = (timing.ras - 1, timing.rc - 1), reads_end_before_ras),
    ("tRRD_S", |timing| (timing.rrd_s, timing.rrd_l) = (timing.rrd_s - 1, timing.rrd_l - 1), |_| true),
    ("tRRD_L", |timing| timing.rrd_l -= 1, |timing| timing.groups > 1),
    ("tFAW", |timing| timing.faw -= 1, |timing| timing.faw > 4 * timing.rrd_s),
    ("tCCD_L", |timing| timing.ccd_l -= 1, |timing| timing.ccd_l > timing.burst_cycles()),
    ("tRTP", |timing| timing.rtp -= 1, |timing| timing.rtp > 0),
    ("tWTR_S", |timing| (timing.wtr_s, timing.wtr_l) = (timing.wtr_s - 1, timing.wtr_l - 1), |timing| timing.wtr_s > 0),
    ("tWTR_L", |timing| timing.wtr_l -= 1, |timing| timing.groups > 1),
    ("tWR", |timing| timing.wr -= 1, |_| true),
    ("tRFC", |timing| timing.rfc -= 1, |_| true),
    ("tRFCpb", |timing| timing.rfc_bank -= 1, |timing| timing.rfc_bank > 0),
    ("turnaround", |timing| timing.turnaround -= 1, |_| true),
    ("tRTRS", |timing| timing.rtrs -= 1, |_| true),
];

fn reads_end_before_ras(timing: &Timing) -> bool {
    timing.rcd + super::super::gaps::Gaps::new(timing).read_to_precharge < timing.ras
}

/// The canary: a scheduler that takes one time for a cycle shorter breaks the rule, and the checker sees it.
#[test]
fn the_checker_finds_every_weakened_rule() {
    for grade in Grade::ALL {
        let timing = grade.timing();
        for (rule, weaken, binds) in WEAKENED {
            if !binds(&timing) {
                continue;
            }
            let mut weak = timing;
            weaken(&mut weak);
            let is_found = |(number, params): (usize, Params)| {
                let (seed, ranks) = (number as u64, params.ranks as usize);
                let scattered = scatter(recording(&params, &weak), &params, seed, 300);
                let (mixed, _) = run(recording(&params, &weak), &params, seed, 300);
                [scattered, mixed]
                    .iter()
                    .any(|driven| violations(&timing, ranks, log(&driven.ddr)).iter().any(|violation| violation.rule == rule))
            };
            assert!(combinations().filter(|(_, params)| params.grade == grade).any(is_found), "{grade:?}: {rule}");
        }
    }
}

/// The time for which the bus was used until any instant is that of the data of the commands before it.
#[test]
fn busy_is_the_data_until_now() {
    for grade in Grade::ALL {
        let params = Params { grade, activate_ahead: true, page: Page::Closed, width_bits: 64, ..Params::default() };
        let timing = grade.timing();
        let mut ddr = recording(&params, &timing);
        let mut rng = Rng::stream(1, "dram.busy");
        for number in 0..300 {
            ddr.ask(access(number, rng.below(1 << 20), 1 + rng.below(200), AccessKind::Read), SimTime(0));
        }
        let mut next = Some(SimTime(0));
        while let Some(now) = next {
            next = ddr.grant(now).next;
            let later = SimTime(rng.below(next.map_or(100, |next| next.0 - now.0) + 1) + now.0);
            let data = |command: &Command| {
                let starts = (command.cycle + timing.cl) * timing.tck_ps;
                (later.0 * 1_000).clamp(starts, starts + timing.burst_cycles() * timing.tck_ps) - starts
            };
            let expected_ps: u64 = log(&ddr).iter().filter(|command| !is_row_command(command)).map(data).sum();
            assert_eq!(ddr.data_bus_busy(later), Nanos(expected_ps / 1_000), "{grade:?} at {later:?}");
        }
    }
}

/// The channel is busy from the asking for an access to the last of its data, once where accesses overlap.
#[test]
fn busy_is_the_time_with_an_access() {
    for (number, params) in combinations().step_by(11) {
        let mut driven = Driven::new(Ddr::new(&params));
        let mut traffic = Traffic::new(number as u64, &params);
        let mut asked = Vec::new();
        let busy_at = |driven: &Driven, asked: &[u64], now: u64| {
            // The data of an access that is not done ends after `now`.
            let mut ends = vec![u64::MAX; asked.len()];
            driven.done.iter().for_each(|(transaction, at)| ends[transaction.index()] = at.0);
            let mut spans: Vec<(u64, u64)> = asked.iter().copied().zip(ends).collect();
            spans.sort_unstable();
            let (mut busy, mut until) = (0, 0);
            for (from, to) in spans {
                let (from, to) = (from.max(until), to.min(now));
                busy += to.saturating_sub(from);
                until = until.max(to);
            }
            busy
        };
        for _ in 0..300 {
            let (access, now) = traffic.next();
            driven.ask(access, now);
            asked.push(now);
            assert_eq!(driven.ddr.busy(SimTime(now)).0, busy_at(&driven, &asked, now), "{params:?} at {now}");
        }
        let last = driven.finish().0;
        assert_eq!(driven.ddr.busy(SimTime(last)).0, busy_at(&driven, &asked, last), "{params:?}");
        assert_eq!(driven.ddr.busy(SimTime(last + 999)), driven.ddr.busy(SimTime(last)), "{params:?}: idle");
        assert!(driven.ddr.busy(SimTime(last)) > driven.ddr.data_bus_busy(SimTime(last)), "{params:?}");
    }
}

/// No command could be placed a cycle earlier: it would be before its decision, or the checker would find it illegal.
/// The column commands of a chunk are moved together.
#[test]
fn every_command_is_at_its_earliest_cycle() {
    for (number, params) in combinations().step_by(4) {
        let (timing, ranks) = (params.grade.timing(), params.ranks as usize);
        let (mixed, _) = run(recording(&params, &timing), &params, number as u64, 15);
        let scattered = scatter(recording(&params, &timing), &params, number as u64, 30);
        for driven in [mixed, scattered] {
            let mut moved = log(&driven.ddr).to_vec();
            for piece in pieces(log(&driven.ddr)) {
                let first = moved[piece.start];
                if first.cycle == first.decided {
                    continue;
                }
                moved[piece.clone()].iter_mut().for_each(|command| command.cycle -= 1);
                assert!(!violations(&timing, ranks, &moved).is_empty(), "{params:?}: {first:?}");
                moved[piece].iter_mut().for_each(|command| command.cycle += 1);
            }
        }
    }
}

/// Returns the ranges of a log that are placed as one: a row command, or the column commands of a chunk.
fn pieces(log: &[Command]) -> Vec<std::ops::Range<usize>> {
    let mut pieces: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, command) in log.iter().enumerate() {
        let joins = |before: &Command| !is_row_command(before) && !is_row_command(command) && before.decided == command.decided;
        match pieces.last_mut() {
            Some(last) if joins(&log[index - 1]) => last.end = index + 1,
            _ => pieces.push(index..index + 1),
        }
    }
    pieces
}
