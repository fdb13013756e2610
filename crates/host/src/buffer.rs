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

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(units: u64) -> Buffer {
        let capacity = Some(Bytes(units * UNIT_BYTES));
        Buffer::new(&BufferConfig { policy: BufferPolicy::WriteBack, capacity, flush_after: Some(Nanos(1)) })
    }

    /// Every sequence of eight steps, for buffers of one to three units, against a list of the units that wait: a
    /// command of one or two units arrives, a unit is taken, or the space of a unit is freed. Units are taken in the
    /// order of arrival, each once, and never more than there is space for.
    #[test]
    fn every_short_sequence_keeps_space_and_order() {
        for (capacity, sequence) in (1..=3).flat_map(|capacity| (0..4u32.pow(8)).map(move |sequence| (capacity, sequence))) {
            let (mut buffer, mut used) = (buffer(capacity), 0);
            // Command, number of the unit, and true for the last unit of its command.
            let mut waiting = VecDeque::new();
            for step in 0..8 {
                match sequence / 4u32.pow(step) % 4 {
                    last @ 0..=1 => {
                        buffer.arrive(CommandId(step), SimTime(u64::from(step) + 50));
                        waiting.extend((0..=last).map(|unit| (step, unit, unit == last)));
                    }
                    2 => {
                        let next = if used < capacity { waiting.pop_front() } else { None };
                        assert_eq!(buffer.take_unit(), next.map(|(command, unit, _)| (CommandId(command), unit)));
                        used += u64::from(next.is_some());
                        if let Some((command, _, true)) = next {
                            assert_eq!(buffer.front_done(), SimTime(u64::from(command) + 50));
                        }
                    }
                    _ => {
                        buffer.release(u32::from(used > 0));
                        used -= u64::from(used > 0);
                    }
                }
                let state = (buffer.used(), buffer.capacity(), buffer.has_waiting(), buffer.is_present());
                assert_eq!(state, (used, capacity, !waiting.is_empty(), true), "capacity {capacity}, sequence {sequence}");
            }
        }
    }

    #[test]
    fn a_restored_buffer_is_as_full_as_it_was() {
        let mut buffer = buffer(3);
        buffer.restore(2);
        buffer.arrive(CommandId(7), SimTime(9));
        assert_eq!([buffer.take_unit(), buffer.take_unit()], [Some((CommandId(7), 0)), None]);
        let without = Buffer::new(&BufferConfig { policy: BufferPolicy::None, capacity: None, flush_after: None });
        assert!(!without.is_present());
    }

    /// The problems of a section, for programs of four units: a buffer holds one program at least, and 32 GiB at most.
    #[test]
    fn a_buffer_holds_a_program_at_least() {
        let problems = |policy, capacity: Option<u64>, flush_after| {
            let mut problems = Problems::default();
            BufferConfig { policy, capacity: capacity.map(Bytes), flush_after }.problems(4, &mut problems);
            problems.0.iter().map(|problem| problem.place.clone()).collect::<Vec<_>>().join(" ")
        };
        let write_back = |capacity| problems(BufferPolicy::WriteBack, Some(capacity), Some(Nanos(1)));
        let most = 32 << 30;
        assert_eq!(
            [4 * UNIT_BYTES - 1, 4 * UNIT_BYTES, most, most + UNIT_BYTES].map(write_back),
            ["buffer.capacity", "", "", "buffer.capacity"]
        );
        assert_eq!(problems(BufferPolicy::WriteBack, None, None), "buffer.capacity buffer.flush_after");
        assert_eq!(problems(BufferPolicy::None, None, None), "");
    }
}
