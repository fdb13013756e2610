//! The page of all definitions.

use super::behind::{self, Behind, Change, Field};
use super::files::FILES;
use super::{COMPARISON, UNITS};
use crate::{lifetime, summary};
use ftl::policy::PolicyConfig;
use kit::{Cause, Reason, Term};
use std::fmt::Write;

const HEAD: &str = "# Reference: the names in results

Made from the declarations in the engine; a test compares the two. `ssdlab schema results` prints the same as JSON, and the
report shows the definitions when the pointer rests on a name. [Files that are written](files.md) says which files are written, and when;
[Glossary](glossary.md) compares the terms with those of the field.

In a key, `*` stands for an element of a list. A name, or the end of one, in capitals is a placeholder: `OP` for `all`, `read`,
`write`, `trim` or `flush` (`intervals`, `causes` and `causes_tail` have the first three only), `CAUSE` and `REASON` for a cause and a reason,
`MODE` for a mode of the drive, `TAIL` for `p99`, `p99_9` or `p99_99`, `N` for a number from 0, `CODE` for a code, `NAME` for any name. A value is `null` where nothing
was measured, or where the drive lacks what would compute it.
";

const CAUSES: &str = "
## Causes of latency

Every nanosecond of a command's latency is charged to exactly one cause; the parts add up to the latency. Tables and charts
show a cause in words.

| cause | in words | definition |
| --- | --- | --- |
";
const FIELDS: &str = "
### Fields that bear on a cause

A change of one of these fields may make the cause smaller: a larger value (`+`), a smaller one (`-`), or the value that is
stated. Without any of these, it depends on the load. `ssdlab why` shows those of the causes of a tail; `ssdlab why --try` runs
the load with each of them changed ([Why is my tail long?](../guide/tail.md)).

| cause | what stands behind it | fields |
| --- | --- | --- |
";
const REASONS: &str = "
## Reasons of flash operations

The counts of units read, units programmed and blocks erased are split by the reason of the operation (`flash.reads`,
`flash.programs`, `flash.erases`).

| reason | definition |
| --- | --- |
";
const POLICIES: &str = "
### Statistics of the policies

The keys of `policy_stats`, by policy; policies that are not listed have none. `combine` has those of its members, each after
the name of the member and a dot. A policy in Python names its own.
";
const COMPARED: &str = "
## Keys of `compare.json`

Also of `ssdlab compare --json`.
";
const LIFE: &str = "
## Keys of `lifetime.json`

Also of `ssdlab lifetime --json` ([Lifetime of a drive](../guide/lifetime.md)). Every key is always present.
";

/// Returns the page, in Markdown.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    units(&mut page);
    causes(&mut page);
    fields(&mut page);
    reasons(&mut page);
    keys_of_a_run(&mut page);
    policies(&mut page);
    page.push_str(COMPARED);
    keys(&mut page, COMPARISON.iter());
    page.push_str(LIFE);
    keys(&mut page, lifetime::keys::KEYS.iter());
    tables(&mut page);
    page
}

/// Returns a text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn units(page: &mut String) {
    page.push_str("\n## Units\n\n| unit | meaning |\n| --- | --- |\n");
    for (unit, meaning) in UNITS {
        let _ = writeln!(page, "| {unit} | {meaning} |");
    }
}

fn causes(page: &mut String) {
    page.push_str(CAUSES);
    for cause in Cause::ALL {
        let _ = writeln!(page, "| `{}` | {} | {} |", cause.name(), cause.words(), cell(cause.definition()));
    }
}

/// Adds what stands behind each cause, and the fields that bear on it.
fn fields(page: &mut String) {
    page.push_str(FIELDS);
    for cause in Cause::ALL {
        let Behind { resource, fields, .. } = behind::of(*cause);
        let field = |Field { name, change }: &Field| match change {
            Change::More(_) => format!("`{name}` +"),
            Change::Less(_) => format!("`{name}` -"),
            Change::To(value) if value.starts_with('{') => format!("`{name}`, where there is none"),
            Change::To(value) => format!("`{name} = {value}`"),
            Change::Depends => format!("`{name}`"),
        };
        let fields = fields.iter().map(field).collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| `{}` | {resource} | {fields} |", cause.name());
    }
}

fn reasons(page: &mut String) {
    page.push_str(REASONS);
    for reason in Reason::ALL {
        let _ = writeln!(page, "| `{}` | {} |", reason.name(), cell(reason.definition()));
    }
}

/// Adds the keys of a run: first those without a section, then section by section.
fn keys_of_a_run(page: &mut String) {
    page.push_str("\n## Keys of `summary.json`\n\nAlso of `ssdlab run --json`.\n");
    let terms: Vec<Term> = summary::keys::KEYS.iter().map(|key| key.term).collect();
    let section = |term: &Term| term.name.split('.').next().unwrap_or_default();
    let sections: Vec<&[Term]> = terms.chunk_by(|one, next| section(one) == section(next)).collect();
    keys(page, sections.iter().filter(|terms| terms.len() == 1).flat_map(|terms| terms.iter()));
    for terms in sections.iter().filter(|terms| terms.len() > 1) {
        let _ = write!(page, "\n### `{}`\n\n{}\n", terms[0].name, terms[0].definition);
        keys(page, terms[1..].iter());
    }
}

fn keys<'a>(page: &mut String, terms: impl Iterator<Item = &'a Term>) {
    page.push_str("\n| key | unit | definition |\n| --- | --- | --- |\n");
    for term in terms {
        let _ = writeln!(page, "| `{}` | {} | {} |", term.name, term.unit, cell(term.definition));
    }
}

fn policies(page: &mut String) {
    page.push_str(POLICIES);
    for (policy, terms) in PolicyConfig::statistics().iter().filter(|(_, terms)| !terms.is_empty()) {
        let _ = write!(page, "\n#### `{policy}`\n");
        keys(page, terms.iter());
    }
}

fn tables(page: &mut String) {
    page.push_str("\n## Columns of tables\n\nTypes are those of the table that Python reads; in CSV all are texts.\n");
    for file in FILES {
        let kind = if file.name.starts_with("--") { "The file of " } else { "" };
        let _ = write!(page, "\n### {kind}`{}`\n\n{}\n\n", file.name, file.about);
        page.push_str("| column | type | unit | definition |\n| --- | --- | --- | --- |\n");
        for column in file.columns {
            let Term { name, unit, definition } = column.term;
            let _ = writeln!(page, "| `{name}` | {} | {unit} | {} |", column.kind, cell(definition));
        }
    }
}
