//! Write modes as points of the voltage budget, each with its costs, for members that choose among all of them.

use super::{Dispatch, Facts, View};
use kit::archive::require;
use kit::{Archive, Archived, BlockId, DieId, ModeId, Nanos, effective_wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weights of program time, wear and reads in the cost of a write mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// Die time that one nominal erase is worth, for each page programmed on the block. Absent: tPROG of the `normal`
    /// mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<Nanos>,
    /// Weight of program time while nothing waits, as a share of its weight while all dies are in demand.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub idle_share: f64,
    /// Predicted life below which data goes to blocks of its own. Absent: data is not separated by its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_lived: Option<Nanos>,
}

impl Default for Prices {
    fn default() -> Self {
        Prices { wear: None, idle_share: 0.1, short_lived: Some(Nanos(60_000_000_000)) }
    }
}

/// Write mode with its costs.
#[derive(Clone, Debug)]
struct Point {
    mode: ModeId,
    /// tPROG; `read` is the sensing and transfer time of one unit of the data \[ns\].
    program: f64,
    read: f64,
    /// Wear of the quickest erase to the level that the mode needs, in nominal erases.
    wear: f64,
    /// Retention limits by wear class; empty: without limit.
    limits: Vec<Nanos>,
    /// Retention limit at the drive's wear; `is_longest` is true if no other point has a longer one. Both are used at
    /// every write, so they are recomputed only when the greatest wear of a block grows.
    limit: Option<Nanos>,
    is_longest: bool,
}

/// All points, and the state that the choice among them depends on.
pub(super) struct Points {
    all: Vec<Point>,
    prices: Prices,
    wear_price: f64,
    rated: u32,
    /// Wear of the most worn block, in thousandths of a nominal erase.
    max_worn: u32,
    /// Quickest and slowest erase mode of each level.
    erase: Vec<[ModeId; 2]>,
    levels: Vec<u8>,
    /// Recent demand for each level, with exponential decay.
    level_demand: Vec<f64>,
    die_count: u32,
}

impl Points {
    /// Sets up a point for every write mode that stores all bits of the cell.
    pub fn new(prices: &Prices, facts: &Facts) -> Points {
        let most = facts.block_units.iter().copied().max().unwrap_or(0);
        let whole = (0..facts.write_modes.len()).filter(|&mode| facts.block_units[mode] == most);
        let quickest = |level: u8, slow: bool| {
            let of_level = (0..facts.erase_levels.len()).filter(move |&mode| facts.erase_levels[mode] == level);
            // Of two erase modes that take equally long, the one with less wear.
            let cost =
                |mode: usize| (if slow { -facts.erase_scales[mode] } else { facts.erase_scales[mode] }, facts.erase_wear[mode]);
            of_level.min_by(|&a, &b| cost(a).partial_cmp(&cost(b)).expect("scales and wear are numbers"))
        };
        let depth = |level: u8| (0..=level).rev().find(|&at| facts.erase_levels.contains(&at)).unwrap_or(0);
        let point = |mode: usize| Point {
            mode: ModeId(mode as u8),
            program: facts.program_time.0 as f64 * facts.program_scales[mode],
            read: facts.read_times[facts.read_mode_of[mode].index()].0 as f64,
            wear: quickest(depth(facts.write_levels[mode]), false).map_or(1.0, |erase| facts.erase_wear[erase]),
            limits: facts.retention_by_wear[mode].clone(),
            limit: None,
            is_longest: false,
        };
        let levels = facts.erase_levels.iter().copied().max().unwrap_or(0) + 1;
        let modes = |level: u8| [false, true].map(|slow| ModeId(quickest(depth(level), slow).unwrap_or(0) as u8));
        let mut points = Points {
            all: whole.map(point).collect(),
            wear_price: prices.wear.unwrap_or(facts.program_time).0 as f64,
            prices: prices.clone(),
            rated: facts.rated_pe_cycles,
            max_worn: 0,
            erase: (0..levels).map(modes).collect(),
            levels: facts.write_levels.clone(),
            level_demand: vec![0.0; usize::from(levels)],
            die_count: facts.die_count,
        };
        points.renew();
        points
    }

    /// Recomputes the limits at the wear of the most worn block, one nominal erase ahead.
    fn renew(&mut self) {
        let (worn, rated) = (self.max_worn.saturating_add(1000), self.rated);
        for point in &mut self.all {
            let class = (!point.limits.is_empty()).then(|| effective_wear_class(worn, rated, point.limits.len()));
            point.limit = class.map(|class| point.limits[class]);
        }
        let none = self.all.iter().any(|point| point.limit.is_none());
        let longest = self.all.iter().map(|point| point.limit).max().flatten();
        for point in &mut self.all {
            point.is_longest = point.limit.is_none() || (!none && point.limit == longest);
        }
    }

    /// Returns the modes of all points.
    pub fn modes(&self) -> Vec<ModeId> {
        self.all.iter().map(|point| point.mode).collect()
    }

    /// Returns the number of host streams: one for each mode and, if data is separated by its life, another for its
    /// short-lived data.
    pub fn streams(&self) -> u8 {
        let modes = self.levels.len() as u8;
        if self.prices.short_lived.is_some() { 2 * modes } else { modes }
    }

    /// Returns the stream of data that is written in a mode and has a predicted life.
    pub fn stream(&self, mode: ModeId, life: Option<Nanos>) -> u8 {
        let is_short = self.prices.short_lived.is_some_and(|bound| life.is_some_and(|life| life < bound));
        if is_short { mode.0 + self.levels.len() as u8 } else { mode.0 }
    }

    /// Returns the demand for the dies, from 0 to 1: the greater of the load that waits behind this write (host writes
    /// per die, plus reads of its die) and the fill of the write buffer.
    pub fn demand(&self, dispatch: &Dispatch<'_>, view: &View<'_>) -> f64 {
        let waiting =
            dispatch.waiting as f64 / f64::from(self.die_count) + f64::from(view.signals.die_reads[dispatch.die.index()]);
        waiting.max(view.buffer_utilisation()).min(1.0)
    }

    /// Returns the cheapest of the modes that keep data until it is overwritten, for data with a predicted life (none:
    /// for ever) and a predicted number of reads. The cost is the sum of the program time, weighted by the demand for
    /// the dies (`demand`), of the wear by an erase of the depth that the mode needs, and of the reads.
    pub fn cheapest(&mut self, life: Option<Nanos>, reads: f64, demand: f64) -> ModeId {
        let time_counts = self.prices.idle_share + (1.0 - self.prices.idle_share) * demand;
        let cost = |point: &Point| point.program * time_counts + point.read * reads + point.wear * self.wear_price;
        let keeping = self.all.iter().filter(|point| Points::keeps(point, life));
        let best = keeping.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let mode = best.map_or_else(|| self.longest(), |point| point.mode);
        let wanted = usize::from(self.levels[mode.index()]).min(self.level_demand.len() - 1);
        self.level_demand.iter_mut().for_each(|level_demand| *level_demand *= 0.998);
        self.level_demand[wanted] += 1.0;
        mode
    }

    fn keeps(point: &Point, life: Option<Nanos>) -> bool {
        match (point.limit, life) {
            (None, _) => true,
            (Some(limit), Some(life)) => life < limit,
            (Some(_), None) => point.is_longest,
        }
    }

    /// Returns the mode that keeps data longest.
    pub fn longest(&self) -> ModeId {
        let limit = |point: &Point| point.limit.map_or(u64::MAX, |limit| limit.0);
        let quick = |point: &Point| std::cmp::Reverse(point.program as u64);
        self.all
            .iter()
            .max_by_key(|point| (limit(point), quick(point), std::cmp::Reverse(point.mode)))
            .map_or(ModeId(0), |p| p.mode)
    }

    /// Returns the erase mode for a block of a die: its level is the one whose recent demand is least met by free
    /// blocks, and it is slow while no host write waits and the write buffer is less than half full.
    pub fn erase_mode(&self, die: DieId, view: &View<'_>) -> ModeId {
        let lists = view.free_by_level(die);
        let need = |level: &usize| self.level_demand[*level] / f64::from(lists[*level] + 1);
        let level = (0..self.level_demand.len()).max_by(|a, b| need(a).total_cmp(&need(b)).then(b.cmp(a))).unwrap_or(0);
        let quiet = view.signals.queued_write_pages == 0 && view.buffer_utilisation() < 0.5;
        self.erase[level][usize::from(quiet)]
    }

    /// Returns the mode of a lazy erase to a level.
    pub fn lazy_erase_mode(&self, level: u8) -> ModeId {
        self.erase[usize::from(level).min(self.erase.len() - 1)][0]
    }

    /// Updates the limits after an erase if the block is now the most worn one.
    pub fn erased(&mut self, block: BlockId, view: &View<'_>) {
        let worn = view.medium.wear_thousandths(block);
        if worn > self.max_worn {
            self.max_worn = worn;
            self.renew();
        }
    }

    /// Saves or loads the greatest wear and the demand for each level.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.max_worn)?;
        archive.value(&mut self.level_demand)?;
        self.renew();
        Ok(())
    }

    /// Checks what was loaded.
    pub fn check(&self) -> Archived {
        let levels = self.erase.len();
        let fits = self.level_demand.len() == levels && self.level_demand.iter().all(|demand| (0.0..=1e18).contains(demand));
        require(fits, || format!("the demand for {levels} erase levels is {:?}", self.level_demand))
    }

    /// Takes the greatest wear from the blocks of the drive.
    pub fn adopt(&mut self, view: &View<'_>) {
        let blocks = (0..view.medium.geometry.block_count).map(BlockId);
        self.max_worn = blocks.map(|block| view.medium.wear_thousandths(block)).max().unwrap_or(0);
        self.renew();
    }
}
