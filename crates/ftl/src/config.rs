//! The `[ftl]` section of a drive's description.

use crate::map_cache::MapCacheConfig;
use crate::translation::TranslationConfig;
use crate::victim::VictimConfig;
use crate::wear::WearConfig;
use kit::{Bytes, DieId, Geometry, Nanos, Problems, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time at which the die of a host write is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteAllocation {
    /// As late as possible: writes wait in one queue for the drive, and an idle die takes the oldest.
    Pull,
    /// On arrival, from the logical address: unit `n` goes to position `n` of the allocation order, modulo the number
    /// of positions.
    Static,
    /// On arrival, in rotation through the allocation order.
    RoundRobin,
}

macro_rules! orders {
    ($($order:ident),+) => {
        /// Order in which channels, ways (chips), dies and planes take turns: `C`, `W`, `D` and `P`; the first letter
        /// varies fastest. Where the die of a write is chosen on arrival, a position in this order selects it; where
        /// idle dies pull, idle dies are offered a write in this order. With a `P`, planes take turns program by
        /// program, each with open blocks of its own, and the position selects the plane, too. Without a `P`, the plane
        /// is chosen whenever a block is opened. Planes that are programmed together count as one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "UPPERCASE")]
        #[allow(missing_docs)]
        pub enum AllocationOrder { $($order),+ }

        impl AllocationOrder {
            /// All orders.
            pub const ALL: &'static [AllocationOrder] = &[$(AllocationOrder::$order),+];

            /// Returns the letters of the order, all but the first in lower case.
            pub fn letters(self) -> &'static str {
                match self { $(AllocationOrder::$order => stringify!($order)),+ }
            }
        }
    };
}

orders!(
    Cwd, Cdw, Wcd, Wdc, Dcw, Dwc, Cwdp, Cwpd, Cdwp, Cdpw, Cpwd, Cpdw, Wcdp, Wcpd, Wdcp, Wdpc, Wpcd, Wpdc, Dcwp, Dcpw, Dwcp, Dwpc,
    Dpcw, Dpwc, Pcwd, Pcdw, Pwcd, Pwdc, Pdcw, Pdwc
);

impl AllocationOrder {
    /// Returns true if planes take turns program by program.
    pub fn is_by_plane(self) -> bool {
        self.letters().to_ascii_uppercase().contains('P')
    }
}

/// Handling of a read of a mapping unit that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnmappedRead {
    /// No flash operation: the map shows that the unit was never written, and zeroes are returned.
    Zero,
    /// A flash read, on the die that static allocation would select.
    Flash,
}

/// Handling of a read of data whose program has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadInFlight {
    /// The controller still holds the data and answers from its memory.
    Buffer,
    /// The read waits for the die, and senses the page.
    Wait,
}

/// Blocks of which `gc_spare_fraction` is a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FractionOf {
    /// Those that user data does not fill.
    #[default]
    Spare,
    /// All blocks of the die.
    All,
}

/// Handling of a host write that covers only part of a mapping unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialWrite {
    /// Read, modify, write: the old copy is read first if it is on flash, and the whole unit is written. No read is
    /// needed if the controller still holds the data or the unit was never written.
    #[default]
    ReadModifyWrite,
    /// No read: the unit counts as written whole. For comparison with simulators that track which sectors of a page the
    /// trace itself has written, and read only those that a write leaves unchanged (SSDsim). Such a simulator reads
    /// nothing for sectors that the trace has never written, although a real drive holds old data there and would read
    /// it.
    Whole,
}

fn is_page_map(translation: &TranslationConfig) -> bool {
    *translation == TranslationConfig::default()
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlConfig {
    /// The translation layer.
    #[serde(default, skip_serializing_if = "is_page_map")]
    pub translation: TranslationConfig,
    /// The mapping cache of a drive whose memory does not hold the whole map. Absent: the whole map is in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_cache: Option<MapCacheConfig>,
    /// Over-provisioning: (physical - user) / user capacity. It determines the user capacity, which is rounded down to
    /// a mapping unit.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub overprovisioning: f64,
    /// Size of a mapping unit (indirection unit): a power of two from 4 to 256 KiB that divides the page. The larger it
    /// is, the smaller is the map, and the more host writes cover only a part of a unit (`partial_write`). Drives of
    /// tens of terabytes have units of 16 or 64 KiB. Absent: 4 KiB, or the page of a drive that is written in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping_unit: Option<Bytes>,
    /// User capacity, where it is smaller than over-provisioning would leave. Absent: all that over-provisioning
    /// leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_capacity: Option<Bytes>,
    /// Choice of the victim block of a collection.
    pub victim: VictimConfig,
    /// Wear levelling: order in which free blocks are used, and whether blocks with cold data are moved.
    pub wear_leveling: WearConfig,
    /// Time at which the die of a host write is chosen.
    pub write_allocation: WriteAllocation,
    /// Order in which channels, ways (chips), dies and planes take turns.
    pub allocation_order: AllocationOrder,
    /// True if relocated data is written to blocks of its own, and not to those of the first host stream. Data
    /// relocated in another than the first write mode has blocks of its own in any case.
    pub separate_relocations: bool,
    /// Blocks of one plane that are collected and erased together.
    #[schemars(range(min = 1, max = 1024))]
    pub superblock_blocks: u32,
    /// Number of free blocks of each die that are reserved for relocations.
    #[schemars(range(min = 1, max = 1024))]
    pub reserve_blocks: u32,
    /// Number of free blocks of a die below which its collection takes precedence over host writes.
    #[schemars(range(min = 1, max = 65_536))]
    pub gc_critical_blocks: u32,
    /// Number of free blocks of a die below which it collects when no host write waits.
    #[schemars(range(min = 1, max = 65_536))]
    pub gc_low_blocks: u32,
    /// Share of a die's spare blocks (`gc_fraction_of`) that collection keeps free when no host write waits. It raises
    /// `gc_low_blocks` where it amounts to more blocks.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub gc_spare_fraction: f64,
    /// Blocks of which `gc_spare_fraction` is a share. OFWAR collects if less than 20 % of "the number of total
    /// physical blocks" are free: of all blocks, that leaves hardly any spare room for invalid data, which is why the
    /// spare blocks are the default.
    #[serde(default)]
    pub gc_fraction_of: FractionOf,
    /// True if host writes may be served between the steps of a collection in progress, as long as the die has at least
    /// `gc_critical_blocks` free blocks.
    pub gc_preemptible: bool,
    /// Idle time after which a die collects in the background. Absent: no background collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_idle_after: Option<Nanos>,
    /// Number of free blocks of a die at which background collection stops.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gc_idle_target_blocks: u32,
    /// Handling of a read of a mapping unit that was never written.
    pub unmapped_read: UnmappedRead,
    /// Handling of a read of data whose program has not completed.
    pub read_in_flight: ReadInFlight,
    /// Handling of a host write that covers only part of a mapping unit.
    #[serde(default)]
    pub partial_write: PartialWrite,
    /// Time before its retention limit by which data has to be moved.
    pub retention_margin: Nanos,
    /// Effective wear \[nominal erases\] from which a block is retired when it is erased: it is no longer used. A run
    /// ends when a die cannot do without another block. Absent: blocks are used however worn they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_000_000))]
    pub retire_at_cycles: Option<u32>,
}

impl FtlConfig {
    /// Returns the number of mapping units of the user capacity.
    pub fn user_units(&self, geometry: &Geometry) -> u64 {
        if let Some(units) = self.translation.build(()).user_units(geometry) {
            return units;
        }
        let most = self.most_units(geometry);
        self.user_capacity.map_or(most, |bytes| geometry.unit.whole(bytes.0).min(most))
    }

    /// Returns the number of mapping units that over-provisioning and the translation layer leave to the user.
    fn most_units(&self, geometry: &Geometry) -> u64 {
        let most = (geometry.unit_count() as f64 / (1.0 + self.overprovisioning)).floor() as u64;
        self.translation.build(()).most_units(geometry).map_or(most, |units| units.min(most))
    }

    /// Returns the number of mapping units that map pages and journal take.
    pub fn map_units(&self, geometry: &Geometry) -> u64 {
        self.map_cache
            .as_ref()
            .map_or(0, |cache| cache.page_count(self.user_units(geometry)) + cache.journal_units(geometry.units_per_program))
    }

    /// Returns the number of free blocks of each die that host writes leave: those reserved for relocations, and one
    /// for the map.
    fn reserved(&self) -> u32 {
        self.reserve_blocks + u32::from(self.map_cache.is_some())
    }

    /// Returns the numbers of free blocks per die below which collection takes precedence over host writes, and below
    /// which it runs when no write waits.
    pub fn thresholds(&self, geometry: &Geometry) -> (u32, u32) {
        let spare = 1.0 - self.user_units(geometry) as f64 / geometry.unit_count() as f64;
        let spare = if self.gc_fraction_of == FractionOf::All { 1.0 } else { spare };
        let kept = (self.gc_spare_fraction * spare * f64::from(geometry.blocks_per_die)).floor() as u32;
        (self.gc_critical_blocks, self.gc_low_blocks.max(kept))
    }

    /// Returns the numbers of blocks that each die needs for its share of the user data, for the free blocks it keeps,
    /// and for `streams` write frontiers, and their sum, in this order.
    pub(crate) fn blocks_needed(&self, geometry: &Geometry, streams: u32) -> [u64; 4] {
        let streams = (streams + u32::from(self.map_cache.is_some()))
            * if self.allocation_order.is_by_plane() { geometry.groups_per_die } else { 1 };
        // A block with at least this many valid units is not worth collecting, because padding of the last program
        // takes up all that would be freed. Given more blocks than user data fills at this count, at least one of them
        // holds fewer units.
        let least_held = u64::from(geometry.units_per_block - geometry.units_per_program + 1);
        let units = self.user_units(geometry) + self.map_units(geometry);
        let user = units.div_ceil(least_held * u64::from(geometry.die_count));
        let kept = u64::from(self.thresholds(geometry).1);
        [user, kept, streams.into(), user + kept + u64::from(streams)]
    }

    /// Adds the inconsistencies of the section to `problems`; `streams` is the number of write frontiers that the
    /// policy opens on each die.
    pub fn problems(&self, geometry: &Geometry, streams: u32, problems: &mut Problems) {
        if geometry.unit_count() >= u64::from(crate::map::SLOT_BASE) {
            let [most, unit] = [1 << 32, 1].map(|units| words::size(Bytes(geometry.unit.offset(units))));
            let what = format!("expected less than {most}, the limit of 32-bit places with mapping units of {unit}");
            let further = "larger ones (ftl.mapping_unit) reach further";
            problems.add("flash", format!("{} bytes of flash: {what}; {further}", geometry.physical_bytes()));
            return;
        }
        if let Some(capacity) = self.user_capacity {
            let most = geometry.unit.offset(self.most_units(geometry));
            if capacity.0 > most || capacity.0 < geometry.unit.bytes() {
                problems.add(
                    "ftl.user_capacity",
                    format!(
                        "{capacity} does not fit: the flash leaves {most}B beside over-provisioning {}",
                        self.overprovisioning
                    ),
                );
            }
        }
        if geometry.units_per_block > u32::from(u16::MAX) || geometry.programs_per_block > u32::from(u16::MAX) {
            problems.add(
                "ftl.superblock_blocks",
                format!("{} mapping units in an erase unit: expected at most 65535", geometry.units_per_block),
            );
        }
        if self.gc_critical_blocks <= self.reserved() {
            let map = if self.map_cache.is_some() { " and one for the map" } else { "" };
            problems.add(
                "ftl.gc_critical_blocks",
                format!("{}: expected more than reserve_blocks = {}{map}", self.gc_critical_blocks, self.reserve_blocks),
            );
        }
        if let Some(cache) = &self.map_cache {
            cache.problems(geometry.units_per_program, problems);
        }
        if self.gc_low_blocks < self.gc_critical_blocks {
            problems.add(
                "ftl.gc_low_blocks",
                format!("{}: expected at least gc_critical_blocks = {}", self.gc_low_blocks, self.gc_critical_blocks),
            );
        }
        if geometry.shape.superblock > 1 && !geometry.shape.blocks_per_plane.is_multiple_of(geometry.shape.superblock) {
            problems.add("ftl.superblock_blocks", "expected a divisor of flash.blocks_per_plane".to_owned());
        }
        let layer = self.translation.build(());
        layer.drive_problems(self, geometry, problems);
        if let Some(needed) = layer.blocks_needed() {
            if geometry.blocks_per_die < needed {
                let what = format!("each die has {} blocks: expected at least {needed}", geometry.blocks_per_die);
                problems.add("flash.blocks_per_plane", what);
            }
            return;
        }
        let [user, kept, open, needed] = self.blocks_needed(geometry, streams);
        if needed > u64::from(geometry.blocks_per_die) {
            problems.add(
                "ftl.overprovisioning",
                format!(
                    "does not fit: each die has {} blocks, and needs {user} for user data, {kept} kept free and {open} open",
                    geometry.blocks_per_die
                ),
            );
        }
    }
}

/// Returns the dies of a drive in allocation order; where planes take turns program by program, each with its groups of
/// planes.
pub(crate) fn places(order: AllocationOrder, geometry: &Geometry) -> Vec<(DieId, Option<u32>)> {
    let shape = &geometry.shape;
    let (channels, ways, dies) = (shape.channels, shape.chips_per_channel, shape.dies_per_chip);
    let planes = if order.is_by_plane() { geometry.groups_per_die } else { 1 };
    (0..geometry.die_count * planes)
        .map(|position| {
            let (mut rest, mut channel, mut way, mut die, mut plane) = (position, 0, 0, 0, None);
            for letter in order.letters().chars() {
                let mut digit = |count: u32| (rest % count, rest /= count).0;
                match letter.to_ascii_uppercase() {
                    'C' => channel = digit(channels),
                    'W' => way = digit(ways),
                    'D' => die = digit(dies),
                    _ => plane = Some(digit(planes)),
                }
            }
            (DieId((channel * ways + way) * dies + die), plane)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the flash is spare in the small drive.
    #[test]
    fn a_share_is_kept_free_of_the_spare_blocks_or_of_all() {
        let geometry = crate::medium::tests::geometry(1, 1, 16, 4, 2);
        let kept = |of: FractionOf| {
            let ftl = crate::ftl::tests::small(geometry, |config, _| {
                (config.gc_low_blocks, config.gc_spare_fraction, config.gc_fraction_of) = (1, 0.5, of);
            });
            ftl.config.thresholds(&geometry).1
        };
        let blocks = geometry.blocks_per_die;
        assert_eq!((kept(FractionOf::Spare), kept(FractionOf::All)), (blocks / 4, blocks / 2));
    }

    #[test]
    fn every_place_has_its_turn_in_the_stated_order() {
        let geometry = Geometry::new(kit::Shape {
            channels: 2,
            chips_per_channel: 3,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes: 4096,
            unit: kit::UnitSize::default(),
            bits_per_cell: 1,
            planes_per_program: 1,
            pages_per_program: 1,
            superblock: 1,
        });
        use AllocationOrder::*;
        for &order in AllocationOrder::ALL {
            let mut sorted = places(order, &geometry);
            sorted.sort_unstable();
            let planes: &[Option<u32>] = if order.is_by_plane() { &[Some(0), Some(1)] } else { &[None] };
            let all = (0..12).flat_map(|die| planes.iter().map(move |&plane| (DieId(die), plane)));
            assert_eq!(sorted, all.collect::<Vec<_>>(), "{order:?}");
        }
        // Die 7 is channel 1, way 0, die 1.
        assert_eq!(places(Cwd, &geometry)[1 + 2 * 3], (DieId(7), None));
        assert_eq!(places(Dwc, &geometry)[1 + 2 * 3], (DieId(7), None));
        assert_eq!(places(Wdc, &geometry)[3 + 3 * 2], (DieId(7), None));
        assert_eq!(places(Cwdp, &geometry)[1 + 2 * 3 + 12], (DieId(7), Some(1)));
        assert_eq!(places(Pcwd, &geometry)[1 + 2 * (1 + 2 * 3)], (DieId(7), Some(1)));
    }
}
