//! The physical history of a run: every command completion and every start and end of a flash operation, in order of
//! time.
//!
//! An entry contains nothing internal to the engine (no slot, event or insertion number), and the entries of one
//! instant are sorted. Restructuring the engine therefore leaves the history unchanged; two histories differ only where
//! the drives behaved differently.

use crate::command::Op;
use crate::ids::{DieId, ModeId};
use crate::operation::{Operation, OperationKind};
use crate::rng::split_mix;
use crate::units::SimTime;

/// Value of the die or the place of an entry that has none.
const NONE: u32 = u32::MAX;
/// Value of the mode of an entry that has none.
const NO_MODE: u8 = u8::MAX;

/// One event of a history. Entries are ordered by time, and within an instant by their other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Instant of the event.
    pub time: SimTime,
    kind: u8,
    die: u32,
    place: u64,
    mode: u8,
    tag: u32,
}

/// Kind of the event that an entry records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A host command completed.
    Completed(Op),
    /// A flash operation started and occupied its die.
    Started(OperationKind),
    /// A flash operation ended.
    Ended(OperationKind),
}

impl EntryKind {
    fn code(self) -> u8 {
        match self {
            EntryKind::Completed(op) => op as u8,
            EntryKind::Started(kind) => 16 + kind as u8,
            EntryKind::Ended(kind) => 32 + kind as u8,
        }
    }
}

impl Entry {
    /// Returns the entry for the completion of a host command at byte `offset`.
    #[inline]
    pub fn completed(time: SimTime, op: Op, offset: u64, tag: u32) -> Entry {
        Entry { time, kind: EntryKind::Completed(op).code(), die: NONE, place: offset, mode: NO_MODE, tag }
    }

    /// Returns the entry for the start or the end of a flash operation.
    #[inline]
    pub fn operation(time: SimTime, kind: EntryKind, operation: &Operation) -> Entry {
        Entry {
            time,
            kind: kind.code(),
            die: operation.die.0,
            place: u64::from(operation.first.0),
            mode: operation.mode.0,
            tag: operation.reason as u32,
        }
    }

    /// Returns the kind of the event.
    pub fn kind(&self) -> EntryKind {
        let index = usize::from(self.kind % 16);
        match self.kind / 16 {
            0 => EntryKind::Completed(Op::ALL[index]),
            1 => EntryKind::Started(OperationKind::ALL[index]),
            _ => EntryKind::Ended(OperationKind::ALL[index]),
        }
    }

    /// Returns the die; `None` for a host command.
    pub fn die(&self) -> Option<DieId> {
        (self.die != NONE).then_some(DieId(self.die))
    }

    /// Returns the first byte of a host command, or the first mapping unit of a flash operation. `None` for a flash
    /// read of a unit that was never written.
    pub fn place(&self) -> Option<u64> {
        (self.die == NONE || self.place != u64::from(NONE)).then_some(self.place)
    }

    /// Returns the write, erase or read mode, depending on the kind of the operation; `None` for a host command.
    pub fn mode(&self) -> Option<ModeId> {
        (self.mode != NO_MODE).then_some(ModeId(self.mode))
    }

    /// Returns the tag of a host command, or the reason of a flash operation as a number.
    pub fn tag(&self) -> u32 {
        self.tag
    }
}

/// Length and hash of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Number of entries.
    pub entries: u64,
    /// Hash of all entries, in order.
    pub hash: u64,
}

/// The history of a run in progress. Unless enabled, it stays empty and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct History {
    enabled: bool,
    keeps: bool,
    /// Entries of the latest instant, unsorted.
    instant: Vec<Entry>,
    /// Entries of earlier instants, sorted and not yet taken.
    settled: Vec<Entry>,
    entries: u64,
    hash: u64,
}

impl History {
    /// Starts a new history. If `keep` is true, entries are kept for [`History::take`]; otherwise only the digest is.
    pub fn enable(&mut self, keep: bool) {
        *self = History { enabled: true, keeps: keep, ..History::default() };
    }

    /// Stops keeping entries; the digest continues.
    pub fn stop_keeping(&mut self) {
        self.keeps = false;
    }

    /// Adds an entry. The closure is called only if the history is enabled. Times must not decrease.
    #[inline]
    pub fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if self.enabled {
            self.add(entry());
        }
    }

    fn add(&mut self, entry: Entry) {
        if self.instant.first().is_some_and(|first| first.time != entry.time) {
            self.settle();
        }
        self.instant.push(entry);
    }

    /// Ends the latest instant: sorts its entries and adds them to the hash.
    fn settle(&mut self) {
        self.instant.sort_unstable();
        for entry in &self.instant {
            let mode = u64::from(entry.kind) << 8 | u64::from(entry.mode);
            for word in [entry.time.0, u64::from(entry.die) << 32 | u64::from(entry.tag), entry.place, mode] {
                let mut state = self.hash ^ word;
                self.hash = split_mix(&mut state);
            }
        }
        self.entries += self.instant.len() as u64;
        if self.keeps {
            self.settled.append(&mut self.instant);
        }
        self.instant.clear();
    }

    /// Removes and returns the kept entries of all instants that have ended.
    pub fn take(&mut self) -> std::vec::Drain<'_, Entry> {
        self.settled.drain(..)
    }

    /// Ends the latest instant and returns the digest so far. No further entry may be added for that instant.
    pub fn close(&mut self) -> Digest {
        self.settle();
        Digest { entries: self.entries, hash: self.hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64, offset: u64) -> Entry {
        Entry::completed(SimTime(time), Op::Read, offset, 0)
    }

    fn digest(entries: &[Entry]) -> Digest {
        let mut history = History::default();
        history.enable(false);
        entries.iter().for_each(|entry| history.note(|| *entry));
        history.close()
    }

    #[test]
    fn the_order_within_an_instant_does_not_matter_and_everything_else_does() {
        let known = digest(&[at(1, 10), at(2, 20), at(2, 30), at(3, 40)]);
        assert_eq!(known, digest(&[at(1, 10), at(2, 30), at(2, 20), at(3, 40)]));
        assert_eq!(known.entries, 4);
        for other in [
            [at(1, 10), at(2, 20), at(3, 30), at(3, 40)],
            [at(1, 20), at(2, 10), at(2, 30), at(3, 40)],
            [at(1, 10), at(2, 20), at(2, 30), at(3, 41)],
        ] {
            assert_ne!(known, digest(&other), "{other:?}");
        }
        let write = Entry::completed(SimTime(3), Op::Write, 40, 0);
        let tagged = Entry::completed(SimTime(3), Op::Read, 40, 1);
        assert_ne!(known, digest(&[at(1, 10), at(2, 20), at(2, 30), write]));
        assert_ne!(known, digest(&[at(1, 10), at(2, 20), at(2, 30), tagged]));
    }

    #[test]
    fn entries_say_what_they_were_made_of() {
        let operation = Operation {
            kind: OperationKind::Erase,
            die: DieId(3),
            first: crate::Ppn(7),
            mode: ModeId(2),
            ..Operation::default()
        };
        let entry = Entry::operation(SimTime(5), EntryKind::Ended(OperationKind::Erase), &operation);
        assert_eq!((entry.kind(), entry.die(), entry.place()), (EntryKind::Ended(OperationKind::Erase), Some(DieId(3)), Some(7)));
        assert_eq!((entry.mode(), entry.tag()), (Some(ModeId(2)), crate::Reason::Host as u32));
        let read = Operation { first: crate::Ppn(NONE), ..Operation::default() };
        assert_eq!(Entry::operation(SimTime(5), EntryKind::Started(OperationKind::Read), &read).place(), None);
        let command = at(5, 4096);
        assert_eq!((command.kind(), command.die(), command.place()), (EntryKind::Completed(Op::Read), None, Some(4096)));
        assert_eq!(command.mode(), None);
    }

    #[test]
    fn an_instant_is_handed_out_once_it_is_over() {
        let mut history = History::default();
        history.note(|| unreachable!("nobody watches"));
        history.enable(true);
        [at(1, 9), at(1, 8), at(2, 7)].into_iter().for_each(|entry| history.note(|| entry));
        assert_eq!(history.take().collect::<Vec<_>>(), [at(1, 8), at(1, 9)]);
        assert_eq!(history.close().entries, 3);
        assert_eq!(history.take().collect::<Vec<_>>(), [at(2, 7)]);
    }
}
