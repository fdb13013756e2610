//! Executables that are read, and those that are refused.

use super::executable::write;
use crate::{Function, Image, Segment};
use kit::Rng;

fn image() -> Image {
    let segment =
        |address, bytes, memory_bytes, executable| Segment { address, bytes, memory_bytes, executable, writable: !executable };
    let function = |name: &str, address, bytes| Function { name: name.to_owned(), address, bytes };
    Image {
        entry: 0x1004,
        segments: vec![
            segment(0x1000, vec![0x13, 0, 0, 0, 0x73, 0, 0, 0], 8, true),
            segment(0x8000_0010, vec![1, 2, 3], 0x20, false),
        ],
        functions: vec![function("start", 0x1000, 4), function("main", 0x1004, 4)],
    }
}

/// Returns the error of an executable in which `change` was made.
fn error(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut file = write(&image());
    change(&mut file);
    Image::read(&file).expect_err("refused")
}

#[test]
fn an_executable_is_read() {
    assert_eq!(Image::read(&write(&image())), Ok(image()));
    let stripped = Image { functions: Vec::new(), ..image() };
    assert_eq!(Image::read(&write(&stripped)), Ok(stripped));
    let found = |pc| image().function_at(pc).map(|function| function.name.clone());
    assert_eq!(
        [found(0xfff), found(0x1002), found(0x1004), found(0x1008)].map(|name| name.unwrap_or_default()),
        ["", "start", "main", ""]
    );
}

#[test]
fn functions_without_a_size_end_at_the_next() {
    let mut unsized_functions = image();
    unsized_functions.functions.iter_mut().for_each(|function| function.bytes = 0);
    unsized_functions.functions.push(Function { name: "alias".to_owned(), address: 0x1004, bytes: 0 });
    let functions = Image::read(&write(&unsized_functions)).expect("valid").functions;
    let found: Vec<(&str, u32)> = functions.iter().map(|function| (function.name.as_str(), function.bytes)).collect();
    assert_eq!(found, [("start", 4), ("alias", u32::MAX - 0x1004)]);
}

#[test]
fn other_files_are_refused() {
    assert_eq!(Image::read(b"").expect_err("empty"), "not an ELF file: expected one that begins with 7f 45 4c 46");
    assert_eq!(error(|file| file[0] = 0), "not an ELF file: expected one that begins with 7f 45 4c 46");
    assert_eq!(error(|file| file[5] = 2), "byte order 2: expected 1, little-endian");
    assert_eq!(error(|file| file[4] = 2), "a 64-bit ELF file: expected a 32-bit one");
    assert_eq!(error(|file| file[18] = 40), "machine 40: expected 243, RISC-V");
    assert_eq!(error(|file| file[16] = 3), "dynamically linked or position-independent: expected a static executable");
    assert_eq!(error(|file| file[52 + 32] = 3), "dynamically linked or position-independent: expected a static executable");
    assert_eq!(error(|file| file[16] = 1), "ELF type 1: expected 2, an executable");
    assert!(error(|file| file.truncate(60)).starts_with("a damaged ELF file: "));
    assert!(error(|file| file.truncate(file.len() - 1)).starts_with("a damaged ELF file: "));
}

#[test]
fn invalid_segments_are_refused() {
    assert_eq!(error(|file| (file[52], file[52 + 32]) = (4, 4)), "0 loadable segments: expected 1..=64");
    let place = "segment at 0x80000010";
    assert_eq!(error(|file| file[52 + 32 + 23] = 0x80), format!("{place} ends at 0x100000030: expected at most 0x100000000"));
    assert_eq!(error(|file| file[52 + 32 + 20] = 2), format!("{place} has 3 bytes in the file and 2 in memory"));
    let overlap = error(|file| file[52 + 32 + 8..][..4].copy_from_slice(&0x1007u32.to_le_bytes()));
    assert_eq!(overlap, "segment at 0x00001007 overlaps the one before it, which ends at 0x00001008");
}

#[test]
fn damaged_executables_never_panic() {
    let file = write(&image());
    let mut rng = Rng::stream(1, "riscv.damage");
    let tail = file.len() as u64 - 200;
    let mut read = 0;
    for _ in 0..50_000 {
        let mut damaged = file.clone();
        for _ in 0..=rng.below(3) {
            let at = if rng.chance(0.5) { rng.below(116) } else { tail + rng.below(200) };
            damaged[at as usize] = if rng.chance(0.5) { rng.next_u64() as u8 } else { damaged[at as usize] ^ 1 << rng.below(8) };
        }
        if rng.chance(0.1) {
            damaged.truncate(rng.below(file.len() as u64) as usize);
        }
        if let Ok(image) = Image::read(&damaged) {
            read += 1;
            image.function_at(image.entry);
        }
    }
    assert!(read > 1000, "{read}");
}
