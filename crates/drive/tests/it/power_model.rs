//! Energy and power of the flash, against an integrator of its own and by hand.

use crate::common::{session, with};
use drive::session::{Files, RunRequest};
use drive::streams::Outputs;
use drive::{Span, SpanPurpose};
use serde_json::Value;
use std::collections::BTreeMap;
use workload::Input;

/// Supply \[mV\] and current of a die at rest \[uA\] in these tests.
pub const SUPPLY: u64 = 3300;
pub const IDLE: u64 = 10;
/// Steps of a program, over a length of 600 us: start \[ns\] and current \[uA\].
const PROGRAM: [(u64, u64); 4] = [(0, 4_000), (100_000, 21_500), (250_001, 3_000), (599_000, 12_000)];
const PROGRAM_LENGTH: u64 = 600_000;
/// Currents of reads and erases \[uA\].
const READ: u64 = 12_000;
const ERASE: u64 = 9_000;
/// Time for sensing within a copyback \[ns\].
const SENSE: u64 = 50_000;

pub const POWER: &[&str] = &[
    "power.supply=3.3V",
    "power.idle=10uA",
    "power.read={kind=\"constant\",current=\"12mA\"}",
    "power.program={kind=\"steps\",length=\"600us\",steps=[{at=\"0ns\",current=\"4mA\"},{at=\"100us\",current=\"21.5mA\"},{at=\"250001ns\",current=\"3mA\"},{at=\"599us\",current=\"12mA\"}]}",
    "power.erase={kind=\"constant\",current=\"9mA\"}",
];

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}: a number was expected"))
}

/// A current that is constant for a time: start, end \[ns\], current \[uA\].
pub type Piece = (u64, u64, u64);

/// Returns the pieces of the array phases in `spans`. The parts of a program that was suspended follow each other in
/// its die's track until the whole duration is there.
pub fn pieces(spans: &[Span], program: u64) -> Vec<Piece> {
    let mut done: BTreeMap<u32, u64> = BTreeMap::new();
    let mut found = Vec::new();
    for span in spans.iter().filter(|span| matches!(span.purpose, SpanPurpose::Array(_))) {
        let (begin, end) = (span.begin.0, span.end.0);
        if span.name.starts_with("read") {
            found.push((begin, end, READ));
        } else if span.name == "erase" {
            found.push((begin, end, ERASE));
        } else {
            let mut begin = begin;
            if span.name == "copyback 0" {
                found.push((begin, begin + SENSE, READ));
                begin += SENSE;
            } else {
                assert_eq!(span.name, "program 0");
            }
            let from = done.remove(&span.track).unwrap_or(0);
            let to = from + (end - begin);
            assert!(to <= program);
            if to < program {
                done.insert(span.track, to);
            }
            for (index, (at, current)) in PROGRAM.iter().enumerate() {
                let stretch = |at: u64| at * program / PROGRAM_LENGTH;
                let next = PROGRAM.get(index + 1).map_or(program, |(next, _)| stretch(*next));
                let (first, last) = (stretch(*at).max(from), next.min(to));
                if first < last {
                    found.push((begin + first - from, begin + last - from, *current));
                }
            }
        }
    }
    assert!(done.is_empty(), "a program has not ended: {done:?}");
    found
}

/// Returns the energy \[aJ\] and the greatest charge of a window of `width` ns \[uA ns\] from `start` to `end`.
pub fn integrate(pieces: &[Piece], dies: u64, start: u64, end: u64, width: u64) -> (u128, u64) {
    let mut windows = vec![IDLE * dies * width; ((end - start) / width) as usize];
    let mut charge = u128::from(IDLE * dies) * u128::from(end - start);
    for (begin, stop, current) in pieces {
        charge += u128::from((current - IDLE) * (stop - begin));
        for window in (begin - start) / width..(stop - start).div_ceil(width) {
            let overlap = (stop - start).min((window + 1) * width) - (begin - start).max(window * width);
            if let Some(sum) = windows.get_mut(window as usize) {
                *sum += (current - IDLE) * overlap;
            }
        }
    }
    (charge * u128::from(SUPPLY), windows.into_iter().max().unwrap_or(0))
}

/// Runs a workload with power computed; returns the summary and the activities.
pub fn measured(sets: &[&str], job: &str) -> (Value, Vec<Span>) {
    let mut spans = Vec::new();
    let mut take = |rows: &[Span]| spans.extend_from_slice(rows);
    let request = RunRequest::new("test.toml", "base = \"tiny\"").sets(&with(POWER, sets));
    let files = Files { outputs: Outputs { spans: Some(&mut take), ..Outputs::default() }, ..Files::default() };
    let outcome = drive::session::run(&request, &Input::text("workload", job), files, &mut |_| true);
    (outcome.unwrap_or_else(|problems| panic!("{problems}")).summary, spans)
}

/// Reads suspend programs, channels are shared, and the drive erases: energy agrees to the last integer, and the
/// greatest power of a microsecond to the last bit but rounding.
#[test]
fn an_integrator_of_its_own_finds_the_same_energy_and_peak() {
    let mixed = "[m]\nrw=randrw\nrwmixread=60\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=6000\n";
    let suspension =
        "flash.suspension={program=true,erase=true,most=3,suspend_time=\"20us\",resume_time=\"10us\",least_remaining=\"1us\"}";
    for (sets, program) in [
        (&["state.precondition=fill"][..], 600_000),
        (&["state.precondition=fill", "flash.scheduler=read_first", suspension], 600_000),
        (&["state.precondition=fill", "policy.kind=all_fast"], 300_000),
        (&["state.precondition=fill", "power.window=10us", "flash.program_time=700001ns"], 700_001),
    ] {
        let (summary, spans) = measured(sets, mixed);
        let energy = &summary["energy"];
        let width = energy["window_ns"].as_u64().expect("a length");
        let (start, span) = (0, summary["simulated_ns"].as_u64().expect("a time"));
        let (charge, peak) = integrate(&pieces(&spans, program), 4, start, span, width);
        assert_eq!(energy["flash_aj"].as_str(), Some(charge.to_string().as_str()), "{sets:?}");
        let peak_w = peak as f64 * SUPPLY as f64 / width as f64 / 1e9;
        assert!((number(&energy["peak_w"]) / peak_w - 1.0).abs() < 1e-12, "{sets:?}: {} {peak_w}", energy["peak_w"]);
        let total =
            number(&energy["idle_j"]) + energy["by_operation"].as_object().expect("kinds").values().map(number).sum::<f64>();
        assert!((total / number(&energy["flash_j"]) - 1.0).abs() < 1e-12);
        assert!((number(&energy["mean_w"]) * span as f64 / 1e9 / total - 1.0).abs() < 1e-12);
    }
    let (summary, _) = measured(&["state.precondition=fill", "flash.scheduler=read_first", suspension], mixed);
    assert!(summary["flash"]["suspensions"].as_u64() > Some(50), "programs were suspended: {}", summary["flash"]["suspensions"]);
}

#[test]
fn without_the_section_no_energy_is_stated() {
    let outcome = session("base = \"tiny\"", &[], None, "[j]\nrw=randwrite\nnumber_ios=10\n").unwrap_or_else(|p| panic!("{p}"));
    let energy = outcome.summary["energy"].as_object().expect("a section");
    for (key, value) in energy {
        assert!(
            value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty) || *value == Value::Array(Vec::new()),
            "{key}: {value}"
        );
    }
}
