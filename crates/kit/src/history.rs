//! The physical history of a run: every completion and every start and end of a flash operation, in the order of time.
//!
//! An entry names nothing that belongs to the structure of the engine (no slot, event or insertion number), and the entries of one instant are sorted.
//! A change of structure therefore leaves the history alone; two histories differ only where the drives did something else.

use crate::command::Op;
use crate::ids::{DieId, ModeId};
use crate::operation::{Operation, OperationKind};
use crate::rng::split_mix;
use crate::units::SimTime;

/// The die, place or mode of an entry that has none.
const NONE: u32 = u32::MAX;
/// The mode of an entry that has none.
const NO_MODE: u8 = u8::MAX;

/// One thing that happened. The order is that of the history: by time, and within an instant by the other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// When.
    pub time: SimTime,
    kind: u8,
    die: u32,
    place: u64,
    mode: u8,
    tag: u32,
}

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A host command completed.
    Completed(Op),
    /// A flash operation took its die.
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
    /// The completion of a host command at a byte offset.
    #[inline]
    pub fn completed(time: SimTime, op: Op, offset: u64, tag: u32) -> Entry {
        Entry { time, kind: EntryKind::Completed(op).code(), die: NONE, place: offset, mode: NO_MODE, tag }
    }

    /// The start or the end of a flash operation.
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

    /// What it tells of.
    pub fn kind(&self) -> EntryKind {
        let index = usize::from(self.kind % 16);
        match self.kind / 16 {
            0 => EntryKind::Completed(Op::ALL[index]),
            1 => EntryKind::Started(OperationKind::ALL[index]),
            _ => EntryKind::Ended(OperationKind::ALL[index]),
        }
    }

    /// The die; none for a host command.
    pub fn die(&self) -> Option<DieId> {
        (self.die != NONE).then_some(DieId(self.die))
    }

    /// Of a host command its first byte; of a flash operation its first mapping unit, or none if it reads what was never written.
    pub fn place(&self) -> Option<u64> {
        (self.die == NONE || self.place != u64::from(NONE)).then_some(self.place)
    }

    /// The write, erase or read mode, by the kind of the operation; none for a host command.
    pub fn mode(&self) -> Option<ModeId> {
        (self.mode != NO_MODE).then_some(ModeId(self.mode))
    }

    /// Of a host command its tag; of a flash operation its reason, as a number.
    pub fn tag(&self) -> u32 {
        self.tag
    }
}

/// A whole history in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Entries.
    pub entries: u64,
    /// A hash of all of them, in order.
    pub hash: u64,
}

/// The history of a run while it is being made; empty and free of cost unless enabled.
#[derive(Clone, Debug, Default)]
pub struct History {
    enabled: bool,
    keeps: bool,
    /// Entries of the latest instant, in no order.
    instant: Vec<Entry>,
    /// Entries of earlier instants that nobody has taken yet.
    settled: Vec<Entry>,
    entries: u64,
    hash: u64,
}

impl History {
    /// Starts the history anew. `keep`: its entries are wanted, not only the digest.
    pub fn enable(&mut self, keep: bool) {
        *self = History { enabled: true, keeps: keep, ..History::default() };
    }

    /// Goes on without keeping entries.
    pub fn keep_no_more(&mut self) {
        self.keeps = false;
    }

    /// Adds an entry, made only when somebody watches. Times must not run backwards.
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

    /// The latest instant is over: its entries are sorted and join the hash.
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

    /// The entries of all instants that are over and were not taken before.
    pub fn take(&mut self) -> std::vec::Drain<'_, Entry> {
        self.settled.drain(..)
    }

    /// Ends the latest instant; the digest of everything so far. Nothing more may happen at that instant.
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
