//! A drive with contents for a program that waits for each of its calls, in simulated time.

use super::{EmbedError, EmbedErrorKind, EmbeddedDrive};
use crate::drive::PowerLoss;
use kit::{Bytes, CommandFlags, HostCommand, Ledger, Nanos, Op, SimTime, Status};

/// Request of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Reads bytes from an offset on.
    Read {
        /// First byte.
        offset: Bytes,
        /// Number of bytes.
        length: Bytes,
    },
    /// Writes data from an offset on.
    Write {
        /// First byte.
        offset: Bytes,
        /// The data.
        data: &'a [u8],
        /// True if the write completes only once its data is durable (FUA).
        is_durable: bool,
    },
    /// Makes all data durable whose writes have completed.
    Flush,
    /// Deallocates the whole units of a range, which are zeroes from then on.
    Trim {
        /// First byte.
        offset: Bytes,
        /// Number of bytes.
        length: Bytes,
    },
}

impl Request<'_> {
    fn command(&self, tag: u32) -> HostCommand {
        match *self {
            Request::Read { offset, length } => HostCommand::new(Op::Read, tag, offset, length),
            Request::Trim { offset, length } => HostCommand::new(Op::Trim, tag, offset, length),
            Request::Flush => HostCommand::flush(tag),
            Request::Write { offset, data, is_durable } => {
                let flags = if is_durable { CommandFlags::FUA } else { CommandFlags::NONE };
                HostCommand { flags, ..HostCommand::new(Op::Write, tag, offset, Bytes(data.len() as u64)) }
            }
        }
    }
}

/// Result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status of the command.
    pub status: Status,
    /// Time from the command's submission to its completion.
    pub latency: Nanos,
    /// The latency by cause, in the order of [`kit::Cause::ALL`].
    pub causes: Ledger,
    /// Data of a read that succeeded.
    pub data: Vec<u8>,
}

/// Result of a call on an embedded drive, whose data is there until the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served<'a> {
    /// Status of the command.
    pub status: Status,
    /// Time from the command's submission to its completion.
    pub latency: Nanos,
    /// The latency by cause; `None` unless the drive has causes ([`super::Builder::causes`]).
    pub causes: Option<Ledger>,
    /// Data of a read that succeeded.
    pub data: &'a [u8],
}

impl EmbeddedDrive {
    /// Serves one request alone, on a drive with contents without commands in flight and without completions that wait.
    pub fn serve(&mut self, request: &Request<'_>) -> Result<Served<'_>, EmbedError> {
        self.needs_nothing_in_flight("serve")?;
        if self.waiting() > 0 {
            let text = format!("serve: {} completions wait: expected that they are taken first", self.waiting());
            return Err(EmbedError::new(EmbedErrorKind::InFlight, text));
        }
        let (command, now) = (request.command(0), self.now());
        match request {
            Request::Write { data, .. } => self.submit_write(command, data, now)?,
            _ => self.submit(command, now)?,
        }
        if let Err(error) = self.drain() {
            // The command may have completed in the instant in which power was lost: the call fails all the same.
            self.take(usize::MAX);
            return Err(error);
        }
        let taken = self.take(1);
        let completion = taken.completions[0];
        let causes = taken.causes.first().copied();
        Ok(Served { status: completion.status, latency: completion.latency(), causes, data: taken.data(0) })
    }
}

/// A drive with contents whose clock stands still between the calls of one program.
///
/// A call submits its commands, lets simulated time pass until the last of them has completed, and returns. The
/// program's own time passes by [`Device::spend`], and by a fixed time for each call. The same calls give the same
/// data, latencies and causes.
pub struct Device {
    drive: EmbeddedDrive,
    call: Nanos,
    /// Answers by the tags of the latest call.
    answers: Vec<Answer>,
}

impl Device {
    /// Takes a drive, which must keep its contents ([`super::Builder::contents`]) and the causes of latencies. The time
    /// `call`, that of the program, passes before each call.
    pub fn new(drive: EmbeddedDrive, call: Nanos) -> Result<Device, EmbedError> {
        if !drive.has_contents() || !drive.has_causes() {
            let text = "the drive keeps no contents, or no causes: expected one that was built with both";
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        Ok(Device { drive, call, answers: Vec::new() })
    }

    /// Returns the drive.
    pub fn drive(&self) -> &EmbeddedDrive {
        &self.drive
    }

    /// Returns the drive, for what a device has no call for. Commands in flight are its caller's.
    pub fn drive_mut(&mut self) -> &mut EmbeddedDrive {
        &mut self.drive
    }

    /// Lets the program's own time pass; the drive goes on with what it does in the background.
    pub fn spend(&mut self, time: Nanos) -> Result<(), EmbedError> {
        let until = SimTime(self.drive.now().0.saturating_add(time.0));
        while self.drive.now() < until {
            self.drive.advance(until)?;
            if self.drive.has_lost_power() {
                return Err(EmbeddedDrive::power_is_lost());
            }
        }
        Ok(())
    }

    /// Serves one request alone.
    pub fn serve(&mut self, request: Request<'_>) -> Result<&Answer, EmbedError> {
        self.batch(std::slice::from_ref(&request)).map(|answers| &answers[0])
    }

    /// Serves requests that are submitted at one instant, in their order; they may be served in any. If one is not
    /// valid, none is served. The answers are in the order of the requests.
    pub fn batch(&mut self, requests: &[Request<'_>]) -> Result<&[Answer], EmbedError> {
        for request in requests {
            self.drive.would_take(&request.command(0))?;
        }
        self.spend(self.call)?;
        self.answers.resize_with(requests.len(), Answer::default);
        let now = self.drive.now();
        let mut submitted = Ok(());
        for (tag, request) in (0..).zip(requests) {
            submitted = match request {
                Request::Write { data, .. } => self.drive.submit_write(request.command(tag), data, now),
                _ => self.drive.submit(request.command(tag), now),
            };
            if submitted.is_err() {
                // The contents are full: what was submitted before is served.
                break;
            }
        }
        while self.drive.in_flight() > 0 && !self.drive.has_lost_power() {
            match self.drive.advance(SimTime::FOREVER) {
                // The error is returned once all commands in flight have completed.
                Err(error) if error.kind == EmbedErrorKind::Stopped => submitted = Err(error),
                other => drop(other?),
            }
            self.take();
        }
        submitted?;
        if self.drive.has_lost_power() {
            return Err(EmbeddedDrive::power_is_lost());
        }
        Ok(&self.answers)
    }

    /// Takes the completions that wait.
    fn take(&mut self) {
        let taken = self.drive.take(usize::MAX);
        for (index, (completion, causes)) in taken.completions.iter().zip(taken.causes).enumerate() {
            let answer = &mut self.answers[completion.tag as usize];
            (answer.status, answer.latency, answer.causes) = (completion.status, completion.latency(), *causes);
            answer.data.clear();
            answer.data.extend_from_slice(taken.data(index));
        }
    }

    /// Has the drive lose power after this number of its steps, counted from now: the call in which it happens fails
    /// with [`EmbedErrorKind::PowerLost`], and so do all others until [`Device::recover`].
    pub fn lose_power_after(&mut self, steps: u64) -> Result<(), EmbedError> {
        self.drive.lose_power_after(steps)
    }

    /// Brings power back after the time `down`; cuts it first, if it is not lost. The drive recovers, which takes
    /// simulated time.
    pub fn recover(&mut self, down: Nanos) -> Result<PowerLoss, EmbedError> {
        let loss = self.drive.lose_power(down);
        self.drive.take(usize::MAX);
        loss
    }
}
