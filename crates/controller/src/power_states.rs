//! The power states of a drive over time: when it enters one by itself, and when it has left it again.
//!
//! The drive is idle while no command is outstanding (NVMe base specification, autonomous power state transitions). If
//! it still works for itself when its idle time is over, the idle time begins anew: the specification has a controller
//! not enter a state whose power its work would exceed. Work that a timer of the drive begins in a state goes on in it,
//! as with permissive mode (NOPPME).

use crate::usage::Usage;
use kit::queue::Class;
use kit::{CommandId, Event, Events, Nanos, PowerState, SimTime, Timer};
use serde::{Deserialize, Serialize};

/// Relation of the drive to its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    /// It serves commands, in the first state.
    #[default]
    Operational,
    /// It enters the state, and cannot turn back.
    Entering,
    /// It is in the state.
    Within,
    /// It leaves the state, or will once it has entered it.
    Leaving,
}

/// The state of a drive at an instant. It is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerImage {
    mode: Mode,
    state: u32,
    /// Instant of the next change, if nothing else happens.
    due: Option<SimTime>,
    /// Instant of the earliest timer that is pending.
    armed: Option<SimTime>,
}

/// Time in a state, and the work of the controller meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSum {
    /// Number of times that the drive has entered it.
    pub entries: u64,
    /// Time in it, without that of entering and leaving it \[ns\].
    pub time_ns: u64,
    /// Work of the controller within it: that of the drive for itself.
    pub usage: Usage,
}

/// Power states of a drive in a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct StateReport {
    /// Each state, by its number.
    pub states: Vec<StateSum>,
    /// Time of entering and leaving states \[ns\].
    pub transition_ns: u64,
    /// Number of times that a command woke the drive.
    pub wakes: u64,
}

/// Consequence of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// The drive serves commands again: those that wait go on ([`PowerStates::take_waiting`]).
    Woken,
}

/// The power states of a drive.
#[derive(Clone, Debug)]
pub struct PowerStates {
    states: Vec<PowerState>,
    now: PowerImage,
    /// Commands that wait until the drive serves commands again, in the order of their announcement.
    waiting: Vec<CommandId>,
    report: StateReport,
    /// Instant up to which the time is counted, and the work of the controller at the beginning of the time within a
    /// state.
    counted: SimTime,
    usage: Usage,
}

impl PowerStates {
    /// Returns the states of a drive that serves commands; `None` if it has no state to enter.
    pub fn of(states: &[PowerState]) -> Option<PowerStates> {
        let report = StateReport { states: vec![StateSum::default(); states.len()], transition_ns: 0, wakes: 0 };
        states.iter().any(|state| state.idle_state.is_some()).then(|| PowerStates {
            states: states.to_vec(),
            now: PowerImage::default(),
            waiting: Vec::with_capacity(64),
            report,
            counted: SimTime::ZERO,
            usage: Usage::default(),
        })
    }

    /// Returns the state for a saved drive at rest.
    pub fn image(&self) -> PowerImage {
        assert!(self.waiting.is_empty() && self.now.mode != Mode::Leaving, "at rest no command wakes the drive");
        self.now
    }

    /// Restores the state of a saved drive, whose timers are restored with all others. Returns false if it is none of
    /// this drive's.
    pub fn restore(&mut self, image: &PowerImage, now: SimTime, usage: Usage) -> bool {
        (self.now, self.counted, self.usage) = (*image, now, usage);
        let Some(state) = self.states.get(image.state as usize) else { return false };
        // Only a state that another one follows is left by itself, and what is due has a timer that is pending.
        let waits = match image.mode {
            Mode::Operational | Mode::Within => state.idle_state.is_some() || image.due.is_none(),
            Mode::Entering => image.due.is_some(),
            Mode::Leaving => false,
        };
        let is_first = image.state == 0 || image.mode != Mode::Operational;
        waits
            && is_first
            && image.due.is_none_or(|due| due <= SimTime::LAST + Nanos::YEAR && image.armed.is_some_and(|at| at <= due))
    }

    /// Returns the instant of the earliest timer that is pending.
    pub fn armed(&self) -> Option<SimTime> {
        self.now.armed
    }

    /// Begins a new measurement; `usage` is the work of the controller so far.
    pub fn restart(&mut self, now: SimTime, usage: Usage) {
        self.report.states.fill(StateSum::default());
        (self.report.transition_ns, self.report.wakes) = (0, 0);
        (self.counted, self.usage) = (now, usage);
    }

    /// Returns the report up to `now`.
    pub fn report(&self, now: SimTime, usage: Usage) -> StateReport {
        let mut end = self.clone();
        end.count(now, usage);
        end.report
    }

    /// Records that the drive is idle from `now` on.
    pub fn idle(&mut self, now: SimTime, events: &mut Events) {
        debug_assert!(self.now.mode == Mode::Operational, "a command was served");
        self.stay(now, events);
    }

    /// Returns true if the drive serves commands.
    #[inline]
    pub fn serves(&self) -> bool {
        self.now.mode == Mode::Operational
    }

    /// Lets a command wait that is announced while the drive serves none, and wakes the drive.
    pub fn wait(&mut self, command: CommandId, now: SimTime, usage: Usage, events: &mut Events) {
        debug_assert!(!self.serves(), "a command waits only for a drive that serves none");
        self.waiting.push(command);
        if self.now.mode != Mode::Leaving {
            let exit = self.states[self.now.state as usize].exit_latency;
            self.count(now, usage);
            let entered = if self.now.mode == Mode::Entering { self.now.due.unwrap_or(now) } else { now };
            self.report.wakes += 1;
            self.now.mode = Mode::Leaving;
            self.set_due(Some(entered + exit), events);
        }
    }

    /// Handles a timer. `is_idle`: no command is outstanding. `works`: the drive works for itself.
    pub fn timer(&mut self, now: SimTime, is_idle: bool, works: bool, usage: Usage, events: &mut Events) -> Change {
        if self.now.armed == Some(now) {
            self.now.armed = None;
        }
        if self.now.due != Some(now) {
            self.set_due(self.now.due, events);
            return Change::Nothing;
        }
        match self.now.mode {
            // The idle time begins again with the end of the last command.
            Mode::Operational | Mode::Within if !is_idle => self.set_due(None, events),
            Mode::Operational | Mode::Within if works => self.stay(now, events),
            Mode::Operational | Mode::Within => {
                self.count(now, usage);
                let next = self.states[self.now.state as usize].idle_state.expect("it is due only if a state follows");
                self.now.state = next;
                self.report.states[next as usize].entries += 1;
                self.now.mode = Mode::Entering;
                let entry = self.states[next as usize].entry_latency;
                if entry == Nanos::ZERO { self.entered(now, usage, events) } else { self.set_due(Some(now + entry), events) }
            }
            Mode::Entering => self.entered(now, usage, events),
            Mode::Leaving => {
                self.wake(now, usage);
                self.set_due(None, events);
                return Change::Woken;
            }
        }
        Change::Nothing
    }

    /// Takes the commands that waited. Give the list back with [`PowerStates::give_back`].
    pub fn take_waiting(&mut self) -> Vec<CommandId> {
        std::mem::take(&mut self.waiting)
    }

    /// Returns the list of those that waited, for its memory.
    pub fn give_back(&mut self, mut list: Vec<CommandId>) {
        list.clear();
        self.waiting = list;
    }

    /// Records that power fails at `now`.
    pub fn power_fails(&mut self, now: SimTime, usage: Usage) {
        self.wake(now, usage);
    }

    /// Records that power is back: the drive is in its first state, and idle. Timers from before have no effect.
    pub fn power_is_back(&mut self, now: SimTime, usage: Usage, events: &mut Events) {
        (self.counted, self.usage) = (now, usage);
        (self.now.due, self.now.armed) = (None, None);
        self.stay(now, events);
    }

    /// Handles the end of the entry into a state.
    fn entered(&mut self, now: SimTime, usage: Usage, events: &mut Events) {
        self.count(now, usage);
        self.now.mode = Mode::Within;
        self.stay(now, events);
    }

    /// Goes to the first state.
    fn wake(&mut self, now: SimTime, usage: Usage) {
        self.count(now, usage);
        (self.now.mode, self.now.state) = (Mode::Operational, 0);
    }

    /// Begins the idle time in the state.
    fn stay(&mut self, now: SimTime, events: &mut Events) {
        let state = &self.states[self.now.state as usize];
        self.set_due(state.idle_time.map(|time| now + time), events);
    }

    /// Sets the instant of the next change. A timer that is pending for an earlier one is used again, so that many
    /// short idle times have one.
    fn set_due(&mut self, due: Option<SimTime>, events: &mut Events) {
        self.now.due = due;
        if let Some(due) = due
            && self.now.armed.is_none_or(|armed| armed > due)
        {
            self.now.armed = Some(due);
            events.push(due, Class::Timer, Event::Timer(Timer::PowerState));
        }
    }

    /// Counts the time up to `now`; the work of the controller since is that within the state.
    fn count(&mut self, now: SimTime, usage: Usage) {
        let span = now.since(self.counted).0;
        let sum = &mut self.report.states[self.now.state as usize];
        match self.now.mode {
            Mode::Operational => sum.time_ns += span,
            Mode::Within => {
                sum.time_ns += span;
                sum.usage = sum.usage.plus(&usage.since(&self.usage));
            }
            Mode::Entering | Mode::Leaving => self.report.transition_ns += span,
        }
        (self.counted, self.usage) = (now, usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Power, StateParts};

    fn state(idle: Option<(u64, u32)>, entry: u64, exit: u64) -> PowerState {
        PowerState {
            max_power: Power(1),
            non_operational: exit > 0,
            entry_latency: Nanos(entry),
            exit_latency: Nanos(exit),
            idle_power: None,
            active_power: None,
            idle_time: idle.map(|(time, _)| Nanos(time)),
            idle_state: idle.map(|(_, state)| state),
            parts: StateParts::default(),
        }
    }

    /// The states with their events: each timer that is pending up to `until` fires, while the drive is idle.
    struct Rig {
        states: PowerStates,
        events: Events,
        woken: Vec<(u64, Vec<CommandId>)>,
    }

    impl Rig {
        fn new() -> Rig {
            let all = [state(Some((100, 1)), 0, 0), state(Some((1_000, 2)), 10, 50), state(None, 20, 400)];
            let mut events = Events::default();
            let mut states = PowerStates::of(&all).expect("the first state has a transition");
            states.idle(SimTime(0), &mut events);
            Rig { states, events, woken: Vec::new() }
        }

        fn run(&mut self, until: u64, is_idle: bool, works: bool) {
            while self.events.next_time().is_some_and(|at| at.0 <= until) {
                let (at, _, _) = self.events.pop().expect("there is one");
                if self.states.timer(at, is_idle, works, Usage::default(), &mut self.events) == Change::Woken {
                    let waiting = self.states.take_waiting();
                    self.woken.push((at.0, waiting.clone()));
                    self.states.give_back(waiting);
                }
            }
        }

        fn asks(&mut self, command: u32, at: u64) -> bool {
            let serves = self.states.serves();
            if !serves {
                self.states.wait(CommandId(command), SimTime(at), Usage::default(), &mut self.events);
            }
            serves
        }

        fn times(&self, now: u64) -> (Vec<u64>, u64, u64) {
            let report = self.states.report(SimTime(now), Usage::default());
            let times = report.states.iter().map(|sum| sum.time_ns).collect::<Vec<_>>();
            assert_eq!(times.iter().sum::<u64>() + report.transition_ns, now, "every instant is in a state or between two");
            (times, report.transition_ns, report.wakes)
        }
    }

    /// The idle time is 100 ns: at 99 the drive serves, at 100 it enters the state, which it has left at 100 + 10 + 50
    /// at the earliest.
    #[test]
    fn a_state_is_entered_exactly_after_the_idle_time() {
        let mut rig = Rig::new();
        rig.run(99, true, false);
        assert!(rig.asks(0, 99), "the drive still serves commands");
        let mut rig = Rig::new();
        rig.run(100, true, false);
        assert!(!rig.asks(1, 103) && !rig.asks(2, 130), "it has begun to enter the state");
        rig.run(1_000, false, false);
        assert_eq!(rig.woken, [(160, vec![CommandId(1), CommandId(2)])], "entry and exit take their time");
        assert!(rig.asks(3, 160));
        assert_eq!(rig.times(1_000), (vec![940, 0, 0], 60, 1));
    }

    #[test]
    fn deeper_states_follow_and_cost_their_exit() {
        let mut rig = Rig::new();
        rig.run(5_000, true, false);
        // First state to 100, second from 110 to 1,110, third from 1,130 on.
        assert_eq!(rig.times(5_000), (vec![100, 1_000, 3_870], 30, 0));
        assert!(!rig.asks(7, 5_000));
        rig.run(9_000, false, false);
        assert_eq!(rig.woken, [(5_400, vec![CommandId(7)])]);
        rig.states.idle(SimTime(6_000), &mut rig.events);
        rig.run(6_099, true, false);
        assert!(rig.asks(8, 6_099));
        rig.run(6_105, true, false);
        assert!(!rig.asks(9, 6_105));
    }

    /// Idle times that end before they are over leave one timer, whose instant moves on.
    #[test]
    fn short_idle_times_share_a_timer() {
        let mut rig = Rig::new();
        for at in (10..3_000).step_by(10) {
            rig.run(at, true, false);
            assert!(rig.asks(0, at));
            rig.states.idle(SimTime(at), &mut rig.events);
            assert!(rig.events.len() == 1, "{} timers", rig.events.len());
        }
        rig.run(3_089, true, false);
        assert!(rig.asks(0, 3_089));
        rig.run(3_090, true, false);
        assert!(!rig.asks(0, 3_090));
    }

    #[test]
    fn work_of_the_drive_delays_the_transition_and_power_that_fails_ends_the_state() {
        let mut rig = Rig::new();
        rig.run(150, true, true);
        assert!(rig.asks(0, 150), "the idle time begins anew");
        rig.run(400, true, false);
        assert_eq!(rig.times(400).0, [200, 190, 0]);
        let image = rig.states.image();
        let mut other = Rig::new();
        assert!(other.states.restore(&image, SimTime(400), Usage::default()) && other.states.now == rig.states.now);
        rig.states.power_fails(SimTime(400), Usage::default());
        rig.states.power_is_back(SimTime(900), Usage::default(), &mut rig.events);
        rig.run(999, true, false);
        assert!(rig.asks(0, 999));
        rig.run(1_000, true, false);
        assert!(!rig.asks(0, 1_000));
        assert_eq!(rig.states.report(SimTime(1_000), Usage::default()).states[1].entries, 2);
    }
}
