//! Contents that follow records one by one.

use super::*;
use kit::{ModeId, Owner, Reason, Shape};

const UNIT: usize = 4096;

fn contents(limit: u64) -> Contents {
    Contents::new(&geometry(), limit, None)
}

fn geometry() -> Geometry {
    let shape = Shape {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 8,
        pages_per_block: 16,
        page_bytes: UNIT as u64,
        unit: UnitSize::default(),
        bits_per_cell: 1,
        planes_per_program: 1,
        pages_per_program: 1,
        superblock: 1,
    };
    Geometry::new(shape)
}

fn accept(contents: &mut Contents, command: u32, lpn: u32) {
    contents.follow(&Record::WriteAccepted { command: CommandId(command), lpn: Lpn(lpn) });
}

fn bind(contents: &mut Contents, command: u32, lpn: u32, ppn: u32) {
    accept(contents, command, lpn);
    contents.follow(&Record::Bound { lpn: Lpn(lpn), ppn: Ppn(ppn), command: CommandId(command), mode: ModeId(0) });
}

fn program(contents: &mut Contents, ppn: u32) {
    contents.follow(&Record::Programmed { block: BlockId(ppn / 16), first: Ppn(ppn), count: 1 });
}

/// Writes one unit of equal bytes to a place.
fn write(contents: &mut Contents, lpn: u32, byte: u8, ppn: u32) {
    let command = CommandId(9);
    contents.write(command, Bytes(u64::from(lpn) * UNIT as u64), &[byte; UNIT]).unwrap();
    bind(contents, 9, lpn, ppn);
    contents.ended(command);
}

/// Reads one unit from a source.
fn read(contents: &mut Contents, lpn: u32, source: ReadSource) -> Result<Vec<u8>, Fault> {
    let command = CommandId(3);
    contents.read(command, Bytes(u64::from(lpn) * UNIT as u64), Bytes(UNIT as u64));
    contents.follow(&Record::ReadResolved { command, lpn: Lpn(lpn), source });
    let mut bytes = vec![0xee; UNIT];
    contents.take(command, &mut bytes).map(|()| bytes)
}

#[test]
fn a_place_has_what_was_bound_to_it_until_its_block_is_erased() {
    let mut contents = contents(u64::MAX);
    write(&mut contents, 5, 1, 0);
    write(&mut contents, 5, 2, 1);
    assert_eq!(read(&mut contents, 5, ReadSource::Controller(Ppn(1))).unwrap(), [2; UNIT]);
    assert_eq!(read(&mut contents, 5, ReadSource::Flash(Ppn(0))).unwrap(), [1; UNIT], "an old copy is what it was");
    let (reason, mode) = (Reason::Gc, ModeId(0));
    contents.follow(&Record::Relocated { lpn: Lpn(5), from: Ppn(1), to: Ppn(40), reason, mode });
    contents.follow(&Record::Erased { block: BlockId(0) });
    assert_eq!(read(&mut contents, 5, ReadSource::Flash(Ppn(40))).unwrap(), [2; UNIT]);
    assert_eq!(read(&mut contents, 5, ReadSource::Flash(Ppn(1))).unwrap(), [0; UNIT]);
    assert_eq!(read(&mut contents, 5, ReadSource::Unmapped).unwrap(), [0; UNIT]);
    assert_eq!(contents.bytes(), UNIT as u64);
    contents.follow(&Record::Erased { block: BlockId(2) });
    assert_eq!(contents.bytes(), UNIT as u64, "the latest data of unit 5");
    contents.follow(&Record::Trimmed { lpn: Lpn(5) });
    assert_eq!(contents.bytes(), 0);
}

#[test]
fn a_write_of_a_part_keeps_the_rest_of_its_units() {
    let mut contents = contents(u64::MAX);
    write(&mut contents, 1, 1, 0);
    // From sector 7 of unit 0 to sector 0 of unit 2.
    let command = CommandId(4);
    contents.write(command, Bytes(4096 - 512), &[7; 4096 + 1024]).unwrap();
    for (lpn, slot) in [(0, 0), (1, 1), (2, 2)] {
        accept(&mut contents, 4, lpn);
        contents.follow(&Record::Buffered { command, lpn: Lpn(lpn), slot });
    }
    // Before these are programmed, a part of the first is written again.
    let second = CommandId(5);
    contents.write(second, Bytes(0), &[8; 512]).unwrap();
    accept(&mut contents, 5, 0);
    contents.follow(&Record::Buffered { command: second, lpn: Lpn(0), slot: 0 });
    contents.ended(command);
    contents.ended(second);
    contents.follow(&Record::BoundFromBuffer { slot: 1, lpn: Lpn(1), ppn: Ppn(1), mode: ModeId(0) });

    let first = read(&mut contents, 0, ReadSource::Buffer(0)).unwrap();
    assert_eq!((&first[..512], &first[512..3584], &first[3584..]), (&[8; 512][..], &[0; 3072][..], &[7; 512][..]));
    assert_eq!(read(&mut contents, 1, ReadSource::Flash(Ppn(1))).unwrap(), [7; UNIT]);
    let last = read(&mut contents, 2, ReadSource::Buffer(2)).unwrap();
    assert_eq!((&last[..512], &last[512..]), (&[7; 512][..], &[0; 3584][..]));
    assert_eq!(read(&mut contents, 1, ReadSource::Flash(Ppn(0))).unwrap(), [1; UNIT]);
}

#[test]
fn a_read_of_a_part_has_its_bytes_alone() {
    let mut contents = contents(u64::MAX);
    write(&mut contents, 0, 1, 0);
    write(&mut contents, 1, 2, 1);
    let command = CommandId(0);
    contents.read(command, Bytes(3072), Bytes(2048));
    for lpn in [0, 1] {
        let (lpn, source) = (Lpn(lpn), ReadSource::Flash(Ppn(lpn)));
        contents.follow(&Record::ReadResolved { command, lpn, source });
    }
    let mut bytes = [0; 2048];
    contents.take(command, &mut bytes).unwrap();
    assert_eq!((&bytes[..1024], &bytes[1024..]), (&[1; 1024][..], &[2; 1024][..]));
    contents.read(command, Bytes(3072), Bytes(2048));
    assert_eq!(contents.take(command, &mut bytes), Err(Fault::NotLookedUp(Lpn(0))));
}

#[test]
fn a_loss_of_power_tears_programs_in_flight_and_takes_what_the_controller_held() {
    let mut contents = contents(u64::MAX);
    write(&mut contents, 1, 1, 0);
    program(&mut contents, 0);
    write(&mut contents, 1, 2, 1);
    write(&mut contents, 2, 3, 2);
    contents.write(CommandId(7), Bytes(0), &[4; 100]).unwrap();
    write(&mut contents, 3, 5, 32);
    program(&mut contents, 32);
    contents.lose_power(&[BlockId(2)]);
    contents.recovered(|place| (place == Ppn(0)).then_some(Lpn(1)));
    assert_eq!(contents.bytes(), UNIT as u64);
    assert_eq!(read(&mut contents, 3, ReadSource::Flash(Ppn(32))), Err(Fault::Torn(Lpn(3))), "its erase was interrupted");
    assert_eq!(read(&mut contents, 1, ReadSource::Flash(Ppn(0))).unwrap(), [1; UNIT]);
    assert_eq!(read(&mut contents, 2, ReadSource::Flash(Ppn(2))), Err(Fault::Torn(Lpn(2))));
    // A part is written over what the recovered drive has.
    contents.write(CommandId(0), Bytes(4096), &[9; 512]).unwrap();
    bind(&mut contents, 0, 1, 16);
    let found = read(&mut contents, 1, ReadSource::Controller(Ppn(16))).unwrap();
    assert_eq!((&found[..512], &found[512..]), (&[9; 512][..], &[1; 3584][..]));
    contents.follow(&Record::Erased { block: BlockId(0) });
    assert_eq!(read(&mut contents, 2, ReadSource::Flash(Ppn(2))).unwrap(), [0; UNIT]);
}

#[test]
fn data_that_does_not_fit_is_refused_whole() {
    let mut contents = contents(3 * UNIT as u64);
    write(&mut contents, 0, 1, 0);
    let mut data = [5; 3 * UNIT];
    data[UNIT..].fill(6);
    data[2 * UNIT..].fill(7);
    assert_eq!(contents.write(CommandId(1), Bytes(0), &data), Err(Refusal::Full));
    assert_eq!(contents.bytes(), UNIT as u64);
    data[2 * UNIT..].fill(6);
    contents.write(CommandId(1), Bytes(0), &data).unwrap();
    assert_eq!(contents.write(CommandId(2), Bytes(0), &[8; 512]), Err(Refusal::Full), "a part makes a whole unit");
    contents.ended(CommandId(1));
    contents.write(CommandId(2), Bytes(0), &[8; 512]).unwrap();
    contents.ended(CommandId(2));
    assert_eq!(contents.bytes(), UNIT as u64);
}

#[test]
fn a_failed_program_gives_its_data_to_the_next_place() {
    let mut contents = contents(u64::MAX);
    write(&mut contents, 1, 1, 0);
    contents.follow(&Record::ProgramFailed { block: BlockId(0), first: Ppn(0), count: 1 });
    contents.follow(&Record::BoundAgain { lpn: Lpn(1), from: Ppn(0), to: Ppn(16), mode: ModeId(0) });
    contents.follow(&Record::Retired { block: BlockId(0) });
    contents.follow(&Record::ReadSensed { ppn: Ppn(16), owner: Owner::Collector });
    assert_eq!(read(&mut contents, 1, ReadSource::Controller(Ppn(16))).unwrap(), [1; UNIT]);
}

#[test]
fn a_write_that_is_submitted_again_keeps_what_others_wrote_meanwhile() {
    let mut contents = contents(u64::MAX);
    let (first, second) = (CommandId(1), CommandId(2));
    contents.write(first, Bytes(0), &[1; 512]).unwrap();
    accept(&mut contents, 1, 0);
    contents.write(second, Bytes(1024), &[2; 512]).unwrap();
    bind(&mut contents, 2, 0, 0);
    contents.ended(second);
    contents.follow(&Record::SubmittedAgain { command: first });
    bind(&mut contents, 1, 0, 1);
    contents.ended(first);
    let found = read(&mut contents, 0, ReadSource::Controller(Ppn(1))).unwrap();
    assert_eq!((&found[..512], &found[512..1024], &found[1024..1536]), (&[1; 512][..], &[0; 512][..], &[2; 512][..]));
    contents.follow(&Record::Trimmed { lpn: Lpn(0) });
    contents.follow(&Record::Erased { block: BlockId(0) });
    assert_eq!(contents.bytes(), 0);
}

#[test]
fn saved_contents_are_loaded_with_superseded_and_torn_places() {
    let mut contents = contents(u64::MAX);
    let geometry = geometry();
    write(&mut contents, 5, 1, 0);
    program(&mut contents, 0);
    write(&mut contents, 5, 2, 1);
    program(&mut contents, 1);
    write(&mut contents, 6, 0, 2);
    write(&mut contents, 7, 2, 3);
    program(&mut contents, 2);
    let refused = contents.save(&mut Vec::new()).unwrap_err().to_string();
    assert_eq!(refused, "a program at place 3 is under way: expected a drive at rest");
    contents.lose_power(&[]);
    contents.recovered(|place| (place == Ppn(1)).then_some(Lpn(5)));
    let mut bytes = Vec::new();
    contents.save(&mut bytes).unwrap();
    let load = |bytes: &[u8], limit: u64| Contents::new(&geometry, limit, None).load(&geometry, 128, &mut &bytes[..]);
    let mut loaded = load(&bytes, u64::MAX).unwrap();
    let mut again = Vec::new();
    loaded.save(&mut again).unwrap();
    assert_eq!(again, bytes, "the same contents give the same bytes");
    assert_eq!(loaded.bytes(), 2 * UNIT as u64, "equal units are kept once");
    for (place, byte) in [(0, 1), (1, 2), (2, 0)] {
        assert_eq!(read(&mut loaded, 5, ReadSource::Flash(Ppn(place))), Ok(vec![byte; UNIT]));
    }
    assert_eq!(read(&mut loaded, 7, ReadSource::Flash(Ppn(3))), Err(Fault::Torn(Lpn(7))));
    assert!(!loaded.is_zeroes(Lpn(5)) && loaded.is_zeroes(Lpn(6)) && loaded.is_zeroes(Lpn(7)));
    for end in 0..bytes.len() {
        assert!(load(&bytes[..end], u64::MAX).is_err(), "{end} of {} bytes", bytes.len());
    }
    assert!(load(&bytes, UNIT as u64).unwrap_err().contains("more than 4096 bytes, the limit"));
    let mut other = bytes.clone();
    other[1] = 0x20;
    assert_eq!(load(&other, u64::MAX).unwrap_err(), "its contents have units of 8192 bytes, and this drive has units of 4096");
    let at = 12 + 2 * UNIT + 4;
    other = bytes.clone();
    other[at + 3] = 9;
    assert!(load(&other, u64::MAX).unwrap_err().contains("place 150994944, and this drive has 128"));
    other = bytes;
    other[at + 4] = 3;
    assert_eq!(load(&other, u64::MAX).unwrap_err(), "its contents have data 3 of 2");
}

/// A file that has been cut off is an error of the reads that need it, and of the writes of a part.
#[test]
fn contents_in_a_file_tell_its_errors() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut contents = Contents::new(&geometry(), u64::MAX, Some(file.reopen().unwrap()));
    write(&mut contents, 1, 1, 0);
    write(&mut contents, 2, 0, 1);
    assert_eq!(read(&mut contents, 1, ReadSource::Flash(Ppn(0))).unwrap(), [1; UNIT]);
    file.as_file().set_len(0).unwrap();
    assert_eq!(read(&mut contents, 1, ReadSource::Flash(Ppn(0))), Err(Fault::File(ErrorKind::UnexpectedEof)));
    assert_eq!(read(&mut contents, 2, ReadSource::Flash(Ppn(1))).unwrap(), [0; UNIT], "zeroes are not in the file");
    assert_eq!(contents.failure(), None);
    contents.write(CommandId(1), Bytes(4096), &[7; 512]).unwrap();
    accept(&mut contents, 1, 1);
    assert_eq!(contents.failure(), Some(ErrorKind::UnexpectedEof), "the rest of the unit is gone");
    assert!(contents.fork().is_none());
}
