//! SLC cache: one bit per cell for host writes, as in the drives of today.

use super::{Collection, Dispatch, Facts, HostCache, Idle, Member, ModePolicy, Moving, Needs, Relocation, View, WriteAnswer};
use kit::archive::require;
use kit::{Archive, Archived, BlockId, DieId, ModeId, Nanos, Reason, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "host writes in blocks of one bit per cell while there is room, folded in idle time: an SLC cache, static and dynamic";

/// Control: host writes go to blocks of the mode `cache` (one bit per cell in the TLC and QLC presets) while the cache
/// has room, and otherwise directly to `normal` blocks. The cache may take `static_blocks` on each die in any case, and
/// up to `dynamic_blocks` more as long as this leaves the die `keep_free` free blocks. A die that has been idle for
/// `fold_after` folds its cached blocks, the one with the fewest valid units first: valid data moves to `normal` blocks
/// (reason `rewrite`). When free blocks run short, collection empties cached blocks like any other; they tend to be the
/// cheapest victims. All sizes are assumed [A].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of cached data.
    pub cache: String,
    /// Blocks of each die that the cache may take in any case.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub static_blocks: u32,
    /// Further blocks of each die that the cache may take while enough blocks are free.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub dynamic_blocks: u32,
    /// Free blocks that the dynamic part of the cache leaves on each die.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub keep_free: u32,
    /// Idle time after which a die folds its cached blocks.
    pub fold_after: Nanos,
}

impl Default for Params {
    fn default() -> Self {
        Params { cache: "slc".to_owned(), static_blocks: 2, dynamic_blocks: 64, keep_free: 8, fold_after: Nanos(5_000_000) }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("cache", &self.cache)]
    }

    fn resize(&mut self, share: f64) {
        // `keep_free` stays: it is what collections of a die need, however many blocks it has.
        for blocks in [&mut self.static_blocks, &mut self.dynamic_blocks] {
            *blocks = (*blocks).min(((f64::from(*blocks) * share).round() as u32).max(1));
        }
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new("cached_units", "units", "Host writes to the cache."),
            Term::new("direct_units", "units", "Host writes past the cache, to blocks of the normal mode."),
            Term::new("blocks_folded", "blocks", "Cached blocks that were folded in idle time."),
            Term::new("cached_blocks", "blocks", "Blocks of the cache at the end."),
            Term::new("cached_blocks_most", "blocks", "Most blocks of the cache at a time."),
        ]
    }
}

struct SlcCache {
    params: Params,
    normal: ModeId,
    cache: ModeId,
    /// Number of cached blocks of each die.
    cached: Vec<u32>,
    /// Units that still fit into the open cached block of each die.
    left: Vec<u32>,
    block_units: u32,
    cached_units: u64,
    direct_units: u64,
    folded: u64,
    most: u64,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let cache = facts.write_mode(&params.cache);
    Box::new(SlcCache {
        params: params.clone(),
        normal: facts.normal_mode(),
        cache,
        cached: vec![0; facts.die_count as usize],
        left: vec![0; facts.die_count as usize],
        block_units: facts.block_units[cache.index()],
        cached_units: 0,
        direct_units: 0,
        folded: 0,
        most: 0,
    })
}

impl SlcCache {
    /// Returns true if the next program of a die goes to the cache.
    fn has_room(&self, die: DieId, view: &View<'_>) -> bool {
        let cached = self.cached[die.index()];
        self.left[die.index()] > 0
            || cached < self.params.static_blocks
            || cached < self.params.static_blocks + self.params.dynamic_blocks && view.free_blocks(die) > self.params.keep_free
    }

    fn is_cached(block: BlockId, view: &View<'_>) -> bool {
        view.block_bytes.get(block)[0] == 1
    }
}

impl ModePolicy for SlcCache {
    fn needs(&self) -> Needs {
        Needs {
            host_streams: 2,
            bytes_per_block: 1,
            blocks: true,
            moves: true,
            idle_after: self.params.fold_after,
            ..Needs::default()
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.cached)?;
        archive.value(&mut self.left)
    }

    fn check(&self, _is_alone: bool, view: &mut View<'_>) -> Archived {
        let geometry = &view.medium.geometry;
        let dies = geometry.die_count as usize;
        let mut cached = vec![0; dies];
        for block in (0..geometry.block_count).map(BlockId).filter(|&block| view.block_bytes.get(block)[0] != 0) {
            let holds_data = !view.medium.block(block).state().is_unused();
            require(SlcCache::is_cached(block, view) && holds_data, || {
                format!("block {} is marked as one of the cache, and holds no data", block.0)
            })?;
            cached[geometry.die_of(block).index()] += 1;
        }
        require(cached == self.cached, || {
            format!("the dies have {cached:?} blocks of the cache, and its policy counts {:?}", self.cached)
        })?;
        let fits = self.left.len() == dies && self.left.iter().all(|left| *left <= self.block_units);
        require(fits, || format!("{:?} units fit into open blocks of the cache, of {} units", self.left, self.block_units))
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let units = dispatch.units.len() as u64;
        if !self.has_room(dispatch.die, view) {
            self.direct_units += units;
            return WriteAnswer { mode: self.normal, stream: 0 };
        }
        self.cached_units += units;
        let left = &mut self.left[dispatch.die.index()];
        *left = left.saturating_sub(view.medium.geometry.units_per_program);
        WriteAnswer { mode: self.cache, stream: 1 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn collecting(&mut self, collection: &Collection, _: &mut View<'_>) {
        self.folded += u64::from(collection.reason == Reason::Rewrite);
    }

    fn opened(&mut self, block: BlockId, view: &mut View<'_>) {
        let is_cache = view.medium.block(block).mode() == self.cache.0;
        view.block_bytes.get_mut(block)[0] = u8::from(is_cache);
        if is_cache {
            let die = view.medium.geometry.die_of(block).index();
            self.cached[die] += 1;
            self.left[die] = self.block_units - view.medium.geometry.units_per_program;
            self.most = self.most.max(self.cached.iter().map(|blocks| u64::from(*blocks)).sum());
        }
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        if SlcCache::is_cached(block, view) {
            self.cached[view.medium.geometry.die_of(block).index()] -= 1;
            view.block_bytes.get_mut(block)[0] = 0;
        }
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        let (block, _) = view.medium.min_valid(idle.die, self.cache)?;
        Some(Relocation::Block { block, reason: Reason::Rewrite })
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.cached.fill(0);
        for block in (0..view.medium.geometry.block_count).map(BlockId) {
            let record = view.medium.block(block);
            let is_cache = record.mode() == self.cache.0 && !record.state().is_unused() && self.cache != self.normal;
            view.block_bytes.get_mut(block)[0] = u8::from(is_cache);
            self.cached[view.medium.geometry.die_of(block).index()] += u32::from(is_cache);
        }
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![self.normal, self.cache]
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }

    /// The dynamic part takes no block of a die that is short of free blocks.
    fn cache_under_load(&self) -> Option<HostCache> {
        let blocks = self.params.static_blocks;
        (blocks > 0 && self.cache != self.normal).then_some(HostCache { stream: 1, mode: self.cache, blocks })
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("cached_units", self.cached_units as f64),
            ("direct_units", self.direct_units as f64),
            ("blocks_folded", self.folded as f64),
            ("cached_blocks", self.cached.iter().map(|blocks| f64::from(*blocks)).sum()),
            ("cached_blocks_most", self.most as f64),
        ]
    }
}
