//! Scripts of faults: exact events that a run is to have.

use crate::description::Description;
use crate::options::RunOptions;
use flash::faults::Scripted;
use kit::{BlockId, DieId, Nanos, OperationKind, Problem, Problems};
use serde::Deserialize;

/// Largest script \[B\].
const LARGEST: u64 = 16 << 20;

/// An operation on a block that fails.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    block: u32,
    /// Its number among the operations of this kind on the block, from 1.
    number: u32,
}

/// A die that is lost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Die {
    die: u32,
    at: Nanos,
}

/// A channel that is lost with all its dies.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Channel {
    channel: u32,
    at: Nanos,
}

/// A loss of power.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Power {
    /// The value of `--power-cut`.
    at: String,
    /// The value of `--power-down`.
    down: Option<String>,
}

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Script {
    program_fails: Vec<Operation>,
    erase_fails: Vec<Operation>,
    read_fails: Vec<Operation>,
    die_fails: Vec<Die>,
    channel_fails: Vec<Channel>,
    power_fails: Option<Power>,
}

/// The faults of a run beside those that its description draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultScript {
    /// Operations on blocks that fail.
    pub operations: Vec<Scripted>,
    /// Dies that are lost, each at a time from the start of the run, in the order of the times.
    pub losses: Vec<(Nanos, DieId)>,
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
        let size = std::fs::metadata(name).map_err(|error| unreadable(format!("cannot be read: {error}")))?.len();
        if size > LARGEST {
            return Err(unreadable(format!("{size} B: expected a script of at most {}", kit::Bytes(LARGEST))));
        }
        let text = std::fs::read_to_string(name).map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        FaultScript::read(name, &text, description).map(Some)
    }

    /// Reads a script from its text. `name` identifies it in messages.
    pub fn read(name: &str, text: &str, description: &Description) -> Result<FaultScript, Problems> {
        let script: Script = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            Problems::one(format!("{name}:{line}"), error.message().to_owned())
        })?;
        let geometry = description.geometry();
        let mut problems = Problems::default();
        let mut at_most = |kind: &str, index: usize, what: &str, given: u32, count: u32| {
            if given >= count {
                let complaint = format!("{what} {given}: expected at most {}", count - 1);
                problems.0.push(Problem::new(format!("{name}: {kind}[{index}]"), complaint));
            }
        };
        let lists = [
            ("program_fails", OperationKind::Program, &script.program_fails),
            ("erase_fails", OperationKind::Erase, &script.erase_fails),
            ("read_fails", OperationKind::Read, &script.read_fails),
        ];
        for (name, _, operations) in &lists {
            for (index, one) in operations.iter().enumerate() {
                at_most(name, index, "block", one.block, geometry.block_count);
            }
        }
        for (index, one) in script.die_fails.iter().enumerate() {
            at_most("die_fails", index, "die", one.die, geometry.die_count);
        }
        for (index, one) in script.channel_fails.iter().enumerate() {
            at_most("channel_fails", index, "channel", one.channel, geometry.shape.channels);
        }
        for (kind, _, operations) in &lists {
            for (index, _) in operations.iter().enumerate().filter(|(_, one)| one.number == 0) {
                let complaint = "number 0: expected 1 for the first operation of this kind on the block, 2 for the next one";
                problems.0.push(Problem::new(format!("{name}: {kind}[{index}]"), complaint));
            }
        }
        let operations = lists.iter().flat_map(|(_, kind, operations)| {
            operations.iter().map(|one| Scripted { kind: *kind, block: BlockId(one.block), number: one.number })
        });
        let mut losses: Vec<(Nanos, DieId)> = script.die_fails.iter().map(|one| (one.at, DieId(one.die))).collect();
        for one in &script.channel_fails {
            let of_channel = |die: &DieId| geometry.channel_of(*die).0 == one.channel;
            losses.extend((0..geometry.die_count).map(DieId).filter(of_channel).map(|die| (one.at, die)));
        }
        losses.sort_by_key(|&(at, die)| (at, die));
        let power = script.power_fails.map(|power| (power.at, power.down));
        problems.or(FaultScript { operations: operations.collect(), losses, power })
    }
}
