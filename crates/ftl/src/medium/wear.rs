//! Wear of the blocks and its totals.

use super::Medium;
use kit::BlockId;

impl Medium {
    /// Returns the total number of erases of all blocks.
    pub fn erase_total(&self) -> u64 {
        self.erase_total
    }

    /// Returns the sum of the blocks' effective wear, in thousandths of a nominal erase.
    pub fn wear_total(&self) -> u64 {
        self.wear_total
    }

    /// Returns the effective wear of the most worn block, in thousandths of a nominal erase.
    pub fn wear_most(&self) -> u32 {
        self.wear_most
    }

    /// Adds to the effective wear of a block and updates the totals.
    pub(crate) fn add_wear(&mut self, block: BlockId, thousandths: u32) {
        let wear = &mut self.wear[block.index()];
        let before = *wear;
        // Saturates at about four million nominal erases, beyond any rating.
        *wear = before.saturating_add(thousandths);
        self.wear_total += u64::from(*wear - before);
        self.wear_most = self.wear_most.max(*wear);
    }

    /// Recomputes the totals after counts and wear were set block by block.
    pub(crate) fn recount_wear(&mut self) {
        self.erase_total = self.erase_counts.iter().map(|count| u64::from(*count)).sum();
        self.wear_total = self.wear.iter().map(|wear| u64::from(*wear)).sum();
        self.wear_most = self.wear.iter().copied().max().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use crate::medium::tests::{empty, geometry};
    use kit::{BlockId, Rng};

    /// Totals that are kept up to date are those of the blocks. Wear saturates, and then counts no further.
    #[test]
    fn wear_totals_are_those_of_the_blocks() {
        let (mut medium, mut rng) = (empty(geometry(1, 1, 5, 1, 1), 1), Rng::stream(1, "wear"));
        for step in 0..500 {
            let more = if step % 50 == 0 { u32::MAX / 3 } else { rng.below(3000) as u32 };
            medium.add_wear(BlockId(rng.below(5) as u32), more);
            let (total, most) = (medium.wear_total(), medium.wear_most());
            assert_eq!(total, medium.wear.iter().map(|&wear| u64::from(wear)).sum::<u64>());
            assert_eq!(Some(most), medium.wear.iter().copied().max());
            medium.recount_wear();
            assert_eq!((medium.wear_total(), medium.wear_most()), (total, most));
        }
        assert_eq!(medium.wear_most(), u32::MAX, "some block has saturated");
    }
}
