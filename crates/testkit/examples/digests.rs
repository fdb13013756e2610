//! Prints the completion order and the history digest of random cases, one line per case. A change of structure must
//! leave the lines as they are: run it before and after, and compare.
//!
//! `cargo run --release -p testkit --example digests -- FIRST_SEED SEED_COUNT COMMANDS`

use testkit::case;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|number| number.parse().ok()).collect();
    let [first, count, commands] = numbers[..] else {
        eprintln!("usage: digests FIRST_SEED SEED_COUNT COMMANDS");
        std::process::exit(2);
    };
    for seed in first..first + count {
        match case::run(seed, case::Detail::None, commands as u32, None) {
            Ok(None) => {}
            Ok(Some(passed)) => println!("{seed} {:016x} {:?}", passed.history, passed.digest),
            Err(violation) => println!("{seed} {}", violation.0),
        }
    }
}
