//! Tables that a run writes: the columns of each, with type, unit and definition.

use kit::Term;
use serde::Serialize;

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Name of the file in a result folder, or the option that names it.
    pub name: &'static str,
    /// Content in one sentence.
    pub about: &'static str,
    /// Columns, in their order.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Column {
    /// Name, unit and definition. `CAUSE_ns` stands for one column for each cause.
    #[serde(flatten)]
    pub term: Term,
    /// Type in the table that Python reads.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

const fn column(name: &'static str, kind: &'static str, unit: &'static str, definition: &'static str) -> Column {
    Column { term: Term::new(name, unit, definition), kind }
}

/// The tables.
// One row for each column.
#[rustfmt::skip]
pub const FILES: &[File] = &[
    File {
        name: "latency.parquet",
        about: "Histogram of the latencies: one row for each bucket that is not empty.",
        columns: &[
            column("op", "string", "", "Operation: `read`, `write`, `trim` or `flush`."),
            column("low_ns", "u64", "ns", "Shortest latency of the bucket."),
            column("high_ns", "u64", "ns", "Longest latency of the bucket."),
            column("count", "u64", "commands", "Commands in the bucket."),
        ],
    },
    File {
        name: "stream_latency.parquet",
        about: "Histogram of the latencies of each stream, of a workload of several.",
        columns: &[
            column("stream", "string", "", "Name of the stream, as in `streams` of `summary.json`."),
            column("op", "string", "", "Operation: `read`, `write`, `trim` or `flush`."),
            column("low_ns", "u64", "ns", "Shortest latency of the bucket."),
            column("high_ns", "u64", "ns", "Longest latency of the bucket."),
            column("count", "u64", "commands", "Commands in the bucket."),
        ],
    },
    File {
        name: "power.parquet",
        about: "Power of the flash over simulated time, in at most 4,096 rows of equal width; of a drive with a section `[power]`.",
        columns: &[
            column("time_ns", "u64", "ns", "Start of the row, from the start of the measurement."),
            column("mean_w", "f64", "W", "Mean power of the flash alone in the row."),
            column("peak_w", "f64", "W", "Greatest power of the flash alone averaged over a window (`power.window`) of the row."),
            column("temperature_c", "f64", "degrees Celsius", "Temperature of the flash at the end of the row, from at most 4,096 steps of the thermal model; `null` without `[power.thermal]`."),
        ],
    },
    File {
        name: "timeline.parquet",
        about: "Totals over simulated time, in at most 4,096 rows of equal width. Counters and levels are those when \
            the first command \
                of the row completed.",
        columns: &[
            column("time_ns", "u64", "ns", "Start of the row, from the start of the measurement."),
            column("reads", "u64", "commands", "Reads completed in the row."),
            column("writes", "u64", "commands", "Writes completed in the row."),
            column("read_bytes", "u64", "bytes", "Bytes read in the row."),
            column("write_bytes", "u64", "bytes", "Bytes written in the row."),
            column("latency_max_ns", "u64", "ns", "Longest latency of the commands completed in the row."),
            column("units_programmed", "u64", "units", "Mapping units programmed so far, for any reason."),
            column("host_units", "u64", "units", "Mapping units that the host has written so far."),
            column("free_blocks", "u64", "blocks", "Free blocks; `null` where the translation layer keeps no account of them."),
            column("write_queue", "u64", "units", "Units of host writes that wait for a die."),
            column("queue_depth", "f64", "commands", "Mean number of commands in flight, by Little's law: the latencies of \
                the commands completed in the row, divided by its width. A command counts where it completes, so that a row in which \
                slow commands complete has more than were in flight at a time, and the rows before it have fewer."),
        ],
    },
    File {
        name: "--log-commands",
        about: "Log of commands: one row for each measured command; with `--steady-state`, commands of the search included.",
        columns: &[
            column("op", "string", "", "Operation: `read`, `write`, `trim` or `flush`."),
            column("job", "u64", "", "Number of the job, from 0."),
            column("offset", "u64", "bytes", "First byte of the command."),
            column("length", "u64", "bytes", "Length of the command."),
            column("submitted_ns", "u64", "ns", "Instant of submission, on the drive's clock."),
            column("completed_ns", "u64", "ns", "Instant of completion, on the drive's clock."),
            column("CAUSE_ns", "u64", "ns", "Time of the command that is charged to the cause; one column for each cause."),
            column("queue", "u64", "", "Number of the command's submission queue, 0 if there is one."),
            column("stream", "u64", "", "Number of the command's stream: of a trace, its place in the list `streams` \
                of `workload.toml`; of a \
                fio job, the number of the job in its file; otherwise 0."),
            column("flags", "u64", "", "Modifiers of the command: 1 for a write with FUA; of an action on zones, \
                its code times 16, and 2 if it is for all of them."),
            column("media_error", "bool", "", "True for a command that read data which could not be corrected, or was \
                lost before \
                ([Reads that fail](../models/read_errors.md))."),
            column("status", "string", "", "`success`, `media_error`, or the reason why a drive with zones refused the command \
                ([Zones](../models/zones.md))."),
            column("request", "u64", "", "Request of the workload that the command belongs to, from 0: of a trace, its \
                number among the requests of the selected streams, trims and flushes included, in the order of time, as \
                `--slice` counts them, the same in each repetition; otherwise its number in its job. A flush and the \
                write that waits for it have the same; a command of the host's own, such as the reset of a zone, has \
                `null`."),
            column("trace_offset", "u64", "bytes", "First byte as the trace records it, in the address space of its stream, \
                before `--layout`, `--address` and widening to sectors of the drive; `null` without a trace."),
            column("stream_name", "string", "", "Label of the command's stream: of a trace, as `--streams` takes it; \
                otherwise the name of the job."),
        ],
    },
    File {
        name: "--timeline",
        about: "Activities of the dies and channels: one row for each slice of the Perfetto trace, as \
            `ssdlab.read_timeline` reads it.",
        columns: &[
            column("track", "string", "", "Die or channel, such as `die 5`."),
            column("name", "string", "", "Activity, such as `program`."),
            column("reason", "string", "", "Of a die, the reason of the operation; of a channel, the die at its other end."),
            column("begin_ns", "u64", "ns", "Start of the activity, on the drive's clock."),
            column("end_ns", "u64", "ns", "End of the activity, on the drive's clock."),
        ],
    },
    File {
        name: "--history",
        about: "Physical history: one row for each completion of a command, and each start and end of a flash \
            operation, sorted within \
                an instant.",
        columns: &[
            column("time_ns", "u64", "ns", "Instant of the event, on the drive's clock."),
            column("event", "string", "", "Event, such as `read completed` or `program started`."),
            column("die", "u64", "", "Die of a flash operation."),
            column("place", "u64", "", "First byte of a host command; first mapping unit of a flash operation."),
            column("mode", "string", "", "Write, erase or read mode of a flash operation."),
            column("reason", "string", "", "Reason of a flash operation."),
            column("job", "u64", "", "Number of the job whose command completed."),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::history::COLUMNS;

    #[test]
    fn the_columns_of_a_history_are_those_that_are_written() {
        let file = FILES.iter().find(|file| file.name == "--history").expect("it is listed");
        let names: Vec<&str> = file.columns.iter().map(|column| column.term.name).collect();
        assert_eq!(names.join(","), COLUMNS);
    }
}
