//! A drive's description: one TOML document, checked against one declaration of its fields.
//!
//! The fields are declared once, as serde structs in the crates of the stages they configure. The JSON Schema is
//! generated from these structs. The checker walks the document along the schema and reports all errors at once, each
//! with its line, the value, the accepted values and the nearest valid name. Then serde reads the document, and each
//! stage checks its fields for inconsistencies.

mod base;
mod budget;
mod cache;
mod check;
mod derive;
mod document;
mod errors;
mod executed;
mod power;
mod power_loss;
mod reference;
mod retention;

pub(crate) use derive::cell_part;
pub(crate) use errors::own_decoder;
pub use power_loss::PowerLossConfig;

use controller::link_errors::LinkErrorConfig;
use controller::{ControllerConfig, ControllerSection, EccConfig, MapPlace};
use flash::faults::FaultsConfig;
use flash::power::PowerConfig;
use flash::{FlashConfig, WriteModeConfig};
use ftl::firmware::Header;
use ftl::layer::Parts;
use ftl::policy::{Facts, ModePolicy, Needs, PolicyConfig};
use ftl::{
    Buffering, FtlConfig, Load, MapMemory, Parameters, Precondition, Preconditioned, ReadCacheConfig, StartingKey,
    TranslationConfig, Translator,
};
use host::{BufferConfig, BufferPolicy, FlushOrder, HostConfig, Rewritten};
use kit::{Geometry, Nanos, OperationKind, Problem, Problems, SECTOR_BYTES, UNIT_BYTES, UnitSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands outstanding in the load whose steady state `steady` makes.
const STEADY_COMMANDS: u64 = 32;
/// Largest mapping unit: what a read leaves out of its two ends is counted in a byte.
const MAX_UNIT: u64 = 256 << 10;

/// Callback that returns the content of a file named in a description, or the reason why it cannot be read: a text, or
/// the bytes of an executable as characters up to U+00FF ([`kit::capped::read_named`]).
pub type File<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Refuses every file: the [`File`] callback where no file can be read.
pub(crate) fn no_file(_: &str) -> Result<String, String> {
    Err("no file can be read here".to_owned())
}

/// Method by which the drive is brought to its starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionMethod {
    /// The drive is empty.
    None,
    /// Every unit is written once, in order.
    Fill,
    /// The drive is filled, and then overwritten at random with `overwrite_passes` times the user capacity.
    Random,
    /// The steady state of uniform random overwrites of 4 KiB, under the load that `load` names. It is constructed in
    /// one pass, without simulated time.
    Steady,
}

/// The load whose steady state is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLoad {
    /// Writes without a pause: 32 commands outstanding, and a write buffer that is full. The dies keep about
    /// `ftl.gc_critical_blocks` free.
    Sustained,
    /// A load that leaves the dies idle. They keep `ftl.gc_low_blocks` free, or the share of the spare blocks that
    /// `ftl.gc_spare_fraction` makes of it.
    Light,
    /// A load so light that each die is idle for `ftl.gc_idle_after` time and again. They keep
    /// `ftl.gc_idle_target_blocks` free, where that is more.
    Paused,
}

/// The `[state]` section: the state in which a run begins and the way it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateConfig {
    /// Method by which the drive is brought to its starting state.
    pub precondition: PreconditionMethod,
    /// The load whose state `steady` makes. Absent: `light` where `ftl.gc_spare_fraction` makes collection keep more
    /// than `ftl.gc_low_blocks` free, otherwise `sustained`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<SteadyLoad>,
    /// Number of times that `random` overwrites the user capacity.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 100))]
    pub overwrite_passes: u32,
    /// Time before the run over which the first programs of the blocks with old data are uniformly spread.
    #[serde(default)]
    pub age: Nanos,
    /// Number of erases that every block has undergone before the run.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000_000))]
    pub pe_cycles: u32,
    /// True if the run ends with a graceful shutdown: the write buffer is programmed, and the policy completes the page
    /// moves that it must.
    #[serde(default)]
    pub graceful_shutdown: bool,
}

impl StateConfig {
    /// Returns the starting state in the form that the FTL takes.
    pub fn preconditioned(&self) -> Preconditioned {
        let method = match self.precondition {
            PreconditionMethod::None => Precondition::None,
            PreconditionMethod::Fill => Precondition::Fill,
            PreconditionMethod::Random => Precondition::Random { passes: self.overwrite_passes },
            PreconditionMethod::Steady => Precondition::Steady,
        };
        Preconditioned { method, age: self.age, pe_cycles: self.pe_cycles }
    }
}

fn is_default(ecc: &EccConfig) -> bool {
    *ecc == EccConfig::default()
}

fn is_ideal(controller: &ControllerSection) -> bool {
    *controller == ControllerSection::default()
}

fn two() -> u32 {
    2
}

/// A drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ssdlab drive")]
pub struct Description {
    /// One-line description of the drive.
    pub title: String,
    /// The host interface.
    pub host: HostConfig,
    /// The write buffer.
    pub buffer: BufferConfig,
    /// The parts of the controller between host interface and flash channels.
    #[serde(default, skip_serializing_if = "is_ideal")]
    pub controller: ControllerSection,
    /// The flash.
    pub flash: FlashConfig,
    /// Errors of stored data, their decoding, and the recovery of reads that fail.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecc: EccConfig,
    /// Currents of the flash and powers of the other parts, from which energy and power are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
    /// Faults of the flash, of the host link and of the controller, and the blocks that replace those that fail.
    /// Absent: nothing fails, and no block is bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultsConfig>,
    /// Capacitors that hold the drive up when power is lost. Absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossConfig>,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// The mode policy.
    #[serde(default)]
    pub policy: PolicyConfig,
    /// The starting state.
    pub state: StateConfig,
}

impl Description {
    /// Reads a description from `text`. `name` identifies it in messages; `sets` are `KEY=VALUE` overrides. A `base`
    /// field names a preset that provides the fields missing in the text. Files named in the description cannot be
    /// read.
    pub fn read(name: &str, text: &str, sets: &[String]) -> Result<Description, Problems> {
        Description::read_with(name, text, sets, &no_file)
    }

    /// Reads a description like [`Description::read`]; `file` returns the texts of the files that it names, its base
    /// among them. A title that describes a base of another structure is replaced.
    pub fn read_with(name: &str, text: &str, sets: &[String], file: File<'_>) -> Result<Description, Problems> {
        let document = document::Document::read(name, text, sets, file)?;
        let (description, mut problems) = check::read(&document);
        let Some(mut description) = description else { return Err(problems) };
        // The given fields are checked first, so that nothing is derived from an inconsistent flash section.
        problems.0.extend(document.locate(description.problems()).0);
        problems.or(())?;
        derive::resolve(&mut description.flash, file).map_err(|problems| document.locate(problems))?;
        if let Some(source) = &mut description.ecc.errors {
            errors::read_file(source, file).map_err(|problems| document.locate(problems))?;
        }
        if let Some(power) = &mut description.power {
            power.read_files(file).map_err(|problems| document.locate(problems))?;
        }
        let problems = description.problems();
        if !problems.0.is_empty() {
            return Err(document.locate(problems));
        }
        description.read_firmware(file).map_err(|problems| document.locate(problems))?;
        description.read_image(file).map_err(|problems| document.locate(problems))?;
        if let Some(origin) = &document.outdated_title {
            description.title = description.derived_title(origin);
        }
        Ok(description)
    }

    /// Returns the title of a drive that is derived from the preset or file `origin` and has another structure.
    fn derived_title(&self, origin: &str) -> String {
        let geometry = self.geometry();
        let (channels, capacity) = (geometry.shape.channels, kit::words::size(kit::Bytes(self.user_bytes())));
        format!("derived from {origin}: {channels} channels x {} dies, {capacity}", geometry.die_count / channels)
    }

    /// Reads the firmware trace that the translation layer replays, if it does.
    fn read_firmware(&mut self, file: File<'_>) -> Result<(), Problems> {
        let place = "ftl.translation.file";
        let geometry = self.geometry();
        let header = Header::of(&geometry, &self.facts(&geometry), self.ftl.user_units(&geometry));
        let TranslationConfig::Replay(replay) = &mut self.ftl.translation else { return Ok(()) };
        let text = file(&replay.file).map_err(|why| Problems::one(place, format!("{}: {why}", replay.file)))?;
        let of_field = |problem: Problem| Problem::new(place, problem.to_string());
        replay.read(&text, &geometry, &header).map_err(|found| Problems(found.0.into_iter().map(of_field).collect()))
    }

    /// Returns the JSON Schema of the structs of a description, with what the checker of documents adds.
    pub fn schema() -> serde_json::Value {
        check::schema()
    }

    /// Returns the JSON Schema of a description for editors: see [`kit::editor`].
    pub fn editor_schema() -> serde_json::Value {
        kit::editor::schema(&check::schema(), true)
    }

    /// Returns the reference page of a description's fields, in Markdown.
    pub fn reference() -> String {
        reference::page(&check::schema())
    }

    /// Returns the description as TOML, with every field resolved.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a description is a table of plain values")
    }

    /// Returns the inconsistencies among the fields; the ranges of single fields have been checked before. Later checks
    /// run only if the earlier ones find nothing.
    pub(crate) fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        self.flash.problems(&mut problems);
        if !PolicyConfig::NAMES.contains(&self.policy.kind.as_str()) {
            problems.0.push(Problem::unknown("policy.kind", "policy", &self.policy.kind, PolicyConfig::NAMES.iter().copied()));
        }
        if !problems.0.is_empty() {
            return problems;
        }
        if !self.flash.blocks_per_plane.is_multiple_of(self.ftl.superblock_blocks) {
            problems.add(
                "ftl.superblock_blocks",
                format!(
                    "{}: expected a divisor of flash.blocks_per_plane = {}",
                    self.ftl.superblock_blocks, self.flash.blocks_per_plane
                ),
            );
            return problems;
        }
        self.mapping_unit_problems(&mut problems);
        if !problems.0.is_empty() {
            return problems;
        }
        let geometry = self.geometry();
        self.section_problems(&geometry, &mut problems);
        // Facts follow only from sections without problems: what they divide by may be wrong otherwise.
        let are_sound = problems.0.is_empty();
        let policy = are_sound.then(|| self.policy.build(&self.facts(&geometry))).flatten();
        let needs = policy.as_ref().map(|policy| policy.needs()).unwrap_or_default();
        self.ftl.problems(&geometry, (self.streams(&needs), self.left_out(&geometry)), &mut problems);
        self.policy_problems(&mut problems);
        self.translation_problems(&mut problems);
        self.executed_problems(&mut problems);
        // Unknown names are reported at once; the voltage budget is checked once all modes are derived.
        let is_derived = self.flash.write_modes.iter().all(|mode| mode.derive.is_none());
        if are_sound && self.policy.members().is_some() && (is_derived || policy.is_none()) {
            self.combine_problems(&geometry, &mut problems);
        }
        if !problems.0.is_empty() {
            return problems;
        }
        if is_derived && self.flash.read_modes.iter().all(|mode| mode.derive.is_none()) {
            self.ecc_problems(&mut problems);
        }
        let policy = policy.expect("no problem was found: a policy of the list");
        self.retention_problems(&self.policy.kind, &*policy, &mut problems);
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && self.flash.suspension.as_ref().is_some_and(|s| s.program) {
            problems.add("ftl.read_in_flight", "`wait` cannot be served while programs may be suspended: expected `buffer`");
        }
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && self.flash.encoders.iter().any(|one| one.throughput.is_some()) {
            problems.add("ftl.read_in_flight", "`wait` cannot be served while programs wait for an encoder: expected `buffer`");
        }
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && self.faults.is_some() {
            problems.add("ftl.read_in_flight", "`wait` cannot be served where programs may fail: expected `buffer`");
        }
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && !is_ideal(&self.controller) {
            let what = "`wait` cannot be served while data is on its way through the controller: expected `buffer`";
            problems.add("ftl.read_in_flight", what);
        }
        problems
    }

    /// Adds the problems of the sections for the host, the buffer, the power and the controller.
    fn section_problems(&self, geometry: &Geometry, problems: &mut Problems) {
        self.host.problems(problems);
        self.buffer.problems(geometry.unit, geometry.units_per_program, geometry.shape.channels, problems);
        self.parity_problems(problems);
        self.buffer_problems(problems);
        let cache = self.buffer.read_cache.unwrap_or_default().0;
        let parts = [geometry.unit.offset(self.buffer.units(geometry.unit)), cache, self.map_bytes_in_memory(geometry)];
        let tables = parts.into_iter().fold(0, u64::saturating_add);
        if let Some(power) = &self.power {
            power.problems(geometry.shape.bits_per_cell, geometry.die_count, problems);
            self.power_problems(power, problems);
        }
        self.cache_problems(problems);
        if let Some(capacitors) = &self.power_loss {
            capacitors.problems(self.buffer.policy == BufferPolicy::WriteBack, problems);
        }
        if let Some(faults) = &self.faults {
            let modes = (self.flash.write_modes.len(), self.flash.erase_modes.len().max(1));
            faults.problems(geometry, modes, problems);
            if faults.link_error.probability > 0.0 && !self.host.protocol().has_link() {
                let what = format!(
                    "{}: the host interface `{}` has no link; expected 0, or another host.interface",
                    faults.link_error.probability,
                    self.host.interface.name()
                );
                problems.add("faults.link_error.probability", what);
            }
        }
        self.map_cache_problems(problems);
        self.journal_problems(problems);
        if self.ftl.scrub_reads.is_some() && self.ecc.source().is_none() {
            problems
                .add("ftl.scrub_reads", "no read disturbs data without ecc.errors: expected a source of errors, or none of both");
        }
        if self.faults.is_some() && self.ftl.paired_pages != Default::default() {
            problems.add("ftl.paired_pages", "programs that fail are not protected: expected no section [faults]");
        }
        self.controller.problems(kit::Bytes(tables), (self.buffer.buffers, geometry.shape.channels), problems);
        self.card_problems(problems);
    }

    /// Returns the bytes of the map that the controller's memory holds.
    pub(crate) fn map_bytes_in_memory(&self, geometry: &Geometry) -> u64 {
        match &self.ftl.map_cache {
            None if self.ftl.translation.build(()).lacks().is_some() => 0,
            None => 4 * self.ftl.user_units(geometry),
            Some(cache) if cache.memory == MapMemory::Dram => cache.size.0,
            Some(_) => 0,
        }
    }

    /// Returns the location of the map.
    fn map_place(&self) -> MapPlace {
        match self.ftl.map_cache.as_ref().map(|cache| cache.memory) {
            None => MapPlace::Memory,
            Some(MapMemory::Dram) => MapPlace::CachedInMemory,
            Some(MapMemory::Sram) => MapPlace::CachedOnChip,
            Some(MapMemory::Host) => MapPlace::CachedInHost,
        }
    }

    /// Adds the problems of the mapping cache that depend on other sections.
    fn map_cache_problems(&self, problems: &mut Problems) {
        if self.map_place() == MapPlace::CachedInHost && self.host.protocol().host_memory.is_none() {
            let what =
                "\"host\": the host interface gives the device no buffer in host memory; expected host.interface = \"nvme\"";
            problems.add("ftl.map_cache.memory", what);
        }
    }

    /// Adds the problems of the map's journal that depend on other sections.
    fn journal_problems(&self, problems: &mut Problems) {
        let others = [(
            self.buffer.rewritten == Rewritten::Appended,
            "data that waits in the buffer and was trimmed is not programmed: expected buffer.rewritten = \"replaced\"",
        )];
        for (_, what) in others.into_iter().filter(|(is_there, _)| *is_there && self.ftl.journal.is_some()) {
            problems.add("ftl.journal", what);
        }
    }

    /// Adds the problems of the size of a mapping unit.
    fn mapping_unit_problems(&self, problems: &mut Problems) {
        let (Some(unit), page) = (self.ftl.mapping_unit, self.flash.page_size) else { return };
        let field = "ftl.mapping_unit";
        if unit.0 < UNIT_BYTES || unit.0 > MAX_UNIT || !unit.0.is_power_of_two() || !page.0.is_multiple_of(unit.0) {
            problems
                .add(field, format!("{unit}: expected a power of two from 4KiB to 256KiB that divides flash.page_size = {page}"));
        } else if unit.0 > UNIT_BYTES && !self.ftl.translation.build(()).chooses_unit() {
            let name = self.ftl.translation.name();
            problems.add(field, format!("{unit}: expected 4KiB with ftl.translation = \"{name}\""));
        } else if unit.0 > UNIT_BYTES && self.ftl.map_cache.is_some() {
            problems.add(field, format!("{unit}: expected 4KiB with ftl.map_cache, whose pages are mapping units of 4KiB"));
        }
    }

    /// Adds the problems of the translation layer's own fields, and of what needs a map of the data that it lacks.
    fn translation_problems(&self, problems: &mut Problems) {
        let translation = self.ftl.translation.build(());
        let geometry = self.geometry();
        let acknowledged = if self.buffer.policy == BufferPolicy::WriteBack { self.buffer.units(geometry.unit) } else { 0 };
        let has_buffer = self.buffer.policy != BufferPolicy::None || self.buffer.read_cache.is_some();
        let setting = ftl::layer::Setting { geometry: &geometry, buffer_units: acknowledged, has_buffer };
        translation.problems(&setting, problems);
        if translation.is_zoned() && !self.host.interface.build(()).carries_zones() {
            let name = self.host.interface.name();
            problems
                .add("host.interface", format!("`{name}` has no commands for zones: expected \"nvme\", \"plain\" or \"ideal\""));
        }
        if !translation.writes_in_place() {
            let name = self.ftl.translation.name();
            let small = [
                ("flash.page_size", self.flash.page_size, UNIT_BYTES),
                ("host.logical_block", self.host.logical_block, SECTOR_BYTES),
            ];
            for (field, given, least) in small.into_iter().filter(|(_, given, least)| given.0 < *least) {
                let what = format!(
                    "{given}: expected at least {} with ftl.translation = \"{name}\"; `in_place` has smaller ones",
                    kit::Bytes(least)
                );
                problems.add(field, what);
            }
        }
        let kind = &self.policy.kind;
        let needs = [
            ("policy.kind", *kind != PolicyConfig::default().kind, format!("the policy `{kind}`")),
            ("ftl.map_cache", self.ftl.map_cache.is_some(), "a mapping cache".to_owned()),
            ("buffer.read_cache", self.buffer.read_cache.is_some(), "a read cache".to_owned()),
            ("ftl.retire_at_cycles", self.ftl.retire_at_cycles.is_some(), "the retirement of blocks".to_owned()),
            ("ftl.scrub_reads", self.ftl.scrub_reads.is_some(), "the scrubbing of blocks".to_owned()),
            ("faults", self.faults.is_some(), "the handling of faults".to_owned()),
            ("power_loss", self.power_loss.is_some(), "protection against a loss of power".to_owned()),
        ];
        for (field, _, what) in needs.into_iter().filter(|(_, is_given, _)| *is_given) {
            problems.0.extend(self.lacks_map(field, &what));
        }
        if self.ecc.source().is_some() && !self.ftl.translation.build(()).knows_age() {
            problems
                .add("ecc", "a source of errors: the replay of a firmware trace knows no age or wear of the data; expected none");
        }
    }

    /// Returns a problem if the firmware of this drive cannot be recorded; `moves_pages`: true if its policy has pages
    /// moved.
    pub fn firmware_problem(&self, moves_pages: bool) -> Option<Problem> {
        let option = "--record-firmware";
        if let Some(problem) = self.lacks_layer(option, "the record of a firmware") {
            return Some(problem);
        }
        let unsupported = [
            (moves_pages, "a policy that moves pages (policy.kind)"),
            (self.ftl.map_cache.is_some(), "a mapping cache (ftl.map_cache)"),
            (self.ftl.journal.is_some(), "a journal of its map (ftl.journal)"),
            (self.ftl.paired_pages != Default::default(), "protection of paired pages (ftl.paired_pages)"),
            (self.buffer.read_cache.is_some(), "a read cache (buffer.read_cache)"),
            (self.ecc.source().is_some(), "errors of stored data (ecc.errors)"),
            (self.faults.is_some(), "faults (faults)"),
            (self.buffer.rewritten != Default::default(), "a write buffer that appends what is rewritten (buffer.rewritten)"),
        ];
        let (_, what) = unsupported.into_iter().find(|(is_there, _)| *is_there)?;
        Some(Problem::new(
            option,
            format!("the drive has {what}, whose operations a firmware trace cannot hold: expected a drive without"),
        ))
    }

    /// Returns a problem if the translation layer lacks a map of the data, which `what` needs, or executed firmware
    /// makes its decisions.
    pub fn lacks_map(&self, place: &str, what: &str) -> Option<Problem> {
        self.lacks_layer(place, what).or_else(|| self.executed_lacks(place, what))
    }

    /// Returns a problem if the translation layer lacks a map of the data, which `what` needs.
    fn lacks_layer(&self, place: &str, what: &str) -> Option<Problem> {
        let lacks = self.ftl.translation.build(()).lacks()?;
        let name = self.ftl.translation.name();
        let complaint =
            format!("{what} needs another translation layer than `{name}` ({lacks}): expected ftl.translation = \"page_map\"");
        Some(Problem::new(place, complaint))
    }

    /// Returns the problems that keep a policy from outside the policy family from running the drive: too few blocks
    /// for its open blocks, or retention limits or move intervals (`move_after`) that cannot be kept in the write mode
    /// of its relocations. `name` identifies the policy in messages.
    pub fn problems_under(&self, name: &str, policy: &dyn ModePolicy) -> Problems {
        let mut problems = Problems::default();
        let geometry = self.geometry();
        self.ftl.problems(&geometry, (self.streams(&policy.needs()), self.left_out(&geometry)), &mut problems);
        self.retention_problems(name, policy, &mut problems);
        problems.0.extend(self.background_problems(policy).0);
        problems
    }

    /// Returns the number of blocks of a die that may have to be left out, because they are spare or bad.
    fn left_out(&self, geometry: &Geometry) -> u64 {
        self.faults.as_ref().map_or(0, |faults| faults.max_left_out(geometry))
    }

    /// Returns the largest number of open blocks on a die under a policy with these needs: one per host stream, but at
    /// least two, and those of relocations in each write mode.
    fn streams(&self, needs: &Needs) -> u32 {
        ftl::max_streams_per_die(self.flash.write_modes.len(), needs)
    }

    /// Adds the problems of the policy's own fields, and the write modes that the policy uses but the table does not
    /// define.
    fn policy_problems(&self, problems: &mut Problems) {
        for (field, what) in self.policy.problems() {
            problems.add(field, what);
        }
        let names = || self.flash.write_modes.iter().map(|mode| mode.name.as_str());
        let members = self.policy.members().unwrap_or_default().iter();
        let asked = self.policy.modes().into_iter().chain(members.flat_map(|member| self.policy.modes_of(member)));
        for (field, name) in asked {
            if names().any(|known| known == name) {
                continue;
            }
            if field.is_empty() {
                problems.add("flash.write_mode", format!("no mode is named `{name}`: policy `{}` needs one", self.policy.kind));
            } else {
                problems.0.push(Problem::unknown(field, "write mode", &name, names()));
            }
        }
    }

    /// Returns the geometry of the flash.
    pub fn geometry(&self) -> Geometry {
        self.flash.geometry(self.ftl.superblock_blocks, self.unit())
    }

    /// Returns the size of a mapping unit.
    pub fn unit(&self) -> UnitSize {
        self.ftl.mapping_unit.map_or_else(|| self.flash.usual_unit(), |bytes| UnitSize::of(bytes.0))
    }

    /// Returns the user capacity in bytes.
    pub fn user_bytes(&self) -> u64 {
        self.unit().offset(self.ftl.user_units(&self.geometry()))
    }

    /// Returns the drive as a workload sees it.
    pub fn target(&self) -> workload::Target {
        let zone = self.ftl.translation.build(()).zone_units(&self.geometry());
        workload::Target { user_bytes: self.user_bytes(), zone_bytes: zone.map(|units| self.unit().offset(units)) }
    }

    /// Builds the translation layer of this description, empty.
    pub fn build_ftl(&self, seed: u64) -> std::io::Result<Translator> {
        let policy = self.policy.build(&self.facts(&self.geometry())).expect("validated: a policy of the list");
        self.build_ftl_with(&self.policy.kind, policy, seed)
    }

    /// Builds the translation layer with a policy from outside the policy family. `name` identifies the policy in the
    /// saved state.
    pub fn build_ftl_with(&self, name: &str, policy: Box<dyn ModePolicy>, seed: u64) -> std::io::Result<Translator> {
        let parameters = self.ftl_parameters(name, seed);
        let layer = self.ftl.translation.build(()).create(Parts {
            config: &self.ftl,
            policy,
            parameters,
            starting: self.state.preconditioned(),
        })?;
        match self.executed_firmware() {
            Some(config) => layer.executing(&config).map_err(std::io::Error::other),
            None => Ok(layer),
        }
    }

    /// Adds the inconsistencies of the parity across dies with other sections to `problems`.
    fn parity_problems(&self, problems: &mut Problems) {
        if self.ftl.rain.is_none() {
            return;
        }
        if self.flash.copyback {
            let what = "copyback moves data inside a die, and its parity cannot be computed: expected flash.copyback = false";
            problems.add("ftl.rain", what.to_owned());
        }
    }

    /// Adds the inconsistencies of the write buffer with other sections to `problems`.
    fn buffer_problems(&self, problems: &mut Problems) {
        if self.buffer.flush_order == FlushOrder::ByDie && self.ftl.write_allocation == ftl::WriteAllocation::Pull {
            let what = "\"by_die\": with ftl.write_allocation = \"pull\" units wait for no particular die, expected \"static\" or \
                        \"round_robin\" there";
            problems.add("buffer.flush_order", what);
        }
        if self.buffer.rewritten == Rewritten::Appended {
            let other = [
                (self.ftl.translation != ftl::TranslationConfig::default(), "ftl.translation = \"page_map\""),
                (self.buffer.policy == BufferPolicy::None, "buffer.policy = \"write_back\" or \"write_through\""),
                (
                    self.buffer.flush_order == FlushOrder::Lru,
                    "another flush_order than \"lru\", which is for data that is replaced",
                ),
            ];
            for (_, expected) in other.iter().filter(|(is_other, _)| *is_other) {
                problems.add("buffer.rewritten", format!("\"appended\": expected {expected}"));
            }
        }
    }

    /// Returns the parameters that the translation layer takes from other sections. `name` identifies the policy.
    fn ftl_parameters(&self, name: &str, seed: u64) -> Parameters {
        let geometry = self.geometry();
        Parameters {
            geometry,
            erase_wear: self.erase_wear(),
            rated_pe_cycles: self.flash.rated_pe_cycles,
            retire_at: self.ftl.retire_at_cycles.map(|cycles| cycles.saturating_mul(1000)),
            copyback: self.flash.copyback,
            buffering: Buffering {
                waits_to_fill: self.buffer.policy == BufferPolicy::WriteBack,
                renews: self.buffer.flush_order == FlushOrder::Lru,
                appends: self.buffer.rewritten == Rewritten::Appended,
                longest_first: self.buffer.flush_order == FlushOrder::ByDie,
                read_cache: ReadCacheConfig {
                    units: geometry.unit.whole(self.buffer.read_cache.unwrap_or_default().0) as u32,
                    ahead: geometry.unit.whole(self.buffer.read_ahead.0) as u32,
                },
            },
            has_errors: self.ecc.source().is_some() || self.faults.is_some(),
            bad_blocks: self.faults.as_ref().map_or(Vec::new(), |faults| faults.factory_bad(&geometry, seed)),
            spare_blocks: self.faults.as_ref().map_or(0, |faults| faults.spare_blocks),
            load: self.load(&geometry),
            seed,
            policy: name.to_owned(),
            facts: self.facts(&geometry),
        }
    }

    /// Returns true if `steady` makes the state of a load that leaves the dies idle.
    pub(crate) fn begins_rested(&self) -> bool {
        let keeps_free = self.ftl.thresholds(&self.geometry()).1 > self.ftl.gc_low_blocks;
        self.state.load.map_or(keeps_free, |load| load != SteadyLoad::Sustained)
    }

    /// Returns the load whose steady state `steady` makes.
    fn load(&self, geometry: &Geometry) -> Load {
        let timing = self.timing(geometry);
        let operation = |kind, units| kit::Operation { kind, units, pages: 1, ..kit::Operation::default() };
        let is_light = self.begins_rested();
        let (way, shared) = self.parts(geometry).relocation(geometry.unit.data(geometry.units_per_program));
        Load {
            outstanding_units: if is_light { 1 } else { STEADY_COMMANDS + self.buffer.units(geometry.unit) },
            is_light,
            has_pauses: self.state.load == Some(SteadyLoad::Paused),
            read_time: timing.array(&operation(OperationKind::Read, 1)),
            transfer: timing.data(&operation(OperationKind::Program, geometry.units_per_program)),
            decodes: self.ecc.source().is_some() && self.decoder_groups() > 0,
            way,
            shared,
        }
    }

    /// Returns the key of the starting state of a drive of this description under `policy`.
    pub(crate) fn starting_key(&self, policy: &dyn ModePolicy, seed: u64) -> StartingKey {
        StartingKey::new(&self.ftl.without_layer(), &self.ftl_parameters("", seed), policy, &self.state.preconditioned())
    }

    /// Returns the wear of one erase in each erase mode, by wear class, in thousandths of a nominal erase.
    fn erase_wear(&self) -> Vec<Vec<u32>> {
        let modes = &self.flash.erase_modes;
        if modes.is_empty() {
            return vec![vec![1000]];
        }
        modes.iter().map(|mode| mode.wear.all().iter().map(|wear| wear.thousandths()).collect()).collect()
    }

    /// Returns the times of the flash, with those of the attempts of a read.
    pub(crate) fn timing(&self, geometry: &Geometry) -> flash::Timing {
        flash::Timing::with_attempts(&self.flash, &self.attempts(), geometry.unit, geometry.units_per_program)
    }

    /// Returns the facts of the drive that a policy is built with.
    pub fn policy_facts(&self) -> Facts {
        self.facts(&self.geometry())
    }

    fn facts(&self, geometry: &Geometry) -> Facts {
        let timing = self.timing(geometry);
        let read = kit::Operation { kind: OperationKind::Read, units: 1, pages: 1, ..kit::Operation::default() };
        let program = kit::Operation {
            kind: OperationKind::Program,
            units: geometry.units_per_program,
            pages: 1,
            ..kit::Operation::default()
        };
        let erase = kit::Operation { kind: OperationKind::Erase, pages: 1, ..kit::Operation::default() };
        let (reading, programming) =
            (timing.command(&read) + timing.data(&read), timing.command(&program) + timing.data(&program));
        let on_channel = reading + programming;
        // Each unit is read apart, and the program waits for a read on its die.
        let in_buffers = reading * u64::from(geometry.units_per_program) + programming + timing.array(&read) + reading;
        let data = geometry.unit.data(geometry.units_per_program);
        let parts = self.parts(geometry);
        let through_controller = parts.time_to_relocate(data, geometry.die_count);
        let move_time = timing.array(&read) + self.flash.cache_busy() + timing.array(&program) + through_controller;
        let move_time = move_time.max(parts.time_in_page_buffers(data, geometry.die_count, in_buffers));
        Facts {
            write_modes: self.flash.write_modes.iter().map(|mode| mode.name.clone()).collect(),
            erase_modes: self.flash.erase_mode_names(),
            retention: self
                .flash
                .write_modes
                .iter()
                .map(|mode| mode.retention_at(self.state.pe_cycles, self.flash.rated_pe_cycles))
                .collect(),
            retention_by_wear: self.flash.write_modes.iter().map(WriteModeConfig::retention_by_wear).collect(),
            program_scales: self.flash.write_modes.iter().map(|mode| mode.program_scale).collect(),
            encode_times: self.flash.write_modes.iter().map(|mode| self.flash.encode_time(mode, geometry.unit)).collect(),
            write_levels: self.flash.write_modes.iter().map(|mode| mode.erase_level).collect(),
            block_units: self.flash.write_modes.iter().map(|mode| self.units_of_block(mode, geometry)).collect(),
            erase_levels: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.level), 0),
            erase_wear: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.wear.fresh()), 1.0),
            erase_scales: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.erase_scale), 1.0),
            codes: self.encoder_of_mode().map(|encoder| encoder.map_or(0, |index| index as u8 + 1)).collect(),
            read_modes: self.flash.read_mode_names(),
            read_mode_of: self.flash.write_modes.iter().map(|mode| self.flash.read_mode_of(mode)).collect(),
            read_times: (0..self.flash.read_modes.len().max(1)).map(|mode| read_time(&timing, mode)).collect(),
            rated_pe_cycles: self.flash.rated_pe_cycles,
            move_time,
            page_move_share: Nanos(
                (move_time.0 / u64::from(geometry.die_count)).max(on_channel.0 / u64::from(geometry.shape.channels)),
            ),
            retention_margin: self.ftl.retention_margin,
            program_time: timing.array(&program),
            erase_time: timing.array(&erase),
            unit_bytes: geometry.unit.bytes(),
            units_per_program: geometry.units_per_program,
            blocks_per_die: geometry.blocks_per_die,
            die_count: geometry.die_count,
            user_units: self.ftl.user_units(geometry),
        }
    }

    /// Returns the number of units that a block holds in a write mode: a whole number of program units.
    fn units_of_block(&self, mode: &flash::WriteModeConfig, geometry: &Geometry) -> u32 {
        let bits = self.flash.cell.bits();
        (geometry.programs_per_block * mode.bits_per_cell.unwrap_or(bits).min(bits) / bits).max(1) * geometry.units_per_program
    }

    /// Returns the description of the controller.
    pub fn controller(&self, geometry: &Geometry, seed: u64) -> ControllerConfig {
        let link_errors = self.faults.as_ref().map(|FaultsConfig { link_error, .. }| LinkErrorConfig {
            probability: link_error.probability,
            replay: link_error.replay,
            seed,
        });
        ControllerConfig { reads: self.reads(geometry, seed), link_errors, ..self.controller_without_reads(geometry) }
    }

    /// Returns the description of the controller as if stored data had no errors.
    pub(crate) fn controller_without_reads(&self, geometry: &Geometry) -> ControllerConfig {
        ControllerConfig {
            protocol: self.host.protocol(),
            encoders: self.flash.encoders.iter().map(encoder).collect(),
            encoder_of_mode: self.encoder_of_mode().collect(),
            ..self.parts(geometry)
        }
    }

    /// Returns the parts of the controller that the section describes.
    fn parts(&self, geometry: &Geometry) -> ControllerConfig {
        ControllerConfig {
            section: self.controller_section(),
            buffers: self.buffer.buffers,
            user_units: self.ftl.user_units(geometry),
            map: self.map_place(),
            unit: geometry.unit,
            channel_of: (0..geometry.die_count).map(|die| geometry.channel_of(kit::DieId(die)).0 as u16).collect(),
            ..ControllerConfig::default()
        }
    }

    /// Returns the section of the controller. A trace with the cycles of a processor takes the place of the cycles of
    /// the tasks that it has.
    fn controller_section(&self) -> ControllerSection {
        let mut section = self.controller.clone();
        if self.ftl.translation.build(()).plays_processor() {
            section.firmware.leave_decisions_out();
        }
        section
    }

    /// Returns the index of the encoder of each write mode; `None` for a mode without an encoder.
    fn encoder_of_mode(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        let position = |code: &String| self.flash.encoders.iter().position(|encoder| encoder.code == *code);
        self.flash.write_modes.iter().map(move |mode| mode.code.as_ref().and_then(position))
    }
}

fn encoder(encoder: &flash::EncoderConfig) -> controller::EncoderConfig {
    controller::EncoderConfig { code: encoder.code.clone(), rate: encoder.throughput }
}

/// Returns one value per mode of a table, or the value of the nominal mode alone if the table is empty.
fn or_nominal<T>(values: impl Iterator<Item = T>, nominal: T) -> Vec<T> {
    let values: Vec<T> = values.collect();
    if values.is_empty() { vec![nominal] } else { values }
}

/// Returns the time of sensing and transferring one unit in a read mode.
fn read_time(timing: &flash::Timing, mode: usize) -> Nanos {
    let read = kit::Operation {
        kind: OperationKind::Read,
        units: 1,
        pages: 1,
        mode: kit::ModeId(mode as u8),
        ..kit::Operation::default()
    };
    timing.array(&read) + timing.data(&read)
}
