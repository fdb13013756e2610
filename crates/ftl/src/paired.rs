//! Paired pages: pages of one wordline that are programmed one after another, each over the charge of those before it.
//!
//! An interrupted program of such a page destroys the earlier pages of its wordline. Which pages share one follows the
//! order of the programs in a block: successive pages, one of each type. Real parts shadow or stagger that order, so
//! that the pages of a wordline are several programs apart, and an interrupted one also disturbs its neighbours \[A\].

use crate::medium::{BlockState, Medium};
use kit::{BlockId, DieId, Geometry, ModeId, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Earlier pages of a wordline when the program of a later one is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairedPages {
    /// They keep their data, and nothing is done for them.
    #[default]
    Intact,
    /// They are lost, also where their data was durable: the drive breaks its promise. Recovery finds older copies, or
    /// nothing.
    Unprotected,
    /// They are lost. Before a later page is programmed, current data of the earlier ones is copied to blocks of the
    /// die that hold nothing else, in lower pages alone, as if it were one bit for each cell.
    Backup,
}

impl PairedPages {
    /// Returns the number of blocks of each die that hold copies, on a die with `frontiers` write frontiers.
    pub(crate) fn backup_blocks(self, geometry: &Geometry, frontiers: u64) -> u32 {
        if self != PairedPages::Backup {
            return 0;
        }
        let earlier = u64::from(geometry.shape.bits_per_cell) - 1;
        let copies = u64::from(geometry.programs_per_block / geometry.shape.bits_per_cell).max(1);
        // One that is written, one that is erased, those that copies in use may fill, and those that hold data since
        // losses of power.
        (2 + (frontiers * earlier).div_ceil(copies) + 2 * earlier) as u32
    }
}

/// A copy of the program of an earlier page, which is needed until the wordline is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// First place of the program, and the erase count of its block when it was copied.
    pub source: Ppn,
    pub erases: u32,
    /// Block with the copy.
    pub block: BlockId,
}

/// Blocks of a die that hold copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    pub blocks: Vec<BlockId>,
    /// Index of the block that is written.
    pub current: usize,
    pub copies: Vec<Copied>,
}

/// Protection of paired pages, by die.
pub(crate) struct Paired {
    pub kind: PairedPages,
    pub rings: Vec<Ring>,
    /// True if copies are left out, for tests.
    pub is_skipped: bool,
}

impl Paired {
    /// Returns the state of an empty drive; `None` where nothing is lost. `blocks`: those that hold copies, by die.
    pub fn new(kind: PairedPages, dies: usize, blocks: impl Fn(DieId) -> Vec<BlockId>) -> Option<Box<Paired>> {
        let ring = |die: u32| Ring { blocks: blocks(DieId(die)), ..Ring::default() };
        (kind != PairedPages::Intact)
            .then(|| Box::new(Paired { kind, rings: (0..dies as u32).map(ring).collect(), is_skipped: false }))
    }

    /// Returns what is left after a loss of power: frontiers are closed, so that no wordline is in danger.
    pub fn after_loss(&self) -> Box<Paired> {
        let ring = |ring: &Ring| Ring { copies: Vec::new(), ..ring.clone() };
        Box::new(Paired { kind: self.kind, rings: self.rings.iter().map(ring).collect(), is_skipped: self.is_skipped })
    }
}

impl Medium {
    /// Returns the number of programs that fill a wordline of a block: one where no program endangers another.
    pub(crate) fn programs_per_wordline(&self, block: BlockId) -> u32 {
        let (record, shape) = (self.block(block), &self.geometry.shape);
        if shape.pages_per_program > 1 || record.is(BlockState::Area) {
            return 1;
        }
        let units = u64::from(self.units_in(ModeId(record.mode())));
        (units * u64::from(shape.bits_per_cell) / u64::from(self.geometry.units_per_block)).max(1) as u32
    }

    /// Returns the first places of the earlier programs on the wordline of a program.
    pub(crate) fn earlier_on_wordline(&self, first: Ppn) -> impl Iterator<Item = Ppn> + use<> {
        let (block, unit) = self.geometry.split(first);
        let (each, program) = (self.geometry.units_per_program, self.geometry.program_of(unit));
        let earlier = program % self.programs_per_wordline(block);
        (1..=earlier).rev().map(move |back| Ppn(first.0 - back * each))
    }

    /// Returns true if the wordline of a completed program is not complete, and its block is still written.
    pub(crate) fn is_endangered(&self, first: Ppn) -> bool {
        let (block, unit) = self.geometry.split(first);
        let (width, programmed) = (self.programs_per_wordline(block), u32::from(self.block(block).programmed));
        let program = self.geometry.program_of(unit);
        let end = (program / width + 1) * width;
        // The last program of a block closes it when it begins.
        let under_way = || {
            let (of, unit) = self.geometry.split(self.programs[self.geometry.die_of(block).index()].first);
            of == block && self.geometry.program_of(unit) == programmed
        };
        (program + 1..end).contains(&programmed) && (self.block(block).is(BlockState::Open) || under_way())
    }
}
