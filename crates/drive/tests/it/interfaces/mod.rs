//! Host interfaces in detail: single commands as the sum of their parts, the interface as the bottleneck, queues.

mod bottlenecks;
mod depth_one;
mod queues;
mod refused;

use crate::common::{Rig, UNIT};
use kit::{Cause, Op, SimTime};

/// Causes of a program of one unit on `tiny`, and of a read of one.
const PROGRAM: [(Cause, u64); 3] = [(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, 600_000)];
const READ: [(Cause, u64); 3] = [(Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, 3414)];

/// Returns the parts of a command: those of the host's side, followed by those of the device.
fn parts(host: &[(Cause, u64)], device: &[(Cause, u64)]) -> Vec<(Cause, u64)> {
    [host, device].concat()
}
