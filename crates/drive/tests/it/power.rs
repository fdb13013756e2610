//! Power failure: entries saved by the policy, data at risk or lost, and continuation of the host.

use crate::common::{ONE_DIE, Rig, with};
use drive::options::RunOptions;
use drive::session::{Files, Outcome, RunRequest};
use drive::streams::Outputs;
use drive::{CommandRow, Description, Drive, TimelineRow};
use kit::{Bytes, HostCommand, Nanos, Op, Problems, Reason, Rng, SimTime, UNIT_BYTES};
use serde_json::Value;
use testkit::Auditor;
use workload::{Input, Options};

const MS: u64 = 1_000_000;

/// OFWAR with thresholds at which every write is fast and no page is rewritten, unless further overrides change that.
/// Saving takes 600 us for each 256 entries of the rewrite queue.
const FAST: &[&str] = &["policy.kind=ofwar", "policy.ofwar.write_threshold=0", "policy.ofwar.rewrite_threshold=100000"];

fn fast(sets: &[&str]) -> Rig {
    Rig::watched(&with(&with(ONE_DIE, FAST), sets))
}

fn write_all(rig: &mut Rig, units: std::ops::Range<u64>) {
    let now = rig.drive.now();
    for unit in units {
        rig.submit(Op::Write, unit, 1, now);
    }
    rig.drain();
}

#[test]
fn the_queue_is_saved_as_far_as_the_supercapacitor_lasts() {
    for (time, saved, took_us) in
        [("0us", 0, 0), ("599us", 0, 0), ("600us", 256, 600), ("1199us", 256, 600), ("1200us", 300, 1200), ("1s", 300, 1200)]
    {
        let set = format!("policy.ofwar.supercap_time={time}");
        let mut rig = fast(&[&set]);
        write_all(&mut rig, 0..300);
        let before = rig.drive.now();
        let failure = rig.drive.fail_power(Nanos(MS));
        let backup = failure.backup.expect("the policy has a queue");
        assert_eq!((backup.held, backup.saved, backup.took.0), (300, saved, took_us * 1000), "{time}");
        assert_eq!((failure.failed, failure.back, rig.drive.now()), (before, before + Nanos(MS), before + Nanos(MS)));
        assert_eq!(rig.stat("rewrite_queue_entries"), saved, "{time}");
    }
}

/// The oldest entries of the rewrite queue are saved, and their pages are rewritten in order. Pages of lost entries are
/// moved only when their block nears its retention limit.
#[test]
fn what_was_not_saved_is_moved_by_its_blocks_limit() {
    let sets = [
        "policy.ofwar.rewrite_threshold=10",
        "policy.ofwar.queue_depth=1000",
        "policy.ofwar.supercap_time=600us",
        "flash.write_mode[1].retention=10s",
        "ftl.retention_margin=1s",
    ];
    let mut rig = fast(&sets);
    let description = crate::common::description(&with(&with(ONE_DIE, FAST), &sets));
    let mut auditor = Auditor::attach(&rig.drive, &description);
    let mut follow = |rig: &mut Rig| {
        let now = rig.drive.now().0;
        let records = rig.records();
        records.iter().try_for_each(|record| auditor.follow(record, now)).unwrap_or_else(|why| panic!("{why}"));
        auditor.check(now).unwrap_or_else(|why| panic!("{why}"));
        records
            .iter()
            .filter_map(
                |record| if let kit::Record::Relocated { lpn, reason, .. } = record { Some((*reason, lpn.0)) } else { None },
            )
            .collect::<Vec<_>>()
    };
    write_all(&mut rig, 0..300);
    follow(&mut rig);
    let failure = rig.drive.fail_power(Nanos(100 * MS));
    // The drive was idle immediately, and the rewrite of the first of 300 pages has begun.
    assert_eq!(failure.backup.map(|backup| (backup.held, backup.saved)), Some((299, 256)));
    rig.run_until(failure.back + Nanos(2000 * MS));
    let rewritten: Vec<u32> = follow(&mut rig)
        .iter()
        .map(|(reason, lpn)| {
            assert_eq!(*reason, Reason::Rewrite);
            *lpn
        })
        .collect();
    assert_eq!(rewritten, (0..247).collect::<Vec<u32>>(), "all but ten of those that were saved");
    // All other pages, those of lost entries among them, move with their blocks.
    let mut moved = Vec::new();
    while rig.drive.now() < SimTime(20_000 * MS) {
        let next = rig.drive.now() + Nanos(5 * MS);
        rig.run_until(next);
        moved.extend(follow(&mut rig));
    }
    for unit in 257..300 {
        assert!(moved.contains(&(Reason::Reprogram, unit)), "unit {unit} was lost from the queue and has not been moved");
    }
    assert_eq!(rig.drive.map().retention_report().0, 0);
}

/// Returns the drive of the deadline tests, whose retention limits are reached again and again, with a longer margin
/// and without a supercapacitor.
pub fn short() -> String {
    let text = crate::deadlines::DRIVE.replace("retention_margin = \"40ms\"", "retention_margin = \"60ms\"");
    text.replace("[policy.agcr]", "supercap_time = \"0s\"\n[policy.agcr]")
}

/// A drive followed by an auditor. The host writes anywhere for the first 300 ms, then reads and writes the first
/// quarter.
struct Watched {
    drive: Drive,
    auditor: Auditor,
    rng: Rng,
    tag: u32,
    done: u32,
    checked: u64,
}

impl Watched {
    fn new(kind: &str, seed: u64) -> Watched {
        let text = if ["agcr", "queue_driven"].contains(&kind) { short().replace("800ms", "3s") } else { short() };
        let description = Description::read("power.toml", &text, &[format!("policy.kind={kind}")])
            .unwrap_or_else(|problems| panic!("{kind}: {problems}"));
        let mut drive = Drive::new(&description, seed).expect("a small drive fits into memory");
        drive.adopt();
        drive.journal().enable(true);
        let auditor = Auditor::attach(&drive, &description);
        Watched { drive, auditor, rng: Rng::stream(seed, "power"), tag: 0, done: 0, checked: 0 }
    }

    fn follow(&mut self) -> Result<(), String> {
        let now = self.drive.now().0;
        let records = std::mem::take(&mut self.drive.journal().records);
        records.iter().try_for_each(|record| self.auditor.follow(record, now))
    }

    /// Lets the host submit commands until an instant, then waits for the commands in flight.
    fn run_until(&mut self, until: SimTime) -> Result<(), String> {
        let units = self.drive.user_bytes() / UNIT_BYTES;
        while self.drive.now() < until || self.done < self.tag {
            while self.tag - self.done < 16 && self.drive.now() < until {
                let burst = self.drive.now() < SimTime(300 * MS);
                let op = if !burst && self.rng.chance(0.5) { Op::Read } else { Op::Write };
                let unit = if burst { self.rng.below(units) } else { self.rng.below(units / 4) };
                self.tag += 1;
                let at = self.drive.now() + Nanos(2_000);
                self.drive.submit(HostCommand::new(op, self.tag, Bytes(unit * UNIT_BYTES), Bytes(UNIT_BYTES)), at);
            }
            let next = self.drive.next_event().unwrap_or(until);
            self.done += self.drive.advance(next).len() as u32;
            self.follow()?;
            if self.drive.now().0 >= self.checked + 2 * MS {
                self.checked = self.drive.now().0;
                self.auditor.check(self.checked)?;
            }
        }
        Ok(())
    }

    /// Cuts the power for `down`. Returns the number of pages at risk according to the drive and according to the
    /// auditor.
    fn fail_power(&mut self, down: Nanos) -> Result<(u64, u64), String> {
        let failure = self.drive.fail_power(down);
        // Programs and moves before the failure belong to the time before it.
        let records = std::mem::take(&mut self.drive.journal().records);
        records.iter().try_for_each(|record| self.auditor.follow(record, failure.failed.0))?;
        let at_risk = self.drive.map().units_past_limit(failure.back);
        Ok((at_risk, self.auditor.power_is_back(failure.back.0)))
    }
}

pub fn kinds() -> impl Iterator<Item = &'static str> {
    ftl::PolicyConfig::NAMES.iter().copied().filter(|kind| *kind != "combine")
}

/// A power-down shorter than the retention margin puts no page at risk, whenever it happens, and all data is still
/// moved in time.
#[test]
fn a_power_down_shorter_than_the_margin_puts_nothing_at_risk() {
    for kind in kinds() {
        let mut moved = 0;
        for (seed, after) in (1..).zip([700, 1_100, 2_950, 3_333]) {
            let mut watched = Watched::new(kind, seed);
            let outcome = (|| {
                watched.run_until(SimTime(after * MS))?;
                let at_risk = watched.fail_power(Nanos(59 * MS))?;
                watched.run_until(watched.drive.now() + Nanos(1_500 * MS))?;
                Ok::<_, String>(at_risk)
            })();
            let at_risk = outcome.unwrap_or_else(|why| panic!("{kind}, power cut after {after} ms: {why}"));
            assert_eq!(at_risk, (0, 0), "{kind}, power cut after {after} ms");
            assert_eq!(watched.drive.map().retention_report().0, 0, "{kind}, power cut after {after} ms: misses");
            moved += watched.drive.translator().report().counters.units_programmed[Reason::Reprogram as usize];
        }
        assert!(moved > 500, "{kind}: only {moved} units were moved for their limit");
    }
}

/// Exact to the nanosecond: data at its retention deadline survives a power-down that ends at its limit, but is at risk
/// after one that ends later.
#[test]
fn at_its_limit_data_is_not_yet_at_risk() {
    let sets = ["policy.kind=all_fast", "flash.write_mode[1].retention=10s", "ftl.retention_margin=1s"];
    for (down, at_risk) in [(1_000_000_001, 0), (1_000_000_002, 64)] {
        let mut rig = Rig::watched(&with(ONE_DIE, &sets));
        write_all(&mut rig, 0..64);
        // The only block with data reaches its retention deadline at 9 s.
        rig.run_until(SimTime(9_000 * MS - 1));
        assert_eq!(rig.programmed(Reason::Reprogram), 0);
        let failure = rig.drive.fail_power(Nanos(down));
        assert_eq!(rig.drive.map().units_past_limit(failure.back), at_risk, "{down} ns");
        rig.run_until(failure.back + Nanos(1_000 * MS));
        assert_eq!(rig.programmed(Reason::Reprogram), 64, "power is back, and it is moved");
    }
}

/// A longer power-down puts pages at risk. Their number is that of the auditor, which excuses only those pages from
/// being read or mapped past their limit.
#[test]
fn a_longer_one_puts_pages_at_risk_which_are_counted() {
    for kind in kinds() {
        for (down, all) in [(Nanos(1_500 * MS), false), (Nanos(60_000 * MS), true)] {
            let mut watched = Watched::new(kind, 1);
            watched.run_until(SimTime(2_900 * MS)).unwrap_or_else(|why| panic!("{kind}: {why}"));
            let (at_risk, audited) = watched.fail_power(down).unwrap_or_else(|why| panic!("{kind}: {why}"));
            assert_eq!(at_risk, audited, "{kind}, {down}");
            assert!(at_risk > 0 && (!all || at_risk == watched.drive.map().mapped_units()), "{kind}, {down}: {at_risk}");
            watched.run_until(watched.drive.now() + Nanos(2_500 * MS)).unwrap_or_else(|why| panic!("{kind}, {down}: {why}"));
            assert_eq!(watched.drive.map().units_past_limit(watched.drive.now()), 0, "{kind}, {down}: all has been moved");
            assert_eq!(watched.drive.map().retention_report().0, 0, "{kind}, {down}: what was at risk is no miss");
        }
    }
}

#[test]
fn what_the_write_buffer_has_acknowledged_is_programmed() {
    let sets = ["buffer.policy=write_back", "buffer.capacity=128KiB", "buffer.flush_after=10s"];
    let mut rig = Rig::watched(&with(&["flash.planes_per_die=2", "flash.multi_plane=true"], &sets));
    // A program writes two units: the third unit waits for a fourth.
    for unit in 0..3 {
        rig.one(Op::Write, unit, 1);
    }
    let failure = rig.drive.fail_power(Nanos(1_000 * MS));
    assert!((1..=3).contains(&failure.buffered_units), "{failure:?}");
    assert!((0..3).all(|unit| rig.drive.map().place_of(kit::Lpn(unit)).is_some()), "they are on flash");
    assert_eq!(rig.one(Op::Read, 2, 1).completed, rig.drive.now());
}

/// Results of a run, with its commands.
struct Ran {
    summary: Value,
    notes: Vec<String>,
    timeline: Vec<(u64, TimelineRow)>,
    commands: Vec<CommandRow>,
}

/// Runs a workload with a power failure, through the interface that the command line uses.
fn run(text: &str, sets: &[&str], workload: &str, cut: Option<(&str, &str)>, options: Options) -> Result<Ran, Problems> {
    let power = RunOptions {
        power_cut: cut.map(|(after, _)| format!("{after},graceful")),
        power_down: cut.map(|(_, down)| down.to_owned()),
        ..RunOptions::default()
    };
    let request = RunRequest::new("test.toml", text).sets(sets).workload(options).run(power);
    let mut commands = Vec::new();
    let mut keep = |rows: &[CommandRow], _: &[String]| commands.extend_from_slice(rows);
    let files = Files { outputs: Outputs { commands: Some(&mut keep), ..Outputs::default() }, ..Files::default() };
    let Outcome { summary, notes, timeline, .. } =
        drive::session::run(&request, &Input::text("workload", workload), files, &mut |_| true)?;
    Ok(Ran { summary, notes, timeline, commands })
}

fn ran(text: &str, sets: &[&str], workload: &str, cut: Option<(&str, &str)>) -> Ran {
    run(text, sets, workload, cut, Options::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn number(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}

const TINY: &str = "base = \"tiny\"";

/// The host continues where it stopped: no command is lost, no latency includes the power-down, and rates refer to the
/// time with power.
#[test]
fn the_host_goes_on_where_it_stopped() {
    let closed = "[job]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=4000\nnorandommap=1\nio_size=100g\n";
    let thinking = "[job]\nrw=randwrite\nbs=4k\niodepth=1\nthinktime=1000\nnumber_ios=1000\nnorandommap=1\nio_size=100g\n";
    let timed = "[job]\nrw=randwrite\nbs=4k\niodepth=4\ntime_based=1\nruntime=1s\nnorandommap=1\n";
    let open = r#"
kind = "synthetic"
[[job]]
name = "open"
pattern = "random"
read_share = 0.5
arrival = { kind = "poisson", mean_gap = "500us" }
requests = 2000
"#;
    for workload in [closed, thinking, timed, open] {
        let sets = ["state.precondition=fill"];
        let (plain, cut) = (ran(TINY, &sets, workload, None), ran(TINY, &sets, workload, Some(("300ms", "30d"))));
        assert!(plain.summary.get("power_failure").is_none());
        let failure = &cut.summary["power_failure"];
        assert_eq!(number(failure, "/stopped_at_ns"), 300 * MS, "{workload}");
        assert_eq!(number(failure, "/down_ns"), 30 * 86_400 * 1000 * MS, "{workload}");
        let failed = number(failure, "/failed_at_ns");
        assert!((300 * MS..400 * MS).contains(&failed), "{workload}: {failed}");
        let rows = &cut.commands;
        let back = failed + 30 * 86_400 * 1000 * MS;
        let between = rows.iter().filter(|row| (300 * MS + 1..back).contains(&row.submitted.0)).count();
        assert_eq!(between, 0, "{workload}: nothing is submitted without power");
        assert!(rows.iter().all(|row| row.completed.0 <= failed || row.submitted.0 >= back), "{workload}");
        assert!(rows.iter().any(|row| row.submitted.0 >= back) && rows.iter().any(|row| row.submitted.0 < failed), "{workload}");
        let (with, without) = (number(&cut.summary, "/simulated_ns"), number(&plain.summary, "/simulated_ns"));
        assert!(with.abs_diff(without) < without / 10, "{workload}: {with} against {without}");
        let counts = (&cut.summary["commands"]["write"], &plain.summary["commands"]["write"]);
        assert!(workload == timed || counts.0 == counts.1, "{workload}: {counts:?}");
        let busy = cut.summary["utilisation"]["dies"].as_f64().expect("a number");
        assert!(busy > 0.05, "{workload}: {busy}");
        assert!(cut.timeline.last().expect("a row").0 < 2 * without, "{workload}: the timeline leaves the power-down out");
    }
    // Arrivals of an open loop are delayed by the time for which the host was stopped, and keep their gaps.
    let (plain, cut) = (ran(TINY, &[], open, None), ran(TINY, &[], open, Some(("300ms", "1h"))));
    let submitted = |outcome: &Ran| {
        let mut all: Vec<u64> = outcome.commands.iter().map(|row| row.submitted.0).collect();
        all.sort_unstable();
        all
    };
    let away = number(&cut.summary["power_failure"], "/failed_at_ns") + 3_600_000 * MS - 300 * MS;
    let shifted: Vec<u64> = submitted(&plain).into_iter().map(|at| if at > 300 * MS { at + away } else { at }).collect();
    assert_eq!(submitted(&cut), shifted);
}

#[test]
fn a_power_failure_is_repeated_byte_by_byte_and_one_that_does_not_come_changes_nothing() {
    let job = "[job]\nrw=randwrite\nbs=4k\niodepth=64\nnumber_ios=20000\nnorandommap=1\nio_size=100g\n";
    let sets = ["policy.kind=ofwar", "policy.ofwar.write_threshold=4", "state.precondition=fill"];
    let text = |outcome: &Ran| {
        let mut summary = outcome.summary.clone();
        summary["wall_s"] = Value::Null;
        summary.to_string()
    };
    let cut = || ran(TINY, &sets, job, Some(("1s", "5d")));
    assert_eq!(text(&cut()), text(&cut()));
    let (plain, late) = (ran(TINY, &sets, job, None), ran(TINY, &sets, job, Some(("10d", "5d"))));
    assert_eq!(text(&plain), text(&late));
    assert_eq!(plain.notes, late.notes[1..]);
    assert!(late.notes[0].contains("power did not fail: the workload ended after"), "{}", late.notes[0]);
}

/// Drive with OFWAR's cell at its rated wear, and modes derived from it.
const DERIVED: &str = r#"
base = "tiny"
[flash]
cell = "mlc"
cell_model = "ofwar-mlc"
rated_pe_cycles = 10000
[[flash.write_mode]]
name = "normal"
derive = { retention = "10y", at_pe_cycles = 10000 }
[[flash.write_mode]]
name = "fast"
derive = { retention = "4d", at_pe_cycles = 10000 }
[policy]
kind = "all_fast"
[state]
pe_cycles = 10000
"#;
const WRITES: &str = "[job]\nrw=write\nbs=4k\niodepth=64\nnumber_ios=16000\nio_size=100g\n";

/// The number of lost pages agrees with the cell model and the code, and only pages at risk are lost.
#[test]
fn pages_are_lost_as_often_as_the_code_fails() {
    let sets = ["flash.blocks_per_plane=128"];
    for (down, days) in [("3d", 3.0), ("5d", 5.0), ("1y", 365.25), ("3y", 1095.75)] {
        let summary = ran(DERIVED, &sets, WRITES, Some(("600s", down))).summary;
        assert!(summary.get("power_failure").is_none(), "sixteen thousand writes do not take ten minutes");
        let summary = ran(DERIVED, &sets, WRITES, Some(("500ms", down))).summary;
        let failure = &summary["power_failure"];
        let (at_risk, lost) = (number(failure, "/at_risk_pages"), number(failure, "/lost_pages"));
        assert_eq!(number(&summary, "/reliability/at_risk_pages"), at_risk);
        assert_eq!(at_risk > 0, days > 4.0, "{down}: {at_risk}");
        let part = lab::parts::find("cell", "ofwar-mlc").unwrap_or_else(|problems| panic!("{problems}"));
        let description = Description::read("d.toml", DERIVED, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let step = description.flash.write_modes[1].derivation.as_ref().expect("it was derived").step;
        let age = Nanos((days * 86_400e9) as u64);
        let rates = part.device.estimate(&cell::Condition { step, pe_cycles: 10_000.0, age, ..cell::Condition::default() }).pages;
        let expected = |scale: f64| {
            let of_page = |rate: &f64| at_risk as f64 / 2.0 * ecc::BlockCode::failure(&part.code, rate * scale, 0);
            rates.iter().map(of_page).sum::<f64>()
        };
        // Tolerance: the table of error rates is within 3 % of the computed rates; beyond that, five standard
        // deviations of the draw.
        let (low, high) = (expected(0.97), expected(1.03));
        let near = low - 5.0 * low.sqrt() - 1.0..=high + 5.0 * high.sqrt() + 1.0;
        assert!(near.contains(&(lost as f64)), "{down}: {lost} of {at_risk} lost, {low}..{high} expected");
        assert_eq!(lost > 0, days > 300.0, "{down}: {lost}");
        assert!(failure["lost_pages_unknown"].is_null());
    }
}

#[test]
fn where_the_model_cannot_say_what_is_lost_the_reason_is_given() {
    let unknown = |text: &str, sets: &[&str]| {
        let outcome = ran(text, &with(&["flash.blocks_per_plane=128"], sets), WRITES, Some(("500ms", "40y")));
        let failure = outcome.summary["power_failure"].clone();
        assert!(number(&failure, "/at_risk_pages") > 0 && failure["lost_pages"].is_null(), "{failure}");
        let why = failure["lost_pages_unknown"].as_str().unwrap_or_else(|| panic!("{failure}")).to_owned();
        assert!(outcome.notes.iter().any(|note| note.ends_with(&why)), "{:?}", outcome.notes);
        why
    };
    let in_numbers = |fast: &str| {
        format!(
            "base = \"tiny\"\n[[flash.write_mode]]\nname = \"normal\"\nretention = \"10y\"\n[[flash.write_mode]]\nname = \"fast\"\n{fast}\n"
        )
    };
    let numbers = in_numbers("program_scale = 0.5\nretention = \"4d\"\n[policy]\nkind = \"all_fast\"");
    assert!(
        unknown(&numbers, &["flash.cell_model=ofwar-mlc", "flash.cell=mlc"])
            .contains("step of the write mode `fast` is not known")
    );
    assert!(unknown(&numbers, &["flash.cell_model=ofwar-mlc"]).contains("ofwar-mlc has 2 page types, flash.cell has 1"));
    assert!(
        unknown(
            &in_numbers("retention = \"4d\"\nbits_per_cell = 1\n[policy]\nkind = \"all_fast\""),
            &["flash.cell=mlc", "flash.one_shot=true", "flash.cell_model=ofwar-mlc"]
        )
        .contains("not a model of the cell as")
    );
    assert!(
        unknown(
            &in_numbers("retention = \"4d\""),
            &["policy.kind=agcr", "policy.agcr.low=normal", "policy.agcr.medium=normal", "policy.agcr.high=normal"]
        )
        .contains("keeps a mode for each page")
    );
}

#[test]
fn what_is_wrong_with_a_power_cut_is_said_all_at_once() {
    let refused = |after: Option<&str>, down: Option<&str>, steady: bool, kind: &str| {
        let options = RunOptions {
            steady_state: steady,
            power_cut: after.map(str::to_owned),
            power_down: down.map(str::to_owned),
            ..RunOptions::default()
        };
        let request = RunRequest::new("test.toml", TINY).set(&format!("policy.kind={kind}")).run(options);
        let outcome = drive::session::run(&request, &Input::text("job", WRITES), Files::default(), &mut |_| true);
        outcome.err().expect("it is refused").to_string()
    };
    for (after, down, complaints) in [
        (
            None,
            Some("30d"),
            vec!["--power-cut: missing: expected when power fails after the start of the run, such as 10s or event"],
        ),
        (Some("0s"), Some("soon"), vec!["--power-cut: 0: expected a duration above zero", "--power-down: "]),
        (Some("-1s"), Some("200y"), vec!["--power-cut: a negative value", "--power-down: 200y: expected at most 100y"]),
        (Some("10"), Some("0s"), vec!["--power-cut: a number without a unit", "--power-down: 0: expected"]),
        (Some("event:0"), None, vec!["--power-cut: event:0: expected event:N with a number N from 1 on"]),
        (Some("event:ten"), None, vec!["--power-cut: event:ten: expected event:N"]),
        (Some("event:10,graceful"), None, vec!["--power-cut: event:10,graceful: a host stops at a time"]),
        (Some("10s,graceful,now"), None, vec!["--power-cut: `10s,graceful,now`: expected a time such as 10s or event:1000"]),
        (Some("10s, graceful"), None, vec!["--power-cut: `10s, graceful`: expected"]),
    ] {
        let told = refused(after, down, false, "baseline");
        assert!(complaints.iter().all(|complaint| told.contains(complaint)), "{told}");
        assert_eq!(told.lines().count(), complaints.len(), "{told}");
    }
    let told = refused(Some("1s"), Some("1d"), true, "clairvoyant");
    assert!(told.contains("only one of --power-cut, --steady-state") && told.contains("expected another policy"), "{told}");
}

#[test]
fn a_rig_under_the_oracle_survives_power_failures_at_any_time() {
    let mut failures = 0;
    for seed in 0..400 {
        let Some(description) = testkit::case::description(seed) else { continue };
        let Ok(mut rig) = testkit::Rig::new(&description, seed, None) else { continue };
        let mut rng = Rng::stream(seed, "power.cases");
        let units = rig.drive.user_bytes() / UNIT_BYTES;
        for tag in 0..60 {
            let op = [Op::Write, Op::Write, Op::Read, Op::Trim][rng.below(4) as usize];
            let command = HostCommand::new(op, tag, Bytes(rng.below(units) * UNIT_BYTES), Bytes(UNIT_BYTES));
            let now = rig.drive.now();
            rig.submit(command, now);
            if rng.chance(0.2) {
                rig.drain()
                    .and_then(|()| rig.fail_power(Nanos(1 << rng.below(50))))
                    .unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
                failures += 1;
            }
        }
        rig.drain().and_then(|()| rig.finish()).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
    }
    assert!(failures > 1000, "{failures}");
}
