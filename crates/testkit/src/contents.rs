//! The bytes of a drive's reads, compared with those of the versions to which the oracle resolves them.

use crate::oracle::{Check, Oracle, Violation, ensure};
use drive::{Drive, PowerLoss};
use kit::{Bytes, CommandId, Completion, HostCommand, Lpn, Op, Record, Status, UnitSize};
use payload::Contents;
use std::collections::BTreeMap;

/// Bytes that have one stamp.
const SECTOR: u64 = 512;

/// A read in flight: its command, and the version of each unit that has been looked up.
struct Read {
    command: HostCommand,
    versions: BTreeMap<u32, Option<u32>>,
}

/// The contents of a drive, and the bytes that each version must have.
pub(crate) struct Compared {
    contents: Contents,
    unit: UnitSize,
    /// Stamp of the next write. Every sector of a write has its stamp and its number.
    next: u64,
    /// Stamps and commands of the writes in flight.
    writes: BTreeMap<CommandId, (u64, HostCommand)>,
    reads: BTreeMap<CommandId, Read>,
    /// Words of the sectors of each version. Those of the starting state are zero.
    versions: BTreeMap<u32, Vec<u64>>,
    /// Last accepted version of each unit.
    latest: BTreeMap<Lpn, u32>,
    /// Number of units that have been compared.
    pub compared: u64,
}

impl Compared {
    /// Returns the contents of a drive in its starting state; `None` if it has no page map.
    pub fn of(drive: &Drive) -> Option<Compared> {
        drive.translator().map()?;
        Some(Compared {
            contents: Contents::new(&drive.medium().geometry, u64::MAX, None),
            unit: drive.unit(),
            next: 1,
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            versions: BTreeMap::new(),
            latest: BTreeMap::new(),
            compared: 0,
        })
    }

    /// Gives a command its data.
    pub fn submitted(&mut self, id: CommandId, command: HostCommand) {
        match command.op {
            Op::Read => {
                self.contents.read(id, command.offset, command.length);
                self.reads.insert(id, Read { command, versions: BTreeMap::new() });
            }
            Op::Write => {
                let words = (0..command.length.0 / 8).map(|word| word_of(self.next, command.offset.0 / SECTOR + word / 64));
                let data: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
                self.contents.write(id, command.offset, &data).expect("there is no limit");
                self.writes.insert(id, (self.next, command));
                self.next += 1;
            }
            _ => {}
        }
    }

    /// Follows a record that the oracle has followed.
    pub fn follow(&mut self, record: &Record, oracle: &Oracle) {
        self.contents.follow(record);
        match *record {
            Record::WriteAccepted { command, lpn } => self.accepted(command, lpn, oracle.last_version()),
            Record::Trimmed { lpn } => {
                self.latest.remove(&lpn);
            }
            Record::ReadResolved { command, lpn, .. } => {
                if let Some(read) = self.reads.get_mut(&command) {
                    read.versions.insert(lpn.0, oracle.resolved());
                }
            }
            _ => {}
        }
    }

    /// Notes the bytes of a version: those of its write, and for the rest those of the version before it.
    fn accepted(&mut self, command: CommandId, lpn: Lpn, version: u32) {
        let Some(&(stamp, write)) = self.writes.get(&command) else { return };
        let sectors = self.unit.bytes() / SECTOR;
        let (begin, end) = (write.offset.0 / SECTOR, (write.offset.0 + write.length.0) / SECTOR);
        let older = self.latest.insert(lpn, version).and_then(|older| self.versions.get(&older));
        let first = u64::from(lpn.0) * sectors;
        let word = |sector: u64| match older {
            _ if (begin..end).contains(&sector) => word_of(stamp, sector),
            Some(older) => older[(sector - first) as usize],
            None => 0,
        };
        let words = (first..first + sectors).map(word).collect();
        self.versions.insert(version, words);
    }

    /// Compares the data of a read that has completed.
    pub fn completed(&mut self, completion: &Completion) -> Check {
        let id = completion.id;
        self.writes.remove(&id);
        let Some(read) = self.reads.remove(&id).filter(|_| completion.status == Status::Success) else {
            self.contents.ended(id);
            return Ok(());
        };
        let HostCommand { offset, length: Bytes(length), .. } = read.command;
        let mut data = vec![0xa5; length as usize];
        let taken = self.contents.take(id, &mut data);
        taken.map_err(|fault| Violation(format!("{completion:?}: {fault:?}")))?;
        let sectors = self.unit.bytes() / SECTOR;
        for (sector, bytes) in (offset.0 / SECTOR..).zip(data.chunks_exact(SECTOR as usize)) {
            let (lpn, within) = (sector / sectors, sector % sectors);
            let version = read.versions.get(&(lpn as u32)).copied().flatten();
            let words = version.and_then(|version| self.versions.get(&version));
            let expected = words.map_or(0, |words| words[within as usize]);
            let is_right = bytes.chunks_exact(8).all(|word| word == expected.to_le_bytes());
            ensure(is_right, || {
                format!("{completion:?}: sector {sector} is not that of version {version:?}, {expected:#x}: {bytes:02x?}")
            })?;
        }
        self.compared += read.versions.len() as u64;
        Ok(())
    }

    /// Follows a loss of power, after the oracle.
    pub fn power_was_lost(&mut self, drive: &Drive, loss: &PowerLoss, oracle: &Oracle) {
        self.contents.lose_power(&loss.half_erased);
        self.contents.recovered(|place| drive.current_unit(place));
        (self.writes, self.reads) = Default::default();
        let user = drive.user_bytes().div_ceil(drive.unit().bytes()) as u32;
        let on_flash = |lpn| oracle.version_on_flash(lpn).map(|version| (lpn, version));
        self.latest = (0..user).map(Lpn).filter_map(on_flash).collect();
    }
}

/// Returns the word that fills a sector of a write.
fn word_of(stamp: u64, sector: u64) -> u64 {
    stamp << 32 | (sector + 1) & 0xffff_ffff
}
