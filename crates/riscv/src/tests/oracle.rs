//! Random sequences, executed by the core and by `qemu-riscv32`.
//!
//! An executable holds many sequences. Each loads the registers from a pool of random words, executes random
//! instructions on a scratch area, stores the registers, and writes both to standard output by a system call. The two
//! outputs are compared. Each instruction that depends on its address is at the same one in both.
//!
//! `RISCV_SEQUENCES=1000000 cargo test --release -p riscv oracle -- --ignored --nocapture` runs the long form.

use super::assembler::*;
use super::executable::write;
use crate::{AddressRange, Core, CycleTable, Image, Layout, Memory, Segment, SharedMemory, Stop};
use kit::Rng;
use std::process::{Command, Stdio};

const TEXT: u32 = 0x1_0000;
const DATA: u32 = 0x4000_0000;
/// Bytes of the pool, then of the scratch area.
const POOL: u32 = 4096;
const SCRATCH: u32 = 512;
/// Scratch and 31 registers.
const RECORD: u32 = SCRATCH + 31 * 4;
/// Sequences of an executable.
const BATCH: u64 = 4000;
/// Registers that point into the scratch area, with their offset. No instruction writes them.
const BASES: [(u32, u32); 3] = [(2, 0), (8, 256), (3, 256)];

/// A generator of sequences.
struct Generator {
    rng: Rng,
}

impl Generator {
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(u64::from(bound)) as u32
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    fn within(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u32) as i32
    }

    /// Returns a register that may be written, x0 included.
    fn target(&mut self) -> u32 {
        loop {
            let register = self.below(32);
            if !BASES.iter().any(|(base, _)| *base == register) {
                return register;
            }
        }
    }

    /// Returns one of the registers x9 to x15.
    fn low(&mut self) -> u32 {
        9 + self.below(7)
    }

    /// Returns a value that is likely to be at a limit.
    fn value(&mut self) -> u32 {
        match self.below(4) {
            0 => self.pick(&[0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0xffff, 0x8000]),
            1 => self.within(-40, 40) as u32,
            _ => self.rng.next_u64() as u32,
        }
    }

    fn immediate(&mut self) -> i32 {
        if self.below(4) == 0 { self.pick(&[0, 1, -1, 2047, -2048]) } else { self.within(-2048, 2047) }
    }

    fn operation(&mut self, code: &mut Code) {
        let (target, a, b) = (self.target(), self.below(32), self.below(32));
        let (function_7, function_3) = match self.below(18) {
            multiply @ 0..8 => (1, multiply),
            plain @ 8..16 => (0, plain - 8),
            16 => (0x20, 0),
            _ => (0x20, 5),
        };
        code.word(r(function_7, function_3, target, a, b));
    }

    fn with_immediate(&mut self, code: &mut Code) {
        let (target, a) = (self.target(), self.below(32));
        let word = match self.below(11) {
            0 => u(0x37, target, self.below(1 << 20)),
            1 => u(0x17, target, self.below(1 << 20)),
            2 => i(0x13, 5, target, a, 0x400 | self.within(0, 31)),
            function @ (4 | 8) => i(0x13, function - 3, target, a, self.within(0, 31)),
            function => i(0x13, function - 3, target, a, self.immediate()),
        };
        code.word(word);
    }

    fn access(&mut self, code: &mut Code) {
        let (base, begin) = self.pick(&BASES);
        let is_load = self.below(2) == 0;
        let function = if is_load { self.pick(&[0, 1, 2, 4, 5]) } else { self.pick(&[0, 1, 2]) };
        let align = 1 << (function & 3);
        let offset = (self.below(SCRATCH) & !(align - 1)) as i32 - begin as i32;
        code.word(if is_load {
            load(function, self.target(), base, offset)
        } else {
            store(function, self.below(32), base, offset)
        });
    }

    fn compressed(&mut self, code: &mut Code) {
        let (target, a, b) = (self.target(), self.low(), 8 + self.below(8));
        let value = self.within(-32, 31);
        let shift = self.within(0, 31);
        code.half(match self.below(16) {
            0 => c_addi4spn(a, 4 * self.within(1, 255)),
            1 => c_lw(a, 8, 4 * self.within(0, 31)),
            2 => c_sw(b, 8, 4 * self.within(0, 31)),
            3 => c_addi(target, value),
            4 => c_li(target, value),
            5 => c_lui(target, if value == 0 { 7 } else { value }),
            6 => c_immediate(0, a, shift),
            7 => c_immediate(1, a, shift),
            8 => c_immediate(2, a, value),
            9 => c_operation(self.below(4), a, b),
            10 => c_slli(target, shift),
            11 => c_lwsp(target.max(1), 4 * self.within(0, 63)),
            12 => c_swsp(self.below(32), 4 * self.within(0, 63)),
            13 => c_mv(target, 1 + self.below(31)),
            14 => c_add(target, 1 + self.below(31)),
            _ => return self.stack_pointer(code),
        });
    }

    /// Appends changes of the stack pointer whose sum is zero.
    fn stack_pointer(&mut self, code: &mut Code) {
        let offset = 16 * self.within(1, 31);
        let changes = self.pick(&[[0, offset, -offset], [0, -offset, offset], [256, -512, 256], [-512, 256, 256]]);
        changes.iter().filter(|change| **change != 0).for_each(|change| code.half(c_addi16sp(*change)));
    }

    /// Appends a branch or jump over a block, or one over a jump back.
    fn transfer(&mut self, code: &mut Code, depth: u32) {
        let mut block = Code::default();
        (0..self.below(4)).for_each(|_| self.item(&mut block, depth + 1));
        let bytes = block.0.len() as i32;
        let (a, b, low) = (self.below(32), self.below(32), 8 + self.below(8));
        let function = self.pick(&[0, 1, 4, 5, 6, 7]);
        match self.below(8) {
            0 | 1 => code.word(branch(function, a, b, 4 + bytes)),
            2 if bytes < 250 => code.half(c_branch(self.below(2), low, 2 + bytes)),
            3 => code.word(jal(self.target(), 4 + bytes)),
            4 => code.half(c_j(2 + bytes)),
            5 => code.half(c_jal(2 + bytes)),
            6 => self.indirect(code, bytes),
            _ => {
                // Over the block and a jump to the end, then back to the block or on.
                code.word(jal(0, 8 + bytes));
                code.0.extend(&block.0);
                code.word(jal(0, 8));
                let back = -4 - bytes;
                match self.below(3) {
                    0 => code.word(branch(function, a, b, back)),
                    1 => code.word(jal(self.target(), back)),
                    _ => {
                        code.half(if bytes < 200 { c_branch(self.below(2), low, back) } else { c_j(back) });
                        code.half(c_addi(0, 0));
                    }
                }
                return;
            }
        }
        code.0.extend(&block.0);
    }

    /// Appends an indirect jump over `bytes`, whose target may be odd.
    fn indirect(&mut self, code: &mut Code, bytes: i32) {
        let register = self.target().max(1);
        code.word(u(0x17, register, 0));
        let odd = self.within(0, 1);
        match self.below(3) {
            0 => code.word(jalr(self.target(), register, 8 + bytes + odd)),
            form => {
                code.word(addi(register, register, 10 + bytes + odd));
                code.half(if form == 1 { c_jr(register) } else { c_jalr(register) });
            }
        }
    }

    fn item(&mut self, code: &mut Code, depth: u32) {
        match self.below(12) {
            0..=2 => self.operation(code),
            3 | 4 => self.with_immediate(code),
            5 | 6 => self.access(code),
            11 if depth < 3 => self.transfer(code, depth),
            _ => self.compressed(code),
        }
    }

    /// Appends a sequence.
    fn sequence(&mut self, code: &mut Code) {
        li(31, DATA).into_iter().for_each(|word| code.word(word));
        // x31 is the pointer until it is loaded, as the last.
        for register in (1..32).filter(|register| !BASES.iter().any(|(base, _)| base == register)) {
            code.word(load(2, register, 31, (self.below(2044) & !3) as i32));
        }
        let items = 4 + self.below(28);
        (0..items).for_each(|_| self.item(code, 0));
        for register in 1..32 {
            code.word(store(2, register, 2, (SCRATCH + 4 * (register - 1)) as i32));
        }
        [addi(10, 0, 1), addi(11, 2, 0), addi(12, 0, RECORD as i32), addi(17, 0, 64), ECALL]
            .into_iter()
            .for_each(|word| code.word(word));
    }

    fn image(&mut self, sequences: u64) -> Image {
        let mut code = Code::default();
        let set = |code: &mut Code, register, value| li(register, value).into_iter().for_each(|word| code.word(word));
        BASES.iter().for_each(|(base, offset)| set(&mut code, *base, DATA + POOL + offset));
        (0..sequences).for_each(|_| self.sequence(&mut code));
        [addi(10, 0, 0), addi(17, 0, 93), ECALL].into_iter().for_each(|word| code.word(word));
        let mut pool = Code::default();
        (0..POOL / 4 + SCRATCH / 4).for_each(|_| pool.word(self.value()));
        let segment = |address, bytes: Vec<u8>, memory_bytes, executable| Segment {
            address,
            bytes,
            memory_bytes,
            executable,
            writable: !executable,
        };
        let text_bytes = code.0.len() as u32;
        let segments = vec![segment(TEXT, code.0, text_bytes, true), segment(DATA, pool.0, POOL + 4096, false)];
        Image { entry: TEXT, segments, functions: Vec::new() }
    }
}

/// Returns the output of the core.
fn executed(file: &[u8]) -> Vec<u8> {
    let image = Image::read(file).expect("valid");
    let range = |address, bytes| AddressRange { address, bytes };
    let layout = Layout { text: range(TEXT, 32 << 20), data: vec![range(DATA, POOL + 4096)], shared: None, devices: vec![] };
    let mut memory = Memory::new(&layout, &image).expect("fits");
    let mut core = Core::new(0, image.entry, &CycleTable::default(), &SharedMemory::default()).expect("valid");
    let mut output = Vec::new();
    loop {
        let stop = core.run(&mut memory, core.cycles() + 1_000_000);
        match (stop, core.register(17)) {
            (Stop::Call { .. }, 64) => {
                let (from, bytes) = (core.register(11), core.register(12));
                output.extend(memory.slice(from, bytes as usize).expect("the record"));
                core.set_register(10, bytes);
            }
            (Stop::Call { .. }, 93) => return output,
            (stop, _) => panic!("{stop:?}"),
        }
    }
}

/// Returns the output of the oracle, or the reason for which there is none.
fn expected(file: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let path = std::env::temp_dir().join(format!("riscv-oracle-{}-{name}", std::process::id()));
    std::fs::write(&path, file).map_err(|error| error.to_string())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).map_err(|error| error.to_string())?;
    }
    let output = Command::new("qemu-riscv32").arg(&path).stdin(Stdio::null()).output();
    std::fs::remove_file(&path).map_err(|error| error.to_string())?;
    let output = output.map_err(|error| format!("qemu-riscv32: {error}"))?;
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

/// Compares `count` sequences of the stream `seed`.
fn compare(seed: u64, count: u64) {
    let mut done = 0;
    while done < count {
        let batch = BATCH.min(count - done);
        let mut generator = Generator { rng: Rng::stream(seed + done, "riscv.oracle") };
        let file = write(&generator.image(batch));
        let expected = match expected(&file, &format!("{seed}-{done}")) {
            Ok(expected) => expected,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let found = executed(&file);
        assert_eq!(expected.len(), batch as usize * RECORD as usize);
        let records = expected.chunks(RECORD as usize).zip(found.chunks(RECORD as usize));
        for (at, (expected, found)) in records.enumerate() {
            if expected != found {
                let words = |bytes: &[u8]| -> Vec<u32> {
                    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
                };
                let (expected, found) = (words(expected), words(found));
                let differences: Vec<String> = (0..expected.len())
                    .filter(|at| expected[*at] != found[*at])
                    .map(|at| match at.checked_sub(SCRATCH as usize / 4) {
                        Some(register) => format!("x{}: {:#x}, expected {:#x}", register + 1, found[at], expected[at]),
                        None => format!("scratch + {}: {:#x}, expected {:#x}", 4 * at, found[at], expected[at]),
                    })
                    .collect();
                panic!("seed {}, sequence {at}: {}", seed + done, differences.join("; "));
            }
        }
        assert_eq!(expected.len(), found.len());
        done += batch;
    }
    println!("{done} sequences agree");
}

#[test]
fn oracle() {
    compare(0, BATCH);
}

#[test]
#[ignore = "takes minutes; `RISCV_SEQUENCES` is the number of sequences"]
fn oracle_of_many() {
    let count = std::env::var("RISCV_SEQUENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    compare(1_000_000, count);
}
