//! Access characteristic guided cost regulation (Li et al., FAST 2016).

use super::cost::{Cost, Costs};
use super::ofwar::IdleScope;
use super::{
    Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, ReadAnswer, Relocation, UnitRead, View,
    WriteAnswer,
};
use kit::{Archive, Archived, Lpn, ModeId, Ppn, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What it is, in one line.
pub const SUMMARY: &str =
    "write cost by each page's history of reads and writes, rewritten at high cost where it is only read (AGCR, 2016)";

/// Access characteristic guided cost regulation (AGCR), sections 3.2 to 3.4 of the paper. A page is known by its last `window - 1` accesses and the
/// upcoming one. A write to a page that was only written is at low cost, to one that was read as well at medium cost, to one without history at high
/// cost. A read of a page whose window holds reads only, and whose copy was written at low cost, enters one rewrite at high cost in the rewrite queue,
/// which idle time works off; it is dropped if the page is written first. A read is at the cost that the page's copy was written for; data older than
/// the run was written at high cost.
///
/// Choices of ours, where the paper is silent: what is relocated keeps its class (`keep_class`); a page written at medium cost is not rewritten
/// (`rewrite_medium`); a channel must be idle for a rewrite of one of its pages; the rewrite queue has a depth, and beyond it reads stay at high cost; of
/// a window longer than a page's history the known accesses decide. An access is one that reaches the flash: what a write buffer absorbs or
/// answers, or the controller while a program is under way, is none. The paper counts two bits of metadata for each page; one more state each is needed
/// to know a page without history and the class of three in which it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The write mode of low cost.
    pub low: String,
    /// The write mode of medium cost.
    pub medium: String,
    /// The write mode of high cost.
    pub high: String,
    /// Accesses in the history window, the upcoming one included (section 3.4: 2).
    #[schemars(range(min = 2, max = 4))]
    pub window: u8,
    /// Relocated data keeps its class; otherwise it is written at high cost.
    pub keep_class: bool,
    /// A page written at medium cost is rewritten, too, once its window holds reads only.
    pub rewrite_medium: bool,
    /// What must be idle for a rewrite.
    pub idle: IdleScope,
    /// Rewrites that can be waiting.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub queue_depth: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            low: "fast".to_owned(),
            medium: "normal".to_owned(),
            high: "fine".to_owned(),
            window: 2,
            keep_class: true,
            rewrite_medium: false,
            idle: IdleScope::Channel,
            queue_depth: 65_536,
        }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("low", &self.low), ("medium", &self.medium), ("high", &self.high)]
    }
}

const READ: u8 = 1;
const WRITE: u8 = 2;
/// A read, since which a rewrite of the page is queued or under way: no write can have come after it. Only ever the newest access.
const READ_QUEUED: u8 = 3;

/// The last accesses of a page, two bits each, the newest lowest; above them its class.
#[derive(Clone, Copy)]
struct History {
    remembered: u8,
}

impl History {
    fn mask(self) -> u8 {
        ((1u16 << (2 * self.remembered)) - 1) as u8
    }

    /// The accesses of a page's window before the upcoming one, in its bits.
    #[inline]
    fn of(self, bits: u8) -> u8 {
        History::ended(bits) & self.mask()
    }

    /// A page's bits after an access.
    #[inline]
    fn after(self, bits: u8, access: u8) -> u8 {
        bits & !self.mask() | (self.of(bits) << 2 | access) & self.mask()
    }

    #[inline]
    fn is_queued(bits: u8) -> bool {
        bits & 3 == READ_QUEUED
    }

    /// A page's bits once its rewrite is done, or given up; those of one without are as they were.
    #[inline]
    fn ended(bits: u8) -> u8 {
        if History::is_queued(bits) { bits & !3 | READ } else { bits }
    }

    /// Whether all known accesses of a window are of one kind, and there is one.
    fn is_only(self, past: u8, kind: u8) -> bool {
        past != 0 && (0..self.remembered).map(|at| past >> (2 * at) & 3).all(|access| access == 0 || access == kind)
    }
}

#[derive(Default)]
struct Counts {
    entered: u64,
    dropped: u64,
    full: u64,
    rewrites: u64,
    longest: u64,
}

struct Agcr {
    params: Params,
    costs: Costs,
    history: History,
    /// Pages to be rewritten, by logical address as in the paper: one that a collection moved meanwhile still is to be.
    queue: VecDeque<Lpn>,
    /// Those of which the rewrite has begun; their entries stay marked until they are placed.
    under_way: Vec<Lpn>,
    counts: Counts,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let history = History { remembered: params.window.clamp(2, 4) - 1 };
    Box::new(Agcr {
        costs: Costs::new([&params.low, &params.medium, &params.high], 2 * history.remembered, facts),
        history,
        queue: VecDeque::new(),
        under_way: Vec::new(),
        counts: Counts::default(),
        params: params.clone(),
    })
}

impl Agcr {
    /// The cost of a host write to a page (section 3.3, *write cost regulation*).
    fn cost_of_write(&self, bits: u8) -> Cost {
        match self.history.of(bits) {
            0 => Cost::High,
            past if self.history.is_only(past, WRITE) => Cost::Low,
            _ => Cost::Medium,
        }
    }

    /// A page that is only read and was not written for it is to be rewritten (section 3.3, *read cost regulation*). Whether the upcoming read enters it.
    #[inline]
    fn enters(&mut self, bits: u8) -> bool {
        let wanted = match self.costs.class(bits) {
            Cost::High => false,
            Cost::Medium => self.params.rewrite_medium,
            Cost::Low => true,
        };
        if !wanted || History::is_queued(bits) || !self.history.is_only(self.history.of(bits), READ) {
            return false;
        }
        let is_full = self.queue.len() as u64 >= self.params.queue_depth;
        self.counts.full += u64::from(is_full);
        !is_full
    }

    fn enter(&mut self, lpn: Lpn) {
        self.queue.push_back(lpn);
        self.counts.entered += 1;
        self.counts.longest = self.counts.longest.max(self.queue.len() as u64);
    }

    /// Forgets the rewrite of a page with these bits if it had begun; whether it had.
    #[inline]
    fn no_longer_under_way(&mut self, lpn: Lpn, bits: u8) -> bool {
        if !History::is_queued(bits) {
            return false;
        }
        let before = self.under_way.len();
        self.under_way.retain(|&page| page != lpn);
        self.under_way.len() < before
    }

    /// Whether nothing runs on the channel where a page is, so that reading it there delays nobody.
    fn is_quiet(&self, at: Ppn, view: &View<'_>) -> bool {
        let geometry = &view.store.geometry;
        let channel = geometry.channel_of(geometry.die_of(geometry.block_of(at)));
        self.params.idle == IdleScope::Drive || view.signals.channel_busy_dies[channel.index()] == 0
    }

    /// The oldest rewrite whose page was not written since.
    fn next_rewrite(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        while let Some(&lpn) = self.queue.front() {
            let bits = view.bits.get(lpn);
            let Some(from) = view.store.place_of(lpn).filter(|_| History::is_queued(bits)) else {
                self.queue.pop_front();
                view.bits.set(lpn, History::ended(bits));
                self.counts.dropped += 1;
                continue;
            };
            if !self.is_quiet(from, view) {
                return None;
            }
            self.queue.pop_front();
            self.under_way.push(lpn);
            self.counts.rewrites += 1;
            let mode = self.costs.write_mode(Cost::High);
            return Some(PageMove { lpn, from, reason: Reason::Rewrite, mode, deadline: None });
        }
        None
    }
}

impl ModePolicy for Agcr {
    fn needs(&self) -> Needs {
        Needs {
            host_streams: 1,
            bits_per_unit: if self.params.window == 2 { 4 } else { 8 },
            placed: true,
            dropped: true,
            reads: true,
            moves: true,
            idle_only: true,
            page_scope: true,
            moving: true,
            ..Needs::default()
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.queue)?;
        archive.value(&mut self.under_way)
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let cost = Costs::together(dispatch.units.iter().map(|&lpn| self.cost_of_write(view.bits.get(lpn))));
        WriteAnswer { mode: self.costs.write_mode(cost), stream: 0 }
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        let cost = match self.params.keep_class {
            true => Costs::together(moving.units.iter().map(|&lpn| self.costs.of(lpn, view))),
            false => Cost::High,
        };
        self.costs.write_mode(cost)
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        let before = view.bits.get(placed.lpn);
        let mut bits = self.costs.written(before, placed.mode);
        // A rewrite under way is done by this, or void: what it read is no longer the page's place. One in the queue outlives a collection.
        if self.no_longer_under_way(placed.lpn, before) || self.costs.class(bits) == Cost::High {
            bits = History::ended(bits);
        }
        if placed.reason == Reason::Host {
            bits = self.history.after(bits, WRITE);
        }
        view.bits.set(placed.lpn, bits);
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        self.no_longer_under_way(lpn, view.bits.get(lpn));
        view.bits.set(lpn, 0);
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        let before = view.bits.get(read.lpn);
        if read.reason == Reason::Host {
            let enters = self.enters(before);
            if enters {
                self.enter(read.lpn);
            }
            let bits = self.history.after(before, if enters || History::is_queued(before) { READ_QUEUED } else { READ });
            // Pages that are only read stay as they are: nothing is written.
            if bits != before {
                view.bits.set(read.lpn, bits);
            }
        }
        self.costs.read(read, before)
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        let is_idle = match self.params.idle {
            IdleScope::Channel => idle.channel_for.is_some(),
            IdleScope::Drive => idle.drive_for.is_some(),
        };
        if !is_idle || self.queue.is_empty() {
            return None;
        }
        self.next_rewrite(view).map(Relocation::Page)
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.costs.adopt(view);
        self.queue = view.bits.used().filter(|(_, bits)| History::is_queued(*bits)).map(|(lpn, _)| lpn).collect();
    }

    fn uses(&self) -> Vec<ModeId> {
        self.costs.modes(&[Cost::Low, Cost::Medium, Cost::High])
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.costs.old_mode()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let c = &self.counts;
        let mut stats = self.costs.stats();
        stats.extend([
            ("rewrites_entered", c.entered as f64),
            ("rewrites_started", c.rewrites as f64),
            ("rewrites_dropped", c.dropped as f64),
            ("reads_on_full_queue", c.full as f64),
            ("rewrite_queue_longest", c.longest as f64),
            ("metadata_bits_of_the_paper", f64::from(self.history.remembered) + 1.0),
            ("metadata_bits_needed", 2.0 * f64::from(self.history.remembered) + 2.0),
        ]);
        stats
    }
}
