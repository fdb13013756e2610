//! Totals of commands as sections: of the whole run, and of each stream.

use crate::statistics::Statistics;
use crate::totals::{StreamTotals, Totals};
use kit::{Cause, Histogram, Op, SimTime, Sums};
use serde_json::{Map, Value, json};

/// Returns the operations that a section lists: the common ones, and of the others those that occurred.
fn listed(totals: &Totals) -> impl Iterator<Item = &'static Op> {
    Op::ALL.iter().filter(|op| Op::COMMON.contains(op) || totals.sums[**op as usize].count() > 0)
}

/// Returns the number of commands by operation.
pub(super) fn commands(totals: &Totals) -> Value {
    listed(totals).map(|op| (op.name().to_owned(), json!(totals.sums[*op as usize].count()))).collect::<Map<_, _>>().into()
}

/// Returns the latencies of all operations together, and of each.
pub(super) fn latencies(totals: &Totals) -> Value {
    let (sums, histogram) = totals.all();
    let all = std::iter::once(("all".to_owned(), latency(&sums, &histogram)));
    let of = |op: &Op| (op.name().to_owned(), latency(&totals.sums[*op as usize], &totals.histograms[*op as usize]));
    all.chain(listed(totals).map(of)).collect::<Map<_, _>>().into()
}

/// Returns rates over `span_ns` and bytes.
pub(super) fn throughput(totals: &Totals, span_ns: u64) -> Value {
    let per_second = |amount: u64| if span_ns > 0 { json!(amount as f64 * 1e9 / span_ns as f64) } else { Value::Null };
    json!({
        "iops": per_second(totals.count()),
        "read_bytes_per_s": per_second(totals.bytes[Op::Read as usize]),
        "write_bytes_per_s": per_second(totals.bytes[Op::Write as usize]),
        "read_bytes": totals.bytes[Op::Read as usize],
        "write_bytes": totals.bytes[Op::Write as usize],
    })
}

/// Returns the causes of all commands, of reads and of writes.
pub(super) fn causes(totals: &Totals) -> Value {
    json!({
        "all": by_cause(&totals.all().0),
        "read": by_cause(&totals.sums[Op::Read as usize]),
        "write": by_cause(&totals.sums[Op::Write as usize]),
    })
}

/// Percentiles beyond which the causes are stated, each with its name in the results.
const TAILS: [(&str, f64); 3] = [("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// Returns the causes of the slowest of all commands, of reads and of writes.
pub(super) fn causes_of_tails(totals: &Totals) -> Value {
    let of = |op: Op| tails(&totals.sums[op as usize], &totals.histograms[op as usize]);
    let (sums, histogram) = totals.all();
    json!({"all": tails(&sums, &histogram), "read": of(Op::Read), "write": of(Op::Write)})
}

fn tails(sums: &Sums, histogram: &Histogram) -> Value {
    let one = |fraction: f64| {
        sums.tail(histogram, fraction, super::BEYOND).map(|tail| {
            let charged = Cause::ALL.iter().map(|cause| (cause.name(), tail.causes_ns[*cause as usize]));
            let charged = charged.filter(|(_, ns)| *ns > 0.0).map(|(name, ns)| (name.to_owned(), json!(ns)));
            json!({"count": tail.count, "mean_ns": tail.mean_ns(), "causes": charged.collect::<Map<_, _>>()})
        })
    };
    TAILS.iter().map(|(name, fraction)| ((*name).to_owned(), json!(one(*fraction)))).collect::<Map<_, _>>().into()
}

/// Returns the section `streams`: the totals of each stream, with rates over the time from its first submission to its
/// last completion.
pub(super) fn streams(statistics: &Statistics) -> Value {
    // A command may have been in flight when the measurement began.
    let since_start = |at: SimTime| at.max(statistics.start).since(statistics.start).0;
    let entry = |stream: &StreamTotals| {
        json!({
            "name": stream.name,
            "begin_ns": stream.begin.map(since_start),
            "end_ns": stream.begin.map(|_| since_start(stream.end)),
            "commands": commands(&stream.totals),
            "latency": latencies(&stream.totals),
            "throughput": throughput(&stream.totals, stream.span_ns()),
            "causes": causes(&stream.totals),
        })
    };
    statistics.streams.all().iter().map(entry).collect::<Vec<_>>().into()
}

fn latency(sums: &Sums, histogram: &Histogram) -> Value {
    let percentile = |fraction: f64| histogram.percentile(fraction, super::BEYOND);
    json!({
        "count": sums.count(),
        "mean_ns": sums.mean(),
        "stddev_ns": sums.stddev(),
        "min_ns": histogram.min(),
        "p50_ns": percentile(0.5),
        "p90_ns": percentile(0.9),
        "p99_ns": percentile(0.99),
        "p99_9_ns": percentile(0.999),
        "p99_99_ns": percentile(0.9999),
        "max_ns": histogram.max(),
    })
}

/// Returns the mean time charged to each cause \[ns\]; causes without any time are left out. The values sum to the mean
/// latency.
fn by_cause(sums: &Sums) -> Value {
    let count = sums.count() as f64;
    let charged = Cause::ALL.iter().map(|cause| (cause.name(), sums.cause_ns(*cause as usize))).filter(|(_, ns)| *ns > 0);
    Value::Object(charged.map(|(name, ns)| (name.to_owned(), json!(ns as f64 / count))).collect())
}
