//! Family: mode policies. A policy chooses the write, erase or read mode of an operation, and the data that is moved.
//!
//! The engine calls a policy when a host write is dispatched; when data has been placed (written or moved) or trimmed;
//! when a read is issued or done; when a victim block is to be chosen, has been taken, and is emptied program by
//! program; when a free block is needed, opened or erased; when a die has nothing else to do; and when a timer that the
//! policy asked for fires. Each call passes a [`View`] of the drive. [`Needs`] says which of the frequent calls the
//! policy uses, so that the other calls cost nothing.
//!
//! Binding is late: the mode of a host write is chosen when an idle die takes the write, never on arrival.

pub mod agcr;
pub mod all_fast;
pub mod autoftl;
pub mod autoftl_minus;
mod backup;
pub mod baseline;
pub mod bch_ldpc;
pub mod checked;
pub mod clairvoyant;
pub mod combine;
mod cost;
mod fixed;
pub mod future;
pub mod hcw_lcr;
pub mod lcw_hcr;
pub mod margin;
pub mod ofwar;
mod points;
pub mod queue_driven;
pub mod rr_ecc;
pub mod rr_speed;
pub mod separate;
pub mod slc_cache;
pub mod traditional;
pub mod wear_adaptive;

use crate::map::Store;
use crate::space::Space;
use crate::writes::WriteQueue;
pub use backup::Backup;
use future::Future;
use kit::{Archive, Archived, BlockId, ChannelId, DieId, Lpn, ModeId, Nanos, Ppn, Problem, Reason, Signals, SimTime};
use std::sync::Arc;

/// Services that a policy needs from the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Number of write frontiers on each die for host data. Frontiers for relocations are added by the engine if the
    /// drive separates them.
    pub host_streams: u8,
    /// Bits of declared state for each logical unit.
    pub bits_per_unit: u8,
    /// Bytes of declared state for each block.
    pub bytes_per_block: u8,
    /// True if the engine is to call [`ModePolicy::placed`].
    pub placed: bool,
    /// True if the engine is to call [`ModePolicy::dropped`].
    pub dropped: bool,
    /// True if the engine is to call [`ModePolicy::opened`] and [`ModePolicy::erased`].
    pub blocks: bool,
    /// True if the engine is to call [`ModePolicy::read_issued`].
    pub reads: bool,
    /// True if the engine is to call [`ModePolicy::read_done`].
    pub reads_done: bool,
    /// True if [`ModePolicy::score`] replaces the drive's victim rule.
    pub scores: bool,
    /// True if the policy moves data: the engine is to call [`ModePolicy::before_dispatch`] (urgent and forced moves,
    /// wake-up time) and [`ModePolicy::idle`]. [`ModePolicy::drain`] is called in any case.
    pub moves: bool,
    /// With `moves`: true if the engine is to call [`ModePolicy::idle`] alone. The other calls are made whenever a die
    /// chooses its next operation.
    pub idle_only: bool,
    /// Idle time of a die after which [`ModePolicy::idle`] is called; zero: at once.
    pub idle_after: Nanos,
    /// True if data of the first host stream and relocated data must not share a write frontier, because their modes
    /// differ.
    pub relocations_apart: bool,
    /// True if the scope of a mode is the page, so that a block holds data of several write modes. The engine then
    /// treats each block as written in [`ModePolicy::mode_of_old_data`], with the shortest retention limit of all
    /// modes. The policy remembers the mode of each page and answers for its reads.
    pub page_scope: bool,
    /// True if the engine is to list the units in [`Moving::units`].
    pub moving: bool,
    /// True if [`ModePolicy::erase`] chooses among erase modes.
    pub erases: bool,
    /// True if the policy reads the age of the data that a host write replaces: [`Store::first_program`] of its block
    /// is then loaded ahead.
    pub ages: bool,
}

/// Constant properties of the drive, which a policy is built with.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Names of the write modes, in the order of their ids.
    pub write_modes: Vec<String>,
    /// Names of the erase modes, in the order of their ids.
    pub erase_modes: Vec<String>,
    /// Retention limit of each write mode at the wear stated in the description; none: without limit.
    pub retention: Vec<Option<Nanos>>,
    /// Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; empty: without limit.
    pub retention_by_wear: Vec<Vec<Nanos>>,
    /// Program time of each write mode, as a multiple of the nominal time.
    pub program_scales: Vec<f64>,
    /// Time that the encoder of each write mode takes for one unit; zero without an encoder.
    pub encode_times: Vec<Nanos>,
    /// Shallowest level of erase on which each write mode can be programmed.
    pub write_levels: Vec<u8>,
    /// Number of units that a block holds in each write mode.
    pub block_units: Vec<u32>,
    /// Number of the encoder of each write mode, counted from 1; 0 without an encoder.
    pub codes: Vec<u8>,
    /// Level of each erase mode: 0 is the deepest.
    pub erase_levels: Vec<u8>,
    /// Wear of a fresh block by one erase in each erase mode, in nominal erases.
    pub erase_wear: Vec<f64>,
    /// Erase time of each erase mode, as a multiple of tBERS.
    pub erase_scales: Vec<f64>,
    /// Names of the read modes, in the order of their ids.
    pub read_modes: Vec<String>,
    /// Read mode that data of each write mode needs.
    pub read_mode_of: Vec<ModeId>,
    /// Time to sense and transfer one unit in each read mode.
    pub read_times: Vec<Nanos>,
    /// Program and erase cycles that a block is rated for.
    pub rated_pe_cycles: u32,
    /// tR + tPROG in the `normal` mode: the time for which a die is busy with the move of one program unit.
    pub move_time: Nanos,
    /// Time that one page move takes of the drive as a whole: its die time divided by the number of dies, or its
    /// transfer time divided by the number of channels, whichever is longer.
    pub page_move_share: Nanos,
    /// Time before its retention limit at which the drive itself moves data (`ftl.retention_margin`).
    pub retention_margin: Nanos,
    /// tPROG in the `normal` mode.
    pub program_time: Nanos,
    /// tBERS in the first erase mode.
    pub erase_time: Nanos,
    /// Number of units that one program writes.
    pub units_per_program: u32,
    /// Number of blocks in a die.
    pub blocks_per_die: u32,
    /// Number of dies in the drive.
    pub die_count: u32,
    /// Number of logical units.
    pub user_units: u64,
}

impl Facts {
    /// Returns the facts of a small drive with two write modes, for tests.
    #[cfg(test)]
    pub(crate) fn example() -> Facts {
        Facts {
            write_modes: vec!["normal".to_owned(), "fast".to_owned()],
            erase_modes: vec!["normal".to_owned()],
            retention: vec![None, None],
            retention_by_wear: vec![Vec::new(), Vec::new()],
            program_scales: vec![1.0, 0.5],
            encode_times: vec![Nanos::ZERO; 2],
            write_levels: vec![0, 0],
            block_units: vec![64, 64],
            codes: vec![0, 0],
            erase_levels: vec![0],
            erase_wear: vec![1.0],
            erase_scales: vec![1.0],
            read_modes: vec!["normal".to_owned()],
            read_mode_of: vec![ModeId(0), ModeId(0)],
            read_times: vec![Nanos(50_000)],
            rated_pe_cycles: 1_000,
            move_time: Nanos(650_000),
            page_move_share: Nanos(162_500),
            retention_margin: Nanos::ZERO,
            program_time: Nanos(600_000),
            erase_time: Nanos(3_000_000),
            units_per_program: 1,
            blocks_per_die: 128,
            die_count: 4,
            user_units: 1000,
        }
    }

    /// Returns the write mode called `name`, or the first one if there is none of that name.
    pub fn write_mode(&self, name: &str) -> ModeId {
        ModeId(self.write_modes.iter().position(|mode| mode == name).unwrap_or(0) as u8)
    }
}

/// Share of the declared state that belongs to one of several combined policies: its bits of each unit and its bytes of
/// each block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    bit: u8,
    mask: u8,
    byte: u8,
    bytes: u8,
}

impl Part {
    /// Returns the share that begins at bit `bit` of each unit and is `bits` wide, and that begins at byte `byte` of
    /// each block and is `bytes` long.
    pub fn new((bit, bits): (u8, u8), (byte, bytes): (u8, u8)) -> Part {
        Part { bit, mask: ((1u16 << bits) - 1) as u8, byte, bytes }
    }
}

/// Read access to the drive for a policy, and the policy's declared state.
pub struct View<'a> {
    /// Present time.
    pub now: SimTime,
    /// Queue lengths, fill of the write buffer, busy dies.
    pub signals: &'a Signals,
    /// Map, validity, modes, wear and ages of blocks.
    pub store: &'a Store,
    pub(crate) space: &'a Space,
    pub(crate) writes: &'a WriteQueue,
    /// Bits that the policy declared for each logical unit.
    pub bits: Bits<'a>,
    /// Bytes that the policy declared for each block.
    pub block_bytes: Bytes<'a>,
}

impl View<'_> {
    /// Calls one of several combined policies with the view narrowed to its share of the declared state. The view is
    /// narrowed in place and restored afterwards: a copy would load in wide words what has just been stored in narrow
    /// ones, which stalls.
    #[inline]
    pub(crate) fn narrowed<T>(&mut self, part: Part, call: impl FnOnce(&mut Self) -> T) -> T {
        let whole =
            Part { bit: self.bits.shift, mask: self.bits.mask, byte: self.block_bytes.from, bytes: self.block_bytes.count };
        let within = Part { bit: whole.bit + part.bit, byte: whole.byte + part.byte, ..part };
        self.set_part(within);
        let answer = call(self);
        self.set_part(whole);
        answer
    }

    #[inline]
    fn set_part(&mut self, part: Part) {
        (self.bits.shift, self.bits.mask) = (part.bit, part.mask);
        (self.block_bytes.from, self.block_bytes.count) = (part.byte, part.bytes);
    }

    /// Returns the place of a unit's copy on flash, even while a newer copy waits in the write buffer; in that case
    /// [`Store::place_of`] returns none.
    #[inline]
    pub fn copy_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        self.writes.copy_on_flash(self.store, lpn)
    }

    /// Returns the number of free blocks of a die.
    pub fn free_blocks(&self, die: DieId) -> u32 {
        self.space.free_blocks(die)
    }

    /// Returns the number of free blocks of a die for each level of their last erase.
    pub fn free_by_level(&self, die: DieId) -> Vec<u32> {
        self.space.free_by_level(die)
    }

    /// Returns the fill of the write buffer, from 0 to 1; 0 without a buffer.
    pub fn buffer_utilisation(&self) -> f64 {
        match self.signals.buffer_capacity_pages {
            0 => 0.0,
            capacity => self.signals.buffered_pages as f64 / capacity as f64,
        }
    }
}

/// Bits of state for each logical unit, as declared by a policy. The engine keeps, reports and saves them.
#[derive(Clone, Debug, Default)]
pub struct UnitBits {
    bits: u8,
    words: Vec<u64>,
}

impl UnitBits {
    /// Returns zeroes for `units` logical units of `bits` bits (0, 1, 2, 4 or 8) each.
    pub fn new(bits: u8, units: u64) -> UnitBits {
        assert!(matches!(bits, 0 | 1 | 2 | 4 | 8), "a policy declares 0, 1, 2, 4 or 8 bits");
        UnitBits { bits, words: vec![0; (units * u64::from(bits)).div_ceil(64) as usize] }
    }

    /// Returns the number of bits declared for each unit.
    pub fn bits_per_unit(&self) -> u8 {
        self.bits
    }

    /// Returns the value of a unit.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u8 {
        let at = lpn.0 as u64 * u64::from(self.bits);
        (self.words[(at / 64) as usize] >> (at % 64)) as u8 & ((1u16 << self.bits) - 1) as u8
    }

    /// Sets the value of a unit.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, value: u8) {
        let at = lpn.0 as u64 * u64::from(self.bits);
        let mask = ((1u64 << self.bits) - 1) << (at % 64);
        let word = &mut self.words[(at / 64) as usize];
        *word = *word & !mask | u64::from(value) << (at % 64) & mask;
    }

    fn used(&self) -> impl Iterator<Item = (Lpn, u8)> + '_ {
        let bits = u64::from(self.bits.max(1));
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words
            .flat_map(move |(at, &word)| {
                let first = at as u64 * (64 / bits);
                (0..64 / bits)
                    .map(move |unit| (Lpn((first + unit) as u32), (word >> (unit * bits)) as u8 & ((1u16 << bits) - 1) as u8))
            })
            .filter(|(_, value)| *value != 0)
    }

    /// Loads the words of these units into the cache ahead of the next calls. The result only keeps the loads from
    /// being optimised away; no state changes.
    #[inline]
    pub(crate) fn look_ahead(&self, units: &[Lpn]) -> u64 {
        let bits = u64::from(self.bits);
        units.iter().fold(0, |sink, unit| sink ^ self.words.get((unit.0 as u64 * bits / 64) as usize).copied().unwrap_or(0))
    }

    /// Returns all words, for saving.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns all words, for loading.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// Share of one policy in the bits declared for each unit.
pub struct Bits<'a> {
    all: &'a mut UnitBits,
    shift: u8,
    mask: u8,
}

impl<'a> Bits<'a> {
    /// Returns the share that covers all bits.
    #[inline]
    pub(crate) fn all(all: &'a mut UnitBits) -> Bits<'a> {
        Bits { mask: ((1u16 << all.bits) - 1) as u8, all, shift: 0 }
    }

    /// Returns the value of a unit.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u8 {
        self.all.get(lpn) >> self.shift & self.mask
    }

    /// Iterates over the units whose value is not zero, in order. Words that are zero are skipped as a whole.
    pub fn used(&self) -> impl Iterator<Item = (Lpn, u8)> + '_ {
        self.all.used().map(|(lpn, all)| (lpn, all >> self.shift & self.mask)).filter(|(_, value)| *value != 0)
    }

    /// Sets the value of a unit.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, value: u8) {
        let others = self.all.get(lpn) & !(self.mask << self.shift);
        self.all.set(lpn, others | (value & self.mask) << self.shift);
    }
}

/// Share of one policy in the bytes declared for each block.
pub struct Bytes<'a> {
    all: &'a mut BlockBytes,
    from: u8,
    count: u8,
}

impl<'a> Bytes<'a> {
    /// Returns the share that covers all bytes.
    #[inline]
    pub(crate) fn all(all: &'a mut BlockBytes) -> Bytes<'a> {
        Bytes { from: 0, count: all.bytes, all }
    }

    fn range(&self) -> std::ops::Range<usize> {
        usize::from(self.from)..usize::from(self.from + self.count)
    }

    /// Returns the bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all.get(block)[self.range()]
    }

    /// Returns the bytes of a block, for changing them.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range();
        &mut self.all.get_mut(block)[range]
    }
}

/// Bytes of state for each block, as declared by a policy. The engine keeps, reports and saves them. They outlast an
/// erase: a policy that needs them cleared clears them when the block is [erased](ModePolicy::erased).
#[derive(Clone, Debug, Default)]
pub struct BlockBytes {
    bytes: u8,
    all: Vec<u8>,
}

impl BlockBytes {
    /// Returns zeroes for `blocks` blocks of `bytes` bytes each.
    pub fn new(bytes: u8, blocks: u32) -> BlockBytes {
        BlockBytes { bytes, all: vec![0; blocks as usize * usize::from(bytes)] }
    }

    /// Returns the number of bytes declared for each block.
    pub fn bytes_per_block(&self) -> u8 {
        self.bytes
    }

    fn range(&self, block: BlockId) -> std::ops::Range<usize> {
        let bytes = usize::from(self.bytes);
        block.index() * bytes..(block.index() + 1) * bytes
    }

    /// Returns the bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all[self.range(block)]
    }

    /// Returns the bytes of a block, for changing them.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range(block);
        &mut self.all[range]
    }

    /// Returns the bytes of all blocks, for saving.
    pub(crate) fn all(&self) -> &[u8] {
        &self.all
    }

    /// Returns the bytes of all blocks, for loading.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        &mut self.all
    }
}

/// Write mode and stream chosen for a host write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteAnswer {
    /// The write mode.
    pub mode: ModeId,
    /// Host stream whose frontier takes the data (below [`Needs::host_streams`]).
    pub stream: u8,
}

/// Host write that is about to be bound to one program.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// Die that takes the write.
    pub die: DieId,
    /// Logical units that the program writes together, oldest first.
    pub units: &'a [Lpn],
    /// Units of host writes still queued behind this one that the die could take: those of the whole drive where idle
    /// dies pull, otherwise those queued for the die.
    pub waiting: u64,
    /// Number of other idle dies that could take those units at once; 0 where each die has its own queue.
    pub others_idle: u32,
}

/// Answer of a policy before a die chooses its next operation.
#[derive(Clone, Copy, Debug)]
pub enum BeforeDispatch {
    /// A page that must be moved before any other operation starts.
    Urgent(PageMove),
    /// A page to be moved at once, beside other operations.
    Forced(PageMove),
    /// No move now. The instant, if there is one, at which the policy is to be called again even if nothing happens
    /// until then.
    Nothing(Option<SimTime>),
}

/// Makes the three calls that [`ModePolicy::before_dispatch`] combines, one after another.
fn before_dispatch_default<P: ModePolicy + ?Sized>(policy: &mut P, view: &mut View<'_>) -> BeforeDispatch {
    match policy.urgent(view) {
        Some(page_move) => BeforeDispatch::Urgent(page_move),
        None => match policy.forced(view) {
            Some(page_move) => BeforeDispatch::Forced(page_move),
            None => BeforeDispatch::Nothing(policy.wake_at(view)),
        },
    }
}

/// Read of a unit in flash.
#[derive(Clone, Copy, Debug)]
pub struct UnitRead {
    /// Unit that is read.
    pub lpn: Lpn,
    /// Place that is read.
    pub ppn: Ppn,
    /// Reason of the read: for the host, to complete a partly written unit, or for a relocation.
    pub reason: Reason,
}

/// Unit that has been bound to a place.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Unit that was placed.
    pub lpn: Lpn,
    /// New place of the unit.
    pub ppn: Ppn,
    /// Write mode of the data.
    pub mode: ModeId,
    /// Reason of the program.
    pub reason: Reason,
    /// Host stream of the data; none for relocated data.
    pub stream: Option<u8>,
    /// Place of the copy that is superseded; none if the unit had no copy on flash.
    pub superseded: Option<Ppn>,
}

/// Collection: a block that is being emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Block that is emptied.
    pub block: BlockId,
    /// Reason of the collection.
    pub reason: Reason,
    /// True if the collection was begun because its die was idle, not because free blocks were needed.
    pub background: bool,
    /// Number of valid units when the collection began.
    pub valid: u32,
}

/// Data that a collection is about to move with one program.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a> {
    /// Collection that moves the data.
    pub collection: Collection,
    /// Units that are moved, in the order in which they lie in the block; empty unless [`Needs::moving`] is set.
    pub units: &'a [Lpn],
}

/// Page that a policy requests to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageMove {
    /// Unit that is moved.
    pub lpn: Lpn,
    /// Present place of its data. Nothing is moved if the map points elsewhere by the time of the move.
    pub from: Ppn,
    /// Reason of the move.
    pub reason: Reason,
    /// The write mode of the new copy.
    pub mode: ModeId,
    /// Instant from which the move goes before host writes. Absent: the move always yields to host writes.
    pub deadline: Option<SimTime>,
}

/// Data that a policy requests to be moved in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// One page.
    Page(PageMove),
    /// All valid data of a block, in the mode that [`ModePolicy::relocate`] chooses; an open block is closed first.
    Block {
        /// Block that is emptied.
        block: BlockId,
        /// Reason of the move.
        reason: Reason,
    },
}

/// An idle die, and the times for which it, its channel and the drive have been idle.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Die that has nothing to do.
    pub die: DieId,
    /// Time for which the die has been idle; zero if it has only just become idle.
    pub die_for: Nanos,
    /// Channel of the die.
    pub channel: ChannelId,
    /// Time for which no die of the channel has been busy; none while one is, or while a host write waits.
    pub channel_for: Option<Nanos>,
    /// Time for which no die of the drive has been busy and no host command has arrived or completed; none while a die
    /// is busy, a host write waits, or a host command or page move is in flight.
    pub drive_for: Option<Nanos>,
}

/// Answer of a policy to a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAnswer {
    /// Read mode. Absent: the read mode that belongs to the write mode of the block.
    pub mode: Option<ModeId>,
}

/// Candidate for collection: of the closed blocks of one write mode on a die, the block with the fewest valid units.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Candidate block.
    pub block: BlockId,
    /// Number of its valid units.
    pub valid: u32,
    /// Units that the block can hold in its mode, less the valid ones.
    pub invalid: u32,
    /// Write mode of its data.
    pub mode: ModeId,
}

/// Contract of a mode policy.
pub trait ModePolicy: Send {
    /// Returns the services that the policy needs from the engine. The answer never changes.
    fn needs(&self) -> Needs;

    /// Chooses the write mode and the stream of a host write that is being dispatched. Called again for the same data
    /// if a free block had to be erased further first.
    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer;

    /// Notifies the policy that a block has been taken to be emptied.
    fn collecting(&mut self, _collection: &Collection, _view: &mut View<'_>) {}

    /// Chooses the write mode of data that a collection moves.
    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId;

    /// Notifies the policy that a unit has been bound to a place. The map points there already; the program has not
    /// completed.
    fn placed(&mut self, _placed: &Placed, _view: &mut View<'_>) {}

    /// Notifies the policy that a unit was trimmed.
    fn dropped(&mut self, _lpn: Lpn, _view: &mut View<'_>) {}

    /// Chooses the read mode of a unit in flash whose read is being issued. Called for the reads of collections only
    /// where the scope of a mode is the page.
    fn read_issued(&mut self, _read: &UnitRead, _view: &mut View<'_>) -> ReadAnswer {
        ReadAnswer::default()
    }

    /// Notifies the policy that a host read of a unit in flash is done.
    fn read_done(&mut self, _lpn: Lpn, _ppn: Ppn, _view: &mut View<'_>) {}

    /// Returns the priority of collecting a block: the candidate with the highest score is collected. Called for the
    /// closed block with the fewest valid units of each write mode. Within a mode, scores must not fall as valid units
    /// become fewer.
    fn score(&self, _candidate: &Candidate, _view: &mut View<'_>) -> f64 {
        0.0
    }

    /// Chooses the erase mode of an emptied block.
    fn erase(&mut self, _collection: &Collection, _view: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    /// Chooses the list of free blocks from which a block is taken for a write mode that can be programmed on blocks of
    /// `level` and deeper (lower) levels. There is a list for each level, and `lists` counts their blocks on the die;
    /// the chosen list must not be empty. A block of a shallower (higher) level is first [erased
    /// further](ModePolicy::lazy_erase). By default the nearest level that is deep enough, otherwise the nearest that
    /// is not. Called only where erase modes have several levels.
    fn free_list(&mut self, level: u8, lists: &[u32], _view: &mut View<'_>) -> u8 {
        nearest_free_level(level, lists)
    }

    /// Chooses the erase mode of a lazy erase: a free block must be erased further before it can be used at `level`.
    /// The mode must be of that level or deeper. Afterwards the block counts as erased in that mode in the first place,
    /// its wear included. By default the first erase mode of that level, otherwise the first of the table.
    fn lazy_erase(&mut self, _block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        view.space.erase_mode_of(level)
    }

    /// Notifies the policy that a free block has become a write frontier.
    fn opened(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// Notifies the policy that a block has been erased: it is free again or, if worn out, retired.
    fn erased(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// Returns a page that must be moved before any other operation starts. While there is one, or one is being moved,
    /// no other operation is started except a collection that makes space for the move.
    fn urgent(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Returns a page to be moved at once, beside other operations.
    fn forced(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Returns the policy's request before a die chooses its next operation: [`ModePolicy::urgent`],
    /// [`ModePolicy::forced`] and [`ModePolicy::wake_at`] in one call.
    fn before_dispatch(&mut self, view: &mut View<'_>) -> BeforeDispatch {
        before_dispatch_default(self, view)
    }

    /// Returns data to be moved in idle time. Called when a die has nothing else to do, at once or after
    /// [`Needs::idle_after`].
    fn idle(&mut self, _idle: &Idle, _view: &mut View<'_>) -> Option<Relocation> {
        None
    }

    /// Returns a page that must be moved before a graceful shutdown can end.
    fn drain(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Notifies the policy of a power failure: volatile state that it cannot save in time is lost. Declared state is
    /// saved with the map, however long that takes. By default the policy loses nothing and reports nothing.
    fn power_fails(&mut self, _view: &mut View<'_>) -> Option<Backup> {
        None
    }

    /// Returns the instant at which [`ModePolicy::urgent`] and [`ModePolicy::forced`] are to be called again even if
    /// nothing happens until then.
    fn wake_at(&self, _view: &mut View<'_>) -> Option<SimTime> {
        None
    }

    /// Notifies the policy that it now runs a drive that may hold data, so that it can derive its state from the store.
    /// Its declared state is as it left it if the drive was loaded and had been run by the same policy, and zero
    /// otherwise.
    fn adopt(&mut self, _view: &mut View<'_>) {}

    /// Returns the age, counted from its first program, at which a block written in this mode is moved whole, for
    /// [`Reason::Reprogram`], as soon as its die has nothing else to do; none: never. Retention limits are kept in any
    /// case. The answer never changes.
    fn move_after(&self, _mode: ModeId) -> Option<Nanos> {
        None
    }

    /// Returns the write modes that the policy chooses among. Where policies are combined, a policy decides on the
    /// properties in which these modes differ, such as the retention limit or the level of erase. By default the mode
    /// of old data alone, so that the policy decides on nothing. The answer never changes.
    fn uses(&self) -> Vec<ModeId> {
        vec![self.mode_of_old_data()]
    }

    /// Returns the write mode in which data older than the run counts as written.
    fn mode_of_old_data(&self) -> ModeId;

    /// Saves or loads the state that the policy keeps beside its declared state and its counters for the results. The
    /// same list of values serves both directions: `archive` reads them when the drive is saved, and fills them when
    /// the drive is loaded under the same policy, so that the run goes on exactly.
    fn state(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Returns true if [`ModePolicy::state`] lists everything that the policy's decisions depend on. Otherwise the
    /// policy adopts a loaded drive as it finds it.
    fn is_saved_whole(&self) -> bool {
        true
    }

    /// Returns true if the policy needs the future accesses of the workload ([`ModePolicy::set_future`]).
    fn wants_future(&self) -> bool {
        false
    }

    /// Passes the accesses of the workload that begins at `start`, as recorded in an earlier run of it.
    fn set_future(&mut self, _future: &Arc<Future>, _start: SimTime) {}

    /// Returns the policy's counters and other figures by name, for the results.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Returns the figures of [`ModePolicy::stats`] with owned names, for policies whose names are made at run time: a
    /// user's own, or those of combined policies.
    fn named_stats(&self) -> Vec<(String, f64)> {
        self.stats().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the error that keeps the policy from going on; the run then ends with it. A member of the family never
    /// fails; for other policies see [`checked`].
    fn failure(&self) -> Option<Problem> {
        None
    }

    /// Returns true if the run was stopped during a decision of the policy, by the user for instance; it then ends with
    /// the results measured so far.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Returns the nearest level with free blocks that is deep enough, otherwise the nearest that is not.
fn nearest_free_level(level: u8, lists: &[u32]) -> u8 {
    let has = |at: &u8| lists[usize::from(*at)] > 0;
    let deep_enough = (0..=level.min(lists.len() as u8 - 1)).rev().find(has);
    deep_enough.or_else(|| (level + 1..lists.len() as u8).find(has)).unwrap_or(level)
}

/// Contract of the parameters of a member.
pub trait Member {
    /// Returns the write modes that the member requires, each with the parameter that names it (empty if the name is
    /// fixed). The `normal` mode always exists.
    fn modes(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// Returns what is wrong with parameters that are each within their range, with the name of the parameter at fault.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Declares the family: the parameters of every member and the choice of one by `[policy] kind = "..."`. Each member's
/// parameters are in a table of its name, so that several policies can be compared on one description.
#[macro_export]
macro_rules! policy_family {
    ($($module:ident),+ ; over all: $($whole:ident),+ $(,)?) => {
        /// The `[policy]` section of a drive's description.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct PolicyConfig {
            /// Name of the member that runs the drive.
            #[serde(default = "default_kind")]
            pub kind: String,
            $(
                #[doc = concat!("Parameters of `", stringify!($module), "`.")]
                #[serde(default)]
                pub $module: $module::Params,
            )+
            $(
                #[doc = concat!("Parameters of `", stringify!($whole), "`.")]
                #[serde(default)]
                pub $whole: $whole::Params,
            )+
        }

        impl Default for PolicyConfig {
            fn default() -> Self {
                PolicyConfig {
                    kind: default_kind(),
                    $($module: $module::Params::default(),)+
                    $($whole: $whole::Params::default()),+
                }
            }
        }

        impl PolicyConfig {
            /// Names of all members.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+ $(stringify!($whole)),+];

            /// Builds the chosen member; `None` for a name that is not listed.
            pub fn build(&self, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if self.kind == stringify!($whole) {
                    return $whole::build(self, facts);
                })+
                self.member(&self.kind, facts)
            }

            /// Builds a member by its name, unless it is made of other members.
            pub fn member(&self, name: &str, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if name == stringify!($module) {
                    return Some($module::build(&self.$module, facts));
                })+
                None
            }

            /// Returns the write modes that the chosen member requires: the field that names each (empty if the name is
            /// fixed), and the name.
            pub fn modes(&self) -> Vec<(String, String)> {
                self.modes_of(&self.kind)
            }

            /// Returns the write modes that a member requires, like [`modes`](Self::modes), but by its name.
            pub fn modes_of(&self, kind: &str) -> Vec<(String, String)> {
                let modes = match kind {
                    $(kind if kind == stringify!($module) => self.$module.modes(),)+
                    _ => Vec::new(),
                };
                let field = |field: &str| if field.is_empty() { String::new() } else { format!("policy.{kind}.{field}") };
                modes.into_iter().map(|(at, name)| (field(at), name.to_owned())).collect()
            }

            /// Returns what is wrong with the parameters of the members, chosen or not, with the field of each problem.
            pub fn problems(&self) -> Vec<(String, String)> {
                let mut found = Vec::new();
                $(for (field, what) in self.$module.problems() {
                    found.push((format!("policy.{}.{field}", stringify!($module)), what));
                })+
                found
            }

            /// Returns each member's name and its one-line description (its `SUMMARY`).
            pub fn summaries() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($module), $module::SUMMARY),)+ $((stringify!($whole), $whole::SUMMARY)),+]
            }
        }
    };
}

fn default_kind() -> String {
    "baseline".to_owned()
}

policy_family! {
    baseline,
    separate,
    ofwar,
    all_fast,
    rr_speed,
    rr_ecc,
    bch_ldpc,
    agcr,
    queue_driven,
    traditional,
    hcw_lcr,
    lcw_hcr,
    autoftl,
    autoftl_minus,
    wear_adaptive,
    slc_cache,
    margin,
    clairvoyant;
    over all: combine,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_bits_hold_their_values() {
        for bits in [1u8, 2, 4, 8] {
            let mut state = UnitBits::new(bits, 1000);
            let value = |unit: u32| (unit * 7 % 256) as u8 & ((1u16 << bits) - 1) as u8;
            (0..1000).for_each(|unit| state.set(Lpn(unit), value(unit)));
            assert!((0..1000).all(|unit| state.get(Lpn(unit)) == value(unit)), "{bits} bits");
            let used: Vec<(u32, u8)> = state.used().map(|(unit, value)| (unit.0, value)).collect();
            let expected: Vec<(u32, u8)> = (0..1000).map(|unit| (unit, value(unit))).filter(|(_, value)| *value > 0).collect();
            assert_eq!(used, expected, "{bits} bits");
        }
    }

    #[test]
    fn declared_bytes_belong_to_one_block_each() {
        let mut state = BlockBytes::new(3, 10);
        state.get_mut(BlockId(4)).copy_from_slice(&[1, 2, 3]);
        assert_eq!(
            (state.get(BlockId(4)), state.get(BlockId(5)), state.get(BlockId(9))),
            (&[1, 2, 3][..], &[0; 3][..], &[0; 3][..])
        );
        assert!(BlockBytes::new(0, 10).get(BlockId(9)).is_empty());
    }

    #[test]
    fn an_unknown_member_is_not_built() {
        let facts = Facts::example();
        assert!(PolicyConfig { kind: "basline".to_owned(), ..PolicyConfig::default() }.build(&facts).is_none());
        for name in PolicyConfig::NAMES {
            let policy = PolicyConfig { kind: (*name).to_owned(), ..PolicyConfig::default() }.build(&facts).expect("listed");
            assert!(policy.needs().host_streams >= 1, "{name} needs a frontier for host data");
            assert!(policy.mode_of_old_data().index() < 2, "{name}");
        }
    }
}
