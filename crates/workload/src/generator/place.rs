//! Distributions of request addresses within a region.

use super::Zipf;
use kit::Permutation;
use kit::{Op, Rng};

/// Zone of a zoned distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Share of the accesses, relative to the weights of the other zones.
    pub weight: f64,
    /// First block.
    pub first: u64,
    /// Number of blocks, at least 1.
    pub blocks: u64,
}

/// Distribution of requests over the `blocks` aligned blocks of a region.
#[derive(Clone, Debug)]
pub enum Place {
    /// Each operation's requests follow one another from the region's start, and continue at its start after its end.
    /// Reads, writes and trims keep separate positions, as in fio.
    Sequential,
    /// Each block once per pass, in the order of a keyed bijection with a new key for each pass. All operations share
    /// one pass, as they share one random map in fio. No bitmap is needed.
    OncePerPass,
    /// Each block with the same probability, independent of earlier requests.
    Uniform,
    /// Zipf over the blocks; a keyed bijection scatters the popular blocks over the region.
    Zipf {
        /// Exponent: the `k`-th most popular block is drawn with a probability proportional to `k^-theta`.
        theta: f64,
    },
    /// Self-similar (`pareto` in fio): a share `1 - h` of the accesses falls on a share `h` of the blocks, and
    /// recursively so within that share (Gray and others, SIGMOD 1994). Scattered as in [`Place::Zipf`].
    SelfSimilar {
        /// Skew, between 0 and 1; 0.2 is the 80/20 rule.
        h: f64,
    },
    /// Normal around the region's middle, wrapped around at its ends.
    Normal {
        /// Standard deviation as a share of the region.
        deviation: f64,
    },
    /// Uniform within zones that are drawn by weight; the zones may differ by operation (read, write, trim).
    Zoned {
        /// Zones by operation, in the order of [`Op::ALL`].
        zones: [Vec<Zone>; 3],
    },
}

/// Behaviour of a source at the end of its region, or of a pass over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// It begins anew at the region's start, or with another pass.
    #[default]
    Wraps,
    /// It ends.
    Ends,
}

/// Bounds of the requests of a source \[bytes from the region's start\].
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// End of the starts.
    pub region: u64,
    /// End of the requests themselves: the drive's end, where a request may go past the end of its region.
    pub reach: u64,
    /// Behaviour of a sequence at the end.
    pub at_end: AtEnd,
}

impl Bounds {
    /// Returns where a sequence goes on that ended at `next`.
    #[inline]
    pub fn resumed(&self, next: u64) -> u64 {
        if next >= self.region && self.at_end == AtEnd::Wraps { 0 } else { next }
    }

    /// Returns `start` if a request of `least` bytes fits there; otherwise the region's start, or `None` at the end.
    #[inline]
    pub fn fitting(&self, start: u64, least: u64) -> Option<u64> {
        let fits = start < self.region && start.saturating_add(least) <= self.reach;
        match self.at_end {
            _ if fits => Some(start),
            AtEnd::Wraps => Some(0),
            AtEnd::Ends => None,
        }
    }
}

/// Address generator. It is dispatched statically, so that the loop over a batch makes no indirect call.
pub(super) trait Placer: Send {
    /// Returns where a request of at least `least` bytes starts \[bytes from the region's start\]; `None` at the end.
    fn place(&mut self, op: Op, least: u64) -> Option<u64>;

    /// Notes where the request ends that was placed last \[bytes from the region's start\].
    #[inline]
    fn ends_at(&mut self, _op: Op, _end: u64) {}

    /// Begins anew in another zone.
    fn restart(&mut self) {}
}

pub(super) struct Sequential {
    pub bounds: Bounds,
    /// Bytes from the end of a request to the start of the next; negative: backwards.
    pub step: i64,
    /// First byte of the region; steps are counted from the drive's start where they leave the drive, as in fio.
    pub offset: u64,
    pub next: [u64; Op::COUNT],
}

impl Sequential {
    /// Returns the start of the request after one that ended at `next`, as fio computes it: beyond the drive's end the
    /// requests begin anew at its start, or, backwards, at the region's end.
    fn stepped(&self, next: u64) -> u64 {
        let end = self.bounds.region.min(self.offset + self.bounds.reach);
        let rewinds = next == 0 && self.offset > 0 && self.step < 0;
        let from = if rewinds { end.wrapping_sub(self.offset) } else { next };
        if from == 0 {
            return 0;
        }
        match from.wrapping_add_signed(self.step) {
            inside if inside < self.offset + self.bounds.reach => inside,
            _ if self.step > 0 => self.offset,
            _ => end.saturating_add_signed(self.step),
        }
    }
}

impl Placer for Sequential {
    #[inline]
    fn place(&mut self, op: Op, least: u64) -> Option<u64> {
        let next = self.bounds.resumed(self.next[op as usize]);
        // As in fio, no step leads back from the drive's end.
        let start = if self.step == 0 || next >= self.bounds.reach { next } else { self.stepped(next) };
        self.bounds.fitting(start, least)
    }

    #[inline]
    fn ends_at(&mut self, op: Op, end: u64) {
        self.next[op as usize] = end;
    }

    fn restart(&mut self) {
        self.next = [0; Op::COUNT];
    }
}

pub(super) struct OncePerPass {
    pub at_end: AtEnd,
    pub unit: u64,
    pub pass: Permutation,
    pub index: u64,
    pub keys: Rng,
}

impl Placer for OncePerPass {
    #[inline]
    fn place(&mut self, _: Op, _: u64) -> Option<u64> {
        if self.index == self.pass.count() {
            if self.at_end == AtEnd::Ends {
                return None;
            }
            self.restart();
        }
        let block = self.pass.at(self.index);
        self.index += 1;
        Some(block * self.unit)
    }

    fn restart(&mut self) {
        self.index = 0;
        self.pass = Permutation::new(self.pass.count(), self.keys.next_u64());
    }
}

pub(super) struct Uniform {
    pub unit: u64,
    pub blocks: u64,
    pub rng: Rng,
}

impl Placer for Uniform {
    #[inline]
    fn place(&mut self, _: Op, _: u64) -> Option<u64> {
        Some(self.rng.below(self.blocks) * self.unit)
    }
}

pub(super) struct Ranked {
    pub unit: u64,
    pub zipf: Zipf,
    pub scatter: Permutation,
    pub rng: Rng,
}

impl Placer for Ranked {
    #[inline]
    fn place(&mut self, _: Op, _: u64) -> Option<u64> {
        Some(self.scatter.at(self.zipf.draw(&mut self.rng)) * self.unit)
    }
}

pub(super) struct SelfSimilar {
    pub unit: u64,
    pub power: f64,
    pub scatter: Permutation,
    pub rng: Rng,
}

impl Placer for SelfSimilar {
    #[inline]
    fn place(&mut self, _: Op, _: u64) -> Option<u64> {
        let share = libm::pow(self.rng.unit(), self.power);
        let rank = ((self.scatter.count() as f64 * share) as u64).min(self.scatter.count() - 1);
        Some(self.scatter.at(rank) * self.unit)
    }
}

pub(super) struct Normal {
    pub unit: u64,
    pub blocks: u64,
    pub deviation: f64,
    pub rng: Rng,
}

impl Placer for Normal {
    #[inline]
    fn place(&mut self, _: Op, _: u64) -> Option<u64> {
        let blocks = self.blocks as f64;
        let turn = 0.5 + self.rng.normal() * self.deviation;
        let block = (turn - libm::floor(turn)) * blocks;
        Some((block as u64).min(self.blocks - 1) * self.unit)
    }
}

pub(super) struct Zoned {
    pub unit: u64,
    pub zones: [Vec<(f64, Zone)>; 3],
    pub rng: Rng,
}

impl Zoned {
    pub(super) fn new(unit: u64, zones: &[Vec<Zone>; 3], rng: Rng) -> Zoned {
        let zones = zones.each_ref().map(|list| {
            let total: f64 = list.iter().map(|zone| zone.weight).sum();
            let mut sum = 0.0;
            list.iter()
                .map(|zone| {
                    sum += zone.weight / total;
                    (sum, *zone)
                })
                .collect()
        });
        Zoned { unit, zones, rng }
    }
}

impl Placer for Zoned {
    #[inline]
    fn place(&mut self, op: Op, _: u64) -> Option<u64> {
        let list = &self.zones[(op as usize).min(2)];
        let draw = self.rng.unit();
        let zone = list.iter().find(|(below, zone)| draw < *below && zone.weight > 0.0).unwrap_or(&list[list.len() - 1]).1;
        Some((zone.first + self.rng.below(zone.blocks)) * self.unit)
    }
}
