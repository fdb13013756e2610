//! State of the relocation of a die, which empties one block at a time, whatever the reason.
//!
//! Each step is one flash operation on the victim's own die: read the valid units of a row; program them to the die's
//! relocation frontier once they fill a program unit (or the victim holds no more); erase the victim when no unit in it
//! is valid and nothing pins it. Host operations may come between any two steps.

use crate::map::Store;
use crate::medium::BlockState;
use crate::policy::{Collection, WriteAnswer};
use kit::archive::{Archived, require};
use kit::{BlockId, DieId, Ppn, Reason};
use serde::{Deserialize, Serialize};

/// A request to empty a block for a reason other than space; stale once the block has been erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RelocationRequest {
    pub block: BlockId,
    pub erase_count: u32,
    pub reason: Reason,
    /// True if its retention limit is near: it is emptied before any other work of its die.
    pub urgent: bool,
}

/// State of the relocation of one die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Collector {
    /// The victim block.
    pub victim: Option<BlockId>,
    /// Reason for emptying the victim.
    pub reason: Reason,
    /// Place in the victim at which the search for valid units continues.
    pub cursor: Ppn,
    /// End of the range of the victim whose map entries have been prefetched.
    pub prefetched_until: Ppn,
    /// Places in the victim of the units that have been read and not yet programmed.
    pub gathered: Vec<Ppn>,
    /// Mode and stream of each gathered unit, where the policy chooses them unit by unit; otherwise empty.
    pub answers: Vec<WriteAnswer>,
    /// Number of leading `gathered` units that have been encoded with the code `encoded_for` (an encoder number,
    /// counted from 1; 0: none).
    pub encoded: usize,
    encoded_for: u8,
    /// Value that `encoded` takes when the current encoder job completes; none if no job is outstanding.
    pub encoding: Option<usize>,
    /// True while a read of this collector is in flight.
    pub reading: bool,
    /// Places being read.
    pub in_read: Vec<Ppn>,
    /// True if the victim, or a block waiting in `wanted`, must be emptied before any other work of the die because its
    /// retention limit is near.
    pub urgent: bool,
    /// True if the die has been idle long enough to collect in the background.
    pub in_background: bool,
    /// True if the victim was taken for background collection.
    pub background: bool,
    /// Valid units of the victim when it was taken.
    pub initial_valid: u32,
    /// Blocks waiting to be emptied for a reason other than space.
    wanted: Vec<RelocationRequest>,
}

impl Collector {
    pub fn new(units_per_program: u32) -> Collector {
        Collector {
            victim: None,
            reason: Reason::Gc,
            cursor: Ppn(0),
            prefetched_until: Ppn(0),
            gathered: Vec::with_capacity(2 * units_per_program as usize),
            answers: Vec::new(),
            encoded: 0,
            encoded_for: 0,
            encoding: None,
            reading: false,
            in_read: Vec::with_capacity(units_per_program as usize),
            urgent: false,
            in_background: false,
            background: false,
            initial_valid: 0,
            wanted: Vec::new(),
        }
    }

    /// Queues a request to empty a block. If the block is queued already, its position is kept; the queued request is
    /// replaced only if it is stale (another erase count) or the new one is urgent.
    pub fn want(&mut self, wanted: RelocationRequest) {
        match self.wanted.iter_mut().find(|known| known.block == wanted.block) {
            None => self.wanted.push(wanted),
            Some(known) if known.erase_count != wanted.erase_count || wanted.urgent => *known = wanted,
            Some(_) => {}
        }
        self.urgent |= wanted.urgent;
    }

    /// Removes and returns the next request: the oldest urgent one, or else the oldest.
    pub fn next_request(&mut self) -> Option<RelocationRequest> {
        let next = self.wanted.iter().position(|wanted| wanted.urgent).unwrap_or(0);
        (next < self.wanted.len()).then(|| self.wanted.remove(next))
    }

    /// Returns the number of blocks waiting to be emptied.
    pub fn request_count(&self) -> usize {
        self.wanted.len()
    }

    /// Returns true if the collection may have an operation for the die: it has a victim, a request, or collects in the
    /// background. A collection for space goes on only if `for_space` is true.
    #[inline]
    pub fn may_go_on(&self, for_space: bool) -> bool {
        let empties_victim = self.victim.is_some() && (for_space || self.reason != Reason::Gc);
        empties_victim || !self.wanted.is_empty() || self.urgent || self.in_background
    }

    /// Returns true if a waiting request is urgent (its retention limit is near).
    pub fn has_urgent_request(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.urgent)
    }

    /// Begins to empty the victim `taken`, whose first place is `first`.
    pub fn begin(&mut self, taken: &Collection, first: Ppn, urgent: bool) {
        debug_assert!(self.victim.is_none() && self.gathered.is_empty() && self.encoding.is_none());
        self.victim = Some(taken.block);
        self.cursor = first;
        self.prefetched_until = first;
        self.reason = taken.reason;
        self.background = taken.background;
        self.initial_valid = taken.valid;
        self.urgent = urgent || self.has_urgent_request();
    }

    /// Requires that the first `count` gathered units be encoded with `code`. Returns the number of them that are not;
    /// if it is not zero, the caller must submit them to the encoder now.
    pub fn encode(&mut self, code: u8, count: usize) -> usize {
        if self.encoded_for != code {
            (self.encoded, self.encoded_for) = (0, code);
        }
        let missing = count.saturating_sub(self.encoded);
        self.encoding = (missing > 0).then_some(count);
        missing
    }

    /// Records that the outstanding encoder job is complete.
    pub fn is_encoded(&mut self) {
        self.encoded = self.encoding.take().expect("the encoder was asked");
    }

    /// Removes the first `count` gathered units, which are being programmed.
    pub fn programs(&mut self, count: usize) {
        self.gathered.drain(..count);
        self.answers.drain(..count.min(self.answers.len()));
        self.encoded = self.encoded.saturating_sub(count);
    }

    /// Brings the gathered units that are to be programmed next to the front and returns their number: those of the
    /// first answer that fills a program of `whole` units; else, if the victim is `exhausted`, all, those of the answer
    /// that most units have first; else none. A unit that has been encoded stays at the front, with its answer.
    pub fn group(&mut self, whole: usize, exhausted: bool) -> usize {
        debug_assert_eq!(self.answers.len(), self.gathered.len());
        let Some(&first) = self.answers.first() else { return 0 };
        let count = |answer: WriteAnswer| self.answers.iter().filter(|other| **other == answer).count();
        let fills = |answer: &WriteAnswer| count(*answer) >= whole;
        let full = if self.encoded > 0 { Some(first).filter(fills) } else { self.answers.iter().copied().find(fills) };
        if let Some(answer) = full {
            return self.bring_forward(self.encoded, |other| other == answer);
        }
        if !exhausted {
            return 0;
        }
        let most = if self.encoded > 0 {
            first
        } else {
            // Of equal counts the first answer is taken.
            self.answers.iter().rev().copied().max_by_key(|answer| count(*answer)).unwrap_or(first)
        };
        self.bring_forward(self.encoded, |other| other == most);
        self.gathered.len()
    }

    /// Moves the units from place `from` on whose answers are `wanted` behind the first `from` units, in their order.
    /// Returns the number of the units in front then.
    fn bring_forward(&mut self, from: usize, wanted: impl Fn(WriteAnswer) -> bool) -> usize {
        let mut front = from;
        for at in from..self.answers.len() {
            if wanted(self.answers[at]) {
                self.answers[front..=at].rotate_right(1);
                self.gathered[front..=at].rotate_right(1);
                front += 1;
            }
        }
        front
    }

    /// Checks the relocation of a die of a saved drive, which is at rest. `is_moved` tells whether the unit at a place
    /// has been read to be moved by another die.
    pub fn check(&self, die: DieId, store: &Store, is_moved: &dyn Fn(Ppn) -> bool) -> Archived {
        let Collector { victim, cursor, ref gathered, initial_valid, ref wanted, .. } = *self;
        let (blocks, geometry) = (store.medium.geometry.blocks_of(die), &store.medium.geometry);
        let rests = self.encoding.is_none() && !self.reading && self.in_read.is_empty();
        require(rests, || format!("die {} rests, and its relocation reads or encodes", die.0))?;
        for RelocationRequest { block, erase_count, reason, .. } in wanted {
            require(blocks.contains(&block.0), || {
                format!("die {} is to empty block {}, which it does not have", die.0, block.0)
            })?;
            require(*erase_count <= store.medium.erase_count(*block) && reason.is_of_moves(), || {
                let erases = store.medium.erase_count(*block);
                format!("block {} is to be emptied for `{}` after {erase_count} erases, and has {erases}", block.0, reason.name())
            })?;
        }
        let mut listed: Vec<BlockId> = wanted.iter().map(|wanted| wanted.block).collect();
        listed.sort_unstable();
        require(listed.windows(2).all(|pair| pair[0] < pair[1]), || format!("die {} is to empty one block twice", die.0))?;
        let Some(block) = victim else {
            return require(gathered.is_empty() && self.answers.is_empty() && self.encoded == 0, || {
                format!("die {} collects no block, and has gathered {} units of one", die.0, gathered.len())
            });
        };
        require(blocks.contains(&block.0) && store.medium.block(block).is(BlockState::Victim), || {
            format!("die {} collects block {}, which is none of its victims", die.0, block.0)
        })?;
        require(self.reason.is_of_moves(), || format!("block {} is emptied for `{}`", block.0, self.reason.name()))?;
        let first = geometry.first_of(block);
        let end = Ppn(first.0 + geometry.units_per_block);
        let fits = [cursor, self.prefetched_until].iter().all(|at| (first..=end).contains(at))
            && gathered.iter().all(|at| (first..cursor).contains(at) && u64::from(store.lpn_at(*at).0) < store.all_units);
        require(fits, || format!("the collection of block {} is at places outside of what it has read there", block.0))?;
        let mut places = gathered.clone();
        places.sort_unstable();
        let is_once = places.windows(2).all(|pair| pair[0] < pair[1]);
        require(is_once, || format!("the collection of block {} has gathered one unit twice", block.0))?;
        let gathered_now = |at: &u32| store.medium.is_valid(Ppn(*at)) && (gathered.contains(&Ppn(*at)) || !is_moved(Ppn(*at)));
        let read = (first.0..cursor.0).filter(gathered_now).count();
        let kept = gathered.iter().filter(|&&at| store.medium.is_valid(at)).count();
        require(read == kept, || {
            format!(
                "block {} is read up to unit {}, and {kept} of {read} valid units there are gathered",
                block.0,
                cursor.0 - first.0
            )
        })?;
        let valid = u32::from(store.medium.block(block).valid);
        require((valid..=geometry.units_per_block).contains(&initial_valid), || {
            format!("block {} had {initial_valid} valid units when its collection began, and has {valid}", block.0)
        })
    }

    /// Checks what a collection of a drive of the same description has gathered: `answers_each` if the policy chooses
    /// mode and stream for each unit, below `modes` and `streams`.
    pub fn check_answers(&self, answers_each: bool, modes: usize, streams: u8) -> Archived {
        let gathered = self.gathered.len();
        let expected = if answers_each { gathered } else { 0 };
        let fits = self.answers.len() == expected
            && self.answers.iter().all(|answer| answer.mode.index() < modes && answer.stream < streams.max(1));
        require(fits, || format!("a collection has gathered {gathered} units, and the policy's answers do not belong to them"))?;
        require(self.encoded <= gathered, || format!("{} of {gathered} gathered units are encoded", self.encoded))
    }

    /// Returns the current collection as policies see it.
    pub fn collection(&self) -> Option<Collection> {
        let Collector { reason, background, initial_valid: valid, .. } = *self;
        self.victim.map(|block| Collection { block, reason, background, valid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(block: u32, erase_count: u32, urgent: bool) -> RelocationRequest {
        RelocationRequest { block: BlockId(block), erase_count, reason: Reason::Wear, urgent }
    }

    /// Every sequence of five steps with requests for three blocks, each before or after an erase, urgent or not; or
    /// the next request is taken. The plain list keeps the position of a block and the newest request that matters.
    #[test]
    fn the_oldest_urgent_request_comes_first_and_each_block_once() {
        let steps: Vec<Option<(u32, u32, bool)>> =
            (0..12).map(|number| Some((number % 3, number / 3 % 2, number >= 6))).chain([None]).collect();
        for sequence in 0..steps.len().pow(5) {
            let (mut collector, mut model, mut any_urgent) = (Collector::new(1), Vec::<(u32, u32, bool)>::new(), false);
            for place in 0..5 {
                match steps[sequence / steps.len().pow(place) % steps.len()] {
                    Some((block, erase_count, urgent)) => {
                        collector.want(request(block, erase_count, urgent));
                        any_urgent |= urgent;
                        match model.iter_mut().find(|known| known.0 == block) {
                            None => model.push((block, erase_count, urgent)),
                            // A request for a block that has been erased since is stale; an urgent one goes for both.
                            Some(known) if known.1 != erase_count => *known = (block, erase_count, urgent),
                            Some(known) => known.2 |= urgent,
                        }
                    }
                    None => {
                        let first = model.iter().position(|known| known.2).unwrap_or(0);
                        let expected = (!model.is_empty()).then(|| model.remove(first));
                        let next = collector.next_request();
                        assert_eq!(next.map(|next| (next.block.0, next.erase_count, next.urgent)), expected);
                    }
                }
                assert_eq!((collector.request_count(), collector.urgent), (model.len(), any_urgent));
                assert_eq!(collector.has_urgent_request(), model.iter().any(|known| known.2));
            }
        }
    }

    /// A collection is urgent if its own request is, or one that waits.
    #[test]
    fn a_collection_is_urgent_for_the_sake_of_those_that_wait() {
        for (own, waiting) in [(false, None), (true, None), (false, Some(false)), (false, Some(true))] {
            let mut collector = Collector::new(2);
            waiting.into_iter().for_each(|urgent| collector.want(request(7, 0, urgent)));
            let taken = Collection { block: BlockId(3), reason: Reason::Gc, background: true, valid: 5 };
            collector.begin(&taken, Ppn(12), own);
            assert_eq!(collector.urgent, own || waiting == Some(true));
            assert_eq!((collector.victim, collector.cursor, collector.prefetched_until), (Some(BlockId(3)), Ppn(12), Ppn(12)));
            let seen = collector.collection().expect("it has begun");
            assert_eq!((seen.block, seen.reason, seen.background, seen.valid), (BlockId(3), Reason::Gc, true, 5));
        }
        assert!(Collector::new(2).collection().is_none());
    }

    /// Every sequence of six answers of two modes and two streams: a whole program of one answer is taken as soon as
    /// there is one, in the order in which its units were read; at the end of the victim all that is left is
    /// programmed, and nothing twice.
    #[test]
    fn units_of_one_answer_are_programmed_together_and_the_rest_at_the_end() {
        const WHOLE: usize = 3;
        for sequence in 0..4u32.pow(6) {
            let answer_of = |place: u32| {
                let drawn = (sequence / 4u32.pow(place) % 4) as u8;
                WriteAnswer { mode: kit::ModeId(drawn / 2), stream: drawn % 2 }
            };
            let (mut collector, mut programmed) = (Collector::new(WHOLE as u32), Vec::new());
            for place in 0..6 {
                collector.gathered.push(Ppn(place));
                collector.answers.push(answer_of(place));
                let count = collector.group(WHOLE, false);
                let full = (0..=place).filter(|other| !programmed.contains(&Ppn(*other)));
                let full = full.filter(|other| answer_of(*other) == answer_of(place)).count() == WHOLE;
                assert_eq!(count, if full { WHOLE } else { 0 }, "{sequence:o} {place}");
                if full {
                    let taken = collector.gathered[..WHOLE].to_vec();
                    assert!(taken.is_sorted() && taken.iter().all(|ppn| answer_of(ppn.0) == answer_of(place)));
                    programmed.extend(taken);
                    collector.programs(WHOLE);
                }
            }
            while !collector.gathered.is_empty() {
                let most =
                    collector.answers.iter().map(|one| collector.answers.iter().filter(|other| *other == one).count()).max();
                assert_eq!(collector.group(WHOLE, true), collector.gathered.len());
                let first = collector.answers[0];
                let leading = collector.answers.iter().take_while(|other| **other == first).count();
                assert_eq!(Some(leading), most, "the answer of most units comes first");
                let count = WHOLE.min(collector.gathered.len());
                programmed.extend(collector.gathered[..count].iter().copied());
                collector.programs(count);
            }
            programmed.sort_unstable();
            assert_eq!(programmed, (0..6).map(Ppn).collect::<Vec<_>>());
        }
    }

    /// Units that have been encoded stay in front, and others of their answer follow them.
    #[test]
    fn an_encoded_unit_keeps_its_place() {
        let answer = |stream| WriteAnswer { mode: kit::ModeId(0), stream };
        let mut collector = Collector::new(3);
        for (place, stream) in [(0, 1), (1, 0), (2, 0), (3, 0), (4, 1)] {
            collector.gathered.push(Ppn(place));
            collector.answers.push(answer(stream));
        }
        assert_eq!(collector.encode(1, 1), 1);
        collector.is_encoded();
        assert_eq!(collector.group(3, false), 0, "its answer fills no program, although another does");
        assert_eq!(collector.group(2, false), 2);
        assert_eq!(collector.gathered, [0, 4, 1, 2, 3].map(Ppn));
    }

    /// Units are gathered, encoded with one of two codes, and programmed, in every order of six steps. Each unit of a
    /// plain list knows the code that it has; another code makes all of them lose theirs.
    #[test]
    fn a_unit_is_encoded_once_for_its_code() {
        for sequence in 0..4u32.pow(6) {
            let (mut collector, mut model) = (Collector::new(2), Vec::<u8>::new());
            for place in 0..6 {
                match sequence / 4u32.pow(place) % 4 {
                    0 => {
                        collector.gathered.push(Ppn(place));
                        model.push(0);
                    }
                    code @ 1..=2 => {
                        let count = model.len().min(2);
                        let code = code as u8;
                        if model.iter().any(|known| ![0, code].contains(known)) {
                            model.fill(0);
                        }
                        let missing = model[..count].iter().filter(|known| **known != code).count();
                        assert_eq!(collector.encode(code, count), missing, "{sequence}: {model:?}");
                        assert_eq!(collector.encoding.is_some(), missing > 0);
                        if missing > 0 {
                            collector.is_encoded();
                        }
                        model[..count].fill(code);
                    }
                    _ => {
                        let count = model.len().min(2);
                        collector.programs(count);
                        model.drain(..count);
                    }
                }
                let encoded = model.iter().filter(|known| **known != 0).count();
                assert_eq!((collector.gathered.len(), collector.encoded), (model.len(), encoded), "{sequence}: {model:?}");
            }
        }
    }
}
