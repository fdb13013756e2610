//! Reads that can fail: the error rates of the data of each write mode, and the errors that each kind of read corrects.

use super::derive::part;
use super::{Description, File};
use cell::measured::{Measured, Row};
use cell::{Condition, Device, ErrorTable, Technology};
use controller::decoder::{Decoders, StageTable};
use controller::ecc::{
    CellErrors, DecoderConfig, Delivery, EngineDecoder, ErrorSource, FixedDecoder, ReadLevels, Sharing, TableErrors,
};
use controller::errors::{ErrorConfig, Rates};
use controller::reads::ReadConfig;
use ecc::binomial::{errors_for_tail, rate_for_tail};
use ecc::{Attempt, BchDecoder, BlockCode, Code, Decoder, Engine, LdpcDecoder, Prepared};
use flash::{Levels, WriteModeConfig};
use kit::bisect::bisect_last_true;
use kit::{Bytes, Geometry, ModeId, Nanos, Problem, Problems};
use lab::Part;
use lab::part::Target;
use std::sync::{Arc, Mutex, PoisonError};

/// Wear up to which error rates are computed, as a multiple of the rated endurance or of the wear at the start.
const MAX_WEAR: f64 = 3.0;
/// Age up to which error rates are computed, beyond the age at the start.
const OLDEST: Nanos = Nanos(10 * Nanos::YEAR.0);
/// Part of a mapping unit that its codewords may protect besides its data, as a divisor: assumed, several times the
/// metadata of the parts of the laboratory.
const MAX_METADATA: u64 = 16;
/// Largest number of tables of error rates that are kept for further drives of the process.
const TABLES: usize = 64;

/// The cell as a write mode uses it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    /// Model of the cell.
    pub device: Device,
    /// Program step and erase depth.
    pub condition: Condition,
    /// Temperature at which the data ages \[degrees Celsius\].
    pub celsius: f64,
}

/// The cell and the code of a drive, as its reads need them.
pub(crate) struct Correction {
    /// The code, and the failure probability of a codeword at the limits stated for it.
    pub code: Code,
    pub target: f64,
    /// The number of errors that the code of each write mode corrects with a hard decision.
    pub corrects: Vec<f64>,
}

impl Description {
    /// Adds what cards without ECC cannot have: their data is encoded and decoded by the software of the layer.
    pub(super) fn card_problems(&self, problems: &mut Problems) {
        let Some(cards) = self.controller.cards.as_ref().filter(|cards| cards.is_raw()) else { return };
        let by_software = |cycles: &str| {
            format!("cards with controller.cards.raw_unit = {} have no ECC: expected none here, and {cycles}", cards.raw_unit)
        };
        if self.ecc.source().is_some() && self.ecc.decoder != DecoderConfig::Ideal {
            problems.add("ecc.decoder", by_software("controller.cards.decode_cycles"));
        }
        if self.flash.encoders.iter().any(|encoder| encoder.throughput.is_some()) {
            problems.add("flash.encoder", by_software("controller.cards.encode_cycles"));
        }
    }

    /// Returns the attempts of a read; none if stored data has no errors.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.ecc.source().map_or(Vec::new(), |_| self.ecc.plan.attempts())
    }

    /// Returns the number of groups of decoders; 0 if decoding takes no time or stored data has no errors.
    pub(crate) fn decoder_groups(&self) -> u32 {
        let shared = match &self.ecc.decoder {
            _ if self.ecc.source().is_none() => return 0,
            DecoderConfig::Ideal => return 0,
            DecoderConfig::Fixed(FixedDecoder { shared, .. }) | DecoderConfig::Engines(EngineDecoder { shared, .. }) => shared,
        };
        if *shared == Sharing::Channel { self.flash.channels } else { 1 }
    }

    /// Returns the description of the reads, if stored data has errors.
    pub(super) fn reads(&self, geometry: &Geometry, seed: u64) -> Option<ReadConfig> {
        let source = self.ecc.source()?;
        let correction = self.correction().expect("validated");
        let rates = self.rates(source).expect("validated");
        let attempts = self.attempts();
        let (ladder, limits, kinds) = (self.ladder(), self.limits(&correction, &attempts), self.read_kinds(&attempts));
        let code = Prepared::new(&correction.code, attempts.iter().map(|attempt| attempt.soft_levels).max().unwrap_or(0));
        let index_of = |limit: &(f64, u32)| limits.distinct.iter().position(|known| known == limit).expect("listed") as u8;
        let (blocks, rows) = self.spread(source, geometry, seed);
        Some(ReadConfig {
            errors: ErrorConfig {
                seed,
                rates,
                read_noise: source.read_noise(),
                blocks,
                rows,
                block_count: geometry.block_count,
                rated_pe_cycles: self.flash.rated_pe_cycles,
                codeword_bits: code.codeword_bits(),
                codewords_per_unit: (geometry.unit.bytes() * 8).div_ceil(code.data_bits()) as u32,
                limits: limits.distinct.iter().map(|(limit, _)| *limit).collect(),
            },
            decoders: self.decoders(&correction.code, &code, geometry, &limits.distinct),
            corrects: limits
                .of_kinds
                .chunks(kinds)
                .flat_map(|mode| &mode[..self.read_modes()])
                .map(|(limit, _)| rate_for_tail(code.codeword_bits(), *limit, correction.target))
                .collect(),
            limits: limits.of_kinds.iter().map(index_of).collect(),
            read_modes: self.read_modes(),
            attempts,
            levels: self.ecc.read_levels,
            ladder,
            calibration: self.ecc.calibration,
            in_order: self.ecc.delivery == Delivery::InOrder,
            geometry: *geometry,
        })
    }

    fn read_modes(&self) -> usize {
        self.flash.read_modes.len().max(1)
    }

    fn read_kinds(&self, attempts: &[Attempt]) -> usize {
        self.read_modes() * attempts.len()
    }

    /// Returns the read modes that differ in the error rate they correct, fastest first.
    fn ladder(&self) -> Vec<ModeId> {
        let modes = self.flash.read_modes.iter().enumerate().filter_map(|(index, mode)| Some((mode.corrects?, index)));
        let mut modes: Vec<(f64, usize)> = modes.collect();
        modes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        modes.into_iter().map(|(_, index)| ModeId(index as u8)).collect()
    }

    /// Adds the problems of reads that can fail: a model that is missing or does not fit the flash, a code that does
    /// not fit a mapping unit, read levels that the flash lacks.
    pub(super) fn ecc_problems(&self, problems: &mut Problems) {
        let before = problems.0.len();
        self.ecc.problems(self.flash.cell.bits() as usize, self.read_modes(), problems);
        let Some(source) = self.ecc.source() else { return };
        if self.ecc.read_levels != ReadLevels::ByWriteMode && self.ladder().len() < 2 {
            problems.add(
                "ecc.read_levels",
                format!(
                    "the flash has {} read modes that state what they correct: expected two at least in flash.read_mode, with `corrects` or `derive`",
                    self.ladder().len()
                ),
            );
        }
        if problems.0.len() > before {
            return;
        }
        if let Err(found) = self.rates_problems(source) {
            problems.0.extend(found.0);
        }
        match self.correction() {
            Ok(correction) => {
                self.code_problems(&correction.code, problems);
                self.decoding_problems(&correction.code, problems);
            }
            Err(found) => problems.0.extend(found.0),
        }
    }

    /// Adds the problems of the code where reads can fail: codewords that do not fill a mapping unit, and parity of the
    /// model's own code that does not fit the spare area; that of a given code has been checked with the flash.
    fn code_problems(&self, code: &Code, problems: &mut Problems) {
        let (unit, data) = (self.unit().bytes() * 8, code.data_bits());
        // A codeword may protect metadata, too: 14 B beside 1 KiB, 24 B beside 4 KiB (`lab::parts`).
        let beyond = unit.div_ceil(data) * data - unit;
        if beyond > unit / MAX_METADATA {
            let unit = Bytes(unit / 8);
            let wanted = format!("expected a size that divides {unit}, a mapping unit, or up to 6 % more, where reads can fail");
            problems.add("flash.code.data", format!("{}: {wanted}", Bytes(data / 8)));
        } else if let (None, Some(spare), Some(layout)) =
            (&self.flash.code, self.flash.spare_size, code.layout(self.flash.page_size.0))
            && layout.spare_bytes > spare.0
            && let Err(problem) = code.fits(self.flash.page_size.0, spare.0)
        {
            problems.0.push(Problem { place: "flash.spare_size".to_owned(), ..problem });
        }
    }

    /// Adds the problems of plan and decoder that do not suit the code: soft levels for a BCH code, which decodes hard
    /// decisions only, and decoders of the other kind.
    fn decoding_problems(&self, code: &Code, problems: &mut Problems) {
        let is_bch = matches!(code, Code::Bch(_));
        if is_bch && self.attempts().iter().any(|attempt| attempt.soft_levels > 0) {
            let wanted = "the code is BCH, for which soft levels correct nothing more: expected an LDPC code in flash.code, or plan = \"read_retry\"";
            problems.add("ecc.plan", wanted);
        }
        let DecoderConfig::Engines(EngineDecoder { decoder: Some(decoder), .. }) = &self.ecc.decoder else { return };
        if is_bch != matches!(decoder, Decoder::Bch(_)) {
            let (given, kind) = if is_bch { ("ldpc", "bch") } else { ("bch", "ldpc") };
            problems
                .add("ecc.decoder.decoder", format!("`{given}` does not decode the drive's code: expected kind = \"{kind}\""));
        }
    }

    /// Returns the code of the drive, and what it corrects.
    pub(crate) fn correction(&self) -> Result<Correction, Problems> {
        let part = part(&self.flash, false)?;
        let (code, target) = match (&self.flash.code, &part) {
            (_, Some(part)) => (part.code.clone(), failure_target(part)),
            (Some(code), None) => (code.clone(), 1e-15),
            (None, None) => {
                return Err(Problems::one(
                    "flash.code",
                    "missing: reads can fail; expected a code, or flash.cell_model with its own",
                ));
            }
        };
        let corrects = self.flash.write_modes.iter().map(|mode| own_limit(mode, part.as_ref(), &code, target)).collect();
        Ok(Correction { code, target, corrects })
    }

    /// Returns the numbers of errors that reads correct.
    fn limits(&self, correction: &Correction, attempts: &[Attempt]) -> Limits {
        let Correction { code, target, corrects } = correction;
        let bits = code.codeword_bits();
        let stated: Vec<Option<f64>> = match &self.flash.read_modes[..] {
            [] => vec![None],
            modes => modes.iter().map(|mode| mode.corrects.map(|rate| errors_for_tail(bits, rate, *target))).collect(),
        };
        let mut of_kinds = Vec::new();
        for own in corrects {
            for attempt in attempts {
                for stated in &stated {
                    let hard = stated.unwrap_or(*own);
                    let levels = attempt.soft_levels;
                    of_kinds.push(if levels == 0 { (hard, 0) } else { (hard.max(code.correctable(levels)), levels) });
                }
            }
        }
        let mut distinct = of_kinds.clone();
        distinct.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        distinct.dedup();
        Limits { of_kinds, distinct }
    }

    /// Returns the error rates of the data of each write mode.
    fn rates(&self, source: &ErrorSource) -> Result<Vec<Rates>, Problems> {
        let modes = self.flash.write_modes.len();
        match source {
            ErrorSource::None => Ok(Vec::new()),
            ErrorSource::Constant(constant) => Ok(vec![Rates::constant(&constant.rates); modes]),
            ErrorSource::Table(_) | ErrorSource::Cell(_) => {
                let written = self.written(source)?;
                let max_wear = MAX_WEAR * f64::from(self.flash.rated_pe_cycles.max(self.state.pe_cycles));
                let oldest = Nanos(OLDEST.0.saturating_add(self.state.age.0));
                Ok(written.into_iter().map(|written| Rates::Table(table(written, max_wear, oldest))).collect())
            }
        }
    }

    /// Returns the problems that [`Description::rates`] would have, without computing the rates.
    fn rates_problems(&self, source: &ErrorSource) -> Result<(), Problems> {
        match source {
            // The file is read after the first check; the second one sees its rows.
            ErrorSource::Table(TableErrors { file: Some(_), .. }) | ErrorSource::None | ErrorSource::Constant(_) => Ok(()),
            ErrorSource::Table(_) | ErrorSource::Cell(_) => self.written(source).map(drop),
        }
    }

    /// Returns the cell as each write mode uses it.
    fn written(&self, source: &ErrorSource) -> Result<Vec<Written>, Problems> {
        let (model, temperature) = match source {
            ErrorSource::Cell(CellErrors { model, temperature, .. }) => (model.as_ref(), *temperature),
            ErrorSource::Table(table) => return self.measured(table),
            ErrorSource::None | ErrorSource::Constant(_) => return Ok(Vec::new()),
        };
        let mut problems = Problems::default();
        let mut found = Vec::new();
        for (index, mode) in self.flash.write_modes.iter().enumerate() {
            match self.written_in(index, mode, model, temperature) {
                Ok(written) => found.push(written),
                // A missing or unknown model is the same problem for every mode.
                Err(more) => {
                    problems.0.extend(more.0.into_iter().filter(|problem| !problems.0.contains(problem)).collect::<Vec<_>>())
                }
            }
        }
        problems.or(found)
    }

    fn written_in(
        &self,
        index: usize,
        mode: &WriteModeConfig,
        model: Option<&String>,
        temperature: Option<f64>,
    ) -> Result<Written, Problems> {
        let bits = mode.bits_per_cell.unwrap_or(self.flash.cell.bits());
        let place = format!("flash.write_mode[{index}]");
        let (named, part) = match (&mode.cell_model, model, &self.flash.cell_model) {
            (Some(name), _, _) => (None, lab::parts::find(&format!("{place}.cell_model"), name)?),
            (None, Some(name), _) => (Some("ecc.errors.model"), lab::parts::find("ecc.errors.model", name)?),
            (None, None, Some(name)) => (Some("flash.cell_model"), lab::parts::find("flash.cell_model", name)?),
            (None, None, None) => {
                let names = lab::parts::names().collect::<Vec<_>>().join(", ");
                let wanted =
                    format!("missing: stored data has the errors of the cell; expected the model of the cell, one of {names}");
                return Err(Problems::one("flash.cell_model", wanted));
            }
        };
        if part.device.technology.page_types() != bits as usize {
            let (name, types) = (&part.name, part.device.technology.page_types());
            if let (Some(field), None) = (named, mode.bits_per_cell) {
                let wanted = format!("{name} has {types} page types, flash.cell has {bits}: expected a model of the same cell");
                return Err(Problems::one(field, wanted));
            }
            return Err(Problems::one(
                format!("{place}.cell_model"),
                format!(
                    "`{}` stores {bits} bits per cell, and {name} is a model with {types} page types: expected a model of such a cell",
                    mode.name
                ),
            ));
        }
        how_written(mode, &part)
            .map(|(condition, celsius)| Written { celsius: temperature.unwrap_or(celsius), condition, device: part.device })
            .map_err(|why| Problems::one(place, why))
    }

    /// Returns the measurements, for all write modes alike.
    fn measured(&self, table: &TableErrors) -> Result<Vec<Written>, Problems> {
        let types = self.flash.cell.bits() as usize;
        let of_all = |rates: &[f64]| if rates.len() == 1 { vec![rates[0]; types] } else { rates.to_vec() };
        let rows: Vec<Row> =
            table.rows.iter().map(|row| Row { pe_cycles: row.pe_cycles, days: row.days, pages: of_all(&row.rates) }).collect();
        let device = Device::of(Technology::Measured(Measured::of("ecc.errors.rows", &rows)?), self.flash.rated_pe_cycles);
        let celsius = device.reference_celsius;
        let written = Written { device, condition: Condition::default(), celsius };
        Ok(vec![written; self.flash.write_modes.len()])
    }

    /// Returns the logarithms of the factors on the error rate, by block and by row of pages: those of a wordline are
    /// alike.
    fn spread(&self, source: &ErrorSource, geometry: &Geometry, seed: u64) -> (Vec<f32>, Vec<f32>) {
        let ErrorSource::Cell(CellErrors { variation: true, .. }) = source else { return (Vec::new(), Vec::new()) };
        let Ok(written) = self.written(source) else { return (Vec::new(), Vec::new()) };
        let variation = written[0].device.variation;
        let (rows, bits) = (self.flash.pages_per_block * geometry.shape.superblock, self.flash.cell.bits());
        (
            (0..u64::from(geometry.block_count)).map(|block| variation.ln_of_block(seed, block) as f32).collect(),
            (0..rows).map(|row| variation.ln_of_layer(seed, u64::from(row / bits)) as f32).collect(),
        )
    }

    /// Returns the decoders; `None` if decoding takes no time.
    fn decoders(&self, code: &Code, prepared: &Prepared, geometry: &Geometry, limits: &[(f64, u32)]) -> Option<Decoders> {
        let channels = geometry.shape.channels;
        match &self.ecc.decoder {
            DecoderConfig::Ideal => None,
            DecoderConfig::Fixed(FixedDecoder { time, decoders, shared }) => {
                let engine = Engine { decoders: *decoders, ..Engine::default() };
                Some(Decoders::new(&engine, *shared, channels, StageTable::fixed(*time, limits)))
            }
            DecoderConfig::Engines(EngineDecoder { decoders, threads, shared, decoder }) => {
                let decoder = decoder.clone().unwrap_or_else(|| own_decoder(code));
                let engine = Engine { decoders: *decoders, threads: *threads, decoder };
                let times = StageTable::of_engine(&engine, prepared, limits);
                Some(Decoders::new(&engine, *shared, channels, times))
            }
        }
    }
}

/// Returns the decoder of a code for which none is described.
pub(crate) fn own_decoder(code: &Code) -> Decoder {
    match code {
        Code::Bch(_) => Decoder::Bch(BchDecoder::default()),
        Code::Ldpc(_) => Decoder::Ldpc(LdpcDecoder::default()),
    }
}

/// Numbers of errors that reads correct, each with the soft levels of the decoder.
struct Limits {
    /// By write mode and kind of read.
    of_kinds: Vec<(f64, u32)>,
    /// All that occur, ascending.
    distinct: Vec<(f64, u32)>,
}

/// Replaces the file of measured errors by its rows.
pub(super) fn read_file(source: &mut ErrorSource, file: File<'_>) -> Result<(), Problems> {
    let ErrorSource::Table(table) = source else { return Ok(()) };
    let Some(path) = table.file.take() else { return Ok(()) };
    let text = file(&path).map_err(|why| Problems::one("ecc.errors.file", format!("{path}: {why}")))?;
    let row = |row: Row| controller::ecc::MeasuredErrors { pe_cycles: row.pe_cycles, days: row.days, rates: row.pages };
    let of_field = |problem: Problem| Problem::new("ecc.errors.file", problem.to_string());
    let rows = lab::measured_rows(&path, &text).map_err(|found| Problems(found.0.into_iter().map(of_field).collect()))?;
    table.rows = rows.into_iter().map(row).collect();
    if table.rows.is_empty() {
        return Err(Problems::one("ecc.errors.file", format!("{path}: no measurements: expected at least one row")));
    }
    Ok(())
}

/// Returns the failure probability of a codeword that defines the limit of a part's code.
pub(crate) fn failure_target(part: &Part) -> f64 {
    match part.target {
        Target::Failure(probability) => probability,
        Target::Uber(uber) => uber * part.code.data_bits() as f64,
    }
}

/// Returns the number of errors that the code of a write mode corrects with a hard decision. A mode with a code of its
/// own states only a correctable error rate; the number is the one that is exceeded at that rate with the failure
/// probability `target`.
pub(crate) fn own_limit(mode: &WriteModeConfig, part: Option<&Part>, code: &Code, target: f64) -> f64 {
    let (Some(derivation), Some(part)) = (&mode.derivation, part) else { return code.correctable(0) };
    let is_of_code = (0..=16).any(|levels| part.limit(levels) == derivation.limit);
    if is_of_code { code.correctable(0) } else { errors_for_tail(code.codeword_bits(), derivation.limit, target) }
}

/// Returns the program step and window with which a mode's pages are written, and the temperature at which they are
/// kept.
pub(crate) fn how_written(mode: &WriteModeConfig, part: &Part) -> Result<(Condition, f64), String> {
    let celsius = part.device.reference_celsius;
    if let Some(found) = &mode.derivation {
        if found.levels == Levels::Moved {
            return Err(format!(
                "the write mode `{}` moves the levels of the cell, of which no table of error rates is made",
                mode.name
            ));
        }
        let written = Condition { step: found.step, erase_shift: found.erase_shift, ..Condition::default() };
        return Ok((written, found.temperature));
    }
    let fewer_bits = mode.bits_per_cell.is_some();
    let step = if mode.program_scale == 1.0 || fewer_bits || part.device.technology.widest_step().is_none() {
        Some(part.device.nominal_step)
    } else {
        step_of(mode.program_scale, part)
    };
    let step = step.ok_or_else(|| {
        format!(
            "the program step of the write mode `{}` is not known: it is not derived from {}, which programs in no step in {} of its nominal time",
            mode.name, part.name, mode.program_scale
        )
    })?;
    Ok((Condition { step, ..Condition::default() }, celsius))
}

/// Returns the program step with which a program takes `scale` of its nominal time.
fn step_of(scale: f64, part: &Part) -> Option<f64> {
    let nominal = part.program_time(part.device.nominal_step)?.0 as f64;
    let (least, widest) = (part.device.nominal_step / 64.0, part.device.technology.widest_step()?);
    let takes = |step: f64| part.program_time(step).map_or(f64::INFINITY, |time| time.0 as f64 / nominal);
    if !(takes(widest)..=takes(least)).contains(&scale) {
        return None;
    }
    Some(bisect_last_true(least, widest, 50, |step| takes(step) >= scale))
}

/// Returns the table of error rates of data written in a way. Tables are kept for further drives of the process.
pub(crate) fn table(written: Written, max_wear: f64, oldest: Nanos) -> Arc<ErrorTable> {
    type Known = (Written, f64, Nanos, Arc<ErrorTable>);
    static TABLES_KEPT: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let mut known = TABLES_KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., table)) = known.iter().find(|known| (&known.0, known.1, known.2) == (&written, max_wear, oldest)) {
        return table.clone();
    }
    let table = Arc::new(ErrorTable::build(&written.device, &written.condition, max_wear, oldest, written.celsius));
    if known.len() == TABLES {
        known.remove(0);
    }
    known.push((written, max_wear, oldest, table.clone()));
    table
}
