//! The contract of a translation layer.

use super::page_map::executed::Asks;
use super::pass_through::chunks::Chunks;
use super::zns::table::Table;
use crate::counters::FtlCounters;
use crate::medium::Medium;
use crate::queue::Buffered;
use crate::queue::Drain;
use kit::archive::{Archive, Archived};
use kit::{
    CommandId, Demand, DieId, Ended, HostCommand, HostUnit, Lpn, Operation, Outbox, Ppn, Problem, ReadyDies, SimTime, Status,
    Timer,
};
use std::ops::Range;

/// A translation layer: it answers host commands with flash operations, and gives idle dies operations of its own.
///
/// Reads are pushed to their dies through the outbox. Programs and erases are pulled, by [`next`](Translation::next),
/// and bound to a place only then. What has been programmed, erased and read is kept by the layer's [`Medium`].
pub trait Translation: Send {
    /// Looks up the units of a host read, and places the flash reads that they need in the outbox. Returns the number
    /// of parts that will report: one for each flash read, and one for all units answered at once.
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32;

    /// Accepts a unit of a host write whose data is in the controller. Returns true if it waits for a die now, and
    /// false if it replaced a buffered unit or its other sectors must be read first.
    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool;

    /// Deallocates whole units. Without effect where the layer keeps no map of them.
    fn trim(&mut self, _first: Lpn, _count: u32, _now: SimTime, _out: &mut Outbox) {}

    /// Changes the conditions under which waiting writes are programmed, and wakes dies for them. Without effect where
    /// writes wait for nothing but their program unit.
    fn drain(&mut self, _what: Drain, _ready: &mut ReadyDies) {}

    /// Advances a shutdown. Returns true once nothing has to be written any more.
    fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool;

    /// Returns what the layer has for a die that chooses its next operation.
    fn demand(&self, die: DieId) -> Demand;

    /// Chooses the next operation of an idle die that no read has, and counts the die as busy. Without `may_program`
    /// the die has no page buffer for a program: if a program comes next, nothing is bound, and no other operation
    /// takes its place.
    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled;

    /// Handles the end of a die's turn, if not with an operation that [`next`](Translation::next) gave it.
    fn turn_ended(&mut self, die: DieId, end: TurnEnd, now: SimTime, out: &mut Outbox);

    /// Handles the end of a flash operation, whose slot is released afterwards.
    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox);

    /// Handles the end of an encoder job for a die's collection: the gathered units may be programmed.
    fn collection_encoded(&mut self, _die: DieId, _now: SimTime, _ready: &mut ReadyDies) {
        unreachable!("the layer encodes nothing apart")
    }

    /// Handles a timer.
    fn timer(&mut self, timer: Timer, _now: SimTime, _out: &mut Outbox) {
        unreachable!("the layer arms no timer, {timer:?}")
    }

    /// Returns the counts that results are made from.
    fn report(&self) -> Report<'_>;

    /// Returns figures of the layer's own, by name, for results.
    fn figures(&self) -> Vec<(&'static str, f64)>;

    /// Returns the mapping unit whose data was written to a place; 0 if it holds none.
    fn unit_at(&self, ppn: Ppn) -> u32;

    /// Saves the state of the layer at rest, or loads it into a new layer of the same description. What is loaded is
    /// checked against itself: the error names the claims that contradict each other. `now` is the clock of the drive.
    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived;

    /// Returns the units of the write buffer that the layer holds.
    fn buffered(&self) -> Buffered;

    /// Returns the medium that the layer stands on.
    fn medium(&self) -> &Medium;

    /// Returns the medium for modification.
    fn medium_mut(&mut self) -> &mut Medium;
}

/// A layer whose address space is a row of zones.
pub trait Zoned: Translation {
    /// Checks a command as it is served, and lets it take effect on the zones. Returns the first unit of an append's
    /// data, or the status with which the command fails.
    fn check(&mut self, id: CommandId, command: &HostCommand, now: SimTime, out: &mut Outbox) -> Result<Option<Lpn>, Status>;

    /// Returns the zones.
    fn zones(&self) -> &Table;
}

/// A layer whose address space is that of the flash, in chunks.
pub trait Physical: Translation {
    /// Checks a command as it is served, and lets it take effect on the chunks; an error is the status with which the
    /// command fails.
    fn check(&mut self, command: &HostCommand) -> Result<(), Status>;

    /// Returns the chunks.
    fn chunks(&self) -> &Chunks;

    /// Keeps the addresses of a vectored command. Returns the first unit of a range of the same length that stands for
    /// them until the command has been served; `None` if too many are in flight.
    fn vector(&mut self, addresses: &[u32]) -> Option<Lpn>;

    /// Begins the resets for a trim that was checked. Returns the number of parts of the command.
    fn reset(&mut self, command: CommandId, first: Lpn, now: SimTime, out: &mut Outbox) -> u32;
}

/// A layer whose operations are the entries of a firmware trace, which it records or plays: it numbers the commands.
pub trait Recordable: Translation {
    /// Begins the drive's work in its starting state.
    fn begin(&mut self, now: SimTime, out: &mut Outbox);

    /// Announces a host write that the device serves, before its units come.
    fn announce(&mut self, command: CommandId, units: Range<u32>, now: SimTime);

    /// Returns true if the layer's answers and decisions take the time of a processor.
    fn takes_time(&self) -> bool {
        false
    }

    /// Looks up a command's units, or deallocates them, where that takes the time of a processor. Returns true if it is
    /// done; otherwise the command waits, and the handoff has it later.
    fn translate(&mut self, _asks: Asks, _units: Range<u32>, _now: SimTime, _out: &mut Outbox) -> bool {
        true
    }

    /// Returns the lines that have been recorded and not been taken; with `is_last` also the last line.
    fn take_lines(&mut self, _is_last: bool) -> String {
        String::new()
    }

    /// Returns the reason why the trace cannot be played on, if there is one: the run ends.
    fn failure(&self) -> Option<Problem> {
        None
    }

    /// Handles the end of all events while `commands` commands are still in flight. Returns true if the trace is the
    /// reason, which [`failure`](Recordable::failure) tells.
    fn stalled(&mut self, _commands: u64) -> bool {
        false
    }
}

/// End of a die's turn to choose its next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The die has nothing to do: it may be woken for the next write, and for background work later.
    Idle,
    /// The die began an operation that was not pulled. Another idle die is woken for the waiting writes for which this
    /// one may have been woken.
    Started,
    /// The die waits for a page buffer before its next program. Another idle die is woken for the writes and page moves
    /// for which this one may have been woken.
    Starved,
}

/// Counts of a translation layer, for results.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// Counts of completed work.
    pub counters: &'a FtlCounters,
    /// Number of free blocks; `None` if the layer keeps no account of them.
    pub free_blocks: Option<u64>,
}

/// Operation that the translation layer has for an idle die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// The operation in this slot, which the die begins.
    Operation(u32),
    /// A program, which is not bound yet: the die must have a page buffer first.
    NeedsBuffer,
    /// None.
    Nothing,
}
