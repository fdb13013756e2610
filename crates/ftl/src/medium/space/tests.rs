//! Tests of `space.rs`.

use super::*;
use crate::medium::tests::{erase, geometry};
use crate::wear::WearConfig;
use kit::Rng;
use std::collections::VecDeque;

/// A drive for these tests: a block holds two units in mode 0 and one in mode 1, and a program writes one.
#[derive(Clone, Copy, Debug)]
struct Setup {
    planes: u32,
    blocks_per_plane: u32,
    by_plane: bool,
    most_free: bool,
    host: usize,
    shared: bool,
    reserve: u32,
}

const SETUPS: [Setup; 8] = [
    Setup { planes: 1, blocks_per_plane: 5, by_plane: false, most_free: false, host: 1, shared: true, reserve: 1 },
    Setup { planes: 1, blocks_per_plane: 5, by_plane: false, most_free: false, host: 2, shared: false, reserve: 2 },
    Setup { planes: 2, blocks_per_plane: 3, by_plane: false, most_free: false, host: 2, shared: true, reserve: 1 },
    Setup { planes: 2, blocks_per_plane: 3, by_plane: true, most_free: false, host: 1, shared: true, reserve: 1 },
    Setup { planes: 2, blocks_per_plane: 3, by_plane: true, most_free: false, host: 2, shared: false, reserve: 2 },
    Setup { planes: 3, blocks_per_plane: 2, by_plane: true, most_free: false, host: 1, shared: false, reserve: 1 },
    Setup { planes: 2, blocks_per_plane: 3, by_plane: true, most_free: true, host: 2, shared: false, reserve: 2 },
    Setup { planes: 3, blocks_per_plane: 2, by_plane: true, most_free: true, host: 1, shared: true, reserve: 1 },
];

impl Setup {
    fn streams(&self) -> Streams {
        let Setup { by_plane, most_free, host, shared, .. } = *self;
        Streams { host, all: host + 2, shared, by_plane, most_free, map: false, parity: false }
    }

    /// Returns the stream of data relocated in a mode, as the FTL chooses it.
    fn relocations(&self, mode: u8) -> usize {
        if self.shared && mode == 0 { 0 } else { self.host + usize::from(mode) }
    }
}

fn units_in(mode: u8) -> u32 {
    if mode == 0 { 2 } else { 1 }
}

/// A block that is written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Open {
    block: u32,
    mode: u8,
    next_unit: u32,
}

/// State of one die as the documentation describes it, in lists.
#[derive(Debug)]
struct Model {
    setup: Setup,
    /// Blocks never used, by group of planes, in order of their numbers.
    fresh: Vec<VecDeque<u32>>,
    /// Erased blocks by group of planes, each with its wear and the number of blocks freed before.
    erased: Vec<Vec<(u32, u64, u32)>>,
    /// Frontiers by stream, one or one for each group of planes.
    frontiers: Vec<Vec<Option<Open>>>,
    turns: Vec<usize>,
    closed: VecDeque<u32>,
}

impl Model {
    fn new(setup: Setup, first_block: u32) -> Model {
        let width = if setup.by_plane { setup.planes as usize } else { 1 };
        let group = |plane: u32| {
            let first = first_block + plane * setup.blocks_per_plane;
            (first..first + setup.blocks_per_plane).collect()
        };
        Model {
            setup,
            fresh: (0..setup.planes).map(group).collect(),
            erased: vec![Vec::new(); setup.planes as usize],
            frontiers: vec![vec![None; width]; setup.streams().all],
            turns: vec![0; setup.streams().all],
            closed: VecDeque::new(),
        }
    }

    fn free_in(&self, group: usize) -> usize {
        self.fresh[group].len() + self.erased[group].len()
    }

    fn free(&self) -> usize {
        (0..self.fresh.len()).map(|group| self.free_in(group)).sum()
    }

    /// The host leaves the reserve, a page move and data moved without freeing its block leave one block, and a
    /// collection takes the last one.
    fn may_open(&self, class: AllocationClass) -> bool {
        let left = match class {
            AllocationClass::Host => self.setup.reserve as usize,
            AllocationClass::Relocation => 0,
            AllocationClass::Move | AllocationClass::Careful => 1,
            AllocationClass::Map => unreachable!("no stream of map data"),
        };
        self.free() > left
    }

    /// Without a free block, the rest of a frontier that a collection may need is left to it.
    fn may_go_on(&self, at: &Target) -> bool {
        let needed_by_collection = at.class == AllocationClass::Host && self.setup.shared && at.stream == 0;
        let is_moved = matches!(at.class, AllocationClass::Relocation | AllocationClass::Careful);
        self.free() > 0 || is_moved || at.class == AllocationClass::Host && !needed_by_collection
    }

    /// Takes a free block: of the group whose turn it is, or else of the group with the most; one never used, or
    /// else the least worn, and of equals the one freed first.
    fn take(&mut self, turn: usize) -> u32 {
        let most = (0..self.fresh.len()).map(|group| self.free_in(group)).max().unwrap_or(0);
        let fullest = (0..self.fresh.len()).find(|&group| self.free_in(group) == most).expect("a group is free");
        let group = if self.setup.by_plane && self.free_in(turn) > 0 { turn } else { fullest };
        self.fresh[group].pop_front().unwrap_or_else(|| {
            let best = *self.erased[group].iter().min().expect("a block is free");
            self.erased[group].retain(|block| *block != best);
            best.2
        })
    }

    /// Returns the frontier that takes a write: the one whose turn it is, or else the next one that may; without a
    /// group of planes that is asked for, the one with the most room, if the rule is that.
    fn slot_of(&self, at: &Target) -> Option<usize> {
        let width = self.frontiers[at.stream].len();
        let first = at.plane.map_or(self.turns[at.stream], |plane| plane as usize);
        let may = |&slot: &usize| {
            let goes_on = self.frontiers[at.stream][slot].is_some_and(|open| open.mode == at.mode.0);
            if goes_on { self.may_go_on(at) } else { self.may_open(at.class) }
        };
        let may_take: Vec<usize> = (first..first + width).map(|turn| turn % width).filter(may).collect();
        let room = |slot: usize| {
            let open = self.frontiers[at.stream][slot].map_or(0, |open| units_in(open.mode) - open.next_unit);
            self.free_in(slot) as u32 * units_in(at.mode.0) + open
        };
        let most = may_take.iter().map(|&slot| room(slot)).max();
        let by_room = self.setup.most_free && at.plane.is_none();
        may_take.into_iter().find(|&slot| !by_room || Some(room(slot)) == most)
    }

    /// Returns the block that is opened, if any, and the block and unit that are written.
    fn advance(&mut self, at: &Target) -> Option<(Option<u32>, u32, u32)> {
        let slot = self.slot_of(at)?;
        self.turns[at.stream] = slot + 1;
        let mut opened = None;
        if let Some(open) = self.frontiers[at.stream][slot].take_if(|open| open.mode != at.mode.0) {
            self.closed.push_back(open.block);
        }
        if self.frontiers[at.stream][slot].is_none() {
            let block = self.take(slot);
            opened = Some(block);
            self.frontiers[at.stream][slot] = Some(Open { block, mode: at.mode.0, next_unit: 0 });
        }
        let open = self.frontiers[at.stream][slot].as_mut()?;
        open.next_unit += 1;
        let (block, unit) = (open.block, open.next_unit - 1);
        if open.next_unit == units_in(open.mode) {
            self.frontiers[at.stream][slot] = None;
            self.closed.push_back(block);
        }
        Some((opened, block, unit))
    }

    /// Returns true if each host stream can take data in the mode in which it is open.
    fn has_space(&self, die: DieId) -> bool {
        (0..self.setup.host).all(|stream| {
            let mode = self.frontiers[stream].iter().flatten().next().map_or(0, |open| open.mode);
            let class = AllocationClass::Host;
            let target = Target { die, stream, mode: ModeId(mode), class, plane: None, level: 0 };
            self.slot_of(&target).is_some()
        })
    }
}

/// A step in the life of a die.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write {
        stream: usize,
        mode: u8,
        class: AllocationClass,
        plane: Option<u32>,
    },
    /// The block closed first or last is erased.
    Erase {
        newest: bool,
    },
}

fn steps(setup: &Setup) -> Vec<Step> {
    let write = |stream, mode, class, plane| Step::Write { stream, mode, class, plane };
    vec![
        write(0, 0, AllocationClass::Host, None),
        write(setup.host - 1, 1, AllocationClass::Host, None),
        write(setup.host - 1, 0, AllocationClass::Host, Some(setup.planes - 1)),
        write(setup.relocations(0), 0, AllocationClass::Relocation, Some(0)),
        write(setup.relocations(1), 1, AllocationClass::Relocation, None),
        write(setup.relocations(0), 0, AllocationClass::Move, None),
        write(setup.relocations(1), 1, AllocationClass::Careful, None),
        Step::Erase { newest: false },
        Step::Erase { newest: true },
    ]
}

/// The free blocks and frontiers under test, with the state of the data.
struct Rig {
    setup: Setup,
    medium: Medium,
    space: Space,
    wear: Box<dyn WearLeveling>,
    freed: u64,
}

impl Rig {
    fn new(setup: Setup, dies: u32) -> Rig {
        let geometry = geometry(dies, setup.planes, setup.blocks_per_plane, 2, 1);
        let medium = Medium::new(geometry, vec![2, 1]).expect("a small drive fits into memory");
        Rig {
            setup,
            space: Rig::space(setup, &medium),
            medium,
            wear: WearConfig::named("dynamic").expect("listed").build(()),
            freed: 0,
        }
    }

    fn space(setup: Setup, medium: &Medium) -> Space {
        Space::new(&medium.geometry, setup.streams(), setup.reserve, vec![0, 0])
    }

    fn model(&self, die: DieId) -> Model {
        Model::new(self.setup, self.medium.geometry.blocks_of(die).start)
    }

    /// Takes a step and compares its outcome with the model.
    fn step(&mut self, step: Step, die: DieId, model: &mut Model) {
        match step {
            Step::Erase { newest } => {
                let Some(block) = (if newest { model.closed.pop_back() } else { model.closed.pop_front() }) else { return };
                erase(&mut self.medium, BlockId(block));
                self.medium.add_wear(BlockId(block), block % 3);
                self.space.put_free(&self.medium, BlockId(block), &*self.wear);
                let group = self.medium.geometry.group_of(BlockId(block)) as usize;
                self.freed += 1;
                model.erased[group].push((self.medium.wear_thousandths(BlockId(block)), self.freed, block));
            }
            Step::Write { stream, mode, class, plane } => {
                let plane = plane.filter(|_| self.setup.by_plane);
                let at = Target { die, stream, mode: ModeId(mode), class, plane, level: 0 };
                let free_before = self.space.free_blocks(die);
                let would_open = self.space.would_open(&self.medium, &at);
                let place = self.space.advance(&mut self.medium, &at, 1, SimTime(7));
                let expected = model.advance(&at);
                let found = place.map(|ppn| {
                    let (block, unit) = self.medium.geometry.split(ppn);
                    self.medium.written(ppn);
                    self.space.close_full(&mut self.medium, die, stream);
                    (self.space.opened.pop().map(|opened| opened.0), block.0, unit)
                });
                assert_eq!(found, expected, "{at:?} in {model:?}");
                assert!(self.space.opened.is_empty());
                let opened = expected.is_some_and(|(opened, ..)| opened.is_some());
                assert_eq!(would_open, opened, "{at:?} in {model:?}");
                assert!(!opened || class != AllocationClass::Host || free_before > self.setup.reserve, "the reserve is taken");
            }
        }
        self.check(die, model);
    }

    /// Compares all that can be asked about a die with the model.
    fn check(&self, die: DieId, model: &Model) {
        let free = model.free() as u32;
        assert_eq!((self.space.free_blocks(die), self.space.free_by_level(die)), (free, vec![free]), "{model:?}");
        assert_eq!(self.space.has_space(die), model.has_space(die), "{model:?}");
        assert!(self.medium.closed_blocks(die).map(|block| block.0).eq(model.closed.iter().copied()), "{model:?}");
        for (stream, slots) in model.frontiers.iter().enumerate() {
            for (slot, open) in (0..).zip(slots) {
                let block = self.space.frontier(die, stream, slot).map(|block| block.0);
                assert_eq!(block, open.map(|open| open.block), "stream {stream}, {model:?}");
            }
        }
        let host = self.setup.host;
        let order = (host..model.frontiers.len()).chain(0..host);
        let first = order.flat_map(|stream| model.frontiers[stream].iter().flatten().map(move |open| (stream, open.block)));
        let any = self.space.any_open(die, 0..0).map(|(stream, block)| (stream, block.0));
        assert_eq!(any, first.clone().next(), "{model:?}");
    }
}

/// Every sequence of four steps on an empty, a half full and a full die, each on a die of its own, against the
/// model: which block is opened, which unit is written, and what is refused, by class; free blocks, frontiers, and
/// whether the host finds space.
#[test]
fn every_short_life_of_a_die_follows_the_rules() {
    for setup in SETUPS {
        let steps = steps(&setup);
        let (sequences, before) = (steps.len().pow(4), [0, 3, 6]);
        let mut rig = Rig::new(setup, (sequences * before.len()) as u32);
        let mut with_space = 0;
        for die in 0..sequences * before.len() {
            let (sequence, writes, die) = (die / before.len(), before[die % before.len()], DieId(die as u32));
            let mut model = rig.model(die);
            (0..writes).for_each(|_| rig.step(steps[0], die, &mut model));
            (0..4).for_each(|place| rig.step(steps[sequence / steps.len().pow(place) % steps.len()], die, &mut model));
            with_space += u32::from(model.has_space(die));
        }
        assert_eq!(rig.space.dies_with_space(), with_space, "{setup:?}");
        let free: u32 = rig.medium.geometry.block_count - rig.space.open_blocks().count() as u32;
        let closed = (0..rig.medium.geometry.die_count).map(|die| rig.medium.closed_count(DieId(die)));
        assert_eq!(rig.space.total_free_blocks(), u64::from(free - closed.sum::<u32>()), "{setup:?}");
    }
}

/// Long lives, in which every free block is used again and again. From time to time the drive is saved and loaded.
#[test]
fn long_lives_of_a_die_follow_the_rules() {
    for setup in SETUPS {
        let (steps, mut rng) = (steps(&setup), Rng::stream(1, "lives"));
        let mut rig = Rig::new(setup, 2);
        let mut models = [0, 1].map(|die| rig.model(DieId(die)));
        for number in 0..6000 {
            let die = rng.below(2);
            let step = steps[rng.below(steps.len() as u64) as usize];
            rig.step(step, DieId(die as u32), &mut models[die as usize]);
            if number % 500 == 0 {
                let image = rig.space.image();
                let open: Vec<(usize, u32)> = image.open_blocks().map(|(stream, block)| (stream, block.0)).collect();
                assert_eq!(open, rig.space.open_blocks().map(|open| (open.stream, open.block.0)).collect::<Vec<_>>());
                rig.space = Rig::space(setup, &rig.medium);
                assert_eq!(rig.space.restore(image), Ok(()));
                (0..2).for_each(|die| rig.check(DieId(die), &models[die as usize]));
            }
        }
    }
}

/// Returns a die with blocks that were erased in modes of levels 0, 1 and 1, and one that was never used. The block
/// with the lowest number in level 1 is the more worn one.
fn levels() -> (Medium, Space, Box<dyn WearLeveling>) {
    let wear = WearConfig::named("dynamic").expect("listed").build(());
    let geometry = geometry(1, 1, 4, 2, 1);
    let mut medium = Medium::new(geometry, vec![2, 1]).expect("a small drive fits into memory");
    let streams = Streams { host: 1, all: 3, shared: true, by_plane: false, most_free: false, map: false, parity: false };
    let mut space = Space::new(&geometry, streams, 1, vec![0, 1, 1]);
    for (block, mode) in [(0, 0), (1, 1), (2, 2)] {
        space.advance(&mut medium, &host_at(0), 1, SimTime(0)).expect("a block is free");
        space.close(&mut medium, DieId(0), BlockId(block));
        medium.take_victim(BlockId(block));
        medium.begin_erase(BlockId(block));
        medium.end_erase(BlockId(block), ModeId(mode), 1000 - 10 * block);
        space.put_free(&medium, BlockId(block), &*wear);
    }
    space.opened.clear();
    (medium, space, wear)
}

fn host_at(level: u8) -> Target {
    Target { die: DieId(0), stream: 0, mode: ModeId(0), class: AllocationClass::Host, plane: None, level }
}

/// A block is taken from the list of the requested level, in which never-used blocks count as erased to the
/// deepest.
#[test]
fn a_block_of_the_requested_level_is_opened() {
    for (level, block, left) in [(0, 3, [1, 2]), (1, 2, [2, 1])] {
        let (mut medium, mut space, _) = levels();
        assert_eq!((space.levels(), space.free_by_level(DieId(0))), (2, vec![2, 2]));
        assert!(space.would_open(&medium, &host_at(level)));
        let place = space.advance(&mut medium, &host_at(level), 1, SimTime(5)).expect("a block is free");
        assert_eq!((medium.geometry.block_of(place), medium.first_program(BlockId(block))), (BlockId(block), 5));
        assert_eq!((space.free_by_level(DieId(0)), space.free_blocks(DieId(0))), (left.to_vec(), 3));
        assert!(!space.would_open(&medium, &host_at(level)), "the block is open now");
    }
    let (_, space, _) = levels();
    assert_eq!([0, 1, 2].map(|level| space.erase_mode_of(level)), [ModeId(0), ModeId(1), ModeId(0)]);
}

/// A block that is erased once more is in no list, so that no write takes it, but still counts as free.
#[test]
fn a_block_in_a_lazy_erase_is_free_and_not_taken() {
    let (mut medium, mut space, wear) = levels();
    let taken = space.take_for_lazy_erase(DieId(0), 1).expect("the level has blocks");
    assert_eq!((taken, space.free_blocks(DieId(0)), space.free_by_level(DieId(0))), (BlockId(2), 4, vec![2, 1]));
    assert_eq!(space.take_for_lazy_erase(DieId(0), 1), Some(BlockId(1)));
    assert_eq!(space.take_for_lazy_erase(DieId(0), 1), None);
    medium.lazy_erase(taken, ModeId(0), 7);
    space.insert_free(&medium, taken, &*wear);
    assert_eq!((space.free_blocks(DieId(0)), space.free_by_level(DieId(0))), (4, vec![3, 0]));
}

/// A drive that was loaded from its tables alone has the free blocks of the records, in the order of wear, and
/// writes on in its open blocks behind what has been programmed.
#[test]
fn a_loaded_drive_writes_on_in_its_open_blocks() {
    let mut rng = Rng::stream(2, "lives");
    for (setup, length) in SETUPS.iter().flat_map(|&setup| (0..60).map(move |length| (setup, length))) {
        let mut rig = Rig::new(setup, 1);
        let (steps, die) = (steps(&setup), DieId(0));
        let mut model = rig.model(die);
        for _ in 0..length {
            rig.step(steps[rng.below(steps.len() as u64) as usize], die, &mut model);
        }
        let open: Vec<OpenBlock> = rig.space.open_blocks().collect();
        open.iter().for_each(|open| rig.medium.blocks.update(open.block, |record| record.programmed = open.next_unit as u16));
        let free = rig.space.free_blocks(die);
        rig.space.rebuild(&rig.medium, &*rig.wear);
        assert_eq!((rig.space.free_blocks(die), rig.space.open_blocks().count()), (free, 0), "{setup:?}");
        for known in &open {
            assert!(rig.space.go_on(&rig.medium, known.block, known.stream), "{setup:?}: {known:?}");
        }
        let mut blocks: Vec<(usize, u32, u32)> = open.iter().map(|open| (open.stream, open.block.0, open.next_unit)).collect();
        let mut now: Vec<_> = rig.space.open_blocks().map(|open| (open.stream, open.block.0, open.next_unit)).collect();
        blocks.sort_unstable();
        now.sort_unstable();
        assert_eq!(now, blocks, "{setup:?}");
        assert_eq!(rig.space.has_space(die), model.has_space(die), "{setup:?}");
    }
}

#[test]
fn a_full_block_or_an_occupied_stream_is_not_written_on() {
    let (mut medium, mut space, wear) = levels();
    medium.open(BlockId(3), ModeId(0));
    medium.open(BlockId(2), ModeId(0));
    space.rebuild(&medium, &*wear);
    medium.blocks.update(BlockId(3), |record| record.programmed = 2);
    assert!(!space.go_on(&medium, BlockId(3), 0), "it is full");
    medium.blocks.update(BlockId(3), |record| record.programmed = 1);
    assert!(space.go_on(&medium, BlockId(3), 0));
    assert!(!space.go_on(&medium, BlockId(2), 0), "the stream has a frontier");
    assert!(space.go_on(&medium, BlockId(2), 1));
    let place = space.advance(&mut medium, &host_at(0), 1, SimTime(0)).expect("a block is open");
    assert_eq!(medium.geometry.split(place), (BlockId(3), 1));
}

#[test]
fn a_state_of_another_shape_is_refused() {
    let image = Rig::new(SETUPS[0], 2).space.image();
    for (setup, dies) in [(SETUPS[0], 1), (SETUPS[1], 2), (SETUPS[2], 2)] {
        assert!(Rig::new(setup, dies).space.restore(image.clone()).is_err(), "{setup:?}");
    }
    let (_, mut levels, _) = levels();
    assert!(levels.restore(Rig::new(SETUPS[0], 1).space.image()).is_err(), "free blocks have levels");
}
