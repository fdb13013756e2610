//! RV32I, M and Zicsr, instruction by instruction.

use super::assembler::*;
use super::{DATA, Machine, TEXT};
use crate::decode::{Op, decode};
use crate::{Cause, Fault, Stop};

/// Executes `word` with x5 = `a` and x6 = `b`, and returns x7.
fn result(word: u32, a: u32, b: u32) -> u32 {
    let mut machine = Machine::new([word]);
    machine.core.set_register(5, a);
    machine.core.set_register(6, b);
    assert_eq!(machine.step(), Stop::Budget, "{word:#010x}");
    assert_eq!(machine.core.pc(), TEXT + 4);
    machine.core.register(7)
}

const MIN: u32 = 0x8000_0000;
const MAX: u32 = 0x7fff_ffff;
const MINUS: u32 = u32::MAX;

#[test]
fn operations_of_two_registers() {
    let cases: &[(u32, u32, u32, u32, u32)] = &[
        (0x00, 0, MAX, 1, MIN),
        (0x00, 0, MINUS, 1, 0),
        (0x20, 0, 0, 1, MINUS),
        (0x20, 0, MIN, 1, MAX),
        (0x00, 1, 1, 31, MIN),
        (0x00, 1, 3, 33, 6),
        (0x00, 2, MIN, MAX, 1),
        (0x00, 2, MAX, MIN, 0),
        (0x00, 2, 5, 5, 0),
        (0x00, 3, MIN, MAX, 0),
        (0x00, 3, MAX, MIN, 1),
        (0x00, 4, 0xff00_ff00, 0x0ff0_0ff0, 0xf0f0_f0f0),
        (0x00, 5, MIN, 31, 1),
        (0x00, 5, MIN, 32, MIN),
        (0x20, 5, MIN, 31, MINUS),
        (0x20, 5, MIN, 0xffff_ffe1, 0xc000_0000),
        (0x00, 6, 0xff00_ff00, 0x0ff0_0ff0, 0xfff0_fff0),
        (0x00, 7, 0xff00_ff00, 0x0ff0_0ff0, 0x0f00_0f00),
    ];
    for (function_7, function_3, a, b, expected) in cases {
        assert_eq!(result(r(*function_7, *function_3, 7, 5, 6), *a, *b), *expected, "{function_7:#x} {function_3} {a:#x} {b:#x}");
    }
}

#[test]
fn multiplications_and_divisions() {
    let cases: &[(u32, u32, u32, u32)] = &[
        (0, 0x1_0001, 0x1_0001, 0x2_0001),
        (0, MINUS, MINUS, 1),
        (1, MINUS, MINUS, 0),
        (1, MIN, MIN, 0x4000_0000),
        (1, MIN, MAX, 0xc000_0000),
        (2, MINUS, MINUS, MINUS),
        (2, MIN, MINUS, MIN),
        (2, 2, MIN, 1),
        (3, MINUS, MINUS, 0xffff_fffe),
        (3, MIN, MIN, 0x4000_0000),
        (4, 7, 2, 3),
        (4, (-7i32) as u32, 2, (-3i32) as u32),
        (4, 7, 0, MINUS),
        (4, MIN, MINUS, MIN),
        (5, MINUS, 2, MAX),
        (5, 7, 0, MINUS),
        (5, MIN, MINUS, 0),
        (6, 7, (-2i32) as u32, 1),
        (6, (-7i32) as u32, 2, MINUS),
        (6, (-7i32) as u32, 0, (-7i32) as u32),
        (6, MIN, MINUS, 0),
        (7, MINUS, 16, 15),
        (7, 7, 0, 7),
        (7, MIN, MINUS, MIN),
    ];
    for (function, a, b, expected) in cases {
        assert_eq!(result(r(1, *function, 7, 5, 6), *a, *b), *expected, "{function} {a:#x} {b:#x}");
    }
}

#[test]
fn operations_with_an_immediate() {
    let cases: &[(u32, u32, i32, u32)] = &[
        (0, MAX, 1, MIN),
        (0, 0, -2048, 0xffff_f800),
        (0, 1, 2047, 2048),
        (1, 1, 31, MIN),
        (2, MINUS, 0, 1),
        (2, 0, -1, 0),
        (3, 0, -1, 1),
        (3, MINUS, -1, 0),
        (4, 0x55, -1, 0xffff_ffaa),
        (5, MIN, 31, 1),
        (5, MIN, 0x400 | 31, MINUS),
        (5, MIN, 0x400, MIN),
        (6, 1, -2048, 0xffff_f801),
        (7, MINUS, -2048, 0xffff_f800),
        (7, 0x1234, 0xff, 0x34),
    ];
    for (function, a, value, expected) in cases {
        assert_eq!(result(i(0x13, *function, 7, 5, *value), *a, 0), *expected, "{function} {a:#x} {value}");
    }
    assert_eq!(result(u(0x37, 7, 0xfffff), 0, 0), 0xffff_f000);
    assert_eq!(result(u(0x17, 7, 0xfffff), 0, 0), TEXT.wrapping_sub(0x1000));
    assert_eq!(result(u(0x17, 7, 0x12345), 0, 0), TEXT + 0x1234_5000);
    for value in [0, 1, 0x800, 0x7ff, MIN, MAX, MINUS, 0xffff_f800] {
        let mut machine = Machine::new(li(7, value));
        machine.run();
        assert_eq!(machine.core.register(7), value);
    }
}

#[test]
fn loads_extend_and_stores_cut() {
    for (function, offset, expected) in [
        (0, 3, 0xffff_fff1),
        (0, 0, 0x44),
        (1, 2, 0xffff_f182),
        (1, 0, 0x7344),
        (2, 0, 0xf182_7344),
        (4, 3, 0xf1),
        (5, 2, 0xf182),
        (5, 0, 0x7344),
    ] {
        let mut machine = Machine::new([load(function, 7, 5, offset - 8)]);
        machine.core.set_register(5, DATA + 16);
        machine.memory.slice_mut(DATA + 8, 4).expect("data").copy_from_slice(&0xf182_7344u32.to_le_bytes());
        assert_eq!(machine.step(), Stop::Budget);
        assert_eq!(machine.core.register(7), expected, "{function} {offset}");
    }
    for (function, offset, expected) in [(0, 1, 0x1111_7811), (1, 2, 0x5678_1111), (2, 0, 0x1234_5678)] {
        let mut machine = Machine::new([store(function, 6, 5, offset - 2048)]);
        machine.core.set_register(5, DATA + 2048);
        machine.core.set_register(6, 0x1234_5678);
        machine.memory.slice_mut(DATA, 4).expect("data").fill(0x11);
        assert_eq!(machine.step(), Stop::Budget);
        assert_eq!(machine.memory.word(DATA), Some(expected));
    }
}

#[test]
fn branches_compare_and_jumps_link() {
    let compared = [(5, 5), (5, 6), (6, 5), (MINUS, 1), (1, MINUS), (MIN, MAX)];
    type Compare = fn(u32, u32) -> bool;
    let functions: [(u32, Compare); 6] = [
        (0, |a, b| a == b),
        (1, |a, b| a != b),
        (4, |a, b| (a as i32) < b as i32),
        (5, |a, b| a as i32 >= b as i32),
        (6, |a, b| a < b),
        (7, |a, b| a >= b),
    ];
    for (function, is_taken) in functions {
        for (a, b) in compared {
            for offset in [-4096, -2, 2, 0x7fe, 0x800, 4094] {
                let mut machine = Machine::new([branch(function, 5, 6, offset)]);
                machine.core.set_register(5, a);
                machine.core.set_register(6, b);
                machine.step();
                let expected = if is_taken(a, b) { TEXT.wrapping_add_signed(offset) } else { TEXT + 4 };
                assert_eq!(machine.core.pc(), expected, "{function} {a} {b} {offset}");
            }
        }
    }
    for offset in [-0x10_0000, -2, 4, 0x7fe, 0x800, 0xf_fffe, 0x5_5554, 0x2_aaaa] {
        let mut machine = Machine::new([jal(1, offset)]);
        machine.step();
        assert_eq!(machine.core.pc(), TEXT.wrapping_add_signed(offset));
        assert_eq!(machine.core.register(1), TEXT + 4);
    }
}

#[test]
fn an_indirect_jump_clears_bit_zero_and_reads_before_it_links() {
    let mut machine = Machine::new([jalr(5, 5, -3)]);
    machine.core.set_register(5, TEXT + 0x104);
    machine.step();
    assert_eq!((machine.core.pc(), machine.core.register(5)), (TEXT + 0x100, TEXT + 4));
    let mut machine = Machine::new([jalr(0, 5, 1)]);
    machine.core.set_register(5, MINUS);
    machine.step();
    assert_eq!(machine.core.pc(), 0);
    assert_eq!(machine.step(), Stop::Fault(Fault { pc: 0, cause: Cause::FetchAccess, value: 0 }));
}

#[test]
fn the_zero_register_keeps_its_value() {
    let words = [addi(0, 0, 5), jal(0, 4), load(2, 0, 5, 0), csr(2, 0, 0, 0xc00), r(1, 0, 0, 5, 5), add(7, 0, 0), EBREAK];
    let mut machine = Machine::new(words);
    machine.core.set_register(5, DATA);
    machine.core.set_register(0, 9);
    machine.core.set_register(32, 9);
    machine.memory.slice_mut(DATA, 4).expect("data").fill(7);
    machine.core.set_register(7, 1);
    assert_eq!(machine.run(), Stop::Break { pc: TEXT + 24 });
    assert_eq!((machine.core.register(0), machine.core.register(7), machine.core.register(32)), (0, 0, 0));
}

#[test]
fn control_and_status_registers() {
    let mut machine = Machine::new([
        csr(5, 5, 21, 0x340),
        csr(2, 6, 7, 0x340),
        csr(3, 8, 6, 0x340),
        csr(6, 9, 8, 0x340),
        csr(7, 10, 1, 0x340),
        csr(1, 11, 12, 0x340),
        csr(2, 12, 0, 0x340),
        csr(2, 13, 0, 0xf14),
        csr(2, 14, 0, 0xc00),
        csr(2, 15, 0, 0xc02),
        csr(7, 16, 0, 0xc01),
        csr(3, 17, 0, 0xc80),
        csr(3, 18, 0, 0xc81),
        csr(3, 19, 0, 0xc82),
        EBREAK,
    ]);
    machine.core.advance_to(0x3_0000_0000);
    machine.core.set_register(7, 0x100);
    machine.core.set_register(12, 0xabc);
    assert_eq!(machine.core.run(&mut machine.memory, u64::MAX), Stop::Break { pc: TEXT + 56 });
    let registers: Vec<u32> = (5..20).map(|number| machine.core.register(number)).collect();
    assert_eq!(registers, [0, 21, 0x100, 0x115, 0x100, 0x108, 0x108, 0xabc, 3, 8, 9, 10, 3, 3, 0]);
}

#[test]
fn registers_that_do_not_exist_or_are_read_only_are_illegal() {
    let illegal = [
        csr(1, 5, 0, 0xc00),
        csr(2, 5, 1, 0xc00),
        csr(7, 5, 1, 0xc02),
        csr(1, 5, 0, 0xf14),
        csr(2, 5, 0, 0x300),
        csr(2, 5, 0, 0xb00),
        csr(2, 5, 0, 0xc03),
        csr(4, 5, 0, 0x340),
        csr(0, 5, 0, 0x340),
    ];
    for word in illegal {
        let mut machine = Machine::new([word]);
        assert_eq!(machine.run(), Stop::Fault(Fault { pc: TEXT, cause: Cause::Illegal, value: word }));
    }
}

#[test]
fn reserved_encodings_are_illegal() {
    let illegal = [
        r(2, 0, 7, 5, 6),
        r(0x20, 1, 7, 5, 6),
        r(0x20, 7, 7, 5, 6),
        r(0x21, 0, 7, 5, 6),
        i(0x13, 1, 7, 5, 0x20),
        i(0x13, 5, 7, 5, 0x20),
        i(0x13, 5, 7, 5, 0x420),
        load(3, 7, 5, 0),
        load(6, 7, 5, 0),
        load(7, 7, 5, 0),
        store(3, 7, 5, 0),
        branch(2, 5, 6, 8),
        branch(3, 5, 6, 8),
        i(0x67, 1, 1, 5, 0),
        // fence.i, mret, lr.w, flw, an addition of 64-bit, 48-bit and longer encodings.
        0x0000_100f,
        0x3020_0073,
        0x1000_22af,
        0x0000_2007,
        0x0000_003b,
        0x0000_001f,
        0xffff_ffff,
        // ecall and wfi with other fields set.
        0x0000_00f3,
        0x1050_80f3,
    ];
    for word in illegal {
        let decoded = decode(word as u16, Some((word >> 16) as u16), 0);
        assert_eq!((decoded.op, decoded.immediate, decoded.size), (Op::Illegal, word, 4), "{word:#010x}");
    }
    for fence in [0x0ff0_000f, 0x8330_000f, 0x0000_000f] {
        assert_eq!(result(fence, 1, 2), 0);
    }
}
