//! Dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

use super::{Collection, Dispatch, Facts, Member, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::archive::require;
use kit::{Archive, Archived, BlockId, DieId, ModeId, Nanos, Reason, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "slower writes and shallower, slower erases while the write buffer is not full (autoFTL with DPES, 2014)";

/// Quantity that sets the depth of a foreground erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErasesBy {
    /// Utilisation of the write buffer.
    Utilisation,
    /// Utilisation of the write buffer, plus the pages that the collection copies.
    WithCopies,
}

/// Event at which the utilisation of the write buffer is sampled for the mean of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampledPer {
    /// Each write request of the host, when all of it has come.
    Request,
    /// Each program of host data.
    Program,
}

/// Write mode whose program time is the unit of an erase's time in the buffer (equation 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErasesIn {
    /// That of host writes at the utilisation of the buffer.
    HostMode,
    /// That of the copies.
    CopyMode,
}

/// autoFTL on a chip with dynamic program and erase scaling (DPES), sections 4.2 to 4.6 of the paper. The utilisation u
/// of the write buffer sets the level of a host write: the index, counted from 0, of the first of `bounds` that u
/// exceeds (table 1). The write uses the write mode of that level. For a collection, u* = u + copies / buffer sets the
/// level of the copied pages in the same way. Its block is erased at the level for u (`erases_by`), and slowly if u' =
/// u* + ceil(tBERS / tPROG) / buffer does not exceed 1, with the tPROG of the mode of host writes (`erases_in`). A
/// background collection always erases slowly, at the level for the mean utilisation of the last `groups` groups of
/// `group_writes` write requests (`sampled_per`; level 0 before the first group is complete).
///
/// Write mode i of the paper is the write mode of the table whose `erase_level` is i and which uses all bits of the
/// cell; of several, the one that keeps data longest. Erase mode EVi stands for the erase modes of `level` i: the one
/// with the shortest `erase_scale` is the fast erase, the one with the longest the slow erase. In a table with fewer
/// levels, the shallowest stands for all shallower levels of the paper. Each level has blocks of its own. Modes of
/// copies and erases are fixed when a collection begins [A]. Data older than the run counts as written in the mode of
/// level 0, to blocks erased in the first erase mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bounds of the buffer's utilisation in falling order, beginning with the bound of the fastest write mode (table
    /// 1: 0.8, 0.6, 0.4, 0.2).
    pub bounds: Vec<f64>,
    /// Allows slow erases.
    pub slow_erase: bool,
    /// Quantity that sets the depth of a foreground erase.
    pub erases_by: ErasesBy,
    /// Write mode whose program time is the unit of an erase's time (section 4.5: the current write mode).
    pub erases_in: ErasesIn,
    /// Event at which the past utilisation is sampled (section 4.4: each write request).
    pub sampled_per: SampledPer,
    /// Samples in a group whose mean utilisation is taken (section 4.4: 1,000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub group_writes: u32,
    /// Number of groups that are remembered (section 4.4: 100).
    #[schemars(range(min = 1, max = 100_000))]
    pub groups: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            bounds: vec![0.8, 0.6, 0.4, 0.2],
            slow_erase: true,
            erases_by: ErasesBy::Utilisation,
            erases_in: ErasesIn::HostMode,
            sampled_per: SampledPer::Request,
            group_writes: 1000,
            groups: 100,
        }
    }
}

impl Member for Params {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let falls = self.bounds.is_sorted_by(|a, b| a > b) && self.bounds.iter().all(|bound| (0.0..=1.0).contains(bound));
        let is_fine = falls && !self.bounds.is_empty();
        if is_fine {
            Vec::new()
        } else {
            vec![("bounds", format!("{:?}: expected shares between 0 and 1 in falling order", self.bounds))]
        }
    }

    fn statistics() -> Vec<Term> {
        vec![
            Term::new("slow_erases", "count", "Slow erases."),
            Term::new("fast_erases", "count", "Fast erases."),
            Term::new(
                "mean_past_utilisation",
                "share",
                "Mean utilisation of the write buffer in the groups of samples that are remembered; 0 before the first group.",
            ),
            Term::new("groups_remembered", "count", "Groups of samples that are remembered at the end."),
        ]
    }
}

/// Mean utilisation of the write buffer in the past.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct UtilisationHistory {
    sum: f64,
    writes: u32,
    means: VecDeque<f64>,
}

impl UtilisationHistory {
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

/// Modes chosen when a collection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Choice {
    copies: ModeId,
    erase: ModeId,
}

struct AutoFtl {
    params: Params,
    /// Write mode of each level.
    write: Vec<ModeId>,
    /// Erase modes of each level: fast and slow.
    erase: Vec<[ModeId; 2]>,
    erase_scales: Vec<f64>,
    program_scales: Vec<f64>,
    /// tPROG and tBERS of the first modes of the tables.
    times: (Nanos, Nanos),
    units_per_program: u32,
    past: UtilisationHistory,
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
        // A level without a write mode of its own takes that of the next deeper level, and likewise for erase modes.
        let mut write = vec![ModeId(write_at(0).unwrap_or(0) as u8)];
        let mut erase = vec![AutoFtl::erase_modes(0, facts)];
        for level in levels.skip(1) {
            write.push(write_at(level).map_or(write[write.len() - 1], |at| ModeId(at as u8)));
            let has = facts.erase_levels.contains(&level);
            erase.push(if has { AutoFtl::erase_modes(level, facts) } else { erase[erase.len() - 1] });
        }
        AutoFtl {
            write,
            erase,
            erase_scales: facts.erase_scales.clone(),
            program_scales: facts.program_scales.clone(),
            times: (facts.program_time, facts.erase_time),
            units_per_program: facts.units_per_program,
            past: UtilisationHistory::default(),
            choices: vec![Choice::default(); facts.die_count as usize],
            slow: 0,
            fast: 0,
            params: params.clone(),
        }
    }

    /// Returns the quickest and the slowest erase mode of a level.
    fn erase_modes(level: u8, facts: &Facts) -> [ModeId; 2] {
        let mut of_level: Vec<usize> = (0..facts.erase_levels.len()).filter(|&mode| facts.erase_levels[mode] == level).collect();
        // Of two erase modes that take equally long, the one with less wear goes first.
        let cost = |mode: usize| (facts.erase_scales[mode], facts.erase_wear[mode]);
        of_level.sort_by(|&a, &b| cost(a).partial_cmp(&cost(b)).expect("scales and wear are numbers"));
        let slowest =
            of_level.iter().copied().find(|&mode| facts.erase_scales[mode] == facts.erase_scales[of_level[of_level.len() - 1]]);
        [of_level[0], slowest.unwrap_or(of_level[0])].map(|mode| ModeId(mode as u8))
    }

    /// Returns the level for a utilisation (table 1).
    fn level(&self, utilisation: f64) -> usize {
        let above = self.params.bounds.iter().position(|bound| utilisation > *bound).unwrap_or(self.params.bounds.len());
        above.min(self.write.len() - 1)
    }

    /// Returns true if the buffer would not overflow during a slow erase (equation 3, with u* in place of u, as in case
    /// 2 of table 2).
    fn may_be_slow(&self, with_copies: f64, write: ModeId, slow: ModeId, capacity: u64) -> bool {
        let program = self.times.0.0 as f64 * self.program_scales[write.index()];
        let erase = self.times.1.0 as f64 * self.erase_scales[slow.index()];
        let pages = (erase / program).ceil() * f64::from(self.units_per_program);
        with_copies + pages / (capacity as f64) <= 1.0
    }

    /// Returns the write mode in whose program times an erase counts.
    fn unit_of_erases(&self, utilisation: f64, copies: ModeId) -> ModeId {
        match self.params.erases_in {
            ErasesIn::HostMode => self.write[self.level(utilisation)],
            ErasesIn::CopyMode => copies,
        }
    }

    fn choose(&self, collection: &Collection, view: &View<'_>) -> Choice {
        let capacity = view.signals.buffer_capacity_pages.max(1);
        let now = view.buffer_utilisation();
        let with_copies = now + f64::from(collection.valid) / capacity as f64;
        // Data moved for its retention limit is written at level 0, so that it does not soon have to be moved again.
        // The paper's modes have no retention limits.
        let level = if collection.reason == Reason::Reprogram { 0 } else { self.level(with_copies) };
        let copies = self.write[level];
        if collection.background {
            let level = self.past.mean().map_or(0, |mean| self.level(mean));
            return Choice { copies, erase: self.erase[level][usize::from(self.params.slow_erase)] };
        }
        let level = self.level(if self.params.erases_by == ErasesBy::Utilisation { now } else { with_copies });
        let [fast, slow] = self.erase[level];
        let is_slow = self.params.slow_erase && self.may_be_slow(with_copies, self.unit_of_erases(now, copies), slow, capacity);
        Choice { copies, erase: if is_slow { slow } else { fast } }
    }
}

impl ModePolicy for AutoFtl {
    fn needs(&self) -> Needs {
        let requests = self.params.sampled_per == SampledPer::Request;
        Needs { host_streams: self.write.len() as u8, erases: true, requests, ..Needs::default() }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.value(&mut self.past)?;
        archive.value(&mut self.choices)
    }

    fn check(&self, _is_alone: bool, view: &mut View<'_>) -> Archived {
        let UtilisationHistory { sum, writes, means } = &self.past;
        let fits = *writes < self.params.group_writes
            && means.len() <= self.params.groups as usize
            && [sum].into_iter().chain(means).all(|value| (0.0..=1e18).contains(value));
        require(fits, || format!("the past of the buffer is {writes} writes, {sum} in all, and {means:?}"))?;
        let (modes, erases) = (self.program_scales.len(), self.erase_scales.len());
        let known = |choice: &Choice| choice.copies.index() < modes && choice.erase.index() < erases;
        let fits = self.choices.len() == view.medium.geometry.die_count as usize && self.choices.iter().all(known);
        require(fits, || format!("its policy has chosen {:?}, of {modes} write modes and {erases} erase modes", self.choices))
    }

    fn write(&mut self, _: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let utilisation = view.buffer_utilisation();
        if self.params.sampled_per == SampledPer::Program {
            self.past.note(utilisation, &self.params);
        }
        let level = self.level(utilisation);
        WriteAnswer { mode: self.write[level], stream: level as u8 }
    }

    fn requested(&mut self, view: &mut View<'_>) {
        self.past.note(view.buffer_utilisation(), &self.params);
    }

    fn collecting(&mut self, collection: &Collection, view: &mut View<'_>) {
        let die = view.medium.geometry.die_of(collection.block);
        self.choices[die.index()] = self.choose(collection, view);
    }

    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId {
        let die: DieId = view.medium.geometry.die_of(moving.collection.block);
        self.choices[die.index()].copies
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        let mode = self.choices[view.medium.geometry.die_of(collection.block).index()].erase;
        let is_slow = self.erase.iter().any(|[fast, slow]| mode == *slow && fast != slow);
        *(if is_slow { &mut self.slow } else { &mut self.fast }) += 1;
        mode
    }

    fn lazy_erase(&mut self, block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        // At the same speed as the block's last erase.
        let before = view.medium.erase_mode(block);
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

    /// Returns a policy with five levels at the program times of the paper (`FACTS` 4.2), and erases of two speeds.
    fn policy() -> AutoFtl {
        AutoFtl::of(&Params::default(), &policy_facts())
    }

    fn policy_facts() -> Facts {
        Facts {
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
        }
    }

    #[test]
    fn table_1_chooses_the_write_mode() {
        let policy = policy();
        let levels = [0.0, 0.2, 0.2001, 0.4, 0.41, 0.6, 0.61, 0.8, 0.81, 1.0].map(|u| policy.level(u));
        assert_eq!(levels, [4, 4, 3, 3, 2, 2, 1, 1, 0, 0]);
    }

    /// Level 1 has no mode of its own: it takes that of level 0, and not the first mode, which has fewer bits per cell.
    #[test]
    fn a_level_without_a_mode_takes_that_of_the_level_before() {
        let facts = Facts {
            write_modes: ["slc", "normal", "gentle"].map(str::to_owned).to_vec(),
            write_levels: vec![0, 0, 2],
            block_units: vec![64, 128, 128],
            retention_by_wear: vec![Vec::new(); 3],
            ..policy_facts()
        };
        assert_eq!(AutoFtl::of(&Params::default(), &facts).write, [1, 1, 2].map(ModeId));
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
        // The slow erase fills 8 % of the buffer, the fast one 2 %: with the fast erase, case 2 stays below 100 %.
        assert!(policy.may_be_slow(0.92, ModeId(0), slow, 200) && !policy.may_be_slow(0.9201, ModeId(0), slow, 200));
        assert!(policy.may_be_slow(0.98, ModeId(0), fast, 200) && !policy.may_be_slow(0.9801, ModeId(0), fast, 200));
    }

    /// With u = 70 % host writes are in mode 1, copies that raise it above 80 % in mode 0.
    #[test]
    fn an_erase_counts_in_programs_of_the_current_write_mode() {
        let mut policy = policy();
        assert_eq!(policy.unit_of_erases(0.7, ModeId(0)), ModeId(1));
        policy.params.erases_in = ErasesIn::CopyMode;
        assert_eq!(policy.unit_of_erases(0.7, ModeId(0)), ModeId(0));
    }

    #[test]
    fn the_past_is_a_mean_of_groups() {
        let params = Params { group_writes: 2, groups: 2, ..Params::default() };
        let mut past = UtilisationHistory::default();
        assert_eq!(past.mean(), None);
        for utilisation in [0.2, 0.4, 0.6, 0.8, 1.0] {
            past.note(utilisation, &params);
        }
        assert!((past.mean().expect("two groups are complete") - 0.5).abs() < 1e-12);
        past.note(1.0, &params);
        assert!((past.mean().expect("the oldest group has left") - 0.85).abs() < 1e-12);
    }
}
