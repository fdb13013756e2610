//! oracleGeneral, the binary traces of libCacheSim: requests for objects, with the next request for each.
//!
//! A record has 24 bytes in little-endian order: time in seconds (32 bits), object (64), size in bytes (32), and number
//! of the next request for the object (64, signed; -1 or 2^63 - 1: none). [`crate::trace::binary`] turns each into a
//! line, `oracleGeneral TIME OBJECT SIZE NEXT`, which may also stand in a text file. There are no operations and no
//! addresses: all requests are reads, and [`ObjectId`] says where an object is. The next request is not used.

use super::{Format, Line, Parser, Raw, Reading};
use crate::Flags;
use crate::trace::fields::{self, Fault};
use crate::trace::options::ObjectId;
use kit::Op::{self, Read};
use std::collections::BTreeMap;

/// First word of the line of a record, and name of the format in libCacheSim.
pub const ORACLE_GENERAL: &str = "oracleGeneral";
/// Objects without an address begin at multiples of this length \[bytes\].
const GRAIN: u64 = 4096;

/// The format of libCacheSim.
pub struct Oracle;

struct Text {
    id: ObjectId,
    /// Address and space of each object, in bytes, if objects have no address.
    places: BTreeMap<u64, (u64, u64)>,
    /// First byte that no object has.
    end: u64,
}

impl Text {
    /// Returns the place of an object without an address: behind all others at its first request, and again when it is
    /// larger than the space that it has.
    fn place(&mut self, object: u64, size: u64) -> u64 {
        let space = size.next_multiple_of(GRAIN);
        let place = self.places.entry(object).or_insert((self.end, 0));
        if space > place.1 {
            *place = (self.end, space);
            self.end += space;
        }
        place.0
    }
}

impl Parser for Text {
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut next = || words.next().unwrap_or_default();
        let (name, time, object, size, after) = (next(), next(), next(), next(), next());
        if name != ORACLE_GENERAL.as_bytes() || !next().is_empty() {
            return Err(Fault::new("line", line, "records of 24 bytes, or oracleGeneral TIME OBJECT SIZE NEXT"));
        }
        let number = |what: &'static str, field: &[u8]| {
            fields::integer(field).ok_or_else(|| Fault::new(what, field, "an unsigned integer"))
        };
        raw.at_ns = number("time", time)?.checked_mul(1_000_000_000).ok_or_else(|| Fault::new("time", time, "seconds"))?;
        let (id, length) = (number("object", object)?, number("size", size)?);
        if length > u64::from(u32::MAX) {
            return Err(Fault::new("size", size, "a size below 4 GiB"));
        }
        number("next request", after.strip_prefix(b"-").unwrap_or(after))?;
        (raw.op, raw.flags, raw.length, raw.stream) = (Read, Flags::NONE, length, (0, 0));
        raw.offset = match self.id {
            ObjectId::Name => self.place(id, length),
            ObjectId::Of(bytes) => id.checked_mul(bytes).filter(|offset| *offset <= 1 << 60).ok_or_else(|| {
                Fault::new("object", object, format!("an address below 1 EiB in units of {bytes} B (where objects have names or hashes of them: --object-id name)"))
            })?,
        };
        Ok(Line::Request)
    }

    fn restart(&self) -> Box<dyn Parser> {
        Box::new(Text { id: self.id, places: BTreeMap::new(), end: 0 })
    }

    fn note(&self) -> Option<String> {
        let objects = match self.id {
            ObjectId::Name => {
                format!("the {} objects lie one behind the other, in the order of their first requests", self.places.len())
            }
            ObjectId::Of(bytes) => format!("objects are taken as addresses in units of {bytes} B (choose with --object-id)"),
        };
        Some(format!("oracleGeneral records no operations, so that all requests are reads, and whole seconds; {objects}"))
    }
}

impl Format for Oracle {
    fn name(&self) -> &'static str {
        "oraclegeneral"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &["oracle", "libcachesim"]
    }
    fn about(&self) -> &'static str {
        "Binary oracleGeneral of libCacheSim: seconds, object, bytes, next request; all requests are reads."
    }
    fn has_objects(&self) -> bool {
        true
    }
    fn unit_ns(&self) -> Option<u64> {
        Some(1_000_000_000)
    }
    fn parser(&self, _head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser> {
        Box::new(Text { id: reading.object_id.unwrap_or(ObjectId::Of(kit::SECTOR_BYTES)), places: BTreeMap::new(), end: 0 })
    }
    fn sample(&self) -> &'static str {
        "oracleGeneral 5 80 4096 2\noracleGeneral 5 7 1024 -1\noracleGeneral 7 80 4096 9223372036854775807\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[(0, Read, 40_960, 4096, "0"), (0, Read, 3584, 1024, "0"), (2_000_000_000, Read, 40_960, 4096, "0")]
    }
}
