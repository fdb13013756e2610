//! State of the banks, ranks and buses of a channel, and the earliest cycles of commands.
//!
//! Each rule is kept as the first cycle at which a command is legal again. Chunks are placed in the order of the
//! decisions; column commands, and activates of a rank, are issued in that order.

use super::bus::{CommandBus, Train};
use super::gaps::{Direction, Gaps};
use super::params::Page;
use super::timing::Timing;

/// Most ranks of a channel.
pub(super) const RANKS: usize = 4;
/// Most bank groups of a rank.
const GROUPS: usize = 4;

/// No row is open.
const CLOSED: u32 = u32::MAX;

/// A bank: its row, and the first cycles at which commands are legal by the rules within the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bank {
    /// Number of the open row, counted over all banks; [`CLOSED`] if none is open.
    row: u32,
    activate: u64,
    column: u64,
    precharge: u64,
}

/// The first cycles at which an activate of a rank is legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rank {
    activate: u64,
    /// By bank group.
    activate_group: [u64; GROUPS],
    /// By tFAW, after each of the last four activates. The oldest is at `oldest`.
    window: [u64; 4],
    oldest: usize,
    /// Refresh of a bank.
    refresh_bank: u64,
    open: Open,
}

/// The time for which a rank has a row open, for its energy.
///
/// Known error: where a decision opens the rows of a pair of banks, or refreshes a bank, up to tRP between a precharge
/// and an activate that is placed later counts as open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    /// Banks with an open row.
    banks: u32,
    /// Cycle from which a row has been open without a break.
    since: u64,
    /// Cycle of the latest precharge.
    closed: u64,
    /// Cycles until `since`.
    before: u64,
}

impl Open {
    /// Notes the activate of a bank.
    #[inline]
    fn opens(&mut self, cycle: u64) {
        if self.banks == 0 && cycle > self.closed {
            self.before += self.closed - self.since;
            self.since = cycle;
            self.closed = cycle;
        }
        self.banks += 1;
    }

    /// Notes the precharge of banks with an open row.
    #[inline]
    fn close(&mut self, banks: u32, cycle: u64) {
        self.banks -= banks;
        self.closed = self.closed.max(cycle);
    }

    /// Returns the cycles until `now`.
    fn until(&self, now: u64) -> u64 {
        let end = if self.banks > 0 { now } else { self.closed.min(now) };
        self.before + end.saturating_sub(self.since)
    }
}

/// A chunk: column commands to one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Number of the row, counted over all banks.
    pub row: u32,
    /// Number of the first burst.
    pub burst: u64,
    /// Bursts.
    pub bursts: u64,
    /// Direction of the data.
    pub direction: Direction,
}

/// State in which a chunk found its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// Open in all banks of the chunk.
    Open,
    /// A bank had no open row.
    Closed,
    /// A bank had another open row.
    Conflict,
}

/// Kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Activate,
    #[cfg(test)]
    Read,
    #[cfg(test)]
    Write,
    /// Read with auto-precharge.
    #[cfg(test)]
    ReadClose,
    /// Write with auto-precharge.
    #[cfg(test)]
    WriteClose,
    Precharge,
    PrechargeAll,
    Refresh,
    RefreshBank,
}

/// A command, for tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub cycle: u64,
    /// Cycle of the decision.
    pub decided: u64,
    pub kind: Kind,
    pub rank: usize,
    /// Number of the bank in its rank; 0 for a command to the rank.
    pub bank: usize,
    /// Row of an activate or a column command, counted over all banks.
    pub row: u32,
}

/// A channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    timing: Timing,
    gaps: Gaps,
    page: Page,
    /// A row extends over two banks of different groups.
    pairs: bool,
    /// Column commands in the same direction to the same row may follow each other at the distance of their data.
    streams: bool,
    /// There are several ranks or bank groups.
    has_others: bool,
    /// Rows side by side in all ranks, less one; a power of two less one.
    row_mask: u32,
    /// Binary logarithm of the rows side by side in a rank.
    rank_shift: u32,
    banks: Vec<Bank>,
    ranks: Vec<Rank>,
    /// First cycle of a column command, by direction, rank and bank group.
    column: [[[u64; GROUPS]; RANKS]; 2],
    bus: CommandBus,
    /// Activates.
    pub activates: u64,
    /// Commands, if they are recorded.
    #[cfg(test)]
    pub log: Option<Vec<Command>>,
}

impl Channel {
    pub fn new(timing: &Timing, ranks: usize, page: Page) -> Channel {
        let pairs = timing.groups > 1;
        let side_by_side = timing.banks / if pairs { 2 } else { 1 };
        let bank = Bank { row: CLOSED, activate: 0, column: 0, precharge: 0 };
        let gaps = Gaps::new(timing);
        let streams = |direction: usize| {
            let (gap, stride) = (&gaps.column[direction][direction], timing.burst_cycles());
            gap.same_rank == stride && gap.same_group <= if pairs { 2 * stride } else { stride }
        };
        Channel {
            timing: *timing,
            streams: streams(0) && streams(1),
            has_others: pairs || ranks > 1,
            gaps,
            page,
            pairs,
            row_mask: side_by_side as u32 * ranks as u32 - 1,
            rank_shift: side_by_side.ilog2(),
            banks: vec![bank; timing.banks as usize * ranks],
            ranks: vec![Rank::default(); ranks],
            column: Default::default(),
            bus: CommandBus::new(timing.burst_cycles()),
            activates: 0,
            #[cfg(test)]
            log: None,
        }
    }

    /// Returns true if a row extends over two banks.
    pub fn has_pairs(&self) -> bool {
        self.pairs
    }

    /// Returns the index of the bank of a burst of a row.
    #[inline]
    fn bank_of(&self, row: u32, burst: u64) -> usize {
        let place = (row & self.row_mask) as usize;
        if self.pairs { place * 2 + (burst & 1) as usize } else { place }
    }

    /// Returns true if the row is open in all banks of the chunk.
    #[inline]
    pub fn is_open(&self, chunk: &Chunk) -> bool {
        let bank = self.bank_of(chunk.row, chunk.burst);
        let has_partner = self.pairs && chunk.bursts > 1;
        self.banks[bank].row == chunk.row && (!has_partner || self.banks[bank ^ 1].row == chunk.row)
    }

    /// Returns the rank of a chunk, and the index of the bank of its first burst.
    #[inline]
    fn place_of(&self, chunk: &Chunk) -> (usize, usize) {
        let rank = (chunk.row & self.row_mask) >> self.rank_shift;
        (rank as usize, self.bank_of(chunk.row, chunk.burst))
    }

    /// Returns true if a chunk is in both banks of its row.
    #[inline]
    fn has_partner(&self, chunk: &Chunk) -> bool {
        self.pairs && chunk.bursts > 1
    }

    /// Returns the cycles from a column command to its data.
    #[inline]
    pub fn latency(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.timing.cl,
            Direction::Write => self.timing.cwl,
        }
    }

    /// Places the commands of a chunk at or after the cycle `at`, that of the decision. Returns the column commands and
    /// the state in which the row was found.
    #[inline(always)]
    pub fn place(&mut self, chunk: &Chunk, at: u64) -> (Train, Found) {
        self.bus.advance(at);
        let (rank, bank) = self.place_of(chunk);
        let mut found = self.open(rank, bank, chunk.row);
        if self.has_partner(chunk) {
            found = found.max(self.open(rank, bank ^ 1, chunk.row));
        }
        let from = self.earliest_train(chunk, rank, bank);
        let train = self.bus.place_train(from, chunk.bursts, self.latency(chunk.direction));
        #[cfg(test)]
        self.record_train(chunk, train.first);
        self.train_ends(chunk, rank, bank, train.last);
        (train, found)
    }

    /// Returns true if a chunk of an open row can follow the last one in that row without a gap, from this cycle on,
    /// and further ones in the row can follow it.
    #[inline]
    pub fn streams_from(&self, chunk: &Chunk, first: u64) -> bool {
        if !self.streams || !self.bus.is_free_from(first) {
            return false;
        }
        // Within one bank, only the last chunk has an effect. The other bank of a pair may have been written before.
        let (rank, bank) = self.place_of(chunk);
        !self.pairs || self.earliest_train(chunk, rank, bank) <= first
    }

    /// Places column commands that follow the last chunk in its row without a gap, up to the cycle `last`. `chunk` is
    /// all of the chunks that they form.
    #[inline]
    pub fn extend(&mut self, chunk: &Chunk, last: u64) {
        self.bus.extend_train(last);
        #[cfg(test)]
        self.record_train(chunk, last - (chunk.bursts - 1) * self.timing.burst_cycles());
        let (rank, bank) = self.place_of(chunk);
        self.train_ends(chunk, rank, bank, last);
    }

    /// Returns the earliest first column command of a chunk whose row has been activated.
    #[inline]
    fn earliest_train(&self, chunk: &Chunk, rank: usize, bank: usize) -> u64 {
        let from = self.earliest_column(chunk.direction, rank, bank);
        if !self.has_partner(chunk) {
            return from;
        }
        from.max(self.earliest_column(chunk.direction, rank, bank ^ 1).saturating_sub(self.timing.burst_cycles()))
    }

    /// Notes the last column command of a chunk, or of several that follow one another.
    #[inline]
    fn train_ends(&mut self, chunk: &Chunk, rank: usize, bank: usize, last: u64) {
        if self.has_partner(chunk) {
            // The last burst is in the bank of the first one if the number of bursts is odd.
            let last_bank = bank ^ ((chunk.bursts - 1) & 1) as usize;
            self.columns_end(chunk.direction, rank, last_bank ^ 1, last - self.timing.burst_cycles());
            self.columns_end(chunk.direction, rank, last_bank, last);
        } else {
            self.columns_end(chunk.direction, rank, bank, last);
        }
    }

    /// Returns the earliest column command to a bank whose row has been activated.
    #[inline]
    fn earliest_column(&self, direction: Direction, rank: usize, bank: usize) -> u64 {
        self.banks[bank].column.max(self.column[direction as usize][rank % RANKS][self.group_of(bank) % GROUPS])
    }

    #[inline]
    fn group_of(&self, bank: usize) -> usize {
        bank & (self.timing.groups as usize - 1)
    }

    /// Opens a row in a bank, if it is not open.
    #[inline]
    fn open(&mut self, rank: usize, bank: usize, row: u32) -> Found {
        let open = self.banks[bank].row;
        if open == row {
            return Found::Open;
        }
        if open != CLOSED {
            self.precharge(bank);
        }
        self.activate(rank, bank, row);
        if open == CLOSED { Found::Closed } else { Found::Conflict }
    }

    fn precharge(&mut self, bank: usize) {
        let cycle = self.bus.place(self.banks[bank].precharge);
        self.record(Kind::Precharge, cycle, bank, CLOSED);
        self.ranks[bank / self.timing.banks as usize].open.close(1, cycle);
        let state = &mut self.banks[bank];
        state.row = CLOSED;
        state.activate = state.activate.max(cycle + self.timing.rp);
    }

    fn activate(&mut self, rank: usize, bank: usize, row: u32) {
        let from = self.banks[bank].activate.max(self.earliest_activate(rank, bank));
        let cycle = self.bus.place(from);
        self.record(Kind::Activate, cycle, bank, row);
        self.activates += 1;
        self.ranks[rank].open.opens(cycle);
        self.activated(rank, bank, cycle);
        let timing = &self.timing;
        let state = &mut self.banks[bank];
        state.row = row;
        state.activate = cycle + timing.rc;
        state.column = cycle + timing.rcd;
        state.precharge = cycle + timing.ras;
    }

    /// Returns the earliest activate by the rules of the rank.
    #[inline]
    fn earliest_activate(&self, rank: usize, bank: usize) -> u64 {
        let state = &self.ranks[rank];
        state.activate.max(state.activate_group[self.group_of(bank)]).max(state.window[state.oldest])
    }

    /// Notes an activate in its rank. With tFAW of 0 the window has no effect: it is over at the activate.
    #[inline]
    fn activated(&mut self, rank: usize, bank: usize, cycle: u64) {
        let group = self.group_of(bank);
        let timing = &self.timing;
        let state = &mut self.ranks[rank];
        state.activate = cycle + timing.rrd_s;
        state.activate_group[group] = cycle + timing.rrd_l;
        state.window[state.oldest] = cycle + timing.faw;
        state.oldest = (state.oldest + 1) & 3;
    }

    /// Notes the last column command of a chunk to a bank, and closes the row with a closed page.
    #[inline]
    fn columns_end(&mut self, direction: Direction, rank: usize, bank: usize, last: u64) {
        let group = self.group_of(bank);
        for (gap, columns) in self.gaps.column[direction as usize].iter().zip(&mut self.column) {
            let earliest = &mut columns[rank % RANKS][group % GROUPS];
            *earliest = (*earliest).max(last + gap.same_group);
        }
        // Most channels have one rank, and no bank groups.
        if self.has_others {
            self.raise_others(direction, rank, last);
        }
        let to_precharge = match direction {
            Direction::Read => self.gaps.read_to_precharge,
            Direction::Write => self.gaps.write_to_precharge,
        };
        let state = &mut self.banks[bank];
        state.precharge = state.precharge.max(last + to_precharge);
        if self.page == Page::Closed {
            state.row = CLOSED;
            state.activate = state.activate.max(state.precharge + self.timing.rp);
            let cycle = state.precharge;
            self.ranks[rank].open.close(1, cycle);
        }
    }

    /// Notes the last column command of a chunk to a bank for the other groups and ranks.
    fn raise_others(&mut self, direction: Direction, rank: usize, last: u64) {
        let (ranks, groups) = (self.ranks.len(), self.timing.groups as usize);
        for (gap, columns) in self.gaps.column[direction as usize].iter().zip(&mut self.column) {
            for (other, of_rank) in columns[..ranks].iter_mut().enumerate() {
                let least = last + if other == rank { gap.same_rank } else { gap.other_rank };
                of_rank[..groups].iter_mut().for_each(|earliest| *earliest = (*earliest).max(least));
            }
        }
    }

    /// Refreshes all banks of all ranks, at or after the cycle `at`. Returns the first cycle at which every bank may be
    /// activated again.
    pub fn refresh(&mut self, at: u64) -> u64 {
        self.bus.advance(at);
        let banks = self.timing.banks as usize;
        let mut ready = at;
        for rank in 0..self.ranks.len() {
            let first = rank * banks;
            let (mut open, mut precharge, mut activate) = (0, 0, 0);
            for bank in &self.banks[first..first + banks] {
                activate = bank.activate.max(activate);
                if bank.row != CLOSED {
                    open += 1;
                    precharge = bank.precharge.max(precharge);
                }
            }
            if open > 0 {
                let cycle = self.bus.place(precharge);
                self.record(Kind::PrechargeAll, cycle, first, CLOSED);
                self.ranks[rank].open.close(open, cycle);
                activate = activate.max(cycle + self.timing.rp_all);
            }
            let cycle = self.bus.place(activate);
            self.record(Kind::Refresh, cycle, first, CLOSED);
            ready = cycle + self.timing.rfc;
            for bank in &mut self.banks[first..first + banks] {
                bank.row = CLOSED;
                bank.activate = ready;
            }
        }
        ready
    }

    /// Refreshes one bank of each rank, at or after the cycle `at`. The refresh of a bank counts as an activate of its
    /// rank. Returns the first cycle at which the bank may be activated again.
    pub fn refresh_bank(&mut self, number: usize, at: u64) -> u64 {
        self.bus.advance(at);
        let mut ready = at;
        for rank in 0..self.ranks.len() {
            let bank = rank * self.timing.banks as usize + number;
            if self.banks[bank].row != CLOSED {
                self.precharge(bank);
            }
            let from = self.banks[bank].activate.max(self.earliest_activate(rank, bank)).max(self.ranks[rank].refresh_bank);
            let cycle = self.bus.place(from);
            self.record(Kind::RefreshBank, cycle, bank, CLOSED);
            self.activated(rank, bank, cycle);
            ready = cycle + self.timing.rfc_bank;
            self.banks[bank].activate = ready;
            self.ranks[rank].refresh_bank = ready;
        }
        ready
    }

    /// Returns the cycles until `now` for which a rank had a row open, of all ranks together.
    pub fn cycles_open(&self, now: u64) -> u64 {
        self.ranks.iter().map(|rank| rank.open.until(now)).sum()
    }

    /// Returns the picoseconds of data, after an instant, of the chunks that have been placed.
    pub fn data_after(&self, now_ps: u128) -> u128 {
        let tck_ps = u128::from(self.timing.tck_ps);
        self.bus.data_after(now_ps, |cycle| u128::from(cycle) * tck_ps)
    }

    /// Records a command to a bank, counted over all ranks, if commands are recorded.
    #[cfg(test)]
    fn record(&mut self, kind: Kind, cycle: u64, bank: usize, row: u32) {
        let banks = self.timing.banks as usize;
        if let Some(log) = &mut self.log {
            let decided = self.bus.now();
            log.push(Command { cycle, decided, kind, rank: bank / banks, bank: bank % banks, row });
        }
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn record(&mut self, _: Kind, _: u64, _: usize, _: u32) {}

    /// Records the commands of a train from its first cycle on. With a closed page, the last one to each bank closes
    /// the row.
    #[cfg(test)]
    fn record_train(&mut self, chunk: &Chunk, first: u64) {
        for number in 0..chunk.bursts {
            let is_last = chunk.bursts - number <= if self.pairs { 2 } else { 1 };
            let kind = match (chunk.direction, is_last && self.page == Page::Closed) {
                (Direction::Read, false) => Kind::Read,
                (Direction::Read, true) => Kind::ReadClose,
                (Direction::Write, false) => Kind::Write,
                (Direction::Write, true) => Kind::WriteClose,
            };
            let cycle = first + number * self.timing.burst_cycles();
            self.record(kind, cycle, self.bank_of(chunk.row, chunk.burst + number), chunk.row);
        }
    }
}
