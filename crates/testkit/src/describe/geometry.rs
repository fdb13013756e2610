//! Geometry of a random drive's flash.

use super::{chance, pick};
use kit::Rng;
use std::fmt::Write as _;

/// Largest number of mapping units of flash in a random drive, unless its blocks already have only two wordlines.
const MAX_UNITS: u64 = 12_000;

/// Geometry of the flash of a random drive.
pub(super) struct Geometry {
    channels: u64,
    pub chips: u64,
    dies_per_chip: u64,
    /// Dies of a chip that work at the same time.
    pub concurrent: u64,
    planes: u64,
    multi_plane: bool,
    pub cell: &'static str,
    pub bits: u64,
    pub one_shot: bool,
    page_units: u64,
    pub superblock: u64,
    wordlines: u64,
    /// Groups of planes that a die programs in turn.
    pub groups: u64,
    blocks_per_plane: u64,
}

impl Geometry {
    /// Draws a geometry with at most [`MAX_UNITS`] mapping units.
    pub fn draw(rng: &mut Rng) -> Self {
        let (channels, chips, dies_per_chip) = (pick(rng, &[1, 1, 2, 3]), pick(rng, &[1, 1, 2]), pick(rng, &[1, 1, 2]));
        let concurrent = if chance(rng, 0.7) { dies_per_chip } else { 1 };
        let planes = pick(rng, &[1, 1, 1, 2, 2, 4]);
        let multi_plane = chance(rng, 0.6);
        let (cell, bits) = pick(rng, &[("slc", 1), ("slc", 1), ("slc", 1), ("mlc", 2), ("tlc", 3), ("qlc", 4)]);
        let one_shot = chance(rng, 0.5);
        let page_units = pick(rng, &[1, 1, 1, 2, 4]);
        let superblock = if chance(rng, 0.15) { 2 } else { 1 };
        let wordlines = pick(rng, &[2, 3, 4, 4, 6, 8, 12, 16]);
        let serving = if concurrent == 1 { planes * dies_per_chip } else { planes };
        let groups = serving / if multi_plane { planes } else { 1 };
        let blocks_per_plane = (10 + rng.below(26)).div_ceil(groups).max(4) * superblock;
        let mut drawn = Self {
            channels,
            chips,
            dies_per_chip,
            concurrent,
            planes,
            multi_plane,
            cell,
            bits,
            one_shot,
            page_units,
            superblock,
            wordlines,
            groups,
            blocks_per_plane,
        };
        while drawn.wordlines > 2 && drawn.dies() * drawn.blocks_per_die() * drawn.units_per_block() > MAX_UNITS {
            drawn.wordlines -= 1;
        }
        drawn
    }

    pub fn dies(&self) -> u64 {
        self.channels * self.chips * self.concurrent
    }

    pub fn blocks_per_die(&self) -> u64 {
        self.blocks_per_plane / self.superblock * self.groups
    }

    /// Returns the mapping units of one page on all planes that are programmed together.
    fn units_per_row(&self) -> u64 {
        self.page_units * if self.multi_plane { self.planes } else { 1 }
    }

    pub fn units_per_program(&self) -> u64 {
        self.units_per_row() * if self.one_shot { self.bits } else { 1 }
    }

    pub fn units_per_block(&self) -> u64 {
        self.units_per_row() * self.pages_per_block() * self.superblock
    }

    /// Returns the pages of a block of one plane.
    pub fn pages_per_block(&self) -> u64 {
        self.wordlines * self.bits
    }

    /// Appends the fields of the geometry.
    pub fn write(&self, text: &mut String) {
        let Self { channels, chips, dies_per_chip, concurrent, planes, multi_plane, blocks_per_plane, .. } = self;
        line!(text, "[flash]\nchannels = {channels}\nchips_per_channel = {chips}\ndies_per_chip = {dies_per_chip}");
        line!(text, "concurrent_dies_per_chip = {concurrent}\nplanes_per_die = {planes}\nmulti_plane = {multi_plane}");
        let (pages, kib) = (self.pages_per_block(), self.page_units * 4);
        line!(text, "blocks_per_plane = {blocks_per_plane}\npages_per_block = {pages}\npage_size = \"{kib}KiB\"");
    }
}
