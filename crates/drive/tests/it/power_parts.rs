//! Energy of the parts beside the flash: by hand from amounts of work, from utilisations, and refused where the drive
//! lacks the part.

use crate::common::{session, with};
use drive::options::RunOptions;
use drive::session::{Files, RunRequest};
use serde_json::{Value, json};
use workload::Input;

/// A drive with every part that draws power.
const PARTS: &[&str] = &[
    "host.interface={kind=\"nvme\",generation=4,lanes=4}",
    "controller.firmware={kind=\"cores\",count=3,clock=\"400MHz\"}",
    "controller.interconnect={kind=\"ahb\"}",
    "controller.dram={kind=\"ddr\",grade=\"ddr3-1333\",width_bits=64,size=\"2GiB\"}",
    "ecc.errors={kind=\"constant\",rates=[3e-3]}",
    "ecc.decoder={kind=\"engines\",decoders=2}",
    "ecc.plan=\"read_retry\"",
];
const FLASH: &[&str] = &[
    "power.supply=3.3V",
    "power.idle=10uA",
    "power.read={kind=\"constant\",current=\"12mA\"}",
    "power.program={kind=\"constant\",current=\"10mA\"}",
    "power.erase={kind=\"constant\",current=\"9mA\"}",
];
const POWER: &[&str] = &[
    "power.dram={supply=\"1.5V\",devices=8,idd0=\"130mA\",idd2n=\"70mA\",idd3n=\"90mA\",idd4r=\"255mA\",idd4w=\"300mA\",idd5=\"305mA\"}",
    "power.ecc={encode=\"10nJ\",decode=\"21nJ\",idle=\"5mW\"}",
    "power.cores={active=\"150mW\",idle=\"20mW\"}",
    "power.interconnect={byte=\"5pJ\",idle=\"30mW\"}",
    "power.link={to_device=\"400mW\",to_host=\"420mW\",idle=\"150mW\",byte=\"3pJ\"}",
    "power.static={power=\"300mW\"}",
];
const MIXED: &str = "[m]\nrw=randrw\nrwmixread=60\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=3000\n";
/// Milliwatts in nW, and picojoules in aJ.
const MW: u128 = 1_000_000;
const PJ: u128 = 1_000_000;

fn all(more: &[&'static str]) -> Vec<&'static str> {
    with(&with(&with(PARTS, FLASH), POWER), more)
}

fn run(sets: &[&str], job: &str) -> Value {
    let sets = with(&["state.precondition=fill"], sets);
    session("base = \"tiny\"", &sets, None, job).unwrap_or_else(|problems| panic!("{problems}")).summary
}

/// Returns the exact energy of a part \[aJ\].
fn exact(summary: &Value, part: &str) -> u128 {
    let digits = summary["energy"][format!("{part}_aj")].as_str().unwrap_or_else(|| panic!("{part}: {}", summary["energy"]));
    digits.parse().expect("digits")
}

/// Returns an amount of work; those of zero are left out.
fn amount(summary: &Value, name: &str) -> u128 {
    u128::from(summary["energy"]["amounts"][name].as_u64().unwrap_or(0))
}

/// Returns the time for which a resource was busy, from its utilisation \[ns\].
fn busy(summary: &Value, resource: &str) -> u128 {
    let share = summary["utilisation"][resource].as_f64().expect("a resource");
    (share * span(summary) as f64).round() as u128
}

fn span(summary: &Value) -> u128 {
    u128::from(summary["simulated_ns"].as_u64().expect("a time"))
}

/// Adds the energy of a list in `energy`, given in digits.
fn sum(summary: &Value, list: &str) -> u128 {
    let digits = summary["energy"][list].as_array().expect("a list").iter();
    digits.map(|value| value.as_str().expect("digits").parse::<u128>().expect("digits")).sum()
}

/// Checks every part of a run of [`all`] by its figures, and all sums.
#[track_caller]
fn assert_by_hand(summary: &Value) {
    let span = span(summary);
    // DDR3-1333 (DRAMSim2): tCK 1.5 ns, tRAS 24, tRC 34, tRFC 107 cycles, a burst takes 4; 8 devices at 1.5 V.
    let of_cycle = |current: u128| current * 1_500 * 1_500 * 8;
    let active = of_cycle(130_000 * 34 - 90_000 * 24 - 70_000 * 10) * amount(summary, "dram_activates");
    let read = of_cycle(165_000 * 4) * amount(summary, "dram_bursts_read");
    let written = of_cycle(210_000 * 4) * amount(summary, "dram_bursts_written");
    let refreshed = of_cycle(235_000 * 107) * amount(summary, "dram_refreshes");
    let standby = 70_000 * span * 1_000 * 1_500 * 8 + of_cycle(20_000) * amount(summary, "dram_cycles_open");
    assert_eq!(exact(summary, "dram"), (active + read + written + refreshed + standby) / 1_000);
    // Refreshes and open rows within their bounds.
    assert!((amount(summary, "dram_refreshes") as f64 / (span as f64 / 7_800.0) - 1.0).abs() < 0.01);
    assert!(amount(summary, "dram_cycles_open") * 3 / 2 <= span);

    // The data that was decoded: each attempt at each codeword.
    let errors = &summary["read_errors"];
    let codewords = errors["codewords"].as_u64().expect("a count");
    let decoded = amount(summary, "decoded_hard");
    assert!(decoded > u128::from(codewords), "{decoded} {codewords}: reads were repeated");
    let programmed = summary["flash"]["programs"].as_object().expect("reasons").iter();
    let units: u64 =
        programmed.filter(|(reason, _)| *reason != "padding").map(|(_, units)| units.as_u64().expect("a count")).sum();
    let per_unit = amount(summary, "encoded") / u128::from(units);
    assert_eq!(amount(summary, "encoded"), per_unit * u128::from(units));
    let decoders = 2 * 2;
    let ecc = amount(summary, "encoded") * 10_000 * PJ + decoded * 21_000 * PJ + span * decoders * 5 * MW;
    assert_eq!(exact(summary, "ecc"), ecc);

    // The resources' busy times, as the utilisations state them.
    let cores: u128 = (0..3).map(|core| busy(summary, &format!("core_{core}"))).sum();
    assert_eq!(exact(summary, "core"), cores * 150 * MW + (3 * span - cores) * 20 * MW);
    let (to_device, to_host) = (busy(summary, "link_to_device"), busy(summary, "link_to_host"));
    let link = to_device * 400 * MW + to_host * 420 * MW + (2 * span - to_device - to_host) * 150 * MW;
    assert_eq!(exact(summary, "link"), link + amount(summary, "link_bytes") * 3 * PJ);
    let bytes = amount(summary, "interconnect_bytes");
    assert_eq!(exact(summary, "interconnect"), bytes * 5 * PJ + span * 30 * MW);
    assert_eq!(exact(summary, "static"), span * 300 * MW);
    assert_sums(summary);
}

/// Nothing is lost: parts, dies, channels and causes add up.
#[track_caller]
fn assert_sums(summary: &Value) {
    let energy = &summary["energy"];
    let parts = energy["parts"].as_array().expect("parts");
    let total: u128 = parts.iter().map(|part| exact(summary, part.as_str().expect("a name"))).sum();
    assert_eq!(exact(summary, "total"), total);
    assert_eq!((sum(summary, "by_die_aj"), sum(summary, "by_channel_aj")), (exact(summary, "flash"), exact(summary, "flash")));
    let joules =
        |table: &str| energy[table].as_object().expect("a table").values().map(|value| value.as_f64().expect("J")).sum::<f64>();
    let near = |found: f64, expected: &Value| (found / expected.as_f64().expect("J") - 1.0).abs() < 1e-12;
    assert!(near(joules("by_component"), &energy["total_j"]) && near(joules("by_cause"), &energy["flash_j"]));
    let mean = energy["total_j"].as_f64().expect("J") / (span(summary) as f64 * 1e-9);
    assert!(near(mean, &energy["mean_w"]));
}

#[test]
fn each_part_is_its_figures_times_its_work() {
    let summary = run(&all(&[]), MIXED);
    assert_eq!(summary["energy"]["parts"], json!(["flash", "dram", "ecc", "core", "interconnect", "link", "static"]));
    assert_by_hand(&summary);
    let causes = summary["energy"]["by_cause"].as_object().expect("causes");
    for cause in ["host_read", "host_write", "retry", "idle"] {
        assert!(causes.contains_key(cause), "{cause}: {causes:?}");
    }
    // 12 mA for 50 us at each attempt of a read.
    let attempts = summary["flash"]["operations"]["read"].as_f64().expect("a count");
    let reads = causes["host_read"].as_f64().expect("J") + causes["retry"].as_f64().expect("J");
    assert!((reads / (attempts * 12e-3 * 50e-6 * 3.3) - 1.0).abs() < 1e-9, "{reads} {attempts}");
    let commands = summary["latency"]["read"]["count"].as_f64().expect("a count");
    assert!((summary["energy"]["read_command_j"].as_f64().expect("J") * commands / reads - 1.0).abs() < 1e-12);
}

/// One write of 4 KiB: 64 bursts of 64 B to the memory and one for the map; 64 from it, when the page is programmed. It
/// crosses the bus twice.
#[test]
fn a_write_by_hand() {
    let summary = run(&all(&[]), "[w]\nrw=write\nbs=4k\nnumber_ios=1\n");
    assert_by_hand_of_one_write(&summary);
    let energy = &summary["energy"];
    let program = 600e-6 * 10e-3 * 3.3;
    for key in ["write_command_j", "written_4k_j"] {
        assert!((energy[key].as_f64().expect("J") / program - 1.0).abs() < 1e-12, "{key}: {}", energy[key]);
    }
    assert!(energy["read_command_j"].is_null());
    let per_byte = energy["per_host_byte_j"].as_f64().expect("J") * 4096.0;
    assert!((per_byte / energy["total_j"].as_f64().expect("J") - 1.0).abs() < 1e-12);
    assert!(energy["written_unit_j"].as_f64() > energy["written_4k_j"].as_f64(), "dies at rest count");
}

fn assert_by_hand_of_one_write(summary: &Value) {
    let found = ["dram_bursts_written", "dram_bursts_read", "interconnect_bytes", "encoded"].map(|name| amount(summary, name));
    assert_eq!(found, [64 + 1, 64, 2 * 4096, 1], "{}", summary["energy"]["amounts"]);
    // The command, its data, and the completion.
    assert!((4096 + 64..4096 + 200).contains(&amount(summary, "link_bytes")), "{}", summary["energy"]["amounts"]);
}

/// Energy of iterations: 1 us each, of LDPC decoders.
#[test]
fn iterations_are_counted_by_their_time() {
    let ldpc = [
        "flash.code={kind=\"ldpc\"}",
        "ecc.errors={kind=\"constant\",rates=[6e-3]}",
        "ecc.plan={kind=\"soft\"}",
        "power.ecc={encode=\"0pJ\",decode=\"1nJ\",decode_soft=\"7nJ\",iteration=\"3nJ\"}",
    ];
    let summary = run(&all(&ldpc), MIXED);
    let (hard, soft, time) =
        (amount(&summary, "decoded_hard"), amount(&summary, "decoded_soft"), amount(&summary, "decoding_ns"));
    assert!(time >= 1_000 * (hard + soft), "an iteration at least for each codeword");
    assert_eq!(exact(&summary, "ecc"), hard * 1_000 * PJ + soft * 7_000 * PJ + time * 3 * PJ);
}

/// Commands of a ramp are left out, and so is what the parts did and drew meanwhile.
#[test]
fn a_measurement_begins_with_the_statistics() {
    let options = RunOptions { skip_commands: 1_000, ..RunOptions::default() };
    let request = RunRequest::new("test.toml", "base = \"tiny\"").precondition("fill").sets(&all(&[])).run(options);
    let outcome = drive::session::run(&request, &Input::text("workload", MIXED), Files::default(), &mut |_| true);
    let summary = outcome.unwrap_or_else(|problems| panic!("{problems}")).summary;
    assert_eq!(summary["latency"]["all"]["count"], 2_000);
    assert_by_hand_of_a_part(&summary);
    let whole = run(&all(&[]), MIXED);
    assert!(exact(&summary, "dram") < exact(&whole, "dram") && amount(&summary, "link_bytes") < amount(&whole, "link_bytes"));
}

fn assert_by_hand_of_a_part(summary: &Value) {
    let cores: u128 = (0..3).map(|core| busy(summary, &format!("core_{core}"))).sum();
    assert_eq!(exact(summary, "core"), cores * 150 * MW + (3 * span(summary) - cores) * 20 * MW);
    assert_eq!(exact(summary, "static"), span(summary) * 300 * MW);
    assert!((amount(summary, "dram_refreshes") as f64 / (span(summary) as f64 / 7_800.0) - 1.0).abs() < 0.01);
    assert_sums(summary);
}

/// No part draws power while the drive has none: the memory is not refreshed, and the time does not count.
#[test]
fn a_time_without_power_costs_nothing() {
    let options = RunOptions { power_cut: Some("20ms,graceful".into()), power_down: Some("10s".into()), ..RunOptions::default() };
    let request = RunRequest::new("test.toml", "base = \"tiny\"").precondition("fill").sets(&all(&[])).run(options);
    let outcome = drive::session::run(&request, &Input::text("workload", MIXED), Files::default(), &mut |_| true);
    let summary = outcome.unwrap_or_else(|problems| panic!("{problems}")).summary;
    assert!(summary["power_failure"]["down_ns"] == json!(10_000_000_000u64) && span(&summary) < 10_000_000_000);
    assert_by_hand_of_a_part(&summary);
}

/// Memories with a data rate, and a link whose directions share the wire.
#[test]
fn plain_memories_and_links_by_hand() {
    let plain = [
        "controller.dram={kind=\"bandwidth\",rate=\"1GB/s\"}",
        "host.interface=sata",
        "power.link={to_device=\"400mW\",to_host=\"400mW\",idle=\"150mW\"}",
    ];
    let summary = run(&all(&plain), MIXED);
    let (span, dram, link) = (span(&summary), busy(&summary, "dram"), busy(&summary, "link"));
    // Above active standby: the mean of reads and writes, 187.5 mA.
    let expected = (187_500 * dram + 90_000 * span) * 1_500 * 8;
    assert_eq!(exact(&summary, "dram"), expected);
    assert_eq!(exact(&summary, "link"), link * 400 * MW + (span - link) * 150 * MW);
    assert_sums(&summary);
}

/// Parts without a section have no energy, and are not in the sum.
#[test]
fn parts_without_a_section_are_null() {
    let summary = run(&with(&with(PARTS, FLASH), &["power.static={power=\"1W\"}"]), MIXED);
    let energy = &summary["energy"];
    assert_eq!(energy["parts"], json!(["flash", "static"]));
    for part in ["dram", "ecc", "core", "interconnect", "link"] {
        assert!(energy[format!("{part}_j")].is_null() && energy[format!("{part}_aj")].is_null(), "{part}");
    }
    assert!(energy["amounts"] == json!({}) && energy["by_work"] == json!({}), "{energy}");
    assert_sums(&summary);
}

#[test]
fn powers_that_do_not_suit_the_drive_are_refused() {
    let plain: &[&str] = &[];
    let dram = "power.dram={supply=\"1.5V\",devices=8,idd0=\"130mA\",idd2n=\"70mA\",idd3n=\"90mA\",idd4r=\"255mA\",idd4w=\"300mA\",idd5=\"305mA\"}";
    for (parts, set, told) in [
        (plain, dram, "power.dram: no memory is described"),
        (plain, POWER[1], "power.ecc: stored data has no errors"),
        (plain, POWER[2], "power.cores: no cores are described"),
        (plain, POWER[3], "power.interconnect: no interconnect is described"),
        (plain, POWER[4], "power.link: no link is described"),
        (PARTS, "power.cores={active=\"-1mW\",idle=\"1mW\"}", "power.cores.active: \"-1mW\": a negative value"),
        (PARTS, "power.cores={active=\"10mW\",idle=\"20mW\"}", "power.cores.active: 10mW: expected at least idle = 20mW"),
        (PARTS, "power.cores={active=\"10mW\"}", "idle"),
        (PARTS, "power.cores={active=\"10mW\",idle=\"1mW\",sleep=\"1mW\"}", "sleep"),
        (PARTS, "power.static={power=\"3\"}", "power.static.power: \"3\": a number without a unit"),
        (PARTS, "power.static={power=\"2000W\"}", "power.static.power: 2000W: expected at most 1000W"),
        (PARTS, "power.ecc={encode=\"1nJ\",decode=\"1nJ\",iteration=\"1nJ\"}", "power.ecc.iteration: no decoder iterates"),
        (PARTS, "power.interconnect={byte=\"2J\",idle=\"1mW\"}", "power.interconnect.byte: 2J: expected at most 1mJ"),
    ] {
        let sets = with(&with(parts, FLASH), &[set]);
        let problems = session("base = \"tiny\"", &sets, None, MIXED).err().unwrap_or_else(|| panic!("{set}")).to_string();
        assert!(problems.contains(told), "{set}: {problems}");
    }
    for (set, told) in [
        ("power.dram.idd3n=60mA", "power.dram.idd3n: 60mA: expected at least idd2n = 70mA"),
        (
            "power.dram.idd0=80mA",
            "power.dram.idd0: 80mA: expected at least 84118uA, the mean over tRC of idd3n (for tRAS) and idd2n",
        ),
        ("power.dram.supply=0V", "power.dram.supply: 0mV: expected 1mV to 20V"),
        ("power.dram.devices=0", "power.dram.devices"),
        ("ecc.decoder=ideal", "power.ecc.idle: the number of decoders is not described"),
        ("host.interface=sata", "power.link.to_host: 420mW: both directions share the wire"),
    ] {
        let problems = session("base = \"tiny\"", &all(&[set]), None, MIXED).err().unwrap_or_else(|| panic!("{set}")).to_string();
        assert!(problems.contains(told), "{set}: {problems}");
    }
}

/// Figures of power that stand side by side count the same parts: a peak of the flash is at least the mean of the
/// flash, also where the mean of all parts is above it.
#[test]
fn a_peak_is_at_least_the_mean_of_the_same_parts() {
    let idle = "[m]\nrw=randread\nbs=4k\nrate_iops=2000\nnorandommap=1\nio_size=1g\nnumber_ios=400\n";
    for job in [idle, MIXED] {
        let summary = run(&all(&[]), job);
        let figure = |key: &str| summary["energy"][key].as_f64().unwrap_or_else(|| panic!("{key}: {}", summary["energy"]));
        let seconds = summary["simulated_ns"].as_f64().expect("a time") / 1e9;
        assert!((figure("flash_mean_w") / (figure("flash_j") / seconds) - 1.0).abs() < 1e-9);
        assert!(figure("flash_peak_w") >= figure("flash_mean_w"), "{}", summary["energy"]);
        assert_eq!(figure("flash_peak_w"), figure("peak_w"));
        assert!(job != idle || figure("mean_w") > figure("flash_peak_w"), "the case of the older names: {}", summary["energy"]);
    }
}
