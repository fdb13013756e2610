//! Consistency checks of the FTL's tables, which tests run after every simulation. They change nothing and visit every
//! entry.

use crate::layer::mapping::{DieState, Mapping};
use crate::layer::page_map::ftl::Ftl;
use crate::medium::BlockState;
use kit::{BlockId, DieId, Lpn, ModeId, Ppn};

impl Ftl {
    /// Returns a line for each inconsistency ([`Mapping::audit`](crate::layer::mapping::Mapping::audit)).
    pub(super) fn inconsistencies(&self, at_rest: bool) -> Vec<String> {
        let mut found = Vec::new();
        self.audit_map(&mut found);
        self.audit_blocks(at_rest, &mut found);
        if let Some(rain) = &self.state.rain {
            rain.audit(&self.state.store.medium, &mut found);
        }
        for die in (0..self.state.store.medium.geometry.die_count).map(DieId) {
            self.audit_die(die, &mut found);
        }
        found
    }

    fn audit_map(&self, found: &mut Vec<String>) {
        let mut mapped = 0u64;
        for lpn in (0..self.state.store.all_units as u32).map(Lpn) {
            let Some(ppn) = self.state.store.copy_on_flash(&self.state.writes.queue, lpn) else { continue };
            mapped += 1;
            if !self.state.store.medium.is_valid(ppn) || self.state.store.lpn_at(ppn) != lpn {
                found.push(format!(
                    "{lpn:?} is mapped to {ppn:?}, which holds {:?} (valid: {})",
                    self.state.store.lpn_at(ppn),
                    self.state.store.medium.is_valid(ppn)
                ));
            }
        }
        let valid: u64 = self.state.store.medium.valid.as_slice().iter().map(|word| u64::from(word.count_ones())).sum();
        if valid != mapped || self.mapped_units() != mapped {
            found.push(format!("{mapped} units are mapped, {valid} valid bits set, {} counted by mode", self.mapped_units()));
        }
    }

    fn audit_blocks(&self, at_rest: bool, found: &mut Vec<String>) {
        let geometry = &self.state.store.medium.geometry;
        let mut by_mode = [0u64; 16];
        let mut kept = vec![0; geometry.block_count as usize];
        let pinned = self.state.journal.iter().flat_map(|journal| journal.pinned());
        pinned.for_each(|ppn| kept[geometry.block_of(ppn).index()] += 1);
        for block in (0..geometry.block_count).map(BlockId) {
            let record = self.state.store.medium.block(block);
            let first = geometry.first_of(block).0;
            let valid =
                (first..first + geometry.units_per_block).filter(|&ppn| self.state.store.medium.is_valid(Ppn(ppn))).count();
            by_mode[record.mode() as usize % 16] += valid as u64;
            let holds_copies = record.is(BlockState::Area) && self.protects_pairs();
            let empty = record.state().is_unused() && !holds_copies || record.state() == BlockState::Erasing;
            if valid != usize::from(record.valid) || empty && valid > 0 {
                found.push(format!("{block:?} has {valid} valid bits, its record: {record:?}"));
            }
            if at_rest && self.state.moves.in_flight == 0 && record.pins() != kept[block.index()] {
                found.push(format!("{block:?} is pinned in a drive at rest: {record:?}"));
            }
        }
        let wear = || self.state.store.medium.wear.iter();
        let (total, most) = (wear().map(|wear| u64::from(*wear)).sum(), wear().copied().max().unwrap_or(0));
        let erases: u64 = self.state.store.medium.erase_counts.iter().map(|count| u64::from(*count)).sum();
        if erases != self.state.store.medium.erase_total {
            found.push(format!("blocks were erased {erases} times, counted as {}", self.state.store.medium.erase_total));
        }
        if (total, most) != (self.state.store.medium.wear_total, self.state.store.medium.wear_most) {
            let (known, known_most) = (self.state.store.medium.wear_total, self.state.store.medium.wear_most);
            found.push(format!("effective wear is {total} in all and {most} at most, counted as {known} and {known_most}"));
        }
        if by_mode != self.state.store.medium.valid_by_mode {
            found.push(format!("valid units by mode: {by_mode:?}, counted as {:?}", self.state.store.medium.valid_by_mode));
        }
    }

    fn audit_die(&self, die: DieId, found: &mut Vec<String>) {
        let blocks = || self.state.store.medium.geometry.blocks_of(die).map(BlockId);
        let count = |state: BlockState| blocks().filter(|&block| self.state.store.medium.block(block).state() == state).count();
        let frontiers =
            self.state.space.open_blocks().filter(|open| self.state.store.medium.geometry.die_of(open.block) == die).count();
        let waiting = self.state.rain.as_ref().map_or(0, |rain| rain.waiting_for_erase(die));
        let victims = usize::from(self.state.collectors[die.index()].victim.is_some()) + waiting;
        let listed = self
            .state
            .store
            .medium
            .closed_blocks(die)
            .filter(|&block| self.state.store.medium.block(block).state() == BlockState::Closed)
            .count();
        let counted = [
            ("free", count(BlockState::Free), self.state.space.free_blocks(die) as usize),
            ("open", count(BlockState::Open), frontiers),
            ("closed", count(BlockState::Closed), self.state.store.medium.closed_count(die) as usize),
            ("closed", count(BlockState::Closed), listed),
            ("retired", count(BlockState::Retired), self.state.store.medium.retired_blocks(die) as usize),
            ("failed", count(BlockState::Failed), self.failed_blocks(die)),
            ("taken", count(BlockState::Victim) + count(BlockState::Erasing), victims),
        ];
        // Firmware that is executed keeps its own account of these.
        let is_firmwares = |what: &str| self.state.space.is_handed_over() && ["open", "taken"].contains(&what);
        for (what, blocks, known) in counted.into_iter().filter(|(what, blocks, known)| blocks != known && !is_firmwares(what)) {
            found.push(format!("{die:?} has {blocks} {what} blocks, and counts {known}"));
        }
        for mode in (0..self.derived.parameters.facts.write_modes.len() as u8).map(ModeId) {
            let least = blocks()
                .filter(|&block| {
                    self.state.store.medium.block(block).state() == BlockState::Closed
                        && self.state.store.medium.block(block).mode() == mode.0
                })
                .map(|block| self.state.store.medium.block(block).valid)
                .min();
            let known = self.state.store.medium.min_valid(die, mode).map(|(_, valid)| valid);
            if least != known {
                found.push(format!(
                    "{die:?}: the least valid closed block of {mode:?} has {least:?} units, the index says {known:?}"
                ));
            }
        }
    }
}

impl Ftl {
    /// Returns the number of blocks of a die whose failed program no die has had room for.
    fn failed_blocks(&self, die: DieId) -> usize {
        let geometry = &self.state.store.medium.geometry;
        self.state.repairs.unplaced().filter(|program| geometry.die_of(geometry.block_of(program.first)) == die).count()
    }

    /// Returns the position of a die in its cycle of host writes and collections.
    pub(super) fn position_of(&self, die: DieId) -> DieState {
        let geometry = &self.state.store.medium.geometry;
        let open = self.state.space.open_blocks().filter(|open| geometry.die_of(open.block) == die);
        let fill = |block: BlockId, next: u32| {
            f64::from(next) / f64::from(self.state.store.medium.units_in(ModeId(self.state.store.medium.block(block).mode())))
        };
        let collector = &self.state.collectors[die.index()];
        DieState {
            free_blocks: self.state.space.free_blocks(die),
            valid: geometry.blocks_of(die).map(|block| u64::from(self.state.store.medium.block(BlockId(block)).valid)).sum(),
            open: open.map(|open| (open.stream, fill(open.block, open.next_unit))).collect(),
            victim: collector
                .victim
                .map(|block| (u32::from(self.state.store.medium.block(block).valid), collector.initial_valid)),
        }
    }

    /// Describes waiting work for the report of a stall: page moves, write queues, and the free blocks, collection,
    /// frontiers and block fill of each die.
    pub(super) fn waiting_work(&self) -> String {
        let mut text = format!(
            "{} page moves ({} urgent, {} read), {} dies have room",
            self.state.moves.in_flight,
            self.state.moves.urgent,
            self.state.moves.ready.len(),
            self.state.space.dies_with_space()
        );
        if let Some(cache) = &self.state.map_cache {
            text += &format!("; mapping cache: {cache:?}");
        }
        if let Some(journal) = &self.state.journal {
            text += &journal.describe(&self.state.store.medium);
        }
        if let Some(rain) = &self.state.rain {
            text += &rain.describe(&self.state.store.medium);
        }
        for die in (0..self.state.store.medium.geometry.die_count).map(DieId) {
            let collector = &self.state.collectors[die.index()];
            let victim = collector.victim.map(|block| (block, self.state.store.medium.block(block)));
            text += &format!(
                "\ndie {}: {} writes wait since {:?}, {} free blocks, room: {}, victim {victim:?}, {} gathered, reading: {}, urgent: {}, {} wanted",
                die.0,
                self.state.writes.queue.len(self.state.writes.list_of(die)),
                self.demand(die).oldest_write,
                self.state.space.free_blocks(die),
                self.state.space.has_space(die),
                collector.gathered.len(),
                collector.reading,
                collector.urgent,
                collector.request_count(),
            );
            for open in self.state.space.open_blocks().filter(|open| self.state.store.medium.geometry.die_of(open.block) == die) {
                text += &format!("; {open:?}, mode {}", self.state.store.medium.block(open.block).mode());
            }
            text += &format!(
                "; lost: {}, {} retired; valid of programmed units in the others:",
                self.is_lost(die),
                self.state.store.medium.retired_blocks(die)
            );
            let blocks = (0..self.state.store.medium.geometry.block_count)
                .map(kit::BlockId)
                .filter(|block| self.state.store.medium.geometry.die_of(*block) == die);
            for (block, record) in
                blocks.map(|block| (block, self.state.store.medium.block(block))).filter(|(_, record)| record.programmed > 0)
            {
                text += &format!(" {}:{}/{}m{}", block.0, record.valid, record.programmed, record.mode());
            }
        }
        text
    }
}
