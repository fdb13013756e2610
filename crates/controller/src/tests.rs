//! Tests of the controller: ways with and without steps, and their charges.

mod errors;
mod pools;

use super::*;
use kit::{DieId, ModeId, Nanos, Operation, UNIT_BYTES};

/// Returns a controller with three encoders, the first without a rate, and four write modes: one for each encoder, and
/// the last without a code. A unit takes 2 ns in the second encoder, and 2.5 ns in the third.
fn controller() -> Controller {
    let per_second = 1_000_000_000;
    Controller::new(&ControllerConfig {
        encoders: vec![None, Some(Rate(UNIT_BYTES * per_second / 2)), Some(Rate(UNIT_BYTES * per_second * 2 / 5))],
        encoder_of_mode: vec![Some(1), Some(2), Some(0), None],
        units_per_program: 2,
        ..ControllerConfig::default()
    })
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
            let follows = controller.send(way, then, Some(slot), SimTime(now), &mut out);
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
