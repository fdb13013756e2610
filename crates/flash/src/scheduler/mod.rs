//! Family: transaction schedulers. Which of the operations that wait for a die, and for a channel, goes first.
//!
//! A die asks when it is free and both a read waits for it and a program or erase could be pulled for it. A channel asks
//! when it is free and several dies want it: it grants the lowest rank first, then the one that asked first.

pub mod fifo;
pub mod out_of_order;
pub mod read_first;

use kit::SimTime;

/// What a die could do next.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The time now.
    pub now: SimTime,
    /// Since when the oldest host read has been waiting for this die.
    pub oldest_host_read: Option<SimTime>,
    /// Since when the oldest relocation read has been waiting for this die.
    pub oldest_relocation_read: Option<SimTime>,
    /// Since when the oldest host write has been waiting for any die.
    pub oldest_write: Option<SimTime>,
}

/// What a die does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The oldest host read.
    HostRead,
    /// The oldest relocation read.
    RelocationRead,
    /// Whatever the FTL gives; a read if it gives nothing.
    Pull,
}

/// A phase that waits for the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BusPhase {
    /// A read's command.
    ReadCommand,
    /// A read's data.
    ReadData,
    /// A program's command and data.
    ProgramData,
    /// An erase's, suspend's or resume's command.
    Command,
}

/// The contract of a transaction scheduler.
pub trait Scheduler: Send {
    /// What a free die does next, when at least one read waits for it.
    fn choose(&self, choice: &Choice) -> Next;

    /// Rank of a phase on the channel: lower goes first.
    fn bus_rank(&self, phase: BusPhase) -> u8;

    /// Whether a read that arrives may suspend what its die is doing, where the flash can.
    fn suspends(&self) -> bool;
}

kit::family! {
    /// Which of the waiting operations goes first, at a die and on a channel.
    SchedulerConfig: () => dyn Scheduler {
        Fifo = fifo,
        ReadFirst = read_first,
        OutOfOrder = out_of_order,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance: every member chooses something that waits, and ranks every phase.
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
