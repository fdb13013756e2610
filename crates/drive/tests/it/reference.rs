//! The files that are made from the declarations agree with them.

use drive::{Description, definitions, options};

/// Compares a file with its text as it is made now; writes the file instead if `SSDLAB_BLESS` is set.
#[track_caller]
fn assert_up_to_date(name: &str, text: &str) {
    let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("SSDLAB_BLESS").is_some() {
        std::fs::write(&path, text).expect("the file can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{name} is out of date: SSDLAB_BLESS=1 cargo test -p drive reference");
}

#[test]
fn the_reference_page_is_up_to_date() {
    assert_up_to_date("docs/reference/fields.md", &Description::reference());
}

#[test]
fn the_schemas_for_editors_are_up_to_date() {
    let text = |schema| serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    assert_up_to_date("presets/drive.schema.json", &text(Description::editor_schema()));
    assert_up_to_date("examples/workload.schema.json", &text(workload::schema()));
}

#[test]
fn the_page_of_the_options_is_up_to_date() {
    assert_up_to_date("docs/reference/options.md", &options::reference());
}

#[test]
fn the_page_of_the_names_in_results_is_up_to_date() {
    assert_up_to_date("docs/reference/results.md", &definitions::reference());
}

#[test]
fn the_python_types_of_the_options_are_up_to_date() {
    assert_up_to_date("python/ssdlab/_declared.py", &options::python_module());
}

/// Checks that every row of a page's tables says what the field means.
#[track_caller]
fn assert_rows_have_a_meaning(page: &str) {
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{line}");
        assert!(cells[3].len() > 3, "{line}");
    }
}

#[test]
fn every_field_has_a_meaning() {
    let page = Description::reference();
    assert_rows_have_a_meaning(&page);
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        assert!(!line.split(" | ").nth(1).unwrap_or_default().trim().is_empty(), "{line}");
    }
    for member in page.lines().filter(|line| line.starts_with("**`")) {
        assert!(member.split("** ").nth(1).is_some_and(|text| text.len() > 10), "{member}");
    }
}

#[test]
fn every_option_is_complete() {
    assert_rows_have_a_meaning(&options::reference());
    for option in options::groups().iter().flat_map(|group| &group.options) {
        let first = option.about.first().map_or("", String::as_str);
        assert!(first.ends_with('.'), "{}: `{first}` is the help of the command: expected a sentence", option.name);
        let needs_placeholder = option.value != "flag" && option.only.is_none();
        assert_eq!(option.placeholder.is_some(), needs_placeholder, "{}: x-value", option.name);
    }
}
