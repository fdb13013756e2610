//! Expansion of 16-bit instructions (extension C of RV32 without F and D) to their 32-bit equivalents.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, chapter "C" with the listing of RVC instructions. Hints expand
//! to instructions that change no register; reserved encodings and those for custom use are illegal.

/// Register `ra`.
const RA: u32 = 1;
/// Register `sp`.
const SP: u32 = 2;

/// Opcodes of the expansions.
const LOAD: u32 = 0x03;
const OP_IMM: u32 = 0x13;
const STORE: u32 = 0x23;
const OP: u32 = 0x33;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const EBREAK: u32 = 0x0010_0073;

/// Returns the equivalent of `half`, or `None` if it is illegal.
pub(crate) fn expand(half: u16) -> Option<u32> {
    let word = u32::from(half);
    let function = word >> 13;
    match (word & 3, function) {
        (0, 0) => {
            let offset = bits(word, 7, 4) << 6 | bits(word, 11, 2) << 4 | bits(word, 5, 1) << 3 | bits(word, 6, 1) << 2;
            (offset != 0).then(|| i_type(OP_IMM, low(word, 2), 0, SP, offset))
        }
        (0, 2) => Some(i_type(LOAD, low(word, 2), 2, low(word, 7), word_offset(word))),
        (0, 6) => Some(s_type(low(word, 7), low(word, 2), word_offset(word))),
        (1, 0) => Some(i_type(OP_IMM, full(word), 0, full(word), immediate(word))),
        (1, 1) => Some(j_type(RA, jump_offset(word))),
        (1, 2) => Some(i_type(OP_IMM, full(word), 0, 0, immediate(word))),
        (1, 3) => upper(word),
        (1, 4) => arithmetic(word),
        (1, 5) => Some(j_type(0, jump_offset(word))),
        (1, 6 | 7) => Some(b_type(function - 6, low(word, 7), branch_offset(word))),
        (2, 0) => (bits(word, 12, 1) == 0).then(|| i_type(OP_IMM, full(word), 1, full(word), bits(word, 2, 5))),
        (2, 2) => {
            let offset = bits(word, 2, 2) << 6 | bits(word, 12, 1) << 5 | bits(word, 4, 3) << 2;
            (full(word) != 0).then(|| i_type(LOAD, full(word), 2, SP, offset))
        }
        (2, 4) => register_form(word),
        (2, 6) => Some(s_type(SP, bits(word, 2, 5), bits(word, 7, 2) << 6 | bits(word, 9, 4) << 2)),
        _ => None,
    }
}

/// Returns `c.addi16sp` or `c.lui`.
fn upper(word: u32) -> Option<u32> {
    let value = if full(word) == SP {
        let offset = bits(word, 3, 2) << 7 | bits(word, 5, 1) << 6 | bits(word, 2, 1) << 5 | bits(word, 6, 1) << 4;
        i_type(OP_IMM, SP, 0, SP, sign_extended(bits(word, 12, 1) << 9 | offset, 10))
    } else {
        LUI | full(word) << 7 | immediate(word) << 12
    };
    (bits(word, 12, 1) << 5 | bits(word, 2, 5) != 0).then_some(value)
}

/// Returns a shift, `c.andi` or an operation of two of the eight registers.
fn arithmetic(word: u32) -> Option<u32> {
    let register = low(word, 7);
    let upper_bit = bits(word, 12, 1);
    match bits(word, 10, 2) {
        0 => (upper_bit == 0).then(|| i_type(OP_IMM, register, 5, register, bits(word, 2, 5))),
        1 => (upper_bit == 0).then(|| i_type(OP_IMM, register, 5, register, 0x400 | bits(word, 2, 5))),
        2 => Some(i_type(OP_IMM, register, 7, register, immediate(word))),
        _ => {
            let (function_7, function_3) = [(0x20, 0), (0, 4), (0, 6), (0, 7)][bits(word, 5, 2) as usize];
            (upper_bit == 0).then(|| r_type(function_7, low(word, 2), register, function_3, register))
        }
    }
}

/// Returns `c.jr`, `c.jalr`, `c.ebreak`, `c.mv` or `c.add`.
fn register_form(word: u32) -> Option<u32> {
    let (target, source) = (full(word), bits(word, 2, 5));
    match (bits(word, 12, 1), target, source) {
        (0, 0, 0) => None,
        (0, _, 0) => Some(i_type(JALR, 0, 0, target, 0)),
        (0, _, _) => Some(r_type(0, source, 0, 0, target)),
        (_, 0, 0) => Some(EBREAK),
        (_, _, 0) => Some(i_type(JALR, RA, 0, target, 0)),
        _ => Some(r_type(0, source, target, 0, target)),
    }
}

/// Returns `count` bits of `word` from bit `from`.
fn bits(word: u32, from: u32, count: u32) -> u32 {
    (word >> from) & ((1 << count) - 1)
}

/// Returns one of the registers x8 to x15, whose number is in three bits.
fn low(word: u32, from: u32) -> u32 {
    8 + bits(word, from, 3)
}

/// Returns the register in bits 7 to 11.
fn full(word: u32) -> u32 {
    bits(word, 7, 5)
}

fn sign_extended(value: u32, width: u32) -> u32 {
    let shift = 32 - width;
    (((value << shift) as i32) >> shift) as u32
}

/// Returns the immediate of format CI, extended with its sign.
fn immediate(word: u32) -> u32 {
    sign_extended(bits(word, 12, 1) << 5 | bits(word, 2, 5), 6)
}

/// Returns the offset of `c.lw` and `c.sw`.
fn word_offset(word: u32) -> u32 {
    bits(word, 5, 1) << 6 | bits(word, 10, 3) << 3 | bits(word, 6, 1) << 2
}

/// Returns the offset of format CJ.
fn jump_offset(word: u32) -> u32 {
    let high = bits(word, 12, 1) << 11 | bits(word, 8, 1) << 10 | bits(word, 9, 2) << 8 | bits(word, 6, 1) << 7;
    let rest = bits(word, 7, 1) << 6 | bits(word, 2, 1) << 5 | bits(word, 11, 1) << 4 | bits(word, 3, 3) << 1;
    sign_extended(high | rest, 12)
}

/// Returns the offset of `c.beqz` and `c.bnez`.
fn branch_offset(word: u32) -> u32 {
    let high = bits(word, 12, 1) << 8 | bits(word, 5, 2) << 6 | bits(word, 2, 1) << 5;
    sign_extended(high | bits(word, 10, 2) << 3 | bits(word, 3, 2) << 1, 9)
}

fn r_type(function_7: u32, source_2: u32, source_1: u32, function_3: u32, target: u32) -> u32 {
    function_7 << 25 | source_2 << 20 | source_1 << 15 | function_3 << 12 | target << 7 | OP
}

fn i_type(opcode: u32, target: u32, function: u32, source: u32, value: u32) -> u32 {
    value << 20 | source << 15 | function << 12 | target << 7 | opcode
}

/// Returns a store of a word.
fn s_type(base: u32, source: u32, offset: u32) -> u32 {
    bits(offset, 5, 7) << 25 | source << 20 | base << 15 | 2 << 12 | bits(offset, 0, 5) << 7 | STORE
}

/// Returns a comparison of a register with zero.
fn b_type(function: u32, source: u32, offset: u32) -> u32 {
    let high = bits(offset, 12, 1) << 31 | bits(offset, 5, 6) << 25;
    high | source << 15 | function << 12 | bits(offset, 1, 4) << 8 | bits(offset, 11, 1) << 7 | BRANCH
}

fn j_type(target: u32, offset: u32) -> u32 {
    let high = bits(offset, 20, 1) << 31 | bits(offset, 1, 10) << 21 | bits(offset, 11, 1) << 20;
    high | bits(offset, 12, 8) << 12 | target << 7 | JAL
}
