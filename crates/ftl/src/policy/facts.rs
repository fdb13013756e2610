//! Facts about the drive that a policy is built with.

use kit::{ModeId, Nanos};
use schemars::JsonSchema;

/// Constant properties of the drive, which a policy is built with.
#[derive(Clone, Debug, JsonSchema)]
pub struct Facts {
    /// Names of the write modes, in the order of their ids.
    pub write_modes: Vec<String>,
    /// Names of the erase modes, in the order of their ids.
    pub erase_modes: Vec<String>,
    /// Retention limit of each write mode at the wear stated in the description; none: without limit.
    pub retention: Vec<Option<Nanos>>,
    /// Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; empty: without limit.
    pub retention_by_wear: Vec<Vec<Nanos>>,
    /// Program time of each write mode, as a multiple of the nominal time.
    pub program_scales: Vec<f64>,
    /// Time that the encoder of each write mode takes for one unit; zero without an encoder.
    pub encode_times: Vec<Nanos>,
    /// Shallowest level of erase on which each write mode can be programmed.
    pub write_levels: Vec<u8>,
    /// Number of units that a block holds in each write mode.
    pub block_units: Vec<u32>,
    /// Number of the encoder of each write mode, counted from 1; 0 without an encoder.
    pub codes: Vec<u8>,
    /// Level of each erase mode: 0 is the deepest.
    pub erase_levels: Vec<u8>,
    /// Wear of a fresh block by one erase in each erase mode, in nominal erases.
    pub erase_wear: Vec<f64>,
    /// Erase time of each erase mode, as a multiple of tBERS.
    pub erase_scales: Vec<f64>,
    /// Names of the read modes, in the order of their ids.
    pub read_modes: Vec<String>,
    /// Read mode that data of each write mode needs.
    #[schemars(with = "Vec<String>")]
    pub read_mode_of: Vec<ModeId>,
    /// Time to sense and transfer one unit in each read mode.
    pub read_times: Vec<Nanos>,
    /// Program and erase cycles that a block is rated for.
    pub rated_pe_cycles: u32,
    /// tR + tPROG in the `normal` mode: the time for which a die is busy with the move of one program unit.
    pub move_time: Nanos,
    /// Time that one page move takes of the drive as a whole: its die time divided by the number of dies, or its
    /// transfer time divided by the number of channels, whichever is longer.
    pub page_move_share: Nanos,
    /// Time before its retention limit at which the drive itself moves data (`ftl.retention_margin`).
    pub retention_margin: Nanos,
    /// tPROG in the `normal` mode.
    pub program_time: Nanos,
    /// tBERS in the first erase mode.
    pub erase_time: Nanos,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// Number of units that one program writes.
    pub units_per_program: u32,
    /// Number of blocks in a die.
    pub blocks_per_die: u32,
    /// Number of dies in the drive.
    pub die_count: u32,
    /// Number of logical units.
    pub user_units: u64,
}

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

    /// Returns the write mode `normal`, or the first one if there is none of that name, and the read mode that its data
    /// needs.
    pub fn normal_modes(&self) -> (ModeId, ModeId) {
        let mode = self.write_mode("normal");
        (mode, self.read_mode_of.get(mode.index()).copied().unwrap_or_default())
    }

    /// Returns the write mode called `name`, or the first one if there is none of that name.
    pub fn write_mode(&self, name: &str) -> ModeId {
        ModeId(self.write_modes.iter().position(|mode| mode == name).unwrap_or(0) as u8)
    }
}
