//! Random drives whose flash fails: programs, erases and reads, dies, and the power.

use super::{Detail, Passed, cuts, detailed, go_on_with, parts_of};
use crate::Violation;
use crate::commands::{Commands, Mix};
use crate::rig::Rig;
use drive::fault_script::FaultScript;
use drive::{Description, Drive};
use flash::faults::{RecoveryConfig, Scripted};
use flash::slow::ScriptedSlow;
use ftl::{Defect, Health};
use kit::{BlockId, DieId, Nanos, OperationKind, Rng};

/// Faults of cases, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failed {
    /// Programs that failed.
    pub programs: u64,
    /// Erases that failed.
    pub erases: u64,
    /// Reads that a script let fail, and whose data was lost or media errors.
    pub uncorrectable: u64,
    /// Dies that were lost.
    pub dies: u64,
    /// Losses of power.
    pub power: u64,
    /// Drives that were saved and loaded again.
    pub reloads: u64,
    /// Spare blocks that replaced others.
    pub spares: u64,
    /// Drives that became read-only.
    pub read_only: u64,
    /// Commands that these refused.
    pub refused: u64,
    /// Drives that had no room left for what they had accepted: read-only ones, or such that had lost all dies.
    pub full: u64,
    /// Commands that were submitted again after a reset of the controller.
    pub submitted_again: u64,
    /// Resets of the controller.
    pub resets: u64,
    /// Operations that were slow.
    pub slow: u64,
    /// Packets on the link that were sent again.
    pub packets: u64,
    /// Reads that parity restored, and the reads that this took.
    pub restored: (u64, u64),
    /// Units that were lost with dies.
    pub units_lost: u64,
}

impl Failed {
    /// Adds the faults of another case.
    pub fn merge(&mut self, other: &Failed) {
        let Failed { programs, erases, uncorrectable, dies, power, reloads, spares, read_only, refused, full, .. } = *other;
        let Failed { submitted_again, resets, slow, packets, restored, units_lost, .. } = *other;
        self.restored = (self.restored.0 + restored.0, self.restored.1 + restored.1);
        self.units_lost += units_lost;
        self.programs += programs;
        self.erases += erases;
        self.uncorrectable += uncorrectable;
        self.dies += dies;
        self.power += power;
        self.reloads += reloads;
        self.spares += spares;
        self.read_only += read_only;
        self.refused += refused;
        self.full += full;
        self.submitted_again += submitted_again;
        self.resets += resets;
        self.slow += slow;
        self.packets += packets;
    }
}

/// Runs the case of a seed with about `commands` commands; `None` if its description is refused.
pub fn run(seed: u64, commands: u32) -> Result<Option<(Passed, Failed)>, Violation> {
    run_with(seed, Detail::Faults, commands)
}

/// Runs the case of a seed like [`run`], with errors of the host link, slow operations and hangs of the controller.
pub fn run_with_host_faults(seed: u64, commands: u32) -> Result<Option<(Passed, Failed)>, Violation> {
    run_with(seed, Detail::HostFaults, commands)
}

/// Runs the case of a seed like [`run`], with parity across dies.
pub fn run_with_parity(seed: u64, commands: u32) -> Result<Option<(Passed, Failed)>, Violation> {
    run_with(seed, Detail::ParityFaults, commands)
}

/// Runs the case of a seed like [`run`], on a drive with these parts.
pub fn run_with(seed: u64, detail: Detail, commands: u32) -> Result<Option<(Passed, Failed)>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    run_of(&description, seed, commands, None).map(Some)
}

/// Runs the case of a seed on a drive of this description, perhaps with a defect planted in it.
pub fn run_of(
    description: &Description,
    seed: u64,
    commands: u32,
    defect: Option<Defect>,
) -> Result<(Passed, Failed), Violation> {
    let mut failed = Failed::default();
    let mut rng = Rng::stream(seed, "testkit.failures");
    // A drive with a journal of its map is not saved.
    let loses_power = rng.chance(0.5) || description.ftl.journal.is_some();
    let mut rig = if loses_power { Rig::losing_power(description, seed)? } else { Rig::new(description, seed, None)? };
    defect.into_iter().for_each(|defect| rig.drive.ftl_mut().plant(defect));
    let ended = play(&mut rig, description, (seed, commands), (&mut rng, loses_power), &mut failed);
    let health = rig.drive.health().expect("a drive with a page map").clone();
    let is_gone = health.dies_lost == u64::from(rig.drive.medium().geometry.die_count);
    let is_full = is_gone || has_no_room(&rig.drive);
    let with_health = |why: Violation| Violation(format!("{}\n{health:?}", why.0));
    ended.or_else(|why| if is_gone || is_full && why.is_stall() { Ok(()) } else { Err(with_health(why)) })?;
    if !is_full {
        rig.finish().or_else(|why| if rig.drive.must_repeat() { Ok(()) } else { Err(why) })?;
    }
    let is_full = is_full || rig.drive.must_repeat();
    failed.full = is_full.into();
    failed.refused += rig.oracle.counts.refused;
    (failed.resets, failed.submitted_again) = (rig.drive.hang_counts().resets, rig.drive.hang_counts().submitted_again);
    failed.slow = rig.drive.flash().slow().map_or(0, |slow| slow.count());
    failed.packets = rig.drive.controller().link_errors().map_or(0, |link| link.repeated());
    (failed.programs, failed.erases) = (health.program_failures, health.erase_failures);
    (failed.restored, failed.units_lost) = ((health.reads_restored, health.restoring_reads), health.units_lost);
    (failed.dies, failed.spares, failed.read_only) = (health.dies_lost, health.spares_used, health.is_read_only.into());
    Ok((Passed::of(rig), failed))
}

/// Returns true if so much of a drive has failed that it has no room for what it has accepted: it never completes that.
pub(super) fn has_no_room(drive: &Drive) -> bool {
    let has_failed = |health: &Health| health.is_read_only || health.program_failures + health.erase_failures > 0;
    let has_stalled = drive.next_event().is_none() && drive.commands_in_flight() > 0;
    drive.health().is_some_and(has_failed) && (has_stalled || drive.must_repeat())
}

/// Returns true if the drive of a case has faults of the host link and of the controller: only those have a host with
/// another patience than usual.
fn has_host_faults(description: &Description) -> bool {
    description.faults.as_ref().is_some_and(|faults| faults.recovery != RecoveryConfig::default())
}

/// Returns a script of slow operations, damaged packets and hangs.
fn host_script(description: &Description, rng: &mut Rng) -> FaultScript {
    let kinds = [OperationKind::Read, OperationKind::Program, OperationKind::Erase];
    let blocks = u64::from(description.geometry().block_count);
    let slow = |_| ScriptedSlow {
        kind: kinds[rng.below(3) as usize],
        block: rng.below(blocks) as u32,
        number: 1 + rng.below(3) as u32,
        factor: 20.0,
    };
    let slow = (0..8).map(slow).collect();
    let link_errors = (0..6).map(|_| 1 + rng.below(100)).collect();
    let span = |rng: &mut Rng| Nanos(1 << rng.below(24));
    let hang = |_| (span(rng), rng.chance(0.7).then(|| span(rng)));
    let hangs = (0..3).map(hang).collect();
    FaultScript { slow, link_errors, hangs, ..FaultScript::default() }
}

/// Lets a drive serve the commands of a case, with faults between its parts.
fn play(
    rig: &mut Rig<'_>,
    description: &Description,
    (seed, commands): (u64, u32),
    (rng, loses_power): (&mut Rng, bool),
    failed: &mut Failed,
) -> Result<(), Violation> {
    let parts = parts_of(commands, 4);
    for part in 0..parts {
        let mix = Mix { fua: 0.05, ..Mix::random(rng, description.flash.program_time.of(0).0) };
        let name = format!("testkit.commands.{part}");
        let mut stream = Commands::new(mix, description.user_bytes(), part << 24, Rng::stream(seed, &name));
        if has_host_faults(description) {
            rig.drive.script_faults(&host_script(description, &mut Rng::stream(seed, &format!("testkit.hangs.{part}"))));
        }
        go_on_with(rig, &mut stream, commands / parts)?;
        failed.uncorrectable += rig.oracle.counts.uncorrectable;
        let geometry = rig.drive.medium().geometry;
        match rng.below(6) {
            0 if loses_power => {
                let down = Nanos(1 << rng.below(40));
                failed.refused += rig.oracle.counts.refused;
                rig.lose_power(description, seed, down)?;
                failed.power += 1;
            }
            0 => {
                rig.drain()?;
                failed.refused += rig.oracle.counts.refused;
                if rig.drive.must_repeat() {
                    continue;
                }
                rig.reload(description, seed)?;
                failed.reloads += 1;
            }
            1 if geometry.die_count > 1 && rng.chance(0.5) => {
                rig.drive.lose_die(DieId(rng.below(geometry.die_count.into()) as u32))
            }
            2 | 3 => {
                let kinds = [OperationKind::Read, OperationKind::Program, OperationKind::Erase];
                let one = |_| Scripted {
                    kind: kinds[rng.below(3) as usize],
                    block: BlockId(rng.below(geometry.block_count.into()) as u32),
                    number: 1 + rng.below(3) as u32,
                };
                let operations = (0..8).map(one).collect();
                rig.drive.script_faults(&FaultScript { operations, ..FaultScript::default() });
            }
            _ => {}
        }
    }
    rig.drain()
}

/// Runs the case of a seed, and examines after every step what becomes of the drive if it loses power then; `None` if
/// its description is refused.
pub fn every_cut(seed: u64, commands: u32) -> Result<Option<cuts::Cuts>, Violation> {
    cuts::every_cut(seed, Detail::Faults, commands)
}
