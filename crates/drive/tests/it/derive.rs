//! Modes that a description derives from the cell model.

use drive::Description;
use kit::{Nanos, Problems};

const DAY: u64 = 86_400_000_000_000;

fn read(text: &str) -> Result<Description, Problems> {
    Description::read("d.toml", &format!("base = \"ofwar-64g\"\n{text}"), &[])
}

fn refused(text: &str) -> String {
    read(text).expect_err("must be refused").to_string()
}

/// OFWAR, section 4.1: a retention of four days instead of ten years halves the program time, from 600 to 300 us.
const OFWAR: &str = "[[flash.write_mode]]\nname = \"normal\"\nderive = { retention = \"10y\", at_pe_cycles = 10000 }\n\
    [[flash.write_mode]]\nname = \"fast\"\nderive = { retention = \"4d\", at_pe_cycles = 10000 }\n";

#[test]
fn derived_modes_take_the_place_of_given_ones_and_say_how_they_were_found() {
    let description = read(OFWAR).unwrap_or_else(|problems| panic!("{problems}"));
    let [normal, fast] = &description.flash.write_modes[..] else { panic!("two modes") };
    assert!((normal.program_scale - 1.0).abs() < 0.02 && (fast.program_scale - 0.503).abs() < 0.005, "{normal:?} {fast:?}");
    assert_eq!(fast.retention_at(0, 10_000), Some(Nanos(4 * DAY)));
    let found = fast.derivation.as_ref().expect("how it was found");
    assert_eq!((found.cell.as_str(), found.at_pe_cycles), ("ofwar-mlc", 10_000));
    assert!((found.error_rate / found.limit - 1.0).abs() < 0.01 && (found.limit / 1.35e-3 - 1.0).abs() < 0.01, "{found:?}");
    // The resolved description that is kept with a result describes the same drive.
    let text = description.to_toml();
    assert!(text.contains("[flash.write_mode.derivation]"), "{text}");
    let again = Description::read("again", &text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again, description);
}

#[test]
fn a_limit_may_follow_wear() {
    let text = OFWAR.replace("\"4d\", at_pe_cycles = 10000", "\"4d\", at_pe_cycles = 10000, by_wear = true");
    let description = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let fast = &description.flash.write_modes[1];
    let limits: Vec<Nanos> = [0, 5_000, 7_000, 9_000, 9_999].iter().filter_map(|wear| fast.retention_at(*wear, 10_000)).collect();
    // Below half the rated endurance the fast mode keeps data for more than ten years; in the last sixteenth for the
    // promised four days.
    assert!(limits[0] > Nanos(3_650 * DAY) && limits[1] > Nanos(3_650 * DAY) && limits.is_sorted_by(|a, b| a >= b), "{limits:?}");
    assert!(limits[4] >= Nanos(4 * DAY) && limits[4] < Nanos(5 * DAY), "{limits:?}");
}

#[test]
fn a_step_has_a_retention() {
    let text = OFWAR.replace("retention = \"4d\"", "step = 0.4");
    let description = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let fast = &description.flash.write_modes[1];
    assert!((fast.program_scale - 0.5).abs() < 1e-9);
    let limit = fast.retention_at(0, 10_000).expect("a limit");
    assert!(limit > Nanos(3 * DAY) && limit < Nanos(4 * DAY), "{limit}");
}

#[test]
fn heat_and_a_stronger_code_move_the_step() {
    let scale = |text: &str| read(text).unwrap_or_else(|problems| panic!("{problems}")).flash.write_modes[1].program_scale;
    let plain = scale(OFWAR);
    assert!(scale(&OFWAR.replace("\"4d\", ", "\"4d\", temperature = 60.0, ")) > plain + 0.01);
    let stronger = format!("[flash]\ncode = {{ kind = \"ldpc\", data = \"4KiB\", parity = \"448B\" }}\n{OFWAR}");
    assert!(scale(&stronger) < plain - 0.01);
}

#[test]
fn erase_and_read_modes_are_derived_too() {
    let text = "[flash]\ncell_model = \"dpes-mlc\"\n[[flash.erase_mode]]\nname = \"gentle\"\nderive = { erase_shift = 1.06, slow = true }\n\
        [[flash.read_mode]]\nname = \"soft\"\nderive = { references = 3 }\n";
    let description = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    let erase = &description.flash.erase_modes[0];
    // autoFTL: a slow erase at 1.06 V wears 0.45 and takes four times as long.
    let [wear] = erase.wear.all() else { panic!("one value: {erase:?}") };
    assert!((wear.0 - 0.45).abs() < 0.002 && erase.erase_scale == 4.0, "{erase:?}");
    let soft = &description.flash.read_modes[0];
    assert_eq!((soft.sense_scale, soft.transfers), (3.0, 2));
    let again = Description::read("again", &description.to_toml(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again, description);
}

/// The wear of an erase mode depends on the wear of the block, in six intervals (autoFTL's table, FACTS 4.2).
#[test]
fn an_erase_mode_of_the_model_wears_by_interval() {
    let text = "[flash]\ncell_model = \"dpes-mlc\"\nrated_pe_cycles = 3000\n[[flash.erase_mode]]\nname = \"EV4 slow\"\n\
        derive = { mode = \"EV4\", slow = true }\n";
    let description = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    let erase = &description.flash.erase_modes[0];
    let wear: Vec<f64> = erase.wear.all().iter().map(|wear| wear.0).collect();
    let table = [0.450, 0.479, 0.508, 0.536, 0.565, 0.594];
    assert!(wear.len() == 6 && wear.iter().zip(table).all(|(found, known)| (found - known).abs() < 0.0011), "{wear:?}");
    assert!(erase.erase_scale == 4.0 && (erase.erase_shift - 0.636).abs() < 1e-9, "{erase:?}");
    let again = Description::read("again", &description.to_toml(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again, description);
    assert!(
        refused(&text.replace("rated_pe_cycles = 3000\n", ""))
            .contains("expected that for flash.rated_pe_cycles, which is 10000")
    );
    assert!(refused(&text.replace("slow = true", "erase_shift = 1.0")).contains("expected either an erase_shift or a mode"));
    assert!(refused(&text.replace("mode = \"EV4\", ", "")).contains("expected either an erase_shift or a mode"));
    assert!(
        refused(&text.replace("\"EV4\"", "\"EV5\"")).contains("unknown value `EV5`: expected one of EV0, EV1, EV2, EV3, EV4")
    );
}

#[test]
fn what_cannot_be_derived_is_refused_with_the_reason() {
    let with = |from: &str, to: &str| refused(&OFWAR.replacen(from, to, 1));
    assert!(
        with("at_pe_cycles = 10000", "at_pe_cycles = 60000")
            .contains("d.toml:4: flash.write_mode[0].derive: no program step keeps")
    );
    assert!(with("retention = \"10y\", ", "").contains("expected either `retention`"));
    assert!(with("retention = \"10y\"", "retention = \"10y\", step = 0.2").contains("expected either `retention`"));
    assert!(with("at_pe_cycles", "at_pe_cyles").contains("did you mean `at_pe_cycles`?"));
    assert!(with("name = \"normal\"", "name = \"normal\"\nprogram_scale = 0.7").contains("given in numbers as well"));
    let model = |name: &str| refused(&format!("[flash]\ncell_model = \"{name}\"\n{OFWAR}"));
    assert!(model("ofwar-mcl").contains("d.toml:3: flash.cell_model: unknown cell `ofwar-mcl`"));
    assert!(model("volt-tlc").contains("has 3 page types, flash.cell has 2"));
    assert!(model("mlc-2y").contains("one program step only"));
    let erase = "[[flash.erase_mode]]\nname = \"gentle\"\nderive = { erase_shift = 1.0 }\n";
    assert!(refused(erase).contains("has no model of erase wear"));
    let even = "[[flash.read_mode]]\nname = \"soft\"\nderive = { references = 2 }\n";
    assert!(refused(even).contains("expected an odd number"));
    let spare = "[flash]\nspare_size = \"128B\"\ncode = { kind = \"bch\", data = \"4KiB\", t = 110 }\n";
    assert!(refused(spare).contains("flash.code: the parity of 1 codewords needs 220 bytes"));
}

#[test]
fn a_measured_code_is_read_from_its_file() {
    let kept = r#"{"code": "ldpc-448B/4KiB", "soft": [{"soft_levels": 0, "points": [
        {"rber": 3e-3, "frames": 100000, "failed": 1}, {"rber": 5e-3, "frames": 10000, "failed": 5000}]}]}"#;
    let file = |path: &str| if path == "mine.json" { Ok(kept.to_owned()) } else { Err("no such file".to_owned()) };
    let read = |name: &str| {
        let text = format!("base = \"ofwar-64g\"\n[flash]\nmeasured_code = \"{name}\"\n{OFWAR}");
        Description::read_with("d.toml", &text, &[], &file)
    };
    let description = read("mine.json").unwrap_or_else(|problems| panic!("{problems}"));
    assert!(description.flash.write_modes[1].derivation.as_ref().is_some_and(|found| found.limit > 2e-3));
    assert!(description.flash.measured_code.is_none() && description.flash.code.is_some());
    let missing = read("other.json").expect_err("no file").to_string();
    assert!(missing.contains("d.toml:3: flash.measured_code: other.json: no such file"), "{missing}");
}

/// The code of the cell model must fit the spare area, and a derivation for less than the rated wear is reported in
/// `outside`.
#[test]
fn what_a_derived_mode_stands_on_is_checked() {
    let spare = format!("[flash]\nspare_size = \"16B\"\n{OFWAR}");
    assert!(refused(&spare).contains("flash.spare_size: the parity of 1 codewords needs 220 bytes"), "{}", refused(&spare));
    let young = OFWAR.replacen("at_pe_cycles = 10000", "at_pe_cycles = 100", 1);
    let description = read(&young).unwrap_or_else(|problems| panic!("{problems}"));
    let outside = &description.flash.write_modes[0].derivation.as_ref().expect("how it was found").outside;
    assert!(outside.iter().any(|text| text.contains("up to 100 cycles, blocks are rated for 10000")), "{outside:?}");
}

/// With fixed levels a worn cell has no margin for a shallower erase. Moved levels gain that margin at the cost of a
/// narrower step (autoFTL's trade-off).
#[test]
fn moved_levels_trade_the_step_for_the_depth_of_the_erase() {
    let mode = |more: &str| {
        format!("[[flash.write_mode]]\nname = \"normal\"\nderive = {{ retention = \"10y\", at_pe_cycles = 10000{more} }}\n")
    };
    assert!(refused(&mode(", erase_shift = 0.1")).contains("no program step keeps data correctable"));
    let of = |more: &str| read(&mode(more)).unwrap_or_else(|problems| panic!("{problems}")).flash.write_modes[0].clone();
    // At the nominal erase depth, moving the levels gains nothing.
    let (fixed, moved) = (of("").program_scale, of(", levels = \"moved\"").program_scale);
    assert!((fixed / moved - 1.0).abs() < 0.02, "{fixed} {moved}");
    let shallow = of(", levels = \"moved\", erase_shift = 0.1");
    assert!((1.3..1.7).contains(&shallow.program_scale), "{shallow:?}");
    let found = shallow.derivation.as_ref().expect("how it was found");
    assert!((found.error_rate / found.limit - 1.0).abs() < 0.01, "{found:?}");
    // The retention derived from that step is the same.
    let text = mode(", levels = \"moved\", erase_shift = 0.1").replace("retention = \"10y\"", &format!("step = {}", found.step));
    let limit = read(&text).unwrap_or_else(|problems| panic!("{problems}")).flash.write_modes[0].retention_at(0, 10_000);
    let years = limit.expect("a limit").0 as f64 / (10 * Nanos::YEAR.0) as f64;
    assert!((years - 1.0).abs() < 0.02, "{years}");
    assert!(refused(&mode(", levels = \"moved\", by_wear = true")).contains("by_wear: levels are moved for one wear"));
}
