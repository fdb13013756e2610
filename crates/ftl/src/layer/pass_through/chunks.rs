//! Chunks: their states, write pointers and limits, by the rules of the Open-Channel SSD specification 2.0.

use super::lines::Lines;
use kit::Status;
use kit::archive::{Archive, Archived, require};
use serde::{Deserialize, Serialize};

/// State of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ChunkState {
    /// Nothing is written.
    #[default]
    Free,
    /// Partly written.
    Open,
    /// Full.
    Closed,
    /// Out of service.
    Offline,
}

impl ChunkState {
    /// All states.
    pub const ALL: [ChunkState; 4] = [ChunkState::Free, ChunkState::Open, ChunkState::Closed, ChunkState::Offline];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            ChunkState::Free => "free",
            ChunkState::Open => "open",
            ChunkState::Closed => "closed",
            ChunkState::Offline => "offline",
        }
    }

    /// Returns the value of the field Chunk State in a chunk descriptor.
    pub fn code(self) -> u8 {
        match self {
            ChunkState::Free => 1,
            ChunkState::Closed => 1 << 1,
            ChunkState::Open => 1 << 2,
            ChunkState::Offline => 1 << 3,
        }
    }
}

/// A chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its state.
    pub state: ChunkState,
    /// Mapping units written, from its beginning: the write pointer.
    pub written: u32,
    /// Its erases.
    pub erases: u32,
}

/// Sizes and limits of the chunks of a drive, in mapping units and chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Mapping units of a chunk.
    pub units: u32,
    /// Chunks of a die.
    pub chunks_per_die: u32,
    /// Least write to a chunk, of which every write is a multiple.
    pub ws_min: u32,
    /// Write at which the drive is fastest.
    pub ws_opt: u32,
    /// Mapping units before the write pointer of an open chunk that cannot be read.
    pub mw_cunits: u32,
    /// Most open chunks; 0 for no limit.
    pub open: u32,
    /// Most open chunks of a die; 0 for no limit.
    pub open_per_die: u32,
    /// True if a free chunk may be reset.
    pub multiple_resets: bool,
    /// True if an open chunk may be reset.
    pub early_reset: bool,
    /// Erases after which a chunk that is reset goes offline.
    pub offline_after: u32,
}

/// The chunks of a drive.
#[derive(Clone, Debug)]
pub struct Chunks {
    rules: Rules,
    all: Vec<Chunk>,
    /// Chunks in each state, in the order of [`ChunkState::ALL`].
    counts: [u32; 4],
    open_of_die: Vec<u32>,
    /// The lines in which the host of a run uses the chunks, if it does.
    lines: Option<Lines>,
    /// The chunks that the latest command has touched, as they were before.
    before: Vec<(u32, Chunk)>,
}

impl Chunks {
    /// Returns the chunks of `dies` dies, the first `full` of each die closed and the others free.
    pub fn new(rules: Rules, dies: u32, full: u32, erases: u32) -> Chunks {
        let chunk = |index: u32| match index % rules.chunks_per_die < full {
            true => Chunk { state: ChunkState::Closed, written: rules.units, erases },
            false => Chunk { erases, ..Chunk::default() },
        };
        let mut counts = [0; 4];
        counts[ChunkState::Closed as usize] = dies * full;
        counts[ChunkState::Free as usize] = dies * (rules.chunks_per_die - full);
        let all = (0..dies * rules.chunks_per_die).map(chunk).collect();
        Chunks { rules, all, counts, open_of_die: vec![0; dies as usize], lines: None, before: Vec::new() }
    }

    /// Saves, or loads and checks, the chunks of a drive at rest. `programmed` returns the mapping units of a chunk
    /// that are programmed.
    pub(super) fn state(&mut self, archive: &mut Archive<'_>, programmed: impl Fn(u32) -> u32) -> Archived {
        archive.list(&mut self.all, "chunks")?;
        if archive.is_loading() {
            for (index, chunk) in (0..).zip(&self.all) {
                let fits = match chunk.state {
                    ChunkState::Free | ChunkState::Offline => chunk.written == 0,
                    ChunkState::Open => chunk.written < self.rules.units,
                    ChunkState::Closed => chunk.written == self.rules.units,
                };
                require(fits && programmed(index) == chunk.written, || {
                    format!("{} units of chunk {index} are programmed, and it is {chunk:?}", programmed(index))
                })?;
            }
            self.open_of_die.fill(0);
            self.counts = [0; 4];
            for (chunk, at) in self.all.iter().zip(0..) {
                self.counts[chunk.state as usize] += 1;
                self.open_of_die[(at / self.rules.chunks_per_die) as usize] += u32::from(chunk.state == ChunkState::Open);
            }
        }
        Ok(())
    }

    /// Returns the chunks with the lines in which the host of a run uses them.
    pub fn with_lines(self, lines: Option<Lines>) -> Chunks {
        Chunks { lines, ..self }
    }

    /// Returns the lines in which the host of a run uses the chunks; `None` if the addresses of a run are places of the
    /// flash.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Returns the sizes and limits.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the chunks, those of a die one after another.
    pub fn all(&self) -> &[Chunk] {
        &self.all
    }

    /// Returns the number of chunks in a state.
    pub fn count(&self, state: ChunkState) -> u32 {
        self.counts[state as usize]
    }

    /// Returns the chunks that the latest write or reset has touched.
    pub fn touched(&self) -> impl Iterator<Item = u32> {
        self.before.iter().map(|(chunk, _)| *chunk)
    }

    /// Checks a read of addresses.
    pub fn read(&self, addresses: impl Iterator<Item = u32>) -> Result<(), Status> {
        for address in addresses {
            let chunk = &self.all[(address / self.rules.units) as usize];
            let readable = match chunk.state {
                ChunkState::Offline => return Err(Status::ChunkOffline),
                ChunkState::Closed => chunk.written,
                ChunkState::Free | ChunkState::Open => chunk.written.saturating_sub(self.rules.mw_cunits),
            };
            if address % self.rules.units >= readable {
                return Err(Status::Unwritten);
            }
        }
        Ok(())
    }

    /// Checks a write to addresses, and advances the write pointers. A write that fails changes nothing.
    pub fn write(&mut self, addresses: impl Iterator<Item = u32>) -> Result<(), Status> {
        self.before.clear();
        let written = self.write_each(addresses).and_then(|()| {
            let is_whole = |(chunk, before): &(u32, Chunk)| {
                (self.all[*chunk as usize].written - before.written).is_multiple_of(self.rules.ws_min)
            };
            if self.before.iter().all(is_whole) { Ok(()) } else { Err(Status::InvalidField) }
        });
        self.or_undo(written)
    }

    fn write_each(&mut self, addresses: impl Iterator<Item = u32>) -> Result<(), Status> {
        for address in addresses {
            let (index, place) = (address / self.rules.units, address % self.rules.units);
            let chunk = self.all[index as usize];
            match chunk.state {
                ChunkState::Offline => return Err(Status::ChunkOffline),
                _ if place != chunk.written => return Err(Status::OutOfOrderWrite),
                ChunkState::Closed | ChunkState::Open => self.touch(index),
                ChunkState::Free => {
                    let (open, of_die) = (self.count(ChunkState::Open), self.open_of_die[self.die_of(index)]);
                    let is_at_limit = |limit: u32, count: u32| limit > 0 && count >= limit;
                    if is_at_limit(self.rules.open, open) || is_at_limit(self.rules.open_per_die, of_die) {
                        return Err(Status::TooManyOpen);
                    }
                    self.touch(index);
                    self.set(index, ChunkState::Open);
                }
            }
            self.all[index as usize].written += 1;
            if place + 1 == self.rules.units {
                self.set(index, ChunkState::Closed);
            }
        }
        Ok(())
    }

    /// Checks a reset of the chunks that begin at addresses, and makes them free, or takes them out of service. A reset
    /// that fails changes nothing. `programmed` returns the mapping units of a chunk that are programmed: a chunk with
    /// writes in flight is not reset.
    pub fn reset(&mut self, addresses: impl Iterator<Item = u32>, programmed: impl Fn(u32) -> u32) -> Result<(), Status> {
        self.before.clear();
        let reset = self.reset_each(addresses, programmed);
        self.or_undo(reset)
    }

    fn reset_each(&mut self, addresses: impl Iterator<Item = u32>, programmed: impl Fn(u32) -> u32) -> Result<(), Status> {
        for address in addresses {
            if !address.is_multiple_of(self.rules.units) {
                return Err(Status::InvalidField);
            }
            let index = address / self.rules.units;
            let chunk = self.all[index as usize];
            let is_allowed = match chunk.state {
                ChunkState::Offline => return Err(Status::ChunkOffline),
                ChunkState::Closed => true,
                ChunkState::Open => self.rules.early_reset,
                ChunkState::Free => self.rules.multiple_resets,
            };
            // A command resets a chunk once.
            let is_busy = programmed(index) != chunk.written;
            if !is_allowed || is_busy || self.touched().any(|touched| touched == index) {
                return Err(Status::InvalidReset);
            }
            self.touch(index);
            let is_worn = chunk.erases >= self.rules.offline_after;
            self.set(index, if is_worn { ChunkState::Offline } else { ChunkState::Free });
            self.all[index as usize].written = 0;
        }
        Ok(())
    }

    /// Counts an erase of a chunk.
    pub fn erased(&mut self, chunk: u32) {
        self.all[chunk as usize].erases += 1;
    }

    /// Takes back what a command has done that fails.
    fn or_undo(&mut self, result: Result<(), Status>) -> Result<(), Status> {
        if result.is_err() {
            while let Some((index, chunk)) = self.before.pop() {
                self.set(index, chunk.state);
                self.all[index as usize] = chunk;
            }
        }
        result
    }

    /// Keeps a chunk as it is before the command touches it for the first time.
    fn touch(&mut self, index: u32) {
        if !self.touched().any(|touched| touched == index) {
            self.before.push((index, self.all[index as usize]));
        }
    }

    fn die_of(&self, index: u32) -> usize {
        (index / self.rules.chunks_per_die) as usize
    }

    fn set(&mut self, index: u32, state: ChunkState) {
        let old = std::mem::replace(&mut self.all[index as usize].state, state);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        let die = self.die_of(index);
        self.open_of_die[die] -= u32::from(old == ChunkState::Open);
        self.open_of_die[die] += u32::from(state == ChunkState::Open);
    }
}

#[cfg(test)]
mod tests;
