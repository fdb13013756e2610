//! Checks a document against the schema of the description's structs, and reads it.
//!
//! The checker handles the schema constructs that the structs use: objects, required and unknown fields, ranges, lists,
//! closed sets of names, unit strings, members of a family (`kind = "..."`, or the bare name), and a choice among
//! several shapes.

use super::Description;
use super::document::{Document, Node, Value};
use kit::{Problem, Problems};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

pub(super) fn schema() -> Json {
    let mut schema = schemars::schema_for!(Description).to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        properties.insert("base".to_owned(), json!({"type": "string", "description": BASE}));
    }
    accept_bytes(&mut schema);
    schema
}

/// Documentation of the field `base`.
const BASE: &str = "A preset, or a file in .toml beside this one, whose fields are used where this description has none.";

/// Kind of the unit strings that are sizes.
const SIZE: &str = "a size";

/// Smallest bare integer that is taken as a size in bytes. A smaller one could be meant in another unit: 64 for 64 MiB,
/// 16384 for 16 GiB.
const MIN_BARE_BYTES: i64 = 1 << 20;

/// Lets each size of a schema be an integer, too.
fn accept_bytes(schema: &mut Json) {
    if schema.get("x-unit").and_then(Json::as_str) == Some(SIZE) {
        let null = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
        schema["type"] = if null { json!(["string", "integer", "null"]) } else { json!(["string", "integer"]) };
        schema["minimum"] = json!(MIN_BARE_BYTES);
    }
    match schema {
        Json::Object(fields) => fields.values_mut().for_each(accept_bytes),
        Json::Array(items) => items.iter_mut().for_each(accept_bytes),
        _ => {}
    }
}

/// Returns the description in a document, if its fields can be read, and the problems found so far.
pub(super) fn read(document: &Document) -> (Option<Description>, Problems) {
    let schema = schemars::schema_for!(Description).to_value();
    let mut checker = Checker {
        definitions: schema.get("$defs").cloned().unwrap_or_default(),
        problems: document.problems.clone(),
        may_miss: document.lacks_base,
        unknown: 0,
    };
    let value = checker.check(&document.root, &schema, "");
    let (unknown, mut problems) = (checker.unknown, checker.problems);
    // Unknown fields are left out of the value, which can be read without them.
    if document.lacks_base || problems.0.len() > document.problems.0.len() + unknown {
        return (None, problems);
    }
    match serde_json::from_value(value) {
        Ok(description) => (Some(description), problems),
        Err(error) => {
            problems.add(document.root.place.clone(), error.to_string());
            (None, problems)
        }
    }
}

struct Checker {
    definitions: Json,
    problems: Problems,
    /// True where missing fields are no problem: what provides them is a problem already.
    may_miss: bool,
    /// Number of the problems that are unknown fields.
    unknown: usize,
}

impl Checker {
    /// Follows references.
    fn resolve<'a>(&'a self, mut schema: &'a Json) -> &'a Json {
        while let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            match self.definitions.get(name) {
                Some(found) => schema = found,
                None => break,
            }
        }
        schema
    }

    fn complain(&mut self, node: &Node, path: &str, complaint: String) -> Json {
        self.problems.add(format!("{}: {path}", node.place), complaint);
        Json::Null
    }

    /// Checks `node` against `schema`, records its problems, and returns its value as JSON for serde.
    fn check(&mut self, node: &Node, schema: &Json, path: &str) -> Json {
        let schema = self.resolve(schema).clone();
        if let Some(options) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array) {
            return self.check_options(node, options, path);
        }
        if let Some(names) = schema.get("enum").and_then(Json::as_array) {
            return self.check_name(node, names, path);
        }
        if let Some(constant) = schema.get("const") {
            return self.check_name(node, std::slice::from_ref(constant), path);
        }
        match type_of(&schema) {
            "object" => self.check_table(node, &schema, path),
            "array" => self.check_list(node, &schema, path),
            "integer" | "number" => self.check_number(node, &schema, path),
            "string" => self.check_text(node, &schema, path),
            "boolean" => match &node.value {
                Value::Bool(flag) => json!(flag),
                _ => self.complain(node, path, format!("{}: expected true or false", node.shown())),
            },
            _ => Json::Null,
        }
    }

    fn check_options(&mut self, node: &Node, options: &[Json], path: &str) -> Json {
        let options: Vec<Json> =
            options.iter().map(|option| self.resolve(option).clone()).filter(|option| type_of(option) != "null").collect();
        if options.len() == 1 {
            return self.check(node, &options[0], path);
        }
        let kinds: Vec<Json> = options.iter().filter_map(|option| kind_of(option).cloned()).collect();
        if kinds.len() == options.len() {
            return self.check_member(node, &options, &kinds, path);
        }
        let names: Vec<Json> = options.iter().filter_map(|option| option.get("const").cloned()).collect();
        if names.len() == options.len() {
            return self.check_name(node, &names, path);
        }
        let wanted = match &node.value {
            Value::List(_) => "array",
            Value::Table(_) => "object",
            _ => "string",
        };
        let chosen = options.iter().find(|option| type_of(option) == wanted).unwrap_or(&options[0]).clone();
        self.check(node, &chosen, path)
    }

    /// Checks a member of a family: its bare name, or a table with `kind`.
    fn check_member(&mut self, node: &Node, options: &[Json], kinds: &[Json], path: &str) -> Json {
        let kind = match &node.value {
            Value::Text(name) => Some((name.clone(), node)),
            Value::Table(fields) => fields.get("kind").and_then(|kind| match &kind.value {
                Value::Text(name) => Some((name.clone(), kind)),
                _ => None,
            }),
            _ => None,
        };
        let names = || kinds.iter().filter_map(Json::as_str);
        let Some((name, at)) = kind else {
            let list = names().collect::<Vec<_>>().join(", ");
            return self.complain(node, path, format!("{}: expected one of {list}, or a table with `kind`", node.shown()));
        };
        let Some(index) = names().position(|known| known == name) else {
            self.problems.0.push(Problem::unknown(format!("{}: {path}", at.place), "name", &name, names()));
            return Json::Null;
        };
        let whole = match &node.value {
            Value::Table(_) => node.clone(),
            _ => Node { place: node.place.clone(), value: Value::Table([("kind".to_owned(), node.clone())].into()) },
        };
        self.check_table(&whole, &options[index], path)
    }

    fn check_name(&mut self, node: &Node, names: &[Json], path: &str) -> Json {
        let known = || names.iter().filter_map(Json::as_str);
        match &node.value {
            Value::Text(name) if known().any(|known| known == name) => json!(name),
            Value::Text(name) => {
                self.problems.0.push(Problem::unknown(format!("{}: {path}", node.place), "value", name, known()));
                Json::Null
            }
            _ => {
                self.complain(node, path, format!("{}: expected one of {}", node.shown(), known().collect::<Vec<_>>().join(", ")))
            }
        }
    }

    fn check_table(&mut self, node: &Node, schema: &Json, path: &str) -> Json {
        let Value::Table(fields) = &node.value else {
            return self.complain(node, path, format!("{}: expected a table", node.shown()));
        };
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        let mut value = Map::new();
        for (key, field) in fields {
            let field_path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match properties.get(key) {
                Some(property) => {
                    let checked = self.check(field, property, &field_path);
                    value.insert(key.clone(), checked);
                }
                None => self.unknown_field(key, field, properties, path),
            }
        }
        if !self.may_miss {
            self.check_missing(node, fields, schema, path);
        }
        Json::Object(value)
    }

    /// Records an unknown field. A table that probably has a misspelt name is checked as the one that is meant.
    fn unknown_field(&mut self, key: &str, field: &Node, properties: &Map<String, Json>, path: &str) {
        let what = if path.is_empty() { "field or section" } else { "field" };
        let place = if path.is_empty() { field.place.clone() } else { format!("{}: {path}", field.place) };
        let problem = Problem::unknown(place, what, key, properties.keys().map(String::as_str));
        let meant = problem.nearest.as_ref().and_then(|name| properties.get(name)).cloned();
        self.problems.0.push(problem);
        self.unknown += 1;
        if let (Some(meant), Value::Table(_)) = (meant, &field.value) {
            let may_miss = std::mem::replace(&mut self.may_miss, true);
            let inner = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            self.check(field, &meant, &inner);
            self.may_miss = may_miss;
        }
    }

    /// Records the required fields that a table does not have. If they are most of those of a section, a base is
    /// probably missing.
    fn check_missing(&mut self, node: &Node, fields: &BTreeMap<String, Node>, schema: &Json, path: &str) {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
        let missing: Vec<&str> = required.iter().filter_map(Json::as_str).filter(|key| !fields.contains_key(*key)).collect();
        let is_section = !path.contains(['.', '[']);
        if is_section && missing.len() >= 3 && 2 * missing.len() > required.len() {
            let place = if path.is_empty() { node.place.clone() } else { format!("{}: {path}", node.place) };
            let complaint = format!(
                "{} of {} required {} are missing ({}): expected them, or a preset or file that has them, such as base = \"tlc-1tb\" \
                 above the first section",
                missing.len(),
                required.len(),
                if path.is_empty() { "fields and sections" } else { "fields" },
                missing.join(", ")
            );
            return self.problems.add(place, complaint);
        }
        for key in missing {
            let expected = properties.get(key).map(|property| self.expectation(property)).unwrap_or_default();
            let field_path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            self.problems.add(format!("{}: {field_path}", node.place), format!("missing: expected {expected}"));
        }
    }

    /// Returns the values that a field accepts, in a few words.
    fn expectation(&self, schema: &Json) -> String {
        let schema = self.resolve(schema);
        if let (Some(unit), Some(example)) =
            (schema.get("x-unit").and_then(Json::as_str), schema.get("x-example").and_then(Json::as_str))
        {
            return format!("{unit} such as {example}");
        }
        let options = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array);
        if let Some(options) = options {
            let names: Vec<String> = options
                .iter()
                .map(|option| {
                    kind_of(option)
                        .or(option.get("const"))
                        .and_then(Json::as_str)
                        .map_or_else(|| self.expectation(option), str::to_owned)
                })
                .collect();
            return names.join(" or ");
        }
        if let Some(names) = schema.get("enum").and_then(Json::as_array) {
            return names.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" or ");
        }
        match type_of(schema) {
            "object" => "a table".to_owned(),
            "array" => "a list".to_owned(),
            "boolean" => "true or false".to_owned(),
            "string" => "a string".to_owned(),
            kind => match range_of(schema) {
                (Some(low), Some(high)) => format!("a number from {low} to {high}"),
                _ => format!("a {kind}"),
            },
        }
    }

    fn check_list(&mut self, node: &Node, schema: &Json, path: &str) -> Json {
        let Value::List(items) = &node.value else {
            return self.complain(node, path, format!("{}: expected a list", node.shown()));
        };
        let item_schema = schema.get("items").cloned().unwrap_or(json!({}));
        items.iter().enumerate().map(|(index, item)| self.check(item, &item_schema, &format!("{path}[{index}]"))).collect()
    }

    fn check_number(&mut self, node: &Node, schema: &Json, path: &str) -> Json {
        let is_integer = type_of(schema) == "integer";
        let (low, high) = range_of(schema);
        // Without a range of its own, a field has that of its type.
        let high = high.or_else(|| match schema.get("format").and_then(Json::as_str) {
            Some("uint8") => Some(f64::from(u8::MAX)),
            Some("uint16") => Some(f64::from(u16::MAX)),
            Some("uint32") => Some(f64::from(u32::MAX)),
            _ => None,
        });
        let value = match &node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) if !is_integer && number.is_finite() => *number,
            _ => {
                let expected = self.expectation(schema);
                return self.complain(node, path, format!("{}: expected {expected}", node.shown()));
            }
        };
        if low.is_some_and(|low| value < low) || high.is_some_and(|high| value > high) {
            let expected = match (low, high) {
                (Some(low), None) => format!("at least {low}"),
                (None, Some(high)) => format!("at most {high}"),
                _ => format!("{}..={}", low.unwrap_or_default(), high.unwrap_or_default()),
            };
            return self.complain(node, path, format!("{}: expected {expected}", node.shown()));
        }
        match &node.value {
            Value::Integer(number) if is_integer => json!(number),
            _ => json!(value),
        }
    }

    fn check_text(&mut self, node: &Node, schema: &Json, path: &str) -> Json {
        let unit = schema.get("x-unit").and_then(Json::as_str);
        let Value::Text(text) = &node.value else {
            let mut expected = self.expectation(schema);
            if let (Some(SIZE), Value::Integer(number)) = (unit, &node.value) {
                if *number >= MIN_BARE_BYTES {
                    return json!(format!("{number}B"));
                }
                expected.push_str(&format!("; a bare integer is taken as bytes from {MIN_BARE_BYTES} on"));
            }
            let unit =
                if unit.is_some() && matches!(node.value, Value::Integer(_) | Value::Float(_)) { " has no unit" } else { "" };
            return self.complain(node, path, format!("{}{unit}: expected {expected}", node.shown()));
        };
        if let Some(Err(complaint)) = unit.map(|unit| kit::units::check_unit_string(unit, text)) {
            return self.complain(node, path, format!("\"{text}\": {complaint}"));
        }
        json!(text)
    }
}

/// Returns the type that a schema names; of two types, the one that is not `null`.
fn type_of(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(name)) => name,
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).find(|name| *name != "null").unwrap_or(""),
        _ => {
            if schema.get("properties").is_some() {
                "object"
            } else {
                ""
            }
        }
    }
}

/// Returns the constant `kind` of a family member's schema.
fn kind_of(schema: &Json) -> Option<&Json> {
    schema.get("properties")?.get("kind")?.get("const")
}

fn range_of(schema: &Json) -> (Option<f64>, Option<f64>) {
    (schema.get("minimum").and_then(Json::as_f64), schema.get("maximum").and_then(Json::as_f64))
}
