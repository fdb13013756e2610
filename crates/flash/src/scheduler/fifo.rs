//! First come, first served.

use super::{BusPhase, Choice, Next, Scheduler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First come, first served: a die takes the operation that has waited longest, reads and writes alike, and a channel
/// grants in the order of the requests. Nothing is ever suspended. The simplest scheduler, and the baseline for the
/// others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Fifo;

/// Builds the scheduler.
pub fn build(_: &Params, (): ()) -> Box<dyn Scheduler> {
    Box::new(Fifo)
}

impl Scheduler for Fifo {
    fn choose(&self, choice: &Choice) -> Next {
        let read = match (choice.oldest_host_read, choice.oldest_relocation_read) {
            (Some(host), Some(relocation)) if relocation < host => (relocation, Next::RelocationRead),
            (Some(host), _) => (host, Next::HostRead),
            (None, Some(relocation)) => (relocation, Next::RelocationRead),
            (None, None) => return Next::Pull,
        };
        if choice.oldest_write.is_some_and(|write| write < read.0) { Next::Pull } else { read.1 }
    }

    fn bus_rank(&self, _: BusPhase) -> u8 {
        0
    }

    fn suspends(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::SimTime;

    #[test]
    fn the_oldest_goes_first() {
        let choice = |host, relocation, write| Choice {
            now: SimTime(9),
            oldest_host_read: host,
            oldest_relocation_read: relocation,
            oldest_write: write,
        };
        assert_eq!(Fifo.choose(&choice(Some(SimTime(3)), None, Some(SimTime(2)))), Next::Pull);
        assert_eq!(Fifo.choose(&choice(Some(SimTime(3)), Some(SimTime(1)), Some(SimTime(2)))), Next::RelocationRead);
        assert_eq!(Fifo.choose(&choice(Some(SimTime(2)), None, Some(SimTime(2)))), Next::HostRead, "a tie goes to the read");
    }
}
