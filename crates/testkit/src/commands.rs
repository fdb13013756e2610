//! Random host commands.

use drive::Drive;
use ftl::layer::zns::table::Limits;
use kit::{Bytes, CommandFlags, HostCommand, Op, Rng, SECTOR_BYTES, UNIT_BYTES, ZoneAction};
use std::collections::BTreeMap;

/// Properties of a stream of commands.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Share of reads.
    pub reads: f64,
    /// Share of trims.
    pub trims: f64,
    /// Share of flushes.
    pub flushes: f64,
    /// Share of commands that begin in one of a few hot units.
    pub hot: f64,
    /// Number of hot units.
    pub hot_units: u64,
    /// Share of commands that begin and end at the boundary of a mapping unit.
    pub aligned: f64,
    /// Longest command, in mapping units.
    pub longest: u64,
    /// Share of the user capacity, from its beginning, that the commands use.
    pub footprint: f64,
    /// Largest number of commands in flight.
    pub depth: usize,
    /// Probability of an idle gap before a command.
    pub gaps: f64,
    /// Longest idle gap \[ns\].
    pub longest_gap_ns: u64,
    /// Share of writes with FUA.
    pub fua: f64,
    /// Probability that a command arrives up to 1 ms later than it could.
    pub delayed: f64,
}

impl Mix {
    /// Returns a random mix. The longest idle gap is 2, 20 or 200 times `program_ns`.
    pub fn random(rng: &mut Rng, program_ns: u64) -> Mix {
        let pick = |rng: &mut Rng, list: &[f64]| list[rng.below(list.len() as u64) as usize];
        Mix {
            reads: pick(rng, &[0.0, 0.1, 0.3, 0.5, 0.8]),
            trims: pick(rng, &[0.0, 0.0, 0.03, 0.1, 0.3]),
            flushes: pick(rng, &[0.0, 0.01, 0.05, 0.2]),
            hot: pick(rng, &[0.0, 0.3, 0.6, 0.95]),
            hot_units: 1 + rng.below(8),
            aligned: pick(rng, &[0.0, 0.5, 0.9, 1.0]),
            longest: [1, 2, 4, 8, 16][rng.below(5) as usize],
            footprint: pick(rng, &[0.02, 0.3, 1.0, 1.0]),
            depth: [1, 1, 2, 4, 8, 16, 32, 64][rng.below(8) as usize],
            gaps: pick(rng, &[0.0, 0.01, 0.05]),
            longest_gap_ns: program_ns * [2, 20, 200][rng.below(3) as usize],
            delayed: pick(rng, &[0.0, 0.0, 0.2]),
            fua: 0.0,
        }
    }
}

/// A command to be submitted.
pub struct Wanted {
    /// The command.
    pub command: HostCommand,
    /// Its units, where its offset stands for a list of addresses.
    pub units: Option<Vec<u32>>,
}

/// A stream of random commands.
pub struct Commands {
    mix: Mix,
    sectors: u64,
    hot: Vec<u64>,
    rng: Rng,
    tag: u32,
    /// Where the next write of each zone or chunk goes, if the commands in flight succeed.
    next: BTreeMap<u64, u64>,
}

impl Commands {
    /// Creates a stream for a drive of `user_bytes`. Its tags count up from `tag` + 1.
    pub fn new(mix: Mix, user_bytes: u64, tag: u32, mut rng: Rng) -> Commands {
        let units = ((user_bytes / UNIT_BYTES) as f64 * mix.footprint).ceil().max(1.0) as u64;
        let hot = (0..mix.hot_units).map(|_| rng.below(units)).collect();
        Commands { mix, sectors: units * (UNIT_BYTES / SECTOR_BYTES), hot, rng, tag, next: BTreeMap::new() }
    }

    /// Returns the properties of the stream.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the next command. Each command has a tag of its own.
    pub fn next_command(&mut self) -> HostCommand {
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        let rng = &mut self.rng;
        self.tag += 1;
        let tag = self.tag;
        let kind = rng.unit();
        if kind < self.mix.flushes {
            return HostCommand { queue: queue(tag), ..HostCommand::flush(tag) };
        }
        let kind = kind - self.mix.flushes;
        let op = if kind < self.mix.trims {
            Op::Trim
        } else if kind < self.mix.trims + self.mix.reads {
            Op::Read
        } else {
            Op::Write
        };
        let mut first = if rng.chance(self.mix.hot) {
            self.hot[rng.below(self.hot.len() as u64) as usize] * per_unit
        } else {
            rng.below(self.sectors / per_unit) * per_unit
        };
        let mut count = (1 + rng.below(self.mix.longest)) * per_unit;
        if !rng.chance(self.mix.aligned) {
            first += rng.below(per_unit);
            count = 1 + rng.below(count);
        }
        let count = count.min(self.sectors - first);
        let command = HostCommand::new(op, tag, Bytes(first * SECTOR_BYTES), Bytes(count * SECTOR_BYTES));
        // Drawn only where asked for, so that other streams of commands stay as they are.
        let fua = op == Op::Write && self.mix.fua > 0.0 && rng.chance(self.mix.fua);
        let flags = if fua { CommandFlags::FUA } else { CommandFlags::NONE };
        HostCommand { queue: queue(tag), flags, ..command }
    }

    /// Returns the next command for a drive in its present state. Where the host decides where data goes, some of them
    /// are refused.
    pub fn next_for(&mut self, drive: &mut Drive) -> Wanted {
        if drive.commands_in_flight() == 0 {
            self.next.clear();
        }
        let (zones, chunks) = (drive.translator().zones(), drive.translator().chunks());
        if let Some(table) = zones {
            let zones = table.zones().iter().map(|zone| u64::from(zone.written)).collect::<Vec<u64>>();
            let &Limits { size, capacity, active, .. } = table.limits();
            return self.next_of_zones((size.into(), capacity.into()), active.into(), &zones);
        }
        if let Some(chunks) = chunks {
            let (size, whole) = (u64::from(chunks.rules().units), u64::from(chunks.rules().ws_min));
            let written = chunks.all().iter().map(|chunk| u64::from(chunk.written)).collect::<Vec<u64>>();
            return self.next_of_chunks((size, whole), &written, drive);
        }
        Wanted { command: self.next_command(), units: None }
    }

    fn whole(&mut self, op: Op, first: u64, count: u64) -> HostCommand {
        self.tag += 1;
        let command = HostCommand::new(op, self.tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES));
        HostCommand { queue: queue(self.tag), ..command }
    }

    /// Returns one of `count` zones or chunks: often one of the first, so that they fill up.
    fn pick_group(&mut self, count: u64) -> u64 {
        let within = if self.rng.chance(self.mix.hot) { self.mix.hot_units.min(count) } else { count };
        self.rng.below(within)
    }

    /// Returns the next command for zones of this size and capacity, of which `active` may be active (0: all), up to
    /// where they are written.
    fn next_of_zones(&mut self, (size, capacity): (u64, u64), active: u64, written: &[u64]) -> Wanted {
        let most = if active > 0 && self.rng.chance(0.9) { active.min(written.len() as u64) } else { written.len() as u64 };
        let zone = self.pick_group(most);
        let (start, end) = (zone * size, written.len() as u64 * size);
        let count = 1 + self.rng.below(self.mix.longest.min(size));
        let at = self.next.get(&zone).copied().unwrap_or(0).max(written[zone as usize]);
        let kind = self.rng.unit();
        let command = if kind < self.mix.flushes {
            self.whole(Op::Flush, 0, 0)
        } else if at + count > capacity && self.rng.chance(0.7) {
            self.next.remove(&zone);
            HostCommand { flags: CommandFlags::zone(ZoneAction::Reset, false), ..self.whole(Op::Zone, start, 0) }
        } else if kind < self.mix.flushes + 0.06 {
            let (action, all) = (ZoneAction::ALL[self.rng.below(5) as usize], self.rng.chance(0.03));
            self.next.remove(&zone);
            HostCommand { flags: CommandFlags::zone(action, all), ..self.whole(Op::Zone, start, 0) }
        } else if self.rng.chance(self.mix.reads) {
            let near = start + self.rng.below(written[zone as usize].max(1));
            let first = if self.rng.chance(0.9) { near } else { self.rng.below(end) };
            self.whole(Op::Read, first.min(end - count), count)
        } else if self.rng.chance(0.4) {
            self.next.insert(zone, at + count);
            self.whole(Op::Append, start, count)
        } else {
            let first = if self.rng.chance(0.97) { start + at } else { start + self.rng.below(size) };
            self.next.insert(zone, at + count);
            self.whole(Op::Write, first.min(end - count), count)
        };
        Wanted { command, units: None }
    }

    /// Returns the next command for chunks of a size, which are written in multiples of `whole` and up to `written`.
    fn next_of_chunks(&mut self, (size, whole): (u64, u64), written: &[u64], drive: &mut Drive) -> Wanted {
        let chunk = self.pick_group(written.len() as u64);
        let (start, end) = (chunk * size, written.len() as u64 * size);
        let at = self.next.get(&chunk).copied().unwrap_or(0).max(written[chunk as usize]);
        let kind = self.rng.unit();
        if kind < self.mix.flushes {
            return Wanted { command: self.whole(Op::Flush, 0, 0), units: None };
        }
        let is_vectored = self.rng.chance(0.3);
        let (op, units): (Op, Vec<u32>) = if kind < self.mix.flushes + 0.05 || at >= size && self.rng.chance(0.7) {
            self.next.remove(&chunk);
            (Op::Trim, (start as u32..(start + size) as u32).collect())
        } else if self.rng.chance(self.mix.reads) {
            // The newest data may not be readable yet.
            let readable = if self.rng.chance(0.8) { written[chunk as usize] / 2 } else { written[chunk as usize] };
            let near = |rng: &mut Rng| (start + rng.below(readable.max(1))) as u32;
            let count = 1 + self.rng.below(self.mix.longest.min(size));
            let first = near(&mut self.rng).min((end - count) as u32);
            let scattered: Vec<u32> = (0..count).map(|_| near(&mut self.rng)).collect();
            (Op::Read, if is_vectored { scattered } else { (first..first + count as u32).collect() })
        } else {
            let left = size.saturating_sub(at).max(whole);
            let count = (whole * (1 + self.rng.below(3))).min(left);
            let first = if self.rng.chance(0.97) { start + at } else { start + self.rng.below(size) };
            let first = first.min(end - count.min(end)) as u32;
            self.next.insert(chunk, at + count);
            (Op::Write, (first..first + count.min(end) as u32).collect())
        };
        // A reset names chunks by their first units.
        let addresses: Vec<u32> = if op == Op::Trim { vec![units[0]] } else { units.clone() };
        if is_vectored && addresses.len() <= ftl::layer::pass_through::MAX_ADDRESSES {
            let bytes: Vec<Bytes> = addresses.iter().map(|unit| Bytes(u64::from(*unit) * UNIT_BYTES)).collect();
            if let Some(offset) = drive.vector(&bytes) {
                let command = self.whole(op, offset.0 / UNIT_BYTES, addresses.len() as u64);
                return Wanted { command, units: Some(units) };
            }
        }
        let command = self.whole(op, u64::from(units[0]), units.len() as u64);
        Wanted { command, units: None }
    }

    /// Returns the length of the idle gap before the next command \[ns\], if there is one.
    pub fn gap_ns(&mut self) -> Option<u64> {
        self.rng.chance(self.mix.gaps).then(|| 1 + self.rng.below(self.mix.longest_gap_ns))
    }

    /// Returns the delay of the next command's arrival \[ns\].
    pub fn delay_ns(&mut self) -> u64 {
        if self.rng.chance(self.mix.delayed) { self.rng.below(1_000_000) } else { 0 }
    }

    /// Returns true with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.rng.chance(p)
    }
}

/// Returns the submission queue of a command. A drive with fewer queues takes the number modulo theirs.
fn queue(tag: u32) -> u16 {
    (u64::from(tag) * 7 % 11) as u16
}
