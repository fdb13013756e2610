//! Refresh: when it is due, made up for lazily, and at no cost for a long idle time.

use super::super::channel::Kind;
use super::super::check::violations;
use super::*;

/// Every grade with one and two ranks, and refresh by bank where there is one; and a narrow bus, on which the data of
/// two chunks takes longer than tREFI.
fn variants() -> impl Iterator<Item = Params> {
    let of_grade = |grade: Grade| {
        let variant = move |number: u32| Params {
            grade,
            ranks: 1 + number % 2,
            refresh_per_bank: number >= 2,
            page: if number.is_multiple_of(2) { Page::Open } else { Page::Closed },
            ..Params::default()
        };
        (0..if grade.timing().rfc_bank > 0 { 4 } else { 2 }).map(variant)
    };
    let narrow = [Grade::Sdr133, Grade::Lpddr4At2400].into_iter().flat_map(of_grade);
    let narrow = narrow.map(|params| Params { width_bits: 8, chunk: Bytes(1_024), ..params });
    Grade::ALL.into_iter().flat_map(of_grade).chain(narrow)
}

/// Accesses in groups, with idle times of up to `longest` ns between them.
fn traffic(seed: u64, params: &Params, longest: u64) -> Vec<(Access, u64)> {
    let mut rng = Rng::stream(seed, "dram.idle");
    let mut now = 0;
    let next = |number| {
        if rng.chance(0.4) {
            now += rng.below(longest);
        }
        let kind = if rng.chance(0.5) { AccessKind::Read } else { AccessKind::Write };
        let bytes = 1 + rng.below(2_000);
        (access(number, rng.below(params.size.0 - bytes), bytes, kind), now)
    };
    (0..150).map(next).collect()
}

/// The reference: while no access waits, each refresh is placed at the instant at which it is due, before anything else
/// happens.
fn eagerly(params: &Params, traffic: &[(Access, u64)]) -> Driven {
    let mut ddr = recording(params, &params.grade.timing());
    ddr.refresh.one_by_one = true;
    let mut driven = Driven::new(ddr);
    for &(access, now) in traffic {
        while driven.next.is_some_and(|next| next.0 < now) {
            driven.grant();
        }
        while driven.next.is_none() && driven.ddr.refresh.due() <= SimTime(now) {
            let due = driven.ddr.refresh.due();
            driven.ddr.refresh.after_idle_time(&mut driven.ddr.channel, due);
        }
        driven.ask(access, now);
    }
    driven.finish();
    driven
}

#[test]
fn lazy_refresh_equals_refresh_when_it_is_due() {
    for (number, params) in variants().enumerate() {
        for longest in [500, 20_000, 300_000] {
            let traffic = traffic(number as u64, &params, longest);
            let eager = eagerly(&params, &traffic);
            let mut lazy = Driven::new(Ddr::new(&params));
            for &(access, now) in &traffic {
                lazy.ask(access, now);
            }
            let end = lazy.finish();
            assert_eq!(lazy.done, eager.done, "{params:?}, idle up to {longest} ns");
            assert_eq!(lazy.ddr.counters(end), eager.ddr.counters(end), "{params:?}");
            let found = violations(&params.grade.timing(), params.ranks as usize, log(&eager.ddr));
            assert!(found.is_empty(), "{params:?}: {:?}", found[0]);
            // A canary: refresh has an effect on this traffic.
            let mut without = Driven::new(Ddr::new(&Params { refresh: false, refresh_per_bank: false, ..params.clone() }));
            for &(access, now) in &traffic {
                without.ask(access, now);
            }
            without.finish();
            assert_ne!(lazy.done, without.done, "{params:?}, idle up to {longest} ns");
        }
    }
}

/// The refreshes of an idle channel with closed banks are exactly at the multiples of tREFI.
#[test]
fn an_idle_channel_is_refreshed_when_it_is_due() {
    let params = Params { ranks: 2, ..Params::default() };
    let mut ddr = recording(&params, &params.grade.timing());
    ddr.refresh.one_by_one = true;
    ddr.ask(access(0, 0, 64, AccessKind::Read), SimTime(40_000));
    let cycles: Vec<u64> = log(&ddr).iter().map(|command| command.cycle).collect();
    // 7.8 us are 5200 cycles. One rank after the other.
    assert_eq!(cycles, (1..=5).flat_map(|k| [k * 5_200, k * 5_200 + 1]).collect::<Vec<_>>());
    assert!(log(&ddr).iter().all(|command| command.kind == Kind::Refresh));
}

/// A refresh that falls due while accesses wait happens at the next decision: no two are much further apart than tREFI,
/// and none is lost.
#[test]
fn a_busy_channel_is_refreshed_at_the_next_decision() {
    for params in variants() {
        let timing = params.grade.timing();
        let params = Params { width_bits: 64, chunk: Bytes(512), ..params };
        let mut driven = Driven::new(recording(&params, &timing));
        for number in 0..600 {
            driven.ask(access(number, u64::from(number) * 4_096, 4_096, AccessKind::Read), 0);
        }
        assert_eq!(driven.ddr.counters(SimTime(20_000)).refreshes, 0, "none happens before the first decision");
        let end = driven.finish();
        let kind = if params.refresh_per_bank { Kind::RefreshBank } else { Kind::Refresh };
        let interval = if params.refresh_per_bank { timing.refi / 8 } else { timing.refi };
        let cycles: Vec<u64> = log(&driven.ddr)
            .iter()
            .filter(|command| command.kind == kind && command.rank == 0)
            .map(|command| command.cycle)
            .collect();
        // The chunk before the decision and the one at it, and the closing of the banks.
        let late = 2 * 512 / 8 + timing.cl + timing.burst_cycles() + timing.ras + timing.rc + timing.rp_all;
        for (index, &cycle) in cycles.iter().enumerate() {
            let due = (index as u64 + 1) * interval;
            assert!((due..due + late).contains(&cycle), "{params:?}: {cycle}, due {due}");
        }
        let expected = end.0 * 1_000 / timing.tck_ps / interval;
        assert!(expected - cycles.len() as u64 <= 1, "{params:?}: {} of {expected}", cycles.len());
        assert_eq!(driven.ddr.refresh.count(SimTime::ZERO, false), cycles.len() as u64);
    }
}

/// 280 years without accesses: some 10^15 refreshes, counted and made up for without a loop over them.
#[test]
fn a_long_idle_time_costs_no_more_than_a_short_one() {
    for params in variants() {
        let timing = params.grade.timing();
        let mut driven = Driven::new(Ddr::new(&params));
        driven.ask(access(0, 0, 64, AccessKind::Write), 100);
        driven.finish();
        let banks = if params.refresh_per_bank { 8 } else { 1 };
        let interval_ps = u128::from(timing.refi / banks * timing.tck_ps);
        let now = SimTime::LAST;
        let expected = (u128::from(now.0) * 1_000 / interval_ps) as u64;
        assert_eq!(driven.ddr.counters(now).refreshes, expected, "{params:?}: before it is made up for");
        driven.ask(access(1, 0, 64, AccessKind::Read), now.0);
        assert_eq!(driven.ddr.counters(now).refreshes, expected, "{params:?}");
        let end = driven.finish();
        assert!(end > now && end.0 < now.0 + 2_000, "{params:?}: {end:?}");
        assert_eq!(driven.ddr.counters.row_misses, 2, "{params:?}: refresh has closed the row");
    }
}

#[test]
fn a_memory_without_refresh_keeps_its_rows() {
    let params = Params { refresh: false, ..Params::default() };
    let mut driven = Driven::new(Ddr::new(&params));
    driven.ask(access(0, 0, 64, AccessKind::Write), 100);
    driven.ask(access(1, 64, 64, AccessKind::Read), 1_000_000_000);
    driven.finish();
    let counters = driven.ddr.counters(SimTime::LAST);
    assert_eq!((counters.refreshes, counters.row_hits, counters.row_misses), (0, 1, 1));
}
