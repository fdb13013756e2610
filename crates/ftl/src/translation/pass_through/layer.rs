//! The layer: physical commands on the dies.

use super::chunks::{ChunkState, Chunks};
use super::lines::Lines;
use super::{MOST_ADDRESSES, Params, VECTORS};
use crate::config::places;
use crate::ftl::{FtlCounters, Parameters, Pulled};
use crate::idle::IdleDies;
use crate::medium::Medium;
use crate::medium::program::NO_PLACE;
use crate::translation::rows::{self, Joined};
use crate::translation::{Parts, Report, Translation, erased, medium, whole_units};
use crate::writes::{WriteQueue, Writer};
use kit::{
    BlockId, CommandId, Demand, DieId, Ended, Events, HostCommand, HostUnit, Lpn, ModeId, Op, Operation, OperationKind, Outbox,
    Owner, Ppn, ReadyDies, Reason, SimTime, Slab, Status, Stored, Timer, UNIT_BYTES,
};
use std::collections::VecDeque;
use std::ops::Range;

/// End of a chain of waiting units.
const NONE: u32 = u32::MAX;
/// Addresses of the place of a list: those of vectored commands begin behind the flash.
const PLACE: u32 = MOST_ADDRESSES as u32;

/// Addresses of a vectored command.
#[derive(Clone, Debug)]
struct List {
    addresses: [u32; MOST_ADDRESSES],
    /// Addresses whose data has not come.
    left: u32,
}

impl Default for List {
    fn default() -> Self {
        List { addresses: [0; MOST_ADDRESSES], left: 0 }
    }
}

/// Lists of addresses of vectored commands. Each has a place behind the addresses of the flash.
struct Lists {
    all: Slab<List>,
    /// First address of the place of the lists: the units of the flash.
    from: u32,
}

impl Lists {
    /// Returns the slot of the list in whose place an address is, and its number there; `None` for an address of the
    /// flash.
    fn listed(&self, lpn: Lpn) -> Option<(u32, usize)> {
        lpn.0.checked_sub(self.from).map(|at| (at / PLACE, (at % PLACE) as usize))
    }

    /// Returns the address of the flash for which an address stands.
    fn resolve(&self, lpn: Lpn) -> u32 {
        self.listed(lpn).map_or(lpn.0, |(list, at)| self.all[list].addresses[at])
    }

    /// Keeps a list. Returns the first address of its place; `None` if all places are taken.
    fn keep(&mut self, addresses: &[u32]) -> Option<Lpn> {
        let slot = self.all.take();
        if u64::from(slot + 1) * u64::from(PLACE) > VECTORS {
            self.all.release(slot);
            return None;
        }
        let list = &mut self.all[slot];
        list.left = addresses.len() as u32;
        list.addresses[..addresses.len()].copy_from_slice(addresses);
        Some(Lpn(self.from + slot * PLACE))
    }

    /// Frees the place of the list to which an address belongs, if it does.
    fn release(&mut self, lpn: Lpn) {
        if let Some((list, _)) = self.listed(lpn) {
            self.all.release(list);
        }
    }

    /// Counts an address whose data has come, and frees the place of its list after the last one.
    fn came(&mut self, lpn: Lpn) {
        if let Some((list, _)) = self.listed(lpn) {
            self.all[list].left -= 1;
            if self.all[list].left == 0 {
                self.all.release(list);
            }
        }
    }
}

/// Units of a program that have come.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    /// The unit that came last; the others follow in the chain of waiting units.
    chain: u32,
    units: u32,
}

impl Default for Gathered {
    fn default() -> Self {
        Gathered { chain: NONE, units: 0 }
    }
}

/// Data of a chunk that is on its way to the flash.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Programs given to the die.
    queued: u32,
    /// The programs from number `queued` on whose data has come in part.
    gathered: VecDeque<Gathered>,
}

/// Work of a die.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Program of a chunk, with its units.
    Program { chunk: u32, program: u32, chain: u32, since: SimTime },
    /// Erase of a chunk for a reset, which waits in this slot of the waiting units.
    Erase { chunk: u32, waiting: u32 },
}

/// The layer.
pub(super) struct PassThrough {
    parameters: Parameters,
    chunks: Chunks,
    pending: Vec<Pending>,
    medium: Medium,
    /// Work of each die, in order.
    work: Vec<VecDeque<Work>>,
    lists: Lists,
    writes: WriteQueue,
    idle: IdleDies,
    mode: ModeId,
    read_mode: ModeId,
    counters: FtlCounters,
    resets: u64,
    refused: u64,
    vectored: u64,
}

impl PassThrough {
    pub fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<PassThrough> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let rules = params.rules(&geometry);
        let full = (params.full * f64::from(geometry.blocks_per_die)).round() as u32;
        let idle = IdleDies::new(&places(config.allocation_order, &geometry));
        let in_turn = || (0..geometry.die_count as usize).map(|turn| idle.die_at(turn)).collect();
        let lines = params.stripe_unit.map(|units| Lines::new(units, rules.units, rules.chunks_per_die, in_turn()));
        let chunks = Chunks::new(rules, geometry.die_count, full, starting.pe_cycles).with_lines(lines);
        let mode = parameters.facts.write_mode("normal");
        let (mut medium, mut pending) = (medium(&parameters, &starting)?, vec![Pending::default(); chunks.all().len()]);
        for (chunk, _) in (0..).zip(chunks.all()).filter(|(_, chunk)| chunk.state == ChunkState::Closed) {
            medium.begin_full(BlockId(chunk), mode);
            pending[chunk as usize].queued = geometry.programs_per_block;
        }
        Ok(PassThrough {
            pending,
            chunks,
            medium,
            work: vec![VecDeque::new(); geometry.die_count as usize],
            lists: Lists { all: Slab::default(), from: geometry.unit_count() as u32 },
            writes: WriteQueue::new(1),
            idle,
            mode,
            read_mode: parameters.facts.read_mode_of.get(mode.index()).copied().unwrap_or_default(),
            counters: FtlCounters::default(),
            resets: 0,
            refused: 0,
            vectored: 0,
            parameters,
        })
    }

    /// Returns the first place of a chunk.
    fn first_of(&self, chunk: u32) -> Ppn {
        self.parameters.geometry.first_of(BlockId(chunk))
    }

    fn die_of(&self, chunk: u32) -> DieId {
        DieId(chunk / self.chunks.rules().chunks_per_die)
    }

    fn queue(&mut self, chunk: u32, work: Work, out: &mut Outbox) {
        let die = self.die_of(chunk);
        self.work[die.index()].push_back(work);
        if self.idle.contains(die) {
            out.ready.mark(die);
        }
    }

    /// Returns the addresses of the chunks that a trim resets.
    fn chunks_of(&self, units: Range<u32>) -> Result<Vec<u32>, Status> {
        if self.lists.listed(Lpn(units.start)).is_some() {
            return Ok(units.map(|unit| self.lists.resolve(Lpn(unit))).collect());
        }
        let size = self.chunks.rules().units;
        if !units.start.is_multiple_of(size) || !units.end.is_multiple_of(size) {
            return Err(Status::InvalidField);
        }
        Ok(units.step_by(size as usize).collect())
    }

    /// Returns the chunk of an address, and the place there.
    fn split(&self, address: u32) -> (u32, u32) {
        let size = self.chunks.rules().units;
        (address / size, address % size)
    }

    /// Checks a command, and lets a write or a reset take effect on the chunks.
    fn checked(&mut self, command: &HostCommand) -> Result<(), Status> {
        let (first, count) = whole_units(command)?;
        let units = first..first + count;
        match command.op {
            Op::Read => {
                self.chunks.read(units.clone().map(|unit| self.lists.resolve(Lpn(unit))))?;
                let is_programmed = |unit: u32| {
                    let (chunk, place) = self.split(self.lists.resolve(Lpn(unit)));
                    self.parameters.geometry.program_of(place) < self.medium.programs_done(BlockId(chunk))
                };
                if units.into_iter().all(is_programmed) { Ok(()) } else { Err(Status::Unwritten) }
            }
            Op::Write => self.chunks.write(units.map(|unit| self.lists.resolve(Lpn(unit)))),
            Op::Trim => {
                let (first, medium) = (self.chunks_of(units)?, &self.medium);
                let whole = self.parameters.geometry.units_per_program;
                self.chunks.reset(first.into_iter(), |chunk| medium.programs_done(BlockId(chunk)) * whole)
            }
            Op::Flush => Ok(()),
            Op::Append | Op::Zone => Err(Status::InvalidField),
        }
    }

    /// Returns the operation that programs units of a chunk, which it binds.
    fn program(&mut self, (chunk, program, chain): (u32, u32, u32), now: SimTime, out: &mut Outbox) -> Operation {
        let geometry = self.parameters.geometry;
        let die = self.die_of(chunk);
        self.medium.begin_program_of(BlockId(chunk), self.mode);
        self.medium.programs[die.index()].bind_chain(chain, &mut self.writes, now, &mut out.signals);
        let units = geometry.units_per_program;
        self.counters.units_programmed[Reason::Host as usize] += u64::from(units);
        self.counters.units_by_mode[self.mode.index()] += u64::from(units);
        self.counters.host_units_by_mode[self.mode.index()] += u64::from(units);
        let place = program * units;
        Operation {
            kind: OperationKind::Program,
            reason: Reason::Host,
            die,
            first: Ppn(self.first_of(chunk).0 + place),
            units,
            pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
            page_type: geometry.page_type_of(place),
            mode: self.mode,
            encode: if self.parameters.facts.codes[self.mode.index()] == 0 { 0 } else { units },
            skipped: 0,
            owner: Owner::ProgramUnit,
        }
    }

    fn erase(&mut self, chunk: u32, waiting: u32, now: SimTime, out: &mut Outbox) -> Operation {
        let die = self.die_of(chunk);
        self.medium.begin_whole_erase(BlockId(chunk));
        self.medium.programs[die.index()].bind(NO_PLACE).take(waiting, &mut self.writes, now, &out.signals.clock);
        self.writes.units.release(waiting);
        let shape = &self.parameters.geometry.shape;
        Operation {
            kind: OperationKind::Erase,
            reason: Reason::Host,
            die,
            first: self.first_of(chunk),
            pages: shape.planes_per_program * shape.superblock,
            owner: Owner::Collector,
            ..Operation::default()
        }
    }
}

impl Translation for PassThrough {
    fn check(&mut self, _id: CommandId, command: &HostCommand, _now: SimTime, _out: &mut Outbox) -> Result<Option<Lpn>, Status> {
        let result = self.checked(command);
        if result.is_err() {
            self.refused += 1;
            self.lists.release(Lpn((command.offset.0 / UNIT_BYTES) as u32));
        }
        result.map(|()| None)
    }

    fn checks_commands(&self) -> bool {
        true
    }

    fn chunks(&self) -> Option<&Chunks> {
        Some(&self.chunks)
    }

    fn vector(&mut self, addresses: &[u32]) -> Option<Lpn> {
        let first = self.lists.keep(addresses);
        self.vectored += u64::from(first.is_some());
        first
    }

    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.parameters.geometry;
        let mut reads = Joined::default();
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let ppn = Ppn(self.lists.resolve(lpn));
            self.medium.pin(ppn);
            reads.add(rows::host_read(ppn, self.read_mode, command, &geometry), &geometry, out);
        }
        self.lists.release(first);
        reads.end(out)
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { command, lpn, last, .. } = *unit;
        let (chunk, place) = self.split(self.lists.resolve(lpn));
        self.lists.came(lpn);
        self.counters.host_units += 1;
        let slot = self.writes.accept(lpn, Writer::Command(command), last);
        self.writes.keep(slot, now, &out.signals.clock);
        out.signals.queued_write_pages += 1;
        out.signals.queued_write_requests += u64::from(last);
        let whole = self.parameters.geometry.units_per_program;
        let pending = &mut self.pending[chunk as usize];
        let at = (place / whole - pending.queued) as usize;
        if pending.gathered.len() <= at {
            pending.gathered.resize(at + 1, Gathered::default());
        }
        let gathered = &mut pending.gathered[at];
        self.writes.units[slot].next = std::mem::replace(&mut gathered.chain, slot);
        gathered.units += 1;
        // The programs of a chunk are in order, also where the data of a later one comes first.
        while let Some(&Gathered { chain, .. }) =
            self.pending[chunk as usize].gathered.front().filter(|gathered| gathered.units == whole)
        {
            let pending = &mut self.pending[chunk as usize];
            pending.gathered.pop_front();
            let program = pending.queued;
            pending.queued += 1;
            self.queue(chunk, Work::Program { chunk, program, chain, since: now }, out);
        }
        true
    }

    fn trim(&mut self, _first: Lpn, _count: u32, _now: SimTime, _out: &mut Outbox) {}

    fn reset(&mut self, command: CommandId, first: Lpn, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let chunks: Vec<u32> = self.chunks.touched().collect();
        for &chunk in &chunks {
            self.resets += 1;
            self.pending[chunk as usize].queued = 0;
            self.medium.give_up(BlockId(chunk));
            let waiting = self.writes.accept(first, Writer::Command(command), true);
            self.writes.keep(waiting, now, &out.signals.clock);
            self.queue(chunk, Work::Erase { chunk, waiting }, out);
        }
        self.lists.release(first);
        Some(chunks.len() as u32)
    }

    fn flush(&mut self, _until: u64, _ready: &mut ReadyDies) {}

    fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let operation = match *self.work[die.index()].front()? {
            Work::Erase { chunk, .. } if self.medium.block(BlockId(chunk)).pins() > 0 => return None,
            Work::Erase { chunk, waiting } => self.erase(chunk, waiting, now, out),
            Work::Program { chunk, program, chain, .. } => self.program((chunk, program, chain), now, out),
        };
        self.work[die.index()].pop_front();
        self.idle.remove(die);
        Some(out.operations.add(operation))
    }

    fn next_without_buffer(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Pulled {
        if matches!(self.work[die.index()].front(), Some(Work::Program { .. })) {
            return Pulled::NeedsBuffer;
        }
        self.next(die, now, out).map_or(Pulled::Nothing, Pulled::Operation)
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if let Owner::Command(_) = operation.owner {
            let pins = self.medium.read_done(operation);
            if pins == 0 && matches!(self.work[operation.die.index()].front(), Some(Work::Erase { .. })) {
                out.ready.mark(operation.die);
            }
        } else if operation.kind == OperationKind::Erase {
            self.chunks.erased(self.medium.geometry.block_of(operation.first).0);
            erased(&mut self.medium, &self.parameters, (ended, operation), now, out);
            self.medium.report_units(ended, operation.die, &mut self.writes, out);
        } else {
            self.medium.whole_program_done(ended, operation, &mut self.writes, out);
        }
    }

    fn timer(&mut self, timer: Timer, _now: SimTime, _out: &mut Outbox) {
        unreachable!("the layer arms no timer, {timer:?}")
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None, page_map: None }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let count = |state: ChunkState| f64::from(self.chunks.count(state));
        let rules = self.chunks.rules();
        vec![
            ("chunks", self.chunks.all().len() as f64),
            ("chunk_bytes", f64::from(rules.units) * UNIT_BYTES as f64),
            ("ws_min", f64::from(rules.ws_min)),
            ("ws_opt", f64::from(rules.ws_opt)),
            ("mw_cunits", f64::from(rules.mw_cunits)),
            ("free_chunks", count(ChunkState::Free)),
            ("open_chunks", count(ChunkState::Open)),
            ("closed_chunks", count(ChunkState::Closed)),
            ("offline_chunks", count(ChunkState::Offline)),
            ("resets", self.resets as f64),
            ("vectored_commands", self.vectored as f64),
            ("refused_commands", self.refused as f64),
            ("most_erases", self.chunks.all().iter().fold(0.0, |most, chunk| f64::max(most, chunk.erases.into()))),
        ]
    }

    fn user_units(&self) -> u64 {
        self.parameters.geometry.unit_count()
    }

    fn demand(&self, die: DieId) -> Demand {
        let oldest_write = match self.work[die.index()].front() {
            Some(Work::Program { since, .. }) => Some(*since),
            Some(Work::Erase { .. }) | None => None,
        };
        Demand { urgent_move: false, oldest_write }
    }

    fn die_started(&mut self, die: DieId, _now: SimTime, _ready: &mut ReadyDies) {
        self.idle.remove(die);
    }

    fn die_starved(&mut self, die: DieId, _now: SimTime, _ready: &mut ReadyDies) {
        self.idle.remove(die);
    }

    fn set_idle(&mut self, die: DieId, _now: SimTime, _events: &mut Events) {
        self.idle.insert(die);
    }

    fn hold_writes(&mut self, _holds: bool, _ready: &mut ReadyDies) {}

    fn unit_at(&self, ppn: Ppn) -> u32 {
        ppn.0
    }

    fn stored(&mut self, ppn: Ppn, now: SimTime) -> Stored {
        self.medium.stored(ppn, now)
    }

    fn stored_unread(&self, ppn: Ppn, now: SimTime) -> Stored {
        self.medium.stored_unread(ppn, now)
    }

    fn begin_shutdown(&mut self, _until: u64, ready: &mut ReadyDies) {
        ready.mark_all();
    }

    fn has_shut_down(&mut self, _now: SimTime, _out: &mut Outbox) -> bool {
        self.work.iter().all(VecDeque::is_empty) && self.medium.is_at_rest()
    }

    fn end_shutdown(&mut self) {}
}
