//! Error rates of pages, computed from the distributions of levels.

use crate::density::Density;

/// Bit error rates of the pages of a wordline.
#[derive(Clone, Debug, PartialEq)]
pub struct PageErrors {
    /// Bit error rates by page type, LSB first.
    pub pages: Vec<f64>,
    /// Read reference above each level except the highest \[V\].
    pub references: Vec<f64>,
}

impl PageErrors {
    /// Returns the error rate of the worst page.
    pub fn worst(&self) -> f64 {
        self.pages.iter().copied().fold(0.0, f64::max)
    }
}

/// Returns the reflected Gray code of a level: ER = 11, P1 = 10, P2 = 00, P3 = 01 with bits inverted (FACTS 1.1).
pub fn gray(level: usize) -> usize {
    level ^ level >> 1
}

/// Returns true if reading a cell of `level` as `read` makes the bit of `page` wrong. The LSB page is read at the
/// middle reference, each further page at the references half-way between those of the earlier pages.
pub fn differs(level: usize, read: usize, page: usize, bits: usize) -> bool {
    (gray(level) ^ gray(read)) >> (bits - 1 - page) & 1 == 1
}

/// Returns the number of references at which a page is read.
pub fn references_of(page: usize) -> usize {
    1 << page
}

/// Returns the page whose bit changes at a boundary. The boundary between levels k and k + 1 belongs to the page given
/// by the highest power of two that divides k + 1.
pub fn page_of(boundary: usize, bits: usize) -> usize {
    bits - 1 - (boundary + 1).trailing_zeros() as usize
}

/// Returns, for each level, the probability that a cell lies in each of the intervals into which `references`
/// (ascending) divide the voltage axis.
pub fn intervals(levels: &[Density], references: &[f64]) -> Vec<Vec<f64>> {
    levels
        .iter()
        .map(|level| {
            let (below, above) = level.tails();
            let cuts: Vec<(f64, f64)> = references
                .iter()
                .map(|reference| {
                    let (place, share) = level.grid().between(*reference);
                    let (below, above) = (tail_between(&below, place, share), tail_between(&above, place, share));
                    // Only the smaller tail has full relative precision; the larger one is its complement.
                    if below < above { (below, 1.0 - below) } else { (1.0 - above, above) }
                })
                .collect();
            let mut shares = Vec::with_capacity(cuts.len() + 1);
            for index in 0..=cuts.len() {
                // Subtract the smaller tails, so that a small probability is not lost in the difference of two numbers
                // near one.
                let share = match (index.checked_sub(1).map(|before| cuts[before]), cuts.get(index)) {
                    (None, Some(next)) => next.0,
                    (Some(last), None) => last.1,
                    (Some(last), Some(next)) if next.0 < 0.5 => next.0 - last.0,
                    (Some(last), Some(next)) => last.1 - next.1,
                    (None, None) => 1.0,
                };
                shares.push(share.max(0.0));
            }
            shares
        })
        .collect()
}

/// Returns a tail at a voltage between two edges of the grid. The logarithm is interpolated linearly, since far tails
/// fall exponentially.
fn tail_between(tail: &[f64], place: Option<usize>, share: f64) -> f64 {
    // Below the first edge, the tail summed from below is 0 and the one summed from above is 1; its ends tell which one
    // it is.
    let Some(place) = place else { return if tail[0] < tail[tail.len() - 1] { 0.0 } else { 1.0 } };
    let (here, next) = (tail[place], tail[(place + 1).min(tail.len() - 1)]);
    if here <= 0.0 || next <= 0.0 {
        return here + (next - here) * share;
    }
    here * libm::exp(share * libm::log(next / here))
}

/// Returns the error rates at these references, with all levels equally likely.
pub fn errors_at(levels: &[Density], references: Vec<f64>) -> PageErrors {
    let bits = levels.len().trailing_zeros() as usize;
    let read = intervals(levels, &references);
    let pages = (0..bits)
        .map(|page| {
            let wrong = |level: usize, shares: &[f64]| -> f64 {
                let hit = shares.iter().enumerate().filter(|(read, _)| differs(level, *read, page, bits));
                hit.map(|(_, share)| share).sum()
            };
            read.iter().enumerate().map(|(level, shares)| wrong(level, shares)).sum::<f64>() / levels.len() as f64
        })
        .collect();
    PageErrors { pages, references }
}

/// Returns the error rates at the references that are optimal for these distributions (FACTS 1.1).
pub fn page_errors(levels: &[Density]) -> PageErrors {
    errors_at(levels, best_references(levels))
}

/// Choice of the read references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum References {
    /// Optimal for fresh data on a fresh block: a factory setting that is never adjusted.
    Fixed,
    /// Optimal at half the age: a controller that measures a block again whenever its age has doubled (assumed).
    Tracked,
    /// Optimal for the distributions as they are: the limit of what read retry can reach (FACTS 1.1; the default).
    #[default]
    Optimal,
}

/// Returns, for each pair of neighbouring levels, the reference that misreads the fewest cells \[V\].
pub fn best_references(levels: &[Density]) -> Vec<f64> {
    levels.windows(2).map(|pair| best_reference(&pair[0], &pair[1]).0).collect()
}

/// Returns the reference between two levels with the fewest errors, and its error count per cell of each level. The
/// reference may lie between grid edges: there one tail falls and the other rises exponentially, and the minimum of
/// their sum has a closed form.
pub(crate) fn best_reference(lower: &Density, upper: &Density) -> (f64, f64) {
    let (_, above) = lower.tails();
    let (below, _) = upper.tails();
    let errors = above.iter().zip(&below).map(|(above, below)| above + below);
    let (place, least) = errors.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("a grid has places");
    let grid = lower.grid();
    let mut best = (grid.at(place) + grid.step / 2.0, least);
    for from in [place.saturating_sub(1), place] {
        let to = from + 1;
        if to >= above.len() || [above[from], above[to], below[from], below[to]].iter().any(|tail| *tail <= 0.0) {
            continue;
        }
        let (falls, rises) = (libm::log(above[from] / above[to]), libm::log(below[to] / below[from]));
        if falls <= 0.0 || rises <= 0.0 {
            continue;
        }
        let share = (libm::log(falls * above[from] / (rises * below[from])) / (falls + rises)).clamp(0.0, 1.0);
        let errors = above[from] * libm::exp(-falls * share) + below[from] * libm::exp(rises * share);
        if errors < best.1 {
            best = (grid.at(from) + grid.step * (share + 0.5), errors);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::{Grid, normal};

    fn levels() -> [Density; 4] {
        let grid = Grid::over(-2.0, 9.0, 0.01);
        let level = |mean: f64, sigma: f64| Density::of(grid, move |x| normal((x - mean) / sigma));
        [level(0.0, 0.2), level(2.0, 0.4), level(4.0, 0.4), level(6.0, 0.2)]
    }

    #[test]
    fn boundaries_belong_to_pages_of_the_gray_map() {
        // Only the middle boundary is narrow, so nearly all errors are in the LSB page.
        let errors = page_errors(&levels());
        let expected = 2.0 * normal(-1.0 / 0.4) / 4.0;
        assert!((errors.pages[0] / expected - 1.0).abs() < 0.01, "{:?}", errors.pages);
        assert!(errors.pages[1] < errors.pages[0] / 5.0 && (errors.references[1] - 3.0).abs() < 0.02, "{errors:?}");
        assert_eq!([0, 1, 2].map(|boundary| page_of(boundary, 2)), [1, 0, 1]);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|boundary| page_of(boundary, 3)), [2, 1, 2, 0, 2, 1, 2]);
    }

    #[test]
    fn shares_of_intervals_add_up_and_follow_the_cuts() {
        let shares = intervals(&levels(), &[1.0, 3.0, 3.5, 5.0]);
        assert!(shares.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.len() == 5));
        assert!((shares[1][1] - (normal(2.5) - normal(-2.5))).abs() < 5e-3, "{shares:?}");
        let far = intervals(&levels(), &[4.4]);
        assert!((far[1][1] / normal(-6.0) - 1.0).abs() < 0.1, "{far:?}");
    }

    #[test]
    fn a_moved_reference_costs_errors() {
        let best = page_errors(&levels());
        let moved: Vec<f64> = best.references.iter().map(|reference| reference + 0.2).collect();
        let worse = errors_at(&levels(), moved);
        assert!(worse.pages.iter().zip(&best.pages).all(|(worse, best)| worse > best), "{worse:?} {best:?}");
    }
}
