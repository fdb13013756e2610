//! A number that may follow the wear of a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The wear of one erase, as a multiple of a nominal erase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct EraseWear(#[schemars(range(min = 0.0, max = 1000.0))] pub f64);

impl EraseWear {
    /// In thousandths of a nominal erase, to the nearest: how effective wear is kept.
    pub fn thousandths(self) -> u32 {
        (self.0 * 1000.0).round() as u32
    }
}

/// One value whatever the wear of a block, or several for equal parts of the rated endurance, from fresh to worn. A block's part follows from its summed
/// effective wear; beyond the rating it stays in the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum PerWear {
    /// The same for all.
    One(EraseWear),
    /// One for each part.
    Each(Vec<EraseWear>),
}

impl Default for PerWear {
    fn default() -> Self {
        PerWear::One(EraseWear(1.0))
    }
}

impl PerWear {
    /// All values that are given, from fresh to worn.
    pub fn all(&self) -> &[EraseWear] {
        match self {
            PerWear::One(value) => std::slice::from_ref(value),
            PerWear::Each(values) => values,
        }
    }

    /// That of a fresh block, in nominal erases.
    pub fn fresh(&self) -> f64 {
        self.all().first().map_or(1.0, |wear| wear.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_wear_is_kept_to_the_nearest_thousandth() {
        let each = PerWear::Each([0.7836, 0.9999, 1.0004].map(EraseWear).to_vec());
        assert_eq!(each.all().iter().map(|wear| wear.thousandths()).collect::<Vec<_>>(), [784, 1000, 1000]);
        assert_eq!((PerWear::default().all(), each.fresh()), (&[EraseWear(1.0)][..], 0.7836));
    }
}
