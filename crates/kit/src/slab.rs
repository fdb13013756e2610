//! A pool of slots that are reused without allocation.

use serde::{Deserialize, Serialize};

/// A pool of `T`, addressed by slot number. Grows only when more are in use than ever before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Clone + Default> Slab<T> {
    /// A pool with room for `capacity` before it grows.
    pub fn with_capacity(capacity: usize) -> Self {
        Slab { slots: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// A pool whose first `count` slots are all in use.
    pub fn with_all_taken(count: usize) -> Self {
        Slab { slots: vec![T::default(); count], free: Vec::with_capacity(count) }
    }

    /// Slots that there are, in use or not.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there has never been a slot.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes a slot; it holds what its last user left there.
    #[inline]
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.put_new(T::default()))
    }

    /// Puts `value` in a free slot.
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

    /// Gives a slot back.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// How many slots are in use.
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
