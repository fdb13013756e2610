//! Finite fields GF(2^m), m from 3 to 16, with tables of powers and logarithms.

/// Primitive polynomials for m = 3 and up, bit i for x^i (Lin and Costello, Error Control Coding, table 2.7).
const PRIMITIVE: [u32; 14] = [0xb, 0x13, 0x25, 0x43, 0x89, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x4443, 0x8003, 0x1100b];

/// The field GF(2^m). Elements are polynomials in the primitive element alpha, bit i for alpha^i.
#[derive(Clone, Debug)]
pub struct Field {
    order: u32,
    /// Powers of alpha, stored twice in a row so that the sum of two logarithms needs no reduction.
    exp: Vec<u16>,
    log: Vec<u16>,
}

impl Field {
    /// Returns the field of 2^m elements; `None` unless m is from 3 to 16.
    pub fn new(m: u64) -> Option<Field> {
        let polynomial = *PRIMITIVE.get(usize::try_from(m.checked_sub(3)?).ok()?)?;
        let order = (1u32 << m) - 1;
        let (mut exp, mut log) = (vec![0u16; 2 * order as usize], vec![0u16; order as usize + 1]);
        let mut element = 1u32;
        for power in 0..order {
            exp[power as usize] = element as u16;
            exp[(power + order) as usize] = element as u16;
            log[element as usize] = power as u16;
            element <<= 1;
            if element > order {
                element ^= polynomial;
            }
        }
        Some(Field { order, exp, log })
    }

    /// Returns the number of non-zero elements, 2^m - 1, which is also the period of the powers of alpha.
    pub fn order(&self) -> u32 {
        self.order
    }

    /// Returns alpha to a power below twice the order.
    #[inline]
    pub fn power(&self, exponent: u32) -> u16 {
        self.exp[exponent as usize]
    }

    /// Returns the logarithm of a non-zero element: its power of alpha, below the order.
    #[inline]
    pub fn log(&self, element: u16) -> u32 {
        debug_assert!(element != 0, "zero is no power");
        u32::from(self.log[usize::from(element)])
    }

    /// Returns the product of two elements.
    #[inline]
    pub fn product(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 { 0 } else { self.power(self.log(a) + self.log(b)) }
    }

    /// Returns the quotient of an element and a non-zero element.
    #[inline]
    pub fn quotient(&self, a: u16, b: u16) -> u16 {
        if a == 0 { 0 } else { self.power(self.log(a) + self.order - self.log(b)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// alpha is primitive if and only if its powers are all the non-zero elements.
    #[test]
    fn every_polynomial_of_the_table_is_primitive() {
        for m in 3..=16 {
            let field = Field::new(m).expect("m is in the table");
            let mut seen = vec![false; field.order() as usize + 1];
            for power in 0..field.order() {
                let element = field.power(power);
                assert!(
                    element != 0 && !std::mem::replace(&mut seen[usize::from(element)], true),
                    "m {m}: {element} comes twice"
                );
                assert_eq!(field.log(element), power);
            }
        }
        assert!(Field::new(2).is_none() && Field::new(17).is_none());
    }

    /// Products from the tables equal products of polynomials, reduced.
    #[test]
    fn products_are_those_of_polynomials() {
        for m in [3u64, 8, 13, 16] {
            let field = Field::new(m).expect("m is in the table");
            let mut rng = kit::Rng::stream(1, "field");
            for _ in 0..2000 {
                let (a, b) = (rng.below(1 << m) as u16, rng.below(1 << m) as u16);
                let mut product = 0u64;
                for bit in 0..m {
                    product ^= (u64::from(b) >> bit & 1) * (u64::from(a) << bit);
                }
                for bit in (m..2 * m).rev() {
                    product ^= (product >> bit & 1) * (u64::from(PRIMITIVE[m as usize - 3]) << (bit - m));
                }
                assert_eq!(u64::from(field.product(a, b)), product);
                if b != 0 {
                    assert_eq!(field.quotient(field.product(a, b), b), a);
                }
            }
        }
    }
}
