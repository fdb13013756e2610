//! Simulation of a whole life, erase by erase.

use super::limit::worn_out_note;
use super::passes::{Passes, Tally};
use super::{Interval, Life, Plan, mean_wear_of, total_wear_of};
use crate::drive::Drive;
use crate::run_loop::End;
use crate::session::ProgressMeter;
use kit::{Problems, SimTime};

/// Largest number of rows kept of the passes; when it is reached, pairs of rows are merged.
const ROWS: usize = 1024;

/// One or more consecutive passes, and the mean effective wear after them \[nominal erases\].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub passes: u64,
    pub wear: f64,
    pub tally: Tally,
}

/// Rows of a life of any length.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// Base-2 logarithm of the number of passes in each full row.
    shift: u32,
}

impl Rows {
    pub fn push(&mut self, row: Row) {
        if let Some(last) = self.rows.last_mut().filter(|last| last.passes < 1 << self.shift) {
            *last = joined(last, &row);
            return;
        }
        if self.rows.len() == ROWS {
            self.rows = self.rows.chunks(2).map(|pair| joined(&pair[0], &pair[1])).collect();
            self.shift += 1;
        }
        self.rows.push(row);
    }

    pub fn into_vec(self) -> Vec<Row> {
        self.rows
    }
}

fn joined(first: &Row, then: &Row) -> Row {
    Row { passes: first.passes + then.passes, wear: then.wear, tally: first.tally.and(&then.tally) }
}

/// The points at which a life crosses from one interval of wear to the next.
struct Crossings<'a> {
    edges: &'a [f64],
    seen: Vec<(f64, Tally)>,
}

impl Crossings<'_> {
    fn look(&mut self, drive: &Drive) {
        let wear = mean_wear_of(drive);
        while self.seen.len() + 1 < self.edges.len() && wear >= self.edges[self.seen.len()] {
            self.seen.push((wear, Tally::of(drive)));
        }
    }

    /// Returns the intervals; the last one ends now.
    fn intervals(mut self, drive: &Drive) -> Vec<Interval> {
        self.seen.push((mean_wear_of(drive), Tally::of(drive)));
        let (_, blocks) = total_wear_of(drive);
        let interval = |pair: &[(f64, Tally)]| {
            let tally = pair[1].1.since(&pair[0].1);
            Interval { from: pair[0].0, to: pair[1].0, cycles: tally.erases / blocks, tally, measured: None }
        };
        self.seen.windows(2).map(interval).collect()
    }
}

/// Repeats the workload until the drive is worn out, unless the caller, `max_passes` or the end of the clock stops it
/// first.
pub(super) fn full(
    plan: &Plan,
    mut drive: Drive,
    passes: &mut Passes<'_>,
    watch: &mut ProgressMeter<'_>,
) -> Result<Life, Problems> {
    let (_, blocks) = total_wear_of(&drive);
    let mut crossings = Crossings { edges: &plan.edges, seen: Vec::new() };
    crossings.look(&drive);
    let (mut rows, mut ended_by, mut go_on) = (Rows::default(), None, true);
    while ended_by.is_none() && go_on {
        let before = Tally::of(&drive);
        let end = passes.run(&mut drive, &mut |drive, completed| {
            crossings.look(drive);
            ended_by = plan.limit.reached(drive);
            go_on = watch.tell("lifetime", drive.now().0, before.commands as u64 + completed, Some(plan.limit.share(drive)));
            go_on && ended_by.is_none()
        })?;
        let tally = Tally::of(&drive).since(&before);
        rows.push(Row { passes: 1, wear: mean_wear_of(&drive), tally });
        match end {
            End::Complete => passes.check(&tally, blocks)?,
            End::OutOfTime => ended_by = ended_by.or(Some("time")),
            End::Stopped | End::PowerFails | End::PowerLost => {}
        }
        if ended_by.is_none() && plan.max_passes.is_some_and(|most| passes.begun >= most) {
            ended_by = Some("max_passes");
        }
    }
    let notes = worn_out_note(&drive).into_iter().chain((ended_by == Some("time")).then(too_long)).collect();
    let intervals = crossings.intervals(&drive);
    Ok(Life { drive: Some(drive), ended_by, passes: passes.begun, intervals, rows: rows.into_vec(), notes })
}

fn too_long() -> String {
    format!(
        "the run was ended after {} years of simulated time, all that it can keep: --method extrapolate has no such end",
        SimTime::LAST.years()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_joined_and_nothing_is_lost() {
        let mut rows = Rows::default();
        for pass in 0..5000 {
            rows.push(Row { passes: 1, wear: f64::from(pass), tally: Tally { erases: 1.0, ..Tally::default() } });
        }
        let rows = rows.into_vec();
        assert!(rows.len() <= ROWS && rows.len() > ROWS / 2, "{}", rows.len());
        assert_eq!(rows.iter().map(|row| row.passes).sum::<u64>(), 5000);
        assert_eq!(rows.iter().map(|row| row.tally.erases).sum::<f64>(), 5000.0);
        assert!(rows.windows(2).all(|pair| pair[0].wear < pair[1].wear) && rows.last().expect("rows").wear == 4999.0);
        assert!(rows[..rows.len() - 1].iter().all(|row| row.passes == rows[0].passes), "rows are of one width");
    }
}
