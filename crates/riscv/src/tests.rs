mod assembler;
mod base;
mod compressed;
mod executable;
mod images;
mod oracle;
mod speed;
mod stops;
mod timing;

use crate::{AddressRange, Core, CycleTable, Image, Layout, Memory, Segment, SharedMemory, Stop};
use assembler::Code;

const TEXT: u32 = 0x1000;
const DATA: u32 = 0x8000_0000;
/// A second region of data.
const MORE: u32 = 0x8800_0000;
const SHARED: u32 = 0x9000_0000;
const DEVICE: u32 = 0xf000_0000;

fn layout() -> Layout {
    let range = |address, bytes| AddressRange { address, bytes };
    Layout {
        text: range(TEXT, 0x10000),
        data: vec![range(DATA, 0x1000), range(MORE, 0x100)],
        shared: Some(range(SHARED, 0x10000)),
        devices: vec![range(DEVICE, 0x100)],
    }
}

fn image(code: &Code) -> Image {
    let bytes = code.0.clone();
    let memory_bytes = bytes.len() as u32;
    let segment = Segment { address: TEXT, bytes, memory_bytes, executable: true, writable: false };
    Image { entry: TEXT, segments: vec![segment], functions: Vec::new() }
}

/// A core with its memory.
struct Machine {
    core: Core,
    memory: Memory,
}

impl Machine {
    fn with(code: impl Into<Code>, table: &CycleTable, shared: &SharedMemory) -> Machine {
        let memory = Memory::new(&layout(), &image(&code.into())).expect("the code fits");
        let core = Core::new(3, TEXT, table, shared).expect("the parameters are valid");
        Machine { core, memory }
    }

    fn new(code: impl Into<Code>) -> Machine {
        Machine::with(code, &CycleTable::default(), &SharedMemory::default())
    }

    fn run(&mut self) -> Stop {
        self.core.run(&mut self.memory, 1_000_000)
    }

    /// Executes one instruction.
    fn step(&mut self) -> Stop {
        self.core.run(&mut self.memory, self.core.cycles() + 1)
    }
}
