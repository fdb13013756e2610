//! Starting states: filling and ageing a drive without simulating time.
//!
//! There are three methods, all with the map, frontiers, victim rule and block records of the timed drive: a sequential
//! fill; random overwrites after a fill; and a single pass that produces the steady state directly. The single pass
//! runs a scale model of one die (the same description with fewer blocks) through random overwrites, records how many
//! valid units its blocks hold, from the oldest to the youngest, and fills the blocks of the full drive accordingly.
//! Random writes and collections then put each die at a different point of its collection cycle, so that the dies do
//! not collect in step, and a few blocks of writes settle them (`settle`).

mod key;
mod scale;
mod settle;

use crate::ftl::{Ftl, Parameters};
use crate::map::{Mapped, PADDING, Store, decode, encode};
use crate::policy::Facts;
use crate::space::{AllocationClass, OpenBlock, Target};
use crate::victim::Candidates;
use kit::{BlockId, DieId, Geometry, Lpn, ModeId, Nanos, Permutation, Ppn, Rng, Shape, SimTime};
use scale::scaled_counts;
use std::sync::Arc;

pub use key::StartingKey;
pub use scale::ScaleModels;

/// Approximate size of the scale model, in mapping units.
const MODEL_UNITS: u32 = 1 << 20;

/// Blocks, and mapping units, that are written between two calls of the progress: some hundredths of a second, so that
/// a set-up of any length ends soon after it was interrupted.
const BLOCKS_BETWEEN: usize = 16;
const UNITS_BETWEEN: u64 = 1 << 17;

/// Method by which the drive is brought to its starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Empty, all blocks erased.
    None,
    /// Every unit written once, in order.
    Fill,
    /// Filled, then overwritten at random.
    Random {
        /// Number of random overwrites, in user capacities.
        passes: u32,
    },
    /// The steady state of uniform random overwrites, produced in a single pass.
    Steady,
}

/// Starting state of a drive: method, age of the data, and wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preconditioned {
    /// Method by which the data is written.
    pub method: Precondition,
    /// Age of the oldest block. The first programs of the closed blocks are spread uniformly over this span before the
    /// run, in the order of closing.
    pub age: Nanos,
    /// Erase count of every block.
    pub pe_cycles: u32,
}

impl Ftl {
    /// Brings an empty drive to its starting state. Scale models are looked up in `models`, and kept there. `progress`
    /// is called with the completed share of the work; if it returns false, the work stops and this function returns
    /// false.
    pub fn precondition(
        &mut self,
        how: &Preconditioned,
        models: &ScaleModels,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> std::io::Result<bool> {
        let mut rng = Rng::stream(self.parameters.seed, "precondition");
        if how.method != Precondition::None {
            self.store.expect_dense_use();
        }
        let done = match how.method {
            Precondition::None => true,
            Precondition::Fill => self.fill(progress),
            Precondition::Random { passes } => {
                self.fill(&mut |share| progress(share / f64::from(passes + 1))) && self.overwrite(passes, &mut rng, progress)
            }
            Precondition::Steady => self.produce_steady_state(&mut rng, models, progress)?,
        };
        if done {
            self.write_map_untimed();
        }
        self.pad_frontiers();
        let done = done && (how.method != Precondition::Steady || self.settle(&mut rng, &mut || progress(1.0)));
        self.finish_untimed(how);
        Ok(done)
    }

    /// Writes every unit once, in order, one program unit on each die in turn, in allocation order: the channels take
    /// turns if they do when the drive writes itself.
    fn fill(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> bool {
        let units_per_program = u64::from(self.store.geometry.units_per_program);
        let dies = u64::from(self.store.geometry.die_count);
        for unit in 0..self.store.user_units {
            let die = self.idle.die_at((unit / units_per_program % dies) as usize);
            self.write_untimed(Lpn(unit as u32), die);
            if unit % UNITS_BETWEEN == 0 && !progress(unit as f64 / self.store.user_units as f64) {
                return false;
            }
        }
        true
    }

    /// Overwrites `passes` user capacities of random units, each on the next die in turn.
    fn overwrite(&mut self, passes: u32, rng: &mut Rng, progress: &mut dyn FnMut(f64) -> bool) -> bool {
        let (units, dies) = (self.store.user_units, u64::from(self.store.geometry.die_count));
        let total = units * u64::from(passes);
        let mut batch = Vec::with_capacity(32);
        for step in (0..total).step_by(32) {
            batch.clear();
            batch.extend((0..32u64.min(total - step)).map(|_| Lpn(rng.below(units) as u32)));
            self.hint(&batch, true);
            for (offset, &lpn) in batch.iter().enumerate() {
                self.write_untimed(lpn, DieId(((step + offset as u64) % dies) as u32));
            }
            if step % UNITS_BETWEEN == 0 && !progress((1.0 + step as f64 / units as f64) / f64::from(passes + 1)) {
                return false;
            }
        }
        true
    }

    /// Writes one unit without simulating time; it is bound as in a timed run, with nothing in flight. If the die holds
    /// more than its share of the data, so that collection frees nothing, the unit goes to the die with the most free
    /// blocks.
    pub(crate) fn write_untimed(&mut self, lpn: Lpn, die: DieId) {
        self.write_untimed_to(lpn, die, 0);
    }

    /// Writes like [`Ftl::write_untimed`], through a given stream.
    pub(crate) fn write_untimed_to(&mut self, lpn: Lpn, mut die: DieId, stream: usize) {
        while self.space.free_blocks(die) < self.collect_below() && self.collect_untimed(die) {}
        if !self.space.has_space(die) {
            let dies = (0..self.store.geometry.die_count).map(DieId);
            die = dies.max_by_key(|&other| (self.space.free_blocks(other), std::cmp::Reverse(other))).expect("a drive has dies");
        }
        let mode = self.policy.mode_of_old_data();
        let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane: None, level: 0 };
        let ppn = self.space.advance(&mut self.store, &target, 1, SimTime::ZERO).expect("collection keeps a block free");
        if let Mapped::At(old) = decode(self.store.l2p.get(lpn.index())) {
            self.store.invalidate(old);
        }
        self.store.l2p.set(lpn.index(), encode(ppn));
        self.store.place(lpn, ppn);
        self.space.close_full(&mut self.store, die, stream);
    }

    /// Returns the number of free blocks below which an untimed write collects first: the level around which the timed
    /// drive stays under load, or, where collection keeps a share of the spare blocks free, the level that it has
    /// restored by the time the run begins.
    fn collect_below(&self) -> u32 {
        let (critical, low) = self.config.thresholds(&self.store.geometry);
        if low > self.config.gc_low_blocks && self.parameters.load.is_light { low } else { critical }
    }

    /// Chooses a victim block without simulating time.
    fn choose_untimed(&mut self, die: DieId) -> Option<BlockId> {
        let mode_count = self.parameters.facts.write_modes.len() as u8;
        let rated_pe_cycles = self.parameters.rated_pe_cycles;
        let (store, rng) = (&self.store, &mut self.rng);
        let mut candidates = Candidates { store, die, now: SimTime::ZERO, mode_count, rated_pe_cycles, rng };
        self.victim.choose(&mut candidates)
    }

    /// Empties and erases one block without simulating time. Returns false if collecting would free nothing.
    fn collect_untimed(&mut self, die: DieId) -> bool {
        let Some(victim) = self.choose_untimed(die) else { return false };
        self.store.take_victim(victim);
        self.move_untimed(die, victim, u64::MAX);
        self.store.begin_erase(victim);
        self.end_erase(victim, ModeId(0));
        true
    }

    /// Moves the first `count` valid units of a block to the die's relocation frontier without simulating time. Returns
    /// the place behind the last unit moved.
    fn move_untimed(&mut self, die: DieId, victim: BlockId, mut count: u64) -> Ppn {
        let mode = self.policy.mode_of_old_data();
        let stream = self.relocation_stream(mode);
        let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane: None, level: 0 };
        let mut at = self.store.geometry.first_of(victim);
        let end = Ppn(at.0 + self.store.geometry.units_per_block);
        let mut looked_ahead = at;
        while let Some(from) = self.store.next_valid(at, end).filter(|_| count > 0) {
            if from >= looked_ahead {
                let (until, loaded) = self.store.look_ahead_moves(&self.bits, from, end);
                looked_ahead = until;
                self.sink ^= loaded;
            }
            let lpn = self.store.lpn_at(from);
            let stream = if self.is_of_map(lpn) { self.map_stream() } else { stream };
            let target = Target { stream, ..target };
            let to = self.space.advance(&mut self.store, &target, 1, SimTime::ZERO).expect("the reserve belongs to relocation");
            self.store.invalidate(from);
            self.store.l2p.set(lpn.index(), encode(to));
            self.store.place(lpn, to);
            self.space.close_full(&mut self.store, die, stream);
            at = Ppn(from.0 + 1);
            count -= 1;
        }
        at
    }

    /// Returns the valid counts of the blocks of a die in steady state, oldest block first, from a scale model of one
    /// die; `None` if `go_on` returns false meanwhile.
    fn model_valid_counts(&self, models: &ScaleModels, go_on: &mut dyn FnMut() -> bool) -> std::io::Result<Option<Arc<[u16]>>> {
        let real = self.store.geometry;
        let blocks = (MODEL_UNITS / real.units_per_block).clamp(64.min(real.blocks_per_die), real.blocks_per_die);
        let geometry = Geometry::new(Shape {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            planes_per_program: 1,
            pages_per_program: 1,
            superblock: 1,
            bits_per_cell: 1,
            page_bytes: kit::UNIT_BYTES,
            unit: kit::UnitSize::default(),
            pages_per_block: real.units_per_block,
            blocks_per_plane: blocks,
        });
        // Blocks that collection keeps free and open frontiers are not among those that it chooses from: the model
        // keeps the ratio of user data to the remaining blocks.
        let kept = f64::from(self.collect_below()) + 2.0;
        let kept = if blocks < real.blocks_per_die { kept.min(f64::from(blocks) / 4.0) } else { kept };
        let pool_share = self.store.user_units as f64 / real.unit_count() as f64 * f64::from(real.blocks_per_die)
            / (f64::from(real.blocks_per_die) - f64::from(self.collect_below()) - 2.0);
        let user_units = ((f64::from(blocks) - kept) * pool_share * f64::from(real.units_per_block)) as u64;
        let mut config = self.config.clone();
        config.overprovisioning = 0.0;
        config.user_capacity = Some(kit::Bytes(user_units * kit::UNIT_BYTES));
        config.superblock_blocks = 1;
        config.map_cache = None;
        config.gc_spare_fraction = 0.0;
        config.gc_critical_blocks = kept as u32 - 2 + u32::from(kept < 4.0);
        config.gc_low_blocks = config.gc_critical_blocks;
        let facts = Facts { die_count: 1, user_units, ..self.parameters.facts.clone() };
        models.aged(&config, Parameters { geometry, facts, policy: "baseline".to_owned(), ..self.parameters.clone() }, go_on)
    }

    /// Produces the steady state in a single pass; see the module's description.
    fn produce_steady_state(
        &mut self,
        rng: &mut Rng,
        models: &ScaleModels,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> std::io::Result<bool> {
        let Some(model) = self.model_valid_counts(models, &mut || progress(0.0))? else { return Ok(false) };
        let geometry = self.store.geometry;
        let dies = u64::from(geometry.die_count);
        let permutation = Permutation::new(self.store.user_units, rng.next_u64());
        let mode = self.policy.mode_of_old_data();
        // Leaves as many blocks free as untimed writes keep: opening the next one leads to a collection, as in steady
        // state. The phases set below keep the dies from collecting at the same time.
        let used = geometry.blocks_per_die - self.collect_below();
        let mut next = 0u64;
        let mut scatter = Scatter::new(self.store.user_units);
        for die in 0..geometry.die_count {
            let until = self.store.user_units * u64::from(die + 1) / dies;
            let counts = scaled_counts(&model, used as usize, until - next, geometry.units_per_block);
            for (index, count) in counts.into_iter().enumerate() {
                let share = index as f64 / used as f64;
                if index % BLOCKS_BETWEEN == 0 && !progress((f64::from(die) + share) / f64::from(geometry.die_count)) {
                    return Ok(false);
                }
                let target =
                    Target { die: DieId(die), stream: 0, mode, class: AllocationClass::Relocation, plane: None, level: 0 };
                let first = self
                    .space
                    .advance(&mut self.store, &target, geometry.units_per_block, SimTime::ZERO)
                    .expect("an empty drive has blocks");
                let lpns = (next..next + u64::from(count)).map(|index| permutation.at(index));
                fill_block(&mut self.store, &mut scatter, first, u32::from(count), lpns, rng);
                next += u64::from(count);
                self.space.close_full(&mut self.store, DieId(die), 0);
            }
        }
        scatter.finish(self.store.l2p.as_mut_slice());
        let turns = Permutation::new(dies, rng.next_u64());
        for die in 0..geometry.die_count {
            let phase = (turns.at(u64::from(die)) as f64 + rng.unit()) / dies as f64;
            self.set_phase(DieId(die), phase, rng);
            if !progress(1.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts a die at a point of its cycle of host writes and collections: phase 0 is the end of a collection, phase 1
    /// the end of the next one.
    ///
    /// The single pass leaves all dies in step, and a closed loop of writes takes minutes of simulated time to spread
    /// them: write amplification would be right from the first write, but tail latency would not. In the long run the
    /// dies take turns evenly, since a die that collects leaves its writes to others. Phases are therefore spaced
    /// evenly, not drawn independently.
    fn set_phase(&mut self, die: DieId, phase: f64, rng: &mut Rng) {
        let units_per_block = self.store.geometry.units_per_block;
        let write = |ftl: &mut Ftl, rng: &mut Rng| {
            let unit = rng.below(ftl.store.user_units);
            ftl.write_untimed(Lpn(unit as u32), die);
        };
        for _ in 0..rng.below(2 * u64::from(units_per_block)) {
            write(self, rng);
        }
        // Up to the write that makes the die collect.
        let mut bound = 4 * units_per_block;
        while self.space.free_blocks(die) >= self.collect_below() && bound > 0 {
            write(self, rng);
            bound -= 1;
        }
        let Some(victim) = self.choose_untimed(die) else { return };
        // Shares of host writes and collection in the cycle, from the cost of this victim and the space it frees.
        let facts = &self.parameters.facts;
        let units_per_program = f64::from(self.store.geometry.units_per_program);
        let valid = f64::from(self.store.block(victim).valid);
        let collecting = valid / units_per_program * facts.move_time.0 as f64 + facts.erase_time.0 as f64;
        let writing = (f64::from(units_per_block) - valid) / units_per_program * facts.program_time.0 as f64;
        // Under a light load dies take turns write by write and keep their distances; collections are short.
        let writing_share = if self.parameters.load.is_light { 1.0 } else { writing / (collecting + writing) };
        if phase >= writing_share {
            // A block of host writes is followed by several collections in a row: as many as make up for it and for the
            // units that they write themselves.
            let moves = valid * f64::from(units_per_block) / (f64::from(units_per_block) - valid);
            let moved = (phase - writing_share) / (1.0 - writing_share) * moves;
            self.collect_partly(die, moved as u64);
            return;
        }
        while self.space.free_blocks(die) < self.collect_below() && self.collect_untimed(die) {}
        for _ in 0..(phase / writing_share * f64::from(units_per_block - 1)) as u64 {
            write(self, rng);
        }
    }

    /// Moves `count` valid units as a collection in progress would have: whole victims, which are erased, and part of
    /// the last one, which stays the die's victim.
    fn collect_partly(&mut self, die: DieId, mut count: u64) {
        while self.space.free_blocks(die) < self.collect_below() {
            let Some(victim) = self.choose_untimed(die) else { return };
            self.store.take_victim(victim);
            let valid = u64::from(self.store.block(victim).valid);
            let first = self.store.geometry.first_of(victim);
            let cursor = self.move_untimed(die, victim, count);
            if count < valid {
                let taken = self.collection_of(victim, kit::Reason::Gc, false);
                self.collectors[die.index()].begin(&taken, first, false);
                self.collectors[die.index()].cursor = cursor;
                return;
            }
            self.store.begin_erase(victim);
            self.end_erase(victim, ModeId(0));
            count -= valid;
        }
    }

    /// Pads frontiers to the end of a program unit.
    fn pad_frontiers(&mut self) {
        let geometry = self.store.geometry;
        let units_per_program = geometry.units_per_program;
        let open: Vec<OpenBlock> = self.space.open_blocks().collect();
        for OpenBlock { stream, plane, block, next_unit: next } in open {
            let missing = (units_per_program - next % units_per_program) % units_per_program;
            let die = geometry.die_of(block);
            let mode = ModeId(self.store.block(block).mode());
            if missing > 0 {
                let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane: Some(plane), level: 0 };
                let first = self.space.advance(&mut self.store, &target, missing, SimTime::ZERO).expect("the frontier is open");
                (0..missing).for_each(|unit| self.store.p2l.set((first.0 + unit) as usize, PADDING));
            }
            self.space.close_full(&mut self.store, die, stream);
        }
    }

    /// Marks everything written as programmed, sets the ages and the wear of all blocks, and resets the counters. The
    /// frontiers are at the end of a program unit.
    fn finish_untimed(&mut self, how: &Preconditioned) {
        let geometry = self.store.geometry;
        for OpenBlock { block, next_unit, .. } in self.space.open_blocks() {
            let programmed = (next_unit / geometry.units_per_program) as u16;
            self.store.blocks.update(block, |record| record.programmed = programmed);
        }
        self.space.opened.clear();
        for die in (0..geometry.die_count).map(DieId) {
            // A block whose collection is in progress was chosen first, and counts as the oldest.
            let victim = self.collectors[die.index()].victim;
            let closed: Vec<BlockId> = victim.into_iter().chain(self.store.closed_blocks(die)).collect();
            for (rank, &block) in closed.iter().enumerate() {
                let programs = self.store.units_in(ModeId(self.store.block(block).mode())) / geometry.units_per_program;
                self.store.blocks.update(block, |record| record.programmed = programs as u16);
                let share = 1.0 - rank as f64 / closed.len() as f64;
                self.store.first_program[block.index()] = -((how.age.0 as f64 * share) as i64);
            }
        }
        for block in 0..geometry.block_count as usize {
            self.store.erase_counts[block] = how.pe_cycles;
            self.store.wear[block] = how.pe_cycles.saturating_mul(1000);
        }
        self.store.recount_wear();
        self.counters = crate::ftl::FtlCounters::default();
    }
}

/// Buffer of map entries to be written. Units are placed in random order, and the map of a large drive exceeds the
/// caches and the TLB: entries of the same section of the map are therefore written together.
struct Scatter {
    /// Binary logarithm of the entries of a section.
    shift: u32,
    /// Entries (logical unit, map value) that wait to be written, by section.
    waiting: Vec<Vec<(u32, u32)>>,
}

impl Scatter {
    /// Approximate number of sections of the map.
    const SECTIONS: u64 = 512;

    fn new(units: u64) -> Scatter {
        let shift = (units / Scatter::SECTIONS).max(1).ilog2() + 1;
        // Two entries for each cache line of the section; fewer on the largest drives, within 64 MiB in all.
        let together = ((1usize << shift) / 8).clamp(64, 16_384);
        Scatter { shift, waiting: (0..=units >> shift).map(|_| Vec::with_capacity(together)).collect() }
    }

    fn put(&mut self, l2p: &mut [u32], lpn: u32, code: u32) {
        let waiting = &mut self.waiting[(lpn >> self.shift) as usize];
        if waiting.len() == waiting.capacity() {
            waiting.drain(..).for_each(|(lpn, code)| l2p[lpn as usize] = code);
        }
        waiting.push((lpn, code));
    }

    fn finish(&mut self, l2p: &mut [u32]) {
        self.waiting.iter_mut().flat_map(|waiting| waiting.drain(..)).for_each(|(lpn, code)| l2p[lpn as usize] = code);
    }
}

/// Fills one block with `count` valid units at random positions; they hold the logical units that `lpns` yields.
fn fill_block(
    store: &mut Store,
    scatter: &mut Scatter,
    first: Ppn,
    count: u32,
    mut lpns: impl Iterator<Item = u64>,
    rng: &mut Rng,
) {
    let units = store.geometry.units_per_block;
    let (l2p, p2l, valid) = (store.l2p.as_mut_slice(), store.p2l.as_mut_slice(), store.valid.as_mut_slice());
    let mut left = count;
    for unit in 0..units {
        // Selection sampling: each remaining position with probability (units still to place) / (positions left).
        if rng.below(u64::from(units - unit)) < u64::from(left) {
            let lpn = lpns.next().expect("a unit for each place") as u32;
            let ppn = Ppn(first.0 + unit);
            scatter.put(l2p, lpn, encode(ppn));
            p2l[ppn.index()] = lpn;
            valid[ppn.index() / 64] |= 1 << (ppn.0 % 64);
            left -= 1;
        }
    }
    let block = store.geometry.block_of(first);
    store.blocks.update(block, |record| record.valid = count as u16);
    store.valid_by_mode[store.block(block).mode() as usize] += u64::from(count);
}

#[cfg(test)]
mod tests;
