//! The oracle itself: what it must not overlook.

use testkit::canary::{Forger, Forgery};
use testkit::case;

/// Each forgery is tried until it has been applied in so many cases.
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
            let outcome = case::run(seed, 150, Some(&mut |record, to| forger.pass(record, to)));
            if forger.struck {
                struck += 1;
                caught += u32::from(outcome.is_err());
            }
        }
        assert_eq!((struck, caught), (STRIKES, STRIKES), "{forgery:?}");
    }
}
