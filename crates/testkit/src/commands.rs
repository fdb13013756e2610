//! Random host commands.

use kit::{Bytes, CommandFlags, HostCommand, Op, Rng, SECTOR_BYTES, UNIT_BYTES};

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

/// A stream of random commands.
pub struct Commands {
    mix: Mix,
    sectors: u64,
    hot: Vec<u64>,
    rng: Rng,
    tag: u32,
}

impl Commands {
    /// Creates a stream for a drive of `user_bytes`. Its tags count up from `tag` + 1.
    pub fn new(mix: Mix, user_bytes: u64, tag: u32, mut rng: Rng) -> Commands {
        let units = ((user_bytes / UNIT_BYTES) as f64 * mix.footprint).ceil().max(1.0) as u64;
        let hot = (0..mix.hot_units).map(|_| rng.below(units)).collect();
        Commands { mix, sectors: units * (UNIT_BYTES / SECTOR_BYTES), hot, rng, tag }
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
    (tag * 7 % 11) as u16
}
