//! The bytes of units, by their numbers: in memory, or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Units in one allocation of memory, or in one step by which the file grows.
const UNITS_PER_SLAB: usize = 256;
/// Bytes of a file that are compared at a time.
const CHUNK: usize = 4096;

/// The bytes of units, by their numbers from 0.
#[derive(Debug)]
pub(crate) struct Units {
    unit_bytes: usize,
    /// Number of slabs for which there is space.
    slabs: usize,
    space: Space,
}

/// Space for units.
#[derive(Debug)]
enum Space {
    /// Slabs of [`UNITS_PER_SLAB`] units.
    Memory(Vec<Box<[u8]>>),
    /// A file of their bytes, one after another.
    File(File),
}

impl Units {
    /// Returns units of `unit_bytes` without space, which will be in memory.
    pub fn in_memory(unit_bytes: usize) -> Units {
        Units { unit_bytes, slabs: 0, space: Space::Memory(Vec::new()) }
    }

    /// Returns units of `unit_bytes` without space, which will be in an empty file that nobody else changes.
    pub fn in_file(unit_bytes: usize, file: File) -> Units {
        Units { unit_bytes, slabs: 0, space: Space::File(file) }
    }

    /// Returns true if the units are in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.space, Space::File(_))
    }

    /// Returns a copy; `None` of units in a file.
    pub fn fork(&self) -> Option<Units> {
        match &self.space {
            Space::Memory(slabs) => Some(Units { space: Space::Memory(slabs.clone()), ..*self }),
            Space::File(_) => None,
        }
    }

    /// Returns the bytes of a unit.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Returns the memory beside the units \[bytes\].
    pub fn overhead(&self) -> usize {
        match &self.space {
            Space::Memory(slabs) => slabs.capacity() * size_of::<Box<[u8]>>(),
            Space::File(_) => 0,
        }
    }

    /// Makes space for `count` units, if there is less. Space is not given back.
    pub fn grow(&mut self, count: usize) -> io::Result<()> {
        let bytes = UNITS_PER_SLAB * self.unit_bytes;
        while self.slabs * UNITS_PER_SLAB < count {
            match &mut self.space {
                Space::Memory(slabs) => slabs.push(vec![0; bytes].into()),
                // A write to space that is not allocated could fail later, when a unit can no longer be refused.
                Space::File(file) => {
                    let flags = rustix::fs::FallocateFlags::empty();
                    rustix::fs::fallocate(&*file, flags, (self.slabs * bytes) as u64, bytes as u64)?;
                }
            }
            self.slabs += 1;
        }
        Ok(())
    }

    /// Sets the bytes of a unit for which there is space.
    pub fn set(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        let (slab, at) = self.place(number);
        match &mut self.space {
            Space::Memory(slabs) => slabs[slab][at..at + self.unit_bytes].copy_from_slice(bytes),
            Space::File(file) => file.write_all_at(bytes, (number * self.unit_bytes) as u64)?,
        }
        Ok(())
    }

    /// Returns true if a unit has these bytes.
    pub fn is(&self, number: usize, bytes: &[u8]) -> io::Result<bool> {
        let (slab, at) = self.place(number);
        match &self.space {
            Space::Memory(slabs) => Ok(slabs[slab][at..at + self.unit_bytes] == *bytes),
            Space::File(file) => {
                let (mut found, mut at) = ([0; CHUNK], (number * self.unit_bytes) as u64);
                for chunk in bytes.chunks(CHUNK) {
                    let found = &mut found[..chunk.len()];
                    file.read_exact_at(found, at)?;
                    if found != chunk {
                        return Ok(false);
                    }
                    at += chunk.len() as u64;
                }
                Ok(true)
            }
        }
    }

    /// Copies the bytes of a unit from an offset on.
    pub fn copy_to(&self, number: usize, from: usize, into: &mut [u8]) -> io::Result<()> {
        let (slab, at) = self.place(number);
        match &self.space {
            Space::Memory(slabs) => into.copy_from_slice(&slabs[slab][at + from..at + from + into.len()]),
            Space::File(file) => file.read_exact_at(into, (number * self.unit_bytes + from) as u64)?,
        }
        Ok(())
    }

    /// Returns the slab of a unit, and its offset there.
    fn place(&self, number: usize) -> (usize, usize) {
        (number / UNITS_PER_SLAB, number % UNITS_PER_SLAB * self.unit_bytes)
    }
}
