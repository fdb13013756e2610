//! Reads of commands on their way to the dies, where their number at each die matters: to the I/O sequencer, or to the
//! queues of the targets.

use super::Drive;
use controller::route::Route;
use controller::sequencer::Issued;
use controller::transaction::{Continuation, Transfer};
use kit::{AccountId, Cause, DieId, Owner};

impl Drive {
    /// Pushes the reads in the handoff to their dies, those of commands through the sequencer, if there is one.
    #[inline(never)]
    pub(super) fn route_counted_reads(&mut self) {
        let mut index = 0;
        while index < self.out.handoff.reads.len() {
            let slot = self.out.handoff.reads[index];
            index += 1;
            let operation = self.out.operations[slot];
            if !matches!(operation.owner, Owner::Command(_)) {
                self.push_read(slot);
                continue;
            }
            let Some(sequencer) = self.controller.sequencer() else {
                if let Some(targets) = self.controller.targets() {
                    targets.enter(operation.die, self.now);
                }
                self.push_read(slot);
                continue;
            };
            sequencer.enter(slot, operation.die, self.now);
            if let Some(targets) = self.controller.targets() {
                targets.delayed(self.now);
            }
            self.issue_reads();
        }
        self.out.handoff.reads.clear();
    }

    /// Handles the end of a read of a command, of which its die has one less.
    #[inline(never)]
    pub(super) fn read_left(&mut self, die: DieId) {
        if let Some(targets) = self.controller.targets() {
            targets.leave(die, self.now);
        }
        if let Some(sequencer) = self.controller.sequencer() {
            sequencer.read_done(die);
            self.issue_reads();
        }
        self.fetch();
    }

    /// Pushes the reads to their dies that the sequencer issues now.
    fn issue_reads(&mut self) {
        while let Some(issued) = self.controller.sequencer().and_then(|sequencer| sequencer.next(self.now)) {
            self.issue(issued);
        }
    }

    fn issue(&mut self, Issued { slot, die, since }: Issued) {
        if let Some(targets) = self.controller.targets() {
            targets.enter(die, self.now);
            targets.placed(self.now);
        }
        self.push_read(slot);
        self.out.operations.account_mut(slot).charge(Cause::Sequencer, self.now.since(since));
    }

    fn push_read(&mut self, slot: u32) {
        if self.controller.takes_time(Route::ToDie) {
            self.send_to_card(slot, Continuation::AtDie(slot))
        } else {
            self.push_to_die(slot)
        }
    }

    /// Repeats a read of data: the read in `retry` repeats that in `operation`.
    pub(super) fn push_retry(&mut self, operation: u32, retry: u32) {
        if self.controller.takes_time(Route::ToDie) {
            self.send_to_card(retry, Continuation::AgainAtDie { operation, retry });
        } else {
            self.flash.push_retry(retry, self.flash.queued_at(operation), self.now, &mut self.out);
        }
    }

    /// Sends the command of a read to its card. The account of the read is opened here, and goes on at the die.
    fn send_to_card(&mut self, slot: u32, continuation: Continuation) {
        self.out.operations.account_mut(slot).open(self.now);
        // A read of what was never written has no place.
        let unit = if self.out.operations[slot].reads_data() { self.unit_of(slot) } else { 0 };
        let operation = &self.out.operations[slot];
        let (data, place) = (operation.data(self.unit), self.controller.place_of(operation, unit));
        self.send(Route::ToDie, Transfer { data, place, continuation, account: Some(AccountId::Operation(slot)) });
    }

    /// Handles the arrival of a read's command at its card.
    pub(super) fn read_at_die(&mut self, slot: u32) {
        let spent = *self.out.operations.account(slot).ledger();
        self.push_to_die(slot);
        self.out.operations.account_mut(slot).ledger_mut().add(&spent);
    }

    /// Handles the arrival of the command of a repeated read at its card.
    pub(super) fn read_again_at_die(&mut self, operation: u32, retry: u32) {
        let spent = *self.out.operations.account(retry).ledger();
        self.flash.push_retry(retry, self.flash.queued_at(operation), self.now, &mut self.out);
        self.out.operations.account_mut(retry).ledger_mut().add(&spent);
    }

    fn push_to_die(&mut self, slot: u32) {
        if self.controller.chooses_levels() {
            self.choose_levels(slot);
        }
        self.flash.push_read(slot, self.now, &mut self.out);
    }

    /// Starts the first read of a die that waits in the sequencer, whatever its turn, if the die's victim cannot be
    /// erased before: while a policy holds back other work, the reads whose turn it is may be held back until the erase
    /// has made space for the policy's moves. Returns false if there is none.
    #[inline(never)]
    pub(super) fn starts_held_read(&mut self, die: DieId) -> bool {
        if !self.ftl.waits_for_reads(die) {
            return false;
        }
        let Some(issued) = self.controller.sequencer().and_then(|sequencer| sequencer.take_first_of(die)) else { return false };
        self.issue(issued);
        self.flash.dispatch_waiting_read(die, true, self.now, &mut self.out)
    }
}
