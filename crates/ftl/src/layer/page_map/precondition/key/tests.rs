//! A copy of a starting state is the state; a field that is left out of the key changes nothing of it.

use super::*;
use crate::config::{FractionOf, IdlePart, PartialWrite, ReadInFlight, UnmappedRead};
use crate::layer::mapping::Mapping;
use crate::layer::page_map::ftl::tests::small;
use crate::layer::page_map::ftl::{Ftl, StartingState};
use crate::layer::page_map::precondition::ScaleModels;
use crate::map_cache::MapMemory;
use crate::map_journal::JournalConfig;
use crate::medium::tests::geometry;
use crate::policy::{Dispatch, Moving, View, WriteAnswer};
use crate::queue::order::{AllocationOrder, WriteAllocation};
use crate::{ReadCacheConfig, VictimConfig, WearConfig};
use kit::{Archive, Archived, Bytes, DieId, Lpn, Nanos, Rng, UNIT_BYTES};
use std::collections::BTreeSet;

/// A policy that only declares.
struct Declared(Needs, ModeId);

impl ModePolicy for Declared {
    fn needs(&self) -> Needs {
        self.0
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.1
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.1
    }

    fn state(&mut self, _: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}

/// Everything that a drive is made from and preconditioned with.
#[derive(Clone)]
struct Case {
    config: FtlSection,
    parameters: Parameters,
    needs: Needs,
    old_mode: ModeId,
    how: Preconditioned,
}

impl Case {
    /// Returns a drive of four dies, a third of which is spare, with a mapping cache.
    fn new(method: Precondition) -> Case {
        let ftl = small(geometry(4, 2, 40, 8, 2), |config, parameters| {
            config.overprovisioning = 0.5;
            (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
            (parameters.facts.die_count, parameters.facts.units_per_program) = (4, 2);
            parameters.erase_wear = vec![vec![1000, 1500]];
        });
        let map_cache = MapCacheConfig {
            size: Bytes(64 * UNIT_BYTES),
            page_entries: 16,
            memory: MapMemory::Sram,
            update_share: 0.25,
            dirty_share: 0.5,
            journal: Some(Bytes(8 * UNIT_BYTES)),
        };
        Case {
            config: FtlSection { map_cache: Some(map_cache), ..ftl.derived.config.clone() },
            parameters: ftl.derived.parameters.clone(),
            needs: Needs { host_streams: 1, ..Needs::default() },
            old_mode: ModeId(0),
            how: Preconditioned { method, age: Nanos(1_000_000), pe_cycles: 7 },
        }
    }

    fn but(&self, change: &dyn Fn(&mut Case)) -> Case {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    fn policy(&self) -> Declared {
        Declared(self.needs, self.old_mode)
    }

    fn key(&self) -> StartingKey {
        StartingKey::new(&self.config, &self.parameters, &self.policy(), &self.how)
    }

    /// Returns a new drive.
    fn new_drive(&self) -> Ftl {
        Ftl::new(&self.config, Box::new(self.policy()), self.parameters.clone()).expect("a small drive fits into memory")
    }

    /// Returns the drive in its starting state.
    fn started(&self) -> Ftl {
        let mut ftl = self.new_drive();
        assert!(ftl.precondition(&self.how, &ScaleModels::default(), &mut |_| true).expect("memory"), "nobody interrupts it");
        assert_eq!(ftl.starting_key(&self.how), self.key());
        ftl
    }

    /// Returns a drive that starts from a copy of another one's state.
    fn started_from(&self, state: &StartingState) -> Ftl {
        let mut ftl = self.new_drive();
        ftl.start_from(state);
        ftl
    }
}

/// Returns all that is known of the state of a drive: the saved file, and what that leaves to be derived.
fn whole(ftl: &mut Ftl) -> Vec<u8> {
    let mut all = Vec::new();
    ftl.save(&mut all).expect("memory");
    (0..ftl.state.store.all_units() as u32).for_each(|unit| all.extend(ftl.state.store.code_of(Lpn(unit)).to_ne_bytes()));
    let modes = 0..ftl.derived.parameters.facts.write_modes.len() as u8;
    let dies = (0..ftl.state.store.medium.geometry.die_count).map(DieId);
    for (die, mode) in dies.flat_map(|die| modes.clone().map(move |mode| (die, ModeId(mode)))) {
        let space = (ftl.state.space.free_blocks(die), ftl.state.space.has_space(die), ftl.state.space.dies_with_space());
        all.extend(format!("{:?} {space:?}", ftl.state.store.medium.min_valid(die, mode)).bytes());
    }
    let store = &ftl.state.store;
    let totals = (
        store.medium.erase_total,
        store.medium.wear_total,
        store.medium.wear_most,
        &store.medium.retired,
        store.medium.valid_by_mode,
    );
    all.extend(format!("{totals:?} {:?} {:?}", ftl.retention_report(), ftl.mapped_units()).bytes());
    all
}

/// Writes to a drive and collects, without time.
fn go_on(ftl: &mut Ftl) {
    let mut rng = Rng::stream(1, "further writes");
    for step in 0..3000 {
        let unit = rng.below(ftl.state.store.user_units) as u32;
        ftl.write_untimed(Lpn(unit), DieId(step % ftl.state.store.medium.geometry.die_count));
    }
    ftl.state.space.opened.clear();
}

const METHODS: [Precondition; 3] = [Precondition::Fill, Precondition::Random { passes: 1 }, Precondition::Steady];

type Change = (&'static str, &'static dyn Fn(&mut Case));

/// Has a load with pauses, in which the dies collect up to a number of free blocks.
fn kept_in_pauses(case: &mut Case, blocks: u32) {
    (case.parameters.load.is_light, case.parameters.load.has_pauses) = (true, true);
    (case.config.gc_idle_after, case.config.gc_idle_target_blocks) = (Some(Nanos(5)), blocks);
}

/// Kinds of drives for which a copy is compared with the state.
const KINDS: [Change; 10] = [
    ("plain", &|case| case.config.map_cache = None),
    ("map cache", &|_| {}),
    ("errors", &|case| case.parameters.has_errors = true),
    ("by plane", &|case| case.config.allocation_order = AllocationOrder::Cwdp),
    ("streams and declared state", &|case| {
        case.needs = Needs { host_streams: 3, bits_per_unit: 2, bytes_per_block: 3, relocations_apart: true, ..case.needs };
    }),
    ("old data in the second mode, a page scope", &|case| (case.old_mode, case.needs.page_scope) = (ModeId(1), true)),
    ("random victims", &|case| case.config.victim = VictimConfig::named("random").expect("listed")),
    ("dynamic wear levelling", &|case| case.config.wear_leveling = WearConfig::named("dynamic").expect("listed")),
    ("blocks kept free in pauses", &|case| kept_in_pauses(case, 7)),
    ("superblocks kept free", &|case| (case.config.gc_spare_fraction, case.parameters.load.is_light) = (0.3, true)),
];

#[test]
fn a_copy_of_a_state_is_the_state() {
    let mut all = BTreeSet::new();
    for (method, (kind, change)) in METHODS.iter().flat_map(|method| KINDS.map(|kind| (*method, kind))) {
        let case = Case::new(method).but(change);
        let mut started = case.started();
        let state = started.starting_state().expect("memory");
        let expected = whole(&mut started);
        let copied = case.started_from(&state);
        let mut file = Vec::new();
        started.save_start(&mut file).expect("memory");
        let mut loaded = case.new_drive();
        loaded.load_start(&mut file.as_slice()).expect("a file of this build");
        go_on(&mut started);
        let later = whole(&mut started);
        for (mut other, which) in [(copied, "the copy"), (loaded, "the one from a file")] {
            assert!(whole(&mut other) == expected, "{method:?}, {kind}: {which} differs");
            go_on(&mut other);
            assert!(whole(&mut other) == later, "{method:?}, {kind}: {which} goes on in another way");
        }
        let cut = case.new_drive().load_start(&mut &file[..file.len() - 1]);
        assert!(cut.is_err(), "{method:?}, {kind}: a file that is cut off is refused");
        assert!(whole(&mut case.new_drive()) != expected, "{method:?}, {kind}: nothing was to be copied");
        assert!(started.starting_state_bytes() > 4 * started.state.store.all_units(), "{method:?}, {kind}");
        all.insert(expected);
    }
    assert!(all.len() > 20, "few of the {} states differ: {}", METHODS.len() * KINDS.len(), all.len());
}

/// Fields that are not in the key.
const LEFT_OUT: [Change; 42] = [
    ("overprovisioning", &|case| case.config.overprovisioning = 0.6),
    ("user_capacity", &|case| case.config.user_capacity = Some(Bytes(2000 * UNIT_BYTES))),
    ("policy", &|case| case.parameters.policy = "another".to_owned()),
    ("copyback", &|case| case.parameters.copyback = true),
    ("renews", &|case| case.parameters.buffering.renews = true),
    ("appends", &|case| case.parameters.buffering.appends = true),
    ("longest_first", &|case| case.parameters.buffering.longest_first = true),
    ("read_cache", &|case| case.parameters.buffering.read_cache = ReadCacheConfig { units: 64, ahead: 4 }),
    ("has_errors", &|case| case.parameters.has_errors = true),
    ("write_allocation static", &|case| case.config.write_allocation = WriteAllocation::Static),
    ("write_allocation round_robin", &|case| case.config.write_allocation = WriteAllocation::RoundRobin),
    ("gc_idle_after", &|case| case.config.gc_idle_after = Some(Nanos(5))),
    ("gc_idle_of", &|case| case.config.gc_idle_of = IdlePart::Drive),
    ("gc_idle_target_blocks", &|case| case.config.gc_idle_target_blocks = 9),
    ("unmapped_read", &|case| case.config.unmapped_read = UnmappedRead::Flash),
    ("read_in_flight", &|case| case.config.read_in_flight = ReadInFlight::Wait),
    ("partial_write", &|case| case.config.partial_write = PartialWrite::ReadModifyWrite),
    ("retention_margin", &|case| case.config.retention_margin = Nanos(9)),
    ("map_cache.size", &|case| map_cache(case).size = Bytes(99 * UNIT_BYTES)),
    ("map_cache.memory", &|case| map_cache(case).memory = MapMemory::Dram),
    ("map_cache.update_share", &|case| map_cache(case).update_share = 0.1),
    ("map_cache.dirty_share", &|case| map_cache(case).dirty_share = 0.1),
    ("facts.retention", &|case| case.parameters.facts.retention = vec![Some(Nanos(1_000_000_000)), None]),
    ("facts.retention_by_wear", &|case| case.parameters.facts.retention_by_wear = vec![vec![Nanos(1_000_000_000)], Vec::new()]),
    ("facts.retention_margin", &|case| case.parameters.facts.retention_margin = Nanos(9)),
    ("facts.encode_times", &|case| case.parameters.facts.encode_times = vec![Nanos(900), Nanos(3)]),
    ("facts.program_scales", &|case| case.parameters.facts.program_scales = vec![1.5, 0.1]),
    ("facts.page_move_share", &|case| case.parameters.facts.page_move_share = Nanos(9)),
    ("facts.read_modes", &|case| case.parameters.facts.read_modes = vec!["one".to_owned(), "two".to_owned()]),
    ("facts.read_mode_of", &|case| case.parameters.facts.read_mode_of = vec![ModeId(1), ModeId(0)]),
    ("facts.read_times", &|case| case.parameters.facts.read_times = vec![Nanos(9)]),
    ("needs.bits_per_unit", &|case| case.needs.bits_per_unit = 4),
    ("needs.bytes_per_block", &|case| case.needs.bytes_per_block = 2),
    ("needs.placed, dropped", &|case| (case.needs.placed, case.needs.dropped) = (true, true)),
    ("needs.blocks", &|case| case.needs.blocks = true),
    ("needs.reads, reads_done", &|case| (case.needs.reads, case.needs.reads_done) = (true, true)),
    ("needs.scores", &|case| case.needs.scores = true),
    ("needs.moves", &|case| case.needs.moves = true),
    ("needs.idle_only", &|case| (case.needs.moves, case.needs.idle_only) = (true, true)),
    ("needs.idle_after", &|case| case.needs.idle_after = Nanos(4)),
    ("needs.moving, erases", &|case| (case.needs.moving, case.needs.erases) = (true, true)),
    ("needs.ages", &|case| case.needs.ages = true),
];

fn map_cache(case: &mut Case) -> &mut MapCacheConfig {
    case.config.map_cache.as_mut().expect("the case has one")
}

#[test]
fn what_is_left_out_of_the_key_changes_nothing() {
    for method in METHODS {
        let case = Case::new(method);
        let state = case.started().starting_state().expect("memory");
        for (name, change) in LEFT_OUT {
            let changed = case.but(change);
            assert_eq!(case.key(), changed.key(), "{name}");
            let (mut computed, mut copied) = (changed.started(), changed.started_from(&state));
            assert!(whole(&mut computed) == whole(&mut copied), "{method:?}: the state depends on {name}");
        }
    }
}

/// The load, and the times of its operations, matter to a steady state alone.
const LOAD: [Change; 11] = [
    ("move_time", &|case| case.parameters.facts.move_time = Nanos(9_650_000)),
    ("program_time", &|case| case.parameters.facts.program_time = Nanos(6_000_000)),
    ("erase_time", &|case| case.parameters.facts.erase_time = Nanos(300_000_000)),
    ("waits_to_fill", &|case| {
        (case.parameters.buffering.waits_to_fill, case.parameters.load.outstanding_units) = (true, 5);
    }),
    ("gc_preemptible", &|case| case.config.gc_preemptible = false),
    ("outstanding_units", &|case| case.parameters.load.outstanding_units = 1),
    ("read_time", &|case| case.parameters.load.read_time = Nanos(3_000_000)),
    ("transfer", &|case| case.parameters.load.transfer = Nanos(700_000)),
    ("decodes", &|case| case.parameters.load.decodes = true),
    ("way", &|case| case.parameters.load.way = Nanos(2_000_000)),
    ("shared", &|case| case.parameters.load.shared = Nanos(2_000_000)),
];

#[test]
fn the_load_matters_to_a_steady_state_alone() {
    for (method, (name, change)) in METHODS.iter().flat_map(|method| LOAD.map(|time| (*method, time))) {
        let (case, is_steady) = (Case::new(method), method == Precondition::Steady);
        let changed = case.but(change);
        assert_eq!(case.key() != changed.key(), is_steady, "{method:?}, {name}");
        assert_eq!(whole(&mut case.started()) != whole(&mut changed.started()), is_steady, "{method:?}, {name}");
    }
}

/// Where the drive separates relocated data itself, a policy that requests it changes nothing. A drive and a policy do
/// not request it in the same way: the scale model of a steady state has the drive, and another policy.
#[test]
fn relocations_are_separated_once() {
    let apart = |case: &mut Case| case.needs.relocations_apart = true;
    for method in METHODS {
        let case = Case::new(method).but(&|case| case.config.separate_relocations = true);
        assert_eq!(case.key(), case.but(&apart).key());
        assert!(whole(&mut case.started()) == whole(&mut case.but(&apart).started()), "{method:?}");
        assert_ne!(case.key(), Case::new(method).but(&apart).key());
    }
}

/// Fields in the key, each with true if the change leads to another steady state.
const IN_THE_KEY: [(Change, bool); 43] = [
    (("seed", &|case| case.parameters.seed = 2), true),
    (("method", &|case| case.how.method = Precondition::Fill), true),
    (("passes", &|case| case.how.method = Precondition::Random { passes: 2 }), true),
    (("age", &|case| case.how.age = Nanos(2_000_000)), true),
    (("pe_cycles", &|case| case.how.pe_cycles = 8), true),
    (("geometry", &|case| case.parameters.geometry = geometry(4, 2, 41, 8, 2)), true),
    (("erase_wear", &|case| case.parameters.erase_wear = vec![vec![1000, 1600]]), false),
    (("rated_pe_cycles", &|case| case.parameters.rated_pe_cycles = 50), false),
    (("retire_at", &|case| case.parameters.retire_at = Some(50_000)), false),
    (("user_units", &|case| case.parameters.facts.user_units = 2000), true),
    (("victim", &|case| case.config.victim = VictimConfig::named("fifo").expect("listed")), true),
    (("wear_leveling", &|case| case.config.wear_leveling = WearConfig::named("dynamic").expect("listed")), false),
    (("allocation_order", &|case| case.config.allocation_order = AllocationOrder::Cwdp), true),
    (("plane_choice", &|case| case.config.plane_choice = crate::PlaneChoice::MostFree), true),
    (("separate_relocations", &|case| case.config.separate_relocations = true), true),
    (("superblock_blocks", &|case| case.config.superblock_blocks = 2), false),
    (("reserve_blocks", &|case| case.config.reserve_blocks = 2), false),
    (("gc_critical_blocks", &|case| (case.config.gc_critical_blocks, case.config.gc_low_blocks) = (5, 6)), true),
    (("gc_low_blocks", &|case| case.config.gc_low_blocks = 5), false),
    (("gc_spare_fraction", &|case| case.config.gc_spare_fraction = 0.5), false),
    (("is_light", &|case| case.parameters.load.is_light = true), false),
    (("kept in pauses", &|case| kept_in_pauses(case, 7)), true),
    (("gc_fraction_of", &|case| case.config.gc_fraction_of = FractionOf::All), false),
    (("retire_at_cycles", &|case| case.config.retire_at_cycles = Some(50)), false),
    (("map_cache", &|case| case.config.map_cache = None), true),
    (("map_cache.page_entries", &|case| map_cache(case).page_entries = 32), true),
    (("map_cache.journal", &|case| map_cache(case).journal = None), true),
    (("journal", &|case| case.config.journal = Some(JournalConfig { size: Bytes(64 * UNIT_BYTES), entry_bytes: 8 })), true),
    (("scrub_reads", &|case| case.config.scrub_reads = Some(1000)), false),
    (("paired_pages", &|case| case.config.paired_pages = crate::PairedPages::Backup), false),
    (("write_modes", &|case| case.parameters.facts.write_modes = ["a", "b"].map(str::to_owned).to_vec()), false),
    (("erase_modes", &|case| case.parameters.facts.erase_modes = vec!["a".to_owned()]), false),
    (("write_levels", &|case| case.parameters.facts.write_levels = vec![0, 1]), false),
    (("block_units", &|case| case.parameters.facts.block_units = vec![16, 8]), false),
    (("codes", &|case| case.parameters.facts.codes = vec![1, 0]), false),
    (("erase_levels", &|case| case.parameters.facts.erase_levels = vec![1]), false),
    (("facts.erase_wear", &|case| case.parameters.facts.erase_wear = vec![2.0]), false),
    (("erase_scales", &|case| case.parameters.facts.erase_scales = vec![2.0]), false),
    (("host_streams", &|case| case.needs.host_streams = 2), true),
    (("relocation_streams", &|case| case.needs.relocation_streams = 2), true),
    (("relocations_apart", &|case| case.needs.relocations_apart = true), false),
    (("page_scope", &|case| case.needs.page_scope = true), false),
    (("old_mode", &|case| case.old_mode = ModeId(1)), true),
];

#[test]
fn every_field_of_the_key_distinguishes_states() {
    let case = Case::new(Precondition::Steady);
    let expected = whole(&mut case.started());
    let mut keys = BTreeSet::from([case.key()]);
    let mut hashes = BTreeSet::from([case.key().hash()]);
    for ((name, change), makes_another) in IN_THE_KEY {
        let changed = case.but(change);
        assert!(keys.insert(changed.key()), "{name}: the key is that of another drive");
        assert!(hashes.insert(changed.key().hash()), "{name}");
        if makes_another {
            assert!(whole(&mut changed.started()) != expected, "{name} is in the key, and changes nothing");
        }
    }
}

/// The test vectors of the algorithm, so that the hash stays what it is.
#[test]
fn the_hash_is_fnv_1a() {
    assert_eq!(StartingKey(String::new()).hash(), "6c62272e07bb014262b821756295c58d");
    assert_eq!(StartingKey("a".to_owned()).hash(), "d228cb696f1a8caf78912b704e4a8964");
}
