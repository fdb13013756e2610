//! Retention deadlines: one for each block, kept in the order in which they fall due.
//!
//! A policy may want the blocks of a mode moved earlier, in the background: they have a list of their own.
//!
//! Blocks of one (mode, wear class) become due in the order in which they were opened, so a first-in, first-out list per class is sorted by
//! itself; one timer is armed for the earliest head. Moving begins so early that all blocks of the mode that the die holds can be moved one after
//! another: data that was written fast is moved slowly. Nothing is kept per page and nothing is done on the hot path.

use crate::map::{BlockState, Store};
use kit::{BlockId, Nanos, SimTime, effective_wear_class};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A block that must be empty by a certain time. Stale once the block has been erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Due {
    block: BlockId,
    erase_count: u32,
    at: SimTime,
}

/// Blocks with deadlines as they are saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RetentionImage {
    classes: Vec<Vec<VecDeque<Due>>>,
    owed: Vec<u32>,
    background: Vec<VecDeque<Due>>,
    armed: Option<SimTime>,
    powered_since: i64,
}

/// How long moving takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveTimes {
    /// tR + tPROG of one unit's share of a program unit, for all dies together \[ns\].
    pub die_share: f64,
    /// A die's time to move a whole block and erase it.
    pub block: Nanos,
    /// Time of one unit in the encoder of the code that moved data is given \[ns\]; 0 without one.
    pub encode: f64,
    /// Units of a block, and units that the drive can hold.
    pub block_units: u32,
    pub user_units: u64,
    pub dies: usize,
}

impl MoveTimes {
    /// What is moved has an encoder for itself for half of the time: host data may pass it, too, first come, first served.
    fn encoder_share(&self) -> f64 {
        2.0 * self.encode
    }

    fn per_unit(&self) -> f64 {
        self.die_share.max(self.encoder_share())
    }
}

/// Retention limits and the blocks they apply to.
pub(crate) struct Retention {
    /// Limit by write mode and wear class.
    limits: Vec<Vec<Nanos>>,
    rated: u32,
    margin: Nanos,
    classes: Vec<Vec<VecDeque<Due>>>,
    /// Blocks with a limit that each die holds, by write mode.
    owed: Vec<u32>,
    moving: MoveTimes,
    /// How long after its first program a block of each mode is moved in the background, and the blocks that wait for it.
    background: Vec<(Option<Nanos>, VecDeque<Due>)>,
    /// What the timer is armed for.
    pub armed: Option<SimTime>,
    /// Most units that may be owed in each mode, so that they can all be moved in half its shortest limit.
    pub most_owed: Vec<u64>,
    /// The same of what is moved in the background: more than so many units are not moved into a mode, or what is moved would at once be due again.
    pub most_moved: Vec<u64>,
    /// Least time between a move and the limit it had to meet \[ns; negative: missed\].
    pub least_margin: Option<i64>,
    pub misses: u64,
    /// When power came back last \[ns\], if it was away: limits that had passed by then were at risk, and are no misses.
    powered_since: i64,
}

impl Retention {
    /// `limits`: for each write mode its retention limits by wear class (empty: without limit). `move_after`: for each write mode when its blocks are moved in the background.
    pub fn new(
        limits: Vec<Vec<Nanos>>,
        move_after: Vec<Option<Nanos>>,
        rated: u32,
        margin: Nanos,
        moving: &MoveTimes,
    ) -> Retention {
        let in_time = |span: Option<&Nanos>| span.map_or(u64::MAX, |span| (span.0 as f64 / 2.0 / moving.per_unit()) as u64);
        let most_owed: Vec<u64> = limits.iter().map(|classes| in_time(classes.iter().min())).collect();
        let most_moved = move_after.iter().map(|after| in_time(after.as_ref())).collect();
        let background = move_after.into_iter().map(|after| (after, VecDeque::new())).collect();
        let classes = limits.iter().map(|classes| vec![VecDeque::new(); classes.len()]).collect();
        let owed = vec![0; moving.dies * limits.len()];
        Retention {
            limits,
            rated,
            margin,
            classes,
            owed,
            moving: *moving,
            background,
            armed: None,
            most_owed,
            most_moved,
            least_margin: None,
            misses: 0,
            powered_since: i64::MIN,
        }
    }

    /// What is due and when, as it is saved. What the run's report says of limits met and missed begins anew with each run.
    pub fn image(&self) -> RetentionImage {
        RetentionImage {
            classes: self.classes.clone(),
            owed: self.owed.clone(),
            background: self.background.iter().map(|(_, queue)| queue.clone()).collect(),
            armed: self.armed,
            powered_since: self.powered_since,
        }
    }

    /// Goes on as retention under the same limits was left.
    pub fn restore(&mut self, image: RetentionImage) -> Result<(), String> {
        let RetentionImage { classes, owed, background, armed, powered_since } = image;
        let shape = |classes: &[Vec<VecDeque<Due>>]| classes.iter().map(Vec::len).collect::<Vec<_>>();
        let fits =
            shape(&classes) == shape(&self.classes) && (owed.len(), background.len()) == (self.owed.len(), self.background.len());
        if !fits {
            return Err("its retention limits are not those of this drive".to_owned());
        }
        (self.classes, self.owed, self.armed, self.powered_since) = (classes, owed, armed, powered_since);
        for ((_, queue), saved) in self.background.iter_mut().zip(background) {
            *queue = saved;
        }
        Ok(())
    }

    fn class_of(&self, store: &Store, mode: u8, block: BlockId) -> usize {
        effective_wear_class(store.wear_thousandths(block), self.rated, self.limits[mode as usize].len())
    }

    /// The instant by which a block's data must have been moved, without margin; `None` without limit.
    pub fn limit_of(&self, store: &Store, block: BlockId) -> Option<i64> {
        let mode = store.block(block).mode();
        let classes = self.limits.get(mode as usize).filter(|classes| !classes.is_empty())?;
        let limit = classes[self.class_of(store, mode, block)];
        Some(store.first_program(block).saturating_add_unsigned(limit.0))
    }

    /// A block has been opened.
    pub fn opened(&mut self, store: &Store, block: BlockId) {
        if let Some((Some(after), queue)) = self.background.get_mut(usize::from(store.block(block).mode())) {
            let at = store.first_program(block).saturating_add_unsigned(after.0);
            let at = SimTime(u64::try_from(at).unwrap_or(0));
            queue.push_back(Due { block, erase_count: store.erase_count(block), at });
        }
        let Some(limit) = self.limit_of(store, block) else { return };
        let at = SimTime(u64::try_from(limit.saturating_sub_unsigned(self.margin.0)).unwrap_or(0));
        let mode = store.block(block).mode();
        let class = self.class_of(store, mode, block);
        let at_die = self.at_die(store, block, mode);
        self.owed[at_die] += 1;
        self.classes[mode as usize][class].push_back(Due { block, erase_count: store.erase_count(block), at });
    }

    fn at_die(&self, store: &Store, block: BlockId, mode: u8) -> usize {
        store.geometry.die_of(block).index() * self.limits.len() + usize::from(mode)
    }

    /// The erase of a block is about to end: it is no longer owed.
    pub fn erased(&mut self, store: &Store, block: BlockId) {
        let at_die = self.at_die(store, block, store.block(block).mode());
        if let Some(owed) = self.owed.get_mut(at_die) {
            *owed = owed.saturating_sub(1);
        }
    }

    /// When moving must begin: early enough for all other blocks of the mode on the die to be moved as well, and for the one encoder to serve all dies.
    fn begins(&self, store: &Store, due: &Due) -> SimTime {
        let mode = store.block(due.block).mode();
        let others = self.owed[self.at_die(store, due.block, mode)].saturating_sub(1);
        let early = self.moving.block.0.saturating_mul(u64::from(others)).saturating_add(self.encoding_time(mode).0);
        SimTime(due.at.0.saturating_sub(early))
    }

    /// How long the encoder takes, at most, for all that is owed in a mode.
    fn encoding_time(&self, mode: u8) -> Nanos {
        if self.moving.encode == 0.0 {
            return Nanos::ZERO;
        }
        let blocks: u64 =
            self.owed.iter().skip(usize::from(mode)).step_by(self.limits.len()).map(|&blocks| u64::from(blocks)).sum();
        let units = blocks.saturating_mul(u64::from(self.moving.block_units)).min(self.most_owed[usize::from(mode)]);
        Nanos((units.min(self.moving.user_units) as f64 * self.moving.encoder_share()) as u64)
    }

    /// Starts over with the blocks that hold data now, which may have been opened in any order.
    pub fn adopt(&mut self, store: &Store) {
        self.queues().for_each(VecDeque::clear);
        self.owed.fill(0);
        for block in (0..store.geometry.block_count).map(BlockId) {
            if !matches!(store.block(block).state(), BlockState::Free | BlockState::Retired) {
                self.opened(store, block);
            }
        }
        self.queues().for_each(|queue| queue.make_contiguous().sort_by_key(|due| (due.at, due.block)));
    }

    /// All lists, those of retention limits first.
    fn queues(&mut self) -> impl Iterator<Item = &mut VecDeque<Due>> {
        self.classes.iter_mut().flatten().chain(self.background.iter_mut().map(|(_, queue)| queue))
    }

    /// The next block that is due, taken off its list, and whether it is so for its retention limit.
    pub fn take_due(&mut self, store: &Store, now: SimTime) -> Option<(BlockId, bool)> {
        self.drop_stale(store);
        let of_limits: usize = self.classes.iter().map(Vec::len).sum();
        let (index, at) = self.heads(store).min_by_key(|(_, at)| *at)?;
        if at > now {
            return None;
        }
        let due = self.queues().nth(index).and_then(VecDeque::pop_front)?;
        Some((due.block, index < of_limits))
    }

    /// When the next block is due.
    pub fn next_due(&mut self, store: &Store) -> Option<SimTime> {
        self.drop_stale(store);
        self.heads(store).map(|(_, at)| at).min()
    }

    /// The lists that are not empty, and when the first block of each is due.
    fn heads<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = (usize, SimTime)> + 'a {
        let limited = self.classes.iter().flatten().map(|queue| queue.front().map(|due| self.begins(store, due)));
        let background = self.background.iter().map(|(_, queue)| queue.front().map(|due| due.at));
        limited.chain(background).enumerate().filter_map(|(index, at)| at.map(|at| (index, at)))
    }

    fn drop_stale(&mut self, store: &Store) {
        for queue in self.queues() {
            while queue.front().is_some_and(|due| {
                let record = store.block(due.block);
                let state = record.state();
                store.erase_count(due.block) != due.erase_count
                    || state == BlockState::Free
                    || state == BlockState::Closed && record.valid == 0
            }) {
                queue.pop_front();
            }
        }
    }

    /// Power has been away until now.
    pub fn power_is_back(&mut self, now: SimTime) {
        self.powered_since = i64::try_from(now.0).unwrap_or(i64::MAX);
    }

    /// Data of a block is moved now: is it in time? What was overwritten before had no limit to meet.
    pub fn note_moved(&mut self, store: &Store, block: BlockId, now: SimTime) {
        let Some(limit) = self.limit_of(store, block).filter(|&limit| limit >= self.powered_since) else { return };
        let margin = limit.saturating_sub_unsigned(now.0);
        self.least_margin = Some(self.least_margin.map_or(margin, |least| least.min(margin)));
        self.misses += u64::from(margin < 0);
    }
}
