//! The contents of a drive, by the records of its journal.

use crate::places::Places;
use crate::store::{Id, Refusal, Store};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kit::{BlockId, Bytes, CommandId, Geometry, Lpn, Ppn, ReadSource, Record, UnitSize};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;

mod saved;

/// Mark of the number of a place that is bound and not programmed yet. Without it the number is that of a unit, or
/// [`TORN`].
const IN_FLIGHT: u32 = 1 << 31;
/// Number of a place whose program was interrupted by a loss of power.
const TORN: Id = Id(IN_FLIGHT - 1);

/// Reason why there is no data for a read. No drive without defects gives the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A unit was read at a place whose program had been interrupted.
    Torn(Lpn),
    /// A unit of a read was never looked up.
    NotLookedUp(Lpn),
    /// The file of the contents cannot be read.
    File(ErrorKind),
}

/// Data of a unit of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// A unit of a read that is not looked up yet.
    Open,
    /// The unit of a read is at a place that a loss of power has torn.
    Torn,
    /// The data.
    Unit(Id),
    /// Data for a part of the unit, by its index in `parts`.
    Part(usize),
}

/// Data for a part of a unit.
#[derive(Clone, Debug, Default)]
struct PartOfUnit {
    from: usize,
    bytes: Vec<u8>,
    /// The whole unit, once the write has been accepted. Until then space is reserved for it.
    whole: Option<Id>,
}

/// Data of a command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    offset: u64,
    length: u64,
    first: u32,
    is_read: bool,
    units: Vec<Data>,
    parts: Vec<PartOfUnit>,
}

/// The contents of a drive with a page map.
///
/// The bytes of a write are given when the command is submitted, and those of a read are taken when it completes. In
/// between, the contents follow every record of the drive's journal.
#[derive(Debug)]
pub struct Contents {
    unit: UnitSize,
    units_per_block: u32,
    store: Store,
    places: Places,
    /// Units in the slots of the write buffer.
    slots: Vec<Id>,
    /// Data of the commands in flight, by their numbers.
    commands: Vec<Command>,
    /// Commands without units, whose memory is used again.
    spare: Vec<Command>,
    /// Latest data of each unit that was written and holds not only zeroes: what a write of a part of it leaves of it.
    latest: HashMap<u32, Id, FixedState>,
    /// One unit.
    scratch: Vec<u8>,
    /// First error of the file of the units, after which data is missing.
    failure: Option<ErrorKind>,
}

impl Contents {
    /// Returns the contents of a drive that holds zeroes, for at most `limit` bytes of other units: in memory, or in an
    /// empty file that nobody else changes.
    pub fn new(geometry: &Geometry, limit: u64, file: Option<File>) -> Contents {
        let unit = geometry.unit;
        Contents {
            unit,
            units_per_block: geometry.units_per_block,
            store: Store::new(unit.bytes() as usize, limit, file),
            places: Places::default(),
            slots: Vec::new(),
            commands: Vec::new(),
            spare: Vec::new(),
            latest: HashMap::default(),
            scratch: vec![0; unit.bytes() as usize],
            failure: None,
        }
    }

    /// Returns true if the units are in a file.
    pub fn is_in_file(&self) -> bool {
        self.store.is_in_file()
    }

    /// Returns a copy; `None` of contents in a file.
    pub fn fork(&self) -> Option<Contents> {
        Some(Contents {
            store: self.store.fork()?,
            places: self.places.clone(),
            slots: self.slots.clone(),
            commands: self.commands.clone(),
            spare: Vec::new(),
            latest: self.latest.clone(),
            scratch: self.scratch.clone(),
            ..*self
        })
    }

    /// Returns the first error of the file of the contents, after which data is missing.
    pub fn failure(&self) -> Option<ErrorKind> {
        self.failure
    }

    /// Returns the bytes of all units that are kept: equal units count once, units of zeroes not at all, and those that
    /// were superseded until their block is erased.
    pub fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// Returns the largest number of bytes of all units.
    pub fn limit(&self) -> u64 {
        self.store.limit()
    }

    /// Returns true if the latest data of a unit is zeroes.
    pub fn is_zeroes(&self, lpn: Lpn) -> bool {
        !self.latest.contains_key(&lpn.0)
    }

    /// Returns the memory that the tables beside the units take \[bytes\].
    pub fn overhead(&self) -> u64 {
        let latest = self.latest.capacity() as u64 * 9;
        self.places.memory() + self.store.overhead() + latest + 4 * self.slots.capacity() as u64
    }

    /// Keeps the data of a write, which has just been submitted under this number.
    pub fn write(&mut self, command: CommandId, offset: Bytes, data: &[u8]) -> Result<(), Refusal> {
        let write = self.prepare(offset, data)?;
        self.submitted(command, write);
        Ok(())
    }

    /// Keeps the data of a write that will be submitted ([`Contents::submitted`]).
    pub fn prepare(&mut self, offset: Bytes, data: &[u8]) -> Result<Command, Refusal> {
        let mut write = self.empty(offset, data.len() as u64, false);
        match self.keep(&mut write, data) {
            Ok(()) => Ok(write),
            Err(refusal) => {
                self.forget(&mut write);
                self.spare.push(write);
                Err(refusal)
            }
        }
    }

    /// Notes the number of a command, which has just been submitted.
    pub fn submitted(&mut self, number: CommandId, command: Command) {
        if self.commands.len() <= number.index() {
            self.commands.resize(number.index() + 1, Command::default());
        }
        let mut old = std::mem::replace(&mut self.commands[number.index()], command);
        self.forget(&mut old);
        self.spare.push(old);
    }

    fn keep(&mut self, write: &mut Command, data: &[u8]) -> Result<(), Refusal> {
        let unit = self.unit.bytes();
        let mut at = write.offset;
        while at < write.offset + write.length {
            let from = at % unit;
            let to = (write.offset + write.length - (at - from)).min(unit);
            let bytes = &data[(at - write.offset) as usize..][..(to - from) as usize];
            if from == 0 && to == unit {
                write.units.push(Data::Unit(self.store.insert(bytes)?));
            } else {
                self.store.reserve()?;
                write.units.push(Data::Part(write.parts.len()));
                write.parts.push(PartOfUnit { from: from as usize, bytes: bytes.to_vec(), whole: None });
            }
            at += to - from;
        }
        Ok(())
    }

    /// Expects the records of a read, which has just been submitted under this number.
    pub fn read(&mut self, command: CommandId, offset: Bytes, length: Bytes) {
        let mut read = self.empty(offset, length.0, true);
        let count = self.unit.begun(offset.0 + length.0) as u32 - read.first;
        read.units.resize(count as usize, Data::Open);
        self.submitted(command, read);
    }

    /// Returns a command without units, in memory that another one had.
    fn empty(&mut self, offset: Bytes, length: u64, is_read: bool) -> Command {
        let spare = self.spare.pop().unwrap_or_default();
        Command { offset: offset.0, length, first: self.unit.whole(offset.0) as u32, is_read, ..spare }
    }

    /// Copies the data of a read that has completed, as long as the read.
    pub fn take(&mut self, command: CommandId, into: &mut [u8]) -> Result<(), Fault> {
        let mut read = std::mem::take(&mut self.commands[command.index()]);
        let taken = self.copy(&read, into);
        self.forget(&mut read);
        self.commands[command.index()] = read;
        taken
    }

    fn copy(&self, read: &Command, into: &mut [u8]) -> Result<(), Fault> {
        let unit = self.unit.bytes();
        let mut done = 0;
        for (number, data) in read.units.iter().enumerate() {
            let from = if number == 0 { (read.offset % unit) as usize } else { 0 };
            let count = (unit as usize - from).min(into.len() - done);
            let lpn = Lpn(read.first + number as u32);
            match *data {
                Data::Unit(id) => {
                    let copied = self.store.copy_to(id, from, &mut into[done..done + count]);
                    copied.map_err(|error| Fault::File(error.kind()))?;
                }
                Data::Torn => return Err(Fault::Torn(lpn)),
                Data::Open | Data::Part(_) => return Err(Fault::NotLookedUp(lpn)),
            }
            done += count;
        }
        Ok(())
    }

    /// Forgets the data of a command that has completed.
    pub fn ended(&mut self, command: CommandId) {
        if let Some(entry) = self.commands.get_mut(command.index()) {
            let mut entry = std::mem::take(entry);
            self.forget(&mut entry);
            self.commands[command.index()] = entry;
        }
    }

    fn forget(&mut self, command: &mut Command) {
        for data in command.units.drain(..) {
            match data {
                Data::Unit(id) => self.store.release(id),
                Data::Open | Data::Torn | Data::Part(_) => {}
            }
        }
        for part in command.parts.drain(..) {
            match part.whole {
                Some(id) => self.store.release(id),
                None => self.store.unreserve(),
            }
        }
    }

    /// Follows a record of the drive's journal.
    #[inline]
    pub fn follow(&mut self, record: &Record) {
        match *record {
            Record::WriteAccepted { command, lpn } => self.accepted(command, lpn),
            Record::Bound { lpn, ppn, command, .. } => {
                let id = self.written(command, lpn);
                self.store.retain(id);
                self.bind(ppn, id);
            }
            Record::Buffered { command, lpn, slot } => self.buffered(command, lpn, slot),
            Record::BoundFromBuffer { slot, ppn, .. } | Record::ObsoleteBound { slot, ppn, .. } => {
                let id = std::mem::take(&mut self.slots[slot as usize]);
                self.bind(ppn, id);
            }
            Record::Relocated { from, to, .. } | Record::BackedUp { from, to, .. } | Record::BoundAgain { from, to, .. } => {
                let id = unit_of(self.places.get(from));
                retain(&mut self.store, id);
                self.bind(to, id);
            }
            Record::Programmed { first, count, .. } => {
                self.places.change(first..Ppn(first.0 + count), |_, number| number & !IN_FLIGHT);
            }
            Record::Erased { block } | Record::Retired { block } => self.change_block(block, Id::ZEROES),
            Record::DroppedFromBuffer { slot, .. } => {
                let id = std::mem::take(&mut self.slots[slot as usize]);
                self.store.release(id);
            }
            Record::Trimmed { lpn } => self.set_latest(lpn, Id::ZEROES),
            Record::ReadResolved { command, lpn, source } => self.looked_up(command, lpn, source),
            _ => {}
        }
    }

    /// Completes the data of a unit of a write: what it does not cover stays as it is. A write that a reset has ended
    /// is accepted again.
    fn accepted(&mut self, command: CommandId, lpn: Lpn) {
        let write = &mut self.commands[command.index()];
        let id = match write.units.get(lpn.0.wrapping_sub(write.first) as usize) {
            Some(&Data::Unit(id)) => id,
            Some(&Data::Part(number)) => {
                let part = &mut write.parts[number];
                let latest = self.latest.get(&lpn.0).copied().unwrap_or_default();
                if let Err(error) = self.store.copy_to(latest, 0, &mut self.scratch) {
                    self.failure.get_or_insert(error.kind());
                }
                self.scratch[part.from..part.from + part.bytes.len()].copy_from_slice(&part.bytes);
                if let Some(earlier) = part.whole.take() {
                    self.store.release(earlier);
                    self.store.reserve_beyond();
                }
                let kept = self.store.insert_reserved(&self.scratch).unwrap_or_else(|refusal| {
                    if let Refusal::File(kind) = refusal {
                        self.failure.get_or_insert(kind);
                    }
                    Id::ZEROES
                });
                *part.whole.insert(kept)
            }
            _ => return,
        };
        self.set_latest(lpn, id);
    }

    fn set_latest(&mut self, lpn: Lpn, id: Id) {
        self.store.retain(id);
        let old = if id == Id::ZEROES { self.latest.remove(&lpn.0) } else { self.latest.insert(lpn.0, id) };
        self.store.release(old.unwrap_or_default());
    }

    /// Returns the data of a unit of a write that was accepted; zeroes if the write came without data.
    fn written(&self, command: CommandId, lpn: Lpn) -> Id {
        let write = self.commands.get(command.index());
        let Some(write) = write else { return Id::ZEROES };
        match write.units.get(lpn.0.wrapping_sub(write.first) as usize) {
            Some(&Data::Unit(id)) => id,
            Some(&Data::Part(number)) => write.parts[number].whole.unwrap_or_default(),
            _ => Id::ZEROES,
        }
    }

    fn buffered(&mut self, command: CommandId, lpn: Lpn, slot: u32) {
        let id = self.written(command, lpn);
        self.store.retain(id);
        if self.slots.len() <= slot as usize {
            self.slots.resize(slot as usize + 1, Id::ZEROES);
        }
        let old = std::mem::replace(&mut self.slots[slot as usize], id);
        self.store.release(old);
    }

    /// Gives a place a unit that has a user for it.
    fn bind(&mut self, place: Ppn, id: Id) {
        let old = self.places.replace(place, id.0 | IN_FLIGHT);
        release(&mut self.store, unit_of(old));
    }

    /// Gives all places of a block that have a unit another.
    fn change_block(&mut self, block: BlockId, id: Id) {
        let first = block.0 * self.units_per_block;
        let Contents { places, store, .. } = self;
        places.change(Ppn(first)..Ppn(first + self.units_per_block), |_, number| {
            release(store, unit_of(number));
            id.0
        });
    }

    fn looked_up(&mut self, command: CommandId, lpn: Lpn, source: ReadSource) {
        let id = match source {
            ReadSource::Flash(at) | ReadSource::Controller(at) | ReadSource::Cache(at) => unit_of(self.places.get(at)),
            ReadSource::Buffer(slot) => self.slots.get(slot as usize).copied().unwrap_or_default(),
            ReadSource::Unmapped => Id::ZEROES,
        };
        let Some(read) = self.commands.get_mut(command.index()).filter(|read| read.is_read) else { return };
        let Some(data) = read.units.get_mut(lpn.0.wrapping_sub(read.first) as usize) else { return };
        retain(&mut self.store, id);
        let new = if id == TORN { Data::Torn } else { Data::Unit(id) };
        if let Data::Unit(old) = std::mem::replace(data, new) {
            self.store.release(old);
        }
    }

    /// Follows a loss of power: programs in flight are torn, as are blocks whose erase was interrupted, and what was in
    /// the controller is gone. [`Contents::recovered`] follows.
    pub fn lose_power(&mut self, half_erased: &[BlockId]) {
        for block in half_erased {
            self.change_block(*block, TORN);
        }
        for slot in std::mem::take(&mut self.slots) {
            self.store.release(slot);
        }
        for mut command in std::mem::take(&mut self.commands) {
            self.forget(&mut command);
        }
        let latest = std::mem::take(&mut self.latest);
        latest.into_values().for_each(|id| self.store.release(id));
        let Contents { places, store, .. } = self;
        let all: Range<Ppn> = places.all();
        places.change(all, |_, number| {
            if number & IN_FLIGHT == 0 {
                return number;
            }
            release(store, unit_of(number));
            TORN.0
        });
    }

    /// Follows the recovery from a loss of power, after its records. `current` returns the unit whose data the
    /// recovered drive has at a place; `None` if it has none there.
    pub fn recovered(&mut self, mut current: impl FnMut(Ppn) -> Option<Lpn>) {
        let Contents { places, store, latest, .. } = self;
        let all: Range<Ppn> = places.all();
        places.change(all, |place, number| {
            let id = unit_of(number);
            if let Some(lpn) = current(place).filter(|_| id != TORN) {
                store.retain(id);
                store.release(latest.insert(lpn.0, id).unwrap_or_default());
            }
            number
        });
    }
}

/// Returns the unit at a place of this number.
fn unit_of(number: u32) -> Id {
    Id(number & !IN_FLIGHT)
}

fn retain(store: &mut Store, id: Id) {
    if id != TORN {
        store.retain(id);
    }
}

fn release(store: &mut Store, id: Id) {
    if id != TORN {
        store.release(id);
    }
}

#[cfg(test)]
mod tests;
