//! Comparison of two JSON documents value by value.

use serde_json::Value;
use std::fmt;

/// A value that differs between two documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Location of the value: a JSON pointer (RFC 6901).
    pub path: String,
    /// Old value; none if the key is new.
    pub old: Option<Value>,
    /// New value; none if the key is gone.
    pub new: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        match (&self.old, &self.new) {
            (None, Some(new)) => write!(f, "new, {new}"),
            (Some(old), None) => write!(f, "gone, it was {old}"),
            (Some(old), Some(new)) => {
                write!(f, "{old} -> {new}")?;
                match old.as_f64().zip(new.as_f64()) {
                    Some((before, after)) if before != 0.0 => write!(f, " (ratio {:.6})", after / before),
                    _ => Ok(()),
                }
            }
            (None, None) => Ok(()),
        }
    }
}

/// Returns all differences of `new` from `old`, in the order of the documents.
pub fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(old), Some(new), &mut found);
    found
}

fn compare(path: String, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    match (old, new) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let at = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            for (key, value) in before {
                compare(at(key), Some(value), after.get(key), found);
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                compare(at(key), None, Some(value), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(format!("{path}/{index}"), before.get(index), after.get(index), found);
            }
        }
        _ if old == new => {}
        _ => found.push(Difference { path, old: old.cloned(), new: new.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_difference_is_found_where_it_is() {
        let old = json!({"same": {"a": [1, 2.5]}, "number": 4, "gone": null, "list": [1, 2], "a/b": 1, "kind": 1});
        let new = json!({"same": {"a": [1, 2.5]}, "number": 5, "list": [1], "fresh": true, "a/b": 2, "kind": {"c": 1}});
        let told: Vec<String> = differences(&old, &new).iter().map(Difference::to_string).collect();
        let expected = [
            "/number: 4 -> 5 (ratio 1.250000)",
            "/gone: gone, it was null",
            "/list/1: gone, it was 2",
            "/a~1b: 1 -> 2 (ratio 2.000000)",
            "/kind: 1 -> {\"c\":1}",
            "/fresh: new, true",
        ];
        assert_eq!(told, expected);
        assert!(differences(&old, &old).is_empty());
    }
}
