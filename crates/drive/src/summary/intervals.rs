//! Confidence intervals within one run, from the values of batches.

use crate::batches::{Batch, Batches, Series};
use crate::statistics::Statistics;
use kit::{Histogram, Op};
use serde_json::{Map, Value, json};

/// Probability with which an interval contains the value.
const CONFIDENCE: f64 = 0.95;
/// Quantile of the standard normal distribution above which `(1 - CONFIDENCE) / 2` of it lies.
const NORMAL: f64 = 1.959_963_984_540_054;
/// The same quantile of Student's t distribution with one to four degrees of freedom.
const FEW: [f64; 4] = [12.706_205, 4.302_653, 3.182_446, 2.776_445];
/// Percentiles with an interval: key and share.
const PERCENTILES: [(&str, f64); 5] =
    [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99_9_ns", 0.999), ("p99_99_ns", 0.9999)];

/// Returns the section `intervals`: for each kind of commands the batches, and the interval of each number.
pub(super) fn section(statistics: &Statistics, batches: &Batches) -> Value {
    let [all, read, write] = batches.series();
    let of = |op: Op| (statistics.totals.sums[op as usize].mean(), &statistics.totals.histograms[op as usize]);
    let (all_sums, all_histogram) = statistics.totals.all();
    json!({
        "confidence": CONFIDENCE,
        "all": kind(all, all_sums.mean(), &all_histogram),
        "read": kind(read, of(Op::Read).0, of(Op::Read).1),
        "write": kind(write, of(Op::Write).0, of(Op::Write).1),
    })
}

/// Returns the intervals of one kind of commands, whose mean and latencies over the whole run are given.
fn kind(series: &Series, mean: Option<f64>, whole: &Histogram) -> Value {
    let complete = series.complete();
    let mut found = Map::new();
    found.insert("batches".to_owned(), json!(complete.len()));
    found.insert("batch_commands".to_owned(), json!((!complete.is_empty()).then(|| series.size())));
    found.insert("mean_ns".to_owned(), number(mean, complete.iter().map(Batch::mean).collect()));
    for (name, share) in PERCENTILES {
        let of = |histogram: &Histogram| histogram.percentile(share, super::BEYOND).map(|value| value as f64);
        found.insert(name.to_owned(), number(of(whole), complete.iter().map(|batch| of(batch.histogram())).collect()));
    }
    Value::Object(found)
}

/// Returns the interval of a number from its values in the whole run and in the batches; `None` if a batch lacks it.
fn number(whole: Option<f64>, values: Option<Vec<f64>>) -> Value {
    let known = whole.zip(values);
    let bounds = known.as_ref().and_then(|(whole, values)| interval(*whole, values));
    json!({
        "low": bounds.map(|(low, _)| low),
        "high": bounds.map(|(_, high)| high),
        "autocorrelation": known.and_then(|(_, values)| autocorrelation(&values)),
    })
}

/// Returns the interval of a value of the whole run from the values of its batches; `None` with less than two batches.
///
/// The interval lies around the value of the whole run, and its width follows from the deviations of the batches from
/// it (sectioning: Asmussen and Glynn, Stochastic Simulation, 2007; Nakayama, ACM TOMACS 24(4), 2014). The mean of
/// the percentiles of batches is a worse centre: it has the bias of a percentile of few commands.
fn interval(whole: f64, values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let (count, freedom) = (values.len() as f64, values.len() - 1);
    let squares: f64 = values.iter().map(|value| (value - whole) * (value - whole)).sum();
    let half = quantile_of_t(freedom) * (squares / freedom as f64 / count).sqrt();
    Some((whole - half, whole + half))
}

/// Returns the quantile of Student's t distribution above which `(1 - CONFIDENCE) / 2` of it lies. From five degrees
/// of freedom on by its expansion at the normal distribution (Abramowitz and Stegun, 26.7.5), within 0.02 % of it.
fn quantile_of_t(freedom: usize) -> f64 {
    if let Some(exact) = FEW.get(freedom - 1) {
        return *exact;
    }
    let (x, n) = (NORMAL, freedom as f64);
    let square = x * x;
    let first = (square + 1.0) * x / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) * x / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) * x / 384.0;
    let fourth = ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) * x / 92160.0;
    x + (first + (second + (third + fourth / n) / n) / n) / n
}

/// Returns the correlation of a batch's value with that of the next; `None` with less than three batches, or if all are
/// equal.
fn autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (squares > 0.0).then(|| products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        let tables = [(1, 12.706), (2, 4.303), (4, 2.776), (5, 2.571), (6, 2.447), (19, 2.093), (39, 2.023), (198, 1.972)];
        for (freedom, expected) in tables {
            let found = quantile_of_t(freedom);
            assert!((found - expected).abs() < 1e-3, "{freedom}: {found} for {expected}");
        }
    }

    #[test]
    fn an_interval_lies_around_the_value_of_the_whole_run() {
        // Deviations -1, 0 and 1: the standard error is 1 / sqrt(3).
        let (low, high) = interval(11.0, &[10.0, 11.0, 12.0]).expect("three batches");
        assert!((low - 8.516).abs() < 1e-3 && (high - 13.484).abs() < 1e-3, "{low} {high}");
        let (low, high) = interval(12.0, &[10.0, 11.0, 12.0]).expect("three batches");
        assert!((low + high - 24.0).abs() < 1e-9 && high - low > 2.0 * 2.484, "the bias of the batches makes it wider");
        assert_eq!(interval(11.0, &[11.0]), None);
    }

    #[test]
    fn a_trend_is_a_correlation_of_neighbours_and_a_change_of_sign_is_the_opposite() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let swinging: Vec<f64> = (0..20).map(|index| f64::from(index % 2)).collect();
        assert!(autocorrelation(&rising).expect("twenty") > 0.8);
        assert!(autocorrelation(&swinging).expect("twenty") < -0.9);
        assert_eq!(autocorrelation(&[1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0]), None);
    }
}
