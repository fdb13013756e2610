//! Relocation of single pages for a policy: a page is read on the die that holds it and programmed on any die that is
//! idle.

use crate::map::Store;
use crate::policy::PageMove;
use kit::archive::require;
use kit::{Ppn, SimTime, Slab};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Page moves in flight, from the start of the read until the new copy is bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageMoves {
    slots: Slab<Option<Move>>,
    /// Moves whose page has been read and that wait for a die: overdue moves first, in the order of their deadlines,
    /// and then the others in the order in which their pages were read.
    pub ready: VecDeque<u32>,
    /// Number of urgent moves in flight (requested through [`ModePolicy::urgent`](crate::policy::ModePolicy::urgent)).
    pub urgent: u64,
    /// Number of moves in flight whose deadline has passed.
    pub overdue: u64,
    /// Number of moves in flight.
    pub in_flight: u64,
}

/// A page move in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Move {
    pub page: PageMove,
    /// True if the policy requires it before any other operation starts.
    pub urgent: bool,
    /// True once its deadline has passed.
    pub overdue: bool,
}

impl PageMoves {
    pub fn new() -> PageMoves {
        PageMoves { slots: Slab::with_capacity(64), ready: VecDeque::with_capacity(64), urgent: 0, overdue: 0, in_flight: 0 }
    }

    /// Returns true if the page at a place has been read and waits for a die.
    pub fn has_read(&self, ppn: Ppn) -> bool {
        self.ready.iter().any(|&slot| self.get(slot).page.from == ppn)
    }

    pub fn begin(&mut self, page: PageMove, urgent: bool) -> u32 {
        let slot = self.slots.put(Some(Move { page, urgent, overdue: false }));
        self.urgent += u64::from(urgent);
        self.in_flight += 1;
        slot
    }

    /// Returns the move in a slot, which must be in flight.
    pub fn get(&self, slot: u32) -> Move {
        self.slots[slot].expect("a move under way")
    }

    /// Puts a move whose page has been read into the ready queue: among the overdue ones if it is, at the back
    /// otherwise.
    pub fn is_read(&mut self, slot: u32) {
        if self.get(slot).overdue { self.queue_overdue(slot) } else { self.ready.push_back(slot) }
    }

    /// Puts an overdue move into the ready queue behind those whose deadline is not later.
    fn queue_overdue(&mut self, slot: u32) {
        let deadline = self.get(slot).page.deadline;
        let goes_before = |&ready: &u32| {
            let other = self.get(ready);
            other.overdue && other.page.deadline <= deadline
        };
        let at = self.ready.iter().take_while(|ready| goes_before(ready)).count();
        self.ready.insert(at, slot);
    }

    /// Marks a move as overdue when its deadline timer fires. Returns false if the timer belonged to a move that has
    /// ended: the slot is then free, or holds another move that is not due yet or already marked.
    pub fn mark_overdue(&mut self, slot: u32, now: SimTime) -> bool {
        let Some(one) = &mut self.slots[slot] else { return false };
        if one.overdue || one.page.deadline.is_none_or(|deadline| deadline > now) {
            return false;
        }
        one.overdue = true;
        self.overdue += 1;
        if let Some(at) = self.ready.iter().position(|&ready| ready == slot) {
            self.ready.remove(at);
            self.queue_overdue(slot);
        }
        true
    }

    /// Checks the moves of a saved drive: at rest, every page has been read. Returns the places that they pin.
    pub fn check(&self, store: &Store, modes: usize) -> Result<Vec<Ppn>, String> {
        let mut is_free = vec![false; self.slots.len()];
        for &slot in self.slots.free_slots() {
            let known = is_free.get_mut(slot as usize).filter(|known| !**known && self.slots[slot].is_none());
            *known.ok_or_else(|| format!("slot {slot} of the page moves is free, and is in use or free once more"))? = true;
        }
        let mut is_ready = vec![false; self.slots.len()];
        for &slot in &self.ready {
            let known = is_ready.get_mut(slot as usize).filter(|known| !**known && self.slots[slot].is_some());
            *known.ok_or_else(|| format!("the page move in slot {slot} is ready, and there is none, or it is ready twice"))? =
                true;
        }
        let moves = || (0..self.slots.len() as u32).filter_map(|slot| self.slots[slot]);
        let count = |of: fn(&Move) -> bool| moves().filter(of).count() as u64;
        let all = count(|_| true);
        let known =
            [all + self.slots.free_slots().len() as u64, self.ready.len() as u64, self.in_flight, self.urgent, self.overdue];
        let counted = [self.slots.len() as u64, all, all, count(|one| one.urgent), count(|one| one.overdue)];
        require(known == counted, || {
            format!("slots, ready, in flight, urgent and overdue page moves: {known:?} are claimed, {counted:?} are there")
        })?;
        for Move { page, .. } in moves() {
            let PageMove { lpn, from, reason, mode, deadline } = page;
            let exists = u64::from(from.0) < store.medium.geometry.unit_count() && u64::from(lpn.0) < store.all_units;
            // The program of the page may have failed since: its data is elsewhere, and the move will be passed over.
            require(exists && (store.lpn_at(from) == lpn || store.is_padding(from)), || {
                format!("unit {} is to be moved from place {}, which holds another one", lpn.0, from.0)
            })?;
            let fits = reason.is_of_moves() && mode.index() < modes && deadline.is_none_or(|at| at < SimTime::FOREVER);
            require(fits, || {
                let name = reason.name();
                format!("unit {} is to be moved for `{name}` into mode {} until {deadline:?}, which is no move", lpn.0, mode.0)
            })?;
        }
        Ok(moves().map(|one| one.page.from).collect())
    }

    /// Returns true if a deadline may concern the slot.
    pub fn has_slot(&self, slot: u32) -> bool {
        (slot as usize) < self.slots.len()
    }

    /// Returns the slots and deadlines of the moves that are not overdue.
    pub fn deadlines(&self) -> impl Iterator<Item = (u32, SimTime)> + '_ {
        let moves = (0..self.slots.len() as u32).filter_map(|slot| self.slots[slot].map(|one| (slot, one)));
        moves.filter(|(_, one)| !one.overdue).filter_map(|(slot, one)| Some((slot, one.page.deadline?)))
    }

    pub fn move_done(&mut self, slot: u32) {
        let Move { urgent, overdue, .. } = self.get(slot);
        self.urgent -= u64::from(urgent);
        self.overdue -= u64::from(overdue);
        self.slots[slot] = None;
        self.slots.release(slot);
        self.in_flight -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Lpn, ModeId, Reason, Rng};

    /// A move as a plain list knows it.
    #[derive(Clone, Copy, Debug)]
    struct Known {
        slot: u32,
        urgent: bool,
        deadline: Option<SimTime>,
        overdue: bool,
        /// Number of reads before its own, once it has been read.
        read: Option<usize>,
        /// Number of moves that joined the overdue ones in the ready queue before, once it has.
        joined: Option<usize>,
    }

    /// Records that a move has joined the overdue ones in the ready queue, if it is both.
    fn join(model: &mut [Known], slot: u32) {
        let joined = model.iter().filter_map(|known| known.joined).max().map_or(0, |last| last + 1);
        let known = model.iter_mut().find(|known| known.slot == slot && known.overdue && known.read.is_some());
        known.into_iter().for_each(|known| known.joined = Some(joined));
    }

    fn begin(moves: &mut PageMoves, model: &mut Vec<Known>, urgent: bool, deadline: Option<SimTime>) {
        let page = PageMove { lpn: Lpn(1), from: Ppn(2), reason: Reason::Rewrite, mode: ModeId(0), deadline };
        let slot = moves.begin(page, urgent);
        assert!(model.iter().all(|known| known.slot != slot), "slot {slot} is in use");
        model.push(Known { slot, urgent, deadline, overdue: false, read: None, joined: None });
    }

    /// Asserts that the counts are those of the list, and that moves that have been read are ready: the overdue ones
    /// first, in the order of their deadlines, and the others in the order in which they were read.
    fn check(moves: &PageMoves, model: &[Known]) {
        let count = |of: fn(&Known) -> bool| model.iter().filter(|known| of(known)).count() as u64;
        let counts = (moves.in_flight, moves.urgent, moves.overdue);
        assert_eq!(counts, (count(|_| true), count(|known| known.urgent), count(|known| known.overdue)), "{model:?}");
        let mut ready: Vec<&Known> = model.iter().filter(|known| known.read.is_some()).collect();
        ready.sort_by_key(|known| {
            let deadline = known.deadline.filter(|_| known.overdue);
            (!known.overdue, deadline, if known.overdue { known.joined } else { known.read })
        });
        let slots: Vec<u32> = moves.ready.iter().copied().collect();
        let expected: Vec<u32> = ready.iter().map(|known| known.slot).collect();
        assert_eq!(slots, expected, "{model:?}");
        for known in model {
            let Move { urgent, overdue, .. } = moves.get(known.slot);
            assert_eq!((urgent, overdue), (known.urgent, known.overdue), "{model:?}");
        }
    }

    /// Takes one of six steps; `choice` selects the move that it concerns. Timers also fire for slots whose move has
    /// ended.
    fn step(kind: u64, choice: usize, now: u64, moves: &mut PageMoves, model: &mut Vec<Known>) {
        match kind {
            0 => begin(moves, model, false, None),
            1 => begin(moves, model, true, Some(SimTime(now + 2))),
            2 => begin(moves, model, false, Some(SimTime(now))),
            3 => {
                let reads = model.iter().filter_map(|known| known.read).max().map_or(0, |last| last + 1);
                let unread = model.iter_mut().filter(|known| known.read.is_none()).nth(choice % 2);
                if let Some(slot) = unread.map(|known| {
                    known.read = Some(reads);
                    known.slot
                }) {
                    moves.is_read(slot);
                    join(model, slot);
                }
            }
            4 => {
                let slot = choice as u32 % 4;
                let due = |known: &&mut Known| known.slot == slot && known.deadline.is_some_and(|at| at.0 <= now);
                let known = model.iter_mut().find(due).filter(|known| !known.overdue);
                let expected = known.map(|known| known.overdue = true).is_some();
                // A slot that was never used has no timer.
                if (slot as usize) < moves.slots.len() {
                    assert_eq!(moves.mark_overdue(slot, SimTime(now)), expected, "slot {slot} at {now}: {model:?}");
                }
                if expected {
                    join(model, slot);
                }
            }
            _ => {
                if let Some(slot) = moves.ready.pop_front() {
                    moves.move_done(slot);
                    model.retain(|known| known.slot != slot);
                }
            }
        }
    }

    /// Every sequence of six steps, and long random ones.
    #[test]
    fn overdue_moves_go_first_and_others_in_order() {
        for sequence in 0..6u64.pow(6) {
            let (mut moves, mut model) =
                (PageMoves { slots: Slab::default(), ready: VecDeque::new(), ..PageMoves::new() }, Vec::new());
            for place in 0..6 {
                step(sequence / 6u64.pow(place) % 6, place as usize, u64::from(place), &mut moves, &mut model);
                check(&moves, &model);
            }
        }
        let (mut moves, mut model, mut rng) = (PageMoves::new(), Vec::new(), Rng::stream(1, "moves"));
        for now in 0..20_000 {
            let kind = if model.len() > 6 { 3 + rng.below(3) } else { rng.below(6) };
            step(kind, rng.below(8) as usize, now / 3, &mut moves, &mut model);
            check(&moves, &model);
        }
    }

    /// A deadline is missed at its instant and not one nanosecond before, and only once.
    #[test]
    fn a_move_is_overdue_at_its_deadline() {
        let (mut moves, mut model) = (PageMoves::new(), Vec::new());
        begin(&mut moves, &mut model, false, Some(SimTime(100)));
        assert_eq!([99, 100, 101].map(|now| moves.mark_overdue(0, SimTime(now))), [false, true, false]);
        moves.move_done(0);
        assert!(!moves.mark_overdue(0, SimTime(102)), "it has ended");
        model.clear();
        begin(&mut moves, &mut model, false, Some(SimTime(200)));
        assert!(!moves.mark_overdue(0, SimTime(103)), "another move has its slot");
    }
}
