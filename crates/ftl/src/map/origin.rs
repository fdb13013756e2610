//! Where the data of a drive lies that has just been set up, computed instead of stored.

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
            Origin::Scattered(scattered) => OriginImage::Scattered { key: scattered.key, spreads: scattered.spreads.clone() },
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

/// All units of a drive, in random order over blocks with given numbers of valid units.
///
/// Within a block the valid units are at random places, with two restrictions that let a place be computed alone: each
/// 64 places have their share of them, and a share is one of 16,384 patterns.
pub(crate) struct Scattered {
    geometry: Geometry,
    order: Permutation,
    key: u64,
    spreads: Vec<Spread>,
    /// Index in `order` of the first unit of each block, and the number of units.
    first: Vec<u32>,
    /// For each stretch of units in `order`, the block of its first one.
    guide: Vec<u32>,
    by_stretch: Divisor,
}

impl Scattered {
    /// Returns the data of blocks with these numbers of valid units. `key` decides which units and places they are.
    pub fn new(geometry: Geometry, key: u64, spreads: Vec<Spread>) -> Scattered {
        let mut first = Vec::with_capacity(spreads.len() + 1);
        let mut units = 0;
        for spread in &spreads {
            first.push(units);
            units += spread.count;
        }
        first.push(units);
        let by_stretch = Divisor::new((units / spreads.len() as u32).max(1));
        let mut block = 0;
        let guide = (0..units.div_ceil(by_stretch.value())).map(|stretch| {
            while first[block as usize + 1] <= stretch * by_stretch.value() {
                block += 1;
            }
            block
        });
        let guide = guide.collect();
        Scattered { geometry, order: Permutation::new(u64::from(units.max(1)), key), key, spreads, first, guide, by_stretch }
    }

    /// Returns the number of units.
    fn units(&self) -> u32 {
        *self.first.last().expect("it has one more entry than there are blocks")
    }

    fn each_stretch(&self, block: u32, mut set: impl FnMut(Ppn, u64)) {
        let spread = self.spreads[block as usize];
        if spread.count == 0 {
            return;
        }
        let first = self.geometry.first_of(BlockId(block)).0 + spread.from;
        (0..spread.cells()).for_each(|cell| set(Ppn(first + cell * CELL), self.cell(block, cell)));
    }

    /// Returns the valid places of a cell.
    fn cell(&self, block: u32, cell: u32) -> u64 {
        let spread = &self.spreads[block as usize];
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
        let mut block = self.guide[self.by_stretch.quotient(index) as usize];
        while self.first[block as usize + 1] <= index {
            block += 1;
        }
        let (spread, rank) = (&self.spreads[block as usize], index - self.first[block as usize]);
        let cell = spread.cell_of(rank);
        let within = nth_one(self.cell(block, cell), rank - spread.before(cell));
        Some(Ppn(self.geometry.first_of(BlockId(block)).0 + spread.from + cell * CELL + within))
    }

    fn unit_at(&self, ppn: Ppn) -> Option<Lpn> {
        let (block, at) = self.geometry.split(ppn);
        let spread = &self.spreads[block.index()];
        let at = at.checked_sub(spread.from).filter(|at| *at < spread.length)?;
        let (cell, within) = (at / CELL, at % CELL);
        let valid = self.cell(block.0, cell);
        if valid >> within & 1 == 0 {
            return None;
        }
        let rank = spread.before(cell) + (valid & ((1 << within) - 1)).count_ones();
        Some(Lpn(self.order.at(u64::from(self.first[block.index()] + rank)) as u32))
    }
}

/// Returns the position of the one bit of a rank, counted from the lowest.
#[inline]
fn nth_one(mut word: u64, mut rank: u32) -> u32 {
    let mut at = 0;
    loop {
        let ones = (word & 0xff).count_ones();
        if rank < ones {
            break;
        }
        rank -= ones;
        word >>= 8;
        at += 8;
    }
    for _ in 0..rank {
        word &= word - 1;
    }
    at + word.trailing_zeros()
}

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
