//! Control of a server: one line of JSON for each request and each answer, over a socket of its own.
//!
//! A request is `{"do": NAME, ...}`. The answer is `{"ok": RESULT}`, or `{"error": TEXT}`.

use kit::Nanos;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Largest request \[bytes\]: a script of faults has some of them.
pub const LARGEST: usize = 2 << 20;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Asks for the summary so far.
    Stats,
    /// Asks for a sample of the measurement, for an observer who asks often.
    Sample {
        /// True if the sample has the map of the wear.
        wear: bool,
        /// True if the sample has the diagram of the drive.
        diagram: bool,
    },
    /// Loses power for a time: now, or after a number of steps of the drive.
    PowerCut {
        /// Number of steps.
        after: Option<u64>,
        /// Time without power.
        down: Nanos,
    },
    /// Has faults of a script happen.
    Faults {
        /// Name of the script in messages.
        name: String,
        /// The script (TOML).
        text: String,
    },
    /// Keeps the state of the drive in memory, under a name.
    Snapshot {
        /// The name.
        name: String,
    },
    /// Returns to a state that is kept.
    Restore {
        /// Its name.
        name: String,
    },
    /// Saves the drive with its contents.
    Save {
        /// The file.
        file: PathBuf,
        /// True if a file that is there is replaced.
        force: bool,
    },
    /// Ends the server.
    Stop,
}

impl Control {
    /// Reads a request. The error says what was found and what was expected.
    pub fn read(line: &[u8]) -> Result<Control, String> {
        let found: Value = serde_json::from_slice(line).map_err(|error| format!("the request is not JSON: {error}"))?;
        let Value::Object(mut keys) = found else { return Err("the request is no object of JSON: expected one".to_owned()) };
        let name = text(&mut keys, "do")?;
        let control = match name.as_str() {
            "stats" => Control::Stats,
            "sample" => Control::Sample { wear: switch(&mut keys, "wear", true)?, diagram: switch(&mut keys, "diagram", true)? },
            "stop" => Control::Stop,
            "power-cut" => {
                let after = keys.remove("after_events").filter(|value| !value.is_null());
                let after = after.map(|value| value.as_u64().ok_or("after_events: expected a number from 0 on")).transpose()?;
                let down = text(&mut keys, "down")?;
                Control::PowerCut { after, down: down.parse().map_err(|complaint| format!("down: {complaint}"))? }
            }
            "faults" => Control::Faults { name: text(&mut keys, "name")?, text: text(&mut keys, "text")? },
            "snapshot" => Control::Snapshot { name: text(&mut keys, "name")? },
            "restore" => Control::Restore { name: text(&mut keys, "name")? },
            "save" => {
                let force = switch(&mut keys, "force", false)?;
                Control::Save { file: PathBuf::from(text(&mut keys, "file")?), force }
            }
            other => {
                let known = "stats, sample, power-cut, faults, snapshot, restore, save or stop";
                return Err(format!("do = `{}`: expected {known}", other.escape_debug()));
            }
        };
        match keys.keys().next() {
            Some(key) => Err(format!("{name}: unknown key `{}`", key.escape_debug())),
            None => Ok(control),
        }
    }
}

fn switch(keys: &mut Map<String, Value>, key: &str, absent: bool) -> Result<bool, String> {
    let value = keys.remove(key).unwrap_or(json!(absent));
    value.as_bool().ok_or_else(|| format!("{key}: expected true or false"))
}

fn text(keys: &mut Map<String, Value>, key: &str) -> Result<String, String> {
    match keys.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("{key} = {other}: expected a text")),
        None => Err(format!("{key} is missing: expected a text")),
    }
}

/// Returns an answer as it is sent.
#[must_use]
pub fn answer(result: Result<Value, String>) -> Vec<u8> {
    let document = match result {
        Ok(found) => json!({ "ok": found }),
        Err(complaint) => json!({ "error": complaint }),
    };
    let mut line = document.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_others_refused_by_name() {
        let read = |line: &str| Control::read(line.as_bytes());
        assert_eq!(read(r#"{"do":"stats"}"#), Ok(Control::Stats));
        assert_eq!(read(r#"{"do":"sample","wear":false}"#), Ok(Control::Sample { wear: false, diagram: true }));
        let cut = Control::PowerCut { after: Some(7), down: Nanos(2_000_000_000) };
        assert_eq!(read(r#"{"do":"power-cut","after_events":7,"down":"2s"}"#), Ok(cut));
        let save = Control::Save { file: PathBuf::from("/d"), force: true };
        assert_eq!(read(r#"{"do":"save","file":"/d","force":true}"#), Ok(save));
        for (line, complaint) in [
            ("", "not JSON"),
            ("[]", "no object"),
            ("{}", "do is missing"),
            (r#"{"do":5}"#, "do = 5: expected a text"),
            (r#"{"do":"cut"}"#, "do = `cut`: expected stats, sample, power-cut"),
            (r#"{"do":"sample","wear":1}"#, "wear: expected true or false"),
            (r#"{"do":"stop","now":1}"#, "stop: unknown key `now`"),
            (r#"{"do":"power-cut","down":"2 parsecs"}"#, "down: "),
            (r#"{"do":"power-cut","down":"1s","after_events":-1}"#, "after_events: expected"),
        ] {
            let found = read(line).unwrap_err();
            assert!(found.contains(complaint), "{line}: {found}");
        }
    }
}
