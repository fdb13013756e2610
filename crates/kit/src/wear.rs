//! Wear classes: equal parts of the rated cycles, for limits that depend on wear.

/// Returns the wear class of a block after `cycles` of `rated` cycles: 0 if fresh, the last class beyond the rating.
/// `classes` must be at least 1.
pub fn wear_class(cycles: u32, rated: u32, classes: usize) -> usize {
    debug_assert!(classes >= 1);
    let class = u64::from(cycles) * classes as u64 / u64::from(rated.max(1));
    usize::try_from(class).unwrap_or(usize::MAX).min(classes - 1)
}

/// Like [`wear_class`], but for the effective wear of a block, in thousandths of a nominal erase.
pub fn effective_wear_class(thousandths: u32, rated: u32, classes: usize) -> usize {
    debug_assert!(classes >= 1);
    let class = u64::from(thousandths) * classes as u64 / (u64::from(rated.max(1)) * 1000);
    usize::try_from(class).unwrap_or(usize::MAX).min(classes - 1)
}

#[cfg(test)]
mod tests {
    use super::{effective_wear_class, wear_class};

    #[test]
    fn classes_are_equal_parts_and_the_last_has_no_end() {
        assert_eq!([0, 249, 250, 999, 1000, u32::MAX].map(|cycles| wear_class(cycles, 1000, 4)), [0, 0, 1, 3, 3, 3]);
        assert_eq!((wear_class(7, 0, 3), wear_class(0, 0, 1)), (2, 0));
    }

    #[test]
    fn effective_wear_of_nominal_erases_has_the_same_classes() {
        for (cycles, rated, classes) in [(0, 10, 3), (3, 10, 3), (4, 10, 3), (999, 3000, 6), (1000, 3000, 3), (9000, 3000, 6)] {
            assert_eq!(effective_wear_class(cycles * 1000, rated, classes), wear_class(cycles, rated, classes));
        }
        assert_eq!([499_999, 500_000].map(|wear| effective_wear_class(wear, 3000, 6)), [0, 1]);
    }
}
