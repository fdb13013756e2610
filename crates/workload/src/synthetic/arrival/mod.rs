//! Family of arrival processes for open-loop jobs.
//!
//! A member is one file with its parameters (the payload of [`Config`]), its implementation of [`Arrivals`] and its
//! tests, and one line in the list below.

use kit::Rng;

pub mod constant;
pub mod lognormal;
pub mod on_off;
pub mod poisson;

/// Arrival process: gaps between successive arrivals \[ns\], rounded to the nearest nanosecond.
///
/// The sequence of gaps does not depend on the lengths of the slices that are filled. The process owns its random
/// stream.
pub trait Arrivals: Send {
    /// Fills `gaps_ns` with the next gaps.
    fn fill(&mut self, gaps_ns: &mut [u64]);

    /// Returns the mean gap that the parameters imply \[ns\].
    fn mean_ns(&self) -> f64;
}

kit::family! {
    /// The arrival process of an open-loop job: a bare name, or a table with `kind` and the member's parameters.
    Config: Rng => dyn Arrivals {
        Constant = constant,
        Poisson = poisson,
        OnOff = on_off,
        Lognormal = lognormal,
    }
}

/// Rounds a gap to whole nanoseconds.
fn whole(gap_ns: f64) -> u64 {
    libm::round(gap_ns) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_reproducible_cuts_anywhere_and_keeps_its_mean() {
        for name in Config::NAMES {
            let config = Config::named(name).expect("a listed member");
            assert_eq!(config.name(), *name);
            let draw = |cut: usize| {
                let mut process = config.build(Rng::stream(3, "arrival"));
                let mut gaps = vec![0u64; 300_000];
                gaps.chunks_mut(cut).for_each(|part| process.fill(part));
                (gaps, process.mean_ns())
            };
            let (gaps, promised) = draw(64);
            assert_eq!(gaps, draw(7).0, "{name}");
            let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
            assert!((mean / promised - 1.0).abs() < 0.05, "{name}: mean {mean}, promised {promised}");
        }
    }
}
