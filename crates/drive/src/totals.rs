//! Totals of completed commands: of all of them, and of each stream of a workload with several.

use host::Command;
use kit::{Bucket, Bytes, Histogram, Ledger, Nanos, Op, SimTime, Sums};

/// Largest number of streams with totals of their own; commands of later streams are counted together.
pub const STREAMS_MAX: usize = 256;

/// Row of a latency histogram.
pub type LatencyRow = (Op, Bucket);

/// Latencies, their causes and bytes of completed commands, by operation in the order of [`Op::ALL`]. Appends count
/// as writes.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Exact sums.
    pub sums: [Sums; Op::COUNT],
    /// Latency histograms.
    pub histograms: [Histogram; Op::COUNT],
    /// Bytes of the completed commands.
    pub bytes: [u64; Op::COUNT],
}

impl Totals {
    /// Counts a command; its causes by range of latencies only with `BY_RANGE`: tails have no causes without.
    #[inline(always)]
    pub fn record<const BY_RANGE: bool>(&mut self, op: Op, latency: Nanos, length: Bytes, causes: &Ledger) {
        let op = if op == Op::Append { Op::Write } else { op };
        let range = self.histograms[op as usize].record(latency.0);
        self.sums[op as usize].record(latency, causes, if BY_RANGE { range } else { 0 });
        self.bytes[op as usize] += length.0;
    }

    /// Returns the latencies of all operations together.
    pub fn all(&self) -> (Sums, Histogram) {
        let (mut sums, mut histogram) = (Sums::default(), Histogram::default());
        for op in Op::ALL {
            sums.merge(&self.sums[op as usize]);
            histogram.merge(&self.histograms[op as usize]);
        }
        (sums, histogram)
    }

    /// Returns the number of commands.
    pub fn count(&self) -> u64 {
        self.sums.iter().map(Sums::count).sum()
    }

    /// Returns the latency histograms as rows.
    pub fn latency_rows(&self) -> impl Iterator<Item = LatencyRow> + '_ {
        Op::ALL.iter().flat_map(|op| self.histograms[*op as usize].buckets().map(|bucket| (*op, bucket)))
    }
}

/// Measurements of one stream.
#[derive(Clone, Debug)]
pub struct StreamTotals {
    /// Name of the stream.
    pub name: String,
    /// Totals of its commands.
    pub totals: Totals,
    /// Instant at which the first of them was submitted.
    pub begin: Option<SimTime>,
    /// Instant at which the last of them completed.
    pub end: SimTime,
}

impl StreamTotals {
    fn of(name: String) -> StreamTotals {
        StreamTotals { name, totals: Totals::default(), begin: None, end: SimTime::ZERO }
    }

    fn record(&mut self, command: &Command, now: SimTime, causes: &Ledger) {
        let (latency, host) = (command.latency(now), command.command());
        // Up to 256 streams would take much memory, were their causes kept by range.
        self.totals.record::<false>(host.op, latency, host.length, causes);
        let submitted = SimTime(now.0 - latency.0);
        self.begin = Some(self.begin.map_or(submitted, |begin| begin.min(submitted)));
        self.end = now;
    }

    /// Returns the time from the first submission to the last completion \[ns\].
    pub fn span_ns(&self) -> u64 {
        self.begin.map_or(0, |begin| self.end.since(begin).0)
    }
}

/// Measurements of each stream; empty for a workload of one stream.
#[derive(Clone, Debug, Default)]
pub struct Streams(Vec<StreamTotals>);

impl Streams {
    /// Creates the measurements of streams of these names.
    pub fn of(mut names: Vec<String>) -> Streams {
        let others = names.len().saturating_sub(STREAMS_MAX);
        if others > 1 {
            names.truncate(STREAMS_MAX);
            names.push(format!("{others} others"));
        }
        // Names tell the streams apart in the results.
        for index in (1..names.len()).rev() {
            let repeats = names[..index].iter().filter(|name| **name == names[index]).count();
            if repeats > 0 {
                names[index] = format!("{} ({})", names[index], repeats + 1);
            }
        }
        Streams(if names.len() > 1 { names.into_iter().map(StreamTotals::of).collect() } else { Vec::new() })
    }

    /// Returns measurements of as many streams, with nothing measured.
    pub fn anew(&self) -> Streams {
        Streams(self.0.iter().map(|stream| StreamTotals::of(stream.name.clone())).collect())
    }

    /// Counts a command. Without streams nothing is done.
    #[inline(always)]
    pub fn record(&mut self, command: &Command, now: SimTime, causes: &Ledger) {
        if !self.0.is_empty() {
            self.record_in_stream(command, now, causes);
        }
    }

    #[cold]
    fn record_in_stream(&mut self, command: &Command, now: SimTime, causes: &Ledger) {
        let last = self.0.len() - 1;
        self.0[usize::from(command.command().stream).min(last)].record(command, now, causes);
    }

    /// Leaves a time `off` without power out: what was before lies later.
    pub fn exclude(&mut self, off: Nanos) {
        for stream in self.0.iter_mut().filter(|stream| stream.begin.is_some()) {
            stream.begin = stream.begin.map(|begin| begin + off);
            stream.end = stream.end + off;
        }
    }

    /// Returns the measurements by number of the stream; the last one may be of several streams.
    pub fn all(&self) -> &[StreamTotals] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stream_is_not_measured_apart_many_share_the_last_and_names_differ() {
        let streams = |count: usize| Streams::of((0..count).map(|number| number.to_string()).collect());
        let counts = [0, 1, 2, STREAMS_MAX, STREAMS_MAX + 1, STREAMS_MAX + 2].map(|count| streams(count).all().len());
        assert_eq!(counts, [0, 0, 2, STREAMS_MAX, STREAMS_MAX + 1, STREAMS_MAX + 1]);
        let equal: Vec<String> = Streams::of(vec!["a".to_owned(); 3]).all().iter().map(|stream| stream.name.clone()).collect();
        assert_eq!(equal, ["a", "a (2)", "a (3)"]);
        let last = |count: usize| streams(count).all().last().map(|stream| stream.name.clone());
        assert_eq!(last(STREAMS_MAX + 1).as_deref(), Some("256"));
        assert_eq!(last(STREAMS_MAX + 9).as_deref(), Some("9 others"));
    }
}
