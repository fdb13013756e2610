//! The layer: where the units of zones are, and what the dies do for them.

use super::Params;
use super::table::{Change, Table, Zone, ZoneState};
use crate::layer::by_host::{ByHost, Gathered};
use crate::layer::contract::{Pulled, Report, TurnEnd, Zoned};
use crate::layer::{Parts, Translation, whole_units};
use crate::medium::Medium;
use crate::medium::operations::Joined;
use crate::queue::{Buffered, Drain, Waiting, Writer};
use kit::archive::{Archive, Archived, require};
use kit::{
    BlockId, CommandFlags, CommandId, Demand, DieId, Ended, HostCommand, HostUnit, Ledger, Lpn, Op, Operation, Outbox, Part, Ppn,
    ReadSource, ReadyDies, Record, SimTime, Status, UNIT_BYTES,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

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
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counts {
    resets: u64,
    finishes: u64,
    refused: u64,
}

/// The layer.
pub(super) struct Zns {
    blocks: ByHost,
    table: Table,
    pending: Vec<Pending>,
    /// Epoch of the zone of each write command, by the slot of the command.
    epochs: Vec<u32>,
    size: u32,
    zone_dies: u32,
    zone_blocks: u32,
    offline_after: u32,
    counts: Counts,
}

impl Zns {
    pub fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<Zns> {
        let geometry = parts.parameters.geometry;
        let (limits, count) = (params.limits(&geometry), params.zone_count(&geometry));
        let full = (params.full * f64::from(count)).round() as u32;
        let mut zns = Zns {
            blocks: ByHost::new(parts)?,
            table: Table::new(limits, count, full),
            pending: vec![Pending::default(); count as usize],
            epochs: Vec::new(),
            size: limits.size,
            zone_dies: params.dies(&geometry),
            zone_blocks: params.zone_blocks,
            offline_after: params.offline_after.unwrap_or(u32::MAX),
            counts: Counts::default(),
        };
        for block in (0..full).flat_map(|zone| zns.blocks_of(zone)).collect::<Vec<_>>() {
            zns.blocks.medium.begin_full(block, zns.blocks.mode);
        }
        Ok(zns)
    }

    /// Returns the blocks of a zone.
    fn blocks_of(&self, zone: u32) -> impl Iterator<Item = BlockId> + use<> {
        let geometry = self.blocks.medium.geometry;
        let (groups, within) = (geometry.die_count / self.zone_dies, self.zone_blocks);
        let (group, row) = (zone % groups, zone / groups);
        let dies: Vec<DieId> =
            (0..self.zone_dies).map(|at| self.blocks.idle.die_at((group * self.zone_dies + at) as usize)).collect();
        dies.into_iter().flat_map(move |die| {
            let first = geometry.blocks_of(die).start + row * within;
            (first..first + within).map(BlockId)
        })
    }

    /// Returns the place of a program unit of a zone: its block, and its number there.
    fn program_at(&self, zone: u32, unit: u32) -> (BlockId, u32) {
        let geometry = &self.blocks.medium.geometry;
        let groups = geometry.die_count / self.zone_dies;
        let (group, row) = (zone % groups, zone / groups);
        let die = self.blocks.idle.die_at((group * self.zone_dies + unit % self.zone_dies) as usize);
        let program = unit / self.zone_dies;
        let block = geometry.blocks_of(die).start + row * self.zone_blocks + program / geometry.programs_per_block;
        (BlockId(block), program % geometry.programs_per_block)
    }

    /// Returns the place of a unit.
    fn place_of(&self, lpn: Lpn) -> Ppn {
        let geometry = &self.blocks.medium.geometry;
        let offset = lpn.0 % self.size;
        let (block, program) = self.program_at(lpn.0 / self.size, offset / geometry.units_per_program);
        Ppn(geometry.first_of(block).0 + program * geometry.units_per_program + offset % geometry.units_per_program)
    }

    /// Returns the units of the incomplete program unit of a zone at rest: all others are with their dies.
    fn incomplete(&self, zone: u32) -> Vec<Waiting> {
        let pending = &self.pending[zone as usize];
        assert!(pending.expected == 0 && pending.gathered.len() <= 1, "all data of a drive at rest has come");
        pending.gathered.front().map_or(Vec::new(), |gathered| self.blocks.writes.chain_image(gathered.chain))
    }

    /// Restores the data of a zone that is not programmed. `given`: programs of each block that are done, or that its
    /// die has to do. A zone must have as much data there and in the write buffer as is written to it.
    fn restore(&mut self, zone: u32, (epoch, units): &(u32, Vec<Waiting>), given: &[u32], now: SimTime) -> Archived {
        let whole = self.blocks.medium.geometry.units_per_program;
        let Zone { state, written, .. } = self.table.zones()[zone as usize];
        let takes_data = !matches!(state, ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline);
        let (first, incomplete) = if takes_data { (written / whole, written % whole) } else { (0, 0) };
        let is_of_unit =
            |one: &Waiting| one.lpn.0 / self.size == zone && one.lpn.0 % self.size / whole == first && one.since <= now;
        require(units.len() == incomplete as usize && units.iter().all(is_of_unit), || {
            format!("{written} units of zone {zone}, which is {state:?}, are written, and these wait: {units:?}")
        })?;
        if takes_data {
            let mut expected: BTreeMap<BlockId, u32> = self.blocks_of(zone).map(|block| (block, 0)).collect();
            for unit in 0..first {
                *expected.entry(self.program_at(zone, unit).0).or_default() += 1;
            }
            let differs = expected.iter().find(|(block, count)| given[block.index()] != **count);
            require(differs.is_none(), || format!("the programs of zone {zone} are not those of its data: {differs:?}"))?;
        }
        let chain = self.blocks.writes.restore_chain(units);
        let gathered = (incomplete > 0).then_some(Gathered { chain, units: incomplete, is_queued: false });
        self.pending[zone as usize] =
            Pending { epoch: *epoch, expected: 0, gathered: gathered.into_iter().collect(), first, is_finished: false };
        Ok(())
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
                Change::Emptied => self.reset(zone, now, out),
            }
        }
        Ok(())
    }

    /// Discards the data of a zone: what waits, what is on its way, and what is on the medium.
    fn reset(&mut self, zone: u32, now: SimTime, out: &mut Outbox) {
        self.counts.resets += 1;
        let (first, count) = (Lpn(zone * self.size), self.size);
        out.journal.note(|| Record::Reset { first, count });
        let pending = &mut self.pending[zone as usize];
        pending.epoch = pending.epoch.wrapping_add(1);
        (pending.expected, pending.first, pending.is_finished) = (0, 0, false);
        let partial = std::mem::take(&mut pending.gathered);
        for gathered in partial.into_iter().filter(|gathered| !gathered.is_queued) {
            self.blocks.discard(gathered.chain, out);
        }
        let mut blocks: Vec<BlockId> = self.blocks_of(zone).collect();
        self.blocks.withdraw(&blocks, out);
        if blocks.iter().any(|block| self.blocks.medium.erase_count(*block) >= self.offline_after) {
            self.table.fail(zone, ZoneState::Offline);
        }
        blocks.retain(|block| self.blocks.medium.holds_data(*block));
        blocks.into_iter().for_each(|block| self.blocks.queue_erase(block, None, now, out));
    }

    /// Gives the dies of a zone the program units that are complete, from number `unit` on, each die in order.
    fn queue_complete(&mut self, zone: u32, unit: u32, now: SimTime, out: &mut Outbox) {
        let whole = self.blocks.medium.geometry.units_per_program;
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
        let place = self.program_at(zone, unit);
        let pending = &mut self.pending[zone as usize];
        let gathered = &mut pending.gathered[(unit - pending.first) as usize];
        gathered.is_queued = true;
        let chain = gathered.chain;
        while pending.gathered.front().is_some_and(|gathered| gathered.is_queued) {
            pending.gathered.pop_front();
            pending.first += 1;
        }
        self.blocks.queue_program(place, chain, now, out);
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
}

impl Translation for Zns {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.blocks.medium.geometry;
        let (mut reads, mut at_once) = (Joined::default(), 0);
        for lpn in (first.0..first.0 + count).map(Lpn) {
            if lpn.0 % self.size >= self.table.zones()[(lpn.0 / self.size) as usize].written {
                self.blocks.counters.unmapped_reads += 1;
                out.journal.note(|| Record::ReadResolved { command, lpn, source: ReadSource::Unmapped });
                at_once += 1;
                continue;
            }
            let ppn = self.place_of(lpn);
            let (block, unit) = geometry.split(ppn);
            if geometry.program_of(unit) >= self.blocks.medium.programs_done(block) {
                self.blocks.counters.buffer_hits += 1;
                out.journal.note(|| Record::ReadResolved { command, lpn, source: ReadSource::Controller(ppn) });
                at_once += 1;
                continue;
            }
            self.blocks.read((lpn, ppn), command, &mut reads, out);
        }
        let mut parts = reads.issue(out);
        if at_once > 0 {
            parts += 1;
            out.handoff.parts.push(Part { command, ledger: Ledger::default(), units: at_once, is_lost: false });
        }
        parts
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { command, lpn, buffered, .. } = *unit;
        let (zone, offset) = (lpn.0 / self.size, lpn.0 % self.size);
        let number = buffered.expect("validated: the drive has a write buffer");
        if self.epochs[command.0 as usize] != self.pending[zone as usize].epoch {
            self.blocks.counters.trimmed_units += 1;
            out.journal.note(|| Record::Dropped { command, lpn });
            out.handoff.released.push(number);
            return false;
        }
        let whole = self.blocks.medium.geometry.units_per_program;
        let pending = &mut self.pending[zone as usize];
        pending.expected -= 1;
        let program = offset / whole;
        let at = (program - pending.first) as usize;
        if pending.gathered.len() <= at {
            pending.gathered.resize(at + 1, Gathered::default());
        }
        let slot = self.blocks.accept(unit, Writer::Buffer, &mut pending.gathered[at], now, out);
        out.journal.note(|| Record::Buffered { command, lpn, slot });
        self.blocks.writes.units[slot].number = number;
        if pending.gathered[at].units == whole {
            self.queue_complete(zone, program, now, out);
        }
        self.pad(zone, now, out);
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
        self.blocks.operation_done(ended, operation, now, out);
    }

    fn report(&self) -> Report<'_> {
        self.blocks.report()
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let [full, empty, offline] =
            [ZoneState::Full, ZoneState::Empty, ZoneState::Offline].map(|state| f64::from(self.table.count(state)));
        let capacity = f64::from(self.zone_dies * self.zone_blocks) * f64::from(self.blocks.medium.geometry.units_per_block);
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
            ("most_erases", f64::from(self.blocks.medium.max_erases())),
        ]
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        // The inverse of `place_of`.
        let geometry = &self.blocks.medium.geometry;
        let (block, unit) = geometry.split(ppn);
        let die = geometry.die_of(block);
        let (within, rank) = (block.0 - geometry.blocks_of(die).start, self.blocks.idle.rank_of(die));
        let groups = geometry.die_count / self.zone_dies;
        let zone = within / self.zone_blocks * groups + rank / self.zone_dies;
        let program = within % self.zone_blocks * geometry.programs_per_block + geometry.program_of(unit);
        let offset =
            (program * self.zone_dies + rank % self.zone_dies) * geometry.units_per_program + unit % geometry.units_per_program;
        if (zone as usize) < self.table.zones().len() { zone * self.size + offset } else { 0 }
    }

    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        self.blocks.state(archive, now)?;
        self.table.state(archive)?;
        archive.value(&mut self.counts)?;
        let mut zones: Vec<(u32, Vec<Waiting>)> =
            (0..).zip(&self.pending).map(|(zone, pending)| (pending.epoch, self.incomplete(zone))).collect();
        archive.list(&mut zones, "zones")?;
        if archive.is_loading() {
            let given = self.blocks.programs_given();
            (0..).zip(&zones).try_for_each(|(zone, saved)| self.restore(zone, saved, &given, now))?;
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

impl Zoned for Zns {
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

    fn zones(&self) -> &Table {
        &self.table
    }
}
