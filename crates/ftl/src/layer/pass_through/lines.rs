//! Lines: how a linear address space is striped over the parallel units.

use kit::DieId;
use std::ops::Range;

/// Layout of lines, as of a translation layer on the host (Linux `pblk`): line `n` is chunk `n` of each parallel unit.
/// Stripe units go to the parallel units in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Mapping units that are written to a parallel unit before the next one has its turn.
    stripe_unit: u32,
    /// Mapping units of a chunk.
    chunk_units: u32,
    chunks_per_die: u32,
    /// The dies in the order of their turns.
    dies: Vec<DieId>,
}

impl Lines {
    /// Returns the lines over `dies`, which take turns in this order, of chunks with `chunk_units` mapping units each.
    ///
    /// # Panics
    /// If a chunk is not a whole number of stripe units.
    pub fn new(stripe_unit: u32, chunk_units: u32, chunks_per_die: u32, dies: Vec<DieId>) -> Lines {
        assert!(stripe_unit > 0 && chunk_units.is_multiple_of(stripe_unit), "validated: stripe units tile a chunk");
        Lines { stripe_unit, chunk_units, chunks_per_die, dies }
    }

    /// Returns the number of lines.
    pub fn count(&self) -> u32 {
        self.chunks_per_die
    }

    /// Returns the mapping units of a line.
    pub fn units(&self) -> u32 {
        self.chunk_units * self.turns()
    }

    /// Returns the number of chunks of a line.
    pub fn turns(&self) -> u32 {
        self.dies.len() as u32
    }

    /// Returns the chunk of a line on the die of a turn.
    #[inline]
    pub fn chunk(&self, line: u32, turn: u32) -> u32 {
        self.dies[turn as usize].0 * self.chunks_per_die + line
    }

    /// Returns the address of the first mapping unit of a chunk of a line.
    #[inline]
    pub fn first(&self, line: u32, turn: u32) -> u32 {
        self.chunk(line, turn) * self.chunk_units
    }

    /// Returns the addresses of successive mapping units of a line.
    #[inline]
    pub fn addresses(&self, line: u32, units: Range<u32>) -> impl Iterator<Item = u32> {
        units.map(move |unit| {
            let (at, within) = (unit / self.stripe_unit, unit % self.stripe_unit);
            self.first(line, at % self.turns()) + at / self.turns() * self.stripe_unit + within
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two dies, the second first, with three chunks of eight units; stripe units of two, by hand.
    #[test]
    fn stripe_units_go_to_the_dies_in_turn() {
        let lines = Lines::new(2, 8, 3, vec![DieId(1), DieId(0)]);
        assert_eq!((lines.count(), lines.units(), lines.turns()), (3, 16, 2));
        assert_eq!((lines.chunk(2, 0), lines.chunk(2, 1), lines.first(1, 0)), (5, 2, 32));
        let found: Vec<u32> = lines.addresses(1, 0..10).collect();
        assert_eq!(found, [32, 33, 8, 9, 34, 35, 10, 11, 36, 37]);
    }

    /// Every address of the flash is that of one unit of one line, and the units of each chunk are in order.
    #[test]
    fn lines_tile_the_flash() {
        for (stripe_unit, chunk_units, dies) in [(1, 8, 4), (4, 8, 3), (8, 8, 5), (2, 6, 1)] {
            let order = (0..dies).rev().map(DieId).collect();
            let lines = Lines::new(stripe_unit, chunk_units, 3, order);
            let mut next = vec![0; (dies * 3) as usize];
            let mut seen = vec![false; (dies * 3 * chunk_units) as usize];
            for line in 0..lines.count() {
                for address in lines.addresses(line, 0..lines.units()) {
                    assert!(!std::mem::replace(&mut seen[address as usize], true), "address {address} twice");
                    let pointer = &mut next[(address / chunk_units) as usize];
                    assert_eq!(address % chunk_units, *pointer, "the chunk is written in order");
                    *pointer += 1;
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
