//! The flash translation layer as a stage of the drive.

mod ahead;
mod bind;
mod choose;
mod finish;
mod lost;
mod power;
mod relocate;
mod save;
mod serve;
mod start;
mod translate;

use crate::config::{FtlSection, PartialWrite, ReadInFlight, UnmappedRead};
use crate::counters::FtlCounters;
use crate::declared::{Bits, BlockBytes, Bytes, UnitBits};
use crate::layer::contract::{Pulled, Report};
use crate::layer::page_map::collector::{Collector, RelocationRequest};
use crate::layer::page_map::moves::PageMoves;
use crate::layer::page_map::retention::{MoveTimes, Retention, limits_of_blocks};
use crate::map::{Mapped, PADDING, SLOT_BASE, Store, decode, encode};
use crate::map_cache::MapCache;
use crate::medium::BlockState;
use crate::medium::program::{BoundUnit, NO_PLACE, UnitKind};
use crate::medium::space::{AllocationClass, Space, Streams, Target};
use crate::parameters::Parameters;
use crate::policy::future::Future;
use crate::policy::{
    Candidate, Collection, Dispatch, Idle, Interruption, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, UnitRead, View,
};
use crate::queue::idle::IdleDies;
use crate::queue::order::{WriteAllocation, places};
use crate::queue::{Drain, Gate, WriteQueue, Writer};
use crate::read_cache::ReadCache;
use crate::victim::{Candidates, Victim};
use crate::wear::{Wear, WearLeveling};
use kit::queue::Class;
use kit::{
    BlockId, Cause, CommandId, Demand, DieId, Encoding, Ended, Event, Events, Handoff, HostUnit, IdleDelay, Ledger, Lpn, ModeId,
    Nanos, Operation, OperationKind, Outbox, Owner, Part, Ppn, ReadSource, ReadyDies, Reason, Record, Rng, Signals, SimTime,
    Timer,
};

pub use save::Loaded;
pub use start::StartingState;
use std::sync::Arc;
pub use translate::MapCacheReport;

/// Permission to bind data to a program of the die that chooses its next operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Binding {
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

/// The flash translation layer.
pub struct Ftl {
    /// State of the data.
    pub store: Store,
    /// Counters of completed work.
    pub counters: FtlCounters,
    pub(crate) config: FtlSection,
    pub(crate) parameters: Parameters,
    pub(crate) space: Space,
    pub(crate) policy: Box<dyn ModePolicy>,
    pub(crate) needs: Needs,
    /// Write mode of data older than the run. Where the scope of a mode is the page, also the mode that is recorded for
    /// all blocks.
    old_mode: ModeId,
    /// Read mode that data of each write mode needs.
    read_modes: [ModeId; 16],
    pub(crate) bits: UnitBits,
    pub(crate) block_bytes: BlockBytes,
    pub(crate) victim: Box<dyn Victim>,
    pub(crate) wear_rule: Box<dyn WearLeveling>,
    pub(crate) retention: Retention,
    pub(crate) rng: Rng,
    pub(crate) collectors: Vec<Collector>,
    pub(crate) moves: PageMoves,
    pub(crate) writes: WriteQueue,
    /// The read cache, if there is one.
    pub(crate) cache: Option<Box<ReadCache>>,
    pub(crate) idle: IdleDies,
    /// Dies, with their groups of planes where planes take turns, in allocation order.
    pub(crate) places: Vec<(DieId, Option<u32>)>,
    /// Position in the allocation order of the last write under round-robin allocation.
    arrivals: u32,
    idle_since: Vec<SimTime>,
    /// True while an idle timer is pending, by delay and die.
    idle_armed: [Vec<bool>; 2],
    /// Numbers of free blocks of a die below which collection takes precedence over host writes, and below which it
    /// runs when no write waits.
    pub(crate) critical: u32,
    pub(crate) low: u32,
    gate: Gate,
    /// The part of the map in memory, where that is not all of it.
    pub(crate) map_cache: Option<Box<MapCache>>,
    /// True while the changes of the map are written to flash, before a shutdown or a loss of power.
    saves_map: bool,
    /// True for each die whose last turn was a program of map data.
    map_had_turn: Vec<bool>,
    policy_armed: Option<SimTime>,
    binding: Binding,
    scratch: Vec<Lpn>,
    /// Collects the values of prefetches, so that the loads are not optimised away.
    pub(crate) sink: u64,
    /// First die that could not do without a worn-out block.
    pub(crate) worn_out: Option<DieId>,
}

impl Ftl {
    /// Creates the FTL of a validated description, with an empty drive.
    pub fn new(config: &FtlSection, policy: Box<dyn ModePolicy>, parameters: Parameters) -> std::io::Result<Ftl> {
        let (geometry, user_units) = (parameters.geometry, parameters.facts.user_units);
        let needs = policy.needs();
        let old_mode = policy.mode_of_old_data();
        // Streams: those of the host, those of relocations in each write mode, and that of a mapping cache.
        let host_streams = usize::from(needs.host_streams);
        let map_cache = config.map_cache.as_ref();
        let map_cache = map_cache.map(|cache| MapCache::new(cache, user_units, geometry.units_per_program));
        let streams =
            host_streams + parameters.facts.write_modes.len() * needs.relocation_frontiers() + usize::from(map_cache.is_some());
        let extra_units = map_cache.as_ref().map_or(0, MapCache::extra_units);
        let map_cache = map_cache.map(Box::new);
        let mut store = Store::new(geometry, user_units, extra_units, parameters.facts.block_units.clone())?;
        if parameters.has_errors {
            store.medium.keep_integrity(needs.page_scope);
        }
        let (critical, low) = config.thresholds_with(&geometry, user_units);
        let places = places(config.allocation_order, &geometry);
        let dies = geometry.die_count as usize;
        let lists = if config.write_allocation == WriteAllocation::Pull { 1 } else { dies };
        Ok(Ftl {
            bits: UnitBits::new(needs.bits_per_unit, store.user_units),
            block_bytes: BlockBytes::new(needs.bytes_per_block, geometry.block_count),
            space: Space::new(
                &geometry,
                Streams {
                    host: host_streams,
                    all: streams,
                    shared: !needs.keeps_relocations_apart(config.separate_relocations),
                    by_plane: config.allocation_order.is_by_plane(),
                    map: map_cache.is_some(),
                },
                config.reserve_blocks,
                parameters.facts.erase_levels.clone(),
            ),
            victim: config.victim.build(()),
            wear_rule: config.wear_leveling.build(()),
            retention: retention(config, &*policy, &parameters, store.user_units),
            rng: Rng::stream(parameters.seed, "ftl.gc"),
            collectors: (0..dies).map(|_| Collector::new(geometry.units_per_program)).collect(),
            moves: PageMoves::new(),
            writes: WriteQueue::new(lists),
            cache: ReadCache::new(&parameters.buffering.read_cache),
            idle: IdleDies::new(&places),
            places,
            arrivals: 0,
            idle_since: vec![SimTime::ZERO; dies],
            idle_armed: [vec![false; dies], vec![false; dies]],
            critical,
            low,
            gate: Gate::default(),
            map_cache,
            saves_map: false,
            map_had_turn: vec![false; dies],
            policy_armed: None,
            binding: Binding::Allowed,
            scratch: Vec::with_capacity(geometry.units_per_program as usize),
            sink: 0,
            worn_out: None,
            counters: FtlCounters::default(),
            config: config.clone(),
            policy,
            needs,
            old_mode,
            read_modes: std::array::from_fn(|mode| parameters.facts.read_mode_of.get(mode).copied().unwrap_or_default()),
            store,
            parameters,
        })
    }

    /// Prefetches the table entries that commands on these units will need. Simulated state does not change.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.store.places.remember(units);
        self.sink ^= self.store.look_ahead(units, writes);
        if self.needs.bits_per_unit > 0 {
            self.sink ^= self.bits.look_ahead(units);
        }
        if writes && self.needs.ages {
            self.sink ^= self.store.look_ahead_ages(units);
        }
    }

    /// Returns the state and the counts that results are made from.
    pub fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: Some(self.free_blocks()) }
    }

    /// Returns true if the policy has pages moved.
    pub fn policy_moves_pages(&self) -> bool {
        self.needs.moves
    }

    /// Returns the number of writes that wait for each die; `None` if they wait for any die.
    pub(crate) fn waiting_by_die(&self) -> Option<Vec<u64>> {
        let lists = 0..self.store.medium.geometry.die_count as usize;
        (self.config.write_allocation != WriteAllocation::Pull).then(|| lists.map(|list| self.writes.len(list)).collect())
    }

    /// Returns the units of the program of a die.
    pub(crate) fn units_of_program(&self, die: DieId) -> &[BoundUnit] {
        let program = &self.store.medium.programs[die.index()];
        &program.units[..program.bound]
    }

    /// Returns the policy's statistics, by name.
    pub fn policy_stats(&self) -> Vec<(String, f64)> {
        self.policy.named_stats()
    }

    /// Returns the write mode that the policy's declared state marks ([`ModePolicy::marked_mode`]).
    pub fn marked_mode(&self) -> Option<ModeId> {
        self.policy.marked_mode()
    }

    /// Returns what the policy needs from the engine.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Returns the failure of the policy, if it cannot continue.
    pub fn policy_failure(&self) -> Option<kit::Problem> {
        self.policy.failure()
    }

    /// Returns true if a saved drive contains all state on which the policy's decisions depend.
    pub fn policy_is_saved_whole(&self) -> bool {
        self.policy.is_saved_whole()
    }

    /// Returns true if the policy requires the future accesses of the workload ([`Ftl::set_future`]).
    pub fn wants_future(&self) -> bool {
        self.policy.wants_future()
    }

    /// Passes the policy the accesses of the workload that begins at `start`.
    pub fn set_future(&mut self, future: &Arc<Future>, start: SimTime) {
        self.policy.set_future(future, start);
    }

    /// Returns the call of the policy that was interrupted and did not return, if there is one.
    pub fn policy_interruption(&self) -> Option<Interruption> {
        self.policy.interruption()
    }

    /// Returns the write mode of data older than the run.
    pub fn mode_of_old_data(&self) -> ModeId {
        self.old_mode
    }

    /// Returns the number of state bits that the policy declared for each unit.
    pub fn declared_bits(&self) -> u8 {
        self.bits.bits_per_unit()
    }

    /// Returns the number of state bytes that the policy declared for each block.
    pub fn declared_bytes(&self) -> u8 {
        self.block_bytes.bytes_per_block()
    }

    /// Returns true if the scope of a mode is the page: the policy keeps each page's write mode and chooses the mode of
    /// its reads.
    pub fn keeps_modes_by_page(&self) -> bool {
        self.needs.page_scope
    }

    /// Returns the number of free blocks in the drive.
    pub fn free_blocks(&self) -> u64 {
        self.space.total_free_blocks()
    }

    /// Returns the number of retention limits missed, and the shortest margin \[ns; negative: missed\] if data of a
    /// block with a limit has been moved.
    pub fn retention_report(&self) -> (u64, Option<i64>) {
        (self.retention.misses, self.retention.min_margin)
    }

    /// Returns true if any write mode has a retention limit.
    pub fn has_retention_limits(&self) -> bool {
        self.parameters.facts.retention_by_wear.iter().any(|classes| !classes.is_empty())
    }

    /// Returns the mapping unit whose data was written to a place; 0 if it holds none.
    #[inline]
    pub fn unit_at(&self, ppn: Ppn) -> u32 {
        let lpn = if ppn.0 == NO_PLACE { PADDING } else { self.store.lpn_at(ppn).0 };
        if u64::from(lpn) < self.store.user_units { lpn } else { 0 }
    }

    /// Returns the number of units mapped to flash.
    pub fn mapped_units(&self) -> u64 {
        self.store.medium.valid_by_mode.iter().sum()
    }

    /// Returns what the FTL has for a die that chooses its next operation.
    #[inline]
    pub fn demand(&self, die: DieId) -> Demand {
        Demand { urgent_move: self.collectors[die.index()].urgent, oldest_write: self.writes.oldest(self.list_of(die)) }
    }

    #[inline]
    fn list_of(&self, die: DieId) -> usize {
        if self.config.write_allocation == WriteAllocation::Pull { 0 } else { die.index() }
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
            separate_relocations: false,
            superblock_blocks: 1,
            reserve_blocks: 1,
            gc_critical_blocks: 2,
            gc_low_blocks: 3,
            gc_spare_fraction: 0.0,
            gc_fraction_of: FractionOf::Spare,
            gc_preemptible: true,
            gc_idle_after: None,
            gc_idle_target_blocks: 4,
            unmapped_read: UnmappedRead::Zero,
            read_in_flight: ReadInFlight::Buffer,
            partial_write: PartialWrite::Whole,
            retention_margin: Nanos::ZERO,
            retire_at_cycles: None,
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
            load: Load::default(),
            seed: 1,
        };
        change(&mut config, &mut parameters);
        parameters.facts.user_units = config.max_units(&geometry);
        let policy = policy.build(&parameters.facts).expect("listed");
        Ftl::new(&config, policy, parameters).expect("a small drive fits into memory")
    }
}
