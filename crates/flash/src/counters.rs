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

/// Utilisation of channels, dies and encoders, as shares of the elapsed time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// Share of time that each channel was busy.
    pub channels: Vec<f64>,
    /// Share of time that each die was busy.
    pub dies: Vec<f64>,
    /// Share of time that each die was programming, for the host or for relocations, or erasing.
    pub writing: Vec<f64>,
    /// Share of time that each encoder was busy.
    pub encoders: Vec<f64>,
}
