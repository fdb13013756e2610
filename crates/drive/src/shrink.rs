//! Mock-up drives: the same architecture with fewer and smaller blocks, which is filled and worn out sooner.
//!
//! The thesis on SSDExplorer (1.3.3) replaces a drive of 120 GB by one of 16 MB that keeps dies and planes, and finds
//! the same throughput, with the abstraction by the write amplification factor (`ftl.translation = "waf"`) in both.
//! With a map the write amplification depends on the size of blocks and their number, so that the two differ. Smaller
//! blocks are erased more often, in the same time each.

use crate::description::Description;
use ftl::MapCacheConfig;
use host::BufferConfig;
use kit::{Bytes, Problems};
use std::fmt::Write;
use toml::{Table, Value};

/// Blocks of a plane that a mock-up keeps, as that of the thesis does (table 1.2), before its blocks get smaller.
const FEW_BLOCKS: u32 = 16;

/// Largest part by which a mock-up may be larger than wanted.
const EXCESS: f64 = 0.1;

/// Largest share of a mock-up's capacity that its write buffer takes, unless the dies need more: a rewrite of data that
/// waits there must stay rare, as it is on the whole drive.
const BUFFER_SHARE: f64 = 0.01;

/// Program units for each die that a write buffer keeps at least: one is programmed while the next one fills.
const BUFFERED_PROGRAMS: u64 = 2;

/// Streams of reads that are followed at a time (`buffer.read_ahead`).
const READ_STREAMS: u64 = 8;

/// A field of a mock-up that differs from that of the whole drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Path of the field, such as `buffer.capacity`.
    pub field: String,
    /// Its value on the whole drive, in TOML; empty if the whole drive does not give the field.
    pub from: String,
    /// Its value on the mock-up, in TOML.
    pub to: String,
    /// Reason for the change.
    pub why: String,
}

/// A mock-up, and what distinguishes it from the whole drive.
#[derive(Clone, Debug)]
pub struct MockUp {
    /// Description of the mock-up.
    pub description: Description,
    /// Its fields that differ, its title aside.
    pub changes: Vec<Change>,
}

/// Returns the mock-up of a drive with about `to` of user capacity, as [`shrink`] makes it, with a list of its changes.
pub fn mock_up(whole: &Description, to: Bytes) -> Result<MockUp, Problems> {
    let description = shrink(whole, to)?;
    let differences = differences(&document(whole), &document(&description));
    let changes = differences.into_iter().filter(|(field, ..)| field != "title").map(|(field, from, to)| {
        let why = reason(&field, whole, &description);
        Change { field, from: from.map_or_else(String::new, |value| value.to_string()), to: to.to_string(), why }
    });
    Ok(MockUp { changes: changes.collect(), description })
}

impl MockUp {
    /// Returns the mock-up as a description over `base`, the name of a preset or file whose description is `under`: the
    /// fields that differ, each with what it was and why. `None` if it cannot be said that way, because a field of the
    /// base must be absent.
    pub fn over(&self, base: &str, under: &Description) -> Option<String> {
        let (below, above) = (document(under), document(&self.description));
        let removed = differences(&above, &below).into_iter().any(|(_, from, _)| from.is_none());
        if removed {
            return None;
        }
        let mut text = format!("base = {}\n", Value::from(base));
        let mut section = String::new();
        let all = differences(&below, &above);
        let (top, inner): (Vec<_>, Vec<_>) = all.into_iter().partition(|(field, ..)| !field.contains('.'));
        for (field, _, value) in top.into_iter().chain(inner) {
            let (of, name) = field.split_once('.').unwrap_or(("", &field));
            if of != section {
                of.clone_into(&mut section);
                write!(text, "\n[{of}]\n").expect("a string takes all");
            }
            if let Some(change) = self.changes.iter().find(|change| change.field == field) {
                let was = if change.from.is_empty() { "absent" } else { &change.from };
                writeln!(text, "# was {was}: {}", change.why).expect("a string takes all");
            }
            writeln!(text, "{name} = {value}").expect("a string takes all");
        }
        Some(text)
    }
}

fn document(description: &Description) -> Table {
    description.to_toml().parse().expect("it was written as TOML")
}

/// Returns the fields of `other` that `one` does not have, or has with another value: path, value in `one`, value in
/// `other`. A table that names another member of a family counts as one value.
fn differences(one: &Table, other: &Table) -> Vec<(String, Option<Value>, Value)> {
    let mut found = Vec::new();
    for (key, value) in other {
        match (one.get(key), value) {
            (Some(Value::Table(below)), Value::Table(above))
                if below.get("kind") == above.get("kind") || !above.contains_key("kind") =>
            {
                let inner = differences(below, above);
                found.extend(inner.into_iter().map(|(path, from, to)| (format!("{key}.{path}"), from, to)));
            }
            (from, value) if from != Some(value) => found.push((key.clone(), from.cloned(), value.clone())),
            _ => {}
        }
    }
    found
}

/// Returns why a field of a mock-up differs from that of the whole drive.
fn reason(field: &str, whole: &Description, mock: &Description) -> String {
    match field {
        "flash.blocks_per_plane" => "fewer blocks".to_owned(),
        "flash.pages_per_block" => {
            let times = f64::from(whole.flash.pages_per_block) / f64::from(mock.flash.pages_per_block);
            format!(
                "smaller blocks, as a die needs as many as this; {times:.0} erases, of the same time each, where there was one"
            )
        }
        "ftl.translation" | "ftl.translation.write_amplification" => {
            "the write amplification that the whole drive's spare blocks give".to_owned()
        }
        "buffer.capacity" => {
            let program = mock.geometry().unit.data(mock.geometry().units_per_program).0;
            let share = mock.buffer.capacity.map_or(0.0, |bytes| bytes.0 as f64 / mock.user_bytes() as f64);
            if share > BUFFER_SHARE * (1.0 + EXCESS) {
                let (dies, program) = (mock.geometry().die_count, kit::words::size(Bytes(program)));
                format!("what {dies} dies need, {BUFFERED_PROGRAMS} programs of {program} each; more than 1 % of the capacity")
            } else {
                "1 % of the capacity, so that few rewrites find their data waiting".to_owned()
            }
        }
        _ if field.starts_with("policy.") => "in the ratio of the blocks of a die".to_owned(),
        _ => "in the ratio of the capacity".to_owned(),
    }
}

/// Returns a drive with the channels, dies, planes, pages and times of `whole` and about `to` of user capacity. Blocks
/// become fewer first, then smaller, as far as the drive can work with them. Over-provisioning stays. The write buffer
/// stays as large as it is, up to a hundredth of the capacity: it holds what waits for the dies, which are as many.
/// Read cache and mapping cache keep their ratio to the capacity, what a policy counts in blocks of a die its ratio to
/// the blocks, and a computed write amplification factor its value. An error if the drive is not larger than `to`, or
/// cannot be made so small.
pub fn shrink(whole: &Description, to: Bytes) -> Result<Description, Problems> {
    let unit = whole.geometry().unit;
    if to.0 < unit.bytes() || to.0 >= whole.user_bytes() {
        let [least, most] = [unit.bytes(), whole.user_bytes()].map(|bytes| kit::words::size(Bytes(bytes)));
        return Err(Problems::one("--to", format!("{to}: expected {least} to less than {most}, the drive's user capacity")));
    }
    let share = to.0 as f64 / whole.user_bytes() as f64;
    let program = if whole.flash.one_shot { whole.flash.cell.bits() } else { 1 };
    let halvings = std::iter::successors(Some(whole.flash.pages_per_block), |pages| Some(pages / 2 / program * program));
    let mut smallest = None;
    for pages in halvings.take_while(|pages| *pages >= program) {
        let all = f64::from(whole.flash.blocks_per_plane) * f64::from(whole.flash.pages_per_block);
        let step = whole.ftl.superblock_blocks;
        let wanted = ((all * share / f64::from(pages) / f64::from(step)).round() as u32).max(1) * step;
        let is_last = pages / 2 < program;
        let few = if is_last { 1 } else { FEW_BLOCKS.min(whole.flash.blocks_per_plane) };
        let counts = (wanted.max(few).next_multiple_of(step)..=whole.flash.blocks_per_plane).step_by(step as usize);
        let mocks = counts.map(|blocks| resized(whole, pages, blocks, share));
        let Some(mock) = mocks.into_iter().find(|mock| mock.problems().0.is_empty()) else { continue };
        if mock.user_bytes() as f64 <= (1.0 + EXCESS) * to.0 as f64 {
            return Ok(mock);
        }
        smallest = Some(smallest.map_or(mock.user_bytes(), |least: u64| least.min(mock.user_bytes())));
    }
    let least = Bytes(smallest.unwrap_or_else(|| whole.user_bytes()));
    let least = kit::words::size(least);
    let complaint = format!("{to}: expected at least about {least}, the smallest drive with its dies, planes and free blocks");
    Err(Problems::one("--to", complaint))
}

fn resized(whole: &Description, pages: u32, blocks: u32, share: f64) -> Description {
    let unit = whole.geometry().unit;
    let mut mock = whole.clone();
    mock.title = format!("{} (mock-up)", whole.title);
    mock.flash.blocks_per_plane = blocks;
    mock.flash.pages_per_block = pages;
    if let Some(layer) = whole.ftl.layer_of_mock_up(&whole.geometry()) {
        mock.ftl.translation = layer;
    }
    let scaled = |bytes: Bytes, least: u64| {
        Bytes(unit.offset(unit.whole((bytes.0 as f64 * share) as u64)).clamp(least.min(bytes.0), bytes.0))
    };
    mock.ftl.user_capacity = whole.ftl.user_capacity.map(|bytes| scaled(bytes, unit.bytes()));
    let program = unit.data(mock.geometry().units_per_program).0;
    let dies = u64::from(mock.geometry().die_count);
    let BufferConfig { capacity, read_cache, read_ahead, buffers, .. } = &mut mock.buffer;
    let least = BUFFERED_PROGRAMS * program * dies.max(u64::from(*buffers));
    let share_of_capacity = unit.offset(unit.whole((BUFFER_SHARE * share * whole.user_bytes() as f64) as u64));
    *capacity = capacity.map(|bytes| Bytes(bytes.0.min(share_of_capacity.max(least))));
    *read_cache = read_cache.map(|bytes| scaled(bytes, (READ_STREAMS * read_ahead.0).max(unit.bytes())));
    if let Some(MapCacheConfig { size, journal, update_share, .. }) = &mut mock.ftl.map_cache {
        let least = (4.0 * program as f64 / (1.0 - *update_share)).ceil() as u64;
        *size = scaled(*size, least.next_multiple_of(unit.bytes()));
        *journal = journal.map(|bytes| scaled(bytes, 2 * program));
    }
    mock.policy.resize(f64::from(blocks) / f64::from(whole.flash.blocks_per_plane));
    mock
}
