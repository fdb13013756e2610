//! A set-up ends soon after it is interrupted, whatever it is doing; what it computes of the tables, instead of storing
//! it, is what a table would hold.

use super::*;
use crate::layer::mapping::Mapping;
use crate::layer::page_map::ftl::tests::small;
use crate::medium::tests::geometry;
use kit::Nanos;

/// Returns an empty drive of four dies, a third of which is spare.
fn empty() -> Ftl {
    small(geometry(4, 2, 40, 8, 2), |config, parameters| {
        config.overprovisioning = 0.5;
        (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
        (parameters.facts.die_count, parameters.facts.units_per_program) = (4, 2);
    })
}

const STEADY: Preconditioned = Preconditioned { method: Precondition::Steady, age: Nanos(0), pe_cycles: 0 };

/// Returns the shares with which the progress is called until it answers false.
fn shares(until: &dyn Fn(f64) -> bool) -> (Vec<f64>, bool, ScaleModels) {
    let (mut ftl, models, mut told) = (empty(), ScaleModels::default(), Vec::new());
    let mut progress = |share| {
        told.push(share);
        !until(share)
    };
    let done = ftl.precondition(&STEADY, &models, &mut progress).expect("a small drive fits into memory");
    (told, done, models)
}

#[test]
fn the_progress_is_told_while_a_model_is_aged_within_a_die_and_between_phases() {
    let (told, done, models) = shares(&|_| false);
    assert!(done && models.len() == 1);
    let count = |of: &dyn Fn(f64) -> bool| told.iter().filter(|share| of(**share)).count();
    // The model; then each die has 40 blocks.
    assert!(count(&|share| share == 0.0) >= 2, "{told:?}");
    assert!(count(&|share| share > 0.0 && share < 0.25) >= 1, "{told:?}");
    assert!(count(&|share| share == 1.0) >= 4, "{told:?}");
}

#[test]
fn a_set_up_is_interrupted_at_any_of_its_parts() {
    let (told, done, models) = shares(&|_| true);
    assert_eq!((told.len(), done), (1, false));
    assert!(models.is_empty(), "the model is not kept half aged");
    let (told, done, _) = shares(&|share| share > 0.0);
    assert!(!done && told.last().is_some_and(|share| *share < 0.25), "{told:?}");
    let (told, done, _) = shares(&|share| share == 1.0);
    assert!(!done && told.iter().filter(|share| **share == 1.0).count() == 1, "{told:?}");
}

/// Drives with small and with large blocks, whose starts are aligned to words of the validity bits or not; planes take
/// turns in some.
fn drives() -> Vec<Ftl> {
    [(4, 2, 40, 8, 2, 0.5), (3, 1, 50, 33, 3, 0.3), (2, 1, 20, 160, 4, 0.4), (5, 2, 30, 7, 1, 1.0), (1, 1, 30, 64, 1, 0.4)]
        .map(|(dies, planes, blocks, programs, units, spare)| {
            small(geometry(dies, planes, blocks, programs, units), |config, parameters| {
                config.overprovisioning = spare;
                (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
                (parameters.facts.die_count, parameters.facts.units_per_program) = (dies, units as u32);
            })
        })
        .into()
}

/// Map value of each unit, and the unit of each valid place, as explicit tables.
fn tables(ftl: &Ftl) -> (Vec<u32>, Vec<Option<Lpn>>) {
    let store = &ftl.state.store;
    let codes = (0..store.all_units() as u32).map(|unit| store.code_of(Lpn(unit))).collect();
    let places = (0..store.medium.geometry.unit_count() as u32).map(Ppn);
    (codes, places.map(|ppn| store.medium.is_valid(ppn).then(|| store.lpn_at(ppn))).collect())
}

/// A drive that is filled by whole blocks and by programs is the same as one of which every unit was written by itself.
#[test]
fn a_fill_by_blocks_is_a_fill_unit_by_unit() {
    for (number, (mut by_blocks, mut by_units)) in drives().into_iter().zip(drives()).enumerate() {
        assert!(by_blocks.fill(&mut |_| true));
        let (program, dies) =
            (by_units.state.store.medium.geometry.units_per_program, by_units.state.store.medium.geometry.die_count);
        for unit in 0..by_units.state.store.user_units as u32 {
            let die = by_units.state.writes.idle.die_at((unit / program % dies) as usize);
            by_units.write_untimed(Lpn(unit), die);
        }
        assert!(by_blocks.state.store.places.is_computed(Lpn(0)), "drive {number}: whole blocks have no entries");
        assert_eq!(tables(&by_blocks), tables(&by_units), "drive {number}");
        assert_eq!(by_blocks.state.store.medium.blocks.as_slice().len(), by_units.state.store.medium.blocks.as_slice().len());
        for die in (0..dies).map(DieId) {
            let closed = [&by_blocks, &by_units].map(|ftl| ftl.state.store.medium.closed_blocks(die).collect::<Vec<_>>());
            assert_eq!(closed[0], closed[1], "drive {number}");
        }
        assert_eq!(by_blocks.audit(true), Vec::<String>::new(), "drive {number}");
    }
}

/// In a steady state, each unit has one place, the map and the reverse map agree with each other and with the counts of
/// the blocks, and they go on doing so under random writes, which leave what they do not touch where it was.
#[test]
fn computed_places_agree_with_each_other_before_and_after_writes() {
    for (number, mut ftl) in drives().into_iter().enumerate() {
        assert!(ftl.precondition(&STEADY, &ScaleModels::default(), &mut |_| true).expect("memory"));
        assert_eq!(ftl.audit(true), Vec::<String>::new(), "drive {number}");
        assert!(ftl.state.store.places.is_computed(Lpn(0)), "drive {number}");
        let units = ftl.state.store.user_units;
        assert_eq!(ftl.mapped_units(), units);
        let (before, _) = tables(&ftl);
        let mut model = before.clone();
        let mut rng = Rng::stream(number as u64, "writes");
        for _ in 0..units * 2 {
            let lpn = Lpn(rng.below(units) as u32);
            ftl.write_untimed(lpn, DieId(rng.below(u64::from(ftl.state.store.medium.geometry.die_count)) as u32));
            model[lpn.index()] = ftl.state.store.code_of(lpn);
            if rng.chance(0.02) {
                let (codes, _) = tables(&ftl);
                // Collections move units: those have new entries, which are in the reverse map.
                for (unit, (&code, known)) in codes.iter().zip(&mut model).enumerate() {
                    let moved = decode(code) != decode(*known);
                    assert!(
                        !moved || !ftl.state.store.places.is_computed(Lpn(unit as u32)),
                        "drive {number}: unit {unit} is elsewhere"
                    );
                    *known = code;
                }
            }
        }
        assert_eq!(ftl.audit(true), Vec::<String>::new(), "drive {number}");
        ftl.pad_frontiers().into_iter().for_each(|(first, count)| ftl.state.store.pad(first, count));
        ftl.finish_untimed(&STEADY);
        check_saved(&mut ftl);
    }
}

/// Prefetches enter computed places in the tables, and change none: those before commands, of 1 to 70 units, with
/// units that have no place, and those before relocations, of the valid units of whole blocks.
#[test]
fn entered_places_are_the_computed_ones() {
    for (how, (number, mut ftl)) in [Precondition::Fill, Precondition::Steady]
        .into_iter()
        .flat_map(|how| drives().into_iter().enumerate().map(move |drive| (how, drive)))
    {
        let how = Preconditioned { method: how, ..STEADY };
        assert!(ftl.precondition(&how, &ScaleModels::default(), &mut |_| true).expect("memory"));
        let computed = tables(&ftl);
        let mut rng = Rng::stream(number as u64, "lists");
        let units = ftl.state.store.all_units() as u32;
        for die in (0..ftl.state.store.medium.geometry.die_count).map(DieId) {
            for block in ftl.state.store.medium.closed_blocks(die).collect::<Vec<_>>() {
                let first = ftl.state.store.medium.geometry.first_of(block);
                let end = Ppn(first.0 + ftl.state.store.medium.geometry.units_per_block);
                let mut at = first;
                while at < end && rng.chance(0.9) {
                    at = ftl.state.store.look_ahead_moves(&ftl.state.bits, at, end).0;
                }
            }
        }
        let mut from = 0;
        while from < units {
            let list: Vec<Lpn> = (from..from + 1 + rng.below(70) as u32).map(Lpn).collect();
            from += list.len() as u32;
            ftl.hint(&list, rng.chance(0.5));
        }
        assert!((0..units).all(|unit| !ftl.state.store.places.is_computed(Lpn(unit))), "drive {number}");
        assert!(tables(&ftl) == computed, "drive {number}, {how:?}");
        assert_eq!(ftl.audit(true), Vec::<String>::new(), "drive {number}");
    }
}

/// A saved drive has the same tables again, and a damaged one is refused, whether its tables are computed or stored.
fn check_saved(ftl: &mut Ftl) {
    let mut file = Vec::new();
    ftl.state.space.opened.clear();
    ftl.save(&mut file).expect("memory");
    let fresh = || {
        let mut other = small(ftl.state.store.medium.geometry, |config, parameters| {
            config.clone_from(&ftl.derived.config);
            parameters.clone_from(&ftl.derived.parameters);
        });
        other.state.retention.adopt(&other.state.store.medium);
        other
    };
    let mut same = fresh();
    let loaded = same.load(&mut &file[..]).expect("it was just saved");
    assert_eq!(same.restore(loaded, true, SimTime(1)), Ok(()));
    assert_eq!(tables(&same), tables(ftl));
    let valid = (0..ftl.state.store.medium.geometry.unit_count() as u32)
        .map(Ppn)
        .find(|&ppn| ftl.state.store.medium.is_valid(ppn))
        .expect("it has data");
    let other = (valid.0 + 1..).map(Ppn).find(|&ppn| ftl.state.store.medium.is_valid(ppn)).expect("it has more data");
    let mut twice = fresh();
    let loaded = twice.load(&mut &file[..]).expect("it was just saved");
    twice.state.store.places.set_unit(valid, ftl.state.store.lpn_at(other).0);
    let complaint = twice.restore(loaded, true, SimTime(1)).expect_err("a unit is at two places");
    assert!(complaint.contains("and at place") || complaint.contains("units are at"), "{complaint}");
}

/// A drive that was set up and not written is saved without its map, in a few bytes for each block.
#[test]
fn a_saved_drive_is_as_small_as_what_was_touched() {
    for how in [Precondition::Fill, Precondition::Steady] {
        let mut ftl = small(geometry(4, 2, 40, 512, 4), |config, parameters| {
            config.overprovisioning = 0.5;
            (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
            (parameters.facts.die_count, parameters.facts.units_per_program) = (4, 4);
        });
        let how = Preconditioned { method: how, ..STEADY };
        assert!(ftl.precondition(&how, &ScaleModels::default(), &mut |_| true).expect("memory"));
        let mut file = Vec::new();
        ftl.save(&mut file).expect("memory");
        // An entry of the map would take four bytes, the validity of a place takes a bit.
        let units = ftl.state.store.medium.geometry.unit_count() as usize;
        assert!(file.len() < units, "{how:?}: {} bytes for {units} places", file.len());
        check_saved(&mut ftl);
    }
}

/// The valid units of blocks are spread over all their places: in ten states, each place of a closed block of a die is
/// valid about as often as another.
#[test]
fn valid_units_are_spread_over_their_block() {
    let (mut valid, mut blocks) = (vec![0u32; 160], 0);
    for seed in 0..40 {
        let mut ftl = small(geometry(2, 1, 20, 40, 4), |config, parameters| {
            config.overprovisioning = 0.5;
            (config.gc_critical_blocks, config.gc_low_blocks) = (3, 4);
            (parameters.facts.die_count, parameters.facts.units_per_program, parameters.seed) = (2, 4, seed);
        });
        assert!(ftl.precondition(&STEADY, &ScaleModels::default(), &mut |_| true).expect("memory"));
        let store = &ftl.state.store;
        for block in (0..2).map(DieId).flat_map(|die| store.medium.closed_blocks(die)) {
            let first = store.medium.geometry.first_of(block).0;
            valid.iter_mut().zip(first..).for_each(|(count, ppn)| *count += u32::from(store.medium.is_valid(Ppn(ppn))));
            blocks += 1;
        }
    }
    let share = f64::from(valid.iter().sum::<u32>()) / f64::from(160 * blocks);
    assert!(share > 0.4 && share < 0.9, "{share}");
    let spread = (f64::from(blocks) * share * (1.0 - share)).sqrt();
    for (place, &count) in valid.iter().enumerate() {
        let off = (f64::from(count) - f64::from(blocks) * share) / spread;
        assert!(
            off.abs() < 4.5,
            "place {place} is valid in {count} of {blocks} blocks, {off:.1} standard deviations from the mean"
        );
    }
}
