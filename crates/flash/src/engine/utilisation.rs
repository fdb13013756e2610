//! Utilisation of dies and channels between two instants.

use super::Flash;
use crate::counters::Utilisation;
use crate::page_buffers::PageBuffers;
use kit::clock::Reading;
use kit::{Nanos, SimTime, Work};

impl Flash {
    /// Returns the shares of the time from `since` to `now` during which dies and channels were busy.
    pub fn utilisation(&self, now: SimTime, since: &Snapshot) -> Utilisation {
        let span = now.since(since.at).0.max(1) as f64;
        let writing = |reading: &Reading| {
            reading[Work::HostProgram as usize] + reading[Work::RelocationProgram as usize] + reading[Work::Erase as usize]
        };
        let dies: Vec<Reading> = self.dies.iter().map(|die| die.clock.read(now)).collect();
        let busy = |reading: &Reading| kit::clock::busy(reading).0;
        let in_use = |(buffers, before): (&PageBuffers, &Nanos)| {
            (buffers.used(now) - *before).0 as f64 / span / f64::from(buffers.count())
        };
        Utilisation {
            channels: self
                .channels
                .iter()
                .zip(&since.channels)
                .map(|(c, before)| (c.busy(now).0 - before) as f64 / span)
                .collect(),
            dies: dies.iter().zip(&since.dies).map(|(now, before)| (busy(now) - busy(before)) as f64 / span).collect(),
            page_buffers: self.page_buffers.iter().flatten().zip(&since.page_buffers).map(in_use).collect(),
            writing: dies.iter().zip(&since.dies).map(|(now, before)| (writing(now) - writing(before)) as f64 / span).collect(),
        }
    }

    /// Returns the busy clocks at the instant `at`, as the start of a measurement of utilisation.
    pub fn snapshot(&self, at: SimTime) -> Snapshot {
        Snapshot {
            at,
            channels: self.channels.iter().map(|channel| channel.busy(at).0).collect(),
            dies: self.dies.iter().map(|die| die.clock.read(at)).collect(),
            page_buffers: self.page_buffers.iter().flatten().map(|buffers| buffers.used(at)).collect(),
        }
    }
}

/// Busy clocks of dies, channels and page buffers at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    at: SimTime,
    channels: Vec<u64>,
    dies: Vec<Reading>,
    page_buffers: Vec<Nanos>,
}

impl Snapshot {
    /// Excludes a span of length `off`, in which nothing was busy, from the measurement that starts at this snapshot.
    pub fn exclude(&mut self, off: Nanos) {
        self.at = self.at + off;
    }
}
