//! The `[ftl]` section of a description, with the translation layer that it chooses.

use super::TranslationConfig;
use crate::config::{CollectionStart, FtlSection, IdlePart, PlaneChoice, RainConfig};
use crate::paired::PairedPages;
use kit::{Bytes, Geometry, Problems, Rate, words};

/// The `[ftl]` section of a description.
pub type FtlConfig = FtlSection<TranslationConfig>;

impl FtlConfig {
    /// Returns the number of mapping units of the user capacity.
    pub fn user_units(&self, geometry: &Geometry) -> u64 {
        if let Some(units) = self.translation.build(()).user_units(geometry) {
            return units;
        }
        let most = self.max_user_units(geometry);
        self.user_capacity.map_or(most, |bytes| geometry.unit.whole(bytes.0).min(most))
    }

    /// Returns the number of mapping units that over-provisioning and the translation layer leave to the user.
    fn max_user_units(&self, geometry: &Geometry) -> u64 {
        let most = self.max_units(geometry);
        self.translation.build(()).max_units(geometry).map_or(most, |units| units.min(most))
    }

    /// Returns the numbers of free blocks per die below which collection takes precedence over host writes, and below
    /// which it runs when no write waits.
    pub fn thresholds(&self, geometry: &Geometry) -> (u32, u32) {
        self.thresholds_with(geometry, self.user_units(geometry))
    }

    /// Returns the layer of a mock-up of the drive, which has fewer and smaller blocks; `None` if it is the same.
    pub fn layer_of_mock_up(&self, geometry: &Geometry) -> Option<TranslationConfig> {
        self.translation.build(()).of_mock_up(&self.without_layer(), geometry, self.user_units(geometry))
    }

    /// Adds the inconsistencies of the section to `problems`; `streams` is the number of write frontiers that the
    /// policy opens on each die, and up to `left_out` of its blocks are spare or bad.
    pub fn problems(&self, geometry: &Geometry, (streams, left_out): (u32, u64), problems: &mut Problems) {
        if geometry.unit_count() >= u64::from(crate::map::SLOT_BASE) {
            let [most, unit] = [1 << 32, 1].map(|units| words::size(Bytes(geometry.unit.offset(units))));
            let what = format!("expected less than {most}, the limit of 32-bit places with mapping units of {unit}");
            let further = "larger ones (ftl.mapping_unit) reach further";
            problems.add("flash", format!("{} bytes of flash: {what}; {further}", geometry.physical_bytes()));
            return;
        }
        if let Some(capacity) = self.user_capacity {
            let most = geometry.unit.offset(self.max_user_units(geometry));
            if capacity.0 > most || capacity.0 < geometry.unit.bytes() {
                problems.add(
                    "ftl.user_capacity",
                    format!(
                        "{capacity} does not fit: the flash leaves {most}B beside over-provisioning {}",
                        self.overprovisioning
                    ),
                );
            }
        }
        if geometry.units_per_block > u32::from(u16::MAX) || geometry.programs_per_block > u32::from(u16::MAX) {
            problems.add(
                "ftl.superblock_blocks",
                format!("{} mapping units in an erase unit: expected at most 65535", geometry.units_per_block),
            );
        }
        self.collection_problems(problems);
        if let Some(cache) = &self.map_cache {
            cache.problems(geometry.units_per_program, problems);
        }
        if let Some(journal) = &self.journal {
            journal.problems(geometry, problems);
            self.journal_problems(problems);
        }
        self.paired_problems(geometry, problems);
        if geometry.shape.superblock > 1 && !geometry.shape.blocks_per_plane.is_multiple_of(geometry.shape.superblock) {
            problems.add("ftl.superblock_blocks", "expected a divisor of flash.blocks_per_plane".to_owned());
        }
        if self.allocation_order.is_by_plane() && self.plane_choice != PlaneChoice::default() {
            let what = "planes take turns: expected ftl.allocation_order without P";
            problems.add("ftl.plane_choice", what.to_owned());
        }
        if let Some(rain) = self.rain {
            self.rain_problems(rain, geometry, problems);
        }
        let layer = self.translation.build(());
        layer.drive_problems(&self.without_layer(), geometry, problems);
        if let Some(needed) = layer.blocks_needed() {
            if geometry.blocks_per_die < needed {
                let what = format!("each die has {} blocks: expected at least {needed}", geometry.blocks_per_die);
                problems.add("flash.blocks_per_plane", what);
            }
            return;
        }
        self.blocks_problems(geometry, (streams, left_out), problems);
    }

    /// Adds the inconsistencies of the collection.
    fn collection_problems(&self, problems: &mut Problems) {
        if self.gc_critical_blocks <= self.reserved() {
            let map = if self.map_cache.is_some() { " and one for the map" } else { "" };
            let parity = if self.rain.is_some() { " and one for parity" } else { "" };
            problems.add(
                "ftl.gc_critical_blocks",
                format!("{}: expected more than reserve_blocks = {}{map}{parity}", self.gc_critical_blocks, self.reserve_blocks),
            );
        }
        if self.gc_low_blocks < self.gc_critical_blocks {
            problems.add(
                "ftl.gc_low_blocks",
                format!("{}: expected at least gc_critical_blocks = {}", self.gc_low_blocks, self.gc_critical_blocks),
            );
        }
        if self.gc_idle_after.is_none() && self.gc_idle_of != IdlePart::Die {
            problems.add("ftl.gc_idle_of", "there is no background collection: expected ftl.gc_idle_after".to_owned());
        }
        if self.gc_start == CollectionStart::WriteWaits && self.gc_preemptible {
            problems.add("ftl.gc_start", "a collection that begins is finished: expected ftl.gc_preemptible = false".to_owned());
        }
    }

    /// Adds the problems of the map's journal that depend on other fields.
    fn journal_problems(&self, problems: &mut Problems) {
        let others = [
            (
                self.translation != TranslationConfig::default(),
                "the page map alone has one: expected `ftl.translation` to be absent",
            ),
            (self.map_cache.is_some(), "the mapping cache has a journal of its own: expected ftl.map_cache.journal instead"),
        ];
        for (_, what) in others.into_iter().filter(|(is_there, _)| *is_there) {
            problems.add("ftl.journal", what.to_owned());
        }
    }

    /// Adds the problems of the protection of paired pages that depend on other fields.
    fn paired_problems(&self, geometry: &Geometry, problems: &mut Problems) {
        if self.paired_pages == PairedPages::Intact {
            return;
        }
        let shape = &geometry.shape;
        let others = [
            (
                shape.bits_per_cell == 1 || shape.pages_per_program > 1,
                "no page of a wordline is programmed after another: expected \"intact\", or several bits in a cell and \
                 flash.one_shot = false",
            ),
            (
                self.translation != TranslationConfig::default(),
                "the page map alone protects them: expected `ftl.translation` to be absent",
            ),
            (self.map_cache.is_some(), "pages of the map are not protected: expected no ftl.map_cache"),
            (self.rain.is_some(), "parity across dies is not protected: expected no ftl.rain"),
            (self.journal.is_some(), "the journal of the map is not protected: expected no ftl.journal"),
            (self.retire_at_cycles.is_some(), "blocks of copies are not retired: expected no ftl.retire_at_cycles"),
        ];
        for (_, what) in others.into_iter().filter(|(is_there, _)| *is_there) {
            problems.add("ftl.paired_pages", what.to_owned());
        }
    }

    /// Adds the inconsistencies of the parity across dies.
    fn rain_problems(&self, rain: RainConfig, geometry: &Geometry, problems: &mut Problems) {
        if !geometry.die_count.is_multiple_of(rain.dies) {
            let what = format!("{}: expected a divisor of the {} dies of the drive", rain.dies, geometry.die_count);
            problems.add("ftl.rain.dies", what);
        }
        if rain.rebuild_rate == Some(Rate(0)) {
            problems.add("ftl.rain.rebuild_rate", "0: expected a rate above zero, or none".to_owned());
        }
        if self.has_plane_frontiers() {
            let what = "planes that take turns program by program have frontiers of their own, and parity is kept for those \
                        of whole dies: expected ftl.allocation_order without P, and no ftl.plane_choice";
            problems.add("ftl.rain", what.to_owned());
        }
        if self.translation != TranslationConfig::default() {
            problems.add("ftl.rain", "parity is kept by the page map alone: expected `ftl.translation` to be absent".to_owned());
        }
    }

    /// Adds the problem of a die with too few blocks for its share of the data, the blocks that it keeps free and its
    /// frontiers.
    fn blocks_problems(&self, geometry: &Geometry, (streams, left_out): (u32, u64), problems: &mut Problems) {
        let [user, kept, open, needed] = self.blocks_needed(geometry, self.user_units(geometry), streams);
        let area = needed - user - kept - open;
        if left_out > 0 && needed + left_out > u64::from(geometry.blocks_per_die) {
            problems.add(
                "faults",
                format!(
                    "up to {left_out} of the {} blocks of a die are spare or bad, and it needs {needed}: expected fewer, or more over-provisioning",
                    geometry.blocks_per_die
                ),
            );
        } else if needed > u64::from(geometry.blocks_per_die) {
            problems.add(
                "ftl.overprovisioning",
                format!(
                    "does not fit: each die has {} blocks, and needs {user} for user data, {kept} kept free and {open} open{}",
                    geometry.blocks_per_die,
                    match (self.journal.is_some(), area) {
                        (true, _) => format!(", and {area} for the journal"),
                        (false, 0) => String::new(),
                        (false, _) => format!(", and {area} for copies of paired pages"),
                    }
                ),
            );
        }
    }
}
