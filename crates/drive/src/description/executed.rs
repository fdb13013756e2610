//! Firmware that a core executes: the rest of the description must be what it does.

use super::Description;
use controller::firmware::riscv;
use flash::WriteModeConfig;
use ftl::{CollectionStart, CoresConfig, FtlConfig, PartialWrite, PlaneChoice, TranslationConfig, VictimConfig, WearConfig};
use host::{FlushOrder, Rewritten};
use kit::{Bytes, Nanos, Problem, Problems, words};

/// Least retention limit beyond the age of the data: no run comes to it \[A\].
const RETENTION: Nanos = Nanos(365 * 86_400 * 1_000_000_000);
/// Largest DRAM of the core, half of the addresses beyond 0x80000000 \[A\] \[bytes\].
const MAX_DRAM: u64 = 1 << 30;
/// Largest number of dies that have registers.
const MAX_DIES: u32 = 1024;

impl Description {
    /// Returns the description of the core that executes firmware; `None` if none does.
    pub fn executed_firmware(&self) -> Option<CoresConfig> {
        let firmware = self.controller.firmware.build(());
        let params = firmware.executed()?;
        Some(CoresConfig {
            image: params.executable(),
            cores: params.cores,
            split: match params.split {
                riscv::Split::Channel => ftl::Split::Channel,
                riscv::Split::Task => ftl::Split::Task,
                riscv::Split::Queue => ftl::Split::Queue,
            },
            clock: params.clock,
            text_bytes: params.text.0 as u32,
            data_bytes: params.data.0 as u32,
            cycles: params.cycles.clone(),
            dram: params.dram.clone(),
            watchdog: params.watchdog,
        })
    }

    /// Returns true if a core executes firmware.
    pub(crate) fn executes_firmware(&self) -> bool {
        self.controller.firmware.build(()).executed().is_some()
    }

    /// Adds the fields that ask for what the executed firmware does not do.
    pub(super) fn executed_problems(&self, problems: &mut Problems) {
        if !self.executes_firmware() {
            return;
        }
        let by = format!("with controller.firmware.kind = \"{}\"", self.controller.firmware.name());
        let given = self.ftl_given().into_iter().chain(self.others_given());
        for (field, _, expected) in given.filter(|(_, is_given, _)| *is_given) {
            problems.add(field, format!("the firmware does not do that: expected {expected} {by}"));
        }
        self.split_problem(problems);
        let dram = self.firmware_dram();
        if dram > MAX_DRAM {
            let [dram, most] = [dram, MAX_DRAM].map(|bytes| words::size(Bytes(bytes)));
            problems.add("flash", format!("the firmware's map takes {dram} of DRAM: expected at most {most} {by}"));
        }
    }

    /// Adds a problem if there are cores without channels.
    fn split_problem(&self, problems: &mut Problems) {
        let firmware = self.controller.firmware.build(());
        let Some(&riscv::Params { cores, split, .. }) = firmware.executed() else { return };
        let channels = self.geometry().shape.channels;
        let of_dies = cores.saturating_sub(u32::from(split == riscv::Split::Task));
        if of_dies > channels {
            let (given, most) = (words::count(of_dies, "core"), words::count(channels, "channel"));
            problems.add("controller.firmware.cores", format!("{given} for the dies of {most}: expected at most one for each"));
        }
    }

    /// Returns the size of the DRAM of the core that executes firmware; 0 if none does \[bytes\].
    pub(crate) fn firmware_dram(&self) -> u64 {
        let geometry = self.geometry();
        if self.executes_firmware() { CoresConfig::dram_bytes(&geometry, self.ftl.user_units(&geometry)) } else { 0 }
    }

    /// Returns the fields of the translation layer, whether they ask for something else than the firmware does, and
    /// that.
    fn ftl_given(&self) -> Vec<(&'static str, bool, &'static str)> {
        let ftl: &FtlConfig = &self.ftl;
        vec![
            ("ftl.translation", ftl.translation != TranslationConfig::default(), "\"page_map\""),
            ("ftl.victim", ftl.victim != greedy(), "\"greedy\""),
            ("ftl.wear_leveling", ftl.wear_leveling != unlevelled(), "\"none\""),
            ("ftl.partial_write", ftl.partial_write != PartialWrite::Whole, "\"whole\""),
            ("ftl.allocation_order", ftl.allocation_order.is_by_plane(), "an order without P"),
            ("ftl.plane_choice", ftl.plane_choice != PlaneChoice::Block, "\"block\""),
            ("ftl.gc_start", ftl.gc_start != CollectionStart::Early, "\"early\""),
            ("ftl.gc_idle_after", ftl.gc_idle_after.is_some(), "no such field"),
            ("ftl.journal", ftl.journal.is_some(), "no such section"),
            ("ftl.rain", ftl.rain.is_some(), "no such section"),
            ("ftl.paired_pages", ftl.paired_pages != Default::default(), "no such field"),
        ]
    }

    /// Returns the fields of other sections like [`Description::ftl_given`].
    fn others_given(&self) -> Vec<(&'static str, bool, &'static str)> {
        let flash = &self.flash;
        let (age, most) = (self.state.age.0, RETENTION.0);
        let retains = |mode: &WriteModeConfig| mode.retention_by_wear().iter().any(|limit| limit.0 < age.saturating_add(most));
        vec![
            ("flash.copyback", flash.copyback, "false"),
            ("flash.write_mode[0].retention", flash.write_modes.first().is_some_and(retains), "at least a year beyond state.age"),
            ("flash.erase_mode", flash.erase_modes.len() > 1, "at most one erase mode"),
            ("flash.encoder", !flash.encoders.is_empty(), "no encoder"),
            ("state.graceful_shutdown", self.state.graceful_shutdown, "false"),
            ("flash", self.geometry().die_count > MAX_DIES, "at most 1024 dies"),
            ("buffer.flush_order", self.buffer.flush_order == FlushOrder::Lru, "another order"),
            ("buffer.rewritten", self.buffer.rewritten != Rewritten::Replaced, "\"replaced\""),
            ("controller.page_buffers", self.controller.page_buffers.is_some(), "no such section"),
            ("ecc.errors", self.ecc.source().is_some(), "no such section"),
        ]
    }

    /// Returns a problem if a core executes firmware, which `what` asks for decisions that it does not make.
    pub(super) fn executed_lacks(&self, place: &str, what: &str) -> Option<Problem> {
        let complaint = format!(
            "{what} needs decisions that executed firmware does not make: expected another controller.firmware than \"{}\"",
            self.controller.firmware.name()
        );
        self.executes_firmware().then(|| Problem::new(place, complaint))
    }

    /// Reads the image of the firmware, if a file holds it.
    pub(super) fn read_image(&mut self, file: super::File<'_>) -> Result<(), Problems> {
        self.controller.firmware.read_files(file)?;
        self.executed_firmware().and_then(|config| config.problem()).map_or(Ok(()), |problem| Err(problem.into()))
    }
}

fn greedy() -> VictimConfig {
    VictimConfig::named("greedy").expect("a victim rule")
}

fn unlevelled() -> WearConfig {
    WearConfig::named("none").expect("no wear levelling")
}
