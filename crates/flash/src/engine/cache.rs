//! Cache registers of the dies: the data of a read leaves its die while the array senses the page of the next one.
//!
//! ONFI READ CACHE (00h, address, 31h): the die moves the page that it has sensed from its page register to its cache
//! register, with its array at rest (tRCBSY), and senses the next page while the data of the first crosses the channel.
//! A page sensed meanwhile waits in the page register until the cache register is empty. Such a page always moves, the
//! last of a sequence, too (3Fh). A page that was sensed alone, and behind which no read waits, does not move: it
//! occupies the die until its data is out, as on a die that does not use its cache register.
//!
//! The command of the next read has the channel before the data of the one before: otherwise the array would rest
//! meanwhile. The data therefore requests the channel when the die has been dispatched to. Only a read begins beside
//! data in the cache register: a program loads its own data there, and an erase or a copyback waits for an idle die.

use super::{Dispatch, Flash, note_transfer, schedule, turn};
use crate::channel::Waiting;
use crate::config::FlashConfig;
use crate::die::{NONE, Phase};
use crate::scheduler::{BusPhase, Choice, Next};
use kit::history::{Entry, EntryKind};
use kit::queue::Class;
use kit::{Cause, ChannelId, Demand, DieId, Ended, Event, Nanos, Outbox, Outcome, Record, SimTime, Work};

/// Cache registers of all dies.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    busy_time: Nanos,
    registers: Vec<Register>,
}

/// Cache register of a die.
#[derive(Clone, Copy, Debug)]
struct Register {
    /// Slot of the read whose data it holds; [`NONE`] if it is empty.
    slot: u32,
    /// True if that data has requested the channel.
    has_asked: bool,
    /// True if the read that occupies the array began beside data in the register: its page moves there.
    follows: bool,
    /// Instant since which the page register has held the page of the next read.
    since: SimTime,
}

impl Caches {
    /// Returns the empty registers of a description; `None` if they are not used.
    pub fn of(config: &FlashConfig, dies: u32) -> Option<Caches> {
        let empty = Register { slot: NONE, has_asked: false, follows: false, since: SimTime::ZERO };
        config.cache_read.then(|| Caches { busy_time: config.cache_busy(), registers: vec![empty; dies as usize] })
    }

    /// Returns the register of a flash that has them.
    fn of_die(caches: &mut Option<Box<Caches>>, die_id: DieId) -> &mut Register {
        &mut caches.as_mut().expect("only a flash with cache registers comes here").registers[die_id.index()]
    }
}

impl Flash {
    /// Returns true if the cache register of a die holds the data of a read.
    #[inline(never)]
    pub(super) fn has_outgoing(&self, die_id: DieId) -> bool {
        self.outgoing(die_id) != NONE
    }

    /// Returns the slot of the read whose data is in the cache register of a die; [`NONE`] if it is empty.
    fn outgoing(&self, die_id: DieId) -> u32 {
        self.caches.as_ref().map_or(NONE, |caches| caches.registers[die_id.index()].slot)
    }

    /// Returns true if all cache registers are empty.
    pub fn cache_registers_rest(&self) -> bool {
        self.caches.iter().flat_map(|caches| &caches.registers).all(|register| register.slot == NONE)
    }

    /// Dispatches to a die whose cache register holds the data of a read: the next read begins if the array is at rest.
    #[inline(never)]
    pub(super) fn dispatch_beside(&mut self, die_id: DieId, demand: &Demand, now: SimTime, out: &mut Outbox) -> Dispatch {
        let begins = self.read_beside(die_id, demand, now, out);
        if begins {
            Caches::of_die(&mut self.caches, die_id).follows = true;
        }
        let register = Caches::of_die(&mut self.caches, die_id);
        if !std::mem::replace(&mut register.has_asked, true) {
            self.begin_outgoing(die_id, now, out);
        }
        if begins { Dispatch::Started } else { Dispatch::Busy }
    }

    /// Starts the next read of a die beside the data in its cache register, unless its array is busy, or another
    /// operation comes next, which waits until the register is empty. Returns true if a read has begun.
    fn read_beside(&mut self, die_id: DieId, demand: &Demand, now: SimTime, out: &mut Outbox) -> bool {
        let die = &mut self.dies[die_id.index()];
        let is_pending = die.pending_program != NONE;
        let move_is_next = demand.urgent_move && !is_pending && die.last_turn_was_read;
        if die.running != NONE || is_pending && die.staged || move_is_next {
            return false;
        }
        let host = if out.signals.hold { NONE } else { die.host_reads.head };
        let relocation = die.relocation_reads.head;
        if host == NONE && relocation == NONE {
            return false;
        }
        let since = |slot: u32| (slot != NONE).then(|| self.progress[slot as usize].enqueued);
        let choice = Choice {
            now,
            oldest_host_read: since(host),
            oldest_relocation_read: since(relocation),
            oldest_write: demand.oldest_write.filter(|_| !is_pending),
        };
        let for_host = match self.scheduler.choose(&choice) {
            Next::HostRead => true,
            Next::RelocationRead => false,
            Next::Pull => return false,
        };
        die.last_turn_was_read |= demand.urgent_move;
        self.start_read(die_id, for_host, now, out);
        true
    }

    /// Handles the end of the sensing of a page: its data leaves the die from the page register, moves to the cache
    /// register, or waits until that is empty.
    #[inline(never)]
    pub(super) fn sensed(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let register = Caches::of_die(&mut self.caches, die_id);
        if register.slot != NONE {
            register.since = now;
            die.phase = Phase::PageRegister;
        } else if register.follows || die.host_reads.head != NONE || die.relocation_reads.head != NONE {
            self.move_to_cache(die_id, now, out);
        } else {
            self.begin_data(die_id, now, out);
        }
    }

    /// Moves the page that a die has sensed to the empty cache register.
    fn move_to_cache(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let busy_time = self.caches.as_ref().map_or(Nanos::ZERO, |caches| caches.busy_time);
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::ToCache;
        out.operations.account_mut(die.running).charge(Cause::Sense, busy_time);
        schedule(die, die_id, now + busy_time, &mut out.events);
    }

    /// Handles the arrival of a page in the cache register. The array is free for the next read, and the span of this
    /// one on its die ends here.
    #[inline(never)]
    pub(super) fn moved_to_cache(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let slot = std::mem::replace(&mut die.running, NONE);
        die.phase = Phase::Rest;
        let register = Caches::of_die(&mut self.caches, die_id);
        debug_assert_eq!(register.slot, NONE, "a register holds one page");
        (register.slot, register.has_asked, register.follows) = (slot, false, false);
        let (operation, begin) = (&out.operations[slot], die.started);
        let (name, reason) = (operation.kind.name(), operation.reason);
        out.journal.note(|| Record::DieSpan { die: die_id, name, reason, begin, end: now });
        let mode = operation.mode;
        self.progress[slot as usize].further_data_phases = self.timing.data_phases(mode);
        out.ready.mark(die_id);
    }

    /// Requests the channel for the data in the cache register of a die, or for the next part of it.
    fn begin_outgoing(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let slot = self.outgoing(die_id);
        self.progress[slot as usize].further_data_phases -= 1;
        let hold = self.timing.data(&out.operations[slot]);
        let channel_id = ChannelId(self.dies[die_id.index()].channel);
        let channel = &mut self.channels[channel_id.index()];
        if channel.is_free(now) {
            channel.take(now, hold);
            return self.outgoing_granted(die_id, now, hold, now, out);
        }
        let rank = self.bus_ranks[BusPhase::ReadData as usize];
        self.wait_for_channel(channel_id, Waiting { die: die_id, since: now, hold, rank, for_cache: true }, &mut out.events);
    }

    /// Transfers the data in the cache register of a die, or a part of it. The die has waited for the channel since
    /// `asked`, and has it from `now` for `hold`.
    pub(super) fn outgoing_granted(&mut self, die_id: DieId, asked: SimTime, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let slot = self.outgoing(die_id);
        let account = out.operations.account_mut(slot);
        account.charge(Cause::BusWait, now.since(asked));
        account.charge(Cause::Transfer, hold);
        out.events.push(now + hold, Class::Done, Event::CacheRegister(die_id));
        note_transfer(&self.dies[die_id.index()], die_id, "data out", now, now + hold, &mut out.journal);
        if self.announces_transfers && self.progress[slot as usize].further_data_phases == 0 {
            out.events.push(now, Class::Done, Event::TransferBegins(slot));
        }
    }

    /// Handles the end of a transfer from the cache register of a die. Returns the read if all of its data is out: the
    /// next page moves to the register, if it waits for that.
    #[inline(never)]
    pub fn cache_event(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> Option<Ended> {
        let slot = self.outgoing(die_id);
        if self.progress[slot as usize].further_data_phases > 0 {
            self.begin_outgoing(die_id, now, out);
            return None;
        }
        let register = Caches::of_die(&mut self.caches, die_id);
        register.slot = NONE;
        let since = register.since;
        let (operation, account) = out.operations.with_account(slot);
        account.settle(now);
        out.history.note(|| Entry::operation(now, EntryKind::Ended(operation.kind), operation));
        let die = &mut self.dies[die_id.index()];
        if die.phase == Phase::PageRegister {
            out.operations.account_mut(die.running).charge(Cause::BusWait, now.since(since));
            self.move_to_cache(die_id, now, out);
        } else if die.running == NONE {
            let signals = &mut out.signals;
            signals.busy_dies -= 1;
            signals.idle_since = now;
            signals.channel_busy_dies[die.channel as usize] -= 1;
            signals.channel_idle_since[die.channel as usize] = now;
            turn(die, Work::Idle, now, signals);
            out.ready.mark(die_id);
        }
        Some(Ended { slot, outcome: Outcome::Done })
    }
}
