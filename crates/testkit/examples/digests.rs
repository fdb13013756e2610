//! Prints the completion order and the history digest of random cases, one line per case. A change of structure must
//! leave the lines as they are: run it before and after, and compare. With `layers`, the drives have the translation
//! layers other than the page map.
//!
//! `cargo run --release -p testkit --example digests -- FIRST_SEED SEED_COUNT COMMANDS [layers]`

use testkit::case::{self, Beside, Detail};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let details: &[Detail] = match words.get(3).map(String::as_str) {
        None => &[Detail::None],
        Some("layers") => &[Detail::Layer(Beside::Nothing), Detail::Layer(Beside::Errors), Detail::Layer(Beside::Controller)],
        Some(_) => &[],
    };
    let numbers: Vec<u64> = words.iter().take(3).filter_map(|number| number.parse().ok()).collect();
    let ([first, count, commands], false) = (&numbers[..], details.is_empty()) else {
        eprintln!("usage: digests FIRST_SEED SEED_COUNT COMMANDS [layers]");
        std::process::exit(2);
    };
    for seed in *first..first + count {
        for detail in details {
            match case::run(seed, *detail, *commands as u32, None) {
                Ok(None) => {}
                Ok(Some(passed)) => println!("{seed} {:016x} {:?}", passed.history, passed.digest),
                Err(violation) => println!("{seed} {}", violation.0),
            }
        }
    }
}
