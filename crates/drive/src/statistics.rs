//! What is measured during a run: latencies, causes, and how things went over time.

use flash::{Flash, Snapshot};
use ftl::{Ftl, FtlCounters};
use kit::{Bytes, Completion, Histogram, Ledger, Nanos, Op, SimTime, Sums};

/// Rows that a timeline holds at most; when it is full, pairs of rows are merged.
const ROWS: usize = 4096;
/// Width of a row at the start \[ns\]: 1.024 us.
const FIRST_WIDTH_SHIFT: u32 = 10;

/// One row of a timeline: what was completed in it, and the drive's counters when its first command completed.
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
    /// Sum of the latencies of what was completed \[ns\]; over the width it is the mean number in flight (Little).
    pub latency_ns: u64,
    /// Greatest latency \[ns\].
    pub latency_ns_max: u64,
    /// Mapping units programmed so far, for any reason.
    pub units_programmed: u64,
    /// Mapping units the host has written so far.
    pub host_units: u64,
    /// Free blocks.
    pub free_blocks: u64,
    /// Host write units waiting for a die.
    pub write_queue: u64,
}

impl TimelineRow {
    fn is_sampled(&self) -> bool {
        self.free_blocks > 0 || self.units_programmed > 0
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

/// At most 4096 rows over the whole run, whatever its length: the width of a row doubles when they are full.
#[derive(Clone, Debug)]
pub struct Timeline {
    start: SimTime,
    shift: u32,
    rows: Vec<TimelineRow>,
    used: usize,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { start: SimTime::ZERO, shift: FIRST_WIDTH_SHIFT, rows: vec![TimelineRow::default(); ROWS], used: 0 }
    }
}

impl Timeline {
    /// The row of an instant, and whether it is new.
    #[inline]
    fn row(&mut self, at: SimTime) -> (&mut TimelineRow, bool) {
        let mut index = (at.since(self.start).0 >> self.shift) as usize;
        while index >= ROWS {
            self.halve();
            index = (at.since(self.start).0 >> self.shift) as usize;
        }
        let fresh = index >= self.used;
        self.used = self.used.max(index + 1);
        (&mut self.rows[index], fresh)
    }

    fn halve(&mut self) {
        for index in 0..ROWS / 2 {
            let mut merged = self.rows[2 * index];
            merged.merge(&self.rows[2 * index + 1]);
            self.rows[index] = merged;
        }
        self.rows[ROWS / 2..].fill(TimelineRow::default());
        self.used = self.used.div_ceil(2);
        self.shift += 1;
    }

    /// The rows, each with the start of its span \[ns from the start of the measurement\].
    pub fn rows(&self) -> impl Iterator<Item = (u64, &TimelineRow)> + '_ {
        self.rows[..self.used].iter().enumerate().map(|(index, row)| ((index as u64) << self.shift, row))
    }

    /// The span of each row \[ns\].
    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }
}

/// One command, as `--log-commands` writes it.
#[derive(Clone, Copy, Debug)]
pub struct CommandRow {
    /// What was done.
    pub op: Op,
    /// The number the command was submitted with.
    pub tag: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// When it was submitted.
    pub submitted: SimTime,
    /// When it was completed.
    pub completed: SimTime,
    /// Where its time went.
    pub causes: Ledger,
}

/// Everything that is measured.
#[derive(Clone, Default)]
pub struct Statistics {
    /// Exact sums by operation, in the order of [`Op::ALL`].
    pub sums: [Sums; 4],
    /// Latency histograms by operation.
    pub histograms: [Histogram; 4],
    /// Bytes by operation.
    pub bytes: [u64; 4],
    /// How things went over time.
    pub timeline: Timeline,
    /// Every command, if asked for.
    pub log: Option<Vec<CommandRow>>,
    /// When the measurement began; later by as long as the drive has been without power since.
    pub start: SimTime,
    /// When the last recorded command completed.
    pub last_completion: SimTime,
    busy_at_start: Snapshot,
    flash_at_start: flash::Counters,
    ftl_at_start: FtlCounters,
    sample_due: bool,
}

impl Statistics {
    /// Begins a measurement: everything before `now` is forgotten, but for the log of commands.
    pub fn restart(&mut self, now: SimTime, flash: &Flash, ftl: &Ftl) {
        let log = self.log.take();
        *self = Statistics {
            log,
            start: now,
            last_completion: now,
            busy_at_start: flash.snapshot(now),
            flash_at_start: flash.counters.clone(),
            ftl_at_start: ftl.counters.clone(),
            ..Statistics::default()
        };
        self.timeline.start = now;
    }

    /// The drive was without power for so long: as if the measurement had begun later by that, so that what is measured is over the time with power.
    pub(crate) fn leave_out(&mut self, off: Nanos) {
        self.start = self.start + off;
        self.timeline.start = self.timeline.start + off;
        self.busy_at_start.leave_out(off);
    }

    /// Counts a completed command.
    #[inline]
    pub(crate) fn record(&mut self, completion: &Completion, offset: Bytes, causes: &Ledger) {
        let op = completion.op as usize;
        let latency = completion.latency();
        self.sums[op].record(latency, causes);
        self.histograms[op].record(latency.0);
        self.bytes[op] += completion.length.0;
        self.last_completion = completion.completed;
        let (row, fresh) = self.timeline.row(completion.completed);
        row.latency_ns = row.latency_ns.saturating_add(latency.0);
        row.latency_ns_max = row.latency_ns_max.max(latency.0);
        match completion.op {
            Op::Read => {
                row.reads += 1;
                row.read_bytes += completion.length.0;
            }
            Op::Write => {
                row.writes += 1;
                row.write_bytes += completion.length.0;
            }
            Op::Trim | Op::Flush => {}
        }
        self.sample_due |= fresh;
        if let Some(log) = &mut self.log {
            log.push(CommandRow {
                op: completion.op,
                tag: completion.tag,
                offset: offset.0,
                length: completion.length.0,
                submitted: completion.submitted,
                completed: completion.completed,
                causes: *causes,
            });
        }
    }

    /// Whether a row of the timeline has just begun.
    #[inline]
    pub(crate) fn sample_due(&self) -> bool {
        self.sample_due
    }

    /// Notes the drive's counters in a row that has just begun.
    #[cold]
    pub(crate) fn sample(&mut self, now: SimTime, write_queue: u64, ftl: &Ftl) {
        self.sample_due = false;
        let (units, host, free) = (ftl.counters.units_programmed.iter().sum::<u64>(), ftl.counters.host_units, ftl.free_blocks());
        let (base_units, base_host) = (self.ftl_at_start.units_programmed.iter().sum::<u64>(), self.ftl_at_start.host_units);
        let (row, _) = self.timeline.row(now);
        row.units_programmed = units - base_units;
        row.host_units = host - base_host;
        row.free_blocks = free;
        row.write_queue = write_queue;
    }

    /// Latencies of all operations together.
    pub fn all(&self) -> (Sums, Histogram) {
        let (mut sums, mut histogram) = (Sums::default(), Histogram::default());
        for op in Op::ALL {
            sums.merge(&self.sums[op as usize]);
            histogram.merge(&self.histograms[op as usize]);
        }
        (sums, histogram)
    }

    /// The flash's busy clocks when the measurement began.
    pub fn busy_at_start(&self) -> &Snapshot {
        &self.busy_at_start
    }

    /// Counts of flash operations and of the FTL since the measurement began.
    pub fn since_start(&self, flash: &Flash, ftl: &Ftl) -> (flash::Counters, FtlCounters) {
        (flash.counters.since(&self.flash_at_start), ftl.counters.since(&self.ftl_at_start))
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
