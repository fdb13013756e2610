//! Tests of `serve.rs`.

use crate::layer::page_map::ftl::tests::small;
use crate::layer::page_map::ftl::{AllocationClass, Ftl, ModeId, Target};
use crate::queue::order::AllocationOrder;
use kit::{DieId, Geometry, Outbox, Rng, Shape, SimTime};

/// Returns an FTL of dies in pairs of channels, whose allocation order is not that of their numbers.
fn ftl(dies: u32) -> Ftl {
    let geometry = Geometry::new(Shape {
        channels: 2,
        chips_per_channel: dies / 2,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 3,
        pages_per_block: 1,
        page_bytes: 4096,
        unit: kit::UnitSize::default(),
        bits_per_cell: 1,
        planes_per_program: 1,
        pages_per_program: 1,
        superblock: 1,
    });
    small(geometry, |config, _| config.allocation_order = AllocationOrder::Cwd)
}

/// Opens blocks of a die until the host finds no space on it.
fn use_up(ftl: &mut Ftl, die: DieId) {
    let class = AllocationClass::Host;
    let target = Target { die, stream: 0, mode: ModeId(0), class, plane: None, level: 0 };
    while ftl.state.space.has_space(die) {
        ftl.state.space.advance(&mut ftl.state.store.medium, &target, 1, SimTime(0)).expect("there is space");
        ftl.state.space.close_full(&mut ftl.state.store.medium, die, 0);
    }
}

/// Wakes dies until nothing more comes of it, and compares with a list of the ranks: the search begins behind the
/// die that was woken last, and passes dies that are busy or have no space. If only idle dies without space are
/// left, all of them are woken.
fn check(ftl: &mut Ftl, idle: &[DieId], out: &mut Outbox) {
    let count = ftl.state.writes.idle.die_count();
    (0..count).for_each(|die| ftl.state.writes.idle.remove(DieId(die as u32)));
    idle.iter().for_each(|&die| ftl.set_idle(die, SimTime(0), &mut out.events));
    let mut idle = idle.to_vec();
    for _ in 0..3 {
        let start = ftl.state.writes.idle.next_rank();
        let mut ranks = (start..start + count).map(|rank| ftl.state.writes.idle.die_at(rank % count));
        let next = ranks.find(|die| idle.contains(die) && ftl.state.space.has_space(*die));
        ftl.wake_one(&mut out.ready);
        let mut woken: Vec<DieId> = (0..).map_while(|index| out.ready.take(index)).collect();
        out.ready.clear();
        woken.sort_unstable();
        if let Some(next) = next {
            idle.retain(|die| *die != next);
            assert_eq!(
                (woken, ftl.state.writes.idle.die_at((ftl.state.writes.idle.next_rank() + count - 1) % count)),
                (vec![next], next)
            );
        } else {
            idle.sort_unstable();
            assert_eq!((woken, ftl.state.writes.idle.next_rank()), (idle.clone(), start), "all idle dies are to gain space");
        }
        assert!((0..count).map(|die| DieId(die as u32)).all(|die| ftl.state.writes.idle.contains(die) == idle.contains(&die)));
    }
}

/// Every set of idle dies and every set of dies with space, of six dies; and random sets of 130 dies, whose idle
/// bits fill more than two words.
#[test]
fn the_next_idle_die_with_space_is_woken() {
    for full in 0..1u32 << 6 {
        let (mut ftl, mut out) = (ftl(6), Outbox::new(6, 2));
        (0..6).filter(|die| full >> die & 1 == 1).for_each(|die| use_up(&mut ftl, DieId(die)));
        for idle in 0..1u32 << 6 {
            let idle: Vec<DieId> = (0..6).filter(|die| idle >> die & 1 == 1).map(DieId).collect();
            check(&mut ftl, &idle, &mut out);
        }
    }
    let (mut ftl, mut out, mut rng) = (ftl(130), Outbox::new(130, 2), Rng::stream(1, "dies"));
    assert_ne!(ftl.state.writes.idle.die_at(1), DieId(1), "the allocation order is not that of the numbers");
    for round in 0..600 {
        let share = [0.01, 0.1, 0.9][round % 3];
        let idle: Vec<DieId> = (0..130).map(DieId).filter(|_| rng.chance(share)).collect();
        check(&mut ftl, &idle, &mut out);
        if round % 5 == 0 {
            use_up(&mut ftl, DieId(rng.below(130) as u32));
        }
    }
}
