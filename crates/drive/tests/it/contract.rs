//! The contract of a mode policy (POLICIES 1), call by call, with a policy that records its calls.

use crate::common::{ONE_DIE, Rig, with};
use ftl::policy::{Dispatch, Idle, ModePolicy, Moving, Needs, PageMove, Placed, Relocation, View, WriteAnswer};
use kit::{BlockId, Lpn, ModeId, Nanos, Op, Reason, Record, SimTime};
use std::sync::{Arc, Mutex};

const MS: u64 = 1_000_000;

/// Calls that the policy received.
#[derive(Default)]
struct Told {
    opened: Vec<BlockId>,
    erased: Vec<(BlockId, u8)>,
    idle: Vec<(SimTime, Idle)>,
    adopted: Option<(u8, Vec<u8>)>,
}

/// Policy that writes in the normal mode, records its calls, and requests one move of unit 0 after it has been placed.
#[derive(Clone, Default)]
struct Scripted {
    told: Arc<Mutex<Told>>,
    idle_after: Nanos,
    /// Time from the placement of unit 0 to the deadline of its move; inner none: no deadline; outer none: no move.
    move_within: Option<Option<Nanos>>,
    wanted: Option<PageMove>,
}

impl Scripted {
    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().expect("one thread")
    }
}

impl ModePolicy for Scripted {
    fn needs(&self) -> Needs {
        Needs {
            host_streams: 1,
            bits_per_unit: 2,
            bytes_per_block: 2,
            blocks: true,
            placed: true,
            moves: true,
            idle_after: self.idle_after,
            ..Needs::default()
        }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        view.bits.set(placed.lpn, 2);
        if let (Lpn(0), Reason::Host, Some(within)) = (placed.lpn, placed.reason, self.move_within.take()) {
            let deadline = within.map(|within| view.now + within);
            self.wanted =
                Some(PageMove { lpn: placed.lpn, from: placed.ppn, reason: Reason::Rewrite, mode: ModeId(0), deadline });
        }
    }

    fn opened(&mut self, block: BlockId, view: &mut View<'_>) {
        view.block_bytes.get_mut(block)[1] += 1;
        self.told().opened.push(block);
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        let opened = view.block_bytes.get(block)[1];
        self.told().erased.push((block, opened));
    }

    fn forced(&mut self, _: &mut View<'_>) -> Option<PageMove> {
        self.wanted.take()
    }

    fn idle(&mut self, idle: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        self.told().idle.push((view.now, *idle));
        None
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        let bytes = (0..view.medium.geometry.block_count).map(|block| view.block_bytes.get(BlockId(block))[1]).collect();
        self.told().adopted = Some((view.bits.get(Lpn(0)), bytes));
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

#[test]
fn every_block_that_is_opened_or_erased_is_told_and_declared_bytes_stay_with_their_block() {
    let policy = Scripted::default();
    let mut rig =
        Rig::run_by(Box::new(policy.clone()), &with(ONE_DIE, &["flash.blocks_per_plane=16", "ftl.overprovisioning=0.9"]));
    let units = rig.drive.user_bytes() / kit::UNIT_BYTES;
    for unit in (0..units).cycle().take(4 * units as usize) {
        rig.one(Op::Write, unit, 1);
    }
    let told = policy.told();
    assert!(told.erased.len() > 16, "blocks have been used more than once: {} erases", told.erased.len());
    assert_eq!(told.erased.len() as u64, rig.operations()[2]);
    let mut opens = [0u8; 16];
    let mut erases = told.erased.iter();
    for &block in &told.opened {
        opens[block.index()] += 1;
    }
    let mut seen = [0u8; 16];
    assert!(
        erases.all(|&(block, opened)| {
            seen[block.index()] += 1;
            opened == seen[block.index()]
        }),
        "at each erase of a block its count of openings is the number of erases, this one included"
    );
    assert!((0..16).all(|block| opens[block] == seen[block] || opens[block] == seen[block] + 1), "{opens:?} {seen:?}");
}

#[test]
fn idle_is_asked_after_the_stated_time_and_says_for_how_long() {
    let policy = Scripted { idle_after: Nanos(5 * MS), ..Scripted::default() };
    let mut rig = Rig::run_by(Box::new(policy.clone()), ONE_DIE);
    rig.one(Op::Write, 0, 1);
    let done = rig.drive.now();
    rig.run_until(done + Nanos(4 * MS));
    assert!(policy.told().idle.is_empty(), "not before its time");
    // Any other operation restarts the waiting time.
    rig.one(Op::Write, 1, 1);
    let done = rig.drive.now();
    rig.run_until(done + Nanos(20 * MS));
    let told = policy.told();
    let [(at, idle)] = told.idle[..] else { panic!("asked {} times", told.idle.len()) };
    assert_eq!(at, done + Nanos(5 * MS));
    let five = Nanos(5 * MS);
    assert_eq!((idle.die_for, idle.channel_for, idle.drive_for), (five, Some(five), Some(five)));
}

#[test]
fn idle_tells_the_die_from_its_channel_and_the_drive() {
    let policy = Scripted { idle_after: Nanos(100_000), ..Scripted::default() };
    // Two channels of one die each: one die keeps reading, the other is idle.
    let mut rig = Rig::run_by(Box::new(policy.clone()), &["flash.chips_per_channel=1"]);
    rig.one(Op::Write, 0, 1);
    let busy = rig.drive.map().place_of(Lpn(0)).expect("written");
    rig.one(Op::Write, 1, 1);
    policy.told().idle.clear();
    let start = rig.drive.now();
    for _ in 0..4 {
        rig.submit(Op::Read, 0, 1, start);
    }
    rig.run_until(start + Nanos(150_000));
    let told = policy.told();
    let geometry = &rig.drive.medium().geometry;
    assert!(!told.idle.is_empty(), "the other die has been idle for long enough");
    for (_, idle) in &told.idle {
        assert_ne!(idle.die, geometry.die_of(geometry.block_of(busy)), "a die that reads is not idle");
        assert!(idle.channel_for.is_some() && idle.drive_for.is_none(), "{idle:?}");
    }
}

/// Returns the instant at which unit 0 is moved. Until 50 ms there are always writes waiting.
fn moved_at(within: Option<Nanos>) -> SimTime {
    let policy = Scripted { move_within: Some(within), ..Scripted::default() };
    let mut rig = Rig::run_by(Box::new(policy), ONE_DIE);
    let mut unit = 0;
    while rig.drive.now() < SimTime(50 * MS) {
        while rig.drive.commands_in_flight() < 4 {
            rig.submit(Op::Write, unit, 1, rig.drive.now());
            unit += 1;
            rig.step();
        }
        rig.step();
        if rig.records().iter().any(|record| matches!(record, Record::Relocated { lpn: Lpn(0), .. })) {
            return rig.drive.now();
        }
    }
    rig.drain();
    rig.run_until(SimTime(100 * MS));
    assert!(rig.records().iter().any(|record| matches!(record, Record::Relocated { lpn: Lpn(0), .. })), "moved in the end");
    rig.drive.now()
}

#[test]
fn a_move_gives_way_to_host_writes_until_its_deadline() {
    assert!(moved_at(None) > SimTime(50 * MS), "without a deadline it waits until no write does");
    let at = moved_at(Some(Nanos(10 * MS)));
    // Unit 0 is placed at the beginning. The program that runs at the deadline completes first.
    assert!(at >= SimTime(10 * MS) && at < SimTime(12 * MS), "{at:?}");
}

#[test]
fn declared_state_is_saved_and_loaded_by_the_policy_of_the_same_name() {
    let sets = with(ONE_DIE, &["flash.blocks_per_plane=16", "ftl.overprovisioning=0.9"]);
    let mut rig = Rig::run_by(Box::new(Scripted::default()), &sets);
    rig.one(Op::Write, 0, 1);
    rig.drive.rest();
    let description = crate::common::description(&sets);
    let identity = |name: &str| drive::Identity::of(&description, name, 1);
    let mut file = Vec::new();
    rig.drive.save(&identity("scripted"), &mut file).expect("memory does not fail");
    for (name, expected) in [("scripted", (2, 1)), ("somebody_else", (0, 0))] {
        let policy = Scripted::default();
        let ftl = description.build_ftl_with(name, Box::new(policy.clone()), 1).expect("the tables fit");
        let mut drive = drive::Drive::with_ftl(&description, ftl, 1);
        drive.adopt_saved(&identity(name), &mut &file[..]).expect("a good file");
        drive.adopt();
        let (bits, bytes) = policy.told().adopted.take().expect("adopted");
        assert_eq!((bits, bytes.iter().sum::<u8>()), expected, "{name}");
    }
    let mut short = &file[..file.len() - 1];
    let ftl = description.build_ftl_with("scripted", Box::new(Scripted::default()), 1).expect("the tables fit");
    let error =
        drive::Drive::with_ftl(&description, ftl, 1).load(&identity("scripted"), &mut short).expect_err("a byte is missing");
    assert!(error.contains("ends early"), "{error}");
}

#[test]
fn a_block_with_more_than_65536_reads_waiting_is_not_erased() {
    let mut rig = Rig::watched(&with(ONE_DIE, &["state.precondition=fill"]));
    let reads = 70_000;
    let medium = rig.drive.medium();
    let block = medium.geometry.block_of(rig.drive.map().place_of(Lpn(0)).expect("it was filled"));
    for _ in 0..reads {
        rig.submit(Op::Read, 0, 1, SimTime(0));
    }
    rig.step();
    assert_eq!(rig.drive.medium().block(block).pins(), reads);
    // All data of the block is overwritten, and the die collects: the block is the best victim, but its erase waits for
    // the reads.
    for unit in 0..6_000 {
        rig.submit(Op::Write, unit, 1, SimTime(1_000_000));
    }
    let mut pins = reads;
    while pins > 0 {
        rig.step();
        for record in rig.drive.journal().records.drain(..) {
            assert!(!matches!(record, Record::Erased { block: erased } if erased == block), "{pins} reads wait for it");
        }
        pins = rig.drive.medium().block(block).pins();
    }
}

/// Unit and place of each unit that collections have moved.
type Moved = Arc<Mutex<Vec<(Lpn, kit::Ppn)>>>;

/// Policy that knows which data is hot, the first `hot` units, and parts relocated data by it. `streams` 0: it parts
/// nothing.
struct Temperature {
    streams: u8,
    hot: u32,
    moved: Moved,
}

impl ModePolicy for Temperature {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, relocation_streams: self.streams, placed: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    fn relocate_to(&mut self, moving: &Moving<'_>, _: &mut View<'_>) -> WriteAnswer {
        let [lpn] = *moving.units else { panic!("each unit by itself: {:?}", moving.units) };
        WriteAnswer { mode: ModeId(0), stream: u8::from(lpn.0 >= self.hot) }
    }

    fn placed(&mut self, placed: &Placed, _: &mut View<'_>) {
        if placed.reason == Reason::Gc {
            self.moved.lock().expect("one thread").push((placed.lpn, placed.ppn));
        }
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

const SMALL_DIE: &[&str] = &[
    "flash.channels=1",
    "flash.chips_per_channel=1",
    "flash.blocks_per_plane=128",
    "flash.pages_per_block=16",
    "ftl.overprovisioning=0.15",
    "ftl.separate_relocations=true",
];

/// Plays a load of which nine tenths go to the first tenth of the data, on a drive that parts relocated data into
/// `streams`. Returns the drive, the write amplification of the second half, and what was moved.
fn hot_and_cold(streams: u8) -> (Rig, f64, Moved) {
    let moved = Moved::default();
    let units = crate::common::description(SMALL_DIE).user_bytes() / kit::UNIT_BYTES;
    let hot = units / 10;
    let policy = Temperature { streams, hot: hot as u32, moved: Arc::clone(&moved) };
    let mut rig = Rig::run_by(Box::new(policy), SMALL_DIE);
    let mut rng = kit::Rng::stream(7, "test.hot_and_cold");
    for unit in 0..units {
        rig.one(Op::Write, unit, 1);
    }
    let mut before = [0; 2];
    for turn in 0..10 * units {
        if turn == 5 * units {
            before = [Reason::Host, Reason::Gc].map(|reason| rig.programmed(reason));
        }
        let unit = if rng.chance(0.9) { rng.below(hot) } else { hot + rng.below(units - hot) };
        rig.one(Op::Write, unit, 1);
    }
    let [host, moves] = [rig.programmed(Reason::Host) - before[0], rig.programmed(Reason::Gc) - before[1]];
    (rig, (host + moves) as f64 / host as f64, moved)
}

#[test]
fn relocated_data_parted_by_its_temperature_needs_fewer_moves() {
    let (_, one, _) = hot_and_cold(0);
    let (rig, two, moved) = hot_and_cold(2);
    assert!(two < 0.9 * one, "write amplification with one relocation stream {one:.3}, with two {two:.3}");
    // On this drive a program holds one unit, so that nothing is left over: a block of relocated data is hot or cold
    // from its first unit on, except where the other stream had opened the last free block.
    let geometry = rig.drive.medium().geometry;
    let hot = (rig.drive.user_bytes() / kit::UNIT_BYTES / 10) as u32;
    let mut cold_block = vec![None; geometry.block_count as usize];
    let mut apart = [0, 0];
    for &(lpn, ppn) in moved.lock().expect("one thread").iter() {
        let (block, unit) = geometry.split(ppn);
        let is_cold = &mut cold_block[block.index()];
        if unit == 0 {
            *is_cold = Some(lpn.0 >= hot);
        }
        apart[usize::from(*is_cold == Some(lpn.0 >= hot))] += 1;
    }
    assert!(apart[1] > 50 * apart[0], "{} units beside others, {} apart", apart[0], apart[1]);
}

/// A drive that is saved with open relocation frontiers goes on with them where it is adopted, as far as the policy has
/// them; the others are closed.
#[test]
fn relocation_frontiers_are_saved() {
    let description = crate::common::description(SMALL_DIE);
    let (mut rig, ..) = hot_and_cold(2);
    let file = crate::common::saved(&mut rig.drive, &description);
    let open = |rig: &Rig| {
        let medium = rig.drive.medium();
        let blocks = (0..medium.geometry.block_count).map(BlockId);
        blocks.filter(|block| medium.block(*block).state() == ftl::BlockState::Open).count()
    };
    assert_eq!(open(&rig), 3, "the host's and two of relocations");
    for (streams, frontiers) in [(2, 3), (0, 2)] {
        let policy = Temperature { streams, hot: 9, moved: Moved::default() };
        let mut loaded = Rig::run_by(Box::new(policy), SMALL_DIE);
        crate::common::adopt(&mut loaded.drive, &description, &file);
        assert_eq!(open(&loaded), frontiers);
        let units = loaded.drive.user_bytes() / kit::UNIT_BYTES;
        for unit in 0..units {
            loaded.one(Op::Write, unit * 7 % units, 1);
        }
    }
}
