"""Sections of an experiment: the parts that can be run alone, each with what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ssdlab_papers.entry import Entry, Picture, Table

__all__ = ["Sections"]

#: Sections by name, in the order of the experiment. What several share is measured by the first that runs.
Sections = dict[str, Callable[[], Iterable[Entry | Picture | Table]]]
