//! Access characteristic guided cost regulation (Li et al., FAST 2016).

use super::cost::{Cost, Costs};
use super::ofwar::IdleScope;
use super::{
    Dispatch, Facts, Idle, Member, ModePolicy, Moving, Needs, PageMove, Placed, ReadAnswer, Relocation, UnitRead, View,
    WriteAnswer,
};
use kit::{Lpn, ModeId, Ppn, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What it is, in one line.
pub const SUMMARY: &str =
    "write cost by each page's history of reads and writes, rewritten at high cost where it is only read (AGCR, 2016)";

/// Access characteristic guided cost regulation (AGCR), sections 3.2 to 3.4 of the paper. A page is known by its last `window - 1` accesses and the upcoming one. A write to a page that was
/// only written is at low cost, to one that was read as well at medium cost, to one without history at high cost. A read of a page whose window holds
/// reads only, and whose copy was written at low cost, enters one rewrite at high cost in the rewrite queue, which idle time works off; it is
/// dropped if the page is written first. A read is at the cost that the page's copy was written for.
///
/// Choices of ours, where the paper is silent: what is relocated keeps its class (`keep_class`); a page written at medium cost is not rewritten
/// (`rewrite_medium`); the channel must be idle for a rewrite; the rewrite queue has a depth, and beyond it reads stay at high cost. The paper counts
/// two bits of metadata for each page; one more state each is needed to know a page without history and the class of three in which it was written.
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

/// The last accesses of a page, two bits each, the newest lowest; above them its class.
#[derive(Clone, Copy)]
struct History {
    remembered: u8,
}

impl History {
    fn mask(self) -> u8 {
        ((1u16 << (2 * self.remembered)) - 1) as u8
    }

    /// The accesses of a page's window before the upcoming one.
    fn of(self, lpn: Lpn, view: &View<'_>) -> u8 {
        view.bits.get(lpn) & self.mask()
    }

    fn note(self, lpn: Lpn, access: u8, view: &mut View<'_>) {
        let all = view.bits.get(lpn);
        view.bits.set(lpn, all & !self.mask() | (all << 2 | access) & self.mask());
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
    queue: VecDeque<(Lpn, Ppn)>,
    counts: Counts,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    let history = History { remembered: params.window.clamp(2, 4) - 1 };
    Box::new(Agcr {
        costs: Costs::new([&params.low, &params.medium, &params.high], 2 * history.remembered, facts),
        history,
        queue: VecDeque::new(),
        counts: Counts::default(),
        params: params.clone(),
    })
}

impl Agcr {
    /// The cost of a host write to a page (section 3.3, *write cost regulation*).
    fn cost_of_write(&self, lpn: Lpn, view: &View<'_>) -> Cost {
        match self.history.of(lpn, view) {
            0 => Cost::High,
            past if self.history.is_only(past, WRITE) => Cost::Low,
            _ => Cost::Medium,
        }
    }

    /// A page that is only read and was not written for it is to be rewritten (section 3.3, *read cost regulation*).
    fn consider_rewrite(&mut self, read: &UnitRead, view: &mut View<'_>) {
        let cost = self.costs.of(read.lpn, view);
        let wanted = cost == Cost::Low || cost == Cost::Medium && self.params.rewrite_medium;
        if !wanted || !self.history.is_only(self.history.of(read.lpn, view), READ) {
            return;
        }
        if self.queue.len() as u64 >= self.params.queue_depth {
            self.counts.full += 1;
            return;
        }
        self.queue.push_back((read.lpn, read.ppn));
        // A second entry of a page is found stale when its turn comes; of the common ones there is none.
        if cost == Cost::Low {
            self.costs.set(read.lpn, Cost::LowQueued, view);
        }
        self.counts.entered += 1;
        self.counts.longest = self.counts.longest.max(self.queue.len() as u64);
    }

    /// The next page that still is where it was read.
    fn next_rewrite(&mut self, view: &View<'_>) -> Option<PageMove> {
        while let Some((lpn, from)) = self.queue.pop_front() {
            if view.store.place_of(lpn) == Some(from) && self.costs.of(lpn, view) != Cost::High {
                self.counts.rewrites += 1;
                let mode = self.costs.write_mode(Cost::High);
                return Some(PageMove { lpn, from, reason: Reason::Rewrite, mode, deadline: None });
            }
            self.counts.dropped += 1;
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
            page_scope: true,
            moving: true,
            ..Needs::default()
        }
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let cost = Costs::together(dispatch.units.iter().map(|&lpn| self.cost_of_write(lpn, view)));
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
        self.costs.written(placed.lpn, placed.mode, view);
        if placed.reason == Reason::Host {
            self.history.note(placed.lpn, WRITE, view);
        }
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        view.bits.set(lpn, 0);
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        let answer = self.costs.read(read, view);
        if read.reason == Reason::Host {
            self.consider_rewrite(read, view);
            self.history.note(read.lpn, READ, view);
        }
        answer
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
        let queued = (0..view.store.user_units as u32).map(Lpn).filter(|&lpn| self.costs.of(lpn, view) == Cost::LowQueued);
        self.queue = queued.filter_map(|lpn| view.store.place_of(lpn).map(|ppn| (lpn, ppn))).collect();
    }

    fn uses(&self) -> Vec<ModeId> {
        self.costs.modes()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.costs.write_mode(Cost::High)
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
