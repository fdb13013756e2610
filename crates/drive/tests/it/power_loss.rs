//! Loss of power without warning: random drives that lose power at random instants, and at every one.

use testkit::case::Detail;
use testkit::case::cuts::{self, Cuts};

fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs cases until `count` descriptions were accepted.
fn cases(detail: Detail, count: u64, commands: u32) -> Cuts {
    let (mut all, mut done) = (Cuts::default(), 0);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == count {
            break;
        }
        let outcome = cuts::run(seed, detail, commands, 3);
        match outcome {
            Ok(None) => {}
            Ok(Some((_, cuts))) => {
                all.merge(&cuts);
                done += 1;
            }
            Err(violation) => panic!("seed {seed}: {}", violation.0),
        }
    }
    all
}

#[test]
fn durable_data_survives_a_loss_of_power_at_any_instant() {
    for detail in [Detail::None, Detail::Errors, Detail::Controller, Detail::Units, Detail::Power] {
        let found = cases(detail, given("SSDLAB_CASES").unwrap_or(300), 200);
        println!("{detail:?}: {found:?}");
    }
}

#[test]
#[ignore]
fn one_cut() {
    let seed = given("SSDLAB_SEED").expect("SSDLAB_SEED");
    let detail = [Detail::None, Detail::Errors, Detail::Controller, Detail::Units, Detail::Power][given("SSDLAB_DETAIL").unwrap_or(0) as usize];
    let outcome = cuts::run(seed, detail, 200, 3);
    panic!("{:?}", outcome.map(|passed| passed.map(|(_, cuts)| cuts)));
}

#[test]
#[ignore]
fn every_cut() {
    let mut done = 0;
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == given("SSDLAB_CASES").unwrap_or(10) { break; }
        let start = std::time::Instant::now();
        match cuts::every_cut(seed, Detail::None, 200) {
            Ok(None) => {}
            Ok(Some(cuts)) => { done += 1; println!("{seed}: {cuts:?} in {:?}", start.elapsed()); }
            Err(violation) => panic!("seed {seed}: {}", violation.0),
        }
    }
}
