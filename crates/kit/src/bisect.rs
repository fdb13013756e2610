//! Searches in an interval: bisection and false position.

/// Returns the upper end of the range in which `holds` is true, approached from below by `halvings` halvings of
/// `low..high`. `holds` must be true at `low` and become false at most once. It is true at the result.
pub fn bisect_last_true(mut low: f64, mut high: f64, halvings: u32, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Returns the point between `low` and `high` at which the rising function `f` crosses zero; `f(low)` must not be above
/// zero and `f(high)` must be.
///
/// The method is false position with the Illinois rule: the weight of an end that stays twice in a row is halved. Every
/// fourth round, and wherever the chord is unusable, the interval is halved instead. The search ends once the value at
/// the lower end is above `-near`, or the interval is as small as doubles resolve. `f` is not above zero at the
/// returned point.
pub fn find_root(low: f64, high: f64, near: f64, f: impl Fn(f64) -> f64) -> f64 {
    // Weights of the ends; `reached` is the value at the lower end itself, which alone says how near it is.
    let ((mut low, mut at_low), (mut high, mut at_high)) = ((low, f(low)), (high, f(high)));
    let (mut stayed, mut reached) = (0i32, at_low);
    for round in 0..100 {
        if reached > -near || high - low <= 1e-14 * high.abs().max(low.abs()) {
            break;
        }
        let chord = (low * at_high - high * at_low) / (at_high - at_low);
        let usable = chord > low && chord < high && round % 4 != 3;
        let place = if usable { chord } else { 0.5 * (low + high) };
        if place <= low || place >= high {
            break;
        }
        let value = f(place);
        if value > 0.0 {
            (high, at_high) = (place, value);
            at_low *= if stayed > 0 { 0.5 } else { 1.0 };
            stayed = 1;
        } else {
            (low, at_low, reached) = (place, value, value);
            at_high *= if stayed < 0 { 0.5 } else { 1.0 };
            stayed = -1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::{bisect_last_true, find_root};
    use std::cell::Cell;

    #[test]
    fn a_crossing_is_found_in_few_looks() {
        for (f, root) in [
            ((|x: f64| x * x - 2.0) as fn(f64) -> f64, std::f64::consts::SQRT_2),
            (|x: f64| libm::log(x / 1.3) * 5.0, 1.3),
            (|x: f64| if x < 1.0 { -50.0 } else { x - 1.7 }, 1.7),
            (|x: f64| libm::exp(30.0 * (x - 1.9)) - 1.0, 1.9),
        ] {
            let looks = Cell::new(0);
            let found = find_root(0.01, 2.0, 1e-9, |x| {
                looks.set(looks.get() + 1);
                f(x)
            });
            assert!(
                (found - root).abs() < 1e-7 && f(found) <= 0.0 && looks.get() < 40,
                "{found} for {root}, {} looks",
                looks.get()
            );
        }
        // At a jump, the last point before it is returned.
        let jump = find_root(0.0, 1.0, 1e-9, |x| if x < 0.3 { -1.0 } else { 1.0 });
        assert!(jump < 0.3 && jump > 0.3 - 1e-9, "{jump}");
        // The weight of a lower end that stays is halved; its value is still far from the root.
        let flat = |x: f64| if x < 0.5 { -1.0 } else { 1e6 * (x - 0.5) + 1e-3 };
        let found = find_root(0.0, 1.0, 0.4, flat);
        assert!(found < 0.5 && found > 0.5 - 1e-9, "{found}");
        // A root at the lower end.
        assert_eq!(find_root(0.0, 1.0, 1e-9, |x| x), 0.0);
    }

    #[test]
    fn the_end_is_found_from_below() {
        let root = bisect_last_true(0.0, 2.0, 60, |x| x * x <= 2.0);
        assert!(root * root <= 2.0 && (root - std::f64::consts::SQRT_2).abs() < 1e-15);
    }
}
