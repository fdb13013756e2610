//! Types and machinery shared by all stages of the simulator.
//!
//! Values: [`units`], [`ids`], [`command`], [`cause`], [`reason`]. Machinery: the [`outbox`] and its parts, the event
//! queue ([`queue`]), the [`slab`], the [`histogram`], named random streams ([`rng`]), tables on huge pages
//! ([`table`]), saved state ([`archive`]), the [`journal`] that tests and the timeline export read, the [`history`] by
//! which runs are compared, and the [`family!`] macro that registers policies. The crate reads no clock, opens no file,
//! starts no thread and prints nothing.

pub mod account;
pub mod archive;
pub mod bisect;
pub mod capped;
pub mod cause;
pub mod clock;
pub mod command;
pub mod divisor;
pub mod editor;
pub mod event;
pub mod family;
pub mod geometry;
pub mod handoff;
pub mod histogram;
pub mod history;
pub mod ids;
pub mod journal;
pub mod lru;
pub mod newlines;
pub mod operation;
pub mod operations;
pub mod outbox;
pub mod outcome;
pub mod pcie;
pub mod permutation;
pub mod power;
pub mod power_state;
pub mod problem;
pub mod protocol;
pub mod queue;
pub mod ready;
pub mod reason;
pub mod rng;
pub mod service;
pub mod signals;
pub mod slab;
pub mod stored;
pub mod sums;
pub mod table;
pub mod term;
pub mod unit;
pub mod units;
pub mod wear;
pub mod words;

pub use account::{Account, AccountId};
pub use archive::{Archive, Archived};
pub use cause::{Cause, Ledger};
pub use clock::{DieClock, DriveClock, DriveWork, Work};
pub use command::{CommandFlags, Completion, HostCommand, HostUnit, Op, ReadSource, Status, ZoneAction};
pub use divisor::Divisor;
pub use event::{Event, Events, IdleDelay, Timer};
pub use geometry::{Geometry, Shape};
pub use handoff::{Handoff, Part, Translated};
pub use histogram::{Bucket, Histogram};
pub use history::History;
pub use ids::{BlockId, ChannelId, ChipId, CommandId, DieId, Lpn, ModeId, NORMAL_MODE, Ppn, TransactionId};
pub use journal::{Journal, Record};
pub use lru::Lru;
pub use operation::{Demand, Encoding, Operation, OperationKind, Owner};
pub use operations::Operations;
pub use outbox::Outbox;
pub use outcome::{Ended, Interrupted, Outcome};
pub use permutation::Permutation;
pub use power_state::{IdleParts, PowerState, StateParts};
pub use problem::{Problem, Problems};
pub use protocol::{Hop, HostMemory, Protocol};
pub use queue::{Class, EventQueue};
pub use ready::ReadyDies;
pub use reason::Reason;
pub use rng::Rng;
pub use service::Service;
pub use signals::Signals;
pub use slab::Slab;
pub use stored::Stored;
pub use sums::{Sums, Tail};
pub use table::Table;
pub use term::Term;
pub use unit::UnitSize;
pub use units::{Bytes, Current, Energy, Frequency, Nanos, Power, Rate, SimTime, TransferRate, Voltage};
pub use wear::{effective_wear_class, wear_class};

/// Bytes of one mapping unit, the grain of the logical-to-physical map, on every drive but those that are written in
/// place: see [`UnitSize`].
pub const UNIT_BYTES: u64 = 4096;
/// Bytes of one logical sector, the grain of host addresses on most drives.
pub const SECTOR_BYTES: u64 = 512;
/// Bytes of the smallest logical block, that of a drive whose mapping unit is as small.
pub const MIN_BLOCK_BYTES: u64 = 256;
