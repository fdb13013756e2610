//! Cycles against sums by hand.

use super::assembler::*;
use super::{DATA, Machine, SHARED, TEXT, image, layout};
use crate::{
    CacheParams, CacheUsage, Class, Core, CycleTable, Function, FunctionCycles, Memory, SharedMemory, Stop, WritePolicy,
};
use kit::{Bytes, Problems};

/// A table whose entries no sums of others yield.
fn table() -> CycleTable {
    CycleTable {
        alu: 1,
        load: 10,
        store: 100,
        load_use: 1000,
        branch: 2,
        branch_taken: 20,
        jump: 200,
        multiply: 2000,
        divide: 3,
        csr: 30,
        device: 300,
    }
}

/// Returns the cycles of each instruction until the run stops otherwise.
fn cycles_of_steps(machine: &mut Machine) -> Vec<u64> {
    let mut cycles = Vec::new();
    loop {
        let before = machine.core.cycles();
        let stop = machine.step();
        cycles.push(machine.core.cycles() - before);
        if stop != Stop::Budget {
            return cycles;
        }
    }
}

#[test]
fn each_class_takes_its_cycles() {
    let words = [
        addi(7, 0, 1),
        u(0x37, 8, 1),
        u(0x17, 9, 1),
        r(0x20, 5, 10, 7, 7),
        0x0ff0_000f,
        store(2, 7, 5, 0),
        load(2, 8, 5, 0),
        branch(0, 7, 0, 8),
        branch(1, 7, 0, 4),
        jal(0, 4),
        u(0x17, 6, 0),
        jalr(0, 6, 8),
        r(1, 3, 7, 7, 7),
        r(1, 5, 7, 7, 0),
        r(1, 6, 7, 7, 0),
        csr(2, 7, 0, 0xc00),
        EBREAK,
    ];
    let mut machine = Machine::with(words, &table(), &SharedMemory::default());
    machine.core.set_register(5, DATA);
    let expected = [1, 1, 1, 1, 1, 100, 10, 2, 22, 200, 1, 200, 2000, 3, 3, 30, 30];
    assert_eq!(cycles_of_steps(&mut machine), expected);
    let total: u64 = expected.iter().sum();
    let mut machine = Machine::with(words, &table(), &SharedMemory::default());
    machine.core.set_register(5, DATA);
    machine.run();
    assert_eq!((machine.core.cycles(), machine.core.instructions()), (total, 17));
    assert_eq!(u64::from(machine.core.register(7)), total - 60);
}

#[test]
fn a_loaded_register_that_is_read_next_takes_longer() {
    let behind = [
        (add(8, 7, 6), true),
        (add(8, 6, 7), true),
        (add(7, 6, 6), false),
        (addi(8, 7, 0), true),
        // The second operand's field of an immediate is no register.
        (addi(8, 6, 7), false),
        (store(2, 7, 5, 0), true),
        (store(2, 6, 5, 7), false),
        (branch(0, 6, 7, 8), true),
        (u(0x37, 8, 0x0003_8038), false),
        (jal(8, 7 << 12), false),
        (load(2, 8, 5, 7), false),
        (csr(1, 8, 7, 0x340), true),
        (csr(5, 8, 7, 0x340), false),
        (csr(7, 8, 0, 0x340), false),
        (r(1, 0, 8, 6, 7), true),
        (NOP, false),
        (ECALL, false),
    ];
    for (word, reads) in behind {
        let mut machine = Machine::with([load(2, 7, 5, 0), word], &table(), &SharedMemory::default());
        machine.core.set_register(5, DATA);
        machine.step();
        assert_eq!(machine.core.cycles(), if reads { 1010 } else { 10 }, "{word:#010x}");
    }
    // Compressed, by a base register, at the end of the text, and to x0.
    let mut code = Code::default();
    code.half(c_lw(8, 9, 0));
    code.half(c_lw(9, 8, 0));
    code.word(load(2, 0, 9, 0));
    code.word(add(0, 0, 0));
    code.word(load(2, 7, 9, 0));
    let mut machine = Machine::with(code, &table(), &SharedMemory::default());
    machine.core.set_register(9, DATA);
    machine.memory.slice_mut(DATA, 4).expect("data").copy_from_slice(&DATA.to_le_bytes());
    assert_eq!(cycles_of_steps(&mut machine), [1010, 1010, 10, 1, 10, 0]);
}

/// Returns the additional cycles of accesses to the shared memory: offsets, and whether each is a store.
fn cycles_of_accesses(shared: &SharedMemory, accesses: &[(u32, bool)]) -> (Vec<u64>, CacheUsage) {
    let mut code = Code::default();
    for (offset, is_store) in accesses {
        li(5, SHARED + offset).into_iter().for_each(|word| code.word(word));
        code.word(if *is_store { store(0, 6, 5, 0) } else { load(4, 7, 5, 0) });
    }
    let mut machine = Machine::with(code, &CycleTable::default(), shared);
    let cycles = cycles_of_steps(&mut machine);
    let cycles = cycles.chunks_exact(3).map(|step| step[2] - 1).collect();
    (cycles, machine.core.cache_usage())
}

/// Two sets of two lines.
fn cache(write: WritePolicy) -> SharedMemory {
    let cache =
        CacheParams { size: Bytes(64), line: Bytes(16), ways: 2, hit_cycles: 3, miss_cycles: 40, write_back_cycles: 500, write };
    SharedMemory { read_cycles: 60, write_cycles: 70, cache: Some(cache), ..SharedMemory::default() }
}

const LOAD: bool = false;
const STORE: bool = true;

#[test]
fn shared_memory_without_a_cache_takes_its_cycles() {
    let shared = SharedMemory { read_cycles: 60, write_cycles: 70, ..SharedMemory::default() };
    let (cycles, usage) = cycles_of_accesses(&shared, &[(0, LOAD), (0, STORE), (1, LOAD)]);
    assert_eq!(cycles, [60, 70, 60]);
    assert_eq!(usage, CacheUsage { hits: 0, misses: 3, write_backs: 0 });
}

#[test]
fn a_cache_replaces_the_least_recently_used_line() {
    let accesses = [
        (0, LOAD),
        (15, LOAD),
        (16, LOAD),
        // The other way of set 0, then the first again, so that line 2 is replaced.
        (32, LOAD),
        (0, LOAD),
        (64, LOAD),
        (0, LOAD),
        (32, LOAD),
        (16, LOAD),
    ];
    let (cycles, usage) = cycles_of_accesses(&cache(WritePolicy::WriteBack), &accesses);
    assert_eq!(cycles, [40, 3, 40, 40, 3, 40, 3, 40, 3]);
    assert_eq!(usage, CacheUsage { hits: 4, misses: 5, write_backs: 0 });
}

#[test]
fn changed_lines_are_written_back_when_they_are_replaced() {
    let accesses = [(0, STORE), (4, LOAD), (32, LOAD), (36, STORE), (64, LOAD), (96, LOAD), (128, STORE), (160, LOAD)];
    let (cycles, usage) = cycles_of_accesses(&cache(WritePolicy::WriteBack), &accesses);
    assert_eq!(cycles, [40, 3, 40, 3, 540, 540, 40, 40]);
    assert_eq!(usage, CacheUsage { hits: 2, misses: 6, write_backs: 2 });
}

#[test]
fn stores_that_write_through_fetch_no_line() {
    let accesses = [(0, STORE), (0, LOAD), (0, STORE), (0, LOAD), (32, LOAD), (64, LOAD), (0, LOAD)];
    let (cycles, usage) = cycles_of_accesses(&cache(WritePolicy::WriteThrough), &accesses);
    assert_eq!(cycles, [70, 40, 70, 3, 40, 40, 40]);
    assert_eq!(usage, CacheUsage { hits: 2, misses: 5, write_backs: 0 });
}

#[test]
fn a_flush_writes_changed_lines_back() {
    let words = [store(2, 6, 5, 0), store(2, 6, 5, 16), load(2, 7, 5, 32), WFI, load(2, 7, 5, 0), EBREAK];
    let mut machine = Machine::with(words, &CycleTable::default(), &cache(WritePolicy::WriteBack));
    machine.core.set_register(5, SHARED);
    assert_eq!(machine.run(), Stop::Wait);
    assert_eq!((machine.core.flush_cache(), machine.core.flush_cache()), (2, 0));
    machine.run();
    assert_eq!(machine.core.cache_usage(), CacheUsage { hits: 0, misses: 4, write_backs: 2 });
}

/// The access of a second core waits until that of the first has left the interconnect, and not before its limit.
#[test]
fn cores_that_share_a_memory_wait_for_each_other() {
    let mut one = Machine::new([store(2, 6, 5, 0), EBREAK]);
    let mut other = Machine::new([load(2, 7, 5, 0), EBREAK]);
    for (machine, value) in [(&mut one, 77), (&mut other, 0)] {
        machine.core.set_register(5, SHARED);
        machine.core.set_register(6, value);
    }
    one.memory.share(30);
    assert!(matches!(one.run(), Stop::Break { .. }));
    assert_eq!((one.core.cycles(), one.core.interconnect_wait()), (1 + 20 + 1, 0));
    other.memory.take_shared(&mut one.memory);
    other.core.advance_to(4);
    other.core.limit_shared(4);
    assert_eq!((other.run(), other.core.cycles(), other.core.pc()), (Stop::Shared, 4, TEXT));
    other.core.limit_shared(5);
    assert!(matches!(other.run(), Stop::Break { .. }));
    assert_eq!((other.core.cycles(), other.core.interconnect_wait()), (4 + 1 + 20 + 26 + 1, 26));
    assert_eq!((other.core.register(7), other.core.instructions()), (77, 2));
    // A store behind the limit changes nothing.
    one.memory.take_shared(&mut other.memory);
    one.core.set_pc(TEXT);
    one.core.set_register(6, 78);
    one.core.limit_shared(0);
    assert_eq!((one.run(), one.memory.word(SHARED)), (Stop::Shared, Some(77)));
}

#[test]
fn a_profile_names_classes_and_functions() {
    let words = [load(2, 7, 5, 0), addi(7, 7, -1), branch(1, 7, 0, -4), jal(1, 8), EBREAK, r(1, 4, 8, 8, 8), jalr(0, 1, 0)];
    let mut image = image(&words.into());
    let function = |name: &str, address, bytes| Function { name: name.to_owned(), address, bytes };
    image.functions = vec![function("loop", TEXT, 12), function("unused", TEXT + 16, 0), function("quotient", TEXT + 20, 8)];
    let mut memory = Memory::new(&layout(), &image).expect("fits");
    memory.slice_mut(DATA, 4).expect("data").copy_from_slice(&5u32.to_le_bytes());
    let mut core = Core::new(0, TEXT, &table(), &SharedMemory::default()).expect("valid");
    core.set_register(5, DATA);
    assert_eq!(core.profile(), None);
    core.start_profile(&memory);
    assert_eq!(core.run(&mut memory, 1_000_000), Stop::Break { pc: TEXT + 16 });
    let profile = core.profile().expect("begun");
    let classes: Vec<u64> = Class::ALL.iter().map(|class| profile.instructions(*class)).collect();
    assert_eq!(classes, [5, 0, 1, 0, 5, 2, 0, 1, 1]);
    let slots = [1010, 0, 5, 0, 4 * 22 + 2, 0, 200, 0, 30, 0, 3, 0, 200, 0];
    assert_eq!(profile.cycles_by_slot(), slots);
    assert_eq!(slots.iter().sum::<u64>(), core.cycles());
    let row = |name: &str, address, cycles, instructions| FunctionCycles { name: name.to_owned(), address, cycles, instructions };
    let rows = [row("loop", TEXT, 1105, 11), row("", 0, 230, 2), row("quotient", TEXT + 20, 203, 2)];
    assert_eq!(profile.functions(&image), rows);
}

#[test]
fn parameters_are_checked() {
    let mut problems = Problems::default();
    let zeroes = "alu = 0\nload_use = 65536\ndevice = 0";
    toml::from_str::<CycleTable>(zeroes).expect("a table").problems("core.cycles", &mut problems);
    let shared = "read_cycles = 65536\ncache = { size = \"24KiB\", line = \"32B\", ways = 4 }";
    toml::from_str::<SharedMemory>(shared).expect("a memory").problems("core.shared", &mut problems);
    let caches = ["line = \"48B\"\nways = 0", "ways = 65", "size = \"32MiB\"\nmiss_cycles = 65536", "size = \"0B\""];
    for cache in caches {
        toml::from_str::<CacheParams>(cache).expect("a cache").problems("cache", &mut problems);
    }
    let found: Vec<String> = problems.0.iter().map(|problem| problem.to_string()).collect();
    assert_eq!(
        found,
        [
            "core.cycles.alu: 0: expected 1..=65535",
            "core.cycles.load_use: 65536: expected 0..=65535",
            "core.shared.read_cycles: 65536: expected 0..=65535",
            "core.shared.cache.size: 24576B: expected a power of two of sets of 128B, at most 16MiB",
            "cache.line: 48B: expected a power of two within 4B..=4KiB",
            "cache.ways: 0: expected 1..=64",
            "cache.ways: 65: expected 1..=64",
            "cache.size: 33554432B: expected a power of two of sets of 128B, at most 16MiB",
            "cache.miss_cycles: 65536: expected 0..=65535",
            "cache.size: 0B: expected a power of two of sets of 128B, at most 16MiB",
        ]
    );
    assert!(toml::from_str::<CycleTable>("add = 1").is_err());
    assert!(toml::from_str::<CacheParams>("line_bytes = 1").is_err());
    let table = CycleTable { jump: 0, ..CycleTable::default() };
    assert!(Core::new(0, 0, &table, &SharedMemory::default()).is_err());
    assert_eq!(toml::from_str::<CycleTable>("").expect("defaults"), CycleTable::default());
}
