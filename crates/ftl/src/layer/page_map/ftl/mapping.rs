//! The page map for those who only look at it.

use super::*;

impl Mapping for Ftl {
    fn user_units(&self) -> u64 {
        self.state.store.user_units
    }

    fn all_units(&self) -> u64 {
        self.state.store.all_units
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.state.store.place_of(lpn)
    }

    fn mapped_units(&self) -> u64 {
        self.state.store.medium.valid_by_mode.iter().sum()
    }

    fn free_blocks(&self) -> u64 {
        self.state.space.total_free_blocks()
    }

    fn map_cache(&self) -> Option<MapCacheReport<'_>> {
        let cache = self.state.map_cache.as_ref()?;
        let (max_pages, capacity_pages) = cache.fill();
        Some(MapCacheReport { counters: &cache.counters, max_pages, capacity_pages })
    }

    fn map_pages(&self) -> u32 {
        self.state.map_cache.as_ref().map_or(0, |cache| cache.page_count())
    }

    fn map_page_is_changed(&self, page: u32) -> bool {
        self.state.map_cache.as_ref().is_some_and(|cache| cache.is_changed(page))
    }

    fn journals_map(&self) -> bool {
        self.derived.config.map_cache.as_ref().is_some_and(|cache| cache.journal.is_some())
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.derived.old_mode
    }

    fn has_retention_limits(&self) -> bool {
        self.derived.parameters.facts.retention_by_wear.iter().any(|classes| !classes.is_empty())
    }

    fn retention_report(&self) -> (u64, Option<i64>) {
        (self.state.retention.misses, self.state.retention.min_margin)
    }

    fn blocks_past_limit(&self, now: SimTime) -> Vec<BlockId> {
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let medium = &self.state.store.medium;
        let with_data = (0..medium.geometry.block_count).map(BlockId).filter(|&block| medium.block(block).valid > 0);
        with_data.filter(|&block| self.state.retention.limit_of(medium, block).is_some_and(|limit| now > limit)).collect()
    }

    fn units_past_limit(&self, now: SimTime) -> u64 {
        self.blocks_past_limit(now).into_iter().map(|block| u64::from(self.state.store.medium.block(block).valid)).sum()
    }

    fn worn_out_die(&self) -> Option<DieId> {
        self.state.worn_out
    }

    fn policy(&self) -> &dyn ModePolicy {
        &*self.state.policy
    }

    fn needs(&self) -> &Needs {
        &self.derived.needs
    }

    fn declared_state(&self, lpn: Lpn) -> u8 {
        self.state.bits.get(lpn)
    }

    fn audit(&self, at_rest: bool) -> Vec<String> {
        self.inconsistencies(at_rest)
    }

    fn die_state(&self, die: DieId) -> DieState {
        self.position_of(die)
    }

    fn stall_report(&self) -> String {
        self.waiting_work()
    }
}
