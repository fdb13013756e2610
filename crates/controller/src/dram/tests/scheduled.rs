//! A channel with few events does what one does that has an event for every decision.

use super::super::Scheduled;
use super::super::channel::Kind;
use super::random::combinations;
use super::*;

/// Accesses that begin, and accesses that end, each with its instant.
#[derive(Default, PartialEq, Debug)]
struct Noticed {
    begun: Vec<(TransactionId, SimTime)>,
    done: Vec<(TransactionId, SimTime)>,
    /// Events of the channel.
    grants: usize,
    /// Ends that did not hold when they came.
    stale: usize,
}

/// A channel of either kind.
trait Memory {
    fn ask(&mut self, access: Access, now: SimTime) -> Granted;
    fn grant(&mut self, now: SimTime) -> Granted;
    fn is_stale(&mut self, end: (TransactionId, SimTime)) -> bool;
    /// Returns the channel with all decisions before `now`.
    fn at(&self, now: SimTime) -> Ddr;
}

/// An event for each decision, except that an access that finds the channel at rest is granted at once.
impl Memory for Ddr {
    fn ask(&mut self, access: Access, now: SimTime) -> Granted {
        match Ddr::ask(self, access, now) {
            Some(first) if first <= now => Ddr::grant(self, now),
            next => Granted { begun: None, done: None, next },
        }
    }

    fn grant(&mut self, now: SimTime) -> Granted {
        Ddr::grant(self, now)
    }

    fn is_stale(&mut self, _: (TransactionId, SimTime)) -> bool {
        false
    }

    fn at(&self, _: SimTime) -> Ddr {
        self.clone()
    }
}

impl Memory for Scheduled {
    fn ask(&mut self, access: Access, now: SimTime) -> Granted {
        Scheduled::ask(self, access, now)
    }

    fn grant(&mut self, now: SimTime) -> Granted {
        Scheduled::grant(self, now)
    }

    fn is_stale(&mut self, (transaction, at): (TransactionId, SimTime)) -> bool {
        Scheduled::is_stale(self, transaction, at)
    }

    fn at(&self, now: SimTime) -> Ddr {
        let ddr = Scheduled::at(self, now);
        assert_eq!(self.is_at_rest(now), ddr.is_at_rest());
        ddr
    }
}

/// A channel with the events that it has asked for.
struct Events<C> {
    channel: C,
    grants: Vec<SimTime>,
    ends: Vec<(TransactionId, SimTime)>,
    noticed: Noticed,
}

impl<C: Memory> Events<C> {
    fn new(channel: C) -> Events<C> {
        Events { channel, grants: Vec::new(), ends: Vec::new(), noticed: Noticed::default() }
    }

    fn add(&mut self, granted: Granted, now: SimTime) {
        assert!(granted.done.is_none_or(|(_, at)| at > now) && granted.next.is_none_or(|at| at >= now), "{granted:?} at {now:?}");
        self.noticed.begun.extend(granted.begun.map(|transaction| (transaction, now)));
        self.ends.extend(granted.done);
        self.grants.extend(granted.next);
    }

    /// Handles the events before `now`. The ends of an instant come before its grants.
    fn run_before(&mut self, now: u64) {
        loop {
            let end = (0..self.ends.len()).min_by_key(|&index| self.ends[index].1);
            let grant = (0..self.grants.len()).min_by_key(|&index| self.grants[index]);
            let at = |instant: Option<SimTime>| instant.map_or(u64::MAX, |instant| instant.0);
            let (ends, grants) = (at(end.map(|index| self.ends[index].1)), at(grant.map(|index| self.grants[index])));
            match (end, grant) {
                (Some(end), _) if ends <= grants && ends < now => self.end(end),
                (_, Some(grant)) if grants < now => {
                    let at = self.grants.swap_remove(grant);
                    let granted = self.channel.grant(at);
                    self.add(granted, at);
                    self.noticed.grants += 1;
                }
                _ => return,
            }
        }
    }

    fn end(&mut self, index: usize) {
        let end = self.ends.swap_remove(index);
        if self.channel.is_stale(end) {
            self.noticed.stale += 1;
        } else {
            self.noticed.done.push(end);
        }
    }

    /// Asks for all accesses, after the ends and before the grants of their instants. Returns busy times and counts at
    /// the instant of every fourth.
    fn drive(&mut self, traffic: &[(Access, u64)]) -> Vec<(Nanos, Nanos, Counters)> {
        let mut found = Vec::new();
        for (number, &(access, at)) in traffic.iter().enumerate() {
            self.run_before(at);
            while let Some(index) = self.ends.iter().position(|end| end.1.0 == at) {
                self.end(index);
            }
            let now = SimTime(at);
            if number % 4 == 0 {
                let ddr = self.channel.at(now);
                found.push((ddr.busy(now), ddr.data_bus_busy(now), ddr.counters(now)));
            }
            let granted = self.channel.ask(access, now);
            self.add(granted, now);
        }
        self.run_before(u64::MAX);
        found
    }
}

/// Returns the commands of a channel, without the instants of their decisions.
fn commands(ddr: &Ddr) -> Vec<(u64, Kind, usize, usize, u32)> {
    log(ddr).iter().map(|command| (command.cycle, command.kind, command.rank, command.bank, command.row)).collect()
}

/// Returns random accesses, `pace` times as far apart as those of [`Traffic`], of up to `longest` bytes of data.
fn stretched(seed: u64, params: &Params, (count, pace, longest): (usize, u64, u64)) -> Vec<(Access, u64)> {
    let mut traffic = Traffic::new(seed, params);
    let mut rng = Rng::stream(seed, "dram.scheduled");
    (0..count)
        .map(|_| {
            let (mut access, now) = traffic.next();
            let longest = if access.class == AccessClass::Map && !rng.chance(0.1) { 64 } else { longest };
            let bytes = if rng.chance(0.3) { longest } else { 1 + rng.below(longest) };
            access.bytes = Bytes(bytes.min(params.size.0 - access.address));
            (access, now * pace)
        })
        .collect()
}

/// In every combination of parameters, for accesses from sparse to dense and of up to several rows, each command has
/// the same cycle and each access begins and ends at the same instant with either channel, and busy times and counters
/// agree at the instants of accesses. Accesses to the map come between the chunks of many others.
#[test]
fn few_events_change_nothing() {
    let (mut all, mut few, mut stale) = (0, 0, 0);
    for (number, params) in combinations() {
        for (kind, shape) in [(200, 8, 20_000), (200, 3, 4_096), (200, 1, 3_000), (100, 60, 4_096)].into_iter().enumerate() {
            let accesses = stretched((4 * number + kind) as u64, &params, shape);
            let timing = params.grade.timing();
            let mut each = Events::new(recording(&params, &timing));
            let mut trains = Events::new(Scheduled::over(recording(&params, &timing)));
            let (expected, found) = (each.drive(&accesses), trains.drive(&accesses));
            let never = SimTime(SimTime::LAST.0);
            let logs = [each.channel.at(never), trains.channel.at(never)].map(|ddr| commands(&ddr));
            let differs = logs[0].iter().zip(&logs[1]).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{params:?} {shape:?}");
            assert_eq!(logs[0].len(), logs[1].len(), "{params:?} {shape:?}");
            let (mut one, mut other) = (each.noticed, trains.noticed);
            // Ends of an instant may come in another order.
            for noticed in [&mut one, &mut other] {
                noticed.done.sort_unstable_by_key(|&(transaction, at)| (at, transaction.0));
            }
            assert_eq!(one.begun, other.begun, "{params:?} {shape:?}");
            assert_eq!(one.done, other.done, "{params:?} {shape:?}");
            assert_eq!(one.done.len(), accesses.len(), "{params:?} {shape:?}");
            assert!(expected == found, "{params:?} {shape:?}");
            all += one.grants;
            few += other.grants;
            stale += other.stale;
        }
    }
    assert!(few * 2 < all, "{few} grants instead of {all}");
    assert!(stale > 1_000, "{stale} trains were shortened");
}

fn ddr3(refresh: bool) -> Params {
    Params { grade: Grade::Ddr3At1333, width_bits: 64, refresh, ..Params::default() }
}

/// The end of an access that is alone is returned with its beginning, except where a refresh comes between.
#[test]
fn an_access_alone_needs_no_event() {
    for refresh in [false, true] {
        let traffic: Vec<(Access, u64)> = (0..200)
            .map(|number| (access(number, u64::from(number) << 12, 4096, AccessKind::Read), u64::from(number) * 997))
            .collect();
        let mut events = Events::new(Scheduled::new(&ddr3(refresh)));
        events.drive(&traffic);
        assert_eq!((events.noticed.done.len(), events.noticed.stale), (200, 0));
        let grants = events.noticed.grants;
        assert!(if refresh { (1..30).contains(&grants) } else { grants == 0 }, "{grants} grants");
    }
}

/// Accesses that wait for one another have one event each: its beginning, with which its end is returned.
#[test]
fn an_access_that_waits_has_one_event() {
    let traffic: Vec<(Access, u64)> =
        (0..200).map(|number| (access(number, u64::from(number) << 12, 4096, AccessKind::Write), 0)).collect();
    let mut events = Events::new(Scheduled::new(&ddr3(false)));
    events.drive(&traffic);
    assert_eq!((events.noticed.done.len(), events.noticed.grants), (200, 199));
}

/// An access to the map at the instant of the last decision of a train takes part in it; a nanosecond later it does
/// not, and the end that was returned holds. Data never comes between.
#[test]
fn a_train_is_shortened_until_its_last_decision() {
    let read = |transaction: u32, class: AccessClass| Access { class, ..access(transaction, 1 << 20, 64, AccessKind::Read) };
    // DDR3-1333, tRCD of 10 cycles: the first of eight chunks of 8 bursts of 4 cycles begins 15 ns after the access,
    // and the last decision is at the beginning of the seventh.
    let decided = 15 + 6 * 48;
    let ends = |later: Option<(AccessClass, u64)>| {
        let mut traffic = vec![(access(0, 0, 4096, AccessKind::Read), 0)];
        traffic.extend(later.map(|(class, at)| (read(1, class), at)));
        let mut events = Events::new(Scheduled::new(&ddr3(false)));
        events.drive(&traffic);
        let first = events.noticed.done.iter().find(|(transaction, _)| transaction.0 == 0).expect("it is done");
        (first.1.0, events.noticed.stale)
    };
    // Activate, read latency of 10 cycles, and 256 cycles of data.
    let (alone, _) = ends(None);
    assert_eq!(alone, 15 + 15 + 64 * 6);
    for at in [1, 15, 100, decided - 1, decided, decided + 1, decided + 40] {
        let (end, stale) = ends(Some((AccessClass::Map, at)));
        assert_eq!((end > alone, stale), if at <= decided { (true, 1) } else { (false, 0) }, "at {at}");
        assert_eq!(ends(Some((AccessClass::Data, at))), (alone, 0), "at {at}");
    }
}
