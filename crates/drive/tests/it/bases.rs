//! The base of a description, a preset or a file, and what follows from it: titles, places of errors, missing fields.

use drive::{Description, facts};
use kit::Problems;

/// Reads `text`, a description in `folder/d.toml`, that may name `files` by their paths from that folder.
fn read(text: &str, sets: &[&str], files: &[(&str, &str)]) -> Result<Description, Problems> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let file = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    Description::read_with("folder/d.toml", text, &sets, &file)
}

fn refused(text: &str, files: &[(&str, &str)]) -> String {
    read(text, &[], files).expect_err("the description is invalid").to_string()
}

#[test]
fn a_base_may_be_a_file_beside_the_one_that_names_it() {
    let files =
        [("more/b.toml", "base = \"c.toml\"\nflash.channels = 4\n"), ("more/c.toml", "base = \"tiny\"\nftl.victim = \"fifo\"")];
    let text = "base = \"more/b.toml\"\nflash.chips_per_channel = 1\n";
    let found = read(text, &[], &files).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((found.flash.channels, found.flash.chips_per_channel), (4, 1));
    assert_eq!(found.ftl.victim.name(), "fifo");
    let wrong = [("more/b.toml", "base = \"tiny\"\n\n[flash]\nchannels = 0\n")];
    assert_eq!(refused(text, &wrong), "folder/more/b.toml:4: flash.channels: 0: expected 1..=256");
}

#[test]
fn a_base_that_cannot_be_read_is_named_with_what_else_is_wrong() {
    let text = "base = \"b.toml\"\n[flash]\nchannels = 0\nread_tmie = \"5us\"\n";
    let missing = refused(text, &[]);
    assert!(missing.starts_with("folder/d.toml:1: base = \"b.toml\": no such file; expected a preset or a file\n"), "{missing}");
    assert!(missing.contains("d.toml:3: flash.channels: 0: expected 1..=256\n"), "{missing}");
    assert!(missing.contains("d.toml:4: flash: unknown field `read_tmie`"), "{missing}");
    assert_eq!(missing.lines().count(), 3, "what the base would give is not missing: {missing}");
    let broken = refused("base = \"b.toml\"\n", &[("b.toml", "base = \"tiny\"\nflash.channels = \n")]);
    assert!(broken.starts_with("folder/b.toml:2: not TOML: "), "{broken}");
}

#[test]
fn a_file_that_is_its_own_base_is_refused_with_the_chain() {
    let files = [("x/b.toml", "base = \"../c.toml\"\n"), ("c.toml", "base = \"d.toml\"\n")];
    assert_eq!(
        refused("base = \"x/b.toml\"\n", &files),
        "folder/c.toml:1: base = \"d.toml\": a file is its own base: d.toml -> x/b.toml -> c.toml -> d.toml"
    );
    let own = refused("base = \"./d.toml\"\n", &[]);
    assert!(own.ends_with("a file is its own base: d.toml -> d.toml"), "{own}");
}

#[test]
fn a_title_is_kept_only_as_long_as_it_describes_the_structure() {
    let title = |text: &str, sets: &[&str]| read(text, sets, &[]).unwrap_or_else(|problems| panic!("{problems}")).title;
    let of_tiny = "tiny: 4 dies, 107 MiB, for tests";
    assert_eq!(title("base = \"tiny\"\n", &[]), of_tiny);
    assert_eq!(title("base = \"tiny\"\n", &["flash.read_time=10us"]), of_tiny);
    assert_eq!(title("base = \"tiny\"\nflash.channels = 4\n", &[]), "derived from tiny: 4 channels x 2 dies, 213 MiB");
    assert_eq!(title("base = \"tiny\"\n", &["flash.channels=4"]), "derived from tiny: 4 channels x 2 dies, 213 MiB");
    assert_eq!(title("base = \"tiny\"\ntitle = \"mine\"\nflash.channels = 4\n", &[]), "mine");
    assert_eq!(title("base = \"tiny\"\n", &["flash.channels=4", "title=mine"]), "mine");
    let own = title("base = \"tiny\"\ntitle = \"two\"\n", &["flash.channels=1"]);
    assert_eq!(own, "derived from folder/d.toml: 1 channels x 2 dies, 53.3 MiB");
}

#[test]
fn most_of_a_section_missing_suggests_a_base() {
    let lines = refused("title = \"x\"\n[flash]\nchannels = 4\n[buffer]\npolicy = \"none\"\n", &[]);
    assert!(lines.contains("folder/d.toml:2: flash: 1"), "{lines}");
    assert!(lines.contains("folder/d.toml: host: missing") && lines.contains("folder/d.toml: ftl: missing"), "{lines}");
    assert!(lines.contains("folder/d.toml:2: flash: ") && lines.contains("such as base = \"tlc-1tb\""), "{lines}");
}

#[test]
fn a_key_given_twice_is_named_with_both_places() {
    let twice = "base = \"tiny\"\n[flash]\nchannels = 4\n\nchannels = 8\n[ftl]\nvictim = \"fifo\"\n[flash]\nplanes_per_die = 2\n";
    assert_eq!(
        refused(twice, &[]),
        "folder/d.toml:5: `flash.channels` is given twice, first at folder/d.toml:3: expected it once\n\
         folder/d.toml:8: `flash` is given twice, first at folder/d.toml:2: expected it once"
    );
}

#[test]
fn a_file_that_is_no_toml_is_refused_in_a_few_lines() {
    let trace = "1,2,R,3\n".repeat(1000);
    let lines = refused(&trace, &[]);
    assert!(lines.starts_with("folder/d.toml: no field") && lines.contains("this looks like a trace"), "{lines}");
    assert_eq!(lines.lines().count(), 1);
    let lines = refused(&format!("base = \"tiny\"\n{trace}"), &[]);
    assert!(lines.starts_with("folder/d.toml:2: not TOML: "), "{lines}");
    assert_eq!(lines.lines().count(), 5);
}

#[test]
fn a_size_may_be_a_bare_number_of_bytes_where_no_other_unit_can_be_meant() {
    let of = |capacity: &str| {
        let text = format!("base = \"tiny\"\n[buffer]\npolicy = \"write_back\"\nflush_after = \"1ms\"\ncapacity = {capacity}\n");
        read(&text, &[], &[]).map(|found| found.buffer.capacity)
    };
    assert_eq!(of("8388608"), Ok(Some(kit::Bytes(8 << 20))));
    assert_eq!(of("\"8388608B\""), of("8388608"));
    assert_eq!(of("1_048_576"), Ok(Some(kit::Bytes(1 << 20))));
    let small = of("1048575").expect_err("it could be KiB").to_string();
    assert_eq!(
        small,
        "folder/d.toml:5: buffer.capacity: 1048575 has no unit: expected a size such as \"16KiB\"; a bare integer is taken as bytes \
         from 1048576 on"
    );
    assert!(of("-1").is_err() && of("8388608.0").is_err());
}

/// Unknown fields, wrong units, a misspelt section with a wrong value in it, a bad override: all at once, and what does
/// not fit together as well if the values can be read.
#[test]
fn unknown_fields_do_not_hide_other_problems() {
    let both = refused("base = \"tiny\"\n[flash]\nread_tmie = 5\nread_time = 50\n[bufer]\npolicy = \"nnoe\"\n", &[]);
    for part in [
        ":3: flash: unknown field `read_tmie`",
        ":4: flash.read_time: 50 has no unit",
        ":5: unknown",
        ":6: bufer.policy: unknown",
    ] {
        assert!(both.contains(part), "{part}: {both}");
    }
    let together = refused("base = \"tiny\"\n[flash]\nread_tmie = \"5us\"\n[buffer]\npolicy = \"write_back\"\n", &[]);
    for part in [":3: flash: unknown field", ":4: buffer.capacity: missing", ":4: buffer.flush_after: missing"] {
        assert!(together.contains(part), "{part}: {together}");
    }
    let sets = read("base = \"tiny\"\n", &["flash.channels", "flash.read_time=5"], &[]).expect_err("both are wrong").to_string();
    assert_eq!(sets.lines().count(), 2, "{sets}");
}

/// The over-provisioning that is shown is (physical - user) / user, also where the user capacity is given.
#[test]
fn the_shown_over_provisioning_is_that_of_the_shown_capacities() {
    for (set, differs) in [(&[][..], false), (&["ftl.user_capacity=100MB"][..], true)] {
        let found = read("base = \"tiny\"\n", set, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let facts = facts("tiny", &found);
        let number = |key: &str| facts[key].as_f64().expect("a number");
        let ratio = (number("physical_bytes") - number("user_bytes")) / number("user_bytes");
        assert!((number("overprovisioning") - ratio).abs() < 1e-4, "{facts}");
        assert_eq!(number("overprovisioning") != number("stated_overprovisioning"), differs, "{facts}");
    }
}
