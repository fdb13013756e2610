//! Trace files: the conformance suite of the format family, and every option on small hand-written traces.

mod binary;
mod faults;
mod formats;
mod mutations;
mod options;
mod times;

use kit::{Op, Problems};
use workload::{Input, Options, Request, Workload, open};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn all(workload: &mut Workload) -> Vec<Request> {
    let mut out = Vec::new();
    workload.jobs[0].source.fill(&mut out, usize::MAX).expect("a scanned trace replays");
    out
}

fn replay(text: &str, options: &Options) -> Result<Vec<Request>, Problems> {
    open(&Input::text("t", text), 8 * GIB, options).map(|mut workload| all(&mut workload))
}

/// Returns the requests as (time \[ns\], operation, offset, length).
fn shape(requests: &[Request]) -> Vec<(u64, Op, u64, u64)> {
    requests.iter().map(|request| (request.at.0, request.op, request.offset.0, request.length.0)).collect()
}

fn complaint<T>(result: Result<T, Problems>) -> String {
    result.map(drop).expect_err("must be refused").to_string()
}

fn overlaid() -> Options {
    Options { layout: "overlay".into(), address: "error".into(), ..Options::default() }
}

/// Returns `bytes` as they are, and compressed with gzip and Zstandard.
fn compressed(bytes: &[u8]) -> [Vec<u8>; 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, bytes).expect("memory");
    let gzip = gzip.finish().expect("memory");
    [bytes.to_vec(), gzip, zstd::encode_all(bytes, 1).expect("memory")]
}

/// Returns options for traces of the `ssdsim` format.
fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options { format: Some("ssdsim".into()), ..Options::default() };
    change(&mut options);
    options
}
