//! Classes of the arguments of calls to a Python policy, conversions of facts and needs, and a description of them all,
//! made from [`ftl::policy_exchange`].
//!
//! Creating an object and a tuple for every call would cost as much as the call itself. So there is one object for each
//! kind of argument, which is overwritten for each call as long as no reference to it is held outside this module. An
//! object that the policy has kept does not change: a new object takes its place.

use super::answers::{Understood, span, whole};
use super::names::{Names, Table};
use ftl::policy;
use kit::{BlockId, ChannelId, DieId, Lpn, ModeId, Nanos, Ppn, Reason};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, PyClass, PyClassInitializer};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Value of a field that stands for `None`.
const NONE: u64 = u64::MAX;

/// Type with one of Python.
trait Typed {
    /// Returns Python's type.
    fn python() -> String;
}

/// Type of a field of an argument, which is kept as a number.
trait Packed: Copy {
    /// Returns the number of the value.
    fn packed(self) -> u64;

    /// Returns the value of a number for Python; `modes` has the names of modes.
    fn shown<'py>(number: u64, py: Python<'py>, names: &Names, modes: &Table) -> PyResult<Bound<'py, PyAny>>;
}

macro_rules! typed {
    (<$($part:ident)?> $kind:ty, $python:literal) => {
        impl$(<$part: Typed>)? Typed for $kind {
            fn python() -> String {
                format!($python $(, $part::python())?)
            }
        }
    };
}

typed!(<> String, "str");
typed!(<T> Option<T>, "{} | None");
typed!(<T> Vec<T>, "tuple[{}, ...]");

/// Implements [`Packed`]: for each type the one of Python, the number of a value, and what is shown for a number.
macro_rules! packed {
    (($py:ident, $names:ident, $modes:ident) $($kind:ty: $python:literal, |$it:ident| $number:expr, |$of:ident| $shown:expr;)+) => {$(
        impl Packed for $kind {
            #[inline]
            fn packed(self) -> u64 {
                let $it = self;
                u64::from($number)
            }

            #[inline]
            fn shown<'py>($of: u64, $py: Python<'py>, $names: &Names, $modes: &Table) -> PyResult<Bound<'py, PyAny>> {
                let _ = ($names, $modes);
                $shown.into_bound_py_any($py)
            }
        }

        typed!(<> $kind, $python);
    )+};
}

packed! {
    (py, names, modes)
    bool: "bool", |it| it, |number| number != 0;
    u8: "int", |it| it, |number| number;
    u32: "int", |it| it, |number| number;
    u64: "int", |it| it, |number| number;
    f64: "float", |it| it.to_bits(), |number| f64::from_bits(number);
    Nanos: "int", |it| it.0, |number| number;
    DieId: "int", |it| it.0, |number| number;
    ChannelId: "int", |it| it.0, |number| number;
    BlockId: "int", |it| it.0, |number| number;
    Lpn: "int", |it| it.0, |number| number;
    Ppn: "int", |it| it.0, |number| number;
    ModeId: "str", |it| it.0, |number| modes.name(py, number as u8);
    Reason: "str", |it| it as u8, |number| names.reason(py, number as usize);
}

impl<T: Packed> Packed for Option<T> {
    #[inline]
    fn packed(self) -> u64 {
        self.map_or(NONE, T::packed)
    }

    #[inline]
    fn shown<'py>(number: u64, py: Python<'py>, names: &Names, modes: &Table) -> PyResult<Bound<'py, PyAny>> {
        if number == NONE { Ok(py.None().into_bound(py)) } else { T::shown(number, py, names, modes) }
    }
}

/// Type of a fact: a value, a text, or several of one kind.
trait Fact {
    /// Returns the fact for Python.
    fn told<'py>(&self, py: Python<'py>, names: &Names) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Packed> Fact for T {
    fn told<'py>(&self, py: Python<'py>, names: &Names) -> PyResult<Bound<'py, PyAny>> {
        // The only modes among the facts are read modes.
        T::shown(self.packed(), py, names, &names.read)
    }
}

impl Fact for String {
    fn told<'py>(&self, py: Python<'py>, _: &Names) -> PyResult<Bound<'py, PyAny>> {
        self.into_bound_py_any(py)
    }
}

impl<T: Fact> Fact for Vec<T> {
    fn told<'py>(&self, py: Python<'py>, names: &Names) -> PyResult<Bound<'py, PyAny>> {
        let values = self.iter().map(|value| value.told(py, names)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, values)?.into_any())
    }
}

/// Type of a need.
trait Needed: Sized {
    /// Python's type, and its default.
    const PYTHON: (&'static str, &'static str);

    /// Converts the need called `name`, or returns the problem with it.
    fn understood(name: &str, declared: &Bound<'_, PyAny>) -> PyResult<Understood<Self>>;
}

macro_rules! needed {
    ($($kind:ty: $python:literal = $default:literal, |$name:pat_param, $declared:ident| $understood:expr;)+) => {$(
        impl Needed for $kind {
            const PYTHON: (&'static str, &'static str) = ($python, $default);

            fn understood($name: &str, $declared: &Bound<'_, PyAny>) -> PyResult<Understood<$kind>> {
                $understood
            }
        }
    )+};
}

needed! {
    u8: "int" = "0", |name, declared| Ok(whole(name, "", "0..=255", declared));
    bool: "bool" = "False", |_, declared| declared.is_truthy().map(Ok);
    Nanos: "Span" = "0", |name, declared| Ok(span(name, declared));
}

/// Class of an argument of a call.
pub trait Argument: PyClass<Frozen = True> + Sync {
    /// The engine's argument.
    type Told<'a>;

    /// Creates an argument with all fields zero.
    fn make(py: Python<'_>, names: &Arc<Names>) -> PyResult<Py<Self>>;

    /// Overwrites the fields.
    fn tell(this: &Bound<'_, Self>, told: &Self::Told<'_>);

    /// Returns the names that it shows.
    fn names(&self) -> &Arc<Names>;
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

/// Creates an object, with that of its base class if it has one.
macro_rules! object {
    ($py:ident, $names:ident, $own:expr) => {
        Py::new($py, $own)
    };
    ($py:ident, $names:ident, $own:expr, $base:ident) => {
        Py::new($py, PyClassInitializer::from($base::new($names)).add_subclass($own))
    };
}

/// Makes the classes, the conversions and the description of what is declared.
macro_rules! python {
    (
        $(#[doc = $about_facts:literal])+ Facts { $($(#[doc = $about_fact:literal])+ $fact:ident: $of_fact:ty,)+ }
        $(#[doc = $about_needs:literal])+ Needs {
            $(
                $(#[doc = $about_need:literal])+
                $need:ident: $of_need:ty $(= $default:literal)? $(=> [$($call:ident),+])?,
            )+
        }
        $(
            $(#[doc = $about:literal])+ $name:ident $(<$of_units:lifetime>)? $(of $part:ident: $base:ident)? {
                $($(#[doc = $about_field:literal])+ $field:ident: $of:ty,)*
            }
            $(with { $(#[doc = $about_units:literal])+ $units:ident: &$life:lifetime [Lpn], })?
        )+
    ) => {
        /// Returns the facts of a drive as a dictionary.
        pub fn facts<'py>(py: Python<'py>, facts: &policy::Facts, names: &Names) -> PyResult<Bound<'py, PyDict>> {
            let told = PyDict::new(py);
            $(told.set_item(stringify!($fact), facts.$fact.told(py, names)?)?;)+
            Ok(told)
        }

        /// Converts the `Needs` that a policy declares, field by field.
        pub fn needs(declared: &Bound<'_, PyAny>) -> PyResult<Understood<policy::Needs>> {
            $(let $need = <$of_need as Needed>::understood(stringify!($need), &declared.getattr(stringify!($need))?)?;)+
            let understood = || Ok(policy::Needs { $($need: $need?,)+ });
            Ok(understood())
        }

        /// Returns the facts, the needs and the classes with their fields: names, types in Python and documentation.
        pub fn description() -> Value {
            json!({
                "Facts": {
                    "about": concat!($($about_facts),+),
                    "fields": [$(
                        {"name": stringify!($fact), "type": <$of_fact as Typed>::python(), "about": concat!($($about_fact),+)}
                    ),+],
                },
                "Needs": {
                    "about": concat!($($about_needs),+),
                    "fields": [$({
                        "name": stringify!($need),
                        "type": <$of_need as Needed>::PYTHON.0,
                        "default": ([$(stringify!($default),)? <$of_need as Needed>::PYTHON.1][0]),
                        "calls": [$($(stringify!($call)),+)?],
                        "about": concat!($($about_need),+),
                    }),+],
                },
                "arguments": {$(
                    stringify!($name): {
                        "about": concat!($($about),+),
                        "base": ([$(stringify!($base),)? ""][0]),
                        "fields": [
                            $({"name": stringify!($field), "type": <$of as Typed>::python(), "about": concat!($($about_field),+)},)*
                            $({"name": stringify!($units), "type": <Vec<Lpn> as Typed>::python(), "about": concat!($($about_units),+)})?
                        ],
                    }
                ),+},
            })
        }

        $(
            $(#[doc = $about])+
            #[pyclass(frozen, subclass, module = "ssdlab.policy" $(, extends = $base)?)]
            pub struct $name {
                names: Arc<Names>,
                $($field: AtomicU64,)*
                $($units: Units,)?
            }

            impl $name {
                fn new(names: &Arc<Names>) -> $name {
                    $name { names: Arc::clone(names), $($field: AtomicU64::new(0),)* $($units: Units::default(),)? }
                }

                fn fields<'py>(this: &Bound<'py, $name>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
                    let (own, py) = (this.get(), this.py());
                    let fields = vec![
                        $((stringify!($field), own.$field(py)?),)*
                        $((stringify!($units), own.$units(py)?.into_any()),)?
                    ];
                    $(let fields = $base::fields(this.as_super())?.into_iter().chain(fields).collect();)?
                    Ok(fields)
                }
            }

            impl Argument for $name {
                type Told<'a> = policy::$name $(<$of_units>)?;

                fn make(py: Python<'_>, names: &Arc<Names>) -> PyResult<Py<$name>> {
                    object!(py, names, $name::new(names) $(, $base)?)
                }

                #[inline]
                fn tell(this: &Bound<'_, $name>, told: &Self::Told<'_>) {
                    $($base::tell(this.as_super(), &told.$part);)?
                    let own = this.get();
                    $(own.$field.store(told.$field.packed(), Relaxed);)*
                    $(own.$units.tell(told.$units);)?
                }

                fn names(&self) -> &Arc<Names> {
                    &self.names
                }
            }

            #[pymethods]
            impl $name {
                $(
                    $(#[doc = $about_field])+
                    #[getter]
                    fn $field<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                        <$of as Packed>::shown(self.$field.load(Relaxed), py, &self.names, &self.names.write)
                    }
                )*

                $(
                    $(#[doc = $about_units])+
                    #[getter]
                    fn $units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                        self.$units.tuple(py)
                    }
                )?

                fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
                    let shown = $name::fields(this)?.into_iter().map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
                    Ok(format!("{}({})", stringify!($name), shown.collect::<PyResult<Vec<String>>>()?.join(", ")))
                }
            }
        )+
    };
}

ftl::policy_exchange!(python);

/// The reused argument of one kind, and the tuple of argument and view that is passed to a method.
pub struct Slot<A: Argument> {
    view: Py<PyAny>,
    made: RefCell<(Py<A>, Py<PyTuple>)>,
}

impl<A: Argument> Slot<A> {
    /// Creates a slot whose argument is passed together with `view`.
    pub fn new(py: Python<'_>, names: &Arc<Names>, view: &Bound<'_, PyAny>) -> PyResult<Slot<A>> {
        let made = RefCell::new(make(py, names, view)?);
        Ok(Slot { view: view.clone().unbind(), made })
    }

    /// Returns the tuple of arguments of a call, after the argument has been overwritten by what the engine passes.
    #[inline]
    pub fn told(&self, py: Python<'_>, told: &A::Told<'_>) -> PyResult<Py<PyTuple>> {
        let mut made = self.made.borrow_mut();
        // The argument is referenced by the slot and by the tuple, the tuple by the slot alone. Any further reference
        // means that the policy has kept it.
        if holders(made.0.bind(py)) > 2 || holders(made.1.bind(py)) > 1 {
            *made = make(py, made.0.get().names(), self.view.bind(py))?;
        }
        A::tell(made.0.bind(py), told);
        Ok(made.1.clone_ref(py))
    }
}

fn make<A: Argument>(py: Python<'_>, names: &Arc<Names>, view: &Bound<'_, PyAny>) -> PyResult<(Py<A>, Py<PyTuple>)> {
    let argument = A::make(py, names)?;
    let tuple = PyTuple::new(py, [argument.bind(py).as_any(), view])?;
    Ok((argument, tuple.unbind()))
}

/// Returns the number of references to a Python object.
#[expect(deprecated, reason = "what is recommended in its place is unsafe")]
fn holders<T>(object: &Bound<'_, T>) -> isize {
    object.as_any().get_refcnt()
}
