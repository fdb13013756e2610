//! Reference page of all parts and their parameters.

use crate::parts::{find, names};

/// Returns the page in Markdown: every part with its parameters and their standing.
pub fn page() -> String {
    let mut text = String::from(
        "# Parts\n\nMade from the declarations in `crates/lab/src/parts`; `ssdlab cell parts --cell NAME` prints the same. *Recalled* is a default from memory, *assumed* \
         a choice of ours: neither is evidence.\n",
    );
    for name in names() {
        let part = find(name, name).expect("a part of the list");
        text.push_str(&format!("\n## {name}\n\n{}.\n\n", capital(part.summary)));
        text.push_str(&format!("Correctable error rate: {:.3e} with a hard decision.\n\n", part.limit(0)));
        text.push_str("| symbol | meaning | value | standing | source |\n| --- | --- | --- | --- | --- |\n");
        for each in &part.parameters {
            let row =
                [each.symbol, each.meaning, &each.value, each.standing.word(), each.source].map(|cell| cell.replace('|', "\\|"));
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    /// `SSDLAB_BLESS=1 cargo test -p lab reference` writes the page again.
    #[test]
    fn the_page_of_parts_is_up_to_date() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/parts.md");
        let page = super::page();
        if std::env::var_os("SSDLAB_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
            std::fs::write(&path, &page).expect("can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page, "docs/models/parts.md is out of date: SSDLAB_BLESS=1 cargo test -p lab reference");
    }
}
