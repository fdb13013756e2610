//! The write buffer: its configuration, its space, the commands that wait for space, flushes, and the flush timer.

use kit::queue::Class;
use kit::{Bytes, Cause, CommandId, Event, Events, Ledger, Nanos, Part, Problems, SimTime, Timer, Tray, UNIT_BYTES};
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
    /// Mapping units of the command, and those of them that have space.
    units: u32,
    taken: u32,
    since: SimTime,
}

/// A flush that waits for the units that the buffer took before it.
#[derive(Clone, Copy, Debug)]
struct PendingFlush {
    command: CommandId,
    /// Number of the last unit that it waits for.
    until: u64,
    /// Number of units that it still waits for.
    outstanding: u64,
    since: SimTime,
}

/// A unit that a command brings into the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenUnit {
    /// The command.
    pub command: CommandId,
    /// Index of the unit within the command's range.
    pub index: u32,
    /// Number of the unit in the order in which the buffer took units, from 1.
    pub number: u64,
}

/// Units of a command for which there is space, although their data has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The command.
    pub command: CommandId,
    /// Index of the first unit within the command's range.
    pub index: u32,
    /// Number of units.
    pub count: u32,
}

/// State of the write buffer of a drive at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferImage {
    used: u64,
    taken: u64,
    last_write: SimTime,
    timer_armed: bool,
}

/// The write buffer: its space, the commands that wait for space in order of arrival, the flushes that wait for its
/// units, and the timer that flushes it. The contents are in the FTL's write queue, which names units by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    capacity: u64,
    used: u64,
    /// Units that have space, although their data has not arrived.
    expected: u64,
    /// Units that have left the buffer and whose space is not free yet.
    left: u64,
    /// Number of units taken so far; the number of the last one.
    taken: u64,
    waiting: VecDeque<Waiting>,
    flushes: Vec<PendingFlush>,
    flush_after: Nanos,
    last_write: SimTime,
    timer_armed: bool,
}

impl Buffer {
    /// Returns the buffer of a validated description. A buffer without capacity is never used.
    pub fn new(config: &BufferConfig) -> Buffer {
        Buffer {
            capacity: config.units(),
            waiting: VecDeque::with_capacity(64),
            flush_after: config.flush_after.unwrap_or_default(),
            ..Buffer::default()
        }
    }

    /// Returns the state of the buffer of a drive at rest.
    pub fn image(&self) -> BufferImage {
        let Buffer { capacity: _, used, expected, left, taken, waiting, flushes, flush_after: _, last_write, timer_armed } = self;
        assert!(*expected == 0 && *left == 0 && waiting.is_empty() && flushes.is_empty(), "the drive is at rest");
        BufferImage { used: *used, taken: *taken, last_write: *last_write, timer_armed: *timer_armed }
    }

    /// Restores the state of a saved drive's buffer. Returns false if this buffer is smaller.
    pub fn restore(&mut self, image: &BufferImage) -> bool {
        assert!(self.waiting.is_empty(), "a buffer is restored before any command comes");
        let BufferImage { used, taken, last_write, timer_armed } = *image;
        if used > self.capacity {
            return false;
        }
        (self.used, self.taken, self.last_write, self.timer_armed) = (used, taken, last_write, timer_armed);
        true
    }

    /// Returns true if writes are acknowledged by the buffer.
    pub fn is_present(&self) -> bool {
        self.capacity > 0
    }

    /// Returns the mapping units whose space is not free.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the capacity in mapping units.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the number of the unit that was taken last.
    pub fn last_number(&self) -> u64 {
        self.taken
    }

    /// Returns true if the buffer holds no data.
    pub fn is_empty(&self) -> bool {
        self.used == self.left + self.expected
    }

    /// Returns true if commands wait for space.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a write command of `units` mapping units to the commands that wait for space.
    pub fn arrive(&mut self, command: CommandId, units: u32, now: SimTime) {
        self.waiting.push_back(Waiting { command, units, taken: 0, since: now });
    }

    /// Takes the next unit of the oldest command, if there is space. The command that has all its units waits on until
    /// [`Buffer::front_done`].
    pub fn take_unit(&mut self, now: SimTime) -> Option<TakenUnit> {
        if self.used == self.capacity {
            return None;
        }
        let front = self.waiting.front_mut()?;
        front.taken += 1;
        let (command, index) = (front.command, front.taken - 1);
        Some(TakenUnit { command, index, number: self.take(now) })
    }

    /// Reserves space for the next units of the oldest command, at most `most`, if there is any. Their data is still to
    /// arrive ([`Buffer::unit_arrived`]).
    pub fn reserve(&mut self, most: u32) -> Option<Piece> {
        let free = self.capacity - self.used;
        let front = self.waiting.front_mut()?;
        let count = u64::from(most.min(front.units - front.taken)).min(free) as u32;
        if count == 0 {
            return None;
        }
        let piece = Piece { command: front.command, index: front.taken, count };
        front.taken += count;
        if front.taken == front.units {
            self.waiting.pop_front();
        }
        self.used += u64::from(count);
        self.expected += u64::from(count);
        Some(piece)
    }

    /// Handles the arrival of a unit's data, whose space was reserved. Returns the number of the unit.
    pub fn unit_arrived(&mut self, now: SimTime) -> u64 {
        self.used -= 1;
        self.expected -= 1;
        self.take(now)
    }

    /// Takes a unit that is written at `now` and returns its number.
    fn take(&mut self, now: SimTime) -> u64 {
        self.used += 1;
        self.taken += 1;
        self.last_write = now;
        self.taken
    }

    /// Takes a unit of another drive's buffer, for which no command waits, and returns its number.
    pub fn adopt_unit(&mut self, now: SimTime) -> u64 {
        assert!(self.used < self.capacity, "the adopted units fit");
        self.take(now)
    }

    /// Removes the oldest command, whose units have all been taken. Returns the instant at which it arrived at the
    /// buffer.
    pub fn front_done(&mut self) -> SimTime {
        self.waiting.pop_front().expect("a command whose unit was taken is at the front").since
    }

    /// Receives the numbers of the units that left the buffer. Flushes that waited for them last are done: their parts
    /// are left in the tray. The space becomes free with [`Buffer::free_space`].
    pub fn settle(&mut self, now: SimTime, tray: &mut Tray) {
        self.left += tray.released.len() as u64;
        if self.flushes.is_empty() {
            tray.released.clear();
            return;
        }
        for number in tray.released.drain(..) {
            self.flushes.iter_mut().for_each(|flush| flush.outstanding -= u64::from(number <= flush.until));
            let mut index = 0;
            while index < self.flushes.len() {
                if self.flushes[index].outstanding > 0 {
                    index += 1;
                    continue;
                }
                let flush = self.flushes.swap_remove(index);
                let mut ledger = Ledger::default();
                ledger.charge(Cause::Order, now.since(flush.since));
                tray.parts.push(Part { command: flush.command, ledger, units: 0, is_lost: false });
            }
        }
    }

    /// Returns true if the space of units that left the buffer is to be freed.
    #[inline]
    pub fn has_left(&self) -> bool {
        self.left > 0
    }

    /// Frees the space of the units that left the buffer.
    pub fn free_space(&mut self) {
        self.used -= std::mem::take(&mut self.left);
    }

    /// Lets a flush command wait for all units in the buffer. Returns the number up to which units must be programmed;
    /// `None` if the buffer is empty and the flush is done.
    pub fn flush(&mut self, command: CommandId, now: SimTime) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let (until, outstanding) = (self.taken, self.used - self.left - self.expected);
        self.flushes.push(PendingFlush { command, until, outstanding, since: now });
        Some(until)
    }

    /// Ensures that the flush timer is pending, after a unit of the buffer began to wait for a die. It is armed even if
    /// a program can be made now: units left over from it would otherwise wait for a timer that is never armed.
    #[inline]
    pub fn arm_timer(&mut self, now: SimTime, events: &mut Events) {
        if self.is_present() && !self.timer_armed {
            self.timer_armed = true;
            events.push(now + self.flush_after, Class::Timer, Event::Timer(Timer::Flush));
        }
    }

    /// Handles the flush timer, while `queued` units wait for a die. If the flush delay has passed without a write,
    /// returns the number up to which units are to be programmed; otherwise arms the timer again.
    pub fn timer_fired(&mut self, queued: u64, now: SimTime, events: &mut Events) -> Option<u64> {
        self.timer_armed = false;
        if queued == 0 {
            return None;
        }
        let due = self.last_write + self.flush_after;
        if now >= due {
            return Some(self.taken);
        }
        self.timer_armed = true;
        events.push(due, Class::Timer, Event::Timer(Timer::Flush));
        None
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
            let (mut buffer, mut used, mut number) = (buffer(capacity), 0, 0);
            // Command, number of the unit, and true for the last unit of its command.
            let mut waiting = VecDeque::new();
            for step in 0..8 {
                match sequence / 4u32.pow(step) % 4 {
                    last @ 0..=1 => {
                        buffer.arrive(CommandId(step), last + 1, SimTime(u64::from(step) + 50));
                        waiting.extend((0..=last).map(|unit| (step, unit, unit == last)));
                    }
                    2 => {
                        let next = if used < capacity { waiting.pop_front() } else { None };
                        let taken = buffer.take_unit(SimTime(0));
                        used += u64::from(next.is_some());
                        number += u64::from(next.is_some());
                        let expected = next.map(|(command, index, _)| TakenUnit { command: CommandId(command), index, number });
                        assert_eq!(taken, expected);
                        if let Some((command, _, true)) = next {
                            assert_eq!(buffer.front_done(), SimTime(u64::from(command) + 50));
                        }
                    }
                    _ => {
                        let mut tray = Tray { released: if used > 0 { vec![number] } else { vec![] }, ..Tray::default() };
                        buffer.settle(SimTime(0), &mut tray);
                        assert_eq!((buffer.has_left(), tray.released.len(), tray.parts.len()), (used > 0, 0, 0));
                        buffer.free_space();
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
        let image = BufferImage { used: 2, taken: 8, last_write: SimTime(5), timer_armed: true };
        assert!(!buffer(1).restore(&image), "it is too small");
        let mut buffer = buffer(3);
        assert!(buffer.restore(&image));
        assert_eq!(buffer.image(), image);
        buffer.arrive(CommandId(7), 2, SimTime(9));
        let taken = TakenUnit { command: CommandId(7), index: 0, number: 9 };
        assert_eq!([buffer.take_unit(SimTime(9)), buffer.take_unit(SimTime(9))], [Some(taken), None]);
        let without = Buffer::new(&BufferConfig { policy: BufferPolicy::None, capacity: None, flush_after: None });
        assert!(!without.is_present());
    }

    /// Every order in which four units leave the buffer, with a flush after each of them: a flush is done when the last
    /// of the units before it has left, and charges the time that it waited.
    #[test]
    fn a_flush_is_done_when_the_last_unit_before_it_has_left() {
        for order in 0..4u64.pow(4) {
            let order: Vec<u64> = (0..4).map(|step| order / 4u64.pow(step) % 4 + 1).collect();
            if (1..=4).any(|number| !order.contains(&number)) {
                continue;
            }
            let mut buffer = buffer(4);
            assert_eq!(buffer.flush(CommandId(0), SimTime(0)), None, "the buffer is empty");
            for number in 1..=4u32 {
                assert_eq!(buffer.adopt_unit(SimTime(1)), u64::from(number));
                assert_eq!(buffer.flush(CommandId(number), SimTime(u64::from(number))), Some(u64::from(number)));
            }
            let mut gone = Vec::new();
            for (step, number) in order.into_iter().enumerate() {
                gone.push(number);
                let mut tray = Tray { released: vec![number], ..Tray::default() };
                buffer.settle(SimTime(10), &mut tray);
                let mut done: Vec<u32> = tray.parts.iter().map(|part| part.command.0).collect();
                assert!(tray.parts.iter().all(|part| part.ledger.get(Cause::Order) == Nanos(10 - u64::from(part.command.0))));
                done.sort_unstable();
                let all_gone = |until: u64, gone: &[u64]| (1..=until).all(|number| gone.contains(&number));
                let expected = (1..=4).filter(|&until| all_gone(until, &gone) && !all_gone(until, &gone[..step]));
                assert_eq!(done, expected.map(|until| until as u32).collect::<Vec<_>>(), "{gone:?}");
                assert_eq!((buffer.is_empty(), buffer.used()), (step == 3, 4));
            }
            buffer.free_space();
            assert_eq!((buffer.used(), buffer.flush(CommandId(9), SimTime(11))), (0, None));
        }
    }

    /// The timer flushes the buffer one flush delay after the last write, and not while nothing waits for a die.
    #[test]
    fn the_timer_flushes_after_the_delay_without_a_write() {
        let (mut buffer, mut events) = (buffer(4), Events::default());
        buffer.flush_after = Nanos(100);
        buffer.adopt_unit(SimTime(5));
        buffer.arm_timer(SimTime(5), &mut events);
        buffer.adopt_unit(SimTime(65));
        buffer.arm_timer(SimTime(65), &mut events);
        assert_eq!((events.len(), events.next_time()), (1, Some(SimTime(105))));
        events.pop();
        assert_eq!((buffer.timer_fired(2, SimTime(105), &mut events), events.next_time()), (None, Some(SimTime(165))));
        events.pop();
        assert_eq!((buffer.timer_fired(2, SimTime(165), &mut events), events.len()), (Some(2), 0));
        buffer.arm_timer(SimTime(170), &mut events);
        assert_eq!(events.next_time(), Some(SimTime(270)));
        events.pop();
        assert_eq!((buffer.timer_fired(0, SimTime(270), &mut events), events.len()), (None, 0));
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
