//! fio job files: each key's meaning, what is refused, and how the requests behave.

use kit::{Nanos, Op, Problems};
use proptest::prelude::*;
use workload::fio::keys::{self, Standing};
use workload::{Input, Job, Options, Pacing, Request, Workload, fio};

const MIB: u64 = 1 << 20;

fn open(text: &str) -> Workload {
    fio::open("job.fio", text, 64 * MIB, 1).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> Problems {
    fio::open("job.fio", text, 64 * MIB, 1).err().unwrap_or_else(|| panic!("accepted: {text}"))
}

fn only(text: &str) -> Job {
    let mut workload = open(text);
    assert_eq!(workload.jobs.len(), 1);
    workload.jobs.remove(0)
}

fn take(job: &mut Job, count: usize) -> Vec<Request> {
    let mut out = Vec::new();
    job.source.fill(&mut out, count).expect("generated");
    out
}

fn offsets(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|r| r.offset.0).collect()
}

#[test]
fn defaults_are_those_of_fio() {
    let mut job = only("[job]\n");
    assert_eq!((job.name.as_str(), job.pacing, job.wave), ("job", Pacing::Closed { depth: 1 }, 0));
    assert_eq!(job.limits.bytes, Some(64 * MIB));
    let requests = take(&mut job, 100_000);
    assert_eq!(requests.len(), 16_384, "the stream ends when size is moved");
    assert!(requests.iter().enumerate().all(|(i, r)| r.op == Op::Read && r.offset.0 == i as u64 * 4096 && r.length.0 == 4096));
}

#[test]
fn every_refused_key_is_in_one_message_with_line_and_nearest_name() {
    let text = "[global]\nverify=crc32c\niodpeth=4\n[a]\nbuffer_pattern=1\nbsrange=1k-4k\nbs=5\nrw=randraed\nsize\n\
        include other.fio\n[b]\nrunntime=3\nsync=dsync\n";
    let message = refused(text).to_string();
    for part in [
        "job.fio:2: fio key `verify` is refused: commands carry no data here",
        "(expected: verify=0 or none)",
        "job.fio:3: fio key `iodpeth` is refused: it is not known here",
        "did you mean `iodepth`?",
        "job.fio:5: fio key `buffer_pattern`",
        "job.fio:6: fio key `bsrange`",
        "did you mean `bssplit`?",
        "job.fio:7: bs: `5` is 5 bytes",
        "job.fio:8: unknown value of rw `randraed`",
        "did you mean `randread`?",
        "job.fio:9: `size` has no value: expected `size=VALUE`",
        "job.fio:10: include: `other.fio` cannot be read",
        "job.fio:12: fio key `runntime`",
        "did you mean `runtime`?",
        "job.fio:13: fio key `sync`",
        "did you mean `writefua`?",
        "honoured: rw, bs,",
        "`--ignore KEY,...` leaves keys out",
    ] {
        assert!(message.contains(part), "`{part}` missing in:\n{message}");
    }
}

#[test]
fn ignored_keys_are_named_in_one_note() {
    let workload = open(
        "[global]\nioengine=libaio\ndirect=1\nfilename=/dev/sdx\ngroup_reporting\nthread\ninvalidate=1\n[j]\ncpus_allowed=0-3\n",
    );
    assert_eq!(
        workload.notes,
        ["job.fio: read and ignored: ioengine, direct, group_reporting, invalidate, thread, cpus_allowed"]
    );
    let unknown = refused("[j]\nioengine=libaoi\n").to_string();
    assert!(unknown.contains("did you mean `libaio`?"), "{unknown}");
}

#[test]
fn every_key_of_the_table_stands_as_the_table_says() {
    for name in keys::names() {
        let key = keys::find(name).expect("a listed name");
        let with = |value: &str| fio::open("job.fio", &format!("[j]\n{name}={value}\n"), 64 * MIB, 1);
        match key.standing {
            Standing::Honoured(_) => {
                let problems = with("?").err().map_or_else(String::new, |problems| problems.to_string());
                assert!(!problems.contains("is refused: it is not known"), "{name}: {problems}");
            }
            Standing::Ignored(_) => {
                let value = if name == "ioengine" { "libaio" } else { "1" };
                let workload = with(value).unwrap_or_else(|problems| panic!("{name}: {problems}"));
                assert_eq!(workload.notes, [format!("job.fio: read and ignored: {name}")]);
            }
            Standing::Off(values, reason) => {
                for value in values {
                    let workload = with(value).unwrap_or_else(|problems| panic!("{name}={value}: {problems}"));
                    assert_eq!(workload.notes, [format!("job.fio: read and ignored: {}", key.name)]);
                }
                let problems = with("x").err().unwrap_or_else(|| panic!("{name}=x was accepted")).to_string();
                assert!(problems.contains(&format!("job.fio:2: fio key `{name}` is refused: {reason}")), "{problems}");
            }
            Standing::Refused(reason) => {
                let problems = with("1").err().unwrap_or_else(|| panic!("{name} was accepted")).to_string();
                assert!(problems.contains(&format!("job.fio:2: fio key `{name}` is refused: {reason}")), "{problems}");
            }
        }
    }
}

#[test]
fn keys_of_reports_and_hosts_are_named_in_one_remark() {
    let text = "[global]\nname=x\nthread\nhipri\nlog_avg_msec=1000\nwrite_lat_log=a\nwrite_bw_log=a\nwrite_iops_log=a\n\
        percentile_list=99:99.9\nlat_percentiles=1\nunified_rw_reporting=1\neta=always\nverify=0\nsync=0\nloops=1\n\
        [j]\nrw=randwrite\nrefill_buffers\nrandrepeat=0\ngroup_reporting\n";
    let workload = open(text);
    assert_eq!(workload.notes.len(), 1, "{:?}", workload.notes);
    assert!(workload.notes[0].starts_with("job.fio: read and ignored: group_reporting, name, thread, hipri,"));
    assert_eq!(workload.notes[0].matches(", ").count() + 1, 15, "{:?}", workload.notes);
}

#[test]
fn ignored_by_option() {
    let text = "[j]\nrw=write\nverify=crc32c\ndo_the_twist=1\nrate_iops=10\nblocksize=8k\n";
    let without = |keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        fio::open_without("job.fio", text, 64 * MIB, 1, &keys)
    };
    let workload = without(&["verify", "do_the_twist", "rate_iops", "bs"]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(workload.notes, ["job.fio: left out, as --ignore says: verify, do_the_twist, rate_iops, blocksize"]);
    assert!(workload.jobs[0].rates.is_none());
    assert!(workload.resolved.contains("size = \"4KiB\""), "{}", workload.resolved);
    assert!(without(&["verify", "do_the_twist", "write_lat_log"]).is_ok(), "a key that does not occur may be named");
    let problems = without(&["verify", "do_the_twist", "veriffy"]).err().expect("misspelt").to_string();
    assert!(problems.contains("ignore: `veriffy` is no key of fio") && problems.contains("did you mean `verify`?"), "{problems}");
    let options = Options { ignore: vec!["sync".into()], ..Options::default() };
    let refused = workload::open(&Input::text("t.csv", "0 0 8 16 1\n"), 1 << 30, &options).err().expect("a trace");
    assert!(refused.to_string().contains("ignore: applies to fio job files and XML profiles only"), "{refused}");
}

/// Returns the operations as letters.
fn letters(requests: &[Request]) -> String {
    requests.iter().map(|r| ["r", "w", "t", "f"][r.op as usize]).collect()
}

#[test]
fn flushes_follow_every_n_writes_but_not_the_last() {
    let take_all = |text: &str| take(&mut only(text), 10_000);
    assert_eq!(letters(&take_all("[j]\nrw=write\nnumber_ios=6\nfsync=2\n")), "wwfwwfww");
    assert_eq!(letters(&take_all("[j]\nrw=write\nnumber_ios=6\nfdatasync=2\nend_fsync=1\n")), "wwfwwfwwf");
    assert_eq!(
        letters(&take_all("[j]\nrw=write\nnumber_ios=6\nfsync=2\nfdatasync=3\n")),
        "wwfwfwfww",
        "one flush where both are due"
    );
    assert_eq!(letters(&take_all("[j]\nrw=write\nsize=12k\nend_fsync\n")), "wwwf");
    assert_eq!(letters(&take_all("[j]\nrw=write\nnumber_ios=2\nfsync=0\n")), "ww");
    let mixed = letters(&take_all("[j]\nrw=randrw\nnumber_ios=1000\nfsync=3\n"));
    let (writes, flushes) = (mixed.matches('w').count(), mixed.matches('f').count());
    assert!(flushes == writes / 3 || flushes + 1 == writes / 3, "{writes} writes, {flushes} flushes");
    assert!(!mixed.contains("ff"), "reads between two writes flush nothing");
    let reads = open("[j]\nrw=randread\nnumber_ios=9\nfsync=1\nend_fsync=1\n");
    assert!(reads.notes[0].contains("job.fio:4: [j]: fsync has no effect on a job that does not write"), "{:?}", reads.notes);
    assert!(refused("[j]\nfsync=often\n").to_string().contains("job.fio:2: fsync: "));
}

#[test]
fn loops_repeat_the_same_requests() {
    let once = take(&mut only("[j]\nrw=randwrite\nsize=1m\n"), 10_000);
    let thrice = take(&mut only("[j]\nrw=randwrite\nsize=1m\nloops=3\n"), 10_000);
    assert_eq!(thrice, [once.clone(), once.clone(), once].concat());
    let job = only("[j]\nrw=randwrite\nnumber_ios=5\nloops=2\n");
    assert!(job.overwrites_in_passes, "a pass ends where each block was written");
    assert_eq!(job.limits.requests, None);
    assert_eq!(letters(&take(&mut only("[j]\nrw=write\nnumber_ios=3\nloops=2\nfsync=2\n"), 99)), "wwfwwfww", "the count goes on");
    assert!(open("[j]\nloops=2\n").resolved.contains("loops = 2"));
    assert!(open("[j]\nloops=2\ntime_based\nruntime=1\n").notes[0].contains("no effect with time_based"));
    assert!(refused("[j]\nloops=0\n").to_string().contains("job.fio:2: loops: 0 is out of range"));
}

#[test]
fn a_percentage_of_the_requests_is_random() {
    let share = |text: &str, op: Op| {
        let requests = take(&mut only(text), 8000);
        let own: Vec<u64> = requests.iter().filter(|r| r.op == op).map(|r| r.offset.0).collect();
        own.windows(2).filter(|w| w[1] == w[0] + 4096).count() as f64 / own.len() as f64
    };
    let text = "[j]\nrw=randrw\npercentage_random=30,80\nio_size=1g\n";
    assert!((share(text, Op::Read) - 0.7).abs() < 0.03, "{}", share(text, Op::Read));
    assert!((share(text, Op::Write) - 0.2).abs() < 0.03, "{}", share(text, Op::Write));
    let sequential = take(&mut only("[j]\nrw=randread\npercentage_random=0\nsize=1m\nio_size=2m\n"), 9999);
    assert_eq!(offsets(&sequential), offsets(&take(&mut only("[j]\nrw=read\nsize=1m\nio_size=2m\n"), 9999)));
    assert!(refused("[j]\npercentage_random=101\n").to_string().contains("job.fio:2: percentage_random: 101 is out of range"));
}

#[test]
fn poisson_schedules_have_the_mean_of_the_rate() {
    let text = "[j]\nrw=randwrite\nnumber_ios=20000\nio_size=1g\niodepth=4\nrate_process=poisson\n";
    let mut rates = only(&format!("{text}rate_iops=3000\n")).rates.expect("a rate");
    let times: Vec<f64> = (0..20_000)
        .map(|_| {
            rates.issued(Op::Write, 4096);
            rates.due_ns(Op::Write) as f64
        })
        .collect();
    let mean = times[times.len() - 1] / times.len() as f64;
    assert!((mean * 3000.0 / 1e9 - 1.0).abs() < 0.03, "{mean} ns");
    let spread = times.windows(2).map(|w| (w[1] - w[0] - mean).powi(2)).sum::<f64>() / times.len() as f64;
    assert!((spread.sqrt() / mean - 1.0).abs() < 0.05, "the gaps are exponential");
    let by_bytes = open(&format!("{text}rate=4m\nbssplit=4k/50:8k/50\n"));
    assert!(by_bytes.resolved.contains("write = 976562.5"), "{}", by_bytes.resolved);
    assert!(open("[j]\nrate_process=poisson\n").notes[0].contains("no effect without rate or rate_iops"));
    assert!(refused("[j]\nrate_process=pois\n").to_string().contains("job.fio:2: unknown value of rate_process `pois`"));
}

#[test]
fn strided_zones_are_visited_one_after_the_other() {
    let text = "[j]\nsize=1m\noffset=63m\nio_size=96k\nzonemode=strided\nzonesize=16k\nzoneskip=240k\n";
    let start = 63 * MIB;
    let blocks: Vec<u64> =
        offsets(&take(&mut only(&format!("{text}rw=read\n")), 99)).iter().map(|at| (at - start) / 4096).collect();
    assert_eq!(blocks[..8], [0, 1, 2, 3, 64, 65, 66, 67]);
    assert_eq!(blocks[12..], [192, 193, 194, 195, 0, 1, 2, 3, 64, 65, 66, 67], "after the last zone comes the first");
    let random = take(&mut only(&format!("{text}rw=randwrite\nzonerange=32k\n")), 99);
    for (zone, part) in random.chunks(4).enumerate() {
        let mut found: Vec<u64> = part.iter().map(|r| (r.offset.0 - start) / 4096).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), 4, "each block once");
        let first = [0, 68, 136, 204, 0, 68][zone];
        assert!(found.iter().all(|block| (first..first + 8).contains(block)), "{zone}: {found:?}");
    }
    for (bad, place, part) in [
        ("zonemode=strided", 2, "expected a zonesize above 0"),
        ("zonemode=zbd", 2, "the drive has no zones: expected a drive with zones"),
        ("zonemode=strided\nzonesize=1k", 3, "a zone of 1024 bytes"),
        ("zonemode=strided\nzonesize=128m", 3, "up to the region"),
        ("zonemode=strided\nzonesize=1m\nrw=randread\nrandom_distribution=zipf", 5, "draws uniformly"),
        ("zoneskip=100", 2, "expected a multiple of 256"),
    ] {
        let problems = refused(&format!("[j]\n{bad}\n")).to_string();
        assert!(problems.contains(&format!("job.fio:{place}: ")) && problems.contains(part), "{bad}: {problems}");
    }
    assert!(open("[j]\nzonemode=none\n").notes.is_empty());
}

#[test]
fn the_page_of_workloads_has_the_table_of_keys() {
    const MARKS: [&str; 2] = ["<!-- keys of fio: made by a test -->\n", "<!-- end of the keys of fio -->\n"];
    let path = format!("{}/../../docs/reference/workloads.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    let (before, rest) = page.split_once(MARKS[0]).expect("the page has the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the page has the second mark");
    let made = format!("{before}{}\n{}\n{}{after}", MARKS[0], keys::reference(), MARKS[1]);
    // The page has parts of several tests, which may run at the same time.
    if std::env::var_os("SSDLAB_BLESS").is_some() && page != made {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    assert!(page == made, "docs/reference/workloads.md is out of date: SSDLAB_BLESS=1 cargo test -p workload page_of_workloads");
}

#[test]
fn every_rw_value_has_its_operations() {
    let cases = [
        ("read", vec![Op::Read]),
        ("write", vec![Op::Write]),
        ("randread", vec![Op::Read]),
        ("randwrite", vec![Op::Write]),
        ("trim", vec![Op::Trim]),
        ("randtrim", vec![Op::Trim]),
        ("rw", vec![Op::Read, Op::Write]),
        ("readwrite", vec![Op::Read, Op::Write]),
        ("randrw", vec![Op::Read, Op::Write]),
    ];
    for (value, ops) in cases {
        let requests = take(&mut only(&format!("[j]\nrw={value}\n")), 1000);
        let mut seen: Vec<Op> = requests.iter().map(|r| r.op).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ops, "{value}");
        let sequential = requests.windows(2).filter(|w| w[1].offset.0 == w[0].offset.0 + 4096).count();
        assert_eq!(sequential < 100, value.starts_with("rand") || value == "rw" && sequential < 100, "{value}");
    }
}

#[test]
fn a_suffix_of_rw_spaces_requests() {
    let blocks =
        |text: &str| offsets(&take(&mut only(&format!("[j]\n{text}\n")), 99)).iter().map(|at| at / 4096).collect::<Vec<_>>();
    assert_eq!(blocks("rw=write:8k\nsize=64k\nio_size=40k"), [0, 3, 6, 9, 12, 15, 0, 3, 6, 9]);
    assert_eq!(blocks("rw=read:-8k\nsize=64k"), [0, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(blocks("rw=read:-8k\nsize=64k\noffset=64k")[..4], [16, 30, 29, 28]);
    assert_eq!(blocks("rw=read:-4k\nsize=64k\noffset=65472k"), [16383], "no step leads back from the drive's end");
    let every = blocks("rw=randread:4\nsize=4m\nnumber_ios=40");
    assert!(every.chunks(4).all(|part| part.windows(2).all(|two| two[1] == two[0] + 1)), "{every:?}");
    let same = blocks("rw=randrw:4\nrwmixread=100\nrw_sequencer=identical\nsize=4m\nnumber_ios=40");
    assert!(same.chunks(4).all(|part| part.iter().all(|block| *block == part[0])), "{same:?}");
    let resolved = open("[j]\nrw=randread:8\nrw_sequencer=identical\n").resolved;
    assert!(resolved.contains("random_every = 8\nrw_sequencer = \"identical\""), "{resolved}");
    for (bad, part) in [
        ("randread:8k", "rw: suffix of `randread:8k`: `8k`: expected a number of requests"),
        ("randread:0", "expected a number of requests of 1 or more"),
        ("read:100", "100 bytes: expected a multiple of 256"),
        ("rend:8", "unknown value of rw `rend`"),
    ] {
        let message = refused(&format!("[j]\nrw={bad}\n")).to_string();
        assert!(message.contains(part), "{message}");
    }
    assert!(open("[j]\nrw=randread\nrw_sequencer=identical\n").notes[0].contains("no effect without a suffix"));
}

#[test]
fn engines_that_access_no_drive_are_refused_with_the_reason() {
    for (engine, part) in
        [("cpuio", "it uses the processor"), ("http", "a service over a network"), ("filestat", "a file system")]
    {
        let message = refused(&format!("[j]\nioengine={engine}\n")).to_string();
        assert!(
            message.contains(&format!("job.fio:2: ioengine: `{engine}` is refused: {part}")) || message.contains(part),
            "{message}"
        );
    }
    assert_eq!(only("[j]\nioengine=mmap\niodepth=8\n").pacing, Pacing::Closed { depth: 1 });
    assert_eq!(only("[j]\nioengine=sg\niodepth=8\n").pacing, Pacing::Closed { depth: 8 });
}

#[test]
fn a_region_of_no_whole_number_of_blocks_ends_as_in_fio() {
    let blocks =
        |text: &str| offsets(&take(&mut only(&format!("[j]\n{text}\n")), 99)).iter().map(|at| at / 4096).collect::<Vec<_>>();
    assert_eq!(blocks("size=10000"), [0, 1, 2], "the last block is accessed whole");
    assert_eq!(blocks("size=10000\nio_size=20000"), [0, 1, 2, 0, 1]);
    assert_eq!(blocks("rw=randread\nsize=10000").len(), 2);
    assert_eq!(blocks("rw=randread\nsize=10000\nio_size=20000").len(), 4);
    assert_eq!(blocks("rw=randread\nsize=10000\nnorandommap").len(), 3);
    assert_eq!(blocks("rw=randread\nsize=16k\nbs=4k\nblockalign=4k\n").len(), 4);
    assert_eq!(blocks(&format!("offset={}\n", 64 * MIB - 8192 - 512)), [16381, 16382], "nothing past the drive's end");
    assert_eq!(blocks("size=64k\nloops=2\nio_size=32k").len(), 16, "the bytes of both loops");
    assert!(refused("[j]\nsize=4k\nio_size=50%\n").to_string().contains("expected at least the smallest block"));
    assert!(refused("[j]\nsize=101%\n").to_string().contains("size: 101 %: expected 1..=100 %"));
}

#[test]
fn each_pass_of_a_job_ends_with_its_flush() {
    let all = letters(&take(&mut only("[j]\nrw=write\nsize=12k\nloops=3\nend_fsync=1\n"), 99));
    assert_eq!(all, "wwwfwwwfwwwf");
    assert_eq!(letters(&take(&mut only("[j]\nrw=write\nsize=16k\nio_size=32k\nfsync=4\nend_fsync\n"), 99)), "wwwwffwwwwf");
}

#[test]
fn mixed_sequential_keeps_a_position_per_direction() {
    let requests = take(&mut only("[j]\nrw=rw\nrwmixread=30\n"), 8000);
    for op in [Op::Read, Op::Write] {
        let own: Vec<u64> = requests.iter().filter(|r| r.op == op).map(|r| r.offset.0).collect();
        assert!(own.iter().enumerate().all(|(i, &offset)| offset == i as u64 * 4096), "{op:?}");
    }
    let reads = requests.iter().filter(|r| r.op == Op::Read).count();
    assert!((2250..2550).contains(&reads), "{reads} of 8000 reads; 30 % expected");
}

#[test]
fn a_random_pass_touches_each_block_once() {
    for (rw, bytes) in [("randread", 4096u64), ("randrw", 8192)] {
        let text = format!("[j]\nrw={rw}\nbs={bytes}\nsize=12m\noffset=8m\nio_size=36m\n");
        let requests = take(&mut only(&text), 1_000_000);
        let blocks = (12 * MIB / bytes) as usize;
        assert_eq!(requests.len(), 3 * blocks);
        let passes: Vec<Vec<u64>> = requests.chunks(blocks).map(offsets).collect();
        for pass in &passes {
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(i, &offset)| offset == 8 * MIB + i as u64 * bytes), "each block once");
        }
        assert!(passes[0] == passes[1] && passes[1] == passes[2], "the same order, as in fio");
        let others = take(&mut only(&format!("{text}randrepeat=0\n")), 1_000_000);
        let passes: Vec<Vec<u64>> = others.chunks(blocks).map(offsets).collect();
        assert!(passes[0] != passes[1] && passes[1] != passes[2], "a fresh order for each pass");
    }
}

#[test]
fn norandommap_draws_independently() {
    let requests = take(&mut only("[j]\nrw=randwrite\nnorandommap=1\n"), 16_384);
    let mut blocks = offsets(&requests);
    blocks.sort_unstable();
    blocks.dedup();
    let share = blocks.len() as f64 / 16_384.0;
    assert!((share - 0.632).abs() < 0.015, "1 - 1/e of the blocks expected, found {share}");
}

#[test]
fn io_size_beyond_size_wraps_and_below_it_stops() {
    let around = offsets(&take(&mut only("[j]\nsize=1m\nio_size=2560k\nbs=256k\n"), 100));
    assert_eq!(around, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1].map(|block| block * 256 * 1024));
    assert_eq!(take(&mut only("[j]\nsize=1m\nio_size=512k\nbs=256k\n"), 100).len(), 2);
    assert_eq!(take(&mut only("[j]\nsize=1m\nio_size=300%\nbs=256k\n"), 100).len(), 12);
    assert_eq!(take(&mut only("[j]\nsize=1m\nnumber_ios=3\n"), 100).len(), 3);
}

#[test]
fn regions_in_percent_and_bytes() {
    let requests = take(&mut only("[j]\noffset=25%\nsize=50%\nbs=1m\n"), 100);
    assert_eq!((requests.len(), requests[0].offset.0), (32, 16 * MIB));
    assert_eq!(take(&mut only("[j]\noffset=48m\nbs=1m\n"), 100).len(), 16, "without size, all beyond the offset");
    let message = refused("[j]\noffset=32m\nsize=48m\n[k]\nsize=65m\n[l]\noffset=64m\n").to_string();
    assert!(
        message.contains("job.fio:3: [j]: offset 33554432 + size 50331648 bytes do not fit the drive's 67108864 bytes"),
        "{message}"
    );
    assert!(message.contains("[k]") && message.contains("[l]"), "{message}");
    assert!(refused("[j]\nbs=1m\nsize=512k\n").to_string().contains("does not hold one block"));
}

#[test]
fn block_sizes_by_direction_and_split() {
    let requests = take(&mut only("[j]\nrw=randrw\nbs=4k,16k\n"), 5000);
    let is_right = |r: &Request| {
        let block = if r.op == Op::Read { 4096 } else { 16_384 };
        r.length.0 == block && r.offset.0.is_multiple_of(block)
    };
    assert!(requests.iter().all(is_right), "each operation is aligned to its own block");
    let requests = take(&mut only("[j]\nrw=randread\nbssplit=4k/10:64k/50:32k/\nnorandommap\nio_size=4g\n"), 20_000);
    for (bytes, share) in [(4096u64, 0.1), (65_536, 0.5), (32_768, 0.4)] {
        let found = requests.iter().filter(|r| r.length.0 == bytes).count() as f64 / requests.len() as f64;
        assert!((found - share).abs() < 0.015, "{bytes}: {found}");
    }
    assert!(requests.iter().all(|r| r.offset.0 % 4096 == 0 && r.offset.0 + r.length.0 <= 64 * MIB));
    let requests = take(&mut only("[j]\nrw=randrw\nrwmixwrite=75\nbssplit=2k/50:4k/50,4k/90:8k/10\nio_size=4g\n"), 20_000);
    let writes: Vec<_> = requests.iter().filter(|r| r.op == Op::Write).collect();
    assert!((14_600..15_400).contains(&writes.len()));
    assert!(writes.iter().all(|r| r.length.0 >= 4096 && r.offset.0 % 4096 == 0));
    assert!(refused("[j]\nbssplit=4k/60:8k/60\n").to_string().contains("add up to 120"));
}

#[test]
fn the_later_mix_key_wins() {
    let reads = |text: &str| take(&mut only(text), 4000).iter().filter(|r| r.op == Op::Read).count();
    assert!((700..900).contains(&reads("[j]\nrw=randrw\nrwmixread=70\nrwmixwrite=80\n")));
    assert!((2700..2900).contains(&reads("[j]\nrw=randrw\nrwmixwrite=80\nrwmixread=70\n")));
    assert_eq!(reads("[j]\nrw=randrw\nrwmixread=100\n"), 4000);
    assert!(refused("[j]\nrwmixread=150\n").to_string().contains("150 is out of range: expected 0..=100"));
}

/// Returns the share of the accesses that go to the most popular `top` of `blocks` blocks.
fn top_share(requests: &[Request], blocks: usize, top: usize) -> f64 {
    let mut hits = vec![0u64; blocks];
    requests.iter().for_each(|r| hits[(r.offset.0 / 4096) as usize] += 1);
    hits.sort_unstable_by(|a, b| b.cmp(a));
    hits[..top].iter().sum::<u64>() as f64 / requests.len() as f64
}

#[test]
fn zipf_and_pareto_shares_match_theory() {
    let sample = |distribution: &str| {
        let text = format!("[j]\nrw=randread\nsize=16m\nio_size=4g\nrandom_distribution={distribution}\n");
        take(&mut only(&text), 400_000)
    };
    for theta in [0.8f64, 1.2] {
        let norm: f64 = (1..=4096).map(|k| f64::from(k).powf(-theta)).sum();
        let expected = (1..=40).map(|k| f64::from(k).powf(-theta)).sum::<f64>() / norm;
        let found = top_share(&sample(&format!("zipf:{theta}")), 4096, 40);
        assert!((found - expected).abs() < 0.01, "zipf {theta}: {found} against {expected}");
    }
    for h in [0.2f64, 0.1] {
        let found = top_share(&sample(&format!("pareto:{h}")), 4096, (4096.0 * h) as usize);
        assert!((found - (1.0 - h)).abs() < 0.012, "pareto {h}: {found}");
    }
}

#[test]
fn normal_and_zoned_lie_where_they_should() {
    let sample = |distribution: &str| {
        let text = format!("[j]\nrw=randread\nio_size=4g\nrandom_distribution={distribution}\n");
        take(&mut only(&text), 100_000)
    };
    let near = |requests: &[Request], low: f64, high: f64| {
        let inside = |r: &&Request| (low..high).contains(&(r.offset.0 as f64 / (64 * MIB) as f64));
        requests.iter().filter(inside).count() as f64 / requests.len() as f64
    };
    let normal = sample("normal:10");
    assert!((near(&normal, 0.4, 0.6) - 0.6827).abs() < 0.01);
    assert!((near(&normal, 0.3, 0.7) - 0.9545).abs() < 0.01);
    let zoned = sample("zoned:60/10:30/20:8/30:2/40");
    for (low, high, share) in [(0.0, 0.1, 0.6), (0.1, 0.3, 0.3), (0.3, 0.6, 0.08), (0.6, 1.0, 0.02)] {
        assert!((near(&zoned, low, high) - share).abs() < 0.01, "{low}..{high}");
    }
    for bad in
        ["zipf:0", "zipf:1.2:0.5", "pareto:1", "normal", "zoned:60/10:30/20", "zoned_abs:60/1g", "gauss:3", "zoned:100/100:0/0"]
    {
        assert!(
            refused(&format!("[j]\nrw=randread\nrandom_distribution={bad}\n")).to_string().contains("random_distribution"),
            "{bad}"
        );
    }
}

#[test]
fn times_and_limits() {
    let job = only("[j]\nruntime=10\nramp_time=500ms\ntime_based\nthinktime=7\nstartdelay=2\nsize=1m\nio_size=2m\n");
    assert_eq!(job.limits.runtime, Some(Nanos(10_500_000_000)), "the ramp comes on top of the runtime");
    assert_eq!((job.limits.bytes, job.limits.requests), (None, None), "time_based repeats until the runtime ends");
    assert_eq!((job.ramp_time, job.start_delay), (Nanos(500_000_000), Nanos(2_000_000_000)));
    let think = job.think.expect("thinktime");
    assert_eq!((think.time, think.blocks, think.every, think.counts_issued), (Nanos(7000), Some(1), None, false));
    let job = only("[j]\nruntime=1m\nnumber_ios=1k\n");
    assert_eq!((job.limits.runtime, job.limits.requests), (Some(Nanos(60_000_000_000)), Some(1024)));
    let job = only("[j]\nstartdelay=1-3\n");
    assert!((1_000_000_000..=3_000_000_000).contains(&job.start_delay.0));
    assert!(refused("[j]\ntime_based\n").to_string().contains("job.fio:2: [j]: time_based without runtime"));
}

#[test]
fn rates_are_schedules_by_direction() {
    let second = |text: &str, op: Op, count: u64, bytes: u64| {
        let mut rates = only(text).rates.unwrap_or_else(|| panic!("{text}"));
        (0..count).for_each(|_| rates.issued(op, bytes));
        rates.due_ns(op)
    };
    assert_eq!(second("[j]\nrate=1m\n", Op::Read, 256, 4096), 1_000_000_000);
    assert_eq!(second("[j]\nrw=write\nrate=1m,2m\n", Op::Write, 512, 4096), 1_000_000_000);
    assert!(only("[j]\nrw=write\nrate=1m,\n").rates.is_none());
    assert_eq!(second("[j]\nrate_iops=3\n", Op::Read, 3, 4096), 1_000_000_000, "without drift");
    assert_eq!(second("[j]\nrate_iops=1k\n", Op::Read, 1024, 4096), 1_000_000_000, "fio's k is 1024 here as well");
    let mixed = "[j]\nrw=randrw\nrwmixread=75\nrate_iops=300,100\n";
    assert_eq!((second(mixed, Op::Read, 300, 4096), second(mixed, Op::Write, 100, 4096)), (1_000_000_000, 1_000_000_000));
    assert!(open("[j]\nrw=randrw\nrate_iops=300,\n").notes[0].contains("rate_iops does not limit writes"));
    assert!(refused("[j]\nrate=1m\nrate_iops=3\n").to_string().contains("exclude each other"));
}

#[test]
fn sizes_in_percent_end_with_the_drive() {
    let region = |text: &str| {
        let mut job = only(text);
        let requests = take(&mut job, 100);
        (requests[0].offset.0 / MIB, requests.len())
    };
    assert_eq!(region("[j]\nbs=1m\noffset=50%\nsize=75%\n"), (32, 32));
    let note = &open("[j]\nbs=1m\noffset=50%\nsize=75%\n").notes[0];
    assert!(note.contains("job.fio:4: [j]: 75 % of the drive from byte 33554432 end past its end"), "{note}");
}

#[test]
fn clones_have_regions_of_their_own() {
    let mut workload = open("[j]\nbs=1m\nsize=8m\noffset=1m\noffset_increment=25%\noffset_align=2m\nnumjobs=3\n");
    let starts: Vec<u64> = workload.jobs.iter_mut().map(|job| take(job, 1)[0].offset.0 / MIB).collect();
    assert_eq!(starts, [2, 18, 34]);
    let refused = refused("[j]\nsize=32m\noffset_increment=20m\nnumjobs=3\n").to_string();
    assert!(refused.contains("of clone 2 do not fit"), "{refused}");
}

#[test]
fn trims_and_writes_alternate() {
    let requests = take(&mut only("[j]\nrw=trimwrite\nsize=1m\nnumber_ios=3\n"), 99);
    assert_eq!((letters(&requests).as_str(), offsets(&requests)), ("twtwtw", vec![0, 0, 4096, 4096, 8192, 8192]));
    let all = take(&mut only("[j]\nrw=randtrimwrite\nsize=1m\n"), 9999);
    assert_eq!(all.len(), 512, "each block once");
    assert!(all.chunks(2).all(|pair| pair[0].op == Op::Trim && pair[1] == Request { op: Op::Write, ..pair[0] }));
    assert!(refused("[j]\nrw=trimwrite\nbs=4k,4k,8k\n").to_string().contains("expected one block size for both"));
}

#[test]
fn blocks_are_aligned_as_asked_for() {
    let text = "[j]\nrw=randread\nbssplit=512/50:16k/50\nba=4k\nsize=1m\nio_size=64m\n";
    let requests = take(&mut only(text), 20_000);
    assert!(requests.iter().all(|r| r.offset.0 % 4096 == 0 && [512, 16_384].contains(&r.length.0)));
    assert!(requests.iter().all(|r| r.offset.0 + r.length.0 <= MIB));
    assert!(!only(text).overwrites_in_passes, "blockalign switches the random map off");
}

#[test]
fn jobs_wait_for_a_job_by_name() {
    let workload = open("[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\nwait_for=b\n");
    let waits: Vec<&[u32]> = workload.jobs.iter().map(|job| &job.waits_for[..]).collect();
    assert_eq!(waits, [&[][..], &[], &[0, 1], &[2]]);
    for bad in ["[a]\nwait_for=b\n[b]\n", "[a]\n[a]\n[b]\nwait_for=a\n"] {
        assert!(refused(bad).to_string().contains("expected the name of one job above"), "{bad}");
    }
}

#[test]
fn variables_and_includes_are_put_in() {
    let given = ["BS=8k".to_owned()];
    let with = |text: &str, variables: &[String]| {
        let surroundings = workload::fio::text::Surroundings {
            ignore: &[],
            variables,
            environment: &|name| (name == "DEPTH").then(|| "16".to_owned()),
            include: &|name| match name {
                "more.fio" => Ok("rw=write\ninclude last.fio\n".to_owned()),
                "last.fio" => Ok("number_ios=${DEPTH}\n".to_owned()),
                "itself.fio" => Ok("include itself.fio\n".to_owned()),
                "job.fio" => Ok("[other]\n".to_owned()),
                _ => Err("no such file".to_owned()),
            },
        };
        fio::open_in("job.fio", text, &workload::Target::of(64 * MIB), 1, surroundings)
    };
    let mut workload = with("\u{feff}[j]\nbs=${BS}\niodepth=${DEPTH}\ninclude more.fio\n", &given)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let requests = take(&mut workload.jobs[0], 99);
    assert_eq!((requests.len(), requests[0].op, requests[0].length.0), (16, Op::Write, 8192));
    assert_eq!(workload.jobs[0].pacing, Pacing::Closed { depth: 16 });
    assert_eq!(workload.notes, ["job.fio: from the environment: DEPTH=16"]);
    for (text, part) in [
        ("[j]\nbs=${SIZE}\n", "job.fio:2: variable `SIZE` has no value: expected `--var SIZE=VALUE`"),
        ("[j]\nbs=${BS\n", "expected `${NAME}`"),
        ("[j]\ninclude none.fio\n", "job.fio:2: include: `none.fio` cannot be read: no such file"),
        ("[j]\ninclude itself.fio\n", "expected no file that includes itself"),
        ("[j]\ninclude job.fio\n", "an included file has no sections"),
        ("[j]\n", "var: `BS` does not occur in the job file"),
    ] {
        let problems = with(text, &given).err().unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(problems.contains(part), "{text}: {problems}");
    }
}

#[test]
fn zones_of_the_drive_are_units() {
    let drive = workload::Target { user_bytes: 64 * MIB, zone_bytes: Some(4 * MIB) };
    let open = |text: &str| fio::open_in("job.fio", text, &drive, 1, workload::fio::text::Surroundings::NONE);
    let mut workload = open("[j]\nzonemode=zbd\nzonesize=4m\noffset=2z\nsize=8z\nbs=1m\nrw=write\n").expect("zones");
    let requests = take(&mut workload.jobs[0], 99);
    assert_eq!((requests[0].offset.0, requests.len()), (8 * MIB, 32));
    let other = open("[j]\nzonemode=zbd\nzonesize=1m\n").err().expect("another size").to_string();
    assert!(other.contains("expected the size of the drive's zones, 4194304 bytes"), "{other}");
    assert!(refused("[j]\nsize=8z\n").to_string().contains("size=8z: the drive has no zones: expected bytes or percent"));
}

#[test]
fn faults_of_values_say_what_is_expected() {
    for line in [
        "bs=x",
        "bs=0",
        "bs=-",
        "bs=-4k",
        "bs=4q",
        "size=",
        "size",
        "size=0",
        "size=0z",
        "size=5q%",
        "offset=100%",
        "iodepth=0",
        "numjobs=-",
        "runtime=3w",
        "startdelay=1-2-3",
        "rate=1,2,3,4",
        "rw=read:8",
        "rw=x",
        "rwmixread=101",
        "fsync=often",
        "norandommap=2",
        "bssplit=4k/60:8k/60",
        "bssplit=4k/x",
        "random_distribution=zipf:x",
        "random_distribution=normal",
        "random_distribution=zoned:50/50",
        "zonemode=x",
        "thinktime=y",
        "thinktime_blocks=0",
        "filename=/dev/a:/dev/b",
        "io_submit_mode=x",
        "verify=crc32c",
        "nosuchkey=1",
        "ioengine=x",
        "randseed=99999999999999999999",
    ] {
        let message = refused(&format!("[j]\n{line}\n")).to_string();
        let first = message.lines().next().unwrap_or_default();
        assert!(first.contains("expected"), "{line}: {first}");
        assert!(!first.contains("`-` is negative"), "{line}: {first}");
    }
}

#[test]
fn global_sections_clones_and_waves() {
    let text = "bs=1\n";
    assert!(refused(text).to_string().contains("job.fio:1: `bs` stands before the first section"));
    assert!(refused("[global]\nbs=4k\n").to_string().contains("no job"));
    let workload = open(
        "; comment\n[global]\niodepth=8\nbs=8k # trailing\n[a]\nrw=randread\nnumjobs=3\n[global]\niodepth=2\n[b]\n\
            stonewall\n[c]\n[d]\nstonewall=1\nioengine=psync\niodepth=32\n",
    );
    let seen: Vec<_> = workload.jobs.iter().map(|j| (j.name.as_str(), j.pacing, j.wave)).collect();
    let closed = |depth| Pacing::Closed { depth };
    assert_eq!(
        seen,
        [
            ("a.0", closed(8), 0),
            ("a.1", closed(8), 0),
            ("a.2", closed(8), 0),
            ("b", closed(2), 1),
            ("c", closed(2), 1),
            ("d", closed(1), 2)
        ]
    );
    assert!(workload.notes.iter().any(|note| note.contains("psync forces iodepth 1")), "{:?}", workload.notes);
}

#[test]
fn seeds_and_clones() {
    let first = |text: &str, seed: u64, job: usize| {
        let mut workload = fio::open("j", text, 64 * MIB, seed).expect("valid");
        offsets(&take(&mut workload.jobs[job], 50))
    };
    let (two, fixed) = ("[a]\nrw=randread\nnumjobs=2\n", "[x]\n[a]\nrw=randread\nrandseed=9\n");
    assert_eq!(first(two, 1, 0), first(two, 1, 0));
    assert_ne!(first(two, 1, 0), first(two, 2, 0), "the run's seed counts");
    assert_ne!(first(two, 1, 0), first(two, 1, 1), "clones differ");
    assert_eq!(first(fixed, 1, 1), first(fixed, 2, 1), "randseed wins");
    assert_eq!(first(fixed, 1, 1), first("[a]\nrw=randread\nrandseed=9\n", 3, 0), "and does not depend on other jobs");
    let streams: Vec<u16> = open(two).jobs.iter_mut().map(|job| take(job, 1)[0].stream).collect();
    assert_eq!(streams, [0, 1]);
}

#[test]
fn fio_units_that_surprise_are_noted() {
    let workload = open("[j]\nsize=1MiB\nbs=512\n");
    assert!(workload.notes[0].contains("powers of 1000"), "{:?}", workload.notes);
    assert_eq!(workload.jobs[0].limits.bytes, Some(1_000_000));
}

#[test]
fn the_record_holds_every_resolved_value() {
    let workload = open("[j]\nrw=randrw\nbssplit=4k/50:8k/50\nrandseed=18446744073709551615\nruntime=5\n");
    let record: toml::Table = workload.resolved.parse().expect("TOML");
    assert_eq!(record["kind"].as_str(), Some("fio"));
    let job = record["job"][0].as_table().expect("a table");
    for key in ["name", "wave", "rw", "iodepth", "offset", "size", "io_size", "runtime_with_ramp", "seed", "random_map", "block"]
    {
        assert!(job.contains_key(key), "{key} missing");
    }
    assert_eq!(
        workload.resolved,
        open("[j]\nrw=randrw\nbssplit=4k/50:8k/50\nrandseed=18446744073709551615\nruntime=5\n").resolved
    );
}

const KINDS: &[&str] = &[
    "rw=read",
    "rw=rw\nbs=4k,8k",
    "rw=randread",
    "rw=randrw\nnorandommap",
    "rw=randrw\nrandom_distribution=zipf:1.1",
    "rw=randwrite\nrandom_distribution=pareto:0.3\nbssplit=4k/50:12k/50",
    "rw=randread\nrandom_distribution=normal:9",
    "rw=randrw\nrandom_distribution=zoned:50/10:50/90,90/50:10/50",
    "rw=randrw\nfsync=3\nloops=2\nend_fsync=1",
    "rw=randrw\npercentage_random=40\nrate_iops=100\nrate_process=poisson",
    "rw=randrw\nzonemode=strided\nzonesize=100k\nzonerange=200k\nzoneskip=64k\nfdatasync=7",
];

#[test]
fn batches_do_not_matter() {
    for kind in KINDS {
        let text = format!("[j]\nsize=3m\nio_size=20m\n{kind}\n");
        let whole = take(&mut only(&text), 1_000_000);
        let mut parts = Vec::new();
        let mut job = only(&text);
        for limit in [1, 7, 32, 1000].iter().cycle() {
            let before = parts.len();
            job.source.fill(&mut parts, *limit).expect("generated");
            assert!(parts.len() <= before + limit);
            if parts.len() == before {
                break;
            }
        }
        assert_eq!(whole, parts, "{kind}");
        assert!(
            whole.iter().all(|r| r.offset.0 + r.length.0 <= if kind.contains("zone") { 64 * MIB } else { 3 * MIB }
                && (r.length.0 > 0 || r.op == Op::Flush)),
            "{kind}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}", user in 0u64..1 << 40) {
        let _ = fio::open("x", &text, user, 1);
    }

    #[test]
    fn any_value_of_a_known_key_is_answered(
        pairs in proptest::collection::vec((0..fio::keys::HONOURED.len(), "[0-9a-z%:/,.-]{0,12}"), 1..6),
        user in prop_oneof![Just(0u64), Just(4096), Just(1 << 30), Just(u64::MAX)],
    ) {
        let lines: String = pairs.iter().map(|(key, value)| format!("{}={value}\n", fio::keys::HONOURED[*key].name)).collect();
        if let Ok(mut workload) = fio::open("x", &format!("[j]\nrw=randrw\n{lines}"), user, 1) {
            for job in workload.jobs.iter_mut().take(3) {
                for request in take(job, 100) {
                    prop_assert!(request.offset.0 + request.length.0 <= user);
                }
            }
        }
    }
}
