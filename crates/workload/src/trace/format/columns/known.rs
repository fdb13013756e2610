//! The table of the known formats.

use super::{Clock, Codes, Column, Columns, Header, Separator, put};
use crate::trace::format::{Raw, Writer};
use kit::Op;
use kit::Op::{Flush, Read, Trim, Write};
use std::fmt::{self, Display};

const SECONDS: Clock = Clock { power: 9, whole: false };
const WHOLE_SECONDS: Clock = Clock { power: 9, whole: true };
const MILLISECONDS: Clock = Clock { power: 6, whole: false };
const MICROSECONDS: Clock = Clock { power: 3, whole: false };
const WHOLE_MICROSECONDS: Clock = Clock { power: 3, whole: true };
/// Windows FILETIME: units of 100 ns.
const TICKS: Clock = Clock { power: 2, whole: true };
const NANOSECONDS: Clock = Clock { power: 0, whole: true };

const BYTE: u64 = 1;
const SECTOR: u64 = kit::SECTOR_BYTES;
const PAGE: u64 = 4096;

const fn at(number: u8) -> Column {
    Column::At(number)
}

const fn called(name: &'static str) -> Column {
    Column::Named(name)
}

const fn lines(streams: bool, line: fn(&mut Vec<u8>, &Raw, u16)) -> Writer {
    Writer::Lines { line, streams, ops: &[Read, Write], header: |_, _| {} }
}

const LETTERS: Codes = Codes::Known(&[("R", Read), ("W", Write), ("r", Read), ("w", Write)]);
const ONE_IS_READ: Codes = Codes::Known(&[("1", Read), ("0", Write)]);
const ONE_IS_WRITE: Codes = Codes::Known(&[("0", Read), ("1", Write)]);
/// SCSI block commands (SBC-4) by operation code: READ and WRITE of 6, 10, 12 and 16 bytes, UNMAP, SYNCHRONIZE CACHE.
const SCSI: Codes = Codes::Among(&[
    ("28", Read),
    ("2a", Write),
    ("88", Read),
    ("8a", Write),
    ("08", Read),
    ("8", Read),
    ("0a", Write),
    ("a", Write),
    ("a8", Read),
    ("aa", Write),
    ("42", Trim),
    ("35", Flush),
    ("91", Flush),
]);

/// Values that most entries share.
const PLAIN: Columns = Columns {
    name: "",
    aliases: &[],
    about: "",
    separator: Separator::Byte(b','),
    header: Header::None,
    count: 0,
    time: (at(1), NANOSECONDS),
    op: (at(1), LETTERS),
    offset: (at(1), BYTE),
    size: (at(1), BYTE),
    stream: None,
    events: &[],
    trim: None,
    clock_set_ns: None,
    fits: |_| true,
    plausible: |_| true,
    writer: Writer::No,
    sample: "",
    expected: &[],
};

/// Five-column text of SSDsim, DTRS, FlashSim and DiskSim, which differ in units and codes.
const FIVE: Columns = Columns {
    separator: Separator::Blanks,
    count: 5,
    op: (at(5), ONE_IS_READ),
    offset: (at(3), SECTOR),
    size: (at(4), SECTOR),
    stream: Some((at(2), at(2))),
    ..PLAIN
};

/// All formats of plain columns; among formats that fit equally well, the first plausible one is chosen.
pub static COLUMN_FORMATS: &[Columns] = &[
    Columns {
        name: "msr",
        about: "MSR Cambridge CSV (Narayanan et al., FAST 2008): Windows filetimes, bytes.",
        count: 7,
        time: (at(1), TICKS),
        op: (at(4), Codes::Known(&[("Write", Write), ("Read", Read)])),
        offset: (at(5), BYTE),
        size: (at(6), BYTE),
        stream: Some((at(2), at(3))),
        writer: lines(true, |out, raw, stream| {
            let tick = 128_166_372_000_000_000 + (raw.at_ns + 50) / 100;
            put(out, format_args!("{tick},trace,{stream},{},{},{},0\n", pick(raw.op, "Read", "Write"), raw.offset, raw.length));
        }),
        sample: "128166372000000000,web,0,Read,4096,8192,100\n128166372000000007,web,1,Write,512,1024,55\n",
        expected: &[(0, Read, 4096, 8192, "web.0"), (700, Write, 512, 1024, "web.1")],
        ..PLAIN
    },
    Columns {
        name: "replay",
        aliases: &["replayer"],
        about: "Byte-unit replayer text: ms, device, byte offset, bytes, 1 = read. Like DiskSim's but for the unit of addresses; \
                chosen when times have decimals and every offset and size is a multiple of 512.",
        separator: Separator::Blanks,
        count: 5,
        time: (at(1), MILLISECONDS),
        op: (at(5), ONE_IS_READ),
        offset: (at(3), BYTE),
        size: (at(4), BYTE),
        stream: Some((at(2), at(2))),
        fits: |head| has_points(head) && !has_tabs(head),
        plausible: |parsed| parsed.iter().all(|raw| (raw.offset | raw.length) % SECTOR == 0),
        writer: lines(true, |out, raw, stream| {
            put(
                out,
                format_args!("{} {stream} {} {} {}\n", Decimal(raw.at_ns, 6, 3), raw.offset, raw.length, pick(raw.op, "1", "0")),
            );
        }),
        sample: "0.000 0 40960 4096 1\n1.250 0 81920 512 0\n",
        expected: &[(0, Read, 40_960, 4096, "0"), (1_250_000, Write, 81_920, 512, "0")],
        ..PLAIN
    },
    Columns {
        name: "flashsim",
        aliases: &["fsim"],
        about: "FlashSim text with sizes in pages: ms, device, sector, 4 KiB pages, 1 = read, between TABs; chosen over DiskSim when \
                at least as many requests continue their predecessor with sizes in pages as with sizes in sectors.",
        time: (at(1), MILLISECONDS),
        size: (at(4), PAGE),
        fits: |head| has_points(head) && has_tabs(head),
        plausible: |parsed| continues(parsed, 1) >= continues(parsed, 8),
        sample: "11.413000\t0\t800\t2\t1\n11.565000\t0\t816\t8\t0\n",
        expected: &[(0, Read, 409_600, 8192, "0"), (152_000, Write, 417_792, 32_768, "0")],
        ..FIVE
    },
    Columns {
        name: "disksim",
        about: "DiskSim default ASCII (Bucy et al., DiskSim 4.0 manual): ms, device, block, blocks of 512 bytes, flags (bit 0: read).",
        time: (at(1), MILLISECONDS),
        op: (at(5), Codes::Bit(Read, Write)),
        fits: |head| has_points(head),
        writer: lines(true, |out, raw, stream| {
            let (block, blocks) = (raw.offset / SECTOR, raw.length / SECTOR);
            put(out, format_args!("{} {stream} {block} {blocks} {}\n", Decimal(raw.at_ns, 6, 3), pick(raw.op, "1", "0")));
        }),
        sample: "5265.313 0 6357144 8 0\n5265.703 1 6307769 16 1\n",
        expected: &[(0, Write, 3_254_857_728, 4096, "0"), (390_000, Read, 3_229_577_728, 8192, "1")],
        ..FIVE
    },
    Columns {
        name: "ssdsim",
        aliases: &["mqsim"],
        about: "SSDsim and MQSim ASCII: ns, device, sector, sectors, 1 = read; chosen over DTRS unless the first lines would then \
                exceed 200,000 requests/s or 8 GB/s.",
        plausible: |parsed| !too_fast(parsed),
        writer: lines(true, |out, raw, stream| {
            let (sector, sectors) = (raw.offset / SECTOR, raw.length / SECTOR);
            put(out, format_args!("{} {stream} {sector} {sectors} {}\n", raw.at_ns, pick(raw.op, "1", "0")));
        }),
        sample: "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n",
        expected: &[(0, Write, 135_536_145_408, 8192, "4"), (315_000, Read, 101_156_131_840, 8192, "3")],
        ..FIVE
    },
    Columns {
        name: "dtrs",
        about: "SSDsim's columns with times in microseconds (Microsoft production traces as converted by a later project).",
        time: (at(1), WHOLE_MICROSECONDS),
        writer: lines(true, |out, raw, stream| {
            let (sector, sectors) = (raw.offset / SECTOR, raw.length / SECTOR);
            put(out, format_args!("{} {stream} {sector} {sectors} {}\n", (raw.at_ns + 500) / 1000, pick(raw.op, "1", "0")));
        }),
        sample: "0 0 280605840 2 1\n979 0 287641400 128 1\n1076 0 8347504 8 0\n",
        expected: &[
            (0, Read, 143_670_190_080, 1024, "0"),
            (979_000, Read, 147_272_396_800, 65_536, "0"),
            (1_076_000, Write, 4_273_922_048, 4096, "0"),
        ],
        ..FIVE
    },
    Columns {
        name: "spc",
        about: "SPC-1 trace file (Storage Performance Council, UMass repository): ASU, 512-byte block, bytes, r or w, seconds.",
        count: 5,
        time: (at(5), SECONDS),
        op: (at(4), LETTERS),
        offset: (at(2), SECTOR),
        size: (at(3), BYTE),
        stream: Some((at(1), at(1))),
        writer: lines(true, |out, raw, stream| {
            let (block, letter) = (raw.offset / SECTOR, pick(raw.op, "r", "w"));
            put(out, format_args!("{stream},{block},{},{letter},{}\n", raw.length, Decimal(raw.at_ns, 9, 6)));
        }),
        sample: "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214\n",
        expected: &[(0, Write, 155_426_304, 3584, "0"), (26_214_000, Read, 28_462_080, 3072, "1")],
        ..PLAIN
    },
    Columns {
        name: "tencent",
        about: "Tencent Cloud Block Storage CSV (Zhang et al., ATC 2020): Unix seconds, sector, sectors, 0 = read, volume.",
        count: 5,
        time: (at(1), WHOLE_SECONDS),
        op: (at(4), ONE_IS_WRITE),
        offset: (at(2), SECTOR),
        size: (at(3), SECTOR),
        stream: Some((at(5), at(5))),
        sample: "1538323199,4247200,128,1,1058\n1538323200,13896880,8,0,1063\n",
        expected: &[(0, Write, 2_174_566_400, 65_536, "1058"), (1_000_000_000, Read, 7_115_202_560, 4096, "1063")],
        ..PLAIN
    },
    Columns {
        name: "vscsi",
        about: "CloudPhysics vSCSI CSV (Waldspurger et al., FAST 2015): us, SCSI operation code, bytes, 512-byte block.",
        header: Header::Line("version,time,op,size,lbn"),
        count: 5,
        time: (at(2), WHOLE_MICROSECONDS),
        op: (at(3), SCSI),
        offset: (at(5), SECTOR),
        size: (at(4), BYTE),
        events: &[(at(1), &[("1", true)])],
        sample: "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898611441,28,4096,7\n1,5633898611442,0,0,0\n",
        expected: &[(0, Write, 21_981_565_440, 512, "0"), (242_639_000, Read, 3584, 4096, "0")],
        ..PLAIN
    },
    Columns {
        name: "fiu",
        about: "FIU IODedup text (Koller and Rangaswami, FAST 2010): ns, pid, process, sector, sectors, R or W, major, minor, hash.",
        separator: Separator::Blanks,
        count: 9,
        op: (at(6), LETTERS),
        offset: (at(4), SECTOR),
        size: (at(5), SECTOR),
        stream: Some((at(7), at(8))),
        sample: "467651 2522 kjournald 644661632 8 W 6 0 98b9cb7e1dd888f9\n520943 2522 nfsd 688749776 8 R 6 1 c0ac18a3def2e055\n",
        expected: &[(0, Write, 330_066_755_584, 4096, "6.0"), (53_292, Read, 352_639_885_312, 4096, "6.1")],
        ..PLAIN
    },
    Columns {
        name: "alibaba",
        about: "Alibaba cloud block traces CSV (Li et al., IISWC 2020): device, R or W, bytes, bytes, us.",
        header: Header::Line("device_id,opcode,offset,length,timestamp"),
        count: 5,
        time: (at(5), WHOLE_MICROSECONDS),
        op: (at(2), LETTERS),
        offset: (at(3), BYTE),
        size: (at(4), BYTE),
        stream: Some((at(1), at(1))),
        writer: lines(true, |out, raw, stream| {
            let at_us = (raw.at_ns + 500) / 1000;
            put(out, format_args!("{stream},{},{},{},{at_us}\n", pick(raw.op, "R", "W"), raw.offset, raw.length));
        }),
        sample: "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
        expected: &[(0, Write, 8_792_731_648, 16_384, "419"), (46_000, Read, 59_110_326_272, 360_448, "725")],
        ..PLAIN
    },
    Columns {
        name: "systor17",
        aliases: &["systor"],
        about: "SYSTOR 2017 enterprise VDI CSV (Lee et al.): seconds, response time, R or W, LUN, bytes, bytes.",
        header: Header::Line("Timestamp,Response,IOType,LUN,Offset,Size"),
        count: 6,
        time: (at(1), SECONDS),
        op: (at(3), LETTERS),
        offset: (at(5), BYTE),
        size: (at(6), BYTE),
        stream: Some((at(4), at(4))),
        sample: "Timestamp,Response,IOType,LUN,Offset,Size\n1455592845.000000000,0.000331163,R,1,1102413824,4096\n\
                 1455592845.500000000,,W,2,8192,512\n",
        expected: &[(0, Read, 1_102_413_824, 4096, "1"), (500_000_000, Write, 8192, 512, "2")],
        ..PLAIN
    },
    Columns {
        name: "bio",
        aliases: &["biotracer"],
        about: "BIOTracer eMMC log (Zhou et al., IISWC 2015): sector, sectors, bytes, type (bit 0: write), four times in seconds. A step \
                of the clock by more than 100 days is taken for the phone setting its clock: the later part goes on from where the \
                earlier one had come to.",
        separator: Separator::Blanks,
        count: 8,
        time: (at(5), SECONDS),
        op: (at(4), Codes::Bit(Write, Read)),
        offset: (at(1), SECTOR),
        size: (at(2), SECTOR),
        clock_set_ns: Some(100 * 86_400_000_000_000),
        sample: "4572376\t\t24\t\t12288\t\t5\t\t1398405332.080820638\t\t1398405332.080861784\t\t1398405332.083687044\t\t\
                 1398405332.084604388\n\
                 4572392\t\t8\t\t4096\t\t4\t\t1398405332.229751263\t\t1398405332.229834023\t\t1398405332.229882096\t\t\
                 1398405332.231245273\n",
        expected: &[(0, Write, 2_341_056_512, 12_288, "0"), (148_930_625, Read, 2_341_064_704, 4096, "0")],
        ..PLAIN
    },
    Columns {
        name: "pix",
        aliases: &["pixel", "pixel6a"],
        about: "Pixel 6a eBPF CSV (Technion, SYSTOR 2024): process, device, R or W, sector, sectors, seconds. Lines of processes called \
                f2fs_discard... are trims.",
        header: Header::Line("proces,device,rw_flag,sector,size,timestamp"),
        count: 6,
        time: (at(6), SECONDS),
        op: (at(3), LETTERS),
        offset: (at(4), SECTOR),
        size: (at(5), SECTOR),
        stream: Some((at(2), at(2))),
        trim: Some((at(1), "f2fs_discard")),
        sample: "proces,device,rw_flag,sector,size,timestamp\r\nkworker/4:1H-225,8388608,W,30175712,8,159273.83748699998\r\n\
                 f2fs_discard-8-411,8388608,R,80,4096,159273.838\r\n",
        expected: &[(0, Write, 15_449_964_544, 4096, "8388608"), (513_000, Trim, 40_960, 2_097_152, "8388608")],
        ..PLAIN
    },
    Columns {
        name: "hf",
        aliases: &["hfplayer"],
        about: "hfplayer storage-controller CSV (Haghdoost et al., FAST 2017): columns by their names in the header; \
                arrivals only: completions (OUT, phase 1, operation 2) are skipped.",
        header: Header::Names,
        time: (called("ELAPSED_USECS"), MICROSECONDS),
        op: (called("OP"), Codes::Beside(&[("0", Read), ("1", Write)], &["2"])),
        offset: (called("LBA"), SECTOR),
        size: (called("NBLKS"), SECTOR),
        stream: Some((called("LUN_SSID"), called("LUN_SSID"))),
        events: &[
            (called("CMD"), &[("WR_IN", true), ("RD_IN", true), ("WR_OUT", false), ("RD_OUT", false)]),
            (called("PHASE"), &[("0", true), ("1", false)]),
        ],
        sample: "#ELAPSED_USECS.D,CMD.S,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I\n81442951.096,WR_IN,1,1,0,2254431928,8\n\
                 81442951.500,WR_OUT,1,1,1,2254431928,8\n81442952.000,WR_OUT,1,2,1,2254431928,8\n81443249.278,RD_IN,2,0,0,80,96\n",
        expected: &[(0, Write, 1_154_269_147_136, 4096, "1"), (298_182, Read, 40_960, 49_152, "2")],
        ..PLAIN
    },
    Columns {
        name: "wiscsee",
        aliases: &["wis"],
        about: "WiscSee simulator events (He et al., EuroSys 2017): pid, D (issue) or C (completion), operation, \
                bytes, bytes, seconds, gap, sync.",
        separator: Separator::Blanks,
        count: 8,
        time: (at(6), SECONDS),
        op: (at(3), Codes::Known(&[("write", Write), ("read", Read), ("discard", Trim), ("flush", Flush)])),
        offset: (at(4), BYTE),
        size: (at(5), BYTE),
        events: &[(at(2), &[("D", true), ("C", false)])],
        sample: "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 0.000122793 False\n\
                 39949 D discard 331776 8192 0.000196695 7.3902e-05 True\n",
        expected: &[(0, Read, 299_008, 4096, "0"), (196_695, Trim, 331_776, 8192, "0")],
        ..PLAIN
    },
];

/// Returns true if any of the first lines has a TAB.
fn has_tabs(head: &[Vec<u8>]) -> bool {
    head.iter().any(|line| line.contains(&b'\t'))
}

/// Returns true if any of the first lines has a decimal point in its first column, the time.
fn has_points(head: &[Vec<u8>]) -> bool {
    head.iter().any(|line| {
        line.iter().skip_while(|b| b.is_ascii_whitespace()).take_while(|b| !b.is_ascii_whitespace()).any(|b| *b == b'.')
    })
}

/// Returns the number of requests that start at the end of the previous one, with lengths divided by `divisor`.
fn continues(parsed: &[Raw], divisor: u64) -> usize {
    parsed.windows(2).filter(|pair| pair[0].offset.checked_add(pair[0].length / divisor) == Some(pair[1].offset)).count()
}

/// Returns true if requests arrive faster than any disk or array of the traces' time can serve them: 200,000 requests/s
/// or 8 GB/s. Known files, with times read as nanoseconds: TPC-C on 16 disks 47,000/s and 0.4 GB/s; DTRS 278,000/s and
/// 15 GB/s.
fn too_fast(parsed: &[Raw]) -> bool {
    let times = || parsed.iter().map(|raw| raw.at_ns);
    let span_ns = u128::from(times().max().unwrap_or(0) - times().min().unwrap_or(0));
    let bytes: u128 = parsed.iter().map(|raw| u128::from(raw.length)).sum();
    span_ns > 0 && (parsed.len() as u128 * 5_000 > span_ns || bytes > span_ns * 8)
}

fn pick(op: Op, read: &'static str, write: &'static str) -> &'static str {
    if op == Read { read } else { write }
}

/// Number of nanoseconds, written in a unit of `10^power` ns with as many decimals as it needs and at least `places`:
/// (number, `power`, `places`).
struct Decimal(u64, u32, usize);

impl Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u64.pow(self.1);
        let fraction = format!("{:0width$}", self.0 % unit, width = self.1 as usize);
        let kept = fraction.trim_end_matches('0').len().max(self.2);
        write!(f, "{}.{}", self.0 / unit, &fraction[..kept])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_exactly() {
        assert_eq!(Decimal(26_214_000, 9, 6).to_string(), "0.026214");
        assert_eq!(Decimal(26_214_001, 9, 6).to_string(), "0.026214001");
        assert_eq!(Decimal(1_250_000, 6, 3).to_string(), "1.250");
    }

    #[test]
    fn units_decide_between_tables_that_look_alike() {
        let raw = |at_ns, offset, length| Raw { at_ns, offset, length, ..Raw::default() };
        assert!(!too_fast(&[raw(0, 0, 4096), raw(10_000, 0, 4096)]));
        assert!(too_fast(&[raw(0, 0, 4096), raw(9_999, 0, 4096)]));
        assert!(too_fast(&[raw(0, 0, 1 << 20), raw(100_000, 0, 1 << 20)]));
        assert_eq!(continues(&[raw(0, 0, 4096), raw(0, 4096, 512), raw(0, 4160, 0)], 1), 1);
        assert_eq!(continues(&[raw(0, 0, 4096), raw(0, 4096, 512), raw(0, 4160, 0)], 8), 1);
    }
}
