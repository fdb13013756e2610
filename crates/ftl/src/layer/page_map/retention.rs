//! Retention deadlines: one for each block, in the order in which they fall due.
//!
//! A policy may have the blocks of a mode moved earlier, in the background; these blocks have a queue of their own for
//! each mode.
//!
//! Blocks of one die, write mode and wear class become due in the order in which they were opened, so that a first-in,
//! first-out queue for each of these is always sorted; one timer is armed for the earliest head. Moving begins early
//! enough for all blocks of the mode that the die holds to be moved one after another, because data may be written
//! faster than it can be moved: a die that holds more of them begins earlier than another one whose block is older.
//! Nothing is kept per page, and the hot path is not involved.

mod check;

use crate::medium::BlockState;
use crate::medium::Medium;
use kit::{BlockId, ModeId, Nanos, SimTime, effective_wear_class};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// A block that must be emptied by a certain instant. Stale once the block has been erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Due {
    block: BlockId,
    erase_count: u32,
    at: SimTime,
}

/// Blocks with deadlines in the form in which they are saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RetentionImage {
    limited: Vec<Vec<VecDeque<Due>>>,
    owed: Vec<u32>,
    background: Vec<VecDeque<Due>>,
    armed: Option<SimTime>,
    timers: BTreeSet<SimTime>,
    powered_since: i64,
}

/// Times that relocating data takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveTimes {
    /// One unit's share of tR + tPROG of a program unit, divided by the number of dies \[ns\].
    pub die_share: f64,
    /// Time that a die needs to move a whole block and erase it.
    pub block: Nanos,
    /// Time of one unit in the encoder of the code that moved data is given \[ns\]; 0 without an encoder.
    pub encode: f64,
    /// Units of a block, and units of the user capacity.
    pub block_units: u32,
    pub user_units: u64,
    pub dies: usize,
}

impl MoveTimes {
    /// Returns the encoder time for each moved unit, assuming that moved data gets half of the encoder's time: host
    /// data may use the encoder, too, first come, first served.
    fn encoder_share(&self) -> f64 {
        2.0 * self.encode
    }

    fn per_unit(&self) -> f64 {
        self.die_share.max(self.encoder_share())
    }
}

/// Returns the retention limits of blocks, by the write mode recorded for a block and by wear class, from the limits of
/// data. With the page as the scope of a mode, a block holds pages of all modes that the policy uses, so that it has
/// the shortest limit of these modes.
pub(crate) fn limits_of_blocks(limits: &[Vec<Nanos>], mixed: Option<&[ModeId]>) -> Vec<Vec<Nanos>> {
    let Some(mixed) = mixed else { return limits.to_vec() };
    let used = || mixed.iter().map(|mode| &limits[mode.index()]);
    let classes = used().map(Vec::len).max().unwrap_or(0);
    let at = |limits: &Vec<Nanos>, class: usize| limits.get(class * limits.len() / classes.max(1)).copied();
    let shortest = (0..classes).filter_map(|class| used().filter_map(|mode| at(mode, class)).min()).collect();
    vec![shortest; limits.len()]
}

/// Queue of the next block that is due.
#[derive(Clone, Copy, Debug)]
enum Head {
    /// One of the queues of a die and a mode.
    Limited { place: usize },
    /// The queue of a mode.
    Background { mode: usize },
}

/// Removes blocks from the head of a queue that have been erased or hold no valid data any more. Returns true if there
/// were any.
fn drop_stale(medium: &Medium, queue: &mut VecDeque<Due>) -> bool {
    let before = queue.len();
    while queue.front().is_some_and(|due| {
        let record = medium.block(due.block);
        let state = record.state();
        medium.erase_count(due.block) != due.erase_count
            || state == BlockState::Free
            || state == BlockState::Closed && record.valid == 0
    }) {
        queue.pop_front();
    }
    queue.len() < before
}

/// Retention limits and the blocks to which they apply.
pub(crate) struct Retention {
    /// Retention limit by write mode and wear class; no classes: without limit.
    limits: Vec<Vec<Nanos>>,
    rated: u32,
    margin: Nanos,
    /// Blocks with a limit, by die and write mode ([`Retention::place`]), and by wear class.
    limited: Vec<Vec<VecDeque<Due>>>,
    /// Number of blocks with a limit that each die holds, by die and write mode.
    owed: Vec<u32>,
    /// Instant at which a die must begin to move its blocks of a mode, by die and write mode, if no encoder takes time;
    /// [`SimTime::FOREVER`]: there are none. Too early while the first of them is stale.
    starts: Vec<SimTime>,
    moving: MoveTimes,
    /// For each write mode, the time after its first program at which a block is moved in the background (none: never),
    /// and the blocks waiting for it.
    background: Vec<(Option<Nanos>, VecDeque<Due>)>,
    /// Instant for which the timer was armed last; none if it has fired since.
    armed: Option<SimTime>,
    /// Instants of all pending timers: a timer stays pending when an earlier one is armed.
    timers: BTreeSet<SimTime>,
    /// Largest number of valid units allowed in each mode, so that all of them can be moved in half its shortest limit.
    pub max_limited_units: Vec<u64>,
    /// Like `max_limited_units`, but for the time after which blocks are moved in the background: data is not moved
    /// into a mode that holds more units, because it would at once be due again.
    pub max_background_units: Vec<u64>,
    /// Shortest time between a move and the limit that it had to meet \[ns; negative: missed\].
    pub min_margin: Option<i64>,
    pub misses: u64,
    /// Instant at which power last came back \[ns\], if it has failed. Limits that had passed before are data at risk
    /// during the failure, and do not count as misses.
    powered_since: i64,
}

impl Retention {
    /// Creates the deadlines of an empty drive. `limits`: the retention limits of each write mode by wear class (empty:
    /// without limit). `move_after`: for each write mode, the time after which its blocks are moved in the background.
    pub fn new(
        limits: Vec<Vec<Nanos>>,
        move_after: Vec<Option<Nanos>>,
        rated: u32,
        margin: Nanos,
        moving: &MoveTimes,
    ) -> Retention {
        let in_time = |span: Option<&Nanos>| span.map_or(u64::MAX, |span| (span.0 as f64 / 2.0 / moving.per_unit()) as u64);
        let max_limited_units: Vec<u64> = limits.iter().map(|classes| in_time(classes.iter().min())).collect();
        let max_background_units = move_after.iter().map(|after| in_time(after.as_ref())).collect();
        let background = move_after.into_iter().map(|after| (after, VecDeque::new())).collect();
        let of_die = limits.iter().map(|classes| vec![VecDeque::new(); classes.len()]);
        let limited: Vec<Vec<VecDeque<Due>>> = of_die.cycle().take(moving.dies * limits.len()).collect();
        Retention {
            limits,
            rated,
            margin,
            owed: vec![0; limited.len()],
            starts: vec![SimTime::FOREVER; limited.len()],
            limited,
            moving: *moving,
            background,
            armed: None,
            timers: BTreeSet::new(),
            max_limited_units,
            max_background_units,
            min_margin: None,
            misses: 0,
            powered_since: i64::MIN,
        }
    }

    /// Returns the deadlines for saving. The report on limits met and missed is not saved: it begins anew with each
    /// run.
    pub fn image(&self) -> RetentionImage {
        RetentionImage {
            limited: self.limited.clone(),
            owed: self.owed.clone(),
            background: self.background.iter().map(|(_, queue)| queue.clone()).collect(),
            armed: self.armed,
            timers: self.timers.clone(),
            powered_since: self.powered_since,
        }
    }

    /// Restores saved deadlines; an error if they were saved under limits of another shape.
    pub fn restore(&mut self, image: RetentionImage) -> Result<(), String> {
        let RetentionImage { limited, owed, background, armed, timers, powered_since } = image;
        let shape = |limited: &[Vec<VecDeque<Due>>]| limited.iter().map(Vec::len).collect::<Vec<_>>();
        let fits =
            shape(&limited) == shape(&self.limited) && (owed.len(), background.len()) == (self.owed.len(), self.background.len());
        if !fits {
            return Err("its retention limits are not those of this drive".to_owned());
        }
        (self.limited, self.owed, self.powered_since) = (limited, owed, powered_since);
        (self.armed, self.timers) = (armed, timers);
        for ((_, queue), saved) in self.background.iter_mut().zip(background) {
            *queue = saved;
        }
        (0..self.limited.len()).for_each(|place| self.update_start(place));
        Ok(())
    }

    /// Returns the wear class of a block among the limits of a mode.
    fn class_of(&self, medium: &Medium, mode: u8, block: BlockId) -> usize {
        effective_wear_class(medium.wear_thousandths(block), self.rated, self.limits[mode as usize].len())
    }

    /// Returns the instant by which a block's data must have been moved, without margin \[ns; negative: before the
    /// run\]; `None` without limit.
    pub fn limit_of(&self, medium: &Medium, block: BlockId) -> Option<i64> {
        let mode = medium.block(block).mode();
        let classes = self.limits.get(mode as usize).filter(|classes| !classes.is_empty())?;
        let limit = classes[self.class_of(medium, mode, block)];
        Some(medium.first_program(block).saturating_add_unsigned(limit.0))
    }

    /// Enters the deadlines of a block that has been opened.
    pub fn opened(&mut self, medium: &Medium, block: BlockId) {
        if let Some((Some(after), queue)) = self.background.get_mut(usize::from(medium.block(block).mode())) {
            let at = medium.first_program(block).saturating_add_unsigned(after.0);
            let at = SimTime(u64::try_from(at).unwrap_or(0));
            queue.push_back(Due { block, erase_count: medium.erase_count(block), at });
        }
        let Some(limit) = self.limit_of(medium, block) else { return };
        let at = SimTime(u64::try_from(limit.saturating_sub_unsigned(self.margin.0)).unwrap_or(0));
        let mode = medium.block(block).mode();
        let class = self.class_of(medium, mode, block);
        let place = self.place(medium, block, mode);
        self.owed[place] += 1;
        self.limited[place][class].push_back(Due { block, erase_count: medium.erase_count(block), at });
        self.update_start(place);
    }

    /// Returns the index of a block's die and a mode in `limited`, `owed` and `starts`.
    fn place(&self, medium: &Medium, block: BlockId, mode: u8) -> usize {
        medium.geometry.die_of(block).index() * self.limits.len() + usize::from(mode)
    }

    /// Removes a block from the count of blocks with a limit when its erase is about to end.
    pub fn erased(&mut self, medium: &Medium, block: BlockId) {
        let place = self.place(medium, block, medium.block(block).mode());
        if let Some(owed) = self.owed.get_mut(place) {
            *owed = owed.saturating_sub(1);
            self.update_start(place);
        }
    }

    /// Updates the instant at which a die must begin to move its blocks of a mode: early enough for all other blocks of
    /// the mode on the die to be moved as well.
    fn update_start(&mut self, place: usize) {
        let first = self.limited[place].iter().filter_map(|queue| queue.front().map(|due| due.at)).min();
        let others = self.owed[place].saturating_sub(1);
        let early = self.moving.block.0.saturating_mul(u64::from(others));
        self.starts[place] = first.map_or(SimTime::FOREVER, |at| SimTime(at.0.saturating_sub(early)));
    }

    /// Returns the longest time that the encoder can take for all data with a limit in a mode.
    fn encoding_time(&self, mode: u8) -> Nanos {
        if self.moving.encode == 0.0 {
            return Nanos::ZERO;
        }
        let blocks: u64 =
            self.owed.iter().skip(usize::from(mode)).step_by(self.limits.len()).map(|&blocks| u64::from(blocks)).sum();
        let units = blocks.saturating_mul(u64::from(self.moving.block_units)).min(self.max_limited_units[usize::from(mode)]);
        Nanos((units.min(self.moving.user_units) as f64 * self.moving.encoder_share()) as u64)
    }

    /// Rebuilds the deadlines from the blocks that hold data now, which may have been opened in any order.
    pub fn adopt(&mut self, medium: &Medium) {
        self.queues().for_each(VecDeque::clear);
        self.owed.fill(0);
        self.starts.fill(SimTime::FOREVER);
        for block in (0..medium.geometry.block_count).map(BlockId) {
            if !medium.block(block).state().is_unused() {
                self.opened(medium, block);
            }
        }
        self.queues().for_each(|queue| queue.make_contiguous().sort_by_key(|due| (due.at, due.block)));
        (0..self.limited.len()).for_each(|place| self.update_start(place));
    }

    /// Returns all queues, those of retention limits first.
    fn queues(&mut self) -> impl Iterator<Item = &mut VecDeque<Due>> {
        self.limited.iter_mut().flatten().chain(self.background.iter_mut().map(|(_, queue)| queue))
    }

    /// Removes and returns the next block that is due, with true if it is due for its retention limit and false if it
    /// is to be moved in the background.
    pub fn take_due(&mut self, medium: &Medium, now: SimTime) -> Option<(BlockId, bool)> {
        let (at, next) = self.first(medium)?;
        if at > now {
            return None;
        }
        let due = match next {
            Head::Limited { place } => {
                // Of equal deadlines that of the first class.
                let queues = self.limited[place].iter_mut().filter(|queue| !queue.is_empty());
                let due = queues.min_by_key(|queue| queue[0].at).and_then(VecDeque::pop_front);
                self.update_start(place);
                due
            }
            Head::Background { mode } => self.background[mode].1.pop_front(),
        };
        due.map(|due| (due.block, matches!(next, Head::Limited { .. })))
    }

    /// Returns the instant at which the next block is due.
    pub fn next_due(&mut self, medium: &Medium) -> Option<SimTime> {
        self.first(medium).map(|(at, _)| at)
    }

    /// Handles the timer that fires at `now`.
    pub fn timer_fired(&mut self, now: SimTime) {
        self.armed = None;
        while self.timers.first().is_some_and(|&at| at <= now) {
            self.timers.pop_first();
        }
    }

    /// Arms the timer for `at` unless it is armed for an earlier instant. Returns true if an event must be scheduled: a
    /// timer that is pending for the same instant serves. Otherwise each obsolete timer would leave another one behind
    /// whenever it fires.
    pub fn must_arm(&mut self, at: SimTime) -> bool {
        let sooner = self.armed.is_none_or(|armed| at < armed);
        if sooner {
            self.armed = Some(at);
        }
        sooner && self.timers.insert(at)
    }

    /// Returns the instant at which the next block is due, and where it is queued. At one instant limits go before
    /// background moves, and then modes, dies and classes go by their numbers. Blocks at the heads of queues that have
    /// been erased or hold no valid data any more are removed where they would be next: others may only become due
    /// later by it.
    fn first(&mut self, medium: &Medium) -> Option<(SimTime, Head)> {
        loop {
            let (at, head) = self.earliest()?;
            let dropped = match head {
                Head::Limited { place } => {
                    let dropped = self.limited[place].iter_mut().fold(false, |any, queue| drop_stale(medium, queue) | any);
                    if dropped {
                        self.update_start(place);
                    }
                    dropped
                }
                Head::Background { mode } => drop_stale(medium, &mut self.background[mode].1),
            };
            if !dropped {
                return Some((at, head));
            }
        }
    }

    /// Returns the earliest instant at which a block is due, stale or not, and where it is queued.
    fn earliest(&self) -> Option<(SimTime, Head)> {
        let modes = self.limits.len();
        let limited = (0..modes).filter(|&mode| !self.limits[mode].is_empty()).filter_map(|mode| {
            let places = (mode..self.starts.len()).step_by(modes);
            let place = places.min_by_key(|&place| self.starts[place])?;
            let start = Some(self.starts[place]).filter(|&start| start < SimTime::FOREVER)?;
            Some((SimTime(start.0.saturating_sub(self.encoding_time(mode as u8).0)), Head::Limited { place }))
        });
        let background = self.background.iter().enumerate().filter_map(|(mode, (_, queue))| {
            let due = queue.front()?;
            Some((due.at, Head::Background { mode }))
        });
        limited.chain(background).min_by_key(|(at, _)| *at)
    }

    /// Records that power came back at `now`.
    pub fn power_is_back(&mut self, now: SimTime) {
        self.powered_since = i64::try_from(now.0).unwrap_or(i64::MAX);
    }

    /// Takes over the measurements of other deadlines, in whose place these come.
    pub fn take_measurements(&mut self, (misses, min_margin): (u64, Option<i64>)) {
        (self.misses, self.min_margin) = (misses, min_margin);
    }

    /// Records the margin with which data of a block is moved at `now`. Data that was overwritten before had no limit
    /// to meet.
    #[inline]
    pub fn note_moved(&mut self, medium: &Medium, block: BlockId, now: SimTime) {
        let Some(limit) = self.limit_of(medium, block).filter(|&limit| limit >= self.powered_since) else { return };
        let margin = limit.saturating_sub_unsigned(now.0);
        self.min_margin = Some(self.min_margin.map_or(margin, |least| least.min(margin)));
        self.misses += u64::from(margin < 0);
    }
}

#[cfg(test)]
mod tests;
