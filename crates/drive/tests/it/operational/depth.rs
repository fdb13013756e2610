//! At great depth some resource is busy nearly all the time, or the description has a limit below that depth: work that
//! waits in convoys would leave all resources idle in turn.

use super::{closed_loop_of, drives};
use crate::common::{FAST_FLASH, session, summary, with};
use controller::ecc::Delivery;
use host::InterfaceConfig;
use kit::Rng;
use serde_json::Value;
use testkit::case;

/// Share of the time for which some resource must be busy.
const BUSY: f64 = 0.95;

/// Returns the largest utilisation of a resource.
fn busiest(summary: &Value) -> f64 {
    summary["bottleneck"]["utilisation"].as_f64().expect("a resource is busy")
}

/// Returns the overrides of a drive whose parts need about as long for 4 KiB as each other, a few microseconds, so that
/// each comes close to being the bottleneck.
fn balanced(seed: u64) -> Vec<String> {
    let mut rng = Rng::stream(seed, "depth");
    let mut sets = Vec::new();
    let firmware = firmware(&mut rng);
    if rng.chance(0.8) {
        sets.push(firmware);
    }
    sets.push(interface(&mut rng));
    if rng.chance(0.6) {
        let kind = pick(&mut rng, &["ahb", "multi_layer_ahb", "axi", "ocp", "point_to_point"]);
        let (clock, width) = (pick(&mut rng, &[200, 250, 300, 400]), pick(&mut rng, &[64, 128]));
        sets.push(format!("controller.interconnect={{kind=\"{kind}\",clock=\"{clock}MHz\",width_bits={width}}}"));
    }
    match rng.below(3) {
        0 => {
            let rate = rate(time(&mut rng), 2 * 4096 + 64);
            sets.push(format!("controller.dram={{kind=\"bandwidth\",rate=\"{rate}B/s\",latency=\"50ns\"}}"));
        }
        1 => sets.push("controller.dram={kind=\"ddr\",grade=\"ddr3-1333\",width_bits=32,size=\"64MiB\"}".to_owned()),
        _ => {}
    }
    if rng.chance(0.5) {
        sets.push(host_processor(&mut rng));
    }
    sets
}

/// Nanoseconds for 4 KiB.
fn time(rng: &mut Rng) -> u64 {
    1500 + rng.below(1500)
}

/// Bytes per second at which `bytes` take `time` \[ns\].
fn rate(time: u64, bytes: u64) -> u64 {
    bytes * 1_000_000_000 / time
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// Cores at 1 GHz, whose work on a read is divided at random.
fn firmware(rng: &mut Rng) -> String {
    let count = 1 + rng.below(3);
    let all = time(rng) * count;
    let mut cuts = [rng.below(all + 1), rng.below(all + 1), rng.below(all + 1)];
    cuts.sort_unstable();
    let [decode, look_up, receive] = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1]];
    format!(
        "controller.firmware={{kind=\"cores\",count={count},clock=\"1GHz\",assignment=\"{}\",cycles={{decode={decode},\
         look_up={look_up},receive={receive},complete={},allocate={look_up},issue=0,collect=0}}}}",
        pick(rng, &["shared", "shared", "by_task", "by_channel", "by_queue"]),
        all - cuts[2]
    )
}

fn interface(rng: &mut Rng) -> String {
    let deep = "queue_depth=4096";
    let kind = match rng.below(4) {
        0 => format!(
            "kind=\"nvme\",{deep},generation=1,lanes={},queues={},fetch_batch={},fetches={}",
            pick(rng, &[8, 16]),
            1 + rng.below(4),
            pick(rng, &[1, 8, 64]),
            pick(rng, &[4, 64])
        ),
        1 => format!("kind=\"nvme\",{deep},generation={},lanes={}", 2 + rng.below(3), pick(rng, &[2, 4])),
        2 => format!(
            "kind=\"plain\",{deep},command_time=\"{}ns\",bandwidth=\"{}B/s\",full_duplex={}",
            rng.below(1500),
            rate(time(rng), 4096),
            rng.chance(0.5)
        ),
        _ => "kind=\"sata\",generation=3,queue_depth=32".to_owned(),
    };
    format!("host.interface={{{kind}}}")
}

fn host_processor(rng: &mut Rng) -> String {
    let cores = 1 + rng.below(3);
    let all = time(rng) * cores;
    let submission = rng.below(all + 1);
    let serial = if rng.chance(0.5) { time(rng) } else { 0 };
    let notice = pick(rng, &["interrupt_time=\"1us\"", "notice=\"polling\",poll_interval=\"1us\""]);
    let completion = all - submission;
    format!(
        "host.cpu={{cores={cores},submission=\"{submission}ns\",serial=\"{serial}ns\",completion=\"{completion}ns\",{notice}}}"
    )
}

#[test]
fn balanced_drives_have_a_busy_resource() {
    let fast = [
        "flash.program_time=3us",
        "flash.erase_time=5us",
        "buffer.policy=write_back",
        "buffer.capacity=4MiB",
        "buffer.flush_after=1ms",
        "controller.page_buffers={count=16}",
    ];
    let (mut kinds, mut idle) = (std::collections::BTreeSet::new(), Vec::new());
    for seed in 0..120 {
        let sets = balanced(seed);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        // Writes end before the drive collects, with other resources than before.
        let (reads, depth, commands) =
            [(100, 96, 8000), (100, 1024, 24_000), (70, 256, 16_000), (0, 256, 12_000)][(seed % 4) as usize];
        let more = if reads == 100 { &[][..] } else { &fast[..] };
        let sets = [&sets[..], more].concat();
        let summary = summary(&with(FAST_FLASH, &sets), &closed_loop_of(seed, depth, reads, commands));
        if busiest(&summary) < BUSY {
            idle.push(format!("seed {seed}, depth {depth}, {reads} % reads: {} in {sets:?}", summary["bottleneck"]));
        }
        kinds.insert(super::kind(summary["bottleneck"]["resource"].as_str().expect("a name")).to_owned());
    }
    assert!(idle.is_empty(), "no resource is busy for {BUSY} of the time: {idle:#?}");
    assert!(kinds.len() >= 8, "few bottlenecks: {kinds:?}");
}

/// Overrides that lift the limits of a description on the number of reads under way, as far as it has them.
fn without_limits(description: &drive::Description) -> Vec<&'static str> {
    let controller = &description.controller;
    let mut sets = Vec::new();
    if let InterfaceConfig::Nvme(_) = description.host.interface {
        sets.extend(["host.interface.queue_depth=2048", "host.interface.commands=100000", "host.interface.fetches=256"]);
        sets.push("host.interface.read_tags=1024");
    }
    let mut lift = |has: bool, set: &'static str| sets.extend(has.then_some(set));
    lift(controller.page_buffers.is_some(), "controller.page_buffers.count=1000");
    lift(controller.target_queues.is_some(), "controller.target_queues.threshold=1000");
    lift(controller.sequencer.is_some(), "controller.sequencer.per_die=1000");
    lift(description.ecc.delivery == Delivery::InOrder, "ecc.delivery=as_decoded");
    sets
}

/// Random drives behind PCI Express: SATA has at most 32 commands, and an ideal interface leaves nothing to the link.
/// Where no resource is busy, one of the limits is reached: without them, some resource is.
#[test]
fn random_drives_have_a_busy_resource_or_a_limit() {
    let is_deep = |drive: &(u64, Vec<String>, drive::Description)| matches!(drive.2.host.interface, InterfaceConfig::Nvme(_));
    let (mut limited, mut count) = (0, 0);
    for (seed, sets, description) in drives(&["state.precondition=fill"]).filter(is_deep).take(90) {
        let run = |more: &[&str]| {
            let sets: Vec<&str> = sets.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let job = format!("[job]\n{}\n", closed_loop_of(seed, 1024, 100, 6000));
            let outcome =
                session(&case::text(seed), &sets, None, &job).unwrap_or_else(|problems| panic!("seed {seed}: {problems}"));
            (busiest(&outcome.summary), outcome.summary["bottleneck"].clone())
        };
        count += 1;
        if run(&[]).0 >= BUSY {
            continue;
        }
        limited += 1;
        let (share, named) = run(&without_limits(&description));
        assert!(share >= BUSY, "seed {seed}: {named} without limits on the reads under way");
    }
    // The test is meaningful only if there are drives with and without such a limit.
    assert!(limited > 10 && count - limited > 10, "{limited} of {count} are limited");
}
