//! Common parts of the text formats made from Linux `blktrace`: actions, RWBS flags, and the choice of the action that
//! counts as an arrival.

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

/// Returns the operation of an RWBS word (`None`: a request without an operation), and true if the word requests a
/// flush or a barrier.
///
/// A flush combined with data (`FWFS`) is read as the write.
pub fn operation(word: &[u8]) -> Result<(Option<Op>, bool), Fault> {
    let known = !word.is_empty() && word.iter().all(|letter| b"RWDENFSMABCV".contains(letter));
    if !known {
        return Err(Fault::new("operation", word, "RWBS flags such as R, WS, FWFS or D"));
    }
    let op = word.iter().find_map(|letter| match letter {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        _ => None,
    });
    Ok((op, word.contains(&b'F') || word.contains(&b'B')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_operations() {
        for (word, op, flush) in [
            ("R", Some(Op::Read), false),
            ("RA", Some(Op::Read), false),
            ("WSM", Some(Op::Write), false),
            ("FWFS", Some(Op::Write), true),
            ("WBS", Some(Op::Write), true),
            ("D", Some(Op::Trim), false),
            ("FN", None, true),
            ("N", None, false),
        ] {
            assert_eq!(operation(word.as_bytes()), Ok((op, flush)), "{word}");
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
