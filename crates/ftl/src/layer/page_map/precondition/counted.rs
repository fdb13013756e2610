//! Random overwrites by their counts alone.
//!
//! Which units a block holds, and at which of its places, does not matter to the next random overwrite: any unit is as
//! likely, so that a block loses one with a probability in proportion to its valid units, and the places of those are
//! equally likely in any order. Numbers of valid units therefore go through the same process as a drive with a map, a
//! write takes some nanoseconds, and the units get their places in the end ([`Scattered`]).

use super::scale::{ScaleModels, scaled_counts};
use super::{BLOCKS_BETWEEN, Data};
use crate::layer::page_map::ftl::Ftl;
use crate::map::{Origin, Scattered, Spread, encode};
use crate::medium::space::OpenBlock;
use kit::{BlockId, DieId, Lpn, ModeId, Permutation, Rng, SimTime};

/// The blocks with map data, which random overwrites leave alone: for each block, whether it is one; empty if there is
/// none.
pub(super) type OfMap = Vec<bool>;

impl Ftl {
    /// Produces the steady state in a single pass; see the description of [`precondition`](super). Returns false if
    /// `progress` does.
    pub(super) fn produce_steady_state(
        &mut self,
        rng: &mut Rng,
        models: &ScaleModels,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> std::io::Result<bool> {
        let Some(model) = self.model_valid_counts(models, &mut || progress(0.0))? else { return Ok(false) };
        let geometry = self.state.store.medium.geometry;
        let dies = u64::from(geometry.die_count);
        // Leaves as many blocks free as untimed writes keep: opening the next one leads to a collection, as in steady
        // state. The phases set below keep the dies from collecting at the same time.
        let mut next = 0u64;
        for die in 0..geometry.die_count {
            let used = self.state.space.free_blocks(DieId(die)) - self.collect_below();
            let until = self.state.store.user_units * u64::from(die + 1) / dies;
            let counts = scaled_counts(&model, used as usize, until - next, geometry.units_per_block);
            for (index, count) in counts.into_iter().enumerate() {
                let share = index as f64 / used as f64;
                if index % BLOCKS_BETWEEN == 0 && !progress((f64::from(die) + share) / f64::from(geometry.die_count)) {
                    return Ok(false);
                }
                let target = self.target_of_old_data(DieId(die), 0);
                let first = self
                    .state
                    .space
                    .advance(&mut self.state.store.medium, &target, geometry.units_per_block, SimTime::ZERO)
                    .expect("an empty drive has blocks");
                self.state.store.medium.count_written(geometry.block_of(first), count);
                next += u64::from(count);
                self.state.space.close_full(&mut self.state.store.medium, DieId(die), 0);
            }
        }
        let turns = Permutation::new(dies, rng.next_u64());
        for die in 0..geometry.die_count {
            let phase = (turns.at(u64::from(die)) as f64 + rng.unit()) / dies as f64;
            self.set_phase(DieId(die), phase, rng);
            if !progress(1.0) {
                return Ok(false);
            }
        }
        let of_map = self.write_map_counted();
        self.pad_frontiers();
        let done = self.settle(rng, of_map.clone(), &mut || progress(1.0));
        self.scatter(&of_map, rng);
        Ok(done)
    }

    /// Returns the block of a random unit of the user.
    pub(super) fn block_of_random_unit(&self, of_map: &OfMap, rng: &mut Rng) -> BlockId {
        let geometry = &self.state.store.medium.geometry;
        let is_of_map = |block: BlockId| of_map.get(block.index()).copied().unwrap_or(false);
        // A random place that is valid. One number chooses the block, and the place in it.
        loop {
            let place = rng.below(geometry.unit_count());
            let (block, within) = geometry.split(kit::Ppn(place as u32));
            if within < u32::from(self.state.store.medium.block(block).valid) && !is_of_map(block) {
                return block;
            }
        }
    }

    /// Writes one unit that was never written.
    pub(super) fn write_new_counted(&mut self, die: DieId) {
        let (die, ppn) = self.place_untimed(die, 0, Data::Counted);
        self.state.store.medium.count_written(self.state.store.medium.geometry.block_of(ppn), 1);
        self.state.space.close_full(&mut self.state.store.medium, die, 0);
    }

    /// Overwrites a random unit.
    pub(super) fn write_counted(&mut self, die: DieId, rng: &mut Rng) {
        let (die, ppn) = self.place_untimed(die, 0, Data::Counted);
        let old = self.block_of_random_unit(&Vec::new(), rng);
        self.state.store.medium.count_superseded(old, 1, |_| {});
        self.state.store.medium.count_written(self.state.store.medium.geometry.block_of(ppn), 1);
        self.state.space.close_full(&mut self.state.store.medium, die, 0);
    }

    /// Moves `count` valid units of a victim to the die's relocation frontier.
    pub(super) fn move_counted(&mut self, die: DieId, victim: BlockId, count: u16) {
        let stream = self.relocation_stream(self.state.policy.mode_of_old_data());
        let target = self.target_of_old_data(die, stream);
        let mut left = count;
        while left > 0 {
            // Where frontiers take turns, each takes one.
            let room = if self.state.space.turns() == 1 { self.state.space.room(&self.state.store.medium, &target) } else { 1 };
            let units = u32::from(left).min(room);
            let to = self
                .state
                .space
                .advance(&mut self.state.store.medium, &target, units, SimTime::ZERO)
                .expect("the reserve belongs to relocation");
            self.state.store.medium.count_superseded(victim, units as u16, |_| {});
            self.state.store.medium.count_written(self.state.store.medium.geometry.block_of(to), units as u16);
            self.state.space.close_full(&mut self.state.store.medium, die, stream);
            left -= units as u16;
        }
    }

    /// Writes the pages of the map, which have their places from the first.
    fn write_map_counted(&mut self) -> OfMap {
        let Some(cache) = &self.state.map_cache else { return OfMap::new() };
        let (pages, dies) = (cache.page_count(), self.state.store.medium.geometry.die_count);
        let stream = self.map_stream();
        let mut of_map = vec![false; self.state.store.medium.geometry.block_count as usize];
        for page in 0..pages {
            let lpn = Lpn(self.state.store.user_units as u32 + page);
            let (die, ppn) = self.place_untimed(DieId(page % dies), stream, Data::Counted);
            self.state.store.set_code(lpn, encode(ppn));
            self.state.store.place(lpn, ppn);
            self.state.space.close_full(&mut self.state.store.medium, die, stream);
            of_map[self.state.store.medium.geometry.block_of(ppn).index()] = true;
        }
        of_map
    }

    /// Puts a die at a point of its cycle of host writes and collections: phase 0 is the end of a collection, phase 1
    /// the end of the next one.
    ///
    /// The single pass leaves all dies in step, and a closed loop of writes takes minutes of simulated time to spread
    /// them: write amplification would be right from the first write, but tail latency would not. In the long run the
    /// dies take turns evenly, since a die that collects leaves its writes to others. Phases are therefore spaced
    /// evenly, not drawn independently.
    fn set_phase(&mut self, die: DieId, phase: f64, rng: &mut Rng) {
        let units_per_block = self.state.store.medium.geometry.units_per_block;
        for _ in 0..rng.below(2 * u64::from(units_per_block)) {
            self.write_counted(die, rng);
        }
        // Up to the write that makes the die collect.
        let mut bound = 4 * units_per_block;
        while self.state.space.free_blocks(die) >= self.collect_below() && bound > 0 {
            self.write_counted(die, rng);
            bound -= 1;
        }
        let Some(victim) = self.choose_untimed(die) else { return };
        // Shares of host writes and collection in the cycle, from the cost of this victim and the space it frees.
        let facts = &self.derived.parameters.facts;
        let units_per_program = f64::from(self.state.store.medium.geometry.units_per_program);
        let valid = f64::from(self.state.store.medium.block(victim).valid);
        let collecting = valid / units_per_program * facts.move_time.0 as f64 + facts.erase_time.0 as f64;
        let writing = (f64::from(units_per_block) - valid) / units_per_program * facts.program_time.0 as f64;
        // Under a light load dies take turns write by write and keep their distances; collections are short.
        let writing_share = if self.derived.parameters.load.is_light { 1.0 } else { writing / (collecting + writing) };
        if phase >= writing_share {
            // A block of host writes is followed by several collections in a row: as many as make up for it and for the
            // units that they write themselves.
            let moves = valid * f64::from(units_per_block) / (f64::from(units_per_block) - valid);
            let moved = (phase - writing_share) / (1.0 - writing_share) * moves;
            self.collect_partly(die, moved as u64);
            return;
        }
        while self.state.space.free_blocks(die) < self.collect_below() && self.collect_untimed(die, Data::Counted) {}
        for _ in 0..(phase / writing_share * f64::from(units_per_block - 1)) as u64 {
            self.write_counted(die, rng);
        }
    }

    /// Moves `count` valid units as a collection in progress would have: whole victims, which are erased, and part of
    /// the last one, which stays the die's victim.
    fn collect_partly(&mut self, die: DieId, mut count: u64) {
        while self.state.space.free_blocks(die) < self.collect_below() {
            let Some(victim) = self.choose_untimed(die) else { return };
            self.state.store.medium.take_victim(victim);
            let valid = u64::from(self.state.store.medium.block(victim).valid);
            let geometry = self.state.store.medium.geometry;
            if count < valid {
                let taken = self.collection_of(victim, kit::Reason::Gc, false);
                self.move_counted(die, victim, count as u16);
                // Valid units are equally dense in the whole block.
                let passed = u64::from(geometry.units_per_block) * count / valid;
                let row = geometry.row_of(passed as u32) * geometry.units_per_page * geometry.shape.planes_per_program;
                let collector = &mut self.state.collectors[die.index()];
                collector.begin(&taken, geometry.first_of(victim), false);
                collector.cursor.0 += row;
                return;
            }
            self.move_counted(die, victim, valid as u16);
            self.state.store.medium.begin_erase(victim);
            self.end_erase(victim, ModeId(0));
            count -= valid;
        }
    }

    /// Gives the units of the user, which all are written, their places.
    fn scatter(&mut self, of_map: &OfMap, rng: &mut Rng) {
        let (geometry, store) = (self.state.store.medium.geometry, &self.state.store);
        let spread = |block: u32| {
            let record = store.medium.block(BlockId(block));
            let is_of_user = !of_map.get(block as usize).copied().unwrap_or(false);
            let count = if is_of_user { record.valid.into() } else { 0 };
            Spread { from: 0, length: store.medium.units_in(ModeId(record.mode())), count }
        };
        let mut spreads: Vec<Spread> = (0..geometry.block_count).map(spread).collect();
        for OpenBlock { block, next_unit, .. } in self.state.space.open_blocks() {
            spreads[block.index()].length = next_unit;
        }
        for collector in &self.state.collectors {
            let Some(victim) = collector.victim else { continue };
            let spread = &mut spreads[victim.index()];
            spread.from = collector.cursor.0 - geometry.first_of(victim).0;
            spread.length -= spread.from;
        }
        self.state.store.begin_from(Origin::Scattered(Scattered::new(geometry, rng.next_u64(), spreads)));
    }
}
