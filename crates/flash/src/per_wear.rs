//! A number that may depend on the wear of a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The wear of one erase, as a multiple of a nominal erase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct EraseWear(#[schemars(range(min = 0.0, max = 1000.0))] pub f64);

impl EraseWear {
    /// Returns the wear in thousandths of a nominal erase, the unit in which effective wear is kept, rounded to the
    /// nearest.
    pub fn thousandths(self) -> u32 {
        (self.0 * 1000.0).round() as u32
    }
}

/// One value for any wear of a block, or several for equal parts of the rated endurance, from fresh to worn. A block's
/// part follows from its effective wear; beyond the rating the last part applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum PerWear {
    /// One value for any wear.
    One(EraseWear),
    /// One value for each part of the rated endurance.
    Each(Vec<EraseWear>),
}

impl Default for PerWear {
    fn default() -> Self {
        PerWear::One(EraseWear(1.0))
    }
}

impl PerWear {
    /// Returns all values given, from fresh to worn.
    pub fn all(&self) -> &[EraseWear] {
        match self {
            PerWear::One(value) => std::slice::from_ref(value),
            PerWear::Each(values) => values,
        }
    }

    /// Returns the value of a fresh block, in nominal erases.
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
