//! Descriptions of drives, with overrides and the files that they name.

use crate::Number;
use crate::text;
use arbitrary::Arbitrary;
use drive::{Description, Drive, presets};
use std::sync::OnceLock;

#[derive(Arbitrary, Debug)]
struct Described {
    base: u8,
    sets: Vec<Set>,
}

#[derive(Arbitrary, Debug)]
enum Set {
    /// A field of the presets: its number, and its value.
    Field(u16, Value),
    /// A field with the value that a preset gives it.
    Usual(u16),
    /// A field that is removed.
    Removed(u16),
    Indexed(u8, u8, u8, Value),
}

#[derive(Arbitrary, Debug)]
enum Value {
    Number(Number),
    Quantity(Number, u8),
    Word(u8),
    Flag(bool),
    List(Vec<(Number, u8)>),
    /// The member of a family, with a field.
    Member(u8, u8, Number, u8),
    /// The value of another field.
    Of(u16),
}

const UNITS: [&str; 16] = ["", "ns", "us", "ms", "s", "d", "y", "B", "KiB", "MiB", "GiB", "MB/s", "GB/s", "MT/s", "MHz", "mA"];
const WORDS: [&str; 43] = [
    "slc",
    "mlc",
    "tlc",
    "qlc",
    "greedy",
    "cost_benefit",
    "fifo",
    "windowed_greedy",
    "d_choices",
    "random",
    "rate_limited_greedy",
    "greedy_in_plane",
    "most_free",
    "write_waits",
    "dynamic",
    "static_cold",
    "none",
    "read_first",
    "out_of_order",
    "write_back",
    "nvme",
    "ideal",
    "sata",
    "static",
    "pull",
    "round_robin",
    "zns",
    "pass_through",
    "waf",
    "in_place",
    "replay",
    "page_map",
    "bch",
    "ldpc",
    "constant",
    "cell",
    "table",
    "read_retry",
    "ofwar",
    "steady",
    "full",
    "x.csv",
    "pulses",
];
const FIELDS: [&str; 24] = [
    "kind",
    "data",
    "t",
    "parity",
    "rates",
    "file",
    "steps",
    "capacity",
    "depth",
    "d",
    "window",
    "zone_dies",
    "zone_blocks",
    "max_open",
    "max_active",
    "full",
    "model",
    "period",
    "width",
    "current",
    "gap_interval",
    "region_pages",
    "engines",
    "latency",
];
const INDEXED: [&str; 8] = [
    "flash.write_mode",
    "flash.read_mode",
    "flash.erase_mode",
    "flash.page_type",
    "host.queue",
    "power.state",
    "flash.encoder",
    "x",
];
const IN_INDEXED: [&str; 12] = [
    "name",
    "retention",
    "program_scale",
    "read_scale",
    "corrects",
    "bits_per_cell",
    "derive",
    "cell_model",
    "wear",
    "time",
    "erase_scale",
    "step",
];
/// Files that a description may name.
const WAVEFORM: &str = "time_us,current_ma\n0,5\n100,20\n400,0\n";
const RATES: &str = "pe_cycles,days,lsb\n0,0,1e-5\n1000,0,2e-5\n0,30,3e-5\n1000,30,5e-5\n";
/// Largest drive that is made \[bytes\].
const MADE_BYTES: u64 = 1 << 28;

/// Returns the paths of all fields of the presets, each with the value of the first preset that has it.
fn fields() -> &'static [(String, String)] {
    static FIELDS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let mut fields: Vec<(String, String)> = Vec::new();
        for preset in presets::PRESETS {
            let mut table = String::new();
            for line in preset.text.lines().map(str::trim) {
                if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
                    table = format!("{name}[0].");
                } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                    table = format!("{name}.");
                } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
                    let path = format!("{table}{key}");
                    if fields.iter().all(|(known, _)| *known != path) {
                        fields.push((path, value.to_owned()));
                    }
                }
            }
        }
        fields
    })
}

fn field(index: u16) -> &'static (String, String) {
    &fields()[usize::from(index) % fields().len()]
}

impl Value {
    fn text(&self) -> String {
        let word = |index: &u8| WORDS[usize::from(*index) % WORDS.len()];
        let quantity = |number: &Number, unit: &u8| match UNITS[usize::from(*unit) % UNITS.len()] {
            "" => number.to_string(),
            unit => format!("\"{number}{unit}\""),
        };
        match self {
            Value::Number(number) => number.to_string(),
            Value::Quantity(number, unit) => quantity(number, unit),
            Value::Word(index) => format!("\"{}\"", word(index)),
            Value::Flag(flag) => flag.to_string(),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|(number, unit)| quantity(number, unit)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Member(kind, field, number, unit) => {
                let field = FIELDS[usize::from(*field) % FIELDS.len()];
                format!("{{ kind = \"{}\", {field} = {} }}", word(kind), quantity(number, unit))
            }
            Value::Of(index) => field(*index).1.clone(),
        }
    }
}

impl Set {
    fn text(&self) -> String {
        match self {
            Set::Field(index, value) => format!("{}={}", field(*index).0, value.text()),
            Set::Usual(index) => format!("{}={}", field(*index).0, field(*index).1),
            Set::Removed(index) => format!("{}=", field(*index).0),
            Set::Indexed(list, index, inner, value) => {
                let (list, inner) =
                    (INDEXED[usize::from(*list) % INDEXED.len()], IN_INDEXED[usize::from(*inner) % IN_INDEXED.len()]);
                format!("{list}[{index}].{inner}={}", value.text())
            }
        }
    }
}

/// Checks a description: in a text, first lines that begin with `--set ` are overrides.
pub fn check(input: &[u8]) {
    if let Some(described) = text::typed::<Described>(input) {
        let preset = presets::PRESETS[usize::from(described.base) % presets::PRESETS.len()];
        let sets: Vec<String> = described.sets.iter().map(Set::text).collect();
        // Most of the drives are the smallest one: they can be made.
        let name = if described.base % 2 == 0 { "tiny" } else { preset.name };
        check_text(&format!("base = \"{name}\"\n"), &sets);
    } else if let Some(text) = text::plain(input) {
        let (mut sets, mut rest) = (Vec::new(), text);
        while let Some((set, after)) = rest.strip_prefix("--set ").map(|line| line.split_once('\n').unwrap_or((line, ""))) {
            sets.push(set.to_owned());
            rest = after;
        }
        check_text(rest, &sets);
    }
}

fn check_text(text: &str, sets: &[String]) {
    let file = |name: &str| match name {
        "w.csv" => Ok(WAVEFORM.to_owned()),
        "x.csv" => Ok(RATES.to_owned()),
        // A base that is its own base.
        "f" | "b.toml" => Ok("base = \"b.toml\"\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let read = match Description::read_with("f", text, sets, &file) {
        Ok(read) => read,
        Err(problems) => return text::assert_told(&problems),
    };
    let again = Description::read_with("g", &read.to_toml(), &[], &file);
    let again = again.unwrap_or_else(|problems| panic!("what is written is read again: {problems}\n{}", read.to_toml()));
    assert_eq!(again.to_toml(), read.to_toml(), "it is read as it is written");
    let user_bytes = read.user_bytes();
    assert!(user_bytes > 0 && user_bytes % read.unit().bytes() == 0, "{user_bytes} bytes of user data");
    let geometry = read.geometry();
    let flash_bytes = read.unit().offset(geometry.unit_count());
    // The addresses of a drive with zones go on beyond the data that a zone holds.
    let has_zones = read.target().zone_bytes.is_some();
    assert!(
        flash_bytes >= user_bytes || has_zones,
        "{user_bytes} bytes of user data on {flash_bytes} of flash: {text}, {sets:?}"
    );
    if flash_bytes <= MADE_BYTES {
        let made = Drive::new(&read, 1).map(|drive| drive.user_bytes());
        assert_eq!(made.ok(), Some(user_bytes), "the drive that it describes");
    }
}
