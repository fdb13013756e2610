//! Transactions on their way through a memory whose accesses are granted piece by piece.

use super::*;
use crate::dram::Params;
use crate::memory::MemoryConfig;
use kit::Rng;

/// Data passes through a DDR channel while the map is looked up in it. The end of an access of data that was announced
/// does not hold where a look-up has come between; the way goes on once, at the end that holds, and the wait and the
/// access are charged to the account up to that instant.
#[test]
fn a_way_goes_on_once_though_the_end_of_its_access_is_put_off() {
    let dram = MemoryConfig::Ddr(Params { refresh: false, ..Params::default() });
    let section = ControllerSection { dram, ..ControllerSection::default() };
    let mut controller = Controller::new(&ControllerConfig { section, user_units: 1 << 16, ..ControllerConfig::default() });
    let (mut out, mut rng, mut begun, mut now) = (Outbox::new(1, 1), Rng::stream(1, "controller.memory"), Vec::new(), 0);
    let (mut ended, mut put_off) = (0, 0);
    for number in 0..=2_000 {
        now += if number < 2_000 { rng.below(400) } else { 1_000_000 };
        while out.events.next_time().is_some_and(|at| at.0 < now) {
            let (at, _, event) = out.events.pop().expect("there is one");
            match event {
                Event::Memory(channel) => controller.memory_grants(channel, at, &mut out),
                Event::Step(id) => match controller.step_done(id, at, &mut out) {
                    Some(Continuation::Submitted(CommandId(command))) => {
                        let (account, since) = begun[command as usize];
                        let ledger = out.accounts[account].ledger();
                        assert_eq!(ledger.total(), at.since(since), "{command}");
                        assert_eq!(ledger.get(Cause::Dram) + ledger.get(Cause::DramWait), at.since(since), "{command}");
                        ended += 1;
                    }
                    Some(other) => panic!("{other:?}"),
                    None => put_off += 1,
                },
                other => panic!("{other:?}"),
            }
        }
        let account = out.accounts.take();
        out.accounts[account].open(SimTime(now));
        begun.push((account, SimTime(now)));
        let route = if rng.chance(0.4) { Route::Admit(Op::Read) } else { Route::ToHost };
        let place = Place { unit: rng.below(1 << 16) as u32, ..Place::default() };
        let continuation = Continuation::Submitted(CommandId(number));
        let transfer = Transfer { data: data(1), place, continuation, account: Some(AccountId::Host(account)) };
        assert_eq!(controller.send(route, transfer, SimTime(now), &mut out), None);
    }
    assert_eq!(ended, 2_000);
    assert!(put_off > 100, "{put_off}");
}
