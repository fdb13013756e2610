//! Definitions of every name that can appear in a result, from where each is declared: causes and reasons (`kit`), the
//! statistics of the policies (`ftl`), the keys of the summary and of the report of a life, the columns of tables.
//!
//! From these declarations come the page `docs/reference/results.md`, the explanations in the report, and the output of
//! `ssdlab schema results`.
//!
//! A path of a key is its names, joined by dots. `*` stands for an element of a list. A name, or the end of a name, in
//! capitals is a placeholder: `OP`, `CAUSE` and `REASON` for those of these names, `N` for a number, any other for any
//! name.

pub mod behind;
pub mod files;
mod page;

use crate::{lifetime, summary};
use ftl::policy::PolicyConfig;
use kit::{Cause, Op, Reason, Term};
use serde_json::{Map, Value, json};

/// Units of values, each with its meaning.
pub const UNITS: &[(&str, &str)] = &[
    ("ns", "nanoseconds of simulated time"),
    ("s", "seconds of wall-clock time"),
    ("years", "years of 365.25 days"),
    ("bytes", "bytes"),
    ("bytes/s", "bytes per second of simulated time"),
    ("bits", "bits"),
    ("commands", "commands of the host"),
    ("commands/s", "commands per second of simulated time"),
    ("units", "mapping units, of 4 KiB unless `ftl.mapping_unit` says otherwise"),
    ("pages", "pages of the map"),
    ("blocks", "blocks"),
    ("cycles", "program and erase cycles of a block; of effective wear, nominal erases"),
    ("count", "number of what the definition names"),
    ("share", "share of a whole, from 0 to 1"),
    ("%", "hundredths of a whole"),
    ("ratio", "quotient of two numbers of one unit"),
    ("J", "joules"),
    ("W", "watts"),
    ("degrees Celsius", "degrees Celsius"),
];

/// Keys that a comparison adds to the summaries of its runs (`compare.json`, `ssdlab compare --json`).
pub const COMPARISON: &[Term] = &[
    Term::new("names", "", "Names of the runs, by what differs between them."),
    Term::new("folders", "", "Names of the folders of the runs; only in `compare.json`."),
    Term::new("runs", "", "Summaries of the runs, in the requested order, each with the keys of `summary.json`."),
    Term::new(
        "ratios",
        "",
        "Numbers of each run divided by those of the first run; `null` where one is missing or the first is 0.",
    ),
    Term::new("ratios.*.latency.OP.NAME", "ratio", "Ratio of the number of that name in `latency`."),
    Term::new("ratios.*.write_amplification", "ratio", "Ratio of the write amplifications."),
    Term::new("ratios.*.write_amplification_bytes", "ratio", "Ratio of the write amplifications by bytes."),
];

/// Returns true if a declared path, which may have placeholders, is that of the value at `path`.
pub fn covers(declared: &str, path: &[&str]) -> bool {
    declared.split('.').count() == path.len() && declared.split('.').zip(path).all(|(declared, name)| matches(declared, name))
}

/// Returns true if a name of a declared path stands for `name`.
fn matches(declared: &str, name: &str) -> bool {
    let fixed = declared.trim_end_matches(|letter: char| letter.is_ascii_uppercase());
    let rest = name.strip_prefix(fixed).filter(|rest| !rest.is_empty());
    match &declared[fixed.len()..] {
        "" => declared == name,
        "OP" => rest.is_some_and(|rest| rest == "all" || Op::ALL.iter().any(|op| op.name() == rest)),
        "CAUSE" => rest.is_some_and(|rest| Cause::ALL.iter().any(|cause| cause.name() == rest)),
        "REASON" => rest.is_some_and(|rest| Reason::ALL.iter().any(|reason| reason.name() == rest)),
        "N" => rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())),
        _ => rest.is_some(),
    }
}

/// Returns every definition, for Python.
pub fn all() -> Value {
    let policies = PolicyConfig::statistics().into_iter().map(|(policy, terms)| (policy.to_owned(), json!(terms)));
    let keys: Vec<Term> = summary::keys::KEYS.iter().map(|key| key.term).collect();
    json!({
        "causes": Cause::ALL.iter().map(|cause| json!({
            "name": cause.name(),
            "words": cause.words(),
            "definition": cause.definition(),
            "behind": behind::to_json(*cause),
        })).collect::<Vec<_>>(),
        "reasons": Reason::ALL.iter().map(|reason| Term::new(reason.name(), "", reason.definition())).collect::<Vec<_>>(),
        "policies": policies.collect::<Map<_, _>>(),
        "keys": {
            "summary.json": keys,
            "lifetime.json": lifetime::keys::KEYS,
            "compare.json": COMPARISON,
        },
        "columns": files::FILES.iter().map(|file| (file.name.to_owned(), json!(file.columns))).collect::<Map<_, _>>(),
        "units": UNITS.iter().map(|(unit, meaning)| ((*unit).to_owned(), json!(meaning))).collect::<Map<_, _>>(),
    })
}

/// Returns the page of all definitions, in Markdown.
pub fn reference() -> String {
    page::page()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all definitions, each with the name of what it defines.
    fn every() -> Vec<(String, Term)> {
        let mut found: Vec<(String, Term)> = Vec::new();
        let mut add = |of: &str, term: Term| found.push((format!("{of}: {}", term.name), term));
        Cause::ALL.iter().for_each(|cause| add("cause", Term::new(cause.name(), "ns", cause.definition())));
        Reason::ALL.iter().for_each(|reason| add("reason", Term::new(reason.name(), "", reason.definition())));
        summary::keys::KEYS.iter().for_each(|key| add("summary.json", key.term));
        lifetime::keys::KEYS.iter().chain(COMPARISON).for_each(|term| add("lifetime.json, compare.json", *term));
        for (policy, terms) in PolicyConfig::statistics() {
            terms.into_iter().for_each(|term| add(policy, term));
        }
        for file in files::FILES {
            file.columns.iter().for_each(|column| add(file.name, column.term));
        }
        found
    }

    #[test]
    fn every_definition_is_a_sentence_and_every_unit_is_listed() {
        for (of, term) in every() {
            let text = term.definition;
            let begins = text.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '`');
            assert!(begins && text.ends_with(['.', ')']) && text.len() > 8, "{of}: `{text}`: expected a sentence");
            assert!(!text.contains("  ") && !text.contains('\n'), "{of}: `{text}`: expected one line");
            let listed = term.unit.is_empty() || UNITS.iter().any(|(unit, _)| *unit == term.unit);
            assert!(listed, "{of}: the unit `{}` is not listed", term.unit);
        }
    }

    #[test]
    fn the_end_of_a_name_agrees_with_its_unit() {
        let endings =
            [("_bytes_per_s", "bytes/s"), ("_ns", "ns"), ("_bytes", "bytes"), ("_cycles", "cycles"), ("iops", "commands/s")];
        // A ratio of bytes to bytes, named as in the field beside the ratio of mapping units.
        let is_ratio = |name: &str| name.ends_with("write_amplification_bytes");
        for (of, term) in every().into_iter().filter(|(_, term)| !term.unit.is_empty() && !is_ratio(term.name)) {
            if let Some((_, unit)) = endings.iter().find(|(end, _)| term.name.ends_with(end)) {
                assert_eq!(term.unit, *unit, "{of}");
            }
        }
    }

    #[test]
    fn placeholders_stand_for_what_their_names_say() {
        let covered = |declared: &str, path: &str| covers(declared, &path.split('.').collect::<Vec<_>>());
        assert!(covered("latency.OP.p99_ns", "latency.trim.p99_ns") && covered("latency.OP.p99_ns", "latency.all.p99_ns"));
        assert!(!covered("latency.OP.p99_ns", "latency.erase.p99_ns") && !covered("latency.OP", "latency.all.p99_ns"));
        assert!(covered("CAUSE", "sense") && !covered("CAUSE", "senses"));
        assert!(
            covered("die_N", "die_10") && !covered("die_N", "die_") && !covered("die_N", "die_1a") && !covered("die_N", "dies")
        );
        assert!(covered("by_wear.*.to_cycles", "by_wear.*.to_cycles") && !covered("by_wear.*", "by_wear.x"));
    }
}
