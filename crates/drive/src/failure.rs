//! What a power failure has done to the data: pages at risk, and pages lost.
//!
//! A page is a mapping unit. It is *at risk* if power comes back after the limit of the mode that its block was written in, counted from the block's first program. It
//! is *lost* if the errors that are drawn for its codewords, at its error rate by the model of the cell, exceed what its code corrects. The data stays where it is and is
//! read and moved as any other: the simulator has no contents to lose, and reads do not fail.

use crate::description::{Description, cell_part};
use crate::router::{Drive, PowerFailure};
use cell::{Condition, ErrorTable};
use ecc::binomial::{errors_for_tail, ln_tail_between};
use ecc::{Binomial, BlockCode};
use flash::{Levels, WriteModeConfig};
use kit::{BlockId, Nanos, Ppn, Rng, SimTime, UNIT_BYTES};
use lab::Part;
use lab::part::Target;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The random stream of the errors that are drawn.
const STREAM: &str = "power_failure";

/// The logarithm of a probability below which no draw, which has 53 random bits, comes true: what fails so rarely is not drawn.
const LN_NEVER: f64 = -37.0;

/// A block with pages at risk.
struct AtRisk {
    block: BlockId,
    mode: usize,
    age: Nanos,
    wear: f64,
}

/// What is found when power is back.
#[derive(Clone, Debug)]
pub(crate) struct PowerFailureReport {
    pub failure: PowerFailure,
    /// Since when the host had stopped.
    pub stopped: SimTime,
    pub at_risk_pages: u64,
    /// Pages lost, or why that is not known.
    pub lost_pages: Result<u64, String>,
}

impl PowerFailureReport {
    /// Looks at a drive whose power has just come back.
    pub fn of(
        failure: PowerFailure,
        stopped: SimTime,
        description: &Description,
        drive: &Drive,
        seed: u64,
    ) -> PowerFailureReport {
        let at_risk_pages = drive.ftl().units_past_limit(failure.back);
        let lost_pages = lost(&blocks_at_risk(drive, failure.back), description, drive, seed);
        PowerFailureReport { failure, stopped, at_risk_pages, lost_pages }
    }

    /// As `summary.json` states it, times from the start of the run.
    pub fn to_json(&self) -> Value {
        let PowerFailure { failed, back, buffered_units, backup } = self.failure;
        let backup = backup.map(|backup| {
            json!({
                "held": backup.held,
                "saved": backup.saved,
                "lost": backup.held - backup.saved,
                "saved_in_ns": backup.took.0,
            })
        });
        json!({
            "stopped_at_ns": self.stopped.0,
            "failed_at_ns": failed.0,
            "down_ns": back.since(failed).0,
            "buffered_pages_saved": buffered_units,
            "policy_entries": backup,
            "at_risk_pages": self.at_risk_pages,
            "lost_pages": self.lost_pages.as_ref().ok(),
            "lost_pages_unknown": self.lost_pages.as_ref().err(),
        })
    }

    /// What the user should know, if any data was at risk or the policy lost anything.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.at_risk_pages > 0 {
            let lost = match &self.lost_pages {
                Ok(lost) => format!("{lost} of them are lost"),
                Err(why) => format!("how many are lost is not known: {why}"),
            };
            let down = self.failure.back.since(self.failure.failed);
            notes.push(format!(
                "{} pages were past their retention limit when power came back after {down}: {lost}",
                self.at_risk_pages
            ));
        }
        if let Some(backup) = self.failure.backup.filter(|backup| backup.saved < backup.held) {
            notes.push(format!(
                "the supercapacitor lasted for {} of the policy's {} entries: the pages of the others are moved by their blocks' retention limits",
                backup.saved, backup.held
            ));
        }
        notes
    }
}

/// Blocks with data that are past their limit at an instant.
fn blocks_at_risk(drive: &Drive, now: SimTime) -> Vec<AtRisk> {
    let store = &drive.ftl().store;
    let age = |block| i64::try_from(now.0).unwrap_or(i64::MAX).saturating_sub(store.first_program(block)).unsigned_abs();
    let at_risk = |block| AtRisk {
        block,
        mode: usize::from(store.block(block).mode()),
        age: Nanos(age(block)),
        wear: store.effective_wear(block),
    };
    drive.ftl().blocks_past_limit(now).map(at_risk).collect()
}

/// Pages of the blocks at risk whose errors exceed the code, or why that cannot be said.
fn lost(blocks: &[AtRisk], description: &Description, drive: &Drive, seed: u64) -> Result<u64, String> {
    if blocks.is_empty() {
        return Ok(0);
    }
    if drive.ftl().keeps_modes_by_page() {
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

/// Errors of one write mode's pages, and what its code corrects.
struct Model {
    table: ErrorTable,
    page_types: usize,
    codeword_bits: u64,
    codewords: u64,
    corrects: f64,
}

impl Model {
    /// For the ages and wear of the blocks at risk in a mode.
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
        // A mode with a code of its own states the error rate that it corrects: as many errors as exceed it as seldom as the part allows.
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
            codewords: (UNIT_BYTES * 8).div_ceil(code.data_bits()),
            corrects,
        })
    }

    /// Pages of a block in which any codeword has more errors than the code corrects. Reads since the pages were programmed are not kept and add nothing.
    fn lost_in(&self, at_risk: &AtRisk, drive: &Drive, rng: &mut Rng) -> u64 {
        let store = &drive.ftl().store;
        let geometry = &store.geometry;
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
        for unit in (0..geometry.units_per_block).filter(|unit| store.is_valid(Ppn(first.0 + unit))) {
            let Some(errors) = &errors[geometry.page_type_of(unit) as usize % self.page_types] else { continue };
            // All codewords are drawn, so that one page's fate moves no other's.
            let failed = (0..self.codewords).filter(|_| errors.draw(rng) as f64 > self.corrects).count();
            lost += u64::from(failed > 0);
        }
        lost
    }
}

/// The step and window that a mode's pages are written with, the temperature that they are kept at, and the error rate that their code corrects.
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
    // In numbers, a mode at nominal speed is written with the nominal step; of any other the step is not known.
    if mode.program_scale != 1.0 {
        return Err(format!(
            "the program step of the write mode `{}` is not known: it is not derived from {}",
            mode.name, part.name
        ));
    }
    let written = Condition { step: part.device.nominal_step, ..Condition::default() };
    Ok((written, part.device.reference_celsius, part.limit(0)))
}
