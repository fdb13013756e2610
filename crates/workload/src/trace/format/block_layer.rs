//! Common parts of the text formats made from Linux `blktrace`: actions, RWBS flags, and the choice of the action that
//! counts as an arrival.

use crate::Flags;
use crate::trace::fields::Fault;
use kit::Op;

/// Action that counts as an arrival, with counters of the actions seen in the trace.
///
/// `Q` (queued) is recorded when the block layer receives a request; a trace without any `Q` was filtered to `D`
/// (issued to the device). Every other action is a later event of the same request (blkparse manual, "Trace actions").
#[derive(Clone, Debug)]
pub struct Arrival {
    action: u8,
    queued: u64,
    issued: u64,
}

impl Arrival {
    /// Returns the choice of `action` as the arrival.
    pub fn at(action: u8) -> Arrival {
        Arrival { action, queued: 0, issued: 0 }
    }

    /// Chooses the arrival for a trace whose first lines have these actions.
    pub fn guessed<'a>(mut actions: impl Iterator<Item = &'a [u8]> + Clone) -> Arrival {
        let queued = actions.clone().any(|action| action == b"Q");
        Arrival::at(if !queued && actions.any(|action| action == b"D") { b'D' } else { b'Q' })
    }

    /// Counts `action` and returns true if it is the arrival.
    pub fn is(&mut self, action: &[u8]) -> Result<bool, Fault> {
        let word = matches!(action.len(), 1 | 2) && action.iter().all(u8::is_ascii_alphabetic);
        if !word {
            return Err(Fault::new("action", action, "a blktrace action such as Q, D or C"));
        }
        self.queued += u64::from(action == b"Q");
        self.issued += u64::from(action == b"D");
        Ok(action == [self.action])
    }

    /// Returns the choice that the counters call for, with all counters at zero.
    pub fn right(&self) -> Arrival {
        Arrival::at(match (self.queued, self.issued) {
            (1.., _) => b'Q',
            (0, 1..) => b'D',
            _ => self.action,
        })
    }

    /// Returns true if the counters show that this choice was wrong.
    pub fn misread(&self) -> bool {
        self.right().action != self.action
    }

    /// Returns a note for the user, if there is one.
    pub fn note(&self) -> Option<String> {
        (self.action == b'D').then(|| "the trace has no Q lines: arrivals are the D lines (issue to the device)".to_owned())
    }
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

/// Returns the meaning of an RWBS word (`blk_fill_rwbs` of Linux; `fill_rwbs` of blkparse).
///
/// An `F` before the letter of the operation requests a flush before the data, an `F` after it FUA: `FWFS` is a flush,
/// then a synchronous write with FUA. A barrier (`B`, before Linux 2.6.37) is both: all that was written before it is
/// durable before it is, and it is durable when it completes. Actions on zones (`Z`) have no operation here.
pub fn operation(word: &[u8]) -> Result<Rwbs, Fault> {
    let known = !word.is_empty() && word.iter().all(|letter| b"RWDENFSMABCVUZO".contains(letter));
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
        assert!(operation(b"").is_err() && operation(b"x").is_err());
    }

    #[test]
    fn a_late_q_line_changes_the_choice() {
        let mut arrival = Arrival::guessed([b"I".as_slice(), b"D"].into_iter());
        assert_eq!(arrival.is(b"D"), Ok(true));
        assert!(!arrival.misread());
        assert_eq!(arrival.is(b"Q"), Ok(false));
        assert!(arrival.misread());
        assert_eq!(arrival.right().action, b'Q');
    }
}
