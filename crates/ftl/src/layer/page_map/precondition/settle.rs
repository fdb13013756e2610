//! The last part of a steady state: the dies write and collect as a closed loop of random writes has them do it.
//!
//! Where a die stands in its cycle follows from rules that act on each other: which dies take the writes, whether a
//! collection may be interrupted, how far the open blocks are filled, and how many blocks stay free. No formula gives
//! the joint distribution; a few blocks of writes on each die do. The dies are asked in the order of the router, since
//! that order decides which of them take the writes: one that has programmed asks before those that are idle, and idle
//! dies take turns by their place. Operations take their array times here, and data its time on the channel. Of the
//! controller there are the time that data takes to cross it, and the part that all dies share; there are no commands.

use super::counted::OfMap;
use crate::layer::page_map::collector::Collector;
use crate::layer::page_map::ftl::{Ftl, State};
use crate::medium::BlockState;
use crate::medium::space::{AllocationClass, Target};
use crate::parameters::Parameters;
use crate::policy::HostCache;
use kit::{BlockId, DieId, ModeId, Nanos, Ppn, ReadyDies, Reason, Rng, SimTime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Host writes by which the dies settle, in blocks of each die; up to one more is drawn. Measured over 10 to 20 seeds
/// on 64 dies with blocks of 256 units: the numbers of dies at each stage rise and fall together with a period of
/// about a block, at first in step for all seeds. States from one fixed point have up to 30 % too few dies with free
/// blocks. How far they rise and fall changes over tens of blocks, so that no starting state is the mean one.
const BLOCKS: u64 = 4;

/// Operation of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Program of this number of host units.
    Write(u64),
    /// Read of this number of units in a row of the victim.
    Read(u64),
    /// Program of this number of relocated units.
    Move(u64),
    /// Erase of the victim.
    Erase,
    /// Transfer of what it has read over its channel.
    Transfer(u64),
}

/// The closed loop: what runs, and what waits.
struct Loop {
    now: u64,
    /// Instants at which dies are to be asked again: instant, number, die, and whether its operation ends. Those of one
    /// instant come in the order of their numbers.
    ends: BinaryHeap<Reverse<(u64, u64, u32, bool)>>,
    started: u64,
    tasks: Vec<Option<Task>>,
    /// Units that each die has read and not yet transferred, and the instant at which the controller has what it
    /// transferred last.
    reads: Vec<u64>,
    arrives: Vec<u64>,
    /// Units that each die has read from its victim and not yet programmed.
    gathered: Vec<Gathered>,
    /// Dies that may have something to do, in the order in which they are asked.
    ready: ReadyDies,
    /// Host units that arrive next, and those that wait for a die.
    arriving: u64,
    waiting: u64,
    /// Waiting units with which a die programs.
    least: u64,
    written: u64,
    /// Instants from which the part of the controller that all dies share, and each channel, are free.
    shared_free_at: u64,
    channel_free_at: Vec<u64>,
    of_map: OfMap,
    /// Cache that the policy keeps filled. For each die, the number of its blocks, and the units that its open one
    /// still takes.
    cache: Option<HostCache>,
    cached: Vec<(u32, u32)>,
}

/// Units that a die has read from its victim and not yet programmed: the first place of each row, oldest first, and the
/// number of its units that are still valid.
#[derive(Clone, Default)]
struct Gathered {
    rows: VecDeque<(Ppn, u32)>,
    units: u32,
}

impl Gathered {
    fn add(&mut self, row: Ppn, units: u32) {
        self.rows.push_back((row, units));
        self.units += units;
    }

    /// Takes the oldest units, at most `most`, and returns their number.
    fn take(&mut self, most: u32) -> u32 {
        let taken = most.min(self.units);
        let mut left = taken;
        while let Some((_, units)) = self.rows.front_mut() {
            let from_row = left.min(*units);
            *units -= from_row;
            left -= from_row;
            if *units > 0 {
                break;
            }
            self.rows.pop_front();
        }
        self.units -= taken;
        taken
    }

    /// Drops the unit of a rank, which was overwritten.
    fn drop_unit(&mut self, mut rank: u32) {
        for (_, units) in &mut self.rows {
            if rank < *units {
                *units -= 1;
                break;
            }
            rank -= *units;
        }
        self.units -= 1;
        while self.rows.front().is_some_and(|(_, units)| *units == 0) {
            self.rows.pop_front();
        }
    }
}

impl Loop {
    /// Notes that a die is to be asked again at an instant, and whether its operation ends then.
    fn push_end(&mut self, die: DieId, at: u64, of_task: bool) {
        self.started += 1;
        self.ends.push(Reverse((at, self.started, die.0, of_task)));
    }

    /// Returns the next die of those to be asked again at an instant, and its operation if that ends.
    fn next_end(&mut self, at: u64) -> Option<(DieId, Option<Task>)> {
        self.ends.peek().filter(|end| end.0.0 == at)?;
        let Reverse((_, _, die, of_task)) = self.ends.pop()?;
        Some((DieId(die), if of_task { self.tasks[die as usize].take() } else { None }))
    }

    /// Returns the time after which `units` have crossed the controller one way, and takes their turn on the part that
    /// all dies share.
    fn way(&mut self, parameters: &Parameters, units: u64) -> u64 {
        let of = |whole: Nanos| whole.0 * units / (2 * u64::from(parameters.geometry.units_per_program));
        self.shared_free_at = self.shared_free_at.max(self.now) + of(parameters.load.shared);
        of(parameters.load.way).max(self.shared_free_at - self.now)
    }

    /// Returns the time after which `units` have crossed the channel of a die, if they come to it after `way`.
    fn transfer(&mut self, parameters: &Parameters, die: DieId, units: u64, way: u64) -> u64 {
        let time = parameters.load.transfer.0 * units / u64::from(parameters.geometry.units_per_program);
        let free_at = &mut self.channel_free_at[parameters.geometry.channel_of(die).index()];
        *free_at = (*free_at).max(self.now + way) + time;
        *free_at - self.now
    }
}

impl Ftl {
    /// Has the dies write and collect until the drive has settled. Returns false if `go_on` did.
    pub(super) fn settle(&mut self, rng: &mut Rng, of_map: OfMap, go_on: &mut dyn FnMut() -> bool) -> bool {
        let dies = u64::from(self.state.store.medium.geometry.die_count);
        let mut load = self.closed_loop(of_map);
        let block = u64::from(self.state.store.medium.geometry.units_per_block) * dies;
        let (mut sum, mut samples, mut last) = (0u128, 0u128, 0i128);
        (0..dies as usize).for_each(|rank| load.ready.mark(self.state.writes.idle.die_at(rank)));
        let mut instants = 0u64;
        let least = BLOCKS * block + rng.below(block);
        while load.written < least + block {
            // As in the timed drive, all operations that are done at an instant come before the choices of the dies.
            self.go_on(&mut load, rng);
            // No die can take a write, and none can collect.
            let Some(&Reverse((at, ..))) = load.ends.peek() else { break };
            load.now = at;
            while let Some((die, task)) = load.next_end(at) {
                load.ready.mark(die);
                if let Some(task) = task {
                    self.end_task(die, task, &mut load);
                }
            }
            instants += 1;
            if instants.is_multiple_of(1 << 16) && !go_on() {
                return false;
            }
            if !instants.is_multiple_of(dies) || load.written < (BLOCKS - 1) * block {
                continue;
            }
            let gained = u128::from(self.space_gained());
            (sum, samples) = (sum + gained, samples + 1);
            // Writes cost as much collection as in the long run if they leave this sum as they found it: the state
            // therefore is one in which it has its mean.
            let above = (gained * samples) as i128 - sum as i128;
            if load.written >= least && (above == 0 || (above < 0) != (last < 0)) {
                break;
            }
            last = above;
        }
        self.state.writes.forget_idle();
        // What has been read is read again, as nothing of it is in the controller.
        for (collector, gathered) in self.state.collectors.iter_mut().zip(&load.gathered) {
            if let Some(&(row, _)) = gathered.rows.front() {
                collector.cursor = row;
            }
            collector.prefetched_until = collector.cursor;
        }
        true
    }

    /// Returns the closed loop before its first write.
    fn closed_loop(&self, of_map: OfMap) -> Loop {
        let dies = self.state.store.medium.geometry.die_count as usize;
        let program = u64::from(self.state.store.medium.geometry.units_per_program);
        let least = if self.derived.parameters.buffering.waits_to_fill { program } else { 1 };
        Loop {
            now: 0,
            ends: BinaryHeap::with_capacity(dies),
            started: 0,
            tasks: vec![None; dies],
            reads: vec![0; dies],
            arrives: vec![0; dies],
            gathered: vec![Gathered::default(); dies],
            ready: ReadyDies::new(dies),
            arriving: 0,
            waiting: self.derived.parameters.load.outstanding_units.max(least),
            least,
            written: 0,
            shared_free_at: 0,
            channel_free_at: vec![0; self.state.store.medium.geometry.shape.channels as usize],
            of_map,
            cache: self.state.policy.cache_under_load(),
            cached: vec![(0, 0); dies],
        }
    }

    /// Returns the units that can be written before a die has to collect, and the part of those to come from the
    /// collections under way that is due to what they have moved.
    fn space_gained(&self) -> u64 {
        let (store, block) = (&self.state.store, u64::from(self.state.store.medium.geometry.units_per_block));
        let open = self.state.space.open_blocks();
        let left: u64 = open
            .map(|open| u64::from(store.medium.units_in(ModeId(store.medium.block(open.block).mode())) - open.next_unit))
            .sum();
        let moved = |collector: &Collector| {
            let valid = collector.victim.map_or(0, |victim| u64::from(store.medium.block(victim).valid));
            let initial = u64::from(collector.initial_valid);
            if collector.victim.is_some() && initial > 0 { initial.saturating_sub(valid) * block / initial } else { 0 }
        };
        self.state.space.total_free_blocks() * block + left + self.state.collectors.iter().map(moved).sum::<u64>()
    }

    /// Has the writes that follow those done arrive, and asks the dies. Writes without a pause arrive before a die that
    /// has programmed chooses, so that it takes one of them; under a light load it rests by then.
    fn go_on(&mut self, load: &mut Loop, rng: &mut Rng) {
        if self.derived.parameters.load.is_light {
            self.start_tasks(load, rng);
        }
        // Once no die takes a write, none takes the following ones.
        let mut is_taken = true;
        for _ in 0..std::mem::take(&mut load.arriving) {
            load.waiting += 1;
            is_taken = is_taken && self.offer_write(load);
        }
        self.start_tasks(load, rng);
    }

    /// Asks every die that may have something to do, in the order of the router.
    fn start_tasks(&mut self, load: &mut Loop, rng: &mut Rng) {
        let mut index = 0;
        while let Some(die) = load.ready.take(index) {
            index += 1;
            if load.tasks[die.index()].is_none() {
                self.start_task(die, load, rng);
            }
        }
        load.ready.clear();
    }

    /// Offers the next idle die a write, if enough of them wait. Returns false if no die takes it.
    fn offer_write(&mut self, load: &mut Loop) -> bool {
        if load.waiting < load.least {
            return true;
        }
        let State { writes, space, .. } = &mut self.state;
        writes.idle.wake_one(|die| space.has_space(die), &mut load.ready)
    }

    /// Ends the operation of a die.
    fn end_task(&mut self, die: DieId, task: Task, load: &mut Loop) {
        match task {
            Task::Write(units) => load.arriving += units,
            Task::Read(units) => load.reads[die.index()] = units,
            Task::Transfer(units) => {
                let way = load.way(&self.derived.parameters, units);
                // While its data is decoded, a die is free.
                load.arrives[die.index()] = load.now + way + u64::from(self.derived.parameters.load.decodes);
            }
            Task::Erase => self.finish_collection(die, load),
            Task::Move(_) => {}
        }
    }

    /// Starts the next operation of a die that has none, by the order of [`Ftl::choose`].
    fn start_task(&mut self, die: DieId, load: &mut Loop, rng: &mut Rng) {
        let free = self.state.space.free_blocks(die);
        let (critical, low) = (self.derived.critical, self.low());
        let collects = self.state.collectors[die.index()].victim.is_some();
        let may_write = load.waiting >= load.least && self.state.space.has_space(die);
        let has_arrived = load.arrives[die.index()] <= load.now;
        let read = std::mem::take(&mut load.reads[die.index()]);
        let mut task = (read > 0).then_some(Task::Transfer(read));
        if task.is_none() && has_arrived && (free < critical || !self.derived.config.gc_preemptible && collects) {
            task = self.collect_next(die, free < low, &mut load.gathered[die.index()], rng);
        }
        if task.is_none() && may_write {
            task = Some(self.write_program(die, load, rng));
        }
        if task.is_none() && has_arrived && (free < low || collects) {
            task = self.collect_next(die, free < low, &mut load.gathered[die.index()], rng);
        }
        let Some(task) = task else {
            self.state.writes.idle.insert(die);
            if !has_arrived {
                load.push_end(die, load.arrives[die.index()], false);
            }
            return;
        };
        self.state.writes.idle.remove(die);
        if matches!(task, Task::Write(_)) {
            self.offer_write(load);
        }
        let facts = &self.derived.parameters.facts;
        let time = match task {
            Task::Write(units) => {
                // Its data has come to the controller the same way.
                load.way(&self.derived.parameters, units);
                let way = load.way(&self.derived.parameters, units);
                load.transfer(&self.derived.parameters, die, units, way) + facts.program_time.0
            }
            Task::Move(units) => {
                let way = load.way(&self.derived.parameters, units);
                load.transfer(&self.derived.parameters, die, units, way) + facts.program_time.0
            }
            Task::Transfer(units) => load.transfer(&self.derived.parameters, die, units, 0),
            Task::Read(_) => self.derived.parameters.load.read_time.0,
            Task::Erase => facts.erase_time.0,
        };
        load.tasks[die.index()] = Some(task);
        load.push_end(die, load.now + time.max(1), true);
    }

    /// Programs waiting host units, all of them random.
    fn write_program(&mut self, die: DieId, load: &mut Loop, rng: &mut Rng) -> Task {
        let count = load.waiting.min(u64::from(self.state.store.medium.geometry.units_per_program));
        let (stream, mode) = self.stream_of_program(die, load);
        let target = Target { die, stream, mode, class: AllocationClass::Host, plane: None, level: 0 };
        let place = self.next_program(&target);
        for _ in 0..count {
            let old = self.block_of_random_unit(&load.of_map, rng);
            self.supersede_counted(old, load, rng);
            self.state.store.medium.count_written(self.state.store.medium.geometry.block_of(place), 1);
        }
        self.state.space.close_full(&mut self.state.store.medium, die, stream);
        load.waiting -= count;
        load.written += count;
        Task::Write(count)
    }

    /// Counts a random unit of a block as overwritten. One of a victim may have been read already.
    fn supersede_counted(&mut self, block: BlockId, load: &mut Loop, rng: &mut Rng) {
        let record = self.state.store.medium.block(block);
        if record.state() == BlockState::Victim {
            let gathered = &mut load.gathered[self.state.store.medium.geometry.die_of(block).index()];
            let rank = rng.below(u64::from(record.valid)) as u32;
            if rank < gathered.units {
                gathered.drop_unit(rank);
            }
        }
        self.state.store.medium.count_superseded(block, 1, |_| {});
    }

    /// Returns the stream and the mode of the next host program of a die: those of the policy's cache while it is not
    /// full.
    fn stream_of_program(&self, die: DieId, load: &mut Loop) -> (usize, ModeId) {
        if let Some(HostCache { stream, mode, blocks }) = load.cache {
            let (cached, left) = &mut load.cached[die.index()];
            if *left == 0 && *cached < blocks {
                (*cached, *left) = (*cached + 1, self.state.store.medium.units_in(mode));
            }
            if *left > 0 {
                *left -= self.state.store.medium.geometry.units_per_program;
                return (stream.into(), mode);
            }
        }
        (0, self.state.policy.mode_of_old_data())
    }

    /// Takes the next step of a die's collection, like [`Ftl::collect`]. Returns `None` if there is nothing to collect.
    fn collect_next(&mut self, die: DieId, for_space: bool, gathered: &mut Gathered, rng: &mut Rng) -> Option<Task> {
        if self.state.collectors[die.index()].victim.is_none() {
            let victim = if for_space { self.choose_untimed(die)? } else { return None };
            let taken = self.collection_of(victim, Reason::Gc, false);
            self.take_victim(die, &taken, false);
        }
        let geometry = self.state.store.medium.geometry;
        let victim = self.state.collectors[die.index()].victim?;
        let (first, program) = (geometry.first_of(victim), geometry.units_per_program);
        let record = self.state.store.medium.block(victim);
        let mut unread = u32::from(record.valid) - gathered.units;
        if gathered.units >= program || unread == 0 && gathered.units > 0 {
            return Some(Task::Move(self.move_gathered_counted(die, victim, gathered.take(program))));
        }
        if unread == 0 {
            return Some(Task::Erase);
        }
        let row_units = geometry.units_per_page * geometry.shape.planes_per_program;
        let end = first.0 + self.state.store.medium.units_in(ModeId(record.mode()));
        loop {
            let row = self.state.collectors[die.index()].cursor;
            let next = first.0 + (geometry.row_of(row.0 - first.0) + 1) * row_units;
            let units = valid_in_row(next.min(end) - row.0, end - row.0, unread, rng);
            self.state.collectors[die.index()].cursor = Ppn(next);
            unread -= units;
            if units > 0 {
                gathered.add(row, units);
                return Some(Task::Read(units.into()));
            }
        }
    }

    /// Programs gathered units to the die's relocation frontier, and returns their number.
    fn move_gathered_counted(&mut self, die: DieId, victim: BlockId, count: u32) -> u64 {
        let mode = self.state.policy.mode_of_old_data();
        let stream = self.relocation_stream(mode);
        let plane = Some(self.state.store.medium.geometry.group_of(victim));
        let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane, level: 0 };
        let place = self.next_program(&target);
        self.state.store.medium.count_superseded(victim, count as u16, |_| {});
        self.state.store.medium.count_written(self.state.store.medium.geometry.block_of(place), count as u16);
        self.state.space.close_full(&mut self.state.store.medium, die, stream);
        count.into()
    }

    /// Returns the first place of the next program of a frontier.
    fn next_program(&mut self, target: &Target) -> Ppn {
        let units = self.state.store.medium.geometry.units_per_program;
        self.state.space.advance(&mut self.state.store.medium, target, units, SimTime::ZERO).expect("the die has space for it")
    }

    /// Erases the victim of a die, which is empty.
    fn finish_collection(&mut self, die: DieId, load: &mut Loop) {
        let victim = self.state.collectors[die.index()].victim.take().expect("it is erased");
        if load.cache.is_some_and(|cache| self.state.store.medium.block(victim).mode() == cache.mode.0) {
            load.cached[die.index()].0 -= 1;
        }
        self.state.store.medium.begin_erase(victim);
        self.end_erase(victim, ModeId(0));
    }
}

/// Draws how many of the next `row` places of a block are valid, if `valid` of its next `places` are.
fn valid_in_row(row: u32, places: u32, valid: u32, rng: &mut Rng) -> u32 {
    let mut left = valid;
    for place in 0..row {
        if left == places - place {
            // All that follow are valid.
            return valid - left + row - place;
        }
        left -= u32::from(rng.below(u64::from(places - place)) < u64::from(left));
    }
    valid - left
}
