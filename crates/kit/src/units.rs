//! Types for dimensions (instants, spans, sizes and rates), and the unit strings of descriptions.
//!
//! A value with a dimension is written in a description as a string with its unit (`"600us"`, `"16KiB"`, `"133MB/s"`,
//! `"4d"`); a bare number is refused. Durations derived from a rate are computed exactly and rounded up once.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// An instant of simulated time \[ns since the start of the run\]. `u64` holds 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

/// A span of simulated time \[ns\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A size \[bytes\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A data rate \[bytes per second\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A bus rate \[transfers per second\]; one transfer moves one byte on the 8-bit flash bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferRate(pub u64);

/// A clock frequency \[Hz\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(pub u64);

/// An electric current \[uA\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Current(pub u64);

/// A voltage \[mV\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Voltage(pub u64);

/// A power \[nW\]. Times nanoseconds, it is attojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power(pub u64);

/// An energy \[aJ\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// The last instant that a drive simulates: 280 years ([`Nanos::YEAR`]). Ages of blocks are kept in signed
    /// nanoseconds, which hold 292 years.
    pub const LAST: SimTime = SimTime(280 * Nanos::YEAR.0);
    /// An instant later than any that a run reaches.
    pub const FOREVER: SimTime = SimTime(u64::MAX);

    /// Returns the whole years ([`Nanos::YEAR`]) since [`SimTime::ZERO`].
    pub fn years(self) -> u64 {
        self.0 / Nanos::YEAR.0
    }

    /// Returns the span since `earlier`, which must not be later than `self`.
    #[inline]
    pub fn since(self, earlier: SimTime) -> Nanos {
        debug_assert!(self >= earlier, "time ran backwards: {self:?} < {earlier:?}");
        Nanos(self.0.wrapping_sub(earlier.0))
    }
}

impl Add<Nanos> for SimTime {
    type Output = SimTime;
    #[inline]
    fn add(self, span: Nanos) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl Nanos {
    /// A span of zero.
    pub const ZERO: Nanos = Nanos(0);
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// A year of 365.25 days: in results, and the unit `y` of what is given.
    pub const YEAR: Nanos = Nanos(31_557_600 * Nanos::SECOND.0);

    /// Returns the span in seconds, rounded to the nearest representable double.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the span in years ([`Nanos::YEAR`]), rounded to the nearest representable double.
    pub fn as_years_f64(self) -> f64 {
        self.0 as f64 / Nanos::YEAR.0 as f64
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    /// Multiplies, saturating: a description may give any time.
    #[inline]
    fn mul(self, count: u64) -> Nanos {
        Nanos(self.0.saturating_mul(count))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// Subtracts, saturating at zero.
    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// Returns the time to move `bytes` at this rate, rounded up to a whole nanosecond. At a rate of zero, moving data
    /// takes no time.
    pub fn time_for(self, bytes: Bytes) -> Nanos {
        time_at(bytes.0, self.0)
    }
}

impl TransferRate {
    /// Returns the time to move `bytes` over the 8-bit bus at this rate, rounded up to a whole nanosecond.
    pub fn time_for(self, bytes: Bytes) -> Nanos {
        time_at(bytes.0, self.0)
    }
}

fn time_at(bytes: u64, per_second: u64) -> Nanos {
    if per_second == 0 {
        return Nanos::ZERO;
    }
    // A division of 64-bit numbers takes a fraction of the time.
    if let Some(scaled) = bytes.checked_mul(1_000_000_000) {
        return Nanos(scaled.div_ceil(per_second));
    }
    let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(per_second));
    Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A unit suffix and its factor, an exact integer in the base unit.
type Suffix = (&'static str, u64);

const DURATION: &[Suffix] = &[
    ("ns", 1),
    ("us", 1_000),
    // The micro sign and the Greek letter look alike; keyboards have either.
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
    ("y", Nanos::YEAR.0),
];
const SIZE: &[Suffix] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];
const RATE: &[Suffix] = &[
    ("B/s", 1),
    ("KiB/s", 1 << 10),
    ("MiB/s", 1 << 20),
    ("GiB/s", 1 << 30),
    ("kB/s", 1_000),
    ("KB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
];
const FREQUENCY: &[Suffix] = &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];
const TRANSFERS: &[Suffix] = &[("T/s", 1), ("kT/s", 1_000), ("MT/s", 1_000_000), ("GT/s", 1_000_000_000)];

const CURRENT: &[Suffix] = &[("uA", 1), ("mA", 1_000), ("A", 1_000_000)];
const VOLTAGE: &[Suffix] = &[("mV", 1), ("V", 1_000)];
const POWER: &[Suffix] = &[("nW", 1), ("uW", 1_000), ("mW", 1_000_000), ("W", 1_000_000_000)];
const ENERGY: &[Suffix] = &[
    ("aJ", 1),
    ("fJ", 1_000),
    ("pJ", 1_000_000),
    ("nJ", 1_000_000_000),
    ("uJ", 1_000_000_000_000),
    ("mJ", 1_000_000_000_000_000),
    ("J", 1_000_000_000_000_000_000),
];

/// Parses `text` as a non-negative decimal number followed by one of `suffixes`.
fn parse_quantity(text: &str, suffixes: &[Suffix]) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'))).unwrap_or(text.len());
    let (number, suffix) = (text[..split].trim().replace('_', ""), text[split..].trim());
    if number.starts_with('-') {
        return Err("a negative value".to_owned());
    }
    let Some((_, scale)) = suffixes.iter().find(|(name, _)| *name == suffix) else {
        return Err(match suffix {
            "" => "a number without a unit".to_owned(),
            other => format!("unknown unit `{other}`"),
        });
    };
    let smallest = suffixes[0].0;
    scale_decimal(&number, *scale).ok_or_else(|| {
        format!("`{number}` is not a number that fits, in whole {smallest} and up to {}{suffix}", u64::MAX / *scale)
    })
}

/// Multiplies `number` (digits with at most one point) by `scale`, exactly. `None` if the number is malformed, does not
/// fit, or has a fraction below one base unit.
fn scale_decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits_ok = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits_ok(whole) || !digits_ok(fraction) || fraction.len() > 18 {
        return None;
    }
    let mut value = whole.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    if !fraction.is_empty() {
        let power = 10u128.pow(u32::try_from(fraction.len()).ok()?);
        let part = fraction.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
        if part % power != 0 {
            return None;
        }
        value = value.checked_add(part / power)?;
    }
    u64::try_from(value).ok()
}

/// Writes `value` with the largest suffix that divides it exactly.
fn write_quantity(f: &mut fmt::Formatter<'_>, value: u64, suffixes: &[Suffix]) -> fmt::Result {
    let best = suffixes
        .iter()
        .filter(|(name, scale)| value.is_multiple_of(*scale) && value >= *scale && name.is_ascii() && !name.starts_with("KB"))
        .max_by_key(|(_, scale)| *scale);
    let (name, scale) = best.copied().unwrap_or(suffixes[0]);
    write!(f, "{}{}", value / scale, name)
}

macro_rules! quantity {
    ($type:ident, $table:ident, $kind:literal, $example:literal) => {
        impl FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                parse_quantity(text, $table)
                    .map($type)
                    .map_err(|why| format!(concat!("{}: expected ", $kind, " such as ", $example), why))
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_quantity(f, self.0, $table)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "x-unit": $kind, "x-example": $example})
            }
        }
    };
}

quantity!(Nanos, DURATION, "a duration", "\"50us\"");
quantity!(Bytes, SIZE, "a size", "\"16KiB\"");
quantity!(Rate, RATE, "a data rate", "\"133MB/s\"");
quantity!(Frequency, FREQUENCY, "a frequency", "\"400MHz\"");
quantity!(Current, CURRENT, "a current", "\"25mA\"");
quantity!(Voltage, VOLTAGE, "a voltage", "\"3.3V\"");
quantity!(Power, POWER, "a power", "\"250mW\"");
quantity!(Energy, ENERGY, "an energy", "\"40pJ\"");
quantity!(TransferRate, TRANSFERS, "a transfer rate", "\"1200MT/s\"");

impl Serialize for SimTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for SimTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(SimTime)
    }
}

/// Checks a unit string against the kind that its schema names (`x-unit`). Called by the validator of descriptions.
pub fn check_unit_string(kind: &str, text: &str) -> Result<(), String> {
    match kind {
        "a duration" => text.parse::<Nanos>().map(drop),
        "a size" => text.parse::<Bytes>().map(drop),
        "a data rate" => text.parse::<Rate>().map(drop),
        "a frequency" => text.parse::<Frequency>().map(drop),
        "a current" => text.parse::<Current>().map(drop),
        "a voltage" => text.parse::<Voltage>().map(drop),
        "a power" => text.parse::<Power>().map(drop),
        "an energy" => text.parse::<Energy>().map(drop),
        "a transfer rate" => text.parse::<TransferRate>().map(drop),
        other => Err(format!("no such dimension `{other}`")),
    }
}

/// Returns a regular expression for the unit strings of a kind (`x-unit`), for schemas. It accepts a few texts that
/// [`check_unit_string`] refuses: numbers that do not fit, or that have a fraction below one base unit.
pub fn pattern(kind: &str) -> Option<String> {
    let suffixes = match kind {
        "a duration" => DURATION,
        "a size" => SIZE,
        "a data rate" => RATE,
        "a frequency" => FREQUENCY,
        "a current" => CURRENT,
        "a voltage" => VOLTAGE,
        "a power" => POWER,
        "an energy" => ENERGY,
        "a transfer rate" => TRANSFERS,
        _ => return None,
    };
    let names: Vec<&str> = suffixes.iter().map(|(name, _)| *name).collect();
    Some(format!(r"^\s*_*[0-9][0-9_]*(\.[0-9_]*)?\s*({})\s*$", names.join("|")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_strings_are_exact_and_round_trip() {
        for (text, ns) in [
            ("600us", 600_000),
            ("2µs", 2_000),
            ("2μs", 2_000),
            ("1.5ms", 1_500_000),
            ("4d", 345_600_000_000_000),
            ("2y", 2 * Nanos::YEAR.0),
            ("0ns", 0),
            ("50 us", 50_000),
        ] {
            let parsed: Nanos = text.parse().expect("a valid duration");
            assert_eq!(parsed.0, ns, "{text}");
            assert_eq!(parsed.to_string().parse::<Nanos>(), Ok(parsed));
        }
        assert_eq!("16KiB".parse::<Bytes>().map(|b| b.0), Ok(16384));
        assert_eq!("133MB/s".parse::<Rate>().map(|r| r.0), Ok(133_000_000));
        assert_eq!(
            ("1.25W".parse::<Power>().map(|p| p.0), "2.5pJ".parse::<Energy>().map(|e| e.0)),
            (Ok(1_250_000_000), Ok(2_500_000))
        );
        assert_eq!(("4.4mA".parse::<Current>().map(|i| i.0), "3.3V".parse::<Voltage>().map(|v| v.0)), (Ok(4_400), Ok(3_300)));
        assert_eq!(("2.5W".parse::<Power>().map(|p| p.0), Power(35_000_000).to_string()), (Ok(2_500_000_000), "35mW".to_owned()));
        assert_eq!("4800MT/s".parse::<TransferRate>().map(|r| r.0), Ok(4_800_000_000));
    }

    #[test]
    fn wrong_units_are_refused_with_the_reason() {
        let complaint = |text: &str| text.parse::<Nanos>().expect_err("must be refused");
        assert!(complaint("50").contains("without a unit"));
        assert!(complaint("-3us").contains("negative"));
        assert!(complaint("3 parsecs").contains("unknown unit `parsecs`"));
        assert!(complaint("0.3ns").contains("not a number"), "fractions of a nanosecond are not dropped silently");
        assert!(complaint("us").contains("not a number"));
        assert!("99999999999TiB".parse::<Bytes>().is_err());
    }

    #[test]
    fn transfer_times_round_up_once() {
        assert_eq!(Rate(133_000_000).time_for(Bytes(4096)), Nanos(30_797));
        assert_eq!(TransferRate(1_200_000_000).time_for(Bytes(4096)), Nanos(3414));
        assert_eq!(TransferRate(4_800_000_000).time_for(Bytes(1)), Nanos(1), "a fast bus is never free");
        assert_eq!(Rate(0).time_for(Bytes(4096)), Nanos::ZERO);
    }
}
