//! Family: mode policies. A policy chooses the write, erase or read mode of an operation, and the data that is moved.
//!
//! The engine calls a policy when a host write is dispatched; when data has been placed (written or moved) or trimmed;
//! when a read is issued or done; when a victim block is to be chosen, has been taken, and is emptied program by
//! program; when a free block is needed, opened or erased; when a die has nothing else to do; and when a timer that the
//! policy asked for fires. Each call passes a [`View`] of the drive. [`Needs`] says which of the frequent calls the
//! policy uses, so that the other calls cost nothing.
//!
//! Binding is late: the mode of a host write is chosen when an idle die takes the write, never on arrival.
pub mod agcr;
pub mod all_fast;
pub mod autoftl;
pub mod autoftl_minus;
mod backup;
pub mod baseline;
pub mod bch_ldpc;
pub mod checked;
pub mod clairvoyant;
pub mod combine;
mod contract;
mod cost;
mod exchange;
mod facts;
mod fixed;
pub mod future;
pub mod hcw_lcr;
pub mod lcw_hcr;
pub mod margin;
pub mod ofwar;
mod points;
pub mod queue_driven;
mod registry;
pub mod rr_ecc;
pub mod rr_speed;
pub mod separate;
pub mod slc_cache;
pub mod traditional;
mod view;
pub mod wear_adaptive;

pub use crate::declared::{BlockBytes, UnitBits};
pub use backup::Backup;
pub use contract::{BeforeDispatch, HostCache, Interruption, ModePolicy, PageMove, ReadAnswer, Relocation, WriteAnswer};
use contract::{before_dispatch_default, nearest_free_level};
pub use exchange::{Candidate, Collection, Dispatch, Facts, Idle, Moving, Needs, Placed, UnitRead};
use registry::policy_family;
pub use registry::{Compound, Member};
pub use view::View;

fn default_kind() -> String {
    "baseline".to_owned()
}

policy_family! {
    baseline,
    separate,
    ofwar,
    all_fast,
    rr_speed,
    rr_ecc,
    bch_ldpc,
    agcr,
    queue_driven,
    traditional,
    hcw_lcr,
    lcw_hcr,
    autoftl,
    autoftl_minus,
    wear_adaptive,
    slc_cache,
    margin,
    clairvoyant;
    over all: combine,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_member_is_not_built() {
        let facts = Facts::example();
        assert!(PolicyConfig { kind: "basline".to_owned(), ..PolicyConfig::default() }.build(&facts).is_none());
        for name in PolicyConfig::NAMES {
            let policy = PolicyConfig { kind: (*name).to_owned(), ..PolicyConfig::default() }.build(&facts).expect("listed");
            assert!(policy.needs().host_streams >= 1, "{name} needs a frontier for host data");
            assert!(policy.mode_of_old_data().index() < 2, "{name}");
        }
    }

    #[test]
    fn every_statistic_of_a_member_is_defined() {
        let facts = Facts::example();
        for (name, terms) in PolicyConfig::statistics() {
            let policy = PolicyConfig::default().member(name, &facts).expect("listed");
            let stated: Vec<&str> = policy.stats().into_iter().map(|(name, _)| name).collect();
            let defined: Vec<&str> = terms.iter().map(|term| term.name).collect();
            assert_eq!(stated, defined, "{name}: statistics and their definitions");
        }
    }

    #[test]
    fn the_parameters_of_a_member_agree_with_what_it_asks_for() {
        let facts = Facts::example();
        for name in PolicyConfig::NAMES {
            let config = PolicyConfig { kind: (*name).to_owned(), ..PolicyConfig::default() };
            let policy = config.build(&facts).expect("listed");
            assert_eq!(config.needs_future().is_some(), policy.wants_future(), "{name}");
            let uses = policy.uses();
            let one_mode = uses.iter().all(|mode| *mode == uses[0]);
            assert!(config.chooses_modes() || one_mode, "{name} says that it has no choice: {uses:?}");
        }
    }
}
