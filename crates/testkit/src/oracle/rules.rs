//! Rules of the data under each translation layer: what its records tell, and what it promises.

use drive::{Description, Drive};
use ftl::PairedPages;

/// Where a layer keeps the data of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Where its map says.
    Mapped,
    /// At the place that follows from its address, until its zone or chunk is reset.
    Placed,
    /// At the place that its address and the moves of the gap give. A place is programmed again without an erase.
    InPlace,
    /// The layer does not say: it keeps no data, or plays what another one did.
    Untold,
}

/// Rules of the data of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub data: Data,
    /// True if the states of the blocks at the start are known. A layer that does not know the age of its data does not
    /// know them.
    pub knows_blocks: bool,
    /// True if the write buffer keeps its data when power fails: a flush has nothing to wait for.
    pub keeps_buffer: bool,
    /// True if a trim is durable at once; with a journal of the map it is once a flush has completed.
    pub keeps_trims: bool,
    /// Treatment of earlier pages of the wordline of an interrupted program.
    pub paired: PairedPages,
}

impl Rules {
    /// Returns the rules of a drive.
    pub fn of(drive: &Drive, description: &Description) -> Rules {
        let (layer, kind) = (drive.translator(), description.ftl.translation.build(()));
        let data = if layer.map().is_some() {
            Data::Mapped
        } else if layer.checks_commands() {
            Data::Placed
        } else if kind.writes_in_place() {
            Data::InPlace
        } else {
            Data::Untold
        };
        let is_trusted = description.power_loss.is_some_and(|capacitors| capacitors.trusted);
        Rules {
            data,
            knows_blocks: kind.knows_age(),
            keeps_buffer: kind.is_zoned() || is_trusted,
            keeps_trims: description.ftl.journal.is_none(),
            paired: description.ftl.paired_pages,
        }
    }

    /// Returns true if blocks are programmed in order, and erased before they are programmed again.
    pub fn erases(&self) -> bool {
        self.data != Data::InPlace
    }

    /// Returns true if the records tell where the data of each unit is.
    pub fn tells_places(&self) -> bool {
        self.data != Data::Untold
    }

    /// Returns true if a trim deallocates units, or resets chunks.
    pub fn trims(&self) -> bool {
        matches!(self.data, Data::Mapped | Data::Placed)
    }
}
