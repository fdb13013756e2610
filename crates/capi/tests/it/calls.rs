//! Single calls: completions that wait, causes, files, streams, texts.

use crate::door::{CAUSES, Door, FLUSH, FOREVER, HISTORY, READ, Setup, WRITE, block};
use ssdlab::abi::*;
use ssdlab::{ChunkRecord, CommandRecord, GeometryRecord, Status, ZoneRecord};
use std::ffi::{CStr, CString};

fn tiny() -> Setup {
    Setup { precondition: Some("fill"), ..Setup::preset("tiny") }
}

fn drive(setup: &Setup) -> Door {
    setup.create().unwrap_or_else(|(_, text)| panic!("{text}"))
}

#[test]
fn a_read_returns_what_was_submitted_and_its_causes_add_up() {
    let drive = drive(&Setup { flags: CAUSES, ..tiny() });
    drive.submit(&CommandRecord { queue: 0, stream: 9, ..block(READ, 77, 5) }, 1_000);
    assert_eq!((drive.in_flight(), drive.now(), drive.next_event()), (1, 0, 1_000));
    assert_eq!(drive.advance(1_000), 0);
    assert_eq!((drive.in_flight(), drive.now()), (1, 1_000));
    assert_eq!(drive.advance(FOREVER), 1);
    let (done, causes) = drive.completions_with_causes(4).pop().expect("it waits");
    assert_eq!((done.tag, done.op, done.stream, done.length, done.media_error), (77, READ, 9, 4096, 0));
    assert_eq!((done.submitted, done.completed), (1_000, drive.now()));
    assert_eq!(causes.iter().sum::<u64>(), done.completed - done.submitted);
    // SAFETY: the name of a cause is a text that lives as long as the library.
    let name = |cause| unsafe { CStr::from_ptr(ssdlab_cause_name(cause)) }.to_str().expect("UTF-8");
    let named: Vec<_> = (0..).zip(&causes).filter(|(_, spent)| **spent > 0).map(|(cause, _)| name(cause)).collect();
    assert_eq!(named, ["bus_command", "sense", "transfer"]);
    assert!(ssdlab_cause_name(ssdlab_cause_count()).is_null());
    assert_eq!((drive.in_flight(), drive.advance(FOREVER)), (0, 0), "nothing is left");
}

#[test]
fn completions_wait_until_they_are_taken_and_keep_their_order() {
    let drive = drive(&Setup { flags: CAUSES, ..tiny() });
    for tag in 0..40 {
        drive.submit(&block(READ, tag, u64::from(tag) * 31), 0);
    }
    // Some are taken between two steps, so that others wait while time passes.
    let first = drive.advance(FOREVER);
    assert!((1..40).contains(&first));
    let waiting = drive.advance(FOREVER);
    assert!(waiting > first);
    let mut all = drive.completions_with_causes(1);
    assert_eq!(drive.drain(), 39);
    all.extend(drive.completions_with_causes(10));
    all.extend(drive.completions_with_causes(100));
    assert_eq!(all.len(), 40);
    assert!(all.is_sorted_by_key(|(done, _)| done.completed));
    for (done, causes) in &all {
        assert_eq!(causes.iter().sum::<u64>(), done.completed - done.submitted, "{done:?}");
    }
    let mut tags: Vec<_> = all.iter().map(|(done, _)| done.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..40).collect::<Vec<_>>());
}

#[test]
fn writes_that_are_durable_take_longer_and_a_flush_waits_for_the_others() {
    let drive = drive(&Setup { precondition: Some("none"), ..Setup::preset("tlc-1tb") });
    let latency = |command: &CommandRecord| {
        drive.submit(command, drive.now());
        drive.drain();
        let done = drive.completions(2).pop().expect("it is done");
        done.completed - done.submitted
    };
    let [buffered, durable] = [0, 1].map(|flags| latency(&CommandRecord { flags, ..block(WRITE, 1, 8) }));
    assert!(durable > 10 * buffered, "{durable} {buffered}");
    latency(&block(WRITE, 2, 16));
    let flush = latency(&CommandRecord { op: FLUSH, ..CommandRecord::default() });
    assert!(flush > 10 * buffered, "{flush}");
    assert_eq!(drive.summary()["commands"]["flush"], 1);
}

#[test]
fn streams_and_measurements_are_in_the_summary() {
    let drive = drive(&Setup { streams: vec!["log", "data"], flags: HISTORY, ..tiny() });
    for tag in 0..6 {
        drive.submit(&CommandRecord { stream: u16::from(tag >= 2), ..block(READ, tag, 3) }, 0);
    }
    assert_eq!(drive.summary()["status"], "partial");
    drive.drain();
    let summary = drive.summary();
    let streams: Vec<_> = summary["streams"].as_array().expect("two streams").iter().collect();
    let counts: Vec<_> = streams.iter().map(|stream| (stream["name"].as_str(), stream["commands"]["read"].as_u64())).collect();
    assert_eq!(counts, [(Some("log"), Some(2)), (Some("data"), Some(4))]);
    assert_eq!(summary["status"], "complete");
    assert_eq!((&summary["commands"]["read"], &summary["workload"]), (&6.into(), &"host".into()));

    let digest = drive.history();
    assert!(digest.0 > 6);
    assert_eq!(digest, drive.history(), "asking changes nothing");
    assert_eq!(drive.run(ssdlab_restart_measurement), Status::Ok);
    assert_eq!((drive.history().0, &drive.summary()["commands"]["read"]), (0, &0.into()));
    assert_eq!(drive.completions(9).len(), 6, "completions that wait stay");

    // A command in flight counts when it completes.
    drive.submit(&block(READ, 6, 3), drive.now());
    drive.advance(drive.now() + 1_000);
    assert_eq!(drive.run(ssdlab_restart_measurement), Status::Ok);
    drive.drain();
    let summary = drive.summary();
    assert_eq!((&summary["commands"]["read"], &summary["streams"][0]["begin_ns"]), (&1.into(), &0.into()));
}

#[test]
fn a_shutdown_ends_the_measurement_and_the_drive_can_be_used_on() {
    let drive = drive(&Setup { precondition: Some("none"), ..Setup::preset("tlc-1tb") });
    drive.submit(&block(WRITE, 0, 0), 0);
    drive.drain();
    let end = drive.now();
    assert_eq!(drive.run(ssdlab_shut_down), Status::Ok);
    let summary = drive.summary();
    assert_eq!(summary["simulated_ns"], end);
    assert_eq!(summary["shutdown_ns"], drive.now() - end);
    assert!(drive.now() > end, "the write buffer was programmed");
    drive.submit(&block(READ, 1, 0), drive.now());
    assert_eq!(drive.drain(), 2);
}

#[test]
fn a_description_has_a_base_and_files_and_is_returned_resolved() {
    let text = "base = \"tiny\"\ntitle = \"mine\"\n[flash]\nchannels = 4\n";
    let based = drive(&Setup::text(text));
    assert!(based.user_bytes() > drive(&Setup::preset("tiny")).user_bytes());
    let resolved = based.description();
    assert!(resolved.contains("title = \"mine\"") && resolved.contains("channels = 4"), "{resolved}");
    assert_eq!(drive(&Setup::text(&resolved)).user_bytes(), based.user_bytes());
    assert_eq!(based.run(ssdlab_rest), Status::Ok);
}

#[test]
fn a_drive_is_saved_to_a_file_and_loaded_from_it() {
    let setup = Setup { seed: 3, ..tiny() };
    let saved = drive(&setup);
    saved.submit(&block(WRITE, 0, 7), 0);
    saved.drain();
    let path = CString::new(format!("{}/saved.ssd", env!("CARGO_TARGET_TMPDIR"))).expect("no zero byte");
    // SAFETY: the drive lives, and the path is a text.
    assert_eq!(unsafe { ssdlab_save_file(saved.0, path.as_ptr()) }, Status::Ok, "{}", saved.error());
    let behind = Setup { precondition: None, ..setup };
    let loaded = behind.load_file(&path).unwrap_or_else(|(_, text)| panic!("{text}"));
    assert_eq!((loaded.now(), loaded.notes().as_str()), (saved.now(), ""));
    assert_eq!(std::fs::read(path.to_str().expect("UTF-8")).expect("it was written"), saved.save().expect("at rest"));

    let other = Setup { seed: 4, ..behind }.load_file(&path).unwrap_or_else(|(_, text)| panic!("{text}"));
    assert!(other.notes().contains("saved with seed 3, and is loaded with seed 4"), "{}", other.notes());
}

/// Returns the zones of a drive from number `first` on, at most two.
fn zones(drive: &Door, first: u64) -> Result<Vec<ZoneRecord>, Status> {
    let (mut zones, mut count) = ([ZoneRecord::default(); 2], 9);
    // SAFETY: the drive lives, and there is memory for two zones and a number.
    let status = unsafe { ssdlab_zones(drive.0, first, zones.as_mut_ptr(), 2, &raw mut count) };
    if status == Status::Ok { Ok(zones[..count as usize].to_vec()) } else { Err(status) }
}

#[test]
fn appends_and_actions_reach_the_zones() {
    let text = "base = \"tiny\"\n[buffer]\npolicy = \"write_back\"\ncapacity = \"1MiB\"\nflush_after = \"1ms\"\n\
                [ftl]\ntranslation = \"zns\"\n";
    let drive = drive(&Setup::text(text));
    let start = zones(&drive, 1).expect("it has zones")[0].start;
    let append = |tag: u32| CommandRecord { op: 4, offset: start, ..block(WRITE, tag, 0) };
    let reset = CommandRecord { op: 5, flags: 0x40, length: 0, ..append(4) };
    for command in [append(1), append(2), CommandRecord { offset: start + 4096, ..append(3) }] {
        drive.submit(&command, 0);
    }
    drive.drain();
    let mut done: Vec<_> = drive.completions(8).iter().map(|done| (done.tag, done.offset - start, done.status)).collect();
    done.sort_unstable();
    // An append that does not name the start of a zone has an invalid field.
    assert_eq!(done, [(1, 0, 0), (2, 4096, 0), (3, 4096, 2)]);
    let zone = zones(&drive, 1).expect("it has zones")[0];
    assert_eq!((zone.write_pointer - start, zone.capacity, zone.state), (8192, 1 << 20, 2));
    drive.submit(&reset, drive.now());
    drive.drain();
    assert_eq!(zones(&drive, 1).map(|zones| (zones[0].write_pointer, zones[0].state)), Ok((start, 1)));
    assert_eq!(zones(&drive, u64::MAX), Ok(Vec::new()));
    assert_eq!(zones(&self::drive(&tiny()), 0), Err(Status::Unsupported));
}

/// Returns the first chunks of a drive, at most four.
fn chunks(drive: &Door) -> Result<Vec<ChunkRecord>, Status> {
    let (mut chunks, mut count) = ([ChunkRecord::default(); 4], 9);
    // SAFETY: the drive lives, and there is memory for four chunks and a number.
    let status = unsafe { ssdlab_chunks(drive.0, 0, chunks.as_mut_ptr(), 4, &raw mut count) };
    if status == Status::Ok { Ok(chunks[..count as usize].to_vec()) } else { Err(status) }
}

fn geometry(drive: &Door) -> Result<GeometryRecord, Status> {
    let mut geometry = GeometryRecord::default();
    // SAFETY: the drive lives, and there is memory for a record.
    let status = unsafe { ssdlab_physical_geometry(drive.0, &raw mut geometry) };
    if status == Status::Ok { Ok(geometry) } else { Err(status) }
}

#[test]
fn vectored_commands_reach_the_chunks() {
    let drive = drive(&Setup::text("base = \"tiny\"\n[ftl]\ntranslation = \"pass_through\"\n"));
    let sizes = geometry(&drive).expect("it has chunks");
    let whole = u64::from(sizes.chunk_units) * u64::from(sizes.unit_bytes);
    let (die, unit) = (whole * u64::from(sizes.chunks_per_die), u64::from(sizes.unit_bytes));
    assert_eq!((sizes.ws_min, sizes.unit_bytes), (1, 4096));
    let vector = |op: u8, tag: u32, addresses: &[u64]| {
        let command = CommandRecord { op, length: 0, ..block(op, tag, 0) };
        // SAFETY: the drive and the command live, and there are as many addresses.
        unsafe { ssdlab_submit_vector(drive.0, &raw const command, addresses.as_ptr(), addresses.len() as u64, drive.now()) }
    };
    let status = |tag: u32| {
        drive.drain();
        drive.completions(8).iter().find(|done| done.tag == tag).expect("it completes").status
    };
    // Two units of the first chunk of die 0, and one of die 1, in one command.
    assert_eq!(vector(WRITE, 1, &[0, die, unit]), Status::Ok);
    assert_eq!(status(1), 0);
    assert_eq!(chunks(&drive).map(|chunks| (chunks[0].write_pointer, chunks[0].state)), Ok((2 * unit, 4)));
    assert_eq!(vector(READ, 2, &[die, unit]), Status::Ok);
    assert_eq!(status(2), 0);
    assert_eq!(vector(READ, 3, &[2 * unit]), Status::Ok);
    assert_eq!(status(3), 0x287);
    assert_eq!(vector(WRITE, 4, &[unit]), Status::Ok);
    assert_eq!(status(4), 0x2f2);
    // An open chunk is not reset.
    assert_eq!(vector(2, 5, &[0]), Status::Ok);
    assert_eq!(status(5), 0x2c1);
    assert_eq!(vector(READ, 6, &[]), Status::Range);
    assert_eq!(vector(READ, 6, &[0; 65]), Status::Range);
    assert_eq!(vector(READ, 6, &[1]), Status::Range);
    assert_eq!(vector(READ, 6, &[u64::MAX - 4095]), Status::Range);
    // SAFETY: null is allowed where addresses are promised.
    let null =
        unsafe { ssdlab_submit_vector(drive.0, &raw const *Box::new(block(READ, 7, 0)), std::ptr::null(), 1, drive.now()) };
    assert_eq!(null, Status::Null);
    let other = self::drive(&tiny());
    assert_eq!((chunks(&other), geometry(&other)), (Err(Status::Unsupported), Err(Status::Unsupported)));
}
