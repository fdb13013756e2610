//! Bad input: each error names the place, the value found and the accepted values. All errors are reported at once, and
//! nothing runs.

use crate::common::session;
use drive::{Description, presets};
use kit::Problems;

/// Returns the problems of a description based on `tiny`, with further `lines` (the first is line 2) and overrides.
fn refused(lines: &str, sets: &[&str]) -> Problems {
    let text = format!("base = \"tiny\"\n{lines}");
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("d.toml", &text, &sets).err().unwrap_or_else(|| panic!("accepted: {text}"))
}

/// Asserts that there is exactly one problem, and that its message contains `expected`.
#[track_caller]
fn assert_refused(lines: &str, sets: &[&str], expected: &str) {
    let problems = refused(lines, sets);
    assert_eq!(problems.0.len(), 1, "{problems}");
    let message = problems.to_string();
    assert!(message.contains(expected), "found:    {message}\nexpected: {expected}");
}

#[test]
fn parameters_of_policies_must_make_sense_together() {
    for bounds in ["[0.2, 0.4]", "[]", "[2.0, 0.5]", "[-1.0]", "[0.5, 0.5]"] {
        let text = format!("[policy.autoftl]\nbounds = {bounds}\n");
        assert_refused(
            &text,
            &[],
            &format!("d.toml:3: policy.autoftl.bounds: {bounds}: expected shares between 0 and 1 in falling order"),
        );
    }
    let nested = "policy.autoftl_minus.decisions.bounds=[0.1, 0.2]";
    assert_refused(
        "",
        &[nested],
        "policy.autoftl_minus.decisions.bounds: [0.1, 0.2]: expected shares between 0 and 1 in falling order",
    );
}

#[test]
fn unknown_fields_are_refused_with_the_nearest_name() {
    assert_refused("[flash]\nchannles = 4\n", &[], "d.toml:3: flash: unknown field `channles`");
    assert_refused("[flash]\nchannles = 4\n", &[], "(did you mean `channels`?)");
    assert_refused("[flsah]\nchannels = 4\n", &[], "d.toml:2: unknown field or section `flsah`");
    assert_refused("[flsah]\nchannels = 4\n", &[], "(did you mean `flash`?)");
    assert_refused("[policy.ofwar]\nwrite_treshold = 4\n", &[], "d.toml:3: policy.ofwar: unknown field `write_treshold`");
    assert_refused(
        "[[flash.write_mode]]\nname = \"normal\"\nprogram_scal = 1.0\n",
        &[],
        "d.toml:4: flash.write_mode[0]: unknown field `program_scal`",
    );
    assert_refused(
        "[host]\ninterface = { kind = \"plain\", queue_dept = 3 }\n",
        &[],
        "d.toml:3: host.interface: unknown field `queue_dept`",
    );
}

#[test]
fn retention_limits_that_no_drive_could_keep_are_refused() {
    assert_refused(
        "",
        &["flash.write_mode[1].retention=1h", "ftl.retention_margin=1h"],
        "flash.write_mode[1].retention: 1h: expected more than ftl.retention_margin = 1h",
    );
    // 128 blocks, each with 64 pages at 650 us and an erase of 3 ms.
    let rewrite_of_a_die = kit::Nanos(128 * (64 * 650_000 + 3_000_000));
    let half_again = |more: u64| format!("flash.write_mode[0].retention={}ns", rewrite_of_a_die.0 / 2 * 3 + more);
    let enough = [half_again(1_000), "ftl.retention_margin=1us".to_owned()];
    let description = Description::read("d.toml", "base = \"tiny\"\n", &enough).expect("just long enough");
    assert_eq!(description.geometry().blocks_per_die, 128);
    assert_refused("", &[&half_again(990), "ftl.retention_margin=1us"], "is too short for the mode that data is moved in");
}

#[test]
fn fewer_bits_page_by_page_are_refused_where_page_types_differ() {
    const FEWER: [&str; 2] = ["flash.cell=mlc", "flash.write_mode[1].bits_per_cell=1"];
    let accepted = |more: &[&str]| {
        let sets: Vec<String> = FEWER.iter().chain(more).map(|set| (*set).to_owned()).collect();
        Description::read("d.toml", "base = \"tiny\"\n", &sets).expect("no page type is told from another");
    };
    accepted(&[]);
    for differing in ["flash.program_time=[\"200us\", \"900us\"]", "flash.read_time=[\"50us\", \"70us\"]"] {
        assert_refused(
            "",
            &[&FEWER[..], &[differing]].concat(),
            "expected one program time and one read time for all page types",
        );
        accepted(&[differing, "flash.one_shot=true"]);
    }
}

#[test]
fn unknown_names_are_refused_with_the_list() {
    assert_refused(
        "[ftl]\nvictim = \"greedi\"\n",
        &[],
        "d.toml:3: ftl.victim: unknown name `greedi`: expected one of greedy, cost_benefit",
    );
    assert_refused("[flash]\nscheduler = \"fifi\"\n", &[], "(did you mean `fifo`?)");
    assert_refused(
        "[flash]\ncell = \"plc\"\n",
        &[],
        "d.toml:3: flash.cell: unknown value `plc`: expected one of slc, mlc, tlc, qlc",
    );
    assert_refused(
        "[policy]\nkind = \"ofwra\"\n",
        &[],
        &format!("d.toml:3: policy.kind: unknown policy `ofwra`: expected one of {}", ftl::PolicyConfig::NAMES.join(", ")),
    );
    let problems = Description::read("d.toml", "base = \"tinny\"\n", &[]).expect_err("no such preset");
    assert!(problems.to_string().starts_with("d.toml:1: unknown preset `tinny`"), "{problems}");
    assert!(problems.to_string().ends_with("(did you mean `tiny`?)"), "{problems}");
}

#[test]
fn missing_fields_are_named_with_what_is_expected() {
    let tiny = presets::find("tiny").expect("a preset").text;
    for (field, line, expected) in [
        ("channels", "[flash]", "flash.channels: missing: expected a number from 1 to 256"),
        ("read_time", "[flash]", "flash.read_time: missing: expected a duration such as \"50us\""),
        ("page_size", "[flash]", "flash.page_size: missing: expected a size such as \"16KiB\""),
        ("overprovisioning", "[ftl]", "ftl.overprovisioning: missing: expected a number from 0 to 1"),
        ("gc_preemptible", "[ftl]", "ftl.gc_preemptible: missing: expected true or false"),
    ] {
        let text: String =
            tiny.lines().filter(|text| !text.starts_with(&format!("{field} ="))).map(|text| format!("{text}\n")).collect();
        let header = text.lines().position(|text| text == line).expect("the section is there") + 1;
        let problems = Description::read("d.toml", &text, &[]).expect_err(field);
        assert!(problems.to_string().starts_with(&format!("d.toml:{header}: {expected}")), "{problems}");
    }
    let problems = Description::read("d.toml", "title = \"nothing else\"\n", &[]).expect_err("nearly everything is missing");
    let all = "d.toml: 5 of 6 required fields and sections are missing (host, buffer, flash, ftl, state): expected";
    assert!(problems.0.len() == 1 && problems.to_string().starts_with(all), "{problems}");
}

#[test]
fn values_are_refused_with_what_would_be_accepted() {
    for (lines, expected) in [
        ("[flash]\nread_time = 50\n", "d.toml:3: flash.read_time: 50 has no unit: expected a duration such as \"50us\""),
        ("[flash]\nread_time = \"50\"\n", "d.toml:3: flash.read_time: \"50\": a number without a unit: expected a duration"),
        ("[flash]\nread_time = \"50KiB\"\n", "d.toml:3: flash.read_time: \"50KiB\": unknown unit `KiB`: expected a duration"),
        ("[flash]\nerase_time = \"-3ms\"\n", "d.toml:3: flash.erase_time: \"-3ms\": a negative value"),
        ("[flash]\nerase_time = \"0ns\"\n", "d.toml:3: flash.erase_time: 0ns: expected a time above zero"),
        ("[flash]\nerase_time = \"0.5ns\"\n", "d.toml:3: flash.erase_time: \"0.5ns\": `0.5` is not a number that fits"),
        ("[flash]\npage_size = \"16ms\"\n", "d.toml:3: flash.page_size: \"16ms\": unknown unit `ms`: expected a size"),
        ("[flash]\npage_size = \"5KiB\"\n", "d.toml:3: flash.page_size: 5KiB: expected a multiple of 4KiB, at most 1MiB"),
        (
            "[flash]\ntransfer_rate = \"1200MB/s\"\n",
            "d.toml:3: flash.transfer_rate: \"1200MB/s\": unknown unit `MB/s`: expected a transfer rate",
        ),
        ("[flash]\ntransfer_rate = \"4801MT/s\"\n", "d.toml:3: flash.transfer_rate: 4801MT/s: expected 1MT/s to 4800MT/s"),
        ("[flash]\ninterface = \"sdr\"\n", "flash.transfer_rate: 1200MT/s: expected 1MT/s to 50MT/s"),
        ("[flash]\nchannels = 0\n", "d.toml:3: flash.channels: 0: expected 1..=256"),
        ("[flash]\nchannels = -1\n", "d.toml:3: flash.channels: -1: expected 1..=256"),
        ("[flash]\nchannels = 257\n", "d.toml:3: flash.channels: 257: expected 1..=256"),
        ("[flash]\nchannels = 2.5\n", "d.toml:3: flash.channels: 2.5: expected a number from 1 to 256"),
        ("[flash]\nchannels = \"2\"\n", "d.toml:3: flash.channels: \"2\": expected a number from 1 to 256"),
        ("[flash]\nmulti_plane = 1\n", "d.toml:3: flash.multi_plane: 1: expected true or false"),
        (
            "[flash]\nread_time = [\"1us\", \"2us\"]\n",
            "d.toml:3: flash.read_time: 2 times: expected one, or 1, one for each page type",
        ),
        ("[ftl]\noverprovisioning = 1.5\n", "d.toml:3: ftl.overprovisioning: 1.5: expected 0..=1"),
        ("[ftl]\noverprovisioning = -0.1\n", "d.toml:3: ftl.overprovisioning: -0.1: expected 0..=1"),
        ("[ftl]\noverprovisioning = nan\n", "d.toml:3: ftl.overprovisioning: NaN: expected a number from 0 to 1"),
        ("[ftl]\nvictim = 3\n", "d.toml:3: ftl.victim: 3: expected one of greedy"),
        ("[ftl]\ngc_critical_blocks = 1\n", "d.toml:3: ftl.gc_critical_blocks: 1: expected more than reserve_blocks = 1"),
        (
            "[state]\nprecondition = \"full\"\n",
            "d.toml:3: state.precondition: unknown value `full`: expected one of none, fill, random, steady",
        ),
        ("[buffer]\npolicy = \"write_back\"\ncapacity = \"1MiB\"\n", "d.toml:2: buffer.flush_after: missing"),
        ("[buffer]\npolicy = \"write_back\"\nflush_after = \"1ms\"\n", "d.toml:2: buffer.capacity: missing"),
        ("title = [\n", "d.toml:"),
    ] {
        assert_refused(lines, &[], expected);
    }
}

#[test]
fn a_capacity_that_does_not_fit_is_refused() {
    assert_refused(
        "[ftl]\noverprovisioning = 0.0\n",
        &[],
        "d.toml:3: ftl.overprovisioning: does not fit: each die has 128 blocks",
    );
    assert_refused("[ftl]\nuser_capacity = \"1GiB\"\n", &[], "d.toml:3: ftl.user_capacity: 1GiB does not fit");
    assert_refused("[ftl]\nuser_capacity = \"0B\"\n", &[], "d.toml:3: ftl.user_capacity: 0B does not fit");
    assert_refused("[ftl]\ngc_critical_blocks = 30\ngc_low_blocks = 40\n", &[], "ftl.overprovisioning: does not fit");
    assert_refused("[flash]\nblocks_per_plane = 4194304\npages_per_block = 4096\n", &[], "expected less than 16 TiB");
    assert_refused(
        "[ftl]\nsuperblock_blocks = 3\n",
        &[],
        "d.toml:3: ftl.superblock_blocks: 3: expected a divisor of flash.blocks_per_plane = 128",
    );
}

#[test]
fn policies_need_their_modes() {
    let only_normal = "[policy]\nkind = \"ofwar\"\n[[flash.write_mode]]\nname = \"normal\"\n";
    assert_refused(only_normal, &[], "no mode is named `fast`: policy `ofwar` needs one");
    assert_refused("[[flash.write_mode]]\nname = \"fast\"\n", &[], "expected a mode named `normal`");
    assert_refused(
        "[[flash.write_mode]]\nname = \"normal\"\n[[flash.write_mode]]\nname = \"normal\"\n",
        &[],
        "`normal` is listed twice",
    );
}

#[test]
fn overrides_are_checked_like_the_file() {
    assert_refused("", &["flash.channles=4"], "--set flash.channles=4: flash: unknown field `channles`");
    assert_refused("", &["flash.channels"], "--set flash.channels: expected KEY=VALUE");
    assert_refused("", &["flash.channels=0"], "--set flash.channels=0: flash.channels: 0: expected 1..=256");
    assert_refused("", &["flash.read_time=50"], "--set flash.read_time=50: flash.read_time: 50 has no unit");
    assert_refused("", &["flash.channels.x=1"], "`flash.channels` is not a table");
    assert_refused("", &["flash.write_mode[2].name=x"], "`write_mode[2]`: expected an index below 2");
    assert_refused("", &["flash.write_mode[x].name=x"], "`write_mode[x]` is not a field");
    assert_refused("", &["flash=3"], "flash: 3: expected a table");
    assert_refused("", &["ftl.overprovisioning=0.0"], "--set ftl.overprovisioning=0.0: ftl.overprovisioning: does not fit");
    let accepted = Description::read(
        "d.toml",
        "base = \"tiny\"\n",
        &["flash.write_mode[1].program_scale=0.25".to_owned(), "title=a, b".to_owned()],
    );
    let accepted = accepted.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((accepted.flash.write_modes[1].program_scale, accepted.title.as_str()), (0.25, "a, b"));
}

#[test]
fn everything_wrong_is_said_at_once_each_with_its_line() {
    let lines = "titel = \"x\"\n[flash]\nchannels = 0\nread_time = 50\ncell = \"xlc\"\n[ftl]\nvictim = \"greed\"\noverprovisioning = 2.0\n[state]\nage = \"-1d\"\n";
    let problems = refused(lines, &["flash.planes_per_die=65"]);
    let message = problems.to_string();
    for place in [
        "d.toml:2: ",
        "d.toml:4: flash.channels",
        "d.toml:5: flash.read_time",
        "d.toml:6: flash.cell",
        "d.toml:8: ftl.victim",
        "d.toml:9: ftl.over",
        "d.toml:11: state.age",
        "--set flash.planes_per_die=65: ",
    ] {
        assert!(message.contains(place), "{place} is not in:\n{message}");
    }
    assert_eq!(problems.0.len(), 8, "{message}");
    // Fields that are valid individually but not together are also reported at once.
    let problems = refused("[flash]\nerase_time = \"0ns\"\ninterface = \"sdr\"\nprogram_time = [\"1us\", \"2us\"]\n", &[]);
    assert_eq!(problems.0.len(), 3, "{problems}");
}

#[test]
fn every_preset_is_accepted_and_survives_being_written() {
    for preset in presets::PRESETS {
        let description = Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let again = Description::read("again", &description.to_toml(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(description, again, "{}", preset.name);
        let names: Vec<&str> = description.flash.write_modes.iter().map(|mode| mode.name.as_str()).collect();
        // The drives of the SSDExplorer thesis and of DiskSim, and those without a page map, write in one mode.
        let alone = ["vertex", "nvram", "rram", "explorer", "qos", "retry", "ldpc", "zns", "disksim"];
        let has_one = alone.iter().any(|name| preset.name.starts_with(name));
        assert!(names.contains(&"normal") && names.contains(&"fast") != has_one, "{}: {names:?}", preset.name);
    }
}

/// Returns the message with which a run is refused.
fn run_refused(drive: &str, sets: &[&str], policy: Option<&str>, workload: &str) -> String {
    session(drive, sets, policy, workload).err().unwrap_or_else(|| panic!("accepted: {workload}")).to_string()
}

/// Returns the message with which a workload on `tiny` is refused.
fn workload_refused(workload: &str) -> String {
    run_refused("base = \"tiny\"", &[], None, workload)
}

#[test]
fn a_session_refuses_bad_workloads() {
    let message = workload_refused("[job]\nrw=randread\nfoo=1\nbuffered=1\n");
    assert!(message.contains("foo") && message.contains("buffered"), "all refused keys at once: {message}");
    assert!(workload_refused("[job]\nrw=reed\n").contains("reed"));
    assert!(workload_refused("").contains("workload"), "an empty trace");
    let message = workload_refused("kind = \"sinthetic\"\n");
    assert!(message.contains("did you mean `synthetic`?"), "{message}");
    let message = workload_refused("\u{1}\u{2}\u{0}\u{3}binary\u{0}junk\n");
    assert!(message.starts_with("workload"), "{message}");
}

#[test]
fn a_session_refuses_addresses_past_the_end() {
    // MSR lines: time, host, disk, operation, offset, size, response time. The drive has 111,845,376 bytes.
    let line = |index: u64, offset: u64| format!("{},host,0,Write,{offset},4096,100\n", 128_166_372_003_061_629 + index);
    let trace: String = (0..20).map(|index| line(index, index * 4096)).collect();
    let outcome = session("base = \"tiny\"", &[], None, &trace).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(outcome.summary["commands"]["write"].as_u64(), Some(20));
    let message = workload_refused(&format!("{trace}{}", line(20, 111_845_376 - 512)));
    for part in ["111848959", "wrap", "scale", "compact"] {
        assert!(message.replace(',', "").contains(part), "{part} is not in: {message}");
    }
    let message = workload_refused("[job]\nrw=read\noffset=200m\n");
    assert!(message.contains("offset"), "{message}");
}

#[test]
fn a_session_refuses_bad_requests() {
    let job = "[job]\nrw=read\nnumber_ios=1\n";
    let refused = |sets: &[&str], policy: &str| run_refused("base = \"tiny\"", sets, Some(policy), job);
    assert!(refused(&[], "ofwra").starts_with("--policy: unknown policy `ofwra`"));
    assert!(refused(&[], "ofwra").ends_with("(did you mean `ofwar`?)"));
    assert!(refused(&["flash.channels=0"], "ofwar").starts_with("--set flash.channels=0"));
    assert!(refused(&["policy.kind = ofwar"], "ofwar").starts_with("--policy: the policy is also set by `policy.kind`"));
    assert!(run_refused("base = 3", &[], None, job).starts_with("test.toml:1: base = 3"));
}
