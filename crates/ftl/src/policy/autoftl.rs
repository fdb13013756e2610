//! Dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

use super::{Collection, Dispatch, Facts, Member, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::{Archive, Archived, BlockId, DieId, ModeId, Nanos, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What it is, in one line.
pub const SUMMARY: &str =
    "slower writes, and gentler and slower erases, as the write buffer has room for them (autoFTL with DPES, 2014)";

/// What the depth of a foreground erase follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErasesBy {
    /// The buffer's utilisation.
    Utilisation,
    /// The same with the pages that the collection copies.
    WithCopies,
}

/// autoFTL on a chip with dynamic program and erase scaling (DPES), sections 4.2 to 4.6 of the paper. The utilisation u of the write buffer chooses a host write's mode: the first of
/// `bounds` that u is above, counted from 0, is the level that it may be programmed on (table 1). A collection sees u* = u + copies / buffer, and its
/// copies are written in the mode for u*. Its block is erased slowly if u' = u* + ceil(tBERS / tPROG of that mode) / buffer does not exceed 1, and at the level for u; in
/// the background always slowly, and at the level for the mean utilisation of the last `groups` groups of `group_writes` programs of host data (level 0 before the first).
///
/// Write mode i of the paper is the mode of the table whose `erase_level` is i, of several the one that keeps data longest; erase mode EVi the modes of `level` i, of which the one with the
/// longest `erase_scale` is slow. A table of fewer levels cuts the rest off. Each write mode has blocks of its own. All is decided when a
/// collection begins [A]; old data and its blocks are those of the first modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bounds of the buffer's utilisation, from the fastest write mode on, falling (table 1: 0.8, 0.6, 0.4, 0.2).
    pub bounds: Vec<f64>,
    /// Erases may be slow.
    pub slow_erase: bool,
    /// What the depth of a foreground erase follows.
    pub erases_by: ErasesBy,
    /// Programs of host data in a group, of which the mean utilisation is taken (section 4.4: 1,000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub group_writes: u32,
    /// Groups that are remembered (section 4.4: 100).
    #[schemars(range(min = 1, max = 100_000))]
    pub groups: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            bounds: vec![0.8, 0.6, 0.4, 0.2],
            slow_erase: true,
            erases_by: ErasesBy::Utilisation,
            group_writes: 1000,
            groups: 100,
        }
    }
}

impl Member for Params {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let falls = self.bounds.is_sorted_by(|a, b| a > b) && self.bounds.iter().all(|bound| (0.0..=1.0).contains(bound));
        let is_fine = falls && !self.bounds.is_empty();
        if is_fine { Vec::new() } else { vec![("bounds", format!("{:?}: expected falling shares between 0 and 1", self.bounds))] }
    }
}

/// The mean utilisation of past programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Past {
    sum: f64,
    writes: u32,
    means: VecDeque<f64>,
}

impl Past {
    fn note(&mut self, utilisation: f64, params: &Params) {
        self.sum += utilisation;
        self.writes += 1;
        if self.writes == params.group_writes {
            if self.means.len() as u32 == params.groups {
                self.means.pop_front();
            }
            self.means.push_back(self.sum / f64::from(self.writes));
            (self.sum, self.writes) = (0.0, 0);
        }
    }

    fn mean(&self) -> Option<f64> {
        (!self.means.is_empty()).then(|| self.means.iter().sum::<f64>() / self.means.len() as f64)
    }
}

/// What was decided when a collection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Choice {
    copies: ModeId,
    erase: ModeId,
}

struct AutoFtl {
    params: Params,
    /// The write mode of each level.
    write: Vec<ModeId>,
    /// The erase modes of each level: fast and slow.
    erase: Vec<[ModeId; 2]>,
    erase_scales: Vec<f64>,
    program_scales: Vec<f64>,
    /// tPROG and tBERS of the first modes.
    times: (Nanos, Nanos),
    units_per_program: u32,
    past: Past,
    choices: Vec<Choice>,
    slow: u64,
    fast: u64,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(AutoFtl::of(params, facts))
}

impl AutoFtl {
    fn of(params: &Params, facts: &Facts) -> AutoFtl {
        let levels = 0..=facts.write_levels.iter().copied().max().unwrap_or(0);
        let most = facts.block_units.iter().copied().max().unwrap_or(0);
        let keeps = |mode: usize| facts.retention_by_wear[mode].iter().min().map_or(u64::MAX, |limit| limit.0);
        let is_of = |mode: &usize, level: u8| facts.write_levels[*mode] == level && facts.block_units[*mode] == most;
        let of_level = |level: u8| (0..facts.write_levels.len()).filter(move |mode| is_of(mode, level));
        let write_at = |level: u8| of_level(level).max_by_key(|&mode| (keeps(mode), std::cmp::Reverse(mode)));
        // A level that no write mode needs is passed over for the next deeper one.
        let mut write = vec![ModeId(0)];
        let mut erase = vec![AutoFtl::erase_modes(0, facts)];
        for level in levels.skip(1) {
            write.push(write_at(level).map_or(write[write.len() - 1], |at| ModeId(at as u8)));
            let has = facts.erase_levels.contains(&level);
            erase.push(if has { AutoFtl::erase_modes(level, facts) } else { erase[erase.len() - 1] });
        }
        write[0] = ModeId(write_at(0).unwrap_or(0) as u8);
        AutoFtl {
            write,
            erase,
            erase_scales: facts.erase_scales.clone(),
            program_scales: facts.program_scales.clone(),
            times: (facts.program_time, facts.erase_time),
            units_per_program: facts.units_per_program,
            past: Past::default(),
            choices: vec![Choice::default(); facts.die_count as usize],
            slow: 0,
            fast: 0,
            params: params.clone(),
        }
    }

    /// The quickest and the slowest erase mode of a level.
    fn erase_modes(level: u8, facts: &Facts) -> [ModeId; 2] {
        let mut of_level: Vec<usize> = (0..facts.erase_levels.len()).filter(|&mode| facts.erase_levels[mode] == level).collect();
        // Of two that take as long, the one that wears less.
        let cost = |mode: usize| (facts.erase_scales[mode], facts.erase_wear[mode]);
        of_level.sort_by(|&a, &b| cost(a).partial_cmp(&cost(b)).expect("scales and wear are numbers"));
        let slowest =
            of_level.iter().copied().find(|&mode| facts.erase_scales[mode] == facts.erase_scales[of_level[of_level.len() - 1]]);
        [of_level[0], slowest.unwrap_or(of_level[0])].map(|mode| ModeId(mode as u8))
    }

    /// The level for a utilisation (table 1).
    fn level(&self, utilisation: f64) -> usize {
        let above = self.params.bounds.iter().position(|bound| utilisation > *bound).unwrap_or(self.params.bounds.len());
        above.min(self.write.len() - 1)
    }

    /// Whether the buffer would still not overflow while a block is erased slowly (equation 3, with u* for u as table 2, case 2 has it).
    fn may_be_slow(&self, with_copies: f64, write: ModeId, slow: ModeId, capacity: u64) -> bool {
        let program = self.times.0.0 as f64 * self.program_scales[write.index()];
        let erase = self.times.1.0 as f64 * self.erase_scales[slow.index()];
        let pages = (erase / program).ceil() * f64::from(self.units_per_program);
        with_copies + pages / (capacity as f64) <= 1.0
    }

    fn choose(&self, collection: &Collection, view: &View<'_>) -> Choice {
        let capacity = view.signals.buffer_capacity_pages.max(1);
        let now = view.buffer_utilisation();
        let with_copies = now + f64::from(collection.valid) / capacity as f64;
        // Where modes have retention limits (the paper's have none): what is moved for its limit is not written to be moved again soon.
        let level = if collection.reason == Reason::Reprogram { 0 } else { self.level(with_copies) };
        let copies = self.write[level];
        if collection.background {
            let level = self.past.mean().map_or(0, |mean| self.level(mean));
            return Choice { copies, erase: self.erase[level][usize::from(self.params.slow_erase)] };
        }
        let level = self.level(if self.params.erases_by == ErasesBy::Utilisation { now } else { with_copies });
        let [fast, slow] = self.erase[level];
        let is_slow = self.params.slow_erase && self.may_be_slow(with_copies, copies, slow, capacity);
        Choice { copies, erase: if is_slow { slow } else { fast } }
    }
}

impl ModePolicy for AutoFtl {
    fn needs(&self) -> Needs {
        Needs { host_streams: self.write.len() as u8, erases: true, ..Needs::default() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.past)?;
        archive.value(&mut self.choices)
    }

    fn write(&mut self, _: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let utilisation = view.buffer_utilisation();
        self.past.note(utilisation, &self.params);
        let level = self.level(utilisation);
        WriteAnswer { mode: self.write[level], stream: level as u8 }
    }

    fn collecting(&mut self, collection: &Collection, view: &mut View<'_>) {
        let die = view.store.geometry.die_of(collection.block);
        self.choices[die.index()] = self.choose(collection, view);
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        let die: DieId = view.store.geometry.die_of(moving.collection.block);
        self.choices[die.index()].copies
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        let mode = self.choices[view.store.geometry.die_of(collection.block).index()].erase;
        let is_slow = self.erase.iter().any(|[fast, slow]| mode == *slow && fast != slow);
        *(if is_slow { &mut self.slow } else { &mut self.fast }) += 1;
        mode
    }

    fn lazy_erase(&mut self, block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        // As slowly as it was erased before.
        let before = view.store.erase_mode(block);
        let was_slow = self.erase.iter().any(|[fast, slow]| before == *slow && fast != slow);
        self.erase[usize::from(level).min(self.erase.len() - 1)][usize::from(was_slow)]
    }

    fn uses(&self) -> Vec<ModeId> {
        self.write.clone()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.write[0]
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("slow_erases", self.slow as f64),
            ("fast_erases", self.fast as f64),
            ("mean_past_utilisation", self.past.mean().unwrap_or(0.0)),
            ("groups_remembered", self.past.means.len() as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five levels at the program times of the paper (`FACTS` 4.2), two speeds of erase.
    fn policy() -> AutoFtl {
        let facts = Facts {
            write_modes: (0..5).map(|level| format!("w{level}")).collect(),
            erase_modes: (0..10).map(|mode| format!("e{mode}")).collect(),
            program_scales: vec![1.0, 1.0 / 0.875, 1.0 / 0.75, 1.6, 2.0],
            write_levels: (0..5).collect(),
            erase_levels: (0..10).map(|mode| mode / 2).collect(),
            erase_wear: vec![1.0; 10],
            erase_scales: (0..10).map(|mode| if mode % 2 == 0 { 1.0 } else { 4.0 }).collect(),
            program_time: Nanos(1_300_000),
            erase_time: Nanos(5_000_000),
            units_per_program: 1,
            retention_by_wear: vec![Vec::new(); 5],
            block_units: vec![128; 5],
            ..Facts::example()
        };
        AutoFtl::of(&Params::default(), &facts)
    }

    #[test]
    fn table_1_chooses_the_write_mode() {
        let policy = policy();
        let levels = [0.0, 0.2, 0.2001, 0.4, 0.41, 0.6, 0.61, 0.8, 0.81, 1.0].map(|u| policy.level(u));
        assert_eq!(levels, [4, 4, 3, 3, 2, 2, 1, 1, 0, 0]);
    }

    /// Table 2: a buffer of 200 pages, u = 70 %; 30 copies, then 50.
    #[test]
    fn table_2_chooses_the_speed_of_the_erase() {
        let policy = policy();
        let (fast, slow) = (policy.erase[1][0], policy.erase[1][1]);
        let case = |copies: f64| {
            let with_copies = 0.7 + copies / 200.0;
            let write = policy.write[policy.level(with_copies)];
            (write, policy.may_be_slow(with_copies, write, slow, 200))
        };
        assert_eq!(case(30.0), (ModeId(0), true));
        assert_eq!(case(50.0), (ModeId(0), false));
        assert_ne!(fast, slow);
        // 8 % for the slow erase, 2 % for the fast one: with the fast one case 2 stays below 100 %.
        assert!(policy.may_be_slow(0.92, ModeId(0), slow, 200) && !policy.may_be_slow(0.9201, ModeId(0), slow, 200));
        assert!(policy.may_be_slow(0.98, ModeId(0), fast, 200) && !policy.may_be_slow(0.9801, ModeId(0), fast, 200));
    }

    #[test]
    fn the_past_is_a_mean_of_groups() {
        let params = Params { group_writes: 2, groups: 2, ..Params::default() };
        let mut past = Past::default();
        assert_eq!(past.mean(), None);
        for utilisation in [0.2, 0.4, 0.6, 0.8, 1.0] {
            past.note(utilisation, &params);
        }
        assert!((past.mean().expect("two groups are complete") - 0.5).abs() < 1e-12);
        past.note(1.0, &params);
        assert!((past.mean().expect("the oldest group has left") - 0.85).abs() < 1e-12);
    }
}
