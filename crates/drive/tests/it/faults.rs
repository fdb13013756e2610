//! Faults of the flash: random drives whose programs, erases, reads and dies fail. The random cases run longer with
//! `SSDLAB_CASES=<count>`, and from another seed with `SSDLAB_FROM=<seed>`; `SSDLAB_SEED=<seed> cargo test -p drive
//! --test it -- faults::one_case --ignored` runs one alone.

use crate::common::given;
use drive::Description;
use drive::options::RunOptions;
use drive::session::{Files, RunRequest};
use kit::Problems;
use serde_json::Value;
use testkit::case::faults::{self, Failed};
use workload::Input;

/// Random drives with failing programs and erases, bad and spare blocks, reads that fail, lost dies, losses of power
/// and reloads. No data is lost but on lost dies, and no block that has failed is used again.
#[test]
fn random_drives_survive_their_faults() {
    let count = given("SSDLAB_CASES").unwrap_or(300);
    let (mut all, mut done) = (Failed::default(), 0);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == count {
            break;
        }
        if let Some((_, failed)) = faults::run(seed, 400).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0)) {
            all.merge(&failed);
            done += 1;
        }
    }
    println!("{count} cases: {all:?}");
    let Failed { programs, erases, uncorrectable, dies, power, reloads, spares, read_only, refused, .. } = all;
    let least = [programs / 5, erases, uncorrectable, dies * 20, power * 6, reloads * 6, spares, read_only * 10, refused];
    assert!(least.iter().all(|many| *many > count / 2), "{all:?}");
}

/// Runs the case of one seed.
#[test]
#[ignore = "for one seed"]
fn one_case() {
    let seed = given("SSDLAB_SEED").expect("SSDLAB_SEED");
    let found = faults::run(seed, 400).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
    println!("{:?}", found.map(|(_, failed)| failed));
}

/// Random drives with faults are examined after every step of their commands.
#[test]
fn every_step_of_drives_with_faults_can_be_the_last() {
    let (mut losses, mut done) = (0, 0);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == given("SSDLAB_CASES").unwrap_or(12) {
            break;
        }
        if let Some(cuts) = faults::every_cut(seed, 60).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0)) {
            (losses, done) = (losses + cuts.losses, done + 1);
        }
    }
    assert!(losses > 3000, "{losses}");
}

const TINY: &str = "base = \"tiny\"";
const WRITES: &str = "[job]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=6000\nnorandommap=1\nio_size=100g\n";

/// Runs a workload with a script of faults, and returns its summary.
pub fn summary(sets: &[&str], workload: &str, script: Option<&str>) -> Result<Value, Problems> {
    let file = script.map(|script| {
        let name = format!("faults-{}-{:?}.toml", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, script).expect("a temporary file");
        path
    });
    let faults = file.as_ref().map(|path| path.to_string_lossy().into_owned());
    let request = RunRequest::new("test.toml", TINY).sets(sets).run(RunOptions { faults, ..RunOptions::default() });
    let done = drive::session::run(&request, &Input::text("workload", workload), Files::default(), &mut |_| true);
    file.into_iter().for_each(|path| std::fs::remove_file(path).expect("it is there"));
    done.map(|done| done.summary)
}

/// Returns a number of a summary.
pub fn number(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}

/// A script has exactly its effects: the failing program retires its block, which is programmed no more, and is
/// repeated; a failing erase retires its block; and reads of a lost die end with media errors. The same script gives
/// the same summary.
#[test]
fn a_script_has_its_effects() {
    let sets = ["state.precondition=fill", "faults.spare_blocks=2"];
    let script = "program_fails = [{ block = 70, number = 2 }, { block = 70, number = 3 }]\n\
        erase_fails = [{ block = 3, number = 1 }]";
    let without_wall = |mut found: Value| {
        found["wall_s"] = Value::Null;
        found
    };
    let run = |script| without_wall(summary(&sets, WRITES, script).unwrap_or_else(|why| panic!("{why}")));
    let [plain, found] = [None, Some(script)].map(run);
    let health = |found: &Value, key: &str| number(found, &format!("/health/{key}"));
    let failures = |found: &Value| ["program_failures", "erase_failures", "retired_blocks"].map(|key| health(found, key));
    assert_eq!((failures(&plain), failures(&found)), ([0, 0, 0], [1, 1, 2]));
    assert!(number(&found, "/flash/programs/evacuate") >= 1 && plain.pointer("/flash/programs/evacuate").is_none());
    assert_eq!(found, run(Some(script)));
    let lost = run(Some("die_fails = [{ die = 1, at = \"1ms\" }]\n"));
    assert_eq!((health(&lost, "dies_lost"), health(&lost, "media_errors")), (1, 0));
    assert!(health(&lost, "units_lost") > 1000, "{lost}");
    let reads = WRITES.replace("randwrite", "randread");
    let lost = without_wall(summary(&sets, &reads, Some("die_fails = [{ die = 1, at = \"0s\" }]\n")).expect("it runs"));
    let (errors, dies) = (
        health(&lost, "media_errors") as f64,
        f64::from(Description::read("t", TINY, &[]).expect("it is sound").geometry().die_count),
    );
    let deviation = (6000.0 / dies * (1.0 - 1.0 / dies)).sqrt();
    assert!((errors - 6000.0 / dies).abs() < 4.0 * deviation, "{errors} media errors on one of {dies} dies");
}

/// A drive that has too few blocks left refuses writes, or ends with those that it has no room for; it never stalls,
/// and time does not run on without a command. What it refuses is neither written nor measured.
#[test]
fn the_end_of_life_is_no_stall() {
    let many = "[job]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=60000\nnorandommap=1\nio_size=100g\n";
    let few = "flash.blocks_per_plane=48";
    let cases: [&[&str]; 4] = [
        &["state.precondition=fill", few, "flash.pages_per_block=16", "faults.program_failure=0.01"],
        &[
            "state.precondition=fill",
            few,
            "flash.pages_per_block=16",
            "faults.program_failure=0.01",
            "faults.spare_blocks=4",
            "ftl.overprovisioning=0.5",
        ],
        &["state.precondition=steady", few, "ftl.overprovisioning=0.8", "faults.erase_failure=0.3"],
        &["faults.program_failure=1.0"],
    ];
    for sets in cases {
        let found = summary(sets, many, None).unwrap_or_else(|why| panic!("{sets:?}: {why}"));
        let is_read_only = found["health"]["critical_warnings"].as_array().expect("a list").iter().any(|one| one == "read_only");
        let [ns, done, refused] =
            ["/simulated_ns", "/health/host_write_commands", "/health/refused_writes"].map(|path| number(&found, path));
        assert!(is_read_only && ns < 1_000_000_000_000, "{sets:?}: {found}");
        assert!(
            done + refused <= 60_000 && (refused == 0 || number(&found, "/throughput/write_bytes") == done * 4096),
            "{sets:?}: {found}"
        );
    }
    // All that a drive does whose dies are lost at once.
    let script = "die_fails = [{ die = 0, at = \"20ms\" }]";
    let sets = ["ftl.retire_at_cycles=20", "ftl.overprovisioning=1.0"];
    let found = summary(&sets, many, Some(script)).unwrap_or_else(|why| panic!("{why}"));
    assert!(number(&found, "/simulated_ns") < 1_000_000_000_000, "{found}");
}

/// Mistakes in a script or a description are refused with their place.
#[test]
fn wrong_faults_are_refused_with_their_place() {
    let of_script = [
        ("program_fails = [{ block = 7000000, number = 2 }]", "program_fails[0]: block 7000000: expected at most"),
        ("\nerase_fails = [{ block = 7, number = 0 }]", "erase_fails[0]: number 0: expected 1"),
        ("\n\ndie_fail = []", ":3: unknown field `die_fail`"),
        ("die_fails = [{ die = 5000, at = \"1s\" }]", "die_fails[0]: die 5000"),
        ("die_fails = [{ die = 0, at = \"1 parsec\" }]", ":1: "),
        ("program_fails = [{ block = -1, number = 2 }]", ":1: program_fails[0].block: -1 is out of range"),
        ("erase_fails = [{ block = 1, number = 5000000000 }]", ":1: erase_fails[0].number: 5000000000 is out of range"),
        ("\nlink_errors = [1, -1]", ":2: link_errors[1]: -1 is out of range"),
        (
            "slow_reads = [{ block = 1, number = 1, factor = 2.0 }, { block = 1, number = 1, factor = 3.0 }]",
            "slow_reads[1]: block 1, number 1: given by slow_reads[0], too",
        ),
        ("power_fails = { at = \"soon\" }", ".toml: power_fails.at: unknown unit `soon`"),
        ("power_fails = { at = \"1s\", down = \"101y\" }", ".toml: power_fails.down: 101y: expected at most 100y"),
    ];
    for (script, expected) in of_script {
        let told = summary(&[], WRITES, Some(script)).expect_err(script).to_string();
        assert!(told.contains(expected), "{script}: {told}");
    }
    let of_sets = [
        ("faults.program_failure=[]", "faults.program_failure: 0 values"),
        ("faults.program_failure=1.5", "faults.program_failure"),
        ("faults.by_page_type=[1.0, 2.0, 3.0, 4.0, 5.0]", "faults.by_page_type: 5 factors"),
        ("faults.spare_blocks=60000", "faults: up to 60000 of the"),
        ("faults.bad_blocks=[9999999]", "faults.bad_blocks: 9999999"),
        ("faults.bad_blocks=[-1]", "faults.bad_blocks[0]: -1: expected 0..=4294967295"),
        ("faults.factory_bad=1.0", "faults: up to 128 of the 128 blocks of a die are"),
        ("faults={program_failures=1}", "program_failures"),
    ];
    for (set, expected) in of_sets {
        let told = summary(&[set], WRITES, None).expect_err(set).to_string();
        assert!(told.contains(expected), "{set}: {told}");
    }
    let sets = ["ftl.read_in_flight=wait"];
    let told = summary(&sets, WRITES, Some("read_fails = []")).expect_err("a wait for a failing program").to_string();
    assert!(told.contains("`wait` cannot be served where programs may fail"), "{told}");
    let told = summary(&["ftl.translation=waf", "faults.spare_blocks=1"], WRITES, None).expect_err("no map").to_string();
    assert!(told.contains("faults"), "{told}");
}

/// Blocks that are bad cost as much as blocks that are not there: with 6 % of them bad, a drive has the write
/// amplification and the mean latency of one with 6 % fewer blocks for the same data.
#[test]
fn bad_blocks_cost_as_much_as_missing_ones() {
    let common = [
        "flash.channels=2",
        "flash.chips_per_channel=1",
        "flash.dies_per_chip=2",
        "flash.pages_per_block=32",
        "ftl.user_capacity=36MiB",
        "state.precondition=steady",
    ];
    let run = |blocks: u32, more: &[String]| {
        let blocks = format!("flash.blocks_per_plane={blocks}");
        let sets: Vec<&str> = common.iter().copied().chain([blocks.as_str()]).chain(more.iter().map(String::as_str)).collect();
        let found = summary(&sets, &WRITES.replace("6000", "60000"), None).unwrap_or_else(|why| panic!("{why}"));
        let of = |path: &str| found.pointer(path).and_then(Value::as_f64).expect("a number");
        [of("/write_amplification"), of("/latency/write/mean_ns")]
    };
    // Six of each hundred blocks, all over the dies.
    let bad: Vec<String> = (0..400).filter(|block| block % 100 % 17 == 3).map(|block| block.to_string()).collect();
    let bad = format!("faults.bad_blocks=[{}]", bad.join(","));
    let (whole, bad, fewer) = (run(100, &[]), run(100, &[bad]), run(94, &[]));
    for ((whole, bad), fewer) in whole.iter().zip(&bad).zip(&fewer) {
        assert!((bad / fewer - 1.0).abs() < 0.03, "{bad} with bad blocks, {fewer} with fewer");
        assert!(bad / whole > 1.05, "{bad} with bad blocks, {whole} without");
    }
}

/// A script without an end is refused, and not read until memory ends.
#[test]
fn a_script_has_an_end() {
    let options = RunOptions { faults: Some("/dev/zero".to_owned()), ..RunOptions::default() };
    let request = RunRequest::new("test.toml", TINY).run(options);
    let done = drive::session::run(&request, &Input::text("workload", WRITES), Files::default(), &mut |_| true);
    let told = done.map(|done| done.summary).expect_err("there is no end").to_string();
    assert_eq!(told, "/dev/zero: cannot be read: more than 16 MiB: expected a smaller one");
}

/// Faults that have not come by the end of the run are counted in a remark, and those that came are not.
#[test]
fn faults_that_do_not_happen_are_counted() {
    let notes = |script: &str| {
        let path = std::env::temp_dir().join(format!("pending-{}.toml", std::process::id()));
        std::fs::write(&path, script).expect("a temporary file");
        let options = RunOptions { faults: Some(path.to_string_lossy().into_owned()), ..RunOptions::default() };
        let request = RunRequest::new("test.toml", TINY).sets(&["state.precondition=fill", "host.interface=nvme"]).run(options);
        let done = drive::session::run(&request, &Input::text("workload", WRITES), Files::default(), &mut |_| true);
        std::fs::remove_file(&path).expect("it is there");
        let notes = done.unwrap_or_else(|why| panic!("{why}")).notes;
        notes.into_iter().filter(|note| note.contains("of the script")).collect::<Vec<_>>()
    };
    let came = [
        "program_fails = [{ block = 70, number = 2 }]",
        "die_fails = [{ die = 1, at = \"1ms\" }]",
        "link_errors = [4]\ncontroller_stuck = [{ at = \"1ms\", for = \"1us\" }]",
    ];
    for script in came {
        assert_eq!(notes(script), [""; 0], "{script}");
    }
    let to_come = "program_fails = [{ block = 70, number = 2 }]\nerase_fails = [{ block = 1, number = 900 }]\n\
        slow_reads = [{ block = 2, number = 1000000, factor = 2.0 }]\nlink_errors = [4000000000]\n\
        controller_stuck = [{ at = \"2y\", for = \"1s\" }]\ndie_fails = [{ die = 1, at = \"1y\" }]";
    let told = "5 faults of the script (--faults) did not happen: the workload ended before them";
    assert_eq!(notes(to_come), [told]);
}
