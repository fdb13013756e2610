//! Control: the fastest mode, or the one with the cheapest code, that keeps the full retention promise at the drive's
//! wear.

use super::{Dispatch, Facts, Member, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::archive::require;
use kit::{Archive, Archived, BlockId, ModeId, Nanos, Term, effective_wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "the fastest mode that keeps full retention at the drive's wear: the speed-up that is free on a young drive";

/// Control for every gain from shorter retention: host writes in the fastest mode whose retention limit, at the wear of
/// the most worn block, still is the full promise. Of equally fast modes it takes the one whose code needs the least
/// encoder time. All these modes store as many bits per cell as `normal`: one with fewer is quick because it gives up
/// capacity, which is no gain of a young cell (see `slc_cache`). Relocations are written in the `normal` mode, as under
/// `ofwar`, and data is never rewritten for the sake of this policy. Below half of the rated endurance, such speed
/// costs nearly nothing (FACTS 1.3). Needs modes whose limits follow wear: `derive = { ..., by_wear = true }`, or a
/// list of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Full retention promise. Absent: the shortest retention limit of the `normal` mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Nanos>,
}

struct WearAdaptive {
    normal: ModeId,
    /// Modes with the bits per cell of `normal` in the order of their program times, then of their encoder times, the
    /// fastest first.
    by_speed: Vec<ModeId>,
    limits: Vec<Vec<Nanos>>,
    rated: u32,
    promise: Option<Nanos>,
    /// Wear of the most worn block, in thousandths of a nominal erase.
    max_worn: u32,
    mode: ModeId,
    changes: u64,
}

impl Member for Params {
    fn statistics() -> Vec<Term> {
        vec![
            Term::new(
                "mode",
                "",
                "Number of the write mode of host writes at the end, counted from 0 in the order of the description.",
            ),
            Term::new("mode_changes", "count", "Changes of the write mode of host writes."),
            Term::new("most_worn_cycles", "cycles", "Effective wear of the most worn block, in nominal erases."),
        ]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let normal = facts.normal_mode();
    let has_all_bits = |mode: &usize| facts.block_units[*mode] == facts.block_units[normal.index()];
    let mut by_speed: Vec<ModeId> = (0..facts.write_modes.len()).filter(has_all_bits).map(|mode| ModeId(mode as u8)).collect();
    let time = |mode: &ModeId| (facts.program_scales[mode.index()], facts.encode_times[mode.index()]);
    by_speed.sort_by(|a, b| time(a).0.total_cmp(&time(b).0).then(time(a).1.cmp(&time(b).1)));
    let mut policy = WearAdaptive {
        normal,
        by_speed,
        limits: facts.retention_by_wear.clone(),
        rated: facts.rated_pe_cycles,
        promise: params.retention.or(facts.retention_by_wear[normal.index()].iter().min().copied()),
        max_worn: 0,
        mode: normal,
        changes: 0,
    };
    policy.mode = policy.choose();
    Box::new(policy)
}

impl WearAdaptive {
    /// Returns the fastest mode that keeps the promise on a block with one nominal erase more than the most worn one.
    fn choose(&self) -> ModeId {
        let keeps = |mode: &&ModeId| {
            let limits = &self.limits[mode.index()];
            if limits.is_empty() {
                return true;
            }
            let limit = limits[effective_wear_class(self.max_worn.saturating_add(1000), self.rated, limits.len())];
            self.promise.is_some_and(|promise| limit >= promise)
        };
        self.by_speed.iter().find(keeps).copied().unwrap_or(self.normal)
    }

    fn worn(&mut self, thousandths: u32) {
        if thousandths > self.max_worn {
            self.max_worn = thousandths;
            let chosen = self.choose();
            self.changes += u64::from(chosen != self.mode);
            self.mode = chosen;
        }
    }
}

impl ModePolicy for WearAdaptive {
    fn needs(&self) -> Needs {
        // One frontier for each mode, since the mode of host writes may change between two programs; its number is the
        // mode's.
        let last = self.by_speed.iter().map(|mode| mode.0).max().unwrap_or(0);
        Needs { host_streams: last + 1, blocks: true, relocations_apart: true, ..Needs::default() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.max_worn)?;
        archive.value(&mut self.mode)
    }

    fn check(&self, _is_alone: bool, _view: &mut View<'_>) -> Archived {
        let is_one = self.by_speed.contains(&self.mode);
        require(is_one, || format!("its policy writes in mode {}, which is none of its modes", self.mode.0))
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.mode, stream: self.mode.0 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        self.worn(view.medium.wear_thousandths(block));
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        let most = (0..view.medium.geometry.block_count).map(|block| view.medium.wear_thousandths(BlockId(block))).max();
        self.worn(most.unwrap_or(0));
    }

    fn uses(&self) -> Vec<ModeId> {
        self.by_speed.clone()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("mode", f64::from(self.mode.0)),
            ("mode_changes", self.changes as f64),
            ("most_worn_cycles", f64::from(self.max_worn) / 1000.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive with an SLC cache: its quickest mode stores one bit per cell and keeps data as long as `normal`.
    #[test]
    fn modes_of_fewer_bits_per_cell_are_not_chosen() {
        let facts = Facts {
            write_modes: ["normal", "slc", "fast"].map(str::to_owned).to_vec(),
            program_scales: vec![1.0, 0.2, 0.5],
            encode_times: vec![Nanos::ZERO; 3],
            retention_by_wear: vec![vec![Nanos(10)], vec![Nanos(10)], vec![Nanos(10)]],
            block_units: vec![384, 128, 384],
            ..Facts::example()
        };
        let policy = build(&Params::default(), &facts);
        assert_eq!(policy.uses(), [ModeId(2), ModeId(0)]);
        assert_eq!(policy.needs().host_streams, 3, "the stream of a mode has its number");
        assert_eq!(policy.stats()[0], ("mode", 2.0));
    }
}
