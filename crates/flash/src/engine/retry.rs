//! Reads that repeat another one, because its data could not be corrected.

use super::{Flash, enter};
use crate::die::{NONE, Phase};
use crate::scheduler::BusPhase;
use kit::{DieId, Outbox, Reason, SimTime};

impl Flash {
    /// Queues a read that repeats another one at its die. It takes its place by the age of the first attempt, which was
    /// queued at `since`.
    pub fn push_retry(&mut self, slot: u32, since: SimTime, now: SimTime, out: &mut Outbox) {
        let (die_id, reason) = (out.operations[slot].die, out.operations[slot].reason);
        let progress = enter(&mut self.progress, &mut out.operations, slot, now);
        progress.enqueued = since;
        let die = &mut self.dies[die_id.index()];
        die.clock.read_into(&mut progress.reading, now);
        let for_host = matches!(reason, Reason::Host | Reason::Rmw);
        let list = if for_host { &mut die.host_reads } else { &mut die.relocation_reads };
        let (mut before, mut after) = (NONE, list.head);
        while after != NONE && self.progress[after as usize].enqueued <= since {
            (before, after) = (after, self.progress[after as usize].next);
        }
        self.progress[slot as usize].next = after;
        if after == NONE {
            list.tail = slot;
        }
        *(if before == NONE { &mut list.head } else { &mut self.progress[before as usize].next }) = slot;
        out.signals.die_reads[die_id.index()] += 1;
        if die.running == NONE {
            out.ready.mark(die_id);
        } else if for_host && self.suspension.is_some() {
            self.request_suspension(die_id, now, out);
        }
    }

    /// Announces the last data phase of each read as it begins, from now on.
    pub fn announce_transfers(&mut self) {
        self.announces_transfers = true;
    }

    /// Returns the instant at which a read was queued; of a read that repeats another one, its first attempt.
    pub fn queued_at(&self, slot: u32) -> SimTime {
        self.progress[slot as usize].enqueued
    }

    /// Begins the transfer of a read's data in several parts, each of which requests the channel for itself.
    pub(super) fn begin_data_parts(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let slot = self.dies[die_id.index()].running;
        self.progress[slot as usize].further_data_phases = self.timing.data_phases(out.operations[slot].mode);
        self.next_data_part(die_id, now, out);
    }

    /// Requests the channel for the next part of a read's data.
    pub(super) fn next_data_part(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let further = &mut self.progress[die.running as usize].further_data_phases;
        *further -= 1;
        die.phase = if *further == 0 { Phase::Data } else { Phase::DataPart };
        let hold = self.timing.data(&out.operations[die.running]);
        if self.acquire_channel(die_id, BusPhase::ReadData, hold, now, &mut out.events) {
            self.data_granted(die_id, now, hold, now, out);
        }
    }
}
