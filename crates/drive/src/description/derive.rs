//! Modes that a description derives from a cell model: the mode is solved for, and replaces the request together with a
//! record of its derivation.

use super::File;
use cell::budget::{Budget, Unknown, close};
use cell::dpes::{EraseSpeed, INTERVALS};
use cell::solve::{LONGEST, longest_retention, widest_step};
use cell::{Condition, Technology};
use ecc::Regulator;
use flash::{
    DeriveErase, DeriveRead, DeriveWrite, EraseWear, FlashConfig, Levels, PerPageType, PerWear, WriteDerivation, WriteModeConfig,
};
use kit::{Nanos, Problems};
use lab::Part;

/// Number of wear classes for which a wear-dependent retention limit is computed.
const WEAR_CLASSES: u32 = 16;

/// Replaces the requests for derived modes and for a measured code in `flash` by the modes and the code themselves.
pub(super) fn resolve(flash: &mut FlashConfig, file: File<'_>) -> Result<(), Problems> {
    measured_code(flash, file)?;
    for (index, mode) in flash.write_modes.iter().enumerate() {
        if let Some(name) = &mode.cell_model {
            lab::parts::find(&format!("flash.write_mode[{index}].cell_model"), name)?;
        }
    }
    let asks = flash.write_modes.iter().any(|mode| mode.derive.is_some())
        || flash.erase_modes.iter().any(|mode| mode.derive.is_some())
        || flash.read_modes.iter().any(|mode| mode.derive.is_some());
    let Some(part) = part(flash, asks)? else { return Ok(()) };
    let mut problems = Problems::default();
    for index in 0..flash.write_modes.len() {
        let Some(derive) = flash.write_modes[index].derive.clone() else { continue };
        match write_mode(&flash.write_modes[index], &derive, &part, flash.rated_pe_cycles) {
            Ok(mode) => flash.write_modes[index] = mode,
            Err(complaint) => problems.add(format!("flash.write_mode[{index}].derive"), complaint),
        }
    }
    for (index, mode) in flash.erase_modes.iter_mut().enumerate() {
        let Some(derive) = mode.derive.take() else { continue };
        match erase_mode(&derive, &part, flash.rated_pe_cycles) {
            Ok(found) if mode.erase_scale == 1.0 && mode.wear == PerWear::default() && mode.erase_shift == 0.0 => {
                (mode.erase_scale, mode.wear, mode.erase_shift) = found;
            }
            Ok(_) => problems.add(format!("flash.erase_mode[{index}].derive"), MODE_GIVEN_TWICE),
            Err(complaint) => problems.add(format!("flash.erase_mode[{index}].derive"), complaint),
        }
    }
    for (index, mode) in flash.read_modes.iter_mut().enumerate() {
        let Some(derive) = mode.derive.take() else { continue };
        match read_mode(&derive, &part) {
            Ok(_) if mode.sense_scale != 1.0 || mode.transfers != 1 || mode.corrects.is_some() => {
                problems.add(format!("flash.read_mode[{index}].derive"), MODE_GIVEN_TWICE);
            }
            Ok((scale, transfers, corrects)) => {
                (mode.sense_scale, mode.transfers, mode.corrects) = (scale, transfers, Some(corrects));
            }
            Err(complaint) => problems.add(format!("flash.read_mode[{index}].derive"), complaint),
        }
    }
    problems.or(())
}

/// Problem of a mode that is both derived and given in numbers.
const MODE_GIVEN_TWICE: &str = "the mode is given in numbers as well: expected one or the other";

fn measured_code(flash: &mut FlashConfig, file: File<'_>) -> Result<(), Problems> {
    let Some(path) = flash.measured_code.take() else { return Ok(()) };
    let place = "flash.measured_code";
    if flash.code.is_some() {
        return Err(Problems::one(place, "a code is given as well: expected one or the other"));
    }
    let text = file(&path).map_err(|why| Problems::one(place, format!("{path}: {why}")))?;
    flash.code = Some(lab::measured_code(&text).map_err(|complaint| Problems::one(place, format!("{path}: {complaint}")))?);
    Ok(())
}

/// Returns the part named by `cell_model`, with the description's code, for uses other than the derivation of modes;
/// none if no model is named.
pub(crate) fn cell_part(flash: &FlashConfig) -> Result<Option<Part>, Problems> {
    part(flash, flash.cell_model.is_some())
}

/// Returns the part named by `cell_model`, with the description's code. `asks` is true if the caller needs the part:
/// then a missing model, a model of another cell type or a code that does not fit the spare area is a problem.
pub(super) fn part(flash: &FlashConfig, asks: bool) -> Result<Option<Part>, Problems> {
    let Some(name) = &flash.cell_model else {
        if asks {
            let names = lab::parts::names().collect::<Vec<_>>().join(", ");
            return Err(Problems::one(
                "flash.cell_model",
                format!("missing: a mode is to be derived; expected the model of the cell, one of {names}"),
            ));
        }
        return Ok(None);
    };
    let mut part = lab::parts::find("flash.cell_model", name)?;
    let (model, given) = (part.device.technology.page_types(), flash.cell.bits() as usize);
    // If the part is not needed, a preset's model may stay in the description beside another cell type.
    if asks && model != given {
        return Err(Problems::one(
            "flash.cell_model",
            format!("{name} has {model} page types, flash.cell has {given}: expected a model of the same cell"),
        ));
    }
    if let Some(code) = &flash.code {
        part.protect(code.clone());
    } else if let (true, Some(spare)) = (asks, flash.spare_size) {
        let fits = ecc::BlockCode::fits(&part.code, flash.page_size.0, spare.0);
        fits.map_err(|problem| kit::Problem { place: "flash.spare_size".to_owned(), ..problem })?;
    }
    Ok(Some(part))
}

/// Returns the write mode with its derived program step, program time and retention limit.
fn write_mode(mode: &WriteModeConfig, derive: &DeriveWrite, part: &Part, rated: u32) -> Result<WriteModeConfig, String> {
    if mode.program_scale != 1.0 || mode.retention.is_some() {
        return Err(MODE_GIVEN_TWICE.to_owned());
    }
    let solver = WriteSolver::new(derive, part)?;
    let (step, retention) = match (derive.retention, derive.step) {
        (Some(retention), None) => (solver.widest_step(retention)?, retention),
        (None, Some(step)) => (step, solver.longest_retention(step)?),
        _ => return Err("expected either `retention` (the step is derived) or `step` (the retention is derived)".to_owned()),
    };
    let nominal = part.program_time(part.device.nominal_step);
    let scale = part.program_time(step).zip(nominal).map_or(1.0, |(time, nominal)| time.0 as f64 / nominal.0 as f64);
    let limits = if derive.by_wear { solver.limits_by_wear(step, retention, rated)? } else { PerPageType::One(retention) };
    Ok(WriteModeConfig {
        program_scale: scale,
        retention: Some(limits),
        derive: None,
        derivation: Some(solver.derivation(step, retention, rated)),
        ..mode.clone()
    })
}

/// Solver for the program step or the retention of one write mode.
struct WriteSolver<'a> {
    derive: &'a DeriveWrite,
    part: &'a Part,
    /// Temperature at which data is kept \[degrees Celsius\].
    celsius: f64,
    /// Largest error rate that the code corrects.
    limit: f64,
}

impl<'a> WriteSolver<'a> {
    /// Checks that the fields of the request can stand together and fit the part.
    fn new(derive: &'a DeriveWrite, part: &'a Part) -> Result<Self, String> {
        if derive.corrects.is_some() && derive.soft_levels > 0 {
            return Err("corrects and soft_levels are given: expected one or the other".to_owned());
        }
        if derive.by_wear && derive.levels == Levels::Moved {
            return Err("by_wear: levels are moved for one wear; expected levels = \"fixed\", or one limit".to_owned());
        }
        check_erase_shift(derive.erase_shift, part)?;
        Ok(Self {
            derive,
            part,
            celsius: derive.temperature.unwrap_or(part.device.reference_celsius),
            limit: derive.corrects.unwrap_or_else(|| part.limit(derive.soft_levels)),
        })
    }

    fn condition(&self, pe_cycles: f64, age: Nanos, step: f64) -> Condition {
        Condition { step, erase_shift: self.derive.erase_shift, pe_cycles, age, reads: 0.0 }
    }

    /// Returns the wear for which the mode is derived.
    fn wear(&self) -> f64 {
        f64::from(self.derive.at_pe_cycles)
    }

    /// Returns true if the levels may be moved for the mode.
    fn moves_levels(&self) -> bool {
        self.derive.levels == Levels::Moved
    }

    /// Returns the age at the model's reference temperature that equals `age` at the temperature of the mode.
    fn age_at_reference(&self, age: Nanos) -> Nanos {
        self.part.device.age_at(age, self.celsius)
    }

    /// Returns the widest program step that keeps data correctable for `retention`.
    fn widest_step(&self, retention: Nanos) -> Result<f64, String> {
        let (device, limit) = (&self.part.device, self.limit);
        if device.technology.widest_step().is_none() {
            return Err(format!(
                "{} gives error rates at one program step only: expected a model of threshold voltages, or the mode in numbers",
                self.part.name
            ));
        }
        let condition = self.condition(self.wear(), self.age_at_reference(retention), 0.0);
        let step = if self.moves_levels() {
            close(device, &Budget { condition, limit }, Unknown::Step).map(|found| found.condition.step)
        } else {
            widest_step(device, &condition, limit)
        };
        step.ok_or_else(|| {
            format!(
                "no program step keeps data correctable for {retention} after {} cycles ({} corrects {limit:.3e}): expected less of either, or a \
                 stronger code",
                self.derive.at_pe_cycles,
                if self.derive.corrects.is_some() { "its code" } else { &self.part.name }
            )
        })
    }

    /// Returns the longest time for which data programmed with `step` stays correctable at the temperature of the mode.
    fn longest_retention(&self, step: f64) -> Result<Nanos, String> {
        let (device, limit) = (&self.part.device, self.limit);
        let widest = device.technology.widest_step().ok_or_else(|| format!("{} has no program step", self.part.name))?;
        if step > widest {
            return Err(format!("step {step}: expected at most {widest} {}", device.technology.step_unit()));
        }
        let condition = self.condition(self.wear(), Nanos::ZERO, step);
        let found = if self.moves_levels() {
            close(device, &Budget { condition, limit }, Unknown::Retention).map(|found| found.condition.age)
        } else {
            longest_retention(device, &condition, limit)
        };
        found.map(|age| device.age_kept_at(age, self.celsius)).ok_or_else(|| {
            format!("not even fresh data is correctable with a step of {step} after {} cycles", self.derive.at_pe_cycles)
        })
    }

    /// Returns the retention limit of each wear class.
    fn limits_by_wear(&self, step: f64, retention: Nanos, rated: u32) -> Result<PerPageType, String> {
        let device = &self.part.device;
        let of = |class: u32| {
            let edge = f64::from(rated) * f64::from(class + 1) / f64::from(WEAR_CLASSES);
            let found = longest_retention(device, &self.condition(edge, Nanos::ZERO, step), self.limit);
            // Up to the wear of the derivation, the promised retention holds regardless of rounding in the solver.
            let least = if edge <= self.wear() { retention } else { Nanos::ZERO };
            found.map(|age| device.age_kept_at(age.min(LONGEST), self.celsius).max(least)).ok_or_else(|| {
                format!("a step of {step:.4} leaves no fresh data correctable at {edge:.0} of {rated} rated cycles")
            })
        };
        Ok(PerPageType::Each((0..WEAR_CLASSES).map(of).collect::<Result<_, _>>()?))
    }

    /// Returns the record of the derivation, with the error rate at the end of the retention.
    fn derivation(&self, step: f64, retention: Nanos, rated: u32) -> WriteDerivation {
        let (derive, device) = (self.derive, &self.part.device);
        let condition = self.condition(self.wear(), self.age_at_reference(retention), step);
        let estimate = device.estimate(&condition);
        // With moved levels, the error rate is the limit of the weakest code that would suffice.
        let budget = Budget { condition, limit: self.limit };
        let weakest = self.moves_levels().then(|| close(device, &budget, Unknown::Code)).flatten();
        let error_rate = weakest.map_or_else(|| estimate.worst(), |found| found.limit);
        let mut outside = estimate.outside;
        if derive.at_pe_cycles < rated && !derive.by_wear {
            outside.push(format!("the promise is for up to {} cycles, blocks are rated for {rated}", derive.at_pe_cycles));
        }
        WriteDerivation {
            cell: self.part.name.clone(),
            step,
            nominal_step: device.nominal_step,
            retention,
            at_pe_cycles: derive.at_pe_cycles,
            erase_shift: derive.erase_shift,
            levels: derive.levels,
            temperature: self.celsius,
            limit: self.limit,
            error_rate,
            outside,
        }
    }
}

fn check_erase_shift(erase_shift: f64, part: &Part) -> Result<(), String> {
    match part.device.technology.shallowest_erase() {
        Some(most) if erase_shift > most => Err(format!("erase_shift {erase_shift}: expected at most {most} V")),
        None if erase_shift > 0.0 => Err(format!("{} has no erase depth", part.name)),
        _ => Ok(()),
    }
}

/// Returns time and wear of an erase, as multiples of the nominal ones, and the voltage by which it reduces the window
/// \[V\]. For one of the model's own modes, this voltage is that at the rated wear; at less wear, the mode reduces the
/// window further, by the part of the retention margin that is not yet used up.
fn erase_mode(derive: &DeriveErase, part: &Part, rated: u32) -> Result<(f64, PerWear, f64), String> {
    let Technology::Scaled(scaled) = &part.device.technology else {
        return Err(format!("{} has no model of erase wear: expected dpes-mlc", part.name));
    };
    let speed = if derive.slow { EraseSpeed::Slow } else { EraseSpeed::Fast };
    let (wear, erase_shift) = match (derive.erase_shift, derive.mode) {
        (Some(erase_shift), None) => {
            check_erase_shift(erase_shift, part)?;
            (PerWear::One(EraseWear(scaled.scaling.wear_of(erase_shift, speed))), erase_shift)
        }
        (None, Some(mode)) => {
            if f64::from(rated) != scaled.rated_wear {
                return Err(format!(
                    "the modes of {} are for blocks rated for {} cycles: expected that for flash.rated_pe_cycles, which is {rated}",
                    part.name, scaled.rated_wear
                ));
            }
            let of = |interval| EraseWear(scaled.scaling.effective_wear(mode as usize, speed, interval));
            (PerWear::Each((0..INTERVALS).map(of).collect()), scaled.scaling.saved_volts(mode as usize, INTERVALS - 1))
        }
        _ => return Err("expected either an erase_shift or a mode of the model".to_owned()),
    };
    Ok((if derive.slow { scaled.scaling.slow_time } else { 1.0 }, wear, erase_shift))
}

/// Returns the sensing time as a multiple of a hard read's, the number of transfers, and the error rate that is
/// correctable with this number of references.
fn read_mode(derive: &DeriveRead, part: &Part) -> Result<(f64, u32, f64), String> {
    if derive.references.is_multiple_of(2) {
        return Err(format!("{} references: expected an odd number, the hard one and pairs beside it", derive.references));
    }
    let regulator = Regulator::default();
    let scale = regulator.sensing(derive.references).0 as f64 / regulator.sensing(1).0 as f64;
    Ok((scale, ecc::regulator::transfers(derive.references), part.limit((derive.references - 1) / 2)))
}
