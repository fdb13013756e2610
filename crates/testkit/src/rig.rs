//! Test rig: a drive whose every step is checked by the oracle.

use crate::contents::Compared;
use crate::oracle::{Check, Oracle, Violation, ensure};
use drive::{Description, Drive, Identity, PowerFailure, PowerLoss};
use ftl::ScaleModels;
use ftl::policy::ModePolicy;
use kit::{Completion, HostCommand, Nanos, Record, SimTime};

/// Numbers of instants without a completion, while commands are in flight, after which the drive counts as stalled: in
/// all, and for each 4 KiB of user capacity, if that is more. A drive may rewrite all of its data before it goes on,
/// and one with parity and few free blocks may do so many times.
const PATIENCE: [u64; 2] = [8_000_000, 100];
/// Number of instants after which a case takes no further commands: some drives do little but rewrite their data.
const LONGEST: u64 = 20_000_000;
/// Number of the last of these instants whose records are reported; for a shutdown that does not end, number of the
/// last records.
const LAST_WORDS: u64 = 40;
/// Number of batches of instants (65,536 each) within which a shutdown must end.
const SHUTDOWN: u32 = 4;

/// Callback that changes records on their way from the drive to the oracle.
pub type Tamper<'a> = &'a mut dyn FnMut(Record, &mut Vec<Record>);
/// Callback that makes a guest policy for the drive of a description.
pub type MakePolicy<'a> = &'a dyn Fn(&Description) -> Box<dyn ModePolicy>;

/// A drive that is operated through its public interface, and the oracle that follows its journal.
pub struct Rig<'a> {
    /// The drive.
    pub drive: Drive,
    /// Shadow of the drive's data.
    pub oracle: Oracle,
    tamper: Option<Tamper<'a>>,
    guest: Option<MakePolicy<'a>>,
    done: Vec<Completion>,
    records: Vec<Record>,
    history: u64,
    served: u64,
    /// Number of instants without a completion, and the number after which the drive counts as stalled.
    quiet: u64,
    patience: u64,
    /// Number of instants in all.
    instants: u64,
    /// Last records before the drive counts as stalled.
    last: Vec<Record>,
    /// The bytes of all reads, where they are compared.
    compared: Option<Compared>,
}

/// Brings a new drive to the starting state of its description.
pub fn prepare(drive: &mut Drive, description: &Description) {
    let how = description.state.preconditioned();
    if drive.translator().map().is_some() {
        let done = drive.ftl_mut().precondition(&how, &ScaleModels::default(), &mut |_| true);
        assert!(done.expect("a small drive fits into memory"), "nobody interrupted it");
    }
    drive.adopt();
}

/// Creates the drive of a description, under its own policy or under a guest policy.
pub fn built(description: &Description, seed: u64, guest: Option<MakePolicy<'_>>) -> Drive {
    let Some(guest) = guest else { return Drive::new(description, seed).expect("a small drive fits into memory") };
    let ftl = description.build_ftl_with("guest", guest(description), seed).expect("a small drive fits into memory");
    Drive::with_ftl(description, ftl, seed)
}

impl<'a> Rig<'a> {
    /// Creates the drive of a description in its starting state, under its own policy.
    pub fn new(description: &Description, seed: u64, tamper: Option<Tamper<'a>>) -> Result<Rig<'a>, Violation> {
        Rig::run_by(description, seed, tamper, None)
    }

    /// Creates the drive of a description in its starting state, with a record of its firmware.
    pub fn recording(description: &Description, seed: u64, tamper: Option<Tamper<'a>>) -> Result<Rig<'a>, Violation> {
        let mut drive = built(description, seed, None).recording_firmware();
        prepare(&mut drive, description);
        drive.journal().enable(true);
        let oracle = Oracle::attach(&drive, description)?;
        Ok(Rig { tamper, ..Rig::with(drive, oracle) })
    }

    /// Creates the drive of a description in its starting state, prepared for losses of power ([`Rig::lose_power`]).
    pub fn losing_power(description: &Description, seed: u64) -> Result<Rig<'a>, Violation> {
        let mut drive = built(description, seed, None);
        drive.keep_metadata().expect("a small drive fits into memory");
        prepare(&mut drive, description);
        drive.journal().enable(true);
        let oracle = Oracle::attach(&drive, description)?;
        Ok(Rig::with(drive, oracle).comparing(seed))
    }

    /// Creates the drive of a description in its starting state, under `guest` if it is given.
    pub fn run_by(
        description: &Description,
        seed: u64,
        tamper: Option<Tamper<'a>>,
        guest: Option<MakePolicy<'a>>,
    ) -> Result<Rig<'a>, Violation> {
        let mut drive = built(description, seed, guest);
        prepare(&mut drive, description);
        drive.journal().enable(true);
        let oracle = Oracle::attach(&drive, description)?;
        let is_sound = tamper.is_none();
        let rig = Rig { tamper, guest, ..Rig::with(drive, oracle) };
        Ok(if is_sound { rig.comparing(seed) } else { rig })
    }

    /// Creates the drive of a description from the file of a saved one, whose bytes may have been changed. `adopts`: it
    /// adopts the state of that drive in any case. What waits in its write buffer is programmed before the oracle
    /// follows. The inner error is the complaint about the file.
    pub fn of_file(
        description: &Description,
        seed: u64,
        file: &[u8],
        adopts: bool,
    ) -> Result<Result<Rig<'a>, String>, Violation> {
        let policy = if adopts { "another" } else { &description.policy.kind };
        let identity = Identity::of(description, policy, seed);
        let mut drive = built(description, seed, None);
        let resumed = match drive.load(&identity, &mut &file[..]) {
            Ok(resumed) => resumed,
            Err(complaint) => return Ok(Err(complaint)),
        };
        if !resumed.keeps_policy {
            drive.adopt();
        }
        let found = drive.map().audit(true);
        ensure(found.is_empty(), || format!("as it was loaded: {}", found.join("; ")))?;
        drive.go_on();
        drive.submit(HostCommand::flush(u32::MAX), drive.now());
        let mut done = Vec::new();
        drive.advance_into(SimTime::FOREVER, &mut done);
        ensure(!done.is_empty(), || format!("the loaded drive serves no command\n{}", stall_report(&drive)))?;
        drive.rest();
        drive.journal().enable(true);
        let oracle = Oracle::attach(&drive, description)?;
        let mut rig = Rig::with(drive, oracle);
        rig.drive.go_on();
        Ok(Ok(rig))
    }

    fn with(drive: Drive, oracle: Oracle) -> Rig<'a> {
        let patience = PATIENCE[0].max(PATIENCE[1] * (drive.user_bytes() / 4096));
        Rig {
            drive,
            oracle,
            tamper: None,
            guest: None,
            done: Vec::new(),
            records: Vec::new(),
            history: 0xcbf2_9ce4_8422_2325,
            served: 0,
            quiet: 0,
            patience,
            instants: 0,
            last: Vec::new(),
            compared: None,
        }
    }

    /// Compares the bytes of all reads from now on, for one seed in three.
    fn comparing(mut self, seed: u64) -> Rig<'a> {
        if seed.is_multiple_of(3) {
            self.compared = Compared::of(&self.drive);
        }
        self
    }

    /// Returns the number of units whose bytes have been compared.
    pub fn compared(&self) -> u64 {
        self.compared.as_ref().map_or(0, |compared| compared.compared)
    }

    /// Submits a command; its tag must differ from all those in flight.
    pub fn submit(&mut self, command: HostCommand, at: SimTime) {
        self.submit_for(command, None, at);
    }

    /// Submits a command for these units, if they are given: its offset stands for a list of addresses.
    pub fn submit_for(&mut self, command: HostCommand, units: Option<Vec<u32>>, at: SimTime) {
        let id = self.drive.submit(command, at);
        match units {
            None => {
                self.oracle.submitted(id, command, at);
                if let Some(compared) = &mut self.compared {
                    compared.submitted(id, command);
                }
            }
            Some(units) => self.oracle.submitted_for(id, command, at, units),
        }
    }

    /// Returns true if a guest policy runs the drive.
    pub fn is_run_by_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Returns the number of commands submitted and not completed.
    pub fn outstanding(&self) -> usize {
        self.oracle.outstanding()
    }

    /// Returns a hash of the completions so far: tags and times, in order.
    pub fn history(&self) -> u64 {
        self.history
    }

    /// Returns the number of commands that have completed, on this drive and on those that it goes on for.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Returns true if the case has taken so long that it takes no further commands.
    pub fn is_long(&self) -> bool {
        self.instants > LONGEST
    }

    /// Handles the next instant, with commands in flight. Returns the number of commands that completed.
    pub fn step(&mut self) -> Result<usize, Violation> {
        let at = self.expect_event()?;
        let count = self.advance(at)?;
        self.instants += 1;
        self.quiet = if count > 0 { 0 } else { self.quiet + 1 };
        ensure(self.quiet < self.patience, || {
            let (now, left) = (self.drive.now(), self.outstanding());
            format!(
                "stalled: {} instants without a completion, {left} commands in flight at {now:?}\n{}\n{:?}",
                self.patience,
                stall_report(&self.drive),
                self.last
            )
        })?;
        Ok(count)
    }

    /// Calls the drive's `advance` once and passes all records and completions to the oracle. Returns the number of
    /// commands that completed.
    pub fn advance(&mut self, until: SimTime) -> Result<usize, Violation> {
        self.done.clear();
        self.done.extend_from_slice(self.drive.advance(until));
        self.follow()?;
        self.completed()
    }

    /// Passes completions to the oracle. Returns their number.
    fn completed(&mut self) -> Result<usize, Violation> {
        let now = self.drive.now();
        for completion in &self.done {
            for word in [u64::from(completion.tag), completion.completed.0] {
                self.history = (self.history ^ word).wrapping_mul(0x0000_0100_0000_01b3);
            }
            self.oracle.completed(completion, now)?;
            if let Some(compared) = &mut self.compared {
                compared.completed(completion)?;
            }
        }
        self.served += self.done.len() as u64;
        Ok(self.done.len())
    }

    /// Returns an error if nothing is to happen although commands are in flight.
    fn expect_event(&self) -> Result<SimTime, Violation> {
        self.drive.next_event().ok_or_else(|| {
            Violation(format!(
                "stalled: nothing is to happen and {} commands are in flight:{}\n{}",
                self.outstanding(),
                self.oracle.describe_outstanding(),
                stall_report(&self.drive)
            ))
        })
    }

    /// Handles the next instant step by step, as [`Rig::advance`] does at once, and calls `watch` after each step.
    /// Returns the number of commands that completed.
    pub fn advance_in_steps(&mut self, watch: &mut dyn FnMut(&Drive, &Oracle) -> Check) -> Result<usize, Violation> {
        self.expect_event()?;
        loop {
            let goes_on = self.drive.step();
            self.follow()?;
            watch(&self.drive, &self.oracle)?;
            if !goes_on {
                break;
            }
        }
        self.done.clear();
        self.done.extend_from_slice(self.drive.completions());
        self.completed()
    }

    /// Passes the records of the journal to the oracle.
    fn follow(&mut self) -> Result<(), Violation> {
        let journal = &mut self.drive.journal().records;
        if self.quiet + LAST_WORDS > self.patience {
            self.last.extend(journal.iter());
        }
        let Some(tamper) = &mut self.tamper else {
            let followed = journal.iter().try_for_each(|record| {
                self.oracle.record(record)?;
                if let Some(compared) = &mut self.compared {
                    compared.follow(record, &self.oracle);
                }
                Ok(())
            });
            journal.clear();
            return followed;
        };
        self.records.clear();
        for record in journal.drain(..) {
            tamper(record, &mut self.records);
        }
        self.records.iter().try_for_each(|record| self.oracle.record(record))
    }

    /// Runs until no command is in flight.
    pub fn drain(&mut self) -> Result<(), Violation> {
        while self.outstanding() > 0 {
            self.step()?;
        }
        Ok(())
    }

    /// Lets time pass with no command in flight.
    pub fn idle(&mut self, until: SimTime) -> Result<(), Violation> {
        let mut instants = 0;
        while self.drive.now() < until {
            let next = self.drive.next_event().map_or(until, |at| at.min(until));
            self.advance(next)?;
            instants += 1;
            self.quiet += 1;
            ensure(instants < self.patience, || {
                let (now, report) = (self.drive.now(), stall_report(&self.drive));
                format!(
                    "no rest: {instants} instants without a command in flight, at {now:?} of {until:?}\n{report}\n{:?}",
                    self.last
                )
            })?;
        }
        self.quiet = 0;
        Ok(())
    }

    /// Brings a drive without commands in flight to rest, so that it could be saved. The drive can continue afterwards.
    pub fn quiesce(&mut self) -> Result<(), Violation> {
        self.drive.quiesce();
        self.follow()?;
        self.oracle.audit(&self.drive, true)
    }

    /// Cuts the power of a drive without commands in flight, and audits it when power is back.
    pub fn fail_power(&mut self, down: Nanos) -> Result<PowerFailure, Violation> {
        let failure = self.drive.fail_power(down);
        self.follow()?;
        self.oracle.audit(&self.drive, true)?;
        Ok(failure)
    }

    /// Cuts the power of the drive without warning, whatever is in flight, and goes on with what has become of it.
    pub fn lose_power(&mut self, description: &Description, seed: u64, down: Nanos) -> Result<PowerLoss, Violation> {
        let anew = built(description, seed, self.guest);
        if let Some(capacitors) = &description.power_loss {
            self.drive.hold_up(capacitors.hold_up());
            self.follow()?;
        }
        let (drive, loss) = self.drive.after_power_loss(anew, down).expect("a small drive fits into memory");
        self.oracle.check_lost(&drive, &loss)?;
        if description.power_loss.is_some() && loss.volatile_lost == 0 {
            self.oracle.promise_acknowledged();
        }
        self.drive = drive;
        self.oracle.power_was_lost(&self.drive, &loss)?;
        if let Some(compared) = &mut self.compared {
            compared.power_was_lost(&self.drive, &loss, &self.oracle);
        }
        self.drive.journal().enable(true);
        self.drive.history().enable(false);
        Ok(loss)
    }

    /// Shuts the drive down gracefully and checks the conservation laws.
    pub fn finish(&mut self) -> Result<(), Violation> {
        let mut batches = 0;
        self.drive.shut_down(&mut |_| {
            batches += 1;
            batches < SHUTDOWN
        });
        if batches == SHUTDOWN {
            let stall_report = stall_report(&self.drive);
            let journal = &self.drive.journal().records;
            let last = &journal[journal.len().saturating_sub(LAST_WORDS as usize)..];
            return Err(Violation(format!("the shutdown does not come to an end\n{stall_report}\n{last:?}")));
        }
        self.follow()?;
        self.oracle.finish(&self.drive).map_err(|Violation(why)| Violation(format!("{why}\n{}", stall_report(&self.drive))))
    }

    /// Brings a drive without commands in flight to rest and lets it continue. Its physical history begins anew.
    pub fn rest(&mut self) -> Result<(), Violation> {
        self.drive.rest();
        self.follow()?;
        self.oracle.audit(&self.drive, true)?;
        self.drive.history().enable(false);
        self.drive.go_on();
        Ok(())
    }

    /// Brings a drive without commands in flight to rest and returns the file of it.
    pub fn save(&mut self, description: &Description, seed: u64) -> Result<Vec<u8>, Violation> {
        self.drive.rest();
        self.follow()?;
        let identity = Identity::of(description, &description.policy.kind, seed);
        let mut file = Vec::new();
        self.drive.save(&identity, &mut file).expect("memory takes all");
        Ok(file)
    }

    /// Like [`Rig::rest`], but a new drive continues, which is loaded from the file of the saved one. A drive that
    /// cannot be saved, because programs have failed that it has no room to repeat, goes on itself.
    pub fn reload(&mut self, description: &Description, seed: u64) -> Result<(), Violation> {
        self.drive.rest();
        self.follow()?;
        let identity = Identity::of(description, if self.guest.is_some() { "guest" } else { &description.policy.kind }, seed);
        let mut file = Vec::new();
        let saved = self.drive.save(&identity, &mut file);
        if saved.is_err() && self.drive.must_repeat() {
            self.drive.go_on();
            return Ok(());
        }
        saved.expect("memory takes all");
        let mut other = built(description, seed, self.guest);
        let resumed = other.load(&identity, &mut &file[..]);
        let resumed = resumed.map_err(|complaint| Violation(format!("what was saved is refused: {complaint}")))?;
        ensure(resumed.exact != self.guest.is_some(), || format!("a drive goes on exactly unless a guest runs it: {resumed:?}"))?;
        if !resumed.exact {
            other.adopt();
        }
        other.journal().enable(true);
        other.history().enable(false);
        self.oracle.move_to(&other)?;
        self.drive = other;
        self.drive.go_on();
        Ok(())
    }
}

/// Describes what waits in a drive that has stalled, as far as its translation layer says.
fn stall_report(drive: &Drive) -> String {
    drive.translator().map().map_or_else(String::new, |map| map.stall_report())
}
