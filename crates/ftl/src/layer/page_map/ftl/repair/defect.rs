//! Defects in the handling of faults, planted so that tests can show that they are found.

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The map goes on naming the places of a program that has failed.
    OldPlaceKept,
    /// Newer data in the write buffer goes on referring to the place of a program that has failed.
    OldPriorKept,
    /// A newer copy that is not on flash yet goes on superseding the place of a program that has failed.
    OldCopySuperseded,
    /// A repeated program has a number of its own.
    NewNumber,
    /// A unit whose data is lost counts as intact once its program was repeated.
    LossForgotten,
    /// A program that no die has room for is forgotten.
    ProgramForgotten,
    /// A block of which a program has failed is erased and used again.
    BadBlockReused,
    /// A block whose erase has failed is used again.
    FailedEraseReused,
    /// A saved drive does not know its bad blocks.
    BadBlocksNotSaved,
    /// A block that a repeated program opened counts as old as the program that is repeated.
    RepeatCountsAsOld,
    /// A program of the journal's area that has failed is not repeated, and counts as done.
    AreaProgramForgotten,
    /// A recovery goes on with what is left of the journal's area, though what it needs is on a lost die.
    LostAreaIgnored,
}

impl Defect {
    /// All of them.
    pub const ALL: [Defect; 12] = [
        Defect::OldPlaceKept,
        Defect::OldPriorKept,
        Defect::OldCopySuperseded,
        Defect::NewNumber,
        Defect::LossForgotten,
        Defect::ProgramForgotten,
        Defect::BadBlockReused,
        Defect::FailedEraseReused,
        Defect::BadBlocksNotSaved,
        Defect::RepeatCountsAsOld,
        Defect::AreaProgramForgotten,
        Defect::LostAreaIgnored,
    ];
}
