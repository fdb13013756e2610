//! All sequences of a few commands on a drive of a few blocks, each examined for a loss of power after every step.

use super::cuts::{Cuts, after_cut};
use crate::Violation;
use crate::rig::Rig;
use drive::Description;
use ftl::Forgery;
use kit::{Bytes, CommandFlags, HostCommand, Op};

/// One of the things that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A command for a unit; it is in flight beside those before.
    Command(Op, u64, CommandFlags),
    /// The drive handles the next instant.
    Instant,
    /// The drive completes all that is in flight.
    Completions,
}

const NONE: CommandFlags = CommandFlags::NONE;

/// All of them: two units, so that commands meet at one of them, and go by each other.
const ALL: [Next; 8] = [
    Next::Command(Op::Write, 0, NONE),
    Next::Command(Op::Write, 1, NONE),
    Next::Command(Op::Write, 0, CommandFlags::FUA),
    Next::Command(Op::Read, 0, NONE),
    Next::Command(Op::Trim, 0, NONE),
    Next::Command(Op::Flush, 0, NONE),
    Next::Instant,
    Next::Completions,
];

/// Runs every sequence of at most `length` steps on the drive of a description, which begins in its starting state
/// each time, and lets power go after every step of the last command and of what is left in flight then. With a
/// forgery, the recovery has that defect. Returns the number of sequences and the findings; the error names the
/// sequence.
pub fn every_sequence(description: &Description, length: u32, forgery: Option<Forgery>) -> Result<(u64, Cuts), Violation> {
    let (mut count, mut cuts) = (0, Cuts::default());
    for length in 1..=length {
        for index in 0..(ALL.len() as u64).pow(length) {
            let sequence: Vec<Next> = (0..length).map(|place| ALL[(index >> (3 * place)) as usize % ALL.len()]).collect();
            if sequence.last() != Some(&Next::Completions) {
                let found = run(description, &sequence, forgery);
                cuts.merge(&found.map_err(|why| Violation(format!("{sequence:?}: {}", why.0)))?);
                count += 1;
            }
        }
    }
    Ok((count, cuts))
}

/// Runs one sequence.
fn run(description: &Description, sequence: &[Next], forgery: Option<Forgery>) -> Result<Cuts, Violation> {
    let (mut rig, mut cuts) = (Rig::losing_power(description, 1)?, Cuts::default());
    let unit = description.geometry().unit.bytes();
    for (tag, next) in (0..).zip(sequence) {
        match *next {
            Next::Command(op, lpn, flags) => {
                let (offset, length) = if op == Op::Flush { (0, 0) } else { (lpn * unit, unit) };
                let command = HostCommand { flags, ..HostCommand::new(op, tag, Bytes(offset), Bytes(length)) };
                rig.submit(command, rig.drive.now());
            }
            Next::Instant if rig.outstanding() > 0 => drop(rig.step()?),
            Next::Completions => rig.drain()?,
            Next::Instant => {}
        }
    }
    while rig.outstanding() > 0 {
        rig.advance_in_steps(&mut |drive, oracle| after_cut((description, 1), drive, oracle, forgery, &mut cuts))?;
    }
    Ok(cuts)
}
