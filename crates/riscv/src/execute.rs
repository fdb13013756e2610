//! Execution of decoded instructions.

use crate::decode::{Instruction, Op};
use crate::hart::Pending;
use crate::memory::{Interconnect, Kind, Ram};
use crate::profile::Slot;
use crate::{Access, Cause, Core, Fault, Memory, Stop, Width};

/// Reason for which an instruction does not go on to the next.
enum Exit {
    Device,
    Shared,
    Fault(Cause, u32),
    Wait,
    Call,
    Break,
}

/// An instruction under way: its place and time, and where and when the next one follows.
struct Step {
    pc: u32,
    next: u32,
    /// Cycles and instructions before it.
    cycles: u64,
    instructions: u64,
    /// Its own cycles.
    cost: u64,
}

impl Op {
    /// Returns whether the operation is a load.
    pub fn is_load(self) -> bool {
        use Op::*;
        matches!(self, LoadByte | LoadHalf | LoadWord | LoadByteUnsigned | LoadHalfUnsigned)
    }

    /// Returns the result of a load whose memory holds the low bits of `value`.
    pub fn extended(self, value: u32) -> u32 {
        match self {
            Op::LoadByte => value as i8 as u32,
            Op::LoadHalf => value as i16 as u32,
            Op::LoadByteUnsigned => value & 0xff,
            Op::LoadHalfUnsigned => value & 0xffff,
            _ => value,
        }
    }

    /// Returns the width of a load or store, and whether a load extends the sign.
    fn width(self) -> (Width, bool) {
        match self {
            Op::LoadByte => (Width::Byte, true),
            Op::LoadByteUnsigned | Op::StoreByte => (Width::Byte, false),
            Op::LoadHalf => (Width::Half, true),
            Op::LoadHalfUnsigned | Op::StoreHalf => (Width::Half, false),
            _ => (Width::Word, false),
        }
    }
}

/// Returns little-endian `bytes` as a word.
#[inline(always)]
fn word<const N: usize>(bytes: [u8; N]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Returns the low bytes of `word`.
#[inline(always)]
fn bytes<const N: usize>(word: u32) -> [u8; N] {
    std::array::from_fn(|at| (word >> (8 * at)) as u8)
}

fn divide(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }
}

fn remainder(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 }
}

impl Core {
    /// Executes instructions up to `until_cycle`, and counts them by slot in `profile`. The program counter is even.
    pub(crate) fn execute<const PROFILE: bool>(&mut self, memory: &mut Memory, until_cycle: u64, profile: &mut [Slot]) -> Stop {
        let Memory { text_base, slots, ram } = memory;
        let (text_base, slots) = (*text_base, slots.as_slice());
        let (mut pc, mut cycles, mut instructions) = (self.pc, self.cycles, self.instructions);
        let stop = loop {
            if cycles >= until_cycle {
                break Stop::Budget;
            }
            let slot = (pc.wrapping_sub(text_base) >> 1) as usize;
            let Some(instruction) = slots.get(slot) else {
                break Stop::Fault(Fault { pc, cause: Cause::FetchAccess, value: pc });
            };
            let next = pc.wrapping_add(u32::from(instruction.size));
            let cost = u64::from(self.class_cycles[instruction.class as usize]);
            let mut step = Step { pc, next, cycles, instructions, cost };
            match self.apply(ram, instruction, &mut step) {
                Ok(value) => self.registers[usize::from(instruction.target) & 63] = value,
                Err(exit) => {
                    let stop = self.stop(&exit, instruction, pc);
                    if !matches!(exit, Exit::Wait | Exit::Call | Exit::Break) {
                        break stop;
                    }
                    if PROFILE && let Some(slot) = profile.get_mut(slot) {
                        slot.add(step.cost);
                    }
                    (pc, cycles, instructions) = (step.next, cycles + step.cost, instructions + 1);
                    break stop;
                }
            }
            if PROFILE && let Some(slot) = profile.get_mut(slot) {
                slot.add(step.cost);
            }
            (pc, cycles, instructions) = (step.next, cycles + step.cost, instructions + 1);
        };
        (self.pc, self.cycles, self.instructions) = (pc, cycles, instructions);
        stop
    }

    /// Executes one instruction and returns its result.
    #[inline(always)]
    fn apply(&mut self, ram: &mut Ram, instruction: &Instruction, step: &mut Step) -> Result<u32, Exit> {
        let Instruction { immediate, .. } = *instruction;
        let a = self.registers[usize::from(instruction.source_1) & 63];
        let source = self.registers[usize::from(instruction.source_2) & 63];
        let b = source.wrapping_add(immediate);
        let address = a.wrapping_add(immediate);
        Ok(match instruction.op {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::ShiftLeft => a.wrapping_shl(b),
            Op::Less => u32::from((a as i32) < b as i32),
            Op::LessUnsigned => u32::from(a < b),
            Op::Xor => a ^ b,
            Op::ShiftRight => a.wrapping_shr(b),
            Op::ShiftRightArithmetic => (a as i32).wrapping_shr(b) as u32,
            Op::Or => a | b,
            Op::And => a & b,
            Op::Multiply => a.wrapping_mul(b),
            Op::MultiplyHigh => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
            Op::MultiplyHighMixed => ((i64::from(a as i32) * i64::from(b)) >> 32) as u32,
            Op::MultiplyHighUnsigned => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            Op::Divide => divide(a, b),
            Op::DivideUnsigned => a.checked_div(b).unwrap_or(u32::MAX),
            Op::Remainder => remainder(a, b),
            Op::RemainderUnsigned => a.checked_rem(b).unwrap_or(a),
            Op::LoadByte => self.load::<1>(ram, address, step)? as i8 as u32,
            Op::LoadHalf => self.load::<2>(ram, address, step)? as i16 as u32,
            Op::LoadWord => self.load::<4>(ram, address, step)?,
            Op::LoadByteUnsigned => self.load::<1>(ram, address, step)?,
            Op::LoadHalfUnsigned => self.load::<2>(ram, address, step)?,
            Op::StoreByte => self.store::<1>(ram, address, source, step)?,
            Op::StoreHalf => self.store::<2>(ram, address, source, step)?,
            Op::StoreWord => self.store::<4>(ram, address, source, step)?,
            Op::Equal => self.branch(a == source, immediate, step),
            Op::NotEqual => self.branch(a != source, immediate, step),
            Op::BranchLess => self.branch((a as i32) < source as i32, immediate, step),
            Op::BranchGreaterEqual => self.branch(a as i32 >= source as i32, immediate, step),
            Op::BranchLessUnsigned => self.branch(a < source, immediate, step),
            Op::BranchGreaterEqualUnsigned => self.branch(a >= source, immediate, step),
            Op::Jump => std::mem::replace(&mut step.next, immediate),
            Op::JumpRegister => std::mem::replace(&mut step.next, address & !1),
            Op::Csr => self.access_register(a, immediate, step.cycles, step.instructions),
            Op::Wait => return Err(Exit::Wait),
            Op::Call => return Err(Exit::Call),
            Op::Break => return Err(Exit::Break),
            Op::Illegal => return Err(Exit::Fault(Cause::Illegal, immediate)),
            Op::Truncated => return Err(Exit::Fault(Cause::FetchAccess, step.pc.wrapping_add(2))),
        })
    }

    #[inline(always)]
    fn branch(&self, is_taken: bool, target: u32, step: &mut Step) -> u32 {
        if is_taken {
            step.next = target;
            step.cost += u64::from(self.branch_taken_cycles);
        }
        0
    }

    #[inline(always)]
    fn load<const N: usize>(&mut self, ram: &mut Ram, address: u32, step: &mut Step) -> Result<u32, Exit> {
        if address & (N as u32 - 1) == 0
            && let Some(bytes) = ram.first.load::<N>(address)
        {
            return Ok(word(bytes));
        }
        let (value, cycles) = self.load_elsewhere::<N>(ram, address, step.cycles)?;
        step.cost += u64::from(cycles);
        Ok(value)
    }

    /// Loads from another region than the first, and returns the value with the additional cycles.
    #[inline(never)]
    fn load_elsewhere<const N: usize>(&mut self, ram: &mut Ram, address: u32, now: u64) -> Result<(u32, u32), Exit> {
        if address & (N as u32 - 1) != 0 {
            return Err(Exit::Fault(Cause::LoadMisaligned, address));
        }
        for region in &ram.others {
            if let Some(bytes) = region.load::<N>(address) {
                if region.kind != Kind::Shared {
                    return Ok((word(bytes), 0));
                }
                return self.access_shared(&mut ram.interconnect, address, false, now).map(|cycles| (word(bytes), cycles));
            }
        }
        Err(if ram.is_device(address) { Exit::Device } else { Exit::Fault(Cause::LoadAccess, address) })
    }

    /// Accounts an access to the shared memory at cycle `now`, and returns its additional cycles.
    fn access_shared(
        &mut self,
        interconnect: &mut Option<Interconnect>,
        address: u32,
        is_store: bool,
        now: u64,
    ) -> Result<u32, Exit> {
        if now >= self.shared_limit {
            return Err(Exit::Shared);
        }
        let cycles = self.shared.access(address, is_store);
        let wait = interconnect.as_mut().map_or(0, |interconnect| interconnect.access(now));
        self.interconnect_wait += u64::from(wait);
        Ok(cycles.saturating_add(wait))
    }

    /// Stores the low bytes of `value`, and returns the value for the sink.
    #[inline(always)]
    fn store<const N: usize>(&mut self, ram: &mut Ram, address: u32, value: u32, step: &mut Step) -> Result<u32, Exit> {
        if address & (N as u32 - 1) == 0 && ram.first.store::<N>(address, bytes(value)) {
            return Ok(0);
        }
        step.cost += u64::from(self.store_elsewhere::<N>(ram, address, value, step.cycles)?);
        Ok(0)
    }

    /// Stores to another region than the first, and returns the additional cycles.
    #[inline(never)]
    fn store_elsewhere<const N: usize>(&mut self, ram: &mut Ram, address: u32, value: u32, now: u64) -> Result<u32, Exit> {
        if address & (N as u32 - 1) != 0 {
            return Err(Exit::Fault(Cause::StoreMisaligned, address));
        }
        for region in &mut ram.others {
            if region.kind == Kind::Text && region.load::<N>(address).is_some() {
                return Err(Exit::Fault(Cause::StoreToText, address));
            }
            if region.kind == Kind::Shared && region.load::<N>(address).is_some() {
                let cycles = self.access_shared(&mut ram.interconnect, address, true, now)?;
                region.store::<N>(address, bytes(value));
                return Ok(cycles);
            }
            if region.store::<N>(address, bytes(value)) {
                return Ok(0);
            }
        }
        Err(if ram.is_device(address) { Exit::Device } else { Exit::Fault(Cause::StoreAccess, address) })
    }

    /// Reads and changes a control and status register. The decoder has refused those that do not exist, and changes of
    /// those that are read-only.
    #[inline(never)]
    fn access_register(&mut self, a: u32, encoded: u32, cycles: u64, instructions: u64) -> u32 {
        let (number, function, operand) = (encoded & 0xfff, (encoded >> 12) & 3, a | encoded >> 16);
        let value = match number {
            0x340 => self.scratch,
            0xc00 | 0xc01 => cycles as u32,
            0xc02 => instructions as u32,
            0xc80 | 0xc81 => (cycles >> 32) as u32,
            0xc82 => (instructions >> 32) as u32,
            _ => self.hart,
        };
        if number == 0x340 {
            self.scratch = match function {
                1 => operand,
                2 => value | operand,
                _ => value & !operand,
            };
        }
        value
    }

    /// Returns the stop of an instruction, and remembers an access to a device.
    #[cold]
    fn stop(&mut self, exit: &Exit, instruction: &Instruction, pc: u32) -> Stop {
        match *exit {
            Exit::Wait => Stop::Wait,
            Exit::Shared => Stop::Shared,
            Exit::Call => Stop::Call { pc },
            Exit::Break => Stop::Break { pc },
            Exit::Fault(cause, value) => Stop::Fault(Fault { pc, cause, value }),
            Exit::Device => {
                self.pending = Some(Pending { instruction: *instruction, pc });
                let register = |number: u8| self.registers[usize::from(number) & 63];
                let address = register(instruction.source_1).wrapping_add(instruction.immediate);
                let (width, signed) = instruction.op.width();
                let access = if instruction.op.is_load() {
                    Access::Load { width, signed }
                } else {
                    let value = register(instruction.source_2) & (u32::MAX >> (32 - 8 * width.bytes()));
                    Access::Store { width, value }
                };
                Stop::Device { address, access }
            }
        }
    }
}
