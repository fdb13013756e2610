//! The diagram of a described drive, as data: its parts from the host to the cells, and the flows between them. For
//! `ssdlab show --diagram` and the report, which only draw it.
//!
//! A part is one function in [`nodes`], a line in its list, and the part's place in [`FLOWS`].

mod nodes;

use crate::description::Description;
use crate::statistics::{Share, Utilisation};
use crate::summary::utilisation_keys;
use controller::Controller;
use kit::SimTime;
use serde::Serialize;
use std::collections::BTreeSet;

/// A diagram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagram {
    /// Name of the drive, as the user gave it.
    pub drive: String,
    /// Title of the drive.
    pub title: String,
    /// Parts, in the order of their stages, and in a stage from left to right.
    pub nodes: Vec<Node>,
    /// Flows between parts.
    pub edges: Vec<Edge>,
}

/// Stage of a drive, in the order from the host to the cells. A drawing has a row for each that it has parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The host.
    Host,
    /// The host link.
    Link,
    /// The firmware of the controller.
    Firmware,
    /// The memories of the controller, and what they hold.
    Memory,
    /// The DMA controller.
    Dma,
    /// The interconnect of the controller.
    Interconnect,
    /// The encoders and decoders of the code.
    Codecs,
    /// The queues before the channels, and the channel controllers.
    ChannelControllers,
    /// The cards of flash.
    Cards,
    /// The flash channels.
    Channels,
    /// The dies.
    Dies,
}

/// A part of a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Name by which edges refer to it.
    pub id: &'static str,
    /// Its stage.
    pub stage: Stage,
    /// Name for people.
    pub name: &'static str,
    /// Kind, as a description spells it: the member of its family, or a property. `ideal` if it costs nothing, `none`
    /// if the drive does not have it.
    pub kind: String,
    /// True if it takes no time and has no limit, or the drive does not have it. Drawn as a line.
    pub is_ideal: bool,
    /// Number of equal resources: cores, memories, channels, dies; 0 if the drive does not have it.
    pub count: u32,
    /// Its widths, rates and limits in words; none if it is ideal.
    pub lines: Vec<String>,
    /// Names of its values in the section `utilisation` of a summary.
    pub utilisation: Vec<String>,
}

impl Node {
    /// Returns a part that costs nothing.
    fn ideal(id: &'static str, stage: Stage, name: &'static str) -> Node {
        let (lines, utilisation) = (Vec::new(), Vec::new());
        Node { id, stage, name, kind: "ideal".to_owned(), is_ideal: true, count: 1, lines, utilisation }
    }

    /// Returns the same part as one that the drive does not have.
    fn absent(self) -> Node {
        Node { kind: "none".to_owned(), count: 0, ..self }
    }

    /// Returns the same part as one of a kind, with `count` equal resources. It costs nothing if `lines` is empty.
    fn of(self, kind: impl Into<String>, count: u32, lines: impl IntoIterator<Item = String>) -> Node {
        let lines: Vec<String> = lines.into_iter().collect();
        Node { kind: kind.into(), is_ideal: lines.is_empty(), count, lines, ..self }
    }

    /// Adds values of the section `utilisation`, if summaries of the drive have them.
    fn busy(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Node {
        self.utilisation.extend(names.into_iter().map(Into::into));
        self
    }
}

/// A flow between two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// A part.
    pub from: &'static str,
    /// Another part.
    pub to: &'static str,
    /// Content of the flow, in either direction.
    pub carries: &'static str,
}

/// Content of the flows of flash operations and their data.
const BOTH: &str = "flash operations, data";

/// Flows through a drive: their content, and the parts that they pass. Parts that the drive does not have are left out.
const FLOWS: &[(&str, &[&str])] = &[
    ("commands", &[nodes::HOST_PROCESSOR, nodes::SUBMISSION_QUEUES, nodes::LINK, nodes::FIRMWARE]),
    ("data", &[nodes::LINK, nodes::INTERCONNECT]),
    ("map", &[nodes::FIRMWARE, nodes::MEMORY]),
    ("flash operations", &[nodes::FIRMWARE, nodes::SEQUENCER, nodes::TARGET_QUEUES, nodes::CARDS, nodes::CHANNELS]),
    ("data", &[nodes::MEMORY, nodes::WRITE_BUFFER]),
    ("data", &[nodes::MEMORY, nodes::READ_CACHE]),
    ("map", &[nodes::MEMORY, nodes::MAPPING_CACHE]),
    ("data", &[nodes::MEMORY, nodes::DMA, nodes::INTERCONNECT]),
    ("data written", &[nodes::INTERCONNECT, nodes::ENCODERS, nodes::PAGE_BUFFERS]),
    ("data read", &[nodes::INTERCONNECT, nodes::DECODERS, nodes::PAGE_BUFFERS]),
    ("data", &[nodes::PAGE_BUFFERS, nodes::CARDS, nodes::CHANNELS]),
    (BOTH, &[nodes::CHANNELS, nodes::DIES]),
];

/// Returns the diagram of a drive.
pub fn diagram(name: &str, description: &Description) -> Diagram {
    let keys: BTreeSet<String> = keys(description).into_iter().collect();
    let mut nodes = nodes::all(description);
    nodes.iter_mut().for_each(|node| node.utilisation.retain(|name| keys.contains(name)));
    let edges = edges(&nodes);
    Diagram { drive: name.to_owned(), title: description.title.clone(), nodes, edges }
}

/// Returns the edges of the flows.
fn edges(nodes: &[Node]) -> Vec<Edge> {
    let is_there = |id: &&str| nodes.iter().any(|node| node.id == *id && node.count > 0);
    let mut edges: Vec<Edge> = Vec::new();
    for (carries, path) in FLOWS {
        let passed: Vec<&'static str> = path.iter().copied().filter(is_there).collect();
        for pair in passed.windows(2) {
            match edges.iter_mut().find(|edge| edge.from == pair[0] && edge.to == pair[1]) {
                // Operations and data come to the channels of a card by one way.
                Some(edge) => edge.carries = BOTH,
                None => edges.push(Edge { from: pair[0], to: pair[1], carries }),
            }
        }
    }
    edges
}

/// Returns the keys of the section `utilisation` of the drive's summaries.
fn keys(description: &Description) -> Vec<String> {
    let geometry = description.geometry();
    let controller = Controller::new(&description.controller_without_reads(&geometry));
    let share = |busy: controller::Busy<'_>| Share { name: busy.name.to_owned(), group: busy.group, busy: 0.0 };
    let idle = |count: u32| vec![0.0; count as usize];
    let (channels, dies) = (idle(geometry.shape.channels), idle(geometry.die_count));
    let has_page_buffers = description.controller.page_buffers.is_some();
    let page_buffers = if has_page_buffers { channels.clone() } else { Vec::new() };
    let busy = Utilisation {
        flash: flash::Utilisation { channels, writing: dies.clone(), dies, page_buffers },
        controller: controller.busy(SimTime::ZERO).map(share).collect(),
        decoders: idle(description.decoder_groups()),
    };
    utilisation_keys(description, &busy)
}
