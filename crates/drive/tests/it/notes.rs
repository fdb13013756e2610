//! Notes of a run for its user, and runs that are refused although every field is in range.

use crate::common::session;
use drive::options::RunOptions;
use drive::session::{Files, RunRequest, run};
use workload::Input;

fn notes(drive: &str, sets: &[&str], job: &str) -> Vec<String> {
    session(drive, sets, None, &format!("[j]\n{job}\n")).unwrap_or_else(|problems| panic!("{problems}")).notes
}

const TINY: &str = "base = \"tiny\"";
const STEADY: &str = "state.precondition=steady";

#[test]
fn a_clock_that_does_not_advance_ends_the_run_with_an_error() {
    for job in ["rw=randread\nruntime=1s\ntime_based=1", "rw=randtrim\nruntime=1s\ntime_based=1"] {
        let problems = session(TINY, &[], None, &format!("[j]\nbs=4k\n{job}\n")).map(drop).expect_err("it would run for ever");
        let message = problems.to_string();
        assert!(message.contains("take no time") && message.contains("--precondition fill"), "{message}");
    }
    // With a number of commands instead of a runtime the job ends; with data to read, time advances.
    notes(TINY, &[], "rw=randread\nbs=4k\nnumber_ios=5000000\nnorandommap=1");
    notes(TINY, &["state.precondition=fill"], "rw=randread\nbs=4k\nruntime=10ms\ntime_based=1");
}

#[test]
fn a_job_whose_steady_state_is_another_is_told_so() {
    let told = |job: &str| notes(TINY, &[STEADY], job).iter().any(|note| note.contains("once per pass"));
    assert!(told("rw=randwrite\nbs=4k\nnumber_ios=100"));
    assert!(told("rw=randrw\nbs=4k\nnumber_ios=100"));
    assert!(!told("rw=randwrite\nbs=4k\nnumber_ios=100\nnorandommap=1"));
    assert!(!told("rw=randread\nbs=4k\nnumber_ios=100"), "reads change nothing");
    assert!(!notes(TINY, &[], "rw=randwrite\nbs=4k\nnumber_ios=100").iter().any(|note| note.contains("once per pass")));
}

#[test]
fn a_policy_for_reads_on_a_drive_that_reads_all_alike_is_told_so() {
    let told = |sets: &[&str]| {
        notes(TINY, sets, "rw=randwrite\nbs=4k\nnumber_ios=10").iter().any(|note| note.contains("use the same read mode"))
    };
    let fine = "flash.write_mode=[{ name = 'normal' }, { name = 'fast' }, { name = 'fine' }]";
    assert!(told(&[fine, "policy.kind=agcr"]));
    assert!(!told(&[fine]));
    let modes = "flash.write_mode=[{ name = 'normal' }, { name = 'fast', read_mode = 'slow' }, { name = 'fine' }]";
    let reads = "flash.read_mode=[{ name = 'hard' }, { name = 'slow', transfers = 3 }]";
    assert!(!told(&[modes, reads, "policy.kind=agcr"]));
}

#[test]
fn wear_without_an_effect_is_told() {
    let told = |base: &str, sets: &[&str]| {
        let notes = notes(&format!("base = \"{base}\""), sets, "rw=randwrite\nbs=4k\nnumber_ios=10");
        notes.iter().any(|note| note.contains("changes no latency"))
    };
    let worn = "state.pe_cycles=900";
    assert!(told("tiny", &[worn]));
    assert!(!told("tiny", &[]), "fresh");
    assert!(!told("tiny", &[worn, "ftl.retire_at_cycles=2000"]));
    assert!(!told("tiny", &[worn, "ecc.errors={ kind = 'constant', rates = [1e-4] }", "ecc.plan=read_retry"]));
    let by_wear = "flash.write_mode=[{ name = 'normal', retention = ['10y', '1y'] }, { name = 'fast' }]";
    assert!(!told("tiny", &["state.pe_cycles=9000", by_wear]), "the limit of retention depends on wear");
    assert!(!told("qlc-2tb", &[worn]), "reads of a worn drive are repeated");
}

#[test]
fn a_policy_with_nothing_to_choose_is_told_so() {
    let job = "rw=randwrite\nbs=4k\nnumber_ios=100\niodepth=16\n";
    let told = |policy: &str| {
        let done = session(TINY, &[], Some(policy), &format!("[j]\n{job}")).unwrap_or_else(|problems| panic!("{problems}"));
        done.notes.iter().any(|note| note.contains("as `baseline` does"))
    };
    assert_eq!(["autoftl", "ofwar", "wear_adaptive"].map(told), [true; 3], "one depth of erase, a short queue, one limit");
    assert_eq!(["baseline", "separate", "all_fast", "rr_speed"].map(told), [false; 4]);
}

#[test]
fn a_drive_that_makes_space_in_idle_time_first_is_told_so() {
    let job = "rw=randwrite\nbs=4k\nnumber_ios=100\nnorandommap=1";
    let told = |sets: &[&str]| notes(TINY, sets, job).iter().any(|note| note.contains("a load with idle times first makes"));
    let idle = "ftl.gc_idle_after=1ms";
    assert!(told(&[STEADY, idle, "ftl.gc_idle_target_blocks=8"]));
    let light = [STEADY, idle, "ftl.gc_idle_target_blocks=8", "state.load=paused"];
    assert!(!told(&light), "it begins with that space");
    assert!(notes(TINY, &light, job).iter().any(|note| note.contains("a sustained load first uses up about 20 free blocks")));
    assert!(!told(&[STEADY, idle, "ftl.gc_idle_target_blocks=1"]));
    assert!(!told(&[STEADY, "ftl.gc_idle_target_blocks=8"]), "never idle for long enough");
    assert!(!told(&[idle, "ftl.gc_idle_target_blocks=8"]), "not steady");
}

#[test]
fn a_rested_drive_is_said_to_be_rested() {
    let job = "rw=randwrite\nbs=4k\nnumber_ios=100\nnorandommap=1";
    let told = |sets: &[&str]| notes(TINY, sets, job).iter().any(|note| note.contains("rested drive"));
    assert!(!told(&[STEADY]));
    assert!(told(&[STEADY, "ftl.gc_spare_fraction=0.5"]));
    assert!(!told(&[STEADY, "ftl.gc_spare_fraction=0.5", "state.load=sustained"]));
}

#[test]
fn a_steady_state_that_is_not_reached_is_told() {
    let request = |round: &str, job: &str| {
        let options = RunOptions { steady_state: true, steady_round: Some(round.to_owned()), ..RunOptions::default() };
        let request = RunRequest::new("d", TINY).set(STEADY).run(options);
        run(&request, &Input::text("job", job), Files::default(), &mut |_| true).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let job = |runtime: &str| format!("[j]\nrw=randwrite\nbs=4k\nnorandommap=1\niodepth=16\ntime_based=1\nruntime={runtime}\n");
    let short = request("1s", &job("3s"));
    assert!(short.notes.iter().any(|note| note.contains("steady state was not reached in")), "{:?}", short.notes);
    let long = request("1s", &job("60s"));
    assert!(!long.notes.iter().any(|note| note.contains("not reached")), "{:?}", long.notes);
    // Rounds have a fixed length in time, however few commands fall into one. Reads take equally long, so that five
    // rounds are enough; the run ends with a batch of them.
    let slow = request("20ms", "[j]\nrw=randread\nbs=4k\nnorandommap=1\ntime_based=1\nruntime=2s\n").summary;
    let measured_ns = slow["simulated_ns"].as_u64().expect("a number");
    assert!(
        slow["steady"]["reached"] == true && measured_ns.abs_diff(5 * 20_000_000) < 10_000_000,
        "five rounds: {measured_ns} ns"
    );
}

#[test]
fn a_loaded_drive_has_a_state_already() {
    let request = RunRequest::new("d", TINY).precondition("steady");
    let files = Files { load: Some(("aged.ssd".to_owned(), Box::new(&b""[..]))), ..Files::default() };
    let input = Input::text("job", "[j]\nrw=read\n");
    let problems = run(&request, &input, files, &mut |_| true).map(drop).expect_err("two states");
    assert!(problems.to_string().contains("expected only one of --load, --precondition"), "{problems}");
}

#[test]
fn a_clock_has_an_end() {
    let run = |times: &str| session(TINY, &[], None, &format!("[a]\nrw=randwrite\nbs=4k\n{times}\n"));
    // A hundred years between writes: the third is at 200 years, the fourth would be at 300.
    for pace in ["startdelay=1s\nthinktime=36500d", "thinktime=36500d"] {
        assert!(run(&format!("{pace}\nnumber_ios=3")).is_ok());
        let told = run(&format!("{pace}\nnumber_ios=4")).map(drop).expect_err("it is too late").to_string();
        assert!(told.starts_with("workload: it goes on more than 280 years"), "{told}");
    }
    assert!(run("thinktime=36500d\nnumber_ios=4\nruntime=1d").is_ok(), "what comes later than the runtime is not asked for");
}

#[test]
fn a_short_run_from_the_steady_state_is_told_what_it_depends_on() {
    let told = |sets: &[&str], job: &str| {
        let job = format!("bs=4k\nnorandommap=1\nio_size=1g\n{job}");
        notes(TINY, sets, &job).iter().any(|note| note.contains("blocks for each die"))
    };
    assert!(told(&[STEADY], "rw=randwrite\nnumber_ios=200"));
    assert!(!told(&[STEADY], "rw=randwrite\nnumber_ios=400"), "more than a block for each die");
    assert!(!told(&[STEADY], "rw=randwrite\nnumber_ios=10200\nramp_time=12800ms"), "the ramp writes as well");
    assert!(!told(&[STEADY], "rw=randread\nnumber_ios=200"), "reads change nothing");
    assert!(!told(&["state.precondition=fill"], "rw=randwrite\nnumber_ios=200"));
}

#[test]
fn small_writes_are_not_padded_on_drives_with_large_programs() {
    let light = "[light]\nrw=randwrite\nbs=4k\nnumber_ios=100\nrate_iops=200\n";
    for preset in ["tlc-1tb", "qlc-2tb", "pcie4-tlc-2tb"] {
        let programs = |sets: &[&str]| {
            let outcome =
                session(&format!("base = \"{preset}\""), sets, None, light).unwrap_or_else(|problems| panic!("{problems}"));
            outcome.summary["flash"]["programs"].clone()
        };
        assert_eq!(programs(&[]).get("padding"), None, "{preset}");
        assert!(programs(&["buffer.partial_flush=pad"]).get("padding").is_some(), "{preset}");
    }
}

/// A light load of small writes on programs of four units: each is padded, unless units may wait for further ones.
#[test]
fn a_run_that_programs_mostly_padding_is_told_why() {
    let buffer = ["flash.page_size=16KiB", "buffer.policy=write_back", "buffer.capacity=64KiB", "buffer.flush_after=100us"];
    let padding = |more: &[&str], job: &str| {
        let found = notes(TINY, &[&buffer[..], more].concat(), job);
        found.into_iter().find(|note| note.starts_with("padding is "))
    };
    let light = "rw=randwrite\nbs=4k\nnumber_ios=200\nthinktime=2000";
    let reason = "flush_after = 100 us programs partly filled pages, of 16 KiB at a time (buffer.partial_flush = \"wait\" holds them back)";
    let note = padding(&[], light).expect("three of four units are padding");
    assert_eq!(note, format!("padding is 75 % of what is programmed: {reason}"));
    assert_eq!(padding(&["buffer.partial_flush=wait"], light), None);
    assert_eq!(padding(&["flash.page_size=4KiB"], light), None, "every unit fills a program");
    let alone = padding(&["buffer.policy=none", "buffer.flush_after="], light).expect("no unit is held back");
    assert!(
        alone.ends_with("buffer.policy is not \"write_back\", and a program of 16 KiB does not wait for further writes"),
        "{alone}"
    );
    let durable =
        padding(&["buffer.partial_flush=wait"], &format!("{light}\nwritefua=1")).expect("each write is programmed alone");
    assert!(durable.contains("writes with FUA program partly filled pages"), "{durable}");
}
