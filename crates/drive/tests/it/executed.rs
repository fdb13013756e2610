//! Firmware that cores execute: its drive does what one with the page map itself does, its time is that of its
//! instructions, and what it does wrong ends the run with its place.

use crate::common::play_mix;
use drive::session::{Files, Outcome, RunRequest};
use drive::{Description, Drive};
use ftl::{CoresConfig, FirmwareProfile, Split};
use kit::capped::read_named;
use kit::history::Entry;
use kit::{Frequency, Problems};
use riscv::Image;
use testkit::{Rig, Violation, case};
use workload::Input;

const IMAGE: &[u8] = include_bytes!("../../../../firmware/page_map.elf");
/// A drive that is as the firmware has it.
const OWN: &str = "base = \"tiny\"\nftl.partial_write = \"whole\"\nftl.wear_leveling = \"none\"\n";
const EXECUTED: &str = "controller.firmware.kind=riscv";

/// Plays random commands, none of which fails. Returns the physical history.
fn play_whole(drive: &mut Drive, description: &Description, seed: u64) -> Vec<Entry> {
    let history = play_mix(drive, description, seed, 4000);
    assert!(drive.translator().failure().is_none(), "{:?}", drive.translator().failure());
    history
}

fn described(sets: &[&str]) -> Description {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    Description::read("test.toml", OWN, &sets).unwrap_or_else(|problems| panic!("{sets:?}: {problems}"))
}

/// Numbers of cores, and the rules by which they divide the events.
const CORES: [(u32, Split); 4] = [(1, Split::Channel), (2, Split::Channel), (3, Split::Task), (2, Split::Queue)];

/// Returns the history of a drive whose cores run at a clock.
fn executed(description: &Description, clock: u64, (cores, split): (u32, Split), seed: u64) -> (Vec<Entry>, Drive) {
    let firmware = Description { controller: described(&[EXECUTED]).controller, ..description.clone() };
    let config = firmware.executed_firmware().expect("it is executed");
    let config = CoresConfig { clock: Frequency(clock), cores, split, ..config };
    let ftl = description.build_ftl(seed).expect("a small drive").executing(&config).expect("it fits");
    let mut drive = Drive::with_ftl(description, ftl, seed);
    testkit::prepare(&mut drive, description);
    (play_whole(&mut drive, description, seed), drive)
}

/// Drives on which the native page map and the executed one are compared.
const DRIVES: [&[&str]; 12] = [
    &[],
    &["buffer.policy=none"],
    &["ftl.write_allocation=static"],
    &["ftl.write_allocation=round_robin", "ftl.separate_relocations=false"],
    &["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"],
    &["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms", "ftl.gc_preemptible=false"],
    &["flash.planes_per_die=2", "flash.multi_plane=true", "flash.blocks_per_plane=64"],
    &["flash.planes_per_die=2", "flash.blocks_per_plane=64", "ftl.separate_relocations=false"],
    &["flash.page_size=16KiB", "flash.pages_per_block=16"],
    &["flash.page_size=16KiB", "flash.pages_per_block=16", "ftl.mapping_unit=16KiB"],
    &["ftl.superblock_blocks=2", "ftl.gc_spare_fraction=0.2", "ftl.allocation_order=WCD"],
    &["flash.cell=tlc", "flash.cell_model=volt-tlc", "flash.one_shot=true", "flash.pages_per_block=48", "flash.program_time=1ms"],
];

/// At a clock at which firmware takes no time, the histories of all flash operations are equal.
#[test]
fn it_does_what_the_page_map_does() {
    let mut erases = 0;
    for (seed, drive) in (0..48).zip(DRIVES.iter().cycle()) {
        let cores = CORES[if seed < 24 { 0 } else { 1 + seed as usize % 3 }];
        let description = described(&[*drive, &["state.precondition=steady"]].concat());
        let mut native = Drive::new(&description, seed).expect("a small drive");
        testkit::prepare(&mut native, &description);
        let expected = play_whole(&mut native, &description, seed);
        let (found, drive) = executed(&description, 100_000_000_000_000, cores, seed);
        let at = expected.iter().zip(&found).position(|(one, other)| one != other);
        let around =
            |history: &[Entry]| at.map(|at| format!("{:?}", &history[at.saturating_sub(2)..(at + 3).min(history.len())]));
        assert_eq!(at, None, "seed {seed}, {cores:?}, {:#?} and {:#?}", around(&expected), around(&found));
        assert_eq!(found.len(), expected.len(), "seed {seed}");
        let both = [&native, &drive].map(|drive| (drive.map().free_blocks(), drive.flash().counters.erases.iter().sum::<u64>()));
        assert_eq!(both[0], both[1], "seed {seed}");
        erases += both[0].1;
    }
    assert!(erases > 1000, "{erases}");
}

/// At the clock of a real core, the drive serves all commands, twice in the same way; the cycles are those of the
/// functions, those of the tasks, and those of the cores.
#[test]
fn slow_cores_serve_all_commands() {
    let cases = [
        (3, 1_000_000_000, CORES[0]),
        (7, 400_000_000, CORES[0]),
        (9, 20_000_000, CORES[0]),
        (10, 1_000_000, CORES[0]),
        (22, 50_000_000, CORES[0]),
        (3, 20_000_000, CORES[1]),
        (7, 400_000_000, CORES[2]),
        (9, 20_000_000, CORES[3]),
        (10, 1_000_000, CORES[2]),
        (23, 5_000_000, CORES[1]),
    ];
    for (seed, clock, cores) in cases {
        let description = described(&[DRIVES[seed as usize % DRIVES.len()], &["state.precondition=steady"]].concat());
        let (one, drive) = executed(&description, clock, cores, seed);
        let (other, _) = executed(&description, clock, cores, seed);
        assert_eq!(one, other, "seed {seed}");
        let profile = drive.translator().firmware_profile().expect("it is executed");
        let cycles = |of: &dyn Fn(&FirmwareProfile) -> u64| of(&profile);
        let total = (profile.total.instructions, profile.total.cycles);
        assert_eq!(cycles(&|profile| profile.functions.iter().map(|one| one.cycles).sum()), total.1, "seed {seed}");
        assert_eq!(cycles(&|profile| profile.functions.iter().map(|one| one.instructions).sum()), total.0, "seed {seed}");
        assert_eq!(cycles(&|profile| profile.tasks.iter().map(|(_, work)| work.cycles).sum()), total.1, "seed {seed}");
        assert_eq!(cycles(&|profile| profile.cores.iter().map(|core| core.work.cycles).sum()), total.1, "seed {seed}");
        assert!(total.1 > total.0 && total.0 > 100_000, "seed {seed}: {total:?}");
        assert_eq!(profile.cores.len(), cores.0 as usize);
        for core in &profile.cores {
            assert!(core.work.cycles > 0, "seed {seed}, {cores:?}: {:?}", profile.cores);
            assert_eq!(core.locks > 0, cores.0 > 1, "seed {seed}, {cores:?}: {:?}", profile.cores);
            assert!(core.interconnect_wait == 0 || cores.0 > 1, "seed {seed}, {cores:?}: {:?}", profile.cores);
        }
    }
}

/// At the clock of a real core, each read returns what was written last, and the accounts of the drive are right.
#[test]
fn the_data_is_right() {
    for (seed, clock) in (0..36).zip(["400MHz", "30MHz", "1GHz"].iter().cycle()) {
        let clock = format!("controller.firmware.clock={clock}");
        let cores: &[&str] = match seed / 12 + seed % 2 {
            0 => &[],
            1 => &["controller.firmware.cores=2"],
            2 => &["controller.firmware.cores=3", "controller.firmware.split=task"],
            _ => &["controller.firmware.cores=2", "controller.firmware.split=queue"],
        };
        let sets = [DRIVES[seed as usize % 12], &["state.precondition=steady", EXECUTED, &clock], cores].concat();
        let description = described(&sets);
        let run = || -> Result<(), Violation> {
            let mut rig = Rig::new(&description, seed, None)?;
            case::go_on(&mut rig, &description, seed, 2000)?;
            rig.drain()
        };
        run().unwrap_or_else(|violation| panic!("seed {seed}, {sets:?}: {violation:?}"));
    }
}

/// Runs a job on the drive whose firmware is this image.
fn run(image: Option<&[u8]>, sets: &[&str], job: &str) -> Result<Outcome, Problems> {
    let named =
        |_: &str| image.ok_or("no such file".to_owned()).and_then(|bytes| read_named(bytes).map_err(|error| error.to_string()));
    let of_file: &[&str] = if image.is_some() { &["controller.firmware.image=own.elf"] } else { &[] };
    let request = RunRequest::new("test.toml", OWN).sets(&[&[EXECUTED], of_file, sets].concat());
    let files = Files { named: Some(&named), ..Files::default() };
    drive::session::run(&request, &Input::text("workload", job), files, &mut |_| true)
}

const MIXED: &str = "[job]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\n";

#[test]
fn a_run_reports_the_work_of_the_firmware() {
    let sets = ["state.precondition=steady"];
    let built_in = run(None, &sets, MIXED).expect("it runs").summary;
    let of_file = run(Some(IMAGE), &sets, MIXED).expect("it runs").summary;
    let firmware = &built_in["firmware"];
    assert_eq!(firmware, &of_file["firmware"]);
    assert!(firmware["cycles"].as_u64() > Some(100_000), "{firmware}");
    assert!(built_in["causes"]["read"]["firmware"].as_f64() > Some(100.0), "{}", built_in["causes"]);
    // A read is looked up by some tens of instructions, at 2.5 ns a cycle.
    let slow = run(None, &[sets[0], "controller.firmware.clock=40MHz"], MIXED).expect("it runs").summary;
    let wait = |summary: &serde_json::Value| summary["causes"]["read"]["firmware"].as_f64().unwrap_or_default();
    assert!(wait(&slow) > 10.0 * wait(&built_in), "{} and {}", slow["causes"], built_in["causes"]);
    let costly = run(None, &[sets[0], "controller.firmware.dram.read_cycles=400"], MIXED).expect("it runs").summary;
    assert!(wait(&costly) > wait(&built_in) + 380.0 * 2.5, "{} and {}", costly["causes"], built_in["causes"]);
}

/// Cores share the work, the DRAM and the lock: two serve more than one, and wait for each other.
#[test]
fn cores_share_the_work_and_wait_for_each_other() {
    let sets = ["state.precondition=steady", "buffer.policy=none", "flash.channels=4", "controller.firmware.clock=4MHz"];
    let job = "[job]\nrw=randrw\nbs=4k\niodepth=32\nnumber_ios=4000\n";
    let of = |more: &[&str]| run(None, &[&sets, more].concat(), job).expect("it runs").summary;
    let (one, two) = (of(&[]), of(&["controller.firmware.cores=2"]));
    let number = |summary: &serde_json::Value, place: &str| summary.pointer(place).and_then(|value| value.as_f64()).expect(place);
    let iops = |summary: &serde_json::Value| number(summary, "/throughput/iops");
    assert!(iops(&two) > 1.5 * iops(&one), "{} and {}", one["throughput"], two["throughput"]);
    for core in ["0", "1"] {
        let figure = |name: &str| number(&two, &format!("/firmware/cores/{core}/{name}"));
        assert!(figure("utilisation") > 0.3 && figure("utilisation") <= 1.0, "{}", two["firmware"]["cores"]);
        assert!(figure("interconnect_wait_cycles") > 0.0 && figure("lock_wait_cycles") > 0.0, "{}", two["firmware"]["cores"]);
    }
    // A single core is busy throughout, and takes no lock.
    let utilisation = number(&one, "/firmware/cores/0/utilisation");
    // A core goes ahead of the drive: cycles that it has executed beyond the end of the run count, too.
    assert!(utilisation > 0.95 && utilisation < 1.01, "{utilisation}");
    assert_eq!(number(&one, "/firmware/cores/0/locks"), 0.0);
    // Without a time on the interconnect, none waits for it; with a long one, all go at its pace.
    let free = of(&["controller.firmware.cores=2", "controller.firmware.dram.interconnect_cycles=0"]);
    assert_eq!(number(&free, "/firmware/cores/0/interconnect_wait_cycles"), 0.0);
    let tight = of(&["controller.firmware.cores=2", "controller.firmware.dram.interconnect_cycles=60"]);
    assert!(iops(&tight) < 0.9 * iops(&two), "{} and {}", tight["throughput"], two["throughput"]);
}

/// Returns the built-in image with other instructions at the begin of a function.
fn patched(function: &str, words: &[u32]) -> Vec<u8> {
    let image = Image::read(IMAGE).expect("an executable");
    let text = image.segments.iter().find(|segment| segment.executable).expect("its text");
    let start = IMAGE.windows(64).position(|bytes| bytes == &text.bytes[..64]).expect("it is in the file");
    let function = image.functions.iter().find(|found| found.name == function).expect("a function");
    let mut file = IMAGE.to_vec();
    for (at, word) in (start + (function.address - text.address) as usize..).step_by(4).zip(words) {
        file[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    file
}

/// `lui t0, UPPER`, the address of a store.
const fn lui_t0(upper: u32) -> u32 {
    upper << 12 | 5 << 7 | 0x37
}

#[test]
fn what_the_firmware_does_wrong_ends_the_run_with_its_place() {
    let writes = "[job]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=5000\n";
    let cases: [(&str, &[u32], &str); 9] = [
        ("update_room", &[0], "illegal instruction at 0x00000034: encoding 0x00000000, in `update_room` + 0x0"),
        // sw zero, 0(t0)
        (
            "next_place",
            &[lui_t0(0x20000), 0x0002_a023],
            "store outside memory and devices at 0x00000098: address 0x20000000, in `next_place` + 0x4",
        ),
        ("next_place", &[lui_t0(0), 0x0002_a023], "store to the text at 0x00000098: address 0x00000000, in `next_place` + 0x4"),
        // j .
        ("next_place", &[0x6f], "at 0x00000094 in next_place: hangs: it has not asked for an event for 100ms (watchdog)"),
        // wfi; j -4
        ("next_place", &[0x1050_0073, 0xffdf_f06f], "in next_place: hangs: it has not asked for an event for 100ms (watchdog)"),
        // li t1, 7; sw t1, 0x7c(t0): PANIC
        ("next_place", &[lui_t0(0x40000), 0x0070_0313, 0x0662_ae23], "at 0x0000009c in next_place: it gives up with code 7"),
        // sw t1, 0(t0): EVENT
        ("next_place", &[lui_t0(0x40000), 0x0062_a023], "at 0x00000098 in next_place: it stores"),
        // ebreak
        ("collect", &[0x0010_0073], "in collect: ebreak: there is no debugger"),
        // li a0, 0; ret: no die collects, so that no block becomes free
        ("collect", &[0x0000_0513, 0x0000_8067], "the firmware waits for an event, with 8 commands in flight"),
    ];
    for (function, words, expected) in cases {
        let found = run(Some(&patched(function, words)), &["state.precondition=steady"], writes);
        let found = found.map(|_| ()).expect_err(expected).to_string();
        assert!(found.contains("controller.firmware") && found.contains(expected), "{found}: expected {expected}");
    }
}

#[test]
fn what_one_of_several_cores_does_wrong_ends_the_run() {
    let writes = "[job]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=5000\n";
    let cases: [(&str, &[u32], &str); 4] = [
        ("update_room", &[0], "core 0: illegal instruction at 0x00000034: encoding 0x00000000, in `update_room` + 0x0"),
        // lw t1, 0x60(t0): LOCK
        ("next_place", &[lui_t0(0x40000), 0x0602_a303], "at 0x00000098 in next_place: it takes the lock, which it has"),
        // sw zero, 0x60(t0), twice
        (
            "next_place",
            &[lui_t0(0x40000), 0x0602_a023, 0x0602_a023],
            "at 0x0000009c in next_place: it gives the lock back, which it does not have",
        ),
        // wfi
        ("next_place", &[0x1050_0073], "at 0x00000098 in next_place: it waits for an event and has the lock"),
    ];
    for (function, words, expected) in cases {
        let found = run(Some(&patched(function, words)), &["state.precondition=steady", "controller.firmware.cores=2"], writes);
        let found = found.map(|_| ()).expect_err(expected).to_string();
        assert!(found.contains("controller.firmware: core ") && found.contains(expected), "{found}: expected {expected}");
    }
}

/// The built-in image that takes no lock: it does not know of other cores. While one binds a unit, the other looks it
/// up.
#[test]
fn what_cores_do_without_the_lock_is_found() {
    let mut image = IMAGE.to_vec();
    // lw REGISTER, 0x140(DEVICES): CORES; li REGISTER, 1
    let is_load = |word: u32| word & 0xfff0_707f == 0x140 << 20 | 2 << 12 | 0x03;
    let word = |at: usize| u32::from_le_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]]);
    let loads: Vec<usize> = (0..image.len() - 3).step_by(2).filter(|&at| is_load(word(at))).collect();
    let [at] = loads[..] else { panic!("one load of the number of cores: {loads:?}") };
    let constant = word(at) & 0xf80 | 1 << 20 | 0x13;
    image[at..at + 4].copy_from_slice(&constant.to_le_bytes());
    let sets = ["state.precondition=steady", "buffer.policy=none", "controller.firmware.clock=20MHz"];
    let job = "[j]\nrw=randrw\nbs=4k\niodepth=32\nsize=128k\nnorandommap=1\nio_size=1g\nnumber_ios=40000\n";
    let two = [&sets[..], &["controller.firmware.cores=2"]].concat();
    run(Some(&image), &sets, job).expect("one core needs no lock");
    run(None, &two, job).expect("the built-in image takes the lock");
    let found = run(Some(&image), &two, job).map(|_| ()).expect_err("no lock").to_string();
    assert!(found.contains("controller.firmware: core ") && found.contains("it finds unit"), "{found}");
}

/// An answer that is not where the data is, and a program that is not at the next place of its block.
#[test]
fn what_the_firmware_decides_is_checked() {
    // A load of the checkpoint's first table at 0x80000000 that finds another map: the text of `firmware` is as it is,
    // and the program's place is one further (`addi a0, zero, 1; ret` in next_place).
    let found = run(
        Some(&patched("next_place", &[0x0010_0513, 0x0000_8067])),
        &["state.precondition=steady"],
        "[w]\nrw=randwrite\nbs=4k\nnumber_ios=10\n",
    );
    let found = found.map(|_| ()).expect_err("a wrong place").to_string();
    assert!(
        found.contains("in firmware: it programs unit 1 of block 0") || found.contains("it programs place 1 on die"),
        "{found}"
    );
}

#[test]
fn what_it_does_not_do_is_refused() {
    let cases = [
        (
            "ftl.victim=fifo",
            "ftl.victim: the firmware does not do that: expected \"greedy\" with controller.firmware.kind = \"riscv\"",
        ),
        ("ftl.wear_leveling=dynamic", "ftl.wear_leveling: the firmware does not do that: expected \"none\""),
        ("ftl.partial_write=read_modify_write", "ftl.partial_write: the firmware does not do that: expected \"whole\""),
        ("ftl.allocation_order=PCWD", "ftl.allocation_order: the firmware does not do that: expected an order without P"),
        ("ftl.plane_choice=most_free", "ftl.plane_choice: the firmware does not do that: expected \"block\""),
        ("ftl.gc_start=write_waits", "ftl.gc_start: the firmware does not do that: expected \"early\""),
        ("ftl.gc_idle_after=1ms", "ftl.gc_idle_after: the firmware does not do that: expected no such field"),
        ("flash.copyback=true", "flash.copyback: the firmware does not do that: expected false"),
        (
            "flash.write_mode[0].retention=100d",
            "flash.write_mode[0].retention: the firmware does not do that: expected at least a year",
        ),
        ("controller.page_buffers={count = 2}", "controller.page_buffers: the firmware does not do that"),
        ("ftl.rain={dies = 4}", "ftl.rain: the firmware does not do that"),
        (
            "policy.kind=all_fast",
            "needs decisions that executed firmware does not make: expected another controller.firmware than \"riscv\"",
        ),
        ("ftl.map_cache={size = \"1MiB\"}", "needs decisions that executed firmware does not make"),
        ("buffer.read_cache=1MiB", "needs decisions that executed firmware does not make"),
        ("state.graceful_shutdown=true", "state.graceful_shutdown: the firmware does not do that: expected false"),
        ("flash.blocks_per_plane=1000000", "flash: the firmware's map takes 1.78 GiB of DRAM: expected at most 1 GiB"),
        ("controller.firmware.clock=1kHz", "controller.firmware.clock: 1kHz: expected 1MHz to 10GHz"),
        ("controller.firmware.text=6B", "controller.firmware.text: 6B: expected a multiple of 4B from 4KiB to 64MiB"),
        ("controller.firmware.data=4KiB", "controller.firmware.image: segment 0x10000000..0x1000145c: expected it to lie within"),
        ("controller.firmware.watchdog=1ns", "controller.firmware.watchdog: 1ns: expected 1us to 100s"),
        ("controller.firmware.cycles.alu=0", "controller.firmware.cycles.alu: 0: expected"),
        ("controller.firmware.image=none.elf", "controller.firmware.image: none.elf: no such file"),
        ("controller.firmware.cores=0", "controller.firmware.cores: 0: expected 1..=64"),
        (
            "controller.firmware.cores=3",
            "controller.firmware.cores: 3 cores for the dies of 2 channels: expected at most one for each",
        ),
        ("controller.firmware.split=task", "controller.firmware.split: \"task\": expected at least 2 cores"),
        (
            "controller.firmware={kind = \"riscv\", cores = 2, dram = {cache = {}}}",
            "controller.firmware.dram.cache: 2 cores: expected no cache",
        ),
    ];
    for (set, expected) in cases {
        let found = run(None, &[set], MIXED).map(|_| ()).expect_err(set).to_string();
        assert!(found.contains(expected), "{set}: {found}: expected {expected}");
    }
    let text = run(Some(b"no executable"), &[], MIXED).map(|_| ()).expect_err("no image").to_string();
    assert!(text.contains("controller.firmware.image: own.elf: not an ELF file"), "{text}");
}
