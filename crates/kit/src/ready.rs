//! The dies that the router must dispatch to.

use crate::ids::DieId;

/// Dies that may have something to do, each listed at most once.
#[derive(Clone, Debug, Default)]
pub struct ReadyDies {
    dies: Vec<DieId>,
    is_marked: Vec<bool>,
}

impl ReadyDies {
    /// Returns an empty list for a drive with `die_count` dies.
    pub fn new(die_count: usize) -> ReadyDies {
        ReadyDies { dies: Vec::with_capacity(die_count), is_marked: vec![false; die_count] }
    }

    /// Marks a die as one that may have something to do; a marked die is not listed again.
    #[inline]
    pub fn mark(&mut self, die: DieId) {
        if !std::mem::replace(&mut self.is_marked[die.index()], true) {
            self.dies.push(die);
        }
    }

    /// Marks all dies.
    pub fn mark_all(&mut self) {
        (0..self.is_marked.len() as u32).for_each(|die| self.mark(DieId(die)));
    }

    /// Removes the mark of the die at a position in the list and returns the die: the caller dispatches to it, and it
    /// may be marked again meanwhile. `None` behind the end of the list.
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<DieId> {
        let die = *self.dies.get(index)?;
        self.is_marked[die.index()] = false;
        Some(die)
    }

    /// Empties the list, all of whose dies have been taken.
    #[inline]
    pub fn clear(&mut self) {
        self.dies.clear();
    }

    /// Returns the dies in the order of their marks, those that have been taken included.
    #[inline]
    pub fn listed(&self) -> &[DieId] {
        &self.dies
    }

    /// Returns true if no die is listed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dies.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_die_is_listed_once_until_it_is_taken() {
        let mut ready = ReadyDies::new(3);
        [2, 0, 2].into_iter().for_each(|die| ready.mark(DieId(die)));
        assert_eq!(ready.take(0), Some(DieId(2)));
        // Marked again while it is dispatched to, it comes once more.
        ready.mark(DieId(2));
        ready.mark(DieId(0));
        assert_eq!([ready.take(1), ready.take(2), ready.take(3)], [Some(DieId(0)), Some(DieId(2)), None]);
        ready.clear();
        assert!(ready.is_empty());
        ready.mark(DieId(1));
        ready.mark_all();
        assert_eq!((0..).map_while(|index| ready.take(index)).collect::<Vec<_>>(), [DieId(1), DieId(0), DieId(2)]);
    }
}
