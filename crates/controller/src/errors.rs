//! Errors of stored data: the number of errors of each codeword that a read delivers.
//!
//! Errors belong to the data, not to the read. Each stored codeword has a quantile, a standard normal value from a hash
//! of seed, place, erase count and codeword. Every read of it takes that quantile at its own error rate, with a small
//! disturbance for read noise: a repeated read at the same levels fails again, and a read at better levels succeeds if
//! its rate allows it. The number of errors is exactly binomial at the error rate, apart from the
//! disturbance, which is a sum of four uniform values instead of a normal one.
//!
//! Distributions are computed for error rates whose logarithms are multiples of 1/64. In between, the limit of what can
//! be decoded is interpolated, and the number of errors shifted. Ages (with an hour added) are rounded down to eleven
//! significant bits, numbers of reads to the next multiple of 16, and to five significant bits.

use cell::ErrorTable;
use ecc::Quantiles;
use ecc::quantile::{NormalTable, failure_quantile};
use kit::rng::split_mix;
use kit::{BlockId, ModeId, Nanos, Ppn, Stored, effective_wear_class};
use std::sync::Arc;

/// Number of wear classes by which reads are counted: sixteenths of the rated endurance.
pub const WEAR_CLASSES: usize = 16;
/// Steps of the logarithm of an error rate.
const STEPS: f64 = 64.0;
/// Logarithm of the lowest error rate that is told apart from zero: 1e-18.
const LN_LEAST: f64 = -41.446_531_673_892_82;
/// Step of the highest error rate, one half.
const LAST: i32 = ((-std::f64::consts::LN_2 - LN_LEAST) * STEPS) as i32 + 1;

/// Error rates of the data of one write mode.
#[derive(Clone, Debug)]
pub enum Rates {
    /// By wear, age and reads.
    Table(Arc<ErrorTable>),
    /// Logarithms of constant rates by page type.
    Constant(Vec<f64>),
}

impl Rates {
    /// Returns constant rates.
    pub fn constant(rates: &[f64]) -> Rates {
        Rates::Constant(rates.iter().map(|rate| libm::log(*rate)).collect())
    }

    #[inline]
    fn ln_rate(&self, stored: &Stored, page_type: usize) -> f64 {
        match self {
            Rates::Table(table) => {
                table.ln_rate(page_type, f64::from(stored.wear_thousandths) / 1000.0, stored.age, f64::from(stored.reads))
            }
            Rates::Constant(rates) => rates[page_type % rates.len()],
        }
    }
}

/// Description of the errors of a drive.
#[derive(Clone, Debug, Default)]
pub struct ErrorConfig {
    /// Seed of the drive.
    pub seed: u64,
    /// Error rates by write mode.
    pub rates: Vec<Rates>,
    /// Share of the spread of errors that each read draws anew.
    pub read_noise: f64,
    /// Logarithms of the factors on the error rate, by block; empty: none.
    pub blocks: Vec<f32>,
    /// Logarithms of the factors on the error rate, by row of pages in a block; empty: none.
    pub rows: Vec<f32>,
    /// Number of blocks.
    pub block_count: u32,
    /// Rated program and erase cycles, by which wear classes are counted.
    pub rated_pe_cycles: u32,
    /// Bits of a codeword, data and parity.
    pub codeword_bits: u64,
    /// Codewords of a mapping unit.
    pub codewords_per_unit: u32,
    /// Numbers of errors beyond which decoding fails, ascending. A limit is referred to by its index.
    pub limits: Vec<f64>,
}

/// Distribution of errors at one error rate.
struct Row {
    errors: Quantiles,
    /// Normal value beyond which decoding fails, by limit, and its change to the next step.
    fails: Box<[(f64, f64)]>,
}

/// Error rate and limit with which a codeword is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Step of the error rate at or below that of the data.
    pub step: u32,
    /// Part of the way from that step to the next one.
    pub part: f64,
    /// Index of the limit beyond which decoding fails.
    pub limit: u8,
}

impl Level {
    /// Returns the level of an error rate, given by its logarithm, and a limit. A rate of zero has the first step.
    #[inline]
    pub fn new(ln_rate: f64, limit: u8) -> Level {
        let place = ((ln_rate - LN_LEAST) * STEPS).clamp(0.0, f64::from(LAST));
        let step = place as u32;
        Level { step, part: place - f64::from(step), limit }
    }
}

/// Circumstances in which the codewords of a read are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Erase count of the block.
    pub erase_count: u32,
    /// Error rate and limit.
    pub level: Level,
    /// Number that tells the reads of the same data apart.
    pub nonce: u64,
}

/// Result of reading a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codeword {
    /// Number of errors; at most one more than the highest limit.
    pub errors: u32,
    /// True if it cannot be decoded.
    pub fails: bool,
}

/// Logarithms of the error rates of the data in a block, and the condition for which they hold.
// Half a cache line: every read loads what is known of a block.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Known {
    /// Rounded age ([`RoundedAge::code`]); zero if nothing is known.
    age: u32,
    /// Rounded number of reads.
    reads: u32,
    erase_count: u32,
    mode: ModeId,
    /// Page types whose rate is known, as bits.
    pages: u8,
    /// Wear class.
    class: u8,
    /// By page type.
    ln_rates: [f32; 4],
}

const _: () = assert!(size_of::<Known>() == 32);

/// The errors of a drive's stored data.
pub struct Errors {
    config: ErrorConfig,
    normal: &'static NormalTable,
    /// Share of the stored quantile, so that the sum with the noise has a variance of one.
    own: f64,
    /// Factor on the sum of four uniform values that disturbs a quantile.
    noise: f64,
    /// Distributions by step of the error rate, each computed at its first use.
    rows: Vec<Option<Box<Row>>>,
    /// Error rates by block, each computed when it is needed and its condition has changed.
    known: Vec<Known>,
}

/// Nanoseconds of an hour, which is added to ages before they are rounded.
const HOUR_NS: u64 = 3_600_000_000_000;

/// An age with an hour added, rounded down to eleven significant bits.
#[derive(Clone, Copy)]
struct RoundedAge {
    bits: u32,
    shift: u32,
}

impl RoundedAge {
    #[inline]
    fn of(age: Nanos) -> RoundedAge {
        let age = age.0.saturating_add(HOUR_NS);
        let shift = 53 - age.leading_zeros();
        RoundedAge { bits: (age >> shift) as u32, shift }
    }

    /// Returns a number that tells the age from others, and is not zero.
    #[inline]
    fn code(self) -> u32 {
        self.bits | self.shift << 16
    }

    /// Returns the age, without the hour.
    fn age(self) -> Nanos {
        Nanos((u64::from(self.bits) << self.shift).saturating_sub(HOUR_NS))
    }
}

/// Rounds a number of reads to the nearest multiple of 16, and to five significant bits.
#[inline]
fn rounded_reads(reads: u32) -> u32 {
    let step = 16.max(1 << (27 - reads.leading_zeros().min(27)));
    reads.saturating_add(step / 2) & !(step - 1)
}

impl Errors {
    /// Returns the errors of a validated description.
    pub fn new(config: ErrorConfig) -> Errors {
        let own = libm::sqrt((1.0 - config.read_noise * config.read_noise).max(0.0));
        Errors {
            own,
            normal: NormalTable::get(),
            // The sum of four uniform values has a variance of a third.
            noise: config.read_noise * libm::sqrt(3.0),
            rows: (0..=LAST).map(|_| None).collect(),
            known: vec![Known::default(); config.block_count as usize],
            config,
        }
    }

    /// Returns the number of codewords of a mapping unit.
    pub fn codewords_per_unit(&self) -> u32 {
        self.config.codewords_per_unit
    }

    /// Returns true if the error rate depends on the row of pages in the block.
    #[inline]
    pub fn differ_by_row(&self) -> bool {
        !self.config.rows.is_empty()
    }

    /// Prefetches what is known of a block.
    #[inline]
    pub fn look_ahead(&self, block: BlockId) -> u32 {
        self.known[block.index()].age
    }

    /// Returns the logarithm of the error rate of data in a page of this type and row of pages, and the wear
    /// class of the block.
    #[inline(always)]
    pub fn ln_rate(&mut self, stored: &Stored, page_type: u32, row: u32) -> (f64, u8) {
        let (age, reads) = (RoundedAge::of(stored.age), rounded_reads(stored.reads));
        let (page, known) = (page_type as usize % 4, &self.known[stored.block.index()]);
        let holds = known.age == age.code()
            && known.reads == reads
            && known.erase_count == stored.erase_count
            && known.mode == stored.mode
            && known.pages >> page & 1 == 1;
        if !holds {
            self.learn(stored, age, reads, page_type);
        }
        let known = &self.known[stored.block.index()];
        let spread = self.config.rows.get(row as usize).copied().unwrap_or(0.0);
        (f64::from(known.ln_rates[page] + spread), known.class)
    }

    #[inline(never)]
    fn learn(&mut self, stored: &Stored, rounded: RoundedAge, reads: u32, page_type: u32) {
        let age = rounded.code();
        let rounded = Stored { age: rounded.age(), reads, ..*stored };
        let rate = self.config.rates[stored.mode.index()].ln_rate(&rounded, page_type as usize);
        let spread = self.config.blocks.get(stored.block.index()).copied().unwrap_or(0.0);
        let known = &mut self.known[stored.block.index()];
        let (erase_count, mode) = (stored.erase_count, stored.mode);
        if (known.age, known.reads, known.erase_count, known.mode) != (age, reads, erase_count, mode) {
            let class = effective_wear_class(stored.wear_thousandths, self.config.rated_pe_cycles, WEAR_CLASSES) as u8;
            *known = Known { age, reads, erase_count, mode, class, ..Known::default() };
        }
        known.pages |= 1 << (page_type % 4);
        known.ln_rates[page_type as usize % 4] = rate as f32 + spread;
    }

    /// Computes the distribution at a step, unless it is known.
    #[inline]
    pub fn prepare(&mut self, step: u32) {
        if self.rows[step as usize].is_none() {
            self.add_row(step);
        }
    }

    #[cold]
    fn add_row(&mut self, step: u32) {
        let rate_at = |step: u32| if step == 0 { 0.0 } else { libm::exp(LN_LEAST + f64::from(step) / STEPS).min(0.5) };
        let (rate, next) = (rate_at(step), rate_at(step + 1));
        let ErrorConfig { codeword_bits: bits, limits, .. } = &self.config;
        let most = limits.last().map_or(0, |limit| *limit as u64);
        let fails = limits.iter().map(|&limit| {
            let (here, there) = (failure_quantile(*bits, limit, rate), failure_quantile(*bits, limit, next));
            // Where nothing fails, or everything, there is nothing to interpolate.
            let way = there - here;
            (here, if way.is_finite() { way } else { 0.0 })
        });
        let fails = fails.collect();
        self.rows[step as usize] = Some(Box::new(Row { errors: Quantiles::new(*bits, rate, most), fails }));
    }

    /// Reads a stored codeword of the unit at a place. The step of the error rate must have been prepared.
    pub fn read(&self, place: Ppn, codeword: u32, draw: &Draw) -> Codeword {
        let row = self.rows[draw.level.step as usize].as_ref().expect("prepared");
        self.read_at(row, place, codeword, draw)
    }

    /// Reads the stored codeword of a unit that is a single one, if the step of the error rate has been prepared.
    #[inline(always)]
    pub fn read_if_prepared(&self, place: Ppn, draw: &Draw) -> Option<Codeword> {
        self.rows[draw.level.step as usize].as_ref().map(|row| self.read_at(row, place, 0, draw))
    }

    #[inline(always)]
    fn read_at(&self, row: &Row, place: Ppn, codeword: u32, draw: &Draw) -> Codeword {
        let &Draw { erase_count, level, nonce } = draw;
        // The place names the block, too.
        let place = (u64::from(place.0) << 16 | u64::from(codeword)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut state = self.config.seed ^ u64::from(erase_count).wrapping_mul(0xa076_1d64_78bd_642f) ^ place;
        let mut z = self.own * self.normal.quantile(unit_of(split_mix(&mut state)));
        if self.config.read_noise > 0.0 {
            state ^= nonce.wrapping_mul(0xe703_7ed1_a0b4_28db);
            let bits = split_mix(&mut state);
            let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
            z += self.noise * (sum as f64 / 65_535.0 - 2.0);
        }
        let (here, way) = row.fails[usize::from(level.limit)];
        let fails = z > here + way * level.part;
        Codeword { errors: row.errors.errors_at(z, level.part / STEPS), fails }
    }
}

/// Returns a number between 0 and 1, exclusive, from random bits.
#[inline]
fn unit_of(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}
