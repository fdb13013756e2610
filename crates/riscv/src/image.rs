//! Executables.

use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::segment::ProgramHeader;
use elf::{abi, parse::ParseError};

/// Most loadable segments of an image.
const MAX_SEGMENTS: usize = 64;

/// A statically linked executable for 32-bit RISC-V.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the first instruction.
    pub entry: u32,
    /// Loadable segments, in ascending order of their addresses, none overlapping another.
    pub segments: Vec<Segment>,
    /// Functions, in ascending order of their addresses.
    pub functions: Vec<Function>,
}

/// A loadable segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of its first byte.
    pub address: u32,
    /// Content. Zeroes follow up to its size in memory.
    pub bytes: Vec<u8>,
    /// Size in memory \[bytes\].
    pub memory_bytes: u32,
    /// True if it holds instructions.
    pub executable: bool,
    /// True if stores may change it.
    pub writable: bool,
}

/// A function of the symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name as linked.
    pub name: String,
    /// Address of its first instruction.
    pub address: u32,
    /// Size \[bytes\]. Of a function without a size, as assembly code may declare: up to the next one.
    pub bytes: u32,
}

impl Image {
    /// Reads an ELF file. An error says what was found there and what is expected.
    pub fn read(file: &[u8]) -> Result<Image, String> {
        if file.get(..4) != Some(&abi::ELFMAGIC) {
            return Err("not an ELF file: expected one that begins with 7f 45 4c 46".to_owned());
        }
        // The bytes of class and byte order come first, so that a file of another kind is named as such.
        if let Some(order) = file.get(abi::EI_DATA).filter(|order| **order != abi::ELFDATA2LSB) {
            return Err(format!("byte order {order}: expected 1, little-endian"));
        }
        if file.get(abi::EI_CLASS) == Some(&abi::ELFCLASS64) {
            return Err("a 64-bit ELF file: expected a 32-bit one".to_owned());
        }
        let elf = ElfBytes::<LittleEndian>::minimal_parse(file).map_err(|error| damaged(&error))?;
        let header = &elf.ehdr;
        if header.e_machine != abi::EM_RISCV {
            return Err(format!("machine {}: expected {}, RISC-V", header.e_machine, abi::EM_RISCV));
        }
        let headers: Vec<ProgramHeader> = elf.segments().map(|table| table.iter().collect()).unwrap_or_default();
        let is_dynamic = headers.iter().any(|header| matches!(header.p_type, abi::PT_DYNAMIC | abi::PT_INTERP));
        if header.e_type == abi::ET_DYN || is_dynamic {
            return Err("dynamically linked or position-independent: expected a static executable".to_owned());
        }
        if header.e_type != abi::ET_EXEC {
            return Err(format!("ELF type {}: expected {}, an executable", header.e_type, abi::ET_EXEC));
        }
        let entry = word(header.e_entry, "the entry")?;
        Ok(Image { entry, segments: segments(&elf, &headers)?, functions: functions(&elf)? })
    }

    /// Returns the function that holds the instruction at `pc`.
    pub fn function_at(&self, pc: u32) -> Option<&Function> {
        let behind = self.functions.partition_point(|function| function.address <= pc);
        self.functions[..behind].last().filter(|function| pc - function.address < function.bytes)
    }
}

fn damaged(error: &ParseError) -> String {
    format!("a damaged ELF file: {error}")
}

fn word(value: u64, name: &str) -> Result<u32, String> {
    u32::try_from(value).map_err(|_| format!("{name} {value:#x}: expected at most 0xffffffff"))
}

/// Returns the loadable segments.
fn segments(elf: &ElfBytes<'_, LittleEndian>, headers: &[ProgramHeader]) -> Result<Vec<Segment>, String> {
    let loadable = |header: &&ProgramHeader| header.p_type == abi::PT_LOAD && header.p_memsz > 0;
    let count = headers.iter().filter(loadable).count();
    if !(1..=MAX_SEGMENTS).contains(&count) {
        return Err(format!("{count} loadable segments: expected 1..={MAX_SEGMENTS}"));
    }
    let mut headers: Vec<&ProgramHeader> = headers.iter().filter(loadable).collect();
    headers.sort_by_key(|header| header.p_vaddr);
    let mut end = 0;
    let mut segments = Vec::with_capacity(count);
    for header in headers {
        let address = word(header.p_vaddr, "the address of a segment")?;
        let memory_bytes = word(header.p_memsz, "the size of a segment")?;
        let place = format!("segment at {address:#010x}");
        if u64::from(address) < end {
            return Err(format!("{place} overlaps the one before it, which ends at {end:#010x}"));
        }
        end = u64::from(address) + u64::from(memory_bytes);
        if end > 1 << 32 {
            return Err(format!("{place} ends at {end:#x}: expected at most 0x100000000"));
        }
        if header.p_filesz > header.p_memsz {
            return Err(format!("{place} has {} bytes in the file and {memory_bytes} in memory", header.p_filesz));
        }
        let bytes = elf.segment_data(header).map_err(|error| damaged(&error))?.to_vec();
        let flag = |bit: u32| header.p_flags & bit != 0;
        segments.push(Segment { address, bytes, memory_bytes, executable: flag(abi::PF_X), writable: flag(abi::PF_W) });
    }
    Ok(segments)
}

/// Returns the functions of the symbol table; none if the file is stripped.
fn functions(elf: &ElfBytes<'_, LittleEndian>) -> Result<Vec<Function>, String> {
    let Some((symbols, names)) = elf.symbol_table().map_err(|error| damaged(&error))? else {
        return Ok(Vec::new());
    };
    let mut functions = Vec::new();
    for symbol in symbols.iter().filter(|symbol| symbol.st_symtype() == abi::STT_FUNC && !symbol.is_undefined()) {
        let name = names.get_raw(symbol.st_name as usize).map_err(|error| damaged(&error))?;
        let name = String::from_utf8_lossy(name).into_owned();
        let (address, bytes) = (word(symbol.st_value, "the address of a symbol")?, word(symbol.st_size, "a symbol's size")?);
        functions.push(Function { name, address, bytes });
    }
    // Of two names of one function, such as a weak alias, the first in the order of names is kept.
    functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    functions.dedup_by_key(|function| function.address);
    for at in 0..functions.len() {
        if functions[at].bytes == 0 {
            let end = functions.get(at + 1).map_or(u32::MAX, |next| next.address);
            functions[at].bytes = end - functions[at].address;
        }
    }
    Ok(functions)
}
