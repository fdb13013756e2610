//! Checks for retention limits that no drive can keep.

use super::Description;
use ftl::policy::ModePolicy;
use kit::{Geometry, Nanos, Problems};

/// Write modes of relocated data under a policy, and the time that a die takes to relocate all its data.
struct Moving {
    /// Write mode of relocated data.
    mode: usize,
    /// Write modes that one block may hold together, and at whose shortest limit it is therefore relocated; none if a
    /// block has one mode.
    mixed: Vec<usize>,
    /// Time that a die takes to rewrite all its blocks.
    rewrite: Nanos,
    /// Least retention limit in halves of `rewrite` (3 for 1.5 times `rewrite`), chosen so that the die has time for
    /// other work.
    min_halves: u64,
}

impl Moving {
    /// Returns the least time after which relocated data may have to be relocated again.
    fn least(&self) -> Nanos {
        Nanos(self.rewrite.0.saturating_mul(self.min_halves) / 2)
    }
}

impl Description {
    /// Adds the problems of retention limits. Data relocated for its retention limit is written in one mode. If that
    /// mode's own limit expires before the die has rewritten its blocks, the die does nothing else; at least a third of
    /// its time must remain free. That mode must also store all bits of the cell, or relocation would fill more blocks
    /// than it frees.
    pub(super) fn retention_problems(&self, name: &str, policy: &dyn ModePolicy, problems: &mut Problems) {
        let (geometry, margin) = (&self.geometry(), self.ftl.retention_margin);
        let moving = self.moving(geometry, policy);
        for (index, mode) in self.flash.write_modes.iter().enumerate() {
            let is_moved_in = index == moving.mode || moving.mixed.contains(&index);
            if is_moved_in && self.units_of_block(mode, geometry) < geometry.units_per_block {
                problems.add(
                    format!("flash.write_mode[{index}].bits_per_cell"),
                    format!("expected all bits of the cell: policy `{name}` moves data in this mode"),
                );
            }
            let Some(shortest) = mode.retention.as_ref().and_then(|limits| limits.all().iter().min().copied()) else { continue };
            let field = format!("flash.write_mode[{index}].retention");
            let least = moving.least();
            if shortest <= margin {
                problems.add(field, format!("{shortest}: expected more than ftl.retention_margin = {margin}"));
            } else if is_moved_in && shortest - margin < least {
                problems.add(
                    field,
                    format!(
                        "{shortest} is too short for the mode that data is moved in: a die takes {} to rewrite all its blocks; \
                         expected at least {least}, beside ftl.retention_margin = {margin}",
                        moving.rewrite
                    ),
                );
            }
        }
    }

    /// Returns a problem if the policy has data moved in the background (`move_after`) more often than a die can
    /// rewrite it.
    pub(crate) fn background_problems(&self, policy: &dyn ModePolicy) -> Problems {
        let mut problems = Problems::default();
        let moving = self.moving(&self.geometry(), policy);
        let least = moving.least();
        let mode = policy.mode_of_old_data();
        if let Some(after) = policy.move_after(mode).filter(|&after| after < least) {
            let name = &self.flash.write_modes[mode.index()].name;
            problems.add(
                "move_after",
                format!(
                    "{after} is too short for `{name}`, the mode that data is moved in: a die takes {} to rewrite all its blocks; expected at least \
                     {least}, or none",
                    moving.rewrite
                ),
            );
        }
        problems
    }

    fn moving(&self, geometry: &Geometry, policy: &dyn ModePolicy) -> Moving {
        let facts = self.facts(geometry);
        let mode = policy.mode_of_old_data().index();
        let mixed: Vec<usize> = policy.mixes(&facts).unwrap_or_default().iter().map(|mode| mode.index()).collect();
        // If `program_time` is not that of relocated data, the worst case of program, transfers and sensing is assumed.
        let apart = !mixed.is_empty() || mode != facts.normal_mode().index();
        let scales = facts.program_scales.iter().enumerate().filter(|(index, _)| *index == mode || mixed.contains(index));
        let program = scales.map(|(_, scale)| *scale).fold(1.0, f64::max) * facts.program_time.0 as f64;
        let sense = self.flash.read_modes.iter().map(|mode| mode.sense_scale).fold(1.0, f64::max);
        let slowest_read = facts.read_times.iter().map(|time| time.0 as f64).fold(0.0, f64::max);
        let transfers = if apart { 3.0 * slowest_read * f64::from(facts.units_per_program) } else { 0.0 };
        let read = (facts.move_time - facts.program_time).0 as f64 * sense + transfers;
        let erase = facts.erase_time.0 as f64 * facts.erase_scales.iter().copied().fold(1.0, f64::max);
        let block = Nanos((program + read) as u64) * u64::from(geometry.programs_per_block) + Nanos(erase as u64);
        Moving { mode, mixed, rewrite: block * u64::from(geometry.blocks_per_die), min_halves: if apart { 6 } else { 3 } }
    }
}
