//! The reference page in `docs` agrees with the declarations.

use drive::Description;

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/REFERENCE.md");
    let page = Description::reference();
    if std::env::var_os("SSDLAB_BLESS").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(known == page, "docs/REFERENCE.md is out of date: SSDLAB_BLESS=1 cargo test -p drive reference");
}

#[test]
fn every_field_has_a_meaning() {
    let page = Description::reference();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{line}");
        assert!(!cells[1].is_empty() && cells[3].len() > 3, "{line}");
    }
    for member in page.lines().filter(|line| line.starts_with("**`")) {
        assert!(member.split("** ").nth(1).is_some_and(|text| text.len() > 10), "{member}");
    }
}
