//! Physical commands: scattered addresses in one command, chunks, and the geometry (Open-Channel SSD specification
//! 2.0).

use super::{EmbedError, EmbedErrorKind, EmbeddedDrive};
use ftl::layer::pass_through::MAX_ADDRESSES;
use ftl::layer::pass_through::chunks::{ChunkState, Rules};
use kit::{Bytes, HostCommand, Op, SimTime, UNIT_BYTES};

/// A chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// First byte.
    pub start: Bytes,
    /// First byte that is not written.
    pub write_pointer: Bytes,
    /// Its erases.
    pub erases: u32,
    /// State.
    pub state: ChunkState,
}

/// Sizes of a drive with physical addresses. The number of a mapping unit is
/// `((group * dies_per_group + die) * chunks_per_die + chunk) * units + place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicalGeometry {
    /// Groups: channels.
    pub groups: u32,
    /// Parallel units of a group: dies of a channel.
    pub dies_per_group: u32,
    /// Rules of the chunks, with their sizes and limits.
    pub rules: Rules,
}

impl EmbeddedDrive {
    /// Returns the number of chunks; `None` if the drive has no physical addresses.
    pub fn chunk_count(&self) -> Option<usize> {
        self.drive.translator().chunks().map(|chunks| chunks.all().len())
    }

    /// Returns a chunk; `None` if there is no chunk of this number.
    pub fn chunk(&self, number: usize) -> Option<ChunkInfo> {
        let chunks = self.drive.translator().chunks()?;
        let chunk = chunks.all().get(number)?;
        let start = number as u64 * u64::from(chunks.rules().units) * UNIT_BYTES;
        let write_pointer = Bytes(start + u64::from(chunk.written) * UNIT_BYTES);
        Some(ChunkInfo { start: Bytes(start), write_pointer, erases: chunk.erases, state: chunk.state })
    }

    /// Returns the geometry; `None` if the drive has no physical addresses.
    pub fn physical_geometry(&self) -> Option<PhysicalGeometry> {
        let geometry = self.origin.description.geometry();
        let groups = geometry.shape.channels;
        let rules = *self.drive.translator().chunks()?.rules();
        Some(PhysicalGeometry { groups, dies_per_group: geometry.die_count / groups, rules })
    }

    /// Submits a vectored command that arrives at instant `at`: a read or a write of one mapping unit at each address,
    /// or a trim, which resets the chunk that begins at each. The offset and the length of `command` have no meaning;
    /// those of its completion lie beyond the user capacity.
    pub fn submit_vector(&mut self, command: HostCommand, addresses: &[Bytes], at: SimTime) -> Result<(), EmbedError> {
        let name = command.op.name();
        let refused = |kind: EmbedErrorKind, text: String| Err(EmbedError::new(kind, format!("vectored {name}: {text}")));
        if self.drive.translator().chunks().is_none() {
            let text = "the drive has no physical addresses: expected a drive with ftl.translation = \"pass_through\"";
            return refused(EmbedErrorKind::Unsupported, text.to_owned());
        }
        if !matches!(command.op, Op::Read | Op::Write | Op::Trim) {
            return refused(EmbedErrorKind::Unsupported, "expected a read, a write or a trim".to_owned());
        }
        if !(1..=MAX_ADDRESSES).contains(&addresses.len()) {
            self.rejected += 1;
            let text = format!("{} addresses: expected 1 to {MAX_ADDRESSES}", addresses.len());
            return refused(EmbedErrorKind::Range, text);
        }
        let user = self.drive.user_bytes();
        let is_address = |address: &Bytes| address.0 < user && address.0.is_multiple_of(UNIT_BYTES);
        if let Some(wrong) = addresses.iter().position(|address| !is_address(address)) {
            self.rejected += 1;
            let text = format!(
                "address {} of {}, number {}: expected a multiple of {UNIT_BYTES} below {user}, the bytes of the flash",
                addresses[wrong].0,
                addresses.len(),
                wrong + 1
            );
            return refused(EmbedErrorKind::Range, text);
        }
        if !self.has_queue(&command) || at < self.drive.now() || at > SimTime::LAST {
            let whole = HostCommand { offset: Bytes(0), length: Bytes(UNIT_BYTES), ..command };
            return Err(self.refuse(&whole, at));
        }
        let Some(offset) = self.drive.vector(addresses) else {
            return refused(EmbedErrorKind::Queue, "too many vectored commands are in flight".to_owned());
        };
        let length = Bytes(addresses.len() as u64 * UNIT_BYTES);
        self.accept(HostCommand { offset, length, ..command }, at);
        Ok(())
    }
}
