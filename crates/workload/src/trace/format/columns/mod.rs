//! Formats whose lines are plain columns: the table of the known ones, and tables that the user describes.
//!
//! A new format is one entry of [`COLUMN_FORMATS`]: separator, the columns with a role (counted from 1, or by the name
//! in the header), their units, and the codes of the operations. Units were checked against the published files.

mod engine;
mod table;

pub use engine::{Engine, Role, Steps};
pub use table::Table;

use super::{Format, Parser, Raw, Writer};
use kit::Op;
use kit::Op::{Flush, Read, Trim, Write};
use std::fmt::{self, Display};

/// Separator of two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// This byte; two in a row enclose an empty column.
    Byte(u8),
    /// Any run of blanks and TABs.
    Blanks,
}

/// Reference to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// By number, from 1.
    At(u8),
    /// By its name in the header.
    Named(&'static str),
}

/// Header of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// No header.
    None,
    /// This line, which may be missing.
    Line(&'static str),
    /// A line of column names after `#`.
    Names,
}

/// Unit of time, as the power of ten that converts it to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The unit is `10^power` ns.
    pub power: u32,
    /// True if times are integers.
    pub whole: bool,
}

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

/// Codes of the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Known words.
    Known(&'static [(&'static str, Op)]),
    /// Known words; any other word is an event that is not an I/O.
    Among(&'static [(&'static str, Op)]),
    /// Bit 0 of a number: the operation if it is set, and if it is clear.
    Bit(Op, Op),
    /// Words that the user defines.
    Said(Vec<(String, Op)>),
}

impl Codes {
    /// Returns the operation of `field`; `Some(None)` if it is not an I/O, `None` if it is a fault.
    #[inline(always)]
    fn op(&self, field: &[u8]) -> Option<Option<Op>> {
        match self {
            Codes::Known(words) => words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| Some(*op)),
            Codes::Among(words) => Some(words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| *op)),
            Codes::Bit(set, clear) => {
                super::super::fields::integer(field).map(|bits| Some(if bits & 1 == 1 { *set } else { *clear }))
            }
            Codes::Said(words) => words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| Some(*op)),
        }
    }

    fn expected(&self) -> String {
        match self {
            Codes::Known(words) | Codes::Among(words) => engine::one_of(words.iter().map(|(word, _)| *word)),
            Codes::Bit(..) => "an unsigned integer".to_owned(),
            Codes::Said(words) => engine::one_of(words.iter().map(|(word, _)| word.as_str())),
        }
    }
}

/// Compares short words for equality: the length and the first byte settle nearly all comparisons without a call.
#[inline(always)]
fn same(word: &[u8], field: &[u8]) -> bool {
    word.len() == field.len() && word.first() == field.first() && word.iter().zip(field).all(|(left, right)| left == right)
}

/// One format, an entry of the table.
pub struct Columns {
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    separator: Separator,
    header: Header,
    /// Number of columns of a line.
    count: usize,
    time: (Column, Clock),
    op: (Column, Codes),
    /// Column and unit \[bytes\].
    offset: (Column, u64),
    /// Column and unit \[bytes\].
    size: (Column, u64),
    /// First and last column of the stream's name.
    stream: Option<(Column, Column)>,
    /// Column that distinguishes arrivals from other events, with its words: true for an arrival.
    event: Option<(Column, &'static [(&'static str, bool)])>,
    /// Column, and the prefix in it that makes a request a trim.
    trim: Option<(Column, &'static str)>,
    clock_set_ns: Option<u64>,
    fits: fn(&[Vec<u8>]) -> bool,
    plausible: fn(&[Raw]) -> bool,
    writer: Writer,
    sample: &'static str,
    expected: &'static [(u64, Op, u64, u64, &'static str)],
}

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
    event: None,
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
        event: Some((at(1), &[("1", true)])),
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
        about: "hfplayer storage-controller CSV (Haghdoost et al., FAST 2017): columns by their names in the header; arrivals only.",
        header: Header::Names,
        time: (called("ELAPSED_USECS"), MICROSECONDS),
        op: (called("OP"), ONE_IS_WRITE),
        offset: (called("LBA"), SECTOR),
        size: (called("NBLKS"), SECTOR),
        stream: Some((called("LUN_SSID"), called("LUN_SSID"))),
        event: Some((called("CMD"), &[("WR_IN", true), ("RD_IN", true), ("WR_OUT", false), ("RD_OUT", false)])),
        sample: "#ELAPSED_USECS.D,CMD.S,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I\n81442951.096,WR_IN,1,1,0,2254431928,8\n\
                 81442951.500,WR_OUT,1,1,1,2254431928,8\n81443249.278,RD_IN,2,0,0,80,96\n",
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
        event: Some((at(2), &[("D", true), ("C", false)])),
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

/// Appends formatted text.
pub(super) fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    std::io::Write::write_fmt(out, text).expect("memory takes any text");
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

impl Columns {
    /// Returns the roles of the columns, in order. `number` returns the number of a column, from 1; the name of a
    /// column that it does not know is the error.
    fn steps(&self, number: impl Fn(Column) -> Option<usize>) -> Result<Steps, &'static str> {
        let mut used = vec![
            (self.time.0, Role::Time(self.time.1.power, self.time.1.whole)),
            (self.op.0, Role::Op),
            (self.offset.0, Role::Offset(self.offset.1)),
            (self.size.0, Role::Size(self.size.1)),
        ];
        if let Some((first, last)) = self.stream {
            let columns = match (first, last) {
                (Column::At(first), Column::At(last)) => usize::from(last - first) + 1,
                _ => 1,
            };
            used.push((first, Role::Stream(columns)));
        }
        used.extend(self.event.map(|(column, _)| (column, Role::Event)));
        used.extend(self.trim.map(|(column, _)| (column, Role::Trim)));
        let mut roles = Vec::new();
        for (column, role) in used {
            let number = number(column).ok_or(match column {
                Column::Named(name) => name,
                Column::At(_) => "",
            })?;
            let last = if let Role::Stream(columns) = role { number + columns - 1 } else { number };
            if roles.len() < last {
                roles.resize(last, Role::Skip);
            }
            assert!(roles[number - 1] == Role::Skip, "{}: column {number} has two roles", self.name);
            roles[number - 1] = role;
        }
        Ok(Steps {
            separator: self.separator,
            roles,
            columns_min: self.count,
            columns_max: self.count,
            codes: self.op.1.clone(),
            events: self.event.map_or(&[], |(_, words)| words),
            trim_prefix: self.trim.map_or("", |(_, prefix)| prefix),
        })
    }
}

impl Format for Columns {
    fn name(&self) -> &'static str {
        self.name
    }
    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn clock_set_ns(&self) -> Option<u64> {
        self.clock_set_ns
    }
    fn parser(&self, _head: &[Vec<u8>]) -> Box<dyn Parser> {
        let this = COLUMN_FORMATS.iter().find(|format| format.name == self.name).expect("formats live in the table");
        Box::new(Engine::of(this))
    }
    fn fits(&self, head: &[Vec<u8>]) -> bool {
        (self.fits)(head)
    }
    fn plausible(&self, parsed: &[Raw]) -> bool {
        (self.plausible)(parsed)
    }
    fn writer(&self) -> &Writer {
        &self.writer
    }
    fn sample(&self) -> &'static str {
        self.sample
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        self.expected
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
