//! Lifetimes of data, in fine logarithmic bins, and the Kaplan-Meier estimate of their distribution.
//!
//! Data that is still present when the trace ends lived at least that long: its lifetime is *censored*. The share of
//! all data that was seen to be overwritten within a given time is therefore too low. The Kaplan-Meier estimate (Kaplan
//! and Meier 1958) takes at each lifetime only the data that was observed for at least that long. It assumes that data
//! written late lives as long as data written early.

use serde::Serialize;

/// Binary logarithm of the number of bins in an octave. Lifetimes below 512 ns have a bin each; a longer lifetime
/// shares its bin with lifetimes that differ by at most 0.4 %.
const SUB_BITS: u32 = 8;
/// Number of bins in an octave.
const SUB: usize = 1 << SUB_BITS;
/// Boundaries (marks) between classes of lifetimes \[ns\], those of the retention relaxation slides: each is an edge of
/// bins.
pub const MARKS: [(&str, u64); 4] = [
    ("a minute", 60_000_000_000),
    ("an hour", 3_600_000_000_000),
    ("a day", 86_400_000_000_000),
    ("a week", 604_800_000_000_000),
];
/// Binary logarithm of the number of points of the survival curve in an octave.
const CURVE_BITS: u32 = 3;

/// End of the life of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The data was overwritten.
    Overwritten,
    /// The data was trimmed.
    Trimmed,
    /// Its end is unknown: the trace ended first.
    Unknown,
}

/// Numbers of lifetimes, by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Lifetimes ended by a write.
    pub overwritten: u64,
    /// Lifetimes ended by a trim.
    pub trimmed: u64,
    /// Lifetimes that had not ended when the trace did.
    pub unknown: u64,
}

impl Counts {
    /// Returns the number of lifetimes that ended.
    pub fn ended(self) -> u64 {
        self.overwritten + self.trimmed
    }

    /// Returns the number of all lifetimes.
    pub fn total(self) -> u64 {
        self.ended() + self.unknown
    }

    fn add(&mut self, other: Counts) {
        self.overwritten += other.overwritten;
        self.trimmed += other.trimmed;
        self.unknown += other.unknown;
    }
}

/// Kaplan-Meier estimate. Lifetimes of one bin are treated as equal, which can only make `share` smaller than the
/// estimate from exact lifetimes; `share_max` bounds the latter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Share of data with a shorter lifetime.
    pub share: f64,
    /// Upper bound of the share with the exact lifetimes.
    pub share_max: f64,
}

/// Histogram of lifetimes.
pub struct Lifetimes {
    bins: Vec<Counts>,
    longest_ns: u64,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Lifetimes { bins: vec![Counts::default(); bin(u64::MAX) + 1], longest_ns: 0 }
    }
}

/// Returns the logarithmic bin of a lifetime, without regard to marks.
#[inline]
fn plain_bin(ns: u64) -> usize {
    let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(SUB_BITS);
    shift as usize * SUB + (ns >> shift) as usize
}

/// Returns the shortest lifetime of a logarithmic bin \[ns\].
fn plain_edge(bin: usize) -> u64 {
    let shift = (bin / SUB).saturating_sub(1);
    ((bin - shift * SUB) as u64) << shift
}

/// Returns the bin of a lifetime. No mark is an edge of a logarithmic bin, so each mark splits one bin in two.
#[inline]
fn bin(ns: u64) -> usize {
    plain_bin(ns) + MARKS.iter().filter(|(_, mark)| ns >= *mark).count()
}

/// Returns the shortest lifetime of every bin \[ns\].
fn edges() -> Vec<u64> {
    let mut edges: Vec<u64> = (0..=plain_bin(u64::MAX)).map(plain_edge).chain(MARKS.iter().map(|(_, mark)| *mark)).collect();
    edges.sort_unstable();
    edges
}

impl Lifetimes {
    /// Records `count` lifetimes of `ns`.
    #[inline]
    pub fn record(&mut self, ns: u64, count: u64, end: End) {
        let bin = &mut self.bins[bin(ns)];
        match end {
            End::Overwritten => bin.overwritten += count,
            End::Trimmed => bin.trimmed += count,
            End::Unknown => bin.unknown += count,
        }
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Returns the counts of all lifetimes.
    pub fn total(&self) -> Counts {
        self.summed(0, u64::MAX).0
    }

    /// Returns the longest time for which data was observed, exactly \[ns\].
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Returns the counts of lifetimes in `from_ns..to_ns` (both edges of bins; `u64::MAX`: no upper bound), and true
    /// if any lifetime is `to_ns` or longer.
    pub fn summed(&self, from_ns: u64, to_ns: u64) -> (Counts, bool) {
        let mut counts = Counts::default();
        let to = if to_ns == u64::MAX { self.bins.len() } else { bin(to_ns) };
        self.bins[bin(from_ns)..to].iter().for_each(|bin| counts.add(*bin));
        (counts, self.bins[to..].iter().any(|bin| bin.total() > 0))
    }

    /// Returns the Kaplan-Meier estimate of the share of data with a lifetime shorter than each of `at` (ascending;
    /// edges of bins, or `u64::MAX`: past all data). `None` if no data was observed for that long and not all data had
    /// ended before.
    pub fn kaplan_meier(&self, at: &[u64]) -> Vec<Option<Estimate>> {
        let (mut most, mut least) = (1.0, 1.0);
        let mut watched = self.total().total();
        let mut next = 0;
        let mut found = Vec::with_capacity(at.len());
        for &ns in at {
            let to = if ns == u64::MAX { self.bins.len() } else { bin(ns) };
            for counts in &self.bins[next.min(to)..to] {
                let (ended, unknown) = (counts.ended(), counts.unknown);
                if ended > 0 {
                    // The exact estimate lies between two extremes: all ends of the bin before all of its censorings,
                    // or after all of them.
                    most *= 1.0 - ended as f64 / watched as f64;
                    least *= 1.0 - ended as f64 / (watched - unknown) as f64;
                }
                watched -= ended + unknown;
            }
            next = next.max(to);
            let known = watched > 0 || most == 0.0 || ns == u64::MAX;
            found.push(known.then_some(Estimate { share: 1.0 - most, share_max: 1.0 - least }));
        }
        found
    }

    /// Returns the counts by octave, from the first octave that has any to the last: lower bound, upper bound
    /// (excluded), counts.
    pub fn octaves(&self) -> Vec<(u64, u64, Counts)> {
        let mut rows: Vec<(u64, u64, Counts)> = Vec::new();
        for (edge, counts) in edges().into_iter().zip(&self.bins) {
            let magnitude = edge.checked_ilog2();
            let (from, to) = magnitude.map_or((0, 1), |bits| (1 << bits, (1u64 << bits).saturating_mul(2)));
            match rows.last_mut() {
                Some((last, _, sum)) if *last == from => sum.add(*counts),
                _ => rows.push((from, to, *counts)),
            }
        }
        let any = |row: &(u64, u64, Counts)| row.2.total() > 0;
        let first = rows.iter().position(any).unwrap_or(rows.len());
        let end = rows.iter().rposition(any).map_or(0, |last| last + 1);
        rows.drain(first.min(end)..end).collect()
    }

    /// Returns the points of the survival curve \[ns\]: edges of bins, eight to an octave, and the marks, from the
    /// shortest lifetime that ended to the longest lifetime.
    pub fn curve_points(&self) -> Vec<u64> {
        let Some(first) = self.bins.iter().position(|bin| bin.ended() > 0) else { return Vec::new() };
        let mark = |edge: u64| MARKS.iter().any(|(_, mark)| *mark == edge);
        let coarse = |edge: u64| edge.trailing_zeros() + CURVE_BITS >= edge.checked_ilog2().unwrap_or(0);
        let edges = edges();
        let shortest = edges[first];
        edges.into_iter().filter(|edge| (shortest..=self.longest_ns).contains(edge) && (coarse(*edge) || mark(*edge))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    const MINUTE: u64 = MARKS[0].1;

    #[test]
    fn bins_follow_each_other_and_marks_begin_one() {
        let edges = edges();
        assert_eq!(edges.len(), bin(u64::MAX) + 1);
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
        for (index, &edge) in edges.iter().enumerate() {
            assert_eq!(bin(edge), index);
            assert_eq!(bin(edge.saturating_sub(1)), index.saturating_sub(1));
        }
        assert_eq!((bin(MINUTE - 1) + 1, bin(MINUTE)), (bin(MINUTE), bin(MINUTE)));
        assert!(edges.windows(2).skip(600).all(|pair| (pair[1] - pair[0]) as f64 <= 0.004 * pair[0] as f64));
    }

    #[test]
    fn the_textbook_example() {
        // Leukaemia patients under 6-MP (Freireich 1963), the usual example of the estimate, in weeks; `unknown` are
        // the censored ones.
        let ended = [6, 6, 6, 7, 10, 13, 16, 22, 23];
        let unknown = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];
        let mut lives = Lifetimes::default();
        ended.iter().for_each(|weeks| lives.record(*weeks, 1, End::Overwritten));
        unknown.iter().for_each(|weeks| lives.record(*weeks, 1, End::Unknown));
        let found = lives.kaplan_meier(&[6, 7, 8, 11, 14, 17, 23, 24, 35, 36, u64::MAX]);
        let shares: Vec<Option<f64>> = found.iter().map(|one| one.map(|one| (one.share * 1e4).round() / 1e4)).collect();
        let survival = [1.0, 0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482, 0.4482];
        let mut expected: Vec<Option<f64>> = survival.iter().map(|s| Some(((1.0 - s) * 1e4_f64).round() / 1e4)).collect();
        expected.extend([None, Some(0.5518)]);
        assert_eq!(shares, expected);
    }

    /// Computes the estimate by its definition, from exact lifetimes.
    fn exact(lives: &[(u64, u64, bool)], at: u64) -> f64 {
        let mut survival = 1.0;
        let mut times: Vec<u64> = lives.iter().filter(|(ns, _, ended)| *ended && *ns < at).map(|(ns, ..)| *ns).collect();
        times.sort_unstable();
        times.dedup();
        for time in times {
            let sum = |of: &dyn Fn(&&(u64, u64, bool)) -> bool| -> u64 { lives.iter().filter(of).map(|(_, n, _)| n).sum() };
            let watched = sum(&|(ns, ..)| *ns >= time);
            survival *= 1.0 - sum(&|(ns, _, ended)| *ended && *ns == time) as f64 / watched as f64;
        }
        1.0 - survival
    }

    #[test]
    fn the_exact_estimate_lies_within_the_bounds() {
        for seed in 0..200 {
            let mut rng = Rng::stream(seed, "lifetimes");
            let most = [200, 30_000, 3 * MINUTE, 40 * MARKS[2].1][rng.below(4) as usize];
            let mut lives: Vec<(u64, u64, bool)> = Vec::new();
            for _ in 0..200 {
                let near = rng.chance(0.3);
                let ns = if near { MINUTE - 5 + rng.below(10) } else { rng.below(most) };
                lives.push((ns, 1 + rng.below(9), rng.chance(0.6)));
            }
            let mut binned = Lifetimes::default();
            for (ns, count, ended) in &lives {
                binned.record(*ns, *count, if *ended { End::Trimmed } else { End::Unknown });
            }
            let marks: Vec<u64> = MARKS.iter().map(|(_, mark)| *mark).collect();
            for (mark, found) in marks.iter().zip(binned.kaplan_meier(&marks)) {
                let longest = lives.iter().map(|(ns, ..)| *ns).max().unwrap_or(0);
                let expected = exact(&lives, *mark);
                let Some(found) = found else {
                    assert!(*mark > longest);
                    continue;
                };
                assert!(*mark <= longest || expected > 1.0 - 1e-12);
                let (low, high) = (found.share - 1e-12, found.share_max + 1e-12);
                assert!(low <= expected && expected <= high, "seed {seed}, {mark}: {expected} in {found:?}");
            }
        }
    }

    #[test]
    fn octaves_hold_all_lives() {
        let mut lives = Lifetimes::default();
        lives.record(0, 3, End::Overwritten);
        lives.record(1, 1, End::Overwritten);
        lives.record(6, 2, End::Trimmed);
        lives.record(MINUTE, 5, End::Unknown);
        let rows: Vec<(u64, u64, u64)> =
            lives.octaves().iter().map(|(from, to, c)| (*from, *to, c.total())).filter(|row| row.2 > 0).collect();
        assert_eq!(rows, [(0, 1, 3), (1, 2, 1), (4, 8, 2), (1 << 35, 1 << 36, 5)]);
        assert_eq!((lives.octaves()[0].0, lives.octaves().len()), (0, 37));
        assert_eq!(Lifetimes::default().octaves(), []);
        assert_eq!(lives.summed(0, MINUTE), (Counts { overwritten: 4, trimmed: 2, unknown: 0 }, true));
    }
}
