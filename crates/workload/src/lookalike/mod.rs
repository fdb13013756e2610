//! Look-alikes: models of measured traces, a few kilobytes of statistics each, that generate an endless stream of
//! similar requests.
//!
//! Preserved: bursts at every time scale (`arrival`), the order of the operations as a Markov chain, sizes by operation
//! and by kind of request (a jump, or the continuation of a run), sequential runs (several at a time), returns to data
//! read or written before by LRU stack distance, growth of the footprint, alignment, and the position of new data in
//! the address space. Addresses are those of the trace's touched grains, packed together in their order.
//!
//! Not preserved: the correlation between bursts and addresses (a burst of one file), correlations of the order of the
//! operations beyond one step, and the order of the load beyond a sixteenth of the trace. [`compare`] shows how close a
//! look-alike comes.

mod cascade;
mod compare;
mod fit;
mod history;
mod model;
mod quantiles;
mod ranges;
mod recency;
mod source;
mod space;

pub use compare::{Comparison, Measures, compare};
pub use model::{Arrival, Behaviour, Beyond, Description, Kind, Pace, Sizes};
pub use source::LookAlike;

use crate::synthetic::form::{self, Form};
use crate::{Job, Limits, Pacing, Source, Workload};
use kit::{Nanos, Problems, SECTOR_BYTES};

/// Input of a fit beside the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FitInput {
    /// Name of the trace, for the description.
    pub name: String,
}

/// Result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Fitted description.
    pub description: Description,
    /// Messages for the user, one line each.
    pub notes: Vec<String>,
}

/// Fits a look-alike to `requests` (the first 4,000,000 at most); returns its TOML text, and the description with
/// notes.
///
/// Fails if the source fails, or if no request has a length above 0.
pub fn fit(requests: &mut dyn Source, input: FitInput) -> Result<(String, Fit), Problems> {
    let mut taken = fit::collect(requests)?;
    let cut = fit::cut_trims(&mut taken);
    if !taken.iter().any(|request| request.length.0 > 0) {
        return Err(Problems::one(&input.name, "no request has a length above 0: nothing to fit"));
    }
    let description = fit::describe(&taken, &input)?;
    let mut notes = Vec::new();
    if cut > 0 {
        notes.push(format!("{}: {cut} trims of more than 4 GiB count as trims of 4 GiB", input.name));
    }
    if taken.len() == fit::REQUESTS_MAX {
        notes.push(format!("{}: fitted to the first {} requests", input.name, fit::REQUESTS_MAX));
    }
    if taken.iter().all(|request| request.at == taken[0].at) {
        notes.push(format!("{}: the trace has no times: the look-alike has 10,000 requests per second", input.name));
    }
    Ok((written(&description), Fit { description, notes }))
}

/// Returns the TOML of a description; whole numbers in lists lose their `.0`, which would be a fifth of the text.
fn written(description: &Description) -> String {
    let long = toml::to_string(description).expect("a description of plain values is TOML");
    let short = |line: &str| match line.contains(" = [") && !line.contains('"') {
        true => line.replace(".0,", ",").replace(".0]", "]"),
        false => line.to_owned(),
    };
    long.lines().map(|line| short(line) + "\n").collect()
}

/// Reads a look-alike for a drive of `user_bytes`. `name` is its name in messages, `seed` the seed of the run.
///
/// The workload has one job, open-loop unless its `replay` says otherwise. The source is endless; `requests` and
/// `runtime` of the description end the job.
pub fn open(name: &str, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    let form: Form<Description> = form::read(name, text)?;
    let mut problems = Problems::default();
    check(&form, user_bytes, &mut problems);
    problems.or(())?;
    let model = form.value;
    let mut notes = Vec::new();
    let is_endless = model.requests.is_none() && model.runtime.is_none();
    if is_endless {
        notes.push(format!("{name}: a look-alike without `requests` or `runtime` has no end"));
    }
    let job = Job {
        name: model.name.clone(),
        grain: SECTOR_BYTES,
        source: Box::new(LookAlike::new(&model, user_bytes, seed)),
        pacing: if model.replay == Pace::Gaps { Pacing::Gaps } else { Pacing::Open },
        overwrites_in_passes: false,
        limits: Limits { requests: model.requests, bytes: None, runtime: model.runtime },
        think: None,
        rates: None,
        flow: None,
        waits_for: Vec::new(),
        start_delay: Nanos::ZERO,
        ramp_time: model.ramp_time,
        fua: false,
        is_trace: false,
        wave: 0,
    };
    let resolved = format!("# Seed {seed}\n{}", written(&model));
    Ok(Workload { jobs: vec![job], streams: Vec::new(), resolved, notes, period: model.runtime, is_endless, standalone: None })
}

/// Checks the conditions that the schema cannot express.
fn check(form: &Form<Description>, user_bytes: u64, problems: &mut Problems) {
    let model = &form.value;
    let mut expect = |good: bool, field: &str, complaint: &str| {
        if !good {
            problems.add(form.place(field), complaint);
        }
    };
    let extent = model.extent.0;
    expect(
        extent.is_power_of_two() && (4 << 10..=1 << 20).contains(&extent),
        "extent",
        "expected a power of two from 4KiB to 1MiB",
    );
    expect(model.offset.0.is_multiple_of(SECTOR_BYTES), "offset", "expected a multiple of 512 bytes");
    expect(model.region.0 >= 4096 && model.region.0.is_multiple_of(4096), "region", "expected a multiple of 4KiB, at least one");
    expect(model.region.0 / 4096 < u64::from(u32::MAX), "region", "expected less than 16TiB");
    let end = model.offset.0.checked_add(model.region.0);
    let fits = format!(
        "offset {} + region {} do not fit the drive's {user_bytes} bytes: lower one of them, or wrap them (address = \"wrap\")",
        model.offset, model.region
    );
    expect(end.is_some_and(|end| end <= user_bytes || model.address == Beyond::Wrap), "region", &fits);
    expect(model.phases.len() == 8 && weights(&model.phases), "phases", "expected eight frequencies, not all zero");
    expect(square(&model.transitions), "transitions", "expected four rows of four probabilities");
    let arrival = &model.arrival;
    let total = arrival.windows.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
    expect(total.is_some_and(|total| total > 0), "arrival.windows", "expected at least one request");
    expect(arrival.window.0 > 0 && arrival.window.0 < 1 << 62, "arrival.window", "expected a width above 0, below 146 years");
    let correlations = arrival.halves.len() <= 64 && arrival.halves.iter().flatten().all(|c| (-1.0..=1.0).contains(c));
    expect(correlations, "arrival.halves", "expected at most 64 rows of correlations between -1 and 1");
    let behaviours = [("read", &model.read), ("write", &model.write), ("trim", &model.trim)];
    expect(behaviours.iter().any(|(_, behaviour)| behaviour.is_some()), "", "expected at least one of read, write, trim");
    for (op, behaviour) in behaviours {
        if let Some(behaviour) = behaviour {
            for (field, complaint) in complaints(behaviour) {
                expect(false, &format!("{op}.{field}"), complaint);
            }
        }
    }
}

fn square(rows: &[Vec<f64>]) -> bool {
    rows.len() == 4 && rows.iter().all(|row| row.len() == 4 && row.iter().all(|p| *p >= 0.0))
}

fn weights(list: &[f64]) -> bool {
    list.iter().all(|weight| *weight >= 0.0) && list.iter().sum::<f64>() > 0.0
}

/// Returns the problems of the lists of a behaviour: field and complaint.
fn complaints(behaviour: &Behaviour) -> Vec<(&'static str, &'static str)> {
    let tables = [&behaviour.fresh_jump_sizes, &behaviour.return_sizes, &behaviour.fresh_run_sizes, &behaviour.run_sizes];
    let sizes = |sizes: &Sizes| {
        let good = sizes.bytes.iter().all(|bytes| bytes.0 > 0 && bytes.0.is_multiple_of(SECTOR_BYTES) && bytes.0 < 1 << 40);
        let paired = sizes.bytes.len() == sizes.weights.len() && weights(&sizes.weights);
        good && (paired || sizes.bytes.is_empty() && sizes.weights.is_empty())
    };
    let eight = |list: &[f64]| list.len() <= history::RUNS && list.iter().all(|weight| *weight >= 0.0);
    let shares = |list: &[f64]| list.iter().all(|share| (0.0..=1.0).contains(share));
    let counts = |list: &[f64]| list.iter().all(|count| (0.0..1e12).contains(count));
    let checks = [
        (
            tables.iter().all(|table| sizes(table)),
            "return_sizes",
            "in these or the other sizes: expected multiples of 512 bytes, each with a weight",
        ),
        (tables.iter().any(|table| !table.bytes.is_empty()), "return_sizes", "expected sizes here or in one of the other tables"),
        (shares(&behaviour.fresh_stays), "fresh_stays", "expected shares between 0 and 1"),
        (shares(&behaviour.fresh_begins), "fresh_begins", "expected shares between 0 and 1"),
        (counts(&behaviour.room), "room", "expected KiB of 0 or more"),
        (eight(&behaviour.runs), "runs", "expected at most eight frequencies of 0 or more"),
        (eight(&behaviour.fresh_runs), "fresh_runs", "expected at most eight frequencies of 0 or more"),
        (square(&behaviour.kinds), "kinds", "expected four rows of four probabilities"),
        (!behaviour.growth.is_empty() && counts(&behaviour.growth), "growth", "expected factors of 0 or more, at least one"),
        (counts(&behaviour.written_distances), "written_distances", "expected distances of 0 or more"),
        (counts(&behaviour.read_distances), "read_distances", "expected distances of 0 or more"),
        (shares(&behaviour.places), "places", "expected shares of the region between 0 and 1"),
        (behaviour.near_jumps.iter().all(|jump| jump.abs() < 1e12), "near_jumps", "expected KiB"),
    ];
    checks.into_iter().filter(|(good, _, _)| !good).map(|(_, field, complaint)| (field, complaint)).collect()
}
