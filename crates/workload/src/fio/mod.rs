//! fio job files: the common subset, with fio's meanings; everything else is refused by name.
//!
//! Meanings follow fio's HOWTO (sections "Job file parameters", "I/O type", "I/O size", "I/O rate", "Time related
//! parameters"). What a simulated drive settles differently from fio:
//!
//! - A random job without `norandommap` visits each aligned block once per pass as a keyed bijection, with a fresh key for
//!   each pass: fio's no-repeat coverage without its bitmap. A mixed job (`randrw`) has *one* such order for reads and
//!   writes together, because fio keeps one random map per file: in a pass a block is either read or written.
//! - With several block sizes, places are aligned to the smallest, each of which *begins* one request per pass; a request
//!   at the end of the region is shortened to fit. fio would shorten it at any block that was visited before.
//! - Sequential mixed jobs keep one position for reads and one for writes, as fio does.
//! - Distributions other than `random` draw independently (no map), as in fio. `zipf` and `pareto` are exact, their popular
//!   blocks scattered by a bijection where fio uses a hash with collisions; `normal` lies around the region's middle.
//! - A cap by `rate` or `rate_iops` on a mixed job keeps the mix and lets the direction that is held most decide; fio
//!   would shift the mix towards the other direction.
//! - Only whole blocks are used: a region that is no multiple of the smallest block is shortened, as in fio.
//! - `runtime` begins after `ramp_time`, as in fio; bytes moved during the ramp count towards `io_size`.

mod build;
mod options;
mod parse;
mod resolve;
mod value;

use crate::Workload;
use kit::Problems;
use options::Options;
use resolve::Resolved;

pub use parse::{HONOURED, IGNORED};

/// Reads a job file and makes its jobs.
///
/// `name` is how messages call the file, `user_bytes` the drive's capacity, `seed` the run's. A `randseed` in a job wins
/// over `seed`: its streams then depend on `randseed` and the number of the clone alone; else on `seed` and the job's
/// position in the file.
///
/// All problems are returned at once: unknown keys with the nearest known name, bad values, jobs that do not fit.
pub fn open(name: &str, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    let mut problems = Problems::default();
    let file = parse::parse(name, text, &mut problems);
    let mut notes = Vec::new();
    if !file.ignored.is_empty() {
        notes.push(format!("{name}: read and ignored: {}", file.ignored.join(", ")));
    }
    let mut global = Options::default();
    let mut resolved: Vec<Resolved> = Vec::new();
    let mut wave = 0;
    for section in &file.sections {
        let in_job = section.name != "global";
        let mut own = global.clone();
        for entry in &section.entries {
            note_opposite_unit(name, entry, &mut notes);
            own.apply(&format!("{name}:{}", entry.line), entry, &mut problems);
        }
        if !in_job {
            global = own;
            continue;
        }
        wave += u32::from(own.stonewall && !resolved.is_empty());
        let place = resolve::Place { file: name, section: section.name, line: section.line };
        if let Some(job) = resolve::resolve(&place, &own, user_bytes, wave, &mut problems) {
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
    Ok(build::build(&resolved, user_bytes, seed, notes))
}

/// fio reads `1GiB` as a power of 1000: said aloud, for hardly anyone expects it.
fn note_opposite_unit(name: &str, entry: &parse::Entry<'_>, notes: &mut Vec<String>) {
    let sized = ["size", "io_size", "offset", "bs", "blocksize", "bssplit", "rate"].contains(&entry.key);
    if let (true, Some(text)) = (sized, entry.value.filter(|text| value::opposite_unit(text))) {
        notes.push(format!(
            "{name}:{}: {}={text}: to fio, Ki, Mi, Gi are powers of 1000 (k, m, g of 1024)",
            entry.line, entry.key
        ));
    }
}
