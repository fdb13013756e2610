//! The outcome of a flash operation.

use crate::ids::Ppn;
use crate::operation::Operation;

/// The way in which an operation has ended. Whether the data of a read that has delivered any can be corrected is found
/// where it is decoded, attempt by attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it was meant to.
    Done,
    /// The program has failed: its pages hold no data that can be relied on.
    ProgramFailed,
    /// The erase has failed: the block cannot be programmed.
    EraseFailed,
    /// The read has failed: the die has delivered nothing that can be decoded.
    ReadFailed,
    /// The power was lost before its end.
    Torn,
}

/// A flash operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its slot, which is released once all stages have handled the end.
    pub slot: u32,
    /// Its outcome.
    pub outcome: Outcome,
}

impl Ended {
    /// Returns the end of the read in a slot.
    #[inline]
    pub fn read(slot: u32) -> Ended {
        Ended { slot, outcome: Outcome::Done }
    }

    /// Checks that an operation has ended as it was meant to.
    ///
    /// # Panics
    /// If it has not: the caller knows of no other outcome.
    #[inline]
    pub fn expect_done(self, operation: &Operation) {
        assert!(self.outcome == Outcome::Done, "{:?} has ended as {:?}", operation.kind, self.outcome);
    }
}

/// A program or an erase that was under way in the array when power was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// First place of the program, or of the block.
    pub first: Ppn,
    /// True for an erase.
    pub erases: bool,
    /// Pages that it covers.
    pub pages: u32,
}
