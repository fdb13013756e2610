//! Classes of wear: limits that fall with wear are given for equal parts of the rated cycles.

/// The class of a block with `cycles` of `rated` cycles behind it, from fresh (0) to worn; beyond the rating the last. There is at least one class.
pub fn wear_class(cycles: u32, rated: u32, classes: usize) -> usize {
    debug_assert!(classes >= 1);
    let class = u64::from(cycles) * classes as u64 / u64::from(rated.max(1));
    usize::try_from(class).unwrap_or(usize::MAX).min(classes - 1)
}

/// The class of a block by its effective wear, in thousandths of a nominal erase: the same parts of the rated cycles.
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
