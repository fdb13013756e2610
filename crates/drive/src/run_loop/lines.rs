//! A host that issues a workload as vectored commands on a drive with physical addresses.

use crate::drive::Drive;
use crate::statistics::LogOrigin;
use ftl::layer::pass_through::MAX_ADDRESSES;
use ftl::layer::pass_through::chunks::{ChunkState, Chunks};
use ftl::layer::pass_through::lines::Lines;
use kit::{Bytes, CommandFlags, CommandId, Completion, HostCommand, Op, SimTime, Slab, UNIT_BYTES};
use std::collections::VecDeque;
use std::ops::Range;

/// Most addresses of a vectored command.
const MOST: u32 = MAX_ADDRESSES as u32;
/// Request of a command of the host's own.
const NONE: u32 = u32::MAX;
/// States of a chunk in which it is reset before it is written from its beginning.
const WRITTEN: &[ChunkState] = &[ChunkState::Open, ChunkState::Closed];

/// Meaning of a piece of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Read of units of a line.
    Read,
    /// Write of units of a line.
    Write,
    /// Reset of chunks of a line, which the workload requests by a trim.
    Trim,
    /// Reset of chunks of a line, before the line is written again.
    Reset,
    /// Trim that covers no whole line: a reset of an address at which no chunk begins.
    Unfit,
    /// The command of the workload as it is: a flush, or a write of no whole mapping units.
    AsItIs,
}

/// Piece of a request: a vectored command for a line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The request, of which the piece has the flags, the queue, the stream and the tag.
    command: HostCommand,
    origin: LogOrigin,
    what: What,
    line: u32,
    /// First unit in the line; of a reset, the first turn.
    first: u32,
    /// Number of units, or of chunks.
    count: u32,
    at: SimTime,
    request: u32,
}

/// Command in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    what: What,
    line: u32,
    request: u32,
}

/// State of a line as the host knows it.
#[derive(Clone, Copy, Debug)]
struct Shadow {
    /// Writes in flight.
    writes: u32,
    /// Resets in flight.
    resets: u32,
    /// True if anything may be written since the last reset.
    is_used: bool,
}

/// Turns the requests of a workload, whose addresses are those of a linear space, into vectored commands.
///
/// A read or a write becomes a command for each 64 addresses; a write is divided between programs. No command is for
/// more than one line. A write of the first unit of a line that is written waits until all writes to the line are
/// complete, and the host resets the line first; that needs all its chunks closed or free, or `early_reset`. A trim
/// resets the lines that it covers. What is out of order is passed on, and has its status from the drive. The request
/// is complete with its last command. The time for which a command is held back by the host is no part of its latency.
pub(super) struct LineHost {
    lines: Lines,
    early_reset: bool,
    /// Most addresses of a write.
    max_written: u32,
    shadows: Vec<Shadow>,
    /// Writes that wait for a reset of their line, trims that wait for writes, and what follows them.
    held: Vec<VecDeque<Piece>>,
    /// Commands that wait for the place of a list of addresses.
    waiting: VecDeque<Piece>,
    /// Commands of each request that are not complete.
    requests: Slab<u32>,
    /// Commands in flight, by their ids.
    in_flight: Vec<InFlight>,
    /// Commands that completed last.
    done: Vec<InFlight>,
}

impl LineHost {
    /// Returns the host of a drive with these chunks; `None` if a workload's addresses are places of the flash.
    pub fn new(chunks: &Chunks) -> Option<LineHost> {
        let (lines, rules) = (chunks.lines()?.clone(), chunks.rules());
        let count = lines.count() as usize;
        Some(LineHost {
            lines,
            early_reset: rules.early_reset,
            max_written: MOST / rules.ws_min * rules.ws_min,
            shadows: vec![Shadow { writes: 0, resets: 0, is_used: true }; count],
            held: vec![VecDeque::new(); count],
            waiting: VecDeque::new(),
            requests: Slab::default(),
            in_flight: Vec::new(),
            done: Vec::new(),
        })
    }

    /// Submits a request of the workload. Returns the number of its commands, those held back included.
    pub fn submit(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) -> u32 {
        let request = self.requests.put(0);
        let piece = Piece { command, origin, what: What::AsItIs, line: 0, first: 0, count: 0, at, request };
        let (begin, end) = (command.offset.0, command.offset.0 + command.length.0);
        let touched = begin / UNIT_BYTES..end.div_ceil(UNIT_BYTES);
        match command.op {
            Op::Read => self.divide(&Piece { what: What::Read, ..piece }, touched, MOST, drive),
            Op::Write if (begin | end).is_multiple_of(UNIT_BYTES) => {
                self.divide(&Piece { what: What::Write, ..piece }, touched, self.max_written, drive);
            }
            Op::Trim => self.trim(&piece, begin..end, drive),
            _ => self.enter(piece, drive),
        }
        self.requests[request]
    }

    /// Divides a range of units into commands of at most `most` addresses in one line.
    fn divide(&mut self, piece: &Piece, units: Range<u64>, most: u32, drive: &mut Drive) {
        let size = u64::from(self.lines.units());
        let mut from = units.start;
        while from < units.end {
            let first = from % size;
            let count = (units.end - from).min(size - first).min(u64::from(most));
            self.enter(Piece { line: (from / size) as u32, first: first as u32, count: count as u32, ..*piece }, drive);
            from += count;
        }
    }

    /// Resets the lines that a range of bytes covers.
    fn trim(&mut self, piece: &Piece, bytes: Range<u64>, drive: &mut Drive) {
        let size = u64::from(self.lines.units()) * UNIT_BYTES;
        let whole = bytes.start.div_ceil(size)..bytes.end / size;
        if whole.is_empty() {
            return self.enter(Piece { what: What::Unfit, line: (bytes.start / size) as u32, ..*piece }, drive);
        }
        for line in whole {
            for first in (0..self.lines.turns()).step_by(MAX_ADDRESSES) {
                let count = MOST.min(self.lines.turns() - first);
                self.enter(Piece { what: What::Trim, line: line as u32, first, count, ..*piece }, drive);
            }
        }
    }

    /// Takes a piece of a request: sends it, or holds it back.
    fn enter(&mut self, piece: Piece, drive: &mut Drive) {
        self.requests[piece.request] += 1;
        if !matches!(piece.what, What::Write | What::Trim) {
            return self.send(piece, drive);
        }
        if self.held[piece.line as usize].is_empty() && self.may_begin(&piece, drive) {
            return self.begin(piece, drive);
        }
        self.held[piece.line as usize].push_back(piece);
    }

    /// Returns true if a write or a trim may be sent. Otherwise it waits for commands in flight for its line, those of
    /// the reset among them that it needs.
    fn may_begin(&mut self, piece: &Piece, drive: &mut Drive) -> bool {
        let shadow = self.shadows[piece.line as usize];
        match piece.what {
            What::Trim => shadow.writes == 0,
            _ if piece.first > 0 || !shadow.is_used => true,
            _ if shadow.writes > 0 || shadow.resets > 0 => false,
            _ => !self.reset(piece, drive),
        }
    }

    /// Resets the written chunks of a line in which nothing is in flight. Returns false if there are none, or not
    /// all of them may be reset.
    fn reset(&mut self, piece: &Piece, drive: &mut Drive) -> bool {
        let turns = self.lines.turns();
        let is = |host: &LineHost, turn: u32, states: &[ChunkState], drive: &Drive| {
            states.contains(&host.state(piece.line, turn, drive))
        };
        if !self.early_reset && (0..turns).any(|turn| is(self, turn, &[ChunkState::Open], drive)) {
            return false;
        }
        let command = HostCommand { op: Op::Trim, flags: CommandFlags::NONE.measured_like(piece.command.flags), ..piece.command };
        for first in (0..turns).step_by(MAX_ADDRESSES) {
            let count = MOST.min(turns - first);
            if (first..first + count).any(|turn| is(self, turn, WRITTEN, drive)) {
                self.shadows[piece.line as usize].resets += 1;
                let origin = LogOrigin::default();
                self.send(Piece { command, origin, what: What::Reset, first, count, request: NONE, ..*piece }, drive);
            }
        }
        self.shadows[piece.line as usize].resets > 0
    }

    fn state(&self, line: u32, turn: u32, drive: &Drive) -> ChunkState {
        let chunks = drive.translator().chunks().expect("the drive has chunks");
        chunks.all()[self.lines.chunk(line, turn) as usize].state
    }

    /// Sends a write or a trim, which need not wait.
    fn begin(&mut self, piece: Piece, drive: &mut Drive) {
        let shadow = &mut self.shadows[piece.line as usize];
        if piece.what == What::Write {
            shadow.writes += 1;
            shadow.is_used = true;
        } else {
            shadow.resets += 1;
        }
        self.send(piece, drive);
    }

    /// Sends a command once there is a place for its addresses.
    fn send(&mut self, piece: Piece, drive: &mut Drive) {
        if !self.waiting.is_empty() || !self.sent(&piece, drive) {
            self.waiting.push_back(piece);
        }
    }

    /// Submits a command. Returns false if there is no place for its addresses.
    fn sent(&mut self, piece: &Piece, drive: &mut Drive) -> bool {
        let mut command = piece.command;
        if piece.what != What::AsItIs {
            let mut addresses = [Bytes(0); MAX_ADDRESSES];
            let count = self.addresses(piece, drive, &mut addresses);
            let Some(offset) = drive.vector(&addresses[..count]) else { return false };
            (command.offset, command.length) = (offset, Bytes(count as u64 * UNIT_BYTES));
        }
        let id = drive.submit_of(command, piece.origin, piece.at.max(drive.now()));
        self.note_submitted(id, InFlight { what: piece.what, line: piece.line, request: piece.request });
        true
    }

    fn note_submitted(&mut self, id: CommandId, in_flight: InFlight) {
        let id = id.index();
        if id >= self.in_flight.len() {
            self.in_flight.resize(id + 1, in_flight);
        }
        self.in_flight[id] = in_flight;
    }

    /// Submits a flush, which needs no place for addresses.
    pub fn flush(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) -> CommandId {
        let request = self.requests.put(1);
        let id = drive.submit_of(command, origin, at);
        self.note_submitted(id, InFlight { what: What::AsItIs, line: 0, request });
        id
    }

    /// Writes the addresses of a command to `into`. Returns their number.
    fn addresses(&self, piece: &Piece, drive: &Drive, into: &mut [Bytes; MAX_ADDRESSES]) -> usize {
        let (line, range) = (piece.line, piece.first..piece.first + piece.count);
        let first = |turn: u32| self.lines.first(line, turn);
        match piece.what {
            What::Read | What::Write => fill(into, self.lines.addresses(line, range)),
            What::Trim => fill(into, range.map(first)),
            What::Reset => fill(into, range.filter(|&turn| WRITTEN.contains(&self.state(line, turn, drive))).map(first)),
            What::Unfit => fill(into, std::iter::once(first(0) + 1)),
            What::AsItIs => unreachable!("it has no list of addresses"),
        }
    }

    /// Notes which commands have completed, before any is submitted that gets the id of one of them.
    pub fn note(&mut self, done: &[Completion]) {
        self.done.clear();
        self.done.extend(done.iter().map(|completion| self.in_flight[completion.id.index()]));
    }

    /// Handles the completion of a command that was noted, by its position. Returns true if it was the last of a
    /// request of the workload.
    pub fn completion_seen(&mut self, position: usize, drive: &mut Drive) -> bool {
        let InFlight { what, line, request } = self.done[position];
        let shadow = &mut self.shadows[line as usize];
        match what {
            What::Write => shadow.writes -= 1,
            What::Trim => shadow.resets -= 1,
            What::Reset => {
                shadow.resets -= 1;
                shadow.is_used &= shadow.resets > 0;
            }
            What::Read | What::Unfit | What::AsItIs => {}
        }
        while let Some(piece) = self.held[line as usize].front().copied() {
            if !self.may_begin(&piece, drive) {
                break;
            }
            self.held[line as usize].pop_front();
            self.begin(piece, drive);
        }
        while let Some(piece) = self.waiting.front().copied() {
            if !self.sent(&piece, drive) {
                break;
            }
            self.waiting.pop_front();
        }
        if request == NONE {
            return false;
        }
        self.requests[request] -= 1;
        let is_last = self.requests[request] == 0;
        if is_last {
            self.requests.release(request);
        }
        is_last
    }
}

/// Writes the bytes at which mapping units begin to `into`. Returns their number.
fn fill(into: &mut [Bytes; MAX_ADDRESSES], units: impl Iterator<Item = u32>) -> usize {
    let mut count = 0;
    for (address, unit) in into.iter_mut().zip(units) {
        *address = Bytes(u64::from(unit) * UNIT_BYTES);
        count += 1;
    }
    count
}
