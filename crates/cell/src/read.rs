//! Error rates of pages, from the distributions of levels.

use crate::density::Density;

/// Bit error rates of the pages of a wordline.
#[derive(Clone, Debug, PartialEq)]
pub struct PageErrors {
    /// By page type, LSB first.
    pub pages: Vec<f64>,
    /// The read reference above each level but the last \[V\].
    pub references: Vec<f64>,
}

impl PageErrors {
    /// The worst page's.
    pub fn worst(&self) -> f64 {
        self.pages.iter().copied().fold(0.0, f64::max)
    }
}

/// Error rates with the references that are best for these distributions (tracked references; FACTS 1.1), under the reflected Gray map: the LSB page is read at the
/// middle reference, each further page at those half-way between. All levels are equally likely; a cell that crosses one boundary counts, one that crosses
/// several does not: [`crate::monte_carlo`] counts those, too.
pub fn page_errors(levels: &[Density]) -> PageErrors {
    let best: Vec<(f64, f64)> = levels.windows(2).map(|pair| best_reference(&pair[0], &pair[1])).collect();
    let bits = levels.len().trailing_zeros() as usize;
    let pages = (0..bits)
        .map(|page| {
            // Boundary k (between levels k and k + 1) belongs to the page of the highest power of two that divides k + 1.
            let own = |boundary: usize| (boundary + 1).trailing_zeros() as usize == bits - 1 - page;
            best.iter().enumerate().filter(|(boundary, _)| own(*boundary)).map(|(_, (_, errors))| errors).sum::<f64>()
                / levels.len() as f64
        })
        .collect();
    PageErrors { pages, references: best.iter().map(|(reference, _)| *reference).collect() }
}

/// The reference between two levels with the fewest errors, and their number per cell of each level.
fn best_reference(lower: &Density, upper: &Density) -> (f64, f64) {
    let (_, above) = lower.tails();
    let (below, _) = upper.tails();
    let errors = above.iter().zip(&below).map(|(above, below)| above + below);
    let (place, errors) = errors.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("a grid has places");
    (lower.grid().at(place) + lower.grid().step / 2.0, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::{Grid, normal};

    #[test]
    fn boundaries_belong_to_pages_of_the_gray_map() {
        let grid = Grid::over(-2.0, 9.0, 0.01);
        let level = |mean: f64, sigma: f64| Density::of(grid, move |x| normal((x - mean) / sigma));
        // Only the middle boundary is tight: the LSB page has its errors, the MSB page few.
        let levels = [level(0.0, 0.2), level(2.0, 0.4), level(4.0, 0.4), level(6.0, 0.2)];
        let errors = page_errors(&levels);
        let expected = 2.0 * normal(-1.0 / 0.4) / 4.0;
        assert!((errors.pages[0] / expected - 1.0).abs() < 0.01, "{:?}", errors.pages);
        assert!(errors.pages[1] < errors.pages[0] / 5.0 && (errors.references[1] - 3.0).abs() < 0.02, "{errors:?}");
    }
}
