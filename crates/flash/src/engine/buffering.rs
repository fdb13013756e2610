//! Page buffers of the channels' controllers: the operations that take one, and the dies that wait for one.
//!
//! A buffer holds the data of one program, or of one read with all its data phases. A program takes it before it is
//! pulled, and returns it when the data has crossed the channel. A read takes it before it requests the channel for its
//! data, which stays in the die's register until then, and returns it when the data is in the controller's memory.
//!
//! No operation waits for a buffer while it holds something that the return of a buffer may need. The data of a program
//! needs the die and the channel. A read that begins while a program of its die has a buffer, or that will hold the
//! channel (`retries_hold`), therefore takes its buffer before it occupies the die. A die that is held for the next
//! attempt at a read keeps the buffer, too.

use super::{Flash, turn};
use crate::die::{NONE, Phase};
use crate::page_buffers::{PageBuffers, Purpose, Waiting};
use crate::scheduler::BusPhase;
use ecc::Hold;
use kit::{Cause, ChannelId, DieId, OperationKind, Outbox, Owner, Reason, SimTime, Work};

impl Flash {
    /// Gives the controller of each channel a number of page buffers, from now on. Before, there are always enough.
    pub fn use_page_buffers(&mut self, count: u32) {
        let dies = self.dies.len() / self.channels.len();
        self.page_buffers = Some(vec![PageBuffers::new(count, dies); self.channels.len()]);
    }

    /// Returns true if the number of page buffers is limited.
    #[inline]
    pub fn has_page_buffers(&self) -> bool {
        self.page_buffers.is_some()
    }

    /// Returns true if a page buffer is free for a program of this die.
    #[inline]
    pub fn may_program(&self, die_id: DieId) -> bool {
        self.page_buffers.as_ref().is_none_or(|all| all[self.dies[die_id.index()].channel as usize].may_take(die_id))
    }

    /// Returns true if all page buffers are free, and no die waits for one.
    pub fn page_buffers_rest(&self) -> bool {
        self.page_buffers.iter().flatten().all(PageBuffers::is_at_rest)
    }

    fn buffers_of(&mut self, die_id: DieId) -> Option<&mut PageBuffers> {
        let channel = self.dies[die_id.index()].channel as usize;
        self.page_buffers.as_mut().map(|all| &mut all[channel])
    }

    /// Records that a free die waits for a page buffer before it begins its next operation; `urgent`: an urgent move,
    /// whose turn remains. The die is marked as ready when a buffer is free for it. Meanwhile it may begin a read that
    /// the scheduler prefers; it then waits no longer, and asks again after it.
    #[inline(never)]
    pub fn starve(&mut self, die_id: DieId, urgent: bool, now: SimTime, out: &mut Outbox) {
        let waiting = Waiting { die: die_id, since: now, purpose: Purpose::Start };
        if let Some(buffers) = self.buffers_of(die_id) {
            buffers.wait(waiting);
        }
        let die = &mut self.dies[die_id.index()];
        die.last_turn_was_read |= urgent;
        if die.clock.work() != Work::Starved {
            turn(die, Work::Starved, now, &mut out.signals);
        }
    }

    /// Records that a die waits for no page buffer any more, if it did: it begins an operation, or has none. The buffer
    /// that was free for it goes to the next die.
    #[inline(never)]
    pub fn relieve(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        if die.clock.work() != Work::Starved {
            return;
        }
        turn(die, if die.suspended.is_some() { Work::Held } else { Work::Idle }, now, &mut out.signals);
        if let Some(buffers) = self.buffers_of(die_id) {
            buffers.withdraw(die_id);
        }
        self.grant_buffers(die_id, now, out);
    }

    /// Takes the page buffer of an operation that was pulled for a die, if it is a program. Another operation has no
    /// data, or takes its buffer later.
    #[inline(never)]
    pub(super) fn take_for_pulled(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let (kind, die_id) = (out.operations[slot].kind, out.operations[slot].die);
        if kind == OperationKind::Program
            && let Some(buffers) = self.buffers_of(die_id)
        {
            buffers.take(die_id, now);
        }
        self.relieve(die_id, now, out);
    }

    /// Takes the page buffer of the next read of a die, which is about to begin, if the read may not wait for it later:
    /// a program that waits for the die has a buffer, or the read will hold its channel. Returns false if there is
    /// none; the die then waits for one.
    fn may_begin_read(&mut self, die_id: DieId, for_host: bool, now: SimTime, out: &mut Outbox) -> bool {
        let die = &self.dies[die_id.index()];
        let slot = if for_host { die.host_reads.head } else { die.relocation_reads.head };
        let repeats = matches!(out.operations[slot].owner, Owner::Retry(_));
        let holds_channel = self.retries_hold == Hold::Channel && repeats;
        let pending = die.pending_program;
        let program_waits = pending != NONE && out.operations[pending].kind == OperationKind::Program;
        if (program_waits || holds_channel)
            && let Some(buffers) = self.buffers_of(die_id)
        {
            if !buffers.may_take(die_id) {
                self.starve(die_id, false, now, out);
                return false;
            }
            buffers.take(die_id, now);
            self.dies[die_id.index()].has_buffer = true;
        }
        true
    }

    /// Starts the next read of a die, unless the die must wait for a page buffer before.
    #[inline(never)]
    pub(super) fn start_read_with_buffer(&mut self, die_id: DieId, for_host: bool, now: SimTime, out: &mut Outbox) {
        if self.may_begin_read(die_id, for_host, now, out) {
            self.relieve(die_id, now, out);
            self.start_read(die_id, for_host, now, out);
        }
    }

    /// Requests a page buffer for the data of the read on a die, and with it the channel.
    #[inline(never)]
    pub(super) fn request_buffer(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        if self.has_buffer_for_data(die_id, now, out) {
            self.begin_data(die_id, now, out);
        } else {
            self.dies[die_id.index()].phase = Phase::Buffer;
        }
    }

    /// Returns true if the read on a die has a page buffer for its data; otherwise the die waits for one.
    fn has_buffer_for_data(&mut self, die_id: DieId, now: SimTime, out: &Outbox) -> bool {
        let die = &mut self.dies[die_id.index()];
        if std::mem::take(&mut die.has_buffer) {
            return true;
        }
        let for_host = matches!(out.operations[die.running].reason, Reason::Host | Reason::Rmw);
        let purpose = if for_host { Purpose::HostRead } else { Purpose::RelocationRead };
        let Some(buffers) = self.buffers_of(die_id) else { return true };
        buffers.wait(Waiting { die: die_id, since: now, purpose });
        let is_next = buffers.may_take(die_id);
        if is_next {
            buffers.take(die_id, now);
        }
        is_next
    }

    /// Handles the end of the transfer of a program's data, whose page buffer is free.
    pub fn page_buffer_free(&mut self, channel: ChannelId, now: SimTime, out: &mut Outbox) {
        if let Some(all) = &mut self.page_buffers {
            all[channel.index()].give_back(now);
        }
        self.grant_on(channel, now, out);
    }

    /// Handles the arrival of a read's data in the controller's memory: its page buffer is free, unless the die is held
    /// for a further attempt of this recovery, and the buffer with it.
    #[inline(never)]
    pub fn read_received(&mut self, die_id: DieId, recovery: Option<u32>, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        if die.phase == Phase::Held && recovery == Some(die.recovery) {
            die.has_buffer = true;
            return;
        }
        self.page_buffer_free(ChannelId(self.dies[die_id.index()].channel), now, out);
    }

    /// Returns the page buffer of a die whose hold has ended without a further attempt.
    #[inline(never)]
    pub(super) fn return_held(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        if std::mem::take(&mut die.has_buffer) {
            self.page_buffer_free(ChannelId(self.dies[die_id.index()].channel), now, out);
        }
    }

    fn grant_buffers(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        self.grant_on(ChannelId(self.dies[die_id.index()].channel), now, out);
    }

    /// Gives free page buffers to the dies whose turn it is. Data in a die's register has one at once; a die that has
    /// not begun its operation is marked as ready, and takes the buffer as it begins.
    fn grant_on(&mut self, channel: ChannelId, now: SimTime, out: &mut Outbox) {
        while let Some(buffers) = self.page_buffers.as_mut().map(|all| &mut all[channel.index()])
            && let Some(Waiting { die: die_id, since, purpose }) = buffers.next()
        {
            if purpose == Purpose::Start {
                out.ready.mark(die_id);
                return;
            }
            buffers.take(die_id, now);
            let die = &mut self.dies[die_id.index()];
            out.operations.account_mut(die.running).charge(Cause::PageBuffer, now.since(since));
            self.begin_data(die_id, now, out);
        }
    }

    /// Requests the channel for the data of the read on a die.
    #[inline(always)]
    pub(super) fn begin_data(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::Data;
        let operation = &out.operations[die.running];
        let hold = self.timing.data(operation);
        if self.timing.data_phases(operation.mode) > 1 {
            self.begin_data_parts(die_id, now, out);
        } else if self.acquire_channel(die_id, BusPhase::ReadData, hold, now, &mut out.events) {
            self.data_granted(die_id, now, hold, now, out);
        }
    }
}
