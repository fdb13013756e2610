//! Checks of an opened workload: its requests lie on the drive, in whole sectors.

use kit::{Op, SECTOR_BYTES};
use workload::Workload;

/// Bounds of the requests of a workload.
pub struct Reach {
    /// User capacity of the drive \[bytes\].
    pub user_bytes: u64,
    /// Number of requests of each job that are drawn.
    pub requests: usize,
}

/// Number of jobs whose requests are drawn.
const JOBS: usize = 8;

/// Checks the first requests of the first jobs.
pub fn assert_requests(workload: Workload, reach: &Reach) {
    assert!(!workload.jobs.is_empty(), "a workload without a job");
    assert!(!workload.resolved.is_empty(), "a workload without a description");
    let count = workload.jobs.len();
    for (index, mut job) in workload.jobs.into_iter().enumerate().take(JOBS) {
        assert!(job.grain.is_power_of_two() && job.grain >= 1, "a grain of {}", job.grain);
        assert!(job.waits_for.iter().all(|other| (*other as usize) < index), "job {index} waits for {:?}", job.waits_for);
        let mut requests = Vec::new();
        // Problems that only reading shows, such as a trace that has changed, do not happen in memory.
        let filled = job.source.fill(&mut requests, reach.requests);
        assert!(filled.is_ok(), "{}: {:?}", job.name, filled.err());
        assert!(requests.len() <= reach.requests, "{} requests, {} were asked for", requests.len(), reach.requests);
        for request in &requests {
            let (offset, length) = (request.offset.0, request.length.0);
            let end = offset.checked_add(length);
            assert!(end.is_some_and(|end| end <= reach.user_bytes), "{}: {request:?} of {}", job.name, reach.user_bytes);
            assert_eq!((offset | length) % job.grain, 0, "{}: {request:?}, grain {}", job.name, job.grain);
            assert!(!job.is_trace || (offset | length) % SECTOR_BYTES == 0, "{}: {request:?}", job.name);
            assert!((request.op == Op::Flush) == (length == 0), "{}: {request:?}, job {index} of {count}", job.name);
        }
    }
}
