//! The layer: physical commands on the dies.

use super::chunks::{ChunkState, Chunks};
use super::lines::Lines;
use super::{MAX_ADDRESSES, Params, VECTORS};
use crate::layer::by_host::{ByHost, Gathered};
use crate::layer::contract::{Physical, Pulled, Report, TurnEnd};
use crate::layer::{Parts, Translation, whole_units};
use crate::medium::Medium;
use crate::medium::operations::Joined;
use crate::queue::{Buffered, Drain, Writer};
use kit::archive::{Archive, Archived, require};
use kit::{
    BlockId, CommandId, Demand, DieId, Ended, HostCommand, HostUnit, Lpn, Op, Operation, OperationKind, Outbox, Owner, Ppn,
    ReadyDies, Record, SimTime, Slab, Status, UNIT_BYTES,
};
use std::collections::VecDeque;
use std::ops::Range;

/// Addresses of the place of a list: those of vectored commands begin behind the flash.
const PLACE: u32 = MAX_ADDRESSES as u32;

/// Addresses of a vectored command.
#[derive(Clone, Debug)]
struct List {
    addresses: [u32; MAX_ADDRESSES],
    /// Addresses whose data has not come.
    left: u32,
}

impl Default for List {
    fn default() -> Self {
        List { addresses: [0; MAX_ADDRESSES], left: 0 }
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

/// Data of a chunk that is on its way to the flash.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Programs given to the die.
    queued: u32,
    /// The programs from number `queued` on whose data has come in part.
    gathered: VecDeque<Gathered>,
}

/// The layer.
pub(super) struct PassThrough {
    blocks: ByHost,
    chunks: Chunks,
    pending: Vec<Pending>,
    lists: Lists,
    resets: u64,
    refused: u64,
    vectored: u64,
}

impl PassThrough {
    pub fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<PassThrough> {
        let (geometry, cycles) = (parts.parameters.geometry, parts.starting.pe_cycles);
        let rules = params.rules(&geometry);
        let full = (params.full * f64::from(geometry.blocks_per_die)).round() as u32;
        let mut blocks = ByHost::new(parts)?;
        let in_turn = || (0..geometry.die_count as usize).map(|turn| blocks.idle.die_at(turn)).collect();
        let lines = params.stripe_unit.map(|units| Lines::new(units, rules.units, rules.chunks_per_die, in_turn()));
        let chunks = Chunks::new(rules, geometry.die_count, full, cycles).with_lines(lines);
        let mut pending = vec![Pending::default(); chunks.all().len()];
        for (chunk, _) in (0..).zip(chunks.all()).filter(|(_, chunk)| chunk.state == ChunkState::Closed) {
            blocks.medium.begin_full(BlockId(chunk), blocks.mode);
            pending[chunk as usize].queued = geometry.programs_per_block;
        }
        Ok(PassThrough {
            blocks,
            chunks,
            pending,
            lists: Lists { all: Slab::default(), from: geometry.unit_count() as u32 },
            resets: 0,
            refused: 0,
            vectored: 0,
        })
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
                    self.blocks.medium.geometry.program_of(place) < self.blocks.medium.programs_done(BlockId(chunk))
                };
                if units.into_iter().all(is_programmed) { Ok(()) } else { Err(Status::Unwritten) }
            }
            Op::Write => self.chunks.write(units.map(|unit| self.lists.resolve(Lpn(unit)))),
            Op::Trim => {
                let (first, medium) = (self.chunks_of(units)?, &self.blocks.medium);
                let whole = self.blocks.medium.geometry.units_per_program;
                self.chunks.reset(first.into_iter(), |chunk| medium.programs_done(BlockId(chunk)) * whole)
            }
            Op::Flush => Ok(()),
            Op::Append | Op::Zone => Err(Status::InvalidField),
        }
    }
}

impl Translation for PassThrough {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let mut reads = Joined::default();
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let address = self.lists.resolve(lpn);
            self.blocks.read((Lpn(address), Ppn(address)), command, &mut reads, out);
        }
        self.lists.release(first);
        reads.issue(out)
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let address = self.lists.resolve(unit.lpn);
        let (chunk, place) = self.split(address);
        self.lists.came(unit.lpn);
        let whole = self.blocks.medium.geometry.units_per_program;
        let pending = &mut self.pending[chunk as usize];
        let at = (place / whole - pending.queued) as usize;
        if pending.gathered.len() <= at {
            pending.gathered.resize(at + 1, Gathered::default());
        }
        let unit = HostUnit { lpn: Lpn(address), ..*unit };
        self.blocks.accept(&unit, Writer::Command(unit.command), &mut pending.gathered[at], now, out);
        // The programs of a chunk are in order, also where the data of a later one comes first.
        while let Some(&Gathered { chain, .. }) = pending.gathered.front().filter(|gathered| gathered.units == whole) {
            pending.gathered.pop_front();
            self.blocks.queue_program((BlockId(chunk), pending.queued), chain, now, out);
            pending.queued += 1;
        }
        true
    }

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        if let Drain::All(_) = what {
            ready.mark_all();
        }
    }

    fn has_drained(&mut self, _now: SimTime, _out: &mut Outbox) -> bool {
        self.blocks.has_drained()
    }

    fn demand(&self, die: DieId) -> Demand {
        self.blocks.demand(die)
    }

    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        self.blocks.next(die, may_program, now, out)
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, _now: SimTime, _out: &mut Outbox) {
        self.blocks.turn_ended(die, end);
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if operation.kind == OperationKind::Erase && operation.owner == Owner::Collector {
            self.chunks.erased(self.blocks.medium.geometry.block_of(operation.first).0);
        }
        self.blocks.operation_done(ended, operation, now, out);
    }

    fn report(&self) -> Report<'_> {
        self.blocks.report()
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

    fn unit_at(&self, ppn: Ppn) -> u32 {
        ppn.0
    }

    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        self.blocks.state(archive, now)?;
        require(self.blocks.has_drained(), || "a chunk waits for a program or an erase, and no command does".to_owned())?;
        let (medium, whole) = (&self.blocks.medium, self.blocks.medium.geometry.units_per_program);
        self.chunks.state(archive, |chunk| medium.programs_done(BlockId(chunk)) * whole)?;
        for count in [&mut self.resets, &mut self.refused, &mut self.vectored] {
            archive.value(count)?;
        }
        for (pending, chunk) in self.pending.iter_mut().zip(self.chunks.all()) {
            assert!(pending.gathered.is_empty(), "all data of a drive at rest has come");
            pending.queued = chunk.written / whole;
        }
        Ok(())
    }

    fn buffered(&self) -> Buffered {
        self.blocks.writes.buffered()
    }

    fn medium(&self) -> &Medium {
        &self.blocks.medium
    }

    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.blocks.medium
    }
}

impl Physical for PassThrough {
    fn check(&mut self, command: &HostCommand) -> Result<(), Status> {
        let result = self.checked(command);
        if result.is_err() {
            self.refused += 1;
            self.lists.release(Lpn((command.offset.0 / UNIT_BYTES) as u32));
        }
        result
    }

    fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    fn vector(&mut self, addresses: &[u32]) -> Option<Lpn> {
        let first = self.lists.keep(addresses);
        self.vectored += u64::from(first.is_some());
        first
    }

    fn reset(&mut self, command: CommandId, first: Lpn, now: SimTime, out: &mut Outbox) -> u32 {
        let chunks: Vec<u32> = self.chunks.touched().collect();
        for &chunk in &chunks {
            self.resets += 1;
            let count = self.chunks.rules().units;
            out.journal.note(|| Record::Reset { first: Lpn(chunk * count), count });
            self.pending[chunk as usize].queued = 0;
            self.blocks.queue_erase(BlockId(chunk), Some(command), now, out);
        }
        self.lists.release(first);
        chunks.len() as u32
    }
}
