//! Delivery of the data of host reads in the order in which their dies have delivered it.

use kit::DieId;
use std::collections::VecDeque;

/// The host reads of each die between the end of their first attempt and their delivery, in that order.
#[derive(Clone, Debug)]
pub struct InOrder(Vec<VecDeque<Sensed>>);

/// A read whose first attempt has ended.
#[derive(Clone, Copy, Debug)]
struct Sensed {
    slot: u32,
    is_ready: bool,
}

impl InOrder {
    /// Returns the delivery of a drive without reads.
    pub fn new(dies: u32) -> InOrder {
        InOrder(vec![VecDeque::new(); dies as usize])
    }

    /// Enters the read in a slot, whose first attempt ends on this die.
    pub fn sensed(&mut self, die: DieId, slot: u32) {
        self.0[die.index()].push_back(Sensed { slot, is_ready: false });
    }

    /// Records that the data of the read in a slot is corrected or given up.
    pub fn ready(&mut self, die: DieId, slot: u32) {
        let read = self.0[die.index()].iter_mut().find(|read| read.slot == slot);
        read.expect("a read is entered when its first attempt ends").is_ready = true;
    }

    /// Takes the next read of a die to be delivered, if it is ready.
    pub fn next(&mut self, die: DieId) -> Option<u32> {
        let first = self.0[die.index()].front().filter(|read| read.is_ready)?.slot;
        self.0[die.index()].pop_front();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order in which the reads of a die can become ready: each is delivered as soon as it and all before it are.
    #[test]
    fn every_order_of_decoding_is_delivered_in_the_order_of_sensing() {
        for choice in 0..5u32.pow(5) {
            let order: Vec<u32> = (0..5).map(|place| choice / 5u32.pow(place) % 5).collect();
            if (0..5).any(|slot| !order.contains(&slot)) {
                continue;
            }
            let mut delivery = InOrder::new(2);
            delivery.sensed(DieId(1), 9);
            for slot in 0..5 {
                delivery.sensed(DieId(0), slot);
            }
            let mut delivered = Vec::new();
            for (count, &slot) in (1..).zip(&order) {
                delivery.ready(DieId(0), slot);
                delivered.extend(std::iter::from_fn(|| delivery.next(DieId(0))));
                let complete = (0..5).take_while(|slot| order[..count].contains(slot)).count();
                assert_eq!(delivered, (0..complete as u32).collect::<Vec<_>>(), "{order:?}");
            }
            assert_eq!(delivery.next(DieId(1)), None);
        }
    }
}
