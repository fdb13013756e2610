//! What the members that regulate cost share: three classes of cost, kept for each page.

use super::{Facts, ReadAnswer, UnitRead, View};
use kit::{BlockId, Lpn, ModeId, Ppn};

/// The class of cost in which a page was written. What is written at low cost is read at high cost, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cost {
    High = 0,
    Medium = 1,
    Low = 2,
}

/// The write modes of the classes, and the read modes that their data needs.
pub(super) struct Costs {
    write: [ModeId; 3],
    read: [ModeId; 3],
    /// The read mode that data of each write mode needs.
    read_mode_of: Vec<ModeId>,
    /// Where in a unit's declared bits its class begins.
    shift: u8,
    /// The class of what is older than the run, whose bits are zero.
    old: Cost,
    units: [u64; 3],
    reads: [u64; 3],
}

impl Costs {
    /// The modes by name: low, medium and high cost; a page's class in two of its declared bits. What is older than the run was written at high cost.
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

    /// The same where what is older than the run was written in another mode.
    pub fn with_old_data_in(self, mode: ModeId) -> Costs {
        Costs { old: self.class_of(mode), ..self }
    }

    /// The write mode of what is older than the run.
    pub fn old_mode(&self) -> ModeId {
        self.write_mode(self.old)
    }

    /// The write modes of classes.
    pub fn modes(&self, costs: &[Cost]) -> Vec<ModeId> {
        costs.iter().map(|&cost| self.write_mode(cost)).collect()
    }

    /// The write mode of a class.
    pub fn write_mode(&self, cost: Cost) -> ModeId {
        self.write[cost.index()]
    }

    /// The class in a unit's bits: that of its current copy.
    #[inline]
    pub fn class(&self, bits: u8) -> Cost {
        match bits >> self.shift & 3 ^ self.old as u8 {
            0 => Cost::High,
            1 => Cost::Medium,
            _ => Cost::Low,
        }
    }

    /// The class of a unit's current copy.
    pub fn of(&self, lpn: Lpn, view: &View<'_>) -> Cost {
        self.class(view.bits.get(lpn))
    }

    /// A unit was written in a mode: its bits with the class of it.
    #[inline]
    pub fn written(&mut self, bits: u8, mode: ModeId) -> u8 {
        let cost = self.class_of(mode);
        self.units[cost.index()] += 1;
        self.with(bits, cost)
    }

    /// A unit's bits with another class.
    #[inline]
    fn with(&self, bits: u8, cost: Cost) -> u8 {
        bits & !(3 << self.shift) | (cost as u8 ^ self.old as u8) << self.shift
    }

    /// The class of what is written in a mode. One that the policy does not use is known by how its data is read; failing that, as the costliest to read.
    #[inline]
    fn class_of(&self, mode: ModeId) -> Cost {
        let all = [Cost::High, Cost::Medium, Cost::Low];
        let written = all.into_iter().find(|cost| self.write_mode(*cost) == mode);
        let read = self.read_mode_of.get(mode.index());
        written.or_else(|| all.into_iter().find(|cost| Some(&self.read[cost.index()]) == read)).unwrap_or(Cost::Low)
    }

    /// What a policy with modes by block has written keeps the mode of its block until it is written again. Of what has been accessed since, the class
    /// is known.
    pub fn adopt(&self, view: &mut View<'_>) {
        let geometry = view.store.geometry;
        for block in (0..geometry.block_count).map(BlockId) {
            let record = view.store.block(block);
            let cost = self.class_of(ModeId(record.mode()));
            if record.valid == 0 || cost == self.old {
                continue;
            }
            let end = Ppn(geometry.first_of(block).0 + geometry.units_per_block);
            let mut at = geometry.first_of(block);
            while let Some(ppn) = view.store.next_valid(at, end) {
                let lpn = view.store.lpn_at(ppn);
                if view.bits.get(lpn) == 0 {
                    view.bits.set(lpn, self.with(0, cost));
                }
                at = Ppn(ppn.0 + 1);
            }
        }
    }

    /// A read of a unit with these bits, in the mode that its copy was written for.
    #[inline]
    pub fn read(&mut self, read: &UnitRead, bits: u8) -> ReadAnswer {
        let cost = self.class(bits).index();
        self.reads[cost] += u64::from(read.reason == kit::Reason::Host);
        ReadAnswer { mode: Some(self.read[cost]) }
    }

    /// The class that data written together gets: the costliest that one of its units asks for, so that no page reads worse than it should.
    pub fn together(costs: impl Iterator<Item = Cost>) -> Cost {
        costs.min_by_key(|cost| cost.index()).unwrap_or(Cost::High)
    }

    /// Units written and host reads, by class. A page written at low cost is read at high cost.
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
