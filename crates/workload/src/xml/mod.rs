//! Workloads in XML: profiles of diskspd ([`diskspd`]) and scenarios of MQSim ([`mqsim`]). Elements that only concern
//! the host or the reports are ignored; every other element is refused by name, with the reason.
//!
//! A document type is refused, and with it every entity but the five of XML itself.

pub mod diskspd;
pub mod mqsim;
mod reader;
mod region;

use crate::Workload;
use kit::{Problem, Problems};
use reader::Reader;
use roxmltree::{Document, ParsingOptions};

/// Largest number of nodes of a document: elements, texts and comments.
const NODES: u32 = 50_000;
/// Names of the root elements.
const ROOTS: [&str; 3] = ["Profile", "Results", "MQSim_IO_Scenarios"];

/// Parts of a document that a user chooses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// Elements to leave out, whatever they mean.
    pub ignore: &'a [String],
    /// Number of a scenario, from 1; `None`: the document has one.
    pub scenario: Option<u32>,
}

/// Reads a document and builds its jobs.
///
/// `name` is the file's name in messages, `user_bytes` the drive's capacity, `seed` the seed of the run. All problems
/// are returned at once.
pub fn open(name: &str, text: &str, user_bytes: u64, seed: u64, chosen: Chosen<'_>) -> Result<Workload, Problems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| Problems::one(format!("{name}:{}", error.pos().row), complaint(&error)))?;
    let mut reader = Reader::new(name, &document, chosen.ignore);
    let root = document.root_element();
    if chosen.scenario.is_some() && !root.has_tag_name("MQSim_IO_Scenarios") {
        return Err(Problems::one("scenario", format!("applies to scenarios of MQSim, and {name} has none: leave it out")));
    }
    match root.tag_name().name() {
        "Profile" => diskspd::open(&mut reader, root, user_bytes, seed),
        // The result of a run begins with the profile that was run.
        "Results" => match root.children().find(|node| node.has_tag_name("Profile")) {
            Some(profile) => diskspd::open(&mut reader, profile, user_bytes, seed),
            None => Err(Problems::one(reader.place(root), "expected the <Profile> that was run in it")),
        },
        "MQSim_IO_Scenarios" => mqsim::open(&mut reader, root, user_bytes, (chosen.scenario, seed)),
        other => Err(Problem::unknown(reader.place(root), "document", other, ROOTS).into()),
    }
}

fn complaint(error: &roxmltree::Error) -> String {
    match error {
        roxmltree::Error::DtdDetected => "a document type: expected a document without <!DOCTYPE>".to_owned(),
        roxmltree::Error::NodesLimitReached => format!("expected at most {NODES} elements and texts"),
        other => format!("not well-formed XML: {other}"),
    }
}
