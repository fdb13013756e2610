//! The time for which ranks have an open row, against the log of the commands.

use super::super::channel::Kind;
use super::random::combinations;
use super::*;

/// Returns the cycles until `end` for which a rank has an open row, of all ranks together, by the commands of a log.
fn cycles_open(params: &Params, commands: &[Command], end: u64) -> u64 {
    let banks = params.grade.timing().banks as usize;
    let mut sorted: Vec<&Command> = commands.iter().filter(|command| command.cycle < end).collect();
    sorted.sort_by_key(|command| command.cycle);
    let (mut open, mut sum) = (vec![vec![false; banks]; params.ranks as usize], 0);
    let mut since = vec![0; params.ranks as usize];
    for command in sorted {
        let rank = &mut open[command.rank];
        let was_open = rank.contains(&true);
        match command.kind {
            Kind::Activate => rank[command.bank] = true,
            Kind::Precharge => rank[command.bank] = false,
            Kind::PrechargeAll => rank.fill(false),
            _ => continue,
        }
        match (was_open, rank.contains(&true)) {
            (false, true) => since[command.rank] = command.cycle,
            (true, false) => sum += command.cycle - since[command.rank],
            _ => {}
        }
    }
    sum + open.iter().zip(since).filter(|(rank, _)| rank.contains(&true)).map(|(_, since)| end - since).sum::<u64>()
}

/// Random accesses to every grade with open pages: as by the log, but that tRP more may count for each pair of
/// banks of DDR4 that is activated, and for each refresh of a bank.
#[test]
fn open_rows_are_those_of_the_log() {
    let mut exact = 0;
    for (number, params) in combinations().filter(|(_, params)| params.page == Page::Open) {
        let timing = params.grade.timing();
        let mut driven = Driven::new(recording(&params, &timing));
        let mut traffic = Traffic::new(number as u64, &params);
        for count in 0..400 {
            let (access, now) = traffic.next();
            driven.ask(access, now);
            if count % 100 != 99 {
                continue;
            }
            // Nothing is under way: the commands up to now are known. Then a time in which refreshes close the rows.
            let last = driven.finish();
            for at in [last.0, last.0 + 100, last.0 + 50_000] {
                let edge = driven.ddr.clock.edge(SimTime(at));
                let counters = driven.ddr.counters(SimTime(at));
                let mut made_up = driven.ddr.clone();
                if made_up.refresh.is_due(SimTime(at)) {
                    made_up.refresh.one_by_one = true;
                    made_up.refresh.after_idle_time(&mut made_up.channel, SimTime(at));
                }
                let expected = cycles_open(&params, log(&made_up), edge);
                let pairs = if timing.groups > 1 { counters.activates / 2 } else { 0 };
                let by_bank = if params.refresh_per_bank { counters.refreshes } else { 0 };
                let more = (pairs + by_bank) * (timing.rp + 2);
                let found = counters.cycles_open;
                assert!((expected..=expected + more).contains(&found), "{params:?}: {found}, expected {expected} to {more} more");
                exact += u32::from(found == expected && found > 0);
            }
            traffic.now = last.0 + 60_000;
        }
    }
    assert!(exact > 1_000, "{exact}");
}

/// With a closed page, a read of one burst has its row open from the activate to the precharge that it brings.
#[test]
fn a_closed_page_is_open_until_its_precharge() {
    let params = Params { page: Page::Closed, refresh: false, ..Params::default() };
    let timing = params.grade.timing();
    let mut driven = Driven::new(recording(&params, &timing));
    driven.ask(access(0, 0, 32, AccessKind::Read), 0);
    let end = driven.finish();
    let open = timing.ras.max(timing.rcd + timing.rtp);
    assert_eq!(driven.ddr.counters(SimTime(end.0 + 1_000)).cycles_open, open);
    assert_eq!(driven.ddr.counters(SimTime(end.0 + 1_000)).bursts_read, 1);
}
