"""Table 2 by a run: one collection while the buffer is filled to 70 %, with 30 and with 50 pages to copy.

The drive is the mobile one with a single chip and the table's buffer of 200 pages. The first block is left with so many
valid pages, the others with more. A burst then fills the buffer, opens a block of its own level, and so begins a
collection at the utilisation of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import ssdlab
from ssdlab_papers.autoftl.runs import WORK
from ssdlab_papers.claim import Claim, statement

#: Pages of the table's buffer and of a block, and the size of a page.
_BUFFER, _BLOCK, _PAGE = 200, 128, 8192
#: Blocks that are filled before the burst, and pages that are overwritten in all but the first of them: as many as
#: leave the free blocks below which the opening of one block begins a collection.
_FILLED, _OVERWRITTEN = 32, 1_500
#: A collection precedes host writes, and there is none in idle time.
_DRIVE: dict[str, object] = {
    "buffer.capacity": f"{_BUFFER * _PAGE // 1024}KiB",
    "flash.channels": 1,
    "flash.blocks_per_plane": 48,
    "ftl.overprovisioning": 0.45,
    "ftl.gc_critical_blocks": 3,
    "ftl.gc_preemptible": False,
    "ftl.gc_idle_after": "100d",
}
#: Cases: pages to copy, and the speed of the erase that the table chooses, with its time in the drive [ms].
CASES = ((30, "ESmode_slow", 20.0), (50, "ESmode_fast", 5.0))
UTILISATION = 0.7
#: Time of a program in the mode Wmode_0, which both cases choose [ms], and of the transfer before it.
_FASTEST_MS, _TRANSFER_MS = 1.3, 0.042
#: Accuracy of a time in a span [ms].
_MS = 0.05


@dataclass(frozen=True, slots=True)
class Collection:
    """The first collection of a run."""

    copies: int
    #: Time of a program of its copies, and of its erase [ms].
    program_ms: float
    erase_ms: float


def entries() -> Iterator[Claim]:
    """Yields the choices of both cases."""
    for number, (copies, speed, erase_ms) in enumerate(CASES, 1):
        found = collected(copies)
        common = {
            "work": WORK,
            "where": f"table 2, case {number}",
            "load": "a trace made for the purpose",
            "note": f"{found.copies} pages copied at a utilisation of 70 % of {_BUFFER} pages; the times tell the modes",
        }
        yield statement(
            found.program_ms,
            f"programs of {found.program_ms:.2f} ms",
            what=f"write mode of {copies} copies",
            published="Wmode_0 (1.3 ms)",
            low=_FASTEST_MS - _MS,
            high=_FASTEST_MS + _MS,
            **common,
        )
        yield statement(
            found.erase_ms,
            f"{found.erase_ms:.2f} ms",
            what=f"speed of the erase after {copies} copies",
            published=f"{speed} ({erase_ms:g} ms)",
            low=erase_ms - _MS,
            high=erase_ms + _MS,
            **common,
        )


def collected(copies: int, utilisation: float = UTILISATION) -> Collection:
    """Returns the first collection, which has so many pages to copy, in a burst that fills the buffer so far."""
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "table-2.csv"
        trace.write_text("\n".join(_requests(copies, round(utilisation * _BUFFER))) + "\n", encoding="utf-8")
        workload = ssdlab.Workload(trace, replay="open", address="wrap")
        result = ssdlab.run("dpes-mobile", workload, "autoftl", set=_DRIVE, record_spans=True)
    table = result.span_table()
    assert table is not None, "spans were recorded"
    spans = [row for row in table.to_pylist() if row["track"] == "die 0" and row["reason"] == "gc"]
    end = next(at for at, row in enumerate(spans) if row["name"] == "erase")
    programs, erase = [row for row in spans[:end] if row["name"] == "program"], spans[end]
    times = [(row["end_ns"] - row["begin_ns"]) / 1e6 for row in (*programs, erase)]
    return Collection(len(programs), fmean(times[:-1]) - _TRANSFER_MS, times[-1])


def _requests(copies: int, burst: int) -> Iterator[str]:
    """Yields the lines of a trace (MSR Cambridge): blocks are filled, a part of each is overwritten, and the burst."""
    each = _OVERWRITTEN // (_FILLED - 1) + 1
    others = [block * _BLOCK + page for block in range(1, _FILLED) for page in range(each)]
    slowly = [*range(_FILLED * _BLOCK), *range(_BLOCK - copies), *others[:_OVERWRITTEN]]
    for at, page in enumerate(slowly):
        yield _write(at * 0.01, page, 1)
    end = len(slowly) * 0.01 + 1.0
    yield _write(end, _FILLED * _BLOCK, burst)
    # The run lasts until the last request, and so until the burst is written.
    yield _write(end + 2.0, 0, 1)


def _write(seconds: float, page: int, pages: int) -> str:
    return f"{round(seconds * 1e7)},table,2,Write,{page * _PAGE},{pages * _PAGE},0"
