//! Completions that wait to be announced together by one interrupt.

use kit::{CommandId, Nanos, SimTime};
use std::collections::VecDeque;

/// Action that follows a completion in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// An interrupt announces this number of completions.
    Interrupt(u32),
    /// At this instant an interrupt is due ([`Interrupts::due`]), if there is none before.
    DueAt {
        /// The instant.
        at: SimTime,
        /// Number of the interrupt that is waited for.
        number: u32,
    },
    /// Nothing: an interrupt is waited for already.
    Nothing,
}

/// Completions of one queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Completions in the completion queue, those announced first.
    completions: VecDeque<CommandId>,
    /// Those of them that are announced.
    announced: u32,
    /// Number of interrupts so far.
    interrupts: u32,
}

/// Interrupt coalescing (NVMe: aggregation threshold and time), by completion queue.
#[derive(Clone, Debug)]
pub struct Interrupts {
    threshold: u32,
    time: Nanos,
    queues: Vec<Queue>,
    /// Interrupts that are due at some instant; some of them may have come before.
    pending: u32,
}

impl Interrupts {
    /// Returns the state of `queues` empty completion queues: an interrupt announces `threshold` completions, or those
    /// that there are `time` after the first of them.
    pub fn new(queues: u32, threshold: u32, time: Nanos) -> Interrupts {
        Interrupts { threshold, time, queues: vec![Queue::default(); queues as usize], pending: 0 }
    }

    /// Adds a completion to its queue.
    pub fn post(&mut self, command: CommandId, queue: u32, now: SimTime) -> Posted {
        let state = &mut self.queues[queue as usize];
        state.completions.push_back(command);
        let count = state.completions.len() as u32 - state.announced;
        if count >= self.threshold {
            Posted::Interrupt(self.announce(queue))
        } else if count == 1 {
            self.pending += 1;
            Posted::DueAt { at: now + self.time, number: state.interrupts }
        } else {
            Posted::Nothing
        }
    }

    /// Handles the instant at which an interrupt is due. Returns the number of completions that it announces; `None` if
    /// it came before.
    pub fn due(&mut self, queue: u32, number: u32) -> Option<u32> {
        self.pending -= 1;
        (self.queues[queue as usize].interrupts == number).then(|| self.announce(queue))
    }

    fn announce(&mut self, queue: u32) -> u32 {
        let state = &mut self.queues[queue as usize];
        let count = state.completions.len() as u32 - state.announced;
        state.announced += count;
        state.interrupts = state.interrupts.wrapping_add(1);
        count
    }

    /// Returns true if an interrupt is due at some instant.
    pub fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Takes the oldest completion out of a queue, which has been announced to the host.
    pub fn take(&mut self, queue: u32) -> CommandId {
        let state = &mut self.queues[queue as usize];
        state.announced -= 1;
        state.completions.pop_front().expect("an announced completion is in its queue")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupts() -> Interrupts {
        Interrupts::new(2, 3, Nanos(100))
    }

    #[test]
    fn an_interrupt_announces_as_many_completions_as_it_may() {
        let mut interrupts = interrupts();
        let posts = [1, 2, 3, 4].map(|command| interrupts.post(CommandId(command), 1, SimTime(u64::from(command))));
        let due = |at: u64, number: u32| Posted::DueAt { at: SimTime(at), number };
        assert_eq!(posts, [due(101, 0), Posted::Nothing, Posted::Interrupt(3), due(104, 1)]);
        assert_eq!(interrupts.due(1, 0), None, "the first three were announced");
        assert_eq!([(); 3].map(|()| interrupts.take(1).0), [1, 2, 3]);
    }

    #[test]
    fn fewer_completions_are_announced_in_time() {
        let mut interrupts = interrupts();
        for (queue, command) in [(0, 7), (1, 8), (0, 9)] {
            interrupts.post(CommandId(command), queue, SimTime(50));
        }
        assert_eq!(interrupts.due(0, 0), Some(2));
        // A completion after the interrupt has the next one, although the two before it have not been taken.
        assert_eq!(interrupts.post(CommandId(10), 0, SimTime(160)), Posted::DueAt { at: SimTime(260), number: 1 });
        assert_eq!([interrupts.take(0).0, interrupts.take(0).0], [7, 9]);
        assert_eq!((interrupts.due(0, 1), interrupts.due(1, 0)), (Some(1), Some(1)));
    }
}
