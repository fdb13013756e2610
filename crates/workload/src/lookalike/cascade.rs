//! Arrival times from a cascade of counts, fitted so that the counts disperse as measured at every time scale.
//!
//! The widest windows have the measured numbers of requests. Each window is halved repeatedly; of its `n` requests, a
//! random number falls into the first half. The unevenness is measured for each level and each class of `n`: if `c` is
//! the correlation between the halves into which two requests of a window fall, the variance of the difference between
//! the halves is `n + c n (n - 1)`. The second moments of the counts, and with them the index of dispersion, are
//! therefore those of the trace on all dyadic scales at once, from bursts of microseconds to the slow variation of the
//! load. (This is a beta-binomial form of the multifractal wavelet model: Riedi, Crouse, Ribeiro, Baraniuk, "A
//! multifractal wavelet model with application to network traffic", IEEE Trans. Inf. Theory 45(3), 1999.)
//!
//! Known errors: the borders of the windows lie on a fixed grid; the two halves are statistically symmetric; the
//! windows of a pass follow each other in random order, so that the order of the load beyond the widest window is lost.

use super::model::Arrival;
use super::quantiles::rounded;
use kit::{Nanos, Rng, SimTime};

/// Classes of windows by their number of requests: bounds, both included.
const CLASSES: [(u64, u64); 4] = [(2, 3), (4, 15), (16, 127), (128, u64::MAX)];
/// Number of widest windows of a fit.
const WINDOWS: u64 = 16;
/// Minimum width of the narrowest window \[ns\].
const LEAF_NS: u64 = 128;

fn class(count: u64) -> usize {
    CLASSES.iter().position(|(low, high)| (*low..=*high).contains(&count)).unwrap_or(0)
}

/// Fits the cascade to sorted arrival times \[ns\], of which there must be at least one.
pub fn fit(times: &[u64]) -> Arrival {
    let (first, last) = (times[0], times[times.len() - 1]);
    let window = ((last - first) / WINDOWS + 1).max(LEAF_NS);
    let levels = (window / LEAF_NS).ilog2();
    let mut sums = vec![[Moments::default(); 4]; levels as usize];
    let mut windows = Vec::new();
    let mut rest = times;
    for index in 0..WINDOWS {
        let end = first + (index + 1) * window;
        let (inside, after) = rest.split_at(rest.partition_point(|time| *time < end));
        windows.push(inside.len() as u64);
        measure(inside, (end - window, window), 0, &mut sums);
        rest = after;
    }
    while windows.len() > 1 && windows.last() == Some(&0) {
        windows.pop();
    }
    let halves = sums.iter().map(|classes| classes.iter().map(|moments| rounded(moments.correlation())).collect()).collect();
    Arrival { window: Nanos(window), windows, halves }
}

#[derive(Clone, Copy, Default)]
struct Moments {
    requests: f64,
    pairs: f64,
    squares: f64,
}

impl Moments {
    /// Returns the correlation `c`, from `sum (first - second)^2 = sum n + c sum n (n - 1)`.
    fn correlation(&self) -> f64 {
        if self.pairs > 0.0 { ((self.squares - self.requests) / self.pairs).clamp(-1.0, 1.0) } else { 0.0 }
    }
}

/// Adds a window (start and width) and, recursively, its halves to the sums.
fn measure(times: &[u64], (start, width): (u64, u64), level: usize, sums: &mut [[Moments; 4]]) {
    if times.len() < 2 || level == sums.len() {
        return;
    }
    let middle = start + width / 2;
    let (left, right) = times.split_at(times.partition_point(|time| *time < middle));
    let count = times.len() as f64;
    let moments = &mut sums[level][class(times.len() as u64)];
    moments.requests += count;
    moments.pairs += count * (count - 1.0);
    moments.squares += (left.len() as f64 - right.len() as f64) * (left.len() as f64 - right.len() as f64);
    measure(left, (start, width / 2), level + 1, sums);
    measure(right, (middle, width - width / 2), level + 1, sums);
}

#[derive(Clone, Copy)]
struct Part {
    start: u64,
    width: u64,
    level: usize,
    count: u64,
}

/// Endless source of arrival times.
pub struct Cascade {
    window: u64,
    windows: Vec<u64>,
    halves: Vec<[f64; 4]>,
    speed: f64,
    rng: Rng,
    order: Vec<usize>,
    next_start: u64,
    // Windows still to be opened, depth first: at most one more than there are levels, which bounds the memory.
    parts: Vec<Part>,
    pending: u64,
    pending_at: u64,
}

impl Cascade {
    /// Returns the arrivals of `model` with the rate scaled by `speed`; at least one window must have a request.
    pub fn new(model: &Arrival, speed: f64, rng: Rng) -> Cascade {
        let halves = model.halves.iter().map(|row| [0, 1, 2, 3].map(|class| row.get(class).copied().unwrap_or(0.0))).collect();
        Cascade {
            window: model.window.0,
            windows: model.windows.clone(),
            halves,
            speed,
            rng,
            order: Vec::new(),
            next_start: 0,
            parts: Vec::new(),
            pending: 0,
            pending_at: 0,
        }
    }

    /// Returns the next arrival.
    pub fn next(&mut self) -> SimTime {
        while self.pending == 0 {
            match self.parts.pop() {
                Some(part) => self.open(part),
                None => self.widest(),
            }
        }
        self.pending -= 1;
        SimTime((self.pending_at as f64 / self.speed) as u64)
    }

    /// Pushes the next of the widest windows; starts a new random order once all are used.
    fn widest(&mut self) {
        if self.order.is_empty() {
            self.order = (0..self.windows.len()).collect();
            for last in (1..self.order.len()).rev() {
                self.order.swap(last, self.rng.below(last as u64 + 1) as usize);
            }
        }
        let index = self.order.pop().expect("refilled above");
        self.parts.push(Part { start: self.next_start, width: self.window, level: 0, count: self.windows[index] });
        self.next_start = self.next_start.saturating_add(self.window);
    }

    fn open(&mut self, part: Part) {
        let width = part.width;
        match part.count {
            0 => {}
            1 => (self.pending, self.pending_at) = (1, part.start.saturating_add(self.rng.below(width.max(1)))),
            count if part.level == self.halves.len() => (self.pending, self.pending_at) = (count, part.start),
            count => {
                let left = split(count, self.halves[part.level][class(count)], &mut self.rng);
                let level = part.level + 1;
                self.parts.push(Part {
                    start: part.start.saturating_add(width / 2),
                    width: width - width / 2,
                    level,
                    count: count - left,
                });
                self.parts.push(Part { start: part.start, width: width / 2, level, count: left });
            }
        }
    }
}

/// Draws the number of `count` requests that fall into the first half; `correlation` is that between the halves of two
/// requests.
fn split(count: u64, correlation: f64, rng: &mut Rng) -> u64 {
    if correlation <= 0.0 {
        // More even than chance: only some of the requests choose a half at random, the others are divided evenly.
        let free = (count as f64 * (1.0 + correlation * (count as f64 - 1.0)).max(0.0)).max(0.0);
        let free = (libm::floor(free + rng.unit()) as u64).min(count);
        let free = if (count - free) % 2 == 1 { free + 1 } else { free };
        return (count - free) / 2 + binomial(free, 0.5, rng);
    }
    if correlation >= 0.999 {
        return if rng.chance(0.5) { count } else { 0 };
    }
    let shape = (1.0 / correlation - 1.0) / 2.0;
    if count > 64 {
        return binomial(count, symmetric_beta(shape, rng), rng);
    }
    // Polya's urn: each half is chosen in proportion to the requests that it already has plus `shape`.
    let mut left = 0;
    for drawn in 0..count {
        left += u64::from(rng.unit() * (2.0 * shape + drawn as f64) < shape + left as f64);
    }
    left
}

/// Draws the number of successes in `count` trials: exact up to 64 trials; beyond, from a normal approximation, or a
/// Poisson approximation if successes or failures are few.
fn binomial(count: u64, probability: f64, rng: &mut Rng) -> u64 {
    if count <= 64 {
        return (0..count).map(|_| u64::from(rng.unit() < probability)).sum();
    }
    let mean = count as f64 * probability;
    let rarer = mean.min(count as f64 - mean);
    if rarer < 20.0 {
        let mut hits = 0u64;
        let mut left = rarer - rng.exponential(1.0);
        while left > 0.0 && hits < count {
            hits += 1;
            left -= rng.exponential(1.0);
        }
        return if mean <= rarer { hits } else { count - hits };
    }
    let drawn = mean + rng.normal() * libm::sqrt(mean * (1.0 - probability));
    libm::round(drawn).clamp(0.0, count as f64) as u64
}

/// Draws a variate of Beta(shape, shape).
fn symmetric_beta(shape: f64, rng: &mut Rng) -> f64 {
    let (left, right) = (gamma(shape, rng), gamma(shape, rng));
    if left + right > 0.0 { left / (left + right) } else { f64::from(u8::from(rng.chance(0.5))) }
}

/// Draws a variate of Gamma(shape, 1) (Marsaglia and Tsang, ACM TOMS 26(3), 2000).
fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, rng) * libm::pow(1.0 - rng.unit(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = rng.normal();
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v > 0.0 && libm::log(1.0 - rng.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_variance_that_was_asked_for() {
        let mut rng = Rng::stream(2, "split");
        for count in [2u64, 3, 10, 60, 65, 1000] {
            for correlation in [-0.5, -0.005, 0.0, 0.01, 0.2, 0.7, 1.0] {
                let draws = 40_000;
                let (mut mean, mut square) = (0.0, 0.0);
                for _ in 0..draws {
                    let left = split(count, correlation, &mut rng);
                    assert!(left <= count);
                    let difference = 2.0 * left as f64 - count as f64;
                    mean += difference / f64::from(draws);
                    square += difference * difference / f64::from(draws);
                }
                let n = count as f64;
                let expected = (n + correlation * n * (n - 1.0)).max(0.0);
                let parity = if correlation < 0.0 { 1.2 } else { 0.0 };
                assert!(
                    (square - expected).abs() < 0.06 * expected + parity,
                    "{count} at {correlation}: {square} against {expected}"
                );
                assert!(mean.abs() < 0.03 * n, "{count} at {correlation}: mean {mean}");
            }
        }
    }
}
