//! The protocol of one client: bytes in, requests out, replies in, bytes out. There is no socket, and no drive.
//!
//! Its memory is bounded: one option or request with its payload, and as many bytes of replies as its owner allows
//! ([`Connection::unsent`]).

mod handshake;
mod replies;

pub use replies::Extent;

use crate::wire::{self, Errno, command, flag};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the buffer for what a client sends, unless a request is larger.
const BUFFER: usize = 256 << 10;
/// Largest buffer that is kept once it is empty.
const KEPT: usize = 4 << 20;
/// Bytes of a request before its payload.
const REQUEST: usize = 28;
/// Largest payload of a request, and largest read.
pub const MAX_LENGTH: u32 = 32 << 20;

/// The drive as its clients see it.
#[derive(Clone, Debug)]
pub struct Export {
    /// Its name. Clients may also leave the name empty.
    pub name: String,
    /// User capacity \[bytes\].
    pub size: u64,
    /// Unit of offsets and lengths \[bytes\]: a power of two.
    pub block: u32,
    /// Unit of the map \[bytes\]: smaller writes read first.
    pub preferred: u32,
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a range.
    Read,
    /// Writes its payload.
    Write,
    /// Makes durable what was written before.
    Flush,
    /// Deallocates a range.
    Trim,
    /// Makes a range zeroes.
    WriteZeroes,
    /// Asks which parts of a range hold data.
    BlockStatus,
}

/// A valid request: its range lies within the export, and is of whole blocks. A flush has an empty range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number by which the client knows it.
    pub cookie: u64,
    /// Kind.
    pub kind: Kind,
    /// Flags of [`flag`].
    pub flags: u16,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// Place of the payload, for [`Connection::payload`].
    payload: Range<usize>,
}

impl Request {
    /// Returns true if a flag of [`flag`] is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// State of the negotiation, and of the requests after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The flags of the client are next.
    Flags,
    /// An option is next.
    Options,
    /// A request is next.
    Requests,
    /// The client has ended the connection, or is not understood: nothing more is read.
    Ended,
}

/// Bytes that are thrown away, and the reply that follows them.
#[derive(Clone, Copy, Debug)]
struct Discard {
    left: u64,
    then: Discarded,
}

#[derive(Clone, Copy, Debug)]
enum Discarded {
    Option(u32),
    Request { cookie: u64, error: Errno },
}

/// The protocol of one client.
#[derive(Debug)]
pub struct Connection {
    export: Arc<Export>,
    state: State,
    input: Vec<u8>,
    /// Bytes of `input` that are not handled yet.
    waiting: Range<usize>,
    /// Bytes of the latest request, which its owner may still look at.
    taken: usize,
    discard: Option<Discard>,
    output: Vec<u8>,
    sent: usize,
    no_zeroes: bool,
    is_structured: bool,
    has_status: bool,
    complaint: Option<String>,
}

impl Connection {
    /// Returns the connection of a new client, with the greeting to be sent.
    pub fn new(export: Arc<Export>) -> Connection {
        let mut output = Vec::with_capacity(4096);
        output.extend_from_slice(&wire::MAGIC.to_be_bytes());
        output.extend_from_slice(&wire::OPTION_MAGIC.to_be_bytes());
        output.extend_from_slice(&(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES).to_be_bytes());
        Connection {
            export,
            state: State::Flags,
            input: Vec::new(),
            waiting: 0..0,
            taken: 0,
            discard: None,
            output,
            sent: 0,
            no_zeroes: false,
            is_structured: false,
            has_status: false,
            complaint: None,
        }
    }

    /// Returns the bytes that are to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Notes that the first bytes of [`Connection::unsent`] have been sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        assert!(self.sent <= self.output.len(), "{} of {} bytes sent", self.sent, self.output.len());
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            if self.output.capacity() > KEPT {
                self.output = Vec::new();
            }
        }
    }

    /// Returns true once nothing more is read from the client.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns true once the negotiation is over.
    pub fn is_negotiated(&self) -> bool {
        self.state == State::Requests
    }

    /// Returns the reason why the connection has ended, unless its client has ended it.
    pub fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Returns the place for the next bytes of the client: never empty. All requests in what came before have been
    /// taken ([`Connection::next`]).
    pub fn space(&mut self) -> &mut [u8] {
        self.consume();
        let needed = self.needed().max(1);
        if self.waiting.is_empty() {
            self.waiting = 0..0;
            if self.input.len() > KEPT && needed <= BUFFER {
                self.input = Vec::new();
            }
        }
        if self.waiting.start > 0 && self.waiting.start + needed > self.input.len() || self.waiting.end == self.input.len() {
            self.input.copy_within(self.waiting.clone(), 0);
            self.waiting = 0..self.waiting.len();
        }
        let wanted = needed.max(BUFFER).max(self.waiting.end + 1);
        if self.input.len() < wanted {
            self.input.resize(wanted, 0);
        }
        &mut self.input[self.waiting.end..]
    }

    /// Notes that the first bytes of [`Connection::space`] have come.
    pub fn received(&mut self, count: usize) {
        self.waiting.end += count;
        assert!(self.waiting.end <= self.input.len(), "{} bytes in {}", self.waiting.end, self.input.len());
    }

    /// Returns the next valid request; `None` if more bytes are needed. Options are answered on the way, and so are
    /// requests that are not valid.
    pub fn next_request(&mut self) -> Option<Request> {
        loop {
            self.consume();
            if self.discard.is_some() && !self.discards() {
                return None;
            }
            match self.state {
                State::Ended => return None,
                State::Flags | State::Options => {
                    if !self.negotiate() {
                        return None;
                    }
                }
                State::Requests => match self.parse()? {
                    Ok(request) => return Some(request),
                    Err(()) => continue,
                },
            }
        }
    }

    /// Returns the payload of the latest request.
    pub fn payload(&self, request: &Request) -> &[u8] {
        &self.input[request.payload.clone()]
    }

    /// Forgets the bytes of the latest request.
    fn consume(&mut self) {
        self.waiting.start += std::mem::take(&mut self.taken);
    }

    fn peek(&self) -> &[u8] {
        &self.input[self.waiting.clone()]
    }

    /// Returns the bytes that the option or request needs that is next, as far as is known.
    fn needed(&self) -> usize {
        let bytes = self.peek();
        match self.state {
            State::Requests if bytes.len() >= REQUEST && u16_at(bytes, 6) == command::WRITE => {
                REQUEST + u32_at(bytes, 24).min(MAX_LENGTH) as usize
            }
            State::Requests => REQUEST,
            State::Flags | State::Options | State::Ended => handshake::LARGEST,
        }
    }

    /// Throws bytes away. Returns true once all of them have been, and the reply is given.
    fn discards(&mut self) -> bool {
        let Some(Discard { left, then }) = self.discard else { return true };
        let count = left.min(self.waiting.len() as u64);
        self.waiting.start += count as usize;
        if count < left {
            self.discard = Some(Discard { left: left - count, then });
            return false;
        }
        self.discard = None;
        match then {
            Discarded::Option(option) => self.option_reply(option, wire::reply::ERR_TOO_BIG, b"the option is too large"),
            Discarded::Request { cookie, error } => self.reply_error(Kind::Write, cookie, error),
        }
        true
    }

    /// Ends the connection for a reason.
    fn end(&mut self, complaint: impl Into<String>) {
        self.state = State::Ended;
        self.complaint = Some(complaint.into());
    }

    /// Takes the next request. `None`: more bytes are needed, or the connection has ended; an error: it was answered.
    fn parse(&mut self) -> Option<Result<Request, ()>> {
        let bytes = self.peek();
        if bytes.len() < REQUEST {
            return None;
        }
        let (magic, flags, code) = (u32_at(bytes, 0), u16_at(bytes, 4), u16_at(bytes, 6));
        let (cookie, offset, length) = (u64_at(bytes, 8), u64_at(bytes, 16), u32_at(bytes, 24));
        if magic != wire::REQUEST_MAGIC {
            let expected = wire::REQUEST_MAGIC;
            self.end(format!("a request begins with {magic:#010x}: expected {expected:#010x}, as NBD has it"));
            return None;
        }
        if code == command::DISC {
            self.state = State::Ended;
            return None;
        }
        let payload = if code == command::WRITE { length as usize } else { 0 };
        if payload > MAX_LENGTH as usize {
            self.waiting.start += REQUEST;
            let then = Discarded::Request { cookie, error: Errno::Overflow };
            self.discard = Some(Discard { left: u64::from(length), then });
            return Some(Err(()));
        }
        if self.waiting.len() < REQUEST + payload {
            return None;
        }
        let kind = match kind_of(code).ok_or(Errno::NotSup).and_then(|kind| self.checked(kind, flags, offset, length)) {
            Ok(kind) => kind,
            Err(error) => {
                self.waiting.start += REQUEST + payload;
                self.reply_error(kind_of(code).unwrap_or(Kind::Write), cookie, error);
                return Some(Err(()));
            }
        };
        self.taken = REQUEST + payload;
        let begin = self.waiting.start + REQUEST;
        Some(Ok(Request { cookie, kind, flags, offset, length, payload: begin..begin + payload }))
    }

    /// Returns the kind of a request, if its flags and its range are valid.
    fn checked(&self, kind: Kind, flags: u16, offset: u64, length: u32) -> Result<Kind, Errno> {
        let known = match kind {
            Kind::Read if self.is_structured => flag::FUA | flag::DF,
            Kind::Read | Kind::Write | Kind::Flush | Kind::Trim => flag::FUA,
            Kind::WriteZeroes => flag::FUA | flag::NO_HOLE,
            Kind::BlockStatus => flag::FUA | flag::REQ_ONE,
        };
        if flags & !known != 0 || kind == Kind::BlockStatus && !self.has_status {
            return Err(Errno::Inval);
        }
        if kind == Kind::Flush {
            return if offset == 0 && length == 0 { Ok(kind) } else { Err(Errno::Inval) };
        }
        if length == 0 || !(offset | u64::from(length)).is_multiple_of(u64::from(self.export.block)) {
            return Err(Errno::Inval);
        }
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > self.export.size) {
            let writes = matches!(kind, Kind::Write | Kind::WriteZeroes);
            return Err(if writes { Errno::NoSpc } else { Errno::Inval });
        }
        if kind == Kind::Read && length > MAX_LENGTH {
            return Err(Errno::Overflow);
        }
        Ok(kind)
    }
}

fn kind_of(code: u16) -> Option<Kind> {
    Some(match code {
        command::READ => Kind::Read,
        command::WRITE => Kind::Write,
        command::FLUSH => Kind::Flush,
        command::TRIM => Kind::Trim,
        command::WRITE_ZEROES => Kind::WriteZeroes,
        command::BLOCK_STATUS => Kind::BlockStatus,
        _ => return None,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
