//! A number for each place of a drive, of which most are zero.

use kit::Ppn;
use std::ops::Range;

/// Places in one part of the table.
const PART: usize = 1024;

/// A number for each place. Parts in which all numbers are zero take no memory.
#[derive(Clone, Debug, Default)]
pub struct Places {
    parts: Vec<Option<Box<Part>>>,
}

#[derive(Clone, Debug)]
struct Part {
    numbers: [u32; PART],
    /// How many of them are not zero.
    used: u32,
}

impl Places {
    /// Returns the number of a place.
    #[inline]
    pub fn get(&self, place: Ppn) -> u32 {
        let part = self.parts.get(place.index() / PART).and_then(Option::as_ref);
        part.map_or(0, |part| part.numbers[place.index() % PART])
    }

    /// Sets the number of a place, and returns the one that it had.
    #[inline]
    pub fn replace(&mut self, place: Ppn, number: u32) -> u32 {
        let index = place.index() / PART;
        if index >= self.parts.len() {
            if number == 0 {
                return 0;
            }
            self.parts.resize(index + 1, None);
        }
        let slot = &mut self.parts[index];
        if slot.is_none() && number == 0 {
            return 0;
        }
        let part = slot.get_or_insert_with(|| Box::new(Part { numbers: [0; PART], used: 0 }));
        let old = std::mem::replace(&mut part.numbers[place.index() % PART], number);
        part.used = part.used + u32::from(number != 0) - u32::from(old != 0);
        if part.used == 0 {
            *slot = None;
        }
        old
    }

    /// Sets the numbers of a range of places to what `change` returns for each that is not zero.
    pub fn change(&mut self, places: Range<Ppn>, mut change: impl FnMut(Ppn, u32) -> u32) {
        let mut place = places.start.0;
        while place < places.end.0 {
            let next = (place / PART as u32 + 1).saturating_mul(PART as u32).min(places.end.0);
            if self.parts.get(place as usize / PART).is_some_and(Option::is_some) {
                for place in (place..next).map(Ppn) {
                    let old = self.get(place);
                    if old != 0 {
                        self.replace(place, change(place, old));
                    }
                }
            }
            place = next;
        }
    }

    /// Calls `visit` for each place whose number is not zero, in order.
    pub fn each(&self, mut visit: impl FnMut(Ppn, u32)) {
        for (index, part) in self.parts.iter().enumerate() {
            let numbers = part.iter().flat_map(|part| part.numbers.iter().enumerate());
            for (within, number) in numbers.filter(|(_, number)| **number != 0) {
                visit(Ppn((index * PART + within) as u32), *number);
            }
        }
    }

    /// Returns the range of all places that may have a number other than zero.
    pub fn all(&self) -> Range<Ppn> {
        Ppn(0)..Ppn((self.parts.len() * PART) as u32)
    }

    /// Returns the memory that the table takes \[bytes\].
    pub fn memory(&self) -> u64 {
        let parts = self.parts.iter().flatten().count() * size_of::<Part>();
        (parts + self.parts.capacity() * size_of::<usize>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_numbers_take_no_memory() {
        let mut places = Places::default();
        assert_eq!((places.get(Ppn(5000)), places.replace(Ppn(5000), 0), places.memory()), (0, 0, 0));
        assert_eq!(places.replace(Ppn(5000), 7), 0);
        assert_eq!(places.replace(Ppn(100), 3), 0);
        let memory = places.memory();
        assert!(memory > 8192 && memory < 8400, "{memory}");
        assert_eq!((places.get(Ppn(5000)), places.get(Ppn(4999)), places.replace(Ppn(5000), 9)), (7, 0, 7));
        let mut seen = Vec::new();
        places.change(Ppn(101)..Ppn(5001), |place, number| {
            seen.push((place, number));
            0
        });
        assert_eq!((seen, places.get(Ppn(5000)), places.get(Ppn(100))), (vec![(Ppn(5000), 9)], 0, 3));
        places.change(places.all(), |_, _| 0);
        assert!(places.memory() < 100);
    }
}
