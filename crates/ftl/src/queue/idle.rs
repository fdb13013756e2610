//! Idle dies, in allocation order.

use kit::{DieId, ReadyDies};
use serde::{Deserialize, Serialize};

/// The set of idle dies, and the turn of the next one that is offered a write. All dies are idle at first.
pub(crate) struct IdleDies {
    /// One bit for each rank.
    bits: Vec<u64>,
    /// Rank of each die in allocation order, and the die of each rank.
    rank_of: Vec<u32>,
    die_at: Vec<DieId>,
    /// Rank at which the search for an idle die begins.
    next_rank: u32,
}

/// Idle dies in the form in which they are saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IdleImage {
    bits: Vec<u64>,
    next_rank: u32,
}

impl IdleDies {
    /// Returns the dies of a drive whose allocation order has these places.
    pub fn new(places: &[(DieId, Option<u32>)]) -> IdleDies {
        let die_at: Vec<DieId> = places.iter().filter(|(_, plane)| plane.unwrap_or(0) == 0).map(|(die, _)| *die).collect();
        let mut rank_of = vec![0; die_at.len()];
        for (rank, die) in die_at.iter().enumerate() {
            rank_of[die.index()] = rank as u32;
        }
        let mut bits = vec![0u64; die_at.len().div_ceil(64)];
        (0..die_at.len()).for_each(|rank| bits[rank / 64] |= 1 << (rank % 64));
        IdleDies { bits, rank_of, die_at, next_rank: 0 }
    }

    /// Returns the number of dies.
    #[inline]
    pub fn die_count(&self) -> usize {
        self.rank_of.len()
    }

    /// Returns the die of a rank in allocation order.
    #[inline]
    pub fn die_at(&self, rank: usize) -> DieId {
        self.die_at[rank]
    }

    /// Returns the rank of a die in allocation order.
    #[inline]
    pub fn rank_of(&self, die: DieId) -> u32 {
        self.rank_of[die.index()]
    }

    #[inline]
    pub fn contains(&self, die: DieId) -> bool {
        let rank = self.rank_of[die.index()] as usize;
        self.bits[rank / 64] >> (rank % 64) & 1 == 1
    }

    /// Marks a die as busy.
    #[inline]
    pub fn remove(&mut self, die: DieId) {
        let rank = self.rank_of[die.index()] as usize;
        self.bits[rank / 64] &= !(1 << (rank % 64));
    }

    /// Marks a die as idle. Returns false if it was.
    #[inline]
    pub fn insert(&mut self, die: DieId) -> bool {
        let rank = self.rank_of[die.index()] as usize;
        let word = &mut self.bits[rank / 64];
        let is_new = *word >> (rank % 64) & 1 == 0;
        *word |= 1 << (rank % 64);
        is_new
    }

    /// Marks a die as idle or busy.
    pub fn set(&mut self, die: DieId, is_idle: bool) {
        if is_idle {
            self.insert(die);
        } else {
            self.remove(die);
        }
    }

    /// Marks as ready the next idle die that could take host data. If there are idle dies, but none has space, marks
    /// all of them, so that they gain some. Returns true if a die with space was marked.
    #[inline]
    pub fn wake_one(&mut self, has_space: impl Fn(DieId) -> bool, ready: &mut ReadyDies) -> bool {
        let count = self.rank_of.len() as u32;
        let mut rank = self.next_rank;
        let mut left = count;
        let mut without_room = false;
        while left > 0 {
            let word = self.bits[rank as usize / 64] >> (rank % 64);
            if word == 0 {
                let step = (64 - rank % 64).min(count - rank).min(left);
                rank = (rank + step) % count;
                left -= step;
                continue;
            }
            let step = word.trailing_zeros();
            if step >= left {
                break;
            }
            rank += step;
            left -= step;
            let die = self.die_at[rank as usize];
            let next = (rank + 1) % count;
            if has_space(die) {
                self.next_rank = next;
                // Marked busy, so that the next write wakes another die.
                self.remove(die);
                ready.mark(die);
                return true;
            }
            without_room = true;
            rank = next;
            left -= 1;
        }
        if without_room {
            (0..count).map(DieId).filter(|&die| self.contains(die)).for_each(|die| ready.mark(die));
        }
        false
    }

    /// Marks as ready the next idle die that fits, if there is one.
    pub fn wake_fitting(&mut self, fits: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        let count = self.rank_of.len() as u32;
        let mut ranks = (0..count).map(|step| (self.next_rank + step) % count);
        let found = ranks.find(|&rank| self.contains(self.die_at[rank as usize]) && fits(self.die_at[rank as usize]));
        if let Some(rank) = found {
            self.next_rank = (rank + 1) % count;
            self.remove(self.die_at[rank as usize]);
            ready.mark(self.die_at[rank as usize]);
        }
    }

    /// Returns the set for saving.
    pub fn image(&self) -> IdleImage {
        IdleImage { bits: self.bits.clone(), next_rank: self.next_rank }
    }

    /// Restores a saved set. Returns false if it is that of another number of dies.
    pub fn restore(&mut self, image: IdleImage) -> bool {
        let past = self.die_count() % 64;
        let fits = image.bits.len() == self.bits.len()
            && (image.next_rank as usize) < self.die_count()
            && (past == 0 || image.bits.last().is_none_or(|last| last >> past == 0));
        if fits {
            (self.bits, self.next_rank) = (image.bits, image.next_rank);
        }
        fits
    }

    /// Takes over the turn of a saved drive, and not its idle dies.
    pub fn take_over_turn(&mut self, image: &IdleImage) {
        self.next_rank = image.next_rank % self.die_count() as u32;
    }
}

#[cfg(test)]
impl IdleDies {
    pub fn next_rank(&self) -> usize {
        self.next_rank as usize
    }
}
