//! The examples in C and SystemC give the results of the run loop.

use drive::session::{Files, RunRequest, run};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use workload::{Input, Options};

/// Number of commands, commands in flight and size of a block in `examples/c/load.h`.
const COMMANDS: u64 = 20_000;
const DEPTH: u32 = 32;
const BLOCK: u64 = 4096;

/// Returns the folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder of the libraries that belong to this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    test.parent().expect("it lies in a folder").to_owned()
}

/// Returns 64 random bits for a number, as the load of the examples does (splitmix64).
fn random_bits(number: u64) -> u64 {
    let mut z = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the summary of the load of the examples in the run loop.
fn in_the_run_loop() -> Value {
    let preset = drive::presets::find("tiny").expect("a preset");
    let request = RunRequest::new(preset.name, preset.text)
        .sets(&["flash.channels=4", "title=tiny, with 4 channels"])
        .precondition("steady");
    let user_bytes = drive::session::description(&request.drive, &request.setup, &|_| Err(String::new()))
        .unwrap_or_else(|problems| panic!("{problems}"))
        .user_bytes();
    let mut text = String::new();
    for number in 0..COMMANDS {
        let op = if random_bits(2 * number) % 10 < 7 { "R" } else { "W" };
        writeln!(text, "0,{op},{},{BLOCK}", random_bits(2 * number + 1) % (user_bytes / BLOCK) * BLOCK).expect("a string grows");
    }
    let columns = Some("time=1:ns,op=2,offset=3:B,size=4:B".to_owned());
    let options = Options { columns, replay: Some(format!("closed:{DEPTH}")), ..Options::default() };
    let request = request.workload(options);
    let outcome = run(&request, &Input::text("load", text), Files::default(), &mut |_| true);
    outcome.unwrap_or_else(|problems| panic!("{problems}")).summary
}

/// Compiles a program with these arguments, runs it, and returns its output and the summary that it has written.
fn run_program(name: &str, compiler: &[&str]) -> (String, Value) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (program, summary) = (folder.join(name), folder.join(format!("{name}.json")));
    let mut command = Command::new(compiler[0]);
    command.args(["-Wall", "-Wextra", "-Werror", "-O1", "-I", "crates/capi/include", "-I", "examples/c"]);
    let done = command.args(&compiler[1..]).arg("-o").arg(&program).current_dir(root()).output();
    let done = done.unwrap_or_else(|error| panic!("{}: {error}", compiler[0]));
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(&program).arg(&summary).output().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(&summary).expect("it was written");
    (String::from_utf8(done.stdout).expect("UTF-8"), serde_json::from_str(&text).expect("JSON"))
}

#[track_caller]
fn assert_same(name: &str, mut found: Value, mut expected: Value) {
    for summary in [&mut found, &mut expected] {
        for key in ["wall_s", "workload"] {
            summary.as_object_mut().expect("an object").shift_remove(key);
        }
    }
    assert_eq!(testkit::differences(&expected, &found), [], "{name}");
    assert_eq!(found["latency"]["all"]["count"], COMMANDS, "{name}");
}

#[test]
fn the_example_in_c_gives_the_results_of_the_run_loop() {
    let expected = in_the_run_loop();
    let folder = libraries();
    let (shared, archive) = (folder.join("libssdlab.so"), folder.join("libssdlab.a"));
    let run_path = format!("-Wl,-rpath,{}", folder.display());
    let [shared, archive] = [&shared, &archive].map(|path| path.to_str().expect("UTF-8"));
    let source = "examples/c/closed_loop.c";
    let with_shared = run_program("closed_loop", &["cc", "-std=c99", source, shared, &run_path]);
    let with_archive = run_program("closed_loop_static", &["cc", "-std=c99", source, archive, "-lpthread", "-ldl", "-lm"]);
    assert_eq!(with_shared.0, with_archive.0);

    let mut lines = with_shared.0.lines();
    let (simulated, latency) = (&expected["simulated_ns"], expected["latency"]["all"]["mean_ns"].as_f64().expect("a number"));
    let first = format!("commands {COMMANDS}, simulated {simulated} ns, mean latency {} ns", latency.floor());
    assert_eq!(lines.next(), Some(first.as_str()));
    let causes: f64 = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum();
    assert!((causes - latency).abs() < 1.0, "the causes add up to the latency: {causes} {latency}");
    assert_same("shared", with_shared.1, expected.clone());
    assert_same("static", with_archive.1, expected);
}

/// The program in the documentation compiles, and does what the page says.
#[test]
fn the_example_of_the_page_reads_a_block() {
    let page = std::fs::read_to_string(root().join("docs/reference/c.md")).expect("the page exists");
    let text = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("page.c"), folder.join("page"));
    std::fs::write(&source, text).expect("the folder of the tests can be written");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I", "crates/capi/include"]).current_dir(root());
    let done = command.arg(&source).arg(libraries().join("libssdlab.a")).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    let done = done.output().unwrap_or_else(|error| panic!("cc: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(&program).output().unwrap_or_else(|error| panic!("page: {error}"));
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    let latency: u64 =
        printed.strip_suffix(" ns\n").and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
    assert!((50_000..100_000).contains(&latency), "a read takes 50 us and its way: {latency}");
}

/// SystemC is not installed everywhere. Without its header the example is not compiled, and the test says so.
#[test]
fn the_example_in_systemc_gives_the_results_of_the_run_loop() {
    let probe = Command::new("c++").args(["-include", "systemc", "-fsyntax-only", "-x", "c++", "/dev/null"]).output();
    if !probe.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: the compiler does not find the header of SystemC");
        return;
    }
    let archive = libraries().join("libssdlab.a");
    let archive = archive.to_str().expect("UTF-8");
    let source = "examples/systemc/closed_loop.cpp";
    let compiler = ["c++", "-std=c++17", source, archive, "-lsystemc", "-lpthread", "-ldl", "-lm"];
    let (_, summary) = run_program("closed_loop_systemc", &compiler);
    assert_same("SystemC", summary, in_the_run_loop());
}

/// SQLite's header is not installed everywhere. Without it the example is not compiled, and the test says so.
#[test]
fn the_example_with_sqlite_loses_nothing() {
    let probe = Command::new("cc").args(["-include", "sqlite3.h", "-fsyntax-only", "-x", "c", "/dev/null"]).output();
    if !probe.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: the compiler does not find the header of SQLite");
        return;
    }
    let (program, archive) = (Path::new(env!("CARGO_TARGET_TMPDIR")).join("sqlite_on_drive"), libraries().join("libssdlab.a"));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I", "crates/capi/include", "-I", "examples/c"]);
    command.arg("examples/c/sqlite_on_drive.c").arg(archive).args(["-lsqlite3", "-lpthread", "-ldl", "-lm", "-o"]);
    let done = command.arg(&program).current_dir(root()).output().unwrap_or_else(|error| panic!("cc: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(&program).args(["20", "11"]).output().unwrap_or_else(|error| panic!("sqlite_on_drive: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    for journal in ["delete", "wal"] {
        let cuts =
            printed.lines().find_map(|line| line.strip_prefix(&format!("{journal}: "))?.strip_suffix(" cuts, nothing lost"));
        let cuts: u64 = cuts.and_then(|cuts| cuts.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
        assert!(cuts > 50, "{printed}");
    }
    let refused = Command::new(&program).args(["0"]).output().unwrap_or_else(|error| panic!("sqlite_on_drive: {error}"));
    assert_eq!(refused.status.code(), Some(2));
}
