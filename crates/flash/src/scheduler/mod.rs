//! Family: transaction schedulers. They choose the next of the operations that wait for a die, and for a channel.
//!
//! The scheduler is called for a free die for which at least one read waits: the die serves a read, or an operation is
//! pulled from the FTL. A free channel for which several dies wait goes to the phase with the lowest rank, and among
//! equal ranks to the earliest request.

pub mod fifo;
pub mod out_of_order;
pub mod read_first;

use kit::SimTime;

/// The operations available to a free die.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Current time.
    pub now: SimTime,
    /// Instant since which the oldest host read has been waiting for this die.
    pub oldest_host_read: Option<SimTime>,
    /// Instant since which the oldest relocation read has been waiting for this die.
    pub oldest_relocation_read: Option<SimTime>,
    /// Instant since which the oldest host write that this die could take has been waiting.
    pub oldest_write: Option<SimTime>,
}

/// The next operation of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The oldest host read.
    HostRead,
    /// The oldest relocation read.
    RelocationRead,
    /// An operation pulled from the FTL; a read if the FTL has none.
    Pull,
}

/// A phase that needs the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BusPhase {
    /// A read's command.
    ReadCommand,
    /// A read's data.
    ReadData,
    /// A program's command and data.
    ProgramData,
    /// The command of an erase, a copyback, a suspension or a resumption.
    Command,
}

/// The contract of a transaction scheduler.
pub trait Scheduler: Send {
    /// Chooses the next operation of a free die for which at least one read waits.
    fn choose(&self, choice: &Choice) -> Next;

    /// Returns the rank of a phase on the channel: lower ranks go first.
    fn bus_rank(&self, phase: BusPhase) -> u8;

    /// Returns true if an arriving host read may suspend the operation in progress on its die, where the flash supports
    /// suspension.
    fn suspends(&self) -> bool;
}

kit::family! {
    /// Order in which waiting operations are served, at a die and on a channel.
    SchedulerConfig: () => dyn Scheduler {
        Fifo = fifo,
        ReadFirst = read_first,
        OutOfOrder = out_of_order,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const PHASES: [BusPhase; 4] =
        [BusPhase::ReadCommand, BusPhase::ReadData, BusPhase::ProgramData, BusPhase::Command];

    /// Returns every choice between operations that have waited for 0 to `longest` nanoseconds, or that are absent. At
    /// least one read waits.
    pub(crate) fn every_choice(longest: u64) -> Vec<Choice> {
        let now = SimTime(1000);
        let waits = || (0..=longest).map(|waited| Some(SimTime(now.0 - waited))).chain([None]);
        let reads = waits().flat_map(|host| waits().map(move |relocation| (host, relocation)));
        let reads = reads.filter(|(host, relocation)| host.is_some() || relocation.is_some());
        reads
            .flat_map(|(oldest_host_read, oldest_relocation_read)| {
                waits().map(move |oldest_write| Choice { now, oldest_host_read, oldest_relocation_read, oldest_write })
            })
            .collect()
    }

    /// Conformance, over every small choice: a member chooses only a read that waits, chooses the same when asked
    /// again, and goes by waiting times, not by the time of day.
    #[test]
    fn every_member_chooses_what_waits_and_only_by_waiting_times() {
        for name in SchedulerConfig::NAMES {
            let build = || SchedulerConfig::named(name).expect("listed").build(());
            let scheduler = build();
            // The second choice has waits of milliseconds, about as long as the default parameters of the members.
            let scaled = |choice: Choice| {
                let older = |since: Option<SimTime>| since.map(|since| SimTime(20_000_000 - 3_000_000 * (1000 - since.0)));
                Choice {
                    now: SimTime(20_000_000),
                    oldest_host_read: older(choice.oldest_host_read),
                    oldest_relocation_read: older(choice.oldest_relocation_read),
                    oldest_write: older(choice.oldest_write),
                }
            };
            for choice in every_choice(5).into_iter().flat_map(|choice| [choice, scaled(choice)]) {
                let next = scheduler.choose(&choice);
                match next {
                    Next::HostRead => assert!(choice.oldest_host_read.is_some(), "{name}: {choice:?}"),
                    Next::RelocationRead => assert!(choice.oldest_relocation_read.is_some(), "{name}: {choice:?}"),
                    Next::Pull => {}
                }
                assert_eq!(scheduler.choose(&choice), next, "{name} changes its mind: {choice:?}");
                let later = |since: Option<SimTime>| since.map(|since| SimTime(since.0 + (1 << 50)));
                let shifted = Choice {
                    now: SimTime(choice.now.0 + (1 << 50)),
                    oldest_host_read: later(choice.oldest_host_read),
                    oldest_relocation_read: later(choice.oldest_relocation_read),
                    oldest_write: later(choice.oldest_write),
                };
                assert_eq!(build().choose(&shifted), next, "{name}: {choice:?} at another time");
            }
            for phase in PHASES {
                assert_eq!(scheduler.bus_rank(phase), build().bus_rank(phase), "{name}: {phase:?}");
            }
        }
    }
}
