//! Elements of a document, each with its standing and its place.

use crate::fio::keys::{Key, Standing};
use kit::{Problem, Problems};
use roxmltree::{Document, Node};
use std::collections::BTreeSet;

/// Reader of a document; it gathers the problems.
pub struct Reader<'a> {
    name: &'a str,
    document: &'a Document<'a>,
    ignore: &'a [String],
    /// Problems found so far.
    pub problems: Problems,
    ignored: BTreeSet<&'static str>,
    left_out: BTreeSet<String>,
    known: BTreeSet<&'static str>,
}

/// Elements of a level that affect the requests.
pub struct Fields<'a> {
    node: Node<'a, 'a>,
    found: Vec<(&'static str, Node<'a, 'a>)>,
}

impl<'a> Fields<'a> {
    /// Returns the element called `name`, if it is there.
    pub fn get(&self, name: &str) -> Option<Node<'a, 'a>> {
        self.found.iter().find(|(found, _)| *found == name).map(|(_, node)| *node)
    }
}

impl<'a> Reader<'a> {
    pub fn new(name: &'a str, document: &'a Document<'a>, ignore: &'a [String]) -> Reader<'a> {
        Reader {
            name,
            document,
            ignore,
            problems: Problems::default(),
            ignored: BTreeSet::new(),
            left_out: BTreeSet::new(),
            known: BTreeSet::new(),
        }
    }

    /// Returns the place of an element, for messages.
    pub fn place(&self, node: Node<'_, '_>) -> String {
        let line = self.document.text_pos_at(node.range().start).row;
        format!("{}:{line}: <{}>", self.name, node.tag_name().name())
    }

    /// Returns the root element.
    pub fn document_root(&self) -> Node<'a, 'a> {
        self.document.root_element()
    }

    /// Treats a single element by its standing in `table`.
    pub fn only(&mut self, node: Node<'a, 'a>, table: &'static [Key]) {
        self.known.extend(table.iter().map(|key| key.name));
        self.standing(node, table);
    }

    /// Adds a problem at an element.
    pub fn complain(&mut self, node: Node<'_, '_>, complaint: impl Into<String>) {
        let place = self.place(node);
        self.problems.add(place, complaint);
    }

    /// Returns the elements in `node` that affect the requests; `table` declares all that may be there.
    pub fn fields(&mut self, node: Node<'a, 'a>, table: &'static [Key]) -> Fields<'a> {
        self.known.extend(table.iter().map(|key| key.name));
        let mut found: Vec<(&'static str, Node<'a, 'a>)> = Vec::new();
        for child in node.children().filter(Node::is_element) {
            match self.standing(child, table) {
                Some(name) if found.iter().any(|(other, _)| *other == name) => {
                    self.complain(child, "given twice: expected it once");
                }
                Some(name) => found.push((name, child)),
                None => {}
            }
        }
        Fields { node, found }
    }

    /// Returns the name of an element that affects the requests; any other is noted or a problem.
    fn standing(&mut self, child: Node<'a, 'a>, table: &'static [Key]) -> Option<&'static str> {
        let written = child.tag_name().name();
        if self.ignore.iter().any(|name| name == written) {
            self.left_out.insert(written.to_owned());
            return None;
        }
        let Some(key) = table.iter().find(|key| key.name == written) else {
            let mut problem = Problem::new(self.place(child), "not known here (`--ignore NAME,...` leaves elements out)");
            problem.nearest = kit::problem::nearest(written, table.iter().map(|key| key.name)).map(str::to_owned);
            self.problems.0.push(problem);
            return None;
        };
        let value = text(child);
        match key.standing {
            Standing::Honoured(_) => return Some(key.name),
            Standing::Refused(reason) => self.complain(child, format!("refused: {reason}")),
            Standing::Off(values, reason) if !values.iter().any(|off| value.eq_ignore_ascii_case(off)) => {
                self.complain(child, format!("refused: {reason} (accepted: {})", values.join(" or ")));
            }
            Standing::Ignored(_) | Standing::Off(..) => drop(self.ignored.insert(key.name)),
        }
        None
    }

    /// Returns a whole number within limits, or `default` if the element is not there.
    pub fn number(&mut self, fields: &Fields<'_>, name: &str, default: u64, (least, most): (u64, u64)) -> u64 {
        let Some(node) = fields.get(name) else { return default };
        match text(node).parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => number,
            _ => {
                self.complain(node, format!("`{}`: expected a whole number, {least}..={most}", shown(node)));
                default
            }
        }
    }

    /// Returns a truth value; false if the element is not there.
    pub fn flag(&mut self, fields: &Fields<'_>, name: &str) -> bool {
        self.choice(fields, name, &[("true", true), ("1", true), ("false", false), ("0", false)], false)
    }

    /// Returns the meaning of a word, or `default` if the element is not there.
    pub fn choice<T: Copy>(&mut self, fields: &Fields<'_>, name: &str, choices: &[(&str, T)], default: T) -> T {
        let Some(node) = fields.get(name) else { return default };
        let found = choices.iter().find(|(word, _)| text(node).eq_ignore_ascii_case(word));
        if let Some((_, meaning)) = found {
            return *meaning;
        }
        let place = self.place(node);
        self.problems.0.push(Problem::unknown(place, "value", &shown(node), choices.iter().map(|(word, _)| *word)));
        default
    }

    /// Adds the problem of an element that is not there.
    pub fn lack(&mut self, fields: &Fields<'_>, name: &str) {
        self.complain(fields.node, format!("<{name}> is missing"));
    }

    /// Returns the messages about what was left out, once everything was read; names in `ignore` that are nothing are
    /// problems.
    pub fn notes(&mut self) -> Vec<String> {
        for name in self.ignore.iter().filter(|name| !self.left_out.contains(*name) && !self.known.contains(name.as_str())) {
            let mut problem = Problem::new("ignore", format!("`{name}` is not in {}: expected elements of it", self.name));
            problem.nearest = kit::problem::nearest(name, self.known.iter().copied()).map(str::to_owned);
            self.problems.0.push(problem);
        }
        let mut notes = Vec::new();
        let left_out: Vec<&str> = self.left_out.iter().map(String::as_str).collect();
        if !left_out.is_empty() {
            notes.push(format!("{}: left out, as --ignore says: {}", self.name, left_out.join(", ")));
        }
        let ignored: Vec<&str> = self.ignored.iter().copied().collect();
        if !ignored.is_empty() {
            notes.push(format!("{}: read and ignored: {}", self.name, ignored.join(", ")));
        }
        notes
    }
}

/// Returns the text of an element.
pub fn text<'a>(node: Node<'a, 'a>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

/// Returns the text of an element for a message.
fn shown(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().chars().filter(|letter| !letter.is_control()).take(40).collect()
}

/// Returns the tables of elements of a document, in Markdown; each table has the name of its element.
pub fn reference(tables: &[(&str, &'static [Key])]) -> String {
    let mut page = String::new();
    for (name, table) in tables {
        page += &format!("\n| in `<{name}>` | what it does here |\n| --- | --- |\n");
        for key in *table {
            let about = match key.standing {
                Standing::Honoured(about) => about.to_owned(),
                Standing::Ignored(reason) => format!("Ignored: {reason}."),
                Standing::Refused(reason) => format!("Refused: {reason}."),
                Standing::Off(values, reason) => format!("Refused, unless it is `{}`: {reason}.", values.join("` or `")),
            };
            page += &format!("| `{}` | {about} |\n", key.name);
        }
    }
    page
}
