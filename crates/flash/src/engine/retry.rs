//! Reads that repeat another one, because its data could not be corrected.

use super::{Flash, enter, turn};
use crate::die::{HELD, NONE, Phase};
use crate::scheduler::BusPhase;
use ecc::{Hold, RetryPlace};
use kit::{ChannelId, DieId, Outbox, Owner, Reason, SimTime, Work};

impl Flash {
    /// Queues a read that repeats another one at its die. It takes its place by the age of the first attempt, which was
    /// queued at `since`, or at the back. If the die is held for it, it starts at once.
    pub fn push_retry(&mut self, slot: u32, since: SimTime, now: SimTime, out: &mut Outbox) {
        let since = if self.retry_place == RetryPlace::Back { now } else { since };
        let (die_id, reason) = (out.operations[slot].die, out.operations[slot].reason);
        let progress = enter(&mut self.progress, &mut out.operations, slot, now);
        progress.enqueued = since;
        let die = &mut self.dies[die_id.index()];
        if die.phase == Phase::Held && out.operations[slot].owner == Owner::Retry(die.recovery) {
            self.end_hold(die_id, now, out);
            return self.begin(slot, now, out);
        }
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

    /// Brings the oldest host read of a die that goes on with one that has begun to the front: an attempt to repeat it,
    /// or a read from which its data is restored. Returns false if none waits.
    #[cold]
    pub(super) fn bring_begun_forward(&mut self, die_id: DieId, out: &Outbox) -> bool {
        let goes_on = |slot: u32| matches!(out.operations[slot].owner, Owner::Retry(_) | Owner::Restoration(_));
        let list = &mut self.dies[die_id.index()].host_reads;
        let (mut before, mut slot) = (NONE, list.head);
        while slot != NONE && !goes_on(slot) {
            (before, slot) = (slot, self.progress[slot as usize].next);
        }
        if slot == NONE || before == NONE {
            return slot != NONE;
        }
        self.progress[before as usize].next = self.progress[slot as usize].next;
        if list.tail == slot {
            list.tail = before;
        }
        self.progress[slot as usize].next = list.head;
        list.head = slot;
        true
    }

    /// Sets the parts of the flash that a repeated read holds, and its place among the reads that wait, from now on.
    pub fn set_retries(&mut self, hold: Hold, place: RetryPlace) {
        (self.retries_hold, self.retry_place) = (hold, place);
    }

    /// Holds the die of a repeated read, which has ended, for a further attempt of its recovery, if retries hold it.
    pub fn hold(&mut self, die_id: DieId, recovery: u32, now: SimTime, out: &mut Outbox) {
        if self.retries_hold == Hold::Nothing {
            return;
        }
        let die = &mut self.dies[die_id.index()];
        debug_assert_eq!(die.running, NONE, "the repeated read has ended");
        (die.running, die.phase, die.recovery) = (HELD, Phase::Held, recovery);
        // A die with a suspended operation counts as held already.
        if die.suspended.is_none() {
            turn(die, Work::Held, now, &mut out.signals);
            out.signals.busy_dies += 1;
            out.signals.channel_busy_dies[die.channel as usize] += 1;
        }
    }

    /// Releases what the recovery of a read held, if it held anything: the read is corrected or given up.
    pub fn release(&mut self, die_id: DieId, recovery: u32, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        if die.phase != Phase::Held || die.recovery != recovery {
            return;
        }
        let channel_id = ChannelId(die.channel);
        self.end_hold(die_id, now, out);
        if self.page_buffers.is_some() {
            self.return_held(die_id, now, out);
        }
        out.ready.mark(die_id);
        let channel = &mut self.channels[channel_id.index()];
        if channel.is_held_for(die_id) {
            channel.release(now);
            self.arm(channel_id, &mut out.events);
        }
    }

    fn end_hold(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        (die.running, die.phase) = (NONE, Phase::Rest);
        if die.suspended.is_none() {
            turn(die, Work::Idle, now, &mut out.signals);
            let channel = die.channel as usize;
            out.signals.busy_dies -= 1;
            out.signals.idle_since = now;
            out.signals.channel_busy_dies[channel] -= 1;
            out.signals.channel_idle_since[channel] = now;
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
