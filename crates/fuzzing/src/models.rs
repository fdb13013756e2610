//! Workload descriptions in TOML: synthetic ones and look-alikes.

use crate::text::{self, Change, Lines};
use crate::workload_checks::{Reach, assert_requests};
use arbitrary::Arbitrary;
use workload::{Input, Options};

/// Size of the drive, on which the look-alike has room \[bytes\].
const DRIVE_BYTES: u64 = 1 << 40;

#[derive(Arbitrary, Debug)]
struct Model {
    lookalike: bool,
    /// Changes of the numbers of a whole description, by line.
    changes: Vec<(u8, Vec<Change>)>,
    left_out: Vec<u8>,
    more: Lines,
}

/// A job with each field.
const SYNTHETIC: &str = "kind = \"synthetic\"
[[job]]
name = \"a\"
pattern = { kind = \"zipf\", theta = 0.9 }
read_share = 0.5
trim_share = 0.1
sizes = [{ size = \"4KiB\", weight = 2.0 }, { size = \"16KiB\" }]
write_sizes = [{ size = \"8KiB\", weight = 1.0 }]
offset = \"1MiB\"
region = \"64MiB\"
depth = 8
requests = 60
bytes = \"1GiB\"
runtime = \"5s\"
start_delay = \"1ms\"
ramp_time = \"1ms\"
fua = true
after_previous = true
[[job]]
name = \"b\"
pattern = { kind = \"hot_cold\", hot_fraction = 0.2, hot_share = 0.8 }
read_share = 1.0
arrival = { kind = \"on_off\", on_time = \"10ms\", off_time = \"90ms\", on_gap = \"100us\", off_gap = \"5ms\" }
[[job]]
name = \"c\"
pattern = { kind = \"random_no_repeat\" }
read_share = 0.0
arrival = { kind = \"lognormal\", mean_gap = \"100us\", sigma = 1.5 }
[[job]]
name = \"d\"
pattern = { kind = \"sequential\" }
read_share = 0.0
arrival = { kind = \"poisson\", mean_gap = \"1ms\" }
[[job]]
name = \"e\"
pattern = { kind = \"random\" }
read_share = 0.5
arrival = { kind = \"constant\", gap = \"1ms\" }
";

/// A look-alike of a trace.
const LOOKALIKE: &str = include_str!("../../../examples/iozone-like.toml");

/// Checks a description.
pub fn check(input: &[u8]) {
    if let Some(model) = text::typed::<Model>(input) {
        let whole: Vec<&str> = if model.lookalike { LOOKALIKE } else { SYNTHETIC }.lines().collect();
        let mut text = String::new();
        for (index, line) in whole.iter().enumerate() {
            let is_this = |at: &u8| usize::from(*at) % whole.len() == index;
            if model.left_out.iter().any(is_this) {
                continue;
            }
            match model.changes.iter().find(|(at, _)| is_this(at)) {
                Some((_, changes)) => text += &text::renumbered(line, changes),
                None => text += line,
            }
            text.push('\n');
        }
        check_text(&(text + &model.more.of(&whole)));
    } else if let Some(text) = text::plain(input) {
        check_text(text);
    }
}

fn check_text(text: &str) {
    // Traces have targets of their own.
    if !text.contains("kind") {
        return;
    }
    match workload::open(&Input::text("f", text), DRIVE_BYTES, &Options::default()) {
        Ok(workload) => {
            let again = workload::open(&Input::text("f", workload.resolved.clone()), DRIVE_BYTES, &Options::default());
            let resolved =
                again.unwrap_or_else(|problems| panic!("what is kept is read again: {problems}\n{}", workload.resolved)).resolved;
            assert_eq!(resolved, workload.resolved, "what is kept is read alike");
            assert_requests(workload, &Reach { user_bytes: DRIVE_BYTES, requests: 48 });
        }
        Err(problems) => text::assert_told(&problems),
    }
}
