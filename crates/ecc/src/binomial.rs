//! Distribution of the number of errors in a codeword: exact binomial tails, in logarithms, so that a failure rate of
//! 1e-300 does not become zero.

use kit::bisect::bisect_last_true;

/// Returns ln(k!), by the gamma function.
fn ln_factorial(k: u64) -> f64 {
    libm::lgamma(k as f64 + 1.0)
}

/// Returns ln P(X = k) for X binomial with `n` trials of probability `p`.
pub fn ln_probability(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    // At a probability of zero or one only one outcome is possible.
    if p <= 0.0 || p >= 1.0 {
        let certain = if p <= 0.0 { 0 } else { n };
        return if k == certain { 0.0 } else { f64::NEG_INFINITY };
    }
    let ways = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    ways + k as f64 * libm::log(p) + (n - k) as f64 * libm::log1p(-p)
}

/// Returns ln P(X > k), summed from its largest term outwards until further terms no longer change the sum. A NaN for
/// `p` counts as one, the worst case.
pub fn ln_tail(n: u64, k: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 || p.is_nan() {
        return 0.0;
    }
    let mode = ((n as f64 + 1.0) * p) as u64;
    let start = (k + 1).max(mode.min(n));
    let first = ln_probability(n, start, p);
    let odds = p / (1.0 - p);
    let (mut sum, mut up, mut down) = (1.0, 1.0, 1.0);
    for j in start..n {
        up *= (n - j) as f64 / (j + 1) as f64 * odds;
        sum += up;
        if up < sum * 1e-17 {
            break;
        }
    }
    for j in (k + 1..start).rev() {
        down *= (j + 1) as f64 / ((n - j) as f64 * odds);
        sum += down;
        if down < sum * 1e-17 {
            break;
        }
    }
    (first + libm::log(sum)).min(0.0)
}

/// Returns ln P(X > k) for a fractional `k`, interpolated between the neighbouring integers so that it is continuous,
/// rises with `p` and falls with `k`.
pub fn ln_tail_between(n: u64, k: f64, p: f64) -> f64 {
    let k = k.max(0.0).min(n as f64);
    let whole = k as u64;
    let part = k - whole as f64;
    // A weight of zero times the minus infinity beyond `n` would be NaN.
    if part == 0.0 {
        return ln_tail(n, whole, p);
    }
    (1.0 - part) * ln_tail(n, whole, p) + part * ln_tail(n, whole + 1, p)
}

/// Returns the error rate at which more than `k` of `n` bits are wrong with probability `target`: the highest error
/// rate for a code that corrects `k`. Zero if `target` is not above zero.
pub fn rate_for_tail(n: u64, k: f64, target: f64) -> f64 {
    let wanted = libm::log(target);
    if target.is_nan() || target <= 0.0 {
        return 0.0;
    }
    // Bisected in logarithms, since the answer may be many orders of magnitude below one.
    libm::exp(bisect_last_true(libm::log(1e-300), 0.0, 70, |power| ln_tail_between(n, k, libm::exp(power)) <= wanted))
}

/// Returns the fractional number of errors that `n` bits at error rate `p` exceed with probability `target`: the number
/// that a code must correct. At least 0 and at most `n - 1`, the value for a target that is not above zero.
pub fn errors_for_tail(n: u64, p: f64, target: f64) -> f64 {
    if n == 0 || target.is_nan() || target <= 0.0 {
        return n.saturating_sub(1) as f64;
    }
    let wanted = libm::log(target);
    if ln_tail(n, 0, p) < wanted {
        return 0.0;
    }
    // The tail falls with the number of errors; beyond `n` it is zero.
    let (mut low, mut high) = (0, n);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if ln_tail(n, middle, p) >= wanted { &mut low } else { &mut high }) = middle;
    }
    let (above, below) = (ln_tail(n, low, p), ln_tail(n, high, p));
    low as f64 + (above - wanted) / (above - below)
}

/// Returns the probability that at least one of `count` independent events occurs, each with `probability`.
pub fn any_of(probability: f64, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    -libm::expm1(count as f64 * libm::log1p(-probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_small_cases_by_hand() {
        // Three coins: P(X > 1) = 1/2, P(X > 2) = 1/8.
        assert!((libm::exp(ln_tail(3, 1, 0.5)) - 0.5).abs() < 1e-14);
        assert!((libm::exp(ln_tail(3, 2, 0.5)) - 0.125).abs() < 1e-14);
        assert_eq!((ln_tail(3, 3, 0.5), ln_tail(3, 0, 0.0), ln_tail(3, 2, 1.0)), (f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0));
        let total: f64 = (0..=40).map(|k| libm::exp(ln_probability(40, k, 0.3))).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tails_sum_the_probabilities_on_either_side_of_the_mode() {
        for (n, k, p) in [(1000, 3, 1e-3), (1000, 0, 0.2), (1000, 400, 0.3), (34_528, 110, 1.35e-3), (34_528, 10, 1.35e-3)] {
            let sum: f64 = (k + 1..=n).rev().map(|j| libm::exp(ln_probability(n, j, p))).sum();
            let found = libm::exp(ln_tail(n, k, p));
            assert!((found / sum - 1.0).abs() < 1e-7, "{n} {k} {p}: {found:e}, not {sum:e}");
        }
    }

    #[test]
    fn tails_rise_with_the_rate_and_fall_with_what_is_corrected() {
        let rates: Vec<f64> = (1..60).map(|step| ln_tail(8640, 24, f64::from(step) * 1e-4)).collect();
        assert!(rates.windows(2).all(|pair| pair[1] > pair[0]) && rates.iter().all(|rate| rate.is_finite()));
        let strengths: Vec<f64> = (0..100).map(|t| ln_tail(8640, t, 1e-3)).collect();
        assert!(strengths.windows(2).all(|pair| pair[1] < pair[0]));
        assert!(ln_tail(8640, 4000, 1e-6) < -10_000.0, "far below what a double holds");
    }

    #[test]
    fn between_two_numbers_of_errors_the_tail_is_between_theirs() {
        let tails: Vec<f64> = (0..=60).map(|tenth| ln_tail_between(8640, 20.0 + f64::from(tenth) / 10.0, 1e-3)).collect();
        assert!(tails.windows(2).all(|pair| pair[1] < pair[0]));
        assert_eq!((tails[0], tails[60]), (ln_tail(8640, 20, 1e-3), ln_tail(8640, 26, 1e-3)));
        for (rate, target) in [(1e-3, 1e-11), (4e-3, 1e-15), (1e-5, 1e-3), (0.3, 0.5)] {
            let errors = errors_for_tail(8640, rate, target);
            assert!((ln_tail_between(8640, errors, rate) / libm::log(target) - 1.0).abs() < 1e-9, "{rate} {target}: {errors}");
            assert!((rate_for_tail(8640, errors, target) / rate - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn extremes_stay_numbers() {
        for n in [0, 1, 2, 34_528] {
            for p in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, 2.0, f64::INFINITY] {
                for k in [f64::NAN, -1.0, 0.0, 0.5, 1.0, 1e9, f64::INFINITY] {
                    let tail = libm::exp(ln_tail_between(n, k, p));
                    assert!((0.0..=1.0).contains(&tail), "{n} {k} {p}: {tail}");
                    assert!((0.0..=1.0).contains(&rate_for_tail(n, k, p)), "{n} {k} {p}");
                }
                for target in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, 2.0] {
                    let errors = errors_for_tail(n, p, target);
                    assert!((0.0..=n.saturating_sub(1) as f64).contains(&errors), "{n} {p} {target}: {errors}");
                }
            }
        }
        assert_eq!(libm::exp(ln_tail(10, 3, f64::NAN)), 1.0, "what is not a number is the worst");
        // A rate far below any in use: t = 0 at 1e-15 allows 1e-15 / n.
        assert!((rate_for_tail(1000, 0.0, 1e-15) / 1e-18 - 1.0).abs() < 1e-9);
        assert_eq!((any_of(1.0, 0), any_of(1.0, 3), any_of(0.0, 3)), (0.0, 1.0, 0.0));
    }
}
