//! The rule of plugging in: no code asks for a member of a family by its name, but the member's own file. What the
//! engine needs to know of a member is asked of its contract.

use std::fs;
use std::path::{Path, PathBuf};

/// Names of the members of all families, and of the write mode that every drive has.
fn names() -> Vec<&'static str> {
    let families: [&[&str]; 9] = [
        ftl::PolicyConfig::NAMES,
        ftl::VictimConfig::NAMES,
        ftl::WearConfig::NAMES,
        ftl::TranslationConfig::NAMES,
        flash::scheduler::SchedulerConfig::NAMES,
        host::interface::InterfaceConfig::NAMES,
        controller::firmware::FirmwareConfig::NAMES,
        controller::interconnect::InterconnectConfig::NAMES,
        controller::memory::MemoryConfig::NAMES,
    ];
    families.concat().into_iter().chain([kit::NORMAL_MODE]).collect()
}

/// Adds the Rust files below a folder, without tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources").map(|entry| entry.expect("readable").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if entry.is_dir() && name != "tests" {
            sources(&entry, files);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(entry);
        }
    }
}

/// Returns the members that a line of code compares a name with, or has an arm of a match for.
fn compared<'a>(line: &str, names: &[&'a str]) -> Vec<&'a str> {
    let code = line.split("//").next().unwrap_or_default();
    let is_compared = |name: &&&str| {
        let literal = format!("\"{name}\"");
        code.match_indices(&literal).any(|(at, _)| {
            let (before, after) = (code[..at].trim_end(), code[at + literal.len()..].trim_start());
            let asks = |word: &&str| before.ends_with(word) || after.starts_with(word);
            ["==", "!=", "|"].iter().any(asks) || after.starts_with("=>")
        })
    };
    names.iter().filter(is_compared).copied().collect()
}

/// Returns true if a file is that of the member: it has its name, or is in a folder of its name.
fn is_own(file: &Path, name: &str) -> bool {
    file.components().any(|part| Path::new(part.as_os_str()).file_stem().is_some_and(|stem| stem == name))
}

#[test]
fn no_code_asks_for_a_member_by_its_name() {
    let names = names();
    assert!(names.len() > 40, "{names:?}");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of the crates");
    let mut files = Vec::new();
    // The random descriptions of `testkit` have members of all families, by their names.
    for engine in ["kit", "flash", "ftl", "host", "controller", "drive", "testkit"] {
        sources(&crates.join(engine).join("src"), &mut files);
    }
    assert!(files.len() > 250, "{} files", files.len());
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_own(file, "describe")) {
        let text = fs::read_to_string(file).expect("readable");
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()) {
            let other = compared(line, &names).into_iter().filter(|name| !is_own(file, name));
            found.extend(other.map(|name| format!("{}:{number}: `{name}`", file.display())));
        }
    }
    assert!(found.is_empty(), "ask the member's contract instead:\n{}", found.join("\n"));
}

#[test]
fn a_comparison_is_found() {
    let names = ["ofwar", "ideal"];
    assert_eq!(compared("if policy.kind == \"ofwar\" {", &names), ["ofwar"]);
    assert_eq!(compared("x.filter(|name| \"ideal\" != *name)", &names), ["ideal"]);
    assert_eq!(compared("\"ofwar\" | \"agcr\" => true,", &names), ["ofwar"]);
    assert_eq!(compared("let text = \"ofwar\"; // == \"ideal\"", &names), <[&str; 0]>::default());
}
