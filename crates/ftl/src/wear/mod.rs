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
    fn moves_cold(&self, erased: Wear, least_worn: Wear) -> bool;

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

    /// Conformance: every wear value has a rank, and only static members move data.
    #[test]
    fn members_keep_their_word() {
        for name in WearConfig::NAMES {
            let rule = WearConfig::named(name).expect("listed").build(());
            assert!(rule.free_order(3, 10) <= rule.free_order(4, 11), "{name}: neither newer nor more worn goes first");
            assert!(rule.free_order(u32::MAX - 1, 10) <= rule.free_order(u32::MAX, 11), "{name}: no wear is too much");
            let worn = Wear { thousandths: 10_000_000, die_mean: 100.0 };
            let fresh = Wear { thousandths: 0, die_mean: 100.0 };
            assert_eq!(rule.moves_cold(worn, fresh), rule.moves_data(), "{name}");
        }
    }
}
