//! The part that a question is about, with the changes that the question makes to it.

use super::Question;
use crate::code_file;
use crate::measurements::measured_part;
use crate::notation::parse_code;
use crate::part::Part;
use crate::parts;
use cell::dpes::{ERASE_MODES, Entry, EraseSpeed, INTERVALS};
use cell::voltage::Neighbourhood;
use cell::{References, Technology};
use kit::{Problem, Problems};

impl Question {
    /// Returns the named part, or one made of the measurements.
    pub(super) fn part(&self) -> Result<Part, Problems> {
        match &self.measurements {
            Some(text) => measured_part(&self.cell, text),
            None => Ok(parts::find("cell", &self.cell)?),
        }
    }

    /// Applies the changes of the question to the part.
    pub(super) fn adjust(&self, part: &mut Part, problems: &mut Problems) {
        if let Some(kind) = &self.references {
            match kind.as_str() {
                "fixed" => part.device.references = References::Fixed,
                "tracked" => part.device.references = References::Tracked,
                "optimal" => part.device.references = References::Optimal,
                other => problems.0.push(Problem::unknown("references", "kind", other, ["fixed", "tracked", "optimal"])),
            }
            self.needs_voltages(part, "references", problems);
        }
        if let Some(kind) = &self.neighbourhood {
            let found = match kind.as_str() {
                "all_bit_line" => Some(Neighbourhood::AllBitLine),
                "even_odd" => Some(Neighbourhood::EvenOdd),
                other => {
                    problems.0.push(Problem::unknown("neighbourhood", "kind", other, ["all_bit_line", "even_odd"]));
                    None
                }
            };
            if let (Some(found), Technology::Voltage(model)) = (found, &mut part.device.technology) {
                model.neighbourhood = found;
            }
            self.needs_voltages(part, "neighbourhood", problems);
        }
        if let Some(verify) = &self.verify {
            self.needs_voltages(part, "verify", problems);
            if let Technology::Voltage(model) = &mut part.device.technology {
                let (count, lowest) = (model.verify.len(), model.erased_mean);
                let rising = verify.windows(2).all(|pair| pair[0] < pair[1]);
                if verify.len() != count || !rising || verify.iter().any(|volts| !(*volts > lowest && *volts < 20.0)) {
                    problems.add("verify", format!("{verify:?}: expected {count} rising voltages from {lowest} to 20"));
                } else {
                    model.verify.clone_from(verify);
                }
            }
        }
        self.replace_wear(part, problems);
        if let Some(on) = self.compensation {
            if let Technology::Voltage(model) = &mut part.device.technology {
                model.post_compensation = on;
            }
            self.needs_voltages(part, "compensation", problems);
        }
        if self.code.is_some() && self.measured_code.is_some() {
            problems.add("code", "both a code and a file of measurements: expected one of them");
        }
        if let Some(text) = &self.code {
            match parse_code(text) {
                Ok(code) => {
                    code.problems("code", problems);
                    part.protect(code);
                }
                Err(complaint) => problems.add("code", complaint),
            }
        }
        if let Some(text) = &self.measured_code {
            match code_file::limits_of(text) {
                Ok(code) => part.protect(code),
                Err(complaint) => problems.add("code", complaint),
            }
        }
    }

    fn replace_wear(&self, part: &mut Part, problems: &mut Problems) {
        for (index, entry) in self.erase_wear.iter().enumerate() {
            let place = format!("erase_wear[{index}]");
            let Technology::Scaled(cell) = &mut part.device.technology else {
                problems.add(place, format!("{} has no erase modes: dpes-mlc has", part.name));
                return;
            };
            let mode = (0..ERASE_MODES).find(|mode| entry.mode == format!("EV{mode}"));
            let speed = match entry.speed.as_str() {
                "fast" => Some(EraseSpeed::Fast),
                "slow" => Some(EraseSpeed::Slow),
                _ => None,
            };
            match (mode, speed) {
                (Some(mode), Some(speed)) if entry.interval < INTERVALS && entry.wear > 0.0 && entry.wear <= 10.0 => {
                    cell.scaling.replaced.push(Entry { mode, speed, interval: entry.interval, wear: entry.wear });
                }
                _ => problems.add(
                    place,
                    format!(
                        "{}, {}, interval {}, wear {}: expected EV0 to EV4, fast or slow, an interval below {INTERVALS}, and a wear above 0, at most 10",
                        entry.mode, entry.speed, entry.interval, entry.wear
                    ),
                ),
            }
        }
    }

    fn needs_voltages(&self, part: &Part, place: &str, problems: &mut Problems) {
        if !matches!(part.device.technology, Technology::Voltage(_)) {
            problems.add(place, format!("cell {} has no model of threshold voltages that this could change", part.name));
        }
    }
}
