"""AGCR on real traces: one command measures every trace of a directory and prints one table.

    python papers/scripts/agcr_traces.py DIRECTORY [--requests N] [--out TABLE.csv]

`ssdlab paper agcr` runs volumes of the paper's collection and a few other traces; this script runs every trace of a
directory. Over the whole file it measures the shares of the read (write) requests that go to read-only (write-only)
pages, and how accurately windows of 2, 4 and 8 accesses identify the class of a page (figures 2 and 6). On the drive of
the paper, filled once, at recorded speed, it measures the mean responses of the three fixed costs, of AGCR, and of its
rival with old data at high or at medium cost (figures 1 and 7 to 9). Addresses are compacted in order of first touch.
`papers/results/agcr_traces.csv` is the output at the default of 60,000 requests.

The paper reports, over 12 volumes of MSR Cambridge: reads -54 % by HCW/LCR, writes -26 % by LCW/HCR; more than 85 % of
the read requests to read-only pages, more than 91 % of the write requests to write-only pages; AGCR over its rival
-15 %, reads by up to -48.3 % and writes by up to -20.4 %; rewrites at most 1 % of the accesses. Nothing here is tuned
to reach them.
"""

from __future__ import annotations

import argparse
import csv
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.traces import access
from ssdlab_papers.agcr.runs import POLICIES, RIVALS, run
from ssdlab_papers.traces import files_in


@dataclass(frozen=True)
class Case:
    """First requests of one trace."""

    trace: Path
    requests: int


def measure(case: Case) -> dict[str, Any]:
    """Returns the row of one trace."""
    shares = access(case.trace)
    workload = ssdlab.Workload(case.trace, address="compact", max_requests=case.requests, replay="open")
    runs = {policy: run(workload, policy) for policy in POLICIES}
    default, ours = runs["MCW/MCR"], runs["AGCR"]
    row: dict[str, Any] = {
        "trace": case.trace.name.split(".")[0],
        "reads": default.count("read"),
        "writes": default.count("write"),
        "dies busy": default.busy,
        "reads to read-only": shares.classes["read_only"].read_request_share,
        "writes to write-only": shares.classes["write_only"].write_request_share,
    }
    row |= {f"accuracy {size}": shares.windows[size - 1].accuracy for size in (2, 4, 8)}
    row |= {"read us": default.mean_us("read"), "write us": default.mean_us("write")}
    for policy in ("HCW/LCR", "LCW/HCR", "AGCR"):
        row |= {f"{policy} {kind}": runs[policy].over(default, kind) for kind in ("read", "write", "all")}
    for rival, title in zip(RIVALS, ("rival", "rival, old data medium"), strict=True):
        row |= {f"AGCR over {title}, {kind}": ours.over(runs[rival], kind) for kind in ("read", "write", "all")}
    row |= {f"AGCR {cost}-cost writes": ours.share("writes", cost) for cost in ("low", "high")}
    return row | {"rewrites": ours.rewritten}


def text(value: Any) -> str:
    """Formats a cell of the table."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measures the traces and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the traces are")
    parser.add_argument("--requests", type=int, default=60_000, help="most requests of each trace that are run, from its start")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="also write the table here, as CSV")
    options = parser.parse_args()
    cases = [Case(path, options.requests) for path in files_in(options.directory)]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers) as pool:
        futures = {pool.submit(measure, case): case for case in cases}
        for done, future in enumerate(as_completed(futures), 1):
            case = futures[future]
            try:
                rows.append(future.result())
            except ssdlab.InputError as error:
                print(f"{case.trace.name}: {error}", file=sys.stderr)
            print(f"{done}/{len(cases)} {case.trace.name}", file=sys.stderr)
    if not rows:
        raise ssdlab.InputError(f"{options.directory}: no trace that can be run")
    rows.sort(key=lambda line: str(line["trace"]))
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for line in rows:
        print("| " + " | ".join(text(value) for value in line.values()) + " |")
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: text(value) for name, value in line.items()} for line in rows)


if __name__ == "__main__":
    try:
        main()
    except ssdlab.InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
