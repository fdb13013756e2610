//! The records and numbers of the C interface, as `ssdlab.h` declares them.

use drive::embed::EmbedErrorKind;
use std::ffi::c_char;

/// Version of the C interface: `SSDLAB_ABI_VERSION` of the header.
pub const ABI_VERSION: u32 = 2;
/// Instant later than any other: `SSDLAB_FOREVER`.
pub const FOREVER: u64 = u64::MAX;

/// Option: completions have latencies by cause.
pub const CAUSES: u32 = 1;
/// Option: the physical history has a digest.
pub const HISTORY: u32 = 2;
/// Option: the host submits at instants of its own.
pub const OPEN_LOOP: u32 = 4;
/// Option: the drive is prepared for losses of power.
pub const POWER_LOSSES: u32 = 8;
/// All options.
pub const OPTIONS_KNOWN: u32 = CAUSES | HISTORY | OPEN_LOOP | POWER_LOSSES;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call has done what it says.
    Ok = 0,
    /// A pointer that the call needs is null, or is not aligned.
    Null = 1,
    /// The program was compiled for another version of the interface.
    Abi = 2,
    /// The pointer does not point to a drive, or the drive was destroyed.
    Handle = 3,
    /// The engine failed in this call or an earlier one; the drive can only be destroyed.
    Poisoned = 4,
    /// Another call on the same drive is under way.
    InUse = 5,
    /// The description, an override or an option has errors: one line each.
    Description = 6,
    /// An argument has a value that is not valid.
    Argument = 7,
    /// The operation is unknown.
    Op = 8,
    /// The range of a command is not in the drive, is empty, or is not a multiple of sectors.
    Range = 9,
    /// An instant lies in the past, or beyond the end of the simulated clock.
    Time = 10,
    /// The call needs a drive without commands in flight.
    InFlight = 11,
    /// The drive is worn out.
    WornOut = 12,
    /// The translation layer cannot go on.
    Failed = 13,
    /// The drive lacks what the call needs.
    Unsupported = 14,
    /// A file cannot be read or written.
    File = 15,
    /// The saved drive cannot be loaded.
    Saved = 16,
    /// The drive has lost power, and must recover first.
    PowerLost = 17,
    /// The contents of the drive would take more than their limit.
    Full = 18,
    /// Some of the data read is lost.
    MediaError = 19,
    /// The drive has become read-only, or refuses the command for another reason.
    Refused = 20,
}

impl Status {
    /// Every status, in the order of its number.
    pub const ALL: [Status; 21] = [
        Status::Ok,
        Status::Null,
        Status::Abi,
        Status::Handle,
        Status::Poisoned,
        Status::InUse,
        Status::Description,
        Status::Argument,
        Status::Op,
        Status::Range,
        Status::Time,
        Status::InFlight,
        Status::WornOut,
        Status::Failed,
        Status::Unsupported,
        Status::File,
        Status::Saved,
        Status::PowerLost,
        Status::Full,
        Status::MediaError,
        Status::Refused,
    ];
}

impl From<EmbedErrorKind> for Status {
    fn from(kind: EmbedErrorKind) -> Status {
        match kind {
            EmbedErrorKind::Description => Status::Description,
            EmbedErrorKind::Saved => Status::Saved,
            EmbedErrorKind::Range => Status::Range,
            EmbedErrorKind::Queue => Status::Argument,
            EmbedErrorKind::Time => Status::Time,
            EmbedErrorKind::InFlight => Status::InFlight,
            EmbedErrorKind::WornOut => Status::WornOut,
            EmbedErrorKind::Failed => Status::Failed,
            EmbedErrorKind::Unsupported | EmbedErrorKind::Stopped => Status::Unsupported,
            EmbedErrorKind::PowerLost => Status::PowerLost,
            EmbedErrorKind::Full => Status::Full,
            EmbedErrorKind::Write => Status::File,
        }
    }
}

/// Options of a new drive: `ssdlab_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of this record in the program \[bytes\].
    pub size: u64,
    /// Version of the interface for which the program was compiled.
    pub abi: u32,
    /// Sum of options.
    pub flags: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Name of a preset; or null.
    pub preset: *const c_char,
    /// Path of a description; or null.
    pub path: *const c_char,
    /// Text of a description; or null.
    pub description: *const c_char,
    /// Name of the description in messages and results; or null.
    pub name: *const c_char,
    /// Mode policy; or null.
    pub policy: *const c_char,
    /// Starting state; or null.
    pub precondition: *const c_char,
    /// Name of the source of the commands in results; or null.
    pub host: *const c_char,
    /// Overrides `KEY=VALUE`.
    pub overrides: *const *const c_char,
    /// Number of overrides.
    pub override_count: u64,
    /// Names of the streams.
    pub streams: *const *const c_char,
    /// Number of streams.
    pub stream_count: u64,
    /// Most bytes of contents; 0: the drive keeps none.
    pub contents: u64,
    /// Folder of a file for the contents; null: they are in memory.
    pub contents_folder: *const c_char,
}

impl Options {
    /// Returns options in which everything has its default, and no drive is named yet.
    pub const fn new() -> Options {
        Options {
            size: size_of::<Options>() as u64,
            abi: ABI_VERSION,
            flags: 0,
            seed: 1,
            preset: std::ptr::null(),
            path: std::ptr::null(),
            description: std::ptr::null(),
            name: std::ptr::null(),
            policy: std::ptr::null(),
            precondition: std::ptr::null(),
            host: std::ptr::null(),
            overrides: std::ptr::null(),
            override_count: 0,
            streams: std::ptr::null(),
            stream_count: 0,
            contents: 0,
            contents_folder: std::ptr::null(),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

/// A command: `ssdlab_command`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandRecord {
    /// First byte of the range.
    pub offset: u64,
    /// Length of the range \[bytes\].
    pub length: u64,
    /// Number chosen by the host.
    pub tag: u32,
    /// Submission queue.
    pub queue: u16,
    /// Stream.
    pub stream: u16,
    /// Operation, as a number.
    pub op: u8,
    /// Sum of modifiers.
    pub flags: u8,
    /// Zero.
    pub reserved: [u8; 6],
}

/// A completed command: `ssdlab_completion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionRecord {
    /// Instant of submission \[ns\].
    pub submitted: u64,
    /// Instant of completion \[ns\].
    pub completed: u64,
    /// First byte of the range; of an append, where its data is.
    pub offset: u64,
    /// Length of the range \[bytes\].
    pub length: u64,
    /// Tag of the command.
    pub tag: u32,
    /// Submission queue.
    pub queue: u16,
    /// Stream.
    pub stream: u16,
    /// Operation, as a number.
    pub op: u8,
    /// Sum of modifiers.
    pub flags: u8,
    /// 1 if some of the data read is lost, otherwise 0.
    pub media_error: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// Status code type and status code of NVMe; 0 for success.
    pub status: u16,
}

/// A chunk: `ssdlab_chunk`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkRecord {
    /// First byte.
    pub start: u64,
    /// First byte that is not written.
    pub write_pointer: u64,
    /// Its erases.
    pub erases: u32,
    /// State, by the codes of the Open-Channel SSD specification.
    pub state: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

/// Sizes and limits of a drive with physical addresses: `ssdlab_geometry`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeometryRecord {
    /// Groups.
    pub groups: u32,
    /// Dies of a group.
    pub dies_per_group: u32,
    /// Chunks of a die.
    pub chunks_per_die: u32,
    /// Mapping units of a chunk.
    pub chunk_units: u32,
    /// Bytes of a mapping unit.
    pub unit_bytes: u32,
    /// Least write to a chunk.
    pub ws_min: u32,
    /// Write at which the drive is fastest.
    pub ws_opt: u32,
    /// Mapping units before the write pointer that cannot be read.
    pub mw_cunits: u32,
    /// Most open chunks; 0 for no limit.
    pub max_open: u32,
    /// Most open chunks of a die; 0 for no limit.
    pub max_open_per_die: u32,
}

/// Figures of a recovery: `ssdlab_recovery`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryRecord {
    /// Time that the recovery took \[ns\].
    pub recovery: u64,
    /// Reads of the flash for it.
    pub recovery_reads: u64,
    /// Mapping units whose durable data was lost.
    pub durable_lost: u64,
    /// Mapping units in the write buffer that were lost.
    pub volatile_lost: u64,
    /// Pages of interrupted programs.
    pub torn_pages: u64,
}

/// A zone: `ssdlab_zone`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneRecord {
    /// First byte.
    pub start: u64,
    /// Bytes that can be written.
    pub capacity: u64,
    /// First byte that is not written.
    pub write_pointer: u64,
    /// State, by the codes of NVMe.
    pub state: u8,
    /// Zero.
    pub reserved: [u8; 7],
}

/// Bytes that the library has allocated, followed by a zero byte: `ssdlab_bytes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ByteBuffer {
    /// First byte; or null.
    pub data: *mut c_char,
    /// Number of bytes, without the zero byte.
    pub size: u64,
}

impl ByteBuffer {
    /// A record without bytes.
    pub const EMPTY: ByteBuffer = ByteBuffer { data: std::ptr::null_mut(), size: 0 };

    /// Allocates a copy of `bytes`.
    pub(crate) fn of(mut bytes: Vec<u8>) -> ByteBuffer {
        let size = bytes.len() as u64;
        bytes.push(0);
        ByteBuffer { data: Box::into_raw(bytes.into_boxed_slice()).cast(), size }
    }
}
