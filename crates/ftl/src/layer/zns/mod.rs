//! Zones that are written in order, and reset as a whole (NVMe Zoned Namespace Command Set).

mod layer;
pub mod table;

use super::{Kind, Other, Parts, Setting, Translator};
use kit::{Bytes, Geometry, Problems, UNIT_BYTES};
use layer::Zns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::Limits;

/// Most addresses of a drive \[mapping units\].
const MAX_UNITS: u64 = 1 << 32;

/// The address space is a row of zones. A zone is written from its beginning on, by writes at its write pointer or by
/// appends, and reset as a whole: the host decides where data goes, and there is no collection. A zone consists of
/// blocks on several dies, which its program units take in turn. Zones have the states, limits, actions and statuses of
/// the NVMe Zoned Namespace Command Set 1.1; the logical block is the mapping unit.
///
/// A program unit is programmed once all of it is written, or its zone is finished: until then its data is in the write
/// buffer, which is assumed to be protected against power loss, so that flushes and writes with FUA do not wait for the
/// medium. There is no policy and no retention limit; trims have no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Dies of a zone, a divisor of those of the drive; neighbours in `ftl.allocation_order`. Absent: all dies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub zone_dies: Option<u32>,
    /// Blocks of a zone on each of its dies, a divisor of those of a die without `spare_blocks`.
    #[schemars(range(min = 1))]
    pub zone_blocks: u32,
    /// Addresses from the beginning of a zone to that of the next, at least its capacity. Absent: the capacity, rounded
    /// up to a power of two (which Linux requires).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_size: Option<Bytes>,
    /// Blocks of each die that belong to no zone.
    pub spare_blocks: u32,
    /// Most zones that are open at a time; 0 for no limit.
    pub max_open: u32,
    /// Most zones that are active (open or closed) at a time; 0 for no limit.
    pub max_active: u32,
    /// Largest append; absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_limit: Option<Bytes>,
    /// True if a read may cross the boundary between two zones.
    pub reads_across_zones: bool,
    /// Erases after which a zone that is reset goes offline; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offline_after: Option<u32>,
    /// Share of the zones that are full at the start, the first ones.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub full: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            zone_dies: None,
            zone_blocks: 1,
            zone_size: None,
            spare_blocks: 0,
            max_open: 14,
            max_active: 14,
            append_limit: None,
            reads_across_zones: true,
            offline_after: None,
            full: 0.0,
        }
    }
}

/// Builds the member.
pub fn build(params: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(params.clone())
}

impl Params {
    fn dies(&self, geometry: &Geometry) -> u32 {
        self.zone_dies.unwrap_or(geometry.die_count)
    }

    /// Returns the mapping units of a zone that can be written.
    fn capacity(&self, geometry: &Geometry) -> u64 {
        u64::from(self.dies(geometry)) * u64::from(self.zone_blocks) * u64::from(geometry.units_per_block)
    }

    /// Returns the mapping units from the beginning of a zone to that of the next.
    fn size(&self, geometry: &Geometry) -> u64 {
        self.zone_size.map_or_else(|| self.capacity(geometry).next_power_of_two(), |size| size.0 / UNIT_BYTES)
    }

    fn zone_count(&self, geometry: &Geometry) -> u32 {
        geometry.die_count / self.dies(geometry) * (geometry.blocks_per_die.saturating_sub(self.spare_blocks) / self.zone_blocks)
    }

    fn limits(&self, geometry: &Geometry) -> Limits {
        Limits {
            size: self.size(geometry) as u32,
            capacity: self.capacity(geometry) as u32,
            open: self.max_open,
            active: self.max_active,
            append: self.append_limit.map_or(0, |limit| (limit.0 / UNIT_BYTES) as u32),
            reads_across: self.reads_across_zones,
        }
    }

    /// Adds the sizes with which the zones do not tile the drive.
    fn tiling_problems(&self, geometry: &Geometry, problems: &mut Problems) {
        let place = |field: &str| format!("ftl.translation.{field}");
        let (dies, blocks) = (self.dies(geometry), geometry.blocks_per_die);
        if dies == 0 || !geometry.die_count.is_multiple_of(dies) {
            let what = format!("{dies}: zones do not tile the drive; expected a divisor of its {} dies", geometry.die_count);
            problems.add(place("zone_dies"), what);
            return;
        }
        if self.spare_blocks >= blocks {
            problems
                .add(place("spare_blocks"), format!("{}: expected less than the {blocks} blocks of a die", self.spare_blocks));
            return;
        }
        let shared = blocks - self.spare_blocks;
        if self.zone_blocks == 0 || !shared.is_multiple_of(self.zone_blocks) {
            let spare = if self.spare_blocks > 0 { " that are not spare" } else { "" };
            let what = format!(
                "{}: zones do not tile the drive; expected a divisor of the {shared} blocks of a die{spare}, or other spare_blocks",
                self.zone_blocks
            );
            problems.add(place("zone_blocks"), what);
            return;
        }
        let capacity = self.capacity(geometry) * UNIT_BYTES;
        if let Some(size) = self.zone_size
            && (size.0 < capacity || !size.0.is_multiple_of(UNIT_BYTES))
        {
            let what = format!("{size}: expected a multiple of 4KiB, and at least the capacity of a zone, which is {capacity}B");
            problems.add(place("zone_size"), what);
            return;
        }
        if u64::from(self.zone_count(geometry)) * self.size(geometry) >= MAX_UNITS {
            let what = "all zones together have 16 TiB of addresses or more: expected smaller zones, or fewer";
            problems.add(place("zone_size"), what);
        }
    }
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        Ok(Translator::Other(Other::Zoned(Box::new(Zns::new(self, parts)?))))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("the host decides where data goes")
    }

    fn blocks_needed(&self) -> Option<u32> {
        Some(1)
    }

    fn user_units(&self, geometry: &Geometry) -> Option<u64> {
        Some(u64::from(self.zone_count(geometry)) * self.size(geometry))
    }

    fn is_zoned(&self) -> bool {
        true
    }

    fn zone_units(&self, geometry: &Geometry) -> Option<u64> {
        Some(self.size(geometry))
    }

    fn problems(&self, setting: &Setting<'_>, problems: &mut Problems) {
        let geometry = setting.geometry;
        let before = problems.0.len();
        self.tiling_problems(geometry, problems);
        if problems.0.len() > before {
            return;
        }
        let place = |field: &str| format!("ftl.translation.{field}");
        if self.max_open > 0 && self.max_active > 0 && self.max_open > self.max_active {
            let what =
                format!("{}: an open zone is active; expected at most max_active, which is {}", self.max_open, self.max_active);
            problems.add(place("max_open"), what);
        }
        if self.max_open == 0 && self.max_active > 0 {
            let what = format!("0, no limit: an open zone is active; expected at most max_active, which is {}", self.max_active);
            problems.add(place("max_open"), what);
        }
        if let Some(limit) = self.append_limit
            && (limit.0 < UNIT_BYTES || !limit.0.is_multiple_of(UNIT_BYTES))
        {
            problems.add(place("append_limit"), format!("{limit}: expected a multiple of 4KiB, or no such field"));
        }
        // Each active zone may have a program unit of which only a part is written; another unit must find space, too.
        let active = if self.max_active > 0 { self.max_active } else { self.zone_count(geometry) };
        let partial = (u64::from(active) + 1) * u64::from(geometry.units_per_program);
        if setting.buffer_units < partial {
            let what = format!(
                "a zoned drive holds incomplete program units of its active zones in the write buffer: expected policy = \
                 \"write_back\", and a capacity of at least {}B",
                partial * UNIT_BYTES
            );
            problems.add("buffer.capacity", what);
        }
    }
}
