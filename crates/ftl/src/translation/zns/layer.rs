//! The layer: where the units of zones are, and what the dies do for them.

use super::Params;
use super::table::{Change, Table, ZoneState};
use crate::config::places;
use crate::ftl::{FtlCounters, Parameters, Pulled};
use crate::idle::IdleDies;
use crate::medium::Medium;
use crate::translation::rows::{self, Joined};
use crate::translation::{Parts, Report, Translation, erased, medium, whole_units};
use crate::writes::{WriteQueue, Writer};
use kit::{
    BlockId, CommandFlags, CommandId, Demand, DieId, Ended, Events, HostCommand, HostUnit, Ledger, Lpn, ModeId, Op, Operation,
    OperationKind, Outbox, Owner, Part, Ppn, ReadyDies, Reason, SimTime, Status, Stored, Timer, UNIT_BYTES,
};
use std::collections::VecDeque;

/// End of a chain of waiting units.
const NONE: u32 = u32::MAX;

/// Units of a program unit that have come.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    /// The unit that came last; the others follow in the chain of waiting units.
    chain: u32,
    units: u32,
    /// True once its die has it in its queue.
    is_queued: bool,
}

/// Work of a die.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Program a program unit of a zone.
    Program { zone: u32, block: BlockId, program: u32, chain: u32, since: SimTime },
    /// Erase a block whose zone was reset.
    Erase(BlockId),
}

/// Data of a zone that is not programmed.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Number of resets: units of earlier writes are discarded when they come.
    epoch: u32,
    /// Units of accepted writes that have not come.
    expected: u32,
    /// Program units whose data has come in part or as a whole, from number `first` on.
    gathered: VecDeque<Gathered>,
    first: u32,
    /// True if the zone was finished, and its last program unit is padded once its data has come.
    is_finished: bool,
}

/// Counts of what zones do.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    resets: u64,
    finishes: u64,
    refused: u64,
}

/// The layer.
pub(super) struct Zns {
    parameters: Parameters,
    table: Table,
    pending: Vec<Pending>,
    medium: Medium,
    /// Work of each die, in order.
    work: Vec<VecDeque<Work>>,
    writes: WriteQueue,
    idle: IdleDies,
    /// Epoch of the zone of each write command, by the slot of the command.
    epochs: Vec<u32>,
    size: u32,
    zone_dies: u32,
    zone_blocks: u32,
    offline_after: u32,
    mode: ModeId,
    read_mode: ModeId,
    counters: FtlCounters,
    counts: Counts,
}

impl Zns {
    pub fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<Zns> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let (limits, count) = (params.limits(&geometry), params.zone_count(&geometry));
        let full = (params.full * f64::from(count)).round() as u32;
        let mode = parameters.facts.write_mode("normal");
        let mut zns = Zns {
            table: Table::new(limits, count, full),
            pending: vec![Pending::default(); count as usize],
            medium: medium(&parameters, &starting)?,
            work: vec![VecDeque::new(); geometry.die_count as usize],
            writes: WriteQueue::new(1),
            idle: IdleDies::new(&places(config.allocation_order, &geometry)),
            epochs: Vec::new(),
            size: limits.size,
            zone_dies: params.dies(&geometry),
            zone_blocks: params.zone_blocks,
            offline_after: params.offline_after.unwrap_or(u32::MAX),
            mode,
            read_mode: parameters.facts.read_mode_of.get(mode.index()).copied().unwrap_or_default(),
            counters: FtlCounters::default(),
            counts: Counts::default(),
            parameters,
        };
        for block in (0..full).flat_map(|zone| zns.blocks_of(zone)).collect::<Vec<_>>() {
            zns.medium.begin_full(block, mode);
        }
        Ok(zns)
    }

    /// Returns the blocks of a zone.
    fn blocks_of(&self, zone: u32) -> impl Iterator<Item = BlockId> + use<> {
        let geometry = self.parameters.geometry;
        let (groups, within) = (geometry.die_count / self.zone_dies, self.zone_blocks);
        let (group, row) = (zone % groups, zone / groups);
        let dies: Vec<DieId> = (0..self.zone_dies).map(|at| self.idle.die_at((group * self.zone_dies + at) as usize)).collect();
        dies.into_iter().flat_map(move |die| {
            let first = geometry.blocks_of(die).start + row * within;
            (first..first + within).map(BlockId)
        })
    }

    /// Returns the place of a program unit of a zone: its block, and its number there.
    fn program_at(&self, zone: u32, unit: u32) -> (BlockId, u32) {
        let geometry = &self.parameters.geometry;
        let groups = geometry.die_count / self.zone_dies;
        let (group, row) = (zone % groups, zone / groups);
        let die = self.idle.die_at((group * self.zone_dies + unit % self.zone_dies) as usize);
        let program = unit / self.zone_dies;
        let block = geometry.blocks_of(die).start + row * self.zone_blocks + program / geometry.programs_per_block;
        (BlockId(block), program % geometry.programs_per_block)
    }

    /// Returns the place of a unit.
    fn place_of(&self, lpn: Lpn) -> Ppn {
        let geometry = &self.parameters.geometry;
        let offset = lpn.0 % self.size;
        let (block, program) = self.program_at(lpn.0 / self.size, offset / geometry.units_per_program);
        Ppn(geometry.first_of(block).0 + program * geometry.units_per_program + offset % geometry.units_per_program)
    }

    /// Lets a command for zones take effect.
    fn manage(&mut self, command: &HostCommand, now: SimTime, out: &mut Outbox) -> Result<(), Status> {
        let action = command.flags.action().ok_or(Status::InvalidField)?;
        let mut changes = Vec::new();
        if command.flags.contains(CommandFlags::ALL_ZONES) {
            self.table.manage_all(action, |zone, change| changes.push((zone, change)))?;
        } else {
            let first = whole_units(command)?.0;
            if !first.is_multiple_of(self.size) {
                return Err(Status::InvalidField);
            }
            let zone = first / self.size;
            changes.push((zone, self.table.manage(zone, action)?));
        }
        for (zone, change) in changes {
            match change {
                Change::Nothing => {}
                Change::Finished => {
                    self.counts.finishes += 1;
                    self.pending[zone as usize].is_finished = true;
                    self.pad(zone, now, out);
                }
                Change::Emptied => self.reset(zone, out),
            }
        }
        Ok(())
    }

    /// Discards the data of a zone: what waits, what is on its way, and what is on the medium.
    fn reset(&mut self, zone: u32, out: &mut Outbox) {
        self.counts.resets += 1;
        let pending = &mut self.pending[zone as usize];
        pending.epoch = pending.epoch.wrapping_add(1);
        (pending.expected, pending.first, pending.is_finished) = (0, 0, false);
        let partial = std::mem::take(&mut pending.gathered);
        for gathered in partial.into_iter().filter(|gathered| !gathered.is_queued) {
            self.discard(gathered.chain, out);
        }
        let mut blocks: Vec<BlockId> = self.blocks_of(zone).collect();
        for die in self.dies_of(zone) {
            let work = &mut self.work[die.index()];
            let is_of_zone = |one: &Work| matches!(one, Work::Program { zone: of, .. } if *of == zone);
            let chains: Vec<u32> = work
                .iter()
                .filter(|one| is_of_zone(one))
                .map(|one| if let Work::Program { chain, .. } = one { *chain } else { NONE })
                .collect();
            work.retain(|one| !is_of_zone(one));
            chains.into_iter().for_each(|chain| self.discard(chain, out));
        }
        if blocks.iter().any(|block| self.medium.erase_count(*block) >= self.offline_after) {
            self.table.fail(zone, ZoneState::Offline);
        }
        blocks.retain(|block| self.medium.holds_data(*block));
        for block in blocks {
            self.medium.give_up(block);
            let die = self.parameters.geometry.die_of(block);
            self.queue(die, Work::Erase(block), out);
        }
    }

    fn dies_of(&self, zone: u32) -> Vec<DieId> {
        let group = zone % (self.parameters.geometry.die_count / self.zone_dies);
        (0..self.zone_dies).map(|at| self.idle.die_at((group * self.zone_dies + at) as usize)).collect()
    }

    /// Discards a chain of waiting units: their space in the write buffer is free.
    fn discard(&mut self, mut chain: u32, out: &mut Outbox) {
        while chain != NONE {
            let unit = &self.writes.units[chain];
            let (next, last) = (unit.next, unit.last);
            out.tray.released.push(unit.number);
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(last);
            self.counters.trimmed_units += 1;
            self.writes.units.release(chain);
            chain = next;
        }
    }

    fn queue(&mut self, die: DieId, work: Work, out: &mut Outbox) {
        self.work[die.index()].push_back(work);
        if self.idle.contains(die) {
            out.ready.mark(die);
        }
    }

    /// Gives the dies of a zone the program units that are complete, from number `unit` on, each die in order.
    fn queue_complete(&mut self, zone: u32, unit: u32, now: SimTime, out: &mut Outbox) {
        let whole = self.parameters.geometry.units_per_program;
        let mut at = unit;
        loop {
            let pending = &self.pending[zone as usize];
            let Some(&gathered) = pending.gathered.get((at - pending.first) as usize) else { break };
            let before = at.checked_sub(self.zone_dies).and_then(|before| before.checked_sub(pending.first));
            let is_next = before.is_none_or(|before| pending.gathered[before as usize].is_queued);
            if gathered.units < whole || gathered.is_queued || !is_next {
                break;
            }
            self.queue_program(zone, at, now, out);
            at += self.zone_dies;
        }
    }

    /// Gives its die a program unit.
    fn queue_program(&mut self, zone: u32, unit: u32, now: SimTime, out: &mut Outbox) {
        let (block, program) = self.program_at(zone, unit);
        let pending = &mut self.pending[zone as usize];
        let gathered = &mut pending.gathered[(unit - pending.first) as usize];
        gathered.is_queued = true;
        let chain = gathered.chain;
        while pending.gathered.front().is_some_and(|gathered| gathered.is_queued) {
            pending.gathered.pop_front();
            pending.first += 1;
        }
        let die = self.parameters.geometry.die_of(block);
        self.queue(die, Work::Program { zone, block, program, chain, since: now }, out);
    }

    /// Lets the last program unit of a finished zone be programmed, padded, once the data of all accepted writes has
    /// come.
    fn pad(&mut self, zone: u32, now: SimTime, out: &mut Outbox) {
        let pending = &self.pending[zone as usize];
        if pending.is_finished && pending.expected == 0 && !pending.gathered.is_empty() {
            debug_assert_eq!(pending.gathered.len(), 1, "only the last program unit can be incomplete");
            self.queue_program(zone, pending.first, now, out);
        }
    }

    /// Returns the operation that programs a program unit, whose units it binds.
    fn program(&mut self, die: DieId, work: (BlockId, u32, u32), now: SimTime, out: &mut Outbox) -> Operation {
        let (block, program, chain) = work;
        let geometry = self.parameters.geometry;
        self.medium.begin_program_of(block, self.mode);
        let bound = self.medium.programs[die.index()].bind_chain(chain, &mut self.writes, now, &mut out.signals);
        self.counters.units_programmed[Reason::Host as usize] += u64::from(bound);
        self.counters.units_programmed[Reason::Padding as usize] += u64::from(geometry.units_per_program - bound);
        self.counters.units_by_mode[self.mode.index()] += u64::from(bound);
        self.counters.host_units_by_mode[self.mode.index()] += u64::from(bound);
        let unit = program * geometry.units_per_program;
        Operation {
            kind: OperationKind::Program,
            reason: Reason::Host,
            die,
            first: Ppn(geometry.first_of(block).0 + unit),
            units: geometry.units_per_program,
            pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
            page_type: geometry.page_type_of(unit),
            mode: self.mode,
            encode: if self.parameters.facts.codes[self.mode.index()] == 0 { 0 } else { bound },
            skipped: 0,
            owner: Owner::ProgramUnit,
        }
    }

    fn erase(&mut self, die: DieId, block: BlockId) -> Operation {
        self.medium.begin_whole_erase(block);
        let shape = &self.parameters.geometry.shape;
        Operation {
            kind: OperationKind::Erase,
            reason: Reason::Host,
            die,
            first: self.parameters.geometry.first_of(block),
            pages: shape.planes_per_program * shape.superblock,
            owner: Owner::Collector,
            ..Operation::default()
        }
    }

    /// Returns true if the next work of a die is a program.
    fn programs_next(&self, die: DieId) -> bool {
        matches!(self.work[die.index()].front(), Some(Work::Program { .. }))
    }
}

impl Translation for Zns {
    fn check(&mut self, id: CommandId, command: &HostCommand, now: SimTime, out: &mut Outbox) -> Result<Option<Lpn>, Status> {
        let result = match command.op {
            Op::Flush | Op::Trim => Ok(None),
            Op::Zone => self.manage(command, now, out).map(|()| None),
            Op::Read => whole_units(command).and_then(|(first, count)| self.table.read(first, count)).map(|()| None),
            Op::Write => whole_units(command).and_then(|(first, count)| self.table.write(first, count)).map(|()| None),
            Op::Append => {
                whole_units(command).and_then(|(first, count)| self.table.append(first, count)).map(|first| Some(Lpn(first)))
            }
        };
        if result.is_err() {
            self.counts.refused += 1;
        } else if command.op.writes() {
            let zone = (command.offset.0 / UNIT_BYTES) as u32 / self.size;
            let pending = &mut self.pending[zone as usize];
            pending.expected += (command.length.0 / UNIT_BYTES) as u32;
            let slot = id.0 as usize;
            if self.epochs.len() <= slot {
                self.epochs.resize(slot + 1, 0);
            }
            self.epochs[slot] = pending.epoch;
        }
        result
    }

    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.parameters.geometry;
        let (mut reads, mut at_once) = (Joined::default(), 0);
        for lpn in (first.0..first.0 + count).map(Lpn) {
            if lpn.0 % self.size >= self.table.zones()[(lpn.0 / self.size) as usize].written {
                self.counters.unmapped_reads += 1;
                at_once += 1;
                continue;
            }
            let ppn = self.place_of(lpn);
            let (block, unit) = geometry.split(ppn);
            if geometry.program_of(unit) >= self.medium.programs_done(block) {
                self.counters.buffer_hits += 1;
                at_once += 1;
                continue;
            }
            self.medium.pin(ppn);
            reads.add(rows::host_read(ppn, self.read_mode, command, &geometry), &geometry, out);
        }
        let mut parts = reads.end(out);
        if at_once > 0 {
            parts += 1;
            out.tray.parts.push(Part { command, ledger: Ledger::default(), units: at_once, is_lost: false });
        }
        parts
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { command, lpn, last, buffered, .. } = *unit;
        let (zone, offset) = (lpn.0 / self.size, lpn.0 % self.size);
        let number = buffered.expect("validated: the drive has a write buffer");
        if self.epochs[command.0 as usize] != self.pending[zone as usize].epoch {
            self.counters.trimmed_units += 1;
            out.tray.released.push(number);
            return false;
        }
        self.counters.host_units += 1;
        let slot = self.writes.accept(lpn, Writer::Buffer, last);
        self.writes.keep(slot, now, &out.signals.clock);
        self.writes.units[slot].number = number;
        out.signals.queued_write_pages += 1;
        out.signals.queued_write_requests += u64::from(last);
        let whole = self.parameters.geometry.units_per_program;
        let pending = &mut self.pending[zone as usize];
        pending.expected -= 1;
        let program = offset / whole;
        let at = (program - pending.first) as usize;
        while pending.gathered.len() <= at {
            pending.gathered.push_back(Gathered { chain: NONE, units: 0, is_queued: false });
        }
        let gathered = &mut pending.gathered[at];
        self.writes.units[slot].next = std::mem::replace(&mut gathered.chain, slot);
        gathered.units += 1;
        if gathered.units == whole {
            self.queue_complete(zone, program, now, out);
        }
        self.pad(zone, now, out);
        true
    }

    fn trim(&mut self, _first: Lpn, _count: u32, _now: SimTime, _out: &mut Outbox) {}

    fn flush(&mut self, _until: u64, _ready: &mut ReadyDies) {}

    fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let operation = match *self.work[die.index()].front()? {
            Work::Erase(block) if self.medium.block(block).pins() > 0 => return None,
            Work::Erase(block) => self.erase(die, block),
            Work::Program { block, program, chain, .. } => self.program(die, (block, program, chain), now, out),
        };
        self.work[die.index()].pop_front();
        self.idle.remove(die);
        Some(out.operations.add(operation))
    }

    fn next_without_buffer(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Pulled {
        if self.programs_next(die) {
            return Pulled::NeedsBuffer;
        }
        self.next(die, now, out).map_or(Pulled::Nothing, Pulled::Operation)
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match (operation.owner, operation.kind) {
            (Owner::ProgramUnit, _) => self.medium.whole_program_done(ended, operation, &mut self.writes, out),
            (Owner::Command(_), _) => {
                let pins = self.medium.read_done(operation);
                if pins == 0 && matches!(self.work[operation.die.index()].front(), Some(Work::Erase(_))) {
                    out.ready.mark(operation.die);
                }
            }
            (_, OperationKind::Erase) => erased(&mut self.medium, &self.parameters, (ended, operation), now, out),
            _ => {}
        }
    }

    fn timer(&mut self, timer: Timer, _now: SimTime, _out: &mut Outbox) {
        unreachable!("the layer arms no timer, {timer:?}")
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None, page_map: None }
    }

    fn zones(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let [full, empty, offline] =
            [ZoneState::Full, ZoneState::Empty, ZoneState::Offline].map(|state| f64::from(self.table.count(state)));
        let capacity = f64::from(self.zone_dies * self.zone_blocks) * f64::from(self.parameters.geometry.units_per_block);
        vec![
            ("zones", self.table.zones().len() as f64),
            ("zone_bytes", f64::from(self.size) * UNIT_BYTES as f64),
            ("zone_capacity_bytes", capacity * UNIT_BYTES as f64),
            ("full_zones", full),
            ("empty_zones", empty),
            ("offline_zones", offline),
            ("resets", self.counts.resets as f64),
            ("finishes", self.counts.finishes as f64),
            ("implicit_closes", self.table.implicit_closes as f64),
            ("refused_commands", self.counts.refused as f64),
            ("most_erases", f64::from(self.medium.most_erases())),
        ]
    }

    fn user_units(&self) -> u64 {
        self.table.zones().len() as u64 * u64::from(self.size)
    }

    fn demand(&self, die: DieId) -> Demand {
        let oldest_write = match self.work[die.index()].front() {
            Some(Work::Program { since, .. }) => Some(*since),
            Some(Work::Erase(_)) | None => None,
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
        // The inverse of `place_of`.
        let geometry = &self.parameters.geometry;
        let (block, unit) = geometry.split(ppn);
        let die = geometry.die_of(block);
        let (within, rank) = (block.0 - geometry.blocks_of(die).start, self.idle.rank_of(die));
        let groups = geometry.die_count / self.zone_dies;
        let zone = within / self.zone_blocks * groups + rank / self.zone_dies;
        let program = within % self.zone_blocks * geometry.programs_per_block + geometry.program_of(unit);
        let offset =
            (program * self.zone_dies + rank % self.zone_dies) * geometry.units_per_program + unit % geometry.units_per_program;
        if (zone as usize) < self.table.zones().len() { zone * self.size + offset } else { 0 }
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
