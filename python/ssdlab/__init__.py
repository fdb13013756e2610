"""ssdlab, a laboratory for solid-state drives: from threshold voltage to tail latency.

A drive and a workload in, a :class:`Result` out:

    >>> import ssdlab
    >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
    >>> result.write_amplification, result.latency["write"].p50_ns / 1e6
    (3.4, 4.8)
    >>> result.save("out")
    PosixPath('out')

Everything that the command line does is here too, under the same names. The examples of functions and methods assume
``import ssdlab`` and the folder ``examples`` of the repository.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Only the modules that a program uses are imported, when it first uses a name of theirs: the laboratory, sweeps and
# charts take several times as long to import as what a run needs.
if TYPE_CHECKING:
    from ssdlab import cell, charts, policy, traces
    from ssdlab.comparison import Comparison
    from ssdlab.device import Answer, Device, DeviceError, PowerLossError
    from ssdlab.drives import Drive, DriveLike, Preset, check, describe, diagram, policies, presets, reference, shrink
    from ssdlab.errors import InputError, Interrupted, NotWrittenError, PolicyError
    from ssdlab.explore.optimise import Optimisation, OptimisationProgress, load_optimisation, optimise
    from ssdlab.explore.spec import Spec
    from ssdlab.explore.sweep import Sweep, SweepProgress, load_sweep, sweep
    from ssdlab.folder import load_comparison, load_result
    from ssdlab.imports import ImportedDrive, import_drive
    from ssdlab.lifetimes import Lifetime, lifetime
    from ssdlab.logs import HistoryDifference, compare_histories, read_commands, read_history, read_timeline
    from ssdlab.policy import BlockMove, PageMove, Policy
    from ssdlab.presentation import Result
    from ssdlab.read_errors import ReadErrors
    from ssdlab.reruns import Rerun, rerun
    from ssdlab.results import Latency, Stream
    from ssdlab.runs import PolicyLike, Progress
    from ssdlab.schemas import schema
    from ssdlab.sessions import Session
    from ssdlab.setups import StartingStates
    from ssdlab.simulate import compare, run
    from ssdlab.tails import BearingField, Tail, Why
    from ssdlab.terms import definitions
    from ssdlab.traces import TraceFit, trace_convert, trace_fit, trace_info
    from ssdlab.trials import Effect, Trial
    from ssdlab.trying import why
    from ssdlab.workloads import Workload, WorkloadLike

    #: Version, and a hash of the engine's sources: builds of equal sources have equal values.
    __version__: str

__all__ = [
    "Answer",
    "BearingField",
    "BlockMove",
    "Comparison",
    "Device",
    "DeviceError",
    "Drive",
    "DriveLike",
    "Effect",
    "HistoryDifference",
    "ImportedDrive",
    "InputError",
    "Interrupted",
    "Latency",
    "Lifetime",
    "NotWrittenError",
    "Optimisation",
    "OptimisationProgress",
    "PageMove",
    "Policy",
    "PolicyError",
    "PolicyLike",
    "PowerLossError",
    "Preset",
    "Progress",
    "ReadErrors",
    "Rerun",
    "Result",
    "Session",
    "Spec",
    "StartingStates",
    "Stream",
    "Sweep",
    "SweepProgress",
    "Tail",
    "TraceFit",
    "Trial",
    "Why",
    "Workload",
    "WorkloadLike",
    "__version__",
    "cell",
    "charts",
    "check",
    "compare",
    "compare_histories",
    "definitions",
    "describe",
    "diagram",
    "import_drive",
    "lifetime",
    "load_comparison",
    "load_optimisation",
    "load_result",
    "load_sweep",
    "optimise",
    "policies",
    "policy",
    "presets",
    "read_commands",
    "read_history",
    "read_timeline",
    "reference",
    "rerun",
    "run",
    "schema",
    "shrink",
    "sweep",
    "trace_convert",
    "trace_fit",
    "trace_info",
    "traces",
    "why",
]

#: Public names by the module that defines them.
_NAMES = {
    "ssdlab.comparison": ("Comparison",),
    "ssdlab.device": ("Answer", "Device", "DeviceError", "PowerLossError"),
    "ssdlab.drives": (
        "Drive",
        "DriveLike",
        "Preset",
        "check",
        "describe",
        "diagram",
        "policies",
        "presets",
        "reference",
        "shrink",
    ),
    "ssdlab.errors": ("InputError", "Interrupted", "NotWrittenError", "PolicyError"),
    "ssdlab.explore.optimise": ("Optimisation", "OptimisationProgress", "load_optimisation", "optimise"),
    "ssdlab.explore.spec": ("Spec",),
    "ssdlab.explore.sweep": ("Sweep", "SweepProgress", "load_sweep", "sweep"),
    "ssdlab.folder": ("load_comparison", "load_result"),
    "ssdlab.imports": ("ImportedDrive", "import_drive"),
    "ssdlab.lifetimes": ("Lifetime", "lifetime"),
    "ssdlab.logs": ("HistoryDifference", "compare_histories", "read_commands", "read_history", "read_timeline"),
    "ssdlab.policy": ("BlockMove", "PageMove", "Policy"),
    "ssdlab.presentation": ("Result",),
    "ssdlab.read_errors": ("ReadErrors",),
    "ssdlab.reruns": ("Rerun", "rerun"),
    "ssdlab.results": ("Latency", "Stream"),
    "ssdlab.runs": ("PolicyLike", "Progress"),
    "ssdlab.schemas": ("schema",),
    "ssdlab.sessions": ("Session",),
    "ssdlab.setups": ("StartingStates",),
    "ssdlab.simulate": ("compare", "run"),
    "ssdlab.tails": ("BearingField", "Tail", "Why"),
    "ssdlab.terms": ("definitions",),
    "ssdlab.traces": ("TraceFit", "trace_convert", "trace_fit", "trace_info"),
    "ssdlab.trials": ("Effect", "Trial"),
    "ssdlab.trying": ("why",),
    "ssdlab.workloads": ("Workload", "WorkloadLike"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("cell", "charts", "policy", "traces")


def __getattr__(name: str) -> Any:
    """Returns a public name, whose module is imported at its first use."""
    if name == "__version__":
        # Start-up: see above.
        from ssdlab import _engine

        value: Any = _engine.build()
    elif name in _HOMES:
        # Start-up: see above.
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        # Start-up: see above.
        value = import_module(f"ssdlab.{name}")
    else:
        raise AttributeError(f"module 'ssdlab' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
