"""The one budget on real traces: one command measures every trace of a directory and prints one table.

    python papers/scripts/budget_traces.py DIRECTORY [--out TABLE.csv] [--quick]

`ssdlab paper budget` runs eight loads by name; this script runs every trace of a directory that writes, on the same
drive and cell, with every policy, control and combination, at 0, 30, 50 and 100 % of the rated wear. Each trace is
repeated up to 100,000 requests. Traces with large requests end at 4 GiB, but not before 20,000 requests; with fewer
than 100,000 commands, the 99.99 % latency is that of the slowest command or nearly so. Each trace is replayed at the
speed at which the baseline's dies write half the time, or as near to that as its reads allow. Addresses are wrapped
onto the drive, which starts in the steady state of uniform overwrites. A trace on which policies cannot be compared is
left out with the reason: the buffer takes its writes all at once, or it wears no blocks. There is one seed.

The table gives geometric means over the traces, each value relative to the baseline's. Extra writes are arithmetic
means, per page that the host writes. `--out` writes every run.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import ssdlab
from ssdlab.traces import trace_info
from ssdlab_papers import Setting
from ssdlab_papers.budget.results import GAINS, Boards, at_speed, every_run, measure
from ssdlab_papers.budget.runs import CONTENDERS, drives_of
from ssdlab_papers.traces import Known, Load, files_in

#: Least share of writes: traces with fewer writes cause hardly any wear, and its amount is chance.
_LEAST_WRITES = 0.1
#: Bytes after which traces with large requests end, and their least number of requests.
_MOST_BYTES, _LEAST_REQUESTS = 4 << 30, 20_000


def loads(directory: Path) -> list[Load]:
    """Returns the traces that write and have times, each under its path in the directory.

    Raises:
        InputError: there is no such folder, or no such trace in it; a file is not a trace.
    """
    found: list[Load] = []
    for path in files_in(directory):
        info = trace_info(path)
        requests, name = int(info["requests"]), path.relative_to(directory).as_posix()
        if info["span_ns"] and info["writes"] >= _LEAST_WRITES * requests:
            known = Known(name=name, title=name, pattern=re.escape(name))
            most = max(_LEAST_REQUESTS, _MOST_BYTES * requests // (info["read_bytes"] + info["write_bytes"]))
            found.append(Load(known=known, path=path, is_trace=True, requests=requests, at_most=most))
        else:
            print(f"{name}: left out: it has no times, or under a tenth of writes", file=sys.stderr)
    if not found:
        raise ssdlab.InputError(f"{directory}: expected traces with times, of which a tenth or more writes")
    return found


def summary(boards: Boards) -> Iterator[str]:
    """Yields a Markdown table with one row per policy.

    A cell holds a value for each stage of wear, or one value if all are the same.
    """

    def row(values: Sequence[str]) -> str:
        return ", ".join(values if len(set(values)) > 1 else values[:1])

    worn = ", ".join(f"{wear:.0%}" for wear in boards.wears)
    yield f"| policy | mean latency, {worn} worn | 99.99 % | lifetime | extra writes | shares of clairvoyant's gains |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in (one.name for one in CONTENDERS[1:]):
        shares = [[boards.share(name, wear, gain) for wear in boards.wears] for gain in GAINS]
        cells = (
            row([f"{boards.mean(name, wear).mean:.2f}" for wear in boards.wears]),
            row([f"{boards.tail(name, wear).mean:.2f}" for wear in boards.wears]),
            row([f"{boards.life(name, wear).mean:.2f}" for wear in boards.wears]),
            row([f"{boards.extra(name, wear).mean:+.0%}" for wear in boards.wears]),
            "; ".join(row(["–" if share is None else f"{share:.0%}" for share in each]) for each in shares),
        )
        yield f"| `{name}` | {' | '.join(cells)} |"


def main() -> None:
    """Measures the traces and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the traces are")
    parser.add_argument("--quick", action="store_true", help="new and worn out only")
    parser.add_argument("--out", type=Path, help="write every run here, as CSV")
    options = parser.parse_args()
    if options.out and not options.out.parent.is_dir():
        parser.error(f"--out {options.out}: no such folder: {options.out.parent}")

    def tell(_: float | None, what: str) -> None:
        print(what, file=sys.stderr)

    setting = Setting(quick=options.quick, progress=tell)
    try:
        with drives_of(setting) as drives:
            fit, unfit = at_speed(setting, drives, loads(options.directory))
            for on in unfit:
                tell(None, f"{on.load.name}: left out: {on.unfit}")
            if not fit:
                parser.error(f"{options.directory}: expected a trace on which policies can be compared")
            boards = measure(setting, drives, fit, seeds=1)
    except (ssdlab.InputError, OSError) as error:
        parser.error(str(error))
    if options.out:
        table = every_run(boards)
        rows = [[f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in table.rows]
        with options.out.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([table.columns, *rows])
    print("\n".join(summary(boards)))


if __name__ == "__main__":
    main()
