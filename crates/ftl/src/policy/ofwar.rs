//! On-demand fast write and rewrite (Wu and Zhang, IEEE Transactions on Computers 2014).

use super::{
    Backup, Candidate, Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, View, WriteAnswer,
};
use kit::{Archive, Archived, Lpn, ModeId, Nanos, Ppn, Reason, SimTime, effective_wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What it is, in one line.
pub const SUMMARY: &str = "fast writes while the write queue is long or the page is hot, rewritten in idle time (OFWAR, 2014)";

/// What counts as the length of the write queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedIn {
    /// Pages (mapping units) waiting.
    Pages,
    /// Host requests with pages waiting.
    Requests,
}

/// What must be idle for a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleScope {
    /// The channel that would rewrite.
    Channel,
    /// The whole drive.
    Drive,
}

/// What a full rewrite queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    /// Host writes go normal, even on a hit.
    Normal,
    /// The top entry is rewritten to make room.
    Evict,
}

/// When entries of pages that have been overwritten leave the rewrite queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// When they are flushed: taken from the top for a rewrite.
    WhenFlushed,
    /// As soon as they are on top and room is wanted.
    AtTop,
}

/// On-demand fast write and rewrite (OFWAR), sections 3.1 and 3.2 and figures 5 and 6 of the paper. A host write is fast when its page's current
/// copy is a fast one (a *rewrite queue hit*) or when more than `write_threshold` writes wait; otherwise normal. Fast pages are entered in a
/// rewrite queue, oldest on top, and rewritten in the normal mode when somebody is idle and the queue holds more than `rewrite_threshold`
/// entries, or, before anything else, when the top entry is older than `age_threshold`. Collection writes normal and prefers fast blocks.
/// All comparisons are strict.
///
/// Choices of ours, where the paper is silent: the queue length counts pages, the one being fetched included; a full queue turns writes
/// normal; stale entries count towards the depth, and (`stale`) are found when they are flushed, as section 3.2 has it: under a load without idle time a queue full of
/// them stays full, as section 6.2 says of IOzone and Postmark; `fast_bias` weighs the preference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// N_th_w: more waiting writes than this make writes fast (section 5: 128).
    pub write_threshold: u64,
    /// N_th_rw: more entries than this let idle time be used for rewrites (section 5: 128).
    pub rewrite_threshold: u64,
    /// D_rw: entries the rewrite queue holds (section 5: 64 K).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub queue_depth: u64,
    /// What counts as the length of the write queue.
    pub counted_in: CountedIn,
    /// What must be idle for a rewrite.
    pub idle: IdleScope,
    /// What a full queue does.
    pub on_full: OnFull,
    /// When stale entries leave the queue.
    pub stale: Stale,
    /// Weight of a valid page of a fast block in the victim's score, beside 1 for an invalid page: 0 is greedy, 1 strict preference.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fast_bias: f64,
    /// Age of the top entry above which it is rewritten before anything else. Absent: the retention limit of the fast mode at the wear of the entry's block, less the
    /// time to rewrite a full queue and `ftl.retention_margin`, for that long before the limit the drive itself moves the block; but no less than half of what the
    /// margin leaves. The drive counts from the block's first program and may come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_threshold: Option<Nanos>,
    /// How long the supercapacitor lasts for saving the rewrite queue when power fails (section 3.3 names the supercapacitor and no time): all dies program it at once,
    /// the oldest entries first, 16 bytes each, in the normal mode; what is not programmed by then is lost. The default is assumed: it saves any queue of the paper's
    /// depth. 0 saves nothing.
    pub supercap_time: Nanos,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            write_threshold: 128,
            rewrite_threshold: 128,
            queue_depth: 65_536,
            counted_in: CountedIn::Pages,
            idle: IdleScope::Channel,
            on_full: OnFull::Normal,
            stale: Stale::WhenFlushed,
            fast_bias: 0.5,
            age_threshold: None,
            supercap_time: Nanos(10_000_000),
        }
    }
}

/// What an entry takes when it is saved: its logical and physical page, the block's erase count and a time in seconds, of four bytes each \[A\].
const ENTRY_BYTES: u64 = 16;

/// An entry of the rewrite queue: live while the map still points at the page and the block has not been erased since.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    lpn: Lpn,
    ppn: Ppn,
    erase_count: u32,
    written: SimTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    fast_by_hit: u64,
    fast_by_queue: u64,
    normal: u64,
    rewrites: u64,
    urgent_rewrites: u64,
    evictions: u64,
    stale: u64,
    full: u64,
    longest: u64,
}

struct Ofwar {
    params: Params,
    normal: ModeId,
    fast: ModeId,
    /// The age threshold by wear class of the entry's block, and the least of them.
    age_thresholds: Vec<Nanos>,
    least_threshold: Nanos,
    queue: VecDeque<Entry>,
    evicting: u64,
    counts: Counts,
    facts: Facts,
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("", "fast")]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let fast = facts.write_mode("fast");
    let full_queue = params.queue_depth.saturating_mul(facts.page_move_share.0);
    let in_time = |limit: &Nanos| {
        let moved_at = limit.0.saturating_sub(facts.retention_margin.0);
        Nanos(moved_at.saturating_sub(full_queue).max(moved_at / 2))
    };
    let age_thresholds = match params.age_threshold {
        Some(age) => vec![age],
        None => facts.retention_by_wear[fast.index()].iter().map(in_time).collect(),
    };
    Box::new(Ofwar {
        normal: facts.write_mode("normal"),
        fast,
        least_threshold: age_thresholds.iter().copied().min().unwrap_or(Nanos(u64::MAX)),
        age_thresholds,
        queue: VecDeque::new(),
        evicting: 0,
        counts: Counts::default(),
        params: params.clone(),
        facts: facts.clone(),
    })
}

impl Ofwar {
    fn is_live(entry: &Entry, view: &View<'_>) -> bool {
        view.store.place_of(entry.lpn) == Some(entry.ppn)
            && view.store.erase_count(view.store.geometry.block_of(entry.ppn)) == entry.erase_count
    }

    /// The top entry leaves the queue; what is to be rewritten for it, unless it is stale.
    fn flush_top(&mut self, view: &View<'_>) -> Option<PageMove> {
        let entry = self.queue.pop_front()?;
        if !Self::is_live(&entry, view) {
            self.counts.stale += 1;
            return None;
        }
        self.counts.rewrites += 1;
        Some(PageMove { lpn: entry.lpn, from: entry.ppn, reason: Reason::Rewrite, mode: self.normal, deadline: None })
    }

    /// The oldest live entry leaves the queue, with the stale ones above it.
    fn take_top(&mut self, view: &View<'_>) -> Option<PageMove> {
        while !self.queue.is_empty() {
            if let Some(page_move) = self.flush_top(view) {
                return Some(page_move);
            }
        }
        None
    }

    /// Stale entries at the top have no age: they are dropped when they get there.
    fn drop_stale_top(&mut self, view: &View<'_>) {
        while self.queue.front().is_some_and(|entry| !Self::is_live(entry, view)) {
            self.queue.pop_front();
            self.counts.stale += 1;
        }
    }

    fn has_room(&self, units: &[Lpn]) -> bool {
        self.queue.len() + units.len() <= self.params.queue_depth as usize
    }

    /// The age above which an entry is rewritten before anything else.
    fn threshold(&self, entry: &Entry, view: &View<'_>) -> Nanos {
        let classes = self.age_thresholds.len();
        if classes <= 1 {
            return self.least_threshold;
        }
        let worn = view.store.wear_thousandths(view.store.geometry.block_of(entry.ppn));
        self.age_thresholds[effective_wear_class(worn, self.facts.rated_pe_cycles, classes)]
    }

    fn top_is_too_old(&self, view: &View<'_>) -> bool {
        let is_too_old = |entry: &Entry| {
            let age = view.now.since(entry.written);
            age > self.least_threshold && age > self.threshold(entry, view)
        };
        self.queue.front().is_some_and(is_too_old)
    }
}

impl ModePolicy for Ofwar {
    fn needs(&self) -> Needs {
        Needs { host_streams: 2, bits_per_unit: 1, placed: true, dropped: true, scores: true, moves: true, ..Needs::default() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.queue)?;
        archive.value(&mut self.evicting)
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let units = dispatch.units;
        let normal = WriteAnswer { mode: self.normal, stream: 0 };
        let hit = units.iter().any(|&lpn| view.bits.get(lpn) == 1);
        let waiting = match self.params.counted_in {
            CountedIn::Pages => view.signals.queued_write_pages,
            CountedIn::Requests => view.signals.queued_write_requests,
        };
        if !hit && waiting <= self.params.write_threshold {
            self.counts.normal += units.len() as u64;
            return normal;
        }
        if self.params.stale == Stale::AtTop && !self.has_room(units) {
            self.drop_stale_top(view);
        }
        if !self.has_room(units) {
            self.counts.full += units.len() as u64;
            if self.params.on_full == OnFull::Normal {
                self.counts.normal += units.len() as u64;
                return normal;
            }
            self.evicting += units.len() as u64;
        }
        *(if hit { &mut self.counts.fast_by_hit } else { &mut self.counts.fast_by_queue }) += units.len() as u64;
        WriteAnswer { mode: self.fast, stream: 1 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.normal
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        let is_fast = placed.mode == self.fast && self.fast != self.normal;
        view.bits.set(placed.lpn, u8::from(is_fast));
        if is_fast {
            let erase_count = view.store.erase_count(view.store.geometry.block_of(placed.ppn));
            self.queue.push_back(Entry { lpn: placed.lpn, ppn: placed.ppn, erase_count, written: view.now });
            self.counts.longest = self.counts.longest.max(self.queue.len() as u64);
        }
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        view.bits.set(lpn, 0);
    }

    fn score(&self, candidate: &Candidate, _: &mut View<'_>) -> f64 {
        let bias = if candidate.mode == self.fast { self.params.fast_bias } else { 0.0 };
        f64::from(candidate.invalid) + bias * f64::from(candidate.valid)
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if !self.top_is_too_old(view) {
            return None;
        }
        self.drop_stale_top(view);
        if !self.top_is_too_old(view) {
            return None;
        }
        self.counts.urgent_rewrites += 1;
        self.take_top(view)
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if self.evicting == 0 {
            return None;
        }
        self.evicting -= 1;
        self.counts.evictions += 1;
        self.take_top(view)
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        let is_idle = match self.params.idle {
            IdleScope::Channel => idle.channel_for.is_some(),
            IdleScope::Drive => idle.drive_for.is_some(),
        };
        // Entry by entry: a stale one that is dropped no longer counts towards the threshold.
        while is_idle && self.queue.len() as u64 > self.params.rewrite_threshold {
            if let Some(page_move) = self.flush_top(view) {
                return Some(Relocation::Page(page_move));
            }
        }
        None
    }

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.take_top(view)
    }

    fn power_fails(&mut self, _: &mut View<'_>) -> Option<Backup> {
        let backup = Backup::within(self.params.supercap_time, self.queue.len() as u64, ENTRY_BYTES, &self.facts);
        self.queue.truncate(backup.saved as usize);
        Some(backup)
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        let entry = self.queue.front()?;
        let soonest = entry.written + self.least_threshold + Nanos(1);
        Some(if soonest > view.now { soonest } else { entry.written + self.threshold(entry, view) + Nanos(1) })
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        // Fast data that the drive already holds, from a run of this policy (its flags) or of another: its age is that of its block.
        let store = view.store;
        let entry = |lpn: Lpn, ppn: Ppn| {
            let block = store.geometry.block_of(ppn);
            let age = store.first_program(block);
            let written = SimTime(u64::try_from(age).unwrap_or(0));
            (age, Entry { lpn, ppn, erase_count: store.erase_count(block), written })
        };
        let is_fast = |block: kit::BlockId| store.block(block).mode() == self.fast.0;
        let flagged = view.bits.used().filter_map(|(lpn, _)| store.place_of(lpn).map(|ppn| (lpn, ppn)));
        let mut found: Vec<(i64, Entry)> =
            flagged.filter(|(_, ppn)| !is_fast(store.geometry.block_of(*ppn))).map(|(lpn, ppn)| entry(lpn, ppn)).collect();
        for block in (0..store.geometry.block_count).map(kit::BlockId).filter(|&block| is_fast(block)) {
            let first = store.geometry.first_of(block);
            let units = (first.0..first.0 + store.geometry.units_per_block).map(Ppn).filter(|&ppn| store.is_valid(ppn));
            found.extend(units.map(|ppn| entry(store.lpn_at(ppn), ppn)));
        }
        found.sort_by_key(|(age, entry)| (*age, entry.ppn));
        self.queue = found.into_iter().map(|(_, entry)| entry).collect();
        for index in 0..self.queue.len() {
            view.bits.set(self.queue[index].lpn, 1);
        }
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![self.normal, self.fast]
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.normal
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let c = &self.counts;
        vec![
            ("fast_writes_by_hit", c.fast_by_hit as f64),
            ("fast_writes_by_queue", c.fast_by_queue as f64),
            ("normal_writes", c.normal as f64),
            ("rewrites_started", c.rewrites as f64),
            ("urgent_rewrites", c.urgent_rewrites as f64),
            ("evictions", c.evictions as f64),
            ("stale_entries_dropped", c.stale as f64),
            ("writes_on_full_queue", c.full as f64),
            ("rewrite_queue_entries", self.queue.len() as f64),
            ("rewrite_queue_longest", c.longest as f64),
        ]
    }
}
