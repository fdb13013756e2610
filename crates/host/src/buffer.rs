//! The write buffer: its configuration, its space, the commands that wait for space, flushes, and the flush timer.

use kit::archive::{Archived, MAX_COUNTED, require};
use kit::queue::Class;
use kit::{Bytes, Cause, CommandId, Event, Events, Handoff, Ledger, Lpn, Nanos, Part, Problems, SimTime, Timer, UnitSize, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Point at which a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferPolicy {
    /// After its data is programmed. A program does not wait for further units; it is padded if too few units wait.
    None,
    /// After its data is programmed, as with `none`; until then the data takes space in the buffer, where it is read,
    /// and replaced in place if it is written again while it waits. A write without space waits.
    WriteThrough,
    /// As soon as the buffer holds all of its data, unless it is a write with FUA. A unit that is written again while
    /// it waits is replaced in place.
    WriteBack,
}

/// Order in which the units of the write buffer are programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushOrder {
    /// The unit that came first is programmed first, also if it was written again since.
    #[default]
    Fifo,
    /// The unit that was written least recently is programmed first.
    Lru,
    /// The die for which most units wait is first; others follow once it has no more than they, within one program.
    /// Needs a write allocation that chooses the die on arrival (`ftl.write_allocation`).
    ByDie,
}

/// Handling of a write of a unit that the write buffer holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rewritten {
    /// It takes the place of the older data, which is not programmed.
    #[default]
    Replaced,
    /// It takes space of its own behind the older data, and both are programmed, as in a circular buffer that queues
    /// write requests (autoFTL, section 4.2). The program of the older data leaves nothing valid.
    Appended,
}

/// Treatment of units that do not fill a program once `flush_after` has passed without a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialFlush {
    /// They are padded and programmed.
    #[default]
    Pad,
    /// They wait until further writes fill the program, unless a write lacks space in the buffer. A flush, a write with
    /// FUA and a shutdown program them at once. A volatile write cache may do so: NVMe requires its data to be on the
    /// medium only after these (NVM Express Base Specification, Flush command and Volatile Write Cache). Drives that
    /// program the rest into one-bit blocks are not modelled.
    Wait,
}

fn is_pad(partial: &PartialFlush) -> bool {
    *partial == PartialFlush::Pad
}

/// The `[buffer]` section of a drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// Point at which a write is acknowledged.
    pub policy: BufferPolicy,
    /// Capacity: data is held until it is programmed. Required by `write_through` and `write_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Time without a write after which units that do not fill a program are padded and programmed. Required by
    /// `write_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_after: Option<Nanos>,
    /// Treatment of units that do not fill a program once `flush_after` has passed without a write (`write_back`).
    #[serde(default, skip_serializing_if = "is_pad")]
    pub partial_flush: PartialFlush,
    /// Share of the capacity of a buffer from which its units are programmed (`write_back`). Absent: they are as soon
    /// as they fill a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flush_above: Option<f64>,
    /// Share of the capacity at which that ends, unless a buffer is still above `flush_above`. Only units that wait for
    /// a die count.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flush_below: f64,
    /// Order in which units are programmed (`write_back`).
    #[serde(default)]
    pub flush_order: FlushOrder,
    /// Handling of a write of a unit that the buffer holds already.
    #[serde(default)]
    pub rewritten: Rewritten,
    /// Number of buffers. Each has an equal share of the capacity; the number of a mapping unit, modulo this, is its
    /// buffer.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 32))]
    pub buffers: u32,
    /// Capacity for copies of data on flash, of which the least recently used one leaves first: data that was read,
    /// written or read ahead. A read of such data needs no flash. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_cache: Option<Bytes>,
    /// Distance to which data is read ahead, once a read begins where the one before it ended; eight such streams are
    /// followed at a time. Needs `read_cache`.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub read_ahead: Bytes,
}

fn is_nothing(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

fn one() -> u32 {
    1
}

impl BufferConfig {
    /// Adds the section's inconsistencies to `problems`; one program writes `units_per_program` mapping
    /// units.
    pub fn problems(&self, unit: UnitSize, units_per_program: u32, channels: u32, problems: &mut Problems) {
        self.flush_problems(problems);
        self.cache_problems(unit, problems);
        if self.policy == BufferPolicy::None {
            return;
        }
        let least = unit.offset(u64::from(units_per_program)) * u64::from(self.buffers);
        match self.capacity {
            None => {
                let what = "missing: required by policies `write_through` and `write_back`, for example \"32MiB\"";
                problems.add("buffer.capacity", what);
            }
            Some(capacity) if capacity.0 < least || unit.whole(capacity.0) > 1 << 23 => {
                let each = if self.buffers > 1 { " for each buffer" } else { "" };
                let what = format!(
                    "{capacity}: expected at least {least}B, one program{each}, and at most {}",
                    words::size(Bytes(unit.offset(1 << 23)))
                );
                problems.add("buffer.capacity", what);
            }
            Some(_) => {}
        }
        if self.policy == BufferPolicy::WriteBack && self.flush_after.is_none() {
            problems.add("buffer.flush_after", "missing: required by policy `write_back`, for example \"1ms\"");
        }
        if self.buffers > channels {
            problems.add("buffer.buffers", format!("{}: expected at most {channels}, one for each channel", self.buffers));
        }
    }

    /// Adds the inconsistencies of the read cache, which holds whole mapping units.
    fn cache_problems(&self, unit: UnitSize, problems: &mut Problems) {
        let cache = self.read_cache.unwrap_or(Bytes(0));
        let (least, most) = (unit.data(1), Bytes(unit.offset(1 << 23)));
        if self.read_cache.is_some() && !(least..=most).contains(&cache) {
            problems.add("buffer.read_cache", format!("{cache}: expected {least} to {most}, or no such field"));
        }
        if (1..least.0).contains(&self.read_ahead.0) {
            problems.add("buffer.read_ahead", format!("{}: expected 0B, or at least a mapping unit, {least}", self.read_ahead));
        }
        if self.read_ahead.0 > cache.0 {
            let what = format!("{}: expected at most buffer.read_cache, which is {cache}", self.read_ahead);
            problems.add("buffer.read_ahead", what);
        }
    }

    /// Adds the fields that contradict each other or the policy.
    fn flush_problems(&self, problems: &mut Problems) {
        if self.policy != BufferPolicy::WriteBack {
            for (field, is_set) in [
                ("buffer.flush_after", self.flush_after.is_some() && self.policy == BufferPolicy::WriteThrough),
                ("buffer.partial_flush", self.partial_flush != PartialFlush::Pad),
                ("buffer.flush_above", self.flush_above.is_some()),
                ("buffer.flush_below", self.flush_below > 0.0),
                ("buffer.flush_order", self.flush_order != FlushOrder::Fifo),
            ] {
                if is_set {
                    let what = "only policy `write_back` holds units back: expected policy = \"write_back\", or no such field";
                    problems.add(field, what);
                }
            }
        } else if self.flush_below > self.flush_above.unwrap_or(0.0) {
            let above = self.flush_above.map_or("not given".to_owned(), |above| above.to_string());
            let what = format!("{}: expected at most flush_above, which is {above}", self.flush_below);
            problems.add("buffer.flush_below", what);
        }
    }

    /// Returns the capacity in mapping units, the same for each buffer; zero without a buffer.
    pub fn units(&self, unit: UnitSize) -> u64 {
        let buffers = u64::from(self.buffers.max(1));
        let units = self.capacity.map_or(0, |capacity| unit.whole(capacity.0) / buffers * buffers);
        if self.policy == BufferPolicy::None { 0 } else { units }
    }
}

/// A write command that waits for space.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: CommandId,
    /// The first mapping unit.
    first: Lpn,
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
    /// Time for which the command waited for its space.
    pub stalled: Nanos,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferImage {
    /// Mapping units in each buffer.
    used: Vec<u64>,
    taken: u64,
    last_write: SimTime,
    /// True while the flush timer is pending.
    pub timer_armed: bool,
    is_flushing: bool,
}

/// The write buffer: its space, the commands that wait for space in order of arrival, the flushes that wait for its
/// units, and the timer that flushes it. The contents are in the FTL's write queue, which names units by their numbers.
///
/// Several buffers share all but the space. The number of a unit, modulo their number, is that of its buffer.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    capacity: u64,
    used: u64,
    /// Units that have space, although their data has not arrived.
    expected: u64,
    /// Units that have left the buffers and whose space is not free yet.
    left: u64,
    /// The space of each buffer.
    spaces: Vec<Space>,
    /// Number of units taken so far.
    taken: u64,
    /// True if a write is acknowledged when the buffer holds its data.
    acknowledges: bool,
    /// True if the buffer keeps its data when power fails, so that flushes do not wait for the medium.
    is_protected: bool,
    watermarks: Option<Watermarks>,
    waiting: VecDeque<Waiting>,
    flushes: Vec<PendingFlush>,
    flush_after: Nanos,
    partial_flush: PartialFlush,
    last_write: SimTime,
    timer_armed: bool,
}

/// The space of one of several buffers, in mapping units.
#[derive(Clone, Copy, Debug, Default)]
struct Space {
    used: u64,
    left: u64,
}

/// Numbers of mapping units between which a buffer fills up before its units are programmed.
#[derive(Clone, Copy, Debug)]
struct Watermarks {
    /// Units in one buffer from which units are programmed.
    high: u64,
    /// Units that wait for a die at which that ends.
    low: u64,
    is_flushing: bool,
}

impl Watermarks {
    fn of(config: &BufferConfig, unit: UnitSize) -> Option<Watermarks> {
        let (units, buffers) = (config.units(unit) as f64, f64::from(config.buffers.max(1)));
        let high = config.flush_above? * units / buffers;
        Some(Watermarks { high: high as u64, low: (config.flush_below * units) as u64, is_flushing: false })
    }
}

impl Buffer {
    /// Returns the buffer of a validated description. A buffer without capacity is never used.
    pub fn new(config: &BufferConfig, unit: UnitSize) -> Buffer {
        Buffer {
            capacity: config.units(unit),
            spaces: vec![Space::default(); config.buffers.max(1) as usize],
            acknowledges: config.policy == BufferPolicy::WriteBack,
            watermarks: Watermarks::of(config, unit),
            waiting: VecDeque::with_capacity(64),
            flush_after: config.flush_after.unwrap_or_default(),
            partial_flush: config.partial_flush,
            ..Buffer::default()
        }
    }

    /// Returns the state of the buffer of a drive at rest.
    pub fn image(&self) -> BufferImage {
        let Buffer { expected, left, taken, waiting, flushes, last_write, timer_armed, spaces, watermarks, .. } = self;
        let Buffer { capacity: _, flush_after: _, partial_flush: _, acknowledges: _, is_protected: _, used: _, .. } = self;
        assert!(*expected == 0 && *left == 0 && waiting.is_empty() && flushes.is_empty(), "the drive is at rest");
        BufferImage {
            used: spaces.iter().map(|space| space.used).collect(),
            taken: *taken,
            last_write: *last_write,
            timer_armed: *timer_armed,
            is_flushing: watermarks.is_some_and(|marks| marks.is_flushing),
        }
    }

    /// Checks the state of a saved drive's buffer, whose clock stands at `now`: slot, unit and number of each unit that
    /// waits are `waiting`, and units up to the number `flush_until` are to be programmed.
    pub fn check(
        &self,
        image: &BufferImage,
        waiting: impl Iterator<Item = (u32, Lpn, u64)>,
        flush_until: u64,
        now: SimTime,
    ) -> Archived {
        let (buffers, taken) = (self.spaces.len(), image.taken);
        require(image.used.len() == buffers && taken <= MAX_COUNTED, || {
            format!("it has {} write buffers, which took {taken} units; this drive has {buffers}", image.used.len())
        })?;
        let last = taken * buffers as u64 + buffers as u64 - 1;
        let (mut used, mut numbers) = (vec![0; buffers], Vec::new());
        for (slot, lpn, number) in waiting {
            let buffer = self.buffer_of(lpn);
            let is_one = number <= last && number % buffers as u64 == buffer as u64 && u64::from(slot) < self.capacity;
            require(is_one, || {
                format!("unit {} waits in slot {slot} as number {number}, and buffer {buffer} took no such one", lpn.0)
            })?;
            used[buffer] += 1;
            numbers.push(number);
        }
        numbers.sort_unstable();
        let is_once = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        require(is_once, || "two units of its write buffer have one number".to_owned())?;
        require(used == image.used, || format!("{used:?} units wait in its write buffers, which hold {:?}", image.used))?;
        require(flush_until <= last, || {
            format!("units up to number {flush_until} are to be programmed, and the last is {last}")
        })?;
        require(image.last_write <= now, || {
            format!("the last write came at {:?}, and the clock stands at {now:?}", image.last_write)
        })
    }

    /// Restores the state of a saved drive's buffer. Returns false if this buffer is smaller.
    pub fn restore(&mut self, image: &BufferImage) -> bool {
        assert!(self.waiting.is_empty(), "a buffer is restored before any command comes");
        let BufferImage { ref used, taken, last_write, timer_armed, is_flushing } = *image;
        let each = self.capacity / self.spaces.len() as u64;
        if used.len() != self.spaces.len() || used.iter().any(|&used| used > each) {
            return false;
        }
        self.used = used.iter().sum();
        self.spaces.iter_mut().zip(used).for_each(|(space, used)| space.used = *used);
        (self.taken, self.last_write, self.timer_armed) = (taken, last_write, timer_armed);
        if let Some(marks) = &mut self.watermarks {
            marks.is_flushing = is_flushing;
        }
        true
    }

    /// Returns true if writes go through the buffer.
    pub fn is_present(&self) -> bool {
        self.capacity > 0
    }

    /// Returns true if a write is acknowledged when the buffer holds its data, unless it says otherwise.
    pub fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// Makes the buffer keep its data when power fails.
    pub fn protect(&mut self) {
        self.is_protected = true;
    }

    /// Returns true if the buffer keeps its data when power fails.
    #[inline]
    pub fn is_protected(&self) -> bool {
        self.is_protected
    }

    /// Returns true if units are held back until the buffer is filled up to a watermark.
    #[inline]
    pub fn has_watermarks(&self) -> bool {
        self.watermarks.is_some()
    }

    /// Returns true if units are to be programmed, while `queued` of them wait for a die.
    pub fn is_flushing(&mut self, queued: u64) -> bool {
        let Some(marks) = &mut self.watermarks else { return true };
        let is_full = self.spaces.iter().any(|space| space.used >= marks.high);
        marks.is_flushing = is_full || marks.is_flushing && queued > marks.low;
        marks.is_flushing
    }

    /// Returns the mapping units whose space is not free.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the capacity in mapping units.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the largest number that a unit has so far.
    pub fn last_number(&self) -> u64 {
        let buffers = self.spaces.len() as u64;
        self.taken * buffers + buffers - 1
    }

    /// Returns true if the buffer holds no data.
    pub fn is_empty(&self) -> bool {
        self.used == self.left + self.expected
    }

    /// Returns true if commands wait for space.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a write command of `units` mapping units from `first` on to the commands that wait for space.
    pub fn arrive(&mut self, command: CommandId, first: Lpn, units: u32, now: SimTime) {
        self.waiting.push_back(Waiting { command, first, units, taken: 0, since: now });
    }

    /// Returns the buffer of a unit.
    #[inline]
    fn buffer_of(&self, lpn: Lpn) -> usize {
        // Most drives have one buffer.
        if self.spaces.len() == 1 { 0 } else { lpn.index() % self.spaces.len() }
    }

    /// Returns true if these units have space in an empty buffer.
    pub fn has_space_for(&self, units: &[Lpn]) -> bool {
        let each = self.capacity / self.spaces.len() as u64;
        let of_buffer = |buffer: usize| units.iter().filter(|&&lpn| self.buffer_of(lpn) == buffer).count() as u64;
        (0..self.spaces.len()).all(|buffer| of_buffer(buffer) <= each)
    }

    /// Returns the free space of the buffer of a unit.
    #[inline]
    fn free(&self, lpn: Lpn) -> u64 {
        self.capacity / self.spaces.len() as u64 - self.spaces[self.buffer_of(lpn)].used
    }

    /// Takes the next unit of the oldest command, if there is space. The command that has all its units waits on until
    /// [`Buffer::front_done`].
    pub fn take_unit(&mut self, now: SimTime) -> Option<TakenUnit> {
        if self.used == self.capacity {
            return None;
        }
        let Waiting { command, first, taken: index, since, .. } = *self.waiting.front()?;
        let lpn = Lpn(first.0 + index);
        if self.spaces.len() > 1 && self.free(lpn) == 0 {
            return None;
        }
        if let Some(front) = self.waiting.front_mut() {
            front.taken += 1;
        }
        Some(TakenUnit { command, index, number: self.take(lpn, now), stalled: now.since(since) })
    }

    /// Reserves space for the next units of the oldest command, at most `most`, if there is any. Their data is still to
    /// arrive ([`Buffer::unit_arrived`]).
    pub fn reserve(&mut self, most: u32) -> Option<Piece> {
        let Waiting { command, first, units, taken: index, .. } = *self.waiting.front()?;
        let mut count = 0;
        while count < most.min(units - index) && self.free(Lpn(first.0 + index + count)) > 0 {
            self.occupy(Lpn(first.0 + index + count));
            count += 1;
        }
        if count == 0 {
            return None;
        }
        if index + count == units {
            self.waiting.pop_front();
        } else if let Some(front) = self.waiting.front_mut() {
            front.taken += count;
        }
        self.expected += u64::from(count);
        Some(Piece { command, index, count })
    }

    /// Handles the arrival of a unit's data, whose space was reserved. Returns the number of the unit.
    pub fn unit_arrived(&mut self, lpn: Lpn, now: SimTime) -> u64 {
        self.expected -= 1;
        self.number(lpn, now)
    }

    #[inline]
    fn occupy(&mut self, lpn: Lpn) {
        let buffer = self.buffer_of(lpn);
        self.spaces[buffer].used += 1;
        self.used += 1;
    }

    /// Takes a unit that is written at `now` and returns its number.
    #[inline]
    fn take(&mut self, lpn: Lpn, now: SimTime) -> u64 {
        self.occupy(lpn);
        self.number(lpn, now)
    }

    /// Returns the number of a unit that is written at `now`.
    #[inline]
    fn number(&mut self, lpn: Lpn, now: SimTime) -> u64 {
        self.taken += 1;
        self.last_write = now;
        self.taken * self.spaces.len() as u64 + self.buffer_of(lpn) as u64
    }

    /// Takes a unit of another drive's buffer, for which no command waits, and returns its number.
    pub fn adopt_unit(&mut self, lpn: Lpn, now: SimTime) -> u64 {
        assert!(self.free(lpn) > 0, "the adopted units fit");
        self.take(lpn, now)
    }

    /// Removes the oldest command, whose units have all been taken. Returns the instant at which it arrived at the
    /// buffer.
    pub fn front_done(&mut self) -> SimTime {
        self.waiting.pop_front().expect("a command whose unit was taken is at the front").since
    }

    /// Receives the numbers of the units that left the buffer. Flushes that waited for them last are done: their parts
    /// are left in the handoff. The space becomes free with [`Buffer::free_space`].
    pub fn settle(&mut self, now: SimTime, handoff: &mut Handoff) {
        self.left += handoff.released.len() as u64;
        let buffers = self.spaces.len() as u64;
        if buffers == 1 {
            self.spaces[0].left = self.left;
        } else {
            handoff.released.iter().for_each(|number| self.spaces[(number % buffers) as usize].left += 1);
        }
        if self.flushes.is_empty() {
            handoff.released.clear();
            return;
        }
        for number in handoff.released.drain(..) {
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
                handoff.parts.push(Part { command: flush.command, ledger, units: 0, is_lost: false });
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
        self.spaces.iter_mut().for_each(|space| space.used -= std::mem::take(&mut space.left));
    }

    /// Lets a flush command wait for all units in the buffer. Returns the number up to which units must be programmed;
    /// `None` if the buffer is empty and the flush is done.
    pub fn flush(&mut self, command: CommandId, now: SimTime) -> Option<u64> {
        if self.is_empty() || self.is_protected {
            return None;
        }
        let (until, outstanding) = (self.last_number(), self.used - self.left - self.expected);
        self.flushes.push(PendingFlush { command, until, outstanding, since: now });
        Some(until)
    }

    /// Ensures that the flush timer is pending, after a unit of the buffer began to wait for a die. It is armed even if
    /// a program can be made now: units left over from it would otherwise wait for a timer that is never armed.
    #[inline]
    pub fn arm_timer(&mut self, now: SimTime, events: &mut Events) {
        if self.acknowledges && !self.timer_armed {
            self.timer_armed = true;
            events.push(now + self.flush_after, Class::Timer, Event::Timer(Timer::Flush));
        }
    }

    /// Ensures that the flush timer is pending while a write waits for space and units that do not fill a program are
    /// held back, which then must make room.
    #[inline]
    pub fn arm_timer_for_space(&mut self, now: SimTime, events: &mut Events) {
        if self.partial_flush == PartialFlush::Wait && self.has_waiting() {
            self.arm_timer(now, events);
        }
    }

    /// Handles the flush timer, while `queued` units wait for a die. If the flush delay has passed without a write,
    /// returns the number up to which units are to be programmed, if they need not wait for further ones; otherwise
    /// arms the timer again.
    pub fn timer_fired(&mut self, queued: u64, now: SimTime, events: &mut Events) -> Option<u64> {
        self.timer_armed = false;
        if queued == 0 {
            return None;
        }
        let due = self.last_write + self.flush_after;
        if now >= due {
            let is_due = self.partial_flush == PartialFlush::Pad || self.has_waiting();
            return is_due.then(|| self.last_number());
        }
        self.timer_armed = true;
        events.push(due, Class::Timer, Event::Timer(Timer::Flush));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::UNIT_BYTES;

    fn buffer(units: u64) -> Buffer {
        Buffer::new(&config(units), UnitSize::default())
    }

    /// Returns the description of a write-back buffer of `units` mapping units.
    fn config(units: u64) -> BufferConfig {
        BufferConfig {
            policy: BufferPolicy::WriteBack,
            capacity: Some(Bytes(units * UNIT_BYTES)),
            flush_after: Some(Nanos(1)),
            partial_flush: PartialFlush::Pad,
            flush_above: None,
            flush_below: 0.0,
            flush_order: FlushOrder::Fifo,
            rewritten: Rewritten::Replaced,
            buffers: 1,
            read_cache: None,
            read_ahead: Bytes(0),
        }
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
                        buffer.arrive(CommandId(step), Lpn(step), last + 1, SimTime(0));
                        waiting.extend((0..=last).map(|unit| (step, unit, unit == last)));
                    }
                    2 => {
                        let next = if used < capacity { waiting.pop_front() } else { None };
                        let taken = buffer.take_unit(SimTime(50));
                        used += u64::from(next.is_some());
                        number += u64::from(next.is_some());
                        let stalled = Nanos(50);
                        let expected =
                            next.map(|(command, index, _)| TakenUnit { command: CommandId(command), index, number, stalled });
                        assert_eq!(taken, expected);
                        if let Some((_, _, true)) = next {
                            assert_eq!(buffer.front_done(), SimTime(0));
                        }
                    }
                    _ => {
                        let mut handoff =
                            Handoff { released: if used > 0 { vec![number] } else { vec![] }, ..Handoff::default() };
                        buffer.settle(SimTime(0), &mut handoff);
                        assert_eq!((buffer.has_left(), handoff.released.len(), handoff.parts.len()), (used > 0, 0, 0));
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
        let image = BufferImage { used: vec![2], taken: 8, last_write: SimTime(5), timer_armed: true, is_flushing: false };
        assert!(!buffer(1).restore(&image), "it is too small");
        let mut buffer = buffer(3);
        assert!(buffer.restore(&image));
        assert_eq!(buffer.image(), image);
        buffer.arrive(CommandId(7), Lpn(0), 2, SimTime(9));
        let taken = TakenUnit { command: CommandId(7), index: 0, number: 9, stalled: Nanos::ZERO };
        assert_eq!([buffer.take_unit(SimTime(9)), buffer.take_unit(SimTime(9))], [Some(taken), None]);
        let without = Buffer::new(
            &BufferConfig { policy: BufferPolicy::None, capacity: None, flush_after: None, ..config(0) },
            UnitSize::default(),
        );
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
                assert_eq!(buffer.adopt_unit(Lpn(0), SimTime(1)), u64::from(number));
                assert_eq!(buffer.flush(CommandId(number), SimTime(u64::from(number))), Some(u64::from(number)));
            }
            let mut gone = Vec::new();
            for (step, number) in order.into_iter().enumerate() {
                gone.push(number);
                let mut handoff = Handoff { released: vec![number], ..Handoff::default() };
                buffer.settle(SimTime(10), &mut handoff);
                let mut done: Vec<u32> = handoff.parts.iter().map(|part| part.command.0).collect();
                assert!(handoff.parts.iter().all(|part| part.ledger.get(Cause::Order) == Nanos(10 - u64::from(part.command.0))));
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
        buffer.adopt_unit(Lpn(0), SimTime(5));
        buffer.arm_timer(SimTime(5), &mut events);
        buffer.adopt_unit(Lpn(0), SimTime(65));
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

    /// Units that wait for further ones are programmed by the timer only if a write lacks space.
    #[test]
    fn units_that_wait_are_programmed_once_a_write_lacks_space() {
        let (mut events, delay) = (Events::default(), Nanos(100));
        let config = BufferConfig { partial_flush: PartialFlush::Wait, flush_after: Some(delay), ..config(2) };
        let mut buffer = Buffer::new(&config, UnitSize::default());
        buffer.adopt_unit(Lpn(0), SimTime(0));
        buffer.arm_timer(SimTime(0), &mut events);
        events.pop();
        assert_eq!((buffer.timer_fired(1, SimTime(100), &mut events), events.len()), (None, 0));
        buffer.adopt_unit(Lpn(1), SimTime(150));
        buffer.arm_timer_for_space(SimTime(150), &mut events);
        assert_eq!(events.len(), 0, "no write waits");
        buffer.arrive(CommandId(0), Lpn(2), 1, SimTime(170));
        buffer.arm_timer_for_space(SimTime(170), &mut events);
        assert_eq!(events.next_time(), Some(SimTime(270)));
        events.pop();
        assert_eq!(buffer.timer_fired(2, SimTime(270), &mut events), Some(buffer.last_number()));
    }

    /// The problems of a section, for programs of four units: a buffer holds one program at least, and 32 GiB at most.
    #[test]
    fn a_buffer_holds_a_program_at_least() {
        let problems = |policy, capacity: Option<u64>, flush_after| {
            let mut problems = Problems::default();
            BufferConfig { policy, capacity: capacity.map(Bytes), flush_after, ..config(0) }.problems(
                UnitSize::default(),
                4,
                1,
                &mut problems,
            );
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

    /// Three buffers of two units: each unit has space in its own, and a command whose next unit has none waits,
    /// whatever is free elsewhere.
    #[test]
    fn each_of_several_buffers_has_space_of_its_own() {
        let mut buffer = Buffer::new(&BufferConfig { buffers: 3, ..config(8) }, UnitSize::default());
        assert_eq!(buffer.capacity(), 6, "the same for each");
        assert!(buffer.has_space_for(&[0, 3, 4, 5].map(Lpn)) && !buffer.has_space_for(&[0, 3, 6].map(Lpn)));
        for lpn in [0, 3] {
            buffer.adopt_unit(Lpn(lpn), SimTime(0));
        }
        buffer.arrive(CommandId(0), Lpn(2), 2, SimTime(0));
        let numbers: Vec<Option<u64>> = (0..2).map(|_| buffer.take_unit(SimTime(0)).map(|unit| unit.number)).collect();
        assert_eq!(numbers, [Some(3 * 3 + 2), None], "unit 3 belongs to the first buffer, which is full");
        assert_eq!(buffer.reserve(8), None);
        // The space of the third buffer does not help.
        for (number, helps) in [(11, false), (6, true)] {
            let mut handoff = Handoff { released: vec![number], ..Handoff::default() };
            buffer.settle(SimTime(0), &mut handoff);
            buffer.free_space();
            let piece = Piece { command: CommandId(0), index: 1, count: 1 };
            assert_eq!(buffer.reserve(8), helps.then_some(piece), "{number}");
        }
        assert_eq!(buffer.unit_arrived(Lpn(3), SimTime(0)), 4 * 3);
        assert_eq!((buffer.used(), buffer.last_number()), (2, 4 * 3 + 2));
    }

    /// Every sequence of ten steps of filling and emptying, against the rule: from six of eight units on, units are
    /// programmed, until two wait.
    #[test]
    fn units_are_programmed_between_the_watermarks() {
        for sequence in 0..1u32 << 10 {
            let mut buffer =
                Buffer::new(&BufferConfig { flush_above: Some(0.75), flush_below: 0.25, ..config(8) }, UnitSize::default());
            let (mut used, mut expected) = (0, false);
            for step in 0..10 {
                let fills = used == 0 || used < 8 && sequence >> step & 1 == 1;
                if fills {
                    buffer.adopt_unit(Lpn(step), SimTime(0));
                } else {
                    buffer.settle(SimTime(0), &mut Handoff { released: vec![1], ..Handoff::default() });
                    buffer.free_space();
                }
                used = if fills { used + 1 } else { used - 1 };
                expected = used >= 6 || expected && used > 2;
                assert_eq!(buffer.is_flushing(used), expected, "{sequence:b}, step {step}: {used}");
            }
        }
        let mut without = buffer(8);
        assert!(!without.has_watermarks() && without.is_flushing(0));
    }

    #[test]
    fn fields_that_contradict_each_other_are_refused() {
        let problems = |change: fn(&mut BufferConfig)| {
            let mut config = config(64);
            change(&mut config);
            let mut problems = Problems::default();
            config.problems(UnitSize::default(), 16, 4, &mut problems);
            problems.0.into_iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(problems(|_| {}), "");
        let through = "only policy `write_back` holds units back";
        for (change, place, what) in [
            ((|config| config.buffers = 5) as fn(&mut BufferConfig), "buffer.buffers: 5", "at most 4, one for each channel"),
            (|config| config.capacity = None, "buffer.capacity: missing", "write_through"),
            (
                |config| (config.buffers, config.capacity) = (4, Some(Bytes(3 << 16))),
                "buffer.capacity",
                "one program for each buffer",
            ),
            (|config| config.flush_below = 0.5, "buffer.flush_below: 0.5", "at most flush_above, which is not given"),
            (
                |config| (config.flush_above, config.flush_below) = (Some(0.4), 0.5),
                "buffer.flush_below: 0.5",
                "at most flush_above, which is 0.4",
            ),
            (|config| config.policy = BufferPolicy::WriteThrough, "buffer.flush_after", through),
            (
                |config| (config.policy, config.flush_after, config.flush_above) = (BufferPolicy::WriteThrough, None, Some(0.5)),
                "buffer.flush_above",
                through,
            ),
            (|config| (config.policy, config.flush_order) = (BufferPolicy::None, FlushOrder::Lru), "buffer.flush_order", through),
        ] {
            let found = problems(change);
            assert!(found.contains(place) && found.contains(what), "{place}: {found}");
        }
    }
}
