//! The number of errors in a codeword: exact binomial tails, in logarithms, so that a failure rate of 1e-300 is a number and not zero.

use kit::bisect::last_holding;

/// ln(k!), by the gamma function.
fn ln_factorial(k: u64) -> f64 {
    libm::lgamma(k as f64 + 1.0)
}

/// ln P(X = k) for X binomial with `n` trials of probability `p`.
pub fn ln_probability(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    // A trial that never or always succeeds leaves one outcome.
    if p <= 0.0 || p >= 1.0 {
        let certain = if p <= 0.0 { 0 } else { n };
        return if k == certain { 0.0 } else { f64::NEG_INFINITY };
    }
    let ways = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    ways + k as f64 * libm::log(p) + (n - k) as f64 * libm::log1p(-p)
}

/// ln P(X > k). Summed from its largest term outwards until nothing is added any more.
pub fn ln_tail(n: u64, k: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let mode = ((n + 1) as f64 * p) as u64;
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

/// The error rate at which more than `k` of `n` bits are wrong with probability `target`: what a code that corrects `k` can bear.
pub fn rate_for_tail(n: u64, k: u64, target: f64) -> f64 {
    let wanted = libm::log(target);
    // Halved in logarithms: the answer may be many orders below one.
    libm::exp(last_holding(libm::log(1e-18), 0.0, 100, |power| ln_tail(n, k, libm::exp(power)) <= wanted))
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
}
