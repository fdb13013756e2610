//! Gives every input of the corpora in `fuzz/corpus` to the check of its target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Largest input of a corpus, and largest corpora together \[bytes\].
const INPUT_MAX: u64 = 32 << 10;
const ALL_MAX: u64 = 1 << 20;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the names in a folder, in order.
fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let names = entries.map(|entry| entry.expect("a folder that can be read").file_name().to_string_lossy().into_owned());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn every_input_passes_the_check_of_its_target() {
    let mut all = 0;
    for target in fuzzing::TARGETS {
        let corpus = folder().join("corpus").join(target.name);
        let inputs = names(&corpus);
        assert!(inputs.len() >= 2, "{}: {} inputs: expected a text and a value at least", target.name, inputs.len());
        let mut typed = 0;
        for name in inputs {
            let input = std::fs::read(corpus.join(&name)).expect("a file that can be read");
            assert!(input.len() as u64 <= INPUT_MAX, "{}/{name}: {} bytes", target.name, input.len());
            all += input.len() as u64;
            typed += u32::from(input.first() == Some(&fuzzing::TYPED));
            // The harness prints the output of a test that fails: its last line is the input.
            println!("{}/{name}", target.name);
            (target.check)(&input);
        }
        assert!(typed > 0, "{}: no value in its corpus", target.name);
    }
    assert!(all <= ALL_MAX, "{all} bytes in all corpora: expected at most {ALL_MAX}");
}

/// Each check has a target for the fuzzer, and the other way round.
#[test]
fn checks_and_targets_are_the_same() {
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).expect("the manifest");
    for target in fuzzing::TARGETS {
        let source = std::fs::read_to_string(folder().join(format!("fuzz_targets/{}.rs", target.name))).expect("a target");
        assert!(source.contains("fuzz_target!(|input: &[u8]| fuzzing::"), "{source}");
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{} in the manifest", target.name);
    }
    let sources = names(&folder().join("fuzz_targets"));
    assert_eq!(sources.len(), fuzzing::TARGETS.len(), "{sources:?}");
}
