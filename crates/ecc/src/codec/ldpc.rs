//! Quasi-cyclic LDPC codes with a layered normalised min-sum decoder.
//!
//! The parity-check matrix consists of 128 x 128 circulants of weight one, drawn at random without cycles of length
//! four. Every bit is in `column_weight` checks, except that the last 128 parity bits are in one fewer if that number
//! is even. No manufacturer publishes the code of a drive: this one has a typical size, rate and column weight, and no
//! more is claimed for it. Cycles of length six are not avoided, and the error floor is unknown below the failure rates
//! that have been counted.
//!
//! The decoder processes the checks block row by block row (Hocevar 2004) and scales the smallest magnitudes by 3/4
//! (Chen and Fossorier 2002). It uses integers, 64 to one unit of a log-likelihood ratio. Channel values are odd and
//! messages are even, so that no sum is ever zero and no tie favours the all-zero codeword sent in measurements.

use super::circulant::{CIRCULANT, Matrix, product};
use super::protograph::Protograph;

/// Largest number of data bits: 16 KiB.
pub const MAX_DATA_BITS: u64 = 131_072;

/// Largest number of parity bits, for which the parity part is inverted within a second.
pub const MAX_PARITY_BITS: u64 = 16_384;

/// Integer steps of a log-likelihood ratio of one.
const SCALE: f32 = 64.0;

/// Largest value taken from the channel. Together with the largest message it keeps sums with up to six messages within
/// an `i16`.
const MAX_INPUT: f32 = 4095.0;

/// Largest message of a check.
const MAX_MESSAGE: i16 = 4094;

/// Normalisation factor of 3/4, in units of 1/65536.
const NORMALISATION: u32 = 49_152;

/// One value for each row of a circulant.
type Lanes = [i16; CIRCULANT];

/// Parameters from which an LDPC code is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdpcShape {
    /// Data bits of a codeword: a multiple of 128, up to [`MAX_DATA_BITS`].
    pub data_bits: u64,
    /// Parity bits of a codeword: a multiple of 128, up to [`MAX_PARITY_BITS`].
    pub parity_bits: u64,
    /// Number of checks that each bit is in, 3 to 6.
    pub column_weight: u64,
    /// Seed from which the matrix is drawn: one seed, one code.
    pub seed: u64,
    /// Iterations after which the decoder gives up.
    pub max_iterations: u32,
}

impl Default for LdpcShape {
    /// Returns a code of 4 KiB with about a ninth of that as parity, rate 0.901.
    fn default() -> Self {
        LdpcShape { data_bits: 32_768, parity_bits: 3584, column_weight: 4, seed: 1, max_iterations: 20 }
    }
}

/// A circulant of weight one in a block row: its block column and its cyclic shift.
#[derive(Clone, Copy, Debug)]
struct Edge {
    column: usize,
    shift: u32,
}

/// An LDPC code with its parity-check matrix.
#[derive(Clone, Debug)]
pub struct LdpcCodec {
    shape: LdpcShape,
    /// Parity-check matrix by block rows.
    rows: Vec<Vec<Edge>>,
    /// Inverse of the parity part of the matrix.
    inverse: Matrix,
}

/// Result of decoding a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// True if all checks hold at the end: the word is a codeword, though not always the one that was stored.
    pub converged: bool,
    /// Number of iterations; zero if the received word had no error.
    pub iterations: u32,
}

/// Working memory and output of a decoder: one for each thread, allocated once.
#[derive(Clone, Debug)]
pub struct LdpcScratch {
    posterior: Vec<Lanes>,
    messages: Vec<Lanes>,
    extrinsic: Vec<Lanes>,
    word: Vec<u128>,
}

impl LdpcScratch {
    /// Returns the decoded word: bit `i` is bit `i % 128` of element `i / 128`.
    pub fn word(&self) -> &[u128] {
        &self.word
    }

    /// Returns one bit of the decoded word.
    pub fn bit(&self, index: usize) -> bool {
        self.word[index / CIRCULANT] >> (index % CIRCULANT) & 1 == 1
    }
}

impl LdpcCodec {
    /// Builds the code of this shape. Fails if the shape is out of range, or if no such matrix without cycles of length
    /// four was found.
    pub fn new(shape: LdpcShape) -> Result<LdpcCodec, String> {
        let LdpcShape { data_bits, parity_bits, column_weight, seed, .. } = shape;
        let whole = |bits: u64, most: u64| bits > 0 && bits.is_multiple_of(CIRCULANT as u64) && bits <= most;
        if !whole(data_bits, MAX_DATA_BITS) || !whole(parity_bits, MAX_PARITY_BITS) {
            return Err(format!(
                "an LDPC code of {data_bits} data and {parity_bits} parity bits: expected multiples of {CIRCULANT}, up to {MAX_DATA_BITS} and {MAX_PARITY_BITS}"
            ));
        }
        let (columns, rows) = ((data_bits / CIRCULANT as u64) as usize, (parity_bits / CIRCULANT as u64) as usize);
        if !(3..=6).contains(&column_weight) || rows as u64 <= column_weight {
            return Err(format!(
                "column weight {column_weight} with {rows} block rows: expected 3 to 6, and fewer than block rows"
            ));
        }
        let (places, inverse) = Protograph::draw(columns, rows, column_weight as usize, seed)
            .ok_or_else(|| format!("no LDPC matrix of girth 6 found for {data_bits} data and {parity_bits} parity bits"))?;
        let mut edges = vec![Vec::new(); rows];
        for (column, places) in places.iter().enumerate() {
            for &(row, shift) in places {
                edges[row].push(Edge { column, shift });
            }
        }
        Ok(LdpcCodec { shape, rows: edges, inverse })
    }

    /// Returns the parameters from which the code was built.
    pub fn shape(&self) -> LdpcShape {
        self.shape
    }

    /// Returns the bits of a codeword, data and parity.
    pub fn codeword_bits(&self) -> u64 {
        self.shape.data_bits + self.shape.parity_bits
    }

    /// Returns the working memory for a decoder.
    pub fn scratch(&self) -> LdpcScratch {
        let edges = self.rows.iter().map(Vec::len).sum();
        let widest = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = self.codeword_bits() as usize / CIRCULANT;
        LdpcScratch {
            posterior: vec![[0; CIRCULANT]; columns],
            messages: vec![[0; CIRCULANT]; edges],
            extrinsic: vec![[0; CIRCULANT]; widest],
            word: vec![0; columns],
        }
    }

    /// Returns the codeword of `data`: the data, then the parity. `data` must have as many bits as the code has data
    /// bits.
    pub fn encode(&self, data: &[bool]) -> Vec<bool> {
        assert_eq!(data.len() as u64, self.shape.data_bits, "as many bits as the code takes");
        let pack = |bits: &[bool]| bits.iter().rev().fold(0u128, |word, &bit| word << 1 | u128::from(bit));
        let mut word: Vec<u128> = data.chunks(CIRCULANT).map(pack).collect();
        word.resize(self.codeword_bits() as usize / CIRCULANT, 0);
        let sums: Vec<u128> = self.rows.iter().map(|row| parity(row, &word)).collect();
        let mut codeword = data.to_vec();
        for row in &self.inverse {
            let block = row.iter().zip(&sums).fold(0, |sum, (&element, &vector)| sum ^ product(element, vector));
            codeword.extend((0..CIRCULANT).map(|bit| block >> bit & 1 == 1));
        }
        codeword
    }

    /// Decodes a received word, given as the log-likelihood ratio ln(P(0) / P(1)) of each bit; the decoded word is left
    /// in `scratch`. A ratio of zero counts as the smallest non-zero ratio of its sign.
    pub fn decode(&self, ratios: &[f32], scratch: &mut LdpcScratch) -> Decoded {
        assert_eq!(ratios.len() as u64, self.codeword_bits(), "a ratio for every bit");
        for (lanes, ratios) in scratch.posterior.iter_mut().zip(ratios.chunks_exact(CIRCULANT)) {
            for (lane, &ratio) in lanes.iter_mut().zip(ratios) {
                *lane = quantised(ratio);
            }
        }
        for message in &mut scratch.messages {
            message.fill(0);
        }
        for iterations in 0..=self.shape.max_iterations {
            if iterations > 0 {
                self.iterate(scratch);
            }
            decide(&scratch.posterior, &mut scratch.word);
            if self.rows.iter().all(|row| parity(row, &scratch.word) == 0) {
                return Decoded { converged: true, iterations };
            }
        }
        Decoded { converged: false, iterations: self.shape.max_iterations }
    }

    /// Runs one iteration over all checks.
    fn iterate(&self, scratch: &mut LdpcScratch) {
        let mut messages = scratch.messages.as_mut_slice();
        for row in &self.rows {
            let (ours, rest) = messages.split_at_mut(row.len());
            layer(row, &mut scratch.posterior, ours, &mut scratch.extrinsic);
            messages = rest;
        }
    }
}

/// Returns the checks of a block row; a bit is zero if its check holds.
fn parity(row: &[Edge], word: &[u128]) -> u128 {
    row.iter().fold(0, |sum, edge| sum ^ word[edge.column].rotate_left(edge.shift))
}

/// Converts a ratio to an odd integer of the same sign, also if it is a positive or negative zero.
fn quantised(ratio: f32) -> i16 {
    let magnitude = (ratio.abs() * SCALE).min(MAX_INPUT) as i16 | 1;
    if ratio.is_sign_negative() { -magnitude } else { magnitude }
}

/// Packs the signs of the posteriors into the word of hard decisions.
fn decide(posterior: &[Lanes], word: &mut [u128]) {
    for (bits, lanes) in word.iter_mut().zip(posterior) {
        let mut bytes = [0u8; CIRCULANT / 8];
        for (byte, lanes) in bytes.iter_mut().zip(lanes.chunks_exact(8)) {
            *byte = lanes.iter().rev().fold(0, |byte, &lane| byte << 1 | u8::from(lane < 0));
        }
        *bits = u128::from_le_bytes(bytes);
    }
}

/// State of 128 checks after going through their bits.
struct Checks {
    /// Smallest magnitude.
    least: Lanes,
    /// Second smallest magnitude; equal to the smallest if two bits have it.
    second: Lanes,
    /// Product of the signs, in the sign bit.
    sign: Lanes,
}

/// Updates the 128 checks of a block row and the bits in them.
fn layer(row: &[Edge], posterior: &mut [Lanes], messages: &mut [Lanes], extrinsic: &mut [Lanes]) {
    let mut checks = Checks { least: [i16::MAX; CIRCULANT], second: [i16::MAX; CIRCULANT], sign: [0; CIRCULANT] };
    for ((edge, message), input) in row.iter().zip(messages.iter()).zip(extrinsic.iter_mut()) {
        turned(&posterior[edge.column], edge.shift as usize, input);
        absorb(&mut checks, message, input);
    }
    let (least, second) = (scaled(&checks.least), scaled(&checks.second));
    for ((edge, message), input) in row.iter().zip(messages.iter_mut()).zip(extrinsic.iter_mut()) {
        answer(&checks, &least, &second, input, message);
        for (sum, &part) in input.iter_mut().zip(message.iter()) {
            *sum += part;
        }
        turned(input, (CIRCULANT - edge.shift as usize) % CIRCULANT, &mut posterior[edge.column]);
    }
}

/// Copies lanes, rotated by `shift` places.
#[inline]
fn turned(from: &Lanes, shift: usize, to: &mut Lanes) {
    let (head, tail) = from.split_at(CIRCULANT - shift);
    to[shift..].copy_from_slice(head);
    to[..shift].copy_from_slice(tail);
}

/// Subtracts each check's previous message from the sums of its bits, and tracks the two smallest magnitudes and the
/// sign.
#[inline]
fn absorb(checks: &mut Checks, message: &Lanes, input: &mut Lanes) {
    let lanes = input.iter_mut().zip(message).zip(&mut checks.least).zip(&mut checks.second).zip(&mut checks.sign);
    for ((((sum, &message), least), second), sign) in lanes {
        *sum -= message;
        let magnitude = sum.abs();
        *second = (*second).min(magnitude.max(*least));
        *least = (*least).min(magnitude);
        *sign ^= *sum;
    }
}

/// Computes the messages of checks to one of their bits: the smallest magnitude of the other bits, with the product of
/// their signs.
#[inline]
fn answer(checks: &Checks, least: &Lanes, second: &Lanes, input: &Lanes, message: &mut Lanes) {
    let lanes = message.iter_mut().zip(input).zip(&checks.least).zip(&checks.sign).zip(least.iter().zip(second));
    for ((((message, &input), &own), &sign), (&least, &second)) in lanes {
        let magnitude = if input.abs() == own { second } else { least };
        let negative = (sign ^ input) >> 15;
        *message = (magnitude ^ negative) - negative;
    }
}

/// Returns magnitudes as messages carry them: scaled, even and bounded.
fn scaled(magnitudes: &Lanes) -> Lanes {
    magnitudes.map(|magnitude| ((((magnitude as u32) * NORMALISATION) >> 16) as i16 & !1).min(MAX_MESSAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn small() -> LdpcCodec {
        LdpcCodec::new(LdpcShape { data_bits: 8192, parity_bits: 1024, ..LdpcShape::default() }).expect("a matrix was found")
    }

    fn data(bits: u64, rng: &mut Rng) -> Vec<bool> {
        (0..bits).map(|_| rng.chance(0.5)).collect()
    }

    /// Returns the ratios of a word with some of its bits flipped.
    fn received(word: &[bool], flips: &[bool]) -> Vec<f32> {
        word.iter().zip(flips).map(|(bit, flip)| if bit == flip { 5.0 } else { -5.0 }).collect()
    }

    fn shapes() -> Vec<LdpcShape> {
        let shape =
            |data_bits, parity_bits, column_weight| LdpcShape { data_bits, parity_bits, column_weight, ..LdpcShape::default() };
        vec![shape(32_768, 3584, 4), shape(16_384, 1792, 4), shape(8192, 1024, 4), shape(8192, 896, 3), shape(8192, 1152, 5)]
    }

    #[test]
    fn codewords_hold_all_checks_and_their_data() {
        let mut rng = Rng::stream(1, "ldpc");
        for shape in shapes() {
            let codec = LdpcCodec::new(shape).expect("a matrix was found");
            let data = data(shape.data_bits, &mut rng);
            let word = codec.encode(&data);
            assert_eq!((word.len() as u64, &word[..data.len()]), (codec.codeword_bits(), data.as_slice()));
            let mut scratch = codec.scratch();
            let clean = codec.decode(&received(&word, &vec![false; word.len()]), &mut scratch);
            assert_eq!(clean, Decoded { converged: true, iterations: 0 });
            let flips: Vec<bool> = word.iter().map(|_| rng.chance(2e-3)).collect();
            let decoded = codec.decode(&received(&word, &flips), &mut scratch);
            assert!(decoded.converged && decoded.iterations > 0, "{shape:?}");
            assert!(word.iter().enumerate().all(|(index, &bit)| scratch.bit(index) == bit));
        }
    }

    /// Returns the bits of every single check, block row by block row.
    fn expanded(codec: &LdpcCodec) -> Vec<Vec<usize>> {
        let of = |row: &Vec<Edge>, check: usize| {
            let turned = |edge: &Edge| edge.column * CIRCULANT + (check + CIRCULANT - edge.shift as usize) % CIRCULANT;
            row.iter().map(turned).collect()
        };
        codec.rows.iter().flat_map(|row| (0..CIRCULANT).map(move |check| of(row, check))).collect()
    }

    /// No two bits share two checks, every bit is in the right number of checks, block rows have nearly equal weight,
    /// and codewords satisfy all checks.
    #[test]
    fn the_matrix_has_no_cycles_of_four() {
        for shape in shapes() {
            let codec = LdpcCodec::new(shape).expect("a matrix was found");
            let word = codec.encode(&data(shape.data_bits, &mut Rng::stream(5, "ldpc")));
            let mut checks = vec![Vec::new(); word.len()];
            for (check, bits) in expanded(&codec).iter().enumerate() {
                assert!(bits.iter().filter(|bit| word[**bit]).count().is_multiple_of(2), "{shape:?}: check {check}");
                for &bit in bits {
                    checks[bit].push(check);
                }
            }
            let lighter = shape.column_weight as usize - usize::from(shape.column_weight.is_multiple_of(2));
            let (most, last) = checks.split_at(word.len() - CIRCULANT);
            assert!(most.iter().all(|checks| checks.len() == shape.column_weight as usize));
            assert!(last.iter().all(|checks| checks.len() == lighter));
            let mut pairs = std::collections::BTreeSet::new();
            for checks in &checks {
                for (place, &one) in checks.iter().enumerate() {
                    assert!(checks[place + 1..].iter().all(|&other| pairs.insert((one, other))), "{shape:?}");
                }
            }
            let degrees: Vec<usize> = codec.rows.iter().map(Vec::len).collect();
            assert!(degrees.iter().max() <= degrees.iter().min().map(|least| least + 2).as_ref(), "{degrees:?}");
        }
    }

    /// Two iterations give the same sums as the textbook algorithm, one check at a time.
    #[test]
    fn iterations_are_those_of_one_check_at_a_time() {
        let (codec, mut rng) = (small(), Rng::stream(6, "ldpc"));
        let mut scratch = codec.scratch();
        let mut sums: Vec<i32> = (0..codec.codeword_bits()).map(|_| 2 * rng.below(500) as i32 - 399).collect();
        for (lane, &sum) in scratch.posterior.as_flattened_mut().iter_mut().zip(&sums) {
            *lane = sum as i16;
        }
        let checks = expanded(&codec);
        let mut messages: Vec<Vec<i32>> = checks.iter().map(|bits| vec![0; bits.len()]).collect();
        for _ in 0..2 {
            codec.iterate(&mut scratch);
            for (bits, messages) in checks.iter().zip(&mut messages) {
                let inputs: Vec<i32> = bits.iter().zip(messages.iter()).map(|(&bit, message)| sums[bit] - message).collect();
                for (place, message) in messages.iter_mut().enumerate() {
                    let others = || inputs.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, input)| input);
                    let least = others().map(|input| input.abs()).min().expect("a check has two bits");
                    *message = others().map(|input| input.signum()).product::<i32>() * (least * 3 / 4 / 2 * 2);
                    sums[bits[place]] = inputs[place] + *message;
                }
            }
        }
        assert!(scratch.posterior.as_flattened().iter().zip(&sums).all(|(&lane, &sum)| i32::from(lane) == sum));
    }

    /// Measurements may send the all-zero codeword only, because the codeword changes neither the outcome nor the
    /// iterations.
    #[test]
    fn every_codeword_is_decoded_alike() {
        let (codec, mut rng) = (small(), Rng::stream(2, "ldpc"));
        let mut scratch = codec.scratch();
        let bits = codec.codeword_bits() as usize;
        let zero = vec![false; bits];
        let mut seen = [0, 0];
        for step in 0..20 {
            let word = codec.encode(&data(8192, &mut rng));
            let flips: Vec<bool> = (0..bits).map(|_| rng.chance(6e-3 + 3e-4 * f64::from(step))).collect();
            let on_zero = codec.decode(&received(&zero, &flips), &mut scratch);
            let left: Vec<bool> = (0..bits).map(|index| scratch.bit(index)).collect();
            assert_eq!(codec.decode(&received(&word, &flips), &mut scratch), on_zero);
            assert!((0..bits).all(|index| scratch.bit(index) == (left[index] != word[index])));
            seen[usize::from(on_zero.converged)] += 1;
        }
        assert!(seen[0] > 0 && seen[1] > 0, "rates on either side of the limit: {seen:?}");
    }

    #[test]
    fn one_seed_is_one_code() {
        let parity = |seed| {
            let codec = LdpcCodec::new(LdpcShape { data_bits: 8192, parity_bits: 1024, seed, ..LdpcShape::default() });
            codec.expect("a matrix was found").encode(&vec![true; 8192])
        };
        assert!(parity(5) == parity(5) && parity(5) != parity(6));
    }

    #[test]
    fn shapes_out_of_range_are_refused() {
        let refused = |data_bits, parity_bits, column_weight| {
            LdpcCodec::new(LdpcShape { data_bits, parity_bits, column_weight, ..LdpcShape::default() }).is_err()
        };
        assert!(refused(1000, 1024, 4) && refused(8192, 0, 4) && refused(8192, 512, 4) && refused(8192, 1024, 2));
        // That many columns over five block rows cannot avoid cycles of length four.
        assert!(refused(65_536, 640, 4));
    }

    #[test]
    fn ratios_become_odd_integers_of_their_sign() {
        assert_eq!([0.0, -0.0, 1.0, -1.0, 1e9, f32::NEG_INFINITY].map(quantised), [1, -1, 65, -65, 4095, -4095]);
    }
}
