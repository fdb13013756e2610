//! Embeds the version and a hash of the engine's sources, so that results and saved drives say which engine made them.
//!
//! The hash covers the sources of the engine's crates, the presets, the firmware's images and the lock file: a build
//! with local changes has its own.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that decide nothing about what a run gives. All others are part of the engine.
const TOOLS: [&str; 4] = ["bench", "capi", "serve", "testkit"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    collect(&root.join("presets"), "toml", &mut files);
    collect(&root.join("firmware"), "elf", &mut files);
    let crates = fs::read_dir(root.join("crates")).expect("this crate lies there");
    for folder in crates.map(|entry| entry.expect("its entries can be read").path()) {
        if !TOOLS.iter().any(|tool| folder.ends_with(tool)) {
            files.push(folder.join("Cargo.toml"));
            collect(&folder.join("src"), "rs", &mut files);
        }
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files.iter().filter(|file| file.exists()) {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("it was found below it");
        hash.update(name.to_string_lossy().replace('\\', "/").as_bytes());
        hash.update([0]);
        hash.update(fs::read(file).expect("a source file can be read"));
    }
    let hash: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=SSDLAB_BUILD={}+{hash}", env!("CARGO_PKG_VERSION"));
}

/// Adds the files with an extension in a folder and in the folders below it. The build is repeated when one is added.
fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
