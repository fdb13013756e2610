//! What texts made from Linux `blktrace` have in common: actions, RWBS flags, and which action is an arrival.

use crate::trace::fields::Fault;
use kit::Op;

/// The action that counts as an arrival, and what the trace has shown of others.
///
/// `Q` (queued) is when the block layer receives a request; a trace without any `Q` was filtered to `D` (issued to the
/// device). Everything else is a later event of the same request (blkparse manual, "Trace actions").
#[derive(Clone, Debug)]
pub struct Arrival {
    action: u8,
    queued: u64,
    issued: u64,
}

impl Arrival {
    /// Arrivals are lines of `action`.
    pub fn at(action: u8) -> Arrival {
        Arrival { action, queued: 0, issued: 0 }
    }

    /// Arrivals for a trace whose first lines have these actions.
    pub fn guessed<'a>(mut actions: impl Iterator<Item = &'a [u8]> + Clone) -> Arrival {
        let queued = actions.clone().any(|action| action == b"Q");
        Arrival::at(if !queued && actions.any(|action| action == b"D") { b'D' } else { b'Q' })
    }

    /// Counts `action`; whether it is the arrival.
    pub fn is(&mut self, action: &[u8]) -> Result<bool, Fault> {
        let word = matches!(action.len(), 1 | 2) && action.iter().all(u8::is_ascii_alphabetic);
        if !word {
            return Err(Fault::new("action", action, "a blktrace action such as Q, D or C"));
        }
        self.queued += u64::from(action == b"Q");
        self.issued += u64::from(action == b"D");
        Ok(action == [self.action])
    }

    /// The right choice after what was counted, with nothing counted yet.
    pub fn right(&self) -> Arrival {
        Arrival::at(match (self.queued, self.issued) {
            (1.., _) => b'Q',
            (0, 1..) => b'D',
            _ => self.action,
        })
    }

    /// Whether what was counted shows that this choice was wrong.
    pub fn misread(&self) -> bool {
        self.right().action != self.action
    }

    /// What the user should know.
    pub fn note(&self) -> Option<String> {
        (self.action == b'D').then(|| "the trace has no Q lines: arrivals are the D lines (issue to the device)".to_owned())
    }
}

/// The operation of an RWBS word, and whether it asks for a flush or barrier; none: a request without an operation.
///
/// A flush joined with data (`FWFS`) is read as its write.
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
