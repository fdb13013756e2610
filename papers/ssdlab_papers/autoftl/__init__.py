"""autoFTL: dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

Each trace is replayed with its recorded gaps (traces of servers a hundred times faster) and repeated until the drive is
worn out. Published values are asserted only on the paper's own traces, if they are available and whole; on other loads
only mechanisms are asserted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.autoftl import checks, gaps, results
from ssdlab_papers.autoftl.runs import cases
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AutoFTL's evaluation: tables 2 and 4, figures 9 to 12, on its mobile and its enterprise drive."""
    yield from gaps.entries(setting)
    used, checked = cases(setting), checks.lives(setting)
    # All lifetime runs share one pool of threads. The full one takes longest and starts first, so that it does not run
    # alone at the end.
    worn = setting.share_out("lives", lambda life: life(), [*checked.values(), *results.lives(used)])
    yield from results.entries(results.measure(setting, used, worn[len(checked) :]))
    yield from checks.entries(setting, dict(zip(checked, worn[: len(checked)], strict=True)))
