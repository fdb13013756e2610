//! fio job files: a common subset of the keys, with the meaning that they have in fio ([`keys`]). Keys that only
//! concern the host or the reports are ignored; every other key is refused by name, with the reason.
//!
//! Meanings follow fio's HOWTO (sections "Job file parameters", "I/O type", "I/O size", "I/O rate", "Time related
//! parameters"). Details of the simulation, and its differences from fio:
//!
//! - A random job without `norandommap` visits each aligned block once per pass, in the order of a keyed bijection with
//!   a new key for each pass. This gives fio's coverage without repetition, and needs no bitmap. A mixed job (`randrw`)
//!   has *one* such order for reads and writes together, because fio keeps one random map per file: in a pass a block
//!   is either read or written.
//! - With several block sizes, the addresses of an operation are aligned to the smallest of its sizes, and each aligned
//!   address is the *start* of one request per pass; a size that would cross the end of the region is drawn again. fio
//!   would shorten a request at any block that was visited before.
//! - Sequential mixed jobs keep one position for reads and one for writes, as fio does.
//! - Distributions other than `random` draw independently (no map), as in fio. `zipf` and `pareto` are exact; a
//!   bijection scatters their popular blocks, where fio uses a hash with collisions. `normal` is centred on the
//!   region's middle.
//! - Rates hold each direction to a schedule that begins with the job; the direction of a mixed job's next request is
//!   chosen as in fio (`crate::pacing`).
//! - Only whole blocks are used: a region that is not a multiple of the smallest block is shortened, as in fio.
//! - `runtime` begins after `ramp_time`, as in fio; bytes moved during the ramp count towards `io_size`.

mod build;
pub mod keys;
mod options;
mod parse;
mod resolve;
mod stages;
pub mod text;
mod value;

use crate::{Target, Workload};
use kit::Problems;
use options::Options;
use resolve::Resolved;
use text::{Reader, Surroundings};

/// Reads a job file and builds its jobs.
///
/// `name` is the file's name in messages, `user_bytes` the drive's capacity, `seed` the seed of the run. A `randseed`
/// in a job takes precedence over `seed`: the job's random streams then depend only on `randseed` and the number of the
/// clone. Without it they depend on `seed` and the job's position in the file.
///
/// All problems are returned at once: unknown keys with the nearest known name, bad values, jobs that do not fit.
pub fn open(name: &str, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    open_without(name, text, user_bytes, seed, &[])
}

/// Like [`open`], but leaves out the keys in `ignore`, whatever they mean.
pub fn open_without(name: &str, text: &str, user_bytes: u64, seed: u64, ignore: &[String]) -> Result<Workload, Problems> {
    open_in(name, text, &Target::of(user_bytes), seed, Surroundings { ignore, ..Surroundings::NONE })
}

/// Like [`open`], for a drive that may have zones, with the files and variables that the job file refers to.
pub fn open_in(name: &str, text: &str, drive: &Target, seed: u64, surroundings: Surroundings<'_>) -> Result<Workload, Problems> {
    let mut problems = Problems::default();
    let mut reader = Reader::new(surroundings, &mut problems);
    let lines = reader.read(name, text, &mut problems);
    let file = parse::parse(name, &lines, surroundings.ignore, &mut problems);
    let mut notes = first_notes(name, &file, &reader);
    let mut global = Options::default();
    let mut resolved: Vec<Resolved> = Vec::new();
    let mut wave = 0;
    for section in &file.sections {
        let in_job = section.name != "global";
        let mut own = global.clone();
        for entry in &section.entries {
            note_opposite_unit(entry, &mut notes);
            own.apply(entry, &mut problems);
        }
        if !in_job {
            global = own;
            continue;
        }
        wave += u32::from(own.stonewall && !resolved.is_empty());
        let place = resolve::Place { section: section.name, place: section.place };
        check_waited(&place, &own, &file, &mut problems);
        if let Some(job) = resolve::resolve(&place, &own, drive, wave, &mut problems) {
            notes.extend(job.notes.iter().cloned());
            resolved.push(job);
        }
    }
    if !file.sections.iter().any(|section| section.name != "global") && problems.0.is_empty() {
        problems.add(name, "no job: expected at least one section such as `[job]` beside `[global]`");
    }
    let clones: u64 = resolved.iter().map(|job| u64::from(job.options.numjobs)).sum();
    if clones > u64::from(u16::MAX) {
        problems.add(name, format!("{clones} jobs with all clones: expected at most {}", u16::MAX));
    }
    let resolved = problems.or(resolved)?;
    Ok(Workload { standalone: reader.standalone(), ..build::build(&resolved, drive.user_bytes, seed, notes) })
}

/// Returns the notes on what was left out and put in.
fn first_notes(name: &str, file: &parse::File<'_>, reader: &Reader<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if !file.left_out.is_empty() {
        notes.push(format!("{name}: left out, as --ignore says: {}", file.left_out.join(", ")));
    }
    if !file.ignored.is_empty() {
        notes.push(format!("{name}: read and ignored: {}", file.ignored.join(", ")));
    }
    if !reader.from_environment.is_empty() {
        let values: Vec<String> = reader.from_environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        notes.push(format!("{name}: from the environment: {}", values.join(", ")));
    }
    notes
}

/// Checks that `wait_for` names one section above.
fn check_waited(place: &resolve::Place<'_>, own: &Options, file: &parse::File<'_>, problems: &mut Problems) {
    let Some(name) = &own.wait_for else { return };
    let above = file.sections.iter().take_while(|section| !std::ptr::eq(section.place, place.place));
    let count = above.filter(|section| section.name == name && section.name != "global").count();
    if count != 1 {
        let found =
            if count == 0 { "no job above it has this name".to_owned() } else { format!("{count} jobs above it have this name") };
        let at = own.place_of("wait_for", place.place);
        problems.add(at, format!("wait_for: `{name}`: {found}: expected the name of one job above"));
    }
}

/// Adds a note on a size such as `1GiB`, which fio reads as a power of 1000: few users expect that.
fn note_opposite_unit(entry: &parse::Entry<'_>, notes: &mut Vec<String>) {
    let sized = ["size", "io_size", "offset", "bs", "bssplit", "rate", "zonesize", "zonerange", "zoneskip"].contains(&entry.key);
    if let (true, Some(text)) = (sized, entry.value.filter(|text| value::opposite_unit(text))) {
        notes.push(format!("{}: {}={text}: to fio, Ki, Mi, Gi are powers of 1000 (k, m, g of 1024)", entry.place, entry.key));
    }
}
