//! Search for defects by random cases of all kinds. `SSDLAB_SECONDS=<seconds> SSDLAB_FROM=<seed> cargo test --release
//! -p drive --test it -- search::for_a_while --ignored --nocapture` searches as long as it says. A case that fails is
//! made smaller, and the command that runs it again is printed.

use crate::common::given;
use ftl::Defect;
use std::time::Duration;
use testkit::search::{Case, Kind};

/// Runs cases of all kinds, or of one (`SSDLAB_KIND`), in turns, each with the next seed, until the time is over;
/// `SSDLAB_TIMES` multiplies the number of commands of those that are not examined after every step; by default it is
/// 100 for each tenth seed. It says now and then how far it has come; nothing is asserted about that.
#[test]
#[ignore = "as long as it is asked to"]
#[expect(clippy::disallowed_types, reason = "the length of the search is wall-clock time; no result depends on it")]
fn for_a_while() {
    let (start, seconds) = (std::time::Instant::now(), given("SSDLAB_SECONDS").unwrap_or(60));
    let kinds = std::env::var("SSDLAB_KIND").map_or(Kind::ALL.to_vec(), |name| vec![Kind::named(&name).expect("SSDLAB_KIND")]);
    let (mut counts, mut commands, mut told) = (vec![0u64; kinds.len()], 0u64, Duration::ZERO);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        let times = given("SSDLAB_TIMES").unwrap_or(if seed % 10 == 0 { 100 } else { 1 }) as u32;
        for (&kind, count) in kinds.iter().zip(&mut counts) {
            let case = Case::new(kind, seed);
            let case = Case { commands: case.commands * if kind.is_examined_in_steps() { 1 } else { times }, ..case };
            match case.run() {
                Ok(served) => {
                    *count += u64::from(served.is_some());
                    commands += served.unwrap_or(0);
                }
                Err(why) => {
                    println!("{}\n{why}", case.command());
                    let smaller = case.shrunk();
                    panic!("smaller: {}\n{}", smaller.command(), smaller.run().expect_err("it fails"));
                }
            }
        }
        let is_over = start.elapsed() > Duration::from_secs(seconds);
        if is_over || start.elapsed() > told + Duration::from_secs(300) {
            let found: Vec<String> = kinds.iter().zip(&counts).map(|(kind, count)| format!("{kind:?} {count}")).collect();
            println!("seeds up to {seed}, {commands} commands, cases: {}", found.join(", "));
            told = start.elapsed();
        }
        if is_over {
            return;
        }
    }
}

/// Runs one case.
#[test]
#[ignore = "for one case"]
fn one_case() {
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let kind = Kind::named(&text("SSDLAB_KIND")).expect("SSDLAB_KIND");
    let mut case = Case::new(kind, given("SSDLAB_SEED").expect("SSDLAB_SEED"));
    case.commands = given("SSDLAB_COMMANDS").map_or(case.commands, |commands| commands as u32);
    case.left_out = text("SSDLAB_LEFT_OUT").split(',').filter_map(|index| index.parse().ok()).collect();
    case.defect = Defect::ALL.into_iter().find(|defect| format!("{defect:?}") == text("SSDLAB_DEFECT"));
    println!("{}", case.description());
    println!("{:?}", case.run().unwrap_or_else(|why| panic!("{why}")));
}

/// Cases that a search has found, each with the overrides that its smaller form leaves out.
const ONCE_FAILED: [(Kind, u64, u32, &[usize]); 29] = [
    // A program failed in the last free block while the data of a lost die was moved there.
    (Kind::ParityFaults, 3_000_000, 396, &[0, 2, 3, 4, 8, 9, 10]),
    // So it did, and the policy's urgent moves stood before those of that data.
    (Kind::ParityFaults, 3_000_000, 396, &[0, 2, 4, 8, 9, 10]),
    // Of a read on a lost die only what no code could have corrected was restored.
    (Kind::ParityFaults, 3_001_178, 56, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 15]),
    // A drive was saved that had just closed the last open block of the host, and did not say that it had no space.
    (Kind::ParityFaults, 3_001_362, 400, &[0, 1, 2, 3, 9]),
    // All space to be gained was that of sets whose data was on a lost die, too little was free to rebuild them, and
    // no die chose them.
    (Kind::ParityFaults, 3_002_400, 400, &[]),
    // Data that a trim had deallocated counted as lost, once the newer data after the trim was destroyed.
    (Kind::UnprotectedPairs, 3_001_013, 200, &[1, 2, 3, 4, 6, 8, 10]),
    // A read of the block that urgent moves needed could not be corrected, and the reads that were to restore its data
    // on another die were held back for those moves.
    (Kind::ParityFaults, 3_010_042, 300, &[2, 3, 4, 5, 6, 7, 13, 14, 16]),
    // Failures had used up the blocks, and the examination after every step did not expect that.
    (Kind::EveryCutWithFaults, 3_030_040, 2, &[0, 1, 2, 3, 6, 7]),
    // The only die of a drive asked for the entries of trims to be written as it chose its next operation, and had
    // looked for those before.
    (Kind::Journal, 3_030_054, 152, &[2, 3, 4, 8, 9]),
    // A recovery gave a block up, had no entry to write for it, and kept it until the next one was on flash.
    (Kind::Journal, 5_000_004, 9_990, &[2]),
    // Dies without room for page moves and parity waited for a page buffer in turns, and gave it back, without an end.
    (Kind::CutsWithParity, 5_000_089, 4_000, &[]),
    // The only die of a drive took units off its queue that were trimmed there, which waited for entries that it had
    // looked for before.
    (Kind::Journal, 3_050_010, 4_216, &[2]),
    // The host had only trimmed, so that nothing was collected, and the map's pages had no room: the smaller form, and
    // the whole case, which stalled in the same way.
    (Kind::Parity, 5_000_108, 308, &[4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 19, 24]),
    (Kind::Parity, 5_000_108, 40_000, &[]),
    // The check expected a completion within 200,000 instants, and the drive moved data for longer.
    (Kind::CutsWithParity, 5_000_163, 40_000, &[]),
    // A lost die waited for the journal while no idle die had room in its area, and was asked again without an end.
    (Kind::JournalParityFaults, 182, 400, &[]),
    // A program failed in the last free block of a die after the collection of a set had begun, and before the die's
    // part of it: the die never began.
    (Kind::JournalParityFaults, 544, 400, &[0, 3, 4, 6, 9, 10, 13]),
    // Two dies with gathered map pages and no room for them took turns at a page buffer at one instant, without an end.
    (Kind::Faults, 7_011_658, 16_000, &[]),
    // No die had space when the writes of a lost die were to be handed over, and nobody took them later.
    (Kind::Faults, 7_012_359, 4, &[0, 1, 2, 3, 4]),
    // The drive was full of data that waited to be moved, and its shutdown waited for that.
    (Kind::Faults, 7_033_326, 38_684, &[2, 4, 7, 8, 13, 15, 16, 19, 20, 21]),
    // A move waited for a page whose program had failed, and the saved drive was refused.
    (Kind::Faults, 7_036_161, 2_804, &[0, 2, 3, 4]),
    // Blocks that were worn out were retired as if spare blocks stood in for them, and no spare block did.
    (Kind::Faults, 7_026_891, 1_108, &[2, 3, 4, 7, 8, 9, 10, 11]),
    (Kind::Faults, 7_039_042, 472, &[0, 4, 6, 7, 8, 9, 10, 12, 13, 14, 16, 17]),
    // The check took older data whose program was repeated for newer than what had replaced it.
    (Kind::Faults, 7_026_510, 9_000, &[3, 5, 6, 8, 9]),
    // Programs failed while the drive came to rest, which it had no room to repeat: it said that it could not be saved.
    (Kind::Faults, 7_053_245, 2_416, &[2, 3]),
    // A die was lost during the lazy erase of a block, which was then taken out of use a second time.
    (Kind::Faults, 7_056_601, 5_000, &[0, 5, 7, 8, 9]),
    // A search of all blocks found what no program of the journal had. The next one named the blocks as recorded, and
    // the map was not written before it: what the search had found was lost with the next loss of power.
    (Kind::JournalFaults, 9_114_798, 20_000, &[0, 3, 6]),
    // Dies whose open blocks were in another mode than the policy chose, and that might open none, took turns at a page
    // buffer for writes of the host.
    (Kind::Faults, 7_091_348, 328, &[]),
    // Worn-out blocks were retired until what was left did not hold the data of a lost die, too.
    (Kind::JournalHostFaults, 9_404_969, 5_000, &[1, 2, 5, 8, 10]),
];

/// Cases that have failed pass.
#[test]
fn cases_that_once_failed_pass() {
    for (kind, seed, commands, left_out) in ONCE_FAILED {
        let case = Case { commands, left_out: left_out.to_vec(), ..Case::new(kind, seed) };
        assert!(case.run().is_ok_and(|served| served.is_some()), "{}", case.command());
    }
}

/// Defects that are planted in the handling of faults, each with the kind of case and the seed at which a search from
/// seed 0 found it first.
const FOUND: [(Defect, Kind, u64); Defect::ALL.len()] = [
    (Defect::OldPlaceKept, Kind::Faults, 5),
    (Defect::OldPriorKept, Kind::Faults, 572),
    (Defect::OldCopySuperseded, Kind::EveryCutWithFaults, 2310),
    (Defect::NewNumber, Kind::Faults, 1288),
    (Defect::LossForgotten, Kind::Faults, 18),
    (Defect::ProgramForgotten, Kind::Faults, 124),
    (Defect::BadBlockReused, Kind::Faults, 5),
    (Defect::FailedEraseReused, Kind::Faults, 5),
    (Defect::BadBlocksNotSaved, Kind::Faults, 28),
    (Defect::RepeatCountsAsOld, Kind::EveryCutBetweenFlushes, 28),
    (Defect::AreaProgramForgotten, Kind::JournalFaults, 296),
    (Defect::LostAreaIgnored, Kind::EveryCutWithJournalFaults, 18),
];

/// Each planted defect is found where a search has found it, or in the next cases, and the case passes without it.
#[test]
fn planted_defects_are_found() {
    for (defect, kind, from) in FOUND {
        let cases = (from..from + 300).map(|seed| Case { defect: Some(defect), ..Case::new(kind, seed) });
        let found = cases.into_iter().find(|case| case.run().is_err());
        let found = found.unwrap_or_else(|| panic!("{defect:?} is not found"));
        let sound = Case { defect: None, ..found.clone() };
        assert!(sound.run().is_ok(), "{defect:?}: {}", sound.command());
    }
    assert!(Defect::ALL.iter().all(|defect| FOUND.iter().any(|(found, ..)| found == defect)), "each is in the list");
}

/// A case that fails is made smaller: fewer commands and overrides, and it still fails, and passes without the defect.
#[test]
fn a_failing_case_is_made_smaller() {
    let found = Case { defect: Some(Defect::ProgramForgotten), ..Case::new(Kind::Faults, 124) };
    let smaller = found.shrunk();
    assert!(smaller.run().is_err() && Case { defect: None, ..smaller.clone() }.run().is_ok(), "{}", smaller.command());
    assert!(smaller.commands < found.commands / 4 && !smaller.left_out.is_empty(), "{}", smaller.command());
}
