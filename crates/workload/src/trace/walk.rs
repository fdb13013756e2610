//! Shows every request of a trace to an analysis: while the trace is scanned, and again on demand.

use super::options::{Address, Layout, Options, Plan};
use super::reader::Record;
use super::replay::{changed, checked_period_ns, scaled};
use super::scan::{RecordObserver, Scan, TraceInfo, scan_observed};
use super::select::Selection;
use crate::{Input, Request};
use kit::{Bytes, Problems, SimTime};

/// Last instant of the clock of an analysis; [`checked_period_ns`] refuses traces that reach it.
const LAST_NS: u64 = (1 << 63) - 1;

/// Observer of the requests of a trace, in the order of time. A request's `stream` is the number of its address space,
/// to which its `offset` refers: each stream has its own, or all share the one with number 0 (layout `overlay`).
pub trait Visitor {
    /// Forgets all requests so far: they were misread, and all of them will be shown again.
    fn restart(&mut self);
    /// Announces a request that will be visited soon, so that the visitor can prefetch its state of that address and
    /// the memory latencies of several requests overlap. Must change nothing.
    fn hint(&self, _: &Request) {}
    /// Visits the next request.
    fn visit(&mut self, request: &Request) -> Result<(), Problems>;
}

/// Trace that has been walked once.
pub struct Walk {
    input: Input,
    plan: Plan,
    scan: Scan,
    period_ns: u64,
}

impl Walk {
    /// Reads `input`, checks every line, and shows `visitor` the selected requests, `repeat` times, at their times
    /// divided by the time scale.
    pub fn first(input: &Input, options: &Options, visitor: &mut impl Visitor) -> Result<Walk, Problems> {
        let plan = options.plan()?;
        if matches!(plan.address, Address::Wrap | Address::Scale) {
            return Err(Problems::one(
                "address",
                format!("`{}` needs a drive: an analysis uses recorded addresses: leave it out", options.address),
            ));
        }
        let mut first = FirstPass { batch: Batch::new(visitor, &plan), first_ns: None };
        let scan = scan_observed(input, options.format.as_deref(), &plan, &mut first)?;
        first.batch.show()?;
        let period_ns = checked_period_ns(&scan, &plan)?;
        let walk = Walk { input: input.clone(), plan, scan, period_ns };
        walk.passes(1, visitor)?;
        Ok(walk)
    }

    /// Shows `visitor` the same requests once more, in all passes.
    pub fn again(&self, visitor: &mut impl Visitor) -> Result<(), Problems> {
        self.passes(0, visitor)
    }

    /// Returns the summary of the trace.
    pub fn info(&self) -> &TraceInfo {
        &self.scan.info
    }

    /// Returns the factor by which recorded times are divided.
    pub fn time_scale(&self) -> f64 {
        self.plan.time_scale
    }

    /// Returns an error if the trace has no times; `what` names the analysis that needs them.
    pub fn needs_times(&self, what: &str) -> Result<(), Problems> {
        if self.scan.chosen.timed || self.scan.info.span_ns > 0 {
            return Ok(());
        }
        let format = self.scan.chosen.name;
        Err(Problems::one(&self.input.name, format!("{format} records no times: expected a trace with times, for {what}")))
    }

    /// Shows the passes after the first `done` ones.
    fn passes(&self, done: u32, visitor: &mut impl Visitor) -> Result<(), Problems> {
        let mut batch = Batch::new(visitor, &self.plan);
        for pass in done..self.plan.repeat {
            let shift_ns = u64::from(pass) * self.period_ns;
            let mut selection = Selection::open(&self.input, &self.scan.chosen, &self.plan)?;
            let mut first_ns = None;
            while let Some(record) = selection.next()? {
                let since_ns = record.at_ns - *first_ns.get_or_insert(record.at_ns);
                if since_ns > self.scan.info.span_ns || !self.knows(&record) {
                    return Err(changed(&self.input.name, record.line));
                }
                batch.add(&record, since_ns + shift_ns)?;
            }
        }
        batch.show()
    }

    /// Returns true if the record lies within the addresses that the scan saw.
    fn knows(&self, record: &Record) -> bool {
        let stream = self.scan.info.by_stream.get(usize::from(record.stream));
        stream.is_some_and(|stream| record.offset + record.length <= stream.max_address_bytes)
    }
}

/// Number of requests shown together.
const BATCH: usize = 32;

/// Requests made from records, collected for a visitor.
struct Batch<'a, V> {
    visitor: &'a mut V,
    time_scale: f64,
    overlay: bool,
    requests: Vec<Request>,
}

impl<'a, V: Visitor> Batch<'a, V> {
    fn new(visitor: &'a mut V, plan: &Plan) -> Batch<'a, V> {
        let overlay = plan.layout == Layout::Overlay;
        Batch { visitor, time_scale: plan.time_scale, overlay, requests: Vec::with_capacity(BATCH) }
    }

    /// Adds a record whose time is `recorded_ns` since the start of the first pass.
    #[inline(always)]
    fn add(&mut self, record: &Record, recorded_ns: u64) -> Result<(), Problems> {
        let at = SimTime(scaled(recorded_ns, self.time_scale).min(LAST_NS));
        let stream = if self.overlay { 0 } else { record.stream };
        let request = Request::new(at, record.op, Bytes(record.offset), Bytes(record.length));
        self.requests.push(Request { stream, ..request });
        if self.requests.len() == BATCH { self.show() } else { Ok(()) }
    }

    /// Shows the requests collected so far.
    fn show(&mut self) -> Result<(), Problems> {
        self.requests.iter().for_each(|request| self.visitor.hint(request));
        self.requests.drain(..).try_for_each(|request| self.visitor.visit(&request))
    }
}

/// Observer of the scan that passes the records on to the batch.
struct FirstPass<'a, V> {
    batch: Batch<'a, V>,
    first_ns: Option<u64>,
}

impl<V: Visitor> RecordObserver for FirstPass<'_, V> {
    fn restart(&mut self) {
        self.first_ns = None;
        self.batch.requests.clear();
        self.batch.visitor.restart();
    }

    #[inline(always)]
    fn record(&mut self, record: &Record) -> Result<(), Problems> {
        let since_ns = record.at_ns - *self.first_ns.get_or_insert(record.at_ns);
        self.batch.add(record, since_ns)
    }
}
