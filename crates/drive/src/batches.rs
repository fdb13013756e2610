//! Batches of consecutive commands: their values vary as independent ones do, which those of the commands do not.

use kit::{Histogram, Nanos, Op};

/// Latencies of consecutive commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    total_ns: u128,
    histogram: Histogram,
}

impl Batch {
    fn record(&mut self, latency: Nanos) {
        self.total_ns += u128::from(latency.0);
        self.histogram.record(latency.0);
    }

    fn merge(&mut self, later: &Batch) {
        self.total_ns += later.total_ns;
        self.histogram.merge(&later.histogram);
    }

    /// Returns the mean latency \[ns\]; `None` if the batch is empty.
    pub fn mean(&self) -> Option<f64> {
        let count = self.histogram.count();
        (count > 0).then(|| self.total_ns as f64 / count as f64)
    }

    /// Returns the latencies.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

/// Batches of equal numbers of commands. The number of commands need not be known beforehand: when there are twice as
/// many batches as requested, pairs are merged, and the size of a batch doubles.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    least: usize,
    size: u64,
    complete: Vec<Batch>,
    open: Batch,
}

impl Series {
    /// Creates a series that has from `least` to `2 * least - 1` complete batches once there are enough commands.
    fn new(least: usize) -> Series {
        Series { least, size: 1, complete: Vec::new(), open: Batch::default() }
    }

    fn record(&mut self, latency: Nanos) {
        self.open.record(latency);
        if self.open.histogram.count() == self.size {
            self.complete.push(std::mem::take(&mut self.open));
            if self.complete.len() == 2 * self.least {
                self.halve();
            }
        }
    }

    /// Merges pairs of batches.
    fn halve(&mut self) {
        for index in 0..self.least {
            self.complete.swap(index, 2 * index);
            let (merged, rest) = self.complete.split_at_mut(index + 1);
            merged[index].merge(&rest[index]);
        }
        self.complete.truncate(self.least);
        self.size *= 2;
    }

    /// Returns the number of commands of a batch.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the complete batches, in the order of time.
    pub fn complete(&self) -> &[Batch] {
        &self.complete
    }
}

/// Batches of the commands of a run: of all of them, of the reads, and of the writes.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    least: usize,
    series: [Series; 3],
}

impl Batches {
    /// Creates batches, `least` or up to twice as many of each kind.
    pub fn new(least: usize) -> Batches {
        Batches { least, series: std::array::from_fn(|_| Series::new(least)) }
    }

    /// Returns as many batches, without commands.
    pub fn anew(&self) -> Batches {
        Batches::new(self.least)
    }

    /// Adds a command that completes. Kept out of the path of runs without batches.
    #[cold]
    pub fn record(&mut self, op: Op, latency: Nanos) {
        let [all, read, write] = &mut self.series;
        all.record(latency);
        match op {
            Op::Read => read.record(latency),
            Op::Write | Op::Append => write.record(latency),
            Op::Trim | Op::Flush | Op::Zone => {}
        }
    }

    /// Returns the batches by kind of commands: all, reads, writes.
    pub fn series(&self) -> &[Series; 3] {
        &self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the latencies in batches of `size`, without the last, incomplete one.
    fn direct(latencies: &[u64], size: u64) -> Vec<Batch> {
        let mut batches = Vec::new();
        for chunk in latencies.chunks_exact(usize::try_from(size).expect("small")) {
            let mut batch = Batch::default();
            chunk.iter().for_each(|latency| batch.record(Nanos(*latency)));
            batches.push(batch);
        }
        batches
    }

    fn facts(batches: &[Batch]) -> Vec<(Option<f64>, Vec<kit::histogram::Bucket>)> {
        batches.iter().map(|batch| (batch.mean(), batch.histogram().buckets().collect())).collect()
    }

    #[test]
    fn merged_batches_are_those_of_the_final_size() {
        let latencies: Vec<u64> = (0..10_000u64).map(|index| index * index * 7919 % 3_000_017).collect();
        for (least, count) in [(2, 3), (2, 4), (2, 9_999), (20, 19), (20, 40), (20, 1_234), (20, 10_000), (100, 10_000)] {
            let mut series = Series::new(least);
            latencies[..count].iter().for_each(|latency| series.record(Nanos(*latency)));
            let expected = direct(&latencies[..count], series.size());
            assert_eq!(facts(series.complete()), facts(&expected), "{least} batches of {count} commands");
            assert!(count < least || (least..2 * least).contains(&expected.len()), "{} batches", expected.len());
            assert!(series.size().is_power_of_two() && series.open.histogram.count() < series.size());
        }
    }

    #[test]
    fn each_kind_of_command_has_batches_of_its_own() {
        let mut batches = Batches::new(4);
        for index in 0..100 {
            let op = [Op::Read, Op::Write, Op::Write, Op::Flush][index % 4];
            batches.record(op, Nanos([10, 20, 30, 40][index % 4]));
        }
        let [all, read, write] = batches.series();
        assert_eq!([all, read, write].map(Series::size), [16, 4, 8]);
        assert_eq!([all, read, write].map(|series| series.complete().len()), [6, 6, 6]);
        assert_eq!([all, read, write].map(|series| series.complete()[5].mean()), [Some(25.0), Some(10.0), Some(25.0)]);
        assert!(batches.anew().series().iter().all(|series| series.size() == 1 && series.complete().is_empty()));
    }
}
