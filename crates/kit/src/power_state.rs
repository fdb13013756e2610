//! Power states of a drive, as NVMe's Identify Controller describes them, and autonomous transitions between them.

use crate::power::{CorePower, EccPower, InterconnectPower, LinkPower, StaticPower};
use crate::problem::Problems;
use crate::units::{Nanos, Power};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of states (NVMe base specification: the field NPSS).
const STATES_MAX: usize = 32;
/// Largest power of a state: the field MP holds 16 bits of 0.01 W.
const POWER_MAX: Power = Power(655_350_000_000);
/// Longest latency: ENLAT and EXLAT hold 32 bits of a microsecond.
const LATENCY_MAX: Nanos = Nanos(u32::MAX as u64 * 1_000);
/// Shortest idle time. A millisecond is the unit of ITPT; a drive that works for itself is asked again after each.
const IDLE_TIME_MIN: Nanos = Nanos(10_000);
/// Longest idle time: ITPT holds 24 bits of a millisecond.
const IDLE_TIME_MAX: Nanos = Nanos(((1 << 24) - 1) * 1_000_000);

/// A power state. The first serves commands; the drive enters a non-operational one by itself after an idle time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// Maximum power of the drive in this state (MP). A later state has no more than an earlier one.
    pub max_power: Power,
    /// The state serves no commands (NOPS).
    #[serde(default)]
    pub non_operational: bool,
    /// Time that entering the state takes (ENLAT).
    #[serde(default)]
    pub entry_latency: Nanos,
    /// Time that leaving the state takes (EXLAT). The commands that wake the drive wait for it.
    #[serde(default)]
    pub exit_latency: Nanos,
    /// Power of the idle drive in this state (IDLP): reported for the time in the state, and no part of `total_j`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_power: Option<Power>,
    /// Power of the working drive in this state (ACTP). It has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_power: Option<Power>,
    /// Idle time in this state after which the drive goes to `idle_state` (APST: ITPT). Absent: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_time: Option<Nanos>,
    /// Number of the non-operational state that follows after `idle_time` (APST: ITPS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31))]
    pub idle_state: Option<u32>,
    /// Powers of the parts of the drive in a non-operational state.
    #[serde(default, skip_serializing_if = "StateParts::is_empty")]
    pub parts: StateParts,
}

/// Powers of parts in a power state, each in place of the part's idle power. A part without one draws its idle power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateParts {
    /// Of each core, in place of `power.cores.idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<Power>,
    /// Of the whole interconnect, in place of `power.interconnect.idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interconnect: Option<Power>,
    /// Of each direction of the link (PCIe: L1 and its substates), in place of `power.link.idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Power>,
    /// Of each decoder, in place of `power.ecc.idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<Power>,
    /// Of the rest, in place of `power.static.power`.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub rest: Option<Power>,
}

/// Powers of the parts of an idle drive outside of the non-operational states.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleParts<'a> {
    /// Of the cores.
    pub cores: Option<&'a CorePower>,
    /// Of the interconnect.
    pub interconnect: Option<&'a InterconnectPower>,
    /// Of the link.
    pub link: Option<&'a LinkPower>,
    /// Of encoders and decoders.
    pub ecc: Option<&'a EccPower>,
    /// Of the rest.
    pub rest: Option<&'a StaticPower>,
}

impl StateParts {
    /// Returns true if no part has a power of its own.
    pub fn is_empty(&self) -> bool {
        *self == StateParts::default()
    }

    /// Adds what is wrong with the powers of a state, `place`.
    fn problems(&self, place: &str, idle: &IdleParts<'_>, problems: &mut Problems) {
        let each = [
            ("cores", self.cores, idle.cores.map(|cores| cores.idle), "power.cores"),
            ("interconnect", self.interconnect, idle.interconnect.map(|one| one.idle), "power.interconnect"),
            ("link", self.link, idle.link.map(|link| link.idle), "power.link"),
            ("ecc", self.ecc, idle.ecc.and_then(|ecc| ecc.idle), "power.ecc.idle"),
            ("static", self.rest, idle.rest.map(|rest| rest.power), "power.static"),
        ];
        for (part, power, idle, section) in each {
            match (power, idle) {
                (Some(power), Some(idle)) if power > idle => {
                    problems.add(format!("{place}.{part}"), format!("{power}: expected at most its idle power, {idle}"));
                }
                (Some(_), None) => {
                    problems.add(format!("{place}.{part}"), format!("the part has no idle power: expected {section}"));
                }
                _ => {}
            }
        }
    }
}

impl PowerState {
    /// Adds what is wrong with the states of a drive.
    pub fn problems(states: &[PowerState], idle: &IdleParts<'_>, problems: &mut Problems) {
        if states.len() > STATES_MAX {
            problems.add("power.state", format!("{} states: expected at most {STATES_MAX}", states.len()));
        }
        for (index, state) in states.iter().enumerate() {
            let place = |field: &str| format!("power.state[{index}].{field}");
            if index == 0 && state.non_operational {
                problems.add(place("non_operational"), "true: expected a first state that serves commands");
            }
            if state.max_power > POWER_MAX {
                problems.add(place("max_power"), format!("{}: expected at most {POWER_MAX}", state.max_power));
            }
            if let Some(before) = index.checked_sub(1).map(|before| states[before].max_power)
                && state.max_power > before
            {
                let what = format!("{}: expected at most that of the state before, {before}", state.max_power);
                problems.add(place("max_power"), what);
            }
            for (field, power) in [("idle_power", state.idle_power), ("active_power", state.active_power)] {
                if let Some(power) = power.filter(|power| *power > state.max_power) {
                    problems.add(place(field), format!("{power}: expected at most max_power = {}", state.max_power));
                }
            }
            for (field, latency) in [("entry_latency", state.entry_latency), ("exit_latency", state.exit_latency)] {
                if latency > LATENCY_MAX {
                    problems.add(place(field), format!("{latency}: expected at most {LATENCY_MAX}"));
                }
            }
            state.transition_problems(index, states, problems);
            if !state.non_operational && !state.parts.is_empty() {
                problems.add(place("parts"), "the state serves commands: expected parts only with non_operational = true");
            }
            state.parts.problems(&place("parts"), idle, problems);
        }
    }

    /// Adds what is wrong with the autonomous transition from this state, number `index`.
    fn transition_problems(&self, index: usize, states: &[PowerState], problems: &mut Problems) {
        let place = |field: &str| format!("power.state[{index}].{field}");
        match (self.idle_time, self.idle_state) {
            (Some(_), None) => problems.add(place("idle_time"), "no state follows: expected idle_state, too"),
            (None, Some(_)) => problems.add(place("idle_state"), "the time is missing: expected idle_time, too"),
            (None, None) => {}
            (Some(time), Some(next)) => {
                if !(IDLE_TIME_MIN..=IDLE_TIME_MAX).contains(&time) {
                    problems.add(place("idle_time"), format!("{time}: expected {IDLE_TIME_MIN} to {IDLE_TIME_MAX}"));
                }
                let is_later = next as usize > index && states.get(next as usize).is_some_and(|state| state.non_operational);
                if !is_later {
                    let what = format!("{next}: expected the number of a later state with non_operational = true");
                    problems.add(place("idle_state"), what);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(milliwatts: u64, non_operational: bool) -> PowerState {
        PowerState {
            max_power: Power(milliwatts * 1_000_000),
            non_operational,
            entry_latency: Nanos::ZERO,
            exit_latency: Nanos::ZERO,
            idle_power: None,
            active_power: None,
            idle_time: None,
            idle_state: None,
            parts: StateParts::default(),
        }
    }

    fn found(states: &[PowerState]) -> String {
        let mut problems = Problems::default();
        PowerState::problems(states, &IdleParts::default(), &mut problems);
        problems.to_string()
    }

    #[test]
    fn states_out_of_order_and_transitions_to_nowhere_are_refused() {
        assert_eq!(found(&[state(8_000, false), state(8_000, false), state(50, true)]), "");
        assert!(found(&[state(8_000, true)]).contains("state[0].non_operational"));
        assert!(found(&[state(100, false), state(101, true)]).contains("state[1].max_power"));
        let idle_power = Some(Power(51_000_000));
        assert!(found(&[state(100, false), PowerState { idle_power, ..state(50, true) }]).contains("state[1].idle_power"));
        let cases = [(Some(10_000), Some(1), ""), (Some(9_999), Some(1), "idle_time"), (Some(10_000), None, "idle_time")];
        let more = [(None, Some(1), "idle_state"), (Some(10_000), Some(0), "idle_state"), (Some(10_000), Some(7), "idle_state")];
        for (time, idle_state, field) in cases.into_iter().chain(more).chain([(Some(u64::MAX), Some(1), "idle_time")]) {
            let first = PowerState { idle_time: time.map(Nanos), idle_state, ..state(100, false) };
            let found = found(&[first, state(50, true)]);
            assert!(found.is_empty() == field.is_empty() && found.contains(field), "{time:?} {idle_state:?}: {found}");
        }
        let late = PowerState { exit_latency: Nanos(u64::MAX), ..state(50, true) };
        assert!(found(&[state(100, false), late]).contains("state[1].exit_latency"));
        let parts = StateParts { cores: Some(Power(1)), ..StateParts::default() };
        assert!(found(&[state(100, false), PowerState { parts, ..state(50, true) }]).contains("parts.cores: the part has no"));
        assert!(found(&[PowerState { parts, ..state(50, false) }]).contains("state[0].parts: "));
    }
}
