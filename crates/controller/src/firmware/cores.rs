//! Firmware on the cores of a processor, by its cycles for each task.

use super::Firmware;
use kit::{Frequency, Problems, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs on the cores of a processor. Each task takes its number of cycles on one core, which does one task at a time,
/// in the order of `order`; tasks of a command that follow each other on one core are one piece of work.
///
/// The thesis on SSDExplorer has controllers at 300 to 600 MHz; the cycles are assumed \[A\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of cores.
    #[schemars(range(min = 1, max = 1024))]
    pub count: u32,
    /// Clusters of a many-core processor, a divisor of the cores: `assignment` chooses the cluster of a task, and the
    /// first core of it that is free takes the task. Absent: each core is a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub clusters: Option<u32>,
    /// Clock of the cores.
    pub clock: Frequency,
    /// Rule by which a task gets its core.
    pub assignment: Assignment,
    /// Order in which a core does the tasks that wait for it.
    pub order: Order,
    /// Cycles for each task.
    pub cycles: Cycles,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            count: 2,
            clusters: None,
            clock: Frequency(400_000_000),
            assignment: Assignment::Shared,
            order: Order::default(),
            cycles: Cycles::default(),
        }
    }
}

/// Rule by which a task gets its core, or its cluster of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// The first core of all that is free takes the next task.
    #[default]
    Shared,
    /// Each kind of task has its core: decoding and completion the first, look-up the second, allocation the third,
    /// issue the fourth, collection the fifth, each modulo the number of cores.
    ByTask,
    /// Each channel has its core for issue and collection, its number modulo the number of cores; commands take the
    /// cores by the address of their first mapping unit.
    ByChannel,
    /// Each submission queue has its core for its commands, its number modulo the number of cores; issue and collection
    /// go by channel.
    ByQueue,
}

/// Order in which a core does the tasks that wait for it. A task that it has begun is not interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Tasks of commands that are begun, and those of the flash translation layer, go before the decoding of new
    /// commands; after each of them, one new command that waits has its turn \[A\]. In the order of arrival, many
    /// commands may be decoded first and completed afterwards, in convoys that let the core and the link idle in turn.
    /// If new commands only had what is left, they could starve the resources that follow.
    #[default]
    BegunFirst,
    /// In the order of arrival.
    Arrival,
}

/// Cycles of a core for each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cycles {
    /// Decode a command.
    pub decode: u32,
    /// Look up a mapping unit of a read, or deallocate one that is trimmed.
    pub look_up: u32,
    /// Accept and allocate a mapping unit of a write.
    pub allocate: u32,
    /// Issue a flash operation that the flash translation layer chose: a program, a read of a collection, a copyback or
    /// an erase, the policy's decision included.
    pub issue: u32,
    /// Complete a command.
    pub complete: u32,
    /// Handle a mapping unit that a collection, a page move or a partial write has read.
    pub collect: u32,
    /// Handle a mapping unit that a host read has read. It matters where units are small, so that a read has many.
    #[serde(skip_serializing_if = "is_none")]
    pub receive: u32,
}

fn is_none(cycles: &u32) -> bool {
    *cycles == 0
}

impl Default for Cycles {
    fn default() -> Self {
        Cycles { decode: 200, look_up: 150, allocate: 200, issue: 200, complete: 150, collect: 100, receive: 0 }
    }
}

/// The cores on which firmware runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Number of cores.
    pub count: u32,
    /// Number of clusters of as many cores each.
    pub clusters: u32,
    /// Clock of the cores.
    pub clock: Frequency,
    /// Rule by which a task gets its cluster.
    pub assignment: Assignment,
    /// Order in which a core does the tasks that wait for it.
    pub order: Order,
    /// Cycles for each task.
    pub cycles: Cycles,
}

/// Builds the firmware.
pub fn build(params: &Params, (): ()) -> Box<dyn Firmware> {
    Box::new(params.clone())
}

impl Firmware for Params {
    fn cores(&self) -> Option<Cores> {
        let Params { count, clusters, clock, assignment, order, cycles } = *self;
        Some(Cores { count, clusters: clusters.unwrap_or(count), clock, assignment, order, cycles })
    }

    fn in_words(&self) -> Vec<String> {
        let assignment = match self.assignment {
            Assignment::Shared => "shared",
            Assignment::ByTask => "by task",
            Assignment::ByChannel => "by channel",
            Assignment::ByQueue => "by queue",
        };
        let Cycles { decode, look_up, allocate, issue, complete, collect, receive } = self.cycles;
        let clusters = self.clusters.map_or_else(String::new, |clusters| format!(" in {}", words::count(clusters, "cluster")));
        let order = if self.order == Order::Arrival { ", in the order of arrival" } else { "" };
        let receive = if receive > 0 { format!(", receive {receive}") } else { String::new() };
        vec![
            format!("{}{clusters}, {}, {assignment}{order}", words::count(self.count, "core"), words::frequency(self.clock)),
            format!(
                "cycles: decode {decode}, look up {look_up}, allocate {allocate}, issue {issue}, complete {complete}, collect {collect}{receive}"
            ),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        if !(1_000_000..=10_000_000_000).contains(&self.clock.0) {
            problems.add("controller.firmware.clock", format!("{}: expected 1MHz to 10GHz", self.clock));
        }
        let divides = |clusters: u32| clusters > 0 && self.count.is_multiple_of(clusters);
        if let Some(clusters) = self.clusters.filter(|&clusters| !divides(clusters)) {
            let what = format!("{clusters}: expected a divisor of the {} cores", self.count);
            problems.add("controller.firmware.clusters", what);
        }
    }
}
