//! Several policies on one drive.

use super::future::Future;
use super::{
    Backup, BeforeDispatch, Candidate, Collection, Compound, Dispatch, Facts, Idle, ModePolicy, Moving, Needs, PageMove, Placed,
    PolicyConfig, ReadAnswer, Relocation, UnitRead, View, WriteAnswer, before_dispatch_default,
};
use crate::declared::StateShare;
use kit::{Archive, Archived, BlockId, Lpn, ModeId, Nanos, Ppn, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Description of the policy in one line.
pub const SUMMARY: &str = "several policies on one drive, the first takes precedence; all modes must fit one voltage budget";

/// Several policies on one drive. A write mode has properties: its retention limit, the level of erase that it needs,
/// the read mode and the code of its data, and its bits per cell. A policy decides on the properties in which the modes
/// that it chooses among differ; where two policies decide on the same property, the one named first prevails. A
/// property that no policy decides on is that of the first policy's old data. Each write and each relocation gets the
/// quickest mode of the table that has all these properties; there must be one for every combination that can occur.
/// All modes must be derived from the cell's model, and the voltage budget, which erase depth, program step, retention
/// and sensing share, must close for each of them: tables from different papers cannot simply be multiplied.
///
/// A policy that puts data of several modes into one block (`agcr`) still does so only where the modes agree in every
/// property that belongs to a block: a block is erased to one depth, and moved when the shortest limit of its data
/// approaches.
///
/// Data is separated by its mode alone: `separate` cannot be combined, and `margin` and `clairvoyant` do not separate
/// data by its life.
///
/// The policies keep their parameters in their own tables, and their declared state side by side. Victim scores, read
/// modes and erase modes come from the first policy that answers for them; page moves are taken from the first policy
/// that requests one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Names of the policies; the first one takes precedence.
    pub members: Vec<String>,
}

impl Compound for Params {
    fn members(&self) -> &[String] {
        &self.members
    }
}

impl Default for Params {
    fn default() -> Self {
        Params { members: ["ofwar", "autoftl"].map(str::to_owned).to_vec() }
    }
}

/// Names of the properties of a write mode.
const PROPERTIES: [&str; 5] = ["retention limit", "level of erase", "read mode", "code", "bits per cell"];

/// Indices of the properties that all data of a block must have in common.
const OF_BLOCKS: [usize; 3] = [0, 1, 4];

/// Properties of a mode as numbers: two modes agree in a property if the numbers are equal.
type Key = [u8; PROPERTIES.len()];

fn keys(facts: &Facts) -> Vec<Key> {
    let numbered = |same: &dyn Fn(usize, usize) -> bool| -> Vec<u8> {
        (0..facts.write_modes.len()).map(|mode| (0..mode).find(|&other| same(mode, other)).unwrap_or(mode) as u8).collect()
    };
    let retention = numbered(&|a, b| facts.retention_by_wear[a] == facts.retention_by_wear[b]);
    let level = numbered(&|a, b| facts.write_levels[a] == facts.write_levels[b]);
    let read = numbered(&|a, b| facts.read_mode_of[a] == facts.read_mode_of[b]);
    let code = numbered(&|a, b| facts.codes[a] == facts.codes[b]);
    let bits = numbered(&|a, b| facts.block_units[a] == facts.block_units[b]);
    (0..facts.write_modes.len()).map(|mode| [retention[mode], level[mode], read[mode], code[mode], bits[mode]]).collect()
}

/// One of the combined policies.
struct One {
    name: String,
    policy: Box<dyn ModePolicy>,
    needs: Needs,
    /// Its share of the declared state.
    part: StateShare,
    /// For each mode of the table, the policy's own mode that corresponds to it.
    own: Vec<ModeId>,
}

struct Combine {
    members: Vec<One>,
    keys: Vec<Key>,
    /// All modes, the quickest first.
    quickest: Vec<ModeId>,
    /// Latest answers of the policies; kept to reuse the allocation.
    answers: Vec<ModeId>,
    /// Index of the policy that decides on each property.
    deciders: [Option<usize>; PROPERTIES.len()],
    base: ModeId,
    page_scope: bool,
    /// Index of the policy that chooses erase modes; `scorer`: of the one that scores victims.
    eraser: Option<usize>,
    scorer: Option<usize>,
    /// Index of the policy that may request page moves at any time, if there is exactly one.
    mover: Option<usize>,
}

/// Builds the policy; `None` if a name is not that of a policy.
pub fn build(all: &PolicyConfig, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
    Combine::of(all, facts).map(|combine| Box::new(combine) as Box<dyn ModePolicy>)
}

/// Returns the reasons why the policies cannot be combined on a drive, each with the field that it belongs to.
pub fn problems(all: &PolicyConfig, facts: &Facts) -> Vec<(&'static str, String)> {
    let names = &all.combine.members;
    let known = PolicyConfig::NAMES;
    let field = "policy.combine.members";
    if names.len() < 2 {
        return vec![(field, format!("{names:?}: expected two policies or more"))];
    }
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if name == "combine" || !known.contains(&name.as_str()) {
            found.push((field, format!("`{name}`: expected one of {}", known.join(", "))));
        } else if names[..index].contains(name) {
            found.push((field, format!("`{name}` is listed twice: expected distinct policies")));
        }
    }
    if !found.is_empty() {
        return found;
    }
    let Some(combine) = Combine::of(all, facts) else { return found };
    for one in combine.members.iter().filter(|one| one.needs.host_streams > 1 && one.policy.uses().len() == 1) {
        let complaint = format!("`{}` separates data within one write mode, which combined policies cannot do", one.name);
        found.push((field, format!("{complaint}: expected policies that choose modes")));
    }
    let bits: u32 = combine.members.iter().map(|one| u32::from(one.needs.bits_per_unit)).sum();
    if bits > 8 {
        found.push((field, format!("together they declare {bits} bits for each unit: expected at most 8")));
    }
    for wanted in combine.reachable() {
        if combine.find(&wanted).is_none() {
            found.push((field, format!("no write mode has the {}", combine.describe(&wanted, facts))));
        }
    }
    found
}

/// Returns the write modes that can occur where policies are combined.
pub fn modes(all: &PolicyConfig, facts: &Facts) -> Vec<ModeId> {
    let Some(combine) = Combine::of(all, facts) else { return Vec::new() };
    let mut modes: Vec<ModeId> = combine.reachable().iter().filter_map(|wanted| combine.find(wanted)).collect();
    modes.sort();
    modes.dedup();
    modes
}

impl Combine {
    fn of(all: &PolicyConfig, facts: &Facts) -> Option<Combine> {
        let keys = keys(facts);
        let (mut bit, mut byte) = (0, 0);
        let mut members = Vec::new();
        for name in all.combine.members.iter().filter(|name| *name != "combine") {
            let policy = all.member(name, facts)?;
            let needs = policy.needs();
            let uses = policy.uses();
            let near = |mode: &Key, own: &ModeId| mode.iter().zip(&keys[own.index()]).filter(|(a, b)| a == b).count();
            // The policy's mode that agrees most in the properties in which its modes differ.
            let differs: Vec<usize> = (0..PROPERTIES.len()).filter(|&at| differ(&uses, &keys, at)).collect();
            let own = keys.iter().map(|mode| {
                let common = |own: &ModeId| differs.iter().filter(|&&at| mode[at] == keys[own.index()][at]).count();
                *uses
                    .iter()
                    .max_by_key(|own| (common(own), near(mode, own), std::cmp::Reverse(**own)))
                    .expect("a policy uses a mode")
            });
            let one = One {
                name: name.clone(),
                part: StateShare::new((bit, needs.bits_per_unit), (byte, needs.bytes_per_block)),
                own: own.collect(),
                needs,
                policy,
            };
            bit += needs.bits_per_unit;
            byte += needs.bytes_per_block;
            members.push(one);
        }
        let base = members.first()?.policy.mode_of_old_data();
        let decider = |at: usize| members.iter().position(|one: &One| differ(&one.policy.uses(), &keys, at));
        let mut quickest: Vec<ModeId> = (0..keys.len()).map(|mode| ModeId(mode as u8)).collect();
        quickest.sort_by(|a, b| facts.program_scales[a.index()].total_cmp(&facts.program_scales[b.index()]));
        let deciders: [Option<usize>; PROPERTIES.len()] = std::array::from_fn(decider);
        // Erases and relocations of whole blocks need these properties to be the same throughout a block.
        let shares_blocks = OF_BLOCKS.iter().all(|&at| deciders[at].is_none());
        Some(Combine {
            deciders,
            page_scope: shares_blocks && members.iter().any(|one| one.needs.page_scope),
            eraser: members.iter().position(|one| one.needs.erases),
            scorer: members.iter().position(|one| one.needs.scores),
            mover: only(members.iter().map(|one| moves_at_once(&one.needs))),
            quickest,
            answers: Vec::with_capacity(members.len()),
            base,
            keys,
            members,
        })
    }

    /// Returns the quickest mode that has all properties.
    fn find(&self, wanted: &Key) -> Option<ModeId> {
        self.quickest.iter().copied().find(|mode| self.keys[mode.index()] == *wanted)
    }

    /// Combines one answer per policy into a mode: each property comes from the policy that decides on it.
    fn together(&self, answer: impl Fn(usize) -> ModeId) -> ModeId {
        let value = |at: usize| {
            let mode = self.deciders[at].map_or(self.base, &answer);
            self.keys[mode.index()][at]
        };
        self.find(&std::array::from_fn(value)).unwrap_or(self.base)
    }

    /// Returns all combinations of properties that can occur.
    fn reachable(&self) -> Vec<Key> {
        let mut all = vec![self.keys[self.base.index()]];
        for (at, decider) in self.deciders.iter().enumerate() {
            let Some(one) = decider.map(|index| &self.members[index]) else { continue };
            let mut values: Vec<u8> = one.policy.uses().iter().map(|mode| self.keys[mode.index()][at]).collect();
            values.sort_unstable();
            values.dedup();
            all = all.iter().flat_map(|key| values.iter().map(move |value| with(*key, at, *value))).collect();
        }
        // A policy decides on several properties with one mode: a combination that none of its modes has cannot occur.
        let comes_up = |key: &Key, index: usize, one: &One| {
            let decides = |at: usize| self.deciders[at] == Some(index);
            let agrees = |mode: &ModeId| (0..PROPERTIES.len()).all(|at| !decides(at) || self.keys[mode.index()][at] == key[at]);
            one.policy.uses().iter().any(agrees)
        };
        all.retain(|key| self.members.iter().enumerate().all(|(index, one)| comes_up(key, index, one)));
        all
    }

    fn describe(&self, wanted: &Key, facts: &Facts) -> String {
        let of = |at: usize| {
            let like = (0..self.keys.len()).find(|&mode| self.keys[mode][at] == wanted[at]).unwrap_or(0);
            format!("{} of `{}`", PROPERTIES[at], facts.write_modes[like])
        };
        let decided = (0..PROPERTIES.len()).filter(|&at| self.deciders[at].is_some());
        decided.map(of).collect::<Vec<_>>().join(" and the ")
    }

    /// Calls each policy that uses the call, with its own share of the declared state.
    fn each(&mut self, view: &mut View<'_>, wants: fn(&Needs) -> bool, mut call: impl FnMut(&mut One, &mut View<'_>)) {
        for one in self.members.iter_mut().filter(|one| wants(&one.needs)) {
            view.narrowed(one.part, |view| call(one, view));
        }
    }

    /// Returns the first answer of the policies that use the call, and the index of the policy that gave it.
    fn first<T>(
        &mut self,
        view: &mut View<'_>,
        wants: fn(&Needs) -> bool,
        mut call: impl FnMut(&mut One, &mut View<'_>) -> Option<T>,
    ) -> Option<(usize, T)> {
        let mut wanting = self.members.iter_mut().enumerate().filter(|(_, one)| wants(&one.needs));
        wanting.find_map(|(index, one)| view.narrowed(one.part, |view| call(one, view)).map(|answer| (index, answer)))
    }

    /// Calls all policies and combines their answers into one mode.
    fn agreed(&mut self, view: &mut View<'_>, mut call: impl FnMut(&mut One, &mut View<'_>) -> ModeId) -> ModeId {
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        answers.extend(self.members.iter_mut().map(|one| view.narrowed(one.part, |view| call(one, view))));
        let mode = self.together(|member| answers[member]);
        self.answers = answers;
        mode
    }

    /// Returns a page move with its mode completed: the requesting policy decides by its mode, the remaining properties
    /// are those of old data.
    fn moved(&self, index: usize, page_move: PageMove) -> PageMove {
        let answer =
            |member: usize| if member == index { page_move.mode } else { self.members[member].policy.mode_of_old_data() };
        PageMove { mode: self.together(answer), ..page_move }
    }
}

/// Returns true if a policy may request page moves at any time, not only while dies are idle.
fn moves_at_once(needs: &Needs) -> bool {
    needs.moves && !needs.idle_only
}

/// Returns the index of the only true value, if exactly one is true.
fn only(mut are: impl Iterator<Item = bool>) -> Option<usize> {
    let first = are.position(|is| is)?;
    if are.any(|is| is) { None } else { Some(first) }
}

/// Returns true if the modes differ in a property.
fn differ(modes: &[ModeId], keys: &[Key], at: usize) -> bool {
    modes.iter().any(|mode| keys[mode.index()][at] != keys[modes[0].index()][at])
}

fn with(mut key: Key, at: usize, value: u8) -> Key {
    key[at] = value;
    key
}

impl ModePolicy for Combine {
    fn needs(&self) -> Needs {
        let any = |want: fn(&Needs) -> bool| self.members.iter().any(|one| want(&one.needs));
        let bits: u32 = self.members.iter().map(|one| u32::from(one.needs.bits_per_unit)).sum();
        Needs {
            host_streams: if self.page_scope { 1 } else { self.keys.len() as u8 },
            bits_per_unit: if bits == 0 { 0 } else { bits.next_power_of_two().min(8) as u8 },
            bytes_per_block: self.members.iter().map(|one| one.needs.bytes_per_block).sum(),
            requests: any(|needs| needs.requests),
            placed: any(|needs| needs.placed),
            dropped: any(|needs| needs.dropped),
            blocks: any(|needs| needs.blocks),
            reads: any(|needs| needs.reads),
            reads_done: any(|needs| needs.reads_done),
            scores: any(|needs| needs.scores),
            moves: any(|needs| needs.moves),
            idle_only: !any(moves_at_once),
            idle_after: self
                .members
                .iter()
                .filter(|one| one.needs.moves)
                .map(|one| one.needs.idle_after)
                .min()
                .unwrap_or_default(),
            relocations_apart: true,
            // No member of the family splits relocated data.
            relocation_streams: 0,
            page_scope: self.page_scope,
            moving: any(|needs| needs.moving),
            erases: self.eraser.is_some(),
            ages: any(|needs| needs.ages),
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.members.iter_mut().try_for_each(|one| one.policy.state(archive))
    }

    fn check(&self, _is_alone: bool, view: &mut View<'_>) -> Archived {
        self.members.iter().try_for_each(|one| view.narrowed(one.part, |view| one.policy.check(false, view)))
    }

    fn is_saved_whole(&self) -> bool {
        self.members.iter().all(|one| one.policy.is_saved_whole())
    }

    fn wants_future(&self) -> bool {
        self.members.iter().any(|one| one.policy.wants_future())
    }

    fn set_future(&mut self, future: &Arc<Future>, start: SimTime) {
        self.members.iter_mut().for_each(|one| one.policy.set_future(future, start));
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let mode = self.agreed(view, |one, view| one.policy.write(dispatch, view).mode);
        WriteAnswer { mode, stream: if self.page_scope { 0 } else { mode.0 } }
    }

    fn requested(&mut self, view: &mut View<'_>) {
        self.each(view, |needs| needs.requests, |one, view| one.policy.requested(view));
    }

    fn collecting(&mut self, collection: &Collection, view: &mut View<'_>) {
        self.each(view, |_| true, |one, view| one.policy.collecting(collection, view));
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        self.agreed(view, |one, view| one.policy.relocate(moving, view))
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        // Copied field by field: a copy as a whole would load in wide words what has just been stored in narrow ones,
        // which stalls.
        let &Placed { lpn, ppn, mode, reason, stream, superseded } = placed;
        let with_own = |one: &One| Placed { lpn, ppn, mode: one.own[mode.index()], reason, stream, superseded };
        self.each(view, |needs| needs.placed, |one, view| one.policy.placed(&with_own(one), view));
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        self.each(view, |needs| needs.dropped, |one, view| one.policy.dropped(lpn, view));
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        let mut mode = None;
        self.each(view, |needs| needs.reads, |one, view| mode = mode.or(one.policy.read_issued(read, view).mode));
        ReadAnswer { mode }
    }

    fn read_done(&mut self, lpn: Lpn, ppn: Ppn, view: &mut View<'_>) {
        self.each(view, |needs| needs.reads_done, |one, view| one.policy.read_done(lpn, ppn, view));
    }

    fn score(&self, candidate: &Candidate, view: &mut View<'_>) -> f64 {
        let Some(one) = self.scorer.map(|index| &self.members[index]) else { return f64::from(candidate.invalid) };
        let own = Candidate { mode: one.own[candidate.mode.index()], ..*candidate };
        view.narrowed(one.part, |view| one.policy.score(&own, view))
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        let Some(one) = self.eraser.map(|index| &mut self.members[index]) else { return ModeId(0) };
        view.narrowed(one.part, |view| one.policy.erase(collection, view))
    }

    fn free_list(&mut self, level: u8, lists: &[u32], view: &mut View<'_>) -> u8 {
        let one = &mut self.members[self.eraser.unwrap_or(0)];
        view.narrowed(one.part, |view| one.policy.free_list(level, lists, view))
    }

    fn lazy_erase(&mut self, block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        let one = &mut self.members[self.eraser.unwrap_or(0)];
        view.narrowed(one.part, |view| one.policy.lazy_erase(block, level, view))
    }

    fn opened(&mut self, block: BlockId, view: &mut View<'_>) {
        self.each(view, |needs| needs.blocks, |one, view| one.policy.opened(block, view));
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        self.each(view, |needs| needs.blocks, |one, view| one.policy.erased(block, view));
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        let found = self.first(view, moves_at_once, |one, view| one.policy.urgent(view));
        found.map(|(index, page_move)| self.moved(index, page_move))
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        let found = self.first(view, moves_at_once, |one, view| one.policy.forced(view));
        found.map(|(index, page_move)| self.moved(index, page_move))
    }

    fn before_dispatch(&mut self, view: &mut View<'_>) -> BeforeDispatch {
        let Some(index) = self.mover else { return before_dispatch_default(self, view) };
        let one = &mut self.members[index];
        match view.narrowed(one.part, |view| one.policy.before_dispatch(view)) {
            BeforeDispatch::Urgent(page_move) => BeforeDispatch::Urgent(self.moved(index, page_move)),
            BeforeDispatch::Forced(page_move) => BeforeDispatch::Forced(self.moved(index, page_move)),
            nothing @ BeforeDispatch::Nothing(_) => nothing,
        }
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        let ripe = |one: &One| idle.die_for >= one.needs.idle_after;
        let offer = |one: &mut One, view: &mut View<'_>| if ripe(one) { one.policy.idle(idle, view) } else { None };
        let (index, found) = self.first(view, |needs| needs.moves, offer)?;
        Some(match found {
            Relocation::Page(page_move) => Relocation::Page(self.moved(index, page_move)),
            block @ Relocation::Block { .. } => block,
        })
    }

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        let found = self.first(view, moves_at_once, |one, view| one.policy.drain(view));
        found.map(|(index, page_move)| self.moved(index, page_move))
    }

    fn power_fails(&mut self, view: &mut View<'_>) -> Option<Backup> {
        let saves = |one: &mut One| view.narrowed(one.part, |view| one.policy.power_fails(view));
        self.members.iter_mut().filter_map(saves).reduce(Backup::and)
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        let asked = self.members.iter().filter(|one| moves_at_once(&one.needs));
        asked.filter_map(|one| view.narrowed(one.part, |view| one.policy.wake_at(view))).min()
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.each(view, |_| true, |one, view| one.policy.adopt(view));
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        self.members.iter().filter_map(|one| one.policy.move_after(one.own[mode.index()])).min()
    }

    fn uses(&self) -> Vec<ModeId> {
        self.reachable().iter().filter_map(|wanted| self.find(wanted)).collect()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.together(|member| self.members[member].policy.mode_of_old_data())
    }

    fn named_stats(&self) -> Vec<(String, f64)> {
        let mut all = Vec::new();
        for one in &self.members {
            all.extend(one.policy.named_stats().into_iter().map(|(name, value)| (format!("{}.{name}", one.name), value)));
        }
        all
    }
}
