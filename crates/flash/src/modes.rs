//! The tables of write, erase and read modes in a drive's description. A mode is given in numbers, or derived from the
//! model of the cell.

use crate::per_page_type::PerPageType;
use crate::per_wear::PerWear;
use kit::{Nanos, Rate, wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of the table of write modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteModeConfig {
    /// Name of the mode, by which policies choose it.
    pub name: String,
    /// Program time as a multiple of `program_time`. Doubling the program step halves the time only if the pulse train
    /// has no fixed overhead.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub program_scale: f64,
    /// Retention limit: time for which data written in the mode stays correctable. One value, or several for equal
    /// parts of the rated endurance, from fresh to worn. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<PerPageType>,
    /// Name of the read mode that the data needs. Absent: the first of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_mode: Option<String>,
    /// Shallowest erase level of a block on which the mode can program: 0 is the deepest (DPES: EVmode 0). A mode that
    /// programs narrower distributions can use shallower levels.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 15))]
    pub erase_level: u8,
    /// Bits stored in a cell, at most those of `cell`; with fewer bits a block holds less data. `program_scale` then
    /// stands for the programs of as many wordlines as hold the data of one program of the full mode. Where pages are
    /// programmed one by one, all page types must have the same times. Absent: the bits of `cell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4))]
    pub bits_per_cell: Option<u32>,
    /// Name of the model of the cell as the mode uses it, where `bits_per_cell` is not that of `cell`; for errors of
    /// stored data. Absent: the model of the flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_model: Option<String>,
    /// Code that protects the data, by the name of an encoder. Relocated data that already has this code is not encoded
    /// again. Absent: a code whose encoding takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Request to derive the mode from the model named by `cell_model`, in place of `program_scale` and `retention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveWrite>,
    /// Record of the mode's derivation, written into a resolved description. It has no effect on a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivation: Option<WriteDerivation>,
}

/// Conditions from which a write mode is derived. Either `retention` is given and the widest program step that keeps it
/// is sought, or `step` is given and the longest retention is sought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveWrite {
    /// Time for which data must stay correctable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Nanos>,
    /// Program step \[V; pitches for `rr-mlc`\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0001, max = 10.0))]
    pub step: Option<f64>,
    /// Program and erase cycles up to which retention and step must hold.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub at_pe_cycles: u32,
    /// Erase shift: how much shallower than nominal blocks are erased \[V\].
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: f64,
    /// Temperature at which data ages \[degrees Celsius\]. Absent: the temperature for which the model is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -40.0, max = 150.0))]
    pub temperature: Option<f64>,
    /// Soft levels with which the data is read.
    #[serde(default)]
    #[schemars(range(min = 0, max = 16))]
    pub soft_levels: u32,
    /// Raw bit error rate that the code of this mode corrects, in place of `soft_levels`. Absent: the rate that the
    /// drive's code corrects with `soft_levels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub corrects: Option<f64>,
    /// Placement of the levels of the cell: at the model's verify voltages, or as low as erase depth and step allow.
    #[serde(default, skip_serializing_if = "is_fixed")]
    pub levels: Levels,
    /// True: the retention limit depends on the wear of each block, in sixteen classes of the rated cycles. False: the
    /// promised retention is the limit of all blocks.
    #[serde(default)]
    pub by_wear: bool,
}

/// Placement of the levels of the cell by a write mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Levels {
    /// At the model's verify voltages, with the model's references between them.
    #[default]
    Fixed,
    /// Each level as low as the level below it allows, with a reference between them, as long as the highest level ends
    /// within the window. The window that a narrower step leaves free can then be used by a shallower erase.
    Moved,
}

fn is_fixed(levels: &Levels) -> bool {
    *levels == Levels::Fixed
}

/// Record of the derivation of a write mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteDerivation {
    /// Name of the model.
    pub cell: String,
    /// Program step \[V; pitches for `rr-mlc`\].
    pub step: f64,
    /// Nominal step of the model, to which `program_time` belongs.
    pub nominal_step: f64,
    /// Promised retention, or the longest one found.
    pub retention: Nanos,
    /// Program and erase cycles up to which the retention holds.
    pub at_pe_cycles: u32,
    /// Erase shift: how much shallower than nominal blocks are erased \[V\].
    pub erase_shift: f64,
    /// Placement of the levels of the cell.
    #[serde(default, skip_serializing_if = "is_fixed")]
    pub levels: Levels,
    /// Temperature at which data ages \[degrees Celsius\].
    pub temperature: f64,
    /// Raw bit error rate that the code corrects.
    pub limit: f64,
    /// Raw bit error rate of the worst page at the end of the retention; with moved levels, the rate that the weakest
    /// sufficient code must correct.
    pub error_rate: f64,
    /// Conditions outside the model's range of validity, and a promise that covers fewer cycles than blocks are rated
    /// for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

fn one() -> f64 {
    1.0
}

fn is_none(shift: &f64) -> bool {
    *shift == 0.0
}

fn is_zero(level: &u8) -> bool {
    *level == 0
}

impl WriteModeConfig {
    /// Returns the nominal write mode under the name `name`: every other field has its default.
    pub fn named(name: &str) -> WriteModeConfig {
        WriteModeConfig {
            name: name.to_owned(),
            program_scale: 1.0,
            retention: None,
            read_mode: None,
            erase_level: 0,
            bits_per_cell: None,
            cell_model: None,
            code: None,
            derive: None,
            derivation: None,
        }
    }

    /// Returns the retention limits by wear class; empty: without limit.
    pub fn retention_by_wear(&self) -> Vec<Nanos> {
        self.retention.as_ref().map_or(Vec::new(), |limits| limits.all().to_vec())
    }

    /// Returns the retention limit of the wear class of `pe_cycles` of `rated` cycles; a boundary between two classes
    /// belongs to the more worn one.
    pub fn retention_at(&self, pe_cycles: u32, rated: u32) -> Option<Nanos> {
        let limits = self.retention.as_ref()?.all();
        Some(limits[wear_class(pe_cycles, rated, limits.len())])
    }
}

/// A row of the table of erase modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseModeConfig {
    /// Name of the mode, by which policies choose it.
    pub name: String,
    /// Erase time as a multiple of `erase_time`.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub erase_scale: f64,
    /// Wear of one erase, as a multiple of a nominal erase: one value, or several for equal parts of the rated
    /// endurance, from fresh to worn. A block's part follows from its effective wear.
    #[serde(default)]
    pub wear: PerWear,
    /// Erase level of a block after the erase: 0 is the deepest (DPES: EVmode 0). Write modes state the shallowest
    /// level on which they can program.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 15))]
    pub level: u8,
    /// Erase shift: how much smaller than nominal the erase leaves the window \[V\]. The write modes that program such
    /// a block have this much less of the window.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: f64,
    /// Request to derive the mode from the model named by `cell_model`, in place of `erase_scale`, `wear` and
    /// `erase_shift`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveErase>,
}

/// Conditions from which an erase mode is derived: `erase_shift` or `mode`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveErase {
    /// Erase shift: how much smaller than nominal the erase leaves the window \[V\]. The wear of such an erase does not
    /// depend on the wear of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: Option<f64>,
    /// One of the model's own erase modes, in place of `erase_shift`: the shallowest erase that the program step
    /// belonging to the mode allows at the wear of the block. The wear of an erase is one value for each of the model's
    /// intervals of effective wear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<DpesMode>,
    /// True: the erase starts at a lower voltage, which takes four times as long and causes less wear.
    #[serde(default)]
    pub slow: bool,
}

/// An encoder of the controller. Data for the write modes with its code passes through it, first come, first served. A
/// program of host data, or of pages that a policy moves, reserves its die while the data is encoded; the die may only
/// serve reads meanwhile. Data of a collection is encoded before its program takes the die, which is free meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// Name of the code, by which write modes refer to the encoder.
    pub code: String,
    /// Rate at which data is encoded. Absent: encoding takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Rate>,
}

/// Erase modes of dynamic program and erase scaling (DPES), from the nominal erase voltage to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DpesMode {
    /// For programs with the nominal step.
    EV0,
    /// For programs that take 1.14 times the nominal time.
    EV1,
    /// For programs that take 1.33 times the nominal time.
    EV2,
    /// For programs that take 1.6 times the nominal time.
    EV3,
    /// For programs that take twice the nominal time.
    EV4,
}

/// A row of the table of read modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadModeConfig {
    /// Name of the mode, by which write modes refer to it.
    pub name: String,
    /// Sensing time as a multiple of `read_time`.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub sense_scale: f64,
    /// Number of transfers of the page's data over the channel.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 64))]
    pub transfers: u32,
    /// Raw bit error rate that is correctable with the mode. Absent: the rate that the code corrects with a hard
    /// decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub corrects: Option<f64>,
    /// Request to derive the mode from the number N of reference voltages for each boundary between levels, in place of
    /// the fields above. Sensing takes N times the time of one reference, ceil(log2(N + 1)) transfers follow, and the
    /// correctable error rate is the code's limit with (N - 1) / 2 soft levels (AGCR, equation 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveRead>,
}

/// Conditions from which a read mode is derived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveRead {
    /// Reference voltages for each boundary between levels: an odd number.
    #[schemars(range(min = 1, max = 63))]
    pub references: u32,
}

fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_falls_with_the_wear_class() {
        let mode = WriteModeConfig {
            retention: Some(PerPageType::Each(vec![Nanos(400), Nanos(300), Nanos(200), Nanos(100)])),
            ..WriteModeConfig::named("fast")
        };
        let at = |cycles| mode.retention_at(cycles, 1000).map(|n| n.0);
        assert_eq!([at(0), at(249), at(250), at(999), at(5000)], [Some(400), Some(400), Some(300), Some(100), Some(100)]);
    }
}
