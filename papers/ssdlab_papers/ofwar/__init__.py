"""OFWAR: on-demand fast write and rewrite (Wu and Zhang, IEEE Transactions on Computers 2014).

Each claim of the paper is scored against a range around itself. Of its ten traces only IOzone and Postmark can be had
whole; other loads stand in for traces 1 to 6, and say so. Nothing is tuned to reach a published figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar import (
    assumed,
    controls,
    examples,
    figures,
    parallelism,
    power,
    rules,
    settled,
    simulator,
    sweeps,
    synthetic,
    wear,
)
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting

__all__ = ["experiment", "sections"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """OFWAR's evaluation: figures 3, 4 and 9 to 20, with controls, by parallelism, speed and wear; power failure."""
    for section in sections(setting).values():
        yield from section()


def sections(setting: Setting) -> Sections:
    """Returns the sections of the experiment."""
    return {
        "examples": examples.entries,
        "figures": lambda: figures.entries(setting),
        "simulator": lambda: simulator.entries(setting),
        "settled": lambda: settled.entries(setting),
        "controls": lambda: controls.entries(setting),
        "rules": lambda: rules.entries(setting),
        "parallelism": lambda: parallelism.entries(setting),
        "synthetic": lambda: synthetic.entries(setting),
        "sweeps": lambda: sweeps.entries(setting),
        "wear": lambda: wear.entries(setting),
        "power": lambda: power.entries(setting),
        "assumed": lambda: assumed.entries(setting),
    }
