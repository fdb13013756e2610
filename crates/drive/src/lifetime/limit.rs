//! What ends a drive's life.

use super::{LifetimeRequest, duration};
use crate::description::{Description, cell_part};
use crate::router::Drive;
use crate::session;
use cell::Condition;
use cell::solve::{most_cycles, most_sought};
use kit::{Nanos, Problems};

/// The most nominal erases that a life may be made of: effective wear is kept in thousandths, in 32 bits.
const MOST_WEAR: f64 = 4e6;

/// What a life lasts until.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The blocks are worn out on average (autoFTL, equation 1: perfect wear levelling).
    MeanWear,
    /// The first block is worn out.
    FirstBlock,
    /// In the first block the code can no longer correct what was kept for as long as is required.
    ErrorRate,
    /// Worn-out blocks are retired, and a die can spare no more.
    Spare,
}

impl Until {
    /// All of them, by name.
    pub const ALL: [(&'static str, Until); 4] = [
        ("mean_wear", Until::MeanWear),
        ("first_block", Until::FirstBlock),
        ("error_rate", Until::ErrorRate),
        ("spare", Until::Spare),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Until::ALL.iter().find(|(_, until)| *until == self).expect("all are listed").0
    }
}

/// A life's end.
pub(super) struct Limit {
    pub until: Until,
    /// Effective wear at which a block is worn out \[nominal erases\].
    pub wear: f64,
    /// How long data must stay correctable, where that is what ends it.
    pub retention: Option<Nanos>,
    pub notes: Vec<String>,
}

impl Limit {
    /// The end that a request asks for. Where blocks are to be retired the description is told so.
    pub fn of(request: &LifetimeRequest, until: Until, description: &mut Description) -> Result<Limit, Problems> {
        let mut problems = Problems::default();
        if let (Some(_), false) = (&request.retention, until == Until::ErrorRate) {
            problems.add("--retention", "what must be kept matters to --until error_rate, which is not asked for");
        }
        if let (Some(_), true) = (request.wear_limit, until == Until::ErrorRate) {
            problems.add(
                "--wear-limit",
                "the error rate decides how worn is worn out: expected only one of --wear-limit, --until error_rate",
            );
        }
        if let Some(limit) = request.wear_limit.filter(|limit| !(1.0..=MOST_WEAR).contains(limit)) {
            problems.add("--wear-limit", format!("{limit}: expected 1..={MOST_WEAR} nominal erases"));
        }
        problems.or(())?;
        let retention = request.retention.as_ref().map(|text| duration("--retention", text)).transpose()?;
        let limit = match until {
            Until::ErrorRate => by_error_rate(description, retention)?,
            _ => {
                let wear = request.wear_limit.unwrap_or(f64::from(description.flash.rated_pe_cycles));
                Limit { until, wear, retention: None, notes: Vec::new() }
            }
        };
        if limit.wear > MOST_WEAR {
            let cycles = limit.wear;
            return Err(Problems::one(
                "flash.rated_pe_cycles",
                format!("{cycles:.0} nominal erases are too many to be counted: expected at most {MOST_WEAR}, or a --wear-limit"),
            ));
        }
        if until == Until::Spare && description.ftl.retire_at_cycles.is_none() {
            description.ftl.retire_at_cycles = Some(limit.wear.ceil() as u32);
        }
        Ok(limit)
    }

    /// What ends the life of a drive as it is, if anything does.
    pub fn reached(&self, drive: &Drive) -> Option<&'static str> {
        let store = &drive.ftl().store;
        // Blocks are retired wherever the description says so, and then the spare may go first.
        if drive.ftl().worn_out_die().is_some() {
            return Some(Until::Spare.name());
        }
        let is_reached = match self.until {
            Until::MeanWear => store.wear_total() as f64 >= self.wear * 1000.0 * f64::from(store.geometry.block_count),
            Until::FirstBlock | Until::ErrorRate => f64::from(store.wear_most()) >= self.wear * 1000.0,
            Until::Spare => false,
        };
        is_reached.then(|| self.until.name())
    }

    /// The share of its life that a drive has behind it, about.
    pub fn share(&self, drive: &Drive) -> f64 {
        let wear = match self.until {
            Until::MeanWear => super::mean_wear_of(drive),
            _ => f64::from(drive.ftl().store.wear_most()) / 1000.0,
        };
        (wear / self.wear).min(1.0)
    }
}

/// The effective wear up to which data written in the mode `normal`, which data is kept in for good, stays correctable for the required time: by the model of the
/// cell, and by the mode's own limits where they follow wear.
fn by_error_rate(description: &Description, asked: Option<Nanos>) -> Result<Limit, Problems> {
    let flash = &description.flash;
    let normal = flash.write_modes.iter().find(|mode| mode.name == "normal").expect("validated: a mode is named normal");
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

/// The same by the model of the cell, if one is named.
fn by_model(description: &Description, retention: Nanos, notes: &mut Vec<String>) -> Result<Option<f64>, Problems> {
    let Some(part) = cell_part(&description.flash)? else { return Ok(None) };
    let normal =
        description.flash.write_modes.iter().find(|mode| mode.name == "normal").expect("validated: a mode is named normal");
    let (step, erase_shift, celsius, limit) = match &normal.derivation {
        Some(found) => (found.step, found.erase_shift, found.temperature, found.limit),
        None => (part.device.nominal_step, 0.0, part.device.reference_celsius, part.limit(0)),
    };
    let age = part.device.age_at(retention, celsius);
    let condition = Condition { step, erase_shift, pe_cycles: 0.0, age, reads: 0.0 };
    let Some(most) = most_cycles(&part.device, &condition, limit) else { return Ok(Some(0.0)) };
    if most >= most_sought(&part.device) {
        notes.push(format!("{} is not asked beyond {most:.0} cycles, which still keep data for {retention}", part.name));
    }
    notes.extend(part.device.estimate(&Condition { pe_cycles: most, ..condition }).outside);
    Ok(Some(most))
}

/// What a drive at its end has to say for itself.
pub(super) fn last_words(drive: &Drive) -> Option<String> {
    session::worn_out(drive)
}
