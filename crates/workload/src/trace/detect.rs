//! Detection of the format of a trace from its content, never from its name.
//!
//! A format *fits* if its parser accepts every line of the first 64 KiB, finds a request among them, and the format's
//! conditions on the lines as a whole hold (times with or without decimals, TABs). Of several formats that fit, the
//! first in the family's list whose units are plausible is chosen (each format defines its own test), or the first of
//! all if none is plausible; the other formats that fit are reported as `format_candidates`. If no format fits, the one
//! that the first line names is chosen, or else the one that accepts most of the lines, provided that it accepts at
//! least half of them: its reader then reports the faulty line.

use super::format::{self, Format, Line, Parser, Raw, Reading};
use super::lines::Head;
use super::options::Plan;
use super::reader::first_line;
use crate::Input;
use kit::{Problem, Problems};

/// Format chosen for a trace.
pub struct Chosen {
    /// Name of the format; `columns` for a table that the user describes.
    pub name: &'static str,
    /// Other formats that fit.
    pub candidates: Vec<&'static str>,
    /// True if the format has times.
    pub timed: bool,
    /// Largest step of the clock \[ns\]; a larger step means that the clock was set. `None`: steps of any size are
    /// taken as they are.
    pub clock_set_ns: Option<u64>,
    /// Unit of its times \[ns\], if nothing in the trace shows it.
    pub unit_ns: Option<u64>,
    /// Parser positioned at the first line, from which further parsers are made.
    pub parser: Box<dyn Parser>,
}

impl Chosen {
    fn of(format: &'static dyn Format, head: &Head, candidates: Vec<&'static str>, reading: Reading) -> Result<Chosen, Problems> {
        if reading.arrival.is_some() && !format.has_arrivals() {
            return Err(no_arrivals(format.name()));
        }
        if reading.object_id.is_some() && !format.has_objects() {
            return Err(no_objects(format.name()));
        }
        let (name, timed, clock_set_ns) = (format.name(), format.timed(), format.clock_set_ns());
        let parser = format.parser(&head.lines, reading);
        Ok(Chosen { name, candidates, timed, clock_set_ns, unit_ns: format.unit_ns(), parser })
    }
}

/// Returns the error for a choice of arrivals in a format that has none.
fn no_arrivals(name: &str) -> Problems {
    let names: Vec<&str> = format::all().filter(|format| format.has_arrivals()).map(Format::name).collect();
    let complaint = format!("{name} records one time for each request: leave it out; expected a trace in {}", names.join(", "));
    Problems::one("arrival", complaint)
}

/// Returns the error for a meaning of objects in a format that has none.
fn no_objects(name: &str) -> Problems {
    let names: Vec<&str> = format::all().filter(|format| format.has_objects()).map(Format::name).collect();
    let complaint = format!("{name} records addresses: leave it out; expected a trace in {}", names.join(", "));
    Problems::one("object_id", complaint)
}

/// Result of reading the head in one format.
struct Fit {
    format: &'static dyn Format,
    taken: usize,
    refused: usize,
    parsed: Vec<Raw>,
}

impl Fit {
    fn of(format: &'static dyn Format, head: &Head) -> Fit {
        let mut parser = format.parser(&head.lines, Reading::default());
        let mut fit = Fit { format, taken: 0, refused: 0, parsed: Vec::new() };
        let mut raw = Raw::default();
        for line in head.lines.iter().filter(|line| !line.trim_ascii().is_empty()) {
            match parser.line(line, &mut raw) {
                Ok(kind) => {
                    fit.taken += 1;
                    fit.parsed.extend((kind == Line::Request).then_some(raw));
                }
                Err(_) => fit.refused += 1,
            }
            // A format that accepts none of the first lines is not the right one.
            if fit.taken == 0 && fit.refused >= 64 {
                break;
            }
        }
        fit
    }
}

/// Chooses the format of `input`: the table that the plan describes, else the format `named` by the user, else the
/// format recognised from the content.
pub fn choose(input: &Input, named: Option<&str>, plan: &Plan) -> Result<Chosen, Problems> {
    let head = Head::of(input, named)?;
    if head.lines.iter().all(|line| line.trim_ascii().is_empty()) && head.whole {
        return Err(Problems::one(&input.name, "empty: expected a trace, a fio job file or a workload description"));
    }
    if let Some(table) = &plan.table {
        if plan.reading.arrival.is_some() {
            return Err(no_arrivals("a table of `columns`"));
        }
        if plan.reading.object_id.is_some() {
            return Err(no_objects("a table of `columns`"));
        }
        let (parser, unit_ns) = (Box::new(table.parser()), table.unit_ns());
        return Ok(Chosen { name: "columns", candidates: Vec::new(), timed: true, clock_set_ns: None, unit_ns, parser });
    }
    if let Some(name) = named {
        let names = || format::all().map(Format::name);
        let format = format::named(name).ok_or_else(|| Problem::unknown("format", "trace format", name, names()))?;
        return Chosen::of(format, &head, Vec::new(), plan.reading);
    }
    recognise(input, &head, plan.reading)
}

fn recognise(input: &Input, head: &Head, reading: Reading) -> Result<Chosen, Problems> {
    let fits: Vec<Fit> = format::all().map(|format| Fit::of(format, head)).collect();
    let whole: Vec<&Fit> =
        fits.iter().filter(|fit| fit.refused == 0 && !fit.parsed.is_empty() && fit.format.fits(&head.lines)).collect();
    let best = whole.iter().find(|fit| fit.format.plausible(&fit.parsed)).or(whole.first());
    if let Some(best) = best {
        let others = whole.iter().map(|fit| fit.format.name()).filter(|name| *name != best.format.name()).collect();
        return Chosen::of(best.format, head, others, reading);
    }
    // A first line that names its format settles it, however many of the other lines are faulty.
    let first = head.lines.iter().find(|line| !line.trim_ascii().is_empty()).map_or(&[][..], Vec::as_slice);
    if let Some(format) = format::all().find(|format| format.is_named_by(first)) {
        return Chosen::of(format, head, Vec::new(), reading);
    }
    // No format fits: the head is a header without requests, or one of its lines is faulty.
    let lines = head.lines.iter().filter(|line| !line.trim_ascii().is_empty()).count();
    let nearly = |fit: &&Fit| fit.taken * 2 >= lines && (fit.refused == 0 || !fit.parsed.is_empty());
    let best = fits.iter().filter(nearly).fold(None::<&Fit>, |best, fit| match best {
        Some(best) if best.taken >= fit.taken => Some(best),
        _ => Some(fit),
    });
    match best {
        Some(best) => Chosen::of(best.format, head, Vec::new(), reading),
        None => Err(unknown(input, head)),
    }
}

fn unknown(input: &Input, head: &Head) -> Problems {
    let place = format!("{}:1", input.name);
    if head.lines.iter().any(|line| line.contains(&0)) {
        return Problems::one(
            place,
            "binary data: expected text, or a binary trace of blktrace, vSCSI or oracleGeneral, plain or compressed with gzip or Zstandard",
        );
    }
    if let Some(other) = crate::input::other_than_trace(&head.lines) {
        return Problems::one(place, format!("{other}: expected a trace"));
    }
    let names: Vec<&str> = format::all().map(Format::name).collect();
    let header = if starts_with_header(head) {
        "; its first line looks like a header: name its columns, such as `--columns time=Timestamp:us,op=Type,offset=Offset:B,size=Size:B`"
    } else {
        ""
    };
    Problems::one(
        place,
        format!(
            "the format is not recognised: found {}, expected a fio job file, a workload description or a trace in one of the formats {} \
             (name it with `--format`, or describe a table with `--columns`{header})",
            first_line(&head.lines),
            names.join(", ")
        ),
    )
}

/// Returns true if the first line consists of at least four names with commas, semicolons or TABs between them.
fn starts_with_header(head: &Head) -> bool {
    let first = head.lines.first().map_or(&[][..], Vec::as_slice);
    [b',', b';', b'\t'].iter().any(|separator| {
        let names: Vec<&[u8]> = first.split(|byte| byte == separator).map(<[u8]>::trim_ascii).collect();
        let is_name = |name: &&[u8]| name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'"');
        names.len() >= 4 && names.iter().all(is_name)
    })
}
