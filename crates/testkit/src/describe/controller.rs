//! Random controllers, as overrides of a random description.

use super::{chance, pick};
use drive::Description;
use kit::{Rng, UNIT_BYTES};

/// Returns overrides that give a random drive a detailed controller.
pub fn controller(rng: &mut Rng) -> Vec<String> {
    let mut sets = Vec::new();
    interface(rng, &mut sets);
    buffer(rng, &mut sets);
    if chance(rng, 0.4) {
        sets.push(format!("host.cpu={}", cpu(rng)));
    }
    device(rng, &mut sets);
    if chance(rng, 0.25) {
        let has_cores = sets.iter().any(|set| set.starts_with("controller.firmware"));
        sets.push(card(rng, has_cores));
    }
    sets
}

/// Returns a card of flash, with ECC by software on some drives with cores.
fn card(rng: &mut Rng, has_cores: bool) -> String {
    let cycles = if has_cores { pick(rng, &[0, 500, 20_000]) } else { 0 };
    format!(
        "controller.cards={{generation={},lanes={},command_time=\"{}ns\",memory_time=\"{}ns\",decode_cycles={cycles},encode_cycles={}}}",
        1 + rng.below(5),
        pick(rng, &[1, 4, 16]),
        pick(rng, &[1, 1000, 30_000]),
        pick(rng, &[0, 500]),
        cycles / 2
    )
}

/// Returns overrides that give a drive a mapping cache, and leave space for map pages.
pub fn map_cache(rng: &mut Rng, whole: &Description) -> Vec<String> {
    let program = u64::from(whole.geometry().units_per_program);
    let units = whole.user_bytes() / UNIT_BYTES * (25 + rng.below(40)) / 100;
    let ftl = &whole.ftl;
    let has_host_memory = whole.host.protocol().host_memory.is_some();
    let memory = pick(rng, if has_host_memory { &["dram", "sram", "host", "host"] } else { &["dram", "sram", "dram", "sram"] });
    let journal = if memory == "host" || chance(rng, 0.4) {
        format!(",journal=\"{}B\"", program * UNIT_BYTES * (2 + rng.below(3)))
    } else {
        String::new()
    };
    let cache = format!(
        "{{size=\"{}B\",page_entries={},memory=\"{memory}\",dirty_share={},update_share={}{journal}}}",
        (8 * program + rng.below(8)) * UNIT_BYTES,
        pick(rng, &[2, 7, 40]),
        pick(rng, &[0.05, 0.5, 1.0]),
        pick(rng, &["0.0", "0.001", "0.02", "0.5"])
    );
    vec![
        format!("ftl.user_capacity={}B", units.max(1) * UNIT_BYTES),
        "ftl.overprovisioning=0.0".to_owned(),
        format!("ftl.gc_critical_blocks={}", ftl.gc_critical_blocks + 1),
        format!("ftl.gc_low_blocks={}", ftl.gc_low_blocks + 1),
        format!("ftl.map_cache={cache}"),
    ]
}

/// Gives most drives firmware, an interconnect or a memory that take time.
fn device(rng: &mut Rng, sets: &mut Vec<String>) {
    if chance(rng, 0.5) {
        let cycles = |rng: &mut Rng| pick(rng, &[0, 1, 150, 1500]);
        sets.push(format!(
            "controller.firmware={{kind=\"cores\",count={},clock=\"{}MHz\",assignment=\"{}\",cycles={{decode={},look_up={},allocate={},\
             issue={},complete={},collect={}}}}}",
            1 + rng.below(4),
            pick(rng, &[100, 300, 777]),
            pick(rng, &["shared", "by_task", "by_channel", "by_queue"]),
            cycles(rng),
            cycles(rng),
            cycles(rng),
            cycles(rng),
            cycles(rng),
            cycles(rng)
        ));
    }
    if chance(rng, 0.3) {
        sets.push(format!("controller.target_queues={{threshold={}}}", pick(rng, &[1, 2, 6, 40])));
    }
    if chance(rng, 0.5) {
        let kind = pick(rng, &["ahb", "multi_layer_ahb", "axi", "ocp", "point_to_point"]);
        let (clock, width) = (pick(rng, &[50, 166, 200]), pick(rng, &[8, 32, 128]));
        sets.push(format!("controller.interconnect={{kind=\"{kind}\",clock=\"{clock}MHz\",width_bits={width}}}"));
    }
    if chance(rng, 0.4) {
        let grade = pick(rng, &["sdr-166", "ddr-400", "ddr2-800", "ddr3-1333", "ddr4-2400", "lpddr4-3200"]);
        let (width, chunk) = (pick(rng, &[8, 16, 32]), pick(rng, &[256, 1024]));
        let (scheduling, page) = (pick(rng, &["fcfs", "fr_fcfs"]), pick(rng, &["open", "closed"]));
        sets.push(format!(
            "controller.dram={{kind=\"ddr\",grade=\"{grade}\",width_bits={width},chunk=\"{chunk}B\",scheduling=\"{scheduling}\",\
             page=\"{page}\",size=\"64MiB\"}}"
        ));
    } else if chance(rng, 0.5) {
        let (rate, latency) = (pick(rng, &[100, 666, 3200]), pick(rng, &[0, 50, 7000]));
        sets.push(format!("controller.dram={{kind=\"bandwidth\",rate=\"{rate}MB/s\",latency=\"{latency}ns\"}}"));
    }
    if chance(rng, 0.5) {
        sets.push(format!("controller.page_buffers={{count={}}}", pick(rng, &[1, 1, 2, 3, 16])));
    }
    if chance(rng, 0.5) {
        let per_die = pick(rng, &[1, 1, 2, 9]);
        let mut reorder = format!("order=\"reorder\",window={}", pick(rng, &[1, 2, 7, 4096]));
        if chance(rng, 0.5) {
            reorder += &format!(",age_limit=\"{}us\"", pick(rng, &[0, 100, 5000]));
        }
        let order = if chance(rng, 0.4) { "order=\"in_order\"".to_owned() } else { reorder };
        sets.push(format!("controller.sequencer={{{order},per_die={per_die}}}"));
    }
}

fn interface(rng: &mut Rng, sets: &mut Vec<String>) {
    match rng.below(8) {
        0 => {}
        1..4 => sets.push(format!(
            "host.interface={{kind=\"sata\",generation={},queue_depth={},auto_activate={},handshake_words={}}}",
            1 + rng.below(3),
            pick(rng, &[1, 2, 7, 32]),
            chance(rng, 0.5),
            pick(rng, &[0, 5, 400])
        )),
        _ => sets.push(format!("host.interface={}", nvme(rng))),
    }
}

/// Gives half of the drives a write buffer of some kind.
fn buffer(rng: &mut Rng, sets: &mut Vec<String>) {
    if chance(rng, 0.4) {
        let units = pick(rng, &[1, 4, 40, 400]);
        let ahead = rng.below(units + 1).min(32);
        sets.extend([format!("buffer.read_cache={}KiB", 4 * units), format!("buffer.read_ahead={}KiB", 4 * ahead)]);
    }
    if chance(rng, 0.5) {
        return;
    }
    sets.push(format!("buffer.capacity={}KiB", pick(rng, &[64, 128, 512, 2048])));
    if chance(rng, 0.4) {
        sets.push(format!("buffer.buffers={}", 1 + rng.below(3)));
    }
    if chance(rng, 0.3) {
        sets.push("buffer.policy=write_through".to_owned());
        return;
    }
    sets.extend(["buffer.policy=write_back".to_owned(), format!("buffer.flush_after={}us", pick(rng, &[0, 10, 300, 3000]))]);
    if chance(rng, 0.6) {
        let (above, below) = (rng.unit(), rng.unit());
        sets.extend([format!("buffer.flush_above={above:.3}"), format!("buffer.flush_below={:.3}", above * below)]);
    }
    let order = pick(rng, &["fifo", "lru", "lru", "lru", "by_die"]);
    sets.push(format!("buffer.flush_order={order}"));
    if order != "lru" && chance(rng, 0.5) {
        sets.push("buffer.rewritten=appended".to_owned());
    }
}

fn nvme(rng: &mut Rng) -> String {
    let queues = pick(rng, &[1, 1, 2, 5]);
    let mut text = format!(
        "{{kind=\"nvme\",generation={},lanes={},max_payload=\"{}B\",read_request=\"{}B\",read_tags={},host_memory_time=\"{}\",queues={queues},\
         queue_depth={},fetch_batch={},fetches={},burst={},link_layer_share={}",
        1 + rng.below(5),
        pick(rng, &[1, 4, 16]),
        pick(rng, &[128, 256, 4096]),
        pick(rng, &[128, 512, 4096]),
        pick(rng, &[1, 5, 8, 256]),
        pick(rng, &["0ns", "500ns", "70us"]),
        pick(rng, &[2, 3, 9, 65_536]),
        pick(rng, &[1, 3, 64]),
        pick(rng, &[1, 2, 30]),
        pick(rng, &[1, 2, 256]),
        pick(rng, &["0.0", "0.02"])
    );
    if chance(rng, 0.3) {
        text += &format!(",commands={}", 1 + rng.below(6));
    }
    if chance(rng, 0.3) {
        text += &format!(",coalesced={},coalescing_time=\"{}us\"", 2 + rng.below(9), pick(rng, &[0, 3, 100]));
    }
    if queues > 1 && chance(rng, 0.6) {
        let class = |rng: &mut Rng| pick(rng, &["\"urgent\"", "\"high\"", "\"medium\"", "\"low\""]);
        let priorities = [class(rng), class(rng), "\"low\""];
        let first = 3 - (queues as usize).min(3);
        text += &format!(
            ",arbitration={{kind=\"weighted\",weights=[{},{},{}],priorities=[{}]}}",
            1 + rng.below(9),
            1 + rng.below(3),
            1 + rng.below(2),
            priorities[first..].join(",")
        );
    }
    text + "}"
}

fn cpu(rng: &mut Rng) -> String {
    let time = |rng: &mut Rng| pick(rng, &["0ns", "500ns", "3500ns", "40us"]);
    let (submission, serial, completion) = (time(rng), time(rng), time(rng));
    let notice = if chance(rng, 0.5) {
        format!("interrupt_time=\"{}\"", time(rng))
    } else {
        format!("notice=\"polling\",poll_interval=\"{}\"", pick(rng, &["1ns", "1us", "70us"]))
    };
    let cores = 1 + rng.below(4);
    format!("{{cores={cores},submission=\"{submission}\",serial=\"{serial}\",completion=\"{completion}\",{notice}}}")
}
