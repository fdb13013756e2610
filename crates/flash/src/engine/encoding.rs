//! Encoding: collections whose units are encoded before their program is pulled, and programs that wait for their code.

use super::{Dispatch, Flash};
use crate::die::NONE;
use kit::queue::Class;
use kit::{Cause, DieId, Encoding, Event, Events, Outbox, SimTime};

impl Flash {
    /// Sends units of a collection to the encoder and schedules [`Event::CollectionEncoded`] for the end of the
    /// encoding. The die is free meanwhile.
    pub fn encode(&mut self, encoding: &Encoding, now: SimTime, events: &mut Events) {
        let at = self.encoders.accept(encoding.mode, encoding.units, now).unwrap_or(now);
        events.push(at, Class::Done, Event::CollectionEncoded(encoding.die));
    }

    /// Handles the end of the encoding of the program that was pulled for a die.
    pub fn encoded(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let progress = &mut self.progress[die.pending_program as usize];
        out.operations.account_mut(die.pending_program).charge_to(Cause::EccWait, now);
        die.clock.read_into(&mut progress.reading, now);
        die.encoded = true;
        out.ready.mark(die_id);
    }

    /// Dispatches to a free die with a pending program. The die serves reads while the program is being encoded; an
    /// encoded program starts before any read.
    pub(super) fn dispatch_awaited(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> Dispatch {
        let die = &mut self.dies[die_id.index()];
        if die.encoded {
            let slot = std::mem::replace(&mut die.pending_program, NONE);
            let progress = &self.progress[slot as usize];
            die.clock.charge_since(&progress.reading, now, out.operations.account_mut(slot).ledger_mut());
            self.begin(slot, now, out);
            return Dispatch::Started;
        }
        if self.dispatch_waiting_read(die_id, false, now, out) { Dispatch::Started } else { Dispatch::Busy }
    }
}
