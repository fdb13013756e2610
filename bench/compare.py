"""Compares the last line of the history of `make bench` with an earlier one.

    python bench/compare.py [COMMIT]

The earlier line is that of the commit, or the last one before of a machine with the same processor and as many cores.
Rates are those of commands; a ratio above 1 is faster. Where the hashes of a scenario differ, its results have changed,
and the two rates are those of different work. A machine that others use varies by a quarter: measure both again, in
turns, before a difference is believed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).resolve().parent / "history" / "runs.jsonl"


def machine(entry: dict[str, Any]) -> tuple[Any, Any]:
    """Returns what two lines must share to be compared."""
    return entry["processor"], entry["cores"]


def earlier(entries: Sequence[dict[str, Any]], commit: str | None) -> dict[str, Any] | None:
    """Returns the line with which the last one is compared; nothing if there is none."""
    before = entries[:-1]
    if commit is not None:
        found = [entry for entry in before if entry["commit"].removesuffix("-dirty") == commit]
    else:
        found = [entry for entry in before if machine(entry) == machine(entries[-1])]
    return found[-1] if found else None


def compared(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each scenario that both have."""
    known = {line["scenario"]: line for line in then["results"]}
    for line in now["results"]:
        before = known.get(line["scenario"])
        if before is None:
            continue
        ratio = line["commands_per_s"] / before["commands_per_s"]
        changed = "  other results" if line["hash"] != before["hash"] else ""
        rates = f"{before['commands_per_s']:>14,.0f} {line['commands_per_s']:>14,.0f}"
        yield f"{line['scenario']:<36} {rates} {ratio:>7.2f}{changed}"


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="commit of the earlier line")
    entries = [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines()]
    then = earlier(entries, parser.parse_args().commit)
    if then is None:
        sys.exit(f"{HISTORY}: no earlier line of that commit, or of this processor")
    now = entries[-1]
    if machine(then) != machine(now):
        print("another machine: the ratios say nothing about the engine")
    print(f"{'scenario':<36} {then['commit']:>14} {now['commit']:>14} {'ratio':>7}")
    print("\n".join(compared(then, now)))


if __name__ == "__main__":
    main()
