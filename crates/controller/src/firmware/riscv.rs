//! Firmware that cores execute instruction by instruction.

use super::{Cores, Firmware};
use ::riscv::{CycleTable, Image, SharedMemory};
use kit::{Bytes, Frequency, Nanos, Problems, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The image of `firmware/page_map.c`.
const PAGE_MAP: &[u8] = include_bytes!("../../../../firmware/page_map.elf");
/// Least and largest size of a tightly coupled memory.
const MEMORY: std::ops::RangeInclusive<u64> = 4096..=64 << 20;
/// Least and longest time of the watchdog.
const WATCHDOG: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;

/// A RISC-V core (RV32IMC) executes the image of a firmware, and what it decides is what the flash does: it looks units
/// up, chooses what each die does, and collects. The hardware beside it is the write buffer, the paths of the data, and
/// the registers of `firmware/hardware.h`, by which the firmware gets events and gives operations to dies; it checks
/// each of them. The firmware finds the map of the starting state in its DRAM, and starts before the run.
///
/// Several cores execute the same image, each with its registers, its tightly coupled memories and its event queue.
/// They share the DRAM behind one interconnect, and a lock: a core that asks for it waits until it has it.
///
/// A core takes the cycles of `cycles` for each instruction, and no other time: the decoding and the completion of
/// commands take no time of their own. The built-in image is a page map with greedy collection. What it does not do is
/// refused: a victim rule, wear levelling, a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The executable, an ELF file. Absent: the built-in page map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Number of cores.
    #[schemars(range(min = 1, max = 64))]
    pub cores: u32,
    /// Rule by which the events of dies and commands get their core.
    pub split: Split,
    /// Clock of the cores.
    pub clock: Frequency,
    /// Size of the tightly coupled memory of the text, which begins at 0.
    pub text: Bytes,
    /// Size of the tightly coupled memory of the data, which begins at 0x10000000. That of the DRAM at 0x80000000
    /// follows from the size of the map.
    pub data: Bytes,
    /// Cycles of each class of instructions.
    pub cycles: CycleTable,
    /// Time of the DRAM, and the core's cache of it.
    pub dram: SharedMemory,
    /// Time for which the firmware may work without asking for an event. It hangs if it takes longer, and the run ends.
    pub watchdog: Nanos,
    /// The content of the file.
    #[serde(skip)]
    #[schemars(skip)]
    file: Option<Arc<Image>>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            image: None,
            cores: 1,
            split: Split::default(),
            clock: Frequency(400_000_000),
            text: Bytes(256 << 10),
            data: Bytes(256 << 10),
            cycles: CycleTable::default(),
            dram: SharedMemory::default(),
            watchdog: Nanos(100_000_000),
            file: None,
        }
    }
}

/// Rule by which the events of dies and commands get their core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Each channel has its core for the operations of its dies and their collection, its number modulo the number of
    /// cores; reads and trims take the cores by the address of their first mapping unit.
    #[default]
    Channel,
    /// The first core looks up and deallocates, and the others serve the dies, each those of its channels.
    Task,
    /// Each submission queue has its core for its reads and trims, its number modulo the number of cores; the dies go
    /// by channel.
    Queue,
}

/// Builds the firmware.
pub fn build(params: &Params, (): ()) -> Box<dyn Firmware> {
    Box::new(params.clone())
}

impl Params {
    /// Reads the image; `file` returns the content of a file, the bytes of an executable as characters up to U+00FF.
    pub fn read(&mut self, file: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let Some(name) = &self.image else { return Ok(()) };
        let read = |content: String| {
            let bytes: Option<Vec<u8>> = content.chars().map(|one| u8::try_from(u32::from(one)).ok()).collect();
            Image::read(&bytes.unwrap_or_default())
        };
        let image = file(name).and_then(read).map_err(|why| format!("{name}: {why}"))?;
        self.file = Some(Arc::new(image));
        Ok(())
    }

    /// Returns the image.
    pub fn executable(&self) -> Arc<Image> {
        let built_in = || {
            assert!(self.image.is_none(), "the image has been read with the description");
            Arc::new(Image::read(PAGE_MAP).expect("the built-in image is an executable"))
        };
        self.file.clone().unwrap_or_else(built_in)
    }
}

impl Firmware for Params {
    fn cores(&self) -> Option<Cores> {
        None
    }

    fn executed(&self) -> Option<&Params> {
        Some(self)
    }

    fn in_words(&self) -> Vec<String> {
        let image = self.image.as_deref().unwrap_or("page map");
        let cores = match (self.cores, self.split) {
            (1, _) => "RISC-V core".to_owned(),
            (cores, Split::Channel) => format!("{cores} RISC-V cores by channel"),
            (cores, Split::Task) => format!("{cores} RISC-V cores by task"),
            (cores, Split::Queue) => format!("{cores} RISC-V cores by queue"),
        };
        let executes = if self.cores == 1 { "executes" } else { "execute" };
        vec![format!("{cores}, {}", words::frequency(self.clock)), format!("{executes} {image}")]
    }

    fn problems(&self, problems: &mut Problems) {
        let place = "controller.firmware";
        if !(1_000_000..=10_000_000_000).contains(&self.clock.0) {
            problems.add(format!("{place}.clock"), format!("{}: expected 1MHz to 10GHz", self.clock));
        }
        for (name, size) in [("text", self.text), ("data", self.data)] {
            if !MEMORY.contains(&size.0) || !size.0.is_multiple_of(4) {
                problems.add(format!("{place}.{name}"), format!("{size}: expected a multiple of 4B from 4KiB to 64MiB"));
            }
        }
        if self.split == Split::Task && self.cores == 1 {
            problems.add(format!("{place}.split"), "\"task\": expected at least 2 cores, one of them for the commands");
        }
        if self.cores > 1 && self.dram.cache.is_some() {
            problems
                .add(format!("{place}.dram.cache"), format!("{} cores: expected no cache, as none is kept coherent", self.cores));
        }
        self.cycles.problems(&format!("{place}.cycles"), problems);
        self.dram.problems(&format!("{place}.dram"), problems);
        if !WATCHDOG.contains(&self.watchdog.0) {
            problems.add(format!("{place}.watchdog"), format!("{}: expected 1us to 100s", self.watchdog));
        }
    }
}
