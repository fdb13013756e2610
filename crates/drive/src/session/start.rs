//! The starting state of a drive.

use super::files::Files;
use super::progress::ProgressMeter;
use crate::description::{Description, PreconditionMethod};
use crate::drive::{Drive, Identity};
use ftl::ScaleModels;
use kit::Problems;
use serde_json::{Value, json};

/// The state in which a drive begins.
pub(crate) struct Start {
    /// Facts about the starting state, for the results.
    pub facts: Value,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// True if the drive was loaded from a file.
    pub is_loaded: bool,
    /// True if the policy's state was restored with the saved drive, so that the policy need not adopt the drive.
    is_exact: bool,
}

impl Start {
    /// Starts the drive: lets the policy adopt it unless the policy's state was restored, and wakes the dies of a
    /// loaded drive.
    pub fn begin(&self, drive: &mut Drive) {
        if self.is_exact {
            drive.restart_measurement();
        } else {
            drive.adopt();
        }
        if self.is_loaded {
            drive.go_on();
        }
    }
}

/// Brings the drive to its starting state.
pub(crate) fn prepare(
    drive: &mut Drive,
    description: &Description,
    identity: &Identity,
    files: &mut Files<'_>,
    models: &ScaleModels,
    watch: &mut ProgressMeter<'_>,
) -> Result<Start, Problems> {
    let state = &description.state;
    if let Some((name, from)) = &mut files.load {
        let resumed = drive.load(identity, from).map_err(|complaint| Problems::one(name.clone(), complaint))?;
        let notes = resumed.notes.iter().map(|note| format!("{name}: {note}")).collect();
        let facts = json!({"method": "load", "file": name, "exact": resumed.exact});
        return Ok(Start { facts, notes, is_loaded: true, is_exact: resumed.keeps_policy });
    }
    if drive.translator().page_map().is_none() {
        let facts = json!({
            "method": description.ftl.translation.name(),
            "age_of_old_data_ns": state.age.0,
            "pe_cycles": state.pe_cycles,
        });
        return Ok(Start { facts, notes: Vec::new(), is_loaded: false, is_exact: false });
    }
    let done = drive
        .ftl_mut()
        .precondition(&state.preconditioned(), models, &mut |share| watch.tell("precondition", 0, 0, Some(share)))
        .map_err(|error| Problems::one("--precondition", format!("the scale model does not fit into memory: {error}")))?;
    if !done {
        return Err(Problems::one("interrupted", "while the drive was brought to its starting state"));
    }
    let old_mode = &description.flash.write_modes[drive.ftl().mode_of_old_data().index()].name;
    let passes = (state.precondition == PreconditionMethod::Random).then_some(state.overwrite_passes);
    let facts = json!({
        "method": state.precondition,
        "overwrite_passes": passes,
        "mapped_units": drive.ftl().mapped_units(),
        "free_blocks": drive.ftl().free_blocks(),
        "write_mode_of_old_data": old_mode,
        "age_of_old_data_ns": state.age.0,
        "pe_cycles": state.pe_cycles,
        "access_history": "none",
    });
    Ok(Start { facts, notes: Vec::new(), is_loaded: false, is_exact: false })
}

/// Complaint about a drive whose tables do not fit into memory.
pub(crate) fn too_large(drive: &str, error: &std::io::Error) -> Problems {
    Problems::one(drive, format!("its tables do not fit into memory: {error}"))
}
