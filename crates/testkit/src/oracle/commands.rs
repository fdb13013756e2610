//! The host's side: submissions, the data that reads return, and completions.

use super::{Check, Data, Location, Loss, Oracle, Progress, Unit, Violation, ensure};
use kit::{CommandFlags, CommandId, Completion, HostCommand, Lpn, Op, Owner, Ppn, ReadSource, SimTime, Status, UnitSize};
use std::collections::BTreeMap;

/// A command that was submitted and has not completed.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    command: HostCommand,
    at: SimTime,
    step: u64,
    /// Its units; none of an append, whose place is not known yet.
    units: Vec<u32>,
    /// For a write or an append: the version of each unit that was accepted.
    versions: BTreeMap<u32, u32>,
    /// For a read: for each unit, the latest submission among the writes and trims that had completed when the read was
    /// submitted \[step\].
    floors: Vec<u64>,
    unresolved: Vec<bool>,
    /// For a read: places that it will sense, with their units and the erase count of their block.
    to_sense: Vec<(Ppn, Lpn, u32)>,
    /// For a read: number of its units that were sensed.
    sensed: usize,
    /// For a read: the worst of its data.
    pub(super) loss: Loss,
}

impl InFlight {
    /// Notes that some of the data of a read is in this state.
    pub(super) fn suffer(&mut self, loss: Loss) {
        self.loss = match (self.loss, loss) {
            (Loss::Lost, _) | (_, Loss::Lost) => Loss::Lost,
            (Loss::Unknown, _) | (_, Loss::Unknown) => Loss::Unknown,
            (Loss::Intact, Loss::Intact) => Loss::Intact,
        };
    }

    /// Returns true if a write covers a unit completely, as an append does.
    pub(super) fn covers(&self, lpn: Lpn, unit: UnitSize) -> bool {
        let (start, end) = (self.command.offset.0, self.command.offset.0 + self.command.length.0);
        let first = unit.offset(u64::from(lpn.0));
        self.command.op == Op::Append || start <= first && end >= first + unit.bytes()
    }
}

/// Returns the first unit and the number of units of a command: all units that it touches or, for a trim, the units
/// that it covers entirely.
fn range_of(command: &HostCommand, unit: UnitSize) -> (u32, u32) {
    let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
    let (first, last) = match command.op {
        Op::Trim => (unit.begun(start), unit.whole(end)),
        Op::Read | Op::Write => (unit.whole(start), unit.begun(end)),
        Op::Append | Op::Flush | Op::Zone => (0, 0),
    };
    (first as u32, last.saturating_sub(first) as u32)
}

impl Oracle {
    /// Follows the submission of a command; `id` is its name in the journal. Its tag must differ from the tags of all
    /// commands in flight.
    pub fn submitted(&mut self, id: CommandId, command: HostCommand, at: SimTime) {
        let (first, count) = range_of(&command, self.geometry.unit);
        self.submitted_for(id, command, at, (first..first + count).collect());
    }

    /// Follows the submission of a command for these units, whatever its offset says.
    pub fn submitted_for(&mut self, id: CommandId, command: HostCommand, at: SimTime, units: Vec<u32>) {
        self.step += 1;
        self.counts.submitted += 1;
        let mut state = InFlight {
            command,
            at,
            step: self.step,
            versions: BTreeMap::new(),
            floors: Vec::new(),
            unresolved: Vec::new(),
            to_sense: Vec::new(),
            sensed: 0,
            loss: Loss::Intact,
            units,
        };
        match command.op {
            Op::Read => {
                state.floors = state.units.iter().map(|unit| self.units[*unit as usize].floor).collect();
                state.unresolved = vec![self.rules.tells_places(); state.units.len()];
            }
            Op::Trim if self.rules.trims() => {
                state.units.iter().for_each(|unit| self.units[*unit as usize].trims_in_flight += 1);
            }
            Op::Write | Op::Append | Op::Zone | Op::Flush | Op::Trim => {}
        }
        let index = id.0 as usize;
        if self.commands.len() <= index {
            self.commands.resize(index + 1, None);
        }
        assert!(self.commands[index].is_none(), "two commands in flight have one number");
        self.commands[index] = Some(state);
        assert!(self.by_tag.insert(command.tag, id).is_none(), "two commands in flight have one tag");
    }

    /// Follows a command that is submitted again, since a reset has ended it. What it wrote may be read, as with any
    /// write in flight, and the rest is as if it had just been submitted.
    pub(super) fn submitted_again(&mut self, command: CommandId) -> Check {
        let state = self.commands.get_mut(command.0 as usize).and_then(Option::as_mut);
        let Some(state) = state else { return ensure(false, || "it is not in flight".to_owned()) };
        ensure(state.to_sense.is_empty(), || "its reads are not done".to_owned())?;
        state.versions.clear();
        state.unresolved.fill(self.rules.tells_places());
        (state.sensed, state.loss) = (0, Loss::Intact);
        if state.command.op == Op::Trim && self.rules.trims() {
            state.units.iter().for_each(|unit| self.units[*unit as usize].emptied = Some(self.step));
        }
        Ok(())
    }

    pub(super) fn in_flight(&mut self, command: CommandId, op: Op) -> Result<&mut InFlight, Violation> {
        let state = self.commands.get_mut(command.0 as usize).and_then(Option::as_mut);
        state
            .filter(|state| state.command.op == op)
            .ok_or_else(|| Violation(format!("no {} of this number is in flight", op.name())))
    }

    /// Enters the version of a unit of a write or an append.
    pub(super) fn enter_version(&mut self, command: CommandId, lpn: Lpn, version: u32) -> Check {
        let state = self.writing(command)?;
        let is_covered = state.command.op == Op::Append || state.units.contains(&lpn.0);
        ensure(is_covered, || "the unit is not in the command's range".to_owned())?;
        ensure(state.versions.insert(lpn.0, version).is_none(), || "accepted twice".to_owned())
    }

    /// Returns the version of a unit of a write or an append, if it has been accepted.
    pub(super) fn version_of(&mut self, command: CommandId, lpn: Lpn) -> Result<Option<u32>, Violation> {
        Ok(self.writing(command)?.versions.get(&lpn.0).copied())
    }

    pub(super) fn accepted_version(&mut self, command: CommandId, lpn: Lpn) -> Result<u32, Violation> {
        self.version_of(command, lpn)?.ok_or_else(|| Violation("the unit was never accepted".to_owned()))
    }

    /// Returns a write or an append in flight.
    pub(super) fn writing(&mut self, command: CommandId) -> Result<&mut InFlight, Violation> {
        let state = self.commands.get_mut(command.0 as usize).and_then(Option::as_mut);
        state
            .filter(|state| state.command.op.writes())
            .ok_or_else(|| Violation("no write of this number is in flight".to_owned()))
    }

    pub(super) fn read_resolved(&mut self, command: CommandId, lpn: Lpn, source: ReadSource) -> Check {
        let state = self.in_flight(command, Op::Read)?;
        let index = state.units.iter().zip(&state.unresolved).position(|(unit, open)| *unit == lpn.0 && *open);
        let Some(index) = index else {
            return ensure(false, || "the unit is not in the command's range, or was resolved before".to_owned());
        };
        state.unresolved[index] = false;
        self.resolved = None;
        let state = self.in_flight(command, Op::Read)?;
        let floor = state.floors[index];
        let unit = &self.units[lpn.index()];
        let version = match (unit.location, source) {
            (Location::Nowhere, _) => return self.read_of_nothing(command, lpn, source, floor),
            (Location::At(at), ReadSource::Flash(ppn)) if at == ppn => {
                let place = self.places[ppn.index()];
                ensure(place.programmed || self.waits_for_program, || format!("not programmed yet: {place:?}"))?;
                self.will_sense(command, lpn, ppn)?;
                place.content.map(|content| (content.lpn, content.version))
            }
            (Location::Slot(slot), ReadSource::Controller(_)) if self.rules.data == Data::Placed => {
                self.counts.controller_reads += 1;
                self.slots[slot as usize].map(|held| (held.lpn, held.version))
            }
            (Location::At(at), ReadSource::Controller(ppn)) if at == ppn => {
                let place = self.places[ppn.index()];
                ensure(!place.programmed && !self.waits_for_program, || {
                    format!("served from the controller, which has it no more: {place:?}")
                })?;
                self.counts.controller_reads += 1;
                let loss = place.content.map_or(Loss::Intact, |content| content.loss);
                self.in_flight(command, Op::Read)?.suffer(loss);
                place.content.map(|content| (content.lpn, content.version))
            }
            (Location::At(at), ReadSource::Cache(ppn)) if at == ppn => {
                let place = self.places[ppn.index()];
                ensure(place.programmed, || format!("not programmed yet: {place:?}"))?;
                self.counts.cache_reads += 1;
                self.copies.get(&lpn.0).map(|version| (lpn, *version))
            }
            (Location::Slot(at), ReadSource::Buffer(slot)) if at == slot => {
                self.counts.buffer_reads += 1;
                let loss = self.slots[slot as usize].map_or(Loss::Intact, |held| held.loss);
                self.in_flight(command, Op::Read)?.suffer(loss);
                self.slots[slot as usize].map(|held| (held.lpn, held.version))
            }
            (location, _) => return ensure(false, || format!("the unit's data is at {location:?}")),
        };
        self.resolved = version.filter(|(of, _)| *of == lpn).map(|(_, version)| version);
        let version = self.resolved.map(|version| self.versions[version as usize]);
        let Some(version) = version else { return ensure(false, || "the source holds another unit's data".to_owned()) };
        ensure(version.lpn == lpn && version.completed.is_none_or(|at| at >= floor), || {
            format!("{version:?} is superseded at step {floor}")
        })
    }

    /// Follows a read of a unit that holds nothing; `floor`: the latest submission among its writes that had completed
    /// when the read was submitted.
    fn read_of_nothing(&mut self, command: CommandId, lpn: Lpn, source: ReadSource, floor: u64) -> Check {
        let Unit { trims_in_flight, emptied, .. } = self.units[lpn.index()];
        let is_emptied = trims_in_flight > 0 || emptied.is_some_and(|at| at >= floor);
        match (source, self.rules.data) {
            (ReadSource::Unmapped, _) => self.counts.unmapped_reads += 1,
            // A write in flight whose data has not come; or a line that was never written, and that is moved.
            (ReadSource::Controller(_), Data::Placed | Data::InPlace) => self.counts.controller_reads += 1,
            // A place that was never programmed with the data of this unit.
            (ReadSource::Flash(ppn), Data::InPlace) => self.will_sense(command, lpn, ppn)?,
            _ => return ensure(false, || "the unit holds nothing".to_owned()),
        }
        ensure(is_emptied, || "a completed write is lost".to_owned())
    }

    /// Notes that a read will sense a place for one of its units.
    fn will_sense(&mut self, command: CommandId, lpn: Lpn, ppn: Ppn) -> Check {
        self.places[ppn.index()].reads += 1;
        let erases = self.blocks[self.geometry.block_of(ppn).index()].erases;
        self.in_flight(command, Op::Read)?.to_sense.push((ppn, lpn, erases));
        Ok(())
    }

    pub(super) fn read_sensed(&mut self, ppn: Ppn, owner: Owner) -> Check {
        if !self.rules.tells_places() {
            self.counts.flash_reads += 1;
            let Owner::Command(command) = owner else { return Ok(()) };
            self.in_flight(command, Op::Read)?.sensed += 1;
            return Ok(());
        }
        let place = self.places[ppn.index()];
        let is_there = place.programmed && place.content.is_some();
        ensure(is_there || self.rules.data == Data::InPlace, || format!("nothing is programmed there: {place:?}"))?;
        let loss = place.content.map_or(Loss::Intact, |content| content.loss);
        if let Owner::MapPage(page) = owner {
            let location = self.units[(self.user_units + page) as usize].location;
            // It may have been moved meanwhile, and not written anew.
            let version = |ppn: Ppn| self.places[ppn.index()].content.map(|content| content.version);
            let is_current = matches!(location, Location::At(current) if version(current) == version(ppn));
            ensure(is_current, || format!("page {page} of the map is at {location:?}"))?;
        }
        let Owner::Command(command) = owner else {
            self.counts.internal_reads += 1;
            self.completes_write(ppn, owner, loss);
            return Ok(());
        };
        let state = self.in_flight(command, Op::Read)?;
        state.suffer(loss);
        let Some(index) = state.to_sense.iter().position(|(at, ..)| *at == ppn) else {
            return ensure(false, || "the read was not resolved to this place".to_owned());
        };
        let (_, lpn, erases) = state.to_sense.swap_remove(index);
        self.places[ppn.index()].reads -= 1;
        let block = &self.blocks[self.geometry.block_of(ppn).index()];
        ensure(block.erases == erases, || "the block was erased while the read waited".to_owned())?;
        let is_its_own = place.content.is_none_or(|content| content.lpn == lpn) || self.rules.data == Data::InPlace;
        ensure(is_its_own, || format!("it holds the data of another unit: {place:?}"))?;
        let die = self.geometry.die_of(self.geometry.block_of(ppn));
        let lost = self.lost_dies.get(&die).copied().filter(|_| !self.parity.has_restored(ppn));
        let state = self.in_flight(command, Op::Read)?;
        ensure(state.loss != Loss::Intact || lost.is_none_or(|lost| lost > state.step), || "its die was lost before".to_owned())?;
        self.counts.flash_reads += 1;
        Ok(())
    }

    /// Follows the completion of a command. All records of that instant must have been followed before.
    pub fn completed(&mut self, completion: &Completion, now: SimTime) -> Check {
        self.step += 1;
        self.counts.completed += 1;
        let state = self.by_tag.remove(&completion.tag).and_then(|id| self.commands[id.0 as usize].take());
        let Some(state) = state else { return ensure(false, || format!("{completion:?}: completed twice, or never submitted")) };
        let told = (completion.op, completion.length, completion.submitted, completion.completed);
        let known = (state.command.op, state.command.length, state.at, now);
        ensure(told == known && state.at <= now, || format!("{completion:?}: expected {known:?}"))?;
        self.counts.media_errors += u64::from(completion.media_error());
        if !matches!(completion.status, Status::Success | Status::MediaError) {
            return self.refused(&state, completion);
        }
        ensure(state.loss == Loss::Unknown || completion.media_error() == (state.loss == Loss::Lost), || {
            format!("{completion:?}: its data is {:?}", state.loss)
        })?;
        let context = |Violation(why)| Violation(format!("{completion:?} of {:?}: {why}", state.command));
        match state.command.op {
            Op::Read => {
                // A layer that keeps no data, and plays no record, has all of it on flash.
                let all_sensed = self.rules.tells_places() || !self.rules.knows_blocks || state.sensed == state.units.len();
                let is_whole = state.to_sense.is_empty() && !state.unresolved.contains(&true) && all_sensed;
                ensure(is_whole, || "parts are missing".to_owned())
            }
            Op::Write | Op::Append => self.write_completed(&state, completion),
            Op::Trim => self.trim_completed(&state, true),
            Op::Flush => self.flush_completed(&state),
            Op::Zone => Ok(()),
        }
        .map_err(context)
    }

    /// Follows the completion of a command that failed as it was served: it must have had no effect.
    fn refused(&mut self, state: &InFlight, completion: &Completion) -> Check {
        ensure(state.versions.is_empty() && state.to_sense.is_empty(), || format!("{completion:?}: it was served"))?;
        let may_refuse = self.rules.data == Data::Placed || completion.status == Status::WriteProtected;
        ensure(may_refuse, || format!("{completion:?}: nothing is refused"))?;
        self.counts.refused += 1;
        if state.command.op == Op::Trim { self.trim_completed(state, false) } else { Ok(()) }
    }

    fn write_completed(&mut self, state: &InFlight, completion: &Completion) -> Check {
        let is_durable = (self.writes_through || state.command.flags.contains(CommandFlags::FUA)) && !self.rules.keeps_buffer;
        let (first, count) = match state.command.op {
            Op::Append => {
                range_of(&HostCommand { op: Op::Write, offset: completion.offset, ..state.command }, self.geometry.unit)
            }
            _ => (0, 0),
        };
        for lpn in state.units.iter().copied().chain(first..first + count) {
            let Some(version) = state.versions.get(&lpn).copied() else {
                // It is acknowledged once its data is in the buffer.
                return ensure(false, || format!("unit {lpn} was never accepted"));
            };
            let unit = &mut self.units[lpn as usize];
            unit.floor = unit.floor.max(state.step);
            let held = &mut self.versions[version as usize];
            held.completed = Some(self.step);
            let kept = match held.progress {
                Progress::Durable | Progress::Replaced => true,
                Progress::InSlot | Progress::Bound => {
                    self.volatile.insert(version);
                    self.is_buffered && !is_durable
                }
                Progress::Waiting => false,
            };
            ensure(kept, || format!("acknowledged, but unit {lpn} is {:?}", held.progress))?;
            if self.is_buffered && !is_durable {
                self.promises.acknowledge(self.step, version);
            } else {
                self.promise(version);
            }
        }
        Ok(())
    }

    fn trim_completed(&mut self, state: &InFlight, took_effect: bool) -> Check {
        if !self.rules.trims() {
            return Ok(());
        }
        for unit in &state.units {
            let unit = &mut self.units[*unit as usize];
            unit.trims_in_flight -= 1;
            if !took_effect {
                continue;
            }
            unit.emptied = Some(self.step);
            unit.floor = unit.floor.max(state.step);
        }
        Ok(())
    }

    fn flush_completed(&mut self, state: &InFlight) -> Check {
        if self.rules.keeps_buffer {
            return Ok(());
        }
        let left =
            self.volatile.iter().find(|version| self.versions[**version as usize].completed.is_some_and(|at| at < state.step));
        ensure(left.is_none(), || {
            format!("a write that completed before the flush is not on flash: {:?}", left.map(|v| self.versions[*v as usize]))
        })?;
        self.flush_promised(state.step);
        Ok(())
    }

    /// Describes the commands in flight, in the order of their submission.
    pub fn describe_outstanding(&self) -> String {
        let mut all: Vec<&InFlight> = self.commands.iter().flatten().collect();
        all.sort_by_key(|state| state.step);
        all.iter().map(|state| format!("\n{:?}", state.command)).collect()
    }

    /// Returns the number of commands in flight.
    pub fn outstanding(&self) -> usize {
        self.by_tag.len()
    }
}
