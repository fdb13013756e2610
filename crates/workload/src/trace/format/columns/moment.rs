//! Instants of a calendar (ISO 8601) and of the Unix clock, with or without a time zone.

/// Parses `field` as an instant, and returns the nanoseconds since 1970-01-01 00:00 UTC; `None` if it is not one, or
/// before 1970.
///
/// Accepted: `2024-05-01T12:00:00.25Z`, with `T` or a blank between date and time, seconds and their fraction optional,
/// and `Z`, `+02:00`, `+0200`, `+02` or nothing (UTC) as the zone; and seconds since 1970, whose zone, if there is one,
/// says only how to show them. Leap seconds count as the second after them.
pub fn nanoseconds(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim();
    if text.as_bytes().get(4) != Some(&b'-') {
        let (seconds, zone) = split_zone(text);
        zone_seconds(zone.trim())?;
        return crate::trace::fields::decimal(seconds.trim_end().as_bytes(), 9);
    }
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let (clock, zone) = split_zone(clock);
    let (whole, fraction) = clock.trim_end().split_once('.').unwrap_or((clock.trim_end(), ""));
    let parts: Vec<&str> = whole.split(':').collect();
    let (hour, minute, second) = match parts[..] {
        [hour, minute] if fraction.is_empty() => (digits(hour, 2)?, digits(minute, 2)?, 0),
        [hour, minute, second] => (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone_seconds(zone.trim())?;
    let fraction = if fraction.is_empty() { 0 } else { crate::trace::fields::decimal(format!(".{fraction}").as_bytes(), 9)? };
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Splits `text` before its zone.
fn split_zone(text: &str) -> (&str, &str) {
    text.find(['Z', 'z', '+', '-']).map_or((text, ""), |at| text.split_at(at))
}

/// Returns the offset of a zone from UTC \[s\].
fn zone_seconds(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let text = zone.get(1..)?.replacen(':', "", 1);
    let (hours, minutes) = match text.len() {
        2 => (digits(&text, 2)?, 0),
        4 => (digits(text.get(..2)?, 2)?, digits(text.get(2..)?, 2)?),
        _ => return None,
    };
    (hours <= 14 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let days_before_year = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    /// Days from 0001-01-01 to 1970-01-01.
    const EPOCH: i64 = 719_162;
    days_before_year + (1..month).map(|earlier| days_of(year, earlier)).sum::<i64>() + day - 1 - EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_with_and_without_zones() {
        for (text, seconds, fraction) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2000-03-01T00:00:00Z", 951_868_800, 0),
            ("2024-02-29 23:59:59.000000001+00:00", 1_709_251_199, 1),
            ("2019-12-31T17:22:24.360767-06:00", 1_577_834_544, 360_767_000),
            ("2020-01-01T00:42:24+0200", 1_577_832_144, 0),
            ("2020-01-01 00:42 +02", 1_577_832_120, 0),
            ("2020-01-01T00:42:24", 1_577_839_344, 0),
            ("1577808144.360767", 1_577_808_144, 360_767_000),
            ("1577808144 +0200", 1_577_808_144, 0),
            ("1577808144Z", 1_577_808_144, 0),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), Some(seconds * 1_000_000_000 + fraction), "{text}");
        }
        for text in [
            "",
            "2020-13-01T00:00:00Z",
            "2021-02-29T00:00:00Z",
            "2020-01-01",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00+25:00",
            "1969-12-31T23:59:59Z",
            "2020-1-1T00:00:00Z",
            "yesterday",
            "2020-01-01T00:00:00X",
            "12:00:00",
            "-5",
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), None, "{text}");
        }
    }
}
