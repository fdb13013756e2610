//! Time of encoding and decoding, from the cycles of the stages of a machine.

use crate::block_code::BlockCode;
use kit::{Frequency, Nanos, Problems, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stages of a decoder that a codeword can occupy: one that processes the data as it arrives, then up to three further
/// ones.
pub const STAGES: usize = 4;

/// Time for which a codeword occupies each stage; zero if it skips the stage. BCH: syndromes, Berlekamp-Massey, fast
/// Chien search, accurate Chien search. LDPC: nothing while data arrives, then iterations.
pub type StageTimes = [Nanos; STAGES];

/// Returns the time of `cycles` cycles of a clock, rounded up; the largest [`Nanos`] if the frequency is zero.
fn cycles_time(cycles: u64, clock_hz: u64) -> Nanos {
    let nanos = (u128::from(cycles) * 1_000_000_000).checked_add(u128::from(clock_hz).saturating_sub(1));
    let nanos = nanos.and_then(|nanos| nanos.checked_div(u128::from(clock_hz)));
    Nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(u64::MAX))
}

/// Returns the number of cycles for `bits` at `width` bits per cycle; a width of zero counts as one.
fn passes(bits: u64, width: u64) -> u64 {
    bits.div_ceil(width.max(1))
}

fn clock_problems(clock_hz: u64, place: &str, problems: &mut Problems) {
    if !(1_000_000..=10_000_000_000).contains(&clock_hz) {
        problems.add(format!("{place}.clock_hz"), format!("{clock_hz}: expected 1000000..=10000000000"));
    }
}

/// An encoder: a shift register that processes a codeword at a number of bits per cycle. 200 MHz and 32 bits per cycle,
/// as for a decoder's syndromes \[assumed\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Encoder {
    /// Clock \[Hz\].
    #[schemars(range(min = 1_000_000u64, max = 10_000_000_000u64))]
    pub clock_hz: u64,
    /// Bits processed per cycle.
    #[schemars(range(min = 1, max = 65_536))]
    pub bits_per_cycle: u64,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder { clock_hz: 200_000_000, bits_per_cycle: 32 }
    }
}

impl Encoder {
    /// Returns the time to encode a codeword, from data in to parity out.
    pub fn time(&self, code: &impl BlockCode) -> Nanos {
        cycles_time(passes(code.codeword_bits(), self.bits_per_cycle), self.clock_hz)
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        clock_problems(self.clock_hz, place, problems);
        if self.bits_per_cycle == 0 {
            problems.add(format!("{place}.bits_per_cycle"), "0: expected at least 1");
        }
    }
}

/// A BCH decoder: syndromes are computed as the data arrives. If any is not zero, Berlekamp-Massey and a Chien search
/// follow; a fast machine searches if there are few errors, an accurate one if there are many. With more errors than
/// the code corrects, the accurate search runs to its end without success.
///
/// The structure is stated (thesis, section 2.3.1), the numbers are assumed (FACTS 5.2). At 200 MHz and 32 bits per
/// cycle its input rate is 6.4 Gb/s, the value found for a decoder of the thesis' authors (TVLSI 2013, ISSCC 2012),
/// whose clock and width are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BchDecoder {
    /// Clock \[Hz\].
    #[schemars(range(min = 1_000_000u64, max = 10_000_000_000u64))]
    pub clock_hz: u64,
    /// Bits per cycle of the syndromes and of the accurate Chien search.
    #[schemars(range(min = 1, max = 65_536))]
    pub bits_per_cycle: u64,
    /// Cycles of Berlekamp-Massey per error that the code corrects: 1 or 2.
    #[schemars(range(min = 1, max = 16))]
    pub cycles_per_error: u64,
    /// Largest number of errors that the fast Chien machine handles, at `fast_bits_per_cycle`.
    pub fast_errors: u64,
    /// Bits per cycle of the fast Chien machine.
    #[schemars(range(min = 1, max = 65_536))]
    pub fast_bits_per_cycle: u64,
    /// True: a search ends once it has found as many errors as the key equation says. The last of `e` errors is at
    /// `e / (e + 1)` of the codeword in the mean, which is the time that it takes here. A search for more errors than
    /// the code corrects runs to its end.
    pub early_end: bool,
}

impl Default for BchDecoder {
    fn default() -> Self {
        BchDecoder {
            clock_hz: 200_000_000,
            bits_per_cycle: 32,
            cycles_per_error: 1,
            fast_errors: 8,
            fast_bits_per_cycle: 128,
            early_end: false,
        }
    }
}

impl BchDecoder {
    /// Returns the time of each stage for a codeword with `errors` errors.
    pub fn stages(&self, code: &impl BlockCode, errors: u64) -> StageTimes {
        let bits = code.codeword_bits();
        let time = |cycles| cycles_time(cycles, self.clock_hz);
        let syndromes = time(passes(bits, self.bits_per_cycle));
        if errors == 0 {
            return [syndromes, Nanos::ZERO, Nanos::ZERO, Nanos::ZERO];
        }
        let correctable = code.correctable(0);
        let equation = time(self.cycles_per_error.saturating_mul(correctable.ceil() as u64));
        let is_corrected = errors as f64 <= correctable;
        let searched = if self.early_end && is_corrected { bits_to_last(bits, errors) } else { bits };
        // A codeword with more errors than the code corrects is not known to have few.
        if errors <= self.fast_errors && is_corrected {
            return [syndromes, equation, time(passes(searched, self.fast_bits_per_cycle)), Nanos::ZERO];
        }
        [syndromes, equation, Nanos::ZERO, time(passes(searched, self.bits_per_cycle))]
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        clock_problems(self.clock_hz, place, problems);
        let widths = [("bits_per_cycle", self.bits_per_cycle), ("fast_bits_per_cycle", self.fast_bits_per_cycle)];
        for (field, value) in widths.into_iter().chain([("cycles_per_error", self.cycles_per_error)]) {
            if value == 0 {
                problems.add(format!("{place}.{field}"), "0: expected at least 1");
            }
        }
    }
}

/// Returns the mean position of the last of `errors` errors that are anywhere among `bits` bits, rounded up.
fn bits_to_last(bits: u64, errors: u64) -> u64 {
    (u128::from(bits) * u128::from(errors)).div_ceil(u128::from(errors) + 1) as u64
}

/// Longest time of an iteration.
const LONGEST_ITERATION: Nanos = Nanos(1_000_000_000);

/// A measured point: mean iterations at an error rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iterations {
    /// Error rate as a ratio to the rated error rate of the code.
    pub ratio: f64,
    /// Mean number of iterations.
    pub iterations: f64,
}

/// An LDPC decoder. It iterates until the word is a codeword, and needs more iterations the closer its error rate is to
/// the rated one of the code; if it fails, it takes the maximum number.
///
/// 1 / 4 / 20 iterations (least / typical / most) of 1 us are found (FACTS 5.2, Microsemi 2014). Their dependence on
/// the error rate is assumed: least + (most - least) x^q at the ratio x of the error rate to the rated one, with q such
/// that x = 1/2 gives the typical number, and at most `most`. A measured table replaces that law; it is interpolated
/// linearly between its points and constant beyond them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LdpcDecoder {
    /// Time of one iteration.
    pub iteration: Nanos,
    /// Iterations for a codeword without errors.
    #[schemars(range(min = 1, max = 1000))]
    pub least: u32,
    /// Iterations at half the rated error rate.
    #[schemars(range(min = 1, max = 1000))]
    pub typical: u32,
    /// Iterations after which the decoder gives up.
    #[schemars(range(min = 1, max = 1000))]
    pub most: u32,
    /// Measured iterations that replace the law, in ascending order of the error rate; none by default.
    pub table: Vec<Iterations>,
}

impl Default for LdpcDecoder {
    fn default() -> Self {
        LdpcDecoder { iteration: Nanos(1000), least: 1, typical: 4, most: 20, table: Vec::new() }
    }
}

impl LdpcDecoder {
    /// Returns the mean number of iterations of a codeword that is decoded, at `ratio` of the rated error rate.
    pub fn iterations(&self, ratio: f64) -> f64 {
        let (least, typical, most) = (f64::from(self.least), f64::from(self.typical), f64::from(self.most));
        if ratio.is_nan() {
            return most;
        }
        let ratio = ratio.clamp(0.0, 1e9);
        let found = if self.table.is_empty() {
            if typical <= least || most <= typical {
                // No power law passes through these points, so the law is linear or constant.
                least + (most - least).max(0.0) * ratio
            } else {
                let power = libm::log2((most - least) / (typical - least));
                least + (most - least) * libm::pow(ratio, power)
            }
        } else {
            interpolate(&self.table, ratio)
        };
        // A NaN in a table counts as `most`.
        if found.is_nan() { most } else { found.min(most).max(0.0) }
    }

    /// Returns the time of each stage for a codeword with `errors` errors, decoded with `levels` soft levels.
    pub fn stages(&self, code: &impl BlockCode, errors: u64, levels: u32) -> StageTimes {
        let errors = errors as f64;
        let rated = code.rated(levels) * code.codeword_bits() as f64;
        let fails = errors > code.correctable(levels);
        let iterations =
            if fails { f64::from(self.most) } else { self.iterations(if errors == 0.0 { 0.0 } else { errors / rated }) };
        [Nanos::ZERO, Nanos(libm::round(iterations * self.iteration.0 as f64) as u64), Nanos::ZERO, Nanos::ZERO]
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        if self.iteration == Nanos::ZERO {
            problems.add(format!("{place}.iteration"), "0ns: expected a time above zero");
        } else if self.iteration > LONGEST_ITERATION {
            problems.add(format!("{place}.iteration"), format!("{}: expected at most 1s", self.iteration));
        }
        let Self { least, typical, most, .. } = self;
        if !(0 < *least && least < typical && typical < most) {
            problems
                .add(place, format!("least, typical, most = {least}, {typical}, {most}: expected ascending numbers above zero"));
        }
        let usable =
            |point: &Iterations| (0.0..=1e9).contains(&point.ratio) && (0.0..=f64::from(*most)).contains(&point.iterations);
        if !self.table.iter().all(usable) || self.table.windows(2).any(|pair| pair[1].ratio <= pair[0].ratio) {
            problems.add(format!("{place}.table"), format!("expected ratios that rise from 0 and iterations of 0..={most}"));
        }
    }
}

/// Interpolates linearly between the points of an ascending table; constant beyond its ends.
fn interpolate(table: &[Iterations], ratio: f64) -> f64 {
    let next = table.partition_point(|point| point.ratio <= ratio);
    match (next.checked_sub(1).map(|index| table[index]), table.get(next)) {
        (Some(before), Some(after)) => {
            let part = (ratio - before.ratio) / (after.ratio - before.ratio);
            before.iterations + part * (after.iterations - before.iterations)
        }
        (Some(end), None) => end.iterations,
        (None, Some(end)) => end.iterations,
        (None, None) => 0.0,
    }
}

/// A decoder of either kind: `{ kind = "bch" }` or `{ kind = "ldpc" }`, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum Decoder {
    Bch(BchDecoder),
    Ldpc(LdpcDecoder),
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::Bch(BchDecoder::default())
    }
}

impl Decoder {
    /// Returns the time of each stage for a codeword with `errors` errors, decoded with `levels` soft levels; a BCH
    /// decoder does not use them.
    pub fn stages(&self, code: &impl BlockCode, errors: u64, levels: u32) -> StageTimes {
        match self {
            Decoder::Bch(decoder) => decoder.stages(code, errors),
            Decoder::Ldpc(decoder) => decoder.stages(code, errors, levels),
        }
    }

    /// Returns the time from the arrival of the last bit of a codeword with `errors` errors until it is corrected or
    /// found uncorrectable. The decoder is otherwise idle, and data arrives no faster than its first stage processes
    /// it.
    pub fn time(&self, code: &impl BlockCode, errors: u64, levels: u32) -> Nanos {
        self.stages(code, errors, levels)[1..].iter().fold(Nanos::ZERO, |sum, &time| sum + time)
    }

    /// Returns its kind and speed in words, for drawings.
    pub fn in_words(&self) -> String {
        match self {
            Decoder::Bch(BchDecoder { clock_hz, bits_per_cycle, .. }) => {
                format!("BCH, {}, {bits_per_cycle} bits in a cycle", words::frequency(Frequency(*clock_hz)))
            }
            Decoder::Ldpc(LdpcDecoder { iteration, least, most, .. }) => {
                format!("LDPC, {least} to {most} iterations of {}", words::time(*iteration))
            }
        }
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        match self {
            Decoder::Bch(decoder) => decoder.problems(place, problems),
            Decoder::Ldpc(decoder) => decoder.problems(place, problems),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bch, Ldpc};

    #[test]
    fn a_bch_decoder_is_an_order_below_the_array_read() {
        let (decoder, code) = (Decoder::default(), Bch { data_bits: 32_768, t: 100 });
        // 34368 bits: 1074 cycles of 32 bits, 269 of 128 bits; 100 cycles of Berlekamp-Massey; 5 ns each.
        let syndromes = Nanos(1074 * 5);
        assert_eq!(decoder.stages(&code, 0, 0), [syndromes, Nanos(0), Nanos(0), Nanos(0)]);
        assert_eq!(decoder.stages(&code, 8, 0), [syndromes, Nanos(500), Nanos(269 * 5), Nanos(0)]);
        assert_eq!(decoder.stages(&code, 9, 0), [syndromes, Nanos(500), Nanos(0), Nanos(1074 * 5)]);
        assert_eq!(decoder.stages(&code, 101, 0), decoder.stages(&code, 60, 0), "in vain, but to the end");
        assert_eq!((decoder.time(&code, 0, 0), decoder.time(&code, 5, 0)), (Nanos::ZERO, Nanos((100 + 269) * 5)));
        assert!(decoder.time(&code, 60, 0) < Nanos(10_000));
        assert_eq!(Encoder::default().time(&code), syndromes);
        // An uncorrectable codeword of a weak code takes the accurate search, however few its errors.
        let weak = Bch { data_bits: 4096, t: 2 };
        assert_eq!(decoder.stages(&weak, 2, 0)[3], Nanos::ZERO);
        assert!(decoder.stages(&weak, 3, 0)[3] > Nanos::ZERO);
    }

    /// The last of `e` errors at random places among 34,368 bits, in the mean of 2,000 draws: within 1 % of the closed
    /// form, which the search takes.
    #[test]
    fn a_search_that_ends_early_ends_at_the_last_error() {
        let code = Bch { data_bits: 32_768, t: 100 };
        let decoder = Decoder::Bch(BchDecoder { early_end: true, ..BchDecoder::default() });
        let mut rng = kit::Rng::stream(1, "last error");
        for errors in [1, 5, 9, 60, 100] {
            let last = |rng: &mut kit::Rng| (0..errors).map(|_| rng.below(34_368)).max().unwrap_or(0);
            let mean = (0..2000).map(|_| last(&mut rng) as f64).sum::<f64>() / 2000.0;
            let per_cycle = if errors <= 8 { 128.0 } else { 32.0 };
            let [_, _, fast, accurate] = decoder.stages(&code, errors, 0);
            let cycles = (fast.0 + accurate.0) as f64 / 5.0;
            assert!((cycles * per_cycle / mean - 1.0).abs() < 0.03, "{errors}: {cycles} cycles, {mean} bits");
        }
        assert_eq!(decoder.stages(&code, 101, 0), Decoder::default().stages(&code, 101, 0), "in vain, but to the end");
    }

    #[test]
    fn iterations_rise_with_the_error_rate() {
        let (decoder, code) = (LdpcDecoder::default(), Ldpc::default());
        for (ratio, expected) in [(0.0, 1.0), (0.5, 4.0), (1.0, 20.0), (7.0, 20.0), (f64::NAN, 20.0), (-1.0, 1.0)] {
            assert!((decoder.iterations(ratio) - expected).abs() < 1e-9, "{ratio}: {}", decoder.iterations(ratio));
        }
        let grid: Vec<f64> = (0..200).map(|step| decoder.iterations(f64::from(step) * 0.01)).collect();
        assert!(grid.windows(2).all(|pair| pair[1] >= pair[0]) && grid.iter().all(|found| found.is_finite()));
        // 36352 bits at rated error rates of 4e-3 and 1e-2: 145.4 and 363.5 errors.
        let time = |errors, levels| decoder.stages(&code, errors, levels)[1];
        assert_eq!(
            (time(0, 0), time(145, 0), time(10_000, 0), time(10_000, 2)),
            (Nanos(1000), Nanos(19_858), Nanos(20_000), Nanos(20_000))
        );
        assert!(time(145, 2) < Nanos(4000) && time(182, 2) > Nanos(4000), "{:?} {:?}", time(145, 2), time(182, 2));
    }

    #[test]
    fn a_measured_table_replaces_the_law() {
        let point = |ratio, iterations| Iterations { ratio, iterations };
        let decoder = LdpcDecoder { table: vec![point(0.25, 2.0), point(0.75, 6.0), point(1.0, 30.0)], ..LdpcDecoder::default() };
        for (ratio, expected) in [(0.0, 2.0), (0.25, 2.0), (0.5, 4.0), (0.75, 6.0), (0.8, 10.8), (1.0, 20.0), (3.0, 20.0)] {
            assert!((decoder.iterations(ratio) - expected).abs() < 1e-9, "{ratio}: {}", decoder.iterations(ratio));
        }
        // A codeword that fails takes the maximum number of iterations, whatever the table says.
        let quick = LdpcDecoder { table: vec![point(1.0, 2.0)], ..LdpcDecoder::default() };
        let time = |errors| quick.stages(&Ldpc::default(), errors, 0)[1];
        assert_eq!((time(200), time(1000)), (Nanos(2000), Nanos(20_000)));
        let mut problems = Problems::default();
        decoder.problems("ecc.decoder", &mut problems);
        assert!(problems.to_string().contains("ecc.decoder.table"), "more than the most: {problems}");
    }

    #[test]
    fn odd_parameters_are_named_and_do_no_harm() {
        let ldpc = |table: &[(f64, f64)], least, typical| {
            let table = table.iter().map(|&(ratio, iterations)| Iterations { ratio, iterations }).collect();
            Decoder::Ldpc(LdpcDecoder { table, least, typical, ..LdpcDecoder::default() })
        };
        let still = BchDecoder {
            clock_hz: 0,
            bits_per_cycle: 0,
            fast_bits_per_cycle: 0,
            cycles_per_error: 0,
            fast_errors: u64::MAX,
            early_end: true,
        };
        let mut decoders = vec![Decoder::Bch(still), ldpc(&[], 20, 20), ldpc(&[], 30, 4), ldpc(&[], 0, 0)];
        decoders.extend([ldpc(&[(f64::NAN, f64::NAN)], 1, 4), ldpc(&[(1.0, -3.0), (1.0, f64::INFINITY)], 1, 4)]);
        let nothing = Ldpc { data_bits: 0, parity_bits: 0, limits: vec![], failure_at_limit: 0.0 };
        for decoder in decoders {
            let mut problems = Problems::default();
            decoder.problems("ecc.decoder", &mut problems);
            assert!(!problems.0.is_empty(), "{decoder:?}");
            for errors in [0, 1, u64::MAX] {
                decoder.time(&nothing, errors, u32::MAX);
                decoder.time(&Bch { data_bits: 8, t: 0 }, errors, 0);
                let time = decoder.time(&Ldpc::default(), errors, 0);
                assert!(matches!(decoder, Decoder::Bch(_)) || time <= Nanos(30_000), "{decoder:?}: {time:?}");
            }
        }
        let mut problems = Problems::default();
        Decoder::default().problems("ecc.decoder", &mut problems);
        Decoder::Ldpc(LdpcDecoder::default()).problems("ecc.decoder", &mut problems);
        Encoder::default().problems("ecc.encoder", &mut problems);
        assert_eq!(problems, Problems::default());
        assert_eq!(cycles_time(3, 2_000_000_000), Nanos(2), "a cycle and a half, rounded up");
    }
}
