//! Three classes of write cost, kept for each page: shared by the members that regulate cost.

use super::{Facts, ReadAnswer, UnitRead, View};
use kit::{BlockId, Lpn, ModeId, Ppn, Term};

/// Class of cost in which a page was written. A page written at low cost is read at high cost, and vice versa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cost {
    High = 0,
    Medium = 1,
    Low = 2,
}

/// Write modes of the classes, and the read modes that their data needs.
pub(super) struct Costs {
    write: [ModeId; 3],
    read: [ModeId; 3],
    /// Read mode that data of each write mode needs.
    read_mode_of: Vec<ModeId>,
    /// Position of the class in a unit's declared bits.
    shift: u8,
    /// Class of data older than the run, whose bits are zero.
    old: Cost,
    units: [u64; 3],
    reads: [u64; 3],
}

impl Costs {
    /// Sets up the classes from the names of the write modes of low, medium and high cost. The class of a page takes
    /// two of its declared bits, from `shift` on. Data older than the run counts as written at high cost.
    pub fn new([low, medium, high]: [&str; 3], shift: u8, facts: &Facts) -> Costs {
        let write = [high, medium, low].map(|name| facts.write_mode(name));
        let read_mode_of = facts.read_mode_of.clone();
        Costs {
            write,
            read: write.map(|mode| read_mode_of[mode.index()]),
            read_mode_of,
            shift,
            old: Cost::High,
            units: [0; 3],
            reads: [0; 3],
        }
    }

    /// Changes the mode in which data older than the run counts as written.
    pub fn with_old_data_in(self, mode: ModeId) -> Costs {
        Costs { old: self.class_of(mode), ..self }
    }

    /// Returns the write mode of data older than the run.
    pub fn old_mode(&self) -> ModeId {
        self.write_mode(self.old)
    }

    /// Returns the write modes of some classes.
    pub fn modes(&self, costs: &[Cost]) -> Vec<ModeId> {
        costs.iter().map(|&cost| self.write_mode(cost)).collect()
    }

    /// Returns the write mode of a class.
    pub fn write_mode(&self, cost: Cost) -> ModeId {
        self.write[cost.index()]
    }

    /// Returns the class of a unit's current copy, from the unit's bits.
    #[inline]
    pub fn class(&self, bits: u8) -> Cost {
        match bits >> self.shift & 3 ^ self.old as u8 {
            0 => Cost::High,
            1 => Cost::Medium,
            _ => Cost::Low,
        }
    }

    /// Returns the class of a unit's current copy.
    pub fn of(&self, lpn: Lpn, view: &View<'_>) -> Cost {
        self.class(view.bits.get(lpn))
    }

    /// Counts a unit written in a mode, and returns its bits with the class of that mode.
    #[inline]
    pub fn written(&mut self, bits: u8, mode: ModeId) -> u8 {
        let cost = self.class_of(mode);
        self.units[cost.index()] += 1;
        self.with(bits, cost)
    }

    /// Returns a unit's bits with another class.
    #[inline]
    fn with(&self, bits: u8, cost: Cost) -> u8 {
        bits & !(3 << self.shift) | (cost as u8 ^ self.old as u8) << self.shift
    }

    /// Returns the class of data written in a mode. A mode that the policy does not use belongs to the class whose data
    /// is read in the same way, otherwise to the one that is costliest to read.
    #[inline]
    fn class_of(&self, mode: ModeId) -> Cost {
        let all = [Cost::High, Cost::Medium, Cost::Low];
        let written = all.into_iter().find(|cost| self.write_mode(*cost) == mode);
        let read = self.read_mode_of.get(mode.index());
        written.or_else(|| all.into_iter().find(|cost| Some(&self.read[cost.index()]) == read)).unwrap_or(Cost::Low)
    }

    /// Derives the classes of data that another policy wrote, with one mode for each block: a unit whose bits are zero
    /// gets the class of its block's write mode. A unit with other bits has been accessed since, and its class is
    /// known.
    pub fn adopt(&self, view: &mut View<'_>) {
        let geometry = view.medium.geometry;
        for block in (0..geometry.block_count).map(BlockId) {
            let record = view.medium.block(block);
            let cost = self.class_of(ModeId(record.mode()));
            if record.valid == 0 || cost == self.old {
                continue;
            }
            let end = Ppn(geometry.first_of(block).0 + geometry.units_per_block);
            let mut at = geometry.first_of(block);
            while let Some(ppn) = view.medium.next_valid(at, end) {
                let lpn = view.lpn_at(ppn);
                if view.bits.get(lpn) == 0 {
                    view.bits.set(lpn, self.with(0, cost));
                }
                at = Ppn(ppn.0 + 1);
            }
        }
    }

    /// Counts a read of a unit with these bits, and returns the read mode that belongs to the class of its copy.
    #[inline]
    pub fn read(&mut self, read: &UnitRead, bits: u8) -> ReadAnswer {
        let cost = self.class(bits).index();
        self.reads[cost] += u64::from(read.reason == kit::Reason::Host);
        ReadAnswer { mode: Some(self.read[cost]) }
    }

    /// Returns the class for data that is written together: the highest write cost among its units, so that no page is
    /// read at a higher cost than it should be.
    pub fn together(costs: impl Iterator<Item = Cost>) -> Cost {
        costs.min_by_key(|cost| cost.index()).unwrap_or(Cost::High)
    }

    /// Returns the definitions of the statistics.
    pub fn statistics() -> Vec<Term> {
        vec![
            Term::new("low_cost_writes", "units", "Units written at low cost, for any reason."),
            Term::new("medium_cost_writes", "units", "Units written at medium cost, for any reason."),
            Term::new("high_cost_writes", "units", "Units written at high cost, for any reason."),
            Term::new("low_cost_reads", "units", "Host reads at low cost, of data written at high cost."),
            Term::new("medium_cost_reads", "units", "Host reads at medium cost, of data written at medium cost."),
            Term::new("high_cost_reads", "units", "Host reads at high cost, of data written at low cost."),
        ]
    }

    /// Returns the numbers of units written and of host reads, by class. A page written at low cost is read at high
    /// cost.
    pub fn stats(&self) -> Vec<(&'static str, f64)> {
        let [high, medium, low] = self.units.map(|count| count as f64);
        let [low_reads, medium_reads, high_reads] = self.reads.map(|count| count as f64);
        vec![
            ("low_cost_writes", low),
            ("medium_cost_writes", medium),
            ("high_cost_writes", high),
            ("low_cost_reads", low_reads),
            ("medium_cost_reads", medium_reads),
            ("high_cost_reads", high_reads),
        ]
    }
}

impl Cost {
    fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_written_together_is_written_for_its_most_read_page() {
        assert_eq!(Costs::together([Cost::Low, Cost::Medium].into_iter()), Cost::Medium);
        assert_eq!(Costs::together([Cost::Low, Cost::High, Cost::Low].into_iter()), Cost::High);
    }
}
