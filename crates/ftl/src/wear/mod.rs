//! Family: wear levelling. Which free block is used next, and whether blocks with cold data are moved.
//!
//! Blocks are compared by their summed effective wear, kept as an integer (autoFTL, section 4.7); where every erase is a nominal one, that is by their erases.

pub mod dynamic;
pub mod none;
pub mod static_cold;

/// What a block is like when the rule is asked.
#[derive(Clone, Copy, Debug)]
pub struct Wear {
    /// Summed effective wear of the block, in thousandths of a nominal erase.
    pub thousandths: u32,
    /// Mean summed effective wear of the die's blocks, in nominal erases.
    pub die_mean: f64,
}

/// The contract of wear levelling.
pub trait WearLeveling: Send {
    /// Where a free block of so much effective wear (in thousandths) stands among the free blocks of its plane: lower is used first. `turn` counts the blocks
    /// freed so far.
    fn free_order(&self, thousandths: u32, turn: u64) -> (u32, u64);

    /// Asked when a block has been erased: whether the die's least-worn block with data should be moved, so that its block is used again.
    fn moves_cold(&self, erased: Wear, least_worn: Wear) -> bool;

    /// Whether [`WearLeveling::moves_cold`] can ever say yes: if not, nobody looks for the least-worn block.
    fn is_static(&self) -> bool;
}

kit::family! {
    /// Which free block is used next, and whether cold blocks are moved.
    WearConfig: () => dyn WearLeveling {
        None = none,
        Dynamic = dynamic,
        StaticCold = static_cold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance: an order exists for every block, and only static members move data.
    #[test]
    fn members_keep_their_word() {
        for name in WearConfig::NAMES {
            let rule = WearConfig::named(name).expect("listed").build(());
            assert!(rule.free_order(3, 10) <= rule.free_order(4, 11), "{name}: neither newer nor more worn goes first");
            assert!(rule.free_order(u32::MAX - 1, 10) <= rule.free_order(u32::MAX, 11), "{name}: no wear is too much");
            let worn = Wear { thousandths: 10_000_000, die_mean: 100.0 };
            let fresh = Wear { thousandths: 0, die_mean: 100.0 };
            assert_eq!(rule.moves_cold(worn, fresh), rule.is_static(), "{name}");
        }
    }
}
