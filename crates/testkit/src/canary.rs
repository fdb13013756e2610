//! Changes records on their way to the oracle: each of these must be caught, or the oracle is blind.

use kit::{Lpn, Ppn, ReadSource, Record, Rng};

/// A way to falsify one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// A host write is bound to the next place.
    BindElsewhere,
    /// The binding of a host write is not told.
    DropBinding,
    /// A relocation is told of another unit.
    RelocateAnother,
    /// A relocation is told to come from the place beside.
    RelocateFromElsewhere,
    /// A program is told twice.
    ProgramTwice,
    /// A program is not told.
    DropProgram,
    /// An erase is told before anything else of its instant, of the block that was programmed last.
    EraseInUse,
    /// A read is told to have found nothing.
    ReadNothing,
    /// A read is told to have found its data beside where it is.
    ReadElsewhere,
    /// A sensing is not told.
    DropSensing,
    /// A write is told to be accepted twice.
    AcceptTwice,
    /// A trim is not told.
    DropTrim,
    /// Data taken by the buffer is told to be in another slot.
    BufferElsewhere,
}

impl Forgery {
    /// All of them.
    pub const ALL: &'static [Forgery] = &[
        Forgery::BindElsewhere,
        Forgery::DropBinding,
        Forgery::RelocateAnother,
        Forgery::RelocateFromElsewhere,
        Forgery::ProgramTwice,
        Forgery::DropProgram,
        Forgery::EraseInUse,
        Forgery::ReadNothing,
        Forgery::ReadElsewhere,
        Forgery::DropSensing,
        Forgery::AcceptTwice,
        Forgery::DropTrim,
        Forgery::BufferElsewhere,
    ];

    /// Whether it must always be noticed. A unit whose trim is not told may be written again before anybody looks.
    pub fn is_always_caught(self) -> bool {
        self != Forgery::DropTrim
    }

    /// The false records in place of `record`; `None` if it is of a kind that this forgery leaves alone.
    fn of(self, record: Record) -> Option<Vec<Record>> {
        let beside = |ppn: Ppn| Ppn(if ppn.0 == 0 { 1 } else { ppn.0 - 1 });
        match (self, record) {
            (Forgery::BindElsewhere, Record::Bound { lpn, ppn, command, mode }) => {
                Some(vec![Record::Bound { lpn, ppn: beside(ppn), command, mode }])
            }
            (Forgery::DropBinding, Record::Bound { .. } | Record::BoundFromBuffer { .. }) => Some(Vec::new()),
            (Forgery::RelocateAnother, Record::Relocated { lpn, from, to, reason, mode }) => {
                Some(vec![Record::Relocated { lpn: Lpn(lpn.0 ^ 1), from, to, reason, mode }])
            }
            (Forgery::RelocateFromElsewhere, Record::Relocated { lpn, from, to, reason, mode }) => {
                Some(vec![Record::Relocated { lpn, from: beside(from), to, reason, mode }])
            }
            (Forgery::ProgramTwice, Record::Programmed { .. }) => Some(vec![record, record]),
            (Forgery::DropProgram, Record::Programmed { .. }) => Some(Vec::new()),
            (Forgery::EraseInUse, Record::Programmed { block, .. }) => Some(vec![record, Record::Erased { block }]),
            (Forgery::ReadNothing, Record::ReadResolved { command, lpn, source }) if source != ReadSource::Unmapped => {
                Some(vec![Record::ReadResolved { command, lpn, source: ReadSource::Unmapped }])
            }
            (Forgery::ReadElsewhere, Record::ReadResolved { command, lpn, source: ReadSource::Flash(ppn) }) => {
                Some(vec![Record::ReadResolved { command, lpn, source: ReadSource::Flash(beside(ppn)) }])
            }
            (Forgery::DropSensing, Record::ReadSensed { owner: kit::Owner::Command(_), .. }) => Some(Vec::new()),
            (Forgery::AcceptTwice, Record::WriteAccepted { .. }) => Some(vec![record, record]),
            (Forgery::DropTrim, Record::Trimmed { .. }) => Some(Vec::new()),
            (Forgery::BufferElsewhere, Record::Buffered { command, lpn, slot }) => {
                Some(vec![Record::Buffered { command, lpn, slot: slot + 1 }])
            }
            _ => None,
        }
    }
}

/// Falsifies one of the records that a forgery applies to, chosen by the seed.
pub struct Forger {
    forgery: Forgery,
    skip: u64,
    /// A record was falsified.
    pub struck: bool,
}

impl Forger {
    /// A forger that strikes within the first `among` records of its kind.
    pub fn new(forgery: Forgery, seed: u64, among: u64) -> Forger {
        Forger { forgery, skip: Rng::stream(seed, "testkit.forger").below(among), struck: false }
    }

    /// Passes a record on, or what is told instead.
    pub fn pass(&mut self, record: Record, to: &mut Vec<Record>) {
        let forged = if self.struck { None } else { self.forgery.of(record) };
        match forged {
            Some(_) if self.skip > 0 => {
                self.skip -= 1;
                to.push(record);
            }
            Some(records) => {
                self.struck = true;
                to.extend(records);
            }
            None => to.push(record),
        }
    }
}
