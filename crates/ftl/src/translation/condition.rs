//! Condition of the data of every block, for layers without a map.

use crate::ftl::Parameters;
use crate::precondition::Preconditioned;
use kit::{BlockId, ModeId, Nanos, SimTime, Stored};

/// Condition of the data of every block.
pub(super) struct Condition {
    /// Instant of its last erase \[ns; negative: before the run\].
    since: Vec<i64>,
    erase_counts: Vec<u32>,
    wear_thousandths: Vec<u32>,
    reads: Vec<u32>,
}

impl Condition {
    pub fn new(parameters: &Parameters, starting: &Preconditioned) -> Condition {
        let blocks = parameters.geometry.block_count as usize;
        Condition {
            since: vec![-(starting.age.0 as i64); blocks],
            erase_counts: vec![starting.pe_cycles; blocks],
            wear_thousandths: vec![starting.pe_cycles.saturating_mul(1000); blocks],
            reads: vec![0; blocks],
        }
    }

    pub fn erased(&mut self, block: BlockId, parameters: &Parameters, now: SimTime) {
        let worn = &mut self.wear_thousandths[block.index()];
        *worn = worn.saturating_add(parameters.wear_of_erase(ModeId(0), *worn));
        self.erase_counts[block.index()] += 1;
        self.since[block.index()] = i64::try_from(now.0).unwrap_or(i64::MAX);
        self.reads[block.index()] = 0;
    }

    /// Returns the condition of the data of a block, which is read once more.
    pub fn read(&mut self, block: BlockId, mode: ModeId, now: SimTime) -> Stored {
        let stored = self.stored(block, mode, now);
        self.reads[block.index()] = stored.reads.saturating_add(1);
        stored
    }

    pub fn stored(&self, block: BlockId, mode: ModeId, now: SimTime) -> Stored {
        Stored {
            block,
            mode,
            wear_thousandths: self.wear_thousandths[block.index()],
            erase_count: self.erase_counts[block.index()],
            age: Nanos((now.0 as i64).saturating_sub(self.since[block.index()]).max(0) as u64),
            reads: self.reads[block.index()],
        }
    }
}
