//! Generates a job's requests, each with an operation, a length and an address, until a limit of the job is reached.

use super::course::Position;
use super::place::{AtEnd, Bounds, Normal, OncePerPass, Placer, Ranked, SelfSimilar, Sequential, Uniform, Zoned};
use super::{OpMix, Place, SizeMix, Stretches, Strides, Zipf};
use crate::{Request, Source};
use kit::Permutation;
use kit::{Bytes, Op, Problems, Rng, SimTime};

/// Parameters of a [`BlockSource`].
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// First byte of the region.
    pub offset: u64,
    /// Size of the region \[bytes\]; requests begin inside it.
    pub region_bytes: u64,
    /// Bytes from `offset` that requests may access: at least the region, which the last may leave if its operation has
    /// one length. Requests of several lengths stay inside.
    pub reach_bytes: u64,
    /// Behaviour at the end of the region, or of a pass over it.
    pub at_end: AtEnd,
    /// Sequential requests: bytes from the end of one to the start of the next; negative: backwards.
    pub step: i64,
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
    /// Ends of the requests by operation \[bytes from the plan's offset\].
    reach: [u64; 3],
    /// True if random requests of an operation with longer blocks than others are kept in the region whole.
    clamps: bool,
    /// Bounds of a sequence: those of the region, or of a zone.
    bounds: Bounds,
    /// Write of the range that was trimmed last.
    due_write: Option<Request>,
    /// True if the region, or a pass over it, has ended, and the source with it.
    is_over: bool,
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
        let bounds = Bounds { region: plan.region_bytes, reach: plan.reach_bytes, at_end: plan.at_end };
        let placer = match &plan.place {
            Place::Sequential => {
                AnyPlacer::Sequential(Sequential { bounds, step: plan.step, offset: plan.offset, next: [0; Op::COUNT] })
            }
            Place::OncePerPass => AnyPlacer::OncePerPass(OncePerPass {
                at_end: plan.at_end,
                unit,
                pass: Permutation::new(blocks, key),
                index: 0,
                keys,
            }),
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
            reach: plan.sizes.each_ref().map(|sizes| if sizes.is_fixed() { plan.reach_bytes } else { plan.region_bytes }),
            clamps: plan.at_end == AtEnd::Ends && !matches!(plan.place, Place::Sequential),
            bounds,
            due_write: None,
            is_over: false,
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
        let plan = &self.core.plan;
        assert!(plan.region_bytes <= strides.region_bytes && strides.zone_bytes > 0, "the first zone fits");
        // A sequence begins anew in its zone, whose end its last request may pass.
        self.core.bounds = Bounds { region: plan.region_bytes, reach: u64::MAX, at_end: AtEnd::Wraps };
        if let AnyPlacer::Sequential(placer) = &mut self.placer {
            placer.bounds = self.core.bounds;
        }
        let inside = strides.inside_bytes;
        self.core.reach = plan.sizes.each_ref().map(|sizes| if sizes.is_fixed() { plan.reach_bytes } else { inside });
        self.core.position = Some(Position::new(strides));
        self
    }

    /// Sets the numbers of requests and bytes after which the source ends.
    pub fn limit(&mut self, requests_max: u64, bytes_max: u64) {
        (self.core.requests_left, self.core.bytes_left) = (requests_max, bytes_max);
    }

    /// Returns true if the region, or a pass over it, has ended, and with it the source.
    pub fn is_over(&self) -> bool {
        self.core.is_over
    }

    /// Returns the requests until the next that may be random, if only some may.
    pub fn turns_left(&self) -> Option<u64> {
        self.core.stretches.as_ref().map(Stretches::left)
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

    /// Returns the range of the next request of an operation: its start from the plan's offset, and its length. `None`:
    /// the source ends.
    #[inline]
    fn range(&mut self, placer: &mut impl Placer, op: Op) -> Option<(u64, u64)> {
        let (kind, region) = ((op as usize).min(2), self.plan.region_bytes);
        let least = self.least[kind].min(region);
        let zone = self.enter_zone(placer);
        let placed = match &mut self.stretches {
            None => placer.place(op, least)?,
            Some(stretches) => stretches.place(placer, op, least, &self.bounds)?,
        };
        // The grid is finer than the alignment where operations differ in it.
        let align = self.plan.align[kind];
        let start = if align == self.plan.unit { placed } else { placed.min(region - least) / align * align };
        let start = if self.clamps { start.min((region - least) / align * align) } else { start };
        let room = self.reach[kind].saturating_sub(zone + start);
        if room < least && (self.plan.at_end == AtEnd::Ends || room == 0) {
            return None;
        }
        let length = self.plan.sizes[kind].draw(&mut self.size_rng, room);
        placer.ends_at(op, start + length);
        if let Some(stretches) = &mut self.stretches {
            stretches.placed(op, start, start + length);
        }
        if let Some(position) = &mut self.position {
            position.count(length);
        }
        Some((zone + start, length))
    }

    fn run(&mut self, placer: &mut impl Placer, out: &mut Vec<Request>, limit: usize, choose: &mut impl FnMut(Op) -> Op) {
        let count = u64::try_from(limit).unwrap_or(u64::MAX).min(self.requests_left);
        for _ in 0..count {
            if self.bytes_left == 0 || self.is_over {
                return;
            }
            let request = if let Some(write) = self.due_write.take() {
                if let Some(stretches) = &mut self.stretches {
                    stretches.turn();
                }
                write
            } else {
                let op = choose(self.plan.ops.draw(&mut self.op_rng));
                let Some((start, length)) = self.range(placer, op) else {
                    self.is_over = true;
                    return;
                };
                let request = Request::new(SimTime::ZERO, op, Bytes(self.plan.offset + start), Bytes(length));
                Request { stream: self.plan.stream, ..request }
            };
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
