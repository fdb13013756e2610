//! Encoder and decoder of binary BCH codes.
//!
//! Primitive, narrow-sense, shortened. Bit i of an n-bit word is the coefficient of x^(n-1-i), with the data first and
//! the parity after it. Decoding computes syndromes, then uses Berlekamp-Massey (Massey 1969, with Berlekamp's
//! simplification for binary codes, which halves the steps) and a Chien search (Chien 1964).

use super::field::Field;
use super::{Failure, Outcome};
use crate::bch::Bch;

/// A BCH code with its tables.
#[derive(Clone, Debug)]
pub struct BchCodec {
    code: Bch,
    field: Field,
    /// Generator polynomial without its leading one; the highest coefficient is in the highest bit of the first word.
    generator: Vec<u64>,
    parity_bits: usize,
    /// Divisors of the field's order that the Chien search may use to divide its work.
    divisors: Vec<u32>,
}

impl BchCodec {
    /// Builds a code for `data_bits` that corrects `t` errors. Fails if it would need a field larger than GF(2^16).
    pub fn new(data_bits: u64, t: u64) -> Result<BchCodec, String> {
        if data_bits == 0 || t == 0 || data_bits > 65_535 || t > 65_535 {
            return Err(format!("a BCH code of {data_bits} data bits with t = {t}: expected 1 to 65535 of either"));
        }
        let code = Bch { data_bits, t };
        let field = Field::new(code.field()).ok_or_else(|| {
            format!("a BCH code of {data_bits} data bits with t = {t} needs GF(2^{}): expected at most GF(2^16)", code.field())
        })?;
        let generator = generator(&field, t as u32);
        let divisors = (1..=64.min(field.order())).filter(|divisor| field.order() % divisor == 0).collect();
        Ok(BchCodec { code, field, parity_bits: generator.len() - 1, generator: left_aligned(&generator), divisors })
    }

    /// Returns the size and strength of the code.
    pub fn code(&self) -> Bch {
        self.code
    }

    /// Returns the number of parity bits: the degree of the generator, at most `m t`.
    pub fn parity_bits(&self) -> u64 {
        self.parity_bits as u64
    }

    /// Returns the bits of a codeword, data and parity.
    pub fn codeword_bits(&self) -> u64 {
        self.code.data_bits + self.parity_bits()
    }

    /// Returns the codeword of `data`: the data, then the parity. `data` must have as many bits as the code has data
    /// bits.
    pub fn encode(&self, data: &[bool]) -> Vec<bool> {
        assert_eq!(data.len() as u64, self.code.data_bits, "as many bits as the code takes");
        let mut word = data.to_vec();
        word.extend(self.remainder(data));
        word
    }

    /// Corrects a received word in place and returns the number of bits it flipped; an uncorrectable word is left
    /// unchanged.
    pub fn decode(&self, word: &mut [bool]) -> Result<usize, Failure> {
        assert_eq!(word.len() as u64, self.codeword_bits(), "a whole codeword");
        let (data, parity) = word.split_at(self.code.data_bits as usize);
        // The remainder has the same syndromes as the word, and only a few per cent of its length.
        let differing = self.remainder(data).into_iter().zip(parity).enumerate().filter(|(_, (ours, theirs))| ours != *theirs);
        let positions: Vec<u32> = differing.map(|(bit, _)| (data.len() + bit) as u32).collect();
        let errors = self.locate(&self.syndromes(&positions))?;
        for &position in &errors {
            word[position as usize] ^= true;
        }
        Ok(errors.len())
    }

    /// Returns the outcome for a codeword with errors at these positions, each given once and below
    /// [`BchCodec::codeword_bits`]. The code is linear, so the outcome is the same for every codeword.
    pub fn decode_errors(&self, positions: &[u32]) -> Outcome {
        match self.locate(&self.syndromes(positions)) {
            Err(Failure) => Outcome::Detected,
            Ok(mut found) => {
                let mut made = positions.to_vec();
                made.sort_unstable();
                found.sort_unstable();
                if found == made { Outcome::Corrected } else { Outcome::Wrong }
            }
        }
    }

    /// Returns the parity of `data`: the remainder of data times x^parity divided by the generator.
    fn remainder(&self, data: &[bool]) -> Vec<bool> {
        let mut register = vec![0u64; self.generator.len()];
        for &bit in data {
            let feedback = if (register[0] >> 63 == 1) != bit { u64::MAX } else { 0 };
            let mut carry = 0;
            for (word, tap) in register.iter_mut().zip(&self.generator).rev() {
                let next = *word >> 63;
                *word = (*word << 1 | carry) ^ (tap & feedback);
                carry = next;
            }
        }
        (0..self.parity_bits).map(|bit| register[bit / 64] >> (63 - bit % 64) & 1 == 1).collect()
    }

    /// Returns the syndromes S_1 to S_2t of a word whose ones are at these positions.
    fn syndromes(&self, positions: &[u32]) -> Vec<u16> {
        let (field, order) = (&self.field, self.field.order());
        let last = self.codeword_bits() as u32 - 1;
        let mut syndromes = vec![0u16; 2 * self.code.t as usize];
        for &position in positions {
            let mut exponent = last - position;
            let step = 2 * exponent % order;
            for odd in syndromes.iter_mut().step_by(2) {
                *odd ^= field.power(exponent);
                exponent += step;
                if exponent >= order {
                    exponent -= order;
                }
            }
        }
        // S_2j = S_j^2 in a field of characteristic two.
        for index in (1..syndromes.len()).step_by(2) {
            let half = syndromes[(index - 1) / 2];
            syndromes[index] = field.product(half, half);
        }
        syndromes
    }

    /// Returns the positions of the errors that have these syndromes.
    fn locate(&self, syndromes: &[u16]) -> Result<Vec<u32>, Failure> {
        if syndromes.iter().all(|&syndrome| syndrome == 0) {
            return Ok(Vec::new());
        }
        let locator = self.locator(syndromes)?;
        let last = self.codeword_bits() as u32 - 1;
        let errors: Vec<u32> = self.roots(&locator).into_iter().map(|exponent| last - exponent).collect();
        // If there are fewer roots than the degree, no pattern of up to t errors within the shortened length has these
        // syndromes.
        if errors.len() == locator.len() - 1 { Ok(errors) } else { Err(Failure) }
    }

    /// Returns the coefficients of the error locator, lowest first, by the Berlekamp-Massey algorithm.
    fn locator(&self, syndromes: &[u16]) -> Result<Vec<u16>, Failure> {
        let (field, t) = (&self.field, self.code.t as usize);
        let (mut locator, mut earlier) = (vec![1u16], vec![1u16]);
        let (mut earlier_discrepancy, mut shift) = (1u16, 1usize);
        for step in 0..t {
            // For a binary code every second discrepancy is zero and needs no step.
            let newest = 2 * step;
            let discrepancy =
                locator.iter().zip(syndromes[..=newest].iter().rev()).fold(0, |sum, (&c, &s)| sum ^ field.product(c, s));
            if discrepancy != 0 {
                let before = locator.clone();
                let factor = field.quotient(discrepancy, earlier_discrepancy);
                locator.resize(before.len().max(earlier.len() + shift), 0);
                for (coefficient, &term) in locator[shift..].iter_mut().zip(&earlier) {
                    *coefficient ^= field.product(factor, term);
                }
                if locator.len() > t + 1 {
                    return Err(Failure);
                }
                if locator.len() > before.len() {
                    (earlier, earlier_discrepancy, shift) = (before, discrepancy, 0);
                }
            }
            shift += 2;
        }
        Ok(locator)
    }

    /// Returns the exponents e below the number of codeword bits for which alpha^-e is a root of the locator.
    ///
    /// Chien's search keeps the logarithm of each term and advances it from e to e + 1. A divisor d of the field's
    /// order saves most of the work: alpha^(-j order / d) depends on j modulo d only. For d exponents that are `order /
    /// d` apart, the terms with equal j modulo d are therefore summed once, and only d sums remain to be added for each
    /// exponent.
    fn roots(&self, locator: &[u16]) -> Vec<u32> {
        let (field, order, bits) = (&self.field, self.field.order(), self.codeword_bits() as u32);
        let parts = self.parts(locator.len() as u32);
        let stride = order / parts;
        let twiddles: Vec<u32> =
            (0..parts).flat_map(|k| (0..parts).map(move |part| (parts - part * k % parts) % parts * stride)).collect();
        let mut terms: Vec<Term> =
            (0u32..).zip(locator).filter(|(_, c)| **c != 0).map(|(j, &c)| Term::new(field, parts, j, c)).collect();
        let (mut sums, mut logs) = (vec![0u16; parts as usize], Vec::with_capacity(parts as usize));
        let mut roots = Vec::with_capacity(locator.len() - 1);
        for start in 0..stride.min(bits) {
            sums.fill(0);
            for term in &mut terms {
                sums[term.part] ^= field.power(term.log);
                term.log += term.step;
                if term.log >= order {
                    term.log -= order;
                }
            }
            logs.clear();
            logs.extend(sums.iter().enumerate().filter(|(_, sum)| **sum != 0).map(|(part, &sum)| (part, field.log(sum))));
            for (exponent, twiddles) in (start..bits).step_by(stride as usize).zip(twiddles.chunks_exact(parts as usize)) {
                if logs.iter().fold(0, |sum, &(part, log)| sum ^ field.power(log + twiddles[part])) == 0 {
                    roots.push(exponent);
                }
            }
            if roots.len() + 1 >= locator.len() {
                break;
            }
        }
        roots
    }

    /// Returns the divisor of the order that gives the least work for a locator with `terms` terms.
    fn parts(&self, terms: u32) -> u32 {
        let work = |parts: u32| {
            let stride = u64::from(self.field.order() / parts);
            stride.min(self.codeword_bits()) * u64::from(terms) + self.codeword_bits() * u64::from(parts.min(terms))
        };
        self.divisors.iter().copied().min_by_key(|&parts| work(parts)).expect("one divides every order")
    }
}

/// A term of the locator, at the current exponent of the search.
struct Term {
    log: u32,
    step: u32,
    part: usize,
}

impl Term {
    fn new(field: &Field, parts: u32, j: u32, coefficient: u16) -> Term {
        Term { log: field.log(coefficient), step: (field.order() - j) % field.order(), part: (j % parts) as usize }
    }
}

/// Returns the generator's coefficients, lowest first: the product of the distinct minimal polynomials of alpha,
/// alpha^3, ..., alpha^(2t-1).
fn generator(field: &Field, t: u32) -> Vec<bool> {
    let mut product = vec![true];
    let mut covered = vec![false; field.order() as usize];
    for root in (1..2 * t).step_by(2).map(|root| root % field.order()) {
        if covered[root as usize] {
            continue;
        }
        let minimal = minimal(field, root, &mut covered);
        let mut next = vec![false; product.len() + minimal.len() - 1];
        for (shift, _) in minimal.iter().enumerate().filter(|(_, set)| **set) {
            for (sum, &coefficient) in next[shift..].iter_mut().zip(&product) {
                *sum ^= coefficient;
            }
        }
        product = next;
    }
    product
}

/// Returns the minimal polynomial of alpha^root, lowest coefficient first: the product of x - alpha^k over the
/// conjugates k, which are marked in `covered`.
fn minimal(field: &Field, root: u32, covered: &mut [bool]) -> Vec<bool> {
    let mut polynomial = vec![1u16];
    let mut conjugate = root;
    while !std::mem::replace(&mut covered[conjugate as usize], true) {
        let zero = field.power(conjugate);
        polynomial.push(0);
        for index in (0..polynomial.len()).rev() {
            let above = if index == 0 { 0 } else { polynomial[index - 1] };
            polynomial[index] = above ^ field.product(zero, polynomial[index]);
        }
        conjugate = 2 * conjugate % field.order();
    }
    polynomial
        .into_iter()
        .map(|coefficient| {
            assert!(coefficient <= 1, "a minimal polynomial is binary");
            coefficient == 1
        })
        .collect()
}

/// Packs the coefficients below the leading one into words, highest first, starting at the highest bit.
fn left_aligned(generator: &[bool]) -> Vec<u64> {
    let below: Vec<bool> = generator[..generator.len() - 1].iter().rev().copied().collect();
    below
        .chunks(64)
        .map(|chunk| chunk.iter().zip((0..64).rev()).fold(0, |word, (&bit, place)| word | u64::from(bit) << place))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn codec(data_bits: u64, t: u64) -> BchCodec {
        BchCodec::new(data_bits, t).expect("a field of this size")
    }

    fn distinct(rng: &mut Rng, count: usize, bits: u64) -> Vec<u32> {
        let mut places = std::collections::BTreeSet::new();
        while places.len() < count {
            places.insert(rng.below(bits) as u32);
        }
        places.into_iter().collect()
    }

    /// Lin and Costello, table 6.4: the (15, 7) code with t = 2 is x^8 + x^7 + x^6 + x^4 + 1, the (15, 5) code with t =
    /// 3 is x^10 + x^8 + x^5 + x^4 + x^2 + x + 1.
    #[test]
    fn generators_are_those_of_the_textbook() {
        let field = Field::new(4).expect("m is in the table");
        let coefficients = |t| (0..).zip(generator(&field, t)).map(|(power, bit)| u32::from(bit) << power).sum::<u32>();
        assert_eq!((coefficients(2), coefficients(3)), (0b1_1101_0001, 0b101_0011_0111));
        let ofwar = codec(32_768, 110);
        assert_eq!((ofwar.parity_bits(), ofwar.codeword_bits()), (1760, 34_528));
        assert!(BchCodec::new(65_536, 40).is_err() && BchCodec::new(100, 0).is_err());
    }

    #[test]
    fn up_to_t_errors_are_corrected_wherever_they_are() {
        let mut rng = Rng::stream(3, "bch");
        for (data_bits, t, words) in
            [(4, 1, 20), (7, 2, 20), (100, 5, 20), (4096, 12, 8), (8192, 24, 4), (8192, 40, 3), (32_768, 110, 1)]
        {
            let codec = codec(data_bits, t);
            for word in 0..words {
                let data: Vec<bool> = (0..data_bits).map(|_| rng.chance(0.5)).collect();
                let sent = codec.encode(&data);
                let mut received = sent.clone();
                // Exactly t errors in the first word, a random number up to t in the others.
                let errors = if word == 0 { t } else { rng.below(t + 1) };
                for place in distinct(&mut rng, errors as usize, codec.codeword_bits()) {
                    received[place as usize] ^= true;
                }
                assert_eq!(codec.decode(&mut received), Ok(errors as usize), "{data_bits} bits, t {t}");
                assert!(received == sent, "{data_bits} bits, t {t}, {errors} errors");
            }
        }
    }

    /// Errors at both ends of the word: the search covers the whole shortened length.
    #[test]
    fn the_first_and_the_last_bit_are_corrected() {
        for (data_bits, t) in [(4096, 12), (8192, 24), (32_768, 110)] {
            let codec = codec(data_bits, t);
            let last = codec.codeword_bits() as u32 - 1;
            for places in [vec![0], vec![last], vec![0, last], vec![data_bits as u32 - 1, data_bits as u32]] {
                assert_eq!(codec.decode_errors(&places), Outcome::Corrected);
            }
        }
    }

    /// Of words with more than t errors, a fraction of about 1/t! is decoded to another codeword, less for a shortened
    /// code.
    #[test]
    fn more_than_t_errors_are_found_out() {
        let mut rng = Rng::stream(4, "bch");
        for (data_bits, t, words) in [(4096, 12, 60), (8192, 24, 20), (32_768, 110, 2)] {
            let codec = codec(data_bits, t);
            for excess in 1..=words {
                let places = distinct(&mut rng, (t + excess) as usize, codec.codeword_bits());
                assert_eq!(codec.decode_errors(&places), Outcome::Detected, "t {t}, {} errors", t + excess);
            }
            let sent = codec.encode(&vec![true; data_bits as usize]);
            let mut received = sent.clone();
            for place in distinct(&mut rng, t as usize + 1, codec.codeword_bits()) {
                received[place as usize] ^= true;
            }
            let before = received.clone();
            assert_eq!(codec.decode(&mut received), Err(Failure));
            assert!(received == before, "a word beyond correction stays as it is");
        }
    }

    /// An error pattern that is itself a codeword is seen by no decoder.
    #[test]
    fn an_error_that_is_a_codeword_is_silent() {
        let codec = codec(100, 3);
        let data: Vec<bool> = (0..100).map(|bit| bit == 40).collect();
        let places: Vec<u32> = (0u32..).zip(codec.encode(&data)).filter(|(_, bit)| *bit).map(|(place, _)| place).collect();
        assert!(places.len() >= 7, "the code's distance is at least 2 t + 1");
        assert_eq!(codec.decode_errors(&places), Outcome::Wrong);
        assert_eq!(codec.decode_errors(&places[1..]), Outcome::Wrong);
        assert_eq!(codec.decode_errors(&[]), Outcome::Corrected);
    }
}
