//! The base of a description: a preset or a file whose fields are used where the description has none.

use super::File;
use super::document::{Node, Value, get, merge, parse};
use crate::presets::{PRESETS, Preset};
use kit::{Problem, Problems};
use std::path::{Component, Path, PathBuf};

/// Fields that decide what a title says of a drive: its structure and its capacity.
const STRUCTURE: [&str; 12] = [
    "flash.channels",
    "flash.chips_per_channel",
    "flash.dies_per_chip",
    "flash.concurrent_dies_per_chip",
    "flash.planes_per_die",
    "flash.blocks_per_plane",
    "flash.pages_per_block",
    "flash.page_size",
    "flash.native_page",
    "flash.cell",
    "ftl.overprovisioning",
    "ftl.user_capacity",
];

/// A description with its bases under it.
pub(super) struct Based {
    pub root: Node,
    pub title: Option<TitleOrigin>,
    /// Problems of the bases. With any, fields may be missing only because a base is.
    pub problems: Problems,
}

/// The preset or file that gives a description its title.
pub(super) struct TitleOrigin {
    /// Name of the preset or file.
    pub name: String,
    /// The structure that the title describes.
    structure: Vec<Option<String>>,
}

impl TitleOrigin {
    /// Returns true if the title describes the structure of the drive `root`.
    pub fn describes(&self, root: &Node) -> bool {
        self.structure == structure(root)
    }
}

fn structure(root: &Node) -> Vec<Option<String>> {
    STRUCTURE.iter().map(|path| get(root, path).map(Node::shown)).collect()
}

/// Source of a description or of one of its bases.
enum Source<'a> {
    /// A preset, and the presets that may be its base: those before it in the list, so that bases end.
    Preset(&'static Preset, &'static [Preset]),
    /// A file. Its path is relative to the folder of the description.
    File { path: PathBuf, name: String, chain: Vec<PathBuf>, read: File<'a> },
}

impl Source<'_> {
    fn name(&self) -> String {
        match self {
            Source::Preset(preset, _) => preset.name.to_owned(),
            Source::File { name, .. } => name.clone(),
        }
    }
}

/// Returns the fields of the document `root` of the file `name`, with those of its bases under them.
pub(super) fn based(root: Node, name: &str, read: File<'_>) -> Based {
    let path = PathBuf::from(Path::new(name).file_name().unwrap_or_default());
    over_base(root, &Source::File { chain: vec![path.clone()], path, name: name.to_owned(), read })
}

fn over_base(mut root: Node, source: &Source<'_>) -> Based {
    let base = if let Value::Table(fields) = &mut root.value { fields.remove("base") } else { None };
    let mut under = match base.map(|base| (open(&base, source), base.place)) {
        Some((Ok((source, text_root)), _)) => over_base(text_root, &source),
        Some((Err(problems), place)) => Based { root: Node::empty(place), title: None, problems },
        None => Based { root: Node::empty(root.place.clone()), title: None, problems: Problems::default() },
    };
    let has_title = get(&root, "title").is_some();
    merge(&mut under.root, root);
    if has_title {
        under.title = Some(TitleOrigin { name: source.name(), structure: structure(&under.root) });
    }
    under
}

/// Finds and reads the base that the field `base` of `source` names.
fn open<'a>(base: &Node, source: &Source<'a>) -> Result<(Source<'a>, Node), Problems> {
    let Value::Text(name) = &base.value else {
        return Err(Problems::one(base.place.clone(), format!("base = {}: expected the name of a preset or file", base.shown())));
    };
    let among = if let Source::Preset(_, among) = source { among } else { PRESETS };
    if let Some(index) = among.iter().position(|preset| preset.name == name) {
        let (before, preset) = (&among[..index], &among[index]);
        return Ok((Source::Preset(preset, before), parse(&format!("preset {name}"), preset.text)?));
    }
    let is_file = name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let (Source::File { path, name: from, chain, read }, true) = (source, is_file) else {
        let mut problem = Problem::unknown(base.place.clone(), "preset", name, among.iter().map(|preset| preset.name));
        problem.complaint.push_str(if matches!(source, Source::File { .. }) { ", or a file in .toml" } else { "" });
        return Err(problem.into());
    };
    let file = beside(path, name);
    if chain.contains(&file) {
        let links: Vec<String> = chain.iter().chain([&file]).map(|path| path.display().to_string()).collect();
        return Err(Problems::one(
            base.place.clone(),
            format!("base = \"{name}\": a file is its own base: {}", links.join(" -> ")),
        ));
    }
    let text = read(&file.to_string_lossy())
        .map_err(|why| Problems::one(base.place.clone(), format!("base = \"{name}\": {why}; expected a preset or a file")))?;
    let shown = beside(Path::new(from), name).display().to_string();
    let root = parse(&shown, &text)?;
    let chain = chain.iter().cloned().chain([file.clone()]).collect();
    Ok((Source::File { path: file, name: shown, chain, read: *read }, root))
}

/// Returns the path of a file that the file `from` names, without `.`, and without `..` where a folder is before it.
fn beside(from: &Path, name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in from.parent().unwrap_or(Path::new("")).join(name).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_base_is_relative_to_the_file_that_names_it() {
        for (from, name, expected) in [
            ("d.toml", "e.toml", "e.toml"),
            ("a/d.toml", "./e.toml", "a/e.toml"),
            ("a/d.toml", "../e.toml", "e.toml"),
            ("d.toml", "../../e.toml", "../../e.toml"),
            ("a/d.toml", "/b/e.toml", "/b/e.toml"),
        ] {
            assert_eq!(beside(Path::new(from), name), Path::new(expected), "{from} {name}");
        }
    }
}
