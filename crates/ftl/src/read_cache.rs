//! The read cache: clean copies of units in the controller's memory, and units that are read ahead.

use kit::archive::{Archived, require};
use kit::{CommandId, Lpn, Lru, Ppn, SimTime, Slab};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of sequential streams that are followed at a time.
const STREAMS: usize = 8;

/// Sizes of the read cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCacheConfig {
    /// Mapping units that it holds; 0 without a cache.
    pub units: u32,
    /// Mapping units that are read ahead of a sequential stream.
    pub ahead: u32,
}

/// A stream of reads, each of which begins where the one before it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stream {
    /// The unit after its last read.
    next: u32,
    /// The unit up to which it is read ahead.
    ahead_to: u32,
}

/// A read command that waits for a unit that is being read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub command: CommandId,
    pub ppn: Ppn,
    pub since: SimTime,
}

/// A flash read ahead of a stream.
#[derive(Clone, Debug, Default)]
struct Ahead {
    waiting: Vec<Waiting>,
    /// Places whose data could not be corrected.
    failed: Vec<Ppn>,
}

/// Content of the read cache in the form in which it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadCacheImage {
    /// Units, the one that was used least recently first.
    units: Vec<u32>,
    streams: [Stream; STREAMS],
    turn: usize,
}

/// Clean copies of units, of which the least recently used one leaves first, and the flash reads ahead of sequential
/// streams.
pub(crate) struct ReadCache {
    clean: Lru,
    ahead: u32,
    streams: [Stream; STREAMS],
    /// The stream that gives way to the next new one.
    turn: usize,
    reads: Slab<Ahead>,
    /// Places that the host read that is about to end could not correct.
    uncorrected: Vec<Ppn>,
    /// The flash read in progress for each unit that is being read ahead.
    arriving: BTreeMap<u32, u32>,
}

impl ReadCache {
    /// Returns an empty cache; `None` if it would hold nothing.
    pub fn new(config: &ReadCacheConfig) -> Option<Box<ReadCache>> {
        let cache = || ReadCache {
            clean: Lru::new(config.units),
            ahead: config.ahead,
            streams: [Stream { next: u32::MAX, ahead_to: 0 }; STREAMS],
            turn: 0,
            reads: Slab::default(),
            uncorrected: Vec::new(),
            arriving: BTreeMap::new(),
        };
        (config.units > 0).then(|| Box::new(cache()))
    }

    /// Uses a unit. Returns true if the cache holds it.
    pub fn hit(&mut self, lpn: Lpn) -> bool {
        self.clean.touch(lpn.0)
    }

    /// Adds a unit.
    pub fn insert(&mut self, lpn: Lpn) {
        self.clean.insert(lpn.0);
    }

    /// Removes a unit whose data changes.
    pub fn forget(&mut self, lpn: Lpn) {
        self.clean.remove(lpn.0);
        self.arriving.remove(&lpn.0);
    }

    /// Loses all units: their memory is without power.
    pub fn clear(&mut self) {
        self.clean.clear();
    }

    /// Lets a command wait for a unit that is being read ahead. Returns false if it is not.
    pub fn wait(&mut self, lpn: Lpn, waiting: Waiting) -> bool {
        let Some(&read) = self.arriving.get(&lpn.0) else { return false };
        self.reads[read].waiting.push(waiting);
        true
    }

    /// Follows a host read of units up to `end`. Returns the units to read ahead: none, unless it continues a stream of
    /// which less than half of the distance is read ahead.
    pub fn follow(&mut self, first: Lpn, end: Lpn, user_units: u64) -> std::ops::Range<u32> {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.next == first.0) else {
            self.streams[self.turn] = Stream { next: end.0, ahead_to: end.0 };
            self.turn = (self.turn + 1) % STREAMS;
            return 0..0;
        };
        stream.next = end.0;
        let from = stream.ahead_to.max(end.0);
        if from - end.0 >= self.ahead.div_ceil(2) {
            return 0..0;
        }
        stream.ahead_to = (u64::from(end.0) + u64::from(self.ahead)).min(user_units) as u32;
        from..stream.ahead_to.max(from)
    }

    /// Returns true if a unit need not be read ahead.
    pub fn has(&self, lpn: Lpn) -> bool {
        self.clean.contains(lpn.0) || self.arriving.contains_key(&lpn.0)
    }

    /// Begins a flash read ahead. Returns its number.
    pub fn begin(&mut self) -> u32 {
        let read = self.reads.take();
        self.reads[read].waiting.clear();
        self.reads[read].failed.clear();
        read
    }

    /// Adds a unit to a flash read.
    pub fn expect(&mut self, lpn: Lpn, read: u32) {
        self.arriving.insert(lpn.0, read);
    }

    /// Notes a place whose data a flash read could not correct.
    pub fn fail(&mut self, read: u32, ppn: Ppn) {
        self.reads[read].failed.push(ppn);
    }

    /// Handles the arrival of a unit, which is kept if `keeps` is true and it has not changed in the meantime. Returns
    /// true if it is.
    pub fn arrived(&mut self, lpn: Lpn, read: u32, ppn: Ppn, keeps: bool) -> bool {
        if self.arriving.get(&lpn.0) != Some(&read) {
            return false;
        }
        self.arriving.remove(&lpn.0);
        let keeps = keeps && !self.reads[read].failed.contains(&ppn);
        if keeps {
            self.clean.insert(lpn.0);
        }
        keeps
    }

    /// Takes the next of the commands that waited for a flash read; `true` if its data could not be corrected.
    pub fn next_waiting(&mut self, read: u32) -> Option<(Waiting, bool)> {
        let Ahead { waiting, failed } = &mut self.reads[read];
        // A read has few of them; they go in the order in which they came.
        let one = if waiting.is_empty() { return None } else { waiting.remove(0) };
        Some((one, failed.contains(&one.ppn)))
    }

    /// Notes places that the host read that is about to end could not correct.
    pub fn not_corrected(&mut self, places: &[Ppn]) {
        self.uncorrected.extend(places);
    }

    /// Takes the places that the host read that ends could not correct.
    pub fn take_uncorrected(&mut self) -> Vec<Ppn> {
        std::mem::take(&mut self.uncorrected)
    }

    /// Ends a flash read.
    pub fn read_done(&mut self, read: u32) {
        self.reads.release(read);
    }

    /// Returns the content for saving, with nothing being read ahead.
    pub fn image(&self) -> ReadCacheImage {
        assert!(self.arriving.is_empty() && self.reads.in_use() == 0, "the drive is at rest");
        ReadCacheImage { units: self.clean.iter().collect(), streams: self.streams, turn: self.turn }
    }

    /// Checks a saved content; `is_on_flash`: true for each unit of the user that has a copy on flash.
    pub fn check(&self, image: &ReadCacheImage, user_units: u64, is_on_flash: impl Fn(Lpn) -> bool) -> Archived {
        let mut units = image.units.clone();
        units.sort_unstable();
        let is_once = units.windows(2).all(|pair| pair[0] < pair[1]) && units.len() <= self.clean.capacity();
        require(is_once, || format!("its read cache has {} units, some twice or more than it can hold", units.len()))?;
        let strange = units.iter().find(|&&unit| u64::from(unit) >= user_units || !is_on_flash(Lpn(unit)));
        require(strange.is_none(), || format!("its read cache has unit {strange:?}, which is not on flash"))?;
        let within = |unit: u32| u64::from(unit) <= user_units;
        let fits = |stream: &Stream| (within(stream.next) || stream.next == u32::MAX) && within(stream.ahead_to);
        let streams = image.streams.iter().all(fits) && image.turn < STREAMS;
        require(streams, || "its read cache follows a stream beyond the end of the drive".to_owned())
    }

    /// Restores a saved content. The oldest units are left out if there are too many.
    pub fn restore(&mut self, image: &ReadCacheImage) {
        for &unit in &image.units {
            self.clean.insert(unit);
        }
        (self.streams, self.turn) = (image.streams, image.turn % STREAMS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(units: u32, ahead: u32) -> Box<ReadCache> {
        ReadCache::new(&ReadCacheConfig { units, ahead }).expect("it holds something")
    }

    /// Reads of four units, 16 ahead: the second read of a stream begins, a further one goes on once less than eight
    /// units are ahead of it.
    #[test]
    fn a_stream_is_read_ahead_in_halves() {
        let mut cache = cache(64, 16);
        let follow = |cache: &mut ReadCache, first: u32| cache.follow(Lpn(first), Lpn(first + 4), 1000);
        let ranges: Vec<_> = (0..8).map(|read| follow(&mut cache, 100 + 4 * read)).collect();
        assert_eq!(ranges, [0..0, 108..124, 0..0, 0..0, 124..136, 0..0, 0..0, 136..148]);
        // Nine streams: the one that began first is followed no more. A read of another place follows none.
        for start in [200, 300, 400, 500, 600, 700, 800, 900] {
            assert_eq!(follow(&mut cache, start), 0..0);
        }
        assert_eq!([follow(&mut cache, 204), follow(&mut cache, 904), follow(&mut cache, 132)], [208..224, 908..924, 0..0]);
        assert_eq!(cache.follow(Lpn(908), Lpn(990), 1000), 990..1000, "up to the end of the drive");
        assert_eq!(cache.follow(Lpn(990), Lpn(1000), 1000), 1000..1000);
    }

    /// A unit that changes while it is being read is not kept, and one that could not be corrected is not either.
    #[test]
    fn only_what_is_still_right_is_kept() {
        let mut cache = cache(8, 4);
        let read = cache.begin();
        (0..4).for_each(|unit| cache.expect(Lpn(unit), read));
        let waiting = |unit: u32| Waiting { command: CommandId(unit), ppn: Ppn(unit + 50), since: SimTime(7) };
        assert!((0..3).all(|unit| cache.wait(Lpn(unit), waiting(unit))) && !cache.wait(Lpn(9), waiting(9)));
        cache.forget(Lpn(0));
        cache.fail(read, Ppn(51));
        let kept = [0, 1, 2, 3].map(|unit| cache.arrived(Lpn(unit), read, Ppn(unit + 50), unit != 3));
        assert_eq!(kept, [false, false, true, false]);
        assert_eq!([0, 1, 2, 3].map(|unit| cache.hit(Lpn(unit))), [false, false, true, false]);
        let told: Vec<_> = std::iter::from_fn(|| cache.next_waiting(read)).collect();
        assert_eq!(told, [(waiting(0), false), (waiting(1), true), (waiting(2), false)]);
        cache.read_done(read);
        let image = cache.image();
        let mut restored = self::cache(1, 4);
        restored.restore(&image);
        assert!(restored.hit(Lpn(2)) && ReadCache::new(&ReadCacheConfig::default()).is_none());
    }
}
