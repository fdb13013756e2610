//! The run loop: waves, ramps, limits, pacing and power failures, singly and together.

use crate::common::{Rig, session};
use drive::description::PreconditionMethod;
use drive::options::RunOptions;
use drive::session::{Files, Outcome, RunRequest};
use drive::{CommandRow, Description, Drive, End, RunLoop};
use kit::{Nanos, Rng, SimTime};
use testkit::case::{self, Detail};
use workload::{Input, Options};

const TINY: &str = "base = \"tiny\"\n";

fn ran(job: &str) -> Outcome {
    session(TINY, &[], None, job).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_wave_begins_when_the_runtime_of_the_one_before_is_over() {
    let fio = "[a]\nrw=write\nbs=4k\nruntime=10ms\ntime_based\n[b]\nstonewall\nrw=write\nbs=4k\nnumber_ios=10\n";
    let model = "kind = \"synthetic\"\n[[job]]\nname = \"a\"\npattern = { kind = \"random\" }\nread_share = 0.0\nruntime = \"10ms\"\n\
                 [[job]]\nname = \"b\"\npattern = { kind = \"random\" }\nread_share = 0.0\nrequests = 10\nafter_previous = true\n";
    for text in [fio, model] {
        let summary = ran(text).summary;
        assert_eq!(summary["status"], "complete");
        assert_eq!(summary["streams"][1]["commands"]["write"], 10, "{text}");
    }
}

#[test]
fn a_job_without_a_ramp_is_measured_beside_one_that_ends_in_its_ramp() {
    let job = "[a]\nrw=randread\nbs=4k\nnumber_ios=1\nramp_time=10ms\n[b]\nrw=randwrite\nbs=4k\nnumber_ios=2000\n";
    let summary = ran(job).summary;
    assert_eq!((&summary["commands"]["read"], &summary["commands"]["write"]), (&0.into(), &2000.into()));
}

#[test]
fn a_run_of_ramps_alone_says_that_nothing_was_measured() {
    let outcome = ran("[a]\nrw=randwrite\nbs=4k\nnumber_ios=5\nramp_time=1h\n");
    assert_eq!(outcome.summary["commands"]["write"], 0);
    let note = "nothing was measured: the run ended before the ramp";
    assert!(outcome.notes.iter().any(|told| told.starts_with(note)), "{:?}", outcome.notes);
}

#[test]
fn power_fails_while_the_host_thinks() {
    let options = RunOptions { power_cut: Some("1us".to_owned()), power_down: Some("1s".to_owned()), ..RunOptions::default() };
    let request = RunRequest::new("tiny", TINY).run(options);
    let job = Input::text("job", "[a]\nrw=randread\nbs=4k\niodepth=1\nthinktime=50\nnumber_ios=100\n");
    let outcome = drive::session::run(&request, &job, Files::default(), &mut |_| true);
    let summary = outcome.unwrap_or_else(|problems| panic!("{problems}")).summary;
    assert_eq!((&summary["status"], &summary["commands"]["read"]), (&"complete".into(), &100.into()));
}

/// A request that is rejected takes no place of a closed loop.
#[test]
fn a_closed_loop_goes_on_after_requests_that_are_rejected() {
    let mut rig = Rig::new(&[]);
    let job = "[a]\nrw=randwrite\nbs=4k\nnumber_ios=1000\nnorandommap\n";
    let workload = workload::open(&Input::text("job.fio", job), 2 * rig.drive.user_bytes(), &Options::default());
    let mut run_loop = RunLoop::new(workload.unwrap_or_else(|problems| panic!("{problems}")));
    let end = run_loop.run(&mut rig.drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((end, run_loop.rejected + rig.rows().len() as u64), (End::Complete, 1000));
    assert!((400..600).contains(&run_loop.rejected), "{}", run_loop.rejected);
}

/// A job of a random workload.
#[derive(Debug)]
struct Shape {
    wave: u32,
    ios: Option<u64>,
    runtime: Option<Nanos>,
    ramp: Nanos,
}

/// Draws a fio job file and what is known of its jobs.
fn draw(rng: &mut Rng) -> (String, Vec<Shape>) {
    let mut text = String::new();
    let mut shapes: Vec<Shape> = Vec::new();
    for index in 0..1 + rng.below(4) {
        let stonewall = index > 0 && rng.chance(0.5);
        let wave = shapes.last().map_or(0, |shape| shape.wave) + u32::from(stonewall);
        let is_timed = rng.chance(0.4);
        let ramp = if rng.chance(0.4) { Nanos(1000 * (1 + rng.below(3000))) } else { Nanos::ZERO };
        let runtime = is_timed.then(|| Nanos(1000 * (1 + rng.below(5000))));
        let most = if rng.chance(0.3) { 2 } else { 300 };
        let ios = (!is_timed || rng.chance(0.3)).then(|| 1 + rng.below(most));
        let rw = ["write", "randwrite", "read", "randread", "randrw"][rng.below(5) as usize];
        text += &format!("[j{index}]\nrw={rw}\nbs=4k\nnorandommap\niodepth={}\n", [1, 1, 2, 16][rng.below(4) as usize]);
        text += if stonewall { "stonewall\n" } else { "" };
        if ramp > Nanos::ZERO {
            text += &format!("ramp_time={}us\n", ramp.0 / 1000);
        }
        if let Some(runtime) = runtime {
            text += &format!("runtime={}us\ntime_based\n", runtime.0 / 1000);
        }
        if let Some(ios) = ios {
            text += &format!("number_ios={ios}\n");
        }
        if rng.chance(0.3) {
            text += &format!("startdelay={}us\n", rng.below(4000));
        }
        text += match rng.below(6) {
            0 => "thinktime=50\n",
            1 => "thinktime=20000\n",
            2 => "rate_iops=5000\n",
            3 => "rate=4m\n",
            4 => "rate_iops=3000\nrate_process=poisson\n",
            _ => "",
        };
        shapes.push(Shape { wave, ios, runtime, ramp });
    }
    (text, shapes)
}

/// Replays a workload with power failures at random instants of the first 8 ms. Returns the loop and the measured
/// commands.
fn replay(description: &Description, text: &str, rng: &mut Rng) -> (RunLoop, Vec<CommandRow>, bool) {
    let mut drive = Rig::of(description).drive;
    let workload = workload::open(&Input::text("job.fio", text), drive.user_bytes(), &Options::default());
    let mut run_loop = RunLoop::new(workload.unwrap_or_else(|problems| panic!("{text}{problems}")));
    let fails = rng.chance(0.5);
    if fails {
        run_loop.power_fails = SimTime(1 + rng.below(8_000_000));
    }
    // A bound instead of an endless run.
    let mut calls = 0;
    let mut go_on = |_: &mut Drive, _: drive::Reached| {
        calls += 1;
        calls < 20_000
    };
    let mut end = run_loop.run(&mut drive, &mut go_on).unwrap_or_else(|problems| panic!("{text}{problems}"));
    if end == End::PowerFails {
        drive.fail_power(Nanos(rng.below(1 << 32)));
        end = run_loop.resume(&mut drive, &mut go_on).unwrap_or_else(|problems| panic!("{text}{problems}"));
    }
    assert_eq!((end, drive.commands_in_flight()), (End::Complete, 0), "{text}");
    (run_loop, drive.statistics.log.take().unwrap_or_default(), fails)
}

fn check(text: &str, shapes: &[Shape], run_loop: &RunLoop, rows: &[CommandRow], power_fails: bool) {
    let submitted: u64 = run_loop.submitted().iter().sum();
    assert_eq!(submitted, rows.len() as u64 + run_loop.left_out + run_loop.rejected, "{text}");
    for (index, (shape, submitted)) in shapes.iter().zip(run_loop.submitted()).enumerate() {
        let own: Vec<&CommandRow> = rows.iter().filter(|row| row.tag == index as u32).collect();
        if let (Some(ios), None) = (shape.ios, shape.runtime) {
            assert_eq!(submitted, ios, "job {index} has submitted all: {text}");
        }
        if shape.ramp == Nanos::ZERO {
            assert_eq!(own.len() as u64, submitted, "all of job {index} is measured: {text}");
        }
        let begin = own.iter().map(|row| row.submitted).min();
        let end = own.iter().map(|row| row.submitted).max();
        if let (Some(runtime), Some(begin), Some(end), false) = (shape.runtime, begin, end, power_fails) {
            assert!(end.since(begin) <= runtime + shape.ramp, "job {index} stops after its runtime: {text}");
        }
        let earlier = |row: &&CommandRow| shapes[row.tag as usize].wave < shape.wave;
        let last = rows.iter().filter(earlier).map(|row| row.completed).max();
        assert!(begin.is_none() || last <= begin, "job {index} waits for the waves before: {text}");
    }
}

/// Every command is measured, or counted as left out or rejected; each job submits all it has, none before its wave and
/// none after its runtime; and the run ends, whatever comes together.
#[test]
fn waves_ramps_limits_pacing_and_power_failures_together() {
    // Reads of data take time, so that a runtime passes.
    let fill = ["state.precondition=fill".to_owned()];
    let tiny = Description::read("tiny", TINY, &fill).unwrap_or_else(|problems| panic!("{problems}"));
    let mut counts = [0u64; 3];
    for seed in 0..600 {
        let mut rng = Rng::stream(seed, "run_loop");
        let mut detailed = (seed % 3 == 0).then(|| case::detailed(seed, Detail::Controller)).flatten();
        detailed.iter_mut().for_each(|description| description.state.precondition = PreconditionMethod::Fill);
        let description = detailed.as_ref().unwrap_or(&tiny);
        if description.user_bytes() < 2 << 20 {
            continue;
        }
        let (text, shapes) = draw(&mut rng);
        let (run_loop, rows, fails) = replay(description, &text, &mut rng);
        check(&format!("seed {seed}\n{text}"), &shapes, &run_loop, &rows, fails);
        counts = [counts[0] + rows.len() as u64, counts[1] + run_loop.left_out, counts[2] + u64::from(detailed.is_some())];
    }
    assert!(counts[0] > 40_000 && counts[1] > 4_000 && counts[2] > 40, "{counts:?}");
}
