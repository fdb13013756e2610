//! Size of a mapping unit: the grain of the logical-to-physical translation.

use crate::{Bytes, UNIT_BYTES};

/// Size of a mapping unit: a power of two. It is 4 KiB unless the description of the drive has larger ones, and the
/// page of the medium on a drive that is written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSize {
    shift: u32,
}

impl Default for UnitSize {
    fn default() -> Self {
        UnitSize::of(UNIT_BYTES)
    }
}

impl UnitSize {
    /// Returns the size of `bytes`, which must be a power of two.
    pub fn of(bytes: u64) -> UnitSize {
        assert!(bytes.is_power_of_two(), "{bytes}: validated, a power of two");
        UnitSize { shift: bytes.trailing_zeros() }
    }

    /// Returns the bytes of one unit.
    #[inline]
    pub fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Returns the number of whole units in `bytes`, which is also the unit at that offset.
    #[inline]
    pub fn whole(self, bytes: u64) -> u64 {
        bytes >> self.shift
    }

    /// Returns the number of units that `bytes` fill or begin.
    #[inline]
    pub fn begun(self, bytes: u64) -> u64 {
        (bytes + self.bytes() - 1) >> self.shift
    }

    /// Returns true if `bytes` is a whole number of units.
    #[inline]
    pub fn divides(self, bytes: u64) -> bool {
        bytes & (self.bytes() - 1) == 0
    }

    /// Returns the offset of unit number `units`, which is also the size of as many units.
    #[inline]
    pub fn offset(self, units: u64) -> u64 {
        units << self.shift
    }

    /// Returns the data of a number of units.
    #[inline]
    pub fn data(self, units: u32) -> Bytes {
        Bytes(self.offset(u64::from(units)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_divide_and_multiply() {
        assert_eq!(UnitSize::default().bytes(), UNIT_BYTES);
        for bytes in [256, 512, 1024, 2048, 4096] {
            let unit = UnitSize::of(bytes);
            for offset in [0, 1, 255, 256, 4095, 4096, 4097, 1 << 40] {
                assert_eq!(unit.whole(offset), offset / bytes);
                assert_eq!(unit.begun(offset), offset.div_ceil(bytes));
                assert_eq!(unit.divides(offset), offset.is_multiple_of(bytes));
            }
            assert_eq!((unit.offset(7), unit.data(3)), (7 * bytes, Bytes(3 * bytes)));
        }
    }
}
