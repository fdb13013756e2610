//! The power failure that a request specifies.

use crate::description::Description;
use crate::options::RunOptions;
use kit::{Nanos, Problems, SimTime};

/// Longest time without power \[ns\]: a century. Ages are counted in 63 bits.
const LONGEST: Nanos = Nanos(100 * Nanos::YEAR.0);

/// Time and length of a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PowerCut {
    /// Time of the failure, from the start of the run.
    pub after: Nanos,
    pub down: Nanos,
}

impl PowerCut {
    /// Returns the instant at which power fails in a run that starts at `start`.
    pub fn instant(&self, start: SimTime) -> Result<SimTime, Problems> {
        if start + self.after + self.down > SimTime::LAST {
            let complaint = format!(
                "power comes back more than {} years after the drive's time 0, the range of the simulated clock: expected a shorter time",
                SimTime::LAST.years()
            );
            return Err(Problems::one("--power-down", complaint));
        }
        Ok(start + self.after)
    }

    /// Returns the power failure that the options of a run specify, if any, or all errors in it.
    pub fn of(run: &RunOptions, description: &Description) -> Result<Option<PowerCut>, Problems> {
        let (cut, down) = (run.power_cut.as_deref(), run.power_down.as_deref());
        let mut problems = Problems::default();
        let time = span("--power-cut", cut, &mut problems);
        let length = span("--power-down", down, &mut problems);
        match (cut, down) {
            (None, None) => return Ok(None),
            (Some(_), None) => problems.add("--power-down", "missing: expected for how long power fails, such as 30d"),
            (None, Some(_)) => {
                problems.add("--power-cut", "missing: expected when power fails after the start of the run, such as 10s")
            }
            (Some(_), Some(_)) => {}
        }
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
        problems.or(time.zip(length).map(|(after, down)| PowerCut { after, down }))
    }
}

/// Parses a duration above zero and up to [`LONGEST`]; adds a problem if the text is anything else.
fn span(option: &str, text: Option<&str>, problems: &mut Problems) -> Option<Nanos> {
    let complaint = match text?.parse::<Nanos>() {
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
        let cut = PowerCut { after: Nanos::SECOND, down: LONGEST };
        let latest = SimTime(SimTime::LAST.0 - LONGEST.0 - 1_000_000_000);
        assert_eq!(cut.instant(latest).ok(), Some(latest + Nanos::SECOND));
        let told = cut.instant(latest + Nanos(1)).expect_err("it is too late").to_string();
        assert!(told.starts_with("--power-down: power comes back more than 280 years"), "{told}");
    }
}
