//! Bad input in the section `ecc`, and in the fields of the flash that only reads with errors need: each message names
//! the line, the field, the value found and what is expected.

use drive::{Description, presets};
use kit::Problems;

const ERRORS: &str = "errors = { kind = \"constant\", rates = [1e-3] }";

/// Returns the problems of `tiny` with the lines of a section `ecc`, of which the first is line 3, and what follows.
fn refused(ecc: &str) -> Problems {
    let text = format!("base = \"tiny\"\n[ecc]\n{ecc}\n");
    Description::read("d.toml", &text, &[]).err().unwrap_or_else(|| panic!("accepted: {text}"))
}

/// Asserts that there is one problem, on a line, and that its message is `expected` or begins with it.
#[track_caller]
fn assert_refused(ecc: &str, line: u32, expected: &str) {
    let problems = refused(ecc);
    assert_eq!(problems.0.len(), 1, "{problems}");
    let (message, expected) = (problems.to_string(), format!("d.toml:{line}: {expected}"));
    assert!(message.starts_with(&expected), "{ecc}\nfound:    {message}\nexpected: {expected}");
}

#[track_caller]
fn assert_accepted(ecc: &str) {
    let read = Description::read("d.toml", &format!("base = \"tiny\"\n[ecc]\n{ecc}\n"), &[]);
    assert!(read.is_ok(), "{ecc}: {}", read.expect_err("refused"));
}

#[test]
fn sources_of_errors() {
    assert_refused(
        "erors = \"cell\"",
        3,
        "ecc: unknown field `erors`: expected one of errors, decoder, plan, read_levels, calib",
    );
    for (source, expected) in [
        ("\"cel\"", ": unknown name `cel`: expected one of none, cell, constant, table (did you mean `cell`?)"),
        ("{ kind = \"constnt\", rates = [1e-3] }", ": unknown name `constnt`: expected one of none, cell, constant, table"),
        ("\"constant\"", ".rates: missing: expected a list"),
        ("{ kind = \"constant\", rates = [] }", ".rates: 0 error rates: expected one, or 1, one for each page type"),
        ("{ kind = \"constant\", rates = [1e-3, 2e-3] }", ".rates: 2 error rates: expected one, or 1, one for each page type"),
        ("{ kind = \"constant\", rates = [0.51] }", ".rates: 0.51: expected an error rate from 0, at most 0.5"),
        ("{ kind = \"constant\", rates = [-1e-3] }", ".rates: -0.001: expected an error rate from 0, at most 0.5"),
        ("{ kind = \"constant\", rates = [nan] }", ".rates[0]: NaN: expected a number"),
        ("{ kind = \"constant\", rates = [1e-3], read_noise = 1.1 }", ".read_noise: 1.1: expected 0..=1"),
        ("{ kind = \"cell\", read_noise = -0.1 }", ".read_noise: -0.1: expected 0..=1"),
        ("{ kind = \"table\", rows = [], read_noise = nan }", ".read_noise: NaN: expected a number from 0 to 1"),
        ("{ kind = \"cell\", rates = [1e-3] }", ": unknown field `rates`: expected one of kind, model, temperature, variation"),
        ("{ kind = \"cell\", temperature = 151.0 }", ".temperature: 151: expected -40..=150"),
        ("{ kind = \"cell\", temperature = -41.0 }", ".temperature: -41: expected -40..=150"),
        ("{ kind = \"cell\", variation = 1 }", ".variation: 1: expected true or false"),
        ("{ kind = \"cell\", model = \"volt-sl\" }", ".model: unknown cell `volt-sl`: expected one of ofwar-mlc, rr-mlc"),
        (
            "{ kind = \"cell\", model = \"volt-tlc\" }",
            ".model: volt-tlc has 3 page types, flash.cell has 1: expected a model of the same cell",
        ),
    ] {
        assert_refused(&format!("errors = {source}"), 3, &format!("ecc.errors{expected}"));
    }
    assert!(refused("errors = { kind = \"cell\", model = \"volt-sl\" }").to_string().ends_with("(did you mean `volt-slc`?)"));
    for source in [
        "\"none\"\nplan = \"soft\"",
        "\"cell\"",
        "{ kind = \"constant\", rates = [0.0], read_noise = 1.0 }",
        "{ kind = \"constant\", rates = [0.5], read_noise = 0.0 }",
        "{ kind = \"cell\", temperature = 150.0 }",
    ] {
        assert_accepted(&format!("errors = {source}"));
    }
}

/// Returns a source that is a table with these rows.
fn table(rows: &str) -> String {
    format!("errors = {{ kind = \"table\", rows = [{rows}] }}")
}

#[test]
fn tables_of_errors() {
    let either = "ecc.errors: expected either `rows` or a `file` of measurements";
    let row = |cycles: &str, days: &str, rates: &str| format!("{{ pe_cycles = {cycles}, days = {days}, rates = [{rates}] }}");
    assert_refused("errors = \"table\"", 3, either);
    let both = table(&row("0.0", "0.0", "1e-4")).replace("rows", "file = \"x.csv\", rows");
    assert_refused(&both, 3, either);
    for (rows, expected) in [
        (row("0.0", "0.0", "0.0"), "[0].rates: 0: expected an error rate above 0, at most 0.5"),
        (row("0.0", "0.0", "0.6"), "[0].rates: 0.6: expected an error rate above 0, at most 0.5"),
        (row("0.0", "0.0", "1e-4, 1e-4"), "[0].rates: 2 error rates: expected one, or 1, one for each page type"),
        (row("-1.0", "0.0", "1e-4"), "[0].pe_cycles: -1: expected 0..=1000000000"),
        (row("0.0", "1e7", "1e-4"), "[0].days: 10000000: expected 0..=1000000"),
        ("{ pe_cycles = 0.0, rates = [1e-4] }".to_owned(), "[0].days: missing: expected a number from 0 to 1000000"),
        (
            [("0.0", "0.0"), ("0.0", "9.0"), ("50.0", "9.0")].map(|(cycles, days)| row(cycles, days, "1e-4")).join(", "),
            ": 50 cycles, 0 days: missing; expected every age at every wear",
        ),
        (
            [("0.0", "9.0"), ("0.0", "9.0")].map(|(cycles, days)| row(cycles, days, "1e-4")).join(", "),
            ": 0 cycles, 9 days: given more than once, expected once",
        ),
    ] {
        assert_refused(&table(&rows), 3, &format!("ecc.errors.rows{expected}"));
    }
    assert_accepted(&table(&row("0.0", "0.0", "1e-4")));
}

/// Reads `tiny` with a table of errors in a file with this text.
fn with_file(text: Result<&str, &str>) -> Result<Description, Problems> {
    let drive = "base = \"tiny\"\n[ecc]\nerrors = { kind = \"table\", file = \"x.csv\" }\n";
    let file = |name: &str| {
        assert_eq!(name, "x.csv");
        text.map(str::to_owned).map_err(str::to_owned)
    };
    Description::read_with("d.toml", drive, &[], &file)
}

#[test]
fn files_of_errors() {
    let columns = "x.csv:1: expected the columns pe_cycles, days, and one error rate for each page type, such as lsb, msb";
    for (text, expected) in [
        (Err("no such file"), ".file: x.csv: no such file"),
        (Ok(""), &*format!(".file: {columns}")),
        (Ok("cycles,days,lsb\n0,0,1e-4\n"), &*format!(".file: {columns}")),
        (Ok("pe_cycles,days\n0,0\n"), &*format!(".file: {columns}")),
        (Ok("pe_cycles,days,lsb\n"), ".file: x.csv: no measurements: expected at least one row"),
        (Ok("pe_cycles,days,lsb\n0,0,x\n"), ".file: x.csv:2: lsb = \"x\": expected a number"),
        (Ok("pe_cycles,days,lsb\n0,0,1e-4\n0,1\n"), ".file: x.csv:3: CSV error"),
        (
            Ok("pe_cycles,days,lsb\n0,0,1e-4\n0,9,1e-4\n50,9,1e-4\n"),
            ".rows: 50 cycles, 0 days: missing; expected every age at every wear",
        ),
        (Ok("pe_cycles,days,lsb,msb\n0,0,1e-4,1e-4\n"), ".rows[0].rates: 2 error rates: expected one, or 1, one for each page"),
        (Ok("pe_cycles,days,lsb\n0,0,1e-4\n0,9,0.7\n"), ".rows[1].rates: 0.7: expected an error rate above 0, at most 0.5"),
    ] {
        let problems = with_file(text).expect_err("a bad file");
        assert_eq!(problems.0.len(), 1, "{problems}");
        let expected = format!("d.toml:3: ecc.errors{expected}");
        assert!(problems.to_string().starts_with(&expected), "found:    {problems}\nexpected: {expected}");
    }
    // The resolved description has the rows in place of the file.
    let read = with_file(Ok("# mine\npe_cycles, days, lsb\n0, 0, 1e-4\n1000, 0, 1e-3\n"));
    let read = read.unwrap_or_else(|problems| panic!("{problems}"));
    let again = Description::read("again", &read.to_toml(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(read, again);
    assert!(read.to_toml().contains("pe_cycles = 1000.0"), "{}", read.to_toml());
}

#[test]
fn decoders() {
    for (decoder, expected) in [
        ("\"fast\"", ": unknown name `fast`: expected one of ideal, fixed, engines"),
        ("\"fixed\"", ".time: missing: expected a duration such as \"50us\""),
        ("{ kind = \"fixed\", time = 5 }", ".time: 5 has no unit: expected a duration such as \"50us\""),
        ("{ kind = \"fixed\", time = \"1001ms\" }", ".time: 1001ms: expected at most 1s"),
        ("{ kind = \"fixed\", time = \"1us\", decoders = 0 }", ".decoders: 0: expected 1..=1024"),
        ("{ kind = \"fixed\", time = \"1us\", decoders = 1025 }", ".decoders: 1025: expected 1..=1024"),
        ("{ kind = \"fixed\", time = \"1us\", threads = 2 }", ": unknown field `threads`: expected one of kind, time, decoders"),
        ("{ kind = \"engines\", shared = \"die\" }", ".shared: unknown value `die`: expected one of channel, drive"),
        ("{ kind = \"engines\", threads = 0 }", ".threads: 0: expected 1..=16"),
        ("{ kind = \"engines\", threads = 17 }", ".threads: 17: expected 1..=16"),
        ("{ kind = \"engines\", decoders = 1025 }", ".decoders: 1025: expected 1..=1024"),
        ("{ kind = \"engines\", decoder = \"turbo\" }", ".decoder: unknown name `turbo`: expected one of bch, ldpc"),
    ] {
        assert_refused(&format!("{ERRORS}\ndecoder = {decoder}"), 4, &format!("ecc.decoder{expected}"));
    }
    for (decoder, expected) in [
        ("kind = \"bch\", clock_hz = 999_999", ".clock_hz: 999999: expected 1000000..=10000000000"),
        ("kind = \"bch\", bits_per_cycle = 0", ".bits_per_cycle: 0: expected 1..=65536"),
        ("kind = \"bch\", cycles_per_error = 17", ".cycles_per_error: 17: expected 1..=16"),
        ("kind = \"bch\", clok_hz = 1", ": unknown field `clok_hz`: expected one of kind, clock_hz"),
        ("kind = \"ldpc\", least = 5", ": least, typical, most = 5, 4, 20: expected ascending numbers above zero"),
        ("kind = \"ldpc\", iteration = \"0ns\"", ".iteration: 0ns: expected a time above zero"),
        ("kind = \"ldpc\", iteration = \"2s\"", ".iteration: 2s: expected at most 1s"),
        (
            "kind = \"ldpc\", table = [{ ratio = 1.0, iterations = 21.0 }]",
            ".table: expected ratios that rise from 0 and iterations of 0..=20",
        ),
    ] {
        let engines = format!("{ERRORS}\ndecoder = {{ kind = \"engines\", decoder = {{ {decoder} }} }}");
        assert_refused(&engines, 4, &format!("ecc.decoder.decoder{expected}"));
    }
    for decoder in ["\"ideal\"", "\"engines\"", "{ kind = \"fixed\", time = \"1s\", decoders = 1024, shared = \"drive\" }"] {
        assert_accepted(&format!("{ERRORS}\ndecoder = {decoder}"));
    }
}

#[test]
fn plans() {
    for (plan, expected) in [
        ("\"retry\"", ": unknown name `retry`: expected one of none, read_retry, soft, nasd, sensing"),
        ("{ kind = \"read_retry\", steps = 0 }", ".steps: 0: expected 1..=64"),
        ("{ kind = \"read_retry\", steps = 65 }", ".steps: 65: expected 1..=64"),
        ("{ kind = \"read_retry\", steps_per_read = 0 }", ".steps_per_read: 0: expected 1..=64"),
        ("{ kind = \"read_retry\", reduction = 1.0 }", ".reduction: 1: expected 0..=0.99"),
        ("{ kind = \"read_retry\", reduction = nan }", ".reduction: NaN: expected a number from 0 to 0.99"),
        ("{ kind = \"read_retry\", sense_scale = 0.0 }", ".sense_scale: 0: expected 0.001..=1000"),
        ("{ kind = \"read_retry\", step_time = \"2MB\" }", ".step_time: \"2MB\": unknown unit `MB`: expected a duration"),
        ("{ kind = \"read_retry\", step_time = \"1001ms\" }", ".step_time: 1001ms: expected at most 1s"),
        ("{ kind = \"sensing\", alpha = \"2s\" }", ".alpha: 2s: expected at most 1s"),
        ("{ kind = \"read_retry\", steps = 2, shifts_mv = [1] }", ".shifts_mv: 1 shifts: expected one for each of 2 steps"),
        (
            "{ kind = \"read_retry\", levels = 2 }",
            ": unknown field `levels`: expected one of kind, steps, steps_per_read, reduction",
        ),
        ("{ kind = \"soft\", levels = 0 }", ".levels: 0: expected 1..=64"),
        ("{ kind = \"nasd\", levels = 65 }", ".levels: 65: expected 1..=64"),
        ("{ kind = \"sensing\", references = [3, 1] }", ".references: [3, 1]: expected one to 64 numbers of 1..=255"),
        ("{ kind = \"sensing\", references = [] }", ".references: []: expected one to 64 numbers of 1..=255"),
        ("{ kind = \"sensing\", references = [256] }", ".references: [256]: expected one to 64 numbers of 1..=255"),
        ("{ kind = \"sensing\", alpha = \"0ns\" }", ".alpha: 0ns: expected a time above zero"),
    ] {
        assert_refused(&format!("{ERRORS}\nplan = {plan}"), 4, &format!("ecc.plan{expected}"));
    }
    // The code of `tiny` is BCH, which decodes hard decisions only.
    for (plan, is_soft) in [("\"soft\"", true), ("\"nasd\"", true), ("\"sensing\"", true), ("\"read_retry\"", false)] {
        let ecc = format!("{ERRORS}\nplan = {plan}");
        if is_soft {
            assert_refused(&ecc, 4, "ecc.plan: the code is BCH, for which soft levels correct nothing more");
        } else {
            assert_accepted(&ecc);
        }
    }
    assert_accepted(&format!("{ERRORS}\nplan = {{ kind = \"sensing\", references = [1] }}"));
    assert_refused(
        &format!("{ERRORS}\ndecoder = {{ kind = \"engines\", decoder = {{ kind = \"ldpc\" }} }}"),
        4,
        "ecc.decoder.decoder: `ldpc` does not decode the drive's code: expected kind = \"bch\"",
    );
    // A hold without repeated reads, and hold and order of delivery without errors.
    assert_refused(&format!("{ERRORS}\nretries_hold = \"die\""), 4, "ecc.retries_hold: no read is repeated");
    assert_refused(
        &format!("{ERRORS}\nplan = \"read_retry\"\nretries_hold = \"bus\""),
        5,
        "ecc.retries_hold: unknown value `bus`: expected one of nothing, die, channel",
    );
    let back = "plan = \"read_retry\"\nretry_place = \"back\"";
    assert_refused(&format!("{ERRORS}\n{back}\nretries_hold = \"die\""), 5, "ecc.retry_place: no repetition of a read waits");
    assert_refused(&format!("{ERRORS}\nretry_place = \"back\""), 4, "ecc.retry_place: no repetition of a read waits");
    for field in ["retries_hold = \"die\"", "delivery = \"in_order\"", "retry_place = \"back\""] {
        let name = field.split(' ').next().expect("a name");
        assert_refused(field, 3, &format!("ecc.{name}: has no effect without errors"));
    }
    // A read mode has a number of eight bits, and each attempt in each mode of the table has one.
    let modes = |count: u32| (0..count).map(|mode| format!("[[flash.read_mode]]\nname = \"m{mode}\"\n")).collect::<String>();
    let plan =
        |steps: u32, count: u32| format!("{ERRORS}\nplan = {{ kind = \"read_retry\", steps = {steps} }}\n{}", modes(count));
    assert_refused(&plan(64, 4), 4, "ecc.plan: 260 kinds of read, 4 read modes with 65 attempts each: expected at most 256");
    assert_accepted(&plan(63, 4));
}

#[test]
fn read_levels_and_calibration() {
    let modes = |second: &str| {
        format!("[[flash.read_mode]]\nname = \"quick\"\ncorrects = 1e-3\n[[flash.read_mode]]\nname = \"slow\"\n{second}\n")
    };
    assert_refused(
        &format!("{ERRORS}\nread_levels = \"by_rate\""),
        4,
        "ecc.read_levels: unknown value `by_rate`: expected one of by_write_mode, by_error_rate, progressive",
    );
    for levels in ["by_error_rate", "progressive"] {
        let levels = format!("{ERRORS}\nread_levels = \"{levels}\"\n");
        let expected = |stated: u32| {
            format!(
                "ecc.read_levels: the flash has {stated} read modes that state what they correct: expected two at least in flash.read_mode"
            )
        };
        assert_refused(&levels, 4, &expected(0));
        assert_refused(&format!("{levels}{}", modes("")), 4, &expected(1));
        assert_accepted(&format!("{levels}{}", modes("corrects = 2e-3")));
        assert_refused(&format!("{levels}{}", modes("corrects = 0.6")), 10, "flash.read_mode[1].corrects: 0.6: expected 0..=0.5");
    }
    let no_levels = "ecc.calibration: the plan has no read levels to keep: expected plan = \"read_retry\"";
    assert_refused(&format!("{ERRORS}\ncalibration = true"), 4, no_levels);
    assert_refused(&format!("{ERRORS}\nplan = \"soft\"\ncalibration = true"), 5, no_levels);
    assert_refused(&format!("{ERRORS}\ncalibration = 1"), 4, "ecc.calibration: 1: expected true or false");
    assert_accepted(&format!("{ERRORS}\nplan = \"read_retry\"\ncalibration = true"));
}

#[test]
fn fields_without_effect_where_data_has_no_errors() {
    for field in ["plan = \"soft\"", "decoder = \"engines\"", "read_levels = \"progressive\"", "calibration = true"] {
        let name = field.split(' ').next().expect("a name");
        let expected = format!("ecc.{name}: has no effect without errors: expected a source in ecc.errors, such as \"cell\"");
        assert_refused(field, 3, &expected);
    }
    let problems = refused("calibration = true\nplan = \"read_retry\"\ndecoder = \"engines\"");
    assert_eq!(problems.0.len(), 3, "all at once: {problems}");
}

#[test]
fn codes() {
    let flash = |lines: &str| format!("{ERRORS}\n[flash]\n{lines}");
    let bch = |data: &str| flash(&format!("page_size = \"24KiB\"\ncode = {{ kind = \"bch\", data = \"{data}\", t = 60 }}"));
    for data in ["8KiB", "3KiB", "6KiB"] {
        let expected = format!("flash.code.data: {data}: expected a size that divides 4KiB, a mapping unit, or up to 6 % more");
        assert_refused(&bch(data), 6, &expected);
    }
    for data in ["4KiB", "2KiB", "512B"] {
        assert_accepted(&bch(data));
    }
    // 60 errors in a field of 2^16: 120 bytes for each of six codewords.
    let spare = |bytes: u32| bch("4KiB").replace("24KiB\"", &format!("24KiB\"\nspare_size = \"{bytes}B\""));
    assert_accepted(&spare(720));
    assert_refused(
        &spare(719),
        7,
        "flash.code: the parity of 6 codewords needs 720 bytes of spare area and a page has 719, 1 too",
    );
    // The model's own code: 220 bytes of parity. It needs space only where reads can fail.
    for source in [ERRORS, "errors = \"cell\""] {
        let spare = |bytes: u32| format!("{source}\n[flash]\nspare_size = \"{bytes}B\"");
        assert_accepted(&spare(220));
        assert_refused(
            &spare(219),
            5,
            "flash.spare_size: the parity of 1 codewords needs 220 bytes of spare area and a page has 219",
        );
    }
    assert_accepted("errors = \"none\"\n[flash]\nspare_size = \"128B\"");
}

/// The codes of some models protect metadata beside the data of a mapping unit, 14 B beside 1 KiB or 24 B beside 4 KiB.
#[test]
fn every_model_of_the_laboratory_gives_errors_with_its_own_code() {
    for name in lab::parts::names() {
        let part = lab::parts::find("cell_model", name).unwrap_or_else(|problems| panic!("{problems}"));
        let (cell, pages) = [("slc", 64), ("mlc", 64), ("tlc", 66), ("qlc", 64)][part.device.technology.page_types() - 1];
        let flash = format!("cell = \"{cell}\"\npages_per_block = {pages}\ncell_model = \"{name}\"");
        assert_accepted(&format!("errors = \"cell\"\n[flash]\n{flash}\n[[flash.write_mode]]\nname = \"normal\""));
    }
}

#[test]
fn models_of_the_cell() {
    let cell = "errors = \"cell\"";
    assert_refused(
        &format!("{cell}\n[flash]\ncell = \"mlc\"\ncell_model = \"volt-tlc\""),
        6,
        "flash.cell_model: volt-tlc has 3 page types, flash.cell has 2: expected a model of the same cell",
    );
    let mode = |model: &str| format!("[[flash.write_mode]]\nname = \"normal\"\ncell_model = \"{model}\"");
    assert_refused(
        &format!("{cell}\n{}", mode("volt-tlc")),
        6,
        "flash.write_mode[0].cell_model: `normal` stores 1 bits per cell, and volt-tlc is a model with 3 page types: expected",
    );
    for errors in ["", cell, ERRORS] {
        assert_refused(&format!("{errors}\n{}", mode("volt-sl")), 6, "flash.write_mode[0].cell_model: unknown cell `volt-sl`");
    }
    // A mode with fewer bits in the cell needs the model of such a cell.
    let tlc = "[flash]\ncell = \"tlc\"\npages_per_block = 66\none_shot = true\ncell_model = \"volt-tlc\"";
    let fewer = "[[flash.write_mode]]\nname = \"normal\"\n[[flash.write_mode]]\nname = \"slc\"\nbits_per_cell = 1";
    assert_refused(
        &format!("{cell}\n{tlc}\n{fewer}"),
        11,
        "flash.write_mode[1].cell_model: `slc` stores 1 bits per cell, and volt-tlc is a model with 3 page types: expected",
    );
    assert_accepted(&format!("{cell}\n{tlc}\n{fewer}\ncell_model = \"volt-slc\""));
    // A program time that no step of the model has.
    let fast = "[[flash.write_mode]]\nname = \"normal\"\n[[flash.write_mode]]\nname = \"fast\"\nprogram_scale = 0.001";
    assert_refused(&format!("{cell}\n{fast}"), 6, "flash.write_mode[1]: the program step of the write mode `fast` is not known");
}

#[test]
fn a_drive_without_model_or_code() {
    let tiny = presets::find("tiny").expect("a preset").text;
    let tiny: String = tiny.lines().filter(|line| !line.starts_with("cell_model")).map(|line| format!("{line}\n")).collect();
    let header = tiny.lines().position(|line| line == "[flash]").expect("a section") + 1;
    let read = |errors: &str, code: &str| {
        let text = tiny.replace("[flash]\n", &format!("[flash]\n{code}")) + "[ecc]\n" + errors + "\n";
        Description::read("d.toml", &text, &[])
    };
    let code = "code = { kind = \"bch\", data = \"4KiB\", t = 100 }\n";
    let no_code = "flash.code: missing: reads can fail; expected a code, or flash.cell_model with its own";
    let no_model =
        "flash.cell_model: missing: stored data has the errors of the cell; expected the model of the cell, one of ofwar";
    for (errors, code, expected) in [
        (ERRORS, "", &[no_code][..]),
        ("errors = { kind = \"cell\", model = \"volt-slc\" }", "", &[no_code]),
        ("errors = \"cell\"", code, &[no_model]),
        ("errors = \"cell\"", "", &[no_model, no_code]),
    ] {
        let problems = read(errors, code).expect_err(errors);
        assert_eq!(problems.0.len(), expected.len(), "{problems}");
        for (line, expected) in problems.to_string().lines().zip(expected) {
            assert!(line.starts_with(&format!("d.toml:{header}: {expected}")), "{line}");
        }
    }
    assert!(read(ERRORS, code).is_ok() && read("errors = { kind = \"cell\", model = \"volt-slc\" }", code).is_ok());
}
