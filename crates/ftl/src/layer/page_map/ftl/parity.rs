//! Parity across dies: when it is programmed, and sets of blocks ([`rain`](crate::medium::rain)) that are collected as
//! a whole.

use super::*;
use crate::medium::rain::{Rain, Stage, Written};
use std::collections::BTreeSet;

/// Answer to a die that is to empty a block of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// It may begin.
    Now,
    /// Not yet: the die has no room for the data, or the set cannot be collected now.
    Later,
    /// There is nothing for this die to empty.
    Never,
}

impl Ftl {
    /// Keeps blocks of an empty drive for parity: as many as the data of all others may need.
    pub(crate) fn withhold_for_parity(&mut self) {
        let Some(rain) = self.derived.config.rain else { return };
        let medium = &mut self.state.store.medium;
        let kept = medium.geometry.blocks_per_die.div_ceil(rain.dies) as usize;
        let mut blocks = Vec::new();
        for die in (0..medium.geometry.die_count).map(DieId) {
            let free = |block: &BlockId| medium.block(*block).is(BlockState::Free);
            blocks.extend(medium.geometry.blocks_of(die).rev().map(BlockId).filter(free).take(kept));
        }
        blocks.iter().for_each(|&block| medium.begin_spare(block));
        if let Some(rain) = &mut self.state.rain {
            rain.kept = blocks.iter().map(|block| block.0).collect();
        }
        self.state.space.withhold(medium, &*self.derived.wear_rule);
    }

    /// Forms sets of the closed blocks with which a drive begins, in the order in which they were closed, and of the
    /// blocks that were kept for parity. Those kept in vain become free.
    pub(super) fn begin_sets(&mut self) {
        let State { rain, store, space, .. } = &mut self.state;
        let Some(rain) = rain.as_deref_mut().filter(|rain| !rain.is_begun) else { return };
        rain.is_begun = true;
        let all_kept: BTreeSet<u32> = std::mem::take(&mut rain.kept).into_iter().collect();
        let medium = &mut store.medium;
        let mode = self.derived.old_mode.0;
        let programs = (medium.units_in(self.derived.old_mode) / medium.geometry.units_per_program) as u16;
        for group in 0..rain.groups() {
            let dies: Vec<DieId> = rain.dies_of(group).collect();
            let of_mode = |block: &BlockId| medium.block(*block).mode() == mode;
            let mut closed: Vec<_> =
                dies.iter().map(|&die| medium.closed_blocks(die).filter(of_mode).collect::<Vec<_>>().into_iter()).collect();
            let kept = |block: &BlockId| all_kept.contains(&block.0);
            let mut kept: Vec<_> = dies
                .iter()
                .map(|&die| medium.geometry.blocks_of(die).map(BlockId).filter(kept).collect::<Vec<_>>().into_iter())
                .collect();
            let turns = (0..dies.len()).cycle().take(dies.len() * medium.geometry.blocks_per_die as usize);
            for parity_at in turns {
                let left: usize = (0..dies.len()).filter(|&place| place != parity_at).map(|place| closed[place].len()).sum();
                if left == 0 {
                    continue;
                }
                let Some(parity) = kept[parity_at].next() else { continue };
                let mut data: Vec<Option<BlockId>> = closed.iter_mut().map(|_| None).collect();
                (0..dies.len()).filter(|&place| place != parity_at).for_each(|place| data[place] = closed[place].next());
                medium.seal_kept(parity, programs, mode);
                let set = rain.add_whole(group, mode, (parity_at, parity), &data);
                data.into_iter().flatten().chain([parity]).for_each(|block| medium.set_member(block, Some(set)));
            }
            for block in kept.into_iter().flatten() {
                medium.release_kept(block);
                space.put_free(medium, block, &*self.derived.wear_rule);
            }
        }
    }

    /// Takes a block that has just been opened for a stream of data into a set. Returns true if it is for parity, and
    /// in its set already.
    #[cold]
    pub(super) fn join_set(&mut self, die: DieId, stream: usize, block: BlockId, out: &mut Outbox) -> bool {
        if self.state.space.is_parity(stream) {
            return true;
        }
        let State { rain, store, .. } = &mut self.state;
        let Some(rain) = rain else { return false };
        let Some((set, ended)) = rain.join(die, stream, (block, store.medium.block(block).mode())) else { return false };
        store.medium.set_member(block, Some(set));
        if let Some(ended) = ended {
            self.settle_set(ended, out);
        }
        false
    }

    /// Takes note of blocks that have been sealed since, and of parity that is due after the end of a program in
    /// `block`.
    #[inline]
    pub(super) fn settle_sets(&mut self, block: Option<BlockId>, out: &mut Outbox) {
        if self.state.rain.is_some() {
            self.settle_sealed(block, out);
        }
    }

    #[inline(never)]
    fn settle_sealed(&mut self, block: Option<BlockId>, out: &mut Outbox) {
        while let Some(sealed) = self.state.store.medium.next_sealed() {
            self.settle_set_of(sealed, out);
        }
        if let Some(block) = block {
            self.settle_set_of(block, out);
        }
    }

    fn settle_set_of(&mut self, block: BlockId, out: &mut Outbox) {
        if let Some(set) = self.state.store.medium.set_of(block) {
            self.settle_set(set, out);
        }
    }

    /// Takes account of what has been written in a set: wakes the die that holds its parity if some of it is due, or
    /// declares the set whole.
    fn settle_set(&mut self, set: u32, out: &mut Outbox) {
        let State { rain, store, space, .. } = &mut self.state;
        let Some(rain) = rain else { return };
        let medium = &mut store.medium;
        if rain.set(set).stage != Stage::Writing {
            return;
        }
        let (Written { rows, is_final }, die) = (rain.written(set, medium), rain.parity_die(set));
        // Nothing is left to protect.
        let is_stale = is_final && rain.set(set).data().all(|block| medium.block(block).valid == 0);
        if is_due(rain, medium, set, rows) && !is_stale {
            out.ready.mark(die);
            return;
        }
        let parity = rain.set(set).parity();
        if !is_final || parity.is_some_and(|parity| medium.is_programming(parity)) {
            return;
        }
        if let Some(parity) = parity.filter(|&parity| medium.block(parity).is(BlockState::Open)) {
            space.close(medium, die, parity);
            // Its sealing needs no notice; those of others stay.
            let sealed = medium.next_sealed();
            debug_assert_eq!(sealed, Some(parity));
        }
        rain.complete(set);
        rain.may_rebuild |= rain.is_to_be_rebuilt(set);
        let blocks: Vec<BlockId> = rain.set(set).data().collect();
        for block in blocks {
            if medium.block(block).is(BlockState::Sealed) {
                medium.unseal(block);
            }
            out.ready.mark(medium.geometry.die_of(block));
        }
    }

    /// Returns the slot of a program of parity that a die owes, or of the lazy erase that must precede it.
    #[cold]
    pub(super) fn program_parity(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let rain = self.state.rain.as_deref()?;
        let medium = &self.state.store.medium;
        // One after the other where two sets of a stream have their parity on the same die.
        let is_next = |set: &u32| {
            let (stream, rows) = (self.state.space.parity_stream(rain.set(*set).stream), rain.written(*set, medium).rows);
            let open = self.state.space.frontier(die, stream, 0);
            is_due(rain, medium, *set, rows) && open == rain.set(*set).parity()
        };
        let set = rain.owed_by(die).find(is_next)?;
        let rain = self.state.rain.as_deref()?;
        let (mode, of_data) = (ModeId(rain.set(set).mode), rain.set(set).stream);
        let (stream, class) = (self.state.space.parity_stream(of_data), AllocationClass::Careful);
        let mut target = Target { die, stream, mode, class, plane: None, level: 0 };
        if !self.may_bind_at(&target) {
            return None;
        }
        if self.state.space.levels() > 1
            && let Some(lazy_erase) = self.choose_level(&mut target, mode, now, out)
        {
            return Some(lazy_erase);
        }
        let units = self.state.store.medium.geometry.units_per_program;
        let place = self.state.space.advance(&mut self.state.store.medium, &target, units, now)?;
        let block = self.state.store.medium.geometry.block_of(place);
        if self.state.store.medium.set_of(block).is_none() {
            self.state.store.medium.set_member(block, Some(set));
            self.state.rain.as_deref_mut()?.parity_opened(set, block);
        }
        self.begin_program(die, place, mode, Reason::Parity);
        self.state.store.pad(place, units);
        let is_encoded = self.derived.parameters.facts.codes[mode.index()] != 0;
        let program = &mut self.state.store.medium.programs[die.index()];
        program.bind_moved(units);
        program.encode = if is_encoded { units } else { 0 };
        let rain = self.state.rain.as_deref()?;
        let medium = &self.state.store.medium;
        let row = medium.geometry.program_of(medium.geometry.split(place).1);
        for data in rain.set(set).data().filter(|&data| u32::from(medium.block(data).programmed) > row) {
            let data = Ppn(medium.geometry.first_of(data).0 + row * units);
            out.journal.note(|| Record::Protected { parity: place, data });
        }
        Some(self.finish_program(die, stream, units, now, out))
    }

    /// Decides whether a die may empty a block now. Where the block itself is to be used again, its set is collected.
    pub(super) fn take_of_set(&mut self, die: DieId, request: &RelocationRequest) -> Taking {
        let RelocationRequest { block, reason, .. } = *request;
        let Some(rain) = &self.state.rain else { return Taking::Now };
        let record = self.state.store.medium.block(block);
        let set = self.state.store.medium.set_of(block);
        let stage = set.map(|set| rain.set(set).stage);
        let may_begin = match record.state() {
            BlockState::Closed => true,
            // Parity is not moved.
            BlockState::Sealed => !self.holds_parity(block),
            _ => false,
        };
        let is_lost = self.is_lost(die);
        if !may_begin || stage == Some(Stage::Erasing) || is_lost && set.is_none() {
            return Taking::Never;
        }
        if let Some(set) = set.filter(|_| matches!(reason, Reason::Wear | Reason::Evacuate) && stage != Some(Stage::Emptying)) {
            return if self.collect_set(set, reason) { Taking::Now } else { Taking::Later };
        }
        let is_alone = stage != Some(Stage::Emptying) && set.is_some();
        if is_lost {
            // The data of a lost die is moved with its set.
            return if is_alone { Taking::Never } else { Taking::Now };
        }
        // After failures a die without room begins all the same: the others take the data that it has gathered, or the
        // collection is given up for another one.
        let leaves_it = stage == Some(Stage::Emptying) && self.state.repairs.has_failures();
        let has_room = record.valid == 0 || leaves_it || self.state.space.free_blocks(die) > u32::from(is_alone);
        if has_room { Taking::Now } else { Taking::Later }
    }

    /// Begins to collect a set, if that is possible now: each die is requested to empty its block.
    pub(super) fn collect_set(&mut self, set: u32, reason: Reason) -> bool {
        let State { rain, store, collectors, space, .. } = &mut self.state;
        let Some(rain) = rain else { return false };
        let medium = &mut store.medium;
        if !rain.can_collect(set, medium, |die| space.free_blocks(die)) {
            return false;
        }
        for block in rain.begin_emptying(set, reason, medium) {
            let (die, erase_count) = (medium.geometry.die_of(block), medium.erase_count(block));
            collectors[die.index()].want(RelocationRequest { block, erase_count, reason, urgent: false });
            self.scratch.woken.push(die);
        }
        true
    }

    /// Begins to collect for space what a die has chosen: returns the block if it is in no set. Otherwise the dies are
    /// requested to empty their blocks of its set, or of another one if a die has no room for the data of that.
    pub(super) fn begin_set(&mut self, die: DieId, chosen: BlockId) -> Option<BlockId> {
        let Some(set) = self.state.store.medium.set_of(chosen) else { return Some(chosen) };
        if self.collect_set(set, Reason::Gc) {
            return None;
        }
        let State { rain, store, space, .. } = &self.state;
        let rain = rain.as_ref()?;
        match rain.least_valid(rain.group_of(die), &store.medium, |die| space.free_blocks(die)) {
            Some(other) => _ = self.collect_set(other, Reason::Gc),
            None => self.hurry_group(die),
        }
        None
    }

    /// Ends the writing of a set: no die joins it any more, and its open blocks are closed.
    pub(super) fn hurry(&mut self, set: u32) {
        let State { rain, store, space, .. } = &mut self.state;
        let Some(rain) = rain else { return };
        rain.end_forming(set);
        let open = rain.set(set).data().filter(|&block| store.medium.block(block).is(BlockState::Open));
        for block in open.collect::<Vec<_>>() {
            let die = store.medium.geometry.die_of(block);
            space.close(&mut store.medium, die, block);
        }
        self.scratch.settles.push(set);
    }

    /// Ends the writing of all sets of a die's group: it finds no block to collect, and the blocks of these sets cannot
    /// be collected before they are whole.
    #[cold]
    pub(super) fn hurry_group(&mut self, die: DieId) {
        let Some(rain) = &self.state.rain else { return };
        let sets = rain.written_by(rain.group_of(die));
        let medium = &self.state.store.medium;
        let is_stuck = |set: &u32| {
            let data = || rain.set(*set).data().map(|block| medium.block(block));
            let goes_on = rain.set(*set).is_forming() || data().any(|record| record.is(BlockState::Open));
            let is_stale = || rain.written(*set, medium).is_final && data().all(|record| record.valid == 0);
            data().any(|record| record.is(BlockState::Sealed)) && (goes_on || is_stale())
        };
        let stuck: Vec<u32> = sets.into_iter().filter(is_stuck).collect();
        stuck.into_iter().for_each(|set| self.hurry(set));
    }

    /// Gives up emptying a block by itself, for which the die has no room: it would use up what a collection needs that
    /// frees space. It is requested again. Returns false if the die's victim is not such a block.
    #[cold]
    pub(super) fn give_up_alone(&mut self, die: DieId) -> bool {
        let State { rain, store, collectors, .. } = &mut self.state;
        let collector = &mut collectors[die.index()];
        let (Some(rain), Some(victim)) = (rain, collector.victim) else { return false };
        let stage = store.medium.set_of(victim).map(|set| rain.set(set).stage);
        let state = match stage {
            Some(Stage::Writing) => BlockState::Sealed,
            Some(Stage::Whole) => BlockState::Closed,
            _ => return false,
        };
        let (erase_count, reason, urgent) = (store.medium.erase_count(victim), collector.reason, collector.urgent);
        collector.victim = None;
        let count = collector.gathered.len();
        collector.programs(count);
        collector.want(RelocationRequest { block: victim, erase_count, reason, urgent });
        store.medium.put_back(victim, state);
        true
    }

    /// Brings the first waiting move out of a set that is being emptied to the front: it may go where others may not,
    /// and its group collects nothing else before. Returns false if there is none.
    #[cold]
    pub(super) fn bring_emptied_forward(&mut self) -> bool {
        let is_of_set = |slot: &u32| self.class_of_move(self.state.moves.get(*slot).page.from) == AllocationClass::Relocation;
        let Some(at) = self.state.moves.ready.iter().position(is_of_set).filter(|_| self.state.rain.is_some()) else {
            return false;
        };
        let ready = &mut self.state.moves.ready;
        ready.remove(at).into_iter().for_each(|slot| ready.push_front(slot));
        true
    }

    /// Gives up the collection of the set of a unit that is to be moved, because no die of its group has a free block
    /// left: a program has failed in the last one. A set without current data is collected first; without one nothing
    /// changes.
    #[cold]
    pub(super) fn give_up_set(&mut self, from: Ppn, now: SimTime, out: &mut Outbox) {
        let State { rain, store, space, collectors, .. } = &mut self.state;
        let medium = &mut store.medium;
        let Some(rain) = rain else { return };
        let Some(set) = medium.set_of(medium.geometry.block_of(from)) else { return };
        let group = rain.set(set).group;
        let has_room = rain.live_dies(group).any(|die| space.free_blocks(die) > 0);
        let Some(stale) = rain.stale(group, medium).filter(|_| rain.set(set).stage == Stage::Emptying && !has_room) else {
            return;
        };
        let blocks: Vec<BlockId> = rain.set(set).data().filter(|&block| medium.block(block).is(BlockState::Victim)).collect();
        let die_of = |block: &BlockId| medium.geometry.die_of(*block).index();
        let reads = |block: &BlockId| collectors[die_of(block)].reading || collectors[die_of(block)].encoding.is_some();
        if blocks.iter().any(reads) {
            return;
        }
        for block in blocks {
            let collector = &mut collectors[medium.geometry.die_of(block).index()];
            if collector.victim == Some(block) {
                collector.victim = None;
                collector.programs(collector.gathered.len());
                collector.urgent = collector.has_urgent_request();
            }
            medium.put_back(block, BlockState::Closed);
        }
        rain.stop_emptying(set);
        self.collect_set(stale, Reason::Gc);
        self.wake_for_sets(out);
        self.update_no_space(now, out);
    }

    /// Returns how far the data that a die moves may use up its free blocks: all of them if the collection frees one.
    #[inline]
    pub(super) fn class_of_moved(&self, die: DieId) -> AllocationClass {
        let Some(rain) = &self.state.rain else { return AllocationClass::Relocation };
        self.class_in_set(rain, die)
    }

    #[inline(never)]
    fn class_in_set(&self, rain: &Rain, die: DieId) -> AllocationClass {
        let victim = self.state.collectors[die.index()].victim;
        let set = victim.and_then(|victim| self.state.store.medium.set_of(victim));
        match set.map(|set| rain.set(set).stage) {
            Some(Stage::Writing | Stage::Whole) => AllocationClass::Careful,
            Some(Stage::Emptying | Stage::Erasing) | None => AllocationClass::Relocation,
        }
    }

    /// Passes on what [`Ftl::take_of_set`] has begun.
    #[inline]
    pub(super) fn wake_for_sets(&mut self, out: &mut Outbox) {
        if self.state.rain.is_some() {
            self.pass_on(out);
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, out: &mut Outbox) {
        while let Some(die) = self.scratch.woken.pop() {
            out.ready.mark(die);
        }
        self.settle_sets(None, out);
        while let Some(set) = self.scratch.settles.pop() {
            self.settle_set(set, out);
        }
    }

    /// Returns true if a block holds parity.
    pub(in crate::layer::page_map) fn holds_parity(&self, block: BlockId) -> bool {
        let set = self.state.store.medium.set_of(block);
        set.is_some_and(|set| self.state.rain.as_ref().is_some_and(|rain| rain.set(set).parity() == Some(block)))
    }

    /// Returns true if a group empties or erases a set: its dies begin no other.
    pub(super) fn empties_set(&self, die: DieId) -> bool {
        self.state.rain.as_ref().is_some_and(|rain| rain.collected(rain.group_of(die)).is_some())
    }

    /// Ends the part of a die in the collection of a set: its block has been emptied. The blocks are erased once all
    /// are. A block that was emptied by itself waits for that.
    pub(super) fn member_emptied(&mut self, set: u32, die: DieId, now: SimTime, out: &mut Outbox) {
        let collector = &mut self.state.collectors[die.index()];
        let victim = collector.victim.take();
        collector.urgent = collector.has_urgent_request();
        let State { rain, store, .. } = &mut self.state;
        let (Some(rain), Some(victim)) = (rain, victim) else { return };
        let stage = rain.set(set).stage;
        match stage {
            Stage::Writing => store.medium.put_back(victim, BlockState::Sealed),
            Stage::Whole => store.medium.put_back(victim, BlockState::Closed),
            Stage::Emptying => {
                if rain.emptied(set, die) {
                    if let Some(parity) = rain.set(set).parity() {
                        store.medium.take_sealed(parity);
                    }
                    rain.dies_of(rain.set(set).group).for_each(|die| out.ready.mark(die));
                }
            }
            Stage::Erasing => unreachable!("all blocks of it had been emptied"),
        }
        self.update_no_space(now, out);
    }

    /// Returns the slot of the erase of a block of a set that has been emptied. Blocks that have failed, and those of a
    /// lost die, are taken out of use instead.
    pub(super) fn erase_member(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        loop {
            let State { rain, store, .. } = &mut self.state;
            let rain = rain.as_deref_mut().filter(|rain| rain.has_erasable(die))?;
            let block = rain.next_erasable(die)?;
            let reason = store.medium.set_of(block).map(|set| rain.set(set).reason)?;
            if self.must_retire(block) || self.is_lost(die) {
                self.retire_bad(die, block, now, out);
                self.leave_set(block, out);
                continue;
            }
            let collection = Collection { block, reason, background: false, valid: 0 };
            return Some(self.erase_victim(&collection, die, now, out));
        }
    }

    /// Takes a block that has been erased out of its set, if it is in one.
    pub(super) fn leave_set(&mut self, block: BlockId, out: &mut Outbox) {
        let Some(set) = self.state.store.medium.set_of(block) else { return };
        let State { rain, store, .. } = &mut self.state;
        let Some(rain) = rain else { return };
        store.medium.set_member(block, None);
        let die = store.medium.geometry.die_of(block);
        if rain.erased(set, die) {
            rain.dies_of(rain.group_of(die)).for_each(|die| out.ready.mark(die));
        }
    }
}

/// Returns true if a program of the parity of a set is due, of which `rows` can be known.
fn is_due(rain: &Rain, medium: &crate::medium::Medium, set: u32, rows: u32) -> bool {
    let programmed = rain
        .set(set)
        .parity()
        .map_or(Some(0), |parity| (!medium.is_programming(parity)).then(|| u32::from(medium.block(parity).programmed)))
        .filter(|_| !rain.set(set).keeps_parity);
    programmed.is_some_and(|programmed| programmed < rows)
}
