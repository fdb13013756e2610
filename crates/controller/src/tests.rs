//! Tests of the controller: ways with and without steps, and their charges.

mod errors;
mod pools;

use super::*;
use kit::{Bytes, CommandId, DieId, ModeId, Nanos, Operation, UNIT_BYTES};

/// Returns a controller with three encoders, the first without a rate, and four write modes: one for each encoder, and
/// the last without a code. A unit takes 2 ns in the second encoder, and 2.5 ns in the third.
fn controller() -> Controller {
    let per_second = 1_000_000_000;
    Controller::new(
        &ControllerConfig {
            encoders: vec![None, Some(Rate(UNIT_BYTES * per_second / 2)), Some(Rate(UNIT_BYTES * per_second * 2 / 5))],
            encoder_of_mode: vec![Some(1), Some(2), Some(0), None],
            units_per_program: 2,
            ..ControllerConfig::default()
        },
        None,
    )
}

/// Every sequence of four requests, against queues that are worked off nanosecond by nanosecond: an encoder works while
/// data waits for it, takes it in order of arrival, and does not delay the other encoders. The time of several units is
/// rounded up once. The time until data has passed is charged to the account of its operation.
#[test]
fn every_short_sequence_is_encoded_in_order() {
    // Time since the request before, mode, units, and time in the encoder.
    let requests: Vec<(u64, u8, u32, u64)> = [0, 1, 6]
        .into_iter()
        .flat_map(|gap| [(gap, 0, 1, 2), (gap, 1, 1, 3), (gap, 1, 2, 5), (gap, 2, 2, 0), (gap, 3, 1, 0)])
        .collect();
    for sequence in 0..requests.len().pow(4) {
        let sequence: Vec<_> = (0..4).map(|step| requests[sequence / requests.len().pow(step) % requests.len()]).collect();
        let (mut controller, mut out, mut now) = (controller(), Outbox::new(1, 1), 0);
        // Outstanding and completed work of each encoder [ns].
        let (mut left, mut done) = ([0u64; 3], [0u64; 3]);
        let mut expected = Vec::new();
        for (number, &(gap, mode, units, time)) in (0..).zip(&sequence) {
            for _ in 0..gap {
                for (left, done) in left.iter_mut().zip(&mut done).filter(|(left, _)| **left > 0) {
                    (*left, *done) = (*left - 1, *done + 1);
                }
                now += 1;
                assert_eq!(controller.encoders().busy(SimTime(now)), done, "{sequence:?} at {now}");
            }
            let slot = out.operations.add(Operation::default());
            out.operations.account_mut(slot).open(SimTime(now));
            let (way, then) = (Way::Written { mode: ModeId(mode), units }, Then::Staged(DieId(number)));
            let follows = controller.send(way, then, Some(AccountId::Operation(slot)), SimTime(now), &mut out);
            assert_eq!(follows, (time == 0).then_some(then), "{sequence:?} at {now}");
            if time > 0 {
                let left = &mut left[usize::from(mode) + 1];
                *left += time;
                expected.push((now + *left, number, slot, *left));
            }
        }
        expected.sort_unstable();
        for (at, number, slot, waited) in expected {
            let Some((end, Class::Done, Event::Step(id))) = out.events.pop() else { panic!("{sequence:?}: no step") };
            assert_eq!(end, SimTime(at), "{sequence:?}");
            assert_eq!(controller.step_done(id, end, &mut out), Some(Then::Staged(DieId(number))), "{sequence:?}");
            assert_eq!(out.operations.account(slot).ledger().get(Cause::EccWait), Nanos(waited), "{sequence:?}");
        }
        assert!(controller.is_at_rest() && out.events.is_empty(), "{sequence:?}");
    }
}

/// Units of a collection belong to no operation: nothing is charged for them.
#[test]
fn data_without_an_operation_charges_nobody() {
    let (mut controller, mut out) = (controller(), Outbox::new(1, 1));
    let slot = out.operations.add(Operation::default());
    let way = Way::Written { mode: ModeId(0), units: 2 };
    assert_eq!(controller.send(way, Then::CollectionEncoded(DieId(0)), None, SimTime(0), &mut out), None);
    assert!(!controller.is_at_rest());
    let Some((end, _, Event::Step(id))) = out.events.pop() else { panic!("no step") };
    assert_eq!((end, controller.step_done(id, end, &mut out)), (SimTime(4), Some(Then::CollectionEncoded(DieId(0)))));
    assert_eq!(out.operations.account(slot).ledger().total(), Nanos(0));
}

/// A link that takes 3 ns for a command, 5 ns more for one with data, and 7 ns for each unit to the host.
struct Timed;

impl Link for Timed {
    fn admit(&mut self, data: Bytes, now: SimTime) -> SimTime {
        now + Nanos(if data.0 > 0 { 3 + 5 } else { 3 })
    }

    fn deliver(&mut self, data: Bytes, now: SimTime) -> SimTime {
        now + Nanos(7 * data.0 / UNIT_BYTES)
    }
}

/// Commands and data cross the link: a command arrives among the commands of its instant, data among what is done, and
/// each is charged to its account.
#[test]
fn the_link_is_a_step_of_the_way_to_the_device_and_back() {
    let mut controller = Controller::new(&ControllerConfig::default(), Some(Box::new(Timed)));
    let mut out = Outbox::new(1, 1);
    let (begin, account) = (SimTime(100), AccountId::Host(out.accounts.take()));
    let part = AccountId::Operation(out.operations.add(Operation::default()));
    let ways = [
        (Way::ToDevice { data: Bytes(0) }, Then::Admitted(CommandId(1)), account, Class::Arrival, 3),
        (Way::ToDevice { data: Bytes(512) }, Then::Admitted(CommandId(2)), account, Class::Arrival, 8),
        (
            Way::ToHost { data: Bytes(2 * UNIT_BYTES) },
            Then::Delivered { command: CommandId(1), account: part },
            part,
            Class::Done,
            14,
        ),
    ];
    for (way, then, account, class, time) in ways {
        out.account_mut(account).open(begin);
        assert_eq!(controller.send(way, then, Some(account), begin, &mut out), None);
        assert!(!controller.is_at_rest(), "what crosses the link is under way");
        let Some((end, of, Event::Step(id))) = out.events.pop() else { panic!("no step") };
        assert_eq!((end, of), (begin + Nanos(time), class), "{way:?}");
        assert_eq!(controller.step_done(id, end, &mut out), Some(then));
        let ledger = out.account(account).ledger();
        assert_eq!((ledger.get(Cause::Link), ledger.total()), (Nanos(time), Nanos(time)), "{way:?}");
    }
    assert!(controller.is_at_rest());
    // Without a link the way has no steps.
    let mut ideal = Controller::new(&ControllerConfig::default(), None);
    for (way, then, account, ..) in ways {
        assert_eq!(ideal.send(way, then, Some(account), begin, &mut out), Some(then));
    }
    assert!(ideal.is_at_rest() && out.events.is_empty());
}
