"""Measures the cost of a policy in Python: for each call of the contract, and for a whole run.

    python bench/python_policy.py [--runs N]

For each call, a policy that overrides only this call, and only answers it, is compared with one that overrides nothing,
on the same load: the cost is the difference in processor time over the number of calls. Every figure is that of the
fastest of N runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.policy import Dispatch, Mode, View

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "policies"))

#: Number of commands of a load.
COMMANDS = 400_000
JOB = f"bs=4k\niodepth=32\nnumber_ios={COMMANDS}\nio_size=100g\nnorandommap=1\n"
LOADS = {
    "write": ssdlab.Workload.from_text(f"[w]\nrw=randwrite\n{JOB}"),
    "read": ssdlab.Workload.from_text(f"[r]\nrw=randread\n{JOB}"),
    "trim": ssdlab.Workload.from_text(f"[t]\nrw=randtrim\n{JOB}"),
}
#: For each call of the contract, the load that causes it, and a function that only answers.
CALLS: dict[str, tuple[str, Callable[..., Any]]] = {
    "write": ("write", lambda self, dispatch, view: "normal"),
    "relocate": ("write", lambda self, moving, view: "normal"),
    "placed": ("write", lambda self, placed, view: None),
    "collecting": ("write", lambda self, collection, view: None),
    "score": ("write", lambda self, candidate, view: candidate.invalid),
    "erase": ("write", lambda self, collection, view: 0),
    "opened": ("write", lambda self, block, view: None),
    "erased": ("write", lambda self, block, view: None),
    "urgent": ("write", lambda self, view: None),
    "forced": ("write", lambda self, view: None),
    "wake_at": ("write", lambda self, view: None),
    "idle": ("read", lambda self, idle, view: None),
    "read_issued": ("read", lambda self, read, view: None),
    "read_done": ("read", lambda self, lpn, ppn, view: None),
    "dropped": ("trim", lambda self, lpn, view: None),
}


class Units(ssdlab.Policy):
    """Policy that reads the units of each write."""

    def write(self, dispatch: Dispatch, view: View) -> Mode:
        """Reads `units`, which is built when it is read."""
        _ = dispatch.units
        return "normal"


class Looks(ssdlab.Policy):
    """Policy that reads four numbers of the view at each write."""

    def write(self, dispatch: Dispatch, view: View) -> Mode:
        """Reads four numbers of the view."""
        _ = view.queued_write_pages, view.now, view.busy_dies, view.commands_in_flight
        return "normal"


def seconds(runs: dict[str, tuple[str, Any]], rounds: int) -> dict[str, float]:
    """Returns the processor time of the fastest of several runs by name [s]; a run is a load and a policy.

    The runs take turns, because the speed of a machine varies over time.
    """
    quickest = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, (load, policy) in runs.items():
            began = time.process_time()
            ssdlab.run("tiny", LOADS[load], policy, precondition="fill")
            quickest[name] = min(quickest[name], time.process_time() - began)
    return quickest


def calls_made(load: str, name: str, answer: Callable[..., Any]) -> int:
    """Returns the number of times that a call is made."""
    made = 0

    def counted(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        return answer(*arguments)

    ssdlab.run("tiny", LOADS[load], type("Counting", (ssdlab.Policy,), {name: counted}), precondition="fill")
    return made


def main() -> None:
    """Measures and prints the figures."""
    parser = argparse.ArgumentParser(description="Measure what a policy in Python costs.")
    parser.add_argument("--runs", type=int, default=7, help="runs of which the quickest counts")
    from burst_fast import BurstFast

    runs: dict[str, tuple[str, Any]] = {f"baseline {load}": (load, "baseline") for load in LOADS}
    runs |= {f"nothing {load}": (load, ssdlab.Policy) for load in LOADS}
    runs |= {name: (load, type("Alone", (ssdlab.Policy,), {name: answer})) for name, (load, answer) in CALLS.items()}
    runs |= {"Units": ("write", Units), "Looks": ("write", Looks), "BurstFast": ("write", BurstFast)}
    took = seconds(runs, parser.parse_args().runs)
    for load in LOADS:
        print(f"{load:6} baseline {took[f'baseline {load}']:.3f} s, nothing overridden {took[f'nothing {load}']:.3f} s")
    print(f"\n{'call':12} {'load':6} {'calls':>9} {'ns a call':>10} {'longer by':>10}")
    for name, (load, answer) in CALLS.items():
        made, nothing = calls_made(load, name, answer), took[f"nothing {load}"]
        cost = took[name] - nothing
        print(f"{name:12} {load:6} {made:9,} {cost / made * 1e9:10.0f} {cost / nothing:10.0%}")
    for what, name, looks in (("dispatch.units", "Units", 1), ("a number of the view", "Looks", 4)):
        print(f"{what}: {(took[name] - took['write']) / COMMANDS / looks * 1e9:.0f} ns")
    print(f"examples/policies/burst_fast.py: {took['BurstFast'] / took['baseline write']:.2f} times as long as baseline")


if __name__ == "__main__":
    main()
