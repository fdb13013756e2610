//! Single commands: their latency is the written-out sum of what each member adds.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, with};
use kit::{Cause, Op};

const CORES: &str = "controller.firmware={ kind = \"cores\", count = 2, clock = \"400MHz\", cycles = { decode = 200, look_up = 150, \
                     allocate = 220, issue = 240, complete = 160, collect = 100 } }";
/// Bytes pass at 3.2 GB/s: 20 ns for 64 B of the map, 1,280 ns for a unit.
const DRAM: &str = "controller.dram={ kind = \"bandwidth\", rate = \"3200MB/s\", latency = \"50ns\" }";

/// Asserts the parts of a write and a read of one unit beside those of the flash.
#[track_caller]
fn assert_both(sets: &[&str], write: &[(Cause, u64)], read: &[(Cause, u64)]) {
    let mut rig = Rig::new(&with(ONE_DIE, sets));
    assert_parts("write", &rig.one(Op::Write, 0, 1), &[write, &PROGRAM[..]].concat());
    assert_parts("read", &rig.one(Op::Read, 0, 1), &[read, &READ[..]].concat());
}

/// At 400 MHz, 2.5 ns a cycle: each task apart is rounded up to a nanosecond.
#[test]
fn firmware_takes_its_cycles() {
    let (write, read) = ((200 + 220 + 240 + 160) * 5 / 2, (200 + 150 + 160) * 5 / 2);
    for assignment in ["shared", "by_task", "by_channel", "by_queue"] {
        let cores = CORES.replace("count = 2", &format!("count = 2, assignment = \"{assignment}\""));
        assert_both(&[&cores], &[(Cause::Firmware, write)], &[(Cause::Firmware, read)]);
    }
}

/// A unit is allocated and looked up for each 4 KiB.
#[test]
fn firmware_takes_cycles_for_each_unit() {
    let mut rig = Rig::new(&with(ONE_DIE, &[CORES]));
    for (op, cycles) in [(Op::Write, 200 + 3 * 220 + 160 + 240), (Op::Read, 200 + 3 * 150 + 160), (Op::Trim, 200 + 3 * 150 + 160)]
    {
        let row = rig.one(op, 0, 3);
        // The programs of a write are issued one by one; only the last one's issue is not hidden behind a program.
        assert_eq!(row.causes.get(Cause::Firmware).0, cycles * 5 / 2, "{op:?}");
    }
    assert_parts("flush", &rig.one_bytes(Op::Flush, 0, 0), &[(Cause::Firmware, (200 + 160) * 5 / 2)]);
}

/// The map is read for a read and written for a program; data is written and read.
#[test]
fn memory_takes_its_rate_and_latency() {
    let access = |bytes: u64| bytes * 10 / 32 + 50;
    let all = 2 * access(4096) + access(64);
    assert_both(&[DRAM], &[(Cause::Dram, all)], &[(Cause::Dram, all)]);
}

/// Data crosses the interconnect twice.
#[test]
fn interconnects_take_their_cycles() {
    let bursts = |bytes: u64, beat: u64, address: u64| bytes.div_ceil(16 * beat) * (16 + address);
    for (member, leg) in [
        ("kind = \"ahb\", clock = \"200MHz\", width_bits = 32", bursts(4096, 4, 1) * 5),
        ("kind = \"multi_layer_ahb\", clock = \"100MHz\", width_bits = 64, address_cycles = 2", bursts(4096, 8, 2) * 10),
        // The first address goes ahead of the data, and the others overlap it: 1.028 us.
        ("kind = \"axi\", clock = \"250MHz\", width_bits = 128", 4 + 4096 / 16 * 4),
        // Addresses of 20 cycles take longer than bursts of 16: the last burst follows the last address.
        ("kind = \"axi\", clock = \"250MHz\", width_bits = 128, address_cycles = 20", 16 * 20 * 4 + 16 * 4),
        ("kind = \"ocp\", clock = \"200MHz\", width_bits = 64", (2 + 4096 / 8) * 5),
        ("kind = \"point_to_point\", clock = \"200MHz\", width_bits = 32", 4096 / 4 * 5),
    ] {
        let set = format!("controller.interconnect={{ {member} }}");
        assert_both(&[&set], &[(Cause::Interconnect, 2 * leg)], &[(Cause::Interconnect, 2 * leg)]);
    }
}

/// Data takes a DMA channel before each of its two ways, for its descriptor and its data, and then the interconnect.
#[test]
fn a_dma_controller_takes_its_descriptors_and_rate() {
    let ahb = "controller.interconnect={ kind = \"ahb\", clock = \"200MHz\", width_bits = 32 }";
    for channels in [1, 2, 256] {
        for (setup, rate, leg) in [(370, "", 370), (0, ", rate = \"800MB/s\"", 5120), (370, ", rate = \"3GB/s\"", 370 + 1366)] {
            let dma = format!("controller.dma={{ channels = {channels}, setup = \"{setup}ns\"{rate} }}");
            let parts = [(Cause::Interconnect, 2 * leg)];
            assert_both(&[&dma], &parts, &parts);
            let parts = [(Cause::Interconnect, 2 * (leg + 64 * 17 * 5))];
            assert_both(&[&dma, ahb], &parts, &parts);
        }
    }
}

/// Three reads of different dies sense at the same time, and ask for the memory at one instant; each asks again for its
/// way to the host 9 us after it has begun. One channel serves them in turn, twice: each waits for two others before
/// its second way. Of two, the one that is free first serves the third; the second waits for both on its second way.
#[test]
fn a_wait_for_a_dma_channel_is_charged_to_the_interconnect() {
    let dma = |channels: u32| format!("controller.dma={{ channels = {channels}, setup = \"9us\" }}");
    for (channels, waits) in [(1, [18, 9 + 18, 18 + 18]), (2, [0, 9, 9]), (3, [0, 0, 0])] {
        let mut rig = Rig::new(&["flash.channels=3", "flash.chips_per_channel=1", &dma(channels)]);
        for unit in 0..3 {
            rig.one(Op::Write, unit, 1);
        }
        let now = rig.drive.now();
        let tags = [0, 1, 2].map(|unit| rig.submit(Op::Read, unit, 1, now));
        rig.drain();
        for (tag, wait) in tags.into_iter().zip(waits) {
            let row = rig.row(tag);
            let found = [Cause::InterconnectWait, Cause::Interconnect].map(|cause| row.causes.get(cause).0);
            assert_eq!(found, [wait * 1_000, 2 * 9_000], "{channels} channels");
        }
    }
}

/// All members together, behind PCI Express: the sum of all.
#[test]
fn all_members_together_are_the_sum_of_each() {
    let ahb = "controller.interconnect={ kind = \"ahb\", clock = \"200MHz\", width_bits = 32 }";
    let nvme = "host.interface={ kind = \"nvme\" }";
    let mut alone = Rig::new(&with(ONE_DIE, &[nvme]));
    let mut all = Rig::new(&with(ONE_DIE, &[nvme, CORES, DRAM, ahb]));
    for op in [Op::Write, Op::Read] {
        let (alone, all) = (alone.one(op, 0, 1), all.one(op, 0, 1));
        let cycles = if op == Op::Write { 200 + 220 + 240 + 160 } else { 200 + 150 + 160 };
        let added =
            [(Cause::Firmware, cycles * 5 / 2), (Cause::Dram, 2 * 1280 + 20 + 3 * 50), (Cause::Interconnect, 2 * 64 * 17 * 5)];
        let link = alone.causes.get(Cause::Link).0;
        let flash = if op == Op::Write { &PROGRAM } else { &READ };
        assert_parts("all", &all, &[&added[..], &flash[..], &[(Cause::Link, link)]].concat());
    }
}

/// A step that waits charges the wait to the resource, its work apart: of two reads at once, the second waits for the
/// core.
#[test]
fn a_wait_is_charged_to_its_resource() {
    let one = CORES.replace("count = 2", "count = 1");
    let mut rig = Rig::new(&["flash.channels=2", "flash.chips_per_channel=1", &one]);
    rig.one(Op::Write, 0, 1);
    rig.one(Op::Write, 1, 1);
    let now = rig.drive.now();
    let tags = [0, 1].map(|unit| rig.submit(Op::Read, unit, 1, now));
    rig.drain();
    let admit = (200 + 150) * 5 / 2;
    let complete = 160 * 5 / 2;
    assert_parts("first", &rig.row(tags[0]), &[&READ[..], &[(Cause::Firmware, admit + complete)]].concat());
    let second = [&READ[..], &[(Cause::Firmware, admit + complete), (Cause::CoreWait, admit)]].concat();
    assert_parts("second", &rig.row(tags[1]), &second);
}

/// DDR3-1333 with 32 bits: tCK 1.5 ns, tRCD and CL 10, CWL 7; a unit is 128 bursts of 4 cycles, a row of 4 KiB. Nothing
/// waits: the rows are closed at first, and open when they are used again.
#[test]
fn a_ddr_channel_takes_its_cycles() {
    let ddr = "controller.dram={ kind = \"ddr\", grade = \"ddr3-1333\", width_bits = 32, chunk = \"1KiB\", size = \"64MiB\", refresh = false }";
    let mut rig = Rig::new(&with(ONE_DIE, &[ddr]));
    let dram = |rig: &mut Rig, op: Op| {
        let row = rig.one(op, 0, 1);
        assert_eq!(row.causes.get(Cause::DramWait).0, 0, "{op:?}");
        row.causes.get(Cause::Dram).0
    };
    // The write, from instant 0: an activate, then the data. The map's row is activated at the next edge; 64 B are two
    // bursts. The data is read again from its open row, tWTR = 5 after the last of the writes.
    let data_in = 10 + 7 + 512;
    let map = data_in + 1 + 10 + 7 + 8;
    let data_out = map + 5 + 10 + 512;
    assert_eq!(dram(&mut rig, Op::Write), data_out * 3 / 2);
    // The read begins at 605,398 ns, a third of a cycle before an edge: 0.5 ns, and rounded up to a nanosecond. The
    // data comes at an edge. It is read tWTR after it was written.
    let (look_up, data_in, data_out) = ((10 + 8) * 3 / 2 + 1, (7 + 512) * 3 / 2 + 1, (5 + 10 + 512) * 3 / 2);
    assert_eq!(dram(&mut rig, Op::Read), look_up + data_in + data_out);
}
