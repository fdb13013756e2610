//! Measurement of real decoders, on the channel of a cell or on a channel with a given error rate.
//!
//! A measurement takes long: [`plan`] returns the channels over which codewords are to be sent, [`count`] does one
//! piece of the work, and the caller distributes the pieces. [`summary`] turns counts into failure rates with their
//! intervals and into the error rates that the code corrects.

use crate::code_file::{self, TARGET};
use crate::notation::{parse_code, written};
use crate::question::{Question, ResolvedQuestion};
use cell::Density;
use cell::read::{differs, intervals, page_of};
use ecc::codec::channel::Region;
use ecc::codec::limit::{CONFIDENCE, correctable};
use ecc::codec::measure::interval;
use ecc::codec::{BchCodec, Channel, Codec, Counted, LdpcCodec, LdpcShape, measure};
use ecc::{Bch, BlockCode, Code};
use kit::{Nanos, Problem, Problems};
use serde_json::{Value, json};

/// Largest number of soft levels: seven references for each boundary.
const MAX_LEVELS: u32 = 3;
/// Number of spacings of soft references that are tried, and the widest one for a cell \[V\].
const SPACINGS: u32 = 60;
const WIDEST_SPACING: f64 = 0.3;

/// Largest number of chunks that are counted for one question: some minutes.
const MAX_CHUNKS: u64 = 1000;

/// A channel over which codewords are sent.
#[derive(Clone, Debug)]
struct Point {
    /// Value that varies from point to point: wear, or the error rate itself.
    at: f64,
    channel: Channel,
    spacing: f64,
}

/// Returns the channels: those of the cell at each wear or, if `rber` gives error rates, those of two normal levels of
/// equal width. Soft references are placed at equal spacing on both sides of each hard one; the spacing maximises the
/// mutual information of bit and read.
pub(super) fn plan(question: &Question) -> Result<Value, Problems> {
    let levels = question.soft_levels;
    if levels > MAX_LEVELS {
        return Err(Problems::one("soft_levels", format!("{levels}: expected at most {MAX_LEVELS}")));
    }
    let setting = question.setting()?;
    let code = codec_of(question, &setting)?;
    let points = match &question.rber {
        Some(rates) => rates.all().iter().map(|rate| normal_point(*rate, levels)).collect::<Result<Vec<_>, _>>()?,
        None => cell_points(question, &setting, levels)?,
    };
    let points: Vec<Value> = points
        .iter()
        .map(|point| {
            let regions: Vec<[f64; 2]> = point.channel.regions().iter().map(|region| [region.zero, region.one]).collect();
            json!({
                "at": point.at,
                "rber": point.channel.error_rate(),
                "capacity": point.channel.capacity(),
                "spacing": point.spacing,
                "regions": regions,
            })
        })
        .collect();
    Ok(json!({
        "code": written(&code),
        "codeword_bits": code.codeword_bits(),
        "data_bits": code.data_bits(),
        "soft_levels": levels,
        "varies": if question.rber.is_some() { "rber" } else { "pe" },
        "chunk_frames": measure::CHUNK_FRAMES,
        "points": points,
    }))
}

/// Counts the codewords of `chunks` chunks, starting with `chunk`, sent over the channel of `regions`.
pub(super) fn count(question: &Question) -> Result<Value, Problems> {
    let regions: Vec<Region> = question.regions.iter().map(|[zero, one]| Region { zero: *zero, one: *one }).collect();
    let channel = Channel::of(&regions).map_err(|complaint| Problems::one("regions", complaint))?;
    let code = parse_code(question.code.as_deref().unwrap_or_default()).map_err(|complaint| Problems::one("code", complaint))?;
    let codec = codec(&code)?;
    let end = question.chunk.checked_add(question.chunks).filter(|_| question.chunks <= MAX_CHUNKS).ok_or_else(|| {
        let what = format!("{} from {} on: expected at most {MAX_CHUNKS}, numbered in 64 bits", question.chunks, question.chunk);
        Problems::one("chunks", what)
    })?;
    let counted: Counted =
        (question.chunk..end).map(|chunk| measure::count(&codec, &channel, measure::CHUNK_FRAMES, question.seed, chunk)).sum();
    Ok(json!({
        "frames": counted.frames,
        "failed": counted.failed,
        "undetected": counted.undetected,
        "iterations": counted.iterations,
        "errors": counted.errors,
    }))
}

/// Returns failure rates with their intervals and, for each number of soft levels, the error rate that is corrected at
/// a failure rate of one in a thousand; null if the points do not bracket that failure rate.
pub(super) fn summary(question: &Question) -> Result<Value, Problems> {
    let text = question.measured_code.as_deref().unwrap_or_default();
    let kept = code_file::read(text).map_err(|complaint| Problems::one("code", complaint))?;
    let soft: Vec<Value> = kept
        .soft
        .iter()
        .map(|level| {
            let points: Vec<Value> = level
                .points
                .iter()
                .map(|point| {
                    if point.frames == 0 {
                        return json!({ "failure": null, "low": null, "high": null });
                    }
                    let (low, high) = interval(point.failed, point.frames, CONFIDENCE);
                    let rate = point.failed as f64 / point.frames.max(1) as f64;
                    json!({ "failure": rate, "low": low, "high": high })
                })
                .collect();
            json!({ "soft_levels": level.soft_levels, "points": points, "limit": correctable(&level.counts(), TARGET) })
        })
        .collect();
    Ok(json!({ "confidence": CONFIDENCE, "target": TARGET, "soft": soft }))
}

/// Returns the requested code, or the cell's own if none is requested.
fn codec_of(question: &Question, setting: &ResolvedQuestion) -> Result<Code, Problems> {
    let code = match &question.code {
        Some(text) => parse_code(text).map_err(|complaint| Problems::one("code", complaint))?,
        None => setting.part.code.clone(),
    };
    if question.soft_levels > 0 && matches!(code, Code::Bch(_)) {
        return Err(Problems::one("soft_levels", "a BCH code uses hard decisions only: expected 0, or an LDPC code".to_owned()));
    }
    codec(&code)?;
    Ok(code)
}

fn codec(code: &Code) -> Result<Codec, Problems> {
    let built = match code {
        Code::Bch(Bch { data_bits, t }) => BchCodec::new(*data_bits, *t).map(Codec::Bch),
        Code::Ldpc(ldpc) => {
            let shape = LdpcShape { data_bits: ldpc.data_bits, parity_bits: ldpc.parity_bits, ..LdpcShape::default() };
            LdpcCodec::new(shape).map(Codec::Ldpc)
        }
    };
    built.map_err(|complaint| Problems::one("code", complaint))
}

/// Returns the point for two normal levels of equal width whose middle reference has an error rate of `rate`.
fn normal_point(rate: f64, levels: u32) -> Result<Point, Problems> {
    if !(rate > 0.0 && rate < 0.5) {
        return Err(Problems::one("rber", format!("{rate}: expected an error rate above 0, below 0.5")));
    }
    // The levels are at -1 and 1.
    let sigma = kit::bisect::bisect_last_true(1e-3, 50.0, 60, |sigma| cell::density::normal(-1.0 / sigma) <= rate);
    let of = |spacing: f64| {
        let cuts: Vec<f64> = around(&[0.0], levels, spacing);
        let below = |level: f64, cut: f64| cell::density::normal((cut - level) / sigma);
        let shares = |level: f64| {
            let edges: Vec<f64> = std::iter::once(0.0).chain(cuts.iter().map(|cut| below(level, *cut))).chain([1.0]).collect();
            edges.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>()
        };
        // A one is stored as the lower level.
        let regions: Vec<Region> = shares(1.0).into_iter().zip(shares(-1.0)).map(|(zero, one)| Region { zero, one }).collect();
        Channel::of(&regions)
    };
    let (channel, spacing) = best(levels, 2.0 * sigma, of).map_err(|complaint| Problems::one("rber", complaint))?;
    Ok(Point { at: rate, channel, spacing })
}

/// Returns the points of the cell, one for each wear.
fn cell_points(question: &Question, setting: &ResolvedQuestion, levels: u32) -> Result<Vec<Point>, Problems> {
    let step = ResolvedQuestion::single("step", &setting.step)?;
    let age = if setting.age.is_empty() { Nanos::ZERO } else { ResolvedQuestion::single("age", &setting.age)? };
    let bits = setting.part.device.technology.page_types();
    let names = crate::part::page_names(bits);
    let wanted = match &question.page {
        None => None,
        Some(name) => Some(
            names
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| Problems::from(Problem::unknown("page", "page type", name, names.iter().copied())))?,
        ),
    };
    let mut points = Vec::new();
    for &pe in &setting.pe {
        let condition = setting.condition(pe, age, step);
        let Some((densities, references)) = setting.part.device.levels(&condition, cell::device::RESOLUTION) else {
            let why = "has no threshold-voltage model, only error rates: give error rates with `rber`";
            return Err(Problems::one("cell", format!("{} {why}", setting.part.name)));
        };
        let pages = setting.part.device.estimate(&condition).pages;
        let worst = (0..bits).max_by(|a, b| pages[*a].total_cmp(&pages[*b])).unwrap_or(0);
        let page = wanted.unwrap_or(worst);
        let own: Vec<f64> = references.iter().enumerate().filter(|(at, _)| page_of(*at, bits) == page).map(|(_, x)| *x).collect();
        let (channel, spacing) =
            best(levels, WIDEST_SPACING, |spacing| channel(&densities, &around(&own, levels, spacing), &own, page, bits))
                .map_err(|complaint| Problems::one("cell", complaint))?;
        points.push(Point { at: pe, channel, spacing });
    }
    Ok(points)
}

/// Returns the channel of a page's read: each interval between references is a region. A read returns the page's bit,
/// not the level, and so cannot distinguish some intervals at different boundaries. This does not matter: such
/// intervals are far from each other's boundary, and the bit is nearly certain in them.
fn channel(levels: &[Density], cuts: &[f64], own: &[f64], page: usize, bits: usize) -> Result<Channel, String> {
    debug_assert!(own.iter().all(|reference| cuts.contains(reference)));
    let shares = intervals(levels, cuts);
    let mut regions = vec![Region { zero: 0.0, one: 0.0 }; cuts.len() + 1];
    let half = levels.len() as f64 / 2.0;
    for (level, row) in shares.iter().enumerate() {
        for (region, share) in regions.iter_mut().zip(row) {
            // The erased level stores a one in every page.
            let into = if differs(level, 0, page, bits) { &mut region.zero } else { &mut region.one };
            *into += share / half;
        }
    }
    Channel::of(&regions)
}

/// Returns references with `levels` more on both sides of each, at a distance of `spacing`, in ascending order.
fn around(references: &[f64], levels: u32, spacing: f64) -> Vec<f64> {
    let mut cuts: Vec<f64> = references
        .iter()
        .flat_map(|reference| (-(i64::from(levels))..=i64::from(levels)).map(move |step| reference + spacing * step as f64))
        .collect();
    cuts.sort_by(f64::total_cmp);
    cuts
}

/// Returns the channel with the largest capacity over all spacings of soft references, and that spacing.
fn best(levels: u32, widest: f64, of: impl Fn(f64) -> Result<Channel, String>) -> Result<(Channel, f64), String> {
    if levels == 0 {
        return Ok((of(0.0)?, 0.0));
    }
    let mut found: Option<(Channel, f64)> = None;
    for step in 1..=SPACINGS {
        let spacing = widest * f64::from(step) / f64::from(SPACINGS);
        let channel = of(spacing)?;
        if found.as_ref().is_none_or(|(best, _)| channel.capacity() > best.capacity()) {
            found = Some((channel, spacing));
        }
    }
    Ok(found.expect("at least one spacing is tried"))
}

#[cfg(test)]
mod tests {
    use super::MAX_CHUNKS;
    use crate::answer::ask;
    use serde_json::json;

    #[test]
    fn soft_reads_of_the_cell_say_more_and_keep_the_error_rate() {
        let plan = |levels: u32| {
            let question = json!({"cell": "ofwar-mlc", "pe": 14_000, "age": "1y", "step": 0.3, "soft_levels": levels, "code": "ldpc-448B/4KiB"});
            ask("code_plan", &question.to_string()).expect("a plan")
        };
        let [hard, one, two] = [0, 1, 2].map(plan);
        let point = |plan: &serde_json::Value, field: &str| plan["points"][0][field].as_f64().expect("a number");
        let rber = json!({"cell": "ofwar-mlc", "pe": 14_000, "age": "1y", "step": 0.3}).to_string();
        let worst = ask("rber", &rber).expect("an answer")["worst"].as_f64().expect("a number");
        assert!((point(&hard, "rber") / worst - 1.0).abs() < 0.01, "{} {worst}", point(&hard, "rber"));
        assert!(point(&one, "capacity") > point(&hard, "capacity") && point(&two, "capacity") > point(&one, "capacity"));
        assert!((point(&two, "rber") / worst - 1.0).abs() < 0.05);
        // The MSB page has two boundaries with five references each, the LSB page one.
        let regions = two["points"][0]["regions"].as_array().expect("a list").len();
        assert!(regions == 11 || regions == 6, "{regions}");
    }

    #[test]
    fn pieces_of_a_measurement_add_up_and_become_limits() {
        let plan = ask("code_plan", &json!({"cell": "ofwar-mlc", "rber": [1e-3, 2e-2], "code": "ldpc-256B/1KiB"}).to_string());
        let plan = plan.expect("a plan");
        let count = |point: usize, chunk: u64, chunks: u64| {
            let question = json!({"code": plan["code"], "regions": plan["points"][point]["regions"], "seed": 1, "chunk": chunk, "chunks": chunks});
            ask("code_count", &question.to_string()).expect("a count")
        };
        let whole = count(1, 0, 2);
        let (first, second) = (count(1, 0, 1), count(1, 1, 1));
        for field in ["frames", "failed", "iterations", "errors"] {
            assert_eq!(whole[field].as_u64(), first[field].as_u64().zip(second[field].as_u64()).map(|(a, b)| a + b), "{field}");
        }
        assert_eq!(count(0, 0, 1)["failed"], 0);
        let kept = json!({"code": "ldpc-448B/4KiB", "soft": [{"soft_levels": 0, "points": [
            {"rber": 3e-3, "frames": 100_000, "failed": 1}, {"rber": 5e-3, "frames": 10_000, "failed": 5_000}]}]});
        let summary = ask("code_summary", &json!({"measured_code": kept.to_string()}).to_string()).expect("a summary");
        let limit = summary["soft"][0]["limit"].as_f64().expect("bracketed");
        assert!(limit > 3e-3 && limit < 5e-3, "{limit}");
        // The measured code can be used in a question about a cell.
        let asked = json!({"cell": "ofwar-mlc", "measured_code": kept.to_string()}).to_string();
        let own = ask("rber", &asked).expect("an answer")["limit"].as_f64().expect("a number");
        assert!(own < limit && own > 0.5 * limit, "{own}");
        for (from, to, why) in [
            ("\"failed\":1}", "\"failed\":99999999}", "point 1: 100000 frames, 99999999 failed"),
            ("\"rber\":0.003", "\"rber\":0.6", "point 1: rber 0.6"),
            ("{\"code\"", "{\"version\":2,\"code\"", "version 2: expected 1"),
        ] {
            let text = kept.to_string();
            assert!(text.contains(from), "{from} in {text}");
            let damaged = json!({"cell": "ofwar-mlc", "measured_code": text.replacen(from, to, 1)}).to_string();
            let problem = ask("rber", &damaged).expect_err("damaged").to_string();
            assert!(problem.contains(why), "{problem}");
        }
        let bad = ask("rber", &json!({"cell": "ofwar-mlc", "measured_code": "{}"}).to_string()).expect_err("no measurement");
        assert!(bad.to_string().contains("cell code --out"), "{bad}");
    }

    #[test]
    fn the_chunks_of_one_question_are_bounded() {
        for (chunk, chunks) in [(u64::MAX, 1), (0, MAX_CHUNKS + 1), (5, u64::MAX)] {
            let question = json!({"code": "bch-8/1KiB", "regions": [[0.9, 0.1], [0.1, 0.9]], "chunk": chunk, "chunks": chunks});
            let problem = ask("code_count", &question.to_string()).expect_err("too many").to_string();
            assert!(problem.contains("expected at most 1000"), "{problem}");
        }
    }
}
