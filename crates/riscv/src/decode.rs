//! Decoded instructions.
//!
//! Source: The RISC-V Instruction Set Manual, volume I: RV32I, M, C and Zicsr.

use crate::compressed::expand;

/// Register that takes the results of instructions without one. Nothing reads it.
pub(crate) const SINK: u8 = 32;

/// First address of the control and status registers whose bits 10 and 11 make them read-only.
const FIRST_READ_ONLY: u32 = 0xc00;

/// Number of classes.
pub(crate) const CLASSES: usize = 16;

/// Class of an instruction: those of a class take the same cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Additions, comparisons, logical operations, shifts, upper immediates and `fence`.
    Alu,
    /// Loads whose register the instruction behind them does not read.
    Load,
    /// Loads whose register the instruction behind them reads.
    LoadUse,
    /// Stores.
    Store,
    /// Branches, taken or not.
    Branch,
    /// Direct and indirect jumps.
    Jump,
    /// Multiplications.
    Multiply,
    /// Divisions and remainders.
    Divide,
    /// Accesses to control and status registers, `wfi`, `ecall` and `ebreak`.
    System,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 9] = [
        Class::Alu,
        Class::Load,
        Class::LoadUse,
        Class::Store,
        Class::Branch,
        Class::Jump,
        Class::Multiply,
        Class::Divide,
        Class::System,
    ];
}

/// Operation of a decoded instruction. One with a register and one with an immediate operand are the same: the second
/// operand is the sum of a register and an immediate, of which one is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    Add,
    Sub,
    ShiftLeft,
    Less,
    LessUnsigned,
    Xor,
    ShiftRight,
    ShiftRightArithmetic,
    Or,
    And,
    Multiply,
    MultiplyHigh,
    MultiplyHighMixed,
    MultiplyHighUnsigned,
    Divide,
    DivideUnsigned,
    Remainder,
    RemainderUnsigned,
    LoadByte,
    LoadHalf,
    LoadWord,
    LoadByteUnsigned,
    LoadHalfUnsigned,
    StoreByte,
    StoreHalf,
    StoreWord,
    Equal,
    NotEqual,
    BranchLess,
    BranchGreaterEqual,
    BranchLessUnsigned,
    BranchGreaterEqualUnsigned,
    Jump,
    JumpRegister,
    Csr,
    Wait,
    Call,
    Break,
    Illegal,
    /// A 32-bit instruction whose second half is behind the end of the text.
    Truncated,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub op: Op,
    pub class: Class,
    /// Register of the result; [`SINK`] if there is none.
    pub target: u8,
    /// First operand; 0 if there is none.
    pub source_1: u8,
    /// Second operand; 0 if there is none.
    pub source_2: u8,
    /// Size \[bytes\].
    pub size: u8,
    /// Immediate operand; the target of a branch or direct jump; the encoding of an illegal instruction. Of a `Csr`:
    /// the register in the low 12 bits, then the function in four, then the immediate.
    pub immediate: u32,
}

// The text is read at random: a decoded instruction takes little of a cache.
const _: () = assert!(size_of::<Instruction>() == 12);

/// Returns the instruction in `half` and, if that is the first half of a 32-bit instruction, in `next`, at address
/// `pc`.
pub(crate) fn decode(half: u16, next: Option<u16>, pc: u32) -> Instruction {
    let (word, size) = match (half & 3, next) {
        (3, Some(next)) => (u32::from(next) << 16 | u32::from(half), 4),
        (3, None) => {
            let encoding = u32::from(half);
            return Instruction { op: Op::Truncated, immediate: encoding, ..illegal(encoding, 2) };
        }
        _ => match expand(half) {
            Some(word) => (word, 2),
            None => return illegal(u32::from(half), 2),
        },
    };
    match decode_word(word, pc) {
        Some(instruction) => Instruction { size, ..instruction },
        None => illegal(word, size),
    }
}

fn illegal(encoding: u32, size: u8) -> Instruction {
    let class = Class::System;
    Instruction { op: Op::Illegal, class, target: SINK, source_1: 0, source_2: 0, size, immediate: encoding }
}

/// Fields of a 32-bit encoding.
struct Fields {
    word: u32,
    target: u8,
    function_3: u32,
    source_1: u8,
    source_2: u8,
    function_7: u32,
}

impl Fields {
    fn of(word: u32) -> Fields {
        let register = |from: u32| ((word >> from) & 31) as u8;
        Fields {
            word,
            target: if register(7) == 0 { SINK } else { register(7) },
            function_3: (word >> 12) & 7,
            source_1: register(15),
            source_2: register(20),
            function_7: word >> 25,
        }
    }

    fn i_immediate(&self) -> u32 {
        ((self.word as i32) >> 20) as u32
    }

    fn s_immediate(&self) -> u32 {
        (((self.word & 0xfe00_0000) as i32) >> 20) as u32 | ((self.word >> 7) & 31)
    }

    fn b_immediate(&self) -> u32 {
        let sign = ((self.word as i32) >> 31) as u32;
        (sign << 12) | ((self.word << 4) & 0x800) | ((self.word >> 20) & 0x7e0) | ((self.word >> 7) & 0x1e)
    }

    fn j_immediate(&self) -> u32 {
        let sign = ((self.word as i32) >> 31) as u32;
        (sign << 20) | (self.word & 0xf_f000) | ((self.word >> 9) & 0x800) | ((self.word >> 20) & 0x7fe)
    }

    fn u_immediate(&self) -> u32 {
        self.word & 0xffff_f000
    }

    /// Returns an instruction with a result and the operands `source_1` and `immediate`.
    fn with_immediate(&self, op: Op, class: Class, immediate: u32) -> Instruction {
        let Fields { target, source_1, .. } = *self;
        Instruction { op, class, target, source_1, source_2: 0, size: 4, immediate }
    }

    /// Returns an instruction without a result and with both register operands.
    fn without_target(&self, op: Op, class: Class, immediate: u32) -> Instruction {
        let Fields { source_1, source_2, .. } = *self;
        Instruction { op, class, target: SINK, source_1, source_2, size: 4, immediate }
    }
}

/// Returns the instruction of a 32-bit encoding at address `pc`, or `None` if it is illegal.
fn decode_word(word: u32, pc: u32) -> Option<Instruction> {
    let fields = Fields::of(word);
    let constant = |value: u32| Instruction { source_1: 0, ..fields.with_immediate(Op::Add, Class::Alu, value) };
    let instruction = match word & 0x7f {
        0x03 => fields.with_immediate(load(fields.function_3)?, Class::Load, fields.i_immediate()),
        // A fence orders nothing in a memory that is always coherent. `fence.i` is an extension of its own.
        0x0f if fields.function_3 == 0 => Instruction { target: SINK, ..constant(0) },
        0x13 => operation_with_immediate(&fields)?,
        0x17 => constant(fields.u_immediate().wrapping_add(pc)),
        0x23 => fields.without_target(store(fields.function_3)?, Class::Store, fields.s_immediate()),
        0x33 => operation(&fields)?,
        0x37 => constant(fields.u_immediate()),
        0x63 => fields.without_target(branch(fields.function_3)?, Class::Branch, fields.b_immediate().wrapping_add(pc)),
        0x67 if fields.function_3 == 0 => fields.with_immediate(Op::JumpRegister, Class::Jump, fields.i_immediate()),
        0x6f => Instruction { op: Op::Jump, class: Class::Jump, ..constant(fields.j_immediate().wrapping_add(pc)) },
        0x73 => system(&fields)?,
        _ => return None,
    };
    Some(instruction)
}

fn load(function: u32) -> Option<Op> {
    Some(match function {
        0 => Op::LoadByte,
        1 => Op::LoadHalf,
        2 => Op::LoadWord,
        4 => Op::LoadByteUnsigned,
        5 => Op::LoadHalfUnsigned,
        _ => return None,
    })
}

fn store(function: u32) -> Option<Op> {
    Some(match function {
        0 => Op::StoreByte,
        1 => Op::StoreHalf,
        2 => Op::StoreWord,
        _ => return None,
    })
}

fn branch(function: u32) -> Option<Op> {
    Some(match function {
        0 => Op::Equal,
        1 => Op::NotEqual,
        4 => Op::BranchLess,
        5 => Op::BranchGreaterEqual,
        6 => Op::BranchLessUnsigned,
        7 => Op::BranchGreaterEqualUnsigned,
        _ => return None,
    })
}

fn operation_with_immediate(fields: &Fields) -> Option<Instruction> {
    let (op, immediate) = match (fields.function_3, fields.function_7) {
        (0, _) => (Op::Add, fields.i_immediate()),
        (1, 0) => (Op::ShiftLeft, u32::from(fields.source_2)),
        (2, _) => (Op::Less, fields.i_immediate()),
        (3, _) => (Op::LessUnsigned, fields.i_immediate()),
        (4, _) => (Op::Xor, fields.i_immediate()),
        (5, 0) => (Op::ShiftRight, u32::from(fields.source_2)),
        (5, 0x20) => (Op::ShiftRightArithmetic, u32::from(fields.source_2)),
        (6, _) => (Op::Or, fields.i_immediate()),
        (7, _) => (Op::And, fields.i_immediate()),
        _ => return None,
    };
    Some(fields.with_immediate(op, Class::Alu, immediate))
}

fn operation(fields: &Fields) -> Option<Instruction> {
    let (op, class) = match (fields.function_7, fields.function_3) {
        (0, 0) => (Op::Add, Class::Alu),
        (0x20, 0) => (Op::Sub, Class::Alu),
        (0, 1) => (Op::ShiftLeft, Class::Alu),
        (0, 2) => (Op::Less, Class::Alu),
        (0, 3) => (Op::LessUnsigned, Class::Alu),
        (0, 4) => (Op::Xor, Class::Alu),
        (0, 5) => (Op::ShiftRight, Class::Alu),
        (0x20, 5) => (Op::ShiftRightArithmetic, Class::Alu),
        (0, 6) => (Op::Or, Class::Alu),
        (0, 7) => (Op::And, Class::Alu),
        (1, 0) => (Op::Multiply, Class::Multiply),
        (1, 1) => (Op::MultiplyHigh, Class::Multiply),
        (1, 2) => (Op::MultiplyHighMixed, Class::Multiply),
        (1, 3) => (Op::MultiplyHighUnsigned, Class::Multiply),
        (1, 4) => (Op::Divide, Class::Divide),
        (1, 5) => (Op::DivideUnsigned, Class::Divide),
        (1, 6) => (Op::Remainder, Class::Divide),
        (1, 7) => (Op::RemainderUnsigned, Class::Divide),
        _ => return None,
    };
    let Fields { target, source_1, source_2, .. } = *fields;
    Some(Instruction { op, class, target, source_1, source_2, size: 4, immediate: 0 })
}

fn system(fields: &Fields) -> Option<Instruction> {
    let none = |op| Instruction { op, size: 4, ..illegal(0, 4) };
    match fields.word {
        0x0000_0073 => return Some(none(Op::Call)),
        0x0010_0073 => return Some(none(Op::Break)),
        0x1050_0073 => return Some(none(Op::Wait)),
        _ => {}
    }
    let (number, function) = (fields.word >> 20, fields.function_3);
    let exists = matches!(number, 0x340 | 0xf14 | 0xc00..=0xc02 | 0xc80..=0xc82);
    let writes = function & 3 == 1 || fields.source_1 != 0;
    if function & 3 == 0 || !exists || (writes && number >= FIRST_READ_ONLY) {
        return None;
    }
    let (source_1, operand) = if function & 4 != 0 { (0, u32::from(fields.source_1)) } else { (fields.source_1, 0) };
    let immediate = number | function << 12 | operand << 16;
    Some(Instruction { source_1, ..fields.with_immediate(Op::Csr, Class::System, immediate) })
}

/// Returns the decoded `text`, which begins at the even address `base`: a slot for each two bytes, also for those in
/// the middle of an instruction.
pub(crate) fn decode_text(text: &[u8], base: u32) -> Vec<Instruction> {
    let halves: Vec<u16> = text.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let at = |slot: usize| base.wrapping_add(2 * slot as u32);
    let next = |slot: usize| halves.get(slot + 1).copied();
    let mut slots: Vec<Instruction> = halves.iter().enumerate().map(|(slot, half)| decode(*half, next(slot), at(slot))).collect();
    for slot in 0..slots.len() {
        let Instruction { class, target, size, .. } = slots[slot];
        if class == Class::Load
            && let Some(behind) = slots.get(slot + usize::from(size) / 2)
            && (behind.source_1 == target || behind.source_2 == target)
        {
            slots[slot].class = Class::LoadUse;
        }
    }
    slots
}
