//! Requests of clients as commands of a drive.

use crate::connection::{Extent, Kind, Request};
use crate::record::Record;
use crate::wire::{Errno, flag};
use drive::PowerLoss;
use drive::embed::{EmbedError, EmbedErrorKind, EmbeddedDrive};
use kit::{Bytes, CommandFlags, CommandId, HostCommand, Lpn, Nanos, Op, SimTime, Status};
use std::fs::File;
use std::ops::Range;

/// Largest write of zeroes that is one command.
const ZEROES: u64 = 1 << 20;
/// Writes of zeroes of one request in flight.
const ZEROES_AT_ONCE: u32 = 4;
/// Most extents of an answer, and most units that are looked at for it.
const EXTENTS: usize = 1024;
const UNITS_PER_LOOK: u64 = 1 << 16;
/// Time from an instant that the drive has handled to the earliest arrival after it. An arrival within the same instant
/// would come after what the drive has started there, and a replay would have it before.
const NEXT: u64 = 1;

/// A request in the drive.
#[derive(Clone, Debug)]
struct Work {
    client: u64,
    cookie: u64,
    kind: Kind,
    offset: u64,
    length: u32,
    began: SimTime,
    /// Commands in flight for it.
    parts: u32,
    error: Option<Errno>,
    /// True if a flush follows the other commands.
    then_flush: bool,
    /// Zeroes that are still to be written.
    zeroes: Range<u64>,
}

/// Answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Number of the client.
    pub client: u64,
    /// Number by which the client knows the request.
    pub cookie: u64,
    /// Kind of the request.
    pub kind: Kind,
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub length: u32,
    /// Data that was read, or the error.
    pub result: Result<&'a [u8], Errno>,
    /// Instant of the arrival.
    pub began: SimTime,
    /// Instant of the last completion.
    pub completed: SimTime,
}

/// Totals of all requests so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Requests by kind, in the order of [`Kind`].
    pub requests: [u64; 6],
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that were answered with an error.
    pub failed: u64,
    /// Losses of power.
    pub power_losses: u64,
}

/// A drive with contents that serves requests.
pub struct Engine {
    drive: EmbeddedDrive,
    works: Vec<Work>,
    free: Vec<u32>,
    /// Requests by the numbers of their commands in flight.
    by_command: Vec<u32>,
    /// Requests whose next commands are to be submitted.
    follow: Vec<u32>,
    zeroes: Box<[u8]>,
    has_begun: bool,
    /// Instant of the latest arrival.
    latest: SimTime,
    record: Option<Record>,
    counts: Counts,
    /// Time without power after a loss that was asked for at an event.
    down: Nanos,
}

impl Engine {
    /// Takes a drive that keeps its contents. `record`: file for a trace of its commands.
    pub fn new(drive: EmbeddedDrive, record: Option<File>) -> Engine {
        Engine {
            drive,
            works: Vec::new(),
            free: Vec::new(),
            by_command: Vec::new(),
            follow: Vec::new(),
            zeroes: vec![0; ZEROES as usize].into_boxed_slice(),
            has_begun: false,
            latest: SimTime::ZERO,
            record: record.map(Record::new),
            counts: Counts::default(),
            down: Nanos::ZERO,
        }
    }

    /// Returns the drive.
    pub fn drive(&self) -> &EmbeddedDrive {
        &self.drive
    }

    /// Returns the drive, for a call that submits no command.
    pub fn drive_mut(&mut self) -> &mut EmbeddedDrive {
        &mut self.drive
    }

    /// Takes another drive in place of this one, without requests in flight. Its measurement is its own.
    pub fn replace(&mut self, drive: EmbeddedDrive) {
        assert!(self.in_flight() == 0, "{} requests are in flight", self.in_flight());
        self.drive = drive;
        self.latest = self.drive.now();
    }

    /// Returns the drive.
    pub fn into_drive(self) -> EmbeddedDrive {
        self.drive
    }

    /// Returns true if there is a record, which cannot go back in time.
    pub fn has_record(&self) -> bool {
        self.record.is_some()
    }

    /// Returns the number of requests in the drive.
    pub fn in_flight(&self) -> usize {
        self.works.len() - self.free.len()
    }

    /// Returns what was served so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Ends the record, and returns the error that has ended it early.
    pub fn finish(&mut self) -> std::io::Result<()> {
        self.record.take().map_or(Ok(()), Record::finish)
    }

    /// Returns the instant at which a request arrives that is read now, after a time `think`. Requests arrive in the
    /// order in which they are taken.
    pub fn arrival(&self, think: Nanos) -> SimTime {
        let now = self.drive.now();
        let at = if self.has_begun { SimTime(now.0.saturating_add(NEXT).saturating_add(think.0)) } else { now };
        at.max(self.latest)
    }

    /// Takes a request that arrives at an instant, no earlier than [`Engine::arrival`]. Its answer comes from
    /// [`Engine::advance`], unless it is not accepted.
    pub fn submit(&mut self, client: u64, request: &Request, data: &[u8], at: SimTime) -> Result<(), Errno> {
        self.counts.requests[request.kind as usize] += 1;
        let Request { cookie, kind, offset, length, .. } = *request;
        let fua = request.has(flag::FUA);
        let work = Work {
            client,
            cookie,
            kind,
            offset,
            length,
            began: at,
            parts: 0,
            error: None,
            then_flush: fua && matches!(kind, Kind::Trim | Kind::WriteZeroes),
            zeroes: 0..0,
        };
        let slot = self.place(work);
        let (first, count) = (Bytes(offset), Bytes(u64::from(length)));
        let write = if fua { CommandFlags::FUA } else { CommandFlags::NONE };
        let submitted = match kind {
            Kind::Read => self.command(slot, HostCommand::new(Op::Read, 0, first, count), None, at),
            Kind::Write => {
                let command = HostCommand { flags: write, ..HostCommand::new(Op::Write, 0, first, count) };
                self.command(slot, command, Some(data), at)
            }
            Kind::Flush => self.command(slot, HostCommand::flush(0), None, at),
            Kind::Trim => self.command(slot, HostCommand::new(Op::Trim, 0, first, count), None, at),
            Kind::WriteZeroes => self.write_zeroes(slot, request.has(flag::NO_HOLE), at),
            Kind::BlockStatus => Err(Errno::Inval),
        };
        if let Err(error) = submitted {
            self.works[slot as usize].error.get_or_insert(error);
            if self.works[slot as usize].parts == 0 {
                self.free.push(slot);
                self.counts.failed += 1;
                return Err(error);
            }
        }
        Ok(())
    }

    fn place(&mut self, work: Work) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.works[slot as usize] = work;
                slot
            }
            None => {
                self.works.push(work);
                self.works.len() as u32 - 1
            }
        }
    }

    /// Submits a command for a request.
    fn command(&mut self, slot: u32, command: HostCommand, data: Option<&[u8]>, at: SimTime) -> Result<(), Errno> {
        let id = self.drive.submit_numbered(command, data, at).map_err(|error| errno(&error))?;
        self.latest = at;
        if let Some(record) = &mut self.record {
            record.add(&command, at);
        }
        self.note(id, slot);
        Ok(())
    }

    fn note(&mut self, id: CommandId, slot: u32) {
        if self.by_command.len() <= id.index() {
            self.by_command.resize(id.index() + 1, u32::MAX);
        }
        self.by_command[id.index()] = slot;
        self.works[slot as usize].parts += 1;
    }

    /// Makes a range zeroes: its whole units are deallocated, unless they must not be, and the others are written.
    fn write_zeroes(&mut self, slot: u32, writes_all: bool, at: SimTime) -> Result<(), Errno> {
        let Work { offset, length, .. } = self.works[slot as usize];
        let (unit, end) = (self.drive.unit_bytes(), offset + u64::from(length));
        let (first, last) = (offset.next_multiple_of(unit), end / unit * unit);
        if writes_all || first >= last {
            self.works[slot as usize].zeroes = offset..end;
            return self.write_more_zeroes(slot, at);
        }
        let whole = HostCommand::new(Op::Trim, 0, Bytes(first), Bytes(last - first));
        self.command(slot, whole, None, at)?;
        for part in [offset..first, last..end] {
            if !part.is_empty() {
                self.write_zeroes_of(slot, part, at)?;
            }
        }
        Ok(())
    }

    fn write_zeroes_of(&mut self, slot: u32, part: Range<u64>, at: SimTime) -> Result<(), Errno> {
        let length = part.end - part.start;
        let zeroes = std::mem::take(&mut self.zeroes);
        let command = HostCommand::new(Op::Write, 0, Bytes(part.start), Bytes(length));
        let submitted = self.command(slot, command, Some(&zeroes[..length as usize]), at);
        self.zeroes = zeroes;
        submitted
    }

    /// Submits writes of the zeroes that a request still has to write, a few at a time.
    fn write_more_zeroes(&mut self, slot: u32, at: SimTime) -> Result<(), Errno> {
        loop {
            let work = &mut self.works[slot as usize];
            if work.zeroes.is_empty() || work.parts >= ZEROES_AT_ONCE {
                return Ok(());
            }
            let begin = work.zeroes.start;
            let end = (begin / ZEROES * ZEROES + ZEROES).min(work.zeroes.end);
            work.zeroes.start = end;
            self.write_zeroes_of(slot, begin..end, at)?;
        }
    }

    /// Lets the drive go on to its next completions, up to an instant, and gives the answers of requests that are done.
    /// Returns false if nothing was completed.
    pub fn advance(&mut self, until: SimTime, answer: &mut dyn FnMut(Answer<'_>)) -> Result<bool, EmbedError> {
        self.has_begun = true;
        let count = self.drive.advance(until)?;
        if count > 0 {
            self.take(answer);
        }
        if self.drive.has_lost_power() {
            self.lose_power(self.down, answer)?;
        } else if count == 0 && until == SimTime::FOREVER && self.in_flight() > 0 && self.drive.next_event().is_none() {
            let text = format!("{} requests wait, and the drive completes nothing more", self.in_flight());
            return Err(EmbedError::new(EmbedErrorKind::Failed, text));
        }
        Ok(count > 0)
    }

    /// Takes the completions that wait.
    fn take(&mut self, answer: &mut dyn FnMut(Answer<'_>)) {
        let taken = self.drive.take(usize::MAX);
        for (index, completion) in taken.completions.iter().enumerate() {
            let slot = self.by_command[completion.id.index()];
            let work = &mut self.works[slot as usize];
            work.parts -= 1;
            if completion.status != Status::Success {
                let error = if completion.status == Status::WriteProtected { Errno::Perm } else { Errno::Io };
                work.error.get_or_insert(error);
                (work.zeroes, work.then_flush) = (0..0, false);
            }
            let is_more = !work.zeroes.is_empty() || work.parts == 0 && work.then_flush;
            if is_more {
                self.follow.push(slot);
            } else if work.parts == 0 {
                end(work, &mut self.counts, taken.data(index), completion.completed, answer);
                self.free.push(slot);
            }
        }
        while let Some(slot) = self.follow.pop() {
            self.go_on(slot, answer);
        }
    }

    /// Submits the next commands of a request.
    fn go_on(&mut self, slot: u32, answer: &mut dyn FnMut(Answer<'_>)) {
        let at = self.arrival(Nanos::ZERO);
        let work = &mut self.works[slot as usize];
        let submitted = if !work.zeroes.is_empty() {
            self.write_more_zeroes(slot, at)
        } else if work.parts == 0 && std::mem::take(&mut work.then_flush) {
            self.command(slot, HostCommand::flush(0), None, at)
        } else {
            return;
        };
        let work = &mut self.works[slot as usize];
        if let Err(error) = submitted {
            work.error.get_or_insert(error);
            (work.zeroes, work.then_flush) = (0..0, false);
            if work.parts == 0 {
                end(work, &mut self.counts, &[], at, answer);
                self.free.push(slot);
            }
        }
    }

    /// Completes all requests in the drive.
    pub fn drain(&mut self, answer: &mut dyn FnMut(Answer<'_>)) -> Result<(), EmbedError> {
        while self.in_flight() > 0 {
            self.advance(SimTime::FOREVER, answer)?;
        }
        Ok(())
    }

    /// Has the drive lose power for the time `down`: now, and recover, or after this number of its steps. Requests in
    /// flight then fail.
    pub fn power_cut(
        &mut self,
        after: Option<u64>,
        down: Nanos,
        answer: &mut dyn FnMut(Answer<'_>),
    ) -> Result<Option<(PowerLoss, usize)>, EmbedError> {
        match after {
            None => self.lose_power(down, answer).map(Some),
            Some(steps) => {
                self.down = down;
                self.drive.lose_power_after(steps)?;
                Ok(None)
            }
        }
    }

    /// Loses power and recovers. Returns what was lost, and the number of requests that have failed.
    fn lose_power(&mut self, down: Nanos, answer: &mut dyn FnMut(Answer<'_>)) -> Result<(PowerLoss, usize), EmbedError> {
        let loss = self.drive.lose_power(down)?;
        self.has_begun = true;
        self.counts.power_losses += 1;
        // Capacitors may have let some commands complete.
        for work in &mut self.works {
            (work.zeroes, work.then_flush) = (0..0, false);
        }
        self.take(answer);
        let now = self.drive.now();
        let is_free: Vec<bool> = {
            let mut all = vec![false; self.works.len()];
            self.free.iter().for_each(|slot| all[*slot as usize] = true);
            all
        };
        let mut failed = 0;
        for (slot, _) in is_free.iter().enumerate().filter(|(_, is_free)| !**is_free) {
            let work = &mut self.works[slot];
            work.error = Some(Errno::Io);
            end(work, &mut self.counts, &[], now, answer);
            self.free.push(slot as u32);
            failed += 1;
        }
        Ok((loss, failed))
    }

    /// Returns the parts of a range that hold data or zeroes, from its first byte on: all of it, or as many as fit into
    /// an answer. `one`: the first alone.
    pub fn extents(&mut self, request: &Request) -> Vec<Extent> {
        self.counts.requests[Kind::BlockStatus as usize] += 1;
        let unit = self.drive.unit_bytes();
        let (mut at, end) = (request.offset, request.offset + u64::from(request.length));
        let most = if request.has(flag::REQ_ONE) { 1 } else { EXTENTS };
        let mut extents: Vec<Extent> = Vec::new();
        for _ in 0..UNITS_PER_LOOK {
            if at >= end {
                break;
            }
            let next = (at / unit * unit + unit).min(end);
            let is_hole = self.drive.is_zeroes(Lpn((at / unit) as u32));
            let length = (next - at) as u32;
            let count = extents.len();
            match extents.last_mut() {
                Some(last) if last.is_hole == is_hole => last.length += length,
                _ if count == most => break,
                _ => extents.push(Extent { length, is_hole }),
            }
            at = next;
        }
        extents
    }
}

/// Answers a request that is done.
fn end(work: &Work, counts: &mut Counts, data: &[u8], completed: SimTime, answer: &mut dyn FnMut(Answer<'_>)) {
    match (work.error, work.kind) {
        (Some(_), _) => counts.failed += 1,
        (None, Kind::Read) => counts.read_bytes += u64::from(work.length),
        (None, Kind::Write) => counts.written_bytes += u64::from(work.length),
        _ => {}
    }
    let Work { client, cookie, kind, offset, length, began, error, .. } = *work;
    let data = if kind == Kind::Read { data } else { &[] };
    answer(Answer { client, cookie, kind, offset, length, result: error.map_or(Ok(data), Err), began, completed });
}

/// Returns the number of an error with which a drive refuses a command.
fn errno(error: &EmbedError) -> Errno {
    match error.kind {
        EmbedErrorKind::Full => Errno::NoSpc,
        EmbedErrorKind::Range => Errno::Inval,
        _ => Errno::Io,
    }
}
