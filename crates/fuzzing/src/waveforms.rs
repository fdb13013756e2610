//! Waveform tables (CSV).

use crate::Number;
use crate::text;
use arbitrary::Arbitrary;
use flash::power::Steps;
use kit::Nanos;

#[derive(Arbitrary, Debug)]
struct Table {
    header: bool,
    rows: Vec<(Time, Number, u8)>,
}

/// Time of a step: mostly later than the one before it.
#[derive(Arbitrary, Debug)]
enum Time {
    After(u16),
    Any(Number),
}

/// Largest number of steps that a table may have.
const STEPS_MAX: usize = 4096;

/// Checks a table.
pub fn check(input: &[u8]) {
    if let Some(table) = text::typed::<Table>(input) {
        let mut text = if table.header { "time_us,current_ma\n" } else { "# none\n" }.to_owned();
        let mut at = 0u64;
        for (time, current, more) in &table.rows {
            let tail = ["", " ", ",", "\r"][usize::from(*more) % 8 % 4];
            let time = match time {
                Time::After(span) => {
                    let this = at;
                    at += u64::from(*span);
                    format!("{}.{:03}", this / 1000, this % 1000)
                }
                Time::Any(number) => number.to_string(),
            };
            text += &format!("{time},{current}{tail}\n");
        }
        check_text(&text);
    } else if let Some(text) = text::plain(input) {
        check_text(text);
    }
}

fn check_text(text: &str) {
    match Steps::parse(text) {
        Ok(read) => {
            assert!((1..=STEPS_MAX).contains(&read.steps.len()), "{} steps", read.steps.len());
            assert_eq!(read.steps[0].at, Nanos::ZERO);
            assert!(read.steps.windows(2).all(|pair| pair[0].at < pair[1].at), "{read:?}");
            assert!(read.steps.last().is_some_and(|last| last.at < read.length), "{read:?}");
            assert_eq!(Steps::parse(&written(&read)), Ok(read), "it is read as it is written");
        }
        Err((line, why)) => {
            assert!((1..=text.lines().count().max(1)).contains(&line), "line {line} of {}", text.lines().count());
            assert!(!why.is_empty(), "a refusal without a reason");
        }
    }
}

fn written(steps: &Steps) -> String {
    let row = |at: Nanos, ua: u64| format!("{}.{:03},{}.{:03}\n", at.0 / 1000, at.0 % 1000, ua / 1000, ua % 1000);
    let rows: String = steps.steps.iter().map(|step| row(step.at, step.current.0)).collect();
    format!("time_us,current_ma\n{rows}{}", row(steps.length, 0))
}
