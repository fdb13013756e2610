//! A map of mapping units, with relocation, wear levelling and mode policies.

pub(crate) mod audit;
pub(crate) mod collector;
pub(crate) mod endurance;
pub(crate) mod executed;
pub(crate) mod ftl;
pub(crate) mod metadata;
pub(crate) mod moves;
pub(crate) mod precondition;
pub(crate) mod record;
pub(crate) mod recovery;
pub(crate) mod retention;

use super::{Kind, Parts, Translator};
use ftl::Ftl;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maps each mapping unit, of 4 KiB unless `ftl.mapping_unit` says otherwise, to its place on flash. The map is held in
/// memory; collection, wear levelling, retention and the mode policy act on the data that it names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Builds the member.
pub fn build(_: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(Params {})
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        Ok(Translator::PageMap(Ftl::new(&parts.config.without_layer(), parts.policy, parts.parameters)?))
    }

    fn lacks(&self) -> Option<&'static str> {
        None
    }

    fn chooses_unit(&self) -> bool {
        true
    }
}
