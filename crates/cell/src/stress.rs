//! Effects of temperature and reads, and the variation between blocks and between layers.

use kit::{Nanos, rng::split_mix};

/// Boltzmann constant \[eV/K\].
const BOLTZMANN: f64 = 8.617e-5;
/// 0 degrees Celsius \[K\].
const KELVIN: f64 = 273.15;

/// Returns the factor by which data ages faster at `celsius` than at `reference_celsius` (Arrhenius; JESD218 gives 1.1
/// eV for planar cells: FACTS 6.3). Baking does not represent long retention on 3D NAND: there the extrapolation holds
/// for a planar cell only.
pub fn acceleration(activation_ev: f64, celsius: f64, reference_celsius: f64) -> f64 {
    libm::exp(activation_ev / BOLTZMANN * (1.0 / (reference_celsius + KELVIN) - 1.0 / (celsius + KELVIN)))
}

/// Returns the age at the reference temperature that causes the same loss: `age` scaled by `factor`, at most the 584
/// years that a [`Nanos`] holds.
pub fn equivalent_age(age: Nanos, factor: f64) -> Nanos {
    Nanos((age.0 as f64 * factor) as u64)
}

/// Error rate that each read of a block adds: `scale (N / 2000)^exponent` after N cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadDisturb {
    /// Error rate added by each read at 2,000 cycles.
    pub scale: f64,
    /// Exponent of wear.
    pub exponent: f64,
}

impl Default for ReadDisturb {
    /// Slopes of the DSN 2015 study, recalled (FACTS 6.2): 1.0e-9 at 2,000 cycles, 9.1e-9 at 10,000, 1.9e-8 at 15,000.
    /// The exponent is fitted to them and meets each within 10 %.
    fn default() -> Self {
        ReadDisturb { scale: 1.0e-9, exponent: 1.43 }
    }
}

impl ReadDisturb {
    /// Returns the error rate that `reads` reads add.
    pub fn error_rate(&self, pe_cycles: f64, reads: f64) -> f64 {
        self.scale * libm::pow(pe_cycles.max(0.0) / 2000.0, self.exponent) * reads.max(0.0)
    }
}

/// Variation of error rates from block to block and from layer to layer: log-normal factors with mean one, computed
/// from a hash so that no factor is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Standard deviation of the logarithm from block to block; 0.2 to 0.3 is assumed for pages (FACTS 5.2).
    pub block_sigma: f64,
    /// Standard deviation of the logarithm from layer to layer.
    pub layer_sigma: f64,
}

impl Variation {
    /// Returns the factor on the error rate of one layer of one block.
    pub fn factor(&self, seed: u64, block: u64, layer: u64) -> f64 {
        libm::exp(self.ln_of_block(seed, block) + self.ln_of_layer(seed, layer))
    }

    /// Returns the logarithm of the factor of a block.
    pub fn ln_of_block(&self, seed: u64, block: u64) -> f64 {
        self.block_sigma * normal_of(seed, 0x626c_6f63_6b00_0000, block) - 0.5 * self.block_sigma * self.block_sigma
    }

    /// Returns the logarithm of the factor of a layer, in every block.
    pub fn ln_of_layer(&self, seed: u64, layer: u64) -> f64 {
        self.layer_sigma * normal_of(seed, 0x6c61_7965_7200_0000, layer) - 0.5 * self.layer_sigma * self.layer_sigma
    }
}

/// Returns a standard normal value computed from a hash of the arguments.
fn normal_of(seed: u64, what: u64, index: u64) -> f64 {
    let mut state = seed ^ what.rotate_left(17) ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let radius = libm::sqrt(-2.0 * libm::log(unit(split_mix(&mut state))));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(split_mix(&mut state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acceleration factors of FACTS 6.3.
    #[test]
    fn heat_ages_as_the_standard_says() {
        for (from, to, expected) in [(30.0, 55.0, 24.7), (40.0, 55.0, 6.4), (25.0, 85.0, 1303.0)] {
            let found = acceleration(1.1, to, from);
            assert!((found / expected - 1.0).abs() < 0.01, "{from} -> {to}: {found}, not {expected}");
        }
        assert_eq!(acceleration(1.1, 40.0, 40.0), 1.0);
        // Ten hours of baking at 125 degrees Celsius equal 1.07 years at 55.
        let hours = acceleration(1.1, 125.0, 55.0) * 10.0;
        assert!((hours / 8766.0 - 1.07).abs() < 0.02, "{hours}");
        assert_eq!(equivalent_age(Nanos(u64::MAX), 1e9), Nanos(u64::MAX));
    }

    #[test]
    fn reads_disturb_worn_blocks_more() {
        let disturb = ReadDisturb::default();
        for (pe_cycles, expected) in [(2_000.0, 1.0e-9), (10_000.0, 9.1e-9), (15_000.0, 1.9e-8)] {
            let found = disturb.error_rate(pe_cycles, 1.0);
            assert!((found / expected - 1.0).abs() < 0.1, "{pe_cycles}: {found:e}");
        }
        assert_eq!(disturb.error_rate(0.0, 1e6), 0.0);
    }

    #[test]
    fn factors_are_log_normal_with_mean_one_and_the_same_each_time() {
        let variation = Variation { block_sigma: 0.25, layer_sigma: 0.1 };
        let count = 100_000;
        let factors: Vec<f64> = (0..count).map(|block| variation.factor(7, block, block % 64)).collect();
        let mean = factors.iter().sum::<f64>() / count as f64;
        let logs: Vec<f64> =
            (0..count).map(|block| libm::log(Variation { layer_sigma: 0.0, ..variation }.factor(7, block, 0))).collect();
        let centre = logs.iter().sum::<f64>() / count as f64;
        let deviation = (logs.iter().map(|x| (x - centre) * (x - centre)).sum::<f64>() / count as f64).sqrt();
        assert!((mean - 1.0).abs() < 0.03 && (deviation - 0.25).abs() < 0.003, "{mean} {deviation}");
        assert_eq!(variation.factor(7, 12, 3), variation.factor(7, 12, 3));
        assert_ne!(variation.factor(7, 12, 3), variation.factor(8, 12, 3));
        assert_eq!(Variation { block_sigma: 0.0, layer_sigma: 0.0 }.factor(1, 2, 3), 1.0);
    }
}
