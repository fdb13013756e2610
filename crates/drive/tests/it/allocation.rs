//! Placement of data: the allocation orders over channel, way, die and plane.

use crate::common::{ONE_DIE, Rig, with};
use kit::{Lpn, Op};

/// Two channels, each with two ways of two dies of two planes.
const SIXTEEN_PLANES: &[&str] = &["flash.dies_per_chip=2", "flash.concurrent_dies_per_chip=2", "flash.planes_per_die=2"];

/// Writes `count` units one after another. Returns the die and the plane of each.
fn places(sets: &[&str], count: u64) -> Vec<(u32, u32)> {
    let mut rig = Rig::new(sets);
    for unit in 0..count {
        rig.one(Op::Write, unit, 1);
    }
    let medium = rig.drive.medium();
    let place = |unit: u64| {
        let block = medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit as u32)).expect("written"));
        (medium.geometry.die_of(block).0, medium.geometry.group_of(block))
    };
    (0..count).map(place).collect()
}

/// A drive that was filled before the run has its units on the dies in the same turns as one that writes itself.
#[test]
fn a_filled_drive_follows_the_order() {
    let rig = Rig::new(&with(SIXTEEN_PLANES, &["state.precondition=fill", "ftl.allocation_order=CWD"]));
    let medium = rig.drive.medium();
    let die_of =
        |unit: u32| medium.geometry.die_of(medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit)).expect("written"))).0;
    let turn = [die(0, 0, 0), die(1, 0, 0), die(0, 1, 0), die(1, 1, 0), die(0, 0, 1), die(1, 0, 1), die(0, 1, 1), die(1, 1, 1)];
    assert!((0..800).map(die_of).eq(turn.into_iter().cycle().take(800)));
}

/// Returns the number of a die. Dies of a way are numbered first, then the ways of a channel, then the channels.
fn die(channel: u32, way: u32, die: u32) -> u32 {
    channel * 4 + way * 2 + die
}

#[test]
fn static_places_follow_the_order() {
    let order = |order: &str| {
        let set = format!("ftl.allocation_order={order}");
        places(&with(SIXTEEN_PLANES, &["ftl.write_allocation=static", &set]), 16)
    };
    assert_eq!(
        order("CWDP")[..5],
        [(die(0, 0, 0), 0), (die(1, 0, 0), 0), (die(0, 1, 0), 0), (die(1, 1, 0), 0), (die(0, 0, 1), 0)]
    );
    assert_eq!(order("CWDP")[8], (die(0, 0, 0), 1), "planes change last");
    assert_eq!(order("PCWD")[..4], [(die(0, 0, 0), 0), (die(0, 0, 0), 1), (die(1, 0, 0), 0), (die(1, 0, 0), 1)]);
    assert_eq!(
        order("DPWC")[..5],
        [(die(0, 0, 0), 0), (die(0, 0, 1), 0), (die(0, 0, 0), 1), (die(0, 0, 1), 1), (die(0, 1, 0), 0)]
    );
    for name in ["CWDP", "WDPC", "PDWC"] {
        let mut all = order(name);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16, "{name}: sixteen units on sixteen planes");
    }
}

#[test]
fn round_robin_places_follow_the_order_whatever_the_addresses() {
    let sets = with(SIXTEEN_PLANES, &["ftl.write_allocation=round_robin", "ftl.allocation_order=PCWD"]);
    let mut rig = Rig::new(&sets);
    let units = [900u64, 3, 77, 3];
    for unit in units {
        rig.one(Op::Write, unit, 1);
    }
    let medium = rig.drive.medium();
    let block = |unit: u32| medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit)).expect("written"));
    // Units 900 and 77 are arrivals 1 and 3. Arrival 1 takes the second position, which is plane 1 of the first die.
    assert_eq!((medium.geometry.die_of(block(900)).0, medium.geometry.group_of(block(900))), (die(0, 0, 0), 1));
    assert_eq!((medium.geometry.die_of(block(77)).0, medium.geometry.group_of(block(77))), (die(1, 0, 0), 1));
}

#[test]
fn planes_take_turns_program_by_program_or_block_by_block() {
    let one_die = with(ONE_DIE, &["flash.planes_per_die=2"]);
    let by_program: Vec<u32> =
        places(&with(&one_die, &["ftl.allocation_order=CWDP"]), 6).iter().map(|(_, plane)| *plane).collect();
    assert_eq!(by_program, [0, 1, 0, 1, 0, 1]);
    let by_block: Vec<u32> = places(&with(&one_die, &["ftl.allocation_order=CWD"]), 66).iter().map(|(_, plane)| *plane).collect();
    assert!(by_block[..64].iter().all(|&plane| plane == by_block[0]), "a block of 64 pages is filled first");
    assert!(by_block[64..].iter().all(|&plane| plane != by_block[0]), "then the other plane has its turn");
}

#[test]
fn collection_stays_in_its_plane_where_planes_take_turns() {
    // Copyback needs a frontier in the victim's plane. Data without such a frontier is read and programmed.
    let copied = |order: &str| {
        let set = format!("ftl.allocation_order={order}");
        let shape =
            ["flash.planes_per_die=2", "flash.blocks_per_plane=64", "flash.copyback=true", "ftl.overprovisioning=0.9", &set];
        let mut rig = Rig::new(&with(ONE_DIE, &shape));
        let units = rig.drive.user_bytes() / kit::UNIT_BYTES;
        let mut rng = kit::Rng::stream(1, "test");
        for unit in (0..units).chain((0..4 * units).map(|_| rng.below(units))) {
            rig.one(Op::Write, unit, 1);
        }
        let [reads, _, _, copybacks] = rig.operations();
        copybacks as f64 / (reads + copybacks) as f64
    };
    let (by_program, by_block) = (copied("CWDP"), copied("CWD"));
    assert!(by_program > by_block + 0.1, "{by_program} of the moves against {by_block}");
}
