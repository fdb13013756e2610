//! The DDR channels of a controller, and the places of data and map in them.

use crate::dram::{Access, AccessClass, AccessKind, Granted, Params, Scheduled};
use crate::usage::{Amount, Usage};
use kit::{Bytes, Nanos, SimTime, TransactionId, UnitSize};

/// Bytes of the map that a look-up reads, and that a program writes: a burst of the memory.
pub const MAP_ACCESS: Bytes = Bytes(64);
/// Bytes of the map for a mapping unit.
const MAP_ENTRY: u64 = 4;

/// A DDR channel.
#[derive(Clone, Debug)]
struct Channel {
    name: String,
    /// Name of its data bus.
    bus_name: String,
    ddr: Scheduled,
    /// Time for which it was busy before it was last brought to rest, and the part in which its data bus carried data.
    busy_before: Nanos,
    data_before: Nanos,
    /// Counts before it was last brought to rest, less those of a new channel until then.
    counts_before: Usage,
}

/// DDR channels; none if the memory has another model.
///
/// A channel holds the data of the mapping units that choose it, one after another, in the lower part of its memory,
/// and their part of the map in the upper part. Where they do not fit, addresses begin again from the start of their
/// part (a buffer is smaller than the drive).
#[derive(Clone, Debug, Default)]
pub struct Channels {
    all: Vec<Channel>,
    params: Option<Params>,
    unit: UnitSize,
    /// Bytes of the lower part.
    data: u64,
    /// Bytes of the upper part.
    map: u64,
}

impl Channels {
    /// Returns `count` channels at rest, which hold the map of `user_units` mapping units of a size.
    pub fn new(params: &Params, count: u32, unit: UnitSize, user_units: u64) -> Channels {
        let name = |name: &str, channel: u32| if count == 1 { name.to_owned() } else { format!("{name}_{channel}") };
        let channel = |number: u32| Channel {
            name: name("dram", number),
            bus_name: name("dram_bus", number),
            ddr: Scheduled::new(params),
            busy_before: Nanos::ZERO,
            data_before: Nanos::ZERO,
            counts_before: Usage::default(),
        };
        let map = (user_units.div_ceil(u64::from(count)) * MAP_ENTRY).next_multiple_of(MAP_ACCESS.0);
        let size = params.size().0;
        let map = map.min(size / 2).max(MAP_ACCESS.0) / MAP_ACCESS.0 * MAP_ACCESS.0;
        Channels {
            all: (0..count).map(channel).collect(),
            params: Some(params.clone()),
            unit,
            data: unit.offset(unit.whole(size - map)),
            map,
        }
    }

    /// Returns true if there are no channels.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Asks for an access on behalf of a transaction: to `bytes` of data from a mapping unit on, or to its part of the
    /// map. Returns the channel of the unit, and what it grants at once; the instant of a grant is to be scheduled.
    #[inline]
    pub fn ask(&mut self, ask: &Ask, now: SimTime) -> (u8, Granted) {
        let (channel, number) = self.place_of(ask.unit);
        let number = u64::from(number);
        let (address, bytes) = match ask.class {
            AccessClass::Map => {
                let entry = within(number * MAP_ENTRY, self.map);
                (self.data + entry / MAP_ACCESS.0 * MAP_ACCESS.0, MAP_ACCESS)
            }
            AccessClass::Data => {
                let bytes = ask.bytes.0.clamp(1, self.data);
                (within(self.unit.offset(number), self.data).min(self.data - bytes), Bytes(bytes))
            }
        };
        let access = Access { transaction: ask.transaction, address, bytes, kind: ask.kind, class: ask.class };
        (channel as u8, self.all[channel as usize].ddr.ask(access, now))
    }

    /// Returns the channel of a mapping unit, and the number of the unit among those of that channel.
    #[inline]
    fn place_of(&self, unit: u32) -> (u32, u32) {
        let count = self.all.len() as u32;
        if count == 1 { (0, unit) } else { (unit % count, unit / count) }
    }

    /// Returns true if the end of an access to a mapping unit, which was returned and is now, does not hold any more:
    /// another access has come between. Called once for each end.
    #[inline]
    pub fn is_stale(&mut self, unit: u32, transaction: TransactionId, now: SimTime) -> bool {
        let (channel, _) = self.place_of(unit);
        self.all[channel as usize].ddr.is_stale(transaction, now)
    }

    /// Makes the decisions of a channel that are due.
    #[inline]
    pub fn grant(&mut self, channel: u8, now: SimTime) -> Granted {
        self.all[usize::from(channel)].ddr.grant(now)
    }

    /// Brings idle channels to rest: their rows are closed, and no command before `now` delays a later one.
    pub fn rest(&mut self, now: SimTime) {
        for channel in &self.all {
            assert!(channel.ddr.is_at_rest(now), "nothing is under way in a controller that is brought to rest");
        }
        self.lose_power(now);
    }

    /// Loses power, and with it what is under way. What the channels have done so far counts.
    pub fn lose_power(&mut self, now: SimTime) {
        let Some(params) = &self.params else { return };
        for channel in &mut self.all {
            channel.busy_before += channel.ddr.busy(now);
            channel.data_before += channel.ddr.data_bus_busy(now);
            let counts = channel.counts_before.plus(&counts(&channel.ddr, now));
            channel.ddr = Scheduled::new(params);
            // The refreshes of a new channel are those since time 0.
            channel.counts_before = counts.since(&self::counts(&channel.ddr, now));
        }
    }

    /// Adds the counts of all channels until `now`.
    pub fn count(&self, now: SimTime, usage: &mut Usage) {
        for channel in &self.all {
            *usage = usage.plus(&channel.counts_before).plus(&counts(&channel.ddr, now));
        }
    }

    /// Returns the name of each channel, and the time until `now` in which an access waited for it or was served.
    pub fn busy(&self, now: SimTime) -> impl Iterator<Item = (&str, Nanos)> {
        self.all.iter().map(move |channel| (channel.name.as_str(), channel.busy_before + channel.ddr.busy(now)))
    }

    /// Returns the name of the data bus of each channel, and the time for which it carried data until `now`.
    pub fn data_buses(&self, now: SimTime) -> impl Iterator<Item = (&str, Nanos)> {
        self.all.iter().map(move |channel| (channel.bus_name.as_str(), channel.data_before + channel.ddr.data_bus_busy(now)))
    }
}

/// Returns an offset, beginning again from 0 at `size`. Most memories are as large as what they hold, so that nothing
/// is divided.
#[inline]
fn within(offset: u64, size: u64) -> u64 {
    if offset < size { offset } else { offset % size }
}

/// Returns the counts of a channel until `now`.
fn counts(ddr: &Scheduled, now: SimTime) -> Usage {
    let counters = ddr.counters(now);
    let mut usage = Usage::default();
    for (amount, count) in [
        (Amount::Activates, counters.activates),
        (Amount::BurstsRead, counters.bursts_read),
        (Amount::BurstsWritten, counters.bursts_written),
        (Amount::Refreshes, counters.refreshes),
        (Amount::CyclesOpen, counters.cycles_open),
    ] {
        usage.add(amount, count);
    }
    usage
}

/// An access that a transaction asks for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The transaction.
    pub transaction: TransactionId,
    /// The first mapping unit of the data, or the one that is looked up.
    pub unit: u32,
    /// Amount of data; without meaning for the map.
    pub bytes: Bytes,
    /// Direction.
    pub kind: AccessKind,
    /// Class.
    pub class: AccessClass,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accesses to any unit of a drive that is larger than the memories are within them, and all are done.
    #[test]
    fn every_unit_has_a_place() {
        for (count, size, user_units) in [(1, 1u64 << 20, 100_000u64), (3, 1 << 20, 7), (2, 64 << 20, 1 << 28)] {
            let params = Params { size: Bytes(size), ..Params::default() };
            let mut channels = Channels::new(&params, count, UnitSize::default(), user_units);
            let mut now = SimTime::ZERO;
            for step in 0..2_000u64 {
                let unit = (step * 7_919 % user_units) as u32;
                let class = if step % 3 == 0 { AccessClass::Map } else { AccessClass::Data };
                let bytes = Bytes([512, 4096, 65_536, 8 << 20][(step % 4) as usize]);
                let ask = Ask { transaction: TransactionId(step as u32), unit, bytes, kind: AccessKind::Write, class };
                let (channel, mut granted) = channels.ask(&ask, now);
                assert_eq!(u32::from(channel), unit % count);
                loop {
                    if let Some((transaction, at)) = granted.done {
                        assert_eq!(transaction, TransactionId(step as u32));
                        now = at;
                        break;
                    }
                    now = granted.next.expect("the rest waits");
                    granted = channels.grant(channel, now);
                }
            }
            let busy = |channels: &Channels| -> Vec<Nanos> {
                channels.busy(now).chain(channels.data_buses(now)).map(|(_, busy)| busy).collect()
            };
            let before = busy(&channels);
            channels.rest(now);
            assert_eq!(busy(&channels), before);
            assert!(before[0] > before[count as usize] && before[count as usize] > Nanos::ZERO, "{before:?}");
        }
    }
}
