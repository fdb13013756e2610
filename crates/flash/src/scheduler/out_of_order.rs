//! Reads before writes and short channel phases before data, with a bound on starvation.

use super::{BusPhase, Choice, Next, Scheduler};
use kit::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations start out of order: host reads go first, but a host write that has waited longer than `write_patience`
/// goes before them, and so does a relocation's read that has waited longer than `relocation_patience`. Without a
/// waiting host read, a relocation's read goes before writes. On the channel, short phases (commands) go before data,
/// so that arrays start early. Host reads cannot starve other operations, at some cost to the read tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Waiting time beyond which a host write goes before host reads.
    pub write_patience: Nanos,
    /// Waiting time beyond which a relocation's read goes before host reads and writes.
    pub relocation_patience: Nanos,
}

impl Default for Params {
    fn default() -> Self {
        Params { write_patience: Nanos(10_000_000), relocation_patience: Nanos(5_000_000) }
    }
}

struct OutOfOrder(Params);

/// Builds the scheduler.
pub fn build(params: &Params, (): ()) -> Box<dyn Scheduler> {
    Box::new(OutOfOrder(params.clone()))
}

impl Scheduler for OutOfOrder {
    fn choose(&self, choice: &Choice) -> Next {
        let waited = |since: Option<kit::SimTime>| since.map_or(Nanos::ZERO, |since| choice.now.since(since));
        if choice.oldest_relocation_read.is_some()
            && (choice.oldest_host_read.is_none() || waited(choice.oldest_relocation_read) > self.0.relocation_patience)
        {
            return Next::RelocationRead;
        }
        if choice.oldest_host_read.is_none() || waited(choice.oldest_write) > self.0.write_patience {
            return Next::Pull;
        }
        Next::HostRead
    }

    fn bus_rank(&self, phase: BusPhase) -> u8 {
        match phase {
            BusPhase::ReadCommand | BusPhase::Command => 0,
            BusPhase::ReadData => 1,
            BusPhase::ProgramData => 2,
        }
    }

    fn suspends(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::SimTime;

    #[test]
    fn patience_bounds_starvation() {
        let scheduler = OutOfOrder(Params { write_patience: Nanos(100), relocation_patience: Nanos(50) });
        let choice = |now, write| Choice {
            now: SimTime(now),
            oldest_host_read: Some(SimTime(1000)),
            oldest_relocation_read: None,
            oldest_write: Some(SimTime(write)),
        };
        assert_eq!(scheduler.choose(&choice(1100, 1000)), Next::HostRead, "not yet, at the bound");
        assert_eq!(scheduler.choose(&choice(1101, 1000)), Next::Pull, "one nanosecond later");
    }
}
