//! Properties of the cell models, over random conditions.

use cell::voltage::{VoltageModel, nominal};
use cell::{Condition, Device, Technology};
use kit::Nanos;
use proptest::prelude::*;

/// Relative differences below this value are rounding, or one step of the grid.
const ROUNDING: f64 = 5e-4;

fn models() -> impl Strategy<Value = VoltageModel> {
    let verify = prop_oneof![
        Just(vec![2.8]),
        Just(vec![2.944, 3.776, 4.794]),
        Just(vec![2.647, 3.039, 3.480, 3.854, 4.323, 4.772, 5.284]),
    ];
    (verify, any::<bool>()).prop_map(|(verify, post_compensation)| VoltageModel { verify, post_compensation, ..nominal() })
}

prop_compose! {
    fn conditions()(step in 0.02f64..0.7, pe in 0.0f64..25_000.0, hours in 0u64..90_000, erase_shift in 0.0f64..0.4) -> Condition {
        Condition { step, pe_cycles: pe, age: Nanos(hours * 3_600_000_000_000), erase_shift, reads: 0.0 }
    }
}

fn device(model: VoltageModel) -> Device {
    Device {
        disturb: Some(cell::stress::ReadDisturb::default()),
        nominal_step: 0.2,
        ..Device::of(Technology::Voltage(model), 10_000)
    }
}

/// Returns the fraction of cells misread at the boundary between two neighbouring levels, at its best reference.
fn confused(model: &VoltageModel, condition: &Condition, boundary: usize) -> f64 {
    let levels = model.levels(condition, 0.004);
    let (_, above) = levels[boundary].tails();
    let (below, _) = levels[boundary + 1].tails();
    above.iter().zip(&below).map(|(above, below)| above + below).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        // A fixed seed, so that every run tests the same cases.
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_261_121),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_distribution_integrates_to_one(model in models(), condition in conditions()) {
        for level in model.levels(&condition, 0.008) {
            prop_assert!((level.total() - 1.0).abs() < 1e-9, "{}", level.total());
        }
    }

    #[test]
    fn error_rates_rise_with_wear_age_and_reads(model in models(), condition in conditions()) {
        let device = device(model);
        let pages = |condition: &Condition| device.estimate(condition).pages;
        let here = pages(&condition);
        for worse in [
            Condition { pe_cycles: condition.pe_cycles * 1.3 + 100.0, ..condition },
            Condition { age: Nanos(condition.age.0 * 2 + 3_600_000_000_000), ..condition },
            Condition { reads: 1e5, ..condition },
        ] {
            for (worse, here) in pages(&worse).iter().zip(&here) {
                prop_assert!(worse.is_finite() && *worse >= here * (1.0 - ROUNDING) - 1e-12, "{worse:e} after {here:e}");
            }
        }
    }

    /// Between programmed levels a wider step misreads more cells; next to the erased state it may not (FACTS 1.3).
    #[test]
    fn a_wider_step_confuses_programmed_levels_more(condition in conditions()) {
        let model = nominal();
        let wider = Condition { step: condition.step * 1.2, ..condition };
        for boundary in [1, 2] {
            let (here, worse) = (confused(&model, &condition, boundary), confused(&model, &wider, boundary));
            prop_assert!(worse >= here * (1.0 - ROUNDING) - 1e-12, "boundary {boundary}: {worse:e} after {here:e}");
        }
    }

    #[test]
    fn extremes_give_numbers(
        step in prop_oneof![Just(1e-4), Just(0.2), Just(1.5)],
        pe_cycles in prop_oneof![Just(0.0), Just(1e-3), Just(1e7)],
        age in prop_oneof![Just(0u64), Just(1), Just(u64::MAX)],
        reads in prop_oneof![Just(0.0), Just(1e12)],
        erase_shift in prop_oneof![Just(0.0), Just(1.5)],
    ) {
        let estimate = device(nominal()).estimate(&Condition { step, erase_shift, pe_cycles, age: Nanos(age), reads });
        prop_assert!(estimate.pages.iter().all(|rate| (0.0..=0.500_001).contains(rate)), "{estimate:?}");
    }
}
