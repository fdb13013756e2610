//! The processor of the host: the time that it spends on a command.

use kit::{Hop, Nanos, Problems, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[host.cpu]` section: the processor of the host. Its work, and the wait for it, is part of a command's latency
/// (cause `host`), which counts from the submission by the application.
///
/// The thesis on SSDExplorer (table 2.6) has a consumer host of 4 cores and 3.5 us for each submission, and an
/// enterprise host of 24 cores and 0.5 us; that they submit 200,000 and 600,000 commands a second follows from a part
/// of 4.9 us and 1.67 us that only one core at a time can do (derived).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuConfig {
    /// Number of cores; a command takes the first one that is free.
    #[schemars(range(min = 1, max = 128))]
    pub cores: u32,
    /// Time on a core to submit a command.
    #[serde(default)]
    pub submission: Nanos,
    /// Time for each command that only one core at a time can do (a lock of the driver or the file system).
    #[serde(default)]
    pub serial: Nanos,
    /// Time on a core to complete a command.
    #[serde(default)]
    pub completion: Nanos,
    /// The way in which the host learns of a completion.
    #[serde(default)]
    pub notice: Notice,
    /// Time from an interrupt to the work that it causes on a core; for `notice = "interrupt"`.
    #[serde(default)]
    pub interrupt_time: Nanos,
    /// Time between two looks at the completion queue; for `notice = "polling"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<Nanos>,
}

/// The way in which the host learns of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The device interrupts it.
    #[default]
    Interrupt,
    /// It looks for completions at regular intervals. The device sends no interrupt.
    Polling,
}

impl CpuConfig {
    /// Adds the section's inconsistencies to `problems`.
    pub fn problems(&self, problems: &mut Problems) {
        match (self.notice, self.poll_interval) {
            (Notice::Interrupt, None) => {}
            (Notice::Interrupt, Some(interval)) => {
                problems.add("host.cpu.poll_interval", format!("{interval}: expected notice = \"polling\", or no interval"));
            }
            (Notice::Polling, Some(Nanos(1..))) => {}
            (Notice::Polling, _) => {
                problems.add("host.cpu.poll_interval", "missing: required by notice = \"polling\", for example \"1us\"");
            }
        }
        if self.notice == Notice::Polling && self.interrupt_time > Nanos::ZERO {
            problems.add("host.cpu.interrupt_time", "expected notice = \"interrupt\", or no time: polling has no interrupts");
        }
    }

    /// Adds the work of the host to the protocol of its interface.
    pub fn extend(&self, protocol: &mut Protocol) {
        let some = |time: Nanos, hop: fn(Nanos) -> Hop| (time > Nanos::ZERO).then(|| hop(time));
        protocol.host_cores = self.cores;
        let submission = some(self.submission, Hop::HostCore).into_iter().chain(some(self.serial, Hop::HostSerial));
        protocol.submit = submission.chain(protocol.submit.drain(..)).collect();
        match self.notice {
            Notice::Interrupt => protocol.interrupt.extend(some(self.interrupt_time, Hop::Wait)),
            Notice::Polling => protocol.interrupt = self.poll_interval.map(Hop::Poll).into_iter().collect(),
        }
        protocol.reap.extend(some(self.completion, Hop::HostCore));
    }
}
