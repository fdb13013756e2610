//! The write buffer: its configuration, its space, and the commands that wait for space.

use kit::{Bytes, CommandId, Nanos, Problems, SimTime, UNIT_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Point at which a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferPolicy {
    /// After its data is programmed. A program does not wait for further units; it is padded if too few units wait.
    None,
    /// As soon as the buffer holds all of its data. A unit that is written again while it waits is replaced in place.
    WriteBack,
}

/// The `[buffer]` section of a drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// Point at which a write is acknowledged.
    pub policy: BufferPolicy,
    /// Capacity: data is held until it is programmed. Required by `write_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Time without a write after which units that do not fill a program are padded and programmed. Required by
    /// `write_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_after: Option<Nanos>,
}

impl BufferConfig {
    /// Adds the section's inconsistencies to `problems`; one program writes `units_per_program` mapping units.
    pub fn problems(&self, units_per_program: u32, problems: &mut Problems) {
        if self.policy == BufferPolicy::None {
            return;
        }
        let least = u64::from(units_per_program) * UNIT_BYTES;
        match self.capacity {
            None => problems.add("buffer.capacity", "missing: required by policy `write_back`, for example \"32MiB\""),
            Some(capacity) if capacity.0 < least || capacity.0 / UNIT_BYTES > 1 << 23 => {
                problems
                    .add("buffer.capacity", format!("{capacity}: expected at least {least}B, one program, and at most 32GiB"));
            }
            Some(_) => {}
        }
        if self.flush_after.is_none() {
            problems.add("buffer.flush_after", "missing: required by policy `write_back`, for example \"1ms\"");
        }
    }

    /// Returns the capacity in mapping units; zero without a buffer.
    pub fn units(&self) -> u64 {
        if self.policy == BufferPolicy::None { 0 } else { self.capacity.map_or(0, |capacity| capacity.0 / UNIT_BYTES) }
    }
}

/// A write command that waits for space.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: CommandId,
    taken: u32,
    since: SimTime,
}

/// Space in the write buffer, and the commands that wait for space in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    capacity: u64,
    used: u64,
    waiting: VecDeque<Waiting>,
}

impl Buffer {
    /// Returns the buffer of a validated description. A buffer without capacity is never used.
    pub fn new(config: &BufferConfig) -> Buffer {
        Buffer { capacity: config.units(), used: 0, waiting: VecDeque::with_capacity(64) }
    }

    /// Restores the occupancy of a saved drive's buffer: `used` mapping units.
    pub fn restore(&mut self, used: u64) {
        assert!(self.waiting.is_empty() && used <= self.capacity, "a buffer is restored before any command comes");
        self.used = used;
    }

    /// Returns true if writes are acknowledged by the buffer.
    pub fn is_present(&self) -> bool {
        self.capacity > 0
    }

    /// Returns the mapping units held.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the capacity in mapping units.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns true if commands wait for space.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a write command to the commands that wait for space.
    pub fn arrive(&mut self, command: CommandId, now: SimTime) {
        self.waiting.push_back(Waiting { command, taken: 0, since: now });
    }

    /// Takes the next unit of the oldest command, if there is space. Returns the command and the number of the unit
    /// within it.
    pub fn take_unit(&mut self) -> Option<(CommandId, u32)> {
        if self.used == self.capacity {
            return None;
        }
        let front = self.waiting.front_mut()?;
        self.used += 1;
        front.taken += 1;
        Some((front.command, front.taken - 1))
    }

    /// Removes the oldest command, whose units have all been taken. Returns the instant at which it arrived at the
    /// buffer.
    pub fn front_done(&mut self) -> SimTime {
        self.waiting.pop_front().expect("a command whose unit was taken is at the front").since
    }

    /// Frees the space of `units` mapping units that left the buffer.
    pub fn release(&mut self, units: u32) {
        self.used -= u64::from(units);
    }
}
