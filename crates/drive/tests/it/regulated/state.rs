//! Declared state.

use super::*;

#[test]
fn metadata_is_reported_as_the_paper_counts_it_and_as_it_is() {
    for (window, paper, needed, declared) in [(2, 2, 4, 4), (3, 3, 6, 8), (4, 4, 8, 8)] {
        let rig = agcr(&[&format!("policy.agcr.window={window}")]);
        assert_eq!(
            (rig.stat("metadata_bits_of_the_paper"), rig.stat("metadata_bits_needed")),
            (paper, needed),
            "window {window}"
        );
        assert_eq!(rig.drive.map().needs().bits_per_unit, declared, "window {window}");
    }
}

/// Returns a drive under the policy `kind` that has adopted the state of `from`, a drive under the policy `was`.
fn adopted(from: &mut Rig, was: &str, kind: &str) -> Rig {
    assert!(from.drive.complete_commands());
    let of = |kind: &str| {
        let kind = format!("policy.kind={kind}");
        crate::common::description(&with(&with(ONE_DIE, MODES), &[&kind]))
    };
    let file = crate::common::saved(&mut from.drive, &of(was));
    let mut next = rig(kind, &[]);
    crate::common::adopt(&mut next.drive, &of(kind), &file);
    next
}

#[test]
fn histories_classes_and_queued_rewrites_are_saved_with_the_drive() {
    let mut before = agcr(&[]);
    for (unit, accesses) in [(0, "W"), (1, "WW"), (2, "WR"), (3, "WWR"), (4, "WRW"), (5, "WWR")] {
        programs(&mut before, unit, accesses);
    }
    // A program keeps the drive busy when these reads complete.
    together(&mut before, Op::Read, &[3, 5, 5]);
    let last = before.submit(Op::Write, 6, 1, before.drive.now());
    while before.drive.translator().report().counters.host_units_by_mode[FINE.index()] < 7 {
        before.step();
    }
    assert!(!before.is_done(last));
    assert_eq!(rewrites(&before), (2, 0, 0));
    let mut rig = adopted(&mut before, "agcr", "agcr");
    assert_eq!(programs(&mut rig, 0, "W"), [LOW]);
    assert_eq!(moved(&mut rig), [], "the die had no idle time yet");
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 3, FINE), (Reason::Rewrite, 5, FINE)]);
    assert_eq!([1, 2, 3, 4, 5].map(|unit| read_one(&mut rig, unit)), [SLOW, QUICK, QUICK, MEDIUM, QUICK]);
    assert_eq!(programs(&mut rig, 2, "W"), [MIDDLE]);
}

#[test]
fn what_another_policy_wrote_keeps_its_class_until_it_is_written_again() {
    let mut before = rig("traditional", &[]);
    for unit in [0, 1, 2] {
        write(&mut before, unit);
    }
    let mut rig = adopted(&mut before, "traditional", "agcr");
    assert_eq!([0, 1, 1].map(|unit| read_one(&mut rig, unit)), [MEDIUM; 3]);
    assert_eq!(programs(&mut rig, 2, "WW"), [HIGH, LOW], "without history");
    let mut rig = adopted(&mut before, "traditional", "queue_driven");
    assert_eq!(read_one(&mut rig, 0), MEDIUM);
    let mut rig = adopted(&mut before, "traditional", "lcw_hcr");
    assert_eq!(read_one(&mut rig, 0), MEDIUM, "its block's");
}
