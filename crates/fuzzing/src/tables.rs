//! Tables of measured error rates (CSV), and measurements of codes (JSON).

use crate::Number;
use crate::text;
use arbitrary::Arbitrary;
use cell::Condition;
use cell::measured::Measured;
use kit::Nanos;

#[derive(Arbitrary, Debug)]
enum Table {
    /// A full table over two axes, with some of its fields replaced.
    Full {
        wear: Vec<Number>,
        days: Vec<Number>,
        rates: Vec<Number>,
        replaced: Vec<(u8, u8, Number)>,
    },
    Rows {
        columns: u8,
        rows: Vec<Vec<Number>>,
    },
    Code {
        name: u8,
        levels: Vec<(Number, Vec<Point>)>,
    },
}

#[derive(Arbitrary, Debug)]
struct Point {
    rber: Number,
    frames: Number,
    failed: Number,
    undetected: Option<Number>,
}

const COLUMNS: [&str; 6] = ["pe_cycles", "days", "lsb", "csb", "msb", "top"];
const CODES: [&str; 6] = ["ldpc-448B/4KiB", "bch-110/4KiB", "bch-8/1KiB", "ldpc-0B/4KiB", "bch-99999999999/4KiB", "x-1/2"];
/// Most fields of a full table.
const FIELDS: usize = 12;

/// Checks a table or a measurement: a text that begins with a brace is JSON.
pub fn check(input: &[u8]) {
    match text::typed::<Table>(input) {
        Some(Table::Full { wear, days, rates, replaced }) => {
            let rates = &rates[..rates.len().min(4)];
            let mut text = COLUMNS[..2 + rates.len()].join(",") + "\n";
            for (row, wear) in wear.iter().take(FIELDS).enumerate() {
                for (column, days) in days.iter().take(FIELDS).enumerate() {
                    let mut fields = vec![*wear, *days];
                    fields.extend(rates);
                    for (at, field, number) in &replaced {
                        if usize::from(*at) == row * FIELDS + column {
                            let count = fields.len();
                            fields[usize::from(*field) % count] = *number;
                        }
                    }
                    text += &joined(&fields);
                }
            }
            check_rates(&text);
        }
        Some(Table::Rows { columns, rows }) => {
            let header = COLUMNS[..1 + usize::from(columns) % COLUMNS.len()].join(",");
            check_rates(&format!("{header}\n{}", rows.iter().map(|row| joined(row)).collect::<String>()));
        }
        Some(Table::Code { name, levels }) => check_code(&code_text(name, &levels)),
        None => {
            let Some(text) = text::plain(input) else { return };
            if text.starts_with('{') { check_code(text) } else { check_rates(text) }
        }
    }
}

fn joined(fields: &[Number]) -> String {
    fields.iter().map(Number::to_string).collect::<Vec<_>>().join(",") + "\n"
}

fn code_text(name: u8, levels: &[(Number, Vec<Point>)]) -> String {
    let point = |point: &Point| {
        let Point { rber, frames, failed, undetected } = point;
        let undetected = undetected.map_or_else(String::new, |count| format!(", \"undetected\": {count}"));
        format!("{{\"rber\": {rber}, \"frames\": {frames}, \"failed\": {failed}{undetected}}}")
    };
    let level = |(number, points): &(Number, Vec<Point>)| {
        let points: Vec<String> = points.iter().map(point).collect();
        format!("{{\"soft_levels\": {number}, \"points\": [{}]}}", points.join(", "))
    };
    let levels: Vec<String> = levels.iter().map(level).collect();
    format!("{{\"version\": 1, \"code\": \"{}\", \"soft\": [{}]}}", CODES[usize::from(name) % CODES.len()], levels.join(", "))
}

fn check_rates(text: &str) {
    let rows = match lab::measured_rows("f", text) {
        Ok(rows) => rows,
        Err(problems) => return text::assert_told(&problems),
    };
    match Measured::of("f", &rows) {
        Ok(table) => {
            assert!((1..=4).contains(&table.page_types()));
            let (wear, oldest) = table.extent();
            for pe_cycles in [0.0, wear / 3.0, wear, wear * 2.0] {
                for age in [Nanos::ZERO, Nanos(oldest.0 / 7), oldest, Nanos(u64::MAX)] {
                    let estimate = table.estimate(&Condition { pe_cycles, age, ..Condition::default() });
                    let is_rate = |rate: &f64| *rate > 0.0 && *rate <= 0.5 + 1e-9;
                    assert!(estimate.pages.iter().all(is_rate), "{pe_cycles} cycles, {age}: {estimate:?} of {text}");
                }
            }
        }
        Err(problems) => text::assert_told(&problems),
    }
}

fn check_code(text: &str) {
    match lab::measured_code(text) {
        Ok(ecc::Code::Ldpc(code)) => {
            let is_rate = |limit: &f64| *limit > 0.0 && *limit < 0.5;
            assert!(!code.limits.is_empty() && code.limits.iter().all(is_rate), "{:?} of {text}", code.limits);
        }
        Ok(_) => {}
        Err(why) => assert!(!why.is_empty(), "a refusal without a reason"),
    }
}
