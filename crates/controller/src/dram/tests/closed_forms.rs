//! Times and rates that follow from the data sheets by hand.

use super::*;

/// A grade and the numbers of its data sheet \[cycles\], written here once more.
struct Sheet {
    grade: Grade,
    tck_ps: u64,
    /// Cycles of a burst.
    burst: u64,
    cl: u64,
    cwl: u64,
    rcd: u64,
    rp: u64,
    ras: u64,
    /// From a read to the precharge of its bank.
    read_precharge: u64,
    rrd: u64,
    /// tFAW; 0 if there is none.
    faw: u64,
    banks: u64,
    rfc: u64,
    /// tREFI \[ns\].
    refi_ns: u64,
    /// Cycles between the last command of a chunk of reads and the first one of a chunk of writes.
    read_write: u64,
    /// The same from writes to reads.
    write_read: u64,
}

/// One line for each grade, in the order of the fields.
const fn sheet(grade: Grade, tck_ps: u64, rest: [u64; 14]) -> Sheet {
    let [burst, cl, cwl, rcd, rp, ras, read_precharge, rrd, faw, banks, rfc, refi_ns, read_write, write_read] = rest;
    Sheet { grade, tck_ps, burst, cl, cwl, rcd, rp, ras, read_precharge, rrd, faw, banks, rfc, refi_ns, read_write, write_read }
}

/// For DDR4, the first read of a chunk is in the group of the last write but one, and the second read in that of the
/// last write: write to read is CWL + BL/2 + max(tWTR_S, tWTR_L - BL/2). Precharge of all banks takes tRPab.
const SHEETS: [Sheet; 12] = [
    sheet(Grade::Sdr133, 7_500, [4, 3, 0, 3, 3, 6, 4, 2, 0, 4, 9, 7_812, 3 + 4 + 1, 4]),
    sheet(Grade::Sdr166, 6_000, [4, 3, 0, 3, 3, 7, 4, 2, 0, 4, 10, 7_812, 3 + 4 + 1, 4]),
    sheet(Grade::Ddr333, 6_000, [4, 3, 1, 3, 3, 7, 4, 2, 0, 4, 12, 7_800, 3 + 4 + 1 - 1, 1 + 4 + 1]),
    sheet(Grade::Ddr400, 5_000, [4, 3, 1, 3, 3, 8, 4, 2, 0, 4, 14, 7_800, 3 + 4 + 1 - 1, 1 + 4 + 2]),
    sheet(Grade::Ddr2At667, 3_000, [2, 4, 3, 4, 4, 14, 3, 3, 13, 8, 43, 7_800, 4 + 2 + 1 - 3, 3 + 2 + 3]),
    sheet(Grade::Ddr2At800, 2_500, [2, 5, 4, 5, 5, 18, 3, 3, 14, 8, 51, 7_800, 5 + 2 + 1 - 4, 4 + 2 + 3]),
    sheet(Grade::Ddr3At800, 2_500, [4, 5, 5, 5, 5, 15, 4, 4, 16, 8, 64, 7_800, 5 + 4 + 2 - 5, 5 + 4 + 4]),
    sheet(Grade::Ddr3At1333, 1_500, [4, 10, 7, 10, 10, 24, 5, 4, 20, 8, 107, 7_800, 10 + 4 + 2 - 7, 7 + 4 + 5]),
    sheet(Grade::Ddr4At2133, 938, [4, 15, 11, 15, 15, 36, 8, 4, 23, 16, 374, 7_800, 15 + 4 + 2 - 11, 11 + 4 + 4]),
    sheet(Grade::Ddr4At2400, 833, [4, 17, 12, 17, 17, 39, 9, 4, 26, 16, 420, 7_800, 17 + 4 + 2 - 12, 12 + 4 + 5]),
    sheet(Grade::Lpddr4At2400, 833, [8, 24, 12, 22, 22, 51, 9, 12, 48, 8, 336, 3_900, 24 + 8 + 7 - 12, 12 + 1 + 8 + 12]),
    sheet(Grade::Lpddr4At3200, 625, [8, 28, 14, 29, 29, 68, 12, 16, 64, 8, 448, 3_900, 28 + 8 + 8 - 14, 14 + 1 + 8 + 16]),
];

impl Sheet {
    /// One rank of 64 bits, in order, without refresh.
    fn params(&self) -> Params {
        Params {
            grade: self.grade,
            width_bits: 64,
            scheduling: Scheduling::Fcfs,
            chunk: Bytes(1024),
            refresh: false,
            ..Params::default()
        }
    }

    fn burst_bytes(&self) -> u64 {
        let transfers = if matches!(self.grade, Grade::Sdr133 | Grade::Sdr166) { self.burst } else { 2 * self.burst };
        8 * transfers
    }

    /// Bytes of rows side by side in the rank: the distance of two rows of one bank.
    fn next_row(&self) -> u64 {
        self.banks * 8 * 1024
    }

    fn ns(&self, cycles: u64) -> u64 {
        (cycles * self.tck_ps).div_ceil(1_000)
    }

    fn ns_f64(&self, cycles: u64) -> f64 {
        (cycles * self.tck_ps) as f64 / 1e3
    }
}

/// A long stream of reads, and one of writes, runs at the rate of the bus, less a refresh in each tREFI. From the last
/// column command before a refresh to the first one after it pass precharge, tRP, tRFC and tRCD.
#[test]
fn a_stream_runs_at_the_peak_less_refresh() {
    for sheet in &SHEETS {
        let params = Params { refresh: true, scheduling: Scheduling::FrFcfs, ..sheet.params() };
        let mut driven = Driven::new(Ddr::new(&params));
        let (count, bytes) = (4_000, 4_096);
        for number in 0..count {
            driven.ask(access(number, u64::from(number) * bytes, bytes, AccessKind::Read), 0);
        }
        let measured_ns = driven.finish().0 as f64;
        let data_ns = f64::from(count) * bytes as f64 / sheet.burst_bytes() as f64 * sheet.ns_f64(sheet.burst);
        let lost = sheet.read_precharge + sheet.rp + sheet.rfc + sheet.rcd - sheet.burst;
        let expected_ns = data_ns / (1.0 - sheet.ns_f64(lost) / sheet.refi_ns as f64);
        let error = measured_ns / expected_ns - 1.0;
        assert!(error.abs() < 0.01, "{:?}: {measured_ns} ns, expected {expected_ns} ns: {error:+.4}", sheet.grade);
        assert!(sheet.rfc < 20 || measured_ns > 1.01 * data_ns, "{:?}: refresh costs time", sheet.grade);
    }
}

/// A stream at the peak without refresh is exact: activate, read latency, and the data.
#[test]
fn a_stream_without_refresh_is_exact() {
    for sheet in &SHEETS {
        let mut driven = Driven::new(Ddr::new(&sheet.params()));
        let (count, bytes) = (500, 4_096);
        for number in 0..count {
            driven.ask(access(number, u64::from(number) * bytes, bytes, AccessKind::Read), 0);
        }
        let data = u64::from(count) * bytes / sheet.burst_bytes() * sheet.burst;
        let end = driven.finish();
        assert_eq!(end.0, sheet.ns(sheet.rcd + sheet.cl + data), "{:?}", sheet.grade);
        assert_eq!(driven.ddr.data_bus_busy(end).0, data * sheet.tck_ps / 1_000, "{:?}", sheet.grade);
    }
}

/// Rows of one bank follow one another at tRC, or after tRCD, read and precharge where that is longer.
#[test]
fn rows_of_one_bank_are_bound_by_trc() {
    for sheet in &SHEETS {
        let mut driven = Driven::new(Ddr::new(&sheet.params()));
        let count = 200;
        for number in 0..count {
            driven.ask(access(number, u64::from(number) * sheet.next_row(), 1, AccessKind::Read), 0);
        }
        let row = sheet.ras.max(sheet.rcd + sheet.read_precharge) + sheet.rp;
        let cycles = u64::from(count - 1) * row + sheet.rcd + sheet.cl + sheet.burst;
        assert_eq!(driven.finish().0, sheet.ns(cycles), "{:?}", sheet.grade);
        assert_eq!(driven.ddr.counters.row_conflicts, u64::from(count) - 1);
    }
}

/// Returns the mean cycles from one single burst to the next, over rows of all banks in turn, with closed pages.
fn cycles_of_scattered_bursts(sheet: &Sheet, activate_ahead: bool) -> f64 {
    let params = Params { page: Page::Closed, activate_ahead, ..sheet.params() };
    let mut driven = Driven::new(Ddr::new(&params));
    // The rows of DDR4 extend over two groups.
    let row = if sheet.banks == 16 { 16 << 10 } else { 8 << 10 };
    let count = 4_000;
    for number in 0..count {
        driven.ask(access(number, u64::from(number) * row, 1, AccessKind::Read), 0);
    }
    driven.finish().0 as f64 * 1e3 / sheet.tck_ps as f64 / f64::from(count)
}

/// Rows of all banks in turn, activated ahead, are bound by tRRD, tFAW, tRC over the banks, or the data bus.
#[test]
fn scattered_rows_are_bound_by_trrd_and_tfaw() {
    for sheet in &SHEETS {
        // Every second bank is used with DDR4: one of each pair.
        let banks = sheet.banks.min(8) as f64;
        let row = (sheet.ras.max(sheet.rcd + sheet.read_precharge) + sheet.rp) as f64;
        let bounds = [sheet.rrd as f64, sheet.faw as f64 / 4.0, row / banks, sheet.burst as f64];
        let expected = bounds.into_iter().fold(0.0, f64::max);
        let measured = cycles_of_scattered_bursts(sheet, true);
        // With some grades, every fourth or eighth activate falls on the cycle of a read and waits for the next one.
        let range = expected..=expected + 0.26;
        assert!(range.contains(&measured), "{:?}: {measured} cycles, expected {range:?}", sheet.grade);
    }
}

/// Without it, a decision is made at the first column command of the last chunk: tRCD after its activate, and up to a
/// nanosecond and a cycle later, since instants are whole nanoseconds.
#[test]
fn scattered_rows_decided_in_turn_are_bound_by_trcd() {
    for sheet in &SHEETS {
        let measured = cycles_of_scattered_bursts(sheet, false);
        let row = (sheet.ras.max(sheet.rcd + sheet.read_precharge) + sheet.rp) as f64 / sheet.banks.min(8) as f64;
        let least = (sheet.rcd.max(sheet.burst) as f64).max(row);
        let most = least + 2.0 + 1e3 / sheet.tck_ps as f64;
        assert!((least..most).contains(&measured), "{:?}: {measured}: expected {least}..{most}", sheet.grade);
    }
}

/// Chunks that are read and written in turn pay both turnarounds.
#[test]
fn alternating_chunks_pay_the_turnarounds() {
    for sheet in &SHEETS {
        let mut driven = Driven::new(Ddr::new(&sheet.params()));
        let pairs = 100;
        for number in 0..2 * pairs {
            let kind = if number % 2 == 0 { AccessKind::Read } else { AccessKind::Write };
            driven.ask(access(number, u64::from(number % 4) * 1_024, 1_024, kind), 0);
        }
        let train = (1_024 / sheet.burst_bytes() - 1) * sheet.burst;
        let pair = 2 * train + sheet.read_write + sheet.write_read;
        let cycles = sheet.rcd + u64::from(pairs) * pair - sheet.write_read + sheet.cwl + sheet.burst;
        assert_eq!(driven.finish().0, sheet.ns(cycles), "{:?}", sheet.grade);
    }
}

/// One read of 64 B at rest: row closed, open, and another row open; and one write to an open row.
#[test]
fn the_latency_at_rest_is_the_sum_of_its_parts() {
    for sheet in &SHEETS {
        let mut driven = Driven::new(Ddr::new(&sheet.params()));
        let data = 64u64.div_ceil(sheet.burst_bytes()) * sheet.burst;
        let cases = [
            ("closed", 0, AccessKind::Read, sheet.rcd + sheet.cl),
            ("open", 0, AccessKind::Read, sheet.cl),
            ("another", sheet.next_row(), AccessKind::Read, sheet.rp + sheet.rcd + sheet.cl),
            ("written", sheet.next_row(), AccessKind::Write, sheet.cwl),
        ];
        for (number, (row, address, kind, wait)) in cases.into_iter().enumerate() {
            let now = 10_001 * (number as u64 + 1);
            driven.ask(access(number as u32, address, 64, kind), now);
            driven.finish();
            let edge = (now * 1_000).div_ceil(sheet.tck_ps);
            let expected = (TransactionId(number as u32), SimTime(sheet.ns(edge + wait + data)));
            assert_eq!(driven.done[number], expected, "{:?}: {row}", sheet.grade);
        }
        assert_eq!(driven.ddr.counters.row_misses, 1);
        assert_eq!(driven.ddr.counters.row_hits, 2);
        assert_eq!(driven.ddr.counters.row_conflicts, 1);
    }
}
