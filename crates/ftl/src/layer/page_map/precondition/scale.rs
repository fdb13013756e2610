//! Scale models of the steady state: one die with fewer blocks, aged by random overwrites.

use crate::config::FtlSection;
use crate::layer::page_map::ftl::Ftl;
use crate::parameters::Parameters;
use crate::policy::baseline;
use kit::{DieId, Rng};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of times that the scale model is overwritten.
const MODEL_PASSES: u64 = 4;
/// Writes between two questions whether to go on: some hundredths of a second.
const ASK_EVERY: u64 = 1 << 17;
/// Maximum number of aged scale models that are remembered, some kilobytes each.
const MODELS_KEPT: usize = 256;

/// Returns valid counts for `blocks` blocks with the profile of `model` (oldest block first) and the sum `total`.
pub(super) fn scaled_counts(model: &[u16], blocks: usize, total: u64, units_per_block: u32) -> Vec<u16> {
    let mut counts: Vec<u16> = (0..blocks).map(|index| model[index * model.len() / blocks]).collect();
    let mut sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    // The model's mean differs by rounding: the difference is spread evenly, one unit at a time.
    let mut index = 0;
    // A stride that shares no divisor with the number of blocks reaches every block.
    let stride = ((blocks / 2).max(1) | 1..)
        .find(|stride| gcd(*stride, blocks) == 1)
        .expect("one more than the blocks shares no divisor with them");
    while sum != total {
        let count = &mut counts[index % blocks];
        if sum < total && u32::from(*count) < units_per_block {
            *count += 1;
            sum += 1;
        } else if sum > total && *count > 0 {
            *count -= 1;
            sum -= 1;
        }
        index += stride;
    }
    counts
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Aged scale models, shared between runs: a drive that is run again under another policy or load ages its model only
/// once.
#[derive(Debug, Default)]
pub struct ScaleModels {
    /// Valid counts of a model's blocks, oldest block first. The key is the text of everything that determines the
    /// model.
    aged: Mutex<BTreeMap<String, Arc<[u16]>>>,
}

impl ScaleModels {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<[u16]>>> {
        self.aged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of models known.
    pub fn len(&self) -> usize {
        self.known().len()
    }

    /// Returns true if no model is known yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the valid counts of a scale model's blocks after random overwrites, oldest block first. Ages the model
    /// if it is not known; `None` if `go_on` returns false meanwhile.
    pub(super) fn aged(
        &self,
        config: &FtlSection,
        parameters: Parameters,
        go_on: &mut dyn FnMut() -> bool,
    ) -> std::io::Result<Option<Arc<[u16]>>> {
        let key = format!("{config:?} {parameters:?}");
        if let Some(counts) = self.known().get(&key) {
            return Ok(Some(Arc::clone(counts)));
        }
        let (seed, user_units) = (parameters.seed, parameters.facts.user_units);
        let mut model = Ftl::new(config, baseline::build(&baseline::Params::default(), &parameters.facts), parameters)?;
        let mut rng = Rng::stream(seed, "precondition.model");
        for step in 0..user_units * (1 + MODEL_PASSES) {
            if step < user_units {
                model.write_new_counted(DieId(0));
            } else {
                model.write_counted(DieId(0), &mut rng);
            }
            if step % ASK_EVERY == 0 && !go_on() {
                return Ok(None);
            }
        }
        let counts: Arc<[u16]> =
            model.state.store.medium.closed_blocks(DieId(0)).map(|block| model.state.store.medium.block(block).valid).collect();
        let mut known = self.known();
        if known.len() == MODELS_KEPT {
            known.clear();
        }
        known.insert(key, Arc::clone(&counts));
        Ok(Some(counts))
    }
}
