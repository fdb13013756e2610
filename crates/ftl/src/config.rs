//! The `[ftl]` section of a drive's description.

use crate::victim::VictimConfig;
use crate::wear::WearConfig;
use kit::{Bytes, DieId, Geometry, Nanos, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the die of a host write is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteAllocation {
    /// As late as possible: writes wait in one queue and idle dies take the oldest.
    Pull,
    /// On arrival, from the logical address: unit `n` goes to the die with rank `n` modulo the dies.
    Static,
    /// On arrival, in rotation.
    RoundRobin,
}

macro_rules! orders {
    ($($order:ident),+) => {
        /// The order in which places take turns: the letter that stands first changes fastest (Channel, Way = chip, Die, Plane). Where the die is chosen
        /// on arrival, the position of a unit in that order gives it; where idle dies pull, it is the order in which they are asked. With a `P`
        /// planes take turns program by program, each with open blocks of its own, and a unit's position gives its plane, too; without one they take
        /// turns as blocks are opened. Planes that are programmed together count as one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "UPPERCASE")]
        #[allow(missing_docs)]
        pub enum AllocationOrder { $($order),+ }

        impl AllocationOrder {
            /// All of them.
            pub const ALL: &'static [AllocationOrder] = &[$(AllocationOrder::$order),+];

            /// Its letters, in lower case after the first.
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
    /// Whether planes take turns program by program.
    pub fn is_by_plane(self) -> bool {
        self.letters().to_ascii_uppercase().contains('P')
    }
}

/// What a read of a unit that was never written costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnmappedRead {
    /// Nothing: the map says so and zeroes are returned.
    Zero,
    /// A flash read all the same, on the die that static allocation would use.
    Flash,
}

/// What happens to a read of a page whose program has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadInFlight {
    /// The controller still has the data and answers from memory.
    Buffer,
    /// It waits for the die and senses the page.
    Wait,
}

/// What becomes of the rest of a unit that the host writes in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialWrite {
    /// It is read first, and written anew with what the host wrote.
    #[default]
    ReadModifyWrite,
    /// Nothing: the unit counts as written whole. For comparisons with simulators that know which sectors of a page the trace itself has written, and read only those
    /// that a write leaves (SSDsim), where old data would be read in every drive.
    Whole,
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlConfig {
    /// (physical - user) / user capacity. The user capacity follows from it, rounded down to a mapping unit.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub overprovisioning: f64,
    /// A smaller user capacity than over-provisioning would leave. Absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_capacity: Option<Bytes>,
    /// Which block is collected.
    pub victim: VictimConfig,
    /// Which free block is used next, and whether cold blocks are moved.
    pub wear_leveling: WearConfig,
    /// When the die of a host write is chosen.
    pub write_allocation: WriteAllocation,
    /// The order in which channels, ways, dies and planes take turns.
    pub allocation_order: AllocationOrder,
    /// Relocated data goes to blocks of its own.
    pub separate_relocations: bool,
    /// Blocks of one plane that are collected and erased together.
    #[schemars(range(min = 1, max = 1024))]
    pub superblock_blocks: u32,
    /// Free blocks of each die that only relocations may take.
    #[schemars(range(min = 1, max = 1024))]
    pub reserve_blocks: u32,
    /// Below so many free blocks of a die, its collection goes before host writes.
    #[schemars(range(min = 1, max = 65_536))]
    pub gc_critical_blocks: u32,
    /// Below so many free blocks of a die, it collects when no host write waits.
    #[schemars(range(min = 1, max = 65_536))]
    pub gc_low_blocks: u32,
    /// Share of a die's spare blocks that collection keeps free when no host write waits; raises `gc_low_blocks` where it is larger.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub gc_spare_fraction: f64,
    /// Host writes may come between the steps of a collection that has begun, while there is room.
    pub gc_preemptible: bool,
    /// A die that has been idle so long collects in the background. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_idle_after: Option<Nanos>,
    /// Background collection goes on until a die has so many free blocks.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gc_idle_target_blocks: u32,
    /// What a read of a unit that was never written costs.
    pub unmapped_read: UnmappedRead,
    /// What happens to a read of a page whose program has not completed.
    pub read_in_flight: ReadInFlight,
    /// What becomes of the rest of a unit that the host writes in part.
    #[serde(default)]
    pub partial_write: PartialWrite,
    /// Data is moved this long before its retention limit.
    pub retention_margin: Nanos,
    /// Effective wear \[nominal erases\] from which a block is retired when it is erased: it is not used any more. A run ends when a die could not spare another
    /// block. Absent: blocks are used however worn they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_000_000))]
    pub retire_at_cycles: Option<u32>,
}

impl FtlConfig {
    /// Mapping units that the host sees.
    pub fn user_units(&self, geometry: &Geometry) -> u64 {
        let most = (geometry.unit_count() as f64 / (1.0 + self.overprovisioning)).floor() as u64;
        self.user_capacity.map_or(most, |bytes| (bytes.0 / kit::UNIT_BYTES).min(most))
    }

    /// Free blocks per die below which collection goes first, and below which it runs when no write waits.
    pub fn thresholds(&self, geometry: &Geometry) -> (u32, u32) {
        let spare = 1.0 - self.user_units(geometry) as f64 / geometry.unit_count() as f64;
        let kept = (self.gc_spare_fraction * spare * f64::from(geometry.blocks_per_die)).floor() as u32;
        (self.gc_critical_blocks, self.gc_low_blocks.max(kept))
    }

    /// Blocks that each die needs for its share of the user data, for what it keeps free and for `streams` write frontiers: in this order, and in all.
    pub(crate) fn blocks_needed(&self, geometry: &Geometry, streams: u32) -> [u64; 4] {
        let streams = streams * if self.allocation_order.is_by_plane() { geometry.groups_per_die } else { 1 };
        // A block that is collected loses up to a program less one unit to padding; with blocks so full collection still frees something.
        let least_held = u64::from(geometry.units_per_block - geometry.units_per_program + 1);
        let user = self.user_units(geometry).div_ceil(least_held * u64::from(geometry.die_count));
        let kept = u64::from(self.thresholds(geometry).1);
        [user, kept, streams.into(), user + kept + u64::from(streams)]
    }

    /// What is inconsistent in the section, `streams` being the write frontiers that the policy opens on each die.
    pub fn problems(&self, geometry: &Geometry, streams: u32, problems: &mut Problems) {
        if geometry.unit_count() >= u64::from(crate::map::SLOT_BASE) {
            problems.add(
                "flash",
                format!("{} bytes of flash: expected less than 16 TiB, what 32-bit places can name", geometry.physical_bytes()),
            );
            return;
        }
        if let Some(capacity) = self.user_capacity {
            let most = (geometry.unit_count() as f64 / (1.0 + self.overprovisioning)).floor() as u64 * kit::UNIT_BYTES;
            if capacity.0 > most || capacity.0 < kit::UNIT_BYTES {
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
        if self.gc_critical_blocks <= self.reserve_blocks {
            problems.add(
                "ftl.gc_critical_blocks",
                format!("{}: expected more than reserve_blocks = {}", self.gc_critical_blocks, self.reserve_blocks),
            );
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

/// The places of a drive in the order in which they take turns: dies, with the group of planes where planes take part.
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
