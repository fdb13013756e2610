//! Retention relaxation for codes (POLICIES 3): the encoder as a resource, and the data that must or must not pass it.

use crate::common::{ONE_DIE, Rig, assert_parts, latency, session, with};
use ftl::policy::{Dispatch, ModePolicy, Moving, Needs, PageMove, Placed, View, WriteAnswer};
use kit::{Cause, Lpn, ModeId, Nanos, Op, Reason, Record, SimTime};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const COMMAND: u64 = 361;
const DATA: u64 = 3414;
const PROGRAM: u64 = 600_000;
const ONE_PROGRAM: u64 = COMMAND + DATA + PROGRAM;
const ONE_READ: u64 = 290 + 50_000 + DATA;
/// 4 KiB at 20 MB/s.
const ENCODE: u64 = 204_800;

/// Both modes have the same program time; `normal` has the strong code.
const CODES: &[&str] =
    &["flash.write_mode[1].program_scale=1.0", "flash.encoder=[{code = 'ldpc'}]", "flash.write_mode[0].code=ldpc"];
const AT_20: &str = "flash.encoder[0].throughput=20MB/s";

fn coded<'a>(more: &[&'a str]) -> Vec<&'a str> {
    with(CODES, more)
}

/// Returns the overrides of a drive with one die under `rr_ecc`. Host writes have the weak code and a retention limit
/// of 20 s.
fn relaxed<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = [
        "policy.kind=rr_ecc",
        "flash.write_mode[1].retention=20s",
        "ftl.retention_margin=1s",
        "ftl.overprovisioning=0.9",
        "flash.blocks_per_plane=32",
    ];
    with(&with(&with(ONE_DIE, CODES), &short), more)
}

/// Returns the number of units that the only encoder has encoded so far, at `each` nanoseconds per unit.
fn encoded(rig: &Rig, each: u64) -> u64 {
    let [encoder] = rig.drive.controller().servers() else { panic!("the encoder is the only server") };
    let busy = encoder.busy(rig.drive.now()).0;
    assert_eq!(busy % each, 0, "{busy} ns: something is being encoded");
    busy / each
}

/// Returns the numbers of units moved according to the records: units that already had the strong code (mode 0), and
/// units that had the weak one.
fn moved(records: &[Record]) -> [u64; 2] {
    let mut modes = std::collections::BTreeMap::new();
    let mut moves = [0; 2];
    for record in records {
        match *record {
            Record::Bound { lpn, mode, .. } => {
                modes.insert(lpn, mode);
            }
            Record::Relocated { lpn, mode, .. } => {
                assert_eq!(mode, ModeId(0), "what is moved has the full guarantee");
                let before = modes.insert(lpn, mode).expect("written in this run");
                moves[before.index()] += 1;
            }
            _ => {}
        }
    }
    moves
}

/// Writes 500 units, then overwrites 4,000 of them at random. Blocks with data of both codes are collected, some of it
/// for the second time.
fn churn(rig: &mut Rig) {
    let mut draws = kit::Rng::stream(1, "churn");
    for unit in 0..500 {
        rig.one(Op::Write, unit, 1);
    }
    for _ in 0..4000 {
        rig.one(Op::Write, draws.below(500), 1);
    }
}

#[test]
fn a_write_takes_encoding_transfer_and_program_to_the_nanosecond() {
    let mut rig = Rig::new(&with(ONE_DIE, &coded(&["policy.kind=bch_ldpc", AT_20])));
    let write = rig.submit(Op::Write, 0, 1, SimTime(0));
    rig.run_until(SimTime(ENCODE + ONE_PROGRAM - 1));
    assert!(!rig.is_done(write), "a nanosecond early");
    rig.run_until(SimTime(ENCODE + ONE_PROGRAM));
    let parts = [(Cause::EccWait, ENCODE), (Cause::BusCommand, COMMAND), (Cause::Transfer, DATA), (Cause::Program, PROGRAM)];
    assert_parts("alone", &rig.row(write), &parts);
    // A second write is not affected by the first.
    let again = rig.one(Op::Write, 1, 1);
    assert_parts("again", &again, &parts);
}

#[test]
fn first_come_first_served_and_the_encoder_is_the_limit() {
    // Four dies could program one unit every 151 us; the encoder finishes one every 205 us.
    let mut rig = Rig::new(&coded(&["policy.kind=bch_ldpc", AT_20]));
    let count = 200;
    let tags: Vec<u32> = (0..count).map(|unit| rig.submit(Op::Write, unit, 1, SimTime(0))).collect();
    rig.drain();
    for (place, &tag) in (1..).zip(&tags) {
        let row = rig.row(tag);
        assert_eq!(row.completed.0, place * ENCODE + ONE_PROGRAM, "the write of place {place}");
        let ecc = row.causes.get(Cause::EccWait).0;
        assert!((ENCODE..=4 * ENCODE).contains(&ecc), "waits for those before it on other dies: {ecc}");
        assert_eq!(row.causes.total().0, latency(&row), "causes sum to latency");
    }
    assert_eq!(encoded(&rig, ENCODE), count);
}

#[test]
fn a_die_that_waits_for_its_data_serves_reads() {
    let mut rig = Rig::new(&with(ONE_DIE, &coded(&["policy.kind=bch_ldpc", AT_20])));
    rig.one(Op::Write, 0, 1);
    let start = rig.drive.now().0;
    let write = rig.submit(Op::Write, 1, 1, SimTime(start));
    let early = rig.submit(Op::Read, 0, 1, SimTime(start + 10_000));
    let late = rig.submit(Op::Read, 0, 1, SimTime(start + 190_000));
    let behind = rig.submit(Op::Read, 0, 1, SimTime(start + 200_000));
    rig.drain();
    assert_eq!(latency(&rig.row(early)), ONE_READ);
    assert_eq!(latency(&rig.row(late)), ONE_READ);
    // The program continues when the read has left the die, before a read that arrived later.
    let parts = [
        (Cause::EccWait, ENCODE),
        (Cause::DieHostRead, 190_000 + ONE_READ - ENCODE),
        (Cause::BusCommand, COMMAND),
        (Cause::Transfer, DATA),
        (Cause::Program, PROGRAM),
    ];
    assert_parts("the write", &rig.row(write), &parts);
    assert_eq!(latency(&rig.row(behind)), 190_000 + ONE_READ + ONE_PROGRAM + ONE_READ - 200_000);
}

#[test]
fn the_padding_of_a_program_is_not_encoded() {
    let sets = coded(&["policy.kind=bch_ldpc", AT_20, "flash.page_size=8KiB"]);
    let mut rig = Rig::new(&with(ONE_DIE, &sets));
    assert_eq!(rig.one(Op::Write, 0, 1).causes.get(Cause::EccWait), Nanos(ENCODE));
    assert_eq!(rig.one(Op::Write, 2, 2).causes.get(Cause::EccWait), Nanos(2 * ENCODE));
}

#[test]
fn an_encoder_without_limit_costs_nothing() {
    let job = "rw=randrw\nbs=4k\niodepth=8\nsize=2m\nio_size=40m\nnorandommap=1";
    let ends = |sets: &[&str]| {
        let small = ["flash.blocks_per_plane=16", "ftl.overprovisioning=0.9"];
        let mut rig = Rig::new(&with(&with(ONE_DIE, sets), &small));
        rig.replay(job);
        (rig.drive.now(), rig.operations(), rig.drive.flash().utilisation(rig.drive.now(), &Default::default()).channels)
    };
    for policy in ["policy.kind=bch_ldpc", "policy.kind=rr_ecc"] {
        let plain = ends(&[policy, CODES[0]]);
        assert!(plain.1[2] > 0, "blocks are collected");
        assert_eq!(ends(&coded(&[policy])), plain, "{policy}");
    }
    assert!(ends(&coded(&["policy.kind=bch_ldpc", AT_20])).0 > ends(&["policy.kind=bch_ldpc"]).0, "a limit is felt");
}

#[test]
fn the_rival_encodes_every_host_write_and_nothing_that_is_moved() {
    let small = ["policy.kind=bch_ldpc", AT_20, "flash.blocks_per_plane=16", "ftl.overprovisioning=0.9"];
    let mut rig = Rig::new(&with(ONE_DIE, &coded(&small)));
    rig.replay("rw=randwrite\nbs=4k\niodepth=8\nsize=2m\nio_size=40m\nnorandommap=1");
    let host = rig.drive.translator().report().counters.host_units;
    assert!(rig.programmed(Reason::Gc) > 100, "{}", rig.programmed(Reason::Gc));
    rig.drive.quiesce();
    assert_eq!(encoded(&rig, ENCODE), host);
}

/// Host writes have the weak code. After half of the retention limit their block, although still open, is moved
/// entirely with the strong code, which has the full retention.
#[test]
fn what_outlives_the_weak_code_is_encoded_in_the_background() {
    let mut rig = Rig::watched(&relaxed(&[AT_20]));
    for unit in [0, 1, 2, 3, 4, 5, 2] {
        let parts = [(Cause::BusCommand, COMMAND), (Cause::Transfer, DATA), (Cause::Program, PROGRAM)];
        assert_parts("no encoder", &rig.one(Op::Write, unit, 1), &parts);
    }
    rig.run_until(SimTime(10 * SECOND - MS));
    assert_eq!((encoded(&rig, ENCODE), rig.programmed(Reason::Reprogram)), (0, 0));
    rig.run_until(SimTime(10 * SECOND + 100 * MS));
    assert_eq!((encoded(&rig, ENCODE), rig.programmed(Reason::Reprogram)), (6, 6));
    assert_eq!(moved(rig.records_so_far()), [0, 6]);
    rig.run_until(SimTime(300 * SECOND));
    assert_eq!((encoded(&rig, ENCODE), rig.programmed(Reason::Reprogram)), (6, 6), "it stays");
    assert_eq!(rig.drive.map().retention_report().0, 0, "no limit was missed");
}

/// Encoding a unit takes 0.1 s; only relocations wait for it.
#[test]
fn host_commands_do_not_wait_for_the_background() {
    let mut rig = Rig::new(&relaxed(&["flash.encoder[0].throughput=40KB/s", "policy.rr_ecc.reprogram_after=5s"]));
    let each = 102_400_000;
    for unit in 0..4 {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(5 * SECOND + 50 * MS));
    assert_eq!(rig.programmed(Reason::Reprogram), 0, "the first is being encoded");
    assert_eq!(latency(&rig.one(Op::Write, 8, 1)), ONE_PROGRAM);
    assert_eq!(latency(&rig.one(Op::Read, 0, 1)), ONE_READ);
    // Overwritten while it is being encoded: the unit is not moved, and its encoding is wasted.
    rig.one(Op::Write, 0, 1);
    rig.run_until(SimTime(6 * SECOND));
    assert_eq!(rig.programmed(Reason::Reprogram), 3);
    assert_eq!(encoded(&rig, each), 4);
}

/// The first unit is in the encoder from 5 s on, for 0.1 s, and the others wait behind it: a drive that comes to rest
/// waits for all of them, and programs none.
#[test]
fn a_drive_at_rest_has_nothing_in_its_encoders() {
    let mut rig = Rig::new(&relaxed(&["flash.encoder[0].throughput=40KB/s", "policy.rr_ecc.reprogram_after=5s"]));
    for unit in 0..4 {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(5 * SECOND + 50 * MS));
    assert!(!rig.drive.controller().is_at_rest());
    rig.drive.rest();
    assert!(rig.drive.controller().is_at_rest());
    assert!(encoded(&rig, 102_400_000) > 0, "what was in an encoder has left it");
    assert_eq!(rig.programmed(Reason::Reprogram), 0);
    let away = rig.drive.now().0 - 5 * SECOND;
    assert!((100 * MS..450 * MS).contains(&away), "at rest after {away} ns");
}

/// Data on its way to the host is waited for: from the flash, and of a unit that was never written, which needs none.
#[test]
fn a_drive_that_is_quiesced_has_nothing_on_its_link() {
    let slow = "host.interface={ kind='plain', queue_depth=32, command_time='500ns', bandwidth='40KB/s' }";
    for unit in [0, 9] {
        let mut rig = Rig::new(&with(ONE_DIE, &[slow]));
        rig.one(Op::Write, 0, 1);
        let start = rig.drive.now();
        rig.submit(Op::Read, unit, 1, start);
        rig.run_until(SimTime(start.0 + 10 * MS));
        assert_eq!(rig.drive.commands_in_flight(), 1, "unit {unit}: its data needs 102.4 ms on the link");
        rig.drive.quiesce();
        assert_eq!(rig.drive.commands_in_flight(), 0, "unit {unit}");
        assert!(rig.drive.now().since(start).0 > 102_400_000, "unit {unit}");
    }
}

/// Collection moves data of both codes. The first move of each unit passes the encoder, later moves do not.
#[test]
fn what_has_the_code_is_not_encoded_again() {
    let mut rig = Rig::watched(&relaxed(&[AT_20, "flash.blocks_per_plane=16", "flash.write_mode[1].retention=4h"]));
    churn(&mut rig);
    rig.drive.quiesce();
    rig.run_until(SimTime(rig.drive.now().0 + SECOND));
    let records = rig.records();
    let [again, first] = moved(&records);
    assert!(again > 300 && first > 150, "{again} moved again, {first} for the first time");
    let skipped = rig.drive.translator().report().counters.relocation_skipped;
    let encoded = encoded(&rig, ENCODE);
    assert!((first..=first + skipped).contains(&encoded), "{encoded} encoded, {first} moved, {skipped} overwritten meanwhile");
    assert_eq!(rig.programmed(Reason::Reprogram), 0, "all that was for space");
}

/// Copyback moves data inside the die, where it cannot be encoded.
#[test]
fn copyback_is_for_data_that_has_its_code() {
    let small = ["flash.copyback=true", "flash.blocks_per_plane=16", "flash.write_mode[1].retention=4h"];
    let mut rig = Rig::watched(&relaxed(&small));
    churn(&mut rig);
    let [again, first] = moved(&rig.records());
    let [_, programs, _, copybacks] = rig.operations();
    assert!(copybacks > 300 && first > 150, "{copybacks} {first}");
    assert!(copybacks <= again, "{copybacks} copybacks, {again} moves of what had its code");
    assert!(programs >= 4200 + first);
}

/// Policy that writes unit 0 with the strong code and other units with the weak one, each to a frontier of its own. As
/// soon as both frontiers have a unit, it requests moves of both units.
#[derive(Default)]
struct BothAtOnce {
    placed: Vec<Placed>,
    due: Vec<PageMove>,
}

impl ModePolicy for BothAtOnce {
    fn needs(&self) -> Needs {
        Needs { host_streams: 2, placed: true, moves: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        let weak = u8::from(dispatch.units[0] != Lpn(0));
        WriteAnswer { mode: ModeId(weak), stream: weak }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    fn placed(&mut self, placed: &Placed, _: &mut View<'_>) {
        if placed.reason != Reason::Host {
            return;
        }
        self.placed.push(*placed);
        if self.placed.len() == 2 {
            let page_move = |placed: Placed| PageMove {
                lpn: placed.lpn,
                from: placed.ppn,
                reason: Reason::Rewrite,
                mode: ModeId(0),
                deadline: None,
            };
            self.due = self.placed.drain(..).map(page_move).collect();
        }
    }

    fn forced(&mut self, _: &mut View<'_>) -> Option<PageMove> {
        self.due.pop()
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

#[test]
fn of_a_program_of_both_kinds_only_what_lacks_the_code_is_encoded() {
    let mut rig = Rig::run_by(Box::new(BothAtOnce::default()), &with(ONE_DIE, &coded(&[AT_20, "flash.page_size=8KiB"])));
    rig.one(Op::Write, 0, 1);
    let own = encoded(&rig, ENCODE);
    assert_eq!(own, 1);
    rig.one(Op::Write, 1, 1);
    rig.run_until(SimTime(SECOND));
    let counted = rig.drive.translator().report().counters.units_programmed;
    assert_eq!(rig.operations(), [2, 3, 0, 0], "both moved by one program: {counted:?}");
    assert_eq!(rig.programmed(Reason::Rewrite), 2);
    assert_eq!(encoded(&rig, ENCODE) - own, 1);
}

/// Retention limits are kept although the encoder takes 41 ms per unit: writes that could not all be encoded in time
/// get the full retention at once.
#[test]
fn a_slow_encoder_is_taken_into_account_for_the_limits() {
    let slow = ["flash.encoder[0].throughput=100KB/s", "flash.write_mode[1].retention=4s", "ftl.retention_margin=1s"];
    let mut rig = Rig::watched(&relaxed(&slow));
    for unit in 0..400 {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(rig.drive.now().0 + 60 * SECOND));
    let (misses, margin) = rig.drive.map().retention_report();
    assert_eq!(misses, 0, "least margin {margin:?}");
    assert!(rig.drive.translator().report().counters.retention_refusals > 100);
    let [_, first] = moved(&rig.records());
    assert!(first > 30, "{first} moved for the first time");
}

/// The data of all dies passes the single encoder before its limit, although nothing is moved in the background.
#[test]
fn moving_begins_early_enough_for_the_encoder_of_all_dies() {
    let slow = ["flash.encoder[0].throughput=100KB/s", "flash.write_mode[1].retention=8s", "ftl.retention_margin=1s"];
    let mut rig = Rig::watched(&coded(&with(&["policy.kind=all_fast"], &slow)));
    for unit in 0..40 {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(60 * SECOND));
    let (misses, margin) = rig.drive.map().retention_report();
    assert_eq!(misses, 0, "least margin {margin:?}");
    let [_, first] = moved(&rig.records());
    assert_eq!(first, 40, "all of it outlives the weak code");
}

/// A drive that is saved with weakly coded data and only idles after it is loaded still reprograms that data.
#[test]
fn a_drive_that_is_only_read_reprograms_all_the_same() {
    let sets = relaxed(&[AT_20]);
    let mut rig = Rig::new(&sets);
    for unit in 0..6 {
        rig.one(Op::Write, unit, 1);
    }
    let description = crate::common::description(&sets);
    let file = crate::common::saved(&mut rig.drive, &description);
    let mut rig = Rig::new(&sets);
    crate::common::adopt(&mut rig.drive, &description, &file);
    rig.run_until(SimTime(11 * SECOND));
    assert_eq!((rig.programmed(Reason::Reprogram), encoded(&rig, ENCODE)), (6, 6));
}

/// Data moved by wear levelling has the full retention, like collected data.
#[test]
fn wear_levelling_writes_with_the_strong_code() {
    let small = ["ftl.wear_leveling={kind='static_cold', spread=2}", "flash.blocks_per_plane=16"];
    let mut rig =
        Rig::watched(&relaxed(&with(&small, &["flash.write_mode[1].retention=4h", "policy.rr_ecc.reprogram_after=3h"])));
    for unit in 0..64 {
        rig.one(Op::Write, unit, 1);
    }
    for round in 0..6000 {
        rig.one(Op::Write, 200 + round % 64, 1);
    }
    assert!(rig.programmed(Reason::Wear) > 0, "cold blocks are moved");
    let [_, first] = moved(&rig.records());
    assert!(first > 0);
}

#[test]
fn the_summary_tells_how_busy_the_encoder_was() {
    let sets = coded(&["policy.kind=bch_ldpc", AT_20]);
    let job = "[job]\nrw=randwrite\nbs=4k\niodepth=1\nnumber_ios=100\n";
    let summary = session("base = \"tiny\"", &sets, None, job).unwrap_or_else(|problems| panic!("{problems}")).summary;
    let busy = summary["utilisation"]["encoder_ldpc"].as_f64().expect("a share");
    let expected = ENCODE as f64 / (ENCODE + ONE_PROGRAM) as f64;
    assert!((busy - expected).abs() < 1e-9, "{busy} {expected}");
    let wait = summary["causes"]["write"]["ecc_wait"].as_f64().expect("a mean");
    assert!((wait - ENCODE as f64).abs() < 1e-6, "{wait}");
}

/// At the same program time, retention is a year with an LDPC code that corrects an RBER of 2.2e-2, and two weeks with
/// a BCH code that corrects 24 bits in 1080 B (slide *Retention vs. ECCs*).
#[test]
fn the_preset_for_codes_keeps_what_the_slide_says() {
    let preset = drive::presets::find("rr-ecc-106g").expect("a preset");
    let description = drive::Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let [normal, fast] = &description.flash.write_modes[..] else { panic!("two modes") };
    assert_eq!((normal.program_scale, fast.program_scale), (1.0, 1.0));
    assert_eq!((normal.code.as_deref(), fast.code.as_deref()), (Some("ldpc"), None));
    let days = |mode: &flash::WriteModeConfig| mode.retention_at(0, 3000).expect("a limit").0 as f64 / 86_400e9;
    assert!((days(normal) - 365.25).abs() < 0.1, "{}", days(normal));
    assert!((14.0..14.1).contains(&days(fast)), "{}", days(fast));
    assert!((description.user_bytes() as f64 / f64::from(1 << 30) - 106.0).abs() < 0.1);
}

/// The control policy uses the weaker code as long as that code keeps the full promised retention.
#[test]
fn the_control_takes_the_weaker_code_while_the_wear_allows() {
    let at = |cycles: &str| {
        let sets = ["policy.kind=wear_adaptive", AT_20, "flash.rated_pe_cycles=16", cycles];
        let limits = ["flash.write_mode[0].retention=1y", "flash.write_mode[1].retention=['10y', '2y', '4d', '1d']"];
        Rig::new(&with(ONE_DIE, &coded(&with(&sets, &limits)))).one(Op::Write, 0, 1).causes.get(Cause::EccWait)
    };
    assert_eq!(at("state.pe_cycles=0"), Nanos::ZERO);
    assert_eq!(at("state.pe_cycles=9"), Nanos(ENCODE));
}
