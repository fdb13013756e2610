//! Arguments of the calls to a Python policy.
//!
//! Creating an object and a tuple for every call would cost as much as the call itself. So there is one object for each
//! kind of argument, which is overwritten for each call as long as no reference to it is held outside this module. An
//! object that the policy has kept does not change: a new object takes its place.

use super::names::Names;
use kit::Lpn;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::PyTuple;
use pyo3::{PyClass, PyClassInitializer};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Value of an `Option` field that stands for `None`.
pub const NONE: u64 = u64::MAX;

/// Meaning of the number in a field.
enum Kind {
    Number,
    Flag,
    /// A number, or `None` for [`NONE`].
    Option,
    WriteMode,
    Reason,
}

impl Kind {
    #[inline]
    fn value<'py>(&self, py: Python<'py>, names: &Names, number: u64) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Kind::Option if number == NONE => Ok(py.None().into_bound(py)),
            Kind::Number | Kind::Option => Ok(number.into_pyobject(py)?.into_any()),
            Kind::Flag => Ok((number != 0).into_pyobject(py)?.to_owned().into_any()),
            Kind::WriteMode => Ok(names.write.name(py, number as u8).into_bound(py).into_any()),
            Kind::Reason => Ok(names.reason(py, number as usize).into_bound(py).into_any()),
        }
    }
}

/// Class of an argument of a call.
pub trait Argument: PyClass<Frozen = True> + Into<PyClassInitializer<Self>> + Sync {
    /// Creates an argument with all fields zero.
    fn new(names: &Arc<Names>) -> Self;
}

/// Logical units. The common case, a single unit, needs no lock.
#[derive(Default)]
struct Units {
    count: AtomicU32,
    first: AtomicU32,
    others: Mutex<Vec<u32>>,
}

impl Units {
    #[inline]
    fn tell(&self, units: &[Lpn]) {
        self.count.store(units.len() as u32, Relaxed);
        let Some((first, others)) = units.split_first() else { return };
        self.first.store(first.0, Relaxed);
        if !others.is_empty() {
            let mut told = self.others.lock().expect("nobody panics while it is held");
            told.clear();
            told.extend(others.iter().map(|lpn| lpn.0));
        }
    }

    fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let first = self.first.load(Relaxed);
        match self.count.load(Relaxed) {
            0 => Ok(PyTuple::empty(py)),
            1 => PyTuple::new(py, [first]),
            _ => {
                let others = self.others.lock().expect("nobody panics while it is held");
                PyTuple::new(py, std::iter::once(first).chain(others.iter().copied()).collect::<Vec<u32>>())
            }
        }
    }
}

/// Defines the class of an argument: its fields with the meaning of their numbers, and, after `with`, the name of a
/// field of logical units.
macro_rules! argument {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $kind:ident),+ $(,)? }
     $(with $(#[$about_units:meta])* $units:ident)?) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "ssdlab.policy")]
        pub struct $name {
            names: Arc<Names>,
            $($units: Units,)?
            $($field: AtomicU64),+
        }

        impl Argument for $name {
            fn new(names: &Arc<Names>) -> $name {
                $name { names: Arc::clone(names), $($units: Units::default(),)? $($field: AtomicU64::new(0)),+ }
            }
        }

        impl $name {
            /// Overwrites the fields, in the order of their declaration.
            #[inline]
            pub fn tell(&self, told: [u64; [$(stringify!($field)),+].len()]) {
                [$(&self.$field),+].into_iter().zip(told).for_each(|(field, told)| field.store(told, Relaxed));
            }

            $(
                /// Overwrites the units.
                #[inline]
                pub fn tell_units(&self, units: &[Lpn]) {
                    self.$units.tell(units);
                }
            )?
        }

        #[pymethods]
        impl $name {
            $(
                $(#[$about])*
                #[getter]
                fn $field<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    Kind::$kind.value(py, &self.names, self.$field.load(Relaxed))
                }
            )+

            $(
                $(#[$about_units])*
                #[getter]
                fn $units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                    self.$units.tuple(py)
                }
            )?

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields = [
                    $((stringify!($field), self.$field(py)?),)+
                    $((stringify!($units), self.$units(py)?.into_any()),)?
                ];
                let shown = fields.iter().map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
                Ok(format!("{}({})", stringify!($name), shown.collect::<PyResult<Vec<String>>>()?.join(", ")))
            }
        }
    };
}

argument! {
    /// Host write that is about to be bound to one program.
    Dispatch {
        /// Die that takes the write.
        die: Number,
        /// Units of host writes that this die could take after this one: those of the whole drive where idle dies pull.
        waiting: Number,
        /// Number of other idle dies that could take those units at once; 0 where each die has its own queue.
        others_idle: Number,
    }
    with
    /// Logical units that the program writes together (numbers of mapping units), oldest first.
    units
}

argument! {
    /// Collection: a block that is being emptied.
    Collection {
        /// The block.
        block: Number,
        /// Reason: `gc`, `wear`, `rewrite`, `reprogram`, `scrub` or `evacuate`.
        reason: Reason,
        /// True if it was begun because its die was idle, and not because its space is needed.
        background: Flag,
        /// Units that were valid when it began.
        valid: Number,
    }
}

argument! {
    /// Data that a collection is about to move with one program.
    Moving {
        /// The block.
        block: Number,
        /// Reason, as for a collection.
        reason: Reason,
        /// True if the collection was begun because its die was idle.
        background: Flag,
        /// Units that were valid when the collection began.
        valid: Number,
    }
    with
    /// Logical units, oldest first; empty unless the policy declares `moving`.
    units
}

argument! {
    /// Unit that has been bound to a place.
    Placed {
        /// Logical unit.
        lpn: Number,
        /// Place in flash.
        ppn: Number,
        /// Write mode.
        mode: WriteMode,
        /// Reason of the write: `host`, or the reason of the move.
        reason: Reason,
        /// Host stream of the write; `None` for data that was moved.
        stream: Option,
        /// Place whose data it replaces; `None` if the unit had none in flash.
        superseded: Option,
    }
}

argument! {
    /// Read of a unit in flash.
    UnitRead {
        /// Logical unit.
        lpn: Number,
        /// Place in flash.
        ppn: Number,
        /// Reason of the read: `host`, or the reason for which data is moved or completed.
        reason: Reason,
    }
}

argument! {
    /// An idle die, and the times for which it, its channel and the drive have been idle.
    Idle {
        /// The die.
        die: Number,
        /// Idle time of the die \[ns\].
        die_for: Number,
        /// Channel of the die.
        channel: Number,
        /// Time for which no die of the channel has worked \[ns\]; `None` while one does, or a host write waits.
        channel_for: Option,
        /// Time for which no die has worked and no host command was in flight \[ns\]; `None` while there is either.
        drive_for: Option,
    }
}

argument! {
    /// Candidate for collection: the block with the fewest valid units among the closed blocks of a write mode and die.
    Candidate {
        /// The block.
        block: Number,
        /// Its valid units.
        valid: Number,
        /// Other units that it could hold in its mode.
        invalid: Number,
        /// Write mode of its data.
        mode: WriteMode,
    }
}

/// The reused argument of one kind, and the tuple of argument and view that is passed to a method.
pub struct Slot<A: Argument> {
    names: Arc<Names>,
    view: Py<PyAny>,
    made: RefCell<(Py<A>, Py<PyTuple>)>,
}

impl<A: Argument> Slot<A> {
    /// Creates a slot whose argument is passed together with `view`.
    pub fn new(py: Python<'_>, names: &Arc<Names>, view: &Bound<'_, PyAny>) -> PyResult<Slot<A>> {
        let made = RefCell::new(make(py, names, view)?);
        Ok(Slot { names: Arc::clone(names), view: view.clone().unbind(), made })
    }

    /// Returns the tuple of arguments of a call, after `tell` has overwritten the argument.
    #[inline]
    pub fn told(&self, py: Python<'_>, tell: impl FnOnce(&A)) -> PyResult<Py<PyTuple>> {
        let mut made = self.made.borrow_mut();
        // The argument is referenced by the slot and by the tuple, the tuple by the slot alone. Any further reference
        // means that the policy has kept it.
        if holders(made.0.bind(py)) > 2 || holders(made.1.bind(py)) > 1 {
            *made = make(py, &self.names, self.view.bind(py))?;
        }
        tell(made.0.get());
        Ok(made.1.clone_ref(py))
    }
}

fn make<A: Argument>(py: Python<'_>, names: &Arc<Names>, view: &Bound<'_, PyAny>) -> PyResult<(Py<A>, Py<PyTuple>)> {
    let argument = Py::new(py, A::new(names))?;
    let tuple = PyTuple::new(py, [argument.bind(py).as_any(), view])?;
    Ok((argument, tuple.unbind()))
}

/// Returns the number of references to a Python object.
#[expect(deprecated, reason = "what is recommended in its place is unsafe")]
fn holders<T>(object: &Bound<'_, T>) -> isize {
    object.as_any().get_refcnt()
}
