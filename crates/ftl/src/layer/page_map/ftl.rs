//! The flash translation layer as a stage of the drive.

mod ahead;
mod bind;
mod choose;
mod finish;
mod journal;
mod lost;
mod mapping;
mod paired;
mod parity;
mod power;
mod rebuild;
mod relocate;
mod repair;
mod restore;
mod save;
mod serve;
mod start;
mod translate;

use crate::config::{FtlSection, IdlePart, PartialWrite, PlaneChoice, ReadInFlight, UnmappedRead};
use crate::counters::FtlCounters;
use crate::declared::{Bits, BlockBytes, Bytes, UnitBits};
use crate::layer::contract::{Pulled, Report};
use crate::layer::mapping::{DieState, MapCacheReport, Mapping};
use crate::layer::page_map::collector::{Collector, RelocationRequest};
use crate::layer::page_map::metadata::Metadata;
use crate::layer::page_map::moves::PageMoves;
use crate::layer::page_map::retention::{MoveTimes, Retention, limits_of_blocks};
use crate::map::{Mapped, PADDING, SLOT_BASE, Store, decode, encode};
use crate::map_cache::MapCache;
use crate::map_journal::{MapJournal, blocks_of_area};
use crate::medium::program::{BoundUnit, NO_PLACE, UnitKind};
use crate::medium::rain::Rain;
use crate::medium::space::{AllocationClass, Space, Streams, Target};
use crate::medium::{BlockRecord, BlockState};
use crate::paired::{Paired, PairedPages, Ring};
use crate::parameters::Parameters;
use crate::policy::future::Future;
use crate::policy::{
    Candidate, Collection, Dispatch, Idle, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, UnitRead, View,
};
use crate::queue::host::HostWrites;
use crate::queue::order::{WriteAllocation, places};
use crate::queue::{Drain, Writer};
use crate::read_cache::ReadCache;
use crate::victim::{Candidates, Victim};
use crate::wear::{Wear, WearLeveling};
use kit::queue::Class;
use kit::{
    BlockId, Cause, CommandId, Demand, DieId, Encoding, Ended, Event, Events, Handoff, HostUnit, IdleDelay, Ledger, Lpn, ModeId,
    Nanos, Operation, OperationKind, Outbox, Owner, Part, Ppn, ReadSource, ReadyDies, Reason, Record, Rng, Signals, SimTime,
    Timer,
};

pub(crate) use repair::Repairs;
pub use repair::{Defect, Health};
pub use save::Loaded;
pub use start::StartingState;
use std::sync::Arc;

/// Permission to bind data to a program of the die that chooses its next operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Binding {
    #[default]
    Allowed,
    /// The die has no page buffer for a program.
    Withheld,
    /// The die has none, and its next operation would have been a program.
    Refused,
}

/// Returns the retention deadlines of an empty drive.
fn retention(config: &FtlSection, policy: &dyn ModePolicy, parameters: &Parameters, user_units: u64) -> Retention {
    let Parameters { geometry, facts, rated_pe_cycles, .. } = parameters;
    let moving = MoveTimes {
        die_share: facts.move_time.0 as f64 / f64::from(geometry.units_per_program) / f64::from(geometry.die_count),
        block: Nanos(facts.move_time.0 * u64::from(geometry.programs_per_block) + facts.erase_time.0),
        encode: facts.encode_times[policy.mode_of_old_data().index()].0 as f64,
        block_units: geometry.units_per_block,
        user_units,
        dies: geometry.die_count as usize,
    };
    let limits = limits_of_blocks(&facts.retention_by_wear, policy.mixes(facts).as_deref());
    let move_after = (0..facts.write_modes.len()).map(|mode| policy.move_after(ModeId(mode as u8))).collect();
    Retention::new(limits, move_after, *rated_pe_cycles, config.retention_margin, &moving)
}

/// Returns the free blocks and frontiers of an empty drive. Its streams are those of the host, those of relocations in
/// each write mode, and that of a mapping cache.
fn space(config: &FtlSection, needs: &Needs, parameters: &Parameters) -> Space {
    let streams = streams(config, needs, parameters);
    Space::new(&parameters.geometry, streams, config.reserve_blocks, parameters.facts.erase_levels.clone())
}

fn streams(config: &FtlSection, needs: &Needs, parameters: &Parameters) -> Streams {
    let (host, has_map) = (usize::from(needs.host_streams), config.map_cache.is_some());
    Streams {
        host,
        all: host + parameters.facts.write_modes.len() * needs.relocation_frontiers() + usize::from(has_map),
        shared: !needs.keeps_relocations_apart(config.separate_relocations),
        by_plane: config.has_plane_frontiers(),
        most_free: config.plane_choice == PlaneChoice::MostFree,
        map: has_map,
        parity: config.rain.is_some(),
    }
}

/// Returns the journal of the map of an empty drive, if it is to have one.
fn journal(config: &FtlSection, needs: &Needs, parameters: &Parameters) -> Option<Box<MapJournal>> {
    let (journal, geometry) = (config.journal.as_ref()?, &parameters.geometry);
    let user_units = parameters.facts.user_units;
    let Streams { all, by_plane, parity, .. } = streams(config, needs, parameters);
    let planes = u64::from(if by_plane { geometry.groups_per_die } else { 1 });
    let of_die = all as u64 * planes * if parity { 2 } else { 1 };
    let count = config.area_blocks(geometry, user_units);
    let is_bad = |block: BlockId| parameters.bad_blocks.contains(&block);
    let blocks = (0..geometry.die_count).map(|die| blocks_of_area(geometry, DieId(die), count, is_bad)).collect();
    Some(Box::new(MapJournal::new(journal, geometry, user_units, of_die * u64::from(geometry.die_count), blocks)))
}

/// Returns the protection of paired pages of an empty drive.
fn paired(config: &FtlSection, needs: &Needs, parameters: &Parameters) -> Option<Box<Paired>> {
    let geometry = &parameters.geometry;
    let count = config.backup_blocks(geometry, streams(config, needs, parameters).all as u32);
    Paired::new(config.paired_pages, geometry.die_count as usize, |die| blocks_of_area(geometry, die, count, |_| false))
}

/// Returns an empty medium and map with `extra_units` units of the map.
fn store(config: &FtlSection, needs: &Needs, parameters: &Parameters, extra_units: u64) -> std::io::Result<Store> {
    let Parameters { geometry, facts, has_errors, .. } = parameters;
    let mut store = Store::new(*geometry, facts.user_units, extra_units, facts.block_units.clone())?;
    if *has_errors {
        store.medium.keep_integrity(needs.page_scope);
    }
    if config.rain.is_some() {
        store.medium.keep_sets();
    }
    Ok(store)
}

/// The page map: a flash translation layer with a map of mapping units.
pub struct Ftl {
    pub(crate) state: State,
    pub(crate) derived: Derived,
    pub(crate) scratch: Scratch,
}

/// State that affects the commands to come: a saved drive has all of it.
pub(crate) struct State {
    /// The map, on its medium.
    pub store: Store,
    /// Counters of completed work.
    pub counters: FtlCounters,
    pub space: Space,
    pub policy: Box<dyn ModePolicy>,
    /// State that the policy declared, by mapping unit and by block.
    pub bits: UnitBits,
    pub block_bytes: BlockBytes,
    pub retention: Retention,
    pub rng: Rng,
    pub collectors: Vec<Collector>,
    pub moves: PageMoves,
    /// Host writes that wait for dies, and the idle dies.
    pub writes: HostWrites,
    /// The read cache, if there is one.
    pub cache: Option<Box<ReadCache>>,
    /// The part of the map in memory, where that is not all of it.
    pub map_cache: Option<Box<MapCache>>,
    /// True for each die whose last turn was a program of map data.
    pub map_had_turn: Vec<bool>,
    pub idle_since: Vec<SimTime>,
    /// True while an idle timer is pending, by delay and die.
    pub idle_armed: [Vec<bool>; 2],
    pub policy_armed: Option<SimTime>,
    /// First die that could not do without a worn-out block.
    pub worn_out: Option<DieId>,
    /// Metadata of programs; `None` if power is not lost without warning.
    pub metadata: Option<Box<Metadata>>,
    /// Programs that have failed, and what the drive has lost.
    pub repairs: Repairs,
    /// Sets of blocks with parity across dies, if there is any.
    pub rain: Option<Box<Rain>>,
    /// Journal of the map, if there is one.
    pub journal: Option<Box<MapJournal>>,
    /// Protection of paired pages, where a loss of power may destroy some.
    pub paired: Option<Box<Paired>>,
}

/// Rules and numbers that follow from the description: a drive that is loaded builds them anew.
pub(crate) struct Derived {
    pub config: FtlSection,
    pub parameters: Parameters,
    pub needs: Needs,
    /// Write mode of data older than the run. Where the scope of a mode is the page, also the mode that is recorded for
    /// all blocks.
    pub old_mode: ModeId,
    /// Read mode that data of each write mode needs.
    pub read_modes: [ModeId; 16],
    pub victim: Box<dyn Victim>,
    pub wear_rule: Box<dyn WearLeveling>,
    /// Numbers of free blocks of a die below which collection takes precedence over host writes, and below which it
    /// runs when no write waits.
    pub critical: u32,
    pub low: u32,
}

/// Values of a call, of a shutdown or of a power failure in progress: a drive at rest needs none of them.
pub(crate) struct Scratch {
    /// True while the changes of the map are written to flash, before a shutdown or a loss of power.
    pub saves_map: bool,
    /// True while the drive comes to rest.
    pub rests: bool,
    pub binding: Binding,
    pub units: Vec<Lpn>,
    /// Collects the values of prefetches, so that the loads are not optimised away.
    pub sink: u64,
    /// Dies that the beginning of a collection wakes, and sets that it completes.
    pub woken: Vec<DieId>,
    pub settles: Vec<u32>,
}

impl Scratch {
    fn new(units_per_program: u32) -> Scratch {
        Scratch {
            saves_map: false,
            rests: false,
            binding: Binding::Allowed,
            units: Vec::with_capacity(units_per_program as usize),
            sink: 0,
            woken: Vec::new(),
            settles: Vec::new(),
        }
    }
}

impl Ftl {
    /// Creates the FTL of a validated description, with an empty drive.
    pub fn new(config: &FtlSection, policy: Box<dyn ModePolicy>, parameters: Parameters) -> std::io::Result<Ftl> {
        let (geometry, user_units) = (parameters.geometry, parameters.facts.user_units);
        let needs = policy.needs();
        let old_mode = policy.mode_of_old_data();
        let new_cache = |cache| MapCache::new(cache, user_units, geometry.units_per_program);
        let map_cache = config.map_cache.as_ref().map(new_cache).map(Box::new);
        let store = store(config, &needs, &parameters, map_cache.as_deref().map_or(0, MapCache::extra_units))?;
        let (critical, low) = config.thresholds_with(&geometry, user_units);
        let dies = geometry.die_count as usize;
        let space = space(config, &needs, &parameters);
        let journal = journal(config, &needs, &parameters);
        let paired = paired(config, &needs, &parameters);
        let rain = config.rain.map(|rain| Rain::new(rain.dies, geometry.die_count, space.data_streams())).map(Box::new);
        let state = State {
            bits: UnitBits::new(needs.bits_per_unit, store.user_units),
            block_bytes: BlockBytes::new(needs.bytes_per_block, geometry.block_count),
            space,
            retention: retention(config, &*policy, &parameters, store.user_units),
            rng: Rng::stream(parameters.seed, "ftl.gc"),
            collectors: (0..dies).map(|_| Collector::new(geometry.units_per_program)).collect(),
            moves: PageMoves::new(),
            writes: HostWrites::new(
                config.write_allocation,
                &places(config.allocation_order, &geometry),
                geometry.units_per_program,
                parameters.buffering,
            ),
            cache: ReadCache::new(&parameters.buffering.read_cache),
            map_cache,
            map_had_turn: vec![false; dies],
            idle_since: vec![SimTime::ZERO; dies],
            idle_armed: [vec![false; dies], vec![false; dies]],
            policy_armed: None,
            worn_out: None,
            metadata: None,
            repairs: Repairs::new(dies),
            rain,
            journal,
            paired,
            counters: FtlCounters::default(),
            policy,
            store,
        };
        let derived = Derived {
            victim: config.victim.build(()),
            wear_rule: config.wear_leveling.build(()),
            critical,
            low,
            config: config.clone(),
            needs,
            old_mode,
            read_modes: std::array::from_fn(|mode| parameters.facts.read_mode_of.get(mode).copied().unwrap_or_default()),
            parameters,
        };
        let (bad_blocks, spare_blocks) = (derived.parameters.bad_blocks.clone(), derived.parameters.spare_blocks);
        let mut ftl = Ftl { state, derived, scratch: Scratch::new(geometry.units_per_program) };
        ftl.withhold_area();
        if !bad_blocks.is_empty() || spare_blocks > 0 {
            ftl.begin_with_bad_blocks(&bad_blocks, spare_blocks);
        }
        ftl.withhold_copies();
        Ok(ftl)
    }

    /// Prefetches the table entries that commands on these units will need. Simulated state does not change.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.state.store.places.remember(units);
        self.scratch.sink ^= self.state.store.look_ahead(units, writes);
        if self.derived.needs.bits_per_unit > 0 {
            self.scratch.sink ^= self.state.bits.look_ahead(units);
        }
        if writes && self.derived.needs.ages {
            self.scratch.sink ^= self.state.store.look_ahead_ages(units);
        }
    }

    /// Returns the counts that results are made from.
    pub fn report(&self) -> Report<'_> {
        Report { counters: &self.state.counters, free_blocks: Some(self.free_blocks()) }
    }

    /// Returns the number of writes that wait for each die; `None` if they wait for any die.
    pub(crate) fn waiting_by_die(&self) -> Option<Vec<u64>> {
        let lists = 0..self.state.store.medium.geometry.die_count as usize;
        (!self.state.writes.are_pulled()).then(|| lists.map(|list| self.state.writes.queue.len(list)).collect())
    }

    /// Returns the units of the program of a die.
    pub(crate) fn units_of_program(&self, die: DieId) -> &[BoundUnit] {
        let program = &self.state.store.medium.programs[die.index()];
        &program.units[..program.bound]
    }

    /// Passes the policy the accesses of the workload that begins at `start`.
    pub fn set_future(&mut self, future: &Arc<Future>, start: SimTime) {
        self.state.policy.set_future(future, start);
    }

    /// Returns the mapping unit whose data was written to a place; 0 if it holds none.
    #[inline]
    pub fn unit_at(&self, ppn: Ppn) -> u32 {
        let lpn = if ppn.0 == NO_PLACE { PADDING } else { self.state.store.lpn_at(ppn).0 };
        if u64::from(lpn) < self.state.store.user_units { lpn } else { 0 }
    }

    /// Returns what the FTL has for a die that chooses its next operation.
    #[inline]
    pub fn demand(&self, die: DieId) -> Demand {
        Demand {
            urgent_move: self.state.collectors[die.index()].urgent,
            oldest_write: self.state.writes.queue.oldest(self.state.writes.list_of(die)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::config::FractionOf;
    use crate::parameters::Load;
    use crate::policy::Facts;
    use crate::policy::PolicyConfig;
    use crate::queue::Buffering;
    use crate::queue::order::AllocationOrder;
    use crate::{VictimConfig, WearConfig};
    use kit::Geometry;

    /// Returns an FTL with `baseline` as its policy: half of the flash is user capacity, one free block of a die is
    /// reserved, and an erase adds a nominal erase to the wear of a block. `change` adjusts the description.
    pub(crate) fn small(geometry: Geometry, change: impl FnOnce(&mut FtlSection, &mut Parameters)) -> Ftl {
        let mut config = FtlSection {
            translation: (),
            map_cache: None,
            overprovisioning: 1.0,
            mapping_unit: None,
            user_capacity: None,
            victim: VictimConfig::named("greedy").expect("listed"),
            wear_leveling: WearConfig::named("none").expect("listed"),
            write_allocation: WriteAllocation::Pull,
            allocation_order: AllocationOrder::Cwd,
            plane_choice: PlaneChoice::Block,
            separate_relocations: false,
            superblock_blocks: 1,
            reserve_blocks: 1,
            gc_critical_blocks: 2,
            gc_low_blocks: 3,
            gc_spare_fraction: 0.0,
            gc_fraction_of: FractionOf::Spare,
            gc_preemptible: true,
            gc_start: Default::default(),
            gc_idle_after: None,
            gc_idle_of: Default::default(),
            gc_idle_target_blocks: 4,
            unmapped_read: UnmappedRead::Zero,
            read_in_flight: ReadInFlight::Buffer,
            partial_write: PartialWrite::Whole,
            retention_margin: Nanos::ZERO,
            retire_at_cycles: None,
            scrub_reads: None,
            journal: None,
            rain: None,
            paired_pages: PairedPages::Intact,
        };
        let policy = PolicyConfig { kind: "baseline".to_owned(), ..PolicyConfig::default() };
        let mut parameters = Parameters {
            geometry,
            policy: policy.kind.clone(),
            facts: Facts { block_units: vec![geometry.units_per_block; 2], ..Facts::example() },
            erase_wear: vec![vec![1000]],
            rated_pe_cycles: 100,
            retire_at: None,
            copyback: false,
            buffering: Buffering::default(),
            has_errors: false,
            bad_blocks: Vec::new(),
            spare_blocks: 0,
            load: Load::default(),
            seed: 1,
        };
        change(&mut config, &mut parameters);
        parameters.facts.user_units = config.max_units(&geometry);
        let policy = policy.build(&parameters.facts).expect("listed");
        Ftl::new(&config, policy, parameters).expect("a small drive fits into memory")
    }
}
