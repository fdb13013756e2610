//! On-demand fast write and rewrite (Wu and Zhang, IEEE Transactions on Computers 2014).

use super::{
    Backup, Candidate, Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, View, WriteAnswer,
};
use kit::archive::{MAX_COUNTED, require};
use kit::{Archive, Archived, Lpn, ModeId, Nanos, Ppn, Reason, SimTime, Term, effective_wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Description of the policy in one line.
pub const SUMMARY: &str = "fast writes while the write queue is long or the page is hot, rewritten in idle time (OFWAR, 2014)";

/// Measure of the length of the write queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedIn {
    /// Waiting pages (mapping units).
    Pages,
    /// Host requests with waiting pages.
    Requests,
}

/// Part of the drive that must be idle for a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleScope {
    /// The channel of the idle die: none of its dies is busy, and no host write waits.
    Channel,
    /// The whole drive: no die is busy, no host write waits, and no host command is in flight.
    Drive,
}

/// Effect of a full rewrite queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    /// Host writes are normal, even on a hit.
    Normal,
    /// Top entries are rewritten to make room.
    Evict,
}

/// Moment at which entries of overwritten pages leave the rewrite queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// On being flushed: when they are taken from the top for a rewrite.
    WhenFlushed,
    /// As soon as they are at the top and a new entry finds the queue full.
    AtTop,
}

/// On-demand fast write and rewrite (OFWAR), sections 3.1 and 3.2 and figures 5 and 6 of the paper. A host write is
/// fast if the current copy of its page is fast (a *rewrite queue hit*; one suffices for a program of several pages) or
/// if more than `write_threshold` writes wait; otherwise it is normal. Fast pages enter a rewrite queue, the oldest on
/// top. They are rewritten in the normal mode in idle time while the queue holds more than `rewrite_threshold` entries,
/// and before any other operation once the top entry is older than `age_threshold`. Collection writes in the normal
/// mode and prefers fast blocks as victims. All comparisons are strict.
///
/// Our choices where the paper is silent: the queue length counts pages, including those being dispatched; a full
/// rewrite queue makes writes normal (`on_full`); stale entries, those of overwritten pages, count towards the depth
/// and are found only when they are flushed, as in section 3.2 (`stale`), so that without idle time a queue full of
/// them stays full, as section 6.2 reports of IOzone and Postmark; `fast_bias` sets the strength of the preference for
/// fast victims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// N_th_w: a write is fast if more than this number of writes wait (section 5: 128).
    pub write_threshold: u64,
    /// N_th_rw: idle time is used for rewrites while the rewrite queue holds more than this number of entries (section
    /// 5: 128).
    pub rewrite_threshold: u64,
    /// D_rw: capacity of the rewrite queue, in entries (section 5: 64 K).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub queue_depth: u64,
    /// Measure of the length of the write queue.
    pub counted_in: CountedIn,
    /// Part of the drive that must be idle for a rewrite.
    pub idle: IdleScope,
    /// Effect of a full rewrite queue.
    pub on_full: OnFull,
    /// Moment at which stale entries leave the rewrite queue.
    pub stale: Stale,
    /// Weight of a valid page of a fast block in the victim score, in which an invalid page counts 1: with 0 the choice
    /// is greedy, with 1 fast blocks always go first.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fast_bias: f64,
    /// Age of the top entry above which it is rewritten before any other operation. Absent: the retention limit of the
    /// fast mode at the wear of the entry's block, shortened by `ftl.retention_margin` and by the time to rewrite a
    /// full queue, but no less than half of the limit shortened by the margin alone. The margin counts because the
    /// drive itself moves a block that long before its limit; as it measures from the block's first program, it may do
    /// so before the entry reaches this age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_threshold: Option<Nanos>,
    /// Time for which the supercapacitor can power the saving of the rewrite queue after a power failure (section 3.3
    /// names the supercapacitor, but no time). All dies program in parallel in the normal mode, the oldest entries
    /// first, 16 bytes each; entries that are not programmed in time are lost. The default is assumed: it saves any
    /// queue of the paper's depth. With 0 nothing is saved.
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

/// Bytes of a saved entry: its logical page, its physical page, the block's erase count and a time in seconds, of four
/// bytes each \[A\].
const ENTRY_BYTES: u64 = 16;

/// Entry of the rewrite queue. It is live as long as the map points at the page and the block has not been erased
/// since.
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
    /// Age threshold for each wear class of the entry's block; `min_threshold` is the shortest of them.
    age_thresholds: Vec<Nanos>,
    min_threshold: Nanos,
    queue: VecDeque<Entry>,
    evicting: u64,
    counts: Counts,
    facts: Facts,
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("", "fast")]
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new(
                "fast_writes_by_hit",
                "units",
                "Host writes in the fast mode because a page of the program had been written fast before.",
            ),
            Term::new(
                "fast_writes_by_queue",
                "units",
                "Host writes in the fast mode because more writes waited than `write_threshold`.",
            ),
            Term::new("normal_writes", "units", "Host writes in the normal mode."),
            Term::new("rewrites_started", "units", "Pages whose rewrite in the normal mode was started."),
            Term::new(
                "urgent_rewrites",
                "units",
                "Rewrites that went before any other operation because the top entry was older than its threshold.",
            ),
            Term::new("evictions", "units", "Rewrites that made room in a full rewrite queue."),
            Term::new(
                "stale_entries_dropped",
                "units",
                "Entries of the rewrite queue that were dropped because their page had been overwritten or moved.",
            ),
            Term::new("writes_on_full_queue", "units", "Writes to be fast that found the rewrite queue full."),
            Term::new("rewrite_queue_entries", "units", "Entries in the rewrite queue at the end."),
            Term::new("rewrite_queue_longest", "units", "Most entries in the rewrite queue at a time."),
        ]
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
        normal: facts.normal_mode(),
        fast,
        min_threshold: age_thresholds.iter().copied().min().unwrap_or(Nanos(u64::MAX)),
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
        view.place_of(entry.lpn) == Some(entry.ppn)
            && view.medium.erase_count(view.medium.geometry.block_of(entry.ppn)) == entry.erase_count
    }

    /// Checks the flags of units: all data in blocks of the fast mode has one, and other data only while it is to be
    /// rewritten.
    fn check_flags(&self, view: &View<'_>) -> Archived {
        let medium = view.medium;
        let is_fast = |ppn: Ppn| medium.block(medium.geometry.block_of(ppn)).mode() == self.fast.0 && self.fast != self.normal;
        let mut entries: Vec<(Lpn, Ppn)> = self.queue.iter().map(|entry| (entry.lpn, entry.ppn)).collect();
        entries.sort_unstable();
        for (lpn, _) in view.bits.used() {
            let fits = view.copy_on_flash(lpn).is_some_and(|ppn| is_fast(ppn) || entries.binary_search(&(lpn, ppn)).is_ok());
            require(fits, || format!("unit {} is marked as written fast, and has no such copy", lpn.0))?;
        }
        for block in (0..medium.geometry.block_count).map(kit::BlockId) {
            let (first, end) =
                (medium.geometry.first_of(block), medium.geometry.first_of(block).0 + medium.geometry.units_per_block);
            if medium.block(block).valid == 0 || !is_fast(first) {
                continue;
            }
            let units = (first.0..end).map(Ppn).filter(|&ppn| medium.is_valid(ppn)).map(|ppn| view.lpn_at(ppn));
            let unmarked = units.filter(|lpn| u64::from(lpn.0) < view.user_units()).find(|&lpn| view.bits.get(lpn) == 0);
            require(unmarked.is_none(), || {
                format!("{unmarked:?} is in a block of the fast mode, and not marked as written fast")
            })?;
        }
        Ok(())
    }

    /// Removes the top entry from the queue, and returns its rewrite unless the entry is stale.
    fn flush_top(&mut self, view: &View<'_>) -> Option<PageMove> {
        let entry = self.queue.pop_front()?;
        if !Self::is_live(&entry, view) {
            self.counts.stale += 1;
            return None;
        }
        self.counts.rewrites += 1;
        Some(PageMove { lpn: entry.lpn, from: entry.ppn, reason: Reason::Rewrite, mode: self.normal, deadline: None })
    }

    /// Removes entries from the top of the queue up to and including the first live one, and returns its rewrite.
    fn take_top(&mut self, view: &View<'_>) -> Option<PageMove> {
        while !self.queue.is_empty() {
            if let Some(page_move) = self.flush_top(view) {
                return Some(page_move);
            }
        }
        None
    }

    /// Removes stale entries from the top of the queue; they need no rewrite, whatever their age.
    fn drop_stale_top(&mut self, view: &View<'_>) {
        while self.queue.front().is_some_and(|entry| !Self::is_live(entry, view)) {
            self.queue.pop_front();
            self.counts.stale += 1;
        }
    }

    fn has_room(&self, units: &[Lpn]) -> bool {
        self.queue.len() + units.len() <= self.params.queue_depth as usize
    }

    /// Returns the age above which an entry is rewritten before any other operation.
    fn threshold(&self, entry: &Entry, view: &View<'_>) -> Nanos {
        let classes = self.age_thresholds.len();
        if classes <= 1 {
            return self.min_threshold;
        }
        let worn = view.medium.wear_thousandths(view.medium.geometry.block_of(entry.ppn));
        self.age_thresholds[effective_wear_class(worn, self.facts.rated_pe_cycles, classes)]
    }

    fn top_is_too_old(&self, view: &View<'_>) -> bool {
        let is_too_old = |entry: &Entry| {
            let age = view.now.since(entry.written);
            age > self.min_threshold && age > self.threshold(entry, view)
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

    fn marked_mode(&self) -> Option<ModeId> {
        Some(self.fast)
    }

    fn check(&self, is_alone: bool, view: &mut View<'_>) -> Archived {
        let medium = view.medium;
        for &Entry { lpn, ppn, written, .. } in &self.queue {
            let exists = u64::from(lpn.0) < view.user_units() && u64::from(ppn.0) < medium.geometry.unit_count();
            require(exists && written <= view.now, || {
                format!("unit {} at place {} is to be rewritten since {} ns, and is not there", lpn.0, ppn.0, written.0)
            })?;
        }
        require(self.evicting <= MAX_COUNTED, || format!("{} units are to leave the rewrite queue", self.evicting))?;
        if is_alone { self.check_flags(view) } else { Ok(()) }
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
            let erase_count = view.medium.erase_count(view.medium.geometry.block_of(placed.ppn));
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
        // The length is compared again for each entry: a stale entry that was dropped no longer counts towards the
        // threshold.
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
        let soonest = entry.written + self.min_threshold + Nanos(1);
        Some(if soonest > view.now { soonest } else { entry.written + self.threshold(entry, view) + Nanos(1) })
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        // Fast data that the drive already holds was written by this policy (flagged in its bits) or by another one.
        // Its age is taken to be that of its block.
        let medium = view.medium;
        let entry = |lpn: Lpn, ppn: Ppn| {
            let block = medium.geometry.block_of(ppn);
            let age = medium.first_program(block);
            let written = SimTime(u64::try_from(age).unwrap_or(0));
            (age, Entry { lpn, ppn, erase_count: medium.erase_count(block), written })
        };
        let is_fast = |block: kit::BlockId| medium.block(block).mode() == self.fast.0;
        let flagged = view.bits.used().filter_map(|(lpn, _)| view.place_of(lpn).map(|ppn| (lpn, ppn)));
        let mut found: Vec<(i64, Entry)> =
            flagged.filter(|(_, ppn)| !is_fast(medium.geometry.block_of(*ppn))).map(|(lpn, ppn)| entry(lpn, ppn)).collect();
        for block in (0..medium.geometry.block_count).map(kit::BlockId).filter(|&block| is_fast(block)) {
            let first = medium.geometry.first_of(block);
            let units = (first.0..first.0 + medium.geometry.units_per_block).map(Ppn).filter(|&ppn| medium.is_valid(ppn));
            found.extend(units.map(|ppn| entry(view.lpn_at(ppn), ppn)));
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
