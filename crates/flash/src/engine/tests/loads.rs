//! Every small load, and random long ones, under every scheduler.

use super::*;

/// An operation of a load: kind, reason, die, and time since the operation before.
pub(super) type Arrival = (OperationKind, Reason, u32, u64);

/// Runs operations on a flash at rest, whose dies and channels must never idle while something waits for them
/// ([`Rig::check_nothing_idles`]). Asserts that every operation ends, with every nanosecond charged to a cause; that
/// each channel carries one transfer at a time; that the span of a suspended operation has those of the operations
/// meanwhile within it, and other spans of a die follow each other; and that a die serves its host reads, and its
/// relocation reads, in the order of their arrival.
pub(super) fn check_load(rig: &mut Rig, load: &[Arrival]) {
    rig.ended.clear();
    rig.out.journal.enable(true);
    let mut at = rig.now;
    let mut arrivals = Vec::new();
    for &(kind, reason, die, gap) in load {
        at += gap;
        let slot = rig.arrive(kind, reason, die, at);
        if kind == OperationKind::Program && rig.encodes {
            (rig.out.operations[slot].mode, rig.out.operations[slot].encode) = (kit::ModeId(1), 1);
        }
        arrivals.push((slot, at));
    }
    rig.run();
    assert_eq!(rig.ended.len(), load.len(), "{load:?}");
    let mut last_end = [[0; 2]; 4];
    for (&(slot, arrived), &(kind, reason, die, _)) in arrivals.iter().zip(load) {
        let end = rig.end(slot);
        // Operations that are pulled wait in the FTL, which charges that wait; the ledger of an erase is not used.
        if kind == OperationKind::Read {
            assert_eq!(rig.out.operations.account(slot).ledger().total().0, end - arrived, "{load:?}");
            let last = &mut last_end[die as usize][usize::from(reason == Reason::Host)];
            assert!(end > std::mem::replace(last, end), "reads overtake: {load:?}");
        }
        rig.out.operations.release(slot);
    }
    let mut free_at = [SimTime::ZERO; 2];
    let mut spans: [Vec<(SimTime, SimTime)>; 4] = Default::default();
    for record in rig.out.journal.records.drain(..) {
        if let Record::BusSpan { channel, begin, end, .. } = record {
            assert!(free_at[channel.index()] <= begin && begin < end, "two transfers at once: {load:?}");
            free_at[channel.index()] = end;
        } else if let Record::DieSpan { die, begin, end, .. } = record {
            let before = &mut spans[die.index()];
            before.retain(|&(other, _)| other <= begin);
            assert!(before.iter().all(|&(_, end)| end <= begin), "{die:?} from {begin:?}: {before:?}, {load:?}");
            before.push((begin, end));
        } else if let Record::ArraySpan { die, kind, begin, end, .. } = record {
            rig.array_spans.push((begin.0, end.0, die, kind));
        }
    }
}

pub(super) const KINDS: [(OperationKind, Reason); 4] = [
    (OperationKind::Read, Reason::Host),
    (OperationKind::Read, Reason::Gc),
    (OperationKind::Program, Reason::Host),
    (OperationKind::Erase, Reason::Gc),
];

/// Conformance of the schedulers within the flash: every load of three operations on two dies of one channel.
#[test]
fn every_scheduler_serves_every_small_load() {
    let choices: Vec<Arrival> = KINDS
        .iter()
        .flat_map(|&(kind, reason)| [0, 1].map(move |die| (kind, reason, die)))
        .flat_map(|(kind, reason, die)| [0, 3, 17].map(move |gap| (kind, reason, die, gap)))
        .collect();
    for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 1))]) {
        let mut rig = Rig::new(&FlashConfig { suspension, ..small(2, name) });
        for number in 0..choices.len().pow(3) {
            let load = [0, 1, 2].map(|place| choices[number / choices.len().pow(place) % choices.len()]);
            check_load(&mut rig, &load);
        }
    }
}

/// Long loads on four dies of two channels, from calm to more than the flash can serve at once.
#[test]
fn every_scheduler_serves_long_loads() {
    let mut rng = Rng::stream(1, "flash.loads");
    for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 2))]) {
        let mut rig = Rig::new(&FlashConfig { suspension, channels: 2, ..small(2, name) });
        for max_gap in [1, 5, 10, 20, 40] {
            let mut arrival = || {
                let (kind, reason) = KINDS[rng.below(4) as usize];
                (kind, reason, rng.below(4) as u32, rng.below(max_gap))
            };
            check_load(&mut rig, &(0..300).map(|_| arrival()).collect::<Vec<_>>());
        }
    }
}

/// Checks random loads of four dies, from dense to sparse, in some rounds with page buffers or an encoder.
pub(super) fn check_random_loads(rig: &mut Rig, round: u32, rng: &mut Rng) {
    if round % 7 < 3 {
        rig.flash.use_page_buffers(1 + round % 2);
        rig.return_time = rng.below(20);
    }
    rig.encodes = rng.chance(0.3);
    for max_gap in [1, 10, 40] {
        let mut arrival = || -> Arrival {
            let (kind, reason) = KINDS[rng.below(4) as usize];
            (kind, reason, rng.below(4) as u32, rng.below(max_gap))
        };
        check_load(rig, &(0..120).map(|_| arrival()).collect::<Vec<_>>());
    }
}
