//! Numbers of the protocol, under the names of `doc/proto.md` without their prefix `NBD_`. All are big-endian.

/// First eight bytes of a server: `NBDMAGIC`.
pub const MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Second eight bytes of a server, and the first of each option: `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// First bytes of the reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First bytes of a request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First bytes of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First bytes of a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Handshake flags of a server: fixed newstyle, and no zeroes after the export.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1;
/// The 124 zeroes after `OPT_EXPORT_NAME` can be left out.
pub const FLAG_NO_ZEROES: u16 = 2;

/// Transmission flags.
pub mod transmission {
    /// The other flags have a meaning.
    pub const HAS_FLAGS: u16 = 1;
    /// The export cannot be written.
    pub const READ_ONLY: u16 = 1 << 1;
    /// `CMD_FLUSH` is served.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// `CMD_FLAG_FUA` is served.
    pub const SEND_FUA: u16 = 1 << 3;
    /// `CMD_TRIM` is served.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// `CMD_WRITE_ZEROES` is served.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// `CMD_FLAG_DF` is served.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers the writes of all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Options of the negotiation.
pub mod option {
    /// Ends the negotiation without replies.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the connection.
    pub const ABORT: u32 = 2;
    /// Asks for the names of the exports.
    pub const LIST: u32 = 3;
    /// Asks for the facts of an export.
    pub const INFO: u32 = 6;
    /// Asks for the facts of an export, and ends the negotiation.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Asks for the names of metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Selects metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub mod reply {
    /// The option is served.
    pub const ACK: u32 = 1;
    /// Name of an export.
    pub const SERVER: u32 = 2;
    /// A fact of an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// The option is not known.
    pub const ERR_UNSUP: u32 = 0x8000_0001;
    /// The option is malformed.
    pub const ERR_INVALID: u32 = 0x8000_0003;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = 0x8000_0006;
    /// The option is too large.
    pub const ERR_TOO_BIG: u32 = 0x8000_0009;
}

/// Facts of an export.
pub mod info {
    /// Size and flags.
    pub const EXPORT: u16 = 0;
    /// Canonical name.
    pub const NAME: u16 = 1;
    /// Text for people.
    pub const DESCRIPTION: u16 = 2;
    /// Smallest, preferred and largest request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Commands.
pub mod command {
    /// Reads a range.
    pub const READ: u16 = 0;
    /// Writes a range.
    pub const WRITE: u16 = 1;
    /// Ends the connection, once all requests are answered.
    pub const DISC: u16 = 2;
    /// Makes completed writes durable.
    pub const FLUSH: u16 = 3;
    /// Deallocates a range.
    pub const TRIM: u16 = 4;
    /// Makes a range zeroes.
    pub const WRITE_ZEROES: u16 = 6;
    /// Asks which parts of a range hold data.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of commands.
pub mod flag {
    /// The command completes once its data is durable.
    pub const FUA: u16 = 1;
    /// Zeroes are written, not deallocated.
    pub const NO_HOLE: u16 = 2;
    /// The reply has one chunk.
    pub const DF: u16 = 4;
    /// The reply has one extent.
    pub const REQ_ONE: u16 = 8;
}

/// Chunks of structured replies.
pub mod chunk {
    /// Flag of the last chunk.
    pub const DONE: u16 = 1;
    /// Data of a read.
    pub const OFFSET_DATA: u16 = 1;
    /// Extents of a metadata context.
    pub const BLOCK_STATUS: u16 = 5;
    /// An error.
    pub const ERROR: u16 = 1 << 15 | 1;
}

/// Flags of an extent of `base:allocation` that is not allocated and reads as zeroes.
pub const HOLE_AND_ZERO: u32 = 3;

/// An error of a request, by its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The drive is read-only.
    Perm = 1,
    /// The data is lost, or the power was.
    Io = 5,
    /// The request is malformed: beyond the end, not of whole blocks, unknown.
    Inval = 22,
    /// A write beyond the end, or more contents than their limit.
    NoSpc = 28,
    /// The request is larger than a request may be.
    Overflow = 75,
    /// The request is not served.
    NotSup = 95,
}
