//! Reads before programs and erases.

use super::{BusPhase, Choice, Next, Scheduler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reads go before programs and erases, and host reads before the reads of relocations. On the channel, a read's
/// command goes before a read's data, so that arrays start early, and both go before a program's data. The usual choice
/// of controllers that favour read latency. A steady stream of reads to a die can starve its writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct ReadFirst;

/// Builds the scheduler.
pub fn build(_: &Params, (): ()) -> Box<dyn Scheduler> {
    Box::new(ReadFirst)
}

impl Scheduler for ReadFirst {
    fn choose(&self, choice: &Choice) -> Next {
        match (choice.oldest_host_read, choice.oldest_relocation_read) {
            (Some(_), _) => Next::HostRead,
            (None, Some(_)) => Next::RelocationRead,
            (None, None) => Next::Pull,
        }
    }

    fn bus_rank(&self, phase: BusPhase) -> u8 {
        match phase {
            BusPhase::ReadCommand => 0,
            BusPhase::ReadData => 1,
            BusPhase::ProgramData | BusPhase::Command => 2,
        }
    }

    fn suspends(&self) -> bool {
        true
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::every_choice;

    #[test]
    fn a_read_goes_first_however_long_a_write_has_waited() {
        for choice in every_choice(6) {
            let expected = if choice.oldest_host_read.is_some() { Next::HostRead } else { Next::RelocationRead };
            assert_eq!(ReadFirst.choose(&choice), expected, "{choice:?}");
        }
    }

    #[test]
    fn on_the_channel_a_read_command_goes_before_read_data_and_both_before_other_phases() {
        let [command, data, program, other] =
            [BusPhase::ReadCommand, BusPhase::ReadData, BusPhase::ProgramData, BusPhase::Command]
                .map(|phase| ReadFirst.bus_rank(phase));
        assert!(command < data && data < program.min(other));
        assert!(ReadFirst.suspends());
    }
}
