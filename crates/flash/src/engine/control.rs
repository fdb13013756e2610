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
use crate::power::{CapReport, Limiter, PowerConfig, SuspendWindows, Turn};
use kit::{Cause, DieId, Nanos, OperationKind, Outbox, Power, Reason, SimTime, Work};

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
    dies: Vec<State>,
    windows: Vec<SuspendWindows>,
    /// Number of the windows of each page type in [`Control::windows`]; `None` for those without any.
    of_page_type: Vec<Option<usize>>,
    /// Number of dies in a window during which idle dies wait, and the dies that have waited for its end.
    open: u32,
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
    pub fn of(config: &PowerConfig, rule: Option<&Suspension>, dies: usize) -> Option<Control> {
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
            dies: vec![State::default(); dies],
            of_page_type: (0..page_types).map(of).collect(),
            windows,
            open: 0,
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
        let mut part = total;
        if operation.kind == OperationKind::Program {
            let windows = control.of_page_type.get(operation.page_type as usize).copied().flatten();
            let program = Windowed { windows, total, begun: 0 };
            part = control.before(&program);
            control.dies[die_id.index()].program = program;
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
            let need = meter.peak(operation, total.0, sense.0, part.0);
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
        let limiter = self.control.as_mut().and_then(|control| control.limiter.as_mut());
        let suspended = &self.dies[die_id.index()].suspended;
        if let (Some(limiter), Some(meter), Some(suspended)) = (limiter, &self.meter, suspended)
            && !limiter.ask(die_id, meter.peak_of_rest(die_id, suspended.remaining.0), false, false, now)
        {
            self.wait_for_power(die_id, now, out);
            return false;
        }
        true
    }

    /// Begins the next window of the program on a die, whose array comes to rest before it. Returns false if there is
    /// none.
    #[inline(never)]
    pub(super) fn window_opens(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> bool {
        let (die, control) = (&mut self.dies[die_id.index()], self.control.as_mut().expect("asked only under control"));
        if out.operations[die.running].kind != OperationKind::Program {
            return false;
        }
        let program = &mut control.dies[die_id.index()].program;
        let Some(windows) = program.windows.map(|index| &control.windows[index]) else { return false };
        if program.begun == windows.at.len() {
            return false;
        }
        program.begun += 1;
        control.open += u32::from(windows.idle_chips_wait);
        let rest = windows.rest();
        if let Some(meter) = &mut self.meter {
            if meter.is_active(die_id) {
                note_array(meter, die_id, now, &mut out.journal);
            }
            meter.suspend(die_id, now);
        }
        out.operations.account_mut(die.running).charge(Cause::PowerWait, rest);
        die.phase = Phase::Window;
        turn(die, Work::PowerWait, now, &mut out.signals);
        schedule(die, die_id, now + rest, &mut out.events);
        self.give_power_back(die_id, now, out);
        true
    }

    /// Ends a window: the program goes on, or waits for power. With the last of the windows during which idle dies wait
    /// these may begin operations again.
    #[inline(never)]
    pub(super) fn window_closes(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let control = self.control.as_mut().expect("a window is under control");
        let program = control.dies[die_id.index()].program;
        let windows = &control.windows[program.windows.expect("a program with windows")];
        let part = control.before(&program) - windows.before(program.begun - 1, program.total);
        control.open -= u32::from(windows.idle_chips_wait);
        let is_last = windows.idle_chips_wait && control.open == 0;
        let state = &mut control.dies[die_id.index()];
        (state.part, state.asked) = (part, now);
        if is_last {
            self.release_held_back(now, out);
        }
        self.follow_temperature(now, out);
        let limiter = self.control.as_mut().and_then(|control| control.limiter.as_mut());
        if let (Some(limiter), Some(meter)) = (limiter, &self.meter)
            && !limiter.ask(die_id, meter.peak_of_rest(die_id, part.0), false, false, now)
        {
            return self.wait_for_power(die_id, now, out);
        }
        self.array_has_power(die_id, now, out);
    }

    /// Returns true if a die is idle and may not begin an operation, because another one is in a suspension window.
    #[inline(never)]
    pub(super) fn holds_back(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> bool {
        let (die, control) = (&mut self.dies[die_id.index()], self.control.as_mut().expect("asked only under control"));
        if control.open == 0 || die.running != NONE || die.suspended.is_some() {
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

    /// Marks the dies that were held back as ready, in the order of their numbers.
    fn release_held_back(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(control) = &mut self.control else { return };
        let mut dies = std::mem::take(&mut control.held_back);
        dies.sort_unstable();
        for die_id in dies.drain(..) {
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
            control.open == 0 && control.held_back.is_empty() && control.limiter.as_ref().is_none_or(Limiter::is_at_rest)
        };
        self.control.as_deref().is_none_or(is_at_rest)
    }
}
