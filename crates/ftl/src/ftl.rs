//! The flash translation layer as a stage of the drive.

use crate::collector::Collector;
use crate::config::{FtlConfig, ReadInFlight, UnmappedRead, WriteAllocation, ranks};
use crate::map::{BlockState, Mapped, PADDING, SLOT_BASE, Store, decode, encode};
use crate::moves::PageMoves;
use crate::policy::{Candidate, Facts, Idle, ModePolicy, Needs, PageMove, Placed, UnitBits, View};
use crate::retention::Retention;
use crate::space::{For, Space, Target};
use crate::victim::{Candidates, Victim};
use crate::wear::{Wear, WearLeveling};
use crate::writes::{WriteQueue, Writer};
use kit::clock::{Reading, charge_wait};
use kit::queue::Class;
use kit::reason::REASON_COUNT;
use kit::{
    BlockId, Cause, CommandId, DieId, Event, Geometry, Ledger, Lpn, ModeId, Nanos, Operation, OperationKind, Outbox, Owner, Part,
    Ppn, ReadSource, Reason, Record, Rng, SimTime, Timer,
};

const NO_PLACE: u32 = u32::MAX;

/// What the FTL needs to know about the rest of the drive.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The shape of the flash.
    pub geometry: Geometry,
    /// Facts for the policy.
    pub facts: Facts,
    /// Retention limits by write mode and wear class; empty: without limit.
    pub retention_limits: Vec<Vec<Nanos>>,
    /// Wear of one erase by erase mode, in thousandths of a nominal erase.
    pub erase_wear: Vec<u32>,
    /// Program and erase cycles a block is rated for.
    pub rated_pe_cycles: u32,
    /// Relocations may use copyback.
    pub copyback: bool,
    /// Host writes are acknowledged when the buffer takes them; units then wait for a full stripe or for this long without a new write.
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
#[derive(Clone, Debug, Default)]
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
        }
    }
}

/// What a die is programming: its units and what they supersede.
struct Stripe {
    first: Ppn,
    mode: ModeId,
    units: Vec<StripeUnit>,
    reason: Reason,
    /// The host stream it is written through; none for relocated data.
    stream: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct StripeUnit {
    kind: UnitKind,
    superseded: u32,
}

#[derive(Clone, Copy, Debug)]
enum UnitKind {
    Host { command: CommandId, waited: Reading, filled_in: Nanos },
    Buffered { accepted: u64 },
    Moved,
}

/// A flush waiting for units that were accepted before it.
#[derive(Clone, Copy, Debug)]
struct PendingFlush {
    command: CommandId,
    accepted: u64,
    outstanding: u64,
    since: SimTime,
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
    pub(crate) bits: UnitBits,
    pub(crate) victim: Box<dyn Victim>,
    pub(crate) wear_rule: Box<dyn WearLeveling>,
    pub(crate) retention: Retention,
    pub(crate) rng: Rng,
    pub(crate) collectors: Vec<Collector>,
    stripes: Vec<Stripe>,
    pub(crate) moves: PageMoves,
    pub(crate) writes: WriteQueue,
    /// Dies with nothing to do, as bits by rank, and the rank after the one woken last.
    idle_ranks: Vec<u64>,
    rank_of: Vec<u32>,
    die_at: Vec<DieId>,
    next_rank: u32,
    arrival_rank: u32,
    idle_since: Vec<SimTime>,
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
    sink: u64,
}

impl Ftl {
    /// The FTL of a validated description, with an empty drive.
    pub fn new(config: &FtlConfig, policy: Box<dyn ModePolicy>, parameters: Parameters) -> std::io::Result<Ftl> {
        let geometry = parameters.geometry;
        let needs = policy.needs();
        let mode_count = parameters.facts.write_modes.len();
        // Streams: the host's, then one for relocations in each write mode.
        let host_streams = usize::from(needs.host_streams);
        let streams = host_streams + mode_count;
        let store = Store::new(geometry, config.user_units(&geometry), mode_count)?;
        let move_per_unit =
            parameters.facts.move_time.0 as f64 / f64::from(geometry.units_per_stripe) / f64::from(geometry.die_count);
        let (critical, low) = config.thresholds(&geometry);
        let rank_of = ranks(config.allocation_order, &geometry);
        let mut die_at = vec![DieId(0); rank_of.len()];
        for (die, rank) in rank_of.iter().enumerate() {
            die_at[*rank as usize] = DieId(die as u32);
        }
        let dies = geometry.die_count as usize;
        let lists = if config.write_allocation == WriteAllocation::Pull { 1 } else { dies };
        let stripe = || Stripe {
            first: Ppn(0),
            mode: ModeId(0),
            units: Vec::with_capacity(geometry.units_per_stripe as usize),
            reason: Reason::Host,
            stream: None,
        };
        let mut idle_ranks = vec![0u64; dies.div_ceil(64)];
        (0..dies).for_each(|rank| idle_ranks[rank / 64] |= 1 << (rank % 64));
        Ok(Ftl {
            bits: UnitBits::new(needs.bits_per_unit, store.user_units),
            space: Space::new(&geometry, host_streams, streams, config.reserve_blocks),
            victim: config.victim.build(()),
            wear_rule: config.wear_leveling.build(()),
            retention: Retention::new(
                parameters.retention_limits.clone(),
                parameters.rated_pe_cycles,
                config.retention_margin,
                move_per_unit,
            ),
            rng: Rng::stream(parameters.seed, "ftl.gc"),
            collectors: (0..dies).map(|_| Collector::new(geometry.units_per_stripe)).collect(),
            stripes: (0..dies).map(|_| stripe()).collect(),
            moves: PageMoves::new(),
            writes: WriteQueue::new(lists),
            idle_ranks,
            rank_of,
            die_at,
            next_rank: 0,
            arrival_rank: 0,
            idle_since: vec![SimTime::ZERO; dies],
            critical,
            low,
            flush_until: 0,
            flushes: Vec::new(),
            unfinished: 0,
            last_write: SimTime::ZERO,
            flush_armed: false,
            policy_armed: None,
            draining: false,
            scratch: Vec::with_capacity(geometry.units_per_stripe as usize),
            sink: 0,
            counters: FtlCounters::default(),
            config: config.clone(),
            policy,
            needs,
            store,
            parameters,
        })
    }

    /// Loads ahead what commands on these units will need. Changes nothing.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.sink ^= self.store.look_ahead(units, writes);
    }

    /// The policy's numbers.
    pub fn policy_stats(&self) -> Vec<(&'static str, f64)> {
        self.policy.stats()
    }

    /// Bits of declared state for each unit.
    pub fn declared_bits(&self) -> u8 {
        self.bits.bits_per_unit()
    }

    /// Free blocks in the drive.
    pub fn free_blocks(&self) -> u64 {
        self.space.total_free_blocks()
    }

    /// Deadlines missed, and the least margin kept \[ns\], if any block with a limit was moved.
    pub fn retention_report(&self) -> (u64, Option<i64>) {
        (self.retention.misses, self.retention.least_margin)
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

    // ---------------------------------------------------------------- host side

    /// Looks up the units of a host read and leaves the flash reads they need in the outbox. Returns the number of parts that will report: one for each
    /// flash read, and one for everything that is answered at once.
    pub fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        if count == 1
            && let Mapped::At(ppn) = decode(self.store.l2p[first.index()])
            && let Some(operation) = self.single_read(command, first, ppn, now, out)
        {
            out.reads.push(operation);
            return 1;
        }
        let geometry = self.store.geometry;
        let (mut parts, mut at_once) = (0, 0);
        let mut open: Option<Operation> = None;
        let mut planes_seen = 0u64;
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let source = self.resolve(lpn);
            out.journal.note(|| Record::ReadResolved { command, lpn, source });
            let ReadSource::Flash(ppn) = source else {
                if source == ReadSource::Unmapped && self.config.unmapped_read == UnmappedRead::Flash {
                    parts += 1;
                    out.reads.push(self.unmapped_operation(command, lpn));
                } else {
                    at_once += 1;
                }
                continue;
            };
            self.store.pin(ppn);
            if self.needs.reads {
                self.call_policy(now, &out.signals, |policy, view| policy.read_issued(lpn, ppn, view));
            }
            let (block, unit) = geometry.split(ppn);
            let row = geometry.row_of(unit);
            if let Some(operation) = &mut open {
                // Neighbours on one row are sensed together; each further plane of the row is one page more.
                let (open_block, open_unit) = geometry.split(operation.first);
                if open_block == block && geometry.row_of(open_unit) == row && ppn.0 == operation.first.0 + operation.units {
                    operation.units += 1;
                    let page = 1u64 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
                    operation.pages += u32::from(planes_seen & page == 0);
                    planes_seen |= page;
                    continue;
                }
                out.reads.push(*operation);
            }
            planes_seen = 1 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
            parts += 1;
            open = Some(Operation {
                kind: OperationKind::Read,
                reason: Reason::Host,
                die: geometry.die_of(block),
                first: ppn,
                units: 1,
                pages: 1,
                page_type: geometry.page_type_of(unit),
                mode: ModeId(0),
                owner: Owner::Command(command),
            });
        }
        if let Some(operation) = open {
            out.reads.push(operation);
        }
        if at_once > 0 {
            parts += 1;
            out.parts.push(Part { command, ledger: Ledger::default(), units: at_once });
        }
        parts
    }

    /// The read of a single durable unit: the common case, without the work of joining neighbours.
    #[inline]
    fn single_read(&mut self, command: CommandId, lpn: Lpn, ppn: Ppn, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        let geometry = &self.store.geometry;
        let (block, unit) = geometry.split(ppn);
        let (die, page_type, stripe) = (geometry.die_of(block), geometry.page_type_of(unit), geometry.stripe_of(unit));
        let record = &mut self.store.blocks[block.index()];
        if stripe >= u32::from(record.programmed) {
            return None;
        }
        record.pins += 1;
        out.journal.note(|| Record::ReadResolved { command, lpn, source: ReadSource::Flash(ppn) });
        if self.needs.reads {
            self.call_policy(now, &out.signals, |policy, view| policy.read_issued(lpn, ppn, view));
        }
        let owner = Owner::Command(command);
        Some(Operation {
            kind: OperationKind::Read,
            reason: Reason::Host,
            die,
            first: ppn,
            units: 1,
            pages: 1,
            page_type,
            mode: ModeId(0),
            owner,
        })
    }

    /// Where the data of a unit is.
    #[inline]
    fn resolve(&mut self, lpn: Lpn) -> ReadSource {
        match decode(self.store.l2p[lpn.index()]) {
            Mapped::Nowhere => {
                self.counters.unmapped_reads += 1;
                ReadSource::Unmapped
            }
            Mapped::Slot(slot) => {
                self.counters.buffer_hits += 1;
                ReadSource::Buffer(slot)
            }
            Mapped::At(ppn) => {
                let (block, unit) = self.store.geometry.split(ppn);
                let durable = self.store.geometry.stripe_of(unit) < u32::from(self.store.block(block).programmed);
                if durable || self.config.read_in_flight == ReadInFlight::Wait {
                    return ReadSource::Flash(ppn);
                }
                self.counters.reads_in_flight += 1;
                ReadSource::Controller(ppn)
            }
        }
    }

    fn unmapped_operation(&self, command: CommandId, lpn: Lpn) -> Operation {
        let die = self.die_at[(lpn.0 % self.store.geometry.die_count) as usize];
        Operation {
            kind: OperationKind::Read,
            reason: Reason::Host,
            die,
            first: Ppn(NO_PLACE),
            units: 1,
            pages: 1,
            page_type: 0,
            mode: ModeId(0),
            owner: Owner::Command(command),
        }
    }

    /// A unit of a host write is in the controller.
    pub fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) {
        let HostUnit { command, lpn, whole, last, buffered } = *unit;
        self.counters.host_units += 1;
        self.last_write = now;
        out.journal.note(|| Record::WriteAccepted { command, lpn });
        let code = self.store.l2p[lpn.index()];
        if let (true, Mapped::Slot(slot)) = (buffered, decode(code)) {
            self.counters.absorbed += 1;
            out.buffer_released += 1;
            out.journal.note(|| Record::Buffered { command, lpn, slot });
            return;
        }
        let writer = if buffered { Writer::Buffer } else { Writer::Command(command) };
        let slot = self.writes.accept(lpn, writer, last);
        out.signals.queued_write_requests += u64::from(last);
        if buffered {
            assert!(slot < u32::MAX - SLOT_BASE, "the write buffer has more units than the map can name");
            self.writes.units[slot].prior = code;
            self.store.l2p[lpn.index()] = SLOT_BASE + slot;
            self.unfinished += 1;
            out.journal.note(|| Record::Buffered { command, lpn, slot });
        }
        if let (false, Mapped::At(ppn)) = (whole, decode(code)) {
            let (block, unit) = self.store.geometry.split(ppn);
            if self.store.geometry.stripe_of(unit) < u32::from(self.store.block(block).programmed) {
                self.writes.units[slot].since = now;
                self.push_fill(slot, ppn, out);
                return;
            }
        }
        self.enqueue(slot, now, out);
    }

    /// The rest of a partly written unit is read first.
    fn push_fill(&mut self, slot: u32, ppn: Ppn, out: &mut Outbox) {
        self.store.pin(ppn);
        let operation = self.read_operation(ppn, Reason::Rmw, Owner::Fill(slot));
        out.reads.push(operation);
    }

    fn read_operation(&self, ppn: Ppn, reason: Reason, owner: Owner) -> Operation {
        let geometry = &self.store.geometry;
        let (block, unit) = geometry.split(ppn);
        Operation {
            kind: OperationKind::Read,
            reason,
            die: geometry.die_of(block),
            first: ppn,
            units: 1,
            pages: 1,
            page_type: geometry.page_type_of(unit),
            mode: ModeId(0),
            owner,
        }
    }

    /// A complete unit joins the write queue, and dies are woken for it.
    #[inline]
    fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let list = match self.config.write_allocation {
            WriteAllocation::Pull => 0,
            WriteAllocation::Static => {
                self.die_at[(self.writes.units[slot].lpn.0 % self.store.geometry.die_count) as usize].index()
            }
            WriteAllocation::RoundRobin => {
                self.arrival_rank = (self.arrival_rank + 1) % self.store.geometry.die_count;
                self.die_at[self.arrival_rank as usize].index()
            }
        };
        out.signals.queued_write_pages += 1;
        self.writes.push(list, slot, now, out.signals.clock.read(now));
        if self.may_pull(list, now) {
            if self.config.write_allocation == WriteAllocation::Pull {
                self.wake_one(out);
            } else if self.is_idle(DieId(list as u32)) {
                out.mark_ready(DieId(list as u32));
            }
        } else if let (Some(after), false) = (self.parameters.buffer_flush_after, self.flush_armed) {
            self.flush_armed = true;
            out.events.push(now + after, Class::Timer, Event::Timer(Timer::Flush));
        }
    }

    /// Whether a program may be made of what waits in a list: a full stripe; or less where nobody expects more (no buffer, a flush, a shutdown).
    #[inline]
    fn may_pull(&self, list: usize, _now: SimTime) -> bool {
        let waiting = self.writes.len(list);
        waiting >= u64::from(self.store.geometry.units_per_stripe)
            || waiting > 0
                && (self.parameters.buffer_flush_after.is_none()
                    || self.draining
                    || self.oldest_accepted(list) <= self.flush_until)
    }

    fn oldest_accepted(&self, list: usize) -> u64 {
        self.writes.head(list).map_or(u64::MAX, |slot| self.writes.units[slot].accepted)
    }

    /// Marks the next idle die that could take host data as ready.
    #[inline]
    fn wake_one(&mut self, out: &mut Outbox) {
        let count = self.rank_of.len() as u32;
        let mut rank = self.next_rank;
        let mut left = count;
        while left > 0 {
            let word = self.idle_ranks[rank as usize / 64] >> (rank % 64);
            if word == 0 {
                let step = (64 - rank % 64).min(count - rank).min(left);
                rank = (rank + step) % count;
                left -= step;
                continue;
            }
            let step = word.trailing_zeros();
            if step >= left {
                return;
            }
            rank += step;
            left -= step;
            let die = self.die_at[rank as usize];
            let next = (rank + 1) % count;
            if self.space.has_room(die) {
                self.next_rank = next;
                // No longer on offer: the next write wakes another.
                self.set_busy(die);
                out.mark_ready(die);
                return;
            }
            rank = next;
            left -= 1;
        }
    }

    /// A die that was offered a write took something else: another idle die is woken for what still waits.
    #[inline]
    pub fn offer_again(&mut self, now: SimTime, out: &mut Outbox) {
        if self.config.write_allocation == WriteAllocation::Pull && self.may_pull(0, now) {
            self.wake_one(out);
        }
    }

    #[inline]
    fn is_idle(&self, die: DieId) -> bool {
        let rank = self.rank_of[die.index()] as usize;
        self.idle_ranks[rank / 64] >> (rank % 64) & 1 == 1
    }

    /// The die has something to do.
    #[inline]
    pub fn set_busy(&mut self, die: DieId) {
        let rank = self.rank_of[die.index()] as usize;
        self.idle_ranks[rank / 64] &= !(1 << (rank % 64));
    }

    /// The die has nothing to do: it is on offer for the next write, and may ask for background work later.
    #[inline]
    pub fn set_idle(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        let rank = self.rank_of[die.index()] as usize;
        let word = &mut self.idle_ranks[rank / 64];
        if *word >> (rank % 64) & 1 == 1 {
            return;
        }
        *word |= 1 << (rank % 64);
        self.idle_since[die.index()] = now;
        if let Some(after) = self.config.gc_idle_after
            && self.space.free_blocks(die) < self.config.gc_idle_target_blocks
        {
            out.events.push(now + after, Class::Timer, Event::Timer(Timer::Idle(die)));
        }
    }

    /// Deallocates whole units.
    pub fn trim(&mut self, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) {
        for lpn in (first.0..first.0 + count).map(Lpn) {
            self.counters.trimmed_units += 1;
            let code = std::mem::replace(&mut self.store.l2p[lpn.index()], 0);
            let place = match decode(code) {
                Mapped::Nowhere => continue,
                Mapped::At(ppn) => Some(ppn),
                Mapped::Slot(slot) => {
                    let unit = &mut self.writes.units[slot];
                    unit.dropped = true;
                    match decode(std::mem::replace(&mut unit.prior, 0)) {
                        Mapped::At(ppn) => Some(ppn),
                        Mapped::Nowhere | Mapped::Slot(_) => None,
                    }
                }
            };
            if let Some(ppn) = place {
                self.store.invalidate(ppn);
                self.wake_if_emptied(ppn, out);
            }
            out.journal.note(|| Record::Trimmed { lpn });
            if self.needs.dropped {
                self.call_policy(now, &out.signals, |policy, view| policy.dropped(lpn, view));
            }
        }
    }

    /// A victim that lost its last valid unit may now be ready to be erased.
    fn wake_if_emptied(&mut self, ppn: Ppn, out: &mut Outbox) {
        let block = self.store.geometry.block_of(ppn);
        if self.store.block(block).state() == BlockState::Victim {
            out.mark_ready(self.store.geometry.die_of(block));
        }
    }

    /// Every unit accepted so far is to be programmed; the command's part reports when they are.
    pub fn flush(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) {
        if self.unfinished == 0 {
            out.parts.push(Part { command, ..Part::default() });
            return;
        }
        let accepted = self.writes.accepted();
        self.flushes.push(PendingFlush { command, accepted, outstanding: self.unfinished, since: now });
        self.program_accepted(out);
    }

    /// Lets partial stripes be programmed for everything accepted so far.
    fn program_accepted(&mut self, out: &mut Outbox) {
        self.flush_until = self.writes.accepted();
        for list in 0..if self.config.write_allocation == WriteAllocation::Pull { 1 } else { self.rank_of.len() } {
            if self.writes.len(list) == 0 {
                continue;
            }
            if self.config.write_allocation == WriteAllocation::Pull {
                self.wake_one(out);
            } else {
                out.mark_ready(DieId(list as u32));
            }
        }
    }

    // ---------------------------------------------------------------- what an idle die does

    /// What an idle die should do next: a program, a read of its collection, an erase, or nothing.
    pub fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        if self.needs.moves
            && let Some(answer) = self.policy_first(die, now, out)
        {
            return answer;
        }
        // A drive that has not been written to has no reason to make space.
        let free = if self.counters.host_units == 0 { u32::MAX } else { self.space.free_blocks(die) };
        let collector = &self.collectors[die.index()];
        if (collector.urgent || free < self.critical || !self.config.gc_preemptible && collector.victim.is_some())
            && let Some(step) = self.collect(die, free < self.low, now, out)
        {
            return Some(step);
        }
        let list = self.list_of(die);
        if self.may_pull(list, now)
            && let Some(program) = self.program_host(die, list, now, out)
        {
            if self.config.write_allocation == WriteAllocation::Pull && self.may_pull(0, now) {
                self.wake_one(out);
            }
            return Some(program);
        }
        if let Some(program) = self.program_moves(die, now, out) {
            return Some(program);
        }
        let collector = &self.collectors[die.index()];
        if (free < self.low || collector.victim.is_some() && free < u32::MAX || !collector.wanted.is_empty())
            && let Some(step) = self.collect(die, free < self.low, now, out)
        {
            return Some(step);
        }
        if self.needs.moves || self.draining {
            self.offer_idle(die, now, out);
        }
        self.background(die, now, out)
    }

    /// A policy's urgent pages come before everything, and while there are any nothing else starts.
    fn policy_first(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Option<Operation>> {
        while let Some(page_move) = self.call_policy(now, &out.signals, |policy, view| policy.urgent(view)) {
            self.begin_move(page_move, true, out);
        }
        while let Some(page_move) = self.call_policy(now, &out.signals, |policy, view| policy.forced(view)) {
            self.begin_move(page_move, false, out);
        }
        self.arm_policy(now, out);
        let hold = self.moves.urgent > 0;
        if hold != out.signals.hold {
            out.signals.hold = hold;
            out.signals.restate(now);
            if !hold {
                // Everybody may start again.
                (0..self.store.geometry.die_count).for_each(|die| out.mark_ready(DieId(die)));
            }
        }
        if !hold {
            return None;
        }
        // Space for the rewrites themselves is still made.
        if self.space.free_blocks(die) <= self.config.reserve_blocks
            && let Some(step) = self.collect(die, true, now, out)
        {
            return Some(Some(step));
        }
        Some(self.program_moves(die, now, out))
    }

    fn arm_policy(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(at) = self.call_policy(now, &out.signals, |policy, view| policy.wake_at(view)) else { return };
        if at > now && self.policy_armed.is_none_or(|armed| armed > at || armed <= now) {
            self.policy_armed = Some(at);
            out.events.push(at, Class::Timer, Event::Timer(Timer::Policy));
        }
    }

    /// An idle die tells the policy, which may want a page moved.
    fn offer_idle(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        let channel = self.store.geometry.channel_of(die);
        let quiet = out.signals.queued_write_pages == 0;
        let idle = Idle {
            channel: (quiet && out.signals.channel_busy_dies[channel.index()] == 0).then_some(channel),
            drive: quiet && out.signals.busy_dies == 0 && out.signals.commands_in_flight == 0 && self.moves.in_flight == 0,
        };
        let page_move = if self.draining {
            if self.moves.in_flight >= u64::from(self.store.geometry.die_count) {
                return;
            }
            self.call_policy(now, &out.signals, |policy, view| policy.drain(view))
        } else {
            self.call_policy(now, &out.signals, |policy, view| policy.idle(&idle, view))
        };
        if let Some(page_move) = page_move {
            self.begin_move(page_move, false, out);
        }
        self.arm_policy(now, out);
    }

    /// A page move begins with a read where the page is.
    fn begin_move(&mut self, page_move: PageMove, urgent: bool, out: &mut Outbox) {
        if !self.store.is_valid(page_move.from) || self.store.lpn_at(page_move.from) != page_move.lpn {
            self.counters.relocation_skipped += 1;
            return;
        }
        self.moves.urgent += u64::from(urgent);
        let slot = self.moves.begin(page_move, urgent);
        self.store.pin(page_move.from);
        let (block, unit) = self.store.geometry.split(page_move.from);
        if self.store.geometry.stripe_of(unit) >= u32::from(self.store.block(block).programmed) {
            // Its program has not completed: the controller still has the data.
            self.move_is_read(slot, out);
            return;
        }
        let operation = self.read_operation(page_move.from, page_move.reason, Owner::Page(slot));
        out.reads.push(operation);
    }

    /// The page is in the controller. Its source stays pinned until it is bound, so that no later data can be taken for it.
    fn move_is_read(&mut self, slot: u32, out: &mut Outbox) {
        self.moves.ready.push_back(slot);
        self.wake_one(out);
    }

    /// Binds moved pages to this die's relocation frontier.
    fn program_moves(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        while let Some(&slot) = self.moves.ready.front() {
            let (first, _) = self.moves.get(slot);
            let stripe = self.store.geometry.units_per_stripe;
            if self.still_valid(&first) {
                let target = Target { die, stream: self.relocation_stream(first.mode), mode: first.mode, whom: For::Relocation };
                let place = self.space.advance(&mut self.store, target, stripe, now)?;
                self.begin_stripe(die, place, first.mode, first.reason);
                let mut bound = 0;
                while bound < stripe {
                    let Some(&slot) = self.moves.ready.front() else { break };
                    let (page_move, _) = self.moves.get(slot);
                    if page_move.mode != first.mode || page_move.reason != first.reason {
                        break;
                    }
                    self.moves.ready.pop_front();
                    if self.still_valid(&page_move) {
                        self.bind_moved(die, page_move.from, Ppn(place.0 + bound), now, out);
                        bound += 1;
                    } else {
                        self.counters.relocation_skipped += 1;
                    }
                    self.finish_move(slot, out);
                }
                return Some(self.finish_stripe(die, target.stream, bound, now, out));
            }
            self.moves.ready.pop_front();
            self.finish_move(slot, out);
            self.counters.relocation_skipped += 1;
        }
        None
    }

    fn finish_move(&mut self, slot: u32, out: &mut Outbox) {
        let (page_move, urgent) = self.moves.get(slot);
        self.unpin(page_move.from, out);
        self.moves.urgent -= u64::from(urgent);
        self.moves.end(slot);
    }

    fn still_valid(&self, page_move: &PageMove) -> bool {
        self.store.is_valid(page_move.from) && self.store.lpn_at(page_move.from) == page_move.lpn
    }

    // ---------------------------------------------------------------- host programs

    /// Binds the oldest waiting units to one program on this die.
    fn program_host(&mut self, die: DieId, list: usize, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        // A frontier that the policy might choose must be able to take them: with none, the write stays in the queue.
        if !self.space.has_room(die) {
            self.restate_space(now, out);
            return None;
        }
        let stripe_units = self.store.geometry.units_per_stripe as usize;
        self.scratch.clear();
        let mut next = self.writes.head(list);
        while let Some(slot) = next {
            if self.scratch.len() == stripe_units {
                break;
            }
            let unit = &self.writes.units[slot];
            if !unit.dropped {
                self.scratch.push(unit.lpn);
            }
            next = self.writes.after(slot);
        }
        if self.scratch.is_empty() {
            self.drop_trimmed(list, now, out);
            return None;
        }
        let units = std::mem::take(&mut self.scratch);
        let mut answer = self.call_policy(now, &out.signals, |policy, view| policy.write(&units, view));
        self.scratch = units;
        if self.store.valid_by_mode[answer.mode.index()] >= self.retention.most_owed[answer.mode.index()] {
            self.counters.retention_refusals += self.scratch.len() as u64;
            answer.mode = self.parameters.facts.write_mode("normal");
            answer.stream = 0;
        }
        let target = Target { die, stream: usize::from(answer.stream), mode: answer.mode, whom: For::Host };
        let Some(place) = self.space.advance(&mut self.store, target, stripe_units as u32, now) else {
            self.restate_space(now, out);
            return None;
        };
        self.begin_stripe(die, place, answer.mode, Reason::Host);
        self.stripes[die.index()].stream = Some(answer.stream);
        self.collectors[die.index()].in_background = false;
        let mut bound = 0;
        while bound < stripe_units as u32 {
            let Some(slot) = self.writes.pop(list) else { break };
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(self.writes.units[slot].last);
            if self.writes.units[slot].dropped {
                self.release_dropped(slot, now, out);
                continue;
            }
            self.bind_host(die, slot, Ppn(place.0 + bound), now, out);
            bound += 1;
        }
        self.counters.host_units_by_mode[answer.mode.index()] += u64::from(bound);
        Some(self.finish_stripe(die, target.stream, bound, now, out))
    }

    /// Units trimmed while they waited leave the queue without being programmed.
    fn drop_trimmed(&mut self, list: usize, now: SimTime, out: &mut Outbox) {
        while let Some(slot) = self.writes.head(list) {
            if !self.writes.units[slot].dropped {
                break;
            }
            self.writes.pop(list);
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(self.writes.units[slot].last);
            self.release_dropped(slot, now, out);
        }
    }

    fn release_dropped(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let accepted = self.writes.units[slot].accepted;
        self.writes.units.release(slot);
        self.buffer_unit_done(accepted, now, out);
    }

    /// The map changes here and nowhere else: the old copy is invalid, the new place is the unit's.
    #[inline]
    fn bind_host(&mut self, die: DieId, slot: u32, ppn: Ppn, now: SimTime, out: &mut Outbox) {
        let (mode, stream) = (self.stripes[die.index()].mode, self.stripes[die.index()].stream);
        let unit = &self.writes.units[slot];
        let lpn = unit.lpn;
        let (kind, old) = match unit.writer {
            Writer::Command(command) => {
                let mut waited = out.signals.clock.read(now);
                waited.iter_mut().zip(&unit.reading).for_each(|(after, before)| *after -= before);
                out.journal.note(|| Record::Bound { lpn, ppn, command, mode });
                (UnitKind::Host { command, waited, filled_in: unit.filled_in }, self.store.l2p[lpn.index()])
            }
            Writer::Buffer => {
                out.journal.note(|| Record::BoundFromBuffer { slot, lpn, ppn, mode });
                (UnitKind::Buffered { accepted: unit.accepted }, unit.prior)
            }
        };
        self.writes.units.release(slot);
        let superseded = match decode(old) {
            Mapped::At(old) => {
                self.store.invalidate(old);
                self.store.pin(old);
                old.0
            }
            Mapped::Nowhere | Mapped::Slot(_) => NO_PLACE,
        };
        self.store.l2p[lpn.index()] = encode(ppn);
        self.store.place(lpn, ppn);
        self.stripes[die.index()].units.push(StripeUnit { kind, superseded });
        if self.needs.placed {
            let placed = Placed { lpn, ppn, mode, reason: Reason::Host, stream };
            self.call_policy(now, &out.signals, |policy, view| policy.placed(&placed, view));
        }
    }

    fn begin_stripe(&mut self, die: DieId, first: Ppn, mode: ModeId, reason: Reason) {
        let stripe = &mut self.stripes[die.index()];
        debug_assert!(stripe.units.is_empty(), "a die programs one stripe at a time");
        stripe.first = first;
        stripe.mode = mode;
        stripe.reason = reason;
        stripe.stream = None;
    }

    /// The stripe's units are bound: the rest is padding, the frontier moves on, and the program can start.
    fn finish_stripe(&mut self, die: DieId, stream: usize, bound: u32, now: SimTime, out: &mut Outbox) -> Operation {
        let geometry = self.store.geometry;
        let stripe = &self.stripes[die.index()];
        let (first, mode, reason) = (stripe.first, stripe.mode, stripe.reason);
        for padding in bound..geometry.units_per_stripe {
            self.store.p2l[(first.0 + padding) as usize] = PADDING;
        }
        self.counters.units_programmed[reason as usize] += u64::from(bound);
        self.counters.units_programmed[Reason::Padding as usize] += u64::from(geometry.units_per_stripe - bound);
        self.counters.units_by_mode[mode.index()] += u64::from(bound);
        while let Some(block) = self.space.opened.pop() {
            self.retention.opened(&self.store, block);
            self.arm_retention(now, out);
        }
        self.space.settle(&mut self.store, die, stream);
        self.restate_space(now, out);
        let (_, unit) = geometry.split(first);
        Operation {
            kind: OperationKind::Program,
            reason,
            die,
            first,
            units: geometry.units_per_stripe,
            pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
            page_type: geometry.page_type_of(unit),
            mode,
            owner: Owner::Stripe,
        }
    }

    /// The drive-wide clock learns whether any die can take host data.
    #[inline]
    fn restate_space(&mut self, now: SimTime, out: &mut Outbox) {
        let none = self.space.rooms() == 0;
        if none != out.signals.no_space {
            out.signals.no_space = none;
            out.signals.restate(now);
        }
    }

    // ---------------------------------------------------------------- relocation

    #[inline]
    pub(crate) fn relocation_stream(&self, mode: ModeId) -> usize {
        if self.config.separate_relocations || mode.0 != 0 { usize::from(self.needs.host_streams) + mode.index() } else { 0 }
    }

    /// The next step of this die's collection; `for_space`: begin one if there is none.
    fn collect(&mut self, die: DieId, for_space: bool, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        if self.collectors[die.index()].victim.is_none() && !self.begin_collection(die, for_space, now, out) {
            return None;
        }
        let stripe = self.store.geometry.units_per_stripe as usize;
        let victim = self.collectors[die.index()].victim?;
        let end = Ppn(self.store.geometry.first_of(victim).0 + self.store.geometry.units_per_block);
        loop {
            let collector = &self.collectors[die.index()];
            let exhausted = self.store.next_valid(collector.cursor, end).is_none();
            if collector.gathered.len() >= stripe || exhausted && !collector.gathered.is_empty() {
                self.drop_overwritten(die);
                let gathered = self.collectors[die.index()].gathered.len();
                if gathered >= stripe || exhausted && gathered > 0 {
                    return self.program_gathered(die, now, out);
                }
                continue;
            }
            if !exhausted {
                return Some(self.read_row(die, end, now, out));
            }
            return self.erase_if_ready(die, victim, now, out);
        }
    }

    /// Chooses a block to empty: one that somebody wants moved, or, for space, the victim rule's or the policy's choice.
    fn begin_collection(&mut self, die: DieId, for_space: bool, now: SimTime, out: &mut Outbox) -> bool {
        while let Some((block, reason)) = self.collectors[die.index()].wanted.pop() {
            if self.store.block(block).state() == BlockState::Open {
                let stream = self.space.stream_of(die, block).expect("an open block is a frontier");
                self.space.give_up(&mut self.store, die, stream);
            }
            if self.store.block(block).state() == BlockState::Closed {
                self.take_victim(die, block, reason);
                return true;
            }
        }
        if !for_space {
            return false;
        }
        let Some(block) = self.choose_victim(die, now, out) else { return false };
        self.counters.collections += 1;
        self.take_victim(die, block, Reason::Gc);
        true
    }

    fn take_victim(&mut self, die: DieId, block: BlockId, reason: Reason) {
        self.store.take_victim(block);
        self.sink ^= self.store.look_ahead_block(block);
        self.collectors[die.index()].begin(block, self.store.geometry.first_of(block), reason);
    }

    fn choose_victim(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<BlockId> {
        let mode_count = self.parameters.facts.write_modes.len() as u8;
        if !self.needs.scores {
            let mut candidates = Candidates { store: &self.store, die, now, mode_count, rng: &mut self.rng };
            return self.victim.choose(&mut candidates);
        }
        let units = self.store.geometry.units_per_block;
        let best = (0..mode_count)
            .map(ModeId)
            .filter_map(|mode| self.store.least_valid(die, mode).map(|(block, valid)| (block, u32::from(valid), mode)));
        let candidates: Vec<Candidate> = best
            .filter(|(_, valid, _)| *valid < units)
            .map(|(block, valid, mode)| Candidate { block, valid, invalid: units - valid, mode })
            .collect();
        let scored: Vec<(f64, BlockId)> = candidates
            .iter()
            .map(|candidate| (self.call_policy(now, &out.signals, |policy, view| policy.score(candidate, view)), candidate.block))
            .collect();
        scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, block)| block)
    }

    /// Reads the valid units of the next row of the victim, all in one operation, or copies a page back within its plane.
    fn read_row(&mut self, die: DieId, end: Ppn, now: SimTime, out: &mut Outbox) -> Operation {
        let geometry = self.store.geometry;
        let collector = &self.collectors[die.index()];
        let first = self.store.next_valid(collector.cursor, end).expect("the caller saw one");
        let (block, unit) = geometry.split(first);
        let row_units = geometry.units_per_page * geometry.shape.planes_per_program;
        let row_end = Ppn(geometry.first_of(block).0 + (geometry.row_of(unit) + 1) * row_units);
        if self.parameters.copyback
            && row_units == 1
            && geometry.units_per_stripe == 1
            && let Some(operation) = self.copy_back(die, first, now, out)
        {
            return operation;
        }
        let (mut units, mut planes) = (0, 0u64);
        let mut at = first;
        let reason = self.collectors[die.index()].reason;
        while let Some(ppn) = self.store.next_valid(at, row_end) {
            let (_, unit) = geometry.split(ppn);
            planes |= 1 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
            units += 1;
            self.store.pin(ppn);
            self.collectors[die.index()].in_read.push(ppn);
            at = Ppn(ppn.0 + 1);
        }
        let collector = &mut self.collectors[die.index()];
        collector.cursor = row_end;
        collector.reading = true;
        Operation {
            kind: OperationKind::Read,
            reason,
            die,
            first,
            units,
            pages: planes.count_ones(),
            page_type: geometry.page_type_of(unit),
            mode: ModeId(0),
            owner: Owner::Collector,
        }
    }

    /// Copies one page back, if the relocation frontier is in the same plane.
    fn copy_back(&mut self, die: DieId, from: Ppn, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        let reason = self.collectors[die.index()].reason;
        let mode = self.call_policy(now, &out.signals, |policy, view| policy.relocate(reason, view));
        let target = Target { die, stream: self.relocation_stream(mode), mode, whom: For::Relocation };
        let geometry = self.store.geometry;
        let frontier = self.space.frontier(die, target.stream).filter(|&block| self.store.block(block).mode == mode.0)?;
        if geometry.group_of(frontier) != geometry.group_of(geometry.block_of(from)) {
            return None;
        }
        let place = self.space.advance(&mut self.store, target, 1, now)?;
        self.collectors[die.index()].cursor = Ppn(from.0 + 1);
        self.begin_stripe(die, place, mode, reason);
        self.bind_moved(die, from, place, now, out);
        let program = self.finish_stripe(die, target.stream, 1, now, out);
        let (_, unit) = geometry.split(from);
        Some(Operation { kind: OperationKind::Copyback, page_type: geometry.page_type_of(unit), ..program })
    }

    /// Drops gathered units that the host has overwritten since they were read.
    fn drop_overwritten(&mut self, die: DieId) {
        let store = &self.store;
        let gathered = &mut self.collectors[die.index()].gathered;
        let before = gathered.len();
        gathered.retain(|ppn| store.is_valid(*ppn));
        self.counters.relocation_skipped += (before - gathered.len()) as u64;
    }

    /// Binds gathered units to one program on this die.
    fn program_gathered(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        let reason = self.collectors[die.index()].reason;
        let mode = self.call_policy(now, &out.signals, |policy, view| policy.relocate(reason, view));
        let stripe = self.store.geometry.units_per_stripe;
        let target = Target { die, stream: self.relocation_stream(mode), mode, whom: For::Relocation };
        let place = self.space.advance(&mut self.store, target, stripe, now)?;
        self.begin_stripe(die, place, mode, reason);
        let count = self.collectors[die.index()].gathered.len().min(stripe as usize) as u32;
        for index in 0..count {
            let from = self.collectors[die.index()].gathered[index as usize];
            self.bind_moved(die, from, Ppn(place.0 + index), now, out);
        }
        self.collectors[die.index()].gathered.drain(..count as usize);
        Some(self.finish_stripe(die, target.stream, count, now, out))
    }

    /// A unit moves: the map (or the buffer's unit that supersedes it) follows.
    #[inline]
    fn bind_moved(&mut self, die: DieId, from: Ppn, to: Ppn, now: SimTime, out: &mut Outbox) {
        let lpn = self.store.lpn_at(from);
        self.store.invalidate(from);
        self.store.pin(from);
        match decode(self.store.l2p[lpn.index()]) {
            Mapped::Slot(slot) => {
                debug_assert_eq!(self.writes.units[slot].prior, encode(from));
                self.writes.units[slot].prior = encode(to);
            }
            _ => {
                debug_assert_eq!(self.store.l2p[lpn.index()], encode(from), "a valid place is the one the map names");
                self.store.l2p[lpn.index()] = encode(to);
            }
        }
        self.store.place(lpn, to);
        let (mode, reason) = (self.stripes[die.index()].mode, self.stripes[die.index()].reason);
        self.stripes[die.index()].units.push(StripeUnit { kind: UnitKind::Moved, superseded: from.0 });
        out.journal.note(|| Record::Relocated { lpn, from, to, reason, mode });
        if self.needs.placed {
            let placed = Placed { lpn, ppn: to, mode, reason, stream: None };
            self.call_policy(now, &out.signals, |policy, view| policy.placed(&placed, view));
        }
    }

    /// Erases the victim once nothing in it is valid or pinned.
    fn erase_if_ready(&mut self, die: DieId, victim: BlockId, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        let record = self.store.block(victim);
        if self.collectors[die.index()].reading || record.valid > 0 || record.pins > 0 {
            return None;
        }
        self.retention.note_emptied(&self.store, victim, now);
        let mode = self.call_policy(now, &out.signals, |policy, view| policy.erase(victim, view));
        self.store.begin_erase(victim);
        let shape = &self.store.geometry.shape;
        Some(Operation {
            kind: OperationKind::Erase,
            reason: self.collectors[die.index()].reason,
            die,
            first: self.store.geometry.first_of(victim),
            units: 0,
            pages: shape.planes_per_program * shape.superblock,
            page_type: 0,
            mode,
            owner: Owner::Collector,
        })
    }

    /// Collection on a die that has been idle for long enough, until it has the free blocks that are wanted or the host writes to it again.
    fn background(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Operation> {
        if !self.collectors[die.index()].in_background {
            return None;
        }
        if self.space.free_blocks(die) >= self.config.gc_idle_target_blocks {
            self.collectors[die.index()].in_background = false;
            return None;
        }
        self.collect(die, true, now, out)
    }

    // ---------------------------------------------------------------- completions and timers

    /// A flash operation is done. `ledger` is where its time went since it was pushed or pulled.
    pub fn operation_done(&mut self, operation: &Operation, ledger: &Ledger, now: SimTime, out: &mut Outbox) {
        match operation.owner {
            Owner::Command(_) => self.host_read_done(operation, now, out),
            Owner::Fill(slot) => {
                self.sensed(operation.first, operation.owner, out);
                let unit = &mut self.writes.units[slot];
                unit.filled_in = now.since(unit.since);
                self.enqueue(slot, now, out);
            }
            Owner::Page(slot) => {
                out.journal.note(|| Record::ReadSensed { ppn: operation.first, owner: operation.owner });
                self.move_is_read(slot, out);
            }
            Owner::Stripe => self.stripe_done(operation, ledger, now, out),
            Owner::Collector => match operation.kind {
                OperationKind::Read => self.row_read(operation.die, out),
                OperationKind::Erase => self.erased(operation, now, out),
                OperationKind::Program | OperationKind::Copyback => unreachable!("programs belong to a stripe"),
            },
        }
    }

    fn host_read_done(&mut self, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if operation.first.0 == NO_PLACE {
            return;
        }
        for ppn in (operation.first.0..operation.first.0 + operation.units).map(Ppn) {
            self.sensed(ppn, operation.owner, out);
            if self.needs.reads {
                let lpn = self.store.lpn_at(ppn);
                self.call_policy(now, &out.signals, |policy, view| policy.read_done(lpn, ppn, view));
            }
        }
    }

    #[inline]
    fn sensed(&mut self, ppn: Ppn, owner: Owner, out: &mut Outbox) {
        out.journal.note(|| Record::ReadSensed { ppn, owner });
        self.unpin(ppn, out);
    }

    #[inline]
    fn unpin(&mut self, ppn: Ppn, out: &mut Outbox) {
        if let Some(block) = self.store.unpin(ppn) {
            out.mark_ready(self.store.geometry.die_of(block));
        }
    }

    fn row_read(&mut self, die: DieId, out: &mut Outbox) {
        let mut read = std::mem::take(&mut self.collectors[die.index()].in_read);
        for &ppn in &read {
            self.sensed(ppn, Owner::Collector, out);
        }
        let collector = &mut self.collectors[die.index()];
        collector.reading = false;
        collector.gathered.append(&mut read);
        collector.in_read = read;
    }

    /// A program is done: its units are durable, and what they superseded may be erased.
    fn stripe_done(&mut self, operation: &Operation, ledger: &Ledger, now: SimTime, out: &mut Outbox) {
        let geometry = self.store.geometry;
        let (block, unit) = geometry.split(operation.first);
        let record = &mut self.store.blocks[block.index()];
        let stripe = geometry.stripe_of(unit);
        assert_eq!(u32::from(record.programmed), stripe, "{block:?} is programmed out of order");
        record.programmed += 1;
        out.journal.note(|| Record::Programmed { block, first: operation.first, count: geometry.units_per_stripe });
        let mut units = std::mem::take(&mut self.stripes[operation.die.index()].units);
        for unit in units.drain(..) {
            if unit.superseded != NO_PLACE {
                self.unpin(Ppn(unit.superseded), out);
            }
            match unit.kind {
                UnitKind::Host { command, waited, filled_in } => {
                    let mut part = *ledger;
                    charge_wait(&mut part, &Reading::default(), &waited);
                    part.charge(Cause::Rmw, filled_in);
                    out.parts.push(Part { command, ledger: part, units: 0 });
                }
                UnitKind::Buffered { accepted } => self.buffer_unit_done(accepted, now, out),
                UnitKind::Moved => {}
            }
        }
        self.stripes[operation.die.index()].units = units;
    }

    /// A unit has left the buffer; flushes that waited for it count down.
    fn buffer_unit_done(&mut self, accepted: u64, now: SimTime, out: &mut Outbox) {
        self.unfinished -= 1;
        out.buffer_released += 1;
        for flush in &mut self.flushes {
            flush.outstanding -= u64::from(accepted <= flush.accepted);
        }
        let mut index = 0;
        while index < self.flushes.len() {
            if self.flushes[index].outstanding > 0 {
                index += 1;
                continue;
            }
            let flush = self.flushes.swap_remove(index);
            let mut ledger = Ledger::default();
            ledger.charge(Cause::Order, now.since(flush.since));
            out.parts.push(Part { command: flush.command, ledger, units: 0 });
        }
    }

    /// A block is free again; wear levelling may want a cold one moved.
    fn erased(&mut self, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        let block = self.store.geometry.block_of(operation.first);
        self.end_erase(block, operation.mode);
        let collector = &mut self.collectors[die.index()];
        collector.victim = None;
        collector.urgent = collector.wanted.iter().any(|(_, reason)| *reason == Reason::Reprogram);
        out.journal.note(|| Record::Erased { block });
        self.restate_space(now, out);
        if self.wear_rule.is_static() && operation.reason != Reason::Wear {
            self.level_wear(die, block);
        }
    }

    pub(crate) fn end_erase(&mut self, block: BlockId, mode: ModeId) {
        self.store.end_erase(block, self.parameters.erase_wear[mode.index()]);
        self.space.put_free(&self.store, block, &*self.wear_rule);
    }

    fn level_wear(&mut self, die: DieId, erased: BlockId) {
        let blocks = self.store.geometry.blocks_of(die);
        let (mut total, mut coldest) = (0u64, None);
        for block in blocks.clone().map(BlockId) {
            let count = self.store.erase_count(block);
            total += u64::from(count);
            if self.store.block(block).state() == BlockState::Closed && coldest.is_none_or(|(least, _)| count < least) {
                coldest = Some((count, block));
            }
        }
        let Some((least, block)) = coldest else { return };
        let die_mean = total as f64 / f64::from(blocks.end - blocks.start);
        let erased = Wear { erase_count: self.store.erase_count(erased), die_mean };
        if self.wear_rule.moves_cold(erased, Wear { erase_count: least, die_mean }) {
            self.collectors[die.index()].wanted.push((block, Reason::Wear));
        }
    }

    /// A timer fires.
    pub fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        match timer {
            Timer::Retention => self.retention_due(now, out),
            Timer::Idle(die) => {
                let after = self.config.gc_idle_after.unwrap_or_default();
                if self.is_idle(die) && now.since(self.idle_since[die.index()]) >= after {
                    self.collectors[die.index()].in_background = true;
                    out.mark_ready(die);
                }
            }
            Timer::Policy => {
                self.policy_armed = None;
                (0..self.store.geometry.die_count).for_each(|die| out.mark_ready(DieId(die)));
            }
            Timer::Flush => self.buffer_idle(now, out),
        }
    }

    /// The buffer's flush timer: program what is left if no write came since, or look again later.
    fn buffer_idle(&mut self, now: SimTime, out: &mut Outbox) {
        self.flush_armed = false;
        let Some(after) = self.parameters.buffer_flush_after else { return };
        if out.signals.queued_write_pages == 0 {
            return;
        }
        let due = self.last_write + after;
        if now >= due {
            self.program_accepted(out);
        } else {
            self.flush_armed = true;
            out.events.push(due, Class::Timer, Event::Timer(Timer::Flush));
        }
    }

    /// Blocks whose retention limit is near are moved before anything else on their die.
    fn retention_due(&mut self, now: SimTime, out: &mut Outbox) {
        self.retention.armed = None;
        while let Some(block) = self.retention.take_due(&self.store, now) {
            let die = self.store.geometry.die_of(block);
            let collector = &mut self.collectors[die.index()];
            collector.wanted.push((block, Reason::Reprogram));
            collector.urgent = true;
            out.mark_ready(die);
        }
        self.arm_retention(now, out);
    }

    pub(crate) fn arm_retention(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(at) = self.retention.next_due(&self.store) else { return };
        if self.retention.armed.is_none_or(|armed| at < armed) {
            self.retention.armed = Some(at);
            out.events.push(at.max(now), Class::Timer, Event::Timer(Timer::Retention));
        }
    }

    /// From now on the drive shuts down: everything that waits is programmed, and the policy has its pages moved.
    pub fn begin_shutdown(&mut self, out: &mut Outbox) {
        self.draining = true;
        self.program_accepted(out);
        (0..self.store.geometry.die_count).for_each(|die| out.mark_ready(DieId(die)));
    }

    /// Lets the policy look at the drive it now runs, and arms its timers.
    pub fn adopt(&mut self, now: SimTime, out: &mut Outbox) {
        let signals = out.signals.clone();
        self.call_policy(now, &signals, |policy, view| policy.adopt(view));
        self.retention.adopt(&self.store);
        self.arm_retention(now, out);
        self.restate_space(now, out);
        if self.needs.moves {
            self.arm_policy(now, out);
        }
    }

    #[inline]
    pub(crate) fn call_policy<T>(
        &mut self,
        now: SimTime,
        signals: &kit::Signals,
        call: impl FnOnce(&mut dyn ModePolicy, &mut View<'_>) -> T,
    ) -> T {
        call(&mut *self.policy, &mut View { now, signals, store: &self.store, bits: &mut self.bits })
    }
}
