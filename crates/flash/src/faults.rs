//! Faults of a drive: programs and erases that fail, bad blocks, dies that are lost, and the description of all others.
//!
//! The probability that an operation fails is that of the wear of its block, times a factor of its mode and, for a
//! program, of its page type. What the drive does then is the translation layer's part.

use crate::slow::SlowConfig;
use kit::{BlockId, DieId, Geometry, Nanos, Operation, OperationKind, Outcome, Problems, Rng, effective_wear_class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest number of values for parts of the rated endurance.
const MAX_CLASSES: usize = 64;

/// A probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Probability(#[schemars(range(min = 0.0, max = 1.0))] pub f64);

/// A factor of a probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Factor(#[schemars(range(min = 0.0, max = 1_000_000.0))] pub f64);

/// One probability for any wear of a block, or several for equal parts of the rated endurance, from fresh to worn;
/// beyond the rating the last one applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ByWear {
    /// One probability for any wear.
    One(Probability),
    /// One probability for each part of the rated endurance.
    Each(Vec<Probability>),
}

impl Default for ByWear {
    fn default() -> Self {
        ByWear::One(Probability(0.0))
    }
}

impl ByWear {
    /// Returns all values given, from fresh to worn.
    fn all(&self) -> &[Probability] {
        match self {
            ByWear::One(value) => std::slice::from_ref(value),
            ByWear::Each(values) => values,
        }
    }

    fn problems(&self, field: &str, problems: &mut Problems) {
        let count = self.all().len();
        if !(1..=MAX_CLASSES).contains(&count) {
            problems.add(field, format!("{count} values: expected 1 to {MAX_CLASSES}, for equal parts of the rated endurance"));
        }
    }
}

/// Errors of the host link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkErrorConfig {
    /// Probability that a packet on the link is damaged, and sent again.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub probability: f64,
    /// Time from the end of a damaged packet until it is sent again, in which the link carries nothing else.
    pub replay: Nanos,
}

impl Default for LinkErrorConfig {
    fn default() -> Self {
        LinkErrorConfig { probability: 0.0, replay: Nanos(1000) }
    }
}

/// The way in which the host deals with a controller that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// Time after which the host aborts a command, and after as much again resets the controller.
    pub timeout: Nanos,
    /// Time that a reset of the controller takes.
    pub reset_time: Nanos,
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        RecoveryConfig { timeout: Nanos(30 * Nanos::SECOND.0), reset_time: Nanos(Nanos::SECOND.0 / 2) }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The `[faults]` section: faults of the flash, of the host link and of the controller, and the blocks that are kept to
/// replace those that fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultsConfig {
    /// Probability that a program fails: one, or a list for equal parts of the rated endurance, from fresh to worn.
    #[serde(default)]
    pub program_failure: ByWear,
    /// Factors of `program_failure` for the write modes, in their order. Empty: 1 for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_write_mode: Vec<Factor>,
    /// Factors of `program_failure` for the page types (LSB first). Empty: 1 for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_page_type: Vec<Factor>,
    /// Probability that an erase fails: one, or a list for equal parts of the rated endurance, from fresh to worn.
    #[serde(default)]
    pub erase_failure: ByWear,
    /// Factors of `erase_failure` for the erase modes, in their order. Empty: 1 for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_erase_mode: Vec<Factor>,
    /// Probability that a block is bad from the factory. The seed of the run chooses the blocks.
    #[serde(default)]
    pub factory_bad: Probability,
    /// Blocks that are bad from the factory, by number, beside those that `factory_bad` chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_blocks: Vec<u32>,
    /// Blocks of each die that are kept to replace those that fail. They are a part of the over-provisioning.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_536))]
    pub spare_blocks: u32,
    /// Reads that take longer in the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_read: Option<SlowConfig>,
    /// Programs that take longer in the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_program: Option<SlowConfig>,
    /// Erases that take longer in the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_erase: Option<SlowConfig>,
    /// Errors of the host link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub link_error: LinkErrorConfig,
    /// The way in which the host deals with a controller that does not answer (`controller_stuck` in a script).
    #[serde(default, skip_serializing_if = "is_default")]
    pub recovery: RecoveryConfig,
}

impl FaultsConfig {
    /// Adds the inconsistencies among the fields for a flash with these numbers of write modes and erase modes.
    pub fn problems(&self, geometry: &Geometry, (write_modes, erase_modes): (usize, usize), problems: &mut Problems) {
        self.program_failure.problems("faults.program_failure", problems);
        self.erase_failure.problems("faults.erase_failure", problems);
        let types = geometry.shape.bits_per_cell as usize;
        let lists = [
            ("faults.by_write_mode", self.by_write_mode.len(), write_modes, "write modes"),
            ("faults.by_page_type", self.by_page_type.len(), types, "page types"),
            ("faults.by_erase_mode", self.by_erase_mode.len(), erase_modes, "erase modes"),
        ];
        for (field, given, expected, what) in lists {
            if given > 0 && given != expected {
                problems.add(field, format!("{given} factors: expected one for each of {expected} {what}, or none"));
            }
        }
        if let Some(block) = self.bad_blocks.iter().find(|block| **block >= geometry.block_count) {
            problems.add("faults.bad_blocks", format!("{block}: expected at most {}", geometry.block_count - 1));
        }
    }

    /// Returns the number of blocks of a die that may have to be left out: its spare blocks, or, if they are more,
    /// those that are bad from the factory, with eight standard deviations, up to all of them.
    pub fn max_left_out(&self, geometry: &Geometry) -> u64 {
        let mean = self.factory_bad.0 * f64::from(geometry.blocks_per_die);
        let drawn = if mean > 0.0 { (mean + 8.0 * mean.sqrt() + 4.0).ceil() as u64 } else { 0 };
        let of_die = |die: u32| self.bad_blocks.iter().filter(|block| geometry.die_of(BlockId(**block)).0 == die).count() as u64;
        let listed = (0..geometry.die_count).map(of_die).max().unwrap_or(0);
        u64::from(self.spare_blocks).max((drawn + listed).min(u64::from(geometry.blocks_per_die)))
    }

    /// Returns the blocks that are bad from the factory, in order.
    pub fn factory_bad(&self, geometry: &Geometry, seed: u64) -> Vec<BlockId> {
        let (mut rng, Probability(chance)) = (Rng::stream(seed, "faults.factory"), self.factory_bad);
        let mut is_drawn = || chance > 0.0 && rng.chance(chance);
        let is_bad = |block: &u32| is_drawn() | self.bad_blocks.contains(block);
        (0..geometry.block_count).filter(is_bad).map(BlockId).collect()
    }
}

/// An operation on a block that a script lets fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scripted {
    /// Kind of the operation: a read, a program or an erase.
    pub kind: OperationKind,
    /// The block.
    pub block: BlockId,
    /// The number of the operation among those of its kind on the block, from 1.
    pub number: u32,
}

/// Operations of one kind on a block for which a script has faults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Watched {
    done: u32,
    /// Numbers of those that fail.
    failing: Vec<u32>,
}

/// State of the faults that affects the operations to come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FaultState {
    rng: Rng,
    /// By block and kind.
    watched: BTreeMap<(u32, u8), Watched>,
    /// True for each die that is lost.
    lost: Vec<bool>,
}

/// Decides which operations fail.
pub struct Faults {
    /// Probability of a failure by wear class, mode and page type.
    programs: Table,
    erases: Table,
    rated_pe_cycles: u32,
    geometry: Geometry,
    state: FaultState,
    /// True for each kind of operation that may fail: reads, programs and erases.
    may_fail: [bool; 3],
}

/// Probabilities by wear class, then mode, then page type.
struct Table {
    values: Vec<f64>,
    classes: usize,
    modes: usize,
    types: usize,
}

impl Table {
    fn new(by_wear: &ByWear, by_mode: &[Factor], by_type: &[Factor]) -> Table {
        let factors = |given: &[Factor]| if given.is_empty() { vec![1.0] } else { given.iter().map(|one| one.0).collect() };
        let (modes, types) = (factors(by_mode), factors(by_type));
        let mut values = Vec::with_capacity(by_wear.all().len() * modes.len() * types.len());
        for of_wear in by_wear.all() {
            for mode in &modes {
                values.extend(types.iter().map(|page| of_wear.0 * mode * page));
            }
        }
        Table { values, classes: by_wear.all().len(), modes: modes.len(), types: types.len() }
    }

    fn is_zero(&self) -> bool {
        self.values.iter().all(|value| *value == 0.0)
    }

    fn at(&self, class: usize, operation: &Operation) -> f64 {
        let (mode, page) = (operation.mode.index().min(self.modes - 1), operation.page_type as usize % self.types);
        self.values[(class * self.modes + mode) * self.types + page]
    }
}

impl Faults {
    /// Creates the faults of a drive that a description gives probabilities for.
    pub fn new(config: &FaultsConfig, rated_pe_cycles: u32, geometry: &Geometry, seed: u64) -> Faults {
        let mut faults = Faults {
            programs: Table::new(&config.program_failure, &config.by_write_mode, &config.by_page_type),
            erases: Table::new(&config.erase_failure, &config.by_erase_mode, &[]),
            rated_pe_cycles,
            geometry: *geometry,
            state: FaultState {
                rng: Rng::stream(seed, "faults"),
                watched: BTreeMap::new(),
                lost: vec![false; geometry.die_count as usize],
            },
            may_fail: [false; 3],
        };
        faults.state_changed();
        faults
    }

    /// Takes account of a new state: of scripted operations, or of lost dies.
    fn state_changed(&mut self) {
        let has_exact = !self.state.watched.is_empty() || self.state.lost.contains(&true);
        self.may_fail = [has_exact, has_exact || !self.programs.is_zero(), has_exact || !self.erases.is_zero()];
    }

    /// Returns true if any operation may fail.
    pub fn may_occur(&self) -> bool {
        self.may_fail.contains(&true)
    }

    /// Has operations fail; those of each kind on a block are counted from now on.
    pub fn script(&mut self, scripted: &[Scripted]) {
        for one in scripted {
            self.state.watched.entry((one.block.0, kind_of(one.kind))).or_default().failing.push(one.number);
        }
        self.state_changed();
    }

    /// Returns the outcome of an operation that ends now, on a block whose effective wear is `wear_thousandths`. A read
    /// that fails has the outcome [`Outcome::ReadFailed`].
    pub fn outcome(&mut self, operation: &Operation, wear_thousandths: impl FnOnce() -> u32) -> Outcome {
        if !self.may_fail[usize::from(kind_of(operation.kind))] {
            return Outcome::Done;
        }
        let failed = match operation.kind {
            OperationKind::Read => Outcome::ReadFailed,
            OperationKind::Program | OperationKind::Copyback => Outcome::ProgramFailed,
            OperationKind::Erase | OperationKind::LazyErase => Outcome::EraseFailed,
        };
        let is_scripted = !self.state.watched.is_empty() && self.is_scripted(operation);
        let fails = is_scripted || self.state.lost[operation.die.index()] || self.is_drawn(operation, wear_thousandths());
        if fails { failed } else { Outcome::Done }
    }

    /// Counts an operation on a block for which the script has faults. Returns true if it is to fail.
    fn is_scripted(&mut self, operation: &Operation) -> bool {
        let block = self.geometry.block_of(operation.first);
        let Some(watched) = self.state.watched.get_mut(&(block.0, kind_of(operation.kind))) else { return false };
        watched.done += 1;
        watched.failing.contains(&watched.done)
    }

    /// Returns the number of scripted operations that have not come yet.
    pub fn pending(&self) -> usize {
        self.state.watched.values().map(|watched| watched.failing.iter().filter(|number| **number > watched.done).count()).sum()
    }

    fn is_drawn(&mut self, operation: &Operation, wear_thousandths: u32) -> bool {
        let table = match operation.kind {
            OperationKind::Read => return false,
            OperationKind::Program | OperationKind::Copyback => &self.programs,
            OperationKind::Erase | OperationKind::LazyErase => &self.erases,
        };
        if table.is_zero() {
            return false;
        }
        let class = effective_wear_class(wear_thousandths, self.rated_pe_cycles, table.classes);
        self.state.rng.chance(table.at(class, operation))
    }

    /// Loses a die: every operation on it fails from now on. Returns false if it was lost before.
    pub fn lose(&mut self, die: DieId) -> bool {
        let is_new = !std::mem::replace(&mut self.state.lost[die.index()], true);
        self.state_changed();
        is_new
    }

    /// Returns true if a die is lost.
    pub fn is_lost(&self, die: DieId) -> bool {
        self.state.lost[die.index()]
    }

    /// Returns the state, for saving.
    pub fn state(&self) -> &FaultState {
        &self.state
    }

    /// Goes on from a state of the same drive; `same_seed`: with its random numbers, too. Returns false if it is that
    /// of another drive.
    pub fn go_on(&mut self, state: FaultState, same_seed: bool) -> bool {
        let fits = state.lost.len() == self.state.lost.len();
        if fits {
            let rng = self.state.rng.clone();
            self.state = if same_seed { state } else { FaultState { rng, ..state } };
            self.state_changed();
        }
        fits
    }
}

/// Returns the number of a kind of operation among those that a script tells apart.
pub(crate) fn kind_of(kind: OperationKind) -> u8 {
    match kind {
        OperationKind::Read => 0,
        OperationKind::Program | OperationKind::Copyback => 1,
        OperationKind::Erase | OperationKind::LazyErase => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{ModeId, Ppn, Shape, UnitSize};

    fn geometry() -> Geometry {
        Geometry::new(Shape {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 2,
            planes_per_die: 1,
            planes_per_program: 1,
            pages_per_program: 1,
            superblock: 1,
            bits_per_cell: 3,
            page_bytes: kit::UNIT_BYTES,
            unit: UnitSize::default(),
            pages_per_block: 12,
            blocks_per_plane: 100,
        })
    }

    fn operation(kind: OperationKind, block: u32, mode: u8, page_type: u32) -> Operation {
        Operation { kind, first: Ppn(block * 12), mode: ModeId(mode), page_type, ..Operation::default() }
    }

    /// Every rate is within four standard deviations of its probability: by wear class, write mode and page type for
    /// programs, by wear class and erase mode for erases. Reads are never drawn.
    #[test]
    fn failures_have_their_probabilities() {
        let each = |values: &[f64]| ByWear::Each(values.iter().copied().map(Probability).collect());
        let factors = |values: &[f64]| values.iter().copied().map(Factor).collect();
        let config = FaultsConfig {
            program_failure: each(&[0.01, 0.05]),
            by_write_mode: factors(&[1.0, 2.0]),
            by_page_type: factors(&[1.0, 0.5, 3.0]),
            erase_failure: each(&[0.0, 0.1, 0.3]),
            by_erase_mode: factors(&[1.0, 0.5]),
            ..FaultsConfig::default()
        };
        let mut faults = Faults::new(&config, 100, &geometry(), 1);
        let mut check = |operation: &Operation, wear: u32, p: f64| {
            let count = 20_000;
            let failed = (0..count).filter(|_| faults.outcome(operation, || wear) != Outcome::Done).count() as f64;
            let (mean, deviation) = (p * f64::from(count), (p * (1.0 - p) * f64::from(count)).sqrt());
            assert!((failed - mean).abs() <= 4.0 * deviation, "{operation:?} at {wear}: {failed}, expected {mean}");
        };
        for (wear, p) in [(0, 0.01), (49_000, 0.01), (51_000, 0.05), (500_000, 0.05)] {
            for (mode, of_mode) in [(0, 1.0), (1, 2.0)] {
                for (page, of_page) in [(0, 1.0), (1, 0.5), (2, 3.0)] {
                    check(&operation(OperationKind::Program, 3, mode, page), wear, p * of_mode * of_page);
                }
            }
        }
        for (wear, p) in [(0, 0.0), (40_000, 0.1), (99_000, 0.3)] {
            for (mode, factor) in [(0, 1.0), (1, 0.5)] {
                check(&operation(OperationKind::Erase, 3, mode, 0), wear, p * factor);
            }
        }
        check(&operation(OperationKind::Read, 3, 0, 0), 0, 0.0);
    }

    /// The numbers of a script count operations of one kind on one block; a lost die fails in all.
    #[test]
    fn scripted_operations_fail_and_no_others() {
        let mut faults = Faults::new(&FaultsConfig::default(), 100, &geometry(), 1);
        let script = |kind, number| Scripted { kind, block: BlockId(7), number };
        faults.script(&[script(OperationKind::Program, 3), script(OperationKind::Program, 5), script(OperationKind::Read, 1)]);
        let mut outcomes = |kind, block| {
            let failed = (1..=6).filter(|_| faults.outcome(&operation(kind, block, 0, 0), || 0) != Outcome::Done);
            failed.collect::<Vec<u32>>()
        };
        assert_eq!(outcomes(OperationKind::Program, 6), [0; 0]);
        assert_eq!(outcomes(OperationKind::Erase, 7), [0; 0]);
        assert_eq!(outcomes(OperationKind::Program, 7), [3, 5]);
        assert_eq!(outcomes(OperationKind::Read, 7), [1]);
        assert!(faults.lose(DieId(0)) && !faults.lose(DieId(0)));
        faults.script(&[script(OperationKind::Read, 6), script(OperationKind::Read, 7), script(OperationKind::Erase, 1)]);
        assert_eq!(faults.pending(), 2, "the sixth read was before; erases count from now on");
        let outcome = |faults: &mut Faults, die| {
            faults.outcome(&Operation { die: DieId(die), ..operation(OperationKind::Erase, 50, 0, 0) }, || 0)
        };
        assert_eq!([0, 1].map(|die| outcome(&mut faults, die)), [Outcome::EraseFailed, Outcome::Done]);
    }

    /// About the share of blocks asked for is bad, other ones with another seed, and those listed in any case.
    #[test]
    fn factory_bad_blocks_have_their_share() {
        let config = FaultsConfig { factory_bad: Probability(0.1), bad_blocks: vec![5], ..FaultsConfig::default() };
        let bad: Vec<_> = (0..200).map(|seed| config.factory_bad(&geometry(), seed)).collect();
        assert!(bad.iter().all(|bad| bad.contains(&BlockId(5))) && bad[0] != bad[1]);
        let drawn: usize = bad.iter().map(|bad| bad.len() - 1).sum();
        let (mean, deviation) = (0.1 * 199.0 * 200.0, (0.1 * 0.9 * 199.0 * 200.0f64).sqrt());
        assert!((drawn as f64 - mean).abs() < 4.0 * deviation, "{drawn} of {mean}");
        assert!(
            bad.iter().all(|bad| bad.iter().filter(|block| block.0 < 100).count() as u64 <= config.max_left_out(&geometry()))
        );
    }
}
