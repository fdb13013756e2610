//! A measured code as kept in a file, and the limits that follow from it.

use crate::notation::parse_code;
use ecc::codec::Counted;
use ecc::codec::limit::correctable;
use ecc::{Code, Ldpc};
use serde::Deserialize;

/// Failure rate at which the limit of a measured code is taken: one that can be counted in a minute.
pub(crate) const TARGET: f64 = 1e-3;

/// A measurement as stored in a file.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CodeFile {
    version: Option<u64>,
    code: String,
    /// Points by number of soft levels: 0, 1, 2, ...
    pub soft: Vec<Level>,
}

/// Points with one number of soft levels.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Level {
    pub soft_levels: u32,
    pub points: Vec<Point>,
}

/// Counts of one channel.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Point {
    rber: f64,
    pub frames: u64,
    pub failed: u64,
    undetected: Option<u64>,
}

impl Level {
    /// Returns raw error rate and counts of the points at which codewords were sent.
    pub fn counts(&self) -> Vec<(f64, Counted)> {
        self.points
            .iter()
            .filter(|point| point.frames > 0 && point.rber > 0.0)
            .map(|point| (point.rber, Counted { frames: point.frames, failed: point.failed, ..Counted::default() }))
            .collect()
    }
}

/// Reads and checks a file.
pub(crate) fn read(text: &str) -> Result<CodeFile, String> {
    let wrong = |why: String| format!("not a measurement of a code, as `ssdlab cell code --out` writes it: {why}");
    let kept: CodeFile = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if let Some(version) = kept.version.filter(|version| *version != 1) {
        return Err(wrong(format!("version {version}: expected 1")));
    }
    for level in &kept.soft {
        for (index, point) in level.points.iter().enumerate() {
            let place = format!("soft levels {}, point {}", level.soft_levels, index + 1);
            let undetected = point.undetected.unwrap_or(0);
            if point.failed > point.frames || undetected > point.failed {
                return Err(wrong(format!(
                    "{place}: {} frames, {} failed, {undetected} of them undetected: expected no more of each than of the one before",
                    point.frames, point.failed
                )));
            }
            if !(point.rber > 0.0 && point.rber < 0.5) {
                return Err(wrong(format!("{place}: rber {}: expected an error rate above 0, below 0.5", point.rber)));
            }
        }
    }
    Ok(kept)
}

/// Returns the measured code: its limits with each number of soft levels, at the failure rate that could be counted.
///
/// # Errors
/// An error if `text` is no such measurement, or if its points do not bracket that failure rate.
pub fn limits_of(text: &str) -> Result<Code, String> {
    let kept = read(text)?;
    let code = parse_code(&kept.code)?;
    let Code::Ldpc(ldpc) = code else {
        return Ok(code);
    };
    let mut limits = Vec::new();
    for (levels, level) in kept.soft.iter().enumerate() {
        if level.soft_levels as usize != levels {
            return Err(format!("soft levels {} where {levels} should stand: expected 0, 1, 2, ... in turn", level.soft_levels));
        }
        let limit = correctable(&level.counts(), TARGET);
        limits.push(limit.ok_or_else(|| {
            format!("with {levels} soft levels no two error rates enclose a failure rate of {TARGET}: measure more of them")
        })?);
    }
    if limits.is_empty() {
        return Err("no measurements".to_owned());
    }
    Ok(Code::Ldpc(Ldpc { limits, failure_at_limit: TARGET, ..ldpc }))
}
