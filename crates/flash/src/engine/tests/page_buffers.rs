//! Page buffers: the operations that wait for one, in which order, and the time that they hold it.

use super::loads::{Arrival, KINDS, check_load};
use super::*;

/// One buffer, and data that takes 20 ns to the memory: the data of the second read waits in its die until that of the
/// first has arrived. With two buffers it waits for the channel alone.
#[test]
fn data_waits_in_the_die_for_a_page_buffer() {
    for (count, return_time) in [(1, 20), (1, 0), (2, 20)] {
        let mut rig = Rig::with_buffers(&small(2, "read_first"), count, return_time);
        let reads = [0, 1].map(|die| rig.read(die, 100));
        // The commands follow each other; the second die has sensed its data 6 ns after the first.
        let (first, sensed) = (100 + READ, 100 + 6 + 6 + SENSE);
        rig.run();
        let free = if count == 1 { first + return_time } else { 0 };
        let begins = sensed.max(free).max(first);
        assert_eq!(reads.map(|read| rig.end(read)), [first, begins + 2], "{count}, {return_time}");
        let waits = [Cause::PageBuffer, Cause::BusWait].map(|cause| rig.charged(reads[1], cause));
        assert_eq!(waits, [free.saturating_sub(sensed), 6], "{count}, {return_time}");
    }
}

/// A program holds its buffer from the instant at which it is pulled until its data has crossed the channel: while it
/// is encoded, too, but not while it is programmed. The die of the second program waits, starved.
#[test]
fn a_die_begins_no_program_without_a_page_buffer() {
    for (encode, first) in [(0, LOAD), (1, ENCODE + LOAD)] {
        let mut rig = Rig::with_buffers(&small(2, "read_first"), 1, 0);
        let programs = [0, 1].map(|die| rig.program(die, 100));
        for program in programs {
            (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), encode);
        }
        for at in 100..100 + first {
            rig.run_until(at);
            assert_eq!(rig.flash.dies[1].clock.work(), Work::Starved, "{at}");
            assert_eq!(rig.out.signals.clock.work(), kit::DriveWork::Starved, "{at}");
            assert!(!rig.flash.page_buffers_rest());
        }
        rig.run_until(100 + first);
        assert_ne!(rig.flash.dies[1].clock.work(), Work::Starved);
        rig.run();
        assert_eq!(programs.map(|program| rig.end(program)), [100 + first + PROGRAM, 100 + 2 * first + PROGRAM]);
        let starved = rig.flash.dies[1].clock.read(SimTime(rig.now))[Work::Starved as usize];
        assert_eq!(starved, first);
    }
}

/// An erase needs no buffer.
#[test]
fn an_erase_begins_without_a_page_buffer() {
    let mut rig = Rig::with_buffers(&small(2, "read_first"), 1, 1000);
    let read = rig.read(0, 0);
    let erase = rig.arrive(OperationKind::Erase, Reason::Gc, 1, 100);
    rig.run_until(100);
    assert_eq!(rig.end(read), READ);
    assert!(!rig.flash.page_buffers_rest());
    rig.run_until(100 + 44);
    assert_eq!(rig.end(erase), 100 + 44);
}

/// The data of a relocation's read and of a host read is in the registers of two dies at one instant, from which on a
/// program of a third die waits, too. When the only buffer becomes free, the host read goes first, then the
/// relocation's read, then the program, whatever dies they are on. A host read that asks later goes last.
#[test]
fn of_those_that_ask_at_one_instant_host_reads_go_first() {
    // The commands follow each other; the first read, of the slower page type, has its data when the second has.
    let config = FlashConfig {
        cell: crate::CellType::Mlc,
        read_time: PerPageType::Each(vec![Nanos(SENSE + 6), Nanos(SENSE)]),
        ..small(4, "fifo")
    };
    for (dies, reasons, order) in [
        ([1, 2, 3], [Reason::Gc, Reason::Host], [1, 0, 2]),
        ([2, 1, 3], [Reason::Gc, Reason::Host], [1, 0, 2]),
        ([3, 2, 1], [Reason::Host, Reason::Gc], [0, 1, 2]),
        ([2, 3, 1], [Reason::Rmw, Reason::Gc], [0, 1, 2]),
        ([1, 2, 3], [Reason::Gc, Reason::Rmw], [1, 0, 2]),
    ] {
        for later in [0, 7] {
            let mut rig = Rig::with_buffers(&config, 1, 500);
            rig.read(0, 0);
            rig.run_until(50);
            let mut slots = [0; 3];
            for place in 0..2 {
                let at = 100 + place as u64 * later;
                slots[place] = rig.arrive(OperationKind::Read, reasons[place], dies[place], at);
                rig.out.operations[slots[place]].page_type = place as u32;
            }
            slots[2] = rig.program(dies[2], 100 + 6 + 6 + SENSE);
            rig.run();
            // One nanosecond after the program.
            let order = if later > 0 { [0, 2, 1] } else { order };
            let mut begun = [0, 1, 2].map(|place: usize| {
                let time = if place == 2 { LOAD + PROGRAM } else { 2 };
                (rig.end(slots[place]) - time, place)
            });
            begun.sort_unstable();
            assert_eq!(begun.map(|(_, place)| place), order, "{dies:?}, {reasons:?}, {later}");
        }
    }
}

/// A program that is being encoded has the only buffer. A read of its die may not begin: the program would wait for the
/// die, and the read for the buffer. With two buffers it begins at once.
#[test]
fn a_read_does_not_keep_the_die_from_a_program_that_has_the_last_page_buffer() {
    for count in [1, 2] {
        let mut rig = Rig::with_buffers(&small(1, "read_first"), count, 0);
        let program = rig.program(0, 0);
        (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), 1);
        let read = rig.read(0, 1);
        rig.run();
        let programmed = ENCODE.max(if count == 1 { 0 } else { 1 + READ }) + LOAD + PROGRAM;
        assert_eq!(rig.end(program), programmed, "{count}");
        assert_eq!(rig.end(read), if count == 1 { programmed + READ } else { 1 + READ }, "{count}");
        // The wait before the program began is one for the buffer.
        let waits = [Cause::PageBuffer, Cause::DieHostProgram].map(|cause| rig.charged(read, cause));
        assert_eq!(waits, if count == 1 { [ENCODE - 1, LOAD + PROGRAM] } else { [0, 0] });
    }
}

/// The same die waits for a buffer for its read, and has it before its program is encoded.
#[test]
fn a_read_begins_beside_a_waiting_program_when_a_page_buffer_is_free() {
    let mut rig = Rig::with_buffers(&small(2, "read_first"), 2, 5);
    let other = rig.read(1, 0);
    rig.run_until(15);
    let program = rig.program(0, 15);
    (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), 1);
    let read = rig.read(0, 17);
    rig.run();
    // The other read's data is in the memory at 23; the program is encoded at 27.
    let free = READ + 5;
    assert_eq!((rig.end(other), rig.end(read)), (READ, free + READ));
    assert_eq!(rig.charged(read, Cause::PageBuffer), free - 17);
    assert_eq!(rig.end(program), free + READ + LOAD + PROGRAM);
}

/// Every small load under every scheduler, with and without suspension and encoding: all operations end, buffers are
/// never idle while a die waits for one, and afterwards all are free.
#[test]
fn every_small_load_comes_to_its_end() {
    let choices: Vec<Arrival> = KINDS
        .iter()
        .flat_map(|&(kind, reason)| [0, 1].map(move |die| (kind, reason, die)))
        .flat_map(|(kind, reason, die)| [0, 7].map(move |gap| (kind, reason, die, gap)))
        .collect();
    for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 1))]) {
        for (count, return_time, encodes) in [(1, 0, false), (1, 9, true), (2, 9, true), (1, 30, false)] {
            let config = FlashConfig { suspension: suspension.clone(), ..small(2, name) };
            let mut rig = Rig { encodes, ..Rig::with_buffers(&config, count, return_time) };
            for number in 0..choices.len().pow(3) {
                let load = [0, 1, 2].map(|place| choices[number / choices.len().pow(place) % choices.len()]);
                check_load(&mut rig, &load);
            }
        }
    }
}

/// Long loads on six dies of two channels, with turns of urgent moves or without.
#[test]
fn every_long_load_comes_to_its_end() {
    let mut rng = Rng::stream(1, "flash.buffers");
    for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 2))]) {
        for (count, return_time, encodes, urgent_move) in
            [(1, 0, false, false), (1, 25, true, true), (2, 9, true, false), (3, 40, true, true)]
        {
            let config = FlashConfig { suspension: suspension.clone(), channels: 2, ..small(3, name) };
            let mut rig = Rig { encodes, urgent_move, ..Rig::with_buffers(&config, count, return_time) };
            for max_gap in [1, 5, 20] {
                let mut arrival = || {
                    let (kind, reason) = KINDS[rng.below(4) as usize];
                    (kind, reason, rng.below(4) as u32, rng.below(max_gap))
                };
                check_load(&mut rig, &(0..300).map(|_| arrival()).collect::<Vec<_>>());
            }
        }
    }
}

/// With two buffers for each die, one for a program that waits and one for a read, and data that is in the memory at
/// once, no operation waits for one: all end as they do where the number of buffers is not limited.
#[test]
fn enough_page_buffers_change_nothing() {
    let mut rng = Rng::stream(2, "flash.buffers");
    for suspension in [None, suspension(2, 2)] {
        let config = FlashConfig { suspension, ..small(4, "out_of_order") };
        let [mut without, mut with] = [Rig::new(&config), Rig::with_buffers(&config, 8, 0)];
        (without.encodes, with.encodes) = (true, true);
        for _ in 0..20 {
            let mut arrival = || {
                let (kind, reason) = KINDS[rng.below(4) as usize];
                (kind, reason, rng.below(4) as u32, rng.below(9))
            };
            let load: Vec<Arrival> = (0..100).map(|_| arrival()).collect();
            for rig in [&mut without, &mut with] {
                check_load(rig, &load);
            }
            assert_eq!(without.ended, with.ended);
        }
    }
}

/// The share of the buffers in use: one program of 8 ns on the channel and one read that keeps its buffer for 2 ns of
/// transfer and 20 ns more, of two buffers in 100 ns.
#[test]
fn the_time_in_use_is_measured() {
    let mut rig = Rig::with_buffers(&small(2, "read_first"), 2, 20);
    let start = rig.flash.snapshot(SimTime::ZERO);
    rig.program(0, 0);
    rig.read(1, 30);
    rig.run_until(100);
    assert_eq!(rig.flash.utilisation(SimTime(100), &start).page_buffers, [30.0 / 200.0]);
}
