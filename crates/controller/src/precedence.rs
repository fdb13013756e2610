//! Precedence of work at a server: some work goes first, and other work yields to it.
//!
//! Work that goes first is accepted like any other, at once, with the instant at which it is done. Work that yields is
//! accepted only when a server is free; until then it waits in a line, first in, first out. A line that waits is
//! granted in the dispatch phase ([`Event::Server`]) of the instant at which a server is free, so that all work of that
//! instant which goes first is accepted before. If work that goes first has been accepted meanwhile, the line waits for
//! its end, too. An idle server takes the work that asks first, whichever kind it is.
//!
//! Where work takes turns ([`Lines::alternate`]), what waits first in the line is accepted between two pieces of work
//! that go first. It is accepted when the second of them asks, since its turn is known then.
//!
//! Work that yields is not interrupted once it is accepted, except on a wire that carries it in packets: there, work
//! that goes first is done between two packets, and delays the rest. Its end, which was scheduled when it was accepted,
//! is then scheduled anew as it comes ([`Lines::delayed_until`]). Work is done in whole packets from its beginning; the
//! time of a packet is rounded up to a nanosecond, so that a packet boundary can be late by a nanosecond for each
//! packet before it.

use crate::resource::Server;
use kit::queue::Class;
use kit::{Event, Events, Nanos, SimTime, TransactionId};
use std::collections::VecDeque;

/// Place of a step's work among the work of others at its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// In the order of asking. All work of the server is.
    InOrder,
    /// Before work that yields.
    First,
    /// After work that goes first.
    Yields,
}

/// Servers that share work: those that follow each other from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Index of the first server.
    pub first: u16,
    /// Number of servers.
    pub count: u16,
}

impl Pool {
    /// Returns the server that is free first.
    #[inline]
    pub fn first_free(self, servers: &[Server]) -> u16 {
        if self.count == 1 {
            return self.first;
        }
        let free_at = |server: &u16| servers[usize::from(*server)].free_at();
        (self.first..self.first + self.count).min_by_key(free_at).unwrap_or(self.first)
    }
}

/// Work that yields and waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: TransactionId,
    time: Nanos,
    /// Bytes of data that it carries.
    bytes: u64,
}

/// Work that waited and is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its transaction.
    pub id: TransactionId,
    /// Instant at which it begins.
    pub begins: SimTime,
    /// Instant at which it is done.
    pub ends: SimTime,
}

/// The work that yields at the servers of a pool.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Number of servers of the pool.
    count: u16,
    waiting: VecDeque<Waiting>,
    /// True if work of both kinds takes turns.
    alternates: bool,
    /// True if the last work that was accepted goes first.
    last_goes_first: bool,
    /// True if a grant is scheduled.
    grant_is_due: bool,
    /// Time of a packet of work that yields; zero where it is not interrupted.
    packet: Nanos,
    /// Where there are packets: the beginning of the work that yields, moved by each interruption, and its end.
    begun: SimTime,
    ends: SimTime,
    /// Where there are packets: the end of all accepted work that goes first, and of the part of it that somebody waits
    /// for.
    first_until: SimTime,
    watched_until: SimTime,
}

/// The work that yields, by the first server of its pool.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Makes space for the lines of `count` servers.
    pub fn resize(&mut self, count: usize) {
        self.lines.resize_with(count, Line::default);
    }

    /// Lets work that yields at a server be interrupted between packets of this time.
    pub fn cut(&mut self, server: u16, packet: Nanos) {
        self.resize(self.lines.len().max(usize::from(server) + 1));
        self.lines[usize::from(server)].packet = packet;
    }

    /// Lets work of both kinds take turns at the pools that begin with these servers, where both wait.
    pub fn alternate(&mut self, firsts: impl Iterator<Item = u16>) {
        for first in firsts {
            self.resize(self.lines.len().max(usize::from(first) + 1));
            self.lines[usize::from(first)].alternates = true;
        }
    }

    /// Restores the end of the work that a saved drive has left to its servers.
    pub fn restore(&mut self, servers: &[Server]) {
        self.lines.iter_mut().zip(servers).for_each(|(line, server)| line.first_until = server.free_at());
    }

    /// Accepts work that goes first. Returns the instants at which it begins and is done. `is_watched`: somebody waits
    /// for its end.
    #[inline(always)]
    pub fn accept_first(
        &mut self,
        servers: &mut [Server],
        pool: Pool,
        (time, bytes): (Nanos, u64),
        now: SimTime,
        is_watched: bool,
    ) -> (SimTime, SimTime) {
        let server = &mut servers[usize::from(pool.first_free(servers))];
        server.count(bytes);
        let line = &mut self.lines[usize::from(pool.first)];
        line.last_goes_first = true;
        if line.packet == Nanos::ZERO {
            return server.accept(time, now);
        }
        let (_, free_at) = server.accept(time, now);
        let (begins, ends) = if line.ends > now {
            let begins = line.boundary(now).min(line.ends).max(line.first_until);
            if begins < line.ends {
                (line.begun, line.ends) = (line.begun + time, line.ends + time);
            }
            (begins, begins + time)
        } else {
            (SimTime(free_at.0 - time.0), free_at)
        };
        line.first_until = ends;
        if is_watched {
            line.watched_until = ends;
        }
        (begins, ends)
    }

    /// Tries to accept work that yields and carries `bytes` of data. Returns the instants at which it begins and is
    /// done; `None` if it waits, until it is granted.
    #[inline]
    pub fn ask(
        &mut self,
        servers: &mut [Server],
        pool: Pool,
        (id, time, bytes): (TransactionId, Nanos, u64),
        now: SimTime,
        events: &mut Events,
    ) -> Option<(SimTime, SimTime)> {
        let line = &mut self.lines[usize::from(pool.first)];
        let server = &mut servers[usize::from(pool.first_free(servers))];
        if line.waiting.is_empty() && line.free_at(server) <= now {
            return Some(line.accept(server, time, bytes, now));
        }
        line.count = pool.count;
        line.waiting.push_back(Waiting { id, time, bytes });
        if !line.grant_is_due {
            line.grant_is_due = true;
            events.push(line.free_at(server).max(now), Class::Dispatch, Event::Server(pool.first));
        }
        None
    }

    /// Accepts the work that waits first for the pool that begins with `first`, if one of its servers is free.
    /// Otherwise the next grant is scheduled, if any work waits.
    pub fn grant(&mut self, servers: &mut [Server], first: u16, now: SimTime, events: &mut Events) -> Option<Granted> {
        let line = &mut self.lines[usize::from(first)];
        let server = &mut servers[usize::from(Pool { first, count: line.count }.first_free(servers))];
        let free_at = line.free_at(server);
        if free_at <= now && !line.waiting.is_empty() {
            return line.accept_waiting(server, now);
        }
        line.grant_is_due = !line.waiting.is_empty();
        if line.grant_is_due {
            events.push(free_at, Class::Dispatch, Event::Server(first));
        }
        None
    }

    /// Accepts the work that waits first, if it is its turn before more work that goes first.
    #[inline]
    pub fn take_turn(&mut self, servers: &mut [Server], pool: Pool, now: SimTime) -> Option<Granted> {
        let line = &mut self.lines[usize::from(pool.first)];
        if line.waiting.is_empty() || !line.alternates || !line.last_goes_first {
            return None;
        }
        line.accept_waiting(&mut servers[usize::from(pool.first_free(servers))], now)
    }

    /// Returns the end of the work that yields at a server, if work that goes first has delayed it.
    #[inline]
    pub fn delayed_until(&self, first: u16, now: SimTime) -> Option<SimTime> {
        let line = &self.lines[usize::from(first)];
        (line.ends > now).then_some(line.ends)
    }
}

impl Line {
    /// Returns the instant from which a server can accept work that yields. Messages that nobody waits for may then
    /// still be under way: the work follows them.
    #[inline]
    fn free_at(&self, server: &Server) -> SimTime {
        if self.packet == Nanos::ZERO { server.free_at() } else { self.watched_until.max(self.ends) }
    }

    #[inline]
    fn accept(&mut self, server: &mut Server, time: Nanos, bytes: u64, now: SimTime) -> (SimTime, SimTime) {
        let (begins, ends) = server.accept(time, now);
        server.count(bytes);
        self.last_goes_first = false;
        if self.packet > Nanos::ZERO {
            (self.begun, self.ends) = (begins, ends);
        }
        (begins, ends)
    }

    fn accept_waiting(&mut self, server: &mut Server, now: SimTime) -> Option<Granted> {
        let Waiting { id, time, bytes } = self.waiting.pop_front()?;
        let (begins, ends) = self.accept(server, time, bytes, now);
        Some(Granted { id, begins, ends })
    }

    /// Returns the first instant from `now` on at which a packet of the work that yields is complete, or none has
    /// begun.
    fn boundary(&self, now: SimTime) -> SimTime {
        let since = now.0.saturating_sub(self.begun.0);
        SimTime(self.begun.0 + since.next_multiple_of(self.packet.0))
    }
}

#[cfg(test)]
mod tests;
