//! Guest policies: answers within the contract do a drive no harm, and other answers are refused.

use crate::common::session_by;
use drive::session::{CustomPolicy, Outcome};
use ftl::policy::{
    Candidate, Collection, Dispatch, Idle, ModePolicy, Moving, Needs, PageMove, ReadAnswer, Relocation, UnitRead, View,
    WriteAnswer,
};
use kit::{BlockId, Lpn, ModeId, Nanos, Ppn, Problems, Reason, SimTime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use testkit::{RandomPolicy, case};

/// Number of cases with a policy that answers at random.
const CASES: u64 = 400;

/// Returns a number from the environment, if it is set.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs the case of a seed under a policy that answers at random. A panic is returned as an error, like a violation.
fn failure(seed: u64) -> Result<Option<case::Passed>, String> {
    let outcome =
        catch_unwind(AssertUnwindSafe(|| case::run_by(seed, 200, &|description| RandomPolicy::checked(description, seed))));
    match outcome {
        Ok(outcome) => outcome.map_err(|violation| violation.0),
        Err(panic) => Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it panicked".to_owned())),
    }
}

#[test]
fn a_policy_that_answers_at_random_does_a_drive_no_harm() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES);
    let (mut passed, mut failures, mut relocated, mut split) = (0, Vec::new(), 0, 0);
    for seed in first.. {
        if passed + failures.len() as u64 == cases {
            break;
        }
        match failure(seed) {
            Ok(Some(one)) => {
                assert_eq!(one.drive.map().policy().failure(), None, "seed {seed}: all its answers are legal");
                passed += 1;
                relocated += one.counts.relocated.iter().sum::<u64>();
                split += u64::from(one.drive.map().needs().splits_relocations());
            }
            Ok(None) => {}
            Err(why) => failures.push((seed, why)),
        }
    }
    assert!(failures.is_empty(), "{} of {cases} cases fail, the first: {:?}", failures.len(), failures[0]);
    assert!(20 * split > passed, "relocated data is hardly ever split: in {split} of {passed} cases");
    assert!(relocated > 100 * passed, "it has hardly anything moved: {relocated} units in {passed} cases");
}

/// Policy that writes in the normal mode and violates the contract in one respect, which its field names.
struct Wrong(&'static str);

/// Returns a move of the first mapped unit from its present place.
fn page(view: &View<'_>) -> PageMove {
    let (lpn, from) = (0..).find_map(|lpn| view.place_of(Lpn(lpn)).map(|from| (Lpn(lpn), from))).expect("some data");
    PageMove { lpn, from, reason: Reason::Rewrite, mode: ModeId(0), deadline: None }
}

impl Wrong {
    fn or<T>(&self, what: &str, wrong: T, right: T) -> T {
        if self.0 == what { wrong } else { right }
    }

    fn page(&self, call: &str, view: &View<'_>) -> Option<PageMove> {
        let (wanted, what) = self.0.split_once(' ')?;
        let right = page(view);
        (wanted == call).then(|| match what {
            "unit" => PageMove { lpn: Lpn(u32::MAX), ..right },
            "place" => PageMove { from: Ppn(u32::MAX), ..right },
            "mode" => PageMove { mode: ModeId(9), ..right },
            "reason" => PageMove { reason: Reason::Host, ..right },
            "stale" => PageMove { lpn: Lpn(right.lpn.0 + 1), ..right },
            // Names the new place of the unit after each move, so that the requests never end.
            "always" => right,
            other => panic!("{other}"),
        })
    }
}

impl ModePolicy for Wrong {
    fn needs(&self) -> Needs {
        Needs {
            host_streams: self.or("no stream", 0, if self.0 == "streams" { 200 } else { 2 }),
            relocation_streams: if self.0.starts_with("moved") { 3 } else { 0 },
            bits_per_unit: self.or("bits", 3, 0),
            reads: true,
            scores: true,
            moves: true,
            ..Needs::default()
        }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: ModeId(self.or("write mode", 2, 0)), stream: self.or("stream", 2, 1) }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(self.or("relocate", 77, 0))
    }

    fn relocate_to(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> WriteAnswer {
        let mode = if self.0 == "moved mode" { ModeId(78) } else { self.relocate(moving, view) };
        WriteAnswer { mode, stream: self.or("moved stream", 3, 2) }
    }

    fn read_issued(&mut self, _: &UnitRead, _: &mut View<'_>) -> ReadAnswer {
        ReadAnswer { mode: self.or("read mode", Some(ModeId(1)), None) }
    }

    fn score(&self, candidate: &Candidate, _: &mut View<'_>) -> f64 {
        self.or("score", f64::NAN, f64::from(candidate.invalid))
    }

    fn erase(&mut self, _: &Collection, _: &mut View<'_>) -> ModeId {
        ModeId(self.or("erase mode", 5, 0))
    }

    fn free_list(&mut self, _: u8, lists: &[u32], _: &mut View<'_>) -> u8 {
        let with = (0..lists.len()).find(|&level| lists[level] > 0).expect("asked where there is one") as u8;
        match self.0 {
            "level" => lists.len() as u8,
            "empty level" => (0..lists.len()).find(|&level| lists[level] == 0).map_or(with, |level| level as u8),
            "lazy_erase" => (0..lists.len()).rfind(|&level| lists[level] > 0).expect("as above") as u8,
            _ => with,
        }
    }

    fn lazy_erase(&mut self, _: BlockId, _: u8, _: &mut View<'_>) -> ModeId {
        ModeId(1)
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.page("urgent", view)
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.page("forced", view)
    }

    fn idle(&mut self, _: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        match self.0 {
            "block" => Some(Relocation::Block { block: BlockId(u32::MAX), reason: Reason::Rewrite }),
            "block reason" => Some(Relocation::Block { block: BlockId(0), reason: Reason::Padding }),
            _ => self.page("idle", view).map(Relocation::Page),
        }
    }

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.page("drain", view)
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        self.or("wake", Some(view.now + Nanos(1)), None)
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        match self.0 {
            "at once" => Some(Nanos(0)),
            "soon" if mode == ModeId(0) => Some(Nanos(1_000_000)),
            _ => None,
        }
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(self.or("old mode", 3, 0))
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![ModeId(self.or("uses", 8, 0))]
    }
}

/// Runs a policy that violates the contract in the respect `what`: writes and reads, then a second without commands,
/// further reads, and a shutdown.
fn run_by(what: &'static str, name: &str) -> Result<Outcome, Problems> {
    let sets = [
        "flash.blocks_per_plane=32",
        "flash.pages_per_block=16",
        "ftl.overprovisioning=0.6",
        "ftl.retention_margin=0ns",
        "state.precondition=random",
        "state.graceful_shutdown=true",
        "flash.write_mode[0].erase_level=0",
    ];
    let levels = "base = \"tiny\"\n[[flash.erase_mode]]\nname = \"deep\"\nlevel = 0\n[[flash.erase_mode]]\nname = \"shallow\"\nlevel = 1\nwear = 0.5\n";
    let job = "[a]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=6000\nio_size=1g\nnorandommap=1\n[b]\nstonewall\nstartdelay=1\nrw=randread\nnumber_ios=10\n";
    let guest = CustomPolicy { name: name.to_owned(), make: Box::new(move |_, _| Ok(Box::new(Wrong(what)))) };
    session_by(levels, &sets, None, Some(guest), job)
}

#[test]
fn a_policy_that_does_nothing_wrong_is_run_under_its_name() {
    let outcome = run_by("nothing", "mine").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(outcome.summary["policy"], "mine");
    assert!(outcome.drive_toml.starts_with("# The run's policy was `mine`"), "{}", outcome.drive_toml);
    assert!(
        outcome.summary["collections"].as_u64() > Some(100),
        "what is to be refused comes up: {}",
        outcome.summary["collections"]
    );
}

#[test]
fn what_a_policy_may_not_answer_ends_the_run_with_what_would_be_right() {
    for (what, expected) in [
        ("no stream", "host_streams: 0: expected at least 1"),
        ("streams", "does not fit: each die has 32 blocks"),
        ("bits", "bits_per_unit: 3: expected 0, 1, 2, 4 or 8"),
        ("old mode", "mode_of_old_data: write mode 3: expected 0..=1 (normal, fast)"),
        ("uses", "uses: write mode 8: expected 0..=1 (normal, fast)"),
        ("at once", "move_after: 0: expected a time above zero"),
        ("soon", "move_after: 1ms is too short for `normal`, the mode that data is moved in"),
        ("write mode", "write: write mode 2: expected 0..=1 (normal, fast)"),
        ("stream", "write: stream 2: expected 0..=1 (host_streams = 2)"),
        ("relocate", "relocate: write mode 77: expected 0..=1 (normal, fast)"),
        ("moved mode", "relocate: write mode 78: expected 0..=1 (normal, fast)"),
        ("moved stream", "relocate: stream 3: expected 0..=2 (relocation_streams = 3)"),
        ("read mode", "read_issued: read mode 1: expected 0..=0"),
        ("score", "score: NaN: expected a number"),
        ("erase mode", "erase: erase mode 5: expected 0..=1 (deep, shallow)"),
        ("level", "free_list: level 2: expected one with free blocks, of ["),
        ("empty level", "free_list: level 1: expected one with free blocks, of ["),
        ("urgent unit", "urgent: unit 4294967295: expected 0..="),
        ("forced place", "forced: place 4294967295: expected 0..=2047"),
        ("idle mode", "idle: write mode 9: expected 0..=1 (normal, fast)"),
        ("drain reason", "drain: reason `host`: expected one of gc, wear, rewrite, reprogram, scrub, evacuate"),
        ("block", "idle: block 4294967295: expected 0..=127"),
        ("block reason", "idle: reason `padding`: expected one of gc,"),
    ] {
        let problems = run_by(what, "mine").err().unwrap_or_else(|| panic!("{what}: accepted"));
        assert!(problems.to_string().contains(expected), "{what}: {problems}");
        assert_eq!(problems.0.len(), 1, "{what}: {problems}");
    }
}

#[test]
fn a_policy_that_wants_the_same_for_ever_comes_to_an_end() {
    for (what, expected) in [
        ("urgent stale", "urgent: 1048576 moves in a row of pages that are not where it says"),
        ("forced stale", "forced: 1048576 moves in a row of pages that are not where it says"),
        ("urgent always", "urgent: more than 2"),
        ("drain stale", "drain: "),
        ("drain always", "drain: more than 2"),
        ("wake", "wake_at: woken 1048576 times within"),
    ] {
        let problems = run_by(what, "mine").err().unwrap_or_else(|| panic!("{what}: accepted"));
        assert!(problems.to_string().contains(expected), "{what}: {problems}");
    }
    // These moves yield to waiting commands: the run is only slower.
    for what in ["idle always", "idle stale", "forced always"] {
        let outcome = run_by(what, "mine").unwrap_or_else(|problems| panic!("{what}: {problems}"));
        assert_eq!(
            outcome.summary["commands"]["read"].as_u64().zip(outcome.summary["commands"]["write"].as_u64()).map(|(r, w)| r + w),
            Some(6010)
        );
    }
}

/// Policy that asks at a shutdown for moves of pages that are elsewhere, and then for one of a page that is where it
/// says.
struct Strayed {
    drains: u32,
}

impl ModePolicy for Strayed {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, moves: true, ..Needs::default() }
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

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.drains += 1;
        let right = page(view);
        match self.drains {
            0..=5 => Some(PageMove { lpn: Lpn(right.lpn.0 + 1), ..right }),
            6 => Some(right),
            _ => None,
        }
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

/// The next event after the last command is a retention limit, in ten years: the shutdown waits for the one move alone.
#[test]
fn a_shutdown_passes_over_pages_that_are_elsewhere() {
    let make = Box::new(|_: &_, _| Ok(Box::new(Strayed { drains: 0 }) as Box<dyn ModePolicy>));
    let guest = CustomPolicy { name: "strayed".to_owned(), make };
    let job = "[a]\nrw=write\nnumber_ios=100\n";
    let outcome = session_by("base = \"tiny\"", &["state.graceful_shutdown=true"], None, Some(guest), job)
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(outcome.summary["flash"]["programs"]["rewrite"].as_u64(), Some(1));
    let took = outcome.summary["shutdown_ns"].as_u64();
    assert!(took > Some(650_000) && took < Some(1_000_000), "a read and a program: {took:?}");
}

#[test]
fn a_guest_has_a_name_of_its_own() {
    for name in ["", "../results", ".hidden", "two words", &"n".repeat(256)] {
        let problems = run_by("nothing", name).err().unwrap_or_else(|| panic!("`{name}` is accepted"));
        assert!(problems.to_string().contains("expected 1 to 255 bytes of letters"), "{problems}");
    }
    let problems = run_by("nothing", "ofwar").err().expect("the name of a member is refused");
    assert!(problems.to_string().contains("`ofwar`: is the name of a built-in policy: expected another"), "{problems}");
}
