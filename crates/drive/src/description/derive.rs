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
    let celsius = derive.temperature.unwrap_or(part.device.reference_celsius);
    if derive.corrects.is_some() && derive.soft_levels > 0 {
        return Err("corrects and soft_levels are given: expected one or the other".to_owned());
    }
    if derive.by_wear && derive.levels == Levels::Moved {
        return Err("by_wear: levels are moved for one wear; expected levels = \"fixed\", or one limit".to_owned());
    }
    let limit = derive.corrects.unwrap_or_else(|| part.limit(derive.soft_levels));
    let moves = derive.levels == Levels::Moved;
    let at =
        |pe_cycles: f64, age: Nanos, step: f64| Condition { step, erase_shift: derive.erase_shift, pe_cycles, age, reads: 0.0 };
    let wear = f64::from(derive.at_pe_cycles);
    check_erase_shift(derive.erase_shift, part)?;
    let real = |age: Nanos| part.device.age_kept_at(age, celsius);
    let (step, retention) = match (derive.retention, derive.step) {
        (Some(retention), None) => {
            let step = if part.device.technology.widest_step().is_some() {
                let condition = at(wear, part.device.age_at(retention, celsius), 0.0);
                if moves {
                    close(&part.device, &Budget { condition, limit }, Unknown::Step).map(|found| found.condition.step)
                } else {
                    widest_step(&part.device, &condition, limit)
                }
            } else {
                return Err(format!(
                    "{} gives error rates at one program step only: expected a model of threshold voltages, or the mode in numbers",
                    part.name
                ));
            };
            let step = step.ok_or_else(|| {
                format!(
                    "no program step keeps data correctable for {retention} after {} cycles ({} corrects {limit:.3e}): expected less of either, or a \
                     stronger code",
                    derive.at_pe_cycles,
                    if derive.corrects.is_some() { "its code" } else { &part.name }
                )
            })?;
            (step, retention)
        }
        (None, Some(step)) => {
            let widest = part.device.technology.widest_step().ok_or_else(|| format!("{} has no program step", part.name))?;
            if step > widest {
                return Err(format!("step {step}: expected at most {widest} {}", part.device.technology.step_unit()));
            }
            let condition = at(wear, Nanos::ZERO, step);
            let found = if moves {
                close(&part.device, &Budget { condition, limit }, Unknown::Retention).map(|found| found.condition.age)
            } else {
                longest_retention(&part.device, &condition, limit)
            };
            let found = found.ok_or_else(|| {
                format!("not even fresh data is correctable with a step of {step} after {} cycles", derive.at_pe_cycles)
            })?;
            (step, real(found))
        }
        _ => return Err("expected either `retention` (the step is derived) or `step` (the retention is derived)".to_owned()),
    };
    let estimate = part.device.estimate(&at(wear, part.device.age_at(retention, celsius), step));
    let mut outside = estimate.outside.clone();
    // With moved levels, the error rate is the limit of the weakest code that would suffice.
    let condition = at(wear, part.device.age_at(retention, celsius), step);
    let weakest = moves.then(|| close(&part.device, &Budget { condition, limit }, Unknown::Code)).flatten();
    let error_rate = weakest.map_or_else(|| estimate.worst(), |found| found.limit);
    if derive.at_pe_cycles < rated && !derive.by_wear {
        outside.push(format!("the promise is for up to {} cycles, blocks are rated for {rated}", derive.at_pe_cycles));
    }
    let nominal = part.program_time(part.device.nominal_step);
    let scale = part.program_time(step).zip(nominal).map_or(1.0, |(time, nominal)| time.0 as f64 / nominal.0 as f64);
    let limits = if derive.by_wear {
        let edge = |class: u32| f64::from(rated) * f64::from(class + 1) / f64::from(WEAR_CLASSES);
        let of = |class: u32| {
            let found = longest_retention(&part.device, &at(edge(class), Nanos::ZERO, step), limit);
            // Up to the wear of the derivation, the promised retention holds regardless of rounding in the solver.
            let least = if edge(class) <= wear { retention } else { Nanos::ZERO };
            found.map(|age| real(age.min(LONGEST)).max(least)).ok_or_else(|| {
                format!("a step of {step:.4} leaves no fresh data correctable at {:.0} of {rated} rated cycles", edge(class))
            })
        };
        PerPageType::Each((0..WEAR_CLASSES).map(of).collect::<Result<_, _>>()?)
    } else {
        PerPageType::One(retention)
    };
    Ok(WriteModeConfig {
        program_scale: scale,
        retention: Some(limits),
        derive: None,
        derivation: Some(WriteDerivation {
            cell: part.name.clone(),
            step,
            nominal_step: part.device.nominal_step,
            retention,
            at_pe_cycles: derive.at_pe_cycles,
            erase_shift: derive.erase_shift,
            levels: derive.levels,
            temperature: celsius,
            limit,
            error_rate,
            outside,
        }),
        ..mode.clone()
    })
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
