//! Family: victim choice. A member selects the closed block of a die that is collected next.

pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod greedy_in_plane;
pub mod random;
pub mod rate_limited_greedy;
pub mod windowed_greedy;

use crate::medium::Medium;
use crate::medium::rain::Rain;
use kit::{BlockId, DieId, ModeId, Rng, SimTime};

/// Information available to a victim rule.
pub struct Candidates<'a> {
    /// State of the data.
    pub medium: &'a Medium,
    /// The die that collects.
    pub die: DieId,
    /// Current instant.
    pub now: SimTime,
    /// Number of write modes in the table.
    pub mode_count: u8,
    /// Effective wear up to which a block is rated \[nominal erases\].
    pub rated_pe_cycles: u32,
    /// Stream of random numbers for collection.
    pub rng: &'a mut Rng,
    /// Sets of blocks that are collected as a whole, where there is parity across dies.
    pub(crate) rain: Option<&'a Rain>,
}

impl Candidates<'_> {
    /// Returns the closed block with the fewest valid units, whatever its mode.
    pub fn min_valid(&self) -> Option<BlockId> {
        if self.rain.is_some() {
            return self.medium.closed_blocks(self.die).min_by_key(|&block| (self.valid(block), block));
        }
        (0..self.mode_count)
            .filter_map(|mode| self.medium.min_valid(self.die, ModeId(mode)))
            .min_by_key(|(block, valid)| (*valid, *block))
            .map(|(block, _)| block)
    }

    /// Returns the number of valid units that collecting a closed block would move: those of the block, or the mean of
    /// the blocks of its set, rounded down.
    pub fn valid(&self, block: BlockId) -> u32 {
        match self.rain {
            Some(rain) => rain.mean_valid(self.medium, block),
            None => u32::from(self.medium.block(block).valid),
        }
    }

    /// Returns the share of its rated life that a block has left.
    pub fn life(&self, block: BlockId) -> f64 {
        let rated = 1000.0 * f64::from(self.rated_pe_cycles.max(1));
        (1.0 - f64::from(self.medium.wear_thousandths(block)) / rated).max(0.0)
    }

    /// Returns the mean share of their rated life that the blocks of the die have left.
    pub fn mean_life(&self) -> f64 {
        let blocks = self.medium.geometry.blocks_of(self.die);
        let count = f64::from(blocks.end - blocks.start);
        blocks.map(|block| self.life(BlockId(block))).sum::<f64>() / count
    }

    /// Returns true if collecting the block would free space.
    pub fn would_free_space(&self, block: BlockId) -> bool {
        self.valid(block) <= self.medium.max_valid_to_collect()
    }

    /// Draws a closed block; all have the same probability.
    pub fn any(&mut self) -> Option<BlockId> {
        if self.medium.closed_count(self.die) == 0 {
            return None;
        }
        let blocks = self.medium.geometry.blocks_of(self.die);
        let count = u64::from(blocks.end - blocks.start);
        // Most blocks are closed, so a draw or two suffice as a rule. Where few are, one of them is drawn by its rank.
        for _ in 0..64 {
            let block = BlockId(blocks.start + self.rng.below(count) as u32);
            if self.is_closed(block) {
                return Some(block);
            }
        }
        let rank = self.rng.below(u64::from(self.medium.closed_count(self.die))) as usize;
        blocks.map(BlockId).filter(|&block| self.is_closed(block)).nth(rank)
    }

    fn is_closed(&self, block: BlockId) -> bool {
        self.medium.block(block).state() == crate::medium::BlockState::Closed
    }
}

/// The contract of victim choice.
pub trait Victim: Send {
    /// Returns the block to collect, or `None` if collecting now would free nothing.
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId>;

    /// Returns true if a block that a policy's score prefers is to be passed over now, in favour of the next.
    fn is_passed_over(&mut self, _block: BlockId, _candidates: &mut Candidates<'_>) -> bool {
        false
    }
}

kit::family! {
    /// Choice of the victim block of a collection.
    VictimConfig: () => dyn Victim {
        Greedy = greedy,
        CostBenefit = cost_benefit,
        DChoices = d_choices,
        Fifo = fifo,
        WindowedGreedy = windowed_greedy,
        Random = random,
        RateLimitedGreedy = rate_limited_greedy,
        GreedyInPlane = greedy_in_plane,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::medium::BlockState;
    use crate::medium::tests::{empty, geometry, write};
    use kit::Ppn;

    pub(crate) const NOW: u64 = 100;
    /// Collecting a block with more valid units than this frees no space: a block has four, of which a program writes
    /// two.
    pub(crate) const MAX_VALID: u32 = 2;

    /// Rated cycles of the blocks.
    pub(crate) const RATED: u32 = 1000;

    /// Adds nominal erases to the wear of a block.
    pub(crate) fn wear_out(medium: &mut Medium, block: BlockId, erases: u32) {
        medium.add_wear(block, 1000 * erases);
    }

    /// A closed block.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Closed {
        pub block: BlockId,
        pub valid: u32,
        /// Age at [`NOW`].
        pub age: u64,
    }

    /// A die in a state of its four blocks, and its closed blocks in the order of closing.
    pub(crate) struct Case {
        pub die: DieId,
        pub closed: Vec<Closed>,
    }

    impl Case {
        /// Returns the choice of a rule among the blocks of the die.
        pub(crate) fn choose(&self, rule: &mut dyn Victim, medium: &Medium, rng: &mut Rng) -> Option<BlockId> {
            rule.choose(&mut self.candidates(medium, rng))
        }

        pub(crate) fn candidates<'a>(&self, medium: &'a Medium, rng: &'a mut Rng) -> Candidates<'a> {
            Candidates { medium, die: self.die, now: SimTime(NOW), mode_count: 2, rated_pe_cycles: RATED, rng, rain: None }
        }
    }

    /// Fills a die: each of its four blocks is closed with a number of valid units, or free or open (`None`).
    fn fill_die(medium: &mut Medium, die: DieId, fill: [Option<u32>; 4], order: [u32; 4], ages: [u64; 4]) -> Case {
        let mut closed = Vec::new();
        for place in order {
            let block = BlockId(medium.geometry.blocks_of(die).start + place);
            let (valid, age) = (fill[place as usize], ages[place as usize]);
            if valid.is_none() && place % 2 == 0 {
                continue;
            }
            // Two units are written at least; those that are not valid become invalid before or after the block is
            // closed.
            write(medium, block, (place % 2) as u8, valid.unwrap_or(0).max(2));
            medium.note_first_program(block, SimTime(NOW - age));
            let first = medium.geometry.first_of(block).0;
            let surplus = || (first + valid.unwrap_or(0)..first + 2).map(Ppn);
            if place % 2 == 0 {
                surplus().for_each(|ppn| medium.invalidate(ppn));
            }
            if let Some(valid) = valid {
                medium.close(block);
                closed.push(Closed { block, valid, age });
            }
            if place % 2 == 1 {
                surplus().for_each(|ppn| medium.invalidate(ppn));
            }
        }
        Case { die, closed }
    }

    /// Returns a drive with a die for every filling of four blocks, under three orders of closing with other ages; and
    /// the dies.
    pub(crate) fn every_die() -> (Medium, Vec<Case>) {
        let orders = [([0, 1, 2, 3], [7, 7, 7, 7]), ([3, 2, 1, 0], [0, 2, 10, 40]), ([2, 0, 3, 1], [30, 90, 5, 10])];
        let mut medium = empty(geometry(3 * 6u32.pow(4), 1, 4, 2, 2), 2);
        let cases = (0..medium.geometry.die_count).map(|die| {
            let (order, ages) = orders[die as usize % 3];
            let fill = [0, 1, 2, 3].map(|place| (die / 3 / 6u32.pow(place) % 6).checked_sub(1));
            fill_die(&mut medium, DieId(die), fill, order, ages)
        });
        let cases = cases.collect();
        (medium, cases)
    }

    /// Returns the block with the fewest valid units that would free space; among equals, that with the lowest number.
    pub(crate) fn greedy(closed: &[Closed]) -> Option<BlockId> {
        let free = closed.iter().filter(|block| block.valid <= MAX_VALID);
        free.min_by_key(|block| (block.valid, block.block)).map(|block| block.block)
    }

    /// Conformance, over every small die: a member finds a victim exactly if some closed block of the die would free
    /// space. The victim is closed and of that die; it would free space, or must make way because it was closed first.
    /// One seed gives one choice.
    #[test]
    fn every_member_finds_a_victim_exactly_if_space_can_be_gained() {
        let (medium, cases) = every_die();
        for name in VictimConfig::NAMES {
            let build = || VictimConfig::named(name).expect("listed").build(());
            let mut rng = Rng::stream(1, name);
            for case in &cases {
                let (closed, mut again) = (&case.closed, rng.clone());
                let victim = case.choose(&mut *build(), &medium, &mut rng);
                assert_eq!(victim.is_some(), closed.iter().any(|block| block.valid <= MAX_VALID), "{name}: {closed:?}");
                if let Some(victim) = victim {
                    let chosen = closed.iter().position(|block| block.block == victim);
                    let chosen = chosen.unwrap_or_else(|| panic!("{name} takes {victim:?} of {closed:?}"));
                    assert!(closed[chosen].valid <= MAX_VALID || chosen == 0, "{name} takes {victim:?} of {closed:?}");
                }
                assert_eq!(case.choose(&mut *build(), &medium, &mut again), victim, "{name}: {closed:?}");
                assert_eq!(again.next_u64(), rng.clone().next_u64(), "{name} draws the same numbers");
            }
        }
    }

    /// Conformance: taking one victim after another ends, and leaves no block that would free space.
    #[test]
    fn every_member_comes_to_an_end() {
        for name in VictimConfig::NAMES {
            let (mut medium, cases) = every_die();
            let (mut rule, mut rng) = (VictimConfig::named(name).expect("listed").build(()), Rng::stream(1, name));
            for Case { die, closed } in &cases {
                let case = Case { die: *die, closed: Vec::new() };
                for _ in closed {
                    let Some(victim) = case.choose(&mut *rule, &medium, &mut rng) else { break };
                    medium.take_victim(victim);
                }
                assert_eq!(case.choose(&mut *rule, &medium, &mut rng), None, "{name}: {closed:?}");
                let left = closed.iter().filter(|block| medium.block(block.block).state() == BlockState::Closed);
                assert!(left.map(|block| block.valid).all(|valid| valid > MAX_VALID), "{name}: {closed:?}");
            }
        }
    }

    /// Every closed block has the same probability, and blocks that are not closed are never drawn. With one closed
    /// block among many, most searches exhaust their draws and go on block by block.
    #[test]
    fn a_drawn_block_is_closed() {
        let mut rng = Rng::stream(1, "draws");
        let (medium, cases) = every_die();
        for case in &cases {
            match case.candidates(&medium, &mut rng).any() {
                Some(drawn) => assert!(case.closed.iter().any(|block| block.block == drawn), "{drawn:?} of {:?}", case.closed),
                None => assert!(case.closed.is_empty(), "{:?}", case.closed),
            }
        }
        let three = cases.iter().find(|case| case.closed.len() == 3).expect("there are many");
        let mut drawn = [0i32; 3];
        for _ in 0..30_000 {
            let block = three.candidates(&medium, &mut rng).any();
            drawn[three.closed.iter().position(|closed| Some(closed.block) == block).expect("it is closed")] += 1;
        }
        // Five standard deviations are 408.
        assert!(drawn.iter().all(|count| (count - 10_000).abs() < 408), "{drawn:?}");
        let mut lonely = empty(geometry(2, 1, 1000, 2, 2), 2);
        let die = Case { die: DieId(1), closed: Vec::new() };
        for block in [1000, 1500, 1999].map(BlockId) {
            write(&mut lonely, block, 0, 0);
            lonely.close(block);
            (0..20).for_each(|_| assert_eq!(die.candidates(&lonely, &mut rng).any(), Some(block)));
            lonely.take_victim(block);
        }
        // Two neighbours among many are equally likely: neither takes the draws that fell on the blocks before it.
        for block in [1200, 1201].map(BlockId) {
            write(&mut lonely, block, 0, 0);
            lonely.close(block);
        }
        let count = (0..2_000).filter(|_| die.candidates(&lonely, &mut rng).any() == Some(BlockId(1200))).count();
        assert!((888..1112).contains(&count), "{count} of 2000: five standard deviations are 112");
    }
}
