//! The distance of every pair of commands that a constraint separates, in each grade. The expected cycles are written
//! here from the formulas of the data sheets: for the checker, a second command is illegal one cycle earlier and legal
//! at the distance, and the scheduler places it there.

use super::super::channel::{Channel, Chunk, Command, Kind};
use super::super::check::violations;
use super::*;

/// Expected distances \[cycles\].
struct Expected {
    grade: Grade,
    /// tRC.
    activate_activate: u64,
    /// tRRD in the same group, and in another one.
    activate_other: [u64; 2],
    /// From the first to the fifth activate.
    five_activates: u64,
    activate_column: u64,
    activate_precharge: u64,
    read_precharge: u64,
    write_precharge: u64,
    precharge_activate: u64,
    /// Between two reads, or two writes, of the same group, another one, and another rank.
    like: [u64; 3],
    /// From a read to a write in the same rank, and in another one.
    read_write: [u64; 2],
    /// From a write to a read in the same group, another one, and another rank.
    write_read: [u64; 3],
    precharge_all_refresh: u64,
    refresh_activate: u64,
    /// LPDDR4 only.
    refresh_bank_activate: u64,
}

/// Every grade. Sums in the order of the formulas: read to write CL + BL/2 + gap - CWL, write to read CWL + BL/2 + tWTR
/// (another rank: CWL + BL/2 + tRTRS - CL), write to precharge CWL + BL/2 + tWR.
const EXPECTED: [Expected; 12] = [
    Expected {
        grade: Grade::Sdr133,
        activate_activate: 9,
        activate_other: [2, 2],
        five_activates: 4 * 2,
        activate_column: 3,
        activate_precharge: 6,
        read_precharge: 4,
        write_precharge: 4 - 1 + 2,
        precharge_activate: 3,
        like: [4, 4, 4 + 1],
        read_write: [3 + 4 + 1, 3 + 4 + 1],
        write_read: [4, 4, 4 + 1 - 3],
        precharge_all_refresh: 3,
        refresh_activate: 9,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Sdr166,
        activate_activate: 10,
        activate_other: [2, 2],
        five_activates: 4 * 2,
        activate_column: 3,
        activate_precharge: 7,
        read_precharge: 4,
        write_precharge: 4 - 1 + 2,
        precharge_activate: 3,
        like: [4, 4, 4 + 1],
        read_write: [3 + 4 + 1, 3 + 4 + 1],
        write_read: [4, 4, 4 + 1 - 3],
        precharge_all_refresh: 3,
        refresh_activate: 10,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr333,
        activate_activate: 10,
        activate_other: [2, 2],
        five_activates: 4 * 2,
        activate_column: 3,
        activate_precharge: 7,
        read_precharge: 8 / 2,
        write_precharge: 1 + 4 + 3,
        precharge_activate: 3,
        like: [4, 4, 4 + 1],
        read_write: [3 + 4 + 1 - 1, 3 + 4 + 1 - 1],
        write_read: [1 + 4 + 1, 1 + 4 + 1, 1 + 4 + 1 - 3],
        precharge_all_refresh: 3,
        refresh_activate: 12,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr400,
        activate_activate: 11,
        activate_other: [2, 2],
        five_activates: 4 * 2,
        activate_column: 3,
        activate_precharge: 8,
        read_precharge: 8 / 2,
        write_precharge: 1 + 4 + 3,
        precharge_activate: 3,
        like: [4, 4, 4 + 1],
        read_write: [3 + 4 + 1 - 1, 3 + 4 + 1 - 1],
        write_read: [1 + 4 + 2, 1 + 4 + 2, 1 + 4 + 1 - 3],
        precharge_all_refresh: 3,
        refresh_activate: 14,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr2At667,
        activate_activate: 18,
        activate_other: [3, 3],
        five_activates: 13,
        activate_column: 4,
        activate_precharge: 14,
        read_precharge: 4 / 2 + 3 - 2,
        write_precharge: 3 + 2 + 5,
        precharge_activate: 4,
        like: [2, 2, 2 + 1],
        // JESD79-2: BL/2 + 2.
        read_write: [2 + 2, 2 + 2],
        write_read: [3 + 2 + 3, 3 + 2 + 3, 3 + 2 + 1 - 4],
        precharge_all_refresh: 4,
        refresh_activate: 43,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr2At800,
        activate_activate: 23,
        activate_other: [3, 3],
        five_activates: 14,
        activate_column: 5,
        activate_precharge: 18,
        read_precharge: 4 / 2 + 3 - 2,
        write_precharge: 4 + 2 + 6,
        precharge_activate: 5,
        like: [2, 2, 2 + 1],
        read_write: [2 + 2, 2 + 2],
        write_read: [4 + 2 + 3, 4 + 2 + 3, 4 + 2 + 1 - 5],
        precharge_all_refresh: 5,
        refresh_activate: 51,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr3At800,
        activate_activate: 20,
        activate_other: [4, 4],
        five_activates: 16,
        activate_column: 5,
        activate_precharge: 15,
        read_precharge: 4,
        write_precharge: 5 + 4 + 6,
        precharge_activate: 5,
        like: [4, 4, 4 + 2],
        // JESD79-3: RL + tCCD + 2 - WL.
        read_write: [5 + 4 + 2 - 5, 5 + 4 + 2 - 5],
        write_read: [5 + 4 + 4, 5 + 4 + 4, 5 + 4 + 2 - 5],
        precharge_all_refresh: 5,
        refresh_activate: 64,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr3At1333,
        activate_activate: 34,
        activate_other: [4, 4],
        five_activates: 20,
        activate_column: 10,
        activate_precharge: 24,
        read_precharge: 5,
        write_precharge: 7 + 4 + 10,
        precharge_activate: 10,
        like: [4, 4, 4 + 2],
        read_write: [10 + 4 + 2 - 7, 10 + 4 + 2 - 7],
        write_read: [7 + 4 + 5, 7 + 4 + 5, 7 + 4 + 2 - 10],
        precharge_all_refresh: 10,
        refresh_activate: 107,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr4At2133,
        activate_activate: 51,
        activate_other: [6, 4],
        five_activates: 23,
        activate_column: 15,
        activate_precharge: 36,
        read_precharge: 8,
        write_precharge: 11 + 4 + 16,
        precharge_activate: 15,
        like: [6, 4, 4 + 2],
        read_write: [15 + 4 + 2 - 11, 15 + 4 + 2 - 11],
        write_read: [11 + 4 + 8, 11 + 4 + 3, 11 + 4 + 2 - 15],
        precharge_all_refresh: 15,
        refresh_activate: 374,
        refresh_bank_activate: 0,
    },
    Expected {
        grade: Grade::Ddr4At2400,
        activate_activate: 56,
        activate_other: [6, 4],
        five_activates: 26,
        activate_column: 17,
        activate_precharge: 39,
        read_precharge: 9,
        write_precharge: 12 + 4 + 18,
        precharge_activate: 17,
        like: [6, 4, 4 + 2],
        read_write: [17 + 4 + 2 - 12, 17 + 4 + 2 - 12],
        write_read: [12 + 4 + 9, 12 + 4 + 3, 12 + 4 + 2 - 17],
        precharge_all_refresh: 17,
        refresh_activate: 420,
        refresh_bank_activate: 0,
    },
    // In cycles of 0.8333 ns: tRCD 18 ns = 22, tRAS 42 ns = 51, tDQSCK 3.5 ns = 5.
    Expected {
        grade: Grade::Lpddr4At2400,
        activate_activate: 51 + 22,
        activate_other: [12, 12],
        five_activates: 48,
        activate_column: 22,
        activate_precharge: 51,
        read_precharge: 8 + 9 - 8,
        write_precharge: 12 + 1 + 8 + 22,
        precharge_activate: 22,
        like: [8, 8, 8 + 2],
        read_write: [24 + 5 + 8 + 2 - 12, 24 + 8 + 2 - 12],
        write_read: [12 + 1 + 8 + 12, 12 + 1 + 8 + 12, 1],
        precharge_all_refresh: 26,
        refresh_activate: 336,
        refresh_bank_activate: 168,
    },
    // In cycles of 0.625 ns: tRCD 18 ns = 29, tRAS 42 ns = 68, tDQSCK 3.5 ns = 6.
    Expected {
        grade: Grade::Lpddr4At3200,
        activate_activate: 68 + 29,
        activate_other: [16, 16],
        five_activates: 64,
        activate_column: 29,
        activate_precharge: 68,
        read_precharge: 8 + 12 - 8,
        write_precharge: 14 + 1 + 8 + 29,
        precharge_activate: 29,
        like: [8, 8, 8 + 2],
        read_write: [28 + 6 + 8 + 2 - 14, 28 + 8 + 2 - 14],
        write_read: [14 + 1 + 8 + 16, 14 + 1 + 8 + 16, 1],
        precharge_all_refresh: 34,
        refresh_activate: 448,
        refresh_bank_activate: 224,
    },
];

impl Expected {
    fn timing(&self) -> Timing {
        self.grade.timing()
    }

    fn has_groups(&self) -> bool {
        self.timing().groups > 1
    }

    /// Banks of rank 0 in the same group as bank 0, and in another one.
    fn other_banks(&self) -> [usize; 2] {
        if self.has_groups() { [4, 1] } else { [1, 1] }
    }
}

/// A command of a log: cycle, kind, rank, bank and row.
type Line = (u64, Kind, usize, usize, u32);

fn is_legal(timing: &Timing, lines: &[Line]) -> bool {
    let command = |&(cycle, kind, rank, bank, row): &Line| Command { cycle, decided: 0, kind, rank, bank, row };
    violations(timing, 2, &lines.iter().map(command).collect::<Vec<_>>()).is_empty()
}

/// The second command, `distance` cycles after cycle 1000, is legal there and illegal a cycle earlier.
fn separates(expected: &Expected, name: &str, before: &[Line], second: (Kind, usize, usize, u32), distance: u64) {
    let timing = expected.timing();
    let (kind, rank, bank, row) = second;
    let at = |cycle: u64| [before, &[(cycle, kind, rank, bank, row)]].concat();
    assert!(is_legal(&timing, before), "{:?}: {name}: the commands before", expected.grade);
    assert!(!is_legal(&timing, &at(1_000 + distance - 1)), "{:?}: {name}: {} cycles", expected.grade, distance - 1);
    assert!(is_legal(&timing, &at(1_000 + distance)), "{:?}: {name}: {distance} cycles", expected.grade);
}

#[test]
fn row_commands_are_illegal_a_cycle_before_their_distance() {
    for expected in &EXPECTED {
        let open = (500, Kind::Activate, 0, 0, 7);
        let activate = (1_000, Kind::Activate, 0, 0, 7);
        let precharge = (1_000 + expected.activate_precharge, Kind::Precharge, 0, 0, 0);
        let again = (Kind::Activate, 0, 0, 8);
        separates(expected, "ACT-ACT", &[activate, precharge], again, expected.activate_activate);
        for (bank, distance) in expected.other_banks().into_iter().zip(expected.activate_other) {
            separates(expected, "ACT-ACT other", &[activate], (Kind::Activate, 0, bank, 8), distance);
        }
        separates(expected, "ACT-RD", &[activate], (Kind::Read, 0, 0, 7), expected.activate_column);
        separates(expected, "ACT-WR", &[activate], (Kind::Write, 0, 0, 7), expected.activate_column);
        separates(expected, "ACT-PRE", &[activate], (Kind::Precharge, 0, 0, 0), expected.activate_precharge);
        for (kind, distance) in [(Kind::Read, expected.read_precharge), (Kind::Write, expected.write_precharge)] {
            let column = (1_000, kind, 0, 0, 7);
            separates(expected, "column-PRE", &[open, column], (Kind::Precharge, 0, 0, 0), distance);
            separates(expected, "column-PREA", &[open, column], (Kind::PrechargeAll, 0, 0, 0), distance);
        }
        for (kind, distance) in [(Kind::ReadClose, expected.read_precharge), (Kind::WriteClose, expected.write_precharge)] {
            let column = (1_000, kind, 0, 0, 7);
            separates(expected, "auto-precharge", &[open, column], again, distance + expected.precharge_activate);
        }
        let precharge = (1_000, Kind::Precharge, 0, 0, 0);
        separates(expected, "PRE-ACT", &[open, precharge], again, expected.precharge_activate);
        let all = (1_000, Kind::PrechargeAll, 0, 0, 0);
        separates(expected, "PREA-REF", &[open, all], (Kind::Refresh, 0, 0, 0), expected.precharge_all_refresh);
        let refresh = (1_000, Kind::Refresh, 0, 0, 0);
        separates(expected, "REF-ACT", &[refresh], again, expected.refresh_activate);
        separates(expected, "REF-REF", &[refresh], (Kind::Refresh, 0, 0, 0), expected.refresh_activate);
        let fast = expected.activate_other[1];
        let four: Vec<Line> = (0..4).map(|bank| (1_000 + bank * fast, Kind::Activate, 0, bank as usize, 7)).collect();
        if expected.timing().banks > 4 {
            separates(expected, "five ACT", &four, (Kind::Activate, 0, 4, 7), expected.five_activates);
        }
    }
}

#[test]
fn refreshes_of_a_bank_are_illegal_a_cycle_before_their_distance() {
    for expected in EXPECTED.iter().filter(|expected| expected.refresh_bank_activate > 0) {
        let open = (500, Kind::Activate, 0, 0, 7);
        let refresh = (1_000, Kind::RefreshBank, 0, 0, 0);
        let rrd = expected.activate_other[0];
        separates(expected, "REFpb-ACT", &[refresh], (Kind::Activate, 0, 0, 7), expected.refresh_bank_activate);
        separates(expected, "REFpb-REFpb", &[refresh], (Kind::RefreshBank, 0, 1, 0), expected.refresh_bank_activate);
        separates(expected, "REFpb-ACT other", &[refresh], (Kind::Activate, 0, 1, 7), rrd);
        let activate = (1_000, Kind::Activate, 0, 0, 7);
        separates(expected, "ACT-REFpb other", &[activate], (Kind::RefreshBank, 0, 1, 0), rrd);
        let precharge = (1_000, Kind::Precharge, 0, 0, 0);
        separates(expected, "PRE-REFpb", &[open, precharge], (Kind::RefreshBank, 0, 0, 0), expected.precharge_activate);
    }
}

/// Every pair of directions, with the distances in the same group, another one, and another rank.
fn columns(expected: &Expected) -> [(Kind, Kind, [u64; 3]); 4] {
    let [same, other] = expected.read_write;
    [
        (Kind::Read, Kind::Read, expected.like),
        (Kind::Write, Kind::Write, expected.like),
        (Kind::Read, Kind::Write, [same, same, other]),
        (Kind::Write, Kind::Read, expected.write_read),
    ]
}

#[test]
fn column_commands_are_illegal_a_cycle_before_their_distance() {
    for expected in &EXPECTED {
        let [same_group, other_group] = expected.other_banks();
        for (first, second, distances) in columns(expected) {
            let seconds = [(0, same_group), (0, other_group), (1, 0)];
            for ((rank, bank), distance) in seconds.into_iter().zip(distances) {
                let before = [(400, Kind::Activate, 0, 0, 7), (500, Kind::Activate, rank, bank, 8), (1_000, first, 0, 0, 7)];
                let name = format!("{first:?}-{second:?} in rank {rank}, bank {bank}");
                separates(expected, &name, &before, (second, rank, bank, 8), distance);
            }
        }
    }
}

/// A recording channel of two ranks, without a queue.
struct Placed {
    channel: Channel,
    timing: Timing,
}

impl Placed {
    fn new(expected: &Expected) -> Placed {
        let timing = expected.timing();
        let mut channel = Channel::new(&timing, 2, Page::Open);
        channel.log = Some(Vec::new());
        Placed { channel, timing }
    }

    /// Places a single burst of a row of a bank. Returns its commands.
    fn burst(&mut self, kind: Kind, (rank, bank): (usize, usize), row: u32, at: u64) -> Vec<Command> {
        let pair = if self.timing.groups > 1 { 2 } else { 1 };
        let places = self.timing.banks as usize / pair;
        let place = rank * places + bank / pair;
        let direction = if kind == Kind::Read { Direction::Read } else { Direction::Write };
        let row = row * 2 * places as u32 + place as u32;
        let burst = (bank % pair) as u64;
        self.commands(|channel| channel.place(&Chunk { row, burst, bursts: 1, direction }, at))
    }

    /// Returns the commands that are placed by a call.
    fn commands<R>(&mut self, call: impl FnOnce(&mut Channel) -> R) -> Vec<Command> {
        let before = self.log().len();
        call(&mut self.channel);
        self.log()[before..].to_vec()
    }

    fn log(&self) -> &[Command] {
        self.channel.log.as_deref().expect("commands are recorded")
    }

    /// The second command is `distance` cycles after the first, or in the first cycle after that which no other command
    /// takes.
    fn expect(&self, name: &str, first: &Command, second: &Command, distance: u64) {
        let taken = |cycle: &u64| self.log().iter().any(|command| command.cycle == *cycle && command != second);
        let wanted = first.cycle + distance;
        let free = (wanted..).find(|cycle| !taken(cycle)).expect("a free cycle");
        assert_eq!(second.cycle, free, "{name}: {distance} cycles after {first:?}");
    }
}

/// Returns the first command of a kind.
fn of(kind: Kind, commands: &[Command]) -> &Command {
    commands.iter().find(|command| command.kind == kind).expect("a command of this kind")
}

#[test]
fn row_commands_are_placed_at_their_distance() {
    for expected in &EXPECTED {
        for (kind, recovery) in [(Kind::Read, expected.read_precharge), (Kind::Write, expected.write_precharge)] {
            let name = format!("{:?}, {kind:?}", expected.grade);
            let mut placed = Placed::new(expected);
            let first = placed.burst(kind, (0, 0), 0, 0);
            placed.expect(&name, of(Kind::Activate, &first), of(kind, &first), expected.activate_column);
            // Another row of the bank at once: tRAS, or the column command where that ends later.
            let second = placed.burst(kind, (0, 0), 1, 0);
            let held = expected.activate_precharge.max(expected.activate_column + recovery);
            placed.expect(&name, of(Kind::Activate, &first), of(Kind::Precharge, &second), held);
            let cycle = expected.activate_activate.max(held + expected.precharge_activate);
            placed.expect(&name, of(Kind::Activate, &first), of(Kind::Activate, &second), cycle);
            // A hit much later, and again another row at once.
            let third = placed.burst(kind, (0, 0), 1, 500);
            assert_eq!((third.len(), third[0].cycle), (1, 500), "{name}");
            let fourth = placed.burst(kind, (0, 0), 2, 500);
            placed.expect(&name, &third[0], of(Kind::Precharge, &fourth), recovery);
            placed.expect(&name, of(Kind::Precharge, &fourth), of(Kind::Activate, &fourth), expected.precharge_activate);
        }
    }
}

#[test]
fn activates_are_placed_at_their_distance() {
    for expected in &EXPECTED {
        let name = format!("{:?}", expected.grade);
        for (bank, distance) in expected.other_banks().into_iter().zip(expected.activate_other) {
            let mut placed = Placed::new(expected);
            let first = placed.burst(Kind::Read, (0, 0), 0, 0);
            let second = placed.burst(Kind::Read, (0, bank), 0, 0);
            placed.expect(&name, of(Kind::Activate, &first), of(Kind::Activate, &second), distance);
        }
        if expected.timing().banks > 4 {
            let mut placed = Placed::new(expected);
            let bursts: Vec<_> = (0..5).map(|bank| placed.burst(Kind::Read, (0, bank), 0, 0)).collect();
            placed.expect(&name, of(Kind::Activate, &bursts[0]), of(Kind::Activate, &bursts[4]), expected.five_activates);
        }
    }
}

#[test]
fn column_commands_are_placed_at_their_distance() {
    for expected in &EXPECTED {
        let [_, other_group] = expected.other_banks();
        for (first, second, distances) in columns(expected) {
            let places = [(0, 0), (0, other_group), (1, 0)];
            for (place, distance) in places.into_iter().zip(distances) {
                let mut placed = Placed::new(expected);
                placed.burst(Kind::Read, (0, 0), 0, 0);
                placed.burst(Kind::Read, place, 0, 200);
                let one = placed.burst(first, (0, 0), 0, 500);
                let two = placed.burst(second, place, 0, 500);
                assert_eq!((one.len(), two.len()), (1, 1), "hits");
                placed.expect(&format!("{:?}: {first:?}-{second:?}", expected.grade), &one[0], &two[0], distance);
            }
        }
    }
}

#[test]
fn refreshes_are_placed_at_their_distance() {
    for expected in &EXPECTED {
        let name = format!("{:?}", expected.grade);
        let mut placed = Placed::new(expected);
        placed.burst(Kind::Read, (0, 0), 0, 0);
        let hit = placed.burst(Kind::Read, (0, 0), 0, 500);
        let refresh = placed.commands(|channel| channel.refresh(500));
        placed.expect(&name, &hit[0], of(Kind::PrechargeAll, &refresh), expected.read_precharge);
        let first = of(Kind::Refresh, &refresh);
        placed.expect(&name, of(Kind::PrechargeAll, &refresh), first, expected.precharge_all_refresh);
        let again = placed.commands(|channel| channel.refresh(500));
        assert!(again.iter().all(|command| command.kind == Kind::Refresh), "all banks are closed");
        placed.expect(&name, first, of(Kind::Refresh, &again), expected.refresh_activate);
        let after = placed.burst(Kind::Read, (0, 3), 0, 500);
        placed.expect(&name, of(Kind::Refresh, &again), of(Kind::Activate, &after), expected.refresh_activate);
    }
}

#[test]
fn refreshes_of_a_bank_are_placed_at_their_distance() {
    for expected in EXPECTED.iter().filter(|expected| expected.refresh_bank_activate > 0) {
        let name = format!("{:?}", expected.grade);
        let mut placed = Placed::new(expected);
        placed.burst(Kind::Read, (0, 0), 0, 0);
        let refresh = placed.commands(|channel| channel.refresh_bank(0, 500));
        let first = of(Kind::RefreshBank, &refresh);
        placed.expect(&name, of(Kind::Precharge, &refresh), first, expected.precharge_activate);
        let other = placed.burst(Kind::Read, (0, 1), 0, 500);
        placed.expect(&name, first, of(Kind::Activate, &other), expected.activate_other[0]);
        let second = placed.commands(|channel| channel.refresh_bank(2, 500));
        placed.expect(&name, first, of(Kind::RefreshBank, &second), expected.refresh_bank_activate);
        // The second refresh counts as an activate.
        let same = placed.burst(Kind::Read, (0, 0), 0, 500);
        placed.expect(&name, of(Kind::RefreshBank, &second), of(Kind::Activate, &same), expected.activate_other[0]);
        let activate = placed.burst(Kind::Read, (0, 3), 0, 2_000);
        let third = placed.commands(|channel| channel.refresh_bank(4, 2_000));
        placed.expect(&name, of(Kind::Activate, &activate), of(Kind::RefreshBank, &third), expected.activate_other[0]);
        placed.burst(Kind::Read, (0, 5), 0, 4_000);
        let idle = placed.commands(|channel| channel.refresh_bank(6, 5_000));
        let same = placed.burst(Kind::Read, (0, 6), 0, 5_000);
        let distance = expected.refresh_bank_activate;
        placed.expect(&name, of(Kind::RefreshBank, &idle), of(Kind::Activate, &same), distance);
    }
}
