//! Tests of `retention.rs`.

use super::*;
use crate::medium::tests::{empty, erase, geometry, write};
use kit::{Ppn, Rng};

const BLOCKS: u32 = 7;
const MARGIN: u64 = 10;
/// Time that a die needs to move a block.
const BLOCK: u64 = 7;
/// Four write modes: moved in the background only, with a limit for each of two wear classes, with a limit and
/// moved in the background, and without either.
const LIMITS: [&[u64]; 4] = [&[], &[400, 250], &[500], &[]];
const MOVE_AFTER: [Option<u64>; 4] = [Some(130), None, Some(90), None];

fn retention(dies: usize, encode: u64, user_units: u64) -> Retention {
    let limits = LIMITS.iter().map(|classes| classes.iter().map(|&limit| Nanos(limit)).collect()).collect();
    let move_after = MOVE_AFTER.iter().map(|after| after.map(Nanos)).collect();
    let moving = MoveTimes { die_share: 1.0, block: Nanos(BLOCK), encode: encode as f64, block_units: 4, user_units, dies };
    // A block is rated for two erases, and the first of two classes ends after one.
    Retention::new(limits, move_after, 2, Nanos(MARGIN), &moving)
}

/// A block that must be moved, as a plain list knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    block: BlockId,
    erase_count: u32,
    mode: usize,
    /// Wear class; `None`: to be moved in the background.
    class: Option<usize>,
    /// Instant by which the move must begin, if it is the only one.
    at: u64,
}

/// A die under test, and what a plain list knows of it.
struct Rig {
    medium: Medium,
    retention: Retention,
    encode: u64,
    known: Vec<Known>,
    /// Open and closed blocks, in the order in which they were opened.
    written: VecDeque<BlockId>,
    now: u64,
}

impl Rig {
    fn new(encode: u64) -> Rig {
        let medium = empty(geometry(1, 1, BLOCKS, 4, 1), LIMITS.len());
        let retention = retention(1, encode, 20);
        Rig { medium, retention, encode, known: Vec::new(), written: VecDeque::new(), now: 0 }
    }

    /// Enters the deadlines of a block into the list.
    fn know(&mut self, block: BlockId, opened_at: u64) {
        let (erase_count, mode) = (self.medium.erase_count(block), usize::from(self.medium.block(block).mode()));
        let due = Known { block, erase_count, mode, class: None, at: 0 };
        if !LIMITS[mode].is_empty() {
            let class = usize::from(self.medium.wear_thousandths(block) >= 1000).min(LIMITS[mode].len() - 1);
            self.known.push(Known { class: Some(class), at: opened_at + LIMITS[mode][class] - MARGIN, ..due });
        }
        self.known.extend(MOVE_AFTER[mode].map(|after| Known { at: opened_at + after, ..due }));
    }

    fn open(&mut self, mode: u8, wear: u32) {
        let free = (0..BLOCKS).map(BlockId).find(|&block| self.medium.block(block).state() == BlockState::Free);
        let Some(block) = free else { return };
        write(&mut self.medium, block, mode, 2);
        self.medium.wear[block.index()] = wear;
        self.medium.note_first_program(block, SimTime(self.now));
        self.retention.opened(&self.medium, block);
        self.know(block, self.now);
        self.written.push_back(block);
    }

    fn close(&mut self) {
        let open = self.written.iter().find(|&&block| self.medium.block(block).state() == BlockState::Open);
        open.copied().into_iter().for_each(|block| self.medium.close(block));
    }

    /// Trims all data of a closed block, or erases it.
    fn drop_data(&mut self, erased: bool, newest: bool) {
        let closed = |block: &&BlockId| self.medium.block(**block).state() == BlockState::Closed;
        let found = if newest { self.written.iter().rfind(closed) } else { self.written.iter().find(closed) };
        let Some(&block) = found else { return };
        if erased {
            self.retention.erased(&self.medium, block);
            erase(&mut self.medium, block);
            self.written.retain(|known| *known != block);
            return;
        }
        let first = self.medium.geometry.first_of(block).0;
        let valid: Vec<Ppn> = (first..first + 4).map(Ppn).filter(|&ppn| self.medium.is_valid(ppn)).collect();
        valid.into_iter().for_each(|ppn| self.medium.invalidate(ppn));
    }

    /// Returns the first block that must be moved, and the instant at which its move must begin: all other blocks
    /// of its mode on the die are moved as well, and the encoder takes the time of all their units twice.
    fn first(&self) -> Option<(u64, Known)> {
        let holds = |mode: usize| {
            self.written.iter().filter(|&&block| usize::from(self.medium.block(block).mode()) == mode).count() as u64
        };
        let start = |known: &Known| match known.class {
            None => known.at,
            Some(_) => {
                let blocks = holds(known.mode);
                let most = self.retention.max_limited_units[known.mode];
                let units = (4 * blocks).min(20).min(most);
                known.at.saturating_sub((blocks - 1) * BLOCK + units * 2 * self.encode)
            }
        };
        let current = self.known.iter().filter(|known| {
            let record = self.medium.block(known.block);
            let emptied = record.state() == BlockState::Closed && record.valid == 0;
            self.medium.erase_count(known.block) == known.erase_count && record.state() != BlockState::Free && !emptied
        });
        // At one instant limits go before background moves, and then modes and classes go by their numbers.
        let first = current.min_by_key(|known| (start(known), known.class.is_none(), known.mode, known.class));
        first.map(|known| (start(known), *known))
    }

    /// Takes all blocks that are due by now, each at its instant and not one nanosecond before.
    fn take_all_due(&mut self) {
        loop {
            let first = self.first();
            assert_eq!(self.retention.next_due(&self.medium).map(|at| at.0), first.map(|(at, _)| at), "{:?}", self.known);
            let Some((at, known)) = first.filter(|(at, _)| *at <= self.now) else { break };
            if let Some(before) = at.checked_sub(1) {
                assert_eq!(self.retention.take_due(&self.medium, SimTime(before)), None, "{known:?}");
            }
            let taken = self.retention.take_due(&self.medium, SimTime(at));
            assert_eq!(taken, Some((known.block, known.class.is_some())), "at {at}: {:?}", self.known);
            self.known.retain(|other| (other.block, other.class, other.at) != (known.block, known.class, known.at));
        }
    }
}

/// Long lives of a small die, on which blocks of either wear class are opened in every mode, closed, emptied and
/// erased while others become due, without an encoder, with a fast and with a slow one. From time to time the
/// deadlines are saved and loaded.
#[test]
fn blocks_become_due_in_order_and_on_time() {
    for encode in [0, 2, 5] {
        let (mut rig, mut rng) = (Rig::new(encode), Rng::stream(1, "deadlines"));
        for step in 0..6000 {
            rig.now += rng.below(40);
            match rng.below(6) {
                0 | 1 => rig.open(rng.below(4) as u8, 999 + rng.below(2) as u32),
                2 => rig.close(),
                3 => rig.drop_data(false, rng.chance(0.5)),
                _ => rig.drop_data(true, rng.chance(0.5)),
            }
            rig.take_all_due();
            if step % 500 == 0 {
                let image = rig.retention.image();
                rig.retention = retention(1, encode, 20);
                assert_eq!(rig.retention.restore(image), Ok(()));
            }
        }
    }
}

/// Deadlines are rebuilt from blocks that were opened in any order.
#[test]
fn a_drive_that_is_adopted_has_the_deadlines_of_its_blocks() {
    let mut rng = Rng::stream(1, "adopted");
    for _ in 0..300 {
        let mut rig = Rig::new(0);
        for block in (0..BLOCKS).map(BlockId) {
            let opened_at = rng.below(1000);
            match rng.below(4) {
                0 => continue,
                1 => rig.medium.retire(block),
                state => {
                    write(&mut rig.medium, block, rng.below(4) as u8, 2);
                    rig.medium.note_first_program(block, SimTime(opened_at));
                    // Deadlines of the time before, in another order, are forgotten.
                    rig.retention.opened(&rig.medium, block);
                    rig.know(block, opened_at);
                    rig.written.push_back(block);
                    if state == 2 {
                        rig.medium.close(block);
                    }
                }
            }
        }
        rig.retention.adopt(&rig.medium);
        rig.now = 10_000;
        rig.take_all_due();
        assert!(rig.known.is_empty());
    }
}

/// A block that was opened before the run, longer ago than its limit, is due at once.
#[test]
fn a_limit_that_has_passed_is_due_at_the_start() {
    let mut rig = Rig::new(0);
    rig.medium.open(BlockId(0), kit::ModeId(2));
    rig.medium.first_program[0] = -1000;
    rig.retention.opened(&rig.medium, BlockId(0));
    assert_eq!(rig.retention.limit_of(&rig.medium, BlockId(0)), Some(-500));
    assert_eq!(
        [rig.retention.take_due(&rig.medium, SimTime(0)), rig.retention.take_due(&rig.medium, SimTime(0))],
        [Some((BlockId(0), true)), Some((BlockId(0), false))]
    );
}

/// Data may be held in a mode as long as all of it can be moved in half the shortest limit. Moved data gets half of
/// the encoder's time.
#[test]
fn no_more_data_has_a_limit_than_can_be_moved_in_time() {
    let without = retention(1, 0, 20);
    assert_eq!(without.max_limited_units, [u64::MAX, 250 / 2, 500 / 2, u64::MAX]);
    assert_eq!(without.max_background_units, [130 / 2, u64::MAX, 90 / 2, u64::MAX]);
    let with = retention(1, 2, 20);
    assert_eq!(with.max_limited_units, [u64::MAX, 250 / 2 / 4, 500 / 2 / 4, u64::MAX]);
    assert_eq!(with.max_background_units, [130 / 2 / 4, u64::MAX, 90 / 2 / 4, u64::MAX]);
}

/// The margin of a move is negative one nanosecond after the limit. Limits that passed while power was off, or of
/// data without a limit, do not count.
#[test]
fn a_limit_is_missed_one_nanosecond_after_it() {
    let mut rig = Rig::new(0);
    rig.now = 1000;
    rig.open(1, 0);
    rig.open(3, 0);
    let (limited, unlimited) = (BlockId(0), BlockId(1));
    rig.retention.note_moved(&rig.medium, unlimited, SimTime(9_999));
    assert_eq!((rig.retention.min_margin, rig.retention.misses), (None, 0));
    for (now, least, misses) in [(1390, 10, 0), (1400, 0, 0), (1300, 0, 0), (1401, -1, 1), (1500, -100, 2)] {
        rig.retention.note_moved(&rig.medium, limited, SimTime(now));
        assert_eq!((rig.retention.min_margin, rig.retention.misses), (Some(least), misses), "at {now}");
    }
    for (power_is_back, misses) in [(1400, 3), (1401, 3)] {
        rig.retention.power_is_back(SimTime(power_is_back));
        rig.retention.note_moved(&rig.medium, limited, SimTime(1600));
        assert_eq!(rig.retention.misses, misses, "power is back at {power_is_back}");
    }
}

#[test]
fn deadlines_of_another_shape_are_refused() {
    let image = retention(1, 0, 20).image();
    assert!(retention(2, 0, 20).restore(image.clone()).is_err(), "it has another number of dies");
    let moving = MoveTimes { die_share: 1.0, block: Nanos(1), encode: 0.0, block_units: 4, user_units: 4, dies: 1 };
    let other = vec![vec![], vec![Nanos(400)], vec![Nanos(500)], vec![]];
    assert!(Retention::new(other, vec![None; 4], 2, Nanos(0), &moving).restore(image).is_err(), "it has other classes");
}

/// Each die counts the blocks that it must move, and no others: the three blocks of die 1 are due two moves before
/// their limit, and that of die 0 at its limit.
#[test]
fn blocks_of_other_dies_do_not_bring_a_move_forward() {
    let mut medium = empty(geometry(2, 1, BLOCKS, 4, 1), LIMITS.len());
    let mut retention = retention(2, 0, 20);
    for block in [BLOCKS, BLOCKS + 1, BLOCKS + 2, 0].map(BlockId) {
        write(&mut medium, block, 1, 2);
        retention.opened(&medium, block);
    }
    let limit = LIMITS[1][0] - MARGIN;
    let due = [(BLOCKS, 2 * BLOCK), (BLOCKS + 1, 2 * BLOCK), (BLOCKS + 2, 2 * BLOCK), (0, 0)];
    for (block, early) in due {
        assert_eq!(retention.next_due(&medium), Some(SimTime(limit - early)));
        assert_eq!(retention.take_due(&medium, SimTime(limit - early)), Some((BlockId(block), true)));
    }
    assert_eq!(retention.next_due(&medium), None);
}

/// A block of die 0, then `count` blocks of die 1, one nanosecond apart: each die moves its blocks one after another,
/// from the instant at which they are due. Die 1 begins before die 0, whose block is older, so that the last of its
/// blocks has been moved by its limit, the margin included.
#[test]
fn a_die_that_holds_more_blocks_begins_before_an_older_block_of_another() {
    for count in 1..=6 {
        let mut medium = empty(geometry(2, 1, BLOCKS, 4, 1), LIMITS.len());
        let mut retention = retention(2, 0, 20);
        for (age, block) in std::iter::once(0).chain(BLOCKS..BLOCKS + count).map(BlockId).enumerate() {
            write(&mut medium, block, 1, 2);
            medium.note_first_program(block, SimTime(age as u64));
            retention.opened(&medium, block);
        }
        let (mut free_at, mut now) = ([0; 2], SimTime::ZERO);
        while let Some(at) = retention.next_due(&medium) {
            now = now.max(at);
            let (block, _) = retention.take_due(&medium, now).expect("it is due");
            let die = medium.geometry.die_of(block).index();
            let begin = now.0.max(free_at[die]);
            free_at[die] = begin + BLOCK;
            let limit = retention.limit_of(&medium, block).expect("limited") as u64 - MARGIN;
            assert!(begin <= limit, "{block:?} of {count} is moved at {begin}, after {limit}");
            assert!(count > 1 || begin == limit, "a lone block of a die is not moved before its limit");
        }
    }
}

/// Against a list of the scheduled events: a requested instant is never without an event at or before it, and no
/// instant has two events, however often the next deadline changes.
#[test]
fn one_timer_is_pending_for_each_instant() {
    let (mut retention, mut rng) = (retention(1, 0, 1), Rng::stream(1, "test"));
    let (mut now, mut events) = (SimTime::ZERO, Vec::new());
    for _ in 0..100_000 {
        if rng.chance(0.5) && !events.is_empty() {
            now = *events.iter().min().expect("not empty");
            let fired = events.iter().position(|&at| at == now).expect("an event");
            events.swap_remove(fired);
            retention.timer_fired(now);
        }
        // The next deadline: soon after one just seen, or far away.
        let range = if rng.chance(0.5) { 10 } else { 1000 };
        let at = now + Nanos(1 + rng.below(range));
        if retention.must_arm(at) {
            events.push(at);
        }
        assert!(events.iter().any(|&event| event <= at), "no timer for {at:?} at {now:?}: {events:?}");
        let mut distinct = events.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), events.len(), "{events:?}");
    }
    assert!(events.len() < 1000, "{} timers", events.len());
}
