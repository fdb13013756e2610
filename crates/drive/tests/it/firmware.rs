//! Firmware traces: a recorded run and its replay have the same physical history; broken files are refused.

use crate::common::play_mix;
use drive::Drive;
use drive::session::{Files, Outcome, RunRequest};
use drive::streams::Outputs;
use kit::Problems;
use kit::history::{Entry, EntryKind};
use testkit::case::{self, Detail};
use workload::Input;

/// Runs a workload with a record of the firmware. Returns the outcome and the trace.
fn recorded(drive: &str, sets: &[&str], workload: &str) -> Result<(Outcome, String), Problems> {
    let mut trace = Vec::new();
    let request = RunRequest::new("test.toml", drive).sets(sets).history();
    let files = Files { outputs: Outputs { firmware: Some(&mut trace), ..Outputs::default() }, ..Files::default() };
    let outcome = drive::session::run(&request, &Input::text("workload", workload), files, &mut |_| true)?;
    Ok((outcome, String::from_utf8(trace).expect("a trace is a text")))
}

/// Replays a trace.
fn replayed(drive: &str, sets: &[&str], workload: &str, trace: &str) -> Result<Outcome, Problems> {
    let replay = "ftl.translation={ kind = \"replay\", file = \"x.fw\" }";
    let request = RunRequest::new("test.toml", drive).sets(&[sets, &[replay]].concat()).history();
    let file = |_: &str| Ok(trace.to_owned());
    let files = Files { named: Some(&file), ..Files::default() };
    drive::session::run(&request, &Input::text("workload", workload), files, &mut |_| true)
}

const READS: &str = "[job]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=2000\n";
const WRITES: &str = "[job]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=6000\n";
const LONG_WRITES: &str = "[job]\nrw=randwrite\nbs=12k\niodepth=4\nnumber_ios=2000\n";
const UNALIGNED: &str = "[job]\nrw=randrw\nbs=6k\niodepth=4\nnumber_ios=2000\n";
const MIXED: &str = "[job]\nrw=randrw\nbs=8k\niodepth=8\nnumber_ios=4000\n";
const TRIMS: &str =
    "[w]\nrw=randwrite\nbs=16k\niodepth=4\nnumber_ios=1000\n[t]\nrw=randtrim\nbs=16k\niodepth=2\nnumber_ios=1000\n";
const STEADY: &str = "state.precondition=steady";

/// Drives and workloads whose replay must equal the record.
const SAME: [(&str, &[&str], &str); 17] = [
    ("tiny", &["state.precondition=fill"], READS),
    ("tiny", &[], READS),
    ("tiny", &[STEADY], WRITES),
    ("tiny", &[STEADY, "buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"], WRITES),
    ("tiny", &[STEADY, "buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"], MIXED),
    ("tiny", &[STEADY, "buffer.policy=none"], MIXED),
    ("tiny", &[STEADY, "buffer.policy=none"], LONG_WRITES),
    (
        "tiny",
        &[
            STEADY,
            "buffer.policy=write_back",
            "buffer.capacity=256KiB",
            "buffer.flush_after=1ms",
            "ftl.partial_write=read_modify_write",
        ],
        UNALIGNED,
    ),
    ("tiny", &[STEADY, "buffer.policy=none", "ftl.partial_write=read_modify_write"], UNALIGNED),
    ("tiny", &[STEADY, "buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"], TRIMS),
    ("tiny", &[STEADY, "ftl.write_allocation=static"], MIXED),
    ("tiny", &[STEADY, "ftl.wear_leveling=static_cold", "ftl.gc_idle_after=1ms"], MIXED),
    ("tiny", &[STEADY, "host.interface=plain"], MIXED),
    (
        "tiny",
        &[STEADY, "host.interface=nvme", "buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"],
        MIXED,
    ),
    (
        "tiny",
        &[
            STEADY,
            "host.interface=nvme",
            "buffer.policy=write_back",
            "buffer.capacity=1MiB",
            "buffer.flush_after=1ms",
            "controller.firmware={ kind = \"cores\", count = 2, clock = \"400MHz\" }",
            "controller.dram={ kind = \"ddr\", grade = \"ddr3-1333\", width_bits = 16, size = \"256MiB\" }",
        ],
        MIXED,
    ),
    ("tiny", &[STEADY, "controller.page_buffers={ count = 1 }", "flash.transfer_rate=100MT/s"], MIXED),
    ("tiny", &[STEADY, "flash.channels=4", "flash.scheduler=fifo", "buffer.policy=none"], MIXED),
];

#[test]
fn a_recorded_run_and_its_replay_are_equal() {
    for (preset, sets, workload) in SAME {
        let drive = format!("base = \"{preset}\"");
        let (first, trace) = recorded(&drive, sets, workload).unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
        let again = replayed(&drive, sets, workload, &trace).unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
        assert_eq!(again.history, first.history, "{preset}, {sets:?}: {workload}");
        for key in ["latency", "flash"] {
            assert!(first.summary[key].is_object(), "{key}");
            assert_eq!(again.summary[key], first.summary[key], "{preset}, {sets:?}: {key}");
        }
    }
}

/// A case of which the record and the replay are compared.
struct Compared {
    seed: u64,
    /// True if blocks were moved before a retention limit, so that the die's reads and moves took turns.
    takes_turns: bool,
    is_same: bool,
    /// True if a command came in another order than in the record.
    is_refused: bool,
}

/// Records and replays the case of a seed. Returns `None` if its drive cannot be recorded.
fn compare(seed: u64, detail: Detail) -> Option<Compared> {
    let description = case::detailed(seed, detail)?;
    let mut drive = Drive::new(&description, seed).expect("a small drive");
    let moves_pages = drive.map().needs().moves;
    if description.firmware_problem(moves_pages).is_some() {
        return None;
    }
    drive = drive.recording_firmware();
    testkit::prepare(&mut drive, &description);
    let first = play_mix(&mut drive, &description, seed, 400);
    let trace = drive.take_firmware(true);
    let replay = case::replay_of(&description, &trace).unwrap_or_else(|problems| panic!("seed {seed}: {problems}"));
    let mut again = Drive::new(&replay, seed).expect("a small drive");
    again.adopt();
    let second = play_mix(&mut again, &description, seed, 400);
    let takes_turns = trace.lines().any(|line| line.split(' ').nth(1) == Some("urgent"));
    if again.translator().failure().is_some() {
        return Some(Compared { seed, takes_turns, is_same: false, is_refused: true });
    }
    let of_commands = |history: &[Entry]| history.iter().filter(|entry| matches!(entry.kind(), EntryKind::Completed(_))).count();
    assert_eq!(of_commands(&second), of_commands(&first), "seed {seed}: all commands are completed");
    Some(Compared { seed, takes_turns, is_same: second == first, is_refused: false })
}

/// A replay may depart from its record in the order of what dies do within one instant, and where reads and urgent
/// moves take turns (docs/reference/firmware_trace.md has the counts). All commands complete all the same, unless two
/// of them then come to the translation layer in another order.
#[test]
fn random_drives_and_their_replays_are_equal() {
    let cases = (0..400).flat_map(|seed| [Detail::None, Detail::Controller].map(|detail| (seed, detail)));
    let compared: Vec<_> = cases.filter_map(|(seed, detail)| compare(seed, detail)).collect();
    let refused: Vec<u64> = compared.iter().filter(|case| case.is_refused).map(|case| case.seed).collect();
    let plain: Vec<_> = compared.iter().filter(|case| !case.takes_turns).collect();
    let different: Vec<u64> = plain.iter().filter(|case| !case.is_same).map(|case| case.seed).collect();
    let same = |takes_turns: bool| compared.iter().filter(|case| case.takes_turns == takes_turns && case.is_same).count();
    let turns = compared.len() - plain.len();
    println!("the same: {} of {}; with moves before a limit: {} of {turns}", same(false), plain.len(), same(true));
    println!("departed: {different:?}; refused: {refused:?}");
    assert!(plain.len() > 200, "{} recorded", plain.len());
    assert!(refused.len() * 50 <= plain.len(), "refused: seeds {refused:?}");
    assert!(different.len() * 20 <= plain.len(), "{} of {}: seeds {different:?}", different.len(), plain.len());
}

/// The same firmware on flash with faster channels, and without the link of the recorded drive.
#[test]
fn a_trace_is_replayed_on_another_controller() {
    let sets = [STEADY, "buffer.policy=none"];
    let (first, trace) = recorded("base = \"tiny\"", &sets, WRITES).expect("it is recorded");
    let time = |outcome: &Outcome| outcome.summary["simulated_ns"].as_u64().expect("a number");
    let faster = [&sets[..], &["flash.transfer_rate=2400MT/s"]].concat();
    let fast = replayed("base = \"tiny\"", &faster, WRITES, &trace).expect("it is replayed");
    assert!(time(&fast) < time(&first), "{} and {}", time(&fast), time(&first));
    for key in ["kind", "commands", "entries"] {
        assert!(!fast.summary["translation"][key].is_null(), "{key}: {}", fast.summary["translation"]);
    }
    assert_eq!(fast.summary["translation"]["commands"], fast.summary["translation"]["commands_in_file"]);
    let slower = [&sets[..], &["flash.program_time=2ms", "host.interface=plain"]].concat();
    let slow = replayed("base = \"tiny\"", &slower, WRITES, &trace).expect("it is replayed");
    assert!(time(&slow) > time(&first), "{} and {}", time(&slow), time(&first));
}

#[test]
fn another_workload_is_refused() {
    let sets = [STEADY, "buffer.policy=none"];
    let (_, trace) = recorded("base = \"tiny\"", &sets, "[job]\nrw=randwrite\nbs=4k\nnumber_ios=20\n").expect("it is recorded");
    for (workload, expected) in [
        ("[job]\nrw=randread\nbs=4k\nnumber_ios=20\n", "command 0 is a write of 1 units"),
        ("[job]\nrw=randwrite\nbs=8k\nnumber_ios=20\n", "in the workload: expected the workload that was recorded"),
        ("[job]\nrw=randwrite\nbs=4k\nnumber_ios=21\n", "the file ends after 20 commands"),
    ] {
        let problems = replayed("base = \"tiny\"", &sets, workload, &trace).err().expect("refused").to_string();
        assert!(problems.contains(expected) && problems.contains("x.fw:"), "{workload}: {problems}");
    }
}

#[test]
fn broken_traces_are_refused_with_their_line() {
    let sets = [STEADY, "buffer.policy=none"];
    let workload = "[job]\nrw=randrw\nbs=4k\nnumber_ios=2000\niodepth=4\n";
    let (_, trace) = recorded("base = \"tiny\"", &sets, workload).expect("it is recorded");
    let lines: Vec<&str> = trace.lines().collect();
    let find = |kind: &str| {
        let at = lines.iter().position(|line| line.split(' ').nth(1) == Some(kind));
        at.unwrap_or_else(|| panic!("the trace has a `{kind}`"))
    };
    let is_host_program = |line: &&str| line.split(' ').nth(1) == Some("program") && line.split(' ').nth(4) == Some("host");
    let host_program = lines.iter().position(is_host_program).expect("the host writes");
    let word = |line: usize, at: usize, new: &str| {
        let mut words: Vec<&str> = lines[line].split(' ').collect();
        words[at] = new;
        (line, words.join(" "))
    };
    let (program, read, sense, erase, gather) = (host_program, find("read"), find("sense"), find("erase"), find("gather"));
    let geometry = lines.iter().position(|line| line.starts_with("geometry blocks")).expect("the header has it");
    let unit = lines[program].split(' ').next_back().expect("a unit").split('^').next().expect("a name").to_owned();
    let cases = [
        ((0, "ssdlab firmware trace 9".to_owned()), "expected `ssdlab firmware trace 1`"),
        ((geometry, "geometry blocks 7".to_owned()), "the header of this drive"),
        (word(program, 1, "programme"), "unknown operation `programme`"),
        (word(program, 0, "-5"), "the instant `-5`"),
        (word(find("gather"), 0, "0"), "time must not run backwards"),
        (word(program, 2, "99"), "die `99`: expected 0..="),
        (word(program, 3, "-1"), "the processing time `-1`"),
        (word(program, 4, "gcc"), "unknown reason `gcc`"),
        (word(program, 5, "999999:0"), "block `999999`"),
        (word(program, 5, "0"), "expected BLOCK:UNIT"),
        (word(program, 13, "9999999.0"), "there is no command 9999999"),
        (word(program, 13, "-"), "a program of"),
        (word(program, 13, &format!("{unit},{unit}")), "an entry above has it already"),
        (word(read, 2, "7"), "expected 0, as commands are numbered"),
        (word(read, 8, "3"), "the number of flash reads"),
        (word(sense, 8, "x"), "the logical unit `x`"),
        (word(sense, 2, "88"), "die `88`"),
        (word(erase, 6, "4"), "an erase of 4 units"),
        (word(gather, 9, "77"), "read_mode `77`"),
        ((gather, format!("{} 1", lines[gather])), "expected the end of the line"),
        ((lines.len() - 1, "end 3".to_owned()), "the file has"),
        ((lines.len() - 1, "999999999999 room 0 1 done".to_owned()), "truncated"),
    ];
    for ((at, line), expected) in cases {
        let mut broken = lines.clone();
        broken[at] = &line;
        let problems = replayed("base = \"tiny\"", &sets, workload, &broken.join("\n")).err();
        let problems = problems.unwrap_or_else(|| panic!("`{line}` is refused")).to_string();
        assert!(problems.contains(expected), "`{line}`: {problems}; expected {expected}");
        let number = if expected == "truncated" { at + 2 } else { at + 1 };
        assert!(problems.contains(&format!("x.fw:{number}:")), "`{line}`: {problems}; expected line {number}");
    }
    // A program that leaves out one of its block.
    let erased_then: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].split(' ').nth(1) == Some("program")).collect();
    let block = |at: usize| lines[at].split(' ').nth(5).and_then(|place| place.split(':').next()).map(str::to_owned);
    let second = erased_then.iter().copied().find(|&at| at > program && block(at) == block(program)).expect("two in a block");
    let (at, line) = word(second, 5, &format!("{}:0", block(second).expect("a block")));
    let mut broken = lines.clone();
    broken[at] = &line;
    let problems = replayed("base = \"tiny\"", &sets, workload, &broken.join("\n")).err().expect("refused").to_string();
    assert!(problems.contains("the next in order") && problems.contains(&format!("x.fw:{}:", at + 1)), "{problems}");
}

#[test]
fn what_a_trace_cannot_hold_is_refused() {
    for (sets, expected) in [
        (&["policy.kind=ofwar"][..], "a policy that moves pages"),
        (&["buffer.read_cache=1MiB"], "a read cache"),
        (&["ftl.translation=waf"], "another translation layer than `waf`"),
    ] {
        match recorded("base = \"tiny\"", sets, READS) {
            Ok(_) => panic!("{sets:?} is refused"),
            Err(problems) => assert!(problems.to_string().contains(expected), "{sets:?}: {problems}"),
        }
    }
}

/// A drive whose decisions executed firmware makes.
const EXECUTED: [&str; 3] = ["controller.firmware.kind=riscv", "ftl.wear_leveling=none", "ftl.partial_write=whole"];

/// A run whose firmware a core executes, and its replay: the same history and the same latencies. The cycles of the
/// record are those of the run.
#[test]
fn an_executed_run_and_its_replay_are_equal() {
    let buffered = ["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"];
    let two = ["controller.firmware.cores=2", "controller.firmware.clock=50MHz"];
    let three = [&buffered[..], &["controller.firmware.cores=3", "controller.firmware.split=task"]].concat();
    let cases: [(&[&str], &[&str], &str); 12] = [
        (&["state.precondition=fill"], &[], READS),
        (&[], &[], READS),
        (&[STEADY], &[], WRITES),
        (&[STEADY], &buffered, MIXED),
        (&[STEADY, "buffer.policy=none"], &[], MIXED),
        (&[STEADY, "buffer.policy=none"], &["controller.firmware.clock=20MHz"], MIXED),
        (&[STEADY, "buffer.policy=none", "ftl.separate_relocations=false"], &[], LONG_WRITES),
        (&[STEADY, "ftl.write_allocation=static"], &[], MIXED),
        (&[STEADY], &buffered, TRIMS),
        (&[STEADY, "buffer.policy=none"], &two, MIXED),
        (&[STEADY], &three, MIXED),
        (&[STEADY], &three, TRIMS),
    ];
    for (sets, more, workload) in cases {
        let plain = [sets, more].concat().into_iter().filter(|set| !set.starts_with("controller.firmware.")).collect::<Vec<_>>();
        let plain = [&plain[..], &EXECUTED[1..]].concat();
        let drive = "base = \"tiny\"";
        let (first, trace) = recorded(drive, &[&EXECUTED, sets, more].concat(), workload).expect("it is recorded");
        let again = replayed(drive, &plain, workload, &trace).unwrap_or_else(|problems| panic!("{plain:?}: {problems}"));
        assert_eq!(again.history, first.history, "{plain:?}, {more:?}: {workload}");
        for key in ["latency", "flash"] {
            assert!(first.summary[key].is_object(), "{key}");
            assert_eq!(again.summary[key], first.summary[key], "{plain:?}: {key}");
        }
        let cycles = |line: &str| line.split(' ').next_back().and_then(|word| word.parse::<u64>().ok());
        let decisions = ["read", "trim", "program", "gather", "erase", "drop", "hand_over"];
        let of_decisions = trace.lines().filter(|line| line.split(' ').nth(1).is_some_and(|kind| decisions.contains(&kind)));
        let recorded: u64 = of_decisions.map(|line| cycles(line).expect("cycles")).sum();
        let executed = first.summary["firmware"]["cycles"].as_u64().expect("cycles");
        // Cycles after the last decision are in no entry.
        assert!(recorded <= executed && recorded + 40_000 > executed, "{plain:?}: {recorded} of {executed} cycles");
        let played = again.summary["translation"]["processor_ns"].as_f64().expect("a time");
        let clock = |set: &str| more.contains(&format!("controller.firmware.clock={set}").as_str());
        let clock = if clock("20MHz") {
            50.0
        } else if clock("50MHz") {
            20.0
        } else {
            2.5
        };
        let entries = trace.lines().count() as f64;
        assert!((played - recorded as f64 * clock).abs() <= entries, "{plain:?}: {played} ns of {recorded} cycles");
    }
}
