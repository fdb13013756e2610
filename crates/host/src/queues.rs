//! Submission queues: the places of commands at the host, the commands that the device has not fetched yet, and the
//! choice between the queues.

use kit::{CommandId, Nanos, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Priority class of a submission queue (NVMe base specification, weighted round robin with urgent priority class).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// By the first weight.
    High,
    /// By the second weight.
    #[default]
    Medium,
    /// By the third weight.
    Low,
}

/// Choice between the submission queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Arbitration {
    /// The queues take turns.
    #[default]
    RoundRobin,
    /// The queues of class `urgent` go first. The other classes share the fetches in the ratio of their weights; the
    /// queues of a class take turns.
    Weighted {
        /// Commands of the classes `high`, `medium` and `low` in a round.
        weights: [u8; 3],
        /// Class of each queue, in the order of the queues; further queues begin again with the first entry.
        priorities: Vec<Priority>,
    },
}

/// Submission queues of an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Number of queues.
    pub count: u32,
    /// Commands that a queue holds from their submission to their completion; `None` if not limited.
    pub depth: Option<u32>,
    /// Choice between the queues.
    pub arbitration: Arbitration,
    /// Commands that are fetched from a queue before it is the turn of the next one.
    pub burst: u32,
    /// Commands fetched by one request.
    pub batch: u32,
    /// Requests for commands that may be under way; `None` if not limited.
    pub fetches: Option<u32>,
    /// Commands that the device holds; `None` if not limited.
    pub in_device: Option<u32>,
    /// Operations whose commands are alone in the device, by operation.
    pub alone: [bool; Op::COUNT],
    /// Number of completions that are announced together, and the time after which fewer are.
    pub coalescing: Option<(u32, Nanos)>,
}

impl Default for QueueConfig {
    /// Returns one queue without limits.
    fn default() -> QueueConfig {
        QueueConfig {
            count: 1,
            depth: None,
            arbitration: Arbitration::RoundRobin,
            burst: 1,
            batch: 1,
            fetches: None,
            in_device: None,
            alone: [false; Op::COUNT],
            coalescing: None,
        }
    }
}

/// A command that the device may fetch.
#[derive(Clone, Copy, Debug)]
struct Ready {
    command: CommandId,
    /// True if it must be alone in the device.
    alone: bool,
}

/// One submission queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Commands with a place, from their submission to their completion.
    used: u32,
    /// Commands that wait at the host for a place, first in, first out.
    waiting: VecDeque<CommandId>,
    ready: VecDeque<Ready>,
}

/// State of the arbitration between the queues of a drive at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArbitrationImage {
    turn: [(u32, u32); 4],
    credits: [u32; 3],
}

/// The submission queues of a drive.
#[derive(Clone, Debug)]
pub struct Queues {
    config: QueueConfig,
    queues: Vec<Queue>,
    classes: Vec<Priority>,
    /// Commands in all lists `ready`.
    ready: u32,
    /// The queue whose turn it is, by class, and the commands that are left of its burst.
    turn: [(u32, u32); 4],
    /// Commands that are left of the round of each weighted class.
    credits: [u32; 3],
    /// Requests for commands under way, and commands fetched and not completed.
    fetches: u32,
    in_device: u32,
    /// True if the command in the device must be alone.
    is_alone: bool,
}

impl Queues {
    /// Returns empty queues.
    pub fn new(config: &QueueConfig) -> Queues {
        let classes = match &config.arbitration {
            Arbitration::RoundRobin => vec![Priority::Medium; config.count as usize],
            Arbitration::Weighted { priorities, .. } => {
                (0..config.count as usize).map(|queue| priorities[queue % priorities.len()]).collect()
            }
        };
        Queues {
            queues: vec![Queue::default(); config.count as usize],
            classes,
            ready: 0,
            turn: [(0, config.burst); 4],
            credits: [0; 3],
            fetches: 0,
            in_device: 0,
            is_alone: false,
            config: config.clone(),
        }
    }

    /// Returns the state of the arbitration of a drive at rest.
    pub fn image(&self) -> ArbitrationImage {
        let Queues { config: _, queues: _, classes: _, ready, turn, credits, fetches, in_device, is_alone } = self;
        assert!(*ready + *fetches + *in_device == 0 && !is_alone, "the drive is at rest");
        ArbitrationImage { turn: *turn, credits: *credits }
    }

    /// Restores the state of the arbitration of a saved drive. Returns false if it has other queues.
    pub fn restore(&mut self, image: &ArbitrationImage) -> bool {
        (self.turn, self.credits) = (image.turn, image.credits);
        let credits = match &self.config.arbitration {
            Arbitration::RoundRobin => [0; 3],
            Arbitration::Weighted { weights, .. } => weights.map(u32::from),
        };
        image.turn.iter().all(|(queue, left)| (*queue as usize) < self.queues.len() && *left <= self.config.burst)
            && image.credits.iter().zip(credits).all(|(left, all)| *left <= all)
    }

    /// Returns the number of queues.
    pub fn count(&self) -> u32 {
        self.queues.len() as u32
    }

    /// Returns the queue of a command that the workload submits through queue `number`.
    #[inline]
    pub fn index(&self, number: u16) -> usize {
        // Without a division where there is nothing to choose.
        if self.queues.len() == 1 { 0 } else { usize::from(number) % self.queues.len() }
    }

    /// Tries to acquire a place for a command that arrives; the command waits if none is free. Returns true on success.
    #[inline]
    pub fn try_acquire(&mut self, command: CommandId, queue: u16) -> bool {
        let index = self.index(queue);
        let queue = &mut self.queues[index];
        let success = self.config.depth.is_none_or(|depth| queue.used < depth) && queue.waiting.is_empty();
        if success {
            queue.used += 1;
        } else {
            queue.waiting.push_back(command);
        }
        success
    }

    /// Returns true if the device fetches each command as soon as it is announced, by a request of its own.
    pub fn fetch_at_once(&self) -> bool {
        let QueueConfig { count, fetches, in_device, alone, batch, .. } = &self.config;
        *count == 1 && *batch == 1 && fetches.is_none() && in_device.is_none() && *alone == [false; Op::COUNT]
    }

    /// Counts a command that the device fetches as soon as it is announced.
    #[inline]
    pub fn fetched_at_once(&mut self) {
        self.in_device += 1;
    }

    /// Adds a command with a place to those that the device may fetch.
    #[inline]
    pub fn announce(&mut self, command: CommandId, queue: u16, op: Op) {
        let index = self.index(queue);
        self.queues[index].ready.push_back(Ready { command, alone: self.config.alone[op as usize] });
        self.ready += 1;
    }

    /// Returns true if the device may fetch commands, as far as its target queues allow it.
    #[inline]
    pub fn may_fetch(&self) -> bool {
        self.ready > 0
            && self.config.fetches.is_none_or(|most| self.fetches < most)
            && self.config.in_device.is_none_or(|most| self.in_device < most)
            && !self.is_alone
    }

    /// Takes the commands of the next request into `batch`, at most `room`, all of one queue. Takes none if the first
    /// one must be alone in the device and is not.
    pub fn fetch(&mut self, room: u32, batch: &mut Vec<CommandId>) {
        batch.clear();
        let Some((index, burst)) = self.choose() else { return };
        let room = self.config.in_device.map_or(room, |limit| room.min(limit - self.in_device));
        let most = burst.min(self.config.batch).min(room);
        while (batch.len() as u32) < most {
            let Some(first) = self.queues[index].ready.front().copied() else { break };
            if self.is_alone || first.alone && self.in_device > 0 {
                break;
            }
            self.queues[index].ready.pop_front();
            self.ready -= 1;
            self.in_device += 1;
            self.is_alone = first.alone;
            batch.push(first.command);
        }
        if !batch.is_empty() {
            self.fetches += 1;
            self.charge_turn(index, batch.len() as u32);
        }
    }

    /// Chooses the queue of the next request. Returns it with the number of commands that are left of its turn.
    fn choose(&mut self) -> Option<(usize, u32)> {
        let class = match self.config.arbitration {
            Arbitration::RoundRobin => Priority::Medium,
            Arbitration::Weighted { weights, .. } => self.choose_class(weights)?,
        };
        let (queue, left) = self.turn[class as usize];
        let count = self.queues.len() as u32;
        let has_commands = |queue: &u32| self.is_of(class, *queue) && !self.queues[*queue as usize].ready.is_empty();
        // A queue whose burst is used up, or that has no commands, gives its turn to the next.
        if left > 0 && has_commands(&queue) {
            return Some((queue as usize, self.left_of_round(class, left)));
        }
        let next = (1..=count).map(|step| (queue + step) % count).find(has_commands)?;
        self.turn[class as usize] = (next, self.config.burst);
        Some((next as usize, self.left_of_round(class, self.config.burst)))
    }

    fn is_of(&self, class: Priority, queue: u32) -> bool {
        self.classes[queue as usize] == class
    }

    /// Chooses a class: `urgent`, or the first one that has commands and credits; a new round begins if none has both.
    fn choose_class(&mut self, weights: [u8; 3]) -> Option<Priority> {
        let waits =
            |class: Priority| self.queues.iter().zip(&self.classes).any(|(queue, of)| *of == class && !queue.ready.is_empty());
        if waits(Priority::Urgent) {
            return Some(Priority::Urgent);
        }
        let waiting = [Priority::High, Priority::Medium, Priority::Low].map(|class| waits(class).then_some(class));
        for _ in 0..2 {
            if let Some(class) = waiting.into_iter().zip(self.credits).find_map(|(class, left)| class.filter(|_| left > 0)) {
                return Some(class);
            }
            self.credits = weights.map(u32::from);
        }
        None
    }

    /// Returns the commands that a queue of a class may still have in its turn.
    fn left_of_round(&self, class: Priority, left: u32) -> u32 {
        match (&self.config.arbitration, class) {
            (Arbitration::RoundRobin, _) | (_, Priority::Urgent) => left,
            (Arbitration::Weighted { .. }, class) => left.min(self.credits[class as usize - 1]),
        }
    }

    /// Counts fetched commands of a queue against its turn and the round of its class.
    fn charge_turn(&mut self, index: usize, fetched: u32) {
        let class = self.classes[index];
        self.turn[class as usize].1 -= fetched;
        if let (Arbitration::Weighted { .. }, Priority::High | Priority::Medium | Priority::Low) =
            (&self.config.arbitration, class)
        {
            self.credits[class as usize - 1] -= fetched;
        }
    }

    /// Handles the end of a request for commands.
    #[inline]
    pub fn fetch_done(&mut self) {
        self.fetches -= 1;
    }

    /// Handles the completion of a command: its place is free. Returns the command that takes it, if one waits.
    #[inline]
    pub fn retire(&mut self, queue: u16) -> Option<CommandId> {
        self.in_device -= 1;
        self.is_alone = false;
        let index = self.index(queue);
        let queue = &mut self.queues[index];
        let next = queue.waiting.pop_front();
        queue.used -= u32::from(next.is_none());
        next
    }

    /// Handles the end of a command that is to be submitted again: it has left the device, and keeps its place.
    pub fn leave_device(&mut self) {
        self.in_device -= 1;
        self.is_alone = false;
    }

    /// Returns the number of commands fetched and not completed.
    pub fn in_device(&self) -> u32 {
        self.in_device
    }

    /// Returns true if commands wait at the host for a place.
    pub fn has_waiting(&self) -> bool {
        self.queues.iter().any(|queue| !queue.waiting.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches all commands of a queue that may be fetched, one by one.
    fn fetch_all(queues: &mut Queues) -> Vec<CommandId> {
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        while queues.may_fetch() {
            queues.fetch(u32::MAX, &mut batch);
            if batch.is_empty() {
                break;
            }
            all.append(&mut batch);
            queues.fetch_done();
        }
        all
    }

    /// Every sequence of ten arrivals and completions, for every depth up to four, against a plain model: the places
    /// are never more than the depth, and commands get them in the order of arrival.
    #[test]
    fn every_short_sequence_keeps_depth_and_order() {
        for depth in 1..=4 {
            for steps in 0..1u32 << 10 {
                let mut queues = Queues::new(&QueueConfig { depth: Some(depth), ..QueueConfig::default() });
                let (mut arrived, mut granted, mut in_device) = (0, 0, 0);
                for step in 0..10 {
                    if steps >> step & 1 == 0 {
                        let success = queues.try_acquire(CommandId(arrived), 0);
                        assert_eq!(success, in_device < depth, "depth {depth}, steps {steps:b}");
                        if success {
                            queues.announce(CommandId(arrived), 0, Op::Read);
                            (granted, in_device) = (granted + 1, in_device + 1);
                            assert_eq!(fetch_all(&mut queues), [CommandId(arrived)]);
                        }
                        arrived += 1;
                    } else if in_device > 0 {
                        let next = queues.retire(0);
                        assert_eq!(next, (granted < arrived).then_some(CommandId(granted)), "depth {depth}, steps {steps:b}");
                        in_device -= 1;
                        if let Some(next) = next {
                            queues.announce(next, 0, Op::Read);
                            (granted, in_device) = (granted + 1, in_device + 1);
                            assert_eq!(fetch_all(&mut queues), [next]);
                        }
                    }
                    assert_eq!(queues.has_waiting(), granted < arrived);
                }
            }
        }
    }

    /// Queues that are never empty, in every combination of weights up to three: of each round, a class has the
    /// commands of its weight.
    #[test]
    fn a_round_has_the_commands_of_the_weights() {
        let classes = [Priority::High, Priority::Medium, Priority::Low];
        for number in 0..27u8 {
            let weights = [number % 3, number / 3 % 3, number / 9].map(|weight| weight + 1);
            for (burst, batch) in [(1, 1), (2, 1), (4, 4)] {
                let arbitration = Arbitration::Weighted { weights, priorities: classes.to_vec() };
                let mut queues = Queues::new(&QueueConfig { count: 3, arbitration, burst, batch, ..QueueConfig::default() });
                for command in 0..60 {
                    queues.announce(CommandId(command), (command % 3) as u16, Op::Read);
                }
                let round = weights.iter().map(|weight| usize::from(*weight)).sum::<usize>();
                let order: Vec<usize> = fetch_all(&mut queues).iter().map(|command| command.index() % 3).collect();
                // The heaviest queue empties first; up to then every round is complete.
                let rounds = 20 / usize::from(*weights.iter().max().unwrap_or(&1));
                for round in order.chunks(round).take(rounds) {
                    let share = [0, 1, 2].map(|class| round.iter().filter(|of| **of == class).count());
                    assert_eq!(share, weights.map(usize::from), "{weights:?}, burst {burst}, batch {batch}: {order:?}");
                }
            }
        }
    }

    /// The device holds no more commands than it may, and a request brings no more than a batch.
    #[test]
    fn limits_of_the_device_and_of_requests_hold() {
        let limits = QueueConfig { burst: 8, batch: 3, fetches: Some(2), in_device: Some(5), ..QueueConfig::default() };
        let (mut queues, mut batch) = (Queues::new(&limits), Vec::new());
        for command in (0..9).map(CommandId) {
            assert!(queues.try_acquire(command, 0));
            queues.announce(command, 0, Op::Read);
        }
        let mut sizes = Vec::new();
        while queues.may_fetch() {
            queues.fetch(u32::MAX, &mut batch);
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [3, 2], "five commands, in two requests");
        queues.fetch_done();
        assert!(!queues.may_fetch(), "the device is full");
        queues.retire(0);
        queues.fetch(u32::MAX, &mut batch);
        assert_eq!(batch, [CommandId(5)]);
        assert!(!queues.may_fetch(), "two requests are under way");
    }
}
