//! Positions of the circulants of a quasi-cyclic code, drawn at random one block column at a time so that no two bits
//! share two checks.

use super::circulant::{CIRCULANT, Matrix, invert};
use kit::Rng;

/// Attempts at drawing the rows and shifts of one block column before the search gives up.
const DRAWS: u32 = 2000;

/// Attempts at drawing the whole parity part before the search gives up; about one in four is invertible.
const PARITY_DRAWS: u32 = 200;

/// A circulant of weight one: its block row and its cyclic shift.
pub type Place = (usize, u32);

/// Circulants of each block column: data columns first, then as many parity columns as there are block rows.
#[derive(Clone, Debug)]
pub struct Protograph {
    rows: usize,
    /// Number of circulants in each block row.
    degrees: Vec<u32>,
    /// For each pair of block rows, the set of shift differences used by block columns so far; using a difference twice
    /// would close a cycle of length four.
    differences: Vec<u128>,
    columns: Vec<Vec<Place>>,
}

impl Protograph {
    /// Draws block columns for data and parity, each with `weight` circulants, and returns them with the inverse of the
    /// parity part; `None` if a column could not be placed.
    pub fn draw(data_columns: usize, rows: usize, weight: usize, seed: u64) -> Option<(Vec<Vec<Place>>, Matrix)> {
        let mut rng = Rng::stream(seed, "codec.ldpc");
        let (mut graph, inverse) = (0..PARITY_DRAWS).find_map(|_| Protograph::parity(rows, weight, &mut rng))?;
        let parity = std::mem::take(&mut graph.columns);
        for _ in 0..data_columns {
            graph.add(weight, true, &mut rng)?;
        }
        graph.columns.extend(parity);
        Some((graph.columns, inverse))
    }

    /// Draws an invertible parity part. If all its columns had an even weight, the sum of its rows would be zero;
    /// therefore the last column has an odd weight.
    fn parity(rows: usize, weight: usize, rng: &mut Rng) -> Option<(Protograph, Matrix)> {
        let mut graph = Protograph { rows, degrees: vec![0; rows], differences: vec![0; rows * rows], columns: Vec::new() };
        for column in 0..rows {
            let odd = weight - usize::from(weight.is_multiple_of(2));
            graph.add(if column + 1 == rows { odd } else { weight }, false, rng)?;
        }
        let mut matrix = vec![vec![0u128; rows]; rows];
        for (column, places) in graph.columns.iter().enumerate() {
            for &(row, shift) in places {
                matrix[row][column] = 1 << shift;
            }
        }
        // The matrix is invertible if and only if that of its weights modulo two is, which is far cheaper to test.
        let weights: Matrix =
            matrix.iter().map(|row| row.iter().map(|element| u128::from(element.count_ones() % 2)).collect()).collect();
        invert(&weights)?;
        Some((graph, invert(&matrix)?))
    }

    /// Adds a block column: in the rows with the fewest circulants if `even`, otherwise in any rows. The parity part is
    /// not filled evenly, because its columns would then often add up to all ones and it could not be inverted.
    fn add(&mut self, weight: usize, even: bool, rng: &mut Rng) -> Option<()> {
        for _ in 0..DRAWS {
            let mut order: Vec<(u32, u64, usize)> =
                (0..self.rows).map(|row| (if even { self.degrees[row] } else { 0 }, rng.next_u64(), row)).collect();
            order.sort_unstable();
            let places: Vec<Place> =
                order[..weight].iter().map(|&(_, _, row)| (row, rng.below(CIRCULANT as u64) as u32)).collect();
            let cells: Vec<(usize, u128)> = self.cells(&places);
            if cells.iter().all(|&(cell, difference)| self.differences[cell] & difference == 0) {
                for (cell, difference) in cells {
                    self.differences[cell] |= difference;
                }
                for &(row, _) in &places {
                    self.degrees[row] += 1;
                }
                self.columns.push(places);
                return Some(());
            }
        }
        None
    }

    /// Returns the pairs of block rows that a column joins, each as an index into `differences` and a bit for the
    /// difference of its shifts.
    fn cells(&self, places: &[Place]) -> Vec<(usize, u128)> {
        let pairs = places.iter().flat_map(|&a| places.iter().map(move |&b| (a, b)));
        let joined = pairs.filter(|((one, _), (other, _))| one < other);
        joined.map(|((a, s), (b, u))| (a * self.rows + b, 1 << ((s + CIRCULANT as u32 - u) % CIRCULANT as u32))).collect()
    }
}
