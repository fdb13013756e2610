//! Numeric fields of all presets at the extremes of their schema: an error that names a field, or a drive that runs.

use drive::session::{Files, RunRequest};
use drive::{Description, presets};
use kit::{Bytes, Problems};
use serde_json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use workload::Input;

/// Most mapping units of the flash of a drive that is run: building a larger one takes long.
const LARGEST: u64 = 1 << 18;
/// Capacity of the mock-ups that are run in place of large presets.
const MOCK_UP: Bytes = Bytes(256 << 20);

/// The schema of descriptions, with its definitions.
struct Fields {
    schema: Json,
    found: Vec<(String, Vec<String>)>,
}

impl Fields {
    fn resolve<'a>(&'a self, mut schema: &'a Json) -> &'a Json {
        while let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            schema = &self.schema["$defs"][name];
        }
        schema
    }

    /// Returns the schema that describes `value` among those of a choice.
    fn chosen<'a>(&'a self, schema: &'a Json, value: &Json) -> &'a Json {
        let schema = self.resolve(schema);
        let Some(options) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) else { return schema };
        let kind = if value.is_object() { &value["kind"] } else { value };
        let fits = |option: &&Json| {
            let option = self.resolve(option);
            match &option["properties"]["kind"]["const"] {
                Json::Null => option["type"] == "object" && value.is_object() || option["type"] == "array" && value.is_array(),
                name => name == kind,
            }
        };
        let plain = |option: &&Json| self.resolve(option)["type"] != "null";
        let found = options.iter().find(fits).or_else(|| options.iter().find(plain));
        self.resolve(found.unwrap_or(schema))
    }

    /// Collects the numeric fields below `path`, each with its extremes. A field that is absent is included.
    fn walk(&mut self, schema: &Json, value: &Json, path: &str) {
        let schema = self.chosen(schema, value).clone();
        let types =
            |name: &str| schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&name.into()));
        if let Some(unit) = schema["x-unit"].as_str() {
            self.found.push((path.to_owned(), of_unit(unit)));
        } else if types("integer") || types("number") {
            self.found.push((path.to_owned(), of_number(&schema, types("integer"))));
        } else if let Some(fields) = schema["properties"].as_object() {
            for (name, field) in fields {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let is_section = self.chosen(field, &value[name])["properties"].is_object();
                if !is_section || value[name].is_object() {
                    self.walk(field, &value[name], &below);
                }
            }
        } else if let (Some(items), Some(first)) = (schema.get("items"), value.as_array().and_then(|all| all.first())) {
            let items = items.clone();
            self.walk(&items, first, &format!("{path}[0]"));
        }
    }
}

fn of_unit(unit: &str) -> Vec<String> {
    let suffix = match unit {
        "a duration" => "ns",
        "a size" => "B",
        "a data rate" => "B/s",
        "a frequency" => "Hz",
        "a current" => "uA",
        "a voltage" => "mV",
        "a power" => "uW",
        "an energy" => "fJ",
        "a transfer rate" => "T/s",
        other => panic!("no extremes of {other} are known"),
    };
    ["0", "1", "3", "4096", "1000000007", "1152921504606846976", "18446744073709551615"]
        .map(|number| format!("{number}{suffix}"))
        .into()
}

fn of_number(schema: &Json, is_integer: bool) -> Vec<String> {
    let bounds = ["minimum", "maximum"].into_iter().filter_map(|bound| schema[bound].as_f64());
    let mut all: Vec<String> =
        bounds.map(|bound| if is_integer { format!("{bound:.0}") } else { format!("{bound:?}") }).collect();
    all.extend(["0", "1", "2", "3", "7", "4294967295", "9223372036854775807"].map(str::to_owned));
    if !is_integer {
        all.extend(["0.0", "1.0", "1e-300", "1e300", "0.5", "0.9999999"].map(str::to_owned));
    }
    all.dedup();
    all
}

/// Returns what happened beside an error or a run to its end.
fn fault(name: &str, text: &str, set: &str, runs: bool) -> Option<String> {
    let tried = catch_unwind(AssertUnwindSafe(|| -> Result<(), Problems> {
        let description = Description::read(name, text, &[set.to_owned()])?;
        let geometry = description.geometry();
        if !runs || geometry.unit_count() > LARGEST {
            return Ok(());
        }
        drive::facts(name, &description);
        drive::diagram(name, &description);
        let job = "[a]\nrw=randrw\nbs=64k\nnumber_ios=100\niodepth=4\nsize=50%\nnorandommap\n";
        let mut calls = 0;
        let mut go_on = |_: &drive::session::Progress| {
            calls += 1;
            calls < 20
        };
        let request = RunRequest::new(name, text).set(set);
        drive::session::run(&request, &Input::text("job.fio", job), Files::default(), &mut go_on).map(drop)
    }));
    match tried {
        Ok(Ok(())) => None,
        Ok(Err(problems)) => {
            let told = problems.to_string();
            (told.is_empty() || told.contains("NaN") || told.contains("inf")).then(|| format!("{set}: {told}"))
        }
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            Some(format!(
                "{set}: {}",
                words.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
            ))
        }
    }
}

/// Returns the text of a drive with the parts of a preset, and true if it is quick to build.
fn resolved(name: &str) -> (String, bool) {
    let description = Description::read(name, &format!("base = \"{name}\""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    if description.geometry().unit_count() <= LARGEST {
        return (description.to_toml(), true);
    }
    drive::shrink(&description, MOCK_UP).map_or_else(|_| (description.to_toml(), false), |mock| (mock.to_toml(), true))
}

fn extremes(every: usize, offset: usize) -> (usize, Vec<String>) {
    let mut faults = Vec::new();
    let mut count = 0;
    for preset in presets::PRESETS.iter() {
        let name = preset.name;
        let (text, runs) = resolved(name);
        let value: toml::Value = toml::from_str(&text).expect("a description");
        let value = serde_json::to_value(value).expect("plain values");
        let mut fields = Fields { schema: Description::schema(), found: Vec::new() };
        let schema = fields.schema.clone();
        fields.walk(&schema, &value, "");
        let all = fields.found.iter().flat_map(|(path, values)| values.iter().map(move |value| format!("{path}={value}")));
        for set in all.skip(offset).step_by(every) {
            count += 1;
            faults.extend(fault(name, &text, &set, runs).map(|fault| format!("{name} --set {fault}")));
        }
    }
    (count, faults)
}

/// A part of the values of all presets, another for each; `all_extremes` tries them all.
#[test]
fn extremes_are_refused_by_name_or_run() {
    let (count, faults) = extremes(61, 5);
    assert!(count > 400, "{count}");
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
#[ignore = "takes several minutes"]
fn all_extremes() {
    let (count, faults) = extremes(1, 0);
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}

/// Facts that depend on the controller are derived once it is known to be sound.
#[test]
fn facts_are_derived_after_the_checks() {
    let sets = ["controller.firmware.count=8".to_owned()];
    let told = Description::read("d.toml", "base = \"open-mppa-2tb\"\n", &sets).map(drop).expect_err("no such controller");
    assert!(told.to_string().contains("controller."), "{told}");
    // No policy is built, so that the budget of combined policies is not checked either.
    let sets = ["controller.firmware.count=8", "policy.kind=combine"].map(str::to_owned);
    Description::read("d.toml", "base = \"open-mppa-2tb\"\n", &sets).map(drop).expect_err("no such controller");
}
