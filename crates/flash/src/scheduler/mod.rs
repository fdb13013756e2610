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
mod tests {
    use super::*;

    /// Conformance: every member chooses only operations that wait, and its ranks are small.
    #[test]
    fn every_member_chooses_what_is_there() {
        for name in SchedulerConfig::NAMES {
            let scheduler = SchedulerConfig::named(name).expect("listed").build(());
            for (host, relocation) in [(Some(SimTime(5)), None), (None, Some(SimTime(5))), (Some(SimTime(7)), Some(SimTime(3)))] {
                for write in [None, Some(SimTime(1)), Some(SimTime(9))] {
                    let choice = Choice {
                        now: SimTime(10),
                        oldest_host_read: host,
                        oldest_relocation_read: relocation,
                        oldest_write: write,
                    };
                    match scheduler.choose(&choice) {
                        Next::HostRead => assert!(host.is_some(), "{name}"),
                        Next::RelocationRead => assert!(relocation.is_some(), "{name}"),
                        Next::Pull => {}
                    }
                }
            }
            assert!(scheduler.bus_rank(BusPhase::ReadData) <= 4, "{name}");
        }
    }
}
