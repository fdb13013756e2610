//! fio's syntax of numbers, sizes, times and lists (HOWTO, "Parameter types").

/// Number of bytes, or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent.
    Percent(u64),
    /// Zones of a drive with zones.
    Zones(u64),
}

/// Entries of a list with percentages: each a size and its percentage, if given.
pub type Split = Vec<(u64, Option<u32>)>;

/// Splits `text` into its number and its lower-case suffix.
fn number_and_suffix(text: &str) -> Result<(u64, String), String> {
    let text = text.trim();
    if text.starts_with('(') {
        return Err(format!("`{text}`: arithmetic is not supported: expected the number itself"));
    }
    if text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!("`{text}` is negative: expected a whole number, 0 or more"));
    }
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(rest) => (rest, 16),
        None => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 {
        return Err(format!("`{text}` is not a number: expected a whole number, with or without a suffix"));
    }
    let number = u64::from_str_radix(&digits[..end], radix).map_err(|_| too_large(text))?;
    Ok((number, digits[end..].trim().to_ascii_lowercase()))
}

fn too_large(text: &str) -> String {
    format!("`{text}` is too large: expected less than 2^64")
}

/// Parses a whole number with fio's size suffixes. With fio's default `kb_base=1024`, `k`, `kb`, `m`, ... are powers of
/// 1024 and `ki`, `kib`, `mi`, ... powers of 1000 (HOWTO, "Parameter types", int).
pub fn integer(text: &str) -> Result<u64, String> {
    let (number, suffix) = number_and_suffix(text)?;
    let bare = suffix.strip_suffix('b').unwrap_or(&suffix);
    let (prefix, base) = match bare.strip_suffix('i') {
        Some(prefix) if !prefix.is_empty() => (prefix, 1000u64),
        _ => (bare, 1024),
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => {
            return Err(format!(
                "`{text}`: unknown suffix `{suffix}`: expected k, m, g, t, p (powers of 1024), ki, mi, ... (of 1000)"
            ));
        }
    };
    number.checked_mul(base.pow(power)).ok_or_else(|| too_large(text))
}

/// Returns true if `text` has a suffix such as `GiB`, which means a power of 1000 to fio.
pub fn opposite_unit(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["ki", "mi", "gi", "ti", "pi"].iter().any(|unit| lower.contains(unit))
}

/// Parses a size in bytes, a percentage or a number of zones.
pub fn amount(text: &str) -> Result<Amount, String> {
    let text = text.trim();
    if let Some(zones) = text.strip_suffix(['z', 'Z']).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return zones.parse().map(Amount::Zones).map_err(|_| format!("`{text}`: expected a number of zones, such as 8z"));
    }
    match text.strip_suffix('%') {
        Some(percent) => {
            let (number, suffix) = number_and_suffix(percent)?;
            if suffix.is_empty() {
                Ok(Amount::Percent(number))
            } else {
                Err(format!("`{text}` is not a percentage: expected a whole number and `%`, such as 50%"))
            }
        }
        None => integer(text).map(Amount::Bytes),
    }
}

/// Parses a time \[ns\]; a number without a suffix counts units of `unit_ns` (HOWTO, "Parameter types", time).
pub fn time(text: &str, unit_ns: u64) -> Result<u64, String> {
    let too_long = || format!("`{}` is too long: expected at most {}s, 584 years", text.trim(), u64::MAX / 1_000_000_000);
    let (number, suffix) = number_and_suffix(text)?;
    let scale = match suffix.as_str() {
        "" => unit_ns,
        "us" | "usec" | "µs" | "μs" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(format!("`{text}`: unknown time suffix `{suffix}`: expected us, ms, s, m, h or d")),
    };
    number.checked_mul(scale).ok_or_else(too_long)
}

/// Parses a time or a range of times \[ns\]; the bounds may come in either order.
pub fn time_range(text: &str, unit_ns: u64) -> Result<(u64, u64), String> {
    let parts: Vec<&str> = text.split(['-', ':']).collect();
    match parts[..] {
        [one] => time(one, unit_ns).map(|ns| (ns, ns)),
        [low, high] => {
            let (low, high) = (time(low, unit_ns)?, time(high, unit_ns)?);
            Ok((low.min(high), low.max(high)))
        }
        _ => Err(format!("`{text}`: expected a time or a range of times, such as 10-20")),
    }
}

/// Parses a number between `low` and `high`, both included.
pub fn within(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let number = integer(text)?;
    if (low..=high).contains(&number) { Ok(number) } else { Err(format!("{number} is out of range: expected {low}..={high}")) }
}

/// Parses a flag or a boolean: an absent value or `1` means set, `0` clear.
pub fn flag(text: Option<&str>) -> Result<bool, String> {
    match text.map(str::trim) {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(format!("`{other}` is not a flag: expected no value, 0 or 1")),
    }
}

/// Parses a comma-separated list for reads, writes and trims (HOWTO, "blocksize"). An empty entry keeps the default.
/// The last entry also applies to the operations that follow, unless a comma ends the list.
pub fn by_operation<T: Clone>(text: &str, default: &T, parse: impl Fn(&str) -> Result<T, String>) -> Result<[T; 3], String> {
    let mut entries: Vec<&str> = text.split(',').collect();
    let closed = entries.len() > 1 && entries.last().is_some_and(|last| last.trim().is_empty());
    if closed {
        entries.pop();
    }
    if entries.len() > 3 {
        return Err(format!("`{text}` has {} entries: expected at most three (read, write, trim)", entries.len()));
    }
    let mut values = [default.clone(), default.clone(), default.clone()];
    for (index, entry) in entries.iter().enumerate() {
        if entry.trim().is_empty() {
            continue;
        }
        let value = parse(entry)?;
        if index + 1 == entries.len() && !closed {
            values[index..].fill(value);
        } else {
            values[index] = value;
        }
    }
    Ok(values)
}

/// Parses `a/b:c/d`: pairs whose second number is a percentage and may be blank.
pub fn split(text: &str, first: impl Fn(&str) -> Result<u64, String>) -> Result<Split, String> {
    let mut parts = Vec::new();
    for entry in text.split(':') {
        let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let percent = match percent.trim() {
            "" => None,
            digits => Some(
                digits
                    .parse::<u32>()
                    .ok()
                    .filter(|p| *p <= 100)
                    .ok_or_else(|| format!("`{digits}` is not a percentage: expected 0..=100"))?,
            ),
        };
        parts.push((first(size)?, percent));
    }
    Ok(parts)
}

/// Returns the percentages of `parts`, with the remainder divided evenly among the blanks; they must add up to 100.
pub fn percentages(parts: &[Option<u32>]) -> Result<Vec<f64>, String> {
    let given: u32 = parts.iter().flatten().sum();
    let blanks = parts.iter().filter(|percent| percent.is_none()).count();
    if given > 100 || (blanks == 0 && given < 100) {
        return Err(format!("the percentages add up to {given}: expected 100, or one left blank for the rest"));
    }
    let rest = f64::from(100 - given) / blanks.max(1) as f64;
    Ok(parts.iter().map(|percent| percent.map_or(rest, f64::from)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_fio() {
        let cases: [(&str, u64); 12] = [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4KB", 4096),
            ("4ki", 4000),
            ("4KiB", 4000),
            ("1g", 1 << 30),
            ("1T", 1 << 40),
            ("512b", 512),
            ("0x1000", 4096),
            ("1m", 1 << 20),
        ];
        for (text, bytes) in cases {
            assert_eq!(integer(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "4q", "-1", "1.5g", "(4*2)", "99999999999999999999", "16777216p"] {
            assert!(integer(text).is_err(), "{text}");
        }
        assert!(opposite_unit("1GiB") && !opposite_unit("1g"));
    }

    #[test]
    fn times_have_a_default_unit() {
        assert_eq!(time("10", 1_000_000_000), Ok(10_000_000_000));
        assert_eq!(time("10", 1_000), Ok(10_000));
        assert_eq!(time("5ms", 1_000), Ok(5_000_000));
        assert_eq!((time("5µs", 1), time("5μs", 1)), (Ok(5_000), Ok(5_000)));
        assert_eq!(time("2M", 1), Ok(120_000_000_000));
        assert_eq!(time_range("9-3", 1), Ok((3, 9)));
        assert!(time("3w", 1).is_err());
    }

    #[test]
    fn lists_by_operation() {
        let list = |text| by_operation(text, &4096, integer).expect("a list");
        assert_eq!(list("256k"), [262_144; 3]);
        assert_eq!(list("8k,32k"), [8192, 32_768, 32_768]);
        assert_eq!(list("8k,32k,"), [8192, 32_768, 4096]);
        assert_eq!(list(",8k"), [4096, 8192, 8192]);
        assert_eq!(list(",8k,"), [4096, 8192, 4096]);
        assert!(by_operation("1,2,3,4", &1, integer).is_err());
    }

    #[test]
    fn blanks_share_the_rest() {
        assert_eq!(percentages(&[Some(50), None, None]), Ok(vec![50.0, 25.0, 25.0]));
        assert!(percentages(&[Some(60), Some(60)]).is_err());
        assert!(percentages(&[Some(60), Some(30)]).is_err());
    }
}
