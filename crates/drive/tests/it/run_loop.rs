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
    let options =
        RunOptions { power_cut: Some("1us,graceful".to_owned()), power_down: Some("1s".to_owned()), ..RunOptions::default() };
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

/// Counts of fio 3.33 in 2 s (engine `null`, which serves one request at a time) for the same jobs, with the tolerance
/// that fio's own counts have from run to run.
#[test]
fn rates_and_pauses_give_the_counts_of_fio() {
    type Counts = (u64, u64, u64);
    let cases: &[(&str, Counts, u64)] = &[
        ("rw=randrw\nrate_iops=1000,500", (2000, 1000, 0), 1),
        ("rw=randrw\nrate_iops=90,30\nrwmixread=90", (180, 60, 0), 1),
        ("rw=randrw\nrate_iops=100,50\nrwmixread=100", (200, 0, 0), 1),
        ("rw=rw\nrate=4m,1m", (2048, 513, 0), 1),
        ("rw=trimwrite\nrate_iops=300,100,50", (0, 200, 201), 1),
        // Each request counts by its bytes, in blocks of the smallest size; fio has 784 to 834 with other seeds.
        ("rw=randread\nnorandommap\nbssplit=4k/50:16k/50\nrate_iops=1000", (800, 0, 0), 60),
        ("rw=randread\nrate_iops=1000\nthinktime=10ms\nthinktime_blocks=50", (2000, 0, 0), 1),
        ("rw=randread\nrate_iops=2000\nthinktime=10ms\nthinktime_iotime=100ms", (4000, 0, 0), 1),
        ("rw=randwrite\nthinktime=10ms\nfsync=3", (0, 197, 0), 10),
        ("rw=randwrite\nrate_iops=700\nrate_process=poisson", (0, 1400, 0), 120),
    ];
    for (keys, (read, write, trim), tolerance) in cases {
        let summary = ran(&format!("[j]\nbs=4k\nsize=8m\nruntime=2\ntime_based\n{keys}\n")).summary;
        for (op, fio) in [("read", read), ("write", write), ("trim", trim)] {
            let ours = summary["commands"][op].as_u64().expect("a count");
            assert!(ours.abs_diff(*fio) <= *tolerance, "{keys}: {ours} of operation {op}, fio has {fio}");
        }
    }
}

/// fio (libaio) completes what is in flight before a pause, and compares with the count before that: of 8 requests in
/// flight, the first completion begins a pause, and the other seven begin one after each request that follows.
#[test]
fn requests_between_two_pauses_are_those_of_fio() {
    let cases: &[(&str, &[usize])] = &[
        ("thinktime_blocks=1", &[8, 1, 1, 1, 1, 1, 1, 1]),
        ("thinktime_blocks=4", &[11, 1, 10, 1, 10, 1, 10, 1]),
        ("thinktime_blocks=12", &[19, 12, 12, 12, 12]),
        ("thinktime_blocks=12\nthinktime_blocks_type=issue", &[12, 12, 12, 12]),
    ];
    for (keys, fio) in cases {
        // One at a time, so that no two requests complete at one instant.
        let mut rig =
            Rig::new(&["state.precondition=fill", "flash.channels=1", "flash.chips_per_channel=1", "flash.dies_per_chip=1"]);
        let job =
            format!("[j]\nrw=randread\nbs=4k\niodepth=8\nthinktime=50ms\nnumber_ios={}\n{keys}\n", fio.iter().sum::<usize>());
        let workload = workload::open(&Input::text("job.fio", job), rig.drive.user_bytes(), &Options::default());
        let mut run_loop = RunLoop::new(workload.unwrap_or_else(|problems| panic!("{problems}")));
        run_loop.run(&mut rig.drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
        let mut groups: Vec<usize> = Vec::new();
        let (mut submitted, mut completed) = (SimTime::ZERO, SimTime::ZERO);
        for row in rig.rows() {
            if groups.is_empty() || row.submitted.since(submitted) >= Nanos(50_000_000) {
                assert!(row.submitted >= completed, "a pause begins with nothing in flight: {keys}");
                groups.push(0);
            }
            *groups.last_mut().expect("one was pushed") += 1;
            (submitted, completed) = (row.submitted, completed.max(row.completed));
        }
        assert_eq!(groups, *fio, "{keys}");
    }
}

#[test]
fn jobs_of_a_flow_submit_by_their_weights() {
    let job = "[global]\nrw=randread\nbs=4k\nsize=8m\nruntime=1\ntime_based\n[a]\nrate_iops=1000\nflow=1\n[b]\nrate_iops=100000\nflow=8\n\
               [c]\nrate_iops=500\n";
    let summary = ran(job).summary;
    let reads: Vec<u64> = (0..3).map(|job| summary["streams"][job]["commands"]["read"].as_u64().expect("a count")).collect();
    assert!((999..=1001).contains(&reads[0]) && reads[1].abs_diff(8 * reads[0]) <= 9 && reads[2].abs_diff(500) <= 1, "{reads:?}");
}

#[test]
fn the_others_of_a_flow_go_on_after_a_job_has_ended() {
    let job = "[global]\nrw=randread\nbs=4k\nsize=8m\n[a]\nflow=1\nnumber_ios=100\n[b]\nflow=1\nnumber_ios=10\n[c]\nflow=7\nflow_id=1\nnumber_ios=5\n";
    assert_eq!(ran(job).summary["commands"]["read"], 115);
}

#[test]
fn a_job_waits_for_all_clones_of_another() {
    let job = "[global]\nrw=randread\nbs=4k\nsize=8m\n[a]\nnumjobs=2\nnumber_ios=100\nrate_iops=1000\n[b]\nnumber_ios=10\n[c]\nwait_for=a\nnumber_ios=10\n";
    let mut rig = Rig::new(&["state.precondition=fill"]);
    let workload = workload::open(&Input::text("job.fio", job), rig.drive.user_bytes(), &Options::default());
    let mut run_loop = RunLoop::new(workload.unwrap_or_else(|problems| panic!("{problems}")));
    run_loop.run(&mut rig.drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
    let of = |tags: std::ops::Range<u32>| rig.rows().iter().filter(move |row| tags.contains(&row.tag));
    assert_eq!(of(0..4).count(), 220);
    let ended = of(0..2).map(|row| row.completed).max().expect("rows");
    assert_eq!(of(3..4).map(|row| row.submitted).min(), Some(ended));
    assert_eq!(of(2..3).map(|row| row.submitted).min(), Some(SimTime::ZERO), "others do not wait");
}

/// A job of a random workload.
#[derive(Debug)]
struct Shape {
    wave: u32,
    ios: Option<u64>,
    runtime: Option<Nanos>,
    ramp: Nanos,
}

/// Pacings of a job.
const PACINGS: [&str; 10] = [
    "",
    "",
    "thinktime=50\n",
    "thinktime=20000\n",
    "thinktime=50\nthinktime_blocks=4\nthinktime_blocks_type=issue\nrate_iops=2000\n",
    "rate_iops=5000\n",
    "rate_iops=5000,700\n",
    "rate_iops=2000,\nio_submit_mode=offload\n",
    "rate=4m\n",
    "rate_iops=3000\nrate_process=poisson\n",
];

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
        text += PACINGS[rng.below(PACINGS.len() as u64) as usize];
        text += ["", "", "thinktime=200\nthinktime_blocks=5\n", "thinktime=300\nthinktime_iotime=1ms\n"][rng.below(4) as usize];
        if rng.chance(0.3) {
            text += &format!("flow={}\nflow_id={}\nflow_sleep={}\n", 1 + rng.below(9), rng.below(2), 100 * rng.below(2));
        }
        if index > 0 && rng.chance(0.2) {
            text += &format!("wait_for=j{}\n", rng.below(index));
        }
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
