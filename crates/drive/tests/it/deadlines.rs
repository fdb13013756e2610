//! Retention deadlines under every policy, checked by an auditor that does not use the drive's own deadlines: no page
//! is read or still mapped past the retention limit of its write mode, whether the drive is idle, overloaded with
//! writes or reads, or has full queues.

use drive::{Description, Drive};
use kit::{Bytes, HostCommand, Op, Reason, Rng, SimTime, UNIT_BYTES};
use testkit::Auditor;

const MS: u64 = 1_000_000;

/// Two dies of 32 blocks of 16 pages, with limits so short that they are reached again and again.
pub const DRIVE: &str = r#"
base = "tiny"
[flash]
channels = 1
blocks_per_plane = 32
pages_per_block = 16
[[flash.write_mode]]
name = "normal"
retention = "3s"
[[flash.write_mode]]
name = "fast"
program_scale = 0.5
retention = "800ms"
[[flash.write_mode]]
name = "fine"
program_scale = 1.3
retention = "3s"
[[flash.write_mode]]
name = "gentle"
program_scale = 1.6
retention = "3s"
erase_level = 1
[[flash.erase_mode]]
name = "deep"
[[flash.erase_mode]]
name = "gentle"
level = 1
wear = 0.7
[buffer]
policy = "write_back"
capacity = "128KiB"
flush_after = "1ms"
[ftl]
overprovisioning = 0.9
retention_margin = "40ms"
[policy.ofwar]
write_threshold = 4
rewrite_threshold = 8
queue_depth = 32
[policy.agcr]
low = "normal"
medium = "normal"
queue_depth = 4
[policy.queue_driven]
low = "normal"
[policy.lcw_hcr]
low = "normal"
[policy.slc_cache]
cache = "fast"
"#;

/// Load by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// A burst of writes, then no commands.
    Rest,
    /// As many writes as the drive accepts.
    Writes,
    /// As many reads as the drive accepts.
    Reads,
    /// As many reads and writes as the drive accepts.
    Mixed,
}

fn description(text: &str, kind: &str) -> Description {
    let sets = [format!("policy.kind={kind}")];
    Description::read("deadlines.toml", text, &sets).unwrap_or_else(|problems| panic!("{kind}: {problems}"))
}

/// Runs a load for 8 s of simulated time under an auditor, which takes the retention limits from the description
/// `limits`. Returns the auditor and the drive, or the violation that the auditor found.
fn audited(description: &Description, limits: &Description, load: Load) -> Result<(Auditor, Drive), String> {
    let mut drive = Drive::new(description, 1).expect("a small drive fits into memory");
    drive.adopt();
    drive.journal().enable(true);
    let mut auditor = Auditor::attach(&drive, limits);
    let mut rng = Rng::stream(1, "deadlines");
    let units = drive.user_bytes() / UNIT_BYTES;
    let (mut tag, mut done, mut checked) = (0, 0, 0);
    let end = SimTime(8000 * MS);
    while drive.now() < end {
        let burst = drive.now() < SimTime(300 * MS);
        while tag - done < 32 && (burst || load != Load::Rest) {
            let op = match load {
                _ if burst => Op::Write,
                Load::Reads => Op::Read,
                Load::Mixed if rng.chance(0.5) => Op::Read,
                _ => Op::Write,
            };
            // After the burst only a quarter of the data is written again.
            let unit = if burst { rng.below(units) } else { rng.below(units / 4) };
            tag += 1;
            // Reads of data that is not on flash take no time, so the host waits 2 us between commands.
            let at = drive.now() + kit::Nanos(2_000);
            drive.submit(HostCommand::new(op, tag, Bytes(unit * UNIT_BYTES), Bytes(UNIT_BYTES)), at);
        }
        let next = drive.next_event().unwrap_or(end).min(end);
        done += drive.advance(next).len() as u32;
        let now = drive.now().0;
        let records = std::mem::take(&mut drive.journal().records);
        records.iter().try_for_each(|record| auditor.follow(record, now))?;
        if now >= checked + 2 * MS {
            auditor.check(now)?;
            checked = now;
        }
    }
    Ok((auditor, drive))
}

fn reprogrammed(drive: &Drive) -> u64 {
    drive.translator().report().counters.units_programmed[Reason::Reprogram as usize]
}

#[test]
fn every_policy_keeps_every_deadline() {
    for kind in ftl::PolicyConfig::NAMES.iter().filter(|kind| **kind != "combine") {
        // If blocks hold pages of all modes, the shortest limit applies to all data.
        let text = if ["agcr", "queue_driven"].contains(kind) { DRIVE.replace("800ms", "3s") } else { DRIVE.to_owned() };
        let drive = description(&text, kind);
        for load in [Load::Rest, Load::Writes, Load::Reads, Load::Mixed] {
            let (auditor, drive) = audited(&drive, &drive, load).unwrap_or_else(|why| panic!("{kind}, {load:?}: {why}"));
            assert_eq!(drive.map().retention_report().0, 0, "{kind}, {load:?}: misses");
            assert!(auditor.limited > 1000, "{kind}, {load:?}: only {} pages had a limit", auditor.limited);
            assert!(reprogrammed(&drive) > 500, "{kind}, {load:?}: only {} units were moved for theirs", reprogrammed(&drive));
            assert!(auditor.reads > 1000 || !matches!(load, Load::Reads | Load::Mixed), "{kind}, {load:?}: {}", auditor.reads);
        }
    }
}

/// Returns [`DRIVE`] with modes derived from the cell: two promised retentions, two erase levels and two read modes.
fn derived() -> String {
    let begin = DRIVE.find("[[flash.write_mode]]").expect("the table of modes");
    let end = DRIVE.find("[[flash.erase_mode]]").expect("that of erase modes");
    let mut modes = String::from("cell = \"mlc\"\none_shot = false\ncell_model = \"ofwar-mlc\"\n");
    modes +=
        "code = { kind = \"ldpc\", data = \"4KiB\", parity = \"448B\", limits = [0.002, 0.006], failure_at_limit = 1e-15 }\n";
    for (name, retention, level, read) in [
        ("normal", "3s", 0, "quick"),
        ("fast", "800ms", 0, "quick"),
        ("low", "3s", 0, "slow"),
        ("fast_low", "800ms", 0, "slow"),
        ("gentle", "3s", 1, "quick"),
        ("fast_gentle", "800ms", 1, "quick"),
        ("gentle_low", "3s", 1, "slow"),
        ("fast_gentle_low", "800ms", 1, "slow"),
    ] {
        let corrects = if read == "quick" { 0.002 } else { 0.006 };
        modes += &format!("[[flash.write_mode]]\nname = \"{name}\"\nerase_level = {level}\nread_mode = \"{read}\"\n");
        modes += &format!(
            "derive = {{ retention = \"{retention}\", at_pe_cycles = 5000, erase_shift = 0.{level}, corrects = {corrects} }}\n"
        );
    }
    modes += "[[flash.read_mode]]\nname = \"quick\"\nderive = { references = 1 }\n";
    modes += "[[flash.read_mode]]\nname = \"slow\"\nderive = { references = 3 }\n";
    let rest = DRIVE[end..]
        .replace("wear = 0.7", "wear = 0.7\nerase_shift = 0.1")
        .replace("low = \"normal\"\nmedium", "low = \"low\"\nhigh = \"normal\"\nmedium");
    // More blocks, because each mode has open blocks of its own.
    format!("{}{modes}{rest}", DRIVE[..begin].replace("blocks_per_plane = 32", "blocks_per_plane = 48"))
}

#[test]
fn every_combination_keeps_every_deadline() {
    for members in [
        r#"["ofwar", "autoftl"]"#,
        r#"["rr_speed", "autoftl"]"#,
        r#"["all_fast", "agcr"]"#,
        r#"["ofwar", "agcr"]"#,
        r#"["agcr", "autoftl"]"#,
        r#"["ofwar", "agcr", "autoftl"]"#,
    ] {
        let drive = description(&format!("{}\n[policy.combine]\nmembers = {members}\n", derived()), "combine");
        for load in [Load::Rest, Load::Writes, Load::Mixed] {
            let (auditor, drive) = audited(&drive, &drive, load).unwrap_or_else(|why| panic!("{members}, {load:?}: {why}"));
            assert_eq!(drive.map().retention_report().0, 0, "{members}, {load:?}: misses");
            assert!(auditor.limited > 1000, "{members}, {load:?}: only {} pages had a limit", auditor.limited);
            assert!(reprogrammed(&drive) > 500, "{members}, {load:?}: only {} units were moved for theirs", reprogrammed(&drive));
        }
    }
}

/// The auditor can fail: with a limit of 2 s instead of the drive's 3 s it finds data past its limit.
#[test]
fn the_auditor_sees_a_limit_that_is_not_kept() {
    let shorter = description(&DRIVE.replace("3s", "2s"), "baseline");
    let why = audited(&description(DRIVE, "baseline"), &shorter, Load::Mixed).err().expect("the drive goes by three seconds");
    assert!(why.contains("past its limit of 2s"), "{why}");
}
