//! A part from a user's table of measured error rates.

use crate::part::{Part, Target};
use cell::measured::{Measured, Row};
use cell::{Device, Technology};
use ecc::{Bch, Code};
use kit::Problems;

/// Builds a part from a user's measurements.
pub(crate) fn measured_part(name: &str, text: &str) -> Result<Part, Problems> {
    let rows = measured_rows(name, text)?;
    let table = Measured::of(name, &rows)?;
    let (max_wear, _) = table.extent();
    let code = Code::Bch(Bch { data_bits: 32_768, t: 110 });
    Ok(Part {
        name: name.to_owned(),
        summary: "your measurements",
        device: Device::of(Technology::Measured(table), max_wear.max(1.0) as u32),
        code,
        target: Target::Failure(1e-15),
        own_limit: None,
        read_time: None,
        program_time: None,
        erase_time: None,
        parameters: Vec::new(),
    })
}

/// Parses the rows of a table of measurements; `name` is used in messages.
pub fn measured_rows(name: &str, text: &str) -> Result<Vec<Row>, Problems> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| Problems::one(name, error.to_string()))?.clone();
    let wanted = "expected the columns pe_cycles, days, and one error rate for each page type, such as lsb, msb";
    let column = |title: &str| headers.iter().position(|header| header == title);
    let (Some(wear), Some(days)) = (column("pe_cycles"), column("days")) else {
        return Err(Problems::one(format!("{name}:1"), wanted));
    };
    if headers.len() < 3 {
        return Err(Problems::one(format!("{name}:1"), wanted));
    }
    let mut problems = Problems::default();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                problems.add(format!("{name}:{line}"), error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        let fields: Vec<Option<f64>> = record.iter().map(|field| field.parse().ok()).collect();
        if let Some(bad) = fields.iter().position(Option::is_none) {
            problems.add(format!("{name}:{line}"), format!("{} = \"{}\": expected a number", &headers[bad], &record[bad]));
            continue;
        }
        let numbers: Vec<f64> = fields.into_iter().flatten().collect();
        let pages = numbers.iter().enumerate().filter(|(at, _)| *at != wear && *at != days).map(|(_, rate)| *rate).collect();
        rows.push(Row { pe_cycles: numbers[wear], days: numbers[days], pages });
    }
    problems.or(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_become_a_part() {
        let csv = "# of my chips\npe_cycles, days, lsb, msb\n0, 0, 1e-5, 2e-5\n0, 30, 2e-5, 3e-5\n1000, 0, 1e-4, 2e-4\n1000, 30, 3e-4, 5e-4\n";
        let part = measured_part("mine.csv", csv).expect("a full table");
        assert_eq!((part.device.technology.page_types(), part.device.rated_pe_cycles), (2, 1000));
        let bad =
            measured_part("mine.csv", "pe_cycles,days,lsb\n0,0,1e-5\n0,x,1e-5\n0,1\n").expect_err("two bad lines").to_string();
        assert!(bad.contains("mine.csv:3: days = \"x\"") && bad.contains("mine.csv:4"), "{bad}");
        assert!(
            measured_part("mine.csv", "cycles,lsb\n1,2\n").expect_err("no such columns").to_string().contains("pe_cycles, days")
        );
    }
}
