//! Facts about the drive that a policy is built with.

use super::Facts;
#[cfg(test)]
use kit::Nanos;
use kit::{ModeId, NORMAL_MODE};

impl Facts {
    /// Returns the facts of a small drive with two write modes, for tests.
    #[cfg(test)]
    pub(crate) fn example() -> Facts {
        Facts {
            write_modes: vec!["normal".to_owned(), "fast".to_owned()],
            erase_modes: vec!["normal".to_owned()],
            retention: vec![None, None],
            retention_by_wear: vec![Vec::new(), Vec::new()],
            program_scales: vec![1.0, 0.5],
            encode_times: vec![Nanos::ZERO; 2],
            write_levels: vec![0, 0],
            block_units: vec![64, 64],
            codes: vec![0, 0],
            erase_levels: vec![0],
            erase_wear: vec![1.0],
            erase_scales: vec![1.0],
            read_modes: vec!["normal".to_owned()],
            read_mode_of: vec![ModeId(0), ModeId(0)],
            read_times: vec![Nanos(50_000)],
            rated_pe_cycles: 1_000,
            move_time: Nanos(650_000),
            page_move_share: Nanos(162_500),
            retention_margin: Nanos::ZERO,
            program_time: Nanos(600_000),
            erase_time: Nanos(3_000_000),
            unit_bytes: kit::UNIT_BYTES,
            units_per_program: 1,
            blocks_per_die: 128,
            die_count: 4,
            user_units: 1000,
        }
    }

    /// Returns the write mode that every drive has.
    pub fn normal_mode(&self) -> ModeId {
        self.write_mode(NORMAL_MODE)
    }

    /// Returns the write mode that every drive has, and the read mode that its data needs.
    pub fn normal_modes(&self) -> (ModeId, ModeId) {
        let mode = self.normal_mode();
        (mode, self.read_mode_of.get(mode.index()).copied().unwrap_or_default())
    }

    /// Returns the write mode called `name`, or the first one if there is none of that name.
    pub fn write_mode(&self, name: &str) -> ModeId {
        ModeId(self.write_modes.iter().position(|mode| mode == name).unwrap_or(0) as u8)
    }
}
