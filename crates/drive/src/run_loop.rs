//! Replay of a workload on a drive.

pub(crate) mod backlog;
mod lines;
mod pacer;
mod running;
mod zones;

use crate::drive::Drive;
use crate::statistics::LogOrigin;
use backlog::Backlog;
use kit::{CommandFlags, CommandId, Completion, HostCommand, Lpn, Nanos, Op, Problems, SimTime};
use lines::LineHost;
use pacer::{Flows, Hold};
use running::{Held, Running};
use workload::{Flags, Pacing, Request, Workload};
use zones::ZonedHost;

/// Number of requests fetched from a source at a time, and thus prefetched in the drive's map at a time.
const BATCH: usize = 32;
/// Largest number of requests of a job submitted in one call. It bounds the arrivals of an open-loop job in the event
/// queue; the next call follows 1 ns later.
const ARRIVALS_AT_ONCE: usize = 1 << 20;

/// Number of commands completed at one instant beyond which a job with a `runtime` limit is taken never to end.
const COMMANDS_AT_ONCE: u64 = 1 << 22;

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The workload has ended.
    Complete,
    /// The run was stopped: `go_on` returned false.
    Stopped,
    /// The host has stopped for a power failure, and no command is in flight.
    PowerFails,
    /// The drive loses power, whatever is in flight.
    PowerLost,
    /// The drive's clock has reached its end, [`SimTime::LAST`], before the workload ended.
    OutOfTime,
}

/// The part of a workload that is replayed: of each job, at most `stop_after` commands after the first `skip`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of commands left out at the beginning of each job.
    pub skip: u64,
    /// Number of commands replayed of each job after that; all if absent.
    pub stop_after: Option<u64>,
}

/// Progress of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Number of commands completed.
    pub commands: u64,
    /// Share of the workload that was submitted, 0 to 1, where its commands, bytes or time are limited or known.
    pub share: Option<f64>,
}

/// Next step of a job.
enum Step {
    /// It submits a request, which arrives at this instant.
    Submit(Request, SimTime),
    /// It is to be examined again at this instant.
    Wait(SimTime),
    /// It is to be examined again after a completion.
    AwaitCompletion,
    /// It submits nothing more.
    End,
}

/// Replays the jobs of a workload.
pub struct RunLoop {
    jobs: Vec<Running>,
    wave: u32,
    /// Submission queues of the drive.
    queues: u32,
    /// Number of commands rejected because they lie outside the drive's range.
    pub rejected: u64,
    /// Largest number of commands in flight.
    pub max_in_flight: u64,
    /// Number of commands submitted in the ramp of their job, which are left out of the statistics.
    pub left_out: u64,
    /// Simulated time after which `go_on` is called in any case: a round of the steady-state rule.
    pub round: Option<Nanos>,
    /// Instant of a power failure; [`SimTime::FOREVER`] without one.
    pub power_fails: SimTime,
    /// True if the host does not stop for it: the drive loses power while commands are in flight.
    pub loses_power: bool,
    completed: u64,
    backlog: Backlog,
    hints: Vec<Lpn>,
    flows: Flows,
    /// The host that turns requests into other commands; `None` if they are commands as they are.
    host: Option<Box<RunHost>>,
}

/// A host that turns the requests of a workload into the commands that its drive takes.
enum RunHost {
    /// Appends to zones, and their resets.
    Zones(ZonedHost),
    /// Vectored commands for lines of chunks, and their resets.
    Lines(LineHost),
}

impl RunHost {
    /// Returns the host for a drive, if it needs one.
    fn of(drive: &Drive) -> Option<Box<RunHost>> {
        let layer = drive.translator();
        let zones = layer.zones().map(|table| RunHost::Zones(ZonedHost::new(table)));
        zones.or_else(|| layer.chunks().and_then(LineHost::new).map(RunHost::Lines)).map(Box::new)
    }

    /// Submits a request of the workload. Returns the number of its commands.
    fn submit(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) -> u32 {
        match self {
            RunHost::Zones(host) => {
                host.submit(command, origin, at, drive);
                1
            }
            RunHost::Lines(host) => host.submit(command, origin, at, drive),
        }
    }

    /// Submits a flush at once.
    fn flush(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) -> CommandId {
        match self {
            RunHost::Zones(_) => drive.submit_of(command, origin, at),
            RunHost::Lines(host) => host.flush(command, origin, at, drive),
        }
    }

    /// Records completions before the first of them is handled.
    fn note(&mut self, done: &[Completion]) {
        if let RunHost::Lines(host) = self {
            host.note(done);
        }
    }

    /// Handles the completion at a position of those that were noted. Returns true if a request of the workload is
    /// complete with it.
    fn completion_seen(&mut self, position: usize, completion: &Completion, drive: &mut Drive) -> bool {
        match self {
            RunHost::Zones(host) => host.completion_seen(completion, drive),
            RunHost::Lines(host) => host.completion_seen(position, drive),
        }
    }
}

impl RunLoop {
    /// Creates a loop over the jobs of `workload`.
    pub fn new(workload: Workload) -> RunLoop {
        RunLoop {
            flows: Flows::new(&workload.jobs),
            jobs: workload.jobs.into_iter().map(Running::new).collect(),
            wave: 0,
            queues: 1,
            rejected: 0,
            max_in_flight: 0,
            left_out: 0,
            round: None,
            power_fails: SimTime::FOREVER,
            loses_power: false,
            completed: 0,
            backlog: Backlog::default(),
            hints: Vec::with_capacity(BATCH),
            host: None,
        }
    }

    /// Creates a loop over a part of a workload.
    pub fn of(workload: Workload, part: Part) -> Result<RunLoop, Problems> {
        let mut run_loop = RunLoop::new(workload);
        if part.skip > 0 {
            run_loop.jobs.iter_mut().try_for_each(|running| running.skip(part.skip))?;
            // The end of a source is known only once a fetch returns nothing.
            for running in run_loop.jobs.iter_mut().filter(|running| running.next == running.batch.len() && !running.exhausted) {
                running.fetch(Nanos::ZERO)?;
            }
            if run_loop.jobs.iter().all(|running| running.exhausted) {
                let complaint = format!(
                    "no job has more than the {} commands that --skip-commands and --rest-after take: nothing is left to be measured",
                    part.skip
                );
                return Err(Problems::one("workload", complaint));
            }
        }
        if let Some(most) = part.stop_after {
            for running in &mut run_loop.jobs {
                let limit = &mut running.job.limits.requests;
                *limit = Some(limit.map_or(most, |own| own.min(most)));
            }
        }
        Ok(run_loop)
    }

    /// Returns the number of requests that each job has submitted, those rejected among them.
    pub fn submitted(&self) -> Vec<u64> {
        self.jobs.iter().map(|running| running.submitted).collect()
    }

    /// Returns true if the backlog of an open loop was still growing over the second half of the run.
    pub fn is_saturated(&self) -> bool {
        self.jobs.iter().any(|running| running.job.pacing == Pacing::Open) && self.backlog.grows()
    }

    /// Runs to the end of the workload, or until `go_on` returns false. `go_on` is called every few hundred steps and
    /// at the end of each round.
    pub fn run(&mut self, drive: &mut Drive, go_on: &mut dyn FnMut(&mut Drive, Reached) -> bool) -> Result<End, Problems> {
        drive.record(self.is_measured_from_the_start());
        self.queues = drive.queue_count();
        self.host = RunHost::of(drive);
        self.replay(drive, go_on)
    }

    /// Returns true if the measurement begins with the run: no job has a ramp, or one without begins immediately.
    /// Otherwise it begins with the first job whose ramp is over.
    fn is_measured_from_the_start(&self) -> bool {
        let is_ramped = |running: &Running| running.job.ramp_time > Nanos::ZERO;
        let begins = |running: &Running| running.job.wave == 0 && running.job.start_delay == Nanos::ZERO;
        !self.jobs.iter().any(is_ramped) || self.jobs.iter().any(|running| begins(running) && !is_ramped(running))
    }

    /// Continues after a power failure. For the host, no time has passed since it stopped.
    pub fn resume(&mut self, drive: &mut Drive, go_on: &mut dyn FnMut(&mut Drive, Reached) -> bool) -> Result<End, Problems> {
        let away = drive.now().since(std::mem::replace(&mut self.power_fails, SimTime::FOREVER));
        for running in &mut self.jobs {
            running.started = running.started.map(|at| at + away);
            running.last_submission = running.last_submission + away;
            running.pacer.shift(away);
        }
        for index in 0..self.jobs.len() {
            self.send_held(index, None, drive);
        }
        self.replay(drive, go_on)
    }

    fn replay(&mut self, drive: &mut Drive, go_on: &mut dyn FnMut(&mut Drive, Reached) -> bool) -> Result<End, Problems> {
        let mut steps = 0u64;
        let mut completed = self.completed;
        let mut round_end = self.next_round(drive.now());
        let (mut instant, mut completed_before) = (drive.now(), completed);
        let mut done = Vec::with_capacity(BATCH);
        let mut wake = self.submit_due(drive)?;
        while !self.is_over(wake, drive) {
            // Until the next submission that depends on the clock, the drive runs on its own.
            let until = wake.unwrap_or(SimTime::FOREVER).min(self.power_fails);
            drive.advance_into(if until < SimTime::FOREVER { until.min(SimTime::LAST) } else { until }, &mut done);
            completed += done.len() as u64;
            // A host that waits for its clock has no event in the drive: these ends come before the test for a stall.
            if self.loses_power && (drive.now() >= self.power_fails || drive.is_to_lose_power()) {
                (self.completed, self.power_fails) = (completed, drive.now());
                self.note_done(done.iter().map(|one| (one.id, one.tag, one.op)));
                return Ok(End::PowerLost);
            }
            if drive.now() >= self.power_fails {
                self.completed = completed;
                return self.stop(&done, drive, go_on);
            }
            if drive.now() >= SimTime::LAST {
                self.completed = completed;
                return Ok(End::OutOfTime);
            }
            let is_quiet = done.is_empty() && wake.is_none_or(|at| drive.now() < at);
            if is_quiet && drive.next_event().is_none() && drive.stalled(u64::from(self.pending_arrivals())) {
                return Ok(End::Stopped);
            }
            assert!(
                !is_quiet || drive.next_event().is_some(),
                "the drive has stalled with {} commands in flight",
                self.pending_arrivals()
            );
            if drive.now() > instant {
                (instant, completed_before) = (drive.now(), completed);
            } else if completed - completed_before > COMMANDS_AT_ONCE && self.waits_for_the_clock() {
                return Err(time_stands_still(instant));
            }
            let mut survey = wake.is_some_and(|at| at <= drive.now());
            if let Some(host) = &mut self.host {
                host.note(&done);
            }
            for (position, completion) in done.iter().enumerate() {
                if self.host.as_mut().is_some_and(|host| !host.completion_seen(position, completion, drive)) {
                    continue;
                }
                let index = completion.tag as usize;
                if !self.jobs[index].held.is_empty() && self.send_held(index, Some(completion.id), drive) {
                    continue;
                }
                survey |= self.completion_seen(index, completion.op, drive)?;
            }
            if survey {
                wake = self.submit_due(drive)?;
            }
            steps += 1;
            let round_is_over = drive.now() >= round_end;
            if round_is_over {
                round_end = self.next_round(drive.now());
            }
            if (is_quiet || round_is_over || steps.is_multiple_of(256)) && !go_on(drive, self.reached(completed, drive)) {
                return Ok(End::Stopped);
            }
        }
        go_on(drive, self.reached(completed, drive));
        Ok(End::Complete)
    }

    /// Stops submitting, and completes the commands in flight.
    fn stop(
        &mut self,
        done: &[Completion],
        drive: &mut Drive,
        go_on: &mut dyn FnMut(&mut Drive, Reached) -> bool,
    ) -> Result<End, Problems> {
        let ended = |one: &Completion| (one.id, one.tag, one.op);
        self.note_done(done.iter().map(ended));
        let mut more = Vec::with_capacity(BATCH);
        while drive.commands_in_flight() > 0 {
            if drive.next_event().is_none() {
                let commands = self.pending_arrivals();
                assert!(drive.stalled(commands.into()), "the drive has stalled with {commands} commands in flight");
                return Ok(End::Stopped);
            }
            drive.advance_into(SimTime::FOREVER, &mut more);
            self.completed += more.len() as u64;
            self.note_done(more.iter().map(ended));
            if more.is_empty() && !go_on(drive, self.reached(self.completed, drive)) {
                return Ok(End::Stopped);
            }
        }
        Ok(if go_on(drive, self.reached(self.completed, drive)) { End::PowerFails } else { End::Stopped })
    }

    /// Gives up the commands that were in flight when the drive lost power. They are not submitted again.
    pub fn power_was_lost(&mut self, lost: &[(CommandId, HostCommand)]) {
        self.note_done(lost.iter().map(|(id, command)| (*id, command.tag, command.op)));
    }

    /// Counts the ends of commands without submitting further requests.
    fn note_done(&mut self, ended: impl Iterator<Item = (CommandId, u32, Op)>) {
        for (id, tag, op) in ended {
            let running = &mut self.jobs[tag as usize];
            running.in_flight -= 1;
            if let Some((flush, _)) = running.held.iter_mut().find(|(flush, _)| *flush == Some(id)) {
                *flush = None;
                continue;
            }
            running.pacer.completion_seen(op);
        }
    }

    /// Submits the writes of a job that wait for this flush, which is complete; `None`: for one that completed before
    /// the host stopped for a power failure. Returns true if there was any.
    #[cold]
    fn send_held(&mut self, index: usize, flush: Option<CommandId>, drive: &mut Drive) -> bool {
        let mut found = false;
        while let Some(place) = self.jobs[index].held.iter().position(|(waits_for, _)| *waits_for == flush) {
            let (_, Held { command, origin }) = self.jobs[index].held.remove(place);
            // A flush that has just completed is still counted, in the place of its write.
            self.jobs[index].in_flight += u32::from(flush.is_none());
            found = true;
            self.send(command, origin, drive.now(), drive);
        }
        found
    }

    /// Returns the end of the round in which an instant lies.
    fn next_round(&self, now: SimTime) -> SimTime {
        self.round.map_or(SimTime::FOREVER, |round| SimTime((now.0 / round.0 + 1) * round.0))
    }

    /// Returns true if a job of the current wave runs until its `runtime` is over.
    fn waits_for_the_clock(&self) -> bool {
        self.jobs
            .iter()
            .any(|running| running.job.wave == self.wave && !running.exhausted && running.job.limits.runtime.is_some())
    }

    /// Returns true if no command is in flight, none is due and no job has any requests left.
    #[inline]
    fn is_over(&self, wake: Option<SimTime>, drive: &Drive) -> bool {
        wake.is_none() && drive.commands_in_flight() == 0 && self.pending_arrivals() == 0 && self.wave_has_ended()
    }

    /// Returns the progress after `commands` completed commands. Waves count alike; in a wave, its slowest job counts.
    fn reached(&self, commands: u64, drive: &Drive) -> Reached {
        let waves = self.jobs.iter().map(|running| running.job.wave + 1).max().unwrap_or(1);
        let mut current = self.jobs.iter().filter(|running| running.job.wave == self.wave);
        let slowest = current.try_fold(1.0f64, |least, running| Some(least.min(running.share(drive.now())?)));
        let share = slowest.map(|share| ((f64::from(self.wave) + share) / f64::from(waves)).min(1.0));
        Reached { commands, share }
    }

    fn pending_arrivals(&self) -> u32 {
        self.jobs.iter().map(|running| running.in_flight).sum()
    }

    fn wave_has_ended(&self) -> bool {
        self.jobs.iter().all(|running| running.job.wave > self.wave || running.has_ended())
            && self.jobs.iter().all(|running| running.job.wave <= self.wave)
    }

    /// Counts the completion of a command of a job. A plain closed loop submits its next request at once; otherwise
    /// returns true, so that the caller examines all jobs.
    #[inline]
    fn completion_seen(&mut self, index: usize, op: Op, drive: &mut Drive) -> Result<bool, Problems> {
        let running = &mut self.jobs[index];
        running.in_flight -= 1;
        if running.is_plain && !running.exhausted {
            return self.submit_plain(index, drive);
        }
        running.pacer.completion_seen(op);
        Ok(true)
    }

    /// Submits the next request of a plain closed loop; returns true if the caller must examine all jobs: the job has
    /// none left, or many in a row were rejected.
    #[inline]
    fn submit_plain(&mut self, index: usize, drive: &mut Drive) -> Result<bool, Problems> {
        for _ in 0..ARRIVALS_AT_ONCE {
            let running = &mut self.jobs[index];
            if running.next == running.batch.len() && self.peek(index, drive)?.is_none() {
                return Ok(true);
            }
            let running = &self.jobs[index];
            let request = running.batch[running.next];
            let is_accepted = self.submit_one(index, &request, drive.now(), drive);
            if is_accepted || self.jobs[index].exhausted {
                return Ok(self.jobs[index].exhausted);
            }
        }
        Ok(true)
    }

    /// Submits all requests that are due, and begins the next wave as soon as the current one has ended. Returns the
    /// next instant at which a request will be due, if that depends on the clock.
    fn submit_due(&mut self, drive: &mut Drive) -> Result<Option<SimTime>, Problems> {
        loop {
            let wake = self.submit_pass(drive)?;
            // Whether the wave has ended is known only now: a job may have ended while it was examined.
            if !self.next_wave() && !self.flows.looks_again() {
                return Ok(wake);
            }
        }
    }

    /// Submits the requests that are due, once for each job of the wave.
    fn submit_pass(&mut self, drive: &mut Drive) -> Result<Option<SimTime>, Problems> {
        let mut wake: Option<SimTime> = None;
        for index in 0..self.jobs.len() {
            let running = &self.jobs[index];
            if running.job.wave == self.wave && !running.exhausted && !self.waits_for_a_job(index) {
                wake = earlier(wake, self.submit_from(index, drive)?);
            }
            if self.jobs[index].has_ended() {
                self.flows.set_member(index, false);
            }
        }
        Ok(wake)
    }

    /// Goes on to the next wave if all jobs of the current one and those before have ended. Returns true if there is
    /// one.
    fn next_wave(&mut self) -> bool {
        let ends = self.jobs.iter().all(|running| running.job.wave > self.wave || running.has_ended());
        let goes_on = ends && self.jobs.iter().any(|running| running.job.wave > self.wave);
        self.wave += u32::from(goes_on);
        goes_on
    }

    /// Submits the requests of one job that are due, and, for an open loop, those of its next arrival instant. Returns
    /// the next instant at which the job must be examined, if that depends on the clock.
    fn submit_from(&mut self, index: usize, drive: &mut Drive) -> Result<Option<SimTime>, Problems> {
        for _ in 0..ARRIVALS_AT_ONCE {
            match self.step(index, drive)? {
                Step::Submit(request, at) => {
                    self.submit_one(index, &request, at, drive);
                }
                Step::Wait(at) => return Ok(Some(at)),
                Step::AwaitCompletion => return Ok(None),
                Step::End => {
                    self.jobs[index].exhausted = true;
                    return Ok(None);
                }
            }
        }
        Ok(Some(drive.now() + Nanos(1)))
    }

    /// Decides what a job of the current wave does next, from all that bears on it: its start, ramp, pacing and limits,
    /// the drive, a power failure and the end of the clock.
    fn step(&mut self, index: usize, drive: &mut Drive) -> Result<Step, Problems> {
        let now = drive.now();
        let running = &mut self.jobs[index];
        let start = *running.started.get_or_insert(now + running.job.start_delay);
        if start > now {
            return Ok(Step::Wait(start));
        }
        let ramp_end = start + running.job.ramp_time;
        if !running.measured && now >= ramp_end {
            running.measured = true;
            drive.record(true);
        }
        self.flows.set_member(index, true);
        let end = running.job.limits.runtime.map_or(SimTime::FOREVER, |runtime| start + runtime);
        let request = loop {
            match self.hold(index, now, start, drive) {
                // A wait that would last longer than `runtime` ends with it, and with it the job.
                Some(hold) if now >= end && (hold != Hold::Completion || self.jobs[index].in_flight == 0) => {
                    return Ok(Step::End);
                }
                Some(Hold::Completion) => return Ok(Step::AwaitCompletion),
                Some(Hold::Turn) if end == SimTime::FOREVER => return Ok(Step::AwaitCompletion),
                Some(hold) => {
                    let at = if let Hold::Time(at) = hold { at.min(end) } else { end };
                    return Ok(Step::Wait(if now < ramp_end { at.min(ramp_end) } else { at }));
                }
                None => {}
            }
            let Some(request) = self.peek(index, drive)? else { return Ok(Step::End) };
            if !self.jobs[index].pacer.waits_for_rate(&request, now, start) {
                break request;
            }
        };
        let running = &self.jobs[index];
        // A request that had to wait for its place is submitted now, which may be after the end.
        let at = running.due(&request, start, now).max(now);
        // A closed loop submits nothing at the end either: it might have much to catch up with at that instant.
        let is_closed = matches!(running.job.pacing, Pacing::Closed { .. });
        if at > end || is_closed && at == end {
            return Ok(Step::End);
        }
        // The measurement begins with the first arrival after the ramp.
        if now < ramp_end && at >= ramp_end {
            return Ok(Step::Wait(ramp_end));
        }
        // The next arrival of an open loop is submitted ahead, with all others of its instant, so that it takes its
        // place among the events of that instant. A request with any other pacing is submitted when it is due.
        let is_ahead = running.job.pacing == Pacing::Open;
        if at > now && !is_ahead || at > SimTime::LAST {
            return Ok(Step::Wait(at));
        }
        if at > self.power_fails {
            return Ok(Step::Wait(self.power_fails));
        }
        if running.submitted > 0 && running.last_submission > now && at > running.last_submission {
            return Ok(Step::Wait(running.last_submission));
        }
        Ok(Step::Submit(request, at))
    }

    /// Returns true if the job waits for others to end before it starts.
    fn waits_for_a_job(&self, index: usize) -> bool {
        let running = &self.jobs[index];
        running.started.is_none() && running.job.waits_for.iter().any(|&other| !self.jobs[other as usize].has_ended())
    }

    /// Returns what holds back a job, whatever it submits next: its depth, pauses, rates and flow if it is a closed
    /// loop, a full device if it is a replay with gaps; nothing holds back an open loop.
    #[inline]
    fn hold(&mut self, index: usize, now: SimTime, start: SimTime, drive: &Drive) -> Option<Hold> {
        let running = &mut self.jobs[index];
        match running.job.pacing {
            Pacing::Open => None,
            Pacing::Gaps => drive.is_full().then_some(Hold::Completion),
            Pacing::Closed { depth } => {
                if let Some(hold) = running.pacer.hold(now, start, running.in_flight, depth) {
                    return Some(hold);
                }
                let sleep = running.job.flow.and_then(|_| self.flows.is_ahead(index))?;
                if sleep == Nanos::ZERO {
                    return Some(Hold::Turn);
                }
                running.pacer.sleep(sleep);
                running.pacer.hold(now, start, running.in_flight, depth)
            }
        }
    }

    /// Submits a request of a job. Returns false if it is rejected.
    #[inline(always)]
    fn submit_one(&mut self, index: usize, request: &Request, at: SimTime, drive: &mut Drive) -> bool {
        let running = &mut self.jobs[index];
        let origin = running.origin(request);
        running.next += 1;
        running.submitted += 1;
        running.submitted_bytes += request.length.0;
        running.last_submission = at;
        running.pacer.submitted(request);
        self.flows.submitted(index);
        running.last_recorded = request.at;
        let limits = running.job.limits;
        running.exhausted |= limits.requests.is_some_and(|most| running.submitted >= most)
            || limits.bytes.is_some_and(|most| running.submitted_bytes >= most);
        let fits = request.offset.0 + request.length.0 <= drive.user_bytes() && (request.length.0 > 0 || request.op == Op::Flush);
        if !fits {
            self.rejected += 1;
            return false;
        }
        running.in_flight += 1;
        let in_flight = drive.commands_in_flight();
        if running.job.pacing == Pacing::Open {
            self.backlog.note(at, in_flight);
        }
        let command = HostCommand::new(request.op, index as u32, request.offset, request.length);
        // A workload of several jobs numbers its streams as its jobs.
        let queue = if self.queues > 1 { (u32::from(request.stream) % self.queues) as u16 } else { 0 };
        let is_durable = running.job.fua || request.flags.contains(Flags::FUA) && request.op == Op::Write;
        let fua = if is_durable { CommandFlags::FUA } else { CommandFlags::NONE };
        let flags = if running.measured { fua } else { fua.unmeasured() };
        self.left_out += u64::from(!running.measured);
        let command = HostCommand { queue, flags, stream: request.stream, ..command };
        if request.flags.contains(Flags::FLUSH_BEFORE) && request.op == Op::Write {
            self.flush_before(index, command, origin, at, drive);
        } else {
            self.send(command, origin, at, drive);
        }
        true
    }

    /// Submits a command of a job, which is counted as in flight.
    #[inline(always)]
    fn send(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) {
        let in_flight = drive.commands_in_flight();
        let count = match &mut self.host {
            None => {
                drive.submit_of(command, origin, at);
                1
            }
            Some(host) => host.submit(command, origin, at, drive).max(1),
        };
        self.max_in_flight = self.max_in_flight.max(in_flight + u64::from(count));
    }

    /// Submits a flush, and holds a write back until the flush is complete.
    #[cold]
    fn flush_before(&mut self, index: usize, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) {
        let HostCommand { queue, stream, tag, flags, .. } = command;
        let flags = CommandFlags::NONE.measured_like(flags);
        let flush = HostCommand { queue, stream, flags, ..HostCommand::flush(tag) };
        let id = match &mut self.host {
            None => drive.submit_of(flush, origin, at),
            Some(host) => host.flush(flush, origin, at, drive),
        };
        self.max_in_flight = self.max_in_flight.max(drive.commands_in_flight());
        self.jobs[index].held.push((Some(id), Held { command, origin }));
    }

    /// Returns the job's next request without taking it. Each new batch is first hinted to the drive, for prefetching.
    #[inline]
    fn peek(&mut self, index: usize, drive: &mut Drive) -> Result<Option<Request>, Problems> {
        let running = &mut self.jobs[index];
        if running.exhausted {
            return Ok(None);
        }
        if running.next == running.batch.len() {
            let elapsed = drive.now().since(running.started.unwrap_or_default());
            running.fetch(elapsed)?;
            if running.exhausted {
                return Ok(None);
            }
            self.hints.clear();
            let unit = drive.unit();
            self.hints.extend(running.batch.iter().map(|request| Lpn(unit.whole(request.offset.0) as u32)));
            let writes = running.batch.iter().any(|request| request.op == Op::Write);
            drive.hint(&self.hints, writes);
        }
        Ok(Some(self.jobs[index].batch[self.jobs[index].next]))
    }
}

fn time_stands_still(at: SimTime) -> Problems {
    let complaint = format!(
        "its commands take no time: more than {COMMANDS_AT_ONCE} were served at {} ns, and the end of `runtime` does not come nearer. Reads of units \
         that were never written, and trims, cost nothing: expected data to work on (--precondition fill), ftl.unmapped_read = \"flash\", \
         or a host interface that takes time",
        at.0
    );
    Problems::one("workload", complaint)
}

/// Returns the earlier of two instants, where there are two.
fn earlier(known: Option<SimTime>, at: Option<SimTime>) -> Option<SimTime> {
    known.into_iter().chain(at).min()
}
