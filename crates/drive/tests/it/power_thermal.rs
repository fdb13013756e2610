//! The thermal model: against an integrator that sees nothing but the timeline, and what it changes while the flash is
//! hot and while it is not.

use crate::common::{Rig, description, load, read, saved, session_with_history, with};
use crate::power_model::{IDLE, POWER, Piece, SUPPLY, measured, number, pieces};
use drive::Drive;
use kit::{Nanos, Op, SimTime};
use serde_json::{Value, json};

/// 100 K/W and 1 mJ/K, a time constant of 100 ms: the temperature follows within one run.
const FAST: &str = "power.thermal={ambient=25.0,r_th=100.0,c_th=0.001,throttle_at=32.0,release_at=31.0,cap=\"80mW\",\
    other=\"10mW\",initial=30.5,step=\"1ms\"}";
/// A flash that is never hot.
const COOL: &str = "power.thermal={ambient=25.0,r_th=10.0,c_th=10.0,throttle_at=400.0,release_at=390.0,cap=\"80mW\"}";
const MIXED: &str = "[m]\nrw=randrw\nrwmixread=60\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=6000\n";
const FILL: &str = "state.precondition=fill";
const SUSPENSION: &str =
    "flash.suspension={program=true,erase=true,most=3,suspend_time=\"20us\",resume_time=\"10us\",least_remaining=\"1us\"}";

/// Returns temperature and heat at the end of each step of 1 ms, from the pieces of all array phases.
fn temperatures(pieces: &[Piece], dies: u64, span: u64) -> Vec<(f64, bool)> {
    let width = 1_000_000;
    let mut charges = vec![(IDLE * dies * width) as f64; (span / width) as usize];
    for &(begin, end, current) in pieces {
        for step in begin / width..end.div_ceil(width) {
            let overlap = end.min((step + 1) * width) - begin.max(step * width);
            if let Some(charge) = charges.get_mut(step as usize) {
                *charge += ((current - IDLE) * overlap) as f64;
            }
        }
    }
    let (mut temperature, mut is_hot) = (30.5f64, false);
    let step = |charge: f64| {
        // uA times mV are nW.
        let watts = charge / width as f64 * SUPPLY as f64 * 1e-9 + 0.01;
        // The equation in small steps, as a check of its solution.
        for _ in 0..10_000 {
            temperature += (watts - (temperature - 25.0) / 100.0) / 0.001 * 1e-7;
        }
        is_hot = temperature >= 32.0 || is_hot && temperature >= 31.0;
        (temperature, is_hot)
    };
    charges.into_iter().map(step).collect()
}

/// Temperature, throttling and what the cap leaves while the flash is hot, with and without suspended programs.
#[test]
fn an_integrator_of_its_own_finds_the_same_temperature() {
    for sets in [&[FILL, FAST][..], &[FILL, FAST, SUSPENSION]] {
        let (summary, spans) = measured(sets, MIXED);
        let thermal = &summary["energy"]["thermal"];
        let found = pieces(&spans, 600_000);
        let steps = temperatures(&found, 4, number(&summary["simulated_ns"]) as u64);
        let near = |key: &str, expected: f64| {
            let value = number(&thermal[key]);
            assert!((value - expected).abs() < 1e-4, "{key}: {value} {expected}");
        };
        near("peak_c", steps.iter().map(|step| step.0).fold(30.5, f64::max));
        near("last_c", steps.last().expect("a step").0);
        near("mean_c", steps.iter().map(|step| step.0).sum::<f64>() / steps.len() as f64);
        let begins = steps.windows(2).filter(|pair| pair[1].1 && !pair[0].1).count();
        // The last step begins a time that is not over.
        let hot = steps[..steps.len() - 1].iter().filter(|step| step.1).count();
        assert_eq!((&thermal["throttles"], &thermal["throttled_ns"]), (&json!(begins), &json!(hot as u64 * 1_000_000)));
        assert!(begins > 3 && hot > 50 && hot * 4 < steps.len() * 3, "{begins} {hot} of {}", steps.len());
        assert!(number(&summary["causes"]["write"]["power_wait"]) > 0.0);
        assert_eq!(summary["energy"]["cap"], Value::Null);
        // A program that has begun before goes on: after 1 ms of heat the current is at or under the cap.
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for &(begin, end, current) in &found {
            changes.extend([(begin, (current - IDLE) as i64), (end, -((current - IDLE) as i64))]);
        }
        changes.sort_unstable();
        let (mut level, mut max_hot, mut max_cool) = ((4 * IDLE) as i64, 0, 0);
        for (index, (at, change)) in changes.iter().enumerate() {
            level += change;
            if changes.get(index + 1).is_some_and(|next| next.0 == *at) {
                continue;
            }
            let is_hot = |at: u64| at >= 1_000_000 && steps.get((at / 1_000_000 - 1) as usize).is_some_and(|step| step.1);
            if is_hot(*at) && is_hot(at.saturating_sub(1_000_000)) {
                max_hot = max_hot.max(level as u64 * SUPPLY);
            } else {
                max_cool = max_cool.max(level as u64 * SUPPLY);
            }
        }
        assert!(max_hot <= 80_000_000 && max_cool > 150_000_000, "{max_hot} {max_cool} nW");
    }
}

/// A model whose flash is never hot changes neither an event nor a digit.
#[test]
fn a_flash_that_stays_cool_is_as_one_without_temperature() {
    let cases: [&[&str]; 4] = [
        &[FILL],
        &[FILL, SUSPENSION],
        &["state.precondition=steady", "flash.copyback=true", "controller.page_buffers={count=1}"],
        &["state.precondition=steady", SUSPENSION, "flash.time_distribution=exponential", "power.cap=120mW"],
    ];
    for sets in cases {
        let run = |more: &[&str]| {
            let outcome = session_with_history("base = \"tiny\"", &with(&with(POWER, sets), more), MIXED);
            let outcome = outcome.unwrap_or_else(|problems| panic!("{problems}"));
            let history = outcome.history.expect("it was asked for");
            let mut summary = outcome.summary;
            let thermal = std::mem::take(&mut summary["energy"]["thermal"]);
            summary["wall_s"] = Value::Null;
            ((summary, history.hash), thermal, outcome.power.expect("it is computed"))
        };
        let (plain, none, rows) = run(&[]);
        let (cool, thermal, warm) = run(&[COOL]);
        assert_eq!(plain, cool, "{sets:?}");
        assert_eq!((none, &thermal["throttles"]), (Value::Null, &json!(0)));
        assert!(number(&thermal["last_c"]) > 25.0 && rows.iter().all(|row| row.3.is_none()));
        let last = warm.last().and_then(|row| row.3).expect("a temperature");
        assert!(last > 25.0 && last <= number(&thermal["peak_c"]), "{last}");
    }
}

/// A drive that is saved goes on with its temperature: while it is hot and not, between steps.
#[test]
fn a_saved_drive_goes_on_with_its_temperature() {
    let description = description(&with(POWER, &[FILL, FAST]));
    let mut was_hot = 0;
    for count in [30, 300, 430, 460, 500, 640] {
        let go_on = |rig: &mut Rig| {
            let tags: Vec<u32> =
                (0..400).map(|unit| rig.submit(Op::Write, unit * 7 % 500, 1, rig.drive.now() + Nanos(unit * 1_000))).collect();
            rig.drain();
            let rows: Vec<_> = tags.iter().map(|tag| rig.row(*tag)).map(|row| (row.completed, row.causes)).collect();
            let thermal = rig.drive.energy().and_then(|energy| energy.flash.thermal).expect("it is computed");
            (rows, thermal)
        };
        let mut rig = Rig::of(&description);
        (0..count).for_each(|unit| {
            rig.submit(Op::Write, unit * 3 % 500, 1, SimTime(unit * 50_000));
        });
        rig.drain();
        let file = saved(&mut rig.drive, &description);
        let image = format!("{:?}", rig.drive.flash().thermal_image(rig.drive.now()));
        was_hot += u32::from(image.contains("is_hot: true"));
        rig.drive.restart_measurement();
        let mut other = Rig::of(&description);
        other.drive = Drive::new(&description, 1).expect("the tables fit");
        assert!(load(&mut other.drive, &description, &file).expect("it is whole").exact);
        other.drive.restart_measurement();
        other.drive.statistics.log = Some(Vec::new());
        rig.drive.go_on();
        other.drive.go_on();
        let (first, second) = (go_on(&mut rig), go_on(&mut other));
        assert_eq!(first, second, "{count}");
    }
    assert!(was_hot > 0 && was_hot < 6, "{was_hot}");
}

#[test]
fn models_that_make_no_sense_are_refused() {
    let refused = |thermal: &str, expected: &str| {
        let set = format!("power.thermal={{{thermal}}}");
        let problems = read(&with(POWER, &[&set])).map(|_| ()).expect_err(expected).to_string();
        assert!(problems.contains(expected), "{problems}");
    };
    let with_cap = |r: &str, cap: &str| format!("ambient=25.0,r_th={r},c_th=5.0,throttle_at=70.0,release_at=60.0,cap=\"{cap}\"");
    refused(&with_cap("-3.0", "1W"), "power.thermal.r_th: -3: expected more than 0");
    refused(&with_cap("3.0", "60mW"), "power.thermal.cap: 60mW: expected at least 0.071049 W");
    refused(&with_cap("3.0", "1W").replace("60.0", "70.0"), "power.thermal.release_at: 70: expected less than throttle_at = 70");
    refused("ambient=25.0,r_th=3.0", "c_th");
    refused(&format!("{},fan=2", with_cap("3.0", "1W")), "unknown field `fan`");
    assert!(read(&with(POWER, &[&format!("power.thermal={{{}}}", with_cap("3.0", "1W"))])).is_ok());
}
