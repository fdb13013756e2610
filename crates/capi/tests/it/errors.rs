//! Errors: each has a status and a text, and leaves the drive as it was.

use crate::door::{CAUSES, Door, FLUSH, FOREVER, READ, Setup, WRITE, block};
use drive::session::{Files, RunRequest, run};
use drive::streams::Outputs;
use ssdlab::abi::*;
use ssdlab::{ByteBuffer, CommandRecord, CompletionRecord, Options, Status};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use workload::Input;

fn tiny() -> Door {
    Setup::preset("tiny").create().unwrap_or_else(|(_, text)| panic!("{text}"))
}

#[track_caller]
fn assert_refused(setup: &Setup, status: Status, texts: &[&str]) {
    let Err((found, text)) = setup.create() else { panic!("expected {status:?}") };
    assert_eq!(found, status, "{text}");
    for part in texts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn all_problems_of_a_description_are_reported_with_their_lines() {
    let text = "base = \"tiny\"\n[flash]\nchannels = 0\nchipz = 2\n[ftl]\ngc_low_blocks = \"x\"\n";
    let lines = ["drive:3", "drive:4", "chipz", "drive:6"];
    assert_refused(&Setup::text(text), Status::Description, &lines);
    assert_refused(&Setup::preset("tinny"), Status::Description, &["tinny", "did you mean `tiny`?"]);
    let with = |setup: Setup, texts: &[&str]| assert_refused(&setup, Status::Description, texts);
    with(Setup { sets: vec!["flash.chanels=4".to_owned()], ..Setup::preset("tiny") }, &["chanels", "did you mean"]);
    with(Setup { policy: Some("ofwarr"), ..Setup::preset("tiny") }, &["ofwarr", "ofwar"]);
    with(Setup { precondition: Some("full"), ..Setup::preset("tiny") }, &["full", "fill"]);
    assert_refused(
        &Setup { policy: Some("clairvoyant"), ..Setup::preset("tiny") },
        Status::Unsupported,
        &["clairvoyant", "future"],
    );
    assert_refused(&Setup { flags: 64, ..Setup::preset("tiny") }, Status::Argument, &["0x40"]);
    let both = Setup { description: Some("base = \"tiny\"".to_owned()), ..Setup::preset("tiny") };
    assert_refused(&both, Status::Argument, &["2 of preset, path and description"]);
    assert_refused(&Setup { preset: None, ..Setup::preset("tiny") }, Status::Argument, &["0 of preset"]);
}

/// Creates a drive with raw options. Returns the status and the text of the error.
fn create(options: *const Options) -> (Status, String) {
    let (mut drive, mut error) = (null_mut(), ByteBuffer::EMPTY);
    // SAFETY: the pointers are those of values that live, or null; the options are as they say.
    unsafe {
        let status = ssdlab_create(options, &mut drive, &mut error);
        assert!(drive.is_null(), "there is no drive");
        let text = CStr::from_ptr(error.data).to_str().expect("UTF-8").to_owned();
        ssdlab_free(&mut error);
        (status, text)
    }
}

#[test]
fn options_of_another_version_are_refused() {
    let known = Options { preset: c"tiny".as_ptr(), ..Options::new() };
    for (options, part) in [
        (Options { abi: 0, ..known }, "options.abi = 0: expected 2"),
        (Options { abi: 3, ..known }, "options.abi = 3"),
        (Options { size: known.size - 24, ..known }, "options.size = "),
        (Options { size: 0, ..known }, "options.size = 0"),
        (Options { size: 1 << 40, ..known }, "options.size = "),
    ] {
        let (status, text) = create(&options);
        assert!(status == Status::Abi && text.contains(part), "{status:?} {text}");
    }
    assert_eq!(create(null()).0, Status::Null);
    // A longer record, of a later header: what this library does not know must be zero.
    #[repr(C)]
    struct Longer {
        known: Options,
        more: u64,
    }
    let longer = |more| Longer { known: Options { size: size_of::<Longer>() as u64, ..known }, more };
    let later = longer(1);
    let (status, text) = create((&raw const later).cast());
    assert!(status == Status::Abi && text.contains("is not zero"), "{status:?} {text}");
    let (fits, mut drive) = (longer(0), null_mut());
    // SAFETY: the options are as they say; no text of an error is requested.
    unsafe {
        assert_eq!(ssdlab_create((&raw const fits).cast(), &mut drive, null_mut()), Status::Ok);
        assert_eq!(ssdlab_create((&raw const fits).cast(), null_mut(), null_mut()), Status::Null);
        assert_eq!(ssdlab_destroy(&mut drive), Status::Ok);
        // Destroyed: the pointer is null now, which is no error, but no drive either.
        assert_eq!(ssdlab_destroy(&mut drive), Status::Ok);
        assert_eq!(ssdlab_rest(drive), Status::Null);
        assert_eq!(ssdlab_destroy(null_mut()), Status::Null);
        assert!(!CStr::from_ptr(ssdlab_last_error(drive)).is_empty());
    }
    let (status, text) = create(&Options { preset: null(), path: c"no/such/file.toml".as_ptr(), ..known });
    assert!(status == Status::File && text.contains("no/such/file.toml"), "{status:?} {text}");
    let (status, text) = create(&Options { host: c"\xff".as_ptr(), ..known });
    assert!(status == Status::Argument && text.contains("options.host"), "{status:?} {text}");
}

#[test]
fn commands_that_are_not_valid_change_nothing() {
    let drive = tiny();
    let end = drive.user_bytes();
    let read = block(READ, 0, 0);
    for (command, at, status, part) in [
        (CommandRecord { op: 6, ..read }, 0, Status::Op, "command.op = 6: expected one of 0 (read), 1 (write)"),
        (CommandRecord { op: 4, ..read }, 0, Status::Unsupported, "append: the drive has no zones"),
        (CommandRecord { op: 5, flags: 0x10, length: 0, ..read }, 0, Status::Unsupported, "zone: the drive has no zones"),
        (
            CommandRecord { op: 5, flags: 0x60, length: 0, ..read },
            0,
            Status::Argument,
            "command.flags = 96: expected one of SSDLAB_ZONE",
        ),
        (CommandRecord { flags: 2, ..read }, 0, Status::Argument, "command.flags = 2"),
        (CommandRecord { reserved: [1; 6], ..read }, 0, Status::Argument, "command.reserved"),
        (CommandRecord { queue: 1, ..read }, 0, Status::Argument, "queue 1: expected a number below 1"),
        (CommandRecord { length: 0, ..read }, 0, Status::Range, "length 0: expected 1 or more sectors"),
        (CommandRecord { offset: end, ..read }, 0, Status::Range, "the user bytes"),
        (CommandRecord { offset: end - 512, ..read }, 0, Status::Range, "the user bytes"),
        (CommandRecord { offset: u64::MAX - 511, ..read }, 0, Status::Range, "the user bytes"),
        (CommandRecord { offset: 100, ..read }, 0, Status::Range, "multiples of 512"),
        (CommandRecord { length: 100, ..read }, 0, Status::Range, "multiples of 512"),
        (CommandRecord { op: FLUSH, ..read }, 0, Status::Range, "flush: length 4096: expected 0, it has no range"),
        (CommandRecord { op: FLUSH, length: 0, offset: u64::MAX - 511, ..read }, 0, Status::Range, "the user bytes"),
        (read, FOREVER, Status::Time, "instant"),
        (read, FOREVER / 2, Status::Time, "instant"),
    ] {
        assert_eq!(drive.try_submit(&command, at), status, "{command:?}: {}", drive.error());
        assert!(drive.error().contains(part), "{part}: {}", drive.error());
    }
    assert_eq!((drive.in_flight(), drive.next_event()), (0, FOREVER));
    assert_eq!(drive.summary()["rejected"], 8, "of the range, as in the run loop");

    drive.submit(&CommandRecord { offset: end - 4096, ..block(WRITE, 1, 0) }, 10);
    assert_eq!(drive.advance(5_000), 0);
    assert_eq!(drive.try_submit(&read, 4_999), Status::Time);
    assert!(drive.error().contains("read: instant 4999 ns: expected 5000 (now)"), "{}", drive.error());
    for until in [4_999, FOREVER - 1] {
        assert_eq!(drive.try_advance(until), Status::Time, "{until}");
    }
    assert_eq!((drive.now(), drive.drain()), (5_000, 1));
}

#[test]
fn calls_out_of_turn_say_what_is_missing() {
    let drive = tiny();
    drive.submit(&block(READ, 0, 0), 700);
    for call in [ssdlab_rest, ssdlab_shut_down] {
        assert_eq!(drive.run(call), Status::InFlight);
        assert!(drive.error().contains("1 commands are in flight: expected none"), "{}", drive.error());
    }
    assert_eq!(drive.save(), Err(Status::InFlight));
    // SAFETY: the drive lives, and the path is a text.
    assert_eq!(unsafe { ssdlab_save_file(drive.0, c"/no/such/folder/drive".as_ptr()) }, Status::InFlight);
    drive.drain();
    let (mut causes, mut count, mut number) = ([0u64; 64], 0, 0);
    let mut done = [CompletionRecord::default()];
    let (done, odd) = (done.as_mut_ptr(), (&raw mut number).cast::<u8>().wrapping_add(1).cast::<u64>());
    // SAFETY: the drive lives; the pointers are those of values that live, or null, or not aligned.
    let statuses = unsafe {
        [
            ssdlab_completions(drive.0, done, 1, causes.as_mut_ptr(), &mut count),
            ssdlab_completions(drive.0, null_mut(), 1, null_mut(), &mut count),
            ssdlab_completions(drive.0, done, 1, null_mut(), null_mut()),
            ssdlab_submit(drive.0, null(), 700),
            ssdlab_now(drive.0, null_mut()),
            ssdlab_now(drive.0, odd),
            ssdlab_summary(drive.0, null_mut()),
            ssdlab_save_file(drive.0, null()),
            ssdlab_save_file(drive.0, c"/no/such/folder/drive".as_ptr()),
            ssdlab_history(drive.0, &mut number, &mut count),
        ]
    };
    let (null, argument) = (Status::Null, Status::Argument);
    assert_eq!(statuses, [argument, null, null, null, null, null, null, null, Status::File, argument]);
    assert!(drive.error().contains("SSDLAB_HISTORY"), "{}", drive.error());
    assert_eq!(drive.completions(4).len(), 1, "none was taken");
}

#[test]
fn a_saved_drive_that_is_not_one_is_refused() {
    let saved = tiny().save().expect("at rest");
    let setup = Setup { flags: CAUSES, ..Setup::preset("tiny") };
    let mut changed = saved.clone();
    changed[saved.len() / 2] ^= 1;
    let cases: [(&[u8], &str); 4] = [
        (b"", "ends early"),
        (b"not a saved drive at all", "not a saved drive"),
        (&changed, ""),
        (&saved[..saved.len() - 1], "ends early"),
    ];
    for (bytes, part) in cases {
        let Err((status, text)) = setup.load(bytes) else { panic!("expected an error") };
        assert!(status == Status::Saved && text.contains(part), "{status:?} {text}");
    }
    let Err((status, text)) = (Setup { precondition: Some("fill"), ..setup.clone() }).load(&saved) else { panic!("an error") };
    assert!(status == Status::Description && text.contains("precondition"), "{status:?} {text}");
    let Err((status, _)) = setup.load_file(c"/no/such/drive") else { panic!("expected an error") };
    assert_eq!(status, Status::File);
    assert!(setup.load(&saved).is_ok());

    let without_map =
        Setup { sets: vec!["ftl.translation={ kind='waf', write_amplification=2.0 }".to_owned()], ..Setup::preset("tiny") };
    let without_map = Setup { precondition: Some("none"), ..without_map };
    let drive = without_map.create().unwrap_or_else(|(_, text)| panic!("{text}"));
    let saved = drive.save().expect("a drive of every translation layer is saved");
    let without_map = Setup { precondition: None, ..without_map };
    assert!(without_map.load(&saved).is_ok());
    let Err((status, text)) = (Setup { seed: without_map.seed + 1, ..without_map }).load(&saved) else { panic!("another drive") };
    assert!(status == Status::Saved && text.contains("goes on only as it was saved"), "{status:?} {text}");
}

/// A worn-out drive goes on working; the host decides whether that is the end.
#[test]
fn a_worn_out_drive_says_so() {
    let sets = ["ftl.retire_at_cycles=2", "flash.blocks_per_plane=48", "ftl.wear_leveling=none"];
    let sets = sets.map(str::to_owned).to_vec();
    let setup = Setup { sets, precondition: Some("steady"), ..Setup::preset("tiny") };
    let drive = setup.create().unwrap_or_else(|(_, text)| panic!("{text}"));
    let is_worn_out = || {
        let mut worn_out = 9;
        // SAFETY: the drive lives, and so does the number.
        assert_eq!(unsafe { ssdlab_is_worn_out(drive.0, &mut worn_out) }, Status::Ok);
        worn_out
    };
    assert_eq!((is_worn_out(), drive.notes().as_str()), (0, ""));
    let (blocks, mut rng) = (drive.user_bytes() / 4096, kit::Rng::stream(1, "test.worn"));
    let mut writes = 0;
    while is_worn_out() == 0 {
        assert!(writes < 500_000, "each block was erased many times");
        for tag in 0..64 {
            drive.submit(&block(WRITE, tag, rng.below(blocks)), drive.now());
        }
        writes += drive.drain();
        assert_eq!(drive.completions(64).len(), 64);
    }
    assert!(drive.notes().contains("can spare no more blocks"), "{}", drive.notes());
    drive.submit(&block(READ, 0, 0), drive.now());
    assert_eq!(drive.drain(), 1);
}

/// A translation layer that plays a file fails when the file ends. The file is named relative to the description.
#[test]
fn a_replay_fails_where_its_file_ends() {
    let preset = drive::presets::find("tiny").expect("a preset");
    let (mut trace, job) = (Vec::new(), "[job]\nrw=write\nbs=4k\niodepth=1\nnumber_ios=50\n");
    let outputs = Outputs { firmware: Some(&mut trace), ..Outputs::default() };
    let request = RunRequest::new(preset.name, preset.text).precondition("none");
    run(&request, &Input::text("job", job), Files { outputs, ..Files::default() }, &mut |_| true)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay");
    std::fs::create_dir_all(&folder).expect("the folder of the tests can be written");
    std::fs::write(folder.join("x.fw"), trace).expect("it can be written");
    let text = "base = \"tiny\"\n[ftl]\ntranslation = { kind = \"replay\", file = \"x.fw\" }\n";
    std::fs::write(folder.join("replay.toml"), text).expect("it can be written");

    let path = folder.join("replay.toml").to_str().expect("UTF-8").to_owned();
    let setup = Setup { preset: None, path: Some(path), precondition: Some("none"), ..Setup::preset("") };
    let drive = setup.create().unwrap_or_else(|(_, text)| panic!("{text}"));
    for number in 0..50u32 {
        drive.submit(&block(WRITE, number, number.into()), drive.now());
        assert_eq!(drive.drain(), 1);
        drive.completions(1);
    }
    drive.submit(&block(WRITE, 50, 50), drive.now());
    assert_eq!(drive.try_advance(FOREVER), Status::Failed);
    assert!(drive.error().contains("x.fw"), "{}", drive.error());
    assert_refused(&Setup::text(text), Status::Description, &["x.fw"]);
}

#[test]
fn every_status_has_a_text() {
    // SAFETY: the texts live as long as the library.
    let text = |status| unsafe { CStr::from_ptr(ssdlab_status_text(status)) }.to_str().expect("UTF-8");
    let mut all: Vec<_> = (0..=Status::ALL.len() as i32).map(text).collect();
    assert_eq!((all[0], all[Status::ALL.len()], text(-1)), ("no error", "unknown status", "unknown status"));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), Status::ALL.len() + 1);
}
