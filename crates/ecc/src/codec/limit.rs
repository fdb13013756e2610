//! Error rate that a code corrects, estimated from counts at several error rates.

use super::measure::{Counted, interval};

/// Confidence level of the interval whose upper end is taken as the failure rate.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the error rate at which codewords fail with probability `target`, from points of (error rate above zero,
/// count) in any order.
///
/// The failure rate of a point is the upper end of its interval at [`CONFIDENCE`], or that of a lower error rate if it
/// is higher, so that the result errs on the safe side. Between points the failure rate is interpolated linearly in
/// logarithms. `None` if the points do not bracket the target: at the lowest error rate too few codewords were counted,
/// or at the highest too few failed.
pub fn correctable(points: &[(f64, Counted)], target: f64) -> Option<f64> {
    let mut bounds: Vec<(f64, f64)> =
        points.iter().map(|(rate, counted)| (*rate, interval(counted.failed, counted.frames, CONFIDENCE).1)).collect();
    bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut highest = 0.0f64;
    for (_, bound) in &mut bounds {
        highest = highest.max(*bound);
        *bound = highest;
    }
    let pair = bounds.windows(2).find(|pair| pair[0].1 <= target && target < pair[1].1)?;
    let ln = |index: usize| (libm::log(pair[index].0), libm::log(pair[index].1));
    let ((low_rate, low), (high_rate, high)) = (ln(0), ln(1));
    Some(libm::exp(low_rate + (high_rate - low_rate) * (libm::log(target) - low) / (high - low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bch, BlockCode};

    fn counted(failed: u64, frames: u64) -> Counted {
        Counted { failed, frames, ..Counted::default() }
    }

    /// With the number of failures that the binomial tail predicts, the result is just below the code's own limit.
    #[test]
    fn the_limit_of_a_bch_code_is_found_again() {
        let code = Bch { data_bits: 4096, t: 12 };
        let points: Vec<(f64, Counted)> = (0..12)
            .map(|step| {
                let rate = 8e-4 + 1e-4 * f64::from(step);
                (rate, counted((1e7 * code.failure(rate, 0)) as u64, 10_000_000))
            })
            .collect();
        for target in [1e-4, 1e-3, 1e-2] {
            let (found, exact) = (correctable(&points, target).expect("the points bracket it"), code.limit(0, target));
            assert!(found < exact && found > 0.985 * exact, "{found:e}, not {exact:e}");
        }
        let mut turned = points.clone();
        turned.reverse();
        assert_eq!(correctable(&turned, 1e-3), correctable(&points, 1e-3));
    }

    #[test]
    fn what_is_not_bracketed_is_not_answered() {
        let points = [(1e-3, counted(0, 1000)), (2e-3, counted(100, 1000))];
        // With no failure in 1000 codewords, the failure rate is at most 3.7e-3.
        assert!(correctable(&points, 1e-3).is_none() && correctable(&points, 0.5).is_none() && correctable(&[], 0.1).is_none());
        assert!(correctable(&points, 1e-2).is_some_and(|rate| (1e-3..2e-3).contains(&rate)));
    }

    /// A point with few codewords at a low error rate does not make the curve fall.
    #[test]
    fn a_poor_count_below_holds_above() {
        let points = [(1e-3, counted(0, 10)), (2e-3, counted(1, 10_000)), (3e-3, counted(9000, 10_000))];
        assert!(correctable(&points, 1e-2).is_none());
    }
}
