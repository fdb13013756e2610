//! Random drives that lose power without warning, at random instants or at every one.

use super::faults::has_no_room;
use super::{Detail, Passed, detailed, parts_of};
use crate::Violation;
use crate::commands::{Commands, Mix, Wanted};
use crate::oracle::{Check, Oracle, ensure};
use crate::rig::{Rig, built};
use drive::{Description, Drive, PowerLoss, PowerLossConfig};
use ftl::{Defect, Forgery, PairedPages};
use host::BufferPolicy;
use kit::{Energy, Nanos, Power, Rng};

/// Findings over losses of power.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuts {
    /// Losses of power.
    pub losses: u64,
    /// Those that interrupted a program, an erase, and those after which a block was given up.
    pub torn: u64,
    /// Losses that interrupted an erase.
    pub half_erased: u64,
    /// Losses after which a block was given up.
    pub given_up: u64,
    /// Units of write buffers that were lost.
    pub volatile_lost: u64,
    /// Units whose newest copy was lost with an earlier page of a wordline.
    pub lost: u64,
    /// Commands that completed.
    pub served: u64,
}

impl Cuts {
    fn add(&mut self, loss: &PowerLoss) {
        self.losses += 1;
        self.torn += u64::from(loss.torn_pages > 0);
        self.half_erased += u64::from(!loss.half_erased.is_empty());
        self.given_up += u64::from(!loss.given_up.is_empty());
        self.volatile_lost += loss.volatile_lost;
        self.lost += loss.durable_lost;
    }

    /// Adds the findings of another case.
    pub fn merge(&mut self, other: &Cuts) {
        self.losses += other.losses;
        self.torn += other.torn;
        self.half_erased += other.half_erased;
        self.given_up += other.given_up;
        self.volatile_lost += other.volatile_lost;
        self.lost += other.lost;
        self.served += other.served;
    }
}

/// Returns the commands of a part of a case, with some flushes and FUA.
fn stream(description: &Description, seed: u64, part: u32, rng: &mut Rng) -> Commands {
    let mix = Mix { fua: 0.05, ..Mix::random(rng, description.flash.program_time.of(0).0) };
    Commands::new(mix, description.user_bytes(), part << 24, Rng::stream(seed, &format!("testkit.commands.{part}")))
}

/// Submits the next command of a closed loop once there is room for it.
fn submit_next(
    rig: &mut Rig<'_>,
    stream: &mut Commands,
    step: &mut dyn FnMut(&mut Rig<'_>) -> Result<(), Violation>,
) -> Result<(), Violation> {
    while rig.outstanding() >= stream.mix().depth {
        step(rig)?;
    }
    let at = rig.drive.now() + Nanos(stream.delay_ns());
    let Wanted { command, units } = stream.next_for(&mut rig.drive);
    rig.submit_for(command, units, at);
    if stream.chance(0.3) {
        step(rig)?;
    }
    Ok(())
}

/// Runs the case of a seed with about `commands` commands, in which the drive loses power `losses` times, each time at
/// a random instant; `None` if its description is refused.
pub fn run(seed: u64, detail: Detail, commands: u32, losses: u32) -> Result<Option<(Passed, Cuts)>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    run_of(&description, seed, commands, losses).map(Some)
}

/// Runs the case of a seed like [`run`], on a drive with a write buffer whose capacitors hold it up for `hold_up`, and
/// that trusts them if `trusted`; `None` if its description is refused, or it has no such buffer.
pub fn run_held_up(seed: u64, commands: u32, (hold_up, trusted): (Nanos, bool)) -> Result<Option<(Passed, Cuts)>, Violation> {
    let Some(mut description) = detailed(seed, Detail::None) else { return Ok(None) };
    if description.buffer.policy != BufferPolicy::WriteBack {
        return Ok(None);
    }
    // One watt.
    let power = Power(1_000_000_000);
    description.power_loss = Some(PowerLossConfig { energy: Energy(hold_up.0 * power.0), power, trusted });
    run_of(&description, seed, commands, parts_of(commands, 4) - 1).map(Some)
}

/// Runs the case of a seed on a drive of this description like [`run`].
pub fn run_of(description: &Description, seed: u64, commands: u32, losses: u32) -> Result<(Passed, Cuts), Violation> {
    let mut rig = Rig::losing_power(description, seed)?;
    let (mut rng, mut cuts) = (Rng::stream(seed, "testkit.cuts"), Cuts::default());
    for part in 0..=losses {
        let mut stream = stream(description, seed, part, &mut rng);
        for _ in 0..commands / (losses + 1) {
            if rig.is_long() {
                break;
            }
            submit_next(&mut rig, &mut stream, &mut |rig| rig.step().map(drop))?;
        }
        if part < losses {
            // Some steps into an instant.
            let steps = rng.below(40);
            for _ in 0..steps {
                if rig.drive.next_event().is_some() {
                    rig.step()?;
                }
            }
            let down = Nanos(1 << rng.below(40));
            cuts.add(&rig.lose_power(description, seed, down)?);
        }
    }
    rig.drain()?;
    rig.finish()?;
    Ok((Passed::of(rig), cuts))
}

/// Runs the case of a seed with about `commands` commands, and examines after every step what becomes of the drive if
/// it loses power then; `None` if its description is refused.
pub fn every_cut(seed: u64, detail: Detail, commands: u32) -> Result<Option<Cuts>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    every_cut_of_case(&description, seed, commands, None).map(Some)
}

/// Runs the case of a seed like [`every_cut`] on a drive that leaves out its copies of paired pages.
pub fn every_cut_without_copies(seed: u64, commands: u32) -> Result<Option<Cuts>, Violation> {
    let Some(description) = detailed(seed, Detail::Paired(PairedPages::Backup)) else { return Ok(None) };
    let mut commands_of = stream(&description, seed, 0, &mut Rng::stream(seed, "testkit.cuts"));
    examine(&description, seed, &mut commands_of, commands, |drive| drive.ftl_mut().skip_paired()).map(Some)
}

/// Examines the case of a seed on a drive of this description like [`every_cut`], perhaps with a defect planted in it.
pub fn every_cut_of_case(description: &Description, seed: u64, commands: u32, defect: Option<Defect>) -> Result<Cuts, Violation> {
    let mut stream = stream(description, seed, 0, &mut Rng::stream(seed, "testkit.cuts"));
    examine(description, seed, &mut stream, commands, |drive| {
        defect.into_iter().for_each(|defect| drive.ftl_mut().plant(defect));
    })
}

/// Examines a drive of this description after every step of about `commands` commands: reads, writes, some with FUA,
/// trims and flushes in a part of the drive.
pub fn every_cut_of(description: &Description, seed: u64, commands: u32) -> Result<Cuts, Violation> {
    let mix = Mix {
        reads: 0.2,
        trims: 0.05,
        flushes: 0.05,
        fua: 0.1,
        hot: 0.3,
        aligned: 0.8,
        longest: 8,
        footprint: 0.5,
        depth: 8,
        gaps: 0.0,
        ..Mix::random(&mut Rng::stream(seed, "testkit.cuts"), description.flash.program_time.of(0).0)
    };
    let mut stream = Commands::new(mix, description.user_bytes(), 0, Rng::stream(seed, "testkit.commands.0"));
    examine(description, seed, &mut stream, commands, |_| {})
}

/// Examines the case of a seed like [`every_cut_of_case`], with writes, trims and flushes alone, so that a journal of
/// the map is written all the time.
pub fn every_cut_between_flushes(
    description: &Description,
    seed: u64,
    commands: u32,
    defect: Option<Defect>,
) -> Result<Cuts, Violation> {
    let random = Mix::random(&mut Rng::stream(seed, "testkit.cuts"), description.flash.program_time.of(0).0);
    let mix = Mix { reads: 0.0, trims: 0.2, flushes: 0.25, fua: 0.3, hot: 0.5, footprint: 0.2, depth: 12, gaps: 0.0, ..random };
    let mut stream = Commands::new(mix, description.user_bytes(), 0, Rng::stream(seed, "testkit.commands.0"));
    let plant = |drive: &mut Drive| defect.into_iter().for_each(|defect| drive.ftl_mut().plant(defect));
    examine(description, seed, &mut stream, commands, plant)
}

/// Checks what becomes of a drive of this description and seed if it loses power now, perhaps with a defect planted in
/// its recovery.
pub(super) fn after_cut(
    (description, seed): (&Description, u64),
    drive: &Drive,
    oracle: &Oracle,
    forgery: Option<Forgery>,
    cuts: &mut Cuts,
) -> Check {
    let anew = built(description, seed, None);
    let recovered = match forgery {
        None => drive.after_power_loss(anew, Nanos(1)).map(Some),
        Some(forgery) => drive.after_forged_loss(anew, forgery),
    };
    let Some((other, loss)) = recovered.expect("a small drive fits into memory") else { return Ok(()) };
    cuts.add(&loss);
    oracle.check_lost(&other, &loss)?;
    oracle.check_recovered(&other, &loss)
}

/// Examines a drive of this description, in which `plant` may plant a defect, after every step of a stream of commands.
fn examine(
    description: &Description,
    seed: u64,
    stream: &mut Commands,
    commands: u32,
    plant: impl FnOnce(&mut Drive),
) -> Result<Cuts, Violation> {
    let (mut rig, mut cuts) = (Rig::losing_power(description, seed)?, Cuts::default());
    plant(&mut rig.drive);
    let dies = u64::from(description.geometry().die_count);
    // Of a drive with a journal and faults, one of two loses a die among its commands.
    let loses_die = description.ftl.journal.is_some() && description.faults.is_some() && dies > 1 && seed.is_multiple_of(2);
    let mut watch = |drive: &Drive, oracle: &Oracle| after_cut((description, seed), drive, oracle, None, &mut cuts);
    let mut serve = || -> Result<(), Violation> {
        for command in 0..commands {
            if loses_die && command == commands / 2 {
                rig.drive.lose_die(kit::DieId((seed / 2 % dies) as u32));
            }
            submit_next(&mut rig, stream, &mut |rig| rig.advance_in_steps(&mut watch).map(drop))?;
        }
        while rig.outstanding() > 0 {
            rig.advance_in_steps(&mut watch)?;
        }
        Ok(())
    };
    match serve() {
        Err(why) if !(why.is_stall() && has_no_room(&rig.drive)) => Err(why),
        _ => Ok(Cuts { served: rig.served(), ..cuts }),
    }
}

/// Runs the case of a seed with about `commands` commands on a drive with a journal of its map, and compares after
/// every step what it recovers to with what a search of the whole flash finds: the same map. Returns the number of
/// recoveries, and the reads of both kinds; `None` if the description is refused.
pub fn both_ways(seed: u64, detail: Detail, commands: u32) -> Result<Option<[u64; 3]>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    let mut stream = stream(&description, seed, 0, &mut Rng::stream(seed, "testkit.cuts"));
    let (mut rig, mut counts) = (Rig::losing_power(&description, seed)?, [0; 3]);
    let mut watch = |drive: &Drive, oracle: &Oracle| {
        let anew = || built(&description, seed, None);
        let (short, loss) = drive.after_power_loss(anew(), Nanos(1)).expect("a small drive fits into memory");
        let (whole, searched) = drive.after_whole_search(anew(), Nanos(1)).expect("a small drive fits into memory");
        oracle.check_recovered(&whole, &searched)?;
        let units = (0..drive.map().user_units() as u32).map(kit::Lpn);
        let other = units.map(|lpn| (lpn, short.map().place_of(lpn), whole.map().place_of(lpn))).find(|(_, a, b)| a != b);
        ensure(other.is_none(), || format!("unit, place by the journal, and by the search: {other:?}"))?;
        let [short_sets, whole_sets] = [&short, &whole].map(|drive| drive.degraded_sets());
        ensure(short_sets == whole_sets, || format!("degraded sets: {short_sets:?} and {whole_sets:?}"))?;
        let states = |drive: &Drive| {
            let blocks = (0..drive.medium().geometry.block_count).map(kit::BlockId);
            blocks.map(|block| (drive.medium().block(block).state(), drive.medium().block(block).valid)).collect::<Vec<_>>()
        };
        ensure(states(&short) == states(&whole), || "the states of the blocks are others than after a search".to_owned())?;
        for (count, more) in counts.iter_mut().zip([1, loss.recovery_reads, searched.recovery_reads]) {
            *count += more;
        }
        Ok(())
    };
    for _ in 0..commands {
        match submit_next(&mut rig, &mut stream, &mut |rig| rig.advance_in_steps(&mut watch).map(drop)) {
            Err(why) if why.is_stall() && has_no_room(&rig.drive) => break,
            served => served?,
        };
    }
    Ok(Some(counts))
}

/// Runs the case of a seed with about `commands` commands, and examines after every step whether a defect that is
/// planted in the recovery is seen. Returns the numbers of recoveries that it changed, and of those in which it was
/// seen by the oracle, and by the count of the drive itself; `None` if the description is refused.
pub fn forged(seed: u64, detail: Detail, commands: u32, forgery: Forgery) -> Result<Option<[u64; 3]>, Violation> {
    let Some(description) = detailed(seed, detail) else { return Ok(None) };
    let mut rig = Rig::losing_power(&description, seed)?;
    let (mut rng, mut counts) = (Rng::stream(seed, "testkit.cuts"), [0; 3]);
    let mut stream = stream(&description, seed, 0, &mut rng);
    let mut watch = |drive: &Drive, oracle: &Oracle| {
        let anew = built(&description, seed, None);
        if let Some((other, loss)) = drive.after_forged_loss(anew, forgery).expect("a small drive fits into memory") {
            counts[0] += 1;
            counts[1] += u64::from(oracle.check_recovered(&other, &loss).is_err());
            counts[2] += u64::from(loss.durable_lost > 0);
        }
        Ok(())
    };
    for _ in 0..commands {
        submit_next(&mut rig, &mut stream, &mut |rig| rig.advance_in_steps(&mut watch).map(drop))?;
    }
    Ok(Some(counts))
}
