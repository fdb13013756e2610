//! The progress of a run: the share of its workload that it has done, and samples of its drive.

use drive::session::{Files, Outcome, Progress, RunRequest, run};
use drive::{Description, Drive, RunLoop};
use serde_json::Value;
use workload::{Input, Options};

/// Returns the shares told in the course of a job on `tiny`.
fn shares(job: &str) -> Vec<Option<f64>> {
    let description = Description::read("d.toml", "base = \"tiny\"\n", &[]).expect("a preset");
    let mut drive = Drive::new(&description, 1).expect("a small drive");
    let workload = workload::open(&Input::text("job", job), description.user_bytes(), &Options::default());
    let workload = workload.unwrap_or_else(|problems| panic!("{problems}"));
    let mut told = Vec::new();
    let mut go_on = |_: &mut Drive, reached: drive::Reached| {
        told.push(reached.share);
        reached.commands < 5000
    };
    RunLoop::new(workload).run(&mut drive, &mut go_on).unwrap_or_else(|problems| panic!("{problems}"));
    told
}

#[test]
fn the_share_is_known_where_commands_bytes_or_time_are_limited() {
    let limits = [
        "number_ios=4000",
        "io_size=16m",
        "runtime=1s\ntime_based=1",
        "number_ios=2000\n[second]\nstonewall\nrw=write\nnumber_ios=2000",
    ];
    for limit in limits {
        let job = format!("[job]\nrw=randwrite\nbs=4k\niodepth=4\nnorandommap=1\n{limit}\n");
        let found: Vec<f64> = shares(&job).into_iter().map(|share| share.unwrap_or_else(|| panic!("{limit}"))).collect();
        assert!(found.len() > 4 && found.windows(2).all(|pair| pair[0] <= pair[1]), "{limit}: {found:?}");
        let middle = found[found.len() / 2];
        assert!((0.2..0.8).contains(&middle) || limit.starts_with("runtime"), "{limit}: {middle}");
        assert!(found[found.len() - 1] > 0.5, "{limit}: {found:?}");
    }
}

/// Runs a job on `tiny`, and returns the results and the last sample, with the map of the wear.
fn sampled(sets: &[&str], takes: bool) -> (Outcome, Option<Value>) {
    let request = sets.iter().fold(RunRequest::new("d.toml", "base = \"tiny\"\n"), |request, set| request.set(set));
    let job = "[job]\nrw=randrw\nrwmixread=40\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=20000\n";
    let (mut last, mut ends) = (None, 0);
    let mut go_on = |progress: &Progress<'_>| {
        ends += u32::from(progress.stage == "end");
        if let Some(drive) = progress.drive.filter(|_| takes) {
            last = Some(drive.sample(true));
        }
        // Nothing is left to be stopped at the end.
        progress.stage != "end"
    };
    let outcome = run(&request, &Input::text("job.fio", job), Files::default(), &mut go_on);
    let outcome = outcome.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(ends, 1);
    (outcome, last)
}

#[test]
fn a_sample_at_the_end_has_the_figures_of_the_summary_and_changes_none() {
    for sets in [&["state.precondition=steady"][..], &["ftl.translation=waf"], &["ftl.user_capacity=1MiB"]] {
        let (outcome, sample) = sampled(sets, true);
        let sample = sample.unwrap_or_else(|| panic!("{sets:?}: no sample"));
        let mut summary = outcome.summary;
        for key in ["simulated_ns", "commands", "host_units_written", "utilisation"] {
            assert_eq!(sample[key], summary[key], "{sets:?}: {key}");
        }
        assert_eq!(sample["programs"], summary["flash"]["programs"]);
        let erases = summary["flash"]["erases"].as_object().into_iter().flat_map(|all| all.values()).filter_map(Value::as_u64);
        assert_eq!(sample["erases"], erases.sum::<u64>());
        for op in ["read", "write"] {
            for name in ["p50_ns", "p99_ns", "p99_9_ns"] {
                assert_eq!(sample["latency"][op][name], summary["latency"][op][name], "{sets:?}: {op} {name}");
            }
            let ranges = sample["latency"][op]["ranges"].as_array().into_iter().flatten();
            let count: u64 = ranges.filter_map(|range| range[1].as_u64()).sum();
            assert_eq!(count, summary["latency"][op]["count"], "{sets:?}: {op}");
            let causes = sample["causes"][op].as_object().into_iter().flat_map(|all| all.values()).filter_map(Value::as_u64);
            let mean = causes.sum::<u64>() as f64 / count.max(1) as f64;
            assert!((mean - summary["latency"][op]["mean_ns"].as_f64().unwrap_or(0.0)).abs() < 1.0, "{sets:?}: {op}");
        }
        let wear = &sample["wear"];
        assert_eq!(wear["mean"], summary["wear"]["mean"], "{sets:?}");
        assert_eq!(wear.is_null(), sets[0].contains("waf"), "{sets:?}");
        let mut unwatched = sampled(sets, false).0.summary;
        (summary["wall_s"], unwatched["wall_s"]) = (Value::Null, Value::Null);
        assert_eq!(summary, unwatched, "{sets:?}");
    }
}

#[test]
fn a_map_of_the_wear_has_a_bounded_size_and_counts_each_block_once() {
    let sets = ["flash.channels=20", "flash.chips_per_channel=4", "flash.blocks_per_plane=130", "state.pe_cycles=500"];
    let (outcome, sample) = sampled(&sets, true);
    let wear = sample.unwrap_or_else(|| panic!("no sample"))["wear"].clone();
    let number = |key: &str| wear[key].as_u64().unwrap_or_else(|| panic!("{key}: {wear}"));
    let (dies, blocks) = (number("dies"), number("blocks_per_die"));
    assert_eq!((dies, number("dies_per_row")), (80, 2));
    let rows: Vec<Vec<f64>> = serde_json::from_value(wear["rows"].clone()).unwrap_or_else(|error| panic!("{error}"));
    let columns = blocks.div_ceil(number("blocks_per_column"));
    assert!(columns <= 64 && rows.len() == 40 && rows.iter().all(|row| row.len() as u64 == columns));
    // Cells have their numbers of blocks, the last of a row fewer.
    let width = |column: usize| number("blocks_per_column").min(blocks - column as u64 * number("blocks_per_column")) * 2;
    let erases: f64 = rows.iter().flat_map(|row| row.iter().enumerate().map(|(at, mean)| mean * width(at) as f64)).sum();
    let mean = outcome.summary["wear"]["mean"].as_f64().unwrap_or_else(|| panic!("no wear"));
    assert!(mean >= 500.0, "{mean}");
    assert!((erases / (dies * blocks) as f64 - mean).abs() < 0.005, "{erases} erases, mean {mean}");
}
