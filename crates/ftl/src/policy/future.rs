//! What is still to come of a workload, for the reference that knows it.

use kit::{Lpn, Nanos, SimTime};

/// What becomes of a unit's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// When it is overwritten or trimmed; none if the workload ends before.
    pub until: Option<SimTime>,
    /// Host reads of it before that.
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

/// The accesses of a whole workload, by unit: eight bytes for each unit of each access, and eight for each unit of the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// Where a unit's writes begin in `at`, and its reads, which follow them: what is looked up together lies together. One more at the end.
    first: Vec<u32>,
    at: Vec<SimTime>,
}

impl Future {
    /// From accesses in the order of their times.
    ///
    /// # Panics
    /// If 2^32 units are accessed.
    pub fn new(user_units: u64, accesses: &[Access]) -> Future {
        let mut first = vec![0u32; 2 * user_units as usize + 1];
        let lists = |access: &Access| {
            let (unit, kind) = (access.first.index(), usize::from(!access.writes));
            (unit..unit + access.units as usize).map(move |unit| 2 * unit + kind)
        };
        for list in accesses.iter().flat_map(lists) {
            first[list + 1] += 1;
        }
        let mut total = 0u64;
        for count in &mut first {
            total += u64::from(*count);
            *count = u32::try_from(total).expect("fewer than 2^32 units are accessed");
        }
        let mut next = first.clone();
        let mut at = vec![SimTime::ZERO; total as usize];
        for access in accesses {
            for list in lists(access) {
                at[next[list] as usize] = access.at;
                next[list] += 1;
            }
        }
        Future { first, at }
    }

    /// What becomes of the data that a unit holds at an instant, from then on.
    pub fn of(&self, lpn: Lpn, now: SimTime) -> Outlook {
        let Some(&[writes, reads, end]) = self.first.get(2 * lpn.index()..2 * lpn.index() + 3) else {
            return Outlook { until: None, reads: 0 };
        };
        let (writes, reads) = (&self.at[writes as usize..reads as usize], &self.at[reads as usize..end as usize]);
        let until = writes.get(writes.partition_point(|&at| at <= now)).copied();
        let to_come = &reads[reads.partition_point(|&at| at <= now)..];
        let before = until.map_or(to_come.len(), |until| to_come.partition_point(|&at| at < until));
        Outlook { until, reads: before as u32 }
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
        // Of data that was there before, and of what is moved between its reads: those that are still to come.
        assert_eq!(outlook(3, 0), Outlook { until: Some(SimTime(5)), reads: 1 });
        assert_eq!(outlook(3, 1).reads, 0);
        assert_eq!(outlook(3, 6), Outlook { until: Some(SimTime(9)), reads: 1 });
    }
}
