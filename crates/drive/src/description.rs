//! A drive's description: one TOML document, checked against one declaration of its fields.
//!
//! The fields are declared once, as serde structs in the rooms they belong to. From them comes the JSON Schema; the checker walks the document along the
//! schema and reports everything that is wrong at once, with line, value, what would be accepted and the nearest name; then serde
//! reads it, and each room looks for inconsistencies among its fields.

mod budget;
mod check;
mod derive;
mod document;
mod reference;
mod retention;

pub(crate) use derive::cell_part;

use flash::FlashConfig;
use ftl::policy::{Facts, ModePolicy, PolicyConfig};
use ftl::{Ftl, FtlConfig, Parameters, Precondition, Preconditioned};
use host::{BufferConfig, BufferPolicy, HostConfig};
use kit::{Geometry, Nanos, OperationKind, Problem, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gives the text of a file that a description names, or says why not.
pub type File<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Where no file can be read.
pub(crate) fn no_file(_: &str) -> Result<String, String> {
    Err("no file can be read here".to_owned())
}

/// How the drive is brought to its starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionMethod {
    /// Empty.
    None,
    /// Every unit written once, in order.
    Fill,
    /// Filled, then overwritten at random `overwrite_passes` times.
    Random,
    /// The steady state of uniform random overwrites, landed on in one pass: as it is under sustained load, or, where `ftl.gc_spare_fraction` has
    /// collection keep blocks free while no write waits, as it is after a rest.
    Steady,
}

/// The `[state]` section: the state in which a run begins and how it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateConfig {
    /// How the drive is brought to its starting state.
    pub precondition: PreconditionMethod,
    /// User capacities written over by `random`.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 100))]
    pub overwrite_passes: u32,
    /// Old data's blocks were first programmed uniformly over this span before the run.
    #[serde(default)]
    pub age: Nanos,
    /// Erases that every block has behind it.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000_000))]
    pub pe_cycles: u32,
    /// The run ends with a graceful shutdown: the buffer is programmed and the policy moves what it must.
    #[serde(default)]
    pub graceful_shutdown: bool,
}

impl StateConfig {
    /// How the FTL makes this state.
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

fn two() -> u32 {
    2
}

/// A drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ssdlab drive")]
pub struct Description {
    /// What the drive is, in one line.
    pub title: String,
    /// The host interface.
    pub host: HostConfig,
    /// The write buffer.
    pub buffer: BufferConfig,
    /// The flash.
    pub flash: FlashConfig,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// The mode policy.
    #[serde(default)]
    pub policy: PolicyConfig,
    /// The starting state.
    pub state: StateConfig,
}

impl Description {
    /// Reads a description from `text`. `name` is what messages call it; `sets` are `KEY=VALUE` overrides; a `base` names a preset whose fields are used where
    /// the text has none.
    pub fn read(name: &str, text: &str, sets: &[String]) -> Result<Description, Problems> {
        Description::read_with(name, text, sets, &no_file)
    }

    /// The same; `file` gives the text of a file that the description names.
    pub fn read_with(name: &str, text: &str, sets: &[String], file: File<'_>) -> Result<Description, Problems> {
        let document = document::Document::read(name, text, sets)?;
        let mut description: Description = check::read(&document)?;
        // First what is given, so that nothing is derived for a flash that does not hold together.
        description.problems().or(()).map_err(|problems| document.locate(problems))?;
        derive::resolve(&mut description.flash, file).map_err(|problems| document.locate(problems))?;
        let problems = description.problems();
        if problems.0.is_empty() { Ok(description) } else { Err(document.locate(problems)) }
    }

    /// The JSON Schema of a description.
    pub fn schema() -> serde_json::Value {
        check::schema()
    }

    /// The reference page of a description's fields, in Markdown.
    pub fn reference() -> String {
        reference::page(&check::schema())
    }

    /// The description as TOML, every field resolved.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a description is a table of plain values")
    }

    /// Everything inconsistent in it, beyond the range of single fields.
    fn problems(&self) -> Problems {
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
        let geometry = self.geometry();
        let facts = self.facts(&geometry);
        let policy = self.policy.build(&facts);
        let host_streams = policy.as_ref().map_or(0, |policy| policy.needs().host_streams);
        self.ftl.problems(&geometry, self.streams(host_streams), &mut problems);
        self.buffer.problems(geometry.units_per_program, &mut problems);
        self.policy_problems(&mut problems);
        // Names first; whether the budget closes is known once all modes are derived.
        let is_derived = self.flash.write_modes.iter().all(|mode| mode.derive.is_none());
        if self.policy.kind == "combine" && (is_derived || policy.is_none()) {
            self.combine_problems(&geometry, &mut problems);
        }
        if !problems.0.is_empty() {
            return problems;
        }
        let policy = policy.expect("no problem was found: a policy of the list");
        self.retention_problems(&self.policy.kind, &*policy, &mut problems);
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && self.flash.suspension.as_ref().is_some_and(|s| s.program) {
            problems.add("ftl.read_in_flight", "`wait` cannot be served while programs may be suspended: expected `buffer`");
        }
        if self.ftl.read_in_flight == ftl::ReadInFlight::Wait && self.flash.encoders.iter().any(|one| one.throughput.is_some()) {
            problems.add("ftl.read_in_flight", "`wait` cannot be served while programs wait for an encoder: expected `buffer`");
        }
        problems
    }

    /// What keeps a policy that is not of the family from running the drive: too little space for its open blocks, or limits, or times after which data is
    /// moved, that could not be kept in the mode that it moves data in. `name` is what messages call it.
    pub fn problems_under(&self, name: &str, policy: &dyn ModePolicy) -> Problems {
        let mut problems = Problems::default();
        self.ftl.problems(&self.geometry(), self.streams(policy.needs().host_streams), &mut problems);
        self.retention_problems(name, policy, &mut problems);
        problems.0.extend(self.background_problems(policy).0);
        problems
    }

    /// Open blocks of a die under a policy of so many host streams: theirs, and one for relocations in each write mode.
    fn streams(&self, host_streams: u8) -> u32 {
        ftl::most_streams(self.flash.write_modes.len(), host_streams)
    }

    /// Write modes that the policy asks for and the table does not have.
    fn policy_problems(&self, problems: &mut Problems) {
        for (field, what) in self.policy.problems() {
            problems.add(field, what);
        }
        let names = || self.flash.write_modes.iter().map(|mode| mode.name.as_str());
        let members = self.policy.combine.members.iter().filter(|_| self.policy.kind == "combine");
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

    /// The shape of the flash.
    pub fn geometry(&self) -> Geometry {
        self.flash.geometry(self.ftl.superblock_blocks)
    }

    /// Bytes that the host sees.
    pub fn user_bytes(&self) -> u64 {
        self.ftl.user_units(&self.geometry()) * kit::UNIT_BYTES
    }

    /// The flash translation layer it describes, empty.
    pub fn build_ftl(&self, seed: u64) -> std::io::Result<Ftl> {
        let policy = self.policy.build(&self.facts(&self.geometry())).expect("validated: a policy of the list");
        self.build_ftl_with(&self.policy.kind, policy, seed)
    }

    /// The same, run by a policy that is not of the family. `name` is what its saved state goes by.
    pub fn build_ftl_with(&self, name: &str, policy: Box<dyn ModePolicy>, seed: u64) -> std::io::Result<Ftl> {
        let geometry = self.geometry();
        let parameters = Parameters {
            geometry,
            retention_limits: self.retention_limits(),
            erase_wear: self.erase_wear(),
            rated_pe_cycles: self.flash.rated_pe_cycles,
            retire_at: self.ftl.retire_at_cycles.map(|cycles| cycles.saturating_mul(1000)),
            copyback: self.flash.copyback,
            buffer_flush_after: (self.buffer.policy == BufferPolicy::WriteBack)
                .then(|| self.buffer.flush_after.unwrap_or_default()),
            seed,
            policy: name.to_owned(),
            facts: self.facts(&geometry),
        };
        Ftl::new(&self.ftl, policy, parameters)
    }

    /// Wear of one erase in each erase mode, by wear class, in thousandths of a nominal erase.
    fn erase_wear(&self) -> Vec<Vec<u32>> {
        let modes = &self.flash.erase_modes;
        if modes.is_empty() {
            return vec![vec![1000]];
        }
        modes.iter().map(|mode| mode.wear.all().iter().map(|wear| wear.thousandths()).collect()).collect()
    }

    /// What policies are told of the drive.
    pub fn policy_facts(&self) -> Facts {
        self.facts(&self.geometry())
    }

    /// Retention limits of each write mode, by wear class.
    fn retention_limits(&self) -> Vec<Vec<Nanos>> {
        let limits = |mode: &flash::WriteModeConfig| mode.retention.as_ref().map_or(Vec::new(), |limits| limits.all().to_vec());
        self.flash.write_modes.iter().map(limits).collect()
    }

    fn facts(&self, geometry: &Geometry) -> Facts {
        let timing = flash::Timing::new(&self.flash, geometry.units_per_program);
        let read = kit::Operation { kind: OperationKind::Read, units: 1, pages: 1, ..kit::Operation::default() };
        let program = kit::Operation {
            kind: OperationKind::Program,
            units: geometry.units_per_program,
            pages: 1,
            ..kit::Operation::default()
        };
        let erase = kit::Operation { kind: OperationKind::Erase, pages: 1, ..kit::Operation::default() };
        let move_time = timing.array(&read) + timing.array(&program);
        let on_channel = timing.command(&read) + timing.data(&read) + timing.command(&program) + timing.data(&program);
        Facts {
            write_modes: self.flash.write_modes.iter().map(|mode| mode.name.clone()).collect(),
            erase_modes: self.flash.erase_mode_names(),
            retention: self
                .flash
                .write_modes
                .iter()
                .map(|mode| mode.retention_at(self.state.pe_cycles, self.flash.rated_pe_cycles))
                .collect(),
            retention_by_wear: self.retention_limits(),
            program_scales: self.flash.write_modes.iter().map(|mode| mode.program_scale).collect(),
            encode_times: self.flash.write_modes.iter().map(|mode| self.flash.encode_time(mode)).collect(),
            write_levels: self.flash.write_modes.iter().map(|mode| mode.erase_level).collect(),
            block_units: self.flash.write_modes.iter().map(|mode| self.units_of_block(mode, geometry)).collect(),
            erase_levels: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.level), 0),
            erase_wear: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.wear.fresh()), 1.0),
            erase_scales: or_nominal(self.flash.erase_modes.iter().map(|mode| mode.erase_scale), 1.0),
            codes: self.codes(),
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
            units_per_program: geometry.units_per_program,
            blocks_per_die: geometry.blocks_per_die,
            die_count: geometry.die_count,
            user_units: self.ftl.user_units(geometry),
        }
    }

    /// Units that a block holds in a write mode: whole programs.
    fn units_of_block(&self, mode: &flash::WriteModeConfig, geometry: &Geometry) -> u32 {
        let bits = self.flash.cell.bits();
        (geometry.programs_per_block * mode.bits_per_cell.unwrap_or(bits).min(bits) / bits).max(1) * geometry.units_per_program
    }

    /// The encoder of each write mode, counted from 1; 0 without.
    fn codes(&self) -> Vec<u8> {
        let position = |code: &String| self.flash.encoders.iter().position(|encoder| encoder.code == *code);
        let number = |mode: &flash::WriteModeConfig| mode.code.as_ref().and_then(position).map_or(0, |at| at as u8 + 1);
        self.flash.write_modes.iter().map(number).collect()
    }
}

/// What a table says of its modes, or the one value of the mode that an empty table stands for.
fn or_nominal<T>(values: impl Iterator<Item = T>, nominal: T) -> Vec<T> {
    let values: Vec<T> = values.collect();
    if values.is_empty() { vec![nominal] } else { values }
}

/// Sensing and transfers of one unit in a read mode.
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
