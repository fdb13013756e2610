//! Common parts of the text formats made from Linux `blktrace`: actions, RWBS flags, and the choice of the action that
//! counts as an arrival.

use super::{Line, Parser, Raw};
use crate::Flags;
use crate::trace::fields::{self, Fault};
use crate::trace::options::ArrivalEvent;
use kit::Op;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Action that counts as an arrival, with counters of the actions seen in the trace.
///
/// `Q` (queued) is recorded when the block layer receives a request; a trace without any `Q` was filtered to `D`
/// (issued to the device). Every other action is a later event of the same request (blkparse manual, "Trace actions").
#[derive(Clone, Debug)]
pub struct Arrival {
    action: u8,
    /// Action that the user chose, if any.
    wanted: Option<ArrivalEvent>,
    queued: u64,
    issued: u64,
    copies: Copies,
}

impl Arrival {
    /// Returns the choice of `action` as the arrival.
    fn at(action: u8, wanted: Option<ArrivalEvent>) -> Arrival {
        Arrival { action, wanted, queued: 0, issued: 0, copies: Copies::default() }
    }

    /// Returns the arrival that the user chose, or else chooses it for a trace whose first lines have these actions.
    pub fn guessed(wanted: Option<ArrivalEvent>, mut actions: impl Iterator<Item = u8> + Clone) -> Arrival {
        let queued = actions.clone().any(|action| action == b'Q');
        let action = match wanted {
            Some(ArrivalEvent::Queued) => b'Q',
            Some(ArrivalEvent::Issued) => b'D',
            None if !queued && actions.any(|action| action == b'D') => b'D',
            None => b'Q',
        };
        Arrival::at(action, wanted)
    }

    /// Counts the action that a line names, and returns true if it is the arrival.
    pub fn is(&mut self, action: &[u8]) -> Result<bool, Fault> {
        let word = matches!(action.len(), 1 | 2) && action.iter().all(u8::is_ascii_alphabetic);
        if !word {
            return Err(Fault::new("action", action, "a blktrace action such as Q, D or C"));
        }
        Ok(action.len() == 1 && self.counts(action[0]))
    }

    /// Counts an action, and returns true if it is the arrival.
    pub fn counts(&mut self, action: u8) -> bool {
        self.queued += u64::from(action == b'Q');
        self.issued += u64::from(action == b'D');
        action == self.action
    }

    /// Counts a line that says that a request to the device `to` is one of the device `from`, mapped.
    #[cold]
    pub fn remapped(&mut self, from: &[u8], to: &[u8]) {
        self.copies.add(from, to);
    }

    /// Returns the choice that the counters call for, with all counters at zero.
    pub fn right(&self) -> Arrival {
        let action = match (self.wanted, self.queued, self.issued) {
            (Some(_), ..) => self.action,
            (None, 1.., _) => b'Q',
            (None, 0, 1..) => b'D',
            _ => self.action,
        };
        Arrival::at(action, self.wanted)
    }

    /// Returns true if the counters show that this choice was wrong.
    pub fn misread(&self) -> bool {
        self.right().action != self.action
    }

    /// Returns true if arrivals are the events of issue because the trace has no others.
    pub fn is_issued_for_want(&self) -> bool {
        self.wanted.is_none() && self.action == b'D'
    }

    /// Returns the numbers of requests that one device passed on to another: names of both, and the count.
    pub fn copies(&self) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
        let copies = self.copies.0.iter().filter(|(pair, _)| pair.0 != pair.1);
        copies.map(|((from, to), count)| (from.clone(), to.clone(), *count)).collect()
    }
}

/// Text of which each line is an event of the block layer.
pub trait EventText: Send + 'static {
    /// Note for the user about a trace without events of queueing.
    const ONLY_ISSUED: &'static str;

    /// Parses one line into `raw`, and counts its action in `arrival`.
    fn line(arrival: &mut Arrival, line: &[u8], raw: &mut Raw) -> Result<Line, Fault>;
}

/// Parser of such a text: what it knows of the trace so far is the choice of the arrival.
pub struct EventParser<E> {
    arrival: Arrival,
    text: PhantomData<fn() -> E>,
}

impl<E: EventText> EventParser<E> {
    /// Returns a parser with this choice of the arrival.
    pub fn boxed(arrival: Arrival) -> Box<dyn Parser> {
        Box::new(EventParser::<E> { arrival, text: PhantomData })
    }
}

impl<E: EventText> Parser for EventParser<E> {
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        E::line(&mut self.arrival, line, raw)
    }

    fn restart(&self) -> Box<dyn Parser> {
        EventParser::<E>::boxed(self.arrival.right())
    }

    fn misread(&self) -> bool {
        self.arrival.misread()
    }

    fn copies(&self) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
        self.arrival.copies()
    }

    fn note(&self) -> Option<String> {
        self.arrival.is_issued_for_want().then(|| E::ONLY_ISSUED.to_owned())
    }
}

/// Iterates over the words of `line` from `at` on, as (start, end).
pub fn words(line: &[u8], mut at: usize) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        let start = at + line.get(at..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
        at = line[start..].iter().position(u8::is_ascii_whitespace).map_or(line.len(), |length| start + length);
        Some((start, at))
    })
}

/// Returns the bytes of a number of sectors, or of a sector's address; `None` if the field is no such number.
#[inline]
pub fn sectors(field: &[u8]) -> Option<u64> {
    fields::integer(field).and_then(|sectors| sectors.checked_mul(kit::SECTOR_BYTES))
}

/// Number of pairs of devices of which remapped requests are counted. Each has at most 64 bytes.
const PAIRS_MAX: usize = 1024;
/// Length of the name of a device, beyond which it is none.
const DEVICE_BYTES_MAX: usize = 32;

/// Numbers of requests that a device passed on to another one, by the names of both (`A` of blktrace).
#[derive(Clone, Debug, Default)]
struct Copies(BTreeMap<(Vec<u8>, Vec<u8>), u64>);

impl Copies {
    fn add(&mut self, from: &[u8], to: &[u8]) {
        if from.len().max(to.len()) > DEVICE_BYTES_MAX {
            return;
        }
        let pair = (from.to_vec(), to.to_vec());
        if self.0.len() < PAIRS_MAX || self.0.contains_key(&pair) {
            *self.0.entry(pair).or_default() += 1;
        }
    }
}

/// Returns the device in a remap, `sector + sectors <- (major,minor) sector`.
pub fn remapped_from(rest: &[u8]) -> Option<&[u8]> {
    let arrow = rest.windows(2).position(|pair| pair == b"<-")?;
    let device = rest[arrow + 2..].trim_ascii_start().strip_prefix(b"(")?;
    device.split(|byte| *byte == b')').next()
}

/// Meaning of an RWBS word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rwbs {
    /// Operation of the data; `None` for a flush alone, and for a request without an operation.
    pub op: Option<Op>,
    /// Modifiers.
    pub flags: Flags,
    /// True if the word requests a flush or a barrier: without data, the request is a flush.
    pub flush: bool,
}

impl Rwbs {
    /// Completes `raw`, whose range is set, with the operation and the modifiers. A request to flush without data is a
    /// flush; one without an operation is no request.
    #[inline]
    pub fn complete(self, raw: &mut Raw) -> Line {
        match self.op {
            _ if self.flush && raw.length == 0 => (raw.op, raw.flags, raw.offset) = (Op::Flush, Flags::NONE, 0),
            Some(op) => (raw.op, raw.flags) = (op, self.flags),
            None => return Line::Other,
        }
        Line::Request
    }
}

/// Returns the meaning of an RWBS word (`blk_fill_rwbs` of Linux; `fill_rwbs` of blkparse).
///
/// An `F` before the letter of the operation requests a flush before the data, an `F` after it FUA: `FWFS` is a flush,
/// then a synchronous write with FUA. A barrier (`B`, before Linux 2.6.37) is both: all that was written before it is
/// durable before it is, and it is durable when it completes. Actions on zones (`Z`) have no operation here.
pub fn operation(word: &[u8]) -> Result<Rwbs, Fault> {
    let operations = word.iter().filter(|letter| b"RWDN".contains(letter)).count();
    let known = word.iter().all(|letter| b"RWDENFSMABCVUZO".contains(letter));
    let known = known && !word.is_empty() && (operations <= 1 || word.contains(&b'Z'));
    if !known {
        return Err(Fault::new("operation", word, "RWBS flags such as R, WS, FWFS or D"));
    }
    if word.contains(&b'Z') {
        return Ok(Rwbs { op: None, flags: Flags::NONE, flush: false });
    }
    let place = word.iter().position(|letter| b"RWDN".contains(letter));
    let op = place.and_then(|place| match word[place] {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        _ => None,
    });
    let (before, after) = word.split_at(place.unwrap_or(word.len()));
    let barrier = word.contains(&b'B');
    let flush = before.contains(&b'F') || barrier;
    let mut flags = Flags::NONE;
    for (is_set, flag) in [
        (flush, Flags::FLUSH_BEFORE),
        (after.contains(&b'F') || barrier, Flags::FUA),
        (word.contains(&b'S'), Flags::SYNC),
        (word.contains(&b'M'), Flags::METADATA),
        (word.contains(&b'A'), Flags::AHEAD),
    ] {
        if is_set {
            flags = flags.with(flag);
        }
    }
    Ok(Rwbs { op, flags, flush })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_operations() {
        let (before, fua, sync) = (Flags::FLUSH_BEFORE, Flags::FUA, Flags::SYNC);
        for (word, op, flush, flags) in [
            ("R", Some(Op::Read), false, Flags::NONE),
            ("RA", Some(Op::Read), false, Flags::AHEAD),
            ("RSM", Some(Op::Read), false, sync.with(Flags::METADATA)),
            ("WFS", Some(Op::Write), false, fua.with(sync)),
            ("FWS", Some(Op::Write), true, before.with(sync)),
            ("FWFS", Some(Op::Write), true, before.with(fua).with(sync)),
            ("WBS", Some(Op::Write), true, before.with(fua).with(sync)),
            ("DS", Some(Op::Trim), false, sync),
            ("FN", None, true, before),
            ("FF", None, true, before),
            ("N", None, false, Flags::NONE),
            ("ZR", None, false, Flags::NONE),
        ] {
            assert_eq!(operation(word.as_bytes()), Ok(Rwbs { op, flags, flush }), "{word}");
        }
        assert!([&b""[..], b"x", b"RD"].iter().all(|word| operation(word).is_err()));
    }

    #[test]
    fn a_late_q_line_changes_the_choice() {
        let mut arrival = Arrival::guessed(None, b"ID".iter().copied());
        assert_eq!(arrival.is(b"D"), Ok(true));
        assert!(!arrival.misread());
        assert_eq!(arrival.is(b"Q"), Ok(false));
        assert!(arrival.misread());
        assert_eq!(arrival.right().action, b'Q');
        let mut chosen = Arrival::guessed(Some(ArrivalEvent::Issued), b"QD".iter().copied());
        assert_eq!((chosen.is(b"Q"), chosen.is(b"D"), chosen.misread()), (Ok(false), Ok(true), false));
    }

    #[test]
    fn remaps_name_the_device_that_they_come_from() {
        assert_eq!(remapped_from(b"1444645666 + 256 <- (8,17) 1444645632"), Some(&b"8,17"[..]));
        assert_eq!(remapped_from(b"1 + 2 [x]"), None);
        assert_eq!(remapped_from(b"<-"), None);
    }
}
