//! Tests of the oracle: it must notice falsified records, because a check that cannot fail proves nothing.

use testkit::canary::{Forger, Forgery};
use testkit::case::{self, Detail};

/// Number of cases in which each forgery is applied.
const STRIKES: u32 = 20;

#[test]
fn every_forgery_is_caught() {
    for &forgery in Forgery::ALL {
        let (mut struck, mut caught) = (0, 0);
        for seed in 0..5000 {
            if struck == STRIKES {
                break;
            }
            let mut forger = Forger::new(forgery, seed, 40);
            let outcome = case::run(seed, Detail::None, 150, Some(&mut |record, to| forger.pass(record, to)));
            if forger.struck {
                struck += 1;
                caught += u32::from(outcome.is_err());
            }
        }
        let least = if forgery.is_always_caught() { STRIKES } else { STRIKES / 4 };
        assert!(struck == STRIKES && caught >= least, "{forgery:?}: applied in {struck} cases, caught in {caught}");
    }
}

#[test]
fn an_honest_messenger_is_believed() {
    for seed in 0..50 {
        let outcome = case::run(seed, Detail::None, 150, Some(&mut |record, to| to.push(record)));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
