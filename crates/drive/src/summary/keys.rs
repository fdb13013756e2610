//! Keys of a summary: the origin, unit and definition of each, declared once.

use super::origin::Origin::{self, Nothing, Run};
use super::origin::{ACCOUNTING, BUFFER, BUSY, FLASH, MAPPING, PAGE_BUFFERS, POLICY, POWER, READS, RETENTION, TRANSLATION, WEAR};
use crate::definitions::covers;
use kit::Term;

/// A key of a summary, or a section of keys.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Path, unit and definition. Placeholders of paths: see [`crate::definitions`].
    pub term: Term,
    /// Origin of the value.
    pub origin: Origin,
}

/// Sections whose members have sections with the same keys as the whole run.
const PARTS: &[(&str, &[&str])] = &[("streams", &["commands", "latency", "throughput", "causes"])];

const fn key(path: &'static str, origin: Origin, unit: &'static str, definition: &'static str) -> Key {
    Key { term: Term::new(path, unit, definition), origin }
}

/// Every key of a summary, and the sections; those of a section stand together, after the section itself.
// One row for each key.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("schema_version", Run, "", "Version of the format of this document."),
    key("status", Run, "", "`complete`, or `partial` if the run was stopped before its end."),
    key("drive", Run, "", "Name of the drive, as it was given."),
    key("workload", Run, "", "Name of the workload, as it was given."),
    key("policy", Run, "", "Name of the mode policy."),
    key("seed", Run, "", "Seed of all random streams."),
    key("simulated_ns", ACCOUNTING, "ns",
        "Simulated time from the start of the measurement to the end of the workload, without a time without power."),
    key("wall_s", Run, "s", "Wall-clock time of the event loop: the only number that differs between equal runs."),
    key("commands", ACCOUNTING, "", "Commands completed, by operation."),
    key("commands.OP", ACCOUNTING, "commands", "Commands of the operation that were completed."),
    key("rejected", Run, "commands", "Commands that were rejected because they lie outside the range of the drive."),
    key("latency", ACCOUNTING, "",
        "Latency of the commands, by operation, from submission to completion, waiting at the host included."),
    key("latency.OP.count", ACCOUNTING, "commands", "Commands measured."),
    key("latency.OP.mean_ns", ACCOUNTING, "ns", "Mean latency, from submission to completion, waiting at the host included."),
    key("latency.OP.stddev_ns", ACCOUNTING, "ns", "Standard deviation of the latency."),
    key("latency.OP.min_ns", ACCOUNTING, "ns", "Shortest latency."),
    key("latency.OP.p50_ns", ACCOUNTING, "ns",
        "Median of the latency: half of the commands are no slower. `null` if fewer than ten commands lie beyond \
         it."),
    key("latency.OP.p90_ns", ACCOUNTING, "ns",
        "Latency that 90 % of the commands do not exceed. `null` if fewer than ten commands lie beyond it."),
    key("latency.OP.p99_ns", ACCOUNTING, "ns",
        "Latency that 99 % of the commands do not exceed. `null` if fewer than ten commands lie beyond it."),
    key("latency.OP.p99_9_ns", ACCOUNTING, "ns",
        "Latency that 99.9 % of the commands do not exceed. `null` if fewer than ten commands lie beyond it."),
    key("latency.OP.p99_99_ns", ACCOUNTING, "ns",
        "Latency that 99.99 % of the commands do not exceed. `null` if fewer than ten commands lie beyond it."),
    key("latency.OP.max_ns", ACCOUNTING, "ns", "Longest latency."),
    key("throughput", ACCOUNTING, "", "Completed commands and bytes over the simulated time."),
    key("throughput.iops", ACCOUNTING, "commands/s", "Commands completed per second of simulated time."),
    key("throughput.read_bytes_per_s", ACCOUNTING, "bytes/s", "Bytes read per second of simulated time."),
    key("throughput.write_bytes_per_s", ACCOUNTING, "bytes/s", "Bytes written per second of simulated time."),
    key("throughput.read_bytes", ACCOUNTING, "bytes", "Bytes read."),
    key("throughput.write_bytes", ACCOUNTING, "bytes", "Bytes written."),
    key("throughput.most_in_flight", ACCOUNTING, "commands", "Most commands in flight at a time."),
    key("causes", ACCOUNTING, "",
        "Mean latency of the commands, divided by cause; the parts add up to the mean. Causes without any time are \
         left out."),
    key("causes.OP", ACCOUNTING, "", "Parts of the mean latency; empty if no command took any time."),
    key("causes.OP.CAUSE", ACCOUNTING, "ns", "Mean time that a command was charged to the cause."),
    key("flash", FLASH, "", "Operations of the flash, split by reason where a name of a reason stands."),
    key("flash.reads", FLASH, "", "Mapping units read, by reason, repeated reads included; reasons without any are left out."),
    key("flash.reads.REASON", FLASH, "units", "Mapping units read for the reason, repeated reads included."),
    key("flash.programs", MAPPING, "", "Mapping units programmed, by reason; reasons without any are left out."),
    key("flash.programs.REASON", MAPPING, "units", "Mapping units programmed for the reason."),
    key("flash.erases", FLASH, "", "Blocks erased, by reason; reasons without any are left out."),
    key("flash.erases.REASON", FLASH, "blocks", "Blocks erased for the reason."),
    key("flash.operations", FLASH, "", "Operations of the flash, by kind."),
    key("flash.operations.read", FLASH, "count", "Read operations, repeated ones included."),
    key("flash.operations.program", FLASH, "count", "Program operations."),
    key("flash.operations.erase", FLASH, "count", "Erase operations."),
    key("flash.operations.copyback", FLASH, "count", "Copyback operations."),
    key("flash.operations.lazy_erase", FLASH, "count",
        "Lazy erases: free blocks erased further because they had been erased too shallowly for the next write."),
    key("flash.suspensions", FLASH, "count", "Suspensions of programs and erases."),
    key("host_units_written", MAPPING, "units", "Mapping units that the host wrote."),
    key("write_amplification", MAPPING, "ratio",
        "Mapping units programmed, padding included, for each unit that the host wrote. `null` without host writes."),
    key("unmapped_reads", MAPPING, "units", "Mapping units read that were never written."),
    key("buffer", BUFFER, "", "Write buffer."),
    key("buffer.absorbed_units", BUFFER, "units", "Units of host writes that replaced a unit still in the write buffer."),
    key("buffer.read_hits", BUFFER, "units", "Units read from the write buffer."),
    key("buffer.reads_in_flight", MAPPING, "units",
        "Units read from the controller's memory because their program had not completed."),
    key("relocation_skipped", MAPPING, "units", "Units to be relocated that had been overwritten or trimmed in the meantime."),
    key("collections", MAPPING, "blocks", "Victim blocks taken by garbage collection to gain free space."),
    key("modes", MAPPING, "", "Use of the write, read and erase modes."),
    key("modes.write.MODE", MAPPING, "units", "Units programmed in the write mode, for any reason, without padding."),
    key("modes.host_write.MODE", MAPPING, "units", "Units of host writes programmed in the write mode."),
    key("modes.read.MODE", FLASH, "count", "Read operations in the read mode."),
    key("modes.erase.MODE", FLASH, "count", "Erase operations in the erase mode, without lazy erases."),
    key("wear", WEAR, "", "Erases of the blocks since the drive was new. `null` without a page map."),
    key("wear.mean", WEAR, "cycles", "Mean number of erases of a block."),
    key("wear.max", WEAR, "cycles", "Largest number of erases of a block."),
    key("wear.min", WEAR, "cycles", "Smallest number of erases of a block."),
    key("wear.stddev", WEAR, "cycles", "Standard deviation of the number of erases over the blocks."),
    key("wear_histogram", WEAR, "", "Blocks by their number of erases, in at most 64 classes of equal width."),
    key("wear_histogram.first_cycles", WEAR, "cycles", "Number of erases at which the first class begins."),
    key("wear_histogram.width_cycles", WEAR, "cycles", "Width of a class."),
    key("wear_histogram.blocks", WEAR, "blocks", "Blocks of each class. `null` without a page map."),
    key("wear_histogram.blocks.*", WEAR, "blocks", "Blocks of the class."),
    key("effective_wear", WEAR, "", "Effective wear of the blocks: the sum of the wear of their erases, in nominal erases."),
    key("effective_wear.mean", WEAR, "cycles", "Mean effective wear of a block."),
    key("effective_wear.max", WEAR, "cycles", "Largest effective wear of a block."),
    key("energy", POWER, "", "Energy and power ([POWER_MODEL.md](POWER_MODEL.md)); `null` without the section `[power]`."),
    key("energy.total_j", POWER, "J", "Energy of the parts listed in `parts`, and of no other."),
    key("energy.parts", POWER, "", "Parts of the drive whose energy is known: those that `total_j` and the powers contain."),
    key("energy.parts.*", POWER, "", "Name of a part."),
    key("energy.flash_j", POWER, "J", "Energy of the flash, dies at rest included."),
    key("energy.dram_j", Nothing, "J", "Energy of the controller's memory. There is no model of it yet."),
    key("energy.ecc_j", Nothing, "J", "Energy of encoders and decoders. There is no model of it yet."),
    key("energy.core_j", Nothing, "J", "Energy of the controller's cores. There is no model of it yet."),
    key("energy.interconnect_j", Nothing, "J", "Energy of the controller's interconnect. There is no model of it yet."),
    key("energy.link_j", Nothing, "J", "Energy of the host link. There is no model of it yet."),
    key("energy.mean_w", POWER, "W", "Mean power over the simulated time: `total_j` divided by it."),
    key("energy.peak_w", POWER, "W", "Greatest power averaged over a window; `null` if no window has passed."),
    key("energy.window_ns", POWER, "ns", "Length of the windows (`power.window`)."),
    key("energy.p50_w", POWER, "W", "Median of the power of the windows; `null` if fewer than ten lie beyond it."),
    key("energy.p90_w", POWER, "W", "Power that 90 % of the windows do not exceed; `null` if fewer than ten lie beyond it."),
    key("energy.p99_w", POWER, "W", "Power that 99 % of the windows do not exceed; `null` if fewer than ten lie beyond it."),
    key("energy.p99_9_w", POWER, "W", "Power that 99.9 % of the windows do not exceed; `null` if fewer than ten lie beyond it."),
    key("energy.flash_aj", POWER, "", "`flash_j` exactly, in attojoules: the digits of an integer that may have more than 64 bits."),
    key("energy.idle_j", POWER, "J", "Energy of dies whose array is at rest, those in transfers and suspensions included."),
    key("energy.by_operation", POWER, "", "Energy of the active arrays by kind of operation; kinds without any are left out."),
    key("energy.by_operation.NAME", POWER, "J", "Energy of the active arrays in operations of the kind."),
    key("energy.by_reason", POWER, "", "Energy of the active arrays by reason; reasons without any are left out."),
    key("energy.by_reason.REASON", POWER, "J", "Energy of the active arrays in operations for the reason."),
    key("energy.written_unit_j", POWER, "J", "`flash_j` for each mapping unit that the host wrote; `null` without any."),
    key("utilisation", BUSY, "", "Busy time of each resource over the simulated time, for the resources that the drive has."),
    key("utilisation.channels", BUSY, "share", "Mean over the flash channels."),
    key("utilisation.dies", BUSY, "share", "Mean over the dies."),
    key("utilisation.dies_writing", BUSY, "share", "Mean over the dies of the time in which they program or erase."),
    key("utilisation.channel_N", BUSY, "share", "Flash channel: commands and data."),
    key("utilisation.die_N", BUSY, "share", "Die: from the start of an operation to its end, waits for the channel included."),
    key("utilisation.encoder_CODE", BUSY, "share", "Encoder of the code of that name; 0 if it takes no time."),
    key("utilisation.decoders", BUSY, "share",
        "Decoders: mean over the groups of decoders of the channels, or the decoders that all channels share."),
    key("utilisation.decoders_N", BUSY, "share",
        "Decoders of a channel, all their threads together: time for which they hold codewords."),
    key("utilisation.page_buffers", PAGE_BUFFERS, "share", "Page buffers: mean over the channel controllers."),
    key("utilisation.page_buffers_N", PAGE_BUFFERS, "share", "Page buffers of a channel controller."),
    key("utilisation.host_core_N", BUSY, "share", "Core of the host's processor."),
    key("utilisation.host_serial", BUSY, "share",
        "Part of the work of the host's processor that only one core at a time can do."),
    key("utilisation.link", BUSY, "share", "Host link."),
    key("utilisation.link_to_device", BUSY, "share",
        "Host link towards the drive, where both directions transfer at the same time."),
    key("utilisation.link_to_host", BUSY, "share",
        "Host link towards the host, where both directions transfer at the same time."),
    key("utilisation.core_N", BUSY, "share", "Core of the controller's firmware."),
    key("utilisation.card_in_N", BUSY, "share", "Link of a card, from the translation layer to the card."),
    key("utilisation.card_out_N", BUSY, "share", "Link of a card, from the card to the translation layer."),
    key("utilisation.card_processor_N", BUSY, "share", "Processor of a card."),
    key("utilisation.ahb", BUSY, "share", "Bus of the interconnect `ahb`."),
    key("utilisation.ahb_host", BUSY, "share", "Layer of the interconnect at the host."),
    key("utilisation.ahb_dram", BUSY, "share", "Layer of the interconnect at the memory."),
    key("utilisation.ahb_dram_N", BUSY, "share", "Layer of the interconnect at the memory, where there are several."),
    key("utilisation.ahb_channel", BUSY, "share", "Layer of the interconnect at the flash channel."),
    key("utilisation.ahb_channel_N", BUSY, "share", "Layer of the interconnect at the flash channel, where there are several."),
    key("utilisation.axi_address", BUSY, "share", "Address lane of the interconnect."),
    key("utilisation.axi_data", BUSY, "share", "Data lane of the interconnect."),
    key("utilisation.axi_data_N", BUSY, "share", "Data lane of the interconnect, where there are several."),
    key("utilisation.ocp_host_in", BUSY, "share", "Interconnect from the host."),
    key("utilisation.ocp_host_out", BUSY, "share", "Interconnect to the host."),
    key("utilisation.ocp_channel_in", BUSY, "share", "Interconnect from the flash channel."),
    key("utilisation.ocp_channel_in_N", BUSY, "share", "Interconnect from the flash channel, where there are several."),
    key("utilisation.ocp_channel_out", BUSY, "share", "Interconnect to the flash channel."),
    key("utilisation.ocp_channel_out_N", BUSY, "share", "Interconnect to the flash channel, where there are several."),
    key("utilisation.wire_host", BUSY, "share", "Wire between a memory and the host."),
    key("utilisation.wire_host_N", BUSY, "share", "Wire between a memory and the host, where there are several."),
    key("utilisation.wire_channel", BUSY, "share", "Wire between a memory and the flash channel."),
    key("utilisation.wire_channel_N", BUSY, "share", "Wire between a memory and the flash channel, where there are several."),
    key("utilisation.dram", BUSY, "share",
        "Memory of the controller. With a data rate: its bus has data. DDR: an access waits or is served."),
    key("utilisation.dram_N", BUSY, "share", "Memory of a data buffer, or channel of the memory, where there are several."),
    key("utilisation.dram_bus", BUSY, "share",
        "Part of the time of a DDR memory in which its bus has data; the rest goes to rows and turnarounds."),
    key("utilisation.dram_bus_N", BUSY, "share", "The same of a data buffer or channel, where there are several."),
    key("bottleneck", BUSY, "",
        "Resource with the highest utilisation. Of resources that share the work, such as the dies, the busiest \
         stands for all. `null` if nothing was busy."),
    key("bottleneck.resource", BUSY, "", "Name of the resource with the highest utilisation, as in `utilisation`."),
    key("bottleneck.utilisation", BUSY, "share", "Its busy time over the simulated time."),
    key("bottleneck.next", BUSY, "", "Name of the resource with the next highest utilisation."),
    key("bottleneck.next_utilisation", BUSY, "share", "Its busy time over the simulated time."),
    key("reliability", READS, "",
        "Failures of reads, and retention. Where reads cannot fail, or no write mode has a retention limit, a value \
         is `null`."),
    key("reliability.uncorrectable", READS, "units",
        "Mapping units of host reads that no attempt could correct; a command may have several."),
    key("reliability.retries", READS, "count", "Attempts at reads after the first."),
    key("reliability.soft_levels", READS, "count", "Attempts with a soft decision."),
    key("reliability.uber", READS, "ratio",
        "Uncorrectable bit error rate (JESD218): codewords that no attempt could correct, for each data bit read."),
    key("reliability.deadline_misses", RETENTION, "count",
        "Programs that moved data after the retention limit of its block, counted from the start of the run."),
    key("reliability.at_risk_pages", RETENTION, "units",
        "Units past their retention limit when power came back after a power failure."),
    key("reliability.min_retention_margin_ns", RETENTION, "ns",
        "Shortest time between a move and the limit that it had to meet, counted from the start of the run; \
         negative: missed."),
    key("reliability.retention_refusals", RETENTION, "units",
        "Units that were not written in the mode that the policy chose: their data could not all be moved before \
         its limit, or a block holds too few units in that mode."),
    key("policy_stats", POLICY, "",
        "Counters and other figures of the mode policy, counted from the start of the run; empty if it has none."),
    key("policy_stats.NAME", POLICY, "",
        "Figure of the mode policy. Each policy defines its own: see the statistics of the policies below."),
    key("declared_state_bits_per_unit", POLICY, "bits", "State that the mode policy declares for each logical unit."),
    key("declared_state_bytes_per_block", POLICY, "bytes", "State that the mode policy declares for each block."),
    key("starting_state", Run, "", "State in which the run began. Its keys depend on the method."),
    key("starting_state.method", Run, "",
        "Method that produced the state: one of `state.precondition`, `load`, or the name of a translation layer \
         without a page map."),
    key("starting_state.overwrite_passes", Run, "count", "Random overwrites of the whole drive; `null` with other methods."),
    key("starting_state.mapped_units", Run, "units", "Mapped units."),
    key("starting_state.free_blocks", Run, "blocks", "Free blocks."),
    key("starting_state.write_mode_of_old_data", Run, "", "Write mode in which data older than the run counts as written."),
    key("starting_state.age_of_old_data_ns", Run, "ns", "Age of the data older than the run."),
    key("starting_state.pe_cycles", Run, "cycles", "Program and erase cycles of each block before the run."),
    key("starting_state.access_history", Run, "", "Accesses before the run that the policy knows: `none`."),
    key("starting_state.file", Run, "", "File of the saved drive that was loaded."),
    key("starting_state.exact", Run, "", "True if the loaded drive continues exactly; false if it adopts the saved data."),
    key("shutdown_ns", Run, "ns", "Time that an orderly shutdown took after the workload; `null` without one."),
    key("steady", Run, "", "Result of the search for the steady state (`--steady-state`); `null` if it was not requested."),
    key("steady.reached", Run, "", "True if the rule of the steady state was met."),
    key("steady.round_ns", Run, "ns", "Length of a round."),
    key("steady.rounds", Run, "count", "Rounds run until the rule was met, or in total."),
    key("steady.window_iops", Run, "commands/s", "Throughput in each round of the last window."),
    key("steady.window_iops.*", Run, "commands/s", "Throughput in the round."),
    key("steady.range", Run, "ratio",
        "Largest less smallest throughput in the window, divided by the mean; at most 0.2 in steady state."),
    key("steady.slope", Run, "ratio",
        "Change of the fitted line over the window, divided by the mean; at most 0.1 in steady state."),
    key("saturated", Run, "", "True if the backlog of an open loop was still growing over the second half of the run."),
    key("power_failure", RETENTION, "", "Effect of a power failure ([POWER.md](POWER.md)). Absent unless power failed."),
    key("power_failure.stopped_at_ns", RETENTION, "ns",
        "Instant at which the host stopped submitting commands, on the drive's clock. The clock of a drive that was \
         loaded and continues exactly does not begin at 0."),
    key("power_failure.failed_at_ns", RETENTION, "ns", "Instant at which power failed, on the drive's clock."),
    key("power_failure.down_ns", RETENTION, "ns", "Time without power."),
    key("power_failure.buffered_pages_saved", RETENTION, "units", "Acknowledged units that the write buffer held."),
    key("power_failure.policy_entries", RETENTION, "",
        "Entries of the policy in volatile memory; `null` for a policy without such entries."),
    key("power_failure.policy_entries.held", RETENTION, "count", "Entries held when power failed."),
    key("power_failure.policy_entries.saved", RETENTION, "count", "Entries that were saved."),
    key("power_failure.policy_entries.lost", RETENTION, "count", "Entries that were lost."),
    key("power_failure.policy_entries.saved_in_ns", RETENTION, "ns", "Time that saving took."),
    key("power_failure.at_risk_pages", RETENTION, "units", "Units past their retention limit when power came back."),
    key("power_failure.lost_pages", RETENTION, "units",
        "Those of them with more errors than the code corrects; `null` if unknown."),
    key("power_failure.lost_pages_unknown", RETENTION, "",
        "Reason why `lost_pages` is unknown, otherwise `null`: no `flash.cell_model`, a mode in numbers whose \
         program step is unknown (derive it) or with moved levels, a mode with fewer bits than the cell, or a \
         policy with a mode for each page."),
    key("streams", ACCOUNTING, "",
        "Streams of the workload: fio jobs, jobs of a model, devices or volumes of a trace, each with `commands`, \
         `latency`, `throughput` and `causes` of its own. Absent for a workload of one."),
    key("streams.*.name", Run, "", "Name of the job, or of the stream in the trace; repeated names are numbered."),
    key("streams.*.begin_ns", ACCOUNTING, "ns",
        "Time from the start of the measurement to the first submission of the stream; `null` without any. The rates of \
         its `throughput` are over the time from there to `end_ns`."),
    key("streams.*.end_ns", ACCOUNTING, "ns",
        "Time from the start of the measurement to the last completion of the stream; `null` without any."),
    key("intervals", ACCOUNTING, "",
        "Confidence intervals within the run ([EXPLORE.md](EXPLORE.md#within-one-run)). Absent unless batches were \
         requested (`--batches`)."),
    key("intervals.confidence", ACCOUNTING, "share", "Probability with which an interval contains the value."),
    key("intervals.OP", ACCOUNTING, "", "Batches of the commands, and the interval of each number."),
    key("intervals.OP.batches", ACCOUNTING, "count", "Complete batches."),
    key("intervals.OP.batch_commands", ACCOUNTING, "commands", "Commands of each batch; `null` without any."),
    key("intervals.OP.NAME", ACCOUNTING, "",
        "Interval of the number of that name in `latency`: `mean_ns`, `p50_ns` to `p99_99_ns`."),
    key("intervals.OP.NAME.low", ACCOUNTING, "ns",
        "Lower bound of the interval. `null` with less than two batches, or if a batch has fewer than ten commands \
         beyond the percentile."),
    key("intervals.OP.NAME.high", ACCOUNTING, "ns", "Upper bound of the interval."),
    key("intervals.OP.NAME.autocorrelation", ACCOUNTING, "ratio",
        "Correlation of a batch's value with that of the next. `null` with less than three batches, or if all are \
         equal."),
    key("read_cache", BUFFER, "", "Read cache. Absent on a drive without `buffer.read_cache`."),
    key("read_cache.hit_units", BUFFER, "units", "Units read from the read cache."),
    key("read_cache.read_ahead_units", BUFFER, "units", "Units read ahead from the flash."),
    key("read_cache.units_that_waited", BUFFER, "units", "Units of reads that waited for units that were being read ahead."),
    key("map_cache", MAPPING, "", "Mapping cache. Absent on a drive without `ftl.map_cache`."),
    key("map_cache.lookups", MAPPING, "pages", "Pages of the map that commands and moves asked for."),
    key("map_cache.hit_ratio", MAPPING, "share", "Share of them that was in memory; `null` without any."),
    key("map_cache.pages_read", MAPPING, "pages", "Pages of the map read from the flash."),
    key("map_cache.pages_read_to_update", MAPPING, "pages", "Those of them that were read to be changed."),
    key("map_cache.changed_entries", MAPPING, "count", "Changes of the map."),
    key("map_cache.checkpoints", MAPPING, "count", "Times that the journal was full and all changed pages were written."),
    key("map_cache.most_pages", MAPPING, "pages", "Most pages of the map in memory at a time."),
    key("map_cache.capacity_pages", MAPPING, "pages", "Pages of the map for which there is space in memory."),
    key("translation", TRANSLATION, "",
        "Translation layer without a page map. Absent on a drive with one. What needs a map is `null` there: wear, \
         collections, modes, saved states."),
    key("translation.kind", TRANSLATION, "", "Name of the translation layer (`ftl.translation`)."),
    key("translation.write_amplification", TRANSLATION, "ratio", "Write amplification of `waf`, given or computed."),
    key("translation.zones", TRANSLATION, "count", "Zones of a drive with zones."),
    key("translation.zone_bytes", TRANSLATION, "bytes", "Addresses from the beginning of a zone to that of the next."),
    key("translation.zone_capacity_bytes", TRANSLATION, "bytes", "Bytes of a zone that can be written."),
    key("translation.full_zones", TRANSLATION, "count", "Full zones at the end."),
    key("translation.empty_zones", TRANSLATION, "count", "Empty zones at the end."),
    key("translation.offline_zones", TRANSLATION, "count", "Zones that are out of service at the end."),
    key("translation.resets", TRANSLATION, "count", "Zones that were reset."),
    key("translation.finishes", TRANSLATION, "count", "Zones that the host made full before they were."),
    key("translation.implicit_closes", TRANSLATION, "count", "Zones that the drive closed to open others."),
    key("translation.refused_commands", TRANSLATION, "commands", "Commands that the zones refused, by their states and limits."),
    key("translation.most_erases", TRANSLATION, "cycles", "Largest erase count of a block."),
    key("translation.commands", TRANSLATION, "commands", "Commands that `replay` played."),
    key("translation.commands_in_file", TRANSLATION, "commands", "Commands in the file of `replay`."),
    key("translation.entries", TRANSLATION, "count", "Entries that `replay` played."),
    key("translation.entries_in_file", TRANSLATION, "count", "Entries in the file of `replay`."),
    key("translation.processing_ns", TRANSLATION, "ns", "Processing time of all operations that `replay` played."),
    key("read_errors", READS, "",
        "Reads of data with errors ([READ_ERRORS.md](READ_ERRORS.md)). Absent on a drive whose reads cannot fail."),
    key("read_errors.media_errors", READS, "commands",
        "Commands that read data which no attempt could correct, or which was lost before."),
    key("read_errors.lost_units", READS, "units",
        "Mapping units that were lost while they were moved, or read to complete a partial write."),
    key("read_errors.codewords", READS, "count", "Codewords read, each counted once however many attempts it took."),
    key("read_errors.lost_codewords", READS, "count", "Codewords that no attempt could correct."),
    key("read_errors.attempts", READS, "", "Reads of the flash, for any reason, by the number of the attempt."),
    key("read_errors.attempts.*.attempt", READS, "count", "Number of the attempt; 1 is the read itself."),
    key("read_errors.attempts.*.reads", READS, "count", "Read operations of the attempt."),
    key("read_errors.attempts.*.failed", READS, "count", "Those of them with a codeword that could not be decoded."),
    key("read_errors.attempts.*.mean_ns", READS, "ns", "Mean time from the queue of the die to the end of decoding."),
    key("read_errors.attempts.*.causes.CAUSE", READS, "ns",
        "Mean time of the attempt that is charged to the cause; from the second attempt on."),
    key("read_errors.by_wear", READS, "", "The same for the blocks of each sixteenth of the rated endurance in effective wear."),
    key("read_errors.by_wear.*.from_cycles", READS, "cycles", "Least effective wear of the class."),
    key("read_errors.by_wear.*.to_cycles", READS, "cycles",
        "Effective wear at which the next class begins; `null`: the last class, which has no end."),
    key("read_errors.by_wear.*.attempts", READS, "", "Reads of the blocks of the class, by the number of the attempt."),
    key("read_errors.by_wear.*.attempts.*.attempt", READS, "count", "Number of the attempt; 1 is the read itself."),
    key("read_errors.by_wear.*.attempts.*.reads", READS, "count", "Read operations of the attempt."),
    key("read_errors.by_wear.*.attempts.*.failed", READS, "count", "Those of them with a codeword that could not be decoded."),
    key("read_errors.by_wear.*.attempts.*.mean_ns", READS, "ns", "Mean time from the queue of the die to the end of decoding."),
];

/// Returns the declared key of the value at `path`; none if no key is declared for it.
pub fn find(path: &[&str]) -> Option<&'static Key> {
    let declared = |path: &[&str]| KEYS.iter().find(|key| covers(key.term.name, path));
    declared(path).or_else(|| match path {
        [section, _, part, ..] if repeats(section, part) => declared(&path[2..]),
        _ => None,
    })
}

/// Returns true if the members of a section have a part with the same keys as the whole run.
fn repeats(section: &str, part: &str) -> bool {
    PARTS.iter().any(|(known, parts)| *known == section && parts.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<&'static str> {
        find(&path.split('.').collect::<Vec<_>>()).map(|key| key.term.name)
    }

    #[test]
    fn parts_of_a_run_have_the_keys_of_the_whole_run() {
        assert_eq!(found("streams.*.latency.read.p99_ns"), Some("latency.OP.p99_ns"));
        assert_eq!(found("streams.*.causes.all.sense"), Some("causes.OP.CAUSE"));
        assert_eq!(found("streams.*.commands.trim"), Some("commands.OP"));
        assert_eq!(found("streams.*.wear.mean"), None);
        assert_eq!(found("jobs.*.latency.read.p99_ns"), None);
    }

    #[test]
    fn a_path_has_one_declaration() {
        for key in KEYS {
            assert_eq!(KEYS.iter().filter(|other| other.term.name == key.term.name).count(), 1, "{}", key.term.name);
        }
        assert_eq!(found("utilisation.die_12"), Some("utilisation.die_N"));
        assert_eq!(found("utilisation.dram_bus_1"), Some("utilisation.dram_bus_N"));
        assert_eq!(found("utilisation.die_x"), None);
        assert_eq!(found("flash.reads.gcc"), None);
    }
}
