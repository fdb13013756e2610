//! A writer of minimal executables.

use crate::{Function, Image, Segment};

const HEADER_BYTES: usize = 52;
const PROGRAM_HEADER_BYTES: usize = 32;
const SECTION_HEADER_BYTES: usize = 40;
const SYMBOL_BYTES: usize = 16;
/// Content of segments begins at the same place within a page in the file as in memory.
const PAGE: usize = 4096;

fn put(file: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| file.extend(word.to_le_bytes()));
}

/// Returns the ELF file of `image`.
pub fn write(image: &Image) -> Vec<u8> {
    let mut content = Vec::new();
    let begin = HEADER_BYTES + PROGRAM_HEADER_BYTES * image.segments.len();
    let mut headers = Vec::new();
    for segment in &image.segments {
        while (begin + content.len()) % PAGE != segment.address as usize % PAGE {
            content.push(0);
        }
        headers.push((segment, (begin + content.len()) as u32));
        content.extend(&segment.bytes);
    }
    let mut names = vec![0];
    let mut symbols = vec![0; SYMBOL_BYTES];
    for Function { name, address, bytes } in &image.functions {
        // A function of the first section, visible to all.
        put(&mut symbols, &[names.len() as u32, *address, *bytes, 1 << 16 | 0x12]);
        names.extend(name.bytes().chain([0]));
    }
    let symbols_at = begin + content.len();
    let names_at = symbols_at + symbols.len();
    let sections_at = names_at + names.len();
    let sections: u32 = if image.functions.is_empty() { 0 } else { 3 };

    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let section_header_bytes = SECTION_HEADER_BYTES as u32;
    put(&mut file, &[243 << 16 | 2, 1, image.entry, HEADER_BYTES as u32, if sections > 0 { sections_at as u32 } else { 0 }]);
    put(&mut file, &[1, (PROGRAM_HEADER_BYTES << 16 | HEADER_BYTES) as u32]);
    put(&mut file, &[section_header_bytes << 16 | image.segments.len() as u32, sections]);
    for (Segment { address, bytes, memory_bytes, executable, writable }, offset) in headers {
        let flags = 4 | u32::from(*writable) << 1 | u32::from(*executable);
        put(&mut file, &[1, offset, *address, *address, bytes.len() as u32, *memory_bytes, flags, PAGE as u32]);
    }
    file.extend(content);
    if sections > 0 {
        file.extend(&symbols);
        file.extend(&names);
        put(&mut file, &[0; SECTION_HEADER_BYTES / 4]);
        put(&mut file, &[0, 2, 0, 0, symbols_at as u32, symbols.len() as u32, 2, 1, 4, SYMBOL_BYTES as u32]);
        put(&mut file, &[0, 3, 0, 0, names_at as u32, names.len() as u32, 0, 0, 1, 0]);
    }
    file
}
