//! Opens any workload; its kind is recognised from its content.

use crate::input::{Input, Kind, kind};
pub use crate::trace::Options;
use crate::{Workload, fio, lookalike, synthetic, trace, xml};
use kit::{Problem, Problems};

/// Drive for which a workload is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// User capacity \[bytes\].
    pub user_bytes: u64,
    /// Size of a zone of a drive with zones \[bytes\].
    pub zone_bytes: Option<u64>,
}

impl Target {
    /// Returns a drive of `user_bytes` without zones.
    pub fn of(user_bytes: u64) -> Target {
        Target { user_bytes, zone_bytes: None }
    }
}

/// Opens a workload for a drive of `user_bytes` without zones ([`open_on`]).
pub fn open(input: &Input, user_bytes: u64, options: &Options) -> Result<Workload, Problems> {
    open_on(input, &Target::of(user_bytes), options)
}

/// Opens a workload for a drive: a fio job file, a workload TOML (`kind = "..."`), an XML profile or a
/// trace.
///
/// fio jobs and XML profiles use only the seed of `options`, the keys to ignore and the scenario, models only the seed;
/// for them, options that apply to traces only are errors.
pub fn open_on(input: &Input, drive: &Target, options: &Options) -> Result<Workload, Problems> {
    let user_bytes = drive.user_bytes;
    let head = trace::Head::of(input, options.format.as_deref())?;
    let kind = if options.format.is_some() || options.columns.is_some() { Kind::Trace } else { kind(&head.lines) };
    let is_profile = matches!(kind, Kind::Fio | Kind::Xml);
    for (option, given, takes, what) in [
        ("ignore", !options.ignore.is_empty(), is_profile, "fio job files and XML profiles"),
        ("var", !options.var.is_empty(), kind == Kind::Fio, "fio job files"),
        ("scenario", options.scenario.is_some(), kind == Kind::Xml, "scenarios of MQSim"),
    ] {
        if given && !takes {
            let what = format!("applies to {what} only, and {} is not one: leave it out", input.name);
            return Err(Problems::one(option, what));
        }
    }
    if kind == Kind::Trace {
        return trace::open(input, user_bytes, options);
    }
    let text = text(input)?;
    refuse_trace_options(input, options)?;
    match kind {
        Kind::Xml => {
            let chosen = xml::Chosen { ignore: &options.ignore, scenario: options.scenario };
            xml::open(&input.name, &text, user_bytes, options.seed, chosen)
        }
        Kind::Model(kind) => model(&kind, input, &text, user_bytes, options.seed),
        _ => {
            let surroundings = fio::text::Surroundings {
                ignore: &options.ignore,
                variables: &options.var,
                environment: &|name| input.surroundings.as_ref().and_then(|around| around.variable(name)),
                include: &|file| match &input.surroundings {
                    Some(around) => around.file(file).map_err(|error| error.to_string()),
                    None => (fio::text::Surroundings::NONE.include)(file),
                },
            };
            fio::open_in(&input.name, &text, drive, options.seed, surroundings)
        }
    }
}

/// Opens a workload description by its kind.
fn model(kind: &str, input: &Input, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    match kind {
        "lookalike" => lookalike::open(&input.name, text, user_bytes, seed),
        "synthetic" => synthetic::open(&input.name, text, user_bytes, seed),
        "trace" => Err(Problems::one(&input.name, "describes how a trace was replayed: expected the trace file itself")),
        other => Err(Problem::unknown(&input.name, "kind of workload", other, ["synthetic", "lookalike"]).into()),
    }
}

/// Reads the whole input as text: descriptions are small.
fn text(input: &Input) -> Result<String, Problems> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidData => Problems::one(&input.name, error.to_string()),
        _ => Problems::one(&input.name, format!("cannot be read: {error}")),
    };
    let mut text = (input.open)().and_then(kit::capped::read_text).map_err(unreadable)?;
    // Some editors begin a file with a byte-order mark.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Refuses options that apply to traces only: if they were ignored silently, a user would believe that they took
/// effect.
fn refuse_trace_options(input: &Input, options: &Options) -> Result<(), Problems> {
    let plain = Options { seed: options.seed, ..Options::default() };
    let mut problems = Problems::default();
    let mut check = |name: &str, given: bool| {
        if given {
            problems.add(name, format!("applies to traces only, and {} is not one: leave it out", input.name));
        }
    };
    check("arrival", options.arrival.is_some());
    check("object_id", options.object_id.is_some());
    check("address", options.address != plain.address);
    check("layout", options.layout != plain.layout);
    check("streams", !options.streams.is_empty());
    check("time_scale", options.time_scale != plain.time_scale);
    check("repeat", options.repeat != plain.repeat);
    check("slice", options.slice.is_some());
    check("replay", options.replay.is_some());
    check("strict_time", options.strict_time);
    check("max_requests", options.max_requests.is_some());
    if options.ramp_time.is_some() {
        problems.add("ramp_time", format!("applies to traces: expected `ramp_time` in {}", input.name));
    }
    problems.or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_traces_are_refused_elsewhere() {
        let options = Options { repeat: 2, address: "wrap".into(), ..Options::default() };
        let text =
            open(&Input::text("a.fio", "[a]\nrw=read\n"), 1 << 30, &options).map(drop).expect_err("two options").to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
