//! Reads a TOML description and checks it against the schema of its fields: all problems are reported at once, each
//! with its line.
//!
//! The schema is that of the serde structs that hold the values. The walk over the document finds unknown fields (with
//! the nearest known name), missing fields, wrong types, invalid unit strings and numbers out of range; serde then
//! converts the checked values.

use kit::newlines::Newlines;
use kit::{Problem, Problems, units};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Number of syntax errors that are named: a file that is no TOML at all has one in most of its lines.
const MAX_ERRORS: usize = 5;

/// Description that has been read, with the line numbers of its fields.
pub struct Form<T> {
    /// Values of the fields.
    pub value: T,
    name: String,
    lines: BTreeMap<String, usize>,
}

impl<T> Form<T> {
    /// Returns the position, for messages, of the field at `path` (`job[0].size`), or of the nearest enclosing table.
    pub fn place(&self, path: &str) -> String {
        let mut shorter = path;
        let line = loop {
            if let Some(line) = self.lines.get(shorter) {
                break *line;
            }
            match shorter.rfind(['.', '[']) {
                Some(end) => shorter = &shorter[..end],
                None => break 1,
            }
        };
        format!("{}:{line}: {path}", self.name)
    }
}

/// Reads `text`; `name` is its name in messages.
pub fn read<T: DeserializeOwned + JsonSchema>(name: &str, text: &str) -> Result<Form<T>, Problems> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut walk = Walk {
        name,
        ends: Newlines::of(text),
        root: schemars::schema_for!(T).to_value(),
        problems: Problems::default(),
        lines: BTreeMap::new(),
    };
    for error in errors.into_iter().take(MAX_ERRORS) {
        let place = walk.place(error.span().map_or(0, |span| span.start), "");
        walk.problems.add(place, error.message().to_owned());
    }
    if !walk.problems.0.is_empty() {
        return Err(walk.problems);
    }
    let root = walk.root.clone();
    let json = walk.table(&root, table.get_ref(), 0, "");
    let (problems, lines) = (walk.problems, walk.lines);
    problems.or(())?;
    let value = serde_json::from_value(json).map_err(|why| Problems::one(name, why.to_string()))?;
    Ok(Form { value, name: name.to_owned(), lines })
}

struct Walk<'a> {
    name: &'a str,
    ends: Newlines,
    root: Value,
    problems: Problems,
    lines: BTreeMap<String, usize>,
}

impl Walk<'_> {
    fn line(&self, at: usize) -> usize {
        self.ends.line(at)
    }

    fn place(&self, at: usize, path: &str) -> String {
        let line = self.line(at);
        if path.is_empty() { format!("{}:{line}", self.name) } else { format!("{}:{line}: {path}", self.name) }
    }

    fn complain(&mut self, at: usize, path: &str, complaint: String) {
        let place = self.place(at, path);
        self.problems.add(place, complaint);
    }

    /// Returns the schema with its reference followed, its properties merged, and the alternative `null` dropped.
    fn resolve(&self, schema: &Value) -> Value {
        let mut merged = schema.as_object().cloned().unwrap_or_default();
        if let Some(reference) = merged.remove("$ref").as_ref().and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).unwrap_or(&Value::Null);
            let target = self.resolve(target);
            for (key, value) in target.as_object().into_iter().flatten() {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
                    (Some(Value::Array(own)), Value::Array(more)) => own.extend(more.iter().cloned()),
                    (Some(_), _) => {}
                    (None, _) => drop(merged.insert(key.clone(), value.clone())),
                }
            }
        }
        let choices = merged.get("anyOf").and_then(Value::as_array);
        if let Some(choice) = choices.and_then(|choices| choices.iter().find(|choice| choice["type"] != "null")) {
            return self.resolve(choice);
        }
        Value::Object(merged)
    }

    fn value(&mut self, schema: &Value, value: &Spanned<DeValue<'_>>, path: &str) -> Value {
        let at = value.span().start;
        let line = self.line(at);
        self.lines.insert(path.to_owned(), line);
        let schema = self.resolve(schema);
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            return self.variant(variants, value, path);
        }
        match value.get_ref() {
            DeValue::Table(table) if is(&schema, "object") => self.table(&schema, table, at, path),
            DeValue::Array(items) if is(&schema, "array") => {
                let item = schema.get("items").cloned().unwrap_or(Value::Null);
                if (items.len() as u64) < schema["minItems"].as_u64().unwrap_or(0) {
                    self.complain(at, path, "an empty list: expected at least one entry".to_owned());
                }
                Value::Array(
                    items.iter().enumerate().map(|(i, entry)| self.value(&item, entry, &format!("{path}[{i}]"))).collect(),
                )
            }
            other => self.scalar(&schema, other, at, path),
        }
    }

    /// Reads a choice by name: a bare name, or a table with `kind`.
    fn variant(&mut self, variants: &[Value], value: &Spanned<DeValue<'_>>, path: &str) -> Value {
        let at = value.span().start;
        let name_of = |variant: &Value| {
            let name = variant["const"].as_str().or_else(|| variant["properties"]["kind"]["const"].as_str());
            name.map(str::to_owned)
        };
        let names: Vec<String> = variants.iter().filter_map(name_of).collect();
        let empty = DeTable::new();
        let (name, table, name_at) = match value.get_ref() {
            DeValue::String(name) => (name.to_string(), &empty, at),
            DeValue::Table(table) => match table.get("kind").map(|kind| (kind.get_ref().as_str(), kind.span().start)) {
                Some((Some(name), name_at)) => (name.to_owned(), table, name_at),
                _ => {
                    self.complain(at, path, format!("`kind` is missing: expected one of {}", names.join(", ")));
                    return Value::Null;
                }
            },
            other => {
                self.complain(at, path, format!("found {}: expected one of {}", other.type_str(), names.join(", ")));
                return Value::Null;
            }
        };
        let Some(variant) = variants.iter().find(|variant| name_of(variant).as_deref() == Some(&name)) else {
            let place = self.place(name_at, path);
            self.problems.0.push(Problem::unknown(place, "name", &name, names.iter().map(String::as_str)));
            return Value::Null;
        };
        if variant["const"].is_string() {
            return Value::String(name);
        }
        let schema = self.resolve(variant);
        let mut json = self.fields(&schema, table, at, path, Some("kind"));
        json.insert("kind".to_owned(), Value::String(name));
        Value::Object(json)
    }

    fn table(&mut self, schema: &Value, table: &DeTable<'_>, at: usize, path: &str) -> Value {
        Value::Object(self.fields(schema, table, at, path, None))
    }

    fn fields(&mut self, schema: &Value, table: &DeTable<'_>, at: usize, path: &str, skip: Option<&str>) -> Map<String, Value> {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let mut json = Map::new();
        for (key, value) in table.iter() {
            let inner = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
            if skip == Some(key.get_ref()) {
                continue;
            }
            match properties.get(key.get_ref().as_ref()) {
                Some(property) => drop(json.insert(key.get_ref().to_string(), self.value(property, value, &inner))),
                None => {
                    let place = self.place(key.span().start, path);
                    let valid = properties.keys().map(String::as_str).filter(|name| skip != Some(*name));
                    self.problems.0.push(Problem::unknown(place, "field", key.get_ref(), valid));
                }
            }
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(required) && skip != Some(required) {
                self.complain(at, path, format!("the field `{required}` is missing"));
            }
        }
        json
    }

    fn scalar(&mut self, schema: &Value, value: &DeValue<'_>, at: usize, path: &str) -> Value {
        let (json, problem) = match value {
            DeValue::String(text) if is(schema, "string") => (json!(text), check_text(schema, text)),
            DeValue::Boolean(flag) if is(schema, "boolean") => (json!(flag), None),
            DeValue::Integer(number) if is(schema, "integer") || is(schema, "number") => {
                match i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
                    Ok(whole) if is(schema, "number") => (json!(whole as f64), check_range(schema, whole as f64)),
                    Ok(whole) => match i64::try_from(whole).ok().filter(|whole| *whole >= 0) {
                        Some(whole) => (json!(whole), check_range(schema, whole as f64)),
                        None => (Value::Null, Some(format!("{whole} is out of range: expected 0 or more, below 2^63"))),
                    },
                    Err(_) => (Value::Null, Some("a number that does not fit".to_owned())),
                }
            }
            DeValue::Float(number) if is(schema, "number") => match number.as_str().replace('_', "").parse::<f64>() {
                Ok(float) if float.is_finite() => (json!(float), check_range(schema, float)),
                _ => (Value::Null, Some(format!("{} is not a finite number", number.as_str()))),
            },
            other => (Value::Null, Some(format!("found {}: expected {}", other.type_str(), expected(schema)))),
        };
        if let Some(complaint) = problem {
            self.complain(at, path, complaint);
        }
        json
    }
}

/// Returns true if `schema` allows values of `kind`.
fn is(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(many) => many.iter().any(|one| one == kind),
        _ => kind == "object" && schema["properties"].is_object(),
    }
}

fn expected(schema: &Value) -> String {
    match (schema["x-unit"].as_str(), schema["x-example"].as_str()) {
        (Some(unit), Some(example)) => format!("{unit} such as {example}"),
        _ => ["string", "integer", "number", "boolean", "array", "object"]
            .into_iter()
            .filter(|kind| is(schema, kind))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn check_text(schema: &Value, text: &str) -> Option<String> {
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        return (!names.contains(&text)).then(|| format!("`{text}`: expected one of {}", names.join(", ")));
    }
    units::check_unit_string(schema["x-unit"].as_str()?, text).err()
}

fn check_range(schema: &Value, number: f64) -> Option<String> {
    let low = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let high = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    (number < low || number > high).then(|| match high.is_finite() {
        true => format!("{number} is out of range: expected {low}..={high}"),
        false => format!("{number} is out of range: expected {low} or more"),
    })
}
