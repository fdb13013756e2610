//! Least distances between commands, derived from the times of a speed grade.

use super::timing::{Generation, Timing};

/// Direction of a column command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Least cycles from a column command to the next one, by the place of the second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnGap {
    /// In the same bank group.
    pub same_group: u64,
    /// In another group of the same rank.
    pub same_rank: u64,
    /// In another rank.
    pub other_rank: u64,
}

/// Least cycles between commands that a formula of the standard gives. The others are times of the grade itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// From a read to the precharge of its bank.
    pub read_to_precharge: u64,
    /// From a write to the precharge of its bank.
    pub write_to_precharge: u64,
    /// Between column commands, by the direction of the first and of the second.
    pub column: [[ColumnGap; 2]; 2],
}

impl Gaps {
    /// Derives the distances.
    pub fn new(timing: &Timing) -> Gaps {
        let burst = timing.burst_cycles();
        // LPDDR4 counts write recovery and tWTR from one cycle later (tDQSS).
        let strobe = if timing.generation == Generation::Lpddr4 { 1 } else { 0 };
        let write_end = timing.cwl + burst + strobe;
        let read_to_precharge = match timing.generation {
            Generation::Sdr | Generation::Ddr => burst,
            Generation::Ddr2 => burst + timing.rtp.max(2) - 2,
            Generation::Ddr3 | Generation::Ddr4 => timing.rtp,
            Generation::Lpddr4 => burst + timing.rtp.max(8) - 8,
        };
        let write_to_precharge = match timing.generation {
            // SDRAM counts the recovery from the cycle of the last data, not from its end.
            Generation::Sdr => write_end - 1 + timing.wr,
            _ => write_end + timing.wr,
        };
        let like = ColumnGap {
            same_group: timing.ccd_l.max(burst),
            same_rank: timing.ccd_s.max(burst),
            other_rank: burst + timing.rtrs,
        };
        let to_write = |gap: u64| (timing.cl + burst + gap).saturating_sub(timing.cwl).max(1);
        let read_to_write = ColumnGap {
            same_group: to_write(timing.turnaround),
            same_rank: to_write(timing.turnaround),
            other_rank: to_write(timing.rtrs),
        };
        let write_to_read = ColumnGap {
            same_group: write_end + timing.wtr_l,
            same_rank: write_end + timing.wtr_s,
            other_rank: (timing.cwl + burst + timing.rtrs).saturating_sub(timing.cl).max(1),
        };
        Gaps { read_to_precharge, write_to_precharge, column: [[like, read_to_write], [write_to_read, like]] }
    }
}
