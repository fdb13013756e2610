//! A drive inside another simulator, whose clock drives it: the stable way to use the engine command by command.
//!
//! [`Builder`] reads a description and brings the drive to its starting state, as a run does. [`EmbeddedDrive`] takes
//! commands and returns completions; it checks each call, and counts what the summary of a run needs. The C library
//! (`crates/capi`) is made of these two types, and its Rust side exports them as stable.

mod builder;
mod contents;
mod device;
mod error;
mod physical;

pub use builder::Builder;
pub use device::{Answer, Device, Request, Served};
pub use error::{EmbedError, EmbedErrorKind};
pub use ftl::layer::pass_through::MAX_ADDRESSES;
pub use ftl::layer::pass_through::chunks::ChunkState;
pub use ftl::layer::zns::table::ZoneState;
pub use physical::{ChunkInfo, PhysicalGeometry};

use contents::{Kept, Watch};

use crate::description::Description;
use crate::diagram::{Diagram, diagram};
use crate::drive::{Drive, Identity};
use crate::energy::EnergyReport;
use crate::run_loop::backlog::Backlog;
use crate::session::{Start, worn_out};
use crate::statistics::Utilisation;
use crate::summary::{self, RunFacts, View};
use crate::wall::Clock;
use kit::history::Digest;
use kit::{Bytes, CommandId, Completion, HostCommand, Ledger, Lpn, Op, SimTime, UNIT_BYTES};
use serde_json::Value;
use std::io::Write;

/// The origin of an embedded drive: what its summary and its saved state name.
#[derive(Clone)]
struct Origin {
    drive: String,
    host: String,
    seed: u64,
    open_loop: bool,
    keeps_history: bool,
    description: Description,
    identity: Identity,
    start: Start,
}

/// A zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// First byte.
    pub start: Bytes,
    /// Bytes that can be written, from the start on.
    pub capacity: Bytes,
    /// First byte that is not written.
    pub write_pointer: Bytes,
    /// State.
    pub state: ZoneState,
}

/// The end of a measurement by a shutdown.
struct Shutdown {
    began: SimTime,
    utilisation: Utilisation,
    energy: Option<EnergyReport>,
    took_ns: u64,
}

/// A drive whose commands, and whose time, come from a caller.
///
/// The caller submits commands ([`EmbeddedDrive::submit`]) and lets time pass ([`EmbeddedDrive::advance`]), which stops
/// at the first instant with a completion. Completions wait until they are taken ([`EmbeddedDrive::take`]). A drive is
/// a plain value without shared state: each may be used by another thread.
pub struct EmbeddedDrive {
    drive: Drive,
    /// True if the translation layer is the page map itself, which goes on whatever happens.
    has_map: bool,
    /// Unit of offsets and lengths of commands \[bytes\].
    logical_block: u64,
    origin: Box<Origin>,
    /// Completions that wait to be taken; the first `taken` of them have been.
    done: Vec<Completion>,
    taken: usize,
    /// Latencies of the same completions by cause, if requested.
    causes: Vec<Ledger>,
    /// Completions of the latest step, while earlier ones wait.
    fresh: Vec<Completion>,
    /// Units of the latest hint.
    hints: Vec<Lpn>,
    /// Commands submitted and not completed, those that arrive later included.
    in_flight: u64,
    max_in_flight: u64,
    rejected: u64,
    backlog: Backlog,
    shutdown: Option<Shutdown>,
    clock: Clock,
    /// The drive's contents, if it keeps them.
    kept: Option<Box<Kept>>,
    /// Callback after the drive's steps.
    watch: Option<Watch>,
}

impl EmbeddedDrive {
    fn new(drive: Drive, origin: Origin, kept: Option<Kept>) -> EmbeddedDrive {
        EmbeddedDrive {
            has_map: drive.translator().map().is_some() && !drive.translator().is_executed(),
            drive,
            logical_block: origin.description.host.logical_block.0,
            origin: Box::new(origin),
            done: Vec::with_capacity(64),
            taken: 0,
            causes: Vec::new(),
            fresh: Vec::new(),
            hints: Vec::new(),
            in_flight: 0,
            max_in_flight: 0,
            rejected: 0,
            backlog: Backlog::default(),
            shutdown: None,
            clock: Clock::start(),
            kept: kept.map(Box::new),
            watch: None,
        }
    }

    /// Returns the user capacity in bytes.
    #[inline]
    pub fn user_bytes(&self) -> u64 {
        self.drive.user_bytes()
    }

    /// Returns the unit of offsets and lengths of commands \[bytes\].
    pub fn logical_block(&self) -> u64 {
        self.logical_block
    }

    /// Returns the unit of the map \[bytes\].
    pub fn unit_bytes(&self) -> u64 {
        self.drive.unit().bytes()
    }

    /// Returns the name of the drive's description.
    pub fn name(&self) -> &str {
        &self.origin.drive
    }

    /// Returns the number of zones of the drive; `None` if it has no zones.
    pub fn zone_count(&self) -> Option<usize> {
        self.drive.translator().zones().map(|table| table.zones().len())
    }

    /// Returns a zone; `None` if there is no zone of this number.
    pub fn zone(&self, number: usize) -> Option<ZoneInfo> {
        let table = self.drive.translator().zones()?;
        let (limits, zone) = (table.limits(), table.zones().get(number)?);
        let bytes = |units: u32| u64::from(units) * UNIT_BYTES;
        let start = number as u64 * bytes(limits.size);
        let (capacity, write_pointer) = (Bytes(bytes(limits.capacity)), Bytes(start + bytes(zone.written)));
        Some(ZoneInfo { start: Bytes(start), capacity, write_pointer, state: zone.state })
    }

    /// Returns the number of submission queues; 1 if commands have no queue.
    pub fn queue_count(&self) -> u32 {
        self.drive.queue_count()
    }

    /// Returns the simulated time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.drive.now()
    }

    /// Returns the number of commands submitted and not completed, those that arrive later included.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the instant of the drive's next event: now, if a command was submitted for now. `None`: nothing will
    /// happen until a command is submitted. An event need not be a completion.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        self.drive.next_event()
    }

    /// Submits a command that arrives at instant `at`: now, or later. Commands that arrive at the same instant arrive
    /// in the order of their submission.
    #[inline]
    pub fn submit(&mut self, command: HostCommand, at: SimTime) -> Result<(), EmbedError> {
        if !self.is_valid(&command, at) || self.has_lost_power() {
            return Err(self.refuse(&command, at));
        }
        if self.kept.is_some() {
            return self.submit_kept(command, at).map(drop);
        }
        self.accept(command, at);
        Ok(())
    }

    /// Submits a command that is valid.
    #[inline]
    fn accept(&mut self, command: HostCommand, at: SimTime) -> CommandId {
        let in_flight = self.drive.commands_in_flight();
        if self.origin.open_loop {
            self.backlog.note(at, in_flight);
        }
        self.max_in_flight = self.max_in_flight.max(in_flight + 1);
        self.in_flight += 1;
        self.drive.submit(command, at)
    }

    /// Prefetches the tables that commands will read which the host submits soon, 32 at a time at best. Changes no
    /// result: the commands need not come, and those that are not valid are passed over.
    pub fn hint(&mut self, soon: impl IntoIterator<Item = HostCommand>) {
        self.hints.clear();
        let mut writes = false;
        for command in soon.into_iter().filter(|command| command.op.has_range()) {
            if self.is_in_range(&command) {
                self.hints.push(Lpn(self.drive.unit().whole(command.offset.0) as u32));
                writes |= command.op == Op::Write;
            }
        }
        self.drive.hint(&self.hints, writes);
    }

    #[inline]
    fn is_valid(&self, command: &HostCommand, at: SimTime) -> bool {
        self.is_in_range(command) && self.has_queue(command) && at >= self.drive.now() && at <= SimTime::LAST
    }

    #[inline]
    fn is_in_range(&self, command: &HostCommand) -> bool {
        let (offset, length) = (command.offset.0, command.length.0);
        let ends_in = offset.checked_add(length).is_some_and(|end| end <= self.drive.user_bytes());
        let begins_in = command.op != Op::Zone || offset < self.drive.user_bytes();
        let is_known = command.op <= Op::Flush || self.drive.translator().zones().is_some();
        ends_in
            && begins_in
            && is_known
            && (length > 0) == command.op.has_range()
            && (offset | length).is_multiple_of(self.logical_block)
    }

    #[inline]
    fn has_queue(&self, command: &HostCommand) -> bool {
        command.queue == 0 || u32::from(command.queue) < self.drive.queue_count()
    }

    /// Returns an error if a command that arrives now would not be accepted, for another reason than a lack of space
    /// for its data.
    pub fn would_take(&mut self, command: &HostCommand) -> Result<(), EmbedError> {
        let now = self.drive.now();
        if self.is_valid(command, now) && !self.has_lost_power() { Ok(()) } else { Err(self.refuse(command, now)) }
    }

    /// Returns the reason why a command is not accepted, and counts it if its range is wrong.
    #[cold]
    fn refuse(&mut self, command: &HostCommand, at: SimTime) -> EmbedError {
        let (offset, length, user) = (command.offset.0, command.length.0, self.drive.user_bytes());
        let (name, block) = (command.op.name(), self.logical_block);
        if self.has_lost_power() {
            return EmbeddedDrive::power_is_lost();
        }
        if command.op > Op::Flush && self.drive.translator().zones().is_none() {
            let text = format!("{name}: the drive has no zones: expected a drive with ftl.translation = \"zns\"");
            return EmbedError::new(EmbedErrorKind::Unsupported, text);
        }
        if !self.is_in_range(command) {
            self.rejected += 1;
            let text = match (command.op, length) {
                (Op::Flush | Op::Zone, 1..) => format!("{name}: length {length}: expected 0, it has no range"),
                (Op::Read | Op::Write | Op::Trim | Op::Append, 0) => {
                    format!("{name}: length 0: expected 1 or more sectors of {block} bytes")
                }
                _ if !(offset | length).is_multiple_of(block) => {
                    format!("{name}: offset {offset}, length {length}: expected multiples of {block} bytes")
                }
                _ => format!(
                    "{name}: offset {offset}, length {length}: expected an end of at most {user}, the user bytes of the drive"
                ),
            };
            return EmbedError::new(EmbedErrorKind::Range, text);
        }
        if !self.has_queue(command) {
            let text = format!("{name}: queue {}: expected a number below {}", command.queue, self.drive.queue_count());
            return EmbedError::new(EmbedErrorKind::Queue, text);
        }
        self.bad_time(name, at)
    }

    #[cold]
    fn bad_time(&self, what: &str, at: SimTime) -> EmbedError {
        let (now, last) = (self.drive.now().0, SimTime::LAST.0);
        EmbedError::new(EmbedErrorKind::Time, format!("{what}: instant {} ns: expected {now} (now) to {last}", at.0))
    }

    /// Handles all events up to and including `until`. Returns after the first instant with a completion, or at
    /// `until`, whichever is earlier; [`EmbeddedDrive::now`] says where. Returns the number of completions that wait.
    ///
    /// [`SimTime::FOREVER`] stands for the next completion; without commands in flight nothing happens then.
    #[inline]
    pub fn advance(&mut self, until: SimTime) -> Result<usize, EmbedError> {
        if until < self.drive.now() || (until > SimTime::LAST && until != SimTime::FOREVER) {
            return Err(self.bad_time("advance", until));
        }
        let has_nothing_to_wait_for = until == SimTime::FOREVER && self.in_flight == 0;
        if self.has_lost_power() {
            return Err(EmbeddedDrive::power_is_lost());
        }
        while !has_nothing_to_wait_for && self.step(until) == 0 {
            if self.has_lost_power() || self.is_over(until)? {
                break;
            }
        }
        if self.watch.as_ref().is_some_and(Watch::has_stopped) {
            self.watch = None;
            return Err(EmbedError::new(EmbedErrorKind::Stopped, "the watch has ended with an error: expected that it looks on"));
        }
        self.has_failed().map(|()| self.waiting())
    }

    /// Returns the failure of the translation layer, or of the file of the contents, if there is one.
    #[inline]
    fn has_failed(&self) -> Result<(), EmbedError> {
        if let Some(kept) = &self.kept {
            kept.has_failed()?;
        }
        if self.has_map {
            return Ok(());
        }
        let problem = self.drive.translator().failure();
        problem.map_or(Ok(()), |problem| Err(EmbedError::new(EmbedErrorKind::Failed, problem)))
    }

    /// Advances once, and returns the number of new completions. They follow those that wait.
    #[inline]
    fn step(&mut self, until: SimTime) -> usize {
        let count = if self.watch.is_some() {
            self.step_watched(until)
        } else if self.waiting() == 0 {
            self.taken = 0;
            self.causes.clear();
            if let Some(kept) = &mut self.kept {
                kept.clear();
            }
            self.drive.advance_into(until, &mut self.done);
            self.done.len()
        } else {
            self.drive.advance_into(until, &mut self.fresh);
            self.done.extend_from_slice(&self.fresh);
            self.fresh.len()
        };
        self.in_flight -= count as u64;
        if let Some(kept) = &mut self.kept {
            kept.follow(&mut self.drive);
            kept.completed(&self.done[self.done.len() - count..]);
        }
        if count > 0 && self.has_causes() {
            self.take_causes();
        }
        count
    }

    #[inline(never)]
    fn take_causes(&mut self) {
        if let Some(log) = &mut self.drive.statistics.log {
            self.causes.extend(log.drain(..).map(|row| row.causes));
        }
        assert!(self.causes.len() == self.done.len(), "each completed command is recorded");
    }

    /// Returns true if nothing more happens up to `until`, after a step without a completion.
    fn is_over(&mut self, until: SimTime) -> Result<bool, EmbedError> {
        self.has_failed()?;
        match self.drive.next_event() {
            None if self.in_flight > 0 => {
                assert!(self.drive.stalled(self.in_flight), "the drive has stalled with {} commands in flight", self.in_flight);
                self.has_failed().map(|()| true)
            }
            // Many instants have passed, and there are more: a worn-out drive may only serve its own relocations.
            Some(at) if at <= until => {
                let worn_out = worn_out(&self.drive);
                worn_out.map_or(Ok(false), |text| Err(EmbedError::new(EmbedErrorKind::WornOut, text)))
            }
            _ => Ok(true),
        }
    }

    /// Returns the number of completions that wait to be taken.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.done.len() - self.taken
    }

    /// Returns true if a die can spare no more blocks, although worn-out ones should be retired. The drive goes on
    /// working and uses them; a run of `ssdlab` ends there.
    pub fn is_worn_out(&self) -> bool {
        self.drive.translator().map().is_some_and(|ftl| ftl.worn_out_die().is_some())
    }

    /// Returns true if completions have latencies by cause ([`Builder::causes`]).
    #[inline]
    pub fn has_causes(&self) -> bool {
        self.drive.statistics.log.is_some()
    }

    /// Takes the oldest completions that wait, at most `most`, in the order of their instants.
    #[inline]
    pub fn take(&mut self, most: usize) -> Taken<'_> {
        let from = self.taken;
        self.taken += most.min(self.waiting());
        let causes = if self.has_causes() { &self.causes[from..self.taken] } else { &[] };
        Taken { completions: &self.done[from..self.taken], causes, kept: self.kept.as_deref(), from }
    }

    /// Completes all commands in flight. Their completions wait to be taken.
    pub fn drain(&mut self) -> Result<usize, EmbedError> {
        while self.in_flight > 0 {
            self.advance(SimTime::FOREVER)?;
            if self.has_lost_power() {
                return Err(EmbeddedDrive::power_is_lost());
            }
        }
        Ok(self.waiting())
    }

    /// Brings a drive without commands in flight to rest, as for saving, and lets it continue. Operations in flight are
    /// finished; data in the write buffer stays there.
    pub fn rest(&mut self) -> Result<(), EmbedError> {
        self.needs_nothing_in_flight("rest")?;
        self.drive.rest();
        self.drive.go_on();
        self.follow();
        Ok(())
    }

    /// Shuts a drive without commands in flight down gracefully: programs its write buffer, and lets the policy move
    /// the pages that it must. The measurement ends where the shutdown begins; the drive can be used on.
    pub fn shut_down(&mut self) -> Result<(), EmbedError> {
        self.needs_nothing_in_flight("shut_down")?;
        if self.has_lost_power() {
            return Err(EmbeddedDrive::power_is_lost());
        }
        let began = self.drive.now();
        let (utilisation, energy) = (self.utilisation(), self.drive.energy());
        self.drive.shut_down(&mut |_| true);
        self.shutdown = Some(Shutdown { began, utilisation, energy, took_ns: self.drive.now().since(began).0 });
        self.drive.go_on();
        self.follow();
        Ok(())
    }

    /// Saves a drive without commands in flight, which is brought to rest for that and continues afterwards. The
    /// contents of a drive that keeps them follow it in the file; its write buffer is flushed first.
    pub fn save(&mut self, to: &mut dyn Write) -> Result<(), EmbedError> {
        self.can_be_saved()?;
        if self.kept.is_some() {
            self.settle()?;
        } else {
            self.drive.rest();
        }
        let mut saved = self.drive.save(&self.origin.identity, to);
        if let (Ok(()), Some(kept)) = (&saved, &self.kept) {
            saved = kept.save(to);
        }
        self.drive.go_on();
        self.follow();
        saved.map_err(|error| EmbedError::new(EmbedErrorKind::Write, format!("save: {error}")))
    }

    /// Returns the reason why the drive cannot be saved now, if there is one.
    pub fn can_be_saved(&self) -> Result<(), EmbedError> {
        self.needs_nothing_in_flight("save")
    }

    /// Follows the journal after something else than an advance.
    fn follow(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.follow(&mut self.drive);
        }
    }

    fn needs_nothing_in_flight(&self, call: &str) -> Result<(), EmbedError> {
        if self.in_flight == 0 {
            return Ok(());
        }
        let text = format!("{call}: {} commands are in flight: expected none (drain completes them)", self.in_flight);
        Err(EmbedError::new(EmbedErrorKind::InFlight, text))
    }

    /// Discards all measurements so far, and begins a new measurement and a new history. Commands in flight count when
    /// they complete, with their whole latency.
    pub fn restart_measurement(&mut self) {
        self.drive.restart_measurement();
        (self.max_in_flight, self.rejected) = (0, 0);
        (self.backlog, self.shutdown, self.clock) = (Backlog::default(), None, Clock::start());
        if self.origin.keeps_history {
            self.drive.history().enable(false);
        }
    }

    fn utilisation(&self) -> Utilisation {
        self.drive.statistics.utilisation(self.drive.now(), self.drive.controller(), self.drive.flash())
    }

    /// Returns the summary of the measurement up to now, the document `summary.json` of a run. Its status is `partial`
    /// while commands are in flight. `wall_s` is the wall time since the measurement began, that of the host included.
    pub fn summary(&self) -> Value {
        let (origin, shutdown) = (&*self.origin, self.shutdown.as_ref());
        let facts = RunFacts {
            drive_name: &origin.drive,
            workload_name: &origin.host,
            policy_name: &origin.description.policy.kind,
            seed: origin.seed,
            complete: self.in_flight == 0,
            wall_s: self.clock.seconds(),
            rejected: self.rejected,
            saturated: origin.open_loop && self.backlog.grows(),
            max_in_flight: self.max_in_flight,
            steady: None,
            starting_state: origin.start.facts.clone(),
            workload_end: shutdown.map_or(self.drive.now(), |shutdown| shutdown.began),
            utilisation: shutdown.map_or_else(|| self.utilisation(), |shutdown| shutdown.utilisation.clone()),
            energy: shutdown.map_or_else(|| self.drive.energy(), |shutdown| shutdown.energy.clone()),
            shutdown_ns: shutdown.map(|shutdown| shutdown.took_ns),
            power_failure: None,
        };
        summary::summary(&facts, &origin.description, &self.drive)
    }

    /// Returns a sample of the measurement: totals of which an observer takes differences, at a small part of the cost
    /// of a summary. `wear`: with the map of the wear.
    pub fn sample(&self, wear: bool) -> Value {
        View::new(&self.drive, &self.origin.description).sample(wear)
    }

    /// Returns the diagram of the drive, as `ssdlab show --diagram` draws it.
    pub fn diagram(&self) -> Diagram {
        diagram(&self.origin.drive, &self.origin.description)
    }

    /// Returns the digest of the physical history since the measurement began; `None` unless it was requested. Equal
    /// digests mean equal behaviour: every completion and every operation of the flash at the same instant.
    pub fn history(&mut self) -> Option<Digest> {
        // The copy is closed, so that more entries of this instant may follow in the original.
        self.origin.keeps_history.then(|| self.drive.history().clone().close())
    }

    /// Returns notes for the user, one line each: why a loaded drive does not continue exactly, or that the drive is
    /// worn out.
    pub fn notes(&self) -> Vec<String> {
        self.origin.start.notes.iter().cloned().chain(worn_out(&self.drive)).collect()
    }

    /// Returns the description with every field resolved, as TOML.
    pub fn description(&self) -> String {
        self.origin.description.to_toml()
    }
}

/// Completions taken from a drive.
#[derive(Clone, Copy)]
pub struct Taken<'a> {
    /// The completions.
    pub completions: &'a [Completion],
    /// Their latencies by cause, in the order of [`kit::Cause::ALL`]; empty unless requested ([`Builder::causes`]).
    pub causes: &'a [Ledger],
    kept: Option<&'a Kept>,
    /// Index of the first of them among the completions that wait.
    from: usize,
}

impl<'a> Taken<'a> {
    /// Returns the data of a completion by its index: that of a read that succeeded on a drive with contents
    /// ([`Builder::contents`]); otherwise none.
    pub fn data(&self, index: usize) -> &'a [u8] {
        assert!(index < self.completions.len(), "{index} of {} completions", self.completions.len());
        self.kept.map_or(&[], |kept| kept.data(self.from + index))
    }
}
