//! Saved drives whose bytes are changed and whose checksum is made right again: each is refused, or is a drive that
//! works.

use drive::Description;
use kit::Rng;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use testkit::case::{self, Detail};
use testkit::{Rig, Violation};

/// Damages of each kind of drive, unless `SSDLAB_DAMAGED` says otherwise.
const DAMAGES: u64 = 300;
/// Damages of one saved drive.
const OF_ONE: u64 = 20;
/// Commands before a drive is saved, and of the damaged drive.
const BEFORE: u32 = 400;
const BEHIND: u32 = 2000;

/// Returns the parts of a saved drive, each of which is damaged equally often: small ones hold as many claims as large
/// ones.
fn parts(file: &[u8], description: &Description) -> Vec<Range<usize>> {
    let (mut at, mut parts) = (8, Vec::new());
    let value = |at: &mut usize| {
        let length = u64::from_le_bytes(file[*at..*at + 8].try_into().expect("eight bytes")) as usize;
        let part = *at..*at + 8 + length;
        *at = part.end;
        part
    };
    // The header, the stages but the FTL, the numbers of the shape, the origin of its data.
    parts.extend((0..4).map(|_| value(&mut at)));
    let geometry = description.geometry();
    let (units, blocks) = (geometry.unit_count() as usize, geometry.block_count as usize);
    // Reverse map: which parts of 64 KiB there are, and these.
    let lengths: Vec<usize> = (0..4 * units).step_by(1 << 16).map(|from| (4 * units - from).min(1 << 16)).collect();
    let there = &file[at..at + lengths.len().div_ceil(8)];
    let is_there = |index: &usize| there[index / 8] >> (index % 8) & 1 == 1;
    let reverse = there.len() + (0..lengths.len()).filter(is_there).map(|index| lengths[index]).sum::<usize>();
    // Validity, records, erase counts, wear, erase modes, ages.
    for bytes in [reverse, units.div_ceil(64) * 8, 8 * blocks, 4 * blocks, 4 * blocks, blocks, 8 * blocks] {
        parts.push(at..at + bytes);
        at += bytes;
    }
    // The other state of the FTL, more often than the rest, and that of the policy.
    let ftl = value(&mut at);
    parts.extend([ftl.clone(), ftl.clone(), ftl, value(&mut at)]);
    assert_eq!(at + 4, file.len(), "the parts are the whole file");
    parts
}

/// Changes one place of a part.
fn damage(file: &mut [u8], part: &Range<usize>, rng: &mut Rng) {
    // The length of a value and its bytes.
    let width = [1, 1, 2, 4, 8][rng.below(5) as usize].min(part.len());
    let place = |rng: &mut Rng| {
        let at = rng.below((part.len() / width) as u64) as usize * width;
        part.start + at..part.start + at + width
    };
    let (here, there) = (place(rng), place(rng));
    let word = file[here.clone()].iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    let new = match rng.below(9) {
        0 => word ^ 1 << rng.below(8 * width as u64),
        1 => 0,
        2 => u64::MAX,
        3 => word.wrapping_add(1),
        4 => word.wrapping_sub(1),
        5 => rng.next_u64(),
        6 => rng.below(20),
        7 => {
            let (first, second) = (file[here.clone()].to_vec(), file[there.clone()].to_vec());
            file[here.clone()].copy_from_slice(&second);
            file[there].copy_from_slice(&first);
            return;
        }
        _ => {
            file.copy_within(there, here.start);
            return;
        }
    };
    file[here].copy_from_slice(&new.to_le_bytes()[..width]);
}

/// Makes the checksum at the end right again.
fn sum_up(file: &mut [u8]) {
    let end = file.len() - 4;
    let sum = crc32fast::hash(&file[..end]);
    file[end..].copy_from_slice(&sum.to_le_bytes());
}

/// Loads a file, or adopts the state in it, and lets the drive serve commands. Returns true if the file was accepted.
fn load_and_go_on(description: &Description, seed: u64, file: &[u8], adopts: bool) -> Result<bool, Violation> {
    let Ok(mut rig) = Rig::of_file(description, seed, file, adopts)? else { return Ok(false) };
    let went_on = case::go_on(&mut rig, description, seed, BEHIND).and_then(|()| rig.drain()).and_then(|()| rig.finish());
    match went_on {
        // A drive that is worn out serves nothing any more.
        Err(_) if rig.drive.map().worn_out_die().is_some() => Ok(true),
        went_on => went_on.map(|()| true),
    }
}

/// Damages saved drives with these parts.
fn assert_damage_is_found(detail: Detail, first: u64) {
    let most = std::env::var("SSDLAB_DAMAGED").ok().and_then(|count| count.parse().ok()).unwrap_or(DAMAGES);
    let (mut seed, mut refused, mut accepted) = (first, 0, 0);
    let mut failed = Vec::new();
    while refused + accepted < most {
        seed += 1;
        let saved = case::save(seed, detail, BEFORE).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
        let Some((description, whole)) = saved else { continue };
        let parts = parts(&whole, &description);
        for number in 0..OF_ONE {
            let mut rng = Rng::stream(seed, &format!("damage {number}"));
            let mut file = whole.clone();
            let mut part = parts[rng.below(parts.len() as u64) as usize].clone();
            for _ in 0..[1, 1, 1, 2, 5][rng.below(5) as usize] {
                damage(&mut file, &part, &mut rng);
                if rng.chance(0.3) {
                    part = parts[rng.below(parts.len() as u64) as usize].clone();
                }
            }
            sum_up(&mut file);
            let adopts = rng.chance(0.25);
            let went_on = catch_unwind(AssertUnwindSafe(|| load_and_go_on(&description, seed, &file, adopts)));
            match went_on {
                Ok(Ok(true)) => accepted += 1,
                Ok(Ok(false)) => refused += 1,
                Ok(Err(why)) => failed.push(format!("seed {seed}, damage {number}, {part:?}: {}", why.0)),
                Err(_) => failed.push(format!("seed {seed}, damage {number}, {part:?}: panicked")),
            }
            if failed.len() > 20 {
                break;
            }
        }
        if failed.len() > 20 {
            break;
        }
    }
    eprintln!("{detail:?}: {refused} refused, {accepted} accepted");
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), refused + accepted, failed.join("\n"));
    assert!(refused > accepted / 4 && accepted > refused / 20, "{refused} refused, {accepted} accepted");
}

#[test]
fn plain_drives_are_refused_or_work() {
    assert_damage_is_found(Detail::None, 9_000_000);
}

#[test]
fn drives_whose_reads_fail_are_refused_or_work() {
    assert_damage_is_found(Detail::Errors, 9_100_000);
}

#[test]
fn drives_with_a_detailed_controller_are_refused_or_work() {
    assert_damage_is_found(Detail::Controller, 9_200_000);
}

#[test]
fn drives_with_power_are_refused_or_work() {
    assert_damage_is_found(Detail::Power, 9_300_000);
}

/// A drive whose blocks are all but taken, and whose write buffer holds data, is adopted: its new policy gains space
/// before the host has written anything.
#[test]
fn a_drive_that_adopts_a_full_one_gains_space() {
    for seed in [9_000_058, 9_200_084] {
        let detail = if seed < 9_200_000 { Detail::None } else { Detail::Controller };
        let saved = case::save(seed, detail, BEFORE).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
        let (description, file) = saved.expect("it is accepted");
        let went_on = load_and_go_on(&description, seed, &file, true);
        assert!(went_on.as_ref().is_ok_and(|accepted| *accepted), "seed {seed}: {went_on:?}");
    }
}
