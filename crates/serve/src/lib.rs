//! A drive with contents as a network block device (NBD), for programs that know nothing of the simulator.
//!
//! [`connection`] is the protocol of one client as a state machine without sockets, [`engine`] turns its requests into
//! commands of a drive, and [`server`] carries bytes between sockets and both. Simulated time comes from [`clock`].
//!
//! The protocol is that of the NetworkBlockDevice project, `doc/proto.md`: fixed newstyle negotiation, structured
//! replies, the metadata context `base:allocation`.

pub mod clock;
pub mod connection;
pub mod control;
pub mod engine;
mod places;
mod record;
pub mod server;
pub mod wire;

pub use clock::Clock;
pub use connection::{Connection, Export};
pub use engine::Engine;
pub use server::{Ended, Options, serve};
