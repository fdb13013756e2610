//! Scripts of faults: exact events that a run is to have.

use crate::description::Description;
use crate::options::RunOptions;
use flash::faults::Scripted;
use flash::slow::ScriptedSlow;
use kit::{BlockId, DieId, Nanos, OperationKind, Problem, Problems};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use workload::synthetic::form;

/// An operation on a block that fails.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Operation {
    #[schemars(range(max = u32::MAX))]
    block: u32,
    /// Its number among the operations of this kind on the block, from 1.
    #[schemars(range(max = u32::MAX))]
    number: u32,
}

/// An operation on a block that is slow.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SlowOperation {
    #[schemars(range(max = u32::MAX))]
    block: u32,
    /// Its number among the operations of this kind on the block, from 1.
    #[schemars(range(max = u32::MAX))]
    number: u32,
    /// Factor of its time in the array.
    factor: f64,
}

/// A die that is lost.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Die {
    #[schemars(range(max = u32::MAX))]
    die: u32,
    at: Nanos,
}

/// A channel that is lost with all its dies.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Channel {
    #[schemars(range(max = u32::MAX))]
    channel: u32,
    at: Nanos,
}

/// A controller that hangs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stuck {
    at: Nanos,
    /// Absent: until it is reset.
    #[serde(rename = "for")]
    span: Option<Nanos>,
}

/// A loss of power.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Power {
    /// The value of `--power-cut`.
    at: String,
    /// The value of `--power-down`.
    down: Option<String>,
}

/// The file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Script {
    program_fails: Vec<Operation>,
    erase_fails: Vec<Operation>,
    read_fails: Vec<Operation>,
    slow_reads: Vec<SlowOperation>,
    slow_programs: Vec<SlowOperation>,
    slow_erases: Vec<SlowOperation>,
    link_errors: Vec<u64>,
    die_fails: Vec<Die>,
    channel_fails: Vec<Channel>,
    controller_stuck: Vec<Stuck>,
    power_fails: Option<Power>,
}

/// The faults of a run beside those that its description draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultScript {
    /// Name of the script in messages.
    pub name: String,
    /// Operations on blocks that fail.
    pub operations: Vec<Scripted>,
    /// Operations on blocks that are slow.
    pub slow: Vec<ScriptedSlow>,
    /// Numbers of packets on the host link, from 1, that are damaged.
    pub link_errors: Vec<u64>,
    /// Dies that are lost, each at a time from the start of the run, in the order of the times.
    pub losses: Vec<(Nanos, DieId)>,
    /// Hangs of the controller, each at a time from the start of the run and for a time, or until the controller is
    /// reset.
    pub hangs: Vec<(Nanos, Option<Nanos>)>,
    /// The loss of power, as `--power-cut` and `--power-down` take it.
    pub power: Option<(String, Option<String>)>,
}

impl FaultScript {
    /// Reads the script that the options of a run name, if any. The description then has faults.
    pub(crate) fn of(run: &RunOptions, description: &mut Description) -> Result<Option<FaultScript>, Problems> {
        let Some(name) = &run.faults else { return Ok(None) };
        if let Some(problem) = description.lacks_map("--faults", "the handling of faults") {
            return Err(problem.into());
        }
        if description.faults.is_none() {
            description.faults = Some(Default::default());
            description.problems().or(())?;
        }
        let unreadable = |why: String| Problems::one(name.as_str(), why);
        let text = std::fs::File::open(name).and_then(kit::capped::read_text);
        let text = text.map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        FaultScript::read(name, &text, description).map(Some)
    }

    /// Reads a script from its text. `name` identifies it in messages.
    pub fn read(name: &str, text: &str, description: &Description) -> Result<FaultScript, Problems> {
        // A form reports all problems with their fields, but takes longer.
        let script = toml::from_str(text).or_else(|_| form::read::<Script>(name, text).map(|form| form.value))?;
        let mut problems = Problems::default();
        script.doubled_problems(name, &mut problems);
        script.place_problems(name, description, &mut problems);
        script.link_problems(name, description, &mut problems);
        let geometry = description.geometry();
        let operations = script.failing().into_iter().flat_map(|(_, kind, operations)| {
            operations.iter().map(move |one| Scripted { kind, block: BlockId(one.block), number: one.number })
        });
        let slow = script.slow().into_iter().flat_map(|(_, kind, operations)| {
            let of = move |&SlowOperation { block, number, factor }: &_| ScriptedSlow { kind, block, number, factor };
            operations.iter().map(of)
        });
        let (operations, slow) = (operations.collect(), slow.collect());
        let mut losses: Vec<(Nanos, DieId)> = script.die_fails.iter().map(|one| (one.at, DieId(one.die))).collect();
        for one in &script.channel_fails {
            let of_channel = |die: &DieId| geometry.channel_of(*die).0 == one.channel;
            losses.extend((0..geometry.die_count).map(DieId).filter(of_channel).map(|die| (one.at, die)));
        }
        losses.sort_by_key(|&(at, die)| (at, die));
        let hangs = script.controller_stuck.iter().map(|one| (one.at, one.span)).collect();
        let power = script.power_fails.map(|power| (power.at, power.down));
        let name = name.to_owned();
        problems.or(FaultScript { name, operations, slow, link_errors: script.link_errors, losses, hangs, power })
    }
}

impl Script {
    /// Returns the lists of operations that fail, with their names and kinds.
    fn failing(&self) -> [(&'static str, OperationKind, &[Operation]); 3] {
        [
            ("program_fails", OperationKind::Program, &self.program_fails),
            ("erase_fails", OperationKind::Erase, &self.erase_fails),
            ("read_fails", OperationKind::Read, &self.read_fails),
        ]
    }

    /// Returns the lists of operations that are slow, with their names and kinds.
    fn slow(&self) -> [(&'static str, OperationKind, &[SlowOperation]); 3] {
        [
            ("slow_programs", OperationKind::Program, &self.slow_programs),
            ("slow_erases", OperationKind::Erase, &self.slow_erases),
            ("slow_reads", OperationKind::Read, &self.slow_reads),
        ]
    }

    /// Adds the problems of the places and numbers of operations, dies and channels.
    fn place_problems(&self, name: &str, description: &Description, problems: &mut Problems) {
        let geometry = description.geometry();
        let mut add = |kind: &str, index: usize, complaint: String| {
            problems.0.push(Problem::new(format!("{name}: {kind}[{index}]"), complaint));
        };
        let failing = self.failing().into_iter().flat_map(|(kind, _, operations)| {
            operations.iter().enumerate().map(move |(index, one)| (kind, index, one.block, one.number))
        });
        let slow = self.slow().into_iter().flat_map(|(kind, _, operations)| {
            operations.iter().enumerate().map(move |(index, one)| (kind, index, one.block, one.number))
        });
        let mut places = Vec::new();
        for (kind, index, block, number) in failing.chain(slow) {
            places.push((kind, index, "block", block, geometry.block_count));
            if number == 0 {
                let complaint = "number 0: expected 1 for the first operation of this kind on the block, 2 for the next one";
                add(kind, index, complaint.to_owned());
            }
        }
        let dies = self.die_fails.iter().enumerate();
        places.extend(dies.map(|(index, one)| ("die_fails", index, "die", one.die, geometry.die_count)));
        let channels = self.channel_fails.iter().enumerate();
        places.extend(channels.map(|(index, one)| ("channel_fails", index, "channel", one.channel, geometry.shape.channels)));
        for (kind, index, what, given, count) in places {
            if given >= count {
                add(kind, index, format!("{what} {given}: expected at most {}", count - 1));
            }
        }
        for (kind, _, operations) in self.slow() {
            for (index, one) in operations.iter().enumerate().filter(|(_, one)| !(1.0..=1e6).contains(&one.factor)) {
                add(kind, index, format!("factor {}: expected 1 to 1000000", one.factor));
            }
        }
    }

    /// Adds the problems of slow operations that are given twice, of which only one factor could apply.
    fn doubled_problems(&self, name: &str, problems: &mut Problems) {
        for (kind, _, operations) in self.slow() {
            let mut seen = BTreeMap::new();
            for (index, one) in operations.iter().enumerate() {
                if let Some(first) = seen.insert((one.block, one.number), index) {
                    let SlowOperation { block, number, .. } = one;
                    let complaint = format!("block {block}, number {number}: given by {kind}[{first}], too: expected one factor");
                    problems.0.push(Problem::new(format!("{name}: {kind}[{index}]"), complaint));
                }
            }
        }
    }

    /// Adds the problems of faults of the host link and of the controller.
    fn link_problems(&self, name: &str, description: &Description, problems: &mut Problems) {
        if let Some(index) = self.link_errors.iter().position(|number| *number == 0) {
            let complaint = "packet 0: expected 1 for the first packet on the link, 2 for the next one";
            problems.0.push(Problem::new(format!("{name}: link_errors[{index}]"), complaint.to_owned()));
        }
        let needs = [
            ("link_errors", self.link_errors.is_empty() || description.host.protocol().has_link(), "link"),
            ("controller_stuck", self.controller_stuck.is_empty() || description.host.queues().is_some(), "queue"),
        ];
        for (kind, _, what) in needs.into_iter().filter(|(_, is_met, _)| !is_met) {
            let complaint = format!("the host interface `{}` has no {what}", description.host.interface.name());
            problems.0.push(Problem::new(format!("{name}: {kind}"), complaint));
        }
    }
}
