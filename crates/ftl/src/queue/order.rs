//! The order in which dies take host writes.

use kit::{DieId, Geometry};
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
