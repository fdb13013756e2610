//! Questions to the cell laboratory, in JSON.

use crate::Number;
use crate::text;
use arbitrary::Arbitrary;
use lab::ask;
use lab::question::{Question, Values};

#[derive(Arbitrary, Debug)]
struct Asked {
    what: u8,
    cell: u8,
    fields: Vec<(u8, Value)>,
}

#[derive(Arbitrary, Debug)]
enum Value {
    Number(Number),
    Numbers(Vec<Number>),
    Time(Number, u8),
    Times(Vec<(Number, u8)>),
    Word(u8),
    Flag(bool),
    Wear(u8, bool, Number, Number),
    Regions(Vec<(Number, Number)>),
}

const WHAT: [&str; 12] = [
    "parts",
    "vth",
    "rber",
    "modes",
    "program",
    "limits",
    "endurance",
    "budget",
    "protection",
    "regulator",
    "code_plan",
    "code_summary",
];
const FIELDS: [&str; 31] = [
    "pe",
    "age",
    "step",
    "retention",
    "reads",
    "temperature",
    "erase_shift",
    "erase_wear",
    "block",
    "layer",
    "blocks",
    "verify",
    "page_size",
    "references",
    "neighbourhood",
    "compensation",
    "code",
    "soft_levels",
    "limit",
    "solve",
    "cells",
    "seed",
    "chunk",
    "chunks",
    "rber",
    "regions",
    "page",
    "measurements",
    "measured_code",
    "cell",
    "pe_cycles",
];
const UNITS: [&str; 8] = ["h", "d", "w", "y", "s", "ns", "", "min"];
const WORDS: [&str; 18] = [
    "fixed",
    "tracked",
    "optimal",
    "all_bit_line",
    "even_odd",
    "bch-110/4KiB",
    "ldpc-448B/4KiB",
    "step",
    "erase",
    "retention",
    "code",
    "wear",
    "lsb",
    "msb",
    "4KiB",
    "16KiB",
    "pe_cycles,days,lsb\\n0,0,1e-5\\n",
    "bch-4000/1KiB",
];
/// Questions that are answered in milliseconds; searches over wear, age and step take seconds.
const CHEAP: [&str; 8] = ["parts", "vth", "rber", "program", "protection", "regulator", "code_plan", "code_summary"];
/// Values that are asked for together, beyond which an answer may take its time.
const VALUES: usize = 2;
/// Blocks over which a spread is computed, and points of a code, likewise.
const BLOCKS: u64 = 1000;

impl Value {
    fn text(&self) -> String {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let time = |(number, unit): &(Number, u8)| format!("\"{number}{}\"", UNITS[usize::from(*unit) % UNITS.len()]);
        match self {
            Value::Number(number) => number.to_string(),
            Value::Numbers(numbers) => list(numbers.iter().map(Number::to_string).collect()),
            Value::Time(number, unit) => time(&(*number, *unit)),
            Value::Times(times) => list(times.iter().map(time).collect()),
            Value::Word(index) => format!("\"{}\"", WORDS[usize::from(*index) % WORDS.len()]),
            Value::Flag(flag) => flag.to_string(),
            Value::Wear(mode, fast, interval, wear) => {
                let speed = if *fast { "fast" } else { "slow" };
                format!("[{{\"mode\": \"EV{}\", \"speed\": \"{speed}\", \"interval\": {interval}, \"wear\": {wear}}}]", mode % 6)
            }
            Value::Regions(regions) => list(regions.iter().map(|(zero, one)| format!("[{zero}, {one}]")).collect()),
        }
    }
}

/// Checks a question: in a text, the first line is the name of the question.
pub fn check(input: &[u8]) {
    if let Some(Asked { what, cell, fields }) = text::typed(input) {
        let names = lab::parts::names().count();
        let cell = lab::parts::names().nth(usize::from(cell) % names).expect("it is below their number");
        let mut json = format!("{{\"cell\": \"{cell}\"");
        for (field, value) in &fields {
            json += &format!(", \"{}\": {}", FIELDS[usize::from(*field) % FIELDS.len()], value.text());
        }
        check_question(WHAT[usize::from(what) % WHAT.len()], &(json + "}"));
    } else if let Some(text) = text::plain(input) {
        let (what, json) = text.split_once('\n').unwrap_or(("rber", text));
        check_question(what, json);
    }
}

fn check_question(what: &str, json: &str) {
    let question = match Question::read(json) {
        Ok(question) => question,
        Err(problems) => return text::assert_told(&problems),
    };
    match question.setting() {
        Ok(setting) => {
            assert!(setting.limit > 0.0 && setting.limit <= 0.5, "{}", setting.limit);
            assert!(setting.factor.is_finite() && setting.factor > 0.0, "{}", setting.factor);
            assert!(setting.step.iter().chain(&setting.pe).all(|number| number.is_finite()), "{setting:?}");
        }
        Err(problems) => return text::assert_told(&problems),
    }
    if !CHEAP.contains(&what) || !is_cheap(&question) {
        return;
    }
    match ask(what, json) {
        Ok(answer) => assert!(answer.is_object() || answer.is_array(), "{answer}"),
        Err(problems) => text::assert_told(&problems),
    }
}

/// Returns true if a question is answered in a moment.
fn is_cheap(question: &Question) -> bool {
    fn few<T>(values: Option<&Values<T>>) -> bool {
        values.is_none_or(|values| values.all().len() <= VALUES)
    }
    let Question { pe, age, step, retention, blocks, rber, .. } = question;
    let lists = few(pe.as_ref()) && few(age.as_ref()) && few(step.as_ref()) && few(retention.as_ref()) && few(rber.as_ref());
    lists && *blocks <= BLOCKS
}
