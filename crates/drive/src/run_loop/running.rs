//! A job of a workload during its replay.

use super::BATCH;
use super::pacer::Pacer;
use crate::statistics::LogOrigin;
use kit::{CommandId, HostCommand, Nanos, Problems, SimTime};
use workload::{Job, Pacing, Request};

/// Write that waits for a flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub command: HostCommand,
    pub origin: LogOrigin,
}

/// A job being replayed.
pub(super) struct Running {
    pub job: Job,
    pub batch: Vec<Request>,
    pub next: usize,
    pub exhausted: bool,
    /// Commands submitted and not completed.
    pub in_flight: u32,
    pub submitted: u64,
    /// Commands skipped at the beginning.
    skipped: u64,
    /// Bytes submitted, including those of skipped commands, which count towards the job's limit.
    pub submitted_bytes: u64,
    /// Recorded time of the last skipped command, from which recorded times are counted.
    pub origin: SimTime,
    pub started: Option<SimTime>,
    pub last_submission: SimTime,
    pub last_recorded: SimTime,
    /// Pauses and rates of a closed loop.
    pub pacer: Pacer,
    /// True once the ramp is over: commands submitted from now on are measured.
    pub measured: bool,
    /// Writes that wait for a flush of their own, each with the flush; `None`: the flush is complete, and the host has
    /// no power.
    pub held: Vec<(Option<CommandId>, Held)>,
    /// True for a closed loop without rate limit, think time, delay, ramp or runtime: each completion submits the next
    /// request.
    pub is_plain: bool,
}

impl Running {
    pub fn new(mut job: Job) -> Running {
        let pacer = Pacer::new(&mut job);
        let is_plain = pacer.is_idle()
            && job.flow.is_none()
            && matches!(job.pacing, Pacing::Closed { .. })
            && job.limits.runtime.is_none()
            && job.ramp_time == Nanos::ZERO
            && job.start_delay == Nanos::ZERO;
        Running {
            is_plain,
            job,
            batch: Vec::with_capacity(BATCH),
            next: 0,
            exhausted: false,
            in_flight: 0,
            submitted: 0,
            skipped: 0,
            submitted_bytes: 0,
            origin: SimTime::ZERO,
            started: None,
            last_submission: SimTime::ZERO,
            last_recorded: SimTime::ZERO,
            pacer,
            measured: false,
            held: Vec::new(),
        }
    }

    /// Skips the first `count` commands of the job.
    pub fn skip(&mut self, count: u64) -> Result<(), Problems> {
        for _ in 0..count {
            if self.next == self.batch.len() {
                self.fetch(Nanos::ZERO)?;
            }
            let Some(request) = self.batch.get(self.next) else { break };
            self.next += 1;
            self.skipped += 1;
            self.submitted_bytes += request.length.0;
            self.origin = request.at;
            self.last_recorded = request.at;
            let limits = self.job.limits;
            if limits.bytes.is_some_and(|most| self.submitted_bytes >= most) {
                self.exhausted = true;
                break;
            }
        }
        self.job.limits.requests = self.job.limits.requests.map(|most| most.saturating_sub(count));
        self.exhausted |= self.job.limits.requests == Some(0);
        Ok(())
    }

    /// Fetches the next batch of requests, at `now` from the job's start. An empty batch marks the end of the source.
    pub fn fetch(&mut self, now: Nanos) -> Result<(), Problems> {
        self.batch.clear();
        self.next = 0;
        self.pacer.fetch(&mut self.job, &mut self.batch, BATCH, now)?;
        self.exhausted |= self.batch.is_empty();
        Ok(())
    }

    /// Returns the place of a request, which is submitted next, in the workload, as the log of commands states it.
    pub fn origin(&self, request: &Request) -> LogOrigin {
        if self.job.is_trace {
            let workload::Origin { index, offset } = request.origin;
            return LogOrigin { request: Some(index), trace_offset: Some(offset) };
        }
        LogOrigin { request: Some(self.skipped + self.submitted), trace_offset: None }
    }

    pub fn has_ended(&self) -> bool {
        self.exhausted && self.in_flight == 0
    }

    /// Returns the submitted share of the job, 0 to 1, by that of its limits that is nearest; `None` without any.
    pub fn share(&self, now: SimTime) -> Option<f64> {
        if self.has_ended() {
            return Some(1.0);
        }
        let limits = self.job.limits;
        let elapsed = self.started.map_or(0, |started| now.0.saturating_sub(started.0));
        let all = [
            (self.submitted, limits.requests),
            (self.submitted + self.skipped, self.job.source.requests()),
            (self.submitted_bytes, limits.bytes),
            (elapsed, limits.runtime.map(|runtime| runtime.0)),
        ];
        let shares = all.into_iter().filter_map(|(done, most)| Some(done as f64 / most?.max(1) as f64));
        shares.reduce(f64::max).map(|share| share.min(1.0))
    }

    /// Returns the instant at which the job's next request is due by its pacing; of a closed loop, `now`.
    pub fn due(&self, request: &Request, start: SimTime, now: SimTime) -> SimTime {
        match self.job.pacing {
            Pacing::Open => start + request.at.since(self.origin),
            Pacing::Gaps if self.submitted > 0 => self.last_submission + request.at.since(self.last_recorded),
            Pacing::Gaps => start + request.at.since(self.origin),
            Pacing::Closed { .. } => now,
        }
    }
}
