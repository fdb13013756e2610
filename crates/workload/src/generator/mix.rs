//! Weighted random choices of operations and lengths.

use kit::{Op, Rng};

/// Converts a probability to a threshold for a uniform 64-bit number.
fn bound(probability: f64) -> u64 {
    // `as` saturates: a probability of 1 becomes the largest threshold.
    (probability.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u64
}

/// Distribution of the operation of a request (read, write or trim), drawn independently for each request.
#[derive(Clone, Copy, Debug)]
pub struct OpMix {
    fixed: Option<Op>,
    read_below: u64,
    write_below: u64,
}

impl OpMix {
    /// Returns a mix that always draws `op`.
    pub fn only(op: Op) -> OpMix {
        OpMix { fixed: Some(op), read_below: 0, write_below: 0 }
    }

    /// Returns a mix of reads with probability `read`, trims with probability `trim`, and writes otherwise.
    pub fn shares(read: f64, trim: f64) -> OpMix {
        let fixed = match (read, trim) {
            (r, _) if r >= 1.0 => Some(Op::Read),
            (_, t) if t >= 1.0 => Some(Op::Trim),
            (r, t) if r <= 0.0 && t <= 0.0 => Some(Op::Write),
            _ => None,
        };
        OpMix { fixed, read_below: bound(read), write_below: if trim <= 0.0 { u64::MAX } else { bound(1.0 - trim) } }
    }

    /// Returns true if the mix can draw the operation of this number (read, write, trim).
    pub fn may_draw(&self, kind: usize) -> bool {
        match (self.fixed, kind) {
            (Some(op), _) => (op as usize).min(2) == kind,
            (None, 0) => self.read_below > 0,
            (None, 1) => self.write_below > self.read_below,
            (None, _) => self.write_below < u64::MAX,
        }
    }

    /// Draws the next operation. Consumes no random number if only one operation is possible.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Op {
        if let Some(op) = self.fixed {
            return op;
        }
        let number = rng.next_u64();
        if number < self.read_below {
            Op::Read
        } else if number <= self.write_below {
            Op::Write
        } else {
            Op::Trim
        }
    }
}

/// Distribution of the length of a request \[bytes\].
#[derive(Clone, Debug)]
pub struct SizeMix {
    last: u64,
    choices: Vec<(u64, u64)>,
}

impl SizeMix {
    /// Returns a mix that always draws `bytes`.
    pub fn only(bytes: u64) -> SizeMix {
        SizeMix { last: bytes, choices: Vec::new() }
    }

    /// Returns a mix of lengths \[bytes\] with weights, of which at least one must be positive.
    pub fn weighted(parts: &[(u64, f64)]) -> SizeMix {
        let total: f64 = parts.iter().map(|(_, weight)| weight).sum();
        assert!(total > 0.0, "a choice needs a positive weight");
        let kept: Vec<&(u64, f64)> = parts.iter().filter(|(_, weight)| *weight > 0.0).collect();
        let mut sum = 0.0;
        let mut choices = Vec::with_capacity(kept.len());
        for (bytes, weight) in &kept[..kept.len() - 1] {
            sum += weight;
            choices.push((bound(sum / total), *bytes));
        }
        SizeMix { last: kept[kept.len() - 1].0, choices }
    }

    /// Returns true if all lengths are the same.
    pub fn is_fixed(&self) -> bool {
        self.choices.is_empty()
    }

    /// Returns the smallest length \[bytes\].
    pub fn least(&self) -> u64 {
        self.choices.iter().map(|(_, bytes)| *bytes).fold(self.last, u64::min)
    }

    /// Draws the next length of at most `room` bytes, which is no less than [`SizeMix::least`]: a length that does not
    /// fit gives way to the next of the list that does, or is drawn again, as in fio.
    #[inline]
    pub fn draw(&self, rng: &mut Rng, room: u64) -> u64 {
        /// Number of draws after which the smallest length is taken: beyond any that weights of one percent need.
        const DRAWS_MAX: u32 = 4096;
        if self.choices.is_empty() {
            return self.last.min(room);
        }
        for _ in 0..DRAWS_MAX {
            let number = rng.next_u64();
            let fits = |(below, bytes): &&(u64, u64)| number < *below && *bytes <= room;
            let found = self.choices.iter().find(fits).map(|(_, bytes)| *bytes);
            if let Some(bytes) = found.or_else(|| (self.last <= room).then_some(self.last)) {
                return bytes;
            }
        }
        self.least().min(room)
    }
}
