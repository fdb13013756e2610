//! The engine inside another simulator, as a C library and as a Rust crate.
//!
//! The names that this crate exports are stable: a change that breaks a program raises [`ABI_VERSION`] and has a line
//! in the changelog. All other public items of the workspace's crates may change with every version. The C side is
//! [`abi`], with the header `include/ssdlab.h` and the page `docs/reference/c.md`.
//!
//! ```
//! use ssdlab::{Builder, Bytes, HostCommand, Op, SimTime};
//!
//! # fn main() -> Result<(), ssdlab::EmbedError> {
//! let mut drive = Builder::preset("tiny")?.seed(7).precondition("steady").causes().build()?;
//! for tag in 0..8 {
//!     drive.submit(HostCommand::new(Op::Read, tag, Bytes(u64::from(tag) * 4096), Bytes(4096)), SimTime(0))?;
//! }
//! let mut latencies = Vec::new();
//! while drive.in_flight() > 0 {
//!     // The clock of the host decides how far: here, to the next completion.
//!     drive.advance(SimTime::FOREVER)?;
//!     let taken = drive.take(usize::MAX);
//!     for (completion, causes) in taken.completions.iter().zip(taken.causes) {
//!         assert_eq!(causes.total(), completion.latency());
//!         latencies.push(completion.latency());
//!     }
//! }
//! assert_eq!(latencies.len(), 8);
//! assert_eq!(drive.summary()["commands"]["read"], 8);
//! # Ok(())
//! # }
//! ```

pub mod abi;
mod call;
mod input;
mod records;

pub use drive::BUILD;
pub use drive::embed::{
    Answer, Builder, ChunkInfo, ChunkState, Device, EmbedError, EmbedErrorKind, EmbeddedDrive, PhysicalGeometry, Request, Served,
    Taken, ZoneInfo, ZoneState,
};
pub use kit::Status as CommandStatus;
pub use kit::history::Digest;
pub use kit::{Bytes, Cause, CommandFlags, Completion, HostCommand, Ledger, Nanos, Op, SimTime, ZoneAction};
pub use records::{
    ABI_VERSION, ByteBuffer, ChunkRecord, CommandRecord, CompletionRecord, GeometryRecord, Options, RecoveryRecord, Status,
    ZoneRecord,
};

pub use call::Handle;
