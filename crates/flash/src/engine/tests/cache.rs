//! Reads through the cache registers of the dies.

use super::loads::{Arrival, KINDS, check_load};
use super::*;

/// Time in which a page moves to the cache register \[ns\].
const BUSY: u64 = 3;

/// Returns a flash whose dies use their cache registers, and whose units take `data` ns on the channel.
fn cached(dies: u32, scheduler: &str, data: u64) -> FlashConfig {
    let rate = TransferRate((UNIT_BYTES * 1_000_000_000).div_ceil(data));
    FlashConfig { cache_read: true, cache_busy_time: Some(Nanos(BUSY)), transfer_rate: rate, ..small(dies, scheduler) }
}

/// Returns the ends of reads of one die that arrive at these instants, in their order, and the time that each has spent
/// in the array, where data takes `data` ns on the channel.
fn model(arrivals: &[u64], data: u64) -> Vec<(u64, u64)> {
    let mut ends = Vec::new();
    // Instant at which the array is free, and the instants from which and until which data is in the cache register.
    let (mut array_free, mut moved, mut out) = (0, 0, 0);
    for (index, &arrival) in arrivals.iter().enumerate() {
        let begin = arrival.max(array_free);
        let is_beside = begin < out;
        // The command goes before data that comes to the register at the same instant, and waits for data under way.
        let command = if is_beside && begin > moved { out } else { begin };
        let sensed = command + 6 + SENSE;
        let next_waits = arrivals.get(index + 1).is_some_and(|&next| next < sensed);
        let (end, in_array) = if is_beside || next_waits {
            moved = sensed.max(out) + BUSY;
            array_free = moved;
            let command_first = arrivals.get(index + 1).is_some_and(|&next| next <= moved);
            out = moved + if command_first { 6 } else { 0 } + data;
            (out, SENSE + BUSY)
        } else {
            array_free = sensed + data;
            (array_free, SENSE)
        };
        ends.push((end, in_array));
    }
    ends
}

/// Three reads of a die at every instant, with data that is faster and slower than the array, against the model; and
/// each nanosecond has a cause.
#[test]
fn the_array_senses_the_next_page_while_data_crosses_the_channel() {
    for data in [2, 9, 30] {
        let mut rig = Rig::new(&cached(1, "read_first", data));
        let span = 2 * (6 + SENSE + BUSY + data);
        for (second, third) in (0..span).flat_map(|second| (second..second + span).map(move |third| (second, third))) {
            let start = rig.now + 1;
            rig.ended.clear();
            let arrivals = [0, second, third];
            let reads = arrivals.map(|arrival| rig.read(0, start + arrival));
            rig.run();
            let found: Vec<_> = reads.iter().map(|&read| (rig.end(read) - start, rig.charged(read, Cause::Sense))).collect();
            assert_eq!(found, model(&arrivals, data), "{arrivals:?}, data {data}");
            for (&read, arrival) in reads.iter().zip(arrivals) {
                let total = rig.out.operations.account(read).ledger().total().0;
                assert_eq!(total, rig.end(read) - start - arrival, "{arrivals:?}, data {data}");
                rig.out.operations.release(read);
            }
        }
    }
}

/// A program that comes while a read is in the array, and a read behind it: only the read begins beside the data in the
/// cache register, and the program begins when that is empty and no read waits.
#[test]
fn a_program_waits_until_the_cache_register_is_empty() {
    let mut rig = Rig::new(&cached(1, "read_first", 30));
    let reads = [rig.read(0, 1), rig.read(0, 1)];
    let program = rig.program(0, 2);
    rig.run();
    let ends = model(&[0, 0], 30);
    assert_eq!(reads.map(|read| rig.end(read) - 1), [ends[0].0, ends[1].0]);
    assert_eq!(rig.end(program) - 1, ends[1].0 + 6 + 30 + PROGRAM);
}

/// Where an urgent move of the die waits, reads and the move take turns: a read that begins beside data in the cache
/// register has its turn, too.
#[test]
fn an_urgent_move_takes_turns_with_reads_beside_data() {
    let mut rig = Rig::new(&cached(1, "read_first", 30));
    rig.urgent_move = true;
    let reads: Vec<u32> = (0..6).map(|_| rig.read(0, 1)).collect();
    let moves: Vec<u32> = (0..3).map(|_| rig.program(0, 1)).collect();
    rig.run();
    for (read, done) in reads.iter().zip(1..) {
        let before = moves.iter().filter(|&&one| rig.end(one) < rig.end(*read)).count();
        assert!(before + 1 >= done / 2, "{before} moves before read {done}");
    }
}

/// Loads of reads, programs and erases on dies that share channels, under every scheduler.
#[test]
fn every_scheduler_serves_loads_through_cache_registers() {
    let mut rng = Rng::stream(1, "flash.cache");
    for (name, data) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, 2), (name, 25)]) {
        let mut rig = Rig::new(&FlashConfig { channels: 2, ..cached(2, name, data) });
        for round in 0..40 {
            rig.encodes = round % 3 == 0;
            let max_gap = [1, 5, 20, 60][round % 4];
            let mut arrival = || -> Arrival {
                let (kind, reason) = KINDS[if rng.chance(0.6) { rng.below(2) } else { rng.below(4) } as usize];
                (kind, reason, rng.below(4) as u32, rng.below(max_gap))
            };
            check_load(&mut rig, &(0..120).map(|_| arrival()).collect::<Vec<_>>());
        }
    }
}
