//! The reference page: every field of a description, from the JSON Schema of the structs.

use serde_json::{Map, Value as Json};
use std::fmt::Write;

/// Returns the page, in Markdown.
pub(super) fn page(schema: &Json) -> String {
    let mut page = Page { schema, text: String::new(), later: Vec::new(), shown: Vec::new() };
    page.line("# Reference: a drive's description");
    page.line("");
    page.line("Made from the declarations in the code by `ssdlab schema --format markdown`; a test compares the two. A description is one TOML document;");
    page.line("`base = \"PRESET\"`, or `base = \"FILE.toml\"`, provides the missing fields. Fields without a default must be given. A member of a family stands as its");
    page.line("name (`victim = \"greedy\"`) or, with parameters, as a table (`victim = { kind = \"d_choices\", d = 8 }`).");
    page.section("The document", "", schema);
    let sections: Vec<(String, &Json)> =
        fields(schema).into_iter().flatten().map(|(name, field)| (name.clone(), field)).collect();
    for (name, field) in sections {
        let section = page.resolve(field);
        if section.get("properties").is_some() {
            page.section(&format!("[{name}]"), &name, section);
        }
    }
    page.text
}

struct Page<'a> {
    schema: &'a Json,
    text: String,
    /// Tables and families named by the section's fields, shown after the section: title, path, schema.
    later: Vec<(String, String, &'a Json)>,
    shown: Vec<String>,
}

fn fields(schema: &Json) -> Option<&Map<String, Json>> {
    schema.get("properties")?.as_object()
}

/// Returns a schema's description as one line of Markdown.
fn described(schema: &Json) -> String {
    let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

impl<'a> Page<'a> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Follows references, and replaces the schema of an optional value by that of the value itself.
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        loop {
            let options = schema.get("anyOf").and_then(Json::as_array);
            if let Some(present) = options.and_then(|options| match &options[..] {
                [present, absent] if absent.get("type").is_some_and(|kind| kind == "null") => Some(present),
                _ => None,
            }) {
                schema = present;
            } else if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
                let name = reference.rsplit('/').next().unwrap_or_default();
                schema = &self.schema["$defs"][name];
            } else {
                return schema;
            }
        }
    }

    /// Writes a table of fields, then the tables and families that the fields name.
    fn section(&mut self, title: &str, path: &str, schema: &'a Json) {
        if self.shown.iter().any(|shown| shown == path) {
            return;
        }
        self.shown.push(path.to_owned());
        let depth = if path.contains('.') { "###" } else { "##" };
        let _ = write!(self.text, "\n{depth} {title}\n\n");
        let about = described(schema);
        if !path.is_empty() && !about.is_empty() {
            let _ = write!(self.text, "{about}\n\n");
        }
        self.table(path, schema);
        for (title, path, schema) in std::mem::take(&mut self.later) {
            match schema.get("oneOf").and_then(Json::as_array) {
                Some(members) => self.family(&title, &path, schema, members),
                None => self.section(&title, &path, schema),
            }
        }
    }

    fn table(&mut self, path: &str, schema: &'a Json) {
        let Some(fields) = fields(schema) else { return };
        let rows: Vec<(&String, &Json)> = fields.iter().filter(|(name, _)| *name != "kind" || path == "policy").collect();
        if rows.is_empty() {
            return self.line("No parameters.");
        }
        self.line("| field | value | default | meaning |");
        self.line("| --- | --- | --- | --- |");
        for (name, field) in rows {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let value = self.value(field, &inner);
            let default = default(field, schema, name);
            let meaning = described(field) + &self.meanings(field);
            let _ = writeln!(self.text, "| `{name}` | {value} | {default} | {meaning} |");
        }
    }

    /// Returns the meaning of each name in a closed set.
    fn meanings(&self, field: &'a Json) -> String {
        let options = self.resolve(field).get("oneOf").and_then(Json::as_array).into_iter().flatten();
        let named = options.filter_map(|option| Some((option.get("const")?.as_str()?, described(option))));
        named.map(|(name, meaning)| format!(" `{name}`: {meaning}")).collect()
    }

    /// Returns the values that a field accepts. A table or family that needs a section of its own is queued in `later`.
    fn value(&mut self, field: &'a Json, path: &str) -> String {
        let schema = self.resolve(field);
        if let Some(options) = schema.get("oneOf").and_then(Json::as_array) {
            let names: Option<Vec<&str>> = options.iter().map(|option| option.get("const").and_then(Json::as_str)).collect();
            if let Some(names) = names {
                return names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            }
            self.later.push((format!("{path}: the members"), path.to_owned(), schema));
            let kinds = options.iter().filter_map(|option| option["properties"]["kind"]["const"].as_str());
            return kinds.map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
        }
        if let Some(names) = schema.get("enum").and_then(Json::as_array) {
            return names.iter().map(|name| format!("`{}`", name.as_str().unwrap_or_default())).collect::<Vec<_>>().join(", ");
        }
        if let Some(options) = schema.get("anyOf").and_then(Json::as_array) {
            return options.iter().map(|option| self.value(option, path)).collect::<Vec<_>>().join(", or ");
        }
        let kind = match schema.get("type") {
            Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null").unwrap_or_default(),
            kind => kind.and_then(Json::as_str).unwrap_or_default(),
        };
        match kind {
            "object" if path.contains('.') => {
                self.later.push((format!("[{path}]"), path.to_owned(), schema));
                "a table".to_owned()
            }
            "object" => "a section".to_owned(),
            "array" => {
                let items = self.resolve(&schema["items"]);
                if items.get("properties").is_some() {
                    self.later.push((format!("[[{path}]]"), path.to_owned(), items));
                    return "a list of tables".to_owned();
                }
                format!("a list of {}", self.value(&schema["items"], path))
            }
            "boolean" => "`true`, `false`".to_owned(),
            "string" => match (schema.get("x-unit").and_then(Json::as_str), schema.get("x-example").and_then(Json::as_str)) {
                (Some(unit), Some(example)) => format!("{unit}, as `{example}`"),
                _ => "text".to_owned(),
            },
            number => range(schema, number),
        }
    }

    fn family(&mut self, title: &str, path: &str, schema: &'a Json, members: &'a [Json]) {
        let _ = write!(self.text, "\n### {title}\n\n{}\n", described(schema));
        for member in members {
            let kind = member["properties"]["kind"]["const"].as_str().unwrap_or_default();
            let _ = write!(self.text, "\n**`{kind}`** {}\n", described(member));
            if fields(member).is_some_and(|fields| fields.len() > 1) {
                self.line("");
                self.table(path, member);
            }
        }
    }
}

fn range(schema: &Json, kind: &str) -> String {
    let kind = if kind == "integer" { "an integer" } else { "a number" };
    let bound = |name: &str| schema.get(name).filter(|bound| bound.is_number()).map(|bound| bound.to_string());
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (Some(least), None) => format!("{kind}, at least {least}"),
        (None, Some(most)) => format!("{kind}, at most {most}"),
        (None, None) => kind.to_owned(),
    }
}

fn default(field: &Json, table: &Json, name: &str) -> String {
    match field.get("default") {
        Some(Json::Object(_)) => "its fields' defaults".to_owned(),
        Some(Json::String(text)) => format!("`\"{text}\"`"),
        Some(default) => format!("`{default}`"),
        None => {
            let required = table.get("required").and_then(Json::as_array).is_some_and(|all| all.iter().any(|one| one == name));
            if required { String::new() } else { "absent".to_owned() }
        }
    }
}
