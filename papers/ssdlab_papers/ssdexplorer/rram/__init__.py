"""Chapter 3 of the thesis: drives of resistive memory (RRAM), by page size and queue depth."""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.rram import breakdown, chunks, distributions, pages
from ssdlab_papers.ssdexplorer.rram.cases import measure

__all__ = ["entries"]


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the claims of sections 3.2 and 3.3, with figures 3.3 to 3.21."""
    found = measure(setting)
    yield from pages.entries(found)
    yield from distributions.entries(setting, found)
    yield from breakdown.entries(found)
    yield from chunks.entries(found)
