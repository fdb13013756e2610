"""autoFTL: dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

Each trace is replayed with its gaps, the servers' a hundred times faster, and repeated until the drive is worn out. The paper's
values stand beside ours on its own traces, where they are at hand and whole; on other loads mechanisms are asserted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab.papers.autoftl import checks, gaps, results
from ssdlab.papers.autoftl.runs import cases
from ssdlab.papers.entry import Entry, Picture, Table
from ssdlab.papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AutoFTL's evaluation: tables 2 and 4, figures 9 to 12, on its mobile and its enterprise drive."""
    yield from gaps.entries(setting)
    used, checked = cases(setting), checks.lives(setting)
    # All lives together, the full one first, so that no thread is left to it alone at the end.
    worn = setting.share_out("lives", lambda life: life(), [*checked.values(), *results.lives(used)])
    yield from results.entries(results.measure(setting, used, worn[len(checked) :]))
    yield from checks.entries(setting, dict(zip(checked, worn[: len(checked)], strict=True)))
