//! Traces: single lines given to the parser of each format, and whole files that are scanned, replayed and converted.

use crate::text::{self, Lines};
use crate::workload_checks::{Reach, assert_requests};
use arbitrary::Arbitrary;
use kit::{Op, Problems};
use std::fmt::Write as _;
use workload::trace::format::{self, Format, Line, Parser, Raw, Reading, Writer};
use workload::trace::{self, Options};
use workload::{Input, Target, open_on};

/// Size of the drive for which traces are opened \[bytes\].
const DRIVE_BYTES: u64 = 1 << 30;
/// Bytes of the address space and of one request up to which a reader accepts them.
const ADDRESS_MAX: u64 = 1 << 60;
const LENGTH_MAX: u64 = 1 << 32;
/// Largest unit of the times that formats write \[ns\].
const UNIT_NS_MAX: u64 = 1000;

/// Lines in a format, made from those of its sample.
#[derive(Arbitrary, Debug)]
struct Sampled {
    format: u8,
    arrival: Option<bool>,
    object: Option<u8>,
    lines: Lines,
    /// A request that is written in the format, and read again.
    written: Written,
}

#[derive(Arbitrary, Debug)]
struct Written {
    at_ns: u64,
    op: u8,
    sector: u64,
    sectors: u32,
    stream: u16,
}

fn nth(index: u8) -> &'static dyn Format {
    format::all().nth(usize::from(index) % format::all().count()).expect("it is below their number")
}

fn reading(arrival: Option<bool>, object: Option<u8>) -> Reading {
    let arrival = arrival.map(|queued| if queued { "queued" } else { "issued" }.to_owned());
    let object_id = object.map(|kind| ["sector", "page", "byte", "name"][usize::from(kind) % 4].to_owned());
    Options { arrival, object_id, ..Options::default() }.plan().expect("known words").reading
}

/// Checks lines: in an input that is a text, the first byte is the number of the format.
pub fn check_lines(input: &[u8]) {
    if let Some(Sampled { format, arrival, object, lines, written }) = text::typed(input) {
        let format = nth(format);
        let sample: Vec<&str> = format.sample().lines().collect();
        // The first line may be the header without which the format is not recognised.
        let text = format!("{}\n{}", sample.first().unwrap_or(&""), lines.of(&sample));
        parse_lines(format, text.as_bytes(), reading(arrival, object));
        check_written(format, &written);
    } else if let Some((&first, text)) = input.split_first() {
        parse_lines(nth(first.wrapping_sub(b'A')), text, Reading::default());
    }
}

/// Parses every line of a text, and checks what comes out.
fn parse_lines(format: &dyn Format, text: &[u8], reading: Reading) {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let head: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
    let mut parser = format.parser(&head, reading);
    assert_parsed(&mut *parser, &lines);
    // The choices that the lines called for must not lead elsewhere than to lines and faults.
    assert_parsed(&mut *parser.restart(), &lines);
    let _ = (parser.misread(), parser.copies(), parser.note(), format.fits(&head));
}

/// Checks the results of a parser for lines that are not empty.
pub fn assert_parsed(parser: &mut dyn Parser, lines: &[&[u8]]) {
    let mut raw = Raw::default();
    for line in lines {
        match parser.line(line, &mut raw) {
            Ok(Line::Request) => {
                let (start, end) = raw.stream;
                assert!(start <= end && end <= line.len(), "a stream's name at {start}..{end} of {} bytes", line.len());
            }
            Ok(Line::Other | Line::Text) => {}
            Err(fault) => {
                assert!(!fault.what.is_empty() && !fault.expected.is_empty() && fault.found.len() <= 80, "{fault:?}");
                assert!(!fault.complaint().contains('\n'), "a complaint of several lines: {:?}", fault.complaint());
            }
        }
    }
}

/// Checks that requests are read back as they were written: with the time between them, but for the unit of the format.
fn check_written(format: &dyn Format, written: &Written) {
    let Writer::Lines { line, streams, ops, header } = format.writer() else { return };
    let op = ops[usize::from(written.op) % ops.len()];
    let length = if op == Op::Flush { 0 } else { u64::from(written.sectors.max(1)).min(LENGTH_MAX / 512) * 512 };
    let offset = if op == Op::Flush { 0 } else { written.sector % (ADDRESS_MAX / 512) * 512 };
    let stream = if *streams { written.stream % 8 } else { 0 };
    let span_ns = written.at_ns >> 2;
    let raw = |at_ns| Raw { at_ns, op, offset, length, ..Raw::default() };
    let mut text = Vec::new();
    header(&mut text, 8);
    line(&mut text, &raw(0), stream);
    line(&mut text, &raw(span_ns), stream);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let head: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
    let mut parser = format.parser(&head, Reading::default());
    let (mut found, mut requests) = (Raw::default(), Vec::new());
    for line in &lines {
        match parser.line(line, &mut found) {
            Ok(Line::Request) => requests.push(found),
            Ok(Line::Other | Line::Text) => {}
            Err(fault) => panic!("{}: {:?} is refused: {}", format.name(), raw(span_ns), fault.complaint()),
        }
    }
    let [first, last] = requests[..] else { panic!("{}: {requests:?} of {:?}", format.name(), raw(span_ns)) };
    for found in [first, last] {
        let read = Raw { at_ns: 0, stream: (0, 0), ..found };
        assert_eq!(read, raw(0), "{}: {}", format.name(), String::from_utf8_lossy(&text));
    }
    let span = last.at_ns.wrapping_sub(first.at_ns);
    let is_near = !format.timed() || span.abs_diff(span_ns) <= UNIT_NS_MAX;
    assert!(is_near, "{}: {span} ns, {span_ns} ns were written: {}", format.name(), String::from_utf8_lossy(&text));
}

/// A file in a format, with options.
#[derive(Arbitrary, Debug)]
struct File {
    format: u8,
    /// False: the format is recognised.
    is_named: bool,
    address: u8,
    overlay: bool,
    strict_time: bool,
    repeat: u8,
    time_scale: f64,
    max_requests: Option<u16>,
    slice: Option<(u8, u8)>,
    into: u8,
    lines: Lines,
}

const ADDRESSES: [&str; 4] = ["error", "wrap", "scale", "compact"];

/// Checks a whole file: an input that is a text is recognised by its content.
pub fn check_files(input: &[u8]) {
    let Some(file) = text::typed::<File>(input) else {
        for address in ["wrap", "compact"] {
            check_file(input, &Options { address: address.into(), ..Options::default() }, "iolog3");
        }
        return;
    };
    let format = nth(file.format);
    let sample: Vec<&str> = format.sample().lines().collect();
    let mut text = format!("{}\n", sample.first().unwrap_or(&""));
    let _ = write!(text, "{}", file.lines.of(&sample));
    let options = Options {
        format: file.is_named.then(|| format.name().to_owned()),
        address: ADDRESSES[usize::from(file.address) % 4].to_owned(),
        layout: if file.overlay { "overlay" } else { "stack" }.to_owned(),
        strict_time: file.strict_time,
        repeat: u32::from(file.repeat),
        time_scale: file.time_scale,
        max_requests: file.max_requests.map(u64::from),
        slice: file.slice.map(|(from, to)| format!("{from}..{to}")),
        ..Options::default()
    };
    check_file(text.as_bytes(), &options, nth(file.into).name());
}

/// Checks that a file is refused with its place, or replayed within the drive, and that its conversion is read again.
fn check_file(text: &[u8], options: &Options, into: &str) {
    let input = Input::text("f", text);
    match trace::info(&input, options) {
        Ok(info) => {
            let all = info.reads + info.writes + info.trims + info.flushes;
            assert!(info.requests == info.reads + info.writes && all > 0, "{info:?}");
            assert!(info.by_stream.len() as u64 == info.streams && info.longest_gap_ns <= info.span_ns, "{info:?}");
            assert!(info.max_address_bytes <= info.extent_bytes || info.extent_bytes == 0, "{info:?}");
        }
        Err(problems) => return assert_placed(&problems, text),
    }
    match open_on(&input, &Target::of(DRIVE_BYTES), &Options { format: options.format.clone(), ..options.clone() }) {
        Ok(workload) => assert_requests(workload, &Reach { user_bytes: DRIVE_BYTES, requests: 64 }),
        Err(problems) => assert_placed(&problems, text),
    }
    let mut once = Vec::new();
    match trace::convert(&input, options, into, &mut once) {
        Ok(_) if !once.is_empty() => check_converted(&once, into),
        Ok(_) => {}
        Err(problems) => text::assert_told(&problems),
    }
}

/// Checks that a converted trace is read again with as many requests, and that its conversions are the same text from
/// the second on: the first may have the streams in the order of the lines and not of time, and may name streams whose
/// requests the format has no code for.
fn check_converted(once: &[u8], into: &str) {
    let options = Options { format: Some(into.to_owned()), ..Options::default() };
    let again = |text: &[u8]| {
        let mut out = Vec::new();
        trace::convert(&Input::text("g", text), &options, into, &mut out).map(|_| out)
    };
    let twice = match again(once) {
        Ok(twice) => twice,
        // Headers alone, if the format has no code for any of the requests.
        Err(problems) => return assert!(problems.to_string().contains("no requests"), "{into}: {problems}"),
    };
    let names_a_file = |line: &[u8]| line.ends_with(b" add") || line.ends_with(b" open");
    let count = |text: &[u8]| text.split(|byte| *byte == b'\n').filter(|line| !names_a_file(line)).count();
    assert_eq!(count(once), count(&twice), "{into}: {}", String::from_utf8_lossy(once));
    let thrice = again(&twice).unwrap_or_else(|problems| panic!("{into}: {problems}"));
    let texts = [&twice, &thrice].map(|text| String::from_utf8_lossy(text));
    assert_eq!(texts[0], texts[1], "a conversion to {into}, converted again");
}

/// Checks that a line that is named is one of the file.
fn assert_placed(problems: &Problems, text: &[u8]) {
    text::assert_told(problems);
    let lines = text.split(|byte| *byte == b'\n').count() as u64;
    for problem in &problems.0 {
        let line = problem.place.strip_prefix("f:").and_then(|line| line.parse::<u64>().ok());
        assert!(line.is_none_or(|line| (1..=lines + 1).contains(&line)) || is_binary(text), "{problem} of {lines} lines");
    }
}

/// Returns true for a text that may be a binary trace, whose records have the numbers of lines.
fn is_binary(text: &[u8]) -> bool {
    text.iter().any(|byte| !(byte.is_ascii_graphic() || byte.is_ascii_whitespace()))
}
