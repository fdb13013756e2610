//! Stops, faults, layouts and images that do not fit.

use super::assembler::*;
use super::{DATA, DEVICE, MORE, Machine, SHARED, TEXT, image, layout};
use crate::{
    Access, AddressRange, Cause, Core, CycleTable, Fault, Function, Layout, Memory, NothingPending, Segment, SharedMemory, Stop,
    Width,
};

fn range(address: u32, bytes: u32) -> AddressRange {
    AddressRange { address, bytes }
}

#[test]
fn device_accesses_wait_for_their_answers() {
    let table = CycleTable { device: 5, load: 2, load_use: 7, store: 3, ..CycleTable::default() };
    let words = [load(0, 7, 5, 4), add(8, 7, 7), store(1, 7, 5, 8), NOP];
    let mut machine = Machine::with(words, &table, &SharedMemory::default());
    machine.core.set_register(5, DEVICE);
    let stop = Stop::Device { address: DEVICE + 4, access: Access::Load { width: Width::Byte, signed: true } };
    assert_eq!(machine.run(), stop);
    assert_eq!((machine.core.pc(), machine.core.cycles(), machine.core.instructions()), (TEXT, 0, 0));
    assert_eq!(machine.run(), stop, "without an answer the core stays");
    assert_eq!(machine.core.accept_store(), Err(NothingPending));
    machine.core.advance_to(100);
    assert_eq!(machine.core.answer_load(0x1280), Ok(()));
    assert_eq!(machine.core.answer_load(0), Err(NothingPending));
    assert_eq!((machine.core.pc(), machine.core.cycles(), machine.core.instructions()), (TEXT + 4, 100 + 2 + 7 + 5, 1));
    assert_eq!(machine.core.register(7), 0xffff_ff80);
    let stop = Stop::Device { address: DEVICE + 8, access: Access::Store { width: Width::Half, value: 0xff80 } };
    assert_eq!(machine.run(), stop);
    assert_eq!(machine.core.answer_load(0), Err(NothingPending));
    assert_eq!(machine.core.cycles(), 115);
    assert_eq!(machine.core.accept_store(), Ok(()));
    assert_eq!((machine.core.pc(), machine.core.cycles(), machine.core.instructions()), (TEXT + 12, 115 + 3 + 5, 3));
    machine.step();
    assert_eq!(machine.core.cycles(), 124);
}

#[test]
fn answers_are_extended_by_their_width() {
    for (function, width, signed, expected) in [
        (0, Width::Byte, true, 0xffff_ff84),
        (1, Width::Half, true, 0xffff_8384),
        (2, Width::Word, false, 0x8182_8384),
        (4, Width::Byte, false, 0x84),
        (5, Width::Half, false, 0x8384),
    ] {
        let mut machine = Machine::new([load(function, 7, 5, 0)]);
        machine.core.set_register(5, DEVICE);
        assert_eq!(machine.run(), Stop::Device { address: DEVICE, access: Access::Load { width, signed } });
        machine.core.answer_load(0x8182_8384).expect("a load");
        assert_eq!(machine.core.register(7), expected);
    }
    for (function, width, value) in [(0, Width::Byte, 0x84), (1, Width::Half, 0x8384), (2, Width::Word, 0x8182_8384)] {
        let mut machine = Machine::new([store(function, 6, 5, 0)]);
        machine.core.set_register(5, DEVICE);
        machine.core.set_register(6, 0x8182_8384);
        assert_eq!(machine.run(), Stop::Device { address: DEVICE, access: Access::Store { width, value } });
    }
}

#[test]
fn a_wait_a_call_and_a_break_retire() {
    let mut code = Code::from([WFI, ECALL]);
    code.half(C_EBREAK);
    code.word(EBREAK);
    let mut machine = Machine::new(code);
    assert_eq!(machine.run(), Stop::Wait);
    assert_eq!((machine.core.pc(), machine.core.cycles(), machine.core.instructions()), (TEXT + 4, 1, 1));
    machine.core.advance_to(50);
    machine.core.advance_to(20);
    assert_eq!(machine.run(), Stop::Call { pc: TEXT + 4 });
    assert_eq!(machine.run(), Stop::Break { pc: TEXT + 8 });
    assert_eq!(machine.run(), Stop::Break { pc: TEXT + 10 });
    assert_eq!((machine.core.pc(), machine.core.cycles(), machine.core.instructions()), (TEXT + 14, 53, 4));
}

#[test]
fn a_run_ends_at_its_cycle() {
    let mut machine = Machine::new([jal(0, 0)]);
    let Machine { core, memory } = &mut machine;
    assert_eq!(core.run(memory, 0), Stop::Budget);
    assert_eq!(core.cycles(), 0);
    assert_eq!(core.run(memory, 1), Stop::Budget);
    assert_eq!(core.cycles(), 2, "a jump takes two cycles");
    assert_eq!(core.run(memory, 2), Stop::Budget);
    assert_eq!(core.run(memory, 1001), Stop::Budget);
    assert_eq!((core.cycles(), core.instructions()), (1002, 501));
    core.advance_to(u64::MAX);
    assert_eq!(core.run(memory, u64::MAX), Stop::Budget);
}

#[test]
fn faults_change_nothing_and_repeat() {
    let cases = [
        (load(1, 7, 5, 1), DATA, Cause::LoadMisaligned, DATA + 1),
        (load(2, 7, 5, 2), SHARED, Cause::LoadMisaligned, SHARED + 2),
        (load(2, 7, 5, 2), DEVICE, Cause::LoadMisaligned, DEVICE + 2),
        (store(2, 7, 5, 3), MORE, Cause::StoreMisaligned, MORE + 3),
        (load(2, 7, 5, -4), DATA, Cause::LoadAccess, DATA - 4),
        (load(2, 7, 5, 0), DATA + 0x1000, Cause::LoadAccess, DATA + 0x1000),
        (store(0, 7, 5, 0), DEVICE + 0x100, Cause::StoreAccess, DEVICE + 0x100),
        (store(0, 7, 5, 0), MORE - 1, Cause::StoreAccess, MORE - 1),
        (store(2, 7, 5, 0), TEXT, Cause::StoreToText, TEXT),
        (store(0, 7, 5, 0), TEXT + 0xffff, Cause::StoreToText, TEXT + 0xffff),
        (jalr(1, 5, 0), TEXT - 4, Cause::FetchAccess, TEXT - 4),
    ];
    for (word, base, cause, value) in cases {
        let mut machine = Machine::new([word]);
        machine.core.set_register(5, base);
        machine.core.set_register(7, 77);
        let pc = if cause == Cause::FetchAccess { value } else { TEXT };
        let fault = Stop::Fault(Fault { pc, cause, value });
        assert_eq!(machine.run(), fault);
        assert_eq!(machine.run(), fault);
        assert_eq!((machine.core.pc(), machine.core.register(7)), (pc, 77));
        assert_eq!(machine.core.instructions(), u64::from(cause == Cause::FetchAccess));
    }
}

#[test]
fn the_text_ends_with_its_last_instruction() {
    let mut code = Code::from([NOP]);
    code.half(NOP as u16);
    let mut machine = Machine::new(code);
    let fault = Fault { pc: TEXT + 4, cause: Cause::FetchAccess, value: TEXT + 6 };
    assert_eq!(machine.run(), Stop::Fault(fault), "half of an instruction");
    machine.core.set_pc(TEXT + 6);
    assert_eq!(machine.run(), Stop::Fault(Fault { pc: TEXT + 6, cause: Cause::FetchAccess, value: TEXT + 6 }));
    machine.core.set_pc(TEXT + 1);
    assert_eq!(machine.run(), Stop::Fault(Fault { pc: TEXT + 1, cause: Cause::FetchMisaligned, value: TEXT + 1 }));
    let mut image = image(&Code::from([NOP]));
    let function = |name: &str, address, bytes| Function { name: name.to_owned(), address, bytes };
    image.functions = vec![function("start", TEXT, 4), function("main", TEXT + 4, 2)];
    assert_eq!(fault.describe(&image), "fetch outside the text at 0x00001004: address 0x00001006, in `main` + 0x0");
    assert_eq!(Fault { pc: TEXT + 6, ..fault }.describe(&image), "fetch outside the text at 0x00001006: address 0x00001006");
}

#[test]
fn constants_in_the_text_and_other_regions_are_reached() {
    let mut machine = Machine::new([load(2, 7, 5, 0), store(2, 7, 6, 0), load(5, 8, 6, 2), EBREAK]);
    machine.core.set_register(5, TEXT + 4);
    machine.core.set_register(6, MORE + 0xfc);
    assert_eq!(machine.run(), Stop::Break { pc: TEXT + 12 });
    assert_eq!(machine.core.register(7), store(2, 7, 6, 0));
    assert_eq!(machine.memory.word(MORE + 0xfc), Some(store(2, 7, 6, 0)));
    assert_eq!(machine.core.register(8), store(2, 7, 6, 0) >> 16);
    let memory = &mut machine.memory;
    assert_eq!(memory.slice(MORE + 0xfc, 5), None);
    assert_eq!(memory.slice(DEVICE, 4), None);
    assert!(memory.slice_mut(TEXT, 4).is_none());
    assert!(memory.slice_mut(SHARED, 0x10000).is_some());
    assert!(memory.slice(u32::MAX, usize::MAX).is_none());
}

#[test]
fn cores_share_a_memory() {
    let words = [csr(2, 6, 0, 0xf14), i(0x13, 1, 7, 6, 2), add(7, 7, 5), store(2, 6, 7, 0), WFI];
    let mut memory = Memory::new(&layout(), &image(&words.into())).expect("fits");
    for hart in 1..4 {
        let mut core = Core::new(hart, TEXT, &CycleTable::default(), &SharedMemory::default()).expect("the parameters are valid");
        core.set_register(5, SHARED);
        assert_eq!(core.run(&mut memory, 1000), Stop::Wait);
    }
    let words: Vec<Option<u32>> = (0..4).map(|at| memory.word(SHARED + 4 * at)).collect();
    assert_eq!(words, [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn a_layout_is_checked() {
    let layout = Layout {
        text: range(0, 65 << 20),
        data: vec![range(0x1000, 16), range(0x8000_0002, 6)],
        shared: Some(range(0xffff_fff0, 32)),
        devices: vec![range(0x8000_0004, 4)],
    };
    let problems = Memory::new(&layout, &image(&Code::from([NOP]))).expect_err("invalid").0;
    let found: Vec<String> = problems.iter().map(|problem| problem.to_string()).collect();
    assert_eq!(
        found,
        [
            "layout.text.bytes: 68157440: expected a multiple of 4 within 4..=67108864",
            "layout.data[0]: overlaps `layout.text`: expected ranges apart",
            "layout.data[1].address: 0x80000002: expected a multiple of 4",
            "layout.data[1].bytes: 6: expected a multiple of 4 within 4..=1073741824",
            "layout.shared: ends at 0x100000010: expected at most 0x100000000",
            "layout.devices[0]: overlaps `layout.data[1]`: expected ranges apart",
        ]
    );
}

#[test]
fn segments_that_do_not_fit_are_refused() {
    let segment = |address, executable, writable| Segment { address, bytes: vec![1; 8], memory_bytes: 16, executable, writable };
    let mut image = image(&Code::from([NOP]));
    image.segments.extend([
        segment(TEXT + 0x100, false, true),
        segment(DATA, true, false),
        segment(DATA + 0xff8, false, true),
        segment(DEVICE, false, true),
        segment(u32::MAX - 7, false, false),
    ]);
    let problems = Memory::new(&layout(), &image).expect_err("invalid").0;
    let found: Vec<String> = problems.iter().map(|problem| problem.to_string()).collect();
    let outside = "expected it to lie within the text, the data or the shared memory";
    assert_eq!(
        found,
        [
            "segment 0x00001100..0x00001110: writable in the text: expected it in data or shared memory".to_owned(),
            "segment 0x80000000..0x80000010: executable: expected it in the text".to_owned(),
            format!("segment 0x80000ff8..0x80001008: {outside}"),
            format!("segment 0xf0000000..0xf0000010: {outside}"),
            format!("segment 0xfffffff8..0x100000008: {outside}"),
        ]
    );
}

#[test]
fn segments_are_placed() {
    let mut image = image(&Code::from([NOP]));
    let segment = |address, writable| Segment { address, bytes: vec![1, 2, 3, 4], memory_bytes: 8, executable: false, writable };
    image.segments.extend([segment(TEXT + 0x100, false), segment(DATA + 8, true), segment(SHARED, true)]);
    let memory = Memory::new(&layout(), &image).expect("fits");
    for address in [TEXT + 0x100, DATA + 8, SHARED] {
        assert_eq!(memory.slice(address, 8), Some(&[1, 2, 3, 4, 0, 0, 0, 0][..]));
    }
    assert_eq!(memory.word(DATA), Some(0));
    let mut core = Core::new(0, TEXT, &CycleTable::default(), &SharedMemory::default()).expect("valid");
    core.set_pc(TEXT + 0x100);
    let mut memory = memory;
    let fault = Fault { pc: TEXT + 0x100, cause: Cause::FetchAccess, value: TEXT + 0x100 };
    assert_eq!(core.run(&mut memory, 10), Stop::Fault(fault), "constants are not executed");
}
