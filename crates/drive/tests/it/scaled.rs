//! autoFTL on its drives: what its mean of the past is sampled by.

use crate::common::session;

/// 100 requests of four pages each: as many samples as requests, or as programs. At the end of the run the buffer of
/// ten pages holds the last of them, so that the last group of programs is not complete.
#[test]
fn past_utilisation_is_sampled_by_request_or_by_program() {
    let job = "[writes]\nrw=write\nbs=32k\niodepth=1\nnumber_ios=100\n";
    for (per, groups) in [("request", 10.0), ("program", 39.0)] {
        let sampled = format!("policy.autoftl.sampled_per={per}");
        let sets = ["policy.autoftl.group_writes=10", "policy.autoftl.groups=1000", &sampled];
        let run = session("base = \"dpes-mobile\"", &sets, None, job).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(run.summary["policy_stats"]["groups_remembered"], groups, "{per}");
    }
}
