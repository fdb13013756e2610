//! Starting states: filling and ageing a drive without simulating time.
//!
//! There are three methods, all with the map, frontiers, victim rule and block records of the timed drive: a sequential
//! fill; random overwrites after a fill; and a single pass that produces the steady state directly. The single pass
//! runs a scale model of one die (the same description with fewer blocks) through random overwrites, records how many
//! valid units its blocks hold, from the oldest to the youngest, and fills the blocks of the full drive accordingly.
//! Random writes and collections then put each die at a different point of its collection cycle, so that the dies do
//! not collect in step, and a few blocks of writes settle them (`settle`).

mod counted;
mod key;
mod scale;
mod settle;

use crate::layer::page_map::ftl::Ftl;
use crate::map::{Filled, Mapped, Origin, decode, encode};
use crate::medium::space::{AllocationClass, OpenBlock, Target};
use crate::parameters::Parameters;
use crate::policy::Facts;
use crate::starting::{Precondition, Preconditioned};
use crate::victim::Candidates;
use kit::{BlockId, DieId, Geometry, Lpn, ModeId, Ppn, Rng, Shape, SimTime};
use std::sync::Arc;

pub use key::StartingKey;
pub use scale::ScaleModels;

/// Approximate size of the scale model, in mapping units.
const MODEL_UNITS: u32 = 1 << 20;

/// Blocks, and mapping units, that are written between two calls of the progress: some hundredths of a second, so that
/// a set-up of any length ends soon after it was interrupted.
const BLOCKS_BETWEEN: usize = 16;
const UNITS_BETWEEN: u64 = 1 << 17;

/// Program units that a fill writes between two calls.
const PROGRAMS_BETWEEN: u64 = 1 << 12;

/// Knowledge that the tables have of the data that is written without simulating time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// The place of each unit.
    Placed,
    /// The number of valid units of each block ([`counted`]).
    Counted,
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
        let mut rng = Rng::stream(self.derived.parameters.seed, "precondition");
        if how.method != Precondition::None {
            self.state.store.expect_dense_use();
            self.withhold_for_parity();
        }
        let done = match how.method {
            Precondition::None => true,
            Precondition::Fill => self.fill(progress),
            Precondition::Random { passes } => {
                self.fill(&mut |share| progress(share / f64::from(passes + 1))) && self.overwrite(passes, &mut rng, progress)
            }
            Precondition::Steady => self.produce_steady_state(&mut rng, models, progress)?,
        };
        if done && how.method != Precondition::Steady {
            self.write_map_untimed();
            for (first, count) in self.pad_frontiers() {
                self.state.store.pad(first, count);
            }
        }
        self.finish_untimed(how);
        Ok(done)
    }

    /// Writes every unit once, in order, one program unit on each die in turn, in allocation order: the channels take
    /// turns if they do when the drive writes itself.
    fn fill(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> bool {
        let (units, program) = (self.state.store.user_units, self.state.store.medium.geometry.units_per_program);
        let dies = u64::from(self.state.store.medium.geometry.die_count);
        let Some(filled) = self.fill_blocks(progress) else { return false };
        for first in (filled..units).step_by(program as usize) {
            let turn = first / u64::from(program);
            let die = self.state.writes.idle.die_at((turn % dies) as usize);
            self.fill_program(first as u32, u64::from(program).min(units - first) as u32, die);
            if turn.is_multiple_of(PROGRAMS_BETWEEN) && !progress(first as f64 / units as f64) {
                return false;
            }
        }
        true
    }

    /// Fills whole blocks, one of each frontier of each die in turn, while neither a collection nor the reserve
    /// matters. Returns the number of units written, the first ones; `None` if `progress` returns false meanwhile.
    fn fill_blocks(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> Option<u64> {
        let (geometry, turns, mode) =
            (self.state.store.medium.geometry, self.state.space.turns(), self.state.policy.mode_of_old_data());
        let block_units = self.state.store.medium.units_in(mode);
        let row_units = u64::from(geometry.die_count) * u64::from(turns) * u64::from(block_units);
        let rows = self.state.store.user_units / row_units;
        let mut blocks = Vec::with_capacity(rows as usize * (geometry.die_count * turns) as usize);
        for row in 0..rows {
            let mut dies = (0..geometry.die_count).map(DieId);
            let kept = self.collect_below();
            if !dies.all(|die| self.state.space.can_spare(die, turns) && self.state.space.free_blocks(die) >= kept + turns) {
                break;
            }
            for rank in 0..geometry.die_count {
                let die = self.state.writes.idle.die_at(rank as usize);
                let target = self.target_of_old_data(die, 0);
                for _ in 0..turns {
                    let first = self
                        .state
                        .space
                        .advance(&mut self.state.store.medium, &target, block_units, SimTime::ZERO)
                        .expect("free blocks");
                    let block = geometry.block_of(first);
                    self.state.store.medium.count_written(block, block_units as u16);
                    blocks.push(block.0);
                }
                self.state.space.close_full(&mut self.state.store.medium, die, 0);
            }
            if (row as usize).is_multiple_of(BLOCKS_BETWEEN) && !progress(row as f64 / rows as f64) {
                return None;
            }
        }
        let filled = blocks.len() as u64 * u64::from(block_units);
        self.state.store.begin_from(Origin::Filled(Filled::new(geometry, turns, block_units, blocks)));
        Some(filled)
    }

    /// Writes one program unit of units that were never written. A die without space for it has its units written one
    /// by one, wherever there is space.
    fn fill_program(&mut self, first: u32, count: u32, die: DieId) {
        while self.state.space.free_blocks(die) < self.collect_below() && self.collect_untimed(die, Data::Placed) {}
        let target = self.target_of_old_data(die, 0);
        if !self.state.space.has_space(die) || self.state.space.room(&self.state.store.medium, &target) < count {
            (first..first + count).for_each(|unit| self.write_untimed(Lpn(unit), die));
            return;
        }
        let place = self
            .state
            .space
            .advance(&mut self.state.store.medium, &target, count, SimTime::ZERO)
            .expect("collection keeps a block free");
        for unit in 0..count {
            let (lpn, ppn) = (Lpn(first + unit), Ppn(place.0 + unit));
            self.state.store.set_code(lpn, encode(ppn));
            self.state.store.place(lpn, ppn);
        }
        self.state.space.close_full(&mut self.state.store.medium, die, 0);
    }

    /// Overwrites `passes` user capacities of random units, each on the next die in turn.
    fn overwrite(&mut self, passes: u32, rng: &mut Rng, progress: &mut dyn FnMut(f64) -> bool) -> bool {
        let (units, dies) = (self.state.store.user_units, u64::from(self.state.store.medium.geometry.die_count));
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
    pub(crate) fn write_untimed_to(&mut self, lpn: Lpn, die: DieId, stream: usize) {
        let (die, ppn) = self.place_untimed(die, stream, Data::Placed);
        if let Mapped::At(old) = decode(self.state.store.code_of(lpn)) {
            self.state.store.medium.invalidate(old);
        }
        self.state.store.set_code(lpn, encode(ppn));
        self.state.store.place(lpn, ppn);
        self.state.space.close_full(&mut self.state.store.medium, die, stream);
    }

    /// Returns the die and the place of a unit that is written without simulating time: see [`Ftl::write_untimed`].
    fn place_untimed(&mut self, mut die: DieId, stream: usize, data: Data) -> (DieId, Ppn) {
        while self.state.space.free_blocks(die) < self.collect_below() && self.collect_untimed(die, data) {}
        if !self.state.space.has_space(die) {
            let dies = (0..self.state.store.medium.geometry.die_count).map(DieId);
            die = dies
                .max_by_key(|&other| (self.state.space.free_blocks(other), std::cmp::Reverse(other)))
                .expect("a drive has dies");
        }
        let target = self.target_of_old_data(die, stream);
        (
            die,
            self.state
                .space
                .advance(&mut self.state.store.medium, &target, 1, SimTime::ZERO)
                .expect("collection keeps a block free"),
        )
    }

    /// Returns the destination of data that is written through a stream without simulating time.
    fn target_of_old_data(&self, die: DieId, stream: usize) -> Target {
        let mode = self.state.policy.mode_of_old_data();
        Target { die, stream, mode, class: AllocationClass::Relocation, plane: None, level: 0 }
    }

    /// Returns the number of free blocks of a die below which it collects while no write waits: under a load with
    /// pauses the level that background collection has restored by the time the run begins.
    fn low(&self) -> u32 {
        let in_pauses = self.derived.config.kept_in_pauses(self.derived.parameters.load.has_pauses);
        self.derived.low.max(in_pauses.unwrap_or(0))
    }

    /// Returns the number of free blocks below which an untimed write collects first: the level around which the timed
    /// drive stays under load, or, under a light load, a higher one that collection has restored by the time the run
    /// begins.
    fn collect_below(&self) -> u32 {
        let low = self.low();
        let keeps_more = low > self.derived.config.gc_low_blocks && self.derived.parameters.load.is_light;
        if keeps_more { low } else { self.derived.critical }
    }

    /// Chooses a victim block without simulating time.
    fn choose_untimed(&mut self, die: DieId) -> Option<BlockId> {
        let mode_count = self.derived.parameters.facts.write_modes.len() as u8;
        let rated_pe_cycles = self.derived.parameters.rated_pe_cycles;
        let (store, rng) = (&self.state.store, &mut self.state.rng);
        let mut candidates =
            Candidates { medium: &store.medium, die, now: SimTime::ZERO, mode_count, rated_pe_cycles, rng, rain: None };
        self.derived.victim.choose(&mut candidates)
    }

    /// Empties and erases one block without simulating time. Returns false if collecting would free nothing.
    fn collect_untimed(&mut self, die: DieId, data: Data) -> bool {
        let Some(victim) = self.choose_untimed(die) else { return false };
        self.state.store.medium.take_victim(victim);
        match data {
            Data::Placed => self.move_untimed(die, victim),
            Data::Counted => self.move_counted(die, victim, self.state.store.medium.block(victim).valid),
        }
        self.state.store.medium.begin_erase(victim);
        self.end_erase(victim, ModeId(0));
        true
    }

    /// Moves the valid units of a block to the die's relocation frontier without simulating time.
    fn move_untimed(&mut self, die: DieId, victim: BlockId) {
        let stream = self.relocation_stream(self.state.policy.mode_of_old_data());
        let target = self.target_of_old_data(die, stream);
        let mut at = self.state.store.medium.geometry.first_of(victim);
        let end = Ppn(at.0 + self.state.store.medium.geometry.units_per_block);
        let mut looked_ahead = at;
        while let Some(from) = self.state.store.medium.next_valid(at, end) {
            if from >= looked_ahead {
                let (until, loaded) = self.state.store.look_ahead_moves(&self.state.bits, from, end);
                looked_ahead = until;
                self.scratch.sink ^= loaded;
            }
            let lpn = self.state.store.lpn_at(from);
            let stream = if self.is_of_map(lpn) { self.map_stream() } else { stream };
            let target = Target { stream, ..target };
            let to = self
                .state
                .space
                .advance(&mut self.state.store.medium, &target, 1, SimTime::ZERO)
                .expect("the reserve belongs to relocation");
            self.state.store.medium.invalidate(from);
            self.state.store.set_code(lpn, encode(to));
            self.state.store.place(lpn, to);
            self.state.space.close_full(&mut self.state.store.medium, die, stream);
            at = Ppn(from.0 + 1);
        }
    }

    /// Returns the valid counts of the blocks of a die in steady state, oldest block first, from a scale model of one
    /// die; `None` if `go_on` returns false meanwhile.
    fn model_valid_counts(&self, models: &ScaleModels, go_on: &mut dyn FnMut() -> bool) -> std::io::Result<Option<Arc<[u16]>>> {
        let real = self.state.store.medium.geometry;
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
        let pool_share = self.state.store.user_units as f64 / real.unit_count() as f64 * f64::from(real.blocks_per_die)
            / (self.usable_blocks() - f64::from(self.collect_below()) - 2.0);
        let user_units = ((f64::from(blocks) - kept) * pool_share * f64::from(real.units_per_block)) as u64;
        let mut config = self.derived.config.clone();
        config.overprovisioning = 0.0;
        config.user_capacity = Some(kit::Bytes(user_units * kit::UNIT_BYTES));
        config.superblock_blocks = 1;
        config.map_cache = None;
        config.journal = None;
        config.rain = None;
        config.gc_spare_fraction = 0.0;
        config.gc_critical_blocks = kept as u32 - 2 + u32::from(kept < 4.0);
        config.gc_low_blocks = config.gc_critical_blocks;
        let facts = Facts { die_count: 1, user_units, ..self.derived.parameters.facts.clone() };
        models.aged(
            &config,
            Parameters {
                geometry,
                facts,
                policy: "baseline".to_owned(),
                bad_blocks: Vec::new(),
                spare_blocks: 0,
                ..self.derived.parameters.clone()
            },
            go_on,
        )
    }

    /// Returns the mean number of blocks of a die of an empty drive that are neither bad nor spare.
    fn usable_blocks(&self) -> f64 {
        self.state.space.total_free_blocks() as f64 / f64::from(self.state.store.medium.geometry.die_count)
    }

    /// Pads frontiers to the end of a program unit. Returns the first place and the number of each padding.
    fn pad_frontiers(&mut self) -> Vec<(Ppn, u32)> {
        let geometry = self.state.store.medium.geometry;
        let units_per_program = geometry.units_per_program;
        let open: Vec<OpenBlock> = self.state.space.open_blocks().collect();
        let mut padded = Vec::new();
        for OpenBlock { stream, plane, block, next_unit: next } in open {
            let missing = (units_per_program - next % units_per_program) % units_per_program;
            let die = geometry.die_of(block);
            let mode = ModeId(self.state.store.medium.block(block).mode());
            if missing > 0 {
                let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane: Some(plane), level: 0 };
                let first = self
                    .state
                    .space
                    .advance(&mut self.state.store.medium, &target, missing, SimTime::ZERO)
                    .expect("the frontier is open");
                padded.push((first, missing));
            }
            self.state.space.close_full(&mut self.state.store.medium, die, stream);
        }
        padded
    }

    /// Marks everything written as programmed, sets the ages and the wear of all blocks, and resets the counters. The
    /// frontiers are at the end of a program unit.
    fn finish_untimed(&mut self, how: &Preconditioned) {
        let geometry = self.state.store.medium.geometry;
        for OpenBlock { block, next_unit, .. } in self.state.space.open_blocks() {
            let programmed = (next_unit / geometry.units_per_program) as u16;
            self.state.store.medium.blocks.update(block, |record| record.programmed = programmed);
        }
        self.state.space.opened.clear();
        for die in (0..geometry.die_count).map(DieId) {
            // A block whose collection is in progress was chosen first, and counts as the oldest.
            let victim = self.state.collectors[die.index()].victim;
            let closed: Vec<BlockId> = victim.into_iter().chain(self.state.store.medium.closed_blocks(die)).collect();
            for (rank, &block) in closed.iter().enumerate() {
                let programs = self.state.store.medium.units_in(ModeId(self.state.store.medium.block(block).mode()))
                    / geometry.units_per_program;
                self.state.store.medium.blocks.update(block, |record| record.programmed = programs as u16);
                let share = 1.0 - rank as f64 / closed.len() as f64;
                self.state.store.medium.first_program[block.index()] = -((how.age.0 as f64 * share) as i64);
            }
        }
        for block in 0..geometry.block_count as usize {
            self.state.store.medium.erase_counts[block] = how.pe_cycles;
            self.state.store.medium.wear[block] = how.pe_cycles.saturating_mul(1000);
        }
        self.state.store.medium.recount_wear();
        self.state.counters = crate::counters::FtlCounters::default();
    }
}

#[cfg(test)]
mod tests;
