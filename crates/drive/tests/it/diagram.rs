//! The diagram of a drive: parts, what is said of them, and the flows between them.

use crate::common::{description, session, with};
use drive::{Description, Diagram, Node, diagram};
use serde_json::Value;
use std::collections::BTreeSet;
use testkit::case::{self, Detail};

/// PCI Express, a host processor, two cores, AXI, two DDR channels with a buffer and a cache each, and decoders.
const DETAILED: &[&str] = &[
    "host.interface={ kind = \"nvme\", queues = 4, arbitration = { kind = \"weighted\", weights = [8, 4, 2], priorities = [\"high\"] } }",
    "host.cpu={ cores = 4, submission = \"3500ns\", serial = \"1us\", completion = \"1500ns\", interrupt_time = \"2us\" }",
    "controller.firmware={ kind = \"cores\", count = 2, clock = \"400MHz\" }",
    "controller.interconnect={ kind = \"axi\", clock = \"250MHz\", width_bits = 128, data_lanes = 3 }",
    "controller.dram={ kind = \"ddr\", grade = \"ddr3-1333\", width_bits = 16, size = \"256MiB\" }",
    "controller.target_queues={ threshold = 6 }",
    "buffer.policy=write_back",
    "buffer.capacity=8MiB",
    "buffer.flush_after=1ms",
    "buffer.flush_above=0.8",
    "buffer.flush_below=0.5",
    "buffer.flush_order=lru",
    "buffer.buffers=2",
    "buffer.read_cache=1MiB",
    "buffer.read_ahead=64KiB",
    "flash.code={ kind = \"bch\", data = \"1KiB\", t = 40 }",
    "flash.encoder=[{ code = \"bch\", throughput = \"1200MB/s\" }, { code = \"none\" }]",
    "flash.write_mode=[{ name = \"normal\", code = \"bch\" }, { name = \"fast\", program_scale = 0.5, code = \"none\" }]",
    "ecc.errors={ kind = \"constant\", rates = [1e-4] }",
    "ecc.decoder={ kind = \"engines\", decoders = 2, threads = 3 }",
];

fn of(sets: &[&str]) -> Diagram {
    diagram("drive.toml", &description(sets))
}

fn node<'a>(diagram: &'a Diagram, id: &str) -> &'a Node {
    diagram.nodes.iter().find(|node| node.id == id).unwrap_or_else(|| panic!("no part {id}"))
}

/// Asserts what is said of a part, and how many it is.
#[track_caller]
fn assert_said(diagram: &Diagram, id: &str, kind: &str, count: u32, lines: &[&str]) {
    let Node { kind: found, count: number, lines: said, is_ideal, .. } = node(diagram, id);
    assert_eq!((found.as_str(), *number, said.iter().map(String::as_str).collect::<Vec<_>>()), (kind, count, lines.to_vec()));
    assert_eq!(*is_ideal, lines.is_empty(), "{id}");
}

#[test]
fn a_detailed_drive_says_what_it_is() {
    let diagram = of(DETAILED);
    let said = |id, kind, count, lines: &[&str]| assert_said(&diagram, id, kind, count, lines);
    let cpu = ["4 cores", "submission 3.5 us, completion 1.5 us", "one core at a time for 1 us", "interrupts take 2 us"];
    said("host_processor", "interrupt", 4, &cpu);
    let queues = ["4 queues of 1023 commands", "weights 8:4:2, burst 8", "fetches of 8 commands, 4 at a time"];
    said("submission_queues", "weighted", 4, &queues);
    // 16 GT/s on four lanes, 128 of 130 bits, less 2 % for the link layer.
    let link = ["PCIe 4.0 x4, 7.72 GB/s each direction", "payload 256 B, requests of 512 B with 64 tags"];
    said("link", "nvme", 1, &link);
    let cycles = "cycles: decode 200, look up 150, allocate 200, issue 200, complete 150, collect 100";
    said("firmware", "cores", 2, &["2 cores, 400 MHz, shared", cycles]);
    let axi = ["3 data lanes of 128 bits, 250 MHz, 4 GB/s; an address lane", "bursts of 16 beats, 1 cycle before each"];
    said("interconnect", "axi", 4, &axi);
    said("memory", "ddr", 2, &["2 of DDR3-1333, 16 bits, 2.67 GB/s", "1 rank, 256 MiB, FR-FCFS, open page"]);
    said(
        "write_buffer",
        "write_back",
        2,
        &["8 MiB in 2 buffers", "flushes from 80 % to 50 %, in order lru", "or 1 ms after a write"],
    );
    said("read_cache", "lru", 1, &["1 MiB", "reads 64 KiB ahead"]);
    said("target_queues", "limited", 4, &["commands wait beyond 6 reads at a die"]);
    said("encoders", "rate", 1, &["bch: 1.2 GB/s"]);
    let decoders = ["2 decoders for each channel", "BCH, 200 MHz, 32 bits in a cycle, 3 codewords in each"];
    said("decoders", "engines", 4, &decoders);
    said("channels", "nv_ddr3", 2, &["2 channels, 1200 MT/s", "2 chips on each, scheduler read_first"]);
    said("dies", "slc", 4, &["4 dies, tR 50 us, tPROG 600 us", "tBERS 3 ms, 1 plane, pages of 4 KiB"]);
}

#[test]
fn other_members_say_what_they_are() {
    let said = |set: &str, id: &str, lines: &[&str]| {
        let diagram = of(&[set]);
        let node = node(&diagram, id);
        assert_eq!(node.lines, lines, "{set}");
    };
    let sata = ["SATA II, 300 MB/s, one direction at a time", "handshake of 5 words for each FIS"];
    said("host.interface={ kind = \"sata\", generation = 2 }", "link", &sata);
    let sata = ["SATA II, 300 MB/s, one direction at a time", "handshake of 34 words and 250 ns for each FIS"];
    let set = "host.interface={ kind = \"sata\", generation = 2, handshake_words = 34, handshake_time = \"250ns\" }";
    said(set, "link", &sata);
    let plain = ["600 MB/s, one direction at a time", "500 ns for each command"];
    said("host.interface={ kind = \"plain\", bandwidth = \"600MB/s\", full_duplex = false }", "link", &plain);
    let bursts = "bursts of 16 beats, 1 cycle before each";
    let ahb = "32 bits, 200 MHz, 800 MB/s";
    said("controller.interconnect=ahb", "interconnect", &[&format!("{ahb}, one transfer at a time"), bursts]);
    let layers = format!("{ahb}, a layer for each slave: host, memories, channels");
    said("controller.interconnect=multi_layer_ahb", "interconnect", &[&layers, bursts]);
    let ocp = "64 bits, 200 MHz, 1.6 GB/s; in and out at the host and at each channel";
    said("controller.interconnect=ocp", "interconnect", &[ocp, "2 cycles before each transfer"]);
    let wires = format!("{ahb}; between each memory and the host, and each channel");
    said("controller.interconnect=point_to_point", "interconnect", &[&wires]);
    let dma = ["4 channels, 800 MB/s each", "300 ns for each descriptor"];
    said("controller.dma={ channels = 4, setup = \"300ns\", rate = \"800MB/s\" }", "dma", &dma);
    said("controller.dram=bandwidth", "memory", &["3.2 GB/s, latency 50 ns"]);
    let queue = ["host.interface={ kind = \"nvme\", commands = 32, coalesced = 4, coalescing_time = \"20us\" }"];
    let diagram = of(&queue);
    let lines = &node(&diagram, "submission_queues").lines;
    assert_eq!(lines[2..], ["32 commands in the device", "interrupts for 4, or after 20 us"]);
    let errors = ["ecc.errors={ kind = \"constant\", rates = [1e-4] }", "flash.code={ kind = \"bch\", data = \"1KiB\", t = 40 }"];
    let shared = of(&with(&errors, &["ecc.decoder={ kind = \"fixed\", time = \"20us\", decoders = 3, shared = \"drive\" }"]));
    assert_said(&shared, "decoders", "fixed", 3, &["3 decoders", "20 us for each codeword"]);
}

/// Parts that cost nothing are shown, as ideal.
#[test]
fn an_ideal_drive_shows_what_costs_nothing() {
    let diagram = of(&["host.interface=ideal"]);
    let timed: Vec<&str> = diagram.nodes.iter().filter(|node| !node.is_ideal).map(|node| node.id).collect();
    assert_eq!(timed, ["channels", "dies"]);
    let absent: Vec<&str> = diagram.nodes.iter().filter(|node| node.count == 0).map(|node| node.id).collect();
    assert_eq!(absent, ["write_buffer", "read_cache", "mapping_cache"]);
    for node in diagram.nodes.iter().filter(|node| node.is_ideal) {
        assert_eq!(node.kind, if node.count == 0 { "none" } else { "ideal" }, "{}", node.id);
    }
}

/// Checks the shape of a diagram: parts in the order of their stages, and flows between parts that are there. Each part
/// that the drive has is on a flow.
fn check_shape(name: &str, diagram: &Diagram) {
    assert!(diagram.nodes.is_sorted_by_key(|node| node.stage), "{name}");
    let stage = |id: &str| diagram.nodes.iter().find(|node| node.id == id).map(|node| node.stage);
    for edge in &diagram.edges {
        let (from, to) = (stage(edge.from), stage(edge.to));
        assert!(from.is_some() && to.is_some(), "{name}: {edge:?}");
    }
    for (index, edge) in diagram.edges.iter().enumerate() {
        let is_same = |other: &drive::Edge| BTreeSet::from([edge.from, edge.to]) == BTreeSet::from([other.from, other.to]);
        assert!(!diagram.edges[..index].iter().any(is_same), "{name}: two flows between the parts of {edge:?}");
    }
    for node in &diagram.nodes {
        let is_on = diagram.edges.iter().any(|edge| [edge.from, edge.to].contains(&node.id));
        assert_eq!(is_on, node.count > 0, "{name}: {}", node.id);
        assert_eq!(diagram.nodes.iter().filter(|other| other.id == node.id).count(), 1, "{name}: {}", node.id);
    }
}

/// Checks that each resource of a summary is that of one part.
fn check_resources(name: &str, diagram: &Diagram, summary: &Value) {
    let busy = summary["utilisation"].as_object().expect("a section");
    let has = |key: &str| busy.contains_key(key);
    let is_mean = |key: &str| {
        ["channels", "dies", "dies_writing"].contains(&key)
            || key.starts_with("dram_bus")
            || ["decoders", "page_buffers"].contains(&key) && has(&format!("{key}_0"))
    };
    let mut of_parts: Vec<&str> = diagram.nodes.iter().flat_map(|node| node.utilisation.iter().map(String::as_str)).collect();
    of_parts.sort_unstable();
    let mut of_summary: Vec<&str> = busy.keys().map(String::as_str).filter(|key| !is_mean(key)).collect();
    of_summary.sort_unstable();
    assert_eq!(of_parts, of_summary, "{name}");
}

const JOB: &str = "[job]\nrw=randrw\nbs=4k\nnorandommap=1\niodepth=4\nio_size=64m\nnumber_ios=8\n";

/// A DMA controller stands between memory and interconnect; one that takes no time has no resources.
#[test]
fn a_dma_controller_is_on_the_way_of_data() {
    let ahb = "controller.interconnect=ahb";
    for (channels, setup, kind) in [(1, 500, "channels"), (3, 500, "channels"), (3, 0, "ideal")] {
        let dma = format!("controller.dma={{channels={channels},setup=\"{setup}ns\"}}");
        let diagram = of(&[&dma, ahb]);
        check_shape(&dma, &diagram);
        let node = node(&diagram, "dma");
        assert_eq!((node.kind.as_str(), node.is_ideal), (kind, setup == 0), "{dma}");
        let has = |from: &str, to: &str| diagram.edges.iter().any(|edge| (edge.from, edge.to) == (from, to));
        assert!(has("memory", "dma") && has("dma", "interconnect") && !has("memory", "interconnect"), "{:?}", diagram.edges);
        let outcome = session("base = \"tiny\"", &[&dma, ahb], None, JOB).unwrap_or_else(|problems| panic!("{problems}"));
        check_resources(&dma, &diagram, &outcome.summary);
    }
    assert!(of(&[ahb]).nodes.iter().all(|node| node.id != "dma"));
}

#[test]
fn the_parts_of_random_drives_are_those_of_their_results() {
    let mut kinds = BTreeSet::new();
    for (seed, description) in
        (0..).filter_map(|seed| case::detailed(seed, Detail::Controller).map(|found| (seed, found))).take(200)
    {
        let diagram = diagram("random.toml", &description);
        check_shape(&format!("seed {seed}"), &diagram);
        let sets = case::overrides(seed, Detail::Controller);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let outcome = session(&case::text(seed), &sets, None, JOB).unwrap_or_else(|problems| panic!("seed {seed}: {problems}"));
        check_resources(&format!("seed {seed}"), &diagram, &outcome.summary);
        kinds.extend(diagram.nodes.iter().map(|node| format!("{}: {}", node.id, node.kind)));
    }
    for kind in [
        "link: sata",
        "link: nvme",
        "link: plain",
        "memory: ddr",
        "memory: bandwidth",
        "interconnect: point_to_point",
        "decoders: engines",
    ] {
        assert!(kinds.contains(kind), "{kind} is in none of {kinds:?}");
    }
}

#[test]
fn every_preset_has_a_diagram() {
    for preset in drive::presets::PRESETS {
        let description = Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let diagram = diagram(preset.name, &description);
        check_shape(preset.name, &diagram);
        assert_eq!((diagram.drive.as_str(), &diagram.title), (preset.name, &description.title));
    }
}
