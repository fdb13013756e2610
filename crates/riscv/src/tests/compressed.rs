//! Extension C: every encoding, and random text.

use super::assembler::*;
use super::{DATA, MORE, Machine, SHARED, TEXT};
use crate::compressed::expand;
use crate::decode::{Op, decode};
use crate::{Stop, Width};
use kit::Rng;
use std::collections::BTreeMap;

const ALL: std::ops::Range<u32> = 0..32;
const LOW: std::ops::Range<u32> = 8..16;

/// Legal encodings with the equivalent instruction of each.
#[derive(Default)]
struct Table(BTreeMap<u16, u32>);

impl Table {
    /// Adds an encoding. The forms have none in common.
    fn add(&mut self, half: u16, word: u32) {
        let before = self.0.insert(half, word);
        assert_eq!(before, None, "{half:#06x}");
    }

    fn loads_and_stores(&mut self) {
        for a in LOW {
            (4..1024).step_by(4).for_each(|value| self.add(c_addi4spn(a, value), addi(a, 2, value)));
            for b in LOW {
                for offset in (0..128).step_by(4) {
                    self.add(c_lw(a, b, offset), load(2, a, b, offset));
                    self.add(c_sw(a, b, offset), store(2, a, b, offset));
                }
            }
        }
        for offset in (0..256).step_by(4) {
            // A load to x0 is reserved.
            (1..32).for_each(|a| self.add(c_lwsp(a, offset), load(2, a, 2, offset)));
            ALL.for_each(|a| self.add(c_swsp(a, offset), store(2, a, 2, offset)));
        }
    }

    fn immediates(&mut self) {
        for value in -32..32 {
            for a in ALL {
                self.add(c_addi(a, value), addi(a, a, value));
                self.add(c_li(a, value), addi(a, 0, value));
                // The form with sp is `c.addi16sp`. An upper immediate of zero is reserved.
                if a != 2 && value != 0 {
                    self.add(c_lui(a, value), u(0x37, a, value as u32 & 0xf_ffff));
                }
            }
            if value != 0 {
                self.add(c_addi16sp(16 * value), addi(2, 2, 16 * value));
            }
            LOW.for_each(|a| self.add(c_immediate(2, a, value), i(0x13, 7, a, a, value)));
        }
        // Shifts by 32 and more are for custom use, by zero they are hints.
        for count in 0..32 {
            ALL.for_each(|a| self.add(c_slli(a, count), i(0x13, 1, a, a, count)));
            for a in LOW {
                self.add(c_immediate(0, a, count), i(0x13, 5, a, a, count));
                self.add(c_immediate(1, a, count), i(0x13, 5, a, a, 0x400 | count));
            }
        }
    }

    fn operations(&mut self) {
        for a in LOW {
            for b in LOW {
                for (function, word) in
                    [r(0x20, 0, a, a, b), r(0, 4, a, a, b), r(0, 6, a, a, b), r(0, 7, a, a, b)].iter().enumerate()
                {
                    self.add(c_operation(function as u32, a, b), *word);
                }
            }
        }
        for a in ALL {
            for b in 1..32 {
                self.add(c_mv(a, b), add(a, 0, b));
                self.add(c_add(a, b), add(a, a, b));
            }
        }
    }

    fn jumps(&mut self) {
        for offset in (-2048..2048).step_by(2) {
            self.add(c_j(offset), jal(0, offset));
            self.add(c_jal(offset), jal(1, offset));
        }
        for a in LOW {
            for offset in (-256..256).step_by(2) {
                self.add(c_branch(0, a, offset), branch(0, a, 0, offset));
                self.add(c_branch(1, a, offset), branch(1, a, 0, offset));
            }
        }
        for a in 1..32 {
            self.add(c_jr(a), jalr(0, a, 0));
            self.add(c_jalr(a), jalr(1, a, 0));
        }
        self.add(C_EBREAK, EBREAK);
    }
}

#[test]
fn every_encoding_is_its_equivalent_or_illegal() {
    let mut table = Table::default();
    table.loads_and_stores();
    table.immediates();
    table.operations();
    table.jumps();
    for half in 0..=u16::MAX {
        if half & 3 == 3 {
            continue;
        }
        let expected = table.0.get(&half).copied();
        assert_eq!(expand(half), expected, "{half:#06x}");
        let decoded = decode(half, Some(0xffff), TEXT);
        assert_eq!(decoded.size, 2);
        match expected {
            Some(word) => {
                let full = decode(word as u16, Some((word >> 16) as u16), TEXT);
                assert_eq!(crate::decode::Instruction { size: 2, ..full }, decoded);
                assert_ne!(decoded.op, Op::Illegal, "{half:#06x}");
            }
            None => assert_eq!((decoded.op, decoded.immediate), (Op::Illegal, u32::from(half))),
        }
    }
    let (loads_and_stores, immediates) = (2040 + 4096 + 1984 + 2048, 2048 + 2048 + 1953 + 63 + 512 + 1024 + 512);
    let (operations, jumps) = (256 + 1984, 4096 + 4096 + 62 + 1);
    assert_eq!(table.0.len(), loads_and_stores + immediates + operations + jumps);
}

#[test]
fn jumps_link_behind_two_bytes() {
    for (half, target) in [(c_jal(-6), TEXT - 6), (c_jalr(9), 0x2000)] {
        let mut code = Code::default();
        code.half(half);
        let mut machine = Machine::new(code);
        machine.core.set_register(9, 0x2001);
        assert_eq!(machine.step(), Stop::Budget);
        assert_eq!((machine.core.pc(), machine.core.register(1)), (target, TEXT + 2));
    }
}

/// Half of the words are random, the others have the opcodes that exist.
fn random_word(rng: &mut Rng) -> u32 {
    const OPCODES: [u32; 12] = [0x03, 0x0f, 0x13, 0x17, 0x23, 0x33, 0x37, 0x63, 0x67, 0x6f, 0x73, 0x33];
    let word = rng.next_u64() as u32;
    match rng.below(4) {
        0 | 1 => word,
        2 => word & !0x7f | OPCODES[rng.below(12) as usize],
        _ => word & !0xfe00_007f | OPCODES[rng.below(12) as usize],
    }
}

#[test]
fn random_text_never_panics() {
    let mut rng = Rng::stream(1, "riscv.text");
    for _ in 0..1_000_000 {
        let word = random_word(&mut rng);
        decode(word as u16, Some((word >> 16) as u16), word);
        decode(word as u16, None, u32::MAX - 1);
    }
    let mut code = Code::default();
    (0..0x4000).for_each(|_| code.word(random_word(&mut rng)));
    let mut machine = Machine::new(code);
    machine.core.start_profile(&machine.memory);
    let places = [DATA, DATA + 0xffc, MORE, SHARED, TEXT, 0xf000_0000, u32::MAX, 0];
    for slot in 0..0x8000 {
        machine.core.set_pc(TEXT + 2 * slot);
        for number in 1..32 {
            let place = places[rng.below(8) as usize];
            machine.core.set_register(number, place.wrapping_add(rng.below(8) as u32));
        }
        for _ in 0..8 {
            match machine.core.run(&mut machine.memory, machine.core.cycles() + 100) {
                Stop::Device { access: crate::Access::Load { .. }, .. } => {
                    machine.core.answer_load(rng.next_u64() as u32).expect("a load");
                }
                Stop::Device { access: crate::Access::Store { width, value }, .. } => {
                    assert!(width == Width::Word || value < 1 << (8 * width.bytes()));
                    machine.core.accept_store().expect("a store");
                }
                Stop::Fault(_) => break,
                _ => {}
            }
        }
    }
    let instructions = machine.core.instructions();
    assert!(instructions > 20_000, "{instructions}");
    assert_eq!(machine.core.register(0), 0);
    let profile = machine.core.profile().expect("begun");
    assert_eq!(profile.cycles_by_slot().iter().sum::<u64>(), machine.core.cycles());
}
