//! Family: mode policies. Which write, erase or read mode one operation gets, and what is moved for it.
//!
//! A policy is called when a write is dispatched; when data has been placed (written or moved), overwritten or trimmed; when a read is issued or
//! done; when a victim is to be chosen, has been taken, and is moved page by page; when a free block is wanted, opened or erased; when a die has
//! nothing else to do; and when a timer it asked for fires. It sees a [`View`]. [`Needs`] says which of the frequent calls it wants, so that the
//! others cost nothing.
//!
//! Binding is late: a host write's mode is asked for when an idle die takes it, never on arrival.

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

/// What a policy needs of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Write frontiers on each die for host data; relocations have their own behind them if the drive separates them.
    pub host_streams: u8,
    /// Bits of declared state for each logical unit.
    pub bits_per_unit: u8,
    /// Bytes of declared state for each block.
    pub bytes_per_block: u8,
    /// Wants [`ModePolicy::placed`].
    pub placed: bool,
    /// Wants [`ModePolicy::dropped`].
    pub dropped: bool,
    /// Wants [`ModePolicy::opened`] and [`ModePolicy::erased`].
    pub blocks: bool,
    /// Wants [`ModePolicy::read_issued`].
    pub reads: bool,
    /// Wants [`ModePolicy::read_done`].
    pub reads_done: bool,
    /// Wants [`ModePolicy::score`] instead of the victim rule.
    pub scores: bool,
    /// Wants [`ModePolicy::urgent`], [`ModePolicy::idle`] and [`ModePolicy::drain`].
    pub moves: bool,
    /// Of these, wants [`ModePolicy::idle`] alone: the others are asked whenever a die chooses what to do next.
    pub idle_only: bool,
    /// Wants [`ModePolicy::idle`] only when a die has been idle for so long.
    pub idle_after: Nanos,
    /// Its first host stream is not written in the mode of relocations: the two cannot share a frontier.
    pub relocations_apart: bool,
    /// The scope of a mode is the page: a block holds data of several write modes. The engine then keeps blocks as written in
    /// [`ModePolicy::mode_of_old_data`], with the shortest retention limit of all modes; the policy remembers each page's mode and answers for its reads.
    pub page_scope: bool,
    /// Wants to know the units in [`Moving::units`].
    pub moving: bool,
    /// Its [`ModePolicy::erase`] chooses among erase modes.
    pub erases: bool,
    /// Asks for the age of what a host write replaces: [`Store::first_program`] of its block is loaded ahead.
    pub ages: bool,
}

/// Fixed facts that a policy is built with.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Names of the write modes, in the order of their ids.
    pub write_modes: Vec<String>,
    /// Names of the erase modes, in the order of their ids.
    pub erase_modes: Vec<String>,
    /// Retention limit of each write mode at the wear that the description states; none: without limit.
    pub retention: Vec<Option<Nanos>>,
    /// Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; none: without limit.
    pub retention_by_wear: Vec<Vec<Nanos>>,
    /// Program time of each write mode, as a multiple of the nominal.
    pub program_scales: Vec<f64>,
    /// Time that the encoder of each write mode takes for one unit; zero without one.
    pub encode_times: Vec<Nanos>,
    /// The shallowest level of erase on which each write mode can be programmed.
    pub write_levels: Vec<u8>,
    /// Units that a block holds in each write mode.
    pub block_units: Vec<u32>,
    /// The encoder of each write mode, counted from 1; 0 without.
    pub codes: Vec<u8>,
    /// The level of each erase mode: 0 is the deepest.
    pub erase_levels: Vec<u8>,
    /// Wear of an erase in each erase mode on a fresh block, in nominal erases.
    pub erase_wear: Vec<f64>,
    /// Erase time of each erase mode, as a multiple of tBERS.
    pub erase_scales: Vec<f64>,
    /// Names of the read modes, in the order of their ids.
    pub read_modes: Vec<String>,
    /// The read mode that data of each write mode needs.
    pub read_mode_of: Vec<ModeId>,
    /// A read's sensing and transfers in each read mode.
    pub read_times: Vec<Nanos>,
    /// Cycles a block is rated for.
    pub rated_pe_cycles: u32,
    /// tR + tPROG in the `normal` mode: what moving one program unit costs a die.
    pub move_time: Nanos,
    /// What each page that is moved takes of the whole drive: of its dies or of its channels, whichever take longer.
    pub page_move_share: Nanos,
    /// How long before its limit data is moved by the drive itself (`ftl.retention_margin`).
    pub retention_margin: Nanos,
    /// tPROG in the `normal` mode.
    pub program_time: Nanos,
    /// tBERS in the first erase mode.
    pub erase_time: Nanos,
    /// Units that one program writes.
    pub units_per_program: u32,
    /// Blocks of a die.
    pub blocks_per_die: u32,
    /// Dies in the drive.
    pub die_count: u32,
    /// Logical units.
    pub user_units: u64,
}

impl Facts {
    /// A small drive with two write modes, for tests.
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

    /// The write mode called `name`, or the first one.
    pub fn write_mode(&self, name: &str) -> ModeId {
        ModeId(self.write_modes.iter().position(|mode| mode == name).unwrap_or(0) as u8)
    }
}

/// The declared state of one of several policies: its bits of each unit and its bytes of each block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    bit: u8,
    mask: u8,
    byte: u8,
    bytes: u8,
}

impl Part {
    /// The `bits` from `bit` on of each unit, the `bytes` from `byte` on of each block.
    pub fn new((bit, bits): (u8, u8), (byte, bytes): (u8, u8)) -> Part {
        Part { bit, mask: ((1u16 << bits) - 1) as u8, byte, bytes }
    }
}

/// What a policy may look at, and its declared state.
pub struct View<'a> {
    /// The time now.
    pub now: SimTime,
    /// Queue lengths, buffer fill, busy dies.
    pub signals: &'a Signals,
    /// Map, validity, modes, wear and ages of blocks.
    pub store: &'a Store,
    pub(crate) space: &'a Space,
    pub(crate) writes: &'a WriteQueue,
    /// The bits it declared for each logical unit.
    pub bits: Bits<'a>,
    /// The bytes it declared for each block.
    pub block_bytes: Bytes<'a>,
}

impl View<'_> {
    /// Calls a policy that is one of several, to which the declared state is its own part of it. The view is narrowed where it is: a copy would read in wide
    /// words what has just been written in narrow ones.
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

    /// Where the copy of a unit on flash is, also while a newer one waits in the write buffer: then [`Store::place_of`] has none.
    #[inline]
    pub fn copy_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        self.writes.copy_on_flash(self.store, lpn)
    }

    /// Free blocks of a die.
    pub fn free_blocks(&self, die: DieId) -> u32 {
        self.space.free_blocks(die)
    }

    /// Free blocks of a die by the level of their last erase.
    pub fn free_by_level(&self, die: DieId) -> Vec<u32> {
        self.space.free_by_level(die)
    }

    /// How full the write buffer is, 0 to 1; where there is none, 0.
    pub fn buffer_utilisation(&self) -> f64 {
        match self.signals.buffer_capacity_pages {
            0 => 0.0,
            capacity => self.signals.buffered_pages as f64 / capacity as f64,
        }
    }
}

/// Bits of state for each logical unit, as a policy declared them; kept, reported and saved by the engine.
#[derive(Clone, Debug, Default)]
pub struct UnitBits {
    bits: u8,
    words: Vec<u64>,
}

impl UnitBits {
    /// Zeroes for `units` logical units of `bits` bits (0, 1, 2, 4 or 8) each.
    pub fn new(bits: u8, units: u64) -> UnitBits {
        assert!(matches!(bits, 0 | 1 | 2 | 4 | 8), "a policy declares 0, 1, 2, 4 or 8 bits");
        UnitBits { bits, words: vec![0; (units * u64::from(bits)).div_ceil(64) as usize] }
    }

    /// Bits declared for each unit.
    pub fn bits_per_unit(&self) -> u8 {
        self.bits
    }

    /// The value of a unit.
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

    /// Loads what the next calls for these units will need; the result is dropped and no state changes.
    #[inline]
    pub(crate) fn look_ahead(&self, units: &[Lpn]) -> u64 {
        let bits = u64::from(self.bits);
        units.iter().fold(0, |sink, unit| sink ^ self.words.get((unit.0 as u64 * bits / 64) as usize).copied().unwrap_or(0))
    }

    /// All words, for saving.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words, for loading.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// A policy's own among the bits declared for each unit.
pub struct Bits<'a> {
    all: &'a mut UnitBits,
    shift: u8,
    mask: u8,
}

impl<'a> Bits<'a> {
    /// All of them.
    #[inline]
    pub(crate) fn all(all: &'a mut UnitBits) -> Bits<'a> {
        Bits { mask: ((1u16 << all.bits) - 1) as u8, all, shift: 0 }
    }

    /// The value of a unit.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u8 {
        self.all.get(lpn) >> self.shift & self.mask
    }

    /// The units whose value is not zero, in order. Takes no longer where most are zero.
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

/// A policy's own among the bytes declared for each block.
pub struct Bytes<'a> {
    all: &'a mut BlockBytes,
    from: u8,
    count: u8,
}

impl<'a> Bytes<'a> {
    /// All of them.
    #[inline]
    pub(crate) fn all(all: &'a mut BlockBytes) -> Bytes<'a> {
        Bytes { from: 0, count: all.bytes, all }
    }

    fn range(&self) -> std::ops::Range<usize> {
        usize::from(self.from)..usize::from(self.from + self.count)
    }

    /// The bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all.get(block)[self.range()]
    }

    /// The bytes of a block, to be changed.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range();
        &mut self.all.get_mut(block)[range]
    }
}

/// Bytes of state for each block, as a policy declared them; kept, reported and saved by the engine. They outlast an erase: a policy that wants them
/// cleared does so when the block is [erased](ModePolicy::erased).
#[derive(Clone, Debug, Default)]
pub struct BlockBytes {
    bytes: u8,
    all: Vec<u8>,
}

impl BlockBytes {
    /// Zeroes for `blocks` blocks of `bytes` bytes each.
    pub fn new(bytes: u8, blocks: u32) -> BlockBytes {
        BlockBytes { bytes, all: vec![0; blocks as usize * usize::from(bytes)] }
    }

    /// Bytes declared for each block.
    pub fn bytes_per_block(&self) -> u8 {
        self.bytes
    }

    fn range(&self, block: BlockId) -> std::ops::Range<usize> {
        let bytes = usize::from(self.bytes);
        block.index() * bytes..(block.index() + 1) * bytes
    }

    /// The bytes of a block.
    pub fn get(&self, block: BlockId) -> &[u8] {
        &self.all[self.range(block)]
    }

    /// The bytes of a block, to be changed.
    pub fn get_mut(&mut self, block: BlockId) -> &mut [u8] {
        let range = self.range(block);
        &mut self.all[range]
    }

    /// The bytes of all blocks, for saving.
    pub(crate) fn all(&self) -> &[u8] {
        &self.all
    }

    /// The bytes of all blocks, for loading.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        &mut self.all
    }
}

/// How data is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteAnswer {
    /// The write mode.
    pub mode: ModeId,
    /// The host stream whose frontier takes it (below [`Needs::host_streams`]).
    pub stream: u8,
}

/// A program of host data that is about to be bound.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// The die that takes it.
    pub die: DieId,
    /// The logical units that it writes together, oldest first.
    pub units: &'a [Lpn],
    /// Units of host writes that this die could take after it: those of the whole drive where idle dies pull.
    pub waiting: u64,
    /// Other dies that have nothing to do and could take those at once; 0 where each die has its own.
    pub others_idle: u32,
}

/// What a policy wants before a die chooses what to do next.
#[derive(Clone, Copy, Debug)]
pub enum BeforeDispatch {
    /// A page that must be moved before anything else starts.
    Urgent(PageMove),
    /// A page to be moved at once.
    Forced(PageMove),
    /// Nothing now; it may want to be asked again at some time although nothing happens.
    Nothing(Option<SimTime>),
}

/// The three calls that [`ModePolicy::before_dispatch`] stands for.
fn in_turn<P: ModePolicy + ?Sized>(policy: &mut P, view: &mut View<'_>) -> BeforeDispatch {
    match policy.urgent(view) {
        Some(page_move) => BeforeDispatch::Urgent(page_move),
        None => match policy.forced(view) {
            Some(page_move) => BeforeDispatch::Forced(page_move),
            None => BeforeDispatch::Nothing(policy.wake_at(view)),
        },
    }
}

/// A read of a unit in flash.
#[derive(Clone, Copy, Debug)]
pub struct UnitRead {
    /// The unit.
    pub lpn: Lpn,
    /// Its place.
    pub ppn: Ppn,
    /// Why: for the host, or for something that is moved or completed.
    pub reason: Reason,
}

/// Data that has found its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The unit.
    pub lpn: Lpn,
    /// Its place.
    pub ppn: Ppn,
    /// The write mode.
    pub mode: ModeId,
    /// Why it was written.
    pub reason: Reason,
    /// The host stream it was written through; none for relocated data.
    pub stream: Option<u8>,
    /// The place that it supersedes; none if the unit had none on flash.
    pub superseded: Option<Ppn>,
}

/// A collection: a block that is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// The block.
    pub block: BlockId,
    /// Why.
    pub reason: Reason,
    /// It was begun because its die was idle, not because somebody needs its space.
    pub background: bool,
    /// Units that were valid when it began.
    pub valid: u32,
}

/// Data that a collection is about to move with one program.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a> {
    /// The collection.
    pub collection: Collection,
    /// The units, oldest first; empty unless [`Needs::moving`].
    pub units: &'a [Lpn],
}

/// A page that a policy wants moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageMove {
    /// The unit.
    pub lpn: Lpn,
    /// Where its data is; nothing is moved if the map points elsewhere by then.
    pub from: Ppn,
    /// Why.
    pub reason: Reason,
    /// The write mode of the new copy.
    pub mode: ModeId,
    /// From then on it goes before host writes. Absent: whenever no host write waits.
    pub deadline: Option<SimTime>,
}

/// What a policy wants moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// One page.
    Page(PageMove),
    /// All that a closed block still holds, in the mode that [`ModePolicy::relocate`] answers.
    Block {
        /// The block.
        block: BlockId,
        /// Why.
        reason: Reason,
    },
}

/// Who is idle, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// The die that has nothing to do.
    pub die: DieId,
    /// For how long.
    pub die_for: Nanos,
    /// Its channel.
    pub channel: ChannelId,
    /// For how long no die of the channel has worked; none while one does, or a host write waits.
    pub channel_for: Option<Nanos>,
    /// For how long no die of the drive has worked and no host command was in flight; none while there is either.
    pub drive_for: Option<Nanos>,
}

/// How a unit is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAnswer {
    /// The read mode. Absent: the one that the block's write mode names.
    pub mode: Option<ModeId>,
}

/// A candidate for collection: the best of its write mode.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The block.
    pub block: BlockId,
    /// Its valid units.
    pub valid: u32,
    /// What else it could hold in its mode.
    pub invalid: u32,
    /// The write mode of its data.
    pub mode: ModeId,
}

/// The contract of a mode policy.
pub trait ModePolicy: Send {
    /// What it needs of the engine. Constant over its life.
    fn needs(&self) -> Needs;

    /// A host write is dispatched: in which mode, through which stream. Asked again for the same data if a block had to be erased further for it first.
    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer;

    /// A block has been taken to be emptied.
    fn collecting(&mut self, _collection: &Collection, _view: &mut View<'_>) {}

    /// Data is moved by a collection: in which mode.
    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId;

    /// Data has found its place; the map points there.
    fn placed(&mut self, _placed: &Placed, _view: &mut View<'_>) {}

    /// A unit was trimmed.
    fn dropped(&mut self, _lpn: Lpn, _view: &mut View<'_>) {}

    /// A read of a unit in flash is issued: in which read mode. Of what collections read only where the scope of a mode is the page.
    fn read_issued(&mut self, _read: &UnitRead, _view: &mut View<'_>) -> ReadAnswer {
        ReadAnswer::default()
    }

    /// A host read of a unit in flash is done.
    fn read_done(&mut self, _lpn: Lpn, _ppn: Ppn, _view: &mut View<'_>) {}

    /// How much the block should be collected now: the greatest score wins. Asked for the least-valid closed block of each write mode; scores must
    /// not fall as valid units become fewer within a mode.
    fn score(&self, _candidate: &Candidate, _view: &mut View<'_>) -> f64 {
        0.0
    }

    /// An emptied block is about to be erased: in which erase mode.
    fn erase(&mut self, _collection: &Collection, _view: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    /// A free block is wanted for data in a write mode that can be programmed on blocks of `level` and deeper (lower) ones: from which level's list it is
    /// taken, of those where `lists` counts blocks on the die. From a shallower (higher) one it is first [erased further](ModePolicy::lazy_erase). By default the
    /// nearest level that is deep enough, or else the nearest that is not. Asked only where erase modes have several levels.
    fn free_list(&mut self, level: u8, lists: &[u32], _view: &mut View<'_>) -> u8 {
        nearest_list(level, lists)
    }

    /// A free block must be erased further before it can be used at `level`: as if in which erase mode, of those of that level or deeper. Its wear becomes
    /// that mode's. By default the first of that level, or else the first of the table.
    fn lazy_erase(&mut self, _block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        view.space.erase_mode_of(level)
    }

    /// A free block has become a write frontier.
    fn opened(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// A block has been erased and is free again, or, worn out, retired.
    fn erased(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// A page that must be moved before anything else starts. While there is one, or one of these is under way, nothing else is started.
    fn urgent(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// A page to be moved at once, but without stopping anything else.
    fn forced(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// What is to be done before a die chooses what to do next: [`ModePolicy::urgent`], [`ModePolicy::forced`] and [`ModePolicy::wake_at`] in one call.
    fn before_dispatch(&mut self, view: &mut View<'_>) -> BeforeDispatch {
        in_turn(self, view)
    }

    /// What is to be moved while somebody is idle. Asked when a die has nothing else to do, at once or after [`Needs::idle_after`].
    fn idle(&mut self, _idle: &Idle, _view: &mut View<'_>) -> Option<Relocation> {
        None
    }

    /// The drive is shutting down gracefully: a page that must be moved first.
    fn drain(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Power fails: what it keeps in volatile memory and cannot save in time is lost. What it declared is saved with the map, whatever that takes. By default
    /// it loses nothing, and has nothing to say of it.
    fn power_fails(&mut self, _view: &mut View<'_>) -> Option<Backup> {
        None
    }

    /// When it wants to be asked again ([`ModePolicy::urgent`], [`ModePolicy::forced`]) although nothing happens.
    fn wake_at(&self, _view: &mut View<'_>) -> Option<SimTime> {
        None
    }

    /// It now runs a drive that holds data: it learns from the store what it needs. What it declared is as it left it if the drive was loaded and had been
    /// run by the same policy, and zero otherwise.
    fn adopt(&mut self, _view: &mut View<'_>) {}

    /// How long after its first program a block written in this mode is moved whole, for [`Reason::Reprogram`], whenever its die has nothing else to
    /// do. Constant over its life. Retention limits hold all the same.
    fn move_after(&self, _mode: ModeId) -> Option<Nanos> {
        None
    }

    /// The write modes that it chooses among. Where policies are combined it decides on what differs among them, such as how long data is kept, or how deeply
    /// blocks are erased for it. By default the one of old data alone, and so on nothing. Constant over its life.
    fn uses(&self) -> Vec<ModeId> {
        vec![self.mode_of_old_data()]
    }

    /// The write mode that data older than the run was written in.
    fn mode_of_old_data(&self) -> ModeId;

    /// What it keeps beside what it declared and what it counts for the results, in one list for both directions: `archive` reads it when the drive is
    /// saved, and fills it when the drive is loaded under the same policy, so that the drive goes on exactly.
    fn state(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Whether [`ModePolicy::state`] lists all that its decisions depend on. If not, a drive that is loaded adopts what it finds.
    fn is_saved_whole(&self) -> bool {
        true
    }

    /// Whether it wants to be told what is to come ([`ModePolicy::foresee`]).
    fn wants_future(&self) -> bool {
        false
    }

    /// The accesses of the workload that begins at `start`, as a run of it was recorded.
    fn foresee(&mut self, _future: &Arc<Future>, _start: SimTime) {}

    /// Its numbers, by name, for the results.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The same of a policy whose numbers have names of its user's making.
    fn named_stats(&self) -> Vec<(String, f64)> {
        self.stats().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What went wrong in it, if it cannot go on: the run then ends with that. A member of the family never fails; for others, see [`checked`].
    fn failure(&self) -> Option<Problem> {
        None
    }

    /// Whether somebody stopped the run while it decided: it then ends with what has been measured.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The nearest level that is deep enough, or else the nearest that is not, of those with free blocks.
fn nearest_list(level: u8, lists: &[u32]) -> u8 {
    let has = |at: &u8| lists[usize::from(*at)] > 0;
    let deep_enough = (0..=level.min(lists.len() as u8 - 1)).rev().find(has);
    deep_enough.or_else(|| (level + 1..lists.len() as u8).find(has)).unwrap_or(level)
}

/// What every member's parameters are.
pub trait Member {
    /// Write modes that it asks for, each with the parameter that names it (empty: its name is fixed). The `normal` one is always there.
    fn modes(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// What is wrong with its parameters although each is in its range, with the one that it is wrong with.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The parameters of every member, and which one is chosen: `[policy] kind = "..."`, with each member's parameters in a table of its name, so that
/// several policies can be compared on one description.
#[macro_export]
macro_rules! policy_family {
    ($($module:ident),+ ; over all: $($whole:ident),+ $(,)?) => {
        /// The `[policy]` section of a drive's description.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct PolicyConfig {
            /// The member that runs the drive.
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
            /// The names of all members.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+ $(stringify!($whole)),+];

            /// The chosen member; `None` for a name that is not listed.
            pub fn build(&self, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if self.kind == stringify!($whole) {
                    return $whole::build(self, facts);
                })+
                self.member(&self.kind, facts)
            }

            /// A member by its name, of those that are not made of others.
            pub fn member(&self, name: &str, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if name == stringify!($module) {
                    return Some($module::build(&self.$module, facts));
                })+
                None
            }

            /// The write modes that the chosen member asks for: the field that names each (empty: it is fixed), and the name.
            pub fn modes(&self) -> Vec<(String, String)> {
                self.modes_of(&self.kind)
            }

            /// The same of a member by its name.
            pub fn modes_of(&self, kind: &str) -> Vec<(String, String)> {
                let modes = match kind {
                    $(kind if kind == stringify!($module) => self.$module.modes(),)+
                    _ => Vec::new(),
                };
                let field = |field: &str| if field.is_empty() { String::new() } else { format!("policy.{kind}.{field}") };
                modes.into_iter().map(|(at, name)| (field(at), name.to_owned())).collect()
            }

            /// What is wrong with the parameters of members, with the field of each; whether they are chosen or not.
            pub fn problems(&self) -> Vec<(String, String)> {
                let mut found = Vec::new();
                $(for (field, what) in self.$module.problems() {
                    found.push((format!("policy.{}.{field}", stringify!($module)), what));
                })+
                found
            }

            /// What each member is, in one line: the first sentence of its parameters' documentation.
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
