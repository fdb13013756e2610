//! Common part of the layers whose host decides where data goes: programs and erases of each die, in order.

use super::contract::{Pulled, Report, TurnEnd};
use super::{Parts, erased, medium};
use crate::counters::FtlCounters;
use crate::medium::operations::Joined;
use crate::medium::{BlockState, Medium};
use crate::parameters::Parameters;
use crate::queue::idle::IdleDies;
use crate::queue::order::places;
use crate::queue::{NONE, Waiting, WriteQueue, Writer};
use kit::archive::{Archive, Archived, require};
use kit::{
    BlockId, CommandId, Demand, DieId, Ended, HostUnit, Lpn, ModeId, Operation, OperationKind, Outbox, Owner, Ppn, ReadSource,
    Reason, Record, SimTime,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Units of a program that have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    /// The unit that came last; the others follow in the chain of waiting units.
    pub chain: u32,
    pub units: u32,
    /// True once its die has it in its queue.
    pub is_queued: bool,
}

impl Default for Gathered {
    fn default() -> Self {
        Gathered { chain: NONE, units: 0, is_queued: false }
    }
}

/// Work of a die.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Program of a block, with its units.
    Program { block: BlockId, program: u32, chain: u32, since: SimTime },
    /// Erase of a block; `NONE`, or the slot in which the command waits for it.
    Erase { block: BlockId, waiting: u32 },
}

/// Work of a die in a saved drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum SavedWork {
    Program { block: u32, program: u32, units: Vec<Waiting>, since: SimTime },
    Erase { block: u32 },
}

/// Blocks that are programmed and erased as the host says.
pub(super) struct ByHost {
    pub parameters: Parameters,
    pub medium: Medium,
    pub writes: WriteQueue,
    pub idle: IdleDies,
    pub counters: FtlCounters,
    pub mode: ModeId,
    read_mode: ModeId,
    /// Work of each die, in order.
    work: Vec<VecDeque<Work>>,
}

impl ByHost {
    pub fn new(parts: Parts<'_>) -> std::io::Result<ByHost> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let (mode, read_mode) = parameters.facts.normal_modes();
        Ok(ByHost {
            medium: medium(&parameters, &starting)?,
            writes: WriteQueue::new(1),
            idle: IdleDies::new(&places(config.allocation_order, &geometry)),
            counters: FtlCounters::default(),
            mode,
            read_mode,
            work: vec![VecDeque::new(); geometry.die_count as usize],
            parameters,
        })
    }

    /// Accepts a unit of a host write, and adds it to those of its program. Returns its slot.
    pub fn accept(&mut self, unit: &HostUnit, writer: Writer, gathered: &mut Gathered, now: SimTime, out: &mut Outbox) -> u32 {
        self.counters.host_units += 1;
        let (command, lpn) = (unit.command, unit.lpn);
        out.journal.note(|| Record::WriteAccepted { command, lpn });
        let slot = self.writes.accept(lpn, writer, unit.last);
        self.writes.keep(slot, now, &out.signals.clock);
        out.signals.queued_write_pages += 1;
        out.signals.queued_write_requests += u64::from(unit.last);
        self.writes.units[slot].next = std::mem::replace(&mut gathered.chain, slot);
        gathered.units += 1;
        slot
    }

    fn queue(&mut self, block: BlockId, work: Work, out: &mut Outbox) {
        let die = self.medium.geometry.die_of(block);
        self.work[die.index()].push_back(work);
        if self.idle.contains(die) {
            out.ready.mark(die);
        }
    }

    /// Gives the die of a block a program with a chain of units.
    pub fn queue_program(&mut self, (block, program): (BlockId, u32), chain: u32, now: SimTime, out: &mut Outbox) {
        self.queue(block, Work::Program { block, program, chain, since: now }, out);
    }

    /// Gives up what a block holds, and gives its die the erase, for which a command may wait.
    pub fn queue_erase(&mut self, block: BlockId, waits: Option<CommandId>, now: SimTime, out: &mut Outbox) {
        self.medium.give_up(block);
        let waiting = waits.map_or(NONE, |command| {
            let slot = self.writes.accept(Lpn(0), Writer::Command(command), true);
            self.writes.keep(slot, now, &out.signals.clock);
            slot
        });
        self.queue(block, Work::Erase { block, waiting }, out);
    }

    /// Withdraws the programs of some blocks that have not begun, and discards their units.
    pub fn withdraw(&mut self, blocks: &[BlockId], out: &mut Outbox) {
        let mut dies: Vec<DieId> = blocks.iter().map(|block| self.medium.geometry.die_of(*block)).collect();
        dies.dedup();
        for die in dies {
            let mut chains = Vec::new();
            self.work[die.index()].retain(|one| match one {
                Work::Program { block, chain, .. } if blocks.contains(block) => {
                    chains.push(*chain);
                    false
                }
                _ => true,
            });
            chains.into_iter().for_each(|chain| self.discard(chain, out));
        }
    }

    /// Discards a chain of waiting units: their space in the write buffer is free.
    pub fn discard(&mut self, mut chain: u32, out: &mut Outbox) {
        while chain != NONE {
            let unit = &self.writes.units[chain];
            let (next, last) = (unit.next, unit.last);
            out.handoff.released.push(unit.number);
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(last);
            self.counters.trimmed_units += 1;
            self.writes.units.release(chain);
            chain = next;
        }
    }

    /// Adds the read of a unit at a place to those of a command, and pins its block.
    pub fn read(&mut self, (lpn, ppn): (Lpn, Ppn), command: CommandId, reads: &mut Joined, out: &mut Outbox) {
        out.journal.note(|| Record::ReadResolved { command, lpn, source: ReadSource::Flash(ppn) });
        self.medium.pin(ppn);
        let read = self.medium.read_at(ppn, self.read_mode, Reason::Host, Owner::Command(command));
        reads.add(read, &self.medium, out);
    }

    fn program(&mut self, (block, program): (BlockId, u32), chain: u32, now: SimTime, out: &mut Outbox) -> Operation {
        let (die, units) = (self.medium.geometry.die_of(block), self.medium.geometry.units_per_program);
        let first = Ppn(self.medium.geometry.first_of(block).0 + program * units);
        self.medium.begin_program_of(block, self.mode);
        let bound = self.medium.programs[die.index()].bind_chain(chain, (first, self.mode), &mut self.writes, now, out);
        self.counters.count_program(Reason::Host, self.mode, bound, units);
        let encode = if self.parameters.facts.codes[self.mode.index()] == 0 { 0 } else { bound };
        self.medium.program_at(block, program, self.mode, Reason::Host, encode)
    }

    fn erase(&mut self, block: BlockId, waiting: u32, now: SimTime, out: &mut Outbox) -> Operation {
        self.medium.begin_whole_erase(block);
        let erase = self.medium.erase_of(block, Reason::Host);
        if waiting != NONE {
            self.medium.programs[erase.die.index()].bind_waiting(waiting, &mut self.writes, now, &out.signals.clock);
        }
        erase
    }

    /// Chooses the next operation of an idle die ([`Translation::next`](super::Translation::next)).
    pub fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        let operation = match self.work[die.index()].front() {
            None => return Pulled::Nothing,
            Some(Work::Program { .. }) if !may_program => return Pulled::NeedsBuffer,
            Some(&Work::Program { block, program, chain, .. }) => self.program((block, program), chain, now, out),
            Some(&Work::Erase { block, .. }) if self.medium.block(block).pins() > 0 => return Pulled::Nothing,
            Some(&Work::Erase { block, waiting }) => self.erase(block, waiting, now, out),
        };
        self.work[die.index()].pop_front();
        self.idle.remove(die);
        Pulled::Operation(out.operations.add(operation))
    }

    /// Handles the end of a die's turn.
    pub fn turn_ended(&mut self, die: DieId, end: TurnEnd) {
        self.idle.set(die, end == TurnEnd::Idle);
    }

    /// Handles the end of a flash operation.
    pub fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        if let Owner::Command(_) = operation.owner {
            out.journal.note_sensed(operation);
            let pins = self.medium.read_done(operation);
            if pins == 0 && matches!(self.work[die.index()].front(), Some(Work::Erase { .. })) {
                out.ready.mark(die);
            }
        } else if operation.kind == OperationKind::Erase {
            erased(&mut self.medium, &self.parameters, (ended, operation), now, out);
            self.medium.report_units(ended, die, &mut self.writes, out);
        } else {
            self.medium.whole_program_done(ended, operation, &mut self.writes, out);
        }
    }

    /// Returns what there is for a die that chooses its next operation.
    pub fn demand(&self, die: DieId) -> Demand {
        let oldest_write = match self.work[die.index()].front() {
            Some(Work::Program { since, .. }) => Some(*since),
            Some(Work::Erase { .. }) | None => None,
        };
        Demand { urgent_move: false, oldest_write }
    }

    /// Returns true once nothing has to be written any more.
    pub fn has_drained(&self) -> bool {
        self.work.iter().all(VecDeque::is_empty) && self.medium.is_at_rest()
    }

    pub fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None }
    }

    /// Saves, or loads and checks, the state ([`Translation::state`](super::Translation::state)).
    pub fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        let facts = &self.parameters.facts;
        self.medium.state(archive, now, (facts.write_modes.len(), facts.erase_modes.len()))?;
        archive.value(&mut self.counters)?;
        let mut idle = self.idle.image();
        archive.value(&mut idle)?;
        let saved = |work: &Work| match *work {
            Work::Program { block, program, chain, since } => {
                SavedWork::Program { block: block.0, program, units: self.writes.chain_image(chain), since }
            }
            Work::Erase { block, waiting } => {
                assert_eq!(waiting, NONE, "no command waits for a drive at rest");
                SavedWork::Erase { block: block.0 }
            }
        };
        let mut work: Vec<Vec<SavedWork>> = self.work.iter().map(|work| work.iter().map(saved).collect()).collect();
        archive.list(&mut work, "dies")?;
        if archive.is_loading() {
            self.counters.check()?;
            require(self.idle.restore(idle), || "its idle dies are not those of this drive".to_owned())?;
            self.check_work(&work, now)?;
            let writes = &mut self.writes;
            let mut restored = |work: &SavedWork| match work {
                SavedWork::Program { block, program, units, since } => {
                    let chain = writes.restore_chain(units);
                    Work::Program { block: BlockId(*block), program: *program, chain, since: *since }
                }
                SavedWork::Erase { block } => Work::Erase { block: BlockId(*block), waiting: NONE },
            };
            self.work = work.iter().map(|work| work.iter().map(&mut restored).collect()).collect();
        }
        Ok(())
    }

    /// Checks the work of the dies: the programs of a block follow those that are done, and each block that holds
    /// nothing any more is to be erased once.
    fn check_work(&self, work: &[Vec<SavedWork>], now: SimTime) -> Archived {
        let geometry = &self.medium.geometry;
        let gives_up = |block: BlockId| self.medium.block(block).is(BlockState::Victim);
        // The next program of each block; none while it waits for its erase.
        let mut next: Vec<Option<u32>> = (0..geometry.block_count)
            .map(|block| (!gives_up(BlockId(block))).then_some(self.medium.block(BlockId(block)).programmed.into()))
            .collect();
        for (die, work) in (0..).map(DieId).zip(work) {
            for one in work {
                let &(SavedWork::Program { block, .. } | SavedWork::Erase { block }) = one;
                require(geometry.blocks_of(die).contains(&block), || format!("die {} works on block {block} of another", die.0))?;
                let expected = &mut next[block as usize];
                let fits = match one {
                    SavedWork::Program { program, units, since, .. } => {
                        *expected == Some(*program)
                            && *program < geometry.programs_per_block
                            && (1..=geometry.units_per_program as usize).contains(&units.len())
                            && *since <= now
                            && units.iter().all(|unit| unit.since <= now)
                    }
                    SavedWork::Erase { .. } => expected.is_none(),
                };
                require(fits, || format!("die {} has work that does not follow from what it has done: {one:?}", die.0))?;
                *expected = Some(expected.map_or(0, |program| program + 1));
            }
        }
        let left = next.iter().position(Option::is_none);
        require(left.is_none(), || format!("block {left:?} waits for an erase that its die has not to do"))
    }

    /// Returns the number of programs of each block that are done, or that its die has to do.
    pub fn programs_given(&self) -> Vec<u32> {
        let mut given: Vec<u32> =
            (0..self.medium.geometry.block_count).map(|block| self.medium.programs_done(BlockId(block))).collect();
        for work in self.work.iter().flatten() {
            if let Work::Program { block, .. } = work {
                given[block.index()] += 1;
            }
        }
        given
    }
}
