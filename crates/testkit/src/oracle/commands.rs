//! The host's side: submissions, the data that reads return, and completions.

use super::{Check, Location, Loss, Oracle, Progress, Violation, ensure};
use kit::{CommandFlags, CommandId, Completion, HostCommand, Lpn, Op, Owner, Ppn, ReadSource, SimTime, UnitSize};

/// A command that was submitted and has not completed.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    command: HostCommand,
    at: SimTime,
    step: u64,
    first: u32,
    /// For a write: the version of each unit, once accepted.
    versions: Vec<Option<u32>>,
    /// For a read: for each unit, the latest submission among the writes and trims that had completed when the read was
    /// submitted \[step\].
    floors: Vec<u64>,
    unresolved: Vec<bool>,
    /// For a read: places that it will sense, with the erase count of their block.
    to_sense: Vec<(Ppn, u32)>,
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

    /// Returns true if a write covers a unit completely.
    pub(super) fn covers(&self, lpn: Lpn, unit: UnitSize) -> bool {
        let (start, end) = (self.command.offset.0, self.command.offset.0 + self.command.length.0);
        let first = unit.offset(u64::from(lpn.0));
        start <= first && end >= first + unit.bytes()
    }
}

/// Returns the first unit and the number of units of a command: all units that it touches or, for a trim, the units
/// that it covers entirely.
fn range_of(command: &HostCommand, unit: UnitSize) -> (u32, u32) {
    let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
    let (first, last) = match command.op {
        Op::Trim => (unit.begun(start), unit.whole(end)),
        Op::Read | Op::Write | Op::Append => (unit.whole(start), unit.begun(end)),
        Op::Flush | Op::Zone => (0, 0),
    };
    (first as u32, last.saturating_sub(first) as u32)
}

impl Oracle {
    /// Follows the submission of a command; `id` is its name in the journal. Its tag must differ from the tags of all
    /// commands in flight.
    pub fn submitted(&mut self, id: CommandId, command: HostCommand, at: SimTime) {
        self.step += 1;
        self.counts.submitted += 1;
        let (first, count) = range_of(&command, self.geometry.unit);
        let units = first as usize..(first + count) as usize;
        let mut state = InFlight {
            command,
            at,
            step: self.step,
            first,
            versions: Vec::new(),
            floors: Vec::new(),
            unresolved: Vec::new(),
            to_sense: Vec::new(),
            loss: Loss::Intact,
        };
        match command.op {
            Op::Write => state.versions = vec![None; count as usize],
            Op::Read => {
                state.floors = self.units[units].iter().map(|unit| unit.floor).collect();
                state.unresolved = vec![true; count as usize];
            }
            Op::Trim => self.units[units].iter_mut().for_each(|unit| unit.trims_in_flight += 1),
            // A drive with zones keeps no map that the oracle could follow.
            Op::Append | Op::Zone | Op::Flush => {}
        }
        let index = id.0 as usize;
        if self.commands.len() <= index {
            self.commands.resize(index + 1, None);
        }
        assert!(self.commands[index].is_none(), "two commands in flight have one number");
        self.commands[index] = Some(state);
        assert!(self.by_tag.insert(command.tag, id).is_none(), "two commands in flight have one tag");
    }

    pub(super) fn in_flight(&mut self, command: CommandId, op: Op) -> Result<&mut InFlight, Violation> {
        let state = self.commands.get_mut(command.0 as usize).and_then(Option::as_mut);
        state
            .filter(|state| state.command.op == op)
            .ok_or_else(|| Violation(format!("no {} of this number is in flight", op.name())))
    }

    /// Returns the entry for the version of a unit of a write.
    pub(super) fn version_entry(&mut self, command: CommandId, lpn: Lpn) -> Result<&mut Option<u32>, Violation> {
        let state = self.in_flight(command, Op::Write)?;
        let index = lpn.0.wrapping_sub(state.first) as usize;
        state.versions.get_mut(index).ok_or_else(|| Violation("the unit is not in the command's range".to_owned()))
    }

    pub(super) fn accepted_version(&mut self, command: CommandId, lpn: Lpn) -> Result<u32, Violation> {
        self.version_entry(command, lpn)?.ok_or_else(|| Violation("the unit was never accepted".to_owned()))
    }

    pub(super) fn read_resolved(&mut self, command: CommandId, lpn: Lpn, source: ReadSource) -> Check {
        let state = self.in_flight(command, Op::Read)?;
        let index = lpn.0.wrapping_sub(state.first) as usize;
        ensure(index < state.floors.len(), || "the unit is not in the command's range".to_owned())?;
        ensure(std::mem::take(&mut state.unresolved[index]), || "resolved twice".to_owned())?;
        let floor = state.floors[index];
        let unit = &self.units[lpn.index()];
        let version = match (unit.location, source) {
            (Location::Nowhere, ReadSource::Unmapped) => {
                self.counts.unmapped_reads += 1;
                let admissible = unit.trims_in_flight > 0 || unit.emptied.is_some_and(|at| at >= floor);
                return ensure(admissible, || "a completed write is lost".to_owned());
            }
            (Location::At(at), ReadSource::Flash(ppn)) if at == ppn => {
                let place = self.places[ppn.index()];
                ensure(place.programmed || self.waits_for_program, || format!("not programmed yet: {place:?}"))?;
                let block = &mut self.blocks[self.geometry.block_of(ppn).index()];
                block.reads += 1;
                let erases = block.erases;
                self.in_flight(command, Op::Read)?.to_sense.push((ppn, erases));
                place.content.map(|content| (content.lpn, content.version))
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
        let version = version.filter(|(of, _)| *of == lpn).map(|(_, version)| self.versions[version as usize]);
        let Some(version) = version else { return ensure(false, || "the source holds another unit's data".to_owned()) };
        ensure(version.lpn == lpn && version.completed.is_none_or(|at| at >= floor), || {
            format!("{version:?} is superseded at step {floor}")
        })
    }

    pub(super) fn read_sensed(&mut self, ppn: Ppn, owner: Owner) -> Check {
        let place = self.places[ppn.index()];
        ensure(place.programmed && place.content.is_some(), || format!("nothing is programmed there: {place:?}"))?;
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
        let Some(index) = state.to_sense.iter().position(|(at, _)| *at == ppn) else {
            return ensure(false, || "the read was not resolved to this place".to_owned());
        };
        let (_, erases) = state.to_sense.swap_remove(index);
        let block = &mut self.blocks[self.geometry.block_of(ppn).index()];
        ensure(block.erases == erases, || "the block was erased while the read waited".to_owned())?;
        block.reads -= 1;
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
        ensure(state.loss == Loss::Unknown || completion.media_error() == (state.loss == Loss::Lost), || {
            format!("{completion:?}: its data is {:?}", state.loss)
        })?;
        let context = |Violation(why)| Violation(format!("{completion:?} of {:?}: {why}", state.command));
        match state.command.op {
            Op::Read => ensure(state.to_sense.is_empty() && !state.unresolved.contains(&true), || "parts are missing".to_owned()),
            Op::Write => self.write_completed(&state),
            Op::Trim => self.trim_completed(&state),
            Op::Flush => self.flush_completed(&state),
            Op::Append | Op::Zone => Ok(()),
        }
        .map_err(context)
    }

    fn write_completed(&mut self, state: &InFlight) -> Check {
        let is_durable = self.writes_through || state.command.flags.contains(CommandFlags::FUA);
        for (version, lpn) in state.versions.iter().zip(state.first..) {
            let Some(version) = *version else { return ensure(false, || format!("unit {lpn} was never accepted")) };
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
        }
        Ok(())
    }

    fn trim_completed(&mut self, state: &InFlight) -> Check {
        let (first, count) = range_of(&state.command, self.geometry.unit);
        for unit in &mut self.units[first as usize..(first + count) as usize] {
            unit.trims_in_flight -= 1;
            unit.emptied = Some(self.step);
            unit.floor = unit.floor.max(state.step);
        }
        Ok(())
    }

    fn flush_completed(&mut self, state: &InFlight) -> Check {
        let left =
            self.volatile.iter().find(|version| self.versions[**version as usize].completed.is_some_and(|at| at < state.step));
        ensure(left.is_none(), || {
            format!("a write that completed before the flush is not on flash: {:?}", left.map(|v| self.versions[*v as usize]))
        })
    }

    /// Returns the number of commands in flight.
    pub fn outstanding(&self) -> usize {
        self.by_tag.len()
    }
}
