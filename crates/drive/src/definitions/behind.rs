//! Background of each cause of latency: the resource, the operations of the flash, and the fields of the
//! description that bear on it. The match over the causes makes a new cause state them.

use kit::{Cause, Reason};
use serde_json::{Value, json};

/// Operations of the flash for which the commands with a cause waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// None: the cause is none of waiting for the flash.
    None,
    /// Reads of host data.
    HostReads,
    /// Programs of host data.
    HostPrograms,
    /// Programs of all data.
    Programs,
    /// Programs of relocated data, and the reads before them.
    Relocations,
    /// Erases.
    Erases,
}

impl Operations {
    /// Returns the name in the definitions: the counts of `flash` in a summary that say how many there were.
    pub const fn name(self) -> &'static str {
        match self {
            Operations::None => "",
            Operations::HostReads => "reads",
            Operations::HostPrograms | Operations::Programs | Operations::Relocations => "programs",
            Operations::Erases => "erases",
        }
    }

    /// Returns the reasons of the operations.
    pub fn reasons(self) -> Vec<Reason> {
        let for_host = |reason: &Reason| matches!(reason, Reason::Host | Reason::Rmw | Reason::Map | Reason::Padding);
        match self {
            Operations::None => Vec::new(),
            Operations::HostReads => vec![Reason::Host, Reason::Rmw, Reason::Map],
            Operations::HostPrograms => vec![Reason::Host, Reason::Padding],
            Operations::Relocations => Reason::ALL.iter().copied().filter(|reason| !for_host(reason)).collect(),
            Operations::Programs | Operations::Erases => Reason::ALL.to_vec(),
        }
    }
}

/// Change of a field that may make a cause smaller, and what a trial does with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A larger value; a trial multiplies it.
    More(f64),
    /// A smaller value; a trial multiplies it.
    Less(f64),
    /// This value, as TOML has it.
    To(&'static str),
    /// It depends on the load. A trial has nothing to set.
    Depends,
}

/// Field of the description that bears on a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Path in the description.
    pub name: &'static str,
    /// Change that may make the cause smaller.
    pub change: Change,
}

/// Background of a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    /// Resource in words, as part of a sentence.
    pub resource: &'static str,
    /// Beginnings of the names of its values in `utilisation`, separated by spaces; empty for what has none.
    pub utilisation: &'static str,
    /// Operations for which commands waited.
    pub operations: Operations,
    /// Fields that bear on the cause, those with the largest effect in most drives first.
    pub fields: &'static [Field],
}

const fn more(name: &'static str, factor: f64) -> Field {
    Field { name, change: Change::More(factor) }
}

const fn less(name: &'static str, factor: f64) -> Field {
    Field { name, change: Change::Less(factor) }
}

const fn to(name: &'static str, value: &'static str) -> Field {
    Field { name, change: Change::To(value) }
}

const fn depends(name: &'static str) -> Field {
    Field { name, change: Change::Depends }
}

const fn behind(resource: &'static str, utilisation: &'static str, operations: Operations, fields: &'static [Field]) -> Behind {
    Behind { resource, utilisation, operations, fields }
}

/// Suspension for a drive that has none. Its times are those of `tlc-1tb`, which are assumed.
const SUSPENSION: &str = "{ program = true, erase = true, suspend_time = \"20us\", resume_time = \"20us\", \
    least_remaining = \"200us\", most = 1000 }";

/// Returns what stands behind a cause.
pub fn of(cause: Cause) -> Behind {
    use Operations::None;
    match cause {
        Cause::Host | Cause::HostQueue | Cause::QueueBlocked | Cause::Wake | Cause::Link => host(cause),
        Cause::CoreWait | Cause::Firmware => behind("the controller's cores", "core_", None, CORES),
        Cause::InterconnectWait | Cause::Interconnect => {
            behind("the interconnect", "ahb axi_ ocp_ wire_ dma", None, INTERCONNECT)
        }
        Cause::DramWait | Cause::Dram => behind("the controller's memory", "dram", None, MEMORY),
        Cause::Card => behind("the cards' links and processors", "card_", None, CARDS),
        Cause::BufferFull | Cause::FreeSpace | Cause::Map | Cause::Rmw | Cause::Order => space(cause),
        Cause::Sequencer => behind("the I/O sequencer", "", Operations::HostReads, SEQUENCER),
        Cause::PageBuffer => behind("the page buffers", "page_buffers", None, PAGE_BUFFERS),
        Cause::PowerWait => behind("the power of the flash", "", None, POWER),
        Cause::DieHostRead | Cause::DieHostProgram | Cause::DieRelocation | Cause::DieErase | Cause::DieHeld => die(cause),
        Cause::BusWait | Cause::BusCommand | Cause::Transfer => channel(cause),
        Cause::Sense => behind("the cells of the dies", "die_", None, SENSE),
        Cause::Program => behind("the cells of the dies", "die_", None, PROGRAM),
        Cause::EccWait | Cause::Decode | Cause::Retry => correction(cause),
    }
}

const CORES: &[Field] = &[
    more("controller.firmware.clock", 2.0),
    more("controller.firmware.count", 2.0),
    to("controller.firmware.assignment", "shared"),
    less("controller.firmware.cycles.decode", 0.5),
    less("controller.firmware.cycles.look_up", 0.5),
    less("controller.firmware.cycles.allocate", 0.5),
    less("controller.firmware.cycles.complete", 0.5),
    less("controller.firmware.cycles.collect", 0.5),
];
const INTERCONNECT: &[Field] = &[
    more("controller.interconnect.width_bits", 2.0),
    more("controller.interconnect.clock", 2.0),
    more("controller.interconnect.data_lanes", 2.0),
    more("controller.dma.channels", 2.0),
    less("controller.dma.setup", 0.5),
    more("controller.dma.rate", 2.0),
];
const MEMORY: &[Field] = &[
    more("controller.dram.rate", 2.0),
    less("controller.dram.latency", 0.5),
    more("controller.dram.width_bits", 2.0),
    more("controller.dram.ranks", 2.0),
    more("buffer.buffers", 2.0),
    depends("controller.dram.grade"),
];
const CARDS: &[Field] = &[
    less("controller.cards.command_time", 0.5),
    more("controller.cards.lanes", 2.0),
    more("controller.cards.count", 2.0),
    less("controller.cards.decode_cycles", 0.5),
    less("controller.cards.encode_cycles", 0.5),
];
const SEQUENCER: &[Field] = &[
    more("controller.sequencer.per_die", 4.0),
    to("controller.sequencer.order", "reorder"),
    more("controller.sequencer.window", 4.0),
    less("controller.sequencer.age_limit", 0.5),
];
const POWER: &[Field] = &[
    more("power.cap", 2.0),
    to("power.cap_order", "reads_first"),
    more("power.thermal.cap", 2.0),
    depends("power.cap_suspends"),
    depends("power.suspend"),
];
const PAGE_BUFFERS: &[Field] = &[more("controller.page_buffers.count", 2.0)];
const SENSE: &[Field] = &[less("flash.read_time", 0.5), depends("flash.read_mode.sense_scale")];
const PROGRAM: &[Field] = &[less("flash.program_time", 0.5), depends("buffer.policy"), depends("flash.write_mode.program_scale")];

/// Host, its queues and its link.
fn host(cause: Cause) -> Behind {
    const QUEUES: &[Field] = &[
        more("host.interface.queue_depth", 2.0),
        more("host.interface.queues", 2.0),
        more("host.interface.commands", 2.0),
        more("host.interface.fetch_batch", 2.0),
    ];
    const LINK: &[Field] = &[
        more("host.interface.lanes", 2.0),
        more("host.interface.bandwidth", 2.0),
        less("host.interface.command_time", 0.5),
        more("host.interface.max_payload", 2.0),
        less("host.interface.host_memory_time", 0.5),
        depends("host.interface.generation"),
    ];
    const PROCESSOR: &[Field] = &[
        more("host.cpu.cores", 2.0),
        less("host.cpu.serial", 0.5),
        less("host.cpu.submission", 0.5),
        less("host.cpu.completion", 0.5),
        less("host.cpu.interrupt_time", 0.5),
        less("host.cpu.poll_interval", 0.5),
    ];
    const TARGETS: &[Field] = &[more("controller.target_queues.threshold", 4.0)];
    const STATES: &[Field] = &[depends("power.state.exit_latency"), depends("power.state.idle_time")];
    let none = Operations::None;
    match cause {
        Cause::Host => behind("the host's processor", "host_", none, PROCESSOR),
        Cause::HostQueue => behind("the submission queues", "", none, QUEUES),
        Cause::QueueBlocked => behind("the queues of the dies", "die_", Operations::HostReads, TARGETS),
        Cause::Wake => behind("the drive's power states", "", none, STATES),
        _ => behind("the host link", "link", none, LINK),
    }
}

/// Buffer, free blocks, map and order.
fn space(cause: Cause) -> Behind {
    const BUFFER: &[Field] = &[
        more("buffer.capacity", 4.0),
        less("flash.program_time", 0.5),
        more("ftl.overprovisioning", 2.0),
        less("buffer.flush_above", 0.5),
        less("buffer.flush_after", 0.5),
    ];
    const FREE: &[Field] = &[
        more("ftl.overprovisioning", 2.0),
        more("ftl.gc_critical_blocks", 2.0),
        more("ftl.gc_low_blocks", 2.0),
        to("ftl.victim", "greedy"),
        less("flash.erase_time", 0.5),
        depends("ftl.gc_spare_fraction"),
        depends("ftl.gc_idle_after"),
    ];
    const MAP: &[Field] = &[
        more("ftl.map_cache.size", 4.0),
        less("flash.read_time", 0.5),
        depends("ftl.map_cache.dirty_share"),
        depends("buffer.read_ahead"),
    ];
    const PARTIAL: &[Field] = &[less("flash.read_time", 0.5), depends("ftl.partial_write"), depends("buffer.capacity")];
    const ORDER: &[Field] = &[to("ecc.delivery", "as_decoded"), less("flash.program_time", 0.5), depends("buffer.flush_above")];
    match cause {
        Cause::BufferFull => behind("the write buffer, which the dies empty", "die_", Operations::Programs, BUFFER),
        Cause::FreeSpace => behind("the free blocks, which collection makes", "die_", Operations::Relocations, FREE),
        Cause::Map => behind("the mapping cache", "die_", Operations::None, MAP),
        Cause::Rmw => behind("the dies, which read the rest of partial writes", "die_", Operations::HostReads, PARTIAL),
        _ => behind("the order of the commands", "", Operations::None, ORDER),
    }
}

/// Waits for a die.
fn die(cause: Cause) -> Behind {
    const READS: &[Field] = &[
        more("flash.dies_per_chip", 2.0),
        more("flash.channels", 2.0),
        less("flash.read_time", 0.5),
        more("flash.transfer_rate", 2.0),
    ];
    const PROGRAMS: &[Field] = &[
        to("flash.suspension", SUSPENSION),
        to("flash.suspension.program", "true"),
        to("flash.suspension.most", "1000"),
        less("flash.suspension.least_remaining", 0.25),
        to("flash.scheduler", "read_first"),
        less("flash.program_time", 0.5),
        more("flash.dies_per_chip", 2.0),
    ];
    const RELOCATIONS: &[Field] = &[
        to("flash.suspension", SUSPENSION),
        to("flash.suspension.program", "true"),
        to("flash.suspension.most", "1000"),
        more("ftl.overprovisioning", 2.0),
        to("ftl.gc_preemptible", "true"),
        to("ftl.victim", "greedy"),
        to("ftl.separate_relocations", "true"),
        to("flash.scheduler", "out_of_order"),
        less("flash.program_time", 0.5),
    ];
    const ERASES: &[Field] = &[
        to("flash.suspension", SUSPENSION),
        to("flash.suspension.erase", "true"),
        to("flash.suspension.most", "1000"),
        less("flash.suspension.least_remaining", 0.25),
        to("flash.scheduler", "out_of_order"),
        less("flash.erase_time", 0.5),
        more("ftl.overprovisioning", 2.0),
        less("ftl.superblock_blocks", 0.5),
    ];
    const HELD: &[Field] = &[
        less("flash.suspension.suspend_time", 0.5),
        less("flash.suspension.resume_time", 0.5),
        more("flash.suspension.least_remaining", 2.0),
        to("ecc.retries_hold", "nothing"),
    ];
    let dies = |operations: Operations, fields: &'static [Field]| behind("the dies", "die_", operations, fields);
    match cause {
        Cause::DieHostRead => dies(Operations::HostReads, READS),
        Cause::DieHostProgram => dies(Operations::HostPrograms, PROGRAMS),
        Cause::DieRelocation => dies(Operations::Relocations, RELOCATIONS),
        Cause::DieErase => dies(Operations::Erases, ERASES),
        _ => dies(Operations::None, HELD),
    }
}

/// The flash channel.
fn channel(cause: Cause) -> Behind {
    const WAIT: &[Field] = &[more("flash.transfer_rate", 2.0), more("flash.channels", 2.0), less("flash.chips_per_channel", 0.5)];
    const COMMAND: &[Field] = &[
        more("flash.transfer_rate", 2.0),
        less("flash.phases.t_cycle", 0.5),
        less("flash.phases.t_adl", 0.5),
        depends("flash.interface"),
    ];
    const TRANSFER: &[Field] = &[more("flash.transfer_rate", 2.0), depends("flash.read_mode.transfers")];
    let fields = match cause {
        Cause::BusWait => WAIT,
        Cause::BusCommand => COMMAND,
        _ => TRANSFER,
    };
    behind("the flash channels", "channel_", Operations::None, fields)
}

/// Decoding and repeated reads.
fn correction(cause: Cause) -> Behind {
    const DECODERS: &[Field] = &[
        more("ecc.decoder.decoders", 2.0),
        more("ecc.decoder.threads", 2.0),
        to("ecc.decoder.shared", "channel"),
        more("flash.encoder.throughput", 2.0),
    ];
    const DECODE: &[Field] = &[
        more("ecc.decoder.decoder.clock_hz", 2.0),
        more("ecc.decoder.decoder.bits_per_cycle", 2.0),
        less("ecc.decoder.decoder.iteration", 0.5),
        less("ecc.decoder.time", 0.5),
    ];
    const RETRY: &[Field] = &[
        to("ecc.calibration", "true"),
        more("ecc.plan.reduction", 2.0),
        less("ecc.plan.step_time", 0.5),
        less("flash.read_time", 0.5),
        less("state.pe_cycles", 0.5),
        less("state.age", 0.5),
        depends("ecc.read_levels"),
        depends("flash.code"),
    ];
    match cause {
        Cause::EccWait => behind("the decoders and encoders", "decoders encoder_", Operations::None, DECODERS),
        Cause::Decode => behind("the decoders", "decoders", Operations::None, DECODE),
        _ => behind("the dies, which repeat reads", "die_", Operations::None, RETRY),
    }
}

/// Returns what stands behind a cause, for Python.
pub(super) fn to_json(cause: Cause) -> Value {
    let Behind { resource, utilisation, operations, fields } = of(cause);
    let field = |Field { name, change }: &Field| match *change {
        Change::More(factor) => json!({"name": name, "change": "more", "factor": factor}),
        Change::Less(factor) => json!({"name": name, "change": "less", "factor": factor}),
        Change::To(value) => json!({"name": name, "change": "to", "value": value}),
        Change::Depends => json!({"name": name, "change": "depends"}),
    };
    json!({
        "resource": resource,
        "utilisation": utilisation.split_ascii_whitespace().collect::<Vec<_>>(),
        "operations": operations.name(),
        "reasons": operations.reasons().iter().map(|reason| reason.name()).collect::<Vec<_>>(),
        "fields": fields.iter().map(field).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Description;
    use std::collections::BTreeSet;

    /// Returns true if a schema has a field at `path`, in one of its members if it is that of a family.
    fn has(root: &Value, schema: &Value, path: &[&str]) -> bool {
        let resolved = |schema: &Value| match schema["$ref"].as_str() {
            Some(at) => root.pointer(at.trim_start_matches('#')).expect("a definition of the schema").clone(),
            None => schema.clone(),
        };
        let schema = resolved(schema);
        let Some((first, rest)) = path.split_first() else { return true };
        let inner = ["anyOf", "oneOf", "allOf"].iter().filter_map(|of| schema[*of].as_array()).flatten();
        inner.chain(std::iter::once(&schema["items"])).any(|inner| has_inner(root, inner, path))
            || schema["properties"].get(first).is_some_and(|field| has(root, field, rest))
    }

    fn has_inner(root: &Value, schema: &Value, path: &[&str]) -> bool {
        schema.is_object() && has(root, schema, path)
    }

    #[test]
    fn every_cause_has_fields_and_every_field_is_one_of_the_description() {
        let schema = Description::schema();
        for cause in Cause::ALL {
            let Behind { resource, fields, .. } = of(*cause);
            assert!(!resource.is_empty() && !fields.is_empty(), "{}", cause.name());
            let names: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), fields.len(), "{}: a field is listed twice", cause.name());
            for name in names {
                let path: Vec<&str> = name.split('.').collect();
                assert!(has(&schema, &schema, &path), "{}: {name} is no field of the description", cause.name());
            }
            for Field { name, change } in fields {
                match change {
                    Change::More(factor) => assert!(*factor > 1.0, "{name}"),
                    Change::Less(factor) => assert!(*factor > 0.0 && *factor < 1.0, "{name}"),
                    Change::To(value) => assert!(!value.is_empty(), "{name}"),
                    Change::Depends => {}
                }
            }
        }
        assert!(!has(&schema, &schema, &["flash", "suspension", "least"]));
        assert!(!has(&schema, &schema, &["flash", "erase_times"]));
    }

    /// Every resource of a summary is that of some cause, and no beginning of a name stands for none.
    #[test]
    fn every_beginning_of_a_name_is_that_of_a_resource() {
        let keys = crate::summary::keys::KEYS.iter().filter_map(|key| key.term.name.strip_prefix("utilisation."));
        let names: Vec<&str> = keys.collect();
        for cause in Cause::ALL {
            for begin in of(*cause).utilisation.split_ascii_whitespace() {
                assert!(names.iter().any(|name| name.starts_with(begin)), "{}: no resource begins with {begin}", cause.name());
            }
        }
    }
}
