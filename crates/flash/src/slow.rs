//! Operations that take longer than they should: outliers of the time in the array.
//!
//! Tail latencies of flash come in part from reads that the die itself repeats or from programs that need more pulses;
//! neither is modelled. An operation is slow with a probability, or because a script says so, and its time in the array
//! is multiplied.

use crate::faults::{FaultsConfig, Probability, kind_of};
use kit::{Geometry, Nanos, Operation, OperationKind, Owner, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Operations of a kind that are slow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowConfig {
    /// Probability that an operation is slow.
    pub probability: Probability,
    /// Factor of the time in the array of a slow operation.
    #[schemars(range(min = 1.0, max = 1_000_000.0))]
    pub factor: f64,
}

/// An operation on a block that a script makes slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptedSlow {
    /// Kind of the operation: a read, a program or an erase.
    pub kind: OperationKind,
    /// Number of the block.
    pub block: u32,
    /// The number of the operation among those of its kind on the block, from 1.
    pub number: u32,
    /// Factor of its time in the array.
    pub factor: f64,
}

/// Operations of one kind on a block that a script makes slow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Watched {
    begun: u32,
    /// Numbers of those that are slow, with their factors.
    slow: Vec<(u32, f64)>,
}

/// State of the slow operations that affects those to come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlowState {
    rng: Rng,
    /// By block and kind.
    watched: BTreeMap<(u32, u8), Watched>,
    /// Number of operations that were slow.
    count: u64,
}

/// Decides which operations are slow.
#[derive(Clone, Debug)]
pub struct SlowOperations {
    /// Rates by kind: reads, programs and erases.
    rates: [Option<SlowConfig>; 3],
    geometry: Geometry,
    state: SlowState,
    /// True if any operation may be slow.
    may_occur: bool,
}

impl SlowOperations {
    /// Creates the slow operations of a drive that a description gives probabilities for.
    pub fn new(config: &FaultsConfig, geometry: &Geometry, seed: u64) -> SlowOperations {
        let mut slow = SlowOperations {
            rates: [config.slow_read, config.slow_program, config.slow_erase],
            geometry: *geometry,
            state: SlowState { rng: Rng::stream(seed, "faults.slow"), watched: BTreeMap::new(), count: 0 },
            may_occur: false,
        };
        slow.state_changed();
        slow
    }

    /// Takes account of a new state of the scripted operations.
    fn state_changed(&mut self) {
        self.may_occur = self.rates.iter().any(Option::is_some) || !self.state.watched.is_empty();
    }

    /// Makes operations slow; those of each kind on a block are counted from now on.
    pub fn script(&mut self, scripted: &[ScriptedSlow]) {
        for one in scripted {
            let watched = self.state.watched.entry((one.block, kind_of(one.kind))).or_default();
            watched.slow.push((one.number, one.factor));
        }
        self.state_changed();
    }

    /// Returns true if any operation may be slow.
    pub fn may_occur(&self) -> bool {
        self.may_occur
    }

    /// Returns the number of operations that were slow.
    pub fn count(&self) -> u64 {
        self.state.count
    }

    /// Returns the number of scripted operations that have not come yet.
    pub fn pending(&self) -> usize {
        self.state.watched.values().map(|watched| watched.slow.iter().filter(|(number, _)| *number > watched.begun).count()).sum()
    }

    /// Returns the time in the array of an operation that begins there and normally takes `time`. Further attempts at a
    /// read, and reads of no data, are never slow.
    #[inline]
    pub fn time(&mut self, operation: &Operation, time: Nanos) -> Nanos {
        if self.may_occur { self.changed_time(operation, time) } else { time }
    }

    #[inline(never)]
    fn changed_time(&mut self, operation: &Operation, time: Nanos) -> Nanos {
        let reads_nothing = operation.kind == OperationKind::Read && !operation.reads_data();
        if matches!(operation.owner, Owner::Retry(_) | Owner::Scan) || reads_nothing {
            return time;
        }
        let drawn = self.rates[usize::from(kind_of(operation.kind))].filter(|slow| self.state.rng.chance(slow.probability.0));
        let Some(factor) = self.scripted(operation).or(drawn.map(|slow| slow.factor)) else { return time };
        self.state.count += 1;
        Nanos((time.0 as f64 * factor).round() as u64)
    }

    /// Counts an operation on a block for which the script has slow ones. Returns its factor if it is one of them.
    fn scripted(&mut self, operation: &Operation) -> Option<f64> {
        if self.state.watched.is_empty() {
            return None;
        }
        let block = self.geometry.block_of(operation.first);
        let watched = self.state.watched.get_mut(&(block.0, kind_of(operation.kind)))?;
        watched.begun += 1;
        watched.slow.iter().find(|(number, _)| *number == watched.begun).map(|(_, factor)| *factor)
    }

    /// Returns the state, for saving.
    pub fn state(&self) -> &SlowState {
        &self.state
    }

    /// Goes on from a state of the same drive; `same_seed`: with its random numbers, too.
    pub fn go_on(&mut self, state: SlowState, same_seed: bool) {
        let rng = self.state.rng.clone();
        self.state = if same_seed { state } else { SlowState { rng, ..state } };
        self.state_changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Ppn, Shape, UnitSize};

    fn slow_operations(config: &FaultsConfig) -> SlowOperations {
        let geometry = Geometry::new(Shape {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            planes_per_program: 1,
            pages_per_program: 1,
            superblock: 1,
            bits_per_cell: 3,
            page_bytes: kit::UNIT_BYTES,
            unit: UnitSize::default(),
            pages_per_block: 12,
            blocks_per_plane: 100,
        });
        SlowOperations::new(config, &geometry, 1)
    }

    fn operation(kind: OperationKind, block: u32) -> Operation {
        Operation { kind, first: Ppn(block * 12), ..Operation::default() }
    }

    /// Each kind has its own rate, within four standard deviations, and its own factor.
    #[test]
    fn slow_operations_have_their_probabilities() {
        let slow = |probability, factor| Some(SlowConfig { probability: Probability(probability), factor });
        let config =
            FaultsConfig { slow_read: slow(0.1, 12.0), slow_program: slow(0.02, 1.5), slow_erase: None, ..Default::default() };
        let mut operations = slow_operations(&config);
        let kinds = [(OperationKind::Read, 0.1, 12_000), (OperationKind::Copyback, 0.02, 1500), (OperationKind::Erase, 0.0, 0)];
        for (kind, p, expected) in kinds {
            let times: Vec<u64> = (0..20_000).map(|_| operations.time(&operation(kind, 3), Nanos(1000)).0).collect();
            let slow = times.iter().filter(|time| **time == expected).count();
            assert_eq!(slow + times.iter().filter(|time| **time == 1000).count(), times.len(), "{kind:?}");
            let (mean, deviation) = (p * 20_000.0, (p * (1.0 - p) * 20_000.0f64).sqrt());
            assert!((slow as f64 - mean).abs() <= 4.0 * deviation, "{kind:?}: {slow}, expected {mean}");
        }
    }

    /// The numbers of a script count operations of one kind on one block. Further attempts at a read are not counted.
    #[test]
    fn scripted_operations_are_slow_and_no_others() {
        let mut operations = slow_operations(&FaultsConfig::default());
        assert!(!operations.may_occur());
        let scripted = |kind, number, factor| ScriptedSlow { kind, block: 7, number, factor };
        operations.script(&[scripted(OperationKind::Read, 3, 12.0), scripted(OperationKind::Erase, 1, 2.5)]);
        assert!(operations.may_occur());
        let retry = Operation { owner: Owner::Retry(0), ..operation(OperationKind::Read, 7) };
        assert_eq!(operations.time(&retry, Nanos(10)), Nanos(10));
        let mut times = |kind, block| (0..4).map(|_| operations.time(&operation(kind, block), Nanos(10)).0).collect::<Vec<_>>();
        assert_eq!(times(OperationKind::Read, 6), [10; 4]);
        assert_eq!(times(OperationKind::Program, 7), [10; 4]);
        assert_eq!(times(OperationKind::Read, 7), [10, 10, 120, 10]);
        assert_eq!(times(OperationKind::Erase, 7), [25, 10, 10, 10]);
        assert_eq!((operations.count(), operations.pending()), (2, 0));
        operations.script(&[scripted(OperationKind::Read, 5, 2.0)]);
        assert_eq!(operations.pending(), 1);
    }
}
