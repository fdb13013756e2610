//! Falsification of records on their way to the oracle, to prove that the oracle notices it.

use crate::describe::Layer;
use kit::{Lpn, Ppn, ReadSource, Record, Rng};

/// A way to falsify one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// The record of a host write names the neighbouring place.
    BindElsewhere,
    /// The record of a host write's binding is left out.
    DropBinding,
    /// The record of a relocation names another unit.
    RelocateAnother,
    /// The record of a relocation names the neighbouring place as its source.
    RelocateFromElsewhere,
    /// The record of a program is duplicated.
    ProgramTwice,
    /// The record of a program is left out.
    DropProgram,
    /// Directly after the record of a program, an erase of the same block is recorded.
    EraseInUse,
    /// The record of a read says that the unit is unmapped.
    ReadNothing,
    /// The record of a read names the neighbouring place as its source.
    ReadElsewhere,
    /// The record of a host read's sensing is left out.
    DropSensing,
    /// The record of an accepted write is duplicated.
    AcceptTwice,
    /// The record of a trim is left out.
    DropTrim,
    /// The record of data taken by the write buffer names another slot.
    BufferElsewhere,
    /// The record of the reset of a zone or a chunk is left out.
    DropReset,
    /// The record of an erase is left out.
    DropErase,
}

impl Forgery {
    /// All forgeries.
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
        Forgery::DropReset,
        Forgery::DropErase,
    ];

    /// Returns the least share of forgeries that the oracle must notice in the records of a layer; `None` if it cannot.
    ///
    /// A missing trim, reset or erase can go unnoticed: the unit or the block may not be used again. Most lines that
    /// move in place were never written, so that it does not matter where they are. A zone may be read before the data
    /// of a write has come. A replay does not say which units it reads.
    pub fn min_share_caught(self, layer: Option<Layer>) -> Option<f64> {
        use Forgery::{
            DropErase, DropProgram, DropReset, DropSensing, DropTrim, ReadNothing, RelocateAnother, RelocateFromElsewhere,
        };
        match (self, layer) {
            (DropTrim, _) => Some(0.25),
            (DropReset | DropErase, Some(Layer::Chunks)) => Some(0.7),
            (ReadNothing, Some(Layer::Zones)) => Some(0.8),
            (RelocateAnother | RelocateFromElsewhere, Some(Layer::InPlace)) => Some(0.1),
            (DropProgram, Some(Layer::InPlace)) => Some(0.6),
            (DropSensing, Some(Layer::Replay)) => None,
            _ => Some(1.0),
        }
    }

    /// Returns the false records that replace `record`; `None` if the forgery does not apply to records of its kind.
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
            (Forgery::DropReset, Record::Reset { .. }) => Some(Vec::new()),
            (Forgery::DropErase, Record::Erased { .. }) => Some(Vec::new()),
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
    /// True if a record was falsified.
    pub struck: bool,
}

impl Forger {
    /// Creates a forger that falsifies one of the first `among` records to which the forgery applies.
    pub fn new(forgery: Forgery, seed: u64, among: u64) -> Forger {
        Forger { forgery, skip: Rng::stream(seed, "testkit.forger").below(among), struck: false }
    }

    /// Appends the record, or the false records in its place, to `to`.
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
