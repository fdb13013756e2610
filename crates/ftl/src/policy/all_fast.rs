//! The bound: every host write fast, nothing rewritten.

use super::{Facts, ModePolicy, Needs, View, WriteAnswer};
use kit::{Lpn, ModeId, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str =
    "every host write in the `fast` mode and no rewrites: the bound of what fast writing can gain (it loses data)";

/// Every host write in the `fast` mode, nothing ever rewritten: the bound of what fast writing can gain. Not a policy to run a drive with: data
/// outlives its retention limit. Relocations write in the `normal` mode, as under `ofwar`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct AllFast {
    normal: ModeId,
    fast: ModeId,
}

/// Makes the policy.
pub fn build(_: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(AllFast { normal: facts.write_mode("normal"), fast: facts.write_mode("fast") })
}

impl ModePolicy for AllFast {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, relocations_apart: true, ..Needs::default() }
    }

    fn write(&mut self, _: &[Lpn], _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.fast, stream: 0 }
    }

    fn relocate(&mut self, _: Reason, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }
}
