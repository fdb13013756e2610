//! Measures how a drive goes on from its steady starting state under random writes of 4 KiB: write amplification and
//! latency in windows of 1,000 to 10,000,000 programmed host units. For each length it prints the first window, as a
//! mean over several seeds, beside the windows of the same length in the second half of the runs.
//!
//! `cargo run --release -p bench --example ladder -- PRESET [--writes N] [--seeds N] [--depth N] [--shrink BYTES]
//! [--policy NAME] [--csv FILE] [--dies] [FIELD=VALUE ...]`
//!
//! `--dies` compares where the dies are in their cycle, at first and in the second half.

use drive::session::RunRequest;
use drive::{Description, Drive, RunLoop};
use ftl::{DieState, ScaleModels};
use kit::{Bytes, DieId, Histogram, Op, Reason};
use std::collections::BTreeMap;
use std::io::Write;
use workload::{Input, Options};

/// Lengths of windows, in host units programmed.
const LENGTHS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

struct Asked {
    request: RunRequest,
    preset: String,
    writes: u64,
    seeds: u64,
    depth: u64,
    shrink: Option<u64>,
    csv: Option<String>,
    dies: bool,
}

fn asked() -> Asked {
    let mut words = std::env::args().skip(1);
    let preset = words.next().expect("a preset");
    let request = RunRequest::new("ladder.toml", &format!("base = \"{preset}\"")).precondition("steady");
    let mut asked = Asked { request, preset, writes: 1_000_000, seeds: 1, depth: 32, shrink: None, csv: None, dies: false };
    while let Some(word) = words.next() {
        let mut text = || words.next().expect("a value");
        let number = |text: String| text.parse::<u64>().expect("a number");
        match word.as_str() {
            "--writes" => asked.writes = number(text()),
            "--seeds" => asked.seeds = number(text()),
            "--depth" => asked.depth = number(text()),
            "--shrink" => asked.shrink = Some(number(text())),
            "--policy" => asked.request = asked.request.policy(text().as_str()),
            "--csv" => asked.csv = Some(text()),
            "--dies" => asked.dies = true,
            _ => asked.request = asked.request.set(&word),
        }
    }
    asked
}

/// Figures of one window: write amplification, and the latencies at 99, 99.9 and 99.99 %, in microseconds.
type Figures = [f64; 4];

/// A window under way.
#[derive(Default)]
struct Open {
    histogram: Histogram,
    /// Units programmed, and host units among them, when it began.
    begun: [u64; 2],
    done: Vec<Figures>,
}

impl Open {
    fn add(&mut self, length: u64, part: &Histogram, now: [u64; 2]) {
        self.histogram.merge(part);
        if now[1] - self.begun[1] < length {
            return;
        }
        let amplification = (now[0] - self.begun[0]) as f64 / (now[1] - self.begun[1]) as f64;
        let at = |share: f64| self.histogram.percentile(share, 0).map_or(f64::NAN, |ns| ns as f64 / 1e3);
        self.done.push([amplification, at(0.99), at(0.999), at(0.9999)]);
        (self.histogram, self.begun) = (Histogram::default(), now);
    }
}

/// Where dies are in their cycle: sums over samples of quantities.
#[derive(Default)]
struct Dies {
    samples: f64,
    sums: BTreeMap<String, [f64; 2]>,
}

impl Dies {
    fn add(&mut self, drive: &Drive) {
        let dies: Vec<DieState> = (0..drive.medium().geometry.die_count).map(|die| drive.map().die_state(DieId(die))).collect();
        let mut of: BTreeMap<String, f64> = BTreeMap::new();
        let mut count = |what: String, by: f64| *of.entry(what).or_default() += by;
        for die in &dies {
            count(format!("dies with {} free", die.free_blocks), 1.0);
            if let Some((left, initial)) = die.victim {
                let tenth = f64::from(initial - left) / f64::from(initial.max(1)) * 4.0;
                count("dies with a victim".to_owned(), 1.0);
                count(format!("victims moved by {:.0}/4", tenth.floor().min(3.0)), 1.0);
                count("valid units of victims at first".to_owned(), f64::from(initial));
            }
            for (stream, fill) in &die.open {
                count(format!("stream {stream} open"), 1.0);
                count(format!("stream {stream} filled to {:.0}/4", (fill * 4.0).floor().min(3.0)), 1.0);
            }
        }
        self.samples += 1.0;
        for (what, value) in of {
            let sums = self.sums.entry(what).or_default();
            *sums = [sums[0] + value, sums[1] + value * value];
        }
    }

    fn of(&self, what: &str) -> String {
        let [sum, squares] = self.sums.get(what).copied().unwrap_or_default();
        let mean = sum / self.samples;
        format!("{mean:8.2} +- {:6.2}", (squares / self.samples - mean * mean).max(0.0).sqrt())
    }
}

fn main() {
    let asked = asked();
    let (mut firsts, mut later) = (vec![Vec::new(); LENGTHS.len()], vec![Vec::new(); LENGTHS.len()]);
    let mut dies = [Dies::default(), Dies::default()];
    let models = ScaleModels::default();
    for seed in 1..=asked.seeds {
        let request = asked.request.clone().seed(seed);
        let RunRequest { drive, setup, .. } = &request;
        let whole = drive::session::description(drive, setup, &|_| Err("no file is read here".to_owned()));
        let mut description = whole.unwrap_or_else(|problems| panic!("{problems}"));
        if let Some(bytes) = asked.shrink {
            description = drive::shrink(&description, Bytes(bytes)).unwrap_or_else(|problems| panic!("{problems}"));
        }
        for (rank, windows) in run(&asked, &description, seed, &models, &mut dies).into_iter().enumerate() {
            let half = windows.len().div_ceil(2);
            firsts[rank].extend(windows.first().copied());
            later[rank].extend(windows.into_iter().skip(half));
        }
    }
    print(&asked, &firsts, &later);
    if asked.dies {
        let mut names: Vec<&String> = dies.iter().flat_map(|dies| dies.sums.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            println!("{name:36} at first {}   later {}", dies[0].of(name), dies[1].of(name));
        }
    }
}

/// Runs one seed, and returns the windows of each length.
fn run(asked: &Asked, description: &Description, seed: u64, models: &ScaleModels, dies: &mut [Dies; 2]) -> Vec<Vec<Figures>> {
    let mut drive = Drive::new(description, seed).expect("the tables fit");
    drive.ftl_mut().precondition(&description.state.preconditioned(), models, &mut |_| true).expect("memory");
    drive.adopt();
    let geometry = description.geometry();
    eprintln!(
        "{} seed {seed}: {} dies, {} units per block, {} GiB",
        asked.preset,
        geometry.die_count,
        geometry.units_per_block,
        drive.user_bytes() >> 30
    );
    if asked.dies {
        dies[0].add(&drive);
    }
    let job = format!(
        "[job]\nrw=randwrite\nbs=4k\nnorandommap=1\niodepth={}\nrandseed={seed}\nio_size=100000g\nnumber_ios=1g\n",
        asked.depth
    );
    let workload = workload::open(&Input::text("job.fio", job), drive.user_bytes(), &Options::default());
    let mut windows: Vec<Open> = LENGTHS.iter().map(|_| Open::default()).collect();
    let mut last = 0;
    RunLoop::new(workload.unwrap_or_else(|problems| panic!("{problems}")))
        .run(&mut drive, &mut |drive, _| {
            let programmed = &drive.translator().report().counters.units_programmed;
            let now = [programmed.iter().sum(), programmed[Reason::Host as usize]];
            if now[1] - last >= LENGTHS[0] {
                last = now[1];
                let part = drive.statistics.totals.histograms[Op::Write as usize].clone();
                windows.iter_mut().zip(LENGTHS).for_each(|(window, length)| window.add(length, &part, now));
                drive.statistics.totals.histograms[Op::Write as usize] = Histogram::default();
                if asked.dies && now[1] > asked.writes / 2 {
                    dies[1].add(drive);
                }
            }
            now[1] < asked.writes
        })
        .unwrap_or_else(|problems| panic!("{problems}"));
    windows.into_iter().map(|window| window.done).collect()
}

fn print(asked: &Asked, firsts: &[Vec<Figures>], later: &[Vec<Figures>]) {
    println!("{}: {} seeds, {} writes each, depth {}", asked.preset, asked.seeds, asked.writes, asked.depth);
    let mut file = asked.csv.as_ref().map(|name| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(name).expect("a file to append to");
        if file.metadata().is_ok_and(|data| data.len() == 0) {
            writeln!(file, "preset,length,figure,seeds,first_mean,first_error,windows,later_mean,later_low,later_high")
                .expect("space");
        }
        file
    });
    let names = ["WA", "p99", "p99.9", "p99.99"];
    println!(
        "{:>10} {:>7} {:>10} {:>8} {:>10} {:>8}   {:>10} .. {:>10}",
        "length", "figure", "first", "+-", "later", "ratio", "5 %", "95 %"
    );
    for ((length, first), later) in LENGTHS.iter().zip(firsts).zip(later) {
        for (figure, name) in names.iter().enumerate().filter(|_| !first.is_empty() && !later.is_empty()) {
            let (mean, error) = mean_of(first, figure);
            let (long, _) = mean_of(later, figure);
            let mut sorted: Vec<f64> = later.iter().map(|one| one[figure]).collect();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
            let (low, high) = (at(0.05), at(0.95));
            println!(
                "{length:>10} {name:>7} {mean:>10.3} {error:>8.3} {long:>10.3} {:>8.3}   {low:>10.3} .. {high:>10.3}",
                mean / long
            );
            if let Some(file) = &mut file {
                let count = later.len();
                let row = format!(
                    "{},{length},{name},{},{mean:.4},{error:.4},{count},{long:.4},{low:.4},{high:.4}",
                    asked.preset,
                    first.len()
                );
                writeln!(file, "{row}").expect("space");
            }
        }
    }
}

/// Returns the mean of a figure, and its standard error.
fn mean_of(windows: &[Figures], figure: usize) -> (f64, f64) {
    let count = windows.len() as f64;
    let mean = windows.iter().map(|one| one[figure]).sum::<f64>() / count;
    let variance = windows.iter().map(|one| (one[figure] - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}
