//! Emptying a block: the relocation that every die can have one of, whatever its reason.
//!
//! Step by step, each step one flash operation on the victim's own die: read the valid units of a row, program them to the die's relocation
//! frontier once a program unit is full (or the victim exhausted), erase when nothing is valid or pinned any more. Host operations may come between
//! any two steps.

use crate::policy::Collection;
use kit::{BlockId, Ppn, Reason};
use serde::{Deserialize, Serialize};

/// A block that must be moved for another reason than space; out of date once it has been erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub block: BlockId,
    pub erase_count: u32,
    pub reason: Reason,
    /// Its retention limit is near: before anything else on its die.
    pub urgent: bool,
}

/// The relocation of one die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Collector {
    /// The block being emptied.
    pub victim: Option<BlockId>,
    /// Why.
    pub reason: Reason,
    /// The next place to look at for valid units.
    pub cursor: Ppn,
    /// Up to where the map has been looked into ahead.
    pub looked_ahead: Ppn,
    /// Units read and not yet programmed: their places in the victim.
    pub gathered: Vec<Ppn>,
    /// Of them, the first so many have the code that they are to be moved with, counted from 1 as encoders are.
    pub encoded: usize,
    encoded_for: u8,
    /// So many of them will be encoded when the encoder has done what it was asked for.
    pub encoding: Option<usize>,
    /// A read or copyback of this collector is under way.
    pub reading: bool,
    /// The places being read.
    pub in_read: Vec<Ppn>,
    /// The victim is to be emptied before anything else is done (its retention limit is near).
    pub urgent: bool,
    /// The die has been idle long enough to collect in the background.
    pub in_background: bool,
    /// The block being emptied was taken for that.
    pub background: bool,
    /// Units that were valid in it then.
    pub valid_at_first: u32,
    /// Blocks that must be moved next, for another reason than space.
    wanted: Vec<Wanted>,
}

impl Collector {
    pub fn new(units_per_program: u32) -> Collector {
        Collector {
            victim: None,
            reason: Reason::Gc,
            cursor: Ppn(0),
            looked_ahead: Ppn(0),
            gathered: Vec::with_capacity(2 * units_per_program as usize),
            encoded: 0,
            encoded_for: 0,
            encoding: None,
            reading: false,
            in_read: Vec::with_capacity(units_per_program as usize),
            urgent: false,
            in_background: false,
            background: false,
            valid_at_first: 0,
            wanted: Vec::new(),
        }
    }

    /// A block is to be moved, and why. Asked for again, it stays where it is in the queue; what is urgent outweighs what is not.
    pub fn want(&mut self, wanted: Wanted) {
        match self.wanted.iter_mut().find(|known| known.block == wanted.block) {
            None => self.wanted.push(wanted),
            Some(known) if known.erase_count != wanted.erase_count || wanted.urgent => *known = wanted,
            Some(_) => {}
        }
        self.urgent |= wanted.urgent;
    }

    /// The next block to be moved: those whose retention limit is near first, then in the order of asking.
    pub fn next_wanted(&mut self) -> Option<Wanted> {
        let next = self.wanted.iter().position(|wanted| wanted.urgent).unwrap_or(0);
        (next < self.wanted.len()).then(|| self.wanted.remove(next))
    }

    /// Blocks that are to be moved.
    pub fn wanted_count(&self) -> usize {
        self.wanted.len()
    }

    /// Whether a block's retention limit is near.
    pub fn wants_urgent_move(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.urgent)
    }

    /// Takes a victim.
    pub fn begin(&mut self, taken: &Collection, first: Ppn, urgent: bool) {
        debug_assert!(self.victim.is_none() && self.gathered.is_empty() && self.encoding.is_none());
        self.victim = Some(taken.block);
        self.cursor = first;
        self.looked_ahead = first;
        self.reason = taken.reason;
        self.background = taken.background;
        self.valid_at_first = taken.valid;
        self.urgent = urgent || self.wants_urgent_move();
    }

    /// The first `count` gathered units are to have a code: how many of them lack it. If any, the encoder is to be asked for them now.
    pub fn encode(&mut self, code: u8, count: usize) -> usize {
        if self.encoded_for != code {
            (self.encoded, self.encoded_for) = (0, code);
        }
        let missing = count.saturating_sub(self.encoded);
        self.encoding = (missing > 0).then_some(count);
        missing
    }

    /// The encoder has done what it was asked for.
    pub fn is_encoded(&mut self) {
        self.encoded = self.encoding.take().expect("the encoder was asked");
    }

    /// The first `count` gathered units are being programmed.
    pub fn programs(&mut self, count: usize) {
        self.gathered.drain(..count);
        self.encoded = self.encoded.saturating_sub(count);
    }

    /// What is being emptied, as policies see it.
    pub fn collection(&self) -> Option<Collection> {
        let Collector { reason, background, valid_at_first: valid, .. } = *self;
        self.victim.map(|block| Collection { block, reason, background, valid })
    }
}
