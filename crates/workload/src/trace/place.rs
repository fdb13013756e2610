//! Placement of a record's bytes on the drive: first the layout of the streams, then the treatment of addresses past
//! the drive's end.

use super::groups::{Compaction, REGION_BYTES};
use super::options::{Address, Layout, Plan};
use super::reader::{ADDRESS_MAX, Record};
use super::scan::Scan;
use crate::{Origin, Request};
use kit::{Bytes, Op, Problems, SimTime, UNIT_BYTES};

enum Map {
    /// As recorded.
    Same,
    /// Modulo the capacity.
    Wrap,
    /// Scales `from` units of 4 KiB to `to` units; the offset within a unit is kept.
    Scale { from: u64, to: u64 },
    /// Regions renumbered in the order of first touch.
    Compact(Compaction),
}

/// Map from records to requests, one to one.
pub struct Placement {
    bases: Vec<u64>,
    ends: Vec<u64>,
    capacity: u64,
    map: Map,
}

impl Placement {
    /// Returns the placement of a scanned trace on a drive of `user_bytes`; an error if the trace does not fit.
    pub fn new(scan: &Scan, plan: &Plan, user_bytes: u64) -> Result<Placement, Problems> {
        let capacity = user_bytes - user_bytes % UNIT_BYTES;
        let extent = scan.info.extent_bytes;
        if capacity == 0 {
            return Err(Problems::one("address", format!("the drive has {user_bytes} bytes: expected at least 4096")));
        }
        if plan.address != Address::Error {
            check_extent(scan, (u64::MAX - 1, "16 EiB"))?;
        }
        let map = match plan.address {
            Address::Compact => {
                let regions = scan.groups.count();
                if u128::from(regions) * u128::from(REGION_BYTES) > u128::from(capacity) {
                    return Err(Problems::one(
                        "address",
                        format!(
                            "compact: the trace touches {regions} regions of 1 MiB, {} bytes; the drive has {user_bytes}: \
                             expected a larger drive, a slice, fewer streams, `--address wrap` or `--address scale`",
                            u128::from(regions) * u128::from(REGION_BYTES)
                        ),
                    ));
                }
                compaction(scan, plan)
            }
            _ if extent <= capacity => Map::Same,
            Address::Wrap => Map::Wrap,
            Address::Scale => Map::Scale { from: extent.div_ceil(UNIT_BYTES), to: capacity / UNIT_BYTES },
            Address::Error => return Err(too_large(scan, user_bytes)),
        };
        let ends = scan.info.by_stream.iter().map(|stream| stream.max_address_bytes).collect();
        Ok(Placement { bases: scan.bases.clone(), ends, capacity, map })
    }

    /// Returns a placement without a drive, for conversion: each stream starts at byte 0 if `apart` (and addresses are
    /// not compacted); otherwise the streams follow the layout, and an error says that they have more than 1 EiB.
    pub fn unbounded(scan: &Scan, plan: &Plan, apart: bool) -> Result<Placement, Problems> {
        let compact = plan.address == Address::Compact;
        if (compact || !apart) && plan.layout == Layout::Stack {
            // The written trace is to be read again.
            check_extent(scan, (ADDRESS_MAX, "1 EiB"))?;
        }
        let bases = if apart && !compact { vec![0; scan.bases.len()] } else { scan.bases.clone() };
        let ends = scan.info.by_stream.iter().map(|stream| stream.max_address_bytes).collect();
        let map = if compact { compaction(scan, plan) } else { Map::Same };
        Ok(Placement { bases, ends, capacity: u64::MAX, map })
    }

    /// Returns true if the record lies within the addresses that the scan saw; if not, the file has changed since.
    #[inline]
    fn knows(&self, record: &Record) -> bool {
        self.ends.get(usize::from(record.stream)).is_some_and(|end| record.offset + record.length <= *end)
    }

    /// Returns the request of `record`, arriving at `at`; `None` if the scan did not see such a record.
    #[inline]
    pub fn place(&mut self, record: &Record, at: SimTime) -> Option<Request> {
        let Record { op, flags, stream, length, .. } = *record;
        let origin = Origin { index: record.index, offset: record.offset };
        if op == Op::Flush {
            return Some(Request { flags, stream, origin, ..Request::new(at, op, Bytes(0), Bytes(0)) });
        }
        if !self.knows(record) {
            return None;
        }
        let offset = self.bases[usize::from(stream)].saturating_add(record.offset);
        let (offset, length) = match &mut self.map {
            Map::Same => (offset, length),
            Map::Wrap => fit(offset % self.capacity, length, self.capacity),
            Map::Scale { from, to } => {
                let unit = u128::from(offset / UNIT_BYTES) * u128::from(*to) / u128::from(*from);
                let unit = u64::try_from(unit).expect("a scaled unit lies on the drive");
                fit(unit * UNIT_BYTES + offset % UNIT_BYTES, length, self.capacity)
            }
            Map::Compact(compaction) => (compaction.place(offset)?, length),
        };
        Some(Request { flags, stream, origin, ..Request::new(at, op, Bytes(offset), Bytes(length)) })
    }
}

/// Returns an error if several streams, one after the other, have more than `most` bytes.
fn check_extent(scan: &Scan, (most, words): (u64, &str)) -> Result<(), Problems> {
    if scan.info.streams <= 1 || scan.info.extent_bytes <= most {
        return Ok(());
    }
    let what = format!("the {} streams, one after the other, have more than {words}", scan.info.streams);
    Err(Problems::one("layout", format!("stack: {what}: expected `--layout overlay`, or fewer of them (--streams)")))
}

/// Returns the compaction of the scanned groups, at their addresses in the layout.
fn compaction(scan: &Scan, plan: &Plan) -> Map {
    let base = |space: u16| match plan.layout {
        Layout::Overlay => 0,
        Layout::Stack => scan.bases[usize::from(space)] / REGION_BYTES,
    };
    Map::Compact(Compaction::of(scan.groups.iter().map(|(space, first, count)| (base(space) + first, count))))
}

/// Returns a range that starts below `capacity`, moved back by whole units if it would end past it. Only a range longer
/// than the drive (a trim) is cut.
pub(crate) fn fit(offset: u64, length: u64, capacity: u64) -> (u64, u64) {
    let length = length.min(capacity);
    let over = (offset + length).saturating_sub(capacity).next_multiple_of(UNIT_BYTES);
    let offset = offset.saturating_sub(over);
    (offset, length.min(capacity - offset))
}

fn too_large(scan: &Scan, user_bytes: u64) -> Problems {
    let largest = scan.info.by_stream.iter().max_by_key(|stream| stream.max_address_bytes);
    let stream = largest.map_or("", |stream| &stream.stream);
    let several = match scan.info.streams {
        1 => String::new(),
        count => format!(" and {count} streams together take {} bytes", scan.info.extent_bytes),
    };
    Problems::one(
        "address",
        format!(
            "the trace's largest address is byte {} (stream {stream}){several}; the drive has {user_bytes} bytes: \
             expected a larger drive, or \
             --address wrap (modulo the capacity), --address scale (linearly) or --address compact (only the 1 MiB regions in use)",
            scan.info.max_address_bytes.saturating_sub(1)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_across_the_end_moves_back_by_whole_units() {
        assert_eq!(fit(4096, 4096, 8192), (4096, 4096));
        assert_eq!(fit(7168, 4096, 8192), (3072, 4096));
        assert_eq!(fit(4096, 1 << 40, 8192), (0, 8192));
        assert_eq!(fit(512, 8192, 8192), (0, 8192));
    }
}
