//! Retention relaxation for write speed (Liu, Yang and Wu, FAST 2012).

use super::{Dispatch, Facts, Member, ModePolicy, Moving, Needs, Placed, View, WriteAnswer};
use kit::{Archive, Archived, ModeId, NORMAL_MODE, Nanos, Reason, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "host writes with a short retention guarantee, reprogrammed before it ends (retention relaxation, 2012)";

/// Retention relaxation for write speed (slides, *Two-Level Retention Guarantee*): every host write in the `fast` mode,
/// whose retention limit is the short guarantee (two weeks in the paper). A block that still holds data at half that
/// age, counted from its first program, is moved whole to the `normal` mode, which gives the full guarantee. It is
/// moved when its die has nothing else to do, and near the limit before any other operation of the die. Collection and
/// wear levelling write with the full guarantee, and data older than the run counts as written with it. The age of open
/// blocks counts as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Age of a block, counted from its first program, at which it is reprogrammed. Absent: half the shortest retention
    /// limit of the `fast` mode (in the paper one week of two).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reprogram_after: Option<Nanos>,
}

/// Policy that gives host data the short guarantee, and all other data the full one.
pub(super) struct TwoLevelRetention {
    full: ModeId,
    short: ModeId,
    after: Option<Nanos>,
    host: u64,
    reprogrammed: u64,
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("", "fast")]
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new("host_units", "units", "Units placed for host writes."),
            Term::new(
                "reprogrammed_units",
                "units",
                "Units moved because their block neared the end of the short retention guarantee.",
            ),
            Term::new("reprogrammed_share", "ratio", "`reprogrammed_units` divided by `host_units`."),
        ]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    TwoLevelRetention::modes("fast", NORMAL_MODE, params.reprogram_after, facts)
}

impl TwoLevelRetention {
    /// Builds a policy that writes host data in the mode called `short`, and relocates to the mode called `full`. A
    /// block is moved at the age `after`, counted from its first program; absent: half the short guarantee.
    pub fn modes(short: &str, full: &str, after: Option<Nanos>, facts: &Facts) -> Box<dyn ModePolicy> {
        let short = facts.write_mode(short);
        let guarantee = facts.retention_by_wear[short.index()].iter().min().copied();
        Box::new(TwoLevelRetention {
            full: facts.write_mode(full),
            short,
            after: after.or(guarantee.map(|limit| Nanos(limit.0 / 2))),
            host: 0,
            reprogrammed: 0,
        })
    }
}

impl ModePolicy for TwoLevelRetention {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, relocations_apart: true, placed: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut Archive<'_>) -> Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.short, stream: 0 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.full
    }

    fn placed(&mut self, placed: &Placed, _: &mut View<'_>) {
        match placed.reason {
            Reason::Reprogram => self.reprogrammed += 1,
            _ if placed.stream.is_some() => self.host += 1,
            _ => {}
        }
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        self.after.filter(|_| mode == self.short && self.short != self.full)
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![self.full, self.short]
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.full
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("host_units", self.host as f64),
            ("reprogrammed_units", self.reprogrammed as f64),
            ("reprogrammed_share", self.reprogrammed as f64 / (self.host.max(1)) as f64),
        ]
    }
}
