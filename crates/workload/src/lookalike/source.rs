//! Endless source of the requests of a look-alike.

use super::cascade::Cascade;
use super::fit::progress;
use super::history::{FRESH_JUMP, FRESH_RUN, History, RETURN, RUN};
use super::model::{Behaviour, Beyond, Description, Sizes};
use super::quantiles::draw;
use super::recency::Touch;
use crate::generator::SizeMix;
use crate::trace::fit;
use crate::{Request, Source};
use kit::{Bytes, Op, Problems, Rng, SECTOR_BYTES};

/// Number of attempts to find untouched space for a run.
const ROOM_TRIES: usize = 8;
/// Number of slots, up and down the stack, among which a return looks for an earlier request of its size.
const NEAR_SIZE: usize = 8;
/// Number of slots, up and down the stack, among which a return looks for an extent in which a request began, or did
/// not begin.
const NEAR_START: usize = 256;
/// Maximum length of the untouched space that is looked for \[extents\].
const ROOM_MAX: u64 = 1 << 14;

/// Endless source of requests that follow a description.
pub struct LookAlike {
    offset: u64,
    region: u64,
    /// The drive's capacity, if requests past its end are wrapped onto it; otherwise `None`.
    wrapped: Option<u64>,
    fitted: u64,
    index: u64,
    phases: Vec<f64>,
    transitions: Vec<Vec<f64>>,
    behaviours: [Option<(Behaviour, [SizeMix; 4])>; 3],
    last_op: Op,
    last_kind: [usize; 3],
    history: History,
    arrivals: Cascade,
    op_rng: Rng,
    place_rng: Rng,
    size_rng: Rng,
}

impl LookAlike {
    /// Returns the generator of a checked description, for a drive of `user_bytes`.
    pub fn new(model: &Description, user_bytes: u64, seed: u64) -> LookAlike {
        let stream = |name: &str| Rng::stream(seed, &format!("lookalike.{name}"));
        let behaviours = [&model.read, &model.write, &model.trim]
            .map(|behaviour| behaviour.as_ref().map(|behaviour| (behaviour.clone(), mixes(behaviour))));
        let mut source = LookAlike {
            offset: model.offset.0,
            region: model.region.0,
            wrapped: (model.address == Beyond::Wrap).then_some(user_bytes),
            fitted: model.fitted_requests,
            index: 0,
            phases: model.phases.clone(),
            transitions: model.transitions.clone(),
            behaviours,
            last_op: Op::Write,
            last_kind: [FRESH_JUMP; 3],
            history: History::new(model.region.0, model.extent.0),
            arrivals: Cascade::new(&model.arrival, model.speed, stream("arrival")),
            op_rng: stream("operation"),
            place_rng: stream("place"),
            size_rng: stream("size"),
        };
        source.last_op = source.first_op();
        source
    }

    /// Returns the first operation that has a behaviour.
    fn first_op(&self) -> Op {
        let index = self.behaviours.iter().position(Option::is_some).expect("a checked description has a behaviour");
        Op::ALL[index]
    }

    fn next_op(&mut self) -> Op {
        let row = &self.transitions[self.last_op as usize];
        let op = pick(row, &mut self.op_rng).map_or_else(|| self.first_op(), |index| Op::ALL[index]);
        let known = op == Op::Flush || self.behaviours[op as usize].is_some();
        self.last_op = if known { op } else { self.first_op() };
        self.last_op
    }

    fn next(&mut self) -> Request {
        let at = self.arrivals.next();
        let op = self.next_op();
        self.index += 1;
        if op == Op::Flush {
            return Request::new(at, op, Bytes(0), Bytes(0));
        }
        let (behaviour, sizes) = self.behaviours[op as usize].take().expect("the operation has a behaviour");
        let (start, length) = self.place(op, &behaviour, &sizes);
        self.behaviours[op as usize] = Some((behaviour, sizes));
        let (offset, length) = match self.wrapped {
            Some(capacity) => fit((self.offset + start) % capacity, length, capacity),
            None => (self.offset + start, length),
        };
        Request::new(at, op, Bytes(offset), Bytes(length))
    }

    /// Draws the start and the length of the next request of `op`, by its kind; a run that cannot be continued becomes
    /// a jump.
    fn place(&mut self, op: Op, behaviour: &Behaviour, sizes: &[SizeMix; 4]) -> (u64, u64) {
        let row = &behaviour.kinds[self.last_kind[op as usize]];
        let mut kind = pick(row, &mut self.place_rng).unwrap_or(RETURN);
        if kind < FRESH_RUN {
            let (fresh, both) = (row[FRESH_JUMP], row[FRESH_JUMP] + row[RETURN]);
            let share = if both > 0.0 { fresh / both * self.by_age(&behaviour.growth) } else { 0.0 };
            kind = if self.place_rng.chance(share) { FRESH_JUMP } else { RETURN };
        }
        self.last_kind[op as usize] = kind;
        let run = if kind >= FRESH_RUN { self.run(op, kind, behaviour, sizes) } else { None };
        run.unwrap_or_else(|| self.jump(op, kind % 2 == FRESH_JUMP, behaviour, sizes))
    }

    /// Tries to continue a run of the given kind; `None` if there is none, or if the region's end prevents it.
    fn run(&mut self, op: Op, kind: usize, behaviour: &Behaviour, sizes: &[SizeMix; 4]) -> Option<(u64, u64)> {
        let weights = if kind == FRESH_RUN { &behaviour.fresh_runs } else { &behaviour.runs };
        let index = (kind, pick(weights, &mut self.place_rng).unwrap_or(0));
        let run = self.history.run(op, index)?;
        let drawn = sizes[kind].draw(&mut self.size_rng, u64::MAX);
        if run.end >= self.region {
            return None;
        }
        let length = self.size_as_before(op, run.end, drawn, behaviour);
        if run.end + length > self.region {
            return None;
        }
        let Some(entered) = self.history.entered(run.end, length) else {
            self.history.record(op, run.end, length, Some(index));
            return Some((run.end, length));
        };
        let stays = self.by_age(if run.fresh { &behaviour.fresh_stays } else { &behaviour.fresh_begins });
        let wanted = self.place_rng.chance(stays);
        let rest = (run.end + length - entered).div_ceil(self.history.extent_bytes()).min(ROOM_MAX);
        let fits = if wanted { self.history.room(entered, rest) >= rest } else { self.history.touched(entered) };
        if fits {
            self.history.record(op, run.end, length, Some(index));
            return Some((run.end, length));
        }
        // The run would enter touched data where it should enter untouched data, or the reverse: it continues
        // elsewhere.
        let start = if wanted { self.fresh(op, length, behaviour) } else { self.back(length, behaviour) }?;
        let start = start.min(self.region - length) / SECTOR_BYTES * SECTOR_BYTES;
        self.history.record(op, start, length, None);
        Some((start, length))
    }

    fn jump(&mut self, op: Op, fresh: bool, behaviour: &Behaviour, sizes: &[SizeMix; 4]) -> (u64, u64) {
        let length = sizes[FRESH_JUMP].draw(&mut self.size_rng, u64::MAX);
        let fresh = if fresh { self.fresh(op, length, behaviour) } else { None };
        let returning = sizes[RETURN].draw(&mut self.size_rng, u64::MAX);
        let back = if fresh.is_none() { self.back(returning, behaviour) } else { None };
        let (start, length) = match back {
            Some(start) => (start, returning),
            None => (fresh.or_else(|| self.fresh(op, length, behaviour)).unwrap_or(0), length),
        };
        let length = length.min(self.region);
        let start = start.min(self.region - length) / SECTOR_BYTES * SECTOR_BYTES;
        self.history.record(op, start, length, None);
        (start, length)
    }

    /// Returns the entry of `classes` for the present age.
    fn by_age(&self, classes: &[f64]) -> f64 {
        classes.get(progress(self.index, self.fitted)).or(classes.last()).copied().unwrap_or(0.0)
    }

    /// With probability `same_size`, returns the size of the earlier request that began at `start`, or a size that ends
    /// where an earlier request began in the next extent, so that a second pass over a file falls into step with the
    /// first. Otherwise returns `drawn`.
    fn size_as_before(&mut self, op: Op, start: u64, drawn: u64, behaviour: &Behaviour) -> u64 {
        let sector = (start % self.history.extent_bytes() / SECTOR_BYTES) as u16;
        let Some((_, touch, _)) = self.history.find(op, start) else { return drawn };
        if !self.place_rng.chance(behaviour.same_size) {
            return drawn;
        }
        if touch.sectors > 0 && touch.sector == sector {
            return u64::from(touch.sectors) * SECTOR_BYTES;
        }
        let extent = self.history.extent_bytes();
        let next = (start / extent + 1) * extent;
        let found = if next < self.region { self.history.find(op, next) } else { None };
        match found.filter(|(_, touch, _)| touch.sectors > 0) {
            Some((_, touch, _)) => {
                let length = next + u64::from(touch.sector) * SECTOR_BYTES - start;
                if (drawn / 2..=drawn * 2).contains(&length) { length } else { drawn }
            }
            None => drawn,
        }
    }

    /// Draws the start of a return to touched data, by its stack distance. With the probabilities of `behaviour`, it
    /// prefers nearby extents in which a request began, and among them one in which a request of `length` began. `None`
    /// if nothing was touched.
    fn back(&mut self, length: u64, behaviour: &Behaviour) -> Option<u64> {
        let wanted = usize::from(self.place_rng.chance(behaviour.to_written));
        let stack = if self.history.stacks[wanted].live() > 0 { wanted } else { 1 - wanted };
        let distances = if stack == 1 { &behaviour.written_distances } else { &behaviour.read_distances };
        let last = self.history.stacks[stack].live().checked_sub(1)?;
        let distance = (libm::round(draw(distances, true, &mut self.place_rng)) as usize).min(last);
        let began = self.place_rng.chance(behaviour.at_start);
        let same_size = began && self.place_rng.chance(behaviour.same_size);
        let stack = &self.history.stacks[stack];
        let sized = |touch: &Touch| u64::from(touch.sectors) * SECTOR_BYTES == length;
        let exact = if same_size { stack.near(distance, NEAR_SIZE, sized) } else { None };
        let alike = exact.or_else(|| stack.near(distance, NEAR_START, |touch| (touch.sectors > 0) == began));
        let touch = alike.unwrap_or_else(|| stack.at(distance));
        let extent = self.history.extent_bytes();
        let base = u64::from(touch.extent) * extent;
        if touch.sectors > 0 && self.place_rng.chance(behaviour.same_start) {
            return Some(base + u64::from(touch.sector) * SECTOR_BYTES);
        }
        let page = self.place_rng.below(extent / 4096);
        Some(base + page * 4096 + self.phase())
    }

    /// Draws an address in an untouched extent with enough untouched space for a run, or with the most that a few
    /// attempts find.
    fn fresh(&mut self, op: Op, length: u64, behaviour: &Behaviour) -> Option<u64> {
        let extent = self.history.extent_bytes();
        let wanted = (draw(&behaviour.room, true, &mut self.place_rng) * 1024.0).max(length as f64) / extent as f64;
        let wanted = (libm::ceil(wanted) as u64).clamp(1, ROOM_MAX);
        let mut best = (0, None);
        for _ in 0..ROOM_TRIES {
            let drawn = self.target(op, behaviour);
            let free = self.history.untouched_after(drawn)?;
            let room = self.history.room(free, wanted);
            if room > best.0 {
                let inside = free < drawn && drawn < free + extent;
                best = (room, Some(if inside { drawn / 4096 * 4096 } else { free }));
            }
            if room >= wanted {
                break;
            }
        }
        best.1.map(|page| (page + self.phase()).min(self.region - SECTOR_BYTES))
    }

    /// Draws the target of a jump to untouched data.
    fn target(&mut self, op: Op, behaviour: &Behaviour) -> u64 {
        let near = !behaviour.near_jumps.is_empty() && self.place_rng.chance(behaviour.near);
        let target = match self.history.last_end(op).filter(|_| near) {
            Some(end) => end as f64 + draw(&behaviour.near_jumps, false, &mut self.place_rng) * 1024.0,
            None if behaviour.places.is_empty() => self.place_rng.unit() * self.region as f64,
            None => draw(&behaviour.places, false, &mut self.place_rng) * self.region as f64,
        };
        (target.max(0.0) as u64).min(self.region - 1)
    }

    /// Draws the offset within a page at which a request begins \[bytes\].
    fn phase(&mut self) -> u64 {
        pick(&self.phases, &mut self.place_rng).unwrap_or(0) as u64 * SECTOR_BYTES
    }
}

/// Draws an index in proportion to `weights`; `None` if all are zero.
fn pick(weights: &[f64], rng: &mut Rng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    let mut left = rng.unit() * total;
    for (index, weight) in weights.iter().enumerate() {
        if left < *weight {
            return Some(index);
        }
        left -= weight;
    }
    weights.iter().rposition(|weight| *weight > 0.0)
}

/// Returns the size tables of a behaviour by kind; an empty table is replaced by the most similar one that is not
/// empty.
fn mixes(behaviour: &Behaviour) -> [SizeMix; 4] {
    let tables = [&behaviour.fresh_jump_sizes, &behaviour.return_sizes, &behaviour.fresh_run_sizes, &behaviour.run_sizes];
    // Each kind is followed by its substitutes: a jump to untouched data takes the sizes of runs through untouched
    // data, then of returns, then of other runs; and so on.
    let order = [
        [FRESH_JUMP, FRESH_RUN, RETURN, RUN],
        [RETURN, RUN, FRESH_JUMP, FRESH_RUN],
        [FRESH_RUN, RUN, FRESH_JUMP, RETURN],
        [RUN, FRESH_RUN, RETURN, FRESH_JUMP],
    ];
    order.map(|kinds| {
        let table: &Sizes =
            kinds.iter().map(|kind| tables[*kind]).find(|table| !table.bytes.is_empty()).expect("checked: sizes exist");
        SizeMix::weighted(&table.bytes.iter().map(|bytes| bytes.0).zip(table.weights.iter().copied()).collect::<Vec<_>>())
    })
}

impl Source for LookAlike {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        out.extend((0..limit).map(|_| self.next()));
        Ok(())
    }
}
