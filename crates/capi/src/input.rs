//! Arguments from C, checked: pointers, texts, the options of a drive, commands.

use crate::call::Failure;
use crate::records::{ABI_VERSION, CAUSES, CommandRecord, HISTORY, OPEN_LOOP, OPTIONS_KNOWN, Options, POWER_LOSSES, Status};
use drive::embed::Builder;
use kit::{Bytes, CommandFlags, HostCommand, Op};
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// Smallest size of options of this version of the interface, and the largest that a program can be believed to have
/// \[bytes\].
const OPTIONS_LEAST: u64 = std::mem::offset_of!(Options, contents) as u64;
const OPTIONS_MOST: u64 = 4096;

/// Returns what a pointer points to.
///
/// # Safety
/// A pointer that is neither null nor misaligned points to a value that lives during the call.
#[inline]
pub(crate) unsafe fn given<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(bad_pointer(pointer.is_null(), name));
    }
    // SAFETY: the pointer is not null and aligned; the caller promises the rest.
    Ok(unsafe { &*pointer })
}

/// Writes a result.
///
/// # Safety
/// A pointer that is neither null nor misaligned points to memory that may be written.
#[inline]
pub(crate) unsafe fn give<T>(pointer: *mut T, name: &str, value: T) -> Result<(), Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(bad_pointer(pointer.is_null(), name));
    }
    // SAFETY: the pointer is not null and aligned; the caller promises the rest.
    unsafe { pointer.write(value) };
    Ok(())
}

#[cold]
pub(crate) fn bad_pointer(is_null: bool, name: &str) -> Failure {
    let found = if is_null { "NULL" } else { "not aligned" };
    Failure::new(Status::Null, format!("{name}: {found}: expected a pointer"))
}

/// Returns a text; `None` for null.
///
/// # Safety
/// A pointer that is not null points to a text that ends with a zero byte and lives during the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the pointer is not null; the caller promises the rest.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(Some).map_err(|error| Failure::new(Status::Argument, format!("{name}: {error}: expected UTF-8")))
}

/// Returns a list of texts.
///
/// # Safety
/// A pointer that is not null points to `count` texts like those of [`text`].
unsafe fn texts(pointer: *const *const c_char, count: u64, name: &str) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for index in 0..count {
        // SAFETY: the caller promises that there are `count` entries.
        let entry = unsafe { given(pointer.wrapping_add(index as usize), name) }?;
        let place = format!("{name}[{index}]");
        // SAFETY: the caller promises that each is a text.
        let text = unsafe { text(*entry, &place) }?.ok_or_else(|| bad_pointer(true, &place))?;
        all.push(text.to_owned());
    }
    Ok(all)
}

/// Returns the options of a program, which may have been compiled with a shorter or a longer record.
///
/// # Safety
/// A pointer that is neither null nor misaligned points to options of the size that they state.
unsafe fn options(pointer: *const Options) -> Result<Options, Failure> {
    let abi = |text: String| Failure::new(Status::Abi, text);
    // SAFETY: the shortest record has these fields.
    let head = unsafe { given(pointer.cast::<[u64; 2]>(), "options") }?;
    let (size, own) = (head[0], size_of::<Options>() as u64);
    let version = (head[1] & u64::from(u32::MAX)) as u32;
    let version = if cfg!(target_endian = "big") { (head[1] >> 32) as u32 } else { version };
    if version != ABI_VERSION {
        return Err(abi(format!("options.abi = {version}: expected {ABI_VERSION}, the version of this library")));
    }
    if !(OPTIONS_LEAST..=OPTIONS_MOST).contains(&size) || !size.is_multiple_of(8) {
        return Err(abi(format!("options.size = {size}: expected {own}, sizeof(ssdlab_options)")));
    }
    let mut known = Options::new();
    // SAFETY: both records have at least so many bytes, and every field may have any value.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut known).cast(), size.min(own) as usize) };
    for word in own / 8..size / 8 {
        // SAFETY: the record has `size` bytes.
        let value = *unsafe { given(pointer.cast::<u64>().wrapping_add(word as usize), "options") }?;
        if value != 0 {
            return Err(abi(format!("options: byte {} is not zero: this library knows the first {own} bytes", word * 8)));
        }
    }
    Ok(known)
}

/// A builder, and the folder of the files that its description names.
pub(crate) struct Source {
    pub builder: Builder,
    folder: PathBuf,
}

impl Source {
    /// Returns the content of a file that the description names ([`kit::capped::read_named`]).
    pub fn file(&self, path: &str) -> Result<String, String> {
        let file = std::fs::File::open(self.folder.join(path));
        file.and_then(kit::capped::read_named).map_err(|error| error.to_string())
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    std::fs::File::open(path).and_then(kit::capped::read_text)
}

/// Returns the builder of a drive with these options.
///
/// # Safety
/// As for [`options`]; each pointer in them is null or points to what its field says.
pub(crate) unsafe fn source(pointer: *const Options) -> Result<Source, Failure> {
    // SAFETY: the caller promises the same.
    let options = unsafe { options(pointer) }?;
    let unknown = options.flags & !OPTIONS_KNOWN;
    if unknown != 0 {
        return Err(Failure::new(
            Status::Argument,
            format!("options.flags: unknown bits {unknown:#x}: expected {OPTIONS_KNOWN:#x}"),
        ));
    }
    // SAFETY: the caller promises that each field that is not null is a text.
    let field = |pointer, name: &str| unsafe { text(pointer, name) };
    let preset = field(options.preset, "options.preset")?;
    let path = field(options.path, "options.path")?;
    let description = field(options.description, "options.description")?;
    let name = field(options.name, "options.name")?;
    let (mut builder, folder) = begin(preset, path, description, name)?;
    builder = builder.seed(options.seed);
    // SAFETY: the caller promises that the lists have as many texts as they say.
    let (overrides, streams) = unsafe {
        (
            texts(options.overrides, options.override_count, "options.overrides")?,
            texts(options.streams, options.stream_count, "options.streams")?,
        )
    };
    builder = overrides.iter().fold(builder, |builder, text| builder.set(text)).streams(streams);
    if let Some(policy) = field(options.policy, "options.policy")? {
        builder = builder.policy(policy);
    }
    if let Some(method) = field(options.precondition, "options.precondition")? {
        builder = builder.precondition(method);
    }
    if let Some(host) = field(options.host, "options.host")? {
        builder = builder.host(host);
    }
    let wants = |flag: u32| options.flags & flag != 0;
    builder = if wants(CAUSES) { builder.causes() } else { builder };
    builder = if wants(HISTORY) { builder.history() } else { builder };
    builder = if wants(OPEN_LOOP) { builder.open_loop() } else { builder };
    builder = if wants(POWER_LOSSES) { builder.power_losses() } else { builder };
    builder = if options.contents > 0 { builder.contents(options.contents) } else { builder };
    if let Some(folder) = field(options.contents_folder, "options.contents_folder")? {
        builder = builder.contents_folder(folder);
    }
    Ok(Source { builder, folder })
}

/// Returns the builder of the one drive that is named, and the folder of its files.
fn begin(
    preset: Option<&str>,
    path: Option<&str>,
    description: Option<&str>,
    name: Option<&str>,
) -> Result<(Builder, PathBuf), Failure> {
    let folder = |name: &str| Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    match (preset, path, description) {
        (Some(preset), None, None) => Ok((Builder::preset(preset)?, PathBuf::new())),
        (None, Some(path), None) => {
            let cannot = |error| Failure::new(Status::File, format!("{path}: {error}"));
            let text = read_text(Path::new(path)).map_err(cannot)?;
            Ok((Builder::new(name.unwrap_or(path), &text), folder(path)))
        }
        (None, None, Some(text)) => {
            let name = name.unwrap_or("drive");
            Ok((Builder::new(name, text), folder(name)))
        }
        _ => {
            let count = [preset, path, description].iter().flatten().count();
            let text = format!("options: {count} of preset, path and description are given: expected exactly one");
            Err(Failure::new(Status::Argument, text))
        }
    }
}

/// Returns a command of the engine.
#[inline]
pub(crate) fn command(record: &CommandRecord) -> Result<HostCommand, Failure> {
    let op = match record.op {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Trim,
        3 => Op::Flush,
        4 => Op::Append,
        5 => Op::Zone,
        _ => return Err(unknown_op(record.op)),
    };
    let flags = CommandFlags::of_bits(op, record.flags).ok_or_else(|| {
        let expected =
            if op == Op::Zone { "one of SSDLAB_ZONE_..., or with SSDLAB_ALL_ZONES (2)" } else { "0 or SSDLAB_FUA (1)" };
        bad_field("flags", u64::from(record.flags), expected)
    })?;
    if record.reserved != [0; 6] {
        return Err(bad_field("reserved", u64::from(record.reserved[0]), "zeroes"));
    }
    Ok(HostCommand {
        op,
        flags,
        queue: record.queue,
        stream: record.stream,
        tag: record.tag,
        offset: Bytes(record.offset),
        length: Bytes(record.length),
    })
}

#[cold]
fn unknown_op(op: u8) -> Failure {
    let known = Op::ALL.iter().map(|op| format!("{} ({})", *op as u8, op.name())).collect::<Vec<_>>().join(", ");
    Failure::new(Status::Op, format!("command.op = {op}: expected one of {known}"))
}

#[cold]
fn bad_field(field: &str, found: u64, expected: &str) -> Failure {
    Failure::new(Status::Argument, format!("command.{field} = {found}: expected {expected}"))
}
