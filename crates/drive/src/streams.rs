//! What a run hands out while it goes on, in batches: its commands, what dies and channels did, its physical history.

use crate::description::Description;
use crate::export::history::{HistoryWriter, ModeNames};
use crate::export::timeline::TimelineWriter;
use crate::router::Drive;
use crate::statistics::CommandRow;
use kit::history::{Digest, Entry};
use kit::{DieId, Nanos, Reason, Record, SimTime};
use std::io::Write;

/// Rows of a batch, about.
const BATCH: usize = 1 << 16;

/// What a die or a channel did for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the die or the channel.
    pub track: u32,
    /// What it did: `read`, `program`, `data out`, ...
    pub name: &'static str,
    /// Why a die did it, or with which die a channel did.
    pub what_for: SpanFor,
    /// From.
    pub begin: SimTime,
    /// To.
    pub end: SimTime,
}

impl Span {
    /// `die 5`, `channel 0`.
    pub fn track_name(&self) -> String {
        let kind = match self.what_for {
            SpanFor::Reason(_) => "die",
            SpanFor::Die(_) => "channel",
        };
        format!("{kind} {}", self.track)
    }

    /// The reason; of a channel, the die at the other end.
    pub fn reason_name(&self) -> String {
        match self.what_for {
            SpanFor::Reason(reason) => reason.name().to_owned(),
            SpanFor::Die(die) => format!("die {}", die.0),
        }
    }
}

/// What a span was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanFor {
    /// Of a die: the reason of the operation.
    Reason(Reason),
    /// Of a channel: the die at the other end.
    Die(DieId),
}

/// Takes a batch of rows; the first one is empty. What goes wrong in it is its own affair: the run goes on.
pub type Rows<'a, T> = &'a mut dyn FnMut(&[T]);

/// Where a run's rows go as they come.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Every command that is measured.
    pub commands: Option<Rows<'a, CommandRow>>,
    /// What dies and channels did.
    pub spans: Option<Rows<'a, Span>>,
    /// The same as a timeline for Perfetto.
    pub timeline: Option<&'a mut (dyn Write + 'a)>,
    /// The physical history as text.
    pub history: Option<&'a mut (dyn Write + 'a)>,
}

/// A file that could not be written; the run went on without it.
#[derive(Debug)]
pub struct Unwritten {
    /// The option that asked for it.
    pub option: &'static str,
    /// What the system said.
    pub error: std::io::Error,
}

/// The outputs of a run that goes on.
pub(crate) struct Streams<'a> {
    commands: Option<Rows<'a, CommandRow>>,
    spans: Option<Rows<'a, Span>>,
    timeline: Option<TimelineWriter<&'a mut (dyn Write + 'a)>>,
    history: Option<HistoryWriter<&'a mut (dyn Write + 'a)>>,
    /// Whether the digest of the history is wanted.
    digest: bool,
    /// Spans that lie in here are kept.
    window: (SimTime, SimTime),
    batch: Vec<Span>,
    entries: Vec<Entry>,
    unwritten: Vec<Unwritten>,
}

impl<'a> Streams<'a> {
    /// The outputs of a run on a drive; `digest`: that of the history is wanted.
    pub fn new(outputs: Outputs<'a>, description: &Description, digest: bool) -> Streams<'a> {
        let geometry = description.geometry();
        let mut unwritten = Vec::new();
        let timeline = outputs.timeline.map(|to| TimelineWriter::new(to, geometry.shape.channels, geometry.die_count));
        let history = outputs.history.map(|to| HistoryWriter::new(to, ModeNames::of(description)));
        Streams {
            commands: outputs.commands,
            spans: outputs.spans,
            timeline: opened("--timeline", timeline, &mut unwritten),
            history: opened("--history", history, &mut unwritten),
            digest,
            window: (SimTime::ZERO, SimTime::FOREVER),
            batch: Vec::new(),
            entries: Vec::new(),
            unwritten,
        }
    }

    /// Begins: from now on the drive tells what is wanted. Of the spans those are kept that lie, at least in part, in so long a time, `from` after now.
    pub fn begin(&mut self, drive: &mut Drive, from: Nanos, span: Option<Nanos>) {
        let begin = drive.now() + from;
        self.window = (begin, span.map_or(SimTime::FOREVER, |span| begin + span));
        // An empty batch says which columns there are, whatever comes.
        if let Some(take) = &mut self.commands {
            take(&[]);
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

    /// Hands out what has come since it was last asked, if it is a batch.
    pub fn hand_out(&mut self, drive: &mut Drive) {
        self.hand_out_from(drive, BATCH);
    }

    fn hand_out_from(&mut self, drive: &mut Drive, least: usize) {
        if let (Some(take), Some(log)) = (&mut self.commands, &mut drive.statistics.log)
            && log.len() >= least
        {
            take(log);
            log.clear();
        }
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
                    self.unwritten.push(Unwritten { option: "--history", error });
                    self.history = None;
                    drive.history().keep_no_more();
                }
            }
        }
    }

    fn collect_spans(&mut self, drive: &mut Drive) {
        let (from, to) = self.window;
        for record in drive.journal().records.drain(..) {
            let span = match record {
                Record::DieSpan { die, name, reason, begin, end } => {
                    Span { track: die.0, name, what_for: SpanFor::Reason(reason), begin, end }
                }
                Record::BusSpan { channel, die, name, begin, end } => {
                    Span { track: channel.0, name, what_for: SpanFor::Die(die), begin, end }
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
            self.unwritten.push(Unwritten { option: "--timeline", error });
            self.timeline = None;
        }
        self.batch.clear();
    }

    /// Hands out what is left; the digest of the history, if it was wanted, and what could not be written.
    pub fn finish(mut self, drive: &mut Drive) -> (Option<Digest>, Vec<Unwritten>) {
        let digest = drive.history().close();
        self.hand_out_from(drive, 1);
        (self.digest.then_some(digest), self.unwritten)
    }
}

/// A writer whose heading could be written.
fn opened<T>(option: &'static str, writer: Option<std::io::Result<T>>, unwritten: &mut Vec<Unwritten>) -> Option<T> {
    match writer? {
        Ok(writer) => Some(writer),
        Err(error) => {
            unwritten.push(Unwritten { option, error });
            None
        }
    }
}
