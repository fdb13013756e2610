//! Single commands: their latency is the written-out sum of what crosses the link.

use super::{Cause, Op, PROGRAM, READ, Rig, UNIT, parts};
use crate::common::{ONE_DIE, assert_parts, latency, with};
use drive::CommandRow;
use kit::Nanos;

/// PCI Express 4.0 with four lanes: 16 GT/s, 128 of 130 bits; without a share for the link layer.
const PCIE: &str = "host.interface={ kind = \"nvme\", generation = 4, lanes = 4, max_payload = \"256B\", read_request = \"512B\", \
                    host_memory_time = \"600ns\", link_layer_share = 0.0, queue_depth = 64 }";
const BYTES_PER_SECOND: u64 = 4 * 16_000_000_000 / 130 * 16;

/// Returns the time for this many bytes on PCI Express 4.0 with four lanes, overhead included.
fn pcie(bytes: u64) -> u64 {
    (bytes * 1_000_000_000).div_ceil(BYTES_PER_SECOND)
}

/// Returns the time of a read of `bytes` in host memory: requests of 512 B, the wait, packets of 256 B.
fn host_memory(bytes: u64) -> u64 {
    pcie(24 * bytes.div_ceil(512)) + 600 + pcie(bytes + 20 * bytes.div_ceil(256))
}

/// Doorbell, submission queue entry, completion queue entry and interrupt.
fn nvme_command() -> u64 {
    pcie(28) + host_memory(64) + pcie(24 + 16) + pcie(24 + 4)
}

/// Runs a command a microsecond after the one before: its doorbell, for which nobody waits, has the link no more.
fn apart(rig: &mut Rig, op: Op, unit: u64, count: u64) -> CommandRow {
    apart_bytes(rig, op, unit * UNIT, count * UNIT)
}

fn apart_bytes(rig: &mut Rig, op: Op, offset: u64, length: u64) -> CommandRow {
    rig.run_until(rig.drive.now() + Nanos(1000));
    rig.one_bytes(op, offset, length)
}

#[test]
fn an_nvme_command_is_the_sum_of_its_packets() {
    assert_eq!(BYTES_PER_SECOND, 7_876_923_072);
    let mut rig = Rig::new(&with(ONE_DIE, &[PCIE]));
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("write", &write, &parts(&[(Cause::Link, nvme_command() + host_memory(4096))], &PROGRAM));
    let read = apart(&mut rig, Op::Read, 0, 1);
    assert_parts("read", &read, &parts(&[(Cause::Link, nvme_command() + pcie(4096 + 24 * 16))], &READ));
    // A sector crosses alone.
    let read = apart_bytes(&mut rig, Op::Read, 512, 512);
    assert_parts("sector", &read, &parts(&[(Cause::Link, nvme_command() + pcie(512 + 24 * 2))], &READ));
    let trim = apart(&mut rig, Op::Trim, 0, 1);
    assert_parts("trim", &trim, &[(Cause::Link, nvme_command() + host_memory(16))]);
    let flush = apart_bytes(&mut rig, Op::Flush, 0, 0);
    assert_parts("flush", &flush, &[(Cause::Link, nvme_command())]);
    // At the instant of the completion, the doorbell of the host has the link.
    let flush = rig.one_bytes(Op::Flush, 0, 0);
    assert_parts("flush at once", &flush, &[(Cause::Link, pcie(28) + nvme_command())]);
}

/// Three pages have a list of two entries. The pieces of a write are requested together, and their data crosses one
/// after another.
#[test]
fn a_large_nvme_write_has_a_list_of_its_pages() {
    let mut rig = Rig::new(&with(ONE_DIE, &[PCIE]));
    let write = rig.one(Op::Write, 0, 3);
    let requests = pcie(24 * 8);
    let data = pcie(4096 + 20 * 16);
    let link = nvme_command() + host_memory(16) + requests + 600 + 3 * data;
    // The requests of the second and third piece are sent while the first piece's data is waited for.
    assert!(3 * requests < requests + 600);
    let device = [(Cause::DieHostProgram, 2 * (361 + 3414 + 600_000))];
    assert_parts("write", &write, &parts(&[&[(Cause::Link, link)], &device[..]].concat(), &PROGRAM));
}

#[test]
fn a_generation_and_a_number_of_lanes_have_their_rate() {
    // Bytes per second by generation, for a lane: 8b/10b encoding, then 128b/130b.
    for (generation, lane) in [(1, 250_000_000u64), (2, 500_000_000), (3, 984_615_384), (4, 1_969_230_769), (5, 3_938_461_538)] {
        for lanes in [1, 4, 16] {
            let link = format!(
                "host.interface={{ kind = \"nvme\", generation = {generation}, lanes = {lanes}, link_layer_share = 0.0, host_memory_time = \"0ns\" }}"
            );
            let mut rig = Rig::new(&with(ONE_DIE, &[&link]));
            let row = rig.one(Op::Flush, 0, 1);
            let bytes = [28, 24, 64 + 20, 40, 28].map(|bytes: u64| bytes as f64 * 1e9 / (lane * lanes) as f64);
            let expected: f64 = bytes.iter().sum();
            let found = latency(&row) as f64;
            assert!((0.0..5.0).contains(&(found - expected)), "generation {generation}, {lanes} lanes: {found}, {expected}");
        }
    }
}

/// SATA II: 300 MB/s; a FIS has eight words beside its content.
fn words(words: &[u64]) -> u64 {
    words.iter().map(|words| (4 * (words + 8) * 10).div_ceil(3)).sum()
}

const SATA: &str = "host.interface={ kind = \"sata\", generation = 2 }";

/// A command is a register FIS in each direction, DMA set-up, data behind a word of header, and set device bits.
#[test]
fn a_sata_command_is_the_sum_of_its_fis() {
    let mut rig = Rig::new(&with(ONE_DIE, &[SATA]));
    let link = words(&[5, 5, 7, 1 + 1024, 2]);
    // 1,084 words of 4 B at 300 MB/s.
    assert!(link.abs_diff(1084 * 40 / 3) <= 5, "{link}");
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("write", &write, &parts(&[(Cause::Link, link)], &PROGRAM));
    let read = rig.one(Op::Read, 0, 1);
    assert_parts("read", &read, &parts(&[(Cause::Link, link)], &READ));
    let read = rig.one_bytes(Op::Read, 0, 1024);
    assert_parts("two sectors", &read, &parts(&[(Cause::Link, words(&[5, 5, 7, 1 + 256, 2]))], &READ));
    // Not queued: one register FIS in each direction; a trim has its ranges between them.
    assert_parts("flush", &rig.one_bytes(Op::Flush, 0, 0), &[(Cause::Link, words(&[5, 5]))]);
    assert_parts("trim", &rig.one(Op::Trim, 0, 1), &[(Cause::Link, words(&[5, 1, 1 + 128, 5]))]);
}

/// Data FIS of 8 KiB; each but the first needs a DMA activate, without auto-activate the first as well.
#[test]
fn a_large_sata_write_has_several_data_fis() {
    for (auto_activate, activate) in [(true, 0), (false, 1)] {
        let sata = format!("host.interface={{ kind = \"sata\", generation = 2, auto_activate = {auto_activate} }}");
        let mut rig = Rig::new(&with(ONE_DIE, &[&sata]));
        let row = rig.one(Op::Write, 0, 5);
        let setup: u64 = if activate == 0 { words(&[7]) } else { (4 * (7 + 8 + 1 + 8) * 10u64).div_ceil(3) };
        let link = words(&[5, 5]) + setup + words(&[1, 1, 1 + 2048, 1 + 2048, 1 + 1024, 2]);
        assert_eq!(row.causes.get(Cause::Link).0, link, "auto-activate {auto_activate}");
    }
}

/// A handshake that takes a time beside its words takes it once for each FIS, in both directions.
#[test]
fn a_sata_handshake_takes_its_time_for_each_fis() {
    for (auto_activate, without) in [(true, 0), (false, 1)] {
        let sata = format!(
            "host.interface={{ kind = \"sata\", generation = 2, auto_activate = {auto_activate}, handshake_time = \"387ns\" }}"
        );
        let mut rig = Rig::new(&with(ONE_DIE, &[&sata]));
        // Register FIS in both directions, DMA set-up, data, set device bits: 14,456 ns of words, 1,935 ns of answers.
        let read = words(&[5, 5, 7, 1 + 1024, 2]) + 5 * 387;
        assert_eq!(read, 14_456 + 1_935);
        let setup = if auto_activate { words(&[7]) } else { (4 * (7 + 8 + 1 + 8) * 10u64).div_ceil(3) };
        let write = words(&[5, 5, 1 + 1024, 2]) + setup + (5 + without) * 387;
        assert_parts("write", &rig.one(Op::Write, 0, 1), &parts(&[(Cause::Link, write)], &PROGRAM));
        assert_parts("read", &rig.one(Op::Read, 0, 1), &parts(&[(Cause::Link, read)], &READ));
        // Three data FIS of a write of five units, each but the first with its DMA activate.
        let large = words(&[5, 5, 1, 1, 1 + 2048, 1 + 2048, 1 + 1024, 2]) + setup + (9 + without) * 387;
        assert_eq!(rig.one(Op::Write, 0, 5).causes.get(Cause::Link).0, large, "auto-activate {auto_activate}");
        assert_parts("flush", &rig.one_bytes(Op::Flush, 0, 0), &[(Cause::Link, words(&[5, 5]) + 2 * 387)]);
        let trim = words(&[5, 1, 1 + 128, 5]) + 4 * 387;
        assert_parts("trim", &rig.one(Op::Trim, 0, 1), &[(Cause::Link, trim)]);
    }
}

/// The write buffer takes a unit once there is space for it, and only then its data crosses the link.
#[test]
fn data_waits_at_the_host_for_space_in_the_buffer() {
    let buffer = ["buffer.policy=write_back", "buffer.capacity=8KiB", "buffer.flush_after=1ms", PCIE];
    let mut rig = Rig::new(&with(ONE_DIE, &buffer));
    let link = nvme_command() + host_memory(4096);
    assert_parts("accepted", &rig.one(Op::Write, 0, 1), &[(Cause::Link, link)]);
    apart(&mut rig, Op::Write, 1, 1);
    let before = rig.drive.now() + Nanos(1000);
    let third = apart(&mut rig, Op::Write, 2, 1);
    let program = 361 + 3414 + 600_000;
    // The first unit has been in flight since its data arrived, at the completion of the first write less its
    // completion messages.
    let completion = pcie(40) + pcie(28);
    let space_at = link - completion + program;
    let asked_at = before.0 + pcie(28) + host_memory(64);
    assert_parts("third", &third, &[(Cause::Link, link), (Cause::BufferFull, space_at - asked_at)]);
    // In the buffer, a unit is read without the flash.
    let read = apart(&mut rig, Op::Read, 2, 1);
    assert_parts("read", &read, &[(Cause::Link, nvme_command() + pcie(UNIT + 24 * 16))]);
}

#[test]
fn the_work_of_the_host_is_a_part_of_the_latency() {
    let cpu =
        "host.cpu={ cores = 2, submission = \"3500ns\", serial = \"1400ns\", completion = \"900ns\", interrupt_time = \"2us\" }";
    let mut rig = Rig::new(&with(ONE_DIE, &[cpu]));
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("write", &write, &parts(&[(Cause::Host, 3500 + 1400 + 2000 + 900)], &PROGRAM));
    let polling =
        "host.cpu={ cores = 2, submission = \"3500ns\", completion = \"900ns\", notice = \"polling\", poll_interval = \"10us\" }";
    let mut rig = Rig::new(&with(ONE_DIE, &[polling]));
    let write = rig.one(Op::Write, 0, 1);
    // The program ends 607,275 ns after the submission began; the host looks at 610 us.
    let device = 361 + 3414 + 600_000;
    assert_parts("write", &write, &parts(&[(Cause::Host, 3500 + (610_000 - 3500 - device) + 900)], &PROGRAM));
}

/// With interrupts that announce three completions, a lone one is announced when the time is over.
#[test]
fn a_lone_completion_is_announced_in_time() {
    let coalescing = PCIE.replace("queue_depth = 64", "coalesced = 3, coalescing_time = \"50us\"");
    let mut rig = Rig::new(&with(ONE_DIE, &[&coalescing]));
    let write = rig.one(Op::Write, 0, 1);
    let (waits, link) = (50_000 + pcie(28), nvme_command() - pcie(28) + host_memory(4096));
    assert_parts("write", &write, &parts(&[(Cause::Link, link), (Cause::Host, waits)], &PROGRAM));
    // Three completions at about the same time: the first two wait for the third.
    let at = rig.drive.now();
    for _ in 0..3 {
        rig.submit(Op::Flush, 0, 1, at);
    }
    rig.drain();
    let flushes = &rig.rows()[1..];
    assert!(flushes.iter().all(|row| latency(row) < 3000), "{flushes:?}");
    let ends: Vec<_> = flushes.iter().map(|row| row.completed).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "one interrupt: {ends:?}");
}
