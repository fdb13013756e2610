//! Workloads as vectored commands: where their data goes, what they cost, that a program that gives the same commands
//! has the same history, resets, and what is refused.

use crate::common::{self, HostPlaced, UNIT, check_flash, description, read, session, session_with_history, summary, with};
use drive::embed::{Builder, EmbeddedDrive};
use drive::{Drive, RunLoop};
use ftl::layer::pass_through::chunks::ChunkState;
use kit::history::EntryKind;
use kit::{Bytes, HostCommand, Op, OperationKind, SimTime, Status};
use serde_json::Value;
use workload::{Input, Options};

/// Two groups of two dies with six chunks each; a chunk is 32 units, a program four: a line is 128 units.
const LINES: &[&str] = &[
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.blocks_per_plane=6",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
    "ftl.translation={ kind = \"pass_through\", stripe_unit = 4 }",
];
const LINE: u64 = 128;
const EARLY: &str = "ftl.translation={ kind = \"pass_through\", stripe_unit = 4, early_reset = true }";
const FULL: &str = "ftl.translation={ kind = \"pass_through\", stripe_unit = 4, full = 1.0 }";

/// Returns the place of a unit of the linear space on the flash: stripe units of four go to the dies 0, 2, 1 and 3, the
/// channels in turn.
fn place(unit: u64) -> u64 {
    let (line, within) = (unit / LINE, unit % LINE);
    let die = [0, 2, 1, 3][(within / 4 % 4) as usize];
    die * 192 + line * 32 + within / 16 * 4 + within % 4
}

fn new(sets: &[&str]) -> Drive {
    HostPlaced::new(sets).drive
}

/// Runs a job on a drive. Returns the statuses of the commands that it has caused.
fn play(drive: &mut Drive, keys: &str) -> Vec<(Op, Status)> {
    play_input(drive, &Input::text("job.fio", format!("[job]\n{keys}\n")), &Options::default())
}

/// Runs a trace, whose lines are operation, first line and number of lines, all at once.
fn play_lines(drive: &mut Drive, trace: &str) -> Vec<(Op, Status)> {
    let columns = Some("time=1:ns,op=2,offset=3:B,size=4:B".to_owned());
    let of = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let bytes = |word: &str| word.parse::<u64>().expect("a number") * LINE * UNIT;
        format!("0,{},{},{}\n", words[0], bytes(words[1]), bytes(words[2]))
    };
    let text: String = trace.split(", ").map(of).collect();
    play_input(drive, &Input::text("trace.csv", text), &Options { columns, ..Options::default() })
}

fn play_input(drive: &mut Drive, input: &Input, options: &Options) -> Vec<(Op, Status)> {
    let workload = workload::open(input, drive.user_bytes(), options).unwrap_or_else(|problems| panic!("{problems}"));
    let before = drive.statistics.log.as_ref().map_or(0, Vec::len);
    RunLoop::new(workload).run(drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
    drive.statistics.log.as_deref().unwrap_or_default()[before..].iter().map(|row| (row.op, row.status)).collect()
}

fn all(op: Op, status: Status, count: usize) -> Vec<(Op, Status)> {
    vec![(op, status); count]
}

/// Takes the places at which operations of a kind have begun, in their order.
fn begun(drive: &mut Drive, kind: OperationKind) -> Vec<u64> {
    let is_begun = |entry: &kit::history::Entry| entry.kind() == EntryKind::Started(kind);
    drive.history().take().filter(is_begun).filter_map(|entry| entry.place()).collect()
}

fn chunks(drive: &Drive, state: ChunkState) -> u32 {
    drive.translator().chunks().expect("it has chunks").count(state)
}

fn count(found: &Value, path: &str) -> f64 {
    found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {found:#}"))
}

/// Transfers of `units` on the channel of `tiny`.
fn transfer(units: u64) -> u64 {
    common::transfer(units, 1200)
}

/// A request for a whole line, of 64 units, is one command that all dies execute at the same time; without lines its
/// data is that of one die.
#[test]
fn a_line_is_written_by_all_dies_at_once() {
    let sets = with(LINES, &["flash.pages_per_block=4"]);
    let mut drive = new(&sets);
    assert_eq!(play(&mut drive, "rw=write\nbs=256k\nnumber_ios=1"), all(Op::Write, Status::Success, 1));
    let row = drive.statistics.log.as_ref().expect("it is kept")[0];
    // Four programs on each die; the second die of a channel begins as soon as the first has its data.
    let each = 361 + transfer(4);
    assert_eq!(row.completed.since(row.submitted).0, each + 4 * (each + 600_000));
    assert_eq!((chunks(&drive, ChunkState::Closed), chunks(&drive, ChunkState::Free)), (4, 20));
    let first: Vec<u64> =
        drive.history().take().filter(|entry| entry.time == row.submitted).filter_map(|entry| entry.place()).collect();
    assert_eq!(first, [0, 96, 192, 288], "all dies begin at once");
    let mut whole = new(&with(&sets, &["ftl.translation=pass_through"]));
    play(&mut whole, "rw=write\nbs=256k\nnumber_ios=1");
    let row = whole.statistics.log.as_ref().expect("it is kept")[0];
    assert_eq!(row.completed.since(row.submitted).0, 16 * (each + 600_000), "one die");
}

/// Each unit is read from the place to which it was written.
#[test]
fn data_is_where_it_is_read() {
    let mut drive = new(LINES);
    // A program at a time: 16 KiB are a stripe unit.
    assert_eq!(play(&mut drive, "rw=write\nbs=16k\nnumber_ios=192"), all(Op::Write, Status::Success, 192));
    let programs: Vec<u64> = (0..192).map(|stripe| place(stripe * 4)).collect();
    assert_eq!(begun(&mut drive, OperationKind::Program), programs);
    for unit in (0..768).step_by(7) {
        let job = format!("rw=read\nbs=4k\nsize=4k\noffset={}\nnumber_ios=1", unit * UNIT);
        assert_eq!(play(&mut drive, &job), all(Op::Read, Status::Success, 1));
        assert_eq!(begun(&mut drive, OperationKind::Read), [place(unit)], "unit {unit}");
    }
    // Across a line, and sectors that are no whole units: units 125 to 131, of which those of a program are one read.
    let job = format!("rw=read\nbs=25k\nsize=25k\noffset={}\nnumber_ios=1", 125 * UNIT + 512);
    assert_eq!(play(&mut drive, &job), all(Op::Read, Status::Success, 2), "one command for each line");
    let mut reads = begun(&mut drive, OperationKind::Read);
    let mut expected: Vec<u64> = [125, 128].into_iter().map(place).collect();
    reads.sort_unstable();
    expected.sort_unstable();
    assert_eq!(reads, expected);
}

/// Requests of a job, which a program plays through `submit_vector`.
struct Program<'a> {
    drive: EmbeddedDrive,
    tag: u32,
    /// Requests that are left, each with its commands.
    left: Box<dyn Iterator<Item = Vec<(Op, Vec<u64>)>> + 'a>,
}

impl Program<'_> {
    fn submit(&mut self, op: Op, units: &[u64]) {
        let addresses: Vec<Bytes> = units.iter().map(|unit| Bytes(unit * UNIT)).collect();
        let command = HostCommand::new(op, self.tag, Bytes(0), Bytes(0));
        self.drive.submit_vector(command, &addresses, self.drive.now()).unwrap_or_else(|error| panic!("{}", error.text));
    }

    /// Waits for a completion. Returns the number of commands that have completed with it.
    fn wait(&mut self) -> usize {
        self.drive.advance(SimTime::FOREVER).unwrap_or_else(|error| panic!("{}", error.text));
        let done = self.drive.take(usize::MAX).completions.to_vec();
        assert!(done.iter().all(|done| done.status == Status::Success), "{done:?}");
        done.len()
    }

    /// Plays the requests one at a time: all the commands of one, then the next.
    fn play(&mut self) {
        while let Some(commands) = self.left.next() {
            for (op, units) in &commands {
                // The resets of a request complete before its write begins.
                if *op == Op::Trim {
                    self.submit(*op, units);
                    self.wait();
                }
            }
            let commands: Vec<_> = commands.into_iter().filter(|(op, _)| *op != Op::Trim).collect();
            commands.iter().for_each(|(op, units)| self.submit(*op, units));
            let mut done = 0;
            while done < commands.len() {
                done += self.wait();
            }
        }
    }
}

/// Returns the commands of a request: up to 64 units of one line each.
fn commands(op: Op, begin: u64, units: u64) -> Vec<(Op, Vec<u64>)> {
    let (mut from, mut commands) = (begin, Vec::new());
    while from < begin + units {
        let count = (begin + units - from).min(64).min(LINE - from % LINE);
        commands.push((op, (from..from + count).map(place).collect()));
        from += count;
    }
    commands
}

/// The same commands through the run loop and from a program: the same physical history.
#[test]
fn a_program_that_gives_the_same_commands_has_the_same_history() {
    let job = "[fill]\nrw=write\nbs=384k\nnumber_ios=8\n[again]\nstonewall\nrw=write\nbs=64k\nsize=1m\nnumber_ios=16\n\
               [read]\nstonewall\nrw=read\nbs=20k\nsize=3m\nnumber_ios=100\n";
    let outcome = session_with_history("base = \"tiny\"", LINES, job).unwrap_or_else(|problems| panic!("{problems}"));
    let mut builder = Builder::new("test.toml", "base = \"tiny\"").history();
    for set in LINES {
        builder = builder.set(set);
    }
    let drive = builder.build().unwrap_or_else(|error| panic!("{}", error.text));
    let fill = (0..8).map(|at| commands(Op::Write, at * 96, 96));
    let mut program = Program { drive, tag: 0, left: Box::new(fill) };
    program.play();
    let again = (0..16).map(|at| {
        let reset: Vec<u64> = [0, 2, 1, 3].into_iter().map(|die| die * 192 + at / 8 * 32).collect();
        let reset = if at % 8 == 0 { vec![(Op::Trim, reset)] } else { vec![] };
        [reset, commands(Op::Write, at * 16, 16)].concat()
    });
    (program.tag, program.left) = (1, Box::new(again));
    program.play();
    (program.tag, program.left) = (2, Box::new((0..100).map(|at| commands(Op::Read, at * 5, 5))));
    program.play();
    assert!(outcome.history.is_some() && outcome.history == program.drive.history(), "the histories differ");
    let of_program = program.drive.summary();
    for key in ["commands", "flash", "latency", "translation", "causes"] {
        assert!(!outcome.summary[key].is_null(), "{key}");
        assert_eq!(outcome.summary[key], of_program[key], "{key}");
    }
}

/// Jobs that go round their region: lines are reset, and nothing is refused.
#[test]
fn sequential_jobs_go_round() {
    for (sets, keys, passes, lines) in [
        (LINES.to_vec(), "rw=write\nbs=64k\niodepth=8\nio_size=15m", 5, 6),
        (LINES.to_vec(), "rw=write\nbs=16k\niodepth=32\nio_size=15m", 5, 6),
        (LINES.to_vec(), "rw=write\nbs=512k\niodepth=4\nsize=1m\nio_size=4m", 4, 2),
        (LINES.to_vec(), "rw=write\nbs=768k\niodepth=2\nsize=1536k\nio_size=6m", 4, 3),
        // 60 of the 64 addresses of a command are five programs of 12 units.
        (
            with(LINES, &["flash.page_size=48KiB", "ftl.translation.stripe_unit=12"]),
            "rw=write\nbs=768k\niodepth=3\nio_size=27m",
            3,
            6,
        ),
        (
            with(LINES, &["flash.page_size=48KiB", "ftl.translation.stripe_unit=24"]),
            "rw=write\nbs=768k\niodepth=3\nio_size=27m",
            3,
            6,
        ),
        (with(LINES, &["host.interface=nvme", "ftl.allocation_order=WCDP"]), "rw=write\nbs=128k\niodepth=8\nio_size=15m", 5, 6),
    ] {
        let mut drive = new(&sets);
        let log = play(&mut drive, keys);
        assert!(log.iter().all(|(_, status)| *status == Status::Success), "{keys}: {log:?}");
        let resets = log.iter().filter(|(op, _)| *op == Op::Trim).count();
        assert_eq!(resets, (passes - 1) * lines, "{keys}: a line is one command");
        let (programs, erases) = check_flash(&mut drive, &description(&sets).geometry());
        assert_eq!((erases as usize, programs as usize), (resets * 4, passes * lines * 32), "{keys}");
        assert_eq!(drive.commands_in_flight(), 0);
    }
}

/// Lines that are written in part are reset if the drive allows it; otherwise their next write is refused.
#[test]
fn a_line_that_is_not_full_is_reset_only_where_the_drive_allows_it() {
    let keys = "rw=write\nbs=64k\niodepth=4\nsize=640k\nio_size=1920k";
    let early = with(LINES, &[EARLY]);
    let mut drive = new(&early);
    let log = play(&mut drive, keys);
    assert_eq!(log.iter().filter(|(op, _)| *op == Op::Trim).count(), 4, "two passes over two lines");
    assert!(log.iter().all(|(_, status)| *status == Status::Success), "{log:?}");
    check_flash(&mut drive, &description(&early).geometry());
    // The first line is full, the second is not: its two requests fail twice.
    let log = play(&mut new(LINES), keys);
    let failed = log.iter().filter(|(_, status)| *status == Status::OutOfOrderWrite).count();
    let passed = log.iter().filter(|(_, status)| *status == Status::Success).count();
    assert_eq!((failed, passed), (4, 30 - 4 + 2), "{log:?}");
}

/// Random writes are passed on, and the drive refuses what is not at a write pointer.
#[test]
fn random_writes_are_refused_by_the_drive() {
    let job = "[job]\nrw=randwrite\nbs=16k\niodepth=4\nnumber_ios=400\nnorandommap=1\nio_size=1g\n";
    let outcome = session("base = \"tiny\"", LINES, None, job).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(outcome.notes.iter().any(|note| note.contains("commands were refused")), "{:?}", outcome.notes);
    assert!(count(&outcome.summary, "/translation/refused_commands") > 200.0);
    // Writes that are no multiple of a program, and writes of parts of units.
    let log = play(&mut new(LINES), "rw=write\nbs=4k\nnumber_ios=3");
    assert_eq!(log[0], (Op::Write, Status::InvalidField), "{log:?}");
    assert_eq!(play(&mut new(LINES), "rw=write\nbs=512\nnumber_ios=3"), all(Op::Write, Status::InvalidField, 3));
    // Beyond what is written.
    assert_eq!(play(&mut new(LINES), "rw=read\nbs=256k\nnumber_ios=2"), all(Op::Read, Status::Unwritten, 2));
}

#[test]
fn trims_reset_whole_lines() {
    let mut drive = new(&with(LINES, &[FULL]));
    assert_eq!(play(&mut drive, "rw=trim\nbs=1m\niodepth=2\nnumber_ios=3"), all(Op::Trim, Status::Success, 6));
    assert_eq!((begun(&mut drive, OperationKind::Erase).len(), chunks(&drive, ChunkState::Free)), (24, 24));
    // Free chunks may not be reset, and less than a line is never.
    assert_eq!(play(&mut drive, "rw=trim\nbs=512k\nnumber_ios=2"), all(Op::Trim, Status::InvalidReset, 2));
    let mut drive = new(&with(LINES, &[FULL]));
    for bs in ["4k", "16k", "64k", "496k"] {
        let log = play(&mut drive, &format!("rw=trim\nbs={bs}\nnumber_ios=3"));
        assert_eq!(log, all(Op::Trim, Status::InvalidField, 3), "{bs}");
    }
    assert_eq!(chunks(&drive, ChunkState::Closed), 24);
    // A trim that covers one line and parts of its neighbours, by hand.
    let log = play(&mut drive, "rw=trim\nbs=1m\nsize=1m\noffset=256k\nnumber_ios=1");
    assert_eq!((log, chunks(&drive, ChunkState::Free)), (all(Op::Trim, Status::Success, 1), 4));
    assert_eq!(begun(&mut drive, OperationKind::Erase), [32, 224, 416, 608], "line 1");
    // A trim waits for writes, and a write for a trim: line 1 is written, trimmed, written and trimmed again, and line
    // 0, which is full, is written twice.
    let log = play_lines(&mut drive, "W 1 1, D 1 1, W 1 1, W 0 1, D 1 1, W 0 1");
    assert!(log.iter().all(|(_, status)| *status == Status::Success), "{log:?}");
    assert_eq!((log.len(), begun(&mut drive, OperationKind::Erase).len()), (2 + 1 + 2 + 3 + 1 + 3, 16));
    assert_eq!((chunks(&drive, ChunkState::Free), drive.commands_in_flight()), (4, 0));
    check_flash(&mut drive, &description(LINES).geometry());
}

/// Lines of more chunks than a command has addresses, and more commands than there are places for lists.
#[test]
fn long_lines_and_long_queues() {
    let sets =
        with(LINES, &["flash.channels=16", "flash.chips_per_channel=10", "flash.blocks_per_plane=4", "flash.pages_per_block=4"]);
    let mut drive = new(&sets);
    let log = play(&mut drive, "rw=write\nbs=640k\niodepth=8\nio_size=80m");
    assert!(log.iter().all(|(_, status)| *status == Status::Success));
    assert_eq!(log.iter().filter(|(op, _)| *op == Op::Trim).count(), 4 * 3, "160 chunks are three commands");
    let (programs, erases) = check_flash(&mut drive, &description(&sets).geometry());
    assert_eq!((programs, erases), (5120, 640));
    assert_eq!(play(&mut drive, "rw=trim\nbs=40m\nnumber_ios=1"), all(Op::Trim, Status::Success, 12));
    let sets = with(LINES, &[FULL]);
    let found = summary(&sets, "rw=randread\nbs=4k\niodepth=20000\nnumber_ios=40000\nnorandommap=1\nio_size=1g");
    assert_eq!((count(&found, "/commands/read"), count(&found, "/translation/refused_commands")), (40_000.0, 0.0));
    assert_eq!(count(&found, "/translation/vectored_commands"), 40_000.0);
}

/// A request of several commands counts once for the depth of its job, and is complete with the last of them.
#[test]
fn a_request_is_complete_with_its_last_command() {
    let mut drive = new(LINES);
    play(&mut drive, "rw=write\nbs=384k\nnumber_ios=4");
    let rows = drive.statistics.log.clone().expect("it is kept");
    // 96 units: 64 and 32, 32 and 64, and again.
    assert_eq!(rows.len(), 8);
    for pair in rows.chunks(2).collect::<Vec<_>>().windows(2) {
        assert_eq!(pair[0][0].submitted, pair[0][1].submitted);
        assert_eq!(pair[1][0].submitted, pair[0].iter().map(|row| row.completed).max().expect("two"));
    }
    let found = summary(LINES, "rw=write\nbs=1m\nnumber_ios=2");
    assert_eq!((count(&found, "/commands/write"), count(&found, "/throughput/most_in_flight")), (8.0, 4.0));
}

#[test]
fn stripes_that_do_not_fit_are_refused() {
    let problem = |sets: &[&str]| read(&with(LINES, sets)).err().map(|problems| problems.to_string()).unwrap_or_default();
    for units in ["2", "6", "24", "64"] {
        let found = problem(&[&format!("ftl.translation.stripe_unit={units}")]);
        let expected = format!("ftl.translation.stripe_unit: {units}: expected a multiple of 4, the mapping units of a program");
        assert!(found.contains(&expected), "{units}: {found}");
    }
    assert!(problem(&["ftl.translation.stripe_unit=0"]).contains("ftl.translation.stripe_unit: 0: expected 1..="));
    for units in ["4", "8", "16", "32"] {
        assert_eq!(problem(&[&format!("ftl.translation.stripe_unit={units}")]), "");
    }
    let found = problem(&["ftl.translation.max_open=3"]);
    assert!(found.contains("ftl.translation.max_open: 3: expected at least 4, or 0"), "{found}");
    assert_eq!(problem(&["ftl.translation.max_open=4"]), "");
    let wide = problem(&["flash.page_size=512KiB", "ftl.translation.stripe_unit=128"]);
    assert!(wide.contains("a program has 128 mapping units, and a vectored command at most 64"), "{wide}");
    let zones = problem(&["ftl.translation={ kind = \"zns\", stripe_unit = 4 }"]);
    assert!(zones.contains("stripe_unit"), "{zones}");
}
