//! Control of the flash's power: array phases that wait under the cap, and programs with suspension windows.
//!
//! The cap delays the start of an array phase: the command, and the data of a program, are on the die already, and the
//! controller delays the cycle that confirms them. The operation keeps its die meanwhile. What an array phase has taken
//! of the cap is free again as soon as it is suspended, or in a window. A suspended operation asks again after its
//! resume command, an operation in a window when that ends.
//!
//! A thermal model lowers the cap while the flash is hot. The temperature is brought up to date whenever an array phase
//! asks for power or ends: in between nothing depends on it.
//!
//! Only an array phase in progress has power (and one that is suspended for the power of reads, see
//! [`super::making_room`]), and it ends by itself: it waits neither for power nor for the channel. A window ends by
//! itself, too. Those who wait therefore have their turn. This is why nothing is reserved for an
//! operation before its resume command: the channel may be held for the next attempt at a read that waits for power.

use super::making_room::MakingRoom;
use super::power::note_array;
use super::{Flash, schedule, turn};
use crate::config::Suspension;
use crate::die::{NONE, Phase};
use crate::power::{CapReport, IdleScope, Limiter, PowerConfig, SuspendWindows, Turn};
use kit::{Cause, Current, DieId, Nanos, OperationKind, Outbox, Power, Reason, SimTime, Work};

/// Current that no flash draws \[uA\]: the room of a flash without a cap.
const UNLIMITED: u64 = u64::MAX / 4;

/// Cap on the power and suspension windows, with the state of each die under them.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub(super) limiter: Option<Limiter>,
    /// Suspensions that make room for reads; `None` if they are off.
    pub(super) making_room: Option<MakingRoom>,
    cap: Option<Power>,
    /// Currents that the caps leave above that of all dies at rest \[uA\], while the flash is cool and hot; and whether
    /// it is hot.
    room: u64,
    hot_room: u64,
    is_hot: bool,
    least: Power,
    /// Current of a die at rest.
    idle: Current,
    dies: Vec<State>,
    windows: Vec<SuspendWindows>,
    /// Number of the windows of each page type in [`Control::windows`]; `None` for those without any.
    of_page_type: Vec<Option<usize>>,
    /// Number of dies in a window during which idle dies wait: those of the whole drive, and those of each channel.
    open: u32,
    open_on_channel: Vec<u32>,
    /// Dies that have waited for the end of such windows.
    held_back: Vec<DieId>,
}

/// The array phase of a die.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The whole time of the operation that is to begin, and the part of it up to its end or its next window.
    total: Nanos,
    part: Nanos,
    /// Instant at which the operation asked for power.
    asked: SimTime,
    program: Windowed,
}

/// A program with windows.
#[derive(Clone, Copy, Debug, Default)]
struct Windowed {
    /// Number of its windows in [`Control::windows`]; `None` for a program without any.
    windows: Option<usize>,
    total: Nanos,
    /// Number of windows that have begun.
    begun: usize,
}

impl Control {
    /// Returns what a description requests; `None`: nothing. `rule`: how the flash suspends operations, if it does.
    pub fn of(config: &PowerConfig, rule: Option<&Suspension>, dies: usize, channels: usize) -> Option<Control> {
        let windows: Vec<SuspendWindows> = config.suspend.iter().filter(|windows| !windows.at.is_empty()).cloned().collect();
        if config.cap.is_none() && windows.is_empty() && config.thermal.is_none() {
            return None;
        }
        let count = dies as u32;
        let room = config.cap.map_or(UNLIMITED, |cap| config.room(cap, count));
        let hot_room = config.thermal.as_ref().map_or(room, |thermal| config.room(thermal.cap, count).min(room));
        let is_limited = config.cap.is_some() || config.thermal.is_some();
        let limiter = is_limited.then(|| Limiter::new(room, dies, config.cap_order, config.cap_overtakes));
        let page_types = windows.iter().flat_map(|windows| &windows.page_types).max().map_or(0, |last| *last as usize + 1);
        let of = |page_type: usize| windows.iter().position(|windows| windows.page_types.contains(&(page_type as u32)));
        Some(Control {
            limiter,
            making_room: rule.filter(|_| is_limited).and_then(|rule| MakingRoom::of(config.cap_suspends, rule, dies)),
            cap: config.cap,
            room,
            hot_room,
            is_hot: false,
            least: config.min_cap(count),
            idle: config.idle,
            dies: vec![State::default(); dies],
            of_page_type: (0..page_types).map(of).collect(),
            windows,
            open: 0,
            open_on_channel: vec![0; channels],
            held_back: Vec::with_capacity(dies),
        })
    }

    /// Begins a new measurement.
    pub fn restart(&mut self, now: SimTime) {
        if let Some(limiter) = &mut self.limiter {
            limiter.restart(now);
        }
        if let Some(making_room) = &mut self.making_room {
            making_room.restart(now);
        }
    }

    /// Takes over the measurements of another control, in whose place this one comes at `now`.
    pub fn take_measurements(&mut self, other: &Control, now: SimTime) {
        if let (Some(own), Some(before)) = (&mut self.limiter, &other.limiter) {
            own.take_measurements(before, now);
        }
        if let (Some(own), Some(before)) = (&mut self.making_room, &other.making_room) {
            own.take_measurements(before, now);
        }
    }

    /// Returns the report on the cap, if there is one.
    pub fn report(&self, now: SimTime) -> Option<CapReport> {
        let (cap, (waits, wait_ns)) = (self.cap?, self.limiter.as_ref()?.waits(now));
        let suspensions = self.making_room.as_ref().map(|making_room| making_room.report(now));
        Some(CapReport { cap, least: self.least, waits, wait_ns, suspensions })
    }

    /// Sets whether the flash is hot. Returns true if others that wait for power may begin.
    pub fn set_hot(&mut self, is_hot: bool) -> bool {
        let Some(limiter) = self.limiter.as_mut().filter(|_| is_hot != self.is_hot) else { return false };
        self.is_hot = is_hot;
        limiter.set_room(if is_hot { self.hot_room } else { self.room });
        !is_hot
    }

    /// Returns the time of the array phase that follows the next window of the program on a die.
    pub fn after_window(&self, die: DieId) -> Nanos {
        let program = &self.dies[die.index()].program;
        program.total - self.before(program)
    }

    /// Returns the windows that follow the next part of a program; `None` after the last one.
    fn windows_after(&self, program: &Windowed) -> Option<&SuspendWindows> {
        let windows = &self.windows[program.windows?];
        (program.begun < windows.at.len()).then_some(windows)
    }

    /// Returns the current above that of a die at rest \[uA\] that a program draws after its next part, in the overhead
    /// of its window. It takes this much of the cap before the part begins, since nothing delays the overhead.
    fn need_of_overhead(&self, die: DieId) -> u64 {
        let windows = self.windows_after(&self.dies[die.index()].program);
        let current = windows.and_then(SuspendWindows::current_of_overhead);
        current.map_or(0, |current| current.0.saturating_sub(self.idle.0))
    }

    /// Counts a window that begins on a die of a channel, if idle dies wait for its end.
    pub(super) fn count_window(&mut self, windows: usize, channel: usize) {
        let SuspendWindows { idle_chips_wait, idle_scope, .. } = self.windows[windows];
        match idle_scope {
            IdleScope::Drive => self.open += u32::from(idle_chips_wait),
            IdleScope::Channel => self.open_on_channel[channel] += u32::from(idle_chips_wait),
        }
    }

    /// Counts the end of such a window. Returns true if it was the last one for which its idle dies waited.
    pub(super) fn count_end(&mut self, windows: usize, channel: usize) -> bool {
        let SuspendWindows { idle_chips_wait, idle_scope, .. } = self.windows[windows];
        let open = match idle_scope {
            IdleScope::Drive => &mut self.open,
            IdleScope::Channel => &mut self.open_on_channel[channel],
        };
        *open -= u32::from(idle_chips_wait);
        idle_chips_wait && *open == 0
    }

    /// Returns true if idle dies of a channel wait for the end of a window.
    pub(super) fn is_open(&self, channel: usize) -> bool {
        self.open > 0 || self.open_on_channel[channel] > 0
    }

    /// Returns true if a die is idle and waits for the end of a window.
    #[cfg(test)]
    pub fn is_held_back(&self, die: DieId) -> bool {
        self.held_back.contains(&die)
    }

    /// Returns the time of a program before its next window; the whole time after the last one.
    fn before(&self, program: &Windowed) -> Nanos {
        program.windows.map_or(program.total, |index| self.windows[index].before(program.begun, program.total))
    }
}

impl Flash {
    /// Handles the instant at which the array phase of a die's operation is due.
    #[inline(never)]
    pub fn array_due(&mut self, die_id: DieId, generation: u32, now: SimTime, out: &mut Outbox) {
        let die = &self.dies[die_id.index()];
        // An array phase of no length has ended before, without power.
        if die.generation == generation && die.phase == Phase::Array {
            self.ask_for_array(die_id, now, out);
        }
    }

    /// Begins the array phase of an operation whose command is on its die, or lets it wait for power.
    #[inline(never)]
    pub(super) fn ask_for_array(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        self.follow_temperature(now, out);
        let die = &self.dies[die_id.index()];
        let operation = &out.operations[die.running];
        let total = die.array_end.since(now);
        let control = self.control.as_mut().expect("an array phase is due only under control");
        let (mut part, mut overhead) = (total, 0);
        if operation.kind == OperationKind::Program {
            let windows = control.of_page_type.get(operation.page_type as usize).copied().flatten();
            let program = Windowed { windows, total, begun: 0 };
            part = control.before(&program);
            control.dies[die_id.index()].program = program;
            overhead = control.need_of_overhead(die_id);
        }
        let state = &mut control.dies[die_id.index()];
        (state.total, state.part, state.asked) = (total, part, now);
        let is_read = operation.kind == OperationKind::Read;
        let mut suspends = false;
        if let Some(making_room) = &mut control.making_room {
            suspends = is_read && matches!(operation.reason, Reason::Host | Reason::Rmw | Reason::Map);
            if !is_read {
                making_room.begins(die_id);
            }
        }
        if let (Some(limiter), Some(meter)) = (&mut control.limiter, &mut self.meter) {
            let sense = self.timing.sense_within(operation, total);
            let need = meter.peak(operation, total.0, sense.0, part.0).max(overhead);
            if !limiter.ask(die_id, need, is_read, suspends, now) {
                self.wait_for_power(die_id, now, out);
                if suspends {
                    self.make_room(now, out);
                }
                return;
            }
        }
        self.array_has_power(die_id, now, out);
    }

    /// Lets the operation of a die wait for power.
    fn wait_for_power(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::PowerWait;
        // The end of the array phase may have been scheduled.
        die.generation = die.generation.wrapping_add(1);
        if die.clock.work() != Work::PowerWait {
            turn(die, Work::PowerWait, now, &mut out.signals);
        }
    }

    /// Begins the array phase of a die, or the part of it after a window.
    fn array_has_power(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let (die, control) = (&mut self.dies[die_id.index()], self.control.as_mut().expect("it has asked"));
        let State { total, part, asked, program } = control.dies[die_id.index()];
        let (operation, account) = out.operations.with_account(die.running);
        // Erases charge nothing, because they are part of no command.
        if !matches!(operation.kind, OperationKind::Erase | OperationKind::LazyErase) {
            account.charge(Cause::PowerWait, now.since(asked));
        }
        if let Some(meter) = &mut self.meter {
            if operation.kind == OperationKind::Program && program.begun > 0 {
                meter.resume(die_id, now);
            } else {
                meter.array_begins(&self.timing, operation, now, total);
            }
        }
        let end = now + part;
        let is_scheduled = die.phase == Phase::Array && die.array_end == end;
        die.array_end = end;
        if die.clock.work() == Work::PowerWait {
            let work = operation.work();
            turn(die, work, now, &mut out.signals);
        }
        if !is_scheduled {
            self.array_begins(die_id, now, out);
        }
    }

    /// Returns the power of a die whose array comes to rest, and begins the array phases that now have enough.
    #[inline(never)]
    pub(super) fn give_power_back(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        if let Some(limiter) = self.control.as_mut().and_then(|control| control.limiter.as_mut()) {
            limiter.give_back(die_id);
            self.follow_temperature(now, out);
            self.grant_power(now, out);
        }
    }

    /// Does the same with a part of the power: the die keeps `kept` uA.
    fn give_power_back_but(&mut self, die_id: DieId, kept: u64, now: SimTime, out: &mut Outbox) {
        if let Some(limiter) = self.control.as_mut().and_then(|control| control.limiter.as_mut()) {
            limiter.give_back_all_but(die_id, kept, now);
            self.follow_temperature(now, out);
            self.grant_power(now, out);
        }
    }

    /// Lets the cap follow the temperature.
    pub(super) fn follow_temperature(&mut self, now: SimTime, out: &mut Outbox) {
        if let (Some(meter), Some(control)) = (&mut self.meter, &mut self.control)
            && control.set_hot(meter.heat(now))
        {
            self.grant_power(now, out);
        }
    }

    /// Begins and resumes what has power now, and makes room for the reads that still wait.
    pub(super) fn grant_power(&mut self, now: SimTime, out: &mut Outbox) {
        while let Some(limiter) = self.control.as_mut().and_then(|control| control.limiter.as_mut())
            && let Some(next) = limiter.next(now)
        {
            let next = match next {
                Turn::Resumes(die_id) => {
                    self.resume(die_id, now, out);
                    continue;
                }
                Turn::Begins(die_id) => die_id,
            };
            let die = &self.dies[next.index()];
            if die.suspended.as_ref().is_some_and(|suspended| suspended.op == die.running) {
                self.goes_on(next, now, out);
            } else {
                self.array_has_power(next, now, out);
            }
        }
        self.make_room(now, out);
    }

    /// Asks for the power with which the suspended operation of a die goes on after its resume command. Returns false
    /// if the operation waits.
    #[inline(never)]
    pub(super) fn may_go_on(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> bool {
        self.follow_temperature(now, out);
        let suspended = &self.dies[die_id.index()].suspended;
        let remaining = suspended.as_ref().map(|suspended| (suspended.remaining, out.operations[suspended.op].kind));
        let Some((remaining, kind)) = remaining else { return true };
        let may_begin = self.may_begin_rest(die_id, remaining, kind == OperationKind::Program, now);
        if !may_begin {
            self.wait_for_power(die_id, now, out);
        }
        may_begin
    }

    /// Asks for the power of the next `part` of an operation of which a part has been done. Returns false if it waits.
    fn may_begin_rest(&mut self, die_id: DieId, part: Nanos, is_program: bool, now: SimTime) -> bool {
        let (Some(control), Some(meter)) = (&mut self.control, &self.meter) else { return true };
        let overhead = if is_program { control.need_of_overhead(die_id) } else { 0 };
        let need = meter.peak_of_rest(die_id, part.0).max(overhead);
        control.limiter.as_mut().is_none_or(|limiter| limiter.ask(die_id, need, false, false, now))
    }

    /// Begins the next window of the program on a die, whose array comes to rest before it. Returns false if there is
    /// none.
    #[inline(never)]
    pub(super) fn window_opens(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> bool {
        let (die, control) = (&mut self.dies[die_id.index()], self.control.as_mut().expect("asked only under control"));
        if out.operations[die.running].kind != OperationKind::Program {
            return false;
        }
        let program = control.dies[die_id.index()].program;
        let (Some(index), Some(windows)) = (program.windows, control.windows_after(&program)) else { return false };
        let (rest, current) = (windows.rest(), windows.current_of_overhead());
        let (overhead_at, overhead) = (now + windows.length, windows.overhead);
        let kept = control.need_of_overhead(die_id);
        control.dies[die_id.index()].program.begun += 1;
        control.count_window(index, die.channel as usize);
        if let Some(meter) = &mut self.meter {
            if meter.is_active(die_id) {
                note_array(meter, die_id, now, &mut out.journal);
            }
            meter.suspend(die_id, now);
            if let Some(current) = current {
                meter.begin_overhead(die_id, current, overhead_at, overhead.0);
            }
        }
        out.operations.account_mut(die.running).charge(Cause::PowerWait, rest);
        die.phase = Phase::Window;
        turn(die, Work::PowerWait, now, &mut out.signals);
        schedule(die, die_id, now + rest, &mut out.events);
        self.give_power_back_but(die_id, kept, now, out);
        true
    }

    /// Ends a window: the program goes on, or waits for power. With the last of the windows during which idle dies wait
    /// these may begin operations again.
    #[inline(never)]
    pub(super) fn window_closes(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let control = self.control.as_mut().expect("a window is under control");
        let program = control.dies[die_id.index()].program;
        let index = program.windows.expect("a program with windows");
        let windows = &control.windows[index];
        let part = control.before(&program) - windows.before(program.begun - 1, program.total);
        let has_overhead = windows.current_of_overhead().is_some();
        let is_last = control.count_end(index, self.dies[die_id.index()].channel as usize);
        let state = &mut control.dies[die_id.index()];
        (state.part, state.asked) = (part, now);
        if is_last {
            self.release_held_back(now, out);
        }
        if has_overhead {
            if let Some(meter) = &mut self.meter {
                meter.phase_done(die_id, now);
            }
            self.give_power_back(die_id, now, out);
        }
        self.follow_temperature(now, out);
        if !self.may_begin_rest(die_id, part, true, now) {
            return self.wait_for_power(die_id, now, out);
        }
        self.array_has_power(die_id, now, out);
    }

    /// Returns true if a die is idle and may not begin an operation, because another one is in a suspension window.
    #[inline(never)]
    pub(super) fn holds_back(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> bool {
        let (die, control) = (&mut self.dies[die_id.index()], self.control.as_mut().expect("asked only under control"));
        if !control.is_open(die.channel as usize) || die.running != NONE || die.suspended.is_some() {
            return false;
        }
        if !control.held_back.contains(&die_id) {
            control.held_back.push(die_id);
            // A die that waits for a page buffer, too, keeps its place there.
            if die.clock.work() != Work::Starved {
                turn(die, Work::PowerWait, now, &mut out.signals);
            }
        }
        true
    }

    /// Marks the dies that are held back no longer as ready, in the order of their numbers.
    fn release_held_back(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(control) = &mut self.control else { return };
        let mut dies = std::mem::take(&mut control.held_back);
        dies.sort_unstable();
        let still = |die_id: &mut DieId| !control.is_open(self.dies[die_id.index()].channel as usize);
        let released: Vec<DieId> = dies.extract_if(.., still).collect();
        for die_id in released {
            let die = &mut self.dies[die_id.index()];
            if die.clock.work() == Work::PowerWait {
                turn(die, Work::Idle, now, &mut out.signals);
            }
            out.ready.mark(die_id);
        }
        if let Some(control) = &mut self.control {
            control.held_back = dies;
        }
    }

    /// Returns true if no operation waits for power or has any, and no die is in a window.
    pub fn power_rests(&self) -> bool {
        let is_at_rest = |control: &Control| {
            let is_open = (0..control.open_on_channel.len()).any(|channel| control.is_open(channel));
            !is_open && control.held_back.is_empty() && control.limiter.as_ref().is_none_or(Limiter::is_at_rest)
        };
        self.control.as_deref().is_none_or(is_at_rest)
    }
}
