//! Firmware traces: the flash operations of a translation layer with their processing times, as a text
//! (docs/reference/firmware_trace.md).

mod parse;

use crate::policy::Facts;
use kit::{DieId, Frequency, Geometry, Lpn, ModeId, Nanos, Operation, OperationKind, Ppn, Reason};
use serde::{Deserialize, Serialize};

pub use parse::parse;

/// First line of a trace: the name of the format, and its version.
pub const FIRST_LINE: &str = "ssdlab firmware trace 1";
/// First line of a trace with the cycles of each decision.
pub const FIRST_LINE_WITH_CYCLES: &str = "ssdlab firmware trace 2";
/// Most cores of a trace with cycles.
pub(crate) const MAX_CORES: u32 = 1024;

/// Processor whose cycles a trace has: its second line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Number of cores.
    pub cores: u32,
    /// Clock of the cores.
    pub clock: Frequency,
}

/// Part of a processor in a decision: the time of a core since its last one, without that in which it waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processed {
    pub core: u32,
    pub time: Nanos,
}

/// Question of a command to a processor, and the time until its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub wait: Nanos,
    pub processed: Processed,
}

/// Place of a read of a unit that was never written.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Facts of a drive that a trace of its firmware has in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Lines `geometry NAME NUMBER`.
    pub geometry: Vec<(&'static str, u64)>,
    /// Names of the write, read and erase modes.
    pub modes: [(&'static str, Vec<String>); 3],
}

impl Header {
    /// Returns the header of a drive.
    pub fn of(geometry: &Geometry, facts: &Facts, user_units: u64) -> Header {
        let shape = &geometry.shape;
        Header {
            geometry: vec![
                ("channels", u64::from(shape.channels)),
                ("dies", u64::from(geometry.die_count)),
                ("planes_per_program", u64::from(shape.planes_per_program)),
                ("units_per_page", u64::from(geometry.units_per_page)),
                ("units_per_program", u64::from(geometry.units_per_program)),
                ("units_per_block", u64::from(geometry.units_per_block)),
                ("blocks", u64::from(geometry.block_count)),
                ("user_units", user_units),
            ],
            modes: [
                ("write_mode", facts.write_modes.clone()),
                ("read_mode", facts.read_modes.clone()),
                ("erase_mode", facts.erase_modes.clone()),
            ],
        }
    }

    /// Returns the lines of the header, with the first line of a trace, and the line of the processor whose cycles it
    /// has, if it has any.
    pub fn text(&self, processor: Option<Processor>) -> String {
        let first = match processor {
            Some(Processor { cores, clock }) => format!("{FIRST_LINE_WITH_CYCLES}\nprocessor {cores} {}\n", clock.0),
            None => format!("{FIRST_LINE}\n"),
        };
        first + &self.facts()
    }

    /// Returns the lines of the header that a drive determines.
    fn facts(&self) -> String {
        let geometry = self.geometry.iter().map(|(name, number)| format!("geometry {name} {number}\n"));
        let modes = self
            .modes
            .iter()
            .flat_map(|(kind, names)| names.iter().enumerate().map(move |(number, name)| format!("{kind} {number} {name}\n")));
        geometry.chain(modes).collect()
    }
}

/// A unit of a host write: the number of the command, and the index of the unit within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct UnitName {
    pub command: u32,
    pub index: u32,
}

/// Kind of a host command, and what the trace answers it with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Flash reads, the units answered at once, and how many units are in the write buffer, in flight and unmapped.
    Read { reads: Vec<Sense>, at_once: u32, buffered: u32, in_flight: u32, unmapped: u32 },
    /// State of the units is kept from this index of the trace's list of written units on.
    Write { units: usize },
    /// Dies that are asked for their next operation.
    Trim { wakes: Vec<u32> },
}

/// A host command of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Command {
    pub first: Lpn,
    pub count: u32,
    pub answer: Answer,
    /// Its question to the processor, if it asks one and the trace has cycles.
    pub asked: Option<Asked>,
    /// Line in the file.
    pub line: u32,
}

impl Command {
    /// Returns the command in words.
    pub fn in_words(&self) -> String {
        in_words(self.answer.name(), self.first, self.count)
    }
}

impl Answer {
    pub fn is_trim(&self) -> bool {
        matches!(self, Answer::Trim { .. })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Answer::Read { .. } => "read",
            Answer::Write { .. } => "write",
            Answer::Trim { .. } => "trim",
        }
    }
}

/// Returns a host command in words.
pub(crate) fn in_words(kind: &str, first: Lpn, count: u32) -> String {
    format!("a {kind} of {count} units from unit {}", first.0)
}

/// A flash read, and the logical unit of its first place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sense {
    pub operation: Operation,
    pub lpn: u32,
}

/// Fate of a unit of a host write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not programmed within the trace.
    #[default]
    Waits,
    /// An operation of this die takes it.
    TakenBy(u32),
    /// It replaces a unit that waits in the write buffer.
    Absorbed(UnitName),
}

/// A unit of a host write that an operation takes, and the block that holds the copy which it supersedes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub unit: UnitName,
    pub supersedes: Option<u32>,
}

/// Action of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A flash operation; a program carries this number of relocated units.
    Operation { operation: Operation, lpn: u32, moved: u32 },
    /// Gathered units are encoded. The die is free meanwhile.
    Encode { mode: ModeId, units: u32 },
    /// Units that were trimmed while they waited leave the write buffer.
    Drop,
    /// The writes that wait for the die are handed over to this one.
    HandOver(DieId),
}

/// An entry of a die.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub action: Action,
    /// Processing time.
    pub wait: Nanos,
    /// Units of host data.
    pub units: Vec<Taken>,
    /// Part of the processor, if the trace has cycles.
    pub processed: Option<Processed>,
    /// Changes of the die's space for host data before the next entry.
    pub room: Vec<(RoomAt, bool)>,
    /// Changes of the die's urgency before the next entry: at the end of the operation, or a time after its start.
    pub urgency: Vec<(Option<Nanos>, bool)>,
    pub line: u32,
}

/// Instant of a change of a die's space for host data: a time after the start or the end of the entry's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomAt {
    Begun(Nanos),
    Done(Nanos),
}

/// A firmware trace, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Name of the file.
    pub(crate) name: String,
    /// Processor whose cycles it has; `None` if it has none.
    pub(crate) processor: Option<Processor>,
    /// Numbers of the commands that ask the processor, in the order of their questions.
    pub(crate) questions: Vec<u32>,
    pub(crate) commands: Vec<Command>,
    /// Fates of the units of all writes, in order.
    pub(crate) fates: Vec<Fate>,
    /// Reads that supply the part of a unit that the host did not write.
    pub(crate) fills: std::collections::BTreeMap<UnitName, Sense>,
    /// Entries of each die, in order.
    pub(crate) dies: Vec<Vec<Entry>>,
    /// True for each die that has space for host data at the start.
    pub(crate) has_room: Vec<bool>,
    /// Changes of each die's urgency before its first entry.
    pub(crate) urgency: Vec<Vec<(Option<Nanos>, bool)>>,
}

impl Trace {
    /// Returns the index of a unit of a host write in the lists of written units; `None` if there is no such unit.
    pub(crate) fn unit(&self, name: UnitName) -> Option<usize> {
        let command = self.commands.get(name.command as usize)?;
        match command.answer {
            Answer::Write { units } if name.index < command.count => Some(units + name.index as usize),
            _ => None,
        }
    }
}

/// Returns true for an action that waits for the reads of the die's collection, and not for host data.
pub(crate) fn follows_reads(action: &Action) -> bool {
    match action {
        Action::Operation { operation, .. } => match operation.kind {
            OperationKind::LazyErase => false,
            OperationKind::Program => operation.reason != Reason::Host,
            OperationKind::Read | OperationKind::Erase | OperationKind::Copyback => true,
        },
        Action::Encode { .. } => true,
        Action::Drop | Action::HandOver(_) => false,
    }
}

/// Returns the first place of a block of a geometry.
pub(crate) fn place(geometry: &Geometry, block: u32, unit: u32) -> Ppn {
    Ppn(geometry.first_of(kit::BlockId(block)).0 + unit)
}
