//! Test tools for the engine: a shadow model of the data, random drives, and random commands.
//!
//! [`Oracle`] follows the drive's journal and knows, for every unit and every place, which write's data must be there.
//! [`Rig`] operates a drive through its public interface and checks every step with the oracle. [`case`] makes a random
//! drive and random commands from one seed, runs them, and returns the first violation. [`RandomPolicy`] is a policy
//! that answers at random. [`Auditor`] checks retention limits page by page. [`canary`] falsifies records on their way
//! to the oracle, to prove that its checks can fail. A third of the rigs of page maps compare the bytes of every read,
//! too. [`differences`] compares results value by value.

mod auditor;
pub mod canary;
pub mod case;
pub mod commands;
mod contents;
pub mod describe;
mod difference;
mod oracle;
mod random_policy;
mod rig;
pub mod search;

pub use auditor::Auditor;
pub use commands::{Commands, Mix};
pub use describe::describe;
pub use difference::{Difference, differences};
pub use oracle::{Counts, Oracle, Violation};
pub use random_policy::RandomPolicy;
pub use rig::{MakePolicy, Rig, Tamper, prepare};
