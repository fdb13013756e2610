//! Generates a job's requests, each with an operation, a length and an address, until a limit of the job is reached.

use super::course::Position;
use super::place::{Normal, OncePerPass, Placer, Ranked, SelfSimilar, Sequential, Uniform, Zoned};
use super::{OpMix, Place, SizeMix, Stretches, Strides, Zipf};
use crate::{Request, Source};
use kit::Permutation;
use kit::{Bytes, Op, Problems, Rng, SimTime};

/// Parameters of a [`BlockSource`].
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// First byte of the region.
    pub offset: u64,
    /// Size of the region \[bytes\]; requests stay inside it.
    pub region_bytes: u64,
    /// Grid on which random addresses are drawn \[bytes\]: the smallest alignment in use. At most the region.
    pub unit: u64,
    /// Alignment of random addresses by operation (read, write, trim) \[bytes\]: multiples of `unit`, unless unused.
    pub align: [u64; 3],
    /// True if each trim is followed by a write of the same range (fio `rw=trimwrite`).
    pub writes_after_trims: bool,
    /// Mix of operations.
    pub ops: OpMix,
    /// Request lengths by operation (read, write, trim).
    pub sizes: [SizeMix; 3],
    /// Distribution of the addresses.
    pub place: Place,
    /// Stream number of the requests.
    pub stream: u16,
    /// Number of requests after which the source ends.
    pub requests_max: Option<u64>,
    /// Number of bytes after which the source ends; the request that reaches it is generated whole.
    pub bytes_max: Option<u64>,
}

impl BlockPlan {
    /// Returns the number of blocks of the grid at which a request of the smallest length may begin.
    fn blocks(&self) -> u64 {
        let spare = |kind: usize| self.sizes[kind].least().saturating_sub(self.align[kind]);
        let room = (0..3).filter(|&kind| self.ops.may_draw(kind)).map(spare).min().unwrap_or(0);
        (self.region_bytes.saturating_sub(room) / self.unit).max(1)
    }
}

/// Source of requests that follow a [`BlockPlan`].
pub struct BlockSource {
    core: Core,
    placer: AnyPlacer,
}

struct Core {
    plan: BlockPlan,
    op_rng: Rng,
    size_rng: Rng,
    requests_left: u64,
    bytes_left: u64,
    stretches: Option<Stretches>,
    position: Option<Position>,
    /// Smallest length by operation \[bytes\].
    least: [u64; 3],
    /// Write of the range that was trimmed last.
    due_write: Option<Request>,
}

/// Address generator, one variant per [`Place`]; the variant is selected once per batch.
enum AnyPlacer {
    Sequential(Sequential),
    OncePerPass(OncePerPass),
    Uniform(Uniform),
    Ranked(Ranked),
    SelfSimilar(SelfSimilar),
    Normal(Normal),
    Zoned(Zoned),
}

impl BlockSource {
    /// Returns the source of `plan`. Its random streams are those of `seed` whose names begin with `name`.
    pub fn new(plan: BlockPlan, seed: u64, name: &str) -> BlockSource {
        assert!(plan.unit >= 1 && plan.region_bytes >= plan.unit, "a region holds at least one block");
        let blocks = plan.blocks();
        let mut keys = Rng::stream(seed, &format!("{name}.key"));
        let rng = Rng::stream(seed, &format!("{name}.place"));
        let (unit, key) = (plan.unit, keys.next_u64());
        let placer = match &plan.place {
            Place::Sequential => AnyPlacer::Sequential(Sequential { region_bytes: plan.region_bytes, next: [0; Op::COUNT] }),
            Place::OncePerPass => {
                AnyPlacer::OncePerPass(OncePerPass { unit, pass: Permutation::new(blocks, key), index: 0, keys })
            }
            Place::Uniform => AnyPlacer::Uniform(Uniform { unit, blocks, rng }),
            Place::Zipf { theta } => {
                AnyPlacer::Ranked(Ranked { unit, zipf: Zipf::new(blocks, *theta), scatter: Permutation::new(blocks, key), rng })
            }
            Place::SelfSimilar { h } => AnyPlacer::SelfSimilar(SelfSimilar {
                unit,
                power: libm::log(*h) / libm::log(1.0 - *h),
                scatter: Permutation::new(blocks, key),
                rng,
            }),
            Place::Normal { deviation } => AnyPlacer::Normal(Normal { unit, blocks, deviation: *deviation, rng }),
            Place::Zoned { zones } => AnyPlacer::Zoned(Zoned::new(unit, zones, rng)),
        };
        let core = Core {
            op_rng: Rng::stream(seed, &format!("{name}.operation")),
            size_rng: Rng::stream(seed, &format!("{name}.size")),
            requests_left: plan.requests_max.unwrap_or(u64::MAX),
            bytes_left: plan.bytes_max.unwrap_or(u64::MAX),
            stretches: None,
            position: None,
            least: plan.sizes.each_ref().map(SizeMix::least),
            due_write: None,
            plan,
        };
        BlockSource { core, placer }
    }

    /// Returns the source with sequential stretches between its random requests.
    pub fn with_stretches(mut self, stretches: Stretches) -> BlockSource {
        self.core.stretches = Some(stretches);
        self
    }

    /// Returns the source with zones: the plan's region is the first of them, and the others have its size.
    pub fn with_strides(mut self, strides: Strides) -> BlockSource {
        assert!(self.core.plan.region_bytes <= strides.region_bytes && strides.zone_bytes > 0, "the first zone fits");
        self.core.position = Some(Position::new(strides));
        self
    }
}

impl Core {
    /// Moves on to the next zone if the current one is done, and returns its start \[bytes from the region's start\].
    #[inline]
    fn enter_zone(&mut self, placer: &mut impl Placer) -> u64 {
        let Some(position) = &mut self.position else { return 0 };
        if position.advance(self.plan.region_bytes) {
            placer.restart();
            if let Some(stretches) = &mut self.stretches {
                stretches.restart();
            }
        }
        position.start
    }

    /// Returns the range of the next request of an operation: its start from the plan's offset, and its length.
    #[inline]
    fn range(&mut self, placer: &mut impl Placer, op: Op) -> (u64, u64) {
        let (kind, region) = ((op as usize).min(2), self.plan.region_bytes);
        let least = self.least[kind].min(region);
        let zone = self.enter_zone(placer);
        let placed = match &mut self.stretches {
            None => placer.place(op, least),
            Some(stretches) => stretches.place(placer, op, least, region),
        };
        // The grid is finer than the alignment where operations differ in it.
        let align = self.plan.align[kind];
        let start = if align == self.plan.unit { placed } else { placed.min(region - least) / align * align };
        let length = self.plan.sizes[kind].draw(&mut self.size_rng, region - start);
        placer.ends_at(op, start + length);
        if let Some(stretches) = &mut self.stretches {
            stretches.ends_at(op, start + length);
        }
        if let Some(position) = &mut self.position {
            position.count(length);
        }
        (zone + start, length)
    }

    fn run(&mut self, placer: &mut impl Placer, out: &mut Vec<Request>, limit: usize, choose: &mut impl FnMut(Op) -> Op) {
        let count = u64::try_from(limit).unwrap_or(u64::MAX).min(self.requests_left);
        for _ in 0..count {
            if self.bytes_left == 0 {
                return;
            }
            let request = self.due_write.take().unwrap_or_else(|| {
                let op = choose(self.plan.ops.draw(&mut self.op_rng));
                let (start, length) = self.range(placer, op);
                let request = Request::new(SimTime::ZERO, op, Bytes(self.plan.offset + start), Bytes(length));
                Request { stream: self.plan.stream, ..request }
            });
            if self.plan.writes_after_trims && request.op == Op::Trim {
                self.due_write = Some(Request { op: Op::Write, ..request });
            }
            self.requests_left -= 1;
            self.bytes_left = self.bytes_left.saturating_sub(request.length.0);
            out.push(request);
        }
    }
}

impl BlockSource {
    fn generate(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut impl FnMut(Op) -> Op) {
        out.reserve(limit.min(1 << 16));
        match &mut self.placer {
            AnyPlacer::Sequential(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::OncePerPass(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::Uniform(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::Ranked(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::SelfSimilar(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::Normal(placer) => self.core.run(placer, out, limit, choose),
            AnyPlacer::Zoned(placer) => self.core.run(placer, out, limit, choose),
        }
    }
}

impl Source for BlockSource {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        self.generate(out, limit, &mut |op| op);
        Ok(())
    }

    fn fill_chosen(&mut self, out: &mut Vec<Request>, limit: usize, choose: &mut dyn FnMut(Op) -> Op) -> Result<(), Problems> {
        self.generate(out, limit, &mut |op| choose(op));
        Ok(())
    }
}
