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
    from ssdlab.drives import Drive, DriveLike, Preset, check, describe, diagram, policies, presets, reference, schema, shrink
    from ssdlab.errors import InputError, Interrupted, NotWrittenError, PolicyError
    from ssdlab.explore.optimise import Optimisation, OptimisationProgress, load_optimisation, optimise
    from ssdlab.explore.spec import Spec
    from ssdlab.explore.sweep import Sweep, SweepProgress, load_sweep, sweep
    from ssdlab.folder import load_comparison, load_result
    from ssdlab.imports import ImportedDrive, import_drive
    from ssdlab.lifetimes import Lifetime, lifetime
    from ssdlab.logs import HistoryDifference, compare_histories, read_commands, read_history, read_timeline
    from ssdlab.policy import BlockMove, PageMove, Policy
    from ssdlab.provenance import Rerun, rerun
    from ssdlab.read_errors import ReadErrors
    from ssdlab.results import Latency, Result, Stream
    from ssdlab.sessions import Session, StartingStates
    from ssdlab.simulate import PolicyLike, Progress, compare, run
    from ssdlab.tails import BearingField, Tail, Why, why
    from ssdlab.terms import definitions
    from ssdlab.traces import TraceFit, trace_convert, trace_fit, trace_info
    from ssdlab.trials import Effect, Trial
    from ssdlab.workloads import Workload, WorkloadLike

    #: Version, and a hash of the engine's sources: builds of equal sources have equal values.
    __version__: str

__all__ = [
    "BearingField",
    "BlockMove",
    "Comparison",
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
        "schema",
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
    "ssdlab.provenance": ("Rerun", "rerun"),
    "ssdlab.read_errors": ("ReadErrors",),
    "ssdlab.results": ("Latency", "Result", "Stream"),
    "ssdlab.sessions": ("Session", "StartingStates"),
    "ssdlab.simulate": ("PolicyLike", "Progress", "compare", "run"),
    "ssdlab.tails": ("BearingField", "Tail", "Why", "why"),
    "ssdlab.terms": ("definitions",),
    "ssdlab.traces": ("TraceFit", "trace_convert", "trace_fit", "trace_info"),
    "ssdlab.trials": ("Effect", "Trial"),
    "ssdlab.workloads": ("Workload", "WorkloadLike"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("cell", "charts", "policy", "traces")


def __getattr__(name: str) -> Any:
    """Returns a public name, whose module is imported at its first use."""
    if name == "__version__":
        from ssdlab import _engine

        value: Any = _engine.build()
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"ssdlab.{name}")
    else:
        raise AttributeError(f"module 'ssdlab' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
