//! Units of data, each kept once.

use crate::units::Units;
use foldhash::quality::FixedState;
use hashbrown::HashTable;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};

/// Number of a unit in a store.
/// The default is the unit of zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The unit of zeroes, which takes no space.
    pub const ZEROES: Id = Id(0);
}

/// Reason why a store does not take another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It would have more than its limit.
    Full,
    /// Its file cannot be read, written or made longer.
    File(ErrorKind),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::File(error.kind())
    }
}

/// Units of data with counts of their users. Equal units are one; a unit without users is forgotten.
#[derive(Debug)]
pub struct Store {
    /// Bytes of the units but that of zeroes.
    bytes: Units,
    /// Users and hash of each unit. The first is that of zeroes.
    users: Vec<u32>,
    hashes: Vec<u64>,
    /// Numbers below the length of `users` that are free.
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: FixedState,
    /// Largest number of units.
    limit: u64,
    /// Units for which space is reserved.
    reserved: u64,
}

impl Store {
    /// Returns an empty store of units of `unit_bytes`, for at most `limit` bytes of them: in memory, or in an empty
    /// file that nobody else changes.
    pub fn new(unit_bytes: usize, limit: u64, file: Option<File>) -> Store {
        Store {
            bytes: file.map_or_else(|| Units::in_memory(unit_bytes), |file| Units::in_file(unit_bytes, file)),
            users: vec![0],
            hashes: vec![0],
            free: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
            limit: (limit / unit_bytes as u64).min(u64::from(i32::MAX as u32) - 2),
            reserved: 0,
        }
    }

    /// Returns true if the units are in a file.
    pub fn is_in_file(&self) -> bool {
        self.bytes.is_in_file()
    }

    /// Returns a copy; `None` of a store in a file.
    pub fn fork(&self) -> Option<Store> {
        Some(Store {
            bytes: self.bytes.fork()?,
            users: self.users.clone(),
            hashes: self.hashes.clone(),
            free: self.free.clone(),
            index: self.index.clone(),
            hasher: self.hasher.clone(),
            ..*self
        })
    }

    /// Returns the bytes of a unit.
    pub fn unit_bytes(&self) -> usize {
        self.bytes.unit_bytes()
    }

    /// Returns the bytes of all units.
    pub fn bytes(&self) -> u64 {
        self.units() * self.unit_bytes() as u64
    }

    /// Returns the largest number of bytes of all units.
    pub fn limit(&self) -> u64 {
        self.limit * self.unit_bytes() as u64
    }

    /// Returns the memory that counts, hashes and index take \[bytes\].
    pub fn overhead(&self) -> u64 {
        let tables = 4 * self.users.capacity() + 8 * self.hashes.capacity() + 4 * self.free.capacity();
        (tables + self.index.allocation_size() + self.bytes.overhead()) as u64
    }

    fn units(&self) -> u64 {
        (self.users.len() - 1 - self.free.len()) as u64
    }

    /// Returns the number of a unit with these bytes, which has one more user.
    pub fn insert(&mut self, bytes: &[u8]) -> Result<Id, Refusal> {
        self.insert_within(bytes, self.limit)
    }

    fn insert_within(&mut self, bytes: &[u8], limit: u64) -> Result<Id, Refusal> {
        assert!(bytes.len() == self.unit_bytes(), "{} bytes: a unit has {}", bytes.len(), self.unit_bytes());
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(Id::ZEROES);
        }
        let hash = self.hasher.hash_one(bytes);
        let mut failed = None;
        let found = self.index.find(hash, |&id| {
            self.bytes.is(slot(id), bytes).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        });
        if let Some(&found) = found {
            self.users[found as usize] += 1;
            return Ok(Id(found));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        if self.units() + self.reserved >= limit {
            return Err(Refusal::Full);
        }
        self.bytes.grow((self.units() + self.reserved + 1) as usize)?;
        let next = self.free.last().copied().unwrap_or(self.users.len() as u32);
        self.bytes.set(slot(next), bytes)?;
        if self.free.pop().is_none() {
            self.users.push(0);
            self.hashes.push(0);
        }
        (self.users[next as usize], self.hashes[next as usize]) = (1, hash);
        self.index.insert_unique(hash, next, |&id| self.hashes[id as usize]);
        Ok(Id(next))
    }

    /// Reserves space for a unit that [`Store::insert_reserved`] will bring.
    pub fn reserve(&mut self) -> Result<(), Refusal> {
        let units = self.units() + self.reserved;
        if units >= self.limit {
            return Err(Refusal::Full);
        }
        self.bytes.grow(units as usize + 1)?;
        self.reserved += 1;
        Ok(())
    }

    /// Reserves space for a unit, beyond the limit if need be.
    pub fn reserve_beyond(&mut self) {
        self.reserved += 1;
    }

    /// Gives up reserved space.
    pub fn unreserve(&mut self) {
        self.reserved -= 1;
    }

    /// Inserts a unit into reserved space. An error is that of the store's file.
    pub fn insert_reserved(&mut self, bytes: &[u8]) -> Result<Id, Refusal> {
        self.reserved -= 1;
        self.insert_within(bytes, u64::MAX)
    }

    /// Adds a user of a unit.
    pub fn retain(&mut self, id: Id) {
        if id != Id::ZEROES {
            self.users[id.0 as usize] += 1;
        }
    }

    /// Removes a user of a unit.
    pub fn release(&mut self, id: Id) {
        if id == Id::ZEROES {
            return;
        }
        let users = &mut self.users[id.0 as usize];
        *users -= 1;
        if *users == 0 {
            let entry = self.index.find_entry(self.hashes[id.0 as usize], |&other| other == id.0);
            entry.expect("each unit is in the index").remove();
            self.free.push(id.0);
        }
    }

    /// Copies the bytes of a unit from an offset on. An error is that of the store's file.
    pub fn copy_to(&self, id: Id, from: usize, into: &mut [u8]) -> io::Result<()> {
        if id == Id::ZEROES {
            into.fill(0);
            return Ok(());
        }
        self.bytes.copy_to(slot(id.0), from, into)
    }
}

/// Returns the place of a unit that is not that of zeroes.
fn slot(id: u32) -> usize {
    id as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks something of stores of units of 512 bytes, in memory and in a file.
    fn in_memory_and_in_a_file(limit: u64, check: fn(Store)) {
        for file in [None, Some(tempfile::tempfile().unwrap())] {
            check(Store::new(512, limit, file));
        }
    }

    #[test]
    fn equal_units_are_kept_once_and_forgotten_with_their_last_user() {
        in_memory_and_in_a_file(2 * 512, equal_units);
    }

    fn equal_units(mut store: Store) {
        let (a, b) = ([1; 512], [2; 512]);
        let first = store.insert(&a).unwrap();
        assert_eq!(store.insert(&a), Ok(first));
        assert_eq!(store.insert(&[0; 512]), Ok(Id::ZEROES));
        assert_eq!(store.bytes(), 512);
        let second = store.insert(&b).unwrap();
        assert_eq!(store.insert(&[3; 512]), Err(Refusal::Full));
        store.release(first);
        assert_eq!(store.insert(&[3; 512]), Err(Refusal::Full), "it has another user");
        store.release(first);
        let third = store.insert(&[3; 512]).unwrap();
        let mut found = [0; 4];
        store.copy_to(third, 508, &mut found).unwrap();
        assert_eq!(found, [3; 4]);
        store.copy_to(second, 0, &mut found).unwrap();
        assert_eq!((found, store.bytes()), ([2; 4], 1024));
        assert_eq!(store.insert(&a), Err(Refusal::Full), "it was forgotten");
    }

    #[test]
    fn reserved_space_is_taken_by_nothing_else() {
        in_memory_and_in_a_file(2 * 512, reserved_space);
    }

    fn reserved_space(mut store: Store) {
        store.reserve().unwrap();
        store.insert(&[1; 512]).unwrap();
        assert_eq!(store.insert(&[2; 512]), Err(Refusal::Full));
        assert_eq!(store.reserve(), Err(Refusal::Full));
        let id = store.insert_reserved(&[3; 512]).unwrap();
        store.release(id);
        store.reserve().unwrap();
        store.unreserve();
        store.insert(&[2; 512]).unwrap();
    }

    #[test]
    fn many_units_fill_many_slabs() {
        in_memory_and_in_a_file(u64::MAX, many_units);
    }

    fn many_units(mut store: Store) {
        let bytes = |number: u32| {
            let mut bytes = [0; 512];
            bytes[100..104].copy_from_slice(&(number + 1).to_le_bytes());
            bytes
        };
        let ids: Vec<Id> = (0..1000).map(|number| store.insert(&bytes(number)).unwrap()).collect();
        for number in (0..1000).step_by(3) {
            store.release(ids[number]);
        }
        let mut found = [0; 512];
        for number in (0..1000).filter(|number| number % 3 != 0) {
            store.copy_to(ids[number], 0, &mut found).unwrap();
            assert_eq!(found, bytes(number as u32));
            assert_eq!(store.insert(&found), Ok(ids[number]));
        }
        assert_eq!(store.bytes(), 666 * 512);
    }

    #[test]
    fn a_fork_is_a_store_of_its_own() {
        let mut store = Store::new(512, u64::MAX, None);
        let first = store.insert(&[1; 512]).unwrap();
        let mut fork = store.fork().unwrap();
        store.release(first);
        store.insert(&[2; 512]).unwrap();
        assert_eq!(fork.insert(&[1; 512]), Ok(first));
        let mut found = [0; 4];
        fork.copy_to(first, 0, &mut found).unwrap();
        assert_eq!(found, [1; 4]);
        assert!(Store::new(512, 512, Some(tempfile::tempfile().unwrap())).fork().is_none());
    }

    /// Units that cannot be written are refused, and those that cannot be read are errors.
    #[test]
    fn errors_of_a_file_are_told() {
        let whole = tempfile::NamedTempFile::new().unwrap();
        let read_only = File::open(whole.path()).unwrap();
        let mut store = Store::new(512, u64::MAX, Some(read_only));
        assert!(matches!(store.insert(&[1; 512]), Err(Refusal::File(_))));
        assert!(matches!(store.reserve(), Err(Refusal::File(_))));
        assert_eq!((store.bytes(), store.insert(&[0; 512])), (0, Ok(Id::ZEROES)));

        let mut store = Store::new(512, u64::MAX, Some(whole.reopen().unwrap()));
        let id = store.insert(&[1; 512]).unwrap();
        whole.as_file().set_len(100).unwrap();
        assert_eq!(store.copy_to(id, 0, &mut [0; 512]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(store.insert(&[1; 512]), Err(Refusal::File(ErrorKind::UnexpectedEof)));
        assert_eq!(store.bytes(), 512);
    }
}
