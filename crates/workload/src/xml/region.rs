//! Requests of one size in a region: starts at random multiples of a grain, one after another at a distance, or both.

use crate::generator::{AtEnd, BlockPlan, BlockSource, OpMix, Place, SizeMix, Stretches, Strides, Zone};
use kit::Rng;

/// Placement of the requests of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Course {
    /// Each request begins `distance` after the one before it, whatever its operation, and the first at the region's
    /// start.
    Sequential {
        /// Distance of the starts \[bytes\].
        distance: u64,
    },
    /// Starts at multiples of `grain` from the region's start.
    Random {
        /// Distance of two possible starts \[bytes\].
        grain: u64,
        /// Percentage of random requests; each other one follows the one before it.
        percent: u64,
        /// Share of the starts that are hot, and share of the requests that go there; `None`: all alike.
        hot: Option<(f64, f64)>,
    },
}

/// Region with the requests in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Size, at least one block \[bytes\].
    pub bytes: u64,
    /// Length of a request \[bytes\].
    pub block: u64,
    /// Share of reads; the others are writes.
    pub read_share: f64,
    /// Placement.
    pub course: Course,
    /// Number of requests after which the source ends.
    pub requests_max: Option<u64>,
}

impl Region {
    /// Returns the largest power of two that divides every offset and length \[bytes\].
    pub fn grain(&self) -> u64 {
        let step = match self.course {
            Course::Sequential { distance } => distance,
            Course::Random { grain, percent, .. } => grain | if percent < 100 { self.block } else { 0 },
        };
        1 << (self.offset | self.block | step).trailing_zeros().min(63)
    }

    /// Returns the source of its requests. Its random streams are those of `seed` whose names begin with `name`.
    pub fn source(&self, stream: u16, seed: u64, name: &str) -> BlockSource {
        assert!(self.bytes >= self.block && self.block > 0, "a region holds a block");
        let plan = |region_bytes, unit, place| BlockPlan {
            offset: self.offset,
            region_bytes,
            reach_bytes: self.bytes,
            at_end: AtEnd::Wraps,
            step: 0,
            unit,
            ops: OpMix::shares(self.read_share, 0.0),
            sizes: std::array::from_fn(|_| SizeMix::only(self.block)),
            place,
            stream,
            align: [unit; 3],
            writes_after_trims: false,
            requests_max: self.requests_max,
            bytes_max: None,
        };
        match self.course {
            // A zone for each request: zones have one position for all operations.
            Course::Sequential { distance } => {
                let (region_bytes, inside_bytes) = (self.bytes, self.bytes);
                let strides = Strides { zone_bytes: self.block, distance, region_bytes, inside_bytes, enters_cut: false };
                BlockSource::new(plan(self.block, self.block, Place::Sequential), seed, name).with_strides(strides)
            }
            Course::Random { grain, percent, hot } => {
                let blocks = BlockSource::new(plan(self.bytes, grain.min(self.bytes), self.starts(grain, hot)), seed, name);
                if percent >= 100 {
                    return blocks;
                }
                let rng = Rng::stream(seed, &format!("{name}.random"));
                blocks.with_stretches(Stretches::new([percent; 3], rng))
            }
        }
    }

    /// Returns the distribution of the starts, of which the last leaves room for a whole request.
    fn starts(&self, grain: u64, hot: Option<(f64, f64)>) -> Place {
        let count = (self.bytes - self.block) / grain + 1;
        let edge = hot.map_or(0, |(share, _)| (libm::round(share * count as f64) as u64).min(count));
        let (warm, cold) = match hot {
            Some((_, requests)) if edge > 0 && edge < count => (requests, 1.0 - requests),
            _ => (0.0, 1.0),
        };
        let mut zones = vec![Zone { weight: cold, first: if warm > 0.0 { edge } else { 0 }, blocks: count }];
        if warm > 0.0 {
            zones[0].blocks = count - edge;
            zones.insert(0, Zone { weight: warm, first: 0, blocks: edge });
        }
        Place::Zoned { zones: [zones.clone(), zones.clone(), zones] }
    }
}
