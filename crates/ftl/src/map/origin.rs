//! Where the data of a drive lies that has just been set up, computed instead of stored.

use crate::medium::program::NO_PLACE;
use kit::archive::require;
use kit::rng::split_mix;
use kit::{BlockId, Divisor, Geometry, Lpn, Permutation, Ppn};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The data of a drive that has just been set up.
pub(crate) enum Origin {
    /// Written once, in order.
    Filled(Filled),
    /// Overwritten at random.
    Scattered(Scattered),
}

impl Origin {
    /// Returns the place of a unit, if it has one.
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        match self {
            Origin::Filled(filled) => filled.place_of(lpn),
            Origin::Scattered(scattered) => scattered.place_of(lpn),
        }
    }

    /// Replaces each of at most [`BATCH`] units by the number of its place, or by [`NO_PLACE`].
    pub fn replace_by_places(&self, units: &mut [u32]) {
        match self {
            Origin::Filled(filled) => {
                units.iter_mut().for_each(|unit| *unit = filled.place_of(Lpn(*unit)).map_or(NO_PLACE, |place| place.0));
            }
            Origin::Scattered(scattered) => scattered.replace_by_places(units),
        }
    }

    /// Returns the unit at a place, if there is one.
    pub fn unit_at(&self, ppn: Ppn) -> Option<Lpn> {
        match self {
            Origin::Filled(filled) => filled.unit_at(ppn),
            Origin::Scattered(scattered) => scattered.unit_at(ppn),
        }
    }

    /// Returns the number of units that it places: the first ones of the drive.
    pub fn units(&self) -> u32 {
        match self {
            Origin::Filled(filled) => filled.units,
            Origin::Scattered(scattered) => scattered.units(),
        }
    }

    /// Calls `set` with stretches of at most 64 places of a block: the first place, and those that hold a unit. Bit 0
    /// is the first place.
    pub fn each_stretch(&self, block: u32, set: impl FnMut(Ppn, u64)) {
        match self {
            Origin::Filled(filled) => filled.each_stretch(block, set),
            Origin::Scattered(scattered) => scattered.each_stretch(block, set),
        }
    }

    /// Returns what it is computed from, for saving.
    pub fn image(&self) -> OriginImage {
        match self {
            Origin::Filled(filled) => OriginImage::Filled {
                turns: filled.by_turn.value(),
                block_units: filled.block_units(),
                blocks: filled.blocks.clone(),
            },
            Origin::Scattered(scattered) => OriginImage::Scattered {
                key: scattered.key,
                spreads: scattered.parts[..scattered.parts.len() - 1].iter().map(|part| part.spread).collect(),
            },
        }
    }

    /// Restores what was saved by a drive of the same shape; an error if that is not the data of one.
    pub fn restore(image: OriginImage, geometry: Geometry, user_units: u64) -> Result<Origin, String> {
        let too_many = |units: u64| format!("it began with {units} units, and has {user_units}");
        match image {
            OriginImage::Filled { turns, block_units, blocks } => {
                let row = u64::from(geometry.die_count) * u64::from(turns);
                let is_whole = (1..=geometry.units_per_block).contains(&block_units)
                    && block_units.is_multiple_of(geometry.units_per_program)
                    && row > 0
                    && (blocks.len() as u64).is_multiple_of(row);
                let mut seen = vec![false; geometry.block_count as usize];
                let once = |&block: &u32| seen.get_mut(block as usize).is_some_and(|seen| !std::mem::replace(seen, true));
                if !is_whole || !blocks.iter().all(once) {
                    return Err("the blocks that it was filled with are not those of this drive".to_owned());
                }
                let units = blocks.len() as u64 * u64::from(block_units);
                require(units <= user_units, || too_many(units))?;
                Ok(Origin::Filled(Filled::new(geometry, turns, block_units, blocks)))
            }
            OriginImage::Scattered { key, spreads } => {
                let fits = |spread: &Spread| {
                    let end = spread.from.checked_add(spread.length);
                    end.is_some_and(|end| end <= geometry.units_per_block) && spread.count <= spread.length
                };
                if spreads.len() != geometry.block_count as usize || !spreads.iter().all(fits) {
                    return Err("the data that it began with does not fit into its blocks".to_owned());
                }
                let units = spreads.iter().map(|spread| u64::from(spread.count)).sum();
                require(units <= user_units, || too_many(units))?;
                Ok(Origin::Scattered(Scattered::new(geometry, key, spreads)))
            }
        }
    }
}

/// Parameters of an [`Origin`], in the form in which it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum OriginImage {
    Filled { turns: u32, block_units: u32, blocks: Vec<u32> },
    Scattered { key: u64, spreads: Vec<Spread> },
}

const NONE: u32 = u32::MAX;
/// Number of units whose places are computed together.
pub(crate) const BATCH: usize = 32;

/// The first units of a drive, written in order: a program unit on each die in turn, and on each die in its frontiers
/// in turn. It takes whole blocks.
pub(crate) struct Filled {
    geometry: Geometry,
    /// Number of units that it places.
    units: u32,
    by_die: Divisor,
    by_turn: Divisor,
    by_block: Divisor,
    by_program: Divisor,
    /// Blocks in the order of their first programs, and the position of each block among them.
    blocks: Vec<u32>,
    positions: Vec<u32>,
}

impl Filled {
    /// Returns the data in `blocks`, which are filled in the order of their first programs. Each of the dies has
    /// `turns` frontiers, and `block_units` units in a block.
    pub fn new(geometry: Geometry, turns: u32, block_units: u32, blocks: Vec<u32>) -> Filled {
        let mut positions = vec![NONE; geometry.block_count as usize];
        (0..).zip(&blocks).for_each(|(position, &block)| positions[block as usize] = position);
        Filled {
            units: blocks.len() as u32 * block_units,
            by_die: Divisor::new(geometry.die_count),
            by_turn: Divisor::new(turns),
            by_block: Divisor::new(block_units / geometry.units_per_program),
            by_program: Divisor::new(geometry.units_per_program),
            geometry,
            blocks,
            positions,
        }
    }

    fn block_units(&self) -> u32 {
        self.by_block.value() * self.by_program.value()
    }

    fn each_stretch(&self, block: u32, mut set: impl FnMut(Ppn, u64)) {
        if self.positions[block as usize] == NONE {
            return;
        }
        let first = self.geometry.first_of(BlockId(block)).0;
        let end = first + self.block_units();
        for at in (first..end).step_by(CELL as usize) {
            set(Ppn(at), u64::MAX >> CELL.saturating_sub(end - at));
        }
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        if lpn.0 >= self.units {
            return None;
        }
        let (program, unit) = self.by_program.split(lpn.0);
        let (of_die, rank) = self.by_die.split(program);
        let (of_frontier, turn) = self.by_turn.split(of_die);
        let (row, within) = self.by_block.split(of_frontier);
        let position = (row * self.by_die.value() + rank) * self.by_turn.value() + turn;
        let block = BlockId(self.blocks[position as usize]);
        Some(Ppn(self.geometry.first_of(block).0 + within * self.by_program.value() + unit))
    }

    fn unit_at(&self, ppn: Ppn) -> Option<Lpn> {
        let (block, at) = self.geometry.split(ppn);
        let position = self.positions[block.index()];
        let (within, unit) = self.by_program.split(at);
        if position == NONE || within >= self.by_block.value() {
            return None;
        }
        let (of_row, turn) = self.by_turn.split(position);
        let (row, rank) = self.by_die.split(of_row);
        let of_die = (row * self.by_block.value() + within) * self.by_turn.value() + turn;
        Some(Lpn((of_die * self.by_die.value() + rank) * self.by_program.value() + unit))
    }
}

/// The valid units of a block: `count` of them, at random among the `length` places from place `from` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub from: u32,
    pub length: u32,
    pub count: u32,
}

/// Places of a block that are computed together.
const CELL: u32 = 64;

impl Spread {
    /// Returns the number of valid units before a cell.
    #[inline]
    fn before(&self, cell: u32) -> u32 {
        // A block has fewer than 2^16 units.
        self.count * self.length.min(cell * CELL) / self.length
    }

    /// Returns the number of cells.
    fn cells(&self) -> u32 {
        self.length.div_ceil(CELL)
    }

    /// Returns the cell of the valid unit of a rank.
    fn cell_of(&self, rank: u32) -> u32 {
        let mut cell = rank * self.length / (self.count * CELL);
        while self.before(cell + 1) <= rank {
            cell += 1;
        }
        while self.before(cell) > rank {
            cell -= 1;
        }
        cell
    }
}

/// The data of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Index of its first unit in the random order.
    first: u32,
    spread: Spread,
}

/// All units of a drive, in random order over blocks with given numbers of valid units.
///
/// Within a block the valid units are at random places, with two restrictions that let a place be computed alone: each
/// 64 places have their share of them, and a share is one of 16,384 patterns.
pub(crate) struct Scattered {
    geometry: Geometry,
    order: Permutation,
    key: u64,
    /// The data of each block, and an end.
    parts: Vec<Part>,
    /// For each stretch of units in `order`, the block of its first one.
    guide: Vec<u32>,
    by_stretch: Divisor,
}

impl Scattered {
    /// Returns the data of blocks with these numbers of valid units. `key` decides which units and places they are.
    pub fn new(geometry: Geometry, key: u64, spreads: Vec<Spread>) -> Scattered {
        let mut units = 0;
        let part = |spread: Spread| {
            let first = units;
            units += spread.count;
            Part { first, spread }
        };
        let by_block = spreads.len() as u32;
        let parts: Vec<Part> = spreads.into_iter().chain([Spread::default()]).map(part).collect();
        let by_stretch = Divisor::new((units / by_block).max(1));
        let mut block = 0;
        let guide = (0..units.div_ceil(by_stretch.value())).map(|stretch| {
            while parts[block as usize + 1].first <= stretch * by_stretch.value() {
                block += 1;
            }
            block
        });
        let guide = guide.collect();
        Scattered { geometry, order: Permutation::new(u64::from(units.max(1)), key), key, parts, guide, by_stretch }
    }

    /// Returns the number of units.
    fn units(&self) -> u32 {
        self.parts.last().expect("it has an end").first
    }

    fn each_stretch(&self, block: u32, mut set: impl FnMut(Ppn, u64)) {
        let spread = self.parts[block as usize].spread;
        if spread.count == 0 {
            return;
        }
        let first = self.geometry.first_of(BlockId(block)).0 + spread.from;
        (0..spread.cells()).for_each(|cell| set(Ppn(first + cell * CELL), self.cell(&spread, block, cell)));
    }

    /// Returns the valid places of a cell.
    fn cell(&self, spread: &Spread, block: u32, cell: u32) -> u64 {
        let (places, count) = (CELL.min(spread.length - cell * CELL), spread.before(cell + 1) - spread.before(cell));
        let mut state = self.key ^ ((u64::from(block) << 32) | u64::from(cell));
        let drawn = split_mix(&mut state);
        if places == CELL {
            return patterns()[count as usize][drawn as usize % VARIANTS].rotate_left((drawn >> 32) as u32 % 64);
        }
        select(count, places, &mut state)
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        if lpn.0 >= self.units() {
            return None;
        }
        let index = self.order.index_of(u64::from(lpn.0)) as u32;
        Some(self.place_in(self.guide[self.by_stretch.quotient(index) as usize], index))
    }

    /// Returns the place of the unit with this index in the random order, which is in `block` or a later one.
    #[inline]
    fn place_in(&self, mut block: u32, index: u32) -> Ppn {
        while self.parts[block as usize + 1].first <= index {
            block += 1;
        }
        let Part { first, spread } = &self.parts[block as usize];
        let rank = index - first;
        let cell = spread.cell_of(rank);
        let within = nth_one(self.cell(spread, block, cell), rank - spread.before(cell));
        Ppn(self.geometry.first_of(BlockId(block)).0 + spread.from + cell * CELL + within)
    }

    /// Does the work of [`Origin::replace_by_places`], in a pass for each table: the cache misses of all units overlap.
    fn replace_by_places(&self, units: &mut [u32]) {
        let (end, mut blocks) = (self.units(), [0; BATCH]);
        for unit in units.iter_mut() {
            *unit = if *unit < end { self.order.index_of(u64::from(*unit)) as u32 } else { NO_PLACE };
        }
        let is_placed = |index: &u32| *index != NO_PLACE;
        for (block, index) in blocks.iter_mut().zip(&*units).filter(|(_, index)| is_placed(index)) {
            *block = self.guide[self.by_stretch.quotient(*index) as usize];
        }
        // Most units are in this block or one of the two that follow; whether they are is hard to predict.
        for (block, index) in blocks.iter_mut().zip(&*units).filter(|(_, index)| is_placed(index)) {
            *block += u32::from(self.parts[*block as usize + 1].first <= *index);
            *block += u32::from(self.parts[*block as usize + 1].first <= *index);
        }
        for (block, index) in blocks.iter().zip(units).filter(|(_, index)| is_placed(index)) {
            *index = self.place_in(*block, *index).0;
        }
    }

    fn unit_at(&self, ppn: Ppn) -> Option<Lpn> {
        let (block, at) = self.geometry.split(ppn);
        let Part { first, spread } = &self.parts[block.index()];
        let at = at.checked_sub(spread.from).filter(|at| *at < spread.length)?;
        let (cell, within) = (at / CELL, at % CELL);
        let valid = self.cell(spread, block.0, cell);
        if valid >> within & 1 == 0 {
            return None;
        }
        let rank = spread.before(cell) + (valid & ((1 << within) - 1)).count_ones();
        Some(Lpn(self.order.at(u64::from(first + rank)) as u32))
    }
}

/// Returns the position of the one bit of a rank, counted from the lowest; it must exist. Without branches, and without
/// instructions that not every processor has.
#[inline]
fn nth_one(word: u64, rank: u32) -> u32 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const TOP: u64 = 0x8080_8080_8080_8080;
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    // In each byte, the number of ones up to its end.
    let until = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(EACH);
    // The top bit of each byte up to whose end there are too few.
    let before = (((u64::from(rank) * EACH) | TOP) - until) & TOP;
    let byte = ((before >> 7).wrapping_mul(EACH) >> 56) as u32 * 8;
    let left = rank - ((until << 8) >> byte & 0xff) as u32;
    byte + u32::from(NTH_IN_BYTE[left as usize % 8][(word >> byte & 0xff) as usize])
}

/// Position of the one bit of each rank in each byte; 0 where there is none.
static NTH_IN_BYTE: [[u8; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut at, mut rank) = (0, 0);
        while at < 8 {
            if byte >> at & 1 == 1 {
                table[rank][byte] = at as u8;
                rank += 1;
            }
            at += 1;
        }
        byte += 1;
    }
    table
};

const VARIANTS: usize = 256;

/// Returns random words with each number of one bits.
fn patterns() -> &'static [[u64; VARIANTS]; 65] {
    static PATTERNS: OnceLock<Box<[[u64; VARIANTS]; 65]>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let mut state = 0;
        let mut words = Box::new([[0; VARIANTS]; 65]);
        for (count, words) in (0..).zip(words.iter_mut()) {
            words.fill_with(|| select(count, 64, &mut state));
        }
        words
    })
}

/// Selects `count` of `places` places at random.
fn select(count: u32, places: u32, state: &mut u64) -> u64 {
    let mut left = count;
    (0..places).fold(0, |word, place| {
        // Each place with probability (units still to place) / (places left).
        let takes = (u128::from(split_mix(state)) * u128::from(places - place)) >> 64 < u128::from(left);
        left -= u32::from(takes);
        word | (u64::from(takes) << place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each one bit of a word is found by its rank: in random words with each number of ones.
    #[test]
    fn the_one_bit_of_each_rank_is_found() {
        for words in patterns() {
            for word in words {
                let ones = (0..64).filter(|at| word >> at & 1 == 1);
                ones.zip(0..).for_each(|(at, rank)| assert_eq!(nth_one(*word, rank), at, "{word:#x}, rank {rank}"));
            }
        }
    }
}
