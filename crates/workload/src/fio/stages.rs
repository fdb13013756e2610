//! Stages between the requests of a job's blocks and the job: repetitions (`loops`) and flushes (`fsync`).

use crate::generator::BlockSource;
use crate::{Request, Source};
use kit::{Bytes, Op, Problems};

/// Source that is repeated from its first request a number of times.
pub struct Loops<F> {
    make: F,
    current: BlockSource,
    left: u64,
}

impl<F: Fn() -> BlockSource + Send> Loops<F> {
    /// Returns `count` repetitions of the source that `make` returns.
    pub fn new(make: F, count: u64) -> Loops<F> {
        assert!(count >= 1, "a job runs at least once");
        Loops { current: make(), make, left: count - 1 }
    }
}

impl<F: Fn() -> BlockSource + Send> Source for Loops<F> {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        self.fill_chosen(out, limit, &mut |op| op)
    }

    fn fill_chosen(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<(), Problems> {
        let from = out.len();
        while out.len() < from + limit {
            let before = out.len();
            self.current.fill_chosen(out, from + limit - before, choose)?;
            if out.len() == before {
                if self.left == 0 {
                    return Ok(());
                }
                self.left -= 1;
                self.current = (self.make)();
            }
        }
        Ok(())
    }
}

/// Rule by which flushes are inserted into a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushRule {
    /// Numbers of writes after which a flush follows (`fsync`, `fdatasync`); zero: none.
    pub every: [u64; 2],
    /// True if a flush follows the last request of a job that writes.
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
    inner: Box<dyn Source>,
    rule: FlushRule,
    /// Requests of `inner` that have not been passed on, and the place of the next.
    ahead: (Vec<Request>, usize),
    writes: u64,
    is_due: bool,
    /// Last request passed on, and true if the flush at the end has not been submitted.
    last: Option<Request>,
    end_is_open: bool,
}

impl Flushes {
    /// Returns `inner` with the flushes of `rule`.
    pub fn new(inner: Box<dyn Source>, rule: FlushRule) -> Flushes {
        Flushes { inner, rule, ahead: (Vec::new(), 0), writes: 0, is_due: false, last: None, end_is_open: rule.at_end }
    }

    /// Returns the next request of the inner source.
    fn next(&mut self, batch: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<Option<Request>, Problems> {
        if self.ahead.1 == self.ahead.0.len() {
            self.ahead.0.clear();
            self.ahead.1 = 0;
            self.inner.fill_chosen(&mut self.ahead.0, batch, choose)?;
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
            if std::mem::take(&mut self.is_due) {
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
