//! What is still to come of a workload, for the reference that knows it.

use kit::{Lpn, Nanos, SimTime};

/// A write (or trim) of a unit, and the reads between it and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    at: SimTime,
    reads: u32,
}

/// What becomes of a unit's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// When it is overwritten or trimmed; none if the workload ends before.
    pub until: Option<SimTime>,
    /// Units of host reads before that.
    pub reads: u32,
}

impl Outlook {
    /// How long the data still lives; none if it outlives the workload.
    pub fn life(&self, now: SimTime) -> Option<Nanos> {
        self.until.map(|until| Nanos(until.0.saturating_sub(now.0)))
    }
}

/// One access of a run of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// When.
    pub at: SimTime,
    /// The first unit.
    pub first: Lpn,
    /// How many.
    pub units: u32,
    /// It writes or trims them; otherwise it reads.
    pub writes: bool,
}

/// The accesses of a whole workload, by unit. Twelve to sixteen bytes for each unit of each write, and four for each unit of the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// Where each unit's writes begin in `written`; one more at the end.
    first: Vec<u32>,
    written: Vec<Written>,
}

impl Future {
    /// From accesses in the order of their times.
    ///
    /// # Panics
    /// If more than 2^32 units are written.
    pub fn new(user_units: u64, accesses: &[Access]) -> Future {
        let mut first = vec![0u32; user_units as usize + 1];
        let units = |access: &Access| access.first.index()..access.first.index() + access.units as usize;
        for access in accesses.iter().filter(|access| access.writes) {
            units(access).for_each(|unit| first[unit + 1] += 1);
        }
        let mut total = 0u64;
        for count in &mut first {
            total += u64::from(*count);
            *count = u32::try_from(total).expect("fewer than 2^32 units are written");
        }
        let mut next: Vec<u32> = first.clone();
        let mut written = vec![Written { at: SimTime::ZERO, reads: 0 }; total as usize];
        for access in accesses {
            for unit in units(access) {
                if access.writes {
                    written[next[unit] as usize].at = access.at;
                    next[unit] += 1;
                } else if next[unit] > first[unit] {
                    written[next[unit] as usize - 1].reads += 1;
                }
            }
        }
        Future { first, written }
    }

    /// What becomes of the data that a unit holds at an instant.
    pub fn of(&self, lpn: Lpn, now: SimTime) -> Outlook {
        let Some(&end) = self.first.get(lpn.index() + 1) else { return Outlook { until: None, reads: 0 } };
        let own = &self.written[self.first[lpn.index()] as usize..end as usize];
        let next = own.partition_point(|written| written.at <= now);
        Outlook { until: own.get(next).map(|written| written.at), reads: if next == 0 { 0 } else { own[next - 1].reads } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_future_of_a_unit_is_its_next_write_and_the_reads_before() {
        let access = |at, first, units, writes| Access { at: SimTime(at), first: Lpn(first), units, writes };
        let future = Future::new(
            10,
            &[
                access(1, 3, 1, false),
                access(5, 2, 3, true),
                access(6, 3, 1, false),
                access(7, 3, 2, false),
                access(9, 3, 1, true),
                access(12, 3, 1, false),
            ],
        );
        let outlook = |unit, now| future.of(Lpn(unit), SimTime(now));
        assert_eq!(outlook(3, 5), Outlook { until: Some(SimTime(9)), reads: 2 });
        assert_eq!(outlook(3, 8).life(SimTime(8)), Some(Nanos(1)));
        assert_eq!(outlook(3, 9), Outlook { until: None, reads: 1 });
        assert_eq!(outlook(4, 6), Outlook { until: None, reads: 1 });
        assert_eq!(outlook(2, 0), Outlook { until: Some(SimTime(5)), reads: 0 });
        assert_eq!(outlook(9, 0), Outlook { until: None, reads: 0 });
    }
}
