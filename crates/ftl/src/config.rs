//! The `[ftl]` section of a drive's description.

use crate::map_cache::MapCacheConfig;
use crate::map_journal::JournalConfig;
use crate::paired::PairedPages;
use crate::queue::order::{AllocationOrder, WriteAllocation};
use crate::victim::VictimConfig;
use crate::wear::WearConfig;
use kit::{Bytes, Geometry, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

fn is_default<L: Default + PartialEq>(translation: &L) -> bool {
    *translation == L::default()
}

/// The flash translation layer.
// `L` is the choice of the layer with its parameters ([`FtlConfig`](crate::FtlConfig)). The layers themselves see the
// section without it, so that none depends on the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(serialize = "L: Serialize + Default + PartialEq"))]
#[schemars(rename = "FtlConfig", bound = "L: JsonSchema + Serialize + Default + PartialEq")]
pub struct FtlSection<L = ()> {
    /// The translation layer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub translation: L,
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
    /// Group of planes of a die to which data of the host goes, unless planes take turns in `allocation_order`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub plane_choice: PlaneChoice,
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
    /// Time at which a die begins to collect for space.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gc_start: CollectionStart,
    /// Idle time after which a die collects in the background. Absent: no background collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_idle_after: Option<Nanos>,
    /// Part of the drive whose idle time that is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gc_idle_of: IdlePart,
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
    /// Reads of a block since its last erase, and each multiple of them, at which its data is moved elsewhere, as reads
    /// disturb it. Absent: never. Only where reads can fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub scrub_reads: Option<u32>,
    /// Journal and checkpoint of the map. Absent: after a loss of power all programmed pages are searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalConfig>,
    /// Parity across dies (RAIN). Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<RainConfig>,
    /// Earlier pages of a wordline when a loss of power interrupts the program of a later one, on flash whose pages are
    /// programmed one by one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paired_pages: PairedPages,
}

/// Time at which a die begins to collect for space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectionStart {
    /// As soon as it is free and has too few free blocks.
    #[default]
    Early,
    /// In the foreground: only when something waits to be written to the die, as a rule by the host, and before that.
    /// Its free blocks are then fewer than are kept while no write waits otherwise (`gc_low_blocks`,
    /// `gc_spare_fraction`).
    WriteWaits,
}

/// Part of a drive whose idle time lets a die collect in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdlePart {
    /// The die: it has had nothing to do, though others may serve the host.
    #[default]
    Die,
    /// The drive: no command of the host has been in flight either. While one is, a die begins to empty no further
    /// block in the background; what it has begun goes on behind the host's operations.
    Drive,
}

/// Group of planes of a die to which data of the host goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaneChoice {
    /// A stream has one open block on each die. The next one is taken from the group with the most free blocks.
    #[default]
    Block,
    /// A stream has an open block in each group, and each program goes to the group with the most room, open block and
    /// free blocks; of equal ones, to the next in turn. Relocated data stays in its group (DiskSim's SSD extension).
    MostFree,
}

/// Parity across dies: a redundant array of independent NAND (RAIN). Blocks of `dies` dies form a set, in which the
/// block of one die holds the parity of the others. The dies take turns as the one with the parity, set by set. A set
/// is collected and erased as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RainConfig {
    /// Dies of a set, the one with the parity included: a divisor of the number of dies. Over-provisioning counts what
    /// the parity leaves, (dies - 1) / dies of the flash.
    #[schemars(range(min = 2, max = 64))]
    pub dies: u32,
    /// Data that a group of dies moves in a second at most to rebuild the sets that have lost a block with their die;
    /// as much as it can by default.
    pub rebuild_rate: Option<Rate>,
}

impl<L> FtlSection<L> {
    /// Returns the section without the choice of the layer.
    pub fn without_layer(&self) -> FtlSection {
        let FtlSection { map_cache, victim, wear_leveling, .. } = self;
        FtlSection {
            translation: (),
            map_cache: map_cache.clone(),
            victim: victim.clone(),
            wear_leveling: wear_leveling.clone(),
            overprovisioning: self.overprovisioning,
            mapping_unit: self.mapping_unit,
            user_capacity: self.user_capacity,
            write_allocation: self.write_allocation,
            allocation_order: self.allocation_order,
            plane_choice: self.plane_choice,
            separate_relocations: self.separate_relocations,
            superblock_blocks: self.superblock_blocks,
            reserve_blocks: self.reserve_blocks,
            gc_critical_blocks: self.gc_critical_blocks,
            gc_low_blocks: self.gc_low_blocks,
            gc_spare_fraction: self.gc_spare_fraction,
            gc_fraction_of: self.gc_fraction_of,
            gc_preemptible: self.gc_preemptible,
            gc_start: self.gc_start,
            gc_idle_after: self.gc_idle_after,
            gc_idle_of: self.gc_idle_of,
            gc_idle_target_blocks: self.gc_idle_target_blocks,
            unmapped_read: self.unmapped_read,
            read_in_flight: self.read_in_flight,
            partial_write: self.partial_write,
            retention_margin: self.retention_margin,
            retire_at_cycles: self.retire_at_cycles,
            scrub_reads: self.scrub_reads,
            journal: self.journal,
            rain: self.rain,
            paired_pages: self.paired_pages,
        }
    }

    /// Returns true if each write stream has a frontier in each group of planes, and not one on each die.
    pub(crate) fn has_plane_frontiers(&self) -> bool {
        self.allocation_order.is_by_plane() || self.plane_choice == PlaneChoice::MostFree
    }

    /// Returns the number of mapping units that parity leaves to data.
    pub(crate) fn data_units(&self, geometry: &Geometry) -> u64 {
        let all = geometry.unit_count();
        self.rain.map_or(all, |rain| all - all / u64::from(rain.dies))
    }

    /// Returns the number of mapping units that over-provisioning leaves to the user.
    pub(crate) fn max_units(&self, geometry: &Geometry) -> u64 {
        (self.data_units(geometry) as f64 / (1.0 + self.overprovisioning)).floor() as u64
    }

    /// Returns the number of mapping units that map pages and journal take beside `user_units` of data.
    pub(crate) fn map_units(&self, geometry: &Geometry, user_units: u64) -> u64 {
        let units = |cache: &MapCacheConfig| cache.page_count(user_units) + cache.journal_units(geometry.units_per_program);
        self.map_cache.as_ref().map_or(0, units)
    }

    /// Returns the number of free blocks of each die that host writes leave: those reserved for relocations, one for
    /// the map, and one for parity.
    pub(crate) fn reserved(&self) -> u32 {
        self.reserve_blocks + u32::from(self.map_cache.is_some()) + u32::from(self.rain.is_some())
    }

    /// Returns the numbers of free blocks per die below which collection takes precedence over host writes, and below
    /// which it runs when no write waits, on a drive with `user_units` of data.
    pub(crate) fn thresholds_with(&self, geometry: &Geometry, user_units: u64) -> (u32, u32) {
        let spare = 1.0 - user_units as f64 / self.data_units(geometry) as f64;
        let spare = if self.gc_fraction_of == FractionOf::All { 1.0 } else { spare };
        let kept = (self.gc_spare_fraction * spare * f64::from(geometry.blocks_per_die)).floor() as u32;
        let low = self.gc_low_blocks.max(kept);
        (if self.gc_start == CollectionStart::WriteWaits { low } else { self.gc_critical_blocks }, low)
    }

    /// Returns the number of free blocks that a die keeps by collecting in pauses of the load; `None` if it does not,
    /// or the load has none.
    pub(crate) fn kept_in_pauses(&self, has_pauses: bool) -> Option<u32> {
        self.gc_idle_after.filter(|_| has_pauses).map(|_| self.gc_idle_target_blocks)
    }

    /// Returns the number of blocks of each die that hold the journal and the checkpoint of the map of `user_units`.
    pub(crate) fn area_blocks(&self, geometry: &Geometry, user_units: u64) -> u32 {
        self.journal.map_or(0, |journal| journal.area_blocks(geometry, user_units))
    }

    /// Returns the number of blocks of each die that hold copies of paired pages, where the policy opens `streams`.
    pub(crate) fn backup_blocks(&self, geometry: &Geometry, streams: u32) -> u32 {
        let groups = if self.has_plane_frontiers() { geometry.groups_per_die } else { 1 };
        self.paired_pages.backup_blocks(geometry, u64::from(streams) * u64::from(groups))
    }

    /// Returns the numbers of blocks that each die needs for its share of `user_units` of data, for the free blocks it
    /// keeps, and for `streams` write frontiers, and the sum of these and of those for the journal of the map, in this
    /// order.
    pub(crate) fn blocks_needed(&self, geometry: &Geometry, user_units: u64, streams: u32) -> [u64; 4] {
        let area = self.area_blocks(geometry, user_units) + self.backup_blocks(geometry, streams);
        let streams = (streams + u32::from(self.map_cache.is_some()))
            * if self.has_plane_frontiers() { geometry.groups_per_die } else { 1 };
        // With parity, a stream has beside its frontier a block of parity, and up to two blocks that are full and wait
        // for the others of their sets.
        let streams = if self.rain.is_some() { 4 * streams } else { streams };
        // A block with at least this many valid units is not worth collecting, because padding of the last program
        // takes up all that would be freed. Given more blocks than user data fills at this count, at least one of them
        // holds fewer units.
        let min_held = u64::from(geometry.units_per_block - geometry.units_per_program + 1);
        let units = user_units + self.map_units(geometry, user_units);
        let user = units.div_ceil(min_held * u64::from(geometry.die_count));
        // Beside each block of data there is its share of one of parity.
        let user = self.rain.map_or(user, |rain| user + user.div_ceil(u64::from(rain.dies) - 1));
        let kept = u64::from(self.thresholds_with(geometry, user_units).1);
        let all = user + kept + u64::from(streams) + u64::from(area);
        [user, kept, streams.into(), all]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the flash is spare in the small drive.
    #[test]
    fn a_share_is_kept_free_of_the_spare_blocks_or_of_all() {
        let geometry = crate::medium::tests::geometry(1, 1, 16, 4, 2);
        let kept = |of: FractionOf| {
            let ftl = crate::layer::page_map::ftl::tests::small(geometry, |config, _| {
                (config.gc_low_blocks, config.gc_spare_fraction, config.gc_fraction_of) = (1, 0.5, of);
            });
            ftl.derived.low
        };
        let blocks = geometry.blocks_per_die;
        assert_eq!((kept(FractionOf::Spare), kept(FractionOf::All)), (blocks / 4, blocks / 2));
    }
}
