//! The contract of a translation layer.

use super::pass_through::chunks::Chunks;
use super::record::Recorder;
use super::zns::table::Table;
use crate::ftl::{Ftl, FtlCounters, Pulled};
use kit::{
    CommandId, Demand, DieId, Ended, Events, HostCommand, HostUnit, Journal, Lpn, Op, Operation, Outbox, Ppn, Problem, ReadyDies,
    SimTime, Status, Stored, Timer,
};
use std::ops::Range;

/// Declares [`Translation`] and the methods of [`Translator`] that pass on to it, from one list of methods. `mut` and
/// `ref` say how a method takes the layer; a method with `= body` has a default.
macro_rules! contract {
    ($(
        $(#[$doc:meta])*
        $how:ident fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $(= $default:block)?;
    )+) => {
        /// A translation layer: it answers host commands with flash operations, and gives idle dies operations of its
        /// own.
        ///
        /// Reads are pushed to their dies through the outbox. Programs and erases are pulled, by
        /// [`next`](Translation::next), and bound to a place only then.
        pub trait Translation: Send {
            $(contract!(@declare $how [$(#[$doc])*] $name ($($argument: $type),*) [$($result)?] [$($default)?]);)+

            /// Returns the page map, if the layer is one.
            fn page_map(&self) -> Option<&Ftl> { None }

            /// Returns the page map for modification, if the layer is one.
            fn page_map_mut(&mut self) -> Option<&mut Ftl> { None }

            /// Checks a command on a drive with zones, as it is served, and lets it take effect on the zones. Returns
            /// the first unit of an append's data, or the status with which the command fails.
            fn check(
                &mut self,
                _id: CommandId,
                _command: &HostCommand,
                _now: SimTime,
                _out: &mut Outbox,
            ) -> Result<Option<Lpn>, Status> {
                Ok(None)
            }

            /// Returns true if commands are checked before they are served.
            fn checks_commands(&self) -> bool { self.zones().is_some() }

            /// Returns the zones of a drive that has any.
            fn zones(&self) -> Option<&Table> { None }

            /// Returns the chunks of a drive with physical addresses.
            fn chunks(&self) -> Option<&Chunks> { None }

            /// Keeps the addresses of a vectored command. Returns the first unit of a range of the same length that
            /// stands for them until the command has been served; `None` if the layer has no such commands.
            fn vector(&mut self, _addresses: &[u32]) -> Option<Lpn> { None }

            /// Begins the resets for a trim that was checked. Returns the number of parts of the command; `None` if
            /// trims are complete at once.
            fn reset(&mut self, _command: CommandId, _first: Lpn, _now: SimTime, _out: &mut Outbox) -> Option<u32> { None }
        }

        impl Translator {
            $(contract!(@pass $how [$(#[$doc])*] $name ($($argument: $type),*) [$($result)?]);)+
        }
    };
    (@declare mut [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?] []) => {
        $(#[$doc])* fn $name(&mut self, $($argument: $type),*) $(-> $result)?;
    };
    (@declare mut [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?] [$default:block]) => {
        $(#[$doc])* fn $name(&mut self, $($argument: $type),*) $(-> $result)? { $(let _ = $argument;)* $default }
    };
    (@declare ref [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?] []) => {
        $(#[$doc])* fn $name(&self, $($argument: $type),*) $(-> $result)?;
    };
    (@declare ref [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?] [$default:block]) => {
        $(#[$doc])* fn $name(&self, $($argument: $type),*) $(-> $result)? { $(let _ = $argument;)* $default }
    };
    (@pass mut [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            match self {
                Translator::PageMap(layer) => layer.$name($($argument),*),
                Translator::Other(layer) => layer.$name($($argument),*),
            }
        }
    };
    (@pass ref [$(#[$doc:meta])*] $name:ident ($($argument:ident: $type:ty),*) [$($result:ty)?]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(&self, $($argument: $type),*) $(-> $result)? {
            match self {
                Translator::PageMap(layer) => layer.$name($($argument),*),
                Translator::Other(layer) => layer.$name($($argument),*),
            }
        }
    };
}

contract! {
    /// Takes note of a host write that the device serves, before its units come.
    mut fn announce(command: CommandId, op: Op, units: Range<u32>, now: SimTime) = {};
    /// Looks up the units of a host read, and places the flash reads that they need in the outbox. Returns the number
    /// of parts that will report: one for each flash read, and one for all units answered at once.
    mut fn read(command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32;
    /// Accepts a unit of a host write whose data is in the controller. Returns true if it waits for a die now, and
    /// false if it replaced a buffered unit or its other sectors must be read first.
    mut fn write(unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool;
    /// Looks up the pages of the map for a command's units. Returns true if all are in memory. Otherwise the command
    /// waits for one of them; when it has been read, the tray has the command with the first unit after it.
    mut fn translate(command: CommandId, units: Range<u32>, out: &mut Outbox) -> bool = { true };
    /// Deallocates whole units.
    mut fn trim(first: Lpn, count: u32, now: SimTime, out: &mut Outbox);
    /// Allows incomplete program units for the units of the write buffer up to the number `until`, and wakes dies for
    /// them.
    mut fn flush(until: u64, ready: &mut ReadyDies);
    /// Chooses the next operation of an idle die that no read has. Returns its slot, and counts the die as busy; `None`
    /// if there is nothing for the die.
    mut fn next(die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32>;
    /// Like [`next`](Translation::next), for a die that has no page buffer for a program: if a program comes next,
    /// nothing is bound, and no other operation takes its place.
    mut fn next_without_buffer(die: DieId, now: SimTime, out: &mut Outbox) -> Pulled;
    /// Handles the completion of a flash operation, whose slot is released afterwards.
    mut fn operation_done(ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox);
    /// Handles a timer.
    mut fn timer(timer: Timer, now: SimTime, out: &mut Outbox);
    /// Returns the state and the counts that results are made from.
    ref fn report() -> Report<'_>;
    /// Returns figures of the layer's own, by name, for results.
    ref fn figures() -> Vec<(&'static str, f64)> = { Vec::new() };

    /// Returns the number of mapping units of the user capacity.
    ref fn user_units() -> u64;
    /// Returns what the layer has for a die that chooses its next operation.
    ref fn demand(die: DieId) -> Demand;
    /// Handles the start of an operation that was not pulled: the die is busy, and another idle die is woken for the
    /// waiting writes that this one may have been woken for.
    mut fn die_started(die: DieId, now: SimTime, ready: &mut ReadyDies);
    /// Handles a die that waits for a page buffer before its next program: it is busy, and another idle die is woken
    /// for the writes and page moves that this one may have been woken for.
    mut fn die_starved(die: DieId, now: SimTime, ready: &mut ReadyDies);
    /// Marks a die as idle: it may be woken for the next write, and for background work later.
    mut fn set_idle(die: DieId, now: SimTime, events: &mut Events);
    /// Returns true if an operation of the layer waits for reads of the die that are held back.
    ref fn waits_for_reads(die: DieId) -> bool = { false };
    /// Holds back the units of the write buffer above those that are to be flushed, or lets them be programmed.
    mut fn hold_writes(holds: bool, ready: &mut ReadyDies);
    /// Handles the completion of an encoder job for a die's collection: the gathered units may be programmed.
    mut fn collection_encoded(die: DieId, now: SimTime, ready: &mut ReadyDies) = { unreachable!("the layer encodes nothing apart") };
    /// Prefetches the table entries that commands on these units will need. Simulated state does not change.
    mut fn hint(units: &[Lpn], writes: bool) = {};
    /// Returns the mapping unit whose data was written to a place; 0 if it holds none.
    ref fn unit_at(ppn: Ppn) -> u32;

    /// Returns the condition of the data at a place, and counts a read of its block. Only where reads can fail.
    mut fn stored(ppn: Ppn, now: SimTime) -> Stored;
    /// Returns the condition of the data at a place, without a read. Only where reads can fail.
    ref fn stored_unread(ppn: Ppn, now: SimTime) -> Stored;
    /// Returns the places that a read covers, if they are not successive: a collection reads the valid units of a row.
    ref fn places_of(operation: &Operation) -> Option<&[Ppn]> = { None };
    /// Returns true if the data at any place is lost.
    ref fn has_lost() -> bool = { false };
    /// Handles places that the read of `operation` could not correct.
    mut fn read_failed(operation: &Operation, places: &[Ppn], journal: &mut Journal) = {};
    /// Returns true if a read, which could be corrected, delivers data that was lost before.
    mut fn delivers_lost(operation: &Operation) -> bool = { false };

    /// Begins a shutdown: all waiting writes are programmed, `until` the last unit of the write buffer.
    mut fn begin_shutdown(until: u64, ready: &mut ReadyDies);
    /// Advances a shutdown. Returns true once nothing has to be written any more.
    mut fn has_shut_down(now: SimTime, out: &mut Outbox) -> bool;
    /// Ends the shutdown begun by [`begin_shutdown`](Translation::begin_shutdown).
    mut fn end_shutdown();
    /// Takes note that the drive has its starting state, and its work begins.
    mut fn adopt(now: SimTime, out: &mut Outbox) = {};

    /// Returns the reason why the layer cannot go on, if there is one: the run ends.
    ref fn failure() -> Option<Problem> = { None };
    /// Takes note that nothing is left to happen while commands wait. Returns true if the layer fails for that reason.
    mut fn stalled(commands: u64) -> bool = { false };
    /// Returns the lines of the firmware trace that have been recorded and not been taken; with `is_last` also the last
    /// line.
    mut fn take_lines(is_last: bool) -> String = { String::new() };
}

/// State and counts of a translation layer, for results.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// Counts of completed work.
    pub counters: &'a FtlCounters,
    /// Number of free blocks; `None` if the layer keeps no account of them.
    pub free_blocks: Option<u64>,
    /// The map with its blocks, wear, retention and policy; `None` if the layer does not model them.
    pub page_map: Option<&'a Ftl>,
}

/// The translation layer of a drive. The page map is a variant of its own, so that its calls are direct.
#[expect(clippy::large_enum_variant, reason = "a drive has one, and reaches the page map without a pointer")]
pub enum Translator {
    /// A map of mapping units.
    PageMap(Ftl),
    /// Another layer.
    Other(Box<dyn Translation>),
}

impl Translator {
    /// Returns the page map, if that is the layer.
    #[inline(always)]
    pub fn page_map(&self) -> Option<&Ftl> {
        match self {
            Translator::PageMap(ftl) => Some(ftl),
            Translator::Other(layer) => layer.page_map(),
        }
    }

    /// Returns the zones of a drive that has any.
    pub fn zones(&self) -> Option<&Table> {
        match self {
            Translator::PageMap(_) => None,
            Translator::Other(layer) => layer.zones(),
        }
    }

    /// Returns the chunks of a drive with physical addresses.
    pub fn chunks(&self) -> Option<&Chunks> {
        match self {
            Translator::PageMap(_) => None,
            Translator::Other(layer) => layer.chunks(),
        }
    }

    /// Returns true if commands are checked before they are served.
    pub fn checks_commands(&self) -> bool {
        match self {
            Translator::PageMap(_) => false,
            Translator::Other(layer) => layer.checks_commands(),
        }
    }

    /// Keeps the addresses of a vectored command ([`Translation::vector`]).
    pub fn vector(&mut self, addresses: &[u32]) -> Option<Lpn> {
        match self {
            Translator::PageMap(_) => None,
            Translator::Other(layer) => layer.vector(addresses),
        }
    }

    /// Returns the page map for modification, if that is the layer.
    #[inline(always)]
    pub fn page_map_mut(&mut self) -> Option<&mut Ftl> {
        match self {
            Translator::PageMap(ftl) => Some(ftl),
            Translator::Other(layer) => layer.page_map_mut(),
        }
    }

    /// Returns the layer with a record of its operations ([`Translation::take_lines`]), for an empty drive; another
    /// layer than the page map as it is.
    pub fn recorded(self) -> Translator {
        match self {
            Translator::PageMap(ftl) => Translator::Other(Box::new(Recorder::new(ftl))),
            other => other,
        }
    }
}
