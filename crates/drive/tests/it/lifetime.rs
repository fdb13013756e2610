//! Lifetime runs of small drives: full and extrapolated.

use crate::common::with;
use drive::lifetime::keys::{KEYS, find};
use drive::lifetime::{Drives, LifetimeOutcome, LifetimeRequest, lifetime, lifetime_of};
use drive::session::{Files, Progress, RunRequest, Session};
use drive::summary::origin::walk;
use drive::{Description, Drive};
use ftl::policy::{Collection, Dispatch, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::{DieId, ModeId, Problems};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use workload::{Input, Options};

/// Two dies of 32 blocks of 16 pages, rated for 1,200 cycles.
const SMALL: &[&str] = &[
    "flash.chips_per_channel=1",
    "flash.blocks_per_plane=32",
    "flash.pages_per_block=16",
    "flash.rated_pe_cycles=1200",
    "ftl.overprovisioning=0.5",
    "ftl.wear_leveling={ kind = \"static_cold\", spread = 2 }",
    "state.precondition=fill",
];
const TWO_CLASSES: &str = "[[flash.erase_mode]]\nname = \"normal\"\nwear = [0.5, 1.0]\n";
const RANDOM: &str = "[job]\nrw=randwrite\nnorandommap=1\niodepth=4\nio_size=200%\n";

/// Returns a request on the drive [`SMALL`]. `more` has options of the life, `policy` and `workload`.
fn request(modes: &str, sets: &[&str], more: Value) -> LifetimeRequest {
    let text = format!("base = \"tiny\"\n{modes}");
    let mut life = more;
    let mut take = |name: &str| life.as_object_mut().expect("an object").remove(name);
    let setup = json!({"set": with(SMALL, sets), "policy": take("policy")});
    let workload = take("workload").unwrap_or_else(|| json!({}));
    let fields = json!({"drive": {"name": "small.toml", "text": text}, "setup": setup, "workload": workload, "life": life});
    serde_json::from_value(fields).expect("a request")
}

fn live(request: &LifetimeRequest, workload: &str) -> Result<LifetimeOutcome, Problems> {
    lifetime(&Session::default(), request, &Input::text("job", workload), Files::default(), &mut |_| true)
}

fn strings(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|set| (*set).to_owned()).collect()
}

#[track_caller]
fn report(modes: &str, sets: &[&str], more: Value) -> Value {
    live(&request(modes, sets, more), RANDOM).unwrap_or_else(|problems| panic!("{problems}")).report
}

#[track_caller]
fn refused(modes: &str, sets: &[&str], more: Value, workload: &str) -> String {
    let outcome = live(&request(modes, sets, more), workload);
    outcome.err().unwrap_or_else(|| panic!("accepted")).to_string()
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key}: {}", report[key]))
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{what}: {found}, expected {expected} within {share}");
}

/// Asserts that both methods agree: cycles within 1 %, other results within 2 %.
#[track_caller]
fn assert_agree(full: &Value, extrapolated: &Value) {
    assert_near("cycles", number(extrapolated, "cycles_mean"), number(full, "cycles_mean"), 0.01);
    for key in ["host_bytes_written", "years_at_workload_rate", "write_amplification", "wear_per_erase"] {
        assert_near(key, number(extrapolated, key), number(full, key), 0.02);
    }
}

#[test]
fn a_life_is_the_sum_of_its_intervals() {
    let full = report(TWO_CLASSES, &[], json!({}));
    // The first 600 nominal erases of wear take 1,200 cycles at 0.5 each, the second 600 take 600 cycles at 1.0 each.
    assert_near("cycles", number(&full, "cycles_mean"), 1800.0, 0.001);
    assert_eq!(full["ended_by"], "mean_wear");
    assert_near("wear", number(&full, "effective_wear_mean"), 1200.0, 0.001);
    assert_near("ratio", number(&full, "max_pe_ratio"), 1.5, 0.001);
    // The bytes written by the host follow from the erases: every erased block had been programmed entirely. Only open
    // blocks make a difference.
    let programmed = number(&full, "erases") * 16.0 * 4096.0 / number(&full, "write_amplification");
    assert_near("bytes", number(&full, "host_bytes_written"), programmed, 0.02);
    let intervals = full["intervals"].as_array().expect("a list");
    assert_eq!(intervals.len(), 6);
    for (index, interval) in intervals.iter().enumerate() {
        let wear = if index < 3 { 0.5 } else { 1.0 };
        // Blocks reach half of their life at different times.
        assert_near("wear of an erase", number(interval, "wear_per_erase"), wear, 0.03);
        assert_near("cycles", number(interval, "cycles"), 200.0 / wear, 0.03);
    }
    let sum: f64 = intervals.iter().map(|one| number(one, "host_bytes_written")).sum();
    assert_eq!(sum, number(&full, "host_bytes_written"));
    let rows = full["pass_rows"].as_array().expect("a list");
    assert_eq!(
        rows.iter().map(|row| row["passes"].as_u64().expect("a count")).sum::<u64>(),
        full["passes"].as_u64().expect("a count")
    );

    assert_agree(&full, &report(TWO_CLASSES, &[], json!({"method": "extrapolate"})));
}

/// A drive with an eighth of its blocks bad lives as long as one that has as many fewer blocks, and as the cycles of
/// the others allow with its write amplification.
#[test]
fn bad_blocks_shorten_a_life_as_missing_ones_do() {
    let live = |blocks: &str, more: &[&str]| report("", &with(&[blocks, "ftl.user_capacity=2MiB"], more), json!({}));
    let whole = live("flash.blocks_per_plane=32", &[]);
    let bad = live("flash.blocks_per_plane=32", &["faults.bad_blocks=[3,11,19,27,35,43,51,59]"]);
    let fewer = live("flash.blocks_per_plane=28", &[]);
    for (what, life, blocks) in [("whole", &whole, 64.0), ("bad", &bad, 56.0), ("fewer", &fewer, 56.0)] {
        let expected = blocks * 16.0 * 4096.0 * 1200.0 / number(life, "write_amplification");
        assert_near(what, number(life, "host_bytes_written"), expected, 0.02);
    }
    for key in ["host_bytes_written", "write_amplification"] {
        assert_near(key, number(&bad, key), number(&fewer, key), 0.03);
    }
    assert!(number(&bad, "host_bytes_written") < 0.88 * number(&whole, "host_bytes_written"));
}

#[test]
fn every_value_of_a_report_has_a_definition() {
    let mut seen = BTreeSet::new();
    for method in ["full", "extrapolate"] {
        let report = report(TWO_CLASSES, &["flash.rated_pe_cycles=24"], json!({"method": method, "policy": "ofwar"}));
        walk(&report, &mut |path, _| {
            let declared = |length: usize| find(&path[..length]);
            assert!(declared(path.len()).is_some(), "{method}: no key of lifetime/keys.rs is declared for {}", path.join("."));
            seen.extend((1..=path.len()).filter_map(declared).map(|term| term.name));
        });
    }
    let unseen: Vec<&str> = KEYS.iter().map(|term| term.name).filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "no report has {unseen:?}");
}

/// Policy that erases gently while at most four pages of writes are queued.
struct Gentle;

impl ModePolicy for Gentle {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    fn erase(&mut self, _: &Collection, view: &mut View<'_>) -> ModeId {
        ModeId(u8::from(view.signals.queued_write_pages > 4))
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

/// The mean wear of an erase depends on the timing of the workload and on the wear of the block.
#[test]
fn extrapolation_meets_the_full_run_where_the_policy_chooses_among_erases() {
    let modes = "[[flash.erase_mode]]\nname = \"gentle\"\nwear = [0.4, 0.55, 0.7]\nerase_scale = 4.0\n\
        [[flash.erase_mode]]\nname = \"normal\"\nwear = [0.8, 0.9, 1.0]\n";
    let live = |method: &str| {
        let request = request(modes, &[], json!({"method": method}));
        let description = Description::read("small.toml", &request.drive.text, &request.setup.set)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let make = |description: &Description| {
            let ftl = description.build_ftl_with("gentle", Box::new(Gentle), 1)?;
            Ok(Drive::with_ftl(description, ftl, 1))
        };
        let input = Input::text("job", RANDOM.replace("iodepth=4", "iodepth=8\nthinktime=1000\nthinktime_blocks=16"));
        let outcome = lifetime_of(
            &Session::default(),
            &request,
            Drives { description, make: &make },
            &input,
            Files::default(),
            &mut |_| true,
        );
        outcome.unwrap_or_else(|problems| panic!("{problems}")).report
    };
    let (full, extrapolated) = (live("full"), live("extrapolate"));
    let gentle = number(&full["erase_modes"], "gentle") / number(&full, "erases");
    assert!(gentle > 0.2 && gentle < 0.8, "both modes are used: {gentle}");
    assert!(number(&full, "cycles_mean") > 1300.0, "{}", full["cycles_mean"]);
    assert_agree(&full, &extrapolated);
    let steady = |one: &Value| one["steady"] == json!(true) && one["rounds"].as_u64().is_some_and(|rounds| rounds >= 2);
    assert!(extrapolated["intervals"].as_array().expect("a list").iter().all(steady), "{}", extrapolated["intervals"]);
}

/// Policy that erases every second block gently.
struct EveryOther;

impl ModePolicy for EveryOther {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    fn erase(&mut self, collection: &Collection, _: &mut View<'_>) -> ModeId {
        ModeId((collection.block.0 % 2) as u8)
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

/// Wear levelling equalises effective wear: gently erased blocks are erased more often in proportion.
#[test]
fn levelling_evens_out_effective_wear_and_not_erases() {
    let modes = "[[flash.erase_mode]]\nname = \"gentle\"\nwear = 0.7\n[[flash.erase_mode]]\nname = \"normal\"\n";
    let description = Description::read("small.toml", &format!("base = \"tiny\"\n{modes}"), &strings(SMALL))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let make = |description: &Description| {
        let ftl = description.build_ftl_with("every_other", Box::new(EveryOther), 1)?;
        Ok(Drive::with_ftl(description, ftl, 1))
    };
    let request = request(modes, &[], json!({"wear_limit": 200.0}));
    let input = Input::text("job", RANDOM);
    let outcome =
        lifetime_of(&Session::default(), &request, Drives { description, make: &make }, &input, Files::default(), &mut |_| true);
    let report = outcome.unwrap_or_else(|problems| panic!("{problems}")).report;
    let (least, most) = (number(&report, "effective_wear_min"), number(&report, "effective_wear_max"));
    // With levelling by erase counts the ratio would be 0.7.
    assert!(least > 0.8 * most, "{least} to {most}");
    let (fewest, most) = (number(&report, "cycles_min"), number(&report, "cycles_max"));
    assert!(most > 1.35 * fewest, "{fewest} to {most} erases");
}

#[test]
fn the_first_block_is_worn_out_before_the_mean() {
    let first = report(TWO_CLASSES, &[], json!({"until": "first_block"}));
    assert_eq!(first["ended_by"], "first_block");
    assert_near("most worn", number(&first, "effective_wear_max"), 1200.0, 0.001);
    let mean = number(&first, "effective_wear_mean");
    assert!(mean < 1199.0 && mean > 1100.0 && number(&first, "effective_wear_min") < mean, "{mean}");
    // A quarter of the rated wear, at 0.5 per erase.
    let limited = report(TWO_CLASSES, &[], json!({"wear_limit": 300.0}));
    assert_near("cycles", number(&limited, "cycles_mean"), 600.0, 0.002);
}

#[test]
fn worn_out_blocks_are_retired_until_a_die_can_spare_no_more() {
    let request = request(TWO_CLASSES, &["ftl.wear_leveling=none"], json!({"until": "spare"}));
    let mut saved = Vec::new();
    let files = Files { save: Some(&mut saved), ..Files::default() };
    let outcome = lifetime(&Session::default(), &request, &Input::text("job", RANDOM), files, &mut |_| true)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let report = &outcome.report;
    assert_eq!(report["ended_by"], "spare");
    let die = report["worn_out_die"].as_u64().expect("a die");
    // Of its 32 blocks, each die needs 22 for its share of the user data (two thirds of the flash), 3 that are kept
    // free, and 4 write frontiers.
    let spare = 32 - (22 + 3 + 4);
    let retired = report["retired_blocks"].as_u64().expect("a count");
    assert!(retired >= spare && retired <= 2 * spare, "{retired}");
    let said = format!("die {die} can spare no more blocks: {spare} of its 32");
    assert!(outcome.notes.iter().any(|note| note.contains(&said)), "{:?}", outcome.notes);
    assert!(number(report, "effective_wear_max") >= 1200.0, "only worn-out blocks are retired");

    // The saved drive keeps its retired blocks and its data.
    let description =
        Description::read("small.toml", &request.drive.text, &request.setup.set).unwrap_or_else(|problems| panic!("{problems}"));
    let mut drive = Drive::new(&description, 1).expect("the tables fit");
    crate::common::load(&mut drive, &description, &saved).expect("what was saved");
    let known = |drive: &Drive| (0..2).map(|die| drive.medium().retired_blocks(DieId(die))).sum::<u32>();
    assert_eq!(u64::from(known(&drive)), retired);
    drive.go_on();
    assert_eq!(drive.map().audit(true), Vec::<String>::new());
    let input = Input::text("job", RANDOM);
    let workload =
        workload::open(&input, drive.user_bytes(), &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    drive::RunLoop::new(workload).run(&mut drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
    drive.quiesce();
    assert_eq!(
        (drive.map().audit(true), u64::from(known(&drive))),
        (Vec::new(), retired),
        "a drive that retires none keeps those that are"
    );
}

/// A run on a drive that retires blocks ends with a note when the drive cannot spare any more blocks.
#[test]
fn a_run_ends_with_its_drive() {
    let sets = with(SMALL, &["ftl.retire_at_cycles=3"]);
    let request = RunRequest::new("small.toml", "base = \"tiny\"").sets(&sets);
    let input = Input::text("job", RANDOM.replace("200%", "9000%"));
    let outcome =
        drive::session::run(&request, &input, Files::default(), &mut |_| true).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(outcome.summary["status"], "partial");
    assert!(outcome.notes.iter().any(|note| note.contains("can spare no more blocks")), "{:?}", outcome.notes);
}

#[test]
fn the_code_ends_a_life_where_data_is_no_longer_kept() {
    // From a table of limits that fall with wear: a limit of at least a year holds in the first two thirds of the rated
    // wear.
    let limits = "flash.write_mode[0].retention=[\"10y\", \"1y\", \"30d\"]";
    let table = report("", &[limits], json!({"until": "error_rate", "retention": "1y"}));
    assert_eq!((table["ended_by"].as_str(), number(&table, "wear_limit")), (Some("error_rate"), 800.0));
    assert_near("most worn", number(&table, "effective_wear_max"), 800.0, 0.001);

    // From the cell model: the number of cycles that the laboratory returns.
    let part = lab::parts::find("cell", "ofwar-mlc").expect("a part");
    let year = kit::Nanos::YEAR;
    let condition = cell::Condition { step: part.device.nominal_step, age: year, ..cell::Condition::default() };
    let most = cell::solve::max_cycles(&part.device, &condition, part.limit(0)).expect("fresh blocks keep it");
    let sets = ["flash.cell=mlc", "flash.cell_model=ofwar-mlc", "flash.rated_pe_cycles=10000", "state.pe_cycles=9000"];
    let model = live(&request("", &sets, json!({"until": "error_rate", "retention": "1y", "max_passes": 1})), RANDOM)
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_near("limit", number(&model.report, "wear_limit"), most, 1e-6);
    assert!(most > 10_000.0 && model.report["ended_by"] == "max_passes", "{most}");
    let said = format!("kept for {year} up to an effective wear of {most:.0}");
    assert!(model.notes.iter().any(|note| note.contains(&said)), "{:?}", model.notes);
}

#[test]
fn a_trace_is_repeated_at_its_own_rate() {
    // 399 writes of 4 KiB in 10 s, and one more after a quiet minute.
    let mut rng = kit::Rng::stream(1, "test");
    let row = |at_ms: u64, unit: u64| format!("{at_ms},W,{},4096\n", unit * 4096);
    let at = |index: u64| if index == 399 { 69_975 } else { index * 25 };
    let trace: String = (0..400).map(|index| row(at(index), rng.below(600))).collect();
    let columns = json!({"columns": "time=1:ms,op=2,offset=3:B,size=4:B"});
    let run = |more: Value| {
        live(&request(TWO_CLASSES, &["flash.rated_pe_cycles=120"], more), &trace)
            .unwrap_or_else(|problems| panic!("{problems}"))
            .report
    };
    let full = run(json!({"workload": columns}));
    assert_near("cycles", number(&full, "cycles_mean"), 180.0, 0.01);
    // A pass takes the span of the trace and one mean gap, regardless of the drive's speed.
    let pass_s = 69.975 * 400.0 / 399.0;
    let passes = number(&full, "host_bytes_written") / (400.0 * 4096.0);
    assert!((full["passes"].as_f64().expect("a count") - passes.ceil()).abs() < 0.5, "{passes}");
    assert_near("years", number(&full, "years_at_workload_rate"), passes * pass_s / (365.25 * 86_400.0), 0.01);
    assert_near("rate", number(&full, "write_bytes_per_s"), 400.0 * 4096.0 / pass_s, 0.01);
    let extrapolated = run(json!({"workload": columns, "method": "extrapolate", "round_cycles": 8.0}));
    assert_near("cycles", number(&extrapolated, "cycles_mean"), number(&full, "cycles_mean"), 0.01);
    assert_near("rate", number(&extrapolated, "write_bytes_per_s"), 400.0 * 4096.0 / pass_s, 0.001);
}

#[test]
fn lives_are_the_same_twice_and_stop_when_asked() {
    let mut runs = [(), ()].map(|()| report(TWO_CLASSES, &["flash.rated_pe_cycles=12"], json!({"method": "extrapolate"})));
    runs.iter_mut().for_each(|report| report["wall_s"] = Value::Null);
    assert_eq!(runs[0], runs[1]);

    let mut stages = Vec::new();
    let mut go_on = |progress: &Progress| {
        stages.push((progress.stage, progress.fraction));
        progress.stage != "lifetime" || progress.fraction.is_some_and(|share| share < 0.4)
    };
    let request = request(TWO_CLASSES, &["flash.rated_pe_cycles=100000"], json!({}));
    let stopped = lifetime(&Session::default(), &request, &Input::text("job", RANDOM), Files::default(), &mut |progress| {
        go_on(progress) && progress.simulated_ns == 0
    })
    .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((stopped.report["status"].as_str(), &stopped.report["ended_by"]), (Some("partial"), &Value::Null));
    assert!(number(&stopped.report, "cycles_mean") > 0.0 && stages.iter().any(|(stage, _)| *stage == "lifetime"), "{stages:?}");
}

#[test]
fn a_life_ends_where_the_clock_ends() {
    // Two commands per century: three passes begin within 280 years, and no block is worn.
    let slow = "[job]\nrw=randwrite\nthinktime=18262d\nnumber_ios=2\n";
    let full = live(&request(TWO_CLASSES, &[], json!({})), slow).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(full.report["ended_by"], "time");
    let years = number(&full.report, "years_at_workload_rate");
    assert!((200.0..=280.0).contains(&years), "{years}");
    assert!(full.notes.iter().any(|note| note.contains("280 years")), "{:?}", full.notes);
    let told = refused(TWO_CLASSES, &[], json!({"method": "extrapolate"}), slow);
    assert!(told.starts_with("--round-cycles: ") && told.contains("takes more than 280 years"), "{told}");
}

#[test]
fn what_cannot_be_lived_is_refused() {
    let refused_with = |more: Value| refused(TWO_CLASSES, &[], more, RANDOM);
    let both = refused_with(json!({"until": "mean_ware", "method": "fast", "intervals": 0}));
    assert!(both.contains("--until: unknown end of a life `mean_ware`") && both.contains("did you mean `mean_wear`"), "{both}");
    assert!(both.contains("--method: unknown method `fast`") && both.contains("--intervals: 0: expected 1..=1000"), "{both}");
    assert!(refused_with(json!({"method": "extrapolate", "until": "spare"})).contains("how unevenly blocks wear"));
    assert!(refused_with(json!({"agreement": 0.01})).contains("--agreement: rounds are those of extrapolation"));
    assert!(refused_with(json!({"method": "extrapolate", "agreement": 1.0})).contains("--agreement: 1: expected 0.0001..=0.5"));
    let retiring = refused(TWO_CLASSES, &["ftl.retire_at_cycles=9"], json!({"method": "extrapolate"}), RANDOM);
    assert!(retiring.contains("ftl.retire_at_cycles: 9: extrapolation does not model retired blocks"), "{retiring}");
    let told = refused_with(json!({"method": "extrapolate", "round_cycles": 1000.0}));
    assert!(told.contains("--round-cycles: 1000: expected a part of the shortest interval of wear"), "{told}");
    assert!(
        refused_with(json!({"policy": "clairvoyant"})).contains("policy.kind: clairvoyant knows the future of one pass only")
    );
    assert!(refused_with(json!({"max_passes": -2})).contains("--max-passes: -2: expected 1 or more"));
    assert!(refused_with(json!({"until": "error_rate", "wear_limit": 3.0})).contains("only one of --wear-limit"));
    assert!(refused_with(json!({"retention": "1y"})).contains("applies only to --until error_rate"));
    assert!(refused_with(json!({"until": "error_rate", "retention": "1 fortnight"})).contains("--retention: "));
    assert!(refused_with(json!({"wear_limit": 1e9})).contains("--wear-limit: 1000000000: expected 1..=4000000"));
    assert!(refused_with(json!({"max_passes": 3, "method": "extrapolate"})).contains("--max-passes: ends a full run"));
    assert!(
        refused(TWO_CLASSES, &["state.pe_cycles=1200"], json!({}), RANDOM)
            .contains("the drive is already at the end of its life (mean_wear)")
    );
    assert!(refused(TWO_CLASSES, &[], json!({}), "[job]\nrw=randread\n").contains("writes nothing"));
    let free = "[[flash.erase_mode]]\nname = \"normal\"\nwear = 0.0\n";
    assert!(refused(free, &[], json!({}), RANDOM).contains("wears nothing"));
    let long = refused("", &["flash.rated_pe_cycles=50000000"], json!({}), RANDOM);
    assert!(long.contains("flash.rated_pe_cycles: 50000000 nominal erases are too many"), "{long}");
    let empty = "[[flash.erase_mode]]\nname = \"normal\"\nwear = []\n";
    assert!(refused(empty, &[], json!({}), RANDOM).contains("flash.erase_mode[0].wear: no value for `normal`"));
    let negative = "[[flash.erase_mode]]\nname = \"normal\"\nwear = [0.5, -1]\n";
    assert!(refused(negative, &[], json!({}), RANDOM).contains("wear[1]: -1: expected 0..=1000"));
}
