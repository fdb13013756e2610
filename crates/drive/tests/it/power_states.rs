//! Power states: what a command pays that wakes the drive, when the drive enters a state by itself, the energy that its
//! parts save, and what they are refused for.

use crate::common::{FEW_BLOCKS, READ, Rig, assert_parts, description, latency, load, read, saved, session, with};
use crate::power_model::POWER;
use drive::Drive;
use kit::{Cause, Op, SimTime};
use serde_json::Value;

/// The first state for 1 ms, then the second for 10 ms, then the third.
const STATES: &str = "power.state=[\
    {max_power=\"8W\",idle_time=\"1ms\",idle_state=2},\
    {max_power=\"5W\"},\
    {max_power=\"50mW\",non_operational=true,entry_latency=\"20us\",exit_latency=\"70us\",idle_time=\"10ms\",idle_state=3,\
     parts={cores=\"3mW\",link=\"10mW\",static=\"30mW\"}},\
    {max_power=\"5mW\",non_operational=true,entry_latency=\"300us\",exit_latency=\"4ms\",idle_power=\"4mW\",\
     parts={cores=\"0W\",link=\"1mW\",static=\"4mW\",interconnect=\"0W\",ecc=\"0W\"}}]";
/// Parts with a power, for [`STATES`].
const PARTS: &[&str] = &[
    "host.interface={kind=\"nvme\",generation=4,lanes=4}",
    "controller.firmware={kind=\"cores\",count=2,clock=\"400MHz\"}",
    "controller.interconnect={kind=\"ahb\"}",
    "ecc.errors={kind=\"constant\",rates=[1e-3]}",
    "ecc.decoder={kind=\"engines\",decoders=2}",
    "power.ecc={encode=\"10nJ\",decode=\"21nJ\",idle=\"5mW\"}",
    "power.cores={active=\"150mW\",idle=\"20mW\"}",
    "power.interconnect={byte=\"5pJ\",idle=\"30mW\"}",
    "power.link={to_device=\"400mW\",to_host=\"420mW\",idle=\"150mW\"}",
    "power.static={power=\"300mW\"}",
];
/// The states without parts, for a drive of flash alone.
const BARE: &str = "power.state=[\
    {max_power=\"8W\",idle_time=\"1ms\",idle_state=1},\
    {max_power=\"50mW\",non_operational=true,entry_latency=\"20us\",exit_latency=\"70us\",idle_time=\"10ms\",idle_state=2},\
    {max_power=\"5mW\",non_operational=true,entry_latency=\"300us\",exit_latency=\"4ms\",idle_power=\"4mW\"}]";
const FILL: &str = "state.precondition=fill";

fn rig() -> Rig {
    Rig::new(&with(POWER, &[FILL, BARE]))
}

/// Returns the causes of a read that waits `wake` ns until the drive serves commands.
fn woken(wake: u64) -> Vec<(Cause, u64)> {
    READ.into_iter().chain([(Cause::Wake, wake)]).collect()
}

/// The read before ends at 53,704 ns, so that the drive begins to enter the state at 1,053,704. Before, a command waits
/// for nothing; then for what is left of the entry and the exit; later exactly for the exit.
#[test]
fn a_command_pays_exactly_the_exit_of_the_state() {
    let end: u64 = READ.iter().map(|(_, ns)| ns).sum();
    let due = end + 1_000_000;
    let second = due + 20_000 + 10_000_000;
    let cases = [
        (due - 1, 0),
        (due + 1, 19_999 + 70_000),
        (due + 20_000, 70_000),
        (due + 5_000_000, 70_000),
        (second - 1, 70_000),
        (second + 1, 299_999 + 4_000_000),
        (second + 300_000, 4_000_000),
        (second + 3_600_000_000_000, 4_000_000),
    ];
    for (at, wake) in cases {
        let mut rig = rig();
        assert_parts("the first read", &rig.one(Op::Read, 0, 1), &READ);
        let tag = rig.submit(Op::Read, 8, 1, SimTime(at));
        rig.drain();
        assert_parts(&format!("at {at}"), &rig.row(tag), &woken(wake));
        // The next one finds the drive awake.
        assert_parts("the next", &rig.one(Op::Read, 16, 1), &READ);
        let states = rig.drive.energy().and_then(|energy| energy.states).expect("the drive has states");
        assert_eq!(states.wakes, u64::from(wake > 0), "{at}");
        let times: u64 = states.states.iter().map(|state| state.time_ns).sum();
        assert_eq!(times + states.transition_ns, rig.drive.now().0, "every instant is in a state or between two");
    }
}

/// All commands that arrive while the drive leaves a state wait for the same instant.
#[test]
fn commands_wake_the_drive_together() {
    let mut rig = rig();
    let at = 5_000_000;
    let tags =
        [(0, 0), (8, 10_000), (16, 69_999), (24, 70_000)].map(|(unit, later)| rig.submit(Op::Read, unit, 1, SimTime(at + later)));
    rig.drain();
    let wakes = tags.map(|tag| rig.row(tag).causes.get(Cause::Wake).0);
    assert_eq!(wakes, [70_000, 60_000, 1, 0]);
    for tag in tags {
        let row = rig.row(tag);
        assert_eq!(row.causes.total().0, latency(&row));
    }
    assert_eq!(rig.drive.energy().and_then(|energy| energy.states).map(|states| states.wakes), Some(1));
}

fn run(sets: &[&str], job: &str) -> Value {
    session("base = \"tiny\"", sets, None, job).unwrap_or_else(|problems| panic!("{problems}")).summary
}

/// Digits of an energy \[aJ\].
fn exact(value: &Value) -> u128 {
    value.as_str().unwrap_or_else(|| panic!("{value}")).parse().expect("digits")
}

/// Reads with pauses, so that the drive goes to both states: what each part draws less there adds up to what is saved,
/// and both states change nothing else. Decoders and interconnect save in the third state alone.
#[test]
fn the_saving_is_that_of_the_parts_in_their_states() {
    let job = "[a]\nrw=randread\nbs=4k\niodepth=1\nthinktime=14ms\nnumber_ios=20\n";
    let plain = with(&with(POWER, PARTS), &[FILL]);
    let summary = run(&with(&plain, &[STATES]), job);
    let states = &summary["energy"]["states"];
    let time = |state: usize| states["by_state"][state]["time_ns"].as_u64().map(u128::from).expect("a time");
    let (second, third) = (time(2), time(3));
    assert!(second > 100_000_000 && third > 10_000_000 && time(1) == 0, "{states}");
    let span = u128::from(summary["simulated_ns"].as_u64().expect("a time"));
    let all: u128 = (0..4).map(time).sum::<u128>() + u128::from(states["transition_ns"].as_u64().expect("a time"));
    assert_eq!(all, span);
    let mw = 1_000_000;
    // Two cores, two directions, two decoders for each of the two channels.
    // The announcement of a command that wakes the drive takes 4 ns of the link, which has its own power meanwhile.
    let wakes = states["wakes"].as_u64().map(u128::from).expect("a count");
    let saved =
        second * (2 * 17 + 2 * 140 + 270) * mw + third * (2 * 20 + 2 * 149 + 296 + 30 + 4 * 5) * mw - wakes * 4 * 149 * mw;
    assert_eq!(wakes, 19);
    assert_eq!(exact(&states["saved_aj"]), saved);
    assert_eq!(states["by_state"][3]["stated_j"].as_f64(), Some(4e6 * third as f64 * 1e-18));
    assert_eq!(states["by_state"][2]["stated_j"], Value::Null);
    // A state with parts of its own, and one without: the same run.
    let bare = run(&with(&plain, &[BARE]), job);
    assert_eq!(bare["latency"], summary["latency"]);
    assert_eq!(exact(&bare["energy"]["total_aj"]), exact(&summary["energy"]["total_aj"]) + saved);
    assert_eq!(exact(&bare["energy"]["states"]["saved_aj"]), 0);
    assert!(summary["causes"]["read"]["wake"].as_f64().is_some_and(|wake| wake > 0.0), "{}", summary["causes"]);
}

/// States that are never reached change no latency, and a drive without states has none in its results.
#[test]
fn a_drive_that_stays_awake_is_as_one_without_states() {
    let job = "[m]\nrw=randrw\nrwmixread=60\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=3000\n";
    for more in [&[][..], PARTS] {
        let plain = with(&with(POWER, more), &[FILL]);
        let with_states = run(&with(&plain, &[BARE]), job);
        let mut without = run(&plain, job);
        assert_eq!(without["energy"]["states"], Value::Null);
        assert_eq!(with_states["energy"]["states"]["wakes"], 0);
        without["energy"]["states"] = with_states["energy"]["states"].clone();
        for key in ["energy", "latency", "causes", "simulated_ns"] {
            assert_eq!(with_states[key], without[key], "{key}");
        }
    }
}

/// A drive that works for itself does not enter a state: the write buffer is programmed first.
#[test]
fn own_work_delays_the_transition() {
    let buffer = ["buffer.policy=write_back", "buffer.capacity=\"1MiB\"", "buffer.flush_after=1ms", "flash.program_time=1700us"];
    let mut rig = Rig::new(&with(&with(POWER, FEW_BLOCKS), &with(&buffer, &[BARE])));
    let end = rig.one(Op::Write, 0, 1).completed.0;
    rig.run_until(SimTime(end + 5_000_000));
    let states = rig.drive.energy().and_then(|energy| energy.states).expect("the drive has states");
    // The program goes on 1 ms after the write, so that the idle time begins anew.
    assert_eq!(states.states[0].time_ns, end + 2_000_000);
    assert_eq!(states.states[1].entries, 1);
}

/// A drive that is saved in a state, or before it, goes on exactly.
#[test]
fn a_saved_drive_goes_on_in_its_state() {
    let description = description(&with(POWER, &[FILL, BARE]));
    for at in [500_000, 1_060_000, 5_000_000, 11_200_000, 50_000_000] {
        let go_on = |rig: &mut Rig| {
            let now = rig.drive.now();
            let tag = rig.submit(Op::Read, 8, 1, now + kit::Nanos(100_000));
            rig.drain();
            let first = rig.row(tag);
            rig.run_until(rig.drive.now() + kit::Nanos(3_000_000));
            let second = rig.one(Op::Read, 16, 1);
            [first, second].map(|row| (row.submitted, row.completed, row.causes))
        };
        let mut rig = Rig::of(&description);
        rig.one(Op::Read, 0, 1);
        rig.run_until(SimTime(at));
        let file = saved(&mut rig.drive, &description);
        let mut other = Rig::of(&description);
        other.drive = Drive::new(&description, 1).expect("the tables fit");
        assert!(load(&mut other.drive, &description, &file).expect("it is whole").exact);
        other.drive.restart_measurement();
        other.drive.statistics.log = Some(Vec::new());
        rig.drive.go_on();
        other.drive.go_on();
        assert_eq!(rig.drive.now(), other.drive.now());
        assert_eq!(go_on(&mut rig), go_on(&mut other), "{at}");
    }
}

#[test]
fn states_that_make_no_sense_are_refused() {
    let refused = |more: &[&str], expected: &str| {
        let problems = read(&with(POWER, more)).map(|_| ()).expect_err(expected).to_string();
        assert!(problems.contains(expected), "{problems}");
    };
    refused(&["power.state=[{max_power=\"1W\"},{max_power=\"2W\",non_operational=true}]"], "power.state[1].max_power");
    refused(&["power.state=[{max_power=\"1W\",non_operational=true}]"], "power.state[0].non_operational");
    refused(&["power.state=[{max_power=\"1W\",idle_time=\"1ms\",idle_state=1}]"], "power.state[0].idle_state");
    refused(&["power.state=[{max_power=\"-1W\"}]"], "a negative value");
    refused(&["power.state=[{max_power=\"1W\",exit_latency=\"-1us\"}]"], "exit_latency");
    refused(&["power.state=[{max_power=\"1W\",speed=3}]"], "unknown field `speed`");
    refused(&[STATES], "power.state[2].parts.cores: the part has no idle power");
    let warm = STATES.replace("link=\"10mW\"", "link=\"151mW\"");
    refused(&with(PARTS, &[&warm]), "power.state[2].parts.link: 151mW: expected at most its idle power, 150mW");
}
