//! A workload as the run loop of `drive` sees it: jobs, each a stream of requests with its own pacing.

use kit::{Bytes, Nanos, Op, Problems, SimTime};

/// One request of a workload. Addresses and lengths are bytes, multiples of the 512-byte sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Recorded arrival since the start of the job \[ns\]. Zero where the job's pacing does not use arrival times.
    pub at: SimTime,
    /// Operation.
    pub op: Op,
    /// Stream (device, volume, ASU, fio job) that the request belongs to.
    pub stream: u16,
    /// Address of the first byte.
    pub offset: Bytes,
    /// Length; zero for a flush.
    pub length: Bytes,
}

/// Source of a stream of requests.
pub trait Source: Send {
    /// Appends up to `limit` requests to `out`; appending none means that the stream has ended. A batch lets the drive
    /// prefetch map entries. The requests of a source must not depend on the sizes of the batches.
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems>;

    /// Returns the number of requests of the whole stream, if it is known.
    fn requests(&self) -> Option<u64> {
        None
    }
}

/// Rule by which a job submits its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At its recorded arrival, whatever the drive does (open loop).
    Open,
    /// At its recorded gap after the previous submission; a request that the device cannot accept delays all later
    /// ones.
    Gaps,
    /// As soon as fewer than `depth` requests of the job are in flight (closed loop).
    Closed {
        /// Maximum number of requests of the job in flight.
        depth: u32,
    },
    /// At its arrival, or later, as soon as fewer than `depth` requests of the job are in flight; the arrivals of the
    /// requests after it stay where they are (fio `rate_process=poisson`).
    Timed {
        /// Maximum number of requests of the job in flight.
        depth: u32,
    },
}

/// Limits that end a job before its stream ends. The first limit reached ends the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Number of requests submitted.
    pub requests: Option<u64>,
    /// Number of bytes submitted.
    pub bytes: Option<u64>,
    /// Simulated time since the job's start after which nothing is submitted.
    pub runtime: Option<Nanos>,
}

/// Job of a workload.
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// Largest power of two that divides every offset and length of its requests \[bytes\].
    pub grain: u64,
    /// Source of its requests.
    pub source: Box<dyn Source>,
    /// Rule by which they are submitted.
    pub pacing: Pacing,
    /// True if the job writes every block of its region once before it writes any block again.
    pub overwrites_in_passes: bool,
    /// Limits that end the job.
    pub limits: Limits,
    /// Closed loop: pause between a completion and the submission that it permits (fio `thinktime`).
    pub think_time: Nanos,
    /// Minimum time between two submissions of the job (fio `rate_iops`), rounded up; zero: no minimum.
    pub submission_gap: Nanos,
    /// Maximum number of bytes per second submitted by the job (fio `rate`); zero: unlimited.
    pub bytes_per_second: u64,
    /// Delay between the start of the job's wave and the start of the job (fio `startdelay`).
    pub start_delay: Nanos,
    /// Time after the job's start during which commands are left out of the statistics (fio `ramp_time`).
    pub ramp_time: Nanos,
    /// True if the job's writes are durable when they complete (FUA).
    pub fua: bool,
    /// Number of the job's wave: jobs of wave `n + 1` start when all jobs of wave `n` have ended (fio `stonewall`).
    pub wave: u32,
}

/// Workload: a list of jobs.
pub struct Workload {
    /// Jobs, wave by wave.
    pub jobs: Vec<Job>,
    /// Names of the streams of the only job, by number. Empty where the job has one, and where there are several jobs:
    /// each job is a stream then.
    pub streams: Vec<String>,
    /// Resolved description as TOML, stored as `workload.toml` beside the results. The same file and options give the
    /// same text.
    pub resolved: String,
    /// Messages for the user (an ignored fio key, the format chosen among several), one line each.
    pub notes: Vec<String>,
    /// Time from the start of one pass over the workload to the start of the next, where the workload has times of its
    /// own: for a trace, its span plus one mean gap, for each of its repetitions, on the replay's time scale; for a
    /// look-alike, its `runtime`.
    pub period: Option<Nanos>,
    /// True if the workload has no end of its own and runs until it is stopped.
    pub is_endless: bool,
}

impl Workload {
    /// Returns the names of the streams, by number.
    pub fn stream_names(&self) -> Vec<String> {
        let jobs = || self.jobs.iter().map(|job| job.name.clone()).collect();
        if self.streams.is_empty() { jobs() } else { self.streams.clone() }
    }
}
