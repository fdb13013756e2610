//! Empirical distributions as short tables of quantiles.

use kit::Rng;

/// Returns the quantiles of `samples` (sorted in place) at `count` evenly spaced levels, both ends included. The table
/// is empty without samples, and has a single value if all are equal.
pub fn table(samples: &mut [f64], count: usize) -> Vec<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    let Some(last) = samples.len().checked_sub(1) else { return Vec::new() };
    if samples[0] == samples[last] {
        return vec![samples[0]];
    }
    (0..count).map(|i| rounded(samples[(last * i + (count - 1) / 2) / (count - 1)])).collect()
}

/// Rounds `value` to three significant digits: enough for a fit, and short to write.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = libm::pow(10.0, 2.0 - libm::floor(libm::log10(value.abs())));
    // Integers up to 999 are exact; larger ones are rounded to three digits and stay integers.
    let kept = libm::round(value * scale) / scale;
    if value.fract() == 0.0 { libm::round(kept) } else { kept }
}

/// Draws a variate from the table. Between quantiles it is interpolated linearly, or linearly in `log(1 + x)` if
/// `logarithmic` (for distances with long tails). Returns 0 for an empty table.
pub fn draw(table: &[f64], logarithmic: bool, rng: &mut Rng) -> f64 {
    let Some(last) = table.len().checked_sub(1) else { return 0.0 };
    if last == 0 {
        return table[0];
    }
    let position = rng.unit() * last as f64;
    let index = (position as usize).min(last - 1);
    let (low, high, part) = (table[index], table[index + 1], position - index as f64);
    if low == high {
        low
    } else if logarithmic {
        let (low, high) = (libm::log1p(low.max(0.0)), libm::log1p(high.max(0.0)));
        libm::expm1(low + part * (high - low))
    } else {
        low + part * (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reproduces_its_distribution() {
        let mut rng = Rng::stream(1, "q");
        let mut samples: Vec<f64> = (0..20_000).map(|_| rng.exponential(100.0)).collect();
        let table = table(&mut samples, 33);
        assert_eq!(table.len(), 33);
        let mut drawn: Vec<f64> = (0..20_000).map(|_| draw(&table, true, &mut rng)).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        for level in [0.1, 0.5, 0.9] {
            let at = (level * 20_000.0) as usize;
            assert!((drawn[at] / samples[at] - 1.0).abs() < 0.06, "{level}: {} against {}", drawn[at], samples[at]);
        }
    }

    #[test]
    fn degenerate_tables() {
        let mut rng = Rng::stream(1, "q");
        assert_eq!(draw(&table(&mut [], 9), true, &mut rng), 0.0);
        assert_eq!(draw(&table(&mut [7.0, 7.0], 9), false, &mut rng), 7.0);
        assert_eq!(rounded(123_456.7), 123_000.0);
        assert_eq!(rounded(-0.012_345_6), -0.0123);
    }
}
