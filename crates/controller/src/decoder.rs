//! The decoders, which data passes after it has been read.
//!
//! Codewords of a page arrive one after another. A decoder of a channel takes each as it arrives; decoders that all
//! channels share take it once it has arrived completely. Decoders serve codewords in order of arrival.

use crate::ecc::Sharing;
use crate::errors::Codeword;
use ecc::{Engine, Pipeline, Prepared, StageTimes};
use kit::{Nanos, SimTime};

/// Times of a decoder's stages: by index of the limit, then by number of errors; the last entry of each limit is for
/// codewords that fail.
#[derive(Clone, Debug, Default)]
pub struct StageTable(Vec<Vec<StageTimes>>);

impl StageTable {
    /// Returns the times of decoders of a code. `limits` are the numbers of errors beyond which decoding fails, each
    /// with the soft levels with which it is decoded.
    pub fn of_engine(engine: &Engine, code: &Prepared, limits: &[(f64, u32)]) -> StageTable {
        StageTable::of(limits, |errors, levels| match errors {
            Some(errors) => engine.decoder.stages(code, errors, levels),
            None => engine.decoder.stages(code, u64::from(u32::MAX), levels),
        })
    }

    /// Returns the table of one time for all codewords.
    pub fn fixed(time: Nanos, limits: &[(f64, u32)]) -> StageTable {
        StageTable::of(limits, |_, _| [Nanos::ZERO, time, Nanos::ZERO, Nanos::ZERO])
    }

    fn of(limits: &[(f64, u32)], times: impl Fn(Option<u64>, u32) -> StageTimes) -> StageTable {
        let of_limit = |&(limit, levels): &(f64, u32)| {
            (0..=limit as u64).map(Some).chain([None]).map(|errors| times(errors, levels)).collect()
        };
        StageTable(limits.iter().map(of_limit).collect())
    }

    /// Returns the times of a codeword with `errors` errors that is decoded at a limit.
    #[inline]
    pub fn get(&self, limit: u8, codeword: &Codeword) -> &StageTimes {
        let Codeword { errors, fails } = *codeword;
        let times = &self.0[usize::from(limit)];
        let failing = times.len() - 1;
        // With a limit that is no whole number, a codeword may have more errors than it and yet be decoded.
        &times[if fails { failing } else { (errors as usize).min(failing - 1) }]
    }
}

/// Instants at which a codeword has been decoded, and its time without a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Instant of completion.
    pub at: SimTime,
    /// Time that it would have taken from its arrival in an idle decoder.
    pub alone: Nanos,
}

/// All decoders of a drive.
#[derive(Clone, Debug)]
pub struct Decoders {
    /// Groups of decoders: one for each channel, or one for the drive.
    groups: Vec<Pipeline>,
    sharing: Sharing,
    times: StageTable,
    /// Time of the stages after the arrival of all codewords so far \[ns\], without waits.
    work_ns: u64,
}

impl Decoders {
    /// Returns idle decoders: an engine for each channel, or one for the drive.
    pub fn new(engine: &Engine, sharing: Sharing, channels: u32, times: StageTable) -> Decoders {
        let groups = if sharing == Sharing::Channel { channels as usize } else { 1 };
        Decoders { groups: vec![engine.pipeline(); groups], sharing, times, work_ns: 0 }
    }

    /// Returns the way in which the channels share the decoders.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Accepts a codeword whose data arrives from one instant to another on a channel. Codewords of a group are
    /// accepted in the order in which they begin to arrive.
    #[inline(always)]
    pub fn accept(&mut self, channel: u32, arrives: (SimTime, SimTime), limit: u8, codeword: &Codeword) -> Decoded {
        let times = self.times.get(limit, codeword);
        let group = if self.sharing == Sharing::Channel { channel as usize } else { 0 };
        let (start, end) = arrives;
        let at = self.groups[group].admit(start, end, times);
        let first = Nanos(times[0].0.saturating_sub(end.since(start).0));
        let later = times[1..].iter().fold(Nanos::ZERO, |sum, &time| sum + time);
        self.work_ns += later.0;
        Decoded { at, alone: first + later }
    }

    /// Returns, for each group, the time for which its threads have been busy until `now` \[ns\], all threads together.
    pub fn busy(&self, now: SimTime) -> Vec<u64> {
        self.groups.iter().map(|group| group.held(now).0).collect()
    }

    /// Returns the time of the stages after the arrival of all codewords so far \[ns\], without waits: that of an LDPC
    /// decoder's iterations.
    pub fn work_ns(&self) -> u64 {
        self.work_ns
    }

    /// Returns the number of threads of a group.
    pub fn threads(&self) -> usize {
        self.groups.first().map_or(1, Pipeline::threads)
    }
}
