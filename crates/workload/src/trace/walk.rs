//! Every request of a trace, shown to an analysis: while the trace is scanned, and again as often as it is wanted.

use super::options::{Address, Layout, Options, Plan};
use super::reader::Record;
use super::replay::{changed, checked_period_ns, scaled};
use super::scan::{Look, Scan, TraceInfo, scan_seen};
use super::select::Selection;
use crate::{Input, Request};
use kit::{Bytes, Problems, SimTime};

/// The last instant that the clock of an analysis has; [`checked_period_ns`] refuses traces that come to it.
const LAST_NS: u64 = (1 << 63) - 1;

/// What is shown the requests of a trace in the order of time. A request's `stream` is the number of its address space, in
/// which its `offset` counts: each stream has its own, or all share the one with number 0 (layout `overlay`).
pub trait Visitor {
    /// Forgets every request: they were misread, and all of them come again.
    fn restart(&mut self);
    /// Hears of a request that it will see soon, so that it can fetch what it remembers of its place: the waits for memory of
    /// several requests then overlap. Must change nothing.
    fn hint(&self, _: &Request) {}
    /// Sees the next request.
    fn visit(&mut self, request: &Request) -> Result<(), Problems>;
}

/// A trace that has been walked through once.
pub struct Walk {
    input: Input,
    plan: Plan,
    scan: Scan,
    period_ns: u64,
}

impl Walk {
    /// Reads `input`, checks every line, and shows `visitor` the requests that the options select, as often as they say
    /// (`repeat`), at their times divided by the time scale.
    pub fn first(input: &Input, options: &Options, visitor: &mut impl Visitor) -> Result<Walk, Problems> {
        let plan = options.plan()?;
        if matches!(plan.address, Address::Wrap | Address::Scale) {
            return Err(Problems::one(
                "address",
                format!("`{}` needs a drive: expected none for an analysis, which takes addresses as they are", options.address),
            ));
        }
        let mut first = FirstPass { batch: Batch::new(visitor, &plan), first_ns: None };
        let scan = scan_seen(input, options.format.as_deref(), &plan, &mut first)?;
        first.batch.show()?;
        let period_ns = checked_period_ns(&scan, &plan)?;
        let walk = Walk { input: input.clone(), plan, scan, period_ns };
        walk.passes(1, visitor)?;
        Ok(walk)
    }

    /// Shows `visitor` the same requests, all passes of them, once more.
    pub fn again(&self, visitor: &mut impl Visitor) -> Result<(), Problems> {
        self.passes(0, visitor)
    }

    /// What is in the trace.
    pub fn info(&self) -> &TraceInfo {
        &self.scan.info
    }

    /// How many times faster than recorded.
    pub fn time_scale(&self) -> f64 {
        self.plan.time_scale
    }

    /// An error where the trace has no times, which `what` is about.
    pub fn needs_times(&self, what: &str) -> Result<(), Problems> {
        if self.scan.chosen.timed || self.scan.info.span_ns > 0 {
            return Ok(());
        }
        let format = self.scan.chosen.name;
        Err(Problems::one(&self.input.name, format!("{format} records no times: expected a trace with times, for {what}")))
    }

    /// The passes after the first `done` ones.
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

    /// Whether the scan saw such a record.
    fn knows(&self, record: &Record) -> bool {
        let stream = self.scan.info.by_stream.get(usize::from(record.stream));
        stream.is_some_and(|stream| record.offset + record.length <= stream.max_address_bytes)
    }
}

/// Requests shown together.
const BATCH: usize = 32;

/// Makes requests of records, and shows them to a visitor.
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

    /// Adds a record at `recorded_ns` of all passes.
    #[inline(always)]
    fn add(&mut self, record: &Record, recorded_ns: u64) -> Result<(), Problems> {
        self.requests.push(Request {
            at: SimTime(scaled(recorded_ns, self.time_scale).min(LAST_NS)),
            op: record.op,
            stream: if self.overlay { 0 } else { record.stream },
            offset: Bytes(record.offset),
            length: Bytes(record.length),
        });
        if self.requests.len() == BATCH { self.show() } else { Ok(()) }
    }

    /// Shows what was not shown yet.
    fn show(&mut self) -> Result<(), Problems> {
        self.requests.iter().for_each(|request| self.visitor.hint(request));
        self.requests.drain(..).try_for_each(|request| self.visitor.visit(&request))
    }
}

/// Hands on the records of the scan.
struct FirstPass<'a, V> {
    batch: Batch<'a, V>,
    first_ns: Option<u64>,
}

impl<V: Visitor> Look for FirstPass<'_, V> {
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
