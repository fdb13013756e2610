//! Family: translation layers, which turn host commands into flash operations.

mod by_host;
pub(crate) mod contract;
pub mod in_place;
pub(crate) mod mapping;
pub mod page_map;
pub mod pass_through;
pub mod replay;
mod section;
mod translator;
pub mod waf;
pub mod zns;

use crate::config::FtlSection;
use crate::medium::Medium;
use crate::parameters::Parameters;
use crate::policy::ModePolicy;
use crate::starting::Preconditioned;
use kit::{Ended, Geometry, HostCommand, Operation, Outbox, Problems, SimTime, Status, UNIT_BYTES};

pub use contract::{Physical, Pulled, Recordable, Report, Translation, TurnEnd, Zoned};
pub use mapping::Mapping;
pub use section::FtlConfig;
pub use translator::{LoadedLayer, Other, Translator};

/// Parts of a description from which a translation layer is made.
pub struct Parts<'a> {
    /// The `[ftl]` section.
    pub config: &'a FtlConfig,
    /// The mode policy.
    pub policy: Box<dyn ModePolicy>,
    /// Parameters from other sections.
    pub parameters: Parameters,
    /// The starting state, for a layer that is not preconditioned.
    pub starting: Preconditioned,
}

/// Facts of other sections of a description that the checks of a member need.
pub struct Setting<'a> {
    /// Geometry of the flash.
    pub geometry: &'a Geometry,
    /// Capacity of a write buffer that acknowledges writes, in mapping units; 0 without one.
    pub buffer_units: u64,
    /// True if the controller buffers writes or keeps data that was read.
    pub has_buffer: bool,
}

/// Returns the medium of a layer without a map, whose blocks have the wear and the age of the starting state.
fn medium(parameters: &Parameters, starting: &Preconditioned) -> std::io::Result<Medium> {
    let mut medium = Medium::new(parameters.geometry, parameters.facts.block_units.clone())?;
    if parameters.has_errors {
        medium.keep_integrity(false);
        medium.integrity.as_mut().expect("it was just made").only_mode = Some(parameters.facts.normal_modes().0);
    }
    medium.begin_worn(starting.pe_cycles, starting.age);
    Ok(medium)
}

/// Handles the end of an erase on the medium of such a layer.
fn erased(medium: &mut Medium, parameters: &Parameters, (ended, operation): (Ended, &Operation), now: SimTime, out: &mut Outbox) {
    let worn = medium.wear_thousandths(medium.geometry.block_of(operation.first));
    medium.erased(ended, operation, parameters.wear_of_erase(operation.mode, worn), now, out);
}

/// Returns the first unit of a command and the number of its units, on a drive whose logical block is the mapping unit.
fn whole_units(command: &HostCommand) -> Result<(u32, u32), Status> {
    let (offset, length) = (command.offset.0, command.length.0);
    if !(offset | length).is_multiple_of(UNIT_BYTES) {
        return Err(Status::InvalidField);
    }
    Ok(((offset / UNIT_BYTES) as u32, (length / UNIT_BYTES) as u32))
}

/// The contract of a member: it makes a layer, and says what the layer cannot do.
pub trait Kind {
    /// Returns the layer of a validated description, for an empty drive.
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator>;

    /// Returns what the layer lacks that a drive with a map of its data has; `None` if it has such a map. Policies,
    /// starting states, power failures and lives need one.
    fn lacks(&self) -> Option<&'static str>;

    /// Returns true if the layer knows the age and the wear of the data, on which errors of stored data depend.
    fn knows_age(&self) -> bool {
        true
    }

    /// Returns true if the layer plays the time of a processor, which takes the place of the cycles of its tasks.
    fn plays_processor(&self) -> bool {
        false
    }

    /// Returns the number of blocks that each die needs, where that does not follow from user data, free blocks and
    /// write frontiers.
    fn blocks_needed(&self) -> Option<u32> {
        None
    }

    /// Returns the layer of a mock-up of the drive, which has fewer and smaller blocks; `None` if it is the same.
    fn of_mock_up(&self, _whole: &FtlSection, _geometry: &Geometry, _user_units: u64) -> Option<TranslationConfig> {
        None
    }

    /// Returns the number of mapping units of the user capacity; `None` if it follows from the over-provisioning.
    fn user_units(&self, _geometry: &Geometry) -> Option<u64> {
        None
    }

    /// Returns true if the drive has zones: commands are checked before they are served, and the write buffer keeps the
    /// promises of a flush.
    fn is_zoned(&self) -> bool {
        false
    }

    /// Returns the mapping units from the beginning of a zone to that of the next, if the drive has zones.
    fn zone_units(&self, _geometry: &Geometry) -> Option<u64> {
        None
    }

    /// Returns the most mapping units that the layer can hold, where that is fewer than the flash has.
    fn max_units(&self, _geometry: &Geometry) -> Option<u64> {
        None
    }

    /// Returns true if writes go to the pages of their data, of which each is a mapping unit: pages may be smaller than
    /// 4 KiB.
    fn writes_in_place(&self) -> bool {
        false
    }

    /// Returns true if the description may choose the size of a mapping unit (`ftl.mapping_unit`).
    fn chooses_unit(&self) -> bool {
        false
    }

    /// Returns true if the data of a host read crosses the link as one transaction, once all of it has arrived.
    fn reassembles(&self) -> bool {
        false
    }

    /// Adds what the layer cannot do with these parts of the drive to `problems`.
    fn drive_problems(&self, _config: &FtlSection, _geometry: &Geometry, _problems: &mut Problems) {}

    /// Adds the inconsistencies of the parameters to `problems`.
    fn problems(&self, _setting: &Setting<'_>, _problems: &mut Problems) {}
}

kit::family! {
    /// The translation layer of the drive.
    TranslationConfig: () => dyn Kind {
        PageMap = page_map,
        Waf = waf,
        Replay = replay,
        Zns = zns,
        InPlace = in_place,
        PassThrough = pass_through,
    }
}

impl Default for TranslationConfig {
    fn default() -> Self {
        TranslationConfig::PageMap(Default::default())
    }
}
