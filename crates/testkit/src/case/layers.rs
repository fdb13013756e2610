//! Cases of drives with other translation layers than the page map.

use super::{Beside, Passed, Pause, go_on, play_all};
use crate::Violation;
use crate::describe::{Layer, controller, describe_layer, errors};
use crate::rig::{Rig, Tamper};
use drive::{Description, Drive};
use kit::{Problems, Rng};

/// Returns the translation layer of a seed's drive.
pub fn layer_of(seed: u64, beside: Beside) -> Layer {
    match Rng::stream(seed, "testkit.layer.family").below(6) {
        // A record holds no errors of stored data.
        0 if beside != Beside::Errors => Layer::Recorded,
        1 if beside != Beside::Errors => Layer::Replay,
        _ => described(seed).0,
    }
}

fn described(seed: u64) -> (Layer, String) {
    describe_layer(&mut Rng::stream(seed, "testkit.layer"))
}

pub(super) fn text(seed: u64, beside: Beside) -> String {
    match layer_of(seed, beside) {
        Layer::Recorded | Layer::Replay => super::text(seed),
        _ => described(seed).1,
    }
}

pub(super) fn overrides(seed: u64, beside: Beside) -> Vec<String> {
    match beside {
        Beside::Nothing => Vec::new(),
        Beside::Errors => errors(&mut Rng::stream(seed, "testkit.errors"), &text(seed, beside)),
        Beside::Controller => {
            let layer = layer_of(seed, beside);
            let mut sets = controller(&mut Rng::stream(seed, "testkit.controller"));
            sets.retain(|set| match layer {
                // The buffer is that of the layer, and the interface one with commands for zones.
                Layer::Zones => !set.starts_with("buffer.") && !set.contains("\"sata\""),
                Layer::Chunks => !set.starts_with("buffer."),
                Layer::InPlace | Layer::Factor => !set.starts_with("buffer.read_"),
                Layer::Recorded | Layer::Replay => true,
            });
            let mut rng = Rng::stream(seed, "testkit.errors");
            if !matches!(layer, Layer::Recorded | Layer::Replay) && rng.chance(0.5) {
                sets.extend(errors(&mut rng, &text(seed, beside)));
            }
            sets
        }
    }
}

/// Returns the description of a replay of `trace` on the drive of `description`.
pub fn replay_of(description: &Description, trace: &str) -> Result<Description, Problems> {
    let mut plain = description.clone();
    plain.policy = ftl::PolicyConfig::default();
    plain.ftl.retire_at_cycles = None;
    let set = "ftl.translation={ kind = \"replay\", file = \"x.fw\" }".to_owned();
    Description::read_with("replay.toml", &plain.to_toml(), &[set], &|_| Ok(trace.to_owned()))
}

/// Runs the case of a seed; `None` if its drive cannot be recorded, or its replay departs from the record in the order
/// of the commands.
pub(super) fn run(
    description: &Description,
    (seed, beside): (u64, Beside),
    commands: u32,
    tamper: Option<Tamper<'_>>,
) -> Result<Option<Passed>, Violation> {
    let layer = layer_of(seed, beside);
    if !matches!(layer, Layer::Recorded | Layer::Replay) {
        return play_all(Rig::new(description, seed, tamper)?, description, seed, commands, Pause::Reload).map(Some);
    }
    let drive = Drive::new(description, seed).expect("a small drive fits into memory");
    if description.firmware_problem(drive.map().needs().moves).is_some() {
        return Ok(None);
    }
    if layer == Layer::Recorded {
        let mut rig = Rig::recording(description, seed, tamper)?;
        play_part(&mut rig, description, seed, commands)?;
        return Ok(Some(Passed::of(rig)));
    }
    let mut recorded = Rig::recording(description, seed, None)?;
    play_part(&mut recorded, description, seed, commands)?;
    let trace = recorded.drive.take_firmware(true);
    let replay = replay_of(description, &trace).map_err(|problems| Violation(format!("the record is refused: {problems}")))?;
    let mut rig = Rig::new(&replay, seed, tamper)?;
    match play_part(&mut rig, &replay, seed, commands) {
        Err(_) if rig.drive.translator().failure().is_some() => Ok(None),
        Err(violation) => Err(violation),
        Ok(()) => Ok(Some(Passed::of(rig))),
    }
}

/// Runs a case in one part, without pauses.
fn play_part(rig: &mut Rig<'_>, description: &Description, seed: u64, commands: u32) -> Result<(), Violation> {
    rig.drive.history().enable(false);
    go_on(rig, description, seed, commands)?;
    rig.drain()?;
    rig.finish()
}
