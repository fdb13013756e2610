//! The `[flash]` section of a drive's description.

use crate::interface::{Interface, Phases};
use crate::modes::{EncoderConfig, EraseModeConfig, ReadModeConfig, WriteModeConfig};
use crate::per_page_type::PerPageType;
use crate::scheduler::SchedulerConfig;
use kit::{Bytes, Geometry, NORMAL_MODE, Nanos, Problems, Shape, TransferRate, UNIT_BYTES, UnitSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Least page of a drive that is written in place \[bytes\].
const MIN_PAGE: u64 = 256;

/// Default of `flash.cache_busy_time` [A]: data sheets state a typical tRCBSY of 3 us to 5 us (recalled).
const CACHE_BUSY_TIME: Nanos = Nanos(3_000);

/// Bits stored in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellType {
    /// One bit, one page per wordline.
    Slc,
    /// Two bits: LSB and MSB page.
    Mlc,
    /// Three bits: LSB, CSB and MSB page.
    Tlc,
    /// Four bits: lower, middle, upper and top page.
    Qlc,
}

impl CellType {
    /// Returns the bits per cell, which is the number of page types.
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }
}

/// Distribution of array times over operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeDistribution {
    /// The given times, without variation.
    Constant,
    /// Exponentially distributed, with the given times as means. Not a model of flash: it makes closed queueing
    /// networks exactly solvable, and tests compare the engine with that solution.
    Exponential,
}

/// Suspension of programs and erases in favour of host reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspension {
    /// Programs may be suspended.
    pub program: bool,
    /// Erases and lazy erases may be suspended.
    pub erase: bool,
    /// Time from the end of the suspend command until the die can read.
    pub suspend_time: Nanos,
    /// Time from the end of the resume command until the array continues.
    pub resume_time: Nanos,
    /// Least remaining array time of an operation that is suspended; one closer to its end runs on.
    pub least_remaining: Nanos,
    /// Largest number of suspensions of one operation, so that a stream of reads cannot starve it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub most: u32,
    /// Fill of the write buffer, as a share of its capacity, from which no operation is suspended, and suspended ones
    /// resume before further reads: host writes are about to wait for the space that programs free. Absent: operations
    /// are suspended whatever the fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub buffer_below: Option<f64>,
}

impl Suspension {
    /// Returns true if the write buffer is so full that programs go before reads.
    #[inline]
    pub(crate) fn is_overruled(&self, signals: &kit::Signals) -> bool {
        self.buffer_below.is_some_and(|share| {
            signals.buffer_capacity_pages > 0 && signals.buffered_pages as f64 >= share * signals.buffer_capacity_pages as f64
        })
    }
}

/// The flash: geometry, times, interface, scheduling and the tables of modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashConfig {
    /// Flash channels.
    #[schemars(range(min = 1, max = 256))]
    pub channels: u32,
    /// Chips (ONFI targets) on each channel.
    #[schemars(range(min = 1, max = 256))]
    pub chips_per_channel: u32,
    /// Dies (ONFI LUNs) in each chip.
    #[schemars(range(min = 1, max = 64))]
    pub dies_per_chip: u32,
    /// Dies of one chip that work at the same time: 1, or all of them.
    #[schemars(range(min = 1, max = 64))]
    pub concurrent_dies_per_chip: u32,
    /// Planes in each die.
    #[schemars(range(min = 1, max = 64))]
    pub planes_per_die: u32,
    /// Blocks in each plane.
    #[schemars(range(min = 4, max = 4_194_304))]
    pub blocks_per_plane: u32,
    /// Pages in each block.
    #[schemars(range(min = 1, max = 65_536))]
    pub pages_per_block: u32,
    /// Data bytes of a page: a multiple of 4 KiB, at most 1 MiB. On a drive with the translation layer `in_place`: 256
    /// B, 512 B, 1 KiB, 2 KiB or 4 KiB, which is then the mapping unit, too.
    pub page_size: Bytes,
    /// Data bytes of a page of one plane, where several planes work together as one with pages of `page_size`
    /// (multi-plane emulation): the array time is that of one plane. Absent: `page_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_page: Option<Bytes>,
    /// Bits per cell.
    pub cell: CellType,
    /// Name of the model of the cell from which modes are derived; `ssdlab cell parts` lists the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_model: Option<String>,
    /// Error-correcting code that protects pages, used to derive modes. Absent: the code of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ecc::Code>,
    /// File of measurements of a code, written by `ssdlab cell code --out`, in place of `code`. The path is relative to
    /// the folder of the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_code: Option<String>,
    /// Spare bytes of a page, for the parity of the code. Absent: assumed to suffice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_size: Option<Bytes>,
    /// True: one program writes all pages of a wordline. False: one page.
    pub one_shot: bool,
    /// True: reads, programs and erases cover all planes of a die together.
    pub multi_plane: bool,
    /// True: relocations use copyback where source and destination share a plane.
    pub copyback: bool,
    /// The channel's electrical interface.
    pub interface: Interface,
    /// The channel's transfer rate.
    pub transfer_rate: TransferRate,
    /// tR, array read time: one for all page types, or one for each.
    pub read_time: PerPageType,
    /// tPROG, array program time: one for all page types, or one for each. Where programs are one-shot, the time of the
    /// whole wordline.
    pub program_time: PerPageType,
    /// tBERS, block erase time.
    pub erase_time: Nanos,
    /// Time that the program of a block's last page takes beyond its own: it writes a summary of the block into a page
    /// that `pages_per_block` does not count (DiskSim's SSD extension). Absent: blocks have no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_time: Option<Nanos>,
    /// Program and erase cycles for which a block is rated.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub rated_pe_cycles: u32,
    /// Transaction scheduler: the order in which waiting operations are served.
    pub scheduler: SchedulerConfig,
    /// Distribution of array times.
    #[serde(default = "constant")]
    pub time_distribution: TimeDistribution,
    /// Suspension of programs and erases in favour of host reads. Absent: no suspension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// True: cache reads (ONFI READ CACHE): a page that has been sensed moves to the cache register of the die, which
    /// senses the page of the next waiting read while the data of the first crosses the channel. A page behind which no
    /// read waits does not move. False: a die begins a read when the data of the one before is out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_read: bool,
    /// tRCBSY (ONFI): time in which a page moves to the cache register while the array rests; at most 1 ms. Absent: 3
    /// us, assumed; data sheets state a typical time of 3 us to 5 us, recalled. Only with `cache_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_busy_time: Option<Nanos>,
    /// Times of the interface's phases, in place of those of `interface`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// The table of write modes. It must contain a mode named `normal`.
    #[serde(rename = "write_mode")]
    pub write_modes: Vec<WriteModeConfig>,
    /// The table of erase modes. Empty: one mode, `normal`.
    #[serde(rename = "erase_mode", default, skip_serializing_if = "Vec::is_empty")]
    pub erase_modes: Vec<EraseModeConfig>,
    /// The table of read modes. Data is read in the mode that its write mode names, or in the first. Empty: one mode,
    /// `normal`.
    #[serde(rename = "read_mode", default, skip_serializing_if = "Vec::is_empty")]
    pub read_modes: Vec<ReadModeConfig>,
    /// Time of a lazy erase, which erases a free block to a deeper level (DPES: a fifth of tBERS). Absent: tBERS / 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lazy_erase_time: Option<Nanos>,
    /// The encoders of the controller.
    #[serde(rename = "encoder", default, skip_serializing_if = "Vec::is_empty")]
    pub encoders: Vec<EncoderConfig>,
}

fn constant() -> TimeDistribution {
    TimeDistribution::Constant
}

impl FlashConfig {
    /// Returns the dies of the geometry in one chip, and the planes of each. Where a chip executes one operation at a
    /// time, it counts as one die with the planes of all its dies.
    fn serving(&self) -> (u32, u32) {
        let planes = self.planes_per_die / self.planes_as_one();
        if self.concurrent_dies_per_chip == 1 { (1, self.dies_per_chip * planes) } else { (self.dies_per_chip, planes) }
    }

    /// Returns the planes that work together as one, with pages of `page_size`.
    fn planes_as_one(&self) -> u32 {
        self.native_page.map_or(1, |native| (self.page_size.0 / native.0) as u32)
    }

    /// Returns the size of a mapping unit where the translation layer does not choose it: 4 KiB, or a page if that is
    /// smaller.
    pub fn usual_unit(&self) -> UnitSize {
        UnitSize::of(self.page_size.0.min(UNIT_BYTES))
    }

    /// Returns the geometry, with `superblock` blocks of a plane erased together and mapping units of a size that
    /// divides the page. The section must be valid: call [`FlashConfig::problems`] first.
    pub fn geometry(&self, superblock: u32, unit: UnitSize) -> Geometry {
        let (dies_per_chip, planes_per_die) = self.serving();
        Geometry::new(Shape {
            channels: self.channels,
            chips_per_channel: self.chips_per_channel,
            dies_per_chip,
            planes_per_die,
            blocks_per_plane: self.blocks_per_plane,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_size.0,
            unit,
            bits_per_cell: self.cell.bits(),
            planes_per_program: if self.multi_plane { self.planes_per_die / self.planes_as_one() } else { 1 },
            pages_per_program: if self.one_shot { self.cell.bits() } else { 1 },
            superblock,
        })
    }

    /// Adds the section's inconsistencies, beyond the ranges of single fields, to `problems`.
    pub fn problems(&self, problems: &mut Problems) {
        let bits = self.cell.bits();
        let is_small = (MIN_PAGE..UNIT_BYTES).contains(&self.page_size.0) && self.page_size.0.is_power_of_two();
        if !is_small && (self.page_size.0 == 0 || !self.page_size.0.is_multiple_of(UNIT_BYTES) || self.page_size.0 > 1 << 20) {
            let what = "expected a multiple of 4KiB, at most 1MiB; on a drive with ftl.translation = \"in_place\" 256B, 512B, 1KiB, \
                        2KiB or 4KiB";
            problems.add("flash.page_size", format!("{}: {what}", self.page_size));
        } else {
            self.native_page_problems(problems);
        }
        if self.concurrent_dies_per_chip != 1 && self.concurrent_dies_per_chip != self.dies_per_chip {
            problems.add(
                "flash.concurrent_dies_per_chip",
                format!("{}: expected 1 or dies_per_chip = {}", self.concurrent_dies_per_chip, self.dies_per_chip),
            );
        }
        if self.one_shot && !self.pages_per_block.is_multiple_of(bits) {
            problems.add(
                "flash.pages_per_block",
                format!(
                    "{}: expected a multiple of {bits}, the pages of a wordline, because programs are one-shot",
                    self.pages_per_block
                ),
            );
        }
        self.rate_problems(problems);
        self.phase_problems(problems);
        for (field, times) in [("read_time", &self.read_time), ("program_time", &self.program_time)] {
            let given = times.all();
            if given.len() != 1 && given.len() != bits as usize {
                problems.add(
                    format!("flash.{field}"),
                    format!("{} times: expected one, or {bits}, one for each page type", given.len()),
                );
            }
            if given.contains(&Nanos::ZERO) {
                problems.add(format!("flash.{field}"), "0ns: expected a time above zero");
            }
        }
        if self.erase_time == Nanos::ZERO {
            problems.add("flash.erase_time", "0ns: expected a time above zero");
        }
        self.code_problems(problems);
        self.cache_problems(problems);
        self.mode_problems(problems);
    }

    /// Returns the time in which a page moves to the cache register; zero where the registers are not used.
    pub fn cache_busy(&self) -> Nanos {
        if self.cache_read { self.cache_busy_time.unwrap_or(CACHE_BUSY_TIME) } else { Nanos::ZERO }
    }

    /// Adds what excludes the use of cache registers.
    fn cache_problems(&self, problems: &mut Problems) {
        if let Some(time) = self.cache_busy_time.filter(|time| !self.cache_read || *time > Phases::LONGEST) {
            let what = format!("{time}: expected at most {}, and flash.cache_read = true", Phases::LONGEST);
            problems.add("flash.cache_busy_time", what);
        }
        if self.cache_read && self.suspension.is_some() {
            problems.add("flash.cache_read", "true: expected false with flash.suspension");
        }
        if self.cache_read && self.concurrent_dies_per_chip != self.dies_per_chip {
            let what = "true: a chip does one thing at a time, expected false, or flash.concurrent_dies_per_chip = \
                        flash.dies_per_chip";
            problems.add("flash.cache_read", what);
        }
    }

    /// Adds the problems of planes that work together as one.
    fn native_page_problems(&self, problems: &mut Problems) {
        let Some(native) = self.native_page else { return };
        let planes = self.page_size.0.checked_div(native.0).unwrap_or(0);
        let fits = planes > 0 && planes * native.0 == self.page_size.0 && u64::from(self.planes_per_die).is_multiple_of(planes);
        if !fits {
            let what = format!(
                "{}: expected flash.native_page = {native} times a divisor of planes_per_die = {}, the planes that work together",
                self.page_size, self.planes_per_die
            );
            problems.add("flash.page_size", what);
        }
    }

    fn code_problems(&self, problems: &mut Problems) {
        let Some(code) = &self.code else { return };
        let before = problems.0.len();
        code.problems("flash.code", problems);
        if problems.0.len() > before {
            return;
        }
        let spare = self.spare_size.map_or(u64::MAX, |size| size.0);
        if let Err(problem) = ecc::BlockCode::fits(code, self.page_size.0, spare) {
            problems.0.push(kit::Problem { place: "flash.code".to_owned(), ..problem });
        }
    }

    fn phase_problems(&self, problems: &mut Problems) {
        let Some(phases) = &self.phases else { return };
        for (name, time) in phases.by_name().into_iter().filter(|(_, time)| *time > Phases::LONGEST) {
            problems.add(format!("flash.phases.{name}"), format!("{time}: expected at most {}", Phases::LONGEST));
        }
    }

    fn rate_problems(&self, problems: &mut Problems) {
        let fastest = self.interface.fastest();
        if self.transfer_rate.0 < 1_000_000 || self.transfer_rate > fastest {
            problems.add(
                "flash.transfer_rate",
                format!("{}: expected 1MT/s to {fastest}, the range of this interface", self.transfer_rate),
            );
        }
        let dies = u64::from(self.channels) * u64::from(self.chips_per_channel) * u64::from(self.dies_per_chip);
        if dies > 65_536 {
            problems.add("flash.chips_per_channel", format!("{dies} dies in the drive: expected at most 65536"));
        }
    }

    fn mode_problems(&self, problems: &mut Problems) {
        let write: Vec<&str> = self.write_modes.iter().map(|mode| mode.name.as_str()).collect();
        let erase: Vec<&str> = self.erase_modes.iter().map(|mode| mode.name.as_str()).collect();
        if !write.contains(&NORMAL_MODE) {
            problems.add("flash.write_mode", "expected a mode named `normal`");
        }
        let read: Vec<&str> = self.read_modes.iter().map(|mode| mode.name.as_str()).collect();
        let tables = [("flash.write_mode", &write), ("flash.erase_mode", &erase), ("flash.read_mode", &read)];
        for (field, names) in tables {
            if names.len() > 16 {
                problems.add(field, format!("{} modes: expected at most 16", names.len()));
            }
            for (index, name) in names.iter().enumerate() {
                if names[..index].contains(name) {
                    problems.add(format!("{field}[{index}].name"), format!("`{name}` is listed twice: expected distinct names"));
                }
            }
        }
        self.reference_problems(&read, problems);
        for (index, mode) in self.write_modes.iter().enumerate() {
            if mode
                .retention
                .as_ref()
                .is_some_and(|limits| limits.all().is_empty() || limits.all().iter().any(|limit| limit.0 == 0))
            {
                problems.add(format!("flash.write_mode[{index}].retention"), "expected one or more times above zero");
            }
        }
        for (index, mode) in self.erase_modes.iter().enumerate().filter(|(_, mode)| mode.wear.all().is_empty()) {
            let name = &mode.name;
            problems.add(
                format!("flash.erase_mode[{index}].wear"),
                format!("no value for `{name}`: expected one, or one for each part of the rated endurance"),
            );
        }
    }
}

impl FlashConfig {
    /// Adds problems between the tables of modes and encoders: unknown or repeated names, and a first erase mode that
    /// is not the deepest.
    fn reference_problems(&self, read: &[&str], problems: &mut Problems) {
        let first = self.erase_modes.first().map_or(0, |mode| mode.level);
        if first > 0 {
            problems.add("flash.erase_mode[0].level", format!("{first}: the first erase mode must have level 0, the deepest"));
        }
        let codes: Vec<&str> = self.encoders.iter().map(|encoder| encoder.code.as_str()).collect();
        for (index, mode) in self.write_modes.iter().enumerate() {
            let field = |name: &str| format!("flash.write_mode[{index}].{name}");
            if let Some(name) = mode.read_mode.as_deref().filter(|name| !read.contains(name)) {
                problems.0.push(kit::Problem::unknown(field("read_mode"), "read mode", name, read.iter().copied()));
            }
            if let Some(name) = mode.code.as_deref().filter(|name| !codes.contains(name)) {
                problems.0.push(kit::Problem::unknown(field("code"), "encoder", name, codes.iter().copied()));
            }
            if mode.bits_per_cell.is_some_and(|bits| bits == 0 || bits > self.cell.bits()) {
                problems.add(field("bits_per_cell"), format!("expected 1 to {}, the bits of `cell`", self.cell.bits()));
            }
            let differ = |times: &PerPageType| times.all().iter().any(|time| *time != times.of(0));
            let fewer = mode.bits_per_cell.is_some_and(|bits| bits < self.cell.bits());
            if fewer && !self.one_shot && (differ(&self.program_time) || differ(&self.read_time)) {
                problems.add(
                    field("bits_per_cell"),
                    "fewer bits than `cell` has, and pages are programmed one by one: expected one program time and one read time for \
                     all page types",
                );
            }
        }
        for (index, encoder) in self.encoders.iter().enumerate() {
            if codes[..index].contains(&encoder.code.as_str()) {
                problems.add(
                    format!("flash.encoder[{index}].code"),
                    format!("`{}` is listed twice: expected distinct names", encoder.code),
                );
            }
            if encoder.throughput.is_some_and(|rate| rate.0 == 0) {
                problems.add(format!("flash.encoder[{index}].throughput"), "0B/s: expected a rate above zero");
            }
        }
    }

    /// Returns the id of the read mode of data written in `write_mode`: the one that it names, or 0, the first of the
    /// table.
    pub fn read_mode_of(&self, write_mode: &WriteModeConfig) -> kit::ModeId {
        let position = write_mode.read_mode.as_deref().and_then(|name| self.read_modes.iter().position(|mode| mode.name == name));
        kit::ModeId(position.unwrap_or(0) as u8)
    }

    /// Returns the time that the encoder of a write mode takes for one mapping unit; zero if encoding takes no time.
    pub fn encode_time(&self, write_mode: &WriteModeConfig, unit: UnitSize) -> kit::Nanos {
        let encoder = self.encoders.iter().find(|encoder| write_mode.code.as_ref() == Some(&encoder.code));
        let throughput = encoder.and_then(|encoder| encoder.throughput);
        throughput.map_or(kit::Nanos::ZERO, |rate| rate.time_for(Bytes(unit.bytes())))
    }

    /// Returns the names of the erase modes, in the order of their ids.
    pub fn erase_mode_names(&self) -> Vec<String> {
        names_or_normal(self.erase_modes.iter().map(|mode| &mode.name))
    }

    /// Returns the names of the read modes, in the order of their ids.
    pub fn read_mode_names(&self) -> Vec<String> {
        names_or_normal(self.read_modes.iter().map(|mode| &mode.name))
    }
}

fn names_or_normal<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: Vec<String> = names.cloned().collect();
    if names.is_empty() { vec![NORMAL_MODE.to_owned()] } else { names }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small flash at NV-DDR3 1200 MT/s with two write modes.
    pub(crate) fn example() -> FlashConfig {
        let mode = |name: &str, program_scale| WriteModeConfig { program_scale, ..WriteModeConfig::named(name) };
        FlashConfig {
            channels: 1,
            chips_per_channel: 2,
            dies_per_chip: 1,
            concurrent_dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 16,
            pages_per_block: 8,
            page_size: Bytes(4096),
            native_page: None,
            cell: CellType::Slc,
            cell_model: None,
            code: None,
            measured_code: None,
            spare_size: None,
            one_shot: false,
            multi_plane: false,
            copyback: false,
            interface: Interface::NvDdr3,
            transfer_rate: TransferRate(1_200_000_000),
            read_time: PerPageType::One(Nanos(50_000)),
            program_time: PerPageType::One(Nanos(600_000)),
            erase_time: Nanos(3_000_000),
            summary_time: None,
            rated_pe_cycles: 10_000,
            scheduler: SchedulerConfig::named("read_first").expect("a member"),
            time_distribution: TimeDistribution::Constant,
            suspension: None,
            cache_read: false,
            cache_busy_time: None,
            phases: None,
            write_modes: vec![mode("normal", 1.0), mode("fast", 0.5)],
            erase_modes: Vec::new(),
            read_modes: Vec::new(),
            lazy_erase_time: None,
            encoders: Vec::new(),
        }
    }

    #[test]
    fn a_chip_that_serves_one_operation_at_a_time_stands_for_a_die() {
        let mut config = example();
        config.dies_per_chip = 2;
        config.planes_per_die = 2;
        let geometry = config.geometry(1, kit::UnitSize::default());
        assert_eq!((geometry.die_count, geometry.groups_per_die, geometry.blocks_per_die), (2, 4, 64));
        config.concurrent_dies_per_chip = 2;
        assert_eq!(config.geometry(1, kit::UnitSize::default()).die_count, 4);
    }

    #[test]
    fn every_inconsistency_is_reported_at_once() {
        let mut config = example();
        config.page_size = Bytes(6000);
        config.transfer_rate = TransferRate(5_000_000_000);
        config.read_time = PerPageType::Each(vec![Nanos(1), Nanos(2)]);
        config.erase_time = Nanos(0);
        config.phases = Some(Phases { t_wpst: Nanos(1_000_001), t_cs: Nanos(1_000_000), ..Phases::of(config.interface) });
        config.write_modes.clear();
        let mut problems = Problems::default();
        config.problems(&mut problems);
        let places: Vec<&str> = problems.0.iter().map(|p| p.place.as_str()).collect();
        let expected = [
            "flash.page_size",
            "flash.transfer_rate",
            "flash.phases.t_wpst",
            "flash.read_time",
            "flash.erase_time",
            "flash.write_mode",
        ];
        assert_eq!(places, expected);
    }
}
