//! Access characteristic guided cost regulation (Li et al., FAST 2016).

use super::cost::{Cost, Costs};
use super::ofwar::IdleScope;
use super::{
    Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, ReadAnswer, Relocation, UnitRead, View,
    WriteAnswer,
};
use kit::archive::require;
use kit::{Archive, Archived, Lpn, ModeId, NORMAL_MODE, Ppn, Reason, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "write cost by each page's history of reads and writes, rewritten at high cost where it is only read (AGCR, 2016)";

/// Access characteristic guided cost regulation (AGCR), sections 3.2 to 3.4 of the paper. A page is classified by its
/// last `window - 1` accesses and the upcoming one. A write is at low cost if the page was only written, at medium cost
/// if it was read as well, and at high cost if it has no history. A read of a page whose window holds only reads, and
/// whose copy was not written at high cost, enters one rewrite at high cost in the rewrite queue. The queue is worked
/// off in idle time; a rewrite is dropped if the page is written first. A page is read at the cost that belongs to the
/// write cost of its copy. Data older than the run counts as written at high cost.
///
/// Section 3.3 names two conditions of a rewrite: the page "was not written with a high cost before", and it is read at
/// high cost, that is, its copy was written at low cost. The first is the default, the second an option
/// (`rewrite_medium`). Our choices where the paper is silent: relocated data keeps its class (`keep_class`); a rewrite
/// needs an idle channel (`idle`); the rewrite queue has a depth, and when it is full, reads enter no further rewrites;
/// where a page's history is shorter than the window, its known
/// accesses decide. Only accesses that reach the flash count: writes absorbed by the write buffer do not, nor do reads
/// answered by the buffer or, during a program, by the controller. The paper counts two bits of metadata for each page,
/// one for the history and one for the class. Either needs one more state here: a page without history, and a third
/// class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of low cost.
    pub low: String,
    /// Write mode of medium cost.
    pub medium: String,
    /// Write mode of high cost.
    pub high: String,
    /// Accesses in the history window, the upcoming one included (section 3.4: 2).
    #[schemars(range(min = 2, max = 4))]
    pub window: u8,
    /// Relocated data keeps its class; otherwise it is written at high cost.
    pub keep_class: bool,
    /// A page written at medium cost is rewritten as well once its window holds only reads; otherwise, only one written
    /// at low cost.
    pub rewrite_medium: bool,
    /// Part of the drive that must be idle for a rewrite. For `channel`, the channel of the page must be idle as well.
    pub idle: IdleScope,
    /// Greatest number of queued rewrites.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub queue_depth: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            low: "fast".to_owned(),
            medium: NORMAL_MODE.to_owned(),
            high: "fine".to_owned(),
            window: 2,
            keep_class: true,
            rewrite_medium: true,
            idle: IdleScope::Channel,
            queue_depth: 65_536,
        }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("low", &self.low), ("medium", &self.medium), ("high", &self.high)]
    }

    fn statistics() -> Vec<Term> {
        let mut all = Costs::statistics();
        all.extend([
            Term::new("rewrites_entered", "units", "Pages entered in the rewrite queue."),
            Term::new("rewrites_started", "units", "Pages whose rewrite at high cost was started."),
            Term::new("rewrites_dropped", "units", "Rewrites dropped because the page was written or trimmed first."),
            Term::new("reads_on_full_queue", "units", "Reads that would have entered a rewrite, but found the queue full."),
            Term::new("rewrite_queue_longest", "units", "Most entries in the rewrite queue at a time."),
            Term::new(
                "metadata_bits_of_the_paper",
                "bits",
                "Metadata of each page as the paper counts it: one bit for each remembered access, and one for the class.",
            ),
            Term::new(
                "metadata_bits_needed",
                "bits",
                "Metadata of each page that the policy needs here: two bits for each remembered access, and two for the class.",
            ),
        ]);
        all
    }
}

const READ: u8 = 1;
const WRITE: u8 = 2;
/// A read after which a rewrite of the page was queued or is under way. Only the newest access can have this value,
/// since a write ends it.
const READ_QUEUED: u8 = 3;

/// Layout of a page's history bits: its last accesses, two bits each, the newest in the lowest bits; above them its
/// class.
#[derive(Clone, Copy)]
struct History {
    remembered: u8,
}

impl History {
    fn mask(self) -> u8 {
        ((1u16 << (2 * self.remembered)) - 1) as u8
    }

    /// Returns the accesses in a page's window before the upcoming one, from the page's bits.
    #[inline]
    fn of(self, bits: u8) -> u8 {
        History::ended(bits) & self.mask()
    }

    /// Returns a page's bits after an access.
    #[inline]
    fn after(self, bits: u8, access: u8) -> u8 {
        bits & !self.mask() | (self.of(bits) << 2 | access) & self.mask()
    }

    #[inline]
    fn is_queued(bits: u8) -> bool {
        bits & 3 == READ_QUEUED
    }

    /// Returns a page's bits once its rewrite is done or given up; bits without a rewrite are unchanged.
    #[inline]
    fn ended(bits: u8) -> u8 {
        if History::is_queued(bits) { bits & !3 | READ } else { bits }
    }

    /// Returns true if a window has at least one known access, and all known ones are of one kind.
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
    /// Pages to be rewritten, by logical address as in the paper: an entry outlives a relocation of its page.
    queue: VecDeque<Lpn>,
    /// Pages whose rewrite has begun. Their bits stay marked as queued until the new copy is placed.
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
    /// Returns the cost of a host write to a page (section 3.3, *write cost regulation*).
    fn cost_of_write(&self, bits: u8) -> Cost {
        match self.history.of(bits) {
            0 => Cost::High,
            past if self.history.is_only(past, WRITE) => Cost::Low,
            _ => Cost::Medium,
        }
    }

    /// Returns true if the upcoming read enters a rewrite of the page: it is only read, and its copy was not written
    /// for that (section 3.3, *read cost regulation*).
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

    /// Forgets the rewrite of a page with these bits if it was under way; returns true if so.
    #[inline]
    fn no_longer_under_way(&mut self, lpn: Lpn, bits: u8) -> bool {
        if !History::is_queued(bits) {
            return false;
        }
        let before = self.under_way.len();
        self.under_way.retain(|&page| page != lpn);
        self.under_way.len() < before
    }

    /// Returns true if no die is busy on the channel of a page, so that reading the page there delays no other
    /// operation.
    fn is_quiet(&self, at: Ppn, view: &View<'_>) -> bool {
        let geometry = &view.medium.geometry;
        let channel = geometry.channel_of(geometry.die_of(geometry.block_of(at)));
        self.params.idle == IdleScope::Drive || view.signals.channel_busy_dies[channel.index()] == 0
    }

    /// Returns the move for the oldest queued rewrite whose page has not been written since, and drops entries whose
    /// page has.
    fn next_rewrite(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        while let Some(&lpn) = self.queue.front() {
            let bits = view.bits.get(lpn);
            let Some(from) = view.place_of(lpn).filter(|_| History::is_queued(bits)) else {
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

    fn check(&self, _is_alone: bool, view: &mut View<'_>) -> Archived {
        let strange = self.queue.iter().chain(&self.under_way).find(|lpn| u64::from(lpn.0) >= view.user_units());
        require(strange.is_none(), || format!("{strange:?} is to be rewritten, and the drive does not have it"))
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
        // This placement completes a rewrite under way, or makes it void: the copy that it read is no longer current. A
        // rewrite that is still queued outlives a relocation.
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
            // Repeated reads leave the bits unchanged, which saves the write.
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
