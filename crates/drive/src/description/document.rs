//! A description's text as a tree of values, each with its place (source and line).

use crate::presets::{PRESETS, Preset};
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
}

impl Document {
    pub fn read(name: &str, text: &str, sets: &[String]) -> Result<Document, Problems> {
        let mut root = based(parse(name, text)?, PRESETS)?;
        let mut problems = Problems::default();
        for set in sets {
            if let Err(problem) = apply(&mut root, set) {
                problems.0.push(problem);
            }
        }
        problems.or(Document { root, name: name.to_owned() })
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

/// Returns the fields of a document, with those of the preset that it names as its base, one of `among`, under them.
/// The base of a preset stands before it in the list, so that bases end.
fn based(mut root: Node, among: &[Preset]) -> Result<Node, Problems> {
    let Value::Table(fields) = &mut root.value else { return Ok(root) };
    let Some(base) = fields.remove("base") else { return Ok(root) };
    let Value::Text(name) = &base.value else {
        return Err(Problems::one(base.place.clone(), format!("base = {}: expected the name of a preset", base.shown())));
    };
    let Some(index) = among.iter().position(|preset| preset.name == name) else {
        return Err(Problem::unknown(base.place.clone(), "preset", name, among.iter().map(|preset| preset.name)).into());
    };
    let mut under = based(parse(&format!("preset {name}"), among[index].text)?, &among[..index])?;
    merge(&mut under, root);
    Ok(under)
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

fn parse(name: &str, text: &str) -> Result<Node, Problems> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Problems::one(format!("{name}:{line}"), format!("not TOML: {}", error.message()))
    })?;
    let lines = Lines { name, text };
    Ok(Node { place: name.to_owned(), value: lines.table(table.get_ref()) })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Converts parsed TOML values into nodes with places.
struct Lines<'a> {
    name: &'a str,
    text: &'a str,
}

impl Lines<'_> {
    fn table(&self, table: &DeTable<'_>) -> Value {
        let fields = table.iter().map(|(key, value)| {
            let mut node = self.node(value);
            // The place of a field is that of its key; the place of a table is that of its header.
            node.place = format!("{}:{}", self.name, line_of(self.text, key.span().start));
            (key.get_ref().to_string(), node)
        });
        Value::Table(fields.collect())
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let place = format!("{}:{}", self.name, line_of(self.text, value.span().start));
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
fn merge(under: &mut Node, over: Node) {
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

/// Applies one `KEY=VALUE` override. The value is parsed as TOML, and taken as a string if that fails. `KEY=` removes a
/// field that the document gives.
fn apply(root: &mut Node, set: &str) -> Result<(), Problem> {
    let place = format!("--set {set}");
    let Some((path, text)) = set.split_once('=') else {
        return Err(Problem::new(place, "expected KEY=VALUE, such as flash.channels=16"));
    };
    let (path, text) = (path.trim(), text.trim());
    if text.is_empty() {
        return remove(root, path, place);
    }
    let source = format!("value = {text}");
    let value = match DeTable::parse(&source) {
        Ok(table) if table.get_ref().len() == 1 => match (Lines { name: "", text: "" }).table(table.get_ref()) {
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
        let blank = || Node { place: place.clone(), value: Value::Table(BTreeMap::new()) };
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
