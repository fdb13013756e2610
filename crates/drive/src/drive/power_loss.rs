//! Loss of power without warning, at any instant: operations in progress are interrupted, and volatile memory is lost.

use super::{Drive, NO_MAP};
use ftl::{Drain, Forgery, Remains, RowsRead, Translator};
use kit::queue::Class;
use kit::{BlockId, CommandId, DieId, Event, HostCommand, Nanos, Operation, OperationKind, Owner, Ppn, Reason, SimTime, Timer};

/// First place of an operation that names none.
const NO_PLACE: Ppn = Ppn(u32::MAX);

/// Record of a loss of power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerLoss {
    /// Instant at which power was lost.
    pub failed: SimTime,
    /// Instant at which power came back.
    pub back: SimTime,
    /// Time from then until the drive serves commands.
    pub recovery: Nanos,
    /// Flash reads in this time.
    pub recovery_reads: u64,
    /// Units whose newest copy on flash was not found, or whose trim was recorded on a die that is lost.
    pub durable_lost: u64,
    /// True if all blocks were searched because a part of the map's journal is on a lost die.
    pub lacks_journal: bool,
    /// Units in the write buffer that had not been programmed, whether their commands were complete or not.
    pub volatile_lost: u64,
    /// Pages whose program was interrupted.
    pub torn_pages: u64,
    /// Blocks whose erase was interrupted.
    pub half_erased: Vec<BlockId>,
    /// Blocks that the recovery gave up, so that their dies have a free block.
    pub given_up: Vec<BlockId>,
    /// Commands that were submitted and had not completed. They never will.
    pub lost_commands: Vec<(CommandId, HostCommand)>,
}

/// The rows of a die that are still to be read.
struct Scan<'a> {
    blocks: &'a [RowsRead],
    /// Rows of the first of these blocks that have been read.
    row: u32,
}

impl Drive {
    /// Prepares a new drive for losses of power: from its starting state on it keeps the metadata of programs that
    /// recovery needs.
    pub fn keep_metadata(&mut self) -> std::io::Result<()> {
        self.ftl.page_map_mut().expect(NO_MAP).keep_metadata()
    }

    /// Returns true if the drive keeps the metadata of programs.
    pub(crate) fn keeps_metadata(&self) -> bool {
        matches!(&self.ftl, Translator::PageMap(map) if map.keeps_metadata())
    }

    /// Returns what becomes of this drive if it loses power now for the time `down`: `anew`, a new drive of the same
    /// description, with what remains of this one, once it has recovered. This drive goes on.
    ///
    /// # Panics
    /// If this drive keeps no metadata ([`Drive::keep_metadata`]).
    pub fn after_power_loss(&self, mut anew: Drive, down: Nanos) -> std::io::Result<(Drive, PowerLoss)> {
        anew.keep_faults(self.faults.as_deref());
        let loss = anew.recover(self.remains()?, self.now, down);
        Ok((anew, PowerLoss { volatile_lost: self.host.buffer().used(), ..loss }))
    }

    /// Returns what becomes of this drive like [`Drive::after_power_loss`], but with a defect planted in its recovery,
    /// for tests; `None` if there is nothing that the defect could change.
    #[doc(hidden)]
    pub fn after_forged_loss(&self, mut anew: Drive, forgery: Forgery) -> std::io::Result<Option<(Drive, PowerLoss)>> {
        let mut remains = self.remains()?;
        if !remains.forge(forgery) {
            return Ok(None);
        }
        let loss = anew.recover(remains, self.now, Nanos(1));
        Ok(Some((anew, loss)))
    }

    /// Returns what becomes of this drive like [`Drive::after_power_loss`], but searches for all pages although it has
    /// a journal of its map, for tests.
    #[doc(hidden)]
    pub fn after_whole_search(&self, mut anew: Drive, down: Nanos) -> std::io::Result<(Drive, PowerLoss)> {
        let mut remains = self.remains()?;
        remains.search_all();
        anew.keep_faults(self.faults.as_deref());
        let loss = anew.recover(remains, self.now, down);
        Ok((anew, loss))
    }

    /// Returns what remains if power is lost now.
    fn remains(&self) -> std::io::Result<Remains> {
        let Translator::PageMap(map) = &self.ftl else { panic!("{NO_MAP}") };
        map.remains(&self.flash.interrupted(self.now, &self.out.operations))
    }

    /// Loses power now, but is held up by capacitors for the time `hold_up`: serves and completes no command any more,
    /// and programs its write buffer. Returns the time that it takes, or `hold_up` if that is too short for all of it.
    /// [`Drive::lose_power`] follows.
    pub fn hold_up(&mut self, hold_up: Nanos) -> Nanos {
        let begin = self.now;
        (self.is_held_up, self.withholds, self.checks_commands) = (true, true, true);
        self.ftl.drain(Drain::All(self.host.buffer().last_number()), &mut self.out.ready);
        while self.host.buffer().used() > 0 {
            match self.next_event() {
                Some(at) if at <= begin + hold_up => self.run_instant(at),
                _ => {
                    self.now = begin + hold_up;
                    break;
                }
            }
        }
        self.now.since(begin)
    }

    /// Loses power now for the time `down`: `anew`, a new drive of the same description, takes the place of this one,
    /// with what remains of it, and recovers. Measurements go on; the time without power is left out of them.
    ///
    /// # Panics
    /// If this drive keeps no metadata ([`Drive::keep_metadata`]).
    pub fn lose_power(&mut self, anew: Drive, down: Nanos) -> std::io::Result<PowerLoss> {
        let now = self.now;
        let interrupted = self.flash.interrupted(now, &self.out.operations);
        let (volatile_lost, lost_commands) = (self.host.buffer().used(), self.host.outstanding());
        let Drive { out, ftl, controller, flash, power_states, faults, hangs, recording, mut statistics, .. } =
            std::mem::replace(self, anew);
        self.keep_faults(faults.as_deref());
        self.keep_hangs(hangs, now + down);
        for (at, _, event) in out.events.in_order() {
            if let Event::Timer(Timer::DieFails(_)) = event {
                self.out.events.push(at.max(now + down), Class::Timer, event);
            }
        }
        let Translator::PageMap(map) = ftl else { panic!("{NO_MAP}") };
        (self.out.journal, self.out.history, self.recording) = (out.journal, out.history, recording);
        self.power_states = power_states;
        if let Some(states) = &mut self.power_states {
            states.power_fails(now, controller.usage(now));
        }
        self.flash.take_measurements(flash, now);
        self.flash.settle_temperature(now);
        self.flash.exclude_from_power(down);
        self.controller.take_measurements(controller, now);
        let off = self.controller.usage(now + down).since(&self.controller.usage(now));
        statistics.exclude_usage(&off);
        statistics.exclude(down);
        statistics.forget_origins();
        self.statistics = statistics;
        let loss = self.recover(map.into_remains(&interrupted)?, now, down);
        Ok(PowerLoss { volatile_lost, lost_commands, ..loss })
    }

    /// Goes on, as a new drive, from what remains of one that lost power at `failed` for the time `down`: searches for
    /// programmed pages, rebuilds the map, and lets the policy examine the drive.
    fn recover(&mut self, remains: Remains, failed: SimTime, down: Nanos) -> PowerLoss {
        self.now = failed + down;
        let back = self.now;
        let recovered = self.ftl.page_map_mut().expect(NO_MAP).recover(remains);
        if let Some(states) = &mut self.power_states {
            states.power_is_back(back, self.controller.usage(back), &mut self.out.events);
        }
        let recovery_reads = recovered.steps.iter().map(|step| self.scan(step)).sum();
        let map = self.ftl.page_map_mut().expect(NO_MAP);
        map.power_is_back(back, &mut self.out.ready);
        map.begin(self.now, &mut self.out);
        map.note_outdated_pages(&mut self.out);
        self.note_health();
        self.route();
        PowerLoss {
            failed,
            back,
            recovery: self.now.since(back),
            recovery_reads,
            durable_lost: recovered.durable_lost,
            lacks_journal: recovered.lacks_journal,
            volatile_lost: 0,
            torn_pages: recovered.torn_pages,
            half_erased: recovered.half_erased,
            given_up: recovered.given_up,
            lost_commands: Vec::new(),
        }
    }

    /// Reads rows on all dies, one after another on each. Returns the number of reads.
    fn scan(&mut self, scanned: &[Vec<RowsRead>]) -> u64 {
        self.pulling = false;
        let mut scans: Vec<Scan<'_>> = scanned.iter().map(|blocks| Scan { blocks, row: 0 }).collect();
        let mut reads = 0;
        for (die, scan) in (0..).map(DieId).zip(&mut scans) {
            reads += u64::from(self.read_next(die, scan));
        }
        while let Some(at) = self.next_event().filter(|_| self.out.operations.in_use() > 0) {
            self.run_instant(at);
            while let Some(die) = self.out.handoff.scanned.pop() {
                reads += u64::from(self.read_next(die, &mut scans[die.index()]));
            }
        }
        self.pulling = true;
        reads
    }

    /// Begins the read of the next row of a die. Returns false if there is none.
    fn read_next(&mut self, die: DieId, scan: &mut Scan<'_>) -> bool {
        let Some(next) = scan.blocks.first() else { return false };
        let medium = self.ftl.medium();
        let geometry = &medium.geometry;
        let planes = geometry.shape.planes_per_program;
        let unit = (next.first + scan.row) * geometry.units_per_page * planes;
        scan.row += 1;
        // Of each page its first unit is read, with the metadata of the page, or all.
        let units = if next.whole { planes * geometry.units_per_page } else { planes };
        if scan.row == next.rows {
            (scan.blocks, scan.row) = (&scan.blocks[1..], 0);
        }
        let slot = self.out.operations.add(Operation {
            kind: OperationKind::Read,
            reason: Reason::Map,
            die,
            first: NO_PLACE,
            units,
            pages: planes,
            page_type: geometry.page_type_of(unit),
            owner: Owner::Scan,
            ..Operation::default()
        });
        self.flash.push_read(slot, self.now, &mut self.out);
        true
    }
}
