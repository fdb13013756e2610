//! Extrapolation of a life from one steady round in each interval of wear.

use super::passes::{Passes, Tally};
use super::{Interval, Life, Plan, ageing_blocks, mean_wear_of, total_wear_of};
use crate::drive::{Drive, Identity};
use crate::run_loop::End;
use crate::session::ProgressMeter;
use kit::{Problems, SimTime};

/// Largest number of rounds in an interval. If no two rounds agree by then, the last one is used, and a note says so.
const ROUNDS: u32 = 20;

/// Constructor of an empty drive, and the identity under which the drive is saved.
type Fresh<'a> = (&'a dyn Fn() -> Result<Drive, Problems>, &'a Identity);

/// Extrapolation in progress, one interval after another.
struct Ageing<'a, 'b> {
    plan: &'a Plan,
    /// Makes an empty drive of the same identity.
    fresh: Fresh<'a>,
    passes: &'a mut Passes<'b>,
    watch: &'a mut ProgressMeter<'b>,
    blocks: f64,
    /// Increase of the mean effective wear in the previous round \[nominal erases\], and the mean wear of an erase in
    /// it.
    per_round: f64,
    per_erase: f64,
    /// Number of commands completed, for progress reports.
    commands: f64,
}

/// Measures a steady round in each interval and adds them up to a life.
pub(super) fn extrapolate<'b>(
    plan: &Plan,
    mut drive: Drive,
    fresh: Fresh<'_>,
    passes: &mut Passes<'b>,
    watch: &mut ProgressMeter<'b>,
) -> Result<Life, Problems> {
    let (_, blocks) = total_wear_of(&drive);
    let mut cycles = mean_cycles(&drive);
    let mut ageing = Ageing { plan, fresh, passes, watch, blocks, per_round: 0.0, per_erase: 1.0, commands: 0.0 };
    let (mut intervals, mut notes) = (Vec::new(), Vec::new());
    for index in 0..plan.edges.len() - 1 {
        let (next, found) = ageing.interval(drive, index, cycles, &mut notes)?;
        drive = next;
        let Some(interval) = found else { break };
        cycles += interval.cycles;
        intervals.push(interval);
    }
    let is_whole = intervals.len() + 1 == plan.edges.len();
    let passes = ageing.passes.begun;
    Ok(Life { drive: None, ended_by: is_whole.then(|| plan.limit.until.name()), passes, intervals, rows: Vec::new(), notes })
}

fn mean_cycles(drive: &Drive) -> f64 {
    let medium = drive.medium();
    let cycles = ageing_blocks(drive).map(|block| f64::from(medium.erase_count(block)));
    cycles.clone().sum::<f64>() / cycles.count() as f64
}

impl Ageing<'_, '_> {
    /// Measures the steady round of an interval; returns no interval if the run was stopped.
    fn interval(
        &mut self,
        mut drive: Drive,
        index: usize,
        cycles: f64,
        notes: &mut Vec<String>,
    ) -> Result<(Drive, Option<Interval>), Problems> {
        let (from, to) = (self.plan.edges[index], self.plan.edges[index + 1]);
        // Most intervals take two rounds. Starting one round below the middle of the interval centres them on it, so
        // that blocks with more and with less wear than the mean lie in it, too.
        let at = (0.5 * (from + to) - self.per_round).max(from);
        drive = self.aged(drive, at, cycles + (at - from) / self.per_erase)?;
        let (mut rounds, mut before): (u32, Option<Tally>) = (0, None);
        let (round, passes, steady) = loop {
            let Some((round, passes)) = self.round(&mut drive, index, rounds)? else { return Ok((drive, None)) };
            rounds += 1;
            (self.per_round, self.per_erase) = (round.wear / self.blocks, round.wear / round.erases);
            let steady = before.is_some_and(|before| agree(&before, &round, self.plan.agreement));
            if steady || rounds == ROUNDS || mean_wear_of(&drive) >= to {
                break (round, passes, steady);
            }
            before = Some(round);
        };
        if !steady {
            notes.push(format!(
                "from {from:.0} to {to:.0} nominal erases: {rounds} rounds of {:.1} nominal erases each, no two in a row of which agree within {} %; \
                 longer rounds vary less (--round-cycles), a wider --agreement accepts more, and --method full needs none",
                self.per_round,
                100.0 * self.plan.agreement
            ));
        }
        let lasts = (to - from) / self.per_erase;
        let tally = round.times(lasts * self.blocks / round.erases);
        Ok((drive, Some(Interval { from, to, cycles: lasts, tally, measured: Some((passes, rounds, steady)) })))
    }

    /// Returns the same drive with its mean effective wear and mean erase count shifted to `wear` and `cycles`. The
    /// drive is saved at rest and loaded again, because wear can be shifted only before the drive is adopted.
    fn aged(&mut self, mut drive: Drive, wear: f64, cycles: f64) -> Result<Drive, Problems> {
        drive.program_buffer();
        drive.rest();
        let (fresh, identity) = self.fresh;
        let mut saved = Vec::new();
        drive.save(identity, &mut saved).expect("memory takes all");
        drop(drive);
        let mut aged = fresh()?;
        aged.adopt_saved(identity, &mut &saved[..]).expect("it was saved a moment ago by the same drive");
        aged.ftl_mut().shift_wear(wear, cycles);
        aged.adopt();
        Ok(aged)
    }

    /// Runs whole passes until the blocks have undergone the cycles of a round, on average. Returns what the passes did
    /// and their number; none if the run was stopped.
    fn round(&mut self, drive: &mut Drive, interval: usize, rounds: u32) -> Result<Option<(Tally, u64)>, Problems> {
        let begin = Tally::of(drive);
        let wanted = self.plan.round_cycles * self.blocks;
        let intervals = (self.plan.edges.len() - 1) as f64;
        let mut passes = 0;
        loop {
            let before = Tally::of(drive);
            let (watch, commands) = (&mut *self.watch, self.commands);
            let end = self.passes.run(drive, &mut |drive, completed| {
                let erases = Tally::of(drive).erases - begin.erases;
                // Most intervals take two rounds.
                let share = (f64::from(rounds) + (erases / wanted).min(1.0)) / f64::from(rounds + 1).max(2.0);
                let fraction = (interval as f64 + share) / intervals;
                watch.tell("lifetime", drive.now().0, commands as u64 + completed, Some(fraction))
            })?;
            let now = Tally::of(drive);
            self.commands += now.commands - before.commands;
            if end == End::OutOfTime {
                return Err(too_slow(wanted / self.blocks));
            }
            if end == End::Stopped {
                return Ok(None);
            }
            passes += 1;
            self.passes.check(&now.since(&before), self.blocks)?;
            let round = now.since(&begin);
            if round.erases >= wanted {
                self.passes.check(&round, self.blocks)?;
                return Ok(Some((round, passes)));
            }
        }
    }
}

/// Returns true if wear per erase and write amplification of two rounds differ by at most `share`.
fn agree(before: &Tally, now: &Tally, share: f64) -> bool {
    let alike = |a: f64, b: f64| (a - b).abs() <= share * b;
    alike(before.wear / before.erases, now.wear / now.erases)
        && alike(before.programmed_units / before.host_units, now.programmed_units / now.host_units)
}

fn too_slow(cycles: f64) -> Problems {
    Problems::one(
        "--round-cycles",
        format!(
            "{cycles}: the workload writes so little that a round takes more than {} years: expected fewer cycles",
            SimTime::LAST.years()
        ),
    )
}
