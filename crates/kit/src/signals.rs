//! What the rooms let each other see: a few numbers, each updated by its owner.

use crate::clock::{WORK_COUNT, Work, WorkClock};
use crate::units::SimTime;

/// Shared readings. A policy in `ftl` sees the write queue, the buffer and the dies through these and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Host write requests (commands) with pages still waiting for a die. Owner: `ftl`.
    pub queued_write_requests: u64,
    /// Host write units (pages of the map) still waiting for a die. Owner: `ftl`.
    pub queued_write_pages: u64,
    /// Units the write-back buffer holds. Owner: `host`.
    pub buffered_pages: u64,
    /// Units the write-back buffer can hold; 0 without a buffer. Owner: `host`.
    pub buffer_capacity_pages: u64,
    /// Host commands submitted and not completed. Owner: the router.
    pub commands_in_flight: u64,
    /// When the last host command arrived or completed. Owner: the router.
    pub last_host_activity: SimTime,
    /// Reads waiting or running, per die. Owner: `flash`.
    pub die_reads: Vec<u32>,
    /// Dies doing something, per channel. Owner: `flash`.
    pub channel_busy_dies: Vec<u32>,
    /// When the last die of each channel stopped doing something. Owner: `flash`.
    pub channel_idle_since: Vec<SimTime>,
    /// Dies doing something. Owner: `flash`.
    pub busy_dies: u32,
    /// When the last die stopped doing something. Owner: `flash`.
    pub idle_since: SimTime,
    /// No die has a free block for host data. Owner: `ftl`.
    pub no_space: bool,
    /// A policy lets nothing but its own relocations start. Owner: `ftl`.
    pub hold: bool,
    /// The drive-wide clock that waiting writes are charged by: at each instant no space, then erasing, then relocating, then
    /// host work.
    pub clock: WorkClock,
    dies_at: [u32; WORK_COUNT],
}

impl Signals {
    /// Readings of a drive with so many dies and channels, all at rest.
    pub fn new(die_count: usize, channel_count: usize) -> Signals {
        Signals {
            die_reads: vec![0; die_count],
            channel_busy_dies: vec![0; channel_count],
            channel_idle_since: vec![SimTime::ZERO; channel_count],
            ..Signals::default()
        }
    }

    /// A die turns from one kind of work to another.
    #[inline]
    pub fn turn(&mut self, from: Work, to: Work, now: SimTime) {
        let (left, joined) = (self.dies_at[from as usize].wrapping_sub(1), self.dies_at[to as usize].wrapping_add(1));
        self.dies_at[from as usize] = left;
        self.dies_at[to as usize] = joined;
        // Only the first die to turn to a kind of work, and the last to leave one, can change what the drive as a whole is doing.
        if left == 0 || joined == 1 {
            self.update_work(now);
        }
    }

    /// Recomputes what the drive as a whole is doing.
    #[inline]
    pub fn update_work(&mut self, now: SimTime) {
        let at = |work: Work| self.dies_at[work as usize] > 0;
        let work = if self.no_space {
            Work::NoSpace
        } else if self.hold {
            Work::Held
        } else if at(Work::Erase) {
            Work::Erase
        } else if at(Work::RelocationRead) || at(Work::RelocationProgram) {
            Work::RelocationProgram
        } else if at(Work::HostProgram) {
            Work::HostProgram
        } else if at(Work::HostRead) {
            Work::HostRead
        } else {
            Work::Idle
        };
        if work != self.clock.work() {
            self.clock.set(work, now);
        }
    }
}
