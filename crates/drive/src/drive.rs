//! The drive: its stages, its door (`submit`, `next_event`, `advance`), and access for reports.

mod commands;
mod correction;
mod faults;
mod hang;
mod power;
mod power_loss;
mod rest;
mod restore;
mod router;
pub(crate) mod save;
mod sequence;
mod states;

use crate::description::Description;
use crate::energy::{EnergyReport, encoded_units};
use crate::statistics::{LogOrigin, Statistics};
use controller::power_states::PowerStates;
use controller::route::Route;
use controller::{Controller, ControllerConfig};
use flash::Flash;
use flash::slow::SlowOperations;
use ftl::layer::pass_through::{MAX_ADDRESSES, VECTORS};
use ftl::{Ftl, Mapping, Medium, Translator};
use host::{Host, QueueConfig};
use kit::{
    Bytes, CommandId, Completion, Event, HostCommand, Lpn, Nanos, Outbox, Part, PowerState, Ppn, SimTime, Slab, Timer,
    UNIT_BYTES, UnitSize,
};

pub use hang::HangCounts;
pub use power::PowerFailure;
pub use power_loss::PowerLoss;
pub use save::{Identity, Resumed};

/// Number of instants without a completion after which [`Drive::advance_into`] returns.
const QUIET_INSTANTS: u32 = 100_000;
/// Time without an event after which a drive whose flash has failed is examined: it may have no room for what waits.
const LONG_WAIT: Nanos = Nanos::SECOND;
/// Reason for which a drive has a page map.
const NO_MAP: &str = "the description of a drive without a map refuses what needs one";

/// A drive. It is a plain value: two drives in one process share no state.
pub struct Drive {
    now: SimTime,
    out: Outbox,
    host: Host,
    ftl: Translator,
    controller: Controller,
    flash: Flash,
    /// Size of a mapping unit.
    unit: UnitSize,
    user_bytes: u64,
    /// End of the addresses of commands: the user capacity, and behind it those that stand for lists of addresses.
    addresses_end: u64,
    /// True if the device fetches each command at the instant of its submission.
    fetches_at_once: bool,
    /// True if reads load more than the map: the condition of the data, or the unit at a place.
    hints_reads: bool,
    /// True if completions take steps on their way to the application.
    posts_completions: bool,
    /// True if commands are checked before they are served: the drive has zones, or physical addresses.
    checks_commands: bool,
    /// True if commands look up pages of the map, of which only a part is in memory.
    looks_up_pages: bool,
    /// True if a read moves only the 4 KiB of a mapping unit that the host asks for: units are larger, and no read
    /// cache keeps whole ones.
    reads_in_part: bool,
    /// True if the data of a read crosses the link as one, once all of it has arrived.
    reassembles: bool,
    /// Power states; `None` if the drive enters none by itself.
    power_states: Option<Box<PowerStates>>,
    /// Faults; `None` if nothing fails.
    faults: Option<Box<faults::DriveFaults>>,
    /// True if the end of each operation is judged: one may fail, or deliver data that is lost.
    judges: bool,
    /// Reads that have failed and whose data is being restored.
    restorations: Slab<restore::Restoration>,
    /// Hangs of the controller; `None` if no script has any.
    hangs: Option<Box<hang::Hangs>>,
    /// True while no command is completed: the controller hangs or is reset, or capacitors hold the drive up.
    withholds: bool,
    /// True while capacitors hold the drive up: it serves and completes no command any more.
    is_held_up: bool,
    /// True if the drive has become read-only.
    is_read_only: bool,
    /// False while the drive is brought to rest: free dies pull nothing from the FTL.
    pulling: bool,
    /// True while an instant is handled step by step, and not over.
    in_instant: bool,
    /// True if the drive loses power after some steps, or its flash has failed.
    is_watched: bool,
    /// Number of steps after which the drive loses power; `None` if it does not, or at a time.
    steps_left: Option<u64>,
    recording: bool,
    spare_parts: Vec<Part>,
    /// Measurements so far.
    pub statistics: Statistics,
}

impl Drive {
    /// Creates the drive of a validated description, empty and at rest.
    pub fn new(description: &Description, seed: u64) -> std::io::Result<Drive> {
        Ok(Drive::with_ftl(description, description.build_ftl(seed)?, seed))
    }

    /// Creates a drive like [`Drive::new`], but with a given translation layer, which was built for the same
    /// description ([`Description::build_ftl_with`]).
    pub fn with_ftl(description: &Description, ftl: Translator, seed: u64) -> Drive {
        let controller = description.controller(&description.geometry(), seed);
        Drive::with_stages(description, ftl, &controller, seed)
    }

    /// Creates a drive like [`Drive::with_ftl`], but with a given description of the controller, which was derived from
    /// that of the drive ([`Description::controller`]).
    pub fn with_stages(description: &Description, ftl: Translator, controller: &ControllerConfig, seed: u64) -> Drive {
        let geometry = description.geometry();
        let mut out = Outbox::new(geometry.die_count as usize, geometry.shape.channels as usize);
        let protocol = controller.protocol.clone();
        let controller = Controller::new(controller);
        let looks_up_pages = description.ftl.map_cache.is_some() || ftl.takes_time();
        let states: &[PowerState] = description.power.as_ref().map_or(&[], |power| &power.state);
        let power_states = PowerStates::of(states).map(Box::new);
        let needs_queues =
            controller.takes_time_for_commands() || controller.has_targets() || looks_up_pages || power_states.is_some();
        let queues = description.host.queues().or_else(|| needs_queues.then(QueueConfig::default));
        let (unit, logical_block) = (geometry.unit, description.host.logical_block);
        let mut host = Host::new(queues.as_ref(), protocol, &description.buffer, unit, logical_block);
        if ftl.zones().is_some() || description.power_loss.is_some_and(|capacitors| capacitors.trusted) {
            host.protect_buffer();
        }
        out.signals.buffer_capacity_pages = host.buffer().capacity();
        let flash = Drive::flash_of(description, &controller, seed);
        let user_units = description.ftl.user_units(&geometry);
        let mut drive = Drive {
            now: SimTime::ZERO,
            out,
            hints_reads: controller.corrects_reads() || controller.chooses_by_unit(),
            fetches_at_once: host.fetches_at_once()
                && !controller.takes_time(Route::Submit)
                && !controller.has_targets()
                && power_states.is_none(),
            host,
            posts_completions: controller.takes_time_for_completions(),
            checks_commands: ftl.checks_commands(),
            looks_up_pages,
            reads_in_part: geometry.unit.bytes() > UNIT_BYTES && description.buffer.read_cache.is_none(),
            reassembles: description.ftl.translation.build(()).reassembles(),
            controller,
            flash,
            unit: geometry.unit,
            user_bytes: geometry.unit.offset(user_units),
            addresses_end: geometry.unit.offset(user_units + if ftl.chunks().is_some() { VECTORS } else { 0 }),
            ftl,
            power_states,
            faults: faults::DriveFaults::of(description, seed),
            judges: false,
            restorations: Slab::default(),
            hangs: None,
            withholds: false,
            is_held_up: false,
            is_read_only: false,
            pulling: true,
            in_instant: false,
            is_watched: false,
            steps_left: None,
            recording: true,
            spare_parts: Vec::with_capacity(64),
            statistics: Statistics::default(),
        };
        drive.note_health();
        drive
    }

    /// Returns the flash of a description, at rest.
    fn flash_of(description: &Description, controller: &Controller, seed: u64) -> Flash {
        let geometry = description.geometry();
        let mut flash = Flash::new(&description.flash, &description.attempts(), &geometry, seed);
        if description.ecc.source().is_some() {
            flash.set_retries(description.ecc.retries_hold, description.ecc.retry_place);
        }
        if controller.shares_decoders() {
            flash.announce_transfers();
        }
        if let Some(buffers) = &description.controller.page_buffers {
            flash.use_page_buffers(buffers.count);
        }
        if let Some(power) = &description.power {
            flash.measure_power(power);
        }
        if let Some(faults) = &description.faults {
            flash.slow_down(SlowOperations::new(faults, &geometry, seed));
        }
        flash
    }

    /// Returns the drive with a record of its firmware ([`Drive::take_firmware`]), which begins when it adopts its
    /// starting state. The drive is new, and the description permits the record ([`Description::firmware_problem`]).
    pub fn recording_firmware(self) -> Drive {
        Drive { ftl: self.ftl.recorded(), ..self }
    }

    /// Returns the lines of the firmware trace that have been recorded and not been taken; with `is_last` also the last
    /// line.
    pub fn take_firmware(&mut self, is_last: bool) -> String {
        self.ftl.recordable().map_or_else(String::new, |layer| layer.take_lines(is_last))
    }

    /// Handles an empty event queue while `commands` commands are in flight. Returns true if the translation layer
    /// fails for that reason, or so much of the flash has failed that the drive has no room left for what it has
    /// accepted: it is read-only then. False for a defect.
    pub fn stalled(&mut self, commands: u64) -> bool {
        if self.has_failures() {
            self.ftl.page_map_mut().into_iter().for_each(ftl::Ftl::become_read_only);
            self.note_health();
        }
        self.is_read_only || self.ftl.stalled(commands)
    }

    /// Returns the user's mapping unit whose data the map has at a place; `None` if it has none there.
    ///
    /// # Panics
    /// If the drive has no map of its data.
    pub fn current_unit(&self, place: Ppn) -> Option<Lpn> {
        let unit = Lpn(self.ftl.unit_at(place));
        let is_of_user = self.unit.offset(u64::from(unit.0)) < self.user_bytes;
        Some(unit).filter(|&unit| is_of_user && self.map().place_of(unit) == Some(place))
    }

    /// Returns the size of a mapping unit.
    #[inline]
    pub fn unit(&self) -> UnitSize {
        self.unit
    }

    /// Keeps the addresses of a vectored command, of mapping units of the flash. Returns the offset of the command that
    /// stands for them; `None` if the drive has no such commands, or too many are in flight.
    pub fn vector(&mut self, addresses: &[Bytes]) -> Option<Bytes> {
        let unit = self.unit;
        let mut units = [0; MAX_ADDRESSES];
        for (unit_at, address) in units.iter_mut().zip(addresses) {
            *unit_at = unit.whole(address.0) as u32;
        }
        self.ftl.physical()?.vector(&units[..addresses.len()]).map(|first| unit.data(first.0))
    }

    /// Returns the user capacity in bytes.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// Returns the number of submission queues; 1 if commands have no queue.
    pub fn queue_count(&self) -> u32 {
        self.host.queue_count()
    }

    /// Returns true if the write buffer acknowledges writes.
    pub fn acknowledges_in_buffer(&self) -> bool {
        self.host.buffer().acknowledges()
    }

    /// Returns the simulated time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Returns the translation layer, for reports.
    pub fn translator(&self) -> &Translator {
        &self.ftl
    }

    /// Returns the medium: blocks, wear, and the condition of data.
    pub fn medium(&self) -> &Medium {
        self.ftl.medium()
    }

    /// Returns the translation layer as one that keeps a map, for reports.
    ///
    /// # Panics
    /// If it keeps none: the description of such a drive refuses what needs a map ([`Description::lacks_map`]).
    pub fn map(&self) -> &dyn Mapping {
        self.ftl.map().expect(NO_MAP)
    }

    /// Returns the controller, for reports.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Returns the flash, for reports.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Returns the page map of a drive at rest for modification, to bring it to a starting state.
    ///
    /// # Panics
    /// If the drive is not at rest, or has another translation layer.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        assert!(self.nothing_is_under_way(), "the state of a drive is changed from outside only while it is at rest");
        self.ftl.page_map_mut().expect(NO_MAP)
    }

    /// Returns true if no flash operation waits or runs, no command or data is on its way through the controller, and
    /// all page buffers are free.
    fn nothing_is_under_way(&self) -> bool {
        self.out.operations.in_use() == 0
            && self.controller.is_at_rest()
            && self.flash.page_buffers_rest()
            && self.flash.cache_registers_rest()
    }

    /// Returns the journal: records of internal events, if enabled. The observer that enabled it drains it.
    pub fn journal(&mut self) -> &mut kit::Journal {
        &mut self.out.journal
    }

    /// Returns the physical history, if enabled: for comparing runs.
    pub fn history(&mut self) -> &mut kit::History {
        &mut self.out.history
    }

    /// Lets the policy learn the state of the drive, once the drive has its starting state, and starts the measurement.
    pub fn adopt(&mut self) {
        self.ftl.begin(self.now, &mut self.out);
        self.begin_power_states();
        self.restart_measurement();
    }

    /// Gives the policy the future accesses of the workload that begins now.
    pub fn set_future(&mut self, future: &std::sync::Arc<ftl::policy::future::Future>) {
        self.ftl.page_map_mut().expect(NO_MAP).set_future(future, self.now);
    }

    /// Sets whether commands submitted from now on are counted in the statistics. Switching recording on restarts the
    /// measurement.
    pub fn record(&mut self, recording: bool) {
        if recording && !self.recording {
            self.restart_measurement();
        }
        self.recording = recording;
    }

    /// Discards all measurements so far, except the log of commands, and begins a new measurement.
    pub fn restart_measurement(&mut self) {
        self.flash.restart_power(self.now);
        self.restart_power_states();
        self.statistics.restart(self.now, &self.controller, &self.flash, &self.ftl);
    }

    /// Returns energy and power of the measurement up to now, and the work from which the energy of the other parts
    /// follows; `None` if the description has no currents.
    pub fn energy(&self) -> Option<EnergyReport> {
        let flash = self.flash.power(self.now)?;
        let (counters, ftl) = self.statistics.since_start(&self.flash, &self.ftl);
        Some(EnergyReport {
            flash,
            usage: self.statistics.usage(self.now, &self.controller),
            encoded_units: encoded_units(&counters, &ftl),
            states: self.power_state_report(),
        })
    }

    /// Returns the number of pending events: ends of operations in progress, arrivals, and timers.
    pub fn pending_events(&self) -> usize {
        self.out.events.len()
    }

    /// Returns the number of commands submitted and not completed.
    pub fn commands_in_flight(&self) -> u64 {
        self.out.signals.commands_in_flight
    }

    /// Returns true if commands wait because the device's queue or its write buffer is full.
    pub fn is_full(&self) -> bool {
        self.host.is_full()
    }

    /// Prefetches the tables that commands on these units will read. Does not affect the simulation.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.ftl.hint(units, writes);
        if !writes && self.hints_reads {
            self.hint_reads(units);
        }
    }

    #[inline(never)]
    fn hint_reads(&mut self, units: &[Lpn]) {
        let Some(ftl) = self.ftl.page_map_mut() else { return };
        let mut loaded = ftl
            .blocks_of(units)
            .fold(0, |loaded, block| loaded ^ ftl.look_ahead_stored(block) ^ self.controller.look_ahead(block));
        if self.controller.chooses_by_unit() {
            loaded ^= ftl.look_ahead_units(units);
        }
        ftl.prefetched(loaded);
    }

    /// Submits a command that arrives at instant `at`, which must not be in the past. A command that arrives now is
    /// handled before any later event. Returns the id by which the journal's records identify the command until it
    /// completes.
    ///
    /// # Panics
    /// If the range is not in the drive, or empty where the command needs one.
    #[inline(always)]
    pub fn submit(&mut self, command: HostCommand, at: SimTime) -> CommandId {
        assert!(at >= self.now, "a command cannot arrive in the past");
        let in_range = command.offset.0 + command.length.0 <= self.addresses_end && command.length.0 > 0;
        assert!(in_range || !command.op.has_range(), "{command:?} is not in a drive of {} bytes", self.user_bytes);
        let is_recorded = self.recording && !command.flags.is_unmeasured();
        self.host.submit(command, at, is_recorded, self.now, &mut self.out.events)
    }

    /// Submits a command that belongs to a request of a workload, which the log of commands names.
    #[inline]
    pub(crate) fn submit_of(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime) -> CommandId {
        let id = self.submit(command, at);
        if self.statistics.log.is_some() {
            self.statistics.note_origin(id, origin);
        }
        id
    }

    /// Returns the instant of the next event: now, if a command was submitted for now or a die is ready.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        if self.host.has_arrivals() || !self.out.ready.is_empty() {
            return Some(self.now);
        }
        self.out.events.next_time()
    }

    /// Handles all events up to and including `until`, one whole instant after another. Returns after the first instant
    /// that produced a completion, or at `until`.
    pub fn advance(&mut self, until: SimTime) -> &[Completion] {
        self.run_until(until, u32::MAX);
        self.host.completions()
    }

    /// Advances like [`Drive::advance`], but swaps the completions into `done`, whose previous content is discarded.
    /// After many instants without a completion it returns early, with none, so that the caller can end the run: a
    /// worn-out drive may have too few free blocks to serve anything but its own relocations.
    pub fn advance_into(&mut self, until: SimTime, done: &mut Vec<Completion>) {
        self.run_until(until, QUIET_INSTANTS);
        self.host.swap_completions(done);
    }

    /// Handles the next step of the next instant: an event, or the arrivals and the choices of idle dies. Returns true
    /// if the instant is not over. What [`Drive::advance`] does in one call, these calls do in the same order.
    pub fn step(&mut self) -> bool {
        let next = self.next_event();
        if self.in_instant && next != Some(self.now) {
            self.in_instant = false;
            return false;
        }
        if !self.in_instant {
            self.host.clear_completions();
        }
        self.in_instant = next.is_some_and(|at| self.handle_step(at));
        self.in_instant
    }

    /// Has the drive lose power after this number of steps ([`Drive::step`]): it then stops within the instant.
    pub(crate) fn lose_power_after(&mut self, steps: u64) {
        (self.steps_left, self.is_watched) = (Some(steps), true);
    }

    /// Returns true if the steps are over after which the drive loses power.
    pub(crate) fn is_to_lose_power(&self) -> bool {
        self.steps_left == Some(0)
    }

    /// Handles an instant of a drive that may lose power, or whose flash has failed. Returns true if the drive loses
    /// power within it, or nothing will complete any more.
    #[inline(never)]
    fn handle_watched(&mut self, at: SimTime) -> bool {
        if at.since(self.now) > LONG_WAIT && self.is_stuck() {
            while self.out.events.pop().is_some() {}
            return true;
        }
        if self.steps_left.is_some() {
            return self.handle_counted(at);
        }
        self.run_instant(at);
        false
    }

    /// Returns true if commands are in flight that will never complete: the flash has failed, nothing is under way, and
    /// only timers for data that ages and for idle dies are pending.
    fn is_stuck(&self) -> bool {
        let is_idle = |event: &Event| {
            matches!(event, Event::Timer(Timer::Retention | Timer::Idle { .. } | Timer::Policy | Timer::PowerState))
        };
        self.has_failures()
            && self.commands_in_flight() > 0
            && self.out.operations.in_use() == 0
            && self.out.events.in_order().iter().all(|(_, _, event)| is_idle(event))
    }

    /// Returns true if programs or erases have failed, or dies are lost.
    fn has_failures(&self) -> bool {
        self.health().is_some_and(|health| health.program_failures + health.erase_failures + health.dies_lost > 0)
    }

    /// Handles an instant step by step. Returns true if the drive loses power within it.
    #[cold]
    fn handle_counted(&mut self, at: SimTime) -> bool {
        loop {
            match &mut self.steps_left {
                Some(0) => return true,
                Some(left) => *left -= 1,
                None => {}
            }
            if !self.handle_step(at) || self.next_event() != Some(at) {
                return self.is_to_lose_power();
            }
        }
    }

    /// Returns the completions of the last instant.
    pub fn completions(&self) -> &[Completion] {
        self.host.completions()
    }

    fn run_until(&mut self, until: SimTime, instants: u32) {
        self.host.clear_completions();
        for _ in 0..instants {
            match self.next_event() {
                Some(at) if at <= until && !self.is_watched => self.handle_instant(at),
                Some(at) if at <= until => {
                    if self.handle_watched(at) {
                        break;
                    }
                }
                Some(_) => {
                    self.now = until;
                    break;
                }
                None => {
                    if until < SimTime::FOREVER {
                        self.now = until;
                    }
                    break;
                }
            }
            if !self.host.completions().is_empty() {
                break;
            }
        }
    }
}
