//! The cap on the power, checked from the array phases in the journal, for drives with constant currents.

use super::{Check, ensure};
use drive::{Description, Drive};
use flash::power::{PowerConfig, Waveform};
use kit::{OperationKind, Record};

/// The cap of a drive, and the changes of its current so far.
#[derive(Clone)]
pub(super) struct PowerWatch {
    config: PowerConfig,
    dies: u64,
    /// Time for sensing within a copyback by page type \[ns\].
    sense: Vec<u64>,
    /// Instant \[ns\] and change of the current above that of dies at rest \[uA\].
    changes: Vec<(u64, i64)>,
}

impl PowerWatch {
    /// Returns the watch of a drive with a cap.
    pub fn of(drive: &Drive, description: &Description) -> Option<PowerWatch> {
        let config = description.power.clone().filter(|power| power.cap.is_some())?;
        let geometry = description.geometry();
        let sense = |page_type: u32| drive.flash().timing().copyback_sense(page_type).0;
        Some(PowerWatch {
            config,
            dies: u64::from(geometry.die_count),
            sense: (0..geometry.shape.bits_per_cell).map(sense).collect(),
            changes: Vec::new(),
        })
    }

    /// Returns the greatest current of a die in an array phase of `span` ns, above that of a die at rest \[uA\].
    fn current(&self, kind: OperationKind, page_type: u32, span: u64) -> i64 {
        let constant = |waveform: &Waveform| match waveform {
            Waveform::Constant(constant) => constant.current.0 as i64,
            other => panic!("{other:?}: the watch expects constant currents"),
        };
        let (read, program) = (constant(self.config.read.of(page_type)), constant(self.config.program.of(page_type)));
        let current = match kind {
            OperationKind::Read => read,
            OperationKind::Program => program,
            // Where times are random, one may be over before it programs.
            OperationKind::Copyback if span <= self.sense[page_type as usize] => read,
            OperationKind::Copyback => read.max(program),
            OperationKind::Erase | OperationKind::LazyErase => constant(&self.config.erase),
        };
        current - self.config.idle.0 as i64
    }

    /// Follows a record.
    pub fn follow(&mut self, record: &Record) {
        if let Record::ArraySpan { kind, page_type, begin, end, .. } = *record
            && begin < end
        {
            let current = self.current(kind, page_type, end.since(begin).0);
            self.changes.extend([(begin.0, current), (end.0, -current)]);
        }
    }

    /// Forgets what was followed, for a drive whose clock may be another one.
    pub fn clear(&mut self) {
        self.changes.clear();
    }

    /// Checks that the power was at or under the cap at every instant.
    pub fn check(&self) -> Check {
        let mut changes = self.changes.clone();
        // At one instant, array phases end before others begin.
        changes.sort_unstable();
        let rest = (self.config.idle.0 * self.dies) as i64;
        let (mut level, cap) = (rest, self.config.cap.unwrap_or_default());
        for (at, change) in changes {
            level += change;
            let nanowatts = level as u64 * self.config.supply.0;
            ensure(nanowatts <= cap.0, || format!("{nanowatts} nW at {at} ns: the cap is {cap}"))?;
        }
        Ok(())
    }
}
