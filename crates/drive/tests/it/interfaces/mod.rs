//! Host interfaces in detail: single commands as the sum of their parts, the interface as the bottleneck, queues.

mod bottlenecks;
mod depth_one;
mod queues;
mod refused;

use crate::common::{PROGRAM, READ, Rig, UNIT};
use kit::{Cause, Op, SimTime};

/// Returns the parts of a command: those of the host's side, followed by those of the device.
fn parts(host: &[(Cause, u64)], device: &[(Cause, u64)]) -> Vec<(Cause, u64)> {
    [host, device].concat()
}
