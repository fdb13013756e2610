//! A random test case: a drive, commands, and rests, saves or power failures between parts of the commands, all from
//! one seed.

pub mod cuts;
pub mod faults;
mod layers;
pub mod sequences;

use crate::Violation;
use crate::commands::{Commands, Mix, Wanted};
use crate::describe::{
    controller, describe, errors, faults as faults_of, host_faults, journal, map_cache, paired, parity, planes, power,
};
use crate::oracle::Counts;
use crate::rig::{MakePolicy, Rig, Tamper};
use drive::{Description, Drive};
use ftl::PairedPages;
use kit::history::Digest;
use kit::{Bytes, CommandFlags, HostCommand, Op, Rng, ZoneAction};

/// Tag of the flush that empties the buffer between two parts of a case. The tags of random commands never reach it.
const LAST_TAG: u32 = u32::MAX;

/// Transition of a drive between two parts of a case in which it is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pause {
    /// The drive is saved; a new drive loads the file and continues.
    #[default]
    Reload,
    /// The drive is brought to rest, and continues itself.
    Rest,
}

/// Result of a case without a violation.
pub struct Passed {
    /// Counts of the oracle since the drive was last loaded from a file, or since the beginning.
    pub counts: Counts,
    /// Hash of the completions: tags and times, in order.
    pub history: u64,
    /// Digest of the physical history since the last pause, or since the beginning.
    pub digest: Digest,
    /// Number of pauses.
    pub pauses: u32,
    /// Number of commands that completed.
    pub served: u64,
    /// The drive at the end.
    pub drive: Drive,
}

impl Passed {
    /// Returns the result of a case that has come to its end.
    fn of(mut rig: Rig<'_>) -> Passed {
        let (history, digest, served) = (rig.history(), rig.drive.history().close(), rig.served());
        Passed { counts: rig.oracle.counts.clone(), history, digest, pauses: 0, served, drive: rig.drive }
    }
}

/// Parts of a random drive beside those that every case has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// None: an ideal or a plain host interface, and reads that do not fail.
    #[default]
    None,
    /// Reads that can fail.
    Errors,
    /// A detailed controller; the reads of most drives can fail.
    Controller,
    /// Mapping units of more than 4 KiB; many of the drives have a detailed controller, or reads that can fail.
    Units,
    /// Frontiers in each group of planes, collection in the foreground, summaries of blocks; many of the drives have a
    /// detailed controller, or reads that can fail.
    Planes,
    /// Currents of the flash; most drives have a cap on their power or suspension windows, many of them with reads that
    /// can fail or a detailed controller.
    Power,
    /// Programs and erases that fail, and bad blocks; many of the drives have a detailed controller, or reads that can
    /// fail.
    Faults,
    /// The same, with errors of the host link, slow operations and hangs of the controller.
    HostFaults,
    /// Parity across dies; many of the drives have a detailed controller, or reads that can fail.
    Parity,
    /// The same, with programs and erases that fail, bad blocks and lost dies.
    ParityFaults,
    /// A journal of the map; many of the drives have a detailed controller, or reads that can fail.
    Journal,
    /// Reads through the cache registers of the dies; many of the drives have a detailed controller, or reads that can
    /// fail.
    CacheRead,
    /// Paired pages, in one of the ways to treat them; many of the drives have a detailed controller, or reads that can
    /// fail.
    Paired(PairedPages),
    /// Another translation layer than the page map, or the page map with a record of its firmware.
    Layer(Beside),
    /// A journal of the map and parity across dies; many of the drives have a detailed controller, or reads that can
    /// fail.
    JournalParity,
    /// A journal of the map, and programs and erases that fail, bad blocks and lost dies.
    JournalFaults,
    /// All of these.
    JournalParityFaults,
    /// A journal of the map, faults of the flash, errors of the host link, slow operations and hangs of the controller.
    JournalHostFaults,
}

impl Detail {
    /// Returns true if programs and erases of its drives fail.
    pub fn has_faults(self) -> bool {
        use Detail::{Faults, HostFaults, JournalFaults, JournalHostFaults, JournalParityFaults, ParityFaults};
        matches!(self, Faults | HostFaults | ParityFaults | JournalFaults | JournalHostFaults | JournalParityFaults)
    }
}

/// Parts of a random drive beside its translation layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beside {
    /// None.
    #[default]
    Nothing,
    /// Reads that can fail.
    Errors,
    /// A detailed controller.
    Controller,
}

pub use layers::{layer_of, replay_of};

/// Returns the description of a seed, if it is accepted.
pub fn description(seed: u64) -> Option<Description> {
    detailed(seed, Detail::None)
}

/// Returns the description of a seed with these parts, if it is accepted.
pub fn detailed(seed: u64, detail: Detail) -> Option<Description> {
    Description::read("random.toml", &text_with(seed, detail), &overrides(seed, detail)).ok()
}

/// Returns the text of a seed's description.
pub fn text(seed: u64) -> String {
    describe(&mut Rng::stream(seed, "testkit.description"))
}

/// Returns the text of the description of a seed's drive with these parts.
pub fn text_with(seed: u64, detail: Detail) -> String {
    match detail {
        Detail::Layer(beside) => layers::text(seed, beside),
        _ => text(seed),
    }
}

/// Draws what a drive has beside its own parts: nothing, reads that can fail, or a detailed controller.
fn beside_flash(rng: &mut Rng) -> Detail {
    [Detail::None, Detail::Errors, Detail::Controller][rng.below(3) as usize]
}

/// Returns the overrides by which a seed's drive has these parts.
pub fn overrides(seed: u64, detail: Detail) -> Vec<String> {
    match detail {
        Detail::None => Vec::new(),
        Detail::Units => overrides_of_units(seed),
        Detail::Planes => beside(seed, "testkit.planes", planes),
        Detail::Errors => overrides_of_errors(seed),
        Detail::Faults => {
            let mut rng = Rng::stream(seed, "testkit.faults");
            let beside = beside_flash(&mut rng);
            overrides(seed, beside).into_iter().chain(faults_of(&mut rng)).collect()
        }
        Detail::HostFaults => {
            let mut rng = Rng::stream(seed, "testkit.host_faults");
            overrides(seed, Detail::Faults).into_iter().chain(host_faults(&mut rng)).collect()
        }
        Detail::Parity => beside(seed, "testkit.parity", |rng, text, sets| parity(rng, text, (sets, &[]))),
        Detail::ParityFaults => beside(seed, "testkit.parity", |rng, text, sets| {
            let faults = faults_of(rng);
            let more = parity(rng, text, (sets, &faults));
            [faults, more].concat()
        }),
        Detail::Journal => beside(seed, "testkit.journal", journal),
        Detail::JournalParity => with_journal(seed, Detail::Parity),
        Detail::JournalFaults => with_journal(seed, Detail::Faults),
        Detail::JournalParityFaults => with_journal(seed, Detail::ParityFaults),
        Detail::JournalHostFaults => with_journal(seed, Detail::HostFaults),
        Detail::CacheRead => overrides_of_cache(seed),
        Detail::Paired(kind) => overrides_of_paired(seed, kind),
        Detail::Layer(beside) => layers::overrides(seed, beside),
        Detail::Power => {
            let mut rng = Rng::stream(seed, "testkit.power");
            let beside = beside_flash(&mut rng);
            let (text, sets) = (text(seed), overrides(seed, beside));
            let read = |sets: &[String]| Description::read("random.toml", &text, sets);
            // A description that is refused needs no currents.
            let Ok(mut whole) = read(&sets) else { return sets };
            let mut sets = sets;
            if rng.chance(0.8) {
                // With long retention limits, a drive may be as slow as its cap makes it. Some policies need short
                // ones.
                let modes = whole.flash.write_modes.iter().zip(0..).filter(|(mode, _)| mode.retention.is_some());
                let long = modes.map(|(_, index)| format!("flash.write_mode[{index}].retention=10y"));
                let long = [sets.clone(), long.collect()].concat();
                if let Ok(other) = read(&long) {
                    (sets, whole) = (long, other);
                }
            }
            sets.extend(power(&mut rng, &whole));
            sets
        }
        Detail::Controller => {
            let mut rng = Rng::stream(seed, "testkit.controller");
            let mut sets = controller(&mut rng);
            if rng.chance(0.7) {
                sets.extend(overrides_of_errors(seed));
            }
            let whole = Description::read("random.toml", &text(seed), &sets);
            if let (Ok(whole), true) = (whole, rng.chance(0.35)) {
                let with_cache = [sets.clone(), map_cache(&mut rng, &whole)].concat();
                // Not every drive has space for its map.
                if Description::read("random.toml", &text(seed), &with_cache).is_ok() {
                    return with_cache;
                }
            }
            sets
        }
    }
}

/// Returns the overrides by which a seed's drive has mapping units of more than 4 KiB.
fn overrides_of_units(seed: u64) -> Vec<String> {
    let mut rng = Rng::stream(seed, "testkit.units");
    // The page as it is drawn, or twice the smallest one.
    let page = ["16KiB", "8KiB"].into_iter().find(|size| text(seed).contains(&format!("page_size = \"{size}\"")));
    let larger = page.is_none().then(|| "flash.page_size=8KiB".to_owned());
    let unit = page.filter(|_| rng.chance(0.5)).unwrap_or("8KiB");
    let beside = beside_flash(&mut rng);
    overrides(seed, beside).into_iter().chain(larger).chain([format!("ftl.mapping_unit={unit}")]).collect()
}

/// Returns the overrides by which the reads of a seed's drive can fail; some of these drives scrub their blocks.
fn overrides_of_errors(seed: u64) -> Vec<String> {
    let (mut rng, mut scrub) = (Rng::stream(seed, "testkit.errors"), Rng::stream(seed, "testkit.scrub"));
    let reads = [3, 20, 150][scrub.below(3) as usize];
    let scrub = scrub.chance(0.3).then(|| format!("ftl.scrub_reads={reads}"));
    errors(&mut rng, &text(seed)).into_iter().chain(scrub).collect()
}

/// Returns the overrides by which a seed's drive treats paired pages in a way.
fn overrides_of_paired(seed: u64, kind: PairedPages) -> Vec<String> {
    let sets = overrides(seed, beside_flash(&mut Rng::stream(seed, "testkit.paired")));
    let more = paired(kind, &text(seed), &sets);
    sets.into_iter().chain(more).collect()
}

/// Returns the overrides by which a seed's drive has these parts and a journal of its map.
fn with_journal(seed: u64, detail: Detail) -> Vec<String> {
    let sets = overrides(seed, detail);
    let more = journal(&mut Rng::stream(seed, "testkit.journal_beside"), &text(seed), &sets);
    sets.into_iter().chain(more).collect()
}

/// Returns the overrides by which a seed's drive reads through the cache registers of its dies, without what excludes
/// that.
fn overrides_of_cache(seed: u64) -> Vec<String> {
    let mut rng = Rng::stream(seed, "testkit.cache");
    let mut sets = overrides(seed, beside_flash(&mut rng));
    sets.retain(|set| !set.starts_with("controller.page_buffers") && !set.starts_with("ecc.retries_hold"));
    sets.push("flash.cache_read=true".to_owned());
    if rng.chance(0.6) {
        let busy = ["0ns", "1ns", "10us", "200us"][rng.below(4) as usize];
        sets.push(format!("flash.cache_busy_time={busy}"));
    }
    sets
}

/// Returns the overrides of a drive with further parts, which `more` draws: it is plain, has a detailed controller, or
/// reads that can fail.
fn beside(seed: u64, stream: &str, more: fn(&mut Rng, &str, &[String]) -> Vec<String>) -> Vec<String> {
    let mut rng = Rng::stream(seed, stream);
    let sets = overrides(seed, beside_flash(&mut rng));
    let more = more(&mut rng, &text(seed), &sets);
    sets.into_iter().chain(more).collect()
}

/// Runs the case of a seed with about `commands` commands; `None` if its description is refused.
pub fn run(seed: u64, detail: Detail, commands: u32, tamper: Option<Tamper<'_>>) -> Result<Option<Passed>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    run_of(&description, (seed, detail), commands, tamper)
}

/// Runs the case of a seed, of these parts, on a drive of `description`.
pub fn run_of(
    description: &Description,
    (seed, detail): (u64, Detail),
    commands: u32,
    tamper: Option<Tamper<'_>>,
) -> Result<Option<Passed>, Violation> {
    if let Detail::Layer(beside) = detail {
        return layers::run(description, (seed, beside), commands, tamper);
    }
    run_described(description, seed, commands, tamper).map(Some)
}

/// Runs the case of a seed under a guest policy; `None` if its description is refused, or cannot be run by that policy.
pub fn run_by(seed: u64, commands: u32, guest: MakePolicy<'_>) -> Result<Option<Passed>, Violation> {
    let Some(mut description) = description(seed) else { return Ok(None) };
    // The oracle checks the declared state of `ofwar`; it must not mistake the guest's declared state for it.
    description.policy = ftl::PolicyConfig::default();
    if !description.problems_under("guest", &*guest(&description)).0.is_empty() {
        return Ok(None);
    }
    play_all(Rig::run_by(&description, seed, None, Some(guest))?, &description, seed, commands, Pause::Reload).map(Some)
}

/// Runs the commands of a seed on a drive.
pub fn run_described(
    description: &Description,
    seed: u64,
    commands: u32,
    tamper: Option<Tamper<'_>>,
) -> Result<Passed, Violation> {
    play_all(Rig::new(description, seed, tamper)?, description, seed, commands, Pause::Reload)
}

/// Runs the case of a seed with pauses of one kind; `None` if its description is refused.
pub fn run_through(seed: u64, detail: Detail, commands: u32, pause: Pause) -> Result<Option<Passed>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    play_all(Rig::new(&description, seed, None)?, &description, seed, commands, pause).map(Some)
}

/// Saves the drive of a seed after about `commands` commands, with whatever is under way then; `None` if its
/// description is refused.
pub fn save(seed: u64, detail: Detail, commands: u32) -> Result<Option<(Description, Vec<u8>)>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    let mut rig = Rig::new(&description, seed, None)?;
    go_on(&mut rig, &description, seed, commands)?;
    rig.drain()?;
    let file = rig.save(&description, seed)?;
    Ok(Some((description, file)))
}

/// Lets a drive serve about `commands` random commands.
pub fn go_on(rig: &mut Rig<'_>, description: &Description, seed: u64, commands: u32) -> Result<(), Violation> {
    let mix = Mix::random(&mut Rng::stream(seed, "testkit.mix"), description.flash.program_time.of(0).0);
    let mut stream = Commands::new(mix, description.user_bytes(), 0, Rng::stream(seed, "testkit.commands"));
    play(rig, &mut stream, commands)
}

/// Returns the number of parts of a case: `least`, and in long cases one for every thousand commands. Tags allow 250.
pub(crate) fn parts_of(commands: u32, least: u32) -> u32 {
    (commands / 1000).clamp(least, 250)
}

/// Runs all parts of a case.
fn play_all(mut rig: Rig<'_>, description: &Description, seed: u64, commands: u32, pause: Pause) -> Result<Passed, Violation> {
    let mut pauses = 0;
    rig.drive.history().enable(false);
    let mut rng = Rng::stream(seed, "testkit.mix");
    let program_ns = description.flash.program_time.of(0).0;
    // Several parts, each with its own mix; between them the drive may be brought to rest, or saved and loaded.
    let parts = parts_of(commands, 1 + rng.below(3) as u32);
    for part in 0..parts {
        // Plain buffers see no FUA, so that the cases of their seeds stay as they are.
        let buffer = &description.buffer;
        let has_fua = buffer.flush_above.is_some() || buffer.buffers > 1;
        let mix = Mix { fua: if has_fua { 0.1 } else { 0.0 }, ..Mix::random(&mut rng, program_ns) };
        let mut stream =
            Commands::new(mix, description.user_bytes(), part << 24, Rng::stream(seed, &format!("testkit.commands.{part}")));
        play(&mut rig, &mut stream, commands / parts)?;
        if part + 1 < parts {
            pauses += u32::from(between(&mut rig, description, &mut rng, seed, pause)?);
        }
    }
    rig.drain()?;
    if rig.drive.translator().zones().is_some() {
        // Incomplete program units are padded and programmed.
        let flags = CommandFlags::zone(ZoneAction::Finish, true);
        rig.submit(HostCommand { flags, ..HostCommand::new(Op::Zone, LAST_TAG, Bytes(0), Bytes(0)) }, rig.drive.now());
        rig.drain()?;
    }
    if rng.chance(0.3) {
        let until = rig.drive.now() + kit::Nanos(rng.below(500 * program_ns));
        rig.idle(until)?;
    }
    rig.finish()?;
    Ok(Passed { pauses, ..Passed::of(rig) })
}

/// Lets a drive serve random commands.
pub(crate) fn go_on_with(rig: &mut Rig<'_>, stream: &mut Commands, commands: u32) -> Result<(), Violation> {
    play(rig, stream, commands)
}

/// Runs a closed loop with idle gaps and delayed arrivals.
fn play(rig: &mut Rig<'_>, stream: &mut Commands, commands: u32) -> Result<(), Violation> {
    for index in 0..commands {
        if rig.is_long() {
            break;
        }
        while rig.outstanding() >= stream.mix().depth {
            rig.step()?;
        }
        if let Some(gap) = stream.gap_ns() {
            rig.drain()?;
            let until = rig.drive.now() + kit::Nanos(gap);
            rig.idle(until)?;
        }
        let at = rig.drive.now() + kit::Nanos(stream.delay_ns());
        let Wanted { command, units } = stream.next_for(&mut rig.drive);
        rig.submit_for(command, units, at);
        // Without a step in between, the next command may arrive at the same instant.
        if stream.chance(0.3) {
            rig.step()?;
        }
        if index % 64 == 63 {
            rig.oracle.audit(&rig.drive, false)?;
        }
    }
    Ok(())
}

/// Chooses and makes the transition of a drive between two parts: none, bringing it to rest, a pause, or a power
/// failure. Returns true if it was a pause.
fn between(rig: &mut Rig<'_>, description: &Description, rng: &mut Rng, seed: u64, pause: Pause) -> Result<bool, Violation> {
    let choice = rng.below(5);
    if choice == 0 {
        return Ok(false);
    }
    rig.drain()?;
    if choice == 2 && rig.drive.translator().map().is_some() {
        // Power is off for 1 ns to 5 h. The write buffer is not flushed first.
        return rig.fail_power(kit::Nanos(1 << rng.below(45))).map(|_| false);
    }
    // A guest's drive is adopted rather than restored exactly: units of its buffer would get other slots, so the buffer
    // is emptied first.
    if choice == 3 || rig.is_run_by_guest() {
        rig.submit(HostCommand::flush(LAST_TAG), rig.drive.now());
        rig.drain()?;
    }
    if choice == 3 {
        // Without a map, a flush may leave work for dies that are not woken for it.
        let has_map = rig.drive.translator().map().is_some();
        return if has_map { rig.quiesce() } else { rig.rest() }.map(|()| false);
    }
    // The write buffer is not flushed, and relocations may be in progress.
    match pause {
        Pause::Reload => rig.reload(description, seed),
        Pause::Rest => rig.rest(),
    }
    .map(|()| true)
}
