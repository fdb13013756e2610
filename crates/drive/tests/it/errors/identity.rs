//! Errors of rate zero with an ideal decoder change nothing, and steps that take no time change no latency.

use super::BCH;
use crate::common::{description, session_with_history, with};
use drive::{CommandRow, Description, Drive};
use kit::{Bytes, HostCommand, Op, Rng, SimTime, UNIT_BYTES};

const NO_ERRORS: &str = "ecc.errors={ kind = \"constant\", rates = [0.0], read_noise = 0.1 }";
const RETRY: &str = "ecc.plan={ kind = \"read_retry\", steps = 3, step_time = \"1us\" }";
const SUSPENSION: &str = "flash.suspension={ program = true, erase = true, suspend_time = \"20us\", resume_time = \"30us\", least_remaining = \"100us\", most = 2 }";
const MIXED: &str =
    "[job]\nrw=randrw\nrwmixread=60\nbssplit=4k/60:16k/25:512/15\niodepth=8\nnorandommap=1\nio_size=1g\nnumber_ios=20000\n";

#[test]
fn data_without_errors_is_read_as_on_a_drive_that_knows_none() {
    let buffered = [
        "buffer.policy=write_back",
        "buffer.capacity=256KiB",
        "buffer.flush_after=300us",
        SUSPENSION,
        "flash.planes_per_die=2",
        "flash.multi_plane=true",
        "flash.read_mode=[{ name = \"quick\", corrects = 1e-4 }, { name = \"slow\", sense_scale = 2.0, corrects = 1e-3 }]",
    ];
    for sets in [&["state.precondition=steady"][..], &with(&buffered, &["state.precondition=steady"])] {
        let run = |more: &[&str]| {
            session_with_history("base = \"tiny\"", &with(sets, more), MIXED).unwrap_or_else(|problems| panic!("{problems}"))
        };
        let (without, with_errors) = (run(&[BCH]), run(&[BCH, NO_ERRORS, RETRY]));
        for section in ["latency", "causes", "throughput", "flash", "wear"] {
            assert_eq!(without.summary[section], with_errors.summary[section], "{section}, {sets:?}");
        }
        assert!(without.history.is_some_and(|digest| digest.entries > 20_000));
        assert_eq!(without.history, with_errors.history, "{sets:?}");
        assert_eq!(with_errors.summary["reliability"]["retries"], 0);
        assert!(with_errors.summary["read_errors"]["codewords"].as_u64().is_some_and(|read| read > 10_000));
    }
}

/// Runs random commands one after another on a drive whose controller may keep steps that take no time.
fn one_by_one(description: &Description, keeps_free_steps: bool) -> Vec<CommandRow> {
    let mut controller = description.controller(&description.geometry(), 1);
    controller.keeps_free_steps = keeps_free_steps;
    let ftl = description.build_ftl(1).expect("the tables fit");
    let mut drive = Drive::with_stages(description, ftl, &controller, 1);
    drive.statistics.log = Some(Vec::new());
    let (mut rng, units) = (Rng::stream(7, "commands"), 2000);
    for tag in 0..4000 {
        let (first, count) = (rng.below(units), 1 + rng.below(6));
        let command = match rng.below(10) {
            0..4 => HostCommand::new(Op::Write, tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES)),
            4 => HostCommand::new(Op::Write, tag, Bytes(first * UNIT_BYTES + 512), Bytes(1024)),
            _ => HostCommand::new(Op::Read, tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES)),
        };
        drive.submit(command, drive.now());
        assert_eq!(drive.advance(SimTime::FOREVER).len(), 1, "command {tag} is alone");
    }
    drive.statistics.log.take().expect("it was set")
}

#[test]
fn steps_without_time_change_no_latency_at_depth_one() {
    let errors = "ecc.errors={ kind = \"constant\", rates = [3e-3], read_noise = 0.1 }";
    let coded = [
        "flash.encoder=[{ code = \"strong\" }]",
        "flash.write_mode[0].code=strong",
        "flash.planes_per_die=2",
        "flash.multi_plane=true",
        BCH,
    ];
    for (more, retried) in [
        (&[][..], false),
        (&[NO_ERRORS], false),
        (&["controller.dma={ channels = 2, setup = \"0ns\" }"], false),
        (&["controller.dma={ channels = 1, setup = \"0ns\" }", "controller.interconnect=axi", "controller.dram=ddr"], false),
        (&[errors, RETRY], true),
        (&[errors, RETRY, "ecc.decoder={ kind = \"fixed\", time = \"0ns\" }"], true),
        (&[errors, RETRY, "ecc.decoder={ kind = \"fixed\", time = \"0ns\", shared = \"drive\" }"], true),
    ] {
        let description = description(&with(&coded, more));
        let [without, with_steps] = [false, true].map(|keeps| one_by_one(&description, keeps));
        assert_eq!(without.len(), 4000);
        let differs = without.iter().zip(&with_steps).find(|(one, other)| {
            (one.submitted, one.completed, one.causes, one.media_error())
                != (other.submitted, other.completed, other.causes, other.media_error())
        });
        assert!(differs.is_none(), "{more:?}: {differs:?}");
        assert_eq!(without.iter().any(|row| row.causes.get(kit::Cause::Retry).0 > 0), retried, "{more:?}");
    }
}
