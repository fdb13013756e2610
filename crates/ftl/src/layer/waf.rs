//! The write amplification factor in place of a map: an abstraction of the translation layer.

mod model;

use super::contract::{Pulled, Report, TurnEnd};
use super::{Kind, Other, Parts, Setting, Translation, TranslationConfig, Translator, erased, medium};
use crate::config::{FtlSection, PartialWrite};
use crate::counters::FtlCounters;
use crate::medium::operations::Joined;
use crate::medium::{BlockState, Medium};
use crate::parameters::Parameters;
use crate::queue::host::HostWrites;
use crate::queue::order::places;
use crate::queue::{Buffered, Drain};
use kit::archive::{Archive, Archived, require};
use kit::{
    BlockId, CommandId, Demand, DieId, Ended, Geometry, HostUnit, Lpn, ModeId, Operation, OperationKind, Outbox, Owner,
    Permutation, Ppn, Problems, ReadyDies, Reason, Rng, SimTime,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use model::Hot;

/// Fraction bits of the numbers of units that a die may program between two collections.
const FRACTION: u32 = 20;
/// Blocks ahead of the write frontier of a die that are erased at the start.
const BLOCKS_AHEAD: u32 = 3;
/// Smallest ratio of the blocks among which collection chooses to those that the user data fills.
const MIN_RATIO: f64 = 1.0001;
/// Blocks that a die needs: those ahead, the frontier, and a victim.
const MIN_BLOCKS: u32 = BLOCKS_AHEAD + 2;

/// Rule by which collection chooses its victims, for the write amplification that follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The oldest block (Desnoyers, SYSTOR 2012).
    OldestFirst,
    /// The block with the fewest valid units (Desnoyers, SYSTOR 2012; an approximation, 3 % low at 4 units in a block).
    #[default]
    Greedy,
    /// The block with the fewest valid units among the oldest ones (the model of Hu et al., SYSTOR 2009, in a solution
    /// of our own).
    WindowedGreedy,
}

/// Keeps no map: an abstraction with which an architecture can be explored without a translation layer of its own. Host
/// writes are turned into as many more programs as the write amplification says. After each block of programs a die
/// collects: it reads rows of a block, programs the units that would be valid, and erases; host writes wait until it is
/// done, or, with `piece`, until a piece of it is. The write amplification is given, or computed for uniform random
/// writes.
///
/// A read goes to the die, and the page, that a sequential fill would have written; each unit counts as written. There
/// is no policy and no retention limit; trims have no effect. The thesis on SSDExplorer (1.3.2)
/// explores its architectures so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write amplification, for every workload. Absent: computed by `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub write_amplification: Option<f64>,
    /// Rule by which collection chooses its victims.
    pub model: Model,
    /// Share of the blocks among which `windowed_greedy` chooses, the oldest ones. Absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub window: Option<f64>,
    /// A part of the data that is written more often than the rest; only with `oldest_first`. Absent: all data is
    /// written alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot: Option<Hot>,
    /// Pages of each plane of a victim that a die collects at a time: between two pieces it programs the host's share.
    /// The smaller the pieces are, the shorter do host writes wait; the write amplification is the same. Absent: a
    /// whole block.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub piece: Option<u32>,
}

/// Builds the member.
pub fn build(params: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(params.clone())
}

impl Params {
    /// Returns the write amplification of a drive.
    fn amplification(&self, config: &FtlSection, geometry: &Geometry, user_units: u64) -> f64 {
        // Free and open blocks are not among those that collection chooses from.
        let kept = f64::from(config.gc_critical_blocks) + 2.0;
        let blocks = f64::from(geometry.blocks_per_die) - kept;
        let block_units = geometry.units_per_block;
        let filled = user_units as f64 / f64::from(block_units) / f64::from(geometry.die_count);
        let a = (blocks / filled).max(MIN_RATIO);
        self.write_amplification.unwrap_or_else(|| match (self.model, &self.hot) {
            (Model::OldestFirst, None) => model::oldest_first(a),
            (Model::OldestFirst, Some(hot)) => model::hot_and_cold(a, hot),
            (Model::Greedy, _) => model::greedy(a, block_units),
            (Model::WindowedGreedy, _) => model::windowed_greedy(a, block_units, self.window.unwrap_or(1.0)),
        })
    }
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        Ok(Translator::Other(Other::Plain(Box::new(Waf::new(self, parts)?))))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("it keeps no map of the data")
    }

    fn blocks_needed(&self) -> Option<u32> {
        Some(MIN_BLOCKS)
    }

    fn of_mock_up(&self, whole: &FtlSection, geometry: &Geometry, user_units: u64) -> Option<TranslationConfig> {
        let write_amplification = Some(self.amplification(whole, geometry, user_units));
        Some(TranslationConfig::Waf(Params { write_amplification, piece: self.piece, ..Params::default() }))
    }

    fn problems(&self, _: &Setting<'_>, problems: &mut Problems) {
        if self.write_amplification.is_some()
            && *self != (Params { write_amplification: self.write_amplification, piece: self.piece, ..Params::default() })
        {
            let what = "given beside `model`, `window` or `hot`, which compute it: expected only one of them";
            problems.add("ftl.translation.write_amplification", what);
        }
        if self.window.is_some() && self.model != Model::WindowedGreedy {
            problems.add("ftl.translation.window", "only `model = \"windowed_greedy\"` has one");
        }
        if self.hot.is_some() && self.model != Model::OldestFirst {
            problems.add("ftl.translation.hot", "there is a closed form for `model = \"oldest_first\"` only");
        }
        if self.piece == Some(0) {
            problems.add("ftl.translation.piece", "0: expected at least 1 page");
        }
    }
}

/// Collection in progress on a die.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Collection {
    /// Units to be moved, of those of the victim.
    units: u32,
    /// Rows of the victim that have been read, or skipped because none of their units is to be moved.
    rows: u32,
    /// Row at which the piece ends that is collected.
    end: u32,
}

impl Collection {
    /// Returns the next row of the piece with units to be moved, and their number; `rows` is the number of rows of a
    /// block, over which the units to be moved are spread.
    fn next_row(&self, rows: u32) -> Option<(u32, u32)> {
        let moved_before = |row: u32| (u64::from(self.units) * u64::from(row) / u64::from(rows)) as u32;
        (self.rows..self.end).map(|row| (row, moved_before(row + 1) - moved_before(row))).find(|(_, units)| *units > 0)
    }
}

/// Returns the units that the host programs before a piece of a collection, of those `between` two collections, with a
/// fraction; `piece` has the rows from one to another of a block's `rows`.
fn share(between: u64, piece: (u32, u32), rows: u32) -> u64 {
    let before = |row: u32| (u128::from(between) * u128::from(row) / u128::from(rows)) as u64;
    before(piece.1) - before(piece.0)
}

/// State of a die: its blocks are a ring in which the frontier follows the victim.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DieLog {
    /// Block of the frontier, and of the next victim, within the die.
    block: u32,
    victim: u32,
    /// Next program of the frontier.
    program: u32,
    /// Units that may be programmed for the host before the next collection, with a fraction.
    left: i64,
    /// Fraction of a unit that the collections so far have moved too little.
    fraction: u64,
    collection: Option<Collection>,
    /// Collection between two pieces: the host's share of the next one is programmed.
    paused: Option<Collection>,
    /// Collection in progress at the start. It goes on when no other idle die is left for a host write: a drive that is
    /// not busy begins at rest.
    begun: Option<Collection>,
    /// Units that have been read and wait to be programmed.
    gathered: u32,
    is_reading: bool,
}

/// Work of a die between two erases: for each piece of a collection, programs for the host and then moves.
struct Cycle {
    amplification: f64,
    between: u64,
    rows: u32,
    piece_rows: u32,
}

impl Cycle {
    /// Returns the log of a die that is in any piece, at a phase of it: before its moves from 0 to 1, in them from 1 to
    /// the amplification.
    fn log_at(&self, phase: f64, geometry: &Geometry, rng: &mut Rng) -> DieLog {
        let &Cycle { amplification, between, rows, piece_rows } = self;
        let units = geometry.units_per_block - (between >> FRACTION) as u32;
        let pieces = rows.div_ceil(piece_rows);
        let piece = if pieces > 1 { rng.below(u64::from(pieces)) as u32 } else { 0 };
        let end_of = |first: u32| (first + piece_rows).min(rows);
        let (first, end) = (piece * piece_rows, end_of(piece * piece_rows));
        let paused_at = |row: u32| (row > 0).then_some(Collection { units, rows: row, end: end_of(row) });
        let (left, paused, begun) = if phase <= 1.0 {
            (share(between, (first, end), rows) as f64 * phase, paused_at(first), None)
        } else {
            let done = (phase - 1.0) / (amplification - 1.0) * f64::from(end - first);
            let begun = Collection { units, rows: first + done as u32, end };
            let next = if end == rows { 0 } else { end };
            let left = share(between, (next, end_of(next)), rows) as f64;
            let goes_on = end == rows || begun.next_row(rows).is_some();
            if goes_on { (left, None, Some(begun)) } else { (left, paused_at(end), None) }
        };
        DieLog {
            block: 0,
            victim: BLOCKS_AHEAD,
            program: rng.below(u64::from(geometry.programs_per_block)) as u32,
            left: left as i64,
            fraction: 0,
            collection: None,
            paused,
            begun,
            gathered: 0,
            is_reading: false,
        }
    }
}

/// The layer.
struct Waf {
    parameters: Parameters,
    partial_write: PartialWrite,
    counters: FtlCounters,
    amplification: f64,
    /// Units that a die may program for the host in the time of one collection, with a fraction.
    between: u64,
    /// Rows of a block, and of a piece of a collection.
    rows: u32,
    piece_rows: u32,
    writes: HostWrites,
    dies: Vec<DieLog>,
    /// Number of dies whose collection of the start has not gone on.
    begun: u32,
    medium: Medium,
    mode: ModeId,
    read_mode: ModeId,
}

impl Waf {
    fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<Waf> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let section = config.without_layer();
        let amplification = params.amplification(&section, &geometry, parameters.facts.user_units);
        let between = (f64::from(geometry.units_per_block) / amplification * f64::from(1 << FRACTION)).round() as u64;
        let rows = geometry.units_per_block / (geometry.units_per_page * geometry.shape.planes_per_program);
        let piece_rows = params.piece.map_or(rows, |pages| pages.saturating_mul(geometry.shape.superblock).min(rows));
        let dies = geometry.die_count;
        let mut rng = Rng::stream(parameters.seed, "ftl.waf");
        let turns = Permutation::new(u64::from(dies), rng.next_u64());
        let cycle = Cycle { amplification, between, rows, piece_rows };
        // As in the long run, the dies collect in turn. While the host writes at full speed, the share of dies that
        // collect is the share of units that are moved.
        let logs: Vec<DieLog> = (0..dies)
            .map(|die| {
                let phase = amplification * (turns.at(u64::from(die)) as f64 + rng.unit()) / f64::from(dies);
                cycle.log_at(phase, &geometry, &mut rng)
            })
            .collect();
        let (mode, read_mode) = parameters.facts.normal_modes();
        let mut medium = medium(&parameters, &starting)?;
        for (die, log) in (0..dies).map(DieId).zip(&logs) {
            let blocks = geometry.blocks_of(die);
            medium.begin_open(BlockId(blocks.start), mode, log.program);
            (blocks.start + BLOCKS_AHEAD..blocks.end).for_each(|block| medium.begin_full(BlockId(block), mode));
        }
        let mut places = places(config.allocation_order, &geometry);
        places.retain(|(_, plane)| plane.unwrap_or(0) == 0);
        Ok(Waf {
            partial_write: config.partial_write,
            counters: FtlCounters::default(),
            amplification,
            between,
            rows,
            piece_rows,
            writes: HostWrites::new(config.write_allocation, &places, geometry.units_per_program, parameters.buffering),
            begun: logs.iter().filter(|log| log.begun.is_some()).count() as u32,
            dies: logs,
            medium,
            mode,
            read_mode,
            parameters,
        })
    }

    /// Returns the place of a unit: that of a sequential fill, one program on each die in turn.
    fn place_of(&self, lpn: Lpn) -> Ppn {
        let geometry = &self.medium.geometry;
        let (program, unit) = (lpn.0 / geometry.units_per_program, lpn.0 % geometry.units_per_program);
        let (turn, position) = (program / geometry.die_count, program % geometry.die_count);
        let die = self.writes.idle.die_at(position as usize);
        Ppn(geometry.blocks_of(die).start * geometry.units_per_block + turn * geometry.units_per_program + unit)
    }

    /// Returns the waiting writes, and whether a die can take them.
    fn writes_and_takers(&mut self) -> (&mut HostWrites, impl Fn(DieId) -> bool) {
        let spares = self.spares_begun();
        let Waf { writes, dies, .. } = self;
        let takes = move |log: &DieLog| log.collection.is_none() && !(spares && log.begun.is_some());
        (writes, move |die: DieId| takes(&dies[die.index()]))
    }

    /// Returns true if an idle die can take a write for which no die needs to go on with the collection of the start.
    fn spares_begun(&self) -> bool {
        let takes = |log: &DieLog| log.collection.is_none() && log.begun.is_none();
        self.begun > 0 && (0..).map(DieId).zip(&self.dies).any(|(die, log)| takes(log) && self.writes.idle.contains(die))
    }

    /// Adds a complete unit to the write queue, and wakes a die for it.
    fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let list = self.writes.push(slot, None, now, out);
        let (writes, takes) = self.writes_and_takers();
        writes.wake_for(list, takes, &mut out.ready);
    }

    /// Returns the slot of the program of the oldest waiting units.
    fn program_host(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> u32 {
        let units_per_program = self.medium.geometry.units_per_program;
        let (first, mut bound) = (self.frontier(die), 0);
        while bound < units_per_program {
            let Some(slot) = self.writes.take(die) else { break };
            self.medium.programs[die.index()].bind_host(
                slot,
                (Ppn(first.0 + bound), self.mode),
                &mut self.writes.queue,
                now,
                out,
            );
            bound += 1;
        }
        let encode = if self.parameters.facts.codes[self.mode.index()] == 0 { 0 } else { bound };
        let slot = self.program(die, Reason::Host, bound, encode, out);
        self.dies[die.index()].left -= i64::from(units_per_program) << FRACTION;
        if self.dies[die.index()].left <= 0 {
            self.begin_piece(die);
        }
        slot
    }

    /// Returns the first place of the next program at the frontier of a die.
    fn frontier(&self, die: DieId) -> Ppn {
        let (geometry, log) = (&self.medium.geometry, &self.dies[die.index()]);
        let block = BlockId(geometry.blocks_of(die).start + log.block);
        Ppn(geometry.first_of(block).0 + log.program * geometry.units_per_program)
    }

    /// Returns the slot of a program at the frontier of a die.
    fn program(&mut self, die: DieId, reason: Reason, bound: u32, encode: u32, out: &mut Outbox) -> u32 {
        let geometry = self.medium.geometry;
        let log = &mut self.dies[die.index()];
        let block = BlockId(geometry.blocks_of(die).start + log.block);
        let at = log.program;
        self.medium.begin_program_of(block, self.mode);
        log.program += 1;
        if log.program == geometry.programs_per_block {
            log.block = (log.block + 1) % geometry.blocks_per_die;
            log.program = 0;
            assert!(log.block != log.victim, "the frontier of {die:?} has met its victim");
        }
        self.counters.count_program(reason, self.mode, bound, geometry.units_per_program);
        out.operations.add(self.medium.program_at(block, at, self.mode, reason, encode))
    }

    /// Checks the log of a die of a saved drive: its blocks are a ring of free ones before the victim, and full ones
    /// from there on, and the free ones have room for all that is programmed before the next erase.
    fn check_log(&self, die: DieId, log: &DieLog) -> Archived {
        let geometry = &self.medium.geometry;
        let (blocks, whole) = (geometry.blocks_per_die, geometry.units_per_program);
        let largest = geometry.units_per_block;
        let is_end = |end: u32| end == self.rows || end > 0 && end < self.rows && end.is_multiple_of(self.piece_rows);
        let of_collection = |one: &Collection| one.units <= largest && one.rows <= one.end && is_end(one.end);
        let collections = || log.collection.iter().chain(&log.begun).chain(&log.paused);
        let most = i64::from(largest + whole) << FRACTION;
        let fits = log.block < blocks
            && log.victim < blocks
            && log.program < geometry.programs_per_block
            && log.fraction < 1 << FRACTION
            && (-most..=self.between as i64).contains(&log.left)
            && !log.is_reading
            && log.gathered <= largest
            && collections().count() <= 1
            && collections().all(of_collection);
        require(fits, || format!("die {} has a log that cannot be: {log:?}", die.0))?;
        let free = (log.victim + blocks - log.block) % blocks;
        for step in 0..blocks {
            let block = geometry.blocks_of(die).start + (log.block + step) % blocks;
            let record = self.medium.block(BlockId(block));
            let programmed = if step == 0 { log.program } else { 0 };
            let fits = if step < free {
                matches!(record.state(), BlockState::Free | BlockState::Open) && u32::from(record.programmed) == programmed
            } else {
                record.state() == BlockState::Closed
            };
            require(fits, || format!("block {block} of die {} is {record:?}, and the log says {log:?}", die.0))?;
        }
        let room =
            (u64::from(free) * u64::from(geometry.programs_per_block)).saturating_sub(log.program.into()) * u64::from(whole);
        // Most units that are programmed before the next erase, which must leave a unit free: the frontier may not meet
        // the victim. Before a collection the host programs what is left to it, in whole programs.
        let needed = u64::from(log.gathered)
            + match collections().next() {
                Some(&Collection { units, end, .. }) if end == self.rows && log.paused.is_none() => units.into(),
                Some(&Collection { units, end, .. }) => {
                    // `left` is the rest of the host's share of the piece that begins next.
                    let end = if log.paused.is_some() { end } else { (end + self.piece_rows).min(self.rows) };
                    let to_come = share(self.between, (end, self.rows), self.rows) + log.left.max(0) as u64;
                    u64::from(units) + to_come.div_ceil(1 << FRACTION) + u64::from(whole)
                }
                None => {
                    u64::from(largest - (self.between >> FRACTION) as u32)
                        + (log.left.max(0) as u64 >> FRACTION)
                        + u64::from(whole)
                }
            };
        require(room > needed, || {
            format!("die {} has room for {room} units before its next erase, and needs more than {needed}", die.0)
        })
    }

    /// Begins the next piece of a collection. The host's share of the one after it is added to what a die may program.
    fn begin_piece(&mut self, die: DieId) {
        let between = self.between;
        let collection = match self.dies[die.index()].paused.take() {
            Some(collection) => collection,
            None => self.begin_collection(die),
        };
        let first = if collection.end == self.rows { 0 } else { collection.end };
        let log = &mut self.dies[die.index()];
        log.collection = Some(collection);
        log.left += share(between, (first, (first + self.piece_rows).min(self.rows)), self.rows) as i64;
    }

    /// Returns the collection that a die begins, which frees a block: what the host does not program of it is moved.
    fn begin_collection(&mut self, die: DieId) -> Collection {
        let log = &mut self.dies[die.index()];
        let moved = (u64::from(self.medium.geometry.units_per_block) << FRACTION) - self.between + log.fraction;
        log.fraction = moved & ((1 << FRACTION) - 1);
        self.counters.collections += 1;
        Collection { units: (moved >> FRACTION) as u32, rows: 0, end: self.piece_rows }
    }

    /// Lets a die program for the host if it has collected a piece of a block, but not all of it.
    fn end_piece(&mut self, die: DieId) {
        let (rows, piece_rows, whole) = (self.rows, self.piece_rows, self.medium.geometry.units_per_program);
        loop {
            let log = &mut self.dies[die.index()];
            let is_done = |one: &mut Collection| one.end < rows && one.next_row(rows).is_none();
            if log.is_reading || log.gathered >= whole {
                return;
            }
            let Some(collection) = log.collection.take_if(is_done) else { return };
            let next = (collection.end + piece_rows).min(rows);
            log.paused = Some(Collection { rows: collection.end, end: next, ..collection });
            if log.left > 0 {
                return;
            }
            self.begin_piece(die);
        }
    }

    /// Returns the slot of the next operation of a die's collection; `None` while it waits for data.
    fn collect(&mut self, die: DieId, collection: Collection, out: &mut Outbox) -> Option<u32> {
        let geometry = self.medium.geometry;
        if self.dies[die.index()].is_reading {
            return None;
        }
        if self.dies[die.index()].gathered >= geometry.units_per_program {
            self.dies[die.index()].gathered -= geometry.units_per_program;
            self.medium.programs[die.index()].bind_moved(geometry.units_per_program);
            return Some(self.program(die, Reason::Gc, geometry.units_per_program, 0, out));
        }
        let victim = BlockId(geometry.blocks_of(die).start + self.dies[die.index()].victim);
        let row_units = geometry.units_per_page * geometry.shape.planes_per_program;
        let Some((row, units)) = collection.next_row(self.rows) else {
            self.medium.begin_whole_erase(victim);
            return Some(out.operations.add(self.medium.erase_of(victim, Reason::Gc)));
        };
        let log = &mut self.dies[die.index()];
        log.collection = Some(Collection { rows: row + 1, ..collection });
        (log.is_reading, log.gathered) = (true, log.gathered + units);
        let first = Ppn(geometry.first_of(victim).0 + row * row_units);
        let read = self.medium.read_at(first, self.read_mode, Reason::Gc, Owner::Collector);
        Some(out.operations.add(Operation { units, pages: units.min(geometry.shape.planes_per_program), ..read }))
    }

    fn erased(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let geometry = &self.medium.geometry;
        let log = &mut self.dies[operation.die.index()];
        log.victim = (log.victim + 1) % geometry.blocks_per_die;
        log.collection = None;
        let is_behind = log.left <= 0;
        erased(&mut self.medium, &self.parameters, (ended, operation), now, out);
        // A program of small blocks takes more than a collection frees for the host.
        if is_behind {
            self.begin_piece(operation.die);
        }
    }
}

impl Translation for Waf {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let mut reads = Joined::default();
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let read = self.medium.read_at(self.place_of(lpn), self.read_mode, Reason::Host, Owner::Command(command));
            reads.add(read, &self.medium, out);
        }
        reads.issue(out)
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        self.counters.host_units += 1;
        let slot = self.writes.accept(unit, now, out);
        let is_complete = unit.whole || self.partial_write == PartialWrite::Whole;
        if is_complete {
            self.enqueue(slot, now, out);
        } else {
            self.writes.queue.units[slot].since = now;
            out.read(self.medium.read_at(self.place_of(unit.lpn), self.read_mode, Reason::Rmw, Owner::PartialRead(slot)));
        }
        let (writes, takes) = self.writes_and_takers();
        writes.program_soon(slot, unit, takes, &mut out.ready);
        is_complete
    }

    fn trim(&mut self, _first: Lpn, count: u32, _now: SimTime, _out: &mut Outbox) {
        self.counters.trimmed_units += u64::from(count);
    }

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        let (writes, takes) = self.writes_and_takers();
        writes.drain(what, takes, ready);
    }

    fn has_drained(&mut self, _now: SimTime, out: &mut Outbox) -> bool {
        out.signals.queued_write_pages == 0
    }

    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        self.end_piece(die);
        let log = &self.dies[die.index()];
        let programs = match log.collection {
            _ if log.begun.is_some() => false,
            Some(_) => !log.is_reading && log.gathered >= self.medium.geometry.units_per_program,
            None => self.writes.may_pull(die),
        };
        if programs && !may_program {
            return Pulled::NeedsBuffer;
        }
        if self.dies[die.index()].begun.is_some() {
            if !self.writes.may_pull(die) || (self.writes.are_pulled() && self.spares_begun()) {
                return Pulled::Nothing;
            }
            self.begun -= 1;
            self.dies[die.index()].collection = self.dies[die.index()].begun.take();
        }
        let slot = if let Some(collection) = self.dies[die.index()].collection {
            self.collect(die, collection, out)
        } else {
            programs.then(|| {
                let slot = self.program_host(die, now, out);
                let (writes, takes) = self.writes_and_takers();
                writes.wake_after_take(takes, &mut out.ready);
                slot
            })
        };
        let Some(slot) = slot else { return Pulled::Nothing };
        self.writes.idle.remove(die);
        Pulled::Operation(slot)
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match (operation.owner, operation.kind) {
            (Owner::ProgramUnit, _) => self.medium.whole_program_done(ended, operation, &mut self.writes.queue, out),
            (Owner::PartialRead(slot), _) => {
                let unit = &mut self.writes.queue.units[slot];
                unit.filled_in = now.since(unit.since);
                self.enqueue(slot, now, out);
            }
            (Owner::Collector, OperationKind::Erase) => self.erased(ended, operation, now, out),
            (Owner::Collector, _) => {
                self.dies[operation.die.index()].is_reading = false;
                out.ready.mark(operation.die);
            }
            _ => out.journal.note_sensed(operation),
        }
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("write_amplification", self.amplification)]
    }

    fn demand(&self, die: DieId) -> Demand {
        // A die that collects takes no write.
        let takes = self.dies[die.index()].collection.is_none();
        Demand { urgent_move: false, oldest_write: self.writes.oldest(die).filter(|_| takes) }
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, _now: SimTime, out: &mut Outbox) {
        self.writes.idle.set(die, end == TurnEnd::Idle);
        if end != TurnEnd::Idle {
            let (writes, takes) = self.writes_and_takers();
            writes.wake_instead(takes, &mut out.ready);
        }
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        // The inverse of `place_of`.
        let geometry = &self.medium.geometry;
        let (block, unit) = geometry.split(ppn);
        let die = geometry.die_of(block);
        let within = (block.0 - geometry.blocks_of(die).start) * geometry.units_per_block + unit;
        let program = within / geometry.units_per_program * geometry.die_count + self.writes.idle.rank_of(die);
        let lpn = u64::from(program) * u64::from(geometry.units_per_program) + u64::from(within % geometry.units_per_program);
        if lpn < self.parameters.facts.user_units { lpn as u32 } else { 0 }
    }

    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        let facts = &self.parameters.facts;
        self.medium.state(archive, now, (facts.write_modes.len(), facts.erase_modes.len()))?;
        self.writes.state(archive, facts.user_units, now)?;
        archive.value(&mut self.counters)?;
        archive.list(&mut self.dies, "dies")?;
        if archive.is_loading() {
            self.counters.check()?;
            (0..).map(DieId).zip(&self.dies).try_for_each(|(die, log)| self.check_log(die, log))?;
            self.begun = self.dies.iter().filter(|log| log.begun.is_some()).count() as u32;
        }
        Ok(())
    }

    fn buffered(&self) -> Buffered {
        self.writes.buffered()
    }

    fn medium(&self) -> &Medium {
        &self.medium
    }

    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }
}
