//! The functions of the C interface. `ssdlab.h` documents each for its callers; a test compares their signatures.
//!
//! Each function forwards to a method of [`EmbeddedDrive`] within the frame of [`call`]. All of them have the same
//! condition: pointers are null or point to what the header says, and one thread at a time uses a drive.

use crate::call::{self, Failure, Handle, call};
use crate::input::{Source, bad_pointer, command, give, given, source, text};
use crate::records::{
    ABI_VERSION, ByteBuffer, ChunkRecord, CommandRecord, CompletionRecord, FOREVER, GeometryRecord, Options, RecoveryRecord,
    Status, ZoneRecord,
};
use drive::BUILD;
use drive::embed::{ChunkInfo, EmbeddedDrive, MAX_ADDRESSES, PhysicalGeometry, Request, ZoneInfo};
use kit::{Bytes, Cause, Completion, Nanos, SimTime, UNIT_BYTES};
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Longest name of a cause, with its zero byte.
const NAME_BYTES: usize = 32;
/// Number of causes.
const CAUSE_COUNT: usize = Cause::ALL.len();

/// Copies a text into an array that it does not fill, so that zero bytes follow.
const fn padded<const N: usize>(text: &str) -> [u8; N] {
    let (mut array, bytes, mut index) = ([0; N], text.as_bytes(), 0);
    assert!(bytes.len() < N, "a zero byte follows the text");
    while index < bytes.len() {
        array[index] = bytes[index];
        index += 1;
    }
    array
}

static VERSION: [u8; BUILD.len() + 1] = padded(BUILD);
static CAUSE_NAMES: [[u8; NAME_BYTES]; CAUSE_COUNT] = {
    let (mut names, mut index) = ([[0; NAME_BYTES]; CAUSE_COUNT], 0);
    while index < CAUSE_COUNT {
        names[index] = padded(Cause::ALL[index].name());
        index += 1;
    }
    names
};

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_abi_version() -> u32 {
    ABI_VERSION
}

/// Returns the version of the engine and a hash of its sources.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Returns a short text for the number of a status.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_status_text(status: i32) -> *const c_char {
    let known = Status::ALL.iter().find(|known| **known as i32 == status);
    known.map_or(c"unknown status", |known| status_text(*known)).as_ptr()
}

fn status_text(status: Status) -> &'static CStr {
    match status {
        Status::Ok => c"no error",
        Status::Null => c"a pointer is NULL or not aligned",
        Status::Abi => c"the program was compiled for another version of the interface",
        Status::Handle => c"the pointer is not that of a drive, or the drive was destroyed",
        Status::Poisoned => c"the engine has failed: the drive can only be destroyed",
        Status::InUse => c"another call on the same drive is under way",
        Status::Description => c"the description or an option has errors",
        Status::Argument => c"an argument has a value that is not valid",
        Status::Op => c"the operation is unknown",
        Status::Range => c"the range of a command is not valid",
        Status::Time => c"the instant lies in the past or beyond the end of the clock",
        Status::InFlight => c"commands are in flight",
        Status::WornOut => c"the drive is worn out",
        Status::Failed => c"the translation layer cannot go on",
        Status::Unsupported => c"the drive lacks what the call needs",
        Status::File => c"a file cannot be read or written",
        Status::Saved => c"the saved drive cannot be loaded",
        Status::PowerLost => c"the drive has lost power, and must recover first",
        Status::Full => c"the contents of the drive would take more than their limit",
        Status::MediaError => c"some of the data read is lost",
        Status::Refused => c"the drive refuses the command",
    }
}

/// Returns the number of causes of latency.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_cause_count() -> u32 {
    CAUSE_COUNT as u32
}

/// Returns the name of a cause; null for a number that no cause has.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_cause_name(cause: u32) -> *const c_char {
    CAUSE_NAMES.get(cause as usize).map_or(std::ptr::null(), |name| name.as_ptr().cast())
}

/// Creates a drive in the starting state of its description.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_create(options: *const Options, drive: *mut *mut Handle, error: *mut ByteBuffer) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { make(options, drive, error, |source| Ok(source.builder.build_with(&|path| source.file(path))?)) }
}

/// Creates a drive in the state of a saved one, which is in memory.
///
/// # Safety
/// The condition of the module; `data` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_load(
    options: *const Options,
    data: *const c_void,
    size: u64,
    drive: *mut *mut Handle,
    error: *mut ByteBuffer,
) -> Status {
    let from_memory = |source: &Source| {
        if data.is_null() {
            return Err(bad_pointer(true, "data"));
        }
        // SAFETY: the pointer is not null, and the caller promises `size` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size as usize) };
        loaded(source, "saved drive", &mut Cursor::new(bytes))
    };
    // SAFETY: the caller promises the same.
    unsafe { make(options, drive, error, from_memory) }
}

/// Creates a drive in the state of a saved one, which is in a file.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_load_file(
    options: *const Options,
    path: *const c_char,
    drive: *mut *mut Handle,
    error: *mut ByteBuffer,
) -> Status {
    let from_file = |source: &Source| {
        // SAFETY: the caller promises a text.
        let path = unsafe { text(path, "path") }?.ok_or_else(|| bad_pointer(true, "path"))?;
        let file = File::open(path).map_err(|error| file_failure(path, &error))?;
        loaded(source, path, &mut BufReader::new(file))
    };
    // SAFETY: the caller promises the same.
    unsafe { make(options, drive, error, from_file) }
}

fn loaded(source: &Source, name: &str, from: &mut dyn Read) -> Result<EmbeddedDrive, Failure> {
    Ok(source.builder.load(name, from, &|path| source.file(path))?)
}

fn file_failure(path: &str, error: &std::io::Error) -> Failure {
    Failure::new(Status::File, format!("{path}: {error}"))
}

/// Makes a drive, and gives it, or the text of the error, to the caller.
///
/// # Safety
/// The condition of the module.
unsafe fn make(
    options: *const Options,
    drive: *mut *mut Handle,
    error: *mut ByteBuffer,
    how: impl FnOnce(&Source) -> Result<EmbeddedDrive, Failure>,
) -> Status {
    let made = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller promises memory for a pointer, and options that are as they say.
        unsafe {
            give(drive, "drive", std::ptr::null_mut())?;
            how(&source(options)?)
        }
    }));
    let made = made.unwrap_or_else(|payload| Err(Failure::new(Status::Poisoned, call::panic_text(&*payload))));
    let (status, text) = match made {
        Ok(made) => {
            let handle = Box::into_raw(Box::new(Handle::new(made)));
            // SAFETY: the pointer was written before.
            unsafe { drive.write(handle) };
            (Status::Ok, ByteBuffer::EMPTY)
        }
        Err(failure) => (failure.status, ByteBuffer::of(failure.text.into_bytes())),
    };
    // SAFETY: the caller promises memory for the text, or null.
    if unsafe { give(error, "error", text) }.is_err() {
        release(text);
    }
    status
}

/// Destroys a drive, and sets the pointer to null.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_destroy(drive: *mut *mut Handle) -> Status {
    // SAFETY: the caller promises a pointer to a handle, which may be null.
    let Ok(handle) = (unsafe { given(drive, "drive") }).copied() else { return Status::Null };
    if handle.is_null() {
        return Status::Ok;
    }
    // SAFETY: the caller promises that the pointer may be written, and that the drive is in use nowhere else.
    unsafe {
        let status = call::destroy(handle);
        if status != Status::Handle {
            drive.write(std::ptr::null_mut());
        }
        status
    }
}

/// Returns the text of the last error of a drive.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_last_error(drive: *const Handle) -> *const c_char {
    // SAFETY: the caller promises the same.
    match unsafe { call::last_error(drive) } {
        Ok(text) => text.as_ptr(),
        Err(status) => status_text(status).as_ptr(),
    }
}

/// Releases bytes that the library has allocated.
///
/// # Safety
/// The condition of the module; the record is as the library wrote it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_free(bytes: *mut ByteBuffer) {
    // SAFETY: the caller promises a record that may be written.
    let Ok(given) = (unsafe { given(bytes, "bytes") }).copied() else { return };
    release(given);
    // SAFETY: as above; the pointer is not null and aligned.
    unsafe { bytes.write(ByteBuffer::EMPTY) };
}

/// Releases the memory of a record that the library wrote.
fn release(bytes: ByteBuffer) {
    if !bytes.data.is_null() {
        let whole = std::ptr::slice_from_raw_parts_mut(bytes.data.cast::<u8>(), bytes.size as usize + 1);
        // SAFETY: the bytes and the zero byte behind them are one allocation, which `ByteBuffer::of` has given away.
        drop(unsafe { Box::from_raw(whole) });
    }
}

/// Submits a command that arrives at an instant.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit(drive: *mut Handle, submitted: *const CommandRecord, at: u64) -> Status {
    // SAFETY: the caller promises a drive and a command, or null.
    unsafe { call(drive, |drive| Ok(drive.submit(command(given(submitted, "command")?)?, SimTime(at))?)) }
}

/// Submits a vectored command on scattered addresses.
///
/// # Safety
/// The condition of the module; `addresses` has `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit_vector(
    drive: *mut Handle,
    submitted: *const CommandRecord,
    addresses: *const u64,
    count: u64,
    at: u64,
) -> Status {
    let submit = |drive: &mut EmbeddedDrive| {
        // SAFETY: the caller promises a command, or null.
        let command = command(unsafe { given(submitted, "command") }?)?;
        if count > 0 && (addresses.is_null() || !addresses.is_aligned()) {
            return Err(bad_pointer(addresses.is_null(), "addresses"));
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_ADDRESSES + 1);
        let mut bytes = [Bytes(0); MAX_ADDRESSES + 1];
        for (index, to) in bytes[..count].iter_mut().enumerate() {
            // SAFETY: the caller promises as many numbers.
            *to = Bytes(unsafe { *addresses.add(index) });
        }
        Ok(drive.submit_vector(command, &bytes[..count], SimTime(at))?)
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, submit) }
}

/// Reads data, and waits for it.
///
/// # Safety
/// The condition of the module; `data` has `length` bytes, and `causes`, unless it is null, a number for each cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_read(
    drive: *mut Handle,
    offset: u64,
    data: *mut c_void,
    length: u64,
    latency: *mut u64,
    causes: *mut u64,
) -> Status {
    let read = |drive: &mut EmbeddedDrive| {
        let request = Request::Read { offset: Bytes(offset), length: Bytes(length) };
        // SAFETY: the caller promises the same.
        unsafe {
            serve(drive, &request, latency, causes, |read| {
                if data.is_null() {
                    return Err(bad_pointer(true, "data"));
                }
                std::ptr::copy_nonoverlapping(read.as_ptr(), data.cast(), read.len());
                Ok(())
            })
        }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, read) }
}

/// Writes data, and waits until it is accepted, or durable.
///
/// # Safety
/// The condition of the module; `data` has `length` bytes, and `causes`, unless it is null, a number for each cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_write(
    drive: *mut Handle,
    offset: u64,
    data: *const c_void,
    length: u64,
    flags: u32,
    latency: *mut u64,
    causes: *mut u64,
) -> Status {
    let write = |drive: &mut EmbeddedDrive| {
        if data.is_null() {
            return Err(bad_pointer(true, "data"));
        }
        if flags > 1 {
            return Err(Failure::new(Status::Argument, format!("flags = {flags}: expected 0 or SSDLAB_FUA (1)")));
        }
        // SAFETY: the pointer is not null, and the caller promises `length` bytes.
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize) };
        let request = Request::Write { offset: Bytes(offset), data, is_durable: flags == 1 };
        // SAFETY: the caller promises the same.
        unsafe { serve(drive, &request, latency, causes, |_| Ok(())) }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, write) }
}

/// Makes all data durable that was written before, and waits for that.
///
/// # Safety
/// The condition of the module; `causes`, unless it is null, has a number for each cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_flush(drive: *mut Handle, latency: *mut u64, causes: *mut u64) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { call(drive, |drive| serve(drive, &Request::Flush, latency, causes, |_| Ok(()))) }
}

/// Deallocates the whole mapping units of a range, and waits for that.
///
/// # Safety
/// The condition of the module; `causes`, unless it is null, has a number for each cause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_trim(
    drive: *mut Handle,
    offset: u64,
    length: u64,
    latency: *mut u64,
    causes: *mut u64,
) -> Status {
    let request = Request::Trim { offset: Bytes(offset), length: Bytes(length) };
    // SAFETY: the caller promises the same.
    unsafe { call(drive, |drive| serve(drive, &request, latency, causes, |_| Ok(()))) }
}

/// Serves a request, hands its data to `take`, and writes its latency and the causes of that.
///
/// # Safety
/// `latency` is null or points to a number, `causes` to one for each cause.
unsafe fn serve(
    drive: &mut EmbeddedDrive,
    request: &Request<'_>,
    latency: *mut u64,
    causes: *mut u64,
    take: impl FnOnce(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !causes.is_null() && !drive.has_causes() {
        let text = "causes: the drive was created without SSDLAB_CAUSES: expected NULL";
        return Err(Failure::new(Status::Unsupported, text.to_owned()));
    }
    let served = drive.serve(request)?;
    take(served.data)?;
    if !latency.is_null() {
        // SAFETY: the caller promises a number.
        unsafe { give(latency, "latency", served.latency.0) }?;
    }
    for (index, time) in served.causes.iter().filter(|_| !causes.is_null()).flat_map(|ledger| ledger.0).enumerate() {
        // SAFETY: the caller promises a number for each cause.
        unsafe { give(causes.add(index), "causes", time) }?;
    }
    match served.status {
        kit::Status::Success => Ok(()),
        kit::Status::MediaError => Err(Failure::new(Status::MediaError, "some of the data read is lost".to_owned())),
        other => Err(Failure::new(Status::Refused, format!("the drive refuses the command with the status {:#x}", other.code()))),
    }
}

/// Has a drive lose power after a number of events, counted from now.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_cut(drive: *mut Handle, events: u64) -> Status {
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, |drive| Ok(drive.lose_power_after(events)?)) }
}

/// Brings power back, after a time without it.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_recover(drive: *mut Handle, down: u64, recovery: *mut RecoveryRecord) -> Status {
    let recover = |drive: &mut EmbeddedDrive| {
        let loss = drive.lose_power(Nanos(down))?;
        let found = RecoveryRecord {
            recovery: loss.recovery.0,
            recovery_reads: loss.recovery_reads,
            durable_lost: loss.durable_lost,
            volatile_lost: loss.volatile_lost,
            torn_pages: loss.torn_pages,
        };
        // SAFETY: the caller promises memory for a record, or null.
        if recovery.is_null() { Ok(()) } else { unsafe { give(recovery, "recovery", found) } }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, recover) }
}

/// Prefetches the tables that commands will read which come soon.
///
/// # Safety
/// The condition of the module; `commands` has `count` records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_hint(drive: *mut Handle, commands: *const CommandRecord, count: u64) -> Status {
    let hint = |drive: &mut EmbeddedDrive| {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller promises commands, or null.
        unsafe { given(commands, "commands") }?;
        // SAFETY: the pointer is not null and aligned, and the caller promises `count` records.
        let all = unsafe { std::slice::from_raw_parts(commands, count as usize) };
        // Invalid commands are left out here; they are refused when they are submitted.
        drive.hint(all.iter().filter_map(|record| command(record).ok()));
        Ok(())
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, hint) }
}

/// Returns the instant of the next event.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_next_event(drive: *mut Handle, at: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(at, "at", drive.next_event().map_or(FOREVER, |at| at.0))) }
}

/// Lets time pass, to the first instant with a completion or to `until`.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance(drive: *mut Handle, until: u64, waiting: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe {
        call(drive, |drive| {
            let count = drive.advance(SimTime(until))? as u64;
            if waiting.is_null() { Ok(()) } else { give(waiting, "waiting", count) }
        })
    }
}

/// Completes all commands in flight.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_drain(drive: *mut Handle, waiting: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe {
        call(drive, |drive| {
            let count = drive.drain()? as u64;
            if waiting.is_null() { Ok(()) } else { give(waiting, "waiting", count) }
        })
    }
}

/// Takes completions that wait.
///
/// # Safety
/// The condition of the module; `completions` has `capacity` records, and `causes`, unless null, as many rows of
/// `ssdlab_cause_count()` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_completions(
    drive: *mut Handle,
    completions: *mut CompletionRecord,
    capacity: u64,
    causes: *mut u64,
    count: *mut u64,
) -> Status {
    // SAFETY: the caller promises a drive, and memory for as many records and rows as it says.
    unsafe { call(drive, |drive| take(drive, (completions, causes), capacity, count)) }
}

/// # Safety
/// As for [`ssdlab_completions`].
#[inline]
unsafe fn take(
    drive: &mut EmbeddedDrive,
    (records, causes): (*mut CompletionRecord, *mut u64),
    capacity: u64,
    count: *mut u64,
) -> Result<(), Failure> {
    let is_usable = |is_null: bool, is_aligned: bool| !is_null && is_aligned;
    if capacity > 0 && !is_usable(records.is_null(), records.is_aligned()) {
        return Err(bad_pointer(records.is_null(), "completions"));
    }
    if !causes.is_null() && !causes.is_aligned() {
        return Err(bad_pointer(false, "causes"));
    }
    if !causes.is_null() && !drive.has_causes() {
        let text = "causes: this drive was created without SSDLAB_CAUSES: expected NULL";
        return Err(Failure::new(Status::Argument, text));
    }
    // SAFETY: the caller promises memory for a number, or null. Nothing is taken if there is none.
    unsafe { give(count, "count", 0) }?;
    let taken = drive.take(usize::try_from(capacity).unwrap_or(usize::MAX));
    for (index, completion) in taken.completions.iter().enumerate() {
        // SAFETY: at most `capacity` completions were taken, for which the caller promises memory.
        unsafe { records.add(index).write(record(completion)) };
    }
    if !causes.is_null() {
        for (index, ledger) in taken.causes.iter().enumerate() {
            // SAFETY: there is a row for each record, of `CAUSE_COUNT` numbers, as many as a ledger has.
            unsafe { causes.add(index * CAUSE_COUNT).copy_from_nonoverlapping(ledger.0.as_ptr(), CAUSE_COUNT) };
        }
    }
    // SAFETY: the same memory was written above.
    unsafe { give(count, "count", taken.completions.len() as u64) }
}

#[inline]
fn record(completion: &Completion) -> CompletionRecord {
    CompletionRecord {
        submitted: completion.submitted.0,
        completed: completion.completed.0,
        offset: completion.offset.0,
        length: completion.length.0,
        tag: completion.tag,
        queue: completion.queue,
        stream: completion.stream,
        op: completion.op as u8,
        flags: completion.flags.bits(),
        media_error: u8::from(completion.media_error()),
        reserved: [0; 3],
        status: completion.status.code(),
    }
}

/// Brings a drive without commands in flight to rest.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_rest(drive: *mut Handle) -> Status {
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, |drive| Ok(drive.rest()?)) }
}

/// Shuts a drive without commands in flight down gracefully.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_shut_down(drive: *mut Handle) -> Status {
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, |drive| Ok(drive.shut_down()?)) }
}

/// Begins a new measurement.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_restart_measurement(drive: *mut Handle) -> Status {
    let restart = |drive: &mut EmbeddedDrive| {
        drive.restart_measurement();
        Ok(())
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, restart) }
}

/// Returns the simulated time.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_now(drive: *mut Handle, at: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(at, "at", drive.now().0)) }
}

/// Returns the number of commands submitted and not completed.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_in_flight(drive: *mut Handle, count: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(count, "count", drive.in_flight())) }
}

/// Returns the user capacity.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_user_bytes(drive: *mut Handle, bytes: *mut u64) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(bytes, "bytes", drive.user_bytes())) }
}

/// Returns zones from number `first` on, at most `capacity`.
///
/// # Safety
/// The condition of the module; `zones` has memory for `capacity` records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_zones(
    drive: *mut Handle,
    first: u64,
    zones: *mut ZoneRecord,
    capacity: u64,
    count: *mut u64,
) -> Status {
    let report = |drive: &mut EmbeddedDrive| {
        let Some(all) = drive.zone_count() else {
            let text = "ssdlab_zones: the drive has no zones: expected a drive with ftl.translation = \"zns\"";
            return Err(Failure::new(Status::Unsupported, text));
        };
        if capacity > 0 && (zones.is_null() || !zones.is_aligned()) {
            return Err(bad_pointer(zones.is_null(), "zones"));
        }
        // SAFETY: the caller promises memory for a number, or null. Nothing is written if there is none.
        unsafe { give(count, "count", 0) }?;
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(all);
        let given = (all - first).min(usize::try_from(capacity).unwrap_or(usize::MAX));
        for (index, zone) in (first..first + given).filter_map(|number| drive.zone(number)).enumerate() {
            // SAFETY: at most `capacity` records, for which the caller promises memory.
            unsafe { zones.add(index).write(zone_record(&zone)) };
        }
        // SAFETY: the same memory was written above.
        unsafe { give(count, "count", given as u64) }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, report) }
}

/// Returns chunks from number `first` on, at most `capacity`.
///
/// # Safety
/// The condition of the module; `chunks` has memory for `capacity` records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_chunks(
    drive: *mut Handle,
    first: u64,
    chunks: *mut ChunkRecord,
    capacity: u64,
    count: *mut u64,
) -> Status {
    let report = |drive: &mut EmbeddedDrive| {
        let all = drive.chunk_count().ok_or_else(|| no_chunks("ssdlab_chunks"))?;
        if capacity > 0 && (chunks.is_null() || !chunks.is_aligned()) {
            return Err(bad_pointer(chunks.is_null(), "chunks"));
        }
        // SAFETY: the caller promises memory for a number, or null. Nothing is written if there is none.
        unsafe { give(count, "count", 0) }?;
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(all);
        let given = (all - first).min(usize::try_from(capacity).unwrap_or(usize::MAX));
        for (index, chunk) in (first..first + given).filter_map(|number| drive.chunk(number)).enumerate() {
            // SAFETY: at most `capacity` records, for which the caller promises memory.
            unsafe { chunks.add(index).write(chunk_record(&chunk)) };
        }
        // SAFETY: the same memory was written above.
        unsafe { give(count, "count", given as u64) }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, report) }
}

/// Returns the sizes and limits of a drive with physical addresses.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_physical_geometry(drive: *mut Handle, geometry: *mut GeometryRecord) -> Status {
    let report = |drive: &mut EmbeddedDrive| {
        let physical = drive.physical_geometry().ok_or_else(|| no_chunks("ssdlab_physical_geometry"))?;
        // SAFETY: the caller promises memory for a record, or null.
        unsafe { give(geometry, "geometry", geometry_record(&physical)) }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, report) }
}

fn no_chunks(function: &str) -> Failure {
    let text =
        format!("{function}: the drive has no physical addresses: expected a drive with ftl.translation = \"pass_through\"");
    Failure::new(Status::Unsupported, text)
}

fn chunk_record(chunk: &ChunkInfo) -> ChunkRecord {
    ChunkRecord {
        start: chunk.start.0,
        write_pointer: chunk.write_pointer.0,
        erases: chunk.erases,
        state: chunk.state.code(),
        reserved: [0; 3],
    }
}

fn geometry_record(PhysicalGeometry { groups, dies_per_group, rules }: &PhysicalGeometry) -> GeometryRecord {
    GeometryRecord {
        groups: *groups,
        dies_per_group: *dies_per_group,
        chunks_per_die: rules.chunks_per_die,
        chunk_units: rules.units,
        unit_bytes: UNIT_BYTES as u32,
        ws_min: rules.ws_min,
        ws_opt: rules.ws_opt,
        mw_cunits: rules.mw_cunits,
        max_open: rules.open,
        max_open_per_die: rules.open_per_die,
    }
}

fn zone_record(zone: &ZoneInfo) -> ZoneRecord {
    ZoneRecord {
        start: zone.start.0,
        capacity: zone.capacity.0,
        write_pointer: zone.write_pointer.0,
        state: zone.state.code(),
        reserved: [0; 7],
    }
}

/// Returns the number of submission queues.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_queue_count(drive: *mut Handle, count: *mut u32) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(count, "count", drive.queue_count())) }
}

/// Returns 1 if the drive is worn out, otherwise 0.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_is_worn_out(drive: *mut Handle, worn_out: *mut u32) -> Status {
    // SAFETY: the caller promises a drive, and memory for a number, or null.
    unsafe { call(drive, |drive| give(worn_out, "worn_out", u32::from(drive.is_worn_out()))) }
}

/// Returns the summary of the measurement, as JSON.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_summary(drive: *mut Handle, text: *mut ByteBuffer) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { give_bytes(drive, text, |drive| Ok(format!("{:#}\n", drive.summary()).into_bytes())) }
}

/// Returns the description with every field resolved, as TOML.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_description(drive: *mut Handle, text: *mut ByteBuffer) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { give_bytes(drive, text, |drive| Ok(drive.description().into_bytes())) }
}

/// Returns notes for people, one line each.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_notes(drive: *mut Handle, text: *mut ByteBuffer) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { give_bytes(drive, text, |drive| Ok(drive.notes().join("\n").into_bytes())) }
}

/// Returns the digest of the physical history: the number of its entries, and a hash of them.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_history(drive: *mut Handle, entries: *mut u64, hash: *mut u64) -> Status {
    let digest = |drive: &mut EmbeddedDrive| {
        let without = || Failure::new(Status::Argument, "history: this drive was created without SSDLAB_HISTORY");
        let digest = drive.history().ok_or_else(without)?;
        // SAFETY: the caller promises memory for two numbers, or null.
        unsafe {
            give(entries, "entries", digest.entries)?;
            give(hash, "hash", digest.hash)
        }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, digest) }
}

/// Saves a drive without commands in flight, into memory.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_save(drive: *mut Handle, bytes: *mut ByteBuffer) -> Status {
    let saved = |drive: &mut EmbeddedDrive| {
        let mut bytes = Vec::new();
        drive.save(&mut bytes)?;
        Ok(bytes)
    };
    // SAFETY: the caller promises the same.
    unsafe { give_bytes(drive, bytes, saved) }
}

/// Saves a drive without commands in flight, into a file.
///
/// # Safety
/// The condition of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_save_file(drive: *mut Handle, path: *const c_char) -> Status {
    let save = |drive: &mut EmbeddedDrive| {
        // SAFETY: the caller promises a text.
        let path = unsafe { text(path, "path") }?.ok_or_else(|| bad_pointer(true, "path"))?;
        drive.can_be_saved()?;
        let mut to = BufWriter::new(File::create(path).map_err(|error| file_failure(path, &error))?);
        drive.save(&mut to)?;
        to.flush().map_err(|error| file_failure(path, &error))
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, save) }
}

/// Gives the caller bytes that a call makes.
///
/// # Safety
/// The condition of the module.
unsafe fn give_bytes(
    drive: *mut Handle,
    to: *mut ByteBuffer,
    make: impl FnOnce(&mut EmbeddedDrive) -> Result<Vec<u8>, Failure>,
) -> Status {
    let give_made = |drive: &mut EmbeddedDrive| {
        // SAFETY: the caller promises memory for a record, or null. It is empty if the call fails.
        unsafe { give(to, "bytes", ByteBuffer::EMPTY) }?;
        let bytes = make(drive)?;
        // SAFETY: the same memory was written above.
        unsafe { give(to, "bytes", ByteBuffer::of(bytes)) }
    };
    // SAFETY: the caller promises a drive, or null.
    unsafe { call(drive, give_made) }
}
