//! The Python module `ssdlab._engine`: the engine's functions with arguments and results converted. The interpreter is
//! released in one place ([`interpreter::released`]), and errors are mapped in one place ([`errors`]). There is no
//! model logic here.

mod columns;
mod devices;
mod drives;
mod errors;
mod interpreter;
mod laboratory;
mod logs;
mod memory;
mod policy;
mod runs;
mod serving;
mod sessions;
mod traces;

use pyo3::prelude::*;

/// The engine of ssdlab.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::devices::{Answer, Device, DeviceError, PowerLossError};
    #[pymodule_export]
    use crate::drives::{
        build, check, definitions, describe, diagram, files_of, options, policies, policy_contract, presets, reference,
        results_reference, schema, shrink,
    };
    #[pymodule_export]
    use crate::errors::{InputError, PolicyError};
    #[pymodule_export]
    use crate::laboratory::lab;
    #[pymodule_export]
    use crate::logs::{compare_histories, read_timeline};
    #[pymodule_export]
    use crate::memory::memory_limit;
    #[pymodule_export]
    use crate::policy::{BlockBytes, Candidate, Collection, Dispatch, Idle, Moving, Placed, Stream, UnitBits, UnitRead, View};
    #[pymodule_export]
    use crate::runs::{LifetimeOutcome, Outcome, lifetime, run, starting_state_key};
    #[pymodule_export]
    use crate::serving::{Served, serve_drive};
    #[pymodule_export]
    use crate::sessions::Session;
    #[pymodule_export]
    use crate::traces::{keep_pipe, trace_analysis, trace_convert, trace_fit, trace_info};
}
