//! Reads of data with errors: decoding, and the attempts that follow a failure.
//!
//! A read that the flash has delivered is *sensed*, not done. Each of its codewords is decoded; if any fails, the plan
//! decides how its units are read again. Each further attempt is a flash operation of its own ([`Owner::Retry`]) with
//! the same reason, which the dies serve like any other read, unless they are held for it. The operation of the first
//! attempt waits meanwhile: its block stays pinned, and its account runs on.

use crate::decoder::{Decoded, Decoders};
use crate::ecc::ReadLevels;
pub use crate::errors::WEAR_CLASSES;
use crate::errors::{Codeword, Draw, ErrorConfig, Errors, Level};
use ecc::Attempt;
use kit::{
    BlockId, Cause, DieId, Geometry, Ledger, ModeId, Nanos, Operation, OperationKind, Outbox, Owner, Ppn, SimTime, Slab, Stored,
};

/// Description of the reads of a drive whose data has errors.
#[derive(Clone, Debug)]
pub struct ReadConfig {
    /// The errors.
    pub errors: ErrorConfig,
    /// The decoders; `None` if decoding takes no time.
    pub decoders: Option<Decoders>,
    /// Attempts of the plan; the first is the read itself.
    pub attempts: Vec<Attempt>,
    /// Choice of the read mode of the first attempt.
    pub levels: ReadLevels,
    /// Number of read modes of the flash.
    pub read_modes: usize,
    /// Read modes that differ in what they correct, fastest first.
    pub ladder: Vec<ModeId>,
    /// Limit of the errors that are corrected, by write mode and then by read mode; of those, first the modes of the
    /// table, then one for each attempt that repeats a read in each of them.
    pub limits: Vec<u8>,
    /// Error rate that is correctable, by write mode and read mode of the table.
    pub corrects: Vec<f64>,
    /// True if the read levels of the last success are kept for each block.
    pub calibration: bool,
    /// True if the host reads of a die are delivered in the order in which the die has delivered them.
    pub in_order: bool,
    /// Geometry of the flash.
    pub geometry: Geometry,
}

/// A read that could not be corrected at its first attempt.
#[derive(Clone, Debug, Default)]
struct Recovery {
    /// Slot of the operation of the first attempt.
    operation: u32,
    /// Number of the current attempt; the first is 0.
    attempt: u32,
    /// Attempt of the plan with whose read levels the first one was made.
    first_levels: u8,
    /// Read mode of the first attempt.
    mode: ModeId,
    /// Instant at which the current attempt was queued; not for the first.
    queued: SimTime,
    /// Places that are not yet corrected, and the number of their codewords that failed at the current attempt.
    failed: Vec<Ppn>,
    codewords: u32,
}

/// Counts of the attempts of one number on blocks of one wear class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Attempts made.
    pub reads: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Time of the attempts \[ns\], from queueing to decoding.
    pub time_ns: u64,
}

impl AttemptCounts {
    fn since(&self, earlier: &AttemptCounts) -> AttemptCounts {
        AttemptCounts {
            reads: self.reads - earlier.reads,
            failed: self.failed - earlier.failed,
            time_ns: self.time_ns - earlier.time_ns,
        }
    }
}

/// Measurements of reads of data with errors, for any reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadStatistics {
    /// Number of attempts of a read at most.
    pub max_attempts: usize,
    /// Counts by wear class, and then by the number of the attempt.
    pub attempts: Vec<AttemptCounts>,
    /// Time by cause of the attempts after the first, by the number of the attempt; the first entry is for the second
    /// attempt.
    pub parts: Vec<Ledger>,
    /// Attempts with soft decision.
    pub soft: u64,
    /// Codewords read, each counted once.
    pub codewords: u64,
    /// Codewords decoded, each attempt counted: by hard decision, and with soft levels.
    pub decoded: [u64; 2],
    /// Codewords that no attempt could correct.
    pub lost_codewords: u64,
    /// Mapping units of host reads that no attempt could correct.
    pub uncorrectable_units: u64,
    /// Mapping units of other reads that no attempt could correct.
    pub lost_units: u64,
}

impl ReadStatistics {
    fn new(attempts: usize) -> ReadStatistics {
        ReadStatistics {
            max_attempts: attempts,
            attempts: vec![AttemptCounts::default(); WEAR_CLASSES * attempts],
            parts: vec![Ledger::default(); attempts - 1],
            ..ReadStatistics::default()
        }
    }

    /// Returns the counts of the attempts with a number, over all wear classes.
    pub fn of_attempt(&self, number: usize) -> AttemptCounts {
        let mut sum = AttemptCounts::default();
        for counts in self.attempts.iter().skip(number).step_by(self.max_attempts.max(1)) {
            sum.reads += counts.reads;
            sum.failed += counts.failed;
            sum.time_ns += counts.time_ns;
        }
        sum
    }

    /// Returns the number of attempts after the first.
    pub fn retries(&self) -> u64 {
        (1..self.max_attempts).map(|number| self.of_attempt(number).reads).sum()
    }

    /// Returns the measurements since `earlier`.
    pub fn since(&self, earlier: &ReadStatistics) -> ReadStatistics {
        let parts = |now: &Ledger, before: &Ledger| Ledger(std::array::from_fn(|cause| now.0[cause] - before.0[cause]));
        ReadStatistics {
            max_attempts: self.max_attempts,
            attempts: self.attempts.iter().zip(&earlier.attempts).map(|(now, before)| now.since(before)).collect(),
            parts: self.parts.iter().zip(&earlier.parts).map(|(now, before)| parts(now, before)).collect(),
            soft: self.soft - earlier.soft,
            codewords: self.codewords - earlier.codewords,
            decoded: std::array::from_fn(|at| self.decoded[at] - earlier.decoded[at]),
            lost_codewords: self.lost_codewords - earlier.lost_codewords,
            uncorrectable_units: self.uncorrectable_units - earlier.uncorrectable_units,
            lost_units: self.lost_units - earlier.lost_units,
        }
    }
}

/// A read that the flash has delivered.
#[derive(Clone, Copy, Debug)]
pub struct SensedRead<'a> {
    /// Slot of the operation.
    pub slot: u32,
    /// First mapping unit.
    pub unit: u32,
    /// Condition of the data.
    pub stored: &'a Stored,
    /// Places that the read covers; without them, successive ones.
    pub places: Option<&'a [Ppn]>,
    /// Instant at which the last transfer of the data ends.
    pub ends: SimTime,
    /// Time of that transfer.
    pub transfer: Nanos,
    /// Instant at which the read was queued at its die.
    pub queued: SimTime,
}

/// A read whose codewords are in the decoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoding {
    /// Instant at which the last codeword has been decoded.
    pub until: SimTime,
    /// Time that this takes without waits for a decoder.
    pub alone: Nanos,
    /// The recovery of the read, if it repeats another one or cannot be corrected.
    pub recovery: Option<u32>,
}

/// The action that follows the decoding of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The data of the operation in this slot is correct.
    Correct(u32),
    /// The operation in slot `retry` repeats the read of the one in slot `operation`.
    Again {
        /// Slot of the first attempt.
        operation: u32,
        /// Slot of the next attempt.
        retry: u32,
    },
    /// Places that the operation in slot `operation` reads cannot be corrected.
    Lost {
        /// Slot of the first attempt.
        operation: u32,
        /// The places, ascending.
        places: Vec<Ppn>,
    },
}

/// Decoding of reads and the attempts that follow a failure.
pub struct Reads {
    config: ReadConfig,
    errors: Errors,
    decoders: Option<Decoders>,
    /// Number of read modes of the table, and of all, with those of the attempts.
    modes: usize,
    kinds: usize,
    /// Channel of each die.
    channels: Vec<u32>,
    /// True if a mapping unit is a codeword, and the first attempt at each block has the same read levels.
    has_single_codewords: bool,
    /// True if the first attempt has soft levels.
    reads_softly: bool,
    /// Logarithms of the error rates that are correctable, by write mode and read mode of the table.
    ln_corrects: Vec<f64>,
    /// Logarithms of the factors on the error rate, by attempt of the plan.
    ln_factors: Vec<f64>,
    recoveries: Slab<Recovery>,
    /// Erase count and attempt of the plan of the last successful read of each block; empty without calibration.
    calibrated: Vec<(u32, u8)>,
    /// Codewords of the read at hand, and its places that failed.
    codewords: Vec<Codeword>,
    failing: Vec<Ppn>,
    /// Reads whose codewords are arriving at decoders that all channels share.
    arrivals: Slab<Arrival>,
    /// Measurements so far.
    pub statistics: ReadStatistics,
}

/// An attempt at a read, for its statistics.
#[derive(Clone, Copy, Debug, Default)]
struct Attempted {
    /// Index of its counts: by wear class, then by number.
    counts: usize,
    /// Instant at which it was queued.
    queued: SimTime,
    is_corrected: bool,
    is_soft: bool,
}

/// A read whose codewords arrive one after another at decoders that all channels share.
#[derive(Clone, Debug, Default)]
struct Arrival {
    slot: u32,
    recovery: Option<u32>,
    attempted: Attempted,
    channel: u32,
    limit: u8,
    codewords: Vec<Codeword>,
    /// Number of codewords that have arrived.
    arrived: usize,
    begin: SimTime,
    transfer: Nanos,
    /// The codeword that is decoded last so far.
    last: Decoded,
}

impl Arrival {
    /// Returns the instant at which the next codeword has arrived.
    fn next(&self) -> SimTime {
        arrival(self.begin, self.transfer, self.arrived + 1, self.codewords.len())
    }
}

/// Returns the instant at which `arrived` of a number of codewords have arrived.
#[inline]
fn arrival(begin: SimTime, transfer: Nanos, arrived: usize, codewords: usize) -> SimTime {
    SimTime(begin.0 + transfer.0 * arrived as u64 / codewords as u64)
}

impl Reads {
    /// Takes over the measurements of other reads, in whose place these come. Codewords that were under way in the
    /// decoders count as decoded.
    pub fn take_measurements(&mut self, other: Reads) {
        (self.statistics, self.decoders) = (other.statistics, other.decoders);
    }

    /// Returns the reads of a validated description, with nothing under way.
    pub fn new(config: &ReadConfig) -> Reads {
        let repeats = config.attempts.len() - 1;
        let most = repeats + if config.levels == ReadLevels::Progressive { config.ladder.len() } else { 1 };
        Reads {
            errors: Errors::new(config.errors.clone()),
            decoders: config.decoders.clone(),
            modes: config.read_modes,
            kinds: config.read_modes * config.attempts.len(),
            channels: (0..config.geometry.die_count).map(|die| config.geometry.channel_of(DieId(die)).0).collect(),
            has_single_codewords: config.errors.codewords_per_unit == 1 && !config.calibration,
            reads_softly: config.attempts[0].soft_levels > 0,
            ln_corrects: config.corrects.iter().map(|rate| libm::log(*rate)).collect(),
            ln_factors: config.attempts.iter().map(|attempt| libm::log(attempt.error_rate_factor)).collect(),
            recoveries: Slab::default(),
            calibrated: if config.calibration { vec![(0, 0); config.geometry.block_count as usize] } else { Vec::new() },
            codewords: Vec::new(),
            failing: Vec::new(),
            arrivals: Slab::default(),
            statistics: ReadStatistics::new(most),
            config: config.clone(),
        }
    }

    /// Returns the decoders, for reports; `None` if decoding takes no time.
    pub fn decoders(&self) -> Option<&Decoders> {
        self.decoders.as_ref()
    }

    /// Returns the read mode of the first attempt at the data of an operation. Data whose own read mode does not state
    /// what it corrects is read in that mode.
    pub fn first_mode(&mut self, operation: &Operation, stored: &Stored) -> ModeId {
        if !self.config.ladder.contains(&operation.mode) {
            return operation.mode;
        }
        if self.config.levels == ReadLevels::Progressive {
            return self.config.ladder[0];
        }
        let (ln_rate, _) = self.ln_rate(operation, stored);
        let ladder = &self.config.ladder;
        let corrects = &self.ln_corrects[stored.mode.index() * self.modes..];
        let enough = ladder.iter().find(|mode| corrects[mode.index()] >= ln_rate);
        *enough.unwrap_or_else(|| ladder.last().expect("a flash has a read mode"))
    }

    /// Prefetches what is known of a block.
    #[inline]
    pub fn look_ahead(&self, block: BlockId) -> u32 {
        self.errors.look_ahead(block)
    }

    /// Returns the logarithm of the error rate of the data of an operation at the first attempt, and the wear class of
    /// its block.
    #[inline(always)]
    fn ln_rate(&mut self, operation: &Operation, stored: &Stored) -> (f64, u8) {
        let geometry = &self.config.geometry;
        let row = if self.errors.differ_by_row() { geometry.row_of(geometry.split(operation.first).1) } else { 0 };
        self.errors.ln_rate(stored, operation.page_type, row)
    }

    /// Passes the codewords of a read that the flash has delivered through the decoders of its channel.
    #[inline(always)]
    pub fn sensed(&mut self, read: &SensedRead<'_>, out: &Outbox) -> Decoding {
        let single = if self.has_single_codewords { self.sensed_single(read, &out.operations[read.slot]) } else { None };
        single.unwrap_or_else(|| self.sensed_any(read, out))
    }

    /// Like [`Reads::sensed`], for the most frequent read: the first attempt at a single codeword, which succeeds.
    #[inline(always)]
    fn sensed_single(&mut self, read: &SensedRead<'_>, operation: &Operation) -> Option<Decoding> {
        if operation.units != 1 || matches!(operation.owner, Owner::Retry(_)) {
            return None;
        }
        let (stored, now, kind) = (read.stored, read.ends, operation.mode.index());
        let (ln_rate, class) = self.ln_rate(operation, stored);
        let level = Level::new(ln_rate, self.config.limits[stored.mode.index() * self.kinds + kind]);
        let draw = Draw { erase_count: stored.erase_count, level, nonce: now.0 };
        let codeword = self.errors.read_if_prepared(operation.first, &draw).filter(|codeword| !codeword.fails)?;
        let mut decoding = Decoding { until: now, alone: Nanos::ZERO, recovery: None };
        if let Some(decoders) = &mut self.decoders {
            let channel = self.channels[operation.die.index()];
            let arrives = (SimTime(now.0 - read.transfer.0), now);
            let Decoded { at, alone } = decoders.accept(channel, arrives, level.limit, &codeword);
            (decoding.until, decoding.alone) = (at, alone);
        }
        self.statistics.codewords += 1;
        self.statistics.decoded[usize::from(self.reads_softly)] += 1;
        let counts = usize::from(class) * self.statistics.max_attempts;
        self.count(&Attempted { counts, queued: read.queued, is_corrected: true, is_soft: self.reads_softly }, decoding.until);
        Some(decoding)
    }

    #[inline(never)]
    fn sensed_any(&mut self, read: &SensedRead<'_>, out: &Outbox) -> Decoding {
        let (operation, now) = (&out.operations[read.slot], read.ends);
        let (attempted, limit, recovery) = self.evaluate(read, operation);
        let mut last = Decoded { at: now, alone: Nanos::ZERO };
        if let Some(decoders) = &mut self.decoders {
            let (begin, count) = (SimTime(now.0 - read.transfer.0), self.codewords.len());
            let mut start = begin;
            for (number, codeword) in (1..).zip(&self.codewords) {
                let end = if number == count { now } else { arrival(begin, read.transfer, number, count) };
                let decoded = decoders.accept(self.channels[operation.die.index()], (start, end), limit, codeword);
                start = end;
                if decoded.at > last.at {
                    last = decoded;
                }
            }
        }
        self.count(&attempted, last.at);
        Decoding { until: last.at, alone: last.alone.min(last.at.since(now)), recovery }
    }

    /// Begins to pass the codewords of a read, whose last transfer begins, through the decoders that all channels
    /// share. Returns the number of the arrival, and the instant at which its first codeword has arrived.
    pub fn arrives(&mut self, read: &SensedRead<'_>, out: &Outbox) -> (u32, SimTime) {
        let operation = &out.operations[read.slot];
        let (attempted, limit, recovery) = self.evaluate(read, operation);
        let arrival = Arrival {
            slot: read.slot,
            recovery,
            attempted,
            channel: self.channels[operation.die.index()],
            limit,
            codewords: std::mem::take(&mut self.codewords),
            arrived: 0,
            begin: SimTime(read.ends.0 - read.transfer.0),
            transfer: read.transfer,
            last: Decoded { at: read.ends, alone: Nanos::ZERO },
        };
        let next = arrival.next();
        (self.arrivals.put(arrival), next)
    }

    /// Handles the arrival of a codeword. Returns the instant of the next one; `None` after the last.
    pub fn codeword_arrived(&mut self, arrival: u32, now: SimTime) -> Option<SimTime> {
        let arrival = &mut self.arrivals[arrival];
        let decoders = self.decoders.as_mut().expect("codewords arrive at decoders");
        let decoded = decoders.accept(arrival.channel, (now, now), arrival.limit, &arrival.codewords[arrival.arrived]);
        if decoded.at >= arrival.last.at {
            arrival.last = decoded;
        }
        arrival.arrived += 1;
        (arrival.arrived < arrival.codewords.len()).then(|| arrival.next())
    }

    /// Ends the arrival of a read's codewords, the last of which arrives now. Returns the slot of the operation.
    pub fn all_arrived(&mut self, arrival: u32, now: SimTime) -> (u32, Decoding) {
        let Arrival { slot, recovery, attempted, last, .. } = self.arrivals[arrival];
        self.codewords = std::mem::take(&mut self.arrivals[arrival].codewords);
        self.arrivals.release(arrival);
        self.count(&attempted, last.at);
        (slot, Decoding { until: last.at, alone: last.alone.min(last.at.since(now)), recovery })
    }

    /// Reads the codewords of an operation from the stored data. Returns the attempt for its statistics, the limit
    /// at which they are decoded, and the recovery of a read that repeats another one or fails.
    fn evaluate(&mut self, read: &SensedRead<'_>, operation: &Operation) -> (Attempted, u8, Option<u32>) {
        let &SensedRead { slot, stored, places, queued, ends, .. } = read;
        let repeats = if let Owner::Retry(recovery) = operation.owner { Some(recovery) } else { None };
        let (number, levels, queued) = match repeats {
            None => (0, self.first_levels(stored), queued),
            Some(recovery) => (self.recoveries[recovery].attempt, 0, self.recoveries[recovery].queued),
        };
        let kind = operation.mode.index() + usize::from(levels) * self.modes;
        let attempt = kind / self.modes;
        let (ln_rate, class) = self.ln_rate(operation, stored);
        let limit = self.config.limits[stored.mode.index() * self.kinds + kind];
        let level = Level::new(ln_rate + self.ln_factors[attempt], limit);
        self.errors.prepare(level.step);
        // No two reads of the same data end at one instant, except for attempts that take no time.
        let draw = Draw { erase_count: stored.erase_count, level, nonce: ends.0.wrapping_add(u64::from(number) << 56) };
        self.codewords.clear();
        let recovery = match repeats {
            None => self.read_first(slot, operation, places, levels, &draw),
            Some(recovery) => {
                self.read_again(recovery, &draw);
                Some(recovery)
            }
        };
        let is_soft = self.config.attempts[attempt].soft_levels > 0;
        self.statistics.decoded[usize::from(is_soft)] += self.codewords.len() as u64;
        let is_corrected = recovery.is_none_or(|recovery| self.recoveries[recovery].failed.is_empty());
        if is_corrected && let Some(known) = self.calibrated.get_mut(stored.block.index()) {
            *known = (stored.erase_count, attempt as u8);
        }
        let attempted = Attempted {
            counts: usize::from(class) * self.statistics.max_attempts + number as usize,
            queued,
            is_corrected,
            is_soft,
        };
        (attempted, level.limit, recovery)
    }

    /// Counts an attempt that ends at `end`.
    #[inline]
    fn count(&mut self, attempted: &Attempted, end: SimTime) {
        let counts = &mut self.statistics.attempts[attempted.counts];
        counts.reads += 1;
        counts.failed += u64::from(!attempted.is_corrected);
        counts.time_ns += end.since(attempted.queued).0;
        self.statistics.soft += u64::from(attempted.is_soft);
    }

    /// Returns the erase count and the attempt of the plan of the last successful read of each block; empty without
    /// calibration.
    pub fn calibrated(&self) -> &[(u32, u8)] {
        &self.calibrated
    }

    /// Restores the read levels of a saved drive. Returns false if it kept them for other blocks or another plan.
    pub fn restore_calibrated(&mut self, saved: &[(u32, u8)]) -> bool {
        let planned = self.ln_factors.len();
        let fits = saved.len() == self.calibrated.len() && saved.iter().all(|&(_, levels)| usize::from(levels) < planned);
        if fits {
            self.calibrated.copy_from_slice(saved);
        }
        fits
    }

    /// Returns the attempt of the plan with whose read levels a block is read first.
    #[inline]
    fn first_levels(&self, stored: &Stored) -> u8 {
        match self.calibrated.get(stored.block.index()) {
            Some(&(erase_count, levels)) if erase_count == stored.erase_count => levels,
            _ => 0,
        }
    }

    /// Reads all units of an operation. If any fails, returns the recovery that begins with it.
    fn read_first(&mut self, slot: u32, operation: &Operation, places: Option<&[Ppn]>, levels: u8, draw: &Draw) -> Option<u32> {
        let mut codewords = 0;
        for number in 0..operation.units {
            let place = places.map_or(Ppn(operation.first.0 + number), |places| places[number as usize]);
            let failed = self.read_unit(place, draw);
            if failed > 0 {
                codewords += failed;
                self.failing.push(place);
            }
        }
        self.statistics.codewords += self.codewords.len() as u64;
        if self.failing.is_empty() {
            return None;
        }
        Some(self.recoveries.put(Recovery {
            operation: slot,
            attempt: 0,
            first_levels: levels,
            mode: operation.mode,
            queued: SimTime::ZERO,
            failed: std::mem::take(&mut self.failing),
            codewords,
        }))
    }

    /// Reads the places of a recovery again, and keeps those that fail again.
    fn read_again(&mut self, recovery: u32, draw: &Draw) {
        let (mut places, mut codewords) = (std::mem::take(&mut self.recoveries[recovery].failed), 0);
        places.retain(|&place| {
            let failed = self.read_unit(place, draw);
            codewords += failed;
            failed > 0
        });
        let recovery = &mut self.recoveries[recovery];
        (recovery.failed, recovery.codewords) = (places, codewords);
    }

    /// Reads the codewords of the unit at a place. Returns the number of them that cannot be decoded.
    #[inline]
    fn read_unit(&mut self, place: Ppn, draw: &Draw) -> u32 {
        let mut fails = 0;
        for codeword in 0..self.errors.codewords_per_unit() {
            let found = self.errors.read(place, codeword, draw);
            fails += u32::from(found.fails);
            self.codewords.push(found);
        }
        fails
    }

    /// Handles the end of the decoding of the read in a slot, and prepares the next attempt if it failed.
    pub fn decoded(&mut self, slot: u32, recovery: Option<u32>, now: SimTime, out: &mut Outbox) -> Verdict {
        let Some(id) = recovery else { return Verdict::Correct(slot) };
        let recovery = &self.recoveries[id];
        let operation = recovery.operation;
        if slot != operation {
            self.statistics.parts[recovery.attempt as usize - 1].add(out.operations.account(slot).ledger());
            out.operations.release(slot);
            out.operations.account_mut(operation).charge_to(Cause::Retry, now);
        }
        if recovery.failed.is_empty() {
            self.recoveries.release(id);
            return Verdict::Correct(operation);
        }
        let Some(kind) = self.kind_of(recovery, recovery.attempt as usize + 1) else {
            let places = std::mem::take(&mut self.recoveries[id].failed);
            self.count_lost(&out.operations[operation], places.len() as u64, self.recoveries[id].codewords);
            self.recoveries.release(id);
            return Verdict::Lost { operation, places };
        };
        let recovery = &mut self.recoveries[id];
        (recovery.attempt, recovery.queued) = (recovery.attempt + 1, now);
        let retry = out.operations.add(self.repetition(&out.operations[operation], id, kind));
        Verdict::Again { operation, retry }
    }

    /// Returns the read mode of an attempt of a recovery: a mode of the table, or one for an attempt of the plan in
    /// such a mode. `None` after the last attempt.
    fn kind_of(&self, recovery: &Recovery, attempt: usize) -> Option<usize> {
        let (planned, ladder) = (self.ln_factors.len(), &self.config.ladder);
        if self.config.levels == ReadLevels::Progressive && ladder.contains(&recovery.mode) {
            let slowest = ladder[ladder.len() - 1].index();
            return match attempt.checked_sub(ladder.len()) {
                None => Some(ladder[attempt].index()),
                Some(repeat) => (repeat + 1 < planned).then_some((repeat + 1) * self.modes + slowest),
            };
        }
        if attempt >= planned {
            return None;
        }
        // From the levels of the first attempt on, then the earlier ones backwards.
        let from_first = usize::from(recovery.first_levels) + attempt;
        let levels = if from_first < planned { from_first } else { planned - 1 - attempt };
        Some(levels * self.modes + recovery.mode.index())
    }

    /// Returns the read of the places of a recovery that have failed, in a read mode.
    fn repetition(&self, first: &Operation, recovery: u32, kind: usize) -> Operation {
        let (geometry, places) = (&self.config.geometry, &self.recoveries[recovery].failed);
        let plane = |place: Ppn| geometry.page_of(geometry.split(place).1) % geometry.shape.planes_per_program;
        let planes = places.iter().fold(0u64, |planes, &place| planes | 1 << plane(place));
        Operation {
            kind: OperationKind::Read,
            reason: first.reason,
            die: first.die,
            first: places[0],
            units: places.len() as u32,
            pages: planes.count_ones(),
            page_type: first.page_type,
            mode: ModeId(kind as u8),
            encode: 0,
            skipped: 0,
            owner: Owner::Retry(recovery),
        }
    }

    fn count_lost(&mut self, operation: &Operation, units: u64, codewords: u32) {
        self.statistics.lost_codewords += u64::from(codewords);
        let is_host = matches!(operation.owner, Owner::Command(_));
        let counter = if is_host { &mut self.statistics.uncorrectable_units } else { &mut self.statistics.lost_units };
        *counter += units;
    }

    /// Returns true if no read is being recovered.
    pub fn is_at_rest(&self) -> bool {
        self.recoveries.in_use() == 0
    }
}
