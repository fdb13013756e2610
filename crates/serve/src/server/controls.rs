//! Requests for control.

use super::{End, Link, Server, deliver};
use crate::clock::{Dilation, Wall};
use crate::control::{self, Control};
use drive::PowerLoss;
use drive::embed::EmbedError;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Most states that are kept.
const SNAPSHOTS: usize = 16;

impl Server {
    /// Reads what a client for control has sent, and does what its lines ask for.
    pub(super) fn receive_control(&mut self, slot: usize) {
        let Some(client) = &mut self.clients[slot] else { return };
        let Link::Control { input, .. } = &mut client.link else { return };
        let from = input.len();
        input.resize(from + (64 << 10), 0);
        let read = client.stream.read(&mut input[from..]);
        let Link::Control { input, .. } = &mut client.link else { return };
        input.truncate(from + read.as_ref().map_or(0, |count| *count));
        match read {
            Ok(0) => return self.leave(slot),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => client.is_readable = false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return self.leave(slot),
        }
        if input.len() > control::LARGEST {
            self.remark(format!("a request for control has more than {} bytes: its connection has ended", control::LARGEST));
            return self.leave(slot);
        }
        loop {
            let Some(client) = &mut self.clients[slot] else { return };
            let Link::Control { input, .. } = &mut client.link else { return };
            let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
            let line: Vec<u8> = input.drain(..=end).collect();
            let result = Control::read(&line).and_then(|control| self.control(control));
            let Some(client) = &mut self.clients[slot] else { return };
            let Link::Control { output, .. } = &mut client.link else { return };
            output.extend_from_slice(&control::answer(result));
            self.touched.push(slot);
        }
    }

    /// Does what a request asks for.
    fn control(&mut self, control: Control) -> Result<Value, String> {
        match control {
            Control::Stats => Ok(self.summary()),
            Control::Sample { wear, diagram } => Ok(self.sample(wear, diagram)),
            Control::PowerCut { after, down } => {
                let Server { engine, clients, touched, .. } = self;
                let cut = engine.power_cut(after, down, &mut |answer| deliver(clients, touched, &answer));
                let cut = cut.map_err(in_words)?;
                Ok(cut.map_or_else(|| json!({ "pending": true }), |(loss, failed)| recovery(&loss, failed)))
            }
            Control::Faults { name, text } => {
                let count = self.engine.drive_mut().script_faults(&name, &text).map_err(in_words)?;
                Ok(json!({ "faults": count }))
            }
            Control::Snapshot { name } => self.snapshot(name),
            Control::Restore { name } => self.restore(&name),
            Control::Save { file, force } => {
                self.drain()?;
                let bytes = save(&file, force, |to| self.engine.drive_mut().save(to).map_err(in_words))?;
                Ok(json!({ "file": file.display().to_string(), "bytes": bytes }))
            }
            Control::Stop => {
                self.end = Some(End::Asked);
                Ok(json!({}))
            }
        }
    }

    /// Returns a sample of the measurement. `took_ns` is the time that it has cost the server.
    fn sample(&self, wear: bool, diagram: bool) -> Value {
        let began = Wall::now();
        let drive = self.engine.drive();
        let mut sample = drive.sample(wear);
        sample["drive"] = json!(drive.name());
        sample["server"] = self.figures();
        sample["diagram"] = if diagram { json!(drive.diagram()) } else { Value::Null };
        sample["took_ns"] = json!(began.elapsed().as_nanos() as u64);
        sample
    }

    /// Keeps the state of the drive, which is brought to rest for that.
    fn snapshot(&mut self, name: String) -> Result<Value, String> {
        if self.snapshots.len() >= SNAPSHOTS && !self.snapshots.contains_key(&name) {
            return Err(format!("snapshot: {SNAPSHOTS} states are kept: expected the name of one, which is replaced"));
        }
        self.drain()?;
        let mut bytes = Vec::new();
        self.engine.drive_mut().save(&mut bytes).map_err(in_words)?;
        let count = bytes.len();
        self.snapshots.insert(name.clone(), bytes);
        Ok(json!({ "name": name, "bytes": count }))
    }

    fn restore(&mut self, name: &str) -> Result<Value, String> {
        let Some(bytes) = self.snapshots.get(name) else {
            let known: Vec<&str> = self.snapshots.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "snapshot first".to_owned() } else { known.join(", ") };
            return Err(format!("restore: no state `{}` is kept: expected {known}", name.escape_debug()));
        };
        if self.engine.has_record() {
            return Err("restore: a record is being written, which cannot go back in time: expected a server without".to_owned());
        }
        let drive = (self.options.load)(name, &mut &bytes[..]).map_err(in_words)?;
        self.drain()?;
        self.engine.replace(drive);
        if let super::Clock::Dilated { factor } = self.clock {
            self.dilation = Some(Dilation::new(factor));
        }
        Ok(json!({ "name": name, "notes": self.engine.drive().notes() }))
    }
}

fn in_words(error: EmbedError) -> String {
    error.text
}

/// Returns the figures of a recovery, as `power_failure` in `summary.json` has them.
fn recovery(loss: &PowerLoss, failed: usize) -> Value {
    json!({
        "recovery_ns": loss.recovery.0,
        "recovery_reads": loss.recovery_reads,
        "durable_lost": loss.durable_lost,
        "volatile_lost": loss.volatile_lost,
        "torn_pages": loss.torn_pages,
        "requests_failed": failed,
    })
}

/// Writes a file as a whole or not at all. Returns its size.
fn save(file: &Path, force: bool, write: impl FnOnce(&mut dyn Write) -> Result<(), String>) -> Result<u64, String> {
    let shown = file.display();
    if !force && fs::symlink_metadata(file).is_ok() {
        return Err(format!("{shown}: there is a file: expected another name, or --force"));
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = Path::new(&beside);
    let failed = |error: std::io::Error| format!("{shown}: {error}");
    let written = (|| {
        let to: File = OpenOptions::new().write(true).create_new(true).open(beside).map_err(failed)?;
        let mut to = BufWriter::with_capacity(1 << 20, to);
        write(&mut to)?;
        to.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        fs::rename(beside, file).map_err(failed)?;
        fs::metadata(file).map(|found| found.len()).map_err(failed)
    })();
    if written.is_err() {
        // Removes the incomplete file. There is none if it could not be created.
        let _ = fs::remove_file(beside);
    }
    written
}
