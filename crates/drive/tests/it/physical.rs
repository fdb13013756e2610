//! Drives with physical addresses: what commands cost, vectored commands, what reaches the flash, workloads, and
//! descriptions that cannot work.

use crate::common::{
    self, HostPlaced as Rig, PROGRAM, READ, UNIT, assert_parts, check_flash, description, read, session, summary, with,
};
use drive::CommandRow;
use ftl::layer::pass_through::chunks::ChunkState;
use kit::{Bytes, Cause, Op, Rng, Status};
use serde_json::Value;

/// Two groups of two dies with six chunks each; a chunk is 32 units, a program four.
const CHUNKS: &[&str] = &[
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.blocks_per_plane=6",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
    "ftl.translation={ kind = \"pass_through\" }",
];
const CHUNK: u64 = 32;
const DIE: u64 = 6 * CHUNK;

fn rig(sets: &[&str]) -> Rig {
    Rig::new(&with(CHUNKS, sets))
}

impl Rig {
    fn vector(&mut self, op: Op, units: &[u64]) -> u32 {
        let addresses: Vec<Bytes> = units.iter().map(|unit| Bytes(unit * UNIT)).collect();
        let offset = self.drive.vector(&addresses).expect("few are in flight");
        self.submit(op, offset.0 / UNIT, units.len() as u64)
    }

    /// Waits for all commands. Returns the latency and the causes of one.
    fn row(&mut self, tag: u32) -> CommandRow {
        self.drain();
        *self.drive.statistics.log.as_deref().expect("it is kept").iter().find(|row| row.tag == tag).expect("it is complete")
    }

    fn status(&mut self, tag: u32) -> Status {
        self.drain();
        self.done.iter().find(|done| done.tag == tag).expect("it is complete").status
    }

    fn chunk(&self, number: usize) -> (ChunkState, u32, u32) {
        let chunk = self.drive.translator().chunks().expect("it has chunks").all()[number];
        (chunk.state, chunk.written, chunk.erases)
    }
}

/// Transfers of `units` on the channel of `tiny`.
fn transfer(units: u64) -> u64 {
    common::transfer(units, 1200)
}

/// A write is a program, a read a read, a reset an erase: the command waits for it, and for nothing else.
#[test]
fn a_command_costs_its_flash_operation() {
    let mut rig = rig(&[]);
    let write = rig.submit(Op::Write, 0, 4);
    assert_parts("write", &rig.row(write), &[PROGRAM[0], (Cause::Transfer, transfer(4)), PROGRAM[2]]);
    let read = rig.submit(Op::Read, 2, 1);
    assert_parts("read", &rig.row(read), &READ);
    let rest = rig.submit(Op::Write, 4, CHUNK - 4);
    rig.row(rest);
    assert_eq!(rig.chunk(0), (ChunkState::Closed, 32, 0));
    let reset = rig.submit(Op::Trim, 0, CHUNK);
    let row = rig.row(reset);
    let erase = row.causes.get(Cause::DieErase).0;
    assert_eq!(erase, 3_000_000, "tBERS of the description");
    assert_parts("reset", &row, &[(Cause::BusCommand, row.causes.get(Cause::BusCommand).0), (Cause::DieErase, erase)]);
    assert_eq!(rig.chunk(0), (ChunkState::Free, 0, 1));
}

/// The dies of a vectored command work at the same time; those of one channel share it for their transfers.
#[test]
fn a_vectored_command_takes_as_long_as_its_slowest_part() {
    let mut rig = rig(&[]);
    let places: Vec<u64> = [0, DIE, 2 * DIE, 3 * DIE].into_iter().flat_map(|die| die..die + 4).collect();
    let write = rig.vector(Op::Write, &places);
    let row = rig.row(write);
    let each = 361 + transfer(4);
    assert_eq!(row.completed.since(row.submitted).0, 2 * each + 600_000, "two dies of a channel, one after another");
    assert_eq!(rig.drive.flash().counters.operations[1], 4);
    let read = rig.vector(Op::Read, &[0, DIE + 1, 2 * DIE + 2, 3 * DIE + 3]);
    let row = rig.row(read);
    let least = 290 + 50_000 + 2 * transfer(1);
    let latency = row.completed.since(row.submitted).0;
    assert!((least..least + 600).contains(&latency), "{latency} ns, expected {least} and a command");
    // Chunk 0 of each die is filled and reset by one command each.
    for place in (4..CHUNK).step_by(4) {
        let places: Vec<u64> = [0, DIE, 2 * DIE, 3 * DIE].into_iter().flat_map(|die| die + place..die + place + 4).collect();
        let tag = rig.vector(Op::Write, &places);
        assert_eq!(rig.status(tag), Status::Success);
    }
    let reset = rig.vector(Op::Trim, &[0, DIE, 2 * DIE, 3 * DIE]);
    let row = rig.row(reset);
    let latency = row.completed.since(row.submitted).0;
    assert!((3_000_000..3_010_000).contains(&latency), "{latency} ns: four erases at once");
    for die in 0..4 {
        assert_eq!(rig.chunk(die * 6), (ChunkState::Free, 0, 1));
    }
}

/// Where free chunks may be reset, each reset is an erase: one that comes while the erase of another waits or is under
/// way, too, and one of a chunk that was never written. What is written after them comes behind all of them.
#[test]
fn each_reset_of_a_free_chunk_is_an_erase() {
    let mut rig = rig(&["ftl.translation={ kind = \"pass_through\", multiple_resets = true }"]);
    let write = rig.submit(Op::Write, 0, CHUNK);
    assert_eq!(rig.status(write), Status::Success);
    let resets = [(); 3].map(|()| rig.submit(Op::Trim, 0, CHUNK));
    let never_written = [(); 2].map(|()| rig.submit(Op::Trim, CHUNK, CHUNK));
    let (early, write) = (rig.submit(Op::Read, 0, 1), rig.submit(Op::Write, 0, 4));
    assert_eq!(resets.map(|tag| rig.status(tag)), [Status::Success; 3]);
    assert_eq!(never_written.map(|tag| rig.status(tag)), [Status::Success; 2]);
    assert_eq!((rig.status(early), rig.status(write)), (Status::Unwritten, Status::Success));
    assert_eq!([rig.chunk(0), rig.chunk(1)], [(ChunkState::Open, 4, 3), (ChunkState::Free, 0, 2)]);
    let order: Vec<u32> = rig.done.iter().map(|done| done.tag).collect();
    assert_eq!(order.last(), Some(&write), "behind five erases of its die");
    let read = rig.submit(Op::Read, 0, 4);
    assert_eq!(rig.status(read), Status::Success);
}

/// Data that the flash has not programmed cannot be read, and a chunk with writes in flight cannot be reset.
#[test]
fn commands_that_come_too_early_fail() {
    let mut rig = rig(&["ftl.translation={ kind = \"pass_through\", early_reset = true }"]);
    let write = rig.submit(Op::Write, 0, 8);
    let (early, reset) = (rig.submit(Op::Read, 0, 1), rig.submit(Op::Trim, 0, CHUNK));
    assert_eq!(
        (rig.status(write), rig.status(early), rig.status(reset)),
        (Status::Success, Status::Unwritten, Status::InvalidReset)
    );
    // A read that is outstanding holds the erase back.
    let (read, reset) = (rig.submit(Op::Read, 0, 1), rig.submit(Op::Trim, 0, CHUNK));
    assert_eq!((rig.status(read), rig.status(reset)), (Status::Success, Status::Success));
    let order: Vec<u32> = rig.done.iter().map(|done| done.tag).collect();
    assert_eq!(order[order.len() - 2..], [read, reset]);
    for (op, unit, count, expected) in [
        (Op::Write, 0, 2, Status::InvalidField),
        (Op::Write, 4, 4, Status::OutOfOrderWrite),
        (Op::Trim, 1, CHUNK, Status::InvalidField),
        (Op::Trim, 0, CHUNK, Status::InvalidReset),
        (Op::Read, CHUNK - 1, 1, Status::Unwritten),
    ] {
        let tag = rig.submit(op, unit, count);
        assert_eq!(rig.status(tag), expected, "{op:?} {unit} {count}");
    }
}

/// Between the attempts at a read its die is free; the erase of a reset waits all the same.
#[test]
fn a_chunk_is_erased_once_no_attempt_at_a_read_is_outstanding() {
    let mut rig = rig(&[
        "ftl.translation={ kind = \"pass_through\", early_reset = true }",
        "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }",
        "ecc.plan={ kind = \"read_retry\", steps = 2, reduction = 0.6, step_time = \"700ns\" }",
        "ecc.decoder={ kind = \"engines\" }",
        // 160 errors in 34,368 bits, of which the second attempt has 64.
        "ecc.errors={ kind = \"constant\", rates = [0.00466], read_noise = 0.0 }",
    ]);
    rig.submit(Op::Write, 0, 4);
    rig.drain();
    let read = rig.submit(Op::Read, 0, 1);
    // The flash has delivered the first attempt, which is being decoded.
    let sensed = rig.drive.now() + kit::Nanos(READ.iter().map(|(_, time)| time).sum::<u64>() + 1);
    rig.drive.advance(sensed);
    let reset = rig.submit(Op::Trim, 0, CHUNK);
    assert_eq!((rig.status(read), rig.status(reset)), (Status::Success, Status::Success));
    let order: Vec<u32> = rig.done.iter().map(|done| done.tag).collect();
    assert_eq!(order[order.len() - 2..], [read, reset]);
    let retries = rig.drive.controller().reads().map(|reads| reads.statistics.retries());
    assert_eq!((retries, check_flash(&mut rig.drive, &description(CHUNKS).geometry())), (Some(1), (1, 1)));
}

/// Submits a random write, in order, on chunks of which so much is written. Returns the number of its units.
fn random_write(rig: &mut Rig, targets: &[u64], vectored: bool, written: &mut [u64; 24], rng: &mut Rng) -> u64 {
    let mut places = Vec::new();
    for &chunk in &targets[..if vectored { targets.len() } else { 1 }] {
        let begun = &mut written[chunk as usize];
        let count = (4 * (1 + rng.below(2))).min(CHUNK - *begun);
        places.extend((*begun..*begun + count).map(|place| chunk * CHUNK + place));
        *begun += count;
    }
    if vectored && !places.is_empty() {
        rig.vector(Op::Write, &places);
    } else if let Some(&first) = places.first() {
        rig.submit(Op::Write, first, places.len() as u64);
    }
    places.len() as u64
}

/// Resets up to `most` full chunks, once nothing is in flight for them.
fn reset_full(rig: &mut Rig, most: usize, vectored: bool, written: &mut [u64; 24]) {
    rig.drain();
    let is_full = |chunk: &u64| written[*chunk as usize] == CHUNK;
    let full: Vec<u64> = (0..24).filter(is_full).take(most).collect();
    full.iter().for_each(|&chunk| written[chunk as usize] = 0);
    let places: Vec<u64> = full.iter().map(|chunk| chunk * CHUNK).collect();
    if vectored && !places.is_empty() {
        rig.vector(Op::Trim, &places);
    } else {
        for place in places {
            rig.submit(Op::Trim, place, CHUNK);
        }
    }
}

/// Random commands, several in flight, vectored and not, against the chunks applied command by command; and the flash
/// operations followed.
#[test]
fn random_commands_leave_chunks_and_flash_consistent() {
    let mut erased = 0;
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "physical");
        let slow = ["flash.scheduler=fifo", "flash.transfer_rate=100MT/s"];
        let mut rig = rig(if seed % 2 == 0 { &[] } else { &slow });
        let mut written = [0u64; 24];
        let mut units = 0;
        for _ in 0..1000 {
            let targets: Vec<u64> = (0..1 + rng.below(4)).map(|_| rng.below(24)).collect();
            let vectored = rng.below(2) == 0;
            match rng.below(4) {
                0 | 1 => units += random_write(&mut rig, &targets, vectored, &mut written, &mut rng),
                2 => {
                    let places: Vec<u64> = targets.iter().map(|chunk| chunk * CHUNK + rng.below(CHUNK)).collect();
                    if vectored {
                        rig.vector(Op::Read, &places)
                    } else {
                        rig.submit(Op::Read, places[0], 1)
                    };
                }
                _ => reset_full(&mut rig, 1 + rng.below(3) as usize, vectored, &mut written),
            }
            while rig.in_flight() > rng.below(12) {
                rig.step();
            }
        }
        rig.drain();
        let failed: Vec<_> = rig.done.iter().filter(|done| done.op != Op::Read && done.status != Status::Success).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert!(rig.done.iter().any(|done| done.status == Status::Unwritten), "some reads come too early");
        for (chunk, written) in written.iter().enumerate() {
            assert_eq!(u64::from(rig.chunk(chunk).1), *written);
        }
        let (programs, erases) = check_flash(&mut rig.drive, &description(CHUNKS).geometry());
        assert_eq!(u64::from(programs) * 4, units, "every unit is programmed once");
        erased += erases;
        assert_eq!(rig.drive.commands_in_flight(), 0);
    }
    assert!(erased > 1000, "{erased} erases");
}

/// Jobs whose writes are in order run as they are, and reads of chunks that are full at the start.
#[test]
fn workloads_issue_physical_commands() {
    let count = |found: &Value, path: &str| found.pointer(path).and_then(Value::as_f64).expect("it is there");
    // One die after another: the rate of a die.
    let found = summary(CHUNKS, "rw=write\nbs=64k\niodepth=1\nnumber_ios=48");
    assert_eq!((count(&found, "/translation/refused_commands"), count(&found, "/translation/closed_chunks")), (0.0, 24.0));
    let expected = 16_384.0 / ((361.0 + transfer(4) as f64 + 600_000.0) / 1e9);
    let rate = count(&found, "/throughput/write_bytes_per_s");
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} B/s, expected {expected}");
    let sets = with(CHUNKS, &["ftl.translation={ kind = \"pass_through\", full = 1.0 }"]);
    let found = summary(&sets, "rw=randread\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\nio_size=1g");
    assert_eq!(count(&found, "/flash/operations/read"), 2000.0);
    let found = summary(&sets, "rw=trim\nbs=128k\niodepth=4\nnumber_ios=24");
    assert_eq!((count(&found, "/translation/free_chunks"), count(&found, "/flash/operations/erase")), (24.0, 24.0));
    // Writes out of order are refused, and the run says so.
    let job = "[job]\nrw=randwrite\nbs=16k\nnumber_ios=50\nnorandommap=1\nio_size=1g\n";
    let outcome = session("base = \"tiny\"", CHUNKS, None, job).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(outcome.notes.iter().any(|note| note.contains("commands were refused")), "{:?}", outcome.notes);
}

#[test]
fn what_cannot_work_is_refused() {
    let problem = |sets: &[&str]| read(&with(CHUNKS, sets)).err().map(|problems| problems.to_string()).unwrap_or_default();
    let layer = |fields: &str| format!("ftl.translation={{ kind = \"pass_through\", {fields} }}");
    for (fields, complaint) in [
        ("ws_opt = 6", "ftl.translation.ws_opt: 6: expected a multiple of 4"),
        ("mw_cunits = 32", "ftl.translation.mw_cunits: 32: expected less than 32"),
        ("max_open = 2, max_open_per_die = 3", "ftl.translation.max_open_per_die: 3: expected at most max_open"),
    ] {
        let found = problem(&[&layer(fields)]);
        assert!(found.contains(complaint), "{fields}: {found}");
    }
    let buffered = problem(&["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"]);
    assert!(buffered.contains("policy = \"none\""), "{buffered}");
    let policy = problem(&["policy.kind=ofwar"]);
    assert!(policy.contains("pass_through"), "{policy}");
}
