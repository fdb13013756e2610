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
    use crate::scheduler::tests::{PHASES, every_choice};

    /// Of operations that have waited equally long, a read goes before a write, and a host read before a relocation's.
    #[test]
    fn the_operation_that_has_waited_longest_goes_first() {
        for choice in every_choice(6) {
            let operations = [
                (choice.oldest_host_read, Next::HostRead),
                (choice.oldest_relocation_read, Next::RelocationRead),
                (choice.oldest_write, Next::Pull),
            ];
            let first = operations.iter().filter_map(|(since, _)| *since).min();
            let expected = operations.iter().find(|(since, _)| since.is_some() && *since == first).map(|(_, next)| *next);
            assert_eq!(Some(Fifo.choose(&choice)), expected, "{choice:?}");
        }
    }

    #[test]
    fn the_channel_has_no_preference_and_nothing_is_suspended() {
        assert!(PHASES.iter().all(|&phase| Fifo.bus_rank(phase) == Fifo.bus_rank(BusPhase::ReadCommand)));
        assert!(!Fifo.suspends());
    }
}
