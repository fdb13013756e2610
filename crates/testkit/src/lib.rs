//! What the engine is checked against: a shadow model of the data beside the drive, random drives, and random commands.
//!
//! [`Oracle`] reads the drive's journal and knows, for every unit and every place, which write's data must be there. [`Rig`] drives a drive through its one
//! door with the oracle beside it. [`case`] makes a random drive and random commands of one seed, runs them, and says what went wrong.
//! [`RandomPolicy`] is a policy that answers at random. [`Auditor`] watches retention limits, page by page. [`canary`] changes records on their way to the oracle, to
//! prove that its checks can fail. [`differences`] compares results value by value.

mod auditor;
pub mod canary;
pub mod case;
mod commands;
mod describe;
mod difference;
mod oracle;
mod random_policy;
mod rig;

pub use auditor::Auditor;
pub use commands::{Commands, Mix};
pub use describe::describe;
pub use difference::{Difference, differences};
pub use oracle::{Counts, Oracle, Violation};
pub use random_policy::RandomPolicy;
pub use rig::{Guest, Rig, Tamper};
