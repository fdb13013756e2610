//! Queues of the targets: reads of commands at each die, and the fetching of commands that they hold up.

use kit::{DieId, Nanos, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues of the targets. While any of them is deeper than its threshold, no command is fetched: one busy die holds up
/// the commands for all others (head-of-line blocking).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetQueueConfig {
    /// Reads at a die, waiting or being served, beyond which no command is fetched. Commands between their fetch and
    /// these queues count, too, as if all were for the deepest one, and so do reads in the sequencer.
    #[schemars(range(min = 1, max = 65_535))]
    pub threshold: u32,
}

/// Depths of the queues of the targets.
#[derive(Clone, Debug)]
pub struct TargetQueues {
    threshold: u32,
    /// Reads at each die.
    depths: Vec<u32>,
    /// Number of dies with each depth.
    dies_at: Vec<u32>,
    /// The largest depth now, and so far.
    deepest: u32,
    deepest_so_far: u32,
    /// Commands between their fetch and the queues, and reads that wait in the sequencer.
    on_the_way: u32,
    /// Instant since which commands are held up, if they are; the time for which they were before.
    blocked_since: Option<SimTime>,
    blocked: Nanos,
}

impl TargetQueues {
    /// Returns empty queues of `dies` dies.
    pub fn new(config: &TargetQueueConfig, dies: usize) -> TargetQueues {
        TargetQueues {
            threshold: config.threshold,
            depths: vec![0; dies],
            dies_at: vec![dies as u32],
            deepest: 0,
            deepest_so_far: 0,
            on_the_way: 0,
            blocked_since: None,
            blocked: Nanos::ZERO,
        }
    }

    /// Returns the number of commands that may be fetched.
    pub fn room(&self) -> u32 {
        (self.threshold + 1).saturating_sub(self.deepest + self.on_the_way)
    }

    /// Counts commands that are being fetched.
    pub fn fetched(&mut self, count: u32, now: SimTime) {
        self.on_the_way += count;
        self.update(now);
    }

    /// Counts a command whose reads are in the queues.
    pub fn placed(&mut self, now: SimTime) {
        self.on_the_way -= 1;
        self.update(now);
    }

    /// Counts a read that waits in the sequencer; [`TargetQueues::enter`] and [`TargetQueues::placed`] follow.
    pub fn delayed(&mut self, now: SimTime) {
        self.on_the_way += 1;
        self.update(now);
    }

    /// Adds a read to the queue of a die.
    pub fn enter(&mut self, die: DieId, now: SimTime) {
        let depth = self.depths[die.index()];
        self.depths[die.index()] = depth + 1;
        self.dies_at[depth as usize] -= 1;
        if self.dies_at.len() == depth as usize + 1 {
            self.dies_at.push(0);
        }
        self.dies_at[depth as usize + 1] += 1;
        self.deepest = self.deepest.max(depth + 1);
        self.deepest_so_far = self.deepest_so_far.max(self.deepest);
        self.update(now);
    }

    /// Removes a read that is done from the queue of a die.
    pub fn leave(&mut self, die: DieId, now: SimTime) {
        let depth = self.depths[die.index()];
        self.depths[die.index()] = depth - 1;
        self.dies_at[depth as usize] -= 1;
        self.dies_at[depth as usize - 1] += 1;
        self.deepest -= u32::from(depth == self.deepest && self.dies_at[depth as usize] == 0);
        self.update(now);
    }

    fn update(&mut self, now: SimTime) {
        match (self.room() == 0, self.blocked_since) {
            (true, None) => self.blocked_since = Some(now),
            (false, Some(since)) => {
                self.blocked += now.since(since);
                self.blocked_since = None;
            }
            _ => {}
        }
    }

    /// Returns the time until `now` for which commands were held up.
    pub fn blocked(&self, now: SimTime) -> Nanos {
        self.blocked + self.blocked_since.map_or(Nanos::ZERO, |since| now.since(since))
    }

    /// Takes over the measurements of other queues, in whose place these come.
    pub fn take_measurements(&mut self, other: &TargetQueues) {
        self.deepest_so_far = other.deepest_so_far;
    }

    /// Returns the largest depth of a queue so far.
    pub fn deepest_ever(&self) -> u32 {
        self.deepest_so_far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    /// Random reads that come and go, against a plain list of depths.
    #[test]
    fn the_deepest_queue_and_the_commands_on_the_way_leave_room() {
        let mut rng = Rng::stream(1, "targets");
        let mut queues = TargetQueues::new(&TargetQueueConfig { threshold: 3 }, 4);
        let (mut depths, mut on_the_way, mut blocked) = ([0u32; 4], 0u32, 0);
        for now in 0..20_000u64 {
            let die = rng.below(4) as usize;
            match rng.below(4) {
                0 if queues.room() > 0 => {
                    queues.fetched(1, SimTime(now));
                    on_the_way += 1;
                }
                1 if on_the_way > 0 => {
                    queues.enter(DieId(die as u32), SimTime(now));
                    queues.placed(SimTime(now));
                    (depths[die], on_the_way) = (depths[die] + 1, on_the_way - 1);
                }
                2.. if depths[die] > 0 => {
                    queues.leave(DieId(die as u32), SimTime(now));
                    depths[die] -= 1;
                }
                _ => {}
            }
            let deepest = depths.into_iter().max().unwrap_or(0);
            assert_eq!(queues.room(), 4u32.saturating_sub(deepest + on_the_way), "{depths:?}, {on_the_way}");
            assert_eq!(queues.blocked(SimTime(now)), Nanos(blocked));
            blocked += u64::from(queues.room() == 0);
        }
        assert_eq!(queues.deepest_ever(), 4, "the threshold and one more");
        assert!(blocked > 1000);
    }
}
