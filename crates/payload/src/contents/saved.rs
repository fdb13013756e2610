//! Contents as bytes: those of a drive at rest, whose write buffer is empty.
//!
//! All numbers are little-endian. The size of a unit (8 bytes), the number of units (4), the units; then places and
//! latest data, each a number of entries (4) and the entries: the place or the unit of the drive (4), and the number of
//! its data (4), from 1, 0 for zeroes, [`TORN_SAVED`] for a place that is torn.

use super::{Contents, IN_FLIGHT, TORN, retain, unit_of};
use crate::store::{Id, Refusal};
use kit::{Geometry, Lpn, Ppn};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Number of a place that is torn.
const TORN_SAVED: u32 = u32::MAX;

impl Contents {
    /// Writes the contents of a drive at rest. The same contents give the same bytes.
    pub fn save(&self, to: &mut dyn Write) -> Result<()> {
        let mut places = Vec::new();
        self.places.each(|place, number| places.push((place.0, number)));
        if let Some((place, _)) = places.iter().find(|(_, number)| number & IN_FLIGHT != 0) {
            return Err(Error::other(format!("a program at place {place} is under way: expected a drive at rest")));
        }
        let mut latest: Vec<(u32, u32)> = self.latest.iter().map(|(lpn, id)| (*lpn, id.0)).collect();
        latest.sort_unstable();
        // Data is numbered in the order of its first place.
        let (mut numbers, mut data) = (BTreeMap::new(), Vec::new());
        for (_, id) in places.iter().chain(&latest).filter(|(_, id)| *id != TORN.0 && *id != 0) {
            numbers.entry(*id).or_insert_with(|| {
                data.push(Id(*id));
                data.len() as u32
            });
        }
        to.write_all(&self.unit.bytes().to_le_bytes())?;
        to.write_all(&(data.len() as u32).to_le_bytes())?;
        let mut unit = vec![0; self.unit.bytes() as usize];
        for id in data {
            self.store.copy_to(id, 0, &mut unit)?;
            to.write_all(&unit)?;
        }
        let number_of = |id: u32| if id == TORN.0 { TORN_SAVED } else { numbers.get(&id).copied().unwrap_or(0) };
        for entries in [&places, &latest] {
            to.write_all(&(entries.len() as u32).to_le_bytes())?;
            for (at, id) in entries {
                to.write_all(&at.to_le_bytes())?;
                to.write_all(&number_of(*id).to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Reads the contents of a drive with `user_units` units into the contents of a drive that holds zeroes. The
    /// error says what is wrong with the file.
    pub fn load(mut self, geometry: &Geometry, user_units: u64, from: &mut dyn Read) -> std::result::Result<Contents, String> {
        let contents = &mut self;
        let limit = contents.limit();
        let unit = contents.unit.bytes();
        let found = u64::from_le_bytes(array(from)?);
        if found != unit {
            return Err(format!("its contents have units of {found} bytes, and this drive has units of {unit}"));
        }
        let count = number(from)?;
        let (mut data, mut bytes) = (vec![Id::ZEROES], vec![0; unit as usize]);
        for _ in 0..count {
            from.read_exact(&mut bytes).map_err(unreadable)?;
            let refused = |refusal| match refusal {
                Refusal::Full => format!("its contents take more than {limit} bytes, the limit: expected a higher one"),
                Refusal::File(kind) => format!("its contents cannot be kept in a file: {kind}"),
            };
            data.push(contents.store.insert(&bytes).map_err(refused)?);
        }
        for _ in 0..number(from)? {
            let (place, id) = entry(from, &data, geometry.unit_count(), "place")?;
            retain(&mut contents.store, id);
            let old = contents.places.replace(Ppn(place), id.0);
            if old != 0 {
                return Err(format!("its contents have place {place} twice"));
            }
        }
        for _ in 0..number(from)? {
            let (lpn, id) = entry(from, &data, user_units, "unit")?;
            if unit_of(id.0) == TORN {
                return Err(format!("its contents have no data for unit {lpn}"));
            }
            contents.set_latest(Lpn(lpn), id);
        }
        data.into_iter().for_each(|id| contents.store.release(id));
        Ok(self)
    }
}

fn unreadable(error: Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "its contents end early".to_owned(),
        _ => format!("its contents cannot be read: {error}"),
    }
}

fn array<const N: usize>(from: &mut dyn Read) -> std::result::Result<[u8; N], String> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn number(from: &mut dyn Read) -> std::result::Result<u32, String> {
    array(from).map(u32::from_le_bytes)
}

/// Reads an entry of a table: a number below `end`, and the data that it has.
fn entry(from: &mut dyn Read, data: &[Id], end: u64, name: &str) -> std::result::Result<(u32, Id), String> {
    let (at, index) = (number(from)?, number(from)?);
    if u64::from(at) >= end {
        return Err(format!("its contents have {name} {at}, and this drive has {end}"));
    }
    match data.get(index as usize) {
        Some(id) => Ok((at, *id)),
        None if index == TORN_SAVED => Ok((at, TORN)),
        None => Err(format!("its contents have data {index} of {}", data.len() - 1)),
    }
}
