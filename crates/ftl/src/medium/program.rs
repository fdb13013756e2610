//! The program that a die is executing.

use crate::queue::{NONE, WriteQueue, Writer};
use kit::clock::{Reading, charge_wait};
use kit::{Cause, CommandId, DriveClock, ModeId, Nanos, Outbox, Part, Ppn, Reason, Record, SimTime};

/// The number of no place.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Program that a die is executing: its units and the places that they supersede.
pub(crate) struct ProgramUnit {
    pub first: Ppn,
    pub mode: ModeId,
    /// One entry for each mapping unit of the program; the first `bound` of them are in use.
    pub units: Vec<BoundUnit>,
    pub bound: usize,
    pub reason: Reason,
    /// Host stream through which it is written; none for relocated data.
    pub stream: Option<u8>,
    /// Number of relocated units that still have to be encoded for `mode`.
    pub encode: u32,
    /// Write stream through whose frontier it is written, where the layer has frontiers.
    pub frontier: usize,
    /// Time since the units were first bound, if the programs before this one have failed.
    pub failed_for: Nanos,
}

/// A unit of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BoundUnit {
    pub kind: UnitKind,
    pub superseded: u32,
    /// For a buffered unit, its number in the write buffer; for a unit that its command waits for, the time in the
    /// write queue by cause and the time for reading the part that the host did not write.
    number: u64,
    /// For a buffered unit, the first of the commands that wait for the program.
    waiters: u32,
    waited: Reading,
    filled_in: Nanos,
}

/// Kind of a unit of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum UnitKind {
    Host(CommandId),
    Buffered,
    MapPage(u32),
    #[default]
    Moved,
}

impl ProgramUnit {
    /// Returns the state of a die that is not programming; a program has `units_per_program` units.
    pub fn new(units_per_program: u32) -> ProgramUnit {
        ProgramUnit {
            first: Ppn(0),
            mode: ModeId(0),
            units: vec![BoundUnit::default(); units_per_program as usize],
            bound: 0,
            reason: Reason::Host,
            stream: None,
            encode: 0,
            frontier: 0,
            failed_for: Nanos::ZERO,
        }
    }

    /// Returns true if the die is not programming.
    pub fn is_empty(&self) -> bool {
        self.bound == 0
    }

    /// Adds a unit and returns it, to be filled in place.
    #[inline]
    pub fn bind(&mut self, superseded: u32) -> &mut BoundUnit {
        let unit = &mut self.units[self.bound];
        self.bound += 1;
        unit.superseded = superseded;
        unit
    }

    /// Binds a chain of waiting units of host data, which begins with the unit that came last, in the order in which
    /// they came, in a mode. They are successive units, for the places from `first` on. Returns their number.
    pub fn bind_chain(
        &mut self,
        chain: u32,
        (first, mode): (Ppn, ModeId),
        writes: &mut WriteQueue,
        now: SimTime,
        out: &mut Outbox,
    ) -> u32 {
        let (mut turned, mut rest, mut bound, mut lowest) = (NONE, chain, 0, u32::MAX);
        while rest != NONE {
            lowest = lowest.min(writes.units[rest].lpn.0);
            let next = std::mem::replace(&mut writes.units[rest].next, turned);
            (turned, rest) = (rest, next);
        }
        while turned != NONE {
            let slot = turned;
            turned = writes.units[slot].next;
            let place = first.0 + (writes.units[slot].lpn.0 - lowest);
            self.bind_host(slot, (Ppn(place), mode), writes, now, out);
            bound += 1;
        }
        bound
    }

    /// Binds a waiting unit of host data, which supersedes no place, to a place in a mode, and releases its slot.
    pub fn bind_host(&mut self, slot: u32, (ppn, mode): (Ppn, ModeId), writes: &mut WriteQueue, now: SimTime, out: &mut Outbox) {
        let (lpn, last, writer) = (writes.units[slot].lpn, writes.units[slot].last, writes.units[slot].writer);
        out.signals.queued_write_pages -= 1;
        out.signals.queued_write_requests -= u64::from(last);
        out.journal.note(|| match writer {
            Writer::Command(command) => Record::Bound { lpn, ppn, command, mode },
            Writer::Buffer => Record::BoundFromBuffer { slot, lpn, ppn, mode },
        });
        self.bind(NO_PLACE).take(slot, writes, now, &out.signals.clock);
        writes.units.release(slot);
    }

    /// Lets the die's erase end the wait of the command in a slot, which is released.
    pub fn bind_waiting(&mut self, slot: u32, writes: &mut WriteQueue, now: SimTime, clock: &DriveClock) {
        self.bind(NO_PLACE).take(slot, writes, now, clock);
        writes.units.release(slot);
    }

    /// Binds `count` units of relocated data.
    pub fn bind_moved(&mut self, count: u32) {
        (0..count).for_each(|_| self.bind(NO_PLACE).kind = UnitKind::Moved);
    }
}

impl BoundUnit {
    /// Returns the number of a buffered unit in the write buffer.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Takes over a waiting unit of host data that is bound at `now`. The caller releases its slot.
    #[inline]
    pub fn take(&mut self, slot: u32, writes: &mut WriteQueue, now: SimTime, clock: &DriveClock) {
        let unit = &writes.units[slot];
        match unit.writer {
            Writer::Command(command) => {
                self.kind = UnitKind::Host(command);
                clock.spent_since(&unit.reading, now, &mut self.waited);
                self.filled_in = unit.filled_in;
            }
            Writer::Buffer => {
                self.kind = UnitKind::Buffered;
                self.number = unit.number;
                self.waiters = writes.end_wait(slot, now, clock);
            }
        }
    }

    /// Handles the end of the program in a slot: reports to the commands that wait for the unit, and frees its place in
    /// the write buffer.
    #[inline]
    pub fn programmed(&self, slot: u32, writes: &mut WriteQueue, out: &mut Outbox) {
        match self.kind {
            UnitKind::Host(command) => {
                let ledger = *out.operations.account(slot).ledger();
                out.handoff.parts.push(Part { command, ledger, units: 0, is_lost: false });
                let part = out.handoff.parts.last_mut().expect("it was just added");
                charge_wait(&mut part.ledger, &self.waited);
                part.ledger.charge(Cause::Rmw, self.filled_in);
            }
            UnitKind::Buffered => {
                out.handoff.released.push(self.number);
                if self.waiters != NO_PLACE {
                    let ledger = *out.operations.account(slot).ledger();
                    writes.report(self.waiters, &ledger, &mut out.handoff);
                }
            }
            UnitKind::MapPage(_) | UnitKind::Moved => {}
        }
    }
}
