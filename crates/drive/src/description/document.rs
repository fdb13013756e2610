//! A description's text as a tree of values, each with its place (source and line).

use super::File;
use super::base::{TitleOrigin, based};
use kit::newlines::{Newlines, looks_like_a_table};
use kit::{Problem, Problems};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place, as `NAME:LINE` or as the override that set it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub place: String,
    pub value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    Other(&'static str),
}

impl Node {
    /// Returns an empty table.
    pub fn empty(place: String) -> Node {
        Node { place, value: Value::Table(BTreeMap::new()) }
    }

    /// Returns the value as error messages show it.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("\"{text}\""),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_owned(),
            Value::Other(what) => (*what).to_owned(),
        }
    }
}

/// A description, merged with its base and overrides.
pub(super) struct Document {
    pub root: Node,
    name: String,
    /// Problems of the base and the overrides.
    pub problems: Problems,
    /// True if the base could not be read, so that fields may be missing for that reason.
    pub lacks_base: bool,
    /// The source of the title, if the title describes another structure than that of this drive.
    pub outdated_title: Option<String>,
}

impl Document {
    /// Reads a description; `file` returns the text of a file that is its base. An error if the text is not TOML.
    pub fn read(name: &str, text: &str, sets: &[String], file: File<'_>) -> Result<Document, Problems> {
        let own = based(parse(name, text)?, name, file);
        let (mut root, mut problems) = (own.root, own.problems);
        let lacks_base = !problems.0.is_empty();
        for set in sets {
            let mut changed = root.clone();
            match apply(&mut changed, set) {
                Ok(()) => root = changed,
                Err(problem) => problems.0.push(problem),
            }
        }
        let is_titled = get(&root, "title").is_some_and(|title| title.place.starts_with(SET));
        let is_outdated = |title: &TitleOrigin| !is_titled && !title.describes(&root);
        let outdated_title = own.title.filter(is_outdated).map(|title| title.name);
        Ok(Document { root, name: name.to_owned(), problems, lacks_base, outdated_title })
    }

    /// Puts file and line before the place of each problem, which is a field's path.
    pub fn locate(&self, problems: Problems) -> Problems {
        let located = problems.0.into_iter().map(|problem| {
            let place = find(&self.root, &problem.place).map_or_else(|| self.name.clone(), |node| node.place.clone());
            Problem { place: format!("{place}: {}", problem.place), ..problem }
        });
        Problems(located.collect())
    }
}

/// Returns the value of the field at a dotted path, if it is given.
pub(super) fn get<'a>(root: &'a Node, path: &str) -> Option<&'a Node> {
    path.split('.').try_fold(root, |node, key| match &node.value {
        Value::Table(fields) => fields.get(key),
        _ => None,
    })
}

/// Returns the value at a dotted path, or the nearest existing table above it.
fn find<'a>(root: &'a Node, path: &str) -> Option<&'a Node> {
    let mut node = root;
    for key in path.split('.') {
        let (key, index) = split_index(key).unwrap_or((key, None));
        let Value::Table(fields) = &node.value else { break };
        let Some(next) = fields.get(key) else { break };
        node = next;
        if let (Some(index), Value::List(items)) = (index, &node.value) {
            node = items.get(index).unwrap_or(node);
        }
    }
    Some(node)
}

/// Number of syntax errors that are named.
const MAX_SYNTAX_ERRORS: usize = 5;
/// Number of errors of a text that are named: finding the first place of each key takes time.
const MAX_ERRORS: usize = 50;

/// Parses a text as TOML. An error names the places at which it is not; a key that is given twice, with both places.
pub(super) fn parse(name: &str, text: &str) -> Result<Node, Problems> {
    if looks_like_a_table(text) {
        let complaint =
            "no field and no section in its first lines, this looks like a trace: expected the description of a drive, in TOML";
        return Err(Problems::one(name, complaint));
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let ends = Newlines::of(text);
    let root = Node { place: name.to_owned(), value: Lines { name, ends: &ends }.table(table.get_ref()) };
    let (mut problems, mut syntax_errors) = (Problems::default(), 0);
    for error in errors {
        if problems.0.len() == MAX_ERRORS {
            break;
        }
        let start = error.span().map_or(0, |span| span.start);
        let place = format!("{name}:{}", ends.line(start));
        let given_twice = error.span().filter(|_| error.message() == "duplicate key").map(|span| {
            let path = path_at(text, span.start, text.get(span).unwrap_or_default().trim());
            let header = text.lines().position(|line| header(line).as_deref() == Some(&path));
            let first = header.map(|index| format!("{name}:{}", index + 1));
            let first = first.or_else(|| get(&root, &path).map(|node| node.place.clone())).filter(|first| *first != place);
            (path, first.map_or_else(String::new, |first| format!(", first at {first}")))
        });
        match given_twice {
            Some((path, first)) => problems.add(place, format!("`{path}` is given twice{first}: expected it once")),
            // A file that is no TOML at all has an error in most of its lines.
            None if syntax_errors == MAX_SYNTAX_ERRORS => {}
            None => {
                syntax_errors += 1;
                problems.add(place, format!("not TOML: {}", error.message()));
            }
        }
    }
    problems.or(root)
}

/// Returns the name of the table that a line opens.
fn header(line: &str) -> Option<String> {
    let line = line.trim();
    line.starts_with('[').then(|| line.trim_start_matches('[').split(']').next().unwrap_or_default().trim().to_owned())
}

/// Returns the dotted path of the key that stands in a TOML text at `offset`: with the table in which it stands.
fn path_at(text: &str, offset: usize, key: &str) -> String {
    let (before, after) = text.split_at(text[..offset].rfind('\n').map_or(0, |end| end + 1));
    if let Some(own) = after.lines().next().and_then(header) {
        return own;
    }
    before.lines().rev().find_map(header).map_or_else(|| key.to_owned(), |table| format!("{table}.{key}"))
}

/// Converts parsed TOML values into nodes with places.
struct Lines<'a> {
    name: &'a str,
    ends: &'a Newlines,
}

impl Lines<'_> {
    fn table(&self, table: &DeTable<'_>) -> Value {
        let fields = table.iter().map(|(key, value)| {
            let mut node = self.node(value);
            // The place of a field is that of its key; the place of a table is that of its header.
            node.place = format!("{}:{}", self.name, self.ends.line(key.span().start));
            (key.get_ref().to_string(), node)
        });
        Value::Table(fields.collect())
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let place = format!("{}:{}", self.name, self.ends.line(value.span().start));
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                .map_or(Value::Other("a number beyond 64 bits"), Value::Integer),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().map_or(Value::Other("a number"), Value::Float),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Array(items) => Value::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => self.table(table),
            DeValue::Datetime(_) => Value::Other("a date"),
        };
        Node { place, value }
    }
}

/// Merges `over` into `under`: tables are merged field by field; every other value, lists included, is replaced. So is
/// a table that names another member of a family: the fields of the former are not those of the latter.
pub(super) fn merge(under: &mut Node, over: Node) {
    let is_other = kind(&over.value).is_some_and(|name| kind(&under.value).is_some_and(|other| other != name));
    match (&mut under.value, over.value) {
        (Value::Table(below), Value::Table(above)) if !is_other => {
            for (key, node) in above {
                match below.get_mut(&key) {
                    Some(existing) => merge(existing, node),
                    None => {
                        below.insert(key, node);
                    }
                }
            }
        }
        (_, value) => under.value = value,
    }
    under.place = over.place;
}

/// Returns the member of a family that a value names by the field `kind`.
fn kind(value: &Value) -> Option<&str> {
    let Value::Table(fields) = value else { return None };
    match &fields.get("kind")?.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// Beginning of the place of a value that an override gives.
const SET: &str = "--set ";

/// Applies one `KEY=VALUE` override. The value is parsed as TOML, and taken as a string if that fails. `KEY=` removes a
/// field that the document gives.
fn apply(root: &mut Node, set: &str) -> Result<(), Problem> {
    let place = format!("{SET}{set}");
    let Some((path, text)) = set.split_once('=') else {
        return Err(Problem::new(place, "expected KEY=VALUE, such as flash.channels=16"));
    };
    let (path, text) = (path.trim(), text.trim());
    if text.is_empty() {
        return remove(root, path, place);
    }
    let source = format!("value = {text}");
    let value = match DeTable::parse(&source) {
        Ok(table) if table.get_ref().len() == 1 => match (Lines { name: "", ends: &Newlines::of("") }).table(table.get_ref()) {
            Value::Table(mut fields) => fields.remove("value").map_or(Value::Text(text.to_owned()), |node| node.value),
            _ => Value::Text(text.to_owned()),
        },
        _ => Value::Text(text.to_owned()),
    };
    let mut node = root;
    let keys: Vec<&str> = path.split('.').collect();
    for (depth, key) in keys.iter().enumerate() {
        let Some((key, index)) = split_index(key) else {
            return Err(Problem::new(place, format!("`{key}` is not a field: expected KEY or KEY[INDEX]")));
        };
        let Value::Table(fields) = &mut node.value else {
            return Err(Problem::new(place, format!("`{}` is not a table", keys[..depth].join("."))));
        };
        let blank = || Node::empty(place.clone());
        let missing_list = index.is_some() && !fields.contains_key(key);
        node = fields.entry(key.to_owned()).or_insert_with(blank);
        if let Some(index) = index {
            let length = if let Value::List(items) = &node.value { items.len() } else { 0 };
            match &mut node.value {
                Value::List(items) if index < items.len() && !missing_list => node = &mut items[index],
                _ => return Err(Problem::new(place, format!("`{key}[{index}]`: expected an index below {length}"))),
            }
        }
    }
    *node = placed(value, &place);
    Ok(())
}

/// Removes the field at a path of names.
fn remove(root: &mut Node, path: &str, place: String) -> Result<(), Problem> {
    let (parents, last) = path.rsplit_once('.').map_or((None, path), |(parents, last)| (Some(parents), last));
    let mut node = Some(root);
    for key in parents.into_iter().flat_map(|parents| parents.split('.')) {
        node = match node.map(|node| &mut node.value) {
            Some(Value::Table(fields)) => fields.get_mut(key),
            _ => None,
        };
    }
    let removed = match node.map(|node| &mut node.value) {
        Some(Value::Table(fields)) => fields.remove(last),
        _ => None,
    };
    removed.map(drop).ok_or_else(|| Problem::new(place, format!("the description gives no `{path}` that could be removed")))
}

/// Returns the value as a node, with `place` as the place of the node and of all nodes in it.
fn placed(value: Value, place: &str) -> Node {
    let value = match value {
        Value::List(items) => Value::List(items.into_iter().map(|item| placed(item.value, place)).collect()),
        Value::Table(fields) => Value::Table(fields.into_iter().map(|(key, node)| (key, placed(node.value, place))).collect()),
        other => other,
    };
    Node { place: place.to_owned(), value }
}

/// Splits `name` or `name[3]` into name and index.
fn split_index(key: &str) -> Option<(&str, Option<usize>)> {
    match key.split_once('[') {
        None => Some((key, None)),
        Some((name, rest)) => Some((name, Some(rest.strip_suffix(']')?.parse().ok()?))),
    }
}
