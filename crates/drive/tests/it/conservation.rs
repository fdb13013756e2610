//! Determinism and saving: the same case twice gives the same results to the byte, regardless of the batches in which
//! its requests are fetched, and a loaded drive equals the saved one.

use crate::common::{adopt, load, saved, session};
use drive::session::{Files, RunRequest};
use drive::streams::Outputs;
use drive::{CommandRow, Description, Drive};
use kit::Lpn;
use serde_json::Value;
use testkit::case;
use workload::{Input, Options, Request};

/// Returns the seeds whose descriptions are accepted, with the descriptions.
fn accepted() -> impl Iterator<Item = (u64, Description)> {
    (2_000_000..).filter_map(|seed| case::description(seed).map(|description| (seed, description)))
}

const MIXED: &str = "[job]\nrw=randrw\nbssplit=512/10:4k/60:16k/30\niodepth=16\nnumber_ios=400\nnorandommap=1\n";

/// Returns a summary without `wall_s`, which differs from run to run.
fn bytes(mut summary: Value) -> String {
    summary.as_object_mut().expect("a summary is an object").remove("wall_s").expect("every summary has it");
    summary.to_string()
}

#[test]
fn a_case_run_twice_is_the_same_to_the_byte() {
    for (seed, description) in accepted().take(60) {
        let run = || case::run_described(&description, seed, 300, None).unwrap_or_else(|why| panic!("seed {seed}: {why:?}"));
        let (once, again) = (run(), run());
        assert_eq!(once.history, again.history, "seed {seed}: other completions");
        let counters = |drive: &Drive| format!("{:?} {:?}", drive.translator().report().counters, drive.flash().counters);
        assert_eq!(counters(&once.drive), counters(&again.drive), "seed {seed}");
        let summary = || session(&case::text(seed), &[], None, MIXED).unwrap_or_else(|why| panic!("seed {seed}: {why}")).summary;
        assert_eq!(bytes(summary()), bytes(summary()), "seed {seed}");
    }
}

#[test]
fn two_drives_in_one_process_share_nothing() {
    let (seed, description) = accepted().next().expect("there is no end of them");
    let alone = case::run_described(&description, seed, 300, None).expect("it passes");
    let beside = accepted().skip(1).take(3).map(|(seed, other)| case::run_described(&other, seed, 100, None).is_ok());
    assert!(beside.collect::<Vec<_>>().into_iter().all(|passed| passed));
    let again = case::run_described(&description, seed, 300, None).expect("it passes");
    assert_eq!(alone.history, again.history);
}

#[test]
fn requests_do_not_depend_on_how_they_are_fetched() {
    let fetch = |limit: usize| -> Vec<Request> {
        let workload = workload::open(&Input::text("mixed", MIXED), 64 << 20, &Options::default());
        let mut source = workload.unwrap_or_else(|why| panic!("{why}")).jobs.swap_remove(0).source;
        let mut requests = Vec::new();
        while requests.len() < 400 {
            let before = requests.len();
            source.fill(&mut requests, limit.min(400 - before)).unwrap_or_else(|why| panic!("{why}"));
            assert!(requests.len() > before, "the source ended early");
        }
        requests
    };
    let whole = format!("{:?}", fetch(400));
    for limit in [1, 7, 32] {
        assert_eq!(format!("{:?}", fetch(limit)), whole, "in batches of {limit}");
    }
}

/// Returns the place of every unit.
fn map_of(drive: &Drive) -> Vec<Option<kit::Ppn>> {
    (0..drive.map().user_units() as u32).map(|unit| drive.map().place_of(Lpn(unit))).collect()
}

#[test]
fn what_was_saved_is_what_is_loaded_and_what_is_adopted() {
    for (seed, description) in accepted().take(100) {
        let mut passed = case::run_described(&description, seed, 200, None).unwrap_or_else(|why| panic!("seed {seed}: {why:?}"));
        let file = saved(&mut passed.drive, &description);
        let empty = || Drive::new(&description, 1).expect("a small drive fits into memory");
        let mut other = empty();
        let resumed = load(&mut other, &description, &file).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert!(resumed.exact && resumed.notes.is_empty(), "seed {seed}: {resumed:?}");
        assert_eq!(map_of(&other), map_of(&passed.drive), "seed {seed}");
        assert_eq!(other.map().audit(true), Vec::<String>::new(), "seed {seed}");
        assert_eq!(saved(&mut other, &description), file, "seed {seed}: what is saved again is the same file");
        let mut heir = empty();
        adopt(&mut heir, &description, &file);
        assert_eq!(map_of(&heir), map_of(&passed.drive), "seed {seed}");
        assert_eq!(heir.map().audit(true), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_saved_file_that_was_cut_or_damaged_is_refused() {
    let (seed, description) = accepted().next().expect("there is no end of them");
    let mut passed = case::run_described(&description, seed, 200, None).expect("it passes");
    let file = saved(&mut passed.drive, &description);
    let load = |bytes: &[u8]| {
        let mut drive = Drive::new(&description, 1).expect("a small drive fits into memory");
        load(&mut drive, &description, bytes)
    };
    assert!(load(&file).is_ok());
    for length in (0..file.len()).step_by(file.len() / 50) {
        assert!(load(&file[..length]).is_err(), "cut to {length} bytes");
    }
    let mut rng = kit::Rng::stream(seed, "damage");
    for _ in 0..300 {
        let mut damaged = file.clone();
        let at = rng.below(file.len() as u64) as usize;
        damaged[at] ^= 1 << rng.below(8);
        assert!(load(&damaged).is_err(), "a bit of byte {at} of {} was flipped", file.len());
    }
    let longer = load(&[&file[..], b"x"].concat()).expect_err("it has been changed");
    assert!(longer.contains("extra data after its end"), "{longer}");
    let old = load(b"ssdlab08 and so on").expect_err("another version");
    assert!(old.contains("version 08") && old.contains("expected version 19"), "{old}");
    assert_eq!(load(b"PK\x03\x04 and so on"), Err("not a saved drive".to_owned()));
}

/// The streams of a trace are numbered as they appear, whichever address space they are given.
#[test]
fn the_log_names_the_stream_of_each_command() {
    let line = |at: u64, disk: u32| format!("{at},src,{disk},Write,4096,4096,100\n");
    let trace: String = [7, 7, 2, 7, 5, 2].iter().zip(0u64..).map(|(disk, at)| line(1 + at * 10_000, *disk)).collect();
    for layout in ["stack", "overlay"] {
        let options = Options { layout: layout.to_owned(), ..Options::default() };
        let request = RunRequest::new("tiny.toml", "base = \"tiny\"").workload(options);
        let mut rows = Vec::new();
        let mut take =
            |batch: &[CommandRow], _: &[String]| rows.extend(batch.iter().map(|row| (row.submitted, row.stream, row.queue)));
        let files = Files { outputs: Outputs { commands: Some(&mut take), ..Outputs::default() }, ..Files::default() };
        drive::session::run(&request, &Input::text("trace.csv", &*trace), files, &mut |_| true)
            .unwrap_or_else(|why| panic!("{why}"));
        rows.sort_unstable();
        let streams: Vec<u16> = rows.iter().map(|row| row.1).collect();
        assert_eq!(streams, [0, 0, 1, 0, 2, 1], "{layout}");
        assert!(rows.iter().all(|row| row.2 == 0), "there is one submission queue");
    }
}

#[test]
fn what_the_buffer_acknowledged_is_in_the_saved_file() {
    let text = "base = \"tiny\"\n[flash]\npage_size = \"16KiB\"\n[buffer]\npolicy = \"write_back\"\ncapacity = \"1MiB\"\nflush_after = \"1s\"\n";
    let request = RunRequest::new("buffered.toml", text);
    // Seven units: one program unit of four is programmed; three wait in the buffer for a fourth.
    let job = Input::text("job", "[job]\nrw=write\nbs=4k\nnumber_ios=7\n");
    let mut file = Vec::new();
    let files = Files { save: Some(&mut file), ..Files::default() };
    drive::session::run(&request, &job, files, &mut |_| true).unwrap_or_else(|why| panic!("{why}"));
    let description = Description::read("buffered.toml", text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let mut drive = Drive::new(&description, 1).expect("a small drive fits into memory");
    load(&mut drive, &description, &file).expect("it was saved just now");
    assert_eq!(drive.map().mapped_units(), 4, "three wait in the buffer still");
    drive.program_buffer();
    assert_eq!(drive.map().mapped_units(), 7);
    // A drive without a buffer programs those units when it adopts the state.
    let plain = Description::read("plain.toml", &text[..text.find("[buffer]").expect("a section")], &[]);
    let plain = plain.unwrap_or_else(|why| panic!("{why}"));
    let mut heir = Drive::new(&plain, 1).expect("a small drive fits into memory");
    let resumed = load(&mut heir, &plain, &file).expect("the shape is the same");
    assert!(!resumed.exact && resumed.notes[0].contains("description differs"), "{resumed:?}");
    heir.adopt();
    assert_eq!((heir.map().mapped_units(), heir.map().audit(true)), (7, Vec::new()));
}
