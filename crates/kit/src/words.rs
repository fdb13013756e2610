//! Quantities in words, for drawings and tables: three significant digits and a unit. A description needs the exact
//! value, which is the `Display` of each unit.

use crate::units::{Bytes, Frequency, Nanos, Rate, TransferRate};

/// Returns a number with three significant digits in the largest of some units that it reaches, or in the last.
fn in_units(number: f64, units: &[(f64, &str)]) -> String {
    let fits = |size: &f64| number / size >= 0.9995;
    let last = units.len() - 1;
    let (size, unit) = units[units.iter().position(|(size, _)| fits(size)).unwrap_or(last)];
    let value = number / size;
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Returns a span of time, such as `1.17 ms`.
pub fn time(span: Nanos) -> String {
    let units = [(86_400e9, "d"), (3_600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    in_units(span.0 as f64, &units)
}

/// Returns a size with a binary prefix, such as `512 MiB`.
pub fn size(bytes: Bytes) -> String {
    let power = |exponent: i32| 1024f64.powi(exponent);
    in_units(bytes.0 as f64, &[(power(4), "TiB"), (power(3), "GiB"), (power(2), "MiB"), (power(1), "KiB"), (1.0, "B")])
}

/// Returns a data rate, such as `7.72 GB/s`.
pub fn rate(rate: Rate) -> String {
    in_units(rate.0 as f64, &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// Returns a frequency, such as `400 MHz`.
pub fn frequency(frequency: Frequency) -> String {
    in_units(frequency.0 as f64, &[(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")])
}

/// Returns the rate of a flash bus, such as `1600 MT/s`.
pub fn transfers(rate: TransferRate) -> String {
    in_units(rate.0 as f64, &[(1e6, "MT/s"), (1e3, "kT/s"), (1.0, "T/s")])
}

/// Returns a number of things, such as `1 queue` or `4 queues`.
pub fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        let times = [0, 1, 999, 1_000, 1_170_000, 50_000, 99_940, 99_960, 999_600, 3_500_000_000, 90_000_000_000_000];
        let texts = ["0 ns", "1 ns", "999 ns", "1 us", "1.17 ms", "50 us", "99.9 us", "100 us", "1 ms", "3.5 s", "1.04 d"];
        assert_eq!(times.map(|span| time(Nanos(span))), texts);
        assert_eq!([512, 4096, 512 << 20, 3 << 29].map(|bytes| size(Bytes(bytes))), ["512 B", "4 KiB", "512 MiB", "1.5 GiB"]);
        assert_eq!([7_720_123_456, 600_000_000].map(|bytes| rate(Rate(bytes))), ["7.72 GB/s", "600 MB/s"]);
        assert_eq!([400_000_000, 1_250_000_000].map(|hertz| frequency(Frequency(hertz))), ["400 MHz", "1.25 GHz"]);
        assert_eq!(transfers(TransferRate(1_600_000_000)), "1600 MT/s");
        assert_eq!(
            (count(1u32, "queue"), count(0u32, "queue"), count(8u64, "core")),
            ("1 queue".into(), "0 queues".into(), "8 cores".into())
        );
    }
}
