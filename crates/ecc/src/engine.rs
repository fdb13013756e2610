//! Decoders that work in parallel, and codewords that share the stages of a decoder.

use crate::block_code::BlockCode;
use crate::latency::{Decoder, STAGES, StageTimes};
use kit::{Nanos, Problems, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Decoders of one kind, each with a number of threads: codewords of one or several pages that it holds at once. A
/// stage serves one codeword at a time and is free for the next one as soon as that codeword has left it. Decoders that
/// are multi-threaded and shared between channels are found (ISSCC 2012, FACTS 5.2); the default of one decoder with
/// one thread is assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Engine {
    /// Number of decoders.
    #[schemars(range(min = 1, max = 1024))]
    pub decoders: u32,
    /// Number of codewords that a decoder holds at once.
    #[schemars(range(min = 1, max = 16))]
    pub threads: u32,
    /// Kind and parameters of each decoder.
    pub decoder: Decoder,
}

impl Default for Engine {
    fn default() -> Self {
        Engine { decoders: 1, threads: 1, decoder: Decoder::default() }
    }
}

impl Engine {
    /// Returns an idle pipeline of this engine. Decoders and threads are clamped to their ranges.
    pub fn pipeline(&self) -> Pipeline {
        let (decoders, threads) = (self.decoders.clamp(1, 1024) as usize, self.threads.clamp(1, 16) as usize);
        Pipeline {
            stages: vec![[SimTime::ZERO; STAGES]; decoders],
            threads: vec![SimTime::ZERO; decoders * threads],
            threads_each: threads,
            held: Nanos::ZERO,
        }
    }

    /// Returns the time from the arrival of a page's first bit to the end of its last codeword, in an otherwise idle
    /// engine. `errors` are the numbers of errors of its codewords, which arrive one after another and take
    /// `codeword_transfer` each; zero if they wait in a buffer.
    pub fn page_time(&self, code: &impl BlockCode, errors: &[u64], levels: u32, codeword_transfer: Nanos) -> Nanos {
        let mut pipeline = self.pipeline();
        let mut start = SimTime::ZERO;
        let mut done = SimTime::ZERO;
        for &errors in errors {
            let end = start + codeword_transfer;
            done = done.max(pipeline.admit(start, end, &self.decoder.stages(code, errors, levels)));
            start = end;
        }
        done.since(SimTime::ZERO)
    }

    /// Returns the data bits per second that the engine decodes if it is never short of codewords and all have `errors`
    /// errors. Each decoder finishes one codeword in the time of its longest stage, or in the sum of all stages divided
    /// by the number of threads if that is longer.
    pub fn throughput_bits_per_s(&self, code: &impl BlockCode, errors: u64, levels: u32) -> f64 {
        let stages = self.decoder.stages(code, errors, levels).map(|time| time.0 as f64);
        let longest = stages.iter().fold(0.0, |longest: f64, &time| longest.max(time));
        let shared = stages.iter().sum::<f64>() / f64::from(self.threads.clamp(1, 16));
        // A decoder that takes no time is counted as one nanosecond.
        let nanos = longest.max(shared).max(1.0);
        f64::from(self.decoders.clamp(1, 1024)) * code.data_bits() as f64 / nanos * 1e9
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        for (field, value, most) in [("decoders", self.decoders, 1024), ("threads", self.threads, 16)] {
            if !(1..=most).contains(&value) {
                problems.add(format!("{place}.{field}"), format!("{value}: expected 1..={most}"));
            }
        }
        self.decoder.problems(&format!("{place}.decoder"), problems);
    }
}

/// State of an engine: the instants at which its stages and threads become free. A flow shop that codewords enter in
/// the order of admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Instant at which each stage of each decoder becomes free. Not kept with one thread: it is free when all stages
    /// are.
    stages: Vec<[SimTime; STAGES]>,
    /// Instant at which each thread becomes free, decoder by decoder.
    threads: Vec<SimTime>,
    threads_each: usize,
    /// Time for which codewords have held the threads, those still in the decoders included.
    held: Nanos,
}

impl Pipeline {
    /// Admits a codeword whose bits arrive from `start` to `end`, and returns the instant at which it is done. It goes
    /// to the decoder that can take it first; among equals, to the one that becomes idle first. Its first stage ends no
    /// earlier than its last bit arrives. If no decoder can take it at `start`, it waits in a buffer.
    #[inline]
    pub fn admit(&mut self, start: SimTime, end: SimTime, times: &StageTimes) -> SimTime {
        if self.threads_each > 1 {
            return self.admit_to_stages(start, end, times);
        }
        let mut at = 0;
        for (index, free) in self.threads.iter().enumerate().skip(1) {
            if *free < self.threads[at] {
                at = index;
            }
        }
        let entry = self.threads[at].max(start);
        let now = times[1..].iter().fold((entry + times[0]).max(end), |now, &time| now + time);
        self.threads[at] = now;
        self.held += now.since(entry);
        now
    }

    fn admit_to_stages(&mut self, start: SimTime, end: SimTime, times: &StageTimes) -> SimTime {
        let (mut at, mut thread, mut free) = (0, 0, SimTime::FOREVER);
        for index in 0..self.stages.len() {
            let (first, entry) = self.entry(index);
            let entry = entry.max(start);
            if index == 0 || entry < free || entry == free && self.idle(index) < self.idle(at) {
                (at, thread, free) = (index, first, entry);
            }
        }
        let entry = free.max(start);
        let mut now = (entry + times[0]).max(end);
        let stages = &mut self.stages[at];
        stages[0] = now;
        for (free, &time) in stages.iter_mut().zip(times).skip(1) {
            // A stage that the codeword skips need not be free.
            if time > Nanos::ZERO {
                now = now.max(*free) + time;
                *free = now;
            }
        }
        self.threads[thread] = now;
        self.held += now.since(entry);
        now
    }

    /// Returns the thread of a decoder that becomes free first and the earliest instant at which a codeword can enter.
    fn entry(&self, decoder: usize) -> (usize, SimTime) {
        let mut first = decoder * self.threads_each;
        for thread in first + 1..(decoder + 1) * self.threads_each {
            if self.threads[thread] < self.threads[first] {
                first = thread;
            }
        }
        (first, self.threads[first].max(self.stages[decoder][0]))
    }

    /// Returns the instant at which all codewords in a decoder are done.
    fn idle(&self, decoder: usize) -> SimTime {
        let first = decoder * self.threads_each;
        self.threads[first..first + self.threads_each].iter().copied().max().unwrap_or(SimTime::ZERO)
    }

    /// Returns the number of threads of all decoders.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Returns the time for which the threads have been held by codewords until `now`, all threads together.
    pub fn held(&self, now: SimTime) -> Nanos {
        let remains: u64 = self.threads.iter().map(|free| free.0.saturating_sub(now.0)).sum();
        Nanos(self.held.0.saturating_sub(remains))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bch, BchDecoder, Ldpc, LdpcDecoder};

    /// Returns an engine with a cycle of 1 ns; for 8332 bits: 261 for syndromes, 10 for Berlekamp-Massey, 66 for the
    /// fast Chien search and 261 for the accurate one.
    fn engine(decoders: u32, threads: u32) -> Engine {
        let decoder = BchDecoder { clock_hz: 1_000_000_000, ..BchDecoder::default() };
        Engine { decoders, threads, decoder: Decoder::Bch(decoder) }
    }

    const CODE: Bch = Bch { data_bits: 8192, t: 10 };

    #[test]
    fn two_codewords_by_hand() {
        let stages = [5, 9, 0].map(|errors| engine(1, 1).decoder.stages(&CODE, errors, 0).map(|time| time.0));
        assert_eq!(stages, [[261, 10, 66, 0], [261, 10, 0, 261], [261, 0, 0, 0]]);
        let time = |decoders, threads, errors: &[u64]| engine(decoders, threads).page_time(&CODE, errors, 0, Nanos::ZERO).0;
        // One after the other: 337 and 532.
        assert_eq!(time(1, 1, &[5, 9]), 337 + 532);
        // The second codeword's syndromes run from 261 to 522, while the search of the first ends at 337; then 10 and
        // 261.
        assert_eq!(time(1, 2, &[5, 9]), 522 + 10 + 261);
        // The second codeword's search need not wait: the search of the first ends at 532, as does the second's
        // Berlekamp-Massey.
        assert_eq!(time(1, 2, &[9, 9]), 532 + 261);
        // In parallel.
        assert_eq!((time(2, 1, &[5, 9]), time(2, 2, &[9, 9])), (532, 532));
        // With two threads the third codeword waits for one, free at 532; with three threads its syndromes start at
        // 522.
        assert_eq!((time(1, 2, &[9, 9, 9]), time(1, 3, &[9, 9, 9])), (532 + 532, 522 + 532));
        // A codeword without errors skips the search of the one before: it is done at 522, while the first takes until
        // 532.
        assert_eq!((time(1, 2, &[9, 0]), time(1, 1, &[9, 0]), time(1, 1, &[])), (532, 532 + 261, 0));
    }

    #[test]
    fn data_that_comes_in_slowly_hides_the_syndromes() {
        let time = |threads, errors: &[u64]| engine(1, threads).page_time(&CODE, errors, 0, Nanos(300)).0;
        assert_eq!((time(1, &[0, 0]), time(1, &[9])), (600, 300 + 271));
        // The first is done at 571. The second has arrived at 600 or, if it had to wait, starts at 571 and takes 261
        // for its syndromes.
        assert_eq!((time(2, &[9, 9]), time(1, &[9, 9])), (600 + 271, 571 + 532));
    }

    #[test]
    fn throughput_is_that_of_a_long_run() {
        let codewords = 2000u64;
        for (decoders, threads) in [(1, 1), (1, 2), (1, 3), (2, 2), (4, 1)] {
            for errors in [0, 5, 9] {
                let engine = engine(decoders, threads);
                let time = engine.page_time(&CODE, &vec![errors; codewords as usize], 0, Nanos::ZERO);
                let run = (codewords * CODE.data_bits) as f64 / time.as_secs_f64();
                let found = engine.throughput_bits_per_s(&CODE, errors, 0);
                assert!((run / found - 1.0).abs() < 0.01, "{decoders} {threads} {errors}: {found:e}, a run {run:e}");
            }
        }
        // The value found for (8640, 8192, t = 32) is 6.4 Gb/s: with two threads and few errors, or with three threads
        // and many.
        let code = Bch { data_bits: 8192, t: 32 };
        let rate = |threads, errors| Engine { threads, ..Engine::default() }.throughput_bits_per_s(&code, errors, 0);
        assert!(
            (rate(2, 5) / 6.4e9 - 1.0).abs() < 0.06 && (rate(3, 32) / 6.4e9 - 1.0).abs() < 0.06,
            "{:e} {:e}",
            rate(2, 5),
            rate(3, 32)
        );
        assert!(rate(1, 32) < 3.2e9);
    }

    #[test]
    fn ldpc_codewords_share_no_iterations() {
        let ldpc = |decoders, threads| Engine { decoders, threads, decoder: Decoder::Ldpc(LdpcDecoder::default()) };
        let code = Ldpc::default();
        let time = |decoders, threads| ldpc(decoders, threads).page_time(&code, &[10_000, 10_000, 0, 0], 0, Nanos::ZERO);
        // 20, 20, 1 and 1 us; further threads only load codewords ahead.
        assert_eq!((time(1, 1), time(1, 4)), (Nanos(42_000), Nanos(42_000)));
        assert_eq!((time(2, 1), time(4, 1)), (Nanos(21_000), Nanos(20_000)));
        // A free thread is no reason to wait behind another codeword while another decoder is idle.
        assert_eq!((time(2, 4), time(4, 4)), (Nanos(21_000), Nanos(20_000)));
    }

    #[test]
    fn more_of_anything_is_never_slower() {
        let errors: Vec<u64> = (0..40).map(|index| [0, 3, 9, 40, 1][index % 5]).collect();
        for threads in 1..4 {
            for decoders in 1..4 {
                let time = |decoders, threads| engine(decoders, threads).page_time(&CODE, &errors, 0, Nanos(100));
                assert!(time(decoders + 1, threads) <= time(decoders, threads));
                assert!(time(decoders, threads + 1) <= time(decoders, threads));
            }
        }
    }

    #[test]
    fn odd_engines_are_named_and_do_no_harm() {
        let mut problems = Problems::default();
        let nothing =
            Engine { decoders: 0, threads: 0, decoder: Decoder::Bch(BchDecoder { clock_hz: 0, ..BchDecoder::default() }) };
        nothing.problems("ecc.engine", &mut problems);
        assert_eq!(problems.0.len(), 3, "{problems}");
        assert!(nothing.page_time(&CODE, &[u64::MAX, 0], 0, Nanos(u64::MAX)) > Nanos::ZERO);
        assert!(nothing.throughput_bits_per_s(&CODE, 1, 0).is_finite());
        let instant =
            Engine { decoder: Decoder::Ldpc(LdpcDecoder { iteration: Nanos::ZERO, ..LdpcDecoder::default() }), ..nothing };
        assert!(instant.throughput_bits_per_s(&CODE, 1, 0).is_finite());
    }
}
