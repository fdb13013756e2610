//! Output of a run in progress, in batches: host commands, activity of dies and channels, physical history.

use crate::description::Description;
use crate::drive::Drive;
use crate::export::history::{HistoryWriter, ModeNames};
use crate::export::timeline::TimelineWriter;
use crate::span::{Span, SpanPurpose, array_name};
use crate::statistics::CommandRow;
use kit::history::{Digest, Entry};
use kit::{Nanos, Record, SimTime};
use std::io::Write;

/// Approximate number of rows in a batch.
const BATCH: usize = 1 << 16;

/// Callback that receives a batch of rows; the first batch is empty. The callback handles its own errors: the run goes
/// on.
pub type Rows<'a, T> = &'a mut dyn FnMut(&[T]);

/// Callback like [`Rows`] that receives commands, with the names of the streams by number.
pub type CommandRows<'a> = &'a mut dyn FnMut(&[CommandRow], &[String]);

/// Destinations of a run's rows.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Destination of every measured command.
    pub commands: Option<CommandRows<'a>>,
    /// Destination of the activities of dies and channels.
    pub spans: Option<Rows<'a, Span>>,
    /// Destination of the activities of dies and channels as a timeline for Perfetto.
    pub timeline: Option<&'a mut (dyn Write + 'a)>,
    /// Destination of the physical history as text.
    pub history: Option<&'a mut (dyn Write + 'a)>,
    /// Destination of the firmware trace.
    pub firmware: Option<&'a mut (dyn Write + 'a)>,
}

/// A file that could not be written; the run went on without it.
#[derive(Debug)]
pub struct WriteFailure {
    /// The option that requested the file.
    pub option: &'static str,
    /// The error of the operating system.
    pub error: std::io::Error,
}

/// Outputs of a run in progress.
pub(crate) struct Streams<'a> {
    commands: Option<CommandRows<'a>>,
    /// Names of the streams of the workload, by number.
    stream_names: Vec<String>,
    spans: Option<Rows<'a, Span>>,
    timeline: Option<TimelineWriter<&'a mut (dyn Write + 'a)>>,
    history: Option<HistoryWriter<&'a mut (dyn Write + 'a)>>,
    firmware: Option<&'a mut (dyn Write + 'a)>,
    /// True if the digest of the history is requested.
    digest: bool,
    /// Time window: spans that overlap it are kept.
    window: (SimTime, SimTime),
    batch: Vec<Span>,
    entries: Vec<Entry>,
    unwritten: Vec<WriteFailure>,
}

impl<'a> Streams<'a> {
    /// Creates the outputs of a run on a drive; `digest`: true if the digest of the history is requested.
    pub fn new(outputs: Outputs<'a>, description: &Description, digest: bool) -> Streams<'a> {
        let geometry = description.geometry();
        let mut unwritten = Vec::new();
        let timeline = outputs
            .timeline
            .map(|to| TimelineWriter::new(to, geometry.shape.channels, geometry.die_count, description.power.is_some()));
        let history = outputs.history.map(|to| HistoryWriter::new(to, ModeNames::of(description)));
        Streams {
            commands: outputs.commands,
            stream_names: Vec::new(),
            spans: outputs.spans,
            timeline: opened("--timeline", timeline, &mut unwritten),
            history: opened("--history", history, &mut unwritten),
            firmware: outputs.firmware,
            digest,
            window: (SimTime::ZERO, SimTime::FOREVER),
            batch: Vec::new(),
            entries: Vec::new(),
            unwritten,
        }
    }

    /// Begins the outputs: enables the log, journal and history of the drive as requested. Spans are kept if they
    /// overlap the window that begins `from` after now and lasts for `span`, or to the end of the run.
    /// `stream_names` are those of the workload, by number.
    pub fn begin(&mut self, drive: &mut Drive, stream_names: &[String], from: Nanos, span: Option<Nanos>) {
        self.stream_names = stream_names.to_vec();
        let begin = drive.now() + from;
        self.window = (begin, span.map_or(SimTime::FOREVER, |span| begin + span));
        // An empty batch defines the columns, even if no rows follow.
        if let Some(take) = &mut self.commands {
            take(&[], &self.stream_names);
            drive.statistics.log = Some(Vec::new());
        }
        if let Some(take) = &mut self.spans {
            take(&[]);
        }
        drive.journal().enable(self.spans.is_some() || self.timeline.is_some());
        if self.history.is_some() || self.digest {
            drive.history().enable(self.history.is_some());
        }
    }

    /// Hands out the rows that have accumulated, if they fill a batch.
    pub fn flush_batches(&mut self, drive: &mut Drive) {
        self.hand_out_from(drive, BATCH);
    }

    fn hand_out_from(&mut self, drive: &mut Drive, least: usize) {
        if let (Some(take), Some(log)) = (&mut self.commands, &mut drive.statistics.log)
            && log.len() >= least
        {
            take(log, &self.stream_names);
            log.clear();
        }
        self.write_firmware(drive, false);
        self.collect_spans(drive);
        if self.batch.len() >= least {
            self.hand_out_spans();
        }
        if let Some(writer) = &mut self.history {
            self.entries.extend(drive.history().take());
            if self.entries.len() >= least {
                let written = writer.write(&self.entries);
                self.entries.clear();
                if let Err(error) = written {
                    self.unwritten.push(WriteFailure { option: "--history", error });
                    self.history = None;
                    drive.history().stop_keeping();
                }
            }
        }
    }

    /// Writes the lines of the firmware trace that have accumulated, if they fill a batch.
    fn write_firmware(&mut self, drive: &mut Drive, is_last: bool) {
        let Some(to) = &mut self.firmware else { return };
        if let Err(error) = to.write_all(drive.take_firmware(is_last).as_bytes()) {
            self.unwritten.push(WriteFailure { option: "--record-firmware", error });
            self.firmware = None;
        }
    }

    fn collect_spans(&mut self, drive: &mut Drive) {
        let (from, to) = self.window;
        for record in drive.journal().records.drain(..) {
            let span = match record {
                Record::DieSpan { die, name, reason, begin, end } => {
                    Span { track: die.0, name, purpose: SpanPurpose::Reason(reason), begin, end }
                }
                Record::BusSpan { channel, die, name, begin, end } => {
                    Span { track: channel.0, name, purpose: SpanPurpose::Die(die), begin, end }
                }
                Record::ArraySpan { die, kind, page_type, reason, begin, end } => {
                    Span { track: die.0, name: array_name(kind, page_type), purpose: SpanPurpose::Array(reason), begin, end }
                }
                _ => continue,
            };
            if span.end >= from && span.begin < to {
                self.batch.push(span);
            }
        }
    }

    fn hand_out_spans(&mut self) {
        if let Some(take) = &mut self.spans {
            take(&self.batch);
        }
        if let Some(Err(error)) = self.timeline.as_mut().map(|writer| writer.write(&self.batch)) {
            self.unwritten.push(WriteFailure { option: "--timeline", error });
            self.timeline = None;
        }
        self.batch.clear();
    }

    /// Hands out the remaining rows. Returns the digest of the history, if requested, and the files that could not be
    /// written.
    pub fn finish(mut self, drive: &mut Drive) -> (Option<Digest>, Vec<WriteFailure>) {
        let digest = drive.history().close();
        self.hand_out_from(drive, 1);
        self.write_firmware(drive, true);
        (self.digest.then_some(digest), self.unwritten)
    }
}

/// Returns the writer if its header could be written; otherwise records the error.
fn opened<T>(option: &'static str, writer: Option<std::io::Result<T>>, unwritten: &mut Vec<WriteFailure>) -> Option<T> {
    match writer? {
        Ok(writer) => Some(writer),
        Err(error) => {
            unwritten.push(WriteFailure { option, error });
            None
        }
    }
}
