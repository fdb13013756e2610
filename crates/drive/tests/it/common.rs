//! Shared parts of these tests: a small drive with overrides, single commands with their latency breakdown, whole
//! workloads, and the closed forms that the engine is compared with.

use drive::session::{CustomPolicy, Files, Outcome, RunRequest};
use drive::{CommandRow, Description, Drive, Identity, Resumed, RunLoop};
use ftl::policy::ModePolicy;
use ftl::{Precondition, Preconditioned, ScaleModels};
use kit::history::{Entry, EntryKind};
use kit::{
    Bytes, Cause, CommandFlags, Completion, Geometry, HostCommand, Nanos, Op, OperationKind, Problems, Record, Rng, SimTime,
    UNIT_BYTES,
};
use serde_json::Value;
use testkit::{Commands, Mix};
use workload::{Input, Options};

/// Bytes of a mapping unit.
pub const UNIT: u64 = UNIT_BYTES;

/// One die on one channel, so that operations cannot overlap.
pub const ONE_DIE: &[&str] = &["flash.channels=1", "flash.chips_per_channel=1"];

/// Flash that delivers more than two million units per second.
pub const FAST_FLASH: &[&str] = &[
    "flash.channels=8",
    "flash.chips_per_channel=4",
    "flash.blocks_per_plane=48",
    "flash.read_time=1us",
    "flash.transfer_rate=4800MT/s",
    "state.precondition=fill",
];

/// Causes of a program of one unit on `tiny`, and of a read of one.
pub const PROGRAM: [(Cause, u64); 3] = [(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, 600_000)];
pub const READ: [(Cause, u64); 3] = [(Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, 3414)];

/// A few blocks of four pages for 16 units, so that a handful of writes makes the drive collect.
pub const FEW_BLOCKS: &[&str] = &[
    "flash.blocks_per_plane=10",
    "flash.pages_per_block=4",
    "ftl.overprovisioning=1.0",
    "ftl.user_capacity=64KiB",
    "ftl.gc_low_blocks=2",
];

/// Returns the description of the `tiny` preset with overrides.
pub fn description(sets: &[&str]) -> Description {
    read(sets).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Brings a drive to rest and returns it as a saved file.
pub fn saved(drive: &mut Drive, description: &Description) -> Vec<u8> {
    drive.rest();
    let mut file = Vec::new();
    drive.save(&identity(description), &mut file).expect("memory takes all");
    file
}

/// Loads a saved file into `drive`, a new drive of the description.
pub fn load(drive: &mut Drive, description: &Description, file: &[u8]) -> Result<Resumed, String> {
    drive.load(&identity(description), &mut &file[..])
}

/// Like [`load`], but `drive` adopts the saved state, whatever drive it was saved from.
pub fn adopt(drive: &mut Drive, description: &Description, file: &[u8]) {
    drive.adopt_saved(&identity(description), &mut &file[..]).unwrap_or_else(|complaint| panic!("{complaint}"));
    drive.adopt();
}

fn identity(description: &Description) -> Identity {
    Identity::of(description, &description.policy.kind, 1)
}

/// Like [`description`], but returns the problems instead of panicking.
pub fn read(sets: &[&str]) -> Result<Description, Problems> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("test.toml", "base = \"tiny\"", &sets)
}

/// Returns the overrides of `first`, followed by those of `then`.
pub fn with<'a>(first: &[&'a str], then: &[&'a str]) -> Vec<&'a str> {
    [first, then].concat()
}

/// A drive under test, with a log of its commands.
pub struct Rig {
    /// The drive.
    pub drive: Drive,
    next_tag: u32,
}

impl Rig {
    /// Creates a drive of the `tiny` preset with overrides, in its starting state.
    pub fn new(sets: &[&str]) -> Rig {
        let description = description(sets);
        Rig::of(&description)
    }

    /// Creates a drive of a description, in its starting state.
    pub fn of(description: &Description) -> Rig {
        Rig::prepared(description, Drive::new(description, 1).expect("the tables fit"))
    }

    /// Creates a drive of the description `text` with overrides, with its journal enabled.
    pub fn watched_text(text: &str, sets: &[&str]) -> Rig {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let description = Description::read("test.toml", text, &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let mut rig = Rig::of(&description);
        rig.drive.journal().enable(true);
        rig
    }

    /// Creates a drive of the `tiny` preset with overrides under a guest policy, with its journal enabled.
    pub fn run_by(policy: Box<dyn ModePolicy>, sets: &[&str]) -> Rig {
        let description = description(sets);
        let ftl = description.build_ftl_with("scripted", policy, 1).expect("the tables fit");
        let mut rig = Rig::prepared(&description, Drive::with_ftl(&description, ftl, 1));
        rig.drive.journal().enable(true);
        rig
    }

    /// Like [`Rig::new`], but prepared for a loss of power.
    pub fn losing_power(sets: &[&str]) -> Rig {
        let description = description(sets);
        let mut drive = Drive::new(&description, 1).expect("the tables fit");
        drive.keep_metadata().expect("the tables fit");
        Rig::prepared(&description, drive)
    }

    /// Loses power now, for 1 s.
    pub fn lose_power(&mut self, sets: &[&str]) {
        let anew = Drive::new(&description(sets), 1).expect("the tables fit");
        self.drive.lose_power(anew, kit::Nanos::SECOND).expect("the tables fit");
    }

    fn prepared(description: &Description, mut drive: Drive) -> Rig {
        let method = match description.state.precondition {
            drive::description::PreconditionMethod::None => Precondition::None,
            drive::description::PreconditionMethod::Fill => Precondition::Fill,
            drive::description::PreconditionMethod::Random => Precondition::Random { passes: description.state.overwrite_passes },
            drive::description::PreconditionMethod::Steady => Precondition::Steady,
        };
        let how = Preconditioned { method, age: description.state.age, pe_cycles: description.state.pe_cycles };
        drive.ftl_mut().precondition(&how, &ScaleModels::default(), &mut |_| true).expect("the tables fit");
        drive.adopt();
        drive.statistics.log = Some(Vec::new());
        Rig { drive, next_tag: 0 }
    }

    /// Like [`Rig::new`], but with the journal enabled.
    pub fn watched(sets: &[&str]) -> Rig {
        let mut rig = Rig::new(sets);
        rig.drive.journal().enable(true);
        rig
    }

    /// Submits a command on a range of bytes. Returns its tag.
    pub fn submit_bytes(&mut self, op: Op, offset: u64, length: u64, at: SimTime) -> u32 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.drive.submit(HostCommand::new(op, tag, Bytes(offset), Bytes(length)), at);
        tag
    }

    /// Submits a write of whole units with FUA. Returns its tag.
    pub fn submit_fua(&mut self, unit: u64, count: u64, at: SimTime) -> u32 {
        let tag = self.next_tag;
        self.next_tag += 1;
        let command = HostCommand::new(Op::Write, tag, Bytes(unit * UNIT), Bytes(count * UNIT));
        self.drive.submit(HostCommand { flags: CommandFlags::FUA, ..command }, at);
        tag
    }

    /// Submits a command on whole units. Returns its tag.
    pub fn submit(&mut self, op: Op, unit: u64, count: u64, at: SimTime) -> u32 {
        self.submit_bytes(op, unit * UNIT, count * UNIT, at)
    }

    /// Runs until every command has completed.
    pub fn drain(&mut self) {
        while self.rows().len() < self.next_tag as usize {
            self.step();
        }
    }

    /// Runs up to and including the instant `until`.
    pub fn run_until(&mut self, until: SimTime) {
        while self.drive.now() < until || self.drive.next_event().is_some_and(|at| at <= until) {
            self.drive.advance(until);
        }
    }

    /// Handles the next instant and returns it.
    pub fn step(&mut self) -> SimTime {
        let at = self.drive.next_event().expect("something is to happen");
        self.drive.advance(at);
        at
    }

    /// Submits a command now and runs until it has completed.
    pub fn one_bytes(&mut self, op: Op, offset: u64, length: u64) -> CommandRow {
        let tag = self.submit_bytes(op, offset, length, self.drive.now());
        self.drain();
        self.row(tag)
    }

    /// Like [`Rig::one_bytes`], but on whole units.
    pub fn one(&mut self, op: Op, unit: u64, count: u64) -> CommandRow {
        self.one_bytes(op, unit * UNIT, count * UNIT)
    }

    /// Returns the completed commands, in the order of completion.
    pub fn rows(&self) -> &[CommandRow] {
        self.drive.statistics.log.as_deref().unwrap_or_default()
    }

    /// Returns the row of a completed command.
    pub fn row(&self, tag: u32) -> CommandRow {
        *self.rows().iter().find(|row| row.tag == tag).unwrap_or_else(|| panic!("command {tag} is not done"))
    }

    /// Returns true if a command has completed.
    pub fn is_done(&self, tag: u32) -> bool {
        self.rows().iter().any(|row| row.tag == tag)
    }

    /// Takes the records of the journal since the last call.
    pub fn records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.drive.journal().records)
    }

    /// Returns the records of the journal without removing them.
    pub fn records_so_far(&mut self) -> &[Record] {
        &self.drive.journal().records
    }

    /// Returns a figure from the policy's statistics.
    pub fn stat(&self, name: &str) -> u64 {
        let found = self.drive.map().policy().named_stats().into_iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no statistic {name}")).1 as u64
    }

    /// Returns the number of units programmed for a reason.
    pub fn programmed(&self, reason: kit::Reason) -> u64 {
        self.drive.translator().report().counters.units_programmed[reason as usize]
    }

    /// Returns the numbers of reads, programs, erases and copybacks started so far.
    pub fn operations(&self) -> [u64; 4] {
        let [reads, programs, erases, copybacks, _] = self.drive.flash().counters.operations;
        [reads, programs, erases, copybacks]
    }

    /// Replays a fio job, given as its keys, one per line.
    pub fn replay(&mut self, keys: &str) {
        let input = Input::text("job.fio", format!("[job]\n{keys}\n"));
        let workload =
            workload::open(&input, self.drive.user_bytes(), &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        self.drive.statistics.log = None;
        RunLoop::new(workload).run(&mut self.drive, &mut |_, _| true).unwrap_or_else(|problems| panic!("{problems}"));
    }

    /// Returns the write amplification since the start of the measurement: units programmed per unit written by the
    /// host.
    pub fn write_amplification(&self) -> f64 {
        let (_, ftl) = self.drive.statistics.since_start(self.drive.flash(), self.drive.translator());
        ftl.units_programmed.iter().sum::<u64>() as f64 / ftl.host_units as f64
    }
}

/// A drive whose host gives places, under test: it has zones or physical addresses, and commands have a status.
pub struct HostPlaced {
    /// The drive.
    pub drive: Drive,
    /// The completions so far.
    pub done: Vec<Completion>,
    tag: u32,
}

impl HostPlaced {
    /// Creates a drive of the `tiny` preset with overrides, with its history and a log of its commands.
    pub fn new(sets: &[&str]) -> HostPlaced {
        let mut drive = Drive::new(&description(sets), 1).expect("the tables fit");
        drive.adopt();
        drive.history().enable(true);
        drive.statistics.log = Some(Vec::new());
        HostPlaced { drive, done: Vec::new(), tag: 0 }
    }

    /// Submits a command on whole units. Returns its tag.
    pub fn submit(&mut self, op: Op, unit: u64, count: u64) -> u32 {
        self.submit_with(HostCommand::new(op, 0, Bytes(unit * UNIT), Bytes(count * UNIT)))
    }

    /// Submits a command, with a tag of its own, which it returns.
    pub fn submit_with(&mut self, command: HostCommand) -> u32 {
        self.tag += 1;
        self.drive.submit(HostCommand { tag: self.tag, ..command }, self.drive.now());
        self.tag
    }

    /// Handles the next instants, up to one with a completion.
    pub fn step(&mut self) {
        assert!(self.drive.next_event().is_some(), "a command is in flight");
        let done = self.drive.advance(SimTime::FOREVER).to_vec();
        self.done.extend(done);
    }

    /// Returns the number of commands submitted and not completed.
    pub fn in_flight(&self) -> u64 {
        u64::from(self.tag) - self.done.len() as u64
    }

    /// Runs until every command has completed.
    pub fn drain(&mut self) {
        while self.in_flight() > 0 {
            self.step();
        }
    }

    /// Runs until a command has completed, and returns its completion.
    pub fn wait(&mut self, tag: u32) -> Completion {
        loop {
            if let Some(done) = self.done.iter().find(|done| done.tag == tag) {
                return *done;
            }
            self.step();
        }
    }
}

/// Checks the flash operations of a run: blocks are programmed in order, erased before they are programmed again, and
/// only programmed pages are read, none of them while its block is erased. Returns the numbers of programs and erases.
pub fn check_flash(drive: &mut Drive, geometry: &Geometry) -> (u32, u32) {
    let (units, program) = (u64::from(geometry.units_per_block), u64::from(geometry.units_per_program));
    let mut begun = vec![0u64; geometry.block_count as usize];
    let mut done = vec![0u64; geometry.block_count as usize];
    let (mut programs, mut erases) = (0, 0);
    // Of one instant, what ends comes before what begins.
    let mut entries: Vec<_> = drive.history().take().collect();
    entries.sort_by_key(|entry| (entry.time, matches!(entry.kind(), EntryKind::Started(_))));
    for entry in entries {
        let Some(place) = entry.place().filter(|_| entry.die().is_some()) else { continue };
        let (block, unit) = ((place / units) as usize, place % units);
        match entry.kind() {
            EntryKind::Started(OperationKind::Program) => {
                assert_eq!(unit, begun[block] * program, "block {block} is programmed in order");
                begun[block] += 1;
                programs += 1;
            }
            EntryKind::Ended(OperationKind::Program) => done[block] += 1,
            EntryKind::Started(OperationKind::Erase) => {
                assert_eq!(begun[block], done[block], "nothing is being programmed");
                (begun[block], done[block]) = (0, 0);
                erases += 1;
            }
            EntryKind::Started(OperationKind::Read) => {
                assert!(unit / program < done[block], "unit {unit} of block {block} is programmed");
            }
            _ => {}
        }
    }
    (programs, erases)
}

/// Returns the latency of a command \[ns\].
pub fn latency(row: &CommandRow) -> u64 {
    row.completed.since(row.submitted).0
}

/// Asserts that exactly these causes were charged to a command, and that its latency is their sum.
#[track_caller]
pub fn assert_parts(what: &str, row: &CommandRow, parts: &[(Cause, u64)]) {
    let charged: Vec<(Cause, u64)> =
        Cause::ALL.iter().map(|cause| (*cause, row.causes.get(*cause).0)).filter(|(_, ns)| *ns > 0).collect();
    let mut expected: Vec<(Cause, u64)> = parts.iter().copied().filter(|(_, ns)| *ns > 0).collect();
    expected.sort_by_key(|(cause, _)| *cause);
    assert_eq!(charged, expected, "{what}: causes");
    assert_eq!(latency(row), parts.iter().map(|(_, ns)| ns).sum::<u64>(), "{what}: latency");
}

/// Returns the transfer time of `units` on the channel \[ns\], rounded up once.
pub fn transfer(units: u64, mega_transfers: u64) -> u64 {
    (units * UNIT * 1000).div_ceil(mega_transfers)
}

/// Runs a workload through the interface that the command line uses.
pub fn session(drive: &str, sets: &[&str], policy: Option<&str>, workload: &str) -> Result<Outcome, Problems> {
    session_by(drive, sets, policy, None, workload)
}

/// Like [`session`], but with the digest of the physical history.
pub fn session_with_history(drive: &str, sets: &[&str], workload: &str) -> Result<Outcome, Problems> {
    let request = RunRequest::new("test.toml", drive).sets(sets).history();
    drive::session::run(&request, &Input::text("workload", workload), Files::default(), &mut |_| true)
}

/// Like [`session`], but under `guest` if it is given.
pub fn session_by(
    drive: &str,
    sets: &[&str],
    policy: Option<&str>,
    guest: Option<CustomPolicy<'_>>,
    workload: &str,
) -> Result<Outcome, Problems> {
    let request = RunRequest::new("test.toml", drive).sets(sets).policy(policy);
    drive::session::Session::default()
        .run(&request, &Input::text("workload", workload), Files::default(), guest, &mut |_| true)
        .map_err(Problems::from)
}

/// Returns the summary of a fio job on the `tiny` preset with overrides.
pub fn summary(sets: &[&str], keys: &str) -> Value {
    let job = format!("[job]\n{keys}\n");
    session("base = \"tiny\"", sets, None, &job).unwrap_or_else(|problems| panic!("{problems}")).summary
}

/// Returns the throughput of a closed network of `dies` exponential single servers with mean service time `service`,
/// which `population` customers visit at random with equal probability: exact mean-value analysis (Reiser and
/// Lavenberg, J. ACM 27, 1980).
pub fn mean_value_analysis(dies: u32, population: u32, service: f64) -> f64 {
    let visits = 1.0 / f64::from(dies);
    let (mut waiting, mut throughput) = (0.0, 0.0);
    for customers in 1..=population {
        let residence = service * (1.0 + waiting);
        throughput = f64::from(customers) / residence;
        waiting = throughput * visits * residence;
    }
    throughput
}

/// Returns the principal branch of Lambert's W on `[-1/e, 0)`, by Halley's iteration.
fn lambert_w(x: f64) -> f64 {
    let mut w = -1.0 + (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt();
    for _ in 0..100 {
        let f = w * w.exp() - x;
        let step = f / (w.exp() * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
        w -= step;
        if step.abs() < 1e-14 {
            break;
        }
    }
    w
}

/// Returns the write amplification of FIFO (LRU) cleaning under uniform random writes, with `alpha` the ratio of
/// physical to user blocks: a / (a + W(-a e^-a)) (Desnoyers, SYSTOR'12; FACTS 5.1).
pub fn desnoyers_fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// Returns the write amplification of greedy cleaning with `pages` pages in a block: that of FIFO at k alpha, divided
/// by k, where k = 1 + 1 / (2 pages) (FACTS 5.1).
pub fn desnoyers_greedy(alpha: f64, pages: u32) -> f64 {
    let k = 1.0 + 1.0 / (2.0 * f64::from(pages));
    desnoyers_fifo(k * alpha) / k
}

#[test]
fn the_closed_forms_have_their_published_values() {
    // FACTS 5.1, table.
    for (spare, fifo, greedy_64, greedy_256) in
        [(0.07, 7.82, 7.00, 7.60), (0.20, 3.19, 3.05, 3.15), (0.28, 2.48, 2.40, 2.46), (0.30, 2.36, 2.29, 2.35)]
    {
        let alpha = 1.0 + spare;
        assert!((desnoyers_fifo(alpha) - fifo).abs() < 0.006, "{spare}: {}", desnoyers_fifo(alpha));
        assert!((desnoyers_greedy(alpha, 64) - greedy_64).abs() < 0.006, "{spare}: {}", desnoyers_greedy(alpha, 64));
        assert!((desnoyers_greedy(alpha, 256) - greedy_256).abs() < 0.006, "{spare}: {}", desnoyers_greedy(alpha, 256));
    }
    // A balanced network has the closed form D Q / (S (Q + D - 1)).
    for (dies, population) in [(1, 1), (4, 7), (64, 32)] {
        let closed = f64::from(dies * population) / (3.0 * f64::from(population + dies - 1));
        assert!((mean_value_analysis(dies, population, 3.0) - closed).abs() < 1e-12 * closed);
    }
}

/// Plays random commands, until all have completed or the translation layer fails. Returns the physical history.
pub fn play_mix(drive: &mut Drive, description: &Description, seed: u64, count: u32) -> Vec<Entry> {
    drive.history().enable(true);
    let mut rng = Rng::stream(seed, "testkit.mix");
    let mix = Mix::random(&mut rng, description.flash.program_time.of(0).0);
    let mut stream = Commands::new(mix, description.user_bytes(), 0, Rng::stream(seed, "testkit.commands.0"));
    // The drive itself counts a command from its arrival on.
    let mut outstanding = 0;
    let wait = |drive: &mut Drive, outstanding: &mut usize, most: usize| {
        while *outstanding > most && drive.translator().failure().is_none() {
            assert!(drive.next_event().is_some() || drive.stalled(1), "seed {seed}: {outstanding} commands wait for ever");
            *outstanding -= drive.advance(SimTime::FOREVER).len();
        }
    };
    for _ in 0..count {
        wait(drive, &mut outstanding, stream.mix().depth - 1);
        if let Some(gap) = stream.gap_ns() {
            wait(drive, &mut outstanding, 0);
            let until = drive.now() + Nanos(gap);
            while drive.now() < until {
                drive.advance(until);
            }
        }
        let at = drive.now() + Nanos(stream.delay_ns());
        drive.submit(stream.next_command(), at);
        outstanding += 1;
    }
    wait(drive, &mut outstanding, 0);
    drive.history().close();
    drive.history().take().collect()
}

/// Returns a number from the environment, if it is set.
pub fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}
