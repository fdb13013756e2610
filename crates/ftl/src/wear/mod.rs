//! Family: wear levelling. A member decides which free block is used next, and whether blocks with cold data are moved.
//!
//! Blocks are compared by their cumulative effective wear, kept as an integer (autoFTL, section 4.7). Where every erase
//! is nominal, that is the same as their erase count.

pub mod dynamic;
pub mod none;
pub mod static_cold;

/// Wear of a block, as a wear-levelling rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Wear {
    /// Cumulative effective wear of the block, in thousandths of a nominal erase.
    pub thousandths: u32,
    /// Mean cumulative effective wear of the die's blocks, in nominal erases.
    pub die_mean: f64,
}

/// The contract of wear levelling.
pub trait WearLeveling: Send {
    /// Returns the rank of a free block among the free blocks of its group of planes, from its effective wear (in
    /// thousandths of a nominal erase) and `turn`, the number of blocks freed so far. The block with the lowest rank is
    /// used first.
    fn free_order(&self, thousandths: u32, turn: u64) -> (u32, u64);

    /// Returns true if the data of the die's least-worn closed block should be moved, so that the block is used again.
    /// Called when a block has been erased.
    fn moves_cold(&self, erased: Wear, min_worn: Wear) -> bool;

    /// Returns true if [`WearLeveling::moves_cold`] can ever return true. If not, the search for the least-worn block
    /// is skipped.
    fn moves_data(&self) -> bool;
}

kit::family! {
    /// Wear levelling: order in which free blocks are used, and whether blocks with cold data are moved.
    WearConfig: () => dyn WearLeveling {
        None = none,
        Dynamic = dynamic,
        StaticCold = static_cold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEARS: [u32; 9] = [0, 1, 999, 1000, 20_000, 20_001, 1_000_000, u32::MAX - 1, u32::MAX];

    /// Conformance, over pairs of free blocks: the ranks of different blocks differ; of two blocks, the one that is
    /// neither more worn nor freed later goes first.
    #[test]
    fn no_member_prefers_a_more_worn_block_that_was_freed_later() {
        for name in WearConfig::NAMES {
            let rule = WearConfig::named(name).expect("listed").build(());
            for (wear, turn) in WEARS.iter().flat_map(|&wear| [0, 1, 2, 1 << 40].map(|turn| (wear, turn))) {
                for (other_wear, other_turn) in WEARS.iter().flat_map(|&wear| [0, 1, 2, 1 << 40].map(|turn| (wear, turn))) {
                    let (rank, other) = (rule.free_order(wear, turn), rule.free_order(other_wear, other_turn));
                    assert_eq!(rank, rule.free_order(wear, turn), "{name}");
                    // Each block is freed at a turn of its own.
                    assert!(turn == other_turn || rank != other, "{name}: {wear} at {turn}, {other_wear} at {other_turn}");
                    if wear <= other_wear && turn < other_turn {
                        assert!(rank < other, "{name}: {wear} at {turn}, {other_wear} at {other_turn}");
                    }
                }
            }
        }
    }

    /// Conformance, over pairs of blocks: data is moved only by members that say so, only if the erased block is the
    /// more worn one, and all the more if the difference is greater.
    #[test]
    fn members_move_cold_data_only_for_a_more_worn_block() {
        for name in WearConfig::NAMES {
            let rule = WearConfig::named(name).expect("listed").build(());
            let wear = |thousandths| Wear { thousandths, die_mean: 10.0 };
            let moves = |erased: u32, least: u32| rule.moves_cold(wear(erased), wear(least));
            assert_eq!(moves(u32::MAX, 0), rule.moves_data(), "{name}");
            for (index, &erased) in WEARS.iter().enumerate() {
                for (below, &least) in WEARS.iter().enumerate() {
                    assert!(!moves(erased, least) || erased > least, "{name}: {erased} and {least}");
                    let further = WEARS[index..].iter().flat_map(|&more| WEARS[..=below].iter().map(move |&less| (more, less)));
                    if moves(erased, least) {
                        further.for_each(|(more, less)| assert!(moves(more, less), "{name}: {more} and {less}"));
                    }
                }
            }
        }
    }
}
