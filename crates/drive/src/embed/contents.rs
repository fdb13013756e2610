//! An embedded drive with contents: the bytes of its writes and reads, and losses of power that leave of them what the
//! medium has.

use super::{EmbedError, EmbedErrorKind, EmbeddedDrive};
use crate::drive::save::{CONTENTS, Summed};
use crate::drive::{Drive, PowerLoss};
use crate::fault_script::FaultScript;
use crc32fast::Hasher;
use kit::{Bytes, CommandId, Completion, HostCommand, Lpn, Nanos, Op, SimTime, Status, words};
use payload::{Contents, Fault, Refusal};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;

/// Callback that is called after every so many steps of a drive, and returns true if the drive is to go on.
type Look = Box<dyn FnMut(&EmbeddedDrive) -> bool + Send>;

/// A callback after the steps of a drive.
pub(super) struct Watch {
    /// None while it looks.
    look: Option<Look>,
    every: u64,
    /// Steps until the next look.
    left: u64,
    has_stopped: bool,
}

impl Watch {
    /// Returns true if the watch does not want the drive to go on.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped
    }
}

/// The contents of a drive, and the data of the reads that wait to be taken.
pub(super) struct Kept {
    contents: Contents,
    /// Data of the reads among the completions that wait, one after another.
    bytes: Vec<u8>,
    /// Range in `bytes` of each completion; empty unless it is that of a read that succeeded.
    ranges: Vec<Range<usize>>,
    /// First error of the file of the contents.
    failure: Option<ErrorKind>,
}

impl Kept {
    /// Returns the contents of a drive that holds zeroes, for at most `limit` bytes: in memory, or in an empty file.
    pub fn of(drive: &Drive, limit: u64, file: Option<File>) -> Kept {
        Kept::new(Contents::new(&drive.medium().geometry, limit, file))
    }

    fn new(contents: Contents) -> Kept {
        Kept { contents, bytes: Vec::new(), ranges: Vec::new(), failure: None }
    }

    /// Returns true if the contents are in a file.
    fn is_in_file(&self) -> bool {
        self.contents.is_in_file()
    }

    /// Returns a copy without completions that wait; `None` of contents in a file.
    pub fn fork(&self) -> Option<Kept> {
        self.contents.fork().map(Kept::new)
    }

    /// Reads the contents that follow a saved drive in its file into those of a drive that holds zeroes. The error
    /// says what is wrong with them.
    pub fn load(self, drive: &Drive, from: &mut dyn Read) -> Result<Kept, String> {
        let mut summed = Summed { inner: from, sum: Hasher::new() };
        let units = drive.user_bytes().div_ceil(drive.unit().bytes());
        let contents = self.contents.load(&drive.medium().geometry, units, &mut summed)?;
        let Summed { inner, sum } = summed;
        let mut known = Vec::new();
        inner.read_to_end(&mut known).map_err(|error| format!("its contents cannot be read: {error}"))?;
        if known != sum.finalize().to_le_bytes() {
            return Err("its contents do not agree with their checksum: they have been changed since they were saved".to_owned());
        }
        Ok(Kept::new(contents))
    }

    /// Writes the contents of a drive at rest, and their checksum.
    pub fn save(&self, to: &mut dyn Write) -> std::io::Result<()> {
        to.write_all(CONTENTS)?;
        let mut summed = Summed { inner: to, sum: Hasher::new() };
        self.contents.save(&mut summed)?;
        let Summed { inner, sum } = summed;
        inner.write_all(&sum.finalize().to_le_bytes())?;
        inner.flush()
    }

    /// Follows all records of the drive's journal.
    pub fn follow(&mut self, drive: &mut Drive) {
        let records = &mut drive.journal().records;
        records.iter().for_each(|record| self.contents.follow(record));
        records.clear();
    }

    /// Takes the data of commands that have completed, whose records have been followed.
    pub fn completed(&mut self, completions: &[Completion]) {
        for completion in completions {
            let begin = self.bytes.len();
            if completion.op == Op::Read && completion.status == Status::Success {
                self.bytes.resize(begin + completion.length.0 as usize, 0);
                match self.contents.take(completion.id, &mut self.bytes[begin..]) {
                    Ok(()) => {}
                    Err(Fault::File(kind)) => drop(self.failure.get_or_insert(kind)),
                    Err(fault) => panic!("{}", in_words(completion, fault)),
                }
            } else {
                self.contents.ended(completion.id);
            }
            self.ranges.push(begin..self.bytes.len());
        }
        self.failure = self.failure.or(self.contents.failure());
    }

    /// Returns an error once the file of the contents has failed: data is missing from then on.
    pub fn has_failed(&self) -> Result<(), EmbedError> {
        self.failure.map_or(Ok(()), |kind| Err(EmbeddedDrive::contents_have_failed("the contents", kind)))
    }

    /// Returns the data of the completion with this index among those that wait.
    pub fn data(&self, index: usize) -> &[u8] {
        &self.bytes[self.ranges[index].clone()]
    }

    /// Forgets the data of all completions.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }
}

/// A drive that delivers torn data is defective: this is a panic, and no error of its user.
fn in_words(completion: &Completion, fault: Fault) -> String {
    format!("the drive delivered no sound data: {fault:?} in {completion:?}")
}

impl EmbeddedDrive {
    /// Returns true if the drive keeps its contents ([`super::Builder::contents`]).
    pub fn has_contents(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns the bytes of the contents that are kept: equal units once, units of zeroes not at all, superseded ones
    /// until their block is erased; and the memory of the tables beside them. `None` without contents.
    pub fn contents_bytes(&self) -> Option<(u64, u64)> {
        self.kept.as_ref().map(|kept| (kept.contents.bytes(), kept.contents.overhead()))
    }

    /// Submits a write of `data` that arrives at instant `at`: now, or later. `command` has the length of the data.
    pub fn submit_write(&mut self, command: HostCommand, data: &[u8], at: SimTime) -> Result<(), EmbedError> {
        self.submit_data(command, data, at).map(drop)
    }

    /// Submits a command like [`EmbeddedDrive::submit`], or with data like [`EmbeddedDrive::submit_write`], to a drive
    /// with contents. Returns the number that its completion will have ([`Completion::id`]); numbers are used again.
    pub fn submit_numbered(&mut self, command: HostCommand, data: Option<&[u8]>, at: SimTime) -> Result<CommandId, EmbedError> {
        if let Some(data) = data {
            return self.submit_data(command, data, at);
        }
        if !self.is_valid(&command, at) || self.has_lost_power() {
            return Err(self.refuse(&command, at));
        }
        self.submit_kept(command, at)
    }

    fn submit_data(&mut self, command: HostCommand, data: &[u8], at: SimTime) -> Result<CommandId, EmbedError> {
        if command.op != Op::Write || command.length.0 != data.len() as u64 {
            let (op, length) = (command.op.name(), command.length.0);
            let text = format!("{op}: length {length} with {} bytes of data: expected a write of as many bytes", data.len());
            return Err(EmbedError::new(EmbedErrorKind::Range, text));
        }
        if self.kept.is_none() {
            let text = "write: the drive keeps no contents: expected a drive with contents, or no data";
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        if !self.is_valid(&command, at) || self.has_lost_power() {
            return Err(self.refuse(&command, at));
        }
        let kept = self.kept.as_mut().expect("checked above");
        let limit = kept.contents.limit();
        let write = kept.contents.prepare(command.offset, data).map_err(|refusal| match refusal {
            Refusal::Full => EmbeddedDrive::contents_are_full(limit),
            Refusal::File(kind) => EmbeddedDrive::contents_have_failed("write: the contents", kind),
        })?;
        let id = self.accept(command, at);
        self.kept.as_mut().expect("checked above").contents.submitted(id, write);
        Ok(id)
    }

    /// Submits a command without data to a drive with contents.
    #[inline(never)]
    pub(super) fn submit_kept(&mut self, command: HostCommand, at: SimTime) -> Result<CommandId, EmbedError> {
        if command.op == Op::Write {
            let text = "write: no data, and the drive keeps its contents: expected data";
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        let id = self.accept(command, at);
        if let Some(kept) = self.kept.as_mut().filter(|_| command.op == Op::Read) {
            kept.contents.read(id, command.offset, command.length);
        }
        Ok(id)
    }

    /// Returns true if the latest data of a unit is zeroes, which take no space. A drive without contents has no other
    /// data.
    pub fn is_zeroes(&self, unit: Lpn) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.contents.is_zeroes(unit))
    }

    /// Has the drive lose power after this number of its steps, counted from now. It then stands still, within an
    /// instant, until [`EmbeddedDrive::lose_power`].
    pub fn lose_power_after(&mut self, steps: u64) -> Result<(), EmbedError> {
        self.needs_metadata("lose_power_after")?;
        self.drive.lose_power_after(steps);
        Ok(())
    }

    /// Has the faults of a script happen, whose times count from now on. `name` stands for the script in messages. The
    /// description must have a section `[faults]`. Losses of power ([`EmbeddedDrive::lose_power_after`]) and a
    /// controller that hangs are no faults of an embedded drive. Returns the number of faults.
    pub fn script_faults(&mut self, name: &str, text: &str) -> Result<usize, EmbedError> {
        let unsupported = |text: String| Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        if self.origin.description.faults.is_none() {
            return unsupported(format!("{name}: the drive has no section [faults]: expected one in its description"));
        }
        let script = FaultScript::read(name, text, &self.origin.description)?;
        if script.power.is_some() {
            return unsupported(format!("{name}: power_fails: expected a script without, and a cut of the power"));
        }
        if !script.hangs.is_empty() {
            return unsupported(format!("{name}: controller_stuck: expected a script without, or a run"));
        }
        let FaultScript { operations, slow, link_errors, losses, .. } = &script;
        let count = operations.len() + slow.len() + link_errors.len() + losses.len();
        self.drive.script_faults(&script);
        Ok(count)
    }

    /// Returns true if the drive has lost power, and has not recovered.
    #[inline]
    pub fn has_lost_power(&self) -> bool {
        self.drive.is_to_lose_power()
    }

    #[cold]
    pub(super) fn power_is_lost() -> EmbedError {
        let text = "the drive has lost power: expected that it recovers first";
        EmbedError::new(EmbedErrorKind::PowerLost, text)
    }

    fn needs_metadata(&self, call: &str) -> Result<(), EmbedError> {
        if self.drive.keeps_metadata() {
            return Ok(());
        }
        let text = format!("{call}: the drive is not prepared for losses of power: expected `power_losses` when it is built");
        Err(EmbedError::new(EmbedErrorKind::Unsupported, text))
    }

    /// Brings a drive with contents to a state that can be saved: all data is on flash.
    pub(super) fn settle(&mut self) -> Result<(), EmbedError> {
        if self.waiting() > 0 {
            let text = format!("save: {} completions wait: expected that they are taken first", self.waiting());
            return Err(EmbedError::new(EmbedErrorKind::InFlight, text));
        }
        self.submit(HostCommand::flush(0), self.now())?;
        self.drain()?;
        self.take(usize::MAX);
        self.drive.rest();
        self.follow();
        let units = self.drive.buffered_units();
        if units > 0 {
            self.drive.go_on();
            let text = format!("save: {units} units wait in the write buffer: expected that a flush programs them");
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        Ok(())
    }

    /// Loses power now for the time `down`, whatever is in flight, and recovers. Commands in flight are gone, and
    /// their data, unless it was on flash; completions that wait can still be taken.
    pub fn lose_power(&mut self, down: Nanos) -> Result<PowerLoss, EmbedError> {
        let too_large = |error: std::io::Error| EmbedError::new(EmbedErrorKind::Unsupported, format!("lose_power: {error}"));
        self.needs_metadata("lose_power")?;
        let now = self.drive.now();
        if down > Nanos(SimTime::LAST.since(now).0) {
            return Err(self.bad_time("lose_power", SimTime(now.0.saturating_add(down.0))));
        }
        let anew = Drive::new(&self.origin.description, self.origin.seed).map_err(too_large)?;
        if let Some(capacitors) = self.origin.description.power_loss {
            self.drive.hold_up(capacitors.hold_up());
        }
        if let Some(kept) = &mut self.kept {
            kept.follow(&mut self.drive);
        }
        let loss = self.drive.lose_power(anew, down).map_err(too_large)?;
        self.in_flight = 0;
        self.contents_after(&loss);
        Ok(loss)
    }

    /// Returns what becomes of this drive if it loses power now for the time `down`: a drive that has recovered, with
    /// its contents and without commands in flight. This drive goes on. A drive with capacitors is refused: they would
    /// let it work on.
    pub fn after_power_loss(&self, down: Nanos) -> Result<(EmbeddedDrive, PowerLoss), EmbedError> {
        self.can_be_forked()?;
        let too_large =
            |error: std::io::Error| EmbedError::new(EmbedErrorKind::Unsupported, format!("after_power_loss: {error}"));
        let kept = self.kept.as_ref().and_then(|kept| kept.fork());
        let mut anew = Drive::new(&self.origin.description, self.origin.seed).map_err(too_large)?;
        anew.journal().enable(kept.is_some());
        let (drive, loss) = self.drive.after_power_loss(anew, down).map_err(too_large)?;
        let mut other = EmbeddedDrive::new(drive, (*self.origin).clone(), kept);
        other.drive.record(true);
        other.drive.statistics.log = self.has_causes().then(Vec::new);
        other.contents_after(&loss);
        Ok((other, loss))
    }

    /// Returns the reason why [`EmbeddedDrive::after_power_loss`] is refused, if there is one.
    pub fn can_be_forked(&self) -> Result<(), EmbedError> {
        self.needs_metadata("after_power_loss")?;
        let unsupported = |text| Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        if self.origin.description.power_loss.is_some() {
            return unsupported("after_power_loss: the drive has capacitors: expected `lose_power`");
        }
        if self.kept.as_ref().is_some_and(|kept| kept.is_in_file()) {
            return unsupported(
                "after_power_loss: the contents are in a file, of which there is one: expected contents in memory",
            );
        }
        Ok(())
    }

    /// Lets the contents follow a loss of power and the recovery from it.
    fn contents_after(&mut self, loss: &PowerLoss) {
        let Some(kept) = &mut self.kept else { return };
        kept.contents.lose_power(&loss.half_erased);
        kept.follow(&mut self.drive);
        kept.contents.recovered(|place| self.drive.current_unit(place));
    }

    /// Has `look` called after each `every` steps of the drive, from now on: it may ask what would become of the drive
    /// ([`EmbeddedDrive::after_power_loss`]). It returns true if it wants to look again; otherwise the watch ends, and
    /// the call in which that happens fails with [`EmbedErrorKind::Stopped`].
    pub fn watch(&mut self, every: u64, look: impl FnMut(&EmbeddedDrive) -> bool + Send + 'static) {
        self.watch = Some(Watch { look: Some(Box::new(look)), every, left: every, has_stopped: false });
    }

    /// Ends the watch.
    pub fn unwatch(&mut self) {
        self.watch = None;
    }

    /// Handles the next instant up to `until` step by step, with a look after each of them that is due. Returns the
    /// number of new completions.
    pub(super) fn step_watched(&mut self, until: SimTime) -> usize {
        if self.drive.next_event().is_none_or(|at| at > until) {
            self.drive.advance_into(until, &mut self.fresh);
            return 0;
        }
        let mut looks = true;
        loop {
            let goes_on = self.drive.step();
            self.follow();
            // An instant is handled to its end, whatever the watch wants.
            looks = looks && self.look();
            if !goes_on {
                break;
            }
        }
        if self.waiting() == 0 {
            self.taken = 0;
            self.done.clear();
            self.causes.clear();
            if let Some(kept) = &mut self.kept {
                kept.clear();
            }
        }
        self.done.extend_from_slice(self.drive.completions());
        self.drive.completions().len()
    }

    /// Looks at the drive, if a look is due. Returns false if it is to stop.
    fn look(&mut self) -> bool {
        let Some(watch) = self.watch.as_mut() else { return true };
        watch.left -= 1;
        if watch.left > 0 {
            return true;
        }
        watch.left = watch.every;
        let mut look = watch.look.take().expect("it does not look yet");
        let goes_on = look(self);
        let watch = self.watch.as_mut().expect("a look changes nothing");
        (watch.look, watch.has_stopped) = (Some(look), !goes_on);
        goes_on
    }

    /// Returns the error of a file that has failed.
    #[cold]
    fn contents_have_failed(what: &str, kind: ErrorKind) -> EmbedError {
        EmbedError::new(EmbedErrorKind::Failed, format!("{what} cannot be kept in their file: {kind}"))
    }

    /// Returns the error of a write for whose data there is no space.
    fn contents_are_full(limit: u64) -> EmbedError {
        let limit = words::size(Bytes(limit));
        let text = format!("write: the contents would take more than {limit}, the limit: expected a higher one, or fewer data");
        EmbedError::new(EmbedErrorKind::Full, text)
    }
}
