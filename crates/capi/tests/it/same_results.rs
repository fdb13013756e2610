//! The same commands through C and through the run loop: the same summary, and the same physical history.

use crate::door::{Door, FLUSH, FOREVER, HISTORY, OPEN_LOOP, Setup, block};
use drive::options::RunOptions;
use drive::session::{Files, Outcome, RunRequest, run};
use serde_json::Value;
use ssdlab::{CommandRecord, Status};
use std::fmt::Write;
use workload::{Input, Options, Pacing, Request};

/// A job with every operation, and sizes that are not whole units.
const MIXED: &str =
    "[job]\nrw=randrw\nrwmixread=60\nbssplit=4k/70:16k/20:512/10\nnorandommap=1\nio_size=4g\nnumber_ios=3000\nfsync=50\n";

/// Overrides that make a preset small.
const SMALL: [&str; 5] = [
    "flash.blocks_per_plane=128",
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.pages_per_block=96",
    "ftl.overprovisioning=0.3",
];

/// A drive and a load on it.
struct Case {
    preset: &'static str,
    sets: Vec<&'static str>,
    input: Input,
    options: Options,
}

impl Case {
    fn closed(preset: &'static str, sets: &[&'static str], depth: u32) -> Case {
        let job = format!("{MIXED}iodepth={depth}\n");
        Case { preset, sets: sets.to_vec(), input: Input::text("job", job), options: Options::default() }
    }

    /// A load whose commands arrive at instants of their own, several at some of them.
    fn open(preset: &'static str, sets: &[&'static str]) -> Case {
        let (mut text, mut rng, mut at) = (String::new(), kit::Rng::stream(3, "test.open"), 0);
        for index in 0..3000 {
            at += if index % 5 == 0 { 0 } else { rng.below(300_000) };
            let op = if rng.chance(0.6) { "R" } else { "W" };
            writeln!(text, "{at},{op},{},{}", rng.below(20_000) * 512, (1 + rng.below(40)) * 512).expect("a string grows");
        }
        let columns = Some("time=1:ns,op=2,offset=3:B,size=4:B".to_owned());
        let options = Options { columns, ..Options::default() };
        Case { preset, sets: sets.to_vec(), input: Input::text("trace", text), options }
    }

    fn outcome(&self, run_options: RunOptions) -> Outcome {
        let preset = drive::presets::find(self.preset).expect("a preset");
        let request = RunRequest::new(preset.name, preset.text).sets(&self.sets).precondition("steady").seed(5).history();
        let request = request.workload(self.options.clone()).run(run_options);
        run(&request, &self.input, Files::default(), &mut |_| true).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn setup(&self) -> Setup {
        let sets = self.sets.iter().map(|set| (*set).to_owned()).collect();
        Setup { sets, seed: 5, precondition: Some("steady"), flags: HISTORY, ..Setup::preset(self.preset) }
    }

    /// Returns the requests of the load, and the depth of its closed loop.
    fn requests(&self, user_bytes: u64) -> (Vec<Request>, Option<u32>) {
        let options = Options { seed: 5, ..self.options.clone() };
        let workload = workload::open(&self.input, user_bytes, &options).unwrap_or_else(|problems| panic!("{problems}"));
        let mut job = workload.jobs.into_iter().next().expect("one job");
        let mut all = Vec::new();
        while {
            let before = all.len();
            job.source.fill(&mut all, 64).unwrap_or_else(|problems| panic!("{problems}"));
            all.len() > before && all.len() < 1 << 20
        } {}
        all.truncate(job.limits.requests.map_or(usize::MAX, |most| most as usize));
        match job.pacing {
            Pacing::Closed { depth } => (all, Some(depth)),
            _ => (all, None),
        }
    }

    /// Plays the load through C.
    fn play(&self, drive: &Door) {
        let (requests, depth) = self.requests(drive.user_bytes());
        match depth {
            Some(depth) => closed_loop(drive, &requests, depth as usize),
            None => open_loop(drive, &requests),
        }
    }
}

fn record(request: &Request) -> CommandRecord {
    let (offset, length) = (request.offset.0, request.length.0);
    // The run loop's tag is the number of the job.
    CommandRecord { op: request.op as u8, offset, length, stream: request.stream, ..CommandRecord::default() }
}

/// Keeps up to `depth` commands in flight; a completion submits the next command.
fn closed_loop(drive: &Door, requests: &[Request], depth: usize) {
    let mut left = requests.iter();
    for request in left.by_ref().take(depth) {
        drive.submit(&record(request), drive.now());
    }
    while drive.in_flight() > 0 {
        drive.advance(FOREVER);
        // Fewer at a time than can complete at one instant.
        loop {
            let done = drive.completions(3);
            for request in done.iter().filter_map(|_| left.next()) {
                drive.submit(&record(request), drive.now());
            }
            if done.is_empty() {
                break;
            }
        }
    }
}

/// Submits each command ahead of its instant, but not before the previous instant.
fn open_loop(drive: &Door, requests: &[Request]) {
    let (start, mut next) = (requests[0].at.0, 0);
    while next < requests.len() {
        let at = requests[next].at.0 - start;
        while let Some(request) = requests.get(next).filter(|request| request.at.0 - start == at) {
            drive.submit(&record(request), at);
            next += 1;
        }
        while drive.now() < at {
            drive.advance(at);
            drive.completions(64);
        }
    }
    drive.drain();
    while !drive.completions(64).is_empty() {}
}

/// Returns a summary without what differs on purpose.
fn without(summary: &Value, keys: &[&str]) -> Value {
    let mut rest = summary.clone();
    for key in ["wall_s", "drive", "workload"].iter().chain(keys) {
        rest.as_object_mut().expect("an object").shift_remove(*key);
    }
    rest
}

#[track_caller]
fn assert_same(name: &str, drive: &Door, run: &Outcome, but: &[&str]) {
    let digest = run.history.expect("requested");
    let different = testkit::differences(&without(&run.summary, but), &without(&drive.summary(), but));
    assert!(digest.entries > 3000, "{name}: nothing happened");
    assert_eq!(drive.history(), (digest.entries, digest.hash), "{name}: {different:?}");
    assert_eq!(different, [], "{name}");
    // Byte by byte, in the order of the keys.
    assert_eq!(without(&drive.summary(), but).to_string(), without(&run.summary, but).to_string(), "{name}");
}

fn cases() -> Vec<(&'static str, Case)> {
    let detailed: Vec<&str> = SMALL.iter().copied().chain(["buffer.buffers=2"]).collect();
    vec![
        ("tiny, depth 1", Case::closed("tiny", &[], 1)),
        ("tiny, depth 32", Case::closed("tiny", &[], 32)),
        ("tiny, open", Case::open("tiny", &[])),
        ("tlc-1tb, depth 32", Case::closed("tlc-1tb", &SMALL, 32)),
        ("pcie4-tlc-2tb, depth 1", Case::closed("pcie4-tlc-2tb", &detailed, 1)),
        ("pcie4-tlc-2tb, depth 32", Case::closed("pcie4-tlc-2tb", &detailed, 32)),
        ("pcie4-tlc-2tb, open", Case::open("pcie4-tlc-2tb", &detailed)),
    ]
}

#[test]
fn the_same_commands_give_the_same_results_as_in_the_run_loop() {
    for (name, case) in cases() {
        let is_open = name.ends_with("open");
        let setup = case.setup();
        let setup = Setup { flags: setup.flags | if is_open { OPEN_LOOP } else { 0 }, ..setup };
        let drive = setup.create().unwrap_or_else(|(_, text)| panic!("{name}: {text}"));
        case.play(&drive);
        let run = case.outcome(RunOptions::default());
        assert_same(name, &drive, &run, &[]);
        assert_eq!(run.summary["status"], "complete", "{name}");
    }
}

/// A saved drive goes on as one that rests at the same point, in the drive that was saved and in the one that was
/// loaded, and both as in the run loop.
#[test]
fn saving_and_loading_in_the_middle_changes_nothing() {
    for (name, case) in cases().into_iter().filter(|(name, _)| !name.ends_with("open")) {
        let setup = case.setup();
        let drive = setup.create().unwrap_or_else(|(_, text)| panic!("{name}: {text}"));
        let (requests, depth) = case.requests(drive.user_bytes());
        let (before, behind) = requests.split_at(1500);
        let depth = depth.expect("a closed loop") as usize;
        closed_loop(&drive, before, depth);
        let file = drive.save().unwrap_or_else(|status| panic!("{name}: {status:?}: {}", drive.error()));
        assert_eq!(drive.run(ssdlab::abi::ssdlab_restart_measurement), Status::Ok);
        closed_loop(&drive, behind, depth);

        let loaded = Setup { precondition: None, ..setup }.load(&file).unwrap_or_else(|(_, text)| panic!("{name}: {text}"));
        assert_eq!(loaded.notes(), "", "{name}");
        assert_eq!(loaded.summary()["starting_state"]["exact"], true, "{name}");
        closed_loop(&loaded, behind, depth);

        let run = case.outcome(RunOptions { rest_after: Some(1500), ..RunOptions::default() });
        assert_same(name, &drive, &run, &[]);
        assert_same(name, &loaded, &run, &["starting_state", "policy_stats", "reliability"]);
    }
}

/// An outside clock that ticks gives the same results as one that goes from completion to completion.
#[test]
fn the_steps_of_the_clock_do_not_matter() {
    let results = [FOREVER, 1, 977, 50_000].map(|tick| {
        let drive = Setup { flags: HISTORY, precondition: Some("steady"), ..Setup::preset("tiny") }.create().expect("a preset");
        for number in 0..200u32 {
            let op = if number == 150 { FLUSH } else { (number % 2) as u8 };
            let length = if op == FLUSH { 0 } else { 4096 };
            let offset = if op == FLUSH { 0 } else { u64::from(number) * 911 % 20_000 * 4096 };
            drive.submit(
                &CommandRecord { op, length, offset, tag: number, ..CommandRecord::default() },
                u64::from(number) * 5_000,
            );
        }
        let mut order = Vec::new();
        while drive.in_flight() > 0 {
            let until = match tick {
                FOREVER => FOREVER,
                // Of a tick of 1 ns only those at which something happens.
                1 => drive.next_event(),
                tick => drive.now() / tick * tick + tick,
            };
            drive.advance(until);
            order.extend(drive.completions(64).iter().map(|done| (done.tag, done.submitted, done.completed)));
        }
        (order, drive.history())
    });
    assert_eq!(results[0].0.len(), 200);
    for other in &results[1..] {
        assert_eq!(results[0], *other);
    }
}

/// Hints of commands, also of such that are not valid or never come, change nothing.
#[test]
fn hints_do_not_matter() {
    for preset in ["tiny", "pcie4-dramless-1tb"] {
        let sets = if preset == "tiny" { vec![] } else { SMALL.iter().map(|set| (*set).to_owned()).collect() };
        let setup = Setup { sets, flags: HISTORY, precondition: Some("steady"), ..Setup::preset(preset) };
        let [hinted, plain] = [true, false].map(|hints| {
            let drive = setup.create().unwrap_or_else(|(_, text)| panic!("{text}"));
            let commands: Vec<_> = (0..64).map(|number| block((number % 2) as u8, number, u64::from(number) * 97)).collect();
            if hints {
                let mut all = commands.clone();
                all.push(CommandRecord { offset: u64::MAX - 511, ..commands[0] });
                all.push(CommandRecord { op: 9, ..commands[0] });
                all.push(CommandRecord { op: FLUSH, offset: 0, length: 0, ..commands[0] });
                assert_eq!(drive.hint(&all), Status::Ok, "{}", drive.error());
                assert_eq!(drive.hint(&[]), Status::Ok);
            }
            commands.iter().for_each(|command| drive.submit(command, 0));
            drive.drain();
            drive.history()
        });
        assert_eq!(hinted, plain, "{preset}");
        assert!(plain.0 > 64);
    }
}

/// Returns the history of a load on a drive with a seed.
fn history_of(seed: u64) -> (u64, u64) {
    let case = Case::closed("tiny", &[], 8);
    let drive = Setup { seed, ..case.setup() }.create().expect("a preset");
    case.play(&drive);
    drive.history()
}

#[test]
fn drives_in_several_threads_share_nothing() {
    let alone = [history_of(1), history_of(2)];
    assert_ne!(alone[0], alone[1], "the seed matters");
    let threads: Vec<_> = [1, 2, 1, 2].map(|seed| std::thread::spawn(move || history_of(seed))).into_iter().collect();
    let together: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert_eq!(together, [alone[0], alone[1], alone[0], alone[1]]);
}
