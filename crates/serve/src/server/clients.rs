//! Clients: a socket, and what is known of the program at its other end.

use crate::clock::Wall;
use crate::connection::{Connection, Kind, MAX_LENGTH, Request};
use crate::engine::Answer;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Poll, Token};
use std::io::{ErrorKind, Read, Result, Write};

/// Most requests of a client in flight.
const IN_FLIGHT: u32 = 256;
/// Most bytes of replies that wait for a client, or are being read for it, before another request of it is taken.
const REPLIES: u64 = MAX_LENGTH as u64;
/// The same during the negotiation.
const OPTION_REPLIES: usize = 32 << 10;

/// A socket.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Has the socket waited for.
    pub fn register(&mut self, poll: &Poll, token: Token) -> Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Stream::Unix(stream) => poll.registry().register(stream, token, interest),
            Stream::Tcp(stream) => poll.registry().register(stream, token, interest),
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(into),
            Stream::Tcp(stream) => stream.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }
}

/// The purpose of a connection.
pub(super) enum Link {
    /// Requests for data.
    Requests(Connection),
    /// Requests for control: bytes of an unfinished line, and answers that are not sent.
    Control { input: Vec<u8>, output: Vec<u8> },
}

/// A client.
pub(super) struct Client {
    /// Number that no other client had.
    pub id: u64,
    pub stream: Stream,
    pub link: Link,
    /// True if the socket may have bytes.
    pub is_readable: bool,
    /// True if the client sends nothing more: the socket is read to its end.
    pub is_closed: bool,
    /// True if requests may wait that were read and not taken.
    pub is_stopped: bool,
    pub since: Wall,
    in_flight: u32,
    /// Bytes that reads in flight will return.
    reading: u64,
}

impl Client {
    pub fn new(id: u64, stream: Stream, link: Link) -> Client {
        Client {
            id,
            stream,
            link,
            is_readable: true,
            is_closed: false,
            is_stopped: false,
            since: Wall::now(),
            in_flight: 0,
            reading: 0,
        }
    }

    /// Returns true if no further request is taken for the present.
    pub fn is_blocked(&self) -> bool {
        let Link::Requests(connection) = &self.link else { return false };
        let unsent = connection.unsent().len();
        self.in_flight >= IN_FLIGHT
            || unsent as u64 + self.reading > REPLIES
            || !connection.is_negotiated() && unsent > OPTION_REPLIES
    }

    /// Returns true if something can be read from, or taken for, the client.
    pub fn has_work(&self) -> bool {
        let is_over = matches!(&self.link, Link::Requests(connection) if connection.has_ended());
        (self.is_readable || self.is_stopped) && !is_over && !self.is_blocked()
    }

    /// Notes a request that is in the drive.
    pub fn accepted(&mut self, request: &Request) {
        self.in_flight += 1;
        if request.kind == Kind::Read {
            self.reading += u64::from(request.length);
        }
    }

    /// Replies to a request that was in the drive.
    pub fn answer(&mut self, answer: &Answer<'_>) {
        let Link::Requests(connection) = &mut self.link else { return };
        self.in_flight -= 1;
        if answer.kind == Kind::Read {
            self.reading -= u64::from(answer.length);
        }
        match answer.result {
            Ok(data) if answer.kind == Kind::Read => connection.reply_data(answer.cookie, answer.offset, data),
            Ok(_) => connection.reply_done(answer.cookie),
            Err(error) => connection.reply_error(answer.kind, answer.cookie, error),
        }
    }

    /// Sends what the socket takes. Returns false if the client has gone.
    pub fn send(&mut self) -> bool {
        loop {
            let bytes = match &self.link {
                Link::Requests(connection) => connection.unsent(),
                Link::Control { output, .. } => output,
            };
            if bytes.is_empty() {
                return true;
            }
            match self.stream.write(bytes) {
                Ok(count) => match &mut self.link {
                    Link::Requests(connection) => connection.sent(count),
                    Link::Control { output, .. } => drop(output.drain(..count)),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns true if the connection has ended and all is sent. A client that is not understood is not waited for.
    pub fn is_over(&self) -> bool {
        let Link::Requests(connection) = &self.link else { return false };
        let is_done = self.in_flight == 0 && connection.unsent().is_empty();
        connection.has_ended() && (is_done || connection.complaint().is_some())
    }
}
