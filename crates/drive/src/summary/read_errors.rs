//! Reads of data with errors: attempts, failures, and the blocks on which they occurred.

use crate::description::Description;
use crate::statistics::Statistics;
use controller::reads::{AttemptCounts, ReadStatistics, WEAR_CLASSES};
use ecc::BlockCode;
use kit::Cause;
use serde_json::{Map, Value, json};

/// Returns the mean time of attempts \[ns\]; `null` if none was made.
fn mean(total_ns: u64, count: u64) -> Value {
    if count > 0 { json!(total_ns as f64 / count as f64) } else { Value::Null }
}

/// Returns the uncorrectable bit error rate (JESD218): codewords that no attempt could correct, per data bit read.
/// `null` if nothing was read.
pub(super) fn uber(description: &Description, reads: &ReadStatistics) -> Value {
    let data_bits = description.correction().map_or(0, |correction| correction.code.data_bits());
    let read = reads.codewords as f64 * data_bits as f64;
    if read > 0.0 { json!(reads.lost_codewords as f64 / read) } else { Value::Null }
}

/// Returns the section `read_errors`.
pub(super) fn section(description: &Description, reads: &ReadStatistics, statistics: &Statistics) -> Value {
    let attempts = reads.max_attempts;
    let attempt = |number: usize, counts: &AttemptCounts| {
        json!({
            "attempt": number + 1,
            "reads": counts.reads,
            "failed": counts.failed,
            "mean_ns": mean(counts.time_ns, counts.reads),
        })
    };
    let made = |counts: &[AttemptCounts]| counts.iter().rposition(|counts| counts.reads > 0).map_or(0, |last| last + 1);
    let all: Vec<AttemptCounts> = (0..attempts).map(|number| reads.of_attempt(number)).collect();
    let of_all = all.iter().enumerate().take(made(&all)).map(|(number, counts)| {
        let mut attempt = attempt(number, counts);
        if let Some(parts) = number.checked_sub(1).map(|retry| &reads.parts[retry]) {
            let causes = Cause::ALL.iter().filter(|cause| parts.get(**cause).0 > 0);
            let causes = causes.map(|cause| (cause.name().to_owned(), mean(parts.get(*cause).0, counts.reads)));
            attempt["causes"] = Value::Object(causes.collect::<Map<_, _>>());
        }
        attempt
    });
    let rated = f64::from(description.flash.rated_pe_cycles);
    let by_wear = reads.attempts.chunks(attempts).enumerate().filter(|(_, counts)| counts[0].reads > 0).map(|(class, counts)| {
        let edge = |class: usize| rated * class as f64 / WEAR_CLASSES as f64;
        json!({
            "from_cycles": edge(class),
            "to_cycles": if class + 1 < WEAR_CLASSES { json!(edge(class + 1)) } else { Value::Null },
            "attempts": counts.iter().enumerate().take(made(counts)).map(|(number, counts)| attempt(number, counts)).collect::<Vec<_>>(),
        })
    });
    json!({
        "media_errors": statistics.media_errors,
        "lost_units": reads.lost_units,
        "codewords": reads.codewords,
        "lost_codewords": reads.lost_codewords,
        "attempts": of_all.collect::<Vec<_>>(),
        "by_wear": by_wear.collect::<Vec<_>>(),
    })
}
