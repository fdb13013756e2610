//! Record of the commands of the clients, as a trace in the text format of `blkparse`.

use kit::{CommandFlags, HostCommand, Op, SimTime};
use std::fs::File;
use std::io::{BufWriter, Result, Write};

/// Bytes of a sector in the trace.
const SECTOR: u64 = 512;

/// A trace that is being written. Its times count from the first command.
pub(crate) struct Record {
    to: BufWriter<File>,
    first: Option<SimTime>,
    count: u64,
    /// The error that has ended the record.
    failed: Option<std::io::Error>,
}

impl Record {
    /// Begins a trace in a file.
    pub fn new(file: File) -> Record {
        let mut to = BufWriter::with_capacity(1 << 16, file);
        let failed = to.write_all(b"#Maj,Mn CPU Seq Time PID Action RWBS\n").err();
        Record { to, first: None, count: 0, failed }
    }

    /// Adds a command that arrives at an instant.
    pub fn add(&mut self, command: &HostCommand, at: SimTime) {
        if self.failed.is_some() {
            return;
        }
        let since = at.since(*self.first.get_or_insert(at)).0;
        self.count += 1;
        if let Err(error) = self.line(command, since) {
            self.failed = Some(error);
        }
    }

    fn line(&mut self, command: &HostCommand, since: u64) -> Result<()> {
        let letters = match command.op {
            Op::Read => "R",
            Op::Trim => "D",
            Op::Flush => "F",
            _ if command.flags.contains(CommandFlags::FUA) => "WF",
            _ => "W",
        };
        let (count, seconds, nanos) = (self.count, since / 1_000_000_000, since % 1_000_000_000);
        write!(self.to, "8,0 0 {count} {seconds}.{nanos:09} 0 Q {letters}")?;
        if command.op.has_range() {
            write!(self.to, " {} + {}", command.offset.0 / SECTOR, command.length.0 / SECTOR)?;
        }
        self.to.write_all(b" [nbd]\n")
    }

    /// Ends the trace. Returns the error that has ended it early, if there was one.
    pub fn finish(mut self) -> Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }
}
