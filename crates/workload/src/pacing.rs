//! Pacing of a job beyond its depth: pauses (fio `thinktime`) and rates by direction (fio `rate`, `rate_iops`).

use kit::{Nanos, Op, Rng};

/// Pauses of a job (fio `thinktime`): the job waits until none of its requests is in flight, and then pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// Length of a pause.
    pub time: Nanos,
    /// Number of requests from one pause to the next; `None`: only `every` counts.
    pub blocks: Option<u64>,
    /// True if requests are counted as they are submitted, false if they are counted as they complete.
    pub counts_issued: bool,
    /// Time from the end of one pause after which the next is due, whatever the number of requests.
    pub every: Option<Nanos>,
}

/// Limit of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cap {
    /// Bytes per second.
    Bytes(u64),
    /// Requests of a Poisson process, with this mean of the gaps \[ns\].
    Poisson(f64),
}

/// Schedule of one direction.
#[derive(Clone, Debug)]
struct Schedule {
    cap: Option<Cap>,
    bytes: u64,
    /// Instant from the job's start at which the next request is due \[ns\].
    due_ns: u64,
    rng: Rng,
}

impl Schedule {
    fn issued(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.due_ns = match self.cap {
            None => 0,
            Some(Cap::Bytes(rate)) => {
                let due = (u128::from(self.bytes) * 1_000_000_000).div_ceil(u128::from(rate));
                u64::try_from(due).unwrap_or(u64::MAX)
            }
            Some(Cap::Poisson(mean_ns)) => {
                // 1 - u lies above 0, so that the logarithm is finite.
                let gap = -mean_ns * libm::log(1.0 - self.rng.unit());
                self.due_ns.saturating_add(libm::round(gap) as u64)
            }
        };
    }
}

/// Rates of a job by direction. A direction is due at an instant that follows from what it has submitted since the
/// job's start, so that a job which was held up catches up, as in fio.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Schedules of reads, writes and trims.
    schedules: [Schedule; 3],
    /// True if the job mixes reads and writes: a direction that is ahead of its rate gives way to the other.
    is_mixed: bool,
    /// True if each trim is followed by a write of its range: both are held to the rate of writes.
    is_paired: bool,
    /// True if the job completes its requests in flight before it waits for a rate (fio `io_submit_mode=inline`).
    pub drains: bool,
}

impl Rates {
    /// Returns the rates of a job whose directions (read, write, trim) have these limits; `None` if none has any.
    pub fn new(caps: [Option<Cap>; 3], is_mixed: bool, is_paired: bool, drains: bool, rngs: [Rng; 3]) -> Option<Rates> {
        let is_limited = caps.iter().any(Option::is_some);
        let mut caps = caps.into_iter();
        let schedules = rngs.map(|rng| Schedule { cap: caps.next().flatten(), bytes: 0, due_ns: 0, rng });
        is_limited.then_some(Rates { schedules, is_mixed, is_paired, drains })
    }

    fn direction(&self, op: Op) -> usize {
        match op {
            Op::Read => 0,
            Op::Trim if !self.is_paired => 2,
            _ => 1,
        }
    }

    /// Returns true if the rates decide which operation comes next.
    pub fn choose_operations(&self) -> bool {
        self.is_mixed
    }

    /// Returns the operation of the next request, where the mix has drawn `op`, at `now_ns` from the job's start: the
    /// other direction's if only that one is due, or if it is due earlier (fio's `rate_ddir`).
    pub fn choose(&self, op: Op, now_ns: u64) -> Op {
        let other = match op {
            Op::Read => Op::Write,
            Op::Write => Op::Read,
            _ => return op,
        };
        let (own, theirs) = (self.due_ns(op), self.due_ns(other));
        if !self.is_mixed || own <= now_ns || (theirs > now_ns && own <= theirs) { op } else { other }
    }

    /// Returns the instant from the job's start at which a request of this operation is due \[ns\].
    pub fn due_ns(&self, op: Op) -> u64 {
        self.schedules[self.direction(op)].due_ns
    }

    /// Counts a request that was submitted. Flushes move nothing and need no time.
    pub fn issued(&mut self, op: Op, bytes: u64) {
        let index = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            _ => return,
        };
        self.schedules[index].issued(bytes);
    }
}

/// Share of a job in a flow (fio `flow`): jobs of one flow submit requests in proportion to their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number of the flow.
    pub id: u64,
    /// Weight of the job.
    pub weight: u64,
    /// Time that the job waits, with nothing in flight, before it asks again whether it may submit; zero: until another
    /// job of the flow has submitted.
    pub sleep: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(caps: [Option<Cap>; 3]) -> Rates {
        let rng = |name: &str| Rng::stream(1, name);
        Rates::new(caps, true, false, true, [rng("a"), rng("b"), rng("c")]).expect("a limit")
    }

    #[test]
    fn a_schedule_is_exact_over_a_long_time() {
        let mut rates = rates([Some(Cap::Bytes(3 * 4096)), Some(Cap::Bytes(4096 * 30)), None]);
        for _ in 0..3_000_000 {
            rates.issued(Op::Read, 4096);
            rates.issued(Op::Write, 4096);
        }
        assert_eq!((rates.due_ns(Op::Read), rates.due_ns(Op::Write)), (1_000_000_000_000_000, 100_000_000_000_000));
    }

    #[test]
    fn a_direction_ahead_of_its_rate_gives_way() {
        let mut rates = rates([Some(Cap::Bytes(4_096_000)), Some(Cap::Bytes(2_048_000)), None]);
        assert_eq!(rates.choose(Op::Write, 0), Op::Write);
        rates.issued(Op::Write, 4096);
        assert_eq!((rates.choose(Op::Write, 0), rates.choose(Op::Read, 0)), (Op::Read, Op::Read));
        rates.issued(Op::Read, 4096);
        assert_eq!(rates.choose(Op::Write, 10), Op::Read, "both are ahead: the read is due first");
        assert_eq!(rates.choose(Op::Write, 2_000_000), Op::Write, "both are behind: the mix decides");
    }
}
