//! Geometry of the flash, as seen by the FTL, the scheduler and the timing.

use crate::UnitSize;
use crate::divisor::Divisor;
use crate::ids::{BlockId, ChannelId, ChipId, DieId, Ppn};

/// The numbers from which a [`Geometry`] is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Flash channels.
    pub channels: u32,
    /// Chips (targets) on each channel.
    pub chips_per_channel: u32,
    /// Dies (LUNs) in each chip that can work at the same time.
    pub dies_per_chip: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Data bytes of a page: a multiple of the mapping unit.
    pub page_bytes: u64,
    /// Size of a mapping unit.
    pub unit: UnitSize,
    /// Bits per cell: the number of page types.
    pub bits_per_cell: u32,
    /// Planes that one multi-plane operation covers; 1 without multi-plane operations.
    pub planes_per_program: u32,
    /// Pages of one wordline that one program writes; 1 unless programs are one-shot.
    pub pages_per_program: u32,
    /// Blocks of one plane that are collected and erased together.
    pub superblock: u32,
}

/// Geometry of the flash.
///
/// The FTL's *block* is its unit of erase: the flash blocks with one index in the planes of one multi-plane operation,
/// times the superblock factor. A *program unit* is all that one program writes: one page in each of these planes, or
/// the whole wordline in each where programs are one-shot. Within a program unit, mapping units are numbered along a
/// page first, then over the planes, then over the pages of the wordline. The number of a physical place is dense over
/// the drive: `block x units_per_block + program x units_per_program + position`.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// The numbers from which it was computed.
    pub shape: Shape,
    /// Size of a mapping unit.
    pub unit: UnitSize,
    /// Dies in the drive.
    pub die_count: u32,
    /// Chips in the drive.
    pub chip_count: u32,
    /// Blocks (erase units of the FTL) in each die.
    pub blocks_per_die: u32,
    /// Blocks in the drive.
    pub block_count: u32,
    /// Groups of planes in each die; blocks of different groups share no plane.
    pub groups_per_die: u32,
    /// Blocks in each group.
    pub blocks_per_group: u32,
    /// Mapping units in a page.
    pub units_per_page: u32,
    /// Mapping units that one program writes.
    pub units_per_program: u32,
    /// Programs that fill a block.
    pub programs_per_block: u32,
    /// Mapping units in a block.
    pub units_per_block: u32,
    by_block: Divisor,
    by_die: Divisor,
    by_program: Divisor,
    by_row: Divisor,
    by_page: Divisor,
    by_group: Divisor,
    dies_per_channel: Divisor,
    dies_per_chip: Divisor,
}

/// Components of a physical place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: BlockId,
    /// The program within the block, counted from 0.
    pub program: u32,
    /// Page type, the page's position on the wordline: 0 for LSB (lower), 1 for MSB or CSB, ...
    pub page_type: u32,
    /// The plane, within the planes of one operation.
    pub plane: u32,
    /// The unit within the page.
    pub unit: u32,
}

impl Geometry {
    /// Returns the geometry of `shape`. The numbers must be consistent, as validation of the flash description ensures.
    pub fn new(shape: Shape) -> Geometry {
        let chip_count = shape.channels * shape.chips_per_channel;
        let die_count = chip_count * shape.dies_per_chip;
        let groups_per_die = shape.planes_per_die / shape.planes_per_program;
        let blocks_per_group = shape.blocks_per_plane / shape.superblock;
        let blocks_per_die = groups_per_die * blocks_per_group;
        let unit = shape.unit;
        let units_per_page = u32::try_from(unit.whole(shape.page_bytes)).expect("validated: a page is at most 1 MiB");
        let units_per_row = units_per_page * shape.planes_per_program;
        let units_per_program = units_per_row * shape.pages_per_program;
        let programs_per_block = shape.pages_per_block / shape.pages_per_program * shape.superblock;
        let units_per_block = programs_per_block * units_per_program;
        Geometry {
            shape,
            unit,
            die_count,
            chip_count,
            blocks_per_die,
            block_count: die_count * blocks_per_die,
            groups_per_die,
            blocks_per_group,
            units_per_page,
            units_per_program,
            programs_per_block,
            units_per_block,
            by_block: Divisor::new(units_per_block),
            by_die: Divisor::new(blocks_per_die),
            by_program: Divisor::new(units_per_program),
            by_row: Divisor::new(units_per_row),
            by_page: Divisor::new(units_per_page),
            by_group: Divisor::new(blocks_per_group),
            dies_per_channel: Divisor::new(shape.chips_per_channel * shape.dies_per_chip),
            dies_per_chip: Divisor::new(shape.dies_per_chip),
        }
    }

    /// Returns the mapping units of the whole flash. The result has 64 bits, so that it can be checked against the
    /// limit of 32-bit places.
    pub fn unit_count(&self) -> u64 {
        u64::from(self.block_count) * u64::from(self.units_per_block)
    }

    /// Returns the data bytes of the whole flash.
    pub fn physical_bytes(&self) -> u64 {
        self.unit.offset(self.unit_count())
    }

    /// Returns the block of a place, and the unit within the block.
    #[inline]
    pub fn split(&self, ppn: Ppn) -> (BlockId, u32) {
        let (block, unit) = self.by_block.split(ppn.0);
        (BlockId(block), unit)
    }

    /// Returns the block of a place.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(self.by_block.quotient(ppn.0))
    }

    /// Returns the first place of a block.
    #[inline]
    pub fn first_of(&self, block: BlockId) -> Ppn {
        Ppn(block.0 * self.units_per_block)
    }

    /// Returns the die of a block.
    #[inline]
    pub fn die_of(&self, block: BlockId) -> DieId {
        DieId(self.by_die.quotient(block.0))
    }

    /// Returns the group of planes, within its die, that holds a block.
    pub fn group_of(&self, block: BlockId) -> u32 {
        let (_, within_die) = self.by_die.split(block.0);
        self.by_group.quotient(within_die)
    }

    /// Returns the range of block numbers of a die.
    pub fn blocks_of(&self, die: DieId) -> std::ops::Range<u32> {
        die.0 * self.blocks_per_die..(die.0 + 1) * self.blocks_per_die
    }

    /// Returns the channel of a die.
    #[inline]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(self.dies_per_channel.quotient(die.0))
    }

    /// Returns the chip of a die.
    pub fn chip_of(&self, die: DieId) -> ChipId {
        ChipId(self.dies_per_chip.quotient(die.0))
    }

    /// Returns the program, within its block, that writes `unit`.
    #[inline]
    pub fn program_of(&self, unit: u32) -> u32 {
        self.by_program.quotient(unit)
    }

    /// Returns the row of `unit` within its block: the pages that one (multi-plane) read senses together.
    #[inline]
    pub fn row_of(&self, unit: u32) -> u32 {
        self.by_row.quotient(unit)
    }

    /// Returns the page of `unit` within its block, counted over planes and wordlines in the order of the units.
    #[inline]
    pub fn page_of(&self, unit: u32) -> u32 {
        self.by_page.quotient(unit)
    }

    /// Returns the page type of `unit`: the position of its page on the wordline.
    #[inline]
    pub fn page_type_of(&self, unit: u32) -> u32 {
        if self.shape.bits_per_cell == 1 {
            return 0;
        }
        // A row is one page in each plane. Successive rows cycle through the page types, whether a wordline is
        // programmed page by page or at once.
        self.row_of(unit) % self.shape.bits_per_cell
    }

    /// Returns the components of a place.
    pub fn place(&self, ppn: Ppn) -> Place {
        let (block, unit) = self.split(ppn);
        let plane = self.page_of(unit) % self.shape.planes_per_program;
        Place {
            block,
            program: self.program_of(unit),
            page_type: self.page_type_of(unit),
            plane,
            unit: unit % self.units_per_page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlc() -> Geometry {
        Geometry::new(Shape {
            channels: 2,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 4,
            blocks_per_plane: 10,
            pages_per_block: 12,
            page_bytes: 16384,
            unit: UnitSize::default(),
            bits_per_cell: 3,
            planes_per_program: 2,
            pages_per_program: 3,
            superblock: 2,
        })
    }

    #[test]
    fn numbers_multiply_out() {
        let g = tlc();
        assert_eq!((g.die_count, g.groups_per_die, g.blocks_per_die), (8, 2, 10));
        assert_eq!((g.units_per_program, g.programs_per_block, g.units_per_block), (24, 8, 192));
        assert_eq!(g.physical_bytes(), 2 * 2 * 2 * 4 * 10 * 12 * 16384);
    }

    #[test]
    fn places_run_over_page_then_plane_then_wordline() {
        let g = tlc();
        let first = g.first_of(BlockId(3));
        let at = |unit: u32| g.place(Ppn(first.0 + unit));
        assert_eq!(at(0), Place { block: BlockId(3), program: 0, page_type: 0, plane: 0, unit: 0 });
        assert_eq!(at(5), Place { block: BlockId(3), program: 0, page_type: 0, plane: 1, unit: 1 });
        assert_eq!(at(8), Place { block: BlockId(3), program: 0, page_type: 1, plane: 0, unit: 0 });
        assert_eq!(at(24), Place { block: BlockId(3), program: 1, page_type: 0, plane: 0, unit: 0 });
        assert_eq!(g.die_of(BlockId(29)), DieId(2));
        assert_eq!(
            (g.channel_of(DieId(3)), g.channel_of(DieId(4)), g.chip_of(DieId(5))),
            (ChannelId(0), ChannelId(1), ChipId(2))
        );
        assert_eq!((g.group_of(BlockId(4)), g.group_of(BlockId(5)), g.group_of(BlockId(10))), (0, 1, 0));
    }
}
