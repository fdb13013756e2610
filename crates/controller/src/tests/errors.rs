//! Tests of the errors of stored data: counts against the binomial distribution, and independence of places.

use crate::errors::{Draw, ErrorConfig, Errors, Level, Rates};
use ecc::binomial::ln_probability;
use ecc::{Bch, BlockCode, Code, Ldpc};
use kit::Ppn;

/// Returns errors of one rate, and the level at which codewords are decoded with the limit of an index.
fn errors_at(code: &Code, rate: f64, read_noise: f64, limits: &[f64]) -> (Errors, impl Fn(usize) -> Level + use<>) {
    let mut errors = Errors::new(ErrorConfig {
        seed: 5,
        rates: vec![Rates::constant(&[rate])],
        read_noise,
        block_count: 1,
        rated_pe_cycles: 1000,
        codeword_bits: code.codeword_bits(),
        codewords_per_unit: 4,
        limits: limits.to_vec(),
        ..ErrorConfig::default()
    });
    let level = move |limit| Level::new(rate.ln(), limit as u8);
    errors.prepare(level(0).step);
    (errors, level)
}

/// Returns the next error rate whose distribution is computed: its logarithm is a multiple of 1/64, counted from 1e-18.
fn at_a_step(rate: f64) -> f64 {
    let least = 1e-18f64.ln();
    // A little more, so that rounding does not make it the step below.
    (least + ((rate.ln() - least) * 64.0).round() / 64.0 + 1e-9).exp()
}

fn codes() -> [(Code, u32); 3] {
    let bch = Code::Bch(Bch { data_bits: 8192, t: 24 });
    let strong = Code::Bch(Bch { data_bits: 32_768, t: 100 });
    [(bch, 0), (strong, 0), (Code::Ldpc(Ldpc { failure_at_limit: 1e-3, ..Ldpc::default() }), 2)]
}

/// Number of places, each with four codewords.
const PLACES: u32 = 260_000;

/// Asserts that `count` of `of` trials agree with a probability within three standard deviations.
#[track_caller]
fn assert_share(what: &str, count: u64, of: u64, probability: f64) {
    let (mean, of) = (of as f64 * probability, of as f64);
    let deviation = (mean * (1.0 - probability)).sqrt().max(1.0);
    let found = (count as f64 - mean) / deviation;
    assert!(found.abs() < 3.0, "{what}: {count} of {of}, expected {mean}: {found} standard deviations");
}

/// More than a million codewords at rates at which from one in a thousand to nearly all fail, at each limit of each
/// code.
#[test]
fn codewords_fail_as_often_as_the_binomial_says() {
    for (code, levels) in codes() {
        let limits: Vec<f64> = (0..=levels).map(|level| code.correctable(level)).collect();
        for share in [1e-3, 0.05, 0.5, 0.97] {
            let rate = code.limit(0, share);
            let (errors, level) = errors_at(&code, rate, 0.0, &limits);
            for (index, limit) in limits.iter().enumerate() {
                let draw = Draw { erase_count: 3, level: level(index), nonce: 0 };
                let fails = |place: u32| (0..4).filter(|&codeword| errors.read(Ppn(place), codeword, &draw).fails).count() as u64;
                let failed = (0..PLACES).map(fails).sum();
                let of = 4 * u64::from(PLACES);
                assert_share(&format!("{code:?} at {rate:e}, limit {limit}"), failed, of, code.failure(rate, index as u32));
            }
        }
    }
}

/// The number of errors is binomial, not only the share of failures: chi-square over the numbers that occur often.
#[test]
fn numbers_of_errors_are_binomial() {
    for (code, _) in codes() {
        let (rate, bits) = (at_a_step(code.limit(0, 1e-3)), code.codeword_bits());
        let (errors, level) = errors_at(&code, rate, 0.0, &[code.correctable(0)]);
        let draw = Draw { erase_count: 0, level: level(0), nonce: 0 };
        let mut counts = vec![0u64; code.correctable(0) as usize + 2];
        for codeword in 0..4 {
            (0..PLACES).for_each(|place| counts[errors.read(Ppn(place), codeword, &draw).errors as usize] += 1);
        }
        let all = 4.0 * f64::from(PLACES);
        let expected = |number: usize| all * ln_probability(bits, number as u64, rate).exp();
        let often: Vec<usize> = (0..counts.len() - 1).filter(|&number| expected(number) > 50.0).collect();
        let square = |&number: &usize| (counts[number] as f64 - expected(number)).powi(2) / expected(number);
        let (sum, freedom) = (often.iter().map(square).sum::<f64>(), often.len() as f64);
        assert!(freedom > 15.0 && (sum - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{code:?}: {sum} of {freedom}");
    }
}

/// Read noise changes the single read, but not the share of failures.
#[test]
fn read_noise_keeps_the_share_of_failures() {
    let code = Code::Bch(Bch { data_bits: 8192, t: 24 });
    // The noise is no normal value in its tails, so that with noise alone the share is exact in the middle only.
    for (share, noise) in [(0.05, 0.1), (0.5, 0.3), (0.5, 1.0)] {
        let rate = code.limit(0, share);
        let (errors, level) = errors_at(&code, rate, noise, &[24.0]);
        let read = |place: u32, codeword, nonce| {
            errors.read(Ppn(place), codeword, &Draw { erase_count: 0, level: level(0), nonce }).fails
        };
        let (mut failed, mut twice) = (0, 0);
        for place in 0..PLACES {
            for codeword in 0..4 {
                let first = read(place, codeword, 17);
                failed += u64::from(first);
                twice += u64::from(first && read(place, codeword, 18));
            }
        }
        assert_share(&format!("noise {noise}"), failed, 4 * u64::from(PLACES), code.failure(rate, 0));
        // All noise: the second read is independent. Little noise: it nearly always fails again.
        if noise == 1.0 {
            assert_share("again", twice, failed, code.failure(rate, 0));
        } else {
            let again = twice as f64 / failed as f64;
            assert!((0.75..1.0).contains(&again), "noise {noise}: {again}");
        }
    }
}

/// Neighbouring places, codewords and erase counts, and other seeds, have independent draws: among half of the
/// codewords that fail, the pairs that agree are half of all, for each distance.
#[test]
fn neighbours_are_independent() {
    let code = Code::Bch(Bch { data_bits: 32_768, t: 100 });
    // The share that fails is exact; it is near a half.
    let rate = code.limit(0, 0.5);
    let share = code.failure(rate, 0);
    let agree = share * share + (1.0 - share) * (1.0 - share);
    let (errors, level) = errors_at(&code, rate, 0.0, &[100.0]);
    let fails = |place: u32, codeword: u32, erase_count: u32| {
        errors.read(Ppn(place), codeword, &Draw { erase_count, level: level(0), nonce: 0 }).fails
    };
    let shifts: Vec<(u32, u32, u32)> = [1, 2, 3, 4, 7, 16, 64, 256, 1024, 65_536]
        .into_iter()
        .flat_map(|shift| [(shift, 0, 0), (0, shift, 0), (0, 0, shift)])
        .chain([(1, 1, 0), (1, 0, 1), (0, 1, 1)])
        // Codewords of a unit are few.
        .filter(|shift| shift.1 < 16)
        .collect();
    for (place, codeword, erase) in shifts {
        let pairs = 200_000;
        let same = (0..pairs).filter(|&at| fails(at, 0, 1) == fails(at + place, codeword, 1 + erase)).count() as u64;
        assert_share(&format!("shift {place}, {codeword}, {erase}"), same, u64::from(pairs), agree);
    }
}

/// The errors of a codeword keep their place in the distribution: at a higher rate no codeword has fewer errors, and
/// what a stronger limit cannot correct fails at a weaker one.
#[test]
fn a_codeword_keeps_its_place_in_the_distribution() {
    let code = Code::Bch(Bch { data_bits: 8192, t: 24 });
    let rates = [1e-3, 0.5].map(|share| errors_at(&code, code.limit(0, share), 0.0, &[12.0, 24.0]));
    let (mut told_apart, mut weaker) = (0, 0);
    for place in 0..20_000 {
        let [low, high] = [0, 1].map(|rate: usize| {
            let (errors, level) = &rates[rate];
            [0, 1].map(|limit| errors.read(Ppn(place), 1, &Draw { erase_count: 0, level: level(limit), nonce: 0 }))
        });
        assert!(low[0].fails >= low[1].fails && high[0].fails >= high[1].fails, "{place}: a stronger limit");
        assert!(high[1].fails >= low[1].fails && high[1].errors >= low[1].errors, "{place}: a higher rate");
        told_apart += u32::from(high[1].fails != low[1].fails);
        weaker += u32::from(low[0].fails != low[1].fails);
    }
    assert!(told_apart > 9000 && weaker > 1000, "{told_apart} {weaker}: both matter");
}
