//! Saved drives whose bytes were changed, with a checksum that fits: each is refused, or is a drive that works.

use crate::text;
use arbitrary::Arbitrary;
use drive::{Description, Drive, Identity};
use kit::{Bytes, CommandFlags, HostCommand, Op, Rng, SimTime, UNIT_BYTES, ZoneAction};
use std::sync::OnceLock;
use testkit::{Rig, case};

/// A drive of 4 dies with 8 blocks each; a program is 4 units.
const SMALL: &[&str] = &[
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.blocks_per_plane=8",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
];
const BUFFER: &[&str] = &["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=3ms"];
/// Pages of 4 KiB that are programmed in place.
const PAGES: &[&str] = &["flash.page_size=4KiB", "ftl.write_allocation=static"];
/// Layers without a map, each with the settings beside it.
const LAYERS: [(&str, &[&[&str]]); 5] = [
    ("{ kind = \"zns\", zone_dies = 2, zone_blocks = 2, max_open = 3, max_active = 4 }", &[BUFFER]),
    ("{ kind = \"pass_through\", full = 0.5, early_reset = true }", &[]),
    ("\"waf\"", &[]),
    ("\"in_place\"", &[PAGES]),
    ("{ kind = \"in_place\", gap_interval = 5, region_pages = 16, randomize = true }", &[PAGES, BUFFER]),
];
/// Random drives with a map, by the seed and the parts of their description.
const MAPPED: [(u64, case::Detail); 8] = [
    (1, case::Detail::None),
    (2, case::Detail::None),
    (3, case::Detail::None),
    (4, case::Detail::Errors),
    (5, case::Detail::Errors),
    (6, case::Detail::Controller),
    (7, case::Detail::Power),
    (8, case::Detail::Units),
];
/// Seed of the drives without a map.
const SEED: u64 = 7;
/// Commands before a drive is saved, and of the loaded drive.
const BEFORE: u32 = 150;
const BEHIND: u32 = 60;

struct Saved {
    description: Description,
    seed: u64,
    file: Vec<u8>,
    has_map: bool,
}

#[derive(Arbitrary, Debug)]
struct Damaged {
    drive: u8,
    adopts: bool,
    edits: Vec<(u32, Edit)>,
}

#[derive(Arbitrary, Debug)]
enum Edit {
    Byte(u8),
    Flip(u8),
    Half(u16),
    Word(u32),
    Long(u64),
    /// Bytes from another place.
    Copy(u32, u8),
    Add(i8),
    Insert(u8),
    Remove,
}

fn saved() -> &'static [Saved] {
    static SAVED: OnceLock<Vec<Saved>> = OnceLock::new();
    SAVED.get_or_init(|| {
        let mapped = MAPPED.iter().filter_map(|(seed, detail)| {
            // Of the drives of further seeds, the first whose description is accepted and whose file is small.
            (0..40).find_map(|more| {
                let seed = seed + 100 * more;
                let (description, file) = case::save(seed, *detail, BEFORE).ok()??;
                (file.len() < 200_000).then_some(Saved { description, seed, file, has_map: true })
            })
        });
        mapped.chain(LAYERS.iter().map(|(layer, sets)| of_layer(layer, sets))).collect()
    })
}

fn of_layer(layer: &str, sets: &[&[&str]]) -> Saved {
    let layer = format!("ftl.translation={layer}");
    let all = SMALL.iter().chain(sets.iter().copied().flatten()).copied().chain([layer.as_str()]);
    let sets: Vec<String> = all.map(str::to_owned).collect();
    let description = Description::read("f", "base = \"tiny\"\n", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut drive = Drive::new(&description, SEED).expect("a small drive");
    drive.adopt();
    play(&mut drive, BEFORE, 3);
    drive.rest();
    let mut file = Vec::new();
    drive.save(&Identity::of(&description, "baseline", SEED), &mut file).expect("memory");
    Saved { description, seed: SEED, file, has_map: false }
}

/// Checks a saved drive: an input that is not a value is the number of a drive and the whole file.
pub fn check(input: &[u8]) {
    let all = saved();
    if let Some(Damaged { drive, adopts, edits }) = text::typed(input) {
        let saved = &all[usize::from(drive) % all.len()];
        let mut file = saved.file.clone();
        edits.iter().for_each(|(at, edit)| apply(&mut file, *at as usize, edit));
        check_file(saved, &mut file, adopts);
    } else if let Some((&first, rest)) = input.split_first() {
        check_file(&all[usize::from(first) % all.len()], &mut rest.to_vec(), false);
    }
}

fn apply(file: &mut Vec<u8>, at: usize, edit: &Edit) {
    if file.len() < 16 {
        return;
    }
    let at = at % (file.len() - 8);
    match *edit {
        Edit::Byte(byte) => file[at] = byte,
        Edit::Flip(bit) => file[at] ^= 1 << (bit % 8),
        Edit::Half(value) => file[at..at + 2].copy_from_slice(&value.to_le_bytes()),
        Edit::Word(value) => file[at..at + 4].copy_from_slice(&value.to_le_bytes()),
        Edit::Long(value) => file[at..at + 8].copy_from_slice(&value.to_le_bytes()),
        Edit::Copy(from, length) => {
            let from = from as usize % file.len();
            let length = usize::from(length).min(file.len() - from).min(file.len() - at);
            file.copy_within(from..from + length, at);
        }
        Edit::Add(number) => file[at] = file[at].wrapping_add_signed(number),
        Edit::Insert(byte) => file.insert(at, byte),
        Edit::Remove => drop(file.remove(at)),
    }
}

/// Loads a file with its checksum made right, or adopts its state, and lets the drive serve commands.
fn check_file(saved: &Saved, file: &mut [u8], adopts: bool) {
    let Saved { description, seed, has_map, .. } = saved;
    if let Some(end) = file.len().checked_sub(4) {
        let sum = crc32fast::hash(&file[..end]);
        file[end..].copy_from_slice(&sum.to_le_bytes());
    }
    if *has_map {
        let rig = Rig::of_file(description, *seed, file, adopts).unwrap_or_else(|why| panic!("{}", why.0));
        let Ok(mut rig) = rig else { return };
        let went_on = case::go_on(&mut rig, description, *seed, BEHIND).and_then(|()| rig.drain()).and_then(|()| rig.finish());
        // A drive that is worn out serves nothing any more.
        let is_worn_out = rig.drive.map().worn_out_die().is_some();
        assert!(went_on.is_ok() || is_worn_out, "{}", went_on.err().map_or_else(String::new, |why| why.0));
        return;
    }
    let mut loaded = Drive::new(description, *seed).expect("a small drive");
    match loaded.load(&Identity::of(description, "baseline", *seed), &mut &file[..]) {
        Ok(_) => {
            loaded.go_on();
            play(&mut loaded, BEHIND, 5);
        }
        Err(complaint) => assert!(!complaint.is_empty(), "a refusal without a reason"),
    }
}

/// Plays commands of any kind that the drive knows, some of which fail, until none is in flight.
fn play(drive: &mut Drive, count: u32, seed: u64) {
    let mut rng = Rng::stream(seed, "commands");
    let mut in_flight = 0;
    for tag in 0..=count {
        if tag < count {
            drive.submit(command(drive, &mut rng, tag), drive.now());
            in_flight += 1;
        }
        let most = if tag < count { rng.below(10) } else { 0 };
        while in_flight > most {
            assert!(drive.next_event().is_some(), "{in_flight} commands wait for ever");
            in_flight -= drive.advance(SimTime::FOREVER).len() as u64;
        }
    }
}

fn command(drive: &Drive, rng: &mut Rng, tag: u32) -> HostCommand {
    let end = drive.user_bytes() / UNIT_BYTES;
    let of = |op: Op, first: u64, count: u64| HostCommand::new(op, tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES));
    let count = 1 + rng.below(4);
    if let Some(table) = drive.translator().zones() {
        let zone = rng.below(table.zones().len() as u64);
        let (start, written) = (zone * u64::from(table.limits().size), u64::from(table.zones()[zone as usize].written));
        return match rng.below(8) {
            0..3 => of(Op::Write, (start + written).min(end - count), count),
            3 => of(Op::Append, start, count),
            4 => of(Op::Read, rng.below(end - count), count),
            5 => of(Op::Flush, 0, 0),
            _ => {
                let flags = CommandFlags::zone(ZoneAction::ALL[rng.below(4) as usize], false);
                HostCommand { flags, ..of(Op::Zone, start, 0) }
            }
        };
    }
    if let Some(chunks) = drive.translator().chunks() {
        let (chunk, size) = (rng.below(chunks.all().len() as u64), u64::from(chunks.rules().units));
        let written = u64::from(chunks.all()[chunk as usize].written);
        return match rng.below(10) {
            0..6 => of(Op::Write, (chunk * size + written).min(end - 8), 4 + 4 * rng.below(2)),
            6..9 => of(Op::Read, chunk * size + rng.below(size), 1),
            _ => of(Op::Trim, chunk * size, size),
        };
    }
    let first = rng.below(end - count) / (1 + rng.below(30));
    match rng.below(8) {
        0..4 => of(Op::Write, first, count),
        4 => HostCommand { length: Bytes(512), ..of(Op::Write, first, 1) },
        5 => of(Op::Flush, 0, 0),
        _ => of(Op::Read, first, count),
    }
}
