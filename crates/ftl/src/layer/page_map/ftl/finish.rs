//! Completions of flash operations, timers, and shutdown.

use super::*;

impl Ftl {
    /// Handles the completion of a flash operation, whose slot is released afterwards.
    #[inline]
    pub fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if let Owner::Command(_) = operation.owner {
            self.host_read_done(operation, now, out);
        } else {
            self.own_operation_done(ended, operation, now, out);
        }
    }

    /// Handles the completion of an operation that belongs to no host read.
    fn own_operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match operation.owner {
            Owner::Command(_) => unreachable!("a host read"),
            Owner::Retry(_) => unreachable!("a repeated read ends in the controller"),
            Owner::PartialRead(slot) => {
                self.sensed(operation.first, operation.owner, out);
                let followers = self.state.writes.queue.end_fill(slot, now);
                [slot].into_iter().chain(followers).for_each(|slot| self.enqueue(slot, now, out));
            }
            Owner::Page(slot) => {
                out.journal.note(|| Record::ReadSensed { ppn: operation.first, owner: operation.owner });
                self.page_move_read(slot, &mut out.ready);
            }
            Owner::ProgramUnit if Ftl::has_failed(ended) => self.program_failed(ended, operation, now, out),
            Owner::ProgramUnit => self.program_done(ended, operation, now, out),
            Owner::ReadAhead(read) => self.read_ahead_done(read, operation, now, out),
            Owner::MapPage(page) => {
                self.sensed(operation.first, operation.owner, out);
                self.map_page_read(page, out);
            }
            // The drive ends the read whose data it restores.
            Owner::Restoration(_) => {}
            Owner::FreeBlock if Ftl::has_failed(ended) => self.lazy_erase_failed(operation, now, out),
            Owner::FreeBlock => self.lazy_erase_done(operation),
            Owner::Journal => self.area_erased(ended, operation, now, out),
            Owner::Scan => out.handoff.scanned.push(operation.die),
            Owner::Collector => match operation.kind {
                OperationKind::Read => self.row_read(operation.die, now, out),
                OperationKind::Erase => self.erased(ended, operation, now, out),
                OperationKind::Program | OperationKind::Copyback => unreachable!("programs belong to a program unit"),
                OperationKind::LazyErase => unreachable!("lazy erases belong to the free blocks"),
            },
        }
    }

    #[inline(always)]
    pub(super) fn host_read_done(&mut self, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if operation.first.0 == NO_PLACE {
            return;
        }
        if self.state.cache.is_some() {
            self.cache_read(operation, &mut out.journal);
        }
        for ppn in (operation.first.0..operation.first.0 + operation.units).map(Ppn) {
            self.sensed(ppn, operation.owner, out);
            if self.derived.needs.reads_done {
                let lpn = self.state.store.lpn_at(ppn);
                self.call_policy(now, &out.signals, |policy, view| policy.read_done(lpn, ppn, view));
            }
        }
    }

    #[inline]
    pub(super) fn sensed(&mut self, ppn: Ppn, owner: Owner, out: &mut Outbox) {
        out.journal.note(|| Record::ReadSensed { ppn, owner });
        self.unpin(ppn, &mut out.ready);
    }

    #[inline(always)]
    pub(super) fn unpin(&mut self, ppn: Ppn, ready: &mut ReadyDies) {
        self.state.store.medium.unpin_and_wake(ppn, ready);
    }

    /// Handles the completion of a collection's read: the units of the row are gathered.
    pub(super) fn row_read(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        let mut read = std::mem::take(&mut self.state.collectors[die.index()].in_read);
        for &ppn in &read {
            self.sensed(ppn, Owner::Collector, out);
        }
        let collector = &mut self.state.collectors[die.index()];
        collector.reading = false;
        collector.gathered.append(&mut read);
        collector.in_read = read;
        if self.derived.needs.splits_relocations() {
            self.split_gathered(die, now, &out.signals);
        }
        out.ready.mark(die);
    }

    /// Handles the completion of an encoder job for a die's collection: the gathered units may be programmed.
    pub fn collection_encoded(&mut self, die: DieId, _now: SimTime, ready: &mut ReadyDies) {
        self.state.collectors[die.index()].is_encoded();
        ready.mark(die);
    }

    /// Handles the completion of a program: its units are durable, and the blocks of the copies that they supersede are
    /// unpinned.
    pub(super) fn program_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let bound = self.state.store.medium.program_done(ended, operation, &mut self.state.writes.queue, out);
        if self.state.journal.is_some() {
            self.note_programmed(operation, bound, now, out);
        }
        self.settle_sets(Some(self.state.store.medium.geometry.block_of(operation.first)), out);
        let is_map = matches!(operation.reason, Reason::Map | Reason::Journal);
        if self.state.cache.is_none() && !is_map {
            return;
        }
        let units = std::mem::take(&mut self.state.store.medium.programs[operation.die.index()].units);
        if self.state.cache.is_some() {
            self.cache_programmed(operation.first, &units[..bound], &mut out.journal);
        }
        if is_map {
            self.map_programmed(&units[..bound], out);
        }
        self.state.store.medium.programs[operation.die.index()].units = units;
    }

    /// Handles the completion of an erase: the block is free or retired, and wear levelling may have a cold block
    /// moved.
    pub(super) fn erased(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        let block = self.state.store.medium.geometry.block_of(operation.first);
        self.end_timed_erase(ended, operation, out);
        self.leave_set(block, out);
        self.collection_done(die, block, now, out);
        if self.derived.wear_rule.moves_data() && operation.reason != Reason::Wear {
            self.level_wear(die, block);
        }
    }

    /// Ends the collection of a block, which is free or out of use.
    pub(super) fn collection_done(&mut self, die: DieId, block: BlockId, now: SimTime, out: &mut Outbox) {
        let collector = &mut self.state.collectors[die.index()];
        // A block of a set is erased after the collection of it has ended.
        if collector.victim == Some(block) {
            collector.victim = None;
            collector.urgent = collector.has_urgent_request();
        }
        if self.derived.needs.blocks {
            self.call_policy(now, &out.signals, |policy, view| policy.erased(block, view));
        }
        self.update_no_space(now, out);
    }

    /// Queues the least-worn closed block of a die for relocation, if wear levelling requires that after the erase of
    /// `erased`.
    pub(super) fn level_wear(&mut self, die: DieId, erased: BlockId) {
        let blocks = self.state.store.medium.geometry.blocks_of(die);
        let (mut total, mut coldest) = (0u64, None);
        for block in blocks.clone().map(BlockId) {
            let wear = self.state.store.medium.wear_thousandths(block);
            total += u64::from(wear);
            if self.state.store.medium.block(block).state() == BlockState::Closed && coldest.is_none_or(|(least, _)| wear < least)
            {
                coldest = Some((wear, block));
            }
        }
        let Some((least, block)) = coldest else { return };
        let die_mean = total as f64 / 1000.0 / f64::from(blocks.end - blocks.start);
        let erased = Wear { thousandths: self.state.store.medium.wear_thousandths(erased), die_mean };
        if self.derived.wear_rule.moves_cold(erased, Wear { thousandths: least, die_mean }) {
            let erase_count = self.state.store.medium.erase_count(block);
            self.state.collectors[die.index()].want(RelocationRequest {
                block,
                erase_count,
                reason: Reason::Wear,
                urgent: false,
            });
        }
    }

    /// Handles a timer.
    pub fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        match timer {
            Timer::Retention => self.retention_due(now, out),
            Timer::Idle { die, delay } => self.idle_timer_fired(die, delay, now, out),
            Timer::Move(slot) => self.page_move_due(slot, now, &mut out.ready),
            // A timer that was armed before the policy requested an earlier call is obsolete. It is ignored, or each
            // obsolete timer would leave another one behind.
            Timer::Policy if self.state.policy_armed.is_some_and(|armed| armed > now) => {}
            Timer::Policy => {
                self.state.policy_armed = None;
                out.ready.mark_all();
            }
            Timer::Flush | Timer::PowerState => unreachable!("the write buffer and the power states have timers of their own"),
            Timer::Replay(_) => unreachable!("it belongs to the replay of a firmware trace"),
            Timer::Core => unreachable!("it belongs to cores that execute firmware"),
            Timer::Rebuild(group) => self.rebuild_due(group, out),
            Timer::DieFails(_) | Timer::Hang => unreachable!("the drive has these faults itself"),
        }
    }

    /// Queues the blocks that are due for relocation: those whose retention limit is near before anything else on their
    /// die, those to be moved in the background when the die has nothing else to do.
    pub(super) fn retention_due(&mut self, now: SimTime, out: &mut Outbox) {
        self.state.retention.timer_fired(now);
        while let Some((block, urgent)) = self.state.retention.take_due(&self.state.store.medium, now) {
            let die = self.state.store.medium.geometry.die_of(block);
            let erase_count = self.state.store.medium.erase_count(block);
            self.state.collectors[die.index()].want(RelocationRequest { block, erase_count, reason: Reason::Reprogram, urgent });
            out.ready.mark(die);
        }
        self.arm_retention(now, &mut out.events);
    }

    pub(crate) fn arm_retention(&mut self, now: SimTime, events: &mut Events) {
        let Some(at) = self.state.retention.next_due(&self.state.store.medium) else { return };
        if self.state.retention.must_arm(at) {
            events.push(at.max(now), Class::Timer, Event::Timer(Timer::Retention));
        }
    }

    /// Returns the number of pages that are being moved.
    pub fn moves_in_flight(&self) -> u64 {
        self.state.moves.in_flight
    }

    /// Advances a shutdown: begins the next page move that the policy requires, if a die is available. Pages that are
    /// elsewhere by now are passed over: no event would follow for which the shutdown could wait. Returns true once no
    /// write waits for a die and no page is being moved; pending collections and retention deadlines are not waited
    /// for.
    pub fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool {
        while self.state.moves.in_flight < u64::from(self.state.store.medium.geometry.die_count)
            && let Some(page_move) = self.call_policy(now, &out.signals, |policy, view| policy.drain(view))
        {
            if self.begin_move(page_move, false, now, out) {
                return false;
            }
        }
        self.state.moves.in_flight == 0
            && self.state.repairs.are_done()
            && out.signals.queued_write_pages == 0
            && self.is_map_saved(out)
    }

    /// Lets the policy examine the drive that it now controls, rebuilds the retention deadlines, and arms the timers.
    pub fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        if self.state.metadata.as_mut().is_some_and(|metadata| metadata.begins()) {
            self.begin_metadata();
        }
        self.begin_journal().expect("tables of the size of the map fit into the address space");
        self.begin_sets();
        self.move_copies(now, out);
        self.call_policy(now, &out.signals, |policy, view| policy.adopt(view));
        self.state.retention.adopt(&self.state.store.medium);
        self.arm_retention(now, &mut out.events);
        self.update_no_space(now, out);
        if self.derived.needs.moves {
            self.ask_when_to_wake(now, out);
        }
    }

    #[inline]
    pub(crate) fn call_policy<T>(
        &mut self,
        now: SimTime,
        signals: &Signals,
        call: impl FnOnce(&mut dyn ModePolicy, &mut View<'_>) -> T,
    ) -> T {
        let mut view = View {
            now,
            signals,
            medium: &self.state.store.medium,
            store: &self.state.store,
            space: &self.state.space,
            writes: &self.state.writes.queue,
            bits: Bits::all(&mut self.state.bits),
            block_bytes: Bytes::all(&mut self.state.block_bytes),
        };
        call(&mut *self.state.policy, &mut view)
    }
}

#[cfg(test)]
mod tests {
    use crate::WearConfig;
    use crate::layer::page_map::ftl::tests::small;
    use crate::medium::tests::{geometry, write};
    use crate::wear::static_cold;
    use kit::{BlockId, DieId, Reason};

    /// Every wear of three blocks of a die, of which one has been erased and the others are closed, open or free: the
    /// least worn closed block is moved, the one with the lower number among equals, if it is more than one erase
    /// behind. Blocks of the other die do not matter.
    #[test]
    fn the_least_worn_closed_block_is_moved() {
        for number in 0..4u32.pow(3) * 9 {
            let mut ftl = small(geometry(2, 1, 3, 2, 1), |config, _| {
                config.wear_leveling = WearConfig::StaticCold(static_cold::Params { spread: 1 });
            });
            write(&mut ftl.state.store.medium, BlockId(1), 0, 1);
            ftl.state.store.medium.close(BlockId(1));
            let wears = [0, 1, 2].map(|block| [1000, 1001, 2001, 3001][(number / 4u32.pow(block) % 4) as usize]);
            let states = [number / 64 % 3, number / 192];
            for (block, state) in (4..).zip(states) {
                if state > 0 {
                    write(&mut ftl.state.store.medium, BlockId(block), 0, 1);
                }
                if state == 2 {
                    ftl.state.store.medium.close(BlockId(block));
                }
            }
            (3..6).zip(wears).for_each(|(block, wear)| ftl.state.store.medium.wear[block] = wear);
            ftl.level_wear(DieId(1), BlockId(3));
            let closed = [4, 5].into_iter().filter(|&block| states[block - 4] == 2);
            let coldest = closed.min_by_key(|&block| (wears[block - 3], block));
            let expected = coldest.filter(|&block| wears[0] > wears[block - 3] + 1000);
            let request =
                ftl.state.collectors[1].next_request().map(|request| (request.block.index(), request.reason, request.urgent));
            assert_eq!(request, expected.map(|block| (block, Reason::Wear, false)), "{wears:?}, {states:?}");
            assert_eq!((ftl.state.collectors[0].request_count(), ftl.state.collectors[1].request_count()), (0, 0));
        }
    }
}
