//! Circulant matrices of 128 rows, as polynomials modulo x^128 - 1, each in one machine word.
//!
//! Bit s of a word is the coefficient of x^s, which rotates a vector of 128 bits by s places. The ring is local,
//! because 128 is a power of two: an element is invertible if and only if its weight is odd, and a matrix is invertible
//! if and only if the matrix of its weights modulo two is.

/// Number of rows of a circulant.
pub const CIRCULANT: usize = 128;

/// Matrix of circulants, by rows.
pub type Matrix = Vec<Vec<u128>>;

/// Returns the product of two circulants, or of a circulant and a vector.
pub fn product(mut a: u128, b: u128) -> u128 {
    let mut sum = 0;
    while a != 0 {
        sum ^= b.rotate_left(a.trailing_zeros());
        a &= a - 1;
    }
    sum
}

/// Returns the inverse of a circulant; `None` if its weight is even. Squaring doubles the exponents, so the 128th power
/// of an element of odd weight is one, and its 127th power is the inverse.
pub fn inverse(element: u128) -> Option<u128> {
    if element.count_ones().is_multiple_of(2) {
        return None;
    }
    let (mut power, mut inverse) = (element, element);
    for _ in 0..6 {
        power = product(power, power);
        inverse = product(inverse, power);
    }
    Some(inverse)
}

/// Returns the inverse of a square matrix; `None` if it is not invertible.
pub fn invert(matrix: &Matrix) -> Option<Matrix> {
    let size = matrix.len();
    let mut rows: Matrix = (0..)
        .zip(matrix)
        .map(|(index, row)| row.iter().copied().chain((0..size).map(|column| u128::from(column == index))).collect())
        .collect();
    for step in 0..size {
        let pivot = (step..size).find(|&row| inverse(rows[row][step]).is_some())?;
        rows.swap(step, pivot);
        let scale = inverse(rows[step][step]).expect("the pivot was chosen for its inverse");
        let chosen: Vec<u128> = rows[step].iter().map(|&element| product(element, scale)).collect();
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != step) {
            let factor = row[step];
            for (element, &above) in row.iter_mut().zip(&chosen) {
                *element ^= product(factor, above);
            }
        }
        rows[step] = chosen;
    }
    Some(rows.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn random(rng: &mut Rng) -> u128 {
        u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())
    }

    #[test]
    fn odd_elements_and_no_others_have_inverses() {
        let mut rng = Rng::stream(1, "circulant");
        for _ in 0..200 {
            let (a, b) = (random(&mut rng), random(&mut rng));
            assert_eq!(product(a, b), product(b, a));
            match inverse(a) {
                Some(inverse) => assert_eq!(product(a, inverse), 1),
                None => assert_eq!(a.count_ones() % 2, 0),
            }
        }
    }

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let mut rng = Rng::stream(2, "circulant");
        let mut inverted = 0;
        for _ in 0..20 {
            let matrix: Matrix = (0..5).map(|_| (0..5).map(|_| random(&mut rng)).collect()).collect();
            let Some(inverse) = invert(&matrix) else { continue };
            inverted += 1;
            for (row, ours) in matrix.iter().enumerate() {
                for column in 0..5 {
                    let sum = ours.iter().zip(&inverse).fold(0, |sum, (&a, b)| sum ^ product(a, b[column]));
                    assert_eq!(sum, u128::from(row == column));
                }
            }
        }
        assert!((1..20).contains(&inverted), "about 0.3 of the matrices over GF(2) are invertible: {inverted} of 20");
    }
}
