//! Numbers as a text may write them: valid ones, those at the limits of a type, and those that only look like one.

use arbitrary::Arbitrary;
use std::fmt::{self, Display, Formatter};

/// Number in a text.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A small integer.
    Small(u8),
    /// An integer of up to 32 bits.
    Medium(u32),
    /// An integer near a power of two, where types and limits end.
    Near(u8, i8),
    /// Any integer.
    Whole(u64),
    /// An integer, a point, and a number of digits behind it.
    Point(u32, u32, u8),
    /// A mantissa and an exponent.
    Exponent(u32, i16),
    /// A floating-point number, infinities and NaN included.
    Float(f64),
    /// A negative integer.
    Negative(u32),
    /// A number of leading zeros, and an integer behind them.
    Zeros(u8, u32),
    /// A number of nines.
    Long(u8),
    /// A hexadecimal integer.
    Hexadecimal(u64),
    /// Nothing.
    Absent,
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Small(number) => write!(f, "{number}"),
            Number::Medium(number) => write!(f, "{number}"),
            Number::Near(bit, offset) => write!(f, "{}", ((1i128 << (bit % 66)) + i128::from(offset)).max(0)),
            Number::Whole(number) => write!(f, "{number}"),
            Number::Point(whole, part, digits) => write!(f, "{whole}.{part:0width$}", width = usize::from(digits % 32)),
            Number::Exponent(mantissa, exponent) => write!(f, "{mantissa}e{exponent}"),
            Number::Float(number) => write!(f, "{number:?}"),
            Number::Negative(number) => write!(f, "-{number}"),
            Number::Zeros(count, number) => write!(f, "{:0width$}", number, width = usize::from(count)),
            Number::Long(count) => write!(f, "{}", "9".repeat(usize::from(count))),
            Number::Hexadecimal(number) => write!(f, "{number:#x}"),
            Number::Absent => Ok(()),
        }
    }
}
