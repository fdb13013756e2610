//! Tests of the oracle: it must notice falsified records, because a check that cannot fail proves nothing.

use testkit::canary::{Forger, Forgery};
use testkit::case::{self, Beside, Detail};
use testkit::describe::Layer;

/// Number of cases in which each forgery is applied.
const STRIKES: u32 = 20;

/// Applies a forgery in cases of these seeds. Returns the number of cases in which it was applied, and in which it was
/// caught.
fn strike(forgery: Forgery, detail: Detail, seeds: impl Iterator<Item = u64>) -> (u32, u32) {
    let (mut struck, mut caught) = (0, 0);
    for seed in seeds {
        if struck == STRIKES {
            break;
        }
        let mut forger = Forger::new(forgery, seed, 40);
        let outcome = case::run(seed, detail, 150, Some(&mut |record, to| forger.pass(record, to)));
        if forger.struck {
            struck += 1;
            caught += u32::from(outcome.is_err());
        }
    }
    (struck, caught)
}

#[test]
fn every_forgery_is_caught() {
    // Only zones and chunks are reset.
    for &forgery in Forgery::ALL.iter().filter(|forgery| **forgery != Forgery::DropReset) {
        let (struck, caught) = strike(forgery, Detail::None, 0..5000);
        let least = forgery.min_share_caught(None).expect("a map tells all") * f64::from(struck);
        assert!(struck == STRIKES && f64::from(caught) >= least, "{forgery:?}: applied in {struck} cases, caught in {caught}");
    }
}

#[test]
fn every_forgery_is_caught_over_all_layers() {
    for layer in Layer::ALL {
        let mut applied = 0;
        for &forgery in Forgery::ALL {
            let Some(share) = forgery.min_share_caught(Some(layer)) else { continue };
            let seeds = (0..20_000).filter(|seed| case::layer_of(*seed, Beside::Nothing) == layer).take(150);
            let (struck, caught) = strike(forgery, Detail::Layer(Beside::Nothing), seeds);
            applied += u32::from(struck >= STRIKES / 4);
            let least = share * f64::from(struck);
            assert!(f64::from(caught) >= least, "{layer:?}, {forgery:?}: applied in {struck} cases, caught in {caught}");
        }
        assert!(applied >= 8, "{layer:?}: only {applied} forgeries apply");
    }
}

#[test]
fn an_honest_messenger_is_believed() {
    for seed in 0..50 {
        for detail in [Detail::None, Detail::Layer(Beside::Nothing)] {
            let outcome = case::run(seed, detail, 150, Some(&mut |record, to| to.push(record)));
            assert!(outcome.is_ok(), "seed {seed}");
        }
    }
}
