//! Reads of data with errors: on their way from the flash to the FTL, they are decoded and, if that fails, repeated.

use super::Drive;
use controller::reads::{SensedRead, Verdict};
use controller::route::Route;
use controller::transaction::{Continuation, Transfer};
use flash::Flash;
use ftl::Translator;
use kit::{Bytes, Cause, CommandId, Ended, Operation, OperationKind, Outcome, Owner, SimTime, Stored};

impl Drive {
    /// Handles the end of a flash operation on a drive whose data has errors, or takes time on its way to the memory:
    /// the data of a read is decoded, and in the memory, before the operation is done.
    #[inline(never)]
    pub(super) fn die_done(&mut self, ended: Ended) {
        let slot = ended.slot;
        let operation = self.out.operations[slot];
        if !operation.reads_data() {
            if operation.kind != OperationKind::Read && self.controller.takes_time(Route::Done) {
                let place = self.controller.place_of(&operation, 0);
                self.send(Route::Done, Transfer { data: Bytes(0), place, continuation: Continuation::Nothing, account: None });
            }
            if operation.kind == OperationKind::Read && self.flash.has_page_buffers() {
                self.flash.read_received(operation.die, None, self.now, &mut self.out);
            }
            return self.operation_done_apart(ended);
        }
        if !self.controller.corrects_reads() {
            let unit = self.unit_of(slot);
            if let Some(continuation) = self.controller.receive(slot, unit, self.now, &mut self.out) {
                self.follow(continuation);
            }
            return;
        }
        let (die, owner) = (operation.die, operation.owner);
        if let Owner::Retry(recovery) = owner {
            self.flash.hold(die, recovery, self.now, &mut self.out);
        } else if let (Owner::Command(_), Some(delivery)) = (owner, self.controller.in_order()) {
            delivery.sensed(die, slot);
        }
        // Shared decoders have had the data since the beginning of its transfer.
        if !self.controller.shares_decoders() {
            let unit = self.unit_of(slot);
            let operation = &self.out.operations[slot];
            let stored = self.ftl.stored(operation.first, self.now, &mut self.out.ready);
            let read = sensed_read((slot, unit), operation, &stored, (&self.ftl, &self.flash), self.now);
            if let Some(continuation) = self.controller.sensed(&read, self.now, &mut self.out) {
                self.follow(continuation);
            }
        }
    }

    /// Handles the beginning of the last transfer of a read's data to decoders that all channels share.
    #[inline(never)]
    pub(super) fn transfer_begins(&mut self, slot: u32) {
        let operation = self.out.operations[slot];
        if operation.reads_data() {
            let stored = self.ftl.stored(operation.first, self.now, &mut self.out.ready);
            let ends = self.now + self.flash.timing().data(&operation);
            let unit = self.unit_of(slot);
            let read = sensed_read((slot, unit), &operation, &stored, (&self.ftl, &self.flash), ends);
            self.controller.arrives(&read, &mut self.out);
        }
    }

    /// Handles the arrival of a read's data in the memory: the read is done, or repeated.
    #[inline]
    pub(super) fn transfer_done(&mut self, slot: u32, recovery: Option<u32>) {
        if self.flash.has_page_buffers() {
            let die = self.out.operations[slot].die;
            self.flash.read_received(die, recovery, self.now, &mut self.out);
        }
        if recovery.is_none() && !self.ftl.has_lost() && !self.some_read_failed() {
            self.correction_done(slot);
        } else {
            self.attempt_done(slot, recovery);
        }
    }

    fn attempt_done(&mut self, slot: u32, recovery: Option<u32>) {
        if !self.controller.corrects_reads() {
            return self.read_ends(slot);
        }
        let (slot, lost) = match self.controller.decoded(slot, recovery, self.now, &mut self.out) {
            Verdict::Correct(slot) => (slot, None),
            Verdict::Again { operation, retry } => return self.push_retry(operation, retry),
            Verdict::Lost { operation, places } => (operation, Some(places)),
        };
        if let Some(recovery) = recovery {
            self.flash.release(self.out.operations[slot].die, recovery, self.now, &mut self.out);
        }
        match lost {
            Some(_) if self.has_failed(slot) => self.restore_or_lose_all(slot),
            Some(places) => self.restore_or_lose(slot, places),
            None => self.read_ends(slot),
        }
    }

    /// Handles the end of a read that is corrected or given up.
    #[inline]
    pub(super) fn correction_done(&mut self, slot: u32) {
        if self.controller.in_order().is_some() && matches!(self.out.operations[slot].owner, Owner::Command(_)) {
            self.deliver_in_order(slot);
        } else {
            self.operation_done_apart(Ended::read(slot));
        }
    }

    /// Delivers the data of a host read, unless it waits in the controller for that of earlier reads of its die, and
    /// the data that waited for it.
    #[inline(never)]
    fn deliver_in_order(&mut self, slot: u32) {
        let operation = self.out.operations[slot];
        self.ftl.operation_done(Ended::read(slot), &operation, self.now, &mut self.out);
        if self.controller.counts_reads() {
            self.read_left(operation.die);
        }
        if let Some(delivery) = self.controller.in_order() {
            delivery.ready(operation.die, slot);
        }
        while let Some(slot) = self.controller.in_order().and_then(|delivery| delivery.next(operation.die)) {
            self.out.operations.account_mut(slot).charge_to(Cause::Order, self.now);
            let Operation { owner, units, .. } = self.out.operations[slot];
            if let Owner::Command(command) = owner {
                self.part_ready(slot, command, units);
            }
        }
    }

    #[inline(never)]
    pub(super) fn operation_done_apart(&mut self, ended: Ended) {
        let owner = self.out.operations[ended.slot].owner;
        self.operation_done(ended);
        if ended.outcome != Outcome::Done {
            self.note_health();
        }
        if let Owner::Restoration(restoration) = owner {
            self.restoring_read_done(restoration);
        }
    }

    /// Records that a part of the data that a command reads is lost.
    pub(super) fn media_error(&mut self, command: CommandId) {
        self.statistics.media_errors += u64::from(self.host.media_error(command));
    }

    /// Chooses the read mode of a read whose data has errors.
    #[inline(never)]
    pub(super) fn choose_levels(&mut self, slot: u32) {
        let operation = self.out.operations[slot];
        if operation.reads_data() {
            let stored = self.ftl.medium().stored_unread(operation.first, self.now);
            self.out.operations[slot].mode = self.controller.first_mode(&operation, &stored);
        }
    }
}

/// Returns the read in a slot, of data from a mapping unit on, whose last transfer ends at `ends`, as the controller
/// takes it.
fn sensed_read<'a>(
    (slot, unit): (u32, u32),
    operation: &Operation,
    stored: &'a Stored,
    (ftl, flash): (&'a Translator, &Flash),
    ends: SimTime,
) -> SensedRead<'a> {
    let transfer = flash.timing().last_transfer(operation);
    let (places, queued) = (ftl.places_of(operation), flash.queued_at(slot));
    SensedRead { slot, unit, stored, places, ends, transfer, queued }
}
