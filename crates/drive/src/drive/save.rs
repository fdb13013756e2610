//! Saving a drive at rest and loading it: the loaded drive continues exactly, or another drive adopts the saved data.

mod check;

use super::faults::SavedFaults;
use super::{Drive, NO_MAP};
use crate::build::BUILD;
use crate::description::{Description, PreconditionMethod, StateConfig};
use controller::power_states::PowerImage;
use controller::resource::Server;
use crc32fast::Hasher;
use flash::power::ThermalImage;
use ftl::{Buffered, LoadedLayer, Translator};
use host::{ArbitrationImage, BufferImage};
use kit::archive::{read_value, unreadable, write_value};
use kit::queue::Class;
use kit::{Event, Lpn, Nanos, Rng, SimTime, Timer};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// First bytes of the file: the name and the version of the format.
const MAGIC: &[u8; 8] = b"ssdlab19";
/// The name alone, by which files of other versions are recognised.
const NAME: &[u8] = b"ssdlab";

/// Bytes between a saved drive and the contents that follow it, if they do.
pub(crate) const CONTENTS: &[u8; 8] = b"contents";

/// Complaint about a drive that is to be saved or loaded.
const NOT_SAVED: &str = "the journal of the map (ftl.journal) is in no saved drive yet";

/// Identity of a drive: everything that must be equal for a loaded drive to continue exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Description without its title and starting state, as TOML.
    description: String,
    /// Name of the policy.
    policy: String,
    /// Seed of all random streams.
    seed: u64,
}

impl Identity {
    /// Returns the identity of a drive of this description.
    pub fn of(description: &Description, policy: &str, seed: u64) -> Identity {
        let state = StateConfig {
            precondition: PreconditionMethod::None,
            load: None,
            overwrite_passes: 0,
            age: Nanos::ZERO,
            pe_cycles: 0,
            graceful_shutdown: false,
        };
        let plain = Description { title: String::new(), state, ..description.clone() };
        Identity { description: plain.to_toml(), policy: policy.to_owned(), seed }
    }
}

/// The way in which a loaded drive continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// True if the drive continues exactly where the saved drive was.
    pub exact: bool,
    /// True if the policy's state was restored; if false, the policy must adopt the drive ([`Drive::adopt`]).
    pub keeps_policy: bool,
    /// Reasons why the drive does not continue exactly, and other remarks, one line each.
    pub notes: Vec<String>,
    /// True if the drive's contents follow in the file; they have not been read.
    pub has_contents: bool,
}

/// Header of the file.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Build of the engine that saved the file.
    build: String,
    identity: Identity,
    /// True if the policy's state is in the file completely.
    whole: bool,
}

/// State of the router, the host stage and the flash stage at rest.
#[derive(Serialize, Deserialize)]
struct Image {
    now: SimTime,
    last_turn_was_read: Vec<bool>,
    buffer: BufferImage,
    queued_write_requests: u64,
    queued_write_pages: u64,
    last_host_activity: SimTime,
    channel_idle_since: Vec<SimTime>,
    idle_since: SimTime,
    no_space: bool,
    hold: bool,
    /// Pending timers, in the order in which they fire.
    timers: Vec<(SimTime, Timer)>,
    random_times: Option<Rng>,
    /// Erase count and read levels of the last successful read of each block, where they are kept.
    read_levels: Vec<(u32, u8)>,
    /// The instant at which each server of the controller is free: messages for which nobody waits may occupy it.
    servers_free_at: Vec<SimTime>,
    arbitration: Option<ArbitrationImage>,
    /// Power state, where the drive has states.
    power_state: Option<PowerImage>,
    /// Temperature, where it is computed.
    thermal: Option<ThermalImage>,
    /// Faults, where the drive has any.
    faults: Option<SavedFaults>,
}

impl Drive {
    /// Returns why the drive cannot be saved, or loaded; `None` if it can.
    fn unsaved(&self) -> Option<&'static str> {
        let Translator::PageMap(map) = &self.ftl else { return None };
        if map.has_journal() {
            return Some(NOT_SAVED);
        }
        map.protects_pairs().then_some("the protection of paired pages (ftl.paired_pages) is in no saved drive yet")
    }

    /// Writes the state of a drive at rest ([`Drive::rest`]), followed by a checksum.
    pub fn save(&mut self, identity: &Identity, to: &mut dyn Write) -> std::io::Result<()> {
        if let Some(why) = self.unsaved() {
            return Err(std::io::Error::other(format!("{why}: expected a drive without")));
        }
        if self.must_repeat() {
            return Err(std::io::Error::other("programs have failed, and the drive has no room left to repeat them"));
        }
        let mut summed = Summed { inner: to, sum: Hasher::new() };
        summed.write_all(MAGIC)?;
        let whole = self.policy_is_saved_whole();
        write_value(&Header { build: BUILD.to_owned(), identity: identity.clone(), whole }, &mut summed)?;
        write_value(&self.image(), &mut summed)?;
        self.ftl.save(self.now, &mut summed)?;
        let Summed { inner, sum } = summed;
        inner.write_all(&sum.finalize().to_le_bytes())?;
        inner.flush()
    }

    /// Returns the image of the drive. The pattern names every field, so that a new one is not forgotten.
    fn image(&self) -> Image {
        let Drive {
            now,
            out,
            flash,
            // Without commands in flight, the write buffer and the turns of the submission queues.
            host,
            // Saved in a section of its own.
            ftl: _,
            // At rest, nothing is under way in it.
            controller,
            // Determined by the description.
            user_bytes: _,
            addresses_end: _,
            fetches_at_once: _,
            hints_reads: _,
            posts_completions: _,
            checks_commands: _,
            looks_up_pages: _,
            unit: _,
            reads_in_part: _,
            reassembles: _,
            power_states,
            // Saved with those of the flash stage and of the link.
            faults: _,
            // Follow from the faults and the health of the FTL.
            is_read_only: _,
            judges: _,
            is_watched: _,
            // Over or empty at rest.
            is_held_up: _,
            restorations: _,
            spare_parts: _,
            // Belong to the run, not to the drive.
            hangs: _,
            withholds: _,
            pulling: _,
            in_instant: _,
            steps_left: _,
            recording: _,
            statistics: _,
        } = self;
        let signals = &out.signals;
        let timers = out.events.in_order().into_iter().filter_map(|(at, _, event)| match event {
            Event::Timer(Timer::DieFails(_) | Timer::Hang) => None,
            Event::Timer(timer) => Some((at, timer)),
            // The stale end of a phase whose operation was suspended: it has no effect any more.
            _ => None,
        });
        Image {
            now: *now,
            last_turn_was_read: flash.turns().collect(),
            buffer: host.buffer().image(),
            queued_write_requests: signals.queued_write_requests,
            queued_write_pages: signals.queued_write_pages,
            last_host_activity: signals.last_host_activity,
            channel_idle_since: signals.channel_idle_since.clone(),
            idle_since: signals.idle_since,
            no_space: signals.no_space,
            hold: signals.hold,
            timers: timers.collect(),
            random_times: flash.random_times().cloned(),
            read_levels: controller.reads().map_or(Vec::new(), |reads| reads.calibrated().to_vec()),
            servers_free_at: controller.servers().iter().map(Server::free_at).collect(),
            arbitration: host.arbitration_image(),
            power_state: power_states.as_ref().map(|states| states.image()),
            thermal: flash.thermal_image(*now),
            faults: self.saved_faults(),
        }
    }

    /// Loads a saved drive of the same geometry into this one, which is new. With the same identity, the drive
    /// continues exactly; with another seed alone, it continues with other random numbers. Otherwise, or if the
    /// policy's state was not saved completely, it adopts the saved data. The error says what is wrong with the file.
    pub fn load(&mut self, identity: &Identity, from: &mut dyn Read) -> Result<Resumed, String> {
        self.load_as(identity, false, from)
    }

    /// Loads a saved drive of the same geometry and adopts its state in any case, whatever its identity: for a drive
    /// whose state is to be changed.
    pub fn adopt_saved(&mut self, identity: &Identity, from: &mut dyn Read) -> Result<Resumed, String> {
        self.load_as(identity, true, from)
    }

    /// Returns the number of units in the write buffer.
    pub(crate) fn buffered_units(&self) -> u64 {
        self.host.buffer().used()
    }

    fn load_as(&mut self, identity: &Identity, adopt: bool, from: &mut dyn Read) -> Result<Resumed, String> {
        if let Some(why) = self.unsaved() {
            return Err(format!("{why}: expected a description without"));
        }
        let mut summed = Summed { inner: from, sum: Hasher::new() };
        let mut magic = [0u8; 8];
        summed.read_exact(&mut magic).map_err(unreadable)?;
        if &magic != MAGIC {
            return Err(other_version(magic));
        }
        let header: Header = read_value(&mut summed).map_err(unreadable)?;
        let image: Image = read_value(&mut summed).map_err(unreadable)?;
        let state = self.ftl.load(&mut summed)?;
        let Summed { inner, sum } = summed;
        let mut known = [0u8; 4];
        inner.read_exact(&mut known).map_err(unreadable)?;
        if u32::from_le_bytes(known) != sum.finalize() {
            return Err("its checksum does not agree with its content: it has been changed since it was saved".to_owned());
        }
        let has_contents = contents_follow(inner)?;
        let mut notes = Vec::new();
        if header.build != BUILD {
            notes.push(format!(
                "it was saved by another build of ssdlab ({}; this is {BUILD}): it goes on as that one would have only if the engine is the same",
                header.build
            ));
        }
        let differs = why_not_exact(&header, identity, self.policy_is_saved_whole());
        let exact = differs.is_none() && !adopt;
        image.check_clock()?;
        let keeps_policy = match state {
            LoadedLayer::PageMap(state) => {
                let same_policy = header.identity.policy == identity.policy;
                // With another seed, the same drive continues with other random numbers.
                let same_but_seed =
                    Identity { seed: header.identity.seed, ..identity.clone() } == header.identity && header.whole;
                let keeps_policy = exact || !adopt && same_but_seed && self.policy_is_saved_whole();
                if keeps_policy {
                    self.check_image(&image, state.waiting(), state.queued(), state.flush_until())?;
                    self.ftl.page_map_mut().expect(NO_MAP).restore(*state, exact, image.now)?;
                    self.restore(image, exact)?;
                } else {
                    let waiting = self.ftl.page_map_mut().expect(NO_MAP).take_over(*state, same_policy, image.now)?;
                    self.take_over(&waiting);
                }
                keeps_policy
            }
            LoadedLayer::Other(state) => {
                if !exact {
                    let why = differs.unwrap_or_else(|| "its state is to be changed".to_owned());
                    return Err(format!("{why}; a drive without a map of its data goes on only as it was saved"));
                }
                self.ftl.restore(&state, image.now)?;
                let Buffered { units, requests, flush_until } = self.ftl.buffered();
                self.check_image(&image, units.iter().copied(), (units.len() as u64, requests), flush_until)?;
                self.restore(image, exact)?;
                true
            }
        };
        self.note_health();
        notes.extend(differs);
        Ok(Resumed { exact, keeps_policy, notes, has_contents })
    }

    /// Returns true if a saved drive contains all state on which its decisions depend.
    fn policy_is_saved_whole(&self) -> bool {
        self.ftl.map().is_none_or(|map| map.policy().is_saved_whole())
    }

    /// Restores the state of a saved drive of the same description; `same_seed`: its random streams as well.
    fn restore(&mut self, image: Image, same_seed: bool) -> Result<(), String> {
        let fits = self.restore_power_state(image.power_state.as_ref(), image.now)
            && self.flash.restore_thermal(image.thermal.as_ref(), image.now);
        let signals = &mut self.out.signals;
        let fits = fits
            && image.last_turn_was_read.len() == self.flash.turns().count()
            && image.channel_idle_since.len() == signals.channel_idle_since.len()
            && self.controller.restore_servers(&image.servers_free_at, image.now)
            && self.host.restore_buffer(&image.buffer)
            && self.host.restore_arbitration(image.arbitration.as_ref())
            && self.controller.restore_read_levels(&image.read_levels);
        if !fits {
            let what = "its dies, its controller, its queues, its write buffer or its power are not those of this drive";
            return Err(what.to_owned());
        }
        self.now = image.now;
        (signals.last_host_activity, signals.idle_since) = (image.last_host_activity, image.idle_since);
        signals.channel_idle_since = image.channel_idle_since;
        signals.queued_write_requests = image.queued_write_requests;
        signals.queued_write_pages = image.queued_write_pages;
        signals.buffered_pages = self.host.buffer().used();
        (signals.no_space, signals.hold) = (image.no_space, image.hold);
        signals.update_work(image.now);
        self.check_watermarks();
        self.flash.restore_turns(&image.last_turn_was_read);
        if same_seed {
            self.flash.restore_random_times(image.random_times);
        }
        if !self.restore_faults(image.faults, same_seed) {
            return Err("its faults are not those of this drive".to_owned());
        }
        for &(at, timer) in &image.timers {
            self.out.events.push(at, Class::Timer, Event::Timer(timer));
        }
        self.check_restored(&image.timers)
    }

    /// Takes over the units that waited in the write buffer of the adopted drive: into this drive's buffer, or, if
    /// there is none or they do not fit, directly into flash, without simulated time. The clock starts anew at zero.
    fn take_over(&mut self, waiting: &[Lpn]) {
        if !self.host.buffer().has_space_for(waiting) {
            self.ftl.page_map_mut().expect(NO_MAP).program_untimed(waiting, self.now);
            return;
        }
        let units = self.host.adopt_buffer_units(waiting, self.now, &mut self.out.signals);
        self.ftl.page_map_mut().expect(NO_MAP).accept_adopted(&units, self.now, &mut self.out);
        if !units.is_empty() {
            self.host.unit_waits(self.now, &mut self.out.events);
        }
        self.check_watermarks();
    }
}

/// Returns the reason why a drive does not continue exactly from a file; none if it does.
fn why_not_exact(header: &Header, identity: &Identity, policy_is_whole: bool) -> Option<String> {
    let saved = &header.identity;
    let adopted = "the drive adopts the saved state and does not go on exactly";
    if saved.policy != identity.policy {
        return Some(format!(
            "it was saved under the policy `{}`, and is loaded under `{}`: {adopted}",
            saved.policy, identity.policy
        ));
    }
    if let Some(line) = first_difference(&saved.description, &identity.description) {
        return Some(format!("its description differs ({line}): {adopted}"));
    }
    if !(header.whole && policy_is_whole) {
        return Some(format!("what the policy `{}` keeps of its own is not in the file: {adopted}", identity.policy));
    }
    (saved.seed != identity.seed).then(|| {
        let (before, now) = (saved.seed, identity.seed);
        format!("it was saved with seed {before}, and is loaded with seed {now}: the drive goes on with other random numbers")
    })
}

/// Returns the first line in which two descriptions differ, as saved and as loaded.
fn first_difference(saved: &str, loaded: &str) -> Option<String> {
    if saved == loaded {
        return None;
    }
    let pairs =
        saved.lines().map(Some).chain(std::iter::repeat(None)).zip(loaded.lines().map(Some).chain(std::iter::repeat(None)));
    let (before, now) = pairs.into_iter().find(|(before, now)| before != now)?;
    let shown = |line: Option<&str>| line.map_or_else(|| "nothing".to_owned(), |line| format!("`{}`", line.trim()));
    Some(format!("saved with {}, loaded with {}", shown(before), shown(now)))
}

/// Returns true if contents follow a saved drive; false if its file ends there.
fn contents_follow(from: &mut dyn Read) -> Result<bool, String> {
    let mut found = Vec::new();
    from.take(CONTENTS.len() as u64).read_to_end(&mut found).map_err(unreadable)?;
    if found.is_empty() || found == CONTENTS {
        return Ok(!found.is_empty());
    }
    Err("it has extra data after its end: it has been changed since it was saved".to_owned())
}

fn other_version(magic: [u8; 8]) -> String {
    match magic.strip_prefix(NAME).map(String::from_utf8_lossy) {
        Some(version) => {
            let expected = String::from_utf8_lossy(&MAGIC[NAME.len()..]);
            format!(
                "saved in version {version} of the form, by another version of ssdlab: expected version {expected}; save the drive again"
            )
        }
        None => "not a saved drive".to_owned(),
    }
}

/// Reader or writer that keeps a checksum of all bytes passing through it.
pub(crate) struct Summed<'a, T: ?Sized> {
    pub inner: &'a mut T,
    pub sum: Hasher,
}

impl<T: Write + ?Sized> Write for Summed<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read + ?Sized> Read for Summed<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }
}
