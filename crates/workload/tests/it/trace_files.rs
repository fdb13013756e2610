//! Counts the requests of published traces and compares them with the catalogue. The traces are not part of the
//! project: `SSDLAB_TRACES=<folder> cargo test -p workload -- --ignored` runs these tests over the files of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{Input, Options, open, trace};

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("SSDLAB_TRACES").expect("SSDLAB_TRACES=<folder> says where the traces are"))
}

fn input(folder: &Path, name: &str) -> Option<Input> {
    let path = folder.join(name);
    path.is_file().then(|| Input {
        name: name.to_owned(),
        open: Arc::new(move || Ok(Box::new(std::fs::File::open(&path)?))),
        surroundings: None,
    })
}

/// File; format; number of reads and writes; numbers of trims, flushes and requests of zero length, which the catalogue
/// counts among the requests.
type Row = (&'static str, &'static str, u64, [u64; 3]);

/// Numbers of the catalogue.
const ROWS: &[Row] = &[
    ("msr_hm_0.first1000.csv.zst", "msr", 1000, [0, 0, 0]),
    ("msr_window_rw20-80.replay.txt.zst", "replay", 10_000, [0, 0, 0]),
    ("umass_Financial1.first949.spc.zst", "spc", 949, [0, 0, 0]),
    ("ssdsim_Financial1.first10000.ascii.zst", "ssdsim", 10_000, [0, 0, 0]),
    ("mqsim_tpcc-small.trace.zst", "ssdsim", 6999, [0, 0, 0]),
    ("flashsim_desktop.trace.zst", "flashsim", 32_527, [0, 0, 0]),
    ("disksim_ssd-postmark-aligned2.trace.zst", "disksim", 62_257, [0, 0, 0]),
    ("msps_DTRS-300s.us.trace.zst", "dtrs", 127_043, [0, 0, 0]),
    ("msps_MSN-storage-file-server.first1000lines.etw.csv.zst", "etw", 927, [0, 0, 0]),
    ("tencent_cbs.first25000.csv.zst", "tencent", 25_000, [0, 0, 0]),
    ("cloudphysics_vscsi.first75000lines.csv.zst", "vscsi", 74_999, [0, 0, 0]),
    ("fiu_homes-1.first1000.blkparse.zst", "fiu", 1000, [0, 0, 0]),
    ("blkparse_linux-desktop.txt.zst", "blkparse", 1801, [0, 10, 0]),
    ("blkparse_ycsb-f2fs.txt.zst", "blkparse", 5727, [0, 0, 0]),
    ("fio_iolog-v2_randwrite-4k.log.zst", "iolog2", 9441, [0, 0, 0]),
    ("hfplayer_small-tpch.csv.zst", "hf", 780, [0, 0, 0]),
    ("wiscsee_sqlite-wal-update.events.txt.zst", "wiscsee", 5007, [1, 0, 0]),
    ("most_android-ext4.po.zst", "most", 569, [0, 23, 0]),
    ("biotracer_176_Booting.txt.zst", "bio", 18_417, [0, 0, 0]),
    ("biotracer_250_RadioWebBrowse.txt.zst", "bio", 11_996, [0, 0, 1]),
    ("pixel6a_telegram_exec.csv.zst", "pix", 250_877, [1002, 0, 0]),
];

#[test]
#[ignore = "needs published traces: SSDLAB_TRACES=<folder>"]
fn published_traces_are_recognised_and_counted() {
    let folder = folder();
    assert!(ROWS.iter().any(|(name, ..)| input(&folder, name).is_some()), "{} has none of them", folder.display());
    for (name, format, requests, [trims, flushes, zero_length]) in ROWS {
        let Some(input) = input(&folder, name) else { continue };
        let info = trace::info(&input, &Options::default()).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        assert_eq!((info.format.as_str(), info.requests), (*format, *requests), "{name}");
        assert_eq!((info.trims, info.flushes, info.skipped.zero_length), (*trims, *flushes, *zero_length), "{name}");
    }
}

#[test]
#[ignore = "needs published traces: SSDLAB_TRACES=<folder>"]
fn a_published_trace_replays_whole_and_in_order() {
    let input = input(&folder(), "tencent_cbs.first25000.csv.zst").expect("the folder has this trace");
    let options = Options { address: "compact".into(), ..Options::default() };
    let mut workload = open(&input, 64 << 30, &options).unwrap_or_else(|problems| panic!("{problems}"));
    let mut out = Vec::new();
    workload.jobs[0].source.fill(&mut out, usize::MAX).expect("replays");
    assert!(out.len() >= 25_000 && out.windows(2).all(|pair| pair[0].at <= pair[1].at));
}
