"""Addresses of claims: short names that stay when claims are added, moved or scored anew.

A name is declared once, in ``claims.csv``, by what the claim is about: its work, its place there, and its subject.
What depends on the traces at hand, as the number of loads, does not count.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FILE", "Address", "address", "derived", "known"]

#: The declared claims.
FILE = Path(__file__).with_name("claims.csv")
#: Parts of a subject that depend on the traces at hand: how many loads, whether a trace is whole, how fast it is run.
_AT_HAND = re.compile(r"\b\d+ (?=loads?\b)| \((?:look-alike|part)\)|(?<= sped up) \d+ times")
_OF_WORK = {"retention relaxation": "retention"}
_KINDS = {"figure": "fig", "figures": "fig", "table": "tab", "tables": "tab", "section": "sec", "sections": "sec"}
_PLACE = re.compile(r"\b(figures?|tables?|sections?) (\d+(?:\.\d+)*[a-z]?\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A declared claim."""

    id: str
    #: The experiment that tests it, and the section of the experiment.
    experiment: str
    section: str
    #: Time that its section takes up to it in the quick form, without traces, on two busy cores [s].
    seconds: int
    work: str
    where: str
    claim: str
    #: Cause of the verdict for the one sentence, and the verdict for which it was written; both may be empty.
    verdict: str
    because: str


def _key(work: str, where: str, what: str) -> tuple[str, str, str]:
    return work, where, _AT_HAND.sub("", what)


@cache
def known() -> dict[str, Address]:
    """Returns the declared claims by id, in the order of their experiments."""
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = [dict(row) for row in csv.DictReader(file)]
    return {row["id"]: Address(seconds=int(row.pop("seconds")), **row) for row in rows}


@cache
def _by_key() -> dict[tuple[str, str, str], Address]:
    return {_key(each.work, each.where, each.claim): each for each in known().values()}


def address(work: str, where: str, what: str) -> Address | None:
    """Returns the declared claim about a subject; ``None`` if it is not declared."""
    return _by_key().get(_key(work, where, what))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def derived(work: str, where: str, what: str) -> str:
    """Returns the name of a claim that is not declared: its work, its place and its whole subject."""
    return "-".join(filter(None, (*place(work, where), _slug(_AT_HAND.sub("", what)))))


def place(work: str, where: str) -> tuple[str, str]:
    """Returns the work and the place of a claim as parts of a name: the first figure or table, else the first part."""
    work = work.partition(",")[0]
    found = sorted(_PLACE.findall(where), key=lambda each: each[0].startswith("section"))
    at = f"{_KINDS[found[0][0]]}{found[0][1]}" if found else where.partition(",")[0]
    return _slug(_OF_WORK.get(work, work)), _slug(at)
