//! Paired pages: losses of power, traffic, refusals. The random cases run longer with `SSDLAB_CASES=<count>`, and from
//! another seed with `SSDLAB_FROM=<seed>`.

use crate::common::given;
use crate::power_loss::sum_of;
use drive::session::{Files, RunRequest};
use drive::{Description, Drive};
use ftl::PairedPages;
use kit::{Bytes, HostCommand, Op, Reason, SimTime};
use testkit::case::Detail;
use testkit::case::cuts;
use workload::Input;

const KINDS: [PairedPages; 2] = [PairedPages::Unprotected, PairedPages::Backup];

/// Random drives lose power three times, at random instants, and go on each time.
#[test]
fn drives_with_paired_pages_lose_power_at_any_instant() {
    for kind in KINDS {
        let count = given("SSDLAB_CASES").unwrap_or(12);
        let found = sum_of(count, |seed| Ok(cuts::run(seed, Detail::Paired(kind), 200, 3)?.map(|(_, cuts)| cuts)));
        println!("{kind:?}: {found:?}");
        assert_eq!(found.losses, 3 * count);
        assert!(found.torn > count / 4, "{found:?}");
    }
}

/// Random drives are examined after every step of their commands: with copies nothing is lost
/// that was promised; without them, earlier pages of the wordlines of interrupted programs, and nothing else.
#[test]
fn every_step_of_a_drive_with_paired_pages_can_be_the_last() {
    for kind in KINDS {
        let found = sum_of(given("SSDLAB_CASES").unwrap_or(4), |seed| cuts::every_cut(seed, Detail::Paired(kind), 60));
        println!("{kind:?}: {found:?}");
        assert!(found.losses > 1000 && found.torn > 200, "{kind:?}: {found:?}");
        assert_eq!(found.lost > 0, kind == PairedPages::Unprotected, "{kind:?}: {found:?}");
    }
}

/// A drive that leaves out its copies is found.
#[test]
fn a_drive_without_its_copies_is_found() {
    let seed = (0..40).find(|&seed| cuts::every_cut_without_copies(seed, 60).is_err());
    println!("they are missed by seed {seed:?}");
    assert!(seed.is_some(), "they are never missed");
}

/// The drive of the closed forms: two bits in a cell, pages programmed one by one, four dies, one unit in a program.
const MLC: [&str; 2] = ["flash.cell=mlc", "flash.cell_model=ofwar-mlc"];

fn read(sets: &[&str]) -> Result<Description, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("test.toml", "base = \"tiny\"", &sets).map_err(|why| why.to_string())
}

/// Returns the units programmed for the host, as padding and as copies, when `writes` units are written once, one after
/// another.
fn traffic(kind: &str, writes: u32) -> [u64; 3] {
    let set = format!("ftl.paired_pages={kind}");
    let description = read(&[&MLC[..], &[&set]].concat()).unwrap_or_else(|why| panic!("{why}"));
    let mut drive = Drive::new(&description, 1).expect("a small drive fits into memory");
    testkit::prepare(&mut drive, &description);
    for tag in 0..writes {
        let now = drive.now();
        drive.submit(HostCommand::new(Op::Write, tag, Bytes(u64::from(tag) << 12), Bytes(4096)), now);
        assert_eq!(drive.advance(SimTime::FOREVER).len(), 1);
    }
    let units = &drive.translator().report().counters.units_programmed;
    [Reason::Host, Reason::Padding, Reason::Backup].map(|reason| units[reason as usize])
}

/// One write after another without a buffer: each wordline of two pages has one copy of its first page, but for those
/// of the four dies that are not complete. Nothing is copied by default.
#[test]
fn copies_take_what_their_wordlines_take() {
    for kind in ["intact", "unprotected"] {
        assert_eq!(traffic(kind, 1000), [1000, 0, 0]);
    }
    let [host, padding, backup] = traffic("backup", 1000);
    assert!((host, padding) == (1000, 0) && (500 - 4..=500).contains(&backup), "{host}, {padding}, {backup}");
}

/// Each feature beside which paired pages are not protected is refused, with the field and what would be right.
#[test]
fn what_paired_pages_cannot_stand_beside_is_refused() {
    let cases: [(&[&str], &str, &str); 8] = [
        (&["flash.cell=slc", "flash.cell_model=volt-slc"], "ftl.paired_pages", "several bits in a cell"),
        (&["flash.one_shot=true"], "ftl.paired_pages", "flash.one_shot = false"),
        (&["ftl.translation=waf"], "ftl.paired_pages", "expected `ftl.translation` to be absent"),
        (&["ftl.map_cache={size=\"1MiB\"}", "ftl.gc_critical_blocks=3"], "ftl.paired_pages", "expected no ftl.map_cache"),
        (&["ftl.rain={dies=2}"], "ftl.paired_pages", "expected no ftl.rain"),
        (&["ftl.journal={size=\"108KiB\"}"], "ftl.paired_pages", "expected no ftl.journal"),
        (&["ftl.retire_at_cycles=50"], "ftl.paired_pages", "expected no ftl.retire_at_cycles"),
        (&["faults.program_failure=0.01"], "ftl.paired_pages", "expected no section [faults]"),
    ];
    for (sets, key, what) in cases {
        let all = [&MLC[..], &["ftl.paired_pages=backup"], sets].concat();
        let why = read(&all).expect_err(key);
        assert!(why.contains(key) && why.contains(what), "{sets:?}: {why}");
    }
    let sets = [&MLC[..], &["ftl.paired_pages=backup"]].concat();
    let request = RunRequest::new("test.toml", "base = \"tiny\"").sets(&sets);
    let mut file = Vec::new();
    let files = Files { save: Some(&mut file), ..Files::default() };
    let job = Input::text("workload", "[job]\nrw=write\nbs=4k\nnumber_ios=7\n");
    let Err(why) = drive::session::run(&request, &job, files, &mut |_| true) else { panic!("it is saved") };
    assert!(why.to_string().contains("--save: paired pages (ftl.paired_pages)"), "{why}");
}
