//! A channel with few events does what one does that has an event for every decision.

use super::super::Scheduled;
use super::random::combinations;
use super::*;

/// Accesses that begin, and accesses that end, each with its instants.
#[derive(Default, PartialEq, Debug)]
struct Noticed {
    begun: Vec<(TransactionId, SimTime)>,
    done: Vec<(TransactionId, SimTime, SimTime)>,
}

impl Noticed {
    fn add(&mut self, granted: &Granted, now: SimTime) {
        self.begun.extend(granted.begun.map(|transaction| (transaction, now)));
        self.done.extend(granted.done.map(|(transaction, at)| (transaction, now, at)));
    }
}

/// Calls the grants of a channel until all accesses of `traffic` are done. `probe` sees the instant of each access.
/// Returns what was noticed and the number of grants.
fn drive<C>(
    mut channel: C,
    traffic: &[(Access, u64)],
    ask: impl Fn(&mut C, Access, SimTime) -> Option<SimTime>,
    grant: impl Fn(&mut C, SimTime) -> Granted,
    mut probe: impl FnMut(&C, SimTime),
) -> (Noticed, usize) {
    let (mut noticed, mut grants, mut due) = (Noticed::default(), 0, Vec::new());
    let end = (None, u64::MAX);
    for (access, now) in traffic.iter().map(|&(access, now)| (Some(access), now)).chain([end]) {
        // Accesses of an instant are asked for before its grants.
        while let Some(first) = due.iter().copied().filter(|at: &SimTime| at.0 < now).min() {
            due.remove(due.iter().position(|at| *at == first).expect("it is there"));
            let granted = grant(&mut channel, first);
            noticed.add(&granted, first);
            due.extend(granted.next);
            grants += 1;
        }
        if let Some(access) = access {
            probe(&channel, SimTime(now));
            due.extend(ask(&mut channel, access, SimTime(now)));
        }
    }
    (noticed, grants)
}

/// In every combination of parameters, and for accesses of up to several rows, each access begins and ends at the same
/// decision with either channel, and the data bus and the counters agree at the instant of every access.
#[test]
fn few_events_change_nothing() {
    let (mut all, mut few) = (0, 0);
    for (number, params) in combinations() {
        let mut traffic = Traffic::new(number as u64, &params);
        let mut stretch = Rng::stream(number as u64, "dram.scheduled");
        let accesses: Vec<(Access, u64)> = (0..300)
            .map(|_| {
                let (mut access, now) = traffic.next();
                let longest = if access.class == AccessClass::Map { 64 } else { 20_000 };
                access.bytes = Bytes((1 + stretch.below(longest)).min(params.size.0 - access.address));
                (access, now * 8)
            })
            .collect();
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let (one, grants) = drive(Ddr::new(&params), &accesses, Ddr::ask, Ddr::grant, |ddr, now| {
            expected.push((ddr.busy(now), ddr.data_bus_busy(now), ddr.counters(now)));
        });
        all += grants;
        let (other, grants) = drive(Scheduled::new(&params), &accesses, Scheduled::ask, Scheduled::grant, |channel, now| {
            found.push((channel.busy(now), channel.data_bus_busy(now), channel.counters(now)));
        });
        few += grants;
        let differs = one.done.iter().zip(&other.done).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{params:?}");
        assert!(one == other, "{params:?}");
        assert!(expected == found, "{params:?}");
    }
    assert!(few * 2 < all, "{few} grants instead of {all}");
}

/// An access that is alone has three events at most: its first chunk, its last one, and a refresh in between.
#[test]
fn an_access_alone_has_an_event_at_its_beginning_and_one_at_its_end() {
    let params = Params { grade: Grade::Ddr3At1333, width_bits: 64, ..Params::default() };
    for refresh in [false, true] {
        let params = Params { refresh, ..params.clone() };
        let traffic: Vec<(Access, u64)> = (0..200)
            .map(|number| (access(number, u64::from(number) << 12, 4096, AccessKind::Read), u64::from(number) * 997))
            .collect();
        let (noticed, grants) = drive(Scheduled::new(&params), &traffic, Scheduled::ask, Scheduled::grant, |_, _| {});
        assert_eq!(noticed.done.len(), 200);
        assert!((400..=if refresh { 430 } else { 400 }).contains(&grants), "{grants} grants");
    }
}
