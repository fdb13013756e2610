//! All sequences of a few commands on drives of a few blocks, with a loss of power after every step. Longer ones with
//! `SSDLAB_LENGTH=<length>`.

use crate::common::given;
use drive::Description;
use ftl::Forgery;
use testkit::case::sequences::every_sequence;

/// Two dies of ten blocks of four units, full, so that collections begin with the first writes.
const FEW_BLOCKS: [&str; 7] = [
    "flash.channels=1",
    "flash.blocks_per_plane=10",
    "flash.pages_per_block=4",
    "ftl.overprovisioning=0.0",
    "ftl.user_capacity=72KiB",
    "state.precondition=steady",
    "ftl.gc_idle_target_blocks=3",
];

fn few_blocks(more: &[&str]) -> Description {
    let sets: Vec<String> = FEW_BLOCKS.iter().chain(more).map(|set| (*set).to_owned()).collect();
    Description::read("test.toml", "base = \"tiny\"", &sets).unwrap_or_else(|why| panic!("{why}"))
}

const BUFFER: [&str; 3] = ["buffer.policy=write_back", "buffer.capacity=16KiB", "buffer.flush_after=1ms"];

/// No sequence of commands, however they meet, ends in a state from which a loss of power loses what was promised.
#[test]
fn no_short_sequence_of_commands_loses_data() {
    let length = given("SSDLAB_LENGTH").unwrap_or(3) as u32;
    let journal = ["flash.blocks_per_plane=20", "ftl.journal={size=\"16KiB\"}"];
    let parity = ["flash.blocks_per_plane=26", "ftl.rain={dies=2}", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
    let drives = [("no buffer", &[][..]), ("a write buffer", &BUFFER), ("a journal", &journal), ("parity", &parity)];
    for (name, more) in drives {
        let found = every_sequence(&few_blocks(more), length, None);
        let (count, cuts) = found.unwrap_or_else(|why| panic!("{name}: {}", why.0));
        println!("{name}: {count} sequences of at most {length}, {cuts:?}");
        let all: u64 = (1..=length).map(|length| 8u64.pow(length - 1) * 7).sum();
        assert!(count == all && cuts.losses > 2 * count && cuts.torn > count / 20, "{name}: {count} sequences, {cuts:?}");
    }
}

/// Defects of a recovery are found by sequences of at most three commands.
#[test]
fn defects_of_a_recovery_are_found_by_short_sequences() {
    for forgery in Forgery::ALL {
        let found = every_sequence(&few_blocks(&BUFFER), 3, Some(forgery));
        println!("{forgery:?}: {:?}", found.as_ref().err());
        assert!(found.is_err(), "{forgery:?}: {:?}", found.map(|(count, _)| count).ok());
    }
}
