//! Operational laws (Denning and Buzen, The operational analysis of queueing network models, 1978) on random drives
//! under closed loops. No resource is busy for longer than the elapsed time. Its busy time is that of its work, which
//! follows from the description and the counts of commands and flash operations. Throughput is at most the number of
//! its servers over its demand. The bottleneck that results name has the largest demand.

mod demands;
mod depth;

use crate::common::{Rig, session};
use demands::{Counts, Work, work};
use drive::Description;
use flash::Snapshot;
use host::InterfaceConfig;
use kit::history::EntryKind;
use kit::{Nanos, OperationKind, Reason, SimTime};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::case::{self, Detail};

/// Random drives with a detailed controller, most of them with reads that can fail, and `more` overrides.
fn drives(more: &[&str]) -> impl Iterator<Item = (u64, Vec<String>, Description)> + use<> {
    let more: Vec<String> = more.iter().map(|set| (*set).to_owned()).collect();
    (0..).filter_map(move |seed| {
        let mut sets = case::overrides(seed, Detail::Controller);
        sets.extend(more.clone());
        let read = |sets: &[String]| Description::read("random.toml", &case::text(seed), sets).ok();
        let first = read(&sets)?;
        // Commands are fetched, and completions announced, one by one, so that their number is that of the transfers.
        if matches!(first.host.interface, InterfaceConfig::Nvme(_)) {
            sets.extend(["fetch_batch=1", "coalesced=1"].map(|set| format!("host.interface.{set}")));
        }
        read(&sets).map(|description| (seed, sets, description))
    })
}

/// Returns a closed loop of aligned commands of one mapping unit.
fn closed_loop(seed: u64, commands: u64) -> String {
    closed_loop_of(seed, [1, 4, 17, 64][(seed % 4) as usize], [0, 30, 70, 100][(seed / 4 % 4) as usize], commands)
}

/// Returns a closed loop of this depth, with this percentage of reads.
fn closed_loop_of(seed: u64, depth: u32, reads: u32, commands: u64) -> String {
    format!(
        "rw=randrw\nrwmixread={reads}\nbs=4k\nnorandommap=1\niodepth={depth}\nio_size=100g\nnumber_ios={commands}\nrandseed={seed}"
    )
}

/// Returns the name of the kind of a resource: its own without its number.
fn kind(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

/// Checks the sections `utilisation` and `bottleneck` of a summary. Returns the kind of the bottleneck.
fn check_bottleneck(what: &str, summary: &Value) -> String {
    let all = summary["utilisation"].as_object().expect("a section");
    // Means, parts of another resource, and page buffers, which also wait for others while they are in use.
    let is_no_candidate = |name: &str| {
        ["channels", "dies", "dies_writing"].contains(&name)
            || name.starts_with("dram_bus")
            || name.starts_with("page_buffers")
            || name == "decoders" && all.contains_key("decoders_0")
    };
    let shares: Vec<(&str, f64)> = all
        .iter()
        .map(|(name, share)| (name.as_str(), share.as_f64().expect("a share")))
        .inspect(|(name, share)| assert!((0.0..=1.0).contains(share), "{what}: {name} is busy for {share} of the time"))
        .filter(|(name, _)| !is_no_candidate(name))
        .collect();
    let most = |shares: &[(&str, f64)]| shares.iter().fold(0.0, |most: f64, (_, share)| most.max(*share));
    let found = &summary["bottleneck"];
    let named = found["resource"].as_str().unwrap_or_else(|| panic!("{what}: no bottleneck in {shares:?}"));
    let of_named = shares.iter().find(|(name, _)| *name == named).unwrap_or_else(|| panic!("{what}: {named} is no resource")).1;
    assert_eq!((of_named, found["utilisation"].as_f64()), (most(&shares), Some(of_named)), "{what}: {found} of {shares:?}");
    let others: Vec<_> = shares.iter().filter(|(name, _)| kind(name) != kind(named)).copied().collect();
    assert_eq!(found["next_utilisation"].as_f64().unwrap_or(0.0), most(&others), "{what}: {found} of {shares:?}");
    // The bound of the named resource holds for the throughput, and is the tightest.
    let (commands, elapsed) =
        (summary["latency"]["all"]["count"].as_f64().expect("a count"), summary["simulated_ns"].as_f64().expect("a time"));
    let bound = |share: f64| commands / (share * elapsed);
    let throughput = summary["throughput"]["iops"].as_f64().expect("a rate") / 1e9;
    assert!(throughput <= bound(of_named) * (1.0 + 1e-12), "{what}: {throughput} is above the bound of {named}");
    assert!(shares.iter().all(|(_, share)| bound(*share) >= bound(of_named)), "{what}: {named} has not the largest demand");
    kind(named).to_owned()
}

#[test]
fn the_bottleneck_of_a_closed_loop_has_the_largest_demand() {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for (seed, sets, _) in drives(&[]).take(250) {
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let job = format!("[job]\n{}\n", closed_loop(seed, 150));
        let outcome = session(&case::text(seed), &sets, None, &job).unwrap_or_else(|problems| panic!("seed {seed}: {problems}"));
        *kinds.entry(check_bottleneck(&format!("seed {seed}"), &outcome.summary)).or_default() += 1;
    }
    // The test is meaningful only if many kinds of resources are the bottleneck of some drive.
    assert!(kinds.len() >= 12, "few bottlenecks: {kinds:?}");
}

/// Runs a closed loop, and brings the drive to rest. Returns the drive, the clocks of its flash at the start, and the
/// counts of its work.
fn run(seed: u64, description: &Description) -> (Rig, Snapshot, Counts) {
    let mut rig = Rig::of(description);
    let start = rig.drive.flash().snapshot(rig.drive.now());
    rig.drive.history().enable(true);
    rig.replay(&closed_loop(seed, 300));
    rig.drive.rest();
    rig.drive.history().close();
    let entries: Vec<_> = rig.drive.history().take().collect();
    let table = description.flash.read_modes.len().max(1);
    let (flash, ftl) = (&rig.drive.flash().counters, &rig.drive.translator().report().counters);
    let reasons = |of: fn(Reason) -> bool| {
        Reason::ALL.iter().filter(|reason| of(**reason)).map(|reason| flash.reads[*reason as usize]).sum()
    };
    let is_relocation = |reason: Reason| !matches!(reason, Reason::Host | Reason::Rmw);
    let mut counts = Counts {
        reads: rig.drive.statistics.totals.sums[0].count(),
        writes: rig.drive.statistics.totals.sums[1].count(),
        read_operations: flash.operations[OperationKind::Read as usize],
        read_units: flash.reads.iter().sum(),
        relocation_units: reasons(is_relocation),
        programs: flash.operations[OperationKind::Program as usize],
        program_units: u64::from(description.geometry().units_per_program),
        erases: flash.operations[OperationKind::Erase as usize],
        lazy_erases: flash.operations[OperationKind::LazyErase as usize],
        suspensions: flash.suspensions,
        host_units_by_mode: ftl.host_units_by_mode,
        ..Counts::default()
    };
    counts.program_units *= counts.programs;
    if let Some(reads) = rig.drive.controller().reads() {
        counts.retries = reads.statistics.retries();
        counts.codewords = reads.statistics.codewords;
    }
    let mut open: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    for entry in entries {
        let (Some(die), at) = (entry.die(), entry.time.0) else { continue };
        let (depth, since) = open.entry(die.0).or_default();
        match entry.kind() {
            EntryKind::Started(kind) => {
                *since = if *depth == 0 { at } else { *since };
                *depth += 1;
                let is_first = entry.mode().is_some_and(|mode| mode.index() < table);
                let is_read = kind == OperationKind::Read && entry.tag() != Reason::Host as u32;
                counts.relocation_reads += u64::from(is_read && is_first);
            }
            EntryKind::Ended(_) => {
                *depth -= 1;
                counts.die_spans += if *depth == 0 { at - *since } else { 0 };
            }
            EntryKind::Completed(_) => {}
        }
    }
    (rig, start, counts)
}

/// Returns the busy time of all servers whose name is one of `names`, with a number or without.
fn busy(rig: &Rig, start: &Snapshot, names: &[String], elapsed: Nanos) -> (u64, u64) {
    let drive = &rig.drive;
    // What the last command has left on the link is done after it.
    let flash = drive.flash().utilisation(drive.now(), start);
    let in_ns =
        |shares: &[f64]| (shares.len() as u64, shares.iter().map(|share| (share * elapsed.0 as f64).round() as u64).sum());
    match names {
        [name] if name == "channel" => in_ns(&flash.channels),
        [name] if name == "die" => in_ns(&flash.dies),
        [name] if name == "decoders" => {
            let decoders = drive.controller().reads().and_then(|reads| reads.decoders());
            decoders.map_or((0, 0), |decoders| {
                let busy = decoders.busy(SimTime::LAST);
                ((busy.len() * decoders.threads()) as u64, busy.iter().sum())
            })
        }
        _ => {
            let of = drive
                .controller()
                .busy(SimTime::LAST)
                .filter(|one| names.iter().any(|name| one.name == name || kind(one.name) == name));
            of.fold((0, 0), |(count, busy), one| (count + 1, busy + one.time.0))
        }
    }
}

#[test]
fn busy_times_are_those_of_the_work() {
    // Flash operations of which each senses or programs one page, unless `multi_plane` is set, and no copybacks, whose
    // data crosses nothing.
    let more = ["flash.copyback=false", "state.precondition=fill", "ecc.calibration=false", "ecc.read_levels=by_write_mode"];
    let mut exact: BTreeMap<&str, u32> = BTreeMap::new();
    // The work for map pages follows from what is in the cache: `map_cache` counts it on drives made for it.
    let whole_map = |drive: &(u64, Vec<String>, Description)| drive.2.ftl.map_cache.is_none();
    // Random drives have no DMA controller, and handshakes without a time of their own: some are given them.
    let given = [
        "controller.dma={channels=1,setup=\"700ns\"}",
        "controller.dma={channels=3,setup=\"90ns\",rate=\"300MB/s\"}",
        "host.interface={kind=\"sata\",handshake_time=\"300ns\"}",
    ];
    let given = given.into_iter().flat_map(|set| drives(&[&more[..], &[set]].concat()).filter(whole_map).take(20));
    for (seed, _, description) in drives(&more).filter(whole_map).take(400).chain(given) {
        let (rig, start, counts) = run(seed, &description);
        let elapsed = rig.drive.now().since(SimTime::ZERO);
        for Work { what, names, least, most } in work(&description, &counts) {
            let (servers, busy) = busy(&rig, &start, &names, elapsed);
            let found = busy as f64;
            let says = format!("seed {seed}: {what} {names:?} busy for {busy} ns, expected {least} to {most}: {counts:?}");
            assert!(servers > 0, "no such resource: {says}");
            assert!(found >= least - 1.0 && found <= most + 1.0, "{says}");
            // Commands per second are at most the servers over the demand. The last command may leave work behind.
            let commands = (counts.reads + counts.writes) as f64;
            let demand = least / commands;
            assert!((commands - 1.0) * demand <= (servers * elapsed.0) as f64, "{says}, in {elapsed}");
            if most.is_finite() {
                *exact.entry(what).or_default() += u32::from(found > 0.0 && most - least <= 0.01 * found);
            }
        }
    }
    // The test is meaningful only if the work of many drives is known.
    assert!(exact.len() >= 15, "{exact:?}");
    for (what, count) in &exact {
        assert!(*count >= 4, "{what} is known within 1 % on {count} drives only: {exact:?}");
    }
}
