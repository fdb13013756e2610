//! The JSON Schema of a TOML document in the form that editors and validators check.
//!
//! The schema of the serde structs (the *declared* schema) leaves some rules to the code that reads a document. Here
//! they are part of the schema: the units of quantities as patterns, members of a family as bare names, unknown fields,
//! the bounds of integers, and fields that only a document without a base must give. What cannot be said in JSON Schema
//! (a whole number written as `4.0`, and relations between fields) is checked by the reader alone.

use crate::units;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Draft of the schema: the newest one that taplo, the checker behind most editors' support for TOML, understands.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
/// Table of the definitions, in draft 7.
const DEFINITIONS: &str = "definitions";
/// Ending of the name of a definition whose required fields a base may give.
const PARTIAL: &str = "-partial";

/// Returns the schema for editors. With `may_be_based`, a document that has the field `base` needs no other field.
pub fn schema(declared: &Json, may_be_based: bool) -> Json {
    let mut form = Form { declared, wanted: BTreeSet::new(), made: BTreeMap::new() };
    let mut root = form.form(declared, may_be_based);
    while let Some((name, is_partial)) = form.wanted.pop_first() {
        let definition = declared["$defs"][&name].clone();
        let made = form.form(&definition, is_partial);
        form.made.insert(name_of(&name, is_partial), made);
        let made = &form.made;
        form.wanted.retain(|(name, is_partial)| !made.contains_key(&name_of(name, *is_partial)));
    }
    if may_be_based {
        root.insert("if".to_owned(), json!({"not": {"required": ["base"]}}));
        root.insert("then".to_owned(), form.required(declared).unwrap_or(Json::Bool(true)));
    }
    root.insert("$schema".to_owned(), json!(DRAFT));
    root.insert(DEFINITIONS.to_owned(), json!(form.made));
    Json::Object(root)
}

fn name_of(name: &str, is_partial: bool) -> String {
    if is_partial { format!("{name}{PARTIAL}") } else { name.to_owned() }
}

struct Form<'a> {
    declared: &'a Json,
    /// Definitions that are referred to and not made yet: name, and true where required fields may be missing.
    wanted: BTreeSet<(String, bool)>,
    made: BTreeMap<String, Map<String, Json>>,
}

impl Form<'_> {
    /// Follows references in the declared schema.
    fn resolve<'b>(&'b self, mut schema: &'b Json) -> &'b Json {
        while let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            schema = &self.declared["$defs"][name];
        }
        schema
    }

    /// Returns the form of a schema. With `is_partial`, a base may give the fields of its tables that are missing.
    fn form(&mut self, schema: &Json, is_partial: bool) -> Map<String, Json> {
        let mut made = Map::new();
        for (key, value) in schema.as_object().into_iter().flatten() {
            match key.as_str() {
                "$schema" | "$defs" | "format" | "oneOf" | "anyOf" | "$ref" => continue,
                "required" if is_partial => continue,
                "type" => made.insert(key.clone(), without_null(value)),
                "properties" => {
                    let fields = value.as_object().into_iter().flatten();
                    let fields = fields.map(|(name, field)| (name.clone(), Json::Object(self.form(field, is_partial))));
                    let fields = fields.collect();
                    made.insert("additionalProperties".to_owned(), json!(false));
                    made.insert(key.clone(), Json::Object(fields))
                }
                // A list replaces that of a base: its tables are complete.
                "items" => made.insert(key.clone(), Json::Object(self.form(value, false))),
                // The default of an optional value.
                "default" if value.is_null() => continue,
                _ => made.insert(key.clone(), value.clone()),
            };
        }
        if let Some(pattern) = schema["x-unit"].as_str().and_then(units::pattern) {
            made.insert("pattern".to_owned(), json!(pattern));
        }
        if let Some((least, most)) = schema["format"].as_str().and_then(bounds) {
            made.entry("minimum").or_insert(least);
            made.entry("maximum").or_insert(most);
        }
        if schema["properties"].is_object() {
            made.entry("type").or_insert(json!("object"));
        }
        let options = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        if let Some(options) = options {
            self.choice(options, is_partial, &mut made);
        } else if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            self.refer(name, is_partial, &mut made);
        }
        made
    }

    /// Puts a reference to a definition into a schema. Draft 7 ignores what stands beside a reference.
    fn refer(&mut self, name: &str, is_partial: bool, made: &mut Map<String, Json>) {
        self.wanted.insert((name.to_owned(), is_partial));
        let reference = json!({"$ref": format!("#/{DEFINITIONS}/{}", name_of(name, is_partial))});
        if made.is_empty() {
            made.insert("$ref".to_owned(), reference["$ref"].clone());
        } else {
            made.insert("allOf".to_owned(), json!([reference]));
        }
    }

    /// Puts a choice into a schema: names, members of a family, or values of several shapes.
    fn choice(&mut self, options: &[Json], is_partial: bool, made: &mut Map<String, Json>) {
        let options: Vec<&Json> = options.iter().filter(|option| option["type"] != "null").collect();
        if let [Json::Object(only)] = &options[..] {
            let own = self.form(&Json::Object(only.clone()), is_partial);
            match own.get("$ref") {
                Some(reference) if !made.is_empty() => {
                    made.insert("allOf".to_owned(), json!([{"$ref": reference}]));
                }
                _ => {
                    for (key, value) in own {
                        made.entry(key).or_insert(value);
                    }
                }
            }
            return;
        }
        let mut forms: Vec<Json> = options.iter().map(|option| Json::Object(self.form(option, is_partial))).collect();
        let bare = options.iter().filter_map(|option| bare_name(self.resolve(option)));
        let mut all: Vec<Json> = bare.collect();
        all.append(&mut forms);
        // With a base, a table need not name the member whose fields it changes, so that several may fit.
        made.insert("anyOf".to_owned(), Json::Array(all));
    }

    /// Returns a schema of the required fields alone, down to those of nested tables; none if nothing is required.
    fn required(&self, schema: &Json) -> Option<Json> {
        let schema = self.resolve(schema);
        if let Some(options) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
            let options: Vec<&Json> = options.iter().filter(|option| option["type"] != "null").collect();
            if let [only] = &options[..] {
                return self.required(only);
            }
            let needs: Vec<Json> = options
                .iter()
                .map(|option| match (self.resolve(option), self.required(option)) {
                    (option, Some(mut needs)) if option["properties"]["kind"]["const"].is_string() => {
                        needs["properties"]["kind"] = json!({"const": option["properties"]["kind"]["const"]});
                        needs
                    }
                    (option, needs) => needs.unwrap_or_else(|| json!({"type": without_null(&option["type"])})),
                })
                .collect();
            if options.iter().any(|option| kind_of(self.resolve(option)).is_some()) {
                return Some(json!({"if": {"type": "object"}, "then": {"anyOf": needs}}));
            }
            // Of several shapes, at most one is a table; the tables of a list are complete.
            return options
                .iter()
                .find_map(|option| self.required(option))
                .map(|needs| json!({"if": {"type": "object"}, "then": needs}));
        }
        let fields = schema["properties"].as_object()?;
        let inner: Map<String, Json> =
            fields.iter().filter_map(|(name, field)| Some((name.clone(), self.required(field)?))).collect();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        if required.is_empty() && inner.is_empty() {
            return None;
        }
        Some(json!({"required": required, "properties": inner}))
    }
}

/// Returns the name of a family's member.
fn kind_of(schema: &Json) -> Option<&Json> {
    schema["properties"]["kind"].get("const")
}

/// Returns the schema of a family's member as a bare name, if the member needs no parameters.
fn bare_name(schema: &Json) -> Option<Json> {
    let name = kind_of(schema)?;
    let required = schema["required"].as_array().map_or(0, Vec::len);
    (required <= 1).then(|| json!({"const": name, "description": schema["description"]}))
}

/// Returns a type without `null`, which TOML does not have.
fn without_null(kind: &Json) -> Json {
    let Some(kinds) = kind.as_array() else { return kind.clone() };
    let kinds: Vec<&Json> = kinds.iter().filter(|kind| *kind != "null").collect();
    if let [only] = &kinds[..] { (*only).clone() } else { json!(kinds) }
}

/// Returns the bounds of an integer type that are narrower than those of TOML.
fn bounds(format: &str) -> Option<(Json, Json)> {
    match format {
        "uint8" => Some((json!(0), json!(u8::MAX))),
        "uint16" => Some((json!(0), json!(u16::MAX))),
        "uint32" => Some((json!(0), json!(u32::MAX))),
        "uint64" | "uint" => Some((json!(0), json!(i64::MAX))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;
    use schemars::JsonSchema;

    /// A document.
    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Document {
        /// A section.
        section: Section,
        entries: Vec<Section>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Section {
        time: Nanos,
        count: Option<u16>,
        rule: Rule,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[allow(dead_code)]
    enum Rule {
        /// No parameter.
        Plain,
        /// One parameter.
        Choices { d: u8 },
    }

    fn made(may_be_based: bool) -> Json {
        schema(&schemars::schema_for!(Document).to_value(), may_be_based)
    }

    #[test]
    fn fields_have_units_bounds_and_no_null() {
        let section = &made(false)[DEFINITIONS]["Section"];
        assert_eq!(section["properties"]["count"], json!({"type": "integer", "minimum": 0, "maximum": u16::MAX}));
        assert!(section["properties"]["time"]["pattern"].as_str().is_some_and(|pattern| pattern.contains("|us|")), "{section}");
        assert_eq!((&section["additionalProperties"], &section["required"]), (&json!(false), &json!(["time", "rule"])));
    }

    #[test]
    fn a_member_without_parameters_may_be_a_bare_name() {
        let rule = made(false)[DEFINITIONS]["Rule"]["anyOf"].clone();
        let names: Vec<&Json> = rule.as_array().into_iter().flatten().filter_map(|one| one.get("const")).collect();
        assert_eq!(names, ["plain"]);
    }

    #[test]
    fn a_base_may_give_the_fields_of_tables_and_not_those_of_lists() {
        let based = made(true);
        assert_eq!(based["properties"]["section"]["allOf"][0]["$ref"], "#/definitions/Section-partial");
        assert_eq!(based["properties"]["entries"]["items"]["$ref"], "#/definitions/Section");
        assert_eq!(based["required"], Json::Null);
        assert_eq!(based[DEFINITIONS]["Section-partial"]["required"], Json::Null);
        assert_eq!(based["then"]["required"], json!(["section", "entries"]));
        assert_eq!(based["then"]["properties"]["section"]["required"], json!(["time", "rule"]));
    }
}
