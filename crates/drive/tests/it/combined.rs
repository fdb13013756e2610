//! Several policies on one drive (POLICIES 1 and 7): accepted only if the budget closes in the cell model; each policy
//! then decides on its own properties of a mode.

use crate::common::{Rig, with};
use drive::Description;
use drive::lifetime::{LifetimeRequest, lifetime};
use drive::options::RunOptions;
use drive::session::{Files, RunRequest, Session};
use kit::{Op, Reason, Record, SimTime};
use serde_json::json;
use workload::Input;

/// Returns a description with modes derived from the cell, for two promised retentions and two erase levels, without
/// the write mode `left_out`.
fn table(left_out: &str) -> String {
    let mut text = String::from("base = \"tiny\"\n[flash]\ncell = \"mlc\"\ncell_model = \"ofwar-mlc\"\n");
    for (name, retention, level) in [("normal", "10y", 0), ("fast", "4d", 0), ("normal1", "10y", 1), ("fast1", "4d", 1)] {
        if name != left_out {
            text += &format!("[[flash.write_mode]]\nname = \"{name}\"\nerase_level = {level}\n");
            text += &format!("derive = {{ retention = \"{retention}\", at_pe_cycles = 5000, erase_shift = 0.{level} }}\n");
        }
    }
    text += "[[flash.erase_mode]]\nname = \"deep\"\n[[flash.erase_mode]]\nname = \"gentle\"\nlevel = 1\nwear = 0.8\nerase_shift = 0.1\n";
    text + "[policy]\nkind = \"combine\"\n[policy.combine]\nmembers = [\"ofwar\", \"autoftl\"]\n[policy.ofwar]\nwrite_threshold = 2\n"
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("d.toml", text, &sets).expect_err("it is refused").to_string()
}

fn assert_says(problems: &str, part: &str) {
    assert!(problems.contains(part), "found:    {problems}\nexpected: {part}");
}

#[test]
fn tables_given_in_numbers_are_not_multiplied() {
    let problems = refused("base = \"tiny\"\n[policy]\nkind = \"combine\"\n", &[]);
    assert_says(&problems, "flash.write_mode[0]: `normal` is given in numbers");
    assert_says(&problems, "flash.write_mode[1]: `fast` is given in numbers");
}

#[test]
fn names_are_checked() {
    let of = |members: &str| refused(&table(""), &[&format!("policy.combine.members={members}")]);
    assert_says(&of("[\"ofwar\"]"), "expected two policies or more");
    assert_says(&of("[\"ofwar\", \"ofwra\"]"), "`ofwra`: expected one of baseline, ");
    assert_says(&of("[\"ofwar\", \"combine\"]"), "`combine`: expected one of");
    assert_says(&of("[\"ofwar\", \"ofwar\"]"), "`ofwar` is listed twice");
    assert_says(&of("[\"separate\", \"autoftl\"]"), "`separate` separates data within one write mode");
    assert_says(&of("[\"ofwar\", \"agcr\"]"), "policy.agcr.high: unknown write mode `fine`");
}

/// A member that knows the future needs it as much as the policy alone would.
#[test]
fn a_member_that_knows_the_future_is_refused_where_there_is_none() {
    let text = table("");
    let members = "policy.combine.members=[\"clairvoyant\", \"ofwar\"]";
    assert!(Description::read("d.toml", &text, &[members.to_owned()]).is_ok(), "a run of one pass has a future");
    let job = Input::text("job", "[j]\nrw=write\nbs=4k\nnumber_ios=10\n");
    let life = json!({"drive": {"name": "d.toml", "text": text}, "setup": {"set": [members]}, "workload": {}, "life": {}});
    let life: LifetimeRequest = serde_json::from_value(life).expect("a request");
    let told = lifetime(&Session::default(), &life, &job, Files::default(), &mut |_| true).err().expect("refused");
    assert_says(&told.to_string(), "policy.kind: clairvoyant knows the future of one pass only");
    let cut = RunOptions { power_cut: Some("1s".into()), power_down: Some("1d".into()), ..RunOptions::default() };
    let request = RunRequest::new("d.toml", &text).set(members).run(cut);
    let told = drive::session::run(&request, &job, Files::default(), &mut |_| true).err().expect("refused");
    assert_says(&told.to_string(), "--power-cut: the future that the policy `clairvoyant` knows has no power failure");
}

#[test]
fn every_combination_needs_a_mode() {
    assert_says(
        &refused(&table("fast1"), &[]),
        "no write mode has the retention limit of `fast` and the level of erase of `normal1`",
    );
}

#[test]
fn a_mode_must_bear_the_shallowest_erase_that_it_can_follow() {
    let problems = refused(&table(""), &["flash.erase_mode[1].erase_shift=0.2"]);
    assert_says(
        &problems,
        "`normal1` can follow the erase mode `gentle`, which leaves the window 0.2 V smaller; it was derived for 0.1 V",
    );
    assert!(!problems.contains("`normal` can"), "{problems}");
}

/// At its rated wear this cell has no voltage margin left for a shallower erase, whatever the program step.
#[test]
fn what_the_window_has_no_room_for_is_refused() {
    let problems = refused(&table("").replace("at_pe_cycles = 5000", "at_pe_cycles = 10000"), &[]);
    assert_says(&problems, "flash.write_mode[2].derive: no program step keeps data correctable for 10y after 10000 cycles");
    // With moved levels it has some margin, but not for every step.
    let moved = table("").replace("at_pe_cycles = 5000", "at_pe_cycles = 10000, levels = \"moved\"");
    let good = Description::read("d.toml", &moved, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let step = good.flash.write_modes[2].derivation.as_ref().expect("derived").step;
    let wider = format!("flash.write_mode[2].derivation.step={}", step * 1.1);
    let problems = Description::read("again.toml", &good.to_toml(), &[wider]).expect_err("the step is too wide").to_string();
    assert_says(&problems, "leaves no margin for the highest level after 10000 cycles");
}

/// The modes are derived for 5,000 cycles.
#[test]
fn a_drive_worn_beyond_its_modes_is_refused() {
    assert!(Description::read("d.toml", &table(""), &["state.pe_cycles=5000".to_owned()]).is_ok());
    let problems = refused(&table(""), &["state.pe_cycles=8000"]);
    assert_says(&problems, "the budget of `fast1` does not close: a step of");
    assert_says(&problems, "after 8000 cycles and 10y");
}

/// A resolved description states the derivation of its modes, and the derivation is checked.
#[test]
fn a_budget_that_does_not_close_is_refused() {
    let good = Description::read("d.toml", &table(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let step = good.flash.write_modes[0].derivation.as_ref().expect("derived").step;
    let wider = format!("flash.write_mode[0].derivation.step={}", step * 1.2);
    let problems = Description::read("again.toml", &good.to_toml(), &[wider]).expect_err("the step is too wide").to_string();
    assert_says(&problems, "the budget of `normal` does not close: a step of");
    assert_says(&problems, "after 5000 cycles and 10y");
}

/// Returns a drive with a write buffer: autoFTL decides by the fill of the buffer, OFWAR by the length of the write
/// queue.
fn rig(sets: &[&str]) -> Rig {
    let buffer = ["buffer.policy=write_back", "buffer.capacity=640KiB", "buffer.flush_after=1us"];
    Rig::watched_text(&table(""), &with(&buffer, sets))
}

fn modes(rig: &mut Rig) -> Vec<u8> {
    let records = rig.records().into_iter();
    records.filter_map(|record| if let Record::BoundFromBuffer { mode, .. } = record { Some(mode.0) } else { None }).collect()
}

#[test]
fn each_policy_decides_on_what_is_its_own() {
    let mut rig = rig(&[]);
    // One write: no write waits and the buffer is nearly empty, so the data has a retention of ten years in a gently
    // erased block.
    rig.one(Op::Write, 0, 1);
    assert_eq!(modes(&mut rig), [2]);
    // Many writes at once: more wait than OFWAR's threshold, and the buffer fills beyond autoFTL's bounds, so the data
    // has a retention of four days in deeply erased blocks.
    let units = 150;
    rig.one(Op::Write, 1000, units);
    rig.run_until(SimTime(1_000_000_000));
    let all = modes(&mut rig);
    assert_eq!(all.len(), units as usize);
    assert_eq!(all[20], 1, "{all:?}");
    // As the buffer empties, first the erases become gentle, then the retention is the full one again.
    let first_gentle = all.iter().position(|&mode| mode == 3).expect("short guarantee, gentle erase");
    assert!(all[first_gentle..].contains(&2) && !all[first_gentle..].contains(&0), "{all:?}");
    assert!(rig.stat("ofwar.fast_writes_by_queue") > 0);
}

#[test]
fn what_one_of_them_wants_moved_at_once_is_moved() {
    let mut rig = rig(&["policy.ofwar.on_full=evict", "policy.ofwar.queue_depth=4"]);
    rig.one(Op::Write, 1000, 150);
    rig.run_until(SimTime(1_000_000_000));
    let evicted = rig.stat("ofwar.evictions");
    assert!(evicted > 4, "{evicted}");
    assert!(rig.programmed(Reason::Rewrite) > 4, "what is evicted is rewritten");
}

#[test]
fn the_policy_named_first_goes_before() {
    // Both policies decide on the retention: OFWAR writes in the normal mode here, retention relaxation always in the
    // fast mode.
    let first = |members: &str| {
        let mut rig = rig(&[&format!("policy.combine.members={members}")]);
        rig.one(Op::Write, 0, 1);
        modes(&mut rig)
    };
    assert_eq!(first("[\"ofwar\", \"rr_speed\"]"), [0]);
    assert_eq!(first("[\"rr_speed\", \"ofwar\"]"), [1]);
}

/// AGCR writes pages of all its modes into one block. Pages for which OFWAR chooses a retention of only four days get
/// blocks of their own. Otherwise the shortest limit would apply to every block, and all data older than that would be
/// moved at once.
#[test]
fn what_belongs_to_a_block_is_not_mixed_in_one() {
    let mut text = String::from("base = \"tiny\"\n[flash]\ncell = \"mlc\"\ncell_model = \"ofwar-mlc\"\n");
    text += "code = { kind = \"ldpc\", data = \"4KiB\", parity = \"448B\", limits = [0.002, 0.006], failure_at_limit = 1e-15 }\n";
    for (name, retention, read, corrects) in [
        ("normal", "10y", "quick", 0.002),
        ("fast", "4d", "quick", 0.002),
        ("low", "10y", "slow", 0.006),
        ("both", "4d", "slow", 0.006),
    ] {
        text += &format!("[[flash.write_mode]]\nname = \"{name}\"\nread_mode = \"{read}\"\n");
        text += &format!("derive = {{ retention = \"{retention}\", at_pe_cycles = 5000, corrects = {corrects} }}\n");
    }
    text += "[[flash.read_mode]]\nname = \"quick\"\nderive = { references = 1 }\n";
    text += "[[flash.read_mode]]\nname = \"slow\"\nderive = { references = 3 }\n";
    text +=
        "[policy]\nkind = \"combine\"\n[policy.combine]\nmembers = [\"agcr\", \"ofwar\"]\n[policy.ofwar]\nwrite_threshold = 2\n";
    text +=
        "[policy.agcr]\nlow = \"low\"\nmedium = \"normal\"\nhigh = \"normal\"\n[state]\nprecondition = \"fill\"\nage = \"30d\"\n";
    let mut rig = Rig::watched_text(&text, &["buffer.policy=write_back", "buffer.capacity=640KiB", "buffer.flush_after=1us"]);
    for round in 0..4 {
        rig.one(Op::Write, 100, 64);
        rig.run_until(SimTime((round + 1) * 1_000_000_000));
    }
    let moved = rig.drive.flash().counters.reads[kit::Reason::Reprogram as usize];
    assert_eq!(moved, 0, "data older than four days, written for ten years, stays where it is");
}
