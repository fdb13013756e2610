//! Gives files to the check of a target: `cargo run -p fuzzing --example replay TARGET FILE ...`.

fn main() -> std::process::ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next();
    let Some(target) = fuzzing::TARGETS.iter().find(|target| name.as_deref() == Some(target.name)) else {
        let names: Vec<&str> = fuzzing::TARGETS.iter().map(|target| target.name).collect();
        eprintln!("expected a target and files; the targets: {}", names.join(", "));
        return std::process::ExitCode::from(2);
    };
    for file in words {
        let input = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        (target.check)(&input);
        println!("{file}: passed");
    }
    std::process::ExitCode::SUCCESS
}
