"""Chapter 4 of the thesis: the power of the flash, suspension windows in programs, and beyond it caps on the power."""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power import caps, peaks, profiles, suspension, tried

__all__ = ["entries"]


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the claims of section 4.1 with tables 4.1 and 4.2 and figures 4.7 to 4.11, and the effect of caps."""
    found = suspension.measure(setting)
    yield from suspension.entries(found)
    if not setting.quick:
        yield from suspension.overhead_currents(setting, found)
    yield from tried.entries(found)
    yield from profiles.entries(setting, found)
    yield from peaks.entries(setting)
    yield from caps.entries(setting)
