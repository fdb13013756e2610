//! Page buffers of the channel controllers: single commands, throughput by closed forms, and drives with too few of
//! them that go on all the same.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, session_with_history, summary, transfer, with};
use kit::{Cause, Op};
use serde_json::Value;

/// Each access to the memory takes 50 us, however many there are.
const SLOW_MEMORY: &str = "controller.dram={ kind = \"bandwidth\", rate = \"400000MB/s\", latency = \"50us\" }";
/// Time of an access to 4 KiB, and to the map.
const ACCESS: u64 = 50_000 + 11;
const MAP: u64 = 50_000 + 1;

fn buffers(count: u32) -> String {
    format!("controller.page_buffers={{ count = {count} }}")
}

/// A single command waits for no buffer.
#[test]
fn a_single_command_takes_the_time_that_it_takes_without() {
    let one = buffers(1);
    let mut rig = Rig::new(&with(ONE_DIE, &[&one]));
    assert_parts("write", &rig.one(Op::Write, 0, 1), &PROGRAM);
    assert_parts("read", &rig.one(Op::Read, 0, 1), &READ);
    let [mut without, mut with] = [Rig::new(&with(ONE_DIE, &[SLOW_MEMORY])), Rig::new(&with(ONE_DIE, &[SLOW_MEMORY, &one]))];
    let partial = |rig: &mut Rig| [rig.one(Op::Write, 0, 1), rig.one_bytes(Op::Write, 512, 1024), rig.one(Op::Read, 0, 1)];
    let (expected, found) = (partial(&mut without), partial(&mut with));
    assert_eq!(expected.map(|row| (row.causes, row.completed)), found.map(|row| (row.causes, row.completed)));
    assert_eq!(found[2].causes.get(Cause::Dram).0, MAP + 2 * ACCESS);
}

/// More buffers than can ever be in use change nothing, with all that drives can have: errors, retries that hold
/// nothing, their die or the channel, suspension, soft levels, decoders of the drive, encoders, collection.
#[test]
fn enough_page_buffers_change_nothing() {
    const MIXED: &str = "[job]\nrw=randrw\nrwmixread=60\nbssplit=4k/60:16k/25:512/15\niodepth=8\nnorandommap=1\nio_size=1g\n\
                         number_ios=4000\n";
    let suspension = "flash.suspension={ program = true, erase = true, suspend_time = \"20us\", resume_time = \"30us\", \
                      least_remaining = \"100us\", most = 2 }";
    let errors = "ecc.errors={ kind = \"constant\", rates = [3e-3], read_noise = 0.1 }";
    let code = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }";
    let (retry, soft) = ("ecc.plan={ kind = \"read_retry\", steps = 3, step_time = \"1us\" }", "ecc.plan={ kind = \"soft\" }");
    let ldpc = "flash.code={ kind = \"ldpc\" }";
    let drive = "ecc.decoder={ kind = \"fixed\", time = \"20us\", shared = \"drive\" }";
    let base = ["state.precondition=steady", "ftl.unmapped_read=flash", suspension];
    let cases: [&[&str]; 5] = [
        &[],
        &[SLOW_MEMORY, "buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=300us"],
        &[code, errors, retry, "ecc.retries_hold=channel"],
        &[code, errors, retry, "ecc.retries_hold=die", drive],
        &[ldpc, errors, soft, SLOW_MEMORY],
    ];
    for sets in cases {
        let (sets, many) = (with(&base, sets), buffers(1000));
        let run =
            |sets: &[&str]| session_with_history("base = \"tiny\"", sets, MIXED).unwrap_or_else(|problems| panic!("{problems}"));
        let (without, with) = (run(&sets), run(&with(&sets, &[&many])));
        assert_eq!(without.history, with.history, "{sets:?}");
        for section in ["latency", "causes", "throughput", "flash", "wear"] {
            assert_eq!(without.summary[section], with.summary[section], "{section}, {sets:?}");
        }
        assert!(without.history.is_some_and(|digest| digest.entries > 8000));
    }
}

/// Returns the summary of a closed loop of 64 commands on one channel of eight fast dies behind the slow memory.
fn closed_loop(count: u32, sets: &[&str], job: &str) -> Value {
    let base = [
        "flash.channels=1",
        "flash.chips_per_channel=8",
        "flash.read_time=1us",
        "flash.program_time=20us",
        "flash.transfer_rate=4800MT/s",
        "flash.blocks_per_plane=48",
    ];
    let count = buffers(count);
    let job = format!("{job}\nbs=4k\niodepth=64\nnorandommap=1\nio_size=4g\nnumber_ios=6000");
    summary(&with(&with(&base, sets), &[&count]), &job)
}

/// Asserts the commands per second, and that the page buffers are in use all the time.
#[track_caller]
fn assert_rate(summary: &Value, count: u32, held: u64) {
    let found = summary["throughput"]["iops"].as_f64().expect("a rate");
    let expected = f64::from(count) * 1e9 / held as f64;
    assert!((found / expected - 1.0).abs() < 0.01, "{count} buffers: {found} per second, expected {expected}");
    let share = summary["utilisation"]["page_buffers"].as_f64().expect("a share");
    assert!(share > 0.99 && share <= 1.0, "{share}");
}

/// A read holds a buffer for its transfer and its way to the memory. Commands of other reads on the channel delay a
/// transfer by a fraction of a percent.
#[test]
fn page_buffers_are_the_bottleneck_of_reads() {
    for count in [1, 2, 5] {
        let summary = closed_loop(count, &[SLOW_MEMORY, "state.precondition=fill"], "rw=randread");
        assert_rate(&summary, count, transfer(1, 4800) + ACCESS);
        let (all, wait) = (&summary["latency"]["read"]["mean_ns"], &summary["causes"]["read"]["page_buffer"]);
        assert!(wait.as_f64() > Some(0.01 * all.as_f64().expect("a latency")), "{wait} of {all}");
    }
}

/// The same with decoders, as many as there are reads, of each channel or of the drive: the data is decoded in a
/// buffer.
#[test]
fn page_buffers_are_the_bottleneck_of_reads_that_are_decoded() {
    for (count, shared) in [(1, "channel"), (1, "drive"), (4, "channel"), (4, "drive")] {
        let decoder = format!("ecc.decoder={{ kind = \"fixed\", time = \"60us\", decoders = 64, shared = \"{shared}\" }}");
        let errors = "ecc.errors={ kind = \"constant\", rates = [1e-4], read_noise = 0.0 }";
        let code = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }";
        let summary = closed_loop(count, &[&decoder, errors, code, "state.precondition=fill"], "rw=randread");
        assert_rate(&summary, count, transfer(1, 4800) + 60_000);
    }
}

/// A program holds a buffer from the instant at which its die takes it, on the way of its data from the memory, until
/// the data has crossed the channel. The dies have time for more. Writes that wait for a die wait for a buffer.
#[test]
fn page_buffers_are_the_bottleneck_of_programs() {
    for count in [1, 2, 3] {
        let summary = closed_loop(count, &[SLOW_MEMORY], "rw=randwrite");
        let on_channel = PROGRAM[0].1 + transfer(1, 4800);
        let held = MAP + ACCESS + on_channel;
        assert_rate(&summary, count, held);
        let causes = summary["causes"]["write"].as_object().expect("causes");
        let of = |name: &str| causes.get(name).map_or(0.0, |time| time.as_f64().expect("a time"));
        let wait = of("page_buffer") / summary["latency"]["write"]["mean_ns"].as_f64().expect("a latency");
        assert!(wait > 0.9 && of("die_held") == 0.0, "{count}: {causes:?}");
    }
}

/// With fewer commands than buffers, the buffers in use are those of Little's law: rate times time.
#[test]
fn the_share_of_page_buffers_in_use_is_their_rate_times_their_time() {
    let job = "rw=randread\nbs=4k\niodepth=1\nnorandommap=1\nio_size=1g\nnumber_ios=1000";
    let summary = summary(&["flash.channels=1", SLOW_MEMORY, &buffers(3), "state.precondition=fill"], job);
    let rate = summary["throughput"]["iops"].as_f64().expect("a rate");
    let expected = rate * (transfer(1, 1200) + ACCESS) as f64 / 1e9 / 3.0;
    let found = summary["utilisation"]["page_buffers"].as_f64().expect("a share");
    assert!((found / expected - 1.0).abs() < 0.002, "{found}, expected {expected}");
}

/// One buffer for each channel, with all that can hold one and all that can wait for one: data on long ways, programs
/// that are staged, reads that are repeated, on dies and channels that are held for them, suspended programs,
/// collection, partial writes. Every command completes, whatever the scheduler.
#[test]
fn a_drive_with_one_page_buffer_goes_on() {
    let suspension = "flash.suspension={ program = true, erase = true, suspend_time = \"20us\", resume_time = \"30us\", \
                      least_remaining = \"0us\", most = 8 }";
    let errors = "ecc.errors={ kind = \"constant\", rates = [3e-3], read_noise = 0.3 }";
    let code = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }";
    let retry = "ecc.plan={ kind = \"read_retry\", steps = 6, reduction = 0.1, step_time = \"1us\" }";
    let job = "rw=randrw\nrwmixread=60\nbssplit=4k/60:16k/25:512/15\niodepth=64\nnorandommap=1\nio_size=1g\n\
               number_ios=3000";
    for hold in ["nothing", "die", "channel"] {
        for scheduler in ["fifo", "read_first", "out_of_order"] {
            let (hold, scheduler) = (format!("ecc.retries_hold={hold}"), format!("flash.scheduler={scheduler}"));
            let sets = [
                "flash.channels=2",
                "flash.chips_per_channel=3",
                "state.precondition=steady",
                SLOW_MEMORY,
                suspension,
                errors,
                code,
                retry,
                &hold,
                &scheduler,
                &buffers(1),
            ];
            let summary = summary(&sets, job);
            assert_eq!(summary["status"], "complete", "{hold}, {scheduler}");
            assert_eq!(summary["latency"]["all"]["count"], 3000, "{hold}, {scheduler}");
            assert!(summary["reliability"]["retries"].as_u64() > Some(1000) && summary["collections"].as_u64() > Some(10));
            for op in ["read", "write"] {
                assert!(summary["causes"][op]["page_buffer"].as_f64() > Some(1000.0), "{hold}, {scheduler}, {op}");
            }
        }
    }
}
