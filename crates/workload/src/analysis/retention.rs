//! Retention: the time from the write of a sector, or of a mapping unit, until it is overwritten or trimmed.
//!
//! This is the definition of the retention relaxation slides ("the time period from writing the sector until the sector
//! is overwritten"), which count sectors. Each sector that a request writes is one write. A request that writes a part
//! of a mapping unit writes the whole unit, as a drive does. A trim ends the life of the sectors that it covers, and of
//! the units that it covers completely.

use super::lifetimes::{Counts, End, Estimate, Lifetimes, MARKS};
use super::pages::Pages;
use super::share;
use crate::trace::{Options, Visitor, Walk};
use crate::{Input, Request};
use kit::{Op, Problem, Problems, SECTOR_BYTES, UNIT_BYTES};
use serde::{Deserialize, Serialize};

/// Number of sectors in a page.
const SECTORS: usize = (UNIT_BYTES / SECTOR_BYTES) as usize;
/// Largest time stamp in the word of a page; larger words are the indices of split pages, counted down from `u64::MAX`.
const STAMP_MAX: u64 = 1 << 63;

/// Parameters of a retention analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionQuestion {
    /// Grain that is written and overwritten: `sector` (512 bytes) or `unit` (the mapping unit, 4 KiB).
    pub by: String,
}

impl Default for RetentionQuestion {
    fn default() -> Self {
        RetentionQuestion { by: "sector".to_owned() }
    }
}

/// Lifetimes of written data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retention {
    /// The trace's format.
    pub format: String,
    /// Grain that was counted: `sector` or `unit`.
    pub by: String,
    /// Size of the grain \[bytes\].
    pub grain_bytes: u64,
    /// Time from the first request to the last, on the requested time scale \[ns\].
    pub span_ns: u64,
    /// Write requests.
    pub write_requests: u64,
    /// Writes of sectors or units; a grain that is written again counts again.
    pub writes: u64,
    /// Writes by their end: overwritten, trimmed, or still present when the trace ended.
    pub ends: Counts,
    /// Writes by lifetime: those that ended below a minute, an hour, a day, a week, or later, and those that did not
    /// end.
    pub classes: Vec<Class>,
    /// Share of data that lives shorter than a minute, an hour, a day, a week.
    pub marks: Vec<Mark>,
    /// Longest time for which any data was observed.
    pub longest: Mark,
    /// Writes by octave of their lifetime.
    pub histogram: Vec<Octave>,
    /// Kaplan-Meier survival curve.
    pub curve: Vec<Point>,
    /// Distinct 4 KiB pages that held written data when the trace ended.
    pub pages_alive: u64,
    /// Memory that the analysis used for pages at its end \[bytes\].
    pub state_bytes: u64,
    /// Messages for the user about how the trace was read.
    pub notes: Vec<String>,
}

/// Writes in one class of lifetimes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Name of the class.
    pub name: String,
    /// Shortest lifetime of the class \[ns\]; absent for data that did not end.
    pub from_ns: Option<u64>,
    /// Upper bound of the lifetimes \[ns\], excluded; absent for the longest class, and for data that did not end.
    pub to_ns: Option<u64>,
    /// Number of writes.
    pub writes: u64,
    /// Number of these writes that a trim ended.
    pub trimmed: u64,
    /// Share of all writes; absent without writes.
    pub share: Option<f64>,
}

/// Share of data with a lifetime below a given time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Name of the time.
    pub name: String,
    /// Time \[ns\].
    pub ns: u64,
    /// Number of writes that were seen to end before; for `longest`, all that were seen to end.
    pub ended: u64,
    /// Share of all writes; absent without writes.
    pub share: Option<f64>,
    /// Kaplan-Meier estimate of the share of data with a shorter lifetime; absent if no data was observed for that
    /// long.
    pub kaplan_meier: Option<Estimate>,
}

/// Writes whose data lived `from_ns..to_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Octave {
    /// Shortest lifetime \[ns\].
    pub from_ns: u64,
    /// Upper bound of the lifetimes \[ns\], excluded.
    pub to_ns: u64,
    /// Numbers of writes by their end.
    #[serde(flatten)]
    pub ends: Counts,
}

/// Point of the Kaplan-Meier curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Time \[ns\].
    pub ns: u64,
    /// Estimated share of data that lives at least this long.
    pub survives: f64,
    /// Share of all writes that were seen to end before.
    pub ended: f64,
}

/// Analyses the retention of data in the trace `input`.
pub fn retention(input: &Input, options: &Options, question: &RetentionQuestion) -> Result<Retention, Problems> {
    let by_unit = match question.by.as_str() {
        "sector" => false,
        "unit" => true,
        other => return Err(Problem::unknown("by", "grain", other, ["sector", "unit"]).into()),
    };
    let mut watch = Watch::new(by_unit);
    let walk = Walk::first(input, options, &mut watch)?;
    walk.needs_times("retention")?;
    Ok(watch.finish(&walk))
}

/// State of the analysis.
struct Watch {
    by_unit: bool,
    pages: Pages,
    lives: Lives,
    write_requests: u64,
    last_ns: u64,
}

/// Lifetimes of the data that has ended, with the time stamps of split pages.
///
/// The word of a page is 0 if it holds no data. Up to [`STAMP_MAX`], it is the time at which all its sectors were
/// written, plus 1. Above, it is the index of a split page, whose sectors have a stamp each.
#[derive(Default)]
struct Lives {
    ended: Lifetimes,
    split: Vec<[u64; SECTORS]>,
    /// Words of split pages that are whole again, for reuse.
    free: Vec<u64>,
    /// Stamp and number of consecutive lives that ended alike and are not yet recorded.
    last: (u64, u64),
}

impl Watch {
    fn new(by_unit: bool) -> Watch {
        Watch { by_unit, pages: Pages::default(), lives: Lives::default(), write_requests: 0, last_ns: 0 }
    }

    fn write(&mut self, request: &Request) {
        let (start, end) = (request.offset.0, request.offset.0 + request.length.0);
        let (first, last) = (start / UNIT_BYTES, (end - 1) / UNIT_BYTES);
        let (now, stamp, lives) = (request.at.0, request.at.0 + 1, &mut self.lives);
        self.write_requests += 1;
        if self.by_unit {
            self.pages.update(request.stream, first, last, |_, word| {
                lives.end(*word, 1, now, End::Overwritten);
                *word = stamp;
            });
        } else {
            self.pages.update(request.stream, first, last, |page, word| {
                let (from, to) = sectors(page, start, end);
                lives.replace(word, from..to, stamp, now, End::Overwritten);
            });
        }
        self.lives.settle(now, End::Overwritten);
    }

    fn trim(&mut self, request: &Request) {
        let (start, end) = (request.offset.0, request.offset.0 + request.length.0);
        let (now, lives) = (request.at.0, &mut self.lives);
        if self.by_unit {
            let (first, past) = (start.div_ceil(UNIT_BYTES), end / UNIT_BYTES);
            if first < past {
                self.pages.update_known(request.stream, first, past - 1, |_, word| {
                    lives.end(*word, 1, now, End::Trimmed);
                    *word = 0;
                });
            }
        } else {
            self.pages.update_known(request.stream, start / UNIT_BYTES, (end - 1) / UNIT_BYTES, |page, word| {
                let (from, to) = sectors(page, start, end);
                lives.replace(word, from..to, 0, now, End::Trimmed);
            });
        }
        self.lives.settle(now, End::Trimmed);
    }

    /// Ends the analysis: data that is still present is censored. Returns the number of pages that hold such data.
    fn censor(&mut self) -> u64 {
        let (now, grains) = (self.last_ns, if self.by_unit { 1 } else { SECTORS as u64 });
        let mut pages_alive = 0;
        for word in self.pages.words() {
            pages_alive += 1;
            match self.lives.split_at(*word) {
                Some(place) => {
                    let stamps = self.lives.split[place];
                    stamps.iter().for_each(|stamp| self.lives.end(*stamp, 1, now, End::Unknown));
                }
                None => self.lives.end(*word, grains, now, End::Unknown),
            }
        }
        self.lives.settle(now, End::Unknown);
        pages_alive
    }

    fn finish(mut self, walk: &Walk) -> Retention {
        let pages_alive = self.censor();
        let state_bytes = self.pages.bytes() + size_of_val(&self.lives.split[..]) as u64;
        let ended = &self.lives.ended;
        let ends = ended.total();
        let share = |writes: u64| share(writes, ends.total());
        let mut notes = walk.info().notes.clone();
        if ends.total() == 0 {
            notes.push("there are no writes".to_owned());
        }
        Retention {
            format: walk.info().format.clone(),
            by: if self.by_unit { "unit" } else { "sector" }.to_owned(),
            grain_bytes: if self.by_unit { UNIT_BYTES } else { SECTOR_BYTES },
            span_ns: self.last_ns,
            write_requests: self.write_requests,
            writes: ends.total(),
            ends,
            classes: classes(ended, &share),
            marks: marks(ended, &share),
            longest: Mark {
                name: "longest watched".to_owned(),
                ns: ended.longest_ns(),
                ended: ends.ended(),
                share: share(ends.ended()),
                kaplan_meier: if ends.total() > 0 { ended.kaplan_meier(&[u64::MAX])[0] } else { None },
            },
            histogram: ended.octaves().into_iter().map(|(from_ns, to_ns, ends)| Octave { from_ns, to_ns, ends }).collect(),
            curve: curve(ended, ends.total()),
            pages_alive,
            state_bytes,
            notes,
        }
    }
}

impl Visitor for Watch {
    fn restart(&mut self) {
        *self = Watch::new(self.by_unit);
    }

    #[inline(always)]
    fn hint(&self, request: &Request) {
        if request.op == Op::Write {
            let last = (request.offset.0 + request.length.0 - 1) / UNIT_BYTES;
            for page in [request.offset.0 / UNIT_BYTES, last] {
                let split = self.lives.split_at(self.pages.word(request.stream, page));
                std::hint::black_box(split.map(|place| self.lives.split[place][0]));
            }
        }
    }

    #[inline(always)]
    fn visit(&mut self, request: &Request) -> Result<(), Problems> {
        self.last_ns = request.at.0;
        match request.op {
            Op::Write | Op::Append => self.write(request),
            Op::Trim => self.trim(request),
            Op::Read | Op::Flush | Op::Zone => {}
        }
        Ok(())
    }
}

impl Lives {
    /// Returns the index of a split page; `None` for a whole one.
    #[inline]
    fn split_at(&self, word: u64) -> Option<usize> {
        (word > STAMP_MAX).then(|| (u64::MAX - word) as usize)
    }

    /// Ends `count` lives of data stamped `stamp` at the time `now`; a stamp of 0 means that there was no data.
    #[inline]
    fn end(&mut self, stamp: u64, count: u64, now: u64, how: End) {
        if stamp != self.last.0 {
            self.settle(now, how);
            self.last.0 = stamp;
        }
        self.last.1 += count;
    }

    /// Records the lives that ended alike.
    #[inline]
    fn settle(&mut self, now: u64, how: End) {
        let (stamp, count) = std::mem::take(&mut self.last);
        if stamp > 0 {
            self.ended.record(now - (stamp - 1), count, how);
        }
    }

    /// Ends the data in `sectors` of a page and stamps them anew; a stamp of 0 leaves no data.
    #[inline]
    fn replace(&mut self, word: &mut u64, sectors: std::ops::Range<usize>, stamp: u64, now: u64, how: End) {
        if sectors.len() == SECTORS && *word <= STAMP_MAX {
            self.end(*word, SECTORS as u64, now, how);
            *word = stamp;
        } else {
            self.replace_part(word, sectors, stamp, now, how);
        }
    }

    fn replace_part(&mut self, word: &mut u64, sectors: std::ops::Range<usize>, stamp: u64, now: u64, how: End) {
        let place = self.split_at(*word);
        let mut stamps = place.map_or([*word; SECTORS], |place| self.split[place]);
        for one in &mut stamps[sectors] {
            self.end(*one, 1, now, how);
            *one = stamp;
        }
        if stamps.iter().all(|one| *one == stamps[0]) {
            self.free.extend(place.map(|_| *word));
            *word = stamps[0];
            return;
        }
        if place.is_none() {
            *word = self.free.pop().unwrap_or_else(|| {
                self.split.push(stamps);
                u64::MAX - (self.split.len() as u64 - 1)
            });
        }
        let place = self.split_at(*word).expect("its sectors differ, so the page is a split one");
        self.split[place] = stamps;
    }
}

/// Returns the sectors of `page` that lie in bytes `start..end`, which must touch the page.
#[inline]
fn sectors(page: u64, start: u64, end: u64) -> (usize, usize) {
    let base = page * UNIT_BYTES;
    let from = start.saturating_sub(base) / SECTOR_BYTES;
    let to = (end - base).min(UNIT_BYTES) / SECTOR_BYTES;
    (from as usize, to as usize)
}

fn classes(ended: &Lifetimes, share: &dyn Fn(u64) -> Option<f64>) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut before: Option<(&str, u64)> = None;
    for next in MARKS.iter().map(Some).chain([None]) {
        let name = match (before, next) {
            (None, Some((to, _))) => format!("below {to}"),
            (Some((from, _)), Some((to, _))) => format!("{from} to {to}"),
            (from, None) => format!("{} and longer", from.map_or("", |(from, _)| from)),
        };
        let (from_ns, to_ns) = (before.map_or(0, |(_, ns)| ns), next.map(|(_, ns)| *ns));
        let (counts, _) = ended.summed(from_ns, to_ns.unwrap_or(u64::MAX));
        let (writes, trimmed) = (counts.ended(), counts.trimmed);
        classes.push(Class { name, from_ns: Some(from_ns), to_ns, writes, trimmed, share: share(writes) });
        before = next.copied();
    }
    let writes = ended.total().unknown;
    let name = "unknown (trace ended)".to_owned();
    classes.push(Class { name, from_ns: None, to_ns: None, writes, trimmed: 0, share: share(writes) });
    classes
}

fn marks(ended: &Lifetimes, share: &dyn Fn(u64) -> Option<f64>) -> Vec<Mark> {
    let estimates = ended.kaplan_meier(&MARKS.map(|(_, ns)| ns));
    let mark = |((name, ns), estimate): (&(&str, u64), Option<Estimate>)| {
        let before = ended.summed(0, *ns).0.ended();
        Mark { name: (*name).to_owned(), ns: *ns, ended: before, share: share(before), kaplan_meier: estimate }
    };
    MARKS.iter().zip(estimates).map(mark).collect()
}

fn curve(ended: &Lifetimes, writes: u64) -> Vec<Point> {
    let points = ended.curve_points();
    let estimates = ended.kaplan_meier(&points);
    let point = |(ns, estimate): (u64, Option<Estimate>)| {
        let ended = ended.summed(0, ns).0.ended() as f64 / writes as f64;
        Some(Point { ns, survives: 1.0 - estimate?.share, ended })
    };
    points.into_iter().zip(estimates).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Bytes, SimTime};
    use std::collections::BTreeMap;

    fn request(at: u64, op: Op, sector: u64, sectors: u64) -> Request {
        Request::new(SimTime(at), op, Bytes(sector * 512), Bytes(sectors * 512))
    }

    /// Computes lifetimes and ends by their definition: a map from sector or unit to the time of its write.
    fn naive(requests: &[Request], by_unit: bool) -> Vec<(u64, End)> {
        let grain = if by_unit { UNIT_BYTES } else { SECTOR_BYTES };
        let (mut there, mut found) = (BTreeMap::new(), Vec::new());
        for request in requests {
            let (start, end) = (request.offset.0, request.offset.0 + request.length.0);
            let (how, range) = match request.op {
                Op::Write | Op::Append => (End::Overwritten, start / grain..end.div_ceil(grain)),
                Op::Trim => (End::Trimmed, start.div_ceil(grain)..end / grain),
                Op::Read | Op::Flush | Op::Zone => continue,
            };
            for place in range {
                let before = if how == End::Trimmed { there.remove(&place) } else { there.insert(place, request.at.0) };
                found.extend(before.map(|at| (request.at.0 - at, how)));
            }
        }
        let last = requests.last().map_or(0, |request| request.at.0);
        found.extend(there.values().map(|at| (last - at, End::Unknown)));
        found
    }

    fn watched(requests: &[Request], by_unit: bool) -> Watch {
        let mut watch = Watch::new(by_unit);
        requests.iter().for_each(|request| watch.visit(request).expect("a watch refuses nothing"));
        watch.censor();
        watch
    }

    #[test]
    fn random_requests_live_as_long_as_in_a_map() {
        for seed in 0..200 {
            let mut rng = kit::Rng::stream(seed, "retention");
            let (mut at, mut requests) = (0, Vec::new());
            let pace = [0, 3, 1 << 20, 1 << 50][rng.below(4) as usize];
            for _ in 0..300 {
                at += rng.below(pace + 1);
                let op = [Op::Write, Op::Write, Op::Write, Op::Trim, Op::Read][rng.below(5) as usize];
                let sectors = if rng.chance(0.1) { 1 + rng.below(600) } else { 1 + rng.below(24) };
                requests.push(request(at, op, rng.below(400), sectors));
            }
            for by_unit in [false, true] {
                let mut lives = Lifetimes::default();
                naive(&requests, by_unit).iter().for_each(|(ns, how)| lives.record(*ns, 1, *how));
                let found = watched(&requests, by_unit).lives.ended;
                assert_eq!(found.octaves(), lives.octaves(), "seed {seed}, by unit {by_unit}");
                assert_eq!(found.longest_ns(), lives.longest_ns(), "seed {seed}, by unit {by_unit}");
            }
        }
    }

    #[test]
    fn split_pages_are_used_again() {
        let mut watch = Watch::new(false);
        for round in 0..1000 {
            for (op, sector, sectors) in
                [(Op::Write, 8 * (round % 7), 3), (Op::Write, 0, 56), (Op::Trim, 9, 2), (Op::Trim, 0, 56)]
            {
                watch.visit(&request(round, op, sector, sectors)).expect("a watch refuses nothing");
            }
        }
        assert!(watch.lives.split.len() <= 2, "{}", watch.lives.split.len());
        assert_eq!(watch.pages.words().count(), 0);
    }
}
