//! Halving an interval.

/// The largest value between two bounds for which something holds that holds at the lower one and ends once.
pub fn last_holding(mut low: f64, mut high: f64, halvings: u32, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::last_holding;

    #[test]
    fn the_end_is_found_from_below() {
        let root = last_holding(0.0, 2.0, 60, |x| x * x <= 2.0);
        assert!(root * root <= 2.0 && (root - std::f64::consts::SQRT_2).abs() < 1e-15);
    }
}
