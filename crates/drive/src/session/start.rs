//! The starting state of a drive.

use super::Session;
use super::custom::{self, CustomPolicy, Ended};
use super::files::Files;
use super::progress::ProgressMeter;
use super::request::{RunRequest, description_for};
use super::states::Claim;
use crate::description::{Description, PreconditionMethod, no_file};
use crate::drive::{Drive, Identity};
use ftl::policy::ModePolicy;
use ftl::{Ftl, Precondition, Preconditioned};
use kit::Problems;
use serde_json::{Value, json};

/// The state in which a drive begins.
#[derive(Clone)]
pub(crate) struct Start {
    /// Facts about the starting state, for the results.
    pub facts: Value,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// True if the drive was loaded from a file.
    pub is_loaded: bool,
    /// True if the contents of the saved drive follow in its file, and have not been read.
    pub has_contents: bool,
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

/// Note about the contents that a saved drive has, for whoever does not read them.
pub(crate) const UNREAD: &str = "it has contents, which are left out";

/// Returns the notes about a loaded drive.
fn notes_on(name: &str, has_contents: bool, notes: impl IntoIterator<Item = String>) -> Vec<String> {
    let unread = has_contents.then(|| UNREAD.to_owned());
    notes.into_iter().chain(unread).map(|note| format!("{name}: {note}")).collect()
}

/// Brings the drive to its starting state.
pub(crate) fn prepare(
    drive: &mut Drive,
    description: &Description,
    identity: &Identity,
    files: &mut Files<'_>,
    session: &Session,
    watch: &mut ProgressMeter<'_>,
) -> Result<Start, Problems> {
    let state = &description.state;
    if let (true, Some((name, from))) = (drive.keeps_metadata(), &mut files.load) {
        let resumed = drive.adopt_saved(identity, from).map_err(|complaint| Problems::one(name.clone(), complaint))?;
        let why = "the drive adopts the saved state and does not go on exactly: what recovery after a loss of power needs is kept \
                   from the start of a run on";
        let facts = json!({"method": "load", "file": name, "exact": false});
        let has_contents = resumed.has_contents;
        let notes = notes_on(name, has_contents, [why.to_owned()]);
        return Ok(Start { facts, notes, is_loaded: true, has_contents, is_exact: false });
    }
    if let Some((name, from)) = &mut files.load {
        let resumed = drive.load(identity, from).map_err(|complaint| Problems::one(name.clone(), complaint))?;
        let notes = notes_on(name, resumed.has_contents, resumed.notes);
        let facts = json!({"method": "load", "file": name, "exact": resumed.exact});
        let (has_contents, is_exact) = (resumed.has_contents, resumed.keeps_policy);
        return Ok(Start { facts, notes, is_loaded: true, has_contents, is_exact });
    }
    if drive.translator().map().is_none() {
        let facts = json!({
            "method": description.ftl.translation.name(),
            "age_of_old_data_ns": state.age.0,
            "pe_cycles": state.pe_cycles,
        });
        return Ok(Start { facts, notes: Vec::new(), is_loaded: false, has_contents: false, is_exact: false });
    }
    precondition(drive, description, session, watch)?;
    let old_mode = &description.flash.write_modes[drive.map().mode_of_old_data().index()].name;
    let passes = (state.precondition == PreconditionMethod::Random).then_some(state.overwrite_passes);
    let facts = json!({
        "method": state.precondition,
        "overwrite_passes": passes,
        "mapped_units": drive.map().mapped_units(),
        "free_blocks": drive.map().free_blocks(),
        "write_mode_of_old_data": old_mode,
        "age_of_old_data_ns": state.age.0,
        "pe_cycles": state.pe_cycles,
        "access_history": "none",
    });
    Ok(Start { facts, notes: Vec::new(), is_loaded: false, has_contents: false, is_exact: false })
}

/// Brings a new drive to the starting state of its description: copies the state if the session keeps it, reads it if
/// another process has made it, and otherwise computes it; a copy is kept.
fn precondition(
    drive: &mut Drive,
    description: &Description,
    session: &Session,
    watch: &mut ProgressMeter<'_>,
) -> Result<(), Problems> {
    let (how, ftl) = (description.state.preconditioned(), drive.ftl_mut());
    // An empty drive is made faster than a copy of it.
    if how.method == Precondition::None || (!session.states.are_kept() && session.shared.is_none()) {
        return compute(ftl, &how, session, watch);
    }
    let key = ftl.starting_key(&how);
    if let Some(state) = session.states.find(&key) {
        ftl.start_from(&state);
        return Ok(());
    }
    let unusable = |error: String| Problems::one("the starting states that processes share", error);
    match session.shared.as_ref().map_or(Ok(Claim::Alone), |shared| shared.claim(&key.hash())).map_err(unusable)? {
        Claim::Alone => compute(ftl, &how, session, watch)?,
        Claim::Saved(mut file) => ftl.load_start(&mut *file).map_err(unusable)?,
        Claim::Make(mut claim) => {
            compute(ftl, &how, session, watch)?;
            claim.keep(&mut |to| ftl.save_start(to));
        }
    }
    if session.states.are_kept() {
        session.states.keep(key, ftl);
    }
    Ok(())
}

/// Computes the starting state of a new drive.
fn compute(ftl: &mut Ftl, how: &Preconditioned, session: &Session, watch: &mut ProgressMeter<'_>) -> Result<(), Problems> {
    let done = ftl
        .precondition(how, &session.models, &mut |share| watch.tell("precondition", 0, 0, Some(share)))
        .map_err(|error| Problems::one("--precondition", format!("the scale model does not fit into memory: {error}")))?;
    if done { Ok(()) } else { Err(Problems::one("interrupted", "while the drive was brought to its starting state")) }
}

/// Returns a hash of everything that decides the starting state of a run, in hexadecimal digits: runs with equal hashes
/// begin with the same state, which a session then keeps for them. `None`: the drive is loaded from a file, or its
/// translation layer has no map of the data. Nothing is run.
pub fn starting_state_key(
    request: &RunRequest,
    files: &Files<'_>,
    custom: Option<CustomPolicy<'_>>,
) -> Result<Option<String>, Ended> {
    let description = description_for(request, custom.is_some(), files.named.unwrap_or(&no_file))?;
    if files.load.is_some() || description.ftl.translation.build(()).lacks().is_some() {
        return Ok(None);
    }
    let policy: Box<dyn ModePolicy> = match custom {
        Some(custom) => Box::new(custom::checked(request, &description, custom)?),
        None => description.policy.build(&description.policy_facts()).expect("validated: a policy of the list"),
    };
    Ok(Some(description.starting_key(&*policy, request.setup.seed).hash()))
}

/// Complaint about a drive whose tables do not fit into memory.
pub(crate) fn too_large(drive: &str, error: &std::io::Error) -> Problems {
    Problems::one(drive, format!("its tables do not fit into memory: {error}"))
}
