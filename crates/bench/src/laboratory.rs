//! Speed of the cell laboratory on one core: error tables built, table look-ups, cells drawn, codewords decoded.

use cell::{Condition, ErrorTable, Technology, monte_carlo};
use ecc::codec::{BchCodec, Channel, Codec, LdpcCodec, LdpcShape, measure};
use kit::{Nanos, Rng};
use lab::Part;

/// Result of a measurement.
pub struct Done {
    /// Number of tables, look-ups, cells or codewords.
    pub count: u64,
    /// Wall time \[s\].
    pub wall_s: f64,
    /// Hash of all results, equal on every machine.
    pub hash: u64,
}

/// Names of the measurements.
pub const NAMES: [&str; 5] = ["cell-table", "cell-look", "cell-draw", "bch-110-4kib", "ldpc-448b-4kib"];

const YEAR: Nanos = Nanos::YEAR;

/// Runs the measurement called `name`; none if there is no such measurement.
pub fn measure(name: &str) -> Option<Done> {
    Some(match name {
        "cell-table" => tables(),
        "cell-look" => looks(),
        "cell-draw" => drawn(),
        "bch-110-4kib" => codewords(&Codec::Bch(BchCodec::new(32_768, 110).expect("a code of this size")), 2.0e-3),
        "ldpc-448b-4kib" => codewords(&Codec::Ldpc(LdpcCodec::new(LdpcShape::default()).expect("a code of this size")), 4.0e-3),
        _ => return None,
    })
}

fn part() -> Part {
    lab::parts::find("bench", "ofwar-mlc").expect("a part of the list")
}

fn timed(work: impl FnOnce() -> (u64, u64)) -> Done {
    let clock = std::time::SystemTime::now();
    let (count, hash) = work();
    Done { count, wall_s: clock.elapsed().map_or(f64::NAN, |elapsed| elapsed.as_secs_f64()), hash }
}

fn table(step: f64) -> ErrorTable {
    ErrorTable::build(&part().device, &Condition { step, ..Condition::default() }, 20_000.0, Nanos(10 * YEAR.0), 40.0)
}

/// Builds the error tables of a drive with four write modes.
fn tables() -> Done {
    timed(|| {
        let sum: u64 = [0.2, 0.3, 0.4, 0.5].iter().map(|step| table(*step).rate(0, 5_000.0, YEAR, 0.0).to_bits() >> 20).sum();
        (4, sum)
    })
}

/// Looks up error rates at random wear, ages and read counts.
fn looks() -> Done {
    let (table, mut rng) = (table(0.3), Rng::stream(1, "bench.look"));
    let asked: Vec<(f64, Nanos, f64)> =
        (0..4096).map(|_| (rng.unit() * 20_000.0, Nanos(rng.below(10 * YEAR.0)), rng.unit() * 1e4)).collect();
    timed(|| {
        let mut sum = 0.0;
        for round in 0..10_000 {
            for (wear, age, reads) in &asked {
                sum += table.rate(round & 1, *wear, *age, *reads);
            }
        }
        (10_000 * 4096, f64::to_bits(sum) >> 20)
    })
}

/// Draws MLC cells with their neighbours.
fn drawn() -> Done {
    let part = part();
    let Technology::Voltage(model) = &part.device.technology else { unreachable!("a model of threshold voltages") };
    let condition = Condition { step: 0.2, pe_cycles: 10_000.0, age: YEAR, ..Condition::default() };
    let references = cell::page_errors(&model.levels(&condition, 0.004)).references;
    timed(|| {
        let counted = monte_carlo::count(model, &condition, &references, 20_000_000, &mut Rng::stream(1, "bench.draw"));
        (counted.cells, counted.wrong.iter().sum())
    })
}

/// Decodes codewords at an error rate that the code corrects.
fn codewords(codec: &Codec, rate: f64) -> Done {
    let channel = Channel::hard(rate).expect("an error rate");
    timed(|| {
        let counted = measure::count_all(codec, &channel, 2048, 1);
        (counted.frames, counted.errors + counted.iterations)
    })
}
