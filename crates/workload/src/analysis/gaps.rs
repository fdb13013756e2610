//! Times between arrivals, in units of the effective program time of a drive (autoFTL, table 4).
//!
//! autoFTL (Jeong et al., FAST'14, section 5.2) divides the times between write requests by `T_effective`, the program
//! time divided by the number of chips that program at once, and counts them in three bins.

use super::share;
use crate::trace::{Options, Visitor, Walk};
use crate::{Input, Request};
use kit::{Nanos, Op, Problem, Problems};
use serde::{Deserialize, Serialize};

/// Exponents of the edges of the finer bins: `T_effective` times 2 to these powers.
const POWERS: std::ops::RangeInclusive<i32> = -20..=40;

/// Parameters of an analysis of gaps.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GapsQuestion {
    /// Operations whose arrivals are analysed: `write` (default), `read`, or `all` (reads and writes).
    pub of: Option<String>,
    /// Program time of a page, such as `1300us` (default).
    pub program_time: Option<String>,
    /// Number of dies that program at once; default: 32.
    pub dies: Option<u32>,
    /// `T_effective` itself, instead of `program_time` and `dies`.
    pub effective: Option<String>,
}

/// Times between arrivals, relative to `T_effective`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gaps {
    /// The trace's format.
    pub format: String,
    /// Operations whose arrivals were analysed: `write`, `read` or `all`.
    pub of: String,
    /// Number of requests of these operations.
    pub requests: u64,
    /// Number of gaps: one less than `requests`.
    pub gaps: u64,
    /// Program time \[ns\]; absent if `T_effective` was given itself.
    pub program_time_ns: Option<u64>,
    /// Number of dies that program at once; absent likewise.
    pub dies: Option<u32>,
    /// `T_effective` \[ns\].
    pub effective_ns: f64,
    /// Factor by which recorded times were divided.
    pub time_scale: f64,
    /// Time from the first of these arrivals to the last \[ns\].
    pub span_ns: u64,
    /// Mean gap \[ns\]; absent without gaps.
    pub mean_ns: Option<f64>,
    /// Longest gap \[ns\].
    pub longest_ns: u64,
    /// The three bins of autoFTL's table 4.
    pub bins: Vec<GapBin>,
    /// Finer bins, with edges at powers of two of `T_effective`; the first bin counts gaps of zero.
    pub histogram: Vec<GapBin>,
    /// Messages for the user about how the trace was read.
    pub notes: Vec<String>,
}

/// Gaps `t` in units of `T_effective`, with `above < t <= to`; the bin of gaps of zero has 0 for both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapBin {
    /// Range of the bin as text, such as `1 < t <= 2`.
    pub name: String,
    /// Lower edge, excluded.
    pub above: f64,
    /// Upper edge, included; absent for the last bin.
    pub to: Option<f64>,
    /// Number of gaps in the bin.
    pub gaps: u64,
    /// Share of all gaps; absent without gaps.
    pub share: Option<f64>,
}

/// Analyses the times between arrivals in the trace `input`.
pub fn gaps(input: &Input, options: &Options, question: &GapsQuestion) -> Result<Gaps, Problems> {
    let asked = CheckedParams::new(question)?;
    let mut watch = Watch::new(&asked);
    let walk = Walk::first(input, options, &mut watch)?;
    walk.needs_times("the times between arrivals")?;
    Ok(asked.answer(&watch, &walk))
}

/// Checked parameters.
struct CheckedParams {
    of: &'static str,
    ops: &'static [Op],
    program_time_ns: Option<u64>,
    dies: Option<u32>,
    /// `T_effective` as a fraction: numerator \[ns\] and denominator.
    effective: (u64, u64),
}

const OF: [(&str, &[Op]); 3] = [("write", &[Op::Write]), ("read", &[Op::Read]), ("all", &[Op::Read, Op::Write])];

impl CheckedParams {
    fn new(question: &GapsQuestion) -> Result<CheckedParams, Problems> {
        let mut problems = Problems::default();
        let named = question.of.as_deref().unwrap_or("write");
        let (of, ops) = OF.into_iter().find(|(of, _)| *of == named).unwrap_or_else(|| {
            problems.0.push(Problem::unknown("of", "kind of request", named, OF.map(|(of, _)| of)));
            OF[0]
        });
        let mut time = |place: &str, text: &str| match text.parse::<Nanos>() {
            Ok(Nanos(ns)) if ns > 0 => ns,
            Ok(_) => {
                problems.add(place, format!("`{text}`: expected a time above 0, such as 40us"));
                1
            }
            Err(why) => {
                problems.add(place, format!("`{text}`: {why}"));
                1
            }
        };
        let effective = question.effective.as_deref().map(|text| time("effective", text));
        let program_time = time("program_time", question.program_time.as_deref().unwrap_or("1300us"));
        if effective.is_some() && (question.program_time.is_some() || question.dies.is_some()) {
            problems
                .add("effective", "given together with `program_time` or `dies`, of which it is made: expected one or the other");
        }
        if question.dies == Some(0) {
            problems.add("dies", "0: expected 1 or more");
        }
        let dies = question.dies.unwrap_or(32);
        problems.or(match effective {
            Some(ns) => CheckedParams { of, ops, program_time_ns: None, dies: None, effective: (ns, 1) },
            None => CheckedParams {
                of,
                ops,
                program_time_ns: Some(program_time),
                dies: Some(dies),
                effective: (program_time, u64::from(dies)),
            },
        })
    }

    /// Returns the longest gap that is at most `T_effective` times 2 to the `power` \[ns\].
    fn edge(&self, power: i32) -> u64 {
        let (time, dies) = (u128::from(self.effective.0), u128::from(self.effective.1));
        let (up, down) = (power.max(0), (-power).max(0));
        let edge = time.checked_mul(1 << up).map_or(u128::MAX, |time| time / (dies << down));
        u64::try_from(edge).unwrap_or(u64::MAX)
    }

    fn answer(&self, watch: &Watch, walk: &Walk) -> Gaps {
        let gaps: u64 = watch.counts.iter().sum();
        let bin = |name: String, above: f64, to: Option<f64>, counts: &[u64]| {
            let count = counts.iter().sum();
            GapBin { name, above, to, gaps: count, share: share(count, gaps) }
        };
        // Order of the counts: gaps of zero, then gaps up to each edge, then gaps beyond the last edge.
        let at = |power: i32| (power - POWERS.start()) as usize + 2;
        let (one, two) = (at(0), at(1));
        let bins = vec![
            bin("t <= 1".to_owned(), 0.0, Some(1.0), &watch.counts[..one]),
            bin("1 < t <= 2".to_owned(), 1.0, Some(2.0), &watch.counts[one..two]),
            bin("t > 2".to_owned(), 2.0, None, &watch.counts[two..]),
        ];
        let mut notes = walk.info().notes.clone();
        if gaps == 0 {
            notes.push("fewer than two requests of that kind: there are no gaps".to_owned());
        }
        Gaps {
            format: walk.info().format.clone(),
            of: self.of.to_owned(),
            requests: watch.requests,
            gaps,
            program_time_ns: self.program_time_ns,
            dies: self.dies,
            effective_ns: self.effective.0 as f64 / self.effective.1 as f64,
            time_scale: walk.time_scale(),
            span_ns: watch.last_ns - watch.first_ns,
            mean_ns: (gaps > 0).then(|| (watch.last_ns - watch.first_ns) as f64 / gaps as f64),
            longest_ns: watch.longest_ns,
            bins,
            histogram: fine(&watch.counts, bin),
            notes,
        }
    }
}

/// Returns the finer bins, without the empty ones at both ends.
fn fine(counts: &[u64], bin: impl Fn(String, f64, Option<f64>, &[u64]) -> GapBin) -> Vec<GapBin> {
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let first = counts.iter().skip(1).position(|count| *count > 0).map_or(last + 1, |first| first + 1);
    let mut found = vec![bin("t = 0".to_owned(), 0.0, Some(0.0), &counts[..1])];
    for index in first..=last {
        let power = |index: usize| POWERS.start() + index as i32 - 1;
        let above = if index == 1 { 0.0 } else { libm::exp2(f64::from(power(index - 1))) };
        let to = (power(index) <= *POWERS.end()).then(|| libm::exp2(f64::from(power(index))));
        let name = match to {
            Some(to) => format!("{} < t <= {}", words(above), words(to)),
            None => format!("t > {}", words(above)),
        };
        found.push(bin(name, above, to, &counts[index..=index]));
    }
    found
}

/// Formats a power of two: `1/8`, `8`.
fn words(number: f64) -> String {
    if number > 0.0 && number < 1.0 { format!("1/{}", 1.0 / number) } else { format!("{number}") }
}

/// Counters of the analysis.
struct Watch {
    ops: &'static [Op],
    edges: Vec<u64>,
    /// Numbers of gaps: of zero, up to each edge, beyond the last edge.
    counts: Vec<u64>,
    requests: u64,
    first_ns: u64,
    last_ns: u64,
    longest_ns: u64,
}

impl Watch {
    fn new(asked: &CheckedParams) -> Watch {
        let edges: Vec<u64> = std::iter::once(0).chain(POWERS.map(|power| asked.edge(power))).collect();
        let counts = vec![0; edges.len() + 1];
        Watch { ops: asked.ops, edges, counts, requests: 0, first_ns: 0, last_ns: 0, longest_ns: 0 }
    }
}

impl Visitor for Watch {
    fn restart(&mut self) {
        self.counts.fill(0);
        self.requests = 0;
        self.longest_ns = 0;
    }

    #[inline(always)]
    fn visit(&mut self, request: &Request) -> Result<(), Problems> {
        if !self.ops.contains(&request.op) {
            return Ok(());
        }
        let now = request.at.0;
        if self.requests == 0 {
            self.first_ns = now;
        } else {
            let gap = now - self.last_ns;
            self.counts[self.edges.partition_point(|edge| *edge < gap)] += 1;
            self.longest_ns = self.longest_ns.max(gap);
        }
        self.requests += 1;
        self.last_ns = now;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Bytes, SimTime};

    fn counted(question: &GapsQuestion, gaps: &[u64]) -> Vec<(i32, u64)> {
        let asked = CheckedParams::new(question).expect("a good question");
        let (mut watch, mut at) = (Watch::new(&asked), 5);
        for gap in [0].iter().chain(gaps) {
            at += gap;
            let request = Request::new(SimTime(at), Op::Write, Bytes(0), Bytes(512));
            watch.visit(&request).expect("gaps refuse nothing");
        }
        assert_eq!((watch.requests, watch.last_ns - watch.first_ns), (gaps.len() as u64 + 1, gaps.iter().sum()));
        let power = |index: usize| if index == 0 { i32::MIN } else { POWERS.start() + index as i32 - 1 };
        watch.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, count)| (power(index), *count)).collect()
    }

    #[test]
    fn edges_belong_to_the_bin_below_them() {
        let question = GapsQuestion { effective: Some("40us".into()), ..GapsQuestion::default() };
        let gaps = [0, 1, 40_000, 40_001, 80_000, 80_001, 20_000, 20_001];
        assert_eq!(counted(&question, &gaps), [(i32::MIN, 1), (-15, 1), (-1, 1), (0, 2), (1, 2), (2, 1)]);
    }

    #[test]
    fn a_fraction_of_a_nanosecond_counts() {
        // 1300 us over 32 dies are 40,625 ns; over 3, 433,333 1/3.
        assert_eq!(counted(&GapsQuestion::default(), &[40_625, 40_626]), [(0, 1), (1, 1)]);
        let thirds = GapsQuestion { dies: Some(3), ..GapsQuestion::default() };
        assert_eq!(counted(&thirds, &[433_333, 433_334, 866_666, 866_667]), [(0, 1), (1, 2), (2, 1)]);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let question = GapsQuestion {
            of: Some("wrte".into()),
            program_time: Some("soon".into()),
            dies: Some(0),
            effective: Some("0s".into()),
        };
        let text = CheckedParams::new(&question).map(drop).expect_err("five problems").to_string();
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("did you mean `write`?"), "{text}");
    }

    #[test]
    fn times_beyond_any_trace_have_a_bin() {
        let question = GapsQuestion { effective: Some("400y".into()), ..GapsQuestion::default() };
        assert_eq!(counted(&question, &[1 << 62]), [(-1, 1)]);
    }
}
