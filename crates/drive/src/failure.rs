//! Effect of a power failure on the data: pages at risk, and pages lost.
//!
//! A page is a mapping unit. It is *at risk* if power comes back after the retention limit of the mode in which its
//! block was written, counted from the block's first program. It is *lost* if the errors drawn for its codewords, at
//! the error rate given by the model of the cell, exceed the correction capability of its code. Lost pages stay in
//! place, and are read and moved like any others: the simulator stores no contents, and reads do not fail.

use crate::description::{Description, cell_part};
use crate::drive::{Drive, PowerFailure, PowerLoss};
use cell::{Condition, ErrorTable};
use ecc::binomial::{errors_for_tail, ln_tail_between};
use ecc::{Binomial, BlockCode};
use flash::{Levels, WriteModeConfig};
use kit::{BlockId, Bytes, Nanos, Ppn, Rng, SimTime};
use lab::Part;
use lab::part::Target;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the random stream from which errors are drawn.
const STREAM: &str = "power_failure";

/// Logarithm of a probability below which a draw, which has 53 random bits, never succeeds: rarer failures are not
/// drawn.
const LN_NEVER: f64 = -37.0;

/// A block with pages at risk.
struct AtRisk {
    block: BlockId,
    mode: usize,
    age: Nanos,
    wear: f64,
}

/// A power failure of one of two kinds.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The host stopped first.
    Graceful(PowerFailure),
    /// The drive lost power at any instant, or after a number of steps; capacitors held it up for a time.
    Abrupt(PowerLoss, Option<u64>, Option<Nanos>),
}

impl Failure {
    /// Returns the instants at which power failed and came back.
    fn instants(&self) -> (SimTime, SimTime) {
        match self {
            Failure::Graceful(failure) => (failure.failed, failure.back),
            Failure::Abrupt(loss, ..) => (loss.failed, loss.back),
        }
    }
}

/// Findings when power is back.
#[derive(Clone, Debug)]
pub(crate) struct PowerFailureReport {
    pub failure: Failure,
    /// Instant at which the host stopped submitting commands.
    pub stopped: SimTime,
    pub at_risk_pages: u64,
    /// Number of pages lost, or the reason why it is not known.
    pub lost_pages: Result<u64, String>,
}

impl PowerFailureReport {
    /// Examines a drive whose power has just come back.
    pub fn of(failure: Failure, stopped: SimTime, description: &Description, drive: &Drive, seed: u64) -> PowerFailureReport {
        let (_, back) = failure.instants();
        let at_risk_pages = drive.map().units_past_limit(back);
        let lost_pages = lost(&blocks_at_risk(drive, back), description, drive, seed);
        PowerFailureReport { failure, stopped, at_risk_pages, lost_pages }
    }

    /// Returns true if power was lost without warning.
    pub fn is_abrupt(&self) -> bool {
        matches!(self.failure, Failure::Abrupt(..))
    }

    /// Returns the report as `summary.json` states it, with instants on the drive's clock. A number that the kind of
    /// failure does not have is `null`.
    pub fn to_json(&self) -> Value {
        let (failed, back) = self.failure.instants();
        let mut all = json!({
            "kind": match self.failure { Failure::Graceful(_) => "graceful", Failure::Abrupt(..) => "abrupt" },
            "stopped_at_ns": self.stopped.0,
            "failed_at_ns": failed.0,
            "down_ns": back.since(failed).0,
            "at_risk_pages": self.at_risk_pages,
            "lost_pages": self.lost_pages.as_ref().ok(),
            "lost_pages_unknown": self.lost_pages.as_ref().err(),
        });
        let (graceful, abrupt) = match &self.failure {
            Failure::Graceful(failure) => (Some(failure), None),
            Failure::Abrupt(loss, steps, held_up) => (None, Some((loss, *steps, *held_up))),
        };
        let entries = graceful.and_then(|failure| failure.backup).map(|backup| {
            json!({
                "held": backup.held,
                "saved": backup.saved,
                "lost": backup.held - backup.saved,
                "saved_in_ns": backup.took.0,
            })
        });
        let loss = abrupt.map(|(loss, ..)| loss);
        let numbers = [
            ("buffered_pages_saved", graceful.map(|failure| failure.buffered_units)),
            ("event", abrupt.and_then(|(_, steps, _)| steps)),
            ("held_up_ns", abrupt.and_then(|(.., held_up)| Some(held_up?.0))),
            ("commands_lost", loss.map(|loss| loss.lost_commands.len() as u64)),
            ("volatile_lost", loss.map(|loss| loss.volatile_lost)),
            ("durable_lost", loss.map(|loss| loss.durable_lost)),
            ("torn_pages", loss.map(|loss| loss.torn_pages)),
            ("half_erased_blocks", loss.map(|loss| loss.half_erased.len() as u64)),
            ("recovery_ns", loss.map(|loss| loss.recovery.0)),
            ("recovery_reads", loss.map(|loss| loss.recovery_reads)),
        ];
        all["policy_entries"] = json!(entries);
        numbers.into_iter().for_each(|(key, number)| all[key] = json!(number));
        all
    }

    /// Returns notes for the user: what a loss of power did, and whether any data was at risk or the policy lost any
    /// entries.
    pub fn notes(&self, unit: Bytes) -> Vec<String> {
        let mut notes = Vec::new();
        if let Failure::Abrupt(loss, steps, held_up) = &self.failure {
            notes.extend(loss_notes(loss, *steps, unit));
            notes.extend(held_up.map(|time| held_up_note(time, loss.volatile_lost)));
        }
        if self.at_risk_pages > 0 {
            let lost = match &self.lost_pages {
                Ok(lost) => format!("{lost} of them are lost"),
                Err(why) => format!("how many are lost is not known: {why}"),
            };
            let (failed, back) = self.failure.instants();
            let down = back.since(failed);
            notes.push(format!(
                "{} pages were past their retention limit when power came back after {down}: {lost}",
                self.at_risk_pages
            ));
        }
        let backup = match &self.failure {
            Failure::Graceful(failure) => failure.backup.filter(|backup| backup.saved < backup.held),
            Failure::Abrupt(..) => None,
        };
        if let Some(backup) = backup {
            notes.push(format!(
                "the supercapacitor lasted for {} of the policy's {} entries: the pages of the others are moved by their blocks' retention limits",
                backup.saved, backup.held
            ));
        }
        notes
    }
}

/// Returns what the capacitors did.
fn held_up_note(time: Nanos, left: u64) -> String {
    match left {
        0 => format!("the capacitors held the drive up for {time}, until its write buffer was programmed"),
        _ => format!("the capacitors were empty after {time}, before the whole write buffer was programmed (power_loss.energy)"),
    }
}

/// Returns what a loss of power did: what was under way, what was volatile, what was durable, and the recovery.
fn loss_notes(loss: &PowerLoss, steps: Option<u64>, unit: Bytes) -> [String; 4] {
    let seconds = |time: Nanos| format!("{:.6} s", time.as_secs_f64());
    let at = seconds(Nanos(loss.failed.0));
    let point = steps.map_or(String::new(), |steps| format!(", at event {steps}"));
    let torn = match (loss.torn_pages, loss.half_erased.len()) {
        (0, 0) => "no program and no erase was interrupted".to_owned(),
        (pages, 0) => format!("interrupted programs have torn {pages} pages"),
        (0, blocks) => format!("interrupted erases have left {blocks} blocks to be erased again"),
        (pages, blocks) => {
            format!("interrupted programs have torn {pages} pages, interrupted erases left {blocks} blocks to be erased again")
        }
    };
    [
        format!(
            "power was lost {at} after the drive's time 0{point}: {} commands in flight were lost; {torn}",
            loss.lost_commands.len()
        ),
        format!(
            "volatile: the write buffer held {} units ({}) that were not on flash: they are lost",
            loss.volatile_lost,
            Bytes(loss.volatile_lost * unit.0)
        ),
        format!("durable: {} units whose newest copy was on flash are lost", loss.durable_lost),
        format!("recovery took {} and {} flash reads", seconds(loss.recovery), loss.recovery_reads),
    ]
}

/// Returns the blocks with data past their retention limit at instant `now`.
fn blocks_at_risk(drive: &Drive, now: SimTime) -> Vec<AtRisk> {
    let medium = drive.medium();
    let age = |block| i64::try_from(now.0).unwrap_or(i64::MAX).saturating_sub(medium.first_program(block)).unsigned_abs();
    let at_risk = |block| AtRisk {
        block,
        mode: usize::from(medium.block(block).mode()),
        age: Nanos(age(block)),
        wear: medium.effective_wear(block),
    };
    drive.map().blocks_past_limit(now).into_iter().map(at_risk).collect()
}

/// Returns the number of pages in the blocks at risk whose errors exceed the code, or the reason why it is not known.
fn lost(blocks: &[AtRisk], description: &Description, drive: &Drive, seed: u64) -> Result<u64, String> {
    if blocks.is_empty() {
        return Ok(0);
    }
    if drive.map().needs().page_scope {
        return Err(format!("the policy `{}` keeps a mode for each page", description.policy.kind));
    }
    let part = cell_part(&description.flash).map_err(|problems| problems.to_string())?;
    let part = part.ok_or("the drive names no model of the cell (flash.cell_model)")?;
    let modes: BTreeSet<usize> = blocks.iter().map(|at_risk| at_risk.mode).collect();
    let modelled = modes.into_iter().map(|mode| Ok((mode, Model::of(mode, blocks, description, &part)?)));
    let models = modelled.collect::<Result<BTreeMap<_, _>, String>>()?;
    let mut rng = Rng::stream(seed, STREAM);
    Ok(blocks.iter().map(|at_risk| models[&at_risk.mode].lost_in(at_risk, drive, &mut rng)).sum())
}

/// Error model of the pages of one write mode, with the number of errors that its code corrects.
struct Model {
    table: ErrorTable,
    page_types: usize,
    codeword_bits: u64,
    codewords: u64,
    corrects: f64,
}

impl Model {
    /// Builds the model for a write mode, over the ages and wear of the blocks at risk in it.
    fn of(mode: usize, blocks: &[AtRisk], description: &Description, part: &Part) -> Result<Model, String> {
        let flash = &description.flash;
        let config = &flash.write_modes[mode];
        let (page_types, bits) = (part.device.technology.page_types(), flash.cell.bits());
        if config.bits_per_cell.is_some_and(|stored| stored != bits) {
            return Err(format!("{} is not a model of the cell as the write mode `{}` uses it", part.name, config.name));
        }
        let (written, celsius, limit) = how_written(config, part)?;
        let of_mode = || blocks.iter().filter(|at_risk| at_risk.mode == mode);
        let wear = of_mode().map(|at_risk| at_risk.wear).fold(0.0, f64::max);
        let oldest = of_mode().map(|at_risk| at_risk.age).max().unwrap_or(Nanos::ZERO);
        let code = &part.code;
        // A mode with a code of its own states only a correctable error rate. The number of correctable errors is the
        // one that is exceeded at this rate with the failure probability that the part allows.
        let target = match part.target {
            Target::Failure(probability) => probability,
            Target::Uber(uber) => uber * code.data_bits() as f64,
        };
        let hard = code.correctable(0);
        let corrects = if limit == part.limit(0) { hard } else { errors_for_tail(code.codeword_bits(), limit, target) };
        Ok(Model {
            table: ErrorTable::build(&part.device, &written, wear, oldest, celsius),
            page_types,
            codeword_bits: code.codeword_bits(),
            codewords: (description.unit().bytes() * 8).div_ceil(code.data_bits()),
            corrects,
        })
    }

    /// Returns the number of pages of a block in which any codeword has more errors than the code corrects. Read
    /// disturb is left out, because the reads since the pages were programmed are not counted.
    fn lost_in(&self, at_risk: &AtRisk, drive: &Drive, rng: &mut Rng) -> u64 {
        let medium = drive.medium();
        let geometry = &medium.geometry;
        let errors: Vec<Option<Binomial>> = (0..self.page_types)
            .map(|page| {
                let rate = self.table.rate(page, at_risk.wear, at_risk.age, 0.0);
                let may_fail = ln_tail_between(self.codeword_bits, self.corrects, rate) > LN_NEVER;
                may_fail.then(|| Binomial::new(self.codeword_bits, rate))
            })
            .collect();
        if errors.iter().all(Option::is_none) {
            return 0;
        }
        let first = geometry.first_of(at_risk.block);
        let mut lost = 0;
        for unit in (0..geometry.units_per_block).filter(|unit| medium.is_valid(Ppn(first.0 + unit))) {
            let Some(errors) = &errors[geometry.page_type_of(unit) as usize % self.page_types] else { continue };
            // All codewords are drawn, so that the outcome of one page does not shift the random numbers of the next.
            let failed = (0..self.codewords).filter(|_| errors.draw(rng) as f64 > self.corrects).count();
            lost += u64::from(failed > 0);
        }
        lost
    }
}

/// Returns the program step and window with which a mode's pages are written, the temperature at which they are kept,
/// and the error rate that their code corrects.
fn how_written(mode: &WriteModeConfig, part: &Part) -> Result<(Condition, f64, f64), String> {
    if let Some(found) = &mode.derivation {
        if found.levels == Levels::Moved {
            return Err(format!(
                "the write mode `{}` moves the levels of the cell, of which no table of error rates is made",
                mode.name
            ));
        }
        let written = Condition { step: found.step, erase_shift: found.erase_shift, ..Condition::default() };
        return Ok((written, found.temperature, found.limit));
    }
    // A mode given in numbers at nominal speed is written with the nominal step; for any other speed, the step is not
    // known.
    if mode.program_scale != 1.0 {
        return Err(format!(
            "the program step of the write mode `{}` is not known: it is not derived from {}",
            mode.name, part.name
        ));
    }
    let written = Condition { step: part.device.nominal_step, ..Condition::default() };
    Ok((written, part.device.reference_celsius, part.limit(0)))
}
