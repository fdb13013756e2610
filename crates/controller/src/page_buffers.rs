//! Page buffers of the channel controllers: their description. Dies take them and wait for them, so that the flash
//! keeps them (`flash/page_buffers.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Page buffers (SRAM) of the channel controllers. Each holds the data of one program or of one read. A program holds
/// one from the instant at which a die takes it until its data has crossed the channel: a die takes a program only
/// while a buffer of its channel is free. A read requests one when its data is in the die's register, and holds it
/// until its data is in the controller's memory; until it has one, the die keeps the data (cause `page_buffer`). A read
/// takes it before it begins, however, if a program of its die has one and waits, or if it repeats another and will
/// hold the channel. Buffers are granted in the order of the requests; of requests at one instant that wait, host reads
/// go first, then other reads, then programs. Erases and copybacks need none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageBufferConfig {
    /// Number of page buffers of each channel.
    #[schemars(range(min = 1, max = 65_535))]
    pub count: u32,
}
