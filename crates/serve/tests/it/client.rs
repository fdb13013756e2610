//! A server in a thread, and a client of it.

use drive::embed::{Builder, EmbeddedDrive};
use kit::Nanos;
use serde_json::Value;
use serve::server::Host;
use serve::{Clock, Ended, Options, serve};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait for a reply: far more than any needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A drive with a volatile write buffer.
pub const BUFFERED: &[&str] = &["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];

pub fn builder(sets: &[&str]) -> Builder {
    let builder = Builder::preset("tiny").expect("a preset").contents(1 << 30).power_losses().history();
    sets.iter().fold(builder, |builder, set| builder.set(set))
}

/// A server in a thread.
pub struct Server {
    pub socket: PathBuf,
    thread: Option<JoinHandle<Ended>>,
    remarks: Mutex<Receiver<String>>,
}

struct Around(Sender<String>);

impl Host for Around {
    fn goes_on(&mut self) -> bool {
        true
    }

    fn remark(&mut self, text: &str) {
        // A test that has ended does not listen.
        let _ = self.0.send(text.to_owned());
    }
}

impl Server {
    pub fn start(sets: &[&str]) -> Server {
        Server::of(builder(sets), Clock::Simulated { think: Nanos(0), depth: 1 })
    }

    pub fn of(builder: Builder, clock: Clock) -> Server {
        let drive = builder.build().unwrap_or_else(|error| panic!("{error}"));
        Server::with(drive, builder, clock)
    }

    pub fn with(drive: EmbeddedDrive, builder: Builder, clock: Clock) -> Server {
        Server::recording(drive, builder, clock, None)
    }

    pub fn recording(drive: EmbeddedDrive, builder: Builder, clock: Clock, record: Option<File>) -> Server {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = std::env::temp_dir().join(format!("ssdlab-serve-{}-{number}", std::process::id()));
        let (to, remarks) = channel();
        let at = socket.clone();
        let thread = std::thread::spawn(move || {
            let load = Box::new(move |name: &str, from: &mut dyn Read| builder.load(name, from, &|_| unreachable!("no files")));
            let options = Options { socket: at, tcp: None, clock, record, load };
            serve(drive, options, &mut Around(to)).unwrap_or_else(|error| panic!("{error}"))
        });
        let server = Server { socket, thread: Some(thread), remarks: Mutex::new(remarks) };
        server.remark("listening at");
        server
    }

    /// Waits for a remark with this text.
    pub fn remark(&self, text: &str) -> String {
        loop {
            let found = self
                .remarks
                .lock()
                .expect("one at a time")
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no remark with `{text}`"));
            if found.contains(text) {
                return found;
            }
        }
    }

    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("a server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    pub fn client(&self) -> Client {
        Client::new(self.connect())
    }

    /// Asks for control, and returns the answer: a result, or a complaint.
    pub fn ask(&self, line: &str) -> Result<Value, String> {
        let mut path = self.socket.clone().into_os_string();
        path.push(".ctl");
        let mut stream = UnixStream::connect(path).expect("a server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(format!("{line}\n").as_bytes()).expect("sent");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("an answer");
        let found: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{answer}: {error}"));
        match found.get("error") {
            Some(complaint) => Err(complaint.as_str().expect("a text").to_owned()),
            None => Ok(found["ok"].clone()),
        }
    }

    pub fn stop(self) -> Ended {
        self.ask(r#"{"do":"stop"}"#).expect("it stops");
        self.join()
    }

    /// Waits for the end of the server.
    pub fn join(mut self) -> Ended {
        let thread = self.thread.take().expect("it runs");
        let ended = thread.join().expect("no panic");
        assert!(!self.socket.exists(), "the socket is removed");
        ended
    }
}

/// Commands of the protocol.
pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZEROES: u16 = 6;
pub const STATUS: u16 = 7;

/// A client with structured replies and extents.
pub struct Client {
    pub stream: UnixStream,
    pub size: u64,
    cookie: u64,
}

/// Reply to a request: its number, error, and data or extents.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub cookie: u64,
    pub error: u32,
    pub data: Vec<u8>,
}

impl Client {
    pub fn new(mut stream: UnixStream) -> Client {
        let greeting = bytes(&mut stream, 18);
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3u32.to_be_bytes()).expect("sent");
        option(&mut stream, 8, &[]);
        let query = [&0u32.to_be_bytes()[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
        option(&mut stream, 10, &query);
        let facts = option(&mut stream, 7, &[0; 6]);
        let size = u64::from_be_bytes(facts[0][2..10].try_into().unwrap());
        Client { stream, size, cookie: 0 }
    }

    /// Sends a request and returns its number.
    pub fn send(&mut self, flags: u16, code: u16, offset: u64, length: u32, payload: &[u8]) -> u64 {
        self.cookie += 1;
        let head = frame(flags, code, self.cookie, offset, length);
        self.stream.write_all(&[&head, payload].concat()).expect("sent");
        self.cookie
    }

    pub fn reply(&mut self) -> Reply {
        let magic = bytes(&mut self.stream, 4);
        if magic == 0x6744_6698u32.to_be_bytes() {
            let rest = bytes(&mut self.stream, 12);
            let (error, cookie) = (word(&rest, 0), u64::from_be_bytes(rest[4..].try_into().unwrap()));
            return Reply { cookie, error, data: Vec::new() };
        }
        assert_eq!(magic, 0x668e_33efu32.to_be_bytes());
        let rest = bytes(&mut self.stream, 16);
        let data = bytes(&mut self.stream, word(&rest, 12) as usize);
        let cookie = u64::from_be_bytes(rest[4..12].try_into().unwrap());
        match u16::from_be_bytes(rest[2..4].try_into().unwrap()) {
            1 => Reply { cookie, error: 0, data: data[8..].to_vec() },
            5 => Reply { cookie, error: 0, data: data[4..].to_vec() },
            _ => Reply { cookie, error: word(&data, 0), data: Vec::new() },
        }
    }

    pub fn call(&mut self, flags: u16, code: u16, offset: u64, length: u32, payload: &[u8]) -> Reply {
        let cookie = self.send(flags, code, offset, length, payload);
        let reply = self.reply();
        assert_eq!(reply.cookie, cookie);
        reply
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        assert_eq!(self.call(0, WRITE, offset, data.len() as u32, data).error, 0);
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let reply = self.call(0, READ, offset, length, &[]);
        assert_eq!(reply.error, 0);
        reply.data
    }

    pub fn flush(&mut self) {
        assert_eq!(self.call(0, FLUSH, 0, 0, &[]).error, 0);
    }

    /// Returns length and flags of the extents of a range.
    pub fn extents(&mut self, offset: u64, length: u32) -> Vec<(u32, u32)> {
        let reply = self.call(0, STATUS, offset, length, &[]);
        reply.data.chunks_exact(8).map(|one| (word(one, 0), word(one, 4))).collect()
    }
}

pub fn frame(flags: u16, code: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let (magic, flags, code) = (0x2560_9513u32.to_be_bytes(), flags.to_be_bytes(), code.to_be_bytes());
    [&magic[..], &flags, &code, &cookie.to_be_bytes(), &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn bytes(stream: &mut UnixStream, count: usize) -> Vec<u8> {
    let mut found = vec![0; count];
    stream.read_exact(&mut found).expect("as many bytes");
    found
}

/// Sends an option, and returns the data of its replies up to the acknowledgement.
fn option(stream: &mut UnixStream, number: u32, data: &[u8]) -> Vec<Vec<u8>> {
    let length = (data.len() as u32).to_be_bytes();
    stream.write_all(&[&b"IHAVEOPT"[..], &number.to_be_bytes(), &length, data].concat()).expect("sent");
    let mut found = Vec::new();
    loop {
        let head = bytes(stream, 20);
        let data = bytes(stream, word(&head, 16) as usize);
        match word(&head, 12) {
            1 => return found,
            kind if kind < 1 << 31 => found.push(data),
            kind => panic!("option {number}: {kind:#x}: {}", String::from_utf8_lossy(&data)),
        }
    }
}

/// Returns bytes that are different at each place and for each `seed`.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let words = (0..length as u64 / 8 + 1).map(|number| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed << 17));
    words.flat_map(u64::to_le_bytes).take(length).collect()
}
