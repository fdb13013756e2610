//! Unit strings (`4KiB`, `50us`): read exactly, or refused.

use crate::{Number, text};
use arbitrary::Arbitrary;
use kit::units::check_unit_string;
use kit::{Bytes, Current, Energy, Frequency, Nanos, Power, Rate, TransferRate, Voltage};
use std::fmt::{Debug, Display};
use std::str::FromStr;

const UNITS: [&str; 20] =
    ["ns", "us", "ms", "s", "min", "h", "d", "w", "y", "B", "KiB", "MB", "GiB/s", "MHz", "MT/s", "mA", "V", "mW", "pJ", ""];

#[derive(Arbitrary, Debug)]
struct Quantity {
    number: Number,
    gap: bool,
    unit: u8,
}

/// Checks one unit string as every dimension.
pub fn check(input: &[u8]) {
    if let Some(Quantity { number, gap, unit }) = text::typed(input) {
        let gap = if gap { " " } else { "" };
        check_text(&format!("{number}{gap}{}", UNITS[usize::from(unit) % UNITS.len()]));
    } else if let Some(text) = text::plain(input) {
        check_text(text);
    }
}

fn check_text(text: &str) {
    one::<Nanos>("a duration", text);
    one::<Bytes>("a size", text);
    one::<Rate>("a data rate", text);
    one::<Frequency>("a frequency", text);
    one::<Current>("a current", text);
    one::<Voltage>("a voltage", text);
    one::<Power>("a power", text);
    one::<Energy>("an energy", text);
    one::<TransferRate>("a transfer rate", text);
}

/// Checks that a quantity is read back from the text in which it is written.
fn one<T: FromStr<Err = String> + Display + Debug + PartialEq>(kind: &str, text: &str) {
    let read = text.parse::<T>();
    assert_eq!(check_unit_string(kind, text).is_ok(), read.is_ok(), "{kind} `{text}`");
    match read {
        Ok(value) => assert_eq!(value.to_string().parse::<T>().as_ref(), Ok(&value), "{kind} `{text}`"),
        Err(why) => assert!(why.contains("expected"), "{kind} `{text}`: {why}"),
    }
}
