//! Executes an image that needs no devices, and prints its cycles by function.
//!
//! ```text
//! cargo run --release -p riscv --example execute -- IMAGE
//! ```
//!
//! Its segments lie in tightly coupled memory. Of the system calls of Linux, `write` to standard output and `exit` are
//! answered, so that a small program runs here and in an emulator of user mode.

use riscv::{AddressRange, Core, CycleTable, Image, Layout, Memory, SharedMemory, Stop};
use std::io::Write;
use std::process::ExitCode;

/// Returns the range of the segments that `wanted` accepts, from a multiple of 4 to a multiple of 4.
fn range_of(image: &Image, is_wanted: impl Fn(bool) -> bool) -> Option<AddressRange> {
    let segments = || image.segments.iter().filter(|segment| is_wanted(segment.executable));
    let address = segments().map(|segment| segment.address).min()? & !3;
    let end = segments().map(|segment| u64::from(segment.address) + u64::from(segment.memory_bytes)).max()?;
    let bytes = u32::try_from((end - u64::from(address)).next_multiple_of(4)).ok()?;
    Some(AddressRange { address, bytes })
}

fn execute(path: &str) -> Result<(), String> {
    let file = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let image = Image::read(&file).map_err(|error| format!("{path}: {error}"))?;
    let text = range_of(&image, |is_executable| is_executable).ok_or_else(|| format!("{path}: no executable segment"))?;
    let data = range_of(&image, |is_executable| !is_executable).into_iter().collect();
    let problems = |problems: kit::Problems| problems.0.iter().map(|problem| format!("{problem}\n")).collect::<String>();
    let layout = Layout { text, data, shared: None, devices: Vec::new() };
    let mut memory = Memory::new(&layout, &image).map_err(problems)?;
    let mut core = Core::new(0, image.entry, &CycleTable::default(), &SharedMemory::default()).map_err(problems)?;
    core.start_profile(&memory);
    loop {
        match (core.run(&mut memory, u64::MAX), core.register(17)) {
            (Stop::Call { .. }, 64) => {
                let (address, bytes) = (core.register(11), core.register(12));
                let output = memory.slice(address, bytes as usize).ok_or("a write of bytes outside memory")?;
                std::io::stdout().write_all(output).map_err(|error| error.to_string())?;
                core.set_register(10, bytes);
            }
            (Stop::Call { .. }, 93) => break,
            (Stop::Fault(fault), _) => return Err(fault.describe(&image)),
            (stop, _) => return Err(format!("{stop:?}")),
        }
    }
    eprintln!("{} cycles, {} instructions", core.cycles(), core.instructions());
    for function in core.profile().map(|profile| profile.functions(&image)).unwrap_or_default() {
        eprintln!("{:>12} {}", function.cycles, if function.name.is_empty() { "(no function)" } else { &function.name });
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("expected the path of an executable");
        return ExitCode::FAILURE;
    };
    match execute(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
