//! Conversion between bits in the model and sizes in a description.

/// A number of bits, written as a size with its unit: `"4KiB"` for 32768. For serde's `with`.
pub(crate) mod bits_as_bytes {
    use kit::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    /// Writes bits as a size in bytes. Fails if they are no whole number of bytes.
    pub fn serialize<S: Serializer>(bits: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if !bits.is_multiple_of(8) {
            return Err(ser::Error::custom(format!("{bits} bits: expected a whole number of bytes")));
        }
        Bytes(bits / 8).serialize(serializer)
    }

    /// Reads a number of bits from a size.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let size = Bytes::deserialize(deserializer)?;
        size.0.checked_mul(8).ok_or_else(|| de::Error::custom(format!("{size}: expected a size whose bits can be counted")))
    }
}
