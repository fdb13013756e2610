//! A scanned trace as a source of requests.

use super::options::Plan;
use super::place::Placement;
use super::scan::Scan;
use super::select::Selection;
use crate::{Input, Request, Source};
use kit::{Nanos, Problems, SimTime};

/// Source of the selected requests of a trace, pass after pass.
pub struct Replay {
    input: Input,
    scan: Scan,
    plan: Plan,
    placement: Placement,
    selection: Option<Selection>,
    /// Number of passes begun.
    passes: u32,
    /// Time from the start of a pass to the start of the next \[ns\].
    period_ns: u64,
    /// Time of the first selected record of the current pass, since the trace's first record \[ns\].
    first_ns: Option<u64>,
}

/// Returns the time from the start of one pass to the start of the next: the span plus one mean gap \[ns\].
pub fn period_ns(scan: &Scan) -> u64 {
    let span = scan.info.span_ns;
    span.saturating_add(span.checked_div(scan.records - 1).unwrap_or(0))
}

/// Like [`period_ns`], but returns an error if all passes together exceed the range of the clock.
pub fn checked_period_ns(scan: &Scan, plan: &Plan) -> Result<u64, Problems> {
    let period_ns = period_ns(scan);
    let end_ns = u128::from(period_ns) * u128::from(plan.repeat);
    if end_ns >= 1 << 63 || end_ns as f64 / plan.time_scale >= (1u64 << 63) as f64 {
        return Err(Problems::one(
            "repeat",
            format!("{} passes of {} s do not fit 292 years", plan.repeat, period_ns / 1_000_000_000),
        ));
    }
    Ok(period_ns)
}

/// Returns the error for a trace that is not read as it was scanned.
#[cold]
pub fn changed(name: &str, line: u64) -> Problems {
    Problems::one(format!("{name}:{line}"), "the file has changed since it was scanned: the file must not change during a run")
}

impl Replay {
    /// Returns the source of a scanned trace; an error if its times exceed the range of the clock.
    pub fn new(input: &Input, scan: Scan, plan: &Plan, placement: Placement) -> Result<Replay, Problems> {
        let period_ns = checked_period_ns(&scan, plan)?;
        Ok(Replay {
            input: input.clone(),
            scan,
            plan: plan.clone(),
            placement,
            selection: None,
            passes: 0,
            period_ns,
            first_ns: None,
        })
    }

    /// Returns the time from the start of the first pass to the point at which another repetition of all passes would
    /// start, on the replay's time scale.
    pub fn period(&self) -> Nanos {
        Nanos(scaled(self.period_ns * u64::from(self.plan.repeat), self.plan.time_scale))
    }

    /// Returns the next request; `None` after the last pass.
    #[inline]
    fn next(&mut self) -> Result<Option<Request>, Problems> {
        loop {
            let Some(selection) = &mut self.selection else {
                if self.passes == self.plan.repeat {
                    return Ok(None);
                }
                self.passes += 1;
                self.first_ns = None;
                self.selection = Some(Selection::open(&self.input, &self.scan.chosen, &self.plan)?);
                continue;
            };
            let Some(record) = selection.next()? else {
                self.selection = None;
                continue;
            };
            let since_ns = record.at_ns - *self.first_ns.get_or_insert(record.at_ns);
            let recorded_ns = since_ns + u64::from(self.passes - 1) * self.period_ns;
            let at = SimTime(scaled(recorded_ns, self.plan.time_scale));
            let known = if since_ns <= self.scan.info.span_ns { self.placement.place(&record, at) } else { None };
            return match known {
                Some(request) => Ok(Some(request)),
                None => Err(changed(&self.input.name, record.line)),
            };
        }
    }
}

/// Converts a recorded time to the replay's time scale, rounded to the nearest nanosecond. Times keep their order.
pub fn scaled(ns: u64, time_scale: f64) -> u64 {
    if time_scale == 1.0 { ns } else { libm::round(ns as f64 / time_scale) as u64 }
}

impl Source for Replay {
    fn requests(&self) -> Option<u64> {
        Some(self.scan.records * u64::from(self.plan.repeat))
    }

    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        for _ in 0..limit {
            match self.next()? {
                Some(request) => out.push(request),
                None => break,
            }
        }
        Ok(())
    }
}
