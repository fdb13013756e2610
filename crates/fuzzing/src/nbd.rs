//! Bytes of a client of a block device: they give the same requests and replies whatever the parts they come in, and
//! every request is valid.

use crate::text;
use arbitrary::Arbitrary;
use serve::connection::{Connection, Export, Kind, MAX_LENGTH};
use std::sync::Arc;

/// Size of the export, and its unit \[bytes\].
const SIZE: u64 = 64 << 20;
const BLOCK: u32 = 512;
/// Largest buffer: a request, and as much again as is read at a time.
const BUFFER_MAX: usize = MAX_LENGTH as usize + (1 << 20);
/// Most bytes of an option or a payload that is rendered.
const BYTES_MAX: usize = 4096;

#[derive(Arbitrary, Debug)]
struct Session {
    /// Flags of the client; absent: those of fixed newstyle.
    flags: Option<u32>,
    options: Vec<Sent>,
    /// True if the negotiation ends with `OPT_GO`.
    goes: bool,
    requests: Vec<Asked>,
    rest: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
struct Sent {
    number: u8,
    /// Length as stated; absent: that of the data.
    length: Option<u32>,
    data: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
struct Asked {
    magic: Option<u32>,
    flags: u16,
    code: u8,
    cookie: u64,
    block: u32,
    offset: Option<u64>,
    blocks: u16,
    length: Option<u32>,
    payload: u8,
}

impl Session {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.flags.unwrap_or(3).to_be_bytes().to_vec();
        for Sent { number, length, data } in &self.options {
            let data = &data[..data.len().min(BYTES_MAX)];
            option(&mut bytes, u32::from(*number % 12), length.unwrap_or(data.len() as u32), data);
        }
        if self.goes {
            option(&mut bytes, 7, 6, &[0; 6]);
        }
        for asked in &self.requests {
            let length = asked.length.unwrap_or(u32::from(asked.blocks % 9) * BLOCK);
            bytes.extend_from_slice(&asked.magic.unwrap_or(0x2560_9513).to_be_bytes());
            bytes.extend_from_slice(&asked.flags.to_be_bytes());
            bytes.extend_from_slice(&u16::from(asked.code % 10).to_be_bytes());
            bytes.extend_from_slice(&asked.cookie.to_be_bytes());
            let offset = asked.offset.unwrap_or(u64::from(asked.block) * u64::from(BLOCK) % (SIZE + 4096));
            bytes.extend_from_slice(&offset.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
            if asked.code % 10 == 1 {
                bytes.resize(bytes.len() + (length as usize).min(BYTES_MAX), asked.payload);
            }
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }
}

fn option(bytes: &mut Vec<u8>, number: u32, length: u32, data: &[u8]) {
    bytes.extend_from_slice(b"IHAVEOPT");
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(data);
}

/// Checks the bytes of a client: an input that is not a value is all of them.
pub fn check(input: &[u8]) {
    let bytes = text::typed::<Session>(input).map_or_else(|| input.to_vec(), |session| session.bytes());
    let whole = served(&bytes, usize::MAX);
    for step in [1, 7, 4096] {
        assert!(served(&bytes, step) == whole, "other requests or replies in parts of {step} bytes");
    }
}

/// Gives bytes to a connection, at most `step` at a time. Returns what became of them: the requests as texts, all bytes
/// that are sent, and the complaint.
fn served(mut bytes: &[u8], step: usize) -> (Vec<String>, Vec<u8>, Option<String>) {
    let export = Export { name: "tiny".to_owned(), size: SIZE, block: BLOCK, preferred: 4096 };
    let mut connection = Connection::new(Arc::new(export));
    let (mut requests, mut sent) = (Vec::new(), Vec::new());
    loop {
        loop {
            let request = connection.next_request();
            let count = connection.unsent().len();
            sent.extend_from_slice(connection.unsent());
            connection.sent(count);
            let Some(request) = request else {
                // The negotiation stops where many replies wait, and goes on once they are sent.
                if count == 0 { break } else { continue }
            };
            let payload = connection.payload(&request);
            let (end, is_flush) = (request.offset.checked_add(u64::from(request.length)), request.kind == Kind::Flush);
            assert!(end.is_some_and(|end| end <= SIZE), "{request:?}");
            assert!(is_flush == (request.length == 0) && request.length % BLOCK == 0 && request.offset % u64::from(BLOCK) == 0);
            let is_write = request.kind == Kind::Write;
            assert!(payload.len() == if is_write { request.length as usize } else { 0 }, "{request:?}");
            let sum = crc32fast::hash(payload);
            let (kind, cookie, flags, offset, length) =
                (request.kind, request.cookie, request.flags, request.offset, request.length);
            requests.push(format!("{kind:?} {cookie} {flags} {offset} {length} {sum}"));
            match kind {
                Kind::Read => connection.reply_data(cookie, offset, &[0; 8]),
                _ => connection.reply_done(cookie),
            }
        }
        if bytes.is_empty() || connection.has_ended() {
            return (requests, sent, connection.complaint().map(str::to_owned));
        }
        let space = connection.space();
        assert!(!space.is_empty() && space.len() <= BUFFER_MAX, "{} bytes", space.len());
        let count = space.len().min(bytes.len()).min(step);
        space[..count].copy_from_slice(&bytes[..count]);
        connection.received(count);
        bytes = &bytes[count..];
    }
}
