//! Firmware traces: parsed for a small drive, and replayed by it.

use crate::text::{self, Lines};
use arbitrary::Arbitrary;
use drive::{Description, Drive};
use ftl::firmware::{Header, Processor, parse};
use kit::{Bytes, Frequency, Geometry, HostCommand, Op, Rng, SimTime, UNIT_BYTES};
use std::sync::OnceLock;

/// A drive of 4 dies with 32 blocks each; a program is 4 units.
const SMALL: [&str; 9] = [
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.blocks_per_plane=32",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
    "ftl.overprovisioning=0.5",
    "buffer.policy=write_back",
    "buffer.capacity=256KiB",
    "buffer.flush_after=3ms",
];

/// Overrides with which cores execute the firmware of that drive; the last one has the cores.
const EXECUTED: [&str; 3] =
    ["ftl.wear_leveling=none", "ftl.partial_write=whole", "controller.firmware={ kind = 'riscv', cores = 2, clock = '400MHz' }"];
/// The cores of that drive.
const PROCESSOR: Processor = Processor { cores: 2, clock: Frequency(400_000_000) };
/// First line of a text for the trace of that drive.
const WITH_CYCLES: &str = "cycles\n";

/// The drive on which a trace is replayed, and a trace that its firmware wrote.
struct Recorded {
    description: Description,
    geometry: Geometry,
    header: Header,
    /// Cores whose cycles the trace has, if it has any.
    processor: Option<Processor>,
    /// Lines of the trace behind its header; the last one is its end.
    lines: Vec<String>,
}

#[derive(Arbitrary, Debug)]
struct Trace {
    has_cycles: bool,
    body: Body,
}

#[derive(Arbitrary, Debug)]
enum Body {
    /// The recorded trace with lines left out, repeated or changed.
    Changed(Vec<(u16, Change)>),
    /// Lines of it in any order, and the number of entries at its end.
    Lines(Lines, u8),
}

#[derive(Arbitrary, Debug)]
enum Change {
    LeftOut,
    Twice,
    Numbers(Vec<text::Change>),
}

/// Most host commands of a replay.
const COMMANDS: usize = 400;
/// Most events of a replay.
const EVENTS: usize = 20_000;

/// Returns the trace without cycles, or that with them.
fn recorded(has_cycles: bool) -> &'static Recorded {
    static RECORDED: [OnceLock<Recorded>; 2] = [const { OnceLock::new() }; 2];
    RECORDED[usize::from(has_cycles)].get_or_init(|| record(has_cycles.then_some(PROCESSOR)))
}

fn record(processor: Option<Processor>) -> Recorded {
    let described = |more: &[&str]| {
        let sets: Vec<String> = SMALL.iter().chain(more).map(|set| (*set).to_owned()).collect();
        Description::read("f", "base = \"tiny\"\n", &sets).expect("a small drive")
    };
    let more = if processor.is_some() { &EXECUTED[..] } else { &[] };
    let mut drive = Drive::new(&described(more), 7).expect("a small drive").recording_firmware();
    drive.adopt();
    let mut rng = Rng::stream(3, "firmware");
    let units = drive.user_bytes() / UNIT_BYTES;
    for tag in 0..120 {
        let count = 1 + rng.below(4);
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim][rng.below(5) as usize];
        let first = rng.below(units - count) / (1 + rng.below(60));
        drive.submit(HostCommand::new(op, tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES)), drive.now());
        drain(&mut drive, 1);
    }
    let trace = drive.take_firmware(true);
    // The replay plays the cycles of the cores.
    let description = described(&more[..more.len().saturating_sub(1)]);
    let geometry = description.geometry();
    let header = Header::of(&geometry, &description.policy_facts(), units);
    let body = trace.strip_prefix(&header.text(processor)).expect("it begins with its header");
    let lines = body.lines().map(str::to_owned).collect();
    Recorded { description, geometry, header, processor, lines }
}

/// Advances until at most so many commands are in flight, or nothing happens any more.
fn drain(drive: &mut Drive, mut in_flight: u64) {
    for _ in 0..EVENTS {
        if in_flight == 0 || drive.next_event().is_none() {
            return;
        }
        in_flight = in_flight.saturating_sub(drive.advance(SimTime::FOREVER).len() as u64);
    }
}

/// Checks the lines of a trace behind its header.
pub fn check(input: &[u8]) {
    if let Some(Trace { has_cycles, body }) = text::typed::<Trace>(input) {
        let recorded = recorded(has_cycles);
        check_body(recorded, &rendered(recorded, &body));
    } else if let Some(text) = text::plain(input) {
        let with_cycles = text.strip_prefix(WITH_CYCLES);
        check_body(recorded(with_cycles.is_some()), with_cycles.unwrap_or(text));
    }
}

/// Returns the lines of a trace.
fn rendered(recorded: &Recorded, body: &Body) -> String {
    let template: Vec<&str> = recorded.lines.iter().map(String::as_str).collect();
    let changes = match body {
        Body::Changed(changes) => changes,
        Body::Lines(lines, entries) => return format!("{}end {entries}\n", lines.of(&template)),
    };
    let mut text = String::new();
    let mut entries = 0;
    for (index, line) in template.iter().enumerate() {
        let line = if line.starts_with("end ") { format!("end {entries}") } else { (*line).to_owned() };
        let change = changes.iter().find(|(at, _)| usize::from(*at) % template.len() == index);
        let (line, times) = match change {
            None => (line, 1),
            Some((_, Change::LeftOut)) => (line, 0),
            Some((_, Change::Twice)) => (line, 2),
            Some((_, Change::Numbers(changes))) => (text::renumbered(&line, changes), 1),
        };
        entries += times;
        (0..times).for_each(|_| text += &format!("{line}\n"));
    }
    text
}

fn check_body(recorded: &Recorded, body: &str) {
    let text = recorded.header.text(recorded.processor) + body;
    match parse("f", &text, &recorded.geometry, &recorded.header) {
        Ok(trace) => {
            let again = parse("f", &text, &recorded.geometry, &recorded.header);
            assert_eq!(again, Ok(trace), "it is read alike twice");
            replay(&recorded.description, &text, body);
        }
        Err(problems) => {
            text::assert_told(&problems);
            let line = problems.0[0].place.strip_prefix("f:").and_then(|line| line.parse::<usize>().ok());
            assert!(line.is_some_and(|line| (1..=text.lines().count() + 1).contains(&line)), "{problems}");
        }
    }
}

/// Replays a trace that was accepted, under the commands that it names.
fn replay(description: &Description, trace: &str, body: &str) {
    let set = "ftl.translation={ kind = \"replay\", file = \"x.fw\" }".to_owned();
    let read = Description::read_with("replay.toml", &description.to_toml(), &[set], &|_| Ok(trace.to_owned()));
    let replay = read.unwrap_or_else(|problems| panic!("the same trace: {problems}"));
    let mut drive = Drive::new(&replay, 7).expect("a small drive");
    drive.adopt();
    for (tag, (op, first, count)) in commands(body).take(COMMANDS).enumerate() {
        let (offset, length) = (Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES));
        drive.submit(HostCommand::new(op, tag as u32, offset, length), drive.now());
        drain(&mut drive, 1);
    }
}

/// Returns the host commands of a trace: operation, first unit and number of units.
fn commands(body: &str) -> impl Iterator<Item = (Op, u64, u64)> + '_ {
    body.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let op = match words.next()? {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            _ => return None,
        };
        let mut number = || words.next()?.parse::<u64>().ok();
        let (_, first, count) = (number()?, number()?, number()?);
        (count > 0).then_some((op, first, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without changes both traces are accepted, and replayed: what is mutated is a trace.
    #[test]
    fn both_recorded_traces_are_replayed() {
        for has_cycles in [false, true] {
            let recorded = recorded(has_cycles);
            let body = rendered(recorded, &Body::Changed(Vec::new()));
            let text = recorded.header.text(recorded.processor) + &body;
            assert_eq!(text.starts_with("ssdlab firmware trace 2\nprocessor 2 400000000\n"), has_cycles);
            assert!(parse("f", &text, &recorded.geometry, &recorded.header).is_ok(), "cycles: {has_cycles}");
            replay(&recorded.description, &text, &body);
        }
    }

    /// A line of 40 bytes that writes the whole of a large drive needs no memory for each of its units.
    #[test]
    fn the_memory_for_a_trace_is_bounded_by_its_length() {
        let large = Description::read("large.toml", "base = \"tlc-1tb\"\n", &[]).expect("a preset");
        let geometry = large.geometry();
        let units = large.user_bytes() / large.unit().bytes();
        let header = Header::of(&geometry, &large.policy_facts(), units);
        let parsed = |line: String| parse("x.fw", &(header.text(None) + &line), &geometry, &header);
        let told = parsed(format!("0 write 0 0 {units}\nend 1\n")).expect_err("too many units").to_string();
        assert!(told.contains("more units of writes than the file can name"), "{told}");
        let told = parsed(format!("0 read 0 0 {units} 0 0 0 {units}\nend 1\n")).expect_err("no flash reads").to_string();
        assert!(told.contains("flash reads of the last read are missing"), "{told}");
    }
}
