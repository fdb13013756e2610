//! The table of commands: their ranges, their outstanding parts, and their accounts.

use kit::{CommandId, Completion, HostCommand, HostUnit, Lpn, Nanos, SimTime, Slab, UNIT_BYTES};

/// A command between its submission and its completion.
#[derive(Clone, Debug)]
pub struct Command {
    command: HostCommand,
    submitted: SimTime,
    /// Account of the time before the command was in the device; `None` if no time is spent there.
    account: Option<u32>,
    /// Parts that are not yet done.
    remaining: u32,
    recorded: bool,
    /// True if some of the data that it reads is lost.
    failed: bool,
}

// A cache line: the table is read and written by every command.
const _: () = assert!(size_of::<Command>() <= 64);

impl Default for Command {
    fn default() -> Self {
        let command = HostCommand::flush(0);
        Command { command, submitted: SimTime::ZERO, account: None, remaining: 0, recorded: false, failed: false }
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

    /// Returns the completion of the command at `now`.
    #[inline]
    pub fn completion(&self, now: SimTime) -> Completion {
        let HostCommand { op, flags, queue, stream, tag, length, .. } = self.command;
        let (submitted, media_error) = (self.submitted, self.failed);
        Completion { tag, op, flags, queue, stream, submitted, completed: now, length, media_error }
    }

    /// Returns the time from the submission of the command to `now`.
    #[inline]
    pub fn latency(&self, now: SimTime) -> Nanos {
        now.since(self.submitted)
    }

    /// Returns the slot of the account of the time before the command was in the device, if it has one.
    #[inline]
    pub fn account(&self) -> Option<u32> {
        self.account
    }
}

/// The commands between their submission and their completion.
#[derive(Clone, Debug)]
pub struct Commands(Slab<Command>);

impl Default for Commands {
    fn default() -> Self {
        Commands(Slab::with_capacity(1024))
    }
}

impl Commands {
    /// Enters a command that is submitted to arrive at `at`.
    #[inline]
    pub fn submit(&mut self, command: HostCommand, at: SimTime, recorded: bool) -> CommandId {
        let slot = self.0.take();
        // Field by field: copied as a whole it would be read with wide loads right after its narrow stores.
        let HostCommand { op, flags, queue, stream, tag, offset, length } = command;
        let state = &mut self.0[slot];
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
        state.failed = false;
        CommandId(slot)
    }

    /// Gives a command an account.
    #[inline]
    pub fn set_account(&mut self, command: CommandId, account: u32) {
        self.0[command.0].account = Some(account);
    }

    /// Sets the number of parts after which a command is done.
    #[inline]
    pub fn expect_parts(&mut self, command: CommandId, parts: u32) {
        self.0[command.0].remaining = parts;
    }

    /// Counts a part that is done. Returns true if it was the last one.
    #[inline]
    pub fn part_done(&mut self, command: CommandId) -> bool {
        let state = &mut self.0[command.0];
        state.remaining -= 1;
        state.remaining == 0
    }

    /// Records that some of the data that a command reads is lost. Returns true the first time.
    pub fn fail(&mut self, command: CommandId) -> bool {
        !std::mem::replace(&mut self.0[command.0].failed, true)
    }

    /// Removes a command that is done.
    #[inline]
    pub fn release(&mut self, command: CommandId) {
        self.0.release(command.0);
    }
}

impl std::ops::Index<CommandId> for Commands {
    type Output = Command;
    #[inline]
    fn index(&self, command: CommandId) -> &Command {
        &self.0[command.0]
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
    /// Returns the units that a command touches.
    #[inline]
    pub fn of(command: &HostCommand) -> UnitRange {
        let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
        let first = start / UNIT_BYTES;
        let last = end.div_ceil(UNIT_BYTES);
        UnitRange {
            first: Lpn(u32::try_from(first).expect("validated: an address in the drive")),
            count: u32::try_from(last - first).expect("validated: a length in the drive"),
            begins_aligned: start.is_multiple_of(UNIT_BYTES),
            ends_aligned: end.is_multiple_of(UNIT_BYTES),
        }
    }

    fn is_whole(&self, index: u32) -> bool {
        (index > 0 || self.begins_aligned) && (index + 1 < self.count || self.ends_aligned)
    }

    /// Returns the unit at position `index` of the range of a write; `buffered` is its number in the write buffer.
    #[inline]
    pub fn unit(&self, command: CommandId, index: u32, buffered: Option<u64>) -> HostUnit {
        let (whole, last) = (self.is_whole(index), index + 1 == self.count);
        HostUnit { command, lpn: Lpn(self.first.0 + index), whole, last, buffered }
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
    use kit::{Bytes, Op};

    fn units(offset: u64, length: u64) -> UnitRange {
        UnitRange::of(&HostCommand::new(Op::Write, 0, Bytes(offset), Bytes(length)))
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

    #[test]
    fn a_command_is_done_with_its_last_part() {
        let mut commands = Commands::default();
        let command = HostCommand { queue: 3, stream: 5, ..HostCommand::new(Op::Read, 7, Bytes(0), Bytes(8192)) };
        let id = commands.submit(command, SimTime(100), true);
        assert_eq!(commands[id].account(), None);
        commands.set_account(id, 4);
        commands.expect_parts(id, 2);
        assert!(!commands.part_done(id) && commands.part_done(id));
        assert!(commands[id].account() == Some(4) && commands[id].is_recorded());
        let completion = commands[id].completion(SimTime(250));
        assert_eq!((completion.tag, completion.queue, completion.stream), (7, 3, 5));
        assert_eq!((completion.flags.bits(), completion.latency()), (0, Nanos(150)));
        // A slot that is used again keeps nothing of the command before.
        commands.release(id);
        let again = commands.submit(command, SimTime(300), false);
        assert!(again == id && commands[again].account().is_none() && !commands[again].is_recorded());
    }
}
