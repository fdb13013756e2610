//! Notes on a run for the user, one line each.

use super::plan::RunPlan;
use super::play::Measured;
use super::search::Search;
use super::start::Start;
use crate::description::{Description, PreconditionMethod, SteadyLoad};
use crate::drive::Drive;
use crate::failure::PowerFailureReport;
use crate::fault_script::FaultScript;
use crate::power_cut::PowerCut;
use crate::run_loop::End;
use ftl::policy::Interruption;
use host::{BufferPolicy, PartialFlush};
use kit::{Bytes, NORMAL_MODE, Nanos, Op, Reason};
use serde_json::Value;
use workload::Workload;

/// Returns the notes on a run that are known when it starts.
pub(super) fn opening_notes(description: &Description, workload: &Workload, start: &Start, drive: &Drive) -> Vec<String> {
    let mut notes = workload.notes.clone();
    notes.extend(start.notes.iter().cloned());
    if !start.is_loaded && description.state.precondition == PreconditionMethod::Steady {
        notes.extend(steady_notes(description, workload));
    }
    notes.extend(alike_note(description, drive));
    if !start.is_loaded {
        notes.extend(wear_note(description));
    }
    notes
}

/// Returns the notes on a run that are known when it has ended. `custom` is the name of its custom policy, if it has
/// one.
pub(super) fn closing_notes(
    plan: &RunPlan<'_>,
    measured: &Measured,
    starting_state: &Value,
    description: &Description,
    custom: Option<&str>,
    drive: &Drive,
) -> Vec<String> {
    let mut notes = power_notes(plan.power_cut, measured.power_failure.as_ref(), measured.end, drive);
    notes.extend(plan.script.as_ref().filter(|_| measured.end == End::Complete).and_then(|script| pending_note(script, drive)));
    notes.extend(crate::summary::health::note(description, drive));
    notes.extend(worn_out(drive));
    notes.extend(measured.search.as_ref().and_then(Search::note));
    notes.extend(idle_policy_note(description, custom, drive));
    notes.extend(short_run_note(starting_state, description, drive));
    notes.extend(padding_note(description, drive));
    notes.extend(bytes_note(drive));
    notes.extend(unmapped_note(drive));
    notes.extend(refused_note(drive));
    notes
}

/// Returns a note if nothing was measured because the run did not outlast the ramp of its jobs.
pub(super) fn unmeasured_note(has_ramp: bool, drive: &Drive) -> Option<String> {
    (has_ramp && drive.statistics.totals.count() == 0)
        .then(|| "nothing was measured: the run ended before the ramp of its jobs was over (ramp_time, --ramp-time)".to_owned())
}

/// Returns a note if write amplification by mapping units differs by more than 5 % from that by bytes.
fn bytes_note(drive: &Drive) -> Option<String> {
    let (_, ftl) = drive.statistics.since_start(drive.flash(), drive.translator());
    let bytes = drive.statistics.totals.bytes[Op::Write as usize];
    let (units, unit) = (ftl.units_programmed.iter().sum::<u64>(), drive.unit());
    if bytes == 0 || units == 0 || ftl.host_units == 0 {
        return None;
    }
    let whole = unit.offset(ftl.host_units) as f64 / bytes as f64;
    let (by_units, by_bytes) = (units as f64 / ftl.host_units as f64, unit.offset(units) as f64 / bytes as f64);
    let why = if whole > 1.0 {
        "a write of a part of a unit counts as a whole one"
    } else {
        "writes that completed had begun before the measurement"
    };
    ((whole - 1.0).abs() > 0.05).then(|| {
        format!(
            "write amplification is {by_units:.2} by mapping units of {} B and {by_bytes:.2} by bytes of the host \
             (write_amplification_bytes): {why}",
            unit.bytes()
        )
    })
}

/// Returns the notes on the requested power failure.
fn power_notes(cut: Option<PowerCut>, power_failure: Option<&PowerFailureReport>, end: End, drive: &Drive) -> Vec<String> {
    match (cut, power_failure) {
        (_, Some(power_failure)) => power_failure.notes(Bytes(drive.unit().bytes())),
        (Some(cut), None) if end == End::Complete => {
            let ended = Nanos(drive.now().0).as_secs_f64();
            vec![format!("power did not fail: the workload ended after {ended:.3} s, before --power-cut {cut}")]
        }
        _ => Vec::new(),
    }
}

/// Returns a note if faults of the script did not happen.
fn pending_note(script: &FaultScript, drive: &Drive) -> Option<String> {
    let count = drive.faults_pending(script);
    let (faults, them) = if count == 1 { ("fault", "it") } else { ("faults", "them") };
    (count > 0).then(|| format!("{count} {faults} of the script (--faults) did not happen: the workload ended before {them}"))
}

/// Returns a note if the drive is worn out.
pub(crate) fn worn_out(drive: &Drive) -> Option<String> {
    let ftl = drive.translator().map()?;
    let die = ftl.worn_out_die()?;
    let (retired, blocks) = (drive.medium().retired_blocks(die), drive.medium().geometry.blocks_per_die);
    Some(format!(
        "die {} can spare no more blocks: {retired} of its {blocks} are worn out and retired, and it needs the others for its share of the data, its \
         write frontiers and its reserve; the drive is worn out",
        die.0
    ))
}

/// Returns notes on the ways in which the steady state of *this* workload differs from the one that the drive begins
/// in.
fn steady_notes(description: &Description, workload: &Workload) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(job) = workload.jobs.iter().find(|job| job.overwrites_in_passes) {
        notes.push(format!(
            "job `{}` overwrites every block once per pass: write amplification will drift from that of uniform random overwrites, in whose steady \
             state the drive begins (fio: norandommap=1)",
            job.name
        ));
    }
    let geometry = description.geometry();
    let (critical, low) = description.ftl.thresholds(&geometry);
    if low > description.ftl.gc_low_blocks && description.begins_rested() {
        let rested = u64::from(low - critical) * u64::from(geometry.die_count);
        notes.push(format!(
            "the steady state is that of a rested drive (ftl.gc_spare_fraction = {}): a sustained load first uses up about {rested} free blocks, \
             and write amplification is lower until then",
            description.ftl.gc_spare_fraction
        ));
    }
    let target = description.ftl.gc_idle_target_blocks;
    if description.ftl.gc_idle_after.is_some() && target > low {
        let more = u64::from(target - low) * u64::from(geometry.die_count);
        notes.push(if description.state.load == Some(SteadyLoad::Paused) {
            format!(
                "the steady state is that of a load with idle times (state.load = \"paused\"): a sustained load first uses up about {more} free \
                 blocks (ftl.gc_idle_target_blocks = {target}), and write amplification is lower until then"
            )
        } else {
            format!(
                "a load with idle times first makes up to {more} more blocks free (ftl.gc_idle_target_blocks = {target}), and write amplification \
                 is higher until then; --set state.load=paused begins with them"
            )
        });
    }
    notes
}

/// Returns a note if the policy never chose a mode other than the default ones, nor did anything else that `baseline`
/// does not do: placed data in another stream, moved pages, chose victims or read modes.
fn idle_policy_note(description: &Description, custom: Option<&str>, drive: &Drive) -> Option<String> {
    let kind = custom.unwrap_or(&description.policy.kind);
    let may_choose = custom.is_some() || description.policy.chooses_modes();
    let normal = description.flash.write_modes.iter().position(|mode| mode.name == NORMAL_MODE).unwrap_or(0);
    let (flash, ftl) = drive.statistics.since_start(drive.flash(), drive.translator());
    let written = ftl.units_by_mode;
    let of_others = |counts: &[u64], own: usize| counts.iter().enumerate().any(|(mode, &count)| mode != own && count > 0);
    let chose = of_others(&written, normal) || of_others(&flash.erase_modes, 0);
    let moved: u64 = [Reason::Rewrite, Reason::Scrub].iter().map(|reason| ftl.units_programmed[*reason as usize]).sum();
    // A user's policy may choose victims or read modes, of which the counters do not tell whether they are the drive's.
    let chooses_otherwise =
        drive.translator().map().is_some_and(|ftl| custom.is_some() && (ftl.needs().scores || ftl.needs().reads));
    let acted = chose || ftl.units_apart > 0 || moved > 0 || chooses_otherwise;
    (written[normal] > 0 && !acted && may_choose).then(|| {
        format!(
            "policy `{kind}` wrote all data in the normal mode and through the first write stream, and erased in the first mode, as `baseline` does: \
             the load gave it no occasion for others, or the drive lacks what it chooses among (ssdlab presets)"
        )
    })
}

/// Returns a note if the policy chooses the write mode of each page by the cost of later reads, but all its write modes
/// are read alike.
fn alike_note(description: &Description, drive: &Drive) -> Option<String> {
    let mode_of = |name: &String| description.flash.write_modes.iter().find(|mode| mode.name == *name);
    let modes = description.policy.modes();
    let mut read = modes.iter().filter_map(|(_, name)| mode_of(name)).map(|mode| description.flash.read_mode_of(mode));
    let first = read.next()?;
    (drive.translator().map()?.needs().page_scope && read.all(|mode| mode == first)).then(|| {
        let names: Vec<&str> = modes.iter().map(|(_, name)| name.as_str()).collect();
        format!(
            "policy `{}` chooses among the write modes {} by the cost of later reads, but all of them use the same read mode: give each its \
             flash.write_mode.read_mode, as the preset agcr-64g does",
            description.policy.kind,
            names.join(", ")
        )
    })
}

/// Returns a note if the blocks are worn before the run, but nothing in the drive depends on their wear.
fn wear_note(description: &Description) -> Option<String> {
    let (wear, rated) = (description.state.pe_cycles, description.flash.rated_pe_cycles);
    let mut modes = description.flash.write_modes.iter();
    let depends = description.ecc.source().is_some()
        || description.ftl.retire_at_cycles.is_some()
        || modes.any(|mode| mode.retention_at(wear, rated) != mode.retention_at(0, rated));
    (wear > 0 && !depends).then(|| {
        format!(
            "state.pe_cycles = {wear} changes no latency: stored data has no errors on this drive (ecc.errors), as it has \
             on tlc-1tb, qlc-2tb and pcie4-tlc-2tb"
        )
    })
}

/// Number of blocks of each die over which a run from the steady state has the write amplification of the long run.
/// Over fewer blocks it can differ by tens of percent, as where the dies are in their cycle then matters.
const ENOUGH: f64 = 1.0;

/// Returns a note if a run that began in the steady state wrote so little that it measured where the dies began.
fn short_run_note(starting_state: &Value, description: &Description, drive: &Drive) -> Option<String> {
    let geometry = description.geometry();
    // The writes of a ramp, which is not measured, count as well.
    let host_units = drive.translator().report().counters.host_units;
    let block = f64::from(geometry.units_per_block) * f64::from(geometry.die_count);
    let written = host_units as f64 / block;
    (starting_state["method"] == "steady" && written > 0.0 && written < ENOUGH).then(|| {
        format!(
            "the run wrote {written:.2} blocks for each die: write amplification and latency depend on where the dies \
             began in their cycle until one is written, about {block:.0} units; measure more, or leave them out of the \
             measurement (ramp_time in a job, --ramp-time for a trace)"
        )
    })
}

/// Returns a note if more than half of what was programmed is padding, with the reason for it.
fn padding_note(description: &Description, drive: &Drive) -> Option<String> {
    let (_, ftl) = drive.statistics.since_start(drive.flash(), drive.translator());
    let padding = ftl.units_programmed[Reason::Padding as usize];
    let all: u64 = ftl.units_programmed.iter().sum();
    let buffer = &description.buffer;
    let program = kit::words::size(description.geometry().unit.data(description.geometry().units_per_program));
    let reason = match (buffer.policy, buffer.partial_flush, buffer.flush_after) {
        _ if drive.statistics.totals.histograms[Op::Flush as usize].count() > 0 => {
            format!("flushes program partly filled pages, of {program} at a time")
        }
        (BufferPolicy::WriteBack, PartialFlush::Pad, Some(after)) => format!(
            "flush_after = {} programs partly filled pages, of {program} at a time (buffer.partial_flush = \"wait\" holds them back)",
            kit::words::time(after)
        ),
        (BufferPolicy::WriteBack, ..) => format!("writes with FUA program partly filled pages, of {program} at a time"),
        _ => format!("buffer.policy is not \"write_back\", and a program of {program} does not wait for further writes"),
    };
    let percent = (100.0 * padding as f64 / all.max(1) as f64).round();
    (2 * padding > all).then(|| format!("padding is {percent} % of what is programmed: {reason}"))
}

/// Returns a note if units were read that had never been written.
fn unmapped_note(drive: &Drive) -> Option<String> {
    let (_, ftl) = drive.statistics.since_start(drive.flash(), drive.translator());
    let unmapped = ftl.unmapped_reads;
    let remedy = match drive.translator().zones() {
        None => "--precondition fill gives every address data",
        Some(_) => "--set ftl.translation.full=1.0 makes all zones full",
    };
    (unmapped > 0).then(|| format!("{unmapped} units were read that were never written: they cost no flash operation ({remedy})"))
}

/// Returns a note if a drive refused commands by the states of its zones or chunks.
fn refused_note(drive: &Drive) -> Option<String> {
    if !drive.translator().checks_commands() {
        return None;
    }
    let figures = drive.translator().figures();
    let refused = figures.iter().find(|(name, _)| *name == "refused_commands").map_or(0.0, |(_, count)| *count);
    (refused > 0.0).then(|| {
        format!(
            "{refused} commands were refused by the zones or chunks (column `status` of the log of commands): their latency is in the results, their data is \
             nowhere"
        )
    })
}

/// Returns the note on a call of the policy that did not return.
pub(super) fn interruption_note(policy: &str, interruption: Interruption) -> String {
    let Interruption { call, defaulted } = interruption;
    let calls = if defaulted == 1 { "1 call".to_owned() } else { format!("{defaulted} calls") };
    format!(
        "policy `{policy}`: `{call}` was interrupted and did not return; {calls} had the default answer, and the run is not complete"
    )
}

/// Returns a note if the drive is saved under a custom policy whose state cannot be saved completely.
pub(super) fn saved_partly_note(drive: &Drive, custom: Option<&str>) -> Option<String> {
    let name = custom.filter(|_| !drive.map().policy().is_saved_whole())?;
    Some(format!(
        "--save: what the policy `{name}` keeps in its own objects is not in the file: a drive that is loaded from it adopts the saved state, and does not go on \
         exactly"
    ))
}
