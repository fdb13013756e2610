//! Units of data, each kept once.

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Number of a unit in a store.
/// The default is the unit of zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The unit of zeroes, which takes no space.
    pub const ZEROES: Id = Id(0);
}

/// A store has no space for another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Units in one allocation.
const UNITS_PER_SLAB: usize = 256;

/// Units of data with counts of their users. Equal units are one; a unit without users is forgotten.
#[derive(Clone, Debug)]
pub struct Store {
    unit_bytes: usize,
    /// Bytes of the units, [`UNITS_PER_SLAB`] of them in each.
    slabs: Vec<Box<[u8]>>,
    /// Users and hash of each unit. The first is that of zeroes, which is in no slab.
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
    /// Returns an empty store of units of `unit_bytes`, for at most `limit` bytes of them.
    pub fn new(unit_bytes: usize, limit: u64) -> Store {
        Store {
            unit_bytes,
            slabs: Vec::new(),
            users: vec![0],
            hashes: vec![0],
            free: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
            limit: (limit / unit_bytes as u64).min(u64::from(i32::MAX as u32) - 2),
            reserved: 0,
        }
    }

    /// Returns the bytes of a unit.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Returns the bytes of all units.
    pub fn bytes(&self) -> u64 {
        self.units() * self.unit_bytes as u64
    }

    /// Returns the largest number of bytes of all units.
    pub fn limit(&self) -> u64 {
        self.limit * self.unit_bytes as u64
    }

    /// Returns the memory that counts, hashes and index take \[bytes\].
    pub fn overhead(&self) -> u64 {
        let tables = 4 * self.users.capacity() + 8 * self.hashes.capacity() + 4 * self.free.capacity();
        (tables + self.index.allocation_size() + self.slabs.capacity() * size_of::<Box<[u8]>>()) as u64
    }

    fn units(&self) -> u64 {
        (self.users.len() - 1 - self.free.len()) as u64
    }

    /// Returns the number of a unit with these bytes, which has one more user.
    pub fn insert(&mut self, bytes: &[u8]) -> Result<Id, Full> {
        assert!(bytes.len() == self.unit_bytes, "{} bytes: a unit has {}", bytes.len(), self.unit_bytes);
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(Id::ZEROES);
        }
        let hash = self.hasher.hash_one(bytes);
        if let Some(&found) = self.index.find(hash, |&id| self.get(Id(id)) == bytes) {
            self.users[found as usize] += 1;
            return Ok(Id(found));
        }
        if self.units() + self.reserved >= self.limit {
            return Err(Full);
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.users.push(0);
            self.hashes.push(0);
            self.users.len() as u32 - 1
        });
        let (slab, at) = self.place(Id(id));
        if slab == self.slabs.len() {
            self.slabs.push(vec![0; UNITS_PER_SLAB * self.unit_bytes].into_boxed_slice());
        }
        self.slabs[slab][at..at + self.unit_bytes].copy_from_slice(bytes);
        (self.users[id as usize], self.hashes[id as usize]) = (1, hash);
        self.index.insert_unique(hash, id, |&id| self.hashes[id as usize]);
        Ok(Id(id))
    }

    /// Reserves space for a unit that [`Store::insert_reserved`] will bring.
    pub fn reserve(&mut self) -> Result<(), Full> {
        if self.units() + self.reserved >= self.limit {
            return Err(Full);
        }
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

    /// Inserts a unit into reserved space.
    pub fn insert_reserved(&mut self, bytes: &[u8]) -> Id {
        self.reserved -= 1;
        let limit = std::mem::replace(&mut self.limit, u64::MAX);
        let id = self.insert(bytes).expect("there is no limit");
        self.limit = limit;
        id
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

    /// Copies the bytes of a unit from an offset on.
    pub fn copy_to(&self, id: Id, from: usize, into: &mut [u8]) {
        if id == Id::ZEROES {
            into.fill(0);
        } else {
            into.copy_from_slice(&self.get(id)[from..from + into.len()]);
        }
    }

    /// Returns slab and offset of a unit that is not that of zeroes.
    fn place(&self, id: Id) -> (usize, usize) {
        let number = id.0 as usize - 1;
        (number / UNITS_PER_SLAB, number % UNITS_PER_SLAB * self.unit_bytes)
    }

    fn get(&self, id: Id) -> &[u8] {
        let (slab, at) = self.place(id);
        &self.slabs[slab][at..at + self.unit_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_units_are_kept_once_and_forgotten_with_their_last_user() {
        let mut store = Store::new(512, 2 * 512);
        let (a, b) = ([1; 512], [2; 512]);
        let first = store.insert(&a).unwrap();
        assert_eq!(store.insert(&a), Ok(first));
        assert_eq!(store.insert(&[0; 512]), Ok(Id::ZEROES));
        assert_eq!(store.bytes(), 512);
        let second = store.insert(&b).unwrap();
        assert_eq!(store.insert(&[3; 512]), Err(Full));
        store.release(first);
        assert_eq!(store.insert(&[3; 512]), Err(Full), "it has another user");
        store.release(first);
        let third = store.insert(&[3; 512]).unwrap();
        let mut found = [0; 4];
        store.copy_to(third, 508, &mut found);
        assert_eq!(found, [3; 4]);
        store.copy_to(second, 0, &mut found);
        assert_eq!((found, store.bytes()), ([2; 4], 1024));
        assert_eq!(store.insert(&a), Err(Full), "it was forgotten");
    }

    #[test]
    fn reserved_space_is_taken_by_nothing_else() {
        let mut store = Store::new(512, 2 * 512);
        store.reserve().unwrap();
        store.insert(&[1; 512]).unwrap();
        assert_eq!(store.insert(&[2; 512]), Err(Full));
        assert_eq!(store.reserve(), Err(Full));
        let id = store.insert_reserved(&[3; 512]);
        store.release(id);
        store.reserve().unwrap();
        store.unreserve();
        store.insert(&[2; 512]).unwrap();
    }

    #[test]
    fn many_units_fill_many_slabs() {
        let mut store = Store::new(512, u64::MAX);
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
            store.copy_to(ids[number], 0, &mut found);
            assert_eq!(found, bytes(number as u32));
            assert_eq!(store.insert(&found), Ok(ids[number]));
        }
        assert_eq!(store.bytes(), 666 * 512);
    }
}
