//! Pools of decoders against the queue M/D/c.

use crate::decoder::{Decoders, StageTable};
use crate::ecc::Sharing;
use crate::errors::Codeword;
use ecc::Engine;
use kit::{Nanos, Rng, SimTime};

/// Time of decoding a codeword \[ns\].
const TIME: u64 = 10_000;

/// Returns the probability that a Poisson variable of this mean is at least `least`.
fn poisson_tail(mean: f64, least: u64) -> f64 {
    let term = |count: u64| (count as f64 * mean.ln() - mean - libm::lgamma(count as f64 + 1.0)).exp();
    let end = least.max(mean as u64) + 40 + (20.0 * mean.sqrt()) as u64;
    (least..=end).rev().map(term).sum()
}

/// Returns the mean wait of M/D/c in service times at an offered load of `load` servers (Crommelin 1932).
fn crommelin(servers: u64, load: f64) -> f64 {
    let term = |turn: u64| {
        let mean = turn as f64 * load;
        poisson_tail(mean, turn * servers) - servers as f64 / load * poisson_tail(mean, turn * servers + 1)
    };
    (1..1000).map(term).sum()
}

#[test]
fn the_formula_is_that_of_one_server() {
    for load in [0.1, 0.5, 0.8] {
        // Pollaczek and Khinchine.
        let exact = load / (2.0 * (1.0 - load));
        assert!((crommelin(1, load) / exact - 1.0).abs() < 1e-6, "{load}: {}", crommelin(1, load));
    }
}

/// Returns the mean wait of codewords \[service times\] that arrive at random, and the share of time in which a decoder
/// is busy. Each codeword starts in the decoder that becomes free first, by an account kept beside the decoders.
fn simulated(servers: u32, load: f64) -> (f64, f64) {
    let engine = Engine { decoders: servers, ..Engine::default() };
    let mut decoders = Decoders::new(&engine, Sharing::Drive, 3, StageTable::fixed(Nanos(TIME), &[(8.0, 0)]));
    let (mut rng, arrivals) = (Rng::stream(11, "arrivals"), 4_000_000);
    let mut free = vec![0u64; servers as usize];
    let (mut time, mut waited) = (0.0, 0u64);
    for number in 0..arrivals {
        time -= TIME as f64 / load * (1.0 - rng.unit()).ln();
        let now = time as u64;
        let codeword = Codeword { errors: number % 10, fails: number % 10 > 8 };
        let decoded = decoders.accept(number % 3, (SimTime(now), SimTime(now)), 0, &codeword);
        let first = free.iter_mut().min().expect("a server");
        *first = now.max(*first) + TIME;
        assert_eq!((decoded.at, decoded.alone), (SimTime(*first), Nanos(TIME)), "codeword {number}");
        waited += decoded.at.0 - now - TIME;
    }
    let busy: u64 = decoders.busy(SimTime(time as u64)).iter().sum();
    (waited as f64 / f64::from(arrivals) / TIME as f64, busy as f64 / time / f64::from(servers))
}

#[test]
fn waits_for_decoders_are_those_of_constant_service() {
    for servers in [1, 2, 4] {
        for utilisation in [0.3, 0.6, 0.8] {
            let load = utilisation * f64::from(servers);
            let (wait, busy) = simulated(servers, load);
            let exact = crommelin(u64::from(servers), load);
            assert!((wait / exact - 1.0).abs() < 0.01, "{servers} at {utilisation}: {wait}, not {exact}");
            assert!((busy / utilisation - 1.0).abs() < 0.002, "{servers} at {utilisation}: busy {busy}");
        }
    }
}
