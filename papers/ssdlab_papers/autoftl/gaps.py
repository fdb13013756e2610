"""Table 4: gaps between writes over ``T_effective``, the program time over the number of dies that program at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ssdlab import Workload
from ssdlab.traces import gaps
from ssdlab.units import percent
from ssdlab_papers.autoftl.runs import ENTERPRISE, MOBILE, Case, cases
from ssdlab_papers.entry import Entry, Table
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting

#: Names of the table's bins [multiples of T_effective].
BINS: Final = ("up to 1", "1 to 2", "above 2")
#: Statements of the text about the table, which is lost.
_SAID = {
    "proj_0": "more than 40 % below T_effective",
    "src1_2": "more than 40 % below T_effective",
}
_SAID_OF_MOBILE = "more than 50 % above 2 T_effective, none from 1 to 2"
#: Requests of a look-alike that are analysed: a share is then known to a third of a percentage point.
_REQUESTS = 20_000


def entries(setting: Setting) -> Iterator[Entry | Table]:
    """Yields the shares of the three bins for each load."""
    used = cases(setting)
    found = setting.share_out("gaps", bins, used)
    for case, shares in zip(used, found, strict=True):
        low, high = (0.4, 1.0) if case.load.is_whole and case.load.name in _SAID else (None, None)
        yield Entry(
            work="autoFTL",
            where="table 4",
            what=f"gaps between writes up to 1, 1 to 2, above 2 T_effective: {case.title}, {case.on.name} drive",
            published=_SAID_OF_MOBILE if case.on is MOBILE else _SAID.get(case.load.name, "table lost"),
            standing="stated",
            ours=shares[0],
            shown=", ".join(percent(share) for share in shares),
            low=low,
            high=high,
            note=case.load.note,
        )
    yield Table(
        name="autoftl-gaps",
        title=f"Table 4: shares of gaps between writes, over T_effective ({ENTERPRISE.effective_ns / 1000:.0f} us and "
        f"{MOBILE.effective_ns / 1000:.0f} us)",
        columns=("load", "drive", *BINS),
        rows=[(case.title, case.on.name, *shares) for case, shares in zip(used, found, strict=True)],
    )


def bins(case: Case) -> tuple[float, ...]:
    """Returns the shares of a load's gaps between writes in the three bins."""
    if case.load.is_trace:
        found = gaps(Workload(case.load.path, time_scale=case.speed), effective=f"{case.on.effective_ns}ns")
        return tuple(float(one.share or 0.0) for one in found.bins)
    # A look-alike is no file of requests: its writes are taken as they arrive in open-loop replay.
    arriving = case.load.workload(_REQUESTS, case.speed, address="wrap")
    table = simulate(case.on.preset, arriving, "baseline", precondition="none", record_commands=True).command_table()
    assert table is not None, "commands were recorded"
    writes = np.array([op == "write" for op in table.column("op").to_pylist()])
    between = np.diff(np.sort(table.column("submitted_ns").to_numpy()[writes])) / case.on.effective_ns
    below, above = float(np.mean(between <= 1)), float(np.mean(between > 2))
    return below, 1.0 - below - above, above
