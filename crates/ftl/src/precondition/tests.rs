//! A set-up ends soon after it is interrupted, whatever it is doing.

use super::*;
use crate::ftl::tests::small;
use crate::map::tests::geometry;

/// Returns an empty drive of four dies, a third of which is spare.
fn empty() -> Ftl {
    small(geometry(4, 2, 40, 8, 2), |config, parameters| {
        config.overprovisioning = 0.5;
        (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
        (parameters.facts.die_count, parameters.facts.units_per_program) = (4, 2);
    })
}

const STEADY: Preconditioned = Preconditioned { method: Precondition::Steady, age: Nanos(0), pe_cycles: 0 };

/// Returns the shares with which the progress is called until it answers false.
fn shares(until: &dyn Fn(f64) -> bool) -> (Vec<f64>, bool, ScaleModels) {
    let (mut ftl, models, mut told) = (empty(), ScaleModels::default(), Vec::new());
    let mut progress = |share| {
        told.push(share);
        !until(share)
    };
    let done = ftl.precondition(&STEADY, &models, &mut progress).expect("a small drive fits into memory");
    (told, done, models)
}

#[test]
fn the_progress_is_told_while_a_model_is_aged_within_a_die_and_between_phases() {
    let (told, done, models) = shares(&|_| false);
    assert!(done && models.len() == 1);
    let count = |of: &dyn Fn(f64) -> bool| told.iter().filter(|share| of(**share)).count();
    // The model; then each die has 40 blocks.
    assert!(count(&|share| share == 0.0) >= 2, "{told:?}");
    assert!(count(&|share| share > 0.0 && share < 0.25) >= 1, "{told:?}");
    assert!(count(&|share| share == 1.0) >= 4, "{told:?}");
}

#[test]
fn a_set_up_is_interrupted_at_any_of_its_parts() {
    let (told, done, models) = shares(&|_| true);
    assert_eq!((told.len(), done), (1, false));
    assert!(models.is_empty(), "the model is not kept half aged");
    let (told, done, _) = shares(&|share| share > 0.0);
    assert!(!done && told.last().is_some_and(|share| *share < 0.25), "{told:?}");
    let (told, done, _) = shares(&|share| share == 1.0);
    assert!(!done && told.iter().filter(|share| **share == 1.0).count() == 1, "{told:?}");
}
