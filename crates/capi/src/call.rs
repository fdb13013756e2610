//! The frame of every call: checks the handle, keeps panics from crossing into C, keeps the text of the last error.

use crate::records::Status;
use drive::embed::{EmbedError, EmbeddedDrive};
use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Mark of a handle in use.
const LIVE: u64 = 0x7373_646c_6162_0001;
/// Mark of a handle that is being destroyed.
const DESTROYED: u64 = 0x7373_646c_6162_dead;

/// A drive behind a pointer: `ssdlab_drive`. The mark comes first, so that memory that is no handle is recognised.
#[repr(C)]
pub struct Handle {
    mark: u64,
    /// True while a call on the drive is under way. Two threads that enter at the same time are not always noticed.
    in_use: AtomicBool,
    is_poisoned: bool,
    error: CString,
    drive: EmbeddedDrive,
}

// The drive may move to another thread between two calls.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Handle>();
};

/// A failed call: its status, and the text of the error.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: Status,
    pub text: String,
}

impl Failure {
    pub fn new(status: Status, text: impl fmt::Display) -> Failure {
        Failure { status, text: text.to_string() }
    }
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Failure {
        Failure { status: error.kind.into(), text: error.text }
    }
}

impl Handle {
    pub(crate) fn new(drive: EmbeddedDrive) -> Handle {
        Handle { mark: LIVE, in_use: AtomicBool::new(false), is_poisoned: false, error: CString::default(), drive }
    }

    /// Returns the text of the last error.
    fn error(&self) -> &CString {
        &self.error
    }

    #[cold]
    fn fail(&mut self, failure: &Failure) -> Status {
        self.error = c_text(&failure.text);
        failure.status
    }

    #[cold]
    fn poison(&mut self, payload: &(dyn Any + Send)) -> Status {
        self.is_poisoned = true;
        self.error = c_text(&panic_text(payload));
        Status::Poisoned
    }

    fn run(&mut self, call: impl FnOnce(&mut EmbeddedDrive) -> Result<(), Failure>) -> Status {
        if self.is_poisoned {
            return Status::Poisoned;
        }
        let drive = &mut self.drive;
        match catch_unwind(AssertUnwindSafe(|| call(drive))) {
            Ok(Ok(())) => Status::Ok,
            Ok(Err(failure)) => self.fail(&failure),
            Err(payload) => self.poison(&*payload),
        }
    }
}

/// Returns a text for C. A text with a zero byte, which no message has, ends there.
fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Returns the text of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let message = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    format!("the engine failed, which is a defect of ssdlab: {message}; the drive can only be destroyed")
}

/// Returns the status of a pointer as a handle.
///
/// # Safety
/// If the pointer is neither null nor misaligned, its first bytes can be read as a handle's.
unsafe fn check(handle: *const Handle) -> Status {
    if handle.is_null() {
        return Status::Null;
    }
    if !handle.is_aligned() {
        return Status::Handle;
    }
    // SAFETY: the pointer is aligned and, as the caller promises, its memory can be read.
    let mark = unsafe { (&raw const (*handle).mark).read() };
    if mark == LIVE { Status::Ok } else { Status::Handle }
}

/// Runs a call on a drive. A panic becomes an error, and every later call on the drive is refused.
///
/// # Safety
/// `handle` is null, or comes from `ssdlab_create` or `ssdlab_load` and has not been destroyed; no other thread uses it
/// during the call.
#[inline]
pub(crate) unsafe fn call(handle: *mut Handle, call: impl FnOnce(&mut EmbeddedDrive) -> Result<(), Failure>) -> Status {
    // SAFETY: as the caller promises, a pointer that is not null points to a handle.
    let status = unsafe { check(handle) };
    if status != Status::Ok {
        return status;
    }
    // SAFETY: the handle is live. Only this field is borrowed, which may be shared.
    let in_use = unsafe { &(*handle).in_use };
    if in_use.load(Ordering::Relaxed) {
        return Status::InUse;
    }
    in_use.store(true, Ordering::Relaxed);
    // SAFETY: the handle is live, and no other call is under way, so that nobody else borrows its fields.
    let handle = unsafe { &mut *handle };
    let status = handle.run(call);
    handle.in_use.store(false, Ordering::Relaxed);
    status
}

/// Returns the text of the last error of a drive.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe fn last_error<'a>(handle: *const Handle) -> Result<&'a CString, Status> {
    // SAFETY: as the caller promises, a pointer that is not null points to a handle.
    match unsafe { check(handle) } {
        // SAFETY: the handle is live, and no call is under way that could change the text.
        Status::Ok => Ok(unsafe { &*handle }.error()),
        status => Err(status),
    }
}

/// Destroys a drive.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe fn destroy(handle: *mut Handle) -> Status {
    // SAFETY: as the caller promises, a pointer that is not null points to a handle.
    let status = unsafe { check(handle) };
    if status != Status::Ok {
        return status;
    }
    // SAFETY: the handle is live, and its box was given away by `ssdlab_create` or `ssdlab_load`.
    let mut owned = unsafe { Box::from_raw(handle) };
    // SAFETY: the field is owned. The write is volatile, as nothing reads the mark before the memory is given back.
    unsafe { (&raw mut owned.mark).write_volatile(DESTROYED) };
    match catch_unwind(AssertUnwindSafe(|| drop(owned))) {
        Ok(()) => Status::Ok,
        Err(_) => Status::Poisoned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive::embed::Builder;

    fn handle() -> Box<Handle> {
        let drive = Builder::preset("tiny").and_then(|builder| builder.build()).expect("a preset");
        Box::new(Handle::new(drive))
    }

    #[test]
    fn a_panic_becomes_an_error_and_every_later_call_is_refused() {
        let mut handle = handle();
        let handle: *mut Handle = &mut *handle;
        // SAFETY: the handle lives to the end of the test, and no other thread knows it.
        let run = |doing: fn(&mut EmbeddedDrive) -> Result<(), Failure>| unsafe { call(handle, doing) };
        assert_eq!(run(|_| Ok(())), Status::Ok);
        assert_eq!(run(|_| panic!("ways {}", "part")), Status::Poisoned);
        assert_eq!(run(|_| unreachable!("a poisoned drive is not called")), Status::Poisoned);
        // SAFETY: as above.
        let text = unsafe { last_error(handle) }.expect("a live handle").to_string_lossy();
        assert!(text.contains("ways part") && text.contains("can only be destroyed"), "{text}");
    }

    #[test]
    fn a_call_within_a_call_is_noticed() {
        let mut handle = handle();
        let handle: *mut Handle = &mut *handle;
        // SAFETY: the handle lives to the end of the test; the inner call does not get as far as the drive.
        let status = unsafe {
            call(handle, |_| match call(handle, |_| Ok(())) {
                Status::InUse => Ok(()),
                other => Err(Failure::new(other, "not noticed")),
            })
        };
        assert_eq!(status, Status::Ok);
    }

    #[test]
    fn what_is_not_a_drive_is_refused() {
        let foreign = [0u64; 64];
        // SAFETY: the memory can be read, and is not written, as it has no mark.
        let statuses = unsafe {
            [
                call(std::ptr::null_mut(), |_| Ok(())),
                call(foreign.as_ptr().cast_mut().cast(), |_| Ok(())),
                call(foreign.as_ptr().cast::<u8>().wrapping_add(1).cast_mut().cast(), |_| Ok(())),
                destroy(foreign.as_ptr().cast_mut().cast()),
            ]
        };
        assert_eq!(statuses, [Status::Null, Status::Handle, Status::Handle, Status::Handle]);
    }
}
