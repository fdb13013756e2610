//! Control for OFWAR: its write frontiers, with writes of one speed.

use super::{
    Backup, Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, View, WriteAnswer, ofwar,
};
use kit::{Archive, Archived, Lpn, ModeId, SimTime, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "control: the frontiers and decisions of `ofwar` with every write at normal speed";

/// Control for `ofwar`: the same decisions and the same two write frontiers, but every write in the `normal` mode.
/// Where `ofwar` would rewrite a page, the entry is dropped, since nothing needs rewriting. The gain of this policy
/// therefore comes from separating hot data from cold, not from speed.
///
/// Victims are chosen by the drive's own rule, since there are no fast blocks to prefer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Parameters of the decisions, as for `ofwar`.
    pub decisions: ofwar::Params,
}

struct Separate {
    normal: ModeId,
    fast: ModeId,
    hot: u64,
    cold: u64,
    inner: Box<dyn ModePolicy>,
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("", "fast")]
    }

    fn chooses_modes(&self) -> bool {
        false
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new("hot_writes", "units", "Host writes to the frontier of hot data: those that `ofwar` would write fast."),
            Term::new("cold_writes", "units", "Host writes to the frontier of cold data."),
        ]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(Separate {
        normal: facts.normal_mode(),
        fast: facts.write_mode("fast"),
        hot: 0,
        cold: 0,
        inner: ofwar::build(&params.decisions, facts),
    })
}

impl ModePolicy for Separate {
    fn needs(&self) -> Needs {
        Needs { scores: false, ..self.inner.needs() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.inner.state(archive)
    }

    fn check(&self, _is_alone: bool, view: &mut View<'_>) -> Archived {
        // Its data is in no mode of its own.
        self.inner.check(false, view)
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let answer = self.inner.write(dispatch, view);
        *(if answer.stream == 0 { &mut self.cold } else { &mut self.hot }) += dispatch.units.len() as u64;
        WriteAnswer { mode: self.normal, stream: answer.stream }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        // The decisions treat the data of the second stream as fast, whatever mode it was written in.
        let mode = if placed.stream == Some(1) { self.fast } else { self.normal };
        self.inner.placed(&Placed { mode, ..*placed }, view);
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        self.inner.dropped(lpn, view);
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if let Some(dropped) = self.inner.urgent(view) {
            view.bits.set(dropped.lpn, 0);
        }
        None
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if let Some(dropped) = self.inner.forced(view) {
            view.bits.set(dropped.lpn, 0);
        }
        None
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        self.inner.wake_at(view)
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        if let Some(Relocation::Page(dropped)) = self.inner.idle(idle, view) {
            view.bits.set(dropped.lpn, 0);
        }
        None
    }

    fn power_fails(&mut self, view: &mut View<'_>) -> Option<Backup> {
        self.inner.power_fails(view)
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("hot_writes", self.hot as f64), ("cold_writes", self.cold as f64)]
    }
}
