//! Counts of a translation layer.

use kit::archive::{Archived, MAX_COUNTED, require};
use kit::reason::REASON_COUNT;
use kit::{ModeId, Reason};
use serde::{Deserialize, Serialize};

/// Counts of completed work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FtlCounters {
    /// Mapping units programmed, by reason; `padding` counts the units programmed without data.
    pub units_programmed: [u64; REASON_COUNT],
    /// Mapping units written by the host.
    pub host_units: u64,
    /// Units of host writes that replaced a unit still in the write buffer.
    pub absorbed: u64,
    /// Reads of units never written.
    pub unmapped_reads: u64,
    /// Units read from the controller's memory because their program had not completed.
    pub reads_in_flight: u64,
    /// Units read from the write buffer.
    pub buffer_hits: u64,
    /// Units read from the read cache.
    pub cache_hits: u64,
    /// Units read ahead from flash.
    pub read_ahead: u64,
    /// Units of reads that waited for units that were being read ahead.
    pub read_ahead_waits: u64,
    /// Units to be relocated that turned out to have been overwritten or trimmed in the meantime.
    pub relocation_skipped: u64,
    /// Victim blocks taken to gain free space.
    pub collections: u64,
    /// Host units programmed in each write mode.
    pub host_units_by_mode: [u64; 16],
    /// Units programmed in each write mode, for any reason, without padding.
    pub units_by_mode: [u64; 16],
    /// Units programmed through another stream than the first one of the host or of relocations.
    pub units_apart: u64,
    /// Units that were not written in the mode that the policy chose, because the data could not all be moved before
    /// its limit, or, for relocations, because a block holds fewer units in that mode.
    pub retention_refusals: u64,
    /// Units trimmed, or discarded with their zone.
    pub trimmed_units: u64,
    /// Lazy erases: free blocks erased further before they could be used.
    pub lazy_erases: u64,
}

impl FtlCounters {
    /// Counts a program of `bound` units of data in place of the `units` that it has room for.
    pub(crate) fn count_program(&mut self, reason: Reason, mode: ModeId, bound: u32, units: u32) {
        self.units_programmed[reason as usize] += u64::from(bound);
        self.units_programmed[Reason::Padding as usize] += u64::from(units - bound);
        self.units_by_mode[mode.index()] += u64::from(bound);
        if reason == Reason::Host {
            self.host_units_by_mode[mode.index()] += u64::from(bound);
        }
    }

    /// Checks that the counts of a saved drive can go on.
    pub(crate) fn check(&self) -> Archived {
        let FtlCounters {
            units_programmed,
            host_units,
            absorbed,
            unmapped_reads,
            reads_in_flight,
            buffer_hits,
            cache_hits,
            read_ahead,
            read_ahead_waits,
            relocation_skipped,
            collections,
            host_units_by_mode,
            units_by_mode,
            units_apart,
            retention_refusals,
            trimmed_units,
            lazy_erases,
        } = self;
        let lists: [&[u64]; 3] = [units_programmed, host_units_by_mode, units_by_mode];
        let counts = [
            host_units,
            absorbed,
            unmapped_reads,
            reads_in_flight,
            buffer_hits,
            cache_hits,
            read_ahead,
            read_ahead_waits,
            relocation_skipped,
            collections,
            units_apart,
            retention_refusals,
            trimmed_units,
            lazy_erases,
        ];
        let most = lists.into_iter().flatten().chain(counts).copied().max().unwrap_or(0);
        require(most <= MAX_COUNTED, || format!("a counter of its work stands at {most}, more than can be counted"))
    }

    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &FtlCounters) -> FtlCounters {
        let minus = |now: &[u64], before: &[u64], at: usize| now[at] - before[at];
        FtlCounters {
            units_programmed: std::array::from_fn(|at| minus(&self.units_programmed, &earlier.units_programmed, at)),
            host_units_by_mode: std::array::from_fn(|at| minus(&self.host_units_by_mode, &earlier.host_units_by_mode, at)),
            units_by_mode: std::array::from_fn(|at| minus(&self.units_by_mode, &earlier.units_by_mode, at)),
            host_units: self.host_units - earlier.host_units,
            units_apart: self.units_apart - earlier.units_apart,
            absorbed: self.absorbed - earlier.absorbed,
            unmapped_reads: self.unmapped_reads - earlier.unmapped_reads,
            reads_in_flight: self.reads_in_flight - earlier.reads_in_flight,
            buffer_hits: self.buffer_hits - earlier.buffer_hits,
            cache_hits: self.cache_hits - earlier.cache_hits,
            read_ahead: self.read_ahead - earlier.read_ahead,
            read_ahead_waits: self.read_ahead_waits - earlier.read_ahead_waits,
            relocation_skipped: self.relocation_skipped - earlier.relocation_skipped,
            collections: self.collections - earlier.collections,
            retention_refusals: self.retention_refusals - earlier.retention_refusals,
            trimmed_units: self.trimmed_units - earlier.trimmed_units,
            lazy_erases: self.lazy_erases - earlier.lazy_erases,
        }
    }
}
