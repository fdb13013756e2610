//! Policies written in Python: the engine's calls with arguments and answers converted. A call that the policy does not
//! override never reaches the interpreter.

mod answers;
mod arguments;
mod current_view;
mod names;
mod stream;

pub use arguments::{Candidate, Collection, Dispatch, Idle, Moving, Placed, UnitRead};
pub use current_view::{BlockBytes, UnitBits, View};
pub use stream::Stream;

use answers::Understood;
use arguments::Slot;
use ftl::policy::{self, Facts, Interruption, ModePolicy, Needs, PageMove, ReadAnswer, Relocation, WriteAnswer, baseline};
use kit::{BlockId, Lpn, ModeId, Nanos, Ppn, Problem, Problems, Rng, SimTime};
use names::Names;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

/// Exception raised by Python code that a run calls: by a policy, which is not called again, or by a function that
/// receives rows.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Returns true if an exception was raised.
pub fn has_raised(raised: &Raised) -> bool {
    raised.lock().expect("nobody panics while it is held").is_some()
}

/// Takes the exception that was raised, if there is one.
pub fn take(raised: &Raised) -> Option<PyErr> {
    raised.lock().expect("nobody panics while it is held").take()
}

macro_rules! calls {
    ($($call:ident = $name:ident($($argument:ident),*);)+) => {
        /// The calls of the contract that a run makes.
        #[derive(Clone, Copy)]
        enum Call { $($call),+ }

        impl Call {
            /// The calls with the names of their arguments in Python, in the order of the enumeration.
            const ALL: &'static [(&'static str, &'static [&'static str])] =
                &[$((stringify!($name), &[$(stringify!($argument)),*])),+];

            fn name(self) -> &'static str {
                Call::ALL[self as usize].0
            }
        }
    };
}

calls! {
    Write = write(dispatch, view);
    Requested = requested(view);
    Collecting = collecting(collection, view);
    Relocate = relocate(moving, view);
    Placed = placed(placed, view);
    Dropped = dropped(lpn, view);
    ReadIssued = read_issued(read, view);
    ReadDone = read_done(lpn, ppn, view);
    Score = score(candidate, view);
    Erase = erase(collection, view);
    FreeList = free_list(level, lists, view);
    LazyErase = lazy_erase(block, level, view);
    Opened = opened(block, view);
    Erased = erased(block, view);
    Urgent = urgent(view);
    Forced = forced(view);
    Idle = idle(idle, view);
    Drain = drain(view);
    WakeAt = wake_at(view);
    Adopt = adopt(view);
    Stats = stats();
}

/// Returns what a policy in Python exchanges with the engine: the facts, the needs, the classes of arguments, and the
/// calls with the names of their arguments.
pub fn contract() -> Value {
    let mut contract = arguments::description();
    contract["calls"] = Call::ALL.iter().map(|(name, arguments)| ((*name).to_owned(), json!(arguments))).collect();
    contract
}

/// A Python policy that runs a drive.
struct CustomPolicy {
    /// Method of each call, indexed by [`Call`]; none if the policy does not override it.
    methods: Vec<Option<Py<PyAny>>>,
    needs: Needs,
    old_mode: ModeId,
    uses: Vec<ModeId>,
    move_after: Vec<Option<Nanos>>,
    names: Arc<Names>,
    view: Py<View>,
    /// Arguments of calls whose only argument is the view.
    alone: Py<PyTuple>,
    arguments: Arguments,
    /// Answers the calls whose methods are not overridden, by the defaults of the contract.
    default: Box<dyn ModePolicy>,
    raised: Raised,
    /// First problem with an answer, or a note that the policy raised an exception.
    failure: RefCell<Option<Problem>>,
    /// True if there is a failure.
    has_failed: Cell<bool>,
    /// The call that Ctrl-C interrupted, or in which `KeyboardInterrupt` was raised.
    interrupted: Cell<Option<Call>>,
    /// Calls that did not return an answer, or were not made because the policy had failed.
    defaulted: Cell<u64>,
}

/// Arguments of the calls: one reused object of each kind.
struct Arguments {
    dispatch: Slot<Dispatch>,
    collection: Slot<Collection>,
    moving: Slot<Moving>,
    placed: Slot<Placed>,
    read: Slot<UnitRead>,
    idle: Slot<Idle>,
    candidate: Slot<Candidate>,
}

/// Makes a policy from `python`, the package's wrapper of the user's policy object. Its method `begin` receives the
/// facts of the drive and a random stream, and returns the declarations and the overridden methods.
pub fn make(python: &Py<PyAny>, facts: &Facts, rng: Rng, raised: &Raised) -> Result<Box<dyn ModePolicy>, Problems> {
    let made = Python::attach(|py| {
        let names = Names::new(py, facts);
        let begun = python.bind(py).call_method1("begin", (arguments::facts(py, facts, &names)?, Stream::new(rng)))?;
        CustomPolicy::new(&begun, names, facts, raised)
    });
    match made {
        Ok(made) => made.map(|guest| Box::new(guest) as Box<dyn ModePolicy>).map_err(Problems::from),
        Err(error) => {
            raised.lock().expect("nobody panics while it is held").replace(error);
            Err(Problems::one("setup", "raised"))
        }
    }
}

impl CustomPolicy {
    /// Creates the policy from the result of `begin`: the declarations, and the overridden methods by name.
    fn new(begun: &Bound<'_, PyAny>, names: Names, facts: &Facts, raised: &Raised) -> PyResult<Understood<CustomPolicy>> {
        let py = begun.py();
        let names = Arc::new(names);
        let overridden = begun.getattr("calls")?.cast_into::<PyDict>()?;
        let method = |(name, _): &(&str, &[&str])| overridden.get_item(name).map(|method| method.map(Bound::unbind));
        let methods = Call::ALL.iter().map(method).collect::<PyResult<_>>()?;
        let old_mode = names.write.mode("mode_of_old_data", &begun.getattr("mode_of_old_data")?);
        let mut move_after = Vec::new();
        for after in begun.getattr("move_after")?.try_iter()? {
            let after = after?;
            move_after.push(if after.is_none() { Ok(None) } else { answers::span("move_after", &after).map(Some) });
        }
        let uses = answers::modes("uses", &names, &begun.getattr("uses")?)?;
        let needs = arguments::needs(&begun.getattr("needs")?)?;
        let understood = || {
            let needs = needs?;
            Ok((needs, old_mode?, uses?, move_after.into_iter().collect::<Understood<_>>()?))
        };
        let (needs, old_mode, uses, move_after) = match understood() {
            Ok(understood) => understood,
            Err(problem) => return Ok(Err(problem)),
        };
        let view = Bound::new(py, View::new(py, Arc::clone(&names), needs.bits_per_unit, needs.bytes_per_block)?)?;
        let arguments = Arguments {
            dispatch: Slot::new(py, &names, &view)?,
            collection: Slot::new(py, &names, &view)?,
            moving: Slot::new(py, &names, &view)?,
            placed: Slot::new(py, &names, &view)?,
            read: Slot::new(py, &names, &view)?,
            idle: Slot::new(py, &names, &view)?,
            candidate: Slot::new(py, &names, &view)?,
        };
        Ok(Ok(CustomPolicy {
            methods,
            needs,
            old_mode,
            uses,
            move_after,
            names,
            alone: PyTuple::new(py, [&view])?.unbind(),
            view: view.unbind(),
            arguments,
            default: baseline::build(&baseline::Params::default(), facts),
            raised: Arc::clone(raised),
            failure: RefCell::new(None),
            has_failed: Cell::new(false),
            interrupted: Cell::new(None),
            defaulted: Cell::new(0),
        }))
    }

    /// Returns the answer to a call, or none if its method is not overridden or the policy has failed. `told` makes the
    /// arguments, `understand` converts the answer.
    #[inline]
    fn ask<T>(
        &self,
        call: Call,
        view: &mut policy::View<'_>,
        told: impl FnOnce(Python<'_>) -> PyResult<Py<PyTuple>>,
        understand: impl FnOnce(&Names, &Bound<'_, PyAny>) -> Understood<T>,
    ) -> Option<T> {
        let method = self.methods[call as usize].as_ref()?;
        if self.has_failed.get() {
            self.defaulted.set(self.defaulted.get() + 1);
            return None;
        }
        Python::attach(|py| {
            let answer = current_view::lend(view, || method.bind(py).call1(told(py)?.bind(py)));
            self.understood(call, answer, understand)
        })
    }

    /// Returns the arguments of a call that passes a few numbers and the view.
    fn numbers<const N: usize>(&self, py: Python<'_>, numbers: [u32; N]) -> PyResult<Py<PyTuple>> {
        let numbers = numbers.into_iter().map(|number| Ok(number.into_pyobject(py)?.into_any()));
        let all: Vec<Bound<'_, PyAny>> = numbers.chain([Ok(self.view.bind(py).as_any().clone())]).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, all)?.unbind())
    }

    /// Returns the answer to a call that requests a page to be moved.
    fn page(&self, call: Call, view: &mut policy::View<'_>) -> Option<PageMove> {
        let page = |names: &Names, answer: &Bound<'_, PyAny>| answers::page(call.name(), names, answer);
        self.ask(call, view, |py| self.alone(py), page).flatten()
    }

    fn alone(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        Ok(self.alone.clone_ref(py))
    }

    fn understood<T>(
        &self,
        call: Call,
        answer: PyResult<Bound<'_, PyAny>>,
        understand: impl FnOnce(&Names, &Bound<'_, PyAny>) -> Understood<T>,
    ) -> Option<T> {
        let problem = match answer {
            Ok(answer) => match understand(&self.names, &answer) {
                Ok(understood) => return Some(understood),
                Err(problem) => problem,
            },
            Err(error) => {
                if Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                    self.interrupted.set(Some(call));
                }
                self.raised.lock().expect("nobody panics while it is held").get_or_insert(error);
                Problem::new(call.name(), "raised")
            }
        };
        self.failure.borrow_mut().get_or_insert(problem);
        self.has_failed.set(true);
        self.defaulted.set(self.defaulted.get() + 1);
        None
    }
}

/// Accepts any answer: these calls return nothing.
fn nothing(_: &Names, _: &Bound<'_, PyAny>) -> Understood<()> {
    Ok(())
}

impl ModePolicy for CustomPolicy {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, dispatch: &policy::Dispatch<'_>, view: &mut policy::View<'_>) -> WriteAnswer {
        let answer =
            |names: &Names, answer: &Bound<'_, PyAny>| answers::write("write", "the number of a host stream", names, answer);
        let asked = self.ask(Call::Write, view, |py| self.arguments.dispatch.told(py, dispatch), answer);
        asked.unwrap_or_else(|| self.default.write(dispatch, view))
    }

    fn collecting(&mut self, collection: &policy::Collection, view: &mut policy::View<'_>) {
        self.ask(Call::Collecting, view, |py| self.arguments.collection.told(py, collection), nothing);
    }

    fn relocate(&mut self, moving: &policy::Moving<'_>, view: &mut policy::View<'_>) -> ModeId {
        self.relocate_to(moving, view).mode
    }

    fn relocate_to(&mut self, moving: &policy::Moving<'_>, view: &mut policy::View<'_>) -> WriteAnswer {
        let streams = self.needs.relocation_streams;
        let answer = |names: &Names, answer: &Bound<'_, PyAny>| {
            let answer = answers::write("relocate", "the number of a relocation stream", names, answer)?;
            if answer.stream > 0 && streams <= 1 {
                let complaint = format!("stream {}: expected 0, as relocation_streams = {streams}", answer.stream);
                return Err(Problem::new("relocate", complaint));
            }
            Ok(answer)
        };
        let asked = self.ask(Call::Relocate, view, |py| self.arguments.moving.told(py, moving), answer);
        asked.unwrap_or(WriteAnswer { mode: self.old_mode, stream: 0 })
    }

    fn requested(&mut self, view: &mut policy::View<'_>) {
        self.ask(Call::Requested, view, |py| self.alone(py), nothing);
    }

    fn placed(&mut self, placed: &policy::Placed, view: &mut policy::View<'_>) {
        self.ask(Call::Placed, view, |py| self.arguments.placed.told(py, placed), nothing);
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut policy::View<'_>) {
        self.ask(Call::Dropped, view, |py| self.numbers(py, [lpn.0]), nothing);
    }

    fn read_issued(&mut self, read: &policy::UnitRead, view: &mut policy::View<'_>) -> ReadAnswer {
        self.ask(Call::ReadIssued, view, |py| self.arguments.read.told(py, read), answers::read).unwrap_or_default()
    }

    fn read_done(&mut self, lpn: Lpn, ppn: Ppn, view: &mut policy::View<'_>) {
        self.ask(Call::ReadDone, view, |py| self.numbers(py, [lpn.0, ppn.0]), nothing);
    }

    fn score(&self, candidate: &policy::Candidate, view: &mut policy::View<'_>) -> f64 {
        let told = |py: Python<'_>| self.arguments.candidate.told(py, candidate);
        let asked = self.ask(Call::Score, view, told, |_, answer| answers::score(answer));
        asked.unwrap_or_else(|| self.default.score(candidate, view))
    }

    fn erase(&mut self, collection: &policy::Collection, view: &mut policy::View<'_>) -> ModeId {
        let mode = |names: &Names, answer: &Bound<'_, PyAny>| names.erase.mode("erase", answer);
        let asked = self.ask(Call::Erase, view, |py| self.arguments.collection.told(py, collection), mode);
        asked.unwrap_or_else(|| self.default.erase(collection, view))
    }

    fn free_list(&mut self, level: u8, lists: &[u32], view: &mut policy::View<'_>) -> u8 {
        let told = |py: Python<'_>| {
            let level = level.into_pyobject(py)?.into_any();
            let lists = PyTuple::new(py, lists)?.into_any();
            Ok(PyTuple::new(py, [&level, &lists, self.view.bind(py).as_any()])?.unbind())
        };
        let asked = self.ask(Call::FreeList, view, told, |_, answer| answers::level(answer));
        asked.unwrap_or_else(|| self.default.free_list(level, lists, view))
    }

    fn lazy_erase(&mut self, block: BlockId, level: u8, view: &mut policy::View<'_>) -> ModeId {
        let mode = |names: &Names, answer: &Bound<'_, PyAny>| names.erase.mode("lazy_erase", answer);
        let asked = self.ask(Call::LazyErase, view, |py| self.numbers(py, [block.0, level.into()]), mode);
        asked.unwrap_or_else(|| self.default.lazy_erase(block, level, view))
    }

    fn opened(&mut self, block: BlockId, view: &mut policy::View<'_>) {
        self.ask(Call::Opened, view, |py| self.numbers(py, [block.0]), nothing);
    }

    fn erased(&mut self, block: BlockId, view: &mut policy::View<'_>) {
        self.ask(Call::Erased, view, |py| self.numbers(py, [block.0]), nothing);
    }

    fn urgent(&mut self, view: &mut policy::View<'_>) -> Option<PageMove> {
        self.page(Call::Urgent, view)
    }

    fn forced(&mut self, view: &mut policy::View<'_>) -> Option<PageMove> {
        self.page(Call::Forced, view)
    }

    fn idle(&mut self, idle: &policy::Idle, view: &mut policy::View<'_>) -> Option<Relocation> {
        let told = |py: Python<'_>| self.arguments.idle.told(py, idle);
        self.ask(Call::Idle, view, told, |names, answer| answers::relocation("idle", names, answer)).flatten()
    }

    fn drain(&mut self, view: &mut policy::View<'_>) -> Option<PageMove> {
        self.page(Call::Drain, view)
    }

    fn wake_at(&self, view: &mut policy::View<'_>) -> Option<SimTime> {
        let instant = |_: &Names, answer: &Bound<'_, PyAny>| answers::instant("wake_at", answer);
        self.ask(Call::WakeAt, view, |py| self.alone(py), instant).flatten()
    }

    fn adopt(&mut self, view: &mut policy::View<'_>) {
        self.ask(Call::Adopt, view, |py| self.alone(py), nothing);
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        self.move_after.get(mode.index()).copied().flatten()
    }

    fn uses(&self) -> Vec<ModeId> {
        self.uses.clone()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.old_mode
    }

    fn named_stats(&self) -> Vec<(String, f64)> {
        let Some(method) = self.methods[Call::Stats as usize].as_ref().filter(|_| !self.has_failed.get()) else {
            return Vec::new();
        };
        let understand = |_: &Names, answer: &Bound<'_, PyAny>| answers::stats(answer);
        Python::attach(|py| self.understood(Call::Stats, method.bind(py).call0(), understand)).unwrap_or_default()
    }

    fn failure(&self) -> Option<Problem> {
        if self.interrupted.get().is_some() { None } else { self.failure.borrow().clone() }
    }

    fn interruption(&self) -> Option<Interruption> {
        let call = self.interrupted.get()?.name();
        Some(Interruption { call, defaulted: self.defaulted.get() })
    }
}
