//! Choice of the next operation of an idle die, and the policy's part in it.

use super::*;
use crate::config::CollectionStart;
use crate::policy::BeforeDispatch;

impl Ftl {
    /// Chooses the next operation of an idle die: a program, a read of its collection, a copyback, an erase or a lazy
    /// erase. Returns its slot, and counts the die as busy; `None` if the FTL has nothing for the die.
    #[inline]
    pub fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if self.has_nothing_for(die) {
            return None;
        }
        let slot = self.choose(die, now, out)?;
        self.state.writes.idle.remove(die);
        Some(slot)
    }

    /// Chooses the next operation of an idle die that has no page buffer for a program. If a program comes next,
    /// nothing is bound, and no operation of lower priority takes its place. Unless no block may be opened, all this is
    /// decided before the policy is asked for the mode of the program; a lazy erase that the mode may require therefore
    /// waits, too.
    #[inline(never)]
    pub fn next_without_buffer(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Pulled {
        if self.has_nothing_for(die) {
            return Pulled::Nothing;
        }
        self.scratch.binding = Binding::Withheld;
        let pulled = self.choose(die, now, out);
        match (pulled, std::mem::take(&mut self.scratch.binding)) {
            (Some(slot), _) => {
                self.state.writes.idle.remove(die);
                Pulled::Operation(slot)
            }
            (None, Binding::Refused) => Pulled::NeedsBuffer,
            (None, _) => Pulled::Nothing,
        }
    }

    /// Returns true if the die that chooses its next operation may bind data to a program; otherwise notes that a
    /// program comes next.
    #[inline]
    pub(super) fn may_bind(&mut self) -> bool {
        let is_allowed = self.scratch.binding == Binding::Allowed;
        if !is_allowed {
            self.scratch.binding = Binding::Refused;
        }
        is_allowed
    }

    /// Returns true like [`Ftl::may_bind`], and if the target has no place: a die without one does not wait for a page
    /// buffer, which it would only give back to wait again.
    #[inline]
    pub(super) fn may_bind_at(&mut self, target: &Target) -> bool {
        let State { store, space, .. } = &mut self.state;
        let lacks_place = self.scratch.binding != Binding::Allowed && !space.has_place(&store.medium, target);
        lacks_place || self.may_bind()
    }

    /// Returns true like [`Ftl::may_bind`], and if a die has no room for what its collection has gathered.
    #[inline]
    pub(super) fn may_bind_gathered(&mut self, die: DieId) -> bool {
        let lacks_room = self.scratch.binding != Binding::Allowed && !self.has_room_for_gathered(die);
        lacks_room || self.may_bind()
    }

    fn has_room_for_gathered(&self, die: DieId) -> bool {
        let State { store, space, collectors, .. } = &self.state;
        let is_of_map = self.is_of_map(store.lpn_at(collectors[die.index()].gathered[0]));
        let own = if is_of_map { self.map_stream() } else { 0 };
        space.has_room(die, self.class_of_moved(die), own)
    }

    /// Returns true if it is certain that [`Ftl::choose`] finds nothing for a die: nothing to write, to move, to
    /// collect or to ask the policy.
    #[inline]
    fn has_nothing_for(&self, die: DieId) -> bool {
        let free = self.state.space.free_blocks(die);
        // Until the host writes, a drive has no reason to gain free space.
        let gains_space = self.state.counters.host_units > 0 && self.derived.config.gc_start == CollectionStart::Early;
        let enough_space = !gains_space || free >= self.derived.low && free >= self.derived.critical;
        enough_space
            && !self.derived.needs.moves
            && !self.state.collectors[die.index()].may_go_on(gains_space || !self.derived.config.gc_preemptible)
            && self.state.moves.ready.is_empty()
            && self.state.writes.queue.len(self.state.writes.list_of(die)) == 0
            && self.state.repairs.are_none()
            && self.state.rain.as_ref().is_none_or(|rain| !rain.may_owe(die) && !rain.has_erasable(die) && !rain.may_rebuild)
            && !self.may_write_map()
            && !self.may_write_journal()
    }

    /// Returns the operation that goes before all others: a program that is repeated, one of the map's journal, or one
    /// of parity. `None` if the die chooses among the others.
    #[inline(always)]
    fn first_of_all(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        if !self.state.repairs.are_none()
            && let Some(answer) = self.repeat_first(die, now, out)
        {
            return Some(answer);
        }
        if self.may_write_journal() {
            let step = self.write_journal(die, now, out);
            if step.is_some() || self.scratch.binding == Binding::Refused {
                return Some(step);
            }
        }
        let rain = self.state.rain.as_ref()?;
        if rain.may_rebuild {
            self.rebuild(now, out);
        } else if !rain.may_owe(die) {
            return None;
        }
        let program = self.program_parity(die, now, out);
        (program.is_some() || self.scratch.binding == Binding::Refused).then_some(program)
    }

    /// Chooses the next operation of a die. If the choice itself had entries of the journal asked for, no idle die may
    /// be left to write them but this one: it is asked again.
    fn choose(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let was_due = self.may_write_journal();
        let slot = self.choose_among(die, now, out);
        if slot.is_none() && !was_due && self.may_write_journal() {
            out.ready.mark(die);
        }
        slot
    }

    fn choose_among(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if let Some(answer) = self.first_of_all(die, now, out) {
            return answer;
        }
        if self.derived.needs.moves
            && !self.derived.needs.idle_only
            && let Some(answer) = self.policy_moves(die, now, out)
        {
            return answer;
        }
        if self.state.map_cache.is_some() {
            let program = self.map_first(die, now, out);
            if program.is_some() || self.scratch.binding == Binding::Refused {
                return program;
            }
        }
        let list = self.state.writes.list_of(die);
        // A drive that has adopted another one may begin with units that wait, and one that the host only trims has map
        // data to write.
        let gains_space = self.state.writes.queue.len(list) > 0
            || self.may_write_map()
            || !self.state.moves.ready.is_empty()
            || self.derived.config.gc_start == CollectionStart::Early && self.state.counters.host_units > 0;
        let free = if gains_space { self.state.space.free_blocks(die) } else { u32::MAX };
        let collector = &self.state.collectors[die.index()];
        if collector.urgent || free < self.derived.critical || !self.derived.config.gc_preemptible && collector.victim.is_some() {
            let step = self.collect(die, free < self.derived.low, now, out);
            if step.is_some() || self.scratch.binding == Binding::Refused {
                return step;
            }
        }
        if self.state.moves.overdue > 0
            && let Some(program) = self.program_moves(die, now, out)
        {
            return Some(program);
        }
        if self.state.writes.may_pull_from(list)
            && let Some(program) = self.program_host(die, list, now, out)
        {
            self.wake_for_rest(&mut out.ready);
            return Some(program);
        }
        if let Some(program) = self.program_moves(die, now, out) {
            return Some(program);
        }
        if self.scratch.binding == Binding::Refused {
            return None;
        }
        let collector = &self.state.collectors[die.index()];
        // Blocks to be moved for another reason than space are moved all the same.
        let goes_on = collector.victim.is_some() && (free < u32::MAX || collector.reason != Reason::Gc);
        let erases = self.state.rain.as_ref().is_some_and(|rain| rain.has_erasable(die));
        if free < self.derived.low || goes_on || erases || collector.request_count() > 0 {
            let step = self.collect(die, free < self.derived.low, now, out);
            if step.is_some() || self.scratch.binding == Binding::Refused {
                return step;
            }
        }
        if self.state.collectors[die.index()].victim.is_none() {
            self.hand_over_where_full(die, &mut out.ready);
        }
        if self.derived.needs.moves && !self.state.writes.gate.is_open {
            self.offer_idle(die, now, out);
        }
        self.background(die, now, out)
    }

    /// Returns the slot of a program of map data, which comes first: while it waits, the mapping cache may be full.
    /// With moves before a retention limit it takes turns.
    #[inline(never)]
    fn map_first(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if !self.may_write_map() {
            return None;
        }
        let had_turn = std::mem::take(&mut self.state.map_had_turn[die.index()]);
        if had_turn && self.state.collectors[die.index()].urgent {
            return None;
        }
        let program = self.program_map(die, now, out)?;
        self.state.map_had_turn[die.index()] = true;
        Some(program)
    }

    /// Wakes idle dies for the host data that a program leaves.
    #[inline]
    pub(in crate::layer::page_map) fn wake_for_rest(&mut self, ready: &mut ReadyDies) {
        if self.derived.parameters.buffering.longest_first {
            self.wake_for_writes(ready);
        } else if self.state.writes.are_pulled() && self.state.writes.may_pull_from(0) {
            self.wake_one(ready);
        }
    }

    /// Hands the waiting writes of a die over to the die with the most free blocks, if the die has no space. Its
    /// collection, which empties no block now, can free none. Where the die of a write is chosen on arrival, a die may
    /// come to hold more than its share of the data, because overwrites and moved pages may go to other dies.
    pub(in crate::layer::page_map) fn hand_over_where_full(&mut self, die: DieId, ready: &mut ReadyDies) {
        let list = self.state.writes.list_of(die);
        if !self.state.writes.are_pulled() && self.state.writes.queue.len(list) > 0 && !self.state.space.has_space(die) {
            self.hand_over(list, ready);
        }
    }

    /// Hands the waiting writes of a list over to the die with the most free blocks. If no die has space, their own is
    /// asked again once one has.
    pub(super) fn hand_over(&mut self, list: usize, ready: &mut ReadyDies) {
        let others =
            (0..self.state.store.medium.geometry.die_count).map(DieId).filter(|&other| self.state.space.has_space(other));
        let Some(other) = others.max_by_key(|&other| (self.state.space.free_blocks(other), std::cmp::Reverse(other))) else {
            self.state.writes.are_stranded = true;
            return;
        };
        self.state.writes.queue.hand_over(list, other.index());
        ready.mark(other);
    }

    /// Begins the urgent and forced moves that the policy requires. Returns `None` if the die may choose its next
    /// operation freely. While urgent moves are in flight nothing else may start: then returns the operation that this
    /// die does for them, if any.
    pub(super) fn policy_moves(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        let wake_at = loop {
            match self.call_policy(now, &out.signals, |policy, view| policy.before_dispatch(view)) {
                BeforeDispatch::Urgent(page_move) => _ = self.begin_move(page_move, true, now, out),
                BeforeDispatch::Forced(page_move) => _ = self.begin_move(page_move, false, now, out),
                BeforeDispatch::Nothing(wake_at) => break wake_at,
            }
        };
        self.arm_policy(wake_at, now, &mut out.events);
        self.update_hold(now, out);
        if self.state.moves.urgent == 0 {
            return None;
        }
        // Space for the moves themselves must still be gained.
        if self.state.space.free_blocks(die) <= self.derived.config.reserve_blocks
            && let Some(step) = self.collect(die, true, now, out)
        {
            return Some(Some(step));
        }
        let program = self.program_moves(die, now, out);
        self.update_hold(now, out);
        Some(program)
    }

    /// Updates the hold on all other operations, which lasts until the last urgent move is bound; then all dies may
    /// start operations again.
    #[inline]
    fn update_hold(&mut self, now: SimTime, out: &mut Outbox) {
        let hold = self.state.moves.urgent > 0;
        if hold == out.signals.hold {
            return;
        }
        out.signals.hold = hold;
        out.signals.update_work(now);
        if !hold {
            out.ready.mark_all();
        }
    }

    /// Arms the policy's timer for `wake_at`, unless an earlier one is armed.
    #[inline]
    fn arm_policy(&mut self, wake_at: Option<SimTime>, now: SimTime, events: &mut Events) {
        let Some(at) = wake_at else { return };
        if at > now && at < SimTime::FOREVER && self.state.policy_armed.is_none_or(|armed| armed > at || armed <= now) {
            self.state.policy_armed = Some(at);
            events.push(at, Class::Timer, Event::Timer(Timer::Policy));
        }
    }

    /// Asks the policy for the instant of its next call, and arms its timer.
    pub(super) fn ask_when_to_wake(&mut self, now: SimTime, out: &mut Outbox) {
        let wake_at = self.call_policy(now, &out.signals, |policy, view| policy.wake_at(view));
        self.arm_policy(wake_at, now, &mut out.events);
    }

    /// Offers the policy the idle time of a die, in which it may have a page or a block moved.
    pub(super) fn offer_idle(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        let die_for =
            if self.state.writes.idle.contains(die) { now.since(self.state.idle_since[die.index()]) } else { Nanos::ZERO };
        if die_for < self.derived.needs.idle_after {
            return;
        }
        let channel = self.state.store.medium.geometry.channel_of(die);
        let signals = &out.signals;
        let quiet = signals.queued_write_pages == 0;
        let channel_is_idle = quiet && signals.channel_busy_dies[channel.index()] == 0;
        let drive_is_idle = quiet && signals.busy_dies == 0 && signals.commands_in_flight == 0 && self.state.moves.in_flight == 0;
        let idle = Idle {
            die,
            die_for,
            channel,
            channel_for: channel_is_idle.then(|| now.since(signals.channel_idle_since[channel.index()])),
            drive_for: drive_is_idle.then(|| now.since(signals.idle_since.max(signals.last_host_activity))),
        };
        match self.call_policy(now, &out.signals, |policy, view| policy.idle(&idle, view)) {
            Some(Relocation::Page(page_move)) => _ = self.begin_move(page_move, false, now, out),
            Some(Relocation::Block { block, reason }) => self.want_block(block, reason, &mut out.ready),
            None => {}
        }
        if !self.derived.needs.idle_only {
            self.ask_when_to_wake(now, out);
        }
    }

    /// Queues a block for relocation at a policy's request; its die empties it when it has no work of higher priority.
    /// The request is dropped if the block holds no data or the die already has a block to empty: the policy is asked
    /// again later.
    fn want_block(&mut self, block: BlockId, reason: Reason, ready: &mut ReadyDies) {
        let die = self.state.store.medium.geometry.die_of(block);
        let collector = &self.state.collectors[die.index()];
        let record = self.state.store.medium.block(block);
        let holds_data = matches!(record.state(), BlockState::Open | BlockState::Closed) && !self.holds_parity(block);
        let is_emptied = record.valid == 0 && self.state.store.medium.set_of(block).is_some();
        if !holds_data || is_emptied || collector.victim.is_some() || collector.request_count() > 0 {
            return;
        }
        let erase_count = self.state.store.medium.erase_count(block);
        self.state.collectors[die.index()].want(RelocationRequest { block, erase_count, reason, urgent: false });
        ready.mark(die);
    }

    /// Begins a page move by reading the page where it is. Returns false if the page is elsewhere by now.
    pub(super) fn begin_move(&mut self, page_move: PageMove, urgent: bool, now: SimTime, out: &mut Outbox) -> bool {
        if !self.state.store.medium.is_valid(page_move.from) || self.state.store.lpn_at(page_move.from) != page_move.lpn {
            self.state.counters.relocation_skipped += 1;
            return false;
        }
        let slot = self.state.moves.begin(page_move, urgent);
        self.state.store.medium.pin(page_move.from);
        if let Some(deadline) = page_move.deadline {
            out.events.push(deadline.max(now), Class::Timer, Event::Timer(Timer::Move(slot)));
        }
        let (block, unit) = self.state.store.medium.geometry.split(page_move.from);
        if self.state.store.medium.geometry.program_of(unit) >= u32::from(self.state.store.medium.block(block).programmed) {
            // Its program has not completed: the controller still holds the data.
            self.page_move_read(slot, &mut out.ready);
            return true;
        }
        let operation = self.read_operation(page_move.from, page_move.reason, Owner::Page(slot), now, &out.signals);
        out.read(operation);
        true
    }

    /// Makes a page move ready when its page is in the controller. The source stays pinned until the move is bound, so
    /// that its block cannot be erased and later data be mistaken for it.
    pub(super) fn page_move_read(&mut self, slot: u32, ready: &mut ReadyDies) {
        self.state.moves.is_read(slot);
        self.wake_one(ready);
    }

    /// Handles the deadline of a page move, which from now on takes precedence over host writes.
    pub(super) fn page_move_due(&mut self, slot: u32, now: SimTime, ready: &mut ReadyDies) {
        if self.state.moves.mark_overdue(slot, now) {
            self.wake_one(ready);
        }
    }

    /// Binds pages that are ready to one program at this die's relocation frontier.
    pub(super) fn program_moves(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        while let Some(&slot) = self.state.moves.ready.front() {
            let first = self.state.moves.get(slot).page;
            let units_per_program = self.state.store.medium.geometry.units_per_program;
            if self.still_valid(&first) {
                let written_in = self.granted(first.mode);
                let mode = self.block_mode(written_in);
                let mut target = Target {
                    die,
                    stream: self.relocation_stream(mode),
                    mode,
                    class: self.class_of_move(first.from),
                    plane: None,
                    level: 0,
                };
                if !self.may_bind_at(&target) {
                    return None;
                }
                if self.state.space.levels() > 1
                    && let Some(lazy_erase) = self.choose_level(&mut target, written_in, now, out)
                {
                    return Some(lazy_erase);
                }
                if let Some(copy) = self.copy_first(&target, now, out) {
                    return copy;
                }
                let Some(place) = self.state.space.advance(&mut self.state.store.medium, &target, units_per_program, now) else {
                    self.drop_stale_moves(&mut out.ready);
                    if target.class == AllocationClass::Move && self.bring_emptied_forward() {
                        continue;
                    }
                    self.give_up_set(first.from, now, out);
                    return None;
                };
                self.begin_program(die, place, written_in, first.reason);
                let mut bound = 0;
                while bound < units_per_program {
                    let Some(&slot) = self.state.moves.ready.front() else { break };
                    let page_move = self.state.moves.get(slot).page;
                    if page_move.mode != first.mode || page_move.reason != first.reason {
                        break;
                    }
                    self.state.moves.ready.pop_front();
                    if self.still_valid(&page_move) {
                        self.bind_moved(die, page_move.from, Ppn(place.0 + bound), now, out);
                        bound += 1;
                    } else {
                        self.state.counters.relocation_skipped += 1;
                    }
                    self.finish_move(slot, &mut out.ready);
                }
                if written_in != first.mode {
                    self.state.counters.retention_refusals += u64::from(bound);
                }
                return Some(self.finish_program(die, target.stream, bound, now, out));
            }
            self.state.moves.ready.pop_front();
            self.finish_move(slot, &mut out.ready);
            self.state.counters.relocation_skipped += 1;
        }
        None
    }

    /// Ends waiting moves whose page was overwritten in the meantime. Waiting moves pin their source blocks, and the
    /// block whose erase would provide the space may be one of them.
    fn drop_stale_moves(&mut self, ready: &mut ReadyDies) {
        for _ in 0..self.state.moves.ready.len() {
            let Some(slot) = self.state.moves.ready.pop_front() else { break };
            if self.still_valid(&self.state.moves.get(slot).page) {
                self.state.moves.ready.push_back(slot);
            } else {
                self.state.counters.relocation_skipped += 1;
                self.finish_move(slot, ready);
            }
        }
    }

    pub(super) fn finish_move(&mut self, slot: u32, ready: &mut ReadyDies) {
        self.unpin(self.state.moves.get(slot).page.from, ready);
        self.state.moves.move_done(slot);
    }

    pub(super) fn still_valid(&self, page_move: &PageMove) -> bool {
        self.state.store.medium.is_valid(page_move.from) && self.state.store.lpn_at(page_move.from) == page_move.lpn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::page_map::ftl::tests::small;
    use crate::medium::tests::geometry;

    /// Units of the drive.
    const UNITS: u64 = 24;

    /// An FTL, and what a drive's router does for it.
    struct Rig {
        ftl: Ftl,
        out: Outbox,
        /// The operation in progress on each die.
        running: [Option<u32>; 2],
    }

    impl Rig {
        fn new(gc_preemptible: bool) -> Rig {
            let ftl = small(geometry(2, 1, 8, 4, 1), |config, _| {
                (config.gc_preemptible, config.user_capacity) = (gc_preemptible, Some(kit::Bytes(UNITS * kit::UNIT_BYTES)));
            });
            Rig { ftl, out: Outbox::new(2, 1), running: [None; 2] }
        }

        fn write(&mut self, lpn: u32, now: SimTime) {
            let unit = HostUnit {
                command: CommandId(0),
                lpn: Lpn(lpn),
                whole: true,
                last: true,
                buffered: None,
                durable: false,
                stalled: Nanos::ZERO,
            };
            self.ftl.write(&unit, now, &mut self.out);
            self.out.handoff = Handoff::default();
        }

        fn done(&mut self, die: usize, now: SimTime) {
            let Some(slot) = self.running[die].take() else { return };
            let operation = self.out.operations[slot];
            self.ftl.operation_done(kit::Ended::read(slot), &operation, now, &mut self.out);
            self.out.operations.release(slot);
            self.out.handoff = Handoff::default();
        }

        fn pull(&mut self, die: usize, now: SimTime) -> Option<Operation> {
            self.running[die] = self.ftl.next(DieId(die as u32), now, &mut self.out);
            self.running[die].map(|slot| self.out.operations[slot])
        }

        /// Returns the places of all units, the units programmed, the writes that wait, and the free blocks.
        fn bound(&self) -> (Vec<u32>, u64, u64, [u32; 2]) {
            let State { counters, writes, space, store, .. } = &self.ftl.state;
            let places = (0..UNITS as u32).map(|unit| store.code_of(Lpn(unit))).collect();
            let free = [0, 1].map(|die| space.free_blocks(DieId(die)));
            (places, counters.units_programmed.iter().sum(), writes.queue.len(0), free)
        }
    }

    /// Two drives under the same random writes: one asks for its next operation at once, the other without a page
    /// buffer first. Without one it is told of every program, of which nothing is bound, and given every other
    /// operation; it is given no operation that comes after a program.
    #[test]
    fn without_a_page_buffer_a_die_is_given_what_comes_next_unless_it_is_a_program() {
        for (seed, preemptible) in [(1, false), (2, true)] {
            let mut rng = Rng::stream(seed, "pull");
            let [mut plain, mut asked] = [Rig::new(preemptible), Rig::new(preemptible)];
            let mut seen = [0u32; 3];
            for now in (0..30_000).map(SimTime) {
                let (choice, lpn, die) = (rng.below(3), rng.below(UNITS) as u32, rng.below(2) as usize);
                if choice == 0 && plain.ftl.state.writes.queue.len(0) < 5 {
                    [&mut plain, &mut asked].into_iter().for_each(|rig| rig.write(lpn, now));
                    continue;
                }
                if plain.running[die].is_some() {
                    [&mut plain, &mut asked].into_iter().for_each(|rig| rig.done(die, now));
                    continue;
                }
                let expected = plain.pull(die, now);
                let before = asked.bound();
                let found = match asked.ftl.next_without_buffer(DieId(die as u32), now, &mut asked.out) {
                    Pulled::NeedsBuffer => {
                        assert_eq!(asked.bound(), before, "at {now:?}");
                        seen[0] += 1;
                        let program = asked.pull(die, now);
                        assert_eq!(program.map(|program| program.kind), Some(OperationKind::Program));
                        program
                    }
                    Pulled::Operation(slot) => {
                        asked.running[die] = Some(slot);
                        let kind = asked.out.operations[slot].kind;
                        assert_ne!(kind, OperationKind::Program);
                        seen[1 + usize::from(kind == OperationKind::Erase)] += 1;
                        Some(asked.out.operations[slot])
                    }
                    Pulled::Nothing => None,
                };
                let what =
                    |operation: Option<Operation>| operation.map(|one| (one.kind, one.reason, one.die, one.first, one.units));
                assert_eq!(what(found), what(expected), "at {now:?}");
                assert_eq!(asked.bound(), plain.bound(), "at {now:?}");
            }
            assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
        }
    }
}
