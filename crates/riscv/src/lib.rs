//! A 32-bit RISC-V core with cycle counts: RV32IMC and the counters of Zicsr, machine mode only, little-endian.
//!
//! An [`Image`] is an executable, a [`Memory`] the RAM that cores share, with the decoded text of one image, and a
//! [`Core`] executes it. The crate is embedded in a discrete-event simulator: [`Core::run`] goes on until the core
//! touches a device register, waits, faults or reaches a given cycle. The embedder answers at the simulated time of
//! that [`Stop`], and runs the core again.
//!
//! Time is counted in cycles of the core's clock: each executed instruction takes the cycles of its class in the
//! [`CycleTable`], and nothing else takes time but the memory behind the region `shared` ([`SharedMemory`], with an
//! optional [`CacheParams`]). Instruction fetches take no time of their own; there is no model of a pipeline but
//! the load-use penalty and the penalty of taken branches.
//!
//! There are no traps: an instruction that would trap stops the run with its [`Fault`]. Instructions of extensions
//! other than M, C and Zicsr are illegal, those of A and Zifencei included.

mod cache;
mod compressed;
mod cycles;
mod decode;
mod execute;
mod hart;
mod image;
mod memory;
mod profile;
mod stop;

pub use cache::{CacheParams, CacheUsage, SharedMemory, WritePolicy};
pub use cycles::CycleTable;
pub use decode::Class;
pub use hart::{Core, NothingPending};
pub use image::{Function, Image, Segment};
pub use memory::{AddressRange, Layout, Memory};
pub use profile::{FunctionCycles, Profile};
pub use stop::{Access, Cause, Fault, Stop, Width};

#[cfg(test)]
mod tests;
