//! Parameters of a memory channel.

use super::timing::{Generation, Grade};
use kit::{Bytes, Nanos, Problems, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A DDR memory channel of the controller. Accesses are cut into chunks, and each decision issues the commands of one
/// chunk at the earliest clock cycles that the times of the speed grade allow. Accesses to the map go before data.
///
/// Rows follow one another over the banks, then over the ranks. With bank groups (DDR4), a row extends over the same
/// row of two banks of different groups, and bursts alternate between them: a stream runs at tCCD_S (assumed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Speed grade.
    pub grade: Grade,
    /// Width of the data bus \[bits\]: 8, 16, 32 or 64.
    #[schemars(range(min = 8, max = 64))]
    pub width_bits: u32,
    /// Ranks: 1, 2 or 4.
    #[schemars(range(min = 1, max = 4))]
    pub ranks: u32,
    /// Size of the memory.
    pub size: Bytes,
    /// Row of one bank over the width of the bus. Absent: 1 KiB for each 8 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_bytes: Option<Bytes>,
    /// Largest piece of an access that one decision issues: 256 B, 512 B or 1 KiB.
    pub chunk: Bytes,
    /// Order of the accesses of a class.
    pub scheduling: Scheduling,
    /// Age from which the oldest access of a class goes first (`fr_fcfs` only).
    pub age_limit: Nanos,
    /// Policy for a row after a chunk.
    pub page: Page,
    /// False: the memory is not refreshed.
    pub refresh: bool,
    /// True: banks are refreshed one by one (LPDDR4 only).
    pub refresh_per_bank: bool,
    /// Instant of the next decision. False: that of the chunk's first column command. True: up to tRCD earlier, so that
    /// activates of several chunks overlap; a later access to the map then waits for a chunk more.
    pub activate_ahead: bool,
}

/// Order of the accesses of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// The oldest access.
    Fcfs,
    /// The oldest access whose next chunk is in an open row; if there is none, the oldest access. The 64 oldest
    /// accesses are considered (assumed).
    #[default]
    FrFcfs,
}

/// Policy for a row after a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Page {
    /// The row stays open.
    #[default]
    Open,
    /// The last column command of the chunk closes the row (auto-precharge).
    Closed,
}

/// Largest size of a memory: the numbers of its rows fit in 32 bits.
const SIZE_MAX: Bytes = Bytes(1 << 40);

impl Default for Params {
    fn default() -> Self {
        Params {
            grade: Grade::default(),
            width_bits: 32,
            ranks: 1,
            size: Bytes(512 << 20),
            row_bytes: None,
            chunk: Bytes(512),
            scheduling: Scheduling::default(),
            age_limit: Nanos(2_000),
            page: Page::default(),
            refresh: true,
            refresh_per_bank: false,
            activate_ahead: false,
        }
    }
}

impl Params {
    /// Returns the data rate of the bus, rounded down to a whole byte per second.
    pub fn peak(&self) -> Rate {
        let timing = self.grade.timing();
        let bytes_per_cycle = u64::from(self.width_bits / 8) * timing.transfers_per_cycle();
        Rate(bytes_per_cycle * 1_000_000_000_000 / timing.tck_ps)
    }

    /// Returns the size of the memory. Addresses of accesses are below it.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Returns the bytes of a row of one bank over the width of the bus.
    pub fn row(&self) -> Bytes {
        self.row_bytes.unwrap_or(Bytes(u64::from(self.width_bits / 8) << 10))
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        if ![8, 16, 32, 64].contains(&self.width_bits) {
            problems.add(format!("{place}.width_bits"), format!("{}: expected 8, 16, 32 or 64", self.width_bits));
        }
        if ![1, 2, 4].contains(&self.ranks) {
            problems.add(format!("{place}.ranks"), format!("{}: expected 1, 2 or 4", self.ranks));
        }
        if ![256, 512, 1024].contains(&self.chunk.0) {
            problems.add(format!("{place}.chunk"), format!("{}: expected 256B, 512B or 1KiB", self.chunk));
        }
        self.row_problems(place, problems);
        let is_lpddr4 = self.grade.timing().generation == Generation::Lpddr4;
        if self.refresh_per_bank && !is_lpddr4 {
            problems.add(format!("{place}.refresh_per_bank"), "true: expected false, except with a grade of LPDDR4");
        }
        if self.refresh_per_bank && !self.refresh {
            problems.add(format!("{place}.refresh_per_bank"), "true with `refresh = false`: expected false");
        }
    }

    fn row_problems(&self, place: &str, problems: &mut Problems) {
        let row = self.row().0;
        if !row.is_power_of_two() || row < self.chunk.0 || row > 1 << 16 {
            let expected = format!("expected a power of two from {} (the chunk) to 64KiB", self.chunk);
            problems.add(format!("{place}.row_bytes"), format!("{}: {expected}", self.row()));
            return;
        }
        let stride = u64::from(self.ranks) * self.grade.timing().banks * row;
        if self.size.0 == 0 || stride == 0 || !self.size.0.is_multiple_of(stride) || self.size > SIZE_MAX {
            let expected = format!("expected a multiple of {} (ranks x banks x row), at most {SIZE_MAX}", Bytes(stride));
            problems.add(format!("{place}.size"), format!("{}: {expected}", self.size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer, StrDeserializer};

    fn found(params: &Params) -> Vec<String> {
        let mut problems = Problems::default();
        params.problems("controller.dram", &mut problems);
        problems.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_grade_is_valid_with_default_parameters() {
        for grade in Grade::ALL {
            for width_bits in [8, 16, 32, 64] {
                assert_eq!(found(&Params { grade, width_bits, ..Params::default() }), Vec::<String>::new(), "{grade:?}");
            }
        }
    }

    #[test]
    fn a_problem_names_the_field_and_the_accepted_values() {
        let valid = Params::default();
        let cases = [
            (Params { width_bits: 24, ..valid.clone() }, "controller.dram.width_bits: 24: expected 8, 16, 32 or 64"),
            (Params { ranks: 3, ..valid.clone() }, "controller.dram.ranks: 3: expected 1, 2 or 4"),
            (Params { chunk: Bytes(300), ..valid.clone() }, "controller.dram.chunk: 300B: expected 256B, 512B or 1KiB"),
            (
                Params { row_bytes: Some(Bytes(256)), ..valid.clone() },
                "controller.dram.row_bytes: 256B: expected a power of two from 512B (the chunk) to 64KiB",
            ),
            (
                Params { size: Bytes(100_000), ..valid.clone() },
                "controller.dram.size: 100kB: expected a multiple of 32KiB (ranks x banks x row), at most 1TiB",
            ),
            (
                Params { refresh_per_bank: true, ..valid.clone() },
                "controller.dram.refresh_per_bank: true: expected false, except with a grade of LPDDR4",
            ),
            (
                Params { refresh_per_bank: true, refresh: false, grade: Grade::Lpddr4At3200, ..valid },
                "controller.dram.refresh_per_bank: true with `refresh = false`: expected false",
            ),
        ];
        for (params, expected) in cases {
            assert!(found(&params).iter().any(|problem| problem == expected), "{expected}: {:?}", found(&params));
        }
    }

    #[test]
    fn grades_are_named_by_generation_and_rate() {
        let names = [
            "sdr-133",
            "sdr-166",
            "ddr-333",
            "ddr-400",
            "ddr2-667",
            "ddr2-800",
            "ddr3-800",
            "ddr3-1333",
            "ddr4-2133",
            "ddr4-2400",
            "lpddr4-2400",
            "lpddr4-3200",
        ];
        for (grade, name) in Grade::ALL.into_iter().zip(names) {
            let text: StrDeserializer<'_, Error> = name.into_deserializer();
            assert_eq!(Grade::deserialize(text), Ok(grade));
            assert_eq!(grade.title().to_lowercase(), name);
        }
        let text: StrDeserializer<'_, Error> = "ddr5-4800".into_deserializer();
        assert!(Grade::deserialize(text).is_err());
    }

    #[test]
    fn absent_fields_have_defaults_and_unknown_ones_are_refused() {
        let with = |field: &'static str| {
            let fields: MapDeserializer<'_, _, Error> = MapDeserializer::new([(field, "fcfs")].into_iter());
            Params::deserialize(fields)
        };
        assert_eq!(with("scheduling"), Ok(Params { scheduling: Scheduling::Fcfs, ..Params::default() }));
        assert!(with("schedule").is_err());
    }

    #[test]
    fn the_peak_is_that_of_the_data_sheets() {
        let peak = |grade, width_bits| Params { grade, width_bits, ..Params::default() }.peak().0;
        // 166.7 MHz x 4 B: the buffer of the OCZ Vertex.
        assert_eq!(peak(Grade::Sdr166, 32), 666_666_666);
        assert_eq!(peak(Grade::Ddr400, 16), 800_000_000);
        assert_eq!(peak(Grade::Lpddr4At3200, 32), 12_800_000_000);
        for (grade, mega_transfers) in [(Grade::Ddr2At667, 667), (Grade::Ddr3At1333, 1333), (Grade::Ddr4At2400, 2400)] {
            assert!(peak(grade, 64).abs_diff(mega_transfers * 8_000_000) < mega_transfers * 8_000, "{grade:?}");
        }
    }
}
