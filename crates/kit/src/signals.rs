//! Gauges: values shared between stages. Each has one writer, its owner.

use crate::clock::{DriveClock, DriveWork, WORK_COUNT, Work};
use crate::units::SimTime;

/// Gauges of one drive. A policy in `ftl` sees the write queue, the buffer and the dies only through them.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Host write requests (commands) with mapping units still waiting for a die. Owner: `ftl`.
    pub queued_write_requests: u64,
    /// Mapping units of host writes still waiting for a die. Owner: `ftl`.
    pub queued_write_pages: u64,
    /// Mapping units held by the write-back buffer. Owner: `host`.
    pub buffered_pages: u64,
    /// Capacity of the write-back buffer in mapping units; 0 without a buffer. Owner: `host`.
    pub buffer_capacity_pages: u64,
    /// Host commands arrived and not completed. Owner: `host`.
    pub commands_in_flight: u64,
    /// Latest instant at which a host command arrived or completed. Owner: `host`.
    pub last_host_activity: SimTime,
    /// Reads waiting at each die; a read in progress is not counted. Owner: `flash`.
    pub die_reads: Vec<u32>,
    /// Busy dies on each channel; a die with a suspended operation is busy. Owner: `flash`.
    pub channel_busy_dies: Vec<u32>,
    /// Latest instant at which a die of each channel became idle. Owner: `flash`.
    pub channel_idle_since: Vec<SimTime>,
    /// Busy dies of the drive; a die with a suspended operation is busy. Owner: `flash`.
    pub busy_dies: u32,
    /// Latest instant at which any die became idle. Owner: `flash`.
    pub idle_since: SimTime,
    /// True if no die has a free block for host data. Owner: `ftl`.
    pub no_space: bool,
    /// True while urgent relocations of a policy hold back other work. Owner: `ftl`.
    pub hold: bool,
    /// Drive-wide clock by which waiting writes are charged. Its work at an instant is the first of these that applies:
    /// no space, held by a policy, some die starved for a page buffer, or waiting for power, erasing, relocating,
    /// programming for the host, reading for the host. A die that is starved or waits for power comes before those that
    /// work, because it lacks nothing else.
    pub clock: DriveClock,
    /// Dies at each kind of work. The count of idle dies starts at 0 and wraps; its value has no meaning.
    dies_at: [u32; WORK_COUNT],
}

impl Signals {
    /// Returns the gauges of a drive with `die_count` dies and `channel_count` channels, all at rest.
    pub fn new(die_count: usize, channel_count: usize) -> Signals {
        Signals {
            die_reads: vec![0; die_count],
            channel_busy_dies: vec![0; channel_count],
            channel_idle_since: vec![SimTime::ZERO; channel_count],
            ..Signals::default()
        }
    }

    /// Records that a die changes from one kind of work to another.
    #[inline]
    pub fn turn(&mut self, from: Work, to: Work, now: SimTime) {
        let (left, joined) = (self.dies_at[from as usize].wrapping_sub(1), self.dies_at[to as usize].wrapping_add(1));
        self.dies_at[from as usize] = left;
        self.dies_at[to as usize] = joined;
        // Only the first die to begin a kind of work, and the last to leave one, can change the work of the drive as a
        // whole.
        if left == 0 || joined == 1 {
            self.update_work(now);
        }
    }

    /// Recomputes the work of the drive as a whole and sets the drive-wide clock to it.
    #[inline]
    pub fn update_work(&mut self, now: SimTime) {
        let at = |work: Work| self.dies_at[work as usize] > 0;
        let work = if self.no_space {
            DriveWork::NoSpace
        } else if self.hold {
            DriveWork::Held
        } else if at(Work::Starved) {
            DriveWork::Starved
        } else if at(Work::PowerWait) {
            DriveWork::PowerWait
        } else if at(Work::Erase) {
            DriveWork::Erase
        } else if at(Work::RelocationRead) || at(Work::RelocationProgram) {
            DriveWork::Relocation
        } else if at(Work::HostProgram) {
            DriveWork::HostProgram
        } else if at(Work::HostRead) {
            DriveWork::HostRead
        } else {
            DriveWork::Idle
        };
        if work != self.clock.work() {
            self.clock.set(work, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dies at every combination of kinds of work, without space or held by a policy or neither: the work of the drive
    /// is the first in the order of the documentation, and a die that leaves its work takes it back.
    #[test]
    fn the_work_of_the_drive_is_the_first_that_applies() {
        use DriveWork::{NoSpace, Relocation};
        use Work::{Erase, Held, HostProgram, HostRead, Idle, PowerWait, RelocationProgram, RelocationRead, Starved};
        let kinds = [Starved, PowerWait, Erase, RelocationRead, RelocationProgram, HostProgram, HostRead, Held];
        let order = [
            DriveWork::Starved,
            DriveWork::PowerWait,
            DriveWork::Erase,
            Relocation,
            Relocation,
            DriveWork::HostProgram,
            DriveWork::HostRead,
            DriveWork::Idle,
        ];
        for (chosen, no_space, hold) in (0..1 << 8u32).flat_map(|set| (0..4u32).map(move |flags| (set, flags & 1 > 0, flags > 1)))
        {
            let mut signals = Signals { no_space, hold, ..Signals::new(9, 1) };
            let taken = || kinds.into_iter().enumerate().filter(move |(index, _)| chosen >> index & 1 == 1);
            signals.update_work(SimTime(1));
            taken().for_each(|(_, kind)| signals.turn(Idle, kind, SimTime(2)));
            let dies = taken().next().map_or(DriveWork::Idle, |(index, _)| order[index]);
            let policies = if no_space { Some(NoSpace) } else { hold.then_some(DriveWork::Held) };
            assert_eq!(signals.clock.work(), policies.unwrap_or(dies), "{chosen:b}");
            taken().for_each(|(_, kind)| signals.turn(kind, Idle, SimTime(3)));
            assert_eq!(signals.clock.work(), policies.unwrap_or(DriveWork::Idle), "{chosen:b}");
        }
    }
}
