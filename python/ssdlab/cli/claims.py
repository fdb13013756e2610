"""``ssdlab paper claim`` and ``ssdlab paper claims``: one published claim run alone, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab.cli.console import print_json, standard_output
from ssdlab.errors import InputError

if TYPE_CHECKING:
    from ssdlab.experiments import Address, Claim

__all__ = ["list_claims", "name_of_claim", "show_claim"]


def name_of_claim(names: Sequence[str]) -> str:
    """Returns the id that follows `claim` on the command line.

    Raises:
        InputError: there is none, or more than one.
    """
    if len(names) != 1:
        raise InputError(f"paper claim: expected one id, as `ssdlab paper claims` lists them, found {len(names)}")
    return names[0]


def list_claims(known: Sequence[Address], works: Sequence[str], json: bool) -> None:
    """Prints the claims of the named works or experiments; without names all of them.

    Raises:
        InputError: there is no work of this name.
    """
    chosen = list(known)
    if works:
        beginnings = dict.fromkeys(name for each in known for name in (_prefix(each), each.experiment))
        for work in works:
            if work.lower() not in beginnings:
                raise InputError(f"unknown work `{work}`: expected one of {', '.join(beginnings)}")
        wanted = {work.lower() for work in works}
        chosen = [each for each in known if wanted & {_prefix(each), each.experiment}]
    if json:
        keys = ("id", "experiment", "work", "where", "claim", "seconds")
        print_json({"claims": [{key: getattr(each, key) for key in keys} for each in chosen]})
        return
    # Start-up: JSON needs no rich.
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "where", "claim", "quick", box=None, pad_edge=False, header_style="dim")
    table.columns[0].no_wrap = True
    for each in chosen:
        table.add_row(*map(Text, (each.id, each.where, each.claim, f"{each.seconds} s")))
    standard_output().print(table)


def _prefix(address: Address) -> str:
    """Returns the work of a claim as its id begins."""
    return address.id.partition("-")[0]


def show_claim(claim: Claim, json: bool) -> None:
    """Prints a claim: what is published, ours, the verdict and its reason."""
    if json:
        print_json(claim.as_json())
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli.views import name_list

    rows = {
        "claim": claim.what,
        "of": f"{claim.work}, {claim.where}",
        "published": f"{claim.published} ({claim.standing})",
        "ours": claim.shown or "–",
        "accepted": claim.accepted,
        "verdict": claim.verdict,
        "sentence": claim.sentence,
        "seeds": str(claim.seeds) if claim.seeds else "none drawn",
        "condition": claim.condition,
        "region": claim.region,
        "why": claim.note,
    }
    standard_output().print(name_list("", claim.id, {name: text for name, text in rows.items() if text}))
