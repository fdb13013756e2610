//! The contract of a mode policy: its needs, its calls, and what passes in them.

use super::backup::Backup;
use super::exchange::{Candidate, Collection, Dispatch, Facts, Idle, Moving, Needs, Placed, UnitRead};
use super::future::Future;
use super::view::View;
use kit::{Archive, Archived, BlockId, Lpn, ModeId, Nanos, Ppn, Problem, Reason, SimTime};
use std::sync::Arc;

impl Needs {
    /// Returns the number of write frontiers on each die for relocated data of each write mode.
    pub fn relocation_frontiers(&self) -> usize {
        usize::from(self.relocation_streams.max(1))
    }

    /// Returns true if the policy chooses the stream of each unit that a collection moves.
    pub fn splits_relocations(&self) -> bool {
        self.relocation_streams > 1
    }

    /// Returns true if relocated data of the first write mode has a write frontier of its own, on a drive that does or
    /// does not separate relocations.
    pub fn keeps_relocations_apart(&self, separate_relocations: bool) -> bool {
        separate_relocations || self.relocations_apart || self.splits_relocations()
    }
}

/// Write mode and stream chosen for a host write, or for relocated data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WriteAnswer {
    /// The write mode.
    pub mode: ModeId,
    /// Stream whose frontier takes the data: of the host (below [`Needs::host_streams`]), or of relocations in the mode
    /// (below [`Needs::relocation_streams`]).
    pub stream: u8,
}

/// Answer of a policy before a die chooses its next operation.
#[derive(Clone, Copy, Debug)]
pub enum BeforeDispatch {
    /// A page that must be moved before any other operation starts.
    Urgent(PageMove),
    /// A page to be moved at once, beside other operations.
    Forced(PageMove),
    /// No move now. The instant, if there is one, at which the policy is to be called again even if nothing happens
    /// until then.
    Nothing(Option<SimTime>),
}

/// Makes the three calls that [`ModePolicy::before_dispatch`] combines, one after another.
pub(super) fn before_dispatch_default<P: ModePolicy + ?Sized>(policy: &mut P, view: &mut View<'_>) -> BeforeDispatch {
    match policy.urgent(view) {
        Some(page_move) => BeforeDispatch::Urgent(page_move),
        None => match policy.forced(view) {
            Some(page_move) => BeforeDispatch::Forced(page_move),
            None => BeforeDispatch::Nothing(policy.wake_at(view)),
        },
    }
}

/// Page that a policy requests to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageMove {
    /// Unit that is moved.
    pub lpn: Lpn,
    /// Present place of its data. Nothing is moved if the map points elsewhere by the time of the move.
    pub from: Ppn,
    /// Reason of the move.
    pub reason: Reason,
    /// The write mode of the new copy.
    pub mode: ModeId,
    /// Instant from which the move goes before host writes. Absent: the move always yields to host writes.
    pub deadline: Option<SimTime>,
}

/// Data that a policy requests to be moved in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// One page.
    Page(PageMove),
    /// All valid data of a block, in the mode that [`ModePolicy::relocate`] chooses; an open block is closed first.
    Block {
        /// Block that is emptied.
        block: BlockId,
        /// Reason of the move.
        reason: Reason,
    },
}

/// Answer of a policy to a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAnswer {
    /// Read mode. Absent: the read mode that belongs to the write mode of the block.
    pub mode: Option<ModeId>,
}

/// Call of a policy that was interrupted and did not return. The policy is not called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Name of the call.
    pub call: &'static str,
    /// Calls that the policy did not answer, this one among them: the default policy answered them.
    pub defaulted: u64,
}

/// Blocks of each die that a policy keeps filled with host data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCache {
    /// Host stream that writes them.
    pub stream: u8,
    /// Their write mode, which is not that of old data.
    pub mode: ModeId,
    /// Their number on each die.
    pub blocks: u32,
}

/// Contract of a mode policy.
pub trait ModePolicy: Send {
    /// Returns the services that the policy needs from the engine. The answer never changes.
    fn needs(&self) -> Needs;

    /// Chooses the write mode and the stream of a host write that is being dispatched. Called again for the same data
    /// if a free block had to be erased further first.
    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer;

    /// Notifies the policy that all data of a write request of the host is in the write queue or the write buffer.
    fn requested(&mut self, _view: &mut View<'_>) {}

    /// Notifies the policy that a block has been taken to be emptied.
    fn collecting(&mut self, _collection: &Collection, _view: &mut View<'_>) {}

    /// Chooses the write mode of data that a collection moves.
    fn relocate(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> ModeId;

    /// Chooses the write mode and the stream of one unit that a collection has read. Called instead of
    /// [`ModePolicy::relocate`] where [`Needs::relocation_streams`] is above one, and possibly again for the same unit.
    /// Units with the same answer are programmed together. What is left at the end of a block and fills no program is
    /// programmed together, too, with the answer that most of its units have, so that splitting adds no padding. By
    /// default stream 0 in the mode of [`ModePolicy::relocate`].
    fn relocate_to(&mut self, moving: &Moving<'_>, view: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.relocate(moving, view), stream: 0 }
    }

    /// Notifies the policy that a unit has been bound to a place. The map points there already; the program has not
    /// completed.
    fn placed(&mut self, _placed: &Placed, _view: &mut View<'_>) {}

    /// Notifies the policy that a unit was trimmed.
    fn dropped(&mut self, _lpn: Lpn, _view: &mut View<'_>) {}

    /// Chooses the read mode of a unit in flash whose read is being issued. Called for the reads of collections only
    /// where the scope of a mode is the page.
    fn read_issued(&mut self, _read: &UnitRead, _view: &mut View<'_>) -> ReadAnswer {
        ReadAnswer::default()
    }

    /// Notifies the policy that a host read of a unit in flash is done.
    fn read_done(&mut self, _lpn: Lpn, _ppn: Ppn, _view: &mut View<'_>) {}

    /// Returns the priority of collecting a block: the candidate with the highest score is collected. Called for the
    /// closed block with the fewest valid units of each write mode. Within a mode, scores must not fall as valid units
    /// become fewer.
    fn score(&self, _candidate: &Candidate, _view: &mut View<'_>) -> f64 {
        0.0
    }

    /// Chooses the erase mode of an emptied block.
    fn erase(&mut self, _collection: &Collection, _view: &mut View<'_>) -> ModeId {
        ModeId(0)
    }

    /// Chooses the list of free blocks from which a block is taken for a write mode that can be programmed on blocks of
    /// `level` and deeper (lower) levels. There is a list for each level, and `lists` counts their blocks on the die;
    /// the chosen list must not be empty. A block of a shallower (higher) level is first [erased
    /// further](ModePolicy::lazy_erase). By default the nearest level that is deep enough, otherwise the nearest that
    /// is not. Called only where erase modes have several levels.
    fn free_list(&mut self, level: u8, lists: &[u32], _view: &mut View<'_>) -> u8 {
        nearest_free_level(level, lists)
    }

    /// Chooses the erase mode of a lazy erase: a free block must be erased further before it can be used at `level`.
    /// The mode must be of that level or deeper. Afterwards the block counts as erased in that mode in the first place,
    /// its wear included. By default the first erase mode of that level, otherwise the first of the table.
    fn lazy_erase(&mut self, _block: BlockId, level: u8, view: &mut View<'_>) -> ModeId {
        view.space.erase_mode_of(level)
    }

    /// Notifies the policy that a free block has become a write frontier.
    fn opened(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// Notifies the policy that a block has been erased: it is free again or, if worn out, retired.
    fn erased(&mut self, _block: BlockId, _view: &mut View<'_>) {}

    /// Returns a page that must be moved before any other operation starts. While there is one, or one is being moved,
    /// no other operation is started except a collection that makes space for the move.
    fn urgent(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Returns a page to be moved at once, beside other operations.
    fn forced(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Returns the policy's request before a die chooses its next operation: [`ModePolicy::urgent`],
    /// [`ModePolicy::forced`] and [`ModePolicy::wake_at`] in one call.
    fn before_dispatch(&mut self, view: &mut View<'_>) -> BeforeDispatch {
        before_dispatch_default(self, view)
    }

    /// Returns data to be moved in idle time. Called when a die has nothing else to do, at once or after
    /// [`Needs::idle_after`].
    fn idle(&mut self, _idle: &Idle, _view: &mut View<'_>) -> Option<Relocation> {
        None
    }

    /// Returns a page that must be moved before a graceful shutdown can end.
    fn drain(&mut self, _view: &mut View<'_>) -> Option<PageMove> {
        None
    }

    /// Notifies the policy of a power failure: volatile state that it cannot save in time is lost. Declared state is
    /// saved with the map, however long that takes. By default the policy loses nothing and reports nothing.
    fn power_fails(&mut self, _view: &mut View<'_>) -> Option<Backup> {
        None
    }

    /// Returns the instant at which [`ModePolicy::urgent`] and [`ModePolicy::forced`] are to be called again even if
    /// nothing happens until then.
    fn wake_at(&self, _view: &mut View<'_>) -> Option<SimTime> {
        None
    }

    /// Notifies the policy that it now runs a drive that may hold data, so that it can derive its state from the store.
    /// Its declared state is as it left it if the drive was loaded and had been run by the same policy, and zero
    /// otherwise.
    fn adopt(&mut self, _view: &mut View<'_>) {}

    /// Returns the age, counted from its first program, at which a block written in this mode is moved whole, for
    /// [`Reason::Reprogram`], as soon as its die has nothing else to do; none: never. Retention limits are kept in any
    /// case. The answer never changes.
    fn move_after(&self, _mode: ModeId) -> Option<Nanos> {
        None
    }

    /// Returns the write modes that the policy chooses among. Where policies are combined, a policy decides on the
    /// properties in which these modes differ, such as the retention limit or the level of erase. By default the mode
    /// of old data alone, so that the policy decides on nothing. The answer never changes.
    fn uses(&self) -> Vec<ModeId> {
        vec![self.mode_of_old_data()]
    }

    /// Returns the write modes that one block may hold together: those in use, that of old data, and `normal`, in which
    /// the engine writes what could not be moved in time. None unless the scope of a mode is the page.
    fn mixes(&self, facts: &Facts) -> Option<Vec<ModeId>> {
        self.needs().page_scope.then(|| {
            let mut modes = self.uses();
            modes.extend([self.mode_of_old_data(), facts.normal_mode()]);
            modes
        })
    }

    /// Returns the write mode in which data older than the run counts as written.
    fn mode_of_old_data(&self) -> ModeId;

    /// Returns the blocks that the policy keeps filled with host data in a mode of their own however long the host
    /// writes without a pause; a steady state then begins with them. None: host data is written like old data. The
    /// answer never changes.
    fn cache_under_load(&self) -> Option<HostCache> {
        None
    }

    /// Saves or loads the state that the policy keeps beside its declared state and its counters for the results. The
    /// same list of values serves both directions: `archive` reads them when the drive is saved, and fills them when
    /// the drive is loaded under the same policy, so that the run goes on exactly.
    fn state(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Returns the write mode that the declared state marks, if it does: the state of a unit is then 1 while its copy
    /// on flash is written in that mode, and 0 otherwise. For checks of a run.
    fn marked_mode(&self) -> Option<ModeId> {
        None
    }

    /// Checks the state that [`ModePolicy::state`] has loaded, and the declared state, against the drive: a saved drive
    /// may have been changed. Whatever the policy uses as an index must be checked here. `is_alone`: no other policy
    /// has a part in the mode of its data. The error names the claims that contradict each other.
    fn check(&self, _is_alone: bool, _view: &mut View<'_>) -> Archived {
        Ok(())
    }

    /// Returns true if [`ModePolicy::state`] lists everything that the policy's decisions depend on. Otherwise the
    /// policy adopts a loaded drive as it finds it.
    fn is_saved_whole(&self) -> bool {
        true
    }

    /// Returns true if the policy needs the future accesses of the workload ([`ModePolicy::set_future`]).
    fn wants_future(&self) -> bool {
        false
    }

    /// Passes the accesses of the workload that begins at `start`, as recorded in an earlier run of it.
    fn set_future(&mut self, _future: &Arc<Future>, _start: SimTime) {}

    /// Returns the policy's counters and other figures by name, for the results.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Returns the figures of [`ModePolicy::stats`] with owned names, for policies whose names are made at run time: a
    /// user's own, or those of combined policies.
    fn named_stats(&self) -> Vec<(String, f64)> {
        self.stats().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the error that keeps the policy from going on; the run then ends with it. A member of the family never
    /// fails; for other policies see [`checked`].
    fn failure(&self) -> Option<Problem> {
        None
    }

    /// Returns the call that was interrupted, by the user for instance, and did not return, if there is one. The run
    /// then ends with the results measured so far, and is not complete.
    fn interruption(&self) -> Option<Interruption> {
        None
    }
}

/// Returns the nearest level with free blocks that is deep enough, otherwise the nearest that is not.
pub(super) fn nearest_free_level(level: u8, lists: &[u32]) -> u8 {
    let has = |at: &u8| lists[usize::from(*at)] > 0;
    let deep_enough = (0..=level.min(lists.len() as u8 - 1)).rev().find(has);
    deep_enough.or_else(|| (level + 1..lists.len() as u8).find(has)).unwrap_or(level)
}
