//! Counts of the operations of the flash.

use kit::reason::REASON_COUNT;
use kit::{Operation, OperationKind};

/// Counts of flash operations. Units programmed are counted by reason in the FTL, where they are bound.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Mapping units read, by reason.
    pub reads: [u64; REASON_COUNT],
    /// Blocks erased, by reason.
    pub erases: [u64; REASON_COUNT],
    /// Operations started, by kind: reads, programs, erases, copybacks, lazy erases.
    pub operations: [u64; 5],
    /// Erase operations by erase mode, without lazy erases.
    pub erase_modes: Vec<u64>,
    /// Read operations by read mode.
    pub read_modes: Vec<u64>,
    /// Program and copyback operations by write mode.
    pub write_modes: Vec<u64>,
    /// Suspensions of programs and erases.
    pub suspensions: u64,
}

impl Counters {
    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &Counters) -> Counters {
        let minus = |now: &[u64], before: &[u64], at: usize| now[at] - before[at];
        Counters {
            reads: std::array::from_fn(|at| minus(&self.reads, &earlier.reads, at)),
            erases: std::array::from_fn(|at| minus(&self.erases, &earlier.erases, at)),
            operations: std::array::from_fn(|at| minus(&self.operations, &earlier.operations, at)),
            erase_modes: self.erase_modes.iter().zip(&earlier.erase_modes).map(|(now, before)| now - before).collect(),
            read_modes: self.read_modes.iter().zip(&earlier.read_modes).map(|(now, before)| now - before).collect(),
            write_modes: self.write_modes.iter().zip(&earlier.write_modes).map(|(now, before)| now - before).collect(),
            suspensions: self.suspensions - earlier.suspensions,
        }
    }

    /// Counts one operation as it starts.
    #[inline]
    pub fn count(&mut self, operation: &Operation) {
        let (reason, pages) = (operation.reason as usize, u64::from(operation.pages));
        self.operations[operation.kind as usize] += 1;
        match operation.kind {
            OperationKind::Read => {
                self.reads[reason] += u64::from(operation.units);
                self.read_modes[operation.mode.index()] += 1;
            }
            OperationKind::LazyErase => {}
            OperationKind::Program => {
                self.write_modes[operation.mode.index()] += 1;
            }
            OperationKind::Erase => {
                self.erases[reason] += pages;
                self.erase_modes[operation.mode.index()] += 1;
            }
            OperationKind::Copyback => {
                self.reads[reason] += u64::from(operation.units);
                self.write_modes[operation.mode.index()] += 1;
            }
        }
    }
}

/// Utilisation of channels and dies, as shares of the elapsed time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// Share of time that each channel was busy.
    pub channels: Vec<f64>,
    /// Share of time that each die was busy.
    pub dies: Vec<f64>,
    /// Share of time that each die was programming, for the host or for relocations, or erasing.
    pub writing: Vec<f64>,
    /// Mean share of the page buffers of each channel that were in use; empty if their number is not limited.
    pub page_buffers: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{ModeId, Reason};

    /// Each kind of operation once, with other numbers of units and pages: what is counted, and what is not.
    #[test]
    fn every_operation_is_counted_where_it_belongs() {
        let mut counters =
            Counters { erase_modes: vec![0; 3], read_modes: vec![0; 3], write_modes: vec![0; 3], ..Counters::default() };
        let before = counters.clone();
        for (kind, reason, units, pages, mode) in [
            (OperationKind::Read, Reason::Host, 3, 2, 1),
            (OperationKind::Program, Reason::Gc, 5, 4, 2),
            (OperationKind::Erase, Reason::Wear, 0, 6, 1),
            (OperationKind::Copyback, Reason::Gc, 1, 1, 0),
            (OperationKind::LazyErase, Reason::Host, 0, 6, 2),
        ] {
            counters.count(&Operation { kind, reason, units, pages, mode: ModeId(mode), ..Operation::default() });
        }
        counters.count(&Operation { reason: Reason::Host, units: 4, pages: 1, ..Operation::default() });
        let of = |counts: [u64; REASON_COUNT], reason: Reason| counts[reason as usize];
        assert_eq!((of(counters.reads, Reason::Host), of(counters.reads, Reason::Gc)), (3 + 4, 1));
        assert_eq!((of(counters.erases, Reason::Wear), counters.erases.iter().sum::<u64>()), (6, 6));
        assert_eq!(counters.operations, [2, 1, 1, 1, 1]);
        let modes = (&counters.read_modes[..], &counters.write_modes[..], &counters.erase_modes[..]);
        assert_eq!(modes, (&[1, 1, 0][..], &[1, 0, 1][..], &[0, 1, 0][..]));
        let earlier = counters.clone();
        counters.count(&Operation { reason: Reason::Rmw, units: 2, pages: 1, mode: ModeId(2), ..Operation::default() });
        counters.suspensions += 1;
        let Counters { reads, erases, operations, erase_modes, read_modes, write_modes, suspensions } = counters.since(&earlier);
        assert_eq!((of(reads, Reason::Rmw), reads.iter().sum::<u64>(), operations), (2, 2, [1, 0, 0, 0, 0]));
        assert_eq!((erases.iter().sum::<u64>(), erase_modes, write_modes), (0, vec![0; 3], vec![0; 3]));
        assert_eq!((read_modes, suspensions), (vec![0, 0, 1], 1));
        assert_eq!(earlier.since(&before).operations, earlier.operations);
    }
}
