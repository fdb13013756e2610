//! A workload as the run loop of `drive` sees it: jobs, each a stream of requests with its own pacing.

use crate::pacing::{Flow, Rates, Think};
use kit::{Bytes, Nanos, Op, Problems, SimTime};

/// Modifiers of a request, as the host gives them.
///
/// [`Flags::FUA`] and [`Flags::FLUSH_BEFORE`] reach the drive. The others say what kind of request it was; no drive of
/// this simulator treats them otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No modifier.
    pub const NONE: Flags = Flags(0);
    /// Of a write: it completes once its data is programmed (force unit access).
    pub const FUA: Flags = Flags(1);
    /// Of a write: a flush comes first, and the write waits for it (`REQ_PREFLUSH` of Linux).
    pub const FLUSH_BEFORE: Flags = Flags(2);
    /// A process waits for the request.
    pub const SYNC: Flags = Flags(4);
    /// The request moves metadata of a file system.
    pub const METADATA: Flags = Flags(8);
    /// The request is a read ahead.
    pub const AHEAD: Flags = Flags(16);

    /// Returns true if all modifiers of `others` are set.
    #[inline]
    pub fn contains(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the modifiers with those of `others`.
    #[must_use]
    pub const fn with(self, others: Flags) -> Flags {
        Flags(self.0 | others.0)
    }

    /// Returns the modifiers with a class of priority, as Linux numbers them: 1 real time, 2 best effort, 3 idle; 0:
    /// none.
    #[must_use]
    pub const fn with_priority(self, class: u8) -> Flags {
        Flags(self.0 & !(3 << PRIORITY_SHIFT) | (class & 3) << PRIORITY_SHIFT)
    }

    /// Returns the class of priority; 0: none was given.
    pub fn priority(self) -> u8 {
        self.0 >> PRIORITY_SHIFT & 3
    }
}

/// Position of the class of priority among the bits of the modifiers.
const PRIORITY_SHIFT: u8 = 5;

/// One request of a workload. Addresses and lengths are bytes, multiples of the 512-byte sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Recorded arrival since the start of the job \[ns\]. Zero where the job's pacing does not use arrival times.
    pub at: SimTime,
    /// Operation.
    pub op: Op,
    /// Modifiers.
    pub flags: Flags,
    /// Stream (device, volume, ASU, fio job) that the request belongs to.
    pub stream: u16,
    /// Address of the first byte.
    pub offset: Bytes,
    /// Length; zero for a flush.
    pub length: Bytes,
    /// Of a trace, the place of the request in it; otherwise 0.
    pub origin: Origin,
}

/// Place of a request in the trace that it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Number of the request among those of the selected streams, in the order of time, from 0: `slice` counts so.
    pub index: u64,
    /// First byte as recorded, in the address space of its stream.
    pub offset: u64,
}

impl Request {
    /// Returns a request without modifiers, of stream 0.
    pub fn new(at: SimTime, op: Op, offset: Bytes, length: Bytes) -> Request {
        Request { at, op, flags: Flags::NONE, stream: 0, offset, length, origin: Origin::default() }
    }
}

/// Source of a stream of requests.
pub trait Source: Send {
    /// Appends up to `limit` requests to `out`; appending none means that the stream has ended. A batch lets the drive
    /// prefetch map entries. The requests of a source must not depend on the sizes of the batches.
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems>;

    /// Like [`Source::fill`], but passes each operation that the source's mix draws to `choose`, and takes its answer.
    /// Sources without a mix do not ask.
    fn fill_chosen(&mut self, out: &mut Vec<Request>, limit: usize, _choose: &mut dyn FnMut(Op) -> Op) -> Result<(), Problems> {
        self.fill(out, limit)
    }

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
    /// Closed loop: pauses (fio `thinktime`).
    pub think: Option<Think>,
    /// Closed loop: rates by direction (fio `rate`, `rate_iops`).
    pub rates: Option<Rates>,
    /// Share in a flow (fio `flow`).
    pub flow: Option<Flow>,
    /// Numbers of the jobs, all above this one, that must have ended before it starts (fio `wait_for`).
    pub waits_for: Vec<u32>,
    /// Delay between the start of the job's wave and the start of the job (fio `startdelay`).
    pub start_delay: Nanos,
    /// Time after the job's start during which commands are left out of the statistics (fio `ramp_time`).
    pub ramp_time: Nanos,
    /// True if the job's writes are durable when they complete (FUA).
    pub fua: bool,
    /// True if the requests have an [`Origin`].
    pub is_trace: bool,
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
    /// Text of a fio job file with the values of its variables, and the files that it includes, in their places; `None`
    /// if it has none of them.
    pub standalone: Option<String>,
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
    /// Returns true if commands of a job are left out of the statistics at its start.
    pub fn has_ramp(&self) -> bool {
        self.jobs.iter().any(|job| job.ramp_time > Nanos::ZERO)
    }

    /// Returns the names of the streams, by number.
    pub fn stream_names(&self) -> Vec<String> {
        let jobs = || self.jobs.iter().map(|job| job.name.clone()).collect();
        if self.streams.is_empty() { jobs() } else { self.streams.clone() }
    }
}
