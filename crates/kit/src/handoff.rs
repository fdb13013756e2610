//! The handoff: results and requests of one stage that the router passes on to another stage at once.

use crate::cause::Ledger;
use crate::ids::{CommandId, DieId, Lpn};
use crate::operation::Encoding;

/// A completed part of a host command, with its latency by cause since the command was admitted.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The command.
    pub command: CommandId,
    /// Time of the part by cause.
    pub ledger: Ledger,
    /// Mapping units of data that the part transfers to the host; 0 if none.
    pub units: u32,
    /// True if some of the data is lost.
    pub is_lost: bool,
}

impl Default for Part {
    fn default() -> Self {
        Part { command: CommandId(0), ledger: Ledger::default(), units: 0, is_lost: false }
    }
}

/// A command that waited for a page of the map, which is in memory now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The command.
    pub command: CommandId,
    /// The first unit after that page.
    pub from: Lpn,
}

/// Items on their way from one stage to another. The router empties the handoff after each call of a stage. Vectors are
/// reused; nothing is allocated once they have grown to the size that a run needs.
#[derive(Clone, Debug, Default)]
pub struct Handoff {
    /// From `ftl` to `flash`: slots of flash reads to push to their dies.
    pub reads: Vec<u32>,
    /// From `ftl` to `host`: completed parts of commands.
    pub parts: Vec<Part>,
    /// From `ftl` to `flash`: units of collections that must be encoded before they are programmed.
    pub encodings: Vec<Encoding>,
    /// From `ftl` to `host`: numbers ([`HostUnit::buffered`](crate::HostUnit::buffered)) of the mapping units that left
    /// the write buffer, because they were programmed, replaced or trimmed.
    pub released: Vec<u64>,
    /// From `ftl` to the router: commands that may go on.
    pub translated: Vec<Translated>,
    /// From `ftl` to a recovery after a loss of power: dies whose next row may be read. Empty at all other times.
    pub scanned: Vec<DieId>,
}

impl Handoff {
    /// Returns true if it holds nothing that the router must pass on. Numbers in `released` are passed on at once,
    /// where they come up.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        // One test for all lists: most calls find them empty.
        self.reads.len() | self.parts.len() | self.encodings.len() | self.translated.len() == 0
    }
}
