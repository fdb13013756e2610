//! A pool of slots that are reused without allocation.

use serde::{Deserialize, Serialize};

/// A pool of `T`, addressed by slot number. It grows only when no slot is free.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Clone + Default> Slab<T> {
    /// Returns an empty pool with memory reserved for `capacity` slots.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { slots: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Returns a pool of `count` slots, all in use.
    pub fn with_all_taken(count: usize) -> Self {
        Slab { slots: vec![T::default(); count], free: Vec::with_capacity(count) }
    }

    /// Returns the number of slots, in use or free.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if the pool has no slots, neither in use nor free.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes a free slot and returns its number. The slot still holds its previous contents; a new slot holds the
    /// default.
    #[inline]
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.put_new(T::default()))
    }

    /// Stores `value` in a free slot and returns the slot's number.
    #[inline]
    pub fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.put_new(value)
    }

    #[cold]
    fn put_new(&mut self, value: T) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("a slab holds fewer than 2^32 slots");
        self.slots.push(value);
        slot
    }

    /// Marks a slot as free.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Returns the numbers of the free slots, the one that is taken next at the end.
    pub fn free_slots(&self) -> &[u32] {
        &self.free
    }

    /// Returns the number of slots in use.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}
