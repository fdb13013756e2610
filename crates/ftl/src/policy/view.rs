//! The drive as a policy sees it during a call.

use crate::declared::{Bits, Bytes, StateShare};
use crate::map::Store;
use crate::medium::Medium;
use crate::medium::space::Space;
use crate::queue::WriteQueue;
use kit::{DieId, Lpn, Ppn, Signals, SimTime};

/// Read access to the drive for a policy, and the policy's declared state.
pub struct View<'a> {
    /// Present time.
    pub now: SimTime,
    /// Queue lengths, fill of the write buffer, busy dies.
    pub signals: &'a Signals,
    /// Validity, modes, wear and ages of blocks.
    pub medium: &'a Medium,
    pub(crate) store: &'a Store,
    pub(crate) space: &'a Space,
    pub(crate) writes: &'a WriteQueue,
    /// Bits that the policy declared for each logical unit.
    pub bits: Bits<'a>,
    /// Bytes that the policy declared for each block.
    pub block_bytes: Bytes<'a>,
}

impl View<'_> {
    /// Calls one of several combined policies with the view narrowed to its share of the declared state. The view is
    /// narrowed in place and restored afterwards: a copy would load in wide words what has just been stored in narrow
    /// ones, which stalls.
    #[inline]
    pub(crate) fn narrowed<T>(&mut self, part: StateShare, call: impl FnOnce(&mut Self) -> T) -> T {
        let whole = StateShare::of(&self.bits, &self.block_bytes);
        whole.within(part).apply(&mut self.bits, &mut self.block_bytes);
        let answer = call(self);
        whole.apply(&mut self.bits, &mut self.block_bytes);
        answer
    }

    /// Returns the number of mapping units of the user capacity.
    #[inline]
    pub fn user_units(&self) -> u64 {
        self.store.user_units
    }

    /// Returns the place of the current copy of a unit, if that is on flash and not in the write buffer.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.store.place_of(lpn)
    }

    /// Returns the unit whose data was written to a place; one beyond those of the drive if it holds none.
    #[inline]
    pub fn lpn_at(&self, ppn: Ppn) -> Lpn {
        self.store.lpn_at(ppn)
    }

    /// Returns the place of a unit's copy on flash, even while a newer copy waits in the write buffer; in that case
    /// [`View::place_of`] returns none.
    #[inline]
    pub fn copy_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        self.store.copy_on_flash(self.writes, lpn)
    }

    /// Returns the number of free blocks of a die.
    pub fn free_blocks(&self, die: DieId) -> u32 {
        self.space.free_blocks(die)
    }

    /// Returns the number of free blocks of a die for each level of their last erase.
    pub fn free_by_level(&self, die: DieId) -> Vec<u32> {
        self.space.free_by_level(die)
    }

    /// Returns the fill of the write buffer, from 0 to 1; 0 without a buffer.
    pub fn buffer_utilisation(&self) -> f64 {
        match self.signals.buffer_capacity_pages {
            0 => 0.0,
            capacity => self.signals.buffered_pages as f64 / capacity as f64,
        }
    }
}
