//! What a workload is, as the run loop of `drive` sees it: jobs, each a stream of requests with its own pacing.

use kit::{Bytes, Nanos, Op, Problems, SimTime};

/// One request of a workload. Addresses and lengths are bytes, multiples of the 512-byte sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Recorded arrival, from the start of the job \[ns\]. Zero where the job's pacing does not use it.
    pub at: SimTime,
    /// What to do.
    pub op: Op,
    /// The stream (device, volume, ASU, fio job) it belongs to.
    pub stream: u16,
    /// First byte.
    pub offset: Bytes,
    /// Length; zero for a flush.
    pub length: Bytes,
}

/// A stream of requests.
pub trait Source: Send {
    /// Appends up to `limit` requests to `out`. Appending none means that the stream has ended. Batches let the drive look
    /// ahead into its map; a source must not depend on how its output is cut into batches.
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems>;
}

/// When a job's next request is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At its recorded arrival, whatever the drive does (open loop).
    Open,
    /// At its recorded gap after the previous submission; a device that cannot take it delays all that follow.
    Gaps,
    /// As soon as fewer than `depth` requests of the job are in flight (closed loop).
    Closed {
        /// Most requests of the job in flight.
        depth: u32,
    },
}

/// When a job ends, beside the end of its stream. The first limit that is met ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests submitted.
    pub requests: Option<u64>,
    /// Bytes submitted.
    pub bytes: Option<u64>,
    /// Simulated time since the job's start; nothing is submitted after it.
    pub runtime: Option<Nanos>,
}

/// One job of a workload.
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub source: Box<dyn Source>,
    /// When they are submitted.
    pub pacing: Pacing,
    /// It writes every block of its region once before it writes one again.
    pub overwrites_in_passes: bool,
    /// When it ends.
    pub limits: Limits,
    /// Closed loop: pause between a completion and the submission that it allows (fio `thinktime`).
    pub think_time: Nanos,
    /// Least time between two submissions of the job (fio `rate_iops`), rounded up; zero: none.
    pub submission_gap: Nanos,
    /// Most bytes per second submitted by the job (fio `rate`); zero: unlimited.
    pub bytes_per_second: u64,
    /// Pause between the start of its wave and its first submission (fio `startdelay`).
    pub start_delay: Nanos,
    /// Time after its start whose commands are left out of the statistics (fio `ramp_time`).
    pub ramp_time: Nanos,
    /// Jobs of wave `n + 1` start when all of wave `n` have ended (fio `stonewall`).
    pub wave: u32,
}

/// A whole workload.
pub struct Workload {
    /// Its jobs, wave by wave.
    pub jobs: Vec<Job>,
    /// What was resolved, as TOML: stored as `workload.toml` beside the results. For the same file and options, the same text.
    pub resolved: String,
    /// Things the user should know (an ignored fio key, the format chosen among several): one line each.
    pub notes: Vec<String>,
    /// From the start of one pass over it to the start of the next, where it has times of its own: a trace's span and one mean gap, on the replay's scale.
    pub period: Option<Nanos>,
    /// It goes on until it is stopped.
    pub is_endless: bool,
}
