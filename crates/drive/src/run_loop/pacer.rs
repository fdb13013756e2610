//! Pacing of a closed loop beyond its depth: pauses, rates by direction, and flows among jobs.

use kit::{Nanos, Op, Problems, SimTime};
use workload::pacing::{Flow, Rates, Think};
use workload::{Job, Request};

/// Reason for which a job may not submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// It waits for a completion.
    Completion,
    /// It waits until another job of its flow has submitted or ended.
    Turn,
    /// The clock, until this instant.
    Time(SimTime),
}

/// Wait of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    /// None.
    Open,
    /// Until no request is in flight, and then for this long.
    Drain(Nanos),
    /// Until this instant.
    Until(SimTime),
}

/// Pacing of one job. As fio does in one loop, the job submits, then looks whether a pause is due, then whether it is
/// ahead of its rates; before each of these waits it completes what is in flight.
pub(super) struct Pacer {
    think: Option<Think>,
    rates: Option<Rates>,
    issued: u64,
    completed: u64,
    /// Requests counted when the last pause was due.
    counted: u64,
    /// End of the last pause.
    paused: SimTime,
    /// True if a request was submitted since the job last looked whether a pause is due.
    has_submitted: bool,
    /// True once the next request has waited for its rate.
    has_waited: bool,
    gate: Gate,
    /// True if the gate is closed for a pause.
    is_pausing: bool,
}

impl Pacer {
    pub fn new(job: &mut Job) -> Pacer {
        Pacer {
            think: job.think.take(),
            rates: job.rates.take(),
            issued: 0,
            completed: 0,
            counted: 0,
            paused: SimTime::ZERO,
            has_submitted: false,
            has_waited: false,
            gate: Gate::Open,
            is_pausing: false,
        }
    }

    /// Returns true if only the depth paces the job.
    pub fn is_idle(&self) -> bool {
        self.think.is_none() && self.rates.is_none()
    }

    /// Fetches the next requests of a job into `batch`. Where the rates of a mixed job decide its operations, it is one
    /// request, chosen for `now` from the job's start.
    pub fn fetch(&self, job: &mut Job, batch: &mut Vec<Request>, most: usize, now: Nanos) -> Result<(), Problems> {
        match &self.rates {
            Some(rates) if rates.choose_operations() => job.source.fill_chosen(batch, 1, &mut |op| rates.choose(op, now.0)),
            _ => job.source.fill(batch, most),
        }
    }

    /// Returns what holds back a job with `in_flight` requests of at most `depth`, whatever it submits next.
    pub fn hold(&mut self, now: SimTime, start: SimTime, in_flight: u32, depth: u32) -> Option<Hold> {
        loop {
            match self.gate {
                Gate::Drain(_) if in_flight > 0 => return Some(Hold::Completion),
                Gate::Drain(span) => {
                    self.gate = Gate::Until(now + span);
                    if std::mem::take(&mut self.is_pausing) {
                        self.paused = now + span;
                    }
                }
                Gate::Until(at) if at > now => return Some(Hold::Time(at)),
                Gate::Until(_) => self.gate = Gate::Open,
                Gate::Open if in_flight >= depth => return Some(Hold::Completion),
                Gate::Open => {
                    if !std::mem::take(&mut self.has_submitted) || !self.takes_pause(now, start) {
                        return None;
                    }
                }
            }
        }
    }

    /// Begins a pause if one is due.
    fn takes_pause(&mut self, now: SimTime, start: SimTime) -> bool {
        let Some(think) = self.think else { return false };
        let count = if think.counts_issued { self.issued } else { self.completed };
        let is_time = think.every.is_some_and(|every| now >= self.paused.max(start) + every);
        let is_due = is_time || think.blocks.is_some_and(|blocks| count >= self.counted.saturating_add(blocks));
        if is_due {
            self.counted = count;
            self.gate = Gate::Drain(think.time);
            self.is_pausing = true;
        }
        is_due
    }

    /// Makes a request wait for its rate, if it is not due at `now` from the job's start. Returns true if it waits.
    pub fn waits_for_rate(&mut self, request: &Request, now: SimTime, start: SimTime) -> bool {
        let Some(rates) = self.rates.as_ref().filter(|_| request.op != Op::Flush && !self.has_waited) else { return false };
        let (due, elapsed) = (rates.due_ns(request.op), now.since(start).0);
        if due <= elapsed {
            return false;
        }
        self.has_waited = true;
        // fio waits as long as the request was early when it began to complete those in flight.
        self.gate = if rates.drains { Gate::Drain(Nanos(due - elapsed)) } else { Gate::Until(now + Nanos(due - elapsed)) };
        true
    }

    /// Makes the job complete its requests in flight and wait for `span`.
    pub fn sleep(&mut self, span: Nanos) {
        self.gate = Gate::Drain(span);
    }

    /// Counts a submission. Flushes are followed by no pause.
    pub fn submitted(&mut self, request: &Request) {
        if request.op == Op::Flush {
            return;
        }
        self.issued += 1;
        self.has_submitted = true;
        self.has_waited = false;
        if let Some(rates) = &mut self.rates {
            rates.issued(request.op, request.length.0);
        }
    }

    /// Counts a completion.
    pub fn completion_seen(&mut self, op: Op) {
        self.completed += u64::from(op != Op::Flush);
    }

    /// Moves what is to come by the time for which the drive was without power.
    pub fn shift(&mut self, away: Nanos) {
        self.paused = self.paused + away;
        if let Gate::Until(at) = &mut self.gate {
            *at = *at + away;
        }
    }
}

/// Member of a flow.
struct Member {
    flow: Flow,
    submitted: u64,
    is_in: bool,
}

/// Flows of a workload: their jobs submit in proportion to their weights.
#[derive(Default)]
pub(super) struct Flows {
    /// Members by job; empty if no job has a flow.
    members: Vec<Option<Member>>,
    /// True if a job was held back since the last call of [`Flows::looks_again`].
    is_held: bool,
    has_moved: bool,
}

impl Flows {
    pub fn new(jobs: &[Job]) -> Flows {
        if jobs.iter().all(|job| job.flow.is_none()) {
            return Flows::default();
        }
        let member = |job: &Job| job.flow.map(|flow| Member { flow, submitted: 0, is_in: false });
        Flows { members: jobs.iter().map(member).collect(), ..Flows::default() }
    }

    /// Enters a job that has started into its flow, or takes out one that has ended.
    pub fn set_member(&mut self, index: usize, is_in: bool) {
        if let Some(Some(member)) = self.members.get_mut(index) {
            self.has_moved |= member.is_in && !is_in;
            member.is_in = is_in;
        }
    }

    /// Returns the time to sleep if the job is ahead of its share: zero means until another job has submitted.
    pub fn is_ahead(&mut self, index: usize) -> Option<Nanos> {
        let own = self.members.get(index)?.as_ref()?;
        let others = self.members.iter().flatten().filter(|member| member.is_in && member.flow.id == own.flow.id);
        let (count, weight) = others
            .fold((0u64, 0u64), |(count, weight), member| (count + member.submitted, weight.saturating_add(member.flow.weight)));
        // As in fio, the count of the flow begins at 1.
        let is_ahead = u128::from(own.submitted) * u128::from(weight) > u128::from(own.flow.weight) * u128::from(count + 1);
        let sleep = own.flow.sleep;
        self.is_held |= is_ahead && sleep == Nanos::ZERO;
        is_ahead.then_some(sleep)
    }

    pub fn submitted(&mut self, index: usize) {
        if let Some(Some(member)) = self.members.get_mut(index) {
            member.submitted += 1;
            self.has_moved = true;
        }
    }

    /// Returns true if a job that was held back may submit now, because another has submitted or ended.
    pub fn looks_again(&mut self) -> bool {
        let (is_held, has_moved) = (std::mem::take(&mut self.is_held), std::mem::take(&mut self.has_moved));
        is_held && has_moved
    }
}
