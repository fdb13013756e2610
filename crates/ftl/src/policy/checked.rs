//! Checks the answers of a policy that is not a member of the family before the engine acts on them.
//!
//! A user's policy may give any answer. An answer that the engine cannot act on is refused, with a complaint that
//! states the call, the answer and the accepted range. From then on the policy is no longer called, safe answers take
//! the place of its own, and [`ModePolicy::failure`] ends the run. A page that is already being moved is not moved
//! again. A policy that keeps requesting impossible moves is stopped, so that every run ends.

use super::{
    Backup, Candidate, Collection, Dispatch, Facts, HostCache, Idle, Interruption, ModePolicy, Moving, Needs, PageMove, Placed,
    ReadAnswer, Relocation, UnitRead, View, WriteAnswer, nearest_free_level,
};
use kit::{Archive, Archived, BlockId, Lpn, ModeId, Nanos, Ppn, Problem, Problems, Reason, SimTime};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Number of consecutive impossible moves after which a policy is stopped.
const FRUITLESS_MOVES: u32 = 1 << 20;
/// Number of wake-ups without any other event after which a policy is stopped, if they are less than [`MIN_SLEEP`]
/// apart on average.
const FRUITLESS_WAKES: u32 = 1 << 20;
/// Mean time between wake-ups from which on a policy may be woken without limit.
const MIN_SLEEP: Nanos = Nanos(1_000);
/// Reasons for which a policy may have data moved: those of relocations, not those of the engine's own operations.
const REASONS: [Reason; 6] = [Reason::Gc, Reason::Wear, Reason::Rewrite, Reason::Reprogram, Reason::Scrub, Reason::Evacuate];

/// Policy whose answers are checked.
pub struct Checked {
    inner: Box<dyn ModePolicy>,
    needs: Needs,
    old_mode: ModeId,
    move_after: Vec<Option<Nanos>>,
    write_modes: Vec<String>,
    erase_modes: Vec<String>,
    read_modes: Vec<String>,
    erase_levels: Vec<u8>,
    under_way: BTreeMap<Ppn, Move>,
    tidied: usize,
    fruitless: u32,
    /// True once the drive is shutting down.
    shutting_down: bool,
    /// Pages moved while a host command or a shutdown waits, counted since a host command last arrived or completed,
    /// and the instant of that event.
    moved: (u64, SimTime),
    wakes: Cell<Wakes>,
    failure: RefCell<Option<Problem>>,
}

/// A page that is being moved: its unit, and the erase count of its block. The move is over once the page is no longer
/// valid at its old place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    lpn: Lpn,
    erase_count: u32,
}

/// Wake-ups of the policy since anything else happened.
#[derive(Clone, Copy, Debug, Default)]
struct Wakes {
    count: u32,
    since: SimTime,
    /// Instant of the latest wake-up requested.
    next: SimTime,
    /// Instant at which a host command last arrived or completed.
    activity: SimTime,
}

impl Checked {
    /// Wraps `inner` so that its answers are checked; fails with all problems of its declarations.
    pub fn new(inner: Box<dyn ModePolicy>, facts: &Facts) -> Result<Checked, Problems> {
        let (needs, old_mode) = (inner.needs(), inner.mode_of_old_data());
        let modes = facts.write_modes.len();
        let mut problems = Problems::default();
        if needs.host_streams == 0 {
            problems.add("host_streams", "0: expected at least 1, for host data");
        }
        if !matches!(needs.bits_per_unit, 0 | 1 | 2 | 4 | 8) {
            problems.add("bits_per_unit", format!("{}: expected 0, 1, 2, 4 or 8", needs.bits_per_unit));
        }
        if let Err(complaint) = within("write mode", old_mode, &facts.write_modes) {
            problems.add("mode_of_old_data", complaint);
        }
        for mode in inner.uses() {
            if let Err(complaint) = within("write mode", mode, &facts.write_modes) {
                problems.add("uses", complaint);
            }
        }
        let move_after: Vec<_> = (0..modes).map(|mode| inner.move_after(ModeId(mode as u8))).collect();
        if move_after.contains(&Some(Nanos::ZERO)) {
            problems.add("move_after", "0: expected a time above zero, or none");
        }
        problems.or(Checked {
            inner,
            needs,
            old_mode,
            move_after,
            write_modes: facts.write_modes.clone(),
            erase_modes: facts.erase_modes.clone(),
            read_modes: facts.read_modes.clone(),
            erase_levels: facts.erase_levels.clone(),
            under_way: BTreeMap::new(),
            tidied: 0,
            fruitless: 0,
            shutting_down: false,
            moved: (0, SimTime::ZERO),
            wakes: Cell::default(),
            failure: RefCell::new(None),
        })
    }

    /// Returns true if the policy is not to be called any more.
    fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// Returns the answer, or `careful` in place of a wrong one, whose complaint is recorded.
    fn or<T>(&self, call: &str, answer: Result<T, String>, careful: T) -> T {
        answer.unwrap_or_else(|complaint| {
            self.failure.borrow_mut().get_or_insert_with(|| Problem::new(call, complaint));
            careful
        })
    }

    fn write_mode(&self, mode: ModeId) -> Result<ModeId, String> {
        within("write mode", mode, &self.write_modes)
    }

    /// Returns the page that the policy requests to be moved, if the move is possible and not already under way.
    fn page(&mut self, call: &str, wanted: Option<PageMove>, view: &View<'_>) -> Option<PageMove> {
        let page = self.or(call, wanted.map(|page| self.possible(page, view)).transpose(), None)?;
        let medium = view.medium;
        let is_there = medium.is_valid(page.from) && view.lpn_at(page.from) == page.lpn;
        let erase_count = medium.erase_count(medium.geometry.block_of(page.from));
        let this = Move { lpn: page.lpn, erase_count };
        let again = is_there && self.under_way.get(&page.from) == Some(&this);
        self.fruitless = if is_there && !again { 0 } else { self.fruitless + 1 };
        if self.fruitless == FRUITLESS_MOVES {
            let complaint = format!(
                "{FRUITLESS_MOVES} moves in a row of pages that are not where it says or are being moved: expected none in the end"
            );
            return self.or(call, Err(complaint), None);
        }
        if again {
            return None;
        }
        if !is_there {
            // The engine skips such a move and counts it.
            return Some(page);
        }
        self.note(page.from, this, view);
        self.wakes.take();
        let held_up = self.check_progress(view);
        self.or(call, held_up.map(|()| Some(page)), None)
    }

    /// Returns an error if a host command or a shutdown waits while more pages are moved than can be of use.
    fn check_progress(&mut self, view: &View<'_>) -> Result<(), String> {
        let (most, activity) = (2 * view.user_units(), view.signals.last_host_activity);
        let waits = self.shutting_down || view.signals.commands_in_flight > 0;
        self.moved = if waits && self.moved.1 == activity { (self.moved.0 + 1, activity) } else { (0, activity) };
        if self.moved.0 <= most {
            return Ok(());
        }
        let who = if self.shutting_down { "the drive is to shut down" } else { "host commands wait" };
        Err(format!("more than {most} pages are to be moved while {who}, and it holds {}", view.user_units()))
    }

    /// Remembers a move, and from time to time forgets those that have ended.
    fn note(&mut self, from: Ppn, this: Move, view: &View<'_>) {
        self.under_way.insert(from, this);
        if self.under_way.len() > 2 * self.tidied + 64 {
            let medium = view.medium;
            self.under_way.retain(|&from, known| {
                let block = medium.geometry.block_of(from);
                medium.is_valid(from) && view.lpn_at(from) == known.lpn && medium.erase_count(block) == known.erase_count
            });
            self.tidied = self.under_way.len();
        }
    }

    fn possible(&self, page: PageMove, view: &View<'_>) -> Result<PageMove, String> {
        let medium = view.medium;
        self.write_mode(page.mode)?;
        reason(page.reason)?;
        if u64::from(page.lpn.0) >= view.user_units() {
            return Err(format!("unit {}: expected 0..={}", page.lpn.0, view.user_units() - 1));
        }
        if u64::from(page.from.0) >= medium.geometry.unit_count() {
            return Err(format!("place {}: expected 0..={}", page.from.0, medium.geometry.unit_count() - 1));
        }
        Ok(page)
    }

    /// Returns `at`, unless the policy does nothing but request one wake-up after another.
    fn rested(&self, at: SimTime, view: &View<'_>) -> Result<Option<SimTime>, String> {
        let mut wakes = self.wakes.get();
        if wakes.count == 0 || wakes.activity != view.signals.last_host_activity {
            wakes = Wakes { count: 0, since: view.now, activity: view.signals.last_host_activity, ..wakes };
        }
        wakes.count += u32::from(view.now >= wakes.next);
        wakes.next = at;
        let passed = view.now.since(wakes.since);
        if wakes.count < FRUITLESS_WAKES {
            self.wakes.set(wakes);
            return Ok(Some(at));
        }
        self.wakes.take();
        if passed.0 / u64::from(FRUITLESS_WAKES) >= MIN_SLEEP.0 {
            return Ok(Some(at));
        }
        Err(format!(
            "woken {FRUITLESS_WAKES} times within {passed}, and nothing was moved: expected at least {MIN_SLEEP} of sleep"
        ))
    }
}

/// Returns `mode` if it is in the table.
fn within(what: &str, mode: ModeId, table: &[String]) -> Result<ModeId, String> {
    if mode.index() < table.len() {
        return Ok(mode);
    }
    Err(format!("{what} {}: expected 0..={} ({})", mode.0, table.len() - 1, table.join(", ")))
}

/// Returns `answer` if the policy has declared its stream: `count` of them, by the field `field` of its needs.
fn within_streams(answer: WriteAnswer, field: &str, count: u8) -> Result<WriteAnswer, String> {
    let last = count.max(1) - 1;
    if answer.stream <= last {
        return Ok(answer);
    }
    Err(format!("stream {}: expected 0..={last} ({field} = {count})", answer.stream))
}

/// Returns `reason` if a policy may have data moved for it.
fn reason(reason: Reason) -> Result<Reason, String> {
    if REASONS.contains(&reason) {
        return Ok(reason);
    }
    Err(format!("reason `{}`: expected one of {}", reason.name(), REASONS.map(Reason::name).join(", ")))
}

impl ModePolicy for Checked {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn state(&mut self, _: &mut Archive<'_>) -> Archived {
        Ok(())
    }

    fn is_saved_whole(&self) -> bool {
        false
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let careful = WriteAnswer { mode: self.old_mode, stream: 0 };
        if self.has_failed() {
            return careful;
        }
        let answer = self.inner.write(dispatch, view);
        let checked = self.write_mode(answer.mode).and_then(|_| within_streams(answer, "host_streams", self.needs.host_streams));
        self.or("write", checked, careful)
    }

    fn collecting(&mut self, collection: &Collection, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.collecting(collection, view);
        }
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        if self.has_failed() {
            return self.old_mode;
        }
        let mode = self.inner.relocate(moving, view);
        self.or("relocate", self.write_mode(mode), self.old_mode)
    }

    fn relocate_to(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> WriteAnswer {
        let careful = WriteAnswer { mode: self.old_mode, stream: 0 };
        if self.has_failed() {
            return careful;
        }
        let answer = self.inner.relocate_to(moving, view);
        let checked = self
            .write_mode(answer.mode)
            .and_then(|_| within_streams(answer, "relocation_streams", self.needs.relocation_streams));
        self.or("relocate", checked, careful)
    }

    fn requested(&mut self, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.requested(view);
        }
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.placed(placed, view);
        }
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.dropped(lpn, view);
        }
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        if self.has_failed() {
            return ReadAnswer::default();
        }
        let answer = self.inner.read_issued(read, view);
        let checked = answer.mode.map_or(Ok(answer), |mode| within("read mode", mode, &self.read_modes).map(|_| answer));
        self.or("read_issued", checked, ReadAnswer::default())
    }

    fn read_done(&mut self, lpn: Lpn, ppn: Ppn, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.read_done(lpn, ppn, view);
        }
    }

    fn score(&self, candidate: &Candidate, view: &mut View<'_>) -> f64 {
        let careful = f64::from(candidate.invalid);
        if self.has_failed() {
            return careful;
        }
        let score = self.inner.score(candidate, view);
        self.or("score", if score.is_nan() { Err("NaN: expected a number".to_owned()) } else { Ok(score) }, careful)
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        if self.has_failed() {
            return ModeId(0);
        }
        let mode = self.inner.erase(collection, view);
        self.or("erase", within("erase mode", mode, &self.erase_modes), ModeId(0))
    }

    fn free_list(&mut self, level: u8, lists: &[u32], view: &mut View<'_>) -> u8 {
        let careful = nearest_free_level(level, lists);
        if self.has_failed() {
            return careful;
        }
        let chosen = self.inner.free_list(level, lists, view);
        let has = lists.get(usize::from(chosen)).is_some_and(|&blocks| blocks > 0);
        let checked = if has { Ok(chosen) } else { Err(format!("level {chosen}: expected one with free blocks, of {lists:?}")) };
        self.or("free_list", checked, careful)
    }

    fn lazy_erase(&mut self, block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        let careful = view.space.erase_mode_of(level);
        if self.has_failed() {
            return careful;
        }
        let mode = self.inner.lazy_erase(block, level, view);
        let checked = within("erase mode", mode, &self.erase_modes).and_then(|mode| {
            let reached = self.erase_levels[mode.index()];
            let name = &self.erase_modes[mode.index()];
            if reached <= level { Ok(mode) } else { Err(format!("`{name}` is of level {reached}: expected at most {level}")) }
        });
        self.or("lazy_erase", checked, careful)
    }

    fn opened(&mut self, block: BlockId, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.opened(block, view);
        }
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        if !self.has_failed() {
            self.inner.erased(block, view);
        }
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        let wanted = if self.has_failed() { None } else { self.inner.urgent(view) };
        self.page("urgent", wanted, view)
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        let wanted = if self.has_failed() { None } else { self.inner.forced(view) };
        self.page("forced", wanted, view)
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        match if self.has_failed() { None } else { self.inner.idle(idle, view) }? {
            Relocation::Page(page) => self.page("idle", Some(page), view).map(Relocation::Page),
            Relocation::Block { block, reason: why } => {
                let count = view.medium.geometry.block_count;
                let checked = reason(why).and_then(|_| match block.0 < count {
                    true => Ok(Some(Relocation::Block { block, reason: why })),
                    false => Err(format!("block {}: expected 0..={}", block.0, count - 1)),
                });
                self.or("idle", checked, None)
            }
        }
    }

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.shutting_down = true;
        let wanted = if self.has_failed() { None } else { self.inner.drain(view) };
        self.page("drain", wanted, view)
    }

    fn power_fails(&mut self, view: &mut View<'_>) -> Option<Backup> {
        if self.has_failed() { None } else { self.inner.power_fails(view) }
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        if self.has_failed() {
            return None;
        }
        let at = self.inner.wake_at(view).filter(|&at| at > view.now)?;
        self.or("wake_at", self.rested(at, view), None)
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.under_way.clear();
        self.shutting_down = false;
        if !self.has_failed() {
            self.inner.adopt(view);
        }
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        self.move_after[mode.index()]
    }

    fn uses(&self) -> Vec<ModeId> {
        self.inner.uses()
    }

    /// Returns all modes where the scope of a mode is the page: answers are not compared with [`ModePolicy::uses`].
    fn mixes(&self, _: &Facts) -> Option<Vec<ModeId>> {
        self.needs.page_scope.then(|| (0..self.write_modes.len()).map(|mode| ModeId(mode as u8)).collect())
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.old_mode
    }

    fn cache_under_load(&self) -> Option<HostCache> {
        self.inner.cache_under_load()
    }

    fn named_stats(&self) -> Vec<(String, f64)> {
        if self.has_failed() { Vec::new() } else { self.inner.named_stats() }
    }

    fn failure(&self) -> Option<Problem> {
        self.failure.borrow().clone().or_else(|| self.inner.failure())
    }

    fn interruption(&self) -> Option<Interruption> {
        self.inner.interruption()
    }
}
