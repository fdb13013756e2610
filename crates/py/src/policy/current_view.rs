//! The engine's view as a Python policy sees it: lent for the duration of a call.
//!
//! A Python object may outlive every Rust borrow, so the objects here hold no reference to the engine. They look up the
//! view that is lent at the moment, and raise `RuntimeError` outside a call.

use super::names::Names;
use ftl::policy::View as EngineView;
use kit::{BlockId, ChannelId, DieId, Lpn, Ppn};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use scoped_tls_hkt::scoped_thread_local;
use std::sync::Arc;

/// The engine's view with its lifetimes erased.
trait LendsView {
    fn lend_to(&mut self, borrower: &mut dyn FnMut(&mut EngineView<'_>));
}

impl LendsView for EngineView<'_> {
    fn lend_to(&mut self, borrower: &mut dyn FnMut(&mut EngineView<'_>)) {
        borrower(self);
    }
}

scoped_thread_local!(static mut CURRENT: for<'a> &'a mut (dyn LendsView + 'a));

/// Lends a view for the duration of `call`.
pub fn lend<T>(view: &mut EngineView<'_>, call: impl FnOnce() -> T) -> T {
    CURRENT.set(view, call)
}

/// Passes the view that is lent at the moment to `then`; `RuntimeError` if there is none.
fn with_view<T>(then: impl FnOnce(&mut EngineView<'_>) -> PyResult<T>) -> PyResult<T> {
    if !CURRENT.is_set() {
        return Err(PyRuntimeError::new_err("a policy sees the drive only while one of its methods is called"));
    }
    let (mut then, mut found) = (Some(then), None);
    CURRENT.with(|lent| lent.lend_to(&mut |view| found = then.take().map(|then| then(view))));
    found.expect("a view that is lent is shown once")
}

/// Returns `index` if it is below `count`, else an `IndexError`; `what` names the things that are counted.
fn index(what: &str, index: i64, count: u64) -> PyResult<u32> {
    match u32::try_from(index) {
        Ok(known) if u64::from(known) < count => Ok(known),
        _ => Err(PyIndexError::new_err(format!("{what} {index}: expected 0..={}", count.saturating_sub(1)))),
    }
}

fn die_of(view: &EngineView<'_>, die: i64) -> PyResult<DieId> {
    index("die", die, u64::from(view.medium.geometry.die_count)).map(DieId)
}

fn block_of(view: &EngineView<'_>, block: i64) -> PyResult<BlockId> {
    index("block", block, u64::from(view.medium.geometry.block_count)).map(BlockId)
}

fn lpn_of(view: &EngineView<'_>, lpn: i64) -> PyResult<Lpn> {
    index("lpn", lpn, view.user_units()).map(Lpn)
}

fn ppn_of(view: &EngineView<'_>, ppn: i64) -> PyResult<Ppn> {
    index("ppn", ppn, view.medium.geometry.unit_count()).map(Ppn)
}

/// Read access to the drive for a policy, valid only during a call of the policy; at other times, a RuntimeError.
///
/// Logical units (`lpn`), places in flash (`ppn`), blocks, dies and channels are numbered from 0. Times are in
/// nanoseconds since the run began. A number that the drive does not have is an IndexError.
#[pyclass(frozen, module = "ssdlab")]
pub struct View {
    names: Arc<Names>,
    /// Bits that the policy declared for each logical unit, indexed by `lpn`.
    #[pyo3(get)]
    bits: Py<UnitBits>,
    /// Bytes that the policy declared for each block, indexed by block number.
    #[pyo3(get)]
    block_bytes: Py<BlockBytes>,
}

impl View {
    /// Creates a view that names modes by `names`, with `bits` declared for each logical unit and `bytes` for each
    /// block.
    pub fn new(py: Python<'_>, names: Arc<Names>, bits: u8, bytes: u8) -> PyResult<View> {
        Ok(View { names, bits: Py::new(py, UnitBits { bits })?, block_bytes: Py::new(py, BlockBytes { bytes })? })
    }
}

#[pymethods]
impl View {
    /// Time since the run began \[ns\].
    #[getter]
    fn now(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.now.0))
    }

    /// Units of host writes that wait for a die.
    #[getter]
    fn queued_write_pages(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.queued_write_pages))
    }

    /// Host commands with units that wait for a die.
    #[getter]
    fn queued_write_requests(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.queued_write_requests))
    }

    /// Units in the write buffer.
    #[getter]
    fn buffered_pages(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.buffered_pages))
    }

    /// Capacity of the write buffer in units; 0 without a buffer.
    #[getter]
    fn buffer_capacity_pages(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.buffer_capacity_pages))
    }

    /// Occupied share of the write buffer, 0 to 1; 0 without a buffer.
    #[getter]
    fn buffer_utilisation(&self) -> PyResult<f64> {
        with_view(|view| Ok(view.buffer_utilisation()))
    }

    /// Host commands that have arrived and are not done.
    #[getter]
    fn commands_in_flight(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.commands_in_flight))
    }

    /// Time of the last arrival or completion of a host command \[ns\].
    #[getter]
    fn last_host_activity(&self) -> PyResult<u64> {
        with_view(|view| Ok(view.signals.last_host_activity.0))
    }

    /// Number of dies at work.
    #[getter]
    fn busy_dies(&self) -> PyResult<u32> {
        with_view(|view| Ok(view.signals.busy_dies))
    }

    /// Returns the number of reads that wait for a die or are in progress on it.
    fn reads_of_die(&self, die: i64) -> PyResult<u32> {
        with_view(|view| die_of(view, die).map(|die| view.signals.die_reads[die.index()]))
    }

    /// Returns the number of dies of a channel that are at work.
    fn busy_dies_of_channel(&self, channel: i64) -> PyResult<u32> {
        with_view(|view| {
            let channels = view.signals.channel_busy_dies.len() as u64;
            let channel = ChannelId(index("channel", channel, channels)?);
            Ok(view.signals.channel_busy_dies[channel.index()])
        })
    }

    /// Returns the number of free blocks of a die.
    fn free_blocks(&self, die: i64) -> PyResult<u32> {
        with_view(|view| die_of(view, die).map(|die| view.free_blocks(die)))
    }

    /// Returns the numbers of free blocks of a die by the level of their last erase.
    fn free_blocks_by_level<'py>(&self, py: Python<'py>, die: i64) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, with_view(|view| die_of(view, die).map(|die| view.free_by_level(die)))?)
    }

    /// Returns the blocks of a die that are full and hold data.
    fn closed_blocks<'py>(&self, py: Python<'py>, die: i64) -> PyResult<Bound<'py, PyTuple>> {
        let blocks: Vec<u32> =
            with_view(|view| die_of(view, die).map(|die| view.medium.closed_blocks(die).map(|block| block.0).collect()))?;
        PyTuple::new(py, blocks)
    }

    /// Returns the closed block of a die and write mode with the fewest valid units, and their number.
    fn least_valid(&self, die: i64, mode: &Bound<'_, PyAny>) -> PyResult<Option<(u32, u16)>> {
        let mode = self.names.write.mode("mode", mode).map_err(|problem| PyValueError::new_err(problem.detail()))?;
        with_view(|view| die_of(view, die).map(|die| view.medium.min_valid(die, mode).map(|(block, valid)| (block.0, valid))))
    }

    /// Returns the channel of a die.
    fn channel_of(&self, die: i64) -> PyResult<u32> {
        with_view(|view| die_of(view, die).map(|die| view.medium.geometry.channel_of(die).0))
    }

    /// Returns the place of a unit's data in flash (`ppn`); `None` if it has none, or newer data in the write buffer.
    fn place_of(&self, lpn: i64) -> PyResult<Option<u32>> {
        with_view(|view| lpn_of(view, lpn).map(|lpn| view.place_of(lpn).map(|ppn| ppn.0)))
    }

    /// Returns the place of a unit's copy in flash (`ppn`), also while a newer one waits in the write buffer.
    fn copy_on_flash(&self, lpn: i64) -> PyResult<Option<u32>> {
        with_view(|view| lpn_of(view, lpn).map(|lpn| view.copy_on_flash(lpn).map(|ppn| ppn.0)))
    }

    /// Returns the unit whose current data a place holds; `None` if it holds none.
    fn unit_at(&self, ppn: i64) -> PyResult<Option<u32>> {
        with_view(|view| ppn_of(view, ppn).map(|ppn| view.medium.is_valid(ppn).then(|| view.lpn_at(ppn).0)))
    }

    /// Returns the block of a place.
    fn block_of(&self, ppn: i64) -> PyResult<u32> {
        with_view(|view| ppn_of(view, ppn).map(|ppn| view.medium.geometry.block_of(ppn).0))
    }

    /// Returns the first place of a block, and the first place after it.
    fn places_of(&self, block: i64) -> PyResult<(u32, u32)> {
        with_view(|view| {
            let first = view.medium.geometry.first_of(block_of(view, block)?).0;
            Ok((first, first + view.medium.geometry.units_per_block))
        })
    }

    /// Returns the die of a block.
    fn die_of(&self, block: i64) -> PyResult<u32> {
        with_view(|view| block_of(view, block).map(|block| view.medium.geometry.die_of(block).0))
    }

    /// Returns the state of a block: `free`, `open`, `closed`, `victim`, `erasing` or `retired`.
    fn block_state(&self, py: Python<'_>, block: i64) -> PyResult<Py<PyString>> {
        with_view(|view| block_of(view, block).map(|block| self.names.state(py, view.medium.block(block).state())))
    }

    /// Returns the write mode of a block's data.
    fn block_mode(&self, py: Python<'_>, block: i64) -> PyResult<Py<PyString>> {
        with_view(|view| block_of(view, block).map(|block| self.names.write.name(py, view.medium.block(block).mode())))
    }

    /// Returns the number of valid units of a block.
    fn block_valid(&self, block: i64) -> PyResult<u16> {
        with_view(|view| block_of(view, block).map(|block| view.medium.block(block).valid))
    }

    /// Returns the time since the first program of a block after its last erase \[ns\].
    fn block_age(&self, block: i64) -> PyResult<i64> {
        with_view(|view| {
            let first = view.medium.first_program(block_of(view, block)?);
            Ok(i64::try_from(view.now.0).unwrap_or(i64::MAX).saturating_sub(first))
        })
    }

    /// Returns the wear of a block, in nominal erases.
    fn block_wear(&self, block: i64) -> PyResult<f64> {
        with_view(|view| block_of(view, block).map(|block| view.medium.effective_wear(block)))
    }

    /// Returns the number of erases of a block.
    fn block_erases(&self, block: i64) -> PyResult<u32> {
        with_view(|view| block_of(view, block).map(|block| view.medium.erase_count(block)))
    }

    /// Returns the erase mode of a block's last erase.
    fn block_erase_mode(&self, py: Python<'_>, block: i64) -> PyResult<Py<PyString>> {
        with_view(|view| block_of(view, block).map(|block| self.names.erase.name(py, view.medium.erase_mode(block).0)))
    }
}

/// Bits that a policy declared for each logical unit, indexed by `lpn`: numbers from 0 to 2**bits - 1, initially 0.
#[pyclass(frozen, module = "ssdlab")]
pub struct UnitBits {
    bits: u8,
}

impl UnitBits {
    fn unit(&self, view: &EngineView<'_>, lpn: i64) -> PyResult<Lpn> {
        if self.bits == 0 {
            return Err(PyValueError::new_err("no bits are declared: bits_per_unit = 0"));
        }
        lpn_of(view, lpn)
    }
}

#[pymethods]
impl UnitBits {
    fn __getitem__(&self, lpn: i64) -> PyResult<u8> {
        with_view(|view| self.unit(view, lpn).map(|lpn| view.bits.get(lpn)))
    }

    fn __setitem__(&self, lpn: i64, value: i64) -> PyResult<()> {
        with_view(|view| {
            let lpn = self.unit(view, lpn)?;
            let most = (1i64 << self.bits) - 1;
            if !(0..=most).contains(&value) {
                let bits = self.bits;
                return Err(PyValueError::new_err(format!("{value}: expected 0..={most} (bits_per_unit = {bits})")));
            }
            view.bits.set(lpn, value as u8);
            Ok(())
        })
    }

    /// Returns the units whose value is not zero, each with its value, in ascending order.
    fn used<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let used: Vec<(u32, u8)> = with_view(|view| Ok(view.bits.used().map(|(lpn, value)| (lpn.0, value)).collect()))?;
        PyTuple::new(py, used)
    }

    fn __len__(&self) -> PyResult<usize> {
        with_view(|view| Ok(view.user_units() as usize))
    }
}

/// Bytes that a policy declared for each block, indexed by block number: initially 0. They outlast an erase.
#[pyclass(frozen, module = "ssdlab")]
pub struct BlockBytes {
    bytes: u8,
}

impl BlockBytes {
    fn block(&self, view: &EngineView<'_>, block: i64) -> PyResult<BlockId> {
        if self.bytes == 0 {
            return Err(PyValueError::new_err("no bytes are declared: bytes_per_block = 0"));
        }
        block_of(view, block)
    }
}

#[pymethods]
impl BlockBytes {
    fn __getitem__<'py>(&self, py: Python<'py>, block: i64) -> PyResult<Bound<'py, PyBytes>> {
        with_view(|view| self.block(view, block).map(|block| PyBytes::new(py, view.block_bytes.get(block))))
    }

    fn __setitem__(&self, block: i64, value: Vec<u8>) -> PyResult<()> {
        with_view(|view| {
            let block = self.block(view, block)?;
            if value.len() != usize::from(self.bytes) {
                let (found, bytes) = (value.len(), self.bytes);
                return Err(PyValueError::new_err(format!("{found} bytes: expected {bytes} (bytes_per_block)")));
            }
            view.block_bytes.get_mut(block).copy_from_slice(&value);
            Ok(())
        })
    }

    fn __len__(&self) -> PyResult<usize> {
        with_view(|view| Ok(view.medium.geometry.block_count as usize))
    }
}
