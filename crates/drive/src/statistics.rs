//! Measurements of a run: latencies, their causes, and a timeline.

use crate::batches::Batches;
use crate::totals::{LatencyRow, StreamTotals, Streams, Totals};
use controller::reads::ReadStatistics;
use controller::usage::Usage;
use controller::{Busy, Controller};
use flash::{Flash, Snapshot};
use ftl::{FtlCounters, MapCounters, Translator};
use host::Command;
use kit::{CommandFlags, CommandId, HostCommand, Ledger, Nanos, Op, SimTime, Status};

/// Largest number of rows in a timeline; when it is full, pairs of rows are merged.
const ROWS: usize = 4096;
/// Width of a row at the start, as a base-2 logarithm of nanoseconds: 1.024 us.
const FIRST_WIDTH_SHIFT: u32 = 10;

/// One row of a timeline: totals of the commands completed in it, and the drive's counters when the first of them
/// completed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimelineRow {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum of the latencies of the completed commands \[ns\]. Divided by the width of the row, it is the mean number of
    /// commands in flight (Little's law).
    pub latency_ns: u64,
    /// Greatest latency \[ns\].
    pub latency_ns_max: u64,
    /// Mapping units programmed so far, for any reason.
    pub units_programmed: u64,
    /// Mapping units written by the host so far.
    pub host_units: u64,
    /// Free blocks; none before the first sample, and where the translation layer keeps no account of them.
    pub free_blocks: Option<u64>,
    /// Host write units waiting for a die.
    pub write_queue: u64,
}

impl TimelineRow {
    fn is_sampled(&self) -> bool {
        self.free_blocks.is_some_and(|blocks| blocks > 0) || self.units_programmed > 0
    }

    fn merge(&mut self, later: &TimelineRow) {
        if !self.is_sampled() {
            let sums = *self;
            *self = *later;
            (self.reads, self.writes, self.read_bytes, self.write_bytes) =
                (sums.reads, sums.writes, sums.read_bytes, sums.write_bytes);
            (self.latency_ns, self.latency_ns_max) = (sums.latency_ns, sums.latency_ns_max);
        }
        self.reads += later.reads;
        self.writes += later.writes;
        self.read_bytes += later.read_bytes;
        self.write_bytes += later.write_bytes;
        self.latency_ns = self.latency_ns.saturating_add(later.latency_ns);
        self.latency_ns_max = self.latency_ns_max.max(later.latency_ns_max);
    }
}

/// A timeline of at most 4096 rows, whatever the length of the run: when it is full, the width of a row doubles.
#[derive(Clone, Debug)]
pub struct Timeline {
    start: SimTime,
    shift: u32,
    /// Rows up to the last one in which a command completed.
    rows: Vec<TimelineRow>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { start: SimTime::ZERO, shift: FIRST_WIDTH_SHIFT, rows: Vec::new() }
    }
}

impl Timeline {
    /// Returns the row of an instant, and true if the row is new.
    #[inline(always)]
    fn row(&mut self, at: SimTime) -> (&mut TimelineRow, bool) {
        let mut index = (at.since(self.start).0 >> self.shift) as usize;
        while index >= ROWS {
            self.halve();
            index = (at.since(self.start).0 >> self.shift) as usize;
        }
        let fresh = index >= self.rows.len();
        if fresh {
            self.grow(index);
        }
        (&mut self.rows[index], fresh)
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.rows.resize(index + 1, TimelineRow::default());
    }

    /// Merges pairs of rows. A last row without a partner stays as it is.
    fn halve(&mut self) {
        let half = self.rows.len().div_ceil(2);
        for index in 0..half {
            let mut merged = self.rows[2 * index];
            if let Some(later) = self.rows.get(2 * index + 1) {
                merged.merge(later);
            }
            self.rows[index] = merged;
        }
        self.rows.truncate(half);
        self.shift += 1;
    }

    /// Returns the rows, each with its start \[ns from the start of the measurement\].
    pub fn rows(&self) -> impl Iterator<Item = (u64, &TimelineRow)> + '_ {
        self.rows.iter().enumerate().map(|(index, row)| ((index as u64) << self.shift, row))
    }

    /// Returns the width of a row \[ns\].
    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }
}

/// One completed command, as `--log-commands` writes it.
#[derive(Clone, Copy, Debug)]
pub struct CommandRow {
    /// Operation.
    pub op: Op,
    /// Modifiers.
    pub flags: CommandFlags,
    /// Submission queue.
    pub queue: u16,
    /// Stream of the workload: of a trace, the number of the stream in the trace; of a fio job, the number of the job.
    pub stream: u16,
    /// Tag with which the command was submitted.
    pub tag: u32,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Instant of submission.
    pub submitted: SimTime,
    /// Instant of completion.
    pub completed: SimTime,
    /// Status.
    pub status: Status,
    /// Latency by cause.
    pub causes: Ledger,
    /// Request of the workload that the command belongs to.
    pub origin: LogOrigin,
}

/// Request of a workload that a command belongs to; a command of the host's own, such as the reset of a zone, has
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOrigin {
    /// Number of the request, from 0: of a trace, among those of the selected streams, in the order of time; otherwise
    /// in its job.
    pub request: Option<u64>,
    /// Of a trace, the first byte as recorded, in the address space of its stream.
    pub trace_offset: Option<u64>,
}

impl CommandRow {
    /// Returns true if some of the data read is lost: it could not be corrected.
    pub fn media_error(&self) -> bool {
        self.status == Status::MediaError
    }
}

/// Utilisation of the resources of a drive, as shares of the elapsed time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// Of dies and channels.
    pub flash: flash::Utilisation,
    /// Of each resource of the controller.
    pub controller: Vec<Share>,
    /// Of each group of decoders; empty if decoding takes no time or data has no errors.
    pub decoders: Vec<f64>,
}

/// Utilisation of a resource of the controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Name of the resource.
    pub name: String,
    /// Number of its group, as in [`controller::Busy`]; `None` for a part of another resource.
    pub group: Option<u16>,
    /// Share of the elapsed time for which it was busy.
    pub busy: f64,
}

/// Returns the busy time of each group of decoders \[ns\], of all its threads together.
fn decoders_busy(controller: &Controller, now: SimTime) -> Vec<u64> {
    let decoders = controller.reads().and_then(|reads| reads.decoders());
    decoders.map_or(Vec::new(), |decoders| decoders.busy(now))
}

/// All measurements of a run.
#[derive(Clone, Default)]
pub struct Statistics {
    /// Totals of all commands.
    pub totals: Totals,
    /// Totals of each stream, if the workload has several.
    pub(crate) streams: Streams,
    /// Measurements over time.
    pub timeline: Timeline,
    /// Reads that completed with a media error.
    pub media_errors: u64,
    /// Writes and trims that a read-only drive refused.
    pub refused_writes: u64,
    /// Log of every command, if requested.
    pub log: Option<Vec<CommandRow>>,
    /// Requests that the commands in flight belong to, by the index of the command; used for the log only.
    origins: Vec<LogOrigin>,
    /// Batches of the commands, if requested.
    pub(crate) batches: Option<Box<Batches>>,
    /// Instant at which the measurement began, moved later by the time without power since.
    pub start: SimTime,
    /// Instant at which the last recorded command completed.
    pub last_completion: SimTime,
    busy_at_start: Snapshot,
    /// Busy time of each resource of the controller at the beginning.
    controller_at_start: Vec<Nanos>,
    /// Measurements of reads of data with errors at the beginning.
    reads_at_start: Option<ReadStatistics>,
    /// Busy time of each group of decoders at the beginning \[ns\].
    decoders_at_start: Vec<u64>,
    flash_at_start: flash::Counters,
    ftl_at_start: FtlCounters,
    /// Counts of the mapping cache at the beginning, if there is one.
    map_at_start: Option<MapCounters>,
    /// Amounts of work of the controller at the beginning, with those in times without power since.
    usage_at_start: Usage,
    sample_due: bool,
}

impl Statistics {
    /// Begins a new measurement: discards everything before `now` except the log of commands.
    pub fn restart(&mut self, now: SimTime, controller: &Controller, flash: &Flash, ftl: &Translator) {
        let (log, origins) = (self.log.take(), std::mem::take(&mut self.origins));
        let batches = self.batches.as_ref().map(|batches| Box::new(batches.anew()));
        *self = Statistics {
            log,
            origins,
            batches,
            streams: self.streams.anew(),
            start: now,
            last_completion: now,
            busy_at_start: flash.snapshot(now),
            controller_at_start: controller.busy(now).map(|resource| resource.time).collect(),
            reads_at_start: controller.reads().map(|reads| reads.statistics.clone()),
            decoders_at_start: decoders_busy(controller, now),
            usage_at_start: controller.usage(now),
            flash_at_start: flash.counters.clone(),
            ftl_at_start: ftl.report().counters.clone(),
            map_at_start: ftl.map().and_then(|map| map.map_cache()).map(|cache| cache.counters.clone()),
            ..Statistics::default()
        };
        self.timeline.start = now;
    }

    /// Leaves a time `off` without power out of the measurement, by moving the beginning of the measurement later.
    pub(crate) fn exclude(&mut self, off: Nanos) {
        self.start = self.start + off;
        self.timeline.start = self.timeline.start + off;
        self.streams.exclude(off);
        self.busy_at_start.exclude(off);
    }

    /// Leaves work that the controller did in a time without power out of the measurement: refreshes of its memory.
    pub(crate) fn exclude_usage(&mut self, work: &Usage) {
        self.usage_at_start = self.usage_at_start.plus(work);
    }

    /// Returns the amounts of work of the controller from the beginning of the measurement to `now`.
    pub fn usage(&self, now: SimTime, controller: &Controller) -> Usage {
        controller.usage(now).since(&self.usage_at_start)
    }

    /// Counts a command that completes at `now`, if it is to be counted. `causes` covers its whole latency.
    #[inline]
    pub(crate) fn record(&mut self, id: CommandId, command: &Command, now: SimTime, causes: &Ledger) {
        if !command.is_recorded() {
            return;
        }
        if command.status() == Status::WriteProtected {
            return self.record_refused(id, command, now, causes);
        }
        let HostCommand { op: kind, length, .. } = *command.command();
        let latency = command.latency(now);
        self.totals.record::<true>(kind, latency, length, causes);
        self.last_completion = now;
        let (row, fresh) = self.timeline.row(now);
        row.latency_ns = row.latency_ns.saturating_add(latency.0);
        row.latency_ns_max = row.latency_ns_max.max(latency.0);
        match kind {
            Op::Read => {
                row.reads += 1;
                row.read_bytes += length.0;
            }
            Op::Write | Op::Append => {
                row.writes += 1;
                row.write_bytes += length.0;
            }
            Op::Trim | Op::Flush | Op::Zone => {}
        }
        self.sample_due |= fresh;
        self.streams.record(command, now, causes);
        if self.log.is_some() {
            self.log_command(id, command, now, causes);
        }
        if let Some(batches) = &mut self.batches {
            batches.record(kind, latency);
        }
    }

    /// Records a command that a read-only drive has refused: the log alone has it.
    #[cold]
    fn record_refused(&mut self, id: CommandId, command: &Command, now: SimTime, causes: &Ledger) {
        if self.log.is_some() {
            self.log_command(id, command, now, causes);
        }
    }

    /// Forgets the requests of the commands in flight: they will not complete.
    pub(crate) fn forget_origins(&mut self) {
        self.origins.clear();
    }

    /// Notes the request that a command belongs to, for the log.
    #[cold]
    pub(crate) fn note_origin(&mut self, id: CommandId, origin: LogOrigin) {
        if self.origins.len() <= id.index() {
            self.origins.resize(id.index() + 1, LogOrigin::default());
        }
        self.origins[id.index()] = origin;
    }

    #[cold]
    fn log_command(&mut self, id: CommandId, command: &Command, now: SimTime, causes: &Ledger) {
        let origin = self.origins.get_mut(id.index()).map(std::mem::take).unwrap_or_default();
        if let Some(log) = &mut self.log {
            let HostCommand { op, flags, queue, stream, tag, offset, length } = *command.command();
            let (submitted, status) = (command.submitted(), command.status());
            let (offset, length, causes) = (offset.0, length.0, *causes);
            let completed = now;
            log.push(CommandRow { op, flags, queue, stream, tag, offset, length, submitted, completed, status, causes, origin });
        }
    }

    /// Returns true if a row of the timeline has just begun, and the drive's counters are to be sampled.
    #[inline]
    pub(crate) fn sample_due(&self) -> bool {
        self.sample_due
    }

    /// Records the drive's counters in a row that has just begun.
    #[cold]
    pub(crate) fn sample(&mut self, now: SimTime, write_queue: u64, ftl: &Translator) {
        self.sample_due = false;
        let report = ftl.report();
        let (units, host) = (report.counters.units_programmed.iter().sum::<u64>(), report.counters.host_units);
        let (base_units, base_host) = (self.ftl_at_start.units_programmed.iter().sum::<u64>(), self.ftl_at_start.host_units);
        let (row, _) = self.timeline.row(now);
        row.units_programmed = units - base_units;
        row.host_units = host - base_host;
        row.free_blocks = report.free_blocks;
        row.write_queue = write_queue;
    }

    /// Returns the latency histograms of the streams, with their names.
    pub fn stream_latency_rows(&self) -> Vec<(String, Vec<LatencyRow>)> {
        let rows = |stream: &StreamTotals| (stream.name.clone(), stream.totals.latency_rows().collect());
        self.streams.all().iter().map(rows).collect()
    }

    /// Returns the shares of the time from the beginning of the measurement to `now` during which the drive's resources
    /// were busy.
    pub fn utilisation(&self, now: SimTime, controller: &Controller, flash: &Flash) -> Utilisation {
        let span = now.since(self.start).0.max(1) as f64;
        let share = |(Busy { name, group, time }, before): (Busy<'_>, &Nanos)| Share {
            name: name.to_owned(),
            group,
            busy: (time.0 - before.0) as f64 / span,
        };
        let threads = controller.reads().and_then(|reads| reads.decoders()).map_or(1, |decoders| decoders.threads()) as f64;
        let decoders = decoders_busy(controller, now);
        Utilisation {
            decoders: decoders
                .iter()
                .zip(&self.decoders_at_start)
                .map(|(now, before)| (now - before) as f64 / span / threads)
                .collect(),
            flash: flash.utilisation(now, &self.busy_at_start),
            controller: controller.busy(now).zip(&self.controller_at_start).map(share).collect(),
        }
    }

    /// Returns the measurements of reads of data with errors since the beginning of the measurement; `None` where reads
    /// cannot fail.
    pub fn reads_since_start(&self, controller: &Controller) -> Option<ReadStatistics> {
        let now = &controller.reads()?.statistics;
        Some(self.reads_at_start.as_ref().map_or_else(|| now.clone(), |before| now.since(before)))
    }

    /// Returns the counts of the mapping cache since the beginning of the measurement; `None` if the whole map is in
    /// memory.
    pub fn map_since_start(&self, ftl: &Translator) -> Option<MapCounters> {
        let now = ftl.map().and_then(|map| map.map_cache())?.counters;
        Some(self.map_at_start.as_ref().map_or_else(|| now.clone(), |before| now.since(before)))
    }

    /// Returns the counters of the flash and of the FTL since the beginning of the measurement.
    pub fn since_start(&self, flash: &Flash, ftl: &Translator) -> (flash::Counters, FtlCounters) {
        (flash.counters.since(&self.flash_at_start), ftl.report().counters.since(&self.ftl_at_start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_of_any_length_has_at_most_4096_rows_and_loses_nothing() {
        let mut timeline = Timeline::default();
        let sixty_days = 60 * 86_400_000_000_000u64;
        for step in 0..100_000u64 {
            let (row, _) = timeline.row(SimTime(step * (sixty_days / 100_000)));
            row.reads += 1;
        }
        assert!(timeline.rows().count() <= ROWS);
        assert_eq!(timeline.rows().map(|(_, row)| row.reads).sum::<u64>(), 100_000);
        assert!(timeline.width_ns() * (timeline.rows().count() as u64) >= sixty_days - sixty_days / 1000);
    }
}
