//! The tables of modes in a drive's description: how a page is written, how a block is erased, how a page is read. A mode is given in numbers, or derived by the
//! model of the cell.

use crate::config::PerPageType;
use crate::per_wear::PerWear;
use kit::{Nanos, Rate, wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of the table of write modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteModeConfig {
    /// Its name; policies ask for modes by name.
    pub name: String,
    /// Its program time as a multiple of `program_time`. Halving it by doubling the program step needs a pulse train without fixed
    /// overhead.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub program_scale: f64,
    /// How long data written in it stays correctable: one value, or several for equal parts of the rated endurance, from fresh to
    /// worn. Absent: without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<PerPageType>,
    /// The read mode that its data needs, by name. Absent: the first of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_mode: Option<String>,
    /// The shallowest level of erase that it can be programmed on: 0 is the deepest (DPES: EVmode 0), and a mode that leaves its levels narrower bears
    /// shallower ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 15))]
    pub erase_level: u8,
    /// Bits that it stores in a cell, at most those of `cell`; with fewer, a block holds less. `program_scale` then counts the programs of as many
    /// wordlines as fill what one program of the full mode fills. Where pages are programmed one by one, all page types need the same times. Absent: those of `cell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4))]
    pub bits_per_cell: Option<u32>,
    /// The code that protects its data, by the name of an encoder; relocated data that has it already is not encoded again. Absent: a code whose encoder
    /// costs no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the mode is to be derived from, by the model that `cell_model` names; in place of `program_scale` and `retention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveWrite>,
    /// How the mode was derived: written into a resolved description, and of no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivation: Option<WriteDerivation>,
}

/// What a write mode is derived from: a promised retention, whose widest program step is sought, or a step, whose retention is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveWrite {
    /// How long data must stay correctable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Nanos>,
    /// The program step \[V; pitches for `rr-mlc`\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0001, max = 10.0))]
    pub step: Option<f64>,
    /// The wear up to which that holds.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub at_pe_cycles: u32,
    /// How much shallower than nominal blocks are erased \[V\].
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: f64,
    /// Temperature at which data ages \[degrees Celsius\]. Absent: that for which the model is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -40.0, max = 150.0))]
    pub temperature: Option<f64>,
    /// Soft levels that reads of its data are given.
    #[serde(default)]
    #[schemars(range(min = 0, max = 16))]
    pub soft_levels: u32,
    /// The error rate that the code of this mode corrects, where it is another than the drive's. Absent: the drive's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub corrects: Option<f64>,
    /// Where the levels of the cell lie: at the model's verify voltages, or moved as low as erase depth and step allow.
    #[serde(default, skip_serializing_if = "is_fixed")]
    pub levels: Levels,
    /// The retention limit follows the wear of each block, in sixteen classes of the rated cycles, instead of being the promised one for all.
    #[serde(default)]
    pub by_wear: bool,
}

/// Where a write mode puts the levels of the cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Levels {
    /// At the model's verify voltages, with its references between them.
    #[default]
    Fixed,
    /// Each as low as the one below it allows, with a reference between, as long as the highest still ends within the window: what a narrower step leaves
    /// free, a shallower erase may take.
    Moved,
}

fn is_fixed(levels: &Levels) -> bool {
    *levels == Levels::Fixed
}

/// How a write mode was derived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteDerivation {
    /// The model.
    pub cell: String,
    /// The program step \[V; pitches for `rr-mlc`\].
    pub step: f64,
    /// The step that `program_time` is for.
    pub nominal_step: f64,
    /// The promised retention, or the one that was found.
    pub retention: Nanos,
    /// The wear up to which it holds.
    pub at_pe_cycles: u32,
    /// How much shallower than nominal blocks are erased \[V\].
    pub erase_shift: f64,
    /// Where its levels lie.
    #[serde(default, skip_serializing_if = "is_fixed")]
    pub levels: Levels,
    /// Temperature at which data ages \[degrees Celsius\].
    pub temperature: f64,
    /// The error rate that the code corrects.
    pub limit: f64,
    /// The error rate of the worst page at the end of the retention.
    pub error_rate: f64,
    /// What of that lies outside what the model may be believed for.
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
    /// The mode in which nothing differs from what the description says of every write.
    pub fn named(name: &str) -> WriteModeConfig {
        WriteModeConfig {
            name: name.to_owned(),
            program_scale: 1.0,
            retention: None,
            read_mode: None,
            erase_level: 0,
            bits_per_cell: None,
            code: None,
            derive: None,
            derivation: None,
        }
    }

    /// The retention limit at `pe_cycles` of `rated` cycles: the value of the wear class, rounded towards worn.
    pub fn retention_at(&self, pe_cycles: u32, rated: u32) -> Option<Nanos> {
        let limits = self.retention.as_ref()?.all();
        Some(limits[wear_class(pe_cycles, rated, limits.len())])
    }
}

/// A row of the table of erase modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseModeConfig {
    /// Its name; policies ask for modes by name.
    pub name: String,
    /// Its erase time as a multiple of `erase_time`.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub erase_scale: f64,
    /// Wear of one erase, as a multiple of a nominal erase: one value, or several for equal parts of the rated endurance, from fresh to worn. A block's part
    /// follows from its summed effective wear.
    #[serde(default)]
    pub wear: PerWear,
    /// How shallow it leaves a block: 0 is the deepest (DPES: EVmode 0). Write modes say up to which level they can be programmed.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 15))]
    pub level: u8,
    /// How much smaller than nominal it leaves the window \[V\]: what the write modes that follow must do without.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: f64,
    /// What the mode is to be derived from, by the model that `cell_model` names; in place of `erase_scale`, `wear` and `erase_shift`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveErase>,
}

/// What an erase mode is derived from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveErase {
    /// How much smaller it leaves the window \[V\]: what the write modes that follow must do without. Its wear is the same at any wear of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub erase_shift: Option<f64>,
    /// One of the model's own erase modes, in place of `erase_shift`: the gentlest erase that the mode's program step leaves room for at the wear of the block.
    /// Its wear is one value for each of the model's intervals of summed wear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<DpesMode>,
    /// Whether it starts at a lower voltage, which takes four times as long and wears less.
    #[serde(default)]
    pub slow: bool,
}

/// An encoder in the controller, through which data for the write modes with its code passes, first come, first served. A program of host data waits for it with its
/// die, which may serve reads meanwhile; what is moved for the FTL is encoded while its die does other things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// The code it encodes; write modes name it.
    pub code: String,
    /// How fast it encodes data. Absent: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Rate>,
}

/// Erase modes of dynamic program and erase scaling, from the nominal voltage to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DpesMode {
    /// For programs with the nominal step.
    EV0,
    /// For programs that take 1.14 times as long.
    EV1,
    /// For programs that take 1.33 times as long.
    EV2,
    /// For programs that take 1.6 times as long.
    EV3,
    /// For programs that take twice as long.
    EV4,
}

/// A row of the table of read modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadModeConfig {
    /// Its name.
    pub name: String,
    /// Its sensing time as a multiple of `read_time`.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub sense_scale: f64,
    /// How often the page's data crosses the channel.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 64))]
    pub transfers: u32,
    /// The error rate that is correctable with it. Absent: what the code corrects with a hard decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub corrects: Option<f64>,
    /// Reference voltages for each boundary between levels, N: sensing takes N times as long, ceil(log2(N + 1)) transfers follow, and what that corrects is
    /// the code's limit with (N - 1) / 2 soft levels (AGCR, equation 2). In place of the fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derive: Option<DeriveRead>,
}

/// What a read mode is derived from.
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
