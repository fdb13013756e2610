//! The copy of a starting state, from which further drives with the same key start: in memory, or in a file for other
//! processes of the same build.

use super::save::read_origin;
use crate::layer::page_map::collector::Collector;
use crate::layer::page_map::ftl::{Ftl, State};
use crate::layer::page_map::precondition::StartingKey;
use crate::map::Store;
use crate::medium::space::{Space, SpaceImage};
use crate::starting::Preconditioned;
use kit::Rng;
use kit::archive::{read_value, unreadable, write_value};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// A copy of the state to which [`Ftl::precondition`] has brought a drive.
pub struct StartingState {
    store: Store,
    space: Space,
    rng: Rng,
    collectors: Vec<Collector>,
}

/// Content of a file of a starting state beside the tables.
#[derive(Serialize, Deserialize)]
struct Image {
    /// The closed blocks of each die, in the order of closing.
    closed: Vec<Vec<u32>>,
    space: SpaceImage,
    rng: Rng,
    collectors: Vec<Collector>,
}

impl Ftl {
    /// Returns the key of the state to which [`Ftl::precondition`] brings this drive.
    pub fn starting_key(&self, how: &Preconditioned) -> StartingKey {
        let cache = self.state.policy.cache_under_load();
        StartingKey::of(&self.derived.config, &self.derived.parameters, &self.derived.needs, (self.derived.old_mode, cache), how)
    }

    /// Returns the approximate size of a copy of the state, in bytes.
    pub fn starting_state_bytes(&self) -> u64 {
        let gathered: usize = self.state.collectors.iter().map(|one| one.gathered.capacity() + one.in_read.capacity()).sum();
        self.state.store.bytes()
            + self.state.space.bytes()
            + (size_of_val(self.state.collectors.as_slice()) + gathered * 4) as u64
    }

    /// Returns a copy of the state to which [`Ftl::precondition`] has brought this drive; it has not been adopted yet.
    /// Fails only if the address space is exhausted. All fields are listed by name, so that a new one is not forgotten:
    /// each is copied, or is as in a new drive.
    pub fn starting_state(&self) -> std::io::Result<StartingState> {
        let State {
            // Copied.
            store,
            space,
            rng,
            collectors,
            // Begin anew when the state is reached.
            counters: _,
            // As in a new drive: nothing but collection and writes without time has happened yet.
            policy: _,
            bits: _,
            block_bytes: _,
            retention: _,
            moves: _,
            writes: _,
            cache: _,
            map_cache: _,
            map_had_turn: _,
            idle_since: _,
            idle_armed: _,
            policy_armed: _,
            worn_out: _,
            metadata: _,
            repairs: _,
            // Formed as the drive is adopted.
            rain: _,
            journal: _,
            paired: _,
        } = &self.state;
        let extra_units = store.all_units() - store.user_units;
        let mode_units = self.derived.parameters.facts.block_units.clone();
        let mut copy = Store::new(store.medium.geometry, store.user_units, extra_units, mode_units)?;
        copy.expect_dense_use();
        store.copy_to(&mut copy);
        Ok(StartingState { store: copy, space: space.clone(), rng: rng.clone(), collectors: collectors.clone() })
    }

    /// Brings a new drive to the state of another one with the same key.
    pub fn start_from(&mut self, state: &StartingState) {
        let StartingState { store, space, rng, collectors } = state;
        self.state.store.expect_dense_use();
        store.copy_to(&mut self.state.store);
        self.state.space.clone_from(space);
        self.state.rng.clone_from(rng);
        self.state.collectors.clone_from(collectors);
    }

    /// Writes the state to which [`Ftl::precondition`] has brought this drive; it has not been adopted yet. What it
    /// writes is what [`Ftl::starting_state`] copies.
    pub fn save_start(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let store = &self.state.store;
        write_value(&store.places.image(), to)?;
        store.places.save_whole(to)?;
        store.medium.valid.save(to)?;
        store.medium.write_tables(to)?;
        let (space, rng, collectors) = (self.state.space.image(), self.state.rng.clone(), self.state.collectors.clone());
        write_value(&Image { closed: store.medium.closed_lists(), space, rng, collectors }, to)
    }

    /// Brings a new drive to the state that another one with the same key has written. After an error, which says why
    /// it cannot be read, the drive is in no state.
    pub fn load_start(&mut self, from: &mut dyn Read) -> Result<(), String> {
        let store = &mut self.state.store;
        store.expect_dense_use();
        let origin = read_origin(store, from)?;
        store.places.load_whole(origin, from).map_err(unreadable)?;
        store.medium.valid.load(from).map_err(unreadable)?;
        store.medium.read_tables(from).map_err(unreadable)?;
        let Image { closed, space, rng, collectors } = read_value(from).map_err(unreadable)?;
        store.medium.restore_as_it_was(&closed);
        self.state.space.restore(space)?;
        (self.state.rng, self.state.collectors) = (rng, collectors);
        Ok(())
    }
}
