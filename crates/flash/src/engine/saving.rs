//! State of a flash at rest that a saved drive keeps.

use super::Flash;
use crate::slow::SlowOperations;
use kit::Rng;

impl Flash {
    /// Returns true if a wake-up event of some channel is pending, even if all dies that waited for it have withdrawn.
    pub fn has_armed_channel(&self) -> bool {
        self.channels.iter().any(|channel| channel.armed)
    }

    /// Makes some operations slow from now on.
    pub fn slow_down(&mut self, slow: SlowOperations) {
        self.slow = Some(Box::new(slow));
    }

    /// Returns the slow operations, if there may be any.
    pub fn slow(&self) -> Option<&SlowOperations> {
        self.slow.as_deref()
    }

    /// Returns the slow operations for scripts and the state of a saved drive.
    pub fn slow_mut(&mut self) -> Option<&mut SlowOperations> {
        self.slow.as_deref_mut()
    }

    /// Returns the stream of random array times, if array times are random.
    pub fn random_times(&self) -> Option<&Rng> {
        self.random_times.as_ref()
    }

    /// Continues a saved stream of random array times. Without a saved stream the flash keeps its own; if array times
    /// are constant, the saved stream is dropped.
    pub fn restore_random_times(&mut self, stream: Option<Rng>) {
        self.random_times = self.random_times.take().map(|own| stream.unwrap_or(own));
    }

    /// Returns, for each die, true if its last turn went to reads while it had an urgent move.
    pub fn turns(&self) -> impl Iterator<Item = bool> + '_ {
        self.dies.iter().map(|die| die.last_turn_was_read)
    }

    /// Restores the turns of a saved drive.
    pub fn restore_turns(&mut self, turns: &[bool]) {
        self.dies.iter_mut().zip(turns).for_each(|(die, &turn)| die.last_turn_was_read = turn);
    }
}
