//! Stages between the requests of a job's blocks and the job: repetitions (`loops`) and flushes (`fsync`).

use crate::generator::BlockSource;
use crate::{Request, Source};
use kit::{Bytes, Op, Problems};

/// Rule by which a job goes over its region again.
///
/// As in fio, a pass ends where the region or the random map ends, and the next begins with the same random numbers. No
/// other pass follows once a limit is reached, or where less is left to move than the largest block.
#[derive(Clone, Copy, Debug)]
pub struct PassRule {
    /// Number of passes of a job whose `io_size` asks for no more.
    pub loops: u64,
    /// Bytes that all loops submit; a request that reaches it is submitted whole. `None`: no limit.
    pub bytes_max: Option<u64>,
    /// Requests that all loops submit; `None`: no limit.
    pub requests_max: Option<u64>,
    /// Bytes that are moved at least once all loops are done, if the job has an `io_size`.
    pub io_bytes: Option<u64>,
    /// Length of the largest block \[bytes\].
    pub block_max: u64,
    /// True if passes follow one another without an end (fio `time_based`).
    pub is_endless: bool,
}

/// Passes of a job over its region.
pub struct Passes {
    rule: PassRule,
    /// Function that returns the source of a pass, given its number and the requests until one may be random.
    make: Box<dyn Fn(u64, Option<u64>) -> BlockSource + Send>,
    current: BlockSource,
    pass: u64,
    requests: u64,
    bytes: u64,
    /// True if the current pass has submitted a request.
    has_begun: bool,
    is_over: bool,
}

impl Passes {
    /// Returns the passes of the sources that `make` returns.
    pub fn new(rule: PassRule, make: Box<dyn Fn(u64, Option<u64>) -> BlockSource + Send>) -> Passes {
        assert!(rule.loops >= 1, "a job runs at least once");
        let mut passes =
            Passes { current: make(0, None), rule, make, pass: 0, requests: 0, bytes: 0, has_begun: false, is_over: false };
        passes.limit();
        passes
    }

    /// Takes the current pass under the limits that are left.
    fn limit(&mut self) {
        let left = |max: Option<u64>, used: u64| max.map_or(u64::MAX, |max| max.saturating_sub(used));
        let (requests, bytes) = (left(self.rule.requests_max, self.requests), left(self.rule.bytes_max, self.bytes));
        self.is_over |= requests == 0 || bytes == 0;
        self.current.limit(requests, bytes);
    }

    /// Goes on to the next pass, if there is one.
    fn advance(&mut self) {
        // A pass without a request would be repeated without an end.
        let is_wanted = self.rule.is_endless
            || self.pass + 1 < self.rule.loops
            || self.rule.io_bytes.is_some_and(|bytes| bytes.saturating_sub(self.bytes) >= self.rule.block_max);
        if !self.has_begun || !is_wanted {
            self.is_over = true;
            return;
        }
        self.pass += 1;
        self.current = (self.make)(self.pass, self.current.turns_left());
        self.has_begun = false;
        self.limit();
    }

    /// Adds up to `limit` requests of one pass; returns true if they are the first of a pass that is not the first.
    fn fill_pass(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<bool, Problems> {
        let from = out.len();
        while !self.is_over {
            self.current.fill_chosen(out, limit, choose)?;
            if out.len() > from {
                let starts = self.pass > 0 && !self.has_begun;
                self.has_begun = true;
                self.requests += (out.len() - from) as u64;
                self.bytes = out[from..].iter().fold(self.bytes, |sum, request| sum.saturating_add(request.length.0));
                return Ok(starts);
            }
            if self.current.is_over() {
                self.advance();
            } else {
                // A limit of the whole job.
                self.is_over = true;
            }
        }
        Ok(false)
    }
}

impl Source for Passes {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        self.fill_chosen(out, limit, &mut |op| op)
    }

    fn fill_chosen(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<(), Problems> {
        let from = out.len();
        loop {
            let before = out.len();
            if before == from + limit {
                return Ok(());
            }
            self.fill_pass(out, from + limit - before, choose)?;
            if out.len() == before {
                return Ok(());
            }
        }
    }
}

/// Rule by which flushes are inserted into a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushRule {
    /// Numbers of writes after which a flush follows (`fsync`, `fdatasync`); zero: none.
    pub every: [u64; 2],
    /// True if a flush follows the last request of each pass of a job that writes.
    pub at_end: bool,
}

impl FlushRule {
    /// Returns true if the rule inserts any flush.
    pub fn inserts_any(&self) -> bool {
        self.at_end || self.every != [0, 0]
    }
}

/// Source into which flushes are inserted.
pub struct Flushes {
    inner: Passes,
    rule: FlushRule,
    /// Requests of `inner` that have not been passed on, and the place of the next.
    ahead: (Vec<Request>, usize),
    writes: u64,
    is_due: bool,
    /// Last request passed on.
    last: Option<Request>,
    /// True if the requests ahead are those of another pass, and the flush at the end of the one before is due.
    pass_has_ended: bool,
    /// True if the flush at the end has not been submitted.
    end_is_open: bool,
}

impl Flushes {
    /// Returns `inner` with the flushes of `rule`.
    pub fn new(inner: Passes, rule: FlushRule) -> Flushes {
        Flushes {
            inner,
            rule,
            ahead: (Vec::new(), 0),
            writes: 0,
            is_due: false,
            last: None,
            pass_has_ended: false,
            end_is_open: rule.at_end,
        }
    }

    /// Returns the next request of the inner source.
    fn next(&mut self, batch: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<Option<Request>, Problems> {
        if self.ahead.1 == self.ahead.0.len() {
            self.ahead.0.clear();
            self.ahead.1 = 0;
            let starts = self.inner.fill_pass(&mut self.ahead.0, batch, choose)?;
            self.pass_has_ended = starts && self.rule.at_end && self.writes > 0;
        }
        Ok(self.ahead.0.get(self.ahead.1).copied())
    }

    /// Returns the flush that follows the last request, at the same time.
    fn flush(&self) -> Option<Request> {
        self.last.map(|last| Request { op: Op::Flush, offset: Bytes(0), length: Bytes(0), ..last })
    }
}

impl Source for Flushes {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        self.fill_chosen(out, limit, &mut |op| op)
    }

    fn fill_chosen(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<(), Problems> {
        for _ in 0..limit {
            let Some(request) = self.next(limit, choose)? else {
                // As in fio, no flush of the intervals follows the last request.
                if std::mem::take(&mut self.end_is_open) && self.writes > 0 {
                    out.extend(self.flush());
                }
                return Ok(());
            };
            // A flush that is due is submitted before the one at the end of a pass, as in fio.
            if std::mem::take(&mut self.is_due) || std::mem::take(&mut self.pass_has_ended) {
                out.extend(self.flush());
                continue;
            }
            self.ahead.1 += 1;
            self.last = Some(request);
            if request.op == Op::Write {
                self.writes += 1;
                self.is_due = self.rule.every.iter().any(|&every| every > 0 && self.writes.is_multiple_of(every));
            }
            out.push(request);
        }
        Ok(())
    }
}
