//! Replies to requests.

use super::handshake::CONTEXT_ID;
use super::{Connection, Kind};
use crate::wire::{self, Errno, chunk};

/// Part of a range that holds data, or reads as zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of bytes.
    pub length: u32,
    /// True if the bytes are zeroes that take no space.
    pub is_hole: bool,
}

impl Connection {
    /// Answers a request that has no data.
    pub fn reply_done(&mut self, cookie: u64) {
        self.simple(cookie, 0);
    }

    /// Answers a request with an error.
    pub fn reply_error(&mut self, kind: Kind, cookie: u64, error: Errno) {
        if self.is_structured && matches!(kind, Kind::Read | Kind::BlockStatus) {
            self.chunk(cookie, chunk::ERROR, 6);
            self.output.extend_from_slice(&(error as u32).to_be_bytes());
            self.output.extend_from_slice(&0u16.to_be_bytes());
        } else {
            self.simple(cookie, error as u32);
        }
    }

    /// Answers a read.
    pub fn reply_data(&mut self, cookie: u64, offset: u64, data: &[u8]) {
        if self.is_structured {
            self.chunk(cookie, chunk::OFFSET_DATA, 8 + data.len() as u32);
            self.output.extend_from_slice(&offset.to_be_bytes());
        } else {
            self.simple(cookie, 0);
        }
        self.output.extend_from_slice(data);
    }

    /// Answers a question for extents.
    pub fn reply_extents(&mut self, cookie: u64, extents: &[Extent]) {
        self.chunk(cookie, chunk::BLOCK_STATUS, 4 + 8 * extents.len() as u32);
        self.output.extend_from_slice(&CONTEXT_ID.to_be_bytes());
        for extent in extents {
            self.output.extend_from_slice(&extent.length.to_be_bytes());
            let flags = if extent.is_hole { wire::HOLE_AND_ZERO } else { 0 };
            self.output.extend_from_slice(&flags.to_be_bytes());
        }
    }

    fn simple(&mut self, cookie: u64, error: u32) {
        self.output.extend_from_slice(&wire::SIMPLE_REPLY_MAGIC.to_be_bytes());
        self.output.extend_from_slice(&error.to_be_bytes());
        self.output.extend_from_slice(&cookie.to_be_bytes());
    }

    /// Begins the only chunk of a reply, of `length` bytes.
    fn chunk(&mut self, cookie: u64, kind: u16, length: u32) {
        self.output.extend_from_slice(&wire::STRUCTURED_REPLY_MAGIC.to_be_bytes());
        self.output.extend_from_slice(&chunk::DONE.to_be_bytes());
        self.output.extend_from_slice(&kind.to_be_bytes());
        self.output.extend_from_slice(&cookie.to_be_bytes());
        self.output.extend_from_slice(&length.to_be_bytes());
    }
}
