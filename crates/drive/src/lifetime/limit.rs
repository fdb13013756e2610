//! Criteria for the end of a drive's life.

use super::duration;
use crate::description::{Description, cell_part};
use crate::drive::Drive;
use crate::options::LifeOptions;
use crate::session;
use cell::Condition;
use cell::solve::{max_cycles, max_sought};
use kit::{NORMAL_MODE, Nanos, Problems};

/// Largest wear limit \[nominal erases\]: effective wear is kept in thousandths, in 32 bits.
const MAX_WEAR: f64 = 4e6;

/// Criterion that ends a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The mean wear of the blocks reaches the limit (autoFTL, equation 1: perfect wear levelling).
    MeanWear,
    /// The first block reaches the limit.
    FirstBlock,
    /// The first block reaches the wear at which the code no longer corrects data kept for the required retention.
    ErrorRate,
    /// Worn-out blocks are retired, and a die can spare no more.
    Spare,
}

impl Until {
    /// All criteria, by name.
    pub const ALL: [(&'static str, Until); 4] = [
        ("mean_wear", Until::MeanWear),
        ("first_block", Until::FirstBlock),
        ("error_rate", Until::ErrorRate),
        ("spare", Until::Spare),
    ];

    /// Returns the criterion's name.
    pub fn name(self) -> &'static str {
        Until::ALL.iter().find(|(_, until)| *until == self).expect("all are listed").0
    }
}

/// The end of a life: the criterion and its limit.
pub(super) struct Limit {
    pub until: Until,
    /// Effective wear at which a block is worn out \[nominal erases\].
    pub wear: f64,
    /// Retention for which data must stay correctable, if this ends the life.
    pub retention: Option<Nanos>,
    pub notes: Vec<String>,
}

impl Limit {
    /// Returns the limit that the options of a life specify. For [`Until::Spare`], sets the wear at which blocks are
    /// retired in the description, unless it is given there.
    pub fn of(life: &LifeOptions, until: Until, description: &mut Description) -> Result<Limit, Problems> {
        let mut problems = Problems::default();
        if let (Some(_), false) = (&life.retention, until == Until::ErrorRate) {
            problems.add("--retention", "applies only to --until error_rate");
        }
        if let (Some(_), true) = (life.wear_limit, until == Until::ErrorRate) {
            problems.add(
                "--wear-limit",
                "the error rate determines the wear limit: expected only one of --wear-limit, --until error_rate",
            );
        }
        if let Some(limit) = life.wear_limit.filter(|limit| !(1.0..=MAX_WEAR).contains(limit)) {
            problems.add("--wear-limit", format!("{limit}: expected 1..={MAX_WEAR} nominal erases"));
        }
        problems.or(())?;
        let retention = life.retention.as_ref().map(|text| duration("--retention", text)).transpose()?;
        let limit = match until {
            Until::ErrorRate => by_error_rate(description, retention)?,
            _ => {
                let wear = life.wear_limit.unwrap_or(f64::from(description.flash.rated_pe_cycles));
                Limit { until, wear, retention: None, notes: Vec::new() }
            }
        };
        if limit.wear > MAX_WEAR {
            let cycles = limit.wear;
            return Err(Problems::one(
                "flash.rated_pe_cycles",
                format!("{cycles:.0} nominal erases are too many to be counted: expected at most {MAX_WEAR}, or a --wear-limit"),
            ));
        }
        if until == Until::Spare && description.ftl.retire_at_cycles.is_none() {
            description.ftl.retire_at_cycles = Some(limit.wear.ceil() as u32);
        }
        Ok(limit)
    }

    /// Returns the name of the criterion that ends the life of the drive in its present state, if one does.
    pub fn reached(&self, drive: &Drive) -> Option<&'static str> {
        let medium = drive.medium();
        // Blocks are retired in any run whose description says so; a die may then run out of spare blocks first.
        if drive.map().worn_out_die().is_some() {
            return Some(Until::Spare.name());
        }
        let is_reached = match self.until {
            Until::MeanWear => {
                let (thousandths, blocks) = super::total_wear_of(drive);
                thousandths as f64 >= self.wear * 1000.0 * blocks
            }
            Until::FirstBlock | Until::ErrorRate => f64::from(medium.wear_most()) >= self.wear * 1000.0,
            Until::Spare => false,
        };
        is_reached.then(|| self.until.name())
    }

    /// Returns the approximate share of its life that a drive has behind it.
    pub fn share(&self, drive: &Drive) -> f64 {
        let wear = match self.until {
            Until::MeanWear => super::mean_wear_of(drive),
            _ => f64::from(drive.medium().wear_most()) / 1000.0,
        };
        (wear / self.wear).min(1.0)
    }
}

/// Returns the effective wear up to which data in the mode `normal`, in which data is kept for good, stays correctable
/// for the required retention: by the model of the cell, and by the mode's own limits where they depend on wear.
fn by_error_rate(description: &Description, asked: Option<Nanos>) -> Result<Limit, Problems> {
    let flash = &description.flash;
    let normal = flash.write_modes.iter().find(|mode| mode.name == NORMAL_MODE).expect("validated: a mode is named normal");
    let limits = normal.retention.as_ref().map_or(&[][..], |limits| limits.all());
    let promised = normal.derivation.as_ref().map(|derivation| derivation.retention);
    let Some(retention) = asked.or(promised).or_else(|| limits.iter().min().copied()) else {
        return Err(Problems::one(
            "--retention",
            "missing: the write mode `normal` promises no retention; expected how long data must be kept",
        ));
    };
    let mut notes = Vec::new();
    let by_model = by_model(description, retention, &mut notes)?;
    let rated = f64::from(flash.rated_pe_cycles);
    let short = limits.iter().position(|limit| *limit < retention);
    let by_table = short.map(|class| rated * class as f64 / limits.len() as f64);
    let Some(wear) = [by_model, by_table].into_iter().flatten().reduce(f64::min) else {
        return Err(Problems::one(
            "flash.cell_model",
            format!(
                "missing: nothing says at what wear data is no longer kept for {retention}; expected the model of the cell, or retention limits of \
                 the mode `normal` that fall with wear"
            ),
        ));
    };
    if wear < 1.0 {
        return Err(Problems::one(
            "--retention",
            format!("{retention}: not even data on fresh blocks is kept so long in the write mode `normal`: expected less"),
        ));
    }
    notes.push(format!(
        "data written in the mode `normal` is kept for {retention} up to an effective wear of {wear:.0} nominal erases"
    ));
    Ok(Limit { until: Until::ErrorRate, wear, retention: Some(retention), notes })
}

/// Returns the effective wear up to which data in the mode `normal` stays correctable by the model of the cell, if one
/// is named.
fn by_model(description: &Description, retention: Nanos, notes: &mut Vec<String>) -> Result<Option<f64>, Problems> {
    let Some(part) = cell_part(&description.flash)? else { return Ok(None) };
    let normal =
        description.flash.write_modes.iter().find(|mode| mode.name == NORMAL_MODE).expect("validated: a mode is named normal");
    let (step, erase_shift, celsius, limit) = match &normal.derivation {
        Some(found) => (found.step, found.erase_shift, found.temperature, found.limit),
        None => (part.device.nominal_step, 0.0, part.device.reference_celsius, part.limit(0)),
    };
    let age = part.device.age_at(retention, celsius);
    let condition = Condition { step, erase_shift, pe_cycles: 0.0, age, reads: 0.0 };
    let Some(most) = max_cycles(&part.device, &condition, limit) else { return Ok(Some(0.0)) };
    if most >= max_sought(&part.device) {
        notes.push(format!("{} was evaluated up to {most:.0} cycles only, where data is still kept for {retention}", part.name));
    }
    notes.extend(part.device.estimate(&Condition { pe_cycles: most, ..condition }).outside);
    Ok(Some(most))
}

/// Returns a note on a drive that is worn out.
pub(super) fn worn_out_note(drive: &Drive) -> Option<String> {
    session::worn_out(drive)
}
