//! Keys of the report of a life: the unit and definition of each, declared once.

use crate::definitions::covers;
use crate::summary;
use kit::Term;

/// Every key of a report, in its order.
// One row for each key.
#[rustfmt::skip]
pub const KEYS: &[Term] = &[
    Term::new("schema_version", "", "Version of the format of this document."),
    Term::new("status", "", "`complete`, or `partial` if the run was stopped before the end of the life."),
    Term::new("drive", "", "Name of the drive, as it was given."),
    Term::new("workload", "", "Name of the workload, as it was given."),
    Term::new("policy", "", "Name of the mode policy."),
    Term::new("seed", "", "Seed of all random streams."),
    Term::new("method", "", "`full` or `extrapolate`, as requested."),
    Term::new("until", "", "End of the life, as requested."),
    Term::new("ended_by", "", "The end that came: one of those of `until`, `max_passes`, or `time` after 280 \
        simulated years, the range \
         of the ages of blocks; `null`: stopped."),
    Term::new("wear_limit", "cycles", "Effective wear at which a block is worn out, in nominal erases."),
    Term::new("rated_pe_cycles", "cycles", "Cycles for which the drive's blocks are rated."),
    Term::new("required_retention_ns", "ns", "Retention that `error_rate` requires; `null` with another end."),
    Term::new("blocks", "blocks", "Blocks of the drive."),
    Term::new("cycles_mean", "cycles", "Mean number of erases of a block at the end, those before the run included."),
    Term::new("cycles_min", "cycles", "Smallest number of erases of a block at the end; of a full run only."),
    Term::new("cycles_max", "cycles", "Largest number of erases of a block at the end; of a full run only."),
    Term::new("effective_wear_mean", "cycles", "Mean effective wear of a block at the end, in nominal erases."),
    Term::new("effective_wear_min", "cycles", "Smallest effective wear of a block at the end; of a full run only."),
    Term::new("effective_wear_max", "cycles", "Largest effective wear of a block at the end; of a full run only."),
    Term::new("max_pe_ratio", "ratio", "`cycles_mean` divided by `wear_limit`: the normalised MAX_P/E of the autoFTL \
        paper, where the \
         erases of its baseline are nominal."),
    Term::new("wear_per_erase", "cycles", "Mean effective wear of an erase, in nominal erases."),
    Term::new("host_bytes_written", "bytes", "Bytes that the host wrote in the run."),
    Term::new("drive_writes", "ratio", "`host_bytes_written` divided by the user capacity."),
    Term::new("passes", "count", "Passes begun, including those of an extrapolation in which nothing was measured."),
    Term::new("years_at_workload_rate", "years", "Time in which the workload writes these bytes, idle times included, \
        at the rate of \
         its replay, so that `--time-scale 100` gives a hundredth. A year has 365.25 days."),
    Term::new("simulated_ns", "ns", "The same time in nanoseconds."),
    Term::new("wall_s", "s", "Wall-clock time of the run."),
    Term::new("retired_blocks", "blocks", "Blocks that were retired because they were worn out; of a full run only."),
    Term::new("worn_out_die", "", "Number of the die that could spare no more blocks; `null` if every die could."),
    Term::new("write_bytes_per_s", "bytes/s", "Bytes that the host wrote over `simulated_ns`."),
    Term::new("write_amplification", "ratio", "Mapping units programmed, padding included, for each unit that the \
        host wrote, over \
         the whole life."),
    Term::new("write_amplification_bytes", "ratio", "Bytes programmed, padding included, for each byte that the host \
        wrote, over the whole life."),
    Term::new("write_latency_mean_ns", "ns", "Mean latency of a write over the whole life."),
    Term::new("erases", "count", "Erases over the whole life, without lazy erases."),
    Term::new("lazy_erases", "count", "Lazy erases over the whole life."),
    Term::new("erase_modes.MODE", "count", "Erases in the erase mode."),
    Term::new("write_modes.MODE", "units", "Mapping units programmed in the write mode, without padding."),
    Term::new("intervals", "", "The intervals of wear, one after the other."),
    Term::new("intervals.*.effective_wear_from", "cycles", "Mean effective wear at which the interval begins."),
    Term::new("intervals.*.effective_wear_to", "cycles", "Mean effective wear at which the interval ends."),
    Term::new("intervals.*.cycles", "cycles", "Mean number of erases of a block in the interval."),
    Term::new("intervals.*.wear_per_erase", "cycles", "Mean effective wear of an erase in the interval."),
    Term::new("intervals.*.host_bytes_written", "bytes", "Bytes that the host wrote in the interval."),
    Term::new("intervals.*.write_amplification", "ratio", "Write amplification in the interval."),
    Term::new("intervals.*.write_amplification_bytes", "ratio", "The same by bytes."),
    Term::new("intervals.*.write_latency_mean_ns", "ns", "Mean latency of a write in the interval."),
    Term::new("intervals.*.years", "years", "Length of the interval at the rate of the workload."),
    Term::new("intervals.*.erases", "count", "Erases in the interval, without lazy erases."),
    Term::new("intervals.*.lazy_erases", "count", "Lazy erases in the interval."),
    Term::new("intervals.*.erase_modes.MODE", "count", "Erases in the erase mode in the interval."),
    Term::new("intervals.*.passes_measured", "count", "Passes of the round that counts; `null` of a full run."),
    Term::new("intervals.*.rounds", "count", "Rounds that were measured; `null` of a full run."),
    Term::new("intervals.*.steady", "", "True if the last two rounds agreed; `null` of a full run."),
    Term::new("pass_rows", "", "The passes of a full run, in at most 1,024 rows: beyond that, a row covers 2, 4 and so on."),
    Term::new("pass_rows.*.passes", "count", "Passes that the row covers."),
    Term::new("pass_rows.*.effective_wear_mean", "cycles", "Mean effective wear of a block after them."),
    Term::new("pass_rows.*.host_bytes_written", "bytes", "Bytes that the host wrote in them."),
    Term::new("pass_rows.*.erases", "count", "Erases in them."),
    Term::new("pass_rows.*.wear_per_erase", "cycles", "Mean effective wear of an erase in them."),
    Term::new("pass_rows.*.write_amplification", "ratio", "Write amplification in them."),
    Term::new("pass_rows.*.write_latency_mean_ns", "ns", "Mean latency of a write in them."),
    Term::new("pass_rows.*.simulated_ns", "ns", "Simulated time of them."),
    Term::new("starting_state", "", "State in which the life began; its keys are those of `starting_state` in `summary.json`."),
];

/// Returns the declared key of the value at `path`; none if no key is declared for it.
pub fn find(path: &[&str]) -> Option<&'static Term> {
    let own = KEYS.iter().find(|term| covers(term.name, path));
    own.or_else(|| (path[0] == "starting_state").then(|| summary::keys::find(path)).flatten().map(|key| &key.term))
}
