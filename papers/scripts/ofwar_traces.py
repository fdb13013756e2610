"""OFWAR on real traces: one command measures every trace of a directory and prints one table.

    python papers/scripts/ofwar_traces.py DIRECTORY [--units 4,8,16,32] [--requests N] [--out TABLE.csv]

`ssdlab paper ofwar` runs the paper's traces and a few others; this script runs every trace of a directory. The drive is
that of the paper (section 4.2) with 4, 8, 16 and 32 programming units per channel and the same capacity. The policies
are the baseline, OFWAR, its control `separate` (the same frontiers, one speed) and the bound `all_fast` (every write
fast, no rewrite). Each is run at recorded speed and at the time scales at which the baseline's write utilisation is 0.7
and 0.9. Addresses are compacted to 1 MiB regions in order of first touch; the drive starts in the steady state of
uniform overwrites. `papers/results/ofwar_traces.csv` is the output at the default of 20,000 requests.

The paper reports, over its ten traces and hundreds of repetitions of each: mean response time -52.3 % (the abstract
says *up to*, section 5 *average*), standard deviation -39.9 %, rewritten pages 14.1 %, extra writes 6.1 %. Its traces
are other ones; nothing here is tuned to reach them.
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
from ssdlab_papers.ofwar.runs import Effect, Run, run
from ssdlab_papers.scaling import scale_to
from ssdlab_papers.traces import files_in

POLICIES = ("ofwar", "separate", "all_fast")
COLUMNS = (
    "trace", "units per channel", "speed", "time scale", "write utilisation", "mean us", "ofwar mean", "ofwar stddev",
    "separate mean", "all_fast mean", "all_fast stddev", "fast writes", "rewrites", "extra writes", "saturated",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One trace on one drive."""

    trace: Path
    units: int
    requests: int


def measure(case: Case) -> list[dict[str, Any]]:
    """Returns the rows of one trace on one drive: recorded speed, and the speeds with a given write utilisation."""

    def measured(policy: str, scale: float) -> Run:
        workload = ssdlab.Workload(case.trace, address="compact", time_scale=scale, max_requests=case.requests, replay="open")
        return run(workload, policy, case.units)

    recorded = measured("baseline", 1.0)
    if not recorded.utilisation:
        return []
    rows = []
    for speed, target in (("recorded", None), ("0.7", 0.7), ("0.9", 0.9)):
        scale, base = 1.0, recorded
        if target is not None:
            scale, base = scale_to(lambda scale: measured("baseline", scale), target, (1.0, recorded))
        effects = {policy: Effect(base, measured(policy, scale)) for policy in POLICIES}
        rows.append(row(case, speed, scale, base, effects))
    return rows


def row(case: Case, speed: str, scale: float, base: Run, effects: dict[str, Effect]) -> dict[str, Any]:
    """Returns one row of the table."""
    ofwar = effects["ofwar"]
    return {
        "trace": case.trace.name.split(".")[0],
        "units per channel": case.units,
        "speed": speed,
        "time scale": scale,
        "write utilisation": base.utilisation,
        "mean us": base.mean_ns / 1000,
        "ofwar mean": ofwar.mean,
        "ofwar stddev": ofwar.stddev,
        "separate mean": effects["separate"].mean,
        "all_fast mean": effects["all_fast"].mean,
        "all_fast stddev": effects["all_fast"].stddev,
        "fast writes": ofwar.run.fast_share,
        "rewrites": ofwar.rewritten,
        "extra writes": ofwar.extra,
        "saturated": base.saturated,
    }


def text(value: Any) -> str:
    """Formats a cell of the table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measures the traces and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the traces are")
    parser.add_argument("--units", default="4,8,16,32", help="programming units per channel")
    parser.add_argument("--requests", type=int, default=20_000, help="most requests of each trace, from its start")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="also write the table here, as CSV")
    options = parser.parse_args()
    all_units = [int(units) for units in options.units.split(",")]
    cases = [Case(trace, units, options.requests) for trace in files_in(options.directory) for units in all_units]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers) as pool:
        futures = {pool.submit(measure, case): case for case in cases}
        for done, future in enumerate(as_completed(futures), 1):
            case = futures[future]
            try:
                rows += future.result()
            except ssdlab.InputError as error:
                print(f"{case.trace.name}, {case.units}: {error}", file=sys.stderr)
            print(f"{done}/{len(cases)} {case.trace.name} {case.units}", file=sys.stderr)
    rows.sort(key=lambda line: (line["trace"], line["units per channel"], line["time scale"]))
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for line in rows:
        print("| " + " | ".join(text(line[column]) for column in COLUMNS) + " |")
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    try:
        main()
    except ssdlab.InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
