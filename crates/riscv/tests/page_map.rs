//! The firmware of a page map, executed against a flash that checks each operation: blocks are programmed in order and
//! erased without current data, moved data was read before, and a read names the place of the newest data. The
//! registers are those of `firmware/hardware.h`.

use kit::Rng;
use riscv::{Access, AddressRange, Core, CycleTable, Image, Layout, Memory, SharedMemory, Stop};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;
const DEVICES: u32 = 0x4000_0000;
const DRAM: u32 = 0x8000_0000;
const READ: u32 = 1;
const TRIM: u32 = 2;
const IDLE: u32 = 3;
const GATHERED: u32 = 4;
const ERASED: u32 = 5;

/// The drive of a case.
#[derive(Clone, Copy, Debug)]
struct Shape {
    dies: u32,
    groups_per_die: u32,
    blocks_per_die: u32,
    units_per_block: u32,
    units_per_program: u32,
    units_per_row: u32,
    user_units: u32,
    is_separate: bool,
    is_preemptible: bool,
}

impl Shape {
    fn blocks(&self) -> u32 {
        self.dies * self.blocks_per_die
    }

    fn places(&self) -> u32 {
        self.blocks() * self.units_per_block
    }
}

/// Operation that a die executes.
#[derive(Clone, Debug)]
enum Running {
    Program,
    Gather,
    Erase(u32),
}

/// The flash and the host: the truth that the firmware does not see.
struct Bench {
    shape: Shape,
    rng: Rng,
    events: VecDeque<[u32; 4]>,
    taken: [u32; 4],
    /// Unit and version at each place.
    data: Vec<Option<(u32, u32)>>,
    /// Newest version of each unit that a program holds; 0 for none.
    newest: Vec<u32>,
    versions: u32,
    /// Programmed places of each block.
    programmed: Vec<u32>,
    waiting: VecDeque<(u32, u32)>,
    running: Vec<Option<Running>>,
    is_asked: Vec<bool>,
    room: Vec<bool>,
    gathered: Vec<Vec<u32>>,
    place: u32,
    units: Vec<u32>,
    data_taken: Vec<(u32, u32)>,
    uses: u32,
    answers: Vec<u32>,
    counts: [u64; 5],
}

impl Bench {
    fn new(shape: Shape, seed: u64) -> Bench {
        Bench {
            shape,
            rng: Rng::stream(seed, "firmware"),
            events: VecDeque::new(),
            taken: [0; 4],
            data: vec![None; shape.places() as usize],
            newest: vec![0; shape.user_units as usize],
            versions: 0,
            programmed: vec![0; shape.blocks() as usize],
            waiting: VecDeque::new(),
            running: vec![None; shape.dies as usize],
            is_asked: vec![false; shape.dies as usize],
            room: vec![true; shape.dies as usize],
            gathered: vec![Vec::new(); shape.dies as usize],
            place: NONE,
            units: Vec::new(),
            data_taken: Vec::new(),
            uses: 0,
            answers: Vec::new(),
            counts: [0; 5],
        }
    }

    fn ask(&mut self, die: u32) {
        let at = die as usize;
        if self.running[at].is_none() && !std::mem::replace(&mut self.is_asked[at], true) {
            self.events.push_back([IDLE, die, 0, 0]);
        }
    }

    fn ask_all(&mut self) {
        (0..self.shape.dies).for_each(|die| self.ask(die));
    }

    /// Ends the operation of a die.
    fn complete(&mut self, die: u32) {
        match self.running[die as usize].take() {
            None => return,
            Some(Running::Program) => {}
            Some(Running::Gather) => self.events.push_back([GATHERED, die, 0, 0]),
            Some(Running::Erase(block)) => {
                self.programmed[block as usize] = 0;
                self.data[(block * self.shape.units_per_block) as usize..][..self.shape.units_per_block as usize].fill(None);
                self.events.push_back([ERASED, die, block, 0]);
            }
        }
        self.ask(die);
    }

    fn take_event(&mut self) -> u32 {
        if self.taken[0] == IDLE {
            self.is_asked[self.taken[1] as usize] = false;
        }
        self.taken = self.events.pop_front().unwrap_or_default();
        self.taken[0]
    }

    fn load(&mut self, address: u32) -> u32 {
        let Shape { dies, groups_per_die, blocks_per_die, units_per_block, units_per_program, units_per_row, user_units, .. } =
            self.shape;
        match address - DEVICES {
            0x000 => self.take_event(),
            field @ 0x004..=0x00c => self.taken[(field / 4) as usize],
            0x050 => self.uses,
            0x100 => dies,
            0x104 => blocks_per_die,
            0x108 => groups_per_die,
            0x10c => units_per_block,
            0x110 => units_per_program,
            0x114 => units_per_row,
            0x118 => user_units,
            0x11c => 1,
            0x120 => 2,
            0x124 => 3,
            0x128 => u32::from(self.shape.is_preemptible),
            0x12c => u32::from(self.shape.is_separate),
            0x138 => DRAM,
            0x140 => 1,
            0x13c => u32::from(self.versions > 0),
            0x1000..0x2000 => self.waiting.len() as u32,
            0x2000..0x3000 => {
                let (unit, version) = self.waiting.pop_front().expect("no more than wait are taken");
                self.data_taken.push((unit, version));
                self.newest[unit as usize] = version;
                unit
            }
            other => panic!("a load from register {other:#x}"),
        }
    }

    fn store(&mut self, address: u32, value: u32) {
        match address - DEVICES {
            0x020 => self.answers.push(value),
            0x024 => {}
            0x040 => self.place = value,
            0x044 => self.units.push(value),
            0x048 => self.issue(value),
            0x050 => self.uses = 0,
            0x054 => self.ask(value),
            0x07c => panic!("the firmware gives up: {value}"),
            room @ 0x3000..0x4000 => self.room[(room - 0x3000) as usize / 4] = value != 0,
            other => panic!("a store to register {other:#x}"),
        }
    }

    fn is_current(&self, place: u32) -> bool {
        self.data[place as usize].is_some_and(|(unit, version)| self.newest[unit as usize] == version)
    }

    /// Begins an operation of the die that asked.
    fn issue(&mut self, kind: u32) {
        let Shape { units_per_block, units_per_program, blocks_per_die, .. } = self.shape;
        assert_eq!(self.taken[0], IDLE, "a die is served when it has asked");
        let die = self.taken[1];
        assert!(self.running[die as usize].is_none(), "die {die} is busy");
        let units = std::mem::take(&mut self.units);
        self.counts[kind as usize] += 1;
        let block = self.place / units_per_block;
        if kind != 3 {
            assert_eq!(block / blocks_per_die, die, "a place on another die");
        }
        self.running[die as usize] = Some(match kind {
            1 | 2 => {
                let data = if kind == 1 {
                    std::mem::take(&mut self.data_taken)
                } else {
                    let own = &mut self.gathered[die as usize];
                    assert!(units.iter().all(|unit| own.contains(unit)), "what is moved has been read");
                    own.retain(|place| !units.contains(place));
                    units.iter().map(|&from| self.data[from as usize].expect("it holds data")).collect()
                };
                assert!(!data.is_empty() && data.len() <= units_per_program as usize);
                assert_eq!(self.place % units_per_block, self.programmed[block as usize], "block {block} is programmed in order");
                self.programmed[block as usize] += units_per_program;
                for (at, one) in (self.place as usize..).zip(data) {
                    self.data[at] = Some(one);
                    // The copy from which it was moved is not the current one any more.
                    if let (2, Some(old)) = (kind, units.get(at - self.place as usize)) {
                        self.data[*old as usize] = None;
                    }
                }
                Running::Program
            }
            3 => {
                let row = |place: &u32| place / self.shape.units_per_row;
                assert!(units.windows(2).all(|pair| row(&pair[0]) == row(&pair[1])), "one row is read: {units:?}");
                assert!(units.iter().all(|&place| self.is_current(place)), "current data is gathered");
                self.gathered[die as usize].extend(units);
                Running::Gather
            }
            4 => {
                let places = block * units_per_block..(block + 1) * units_per_block;
                assert!(places.into_iter().all(|place| !self.is_current(place)), "block {block} holds no current data");
                Running::Erase(block)
            }
            other => panic!("operation {other}"),
        });
    }
}

/// Returns the tables of an empty drive, as the firmware expects them in the DRAM.
fn checkpoint(shape: &Shape) -> Vec<u32> {
    let groups = shape.dies * shape.groups_per_die;
    let per_group = shape.blocks_per_die / shape.groups_per_die;
    let tables: [Vec<u32>; 6] = [
        vec![NONE; shape.user_units as usize],
        vec![NONE; shape.places() as usize],
        vec![0; shape.blocks() as usize],
        (0..groups).flat_map(|_| [0, per_group]).collect(),
        (0..shape.blocks()).collect(),
        vec![NONE; 2 * 2 * shape.dies as usize],
    ];
    let mut address = DRAM + 24;
    let mut words: Vec<u32> = Vec::new();
    for table in &tables {
        words.push(address);
        address += 4 * table.len() as u32;
    }
    words.into_iter().chain(tables.into_iter().flatten()).collect()
}

/// Runs the firmware until it waits.
fn settle(core: &mut Core, memory: &mut Memory, image: &Image, bench: &mut Bench) {
    loop {
        match core.run(memory, core.cycles() + 10_000_000) {
            Stop::Device { address, access: Access::Load { .. } } => {
                let value = bench.load(address);
                core.answer_load(value).expect("it waits for a value");
            }
            Stop::Device { address, access: Access::Store { value, .. } } => {
                bench.store(address, value);
                core.accept_store().expect("it waits to go on");
            }
            Stop::Wait if bench.events.is_empty() => return,
            Stop::Wait => {}
            Stop::Fault(fault) => panic!("{}", fault.describe(image)),
            stop => panic!("{stop:?} at {:#x}", core.pc()),
        }
    }
}

fn live(shape: Shape, seed: u64, writes: u32) -> Bench {
    let image = Image::read(include_bytes!("../../../firmware/page_map.elf")).expect("it is an executable");
    let range = |address, bytes| AddressRange { address, bytes };
    let words = checkpoint(&shape);
    let layout = Layout {
        text: range(0, 256 << 10),
        data: vec![range(0x1000_0000, 256 << 10), range(DRAM, 4 << 20)],
        shared: None,
        devices: vec![range(DEVICES, 0x4000)],
    };
    let mut memory = Memory::new(&layout, &image).map_err(|problems| format!("{problems:?}")).expect("it fits");
    for (at, word) in (DRAM..).step_by(4).zip(&words) {
        memory.slice_mut(at, 4).expect("in the DRAM").copy_from_slice(&word.to_le_bytes());
    }
    let core = Core::new(0, image.entry, &CycleTable::default(), &SharedMemory::default());
    let mut core = core.map_err(|problems| format!("{problems:?}")).expect("a core");
    let mut bench = Bench::new(shape, seed);
    settle(&mut core, &mut memory, &image, &mut bench);
    while bench.versions < writes {
        let unit = bench.rng.below(u64::from(shape.user_units)) as u32;
        match bench.rng.below(20) {
            0..8 if bench.waiting.len() < 64 => {
                bench.versions += 1;
                let version = bench.versions;
                bench.waiting.push_back((unit, version));
                bench.ask_all();
            }
            8..11 => {
                bench.events.push_back([READ, 0, unit, 1]);
                settle(&mut core, &mut memory, &image, &mut bench);
                let (newest, place) = (bench.newest[unit as usize], bench.answers.pop().expect("it answers"));
                let found = if place == NONE { None } else { bench.data[place as usize] };
                assert_eq!(found, (newest > 0).then_some((unit, newest)), "unit {unit} at {place}");
            }
            11 => {
                bench.events.push_back([TRIM, 0, unit, 1]);
                settle(&mut core, &mut memory, &image, &mut bench);
                bench.newest[unit as usize] = 0;
            }
            _ => {
                let die = bench.rng.below(u64::from(shape.dies)) as u32;
                bench.complete(die);
            }
        }
        settle(&mut core, &mut memory, &image, &mut bench);
    }
    bench
}

#[test]
fn the_firmware_keeps_all_data_through_collections() {
    let plain = Shape {
        dies: 2,
        groups_per_die: 1,
        blocks_per_die: 16,
        units_per_block: 16,
        units_per_program: 1,
        units_per_row: 1,
        user_units: 340,
        is_separate: true,
        is_preemptible: true,
    };
    let wide = Shape { units_per_program: 4, units_per_row: 4, groups_per_die: 2, user_units: 300, ..plain };
    let shared = Shape { is_separate: false, is_preemptible: false, units_per_row: 2, ..plain };
    for (seed, shape) in (1..).zip([plain, wide, shared, Shape { dies: 1, user_units: 150, ..wide }]) {
        let bench = live(shape, seed, 20_000);
        let [_, host, moved, gathers, erases] = bench.counts;
        assert!(host >= 4_000 && moved > 500 && gathers > 500 && erases > 500, "{shape:?}: {:?}", bench.counts);
        assert!(bench.waiting.len() <= 64 && bench.room.iter().any(|room| *room), "{shape:?}");
    }
}
