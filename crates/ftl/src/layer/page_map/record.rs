//! The recorder of a firmware trace: the page map, or the page map whose decisions firmware makes, with a record of
//! what it does.

mod layer;

use super::executed::{Asks, Decision, Executed, Note};
use crate::firmware::{Header, UnitName};
use crate::layer::contract::{Pulled, Recordable, Report, Translation, TurnEnd};
use crate::layer::page_map::ftl::Ftl;
use crate::map::{Mapped, decode};
use crate::medium::Medium;
use crate::medium::program::{NO_PLACE, UnitKind};
use crate::queue::{Buffered, Drain, Writer};
use kit::archive::{Archive, Archived};
use kit::{
    BlockId, CommandId, Demand, DieId, Ended, HostUnit, Lpn, Op, Operation, OperationKind, Outbox, Owner, Ppn, Problem,
    ReadyDies, Reason, SimTime, Timer,
};
use layer::Layer;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::ops::Range;

/// Largest number of intervals that are kept for a die. Of the later ones only the last is kept.
const INTERVALS: usize = 4096;

/// The page map, with a record of its operations as the lines of a firmware trace.
pub struct Recorder {
    layer: Layer,
    /// Lines that have not been taken yet, and the number of entries so far.
    lines: String,
    entries: u64,
    /// Number of the next command.
    next: u32,
    /// Number and first unit of the command in each slot of the host's table.
    commands: Vec<(u32, Lpn)>,
    /// Units in the write buffer, by their numbers in the buffer.
    buffered: BTreeMap<u64, UnitName>,
    /// Instants from which the waiting units could be programmed.
    accepted: BTreeMap<UnitName, Stamp>,
    dies: Vec<RecordedDie>,
    /// Number of reads and superseding programs under way for each block, and the instant at which the last one ended.
    uses: Vec<u32>,
    unused_since: Vec<Stamp>,
    /// Number of the last step.
    step: u64,
    /// Number of commands that executed firmware was asked for, and the question of the command in each slot of the
    /// host's table.
    asked: u64,
    questions: Vec<Question>,
    /// Dies that the next trim to be answered wakes, and the trims that have been answered, with theirs.
    woken: Vec<DieId>,
    trims: VecDeque<(CommandId, Vec<DieId>)>,
}

/// Question of a command to executed firmware, and its answer.
#[derive(Clone, Copy, Default)]
struct Question {
    /// Number of the question; `None` if the command asked for nothing.
    number: Option<u64>,
    is_trim: bool,
    at: SimTime,
    wait: u64,
    decision: Decision,
}

/// An instant, and the number of the step within the record, which orders what happens at one instant.
type Stamp = (SimTime, u64);

/// State of a die.
#[derive(Default)]
struct RecordedDie {
    idle_since: Option<Stamp>,
    /// Intervals since the last entry in which the die was idle, and instants at which it asked for an operation.
    asked: VecDeque<(Stamp, Stamp)>,
    last_entry: SimTime,
    /// First instant since the last entry at which the die had a program, but no page buffer.
    starved_since: Option<SimTime>,
    /// Last end of a collection's read or encoding.
    last_data: Stamp,
    /// Blocks whose data the program in progress supersedes.
    supersedes: Vec<u32>,
    has_room: bool,
    is_urgent: bool,
    /// Instant at which executed firmware chose the next entry, and what that took.
    chosen: Option<(SimTime, Decision)>,
    /// End of the last operation, if none is under way.
    ended: Option<SimTime>,
}

impl RecordedDie {
    /// Returns the first instant since the last entry at which the die was idle or asked, and all data that has been
    /// there since `from`.
    fn could_begin(&self, from: Stamp, now: Stamp) -> SimTime {
        let open = self.idle_since.map(|since| (since, now));
        let first = self.asked.iter().copied().chain(open).find(|(_, end)| *end >= from);
        first.map_or(now.0, |(begin, _)| begin.max(from).0)
    }

    fn asks(&mut self, from: Stamp, to: Stamp) {
        self.asked.truncate(INTERVALS - 1);
        self.asked.push_back((from, to));
    }

    fn is_busy(&mut self, now: Stamp) {
        if let Some(since) = self.idle_since.take() {
            self.asks(since, now);
        }
    }

    /// Begins the time after an entry.
    fn entered(&mut self, now: Stamp) {
        self.last_entry = now.0;
        self.starved_since = None;
        self.asked.clear();
        self.idle_since = self.idle_since.map(|_| now);
    }
}

/// Words of a place: `BLOCK:UNIT`, or `-` for none.
fn place_in_words(ftl: &Ftl, ppn: Ppn) -> String {
    if ppn.0 == NO_PLACE {
        return "-".to_owned();
    }
    let (block, unit) = ftl.state.store.medium.geometry.split(ppn);
    format!("{}:{unit}", block.0)
}

impl Recorder {
    /// Returns the recorder of a page map.
    pub fn new(ftl: Ftl) -> Recorder {
        Recorder::of(Layer::Map(ftl))
    }

    /// Returns the recorder of a page map whose decisions firmware makes.
    pub fn executing(mut layer: Box<Executed>) -> Recorder {
        layer.keep_notes();
        Recorder::of(Layer::Executed(layer))
    }

    fn of(layer: Layer) -> Recorder {
        let ftl = layer.map();
        let geometry = ftl.state.store.medium.geometry;
        let header = Header::of(&geometry, &ftl.derived.parameters.facts, ftl.state.store.user_units);
        Recorder {
            lines: header.text(layer.executed().map(Executed::processor)),
            entries: 0,
            next: 0,
            commands: Vec::new(),
            buffered: BTreeMap::new(),
            accepted: BTreeMap::new(),
            dies: (0..geometry.die_count).map(|_| RecordedDie { has_room: true, ..RecordedDie::default() }).collect(),
            uses: vec![0; geometry.block_count as usize],
            unused_since: vec![Stamp::default(); geometry.block_count as usize],
            step: 0,
            asked: 0,
            questions: Vec::new(),
            woken: Vec::new(),
            trims: VecDeque::new(),
            layer,
        }
    }

    fn line(&mut self, now: SimTime, text: std::fmt::Arguments<'_>) {
        self.entries += 1;
        let _ = writeln!(self.lines, "{} {text}", now.0);
    }

    /// Returns the stamp of the next step.
    fn stamp(&mut self, now: SimTime) -> Stamp {
        self.step += 1;
        (now, self.step)
    }

    fn next_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Gives a command its number.
    fn number(&mut self, command: CommandId, first: Lpn) -> u32 {
        let number = self.next_number();
        if self.commands.len() <= command.index() {
            self.commands.resize(command.index() + 1, (0, Lpn(0)));
        }
        self.commands[command.index()] = (number, first);
        number
    }

    fn name_of(&self, command: CommandId, lpn: Lpn) -> UnitName {
        let (number, first) = self.commands[command.index()];
        UnitName { command: number, index: lpn.0 - first.0 }
    }

    /// Returns the columns of a flash read: die, place, units, pages, page type, mode, logical unit.
    fn read_in_words(&self, operation: &Operation) -> String {
        let Operation { die, first, units, pages, page_type, mode, .. } = *operation;
        let (place, lpn) = (place_in_words(self.layer.map(), first), self.layer.map().unit_at(first));
        format!("{} {place} {units} {pages} {page_type} {} {lpn}", die.0, mode.0)
    }

    fn use_block(&mut self, block: BlockId) {
        self.uses[block.index()] += 1;
    }

    fn release_block(&mut self, block: BlockId, now: SimTime) {
        self.uses[block.index()] -= 1;
        self.unused_since[block.index()] = self.stamp(now);
    }

    /// Records whether a die has space for host data, if that has changed.
    fn note_room(&mut self, die: DieId, when: &str, now: SimTime) {
        let has_room = self.layer.map().state.space.has_space(die);
        if std::mem::replace(&mut self.dies[die.index()].has_room, has_room) != has_room {
            self.line(now, format_args!("room {} {} {when}", die.0, u8::from(has_room)));
        }
    }

    /// Records whether blocks of a die must be moved before their retention limit, if that has changed.
    fn note_urgency(&mut self, die: DieId, is_at_end: bool, now: SimTime) {
        let is_urgent = self.layer.map().demand(die).urgent_move;
        let state = &mut self.dies[die.index()];
        if std::mem::replace(&mut state.is_urgent, is_urgent) != is_urgent {
            let after = now.since(state.last_entry).0;
            let when = if is_at_end { "done".to_owned() } else { after.to_string() };
            self.line(now, format_args!("urgent {} {} {when}", die.0, u8::from(is_urgent)));
        }
    }

    /// Returns the last columns of an entry: the core, and its cycles for the decision. None without executed firmware.
    fn decision_in_words(&self, Decision { core, cycles }: Decision) -> String {
        if self.layer.executed().is_some() { format!(" {core} {cycles}") } else { String::new() }
    }

    /// Records an entry of a die whose data has been there since `from`.
    fn pulled(&mut self, kind: &str, die: DieId, from: Stamp, now: SimTime, rest: std::fmt::Arguments<'_>) {
        let stamp = self.stamp(now);
        let state = &mut self.dies[die.index()];
        let chosen = state.chosen.take();
        let decided = chosen.map_or_else(|| state.starved_since.unwrap_or(now), |(at, _)| at);
        let wait = decided.0.saturating_sub(state.could_begin(from, stamp).0);
        let decision = self.decision_in_words(chosen.map(|(_, decision)| decision).unwrap_or_default());
        self.line(now, format_args!("{kind} {} {wait} {rest}{decision}", die.0));
        let stamp = self.stamp(now);
        self.dies[die.index()].entered(stamp);
    }

    /// Records that a die handed its waiting writes over to another one. `before`: the writes that waited for each die.
    fn note_hand_over(&mut self, die: DieId, before: Option<Vec<u64>>, now: SimTime) {
        let Some((before, after)) = before.zip(self.layer.map().waiting_by_die()) else { return };
        if let Some(to) = (0..before.len()).find(|&other| after[other] > before[other]) {
            self.pulled("hand_over", die, Stamp::default(), now, format_args!("{to}"));
        }
    }

    /// Records the units that left the write buffer because they were trimmed.
    fn note_dropped(&mut self, die: DieId, numbers: &[u64], now: SimTime) {
        let names: Vec<UnitName> = numbers.iter().filter_map(|number| self.buffered.remove(number)).collect();
        if names.is_empty() {
            return;
        }
        let accepted = names.iter().filter_map(|name| self.accepted.remove(name)).max().unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| format!("{}.{}", name.command, name.index)).collect();
        self.pulled("drop", die, accepted, now, format_args!("{}", names.join(",")));
    }

    /// Takes the units of a program. Returns them in words, the number of relocated ones, and the instant at which the
    /// last one was there.
    fn take_units(&mut self, operation: &Operation) -> (String, u32, Stamp) {
        let (mut words, mut moved, mut from) = (Vec::new(), 0, Stamp::default());
        if operation.owner == Owner::ProgramUnit {
            let bound: Vec<_> = self.layer.map().units_of_program(operation.die).to_vec();
            for (place, unit) in (operation.first.0..).map(Ppn).zip(bound) {
                let name = match unit.kind {
                    UnitKind::Host(command) => self.name_of(command, self.layer.map().state.store.lpn_at(place)),
                    UnitKind::Buffered => self.buffered.remove(&unit.number()).expect("the unit was in the write buffer"),
                    UnitKind::Moved | UnitKind::MapPage(_) => {
                        moved += 1;
                        continue;
                    }
                };
                from = from.max(self.accepted.remove(&name).expect("the unit was accepted"));
                let mut word = format!("{}.{}", name.command, name.index);
                if unit.superseded != NO_PLACE {
                    let block = self.layer.map().state.store.medium.geometry.block_of(Ppn(unit.superseded));
                    self.use_block(block);
                    self.dies[operation.die.index()].supersedes.push(block.0);
                    let _ = write!(word, "^{}", block.0);
                }
                words.push(word);
            }
        }
        (if words.is_empty() { "-".to_owned() } else { words.join(",") }, moved, from)
    }

    fn note_operation(&mut self, operation: &Operation, now: SimTime) {
        let Operation { kind, reason, die, first, units, pages, page_type, mode, encode, .. } = *operation;
        let block = self.layer.map().state.store.medium.geometry.block_of(first);
        let (words, moved, accepted) = self.take_units(operation);
        let data = self.dies[die.index()].last_data;
        let (name, from) = match kind {
            OperationKind::Program if reason == Reason::Host => ("program", accepted),
            OperationKind::Program => ("program", data),
            OperationKind::Copyback => ("copyback", data),
            OperationKind::Read => ("gather", data),
            OperationKind::Erase => ("erase", data.max(self.unused_since[block.index()])),
            OperationKind::LazyErase => ("lazy_erase", Stamp::default()),
        };
        let (place, lpn) = (place_in_words(self.layer.map(), first), self.layer.map().unit_at(first));
        let rest = format!("{} {place} {units} {pages} {page_type} {} {lpn} {encode} {moved} {words}", reason.name(), mode.0);
        self.pulled(name, die, from, now, format_args!("{rest}"));
        (self.dies[die.index()].idle_since, self.dies[die.index()].ended) = (None, None);
        if kind == OperationKind::Read {
            self.use_block(block);
        }
    }

    /// Records what executed firmware has done since the last call.
    fn note_decisions(&mut self, now: SimTime) {
        for note in self.layer.take_notes() {
            match note {
                Note::Answered { command, decision } => {
                    let question = &mut self.questions[command.index()];
                    (question.wait, question.decision) = (now.since(question.at).0, decision);
                    if question.is_trim {
                        self.trims.push_back((command, std::mem::take(&mut self.woken)));
                    }
                }
                Note::Woken(die) => self.woken.push(die),
                Note::Given { die, decision } => self.dies[die.index()].chosen = Some((now, decision)),
                Note::Dropped { die, numbers, decision } => {
                    self.between(die, (now, decision), |recorder| recorder.note_dropped(die, &numbers, now));
                }
                Note::HandedOver { die, before, decision } => {
                    self.between(die, (now, decision), |recorder| recorder.note_hand_over(die, Some(before), now));
                }
                Note::Room(die) => self.note_room_in_time(die, now),
            }
        }
    }

    /// Records an entry which is not that of the operation that has been chosen for the die.
    fn between(&mut self, die: DieId, chosen: (SimTime, Decision), record: impl FnOnce(&mut Recorder)) {
        let given = self.dies[die.index()].chosen.replace(chosen);
        record(self);
        self.dies[die.index()].chosen = given;
    }

    /// Records a change of a die's space for host data at an instant that firmware has chosen.
    fn note_room_in_time(&mut self, die: DieId, now: SimTime) {
        let RecordedDie { ended, last_entry, .. } = self.dies[die.index()];
        let when = ended.map_or_else(|| now.since(last_entry).0.to_string(), |ended| format!("done+{}", now.since(ended).0));
        self.note_room(die, &when, now);
    }

    /// Returns the columns of the question that a command in this slot asked executed firmware, and of its answer.
    fn question_in_words(&mut self, command: Option<CommandId>) -> String {
        if self.layer.executed().is_none() {
            return String::new();
        }
        let question = command.and_then(|command| self.questions.get_mut(command.index())).map(std::mem::take);
        let Question { number, wait, decision, .. } = question.unwrap_or_default();
        let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        format!(" {number} {wait}{}", self.decision_in_words(decision))
    }

    /// Returns executed firmware, if that makes the decisions.
    pub fn executed(&self) -> Option<&Executed> {
        self.layer.executed()
    }

    /// Returns executed firmware for modification, if that makes the decisions.
    pub fn executed_mut(&mut self) -> Option<&mut Executed> {
        self.layer.executed_mut()
    }

    /// Has executed firmware look units up, or deallocate them ([`Executed::translate`]).
    pub fn translate(&mut self, asks: Asks, units: Range<u32>, now: SimTime, out: &mut Outbox) -> bool {
        let Asks { command, op, .. } = asks;
        if matches!(op, Op::Read | Op::Trim) {
            if self.questions.len() <= command.index() {
                self.questions.resize(command.index() + 1, Question::default());
            }
            self.questions[command.index()] =
                Question { number: Some(self.asked), is_trim: op == Op::Trim, at: now, ..Question::default() };
            self.asked += 1;
        }
        let Some(layer) = self.layer.executed_mut() else { return true };
        let is_done = layer.translate(asks, units, now, out);
        self.note_decisions(now);
        is_done
    }

    /// Returns the page map.
    pub fn page_map(&self) -> &Ftl {
        self.layer.map()
    }

    /// Returns the page map for modification.
    pub fn page_map_mut(&mut self) -> &mut Ftl {
        self.layer.map_mut()
    }
}

impl Translation for Recorder {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let number = self.number(command, first);
        let before = self.layer.map().state.counters.clone();
        let from = out.handoff.reads.len();
        let parts = self.layer.read(command, first, count, now, out);
        let new = self.layer.map().state.counters.since(&before);
        let question = self.question_in_words(Some(command));
        let reads: Vec<Operation> = out.handoff.reads[from..].iter().map(|&slot| out.operations[slot]).collect();
        self.line(
            now,
            format_args!(
                "read {number} {} {count} {} {} {} {}{question}",
                first.0,
                new.buffer_hits,
                new.reads_in_flight,
                new.unmapped_reads,
                reads.len()
            ),
        );
        for operation in &reads {
            let words = self.read_in_words(operation);
            self.line(now, format_args!("sense {words}"));
            if operation.reads_data() {
                self.use_block(self.layer.map().state.store.medium.geometry.block_of(operation.first));
            }
        }
        parts
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let name = self.name_of(unit.command, unit.lpn);
        let UnitName { command, index } = name;
        let waiting = match (unit.buffered, decode(self.layer.map().state.store.code_of(unit.lpn))) {
            (Some(_), Mapped::Slot(slot)) => Some(self.layer.map().state.writes.queue.units[slot].number),
            _ => None,
        };
        let from = out.handoff.reads.len();
        let waits = self.layer.write(unit, now, out);
        if let (Some(number), Some(old)) = (unit.buffered, waiting) {
            let into = self.buffered[&old];
            self.line(now, format_args!("absorb {command}.{index} {}.{}", into.command, into.index));
            if out.handoff.released.last() == Some(&old) {
                // The waiting unit has the number of the new one.
                self.buffered.remove(&old);
                self.buffered.insert(number, into);
            }
            return waits;
        }
        if let Some(number) = unit.buffered {
            self.buffered.insert(number, name);
        }
        if let Some(&slot) = out.handoff.reads.get(from) {
            let operation = out.operations[slot];
            let words = self.read_in_words(&operation);
            self.line(now, format_args!("fill {command}.{index} {words}"));
            self.use_block(self.layer.map().state.store.medium.geometry.block_of(operation.first));
        } else {
            let stamp = self.stamp(now);
            self.accepted.insert(name, stamp);
        }
        waits
    }

    fn trim(&mut self, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) {
        let number = self.next_number();
        let from = out.ready.listed().len();
        self.layer.trim(first, count, now, out);
        // Executed firmware has deallocated the units before, unless there are none.
        let (command, woken) = if count > 0 { self.trims.pop_front().unzip() } else { (None, None) };
        let woken = woken.unwrap_or_default().into_iter().chain(out.ready.listed()[from..].iter().copied());
        let woken: Vec<String> = woken.map(|die| die.0.to_string()).collect();
        let woken = if woken.is_empty() { "-".to_owned() } else { woken.join(",") };
        let question = self.question_in_words(command);
        self.line(now, format_args!("trim {number} {} {count} {woken}{question}", first.0));
    }

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        self.layer.drain(what, ready);
    }

    fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool {
        self.layer.has_drained(now, out)
    }

    fn demand(&self, die: DieId) -> Demand {
        self.layer.map().demand(die)
    }

    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        if self.dies[die.index()].idle_since.is_none() {
            let stamp = self.stamp(now);
            self.dies[die.index()].asks(stamp, stamp);
        }
        let (released, encodings) = (out.handoff.released.len(), out.handoff.encodings.len());
        let waiting = if self.layer.executed().is_some() { None } else { self.layer.map().waiting_by_die() };
        let pulled = self.layer.next(die, may_program, now, out);
        self.note_decisions(now);
        self.note_hand_over(die, waiting, now);
        self.note_dropped(die, &out.handoff.released[released..], now);
        for encoding in &out.handoff.encodings[encodings..] {
            let from = self.dies[die.index()].last_data;
            self.pulled("encode", die, from, now, format_args!("{} {}", encoding.mode.0, encoding.units));
        }
        if let Pulled::Operation(slot) = pulled {
            let operation = out.operations[slot];
            self.note_operation(&operation, now);
        } else if self.dies[die.index()].idle_since.is_none() {
            let stamp = self.stamp(now);
            self.dies[die.index()].asks(stamp, stamp);
        }
        if self.layer.executed().is_none() {
            self.note_room(die, "begun", now);
        }
        self.note_urgency(die, false, now);
        if pulled == Pulled::NeedsBuffer {
            self.dies[die.index()].starved_since.get_or_insert(now);
        }
        pulled
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, now: SimTime, out: &mut Outbox) {
        let stamp = self.stamp(now);
        let state = &mut self.dies[die.index()];
        if end == TurnEnd::Idle {
            state.idle_since.get_or_insert(stamp);
        } else {
            state.is_busy(stamp);
        }
        self.layer.turn_ended(die, end, now, out);
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        if operation.kind == OperationKind::Read && operation.reads_data() {
            self.release_block(self.layer.map().state.store.medium.geometry.block_of(operation.first), now);
        }
        match operation.owner {
            Owner::PartialRead(slot) => {
                let stamp = self.stamp(now);
                for slot in [&[slot], self.layer.map().state.writes.queue.followers(slot)].concat() {
                    let unit = &self.layer.map().state.writes.queue.units[slot];
                    let name = match unit.writer {
                        Writer::Command(command) => self.name_of(command, unit.lpn),
                        Writer::Buffer => self.buffered[&unit.number],
                    };
                    self.accepted.insert(name, stamp);
                }
            }
            Owner::ProgramUnit => {
                let blocks = std::mem::take(&mut self.dies[die.index()].supersedes);
                blocks.into_iter().for_each(|block| self.release_block(BlockId(block), now));
            }
            Owner::Collector if operation.kind == OperationKind::Read => self.dies[die.index()].last_data = self.stamp(now),
            _ => {}
        }
        if !matches!(operation.owner, Owner::Command(_)) {
            self.dies[die.index()].ended = Some(now);
        }
        self.layer.operation_done(ended, operation, now, out);
        if self.layer.executed().is_none() {
            self.note_room(die, "done", now);
        }
        self.note_decisions(now);
        self.note_urgency(die, true, now);
    }

    fn collection_encoded(&mut self, die: DieId, now: SimTime, ready: &mut ReadyDies) {
        self.dies[die.index()].last_data = self.stamp(now);
        self.layer.collection_encoded(die, now, ready);
    }

    fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        self.layer.timer(timer, now, out);
        self.note_decisions(now);
        if timer == Timer::Retention {
            (0..self.dies.len() as u32).for_each(|die| self.note_urgency(DieId(die), false, now));
        }
    }

    fn report(&self) -> Report<'_> {
        self.layer.report()
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        self.layer.map().unit_at(ppn)
    }

    fn state(&mut self, _archive: &mut Archive<'_>, _now: SimTime) -> Archived {
        unreachable!("the page map is saved, not its record")
    }

    fn buffered(&self) -> Buffered {
        self.layer.map().state.writes.queue.buffered()
    }

    fn medium(&self) -> &Medium {
        &self.layer.map().state.store.medium
    }

    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.layer.map_mut().state.store.medium
    }
}

impl Recordable for Recorder {
    fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        self.layer.begin(now, out);
        for die in (0..self.dies.len() as u32).map(DieId) {
            (self.dies[die.index()].idle_since, self.dies[die.index()].last_entry) = (Some((now, 0)), now);
            self.note_room(die, "begun", now);
            self.note_urgency(die, false, now);
        }
        self.note_decisions(now);
    }

    fn failure(&self) -> Option<Problem> {
        self.layer.executed().and_then(Executed::failure)
    }

    fn stalled(&mut self, commands: u64) -> bool {
        self.layer.executed_mut().is_some_and(|layer| layer.stalled(commands))
    }

    fn announce(&mut self, command: CommandId, units: Range<u32>, now: SimTime) {
        let (first, count) = (Lpn(units.start), units.end - units.start);
        let number = self.number(command, first);
        self.line(now, format_args!("write {number} {} {count}", first.0));
    }

    fn take_lines(&mut self, is_last: bool) -> String {
        if is_last {
            let _ = writeln!(self.lines, "end {}", self.entries);
        }
        std::mem::take(&mut self.lines)
    }
}
