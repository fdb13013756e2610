//! The power failure that a request specifies.

use crate::description::Description;
use crate::options::RunOptions;
use kit::{Nanos, Problems, SimTime};

/// Longest time without power \[ns\]: a century. Ages are counted in 63 bits.
const LONGEST: Nanos = Nanos(100 * Nanos::YEAR.0);
/// Time without power, unless the request gives another one.
const DOWN: Nanos = Nanos::SECOND;
/// Ending of the option by which the host stops first.
const GRACEFUL: &str = ",graceful";
/// Beginning of the option that gives a number of steps.
const EVENT: &str = "event:";

/// Point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// This time after its start.
    After(Nanos),
    /// After this number of steps of the simulation.
    Event(u64),
}

/// Point and length of a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PowerCut {
    pub at: Point,
    /// True if the host stops first, and its commands in flight are completed.
    pub is_graceful: bool,
    pub down: Nanos,
}

impl std::fmt::Display for PowerCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at {
            Point::After(time) => write!(f, "{time}")?,
            Point::Event(steps) => write!(f, "{EVENT}{steps}")?,
        }
        f.write_str(if self.is_graceful { GRACEFUL } else { "" })
    }
}

impl PowerCut {
    /// Returns the instant at which power fails in a run that starts at `start`; never, if that is not a matter of
    /// time.
    pub fn instant(&self, start: SimTime) -> Result<SimTime, Problems> {
        let Point::After(after) = self.at else { return Ok(SimTime::FOREVER) };
        if start + after + self.down > SimTime::LAST {
            let complaint = format!(
                "power comes back more than {} years after the drive's time 0, the range of the simulated clock: expected a shorter time",
                SimTime::LAST.years()
            );
            return Err(Problems::one("--power-down", complaint));
        }
        Ok(start + after)
    }

    /// Returns the number of steps after which power fails, if that is what decides.
    pub fn steps(&self) -> Option<u64> {
        match self.at {
            Point::Event(steps) => Some(steps),
            Point::After(_) => None,
        }
    }

    /// Returns the power failure that the options of a run specify, if any, or all errors in it. `is_custom`: the
    /// policy comes from outside the policy family.
    pub fn of(run: &RunOptions, description: &Description, is_custom: bool) -> Result<Option<PowerCut>, Problems> {
        let (cut, down) = (run.power_cut.as_deref(), run.power_down.as_deref());
        let mut problems = Problems::default();
        let length = down.map_or(Some(DOWN), |down| span("--power-down", down, &mut problems));
        let Some(cut) = cut else {
            if down.is_some() {
                let complaint = "missing: expected when power fails after the start of the run, such as 10s or event:1000";
                problems.add("--power-cut", complaint);
            }
            return problems.or(None);
        };
        let (text, is_graceful) = cut.strip_suffix(GRACEFUL).map_or((cut, false), |text| (text, true));
        let at = point(text, is_graceful, &mut problems);
        if run.steady_state {
            problems.add(
                "--power-cut",
                "a drive without power is in no steady state: expected only one of --power-cut, --steady-state",
            );
        }
        if let Some(kind) = description.policy.needs_future() {
            let complaint = format!("the future that the policy `{kind}` knows has no power failure: expected another policy");
            problems.add("--power-cut", complaint);
        }
        if is_custom && !is_graceful {
            let complaint = format!(
                "a policy of your own keeps its state where a loss of power does not reach it: expected `{text}{GRACEFUL}`"
            );
            problems.add("--power-cut", complaint);
        }
        problems.or(at.zip(length).map(|(at, down)| PowerCut { at, is_graceful, down }))
    }
}

/// Parses the point at which power fails; adds a problem if the text is none.
fn point(text: &str, is_graceful: bool, problems: &mut Problems) -> Option<Point> {
    let Some(number) = text.strip_prefix(EVENT) else {
        if text.contains(',') || text.trim() != text {
            problems
                .add("--power-cut", format!("`{text}`: expected a time such as 10s or {EVENT}1000, alone or with `{GRACEFUL}`"));
            return None;
        }
        return span("--power-cut", text, problems).map(Point::After);
    };
    match number.parse() {
        Ok(_) if is_graceful => {
            problems.add(
                "--power-cut",
                format!("{text}{GRACEFUL}: a host stops at a time, not at an event: expected such as 10s{GRACEFUL}"),
            );
            None
        }
        Ok(0) | Err(_) => {
            problems.add("--power-cut", format!("{text}: expected {EVENT}N with a number N from 1 on, such as {EVENT}1000"));
            None
        }
        Ok(steps) => Some(Point::Event(steps)),
    }
}

/// Parses a duration above zero and up to [`LONGEST`]; adds a problem if the text is anything else.
fn span(option: &str, text: &str, problems: &mut Problems) -> Option<Nanos> {
    let complaint = match text.parse::<Nanos>() {
        Ok(span) if span == Nanos::ZERO => "0: expected a duration above zero".to_owned(),
        Ok(span) if span > LONGEST => format!("{span}: expected at most {LONGEST}"),
        Ok(span) => return Some(span),
        Err(complaint) => complaint.to_string(),
    };
    problems.add(option, complaint);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_comes_back_before_the_clock_ends() {
        let cut = PowerCut { at: Point::After(Nanos::SECOND), is_graceful: true, down: LONGEST };
        let latest = SimTime(SimTime::LAST.0 - LONGEST.0 - 1_000_000_000);
        assert_eq!(cut.instant(latest).ok(), Some(latest + Nanos::SECOND));
        let told = cut.instant(latest + Nanos(1)).expect_err("it is too late").to_string();
        assert!(told.starts_with("--power-down: power comes back more than 280 years"), "{told}");
    }
}
