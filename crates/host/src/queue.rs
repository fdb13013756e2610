//! The device queue: a limited number of slots, and the commands that wait for one at the host.

use kit::CommandId;
use std::collections::VecDeque;

/// Slots of the device queue. Commands that find none wait at the host, first in, first out.
#[derive(Clone, Debug)]
pub struct DeviceQueue {
    depth: u32,
    used: u32,
    waiting: VecDeque<CommandId>,
}

impl DeviceQueue {
    /// Returns an empty queue of `depth` slots.
    pub fn new(depth: u32) -> DeviceQueue {
        DeviceQueue { depth, used: 0, waiting: VecDeque::with_capacity(64) }
    }

    /// Tries to acquire a queue slot for a command that arrives; the command waits if none is free. Returns true on
    /// success.
    #[inline]
    pub fn try_acquire(&mut self, command: CommandId) -> bool {
        let success = self.used < self.depth && self.waiting.is_empty();
        if success {
            self.used += 1;
        } else {
            self.waiting.push_back(command);
        }
        success
    }

    /// Releases the slot of a command that is done. Returns the command that takes it, if one waits.
    #[inline]
    pub fn release(&mut self) -> Option<CommandId> {
        let next = self.waiting.pop_front();
        self.used -= u32::from(next.is_none());
        next
    }

    /// Returns true if commands wait for a slot.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of ten arrivals and releases, for every depth up to four, against a plain model: the slots are
    /// never more than the depth, and commands get them in the order of arrival.
    #[test]
    fn every_short_sequence_keeps_depth_and_order() {
        for depth in 1..=4 {
            for steps in 0..1u32 << 10 {
                let mut queue = DeviceQueue::new(depth);
                let (mut arrived, mut granted, mut in_device) = (0, 0, 0);
                for step in 0..10 {
                    if steps >> step & 1 == 0 {
                        let success = queue.try_acquire(CommandId(arrived));
                        arrived += 1;
                        assert_eq!(success, in_device < depth, "depth {depth}, steps {steps:b}");
                        if success {
                            (granted, in_device) = (granted + 1, in_device + 1);
                        }
                    } else if in_device > 0 {
                        let next = queue.release();
                        assert_eq!(next, (granted < arrived).then_some(CommandId(granted)), "depth {depth}, steps {steps:b}");
                        if next.is_some() {
                            granted += 1;
                        } else {
                            in_device -= 1;
                        }
                    }
                    assert_eq!(queue.has_waiting(), granted < arrived);
                }
            }
        }
    }
}
