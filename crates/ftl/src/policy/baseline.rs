//! One mode for all.

use super::{Facts, ModePolicy, Needs, View, WriteAnswer};
use kit::{Lpn, ModeId, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str = "every write in the `normal` mode: what all gains are measured against";

/// Every write and relocation in the `normal` mode: what all gains are measured against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Baseline {
    normal: ModeId,
}

/// Makes the policy.
pub fn build(_: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(Baseline { normal: facts.write_mode("normal") })
}

impl ModePolicy for Baseline {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, ..Needs::default() }
    }

    fn write(&mut self, _: &[Lpn], _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.normal, stream: 0 }
    }

    fn relocate(&mut self, _: Reason, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }
}
