//! Drives with contents: what was written is read, byte by byte, also after losses of power.

use drive::embed::{Builder, EmbedErrorKind, EmbeddedDrive};
use kit::{Bytes, CommandFlags, HostCommand, Nanos, Op, Rng, SimTime, Status};

/// Bytes of the part of the drive that is used.
const PART: usize = 4 << 20;
const SECTOR: usize = 512;
const BUFFER: [&str; 3] = ["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];

fn built(sets: &[&str]) -> Builder {
    let builder = Builder::preset("tiny").expect("a preset").precondition("steady").contents(1 << 30).power_losses();
    sets.iter().fold(builder, |builder, set| builder.set(set))
}

/// Serves one command alone, and returns its status and its data.
fn serve(drive: &mut EmbeddedDrive, command: HostCommand, data: Option<&[u8]>) -> (Status, Vec<u8>) {
    let now = drive.now();
    match data {
        Some(data) => drive.submit_write(command, data, now),
        None => drive.submit(command, now),
    }
    .expect("it is valid");
    assert_eq!(drive.drain().expect("it goes on"), 1);
    let taken = drive.take(1);
    (taken.completions[0].status, taken.data(0).to_vec())
}

/// A random range of sectors of the part: short ones, and ones of several units.
fn range(rng: &mut Rng) -> (usize, usize) {
    let most = if rng.chance(0.3) { 200 } else { 12 };
    let sectors = 1 + rng.below(most) as usize;
    let first = rng.below((PART / SECTOR - sectors) as u64 + 1) as usize;
    (first * SECTOR, sectors * SECTOR)
}

/// Data of a write: each sector has a number of its own, or is of zeroes, or of a few values that come again.
fn data(rng: &mut Rng, length: usize) -> Vec<u8> {
    let kind = rng.below(10);
    let word = |rng: &mut Rng| match kind {
        0 => 0,
        1 => rng.below(3),
        _ => rng.below(u64::MAX),
    };
    (0..length / SECTOR).flat_map(|_| word(rng).to_le_bytes().repeat(SECTOR / 8)).collect()
}

#[test]
fn what_was_written_is_read() {
    for (seed, sets) in [
        &[][..],
        &BUFFER,
        &["ftl.partial_write=whole"],
        &["faults={program_failure=0.0001,erase_failure=0.0001,spare_blocks=12}"],
    ]
    .iter()
    .enumerate()
    {
        // Half of them are in a file.
        let builder = built(sets);
        let builder = if seed % 2 == 0 { builder } else { builder.contents_folder(std::env::temp_dir()) };
        let mut drive = builder.build().expect("valid");
        let mut rng = Rng::stream(seed as u64, "contents");
        let mut expected = vec![0; PART];
        for _ in 0..12_000 {
            let (at, length) = range(&mut rng);
            let (offset, bytes) = (Bytes(at as u64), Bytes(length as u64));
            match rng.below(20) {
                0 => {
                    serve(&mut drive, HostCommand::new(Op::Trim, 0, offset, bytes), None);
                    // Whole units are deallocated.
                    let (from, to) = (at.next_multiple_of(4096), (at + length) / 4096 * 4096);
                    expected[from.min(to)..to].fill(0);
                }
                1 => {
                    serve(&mut drive, HostCommand::flush(0), None);
                }
                2..10 => {
                    let found = serve(&mut drive, HostCommand::new(Op::Read, 0, offset, bytes), None);
                    assert!(found == (Status::Success, expected[at..at + length].to_vec()), "{sets:?}: {length} bytes at {at}");
                }
                _ => {
                    let data = data(&mut rng, length);
                    let (status, none) = serve(&mut drive, HostCommand::new(Op::Write, 0, offset, bytes), Some(&data));
                    assert_eq!((status, none.len()), (Status::Success, 0));
                    expected[at..at + length].copy_from_slice(&data);
                }
            }
        }
        let (kept, beside) = drive.contents_bytes().expect("it has contents");
        assert!(kept > PART as u64 / 2 && beside < kept / 20 + (1 << 20), "{sets:?}: {kept} bytes and {beside} beside them");
    }
}

/// Words that a sector may hold after a loss of power: what it held when it was last durable, and everything written
/// since.
type Allowed = Vec<Vec<u64>>;

#[test]
fn after_a_loss_of_power_durable_data_is_there_and_nothing_is_torn() {
    let parity = ["ftl.rain={dies=2}", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
    for (seed, sets) in [&BUFFER[..], &["buffer.policy=none"], &[&BUFFER[..], &parity].concat()].iter().enumerate() {
        let builder = built(sets);
        let builder = if seed == 0 { builder.contents_folder(std::env::temp_dir()) } else { builder };
        let mut drive = builder.build().expect("valid");
        let mut rng = Rng::stream(seed as u64, "losses");
        let mut allowed: Allowed = vec![vec![0]; PART / SECTOR];
        let (mut lost, mut kept) = (0, 0);
        for round in 0..60 {
            for _ in 0..rng.below(60) {
                write_some(&mut drive, &mut rng, &mut allowed);
            }
            if rng.chance(0.5) {
                drive.advance(drive.now() + Nanos(rng.below(3_000_000))).expect("it goes on");
            }
            let loss = drive.lose_power(Nanos::SECOND).expect("it is prepared");
            assert_eq!((loss.durable_lost, drive.in_flight()), (0, 0));
            drive.take(usize::MAX);
            let whole = HostCommand::new(Op::Read, 0, Bytes(0), Bytes(PART as u64));
            let (status, data) = serve(&mut drive, whole, None);
            assert_eq!(status, Status::Success);
            for (sector, bytes) in data.chunks_exact(SECTOR).enumerate() {
                let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8"))).collect();
                assert!(words.iter().all(|word| *word == words[0]), "{sets:?}, loss {round}: sector {sector} is torn");
                let found = &mut allowed[sector];
                let place = found.iter().rposition(|word| *word == words[0]);
                let place =
                    place.unwrap_or_else(|| panic!("{sets:?}, loss {round}: sector {sector} has {words:x?} of {found:x?}"));
                lost += found.len() - 1 - place;
                kept += usize::from(place > 0);
                *found = vec![words[0]];
            }
        }
        assert!(lost > 50 && kept > 500, "{sets:?}: {lost} writes of sectors lost, {kept} kept");
    }
}

/// Submits a write, or a flush that completes: later writes may be lost, and earlier ones may not.
fn write_some(drive: &mut EmbeddedDrive, rng: &mut Rng, allowed: &mut Allowed) {
    if rng.chance(0.05) {
        drive.submit(HostCommand::flush(1), drive.now()).expect("it is valid");
        drive.drain().expect("it goes on");
        drive.take(usize::MAX);
        allowed.iter_mut().for_each(|words| *words = words.split_off(words.len() - 1));
        return;
    }
    let (at, length) = range(rng);
    let data: Vec<u8> =
        (0..length / SECTOR).flat_map(|_| (1 + rng.below(u64::MAX - 1)).to_le_bytes().repeat(SECTOR / 8)).collect();
    let is_durable = rng.chance(0.1);
    let flags = if is_durable { CommandFlags::FUA } else { CommandFlags::NONE };
    let command = HostCommand { flags, ..HostCommand::new(Op::Write, 0, Bytes(at as u64), Bytes(length as u64)) };
    drive.submit_write(command, &data, drive.now()).expect("it is valid");
    for (sector, bytes) in (at / SECTOR..).zip(data.chunks_exact(SECTOR)) {
        allowed[sector].push(u64::from_le_bytes(bytes[..8].try_into().expect("8")));
    }
    // Others stay in flight.
    if is_durable || rng.chance(0.6) {
        drive.drain().expect("it goes on");
        drive.take(usize::MAX);
    }
    if is_durable {
        (at / SECTOR..(at + length) / SECTOR).for_each(|sector| {
            let words = &mut allowed[sector];
            *words = words.split_off(words.len() - 1);
        });
    }
}

#[test]
fn what_cannot_be_done_with_contents_is_said() {
    let kind = |result: Result<(), drive::embed::EmbedError>| result.map_err(|error| error.kind);
    let write = HostCommand::new(Op::Write, 0, Bytes(0), Bytes(4096));
    let mut drive = built(&[]).build().expect("valid");
    assert_eq!(kind(drive.submit(write, SimTime::ZERO)), Err(EmbedErrorKind::Unsupported), "no data");
    assert_eq!(kind(drive.submit_write(write, &[1; 512], SimTime::ZERO)), Err(EmbedErrorKind::Range));
    let outside = HostCommand { offset: Bytes(1 << 50), ..write };
    assert_eq!(kind(drive.submit_write(outside, &[1; 4096], SimTime::ZERO)), Err(EmbedErrorKind::Range));
    assert_eq!(drive.in_flight(), 0);

    let mut small = Builder::preset("tiny").expect("a preset").contents(8192).build().expect("valid");
    let data: Vec<u8> = (0..3 * 4096).map(|byte| (byte / 4096) as u8 + 1).collect();
    let three = HostCommand { length: Bytes(3 * 4096), ..write };
    assert_eq!(kind(small.submit_write(three, &data, SimTime::ZERO)), Err(EmbedErrorKind::Full));
    assert_eq!((small.in_flight(), kind(small.submit_write(write, &data[..4096], SimTime::ZERO))), (0, Ok(())));
    assert_eq!(small.lose_power(Nanos(1)).map_err(|error| error.kind).err(), Some(EmbedErrorKind::Unsupported));

    let in_file = built(&[]).contents_folder(std::env::temp_dir()).build().expect("valid");
    assert_eq!(kind(in_file.after_power_loss(Nanos(1)).map(drop)), Err(EmbedErrorKind::Unsupported), "there is one file");
    let nowhere = built(&[]).contents_folder("nowhere/at/all").build().map(drop).unwrap_err();
    assert_eq!(nowhere.kind, EmbedErrorKind::Unsupported);
    assert!(nowhere.text.starts_with("nowhere/at/all: "), "{nowhere}");

    let mut plain = Builder::preset("tiny").expect("a preset").build().expect("valid");
    assert_eq!(kind(plain.submit_write(write, &[1; 4096], SimTime::ZERO)), Err(EmbedErrorKind::Unsupported));
    let zoned = Builder::preset("tiny").expect("a preset").set("ftl.translation=waf").contents(8192).build();
    assert_eq!(zoned.map(|_| ()).map_err(|error| error.kind), Err(EmbedErrorKind::Unsupported));
}
