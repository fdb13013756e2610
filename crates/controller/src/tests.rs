//! Tests of the controller: routes with and without steps, and their charges.

mod errors;
mod memory;
mod pools;

use super::*;
use kit::{CommandId, DieId, Hop, ModeId, Nanos, Operation, Service, UNIT_BYTES};

/// Returns a controller with three encoders, the first without a rate, and four write modes: one for each encoder, and
/// the last without a code. A unit takes 2 ns in the second encoder, and 2.5 ns in the third.
fn controller() -> Controller {
    let rate = |units: u64, ns: u64| Some(Rate(UNIT_BYTES * 1_000_000_000 * units / ns));
    let encoder = |rate: Option<Rate>| EncoderConfig { code: "code".to_owned(), rate };
    Controller::new(&ControllerConfig {
        encoders: [None, rate(1, 2), rate(2, 5)].map(encoder).to_vec(),
        encoder_of_mode: vec![Some(1), Some(2), Some(0), None],
        ..ControllerConfig::default()
    })
}

fn data(units: u32) -> Bytes {
    Bytes(u64::from(units) * UNIT_BYTES)
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
        let (mut left, mut done) = ([0u64; 2], [Nanos(0); 2]);
        let mut expected = Vec::new();
        for (number, &(gap, mode, units, time)) in (0..).zip(&sequence) {
            for _ in 0..gap {
                for (left, done) in left.iter_mut().zip(&mut done).filter(|(left, _)| **left > 0) {
                    (*left, done.0) = (*left - 1, done.0 + 1);
                }
                now += 1;
                let busy: Vec<Nanos> = controller.servers().iter().map(|server| server.busy(SimTime(now))).collect();
                assert_eq!(busy, done, "{sequence:?} at {now}");
            }
            let slot = out.operations.add(Operation::default());
            out.operations.account_mut(slot).open(SimTime(now));
            let continuation = Continuation::Staged(DieId(number));
            let transfer =
                Transfer { data: data(units), place: Place::default(), continuation, account: Some(AccountId::Operation(slot)) };
            let follows = controller.send(Route::Written(ModeId(mode)), transfer, SimTime(now), &mut out);
            assert_eq!(follows, (time == 0).then_some(continuation), "{sequence:?} at {now}");
            if time > 0 {
                let left = &mut left[usize::from(mode)];
                *left += time;
                expected.push((now + *left, number, slot, *left));
            }
        }
        expected.sort_unstable();
        for (at, number, slot, waited) in expected {
            let Some((end, Class::Done, Event::Step(id))) = out.events.pop() else { panic!("{sequence:?}: no step") };
            assert_eq!(end, SimTime(at), "{sequence:?}");
            assert_eq!(controller.step_done(id, end, &mut out), Some(Continuation::Staged(DieId(number))), "{sequence:?}");
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
    let transfer = Transfer {
        data: data(2),
        place: Place::default(),
        continuation: Continuation::CollectionEncoded(DieId(0)),
        account: None,
    };
    assert_eq!(controller.send(Route::Written(ModeId(0)), transfer, SimTime(0), &mut out), None);
    assert!(!controller.is_at_rest());
    let Some((end, _, Event::Step(id))) = out.events.pop() else { panic!("no step") };
    assert_eq!((end, controller.step_done(id, end, &mut out)), (SimTime(4), Some(Continuation::CollectionEncoded(DieId(0)))));
    assert_eq!(out.operations.account(slot).ledger().total(), Nanos(0));
}

/// Returns the protocol of a link that takes 3 ns for a command and 1 ns more for each 512 bytes that it brings, and
/// 7 ns for each unit to the host.
fn protocol(half_duplex: bool) -> Protocol {
    let to_device = Service { fixed: Nanos(3), ..Service::data(Rate(512_000_000_000)) };
    let to_host = Service { packet: UNIT_BYTES, per_packet: 7, rate: Rate(1_000_000_000), ..Service::default() };
    let command = kit::Op::ALL.map(|_| vec![Hop::ToDevice(to_device)]);
    Protocol { half_duplex, command, deliver: vec![Hop::ToHost(to_host)], ..Protocol::default() }
}

/// Commands and data cross the link: a command arrives among the commands of its instant, data among what is done, and
/// each is charged to its account. Directions that share the wire wait for each other.
#[test]
fn the_link_is_a_step_of_the_way_to_the_device_and_back() {
    for half_duplex in [false, true] {
        let config = ControllerConfig { protocol: protocol(half_duplex), ..ControllerConfig::default() };
        let (mut controller, mut out, begin) = (Controller::new(&config), Outbox::new(1, 1), SimTime(100));
        let continuation = |command: u32| Continuation::Admitted(CommandId(command));
        // Transfers that begin at one instant: route, data, end on a wire for each direction, and on one for both.
        let crossing = [
            (Route::Command(Op::Write), Bytes(0), 3, 3),
            (Route::ToHost, data(2), 14, 17),
            (Route::Command(Op::Write), Bytes(1024), 8, 22),
            (Route::ToHost, data(1), 21, 29),
        ];
        let mut expected = Vec::new();
        for (number, (route, data, apart, together)) in (0..).zip(crossing) {
            let account = out.accounts.take();
            out.accounts[account].open(begin);
            let transfer = Transfer {
                data,
                place: Place::default(),
                continuation: continuation(number),
                account: Some(AccountId::Host(account)),
            };
            assert_eq!(controller.send(route, transfer, begin, &mut out), None);
            let class = if route != Route::ToHost { Class::Arrival } else { Class::Done };
            expected.push((if half_duplex { together } else { apart }, class, number, account));
        }
        expected.sort_by_key(|(end, ..)| *end);
        for (end, class, number, account) in expected {
            assert!(!controller.is_at_rest(), "what crosses the link is under way");
            let Some((at, of, Event::Step(id))) = out.events.pop() else { panic!("no step") };
            assert_eq!((at, of), (begin + Nanos(end), class), "{number}, half duplex {half_duplex}");
            assert_eq!(controller.step_done(id, at, &mut out), Some(continuation(number)));
            let ledger = out.accounts[account].ledger();
            assert_eq!((ledger.get(Cause::Link), ledger.total()), (Nanos(end), Nanos(end)), "{number}");
        }
        assert!(controller.is_at_rest());
    }
}

#[test]
fn without_a_protocol_the_way_over_the_link_has_no_steps() {
    let (mut controller, mut out) = (Controller::new(&ControllerConfig::default()), Outbox::new(1, 1));
    for route in [Route::Command(Op::Write), Route::ToHost] {
        let transfer = Transfer {
            data: data(1),
            place: Place::default(),
            continuation: Continuation::Admitted(CommandId(1)),
            account: None,
        };
        assert!(!controller.takes_time(route));
        assert_eq!(controller.send(route, transfer, SimTime(5), &mut out), Some(transfer.continuation));
    }
    assert!(controller.is_at_rest() && out.events.is_empty() && controller.servers().is_empty());
}
