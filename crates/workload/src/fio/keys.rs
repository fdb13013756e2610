//! The keys of fio's job files, each with what it does here: the only declaration, from which the parser, its messages
//! and the tables of `docs/reference/workloads.md` follow.

/// Standing of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The key affects the requests, as the text says.
    Honoured(&'static str),
    /// The key is read and ignored, for the reason that the text gives.
    Ignored(&'static str),
    /// One of the values, which switch the key off, is read and ignored; any other is refused for the reason.
    Off(&'static [&'static str], &'static str),
    /// The key is refused for the reason.
    Refused(&'static str),
}

/// Key of a job file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in fio.
    pub name: &'static str,
    /// Other names by which fio knows it.
    pub aliases: &'static [&'static str],
    /// True if it needs no value.
    pub is_flag: bool,
    /// Its effect here.
    pub standing: Standing,
    /// Honoured key that a refusal suggests; empty: none.
    pub instead: &'static str,
}

impl Key {
    const fn also(mut self, aliases: &'static [&'static str]) -> Key {
        self.aliases = aliases;
        self
    }

    const fn flag(mut self) -> Key {
        self.is_flag = true;
        self
    }

    const fn instead(mut self, key: &'static str) -> Key {
        self.instead = key;
        self
    }
}

const fn key(name: &'static str, standing: Standing) -> Key {
    Key { name, aliases: &[], is_flag: false, standing, instead: "" }
}

pub(crate) const fn honoured(name: &'static str, about: &'static str) -> Key {
    key(name, Standing::Honoured(about))
}

pub(crate) const fn off(name: &'static str, values: &'static [&'static str], reason: &'static str) -> Key {
    key(name, Standing::Off(values, reason))
}

pub(crate) const fn ignored(name: &'static str, reason: &'static str) -> Key {
    key(name, Standing::Ignored(reason))
}

pub(crate) const fn refused(name: &'static str, reason: &'static str) -> Key {
    key(name, Standing::Refused(reason))
}

/// Keys with a common reason for being ignored.
pub struct Group {
    /// The reason.
    pub why: &'static str,
    /// Names of the keys.
    pub names: &'static [&'static str],
}

/// Keys that affect the requests.
pub const HONOURED: &[Key] = &[
    honoured(
        "rw",
        "`read`, `write`, `randread`, `randwrite`, `rw` (`readwrite`), `randrw`, `trim`, `randtrim`, `trimwrite`, `randtrimwrite`. A suffix \
         of a random job, as in `randread:8`, is the number of requests from one random address to the next; of a sequential job, as in \
         `write:4k` or `read:-8k`, the bytes from the end of a request to the start of the next. `trimwrite` trims each block and then writes it; as in fio, `io_size` and `number_ios` count both as one, and \
         `rate` and `rate_iops` of writes hold both.",
    )
    .also(&["readwrite"]),
    honoured("bs", "Block size, for reads, writes and trims: a multiple of the drive's logical block, 512 or 256 bytes, up to 4g; 4k by default.").also(&["blocksize"]),
    honoured(
        "bssplit",
        "Block sizes with percentages, for reads, writes and trims; takes precedence over `bs`. A size that would cross the region's end is drawn \
         again. With the random map, each aligned address is the start of one request per pass, whatever its size (fio shortens requests that \
         reach a block it has accessed).",
    ),
    honoured(
        "blockalign",
        "Alignment of random addresses, for reads, writes and trims; the smallest block of each by default. As in fio, an alignment other than the smallest block switches the random map off.",
    )
    .also(&["ba"]),
    honoured("iodepth", "Maximum number of requests of the job in flight, flushes included."),
    honoured("numjobs", "Number of clones of the job; each has its own random streams, and the same region, without `offset_increment`."),
    honoured(
        "size",
        "Size of the region, in bytes, percent of the drive or zones (`8z`); the drive beyond `offset` by default. As in fio, a size in percent ends \
         at the drive's end (`offset=50%` with `size=75%` is 50 %) and is rounded down to blocks; a size in bytes must fit. The last block of a \
         sequence is accessed whole, past the region's end, where the drive has room. More than 100 % is refused: fio takes it for a \
         number of bytes near 2^64.",
    ),
    honoured(
        "io_size",
        "Bytes moved, in bytes, zones or percent of `size`, which is the default; fio refuses more than 100 %, which act here as so many bytes. As in fio, the job begins anew, at all its positions and \
         with the same random numbers, where its region or its random map ends; it ends where less than a block is left.",
    )
        .also(&["io_limit"]),
    honoured("number_ios", "Maximum number of reads, writes and trims; with `loops`, as in fio, that many times as many for all loops together."),
    honoured("offset", "First byte of the region, in bytes, zones or percent of the drive; percent are rounded up to a block, or to `offset_align`."),
    honoured("offset_align", "Alignment of offsets in percent; 0, the default: the smallest block."),
    honoured("offset_increment", "Distance of the regions of two clones (`numjobs`), in bytes, zones or percent of the drive; 0 by default."),
    honoured("runtime", "Simulated time after `ramp_time` at which the job submits nothing more; seconds by default.")
        .also(&["timeout"]),
    honoured("time_based", "The job repeats until `runtime`, whatever its size.").flag(),
    honoured(
        "loops",
        "Number of times that the job is repeated. As in fio, a repetition begins where the region or the random map ends, with the same random \
         numbers; `io_size` and `number_ios` count as many times, for all of them together; `runtime` limits them together, and `time_based` \
         takes precedence. A repetition follows without waiting for the commands in flight, for which fio waits.",
    ),
    honoured(
        "ramp_time",
        "Time from the job's start whose commands are left out of the statistics; each job has its own. Counters of the drive (flash, \
         write amplification, utilisation) begin with the first job whose ramp is over.",
    ),
    honoured(
        "rw_sequencer",
        "What the requests between two random ones do, with a suffix of `rw`: `sequential`, the default: each follows the one before; `identical`: \
         it has the same address.",
    ),
    honoured("randrepeat", "1, the default: each pass over the region has the same random numbers; 0: others.").flag(),
    honoured("rwmixread", "Percentage of reads of a mixed job; the later of this line and `rwmixwrite` takes precedence."),
    honoured("rwmixwrite", "Percentage of writes of a mixed job."),
    honoured("random_distribution", "`random`, `zipf:THETA`, `pareto:H`, `normal:DEVIATION`, `zoned:ACCESS/SIZE:...`."),
    honoured(
        "percentage_random",
        "Percentage of random requests of a random job, for reads, writes and trims. Every other request follows the previous one of its \
         operation. As in fio, a pass ends where that one ended at the region's end, and without `io_size`, `loops` or `time_based` the job with it; \
         only random requests count towards the random map.",
    ),
    honoured("norandommap", "Random blocks are drawn independently; without it, each block once per pass.").flag(),
    honoured(
        "fsync",
        "A flush after every N writes of the job, before its next request, as in fio: none follows the last write (`end_fsync`). fio 3.33 repeats \
         it after each read until the next write, and at the start of a repetition. It takes one \
         place of `iodepth`, counts as no request for `number_ios`, and needs no time of `rate_iops`. fio with an asynchronous engine submits nothing \
         until the flush has completed; here the job submits on while it has places. 0: no flushes.",
    ),
    honoured("fdatasync", "The same as `fsync`: a drive does not tell them apart. Where both are due, one flush is submitted."),
    honoured("end_fsync", "A flush after the last request of a job that writes, and of each pass over its region, unless `runtime` ends the job.").flag(),
    honoured("writefua", "Writes are durable when they complete.").flag(),
    honoured("randseed", "Seed of the job's random streams; takes precedence over `--seed`."),
    honoured(
        "rate",
        "Bytes per second, for reads, writes and trims. A direction follows a schedule from the job's start and catches up when it was late. In a \
         mixed job, a direction that is ahead of its schedule gives way to the other, so that the rates override the mix; a direction without a \
         rate is not limited. Before it waits, the job completes its requests in flight.",
    ),
    honoured(
        "rate_iops",
        "The same in requests per second. As in fio 3.33, a request larger than the direction's smallest block counts as several.",
    ),
    honoured(
        "rate_process",
        "`linear`: requests follow the schedule of `rate` or `rate_iops`. `poisson`: each direction's schedule is a Poisson process with the mean of \
         its `rate_iops`, or of its `rate` in blocks of its smallest size.",
    ),
    honoured("io_submit_mode", "`inline`, or `offload`: the job does not complete its requests in flight before it waits for a rate."),
    honoured(
        "thinktime",
        "Pause of the whole job after its requests, which it completes first, whatever `iodepth`; microseconds by default. Flushes need no pause.",
    ),
    honoured("thinktime_blocks", "Number of requests from one pause to the next; 1 by default, and unlimited with `thinktime_iotime`."),
    honoured(
        "thinktime_blocks_type",
        "`complete`: completions are counted, which a job notices, as in fio, when `iodepth` requests are in flight or at a pause. `issue`: \
         submissions are counted.",
    ),
    honoured("thinktime_iotime", "Time from one pause to the next; seconds by default."),
    honoured(
        "flow",
        "Weight of the job in its flow: jobs of one `flow_id` submit requests in proportion to their weights, until they end.",
    ),
    honoured("flow_id", "Number of the flow; 0 by default."),
    honoured(
        "flow_sleep",
        "Time for which a job that is ahead in its flow waits, with nothing in flight, before it looks again; microseconds by default. 0: until \
         another job of the flow has submitted.",
    ),
    honoured("startdelay", "Delay of the job's start, or a range from which it is drawn; seconds by default.")
        .also(&["start_delay"]),
    honoured("wait_for", "The job starts after all clones of the job of this name, which stands above it, have ended."),
    honoured("stonewall", "The job starts after all jobs above it have ended.").flag().also(&["wait_for_previous"]),
    honoured(
        "zonemode",
        "`none`, or `strided`: the job stays within `zonerange` bytes until it has moved `zonesize` bytes, then skips `zoneskip` bytes. Random jobs \
         visit each block of a zone once per pass. As in fio, zones follow one another up to the drive's end, which ends a pass in the zone that it \
         cuts; after the last comes the first. `zbd`: \
         the zones of the drive, which must have some; `zonesize`, if given, must be theirs. On a drive with zones, every job is run as with `zbd`.",
    ),
    honoured("zonesize", "Bytes moved in one zone; needed with `zonemode=strided`, and without effect otherwise."),
    honoured("zonerange", "Size of a zone; `zonesize` by default."),
    honoured("zoneskip", "Bytes between two zones; 0 by default."),
    honoured("filename", "Any one name, such as that of a device, stands for the drive, whatever it is; a list of files is refused."),
];

/// Keys that are ignored, by reason. Of `ioengine`, `sync`, `psync`, `vsync`, `pvsync`, `pvsync2`, `mmap` and `splice`
/// force one request in flight; engines that access no block device are refused.
pub const IGNORED: &[Group] = &[
    Group {
        why: "Concerns the host that fio runs on (its kernel, files, processors and memory), or how fio groups its report",
        names: &[
            "ioengine",
            "direct",
            "group_reporting",
            "name",
            "description",
            "invalidate",
            "thread",
            "gtod_reduce",
            "cpus_allowed",
            "directory",
            "filename_format",
            "unique_filename",
            "lockfile",
            "opendir",
            "openfiles",
            "file_service_type",
            "fallocate",
            "fadvise_hint",
            "overwrite",
            "create_serialize",
            "create_fsync",
            "create_on_open",
            "create_only",
            "allow_file_create",
            "allow_mounted_write",
            "unlink",
            "unlink_each_loop",
            "ioscheduler",
            "clocksource",
            "gtod_cpu",
            "mem",
            "iomem",
            "iomem_align",
            "mem_align",
            "lockmem",
            "hugepage-size",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "cpumask",
            "cpus_allowed_policy",
            "nice",
            "prio",
            "prioclass",
            "thinktime_spin",
            "cgroup",
            "cgroup_weight",
            "cgroup_nodelete",
            "uid",
            "gid",
            "exec_prerun",
            "exec_postrun",
            "hipri",
            "hipri_percentage",
            "fixedbufs",
            "registerfiles",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
            "uncached",
            "force_async",
            "userspace_reap",
            "nowait",
            "cmd_type",
        ],
    },
    Group {
        why: "Concerns fio's reports; what a run writes is chosen by the options of the command",
        names: &[
            "lat_percentiles",
            "new_group",
            "unified_rw_reporting",
            "clat_percentiles",
            "slat_percentiles",
            "percentile_list",
            "significant_figures",
            "stats",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw_measurement",
            "disable_bw",
            "disk_util",
            "bwavgtime",
            "iopsavgtime",
            "per_job_logs",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_window_value",
            "log_entries",
            "log_offset",
            "log_prio",
            "log_issue_time",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
            "block_error_percentiles",
            "unit_base",
            "eta",
            "eta-interval",
            "eta-newline",
            "eta_interval",
            "eta_newline",
            "status-interval",
            "output",
            "output-format",
            "write_iolog",
        ],
    },
    Group {
        why: "Commands carry no data here",
        names: &["zero_buffers", "refill_buffers", "scramble_buffers", "buffer_compress_chunk"],
    },
    Group {
        why: "Every run is repeatable; random numbers come from the simulator's own generator and need no bitmap",
        names: &["allrandrepeat", "use_os_rand", "softrandommap"],
    },
    Group {
        why: "Acts only together with a key, or a value, that is refused",
        names: &[
            "do_verify",
            "verifysort",
            "verifysort_nr",
            "verify_interval",
            "verify_offset",
            "verify_pattern",
            "verify_pattern_interval",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_state_save",
            "verify_write_sequence",
            "verify_header_seed",
            "trim_verify_zero",
            "trim_backlog_batch",
            "replay_no_stall",
            "replay_redirect",
            "replay_scale",
            "replay_align",
            "replay_time_scale",
            "replay_skip",
            "read_iolog_chunked",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
            "exit_what",
            "rate_cycle",
            "latency_window",
            "latency_percentile",
            "steadystate_duration",
            "ss_dur",
            "steadystate_ramp_time",
            "ss_ramp",
            "steadystate_check_interval",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
            "cmdprio_class",
            "cmdprio",
            "rwmixcycle",
            "fdp_pli_select",
            "plid_select",
        ],
    },
    Group {
        why: "No failed command stops a job here",
        names: &["continue_on_error", "ignore_error", "error_dump", "exitall_on_error"],
    },
];

/// Keys that are refused, some of them unless a value switches them off.
pub const REFUSED: &[Key] = &[
    off("verify", &["0", "none"], "commands carry no data here, and the reads of a verification are not generated"),
    off("verify_only", &["0"], "commands carry no data here, and the reads of a verification are not generated"),
    off("verify_state_load", &["0"], "commands carry no data here, and the reads of a verification are not generated"),
    off("experimental_verify", &["0"], "commands carry no data here, and the reads of a verification are not generated"),
    off("buffer_compress_percentage", &["0"], "commands carry no data here, so no drive compresses it"),
    off("dedupe_percentage", &["0"], "commands carry no data here, so no drive finds duplicates"),
    refused("buffer_pattern", "commands carry no data here"),
    off("sync", &["0", "none"], "what O_SYNC sends to a drive depends on the host's kernel: write `writefua=1`, or `fsync=1`")
        .instead("writefua"),
    off("buffered", &["0"], "the host's page cache is not simulated: every request reaches the drive"),
    off("atomic", &["0"], "atomic writes are not modelled"),
    off("readfua", &["0"], "reads with FUA are not modelled"),
    off("write_barrier", &["0"], "barriers are not modelled: `fsync=N` flushes").instead("fsync"),
    refused("sync_file_range", "it acts on the host's page cache, which is not simulated"),
    off("fsync_on_close", &["0"], "a drive has no files to close: `end_fsync=1` flushes at the end").instead("end_fsync"),
    refused("bsrange", "a range of block sizes is not supported: name the sizes").also(&["blocksize_range"]).instead("bssplit"),
    off("bs_unaligned", &["0"], "block sizes are multiples of a sector").also(&["blocksize_unaligned"]).flag(),
    off("bs_is_seq_rand", &["0"], "block sizes belong to operations, not to sequential and random requests"),
    off("nrfiles", &["1"], "a job has one file, the drive: write a section for each region").also(&["nr_files"]),
    refused("filesize", "the drive is the file: `size` and `offset` give the region").instead("size"),
    off("file_append", &["0"], "the drive is the file, and has no end to append to"),
    off("fill_device", &["0"], "a drive does not run full: `size=100%` writes all of it").also(&["fill_fs"]).instead("size"),
    off("pre_read", &["0"], "the reads before the job are not generated: write a job that reads, and `stonewall`"),
    off(
        "random_generator",
        &["tausworthe", "tausworthe64"],
        "lfsr visits each block once, as a job without `norandommap` does here",
    )
    .instead("norandommap"),
    off("iodepth_batch", &["1"], "requests are submitted one at a time, as soon as `iodepth` permits")
        .also(&["iodepth_batch_submit"]),
    off("iodepth_batch_complete", &["0", "1"], "completions are handled one at a time").also(&["iodepth_batch_complete_min"]),
    refused("iodepth_batch_complete_max", "completions are handled one at a time"),
    refused("iodepth_low", "requests are submitted as soon as `iodepth` permits").instead("iodepth"),
    off("serialize_overlap", &["0"], "requests in flight may overlap, as in fio by default"),
    refused("rate_min", "no job is stopped because it is slow"),
    refused("rate_iops_min", "no job is stopped because it is slow"),
    off("rate_ignore_thinktime", &["0"], "`thinktime` counts as time under a rate"),
    off("max_latency", &["0"], "no job is stopped because it is slow"),
    off(
        "latency_target",
        &["0"],
        "the depth is not adapted to a latency: `ssdlab sweep` over jobs with several depths shows the latencies",
    )
    .instead("iodepth"),
    off("latency_run", &["0"], "the depth is not adapted to a latency"),
    off("trim_percentage", &["0"], "reads, writes and trims are not mixed: a synthetic workload has `trim_share`"),
    off("trim_backlog", &["0"], "reads, writes and trims are not mixed: a synthetic workload has `trim_share`"),
    refused("read_iolog", "the log is a workload itself: give it in the place of the job file"),
    // fio sets it whatever its value is.
    refused("exitall", "a job ends by its own limits, not with another"),
    off("cmdprio_percentage", &["0"], "commands have no priorities"),
    refused("cmdprio_bssplit", "commands have no priorities"),
    off("fdp", &["0"], "commands carry no placement identifiers"),
    off("dataplacement", &["none"], "commands carry no placement identifiers"),
    refused("plids", "commands carry no placement identifiers").also(&["fdp_pli"]),
    off("write_mode", &["write"], "only plain writes are generated"),
    refused("steadystate", "the rule of the run is an option of the command: `--steady-state`").also(&["ss"]),
    off("kb_base", &["1024"], "sizes are read with `kb_base=1024`: k is 1024, Ki is 1000"),
    refused("profile", "profiles are not read: write the job's keys"),
    refused("zonecapacity", "the zones of a drive have the capacity that its description gives"),
    off("read_beyond_wp", &["0"], "reads go to the part of a zone that is written"),
    off("max_open_zones", &["0"], "the drive's description limits its open zones: ftl.translation.max_active"),
    off("job_max_open_zones", &["0"], "the drive's description limits its open zones: ftl.translation.max_active"),
    off("ignore_zone_limits", &["0"], "the limits of the drive's zones hold"),
    off("zone_reset_threshold", &["0"], "a zone is reset when it is full and written again"),
    off("zone_reset_frequency", &["0"], "a zone is reset when it is full and written again"),
    refused("include", "the file's name follows a blank: write `include FILE`"),
];

/// Returns the entry of the honoured or refused key `name`, which may be an alias.
fn entry(list: &'static [Key], name: &str) -> Option<&'static Key> {
    list.iter().find(|key| key.name == name || key.aliases.contains(&name))
}

/// Returns the key called `name` or known by this alias.
pub fn find(name: &str) -> Option<Key> {
    let ignored = || {
        let group = IGNORED.iter().find(|group| group.names.contains(&name))?;
        let name = group.names.iter().find(|known| **known == name)?;
        Some(ignored(name, group.why).flag())
    };
    entry(HONOURED, name).copied().or_else(ignored).or_else(|| entry(REFUSED, name).copied())
}

/// Returns the names of all keys, with aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    let of = |list: &'static [Key]| list.iter().flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()));
    of(HONOURED).chain(IGNORED.iter().flat_map(|group| group.names.iter().copied())).chain(of(REFUSED))
}

/// Returns the names of the keys that affect the requests.
pub fn honoured_names() -> impl Iterator<Item = &'static str> {
    HONOURED.iter().map(|key| key.name)
}

/// Returns the tables of all keys, in Markdown.
pub fn reference() -> String {
    let code =
        |names: &mut dyn Iterator<Item = &'static str>| names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let title = |key: &'static Key| code(&mut std::iter::once(key.name).chain(key.aliases.iter().copied()));
    let mut page = String::from("Keys that affect the requests:\n\n| key | what it does here |\n| --- | --- |\n");
    for key in HONOURED {
        let Standing::Honoured(about) = key.standing else { unreachable!("`HONOURED` lists honoured keys") };
        page += &format!("| {} | {about} |\n", title(key));
    }
    page += "\nKeys that are read and ignored, which one remark names together:\n\n| reason | keys |\n| --- | --- |\n";
    for group in IGNORED {
        page += &format!("| {}. | {} |\n", group.why, code(&mut group.names.iter().copied()));
    }
    page += "\nKeys that are refused, with the reason (`--ignore KEY,...` leaves them out):\n\n";
    page += "| key | accepted values | reason |\n| --- | --- | --- |\n";
    for key in REFUSED {
        let (values, reason) = match key.standing {
            Standing::Off(values, reason) => (code(&mut values.iter().copied()), reason),
            Standing::Refused(reason) => (String::from("none"), reason),
            Standing::Honoured(_) | Standing::Ignored(_) => unreachable!("`REFUSED` lists refused keys"),
        };
        page += &format!("| {} | {values} | {reason} |\n", title(key));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once_and_every_suggestion_is_honoured() {
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "a key is listed twice");
        for name in all {
            let key = find(name).expect("a listed name");
            assert!(key.instead.is_empty() || honoured_names().any(|known| known == key.instead), "{name}: {}", key.instead);
        }
    }
}
