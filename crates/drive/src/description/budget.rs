//! The condition for combining policies on a drive: every mode that can occur must close the one voltage budget.

use super::{Description, derive};
use cell::Condition;
use cell::budget::{Budget, closes};
use flash::{Levels, WriteModeConfig};
use ftl::policy::combine;
use kit::{Geometry, Problems};
use lab::Part;

/// Factor by which an error rate may exceed its limit: a derived mode lies exactly at the limit, up to rounding.
const TOLERANCE: f64 = 1.001;

impl Description {
    /// Adds the problems that keep the policies of `combine` from being combined: unknown names, properties that no
    /// mode has, and voltage budgets that do not close.
    pub(super) fn combine_problems(&self, geometry: &Geometry, problems: &mut Problems) {
        let facts = self.facts(geometry);
        let found = combine::problems(&self.policy, &facts);
        if !found.is_empty() {
            found.into_iter().for_each(|(field, complaint)| problems.add(field, complaint));
            return;
        }
        let part = match derive::part(&self.flash, true) {
            Ok(part) => part.expect("asked for"),
            Err(found) => return problems.0.extend(found.0),
        };
        for mode in combine::modes(&self.policy, &facts) {
            if let Err(complaint) = self.closes(&self.flash.write_modes[mode.index()], &part) {
                problems.add(format!("flash.write_mode[{}]", mode.index()), complaint);
            }
        }
    }

    /// Checks that erase depth, program step, promised retention and the error rate corrected with the mode's sensing
    /// fit together into the window. The budget is evaluated at the wear up to which the mode is promised, or at the
    /// drive's wear if that is higher.
    fn closes(&self, mode: &WriteModeConfig, part: &Part) -> Result<(), String> {
        let name = &mode.name;
        let Some(derivation) = &mode.derivation else {
            return Err(format!(
                "`{name}` is given in numbers: combined policies need modes of which the cell's model knows that they close the budget; expected \
                 `derive = {{ ... }}`"
            ));
        };
        let reaches = self.flash.erase_modes.iter().filter(|erase| erase.level <= mode.erase_level);
        if let Some(erase) = reaches.max_by(|a, b| a.erase_shift.total_cmp(&b.erase_shift))
            && erase.erase_shift > derivation.erase_shift + 1e-9
        {
            return Err(format!(
                "`{name}` can follow the erase mode `{}`, which leaves the window {} V smaller; it was derived for {} V",
                erase.name, erase.erase_shift, derivation.erase_shift
            ));
        }
        let sensed = self.flash.read_modes.get(self.flash.read_mode_of(mode).index()).and_then(|read| read.corrects);
        let limit = sensed.unwrap_or(derivation.limit);
        let cycles = derivation.at_pe_cycles.max(self.state.pe_cycles);
        let at = Condition {
            step: derivation.step,
            erase_shift: derivation.erase_shift,
            pe_cycles: f64::from(cycles),
            age: part.device.age_at(derivation.retention, derivation.temperature),
            reads: 0.0,
        };
        let allowed = limit * TOLERANCE;
        if derivation.levels == Levels::Moved {
            return if closes(&part.device, &Budget { condition: at, limit: allowed }) {
                Ok(())
            } else {
                Err(format!(
                    "the budget of `{name}` does not close: a step of {:.4} in a window {} V smaller leaves no margin for the highest level after {cycles} cycles \
                     and {}, where {limit:.3e} is corrected",
                    derivation.step, derivation.erase_shift, derivation.retention
                ))
            };
        }
        let rate = part.device.estimate(&at).worst();
        if rate > allowed {
            return Err(format!(
                "the budget of `{name}` does not close: a step of {:.4} in a window {} V smaller has an error rate of {rate:.3e} after {cycles} cycles and {}, \
                 and {limit:.3e} is corrected",
                derivation.step, derivation.erase_shift, derivation.retention
            ));
        }
        Ok(())
    }
}
