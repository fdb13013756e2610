//! Parses fields of a line: integers and decimals from bytes, exactly and without a copy.

/// Fault in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Subject of the fault: the role of a column, or the line.
    pub what: &'static str,
    /// Bytes found there.
    pub found: Vec<u8>,
    /// Description of a correct value.
    pub expected: String,
}

impl Fault {
    /// Returns a fault of `what`, whose bytes are `found`.
    #[cold]
    pub fn new(what: &'static str, found: &[u8], expected: impl Into<String>) -> Fault {
        Fault { what, found: found[..found.len().min(80)].to_vec(), expected: expected.into() }
    }

    /// Returns the fault as the second half of a message: `offset: found `x`, expected a number`.
    pub fn complaint(&self) -> String {
        format!("{}: found {}, expected {}", self.what, quoted(&self.found), self.expected)
    }
}

/// Returns `bytes` in backquotes, with unprintable characters escaped and long text cut.
pub fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: String = text.trim_end_matches(['\r', '\n']).chars().flat_map(char::escape_debug).collect();
    let text = text.replace("\\'", "'").replace("\\\"", "\"");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None if text.is_empty() => "nothing".to_owned(),
        None => format!("`{text}`"),
    }
}

/// Powers of ten that fit into 64 bits.
const TENS: [u64; 20] = {
    let mut tens = [1u64; 20];
    let mut index = 1;
    while index < 20 {
        tens[index] = tens[index - 1] * 10;
        index += 1;
    }
    tens
};

/// Returns the value and the number of the digits at the start of `bytes`. With 20 or more digits the number is 20 or
/// more and the value is meaningless.
///
/// Eight digits are processed per step, without a branch on their number: the lengths of the numbers in a trace vary,
/// and a loop over bytes would mispredict the end of each number.
#[inline(always)]
pub fn digits(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut count = 0;
    while let Some(word) = bytes[count..].first_chunk::<8>() {
        let digits = u64::from_le_bytes(*word) ^ 0x3030_3030_3030_3030;
        // The high bit of a byte is set if the byte is 10 or more; a carry affects only bytes after the first such
        // byte.
        let marks = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        if marks == 0 {
            value = value.wrapping_mul(TENS[8]).wrapping_add(joined(digits));
            count += 8;
            continue;
        }
        // The shift moves the digits to the high bytes and puts zeros before them.
        let bits = marks.trailing_zeros() & 0x38;
        let part = if bits == 0 { 0 } else { joined(digits << (64 - bits)) };
        let places = bits as usize / 8;
        return (value.wrapping_mul(TENS[places]).wrapping_add(part), count + places);
    }
    while let Some(digit) = bytes.get(count).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// Combines eight digits, the first in the lowest byte, into a number: first pairs, then groups of four, then all
/// eight.
#[inline(always)]
fn joined(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff
}

/// Parses all of `field` as an unsigned integer.
#[inline]
pub fn integer(field: &[u8]) -> Option<u64> {
    let (value, count) = digits(field);
    if count != field.len() || count == 0 {
        return None;
    }
    if count <= 19 { Some(value) } else { std::str::from_utf8(field).ok()?.parse().ok() }
}

/// Parses all of `field` as a hexadecimal integer, with or without `0x`.
pub fn hexadecimal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

/// Parses all of `field` as a decimal number and returns it times `10^power`, rounded half up to an integer; the
/// computation uses integers only. An exponent (`7.5e-05`) is accepted.
#[inline]
pub fn decimal(field: &[u8], power: u32) -> Option<u64> {
    let (whole, count) = digits(field);
    if count > 19 || (count == 0 && field.first() != Some(&b'.')) {
        return slow_decimal(field, power);
    }
    let scaled = whole.checked_mul(TENS[power as usize])?;
    if count == field.len() {
        return Some(scaled);
    }
    if field[count] != b'.' {
        return slow_decimal(field, power);
    }
    let fraction = &field[count + 1..];
    let (part, places) = digits(fraction);
    if places != fraction.len() || places > 19 || (count == 0 && places == 0) {
        return slow_decimal(field, power);
    }
    let power = power as usize;
    let part = if places <= power {
        part * TENS[power - places]
    } else {
        let divisor = TENS[places - power];
        part / divisor + u64::from(part % divisor >= divisor / 2)
    };
    scaled.checked_add(part)
}

/// Parses the rare forms: exponents and very long numbers.
#[cold]
fn slow_decimal(field: &[u8], power: u32) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // The value is `all * 10^shift`.
    let shift = exponent.checked_add(i32::try_from(power).ok()?)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let all = all.trim_start_matches('0');
    if shift >= 0 {
        let value: u64 = if all.is_empty() { 0 } else { all.parse().ok()? };
        return if value == 0 { Some(0) } else { value.checked_mul(10u64.checked_pow(shift.unsigned_abs())?) };
    }
    let drop = shift.unsigned_abs() as usize;
    if drop > all.len() {
        return Some(0);
    }
    let (kept, dropped) = all.split_at(all.len() - drop);
    let value: u64 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    value.checked_add(u64::from(dropped.as_bytes().first().is_some_and(|b| *b >= b'5')))
}

/// Returns the index of the first `byte` in `bytes`; searches eight bytes per step.
#[inline]
pub fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let pattern = LOW * u64::from(byte);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // A byte of `mixed` is zero where `byte` matches; the lowest set high bit marks the first such byte.
        let mixed = u64::from_le_bytes(*word) ^ pattern;
        let marks = mixed.wrapping_sub(LOW) & !mixed & HIGH;
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|b| *b == byte).map(|at| words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_nanoseconds_exactly() {
        for (text, power, ns) in [
            ("1398405332.080820638", 9, 1_398_405_332_080_820_638),
            ("0.026214", 9, 26_214_000),
            ("5265.313", 6, 5_265_313_000),
            ("159273.83748699998", 9, 159_273_837_487_000),
            ("49680.645025000005", 9, 49_680_645_025_000),
            ("0.0000000005", 9, 1),
            ("0.00000000049", 9, 0),
            (".5", 3, 500),
            ("7.", 3, 7000),
            ("7.3902e-05", 9, 73_902),
            ("1e3", 0, 1000),
            ("00000000000000000000000012", 0, 12),
            ("0.00000000000000000000000001", 9, 0),
            ("128166385295514663", 2, 12_816_638_529_551_466_300),
        ] {
            assert_eq!(decimal(text.as_bytes(), power), Some(ns), "{text}");
        }
        for bad in ["", ".", "-1", "1.2.3", "1,5", "12x", "e5", "0x10", "99999999999999999999", "1e99", "nan", " 1"] {
            assert_eq!(decimal(bad.as_bytes(), 9), None, "{bad}");
        }
    }

    #[test]
    fn integers_are_whole_fields() {
        assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
        for bad in ["18446744073709551616", "", "1 ", "+1", "1.0"] {
            assert_eq!(integer(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(hexadecimal(b"0x13690de000"), Some(0x13_690d_e000));
        assert_eq!(hexadecimal(b"0x"), None);
        assert_eq!(hexadecimal(b"0x+1"), None);
    }

    #[test]
    fn digits_end_at_the_first_other_byte() {
        for tail in ["", ",", ",7777777777", "x999", "\u{80}12345678", "/", ":"] {
            for number in
                ["", "0", "7", "42", "00042", "1234567", "12345678", "123456789", "1234567890123456", "9999999999999999999"]
            {
                let text = format!("{number}{tail}");
                assert_eq!(digits(text.as_bytes()), (number.parse().unwrap_or(0), number.len()), "{text}");
            }
        }
        for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            for at in 0..8 {
                let mut word = *b"98765432";
                word[at] = byte;
                let expected = word[..at].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
                assert_eq!(digits(&word), (expected, at), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn a_byte_is_found_wherever_it_lies() {
        for length in 0..40 {
            let mut bytes = vec![b'\x09'; length];
            assert_eq!(find(b'\n', &bytes), None);
            for at in (0..length).rev() {
                bytes[at] = b'\n';
                assert_eq!(find(b'\n', &bytes), Some(at), "{at} of {length}");
            }
        }
    }

    #[test]
    fn quotes_are_printable_and_short() {
        assert_eq!(quoted(b"a\tb\r\n"), "`a\\tb`");
        assert_eq!(quoted(b""), "nothing");
        assert!(quoted(&[0xff; 300]).chars().count() < 70);
    }
}
