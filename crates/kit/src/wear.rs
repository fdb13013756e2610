//! Classes of wear: limits that fall with wear are given for equal parts of the rated cycles.

/// The class of a block with `cycles` of `rated` cycles behind it, from fresh (0) to worn; beyond the rating the last. There is at least one class.
pub fn wear_class(cycles: u32, rated: u32, classes: usize) -> usize {
    debug_assert!(classes >= 1);
    let class = u64::from(cycles) * classes as u64 / u64::from(rated.max(1));
    usize::try_from(class).unwrap_or(usize::MAX).min(classes - 1)
}

#[cfg(test)]
mod tests {
    use super::wear_class;

    #[test]
    fn classes_are_equal_parts_and_the_last_has_no_end() {
        assert_eq!([0, 249, 250, 999, 1000, u32::MAX].map(|cycles| wear_class(cycles, 1000, 4)), [0, 0, 1, 3, 3, 3]);
        assert_eq!((wear_class(7, 0, 3), wear_class(0, 0, 1)), (2, 0));
    }
}
