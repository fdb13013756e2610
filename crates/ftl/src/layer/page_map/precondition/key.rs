//! The key of a starting state, under which it is kept for further runs.
//!
//! The key has everything that [`Ftl::precondition`](crate::Ftl::precondition) reads. All fields of the configuration
//! are listed by name, so that the build fails until a new one is entered in the key, or is declared not to matter; a
//! test varies every field that is left out.

use super::{Precondition, Preconditioned};
use crate::config::FtlSection;
use crate::map_cache::MapCacheConfig;
use crate::parameters::Parameters;
use crate::policy::{Facts, HostCache, ModePolicy, Needs};
use crate::queue::Buffering;
use kit::ModeId;

/// Everything that decides the state to which [`Ftl::precondition`](crate::Ftl::precondition) brings a drive: drives
/// with equal keys have equal states. The policy has a part in it by the services that it needs, by its write mode of
/// old data, and by the cache that it keeps under load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StartingKey(String);

impl StartingKey {
    /// Returns the key of a drive that is constructed from `config` and `parameters` for `policy`, and preconditioned
    /// as `how` says.
    pub fn new(config: &FtlSection, parameters: &Parameters, policy: &dyn ModePolicy, how: &Preconditioned) -> StartingKey {
        StartingKey::of(config, parameters, &policy.needs(), (policy.mode_of_old_data(), policy.cache_under_load()), how)
    }

    pub(crate) fn of(
        config: &FtlSection,
        parameters: &Parameters,
        needs: &Needs,
        (old_mode, cache): (ModeId, Option<HostCache>),
        how: &Preconditioned,
    ) -> StartingKey {
        let Parameters {
            geometry,
            facts,
            erase_wear,
            rated_pe_cycles,
            retire_at,
            bad_blocks,
            spare_blocks,
            seed,
            // The policy is known by its needs.
            policy: _,
            // Has a part in operations that take time.
            copyback: _,
            // Matter to a steady state.
            buffering: _,
            load: _,
            // Errors come with reads.
            has_errors: _,
        } = parameters;
        let is_whole = bad_blocks.is_empty() && *spare_blocks == 0;
        let faults = if is_whole { String::new() } else { format!(" {bad_blocks:?} {spare_blocks}") };
        StartingKey(format!(
            "{how:?} {seed} {:?} {erase_wear:?} {rated_pe_cycles} {retire_at:?} {} {} {} {old_mode:?} {}{faults}",
            // The other numbers of a geometry are computed from these.
            geometry.shape,
            of_config(config),
            of_facts(facts, how),
            of_needs(needs, config.separate_relocations),
            of_load(config, parameters, cache, how),
        ))
    }

    /// Returns a hash of the key: 128 bits, in hexadecimal digits (FNV-1a).
    pub fn hash(&self) -> String {
        let (start, prime) = (0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, 0x0000_0000_0100_0000_0000_0000_0000_013b_u128);
        let hash = self.0.bytes().fold(start, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime));
        format!("{hash:032x}")
    }
}

/// Returns what decides how the dies settle in a steady state, beside the times of their operations.
fn of_load(config: &FtlSection, parameters: &Parameters, cache: Option<HostCache>, how: &Preconditioned) -> String {
    let Buffering { waits_to_fill, renews: _, appends: _, longest_first: _, read_cache: _ } = &parameters.buffering;
    // Decides, with the load, how many blocks any method leaves free.
    let kept = config.kept_in_pauses(parameters.load.has_pauses).map_or(String::new(), |blocks| format!(" {blocks} kept"));
    match how.method {
        Precondition::Steady => format!("{waits_to_fill} {:?} {} {cache:?}{kept}", parameters.load, config.gc_preemptible),
        Precondition::None | Precondition::Fill | Precondition::Random { .. } => format!("{}{kept}", parameters.load.is_light),
    }
}

/// Returns the part of a key that the `[ftl]` section has.
fn of_config(config: &FtlSection) -> String {
    let FtlSection {
        translation: (),
        map_cache,
        victim,
        wear_leveling,
        allocation_order,
        plane_choice,
        separate_relocations,
        superblock_blocks,
        reserve_blocks,
        gc_critical_blocks,
        gc_low_blocks,
        gc_spare_fraction,
        gc_fraction_of,
        retire_at_cycles,
        scrub_reads,
        journal,
        rain,
        paired_pages,
        // Decide the number of user units, which is a fact.
        overprovisioning: _,
        user_capacity: _,
        // A part of the geometry.
        mapping_unit: _,
        // Matters to a steady state.
        gc_preemptible: _,
        gc_start: _,
        // Matter under a load with pauses (`of_load`).
        gc_idle_after: _,
        gc_idle_target_blocks: _,
        // Decide how operations are served that take time.
        write_allocation: _,
        gc_idle_of: _,
        unmapped_read: _,
        read_in_flight: _,
        partial_write: _,
        // A deadline is entered when the drive is adopted.
        retention_margin: _,
    } = config;
    let rain = rain.map_or(String::new(), |rain| format!(" {rain:?}"));
    let journal = journal.map_or(String::new(), |journal| format!(" {journal:?}"));
    let scrub = scrub_reads.map_or(String::new(), |reads| format!(" {reads} reads"));
    let planes = if *plane_choice == Default::default() { String::new() } else { format!(" {plane_choice:?}") };
    let paired = if *paired_pages == Default::default() { String::new() } else { format!(" {paired_pages:?}") };
    format!(
        "{:?} {victim:?} {wear_leveling:?} {allocation_order:?} \
         {separate_relocations} {superblock_blocks} {reserve_blocks} {gc_critical_blocks} {gc_low_blocks} \
         {gc_spare_fraction:?} {gc_fraction_of:?} {retire_at_cycles:?}{scrub}{journal}{rain}{paired}{planes}",
        map_cache.as_ref().map(of_map_cache),
    )
}

/// Returns the part of a key that a mapping cache has: the map pages, which are on flash, and the journal. The cache
/// itself is empty in a starting state.
fn of_map_cache(cache: &MapCacheConfig) -> String {
    let MapCacheConfig { page_entries, journal, size: _, memory: _, update_share: _, dirty_share: _ } = cache;
    format!("{page_entries} {journal:?}")
}

/// Returns the part of a key that the facts have.
fn of_facts(facts: &Facts, how: &Preconditioned) -> String {
    let Facts {
        write_modes,
        erase_modes,
        write_levels,
        block_units,
        codes,
        erase_levels,
        erase_wear,
        erase_scales,
        rated_pe_cycles,
        move_time,
        program_time,
        erase_time,
        units_per_program,
        blocks_per_die,
        die_count,
        user_units,
        // A part of the geometry.
        unit_bytes: _,
        // Deadlines are entered when the drive is adopted.
        retention: _,
        retention_by_wear: _,
        retention_margin: _,
        encode_times: _,
        // Times of operations that a starting state does not have.
        program_scales: _,
        page_move_share: _,
        read_modes: _,
        read_mode_of: _,
        read_times: _,
    } = facts;
    // A steady state has each die at a point of its cycle of writing and collecting, which depends on their times.
    let times = (how.method == Precondition::Steady).then_some([move_time, program_time, erase_time]);
    format!(
        "{write_modes:?} {erase_modes:?} {write_levels:?} {block_units:?} {codes:?} {erase_levels:?} {erase_wear:?} \
         {erase_scales:?} {rated_pe_cycles} {times:?} {units_per_program} {blocks_per_die} {die_count} {user_units}"
    )
}

/// Returns the part of a key that the needs of a policy have. `separate`: relocated data is written apart in any case.
fn of_needs(needs: &Needs, separate: bool) -> String {
    let Needs {
        host_streams,
        relocation_streams,
        relocations_apart: _,
        page_scope,
        // The declared state is zero in a starting state.
        bits_per_unit: _,
        bytes_per_block: _,
        // Calls during the run.
        requests: _,
        placed: _,
        dropped: _,
        blocks: _,
        reads: _,
        reads_done: _,
        scores: _,
        moves: _,
        idle_only: _,
        idle_after: _,
        moving: _,
        erases: _,
        ages: _,
    } = needs;
    let apart = needs.keeps_relocations_apart(separate);
    format!("{host_streams} {relocation_streams} {apart} {page_scope}")
}

#[cfg(test)]
mod tests;
