//! The parts of a drive, each from its section of the description.

use super::{Node, Stage};
use crate::description::{Description, own_decoder};
use controller::ecc::{DecoderConfig, EngineDecoder, FixedDecoder};
use controller::interconnect::Ports;
use controller::sequencer::SequencerConfig;
use flash::PerPageType;
use host::{Arbitration, BufferConfig, BufferPolicy, CpuConfig, PartialFlush, QueueConfig};
use kit::{Nanos, words};
use serde::Serialize;
use serde_json::Value;

pub(super) const HOST_PROCESSOR: &str = "host_processor";
pub(super) const SUBMISSION_QUEUES: &str = "submission_queues";
pub(super) const LINK: &str = "link";
pub(super) const FIRMWARE: &str = "firmware";
pub(super) const WRITE_BUFFER: &str = "write_buffer";
pub(super) const MEMORY: &str = "memory";
pub(super) const READ_CACHE: &str = "read_cache";
pub(super) const MAPPING_CACHE: &str = "mapping_cache";
pub(super) const DMA: &str = "dma";
pub(super) const INTERCONNECT: &str = "interconnect";
pub(super) const CARDS: &str = "cards";
pub(super) const SEQUENCER: &str = "sequencer";
pub(super) const TARGET_QUEUES: &str = "target_queues";
pub(super) const PAGE_BUFFERS: &str = "page_buffers";
pub(super) const ENCODERS: &str = "encoders";
pub(super) const DECODERS: &str = "decoders";
pub(super) const CHANNELS: &str = "channels";
pub(super) const DIES: &str = "dies";

/// Returns all parts.
pub(super) fn all(description: &Description) -> Vec<Node> {
    let before = [
        host_processor(description),
        submission_queues(description),
        link(description),
        firmware(description),
        write_buffer(description),
        memory(description),
        read_cache(description),
        mapping_cache(description),
    ];
    let between = [
        interconnect(description),
        encoders(description),
        decoders(description),
        sequencer(description),
        target_queues(description),
        page_buffers(description),
    ];
    let behind = [channels(description), dies(description)];
    before.into_iter().chain(dma(description)).chain(between).chain(cards(description)).chain(behind).collect()
}

/// Returns the word by which a description spells a value.
fn spelled(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns `name` with each of `count` numbers.
fn numbered(name: &str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{name}_{number}"))
}

fn host_processor(description: &Description) -> Node {
    let node = Node::ideal(HOST_PROCESSOR, Stage::Host, "host processor");
    let Some(cpu) = &description.host.cpu else { return node };
    let CpuConfig { cores, submission, serial, completion, notice, interrupt_time, poll_interval } = cpu;
    let work = format!("submission {}, completion {}", words::time(*submission), words::time(*completion));
    let serial = (*serial > Nanos::ZERO).then(|| format!("one core at a time for {}", words::time(*serial)));
    let after = match poll_interval {
        None => format!("interrupts take {}", words::time(*interrupt_time)),
        Some(interval) => format!("looks every {}", words::time(*interval)),
    };
    let lines = [words::count(*cores, "core"), work].into_iter().chain(serial).chain([after]);
    node.of(spelled(notice), *cores, lines).busy(numbered("host_core", *cores)).busy(["host_serial"])
}

fn submission_queues(description: &Description) -> Node {
    let node = Node::ideal(SUBMISSION_QUEUES, Stage::Host, "submission queues");
    let Some(queues) = description.host.queues() else { return node };
    let QueueConfig { count, depth, arbitration, burst, batch, fetches, in_device, coalescing, .. } = queues;
    let depth = depth.map_or_else(|| "any number of commands".to_owned(), |depth| words::count(depth, "command"));
    let (kind, turns) = match arbitration {
        Arbitration::RoundRobin => ("round_robin", String::new()),
        Arbitration::Weighted { weights: [high, medium, low], .. } => ("weighted", format!("weights {high}:{medium}:{low}, ")),
    };
    let mut lines = vec![format!("{} of {depth}", words::count(count, "queue"))];
    lines.extend((count > 1).then(|| format!("{turns}burst {burst}")));
    lines.extend(fetches.map(|fetches| format!("fetches of {}, {fetches} at a time", words::count(batch, "command"))));
    lines.extend(in_device.map(|commands| format!("{} in the device", words::count(commands, "command"))));
    lines.extend(coalescing.map(|(most, time)| format!("interrupts for {most}, or after {}", words::time(time))));
    node.of(kind, count, lines)
}

fn link(description: &Description) -> Node {
    let config = &description.host.interface;
    let node = Node::ideal(LINK, Stage::Link, "host link");
    node.of(config.name(), 1, config.build(()).in_words()).busy(["link", "link_to_device", "link_to_host"])
}

/// Returns the cards of a drive that has any. Others do not lack them.
fn cards(description: &Description) -> Option<Node> {
    let cards = description.controller.cards.as_ref()?;
    let busy = ["card_in", "card_out", "card_processor"].into_iter().flat_map(|name| numbered(name, cards.count));
    Some(Node::ideal(CARDS, Stage::Cards, "cards").of("cards", cards.count, cards.in_words()).busy(busy))
}

fn firmware(description: &Description) -> Node {
    let config = &description.controller.firmware;
    let firmware = config.build(());
    let cores = firmware.cores().map_or(1, |cores| cores.count);
    let node = Node::ideal(FIRMWARE, Stage::Firmware, "firmware");
    node.of(config.name(), cores, firmware.in_words()).busy(numbered("core", cores))
}

fn write_buffer(description: &Description) -> Node {
    let node = Node::ideal(WRITE_BUFFER, Stage::Memory, "write buffer").absent();
    let BufferConfig {
        policy,
        capacity: Some(capacity),
        buffers,
        flush_order,
        flush_above,
        flush_below,
        flush_after,
        partial_flush,
        ..
    } = &description.buffer
    else {
        return node;
    };
    if *policy == BufferPolicy::None {
        return node;
    }
    let each = if *buffers > 1 { format!(" in {buffers} buffers") } else { String::new() };
    let mut lines = vec![format!("{}{each}", words::size(*capacity))];
    if *policy == BufferPolicy::WriteBack {
        let percent = |share: f64| format!("{} %", (share * 100.0).round());
        let marks = flush_above.map(|above| format!("from {} to {}, ", percent(above), percent(*flush_below)));
        lines.push(format!("flushes {}in order {}", marks.unwrap_or_default(), spelled(flush_order)));
        lines.extend(match (flush_after, partial_flush) {
            (Some(time), PartialFlush::Pad) => Some(format!("or {} after a write", words::time(*time))),
            (_, PartialFlush::Wait) => Some("programs that are not full wait".to_owned()),
            (None, PartialFlush::Pad) => None,
        });
    }
    node.of(spelled(policy), *buffers, lines)
}

fn memory(description: &Description) -> Node {
    let config = &description.controller.dram;
    let count = description.buffer.buffers.max(1);
    let mut lines = config.build(()).in_words();
    if let Some(first) = lines.first_mut().filter(|_| count > 1) {
        *first = format!("{count} of {first}");
    }
    let names = numbered("dram", count).chain(["dram".to_owned()]);
    Node::ideal(MEMORY, Stage::Memory, "memory").of(config.name(), count, lines).busy(names)
}

fn read_cache(description: &Description) -> Node {
    let node = Node::ideal(READ_CACHE, Stage::Memory, "read cache").absent();
    let Some(size) = description.buffer.read_cache else { return node };
    let ahead = description.buffer.read_ahead;
    let ahead = (ahead.0 > 0).then(|| format!("reads {} ahead", words::size(ahead)));
    node.of("lru", 1, [words::size(size)].into_iter().chain(ahead))
}

fn mapping_cache(description: &Description) -> Node {
    let node = Node::ideal(MAPPING_CACHE, Stage::Memory, "mapping cache").absent();
    let Some(cache) = &description.ftl.map_cache else { return node };
    let whole = description.ftl.user_units(&description.geometry()) * kit::UNIT_BYTES / u64::from(cache.page_entries);
    let of_all = format!("{} of a map of {}", words::size(cache.size), words::size(kit::Bytes(whole)));
    let journal = cache.journal.map(|size| format!("journal of {}", words::size(size)));
    node.of(spelled(&cache.memory), 1, [of_all].into_iter().chain(journal))
}

fn interconnect(description: &Description) -> Node {
    let config = &description.controller.interconnect;
    let ports = Ports { buffers: description.buffer.buffers.max(1), channels: description.flash.channels };
    let interconnect = config.build(());
    let layers: Vec<String> = interconnect.fabric(ports).groups.into_iter().flat_map(|group| group.names).collect();
    let node = Node::ideal(INTERCONNECT, Stage::Interconnect, "interconnect");
    node.of(config.name(), layers.len().max(1) as u32, interconnect.in_words()).busy(layers)
}

fn dma(description: &Description) -> Option<Node> {
    let dma = description.controller.dma.as_ref()?;
    let node = Node::ideal(DMA, Stage::Dma, "DMA controller");
    let lines = dma.in_words();
    Some(if lines.is_empty() { node } else { node.of("channels", dma.channels, lines).busy(dma.names()) })
}

fn sequencer(description: &Description) -> Node {
    let node = Node::ideal(SEQUENCER, Stage::ChannelControllers, "sequencer");
    let Some(SequencerConfig { order, window, age_limit, per_die }) = &description.controller.sequencer else { return node };
    let mut lines = vec![format!("{} outstanding at a die", words::count(*per_die, "read"))];
    lines.extend(window.map(|window| format!("chooses among {}", words::count(window, "read"))));
    lines.extend(age_limit.map(|age| format!("overtaken for at most {}", words::time(age))));
    node.of(spelled(order), 1, lines)
}

fn target_queues(description: &Description) -> Node {
    let node = Node::ideal(TARGET_QUEUES, Stage::ChannelControllers, "target queues");
    let Some(queues) = &description.controller.target_queues else { return node };
    let line = format!("commands wait beyond {} at a die", words::count(queues.threshold, "read"));
    node.of("limited", description.geometry().die_count, [line])
}

fn page_buffers(description: &Description) -> Node {
    let node = Node::ideal(PAGE_BUFFERS, Stage::ChannelControllers, "page buffers");
    let Some(buffers) = &description.controller.page_buffers else { return node };
    let channels = description.flash.channels;
    let line = format!("{} for each channel", words::count(buffers.count, "page"));
    let node = node.of("limited", channels * buffers.count, [line]);
    // With several channels, `page_buffers` is a mean.
    if channels > 1 { node.busy(numbered("page_buffers", channels)) } else { node.busy(["page_buffers"]) }
}

fn encoders(description: &Description) -> Node {
    let encoders = &description.flash.encoders;
    let timed = encoders.iter().filter_map(|encoder| Some((&encoder.code, encoder.throughput?)));
    let lines: Vec<String> = timed.map(|(code, rate)| format!("{code}: {}", words::rate(rate))).collect();
    let node = Node::ideal(ENCODERS, Stage::Codecs, "encoders");
    let node = if lines.is_empty() { node } else { node.of("rate", lines.len() as u32, lines) };
    node.busy(encoders.iter().map(|encoder| format!("encoder_{}", encoder.code)))
}

fn decoders(description: &Description) -> Node {
    let node = Node::ideal(DECODERS, Stage::Codecs, "decoders");
    let (kind, decoders, words) = match (&description.ecc.decoder, description.correction()) {
        (DecoderConfig::Fixed(FixedDecoder { time, decoders, .. }), _) => {
            ("fixed", *decoders, format!("{} for each codeword", words::time(*time)))
        }
        (DecoderConfig::Engines(EngineDecoder { decoders, threads, decoder, .. }), Ok(correction)) => {
            let words = decoder.clone().unwrap_or_else(|| own_decoder(&correction.code)).in_words();
            let threads = if *threads > 1 { format!(", {threads} codewords in each") } else { String::new() };
            ("engines", *decoders, words + &threads)
        }
        _ => return node,
    };
    let groups = description.decoder_groups();
    let lines = match groups {
        0 => return node,
        1 => vec![words::count(decoders, "decoder"), words],
        _ => vec![format!("{} for each channel", words::count(decoders, "decoder")), words],
    };
    let node = node.of(kind, groups * decoders, lines);
    // With several groups, `decoders` is a mean.
    if groups > 1 { node.busy(numbered("decoders", groups)) } else { node.busy(["decoders"]) }
}

fn channels(description: &Description) -> Node {
    let flash = &description.flash;
    let lines = [
        format!("{}, {}", words::count(flash.channels, "channel"), words::transfers(flash.transfer_rate)),
        format!("{} on each, scheduler {}", words::count(flash.chips_per_channel, "chip"), flash.scheduler.name()),
    ];
    let node = Node::ideal(CHANNELS, Stage::Channels, "flash channels");
    node.of(spelled(&flash.interface), flash.channels, lines).busy(numbered("channel", flash.channels))
}

fn dies(description: &Description) -> Node {
    let (flash, geometry) = (&description.flash, description.geometry());
    let count = geometry.die_count;
    let times = |times: &PerPageType| {
        let (least, most) = (times.all().iter().min(), times.all().iter().max());
        let [least, most] = [least, most].map(|time| words::time(time.copied().unwrap_or_default()));
        if least == most { least } else { format!("{least} to {most}") }
    };
    let planes = words::count(geometry.shape.planes_per_die, "plane");
    let lines = [
        format!("{}, tR {}, tPROG {}", words::count(count, "die"), times(&flash.read_time), times(&flash.program_time)),
        format!("tBERS {}, {planes}, pages of {}", words::time(flash.erase_time), words::size(flash.page_size)),
    ];
    Node::ideal(DIES, Stage::Dies, "dies").of(spelled(&flash.cell), count, lines).busy(numbered("die", count))
}
