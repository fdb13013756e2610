//! Members of the controller: single commands as the sum of their parts, each member as the only bottleneck.

mod bottlenecks;
mod depth_one;
mod page_buffers;
mod pools;
mod refused;
mod sequencer;
mod target_queues;
