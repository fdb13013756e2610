//! The FTL's part of a saved drive, written at rest.
//!
//! The large tables are written as they are in memory: reverse map (without what is computed), validity, block records,
//! wear, ages, and the state that the policy declared. Everything else that can affect the next command is an
//! [`Image`]. The map itself is rebuilt from the reverse map and the waiting units of the write buffer.
//!
//! A drive of the same description, policy and seed restores all of it ([`Ftl::restore`]) and continues exactly. Any
//! other drive of the same shape adopts the data ([`Ftl::take_over`]): the contents of the blocks, which of them are
//! open, being collected or free, and how worn they are.

mod check;

use crate::counters::FtlCounters;
use crate::layer::page_map::collector::Collector;
use crate::layer::page_map::ftl::{Ftl, Health, State};
use crate::layer::page_map::moves::PageMoves;
use crate::layer::page_map::retention::RetentionImage;
use crate::map::{Mapped, Origin, OriginImage, SLOT_BASE, Store, decode, encode};
use crate::map_cache::MapCacheImage;
use crate::medium::BlockState;
use crate::medium::integrity::Integrity;
use crate::medium::rain::Rain;
use crate::medium::space::{AllocationClass, SpaceImage, Target};
use crate::queue::WritesImage;
use crate::queue::idle::IdleImage;
use crate::read_cache::ReadCacheImage;
use kit::archive::{read_value, require, unreadable, write_value};
use kit::{Archive, BlockId, DieId, HostUnit, Lpn, ModeId, Outbox, Ppn, Reason, Rng, SimTime};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// Names of the numbers that must agree with the description into which a saved state is loaded.
const NAMES: [&str; 8] = [
    "blocks",
    "mapping units per block",
    "mapping units per program",
    "blocks per die",
    "user mapping units",
    "mapping units of the map",
    "write modes",
    "erase modes",
];

/// State of an FTL at rest that can affect the next command, except for the large tables.
#[derive(Serialize, Deserialize)]
struct Image {
    counters: FtlCounters,
    /// The closed blocks of each die, in the order of closing.
    closed: Vec<Vec<u32>>,
    space: SpaceImage,
    retention: RetentionImage,
    integrity: Option<Box<Integrity>>,
    rng: Rng,
    collectors: Vec<Collector>,
    moves: PageMoves,
    writes: WritesImage,
    cache: Option<ReadCacheImage>,
    map_cache: Option<MapCacheImage>,
    map_had_turn: Vec<bool>,
    idle: IdleImage,
    idle_since: Vec<SimTime>,
    idle_armed: [Vec<bool>; 2],
    arrivals: u32,
    flush_until: u64,
    policy_armed: Option<SimTime>,
    worn_out: Option<DieId>,
    /// Blocks that have failed and still hold data.
    bad: Vec<u32>,
    /// Lost dies, and the failures so far.
    repairs: (Vec<bool>, Health),
    /// Sets of blocks with parity.
    rain: Option<Box<Rain>>,
}

/// State of a policy: what it declared, and what [`ModePolicy::state`](crate::policy::ModePolicy::state) lists.
#[derive(Serialize, Deserialize)]
struct PolicyImage {
    bits_per_unit: u8,
    bits: Vec<u64>,
    bytes_per_block: u8,
    bytes: Vec<u8>,
    own: Vec<u8>,
}

/// A loaded state. Its tables are already in the drive; the other parts wait to be restored or taken over.
pub struct Loaded {
    image: Image,
    policy: PolicyImage,
}

/// Reads the origin of the places of a drive of the size of `store`.
pub(super) fn read_origin(store: &Store, from: &mut dyn Read) -> Result<Option<Origin>, String> {
    let image: Option<OriginImage> = read_value(from).map_err(unreadable)?;
    image.map(|image| Origin::restore(image, store.medium.geometry, store.user_units)).transpose()
}

impl Ftl {
    /// Returns the numbers of this drive to which [`NAMES`] refers.
    fn shape_numbers(&self) -> [u64; NAMES.len()] {
        let g = &self.state.store.medium.geometry;
        let modes = self.derived.parameters.facts.write_modes.len() as u64;
        let erase_modes = self.derived.parameters.facts.erase_modes.len() as u64;
        let per_die = g.blocks_per_die.into();
        [
            g.block_count.into(),
            g.units_per_block.into(),
            g.units_per_program.into(),
            per_die,
            self.state.store.user_units,
            self.state.store.all_units - self.state.store.user_units,
            modes,
            erase_modes,
        ]
    }

    /// Writes the state of a drive at rest.
    pub fn save(&mut self, to: &mut dyn Write) -> std::io::Result<()> {
        write_value(&self.shape_numbers(), to)?;
        let store = &self.state.store;
        write_value(&store.places.image(), to)?;
        store.places.save(to)?;
        to.write_all(bytemuck::cast_slice(store.medium.valid.as_slice()))?;
        store.medium.write_tables(to)?;
        write_value(&self.image(), to)?;
        let mut own = Archive::saving();
        self.state.policy.state(&mut own).and_then(|()| own.finish()).map_err(std::io::Error::other).and_then(|own| {
            let policy = PolicyImage {
                bits_per_unit: self.state.bits.bits_per_unit(),
                bits: self.state.bits.words().to_vec(),
                bytes_per_block: self.state.block_bytes.bytes_per_block(),
                bytes: self.state.block_bytes.all().to_vec(),
                own,
            };
            write_value(&policy, to)
        })
    }

    /// Returns the state for saving. All fields are listed by name, so that a new one is not forgotten.
    fn image(&self) -> Image {
        let State {
            // Written as tables.
            store,
            counters,
            space,
            retention,
            rng,
            collectors,
            moves,
            writes,
            cache,
            map_cache,
            map_had_turn,
            idle_since,
            idle_armed,
            policy_armed,
            worn_out,
            // The policy and what it declared have an image of their own.
            policy: _,
            bits: _,
            block_bytes: _,
            // Begins anew in the next run.
            metadata: _,
            // A drive with a journal is not saved.
            journal: _,
            // Nor is one that protects paired pages.
            paired: _,
            repairs,
            rain,
        } = &self.state;
        assert!(!writes.gate.is_open && store.medium.is_at_rest(), "the drive is at rest");
        Image {
            counters: counters.clone(),
            closed: store.medium.closed_lists(),
            space: space.image(),
            retention: retention.image(),
            integrity: store.medium.integrity.clone(),
            rng: rng.clone(),
            collectors: collectors.clone(),
            moves: moves.clone(),
            writes: writes.queue.image(),
            cache: cache.as_ref().map(|cache| cache.image()),
            map_cache: map_cache.as_ref().map(|cache| cache.image()),
            map_had_turn: map_had_turn.clone(),
            idle: writes.idle.image(),
            idle_since: idle_since.clone(),
            idle_armed: idle_armed.clone(),
            arrivals: writes.arrivals,
            flush_until: writes.gate.flush_until,
            policy_armed: *policy_armed,
            worn_out: *worn_out,
            bad: self.bad_to_save(),
            repairs: repairs.image(),
            rain: rain.clone(),
        }
    }

    /// Reads a state that was saved by a drive of the same shape. The error describes the disagreement.
    pub fn load(&mut self, from: &mut dyn Read) -> Result<Loaded, String> {
        let numbers: [u64; NAMES.len()] = read_value(from).map_err(unreadable)?;
        let expected = self.shape_numbers();
        if let Some(index) = (0..NAMES.len()).find(|&index| numbers[index] != expected[index]) {
            return Err(format!("saved by a drive with {} {}; this drive has {}", numbers[index], NAMES[index], expected[index]));
        }
        let store = &mut self.state.store;
        store.expect_dense_use();
        let origin = read_origin(store, from)?;
        store.places.load(origin, from).map_err(unreadable)?;
        from.read_exact(bytemuck::cast_slice_mut(store.medium.valid.as_mut_slice())).map_err(unreadable)?;
        store.medium.read_tables(from).map_err(unreadable)?;
        let image = read_value(from).map_err(unreadable)?;
        let policy = read_value(from).map_err(unreadable)?;
        Ok(Loaded { image, policy })
    }

    /// Restores the state of a drive of the same description and policy, whose clock stands at `now`, so that this one
    /// continues exactly. `same_seed`: the state of the random stream is restored, too. The error names the claims of
    /// the state that contradict each other.
    pub fn restore(&mut self, loaded: Loaded, same_seed: bool, now: SimTime) -> Result<(), String> {
        let Loaded { image, policy } = loaded;
        self.check_data(&image, &policy, now)?;
        self.check_own(&image, now)?;
        self.state.store.medium.restore_as_it_was(&image.closed);
        self.state.space.restore(image.space)?;
        self.state.retention.restore(image.retention)?;
        self.take_over_integrity(image.integrity)?;
        self.state.writes.queue.restore(&image.writes);
        for unit in image.writes.units().filter(|unit| unit.is_current()) {
            self.state.store.set_code(unit.lpn, SLOT_BASE + unit.slot);
        }
        if let (Some(cache), Some(image)) = (&mut self.state.cache, &image.cache) {
            cache.restore(image);
        }
        self.restore_map_cache(image.map_cache)?;
        if !self.state.writes.idle.restore(image.idle) {
            return Err("its idle dies are not those of this drive".to_owned());
        }
        if same_seed {
            self.state.rng = image.rng;
        }
        self.state.map_had_turn = image.map_had_turn;
        (self.state.collectors, self.state.moves, self.state.counters) = (image.collectors, image.moves, image.counters);
        (self.state.idle_since, self.state.idle_armed) = (image.idle_since, image.idle_armed);
        (self.state.writes.arrivals, self.state.writes.gate.flush_until) = (image.arrivals, image.flush_until);
        (self.state.policy_armed, self.state.worn_out) = (image.policy_armed, image.worn_out);
        self.state.store.medium.set_bad_blocks(&image.bad);
        self.state.repairs.restore(image.repairs);
        if let Some(rain) = &image.rain {
            rain.enter(&mut self.state.store.medium);
        }
        self.state.rain = image.rain;
        self.restore_policy(policy)
    }

    fn restore_map_cache(&mut self, saved: Option<MapCacheImage>) -> Result<(), String> {
        let (Some(cache), Some(image)) = (&mut self.state.map_cache, saved) else { return Ok(()) };
        require(cache.restore(image), || "its mapping cache is not that of this drive, or contradicts itself".to_owned())
    }

    /// Takes over the integrity of a saved drive's data. A drive whose reads cannot fail keeps nothing of it; one whose
    /// reads can fail takes the data of a drive whose reads could not as intact.
    fn take_over_integrity(&mut self, saved: Option<Box<Integrity>>) -> Result<(), String> {
        if let (Some(own), Some(saved)) = (&mut self.state.store.medium.integrity, saved)
            && !own.take_over(*saved)
        {
            return Err("its counts of reads are not those of this drive".to_owned());
        }
        Ok(())
    }

    fn restore_policy(&mut self, image: PolicyImage) -> Result<(), String> {
        if !self.restore_declared(&image) {
            return Err("its declared state is not that of this policy".to_owned());
        }
        let mut own = Archive::loading(&image.own);
        self.state.policy.state(&mut own)?;
        own.finish().map(drop)
    }

    /// Restores the state that the policy declared. Returns false if this policy declares another amount of state.
    fn restore_declared(&mut self, image: &PolicyImage) -> bool {
        let same = (image.bits_per_unit, image.bytes_per_block)
            == (self.state.bits.bits_per_unit(), self.state.block_bytes.bytes_per_block())
            && (image.bits.len(), image.bytes.len()) == (self.state.bits.words().len(), self.state.block_bytes.all().len());
        if same {
            self.state.bits.words_mut().copy_from_slice(&image.bits);
            self.state.block_bytes.all_mut().copy_from_slice(&image.bytes);
        }
        same
    }

    /// Adopts the data of a drive of the same shape: the contents of the blocks, and which are open, being collected
    /// and free. Moves in flight are forgotten, random streams are this drive's own, and the instant `now` of the saved
    /// drive becomes time zero. `same_policy`: the state that the policy declared is kept. Returns the units that
    /// waited in the write buffer, in the order of acceptance.
    pub fn take_over(&mut self, loaded: Loaded, same_policy: bool, now: SimTime) -> Result<Vec<Lpn>, String> {
        let Loaded { image, policy } = loaded;
        self.check_data(&image, &policy, now)?;
        require(image.rain.is_none(), || {
            "it has parity across dies: only the same drive under the same policy goes on with it".to_owned()
        })?;
        if same_policy {
            self.restore_declared(&policy);
        }
        self.take_over_integrity(image.integrity)?;
        let victims: Vec<u32> = image
            .collectors
            .iter()
            .filter_map(|collector| collector.victim)
            .filter(|&victim| self.state.store.medium.block(victim).state() == BlockState::Victim)
            .map(|victim| victim.0)
            .collect();
        // A block that was being collected remains the victim. It is entered first as a closed block, the oldest of its
        // die.
        let die_of = |block: u32| self.state.store.medium.geometry.die_of(BlockId(block)).index();
        let closed: Vec<u32> = (0..)
            .zip(&image.closed)
            .flat_map(|(die, closed)| victims.iter().filter(move |&&victim| die_of(victim) == die).chain(closed).copied())
            .collect();
        let mut open: Vec<(usize, BlockId)> = image.space.open_blocks().collect();
        // Frontiers of relocations come first: the collection in progress may need the space left in them.
        open.sort_by_key(|&(stream, block)| (stream < image.space.host_streams, block));
        let open_blocks: Vec<u32> = open.iter().map(|(_, block)| block.0).collect();
        if !self.state.store.medium.restore_blocks(&closed, &open_blocks) {
            return Err("its list of used blocks does not agree with its data".to_owned());
        }
        self.state.store.medium.recount_wear();
        self.state.space.rebuild(&self.state.store.medium, &*self.derived.wear_rule);
        for (stream, block) in open {
            self.reopen(block, Some(stream).filter(|&stream| stream < image.space.host_streams));
        }
        for block in victims.into_iter().map(BlockId) {
            let die = self.state.store.medium.geometry.die_of(block);
            self.take_victim(die, &self.collection_of(block, Reason::Gc, false), false);
        }
        self.restore_map_cache(image.map_cache)?;
        self.state.store.medium.set_bad_blocks(&image.bad);
        self.state.repairs.restore(image.repairs);
        self.want_bad_blocks();
        let shift = i64::try_from(now.0).unwrap_or(i64::MAX);
        self.state.store.medium.first_program.iter_mut().for_each(|at| *at = at.saturating_sub(shift));
        self.state.writes.idle.take_over_turn(&image.idle);
        let mut waiting: Vec<_> = image.writes.lists.into_iter().flatten().filter(|unit| unit.is_current()).collect();
        waiting.sort_by_key(|unit| unit.number);
        Ok(waiting.into_iter().map(|unit| unit.lpn).collect())
    }

    /// Makes an open block a frontier again: of its former host stream if this drive has it, or of relocations in its
    /// mode. If neither has a frontier free, the block is closed.
    fn reopen(&mut self, block: BlockId, host_stream: Option<usize>) {
        let own = host_stream.filter(|&stream| stream < usize::from(self.derived.needs.host_streams));
        let relocations = self.relocation_stream(ModeId(self.state.store.medium.block(block).mode()));
        let mut streams = own.into_iter().chain(relocations..relocations + self.derived.needs.relocation_frontiers());
        if !streams.any(|stream| self.state.space.go_on(&self.state.store.medium, block, stream)) {
            self.state.store.medium.close(block);
        }
    }

    /// Accepts the units that waited in the buffer of another drive. The counters do not change.
    pub fn accept_adopted(&mut self, units: &[HostUnit], now: SimTime, out: &mut Outbox) {
        let counters = self.state.counters.clone();
        for unit in units {
            self.accept(unit, now, out);
        }
        self.state.counters = counters;
    }

    /// Programs, without simulating time, the units that waited in the write buffer of another drive, where this drive
    /// has no buffer or too small a one. Each program goes to the next die with space.
    pub fn program_untimed(&mut self, units: &[Lpn], now: SimTime) {
        let units_per_program = self.state.store.medium.geometry.units_per_program;
        let dies = self.state.store.medium.geometry.die_count;
        for (turn, chunk) in (0u32..).zip(units.chunks(units_per_program as usize)) {
            let mut dies = (0..dies).map(|step| DieId((turn + step) % dies));
            let mode = self.state.policy.mode_of_old_data();
            let stream = self.relocation_stream(mode);
            let place = dies.find_map(|die| {
                let target = Target { die, stream, mode, class: AllocationClass::Move, plane: None, level: 0 };
                self.state.space.advance(&mut self.state.store.medium, &target, units_per_program, now).map(|place| (die, place))
            });
            let (die, first) = place.expect("a saved drive has room for what its buffer holds");
            for (unit, &lpn) in (0..).zip(chunk) {
                if let Mapped::At(old) = decode(self.state.store.code_of(lpn)) {
                    self.state.store.medium.invalidate(old);
                }
                self.state.store.set_code(lpn, encode(Ppn(first.0 + unit)));
                self.state.store.place(lpn, Ppn(first.0 + unit));
            }
            let bound = chunk.len() as u32;
            self.state.store.pad(Ppn(first.0 + bound), units_per_program - bound);
            let block = self.state.store.medium.geometry.block_of(first);
            self.state.store.medium.blocks.update(block, |record| record.programmed += 1);
            self.state.space.opened.clear();
            self.state.space.close_full(&mut self.state.store.medium, die, stream);
        }
    }
}
