//! The C interface for tests: the same calls, with texts and vectors in place of pointers.

use serde_json::Value;
use ssdlab::abi::*;
use ssdlab::{ByteBuffer, CommandRecord, CompletionRecord, Handle, Options, Status};
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

/// Option of a drive whose physical history is compared.
pub const HISTORY: u32 = 2;
pub const CAUSES: u32 = 1;
pub const OPEN_LOOP: u32 = 4;
pub const POWER_LOSSES: u32 = 8;
pub const FOREVER: u64 = u64::MAX;

/// Operations, as the header numbers them.
pub const READ: u8 = 0;
pub const WRITE: u8 = 1;
pub const FLUSH: u8 = 3;

/// Options of a drive.
#[derive(Clone)]
pub struct Setup {
    pub preset: Option<&'static str>,
    pub path: Option<String>,
    pub description: Option<String>,
    pub sets: Vec<String>,
    pub precondition: Option<&'static str>,
    pub policy: Option<&'static str>,
    pub seed: u64,
    pub flags: u32,
    pub streams: Vec<&'static str>,
    pub contents: u64,
}

impl Setup {
    pub fn preset(name: &'static str) -> Setup {
        let (sets, streams) = (Vec::new(), Vec::new());
        Setup {
            preset: Some(name),
            path: None,
            description: None,
            sets,
            precondition: None,
            policy: None,
            seed: 1,
            flags: 0,
            streams,
            contents: 0,
        }
    }

    pub fn text(text: &str) -> Setup {
        Setup { preset: None, description: Some(text.to_owned()), ..Setup::preset("") }
    }

    /// Passes the options to a function that makes a drive. Returns the drive, or the status and text of the error.
    fn make(&self, how: impl FnOnce(&Options, *mut *mut Handle, *mut ByteBuffer) -> Status) -> Result<Door, (Status, String)> {
        let owned = |text: &str| CString::new(text).expect("a text without zero bytes");
        let texts = [self.preset, self.path.as_deref(), self.description.as_deref(), self.precondition, self.policy]
            .map(|text| text.map(owned));
        let [preset, path, description, precondition, policy] =
            texts.each_ref().map(|text| text.as_ref().map_or(null(), |text| text.as_ptr()));
        let sets: Vec<CString> = self.sets.iter().map(|set| owned(set)).collect();
        let sets: Vec<*const c_char> = sets.iter().map(|set| set.as_ptr()).collect();
        let names: Vec<CString> = self.streams.iter().map(|name| owned(name)).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let options = Options {
            preset,
            path,
            description,
            precondition,
            policy,
            seed: self.seed,
            flags: self.flags,
            overrides: sets.as_ptr(),
            override_count: sets.len() as u64,
            streams: names.as_ptr(),
            stream_count: names.len() as u64,
            contents: self.contents,
            ..Options::new()
        };
        let (mut drive, mut error) = (null_mut(), ByteBuffer::EMPTY);
        let status = how(&options, &mut drive, &mut error);
        assert_eq!(status == Status::Ok, !drive.is_null(), "there is a drive, or an error");
        if status == Status::Ok { Ok(Door(drive)) } else { Err((status, text(error))) }
    }

    pub fn create(&self) -> Result<Door, (Status, String)> {
        // SAFETY: the pointers are those of values that live during the call.
        self.make(|options, drive, error| unsafe { ssdlab_create(options, drive, error) })
    }

    pub fn load(&self, bytes: &[u8]) -> Result<Door, (Status, String)> {
        // SAFETY: as above.
        self.make(|options, drive, error| unsafe {
            ssdlab_load(options, bytes.as_ptr().cast(), bytes.len() as u64, drive, error)
        })
    }

    pub fn load_file(&self, path: &CStr) -> Result<Door, (Status, String)> {
        // SAFETY: as above.
        self.make(|options, drive, error| unsafe { ssdlab_load_file(options, path.as_ptr(), drive, error) })
    }
}

/// Takes the text of a record, and releases the record.
fn text(bytes: ByteBuffer) -> String {
    String::from_utf8(taken(bytes)).expect("UTF-8")
}

fn taken(mut bytes: ByteBuffer) -> Vec<u8> {
    // SAFETY: the library wrote the record: there are `size` bytes and a zero byte. It is not used afterwards.
    unsafe {
        let all = std::slice::from_raw_parts(bytes.data.cast::<u8>(), bytes.size as usize + 1);
        assert_eq!(all.last(), Some(&0), "a zero byte follows");
        let copy = all[..all.len() - 1].to_vec();
        ssdlab_free(&mut bytes);
        assert!(bytes.data.is_null() && bytes.size == 0);
        copy
    }
}

/// A drive, which is destroyed at the end.
pub struct Door(pub *mut Handle);

// SAFETY: a drive may be used by one thread after another.
unsafe impl Send for Door {}

impl Drop for Door {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of a drive that lives, or null.
        assert_eq!(unsafe { ssdlab_destroy(&mut self.0) }, Status::Ok);
        assert!(self.0.is_null());
    }
}

impl Door {
    pub fn try_submit(&self, command: &CommandRecord, at: u64) -> Status {
        // SAFETY: the drive lives, and this thread alone has it. The same holds below.
        unsafe { ssdlab_submit(self.0, command, at) }
    }

    #[track_caller]
    pub fn submit(&self, command: &CommandRecord, at: u64) {
        let status = self.try_submit(command, at);
        assert_eq!(status, Status::Ok, "{command:?} at {at}: {}", self.error());
    }

    pub fn hint(&self, commands: &[CommandRecord]) -> Status {
        // SAFETY: see above; there are as many commands.
        unsafe { ssdlab_hint(self.0, commands.as_ptr(), commands.len() as u64) }
    }

    pub fn try_advance(&self, until: u64) -> Status {
        // SAFETY: see above.
        unsafe { ssdlab_advance(self.0, until, null_mut()) }
    }

    #[track_caller]
    pub fn advance(&self, until: u64) -> u64 {
        let mut waiting = u64::MAX;
        // SAFETY: see above.
        let status = unsafe { ssdlab_advance(self.0, until, &mut waiting) };
        assert_eq!(status, Status::Ok, "{}", self.error());
        waiting
    }

    /// Takes at most `most` completions.
    pub fn completions(&self, most: usize) -> Vec<CompletionRecord> {
        let (mut all, mut count) = (vec![CompletionRecord::default(); most], 0);
        // SAFETY: see above; there is memory for `most` records.
        let status = unsafe { ssdlab_completions(self.0, all.as_mut_ptr(), most as u64, null_mut(), &mut count) };
        assert_eq!(status, Status::Ok, "{}", self.error());
        all.truncate(count as usize);
        all
    }

    /// Takes at most `most` completions, with their latencies by cause.
    pub fn completions_with_causes(&self, most: usize) -> Vec<(CompletionRecord, Vec<u64>)> {
        let width = ssdlab_cause_count() as usize;
        let (mut all, mut causes, mut count) = (vec![CompletionRecord::default(); most], vec![0; most * width], 0);
        // SAFETY: see above; there is memory for `most` records and rows.
        let status = unsafe { ssdlab_completions(self.0, all.as_mut_ptr(), most as u64, causes.as_mut_ptr(), &mut count) };
        assert_eq!(status, Status::Ok, "{}", self.error());
        let rows = causes.chunks(width).map(<[u64]>::to_vec);
        all.into_iter().zip(rows).take(count as usize).collect()
    }

    fn number(&self, ask: unsafe extern "C" fn(*mut Handle, *mut u64) -> Status) -> u64 {
        let mut number = 0;
        // SAFETY: see above.
        assert_eq!(unsafe { ask(self.0, &mut number) }, Status::Ok, "{}", self.error());
        number
    }

    pub fn now(&self) -> u64 {
        self.number(ssdlab_now)
    }

    pub fn next_event(&self) -> u64 {
        self.number(ssdlab_next_event)
    }

    pub fn in_flight(&self) -> u64 {
        self.number(ssdlab_in_flight)
    }

    pub fn user_bytes(&self) -> u64 {
        self.number(ssdlab_user_bytes)
    }

    fn bytes(&self, ask: unsafe extern "C" fn(*mut Handle, *mut ByteBuffer) -> Status) -> Result<Vec<u8>, Status> {
        let mut bytes = ByteBuffer::EMPTY;
        // SAFETY: see above.
        match unsafe { ask(self.0, &mut bytes) } {
            Status::Ok => Ok(taken(bytes)),
            status => Err(status),
        }
    }

    pub fn save(&self) -> Result<Vec<u8>, Status> {
        self.bytes(ssdlab_save)
    }

    fn text(&self, ask: unsafe extern "C" fn(*mut Handle, *mut ByteBuffer) -> Status) -> String {
        String::from_utf8(self.bytes(ask).expect("a text")).expect("UTF-8")
    }

    pub fn notes(&self) -> String {
        self.text(ssdlab_notes)
    }

    pub fn description(&self) -> String {
        self.text(ssdlab_description)
    }

    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.text(ssdlab_summary)).expect("JSON")
    }

    /// Returns the number of entries and the hash of the physical history.
    pub fn history(&self) -> (u64, u64) {
        let (mut entries, mut hash) = (0, 0);
        // SAFETY: see above.
        let status = unsafe { ssdlab_history(self.0, &mut entries, &mut hash) };
        assert_eq!(status, Status::Ok, "{}", self.error());
        (entries, hash)
    }

    pub fn error(&self) -> String {
        // SAFETY: see above; the text is valid until the next error.
        unsafe { CStr::from_ptr(ssdlab_last_error(self.0)) }.to_str().expect("UTF-8").to_owned()
    }

    /// Makes a call that takes the drive alone.
    pub fn run(&self, call: unsafe extern "C" fn(*mut Handle) -> Status) -> Status {
        // SAFETY: see above.
        unsafe { call(self.0) }
    }

    pub fn drain(&self) -> u64 {
        let mut waiting = 0;
        // SAFETY: see above.
        assert_eq!(unsafe { ssdlab_drain(self.0, &mut waiting) }, Status::Ok, "{}", self.error());
        waiting
    }
}

/// Returns a read or write of a block of 4 KiB.
pub fn block(op: u8, tag: u32, number: u64) -> CommandRecord {
    CommandRecord { op, tag, offset: number * 4096, length: 4096, ..CommandRecord::default() }
}
