//! Faults of the flash on their way to the FTL and the host: programs, erases and reads that fail, and dies that are
//! lost.

use super::Drive;
use crate::description::Description;
use crate::fault_script::FaultScript;
use controller::link_errors::LinkState;
use flash::faults::{FaultState, Faults, RecoveryConfig};
use flash::slow::SlowState;
use ftl::{Health, Translator};
use kit::queue::Class;
use kit::{DieId, Ended, Event, OperationKind, Outcome, Owner, Ppn, Timer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The faults of a drive, and the reads that have failed.
pub(super) struct DriveFaults {
    pub faults: Faults,
    /// The way in which the host deals with a controller that hangs.
    pub recovery: RecoveryConfig,
    /// Slots of reads that have failed and are still on their way through the controller.
    failed_reads: BTreeSet<u32>,
}

impl DriveFaults {
    /// Returns the faults of a description, if it has any.
    pub fn of(description: &Description, seed: u64) -> Option<Box<DriveFaults>> {
        let config = description.faults.as_ref()?;
        let faults = Faults::new(config, description.flash.rated_pe_cycles, &description.geometry(), seed);
        Some(Box::new(DriveFaults { faults, recovery: config.recovery, failed_reads: BTreeSet::new() }))
    }
}

/// Faults of a drive at rest, as they are saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedFaults {
    flash: FaultState,
    slow: Option<SlowState>,
    link: Option<LinkState>,
}

impl Drive {
    /// Gives the drive the faults of a script from now on, beside those that the description draws. The loss of power
    /// is the caller's.
    ///
    /// # Panics
    /// If the description has no section `[faults]`, or the script needs a host interface that it does not have.
    pub fn script_faults(&mut self, script: &FaultScript) {
        let faults = self.faults.as_mut().expect("the description has faults");
        faults.faults.script(&script.operations);
        self.flash.slow_mut().expect("the description has faults").script(&script.slow);
        if !script.link_errors.is_empty() {
            self.controller.link_errors_mut().expect("the host interface has a link").script(&script.link_errors);
        }
        if !script.hangs.is_empty() {
            self.script_hangs(&script.hangs);
        }
        for &(after, die) in &script.losses {
            self.out.events.push(self.now + after, Class::Timer, Event::Timer(Timer::DieFails(die)));
        }
        self.note_health();
    }

    /// Returns the number of scripted faults that have not happened, without the loss of power, of a run with `script`.
    pub(crate) fn faults_pending(&self, script: &FaultScript) -> usize {
        let Some(DriveFaults { faults, .. }) = self.faults.as_deref() else { return 0 };
        let slow = self.flash.slow().map_or(0, |slow| slow.pending());
        let link = self.controller.link_errors().map_or(0, |link| link.pending());
        let dies = script.losses.iter().filter(|(_, die)| !faults.is_lost(*die)).count();
        faults.pending() + slow + link + dies + self.hangs_pending()
    }

    /// Loses a die now: every operation on it fails from now on.
    ///
    /// # Panics
    /// If the description has no section `[faults]`.
    pub fn lose_die(&mut self, die: DieId) {
        self.faults.as_mut().expect("the description has faults").faults.lose(die);
        if let Some(map) = self.ftl.page_map_mut() {
            map.lose_die(die, self.now, &mut self.out);
        }
        self.note_health();
    }

    /// Returns the failures that the drive has seen; `None` under a layer that does not handle them.
    pub fn health(&self) -> Option<&Health> {
        match &self.ftl {
            Translator::PageMap(map) => Some(map.health()),
            Translator::Other(_) => None,
        }
    }

    /// Returns the number of sets of blocks that have lost a block with their die and are not rebuilt; `None` without
    /// parity across dies.
    pub fn degraded_sets(&self) -> Option<u64> {
        match &self.ftl {
            Translator::PageMap(map) => map.degraded_sets(),
            Translator::Other(_) => None,
        }
    }

    /// Decides whether an operation that has ended has failed.
    #[inline(never)]
    pub(super) fn judge(&mut self, ended: Ended) -> Ended {
        let Some(DriveFaults { faults, failed_reads, .. }) = self.faults.as_deref_mut() else { return ended };
        let operation = &self.out.operations[ended.slot];
        // A repeated read ends as the first one did.
        let reads_nothing = operation.kind == OperationKind::Read && !operation.reads_data();
        if matches!(operation.owner, Owner::Retry(_) | Owner::Scan) || reads_nothing {
            return ended;
        }
        let medium = self.ftl.medium();
        let wear = || medium.wear_thousandths(medium.geometry.block_of(operation.first));
        let outcome = faults.outcome(operation, wear);
        if outcome == Outcome::ReadFailed {
            failed_reads.insert(ended.slot);
            return ended;
        }
        Ended { outcome, ..ended }
    }

    /// Handles the end of an operation on a drive with faults whose reads take no way through the controller.
    #[inline(never)]
    pub(super) fn done_with_faults(&mut self, ended: Ended) {
        if self.out.operations[ended.slot].kind == OperationKind::Read {
            return self.read_ends(ended.slot);
        }
        self.operation_done_apart(ended);
    }

    /// Returns true if programs that have failed are still to be repeated: such a drive cannot be saved.
    #[inline]
    pub fn must_repeat(&self) -> bool {
        self.faults.is_some() && matches!(&self.ftl, Translator::PageMap(map) if map.must_repeat())
    }

    /// Takes a read out of those that have failed; returns true if it is one of them.
    pub(super) fn has_failed(&mut self, slot: u32) -> bool {
        self.faults.as_mut().is_some_and(|faults| faults.failed_reads.remove(&slot))
    }

    /// Returns true if a read has failed and is not done.
    #[inline]
    pub(super) fn some_read_failed(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| !faults.failed_reads.is_empty())
    }

    /// Handles the end of a read whose data has no errors that are left: whether it has failed as a whole, or delivers
    /// data that is lost.
    pub(super) fn read_ends(&mut self, slot: u32) {
        if !self.has_failed(slot) {
            self.deliver_lost(slot);
            return self.correction_done(slot);
        }
        self.restore_or_lose_all(slot);
    }

    /// Handles a read that has failed as a whole, whatever of its data could have been corrected.
    pub(super) fn restore_or_lose_all(&mut self, slot: u32) {
        let operation = self.out.operations[slot];
        let places: Vec<Ppn> = match self.ftl.places_of(&operation) {
            Some(places) => places.to_vec(),
            None => (operation.first.0..operation.first.0 + operation.units).map(Ppn).collect(),
        };
        self.restore_or_lose(slot, places);
    }

    /// Goes on with the faults of a saved drive; `same_seed`: with their random numbers, too. Returns false if they are
    /// those of another drive.
    pub(super) fn restore_faults(&mut self, saved: Option<SavedFaults>, same_seed: bool) -> bool {
        let (own, saved) = match (&mut self.faults, saved) {
            (Some(own), Some(saved)) => (own, saved),
            (own, saved) => return own.is_none() && saved.is_none(),
        };
        let (slow, link) = (self.flash.slow_mut(), self.controller.link_errors_mut());
        let fits = slow.is_some() == saved.slow.is_some() && link.is_some() == saved.link.is_some();
        if let (Some(own), Some(saved)) = (slow, saved.slow) {
            own.go_on(saved, same_seed);
        }
        if let (Some(own), Some(saved)) = (link, saved.link) {
            own.go_on(saved, same_seed);
        }
        fits && own.faults.go_on(saved.flash, same_seed)
    }

    /// Returns the faults of a drive at rest, for saving.
    pub(super) fn saved_faults(&self) -> Option<SavedFaults> {
        self.faults.as_ref().map(|faults| SavedFaults {
            flash: faults.faults.state().clone(),
            slow: self.flash.slow().map(|slow| slow.state().clone()),
            link: self.controller.link_errors().map(|link| link.state().clone()),
        })
    }

    /// Goes on with the faults of a drive that has lost power, whose place this one takes.
    pub(super) fn keep_faults(&mut self, of: Option<&DriveFaults>) {
        if let (Some(own), Some(of)) = (&mut self.faults, of) {
            own.faults.go_on(of.faults.state().clone(), true);
        }
    }

    /// Takes account of what a failure, a script or a starting state has changed: a drive that has become read-only
    /// refuses writes, and the ends of operations are judged once one may fail, or deliver lost data.
    #[cold]
    pub(super) fn note_health(&mut self) {
        self.is_read_only = self.ftl.page_map_mut().is_some_and(|map| map.health().is_read_only);
        self.checks_commands |= self.is_read_only;
        let may_fail = |faults: &DriveFaults| faults.faults.may_occur() || self.ftl.has_lost();
        self.judges = self.faults.as_deref().is_some_and(may_fail);
        self.is_watched = self.steps_left.is_some() || self.has_failures();
    }
}
