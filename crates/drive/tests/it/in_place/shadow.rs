//! A shadow model of the data of drives that are written in place, fed from the journal: random commands on random
//! drives, with moves of the gaps among them, never return data that was superseded, and never lose any.

use super::{IDEAL, SMALL, with};
use drive::{Description, Drive};
use kit::{Bytes, CommandFlags, CommandId, HostCommand, Op, Owner, Ppn, ReadSource, Record, Rng, UnitSize};
use std::collections::BTreeMap;

/// A write of a unit. Times are steps: submissions and completions, as the host sees them.
#[derive(Clone, Copy, Debug)]
struct Version {
    lpn: u32,
    completed: Option<u64>,
}

/// A read that has been resolved to a place and not been sensed.
#[derive(Clone, Copy, Debug)]
struct Pending {
    lpn: u32,
    floor: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Holds {
        version: usize,
        programmed: bool,
    },
    /// The gap: what it held has moved.
    Gap,
}

#[derive(Default)]
struct Shadow {
    unit: UnitSize,
    step: u64,
    versions: Vec<Version>,
    /// Latest submission among the completed writes of a unit.
    floors: BTreeMap<u32, u64>,
    accepted: BTreeMap<(u32, u32), usize>,
    slots: BTreeMap<u32, usize>,
    places: BTreeMap<u32, Place>,
    pending: Vec<(CommandId, Ppn, Pending)>,
    /// Commands in flight by tag: id, command, step of submission, floors of the units of a read.
    commands: BTreeMap<u32, (CommandId, HostCommand, u64, BTreeMap<u32, u64>)>,
    by_id: BTreeMap<u32, u32>,
    /// Version that the read of a move has sensed, by its place.
    carried: BTreeMap<u32, Option<usize>>,
    moves: u64,
    sensed: u64,
}

impl Shadow {
    fn units(&self, command: &HostCommand) -> std::ops::Range<u32> {
        let end = command.offset.0 + command.length.0;
        self.unit.whole(command.offset.0) as u32..self.unit.begun(end) as u32
    }

    fn submitted(&mut self, id: CommandId, command: HostCommand) {
        self.step += 1;
        let floors = self.units(&command).map(|lpn| (lpn, self.floors.get(&lpn).copied().unwrap_or(0))).collect();
        self.commands.insert(command.tag, (id, command, self.step, floors));
        self.by_id.insert(id.0, command.tag);
    }

    fn completed(&mut self, tag: u32) {
        self.step += 1;
        let (id, command, step, _) = self.commands.remove(&tag).expect("it was submitted");
        self.by_id.remove(&id.0);
        if command.op == Op::Write {
            for lpn in self.units(&command) {
                let version = self.accepted.remove(&(id.0, lpn)).expect("each unit was accepted");
                self.versions[version].completed = Some(self.step);
                let floor = self.floors.entry(lpn).or_insert(0);
                *floor = step.max(*floor);
            }
        }
        assert!(self.pending.iter().all(|(command, ..)| *command != id), "a read completes before it is sensed");
    }

    /// Asserts that a version, or nothing, may be read by a command that saw `floor` at its submission.
    fn check(&self, version: Option<usize>, lpn: u32, floor: u64) {
        match version.map(|version| self.versions[version]) {
            Some(version) => {
                assert_eq!(version.lpn, lpn, "the data of another unit");
                assert!(version.completed.is_none_or(|at| at >= floor), "unit {lpn}: {version:?} was superseded before {floor}");
            }
            None => assert_eq!(floor, 0, "unit {lpn} was written, and its place holds nothing"),
        }
    }

    fn held(&self, ppn: Ppn) -> Option<usize> {
        match self.places.get(&ppn.0) {
            Some(Place::Holds { version, .. }) => Some(*version),
            Some(Place::Gap) => panic!("{ppn:?} is the gap, and its old data is stale"),
            None => None,
        }
    }

    fn bind(&mut self, ppn: Ppn, version: usize) {
        self.places.insert(ppn.0, Place::Holds { version, programmed: false });
    }

    fn record(&mut self, record: &Record) {
        match *record {
            Record::WriteAccepted { command, lpn } => {
                self.versions.push(Version { lpn: lpn.0, completed: None });
                self.accepted.insert((command.0, lpn.0), self.versions.len() - 1);
            }
            Record::Buffered { command, lpn, slot } => {
                let version = self.accepted[&(command.0, lpn.0)];
                if let Some(old) = self.slots.insert(slot, version) {
                    assert_eq!(self.versions[old].lpn, lpn.0, "a slot in use is taken by another unit");
                }
            }
            Record::Bound { lpn, ppn, command, .. } => self.bind(ppn, self.accepted[&(command.0, lpn.0)]),
            Record::BoundFromBuffer { slot, lpn, ppn, .. } => {
                let version = self.slots.remove(&slot).expect("the slot holds a unit");
                assert_eq!(self.versions[version].lpn, lpn.0);
                self.bind(ppn, version);
            }
            Record::Relocated { lpn, from, to, .. } => {
                self.moves += 1;
                let waits = self.pending.iter().any(|(_, ppn, _)| *ppn == to);
                assert!(!waits, "a read still waits for the old data of the gap");
                let carried = self.carried.remove(&from.0).expect("the line was read");
                match self.places.insert(from.0, Place::Gap) {
                    Some(Place::Holds { version, programmed }) => {
                        assert_eq!(carried, Some(version), "{lpn:?} was written while it moved");
                        assert!(programmed && self.versions[version].lpn == lpn.0, "{lpn:?} moves from {from:?}");
                        self.bind(to, version);
                    }
                    Some(Place::Gap) => panic!("the gap moves"),
                    None => {
                        assert_eq!(carried, None);
                        self.places.remove(&to.0);
                    }
                }
            }
            Record::Programmed { first, .. } => {
                if let Some(Place::Holds { programmed, .. }) = self.places.get_mut(&first.0) {
                    *programmed = true;
                }
            }
            Record::ReadResolved { command, lpn, source } => {
                let floor = self.commands[&self.by_id[&command.0]].3[&lpn.0];
                match source {
                    ReadSource::Flash(ppn) => self.pending.push((command, ppn, Pending { lpn: lpn.0, floor })),
                    ReadSource::Controller(ppn) => self.check(self.held(ppn), lpn.0, floor),
                    ReadSource::Buffer(slot) => self.check(self.slots.get(&slot).copied(), lpn.0, floor),
                    other => panic!("{other:?} on a drive without map and cache"),
                }
            }
            Record::ReadSensed { ppn, owner: Owner::Command(command) } => {
                let at = self.pending.iter().position(|(of, place, _)| *of == command && *place == ppn);
                let (_, _, Pending { lpn, floor }) = self.pending.swap_remove(at.expect("it was resolved"));
                self.sensed += 1;
                // The data that has moved on stays readable in the gap until the gap is written.
                if self.places.get(&ppn.0) != Some(&Place::Gap) {
                    self.check(self.held(ppn), lpn, floor);
                }
            }
            Record::ReadSensed { ppn, owner: Owner::Collector } => {
                let held = self.held(ppn);
                self.carried.insert(ppn.0, held);
            }
            _ => {}
        }
    }
}

/// A random drive: two to four dies of a few pages, regions of several sizes, with and without buffer,
/// interconnect, memory and decoders.
fn sets(rng: &mut Rng) -> Vec<String> {
    let page = 256u64 << rng.below(5);
    let places = 16 * 16 * 256 / page;
    let region = [4, 8, 16, places][rng.below(4) as usize];
    let (interval, randomize, reassemble) = (1 + rng.below(6), rng.chance(0.5), rng.chance(0.5));
    let mut sets = vec![
        format!("flash.page_size={page}B"),
        format!(
            "ftl.translation={{ kind = \"in_place\", region_pages = {region}, gap_interval = {interval}, randomize = {randomize}, \
             reassemble = {reassemble} }}"
        ),
        format!("flash.scheduler={}", ["fifo", "read_first", "out_of_order"][rng.below(3) as usize]),
        format!("ftl.allocation_order={}", ["CWD", "WCD", "DWC"][rng.below(3) as usize]),
        format!("flash.chips_per_channel={}", 1 + rng.below(2)),
    ];
    if rng.chance(0.6) {
        let policy = ["write_back", "write_through"][rng.below(2) as usize];
        sets.push(format!("buffer.policy={policy}"));
        sets.push(format!("buffer.capacity={}B", page * (2 + rng.below(30))));
    }
    if rng.chance(0.4) {
        sets.push("controller.interconnect={ kind = \"axi\" }".to_owned());
        sets.push(
            "controller.dram={ kind = \"bandwidth\", rate = \"400MB/s\", latency = \"300ns\", size = \"1MiB\" }".to_owned(),
        );
    }
    if rng.chance(0.4) {
        // Reads are long on their way, and writes are not: lines move while reads of their old places are decoded.
        sets.push("ecc.errors={ kind = \"constant\", rates = [1e-9] }".to_owned());
        sets.push("ecc.decoder={ kind = \"fixed\", time = \"200us\" }".to_owned());
        sets.push("flash.code={ kind = \"bch\", data = \"256B\", t = 8 }".to_owned());
    }
    if rng.chance(0.3) {
        sets.push("controller.page_buffers={ count = 1 }".to_owned());
    }
    sets
}

struct Case {
    drive: Drive,
    shadow: Shadow,
    done: Vec<kit::Completion>,
}

impl Case {
    fn drain(&mut self) {
        for record in std::mem::take(&mut self.drive.journal().records) {
            self.shadow.record(&record);
        }
    }

    fn submit(&mut self, command: HostCommand) {
        let id = self.drive.submit(command, self.drive.now());
        self.shadow.submitted(id, command);
    }

    fn step(&mut self) {
        let at = self.drive.next_event().expect("commands are in flight");
        self.drive.advance_into(at, &mut self.done);
        self.drain();
        for completion in std::mem::take(&mut self.done) {
            self.shadow.completed(completion.tag);
        }
    }

    fn wait_for(&mut self, depth: usize) {
        while self.shadow.commands.len() > depth {
            self.step();
        }
    }
}

/// Runs the case of a seed. Returns the number of moves and of reads of the medium.
fn play(seed: u64) -> (u64, u64) {
    let mut rng = Rng::stream(seed, "in_place");
    let more = sets(&mut rng);
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let sets: Vec<String> = with(&with(IDEAL, SMALL), &more).iter().map(|set| (*set).to_owned()).collect();
    let mut text = drive::presets::find("rram-512g-800").expect("a preset").text.to_owned();
    if more.contains(&"buffer.policy=write_through") {
        text = text.replace("flush_after = \"1ms\"\n", "");
    }
    let description = Description::read("random.toml", &text, &sets).unwrap_or_else(|problems| panic!("{seed}: {problems}"));
    let mut drive = Drive::new(&description, seed).expect("the tables fit");
    drive.adopt();
    drive.journal().enable(true);
    let shadow = Shadow { unit: drive.unit(), ..Shadow::default() };
    let blocks = drive.user_bytes() / 256;
    let mut case = Case { drive, shadow, done: Vec::new() };
    let hot = 1 + rng.below(blocks);
    for tag in 0..1500 {
        case.wait_for(rng.below(24) as usize);
        let within = if rng.chance(0.7) { hot } else { blocks };
        let first = rng.below(within);
        let count = 1 + rng.below(24.min(blocks - first));
        let op = [Op::Read, Op::Write, Op::Write, Op::Read, Op::Trim][rng.below(5) as usize];
        let command = HostCommand::new(op, tag, Bytes(first * 256), Bytes(count * 256));
        let flags = if op == Op::Write && rng.chance(0.1) { CommandFlags::FUA } else { command.flags };
        case.submit(if rng.chance(0.03) { HostCommand::flush(tag) } else { HostCommand { flags, ..command } });
        if rng.chance(0.3) {
            case.step();
        }
    }
    case.wait_for(0);
    // Everything, once from the buffer, and once from the medium.
    for tag in [5000, 5002] {
        case.submit(HostCommand::new(Op::Read, tag, Bytes(0), Bytes(blocks * 256)));
        case.wait_for(0);
        case.submit(HostCommand::flush(tag + 1));
        case.wait_for(0);
    }
    (case.shadow.moves, case.shadow.sensed)
}

#[test]
fn random_drives_return_what_was_written() {
    let (mut moves, mut sensed) = (0, 0);
    for seed in 0..120 {
        let (moved, read) = play(seed);
        (moves, sensed) = (moves + moved, sensed + read);
    }
    assert!(moves > 50_000 && sensed > 300_000, "{moves} moves, {sensed} reads");
}

#[test]
fn the_same_seed_gives_the_same_moves() {
    assert_eq!(play(3), play(3));
}
