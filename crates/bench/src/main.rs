//! Fixed benchmark scenarios, each in a run of its own. `bench` runs all of them and prints one JSON line for each,
//! `bench NAME` runs one, and `bench --list` prints the names.
//!
//! Each line has the commands per second of the event loop (with all statistics and the latency breakdown enabled),
//! flash operations per second, the set-up time, the peak memory of the process so far, and a hash of the summary,
//! which must be equal on every machine.

mod laboratory;

use drive::session::{Files, RunRequest, Session, run};
use serde_json::{Value, json};
use workload::{Input, Options};

/// A scenario: name, preset, overrides, fio job.
struct Scenario {
    name: &'static str,
    preset: &'static str,
    set: &'static [&'static str],
    job: &'static str,
}

/// Overrides that give `ideal-512g` few blocks, for counting instructions without the effect of cache misses.
const SMALL: &[&str] = &["flash.blocks_per_plane=64", "title=ideal, small"];
/// The same drive with errors of stored data, at half its rated wear: a look-up and a draw for each codeword, decoders
/// for each channel, and no retries.
const SMALL_ERRORS: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal, small",
    "flash.cell_model=volt-slc",
    "state.pe_cycles=1500",
    "state.age=30d",
    "ecc.errors=cell",
    "ecc.decoder={ kind='engines', decoders=2 }",
    "ecc.plan=read_retry",
];
/// The same drive with faults that never happen.
const SMALL_FAULTS: &[&str] = &["flash.blocks_per_plane=64", "title=ideal, small", "faults={}"];
/// The same drive with a host link, and nothing else.
const SMALL_PLAIN: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal, small",
    "host.interface={ kind='plain', queue_depth=1024, command_time='500ns', bandwidth='7150MB/s' }",
];
/// Overrides that give the ideal drive every part of a controller: an NVMe link, two cores, AXI, a DDR3 memory, and
/// errors of stored data with decoders for each channel. At this clock the flash is the bottleneck, as in the ideal
/// drive.
const DETAILED: &[&str] = &[
    "title=ideal flash, detailed controller",
    "host.interface={ kind='nvme', generation=4, lanes=4 }",
    "controller.firmware={ kind='cores', count=2, clock='1GHz' }",
    "controller.interconnect={ kind='axi' }",
    "controller.dram={ kind='ddr', grade='ddr3-1333', width_bits=64, size='2GiB' }",
    "flash.cell_model=volt-slc",
    "state.pe_cycles=1500",
    "state.age=30d",
    "ecc.errors=cell",
    "ecc.decoder={ kind='engines', decoders=2 }",
    "ecc.plan=read_retry",
];
/// The same drive with few blocks.
const SMALL_DETAILED: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal flash, detailed controller, small",
    "host.interface={ kind='nvme', generation=4, lanes=4 }",
    "controller.firmware={ kind='cores', count=2, clock='1GHz' }",
    "controller.interconnect={ kind='axi' }",
    "controller.dram={ kind='ddr', grade='ddr3-1333', width_bits=64, size='2GiB' }",
    "flash.cell_model=volt-slc",
    "state.pe_cycles=1500",
    "state.age=30d",
    "ecc.errors=cell",
    "ecc.decoder={ kind='engines', decoders=2 }",
    "ecc.plan=read_retry",
];
/// The small drive with constant currents of the flash: two changes of the current for each operation.
const SMALL_POWER: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal, small, power",
    "power={supply='3.3V',idle='10uA',read={kind='constant',current='25mA'},program={kind='constant',current='25mA'},erase={kind='constant',current='25mA'}}",
];
/// The same with programs of 12 pulses, each 50 us: its programs take 600 us.
const SMALL_PULSES: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal, small, pulses",
    "power={supply='3.3V',idle='10uA',read={kind='constant',current='25mA'},program={kind='pulses',base='2mA',peak='20mA',width='13us',period='50us'},erase={kind='constant',current='25mA'}}",
];
/// The detailed drive with the power of all its parts.
const SMALL_DETAILED_POWER: &[&str] = &[
    "flash.blocks_per_plane=64",
    "title=ideal flash, detailed controller, small, power",
    "host.interface={ kind='nvme', generation=4, lanes=4 }",
    "controller.firmware={ kind='cores', count=2, clock='1GHz' }",
    "controller.interconnect={ kind='axi' }",
    "controller.dram={ kind='ddr', grade='ddr3-1333', width_bits=64, size='2GiB' }",
    "flash.cell_model=volt-slc",
    "state.pe_cycles=1500",
    "state.age=30d",
    "ecc.errors=cell",
    "ecc.decoder={ kind='engines', decoders=2 }",
    "ecc.plan=read_retry",
    "power={supply='3.3V',idle='10uA',read={kind='constant',current='25mA'},program={kind='constant',current='25mA'},erase={kind='constant',current='25mA'}}",
    "power.dram={supply='1.5V',devices=8,idd0='130mA',idd2n='70mA',idd3n='90mA',idd4r='255mA',idd4w='300mA',idd5='305mA'}",
    "power.ecc={encode='10nJ',decode='40nJ'}",
    "power.cores={active='60mW',idle='8mW'}",
    "power.interconnect={byte='1pJ',idle='15mW'}",
    "power.link={to_device='290mW',to_host='290mW',idle='203mW'}",
];
/// `tiny` with programs of 12 pulses, each 50 us: its programs take 600 us.
const TINY_POWER: &[&str] = &[
    "state.precondition=steady",
    "title=tiny, pulses",
    "power={supply='3.3V',idle='10uA',read={kind='constant',current='12mA'},program={kind='pulses',base='2mA',peak='20mA',width='20us',period='50us'},erase={kind='constant',current='9mA'}}",
];
/// Overrides that give the small ideal drive an NVMe link, and nothing else.
const SMALL_NVME: &[&str] = &["flash.blocks_per_plane=64", "host.interface={ kind='nvme', generation=4, lanes=4 }"];
/// A drive that other simulators have as well, with an NVMe host and an ideal controller, for comparisons of speed:
/// 8 channels of 4 chips at 333 MT/s, pages of 8 KiB.
const LIKE_FOR_LIKE: &[&str] = &[
    "title=8 channels x 4 chips at 333 MT/s, NVMe",
    "flash.chips_per_channel=4",
    "flash.transfer_rate=333MT/s",
    "flash.page_size=8KiB",
    "flash.pages_per_block=128",
    "host.interface={ kind='nvme', generation=3, lanes=4 }",
];
/// Starting states of large drives: the time that counts is that of their set-up.
const FILLED: &[&str] = &["state.precondition=fill"];
const STEADY: &[&str] = &["state.precondition=steady"];
const SETTING_UP: &str = "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=100000";
const FOUR_TERABYTES: &[&str] = &["flash.blocks_per_plane=83887", "title=ideal, 4 TiB"];

/// Overrides of `agcr-64g`, a drive with three write modes and three read modes, under a policy that decides for each
/// page. The difference from [`UNREGULATED`] is the cost of those decisions.
const REGULATED: &[&str] = &["policy.kind=agcr", "state.precondition=steady"];
const UNREGULATED: &[&str] = &["policy.kind=baseline", "state.precondition=steady"];

/// Overrides that give the ideal drive a host link with command time and bandwidth, and nothing else.
const PLAIN: &[&str] = &["host.interface={ kind='plain', queue_depth=1024, command_time='500ns', bandwidth='7150MB/s' }"];
/// Overrides of `tlc-1tb`, a drive with a host link, a write buffer, multi-plane programs and suspension, under
/// `baseline`.
const BUFFERED: &[&str] = &["policy.kind=baseline", "state.precondition=steady", "ecc.errors=none"];
/// The same drive with errors of stored data, at its rated wear.
const WORN: &[&str] = &["policy.kind=baseline", "state.precondition=steady", "state.pe_cycles=3000"];
const NOT_SUSPENDED: &[&str] = &[
    "policy.kind=baseline",
    "state.precondition=steady",
    "ecc.errors=none",
    "flash.suspension={ program=false, erase=false, suspend_time='20us', resume_time='20us', least_remaining='200us', most=8 }",
];

/// Overrides that leave of a drive that is written in place the medium and its channels.
const MEDIUM: &[&str] = &[
    "title=rram, ideal host and controller",
    "host.interface=ideal",
    "buffer.policy=none",
    "controller.firmware=ideal",
    "controller.interconnect=ideal",
    "controller.dram=ideal",
];

const SCENARIOS: &[Scenario] = &[
    // Commands of 16 chunks of 256 B: the flash operations are the chunks.
    Scenario {
        name: "rram-read-qd32",
        preset: "rram-512g-800",
        set: MEDIUM,
        job: "rw=randread\nbs=4k\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=400000",
    },
    Scenario {
        name: "rram-write-qd32",
        preset: "rram-512g-800",
        set: MEDIUM,
        job: "rw=randwrite\nbs=4k\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=100000",
    },
    Scenario {
        name: "tiny-read",
        preset: "tiny",
        set: &["state.precondition=steady"],
        job: "rw=randread\nnorandommap=1\niodepth=8\nio_size=8g",
    },
    Scenario {
        name: "tiny-write",
        preset: "tiny",
        set: &["state.precondition=steady"],
        job: "rw=randwrite\nnorandommap=1\niodepth=8\nio_size=10g",
    },
    Scenario {
        name: "small-read-qd32",
        preset: "ideal-512g",
        set: SMALL,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-write-qd32",
        preset: "ideal-512g",
        set: SMALL,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-read-errors-qd32",
        preset: "ideal-512g",
        set: SMALL_ERRORS,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-write-errors-qd32",
        preset: "ideal-512g",
        set: SMALL_ERRORS,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-read-faults-qd32",
        preset: "ideal-512g",
        set: SMALL_FAULTS,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-write-faults-qd32",
        preset: "ideal-512g",
        set: SMALL_FAULTS,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-plain-read-qd32",
        preset: "ideal-512g",
        set: SMALL_PLAIN,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-plain-write-qd32",
        preset: "ideal-512g",
        set: SMALL_PLAIN,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-nvme-read-qd32",
        preset: "ideal-512g",
        set: SMALL_NVME,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-nvme-write-qd32",
        preset: "ideal-512g",
        set: SMALL_NVME,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "like-for-like-read-qd32",
        preset: "ideal-512g",
        set: LIKE_FOR_LIKE,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=2000000",
    },
    Scenario {
        name: "like-for-like-write-qd32",
        preset: "ideal-512g",
        set: LIKE_FOR_LIKE,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=2000000",
    },
    Scenario {
        name: "small-detailed-read-qd32",
        preset: "ideal-512g",
        set: SMALL_DETAILED,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-detailed-write-qd32",
        preset: "ideal-512g",
        set: SMALL_DETAILED,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-power-read-qd32",
        preset: "ideal-512g",
        set: SMALL_POWER,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-power-write-qd32",
        preset: "ideal-512g",
        set: SMALL_POWER,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-pulses-write-qd32",
        preset: "ideal-512g",
        set: SMALL_PULSES,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "small-detailed-power-read-qd32",
        preset: "ideal-512g",
        set: SMALL_DETAILED_POWER,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=1000000",
    },
    Scenario {
        name: "tiny-power-read",
        preset: "tiny",
        set: TINY_POWER,
        job: "rw=randread\nnorandommap=1\niodepth=8\nio_size=8g",
    },
    Scenario {
        name: "tiny-power-write",
        preset: "tiny",
        set: TINY_POWER,
        job: "rw=randwrite\nnorandommap=1\niodepth=8\nio_size=10g",
    },
    Scenario {
        name: "read-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=16000000",
    },
    Scenario {
        name: "write-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "mixed-70-30-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "plain-read-qd32",
        preset: "ideal-512g",
        set: PLAIN,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "plain-write-qd32",
        preset: "ideal-512g",
        set: PLAIN,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "detailed-read-qd32",
        preset: "ideal-512g",
        set: DETAILED,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "detailed-write-qd32",
        preset: "ideal-512g",
        set: DETAILED,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "detailed-mixed-70-30-qd32",
        preset: "ideal-512g",
        set: DETAILED,
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "tlc-1tb-read-qd32",
        preset: "tlc-1tb",
        set: BUFFERED,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "tlc-1tb-read-worn-qd32",
        preset: "tlc-1tb",
        set: WORN,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "tlc-1tb-write-qd32",
        preset: "tlc-1tb",
        set: BUFFERED,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "tlc-1tb-mixed-70-30-qd32",
        preset: "tlc-1tb",
        set: BUFFERED,
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "tlc-1tb-mixed-70-30-qd32-not-suspended",
        preset: "tlc-1tb",
        set: NOT_SUSPENDED,
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "agcr-64g-read-qd32",
        preset: "agcr-64g",
        set: UNREGULATED,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "agcr-64g-read-qd32-agcr",
        preset: "agcr-64g",
        set: REGULATED,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "agcr-64g-mixed-70-30-qd32",
        preset: "agcr-64g",
        set: UNREGULATED,
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "agcr-64g-mixed-70-30-qd32-agcr",
        preset: "agcr-64g",
        set: REGULATED,
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
    Scenario {
        name: "read-qd1000",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randread\nnorandommap=1\niodepth=1000\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario { name: "set-up-2t-fill", preset: "pcie4-tlc-2tb", set: FILLED, job: SETTING_UP },
    Scenario { name: "set-up-2t-steady", preset: "pcie4-tlc-2tb", set: STEADY, job: SETTING_UP },
    Scenario { name: "set-up-8t-fill", preset: "pcie5-enterprise-8tb", set: FILLED, job: SETTING_UP },
    Scenario { name: "set-up-8t-steady", preset: "pcie5-enterprise-8tb", set: STEADY, job: SETTING_UP },
    Scenario {
        name: "read-qd32-4t",
        preset: "ideal-512g",
        set: FOUR_TERABYTES,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "write-qd32-4t",
        preset: "ideal-512g",
        set: FOUR_TERABYTES,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
];

fn measure(scenario: &Scenario) -> Result<Value, kit::Problems> {
    let preset = drive::presets::find(scenario.preset).expect("a preset of the list");
    let request = RunRequest::new(scenario.preset, preset.text).sets(scenario.set);
    let input = Input::text(scenario.name, format!("[{}]\nbs=4k\n{}\n", scenario.name, scenario.job));
    let outcome = run(&request, &input, Files::default(), &mut |_| true)?;
    let summary = &outcome.summary;
    let wall_s = summary["wall_s"].as_f64().unwrap_or(f64::NAN);
    let commands = summary["latency"]["all"]["count"].as_u64().unwrap_or(0);
    let operations: u64 =
        ["read", "program", "erase", "copyback"].iter().filter_map(|kind| summary["flash"]["operations"][kind].as_u64()).sum();
    Ok(json!({
        "scenario": scenario.name,
        "commands_per_s": (commands as f64 / wall_s).round(),
        "flash_operations_per_s": (operations as f64 / wall_s).round(),
        "wall_s": wall_s,
        "setup_s": outcome.setup_s,
        "commands": commands,
        "write_amplification": summary["write_amplification"],
        "p99_99_ns": summary["latency"]["all"]["p99_99_ns"],
        "peak_memory_mib": peak_memory_kib() / 1024,
        "hash": format!("{:016x}", hash(summary)),
    }))
}

/// Names of the scenarios that measure the set-up of a run.
const START_UP: [&str; 2] = ["start-up", "start-up-alone"];

/// Number of runs in [`measure_start_up`].
const STARTS: u64 = 200;

/// Measures the set-up of a run of a small drive: reading the description, deriving its modes, filling the drive to its
/// steady state. The `commands` of the result are runs of one read each; they share a session, or each has its own
/// (`start-up-alone`).
fn measure_start_up(name: &str) -> Result<Value, kit::Problems> {
    let preset = drive::presets::find("ofwar-64g").expect("a preset of the list");
    let input = Input::text("read", "[read]\nrw=randread\nbs=4k\nnumber_ios=1\n");
    let shared = Session::default();
    let own = name.ends_with("-alone");
    let clock = std::time::SystemTime::now();
    let mut sum = 0u64;
    for turn in 0..STARTS {
        // As in a sweep: the same drive under two policies in turn.
        let request = RunRequest::new(preset.name, preset.text)
            .sets(&["flash.blocks_per_plane=64", "flash.channels=2"])
            .precondition("steady")
            .policy(if turn % 2 == 0 { "baseline" } else { "ofwar" });
        let alone = Session::default();
        let session = if own { &alone } else { &shared };
        let outcome = session.run(&request, &input, Files::default(), None, &mut |_| true).map_err(kit::Problems::from)?;
        sum = sum.wrapping_mul(31).wrapping_add(hash(&outcome.summary));
    }
    let wall_s = clock.elapsed().map_or(f64::NAN, |elapsed| elapsed.as_secs_f64());
    Ok(json!({
        "scenario": name,
        "commands_per_s": (STARTS as f64 / wall_s * 10.0).round() / 10.0,
        "flash_operations_per_s": 0,
        "wall_s": wall_s,
        "setup_s": wall_s / STARTS as f64,
        "commands": STARTS,
        "peak_memory_mib": peak_memory_kib() / 1024,
        "hash": format!("{sum:016x}"),
    }))
}

/// Returns the FNV-1a hash of the summary without `wall_s`.
fn hash(summary: &Value) -> u64 {
    let mut rest = summary.clone();
    rest.as_object_mut().expect("a summary is an object").remove("wall_s");
    rest.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the peak resident memory of this process \[KiB\]; 0 where the system does not report it.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Names of the trace scenarios: parsing, or the analysis before `-msr`.
const TRACE_SCENARIOS: [&str; 4] = ["parse-msr", "retention-msr", "access-msr", "gaps-msr"];

/// Measures the lines of an MSR trace that are parsed or analysed per second. The trace is in memory and has random
/// extents within 128 GiB.
fn measure_trace(name: &str) -> Result<Value, kit::Problems> {
    const LINES: u64 = 4_000_000;
    let mut rng = kit::Rng::stream(1, "bench.trace");
    let mut text = String::with_capacity(LINES as usize * 64);
    let mut time = 128_166_372_000_000_000u64;
    for _ in 0..LINES {
        time += rng.below(20_000);
        let op = if rng.chance(0.6) { "Write" } else { "Read" };
        let (offset, size) = (rng.below(1 << 28) * 512, (1 + rng.below(64)) * 512);
        text.push_str(&format!("{time},hm,0,{op},{offset},{size},{}\n", rng.below(100_000)));
    }
    let input = Input::text("random", text);
    let clock = std::time::SystemTime::now();
    let summary = match name.strip_suffix("-msr") {
        Some("parse") | None => {
            let info = workload::trace::info(&input, &Options::default())?;
            serde_json::to_value(&info).expect("numbers and names")
        }
        Some(what) => workload::analysis::ask(what, &input, &Options::default(), "{}")?,
    };
    let wall_s = clock.elapsed().map_or(f64::NAN, |elapsed| elapsed.as_secs_f64());
    Ok(json!({
        "scenario": name,
        "commands_per_s": (LINES as f64 / wall_s).round(),
        "flash_operations_per_s": 0,
        "wall_s": wall_s,
        "setup_s": 0.0,
        "commands": LINES,
        "peak_memory_mib": peak_memory_kib() / 1024,
        "hash": format!("{:016x}", hash(&summary)),
    }))
}

/// Measures the cell laboratory. The `commands` of the result are tables, look-ups, cells or codewords.
fn measure_laboratory(name: &str) -> Result<Value, kit::Problems> {
    let done = laboratory::measure(name).expect("a name of the list");
    Ok(json!({
        "scenario": name,
        "commands_per_s": (done.count as f64 / done.wall_s).round(),
        "flash_operations_per_s": 0,
        "wall_s": done.wall_s,
        "setup_s": 0.0,
        "commands": done.count,
        "peak_memory_mib": peak_memory_kib() / 1024,
        "hash": format!("{:016x}", done.hash),
    }))
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> =
        SCENARIOS.iter().map(|scenario| scenario.name).chain(START_UP).chain(TRACE_SCENARIOS).chain(laboratory::NAMES).collect();
    if wanted == ["--list"] {
        println!("{}", names.join("\n"));
        return;
    }
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        eprintln!("no scenario is called `{unknown}`: expected one of {}", names.join(", "));
        std::process::exit(2);
    }
    for name in names.into_iter().filter(|name| wanted.is_empty() || wanted.iter().any(|known| known == name)) {
        let line = match SCENARIOS.iter().find(|scenario| scenario.name == name) {
            Some(scenario) => measure(scenario),
            None if START_UP.contains(&name) => measure_start_up(name),
            None if TRACE_SCENARIOS.contains(&name) => measure_trace(name),
            None => measure_laboratory(name),
        };
        match line {
            Ok(line) => println!("{line}"),
            Err(problems) => {
                eprintln!("{name}: {problems}");
                std::process::exit(1);
            }
        }
    }
}
