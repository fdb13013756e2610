//! Repetition of a workload on a drive, and totals over a part of it.

use crate::description::Description;
use crate::drive::Drive;
use crate::run_loop::{End, RunLoop};
use crate::session::open_workload;
use kit::{Bytes, Nanos, Op, Problems, SimTime};
use workload::{Input, Options, Target, Workload};

/// Largest number of write modes, and of erase modes, of a drive.
const MODES: usize = 16;

/// Passes over a workload. Each begins when the previous one has ended, and, if the workload has recorded times, not
/// before its period is over.
pub(super) struct Passes<'a> {
    input: &'a Input,
    options: Options,
    target: Target,
    logical_block: Bytes,
    seed: u64,
    /// Number of passes begun.
    pub begun: u64,
}

impl<'a> Passes<'a> {
    pub fn new(input: &'a Input, options: &Options, description: &Description, seed: u64) -> Passes<'a> {
        let (target, logical_block) = (description.target(), description.host.logical_block);
        Passes { input, options: options.clone(), target, logical_block, seed, begun: 0 }
    }

    /// Opens the workload of the next pass. Its random numbers are drawn anew for each pass: the same sequence of
    /// random writes, repeated, would wear the drive in a way that random writes do not.
    pub fn open(&self) -> Result<Workload, Problems> {
        let options = Options { seed: self.seed.wrapping_add(self.begun), ..self.options.clone() };
        let mut workload = open_workload(self.input, &self.target, self.logical_block, &options)?;
        // Every command of a life is counted, also those of a ramp.
        workload.jobs.iter_mut().for_each(|job| job.ramp_time = Nanos::ZERO);
        Ok(workload)
    }

    /// Runs the next pass, and lets time pass until the next one may begin. `go_on` is called every few hundred steps
    /// with the number of commands completed.
    pub fn run(&mut self, drive: &mut Drive, go_on: &mut dyn FnMut(&Drive, u64) -> bool) -> Result<End, Problems> {
        let workload = self.open()?;
        self.begun += 1;
        let next = workload.period.map(|period| drive.now() + period);
        let end = RunLoop::new(workload).run(drive, &mut |drive, reached| go_on(drive, reached.commands))?;
        if end == End::Complete {
            wait_until(drive, next.unwrap_or(SimTime::ZERO).min(SimTime::LAST));
        }
        Ok(end)
    }

    /// Refuses a workload whose passes do not wear the drive: that write nothing, or whose erases cause no wear.
    pub fn check(&self, done: &Tally, blocks: f64) -> Result<(), Problems> {
        let refused = |why: &str| Err(Problems::one(&self.input.name, format!("{why}: it never wears out the drive")));
        if done.host_units == 0.0 {
            return refused("a pass over it writes nothing");
        }
        if done.erases >= blocks && done.wear == 0.0 {
            return refused("every erase that it causes wears nothing (flash.erase_mode, wear)");
        }
        Ok(())
    }
}

/// Lets time pass with no command in flight: the drive collects, and relocates data that nears its retention limit.
fn wait_until(drive: &mut Drive, until: SimTime) {
    while drive.now() < until {
        drive.advance(until);
    }
}

/// Totals over a part of a drive's life. They are real numbers, so that they can be scaled to a longer part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Simulated time \[ns\].
    pub ns: f64,
    /// Commands completed.
    pub commands: f64,
    /// Host writes completed, their bytes, and the sum of their latencies \[ns\].
    pub writes: f64,
    pub written_bytes: f64,
    pub write_ns: f64,
    /// Mapping units written by the host, and mapping units programmed for any reason.
    pub host_units: f64,
    pub programmed_units: f64,
    pub erases: f64,
    /// Lazy erases: free blocks that were erased again, deeper.
    pub lazy_erases: f64,
    /// Effective wear added \[nominal erases\].
    pub wear: f64,
    pub erase_modes: [f64; MODES],
    pub write_modes: [f64; MODES],
}

impl Tally {
    /// Returns the totals up to now.
    pub fn of(drive: &Drive) -> Tally {
        let (ftl, flash, statistics) = (&drive.translator().report().counters, &drive.flash().counters, &drive.statistics);
        let write = &statistics.totals.sums[Op::Write as usize];
        Tally {
            ns: drive.now().0 as f64,
            commands: statistics.totals.count() as f64,
            writes: write.count() as f64,
            written_bytes: statistics.totals.bytes[Op::Write as usize] as f64,
            write_ns: write.total_ns() as f64,
            host_units: ftl.host_units as f64,
            programmed_units: ftl.units_programmed.iter().sum::<u64>() as f64,
            erases: drive.medium().erase_total() as f64,
            lazy_erases: ftl.lazy_erases as f64,
            wear: drive.medium().wear_total() as f64 / 1000.0,
            erase_modes: std::array::from_fn(|mode| flash.erase_modes.get(mode).copied().unwrap_or(0) as f64),
            write_modes: ftl.units_by_mode.map(|count| count as f64),
        }
    }

    fn combine(&self, other: &Tally, f: impl Fn(f64, f64) -> f64) -> Tally {
        Tally {
            ns: f(self.ns, other.ns),
            commands: f(self.commands, other.commands),
            writes: f(self.writes, other.writes),
            written_bytes: f(self.written_bytes, other.written_bytes),
            write_ns: f(self.write_ns, other.write_ns),
            host_units: f(self.host_units, other.host_units),
            programmed_units: f(self.programmed_units, other.programmed_units),
            erases: f(self.erases, other.erases),
            lazy_erases: f(self.lazy_erases, other.lazy_erases),
            wear: f(self.wear, other.wear),
            erase_modes: std::array::from_fn(|mode| f(self.erase_modes[mode], other.erase_modes[mode])),
            write_modes: std::array::from_fn(|mode| f(self.write_modes[mode], other.write_modes[mode])),
        }
    }

    /// Returns the totals since `earlier`.
    pub fn since(&self, earlier: &Tally) -> Tally {
        self.combine(earlier, |now, then| now - then)
    }

    /// Returns the sum of two parts.
    pub fn and(&self, other: &Tally) -> Tally {
        self.combine(other, |a, b| a + b)
    }

    /// Returns the totals scaled by `factor`.
    pub fn times(&self, factor: f64) -> Tally {
        self.combine(self, |a, _| a * factor)
    }
}
