//! The request of a run, and the description that it specifies.

use crate::description::{Description, File, PreconditionMethod};
use crate::options::{RunOptions, Setup};
use ftl::PolicyConfig;
use kit::{Power, Problem, Problems};
use serde::Deserialize;
use workload::Options;

/// The text of a drive's description, and the name that messages give it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveText {
    /// Name of a preset or path of a file.
    pub name: String,
    /// Text of the description.
    pub text: String,
}

impl DriveText {
    /// Creates the description called `name`.
    pub fn new(name: &str, text: &str) -> DriveText {
        DriveText { name: name.to_owned(), text: text.to_owned() }
    }
}

/// A run as the command line and Python request it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The drive.
    pub drive: DriveText,
    /// Options of the drive at the start of the run.
    #[serde(default)]
    pub setup: Setup,
    /// Options of the workload.
    #[serde(default)]
    pub workload: Options,
    /// Options of the run.
    #[serde(default)]
    pub run: RunOptions,
    /// True if the digest of the physical history is requested.
    #[serde(default)]
    pub history: bool,
    /// Most memory that the drive may take in its starting state \[bytes\]; `None`: any.
    #[serde(default)]
    pub max_memory: Option<u64>,
}

impl RunRequest {
    /// Creates the request of a run with every option at its default.
    pub fn new(name: &str, text: &str) -> RunRequest {
        RunRequest {
            drive: DriveText::new(name, text),
            setup: Setup::default(),
            workload: Options::default(),
            run: RunOptions::default(),
            history: false,
            max_memory: None,
        }
    }

    /// Adds an override `KEY=VALUE`.
    #[must_use]
    pub fn set(self, set: &str) -> RunRequest {
        self.sets(&[set])
    }

    /// Adds overrides `KEY=VALUE`.
    #[must_use]
    pub fn sets(mut self, sets: &[impl AsRef<str>]) -> RunRequest {
        self.setup.set.extend(sets.iter().map(|set| set.as_ref().to_owned()));
        self
    }

    /// Sets the policy; `None`: the description's.
    #[must_use]
    pub fn policy<'a>(mut self, policy: impl Into<Option<&'a str>>) -> RunRequest {
        self.setup.policy = policy.into().map(str::to_owned);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> RunRequest {
        self.setup.seed = seed;
        self
    }

    /// Sets the starting state; `None`: the description's.
    #[must_use]
    pub fn precondition<'a>(mut self, method: impl Into<Option<&'a str>>) -> RunRequest {
        self.setup.precondition = method.into().map(str::to_owned);
        self
    }

    /// Sets the options of the workload.
    #[must_use]
    pub fn workload(mut self, options: Options) -> RunRequest {
        self.workload = options;
        self
    }

    /// Sets the options of the run.
    #[must_use]
    pub fn run(mut self, options: RunOptions) -> RunRequest {
        self.run = options;
        self
    }

    /// Requests the digest of the physical history.
    #[must_use]
    pub fn history(mut self) -> RunRequest {
        self.history = true;
        self
    }
}

/// Reads a description and applies the options of `setup`; `file` returns the text of a file that the description
/// names.
pub fn description(drive: &DriveText, setup: &Setup, file: File<'_>) -> Result<Description, Problems> {
    let mut sets = setup.set.clone();
    if let Some(policy) = &setup.policy {
        let names = PolicyConfig::NAMES;
        if !names.contains(&policy.as_str()) {
            return Err(Problem::unknown("--policy", "policy", policy, names.iter().copied()).into());
        }
        if sets.iter().any(|set| set.split('=').next().is_some_and(|key| key.trim() == "policy.kind")) {
            return Err(Problems::one("--policy", "the policy is also set by `policy.kind`: expected only one of the two"));
        }
        sets.push(format!("policy.kind={policy}"));
    }
    let mut description = match &setup.power_cap {
        Some(cap) => capped(drive, sets, cap, file)?,
        None => Description::read_with(&drive.name, &drive.text, &sets, file)?,
    };
    if let Some(method) = &setup.precondition {
        let known = [
            ("none", PreconditionMethod::None),
            ("fill", PreconditionMethod::Fill),
            ("random", PreconditionMethod::Random),
            ("steady", PreconditionMethod::Steady),
        ];
        let Some((_, method)) = known.iter().find(|(name, _)| name == method) else {
            return Err(Problem::unknown("--precondition", "starting state", method, known.iter().map(|(name, _)| *name)).into());
        };
        description.state.precondition = *method;
    }
    Ok(description)
}

/// Reads a description with the cap of the option `--power-cap`, which replaces that of the description.
fn capped(drive: &DriveText, mut sets: Vec<String>, cap: &str, file: File<'_>) -> Result<Description, Problems> {
    const OPTION: &str = "--power-cap";
    let cap: Power = cap.parse().map_err(|why| Problems::one(OPTION, format!("`{cap}`: {why}")))?;
    if sets.iter().any(|set| set.split('=').next().is_some_and(|key| key.trim() == "power.cap")) {
        return Err(Problems::one(OPTION, "the cap is also set by `power.cap`: expected only one of the two"));
    }
    let plain = Description::read_with(&drive.name, &drive.text, &sets, file);
    if plain.is_ok_and(|plain| plain.power.is_none()) {
        return Err(Problems::one(OPTION, "the drive describes no currents: expected a drive with a section [power]"));
    }
    sets.push(format!("power.cap={cap}"));
    let of_option = |mut problem: Problem| {
        if problem.place.contains("power.cap=") || problem.place.ends_with("power.cap") {
            OPTION.clone_into(&mut problem.place);
        }
        problem
    };
    let problems = |problems: Problems| Problems(problems.0.into_iter().map(of_option).collect());
    Description::read_with(&drive.name, &drive.text, &sets, file).map_err(problems)
}

/// Reads the requested description. A custom policy replaces the description's, which is therefore set to the default.
pub(super) fn description_for(request: &RunRequest, custom: bool, file: File<'_>) -> Result<Description, Problems> {
    if !custom {
        return description(&request.drive, &request.setup, file);
    }
    let setup = Setup { policy: Some(PolicyConfig::default().kind), ..request.setup.clone() };
    description(&request.drive, &setup, file)
}
