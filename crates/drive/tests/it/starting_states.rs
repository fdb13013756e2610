//! Starting states that a session keeps: a run from a kept state is the run of a drive that was filled for it.

use crate::saved::{has_map, of_preset};
use drive::lifetime::{LifetimeRequest, lifetime};
use drive::options::RunOptions;
use drive::presets::{PRESETS, Preset, find};
use drive::session::{
    Claim, CustomPolicy, Files, KeepShared, Outcome, RunRequest, Session, SharedStates, StatesReport, starting_state_key,
};
use ftl::PolicyConfig;
use kit::Problems;
use kit::history::Digest;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};
use testkit::differences;
use workload::Input;

const JOB: &str = "[job]\nrw=randrw\nrwmixread=30\nbssplit=4k/70:16k/20:512/10\niodepth=16\nnorandommap=1\nio_size=4g\n";
const LIMIT: u64 = 1 << 30;
/// A code, and an error rate with which some reads are retried.
const BCH: &str = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 40 }";
const RATE: &str = "ecc.errors={ kind = \"constant\", rates = [0.001] }";

/// Results of a run that must not depend on the origin of its starting state: the summary without the wall time, and
/// the digest of the history.
type Ran = (Value, Option<Digest>);

fn ran(outcome: Outcome) -> Ran {
    let mut summary = outcome.summary;
    summary.as_object_mut().expect("an object").shift_remove("wall_s");
    (summary, outcome.history)
}

/// Runs the first commands of a job in a session.
fn try_run(session: &Session, request: &RunRequest, custom: Option<CustomPolicy<'_>>) -> Result<Ran, Problems> {
    let request = request.clone().history().run(RunOptions { stop_after: Some(1000), ..RunOptions::default() });
    session.run(&request, &Input::text("job", JOB), Files::default(), custom, &mut |_| true).map(ran).map_err(Problems::from)
}

#[track_caller]
fn run(session: &Session, request: &RunRequest) -> Ran {
    try_run(session, request, None).unwrap_or_else(|problems| panic!("{problems}"))
}

fn key(request: &RunRequest) -> Option<String> {
    let key = starting_state_key(request, &Files::default(), None).map_err(Problems::from);
    key.unwrap_or_else(|problems| panic!("{problems}"))
}

#[track_caller]
fn assert_same(name: &str, fresh: &Ran, other: &Ran) {
    assert!(fresh.1.is_some_and(|digest| digest.entries > 1000), "{name}: nothing happened");
    assert_eq!(differences(&fresh.0, &other.0), [], "{name}");
    assert_eq!(fresh.1, other.1, "{name}: another history");
}

/// Runs a request in a session that shares only models, and twice in one that keeps states; the last run must begin
/// with a kept state.
#[track_caller]
fn assert_kept_is_fresh(models: &Session, kept: &Session, name: &str, request: &RunRequest) {
    let fresh = run(models, request);
    assert_same(name, &fresh, &run(kept, request));
    let hits = kept.states().hits;
    assert_same(name, &fresh, &run(kept, request));
    assert_eq!(kept.states().hits, hits + 1, "{name}: the state was computed again");
}

fn tiny() -> RunRequest {
    of_preset(find("tiny").expect("a preset"), "steady", None)
}

#[test]
fn every_preset_runs_from_a_kept_state_as_from_a_fresh_one() {
    let models = Session::default();
    for preset in PRESETS.iter().filter(|preset| has_map(preset)) {
        let kept = Session::keeping(LIMIT);
        for state in ["fill", "steady"] {
            let request = of_preset(preset, state, None).set("flash.pages_per_block=96").set("ftl.overprovisioning=0.3");
            assert_kept_is_fresh(&models, &kept, &format!("{} from {state}", preset.name), &request);
        }
        assert_eq!(kept.states().count, 2, "{}", preset.name);
    }
    assert_eq!(models.states(), StatesReport::default(), "nothing is kept unless that was asked for");
}

#[test]
fn drives_of_every_kind_run_from_a_kept_state_as_from_a_fresh_one() {
    let (models, kept) = (Session::default(), Session::keeping(LIMIT));
    let kinds: &[&[&str]] = &[
        &["state.precondition=random"],
        &["ftl.map_cache={ size = \"256KiB\", page_entries = 64, journal = \"64KiB\" }", "ftl.gc_critical_blocks=3"],
        &[BCH, RATE, "state.pe_cycles=900", "state.age=1000h"],
        &["ftl.allocation_order=CWDP", "flash.planes_per_die=2", "flash.blocks_per_plane=64"],
        &["ftl.victim={ kind = \"d_choices\", d = 3 }", "ftl.separate_relocations=true"],
        &["ftl.victim={ kind = \"random\" }", "buffer.read_cache=1MiB"],
        &["ftl.gc_spare_fraction=0.4", "ftl.gc_idle_after=1ms", "ftl.wear_leveling={ kind = \"static_cold\", spread = 2 }"],
    ];
    for sets in kinds {
        assert_kept_is_fresh(&models, &kept, &format!("{sets:?}"), &tiny().sets(sets));
    }
    assert_eq!((kept.states().count, kept.states().hits), (kinds.len() as u64, kinds.len() as u64));
}

/// Runs a preset under every policy that it has the modes for. Policies with equal needs start from one state.
fn under_all_policies(models: &Session, kept: &Session, preset: &Preset) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    for policy in PolicyConfig::NAMES.iter().copied() {
        let mut request = of_preset(preset, "steady", Some(policy));
        if policy == "combine" {
            request = request.set("policy.combine.members=[\"ofwar\", \"wear_adaptive\"]");
        }
        let Ok(fresh) = try_run(models, &request, None) else { continue };
        for turn in ["the first time", "again"] {
            assert_same(&format!("{} {policy} {turn}", preset.name), &fresh, &run(kept, &request));
        }
        reached.insert(policy);
    }
    reached
}

#[test]
fn every_policy_runs_from_a_kept_state_as_from_a_fresh_one() {
    let (models, mut reached) = (Session::default(), BTreeSet::new());
    for name in ["tiny", "tlc-1tb", "agcr-64g", "rr-ecc-106g", "dpes-enterprise"] {
        let kept = Session::keeping(LIMIT);
        let policies = under_all_policies(&models, &kept, find(name).expect("a preset"));
        let states = kept.states();
        assert_eq!(states.hits + states.count, 2 * policies.len() as u64, "{name}: each run finds a state or leaves one");
        assert!((states.count as usize) < policies.len().max(2), "{name}: {states:?} of {policies:?}");
        reached.extend(policies);
    }
    let missed: Vec<_> = PolicyConfig::NAMES.iter().filter(|name| !reached.contains(*name)).collect();
    assert!(missed.is_empty(), "no drive was run under {missed:?}");
}

#[test]
fn a_custom_policy_runs_from_a_kept_state_as_from_a_fresh_one() {
    let kept = Session::keeping(LIMIT);
    let custom = |kind: &'static str| {
        let config = PolicyConfig { kind: kind.to_owned(), ..PolicyConfig::default() };
        CustomPolicy {
            name: "mine".to_owned(),
            make: Box::new(move |facts, _| Ok(config.build(facts).expect("a policy of the list"))),
        }
    };
    for (count, kind) in (1..).zip(["ofwar", "all_fast"]) {
        let ran =
            |session: &Session| try_run(session, &tiny(), Some(custom(kind))).unwrap_or_else(|problems| panic!("{problems}"));
        let fresh = ran(&Session::default());
        assert_same(kind, &fresh, &ran(&kept));
        assert_same(kind, &fresh, &ran(&kept));
        assert_eq!((kept.states().count, kept.states().hits), (count, count), "{kind}");
        let own = starting_state_key(&tiny(), &Files::default(), Some(custom(kind))).map_err(Problems::from);
        assert_eq!(own.unwrap_or_else(|problems| panic!("{problems}")), key(&tiny().policy(kind)), "it is known by its needs");
    }
}

/// One option that changes the starting state, and one that does not.
#[test]
fn only_equal_states_are_shared() {
    let (models, kept) = (Session::default(), Session::keeping(LIMIT));
    let base = tiny();
    let others = [
        base.clone().seed(2),
        base.clone().set("ftl.victim={ kind = \"fifo\" }"),
        base.clone().set("ftl.overprovisioning=0.35"),
        base.clone().set("state.age=10h"),
        base.clone().set("state.pe_cycles=5"),
        base.clone().policy("ofwar"),
        base.clone().precondition("fill"),
        base.clone().precondition("random"),
        base.clone().precondition("random").set("state.overwrite_passes=3"),
        base.clone().set("flash.program_time=900us"),
        base.clone().set("flash.channels=1"),
        base.clone().set("flash.transfer_rate=800MT/s"),
        base.clone().set("ftl.gc_preemptible=false"),
        base.clone().set("state.load=light"),
    ];
    let all: Vec<&RunRequest> = [&base].into_iter().chain(&others).collect();
    for (number, request) in (0..).zip(&all) {
        assert_same(&format!("request {number}"), &run(&models, request), &run(&kept, request));
        assert_eq!(kept.states().hits, 0, "request {number} found the state of another");
    }
    let keys: BTreeSet<_> = all.iter().map(|request| key(request)).collect();
    assert_eq!((keys.len(), kept.states().count), (all.len(), all.len() as u64));
    let alike = [
        base.clone().set("flash.scheduler={ kind = \"fifo\" }"),
        base.clone().set("ftl.write_allocation=static"),
        base.clone().set("flash.write_mode[0].retention=90d"),
        base.clone().policy("all_fast"),
    ];
    for (hits, request) in (1..).zip(&alike) {
        assert_same(&format!("alike {hits}"), &run(&models, request), &run(&kept, request));
        assert_eq!((kept.states().hits, key(request)), (hits, key(&base)), "alike {hits}");
    }
    // A state that is reached faster than it is copied is not kept.
    let empty = base.clone().precondition("none");
    assert_same("none", &run(&models, &empty), &run(&kept, &empty));
    assert_eq!(kept.states().count, all.len() as u64);
}

#[test]
fn the_state_used_least_recently_gives_way() {
    let whole = Session::keeping(LIMIT);
    let fresh: Vec<Ran> = (0..4).map(|seed| run(&whole, &tiny().seed(seed))).collect();
    let bytes = whole.states().bytes / 4;
    let within = |limit: u64, seeds: &[u64]| {
        let session = Session::keeping(limit);
        for &seed in seeds {
            assert_same(&format!("seed {seed} of {seeds:?}"), &fresh[seed as usize], &run(&session, &tiny().seed(seed)));
            assert!(session.states().bytes <= limit);
        }
        (session.states().count, session.states().hits)
    };
    let two = bytes * 5 / 2;
    assert_eq!(within(two, &[0, 1, 0, 1]), (2, 2));
    assert_eq!(within(two, &[0, 1, 2, 0]), (2, 0), "0 gave way to 2");
    assert_eq!(within(two, &[0, 1, 0, 2, 0]), (2, 2), "1 gave way to 2");
    assert_eq!(within(two, &[0, 1, 0, 2, 1]), (2, 1), "1 was gone");
    assert_eq!(within(bytes / 2, &[0, 0, 1]), (0, 0), "none fits");
    assert_eq!(within(0, &[0, 0, 1]), (0, 0));
    assert_eq!(within(LIMIT, &[0, 1, 2, 3, 3, 2, 1, 0]), (4, 4));
}

#[test]
fn runs_at_the_same_time_share_a_state() {
    let session = Session::keeping(LIMIT);
    let expected = run(&session, &tiny());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..5).for_each(|_| assert_same("beside another", &expected, &run(&session, &tiny()))));
            scope.spawn(|| run(&session, &tiny().seed(2)));
        }
    });
    let states = session.states();
    assert_eq!(states.count, 2);
    assert!((10..=11).contains(&states.hits), "{states:?}");
}

#[test]
fn a_life_begins_with_a_kept_state() {
    let sets = ["flash.channels=2", "flash.blocks_per_plane=64", "flash.pages_per_block=16", "flash.rated_pe_cycles=20"];
    let setup = json!({"set": sets, "precondition": "steady"});
    let fields = json!({"drive": {"name": "tiny", "text": "base = \"tiny\""}, "setup": setup, "life": {"method": "full"}});
    let request: LifetimeRequest = serde_json::from_value(fields).expect("a request");
    let job = Input::text("job", "[job]\nrw=randwrite\nnorandommap=1\niodepth=4\nio_size=200%\n");
    let life = |session: &Session| {
        let outcome = lifetime(session, &request, &job, Files::default(), &mut |_| true);
        let mut report = outcome.unwrap_or_else(|problems| panic!("{problems}")).report;
        report.as_object_mut().expect("an object").shift_remove("wall_s");
        report
    };
    let session = Session::keeping(LIMIT);
    let fresh = life(&Session::default());
    for _ in 0..2 {
        assert_eq!(differences(&fresh, &life(&session)), []);
    }
    assert_eq!((session.states().count, session.states().hits), (1, 1));
}

#[test]
fn a_drive_that_is_loaded_or_has_no_map_has_no_key() {
    let base = RunRequest::new("tiny", "base = \"tiny\"");
    assert_eq!(key(&base.clone().set("ftl.translation={ kind = \"waf\" }")), None);
    let load = Some(("saved".to_owned(), Box::new(&[][..]) as Box<dyn std::io::Read>));
    let loaded = starting_state_key(&base, &Files { load, ..Files::default() }, None).map_err(Problems::from);
    assert_eq!(loaded.unwrap_or_else(|problems| panic!("{problems}")), None);
    let key = key(&base).expect("it has one");
    assert!(key.len() == 32 && key.bytes().all(|digit| digit.is_ascii_hexdigit()), "{key}");
    let wrong = starting_state_key(&base.set("flash.channels=many"), &Files::default(), None).map_err(Problems::from);
    assert!(wrong.expect_err("a number is expected").to_string().contains("flash.channels"));
}

/// Files of states by key, in place of a folder, and the number of claims to make one and to read one.
#[derive(Default)]
struct Shelf {
    files: BTreeMap<String, Vec<u8>>,
    made: usize,
    read: usize,
}

#[derive(Clone, Default)]
struct Shelves(Arc<Mutex<Shelf>>);

struct Place(Shelves, String);

impl Shelves {
    fn with<T>(&self, work: impl FnOnce(&mut Shelf) -> T) -> T {
        work(&mut self.0.lock().expect("nobody panics with it"))
    }
}

impl SharedStates for Shelves {
    fn claim(&self, key: &str) -> Result<Claim, String> {
        Ok(self.with(|shelf| {
            let Some(file) = shelf.files.get(key).cloned() else {
                shelf.made += 1;
                return Claim::Make(Box::new(Place(self.clone(), key.to_owned())));
            };
            shelf.read += 1;
            Claim::Saved(Box::new(Cursor::new(file)))
        }))
    }
}

impl KeepShared for Place {
    fn keep(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) {
        let mut file = Vec::new();
        write(&mut file).expect("memory");
        self.0.with(|shelf| shelf.files.insert(self.1.clone(), file));
    }
}

#[test]
fn a_run_from_the_state_of_another_process_is_a_run_from_a_fresh_one() {
    let models = Session::default();
    for preset in PRESETS.iter().filter(|preset| has_map(preset)) {
        let shelves = Shelves::default();
        for state in ["fill", "steady"] {
            let name = format!("{} from {state}", preset.name);
            let request = of_preset(preset, state, None).set("flash.pages_per_block=96").set("ftl.overprovisioning=0.3");
            let fresh = run(&models, &request);
            for session in [Session::keeping(LIMIT), Session::keeping(LIMIT), Session::default()] {
                assert_same(&name, &fresh, &run(&session.sharing(Box::new(shelves.clone())), &request));
            }
        }
        let expected = (2, 4, 2);
        assert_eq!(shelves.with(|shelf| (shelf.made, shelf.read, shelf.files.len())), expected, "{}", preset.name);
    }
}

#[test]
fn a_session_looks_in_its_memory_first_and_refuses_a_file_that_is_cut_off() {
    let (shelves, request) = (Shelves::default(), tiny());
    let session = Session::keeping(LIMIT).sharing(Box::new(shelves.clone()));
    (0..3).for_each(|_| drop(run(&session, &request)));
    assert_eq!((session.states().hits, shelves.with(|shelf| (shelf.made, shelf.read))), (2, (1, 0)));
    shelves.with(|shelf| shelf.files.values_mut().for_each(|file| file.truncate(file.len() - 1)));
    let other = Session::keeping(LIMIT).sharing(Box::new(shelves));
    let refused = try_run(&other, &request, None).expect_err("a file that is cut off").to_string();
    assert!(refused.contains("the starting states that processes share"), "{refused}");
}
