//! The flash translation layer as a stage of the drive.

mod bind;
mod choose;
mod finish;
mod power;
mod relocate;
mod save;
mod serve;

use crate::collector::{Collector, Wanted};
use crate::config::{FtlConfig, PartialWrite, ReadInFlight, UnmappedRead, WriteAllocation, places};
use crate::map::{BlockState, Mapped, PADDING, SLOT_BASE, Store, decode, encode};
use crate::moves::PageMoves;
use crate::policy::future::Future;
use crate::policy::{
    Bits, BlockBytes, Bytes, Candidate, Collection, Dispatch, Facts, Idle, ModePolicy, Moving, Needs, PageMove, Placed,
    Relocation, UnitBits, UnitRead, View,
};
use crate::retention::{MoveTimes, Retention};
use crate::space::{AllocationClass, Space, Streams, Target};
use crate::victim::{Candidates, Victim};
use crate::wear::{Wear, WearLeveling};
use crate::writes::{WriteQueue, Writer};
use kit::clock::{Reading, charge_wait};
use kit::queue::Class;
use kit::reason::REASON_COUNT;
use kit::{
    BlockId, Cause, CommandId, DieId, Encoding, Event, Geometry, IdleDelay, Ledger, Lpn, ModeId, Nanos, Operation, OperationKind,
    Outbox, Owner, Part, Ppn, ReadSource, Reason, Record, Rng, SimTime, Timer,
};

pub use save::Loaded;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const NO_PLACE: u32 = u32::MAX;

/// What the FTL needs to know about the rest of the drive.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The shape of the flash.
    pub geometry: Geometry,
    /// The policy's name.
    pub policy: String,
    /// Facts for the policy.
    pub facts: Facts,
    /// Retention limits by write mode and wear class; empty: without limit.
    pub retention_limits: Vec<Vec<Nanos>>,
    /// Wear of one erase by erase mode and wear class, in thousandths of a nominal erase.
    pub erase_wear: Vec<Vec<u32>>,
    /// Program and erase cycles a block is rated for.
    pub rated_pe_cycles: u32,
    /// Effective wear from which a block is retired when it is erased, in thousandths of a nominal erase.
    pub retire_at: Option<u32>,
    /// Relocations may use copyback.
    pub copyback: bool,
    /// Host writes are acknowledged when the buffer takes them; units then wait for a full program unit or for this long without a new write.
    pub buffer_flush_after: Option<Nanos>,
    /// The run's seed.
    pub seed: u64,
}

/// A unit of a host write.
#[derive(Clone, Copy, Debug)]
pub struct HostUnit {
    /// The command it is part of.
    pub command: CommandId,
    /// The logical unit.
    pub lpn: Lpn,
    /// The write covers all of it; otherwise the rest is read first.
    pub whole: bool,
    /// It is the last unit of its command.
    pub last: bool,
    /// The command does not wait for its program.
    pub buffered: bool,
}

/// What the FTL has done, counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FtlCounters {
    /// Mapping units programmed, by reason; `padding` are those programmed empty.
    pub units_programmed: [u64; REASON_COUNT],
    /// Mapping units written by the host.
    pub host_units: u64,
    /// Units of host writes that replaced a unit still in the buffer.
    pub absorbed: u64,
    /// Reads of units never written.
    pub unmapped_reads: u64,
    /// Units read from the controller because their program had not completed.
    pub reads_in_flight: u64,
    /// Units read from the write buffer.
    pub buffer_hits: u64,
    /// Relocated units that were found overwritten when they were to be bound.
    pub relocation_skipped: u64,
    /// Blocks collected.
    pub collections: u64,
    /// Host units granted each write mode.
    pub host_units_by_mode: [u64; 16],
    /// Units programmed in each write mode, for any reason, padding left out.
    pub units_by_mode: [u64; 16],
    /// Writes whose mode was refused because the data could not all be moved before its limit.
    pub retention_refusals: u64,
    /// Units trimmed.
    pub trimmed_units: u64,
    /// Free blocks erased further before they could be used.
    pub lazy_erases: u64,
}

impl FtlCounters {
    /// What has been done since `earlier`.
    pub fn since(&self, earlier: &FtlCounters) -> FtlCounters {
        let minus = |now: &[u64], before: &[u64], at: usize| now[at] - before[at];
        FtlCounters {
            units_programmed: std::array::from_fn(|at| minus(&self.units_programmed, &earlier.units_programmed, at)),
            host_units_by_mode: std::array::from_fn(|at| minus(&self.host_units_by_mode, &earlier.host_units_by_mode, at)),
            units_by_mode: std::array::from_fn(|at| minus(&self.units_by_mode, &earlier.units_by_mode, at)),
            host_units: self.host_units - earlier.host_units,
            absorbed: self.absorbed - earlier.absorbed,
            unmapped_reads: self.unmapped_reads - earlier.unmapped_reads,
            reads_in_flight: self.reads_in_flight - earlier.reads_in_flight,
            buffer_hits: self.buffer_hits - earlier.buffer_hits,
            relocation_skipped: self.relocation_skipped - earlier.relocation_skipped,
            collections: self.collections - earlier.collections,
            retention_refusals: self.retention_refusals - earlier.retention_refusals,
            trimmed_units: self.trimmed_units - earlier.trimmed_units,
            lazy_erases: self.lazy_erases - earlier.lazy_erases,
        }
    }
}

/// What a die is programming: its units and what they supersede.
struct ProgramUnit {
    first: Ppn,
    mode: ModeId,
    /// One per mapping unit of the program; the first `bound` of them are bound.
    units: Vec<BoundUnit>,
    bound: usize,
    reason: Reason,
    /// The host stream it is written through; none for relocated data.
    stream: Option<u8>,
    /// Moved units that have not passed the encoder of its mode yet.
    encode: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct BoundUnit {
    kind: UnitKind,
    superseded: u32,
    /// Of host data: when it was accepted, how long it waited for what, and for the rest of the unit to be read.
    accepted: u64,
    waited: Reading,
    filled_in: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
enum UnitKind {
    Host(CommandId),
    Buffered,
    #[default]
    Moved,
}

impl ProgramUnit {
    /// Whether nothing of it is being programmed.
    pub fn is_empty(&self) -> bool {
        self.bound == 0
    }

    /// The next unit, to be filled in where it stays.
    #[inline]
    fn bind(&mut self, superseded: u32) -> &mut BoundUnit {
        let unit = &mut self.units[self.bound];
        self.bound += 1;
        unit.superseded = superseded;
        unit
    }
}

/// A flush waiting for units that were accepted before it.
#[derive(Clone, Copy, Debug)]
struct PendingFlush {
    command: CommandId,
    accepted: u64,
    outstanding: u64,
    since: SimTime,
}

/// Retention limits by write mode; where blocks hold pages of all modes, the shortest of all for each.
fn retention_limits(parameters: &Parameters, page_scope: bool) -> Vec<Vec<Nanos>> {
    let limits = &parameters.retention_limits;
    if !page_scope {
        return limits.clone();
    }
    let classes = limits.iter().map(Vec::len).max().unwrap_or(0);
    let at = |limits: &Vec<Nanos>, class: usize| limits.get(class * limits.len() / classes.max(1)).copied();
    let shortest = (0..classes).filter_map(|class| limits.iter().filter_map(|mode| at(mode, class)).min()).collect();
    vec![shortest; limits.len()]
}

/// The flash translation layer.
pub struct Ftl {
    /// The state of the data.
    pub store: Store,
    /// What has been done.
    pub counters: FtlCounters,
    pub(crate) config: FtlConfig,
    pub(crate) parameters: Parameters,
    pub(crate) space: Space,
    pub(crate) policy: Box<dyn ModePolicy>,
    pub(crate) needs: Needs,
    /// The mode that blocks are kept in where the scope of a mode is the page.
    old_mode: ModeId,
    /// The read mode that data of each write mode needs.
    read_modes: [ModeId; 16],
    pub(crate) bits: UnitBits,
    pub(crate) block_bytes: BlockBytes,
    pub(crate) victim: Box<dyn Victim>,
    pub(crate) wear_rule: Box<dyn WearLeveling>,
    pub(crate) retention: Retention,
    pub(crate) rng: Rng,
    pub(crate) collectors: Vec<Collector>,
    programs: Vec<ProgramUnit>,
    pub(crate) moves: PageMoves,
    pub(crate) writes: WriteQueue,
    /// Dies with nothing to do, as bits by rank, and the rank after the one woken last.
    idle_ranks: Vec<u64>,
    /// Dies (and planes) in the order in which they take turns, and the dies alone.
    places: Vec<(DieId, Option<u32>)>,
    rank_of: Vec<u32>,
    die_at: Vec<DieId>,
    next_rank: u32,
    arrivals: u32,
    idle_since: Vec<SimTime>,
    /// Whether a timer is pending for each delay and die.
    idle_armed: [Vec<bool>; 2],
    critical: u32,
    low: u32,
    flush_until: u64,
    flushes: Vec<PendingFlush>,
    unfinished: u64,
    last_write: SimTime,
    flush_armed: bool,
    policy_armed: Option<SimTime>,
    draining: bool,
    scratch: Vec<Lpn>,
    pub(crate) sink: u64,
    /// The first die that could not spare a worn-out block.
    pub(crate) worn_out: Option<DieId>,
}

impl Ftl {
    /// The FTL of a validated description, with an empty drive.
    pub fn new(config: &FtlConfig, policy: Box<dyn ModePolicy>, parameters: Parameters) -> std::io::Result<Ftl> {
        let geometry = parameters.geometry;
        let needs = policy.needs();
        let mode_count = parameters.facts.write_modes.len();
        let old_mode = policy.mode_of_old_data();
        // Streams: the host's, then one for relocations in each write mode.
        let host_streams = usize::from(needs.host_streams);
        let streams = host_streams + mode_count;
        let store = Store::new(geometry, config.user_units(&geometry), parameters.facts.block_units.clone())?;
        let moving = MoveTimes {
            die_share: parameters.facts.move_time.0 as f64
                / f64::from(geometry.units_per_program)
                / f64::from(geometry.die_count),
            block: Nanos(parameters.facts.move_time.0 * u64::from(geometry.programs_per_block) + parameters.facts.erase_time.0),
            encode: parameters.facts.encode_times[old_mode.index()].0 as f64,
            block_units: geometry.units_per_block,
            user_units: store.user_units,
            dies: geometry.die_count as usize,
        };
        let (critical, low) = config.thresholds(&geometry);
        let places = places(config.allocation_order, &geometry);
        let die_at: Vec<DieId> = places.iter().filter(|(_, plane)| plane.unwrap_or(0) == 0).map(|(die, _)| *die).collect();
        let mut rank_of = vec![0; die_at.len()];
        for (rank, die) in die_at.iter().enumerate() {
            rank_of[die.index()] = rank as u32;
        }
        let dies = geometry.die_count as usize;
        let lists = if config.write_allocation == WriteAllocation::Pull { 1 } else { dies };
        let program = || ProgramUnit {
            first: Ppn(0),
            mode: ModeId(0),
            units: vec![BoundUnit::default(); geometry.units_per_program as usize],
            bound: 0,
            reason: Reason::Host,
            stream: None,
            encode: 0,
        };
        let mut idle_ranks = vec![0u64; dies.div_ceil(64)];
        (0..dies).for_each(|rank| idle_ranks[rank / 64] |= 1 << (rank % 64));
        Ok(Ftl {
            bits: UnitBits::new(needs.bits_per_unit, store.user_units),
            block_bytes: BlockBytes::new(needs.bytes_per_block, geometry.block_count),
            space: Space::new(
                &geometry,
                Streams {
                    host: host_streams,
                    all: streams,
                    shared: !config.separate_relocations && !needs.relocations_apart,
                    by_plane: config.allocation_order.is_by_plane(),
                },
                config.reserve_blocks,
                parameters.facts.erase_levels.clone(),
            ),
            victim: config.victim.build(()),
            wear_rule: config.wear_leveling.build(()),
            retention: Retention::new(
                retention_limits(&parameters, needs.page_scope),
                (0..parameters.facts.write_modes.len()).map(|mode| policy.move_after(ModeId(mode as u8))).collect(),
                parameters.rated_pe_cycles,
                config.retention_margin,
                &moving,
            ),
            rng: Rng::stream(parameters.seed, "ftl.gc"),
            collectors: (0..dies).map(|_| Collector::new(geometry.units_per_program)).collect(),
            programs: (0..dies).map(|_| program()).collect(),
            moves: PageMoves::new(),
            writes: WriteQueue::new(lists),
            idle_ranks,
            places,
            rank_of,
            die_at,
            next_rank: 0,
            arrivals: 0,
            idle_since: vec![SimTime::ZERO; dies],
            idle_armed: [vec![false; dies], vec![false; dies]],
            critical,
            low,
            flush_until: 0,
            flushes: Vec::new(),
            unfinished: 0,
            last_write: SimTime::ZERO,
            flush_armed: false,
            policy_armed: None,
            draining: false,
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

    /// Loads ahead what commands on these units will need. Changes nothing.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.sink ^= self.store.look_ahead(units, writes);
        if self.needs.bits_per_unit > 0 {
            self.sink ^= self.bits.look_ahead(units);
        }
        if writes && self.needs.ages {
            self.sink ^= self.store.look_ahead_ages(units);
        }
    }

    /// The policy's numbers.
    pub fn policy_stats(&self) -> Vec<(String, f64)> {
        self.policy.named_stats()
    }

    /// What went wrong in the policy, if it cannot go on.
    pub fn policy_failure(&self) -> Option<kit::Problem> {
        self.policy.failure()
    }

    /// Whether a saved drive has all that the policy keeps.
    pub fn policy_is_saved_whole(&self) -> bool {
        self.policy.is_saved_whole()
    }

    /// Whether the policy wants to be told what is to come.
    pub fn wants_future(&self) -> bool {
        self.policy.wants_future()
    }

    /// Tells the policy what is to come of the workload that begins at `start`.
    pub fn foresee(&mut self, future: &Arc<Future>, start: SimTime) {
        self.policy.foresee(future, start);
    }

    /// Whether data of a collection is on its way through an encoder.
    pub fn is_encoding(&self) -> bool {
        self.collectors.iter().any(|collector| collector.encoding.is_some())
    }

    /// The shutdown is over.
    pub fn end_shutdown(&mut self) {
        self.draining = false;
    }

    /// Whether somebody stopped the run while the policy decided.
    pub fn policy_is_stopped(&self) -> bool {
        self.policy.is_stopped()
    }

    /// The write mode of data older than the run.
    pub fn mode_of_old_data(&self) -> ModeId {
        self.old_mode
    }

    /// Bits of declared state for each unit.
    pub fn declared_bits(&self) -> u8 {
        self.bits.bits_per_unit()
    }

    /// Bytes of declared state for each block.
    pub fn declared_bytes(&self) -> u8 {
        self.block_bytes.bytes_per_block()
    }

    /// Whether the policy keeps a write mode for each page, and answers for its reads.
    pub fn keeps_modes_by_page(&self) -> bool {
        self.needs.page_scope
    }

    /// Free blocks in the drive.
    pub fn free_blocks(&self) -> u64 {
        self.space.total_free_blocks()
    }

    /// Deadlines missed, and the least margin kept \[ns\], if any block with a limit was moved.
    pub fn retention_report(&self) -> (u64, Option<i64>) {
        (self.retention.misses, self.retention.least_margin)
    }

    /// Whether data of any write mode must be moved before a limit.
    pub fn has_retention_limits(&self) -> bool {
        self.parameters.retention_limits.iter().any(|classes| !classes.is_empty())
    }

    /// Units that are mapped, for reports.
    pub fn mapped_units(&self) -> u64 {
        self.store.valid_by_mode.iter().sum()
    }

    /// Since when the oldest host write that this die could take has been waiting.
    #[inline]
    pub fn oldest_write(&self, die: DieId) -> Option<SimTime> {
        self.writes.oldest(self.list_of(die))
    }

    #[inline]
    fn list_of(&self, die: DieId) -> usize {
        if self.config.write_allocation == WriteAllocation::Pull { 0 } else { die.index() }
    }
}
