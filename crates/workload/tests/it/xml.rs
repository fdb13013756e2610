//! Workloads in XML: profiles of diskspd and scenarios of MQSim.

use kit::{Nanos, Op, Problems};
use workload::xml::{diskspd, mqsim};
use workload::{Input, Job, Options, Pacing, Request, Workload};

/// Capacity of the drive \[bytes\].
const DRIVE: u64 = 1 << 30;

fn open_with(text: &str, options: &Options) -> Result<Workload, Problems> {
    workload::open(&Input::text("profile.xml", text), DRIVE, options)
}

fn open(text: &str) -> Workload {
    open_with(text, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> String {
    open_with(text, &Options::default()).map(drop).expect_err("a faulty document").to_string()
}

/// Returns a profile with one time span.
fn profile(span: &str, targets: &str) -> String {
    format!("<Profile>\n<TimeSpans><TimeSpan>{span}<Targets>\n{targets}\n</Targets></TimeSpan></TimeSpans></Profile>")
}

/// Returns the only target of a profile.
fn target(elements: &str) -> String {
    profile("", &format!("<Target><Path>t</Path>{elements}</Target>"))
}

fn take(job: &mut Job, count: usize) -> Vec<Request> {
    let mut requests = Vec::new();
    while requests.len() < count {
        let before = requests.len();
        job.source.fill(&mut requests, count - before).expect("a source without faults");
        assert!(requests.len() > before, "the source has ended");
    }
    requests
}

fn offsets(job: &mut Job, count: usize) -> Vec<u64> {
    take(job, count).iter().map(|request| request.offset.0).collect()
}

/// Returns the instant at which the next request of an operation is due after `count` of 64 KiB \[ns\].
fn due_after(job: &Job, count: u64, op: Op) -> u64 {
    let mut rates = job.rates.clone().expect("a limit");
    (0..count).for_each(|_| rates.issued(op, 65536));
    rates.due_ns(op)
}

#[test]
fn defaults_are_those_of_diskspd() {
    let mut workload = open(&target(""));
    let [job] = &mut workload.jobs[..] else { panic!("one thread") };
    assert_eq!((job.name.as_str(), job.pacing), ("t", Pacing::Closed { depth: 2 }));
    assert_eq!((job.limits.runtime, job.ramp_time), (Some(Nanos(15_000_000_000)), Nanos(5_000_000_000)), "10 s after 5 s");
    assert!(job.rates.is_none() && job.think.is_none() && !job.fua);
    let requests = take(job, 3);
    assert!(requests.iter().all(|request| request.op == Op::Read && request.length.0 == 65536));
    assert_eq!(requests.iter().map(|request| request.offset.0).collect::<Vec<_>>(), [0, 65536, 131_072]);
}

#[test]
fn strides_threads_and_ends_of_a_sequential_target() {
    let text = "<FileSize>65536</FileSize><BaseFileOffset>4096</BaseFileOffset><BlockSize>8192</BlockSize>\
                <StrideSize>20480</StrideSize><ThreadStride>8192</ThreadStride><ThreadsPerFile>2</ThreadsPerFile>";
    let mut workload = open(&target(text));
    assert_eq!(workload.stream_names(), ["t.0", "t.1"]);
    // 4096 + n x 20480, as long as 8192 bytes fit below 65536.
    assert_eq!(offsets(&mut workload.jobs[0], 5), [4096, 24_576, 45_056, 4096, 24_576]);
    assert_eq!(offsets(&mut workload.jobs[1], 4), [12_288, 32_768, 53_248, 12_288]);
    assert_eq!(workload.jobs[0].grain, 4096);
}

#[test]
fn reads_and_writes_share_the_position_of_a_sequential_thread() {
    let mut workload = open(&target("<BlockSize>4096</BlockSize><WriteRatio>40</WriteRatio>"));
    let requests = take(&mut workload.jobs[0], 10_000);
    assert!(requests.windows(2).all(|pair| pair[1].offset.0 == pair[0].offset.0 + 4096));
    let writes = requests.iter().filter(|request| request.op == Op::Write).count();
    assert!((3800..4200).contains(&writes), "{writes} of 10000 at 40 %");
}

#[test]
fn interlocked_threads_are_one_stream() {
    let text = "<InterlockedSequential>true</InterlockedSequential><ThreadsPerFile>4</ThreadsPerFile><RequestCount>8</RequestCount>\
                <Throughput>100</Throughput>";
    let workload = open(&target(text));
    let [job] = &workload.jobs[..] else { panic!("one job for all threads") };
    assert_eq!(job.pacing, Pacing::Closed { depth: 32 });
    assert_eq!(due_after(job, 100, Op::Read), 100 * 65536 * 1_000_000_000 / 400_000, "4 x 100 bytes/ms");
}

#[test]
fn random_requests_are_aligned_and_end_within_the_target() {
    let text =
        "<FileSize>1048576</FileSize><BaseFileOffset>4096</BaseFileOffset><BlockSize>8192</BlockSize><Random>4096</Random>";
    let mut workload = open(&target(text));
    let requests = take(&mut workload.jobs[0], 20_000);
    let mut starts: Vec<u64> = requests.iter().map(|request| request.offset.0).collect();
    assert!(requests.iter().all(|request| request.length.0 == 8192), "none is shortened");
    starts.sort_unstable();
    starts.dedup();
    assert_eq!((starts[0], *starts.last().expect("many")), (4096, 1_048_576 - 8192));
    assert_eq!(starts.len(), 254, "each multiple of 4096 that leaves room for 8192");
}

#[test]
fn random_ratio_mixes_in_requests_that_follow() {
    let mut workload = open(&target("<BlockSize>4096</BlockSize><Random>4096</Random><RandomRatio>30</RandomRatio>"));
    let requests = offsets(&mut workload.jobs[0], 10_000);
    let following = requests.windows(2).filter(|pair| pair[1] == pair[0] + 4096).count();
    assert!((6700..7300).contains(&following), "{following} of 10000 at 70 %");
}

#[test]
fn limits_bursts_and_writes_through() {
    let job = |elements: &str| open(&target(elements)).jobs.remove(0);
    assert_eq!(due_after(&job("<Throughput>64</Throughput>"), 10, Op::Read), 10_240_000_000, "10 x 64 KiB at 64 bytes/ms");
    let iops = job("<Throughput unit=\"IOPS\">200</Throughput><BlockSize>4096</BlockSize>");
    assert_eq!(due_after(&iops, 10, Op::Read) * 65536 / 4096, 16 * 16 * 50_000_000, "10 requests of 65536 bytes, 16 blocks each");
    let mixed = job("<Throughput>64</Throughput><WriteRatio>25</WriteRatio>");
    assert_eq!(due_after(&mixed, 1, Op::Write), 4 * 1_024_000_000, "a quarter of the rate");
    let burst = job("<BurstSize>16</BurstSize><ThinkTime>5</ThinkTime>").think.expect("a pause");
    assert_eq!((burst.time, burst.blocks, burst.counts_issued), (Nanos(5_000_000), Some(16), true));
    assert!(job("<WriteThrough>true</WriteThrough>").fua);
    assert!(job("<DisableAllCache>1</DisableAllCache>").fua);
    assert!(!job("<WriteThrough>false</WriteThrough>").fua);
}

#[test]
fn targets_are_regions_and_time_spans_waves() {
    let one = "<Target><Path>a</Path><FileSize>10000</FileSize></Target>".replace("10000", "100000");
    let two = "<Target><Path>b</Path></Target><Target><Path>a</Path><MaxFileSize>80000</MaxFileSize></Target>";
    let text = format!(
        "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets>{one}</Targets></TimeSpan>\
         <TimeSpan><RandSeed>7</RandSeed><ThreadCount>2</ThreadCount><Targets>{two}</Targets></TimeSpan></TimeSpans></Profile>"
    );
    let mut workload = open(&text);
    assert_eq!(workload.jobs.iter().map(|job| job.wave).collect::<Vec<_>>(), [0, 1, 1, 1, 1]);
    assert_eq!(workload.stream_names(), ["a", "b.0", "b.1", "a.0", "a.1"]);
    assert_eq!(workload.jobs[0].limits.runtime, Some(Nanos(1_000_000_000)));
    assert_eq!(offsets(&mut workload.jobs[0], 2), [0, 0], "one block of 65536 fits 100000 bytes");
    assert_eq!(offsets(&mut workload.jobs[1], 2), [102_400, 102_400 + 65536], "`b` has what `a` leaves, from 25 x 4 KiB");
    assert!(
        workload.resolved.contains("seed = \"7\"") && workload.resolved.contains("kind = \"diskspd\""),
        "{}",
        workload.resolved
    );
}

#[test]
fn seeds_make_random_streams() {
    let text =
        |seed: u64| profile(&format!("<RandSeed>{seed}</RandSeed>"), "<Target><Path>t</Path><Random>4096</Random></Target>");
    let drawn = |text: &str, seed: u64| {
        let mut workload = open_with(text, &Options { seed, ..Options::default() }).expect("a good profile");
        offsets(&mut workload.jobs[0], 50)
    };
    assert_eq!(drawn(&text(0), 1), drawn(&text(0), 1));
    assert_ne!(drawn(&text(0), 1), drawn(&text(0), 2), "without a seed of its own, that of the run");
    assert_eq!(drawn(&text(5), 1), drawn(&text(5), 2));
    assert_ne!(drawn(&text(5), 1), drawn(&text(6), 1));
}

#[test]
fn a_result_has_the_profile_that_was_run() {
    let inner = target("<BlockSize>4096</BlockSize>");
    let mut workload = open(&format!("\u{feff}<?xml version=\"1.0\"?>\n<Results><System/>{inner}<TimeSpan/></Results>"));
    assert_eq!(take(&mut workload.jobs[0], 1)[0].length.0, 4096);
}

#[test]
fn elements_of_the_host_are_noted_and_can_be_left_out() {
    let text = target(
        "<IOPriority>3</IOPriority><WriteBufferContent><Pattern>zero</Pattern></WriteBufferContent><ParallelAsyncIO>false</ParallelAsyncIO>",
    );
    assert_eq!(open(&text).notes, ["profile.xml: read and ignored: IOPriority, ParallelAsyncIO, WriteBufferContent"]);
    let text = target("<ThreadTargets/><BlockSize>4096</BlockSize><Colour>blue</Colour>");
    let ignore = ["ThreadTargets", "Colour", "BlockSize"].map(str::to_owned).to_vec();
    let mut workload = open_with(&text, &Options { ignore, ..Options::default() }).expect("nothing is left");
    assert_eq!(workload.notes, ["profile.xml: left out, as --ignore says: BlockSize, Colour, ThreadTargets"]);
    assert_eq!(take(&mut workload.jobs[0], 1)[0].length.0, 65536, "left out, it has its default");
    let options = Options { ignore: vec!["BlockSise".to_owned()], ..Options::default() };
    let problems = open_with(&target(""), &options).map(drop).expect_err("a misspelt name").to_string();
    assert!(
        problems.contains("`BlockSise` is not in profile.xml") && problems.contains("did you mean `BlockSize`?"),
        "{problems}"
    );
}

#[test]
fn faults_are_reported_with_their_places() {
    for (text, expected) in [
        (target("<BlockSize>many</BlockSize>"), "profile.xml:3: <BlockSize>: `many`: expected a whole number, 256..=4294967296"),
        (target("<BlockSize>1000</BlockSize>"), "<BlockSize>: 1000 bytes: expected a multiple of 256"),
        (
            target("<BlockSise>4096</BlockSise>"),
            "<BlockSise>: not known here (`--ignore NAME,...` leaves elements out) (did you mean `BlockSize`?)",
        ),
        (target("<BlockSize>4096</BlockSize><BlockSize>8192</BlockSize>"), "<BlockSize>: given twice"),
        (target("<WriteRatio>101</WriteRatio>"), "expected a whole number, 0..=100"),
        (target("<ParallelAsyncIO>true</ParallelAsyncIO>"), "<ParallelAsyncIO>: refused: the requests of a thread"),
        (target("<Distribution><Percent/></Distribution>"), "<Distribution>: refused: random requests are uniform"),
        (target("<WriteThrough>perhaps</WriteThrough>"), "unknown value `perhaps`: expected one of true, 1, false, 0"),
        (target("<Throughput unit=\"MB\">3</Throughput>"), "unit=`MB`: expected IOPS, or no unit"),
        (target("<BurstSize>4</BurstSize>"), "<Target>: expected <BurstSize> and <ThinkTime> together"),
        (
            target("<FileSize>4096</FileSize>"),
            "the target has 4096 bytes, and thread 0 begins at 0: expected room for a block of 65536",
        ),
        (target("<FileSize>2147483648</FileSize>"), "the targets have 2147483648 bytes together, and the drive 1073741824"),
        (profile("", "<Target/>"), "<Target>: <Path> is missing"),
        (profile("", ""), "<Targets>: empty: expected at least one <Target>"),
        (profile("", "<Target><Path>a</Path></Target><Target><Path>b</Path></Target>"), "expected it for all targets but one"),
        (profile("<Duration>0</Duration>", "<Target><Path>a</Path></Target>"), "<Duration>: `0`: expected a whole number, 1..="),
        (
            profile("<Cooldown>3</Cooldown>", "<Target><Path>a</Path></Target>"),
            "<Cooldown>: refused: no commands after the measured time",
        ),
        ("<Profile/>".to_owned(), "profile.xml:1: <Profile>: <TimeSpans> is missing"),
        ("<Results><System/></Results>".to_owned(), "expected the <Profile> that was run in it"),
        (
            "<Profil/>".to_owned(),
            "unknown document `Profil`: expected one of Profile, Results, MQSim_IO_Scenarios (did you mean `Profile`?)",
        ),
        ("<Profile>\n<TimeSpans>\n</Profile>".to_owned(), "profile.xml:3: not well-formed XML"),
        ("<!DOCTYPE x [<!ENTITY a \"b\">]>\n<Profile>&a;</Profile>".to_owned(), "a document type: expected a document without"),
        (format!("<Profile>{}</Profile>", "<a/>".repeat(60_000)), "expected at most 50000 elements"),
        (format!("<Profile>{}{}</Profile>", "<a>".repeat(20_000), "</a>".repeat(20_000)), "<a>: not known here"),
    ] {
        let found = refused(&text);
        assert!(found.contains(expected), "{expected}:\n{found}");
    }
}

#[test]
fn options_of_traces_are_refused() {
    let options = Options { repeat: 2, ..Options::default() };
    let problems = open_with(&target(""), &options).map(drop).expect_err("an option of traces").to_string();
    assert!(problems.contains("repeat: applies to traces only, and profile.xml is not one"), "{problems}");
}

/// Returns a scenario with flows of these elements.
fn scenario(flows: &[&str]) -> String {
    let flow = |elements: &&str| format!("<IO_Flow_Parameter_Set_Synthetic>{elements}</IO_Flow_Parameter_Set_Synthetic>");
    let flows: String = flows.iter().map(flow).collect();
    format!("<?xml version=\"1.0\"?>\n<MQSim_IO_Scenarios><IO_Scenario>{flows}</IO_Scenario></MQSim_IO_Scenarios>")
}

#[test]
fn flows_of_mqsim_are_jobs() {
    let closed = "<Priority_Class>HIGH</Priority_Class><Channel_IDs>0,1</Channel_IDs><Working_Set_Percentage>50</Working_Set_Percentage>\
                  <Synthetic_Generator_Type>QUEUE_DEPTH</Synthetic_Generator_Type><Read_Percentage>0</Read_Percentage>\
                  <Address_Distribution>RANDOM_UNIFORM</Address_Distribution><Address_Alignment_Unit>8</Address_Alignment_Unit>\
                  <Request_Size_Distribution>FIXED</Request_Size_Distribution><Average_Request_Size>16</Average_Request_Size>\
                  <Average_No_of_Reqs_in_Queue>12</Average_No_of_Reqs_in_Queue><Stop_Time>2000000</Stop_Time>";
    let open_loop = "<Synthetic_Generator_Type>BANDWIDTH</Synthetic_Generator_Type><Bandwidth>4096000</Bandwidth>\
                     <Address_Distribution>STREAMING</Address_Distribution><Generated_Aligned_Addresses>false</Generated_Aligned_Addresses>\
                     <Stop_Time>0</Stop_Time><Total_Requests_To_Generate>300</Total_Requests_To_Generate>";
    let mut workload = open(&scenario(&[closed, open_loop]));
    assert_eq!(workload.stream_names(), ["flow 0", "flow 1"]);
    assert_eq!(workload.notes, ["profile.xml: read and ignored: Channel_IDs, Priority_Class, Request_Size_Distribution"]);
    let job = &mut workload.jobs[0];
    assert_eq!((job.pacing, job.limits.runtime), (Pacing::Closed { depth: 12 }, Some(Nanos(2_000_000))));
    let requests = take(job, 2000);
    assert!(requests.iter().all(|request| request.op == Op::Write && request.length.0 == 8192 && request.offset.0 % 4096 == 0));
    let most = requests.iter().map(|request| request.offset.0 + request.length.0).max().expect("many");
    assert!((240 << 20..=256 << 20).contains(&most), "half of the first half of the drive: {most}");
    let job = &mut workload.jobs[1];
    assert_eq!((job.pacing, job.limits.requests), (Pacing::Open, Some(300)));
    let requests = take(job, 300);
    assert_eq!((requests[0].offset.0, requests[1].offset.0), (512 << 20, (512 << 20) + 4096));
    // 4096 bytes at 4096000 B/s: a request every millisecond.
    let mean = requests[299].at.0 as f64 / 300.0;
    assert!((0.8e6..1.2e6).contains(&mean), "{mean}");
}

#[test]
fn hot_and_cold_flows_of_mqsim() {
    let text = "<Address_Distribution>RANDOM_HOTCOLD</Address_Distribution><Percentage_of_Hot_Region>20</Percentage_of_Hot_Region>\
                <Working_Set_Percentage>100</Working_Set_Percentage><Stop_Time>1</Stop_Time>";
    let mut workload = open(&scenario(&[text]));
    let requests = offsets(&mut workload.jobs[0], 10_000);
    let hot = requests.iter().filter(|offset| **offset < DRIVE / 5).count();
    assert!((7800..8200).contains(&hot), "80 % of the requests go to 20 % of the addresses: {hot}");
}

#[test]
fn a_scenario_of_several_is_chosen() {
    let flow = |sectors: u32| {
        format!(
            "<IO_Scenario><IO_Flow_Parameter_Set_Synthetic><Average_Request_Size>{sectors}</Average_Request_Size><Stop_Time>1</Stop_Time>\
             </IO_Flow_Parameter_Set_Synthetic></IO_Scenario>"
        )
    };
    let text = format!("<MQSim_IO_Scenarios>{}{}</MQSim_IO_Scenarios>", flow(8), flow(16));
    let chosen = |text: &str, number: u32| open_with(text, &Options { scenario: Some(number), ..Options::default() });
    for (number, bytes) in [(1, 4096), (2, 8192)] {
        let mut workload = chosen(&text, number).expect("a scenario");
        assert_eq!(take(&mut workload.jobs[0], 1)[0].length.0, bytes);
    }
    let refused = |text: &str, number: u32| chosen(text, number).map(drop).expect_err("no such scenario").to_string();
    assert!(refused(&text, 3).contains("scenario: 3: expected 1..=2"));
    assert!(refused(&text, 0).contains("scenario: 0: expected 1..=2"));
    assert!(refused(&target(""), 1).contains("scenario: applies to scenarios of MQSim"));
}

#[test]
fn faults_of_scenarios() {
    let trace = "<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Trace_Based/></IO_Scenario></MQSim_IO_Scenarios>";
    for (text, expected) in [
        (scenario(&[""]), "the flow has no end: expected <Stop_Time> or <Total_Requests_To_Generate> above 0"),
        (scenario(&[]), "<IO_Scenario>: empty"),
        (trace.to_owned(), "refused: the trace is a workload itself"),
        (
            "<MQSim_IO_Scenarios><IO_Scenario/><IO_Scenario/></MQSim_IO_Scenarios>".to_owned(),
            "2 scenarios, of which each is a run of its own: expected --scenario N, with N from 1 to 2",
        ),
        (
            scenario(&["<Request_Size_Distribution>NORMAL</Request_Size_Distribution><Stop_Time>1</Stop_Time>"]),
            "refused: requests have one length",
        ),
        (scenario(&["<Address_Distribution>MIXED</Address_Distribution><Stop_Time>1</Stop_Time>"]), "unknown value `MIXED`"),
        (
            scenario(&["<Average_Request_Size>8000000</Average_Request_Size><Stop_Time>1</Stop_Time>"]),
            "expected room for a request of 4096000000",
        ),
    ] {
        let found = refused(&text);
        assert!(found.contains(expected), "{expected}:\n{found}");
    }
}

#[test]
fn the_page_of_workloads_has_the_tables_of_elements() {
    const MARKS: [&str; 2] = ["<!-- elements: made by a test -->\n", "<!-- end of the elements -->\n"];
    let path = format!("{}/../../docs/reference/workloads.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    let (before, rest) = page.split_once(MARKS[0]).expect("the page has the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the page has the second mark");
    let made = format!("{before}{}{}{}\n{}{after}", MARKS[0], diskspd::reference(), mqsim::reference(), MARKS[1]);
    // The page has parts of several tests, which may run at the same time.
    if std::env::var_os("SSDLAB_BLESS").is_some() && page != made {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    assert!(page == made, "docs/reference/workloads.md is out of date: SSDLAB_BLESS=1 cargo test -p workload page_of_workloads");
}
