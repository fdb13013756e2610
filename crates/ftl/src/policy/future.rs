//! Future accesses of a workload, for the reference policy that knows them.

use kit::{Lpn, Nanos, SimTime};

/// Future of the data that a unit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Instant at which the data is overwritten or trimmed; none if the workload ends first.
    pub until: Option<SimTime>,
    /// Host reads of the data before that.
    pub reads: u32,
}

impl Outlook {
    /// Returns the time for which the data still lives; none if it outlives the workload.
    pub fn life(&self, now: SimTime) -> Option<Nanos> {
        self.until.map(|until| Nanos(until.0.saturating_sub(now.0)))
    }
}

/// One access to consecutive units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Instant of the access.
    pub at: SimTime,
    /// First unit.
    pub first: Lpn,
    /// Number of units.
    pub units: u32,
    /// True for a write or a trim, false for a read.
    pub writes: bool,
}

/// Accesses of a whole workload, by unit. Takes eight bytes for each unit of each access, and eight for each unit of
/// the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// Index in `at` of the first write and of the first read of each unit, alternately, and the total at the end. A
    /// unit's reads follow its writes, since both are looked up together.
    first: Vec<u32>,
    at: Vec<SimTime>,
}

impl Future {
    /// Builds the lists from accesses in the order of their times.
    ///
    /// # Panics
    /// If 2^32 units or more are accessed.
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

    /// Returns the future, after `now`, of the data that a unit holds at `now`.
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
        // For data written before the first access, and for data moved between its reads, only the reads still to come
        // count.
        assert_eq!(outlook(3, 0), Outlook { until: Some(SimTime(5)), reads: 1 });
        assert_eq!(outlook(3, 1).reads, 0);
        assert_eq!(outlook(3, 6), Outlook { until: Some(SimTime(9)), reads: 1 });
    }
}
