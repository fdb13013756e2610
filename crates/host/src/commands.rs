//! The table of commands: their ranges, their outstanding parts, and their accounts.

use kit::{Bytes, CommandId, Completion, HostCommand, HostUnit, Lpn, Nanos, SimTime, Slab, Status, UnitSize};

/// A command between its submission and its completion.
#[derive(Clone, Debug)]
pub struct Command {
    command: HostCommand,
    submitted: SimTime,
    /// Account of the time before the command was in the device; `None` if no time is spent there.
    account: Option<u32>,
    /// The next of the commands that are fetched together.
    next_fetched: u32,
    /// Parts that are not yet done.
    remaining: u32,
    /// Bytes of the mapping units that it reads which the host has not asked for, and which no part has left out yet.
    unasked: u32,
    recorded: bool,
    /// Status with which it completes.
    status: Status,
}

// A cache line: the table is read and written by every command.
const _: () = assert!(size_of::<Command>() <= 64);

impl Default for Command {
    fn default() -> Self {
        let command = HostCommand::flush(0);
        Command {
            command,
            submitted: SimTime::ZERO,
            account: None,
            next_fetched: 0,
            remaining: 0,
            unasked: 0,
            recorded: false,
            status: Status::Success,
        }
    }
}

impl Command {
    /// Returns the command as the host submitted it.
    #[inline]
    pub fn command(&self) -> &HostCommand {
        &self.command
    }

    /// Returns true if the command is counted in the statistics.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Returns the completion of the command, whose id is `id`, at `now`.
    #[inline]
    pub fn completion(&self, id: CommandId, now: SimTime) -> Completion {
        let HostCommand { op, flags, queue, stream, tag, offset, length } = self.command;
        let (submitted, status) = (self.submitted, self.status);
        Completion { id, tag, op, flags, queue, stream, submitted, completed: now, offset, length, status }
    }

    /// Returns the instant of the submission of the command.
    #[inline]
    pub fn submitted(&self) -> SimTime {
        self.submitted
    }

    /// Returns the status with which the command completes.
    #[inline]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the time from the submission of the command to `now`.
    #[inline]
    pub fn latency(&self, now: SimTime) -> Nanos {
        now.since(self.submitted)
    }

    /// Returns the next of the commands that are fetched together with this one; of the last one, any.
    #[inline]
    pub fn next_fetched(&self) -> CommandId {
        CommandId(self.next_fetched)
    }

    /// Returns the slot of the account of the time before the command was in the device, if it has one.
    #[inline]
    pub fn account(&self) -> Option<u32> {
        self.account
    }
}

/// The commands between their submission and their completion.
#[derive(Clone, Debug)]
pub struct Commands {
    all: Slab<Command>,
    unit: UnitSize,
    /// Least data of a part of a read: a logical block, or a mapping unit if that is smaller.
    least: u64,
}

impl Commands {
    /// Returns the table of a drive with these mapping units and logical blocks, without commands.
    pub fn new(unit: UnitSize, logical_block: Bytes) -> Commands {
        Commands { all: Slab::with_capacity(1024), unit, least: logical_block.0.min(unit.bytes()) }
    }

    /// Returns the commands that were submitted and have not completed, in the order of their numbers.
    pub fn outstanding(&self) -> Vec<(CommandId, HostCommand)> {
        let mut is_free = vec![false; self.all.len()];
        self.all.free_slots().iter().for_each(|&slot| is_free[slot as usize] = true);
        let in_use = (0..).zip(is_free).filter(|(_, is_free)| !is_free);
        in_use.map(|(slot, _)| (CommandId(slot), self.all[slot].command)).collect()
    }

    /// Enters a command that is submitted to arrive at `at`.
    #[inline]
    pub fn submit(&mut self, command: HostCommand, at: SimTime, recorded: bool) -> CommandId {
        let slot = self.all.take();
        // Field by field: copied as a whole it would be read with wide loads right after its narrow stores.
        let HostCommand { op, flags, queue, stream, tag, offset, length } = command;
        let state = &mut self.all[slot];
        state.command.op = op;
        state.command.flags = flags;
        state.command.queue = queue;
        state.command.stream = stream;
        state.command.tag = tag;
        state.command.offset = offset;
        state.command.length = length;
        state.submitted = at;
        state.account = None;
        state.recorded = recorded;
        state.status = Status::Success;
        CommandId(slot)
    }

    /// Gives a command an account.
    #[inline]
    pub fn set_account(&mut self, command: CommandId, account: u32) {
        self.all[command.0].account = Some(account);
    }

    /// Links the commands that are fetched together.
    pub fn link(&mut self, batch: &[CommandId]) {
        for pair in batch.windows(2) {
            self.all[pair[0].0].next_fetched = pair[1].0;
        }
    }

    /// Sets the number of parts after which a command is done.
    #[inline]
    pub fn expect_parts(&mut self, command: CommandId, parts: u32) {
        self.all[command.0].remaining = parts;
    }

    /// Counts parts that are done. Returns true if they were the last ones.
    pub fn parts_done(&mut self, command: CommandId, count: u32) -> bool {
        let state = &mut self.all[command.0];
        state.remaining -= count;
        state.remaining == 0
    }

    /// Sets the number of bytes of its mapping units that the host has not asked for.
    #[inline]
    pub fn set_unasked(&mut self, command: CommandId, units: &UnitRange) {
        let state = &mut self.all[command.0];
        state.unasked = (self.unit.offset(units.count.into()) - state.command.length.0) as u32;
    }

    /// Returns the data of a part of a read that crosses the link. Bytes that the host has not asked for are left out
    /// of the parts that come first.
    #[inline]
    pub fn data_to_host(&mut self, command: CommandId, units: u32) -> Bytes {
        let state = &mut self.all[command.0];
        let bytes = self.unit.offset(units.into());
        if state.unasked == 0 {
            return Bytes(bytes);
        }
        let left_out = u64::from(state.unasked).min(bytes - self.least);
        state.unasked -= left_out as u32;
        Bytes(bytes - left_out)
    }

    /// Counts a part that is done. Returns true if it was the last one.
    #[inline]
    pub fn part_done(&mut self, command: CommandId) -> bool {
        let state = &mut self.all[command.0];
        state.remaining -= 1;
        state.remaining == 0
    }

    /// Sets the status with which a command completes. Returns true if it had another one.
    pub fn set_status(&mut self, command: CommandId, status: Status) -> bool {
        std::mem::replace(&mut self.all[command.0].status, status) != status
    }

    /// Sets the place of the data of an append.
    pub fn place(&mut self, command: CommandId, offset: Bytes) {
        self.all[command.0].command.offset = offset;
    }

    /// Removes a command that is done.
    #[inline]
    pub fn release(&mut self, command: CommandId) {
        self.all.release(command.0);
    }
}

impl std::ops::Index<CommandId> for Commands {
    type Output = Command;
    #[inline]
    fn index(&self, command: CommandId) -> &Command {
        &self.all[command.0]
    }
}

/// The mapping units that a command's range touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRange {
    /// The first unit.
    pub first: Lpn,
    /// Number of units.
    pub count: u32,
    /// True if the range begins at the beginning of the first unit.
    begins_aligned: bool,
    /// True if the range ends at the end of the last unit.
    ends_aligned: bool,
}

impl UnitRange {
    /// Returns the units of a size that a command touches.
    #[inline]
    pub fn of(command: &HostCommand, unit: UnitSize) -> UnitRange {
        let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
        let first = unit.whole(start);
        let last = unit.begun(end);
        UnitRange {
            first: Lpn(u32::try_from(first).expect("validated: an address in the drive")),
            count: u32::try_from(last - first).expect("validated: a length in the drive"),
            begins_aligned: unit.divides(start),
            ends_aligned: unit.divides(end),
        }
    }

    fn is_whole(&self, index: u32) -> bool {
        (index > 0 || self.begins_aligned) && (index + 1 < self.count || self.ends_aligned)
    }

    /// Returns the unit at position `index` of the range of a write; `buffered` is its number in the write buffer.
    #[inline]
    pub fn unit(&self, command: CommandId, index: u32, buffered: Option<u64>) -> HostUnit {
        let (whole, last) = (self.is_whole(index), index + 1 == self.count);
        HostUnit { command, lpn: Lpn(self.first.0 + index), whole, last, buffered, durable: false, stalled: Nanos::ZERO }
    }

    /// Returns the bytes of the range of a command in `count` of its units, from the one at position `index`.
    pub fn bytes(command: &HostCommand, unit: UnitSize, index: u32, count: u32) -> Bytes {
        let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
        let first = unit.offset(unit.whole(start) + u64::from(index));
        Bytes(end.min(first + unit.offset(count.into())) - start.max(first))
    }

    /// Returns the units that are covered completely, those that a trim deallocates: the first one and their number.
    pub fn inner(&self) -> (Lpn, u32) {
        if self.count == 0 || self.count == 1 && !self.is_whole(0) {
            return (self.first, 0);
        }
        let skip = u32::from(!self.begins_aligned);
        (Lpn(self.first.0 + skip), self.count - skip - u32::from(!self.ends_aligned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Op, SECTOR_BYTES, UNIT_BYTES};

    fn units(offset: u64, length: u64) -> UnitRange {
        UnitRange::of(&HostCommand::new(Op::Write, 0, Bytes(offset), Bytes(length)), UnitSize::default())
    }

    /// Every range of sectors within six units, against a count sector by sector.
    #[test]
    fn every_small_range_touches_and_covers_the_units_that_its_sectors_do() {
        const SECTORS: u64 = UNIT_BYTES / kit::SECTOR_BYTES;
        for start in 0..6 * SECTORS {
            for end in start + 1..=6 * SECTORS {
                let range = units(start * kit::SECTOR_BYTES, (end - start) * kit::SECTOR_BYTES);
                let covered = |unit: u64| (unit * SECTORS..(unit + 1) * SECTORS).filter(|at| (start..end).contains(at)).count();
                let touched: Vec<u32> = (0..6).filter(|&unit| covered(unit) > 0).map(|unit| unit as u32).collect();
                let of_range: Vec<HostUnit> = (0..range.count).map(|index| range.unit(CommandId(0), index, None)).collect();
                assert_eq!(of_range.iter().map(|unit| unit.lpn.0).collect::<Vec<_>>(), touched, "{start}..{end}");
                let whole = |unit: u32| covered(u64::from(unit)) as u64 == SECTORS;
                assert!(of_range.iter().all(|unit| unit.whole == whole(unit.lpn.0)), "{start}..{end}");
                let last = touched.last().copied();
                assert!(of_range.iter().all(|unit| unit.last == (Some(unit.lpn.0) == last)), "{start}..{end}");
                let command = HostCommand::new(Op::Write, 0, Bytes(start * SECTOR_BYTES), Bytes((end - start) * SECTOR_BYTES));
                for (index, count) in
                    (0..range.count).flat_map(|index| (1..=range.count - index).map(move |count| (index, count)))
                {
                    let units = (index..index + count).map(|index| u64::from(range.first.0 + index));
                    let sectors: usize = units.map(covered).sum();
                    let bytes = UnitRange::bytes(&command, UnitSize::default(), index, count);
                    assert_eq!(bytes, Bytes(sectors as u64 * SECTOR_BYTES), "{start}..{end}, {count} units from {index}");
                }
                let (first, count) = range.inner();
                let inner: Vec<u32> = (first.0..first.0 + count).collect();
                assert_eq!(inner, touched.into_iter().filter(|&unit| whole(unit)).collect::<Vec<_>>(), "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_flush_touches_nothing() {
        let range = units(0, 0);
        assert_eq!((range.count, range.inner().1), (0, 0));
    }

    /// A read of every range of sectors within three units, in every division into parts: the parts have the bytes of
    /// the range, and at least a sector each.
    #[test]
    fn the_parts_of_a_read_have_the_bytes_that_the_host_asked_for() {
        let mut commands = Commands::new(UnitSize::default(), Bytes(SECTOR_BYTES));
        for start in 0..24 {
            for end in start + 1..=24 {
                let (offset, length) = (Bytes(start * SECTOR_BYTES), Bytes((end - start) * SECTOR_BYTES));
                let command = HostCommand::new(Op::Read, 0, offset, length);
                let range = UnitRange::of(&command, UnitSize::default());
                let divisions: &[&[u32]] = match range.count {
                    1 => &[&[1]],
                    2 => &[&[2], &[1, 1]],
                    _ => &[&[3], &[1, 2], &[2, 1], &[1, 1, 1]],
                };
                for division in divisions {
                    let id = commands.submit(command, SimTime(0), true);
                    commands.set_unasked(id, &range);
                    let parts: Vec<u64> = division.iter().map(|&units| commands.data_to_host(id, units).0).collect();
                    assert_eq!(parts.iter().sum::<u64>(), length.0, "{start}..{end} in {division:?}");
                    assert!(parts.iter().all(|bytes| *bytes >= SECTOR_BYTES), "{start}..{end} in {division:?}");
                    commands.release(id);
                }
            }
        }
    }

    #[test]
    fn a_command_is_done_with_its_last_part() {
        let mut commands = Commands::new(UnitSize::default(), Bytes(SECTOR_BYTES));
        let command = HostCommand { queue: 3, stream: 5, ..HostCommand::new(Op::Read, 7, Bytes(0), Bytes(8192)) };
        let id = commands.submit(command, SimTime(100), true);
        assert_eq!(commands[id].account(), None);
        commands.set_account(id, 4);
        commands.expect_parts(id, 2);
        assert!(!commands.part_done(id) && commands.part_done(id));
        assert!(commands[id].account() == Some(4) && commands[id].is_recorded());
        let completion = commands[id].completion(id, SimTime(250));
        assert_eq!((completion.id, completion.tag, completion.queue, completion.stream), (id, 7, 3, 5));
        assert_eq!((completion.flags.bits(), completion.latency()), (0, Nanos(150)));
        // A slot that is used again keeps nothing of the command before.
        commands.release(id);
        let again = commands.submit(command, SimTime(300), false);
        assert!(again == id && commands[again].account().is_none() && !commands[again].is_recorded());
    }
}
