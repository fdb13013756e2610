//! Staging: a program that was pulled for a die, but whose data is still on its way through the controller.

use super::{Dispatch, Flash, enter};
use crate::die::NONE;
use kit::{DieId, Outbox, SimTime};

impl Flash {
    /// Reserves a free die for an operation that was pulled for it, and that the firmware has yet to issue, or whose
    /// data is on its way ([`Flash::staged`]). A program has a page buffer from now on. The die serves reads meanwhile.
    pub fn stage(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        enter(&mut self.progress, &mut out.operations, slot, now);
        if self.page_buffers.is_some() {
            self.take_for_pulled(slot, now, out);
        }
        let die = &mut self.dies[out.operations[slot].die.index()];
        die.pending_program = slot;
        die.staged = false;
    }

    /// Handles the arrival of the data of the program that was pulled for a die.
    pub fn staged(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        die.clock.read_into(&mut self.progress[die.pending_program as usize].reading, now);
        die.staged = true;
        out.ready.mark(die_id);
    }

    /// Dispatches to a free die with a pending program. The die serves reads until the data of the program has arrived;
    /// then the program starts before any read.
    pub(super) fn dispatch_pending(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> Dispatch {
        let die = &mut self.dies[die_id.index()];
        if die.staged {
            let slot = std::mem::replace(&mut die.pending_program, NONE);
            let progress = &self.progress[slot as usize];
            die.clock.charge_since(&progress.reading, now, out.operations.account_mut(slot).ledger_mut());
            if self.page_buffers.is_some() {
                self.relieve(die_id, now, out);
            }
            self.begin(slot, now, out);
            return Dispatch::Started;
        }
        if self.dispatch_waiting_read(die_id, false, now, out) {
            return Dispatch::Started;
        }
        if self.page_buffers.is_some() {
            self.relieve(die_id, now, out);
        }
        Dispatch::Busy
    }
}
