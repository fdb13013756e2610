//! The future accesses of a run, for a policy that needs them.

use super::progress::ProgressMeter;
use crate::description::Description;
use crate::drive::Drive;
use crate::run_loop::RunLoop;
use crate::statistics::CommandRow;
use ftl::policy::PolicyConfig;
use ftl::policy::future::{Access, Future};
use ftl::{Precondition, Preconditioned, ScaleModels};
use kit::{Lpn, Op, Problems};

/// Returns the future accesses for a policy that needs them: those of a run of the workload under the default policy,
/// from its start, on a drive that was filled once.
pub(super) fn future_accesses(
    description: &Description,
    mut run_loop: RunLoop,
    seed: u64,
    watch: &mut ProgressMeter<'_>,
) -> Result<Future, Problems> {
    let mut description = description.clone();
    let policy = std::mem::replace(&mut description.policy.kind, PolicyConfig::default().kind);
    let does_not_fit =
        |error| Problems::one(policy.as_str(), format!("the run that is recorded does not fit into memory: {error}"));
    let mut drive = Drive::new(&description, seed).map_err(does_not_fit)?;
    let filled = Preconditioned { method: Precondition::Fill, ..description.state.preconditioned() };
    drive.ftl_mut().precondition(&filled, &ScaleModels::default(), &mut |_| true).map_err(does_not_fit)?;
    drive.adopt();
    drive.statistics.log = Some(Vec::new());
    run_loop.run(&mut drive, &mut |drive, reached| watch.tell("foresee", drive.now().0, reached.commands, reached.share))?;
    let mut rows = drive.statistics.log.take().unwrap_or_default();
    rows.sort_by_key(|row| row.submitted);
    let unit = drive.unit();
    let access = |row: &CommandRow| {
        let first = unit.whole(row.offset);
        let units = unit.begun(row.offset + row.length) - first;
        Access { at: row.submitted, first: Lpn(first as u32), units: units as u32, writes: row.op != Op::Read }
    };
    let accesses: Vec<Access> = rows.iter().filter(|row| row.op != Op::Flush).map(access).collect();
    Ok(Future::new(unit.whole(description.user_bytes()), &accesses))
}
