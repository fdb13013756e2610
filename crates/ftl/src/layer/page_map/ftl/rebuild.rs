//! Sets of blocks that have lost a block: their data is moved, and they are erased.

use super::*;
use crate::medium::rain::Stage;

impl Ftl {
    /// Handles the failure of a program of parity. What the set lacks of its parity stays in memory until its data has
    /// been moved.
    pub(super) fn parity_failed(&mut self, set: u32, block: BlockId, now: SimTime, out: &mut Outbox) {
        self.state.store.medium.close(block);
        let State { rain, store, .. } = &mut self.state;
        let Some(rain) = rain else { return };
        rain.parity_failed(set);
        let dies = rain.set(set).data().map(|block| store.medium.geometry.die_of(block));
        dies.for_each(|die| out.ready.mark(die));
        self.want_evacuated(block);
        self.wake_for_sets(out);
        self.update_no_space(now, out);
    }

    /// Returns a block of data of the set whose parity a block holds; the block itself if it holds none.
    pub(super) fn instead_of_parity(&self, block: BlockId) -> BlockId {
        let set = self.state.store.medium.set_of(block);
        let (Some(set), Some(rain)) = (set, &self.state.rain) else { return block };
        let set = rain.set(set);
        if set.parity() == Some(block) { set.data().next().unwrap_or(block) } else { block }
    }

    /// Ends the sets of the group of a lost die that are being written. Those with a block on the die are rebuilt.
    #[cold]
    pub(super) fn lose_members(&mut self, die: DieId, out: &mut Outbox) {
        let Some(rain) = &mut self.state.rain else { return };
        for set in rain.lose_die(die) {
            self.hurry(set);
        }
        self.wake_for_sets(out);
    }

    /// Returns the number of sets of blocks that have lost a block with their die; `None` without parity.
    pub fn degraded_sets(&self) -> Option<u64> {
        self.state.rain.as_ref().map(|rain| rain.degraded())
    }

    /// Returns what a lost die has to do: the data of sets that are collected is read from the others, and moved to
    /// them.
    pub(super) fn empty_lost_die(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let rain = self.state.rain.as_ref()?;
        let collector = &self.state.collectors[die.index()];
        let has_part = collector.victim.is_some() || collector.request_count() > 0 || rain.has_erasable(die);
        if has_part { self.collect(die, false, now, out) } else { None }
    }

    /// Begins to rebuild the next set of each group that has lost a die, if the group collects no other, the rate
    /// allows it, and no die of it is short of free blocks.
    #[cold]
    pub(super) fn rebuild(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(rain) = &mut self.state.rain else { return };
        rain.may_rebuild = false;
        for group in 0..rain.groups() {
            self.rebuild_next(group, now, out);
        }
        self.wake_for_sets(out);
    }

    fn rebuild_next(&mut self, group: u32, now: SimTime, out: &mut Outbox) {
        let State { rain, store, space, .. } = &mut self.state;
        let Some(rain) = rain else { return };
        let has_room = rain.live_dies(group).all(|die| space.free_blocks(die) >= self.derived.critical);
        let next = rain.next_rebuilt(group, &store.medium, |die| space.free_blocks(die)).filter(|_| has_room);
        let Some(set) = next else { return };
        let (from, is_armed) = rain.rebuilds[group as usize];
        if from > now {
            if !is_armed {
                rain.rebuilds[group as usize].1 = true;
                out.events.push(from, Class::Timer, Event::Timer(Timer::Rebuild(group)));
            }
            return;
        }
        let units: u64 = rain.set(set).data().map(|block| u64::from(store.medium.block(block).valid)).sum();
        let rate = self.derived.config.rain.and_then(|rain| rain.rebuild_rate);
        let bytes = store.medium.geometry.unit.offset(units);
        let takes = rate.map_or(Nanos::ZERO, |rate| rate.time_for(kit::Bytes(bytes)));
        rain.rebuilds[group as usize].0 = now + takes;
        self.collect_set(set, Reason::Evacuate);
    }

    /// Begins to collect for space, at any rate, a set of a die's group whose current data is all on lost dies: there
    /// no die chooses a victim. Returns false if there is none that would free space.
    #[cold]
    pub(super) fn collect_lost(&mut self, die: DieId) -> bool {
        let State { rain, store, space, .. } = &self.state;
        let Some(rain) = rain else { return false };
        let group = rain.group_of(die);
        let has_room = rain.live_dies(group).any(|die| space.free_blocks(die) > 0);
        let most = if has_room { store.medium.max_valid_to_collect() } else { 0 };
        rain.least_lost(group, &store.medium, most).is_some_and(|set| self.collect_set(set, Reason::Gc))
    }

    /// Handles the timer of a group that may rebuild its next set.
    pub(super) fn rebuild_due(&mut self, group: u32, out: &mut Outbox) {
        let Some(rain) = &mut self.state.rain else { return };
        rain.rebuilds[group as usize].1 = false;
        rain.may_rebuild = true;
        rain.live_dies(group).for_each(|die| out.ready.mark(die));
    }

    /// Returns how far the move of a page may use up the free blocks of a die: all of them if its block belongs to a
    /// set that is being emptied, as that of a lost die does.
    pub(super) fn class_of_move(&self, from: Ppn) -> AllocationClass {
        let Some(rain) = &self.state.rain else { return AllocationClass::Move };
        let medium = &self.state.store.medium;
        let set = medium.set_of(medium.geometry.block_of(from));
        let is_emptied = set.is_some_and(|set| rain.set(set).stage == Stage::Emptying);
        if is_emptied { AllocationClass::Relocation } else { AllocationClass::Move }
    }
}
