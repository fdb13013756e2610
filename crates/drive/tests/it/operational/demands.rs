//! The time that each resource of a drive needs for a number of commands and flash operations, computed from the
//! numbers of the description alone: bytes, packets and frames by the protocol, cycles, bursts. The engine rounds each
//! piece of work up to a nanosecond.

use controller::cards::Cards;
use controller::dram::{Generation, Grade};
use controller::ecc::{DecoderConfig, FixedDecoder, Sharing};
use controller::firmware::FirmwareConfig;
use controller::interconnect::InterconnectConfig;
use controller::memory::MemoryConfig;
use drive::Description;
use flash::{Phases, TimeDistribution};
use host::{InterfaceConfig, Notice};
use kit::{Nanos, UNIT_BYTES};

/// Work of a closed loop of reads and writes of one mapping unit each.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Commands.
    pub reads: u64,
    pub writes: u64,
    /// Flash operations, and the mapping units that they move. The reads include those that repeat another one.
    pub read_operations: u64,
    pub read_units: u64,
    pub programs: u64,
    pub program_units: u64,
    pub erases: u64,
    pub lazy_erases: u64,
    pub suspensions: u64,
    /// Reads for relocations, without those that repeat another one; units of relocations, with them.
    pub relocation_reads: u64,
    pub relocation_units: u64,
    /// Reads that repeat another one, and codewords of the others.
    pub retries: u64,
    pub codewords: u64,
    /// Units of the host that were programmed, by write mode.
    pub host_units_by_mode: [u64; 16],
    /// Time for which the dies had an operation \[ns\].
    pub die_spans: u64,
}

/// Busy time of resources \[ns\].
pub struct Work {
    pub what: &'static str,
    /// Names of the resources, without their numbers.
    pub names: Vec<String>,
    pub least: f64,
    pub most: f64,
}

/// Returns work of `ns` in `pieces`, each of which may be rounded up.
fn rounded(what: &'static str, names: &[&str], ns: f64, pieces: u64) -> Work {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Work { what, names, least: ns, most: ns + pieces as f64 }
}

/// Returns the work of the resources of a drive.
pub fn work(description: &Description, counts: &Counts) -> Vec<Work> {
    let mut all = link(description, counts);
    all.extend(host_processor(description, counts));
    all.extend(firmware(description, counts));
    all.extend(interconnect(description, counts));
    all.extend(dma(description, counts));
    all.extend(memory(description, counts));
    all.extend(encoders(description, counts));
    all.extend(decoders(description, counts));
    all.extend(channels(description, counts));
    all.push(dies(description, counts));
    all
}

fn link(description: &Description, counts: &Counts) -> Vec<Work> {
    let Counts { reads, writes, .. } = *counts;
    let commands = reads + writes;
    let unit = UNIT_BYTES as f64;
    match &description.host.interface {
        InterfaceConfig::Ideal(_) => Vec::new(),
        InterfaceConfig::Plain(plain) => {
            let data = if plain.bandwidth.0 == 0 { 0.0 } else { unit * 1e9 / plain.bandwidth.0 as f64 };
            let to_device = commands as f64 * plain.command_time.0 as f64 + writes as f64 * data;
            let to_host = reads as f64 * data;
            if plain.full_duplex {
                let [device, host] = [("link_to_device", to_device, commands), ("link_to_host", to_host, reads)];
                [device, host].map(|(name, time, pieces)| rounded("plain link", &[name], time, pieces)).into()
            } else {
                vec![rounded("plain link", &["link"], to_device + to_host, commands + reads)]
            }
        }
        InterfaceConfig::Sata(sata) => {
            let frame = |words: u64| words + 3 + u64::from(sata.handshake_words);
            // Register FIS in both directions, and set device bits; DMA set-up and a data FIS.
            let common = 2 * frame(5) + frame(2) + frame(7) + frame(1 + UNIT_BYTES / 4);
            let activate = if sata.auto_activate { 0 } else { frame(1) };
            let words = commands * common + writes * activate;
            let rate = [150e6, 300e6, 600e6][sata.generation as usize - 1];
            let fis = 5 * commands + if sata.auto_activate { 0 } else { writes };
            let handshakes = fis as f64 * sata.handshake_time.0 as f64;
            vec![rounded("SATA link", &["link"], words as f64 * 4e9 / rate + handshakes, 6 * commands)]
        }
        InterfaceConfig::Nvme(nvme) => {
            let lane = [250e6, 500e6, 8e9 / 8.0 * 128.0 / 130.0, 16e9 / 8.0 * 128.0 / 130.0, 32e9 / 8.0 * 128.0 / 130.0];
            let rate = lane[nvme.generation as usize - 1] * f64::from(nvme.lanes) * (1.0 - nvme.link_layer_share);
            let packets = |bytes: u64| bytes.div_ceil(nvme.max_payload.0);
            let requests = |bytes: u64| bytes.div_ceil(nvme.read_request.0);
            let polls = description.host.cpu.as_ref().is_some_and(|cpu| cpu.notice == Notice::Polling);
            // Two doorbells and an entry for each command; the data of writes.
            let to_device = commands * (2 * 28 + 64 + 20 * packets(64)) + writes * (UNIT_BYTES + 20 * packets(UNIT_BYTES));
            // Requests for the entry and for the data of writes, the data of reads, completion, interrupt.
            let to_host = commands * (24 * requests(64) + 40 + if polls { 0 } else { 28 })
                + writes * 24 * requests(UNIT_BYTES)
                + reads * (UNIT_BYTES + 24 * packets(UNIT_BYTES));
            [("link_to_device", to_device), ("link_to_host", to_host)]
                .map(|(name, bytes)| rounded("PCI Express link", &[name], bytes as f64 * 1e9 / rate, 5 * commands))
                .into()
        }
    }
}

fn host_processor(description: &Description, counts: &Counts) -> Vec<Work> {
    let Some(cpu) = &description.host.cpu else { return Vec::new() };
    let commands = (counts.reads + counts.writes) as f64;
    let (core, serial) = (cpu.submission.0 + cpu.completion.0, cpu.serial.0);
    let some = |what, name, time: u64| (time > 0).then(|| rounded(what, &[name], commands * time as f64, 0));
    [some("host cores", "host_core", core), some("serial part of the host", "host_serial", serial)]
        .into_iter()
        .flatten()
        .collect()
}

fn firmware(description: &Description, counts: &Counts) -> Vec<Work> {
    let FirmwareConfig::Cores(cores) = &description.controller.firmware else { return Vec::new() };
    let (cycles, c) = (cores.cycles, counts);
    let of = |cycles: u32, count: u64| u64::from(cycles) * count;
    let commands =
        of(cycles.decode + cycles.complete, c.reads + c.writes) + of(cycles.look_up, c.reads) + of(cycles.allocate, c.writes);
    let issued = of(cycles.issue, c.programs + c.erases + c.lazy_erases);
    // Reads of a collection are issued, those of page moves are not; a unit that is read again is handled once.
    let relocated = of(cycles.issue, c.relocation_reads) + of(cycles.collect, c.relocation_units);
    // For cards, the layer decodes each unit that was read, and encodes each that is programmed.
    let ecc = |cards: &Cards| of(cards.decode_cycles, c.read_units) + of(cards.encode_cycles, c.program_units);
    let ecc = description.controller.cards.as_ref().map_or(0, ecc);
    let ns = |cycles: u64| cycles as f64 * 1e9 / cores.clock.0 as f64;
    let operations = c.programs + c.erases + c.lazy_erases;
    let pieces = 3 * (c.reads + c.writes) + 2 * operations + 2 * c.relocation_reads + c.read_operations;
    let is_known = c.retries == 0 && description.policy.kind == "baseline";
    let least = ns(commands + issued + if is_known { relocated + ecc } else { 0 });
    let work = rounded("firmware cores", &["core"], least, pieces);
    vec![Work { most: ns(commands + issued + relocated + ecc) + pieces as f64, ..work }]
}

/// Mapping units that cross the interconnect: to and from the host, to and from the channels.
fn crossings(counts: &Counts) -> [(u64, u64); 4] {
    // With the number of transfers in which they do.
    [
        (counts.writes, counts.writes),
        (counts.reads, counts.reads),
        (counts.program_units, counts.programs),
        (counts.read_units, counts.read_operations),
    ]
}

fn interconnect(description: &Description, counts: &Counts) -> Vec<Work> {
    let [from_host, to_host, to_channel, from_channel] = crossings(counts);
    let all = [from_host, to_host, to_channel, from_channel];
    // Cycles of units in bursts, each after its address.
    let time = |units: u64, width_bits: u32, beats: u64, address: u32, clock: u64| {
        let (bytes, width) = (units * UNIT_BYTES, u64::from(width_bits / 8));
        (bytes / width + bytes / (width * beats) * u64::from(address)) as f64 * 1e9 / clock as f64
    };
    let sum = |legs: &[(u64, u64)]| legs.iter().fold((0, 0), |sum, leg| (sum.0 + leg.0, sum.1 + leg.1));
    match &description.controller.interconnect {
        InterconnectConfig::Ideal(_) => Vec::new(),
        InterconnectConfig::Ahb(p) => {
            let (units, pieces) = sum(&all);
            let ns = time(units, p.width_bits, p.burst_beats.into(), p.address_cycles, p.clock.0);
            vec![rounded("AHB", &["ahb"], ns, pieces)]
        }
        InterconnectConfig::MultiLayerAhb(p) => {
            let layers =
                [("ahb_host", vec![to_host]), ("ahb_dram", vec![from_host, from_channel]), ("ahb_channel", vec![to_channel])];
            let work = |(name, legs): (&'static str, Vec<(u64, u64)>)| {
                let (units, pieces) = sum(&legs);
                let ns = time(units, p.width_bits, p.burst_beats.into(), p.address_cycles, p.clock.0);
                rounded("multi-layer AHB", &[name], ns, pieces)
            };
            layers.map(work).into()
        }
        InterconnectConfig::Axi(p) => {
            let (units, pieces) = sum(&all);
            let data = time(units, p.width_bits, 1, 0, p.clock.0);
            let both = time(units, p.width_bits, p.burst_beats.into(), p.address_cycles, p.clock.0);
            vec![rounded("AXI", &["axi_address"], both - data, pieces), rounded("AXI", &["axi_data"], data, pieces)]
        }
        InterconnectConfig::Ocp(p) => {
            let names = ["ocp_host_in", "ocp_host_out", "ocp_channel_out", "ocp_channel_in"];
            let work = |(name, (units, pieces)): (&&'static str, (u64, u64))| {
                let address = (pieces * u64::from(p.address_cycles)) as f64 * 1e9 / p.clock.0 as f64;
                rounded("OCP", &[name], time(units, p.width_bits, 1, 0, p.clock.0) + address, pieces)
            };
            names.iter().zip(all).map(work).collect()
        }
        InterconnectConfig::PointToPoint(p) => {
            let wires = [("wire_host", sum(&[from_host, to_host])), ("wire_channel", sum(&[to_channel, from_channel]))];
            let work = |(name, (units, pieces)): (&'static str, (u64, u64))| {
                rounded("point-to-point wires", &[name], time(units, p.width_bits, 1, 0, p.clock.0), pieces)
            };
            wires.map(work).into()
        }
    }
}

/// Each crossing has a descriptor, and passes a channel of the DMA controller.
fn dma(description: &Description, counts: &Counts) -> Option<Work> {
    let dma = description.controller.dma.as_ref().filter(|dma| dma.setup > Nanos::ZERO || dma.rate.is_some())?;
    let (units, transfers) = crossings(counts).iter().fold((0, 0), |sum, leg| (sum.0 + leg.0, sum.1 + leg.1));
    let data = dma.rate.map_or(0.0, |rate| (units * UNIT_BYTES) as f64 * 1e9 / rate.0 as f64);
    Some(rounded("DMA channels", &["dma"], (transfers * dma.setup.0) as f64 + data, transfers))
}

/// Data passes the memory on its way in and out; a read looks the map up, and a program updates it.
fn memory(description: &Description, counts: &Counts) -> Vec<Work> {
    let data = crossings(counts);
    let (units, accesses) = data.iter().fold((0, 0), |sum, leg| (sum.0 + leg.0, sum.1 + leg.1));
    let look_ups = counts.reads + counts.programs;
    match &description.controller.dram {
        MemoryConfig::Ideal(_) => Vec::new(),
        MemoryConfig::Bandwidth(p) => {
            let bytes = units * UNIT_BYTES + look_ups * 64;
            vec![rounded("memory with a rate", &["dram"], bytes as f64 * 1e9 / p.rate.0 as f64, accesses + look_ups)]
        }
        MemoryConfig::Ddr(p) => {
            let (mega_transfers, burst_length) = transfers(p.grade);
            let width = u64::from(p.width_bits / 8);
            let bursts = |bytes: u64| bytes.div_ceil(width * burst_length) * burst_length;
            let moved = units * bursts(UNIT_BYTES) + look_ups * bursts(64);
            // The name of the grade is rounded.
            let ns = moved as f64 * 1e3 / mega_transfers;
            let bus = rounded("data bus of a DDR memory", &["dram_bus"], ns * 0.999, 0);
            let occupied = rounded("DDR memory", &["dram"], ns * 0.999, 0);
            // An access takes its rows, too; accesses that follow each other share the channel.
            vec![
                Work { most: ns * 1.001 + f64::from(description.buffer.buffers), ..bus },
                Work { most: f64::INFINITY, ..occupied },
            ]
        }
    }
}

/// Returns the transfers per second of a grade \[millions\] and the transfers of its bursts, by the standards.
fn transfers(grade: Grade) -> (f64, u64) {
    let mega: f64 = grade.title().rsplit('-').next().and_then(|rate| rate.parse().ok()).expect("a rate");
    let exact = match (grade, mega as u32) {
        (_, 133) => 400.0 / 3.0,
        (_, 166) => 500.0 / 3.0,
        (_, 333) => 1000.0 / 3.0,
        (_, 667) => 2000.0 / 3.0,
        (_, 1333) => 4000.0 / 3.0,
        (_, 2133) => 6400.0 / 3.0,
        _ => mega,
    };
    let burst = match grade.timing().generation {
        Generation::Sdr | Generation::Ddr | Generation::Ddr2 => 4,
        Generation::Ddr3 | Generation::Ddr4 => 8,
        Generation::Lpddr4 => 16,
    };
    (exact, burst)
}

/// Units of the host pass the encoder of their write mode. Units of relocations may do, too, also those that are
/// overwritten before they are programmed.
fn encoders(description: &Description, counts: &Counts) -> Vec<Work> {
    let encoder = |encoder: &flash::EncoderConfig| {
        let rate = encoder.throughput?;
        let modes = description.flash.write_modes.iter().zip(counts.host_units_by_mode);
        let units: u64 = modes.filter(|(mode, _)| mode.code.as_ref() == Some(&encoder.code)).map(|(_, units)| units).sum();
        let ns = (units * UNIT_BYTES) as f64 * 1e9 / rate.0 as f64;
        let work = rounded("encoders", &[&format!("encoder_{}", encoder.code)], ns, counts.programs);
        Some(if counts.relocation_reads == 0 { work } else { Work { most: f64::INFINITY, ..work } })
    };
    description.flash.encoders.iter().filter_map(encoder).collect()
}

/// A fixed time for each codeword. Codewords of a channel's own decoders hold them while they arrive, too; those that
/// are read again hold them again.
fn decoders(description: &Description, counts: &Counts) -> Vec<Work> {
    let DecoderConfig::Fixed(FixedDecoder { time, shared, .. }) = &description.ecc.decoder else { return Vec::new() };
    if description.ecc.source().is_none() {
        return Vec::new();
    }
    let work = rounded("decoders", &["decoders"], (counts.codewords * time.0) as f64, 0);
    let is_known = *shared == Sharing::Drive && counts.retries == 0;
    vec![if is_known { work } else { Work { most: f64::INFINITY, ..work } }]
}

/// Command cycles and their gaps for each operation, and its data. Known for operations on single pages, whose data is
/// transferred once.
fn channels(description: &Description, counts: &Counts) -> Option<Work> {
    let (flash, shape) = (&description.flash, description.geometry().shape);
    let is_single = shape.planes_per_program * shape.pages_per_program == 1 && shape.superblock == 1;
    if !is_single
        || counts.retries > 0
        || flash.read_modes.iter().any(|mode| mode.transfers > 1)
        || description.ecc.source().is_some()
    {
        return None;
    }
    let p = flash.phases.unwrap_or_else(|| Phases::of(flash.interface));
    let cycles = |number: u64| Nanos(p.t_cycle.0 * number);
    let read = p.t_cs + cycles(6) + p.t_wb + p.t_rr;
    let program = p.t_cs + cycles(6) + p.t_adl + p.t_wpst + p.t_wb;
    let erase = p.t_cs + cycles(4) + p.t_wb;
    // A suspended operation is resumed.
    let suspension = Nanos(2 * (p.t_cs + cycles(3)).0);
    let Counts { read_operations, programs, erases, lazy_erases, suspensions, .. } = *counts;
    let commands =
        read_operations * read.0 + programs * program.0 + (erases + lazy_erases) * erase.0 + suspensions * suspension.0;
    let units = counts.read_units + counts.program_units;
    let data = (units * UNIT_BYTES) as f64 * 1e9 / flash.transfer_rate.0 as f64;
    let ns = commands as f64 + data;
    Some(rounded("channels", &["channel"], ns, read_operations + programs + u64::from(flash.channels)))
}

/// The spans of the operations and, where nothing else has a die, no more. Their array times are part of them.
fn dies(description: &Description, counts: &Counts) -> Work {
    let flash = &description.flash;
    let spans = counts.die_spans as f64;
    let least = |times: &flash::PerPageType| times.all().iter().map(|time| time.0).min().unwrap_or(0) as f64;
    let scale = |scales: &mut dyn Iterator<Item = f64>| scales.fold(f64::INFINITY, f64::min).min(1.0);
    let read = least(&flash.read_time) * scale(&mut flash.read_modes.iter().map(|mode| mode.sense_scale));
    let program = least(&flash.program_time) * scale(&mut flash.write_modes.iter().map(|mode| mode.program_scale));
    let erase = flash.erase_time.0 as f64 * scale(&mut flash.erase_modes.iter().map(|mode| mode.erase_scale));
    let is_constant = flash.time_distribution == TimeDistribution::Constant && counts.retries == 0;
    let array = counts.read_operations as f64 * read + counts.programs as f64 * program + counts.erases as f64 * erase;
    assert!(!is_constant || array <= spans, "{array} ns in the arrays, {spans} ns of operations");
    let work = rounded("dies", &["die"], spans, u64::from(description.geometry().die_count));
    // A die may be held between the attempts at a read.
    if counts.retries == 0 { work } else { Work { most: f64::INFINITY, ..work } }
}
