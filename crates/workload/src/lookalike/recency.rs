//! LRU stack of extents, with stack distances found in logarithmic time.

/// Extent on the stack, with its last touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Number of the extent.
    pub extent: u32,
    /// Sector within the extent at which the last request began.
    pub sector: u16,
    /// Length of that request in sectors; zero if no request began in the extent at its last touch.
    pub sectors: u32,
    /// Time of the last touch, as a number of requests.
    pub when: u64,
}

const DEAD: Touch = Touch { extent: u32::MAX, sector: 0, sectors: 0, when: 0 };

/// Maximum number of extents remembered; beyond it, the least recently touched are forgotten. It bounds the memory at
/// about 100 MB per stack.
const LIVE_MAX: usize = 1 << 21;

/// Stack of extents, the most recently touched on top (Mattson and others, "Evaluation techniques for storage
/// hierarchies", IBM Systems Journal 9(2), 1970). Each touch takes the next higher slot. A Fenwick tree counts the live
/// slots, so that a distance is a prefix sum, and the extent at a distance is found by a descent of the tree.
pub struct Recency {
    slots: Vec<Touch>,
    tree: Vec<u32>,
    /// Slot of each extent plus one; zero: not on the stack.
    slot_of: Vec<u32>,
    next: usize,
    live: usize,
}

impl Recency {
    /// Returns an empty stack for extents below `extents`.
    pub fn new(extents: usize) -> Recency {
        let capacity = 1024;
        Recency { slots: vec![DEAD; capacity], tree: vec![0; capacity + 1], slot_of: vec![0; extents], next: 0, live: 0 }
    }

    /// Extends the stack to extents below `extents`.
    pub fn make_room(&mut self, extents: usize) {
        if self.slot_of.len() < extents {
            self.slot_of.resize(extents.next_power_of_two(), 0);
        }
    }

    /// Returns the number of extents on the stack.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the last touch of `extent` and its distance from the top.
    pub fn find(&self, extent: usize) -> Option<(Touch, usize)> {
        let slot = self.slot_of[extent].checked_sub(1)? as usize;
        Some((self.slots[slot], self.live - self.up_to(slot)))
    }

    /// Returns the touch at `distance` from the top, which must be below [`Recency::live`].
    pub fn at(&self, distance: usize) -> Touch {
        self.slots[self.slot_at(distance)]
    }

    /// Returns the touch nearest to `distance` for which `wanted` holds, among the `most` slots above and below it.
    pub fn near(&self, distance: usize, most: usize, wanted: impl Fn(&Touch) -> bool) -> Option<Touch> {
        let slot = self.slot_at(distance);
        let around = (0..=most).flat_map(|step| [slot.checked_add(step), slot.checked_sub(step)]).flatten();
        around.filter_map(|at| self.slots.get(at)).find(|touch| **touch != DEAD && wanted(touch)).copied()
    }

    fn slot_at(&self, distance: usize) -> usize {
        assert!(distance < self.live, "no extent so deep");
        let mut rank = (self.live - distance) as u32;
        let (mut position, mut step) = (0, self.slots.len().next_power_of_two());
        while step > 0 {
            if position + step < self.tree.len() && self.tree[position + step] < rank {
                position += step;
                rank -= self.tree[position];
            }
            step /= 2;
        }
        position
    }

    /// Puts an extent on top of the stack.
    pub fn touch(&mut self, touch: Touch) {
        let extent = touch.extent as usize;
        if let Some(slot) = self.slot_of[extent].checked_sub(1) {
            self.slots[slot as usize] = DEAD;
            self.add(slot as usize, false);
            self.live -= 1;
        }
        if self.next == self.slots.len() {
            self.rebuild();
        }
        self.slots[self.next] = touch;
        self.slot_of[extent] = self.next as u32 + 1;
        self.add(self.next, true);
        self.next += 1;
        self.live += 1;
    }

    /// Removes the dead slots. If more than half of the slots are live, their number is doubled, up to a limit; if too
    /// many are live, the least recently touched extents are forgotten.
    fn rebuild(&mut self) {
        let mut kept: Vec<Touch> = self.slots.iter().copied().filter(|touch| *touch != DEAD).collect();
        if kept.len() >= LIVE_MAX {
            for forgotten in kept.drain(..LIVE_MAX / 4) {
                self.slot_of[forgotten.extent as usize] = 0;
            }
        }
        let capacity =
            if kept.len() > self.slots.len() / 2 { (self.slots.len() * 2).min(LIVE_MAX * 2) } else { self.slots.len() };
        self.slots = vec![DEAD; capacity];
        self.tree = vec![0; capacity + 1];
        for (slot, touch) in kept.iter().enumerate() {
            self.slots[slot] = *touch;
            self.slot_of[touch.extent as usize] = slot as u32 + 1;
            self.add(slot, true);
        }
        (self.next, self.live) = (kept.len(), kept.len());
    }

    fn add(&mut self, slot: usize, alive: bool) {
        let mut index = slot + 1;
        while index < self.tree.len() {
            self.tree[index] = if alive { self.tree[index] + 1 } else { self.tree[index] - 1 };
            index += index & index.wrapping_neg();
        }
    }

    /// Returns the number of live slots up to and including `slot`.
    fn up_to(&self, slot: usize) -> usize {
        let (mut index, mut sum) = (slot + 1, 0);
        while index > 0 {
            sum += self.tree[index] as usize;
            index &= index - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    #[test]
    fn agrees_with_a_plain_list() {
        let mut rng = Rng::stream(4, "recency");
        let mut stack = Recency::new(700);
        let mut list: Vec<u32> = Vec::new();
        for when in 0..20_000u64 {
            let extent = (rng.below(700) * rng.below(700) / 700) as u32;
            let expected = list.iter().rev().position(|&e| e == extent);
            assert_eq!(stack.find(extent as usize).map(|(_, distance)| distance), expected);
            list.retain(|&e| e != extent);
            list.push(extent);
            stack.touch(Touch { extent, sector: 0, sectors: 0, when });
            let probe = rng.below(list.len() as u64) as usize;
            assert_eq!(stack.at(probe).extent, list[list.len() - 1 - probe]);
            assert_eq!(stack.live(), list.len());
        }
    }
}
