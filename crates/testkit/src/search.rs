//! Search for defects: random cases of all kinds, each replayed by one command, and made smaller once it fails.

use crate::Violation;
use crate::case::{Beside, Detail, cuts, faults, overrides, parts_of, run_of, text_with};
use drive::Description;
use ftl::{Defect, PairedPages};
use kit::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Kind of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Faults of the flash, losses of power, saved drives.
    Faults,
    /// The same, with errors of the host link, slow operations and hangs of the controller.
    HostFaults,
    /// Losses of power at random instants.
    Cuts,
    /// Losses of power of a drive with a detailed controller.
    CutsOfController,
    /// Losses of power of a drive with capacitors.
    HeldUp,
    /// A loss of power after every step.
    EveryCut,
    /// A loss of power after every step of a drive with faults.
    EveryCutWithFaults,
    /// Saves and rests of a drive without faults.
    Plain,
    /// Losses of power of a drive with a journal of its map.
    Journal,
    /// A loss of power after every step of such a drive.
    EveryCutWithJournal,
    /// Parity across dies.
    Parity,
    /// Parity across dies, and faults of the flash.
    ParityFaults,
    /// Losses of power of a drive with parity across dies.
    CutsWithParity,
    /// A loss of power after every step of such a drive.
    EveryCutWithParity,
    /// Other translation layers.
    Layers,
    /// Other translation layers of drives whose reads can fail.
    LayersWithErrors,
    /// Other translation layers under a detailed controller.
    LayersWithController,
    /// Reads that can fail.
    Errors,
    /// A detailed controller.
    Controller,
    /// Currents, and caps on them.
    Power,
    /// Mapping units larger than 4 KiB.
    Units,
    /// Frontiers in each group of planes, collection in the foreground, summaries of blocks.
    Planes,
    /// Losses of power that destroy earlier pages of a wordline, which nothing protects.
    UnprotectedPairs,
    /// The same with copies of earlier pages.
    PairsWithBackup,
    /// A loss of power after every step of a drive with copies.
    EveryCutWithBackup,
    /// Losses of power of a drive with a journal of its map and parity across dies.
    JournalParity,
    /// A loss of power after every step of such a drive.
    EveryCutWithJournalParity,
    /// Faults of the flash, and losses of power, of a drive with a journal of its map.
    JournalFaults,
    /// A loss of power after every step of a drive with a journal of its map and faults.
    EveryCutWithJournalFaults,
    /// Faults of the flash, and losses of power, of a drive with a journal of its map and parity across dies.
    JournalParityFaults,
    /// A loss of power after every step of such a drive.
    EveryCutWithJournalParityFaults,
    /// A loss of power after every step of a drive with a journal of its map and faults, of which the host trims and
    /// flushes much.
    EveryCutBetweenFlushes,
    /// Faults of the flash, the link and the controller, and losses of power, of a drive with a journal of its map.
    JournalHostFaults,
}

/// Course of a case.
enum Course {
    /// Saves and rests.
    Plain,
    /// Faults, losses of power, saves.
    Faults,
    /// Three losses of power at random instants.
    Cuts,
    /// The same, with capacitors.
    HeldUp,
    /// A loss of power after every step.
    EveryCut,
    /// The same, with trims and flushes.
    BetweenFlushes,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 33] = [
        Kind::Faults,
        Kind::HostFaults,
        Kind::Cuts,
        Kind::CutsOfController,
        Kind::HeldUp,
        Kind::EveryCut,
        Kind::EveryCutWithFaults,
        Kind::Plain,
        Kind::Parity,
        Kind::ParityFaults,
        Kind::Layers,
        Kind::Journal,
        Kind::EveryCutWithJournal,
        Kind::CutsWithParity,
        Kind::EveryCutWithParity,
        Kind::LayersWithErrors,
        Kind::LayersWithController,
        Kind::Errors,
        Kind::Controller,
        Kind::Power,
        Kind::Units,
        Kind::Planes,
        Kind::UnprotectedPairs,
        Kind::PairsWithBackup,
        Kind::EveryCutWithBackup,
        Kind::JournalParity,
        Kind::EveryCutWithJournalParity,
        Kind::JournalFaults,
        Kind::EveryCutWithJournalFaults,
        Kind::JournalParityFaults,
        Kind::EveryCutWithJournalParityFaults,
        Kind::EveryCutBetweenFlushes,
        Kind::JournalHostFaults,
    ];

    /// Returns the kind of this name, as [`Debug`](std::fmt::Debug) writes it.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == name)
    }

    /// Returns the parts of the drives of its cases, and what happens to them.
    fn parts(self) -> (Detail, Course) {
        match self {
            Kind::Faults => (Detail::Faults, Course::Faults),
            Kind::HostFaults => (Detail::HostFaults, Course::Faults),
            Kind::ParityFaults => (Detail::ParityFaults, Course::Faults),
            Kind::Cuts => (Detail::None, Course::Cuts),
            Kind::CutsOfController => (Detail::Controller, Course::Cuts),
            Kind::Journal => (Detail::Journal, Course::Cuts),
            Kind::CutsWithParity => (Detail::Parity, Course::Cuts),
            Kind::HeldUp => (Detail::None, Course::HeldUp),
            Kind::EveryCut => (Detail::None, Course::EveryCut),
            Kind::EveryCutWithFaults => (Detail::Faults, Course::EveryCut),
            Kind::EveryCutWithJournal => (Detail::Journal, Course::EveryCut),
            Kind::EveryCutWithParity => (Detail::Parity, Course::EveryCut),
            Kind::Plain => (Detail::None, Course::Plain),
            Kind::Parity => (Detail::Parity, Course::Plain),
            Kind::Layers => (Detail::Layer(Beside::Nothing), Course::Plain),
            Kind::LayersWithErrors => (Detail::Layer(Beside::Errors), Course::Plain),
            Kind::LayersWithController => (Detail::Layer(Beside::Controller), Course::Plain),
            Kind::Errors => (Detail::Errors, Course::Plain),
            Kind::Controller => (Detail::Controller, Course::Plain),
            Kind::Power => (Detail::Power, Course::Plain),
            Kind::Units => (Detail::Units, Course::Plain),
            Kind::Planes => (Detail::Planes, Course::Plain),
            Kind::UnprotectedPairs => (Detail::Paired(PairedPages::Unprotected), Course::Cuts),
            Kind::PairsWithBackup => (Detail::Paired(PairedPages::Backup), Course::Cuts),
            Kind::EveryCutWithBackup => (Detail::Paired(PairedPages::Backup), Course::EveryCut),
            Kind::JournalParity => (Detail::JournalParity, Course::Cuts),
            Kind::EveryCutWithJournalParity => (Detail::JournalParity, Course::EveryCut),
            Kind::JournalFaults => (Detail::JournalFaults, Course::Faults),
            Kind::JournalHostFaults => (Detail::JournalHostFaults, Course::Faults),
            Kind::EveryCutWithJournalFaults => (Detail::JournalFaults, Course::EveryCut),
            Kind::JournalParityFaults => (Detail::JournalParityFaults, Course::Faults),
            Kind::EveryCutWithJournalParityFaults => (Detail::JournalParityFaults, Course::EveryCut),
            Kind::EveryCutBetweenFlushes => (Detail::JournalFaults, Course::BetweenFlushes),
        }
    }

    /// Returns the parts of the drives of its cases.
    fn detail(self) -> Detail {
        self.parts().0
    }

    /// Returns true if its cases are examined after every step.
    pub fn is_examined_in_steps(self) -> bool {
        matches!(self.parts().1, Course::EveryCut | Course::BetweenFlushes)
    }

    /// Returns the number of commands of a case.
    fn commands(self) -> u32 {
        match self.parts().1 {
            Course::EveryCut => 40,
            Course::BetweenFlushes => 80,
            Course::Plain | Course::Faults | Course::Cuts | Course::HeldUp => 400,
        }
    }
}

/// A random case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Kind of the case.
    pub kind: Kind,
    /// Seed from which all of it follows.
    pub seed: u64,
    /// Approximate number of commands.
    pub commands: u32,
    /// Numbers of the overrides of its description that are left out.
    pub left_out: Vec<usize>,
    /// Defect that is planted in the handling of faults.
    pub defect: Option<Defect>,
}

impl Case {
    /// Returns the case of a seed.
    pub fn new(kind: Kind, seed: u64) -> Case {
        Case { kind, seed, commands: kind.commands(), left_out: Vec::new(), defect: None }
    }

    /// Returns the overrides of its description.
    fn sets(&self) -> Vec<String> {
        let all = overrides(self.seed, self.kind.detail()).into_iter().enumerate();
        all.filter(|(index, _)| !self.left_out.contains(index)).map(|(_, set)| set).collect()
    }

    /// Returns the description of its drive as TOML, or why it is refused.
    pub fn description(&self) -> String {
        let description = Description::read("random.toml", &text_with(self.seed, self.kind.detail()), &self.sets());
        description.map_or_else(|problems| problems.to_string(), |description| description.to_toml())
    }

    /// Runs the case. Returns the number of commands that completed; `None` if its description is refused. The error
    /// says what was wrong; a panic counts, too.
    pub fn run(&self) -> Result<Option<u64>, String> {
        let (detail, course) = self.kind.parts();
        let Ok(mut description) = Description::read("random.toml", &text_with(self.seed, detail), &self.sets()) else {
            return Ok(None);
        };
        if detail.has_faults() {
            description.faults.get_or_insert_default();
        }
        let (seed, commands) = (self.seed, self.commands);
        let run = || -> Result<Option<u64>, Violation> {
            Ok(match course {
                Course::Faults => Some(faults::run_of(&description, seed, commands, self.defect)?.0.served),
                Course::Cuts => Some(cuts::run_of(&description, seed, commands, parts_of(commands, 4) - 1)?.0.served),
                Course::HeldUp => {
                    let passed = cuts::run_held_up(seed, commands, (Nanos::SECOND, seed.is_multiple_of(2)))?;
                    passed.map(|(passed, _)| passed.served)
                }
                Course::EveryCut => Some(cuts::every_cut_of_case(&description, seed, commands, self.defect)?.served),
                Course::BetweenFlushes => {
                    Some(cuts::every_cut_between_flushes(&description, seed, commands, self.defect)?.served)
                }
                Course::Plain => run_of(&description, (seed, detail), commands, None)?.map(|passed| passed.served),
            })
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(was_run)) => Ok(was_run),
            Ok(Err(Violation(why))) => Err(why),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
            }
        }
    }

    /// Makes a failing case smaller: with as few commands, and as few overrides of its description, as it still fails
    /// with.
    #[must_use]
    pub fn shrunk(&self) -> Case {
        let mut case = self.clone();
        let fails = |case: &Case| case.run().is_err();
        // The number of commands decides which commands are made, so that fewer of them need not fail: halves, then
        // single steps.
        let mut step = case.commands / 2;
        while step > 0 {
            let fewer = Case { commands: case.commands.saturating_sub(step).max(1), ..case.clone() };
            if fewer.commands < case.commands && fails(&fewer) { case = fewer } else { step /= 2 }
        }
        for index in 0..overrides(self.seed, self.kind.detail()).len() {
            let mut simpler = case.clone();
            simpler.left_out.push(index);
            if fails(&simpler) {
                case = simpler;
            }
        }
        case
    }

    /// Returns the command that runs the case again.
    pub fn command(&self) -> String {
        let left_out: Vec<String> = self.left_out.iter().map(usize::to_string).collect();
        let defect = self.defect.map_or(String::new(), |defect| format!("SSDLAB_DEFECT={defect:?} "));
        format!(
            "SSDLAB_KIND={:?} SSDLAB_SEED={} SSDLAB_COMMANDS={} SSDLAB_LEFT_OUT={} {defect}cargo test -p drive --test it -- search::one_case --ignored --nocapture",
            self.kind,
            self.seed,
            self.commands,
            left_out.join(",")
        )
    }
}
