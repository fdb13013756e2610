//! Policies from outside the policy family.

use super::request::RunRequest;
use super::start::too_large;
use crate::description::Description;
use crate::drive::Drive;
use ftl::policy::{Facts, ModePolicy, PolicyConfig, checked::Checked};
use kit::{Problems, Rng};

/// Callback that makes a policy from the facts of the drive that it will run and a random stream of its own.
pub type MakePolicy<'a> = Box<dyn FnOnce(&Facts, Rng) -> Result<Box<dyn ModePolicy>, Problems> + Send + 'a>;

/// A policy from outside the policy family. Its answers are checked.
pub struct CustomPolicy<'a> {
    /// Name of the policy in results and in saved drives.
    pub name: String,
    /// Makes the policy, before time 0.
    pub make: MakePolicy<'a>,
}

/// Reason why a run has no results.
#[derive(Clone, Debug)]
pub enum Ended {
    /// An error in the input.
    Input(Problems),
    /// A failure of the policy, which comes from outside the policy family.
    Policy(Problems),
}

impl From<Problems> for Ended {
    fn from(problems: Problems) -> Ended {
        Ended::Input(problems)
    }
}

impl From<Ended> for Problems {
    fn from(ended: Ended) -> Problems {
        let (Ended::Input(problems) | Ended::Policy(problems)) = ended;
        problems
    }
}

/// Name of the random stream of a custom policy.
const POLICY_STREAM: &str = "policy";

/// Returns the problems of the name of a custom policy, which appears in results, their folders and saved drives.
fn name_problems(name: &str) -> Problems {
    let mut problems = Problems::default();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) && !name.starts_with('.');
    if !is_plain || name.is_empty() || name.len() > usize::from(u8::MAX) {
        problems.add("name", format!("`{name}`: expected 1 to 255 bytes of letters, digits, `_`, `-` and `.`, no dot first"));
    } else if PolicyConfig::NAMES.contains(&name) {
        problems.add("name", format!("`{name}`: is the name of a built-in policy: expected another"));
    }
    problems
}

/// Builds the drive of a description, under its own policy or a custom one.
pub(super) fn drive(request: &RunRequest, description: &Description, custom: Option<CustomPolicy<'_>>) -> Result<Drive, Ended> {
    let too_large = |error: std::io::Error| Ended::from(too_large(&request.drive.name, &error));
    let Some(custom) = custom else { return Drive::new(description, request.setup.seed).map_err(too_large) };
    let name = custom.name.clone();
    let policy = checked(request, description, custom)?;
    let ftl = description.build_ftl_with(&name, Box::new(policy), request.setup.seed).map_err(too_large)?;
    Ok(Drive::with_ftl(description, ftl, request.setup.seed))
}

/// Makes a custom policy for the drive of a description, with its answers checked.
pub(super) fn checked(request: &RunRequest, description: &Description, custom: CustomPolicy<'_>) -> Result<Checked, Ended> {
    let CustomPolicy { name, make } = custom;
    name_problems(&name).or(()).map_err(Ended::Policy)?;
    if let Some(problem) = description.lacks_map("--policy", &format!("the policy `{name}`")) {
        return Err(Ended::Input(problem.into()));
    }
    let facts = description.policy_facts();
    let made = make(&facts, Rng::stream(request.setup.seed, POLICY_STREAM)).map_err(Ended::Policy)?;
    let policy = Checked::new(made, &facts).map_err(Ended::Policy)?;
    description.background_problems(&policy).or(()).map_err(Ended::Policy)?;
    description.problems_under(&name, &policy).or(())?;
    Ok(policy)
}

/// Returns the failure of the policy or of the translation layer as an error, if it cannot go on.
pub(super) fn failure(drive: &Drive) -> Result<(), Ended> {
    drive.translator().failure().map_or(Ok(()), |problem| Err(Ended::Input(problem.into())))?;
    drive.translator().map().and_then(|map| map.policy().failure()).map_or(Ok(()), |problem| Err(Ended::Policy(problem.into())))
}
