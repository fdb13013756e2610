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
    use crate::scheduler::tests::every_choice;
    use kit::SimTime;

    fn scheduler(write_patience: u64, relocation_patience: u64) -> OutOfOrder {
        OutOfOrder(Params { write_patience: Nanos(write_patience), relocation_patience: Nanos(relocation_patience) })
    }

    /// Every small choice under every small patience, against the order of the documentation: overdue relocation reads,
    /// overdue host writes, host reads, relocation reads, host writes. A write can be overdue only in relation to host
    /// reads: without one, a relocation's read goes before writes.
    #[test]
    fn overdue_operations_go_before_host_reads() {
        for (write_patience, relocation_patience) in (0..5).flat_map(|write| (0..5).map(move |relocation| (write, relocation))) {
            let scheduler = scheduler(write_patience, relocation_patience);
            for choice in every_choice(6) {
                let overdue =
                    |since: Option<SimTime>, patience: u64| since.is_some_and(|since| choice.now.0 - since.0 > patience);
                let host = choice.oldest_host_read.is_some();
                let order = [
                    (overdue(choice.oldest_relocation_read, relocation_patience), Next::RelocationRead),
                    (host && overdue(choice.oldest_write, write_patience), Next::Pull),
                    (host, Next::HostRead),
                    (choice.oldest_relocation_read.is_some(), Next::RelocationRead),
                    (true, Next::Pull),
                ];
                let expected = order.iter().find(|(applies, _)| *applies).map(|(_, next)| *next);
                assert_eq!(Some(scheduler.choose(&choice)), expected, "{write_patience}, {relocation_patience}: {choice:?}");
            }
        }
    }

    /// Returns the instants at which a host write and a relocation read start that arrive at 0, on a die for which host
    /// reads always wait. The die chooses at `phase` and whenever an operation of length `service` has ended.
    fn starts_among_host_reads(scheduler: &OutOfOrder, phase: u64, service: u64) -> (u64, u64) {
        let (mut write, mut relocation, mut now) = (None, None, phase);
        while write.is_none() || relocation.is_none() {
            let arrival = SimTime(1000);
            let choice = Choice {
                now: SimTime(1000 + now),
                oldest_host_read: Some(arrival),
                oldest_relocation_read: relocation.is_none().then_some(arrival),
                oldest_write: write.is_none().then_some(arrival),
            };
            match scheduler.choose(&choice) {
                Next::HostRead => {}
                Next::RelocationRead => relocation = Some(now),
                Next::Pull => write = Some(now),
            }
            now += service;
            assert!(now < 1000, "an operation starves");
        }
        (write.unwrap_or(0), relocation.unwrap_or(0))
    }

    /// The first choice after the patience has passed goes to the overdue operation; a write may wait for one overdue
    /// relocation read as well.
    #[test]
    fn patience_and_one_operation_bound_the_wait_among_host_reads() {
        for (write_patience, relocation_patience) in (0..8).flat_map(|write| (0..8).map(move |relocation| (write, relocation))) {
            for (phase, service) in (1..6).flat_map(|service| (0..service).map(move |phase| (phase, service))) {
                let (write, relocation) =
                    starts_among_host_reads(&scheduler(write_patience, relocation_patience), phase, service);
                assert!(relocation > relocation_patience && relocation <= relocation_patience + service);
                assert!(write > write_patience && write <= write_patience + 2 * service);
            }
        }
    }

    #[test]
    fn on_the_channel_commands_go_before_read_data_and_read_data_before_program_data() {
        let rank = |phase| scheduler(0, 0).bus_rank(phase);
        assert_eq!(rank(BusPhase::ReadCommand), rank(BusPhase::Command));
        assert!(rank(BusPhase::Command) < rank(BusPhase::ReadData) && rank(BusPhase::ReadData) < rank(BusPhase::ProgramData));
        assert!(scheduler(0, 0).suspends());
    }
}
