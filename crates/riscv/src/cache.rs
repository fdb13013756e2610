//! Time of the memory that cores share, and of the cache before it.

use kit::{Bytes, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest number of cycles of an entry.
const MAX_CYCLES: u32 = 65_535;
/// Largest cache.
const MAX_SIZE: u64 = 16 << 20;
/// Sizes of a line.
const LINE_BYTES: std::ops::RangeInclusive<u64> = 4..=4096;
/// Most ways.
const MAX_WAYS: u32 = 64;

/// Time of the memory in the region `shared`, in addition to the cycles of a load or store.
///
/// The defaults are assumed: the latency of a memory behind an interconnect, without the waiting times of other cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharedMemory {
    /// Additional cycles of a load that no cache serves.
    #[schemars(range(max = MAX_CYCLES))]
    pub read_cycles: u32,
    /// Additional cycles of a store that no cache takes: of every store without a cache or with one that writes
    /// through.
    #[schemars(range(max = MAX_CYCLES))]
    pub write_cycles: u32,
    /// Cycles for which an access occupies the interconnect before the memory. Where several cores share it, an access
    /// waits until those that began before have left it; of those that begin in one cycle, that of the core with the
    /// lowest number goes first.
    #[schemars(range(max = MAX_CYCLES))]
    pub interconnect_cycles: u32,
    /// Cache of each core. Absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheParams>,
}

impl Default for SharedMemory {
    fn default() -> Self {
        SharedMemory { read_cycles: 20, write_cycles: 20, interconnect_cycles: 4, cache: None }
    }
}

impl SharedMemory {
    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        cycles_in_range(self.read_cycles, &format!("{place}.read_cycles"), problems);
        cycles_in_range(self.write_cycles, &format!("{place}.write_cycles"), problems);
        cycles_in_range(self.interconnect_cycles, &format!("{place}.interconnect_cycles"), problems);
        if let Some(cache) = &self.cache {
            cache.problems(&format!("{place}.cache"), problems);
        }
    }
}

/// Handling of stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritePolicy {
    /// A store goes to the cache, which fetches the line if it misses. The line is written back when it is replaced.
    #[default]
    WriteBack,
    /// A store goes to the memory. It changes a line that the cache has, and fetches none.
    WriteThrough,
}

/// A set-associative cache that replaces the least recently used line of a set. It models time alone: data is always
/// coherent.
///
/// The defaults are assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CacheParams {
    /// Size of the cache: a power of two of sets with `ways` lines each, at most 16 MiB.
    pub size: Bytes,
    /// Size of a line: a power of two within 4 B to 4 KiB.
    pub line: Bytes,
    /// Lines of a set.
    #[schemars(range(min = 1, max = MAX_WAYS))]
    pub ways: u32,
    /// Additional cycles of a hit.
    #[schemars(range(max = MAX_CYCLES))]
    pub hit_cycles: u32,
    /// Additional cycles of a miss, that of the fetched line included.
    #[schemars(range(max = MAX_CYCLES))]
    pub miss_cycles: u32,
    /// Additional cycles of a miss that replaces a changed line.
    #[schemars(range(max = MAX_CYCLES))]
    pub write_back_cycles: u32,
    /// Handling of stores.
    pub write: WritePolicy,
}

impl Default for CacheParams {
    fn default() -> Self {
        CacheParams {
            size: Bytes(16 << 10),
            line: Bytes(32),
            ways: 4,
            hit_cycles: 0,
            miss_cycles: 28,
            write_back_cycles: 16,
            write: WritePolicy::WriteBack,
        }
    }
}

impl CacheParams {
    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        let Bytes(line) = self.line;
        let line_is_valid = line.is_power_of_two() && LINE_BYTES.contains(&line);
        if !line_is_valid {
            problems.add(format!("{place}.line"), format!("{line}B: expected a power of two within 4B..=4KiB"));
        }
        let ways_are_valid = (1..=MAX_WAYS).contains(&self.ways);
        if !ways_are_valid {
            problems.add(format!("{place}.ways"), format!("{}: expected 1..={MAX_WAYS}", self.ways));
        }
        if line_is_valid && ways_are_valid {
            let (Bytes(size), set) = (self.size, line * u64::from(self.ways));
            if !size.is_multiple_of(set) || !(size / set).is_power_of_two() || size > MAX_SIZE {
                let wanted = format!("expected a power of two of sets of {set}B, at most 16MiB");
                problems.add(format!("{place}.size"), format!("{size}B: {wanted}"));
            }
        }
        cycles_in_range(self.hit_cycles, &format!("{place}.hit_cycles"), problems);
        cycles_in_range(self.miss_cycles, &format!("{place}.miss_cycles"), problems);
        cycles_in_range(self.write_back_cycles, &format!("{place}.write_back_cycles"), problems);
    }
}

fn cycles_in_range(cycles: u32, place: &str, problems: &mut Problems) {
    if cycles > MAX_CYCLES {
        problems.add(place, format!("{cycles}: expected 0..={MAX_CYCLES}"));
    }
}

/// Accesses to the region `shared` so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Loads and stores that found their line.
    pub hits: u64,
    /// Loads and stores that did not, those without a cache included.
    pub misses: u64,
    /// Changed lines that were written back.
    pub write_backs: u64,
}

/// A line of the cache.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Number of the line in the address space.
    number: u32,
    /// Count of accesses at its last use; 0: it holds nothing.
    last_use: u64,
    is_changed: bool,
}

/// Timing of a core's accesses to the shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedTiming {
    params: SharedMemory,
    /// Lines of all sets, set by set. Empty without a cache.
    lines: Vec<Line>,
    sets: u32,
    accesses: u64,
    pub usage: CacheUsage,
}

impl SharedTiming {
    /// Returns the timing of valid `params`.
    pub fn new(params: &SharedMemory) -> SharedTiming {
        let count = params.cache.as_ref().map_or(0, |cache| cache.size.0 / cache.line.0);
        let sets = params.cache.as_ref().map_or(0, |cache| count / u64::from(cache.ways));
        SharedTiming {
            params: params.clone(),
            lines: vec![Line::default(); count as usize],
            sets: sets as u32,
            accesses: 0,
            usage: CacheUsage::default(),
        }
    }

    /// Accounts a load or store and returns its additional cycles.
    pub fn access(&mut self, address: u32, is_store: bool) -> u32 {
        let SharedTiming { params, lines, sets, accesses, usage } = self;
        let uncached_cycles = if is_store { params.write_cycles } else { params.read_cycles };
        let Some(cache) = &params.cache else {
            usage.misses += 1;
            return uncached_cycles;
        };
        *accesses += 1;
        let number = address / cache.line.0 as u32;
        let ways = cache.ways as usize;
        let first = (number & (*sets - 1)) as usize * ways;
        let set = &mut lines[first..first + ways];
        let writes_through = is_store && cache.write == WritePolicy::WriteThrough;
        if let Some(line) = set.iter_mut().find(|line| line.number == number && line.last_use > 0) {
            line.last_use = *accesses;
            line.is_changed |= is_store && !writes_through;
            usage.hits += 1;
            return if writes_through { uncached_cycles } else { cache.hit_cycles };
        }
        usage.misses += 1;
        if writes_through {
            return uncached_cycles;
        }
        let Some(victim) = set.iter_mut().min_by_key(|line| line.last_use) else { return cache.miss_cycles };
        let write_back_cycles = if victim.is_changed { cache.write_back_cycles } else { 0 };
        usage.write_backs += u64::from(victim.is_changed);
        *victim = Line { number, last_use: *accesses, is_changed: is_store };
        cache.miss_cycles + write_back_cycles
    }

    /// Empties the cache and returns the number of changed lines in it, which count as written back.
    pub fn flush(&mut self) -> u64 {
        let changed = self.lines.iter().filter(|line| line.is_changed).count() as u64;
        self.lines.fill(Line::default());
        self.usage.write_backs += changed;
        changed
    }
}
