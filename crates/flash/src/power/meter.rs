//! Meter of the flash: energy by operation, reason and die, and power in windows.

use super::recurring::{self, Train, take_trains};
use super::ring::Edge;
use super::thermal::{Thermal, ThermalImage, ThermalReport};
use super::windows::Windows;
use super::{CapReport, PowerConfig, Waveform, WindowReport};
use kit::reason::REASON_COUNT;
use kit::{Current, DieId, Nanos, Operation, OperationKind, Owner, Reason, SimTime};

/// Number of currents kept beyond those of the phases in progress.
const STRETCHED: usize = 64;
/// Page types whose last currents are remembered.
const RECENT: usize = 8;
/// Number of kinds of operations.
const KINDS: usize = OperationKind::ALL.len();

/// An array phase in progress, or the part of one since it was resumed.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    /// Instant at which the phase, or the part, begins; it may be in the future.
    begin: SimTime,
    /// Position within the whole phase at `begin` \[ns\].
    from: u64,
    /// Number of its currents in [`Meter::stretched`].
    currents: u32,
    reason: Reason,
    is_on: bool,
    /// True if a read repeats another one.
    is_retry: bool,
}

/// The currents that an operation had last.
#[derive(Clone, Copy, Debug)]
struct Recent {
    total: u64,
    sense: u64,
    page_type: u32,
    /// Number of the currents in [`Meter::stretched`].
    currents: u32,
}

/// No currents: no array phase is so long.
const NOTHING: Recent = Recent { total: u64::MAX, sense: 0, page_type: 0, currents: 0 };

/// Part of an array phase that has ended: up to its end, or to a suspension.
pub(crate) struct ActivePart {
    pub kind: OperationKind,
    pub page_type: u32,
    pub reason: Reason,
    pub begin: SimTime,
}

/// Currents of an array phase of a certain duration.
#[derive(Clone, Debug)]
struct Stretched {
    kind: OperationKind,
    page_type: u32,
    total: u64,
    /// Time of the sensing that comes first; only for a copyback.
    sense: u64,
    /// True for the overhead of a program's suspension, which is no array phase.
    is_overhead: bool,
    /// Start of each step \[ns\] and its current \[uA\].
    steps: Vec<(u64, u64)>,
    /// Changes of the current of a die in the whole phase, those that recur with its pulses, and its charge \[uA ns\].
    edges: Vec<Edge>,
    trains: Vec<Train>,
    /// Time of the last change, the ends of the trains included \[ns\].
    last: u64,
    charge: u64,
}

/// A die: its array phase, and its sums.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    active: Active,
    /// Charge of its array phases \[uA ns\].
    charge: u128,
    /// Their time \[ns\].
    active_ns: u64,
}

/// Finds the changes of the current of a die that goes through the steps of a phase from one position to another, and
/// draws `idle` before and after. Returns its charge \[uA ns\].
fn find_edges(steps: &[(u64, u64)], idle: u64, (from, to): (u64, u64), edges: &mut Vec<Edge>) -> u64 {
    edges.clear();
    let (mut charge, mut level) = (0, idle);
    for (index, &(at, current)) in steps.iter().enumerate() {
        let end = steps.get(index + 1).map_or(u64::MAX, |next| next.0).min(to);
        let at = at.max(from);
        if at >= end {
            continue;
        }
        charge += current * (end - at);
        if current != level {
            edges.push(Edge { at: at - from, change: current as i64 - level as i64 });
            level = current;
        }
    }
    if level != idle {
        edges.push(Edge { at: to - from, change: idle as i64 - level as i64 });
    }
    charge
}

/// Returns the charge of a die that goes through the steps of a phase from one position to another \[uA ns\].
fn charge_within(steps: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let ends = steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
    let within = steps.iter().zip(ends).map(|(&(at, current), end)| current * end.min(to).saturating_sub(at.max(from)));
    within.sum()
}

/// Meter of the flash.
#[derive(Clone, Debug)]
pub struct Meter {
    config: PowerConfig,
    stretched: Vec<Stretched>,
    dies: Vec<Die>,
    /// Suspended operation of each die.
    suspended: Vec<Active>,
    /// The last currents of each kind and page type.
    recent: [[Recent; RECENT]; KINDS],
    /// Charge of the array phases by kind and reason \[uA ns\].
    charge: [[u128; REASON_COUNT]; KINDS],
    /// The part of it that repeated reads take, by reason \[uA ns\].
    retries: [u128; REASON_COUNT],
    start: SimTime,
    windows: Windows,
    /// Instant from which windows are to be counted, or the temperature is to be brought up to date, at the latest.
    due: SimTime,
    /// Changes of the current within a part of a phase; a buffer that is reused.
    edges: Vec<Edge>,
    /// Temperature; `None` if it is not computed.
    thermal: Option<Box<Thermal>>,
}

/// Energy and power of the flash since the start of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerReport {
    /// Energy of the array phases by kind of operation and reason \[aJ\].
    pub energy: [[u128; REASON_COUNT]; KINDS],
    /// The part of it that repeated reads take, by reason \[aJ\].
    pub retries: [u128; REASON_COUNT],
    /// Energy of the array phases of each die \[aJ\].
    pub by_die: Vec<u128>,
    /// Energy of each die while its array is at rest \[aJ\].
    pub idle_by_die: Vec<u128>,
    /// Energy of dies whose array is at rest \[aJ\].
    pub idle: u128,
    /// Duration of the measurement \[ns\].
    pub span_ns: u64,
    /// Power in windows.
    pub windows: WindowReport,
    /// The cap; `None` if there is none.
    pub cap: Option<CapReport>,
    /// Temperature; `None` if it is not computed.
    pub thermal: Option<ThermalReport>,
}

impl PowerReport {
    /// Returns the energy of the flash \[aJ\].
    pub fn total(&self) -> u128 {
        self.idle + self.energy.iter().flatten().sum::<u128>()
    }
}

impl Meter {
    /// Creates the meter of a drive with `dies` dies, all at rest.
    pub fn new(config: &PowerConfig, dies: u32) -> Meter {
        let level = config.idle.0 * u64::from(dies);
        Meter {
            config: config.clone(),
            stretched: Vec::new(),
            dies: vec![Die::default(); dies as usize],
            suspended: vec![Active::default(); dies as usize],
            recent: [[NOTHING; RECENT]; KINDS],
            charge: [[0; REASON_COUNT]; KINDS],
            retries: [0; REASON_COUNT],
            start: SimTime::ZERO,
            windows: Windows::new(config.window.0, SimTime::ZERO, level, recurring::period(config)),
            due: SimTime::ZERO,
            edges: Vec::new(),
            thermal: config.thermal.as_ref().map(|thermal| Box::new(Thermal::new(thermal, config.supply.0))),
        }
    }

    /// Begins a measurement at `now`: phases in progress count from now on.
    pub fn restart(&mut self, now: SimTime) {
        self.heat(now);
        let charge = self.charge_at(now);
        if let Some(thermal) = &mut self.thermal {
            thermal.restart(now, charge);
        }
        for die in &mut self.dies {
            let active = &mut die.active;
            if active.is_on && active.begin < now {
                active.from += now.since(active.begin).0;
                active.begin = now;
            }
            (die.charge, die.active_ns) = (0, 0);
        }
        self.charge = [[0; REASON_COUNT]; KINDS];
        self.retries = [0; REASON_COUNT];
        self.start = now;
        self.windows = self.windows.anew(now, self.config.idle.0 * self.dies.len() as u64);
        self.due = SimTime::ZERO;
    }

    /// Leaves a time `off` without power, in which nothing flows, out of the measurement.
    pub(crate) fn exclude(&mut self, off: Nanos) {
        self.start = self.start + off;
        self.windows.exclude(off);
        self.due = SimTime::ZERO;
        if let Some(thermal) = &mut self.thermal {
            thermal.exclude(off);
        }
    }

    /// Brings the temperature up to date. Returns true if the flash is hot.
    #[inline]
    pub(crate) fn heat(&mut self, now: SimTime) -> bool {
        match &self.thermal {
            None => false,
            Some(thermal) if thermal.next() > now => thermal.is_hot(),
            Some(_) => self.make_steps(now),
        }
    }

    /// Makes the steps of the temperature up to `now`. No phase has begun or ended since the last one.
    #[inline(never)]
    fn make_steps(&mut self, now: SimTime) -> bool {
        let Some(mut thermal) = self.thermal.take() else { return false };
        let is_at_rest = !self.dies.iter().any(|Die { active, .. }| active.is_on && active.begin < now);
        while thermal.next() <= now {
            thermal.step(self.charge_at(thermal.next()));
            if is_at_rest && thermal.next() <= now {
                thermal.steps(now.since(thermal.next()).0 / thermal.step_ns() + 1, self.config.idle.0 * self.dies.len() as u64);
            }
        }
        let is_hot = thermal.is_hot();
        self.thermal = Some(thermal);
        is_hot
    }

    /// Returns the charge of the measurement up to an instant after the last begin or end of a phase \[uA ns\].
    fn charge_at(&self, at: SimTime) -> u128 {
        let (mut charge, mut active_ns) = (0, 0);
        for die in &self.dies {
            (charge, active_ns) = (charge + die.charge, active_ns + u128::from(die.active_ns));
            let active = &die.active;
            if active.is_on && active.begin < at {
                let span = at.since(active.begin).0;
                let steps = &self.stretched[active.currents as usize].steps;
                charge += u128::from(charge_within(steps, active.from, active.from + span));
                active_ns += u128::from(span);
            }
        }
        let all_ns = self.dies.len() as u128 * u128::from(at.since(self.start).0);
        charge + (all_ns - active_ns) * u128::from(self.config.idle.0)
    }

    /// Returns the state of the temperature of a flash at rest, if it is computed.
    pub(crate) fn thermal_image(&self, now: SimTime) -> Option<ThermalImage> {
        let mut end = self.clone();
        end.heat(now);
        let charge = end.charge_at(now);
        end.thermal.map(|thermal| thermal.image(charge))
    }

    /// Restores the temperature of a saved flash, whose measurement begins at `now`. Returns false if only one of both
    /// has a temperature, or it can be none.
    pub(crate) fn restore_thermal(&mut self, image: Option<&ThermalImage>, now: SimTime) -> bool {
        (self.start, self.due) = (now, SimTime::ZERO);
        match (&mut self.thermal, image) {
            (Some(thermal), Some(image)) => thermal.restore(image, now),
            (thermal, image) => thermal.is_none() && image.is_none(),
        }
    }

    /// Records that the array phase of an operation begins at `begin` and takes `total` ns; `sense` ns of a copyback
    /// are for sensing.
    #[inline]
    pub(crate) fn begin(&mut self, operation: &Operation, begin: SimTime, total: u64, sense: u64) {
        if self.thermal.is_some() {
            self.heat(begin);
        }
        let currents = self.currents(operation, total, sense);
        let (reason, is_retry) = (operation.reason, matches!(operation.owner, Owner::Retry(_)));
        self.dies[operation.die.index()].active = Active { begin, from: 0, currents, reason, is_on: true, is_retry };
    }

    /// Returns by how much the greatest current of an array phase of `total` ns, before `end` ns of it, is above that
    /// of a die at rest \[uA\]; `sense` ns of a copyback are for sensing.
    pub(crate) fn peak(&mut self, operation: &Operation, total: u64, sense: u64, end: u64) -> u64 {
        let currents = self.currents(operation, total, sense);
        self.peak_within(currents, 0, end)
    }

    /// Returns the same of the suspended operation of a die, for the next `span` ns of its array phase.
    pub(crate) fn peak_of_rest(&self, die: DieId, span: u64) -> u64 {
        let Active { currents, from, .. } = self.suspended[die.index()];
        self.peak_within(currents, from, from + span)
    }

    /// Returns by how much the greatest current from `from` to `to` \[ns\] is above that of a die at rest.
    fn peak_within(&self, currents: u32, from: u64, to: u64) -> u64 {
        let steps = &self.stretched[currents as usize].steps;
        let ends = steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
        let within = steps.iter().zip(ends).filter(|&(step, end)| step.0 < to && from < end);
        within.map(|(step, _)| step.1).max().unwrap_or(0).saturating_sub(self.config.idle.0)
    }

    /// Records that the operation of a die is suspended.
    pub(crate) fn suspend(&mut self, die: DieId, now: SimTime) {
        let active = self.dies[die.index()].active;
        let from = active.from + now.since(active.begin).0;
        assert!(from <= self.stretched[active.currents as usize].total, "it is suspended before its end");
        self.suspended[die.index()] = Active { from, ..active };
        if active.is_on {
            self.phase_done(die, now);
        }
    }

    /// Records that the array phase of the suspended operation of a die goes on at `begin`.
    pub(crate) fn resume(&mut self, die: DieId, begin: SimTime) {
        self.heat(begin);
        let rest = self.suspended[die.index()];
        self.dies[die.index()].active = Active { begin, is_on: true, ..rest };
    }

    /// Records that a die in a suspension window draws `current` from `begin` on, for the overhead of `total` ns.
    pub(crate) fn begin_overhead(&mut self, die: DieId, current: Current, begin: SimTime, total: u64) {
        let rest = self.suspended[die.index()];
        let page_type = self.stretched[rest.currents as usize].page_type;
        let currents = self.overhead(page_type, current.0, total);
        // The currents of the suspended program may have been given another number.
        let rest = self.suspended[die.index()];
        self.dies[die.index()].active = Active { begin, from: 0, currents, is_on: true, ..rest };
    }

    /// Returns true if an array phase is in progress on a die, or about to begin.
    #[inline]
    pub(crate) fn is_active(&self, die: DieId) -> bool {
        self.dies[die.index()].active.is_on
    }

    /// Returns the part of the array phase in progress on a die.
    pub(crate) fn part(&self, die: DieId) -> ActivePart {
        let Active { begin, currents, reason, .. } = self.dies[die.index()].active;
        let Stretched { kind, page_type, .. } = self.stretched[currents as usize];
        ActivePart { kind, page_type, reason, begin }
    }

    /// Records that the array phase in progress on a die ends, or is suspended.
    #[inline(always)]
    pub(crate) fn phase_done(&mut self, die_id: DieId, now: SimTime) {
        if now >= self.due {
            self.settle(now);
        }
        let die = &mut self.dies[die_id.index()];
        let begin = die.active.begin;
        die.active.is_on = false;
        if now <= begin {
            return;
        }
        let span = now.since(begin).0;
        let stretched = &self.stretched[die.active.currents as usize];
        if span != stretched.total {
            return self.add_part(die_id, now);
        }
        let (charge, reason) = (u128::from(stretched.charge), die.active.reason as usize);
        (die.charge, die.active_ns) = (die.charge + charge, die.active_ns + span);
        self.charge[stretched.kind as usize][reason] += charge;
        if die.active.is_retry {
            self.retries[reason] += charge;
        }
        self.windows.add(begin, stretched.last, &stretched.edges, &stretched.trains);
    }

    /// Brings the temperature up to date, and counts the windows in which nothing changes any more.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, now: SimTime) {
        self.heat(now);
        let active = self.dies.iter().map(|die| die.active).filter(|active| active.is_on);
        let first = active.map(|active| active.begin).min().unwrap_or(now);
        self.due = now + self.windows.settle(first.min(now));
        if let Some(thermal) = &self.thermal {
            self.due = self.due.min(thermal.next());
        }
    }

    /// Adds a part of a phase, which ends at `now`.
    #[inline(never)]
    fn add_part(&mut self, die_id: DieId, now: SimTime) {
        let Meter { stretched, dies, windows, edges, .. } = self;
        let die = &mut dies[die_id.index()];
        let Active { begin, from, currents, reason, is_retry, .. } = die.active;
        let (stretched, span) = (&stretched[currents as usize], now.since(begin).0);
        let charge = u128::from(find_edges(&stretched.steps, self.config.idle.0, (from, from + span), edges));
        (die.charge, die.active_ns) = (die.charge + charge, die.active_ns + span);
        self.charge[stretched.kind as usize][reason as usize] += charge;
        if is_retry {
            self.retries[reason as usize] += charge;
        }
        windows.add(begin, span, edges, &[]);
    }

    /// Returns the number of the currents of an operation, which are computed once for each duration.
    #[inline]
    fn currents(&mut self, operation: &Operation, total: u64, sense: u64) -> u32 {
        let recent = &self.recent[operation.kind as usize][operation.page_type as usize % RECENT];
        if (recent.total, recent.sense, recent.page_type) == (total, sense, operation.page_type) {
            return recent.currents;
        }
        self.other_currents(operation, total, sense)
    }

    /// Does the same for an operation that had other currents before.
    #[inline(never)]
    fn other_currents(&mut self, operation: &Operation, total: u64, sense: u64) -> u32 {
        let Operation { kind, page_type, .. } = *operation;
        let of = |one: &Stretched| (one.kind, one.page_type, one.total, one.sense, one.is_overhead);
        let is_it = |one: &Stretched| of(one) == (kind, page_type, total, sense, false);
        let known = self.stretched.iter().position(is_it);
        let currents = known.map_or_else(|| self.stretch(kind, page_type, total, sense), |index| index as u32);
        self.recent[kind as usize][page_type as usize % RECENT] = Recent { total, sense, page_type, currents };
        currents
    }

    #[cold]
    fn stretch(&mut self, kind: OperationKind, page_type: u32, total: u64, sense: u64) -> u32 {
        let steps = self.steps(kind, page_type, (total, sense), Waveform::stretched);
        self.make_space();
        let mut edges = Vec::new();
        let charge = find_edges(&steps, self.config.idle.0, (0, total), &mut edges);
        let trains = self.split_trains(kind, page_type, (total, sense), &mut edges);
        let end_of = |train: &Train| train.at + train.windows * self.config.window.0;
        let last = edges.iter().map(|edge| edge.at).chain(trains.iter().map(end_of)).max().unwrap_or(0);
        let is_overhead = false;
        self.stretched.push(Stretched { kind, page_type, total, sense, is_overhead, steps, edges, trains, last, charge });
        self.stretched.len() as u32 - 1
    }

    /// Returns the number of the currents of an overhead of `total` ns.
    #[cold]
    fn overhead(&mut self, page_type: u32, current: u64, total: u64) -> u32 {
        let (kind, steps) = (OperationKind::Program, vec![(0, current)]);
        let is_it = |one: &Stretched| one.is_overhead && (one.page_type, one.total, &one.steps) == (page_type, total, &steps);
        if let Some(known) = self.stretched.iter().position(is_it) {
            return known as u32;
        }
        self.make_space();
        let mut edges = Vec::new();
        let charge = find_edges(&steps, self.config.idle.0, (0, total), &mut edges);
        let (sense, trains, is_overhead) = (0, Vec::new(), true);
        let last = edges.last().map_or(0, |edge| edge.at);
        self.stretched.push(Stretched { kind, page_type, total, sense, is_overhead, steps, edges, trains, last, charge });
        self.stretched.len() as u32 - 1
    }

    /// Drops currents if there are many: where durations are drawn at random, almost none occurs twice.
    fn make_space(&mut self) {
        if self.stretched.len() >= 2 * self.dies.len() + STRETCHED {
            self.drop_unused();
        }
    }

    /// Returns the steps of an array phase of `total` ns, of which a copyback has `sense` ns for sensing.
    fn steps(
        &self,
        kind: OperationKind,
        page_type: u32,
        (total, sense): (u64, u64),
        stretched: impl Fn(&Waveform, u64) -> Vec<(u64, u64)>,
    ) -> Vec<(u64, u64)> {
        let PowerConfig { read, program, erase, .. } = &self.config;
        match kind {
            OperationKind::Read => stretched(read.of(page_type), total),
            OperationKind::Program => stretched(program.of(page_type), total),
            OperationKind::Erase | OperationKind::LazyErase => stretched(erase, total),
            OperationKind::Copyback => {
                let program = stretched(program.of(page_type), total.saturating_sub(sense));
                let first = stretched(read.of(page_type), sense);
                first.into_iter().chain(program.into_iter().map(|(at, current)| (at + sense, current))).collect()
            }
        }
    }

    /// Takes pulses that recur out of the changes of an array phase, and returns them.
    fn split_trains(&self, kind: OperationKind, page_type: u32, times: (u64, u64), edges: &mut Vec<Edge>) -> Vec<Train> {
        let Some(period) = self.windows.period() else { return Vec::new() };
        let steps = self.steps(kind, page_type, times, Waveform::without_pulses);
        let mut rest = Vec::new();
        find_edges(&steps, self.config.idle.0, (0, times.0), &mut rest);
        take_trains(edges, rest, period)
    }

    /// Drops the currents that no phase in progress or suspended has.
    fn drop_unused(&mut self) {
        let mut kept = Vec::with_capacity(2 * self.dies.len() + STRETCHED);
        for active in self.dies.iter_mut().map(|die| &mut die.active).chain(&mut self.suspended) {
            kept.push(self.stretched[active.currents as usize].clone());
            active.currents = kept.len() as u32 - 1;
        }
        self.stretched = kept;
        self.recent = [[NOTHING; RECENT]; KINDS];
    }

    /// Returns the energy and power up to `now`.
    pub fn report(&self, now: SimTime) -> PowerReport {
        let mut end = self.clone();
        end.heat(now);
        for die in (0..).map(DieId).take(self.dies.len()).filter(|die| self.is_active(*die)) {
            end.phase_done(die, now);
        }
        end.windows.settle(now);
        let span_ns = now.since(end.start).0;
        let supply = u128::from(self.config.supply.0);
        let at_rest = u128::from(self.config.idle.0) * supply;
        let idle_by_die: Vec<u128> = end.dies.iter().map(|die| u128::from(span_ns - die.active_ns) * at_rest).collect();
        PowerReport {
            energy: end.charge.map(|kind| kind.map(|charge| charge * supply)),
            retries: end.retries.map(|charge| charge * supply),
            by_die: end.dies.iter().map(|die| die.charge * supply).collect(),
            idle: idle_by_die.iter().sum(),
            idle_by_die,
            span_ns,
            windows: end.windows.report(self.config.supply.0),
            cap: None,
            thermal: end.thermal.as_ref().map(|thermal| thermal.report()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::{Constant, Step, Steps, Waveforms};
    use kit::Voltage;

    const IDLE: u64 = 10;

    fn meter(dies: u32) -> Meter {
        let step = |at: u64, current: u64| Step { at: Nanos(at), current: Current(current) };
        let constant = |current: u64| Waveform::Constant(Constant { current: Current(current) });
        let program = Steps { steps: vec![step(0, 4_000), step(40_000, 20_000)], length: Nanos(100_000) };
        let config = PowerConfig {
            supply: Voltage(3_300),
            read: Waveforms::Each(vec![constant(8_000), constant(15_000)]),
            program: Waveforms::One(Waveform::Steps(program)),
            ..PowerConfig::constant(Current(IDLE), Current(9_000))
        };
        Meter::new(&config, dies)
    }

    fn operation(kind: OperationKind, die: u32, page_type: u32) -> Operation {
        Operation { kind, die: DieId(die), page_type, ..Operation::default() }
    }

    /// Die 0 programs from 0 to 200 us (its currents stretched twice), die 1 from 20 to 220 us, die 2 senses the second
    /// page type from 150 to 160 us: the second steps of the programs, from 80 and 100 us on, overlap with the read.
    #[test]
    fn the_currents_of_dies_with_known_phases_add_up() {
        let mut meter = meter(3);
        for (die, begin) in [(0, 0), (1, 20_000)] {
            meter.begin(&operation(OperationKind::Program, die, 0), SimTime(begin), 200_000, 0);
        }
        meter.begin(&operation(OperationKind::Read, 2, 1), SimTime(150_000), 10_000, 0);
        meter.phase_done(DieId(2), SimTime(160_000));
        meter.phase_done(DieId(0), SimTime(200_000));
        meter.phase_done(DieId(1), SimTime(220_000));
        let report = meter.report(SimTime(1_000_000));
        let program = (4_000 * 80_000 + 20_000 * 120_000) * 3_300u128;
        assert_eq!(report.by_die, [program, program, 15_000 * 10_000 * 3_300]);
        assert_eq!(report.energy[OperationKind::Program as usize][Reason::Host as usize], 2 * program);
        assert_eq!(report.idle, u128::from(IDLE) * (3_000_000 - 410_000) * 3_300);
        let nanowatts = |current: u64| (current * 3_300) as f64 / 1e9;
        assert_eq!((report.windows.count, report.windows.peak_w), (1000, nanowatts(20_000 + 20_000 + 15_000)));
        // Rows of one window each: before the steps, between them, and after the end of the first program.
        for (at, current) in
            [(10, 4_000 + 2 * IDLE), (30, 8_000 + IDLE), (90, 24_000 + IDLE), (120, 40_000 + IDLE), (210, 20_000 + 2 * IDLE)]
        {
            assert_eq!(report.windows.rows[at].2, nanowatts(current), "window {at}");
        }
    }

    /// A program that is suspended after 60 of 100 us, and goes on at 500 us with 40 us left.
    #[test]
    fn a_suspended_operation_draws_the_rest_of_its_currents_later() {
        let mut meter = meter(1);
        meter.begin(&operation(OperationKind::Program, 0, 0), SimTime(0), 100_000, 0);
        meter.suspend(DieId(0), SimTime(60_000));
        // A read in the meantime.
        meter.begin(&operation(OperationKind::Read, 0, 0), SimTime(100_000), 50_000, 0);
        meter.phase_done(DieId(0), SimTime(150_000));
        meter.resume(DieId(0), SimTime(500_000));
        let halfway = meter.report(SimTime(520_000)).total();
        let read = 8_000 * 50_000;
        assert_eq!(halfway, (4_000 * 40_000 + 20_000 * 40_000 + read + u128::from(IDLE) * 390_000) * 3_300);
        meter.phase_done(DieId(0), SimTime(540_000));
        let report = meter.report(SimTime(540_000));
        assert_eq!(report.by_die, [(4_000 * 40_000 + 20_000 * 60_000 + read) * 3_300]);
        assert_eq!((report.windows.rows[300].1, report.windows.rows[510].2), (33e-6, 0.066));
    }

    /// A measurement that begins in the middle of a program has the rest of it; a time without power has no energy.
    #[test]
    fn a_measurement_begins_where_it_is_told_to() {
        let mut meter = meter(1);
        meter.begin(&operation(OperationKind::Program, 0, 0), SimTime(0), 100_000, 0);
        meter.restart(SimTime(30_500));
        meter.phase_done(DieId(0), SimTime(100_000));
        let program = 4_000 * 9_500 + 20_000 * 60_000;
        assert_eq!(meter.report(SimTime(130_500)).total(), (program + u128::from(IDLE) * 30_500) * 3_300);
        meter.exclude(Nanos(1_000_000));
        assert_eq!(meter.report(SimTime(1_130_500)).total(), (program + u128::from(IDLE) * 30_500) * 3_300);
    }

    /// Durations that are drawn at random never recur: the currents of phases in progress stay.
    #[test]
    fn currents_of_phases_in_progress_are_kept() {
        let mut meter = meter(2);
        meter.begin(&operation(OperationKind::Program, 1, 0), SimTime(0), 1_000_000, 0);
        for round in 0..500u64 {
            let begin = SimTime(round * 1_000);
            meter.begin(&operation(OperationKind::Program, 0, 0), begin, 500 + round, 0);
            meter.phase_done(DieId(0), SimTime(begin.0 + 500 + round));
        }
        meter.phase_done(DieId(1), SimTime(1_000_000));
        assert_eq!(meter.report(SimTime(1_000_000)).by_die[1], (4_000 * 400_000 + 20_000 * 600_000) * 3_300);
        assert!(meter.stretched.len() <= 4 + STRETCHED);
    }
}
