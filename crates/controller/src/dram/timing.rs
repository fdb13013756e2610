//! Generations and speed grades of the memory: their times, in cycles of the clock.
//!
//! Standing of the numbers: \[F\] found in a public source (the device files of DRAMSim2), \[R\] recalled from data
//! sheets and JEDEC standards (JESD79, JESD209), \[A\] assumed. Times in nanoseconds are rounded up to whole cycles,
//! refresh intervals down. Known errors: half cycles of the CAS latency are rounded up, and the output delay of LPDDR4
//! (tDQSCK, at most 3.5 ns) is not added to the latency of a read.

use kit::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A generation of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// SDRAM with one transfer per cycle.
    Sdr,
    /// DDR SDRAM.
    Ddr,
    /// DDR2 SDRAM.
    Ddr2,
    /// DDR3 SDRAM.
    Ddr3,
    /// DDR4 SDRAM, with bank groups.
    Ddr4,
    /// LPDDR4 SDRAM, with refresh by bank.
    Lpddr4,
}

/// A speed grade: generation and transfers per second \[MT/s\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Grade {
    /// SDRAM at 133 MHz.
    #[serde(rename = "sdr-133")]
    Sdr133,
    /// SDRAM at 166 MHz.
    #[serde(rename = "sdr-166")]
    Sdr166,
    /// DDR at 333 MT/s.
    #[serde(rename = "ddr-333")]
    Ddr333,
    /// DDR at 400 MT/s.
    #[serde(rename = "ddr-400")]
    Ddr400,
    /// DDR2 at 667 MT/s.
    #[serde(rename = "ddr2-667")]
    Ddr2At667,
    /// DDR2 at 800 MT/s.
    #[serde(rename = "ddr2-800")]
    Ddr2At800,
    /// DDR3 at 800 MT/s.
    #[serde(rename = "ddr3-800")]
    Ddr3At800,
    /// DDR3 at 1333 MT/s.
    #[default]
    #[serde(rename = "ddr3-1333")]
    Ddr3At1333,
    /// DDR4 at 2133 MT/s.
    #[serde(rename = "ddr4-2133")]
    Ddr4At2133,
    /// DDR4 at 2400 MT/s.
    #[serde(rename = "ddr4-2400")]
    Ddr4At2400,
    /// LPDDR4 at 2400 MT/s.
    #[serde(rename = "lpddr4-2400")]
    Lpddr4At2400,
    /// LPDDR4 at 3200 MT/s.
    #[serde(rename = "lpddr4-3200")]
    Lpddr4At3200,
}

/// Times of a speed grade \[cycles\], with the symbols of the data sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Generation, on which the rules between commands depend.
    pub generation: Generation,
    /// tCK \[ps\].
    pub tck_ps: u64,
    /// Transfers of a burst.
    pub burst_length: u64,
    /// Banks of a rank.
    pub banks: u64,
    /// Groups of banks; 1 if the generation has none. The group of a bank is its number modulo the groups.
    pub groups: u64,
    /// Read latency (CL, RL).
    pub cl: u64,
    /// Write latency (CWL, WL).
    pub cwl: u64,
    /// tRCD.
    pub rcd: u64,
    /// tRP of one bank.
    pub rp: u64,
    /// tRP of all banks.
    pub rp_all: u64,
    /// tRAS.
    pub ras: u64,
    /// tRC.
    pub rc: u64,
    /// tRRD_S.
    pub rrd_s: u64,
    /// tRRD_L: within a bank group.
    pub rrd_l: u64,
    /// tFAW; 0 if the generation has none.
    pub faw: u64,
    /// tCCD_S.
    pub ccd_s: u64,
    /// tCCD_L: within a bank group.
    pub ccd_l: u64,
    /// tRTP; 0 if the generation has none.
    pub rtp: u64,
    /// tWTR_S.
    pub wtr_s: u64,
    /// tWTR_L: within a bank group.
    pub wtr_l: u64,
    /// tWR.
    pub wr: u64,
    /// tRFC of all banks.
    pub rfc: u64,
    /// tRFC of one bank; 0 if the generation refreshes all banks at once.
    pub rfc_bank: u64,
    /// tREFI.
    pub refi: u64,
    /// Cycles between the data of a read and that of a write of one rank.
    pub turnaround: u64,
    /// tRTRS: cycles between the data of two ranks.
    pub rtrs: u64,
}

/// SDRAM at 133 MHz \[R\]: tRCD and tRP 20 ns, tRAS 44 ns, tRC 66 ns, tRRD and tWR 15 ns, tRFC 66 ns, tREFI 7.8125 us.
/// Burst length and tRTRS are \[A\].
const SDR_133: Timing = Timing {
    generation: Generation::Sdr,
    tck_ps: 7_500,
    burst_length: 4,
    banks: 4,
    groups: 1,
    cl: 3,
    cwl: 0,
    rcd: 3,
    rp: 3,
    rp_all: 3,
    ras: 6,
    rc: 9,
    rrd_s: 2,
    rrd_l: 2,
    faw: 0,
    ccd_s: 1,
    ccd_l: 1,
    rtp: 0,
    wtr_s: 0,
    wtr_l: 0,
    wr: 2,
    rfc: 9,
    rfc_bank: 0,
    refi: 1_041,
    turnaround: 1,
    rtrs: 1,
};

/// SDRAM at 166 MHz \[R\]: tRCD and tRP 18 ns, tRAS 42 ns, tRC 60 ns, tRRD and tWR 12 ns, tRFC 60 ns, tREFI 7.8125 us.
const SDR_166: Timing = Timing { tck_ps: 6_000, ras: 7, rc: 10, rfc: 10, refi: 1_302, ..SDR_133 };

/// DDR at 400 MT/s \[R\]: 3-3-3, tRAS 8, tRC 11, tRRD 2, tWR 3, tWTR 2, tRFC 14 cycles, tREFI 7.8 us. Burst length and
/// tRTRS are \[A\].
const DDR_400: Timing = Timing {
    generation: Generation::Ddr,
    tck_ps: 5_000,
    burst_length: 8,
    cwl: 1,
    ras: 8,
    rc: 11,
    wtr_s: 2,
    wtr_l: 2,
    wr: 3,
    rfc: 14,
    refi: 1_560,
    ..SDR_133
};

/// DDR at 333 MT/s \[R\]: CL 2.5, tRCD and tRP 18 ns, tRAS 42 ns, tRC 60 ns, tRRD 12 ns, tWR 15 ns, tWTR 1 cycle, tRFC
/// 72 ns, tREFI 7.8 us.
const DDR_333: Timing = Timing { tck_ps: 6_000, ras: 7, rc: 10, wtr_s: 1, wtr_l: 1, rfc: 12, refi: 1_300, ..DDR_400 };

/// DDR2 at 667 MT/s \[F\] (x8, speed grade 3E); CWL = CL - 1 and 8 banks \[R\], tRTRS \[A\].
const DDR2_667: Timing = Timing {
    generation: Generation::Ddr2,
    tck_ps: 3_000,
    burst_length: 4,
    banks: 8,
    groups: 1,
    cl: 4,
    cwl: 3,
    rcd: 4,
    rp: 4,
    rp_all: 4,
    ras: 14,
    rc: 18,
    rrd_s: 3,
    rrd_l: 3,
    faw: 13,
    ccd_s: 2,
    ccd_l: 2,
    rtp: 3,
    wtr_s: 3,
    wtr_l: 3,
    wr: 5,
    rfc: 43,
    rfc_bank: 0,
    refi: 2_600,
    turnaround: 1,
    rtrs: 1,
};

/// DDR2 at 800 MT/s \[F\] (x4, speed grade 25E); CWL = CL - 1 and 8 banks \[R\], tRTRS \[A\].
const DDR2_800: Timing = Timing {
    tck_ps: 2_500,
    cl: 5,
    cwl: 4,
    rcd: 5,
    rp: 5,
    rp_all: 5,
    ras: 18,
    rc: 23,
    faw: 14,
    wr: 6,
    rfc: 51,
    refi: 3_120,
    ..DDR2_667
};

/// DDR3 at 800 MT/s \[F\] (x8, speed grade 25E); CWL 5 \[R\], tRTRS \[A\].
const DDR3_800: Timing = Timing {
    generation: Generation::Ddr3,
    tck_ps: 2_500,
    burst_length: 8,
    banks: 8,
    groups: 1,
    cl: 5,
    cwl: 5,
    rcd: 5,
    rp: 5,
    rp_all: 5,
    ras: 15,
    rc: 20,
    rrd_s: 4,
    rrd_l: 4,
    faw: 16,
    ccd_s: 4,
    ccd_l: 4,
    rtp: 4,
    wtr_s: 4,
    wtr_l: 4,
    wr: 6,
    rfc: 64,
    rfc_bank: 0,
    refi: 3_120,
    turnaround: 2,
    rtrs: 2,
};

/// DDR3 at 1333 MT/s \[F\] (x8, speed grade 15); CWL 7 \[F\], tRTRS \[A\].
const DDR3_1333: Timing = Timing {
    tck_ps: 1_500,
    cl: 10,
    cwl: 7,
    rcd: 10,
    rp: 10,
    rp_all: 10,
    ras: 24,
    rc: 34,
    faw: 20,
    rtp: 5,
    wtr_s: 5,
    wtr_l: 5,
    wr: 10,
    rfc: 107,
    refi: 5_200,
    ..DDR3_800
};

/// DDR4 at 2400 MT/s, x8, 8 Gb \[R\]: 17-17-17, CWL 12, tRAS 39, tRC 56, tRRD 4/6, tCCD 4/6, tWTR 3/9, tWR 18, tRTP 9,
/// tFAW 26, tRFC 420 cycles, tREFI 7.8 us. tRTRS is \[A\].
const DDR4_2400: Timing = Timing {
    generation: Generation::Ddr4,
    tck_ps: 833,
    burst_length: 8,
    banks: 16,
    groups: 4,
    cl: 17,
    cwl: 12,
    rcd: 17,
    rp: 17,
    rp_all: 17,
    ras: 39,
    rc: 56,
    rrd_s: 4,
    rrd_l: 6,
    faw: 26,
    ccd_s: 4,
    ccd_l: 6,
    rtp: 9,
    wtr_s: 3,
    wtr_l: 9,
    wr: 18,
    rfc: 420,
    rfc_bank: 0,
    refi: 9_360,
    turnaround: 2,
    rtrs: 2,
};

/// DDR4 at 2133 MT/s, x8, 8 Gb \[R\]: 15-15-15, CWL 11, tRAS 33 ns, tRRD 3.7/5.3 ns, tCCD_L 5.355 ns, tWTR 2.5/7.5 ns,
/// tWR 15 ns, tRTP 7.5 ns, tFAW 21 ns, tRFC 350 ns, tREFI 7.8 us.
const DDR4_2133: Timing = Timing {
    tck_ps: 938,
    cl: 15,
    cwl: 11,
    rcd: 15,
    rp: 15,
    rp_all: 15,
    ras: 36,
    rc: 51,
    faw: 23,
    rtp: 8,
    wtr_l: 8,
    wr: 16,
    rfc: 374,
    refi: 8_320,
    ..DDR4_2400
};

/// LPDDR4 at 3200 MT/s, 8 Gb per channel \[R\]: BL16, RL 28, WL 14, tRCD and tRPpb 18 ns, tRPab 21 ns, tRAS 42 ns, tRRD
/// 10 ns, tFAW 40 ns, tWTR 10 ns, tWR 18 ns, tRTP 7.5 ns, tRFCab 280 ns, tRFCpb 140 ns, tREFI 3.9 us, tCCD 8 cycles.
/// The turnaround is tDQSCK (3.5 ns) and the write preamble of 2 cycles. tRC is tRAS + tRPpb; tRTRS is \[A\].
const LPDDR4_3200: Timing = Timing {
    generation: Generation::Lpddr4,
    tck_ps: 625,
    burst_length: 16,
    banks: 8,
    groups: 1,
    cl: 28,
    cwl: 14,
    rcd: 29,
    rp: 29,
    rp_all: 34,
    ras: 68,
    rc: 97,
    rrd_s: 16,
    rrd_l: 16,
    faw: 64,
    ccd_s: 8,
    ccd_l: 8,
    rtp: 12,
    wtr_s: 16,
    wtr_l: 16,
    wr: 29,
    rfc: 448,
    rfc_bank: 224,
    refi: 6_240,
    turnaround: 8,
    rtrs: 2,
};

/// LPDDR4 at 2400 MT/s \[R\]: RL 24, WL 12 (those of up to 2667 MT/s), times as at 3200 MT/s.
const LPDDR4_2400: Timing = Timing {
    tck_ps: 833,
    cl: 24,
    cwl: 12,
    rcd: 22,
    rp: 22,
    rp_all: 26,
    ras: 51,
    rc: 73,
    rrd_s: 12,
    rrd_l: 12,
    faw: 48,
    rtp: 9,
    wtr_s: 12,
    wtr_l: 12,
    wr: 22,
    rfc: 336,
    rfc_bank: 168,
    refi: 4_680,
    turnaround: 7,
    ..LPDDR4_3200
};

impl Grade {
    /// All grades, in the order of the generations.
    pub const ALL: [Grade; 12] = [
        Grade::Sdr133,
        Grade::Sdr166,
        Grade::Ddr333,
        Grade::Ddr400,
        Grade::Ddr2At667,
        Grade::Ddr2At800,
        Grade::Ddr3At800,
        Grade::Ddr3At1333,
        Grade::Ddr4At2133,
        Grade::Ddr4At2400,
        Grade::Lpddr4At2400,
        Grade::Lpddr4At3200,
    ];

    /// Returns the name of the grade as it is printed on parts, such as `DDR3-1333`.
    pub fn title(self) -> &'static str {
        match self {
            Grade::Sdr133 => "SDR-133",
            Grade::Sdr166 => "SDR-166",
            Grade::Ddr333 => "DDR-333",
            Grade::Ddr400 => "DDR-400",
            Grade::Ddr2At667 => "DDR2-667",
            Grade::Ddr2At800 => "DDR2-800",
            Grade::Ddr3At800 => "DDR3-800",
            Grade::Ddr3At1333 => "DDR3-1333",
            Grade::Ddr4At2133 => "DDR4-2133",
            Grade::Ddr4At2400 => "DDR4-2400",
            Grade::Lpddr4At2400 => "LPDDR4-2400",
            Grade::Lpddr4At3200 => "LPDDR4-3200",
        }
    }

    /// Returns the times of the grade.
    pub fn timing(self) -> Timing {
        match self {
            Grade::Sdr133 => SDR_133,
            Grade::Sdr166 => SDR_166,
            Grade::Ddr333 => DDR_333,
            Grade::Ddr400 => DDR_400,
            Grade::Ddr2At667 => DDR2_667,
            Grade::Ddr2At800 => DDR2_800,
            Grade::Ddr3At800 => DDR3_800,
            Grade::Ddr3At1333 => DDR3_1333,
            Grade::Ddr4At2133 => DDR4_2133,
            Grade::Ddr4At2400 => DDR4_2400,
            Grade::Lpddr4At2400 => LPDDR4_2400,
            Grade::Lpddr4At3200 => LPDDR4_3200,
        }
    }
}

impl Timing {
    /// Returns the transfers of one cycle.
    pub fn transfers_per_cycle(&self) -> u64 {
        if self.generation == Generation::Sdr { 1 } else { 2 }
    }

    /// Returns the cycles for which a burst uses the data bus.
    pub fn burst_cycles(&self) -> u64 {
        self.burst_length / self.transfers_per_cycle()
    }
}

/// The clock of the memory: its cycles, counted from [`SimTime::ZERO`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tck_ps: u64,
}

impl Clock {
    /// Returns the clock with a cycle of `tck_ps`, at least 600 ps, so that 64 bits hold the cycles until
    /// [`SimTime::LAST`].
    pub fn new(tck_ps: u64) -> Clock {
        assert!(tck_ps >= 600, "cycles of {tck_ps} ps do not fit in 64 bits");
        Clock { tck_ps }
    }

    /// Returns the first cycle that begins at or after an instant.
    #[inline]
    pub fn edge(self, now: SimTime) -> u64 {
        match now.0.checked_mul(1_000) {
            Some(now_ps) => now_ps.div_ceil(self.tck_ps),
            None => (u128::from(now.0) * 1_000).div_ceil(u128::from(self.tck_ps)) as u64,
        }
    }

    /// Returns true if a cycle begins at or after an instant: [`Clock::edge`] is not after it.
    #[inline]
    pub fn has_edge(self, now: SimTime, cycle: u64) -> bool {
        u128::from(now.0) * 1_000 <= self.picoseconds(cycle)
    }

    /// Returns the beginning of a cycle, rounded up to a whole nanosecond.
    #[inline]
    pub fn instant(self, cycle: u64) -> SimTime {
        match cycle.checked_mul(self.tck_ps) {
            Some(ps) => SimTime(ps.div_ceil(1_000)),
            None => SimTime((u128::from(cycle) * u128::from(self.tck_ps)).div_ceil(1_000) as u64),
        }
    }

    /// Returns the last cycle whose beginning, rounded up, is before an instant later than 0.
    #[inline]
    pub fn last_before(self, at: SimTime) -> u64 {
        match (at.0 - 1).checked_mul(1_000) {
            Some(ps) => ps / self.tck_ps,
            None => (u128::from(at.0 - 1) * 1_000 / u128::from(self.tck_ps)) as u64,
        }
    }

    /// Returns the beginning of a cycle \[ps\].
    #[inline]
    pub fn picoseconds(self, cycle: u64) -> u128 {
        u128::from(cycle) * u128::from(self.tck_ps)
    }

    /// Returns how many multiples of `interval` cycles, zero excluded, begin at or before `now`.
    pub fn periods(self, interval: u64, now: SimTime) -> u64 {
        (u128::from(now.0) * 1_000 / self.picoseconds(interval)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_instants_round_up_and_agree() {
        for grade in Grade::ALL {
            let clock = Clock::new(grade.timing().tck_ps);
            for cycle in (0..20_000).chain(u64::MAX / 1_001..u64::MAX / 1_001 + 100) {
                let instant = clock.instant(cycle);
                assert!(clock.edge(instant) >= cycle, "{grade:?}: {cycle}");
                assert!(instant.0 == 0 || clock.edge(SimTime(instant.0 - 1)) <= cycle, "{grade:?}: {cycle}");
                let before = [instant.0, instant.0 + 1].map(|at| clock.last_before(SimTime(at.max(1))));
                assert!((instant.0 == 0 || before[0] < cycle) && before[1] >= cycle, "{grade:?}: {cycle}");
                assert!(u128::from(instant.0) * 1_000 - clock.picoseconds(cycle) < 1_000, "{grade:?}: {cycle}");
                for later in cycle..cycle + 3 {
                    assert_eq!(clock.has_edge(instant, later), clock.edge(instant) <= later, "{grade:?}: {cycle}");
                }
            }
        }
        let clock = Clock::new(625);
        assert_eq!([0, 1, 5, 6, 8].map(|ns| clock.edge(SimTime(ns))), [0, 2, 8, 10, 13]);
        assert_eq!([0, 1, 2, 8, 9].map(|cycle| clock.instant(cycle).0), [0, 1, 2, 5, 6]);
        assert!(clock.edge(SimTime::LAST) > clock.edge(SimTime(SimTime::LAST.0 - 1)), "280 years of cycles fit");
    }

    #[test]
    fn periods_count_the_instants_that_have_come() {
        let clock = Clock::new(833);
        for now in 0..5_000 {
            let count = (1..).take_while(|k| clock.instant(k * 117) <= SimTime(now)).count() as u64;
            assert_eq!(clock.periods(117, SimTime(now)), count, "{now} ns");
        }
    }

    /// The scheduler relies on these: bursts in a row use the data bus without gaps.
    #[test]
    fn bursts_in_a_row_leave_no_gap() {
        for grade in Grade::ALL {
            let timing = grade.timing();
            assert!(timing.burst_cycles() >= timing.ccd_s, "{grade:?}");
            assert!(timing.groups == 1 || 2 * timing.burst_cycles() >= timing.ccd_l, "{grade:?}");
            assert!(timing.burst_cycles().is_power_of_two() && timing.burst_cycles() > 1, "{grade:?}");
            assert!(timing.rrd_s < timing.rcd && timing.rc >= timing.ras + timing.rp, "{grade:?}");
        }
    }
}
