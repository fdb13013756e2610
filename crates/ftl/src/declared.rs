//! State that a policy declares for each logical unit and each block. The engine keeps, reports and saves it.

use kit::{BlockId, Lpn};

/// Bits of state for each logical unit, as declared by a policy. The engine keeps, reports and saves them.
#[derive(Clone, Debug, Default)]
pub struct UnitBits {
    bits: u8,
    words: Vec<u64>,
}

impl UnitBits {
    /// Returns zeroes for `units` logical units of `bits` bits (0, 1, 2, 4 or 8) each.
    pub fn new(bits: u8, units: u64) -> UnitBits {
        assert!(matches!(bits, 0 | 1 | 2 | 4 | 8), "a policy declares 0, 1, 2, 4 or 8 bits");
        UnitBits { bits, words: vec![0; (units * u64::from(bits)).div_ceil(64) as usize] }
    }

    /// Returns the number of bits declared for each unit.
    pub fn bits_per_unit(&self) -> u8 {
        self.bits
    }

    /// Returns the value of a unit.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u8 {
        let at = lpn.0 as u64 * u64::from(self.bits);
        (self.words[(at / 64) as usize] >> (at % 64)) as u8 & ((1u16 << self.bits) - 1) as u8
    }

    /// Sets the value of a unit.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, value: u8) {
        let at = lpn.0 as u64 * u64::from(self.bits);
        let mask = ((1u64 << self.bits) - 1) << (at % 64);
        let word = &mut self.words[(at / 64) as usize];
        *word = *word & !mask | u64::from(value) << (at % 64) & mask;
    }

    fn used(&self) -> impl Iterator<Item = (Lpn, u8)> + '_ {
        let bits = u64::from(self.bits.max(1));
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words
            .flat_map(move |(at, &word)| {
                let first = at as u64 * (64 / bits);
                (0..64 / bits)
                    .map(move |unit| (Lpn((first + unit) as u32), (word >> (unit * bits)) as u8 & ((1u16 << bits) - 1) as u8))
            })
            .filter(|(_, value)| *value != 0)
    }

    /// Loads the words of these units into the cache ahead of the next calls. The result only keeps the loads from
    /// being optimised away; no state changes.
    #[inline]
    pub(crate) fn look_ahead(&self, units: &[Lpn]) -> u64 {
        let bits = u64::from(self.bits);
        units.iter().fold(0, |sink, unit| sink ^ self.words.get((unit.0 as u64 * bits / 64) as usize).copied().unwrap_or(0))
    }

    /// Returns all words, for saving.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns all words, for loading.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// Share of one policy in the bits declared for each unit.
pub struct Bits<'a> {
    all: &'a mut UnitBits,
    shift: u8,
    mask: u8,
}

impl<'a> Bits<'a> {
    /// Returns the share that covers all bits.
    #[inline]
    pub(crate) fn all(all: &'a mut UnitBits) -> Bits<'a> {
        Bits { mask: ((1u16 << all.bits) - 1) as u8, all, shift: 0 }
    }

    /// Returns the value of a unit.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u8 {
        self.all.get(lpn) >> self.shift & self.mask
    }

    /// Iterates over the units whose value is not zero, in order. Words that are zero are skipped as a whole.
    pub fn used(&self) -> impl Iterator<Item = (Lpn, u8)> + '_ {
        self.all.used().map(|(lpn, all)| (lpn, all >> self.shift & self.mask)).filter(|(_, value)| *value != 0)
    }

    /// Sets the value of a unit.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, value: u8) {
        let others = self.all.get(lpn) & !(self.mask << self.shift);
        self.all.set(lpn, others | (value & self.mask) << self.shift);
    }
}

/// Share of one policy in the bytes declared for each block.
pub struct Bytes<'a> {
    all: &'a mut BlockBytes,
    from: u8,
    count: u8,
}

impl<'a> Bytes<'a> {
    /// Returns the share that covers all bytes.
    #[inline]
    pub(crate) fn all(all: &'a mut BlockBytes) -> Bytes<'a> {
        Bytes { from: 0, count: all.bytes, all }
    }

    fn range(&self) -> std::ops::Range<usize> {
        usize::from(self.from)..usize::from(self.from + self.count)
    }

    /// Returns the bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all.get(block)[self.range()]
    }

    /// Returns the bytes of a block, for changing them.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range();
        &mut self.all.get_mut(block)[range]
    }
}

/// Bytes of state for each block, as declared by a policy. The engine keeps, reports and saves them. They outlast an
/// erase: a policy that needs them cleared clears them when the block is [erased](crate::policy::ModePolicy::erased).
#[derive(Clone, Debug, Default)]
pub struct BlockBytes {
    bytes: u8,
    all: Vec<u8>,
}

impl BlockBytes {
    /// Returns zeroes for `blocks` blocks of `bytes` bytes each.
    pub fn new(bytes: u8, blocks: u32) -> BlockBytes {
        BlockBytes { bytes, all: vec![0; blocks as usize * usize::from(bytes)] }
    }

    /// Returns the number of bytes declared for each block.
    pub fn bytes_per_block(&self) -> u8 {
        self.bytes
    }

    fn range(&self, block: BlockId) -> std::ops::Range<usize> {
        let bytes = usize::from(self.bytes);
        block.index() * bytes..(block.index() + 1) * bytes
    }

    /// Returns the bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all[self.range(block)]
    }

    /// Returns the bytes of a block, for changing them.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range(block);
        &mut self.all[range]
    }

    /// Returns the bytes of all blocks, for saving.
    pub(crate) fn all(&self) -> &[u8] {
        &self.all
    }

    /// Returns the bytes of all blocks, for loading.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        &mut self.all
    }
}

/// Share of the declared state that belongs to one of several combined policies: its bits of each unit and its bytes of
/// each block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateShare {
    bit: u8,
    mask: u8,
    byte: u8,
    bytes: u8,
}

impl StateShare {
    /// Returns the share that begins at bit `bit` of each unit and is `bits` wide, and that begins at byte `byte` of
    /// each block and is `bytes` long.
    pub fn new((bit, bits): (u8, u8), (byte, bytes): (u8, u8)) -> StateShare {
        StateShare { bit, mask: ((1u16 << bits) - 1) as u8, byte, bytes }
    }
}

impl StateShare {
    /// Returns the share that views of the declared state cover.
    pub fn of(bits: &Bits<'_>, bytes: &Bytes<'_>) -> StateShare {
        StateShare { bit: bits.shift, mask: bits.mask, byte: bytes.from, bytes: bytes.count }
    }

    /// Returns `part` of this share.
    pub fn within(self, part: StateShare) -> StateShare {
        StateShare { bit: self.bit + part.bit, byte: self.byte + part.byte, ..part }
    }

    /// Makes views of the declared state cover this share.
    #[inline]
    pub fn apply(self, bits: &mut Bits<'_>, bytes: &mut Bytes<'_>) {
        (bits.shift, bits.mask) = (self.bit, self.mask);
        (bytes.from, bytes.count) = (self.byte, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_bits_hold_their_values() {
        for bits in [1u8, 2, 4, 8] {
            let mut state = UnitBits::new(bits, 1000);
            let value = |unit: u32| (unit * 7 % 256) as u8 & ((1u16 << bits) - 1) as u8;
            (0..1000).for_each(|unit| state.set(Lpn(unit), value(unit)));
            assert!((0..1000).all(|unit| state.get(Lpn(unit)) == value(unit)), "{bits} bits");
            let used: Vec<(u32, u8)> = state.used().map(|(unit, value)| (unit.0, value)).collect();
            let expected: Vec<(u32, u8)> = (0..1000).map(|unit| (unit, value(unit))).filter(|(_, value)| *value > 0).collect();
            assert_eq!(used, expected, "{bits} bits");
        }
    }

    #[test]
    fn declared_bytes_belong_to_one_block_each() {
        let mut state = BlockBytes::new(3, 10);
        state.get_mut(BlockId(4)).copy_from_slice(&[1, 2, 3]);
        assert_eq!(
            (state.get(BlockId(4)), state.get(BlockId(5)), state.get(BlockId(9))),
            (&[1, 2, 3][..], &[0; 3][..], &[0; 3][..])
        );
        assert!(BlockBytes::new(0, 10).get(BlockId(9)).is_empty());
    }
}
