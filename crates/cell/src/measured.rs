//! Error rates measured by the user: a table over wear and age, with one error rate for all pages or one for each page
//! type.

use crate::condition::{Condition, Estimate};
use kit::{Nanos, Problems};

/// Length of a day \[ns\].
const DAY_NS: f64 = 8.64e13;

/// One measurement, a row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Program and erase cycles.
    pub pe_cycles: f64,
    /// Age of the data \[days\].
    pub days: f64,
    /// Error rates by page type, LSB first.
    pub pages: Vec<f64>,
}

impl Row {
    /// Returns the cycles; a negative zero, which another order would put first, is zero.
    fn wear(&self) -> f64 {
        self.pe_cycles + 0.0
    }

    /// Returns the age \[days\], likewise.
    fn age(&self) -> f64 {
        self.days + 0.0
    }
}

/// Most combinations of wear and age that are named if they are missing, or given more than once. A table whose rows
/// have nothing in common would lack nearly as many as it has rows, squared.
const NAMED_MAX: usize = 50;

/// Returns the logarithms of the error rates by wear and age; an error if a combination has not one row.
fn ln_rates(name: &str, rows: &[Row], pe_cycles: &[f64], days: &[f64]) -> Result<Vec<Vec<f64>>, Problems> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| a.wear().total_cmp(&b.wear()).then(a.age().total_cmp(&b.age())));
    let mut problems = Problems::default();
    let (mut ln_rates, mut rest) = (Vec::new(), &sorted[..]);
    for (wear, age) in pe_cycles.iter().flat_map(|wear| days.iter().map(move |age| (*wear, *age))) {
        if problems.0.len() == NAMED_MAX {
            break;
        }
        let count = rest.iter().take_while(|row| row.wear() == wear && row.age() == age).count();
        let (here, behind) = rest.split_at(count);
        rest = behind;
        match here {
            [row] => ln_rates.push(row.pages.iter().map(|rate| libm::log(*rate)).collect()),
            [] => problems.add(name, format!("{wear} cycles, {age} days: missing; expected every age at every wear")),
            _ => problems.add(name, format!("{wear} cycles, {age} days: given more than once, expected once")),
        }
    }
    problems.or(ln_rates)
}

/// Complete table of measurements: one for every combination of wear and age.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    name: String,
    pe_cycles: Vec<f64>,
    days: Vec<f64>,
    /// Logarithms of the error rates, by wear, then age, then page type.
    ln_rates: Vec<Vec<f64>>,
}

impl Measured {
    /// Builds a table from `rows` in any order. `name` is used in messages.
    pub fn of(name: &str, rows: &[Row]) -> Result<Measured, Problems> {
        let mut problems = Problems::default();
        for (index, row) in rows.iter().enumerate() {
            let place = format!("{name}, row {}", index + 1);
            if !(row.pe_cycles.is_finite() && row.pe_cycles >= 0.0 && row.days.is_finite() && row.days >= 0.0) {
                problems.add(&place, "expected non-negative numbers for cycles and days");
            }
            if let Some(rate) = row.pages.iter().find(|rate| !(**rate > 0.0 && **rate <= 0.5)) {
                problems.add(&place, format!("error rate {rate}: expected a number above 0, at most 0.5"));
            }
            if row.pages.len() != rows[0].pages.len() || !(1..=4).contains(&row.pages.len()) {
                problems.add(&place, format!("{} error rates: expected one for each page type, 1 to 4", row.pages.len()));
            }
        }
        if rows.is_empty() {
            problems.add(name, "no measurements: expected at least one row");
        }
        problems.or(())?;
        let axis = |of: fn(&Row) -> f64| {
            let mut values: Vec<f64> = rows.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (pe_cycles, days) = (axis(Row::wear), axis(Row::age));
        let ln_rates = ln_rates(name, rows, &pe_cycles, &days)?;
        Ok(Measured { name: name.to_owned(), pe_cycles, days, ln_rates })
    }

    /// Returns the number of page types in the table.
    pub fn page_types(&self) -> usize {
        self.ln_rates[0].len()
    }

    /// Returns error rates interpolated between measurements: their logarithm is linear in wear and in the logarithm of
    /// 1 + days. Outside the table the nearest measurement is used, with a note in the estimate.
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        let days = condition.age.0 as f64 / DAY_NS;
        let mut outside = Vec::new();
        let mut place = |axis: &[f64], value: f64, what: &str, scale: fn(f64) -> f64| {
            let (first, last) = (axis[0], axis[axis.len() - 1]);
            if value < first || value > last {
                outside.push(format!("{}: {value:.0} {what}, measured from {first} to {last}", self.name));
            }
            let upper = axis.partition_point(|known| *known <= value).clamp(1, axis.len().max(2) - 1).min(axis.len() - 1);
            let lower = upper.saturating_sub(1);
            let (from, to) = (scale(axis[lower]), scale(axis[upper]));
            let share = if to > from { ((scale(value) - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
            (lower, upper, share)
        };
        let wear = place(&self.pe_cycles, condition.pe_cycles, "cycles", |x| x);
        let age = place(&self.days, days, "days", libm::log1p);
        let at = |wear: usize, age: usize, page: usize| self.ln_rates[wear * self.days.len() + age][page];
        let between = |a: f64, b: f64, share: f64| a + (b - a) * share;
        let pages = (0..self.page_types())
            .map(|page| {
                let row = |w: usize| between(at(w, age.0, page), at(w, age.1, page), age.2);
                libm::exp(between(row(wear.0), row(wear.1), wear.2))
            })
            .collect();
        if condition.reads > 0.0 {
            outside.push(format!("{}: the table has no read disturb: reads are ignored", self.name));
        }
        Estimate { pages, outside }
    }

    /// Returns the largest wear and the largest age in the table.
    pub fn extent(&self) -> (f64, Nanos) {
        let last = |axis: &[f64]| axis[axis.len() - 1];
        (last(&self.pe_cycles), Nanos((last(&self.days) * DAY_NS) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pe_cycles: f64, days: f64, rate: f64) -> Row {
        Row { pe_cycles, days, pages: vec![rate, 2.0 * rate] }
    }

    fn at(pe_cycles: f64, days: f64) -> Condition {
        Condition { pe_cycles, age: Nanos((days * DAY_NS) as u64), ..Condition::default() }
    }

    #[test]
    fn measurements_are_met_and_joined() {
        let rows = [row(1000.0, 0.0, 1e-4), row(0.0, 0.0, 1e-5), row(0.0, 30.0, 2e-5), row(1000.0, 30.0, 4e-4)];
        let table = Measured::of("mine.csv", &rows).expect("a full table");
        let met = table.estimate(&at(1000.0, 30.0));
        assert!((met.pages[0] / 4e-4 - 1.0).abs() < 1e-9 && (met.pages[1] / 8e-4 - 1.0).abs() < 1e-9 && met.outside.is_empty());
        let half = table.estimate(&at(500.0, 0.0)).pages[0];
        assert!((half / (1e-5f64 * 1e-4).sqrt() - 1.0).abs() < 1e-9, "{half}");
        let beyond = table.estimate(&at(5000.0, 60.0));
        assert!((beyond.pages[0] / 4e-4 - 1.0).abs() < 1e-9);
        assert_eq!(beyond.outside.len(), 2, "{:?}", beyond.outside);
        let single = Measured::of("one", &[row(5.0, 1.0, 1e-3)]).expect("one point");
        assert!((single.estimate(&at(5.0, 1.0)).pages[0] / 1e-3 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        let gap = Measured::of("t", &[row(0.0, 0.0, 1e-5), row(10.0, 5.0, 1e-4)]).expect_err("two holes");
        assert_eq!(gap.0.len(), 2, "{gap}");
        let bad = Measured::of("t", &[row(-1.0, 0.0, 1e-5), row(0.0, 0.0, 0.7)]).expect_err("two bad rows");
        assert!(bad.to_string().contains("row 1") && bad.to_string().contains("row 2"), "{bad}");
        assert!(Measured::of("t", &[]).is_err());
        assert!(Measured::of("t", &[row(0.0, 0.0, 1e-5), row(0.0, 0.0, 1e-4)]).is_err());
        assert!(Measured::of("t", &[row(0.0, 0.0, 1e-5), row(-0.0, 0.0, 1e-4)]).is_err());
    }

    /// A table of rows that have neither wear nor age in common is refused at once: it lacks 10^10 combinations.
    #[test]
    fn of_what_is_missing_only_the_first_is_named() {
        let rows: Vec<Row> = (0..100_000).map(|at| row(f64::from(at), f64::from(at), 1e-5)).collect();
        assert_eq!(Measured::of("t", &rows).expect_err("it lacks most").0.len(), NAMED_MAX);
    }
}
