//! Detection of an open loop that submits faster than the drive completes.

use kit::SimTime;

/// Detector of a growing backlog of an open loop: commands in flight, sampled at arrivals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    /// (time, in flight) at every `stride`-th arrival.
    samples: Vec<(u64, u64)>,
    stride: u64,
    seen: u64,
}

impl Backlog {
    pub fn note(&mut self, now: SimTime, in_flight: u64) {
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.samples.push((now.0, in_flight));
            if self.samples.len() == 4096 {
                let mut keep = false;
                self.samples.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
        }
        self.seen += 1;
    }

    /// Returns true if the backlog grows to the end of the run. The samples of the second half of the time are divided
    /// into four parts: the mean must rise from each part to the next, by more than 20 % in total, and to more than 64
    /// commands.
    pub fn grows(&self) -> bool {
        let Some((first, last)) = self.samples.first().zip(self.samples.last()) else { return false };
        let half = first.0 + (last.0 - first.0) / 2;
        let tail: Vec<u64> = self.samples.iter().filter(|(at, _)| *at >= half).map(|(_, n)| *n).collect();
        if tail.len() < 16 {
            return false;
        }
        let quarter = |index: usize| {
            let part = &tail[index * tail.len() / 4..(index + 1) * tail.len() / 4];
            part.iter().sum::<u64>() as f64 / part.len() as f64
        };
        let means = [quarter(0), quarter(1), quarter(2), quarter(3)];
        means.windows(2).all(|pair| pair[1] > pair[0]) && means[3] > 1.2 * means[0] && means[3] > 64.0
    }
}
