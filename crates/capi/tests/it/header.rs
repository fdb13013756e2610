//! The header and the library agree: signatures, numbers, and the layout of records.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use ssdlab::{
    ABI_VERSION, ByteBuffer, ChunkRecord, CommandRecord, CompletionRecord, GeometryRecord, Options, RecoveryRecord, Status,
    ZoneRecord,
};

const HEADER: &str = include_str!("../../include/ssdlab.h");
const FUNCTIONS: &str = include_str!("../../src/abi.rs");

/// Types of the library, and the types of C that stand for them.
const TYPES: [(&str, &str); 23] = [
    ("*const Options", "const ssdlab_options *"),
    ("*mut *mut Handle", "ssdlab_drive **"),
    ("*mut Handle", "ssdlab_drive *"),
    ("*const Handle", "const ssdlab_drive *"),
    ("*mut ByteBuffer", "ssdlab_bytes *"),
    ("*const CommandRecord", "const ssdlab_command *"),
    ("*mut CompletionRecord", "ssdlab_completion *"),
    ("*mut ZoneRecord", "ssdlab_zone *"),
    ("*mut ChunkRecord", "ssdlab_chunk *"),
    ("*mut GeometryRecord", "ssdlab_geometry *"),
    ("*mut RecoveryRecord", "ssdlab_recovery *"),
    ("*const u64", "const uint64_t *"),
    ("*const c_char", "const char *"),
    ("*const c_void", "const void *"),
    ("*mut c_void", "void *"),
    ("*mut u64", "uint64_t *"),
    ("*mut u32", "uint32_t *"),
    ("u64", "uint64_t "),
    ("u32", "uint32_t "),
    ("i32", "int32_t "),
    ("Status", "ssdlab_status "),
    ("()", "void "),
    ("", "void "),
];

fn c_type(rust: &str) -> &'static str {
    let known = TYPES.iter().find(|(name, _)| *name == rust.trim());
    known.unwrap_or_else(|| panic!("the type `{rust}` has no counterpart in C")).1
}

/// Joins a text that is broken over several lines.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")").replace(",)", ")")
}

/// Returns the prototypes in C of the functions that the library exports, by name.
fn exported() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for part in FUNCTIONS.split("#[unsafe(no_mangle)]").skip(1) {
        let signature = joined(part.split_once('{').expect("a body follows").0);
        let (_, rest) = signature.split_once("extern \"C\" fn ").expect("a function of C");
        let (name, rest) = rest.split_once('(').expect("parameters");
        let (parameters, result) = rest.rsplit_once(')').expect("their end");
        let parameters: Vec<String> = parameters
            .split(", ")
            .filter_map(|one| one.split_once(": "))
            .map(|(name, kind)| format!("{}{name}", c_type(kind)))
            .collect();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let result = c_type(result.trim().trim_start_matches("-> "));
        all.insert(name.to_owned(), format!("{result}{name}({parameters});"));
    }
    all
}

fn without_comments() -> String {
    let mut text = HEADER.to_owned();
    while let (Some(begin), Some(end)) = (text.find("/*"), text.find("*/")) {
        text.replace_range(begin..end + 2, "");
    }
    text
}

/// Returns the prototypes of the header, by name.
fn declared() -> BTreeMap<String, String> {
    let text = without_comments();
    let lines = text.lines().filter(|line| line.ends_with(");"));
    lines
        .map(|line| {
            let name = line.split('(').next().and_then(|head| head.split([' ', '*']).next_back()).expect("a name");
            (name.to_owned(), joined(line))
        })
        .collect()
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let (declared, exported) = (declared(), exported());
    assert!(exported.len() >= 28, "{}", exported.len());
    assert_eq!(declared, exported);
}

/// Returns a program in C that fails to compile unless the numbers and layouts of the header are those of the library.
fn program() -> String {
    let mut text = "#include <stddef.h>\n#include \"ssdlab.h\"\n".to_owned();
    let mut agree = |what: String, value: u64| {
        let number = text.lines().count();
        writeln!(text, "typedef char check_{number}[({what}) == {value}u ? 1 : -1];").expect("a string grows");
    };
    agree("SSDLAB_ABI_VERSION".to_owned(), ABI_VERSION.into());
    for (name, value) in [
        ("READ", 0),
        ("WRITE", 1),
        ("TRIM", 2),
        ("FLUSH", 3),
        ("APPEND", 4),
        ("ZONE", 5),
        ("ALL_ZONES", 2),
        ("ZONE_RESET", 0x40),
        ("FUA", 1),
        ("CAUSES", 1),
        ("HISTORY", 2),
        ("OPEN_LOOP", 4),
    ] {
        agree(format!("SSDLAB_{name}"), value);
    }
    agree("SSDLAB_FOREVER == UINT64_MAX".to_owned(), 1);
    for status in Status::ALL {
        let name = format!("{status:?}");
        let words = name
            .char_indices()
            .map(|(at, letter)| if at > 0 && letter.is_uppercase() { format!("_{letter}") } else { letter.to_string() });
        let name = words.collect::<String>().to_uppercase();
        agree(format!("SSDLAB_{}{name}", if status == Status::Ok { "" } else { "ERR_" }), status as u64);
    }
    macro_rules! layout {
        ($record:ty, $name:literal, $($field:ident)+) => {
            agree(format!("sizeof({})", $name), size_of::<$record>() as u64);
            $(agree(format!("offsetof({}, {})", $name, stringify!($field)), offset_of!($record, $field) as u64);)+
            let fields = [$(stringify!($field)),+];
            // Every field of the record in the header is compared.
            let (header, begin) = (without_comments(), format!("struct {} {{", $name));
            let body = header.split(&begin).nth(1).and_then(|rest| rest.split('}').next()).expect("a record");
            assert_eq!(body.matches(';').count(), fields.len(), "{}", $name);
        };
    }
    layout!(Options, "ssdlab_options", size abi flags seed preset path description name policy precondition host overrides override_count streams stream_count contents contents_folder);
    layout!(CommandRecord, "ssdlab_command", offset length tag queue stream op flags reserved);
    layout!(CompletionRecord, "ssdlab_completion", submitted completed offset length tag queue stream op flags media_error reserved status);
    layout!(ZoneRecord, "ssdlab_zone", start capacity write_pointer state reserved);
    layout!(ChunkRecord, "ssdlab_chunk", start write_pointer erases state reserved);
    layout!(RecoveryRecord, "ssdlab_recovery", recovery recovery_reads durable_lost volatile_lost torn_pages);
    layout!(GeometryRecord, "ssdlab_geometry", groups dies_per_group chunks_per_die chunk_units unit_bytes ws_min ws_opt mw_cunits max_open max_open_per_die);
    layout!(ByteBuffer, "ssdlab_bytes", data size);
    text
}

/// Compiles a program with a compiler, without running it.
fn compiles(compiler: &[&str], text: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("layout.{}", compiler[1]));
    std::fs::write(&source, text).expect("the folder of the tests can be written");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut command = Command::new(compiler[0]);
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]).args(&compiler[2..]).arg("-I").arg(include);
    let done = command.arg(&source).output().unwrap_or_else(|error| panic!("{}: {error}", compiler[0]));
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

#[test]
fn numbers_and_layouts_are_the_same_in_c_and_in_cpp() {
    let text = program();
    let use_options = "ssdlab_options check_options(void);\nssdlab_options check_options(void) { ssdlab_options options = SSDLAB_OPTIONS_INIT; return options; }\n";
    let text = text + use_options;
    for compiler in [["cc", "c", "-std=c99"], ["cc", "c", "-std=c11"], ["c++", "cpp", "-std=c++11"]] {
        compiles(&compiler, &text).unwrap_or_else(|errors| panic!("{compiler:?}: {errors}"));
    }
    // The comparison can fail.
    let changed = text.replacen("sizeof(ssdlab_command)) == 32u", "sizeof(ssdlab_command)) == 40u", 1);
    assert_ne!(changed, text);
    assert!(compiles(&["cc", "c", "-std=c99"], &changed).is_err());
}
