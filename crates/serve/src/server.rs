//! The server: sockets on one side, the drive on the other, in one thread.
//!
//! A round of its loop reads what clients have sent, lets the drive go on to its next completions, and sends the
//! replies. Requests that are in the sockets at the beginning of a round arrive at the drive together.

mod clients;
mod controls;

use crate::clock::{Clock, Dilation, Wall};
use crate::connection::{Connection, Export, Kind, Request};
use crate::engine::{Answer, Engine};
use crate::places::{self, Listening};
use crate::wire::Errno;
use clients::{Client, Link, Stream};
use drive::embed::{EmbedError, EmbeddedDrive};
use kit::{Nanos, SimTime};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::places::address;

/// Tokens of the listening sockets; those of clients follow.
const UNIX: Token = Token(0);
const TCP: Token = Token(1);
const CONTROL: Token = Token(2);
const FIRST_CLIENT: usize = 3;
/// Most connections, of both kinds together.
const CLIENTS: usize = 32;
/// Time between two looks at what the host of the server wants.
const LOOK: Duration = Duration::from_millis(50);
/// Longest negotiation.
const NEGOTIATION: Duration = Duration::from_secs(30);
/// Longest time for which the clock waits for as many requests as it is to wait for.
const HOLD: Duration = Duration::from_millis(2);
/// A wait that is shorter is spent looking at the sockets: the system's waits end up to a millisecond late.
const SPIN: Duration = Duration::from_micros(1500);
/// Denominator of the share of the requests in flight that complete between two looks at the sockets: a look takes as
/// long as a request or two. With fewer in flight, or a clock that waits, there is a look after each completion.
const COALESCED: usize = 4;
/// Most remarks about connections.
const REMARKS: u32 = 50;

/// Function that makes a drive from a saved one, which has a name in messages.
pub type Load = dyn Fn(&str, &mut dyn Read) -> Result<EmbeddedDrive, EmbedError>;

/// Options of a server.
pub struct Options {
    /// Path of the socket. That of the control has `.ctl` at its end.
    pub socket: PathBuf,
    /// Address of this machine at which the server listens, too.
    pub tcp: Option<SocketAddr>,
    /// Clock of the drive.
    pub clock: Clock,
    /// File for a trace of what the clients do.
    pub record: Option<File>,
    /// Makes a drive from a saved one.
    pub load: Box<Load>,
}

/// The program around a server.
pub trait Host {
    /// Returns true if the server is to go on. Called some 20 times a second.
    fn goes_on(&mut self) -> bool;
    /// Takes a remark for people.
    fn remark(&mut self, text: &str);
}

/// The end of a server.
pub struct Ended {
    /// Summary of the measurement, with what the server itself counted.
    pub summary: Value,
    /// The drive, without commands in flight, unless there is a complaint.
    pub drive: EmbeddedDrive,
    /// True if the host ended it; otherwise a request for control did, or a complaint.
    pub was_interrupted: bool,
    /// Reason for which the server could not go on.
    pub complaint: Option<String>,
    /// Error that ended the record early.
    pub unrecorded: Option<std::io::Error>,
}

/// Reason for which the loop ends.
enum End {
    Interrupted,
    Asked,
    Complaint(String),
}

struct Server {
    poll: Poll,
    control: Listening,
    unix: Listening,
    tcp: Option<TcpListener>,
    export: Arc<Export>,
    engine: Engine,
    clock: Clock,
    dilation: Option<Dilation>,
    clients: Vec<Option<Client>>,
    /// Clients for which there are replies.
    touched: Vec<usize>,
    next_id: u64,
    accepts: bool,
    connections: u64,
    refused: u64,
    looked: Wall,
    /// Instant at which the latest request came.
    heard: Wall,
    remarks: Vec<String>,
    remarked: u32,
    end: Option<End>,
    snapshots: BTreeMap<String, Vec<u8>>,
    options: Options,
}

/// Serves a drive that keeps its contents, until the host or a request for control ends that. The error says why it
/// could not begin; nothing was changed then.
pub fn serve(drive: EmbeddedDrive, mut options: Options, host: &mut dyn Host) -> Result<Ended, String> {
    if !drive.has_contents() {
        return Err("the drive keeps no contents: expected one that was built with contents".to_owned());
    }
    let mut control = options.socket.clone().into_os_string();
    control.push(".ctl");
    let (unix, control) = (places::listen(&options.socket)?, places::listen(&PathBuf::from(control))?);
    let tcp = options.tcp.map(|at| TcpListener::bind(at).map_err(|error| format!("{at}: {error}"))).transpose()?;
    let block = drive.logical_block().max(512) as u32;
    let export = Export {
        name: drive.name().to_owned(),
        size: drive.user_bytes() / u64::from(block) * u64::from(block),
        block,
        preferred: drive.unit_bytes().max(4096) as u32,
    };
    let dilation = match options.clock {
        Clock::Dilated { factor } => Some(Dilation::new(factor)),
        Clock::Simulated { .. } => None,
    };
    let poll = Poll::new().map_err(|error| format!("the sockets cannot be waited for: {error}"))?;
    let engine = Engine::new(drive, options.record.take());
    let mut server = Server {
        poll,
        control,
        unix,
        tcp,
        export: Arc::new(export),
        engine,
        clock: options.clock,
        dilation,
        clients: Vec::new(),
        touched: Vec::new(),
        next_id: 0,
        accepts: true,
        connections: 0,
        refused: 0,
        looked: Wall::now(),
        heard: Wall::now(),
        remarks: Vec::new(),
        remarked: 0,
        end: None,
        snapshots: BTreeMap::new(),
        options,
    };
    server.register().map_err(|error| format!("the sockets cannot be waited for: {error}"))?;
    server.greet(host);
    let end = server.run(host).unwrap_or_else(|error| End::Complaint(format!("the sockets cannot be waited for: {error}")));
    Ok(server.ended(end))
}

impl Server {
    fn register(&mut self) -> std::io::Result<()> {
        let registry = self.poll.registry();
        registry.register(&mut self.unix.listener, UNIX, Interest::READABLE)?;
        registry.register(&mut self.control.listener, CONTROL, Interest::READABLE)?;
        if let Some(tcp) = &mut self.tcp {
            registry.register(tcp, TCP, Interest::READABLE)?;
        }
        Ok(())
    }

    fn greet(&self, host: &mut dyn Host) {
        host.remark(&format!("listening at {}", self.options.socket.display()));
        if let Some(at) = self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()) {
            host.remark(&format!("listening at {at}"));
        }
    }

    fn run(&mut self, host: &mut dyn Host) -> std::io::Result<End> {
        let mut events = Events::with_capacity(64);
        loop {
            let was_interrupted = self.wait(&mut events)?;
            if was_interrupted || self.looked.elapsed() >= LOOK {
                self.looked = Wall::now();
                if !host.goes_on() {
                    return Ok(End::Interrupted);
                }
                self.drop_slow();
            }
            if self.accepts {
                self.accept();
            }
            self.hear();
            self.go_on();
            self.send();
            self.remarks.drain(..).for_each(|text| host.remark(&text));
            if let Some(end) = self.end.take() {
                return Ok(end);
            }
        }
    }

    /// Waits until there is something to do. Returns true if a signal ended the wait.
    fn wait(&mut self, events: &mut Events) -> std::io::Result<bool> {
        let timeout = if self.clients.iter().flatten().any(Client::has_work) { Duration::ZERO } else { self.idle_for() };
        if let Err(error) = self.poll.poll(events, Some(timeout)) {
            return if error.kind() == ErrorKind::Interrupted { Ok(true) } else { Err(error) };
        }
        for event in events.iter() {
            let Some(slot) = event.token().0.checked_sub(FIRST_CLIENT) else {
                self.accepts = true;
                continue;
            };
            let Some(client) = self.clients.get_mut(slot).and_then(Option::as_mut) else { continue };
            client.is_readable |= event.is_readable() || event.is_read_closed();
            client.is_closed |= event.is_read_closed() || event.is_error();
            if event.is_writable() {
                self.touched.push(slot);
            }
        }
        Ok(false)
    }

    /// Returns the time for which nothing is to be done, unless a client sends something.
    fn idle_for(&self) -> Duration {
        let drive = self.engine.drive();
        match (&self.dilation, drive.next_event()) {
            (None, _) if self.holds() => Duration::from_millis(1),
            (None, _) if self.engine.in_flight() > 0 => Duration::ZERO,
            (Some(dilation), Some(at)) => match dilation.until(at) {
                until if until >= SPIN => Duration::from_millis(until.as_millis() as u64).min(LOOK),
                _ if self.engine.in_flight() > 0 => Duration::ZERO,
                _ => Duration::from_millis(1),
            },
            _ => LOOK,
        }
    }

    /// Returns true if the simulated clock waits for more requests.
    fn holds(&self) -> bool {
        let Clock::Simulated { depth, .. } = self.clock else { return false };
        let in_flight = self.engine.in_flight() as u64;
        depth > 1 && (1..depth).contains(&in_flight) && self.heard.elapsed() < HOLD
    }

    /// Takes new connections.
    fn accept(&mut self) {
        self.accepts = false;
        while let Some(stream) = self.accepted(|server| server.unix.listener.accept().map(|found| Stream::Unix(found.0))) {
            let link = Link::Requests(Connection::new(Arc::clone(&self.export)));
            self.welcome(stream, link);
        }
        while let Some(stream) = self.accepted(|server| match &server.tcp {
            None => Err(ErrorKind::WouldBlock.into()),
            Some(tcp) => tcp.accept().map(|(stream, _)| {
                // Small replies are sent at once; where that cannot be set, they are sent later.
                let _ = stream.set_nodelay(true);
                Stream::Tcp(stream)
            }),
        }) {
            let link = Link::Requests(Connection::new(Arc::clone(&self.export)));
            self.welcome(stream, link);
        }
        while let Some(stream) = self.accepted(|server| server.control.listener.accept().map(|found| Stream::Unix(found.0))) {
            self.welcome(stream, Link::Control { input: Vec::new(), output: Vec::new() });
        }
    }

    fn accepted(&mut self, accept: impl Fn(&Server) -> std::io::Result<Stream>) -> Option<Stream> {
        loop {
            match accept(self) {
                Ok(stream) => return Some(stream),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => {
                    self.remark(format!("a connection cannot be taken: {error}"));
                    return None;
                }
            }
        }
    }

    /// Gives a new client a place, if one is free.
    fn welcome(&mut self, mut stream: Stream, link: Link) {
        let slot = self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
        let token = Token(FIRST_CLIENT + slot);
        if slot >= CLIENTS || stream.register(&self.poll, token).is_err() {
            self.refused += 1;
            self.remark(format!("a connection is refused: {CLIENTS} are open"));
            return;
        }
        if slot == self.clients.len() {
            self.clients.push(None);
        }
        self.connections += u64::from(matches!(link, Link::Requests(_)));
        self.next_id += 1;
        self.clients[slot] = Some(Client::new(self.next_id, stream, link));
        self.touched.push(slot);
    }

    fn remark(&mut self, text: String) {
        self.remarked += 1;
        if self.remarked < REMARKS {
            self.remarks.push(text);
        } else if self.remarked == REMARKS {
            self.remarks.push("further remarks about connections are left out".to_owned());
        }
    }

    /// Ends connections whose negotiation takes too long.
    fn drop_slow(&mut self) {
        for slot in 0..self.clients.len() {
            let is_slow = |client: &Client| match &client.link {
                Link::Requests(connection) => !connection.is_negotiated() && client.since.elapsed() > NEGOTIATION,
                Link::Control { .. } => false,
            };
            if self.clients[slot].as_ref().is_some_and(is_slow) {
                self.clients[slot] = None;
                self.remark(format!("a connection has ended: no negotiation within {} s", NEGOTIATION.as_secs()));
            }
        }
    }

    /// Reads what clients have sent.
    fn hear(&mut self) {
        for slot in 0..self.clients.len() {
            let Some(client) = self.clients[slot].as_ref().filter(|client| client.has_work()) else { continue };
            match client.link {
                Link::Requests(_) => self.receive(slot),
                Link::Control { .. } => self.receive_control(slot),
            }
        }
    }

    /// Takes requests of a client, as many as it may have in flight, and reads its socket once.
    fn receive(&mut self, slot: usize) {
        let mut is_read = false;
        loop {
            let Some(client) = &mut self.clients[slot] else { return };
            let is_blocked = client.is_blocked();
            let Link::Requests(connection) = &mut client.link else { return };
            client.is_stopped = is_blocked;
            if is_blocked {
                return;
            }
            if let Some(request) = connection.next_request() {
                self.take(slot, &request);
                continue;
            }
            if !connection.unsent().is_empty() || connection.has_ended() {
                self.touched.push(slot);
            }
            if connection.has_ended() || !client.is_readable || is_read {
                return;
            }
            is_read = true;
            let space = connection.space();
            let length = space.len();
            match client.stream.read(space) {
                Ok(0) => return self.leave(slot),
                Ok(count) => {
                    connection.received(count);
                    client.is_readable = count == length || client.is_closed;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => client.is_readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.leave(slot),
            }
        }
    }

    /// Forgets a client that has gone. What it asked for is done, and answered by nothing.
    fn leave(&mut self, slot: usize) {
        self.clients[slot] = None;
    }

    /// Takes a request of a client.
    fn take(&mut self, slot: usize, request: &Request) {
        self.heard = Wall::now();
        let at = self.arrival();
        let Some(client) = &mut self.clients[slot] else { return };
        let Link::Requests(connection) = &mut client.link else { return };
        if request.kind == Kind::BlockStatus {
            let extents = self.engine.extents(request);
            connection.reply_extents(request.cookie, &extents);
            self.touched.push(slot);
            return;
        }
        let submitted = match at {
            Some(at) => self.engine.submit(client.id, request, connection.payload(request), at),
            None => Err(Errno::Io),
        };
        match submitted {
            Ok(()) => client.accepted(request),
            Err(error) => {
                connection.reply_error(request.kind, request.cookie, error);
                self.touched.push(slot);
            }
        }
    }

    /// Returns the instant at which a request arrives that is read now; `None` beyond the end of simulated time.
    fn arrival(&mut self) -> Option<SimTime> {
        let at = match (&mut self.dilation, self.clock) {
            (Some(dilation), _) => {
                dilation.begin(self.engine.drive().now());
                let earliest = self.engine.arrival(Nanos::ZERO);
                dilation.now().map_or(earliest, |at| at.max(earliest))
            }
            (None, Clock::Simulated { think, .. }) => self.engine.arrival(think),
            (None, Clock::Dilated { .. }) => self.engine.arrival(Nanos::ZERO),
        };
        (at <= SimTime::LAST).then_some(at)
    }

    /// Lets the drive go on.
    fn go_on(&mut self) {
        let (holds, waits) = (self.holds(), matches!(self.clock, Clock::Simulated { depth, .. } if depth > 1));
        let Server { engine, clients, touched, dilation, .. } = self;
        let mut gone_up = None;
        let went = match dilation {
            None if holds || engine.in_flight() == 0 => Ok(()),
            None => {
                let completions = if waits { 1 } else { (engine.in_flight() / COALESCED).max(1) };
                (0..completions).try_for_each(|_| {
                    engine.advance(SimTime::FOREVER, &mut |answer| deliver(clients, touched, &answer)).map(drop)
                })
            }
            Some(dilation) => loop {
                let Some(now) = dilation.now().filter(|now| *now > engine.drive().now() && *now <= SimTime::LAST) else {
                    break Ok(());
                };
                let stepped = engine.advance(now, &mut |answer| {
                    let latency = Nanos(answer.completed.0.saturating_sub(answer.began.0));
                    gone_up = dilation.note(answer.completed, latency).or(gone_up);
                    deliver(clients, touched, &answer);
                });
                match stepped {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            },
        };
        if let Err(error) = went {
            self.end = Some(End::Complaint(error.text));
        } else if let Some(factor) = gone_up {
            self.end = Some(End::Complaint(format!(
                "--clock {}: this machine does not keep up, replies are later than their latencies: expected dilated:{factor} or more",
                self.clock_name()
            )));
        }
    }

    fn clock_name(&self) -> String {
        match self.clock {
            Clock::Simulated { .. } => "simulated".to_owned(),
            Clock::Dilated { factor } => format!("dilated:{factor}"),
        }
    }

    /// Sends replies, and ends connections that are over.
    fn send(&mut self) {
        for index in 0..self.touched.len() {
            let slot = self.touched[index];
            let Some(client) = self.clients.get_mut(slot).and_then(Option::as_mut) else { continue };
            let is_there = client.send();
            if is_there && !client.is_over() {
                continue;
            }
            let complaint = match &client.link {
                Link::Requests(connection) => connection.complaint().map(str::to_owned),
                Link::Control { .. } => None,
            };
            self.clients[slot] = None;
            if let Some(complaint) = complaint {
                self.remark(format!("a connection has ended: {complaint}"));
            }
        }
        self.touched.clear();
    }

    /// Completes what is in the drive, and returns the end.
    fn ended(mut self, end: End) -> Ended {
        let was_interrupted = matches!(end, End::Interrupted);
        let mut complaint = match end {
            End::Complaint(text) => Some(text),
            End::Interrupted | End::Asked => None,
        };
        if complaint.is_none() {
            complaint = self.drain().err();
            self.send();
        }
        let summary = self.summary();
        let unrecorded = self.engine.finish().err();
        Ended { summary, drive: self.engine.into_drive(), was_interrupted, complaint, unrecorded }
    }

    /// Completes all requests in flight.
    fn drain(&mut self) -> Result<(), String> {
        let Server { engine, clients, touched, .. } = self;
        engine.drain(&mut |answer| deliver(clients, touched, &answer)).map_err(|error| error.text)
    }

    /// Returns the summary so far.
    fn summary(&self) -> Value {
        let mut summary = self.engine.drive().summary();
        summary["server"] = self.figures();
        summary
    }

    /// Returns what the server itself has counted.
    fn figures(&self) -> Value {
        let counts = self.engine.counts();
        let kinds = ["read", "write", "flush", "trim", "write_zeroes", "block_status"];
        let requests: serde_json::Map<String, Value> =
            kinds.iter().zip(counts.requests).map(|(kind, count)| ((*kind).to_owned(), json!(count))).collect();
        let lateness = self.dilation.as_ref().map(|dilation| {
            let (replies, mean, max) = dilation.lateness();
            json!({ "replies": replies, "mean_ns": mean, "max_ns": max })
        });
        json!({
            "clock": self.clock_name(),
            "connections": self.connections,
            "connections_refused": self.refused,
            "requests": requests,
            "requests_failed": counts.failed,
            "requests_in_flight": self.engine.in_flight(),
            "read_bytes": counts.read_bytes,
            "written_bytes": counts.written_bytes,
            "power_losses": counts.power_losses,
            "lateness": lateness,
        })
    }
}

/// Gives a client the answer to its request, if it is still there.
fn deliver(clients: &mut [Option<Client>], touched: &mut Vec<usize>, answer: &Answer<'_>) {
    let of_client = |client: &Option<Client>| client.as_ref().is_some_and(|client| client.id == answer.client);
    let Some(slot) = clients.iter().position(of_client) else { return };
    let Some(client) = &mut clients[slot] else { return };
    client.answer(answer);
    touched.push(slot);
}
